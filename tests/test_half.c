/* float16 and bfloat16: every conversion against one written for the test, compiled and interpreted; what
 * sums, results and gradients of halves are. */
#include "run/disk.h"
#include "tiga/tiga.h"
#include "tiga/tiga_ops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the reference: a format is a number of digits and the exponents of normal numbers ---- */

typedef struct {
    tg_dtype dtype;
    int digits, least, most; /* of the significand; of 1.x * 2^e */
} Format;
static const Format formats[] = {{TG_FLOAT16, 11, -14, 15}, {TG_BFLOAT16, 8, -126, 127}};
enum { NUM_HALVES = 1 << 16 };

static double value_of(const Format *f, uint16_t bits) {
    int fraction_bits = f->digits - 1, fraction = bits & ((1 << fraction_bits) - 1);
    int exponent = (bits & 0x7fff) >> fraction_bits, special = f->most - f->least + 2;
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == special) return fraction ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, f->least - fraction_bits);
    return sign * ldexp(fraction + (1 << fraction_bits), exponent - 1 + f->least - fraction_bits);
}

/* To the nearest, ties to even; all in double, where it is exact. */
static double rounded(const Format *f, double x) {
    int exponent;
    if (x == 0 || !isfinite(x)) return x;
    frexp(x, &exponent);
    if (exponent - 1 < f->least) exponent = f->least + 1;
    double unit = ldexp(1, exponent - f->digits), y = nearbyint(x / unit) * unit;
    return fabs(y) >= ldexp(1, f->most + 1) ? copysign(INFINITY, x) : copysign(y, x);
}

static bool same(double x, double y) {
    return (x != x && y != y) || (x == y && signbit(x) == signbit(y));
}

/* ---- one cast ---- */

/* out = in as another dtype, and once more an element at a time. */
static tg_program *cast_program(tg_dtype from, tg_dtype to, int64_t n) {
    const int64_t code = to;
    tg_builder *b = tg_builder_new(true);
    tg_val x = tg_in(b, "x", from, 1, &n), e = tg_in(b, "node.e", from, 0, NULL);
    tg_out(b, "y", tg_apply(b, "cast", &x, 1, &code, 1));
    tg_out(b, "f", tg_apply(b, "cast", &e, 1, &code, 1));
    tg_program *p = tg_builder_program(b);
    tg_builder_free(b);
    return p;
}

static tg_array array_of(const void *data, tg_dtype dtype, int64_t n) {
    return tg_dense(data, dtype, 1, &n);
}

/* y and f take n elements each. */
static void cast(const void *x, tg_dtype from, void *y, void *f, tg_dtype to, int64_t n,
                 bool compiled) {
    tg_program *p = cast_program(from, to, n);
    tg_graph *g = tg_graph_coo(n, n, 0, NULL, NULL);
    const tg_arg args[] = {{"x", array_of(x, from, n)},
                           {"node.e", array_of(x, from, n)},
                           {"y", array_of(y, to, n)},
                           {"f", array_of(f, to, n)}};
    if ((compiled ? tg_run : tg_reference)(p, g, args, 4)) fail_msg("%s", tg_errmsg());
    tg_program_free(p);
    tg_graph_free(g);
}

static void every_half_widens(void **state) {
    (void)state;
    static uint16_t bits[NUM_HALVES];
    static float y[2][NUM_HALVES];
    static double z[2][NUM_HALVES];
    for (int k = 0; k < NUM_HALVES; k++) bits[k] = (uint16_t)k;
    for (int k = 0; k < 2; k++)
        for (int compiled = 0; compiled < 2; compiled++) {
            const Format *f = &formats[k];
            cast(bits, f->dtype, y[0], y[1], TG_FLOAT32, NUM_HALVES, compiled);
            cast(bits, f->dtype, z[0], z[1], TG_FLOAT64, NUM_HALVES, compiled);
            for (int i = 0; i < 2 * NUM_HALVES; i++) {
                double want = value_of(f, bits[i % NUM_HALVES]);
                double single = (double)y[i / NUM_HALVES][i % NUM_HALVES];
                if (!same(single, want) || !same(z[i / NUM_HALVES][i % NUM_HALVES], want))
                    fail_msg("%04x of format %d: %g, not %g", i % NUM_HALVES, k, single, want);
            }
        }
}

