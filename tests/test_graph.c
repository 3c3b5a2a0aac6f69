/* Relations: small ones by hand, every form of index array, chunks, facts, and agreement with a
 * naive model at any number of threads. */
#include "base/pool.h"
#include "graph_model.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- small relations, by hand ---- */

enum { FEW = 8 };
typedef struct {
    const char *name;
    int64_t num_src, num_dst, num_edges;
    int64_t src[FEW], dst[FEW];
    int64_t row_ptr[FEW], col[FEW], edge[FEW];         /* by destination */
    int64_t src_ptr[FEW], src_col[FEW], src_edge[FEW]; /* by source */
} Small;

static const Small smalls[] = {
    {"nothing", 0, 0, 0, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}},
    {"three nodes, no edges", 3, 3, 0, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}},
    {"one self loop", 1, 1, 1, {0}, {0}, {0, 1}, {0}, {0}, {0, 1}, {0}, {0}},
    {"an edge twice",
     2,
     2,
     2,
     {0, 0},
     {1, 1},
     {0, 0, 2},
     {0, 0},
     {0, 1},
     {0, 2, 2},
     {1, 1},
     {0, 1}},
    {"unsorted, node 1 isolated",
     3,
     3,
     4,
     {2, 0, 2, 0},
     {2, 0, 0, 2},
     {0, 2, 2, 4},
     {0, 2, 2, 0},
     {1, 2, 0, 3},
     {0, 2, 2, 4},
     {0, 2, 2, 0},
     {1, 3, 0, 2}},
    {"two sources, four destinations",
     2,
     4,
     4,
     {0, 1, 1, 1},
     {0, 1, 2, 3},
     {0, 1, 2, 3, 4},
     {0, 1, 1, 1},
     {0, 1, 2, 3},
     {0, 1, 4},
     {0, 1, 2, 3},
     {0, 1, 2, 3}},
    {"a hub",
     5,
     5,
     5,
     {4, 3, 2, 1, 0},
     {0, 0, 0, 0, 0},
     {0, 5, 5, 5, 5, 5},
     {4, 3, 2, 1, 0},
     {0, 1, 2, 3, 4},
     {0, 1, 2, 3, 4, 5},
     {0, 0, 0, 0, 0},
     {4, 3, 2, 1, 0}},
    {"a chain backwards",
     4,
     4,
     3,
     {2, 1, 0},
     {3, 2, 1},
     {0, 0, 1, 2, 3},
     {0, 1, 2},
     {2, 1, 0},
     {0, 1, 2, 3, 3},
     {1, 2, 3},
     {2, 1, 0}},
};
enum { NUM_SMALLS = sizeof smalls / sizeof *smalls };

static void same_csr(const Csr *c, const int64_t *row_ptr, const int64_t *col,
                     const int64_t *edge) {
    for (int64_t r = 0; r <= c->num_rows; r++) assert_int_equal(c->row_ptr[r], row_ptr[r]);
    for (int64_t p = 0; p < c->num_edges; p++) {
        assert_int_equal(at(c->col, c->wide, p), col[p]);
        assert_int_equal(edge_of(c, p), edge[p]);
    }
    assert_true(chunks_cover(c));
}

static void same_as_by_hand(Graph *g, const Small *s) {
    const Csr *c;
    assert_int_equal(graph_num_src(g), s->num_src);
    assert_int_equal(graph_num_dst(g), s->num_dst);
    assert_int_equal(graph_is_homogeneous(g), s->num_src == s->num_dst);
    assert_int_equal(graph_csr(g, true, &c), ST_OK);
    same_csr(c, s->row_ptr, s->col, s->edge);
    assert_int_equal(graph_csr(g, false, &c), ST_OK);
    same_csr(c, s->src_ptr, s->src_col, s->src_edge);
}

