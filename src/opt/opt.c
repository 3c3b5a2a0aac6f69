/* The table of passes. */
#include "opt/opt.h"

#include <string.h>

const Pass opt_passes[] = {
    {"clean", opt_clean, "drop what no result needs, fold constants and exact identities", true},
    {"fma", opt_fma, "a * b + c becomes fma; sums and products get two operands each", false},
    {"rows", opt_rows, "dense operations over a set's rows move onto the set", false},
    {"prepare", opt_prepare,
     "clean, rows (twice), fma: what every program passes before plan or interp", false},
    {NULL, NULL, NULL, false},
};

const Pass *opt_find(const char *name) {
    for (const Pass *p = opt_passes; p->name; p++)
        if (!strcmp(p->name, name)) return p;
    return NULL;
}

static Fn *then(Fn *f, Fn *(*pass)(Arena *takes, const Fn *f)) {
    Fn *g = pass(arena_new(), f);
    ir_free(f);
    return g;
}

/* Twice, so that a prepared program has nothing left for either: rows uncovers what clean folds, and
 * has the last word on how dense results go out. */
Fn *opt_prepare(Arena *takes, const Fn *f) {
    Fn *g = opt_clean(arena_new(), f);
    g = then(then(then(g, opt_rows), opt_clean), opt_rows);
    Fn *prepared = opt_fma(takes, g);
    ir_free(g);
    return prepared;
}
