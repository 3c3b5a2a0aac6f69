/* tiga.h as its users call it: the program of its head, straight-line errors, bad bindings, sharing
 * between threads. */
#include "tiga/tiga.h"
#include "tiga/tiga_ops.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

static const int64_t row_ptr[] = {0, 2, 3, 5}, col_idx[] = {0, 2, 1, 0, 1};
static const float x[] = {1, 2, 3}, w[] = {.5f, .5f, .5f, .5f, .5f}, bias[] = {.1f, .2f, .3f},
                   ones[] = {1, 1, 1};

typedef struct {
    float out[3], dx[3], dw[5];
} Results;

enum { NUM_ARGS = 7 };

static void bind_all(tg_arg *args, Results *r) {
    const tg_arg all[NUM_ARGS] = {{"src.x", tg_f32(x, 3)},
                                  {"edge.weight", tg_f32(w, 5)},
                                  {"dst.bias", tg_f32(bias, 3)},
                                  {"out", tg_f32(r->out, 3)},
                                  {"cot.out", tg_f32(ones, 3)},
                                  {"grad.src.x", tg_f32(r->dx, 3)},
                                  {"grad.edge.weight", tg_f32(r->dw, 5)}};
    memcpy(args, all, sizeof all);
}

static const char weighted_sum[] = "out = sum(edge.weight * src.x) + dst.bias";

static tg_program *gradient_of(const char *formula) {
    tg_program *p = tg_program_new(formula);
    tg_program *dp = tg_program_grad(p, "out", "src.x edge.weight");
    tg_program_free(p);
    return dp;
}

static void assert_results(const Results *r) {
    const float out[] = {2.1f, 1.2f, 1.8f}, dx[] = {1, 1, .5f}, dw[] = {1, 3, 2, 1, 2};
    for (int k = 0; k < 3; k++) assert_float_equal(r->out[k], out[k], 1e-6);
    for (int k = 0; k < 3; k++) assert_float_equal(r->dx[k], dx[k], 1e-6);
    for (int k = 0; k < 5; k++) assert_float_equal(r->dw[k], dw[k], 1e-6);
}

static void test_explain(void **state) {
    (void)state;
    Results r;
    tg_arg args[NUM_ARGS];
    bind_all(args, &r);
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *dp = gradient_of(weighted_sum);
    assert_null(tg_explain(dp));
    assert_int_equal(tg_run(dp, g, args, NUM_ARGS), TG_OK);
    char *text = tg_explain(dp);
    assert_non_null(
        strstr(text, "\npasses: clean, rows, move, hoist, clean, rows, fma, plan, codegen\n"));
    assert_non_null(strstr(text, "variant cache: hits=0, misses=1\n"));
    tg_free(text);
    tg_program_free(dp);
    tg_graph_free(g);
}

static void test_value_and_gradient(void **state) {
    (void)state;
    Results r;
    tg_arg args[NUM_ARGS];
    bind_all(args, &r);
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *dp = gradient_of(weighted_sum);
    assert_int_equal(tg_run(dp, g, args, NUM_ARGS), TG_OK);
    assert_results(&r);
    memset(&r, 0, sizeof r);
    assert_int_equal(tg_reference(dp, g, args, NUM_ARGS), TG_OK);
    assert_results(&r);
    tg_program_free(dp);
    tg_graph_free(g);
}

static void test_bound_call(void **state) {
    (void)state;
    Results r, other = {0};
    tg_arg args[NUM_ARGS];
    bind_all(args, &r);
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *dp = gradient_of(weighted_sum);
    tg_call *call = tg_bind(dp, g, args, NUM_ARGS);
    assert_non_null(call);
    for (int k = 0; k < 3; k++) assert_int_equal(tg_call_run(call), TG_OK);
    assert_results(&r);
    assert_int_equal(tg_call_set(call, 3, other.out), TG_OK);
    assert_int_equal(tg_call_run(call), TG_OK);
    assert_float_equal(other.out[0], 2.1f, 1e-6);
    assert_int_equal(tg_call_set(call, 7, other.out), TG_ERANGE);
    tg_call_free(call);
    tg_program_free(dp);
    tg_graph_free(g);
}

