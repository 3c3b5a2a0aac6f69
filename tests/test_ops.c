/* Every elementwise row of op.def, on every dtype that it is defined for, over all tuples of nasty
 * operands: the interpreter against a reference written apart from it. A row without a reference does
 * not compile. */
#include "interp/interp.h"
#include "ir/type.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef __int128 Wide; /* holds what 64-bit integers do before they wrap */

/* REF(op, on floats a, b, c in double, on integers a, b, c in Wide). Sums of float32 computed in
 * double and rounded are rounded right: 53 >= 2 * 24 + 2. */
#define NONE_HERE 0
static double python_mod(double a, double b);
static double python_floordiv(double a, double b);
static Wide wide_floordiv(Wide a, Wide b);
#define REFERENCES                                                                                 \
    REF(add, a + b, a + b)                                                                         \
    REF(mul, a *b, a *b)                                                                           \
    REF(sub, a - b, a - b)                                                                         \
    REF(div, a / b, NONE_HERE)                                                                     \
    REF(fma, fma(a, b, c), NONE_HERE)                                                              \
    REF(neg, -a, -a)                                                                               \
    REF(abs, fabs(a), a < 0 ? -a : a)                                                              \
    REF(sign, a > 0 || a < 0 ? copysign(1, a) : a, (a > 0) - (a < 0))                              \
    REF(floor, floor(a), NONE_HERE)                                                                \
    REF(ceil, ceil(a), NONE_HERE)                                                                  \
    REF(round, rint(a), NONE_HERE)                                                                 \
    REF(sqrt, sqrt(a), NONE_HERE)                                                                  \
    REF(exp, (double)expl(a), NONE_HERE)                                                           \
    REF(log, (double)logl(a), NONE_HERE)                                                           \
    REF(expm1, (double)expm1l(a), NONE_HERE)                                                       \
    REF(log1p, (double)log1pl(a), NONE_HERE)                                                       \
    REF(pow, (double)powl(a, b), NONE_HERE)                                                        \
    REF(sin, (double)sinl(a), NONE_HERE)                                                           \
    REF(cos, (double)cosl(a), NONE_HERE)                                                           \
    REF(erf, (double)erfl(a), NONE_HERE)                                                           \
    REF(tanh, (double)tanhl(a), NONE_HERE)                                                         \
    REF(max, a != a || a > b ? a : b, a > b ? a : b)                                               \
    REF(min, a != a || a < b ? a : b, a < b ? a : b)                                               \
    REF(floordiv, python_floordiv(a, b), wide_floordiv(a, b))                                      \
    REF(mod, python_mod(a, b), b == 0 ? 0 : a - b * wide_floordiv(a, b))                           \
    REF(lt, a < b, a < b)                                                                          \
    REF(le, a <= b, a <= b)                                                                        \
    REF(eq, a == b, a == b)                                                                        \
    REF(ne, a != b, a != b)                                                                        \
    REF(and, NONE_HERE, a &b)                                                                      \
    REF(or, NONE_HERE, a | b)                                                                      \
    REF(xor, NONE_HERE, a ^ b)                                                                     \
    REF(not, NONE_HERE, ~a)                                                                        \
    REF(isnan, isnan(a) != 0, NONE_HERE)                                                           \
    REF(order, NONE_HERE, NONE_HERE)                                                               \
    REF(where, a != 0 ? b : c, a != 0 ? b : c)

#define REF(op, on_floats, on_ints)                                                                \
    static double float_##op(double a, double b, double c) {                                       \
        (void)a, (void)b, (void)c;                                                                 \
        return on_floats;                                                                          \
    }                                                                                              \
    static Wide int_##op(Wide a, Wide b, Wide c) {                                                 \
        (void)a, (void)b, (void)c;                                                                 \
        return on_ints;                                                                            \
    }
REFERENCES
#undef REF

/* fmod is exact, and the sign is b's. */
static double python_mod(double a, double b) {
    double r = fmod(a, b);
    if (r != 0 && (r < 0) != (b < 0)) r += b;
    return r == 0 ? copysign(0, b) : r;
}

static double python_floordiv(double a, double b) {
    double r = fmod(a, b), q = (a - r) / b;
    if (b == 0) return floor(a / b);
    if (isinf(a)) return NAN;
    if (r != 0 && (r < 0) != (b < 0)) q -= 1;
    q = floor(q) + (q - floor(q) > 0.5);
    return q == 0 ? copysign(0, a / b) : q;
}

