/* Formulas: what parses, what they mean on a small graph, and what is said of those that are wrong.
 * Values were worked out by hand. */
#include "capture/meaning.h"
#include "interp/interp.h"
#include "ir/verify.h"
#include "opt/opt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Edges 0->0, 2->0, 1->1, 0->2, 1->2, in this order; 3 sources and destinations. */
static const int64_t row_ptr[] = {0, 2, 3, 5}, col_idx[] = {0, 2, 1, 0, 1};

typedef struct {
    const char *name;
    int rank; /* of the features */
    int64_t dim[2];
    const float *data;
} Bound;

static const float x[] = {1, 2, 3}, w[] = {.5f, .5f, .5f, .5f, .5f}, bias[] = {.1f, .2f, .3f};
static const float h[] = {1, 2, 3, 4, 5, 6};       /* [3, 2] */
static const float matrix[] = {1, 0, 2, 1, -1, 3}; /* [2, 3] */
static const Bound bound[] = {
    {"src.x", 0, {0}, x},  {"dst.x", 0, {0}, x},       {"node.x", 0, {0}, x},
    {"edge.w", 0, {0}, w}, {"dst.bias", 0, {0}, bias}, {"node.h", 1, {2}, h},
    {"src.h", 1, {2}, h},  {"W", 2, {2, 3}, matrix},   {"dt", 0, {0}, x}};
enum { NUM_BOUND = sizeof bound / sizeof *bound };

static Status build(Arena *a, const char *text, Fn **out) {
    Formula formula;
    FormulaInput in[NUM_BOUND];
    for (int k = 0; k < NUM_BOUND; k++) {
        in[k] = (FormulaInput){.name = bound[k].name, .dtype = DT_f32, .rank = bound[k].rank};
        memcpy(in[k].dim, bound[k].dim, sizeof bound[k].dim);
    }
    Status st = formula_parse(a, text, &formula);
    return st ? st : formula_build(a, &formula, in, NUM_BOUND, NULL, 0, out);
}

static Array array_of(const Fn *f, Val v, const int64_t *set_size, const float *data) {
    const Type *t = ir_type(f, v);
    Array a = {.data = (void *)(uintptr_t)data, .dtype = t->dtype};
    if (t->set != SET_ALL) a.dim[a.rank++] = set_size[t->set];
    for (int k = 0; k < t->rank; k++) a.dim[a.rank++] = t->dim[k];
    int64_t step = 4;
    for (int k = a.rank - 1; k >= 0; k--) {
        a.stride[k] = step;
        step *= a.dim[k];
    }
    return a;
}

static const float *find_data(const char *name) {
    for (int k = 0; k < NUM_BOUND; k++)
        if (!strcmp(bound[k].name, name)) return bound[k].data;
    return NULL;
}

/* The first result. */
static Status evaluate(Arena *a, const char *text, float *out) {
    Fn *built;
    Graph *g;
    Status st = build(a, text, &built);
    if (st) return st;
    assert_int_equal(ir_verify(built, NULL), 0);
    const Fn *f = opt_prepare(arena_new(), built);
    IndexArray rows = {row_ptr, 4, 8, true}, cols = {col_idx, 5, 8, true};
    assert_int_equal(graph_from_csr(&rows, &cols, 3, false, &g), ST_OK);
    int64_t size[8] = {1};
    for (uint32_t s = 1; s < f->sets.len; s++) size[s] = 3;
    size[f->relations.data[0].edges] = 5;
    Array in[NUM_BOUND], results[8] = {0};
    for (uint32_t k = 0; k < f->inputs.len; k++)
        in[k] = array_of(f, f->inputs.data[k].val, size, find_data(f->inputs.data[k].name));
    results[0] = array_of(f, f->results.data[0].val, size, out);
    st = interp_run(f, &(Domain){size, &g}, in, results);
    graph_unref(g);
    arena_free(f->arena);
    return st;
}

