/* Every elementwise row of op.def that has a float result: its first and second derivatives against
 * central differences in float64, on the row's test domain; and powers where a rule without guards
 * would give NaN. */
#include "base/hash.h"
#include "interp/interp.h"
#include "ir/type.h"
#include "opt/vjp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 40, MAX_NAMES = 24 };

typedef enum { DOMAIN_any, DOMAIN_pos, DOMAIN_nz } Values;

static const struct {
    Op op;
    Values values;
} rows[] = {
#define ELEM(op, arity, signature, traits, value, cot0, cot1, cot2, domain, ulp)                   \
    {OP_##op, DOMAIN_##domain},
#include "ir/op.def"
};
enum { NUM_ROWS = sizeof rows / sizeof *rows };

/* ---- values by name ---- */

/* nz keeps away from multiples of 1/2, where steps jump. */
static double value_of(const char *name, Values values, int64_t i) {
    uint64_t h = hash_u64((uint64_t)i, hash_str(name, 7));
    double u = (double)(h >> 11) * 0x1p-53;
    if (strlen(name) > 1 || values == DOMAIN_any)
        return u * 4 - 2; /* a cotangent may be anything */
    if (values == DOMAIN_pos) return 0.3 + u * 2;
    return (double)(h % 8) / 2 - 2 + 0.15 + 0.2 * u;
}

typedef struct {
    double number[MAX_NAMES][N];
    bool truth[N];
} Data;

static void fill(const Fn *f, Values values, Data *d) {
    for (uint32_t k = 0; k < f->inputs.len; k++)
        for (int64_t i = 0; i < N; i++)
            d->number[k][i] = value_of(f->inputs.data[k].name, values, i);
    for (int64_t i = 0; i < N; i++) d->truth[i] = hash_u64((uint64_t)i, 5) & 1;
}

static void run(const Fn *f, const Data *d, double (*out)[N]) {
    Array in[MAX_NAMES], results[MAX_NAMES];
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        Dtype t = (Dtype)ir_type(f, f->inputs.data[k].val)->dtype;
        const void *data = t == DT_bool ? (const void *)d->truth : d->number[k];
        in[k] = (Array){(void *)(uintptr_t)data, (uint8_t)t, 1, {N}, {dtype_size(t)}};
    }
    for (uint32_t k = 0; k < f->results.len; k++) results[k] = (Array){out[k], DT_f64, 1, {N}, {8}};
    assert_int_equal(interp_run(f, &(Domain){.set_size = (int64_t[]){1, N}}, in, results), ST_OK);
}

/* ---- one order ---- */

static uint32_t index_of(const Fn *f, const char *name, bool result) {
    uint32_t n = result ? f->results.len : f->inputs.len;
    for (uint32_t k = 0; k < n; k++)
        if (!strcmp(result ? f->results.data[k].name : f->inputs.data[k].name, name)) return k;
    fail_msg("no value named '%s'", name);
    return 0;
}

typedef struct {
    const char *names[MAX_NAMES];
    uint32_t num;
} Names;

/* Sums cotangent times result over outs, for each element at input + step. */
static void weighted(const Fn *f, Data *d, uint32_t input, double step, const Names *outs,
                     const double (*cot)[N], double *sum) {
    double keep[N], out[MAX_NAMES][N];
    memcpy(keep, d->number[input], sizeof keep);
    for (int i = 0; i < N; i++) d->number[input][i] += step;
    run(f, d, out);
    memcpy(d->number[input], keep, sizeof keep);
    memset(sum, 0, sizeof keep);
    for (uint32_t k = 0; k < outs->num; k++)
        for (int i = 0; i < N; i++) sum[i] += cot[k][i] * out[index_of(f, outs->names[k], true)][i];
}

/* d outs / d wrt of f against differences; gives the program with gradients, wrt grows by the
 * cotangents, *outs are the gradients then. */