/* Each half, the middle between it and the next, and what lies just beside that. */
enum { POINTS = 6, NUM_POINTS = POINTS * NUM_HALVES };

static void points_near(const Format *f, uint16_t bits, double *x) {
    double a = value_of(f, bits), b = value_of(f, (uint16_t)(bits + 1));
    double middle =
        isfinite(b) ? a + (b - a) / 2 : copysign(ldexp(2 - ldexp(1, -f->digits), f->most), a);
    bool single = f->dtype == TG_FLOAT16; /* of bfloat16 the least differences are subnormal */
    double beside = single ? fabs(middle) * 0x1p-40 : fabs(middle) * 0x1p-50;
    const double near[POINTS] = {a,
                                 middle,
                                 middle - beside,
                                 middle + beside,
                                 (double)nextafterf((float)middle, -HUGE_VALF),
                                 (double)nextafterf((float)middle, HUGE_VALF)};
    memcpy(x, near, sizeof near);
}

static void check_rounded(const Format *f, const double *x, const uint16_t *got, const char *from) {
    for (int i = 0; i < NUM_POINTS; i++)
        if (!same(value_of(f, got[i]), rounded(f, x[i])))
            fail_msg("%.17g of %s to format of %d digits: %.17g, not %.17g", x[i], from, f->digits,
                     value_of(f, got[i]), rounded(f, x[i]));
}

static void every_rounding_is_to_nearest_even(void **state) {
    (void)state;
    double *x = malloc(NUM_POINTS * sizeof *x), *widened = malloc(NUM_POINTS * sizeof *x);
    float *single = malloc(NUM_POINTS * sizeof *single);
    uint16_t *y = malloc(NUM_POINTS * sizeof *y), *z = malloc(NUM_POINTS * sizeof *z);
    for (int k = 0; k < 2; k++) {
        const Format *f = &formats[k];
        for (int i = 0; i < NUM_HALVES; i++) points_near(f, (uint16_t)i, x + POINTS * i);
        for (int i = 0; i < NUM_POINTS; i++) widened[i] = (double)(single[i] = (float)x[i]);
        for (int compiled = 0; compiled < 2; compiled++) {
            cast(x, TG_FLOAT64, y, z, f->dtype, NUM_POINTS, compiled);
            check_rounded(f, x, y, "float64");
            check_rounded(f, x, z, "float64");
            cast(single, TG_FLOAT32, y, z, f->dtype, NUM_POINTS, compiled);
            check_rounded(f, widened, y, "float32");
            check_rounded(f, widened, z, "float32");
        }
    }
    free(x), free(widened), free(single), free(y), free(z);
}

static void integers_and_other_halves(void **state) {
    (void)state;
    static const int64_t x[] = {0,     1,      -1,        2049,      2051, 65519,
                                65520, -70000, INT64_MAX, INT64_MIN, 257};
    enum { N = sizeof x / sizeof *x };
    uint16_t y[N], z[N], back[N];
    int64_t whole[2][N];
    for (int k = 0; k < 2; k++)
        for (int compiled = 0; compiled < 2; compiled++) {
            const Format *f = &formats[k], *other = &formats[1 - k];
            cast(x, TG_INT64, y, z, f->dtype, N, compiled);
            for (int i = 0; i < N; i++)
                assert_true(same(value_of(f, y[i]), rounded(f, (double)(float)x[i])));
            assert_memory_equal(y, z, sizeof y);
            cast(y, f->dtype, back, z, other->dtype, N, compiled);
            for (int i = 0; i < N; i++)
                assert_true(same(value_of(other, z[i]), rounded(other, value_of(f, y[i]))));
            cast(y, f->dtype, whole[0], whole[1], TG_INT64, N, compiled);
            assert_int_equal(whole[0][7], f->dtype == TG_FLOAT16 ? INT64_MIN : -70144);
            assert_int_equal(whole[1][8], INT64_MAX);
        }
}