/* The same numbers laid out in another way; bytes owns them. */
typedef struct {
    const char *name;
    int64_t size, stride; /* of an entry; from entry to entry */
    int64_t offset;
} Layout;
static const Layout layouts[] = {
    {"int32", 4, 4, 0},
    {"int64", 8, 8, 0},
    {"int32, every second", 4, 8, 0},
    {"int64 backwards", 8, -8, 0},
    {"int32 backwards", 4, -12, 0},
    {"int64, unaligned", 8, 11, 3},
};
enum { NUM_LAYOUTS = sizeof layouts / sizeof *layouts };

static IndexArray lay_out(const Layout *l, const int64_t *values, int64_t n, char *bytes) {
    char *first = bytes + l->offset - (l->stride < 0 && n ? (n - 1) * l->stride : 0);
    for (int64_t i = 0; i < n; i++) {
        int32_t narrow = (int32_t)values[i];
        if (l->size == 8) memcpy(first + i * l->stride, &values[i], 8);
        else memcpy(first + i * l->stride, &narrow, 4);
    }
    return (IndexArray){first, n, l->stride, l->size == 8};
}

static bool dst_sorted(const Small *s) {
    for (int64_t e = 1; e < s->num_edges; e++)
        if (s->dst[e] < s->dst[e - 1]) return false;
    return true;
}

static void small_one(const Small *s, const Layout *l) {
    char a[256], b[256];
    Graph *coo = NULL, *csr = NULL;
    IndexArray src = lay_out(l, s->src, s->num_edges, a), dst = lay_out(l, s->dst, s->num_edges, b);
    assert_int_equal(graph_from_coo(&src, &dst, s->num_src, s->num_dst, true, &coo), ST_OK);
    same_as_by_hand(coo, s);
    if (dst_sorted(s)) {
        IndexArray ptr = lay_out(l, s->row_ptr, s->num_dst + 1, b);
        assert_int_equal(graph_from_csr(&ptr, &src, s->num_src, true, &csr), ST_OK);
        same_as_by_hand(csr, s);
        assert_true(graph_equal(coo, csr));
    }
    memset(a, 0x7f, sizeof a); /* the arrays were copied */
    same_as_by_hand(coo, s);
    graph_unref(coo);
    graph_unref(csr);
}

static void small_relations(void **state) {
    (void)state;
    for (int i = 0; i < NUM_SMALLS; i++)
        for (int k = 0; k < NUM_LAYOUTS; k++) small_one(&smalls[i], &layouts[k]);
}

static Graph *make(const int64_t *src, const int64_t *dst, int64_t n, int64_t num_src,
                   int64_t num_dst) {
    Graph *g = NULL;
    IndexArray s = wide_array(src, n), d = wide_array(dst, n);
    assert_int_equal(graph_from_coo(&s, &d, num_src, num_dst, false, &g), ST_OK);
    return g;
}

static void transposes_swap_the_ends(void **state) {
    (void)state;
    for (int i = 0; i < NUM_SMALLS; i++) {
        const Small *s = &smalls[i];
        Graph *g = make(s->src, s->dst, s->num_edges, s->num_src, s->num_dst), *t, *back;
        Graph *built = make(s->dst, s->src, s->num_edges, s->num_dst, s->num_src);
        assert_int_equal(graph_transpose(g, &t), ST_OK);
        assert_int_equal(graph_transpose(t, &back), ST_OK);
        assert_ptr_equal(back, g);
        graph_unref(g);
        graph_unref(back);
        assert_true(is_graph(t, s->dst, s->src, s->num_dst, s->num_src, s->num_edges));
        assert_true(graph_equal(t, built) && graph_equal(built, t));
        graph_unref(t);
        graph_unref(built);
    }
}

