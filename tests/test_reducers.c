/* Small rows with one right answer, from C: what a reducer gives and its gradient, in every float dtype,
 * compiled and interpreted. Messages are edge.m, and edge.v where the formula takes two. */
#include "ir/element.h"
#include "tiga/tiga.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

enum { MOST = 6 };

typedef struct {
    const char *formula;
    int num_rows, num_edges;
    int64_t dst[MOST];
    double m[MOST], v[MOST]; /* v is not passed where has_v is 0 */
    int has_v;
    double out[MOST];
    int has_grad, wide;        /* wide: for float32 and float64 alone */
    double dm[MOST], dv[MOST]; /* of the sum of the results */
} Case;

#define ROW(n) .num_rows = 1, .num_edges = n
#define GRAD .has_grad = 1, .dm

static const Case cases[] = {
    /* sums, means */
    {"out = sum(edge.m)", 3, 3, {1, 0, 1}, {1, 2, 3}, .out = {2, 4, 0}, GRAD = {1, 1, 1}},
    {"out = sum(edge.m)", ROW(2), .m = {1, 2}, .out = {3}, GRAD = {1, 1}},
    {"out = sum(edge.m, empty=7)", 2, 1, {1}, {5}, .out = {7, 5}, GRAD = {1}},
    {"out = mean(edge.m)", ROW(2), .m = {5, 5}, .out = {5}, GRAD = {.5, .5}},
    {"out = mean(edge.m, empty=0)", 2, 0, .out = {0, 0}, GRAD = {0}},
    {"out = mean(edge.m)", 2, 1, {0}, {3}, .out = {3, NAN}, GRAD = {1}},
    /* products */
    {"out = prod(edge.m)", ROW(3), .m = {0, 3, 4}, .out = {0}, GRAD = {12, 0, 0}},
    {"out = prod(edge.m)", ROW(3), .m = {0, 3, 0}, .out = {0}, GRAD = {0, 0, 0}},
    {"out = prod(edge.m)",
     3,
     5,
     {1, 0, 2, 0, 1},
     {2, 3, 4, 5, 6},
     .out = {15, 12, 4},
     GRAD = {6, 5, 1, 3, 2}},
    {"out = prod(edge.m)", 2, 1, {1}, {3}, .out = {1, 3}, GRAD = {1}},
    /* the largest, the smallest */
    {"out = max(edge.m)", ROW(3), .m = {1, 3, 3}, .out = {3}, GRAD = {0, .5, .5}},
    {"out = max(edge.m)", 2, 1, {1}, {3}, .out = {-INFINITY, 3}, GRAD = {1}},
    {"out = max(edge.m, empty=0)", 2, 1, {1}, {-3}, .out = {0, -3}, GRAD = {1}},
    {"out = max(edge.m)", ROW(4), .m = {1, NAN, 3, NAN}, .out = {NAN}, GRAD = {0, .5, 0, .5}},
    {"out = min(edge.m)", ROW(2), .m = {0, -0.0}, .out = {0}, GRAD = {.5, .5}},
    {"out = min(edge.m)", 2, 3, {0, 0, 0}, {2, 1, 1}, .out = {1, INFINITY}, GRAD = {0, .5, .5}},
    {"out = argmax(edge.m)", 3, 5, {1, 0, 1, 0, 1}, {5, 1, 7, 1, 7}, .out = {1, 2, -1}},
    {"out = argmin(edge.m)", 2, 2, {0, 0}, {INFINITY, INFINITY}, .out = {0, -1}},
    {"out = argmax(edge.m)", 2, 2, {1, 1}, {-INFINITY, -INFINITY}, .out = {-1, 0}},
    /* softmax */
    {"out = softmax(edge.m, edge.v, empty=0)",
     3,
     4,
     {1, 1, 2, 2},
     {1, -1, -INFINITY, 50},
     {1, 0, 1, 0},
     1,
     {0, .880797, 0},
     GRAD = {.104994, -.104994, 0, 0},
     {.880797, .119203, 0, 1}},
    {"out = softmax(edge.m, edge.v)",
     ROW(2),
     .wide = 1,
     .m = {1000, 1001},
     .v = {1, 0},
     1,
     {.268941},
     GRAD = {.196612, -.196612},
     {.268941, .731059}},
    {"out = softmax(edge.m, edge.v, empty=0)",
     ROW(2),
     .m = {-INFINITY, -INFINITY},
     .v = {NAN, 1},
     1,
     {0},
     GRAD = {0, 0},
     {0, 0}},
    {"out = softmax(edge.m, edge.v)",
     ROW(2),
     .m = {0, -INFINITY},
     .v = {1, NAN},
     1,
     {1},
     GRAD = {0, 0},
     {1, 0}},
    {"out = softmax(edge.m, edge.v)",
     ROW(4),
     .m = {-6e4, -6e4, -6e4, -6e4},
     .v = {1, 2, 3, 6},
     1,
     {3},
     GRAD = {-.5, -.25, 0, .75},
     {.25, .25, .25, .25}},
    {"out = softmax(edge.m, edge.v)",
     3,
     2,
     {1, 2},
     {7, -300},
     {5, 5},
     1,
     {NAN, 5, 5},
     GRAD = {0, 0},
     {1, 1}},
    /* logsumexp */
    {"out = logsumexp(edge.m)", ROW(2), .m = {-INFINITY, -INFINITY}, .out = {-INFINITY},
     GRAD = {0, 0}},
    {"out = logsumexp(edge.m)",
     2,
     2,
     {0, 0},
     {1000, 1000},
     .out = {1000.693147, -INFINITY},
     GRAD = {.5, .5}},
    {"out = logsumexp(edge.m, empty=0)",
     2,
     2,
     {0, 0},
     {-INFINITY, 3},
     .out = {3, 0},
     GRAD = {0, 1}},
    /* order, moments, truth */
    {"out = median(edge.m)",
     2,
     4,
     {0, 0, 0, 0},
     {4, 1, 3, 2},
     .out = {2, NAN},
     GRAD = {0, 0, 0, 1}},
    {"out = quantile(edge.m, 0.9)", ROW(4), .m = {4, 1, 3, 2}, .out = {3}, GRAD = {0, 0, 1, 0}},
    {"out = var(edge.m)",
     2,
     3,
     {0, 0, 0},
     {1, 3, 5},
     .out = {8 / 3., NAN},
     GRAD = {-4 / 3., 0, 4 / 3.}},
    {"out = std(edge.m, empty=0)", 2, 2, {0, 0}, {1, 3}, .out = {1, 0}, GRAD = {-.5, .5}},
    {"out = count(edge.m)", 2, 2, {1, 1}, {1, 3}, .out = {0, 2}},
    {"out = any(edge.m)", 2, 2, {1, 1}, {0, NAN}, .out = {0, 1}},
    {"out = all(edge.m)", 2, 2, {1, 1}, {0, NAN}, .out = {1, 0}},
    /* a user's: in the order of the row; the payload of the largest, -inf or not */
    {"d.identity = 0\nd.combine(a, b) = 2 * a + b\nout = d(edge.m)",
     2,
     3,
     {0, 0, 0},
     {1, 0, 1},
     .out = {5, 0},
     GRAD = {4, 2, 1}},
    {"t.identity = -inf, -1\nt.lift(k, v) = k, v\n"
     "t.combine(a, b) = max(a[0], b[0]), where(a[0] >= b[0], a[1], b[1])\n"
     "t.finalize(s) = s[1]\nout = t(edge.m, edge.v)",
     2,
     2,
     {0, 0},
     {-INFINITY, -INFINITY},
     {5, 7},
     1,
     {5, -1},
     GRAD = {0, 0},
     {1, 0}},
};

