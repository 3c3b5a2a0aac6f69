/* Scalars known before anything runs. */
#ifndef TIGA_OPT_FOLD_H
#define TIGA_OPT_FOLD_H

#include "ir/ir.h"

/* op over constants, as a constant of type t: exactly what running it would give, or 0 where that is
 * not decided here (a NaN, a function of the vector math). */
Val fold_elem(Fn *f, Op op, const Val *args, const Type *t);
Val fold_cast(Fn *f, Val v, const Type *t);
/* The same splat in another type of that dtype. */
Val fold_splat(Fn *f, Val v, const Type *t);

#endif