/* ---- programs ---- */

static uint16_t half_of(const Format *f, double x) {
    double y = rounded(f, x);
    for (int k = 0; k < NUM_HALVES; k++)
        if (same(value_of(f, (uint16_t)k), y)) return (uint16_t)k;
    fail_msg("no half is %g", y);
    return 0;
}

/* The formula over one row of n messages src.x, all of them the half nearest to x. */
static double row_of(const Format *f, const char *formula, double x, int64_t n, bool compiled) {
    int64_t *src = calloc((size_t)n, sizeof *src), *dst = calloc((size_t)n, sizeof *dst);
    uint16_t message = half_of(f, x), out = 0;
    tg_graph *g = tg_graph_coo(1, 1, n, src, dst);
    tg_program *p = tg_program_new(formula);
    const tg_arg args[] = {{"src.x", array_of(&message, f->dtype, 1)},
                           {"out", array_of(&out, f->dtype, 1)}};
    if ((compiled ? tg_run : tg_reference)(p, g, args, 2)) fail_msg("%s", tg_errmsg());
    tg_program_free(p);
    tg_graph_free(g);
    free(src), free(dst);
    return value_of(f, out);
}

static void what_is_stored_is_rounded_once(void **state) {
    (void)state;
    static const struct {
        int format;
        const char *formula;
        double x;
        int64_t n;
        double want;
    } cases[] = {
        {1, "out = sum(src.x)", 1, 512, 512},
        {1, "out = sum(src.x)", 1, 5000, 4992}, /* the nearest to 5000 */
        {1, "out = mean(src.x)", 3, 5000, 3},
        {0, "out = sum(src.x)", 1, 5000, 5000},
        {0, "out = sum(src.x)", 60000, 2, INFINITY},
        {0, "out = sum(src.x) * 0.5", 60000, 2, 60000},
        {0, "out = mean(src.x)", 60000, 3000, 60000},
        {0, "out = mean(src.x * src.x) / 1000", 300, 7, 90},
        {0, "out = exp(max(src.x)) / exp(max(src.x))", 20, 4, 1},
        {0, "out = sum(src.x) / 70000", 7, 10000, 1}, /* a number never widens, nor is it rounded */
        {0, "out = softmax(src.x, src.x)", 0.1, 3, 0.0999755859375},
        {1, "out = logsumexp(src.x)", 0, 1, 0},
        {1, "out = var(src.x)", 100, 9, 0},
        {0, "out = sum(src.x, empty=0.1)", 1, 0, 0.0999755859375},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int compiled = 0; compiled < 2; compiled++) {
            double got = row_of(&formats[cases[k].format], cases[k].formula, cases[k].x, cases[k].n,
                                compiled);
            if (got != cases[k].want)
                fail_msg("%s: %.17g, not %.17g", cases[k].formula, got, cases[k].want);
        }
}

static tg_dtype dtype_of(const tg_program *p, const char *name) {
    tg_end end;
    for (size_t k = 0; k < tg_program_num_results(p); k++)
        if (!tg_program_result(p, k, &end) && !strcmp(end.name, name)) return end.dtype;
    for (size_t k = 0; k < tg_program_num_inputs(p); k++)
        if (!tg_program_input(p, k, &end) && !strcmp(end.name, name)) return end.dtype;
    fail_msg("there is no %s", name);
    return TG_BOOL;
}

