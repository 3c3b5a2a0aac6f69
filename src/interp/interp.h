/* The meaning: runs a program value by value, obviously.
 *
 * Each value is computed whole, in its own dtype, with the definitions of op.def and vmath.inc, in
 * edge order, one thread. No fusion, no vectors. Proven reducers run their proven form (softmax with
 * the row's maximum first). Cost: every value of the program in memory at once.
 *
 * An index of take or put that is out of range ends the run: ST_RANGE, and a message that names the
 * first of them. What no wanted result needs is not checked. */
#ifndef TIGA_INTERP_INTERP_H
#define TIGA_INTERP_INTERP_H

#include "graph/graph.h"
#include "ir/array.h"

/* inputs by f->inputs, outputs by f->results; outputs with data NULL are skipped. Types and sizes
 * agree already (api binds). traverse regions run as the program that they hold. */
Status interp_run(const Fn *f, const Domain *domain, const Array *inputs, const Array *outputs);

/* ST_RANGE and the message that interp_run gives where an index is out of range, ST_OK where none is:
 * computes indices and what they need, stores nothing. outputs say by data what is wanted. */
Status interp_check(const Fn *f, const Domain *domain, const Array *inputs, const Array *outputs);

#endif
