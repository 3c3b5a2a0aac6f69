/* What must not build a relation, and leave nothing behind: refusals with their messages, absurd
 * sizes, failing allocations, interrupts, corrupt arrays, a caller who writes meanwhile. */
#include "base/mem.h"
#include "base/pool.h"
#include "graph_model.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- refusals ---- */

static const int64_t ptr_ok[] = {0, 2, 4}, col_ok[] = {0, 1, 2, 0};

static void refused_csr(const int64_t *ptr, int64_t ptr_len, const int64_t *col, int64_t len,
                        int64_t num_src, Status st, const char *message) {
    int64_t live = mem_live();
    Graph *sentinel = (Graph *)&live, *out = sentinel;
    IndexArray p = wide_array(ptr, ptr_len), c = wide_array(col, len);
    assert_int_equal(graph_from_csr(&p, &c, num_src, true, &out), st);
    assert_string_equal(err_message(), message);
    assert_ptr_equal(out, sentinel);
    assert_int_equal(mem_live(), live);
}

static void refused_coo(const int64_t *src, int64_t src_len, const int64_t *dst, int64_t dst_len,
                        int64_t num_src, int64_t num_dst, Status st, const char *message) {
    int64_t live = mem_live();
    Graph *sentinel = (Graph *)&live, *out = sentinel;
    IndexArray s = wide_array(src, src_len), d = wide_array(dst, dst_len);
    assert_int_equal(graph_from_coo(&s, &d, num_src, num_dst, true, &out), st);
    assert_string_equal(err_message(), message);
    assert_ptr_equal(out, sentinel);
    assert_int_equal(mem_live(), live);
}

#define A(...) ((const int64_t[]){__VA_ARGS__})

static void refusals_of_csr(void **state) {
    (void)state;
    refused_csr(ptr_ok, 3, A(0, 1, 2, 5), 4, 3, ST_RANGE,
                "col_idx: index 5 at position 3 is out of range (num_src is 3)");
    refused_csr(ptr_ok, 3, A(0, -1, 9, 0), 4, 3, ST_RANGE,
                "col_idx: index -1 at position 1 is out of range (num_src is 3)");
    refused_csr(ptr_ok, 3, A(0, 1, 2, -7), 4, -1, ST_RANGE,
                "col_idx: index -7 at position 3 is out of range (num_src is 3)");
    refused_csr(ptr_ok, 3, A(0, 1, (int64_t)1 << 32, 0), 4, 3, ST_RANGE,
                "col_idx: index 4294967296 at position 2 is out of range (num_src is 3)");
    refused_csr(ptr_ok, 3, A(0, 1, INT64_MAX, 0), 4, -1, ST_RANGE,
                "col_idx: index 9223372036854775807 is too large");
    refused_csr(ptr_ok, 3, col_ok, 4, 0, ST_RANGE,
                "col_idx: index 0 at position 0 is out of range (num_src is 0)");
    refused_csr(A(2, 2, 4), 3, col_ok, 4, 3, ST_INVAL,
                "row_ptr: must start at 0, position 0 holds 2");
    refused_csr(A(-1, 2, 4), 3, col_ok, 4, 3, ST_INVAL,
                "row_ptr: must start at 0, position 0 holds -1");
    refused_csr(A(0, 3, 9, 7), 4, col_ok, 4, 3, ST_INVAL,
                "row_ptr: falls at position 3: 7 after 9");
    refused_csr(A(0, -3, 4), 3, col_ok, 4, 3, ST_INVAL, "row_ptr: falls at position 1: -3 after 0");
    refused_csr(A(0, 2, 9), 3, col_ok, 4, 3, ST_INVAL,
                "row_ptr: ends at 9 (position 2), but there are 4 edges");
    refused_csr(A(0), 1, col_ok, 4, 3, ST_INVAL,
                "row_ptr: ends at 0 (position 0), but there are 4 edges");
    refused_csr(NULL, 0, col_ok, 4, 3, ST_INVAL,
                "row_ptr: is empty, position 0 must hold 0 (num_dst + 1 entries)");
    refused_csr(NULL, 3, col_ok, 4, 3, ST_INVAL, "row_ptr: no data, but 3 entries");
    refused_csr(ptr_ok, 3, col_ok, -4, 3, ST_INVAL, "col_idx: its length is -4");
}

