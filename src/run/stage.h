/* Sums to the other end of a kernel's map, by blocks of edges.
 *
 * A task's kernel leaves one row of features an edge in scratch of its own, which stays in the cache; then the
 * task adds those rows to the ends where they belong, in the order of graph_blocks. Ends lie in ranges; a task
 * has its turn at a range when the task before it has left that one for good, so tasks follow each other
 * through the ranges side by side. Each end adds its edges in the order of their positions, in the groups of
 * codegen/carry.c; so the bits depend on the graph alone, and where positions are edge numbers, of 5 features
 * and more, are those of a kernel that visits the ends. Memory: a block for each thread, and two rows for each
 * end of more than LONG_EDGES edges. */
#ifndef TIGA_RUN_STAGE_H
#define TIGA_RUN_STAGE_H

#include "codegen/codegen.h"
#include "graph/graph.h"

typedef struct {
    uint32_t buffer;   /* of the result; the kernel's copy of it is scratch */
    int64_t n;         /* features, more than 0 */
    bool f64;          /* else f32 */
    char *out, *carry; /* carry: two rows for each long end */
    int64_t *count;    /* edges met, by long end */
} StagedSum;

typedef struct Lane Lane;

typedef struct {
    int64_t num_ends;
    const Blocks *blocks;
    const KernelArgs *args; /* as the kernel has them but for lanes and staged results */
    uint32_t num_buffers;
    StagedSum *sums; /* borrows; buffer, n and f64 are set */
    int64_t num_sums, block_edges;
    /* Of stage_open: */
    int64_t num_tasks, num_lanes;
    int64_t *
        first; /* of each task: it is these tasks of blocks, which fit a block of block_edges or are one row */
    Lane *lanes;
    _Atomic int64_t *turn; /* by range: the task that may add there */
} Stage;

static inline int64_t stage_row(const Stage *s,
                                int64_t task) { /* the first; num_rows behind the last */
    return s->blocks->row[s->first[task]];
}
/* Zeroes the results. ST_NOMEM, ST_INTR; stage_close is due in any case. */
Status stage_open(Stage *s);
/* Of task `task`: what its kernel is called with, from when task `task - lag` has ended; then stage_end. Tasks must start in
 * rising order, on as many threads as the pool had when the stage was opened. */
const KernelArgs *stage_begin(Stage *s, int64_t task, int64_t lag);
void stage_end(const KernelArgs *args);
/* The results are complete where every task has ended. */
void stage_close(Stage *s);

#endif