static void equal_by_value(void **state) {
    (void)state;
    Graph *g[NUM_SMALLS], *t[NUM_SMALLS];
    for (int i = 0; i < NUM_SMALLS; i++) {
        const Small *s = &smalls[i];
        g[i] = make(s->src, s->dst, s->num_edges, s->num_src, s->num_dst);
        assert_int_equal(graph_transpose(g[i], &t[i]), ST_OK);
    }
    for (int i = 0; i < NUM_SMALLS; i++)
        for (int k = 0; k < NUM_SMALLS; k++) {
            assert_int_equal(graph_equal(g[i], g[k]), i == k);
            assert_int_equal(graph_equal(t[i], t[k]), i == k);
        }
    /* One thing differs: order, other ends, numbers of the edges in their rows. */
    static const int64_t ends[][2][3] = {{{0, 1, 1}, {1, 0, 0}}, {{1, 0, 1}, {0, 1, 0}},
                                         {{0, 0, 1}, {1, 0, 1}}, {{0, 1, 1}, {1, 0, 1}},
                                         {{0, 1, 0}, {1, 1, 0}}, {{0, 0, 0}, {0, 0, 1}},
                                         {{1, 0, 0}, {0, 0, 1}}};
    enum { ENDS = sizeof ends / sizeof *ends };
    for (int i = 0; i < ENDS; i++)
        for (int k = 0; k < ENDS; k++) {
            Graph *one = make(ends[i][0], ends[i][1], 3, 2, 2);
            Graph *two = make(ends[k][0], ends[k][1], 3, 2, 2);
            assert_int_equal(graph_equal(one, two), i == k);
            graph_unref(one);
            graph_unref(two);
        }
    for (int i = 0; i < NUM_SMALLS; i++) {
        graph_unref(g[i]);
        graph_unref(t[i]);
    }
    graph_unref(NULL);
}

static void counts_by_default(void **state) {
    (void)state;
    static const int64_t src[] = {4, 0}, dst[] = {1, 6}, ptr[] = {0, 1, 2};
    IndexArray s = wide_array(src, 2), d = wide_array(dst, 2), p = wide_array(ptr, 3);
    IndexArray none = {.wide = true};
    Graph *g;
    assert_int_equal(graph_from_coo(&s, &d, -1, -1, false, &g), ST_OK);
    assert_int_equal(graph_num_src(g), 5);
    assert_int_equal(graph_num_dst(g), 7);
    graph_unref(g);
    assert_int_equal(graph_from_csr(&p, &s, -1, false, &g), ST_OK);
    assert_int_equal(graph_num_src(g), 5);
    assert_int_equal(graph_num_dst(g), 2);
    graph_unref(g);
    assert_int_equal(graph_from_coo(&none, &none, -1, -1, false, &g), ST_OK);
    assert_int_equal(graph_num_src(g) + graph_num_dst(g), 0);
    graph_unref(g);
}

static void regular_relations(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{0, 0}, {0, 5}, {1, 0}, {1, 3},     {3, 0},
                                       {5, 2}, {4, 4}, {3, 7}, {1000, 16}, {70000, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t n = sizes[i][0], degree = sizes[i][1], edges = n * degree;
        int64_t *src = malloc(sizeof *src * (size_t)(edges + 1)),
                *dst = malloc(sizeof *dst * (size_t)(edges + 1));
        for (int64_t r = 0; r < n; r++)
            for (int64_t k = 0; k < degree; k++) {
                src[r * degree + k] = (r * degree + k) % n;
                dst[r * degree + k] = r;
            }
        Graph *g;
        assert_int_equal(graph_regular(n, degree, &g), ST_OK);
        assert_true(is_graph(g, src, dst, n, n, edges));
        graph_unref(g);
        free(src);
        free(dst);
    }
}

/* All of an int32's bits, its sign among them. */
static void narrow_indices(void **state) {
    (void)state;
    int32_t src[] = {70000, 2, 0x12345}, dst[] = {0, 66000, 1};
    const int64_t wide_src[] = {70000, 2, 0x12345}, wide_dst[] = {0, 66000, 1};
    IndexArray s = {src, 3, 4, false}, d = {dst, 3, 4, false};
    Graph *g = NULL;
    assert_int_equal(graph_from_coo(&s, &d, -1, -1, false, &g), ST_OK);
    assert_true(is_graph(g, wide_src, wide_dst, 0x12346, 66001, 3));
    graph_unref(g);
    src[1] = -1;
    assert_int_equal(graph_from_coo(&s, &d, -1, -1, false, &g), ST_RANGE);
    assert_non_null(strstr(err_message(), "src: index -1 at position 1"));
}

