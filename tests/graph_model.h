/* A naive model of a relation for its tests, and random numbers with a fixed seed. */
#ifndef TIGA_TESTS_GRAPH_MODEL_H
#define TIGA_TESTS_GRAPH_MODEL_H

#include "graph/graph.h"

/* Sanitizers: absurd sizes get NULL, as from malloc. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

static inline int64_t at(const void *a, bool wide, int64_t i) {
    return wide ? ((const int64_t *)a)[i] : ((const int32_t *)a)[i];
}

static inline int64_t edge_of(const Csr *c, int64_t p) {
    return c->edge ? at(c->edge, c->wide, p) : p;
}

static inline bool chunks_cover(const Csr *c) {
    int64_t row = 0, p = 0;
    bool split = false;
    for (int64_t k = 0; k < c->num_chunks; k++) {
        const Chunk *h = &c->chunks[k];
        bool inside = h->part && p > c->row_ptr[row]; /* goes on with a row that has begun */
        if (h->row != row || h->edge != p || h->row_end <= row || h->row_end > c->num_rows)
            return false;
        if (h->edge_end - p > CHUNK_EDGES || h->row_end - row > CHUNK_ROWS) return false;
        if (h->part && (h->row_end != row + 1 || h->edge_end == p)) return false;
        if (!h->part && h->edge_end != c->row_ptr[h->row_end]) return false;
        if (inside && p >= c->row_ptr[row + 1]) return false;
        p = h->edge_end;
        if (p == c->row_ptr[h->row_end]) row = h->row_end;
        split |= h->part;
    }
    return row == c->num_rows && p == c->num_edges && split == c->has_split;
}

/* The grouping of edges key[e] <- other[e]: in range, complete, stable, with its facts. */
static inline bool groups(const Csr *c, const int64_t *key, const int64_t *other,
                          int64_t num_edges) {
    if (c->num_edges != num_edges || c->row_ptr[0] || c->row_ptr[c->num_rows] != num_edges)
        return false;
    int64_t most = 0;
    bool identity = true;
    for (int64_t r = 0; r < c->num_rows; r++) {
        int64_t begin = c->row_ptr[r], end = c->row_ptr[r + 1];
        if (end < begin) return false;
        if (end - begin > most) most = end - begin;
        for (int64_t p = begin; p < end; p++) {
            int64_t e = edge_of(c, p), col = at(c->col, c->wide, p);
            if (e < 0 || e >= num_edges || col < 0 || col >= c->num_cols) return false;
            if (key[e] != r || other[e] != col) return false;
            if (p > begin && edge_of(c, p - 1) >= e) return false;
            identity &= e == p;
        }
    }
    return most == c->max_degree && identity == !c->edge && chunks_cover(c);
}

static inline bool is_graph(Graph *g, const int64_t *src, const int64_t *dst, int64_t num_src,
                            int64_t num_dst, int64_t num_edges) {
    const Csr *by_dst, *by_src;
    if (graph_csr(g, true, &by_dst) || graph_csr(g, false, &by_src)) return false;
    return graph_num_src(g) == num_src && graph_num_dst(g) == num_dst &&
           graph_num_edges(g) == num_edges && by_dst->num_rows == num_dst &&
           by_dst->num_cols == num_src && by_src->num_rows == num_src &&
           by_src->num_cols == num_dst && groups(by_dst, dst, src, num_edges) &&
           groups(by_src, src, dst, num_edges);
}

static inline IndexArray wide_array(const int64_t *data, int64_t len) {
    return (IndexArray){data, len, sizeof *data, true};
}

static uint64_t random_state;
static inline uint64_t random_next(void) { /* splitmix64 */
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static inline int64_t random_below(int64_t n) {
    return n ? (int64_t)(random_next() % (uint64_t)n) : 0;
}

#endif
