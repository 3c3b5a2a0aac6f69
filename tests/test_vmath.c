/* The errors of vmath.inc: float32 swept against libm in double, float64 at random and near special
 * points against libm in long double. A stride of 1 (TIGA_VMATH_STEP) sweeps every float. */
#include "interp/words.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { NUM_RANDOM = 400000 };
static const double limit = 2; /* ulp */

typedef struct {
    const char *name;
    float (*f32)(float);
    double (*f64)(double);
    double (*libm)(double);
    long double (*libml)(long double);
} Case;

static const Case cases[] = {
    {"exp", exp_f32, exp_f64, exp, expl},
    {"log", log_f32, log_f64, log, logl},
    {"tanh", tanh_f32, tanh_f64, tanh, tanhl},
};
enum { NUM_CASES = sizeof cases / sizeof *cases };

static double worse(double a, double b) { return a > b ? a : b; }

/* Distance in units of the last place of want rounded to a format of `bits` and least exponent. */
static double ulps(long double got, long double want, long double rounded, int bits, int least) {
    int exponent;
    if (want != want) return got != got ? 0 : HUGE_VAL;
    if (isinf(rounded) || isinf(got)) return got == rounded ? 0 : HUGE_VAL;
    if (got != got) return HUGE_VAL;
    frexpl(want, &exponent);
    if (want == 0 || exponent < least) exponent = least;
    return (double)(fabsl(got - want) / ldexpl(1, exponent - bits));
}

static double ulps_f32(float got, double want) { return ulps(got, want, (float)want, 24, -125); }

static double ulps_f64(double got, long double want) {
    return ulps(got, want, (double)want, 53, -1021);
}

static uint64_t next_random(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static void test_f32(void **state) {
    (void)state;
    const char *step_text = getenv("TIGA_VMATH_STEP");
    uint64_t step = step_text ? strtoull(step_text, NULL, 0) : 1021;
    for (int c = 0; c < NUM_CASES; c++) {
        double worst = 0;
        for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += step) {
            float x = as_flt_f32((int32_t)(uint32_t)bits);
            worst = worse(worst, ulps_f32(cases[c].f32(x), cases[c].libm(x)));
        }
        printf("%s f32: %.3f ulp\n", cases[c].name, worst);
        assert_true(worst <= limit);
    }
}

/* All over, where results are ordinary, and beside the points where something changes. */
static double draw(uint64_t k) {
    static const double corner[] = {
        0,    DBL_TRUE_MIN,       DBL_MIN,   DBL_MAX, 1,  M_SQRT1_2, M_SQRT2,
        .625, 709.78271289338397, 745.13321, 708.396, 22, HUGE_VAL};
    uint64_t r = next_random();
    if (k % 4 == 0) return as_flt_f64((int64_t)r);
    if (k % 4 == 1) return (double)(r >> 11) * 0x1p-53 * 1500 - 750;
    if (k % 4 == 2) return ((double)(r >> 11) * 0x1p-53 - 0.5) * 4;
    double x = corner[(r >> 8) % (sizeof corner / sizeof *corner)];
    if (r & 1) x = nextafter(x, r & 2 ? HUGE_VAL : -HUGE_VAL);
    return r & 4 ? x : -x;
}

static void test_f64(void **state) {
    (void)state;
    for (int c = 0; c < NUM_CASES; c++) {
        double worst = 0;
        for (uint64_t k = 0; k < NUM_RANDOM; k++) {
            double x = draw(k);
            worst = worse(worst, ulps_f64(cases[c].f64(x), cases[c].libml(x)));
        }
        printf("%s f64: %.3f ulp\n", cases[c].name, worst);
        assert_true(worst <= limit);
    }
}