/* ---- numbers in a dtype ---- */

typedef struct {
    tg_dtype dtype;
    double space[MOST];
} Numbers;

static tg_array array(Numbers *x, int count) {
    int64_t shape = count;
    return tg_dense(x->space, x->dtype, 1, &shape);
}

static Numbers numbers(tg_dtype dtype, const double *values) {
    Numbers x = {.dtype = dtype};
    for (int k = 0; k < MOST; k++)
        element_set_float((Dtype)dtype, (char *)x.space + k * dtype_size((Dtype)dtype), values[k]);
    return x;
}

static double number(const Numbers *x, int k) {
    Dtype d = (Dtype)x->dtype;
    const char *p = (const char *)x->space + k * dtype_size(d);
    return dtype_is_float(d) ? element_get_float(d, p) : (double)element_get_int(d, p);
}

static void assert_numbers(const char *formula, const char *what, const Numbers *x,
                           const double *want, int count) {
    static const double slack[NUM_DTYPES] = {
        [DT_f16] = 2e-3, [DT_bf16] = 1e-2, [DT_f32] = 1e-5, [DT_f64] = 1e-5};
    for (int k = 0; k < count; k++) {
        double y = number(x, k);
        bool same = isnan(want[k]) ? isnan(y) : y == want[k];
        if (same || fabs(y - want[k]) <= slack[x->dtype] * (1 + fabs(want[k]))) continue;
        fail_msg("%s in dtype %d: %s %d is %g, expected %g", formula, (int)x->dtype, what, k, y,
                 want[k]);
    }
}

