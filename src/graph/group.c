/* Groups edges by one end: a stable counting sort.
 *
 *     count    each block of edges counts its keys        counters[block][row]
 *     offset   prefix sums over (row, block)              row_ptr, and where each block's go
 *     place    each block puts its edges, in their order
 *
 * Stable, so the result is the same at any number of blocks: those follow the threads and keep the
 * counters smaller than the edges. Edges that are sorted already are not moved. */
#include "graph/graph_internal.h"

#include "base/mem.h"
#include "base/pool.h"

#include <string.h>

enum { MAX_COUNTERS = 8 };

typedef struct {
    int64_t num_rows, num_edges;
    bool wide;
    const void *key, *other;
    int64_t *row_ptr;
    void *col, *edge;
    void *counters; /* blocks * num_rows entries */
    int64_t blocks; /* of edges */
    int64_t row_blocks, row_start[MAX_BLOCKS];
    atomic_bool unsorted;
} Group;

static int64_t first_edge(const Group *g, int64_t k) {
    return block_start(g->num_edges, g->blocks, k);
}

/* ---- sorted keys ---- */

static void look_for_fall(void *ctx, int64_t k) {
    Group *g = ctx;
    int64_t begin = first_edge(g, k), end = first_edge(g, k + 1);
    for (int64_t e = begin ? begin : 1; e < end; e++)
        if (index_get(g->key, g->wide, e) < index_get(g->key, g->wide, e - 1)) {
            atomic_store(&g->unsorted, true);
            return;
        }
}

/* Row r starts at the first edge whose key is r or more. */
static void start_rows(void *ctx, int64_t k) {
    Group *g = ctx;
    int64_t begin = first_edge(g, k), end = first_edge(g, k + 1);
    int64_t row = begin ? index_get(g->key, g->wide, begin - 1) + 1 : 0;
    for (int64_t e = begin; e < end; e++)
        for (int64_t key = index_get(g->key, g->wide, e); row <= key; row++) g->row_ptr[row] = e;
    if (end == g->num_edges)
        for (; row <= g->num_rows; row++) g->row_ptr[row] = end;
    size_t size = index_size(g->wide);
    memcpy((char *)g->col + (size_t)begin * size, (const char *)g->other + (size_t)begin * size,
           (size_t)(end - begin) * size);
}

/* ---- unsorted keys ---- */

static void *counters_of(const Group *g, int64_t block) {
    return (char *)g->counters + (size_t)block * (size_t)g->num_rows * index_size(g->wide);
}

INLINE void count_range(const Group *g, int64_t k, bool wide) {
    void *counters = counters_of(g, k);
    memset(counters, 0, (size_t)g->num_rows * index_size(wide));
    for (int64_t e = first_edge(g, k), end = first_edge(g, k + 1); e < end; e++) {
        int64_t key = index_get(g->key, wide, e);
        index_put(counters, wide, key, index_get(counters, wide, key) + 1);
    }
}

static void count(void *ctx, int64_t k) {
    Group *g = ctx;
    if (g->wide) count_range(g, k, true);
    else count_range(g, k, false);
}

INLINE void place_range(const Group *g, int64_t k, bool wide) {
    void *next = counters_of(g, k);
    for (int64_t e = first_edge(g, k), end = first_edge(g, k + 1); e < end; e++) {
        int64_t key = index_get(g->key, wide, e), p = index_get(next, wide, key);
        index_put(next, wide, key, p + 1);
        index_put(g->col, wide, p, index_get(g->other, wide, e));
        index_put(g->edge, wide, p, e);
    }
}

static void place(void *ctx, int64_t k) {
    Group *g = ctx;
    if (g->wide) place_range(g, k, true);
    else place_range(g, k, false);
}

static void sum_rows(void *ctx, int64_t k) {
    Group *g = ctx;
    int64_t begin = block_start(g->num_rows, g->row_blocks, k);
    int64_t end = block_start(g->num_rows, g->row_blocks, k + 1), sum = 0;
    for (int64_t b = 0; b < g->blocks; b++)
        for (int64_t r = begin; r < end; r++) sum += index_get(counters_of(g, b), g->wide, r);
    g->row_start[k] = sum;
}

