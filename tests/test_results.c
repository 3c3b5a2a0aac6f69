/* Which results a formula has: its last lines, and any line that is asked for; what a loss needs for its
 * gradient; results in the memory of inputs. Values were worked out by hand. */
#include "tiga/tiga.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static const int64_t row_ptr[] = {0, 2, 3, 5}, col_idx[] = {0, 2, 1, 0, 1};
static const float x[] = {1, 2, 3}, w[] = {.5f, .5f, .5f, .5f, .5f};

static void test_lines_are_bound_on_demand(void **state) {
    (void)state;
    static const char two_lines[] = "h = src(node.x) * edge.w; out = sum(h); loss = sum(out * out)";
    float h[5], out[3], loss = 0, dx[3], dw[5];
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *p = tg_program_new(two_lines), *dp = tg_program_grad(p, "loss", "node.x"),
               *dh = tg_program_grad(p, "h", "edge.w");
    const tg_arg args[] = {{"node.x", tg_f32(x, 3)},      {"edge.w", tg_f32(w, 5)},
                           {"h", tg_f32(h, 5)},           {"out", tg_f32(out, 3)},
                           {"loss", tg_f32(&loss)},       {"grad.node.x", tg_f32(dx, 3)},
                           {"grad.edge.w", tg_f32(dw, 5)}};
    const float want_h[] = {.5f, 1.5f, 1, .5f, 1}, want_dx[] = {3.5f, 2.5f, 2};
    assert_int_equal(tg_run(p, g, args, 5), TG_OK);
    assert_memory_equal(h, want_h, sizeof h);
    assert_true(loss == 7.25f);
    memset(h, 0, sizeof h);
    assert_int_equal(tg_run(dp, g, args, 6), TG_OK); /* a loss needs no cotangent */
    assert_memory_equal(h, want_h, sizeof h);
    assert_memory_equal(dx, want_dx, sizeof dx);
    const float cot[] = {2, 4, 6, 8, 10}, each[] = {2, 12, 12, 8, 20};
    const tg_arg edges[] = {args[0], args[1], {"cot.h", tg_f32(cot, 5)}, args[6]};
    assert_int_equal(tg_run(dh, g, edges, 4), TG_OK);
    assert_memory_equal(dw, each, sizeof dw);
    tg_program_free(dh);
    tg_program_free(dp);
    tg_program_free(p);
    tg_graph_free(g);
}

/* A variant for the lines asked for, which is found again. */
static void test_what_is_asked_for_makes_a_variant(void **state) {
    (void)state;
    float h[3], out[3];
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *p = tg_program_new("h = node.x * 2; out = h + 1");
    const tg_arg args[] = {{"node.x", tg_f32(x, 3)}, {"out", tg_f32(out, 3)}, {"h", tg_f32(h, 3)}};
    tg_stats stats;
    for (int k = 0; k < 3; k++) {
        assert_int_equal(tg_run(p, g, args, 3), TG_OK);
        assert_int_equal(tg_run(p, g, args, 2), TG_OK);
        assert_int_equal(tg_run(p, g, args, 1), TG_OK); /* asks for nothing: the second's */
    }
    assert_int_equal(tg_program_stats(p, &stats), TG_OK);
    assert_int_equal(stats.misses, 2);
    assert_int_equal(stats.hits, 7);
    tg_program *typed = tg_program_typed(p, args, 2), *both = tg_program_typed(p, args, 3);
    assert_int_equal(tg_program_num_results(typed), 1);
    assert_int_equal(tg_program_num_results(both), 2);
    tg_program_free(both);
    tg_program_free(typed);
    tg_program_free(p);
    tg_graph_free(g);
}

