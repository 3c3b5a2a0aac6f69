/* Arguments checked against what a program wants. */
#ifndef TIGA_API_ARRAY_H
#define TIGA_API_ARRAY_H

#include "api/program.h"
#include "graph/graph.h"
#include "ir/array.h"

/* Everything that a run needs, bound: arrays by the prepared program's inputs and results. */
typedef struct {
    const tg_graph *graph;
    tg_program *program; /* typed */
    Array *inputs, *outputs;
    int64_t *set_size;
    int32_t *slot; /* by argument: input k is k, result k is -1 - k */
} Bound;

/* Checks names, dtypes and shapes; a fault names the argument, what was expected and what came. p is the
 * program that was asked for: what it names may be passed, though typed be without it. */
Status array_bind(Arena *a, const tg_program *p, tg_program *typed, const tg_graph *g,
                  const tg_arg *args, size_t num_args, Bound *out);

#endif
