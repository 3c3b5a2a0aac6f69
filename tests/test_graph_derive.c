/* Relations from relations against lists of edges: cat, transpose, sorted, add_self_loops, degrees, and
 * how they are shown; through tiga.h, on nasty graphs, at 1 and 3 threads. */
#include "graph_model.h"
#include "tiga/tiga.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- nasty graphs, as lists ---- */

typedef struct {
    int64_t num_src, num_dst, num_edges, *src, *dst;
} List;

static List list_new(int64_t num_src, int64_t num_dst, int64_t num_edges) {
    size_t bytes = sizeof(int64_t) * (size_t)(num_edges + 1);
    return (List){num_src, num_dst, num_edges, malloc(bytes), malloc(bytes)};
}

static void list_free(List *x) {
    free(x->src);
    free(x->dst);
}

enum { ANY, HUB, BY_DST, LOOPS, KINDS };
static const int64_t sizes[][3] = {
    {0, 0, 0},  {3, 0, 0},  {0, 4, 0},  {5, 5, 0},     {1, 1, 1},     {1, 1, 9},    {4, 4, 6},
    {2, 7, 12}, {7, 2, 12}, {6, 6, 40}, {300, 20, 50}, {20, 300, 50}, {9, 9, 50000}};
enum { SIZES = sizeof sizes / sizeof *sizes, GRAPHS = SIZES * KINDS };

static List list_make(int k) {
    const int64_t *n = sizes[k / KINDS];
    int kind = k % KINDS;
    List x = list_new(n[0], n[1], n[2]);
    random_state = (uint64_t)k;
    for (int64_t e = 0; e < n[2]; e++) {
        x.dst[e] = kind == HUB && e % 3 ? n[1] / 2 : random_below(n[1]);
        if (kind == BY_DST) x.dst[e] = e * n[1] / n[2];
        x.src[e] = kind == LOOPS && x.dst[e] < n[0] ? x.dst[e] : random_below(n[0]);
    }
    return x;
}

static tg_graph *graph_new(const List *x) {
    tg_graph *g = tg_graph_coo(x->num_dst, x->num_src, x->num_edges, x->src, x->dst);
    assert_non_null(g);
    return g;
}

/* The same edges under the same numbers, in all that reads them. */
static void same(tg_graph *g, const List *x) {
    List got = list_new(x->num_src, x->num_dst, x->num_edges);
    size_t bytes = sizeof(int64_t) * (size_t)x->num_edges;
    assert_true(is_graph((Graph *)g, x->src, x->dst, x->num_src, x->num_dst, x->num_edges));
    assert_int_equal(tg_graph_edges(g, got.src, got.dst), TG_OK);
    assert_memory_equal(got.src, x->src, bytes);
    assert_memory_equal(got.dst, x->dst, bytes);
    tg_graph *built = graph_new(x);
    assert_true(tg_graph_equal(g, built) && tg_graph_equal(built, g));
    assert_string_equal(tg_graph_findings(g), "");
    tg_graph_free(built);
    list_free(&got);
}

static void swap_ends(List *x) {
    *x = (List){x->num_dst, x->num_src, x->num_edges, x->dst, x->src};
}

/* ---- one graph ---- */

static void check_transpose(const tg_graph *g, List x) {
    tg_graph *t = tg_graph_transpose(g), *back = tg_graph_transpose(t);
    assert_ptr_equal(back, g);
    swap_ends(&x);
    same(t, &x);
    tg_graph_free(t);
    tg_graph_free(back);
}

static void check_loops(const tg_graph *g, const List *x) {
    int64_t loops = 0, found = -1;
    bool one_set = x->num_src == x->num_dst;
    for (int64_t e = 0; e < x->num_edges; e++) loops += one_set && x->src[e] == x->dst[e];
    assert_int_equal(tg_graph_self_loops(g, &found), TG_OK);
    assert_int_equal(found, loops);
    tg_graph *more = tg_graph_add_self_loops(g);
    if (!one_set) {
        assert_null(more);
        assert_int_equal(tg_errcode(), TG_EINVAL);
        return;
    }
    List want = list_new(x->num_src, x->num_dst, x->num_edges + x->num_src);
    memcpy(want.src, x->src, sizeof *x->src * (size_t)x->num_edges);
    memcpy(want.dst, x->dst, sizeof *x->dst * (size_t)x->num_edges);
    for (int64_t i = 0; i < x->num_src; i++)
        want.src[x->num_edges + i] = want.dst[x->num_edges + i] = i;
    same(more, &want);
    tg_graph_free(more);
    list_free(&want);
}