/* num_src alone is large: legal, wide, and grouping by source is refused for want of memory. */
static void wide_for_many_sources(void **state) {
    (void)state;
    static const int64_t src[] = {(int64_t)1 << 45, 3}, dst[] = {1, 0};
    Graph *g = make(src, dst, 2, -1, -1);
    const Csr *c;
    assert_int_equal(graph_num_src(g), ((int64_t)1 << 45) + 1);
    assert_int_equal(graph_csr(g, true, &c), ST_OK);
    assert_true(c->wide && groups(c, dst, src, 2));
    assert_int_equal(graph_csr(g, false, &c), ST_NOMEM);
    assert_non_null(strstr(err_message(), "row_ptr of 281474976710672 bytes"));
    graph_unref(g);
    static const int64_t far[] = {INT32_MAX, 3};
    g = make(far, dst, 2, -1, -1); /* 2^31 sources: one more than 32 bits count */
    assert_int_equal(graph_csr(g, true, &c), ST_OK);
    assert_true(c->wide && groups(c, dst, far, 2));
    graph_unref(g);
    static const int64_t last[] = {INT32_MAX - 1, 3};
    g = make(last, dst, 2, -1, -1);
    assert_int_equal(graph_csr(g, true, &c), ST_OK);
    assert_true(!c->wide && groups(c, dst, last, 2));
    graph_unref(g);
}

/* ---- larger ones, against the model ---- */

typedef struct {
    int64_t num_src, num_dst, num_edges, *src, *dst;
} Edges;

static Edges random_edges(int64_t num_src, int64_t num_dst, int64_t num_edges, bool hub) {
    size_t bytes = sizeof(int64_t) * (size_t)(num_edges + 1);
    Edges x = {num_src, num_dst, num_edges, malloc(bytes), malloc(bytes)};
    for (int64_t e = 0; e < num_edges; e++) {
        x.src[e] = hub && e % 3 ? num_src / 2 : random_below(num_src);
        x.dst[e] = hub && e % 2 ? num_dst / 2 : random_below(num_dst);
    }
    return x;
}

static void edges_free(Edges *x) {
    free(x->src);
    free(x->dst);
}

static void agrees_with_the_model(void **state) {
    (void)state;
    random_state = 1;
    static const int64_t sizes[][3] = {{1, 1, 100000},       {7, 50000, 100000},
                                       {50000, 7, 100000},   {1000, 1000, 300000},
                                       {200000, 100000, 50}, {40000, 40000, 200000}};
    static const int threads[] = {1, 2, 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int hub = 0; hub < 2; hub++) {
            Edges x = random_edges(sizes[i][0], sizes[i][1], sizes[i][2], hub);
            Graph *before = NULL;
            for (int t = 0; t < 3; t++) {
                pool_set_num_threads(threads[t]);
                Graph *g = make(x.src, x.dst, x.num_edges, x.num_src, x.num_dst);
                assert_true(is_graph(g, x.src, x.dst, x.num_src, x.num_dst, x.num_edges));
                if (before) assert_true(graph_equal(before, g));
                graph_unref(before);
                before = g;
            }
            graph_unref(before);
            edges_free(&x);
        }
    pool_set_num_threads(0);
}