static const struct {
    const char *text;
    int n;
    float want[9];
} right[] = {
    {"out = sum(edge.w * src.x) + dst.bias", 3, {2.1f, 1.2f, 1.8f}},
    {"out = mean(src.x)", 3, {2, 2, 1.5f}},
    {"out = max(src.x) - min(src.x)", 3, {2, 0, 1}},
    {"out = mean(src.x, empty=7)", 3, {2, 2, 1.5f}},
    {"out = logsumexp(src.x)", 3, {3.1269280f, 2, 2.3132617f}},
    {"out = var(src.x) + std(src.x)", 3, {2, 0, .75f}},
    {"out = var_unbiased(src.h)[1] * 1.0", 1, {8}},
    {"out = 1.0 * argmax(src.x) + 10 * argmin(src.x)", 3, {1, 22, 34}},
    {"out = where(any(src.x > 2) & ~all(src.x > 2), 1.0 * count(src.h), 0)", 3, {2, 0, 0}},
    {"out = std(node.x) + argmax(node.h)[1]", 1, {.8164966f + 2}},
    {"out = var(node.h, axis=-1)", 3, {.25f, .25f, .25f}},
    {"out = sum(src.x - dst.x)", 3, {2, 0, -3}},
    {"out = softmax(0, src.x)", 3, {2, 2, 1.5f}},
    {"out = online_softmax(src.x * 0, src.x)", 3, {2, 2, 1.5f}},
    {"m = edge.w * src(node.x) # a comment\nout = sum(m)", 3, {2, 1, 1.5f}},
    {"h1 = sum(src(node.x)); out = sum(src(h1))", 3, {7, 2, 6}},
    {"out = sum(node.x)", 1, {6}},
    {"out = mean(node.x * node.x)", 1, {14.f / 3}},
    {"out = sum(1.0)", 3, {2, 1, 2}},
    {"out = dst.x ** 2 - -dst.x", 3, {2, 6, 12}},
    {"out = 2 * 3 + dst.x * 0", 3, {6, 6, 6}},
    {"out = 4 ** dst.x + dst.x ** 1.5", 3, {5, 18.828427f, 69.196152f}},
    {"out = (-dst.x) ** dst.x + (dst.x - 1) ** 0", 3, {0, 5, -26}},
    {"out = round(dst.x / 2 + sin(0) + expm1(0)) + cos(0)", 3, {1, 2, 3}},
    {"out = erf(dst.x) + log1p(dst.x - 1)", 3, {.8427008f, 1.6884694f, 2.0985902f}},
    {"out = gelu(-dst.x) - gelu_tanh(-dst.x)", 3, {.0001523f, -.0000985f, -.0004123f}},
    {"out = sum(node.h, axis=-1)", 3, {3, 7, 11}},
    {"out = (node.h @ W)[1]", 3, {-2, -4, -6}},
    {"out = sum(src(node.h @ W)[0])", 3, {14, 7, 10}},
    {"out = node.h[::-1]", 6, {2, 1, 4, 3, 6, 5}},
    {"out = max(dst.x, 2)", 3, {2, 2, 3}},
    {"out = (dst.x * inf) ** 0", 3, {1, 1, 1}},
    {"out = clamp(dst.x, 1.5, 2.5)", 3, {1.5f, 2, 2.5f}},
    {"out = sigmoid((dst.x - 1.5) * inf)", 3, {0, 1, 1}},
    {"out = silu(dst.x * -1e38)", 3, {0, 0, 0}},
    {"out = prod(node.h[2:], axis=-1)", 3, {1, 1, 1}},
    {"out = logsumexp(node.h[2:], axis=-1)", 3, {-INFINITY, -INFINITY, -INFINITY}},
    {"out = cumsum(node.h, axis=-1)[1] + cumsum(node.h)[0]", 3, {4, 10, 16}},
    {"out = float32(int64(dst.x) + 9223372036854775800 - 9223372036854775807)", 3, {-6, -5, -4}},
    {"\xef\xbb\xbfout = dst.x # caf\xc3\xa9", 3, {1, 2, 3}},
    {"p.identity() = 1\np.combine(a, b) = a * b\nout = p(src.x)", 3, {3, 2, 2}},
    {"out = W[count(src.x) - 1]", 9, {1, -1, 3, 1, 0, 2, 1, -1, 3}},
    {"k = 2 - count(src.x)\nout = W[k, 1:] + gather(W, k)[0]", 6, {1, 3, 0, 4, 1, 3}},
    {"c = count(src.x) // 2; out = sum(node.h[c] * W[1, 0])", 1, {11}},
    {"c = count(src.x) - 1; out = sum(W[dst(c), 2])", 3, {6, 2, 6}},
    {"out = W[argmax(node.x) - 1, ::2]", 2, {1, 3}},
    {"out = sum(softmax(node.h[2:], axis=-1), axis=-1)", 3, {0, 0, 0}},
    {"out = where(dst.x > 1.5, dst.x, -1)", 3, {-1, 2, 3}},
    {"out = float32(int32(dst.x * 1.9))", 3, {1, 3, 5}},
    {"out = bool(dst.x - 1) * dst.x", 3, {0, 2, 3}},
    {"out = float32(float64(dst.x) / 2)", 3, {.5f, 1, 1.5f}},
    {"out = float32(9007199254740993 - int64(dst.x) - 9007199254740990)", 3, {2, 1, 0}},
    {"out = -7 // 2 + 7 % -3 + dst.x % 2 + -dst.x // 2", 3, {-6, -7, -7}},
    {"out = 1.0 * (int64(dst.x) & 2 | 4 ^ ~int64(dst.x))", 3, {-6, -5, -6}},
    {"out = conj(dst.x) + real(dst.x) + imag(dst.x * inf)", 3, {2, 4, 6}},
    {"out = clamp(dst.x, max=2) + clamp(dst.x, min=2) + clamp(dst.x, min=2, max=2)", 3, {5, 6, 7}},
    {"out = elu(-dst.x * inf, alpha=2) + leaky_relu(-dst.x, negative_slope=.5)",
     3,
     {-2.5f, -3, -3.5f}},
    {"out = reshape(node.h, -1, 1, 2)[0]", 6, {1, 2, 3, 4, 5, 6}},
    {"out = transpose(reshape(node.h, (-1, 1, 2)), 1, 2)[1, ...]", 3, {2, 4, 6}},
    {"out = permute(node.h[None], 0, 2, 1)[0]", 3, {1, 3, 5}},
    {"out = transpose(node.h[..., None], axis=(0, 2, 1))[0, 1]", 3, {2, 4, 6}},
    {"out = squeeze(unsqueeze(unsqueeze(node.h, 1), -1))[0]", 3, {1, 3, 5}},
    {"out = squeeze(node.h[None, :, None], axis=(1, -1))[0]", 3, {1, 3, 5}},
    {"out = flatten(expand(node.h, (-1, 2, 2)), 1)[2]", 3, {1, 3, 5}},
    {"out = sum(cat([node.h, 2 * node.h], -1), axis=-1)", 3, {9, 21, 33}},
    {"out = sum(stack((node.x, dst.x), -1), axis=1, keepdims=True)[0]", 3, {2, 4, 6}},
    {"out = std(node.h, axis=-1) + node.h[1:, None][0, 0]", 3, {2.5f, 4.5f, 6.5f}},
    {"out = var(src.h, unbiased=true)[1] * 1.0", 1, {8}},
    {"out = quantile(src.x, 1) - quantile(src.x, q=0) + median(src.x)", 3, {3, 2, 2}},
    {"two = 2\nhalf = two / 4\nout = dst.x * half + two", 3, {2.5f, 3, 3.5f}},
    {"out = dst.x * (1 < 2) + ((3 > 4) | true)", 3, {2, 3, 4}},
    {"wm.identity = 0, 0\nwm.lift(a, b) = a, a * b\nwm.combine(p, q) = p[0] + q[0], p[1] + q[1]\n"
     "wm.finalize(s) = s[1] / s[0]\nout = wm(edge.w, src.x)",
     3,
     {2, 2, 1.5f}},
    {"wm.identity = (0, 0)\nwm.lift(a, b) = (a,\n  a * b)\nwm.combine(p, q) = (p[0] + q[0],\n  "
     "p[1] + q[1])\n"
     "wm.finalize(s) = (s[1] / s[0])\nout = wm(edge.w, src.x)",
     3,
     {2, 2, 1.5f}},
    {"wm.identity = 0, 0\nwm.lift(a, b) = p = a * b, a, p\n"
     "wm.combine(p, q) = (s = p[0] + q[0], t = p[1] + q[1],\n  s, t)\n"
     "tiny = 0\nwm.finalize(s) = (r = s[1] / (s[0] + tiny), r)\nout = wm(edge.w, src.x)",
     3,
     {2, 2, 1.5f}},
    {"sm.identity = (-inf, 0, 0)\nsm.lift(s, v) = s, 1, v\n"
     "sm.combine(a, b) = (m = max(a[0], b[0]), p = exp(a[0] - m), q = exp(b[0] - m),\n"
     "                    m, a[1] * p + b[1] * q, a[2] * p + b[2] * q)\n"
     "sm.finalize(s) = s[2] / s[1]\nout = sm(src.x * 0, src.x)",
     3,
     {2, 2, 1.5f}},
    {"lse.identity = -inf\nlse.combine(a, b) = b + softplus(a - b)\nout = lse(src.x)",
     3,
     {3.1269280f, 2, 2.3132617f}},
    {"top.identity = -inf, -1\ntop.lift(k, v) = k, v\ntop.combine(a, b) = (l = b[0] <= a[0], "
     "where(l, a[0], b[0]), where(l, a[1], b[1]))\ntop.finalize(s) = s[1]\nout = top(-src.x, 10 * "
     "src.x)",
     3,
     {10, 20, 10}},
    {"two.identity = 0, -inf\ntwo.lift(m) = m, m\ntwo.combine(a, b) = b[0] + a[0], max(b[1], "
     "a[1])\n"
     "two.finalize(s) = s[0] - s[1]\nout = two(src.x)",
     3,
     {1, 0, 1}},
    {"out = median(src.x) + quantile(src.x, q=1)", 3, {4, 4, 3}},
    {"top.identity = -inf\ntop.combine(a, b) = max(a, b)\nout = top(src.x)", 3, {3, 2, 2}},
    {"sm.identity = -inf, 0, 0\nsm.lift(s, v) = s, 1, v\n"
     "sm.combine(a, b) = max(a[0], b[0]), a[1] * exp(a[0] - max(a[0], b[0])) + b[1] * exp(b[0] - "
     "max(a[0], b[0])), "
     "a[2] * exp(a[0] - max(a[0], b[0])) + b[2] * exp(b[0] - max(a[0], b[0]))\n"
     "sm.finalize(s) = s[2] / s[1]\nout = sm(src.x * 0, src.x)",
     3,
     {2, 2, 1.5f}},
};

