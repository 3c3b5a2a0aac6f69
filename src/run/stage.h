/* Sums to the other end of a kernel's map, by blocks of rows.
 *
 * Per block the kernel leaves one row of features an edge in scratch that stays in cache; then these rows
 * are added to the ends where they belong, in the order of graph_blocks, ranges of ends side by side.
 * Each end adds its edges in the order of their positions, in the groups of codegen/carry.c; so the bits
 * depend on the graph alone, and where positions are edge numbers, of 5 features and more, are those of a
 * kernel that visits the ends. Memory: a block, and two rows for each end of more than LONG_EDGES edges. */
#ifndef TIGA_RUN_STAGE_H
#define TIGA_RUN_STAGE_H

#include "codegen/codegen.h"
#include "graph/graph.h"

typedef struct {
    Buffer *buffer;              /* of the result; points into scratch while the kernel runs */
    int64_t n;                   /* features, more than 0 */
    bool f64;                    /* else f32 */
    char *out, *scratch, *carry; /* carry: two rows for each long end */
    int64_t *count;              /* edges met, by long end */
} StagedSum;

typedef struct {
    const Csr *csr;
    const Blocks *blocks;
    StagedSum *sums; /* borrows; buffer, n and f64 are set */
    int64_t num_sums;
    bool alone; /* small: on the caller's thread */
} Stage;

/* Zeroes the results. ST_NOMEM, ST_INTR; stage_close is due in any case. */
Status stage_open(Stage *s);
void stage_block(Stage *s, int64_t block); /* before the kernel runs on it */
Status stage_add(Stage *s, int64_t block); /* after */
/* The results are complete where every block was added. */
void stage_close(Stage *s);

#endif