/* ---- a case ---- */

static tg_dtype result_dtype(const tg_program *p, const tg_arg *args, size_t num_args) {
    tg_program *typed = tg_program_typed(p, args, num_args);
    tg_end end;
    assert_non_null(typed);
    assert_int_equal(tg_program_result(typed, 0, &end), TG_OK);
    tg_program_free(typed);
    return end.dtype;
}

typedef tg_status Run(const tg_program *p, const tg_graph *g, const tg_arg *args, size_t num_args);

static void run_case(const Case *c, const tg_graph *g, tg_dtype dtype, Run *run) {
    static const double ones[MOST] = {1, 1, 1, 1, 1, 1}, zeros[MOST] = {0};
    Numbers m = numbers(dtype, c->m), v = numbers(dtype, c->v), cot = numbers(dtype, ones);
    Numbers dm = numbers(dtype, zeros), dv = dm, out = {.dtype = dtype};
    tg_arg args[6] = {{"edge.m", array(&m, c->num_edges)}, {"edge.v", array(&v, c->num_edges)}};
    size_t n = c->has_v ? 2 : 1;
    tg_program *p = tg_program_new(c->formula);
    if (!p) fail_msg("%s: %s", c->formula, tg_errmsg());
    out.dtype = result_dtype(p, args, n);
    args[n] = (tg_arg){"out", array(&out, c->num_rows)};
    if (run(p, g, args, n + 1)) fail_msg("%s: %s", c->formula, tg_errmsg());
    assert_numbers(c->formula, "result", &out, c->out, c->num_rows);
    if (c->has_grad) {
        tg_program *dp = tg_program_grad(p, "out", c->has_v ? "edge.m edge.v" : "edge.m");
        args[n] = (tg_arg){"cot.out", array(&cot, c->num_rows)};
        args[n + 1] = (tg_arg){"grad.edge.m", array(&dm, c->num_edges)};
        args[n + 2] = (tg_arg){"grad.edge.v", array(&dv, c->num_edges)};
        if (run(dp, g, args, 2 * n + 1)) fail_msg("%s: %s", c->formula, tg_errmsg());
        assert_numbers(c->formula, "gradient of m", &dm, c->dm, c->num_edges);
        if (c->has_v) assert_numbers(c->formula, "gradient of v", &dv, c->dv, c->num_edges);
        tg_program_free(dp);
    }
    tg_program_free(p);
}

static void test_cases(void **state) {
    (void)state;
    static const tg_dtype dtypes[] = {TG_FLOAT16, TG_BFLOAT16, TG_FLOAT32, TG_FLOAT64};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const Case *c = &cases[k];
        const int64_t src[MOST] = {0};
        tg_graph *g = tg_graph_coo(c->num_rows, 1, c->num_edges, src, c->dst);
        assert_non_null(g);
        for (size_t d = c->wide ? 2 : 0; d < 4; d++) {
            run_case(c, g, dtypes[d], tg_run);
            run_case(c, g, dtypes[d], tg_reference);
        }
        tg_graph_free(g);
    }
}

/* ---- long rows ---- */

/* The result of "out = <formula>" over a row of count equal messages. */
static double of_many(const char *formula, int64_t count, tg_dtype dtype, double message) {
    int size = dtype_size((Dtype)dtype);
    char *m = malloc((size_t)(count * size));
    const int64_t row_ptr[] = {0, count};
    int64_t *src = calloc((size_t)count, sizeof *src);
    Numbers out = {.dtype = dtype};
    for (int64_t k = 0; k < count; k++) element_set_float((Dtype)dtype, m + k * size, message);
    tg_graph *g = tg_graph_csr(1, 1, row_ptr, src);
    tg_program *p = tg_program_new(formula);
    const tg_arg args[] = {{"edge.m", tg_dense(m, dtype, 1, &count)}, {"out", array(&out, 1)}};
    assert_int_equal(tg_run(p, g, args, 2), TG_OK);
    tg_program_free(p);
    tg_graph_free(g);
    free(src);
    free(m);
    return number(&out, 0);
}

static void test_long_rows(void **state) {
    (void)state;
    assert_true(of_many("out = sum(edge.m)", 512, TG_BFLOAT16, 1) == 512);
    assert_true(of_many("out = sum(edge.m)", 2048, TG_FLOAT16, 1) == 2048);
    assert_true(of_many("out = sum(edge.m)", 20000000, TG_FLOAT32, 1) == 20000000);
    assert_true(of_many("out = prod(edge.m)", 20000, TG_FLOAT32, 1) == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_long_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