static void test_right(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof right / sizeof *right; k++) {
        Arena *a = arena_new();
        float out[9] = {0};
        Status st = evaluate(a, right[k].text, out);
        if (st) fail_msg("%s: %s", right[k].text, err_message());
        for (int i = 0; i < right[k].n; i++)
            if (out[i] != right[k].want[i] && !(fabsf(out[i] - right[k].want[i]) <= 1e-5f))
                fail_msg("%s: result %d is %g, expected %g", right[k].text, i, out[i],
                         right[k].want[i]);
        arena_free(a);
    }
}

static const struct {
    const char *text;
    Status status;
    const char *message; /* contained */
} wrong[] = {
    {"", ST_SYNTAX, "1:1: expected a formula"},
    {"out", ST_SYNTAX, "1:4: expected '=' (a line is NAME = expression), got the end"},
    {"out = ", ST_SYNTAX, "1:7: expected an expression, got the end"},
    {"out = sum(src.x", ST_SYNTAX, "1:16: expected ',' or ')'"},
    {"out = sum(src.x))", ST_SYNTAX, "1:17: expected an operator or the end of the line, got ')'"},
    {"a = 1\nout = b +* 2", ST_SYNTAX, "2:10: expected an expression, got '*'"},
    {"out = 1 < 2 < 3", ST_SYNTAX, "one comparison"},
    {"src.x = 3", ST_SYNTAX, "fields cannot be assigned"},
    {"out = dst.x $ 2", ST_SYNTAX, "1:13: expected an operator"},
    {"out = \xff", ST_SYNTAX, "a byte outside ASCII"},
    {"out = sum(edge.nothing)", ST_NAME, "1:11: 'edge.nothing' is not defined above and not bound"},
    {"out = sine(dst.x)", ST_NAME, "1:7: unknown function 'sine'"},
    {"out = sum(edge.w * node.x)", ST_SHAPE, "do not meet"},
    {"out = sum(src.h) + node.h @ W", ST_SHAPE, "do not broadcast"},
    {"out = sum(sum(src.x))", ST_INVAL, "a reducer inside a reducer"},
    {"out = 1; out = 2", ST_NAME, "1:10: 'out' is defined already"},
    {"out = sum(src.x, axis=0)", ST_SHAPE, "axis 0 is the node axis"},
    {"out = sum(node.h, axis=7)", ST_SHAPE, "axis 7 is out of range"},
    {"out = sum(node.x, with=3)", ST_NAME, "no keyword 'with'"},
    {"out = where(node.x, 1, 2)", ST_TYPE, "the condition is"},
    {"p.combine(a, b) = a + b\nout = p(src.x)", ST_NAME, "no line p.identity"},
    {"p.combine(a, b) = a + edge.w\np.identity = 0\nout = p(src.x)", ST_NAME, "its own parameters"},
};

