/* The arrays that a call binds: shapes against a domain, layouts, overlap, copies. */
#ifndef TIGA_RUN_OPERAND_H
#define TIGA_RUN_OPERAND_H

#include "codegen/codegen.h"
#include "graph/graph.h"
#include "ir/array.h"

/* A dense row-major array of this type; data is NULL. *bytes is its size, ST_NOMEM where that does
 * not fit. */
Status operand_dense(const Type *t, const Domain *domain, const char *name, Array *out,
                     int64_t *bytes);
/* ST_SHAPE or ST_TYPE where the array has another shape or dtype than `want`. */
Status operand_check(const char *role, const char *name, const Array *a, const Array *want);

int64_t operand_count(const Array *a);              /* elements */
Layout operand_layout(const Array *a, bool on_set); /* on_set: axis 0 is rows */
/* Whether it is dense and aligned as a whole: what kernels store to. */
bool operand_is_dense(const Array *a);
/* The bytes from the first to behind the last. */
typedef struct {
    uintptr_t begin, end;
} Bounds;
Bounds operand_bounds(const Array *a);
bool operand_overlaps(const Array *a, const Array *b); /* by their bounds */
Buffer operand_buffer(const Array *a, bool on_set);

/* Shapes and dtypes are equal; strides are any. Parallel. */
Status operand_copy(const Array *to, const Array *from);

#endif