static void refusals_of_coo(void **state) {
    (void)state;
    refused_coo(A(0, 1, 2), 3, A(0, 1, 2, 3), 4, -1, -1, ST_SHAPE, "src has 3 entries, dst has 4");
    refused_coo(A(0, 0), 2, A(0, 5), 2, 3, 3, ST_RANGE,
                "dst: index 5 at position 1 is out of range (num_dst is 3)");
    refused_coo(A(0, 4), 2, A(0, 3), 2, 3, 4, ST_RANGE,
                "src: index 4 at position 1 is out of range (num_src is 3)");
    refused_coo(A(-1), 1, A(0), 1, -1, -1, ST_RANGE,
                "src: index -1 at position 0 is out of range (num_src is 0)");
    refused_coo(A(0), 1, A(INT64_MIN), 1, -1, 3, ST_RANGE,
                "dst: index -9223372036854775808 at position 0 is out of range (num_dst is 3)");
    refused_coo(A(0), 1, A(0), 1, 1, INT64_MAX, ST_NOMEM,
                "out of memory: row_ptr of 9223372036854775807 entries, 8 bytes each");
}

static void absurd_sizes(void **state) {
    (void)state;
    int64_t zero = 0, live = mem_live();
    Graph *out = NULL;
    IndexArray endless = {&zero, INT64_MAX, 0, true}, one = {&zero, 1, 8, true};
    IndexArray endless32 = {&zero, INT64_MAX / 8, 0, false};
    assert_int_equal(graph_from_coo(&endless, &endless, -1, -1, false, &out), ST_NOMEM);
    assert_int_equal(graph_from_coo(&endless32, &endless32, 1, 1, false, &out), ST_NOMEM);
    assert_int_equal(graph_from_csr(&one, &endless, -1, false, &out), ST_INVAL);
    assert_int_equal(graph_from_csr(&endless, &one, 1, false, &out), ST_NOMEM);
    assert_int_equal(graph_from_csr(&endless, &endless, 1, false, &out), ST_NOMEM);
    assert_non_null(strstr(err_message(), "row_ptr"));
    assert_int_equal(graph_regular(INT64_MAX, 2, &out), ST_NOMEM);
    assert_int_equal(graph_regular((int64_t)1 << 33, (int64_t)1 << 32, &out), ST_NOMEM);
    assert_non_null(strstr(err_message(), "more edges than can be counted"));
    assert_int_equal(graph_regular(INT64_MAX, 0, &out), ST_NOMEM);
    assert_int_equal(graph_regular((int64_t)1 << 40, 1 << 20, &out), ST_NOMEM);
    Graph *many = NULL;
    IndexArray none = {.wide = true};
    assert_int_equal(graph_from_coo(&none, &none, INT64_MAX / 2 + 1, 2, false, &many), ST_OK);
    assert_int_equal(graph_cat((Graph *[]){many, many}, 2, &out), ST_NOMEM);
    assert_non_null(strstr(err_message(), "2 graphs are more than can be counted"));
    assert_int_equal(graph_sorted(many, NULL, &out), ST_NOMEM);
    assert_int_equal(graph_add_self_loops(many, &out), ST_INVAL);
    assert_string_equal(err_message(), "a self loop needs one set of nodes, but there are "
                                       "4611686018427387904 sources and 2 destinations");
    graph_unref(many);
    assert_int_equal(graph_regular(-1, 2, &out), ST_INVAL);
    assert_string_equal(err_message(), "num_nodes: -1 is negative");
    assert_int_equal(graph_regular(2, -1, &out), ST_INVAL);
    assert_string_equal(err_message(), "degree: -1 is negative");
    assert_null(out);
    assert_int_equal(mem_live(), live);
}

/* ---- failing allocations ---- */