static void gradients_are_of_the_inputs_dtypes(void **state) {
    (void)state;
    tg_program *p = tg_program_new("out = sum(src.x * edge.w)\nagain = sum(src.x)");
    const tg_arg args[] = {{"src.x", tg_bf16(NULL, 3, 4)}, {"edge.w", tg_bf16(NULL, 5)}};
    tg_program *typed = tg_program_typed(p, args, 2);
    tg_program *once = tg_program_grad(typed, "out", "src.x edge.w");
    tg_program *twice = tg_program_grad(once, "grad.edge.w", "src.x");
    static const char *const names[] = {
        "out", "again", "cot.out", "grad.src.x", "grad.edge.w", "cot.grad.edge.w", "grad2.src.x"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        assert_int_equal(dtype_of(twice, names[k]), TG_BFLOAT16);
    tg_program_free(twice), tg_program_free(once), tg_program_free(typed), tg_program_free(p);
}

/* Two uses of src.x: their cotangents add up in float32, and what is stored is rounded once. */
static void cotangents_are_added_in_float32(void **state) {
    (void)state;
    const Format *f = &formats[1];
    int64_t ends[2] = {0, 0};
    uint16_t x = half_of(f, 1), cot[2] = {half_of(f, 256), half_of(f, 1)}, grad = 0;
    tg_program *p = tg_program_new("out = sum(src.x)\ntoo = sum(src.x) * 0.5");
    tg_program *g = tg_program_grad(p, "out too", "src.x");
    tg_graph *graph = tg_graph_coo(1, 1, 2, ends, ends);
    const tg_arg args[] = {{"src.x", tg_bf16(&x, 1)},
                           {"cot.out", tg_bf16(&cot[0], 1)},
                           {"cot.too", tg_bf16(&cot[1], 1)},
                           {"grad.src.x", tg_bf16(&grad, 1)}};
    for (int compiled = 0; compiled < 2; compiled++) {
        if ((compiled ? tg_run : tg_reference)(g, graph, args, 4)) fail_msg("%s", tg_errmsg());
        assert_true(value_of(f, grad) == rounded(f, 513));
    }
    tg_graph_free(graph), tg_program_free(g), tg_program_free(p);
}

/* A cast to a half rounds there and then; its derivative is 1. */
static void casts_round(void **state) {
    (void)state;
    const int64_t half = TG_BFLOAT16, single = TG_FLOAT32;
    tg_builder *b = tg_builder_new(true);
    tg_val x = tg_in(b, "x", TG_FLOAT32, 0, NULL);
    tg_val y = tg_apply(b, "cast", &x, 1, &half, 1);
    tg_val z[] = {tg_apply(b, "cast", &y, 1, &single, 1), tg_number(b, 100)};
    tg_out(b, "out", tg_apply(b, "mul", z, 2, NULL, 0));
    tg_program *p = tg_builder_program(b), *g = tg_program_grad(p, "out", "x");
    tg_graph *none = tg_graph_coo(0, 0, 0, NULL, NULL);
    float in = 1.0078125f * 1.001f, cot = 1.001f, out = 0, grad = 0;
    const tg_arg args[] = {{"x", tg_f32(&in)},
                           {"out", tg_f32(&out)},
                           {"cot.out", tg_f32(&cot)},
                           {"grad.x", tg_f32(&grad)}};
    for (int compiled = 0; compiled < 2; compiled++) {
        if ((compiled ? tg_run : tg_reference)(g, none, args, 4)) fail_msg("%s", tg_errmsg());
        assert_true(out == 100.78125f && grad == cot * 100);
    }
    tg_graph_free(none), tg_program_free(g), tg_program_free(p), tg_builder_free(b);
}

static void a_reducers_state_is_float32(void **state) {
    (void)state;
    const tg_dtype half = TG_BFLOAT16;
    tg_reducer *r = tg_reducer_builtin("mean", 0, false, 0);
    char *text = tg_reducer_ir(r, "mean", &half, 1);
    assert_non_null(strstr(text, "bf16"));
    assert_non_null(strstr(text, "\"gf_tensor.add\""));
    for (const char *p = text; (p = strstr(p, "gf_tensor.add")); p++)
        assert_null(memchr(p, 'b', strcspn(p, "\n")));
    tg_free(text);
    tg_reducer_free(r);
}

static int begin(void **state) {
    (void)state;
    disk_use_folder("");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_widens),
        cmocka_unit_test(every_rounding_is_to_nearest_even),
        cmocka_unit_test(integers_and_other_halves),
        cmocka_unit_test(what_is_stored_is_rounded_once),
        cmocka_unit_test(gradients_are_of_the_inputs_dtypes),
        cmocka_unit_test(cotangents_are_added_in_float32),
        cmocka_unit_test(casts_round),
        cmocka_unit_test(a_reducers_state_is_float32),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
