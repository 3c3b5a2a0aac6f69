/* An array in somebody's memory, described: what programs are run on. */
#ifndef TIGA_IR_ARRAY_H
#define TIGA_IR_ARRAY_H

#include "ir/ir.h"

/* Of a value on a set: axis 0 is the set's, the feature axes follow. Of a value on `all`: the
 * feature axes alone. Strides of any kind are legal on inputs (0, negative, unaligned). */
typedef struct {
    void *data; /* borrows; NULL: not bound (an unbound output is not computed) */
    uint8_t dtype, rank;
    int64_t dim[MAX_RANK + 1];
    int64_t stride[MAX_RANK + 1]; /* bytes */
} Array;

#endif