static void test_unbound_outputs_are_not_computed(void **state) {
    (void)state;
    Results r = {.out = {-1, -1, -1}};
    tg_arg args[NUM_ARGS];
    bind_all(args, &r);
    args[3].array.data = NULL; /* out */
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *dp = gradient_of(weighted_sum);
    assert_int_equal(tg_run(dp, g, args, NUM_ARGS), TG_OK);
    assert_float_equal(r.dx[0], 1, 0);
    assert_float_equal(r.out[0], -1, 0);
    tg_program_free(dp);
    tg_graph_free(g);
}

/* The results that are not named leave the program, and take what they alone need with them. */
static void test_what_runs_has_the_results_named_alone(void **state) {
    (void)state;
    Results r;
    tg_arg all[NUM_ARGS];
    bind_all(all, &r);
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *dp = gradient_of(weighted_sum), *typed = tg_program_typed(dp, all, NUM_ARGS);
    const tg_arg forward[] = {all[0], all[1], all[2], all[3]},
                 backward[] = {all[0], all[1], all[2], all[4], all[5], all[6]};
    for (int k = 0; k < 2; k++) {
        memset(&r, 0, sizeof r);
        if (tg_run(k ? typed : dp, g, TG_ARGS(forward))) fail_msg("%s", tg_errmsg());
        assert_int_equal(tg_run(k ? typed : dp, g, all, NUM_ARGS - 2), TG_OK); /* cot.out, unused */
        assert_int_equal(tg_run(k ? typed : dp, g, TG_ARGS(backward)), TG_OK);
        assert_results(&r);
    }
    char *shown = tg_ir(dp, "domain");
    assert_non_null(strstr(shown, "\"grad.src.x\""));
    assert_null(strstr(shown, "\"out\""));
    tg_free(shown);
    tg_program_free(typed);
    tg_program_free(dp);
    tg_graph_free(g);
}

/* A gradient of a gradient: d/dx of sum((sum x)^2) twice, on 0->0, 1->0, 2->1. */
static void test_second_gradient(void **state) {
    (void)state;
    const int64_t src[] = {0, 1, 2}, dst[] = {0, 0, 1};
    const double px[] = {1, 2, 3}, one[] = {1}, direction[] = {1, 0, 1};
    double dx[3], ddx[3];
    tg_graph *g = tg_graph_coo(2, 3, 3, src, dst);
    tg_program *p = tg_program_new("s = sum(src.x); out = sum(s * s)");
    tg_program *dp = tg_program_grad(p, "out", "src.x");
    tg_program *ddp = tg_program_grad(dp, "grad.src.x", "src.x");
    tg_arg args[] = {{"src.x", tg_f64(px, 3)},
                     {"cot.out", tg_f64(one)},
                     {"cot.grad.src.x", tg_f64(direction, 3)},
                     {"grad.src.x", tg_f64(dx, 3)},
                     {"grad2.src.x", tg_f64(ddx, 3)}};
    assert_int_equal(tg_run(ddp, g, args, 5), TG_OK);
    const double want[] = {6, 6, 6}, want2[] = {2, 2, 2};
    for (int k = 0; k < 3; k++) assert_float_equal(dx[k], want[k], 1e-12);
    for (int k = 0; k < 3; k++) assert_float_equal(ddx[k], want2[k], 1e-12);
    tg_program_free(ddp);
    tg_program_free(dp);
    tg_program_free(p);
    tg_graph_free(g);
}

/* table[index]: the message names array, position, value and limit; the program goes on. */
static void test_index_out_of_range(void **state) {
    (void)state;
    const float table[] = {1, 2, 3, 4};
    int32_t kind[] = {0, 1, 1, 2, 0};
    float out[6];
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *p = tg_program_new("out = sum(T[edge.kind])");
    tg_arg args[] = {
        {"T", tg_f32(table, 2, 2)}, {"edge.kind", tg_i32(kind, 5)}, {"out", tg_f32(out, 3, 2)}};
    for (int round = 0; round < 2; round++) {
        kind[3] = 2;
        assert_int_equal(tg_run(p, g, args, 3), TG_ERANGE);
        assert_string_equal(tg_errmsg(),
                            "index 'edge.kind' on edges at 3: 2 is out of range for 'T' of 2 rows");
        kind[3] = 1;
        assert_int_equal(tg_run(p, g, args, 3), TG_OK);
        const float want[] = {4, 6, 3, 4, 4, 6};
        assert_memory_equal(out, want, sizeof want);
    }
    tg_program_free(p);
    tg_graph_free(g);
}