static void chunk_limits(void **state) {
    (void)state;
    /* degrees around the limits, alone and between other rows */
    static const int64_t degrees[] = {CHUNK_EDGES, CHUNK_EDGES + 1,     0,
                                      1,           CHUNK_EDGES - 1,     3 * CHUNK_EDGES,
                                      0,           2 * CHUNK_EDGES + 1, 5};
    enum { ROWS = sizeof degrees / sizeof *degrees };
    int64_t ptr[ROWS + 1] = {0}, zero = 0;
    for (int r = 0; r < ROWS; r++) ptr[r + 1] = ptr[r] + degrees[r];
    IndexArray p = wide_array(ptr, ROWS + 1), c = {&zero, ptr[ROWS], 0, true};
    Graph *g;
    const Csr *csr;
    assert_int_equal(graph_from_csr(&p, &c, 1, false, &g), ST_OK);
    assert_int_equal(graph_csr(g, true, &csr), ST_OK);
    assert_true(chunks_cover(csr) && csr->has_split);
    assert_int_equal(csr->num_chunks, 1 + 2 + 1 + 3 + 1 + 3 + 1);
    assert_int_equal(csr->max_degree, 3 * CHUNK_EDGES);
    assert_int_equal(graph_csr(g, false, &csr), ST_OK);
    assert_true(chunks_cover(csr) && csr->has_split && csr->num_rows == 1);
    graph_unref(g);
    assert_int_equal(graph_regular(CHUNK_ROWS * 2 + 1, 0, &g), ST_OK);
    assert_int_equal(graph_csr(g, true, &csr), ST_OK);
    assert_true(chunks_cover(csr) && csr->num_chunks == 3 && !csr->has_split);
    graph_unref(g);
}

/* Edges sorted in each of two blocks, and not from one to the next. */
static void unsorted_between_blocks(void **state) {
    (void)state;
    enum { N = 40000, HALF = N / 2 }; /* two blocks */
    int64_t *src = calloc(N, sizeof *src), *dst = calloc(N, sizeof *dst);
    for (int64_t e = 0; e < HALF; e++) dst[e] = 1;
    Graph *g = make(src, dst, N, 1, 2);
    assert_true(is_graph(g, src, dst, 1, 2, N));
    graph_unref(g);
    free(src);
    free(dst);
}

/* Rows as long as a chunk are whole; of a row twice as long the second part starts with a fall. */
static void long_rows(void **state) {
    (void)state;
    static const int64_t ptr[] = {0, CHUNK_EDGES, 3 * CHUNK_EDGES};
    static int64_t src[3 * CHUNK_EDGES];
    for (int64_t p = ptr[1]; p < 2 * CHUNK_EDGES; p++) src[p] = 1;
    IndexArray p = wide_array(ptr, 3), c = wide_array(src, 3 * CHUNK_EDGES);
    Graph *g;
    const Csr *csr;
    const GraphFacts *f;
    assert_int_equal(graph_from_csr(&p, &c, 2, false, &g), ST_OK);
    assert_int_equal(graph_csr(g, true, &csr), ST_OK);
    assert_int_equal(graph_facts(g, &f), ST_OK);
    assert_true(csr->has_split && !f->sorted && f->first_unsorted_row == 1);
    graph_unref(g);
    p.len = 2;
    c.len = CHUNK_EDGES;
    assert_int_equal(graph_from_csr(&p, &c, 2, false, &g), ST_OK);
    assert_int_equal(graph_csr(g, true, &csr), ST_OK);
    assert_true(!csr->has_split && csr->num_chunks == 1);
    graph_unref(g);
}