static Status all_there_is(Graph **out) {
    static const int64_t src[] = {2, 0, 2, 0}, dst[] = {2, 0, 0, 2};
    IndexArray s = wide_array(src, 4), d = wide_array(dst, 4), p = wide_array(ptr_ok, 3),
               c = wide_array(col_ok, 4);
    enum { MADE = 7 };
    Graph *made[MADE] = {0};
    const Csr *csr;
    Status st = graph_from_coo(&s, &d, -1, -1, true, &made[0]);
    if (!st) st = graph_from_csr(&p, &c, 3, true, &made[1]);
    if (!st) st = graph_regular(3, 2, &made[2]);
    if (!st) st = graph_cat(made, 3, &made[3]);
    if (!st) st = graph_add_self_loops(made[0], &made[4]);
    if (!st) st = graph_sorted(made[0], NULL, &made[5]);
    if (!st) st = graph_transpose(made[0], &made[6]);
    for (int i = 0; i < MADE && !st; i++) st = graph_csr(made[i], false, &csr);
    if (!st) *out = graph_ref(made[0]);
    for (int i = 0; i < MADE; i++) graph_unref(made[i]);
    return st;
}

static void failing_allocations(void **state) {
    (void)state;
    int64_t live = mem_live(), n = 1;
    Graph *out = NULL;
    for (Status st = ST_NOMEM; st; n++) {
        mem_fail_at(n);
        st = all_there_is(&out);
        mem_fail_at(0);
        if (!st) break;
        assert_int_equal(st, ST_NOMEM);
        assert_memory_equal(err_message(), "out of memory: ", 15);
        assert_null(out);
        assert_int_equal(mem_live(), live);
    }
    assert_true(n > 20);
    graph_unref(out);
    assert_int_equal(mem_live(), live);
}

static bool say_yes(void *ctx) {
    (void)ctx;
    return true;
}

static void interrupted_builds(void **state) {
    (void)state;
    int64_t live = mem_live();
    Graph *g = NULL, *none = NULL;
    const Csr *c = NULL;
    assert_int_equal(graph_regular(100, 3, &g), ST_OK);
    pool_set_poll(say_yes, NULL);
    assert_int_equal(graph_regular(100, 3, &none), ST_INTR);
    pool_set_poll(say_yes, NULL);
    assert_int_equal(graph_csr(g, false, &c), ST_INTR);
    pool_set_poll(NULL, NULL);
    assert_true(!none && !c);
    assert_int_equal(graph_csr(g, false, &c), ST_OK);
    graph_unref(g);
    assert_int_equal(mem_live(), live);
}

/* ---- corrupt arrays ---- */

enum { MAX_ROWS = 12, MAX_EDGES = 40 };
typedef struct {
    int64_t num_src, ptr_len, col_len, ptr[MAX_ROWS + 1], col[MAX_EDGES];
} Arrays;

static Arrays valid_arrays(void) {
    Arrays a = {.num_src = 1 + random_below(9), .ptr_len = 1 + random_below(MAX_ROWS)};
    for (int64_t r = 1; r < a.ptr_len; r++) a.ptr[r] = a.ptr[r - 1] + random_below(4);
    a.col_len = a.ptr[a.ptr_len - 1];
    for (int64_t e = 0; e < a.col_len; e++) a.col[e] = random_below(a.num_src);
    return a;
}

static int64_t nasty(void) {
    static const int64_t values[] = {
        -1,           0, 1, 5, 9, 40, INT32_MAX, INT32_MIN, (int64_t)1 << 32, INT64_MAX, INT64_MIN,
        INT64_MAX - 1};
    enum { NUM = sizeof values / sizeof *values };
    int64_t k = random_below(NUM + 6);
    return k < NUM ? values[k] : random_below(20) - 4;
}

static void corrupt(Arrays *a) {
    switch (random_below(5)) {
    case 0: a->ptr[random_below(a->ptr_len)] = nasty(); break;
    case 1: a->ptr[a->ptr_len ? a->ptr_len - 1 : 0] = nasty(); break;
    case 2: a->col_len = random_below(MAX_EDGES); break;
    case 3: a->ptr_len = random_below(MAX_ROWS + 1); break;
    default:
        if (a->col_len) a->col[random_below(a->col_len)] = nasty();
    }
}