/* Straight-line code checks once: NULL passes through and the first message stays. */
static void test_null_passes_through(void **state) {
    (void)state;
    tg_program *p = tg_program_new("out = sum(src.x");
    tg_program *dp = tg_program_grad(p, "out", "src.x");
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    assert_null(dp);
    assert_int_equal(tg_run(dp, g, NULL, 0), TG_ESYNTAX);
    assert_non_null(strstr(tg_errmsg(), "1:16: expected ',' or ')'"));
    tg_program_free(p);
    tg_graph_free(g);
    tg_errclear();
    assert_int_equal(tg_run(NULL, NULL, NULL, 0), TG_EINVAL);
    assert_string_equal(tg_errmsg(), "program is NULL");
}

static const struct {
    int arg; /* which is changed */
    tg_arg with;
    tg_status status;
    const char *message;
} bad[] = {
    {1,
     {"edge.weight",
      {.data = (void *)(uintptr_t)w, .dtype = TG_FLOAT32, .rank = 1, .shape = {4}, .stride = {4}}},
     TG_ESHAPE,
     "edge field 'weight': 4 rows, but the relation has 5 edges"},
    {0,
     {"src.x",
      {.data = (void *)(uintptr_t)x, .dtype = TG_FLOAT32, .rank = 1, .shape = {2}, .stride = {4}}},
     TG_ESHAPE,
     "src field 'x': 2 rows, but the relation has 3 sources"},
    {0,
     {"src.y",
      {.data = (void *)(uintptr_t)x, .dtype = TG_FLOAT32, .rank = 1, .shape = {3}, .stride = {4}}},
     TG_ENAME,
     "'src.x' is not defined above and not bound"},
    {4,
     {"cot.out",
      {.data = (void *)(uintptr_t)x, .dtype = TG_FLOAT64, .rank = 1, .shape = {3}, .stride = {8}}},
     TG_ETYPE,
     "dtype float64, expected float32"},
    {5,
     {"grad.dst.x", {.data = NULL, .dtype = TG_FLOAT32, .rank = 1, .shape = {3}, .stride = {4}}},
     TG_ENAME,
     "argument 'grad.dst.x': the program has no such name"},
    {4,
     {"cot.out", {.data = NULL, .dtype = TG_FLOAT32, .rank = 1, .shape = {3}, .stride = {4}}},
     TG_EINVAL,
     "data is NULL"},
    {0,
     {"src.x",
      {.data = (void *)(uintptr_t)x,
       .dtype = (tg_dtype)77,
       .rank = 1,
       .shape = {3},
       .stride = {4}}},
     TG_ETYPE,
     "no such dtype (77)"},
    {0,
     {"src.x", {.data = (void *)(uintptr_t)x, .dtype = TG_FLOAT32, .rank = 10}},
     TG_ESHAPE,
     "rank 10"},
    {0,
     {"src.x",
      {.data = (void *)(uintptr_t)x, .dtype = TG_INT32, .rank = 1, .shape = {3}, .stride = {4}}},
     TG_ETYPE,
     "int32"},
};

static void test_bad_bindings(void **state) {
    (void)state;
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *dp = gradient_of(weighted_sum);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        Results r;
        tg_arg args[NUM_ARGS];
        bind_all(args, &r);
        args[bad[k].arg] = bad[k].with;
        tg_status st = tg_run(dp, g, args, NUM_ARGS);
        if (st != bad[k].status || !strstr(tg_errmsg(), bad[k].message))
            fail_msg("case %zu: status %d, '%s'; expected %d, '%s'", k, st, tg_errmsg(),
                     bad[k].status, bad[k].message);
    }
    tg_program_free(dp);
    tg_graph_free(g);
}

/* Programs as text may have sets that no relation counts: arguments do. */
#define ON_A_SET(input, body)                                                                      \
    "module {\n  \"gf.set\"() <{sym_name = \"W\"}> : () -> ()\n"                                   \
    "  func.func @f(" input ") -> (tensor<f32> {gf.name = \"out\"}) {\n" body                      \
    "    %0 = \"gf_mp.reduce\"(%w) <{map = @W::@all}> : (tensor<?xf32, #gf.on<@W>>) -> "           \
    "tensor<f32>\n"                                                                                \
    "    return %0 : tensor<f32>\n  }\n}\n"

