/* Program -> traversals: which anchors run together, over which order, in which phases.
 *
 * Anchors are reductions (reduce, rmax, softmax, row_scan) and results. A kernel visits every element of one set
 * (its rows); where it has a map, each row's edges (the fibre of the map) are swept once a phase.
 * A kernel is a function again: its inputs are buffers (program inputs or what earlier kernels
 * stored), its results are what it stores. So a plan can be printed, verified and interpreted kernel
 * by kernel, and code generation reads the same IR as everybody. Edge values are recomputed in each
 * kernel that needs them; none is stored unless it is a result of the program, or depends on what a
 * row_scan gives on its way and is reduced in another order than that scan's, by anything but a float
 * sum. Such a sum is *staged*: a reduce to the other end of the kernel's map, whose operand is kept for
 * a block of edges at a time and added from there (run/stage.h). */
#ifndef TIGA_PLAN_PLAN_H
#define TIGA_PLAN_PLAN_H

#include "ir/ir.h"

/* Where in a kernel a value of its body is computed. */
typedef enum {
    LEVEL_once, /* on `all`: before the first row (depends on no reduce of this kernel) */
    LEVEL_edge, /* for each edge of a row, in a phase; what a scan gives on its way: in later ones, too */
    LEVEL_row, /* once a row, before its phase `phase` starts (after phase - 1 ended) */
    LEVEL_last /* on `all`: after the last row (depends on reduces to `all` in this kernel) */
} Level;

typedef struct {
    uint8_t level; /* Level */
    uint16_t
        phase; /* edge: swept in this phase (of an anchor: accumulated then; its result is known
                      at row level from phase + 1 on). row: first phase before which it is known */
} Place;

/* How a kernel's inner loops run (schedule.c). */
typedef enum {
    SCHEDULE_narrow,
    SCHEDULE_feature_lanes,
    SCHEDULE_edge_lanes,
    SCHEDULE_edge_tiles,
    NUM_SCHEDULES
} Schedule;

typedef struct {
    Fn *body;            /* in the plan's arena; sets and relations are the program's */
    const char *name;    /* "k0", ... */
    Set rows;            /* SET_ALL: a dense kernel, one row */
    Map map;             /* fibre of each row; MAP_NONE: rows alone */
    uint32_t num_phases; /* sweeps over a row's edges; 0 where map is MAP_NONE */
    const Place *place;  /* by body value, ir_count(body) entries; unused values may be anything */
    Schedule schedule;   /* one that plan_can holds for */
    bool has_slots;      /* some anchor reduces to `all`: accumulated in slots, then merged */
    bool whole_rows;     /* a row is one task, however long: it is scanned edge after edge */
} Kernel;

/* Kernels on `all` alone. Where nodes are folded to `all` its one row has edges, the nodes. */
static inline bool plan_is_dense(const Kernel *k) {
    return k->rows == SET_ALL && k->map == MAP_NONE;
}

/* Of a body: a staged sum. It is a result and nothing else reads it; its place is its operand's. */
static inline bool plan_is_staged(const Kernel *k, Val v) {
    const Node *n = ir_node(k->body, v);
    return n->op == OP_reduce && n->attr.map == map_other(k->map);
}
/* Of a block, the same for all staged sums of the kernel: a power of two, so many that their operands fit the
 * cache where it may be. */
enum { STAGED_LEAST = 4096, STAGED_MOST = 32768, STAGED_BYTES = 1 << 18 };
int64_t plan_staged_edges(const Kernel *k);

/* Every value on `all` is LEVEL_once or LEVEL_last, those of a dense kernel too: what is stored on
 * `all` is computed and stored by the kernel's end. In a kernel along the map of nodes to `all` what follows
 * from its scans is LEVEL_row. A gather along another map than the kernel's reads
 * an input (or is folded away); a value on the other end never stands in a body in any other way.
 * A reduce to `all` inside a kernel runs over the kernel's rows (level row) or its edges (level
 * edge): each task accumulates, in row order, into its slot. A value on the kernel's edge set that is
 * a result is stored by edge number. */

typedef struct {
    Arena *arena; /* owns everything here, not the program */
    const Fn *program;
    VEC(Kernel) kernels; /* in order of execution */
} Plan;

/* Total on verified programs that opt_prepare gave and plan_check lets pass.
 *
 * Names. A body's input is, in this order: a program input of that name; "degree.<relation>.src" or
 * "degree.<relation>.dst" (i64 on the map's end; in a body degree{m} stands for the kernel's own map
 * only, at the row); "size.<set>" (i64 on `all`, the set's extent); else what an earlier kernel stored
 * under that name. A body's result is a result of the program under its own name, or a buffer
 * "t.<n>" between kernels. A result that later kernels need is stored once and read under its own name
 * (where it is not bound it is a buffer all the same); no result is read whose name is an input's.
 * Results that are plain inputs, constants or another result still get a store.
 *
 * enter and leave are views and stand in no body: a program input on `all` whose first extent is a
 * set's enters a body on that set under its own name, a result leave(x) is stored as x is, on the
 * set. The same memory: axis 0 is the set's. */
Plan *plan_run(Arena *takes, const Fn *f);

/* ST_UNSUPPORTED, naming the operation, for what opt_prepare leaves that a kernel cannot hold: a dense
 * value with a set's extent that is not an input, a constant or a result; a relation between edges; an
 * input or a result whose name is a fact's. */
Status plan_check(const Fn *f);

const char *plan_schedule(const Kernel *k);     /* its name: "feature-lanes" */
const char *plan_schedule_why(const Kernel *k); /* for people */
/* Whether code of that schedule exists for the kernel; results have the same bits on each. */
bool plan_can(const Kernel *k, Schedule s);

/* The stages as text-ready functions: "iter" (fused groups as traverse regions), "kernel" (the same
 * with a schedule on each), "task" (launches and buffers). */
Fn *plan_stage(Arena *takes, const Plan *p, const char *stage);

/* Exact counts for a domain: sizes by set number, edges being the size of the edge set.
 *
 * traversals  kernels that visit an edge set        edge_visits  edges times phases
 * flops       an elementwise operation 1 an element (exp, log, tanh, div, sqrt, comparisons and select
 *             too; fma 2; n-ary n - 1); fsum, fmax, cumsum, reduce 1 an element taken in (a
 *             reduce of put adds no more: put is 1 an element of its rows); rmax 2; softmax 4 a
 *             score and 2 a value; matmul 2 M K N; moves 0. Edge values are counted in every phase
 *             that recomputes them, row values once a row.
 * bytes_read  what a row or an edge reads from buffers (a table once, its own one whole), gathered rows once an edge and phase; row
 *             pointers 8, the other end 4 an edge and phase where it is used, edge numbers 4 in source
 *             order where edge fields, edge results or the numbers themselves are touched, and of a staged sum
 *             (8 on sets of 2^31 and more)
 * bytes_written  results and buffers */
typedef struct {
    int64_t traversals, edge_visits, flops, bytes_read, bytes_written;
    int64_t staging_bytes;     /* of blocks of plan_staged_edges: one thread's */
    int64_t edge_buffer_bytes; /* edge-sized buffers that are not results */
    int64_t node_buffer_bytes; /* what kernels hand to each other */
} Cost;
Cost plan_cost(const Plan *p, const int64_t *set_size);

#endif