static tg_status run_with(const tg_program *p, const tg_graph *g, const char *names,
                          const tg_arg *all, size_t num_all) {
    tg_arg args[12];
    size_t n = 0;
    for (size_t k = 0; k < num_all; k++) {
        const char *at = strstr(names, all[k].name);
        size_t len = strlen(all[k].name);
        if (at && (at == names || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            args[n++] = all[k];
    }
    tg_errclear();
    return tg_run(p, g, args, n);
}

/* Inputs that no bound result needs may be missing, as labels are when a trained network is used. */
static void test_inputs_that_nothing_needs(void **state) {
    (void)state;
    static const char text[] = "half = 0.5\n"
                               "m.identity = 0\nm.lift(a) = a * half\nm.combine(a, b) = a + b\n"
                               "h    = m(edge.w * src(node.x))\n"
                               "out  = h * scale\n"
                               "miss = out - node.goal\n"
                               "loss = sum(miss * miss)\n"
                               "more = sum(src(later))\n"
                               "later = node.x\n";
    const float scale = 2, goal[] = {1, 1, 1}, ones[] = {1, 1, 1},
                want_dw[] = {.5f, 1.5f, 1, .5f, 1};
    float h[3], out[3], loss, more[3], dw[5];
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *p = tg_program_new(text), *dp = tg_program_grad(p, "h", "edge.w");
    const tg_arg all[] = {
        {"node.x", tg_f32(x, 3)},       {"edge.w", tg_f32(w, 5)},       {"scale", tg_f32(&scale)},
        {"node.goal", tg_f32(goal, 3)}, {"node.gaol", tg_f32(goal, 3)}, {"h", tg_f32(h, 3)},
        {"out", tg_f32(out, 3)},        {"loss", tg_f32(&loss)},        {"more", tg_f32(more, 3)},
        {"cot.h", tg_f32(ones, 3)},     {"grad.edge.w", tg_f32(dw, 5)}};
    const size_t n = sizeof all / sizeof *all;
    assert_int_equal(run_with(p, g, "node.x edge.w scale out", all, n), TG_OK);
    assert_true(out[0] == 2 && out[1] == 1 && out[2] == 1.5f);
    assert_int_equal(run_with(p, g, "node.x edge.w node.goal h", all, n), TG_OK);
    assert_true(h[0] == 1);
    assert_int_equal(run_with(dp, g, "node.x edge.w cot.h grad.edge.w", all, n), TG_OK);
    assert_memory_equal(dw, want_dw, sizeof dw);
    assert_int_equal(run_with(p, g, "node.x edge.w scale loss", all, n), TG_ENAME);
    assert_non_null(strstr(tg_errmsg(), "7:14: 'node.goal' is not defined above and not bound"));
    assert_int_equal(run_with(p, g, "node.x edge.w scale node.gaol out", all, n), TG_ENAME);
    assert_non_null(strstr(tg_errmsg(), "argument 'node.gaol': the program has no such name"));
    assert_int_equal(run_with(p, g, "node.x more", all, n), TG_ENAME);
    assert_non_null(strstr(tg_errmsg(), "'later' is defined on line 10"));
    assert_int_equal(run_with(p, g, "node.x edge.w", all, n),
                     TG_ENAME); /* nothing is asked for: all */
    tg_program_free(dp);
    tg_program_free(p);
    tg_graph_free(g);
}

/* A step of an optimizer: parameters move where they are. */
static void test_results_may_replace_inputs(void **state) {
    (void)state;
    double p[4] = {1, 2, 3, 4}, m[4] = {0};
    const double grad[4] = {1, -1, 2, 0}, want[4] = {0, 3, 1, 4};
    int64_t step = 1;
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *update = tg_program_new("m_new = 0.5 * m + 0.5 * grad\n"
                                        "p_new = p - m_new / (1 - 0.5 ** step)");
    const tg_arg args[] = {{"p", tg_f64(p, 2, 2)},       {"m", tg_f64(m, 2, 2)},
                           {"grad", tg_f64(grad, 2, 2)}, {"step", tg_i64(&step)},
                           {"p_new", tg_f64(p, 2, 2)},   {"m_new", tg_f64(m, 2, 2)}};
    tg_call *call = tg_bind(update, g, args, 6);
    assert_int_equal(tg_call_run(call), TG_OK);
    for (int k = 0; k < 4; k++) assert_true(p[k] == want[k] && m[k] == grad[k] / 2);
    step = 2;
    assert_int_equal(tg_call_run(call), TG_OK);
    for (int k = 0; k < 4; k++) assert_true(m[k] == grad[k] * .75 && p[k] == want[k] - grad[k]);
    tg_call_free(call);
    tg_program_free(update);
    tg_graph_free(g);
}

/* Columns of one matrix are results side by side; what lies in one place is refused, results as they were. */
static void test_results_in_one_matrix(void **state) {
    (void)state;
    float m[3][2] = {{0}};
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *p = tg_program_new("h = node.x * 2; out = h + 1");
    tg_arg args[] = {{"node.x", tg_f32(x, 3)}, {"h", tg_f32(m, 3)}, {"out", tg_f32(&m[0][1], 3)}};
    assert_int_equal(tg_run(p, g, args, 3), TG_EINVAL);
    assert_string_equal(tg_errmsg(), "arguments 'h' and 'out' are results in the same memory");
    assert_true(m[0][0] == 0 && m[0][1] == 0);
    args[1].array.stride[0] = args[2].array.stride[0] = sizeof m[0];
    assert_int_equal(tg_run(p, g, args, 3), TG_OK);
    for (int i = 0; i < 3; i++) assert_true(m[i][0] == 2 * x[i] && m[i][1] == m[i][0] + 1);
    args[2].array.data = m;
    assert_int_equal(tg_run(p, g, args, 3), TG_EINVAL);
    tg_program_free(p);
    tg_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_bound_on_demand),
        cmocka_unit_test(test_what_is_asked_for_makes_a_variant),
        cmocka_unit_test(test_inputs_that_nothing_needs),
        cmocka_unit_test(test_results_may_replace_inputs),
        cmocka_unit_test(test_results_in_one_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