static void test_sets_without_a_relation(void **state) {
    (void)state;
    const float three[] = {1, 2, 3};
    float out = 0;
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *p =
        tg_program_parse(ON_A_SET("%w: tensor<?xf32, #gf.on<@W>> {gf.name = \"x\"}", ""));
    tg_arg args[] = {{"x", tg_f32(three, 3)}, {"out", tg_f32(&out)}};
    if (tg_run(p, g, args, 2)) fail_msg("%s", tg_errmsg());
    assert_true(out == 6);
    args[0].array.shape[0] = -3;
    assert_int_equal(tg_run(p, g, args, 2), TG_ESHAPE);
    assert_string_equal(tg_errmsg(), "argument 'x': -3 rows");
    tg_program_free(p);
    p = tg_program_parse(ON_A_SET("%x: tensor<f32> {gf.name = \"x\"}",
                                  "    %w = \"gf_mp.gather\"(%x) <{map = @W::@all}> : "
                                  "(tensor<f32>) -> tensor<?xf32, #gf.on<@W>>\n"));
    args[0].array = tg_f32(three);
    if (tg_run(p, g, args, 2) != TG_ENAME) fail_msg("%s", tg_errmsg());
    assert_string_equal(tg_errmsg(), "set 'W' has no size: no argument lies on it");
    tg_program_free(p);
    tg_graph_free(g);
}

static void test_graph_refusals(void **state) {
    (void)state;
    const int64_t high[] = {0, 2, 5, 0, 1}, end[] = {0, 2, 3, -5}, from[] = {0, -1}, to[] = {1, 0};
    const int32_t pairs[] = {0, 1, 1, 2, 2, 0};
    assert_null(tg_graph_csr(3, 3, row_ptr, high));
    assert_int_equal(tg_errcode(), TG_ERANGE);
    assert_non_null(strstr(tg_errmsg(), "col_idx"));
    assert_null(tg_graph_csr(3, 3, end, col_idx));
    assert_string_equal(tg_errmsg(),
                        "row_ptr: ends at -5 (position 3), a count cannot be negative");
    assert_null(tg_graph_coo(2, 2, 2, from, to));
    assert_non_null(strstr(tg_errmsg(), "-1"));
    const int64_t shape[] = {3, 2};
    assert_null(tg_graph_from_edge_index(tg_dense(pairs, TG_INT32, 2, shape), -1, -1, false));
    assert_non_null(strstr(tg_errmsg(), "transposed?"));
}

static void test_edges_keep_their_order(void **state) {
    (void)state;
    const int64_t src[] = {2, 0, 1, 0}, dst[] = {1, 0, 1, 2};
    int64_t s[4], d[4];
    tg_graph *g = tg_graph_coo(3, 3, 4, src, dst), *t = tg_graph_transpose(g);
    assert_int_equal(tg_graph_edges(g, s, d), TG_OK);
    assert_memory_equal(s, src, sizeof s);
    assert_memory_equal(d, dst, sizeof d);
    assert_int_equal(tg_graph_edges(t, s, d), TG_OK);
    assert_memory_equal(s, dst, sizeof s);
    tg_graph_free(t);
    tg_graph_free(g);
}

/* ---- the builder ---- */

static void test_builder(void **state) {
    (void)state;
    float out[3];
    tg_builder *b = tg_builder_new(false);
    tg_val m = tg_mul(b, tg_in(b, "edge.weight", TG_FLOAT32, 0, NULL),
                      tg_at_src(b, tg_in(b, "src.x", TG_FLOAT32, 0, NULL)));
    tg_reducer *sum = tg_reducer_builtin("sum", 0, false, 0);
    tg_out(b, "out", tg_reduce(b, sum, &m, 1));
    tg_program *p = tg_builder_program(b);
    assert_non_null(p);
    tg_builder_free(b);
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_arg args[] = {
        {"src.x", tg_f32(x, 3)}, {"edge.weight", tg_f32(w, 5)}, {"out", tg_f32(out, 3)}};
    assert_int_equal(tg_run(p, g, args, 3), TG_OK);
    const float want[] = {2, 1, 1.5f};
    for (int k = 0; k < 3; k++) assert_float_equal(out[k], want[k], 1e-6);
    tg_end end;
    assert_int_equal(tg_program_result(p, 0, &end), TG_OK);
    assert_string_equal(end.name, "out");
    assert_int_equal(end.role, TG_ON_DST);
    assert_int_equal(tg_program_result(p, 1, &end), TG_ERANGE);
    assert_string_equal(tg_reducer_proof(sum), "componentwise-additive");
    tg_reducer_free(sum);
    tg_program_free(p);
    tg_graph_free(g);
}

