/* Prefetching of what an edge sweep will read: gathered rows and the streams beside them. */
#ifndef TIGA_CODEGEN_PREFETCH_H
#define TIGA_CODEGEN_PREFETCH_H

#include "codegen/emit.h"

typedef struct {
    uint8_t *need; /* by value: evaluated on the edges of this phase */
    int64_t distance;
} Prefetch;

Prefetch prefetch_new(Emit *e, int phase);
void prefetch_row(Emit *e); /* what the row at hand reads as a whole, of rows ahead */
void prefetch_emit(Emit *e, const Prefetch *p);  /* at the start of an edge */
void prefetch_lanes(Emit *e, const Prefetch *p); /* of EDGE_LANES edges */

#endif
