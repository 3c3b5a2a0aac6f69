/* Reverse mode: the program of f and of its vector-Jacobian product, again a program. */
#ifndef TIGA_OPT_VJP_H
#define TIGA_OPT_VJP_H

#include "ir/ir.h"

/* Results of the new function: all of f's, and one "grad.<name>" for each input in wrt, of its type:
 * the sum over outs of the cotangent "cot.<out>" (a new input of out's type) times d out / d input.
 * Where a name is taken already (a gradient of a gradient program) the order is counted:
 * "grad2.<name>", "cot2.<out>", ... names_out, where not NULL, takes the num_outs cotangent names
 * and then the num_wrt gradient names, in the arena.
 * An input that no out depends on gets zeros. A where() in f kills the gradient of its dead branch even
 * where the derivative there is not finite. Integer and bool inputs or outs are refused
 * (ST_TYPE), unknown names too (ST_NAME): the arena is freed and *out untouched then. */
Status vjp_run(Arena *takes, const Fn *f, const char *const *outs, uint32_t num_outs,
               const char *const *wrt, uint32_t num_wrt, const char **names_out, Fn **out);

#endif