static tg_builder *part_of_difference(int part) {
    static const char *const first[] = {NULL, "m0", "l0", "s0"};
    tg_builder *b = tg_builder_new(true);
    tg_val v = first[part] ? tg_in(b, first[part], TG_FLOAT32, 0, NULL) : tg_number(b, 0);
    if (part == 2) v = tg_sub(b, v, tg_in(b, "r0", TG_FLOAT32, 0, NULL));
    tg_out(b, "0", v);
    return b;
}

static tg_reducer *difference(int flags) {
    tg_builder *b[4];
    for (int k = 0; k < 4; k++) b[k] = part_of_difference(k);
    tg_reducer *r = tg_reducer_new("minus", flags, b[0], b[1], b[2], b[3]);
    for (int k = 0; k < 4; k++) tg_builder_free(b[k]);
    return r;
}

static void hear(void *ctx, int severity, const char *text) {
    assert_int_equal(severity, TG_WARNING);
    assert_non_null(strstr(text, "reducer 'minus': declared associative, but combining (a b) c"));
    ++*(int *)ctx;
}

/* Flags that do not hold are trusted, and doubted aloud; those of what is proven are not tried. */
static void test_false_flags_are_doubted(void **state) {
    (void)state;
    int heard = 0;
    tg_set_log(hear, &heard);
    tg_reducer *r = difference(TG_ASSOCIATIVE), *s = difference(0),
               *sum = tg_reducer_builtin("sum", 0, false, 0);
    assert_non_null(strstr(tg_reducer_doubt(r), "(a b) c gives "));
    assert_string_equal(tg_reducer_doubt(s), "");
    assert_string_equal(tg_reducer_doubt(sum), "");
    assert_string_equal(tg_reducer_proof(r), "general");
    assert_int_equal(heard, 1);
    tg_set_log(NULL, NULL);
    tg_reducer_free(r);
    tg_reducer_free(s);
    tg_reducer_free(sum);
}

/* A key says what was marked: not what was built beside it, nor in which order. */
static char *key_of_sum(const char *name, tg_dtype dtype, double beside, size_t *size) {
    tg_builder *b = tg_builder_new(false);
    if (beside) tg_exp(b, tg_number(b, beside));
    tg_val x0 = tg_in(b, name, dtype, 0, NULL), y0 = tg_in(b, "y", dtype, 0, NULL);
    tg_out(b, "out", beside ? tg_add(b, y0, x0) : tg_add(b, x0, y0));
    char *key = tg_builder_key(b, size);
    tg_builder_free(b);
    return key;
}

static bool same_key(const char *name, tg_dtype dtype, double beside) {
    size_t n, m;
    char *a = key_of_sum("x", TG_FLOAT32, 0, &n), *b = key_of_sum(name, dtype, beside, &m);
    assert_non_null(a);
    assert_non_null(b);
    bool same = n == m && !memcmp(a, b, n);
    tg_free(a);
    tg_free(b);
    return same;
}

static void test_builder_key(void **state) {
    (void)state;
    size_t size;
    assert_true(same_key("x", TG_FLOAT32, 0));
    assert_true(same_key("x", TG_FLOAT32, 2));
    assert_false(same_key("z", TG_FLOAT32, 0));
    assert_false(same_key("x", TG_FLOAT64, 0));
    assert_null(tg_builder_key(NULL, &size));
    tg_builder *b = tg_builder_new(false);
    assert_null(tg_builder_key(b, NULL));
    assert_int_equal(tg_exp(b, 77), 0);
    assert_null(tg_builder_key(b, &size));
    assert_non_null(strstr(tg_errmsg(), "77 is no value"));
    tg_builder_free(b);
}

