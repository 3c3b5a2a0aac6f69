/* Passes: program -> equal program. A pass takes a verified function and gives a new one in the
 * arena that it takes; the old one stays as it was. One table names them all, for tiga-opt, the
 * debug ladder and the random test. */
#ifndef TIGA_OPT_OPT_H
#define TIGA_OPT_OPT_H

#include "ir/ir.h"

typedef struct {
    const char *name;
    Fn *(*run)(Arena *takes, const Fn *f);
    const char *about; /* one line: what it does, needs, breaks */
    bool exact;        /* keeps every bit of every result */
} Pass;
extern const Pass opt_passes[]; /* ends with a NULL name */
const Pass *opt_find(const char *name);

/* Drops what no result needs and folds constants and identities that hold bit for bit
 * (x + 0 is kept: it turns -0 into +0). */
Fn *opt_clean(Arena *takes, const Fn *f);
/* a * b + c becomes fma, by the expression alone, so that one expression has one set of bits; every sum
 * and product gets two operands, so that nothing later reorders them. The last pass before plan; the
 * interpreter's yardstick runs after it too. Prepared programs pass unchanged. */
Fn *opt_fma(Arena *takes, const Fn *f);
/* Dense operations on [n, ..] with n a set's extent become operations on the set (enter and leave move
 * to inputs and results), as far as they go row by row; gathers of what is broadcast over features are
 * narrowed. Breaks the order of float sums over the rows. plan_check names what stays dense. */
Fn *opt_rows(Arena *takes, const Fn *f);
/* Elementwise work of what is gathered along one map is done before the gather, where that pays. */
Fn *opt_hoist(Arena *takes, const Fn *f);
/* Linear maps, factors and terms of a row leave its sums, guarded where it is empty; a product with a
 * concatenation is split where hoist moves a part. Breaks the order of float sums. */
Fn *opt_move(Arena *takes, const Fn *f);
/* Around the two in a program that is about to be differentiated: elements that no edge meets take part in nothing. */
Fn *opt_guard(Arena *takes, const Fn *f);
Fn *opt_unguard(Arena *takes, const Fn *f);
/* What every program passes through before it is planned or interpreted. */
Fn *opt_prepare(Arena *takes, const Fn *f);
extern const char *const opt_prepare_passes[]; /* in order; the last is NULL */
/* Move and hoist, for a program that is about to be differentiated: its gradient then does as little. */
Fn *opt_before_vjp(Arena *takes, const Fn *f);
bool opt_is_on(const char *name); /* TIGA_OFF=move leaves some out */

/* Splits a joint program (vjp.h) in two. forward computes the results named in `keep` and the
 * residuals: every result of a reduction (reduce, softmax, rmax) that the other results need and that
 * depends on no cotangent (an input "cot.*" or "cot<n>.*" that no kept result needs): node-sized
 * by-products, never edge values. backward takes the inputs, the cotangents and the residuals (results
 * of forward of these names) and computes the other results. Inputs that a half does not need are no
 * inputs of it. Both halves are prepared; a value computed in both has the same bits. */
typedef struct {
    Fn *forward, *backward; /* in arenas of their own */
    uint32_t num_residuals;
    const char *
        *residuals; /* names, in backward's arena: "res.0", "res.1", ... but for taken ones */
} Split;
Split opt_split(const Fn *joint, const char *const *keep, uint32_t num_keep);

#endif
