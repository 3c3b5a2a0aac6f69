/* A relation: edges src -> dst, copied from the caller, validated in full, immutable, counted.
 *
 * Edges keep the caller's order: edge e is the e-th entry of col_idx (from_csr) or of the index
 * pair (from_coo). A traversal wants rows: the edges grouped by one end, in the order of their
 * numbers. csr_by_dst is made at construction, csr_by_src on first use. Indices are 32-bit inside
 * where every count fits, counts and offsets 64-bit. Knows nothing of IR. */
#ifndef TIGA_GRAPH_GRAPH_H
#define TIGA_GRAPH_GRAPH_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Graph Graph;

/* Caller's index array: int32 or int64, any stride. Borrowed for the call. */
typedef struct {
    const void *data;
    int64_t len, stride; /* entries; bytes between entries, may be 0 or negative */
    bool wide;           /* int64 */
} IndexArray;

/* A piece of work of at most CHUNK_EDGES edges and CHUNK_ROWS rows: whole rows [row, row_end), or a
 * part of the one row `row` where a row is longer than that (row_end is row + 1 then). [edge,
 * edge_end) are its positions either way. Depends on the graph alone. */
typedef struct {
    int64_t row, row_end, edge, edge_end;
    bool part; /* a part of a split row; parts of a row are neighbours in the list */
} Chunk;
enum { CHUNK_EDGES = 16384, CHUNK_ROWS = 16384 };

/* Edges grouped by one end. Position p in [row_ptr[i], row_ptr[i + 1]) of row i is edge
 * edge[p] (p itself where edge is NULL) and its other end is col[p]. */
typedef struct {
    int64_t num_rows, num_cols, num_edges;
    const int64_t *row_ptr; /* num_rows + 1 entries */
    const void *col,
        *edge; /* num_edges entries, int64 where wide, else int32; edge NULL: identity */
    bool wide;
    int64_t max_degree;
    const Chunk *chunks;
    int64_t num_chunks;
    bool has_split; /* some chunk is a part */
} Csr;
/* n elements in one row, as their map to `all` groups them: without col. Owns row_ptr and chunks. */
Status csr_of_one_row(int64_t n, Csr *out);
void csr_free(Csr *c); /* what it owns; zeroed is fine */

/* num_src < 0: the largest index + 1. Arguments are named in messages as in tiga.h: row_ptr,
 * col_idx, src, dst, edge_index. On failure *out is untouched. full: also reports duplicates, self
 * loops, unsorted rows in graph_findings. O(N + E), parallel. Any of these, and what is built on
 * first use, may end in ST_NOMEM, or in ST_INTR where the thread's poll says so. */
Status graph_from_csr(const IndexArray *row_ptr, const IndexArray *col_idx, int64_t num_src,
                      bool full, Graph **out);
Status graph_from_coo(const IndexArray *src, const IndexArray *dst, int64_t num_src,
                      int64_t num_dst, bool full, Graph **out);
/* dst i gathers from (i * degree + k) mod num_nodes, k in [0, degree). */
Status graph_regular(int64_t num_nodes, int64_t degree, Graph **out);

/* Relations from relations, derive.c. graph_cat: nodes and edges of each after those of the ones
 * before. graph_sorted: edges renumbered by (destination, source), ties as they were; order (may be
 * NULL) takes the former number of each. graph_add_self_loops: edge num_edges + i is i -> i, also
 * where there is such an edge already; refused where the node sets have different sizes. give. */
Status graph_cat(Graph *const *graphs, int64_t num_graphs, Graph **out);
Status graph_sorted(Graph *g, int64_t *order, Graph **out);
Status graph_add_self_loops(Graph *g, Graph **out);
/* Edges at each destination (by_dst) or source; degree has an entry for each. Builds nothing. */
void graph_degrees(const Graph *g, bool by_dst, int64_t *degree);
/* The ends of every edge in the order of their numbers. */
Status graph_edges(Graph *g, int64_t *src, int64_t *dst);

Graph *graph_ref(Graph *g);
void graph_unref(Graph *g); /* NULL is fine */

int64_t graph_num_src(const Graph *g);
int64_t graph_num_dst(const Graph *g);
int64_t graph_num_edges(const Graph *g);
bool graph_is_homogeneous(const Graph *g); /* num_src == num_dst */
/* A line each; "" where nothing was asked or found, and of a transposed graph. */
const char *graph_findings(const Graph *g);

/* Grouped by destination (by_dst) or by source; the latter is built on first use, once, safely from
 * many threads. */
Status graph_csr(Graph *g, bool by_dst, const Csr **out);
/* The same edges with ends swapped: the other view of the same thing, so the transpose of the
 * transpose is g itself. Never fails. gives. */
Status graph_transpose(Graph *g, Graph **out);
/* Same counts, ends and edge order. Of a graph and a transposed one it needs the grouping by source:
 * false with the error record set where that fails. */
bool graph_equal(const Graph *a, const Graph *b);

/* Found on first use, once. sorted: the other ends ascend in every row (of the grouping by
 * destination), duplicates allowed. */
typedef struct {
    bool sorted;
    int64_t self_loops;                          /* edges whose ends have the same number */
    int64_t first_unsorted_row, first_self_loop; /* -1 where there is none; the loop is an edge */
} GraphFacts;
Status graph_facts(Graph *g, const GraphFacts **out);

/* A grouping's positions in blocks of BLOCK_EDGES at most, for sums to the edges' other ends. Rows are dealt out
 * to tasks, which take one block, or a row that is longer and cut into blocks. In each block the edges are
 * sorted by their other ends, and stay in order for each. */
typedef struct {
    int64_t num_tasks, num_blocks, num_edges, num_long;
    const int64_t *row;    /* first of each task, and num_rows: num_tasks + 1 entries */
    const int64_t *block;  /* likewise, and num_blocks */
    const int64_t *edge;   /* first position of each block, and num_edges: num_blocks + 1 entries */
    const uint16_t *place; /* of each edge so sorted: position modulo MOST_PLACES; or LONG_END */
    const void *end;       /* likewise: its other end, int64 where wide, else int32 */
    const void *number;    /* num_cols entries alike: which of the ends with more than LONG_EDGES
                            edges it is, or -1; NULL where there is none */
    bool wide;
} Blocks;
enum { BLOCK_EDGES = 4096, MOST_PLACES = 32768, LONG_EDGES = 32, LONG_END = MOST_PLACES };
/* Derived on first use, once. */
Status graph_blocks(Graph *g, bool by_dst, const Blocks **out);

/* What there is to say, lines "name: value", cut off at size. */
Status graph_explain(Graph *g, char *text, size_t size);

uint64_t graph_bytes(const Graph *g); /* memory held, cached facts included */

/* What a program runs on: sizes by set number, relations by relation number. Borrows. */
typedef struct {
    const int64_t *set_size;
    Graph *const *graphs;
} Domain;

#endif