static void test_builder_errors_are_sticky(void **state) {
    (void)state;
    const int64_t three[] = {3}, four[] = {4};
    tg_builder *b = tg_builder_new(false);
    tg_val bad_sum = tg_add(b, tg_in(b, "edge.a", TG_FLOAT32, 1, three),
                            tg_in(b, "edge.b", TG_FLOAT32, 1, four));
    assert_int_equal(bad_sum, 0);
    assert_int_equal(tg_exp(b, bad_sum), 0);
    assert_null(tg_builder_program(b));
    assert_int_equal(tg_errcode(), TG_ESHAPE);
    assert_non_null(strstr(tg_errmsg(), "(3,)"));
    assert_non_null(strstr(tg_errmsg(), "(4,)"));
    tg_builder_free(b);
}

static void test_builder_fails_with_what_is_missing(void **state) {
    (void)state;
    tg_builder *b = tg_builder_new(false), *other = tg_builder_new(false);
    tg_val x0 = tg_in(b, "edge.a", TG_FLOAT32, 0, NULL);
    tg_reducer *r = tg_reducer_builtin("summ", 0, false, 0);
    assert_int_equal(tg_reduce(b, r, &x0, 1), 0);
    assert_null(tg_builder_program(b));
    assert_int_equal(tg_errcode(), TG_ENAME);
    assert_non_null(strstr(tg_errmsg(), "summ"));
    assert_int_equal(tg_exp(other, 77), 0);
    assert_null(tg_builder_program(other));
    assert_non_null(strstr(tg_errmsg(), "77 is no value of this builder"));
    tg_builder_free(b);
    tg_builder_free(other);
}

static void test_every_builtin_is_proven_and_prints(void **state) {
    (void)state;
    static const char *const names[] = {"sum", "mean", "max", "min", "count", "online_softmax"};
    static const char *const forms[] = {"componentwise-additive", "componentwise-additive",
                                        "selection-max",          "selection-min",
                                        "componentwise-additive", "stable-weighted"};
    const tg_dtype dtypes[] = {TG_FLOAT64, TG_FLOAT64};
    for (int k = 0; k < 6; k++) {
        tg_reducer *r = tg_reducer_builtin(names[k], 0, false, 0);
        assert_string_equal(tg_reducer_proof(r), forms[k]);
        char *text = tg_reducer_ir(r, "it", dtypes, tg_reducer_num_messages(r));
        if (!text) fail_msg("%s: %s", names[k], tg_errmsg());
        assert_non_null(strstr(text, "gf.reducer"));
        tg_free(text);
        tg_reducer_free(r);
    }
}

/* Rows {1, 3}, {2}, {1, 2} of row_ptr and col_idx; an empty row would give `empty`. */
static void test_builtins_that_are_programs(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double want[3];
    } cases[] = {{"logsumexp", {3.1269280, 2, 2.3132617}},
                 {"var", {1, 0, .25}},
                 {"std", {1, 0, .5}},
                 {"var_unbiased", {2, NAN, .5}},
                 {"any", {1, 1, 1}},
                 {"all", {1, 1, 1}},
                 {"std_unbiased", {1.4142136, NAN, .70710678}},
                 {"argmax", {1, 2, 4}},
                 {"argmin", {0, 2, 3}}};
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tg_builder *b = tg_builder_new(false);
        tg_reducer *r = tg_reducer_builtin(cases[k].name, 0, true, 0);
        tg_val m = tg_at_src(b, tg_in(b, "src.x", TG_FLOAT32, 0, NULL)), cast;
        const int64_t f64 = TG_FLOAT64;
        cast = tg_reduce(b, r, &m, 1);
        tg_out(b, "out", tg_apply(b, "cast", &cast, 1, &f64, 1));
        tg_program *p = tg_builder_program(b);
        double out[3];
        tg_arg args[] = {{"src.x", tg_f32(x, 3)}, {"out", tg_f64(out, 3)}};
        if (tg_run(p, g, args, 2)) fail_msg("%s: %s", cases[k].name, tg_errmsg());
        for (int i = 0; i < 3; i++)
            if (isnan(cases[k].want[i])) assert_true(isnan(out[i]));
            else assert_float_equal(out[i], cases[k].want[i], 1e-6);
        assert_string_equal(tg_reducer_proof(r), "program");
        assert_null(tg_reducer_ir(r, "it", (const tg_dtype[]){TG_FLOAT32}, 1));
        assert_int_equal(tg_errcode(), TG_EUNSUPPORTED);
        assert_int_equal(tg_reducer_num_messages(r), 1);
        tg_reducer_free(r);
        tg_builder_free(b);
        tg_program_free(p);
    }
    tg_graph_free(g);
}

