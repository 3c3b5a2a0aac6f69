/* Programs behind their handles: a formula, a gradient to be taken once types are known, or a typed
 * function with its plan and code. */
#ifndef TIGA_API_PROGRAM_H
#define TIGA_API_PROGRAM_H

#include "capture/meaning.h"
#include "api/door.h"
#include "plan/plan.h"
#include "run/exec.h"

#include <stdatomic.h>
#include <sys/types.h>

typedef enum { PROGRAM_formula, PROGRAM_gradient, PROGRAM_typed } ProgramKind;

/* The typed program for one signature of arguments. */
typedef struct Variant {
    struct Variant *next;
    const char *signature;
    tg_program *program; /* shares */
} Variant;

struct tg_program {
    _Atomic int refs;
    ProgramKind kind;
    Arena *arena; /* owns what follows */

    Formula formula; /* of a formula */

    tg_program *base; /* of a gradient: shares */
    const char *outs, *wrt;

    const Fn *fn; /* of a typed program: the domain stage */

    /* made on first use, then constant */
    const Fn *prepared;
    Plan *plan;
    Exec *exec;
    Arena *plan_arena, *prepared_arena;

    /* under program.c's lock */
    pid_t planner;     /* the process that plans it now, or 0 */
    Variant *variants; /* of an untyped program; of a typed one, by the results that are bound */
    tg_program *last;  /* the variant that ran last; borrows */
    int64_t hits, misses;
};

/* What changes in programs: held for a few instructions, and while a process forks. */
void program_lock(void);
void program_unlock(void);

/* Names in a text, separated by spaces or commas. */
typedef VEC(const char *) Names;
Names program_names(Arena *a, const char *text);

tg_program *program_ref(const tg_program *p);
/* A handle to a function, whose arena it takes. */
tg_program *program_of(const Fn *takes);
/* The gradient program of a typed function. */
Status program_gradient(const Fn *f, const char *outs, const char *wrt, tg_program **out);

/* ---- typed.c ---- */

/* The typed program for the arguments, a reference. *fresh: it was made now. */
Status program_typed(const tg_program *p, const tg_arg *args, size_t num_args, tg_program **out,
                     bool *fresh);
/* The same with the results alone that are among the arguments, where any is: what runs. */
Status program_asked(const tg_program *p, const tg_arg *args, size_t num_args, tg_program **out,
                     bool *fresh);
/* Whether p, typed or not, takes an input of that name. */
bool program_names_input(Arena *a, const tg_program *p, const char *name);
/* ---- program.c ---- */

/* Plans a typed program once. */
Status program_plan(tg_program *p);
/* The typed program to inspect: itself, or the variant that ran last. Borrows. */
Status program_shown(const tg_program *p, tg_program **out);
void program_ran(const tg_program *p, tg_program *typed, bool fresh);
void program_counts(const tg_program *p, int64_t *hits, int64_t *misses);

/* "edge" for an edge set, ...: the role of a set in a typed program. */
tg_role program_role(const Fn *f, Set s);

#endif