static void facts_and_findings(void **state) {
    (void)state;
    static const int64_t src[] = {1, 0, 2, 0, 0, 2}, dst[] = {0, 0, 2, 1, 1, 1};
    IndexArray s = wide_array(src, 6), d = wide_array(dst, 6);
    Graph *g, *t;
    const GraphFacts *f;
    assert_int_equal(graph_from_coo(&s, &d, 3, 3, true, &g), ST_OK);
    assert_string_equal(graph_findings(g),
                        "1 duplicate edges (first: edge 4)\n2 self loops (first: edge 1)\n"
                        "rows are not sorted (first: row 0)");
    assert_int_equal(graph_facts(g, &f), ST_OK);
    assert_true(!f->sorted && f->self_loops == 2 && f->first_self_loop == 1);
    assert_int_equal(f->first_unsorted_row, 0);
    assert_int_equal(graph_transpose(g, &t), ST_OK);
    assert_string_equal(graph_findings(t), "");
    assert_int_equal(graph_facts(t, &f), ST_OK);
    assert_true(!f->sorted && f->self_loops == 2 && f->first_unsorted_row == 2);
    uint64_t bytes = graph_bytes(g);
    assert_true(bytes > 6 * 4 * 3 && bytes < 2000 && bytes == graph_bytes(t));
    graph_unref(t);
    graph_unref(g);
    assert_int_equal(graph_from_coo(&s, &d, 4, 3, false, &g), ST_OK);
    assert_string_equal(graph_findings(g), "");
    graph_unref(g);
    static const int64_t from[] = {2, 0, 1}, to[] = {1, 0, 1};
    g = make(from, to, 3, 3, 3); /* the first loop is edge 1, at position 0 */
    assert_int_equal(graph_facts(g, &f), ST_OK);
    assert_true(f->self_loops == 2 && f->first_self_loop == 1);
    graph_unref(g);
    assert_int_equal(graph_regular(4, 2, &g), ST_OK);
    assert_int_equal(graph_facts(g, &f), ST_OK);
    assert_true(f->sorted && f->self_loops == 2 && f->first_self_loop == 0);
    graph_unref(g);
}

/* ---- many threads ---- */

static void *ask_for_csr(void *g) {
    const Csr *c = NULL;
    const GraphFacts *f = NULL;
    if (graph_csr(g, false, &c) || graph_facts(g, &f)) return NULL;
    return (void *)c;
}

static void built_once_from_many_threads(void **state) {
    (void)state;
    for (int again = 0; again < 20; again++) {
        Graph *g;
        assert_int_equal(graph_regular(5000, 3, &g), ST_OK);
        pthread_t t[8];
        void *seen[8];
        for (int i = 0; i < 8; i++)
            assert_int_equal(pthread_create(&t[i], NULL, ask_for_csr, g), 0);
        for (int i = 0; i < 8; i++) pthread_join(t[i], &seen[i]);
        for (int i = 0; i < 8; i++) assert_true(seen[i] && seen[i] == seen[0]);
        graph_unref(g);
    }
}

/* ---- blocks ---- */

/* Tasks cover the rows in order, of as many edges as they may have; blocks cover the positions. */
static void check_tasks(const Csr *c, const Blocks *b) {
    int64_t block = 0;
    assert_int_equal(b->row[0], 0);
    assert_int_equal(b->row[b->num_tasks], c->num_rows);
    assert_int_equal(b->edge[b->num_blocks], c->num_edges);
    for (int64_t t = 0; t < b->num_tasks; t++) {
        int64_t row = b->row[t], end = b->row[t + 1], first = c->row_ptr[row],
                last = c->row_ptr[end];
        assert_true(end == row + 1 || (last - first <= BLOCK_EDGES && end - row <= CHUNK_ROWS));
        if (end < c->num_rows && last - first <= BLOCK_EDGES && end - row < CHUNK_ROWS)
            assert_true(c->row_ptr[end + 1] - first > BLOCK_EDGES);
        assert_int_equal(b->block[t], block);
        for (int64_t e = first; e == first || e < last; e += BLOCK_EDGES)
            assert_int_equal(b->edge[block++], e);
    }
    assert_int_equal(block, b->num_blocks);
    assert_int_equal(b->block[b->num_tasks], block);
}

/* Each block's positions once, by their other ends, then as they lie. */
static void check_order(const Csr *c, const Blocks *b, const int64_t *degree) {
    uint8_t *seen = calloc((size_t)c->num_edges + 1, 1);
    for (int64_t k = 0; k < b->num_blocks; k++) {
        int64_t begin = b->edge[k], end = b->edge[k + 1], last_col = -1, last = -1;
        for (int64_t i = begin; i < end; i++) {
            int64_t place = b->place[i] & (MOST_PLACES - 1), col = at(b->end, b->wide, i);
            int64_t p = begin + ((place - begin) & (MOST_PLACES - 1));
            assert_true(p < end && !seen[p]++);
            assert_int_equal(col, at(c->col, c->wide, p));
            assert_int_equal((b->place[i] & LONG_END) != 0, degree[col] > LONG_EDGES);
            assert_true(last_col < col || (last_col == col && last < p));
            last_col = col;
            last = p;
        }
    }
    free(seen);
}