static void test_wrong(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        Arena *a = arena_new();
        Fn *f;
        Status st = build(a, wrong[k].text, &f);
        if (st != wrong[k].status || !strstr(err_message(), wrong[k].message))
            fail_msg("'%s': status %d, '%s'; expected %d, '%s'", wrong[k].text, st, err_message(),
                     wrong[k].status, wrong[k].message);
        arena_free(a);
    }
}

static void test_deep_nesting_is_refused(void **state) {
    (void)state;
    static char text[4096] = "out = ";
    memset(text + 6, '(', 4000);
    Arena *a = arena_new();
    Formula f;
    assert_int_equal(formula_parse(a, text, &f), ST_SYNTAX);
    arena_free(a);
}

/* Chains are trees as high as they are long. */
static void test_long_chains_are_refused(void **state) {
    (void)state;
    static char sum[200008] = "out = 1", index[300008] = "out = a";
    Arena *a = arena_new();
    Formula f;
    for (size_t k = 0; k < 100000; k++) memcpy(sum + 7 + 2 * k, "+1", 2);
    for (size_t k = 0; k < 100000; k++) memcpy(index + 7 + 3 * k, "[0]", 3);
    assert_int_equal(formula_parse(a, sum, &f), ST_SYNTAX);
    assert_non_null(strstr(err_message(), "a shorter expression"));
    assert_int_equal(formula_parse(a, index, &f), ST_SYNTAX);
    sum[7 + 2 * 999] = 0;
    assert_int_equal(formula_parse(a, sum, &f), ST_OK);
    arena_free(a);
}