/* Counts become the positions at which each block puts its edges. */
static void offset_rows(void *ctx, int64_t k) {
    Group *g = ctx;
    int64_t end = block_start(g->num_rows, g->row_blocks, k + 1), at = g->row_start[k];
    for (int64_t r = block_start(g->num_rows, g->row_blocks, k); r < end; r++) {
        g->row_ptr[r] = at;
        for (int64_t b = 0; b < g->blocks; b++) {
            int64_t n = index_get(counters_of(g, b), g->wide, r);
            index_put(counters_of(g, b), g->wide, r, at);
            at += n;
        }
    }
}

static Status offset(Group *g) {
    g->row_blocks = num_blocks(g->num_rows);
    Status st = pool_run(g->row_blocks, sum_rows, g);
    if (st) return st;
    int64_t at = 0;
    for (int64_t k = 0; k < g->row_blocks; k++) {
        int64_t n = g->row_start[k];
        g->row_start[k] = at;
        at += n;
    }
    g->row_ptr[g->num_rows] = at;
    return pool_run(g->row_blocks, offset_rows, g);
}

static int64_t counter_blocks(const Group *g) {
    int64_t n = pool_num_threads();
    if (n > MAX_COUNTERS) n = MAX_COUNTERS;
    if (n > g->num_edges / (g->num_rows + 1)) n = g->num_edges / (g->num_rows + 1);
    if (n > num_blocks(g->num_edges)) n = num_blocks(g->num_edges);
    return n < 1 ? 1 : n;
}

static Status sort(Group *g) {
    g->blocks = counter_blocks(g);
    Status st = buffer_new("counters of a sort", g->num_rows, 0,
                           index_size(g->wide) * (size_t)g->blocks, &g->counters);
    if (!st) st = pool_run(g->blocks, count, g);
    if (!st) st = offset(g);
    if (!st) st = pool_run(g->blocks, place, g);
    mem_free(g->counters);
    return st;
}

Status group_edges(Csr *c, const void *key, const void *other) {
    Group g = {.num_rows = c->num_rows,
               .num_edges = c->num_edges,
               .wide = c->wide,
               .key = key,
               .other = other,
               .blocks = c->num_edges ? num_blocks(c->num_edges) : 1};
    void *row_ptr;
    Status st = buffer_new("row_ptr", c->num_rows, 1, sizeof(int64_t), &row_ptr);
    if (st) return st;
    c->row_ptr = g.row_ptr = row_ptr;
    st = buffer_new("col", c->num_edges, 0, index_size(c->wide), &g.col);
    if (st) return st;
    c->col = g.col;
    st = pool_run(g.blocks, look_for_fall, &g);
    if (st) return st;
    if (!atomic_load(&g.unsorted)) return pool_run(g.blocks, start_rows, &g);
    st = buffer_new("edge", c->num_edges, 0, index_size(c->wide), &g.edge);
    if (st) return st;
    c->edge = g.edge;
    return sort(&g);
}

/* ---- back to the order of the edges ---- */

INLINE void write_chunk(const Ends *e, const Chunk *chunk, bool wide) {
    const Csr *c = e->c;
    for (int64_t r = chunk->row, p = chunk->edge; r < chunk->row_end; r++) {
        int64_t end = chunk->part ? chunk->edge_end : c->row_ptr[r + 1];
        for (; p < end; p++) {
            int64_t at = e->first + edge_at(c, p);
            index_put(e->row, wide, at, e->add_row + r);
            if (e->col) index_put(e->col, wide, at, e->add_col + index_get(c->col, c->wide, p));
        }
    }
}

static void write_ends(void *ctx, int64_t k) {
    const Ends *e = ctx;
    if (e->wide) write_chunk(e, &e->c->chunks[k], true);
    else write_chunk(e, &e->c->chunks[k], false);
}

Status ends_write(Ends e) { return pool_run(e.c->num_chunks, write_ends, &e); }

Status ungroup_edges(const Csr *c, void **key, void **other) {
    Ends e = {.c = c, .wide = c->wide};
    Status st = buffer_new("edge ends", c->num_edges, 0, index_size(c->wide), &e.row);
    if (!st && c->edge) st = buffer_new("edge ends", c->num_edges, 0, index_size(c->wide), &e.col);
    if (!st) st = ends_write(e);
    if (st) {
        mem_free(e.row);
        mem_free(e.col);
        return st;
    }
    *key = e.col;
    *other = e.row;
    return ST_OK;
}