static void check_long(const Csr *c, const Blocks *b, const int64_t *degree) {
    int64_t num = 0;
    for (int64_t k = 0; k < c->num_cols; k++) {
        int64_t number = degree[k] > LONG_EDGES ? num++ : -1;
        if (b->number) assert_int_equal(at(b->number, b->wide, k), number);
    }
    assert_int_equal(b->num_long, num);
    assert_int_equal(b->number != NULL, num > 0);
}

static void check_blocks(Graph *g) {
    for (int by_dst = 0; by_dst < 2; by_dst++) {
        const Csr *c;
        const Blocks *b, *again;
        uint64_t bytes = graph_bytes(g);
        assert_int_equal(graph_csr(g, by_dst, &c), ST_OK);
        assert_int_equal(graph_blocks(g, by_dst, &b), ST_OK);
        assert_int_equal(graph_blocks(g, by_dst, &again), ST_OK);
        assert_ptr_equal(b, again);
        assert_true(graph_bytes(g) > bytes);
        check_tasks(c, b);
        int64_t *degree = calloc((size_t)c->num_cols + 1, sizeof *degree);
        for (int64_t p = 0; p < c->num_edges; p++) degree[at(c->col, c->wide, p)]++;
        check_order(c, b, degree);
        check_long(c, b, degree);
        free(degree);
    }
}

static void blocks_of_rows(void **state) {
    (void)state;
    enum { N = 300, E = 150000 };
    int64_t *src = malloc(E * sizeof *src), *dst = malloc(E * sizeof *dst);
    random_state = 5;
    for (int64_t e = 0; e < E; e++) { /* two rows longer than a block, one longer than a chunk */
        int64_t r = random_below(10);
        dst[e] = r < 3 ? 7 : r < 6 ? 8 : r == 6 ? 20 : random_below(N);
        src[e] = r < 2 ? 3 : random_below(N);
    }
    IndexArray s = wide_array(src, E), d = wide_array(dst, E);
    Graph *g;
    assert_int_equal(graph_from_coo(&s, &d, N, N + 40000, false, &g), ST_OK);
    check_blocks(g);
    graph_unref(g);
    assert_int_equal(graph_regular(5000, 13, &g), ST_OK);
    check_blocks(g);
    graph_unref(g);
    free(src);
    free(dst);
}

static void blocks_of_random_relations(void **state) {
    (void)state;
    random_state = 6;
    for (int k = 0; k < 50; k++) {
        int64_t n = random_below(9), e = n ? random_below(200) : 0, src[200], dst[200];
        for (int64_t i = 0; i < e; i++) src[i] = random_below(n), dst[i] = random_below(n);
        IndexArray s = wide_array(src, e), d = wide_array(dst, e);
        Graph *g;
        assert_int_equal(graph_from_coo(&s, &d, n, n, false, &g), ST_OK);
        check_blocks(g);
        graph_unref(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_relations),
        cmocka_unit_test(transposes_swap_the_ends),
        cmocka_unit_test(equal_by_value),
        cmocka_unit_test(counts_by_default),
        cmocka_unit_test(regular_relations),
        cmocka_unit_test(narrow_indices),
        cmocka_unit_test(unsorted_between_blocks),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(wide_for_many_sources),
        cmocka_unit_test(agrees_with_the_model),
        cmocka_unit_test(chunk_limits),
        cmocka_unit_test(blocks_of_rows),
        cmocka_unit_test(blocks_of_random_relations),
        cmocka_unit_test(facts_and_findings),
        cmocka_unit_test(built_once_from_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
