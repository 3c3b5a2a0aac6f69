/* Runs one kernel's code over its rows: chunks, split rows, slots.
 *
 * Who computes what depends on the graph (or the number of rows) and the kernel alone, never on the
 * number of threads: results have the same bits on any. */
#ifndef TIGA_RUN_SCHED_H
#define TIGA_RUN_SCHED_H

#include "codegen/codegen.h"
#include "graph/graph.h"
#include "run/stage.h"

/* Slots of large sums are fewer: their bytes together stay within a bound. */
enum { MAX_SLOTS = 64, MOST_SLOT_BYTES = 1 << 28, SMALL_WORK = 20000 };

typedef struct {
    const KernelCode *code;
    uint64_t row_state_size, slot_size;
    const KernelArgs *args;
    const Csr *csr; /* of the kernel's map; NULL: rows alone */
    Stage *stage;   /* of its staged sums, opened; NULL where there are none */
    int64_t num_phases;
    bool has_slots;
    bool whole_rows;                   /* no row is split */
    uint64_t block_edges, block_bytes; /* Image's */
    uint64_t num_stages, num_shares;   /* Image's */
    int64_t
        width; /* elements of a row or an edge: below SMALL_WORK in all, the caller runs alone */
} Job;

/* ST_INTR where the caller's poll said so: results are then partly written. */
Status sched_run(const Job *job);

#endif