static Wide wide_floordiv(Wide a, Wide b) {
    if (b == 0) return 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

typedef struct {
    Op op;
    uint8_t arity;
    double ulp;
    double (*on_floats)(double, double, double);
    Wide (*on_ints)(Wide, Wide, Wide);
} Row;

static const Row rows[] = {
#define ELEM(op, arity, signature, traits, value, cot0, cot1, cot2, domain, ulp)                   \
    {OP_##op, arity, ulp, float_##op, int_##op},
#include "ir/op.def"
};
enum { NUM_ROWS = sizeof rows / sizeof *rows };

/* ---- operands ---- */

static const double float_points[] = {0.0,     -0.0, 1,        -1,        0.5,       0.1,
                                      3,       -3.7, 100,      -16777217, 1e-39,     -DBL_TRUE_MIN,
                                      DBL_MIN, 3e38, -DBL_MAX, HUGE_VAL,  -HUGE_VAL, 0.0 / 1};
static const int64_t int_points[] = {0,   1,         -1,        2,         -2,        7,        -7,
                                     100, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 123456789};
enum { MAX_POINTS = 18, MAX_TUPLES = MAX_POINTS * MAX_POINTS * MAX_POINTS };

static int num_points(Dtype t) {
    if (t == DT_bool) return 2;
    return dtype_is_float(t) ? (int)(sizeof float_points / sizeof *float_points)
                             : (int)(sizeof int_points / sizeof *int_points);
}

typedef union {
    bool b;
    int32_t i;
    int64_t l;
    float f;
    double d;
} Cell;

static Cell point(Dtype t, int k) {
    bool is_nan = k == MAX_POINTS - 1;
    if (t == DT_bool) return (Cell){.b = k != 0};
    if (t == DT_i32) return (Cell){.i = (int32_t)(uint32_t)int_points[k]};
    if (t == DT_i64) return (Cell){.l = int_points[k]};
    if (t == DT_f32) return (Cell){.f = is_nan ? nanf("") : (float)float_points[k]};
    return (Cell){.d = is_nan ? nan("") : float_points[k]};
}

static Wide as_int(Dtype t, Cell x) { return t == DT_bool ? x.b : t == DT_i32 ? x.i : x.l; }

static double as_float(Dtype t, Cell x) {
    return t == DT_f32 ? (double)x.f : t == DT_f64 ? x.d : (double)as_int(t, x);
}

static Cell float_cell(Dtype t, double x) {
    if (t == DT_bool) return (Cell){.b = x != 0};
    return t == DT_f32 ? (Cell){.f = (float)x} : (Cell){.d = x};
}

static Cell int_cell(Dtype t, Wide x) {
    if (t == DT_bool) return (Cell){.b = (x & 1) != 0};
    return t == DT_i32 ? (Cell){.i = (int32_t)(uint32_t)x} : (Cell){.l = (int64_t)(uint64_t)x};
}

/* ---- one row on one dtype ---- */

static bool is_close(Dtype t, Cell got, Cell want, double ulp) {
    double x = as_float(t, got), y = as_float(t, want);
    if (dtype_is_float(t) && y != y) return x != x;
    if (ulp == 0 || !dtype_is_float(t) || isinf(y))
        return !memcmp(&got, &want, (size_t)dtype_size(t));
    double next = t == DT_f32 ? (double)nextafterf((float)y, HUGE_VALF) : nextafter(y, HUGE_VAL);
    return fabs(x - y) <= ulp * fabs(next - y);
}

/* Float quotients are promised up to 2^46 (float32) only; sines up to 2^20 and 2^47. */
static bool is_promised(const Row *row, Dtype t, Cell a, Cell b) {
    if (row->op == OP_sin || row->op == OP_cos)
        return isinf(as_float(t, a)) || !(fabs(as_float(t, a)) > (t == DT_f32 ? 0x1p20 : 0x1p47));
    if ((row->op != OP_mod && row->op != OP_floordiv) || !dtype_is_float(t)) return true;
    double x = as_float(t, a), y = as_float(t, b);
    return y == 0 || isinf(x) || isinf(y) || x != x || y != y || fabs(x / y) < 0x1p46;
}

typedef struct {
    Dtype dtype[3], result;
    int64_t count; /* tuples */
    Cell cell[3][MAX_TUPLES];
} Operands;

static void fill(Operands *o, int arity) {
    o->count = 1;
    for (int k = 0; k < arity; k++) o->count *= num_points(o->dtype[k]);
    for (int64_t i = 0; i < o->count; i++) {
        int64_t rest = i;
        for (int k = arity; k < 3; k++) o->cell[k][i] = (Cell){0};
        for (int k = 0; k < arity; k++) {
            o->cell[k][i] = point(o->dtype[k], (int)(rest % num_points(o->dtype[k])));
            rest /= num_points(o->dtype[k]);
        }
    }
}

static Array column(Dtype t, int64_t n, void *data, int64_t stride) {
    return (Array){.data = data, .dtype = (uint8_t)t, .rank = 1, .dim = {n}, .stride = {stride}};
}

/* Of order: bits as a number, those of negative floats mirrored. */
static Cell key_cell(Dtype t, Cell a) {
    bool is_nan = as_float(t, a) != as_float(t, a), is_single = t == DT_f32;
    int64_t bits = is_single ? a.i : a.l, most = is_single ? INT32_MAX : INT64_MAX;
    int64_t key = is_nan ? most : bits < 0 ? -1 - (bits & most) : bits;
    return is_single ? (Cell){.i = (int32_t)key} : (Cell){.l = key};
}

static void check(const Row *row, const Operands *o, const Cell *got) {
    Dtype t = o->dtype[row->arity - 1];
    for (int64_t i = 0; i < o->count; i++) {
        Cell a = o->cell[0][i], b = o->cell[1][i], c = o->cell[2][i], want;
        if (row->op == OP_order) want = key_cell(t, a);
        else if (dtype_is_float(t))
            want = float_cell(o->result, row->on_floats(as_float(o->dtype[0], a), as_float(t, b),
                                                        as_float(t, c)));
        else
            want = int_cell(o->result,
                            row->on_ints(as_int(o->dtype[0], a), as_int(t, b), as_int(t, c)));
        if (!is_promised(row, t, a, b) || is_close(o->result, got[i], want, row->ulp)) continue;
        fail_msg("%s of %s at %g, %g, %g: %.17g, not %.17g", op_info[row->op].name, dtype_name(t),
                 as_float(t, a), as_float(t, b), as_float(t, c), as_float(o->result, got[i]),
                 as_float(o->result, want));
    }
}

/* The operation as a program on a set of as many elements as there are tuples; false where op.def does
 * not define it for t. */
static bool run_row(const Row *row, Dtype t) {
    static Operands o;
    static Cell got[MAX_TUPLES];
    static const char *const names[] = {"a", "b", "c"};
    Fn *f = ir_new(arena_new(), "row");
    Set s = ir_set(f, "V");
    Val args[3];
    for (int k = 0; k < row->arity; k++) {
        o.dtype[k] = k == 0 && op_info[row->op].signature == S_sel ? DT_bool : t;
        args[k] = ir_input(f, names[k], type_scalar(o.dtype[k], s));
    }
    Val y = ir_emit(f, row->op, args, row->arity, NULL);
    if (y) {
        fill(&o, row->arity);
        o.result = (Dtype)ir_type(f, y)->dtype;
        ir_add_result(f, "y", y);
        Array in[3], out = column(o.result, o.count, got, sizeof *got);
        for (int k = 0; k < row->arity; k++)
            in[k] = column(o.dtype[k], o.count, o.cell[k], sizeof(Cell));
        Domain domain = {.set_size = (int64_t[]){1, o.count}};
        assert_int_equal(interp_run(f, &domain, in, &out), ST_OK);
        /* The builder sorts commuting operands: hand the reference the same ones. */
        if (ir_arg(f, y, 0) != args[0] && op_info[row->op].traits & COMM)
            for (int64_t i = 0; i < o.count; i++) {
                Cell a = o.cell[0][i];
                o.cell[0][i] = o.cell[1][i];
                o.cell[1][i] = a;
            }
        check(row, &o, got);
    }
    ir_free(f);
    return y != 0;
}

static void test_rows(void **state) {
    (void)state;
    for (int r = 0; r < NUM_ROWS; r++) {
        int defined = 0;
        for (int t = 0; t < NUM_DTYPES; t++) defined += run_row(&rows[r], (Dtype)t);
        assert_true(defined > 0);
    }
}

/* Sums and products of many operands fold from the left, in the builder's order. */
static void test_many_operands(void **state) {
    (void)state;
    static const float points[] = {1e8f, 1, -1e8f, 0.5f};
    static const char *const names[] = {"a", "b", "c", "d"};
    for (Op op = OP_add; op <= OP_mul; op++) {
        Fn *f = ir_new(arena_new(), "many");
        Val args[4];
        Array in[4];
        for (int k = 0; k < 4; k++) {
            args[k] = ir_input(f, names[k], type_scalar(DT_f32, SET_ALL));
            in[k] = (Array){.data = (void *)&points[k], .dtype = DT_f32};
        }
        Val y = ir_emit(f, op, args, 4, NULL);
        ir_add_result(f, "y", y);
        float got, want = 0;
        Array out = {.data = &got, .dtype = DT_f32};
        assert_int_equal(interp_run(f, &(Domain){.set_size = (int64_t[]){1}}, in, &out), ST_OK);
        for (uint32_t k = 0; k < 4; k++) {
            float x = points[ir_arg(f, y, k) - args[0]];
            want = k == 0 ? x : op == OP_add ? want + x : want * x;
        }
        assert_true(got == want);
        ir_free(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_many_operands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
