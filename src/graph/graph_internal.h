/* What the files of graph/ share: the counted core, index arrays of either width, blocks of work. */
#ifndef TIGA_GRAPH_GRAPH_INTERNAL_H
#define TIGA_GRAPH_GRAPH_INTERNAL_H

#include "graph/graph.h"

#include <stdatomic.h>

typedef struct Core Core;

/* A graph is one of its core's two views, so that swapping the ends needs no memory. */
struct Graph {
    Core *core;
    bool swapped;
    atomic_bool has_facts;
    GraphFacts facts;
};

struct Core {
    Graph view[2];
    _Atomic int64_t refs;
    int64_t num_src, num_dst, num_edges;
    bool wide;
    Csr by_dst, by_src;
    atomic_bool has_src;
    _Atomic(Blocks *) blocks[2]; /* of by_src, of by_dst; NULL: not asked for yet */
    _Atomic int32_t builder;     /* the process that builds a cached fact now, or 0 */
    char findings[512];
};

/* The core with no edges in it yet. core_end gives the graph, or frees the core where st is a
 * failure. */
Status core_new(int64_t num_src, int64_t num_dst, int64_t num_edges, Core **out);
Status core_end(Core *core, Status st, bool full, Graph **out);

/* Memory of count (+ extra) entries; the message names the buffer. */
Status buffer_new(const char *name, int64_t count, int64_t extra, size_t size, void **out);

/* ---- index arrays of ours: int64 where wide, else int32. `wide` is a constant where the loop is
 * hot: each such loop is an INLINE function called once a width. ---- */

#define INLINE static inline __attribute__((always_inline))

static inline size_t index_size(bool wide) { return wide ? sizeof(int64_t) : sizeof(int32_t); }

INLINE int64_t index_get(const void *a, bool wide, int64_t i) {
    return wide ? ((const int64_t *)a)[i] : ((const int32_t *)a)[i];
}

INLINE void index_put(void *a, bool wide, int64_t i, int64_t value) {
    if (wide) ((int64_t *)a)[i] = value;
    else ((int32_t *)a)[i] = (int32_t)value;
}

/* The number of the edge at position p. */
INLINE int64_t edge_at(const Csr *c, int64_t p) {
    return c->edge ? index_get(c->edge, c->wide, p) : p;
}

/* ---- blocks: n entries in pieces for pool_run ---- */

enum { MAX_BLOCKS = 64, BLOCK_ENTRIES = 32768 };

static inline int64_t num_blocks(int64_t n) {
    int64_t blocks = n / BLOCK_ENTRIES + 1;
    return n == 0 ? 0 : blocks > MAX_BLOCKS ? MAX_BLOCKS : blocks;
}

/* Where block k of `blocks` starts; block `blocks` starts at n. */
static inline int64_t block_start(int64_t n, int64_t blocks, int64_t k) {
    int64_t extra = n % blocks;
    return n / blocks * k + (k < extra ? k : extra);
}

/* ---- the stages ---- */

/* copy.c. The caller's array, each entry read once. */
Status array_check(const IndexArray *a, const char *name);
/* The largest entry + 1. */
Status array_count(const IndexArray *a, const char *name, int64_t *count);
/* Into `to`, of a's length; an entry outside [0, limit) is refused. limit_name: "num_src". */
Status array_copy(const IndexArray *a, const char *name, int64_t limit, const char *limit_name,
                  void *to, bool wide);
Status array_copy_row_ptr(const IndexArray *a, int64_t num_edges, int64_t *to);

/* group.c. Fills row_ptr, col, edge from edges in the order of their numbers: key is the end that
 * rows are made of, other the opposite one. Counts and width of c are set. */
Status group_edges(Csr *c, const void *key, const void *other);
/* Where the ends of c's edges go: entry first + e of both lists, each node shifted. */
typedef struct {
    const Csr *c;
    bool wide; /* of the lists */
    int64_t first, add_row, add_col;
    void *row, *col; /* col NULL: left out */
} Ends;
Status ends_write(Ends e);
/* The opposite of group_edges: the ends of c's edges in the order of their numbers; gives. key is NULL where
 * c->col is in that order already. */
Status ungroup_edges(const Csr *c, void **key, void **other);

/* chunk.c. max_degree, chunks and has_split from the rest. */
Status csr_finish(Csr *c);

/* blocks.c */
Status blocks_new(const Csr *c, Blocks **out);
void blocks_free(Blocks *b); /* NULL is fine */
uint64_t blocks_bytes(const Blocks *b, int64_t num_cols);

/* facts.c */
Status facts_find(const Csr *c, GraphFacts *out);
Status findings_write(const Csr *c, char *text, size_t size);

#endif