/* Any bytes: mutations of the texts above parse or are refused, and build or are refused. */
static void test_mutations(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char text[1024] = {0};
        snprintf(text, sizeof text, "%s",
                 right[(size_t)round % (sizeof right / sizeof *right)].text);
        for (int k = 0; k < 3; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size_t at = (seed >> 33) % (strlen(text) + 1);
            text[at] = "()[],.=+-*/@<>&|^~#;:\n 019eaxs\xf0"[(seed >> 20) % 31];
        }
        Arena *a = arena_new();
        Fn *f;
        Status st = build(a, text, &f);
        assert_true(st >= ST_OK && st < ST_NOMEM);
        arena_free(a);
    }
}

/* node.b is bool, .i int32, .l int64, .f float32, .d float64. Numbers never widen what they meet. */
static const struct {
    const char *text;
    Dtype dtype;
} meetings[] = {
    {"node.b + node.i", DT_i32},
    {"node.i * node.l", DT_i64},
    {"node.b * node.f", DT_f32},
    {"node.l * node.d", DT_f64},
    {"node.b / node.l", DT_f32},
    {"node.i // 2", DT_i32},
    {"node.i * 2", DT_i32},
    {"node.b * 2", DT_i64},
    {"node.l * 0.5", DT_f32},
    {"node.d * 0.5", DT_f64},
    {"node.i & 3", DT_i32},
    {"isnan(inf) & node.b", DT_bool},
    {"where(node.b, 1.0, 0.0)", DT_f32},
    {"where(node.b, 1, 0)", DT_i64},
    {"where(node.b, 2, 3) * node.i", DT_i32},
    {"where(node.b, 2.0, 3.0) * node.d", DT_f64},
    {"where(node.m, 2.0, inf) * node.f", DT_f32},
    {"where(node.b, 1.0, node.i)", DT_f32},
    {"stack(node.d, 1.0)", DT_f64},
    {"stack(node.i, 1, node.b)", DT_i32},
    {"stack(node.i) @ stack(node.d)", DT_f64},
    {"stack(node.i) @ stack(node.i)", DT_f32},
    {"sum(src(node.b))", DT_i64},
    {"sum(src(node.i), empty=-1)", DT_i64},
    {"sum(src(node.i), empty=.5)", DT_f32},
    {"mean(src(node.i))", DT_f32},
    {"max(src(node.i), empty=-1)", DT_i32},
    {"softmax(src(node.i), src(node.d))", DT_f64},
    {"softmax(src(node.i), src(node.i))", DT_f32},
    {"node.h * 0.5 + 1", DT_f16},
    {"node.h / node.l", DT_f16},
    {"node.q * node.b", DT_bf16},
    {"sqrt(node.q) > 0.5", DT_bool},
    {"where(node.b, 1.0, node.h)", DT_f16},
    {"stack(node.i, 1.0, node.q)", DT_bf16},
    {"stack(node.h) @ stack(node.i)", DT_f16},
    {"sum(src(node.h), empty=0.1)", DT_f16},
    {"mean(src(node.q))", DT_bf16},
    {"max(src(node.q), empty=-1)", DT_bf16},
    {"softmax(src(node.b), src(node.h))", DT_f16},
    {"logsumexp(src(node.h))", DT_f16},
    {"var(src(node.q))", DT_bf16},
    {"argmax(src(node.q))", DT_i64},
    {"sigmoid(node.h)", DT_f16},
};

