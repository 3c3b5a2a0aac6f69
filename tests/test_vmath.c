/* The errors of vmath.inc: float32 swept against libm in double, float64 and powers at random and near
 * special points against libm in long double. A stride of 1 (TIGA_VMATH_STEP) sweeps every float32.
 * With the argument "table" it prints docs/ulp.md: every float32, more random points. */
#include "ir/words.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { NUM_RANDOM = 400000 };
static const double limit = 2; /* ulp */

/* The promise holds for |x| up to most; beyond, results are held within 1. */
typedef struct {
    const char *name;
    float (*f32)(float);
    double (*f64)(double);
    double (*libm)(double);
    long double (*libml)(long double);
    double most_f32, most_f64;
} Case;

static const Case cases[] = {
    {"exp", exp_f32, exp_f64, exp, expl, HUGE_VAL, HUGE_VAL},
    {"expm1", expm1_f32, expm1_f64, expm1, expm1l, HUGE_VAL, HUGE_VAL},
    {"log", log_f32, log_f64, log, logl, HUGE_VAL, HUGE_VAL},
    {"log1p", log1p_f32, log1p_f64, log1p, log1pl, HUGE_VAL, HUGE_VAL},
    {"tanh", tanh_f32, tanh_f64, tanh, tanhl, HUGE_VAL, HUGE_VAL},
    {"erf", erf_f32, erf_f64, erf, erfl, HUGE_VAL, HUGE_VAL},
    {"sin", sin_f32, sin_f64, sin, sinl, 0x1p20, 0x1p47},
    {"cos", cos_f32, cos_f64, cos, cosl, 0x1p20, 0x1p47},
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

/* A rounded result, the common case, is half a unit away at most: no need to ask how far. */
static double ulps_f32(float got, double want) {
    return got == (float)want ? 0.5 : ulps(got, want, (float)want, 24, -125);
}

static double ulps_f64(double got, long double want) {
    return got == (double)want ? 0.5 : ulps(got, want, (double)want, 53, -1021);
}

static double held_within_1(double y) { return fabs(y) <= 1 ? 0 : HUGE_VAL; }

static uint64_t next_random(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static double unit_random(void) { return (double)(next_random() >> 11) * 0x1p-53; }

/* ---- one argument ---- */

typedef struct {
    const Case *c;
    uint64_t first, step;
    double worst;
} Sweep;

static void *sweep_f32(void *arg) {
    Sweep *w = arg;
    for (uint64_t bits = w->first; bits < UINT64_C(1) << 32; bits += w->step) {
        float x = as_flt_f32((int32_t)(uint32_t)bits), y = w->c->f32(x);
        bool beyond = fabsf(x) > (float)w->c->most_f32 && !isinf(x);
        w->worst = worse(w->worst, beyond ? held_within_1(y) : ulps_f32(y, w->c->libm(x)));
    }
    return NULL;
}

/* All over, where results are ordinary, and beside the points where something changes. */
static double draw(uint64_t k) {
    static const double corner[] = {0,           DBL_TRUE_MIN, DBL_MIN, DBL_MAX,
                                    1,           M_SQRT1_2,    M_SQRT2, 0.5,
                                    M_LN2 / 2,   M_PI_4,       .625,    709.78271289338397,
                                    745.13321,   708.396,      22,      HUGE_VAL,
                                    M_SQRT2 - 1, 37,           5.95,    M_PI_2};
    uint64_t r = next_random();
    if (k % 5 == 0) return as_flt_f64((int64_t)r);
    if (k % 5 == 1) return (double)(r >> 11) * 0x1p-53 * 1500 - 750;
    if (k % 5 == 2) return ((double)(r >> 11) * 0x1p-53 - 0.5) * 4;
    if (k % 5 == 3) return ldexp((double)(int64_t)r, -16 - (int)(next_random() % 64));
    double x = corner[(r >> 8) % (sizeof corner / sizeof *corner)];
    if (r & 1) x = nextafter(x, r & 2 ? HUGE_VAL : -HUGE_VAL);
    return r & 4 ? x : -x;
}

static double worst_f64(const Case *c, uint64_t count) {
    double worst = 0;
    for (uint64_t k = 0; k < count; k++) {
        double x = draw(k), y = c->f64(x);
        bool beyond = fabs(x) > c->most_f64 && !isinf(x);
        worst = worse(worst, beyond ? held_within_1(y) : ulps_f64(y, c->libml(x)));
    }
    return worst;
}

static void test_f32(void **state) {
    (void)state;
    const char *step = getenv("TIGA_VMATH_STEP");
    for (int c = 0; c < NUM_CASES; c++) {
        Sweep w = {&cases[c], 0, step ? strtoull(step, NULL, 0) : 2039, 0};
        sweep_f32(&w);
        printf("%s f32: %.3f ulp\n", cases[c].name, w.worst);
        assert_true(w.worst <= limit);
    }
}

static void test_f64(void **state) {
    (void)state;
    for (int c = 0; c < NUM_CASES; c++) {
        double worst = worst_f64(&cases[c], NUM_RANDOM);
        printf("%s f64: %.3f ulp\n", cases[c].name, worst);
        assert_true(worst <= limit);
    }
}

/* ---- pow ---- */

/* Bases and exponents of any kind, most with a power between the least and the largest number. */
static void draw_power(uint64_t k, double log_most, double *x, double *y) {
    *x = k % 2 ? fabs(as_flt_f64((int64_t)next_random()))
               : exp((unit_random() - 0.5) * (k % 4 ? 20 : 1));
    if (k % 8 == 3) *x = nextafter(1, 0) + (unit_random() - 0.5) * 0x1p-20;
    *y = (unit_random() * 2 - 1) * (k % 3 ? log_most : 10) / log(*x);
    if (k % 7 == 0) *y = as_flt_f64((int64_t)next_random());
    if (k % 7 == 1) {
        *y = floor(*y);
        if (k & 8) *x = -*x;
    }
}

static double worst_pow_f32(uint64_t count) {
    double worst = 0, x, y;
    for (uint64_t k = 0; k < count; k++) {
        draw_power(k, 105, &x, &y);
        float a = (float)x, b = k % 7 == 1 ? floorf((float)y) : (float)y;
        if (k % 7 == 0) b = as_flt_f32((int32_t)next_random());
        worst = worse(worst, ulps_f32(pow_f32(a, b), pow(a, b)));
    }
    return worst;
}

static double worst_pow_f64(uint64_t count) {
    double worst = 0, x, y;
    for (uint64_t k = 0; k < count; k++) {
        draw_power(k, 746, &x, &y);
        worst = worse(worst, ulps_f64(pow_f64(x, y), powl(x, y)));
    }
    return worst;
}

static void test_pow(void **state) {
    (void)state;
    double single = worst_pow_f32(NUM_RANDOM), wide = worst_pow_f64(NUM_RANDOM);
    printf("pow f32: %.3f ulp, f64: %.3f ulp\n", single, wide);
    assert_true(single <= limit && wide <= limit);
}

static bool same(double a, double b) {
    return a != a ? b != b : a == b && !signbit(a) == !signbit(b);
}

/* C's table of special cases: libm has them, sign of zero included. */
static void test_pow_specials(void **state) {
    (void)state;
    static const double points[] = {0.0,   -0.0,   1,      -1,         2,         -2,      3,
                                    -3,    .5,     -.5,    2.5,        -2.5,      1e30,    -1e30,
                                    1e-30, -1e-30, 0x1p53, 0x1p52 + 1, -HUGE_VAL, HUGE_VAL};
    enum { NUM = sizeof points / sizeof *points };
    for (int i = 0; i <= NUM; i++)
        for (int j = 0; j <= NUM; j++) {
            double x = i < NUM ? points[i] : nan(""), y = j < NUM ? points[j] : nan("");
            double want = pow(x, y), got = pow_f64(x, y);
            float a = (float)x, b = (float)y, single = pow_f32(a, b), want_f32 = powf(a, b);
            bool ordinary = isfinite(want) && want != 0 && ulps_f64(got, want) <= limit;
            bool ordinary_f32 =
                isfinite(want_f32) && want_f32 != 0 && ulps_f32(single, want_f32) <= limit;
            if (!same(got, want) && !ordinary)
                fail_msg("pow(%g, %g) is %g, not %g", x, y, got, want);
            if (!same(single, want_f32) && !ordinary_f32)
                fail_msg("powf(%g, %g) is %g, not %g", (double)a, (double)b, (double)single,
                         (double)want_f32);
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
            assert_true(tanh_##D(-x) == -tanh_##D(x) && tanh_##D(x) <= 1);                         \
            assert_true(erf_##D(-x) == -erf_##D(x) && erf_##D(x) <= 1);                            \
            assert_true(sin_##D(-x) == -sin_##D(x) && cos_##D(-x) == cos_##D(x));                  \
        }                                                                                          \
        assert_true(sin_##D(inf) != sin_##D(inf) && cos_##D(-inf) != cos_##D(-inf));               \
        assert_true(erf_##D(inf) == 1 && erf_##D(-inf) == -1 && cos_##D(0) == 1);                  \
        assert_true(expm1_##D(inf) == inf && expm1_##D(-inf) == -1 && log1p_##D(inf) == inf);      \
        assert_true(log1p_##D(-1) == -inf && log1p_##D(-2) != log1p_##D(-2));                      \
        T (*const odd[])(T) = {sin_##D, erf_##D, expm1_##D, log1p_##D};                            \
        for (int k = 0; k < 4; k++) {                                                              \
            assert_true(odd[k](0) == 0 && !signbit(odd[k](0)) && signbit(odd[k](-(T)0)));          \
            assert_true(odd[k](nan) != odd[k](nan));                                               \
        }                                                                                          \
        assert_true(sin_##D(TINY) == TINY && expm1_##D(-TINY) == -TINY);                           \
        assert_true(log1p_##D(TINY) == TINY);                                                      \
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

/* ---- the table ---- */

enum { MOST_CORES = 64, MANY_RANDOM = 4000000 };

static double worst_f32_of_all(const Case *c) {
    pthread_t thread[MOST_CORES];
    Sweep sweep[MOST_CORES];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (cores > MOST_CORES) cores = MOST_CORES;
    double worst = 0;
    for (int k = 0; k < cores; k++) {
        sweep[k] = (Sweep){c, (uint64_t)k, (uint64_t)cores, 0};
        if (pthread_create(&thread[k], NULL, sweep_f32, &sweep[k])) exit(1);
    }
    for (int k = 0; k < cores; k++) {
        pthread_join(thread[k], NULL);
        worst = worse(worst, sweep[k].worst);
    }
    return worst;
}

static void print_table(void) {
    printf("# Errors of the elementwise functions\n\n"
           "Written by `make ulp`. The largest distance from the true value, in units of the last "
           "place of the result; 0.5\n"
           "is a rounded one. float32 functions of one argument: every argument there is, against "
           "the C library in double.\n"
           "float64 and `pow`: %d random arguments, a fifth of them beside special points, against "
           "the C library in long\n"
           "double. Infinities, NaN, zeros and subnormal numbers are among them. `+ - * / sqrt fma "
           "abs floor ceil round` are\n"
           "exact or rounded once.\n\n"
           "| function | float32 | float64 |\n|---|---|---|\n",
           MANY_RANDOM);
    for (int c = 0; c < NUM_CASES; c++) {
        printf("| %s | %.3f |", cases[c].name, worst_f32_of_all(&cases[c]));
        fflush(stdout);
        printf(" %.3f |\n", worst_f64(&cases[c], MANY_RANDOM));
    }
    printf("| pow | %.3f |", worst_pow_f32(MANY_RANDOM));
    printf(" %.3f |\n\n", worst_pow_f64(MANY_RANDOM));
    printf("`sin` and `cos` are measured for |x| up to 2^20 (float32) and 2^47 (float64). Up to "
           "twice that the error stays\n"
           "below 4 units; further out precision is lost by degrees, then altogether: results stay "
           "within [-1, 1] and are the\n"
           "same everywhere, but are not the sine. Take a larger angle modulo 2 pi before.\n");
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "table")) return print_table(), 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f32),          cmocka_unit_test(test_f64),
        cmocka_unit_test(test_pow),          cmocka_unit_test(test_pow_specials),
        cmocka_unit_test(test_specials_f32), cmocka_unit_test(test_specials_f64),
        cmocka_unit_test(test_division),     cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
