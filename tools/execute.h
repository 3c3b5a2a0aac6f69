/* What tiga-opt does with data: arrays and a relation from .npy files, a run, results. */
#ifndef TIGA_TOOLS_EXECUTE_H
#define TIGA_TOOLS_EXECUTE_H

#include "capture/meaning.h"
#include "tiga/tiga.h"

enum { MAX_FILES = 64 };

/* Options as they were written; execute_load reads the files. */
typedef struct {
    const char *csr, *coo; /* "ROW_PTR,COL_IDX", "SRC,DST" */
    const char *bind[MAX_FILES], *save[MAX_FILES],
        *in[MAX_FILES]; /* "NAME=FILE", "NAME=f32[2,3]" */
    int num_bind, num_save, num_in;
    bool interp;
    tg_arg bound[MAX_FILES];
} Execution;

bool execute_is_wanted(const Execution *x);
/* Reads what --bind names; memory and names are the arena's. */
Status execute_load(Arena *a, Execution *x);
/* The formula's program; its input types are --bind's or --in's, else float32 scalars. results: lines that
 * are to be results although later ones use them. */
Status execute_formula(Arena *a, const Execution *x, const char *text, const char *const *results,
                       uint32_t num_results, Fn **out);
/* Runs f; what --save names is written, without one every result is printed. */
Status execute_run(Arena *a, const Execution *x, const Fn *f);

#endif