static Fn *check_order(const Fn *f, const char *what, Values values, Names *outs, Names *wrt) {
    Fn *joint;
    const char *names[MAX_NAMES];
    Data d, joint_data;
    double cot[MAX_NAMES][N], got[MAX_NAMES][N], sum[4][N];
    if (vjp_run(arena_new(), f, outs->names, outs->num, wrt->names, wrt->num, names, &joint))
        fail_msg("%s: %s", what, err_message());
    fill(f, values, &d);
    fill(joint, values, &joint_data);
    for (uint32_t k = 0; k < outs->num; k++)
        memcpy(cot[k], joint_data.number[index_of(joint, names[k], false)], sizeof cot[k]);
    run(joint, &joint_data, got);
    const double h = 2e-4;
    for (uint32_t k = 0; k < wrt->num; k++) {
        for (int s = 0; s < 4; s++)
            weighted(f, &d, index_of(f, wrt->names[k], false),
                     h * (const double[]){1, -1, 2, -2}[s], outs, cot, sum[s]);
        const double *grad = got[index_of(joint, names[outs->num + k], true)];
        for (int i = 0; i < N; i++) {
            double want = (8 * (sum[0][i] - sum[1][i]) - (sum[2][i] - sum[3][i])) / (12 * h);
            if (!(fabs(grad[i] - want) <= 1e-8 * (1 + fabs(want) + fabs(sum[0][i]))))
                fail_msg("%s by %s[%d] = %g: %.17g, differences say %.17g", what, wrt->names[k], i,
                         d.number[index_of(f, wrt->names[k], false)][i], grad[i], want);
        }
    }
    uint32_t num_wrt = wrt->num;
    for (uint32_t k = 0; k < outs->num; k++) wrt->names[wrt->num++] = names[k];
    for (uint32_t k = 0; k < num_wrt; k++) outs->names[k] = names[outs->num + k];
    outs->num = num_wrt;
    return joint;
}

static Fn *program_of(Op op, Names *wrt) {
    static const char *const names[] = {"a", "b", "c"};
    Fn *f = ir_new(arena_new(), "op");
    Set s = ir_set(f, "V");
    Val args[3];
    for (uint32_t k = 0; k < (uint32_t)op_info[op].arity; k++) {
        bool condition = op_info[op].signature == S_sel && k == 0;
        args[k] = ir_input(f, names[k], type_scalar(condition ? DT_bool : DT_f64, s));
        if (!condition) wrt->names[wrt->num++] = names[k];
    }
    ir_add_result(f, "y", ir_emit(f, op, args, (uint32_t)op_info[op].arity, NULL));
    return f;
}

static void rows_match_differences(void **state) {
    (void)state;
    for (int r = 0; r < NUM_ROWS; r++) {
        Signature sig = (Signature)op_info[rows[r].op].signature;
        if (sig != S_num && sig != S_flt && sig != S_sel) continue;
        Names wrt = {0}, outs = {{"y"}, 1};
        Fn *f = program_of(rows[r].op, &wrt);
        const char *what = op_info[rows[r].op].name;
        Fn *first = check_order(f, what, rows[r].values, &outs, &wrt);
        Fn *second = check_order(first, what, rows[r].values, &outs, &wrt);
        ir_free(second), ir_free(first), ir_free(f);
    }
}

/* ---- powers at the edge ---- */

static double result_at(const Fn *f, const char *name, double x, double y) {
    double in[] = {x, y, 1, 1, 1, 1}, out[MAX_NAMES];
    Array args[6], results[MAX_NAMES];
    for (uint32_t k = 0; k < f->inputs.len; k++) args[k] = (Array){.data = &in[k], .dtype = DT_f64};
    for (uint32_t k = 0; k < f->results.len; k++)
        results[k] = (Array){.data = &out[k], .dtype = DT_f64};
    assert_int_equal(interp_run(f, &(Domain){.set_size = (int64_t[]){1}}, args, results), ST_OK);
    return out[index_of(f, name, true)];
}

static void powers_leak_no_nan(void **state) {
    (void)state;
    static const struct {
        double x, y, dx, dy, dxx;
    } cases[] = {{0, 0, 0, 0, 0},     {0, 1, 1, 0, 0},
                 {0, 2, 0, 0, 2},     {0, 3, 0, 0, 0},
                 {-2, 0, 0, 0, 0},    {-2, 1, 1, 0, 0},
                 {-2, 3, 12, 0, -12}, {-2, 2, -4, 0, 2},
                 {-1, -1, -1, 0, -2}, {3, 0, 0, 1.0986122886681098, 0}};
    Fn *f = ir_new(arena_new(), "pow"), *g, *h;
    Val x = ir_input(f, "x", type_scalar(DT_f64, SET_ALL)),
        y = ir_input(f, "y", type_scalar(DT_f64, SET_ALL));
    ir_add_result(f, "z", ir_pow(f, x, y));
    const char *z = "z", *both[] = {"x", "y"}, *slope = "grad.x";
    assert_int_equal(vjp_run(arena_new(), f, &z, 1, both, 2, NULL, &g), ST_OK);
    assert_int_equal(vjp_run(arena_new(), g, &slope, 1, both, 1, NULL, &h), ST_OK);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        assert_true(result_at(g, "grad.x", cases[k].x, cases[k].y) == cases[k].dx);
        assert_true(fabs(result_at(g, "grad.y", cases[k].x, cases[k].y) - cases[k].dy) < 1e-15);
        assert_true(result_at(h, "grad2.x", cases[k].x, cases[k].y) == cases[k].dxx);
    }
    ir_free(h), ir_free(g), ir_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_match_differences),
                                       cmocka_unit_test(powers_leak_no_nan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