#define SPECIALS(D, T, SUFFIX, TINY)                                                               \
    static void test_specials_##D(void **state) {                                                  \
        (void)state;                                                                               \
        T inf = (T)HUGE_VAL, nan = inf - inf;                                                      \
        assert_true(exp_##D(nan) != exp_##D(nan) && exp_##D(inf) == inf && exp_##D(-inf) == 0);    \
        assert_true(exp_##D(0) == 1 && exp_##D(-(T)0) == 1 && exp_##D(1000000) == inf);            \
        assert_true(exp_##D(-1000000) == 0 && !signbit(exp_##D(-1000000)));                        \
        assert_true(log_##D(nan) != log_##D(nan) && log_##D(inf) == inf && log_##D(0) == -inf);    \
        assert_true(log_##D(-(T)0) == -inf && log_##D(1) == 0 && !signbit(log_##D(1)));            \
        assert_true(log_##D(-1) != log_##D(-1) && log_##D(-inf) != log_##D(-inf));                 \
        assert_true(tanh_##D(nan) != tanh_##D(nan) && tanh_##D(inf) == 1 && tanh_##D(-inf) == -1); \
        assert_true(tanh_##D(0) == 0 && !signbit(tanh_##D(0)) && signbit(tanh_##D(-(T)0)));        \
        assert_true(tanh_##D(TINY) == TINY && tanh_##D(-TINY) == -TINY);                           \
        for (T x = TINY; x < 100; x *= 3) {                                                        \
            assert_true(tanh_##D(-x) == -tanh_##D(x));                                             \
            assert_true(tanh_##D(x) <= 1);                                                         \
        }                                                                                          \
    }
SPECIALS(f32, float, f, FLT_TRUE_MIN)
SPECIALS(f64, double, , DBL_TRUE_MIN)

/* Python's rule, by fmod, which is exact. */
static double python_mod(double a, double b, double *quotient) {
    double r = fmod(a, b), q = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0)) r += b, q -= 1;
    *quotient = q == 0 ? 0 : floor(q) + (q - floor(q) > 0.5);
    return r == 0 ? copysign(0, b) : r;
}

static void check_division(double a, double b) {
    double q, r = python_mod(a, b, &q);
    assert_true(mod_f64(a, b) == r && signbit(mod_f64(a, b)) == signbit(r));
    if (fabs(q) < 0x1p50) assert_true(floordiv_f64(a, b) == q); /* beyond, the reference rounds */
}

static void test_division(void **state) {
    (void)state;
    static const double points[] = {0.0, -0.0, 1,  -1,  5,   -5,     .1,      -.1,      .3,
                                    1e9, 3,    -3, 7.5, 1e4, -1e-20, DBL_MIN, HUGE_VAL, -HUGE_VAL};
    int n = sizeof points / sizeof *points;
    for (int i = 0; i < n; i++)
        for (int j = 2; j < n; j++)
            if (!isinf(points[i]) && (isinf(points[j]) || fabs(points[j]) > 1e-30))
                check_division(points[i], points[j]);
    for (int k = 0; k < 20000; k++) {
        double a = (double)(int64_t)next_random(), b = (double)(int64_t)next_random();
        check_division(ldexp(a, -(int)(next_random() % 63)), ldexp(b, -(int)(next_random() % 63)));
    }
    assert_true(mod_f64(1, 0) != mod_f64(1, 0) && floordiv_f64(1, 0) == HUGE_VAL);
    assert_true(mod_f32(-5.f, HUGE_VALF) == HUGE_VALF && floordiv_f32(-5.f, HUGE_VALF) == -1);
    assert_true(mod_f32(1e10f, 3.f) == fmodf(1e10f, 3.f));
}

static void test_integers(void **state) {
    (void)state;
    assert_true(floordiv_i32(-7, 2) == -4 && mod_i32(-7, 2) == 1 && mod_i32(7, -2) == -1);
    assert_true(floordiv_i32(7, 0) == 0 && mod_i32(7, 0) == 0);
    assert_true(floordiv_i64(INT64_MIN, -1) == INT64_MIN && mod_i64(INT64_MIN, -1) == 0);
    assert_true(floordiv_i32(6, -3) == -2 && mod_i32(6, -3) == 0);
    assert_true(add_i32(INT32_MAX, 1) == INT32_MIN && mul_i32(65536, 65536) == 0);
    assert_true(neg_i64(INT64_MIN) == INT64_MIN && abs_i64(INT64_MIN) == INT64_MIN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f32),          cmocka_unit_test(test_f64),
        cmocka_unit_test(test_specials_f32), cmocka_unit_test(test_specials_f64),
        cmocka_unit_test(test_division),     cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