/* ---- many threads, one program, one graph ---- */

typedef struct {
    const tg_program *p;
    const tg_graph *g;
    Results r;
    tg_status st;
} Shared;

static void *run_shared(void *ctx) {
    Shared *s = ctx;
    tg_arg args[NUM_ARGS];
    bind_all(args, &s->r);
    for (int k = 0; k < 20 && !s->st; k++) s->st = tg_run(s->p, s->g, args, NUM_ARGS);
    return NULL;
}

static void test_threads_share(void **state) {
    (void)state;
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *dp = gradient_of(weighted_sum);
    pthread_t threads[8];
    static Shared shared[8];
    for (int k = 0; k < 8; k++) {
        shared[k] = (Shared){.p = dp, .g = g};
        assert_int_equal(pthread_create(&threads[k], NULL, run_shared, &shared[k]), 0);
    }
    for (int k = 0; k < 8; k++) {
        pthread_join(threads[k], NULL);
        assert_int_equal(shared[k].st, TG_OK);
        assert_results(&shared[k].r);
    }
    tg_program_free(dp);
    tg_graph_free(g);
}

static void test_near(void **state) {
    (void)state;
    const char *const names[] = {"src.x", NULL, "edge.weight"};
    assert_int_equal(tg_near("edge.wieght", names, 3), 2);
    assert_int_equal(tg_near("scr.x", names, 3), 0);
    assert_int_equal(tg_near("bias", names, 3), -1);
    assert_int_equal(tg_near("scr.x", names, 0), -1);
    assert_int_equal(tg_near(NULL, names, 3), -1);
}

/* Lists of names are separated by spaces, commas or both. */
static void test_names_in_lists(void **state) {
    (void)state;
    const int64_t src[] = {0, 1, 2}, dst[] = {1, 2, 0};
    tg_graph *g = tg_graph_coo(3, 3, 3, src, dst);
    static const char *const lists[] = {"src.x edge.w", "src.x,edge.w", " src.x ,\tedge.w\n"};
    for (int k = 0; k < 3; k++) {
        tg_program *p = tg_program_new("out = sum(edge.w * src.x)");
        tg_program *dp = tg_program_grad(p, "out,", lists[k]);
        float here[3] = {1, 2, 3}, by[3] = {4, 5, 6}, cot[3] = {1, 1, 1}, dx[3], dw[3];
        tg_arg args[] = {{"src.x", tg_f32(here, 3)},
                         {"edge.w", tg_f32(by, 3)},
                         {"cot.out", tg_f32(cot, 3)},
                         {"grad.src.x", tg_f32(dx, 3)},
                         {"grad.edge.w", tg_f32(dw, 3)}};
        assert_int_equal(tg_run(dp, g, args, 5), TG_OK);
        assert_memory_equal(dx, by, sizeof by);
        assert_memory_equal(dw, here, sizeof here);
        tg_program_free(p);
        tg_program_free(dp);
    }
    tg_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_and_gradient),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_bound_call),
        cmocka_unit_test(test_unbound_outputs_are_not_computed),
        cmocka_unit_test(test_what_runs_has_the_results_named_alone),
        cmocka_unit_test(test_second_gradient),
        cmocka_unit_test(test_index_out_of_range),
        cmocka_unit_test(test_null_passes_through),
        cmocka_unit_test(test_bad_bindings),
        cmocka_unit_test(test_sets_without_a_relation),
        cmocka_unit_test(test_graph_refusals),
        cmocka_unit_test(test_edges_keep_their_order),
        cmocka_unit_test(test_builder),
        cmocka_unit_test(test_false_flags_are_doubted),
        cmocka_unit_test(test_builder_key),
        cmocka_unit_test(test_builder_errors_are_sticky),
        cmocka_unit_test(test_builder_fails_with_what_is_missing),
        cmocka_unit_test(test_every_builtin_is_proven_and_prints),
        cmocka_unit_test(test_builtins_that_are_programs),
        cmocka_unit_test(test_threads_share),
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_names_in_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