static const List *sorting;
static int by_both_ends(const void *p, const void *q) {
    int64_t a = *(const int64_t *)p, b = *(const int64_t *)q;
    const int64_t *dst = sorting->dst, *src = sorting->src;
    if (dst[a] != dst[b]) return dst[a] < dst[b] ? -1 : 1;
    if (src[a] != src[b]) return src[a] < src[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void check_sorted(const tg_graph *g, const List *x) {
    List want = list_new(x->num_src, x->num_dst, x->num_edges);
    List order = list_new(0, 0, x->num_edges); /* wanted, found */
    for (int64_t e = 0; e < x->num_edges; e++) order.src[e] = e;
    sorting = x;
    qsort(order.src, (size_t)x->num_edges, sizeof *order.src, by_both_ends);
    for (int64_t e = 0; e < x->num_edges; e++) {
        want.src[e] = x->src[order.src[e]];
        want.dst[e] = x->dst[order.src[e]];
    }
    tg_graph *s = tg_graph_sorted(g, order.dst), *again = tg_graph_sorted(s, NULL);
    assert_memory_equal(order.src, order.dst, sizeof *order.src * (size_t)x->num_edges);
    same(s, &want);
    assert_true(tg_graph_equal(s, again));
    tg_graph_free(s);
    tg_graph_free(again);
    list_free(&want);
    list_free(&order);
}

static void check_degrees(const tg_graph *g, const List *x) {
    int64_t *want = calloc((size_t)(x->num_src + x->num_dst + 2), sizeof *want);
    int64_t *found = malloc((size_t)(x->num_src + x->num_dst + 2) * sizeof *found);
    for (int64_t e = 0; e < x->num_edges; e++) {
        want[x->dst[e]]++;
        want[x->num_dst + x->src[e]]++;
    }
    size_t bytes = (size_t)(x->num_src + x->num_dst) * sizeof *want;
    assert_int_equal(tg_graph_degrees(g, found, found + x->num_dst), TG_OK);
    assert_memory_equal(found, want, bytes);
    memset(found, 0xff, bytes);
    assert_int_equal(tg_graph_degrees(g, found, NULL), TG_OK);
    assert_memory_equal(found, want, (size_t)x->num_dst * sizeof *want);
    free(want);
    free(found);
}

static void check_all(tg_graph *g, const List *x) {
    check_degrees(g, x); /* before and after the grouping by source is there */
    check_transpose(g, *x);
    check_degrees(g, x);
    check_loops(g, x);
    check_sorted(g, x);
    tg_free(tg_graph_explain(g));
}

static void derived_from_one(void **state) {
    (void)state;
    for (int threads = 1; threads < 4; threads += 2)
        for (int k = 0; k < GRAPHS; k++) {
            tg_set_num_threads(threads);
            List x = list_make(k);
            tg_graph *g = graph_new(&x), *t = tg_graph_transpose(g);
            check_all(g, &x);
            swap_ends(&x);
            check_all(t, &x);
            tg_graph_free(g);
            tg_graph_free(t);
            list_free(&x);
        }
    tg_set_num_threads(0);
}

/* ---- several ---- */

static void append(List *to, const List *x) {
    for (int64_t e = 0; e < x->num_edges; e++) {
        to->src[to->num_edges + e] = to->num_src + x->src[e];
        to->dst[to->num_edges + e] = to->num_dst + x->dst[e];
    }
    to->num_src += x->num_src;
    to->num_dst += x->num_dst;
    to->num_edges += x->num_edges;
}

static void side_by_side(void **state) {
    (void)state;
    for (int n = 0; n < 9; n++) {
        tg_graph *parts[9];
        List all = list_new(0, 0, 60000 * 9);
        all.num_edges = 0;
        for (int k = 0; k < n; k++) {
            List x = list_make((n * 11 + k * 7) % GRAPHS);
            parts[k] = graph_new(&x);
            if (k % 2) { /* the other view of a pair */
                tg_graph *g = parts[k];
                parts[k] = tg_graph_transpose(g);
                tg_graph_free(g);
                swap_ends(&x);
            }
            append(&all, &x);
            list_free(&x);
        }
        tg_graph *g = tg_graph_cat((const tg_graph *const *)parts, (size_t)n);
        assert_non_null(g);
        same(g, &all);
        tg_graph_free(g);
        for (int k = 0; k < n; k++) tg_graph_free(parts[k]);
        list_free(&all);
    }
}

/* Narrow parts make a wide whole; nothing by source is built for it. */
static void wide_together(void **state) {
    (void)state;
    static const int64_t src[] = {INT32_MAX - 1, 3}, dst[] = {1, 0},
                         far[] = {2 * (int64_t)INT32_MAX, 3};
    tg_graph *g = tg_graph_coo(2, INT32_MAX, 2, src, dst);
    tg_graph *more = tg_graph_coo(2, INT32_MAX + (int64_t)1, 2, src, dst);
    tg_graph *both = tg_graph_cat((const tg_graph *[]){g, more, g}, 3);
    const Csr *c;
    assert_int_equal(graph_csr((Graph *)g, true, &c), ST_OK);
    assert_false(c->wide);
    assert_int_equal(graph_csr((Graph *)both, true, &c), ST_OK);
    assert_true(c->wide && c->num_edges == 6 && c->num_rows == 6);
    assert_int_equal(at(c->col, true, 5), far[0] + 1 + INT32_MAX - 1);
    int64_t in[6];
    assert_int_equal(tg_graph_degrees(both, in, NULL), TG_OK);
    for (int k = 0; k < 6; k++) assert_int_equal(in[k], 1);
    tg_graph_free(g);
    tg_graph_free(more);
    tg_graph_free(both);
}

/* ---- in words, and refused ---- */

static void shown(void **state) {
    (void)state;
    static const int32_t src[] = {1, 0, 2, 0, 0, 2}, dst[] = {0, 0, 2, 1, 1, 1};
    tg_graph *g = tg_graph_from_coo(tg_i32(src, 6), tg_i32(dst, 6), 3, 4, true);
    char *text = tg_graph_explain(g);
    static const char *const want[] = {
        "relation: 3 sources, 4 destinations, 6 edges\n",
        "in-degree: 0 to 3, mean 1.5; 1 destinations have none\n",
        "edge order: the caller's; rows are read through a permutation\n",
        "rows: sources do not ascend in row 0\n",
        "indices: 32 bits\nchunks: 1\nmemory: ",
        "\nfinding: 1 duplicate edges (first: edge 4)\nfinding: rows are not sorted (first: row "
        "0)"};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++)
        if (!strstr(text, want[k])) fail_msg("no '%s' in\n%s", want[k], text);
    assert_null(strstr(text, "self loops")); /* two sets of nodes */
    tg_free(text);
    tg_graph *s = tg_graph_sorted(g, NULL);
    text = tg_graph_explain(s);
    assert_non_null(strstr(text, "edge order: by destination\nrows: sources ascend\n"));
    tg_free(text);
    tg_graph_free(s);
    tg_graph_free(g);
}

static void refused(void **state) {
    (void)state;
    tg_graph *g = tg_graph_regular(3, 1);
    int64_t n;
    tg_errclear();
    assert_null(tg_graph_cat((const tg_graph *[]){g, NULL}, 2));
    assert_string_equal(tg_errmsg(), "graph is NULL");
    tg_errclear();
    assert_null(tg_graph_cat(NULL, 2));
    assert_string_equal(tg_errmsg(), "graphs is NULL");
    assert_null(tg_graph_regular(-1, 1));
    assert_null(tg_graph_sorted(NULL, NULL));
    assert_null(tg_graph_add_self_loops(NULL));
    assert_null(tg_graph_transpose(NULL));
    assert_null(tg_graph_explain(NULL));
    assert_int_equal(tg_graph_degrees(NULL, &n, &n), TG_EINVAL);
    assert_int_equal(tg_graph_self_loops(NULL, &n), TG_EINVAL);
    assert_string_equal(tg_errmsg(), "num_nodes: -1 is negative"); /* the first failure */
    tg_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derived_from_one), cmocka_unit_test(side_by_side),
        cmocka_unit_test(wide_together),    cmocka_unit_test(shown),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
