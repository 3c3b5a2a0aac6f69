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

/* Twice, so that a prepared program has nothing left for either: rows uncovers what clean folds, and
 * has the last word on how dense results go out. */
const char *const opt_prepare_passes[] = {"clean", "rows", "clean", "rows", "fma", NULL};

Fn *opt_prepare(Arena *takes, const Fn *f) {
    const char *const *name = opt_prepare_passes;
    Fn *g = opt_find(*name)->run(arena_new(), f);
    while (*++name) {
        Fn *next = opt_find(*name)->run(name[1] ? arena_new() : takes, g);
        ir_free(g);
        g = next;
    }
    return g;
}