static void test_dtypes_meet(void **state) {
    (void)state;
    FormulaInput in[] = {{"node.b", DT_bool, 0, {0}}, {"node.i", DT_i32, 0, {0}},
                         {"node.l", DT_i64, 0, {0}},  {"node.f", DT_f32, 0, {0}},
                         {"node.d", DT_f64, 0, {0}},  {"node.m", DT_bool, 1, {3}},
                         {"node.h", DT_f16, 0, {0}},  {"node.q", DT_bf16, 0, {0}}};
    for (size_t k = 0; k < sizeof meetings / sizeof *meetings; k++) {
        Arena *a = arena_new();
        Formula formula;
        Fn *f = NULL;
        Status st = formula_parse(a, arena_printf(a, "out = %s", meetings[k].text), &formula);
        if (!st) st = formula_build(a, &formula, in, sizeof in / sizeof *in, NULL, 0, &f);
        if (st) fail_msg("%s: %s", meetings[k].text, err_message());
        const char *got = dtype_name((Dtype)ir_type(f, f->results.data[0].val)->dtype);
        if (strcmp(got, dtype_name(meetings[k].dtype))) fail_msg("%s: %s", meetings[k].text, got);
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_deep_nesting_is_refused),
        cmocka_unit_test(test_long_chains_are_refused),
        cmocka_unit_test(test_dtypes_meet),
        cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