static bool naively_valid(const Arrays *a) {
    if (a->ptr_len < 1 || a->ptr[0] != 0 || a->ptr[a->ptr_len - 1] != a->col_len) return false;
    for (int64_t r = 1; r < a->ptr_len; r++)
        if (a->ptr[r] < a->ptr[r - 1]) return false;
    for (int64_t e = 0; e < a->col_len; e++)
        if (a->col[e] < 0 || a->col[e] >= a->num_src) return false;
    return true;
}

static bool is_csr_of(Graph *g, const Arrays *a) {
    int64_t dst[MAX_EDGES] = {0};
    for (int64_t r = 0; r + 1 < a->ptr_len; r++)
        for (int64_t p = a->ptr[r]; p < a->ptr[r + 1]; p++) dst[p] = r;
    return is_graph(g, a->col, dst, a->num_src, a->ptr_len - 1, a->col_len);
}

static void corrupt_arrays(void **state) {
    (void)state;
    int64_t live = mem_live(), accepted = 0;
    random_state = 2;
    for (int i = 0; i < 10000; i++) {
        Arrays a = valid_arrays();
        for (int64_t k = random_below(3); k >= 0; k--) corrupt(&a);
        IndexArray p = wide_array(a.ptr, a.ptr_len), c = wide_array(a.col, a.col_len);
        Graph *g = NULL;
        Status st = graph_from_csr(&p, &c, a.num_src, i % 2, &g);
        assert_int_equal(!st, naively_valid(&a));
        if (st) assert_null(g);
        else assert_true(is_csr_of(g, &a));
        accepted += !st;
        graph_unref(g);
    }
    assert_in_range(accepted, 500, 9500);
    assert_int_equal(mem_live(), live);
}

/* Another thread writes while the arrays are copied: refused or in range, never anything else. */
typedef struct {
    atomic_bool stop;
    _Atomic int64_t *col;
    int64_t len;
} Scribble;

static void *scribble(void *arg) {
    Scribble *s = arg;
    for (int64_t i = 0; !atomic_load(&s->stop); i = (i + 7) % s->len)
        atomic_store_explicit(&s->col[i], i % 1000 == 0 ? 1 << 20 : i % 50, memory_order_relaxed);
    return NULL;
}

static void in_range(Graph *g) {
    const Csr *c;
    for (int by_dst = 0; by_dst < 2; by_dst++) {
        assert_int_equal(graph_csr(g, by_dst, &c), ST_OK);
        for (int64_t p = 0; p < c->num_edges; p++)
            if (at(c->col, c->wide, p) < 0 || at(c->col, c->wide, p) >= c->num_cols) fail();
    }
}

#if defined __SANITIZE_THREAD__
#define RACES 0 /* a race by intent */
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define RACES 0
#endif
#endif
#ifndef RACES
#define RACES 50
#endif

static void concurrent_writer(void **state) {
    (void)state;
    enum { LEN = 100000 };
    Scribble s = {.col = calloc(LEN, sizeof *s.col), .len = LEN};
    int64_t ptr[] = {0, LEN / 2, LEN};
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, scribble, &s), 0);
    for (int i = 0; i < RACES; i++) {
        IndexArray p = wide_array(ptr, 3), c = {s.col, LEN, 8, true};
        Graph *g = NULL;
        Status st = graph_from_csr(&p, &c, i % 2 ? 50 : -1, false, &g);
        assert_true(st == ST_OK || st == ST_RANGE);
        if (!st) in_range(g);
        graph_unref(g);
    }
    atomic_store(&s.stop, true);
    pthread_join(writer, NULL);
    free(s.col);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_of_csr),    cmocka_unit_test(refusals_of_coo),
        cmocka_unit_test(absurd_sizes),       cmocka_unit_test(failing_allocations),
        cmocka_unit_test(interrupted_builds), cmocka_unit_test(corrupt_arrays),
        cmocka_unit_test(concurrent_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
