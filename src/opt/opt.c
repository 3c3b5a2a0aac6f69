/* The table of passes. */
#include "opt/opt.h"

#include "base/debug.h"
#include "opt/rewrite.h"

#include <string.h>

const Pass opt_passes[] = {
    {"clean", opt_clean, "drop what no result needs, fold constants and exact identities", true},
    {"fma", opt_fma, "a * b + c becomes fma; sums and products get two operands each", false},
    {"rows", opt_rows, "dense operations over a set's rows move onto the set", false},
    {"hoist", opt_hoist, "f(gather a, gather b) becomes gather(f(a, b)) where that pays", true},
    {"move", opt_move, "linear work leaves sums along maps and products with concatenations",
     false},
    {"guard", opt_guard, "what a gather takes is 1 where no edge meets it", true},
    {"unguard", opt_unguard, "undoes guard where no work moved off the edges", true},
    {"prepare", opt_prepare,
     "what every program passes before plan or interp: all of these, in order", false},
    {NULL, NULL, NULL, false},
};

const Pass *opt_find(const char *name) {
    for (const Pass *p = opt_passes; p->name; p++)
        if (!strcmp(p->name, name)) return p;
    return NULL;
}

/* Clean and rows twice, so that a prepared program has nothing left for either: rows uncovers what clean
 * folds, and has the last word on how dense results go out. */
const char *const opt_prepare_passes[] = {"clean", "rows", "move", "hoist",
                                          "clean", "rows", "fma",  NULL};

bool opt_is_on(const char *name) {
    static const char *const moves[] = {"hoist", "move", "guard", "unguard"};
    bool is_move = false;
    for (size_t k = 0; k < sizeof moves / sizeof *moves; k++) is_move |= !strcmp(name, moves[k]);
    return !is_move || !debug_has("OFF", "move");
}

static Fn *run_named(Arena *takes, const Fn *f, const char *const *names) {
    Fn *g = NULL;
    for (; *names; names++) {
        if (!opt_is_on(*names)) continue;
        Fn *next = opt_find(*names)->run(arena_new(), g ? g : f);
        ir_free(g);
        g = next;
    }
    Fn *out = rewrite_copy(takes, g ? g : f);
    ir_free(g);
    return out;
}

Fn *opt_before_vjp(Arena *takes, const Fn *f) {
    static const char *const names[] = {"guard", "move", "hoist", "unguard", NULL};
    return run_named(takes, f, names);
}

/* Once prepared a program passes as it is: halves of one would move and fuse apart, and what both
 * compute would differ. */
Fn *opt_prepare(Arena *takes, const Fn *f) {
    static const char *const none[] = {NULL};
    Fn *g = run_named(takes, f, f->prepared ? none : opt_prepare_passes);
    g->prepared = true;
    return g;
}
