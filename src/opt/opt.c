/* The table of passes. */
#include "opt/opt.h"

#include <string.h>

const Pass opt_passes[] = {
    {"clean", opt_clean, "drop what no result needs, fold constants and exact identities", true},
    {"fma", opt_fma, "a * b + c becomes fma; sums and products get two operands each", false},
    {"rows", opt_rows, "dense operations over a set's rows move onto the set", false},
    {"prepare", opt_prepare,
     "clean, rows, clean, fma: what every program passes before plan or interp", false},
    {NULL, NULL, NULL, false},
};

const Pass *opt_find(const char *name) {
    for (const Pass *p = opt_passes; p->name; p++)
        if (!strcmp(p->name, name)) return p;
    return NULL;
}

/* Cleaned again after rows, so that a prepared program has nothing left for either. */
Fn *opt_prepare(Arena *takes, const Fn *f) {
    Fn *cleaned = opt_clean(arena_new(), f);
    Fn *by_rows = opt_rows(arena_new(), cleaned);
    Fn *again = opt_clean(arena_new(), by_rows);
    Fn *g = opt_fma(takes, again);
    ir_free(again);
    ir_free(by_rows);
    ir_free(cleaned);
    return g;
}
