/* Folded constants and cleaned identities against the interpreter, bit for bit (of NaN, that it is one):
 * every elementwise operation of every dtype on special values, as constants and as inputs that meet
 * constants, casts and casts of casts, and the rules about features. */
#include "interp/interp.h"
#include "ir/element.h"
#include "ir/type.h"
#include "ir/verify.h"
#include "opt/opt.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 18, NUM_COMPUTED = DT_f16 /* halves are stored and cast alone */ };

static const double floats[] = {0,   -0.0,  1,     -1,    0.5, 3,    -7.25,  INFINITY, -INFINITY,
                                NAN, 1e300, -1e39, 3e-41, 3e9, -3e9, 1e-310, 0x1p53,   16777217};
static const int64_t ints[] = {0,          1,
                               -1,         2,
                               3,          -7,
                               INT32_MAX,  INT32_MIN,
                               INT64_MAX,  INT64_MIN,
                               1000000007, ((int64_t)1 << 60) + ((int64_t)1 << 36) + 1,
                               16777217,   ((int64_t)1 << 53) + 1};

static int num_special(Dtype d) {
    return d == DT_bool ? 2 : dtype_is_float(d) ? MOST : (int)(sizeof ints / sizeof *ints);
}

/* Special value k as the bits of an element. */
static uint64_t special_bits(Dtype d, int k) {
    if (d == DT_f32) {
        float x = (float)floats[k];
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        return bits;
    }
    uint64_t bits;
    if (d == DT_f64) memcpy(&bits, &floats[k], sizeof bits);
    else bits = (uint64_t)ints[k];
    return d == DT_i32 ? bits & UINT32_MAX : bits;
}

static Val special(Fn *f, Type t, int k) {
    return ir_emit(f, OP_constant, NULL, 0,
                   &(Attr){.bits = special_bits((Dtype)t.dtype, k), .type = t});
}

/* An input that holds all special values of its dtype. */
static Val specials(Fn *f, Dtype d) {
    int64_t n = num_special(d);
    return ir_input(f, dtype_name(d), type_of(d, SET_ALL, 1, &n));
}

static void add(Fn *f, Val v) {
    if (v) ir_add_result(f, arena_printf(f->arena, "%u", f->results.len), v);
}

/* Emits where the types allow it. */
static Val try_op(Fn *f, Op op, const Val *args, uint32_t n) {
    Type types[MAX_RESULTS];
    uint32_t num;
    for (uint32_t k = 0; k < n; k++)
        if (!args[k]) return 0;
    if (type_infer(f, op, args, n, &(Attr){0}, types, &num)) return 0;
    return ir_emit(f, op, args, n, NULL);
}

/* ---- running ---- */

static Array array_of(Arena *a, const Type *t) {
    Array x = {.dtype = t->dtype, .rank = t->rank};
    int64_t bytes = dtype_size((Dtype)t->dtype);
    for (int k = t->rank - 1; k >= 0; k--) {
        x.dim[k] = t->dim[k];
        x.stride[k] = bytes;
        bytes *= t->dim[k];
    }
    x.data = arena_alloc(a, (size_t)bytes);
    return x;
}

static void fill(const Array *x) {
    int size = dtype_size((Dtype)x->dtype);
    for (int64_t i = 0; x->rank && i < x->dim[0]; i++) {
        uint64_t bits = special_bits((Dtype)x->dtype, (int)i % num_special((Dtype)x->dtype));
        memcpy((char *)x->data + i * size, &bits, (size_t)size);
    }
}

static Array *run(Arena *a, const Fn *f) {
    Array *in = ARENA_ARRAY(a, Array, f->inputs.len), *out = ARENA_ARRAY(a, Array, f->results.len);
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        in[k] = array_of(a, ir_type(f, f->inputs.data[k].val));
        fill(&in[k]);
    }
    for (uint32_t k = 0; k < f->results.len; k++)
        out[k] = array_of(a, ir_type(f, f->results.data[k].val));
    const int64_t one = 1;
    if (interp_run(f, &(Domain){&one, NULL}, in, out)) fail_msg("%s", err_message());
    return out;
}

static bool same_element(Dtype d, const char *p, const char *q) {
    if (!memcmp(p, q, (size_t)dtype_size(d))) return true;
    return dtype_is_float(d) && isnan(element_get_float(d, p)) && isnan(element_get_float(d, q));
}

static void same_results(const char *what, const Fn *f, const Array *x, const Array *y) {
    for (uint32_t k = 0; k < f->results.len; k++) {
        const Node *n = ir_node(f, f->results.data[k].val);
        Dtype d = (Dtype)n->types[0].dtype;
        int64_t size = dtype_size(d), count = type_numel(&n->types[0]);
        for (int64_t i = 0; i < count; i++)
            if (!same_element(d, (char *)x[k].data + i * size, (char *)y[k].data + i * size))
                fail_msg("%s: result %u (%s, %s), element %d", what, k, op_info[n->op].name,
                         dtype_name(d), (int)i);
    }
}

/* Cleans f, which ends here. */
static void check(const char *what, Fn *f) {
    assert_int_equal(f->status, ST_OK);
    Fn *g = opt_clean(arena_new(), f);
    Text report = {.arena = g->arena};
    if (ir_verify(g, &report)) fail_msg("%s: %s", what, report.text);
    assert_int_equal(f->results.len, g->results.len);
    Array *x = run(f->arena, f), *y = run(f->arena, g);
    same_results(what, f, x, y);
    ir_free(f);
    ir_free(g);
}

/* ---- elementwise ---- */

static void each_op(void (*build)(Fn *f, Op op, Dtype d)) {
    for (int op = 1; op < NUM_OPS; op++)
        for (int d = 0; d < NUM_COMPUTED && op_info[op].class == CLASS_elem; d++) {
            Fn *f = ir_new(arena_new(), "f");
            build(f, (Op)op, (Dtype)d);
            check(op_info[op].name, f);
        }
}

static Val scalar(Fn *f, Dtype d, int k) { return special(f, type_scalar(d, SET_ALL), k); }

static void build_constants(Fn *f, Op op, Dtype d) {
    int n = num_special(d);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < (op_info[op].arity == 1 ? 1 : n); k++) {
            Val a = scalar(f, d, i), b = scalar(f, d, k), mask = scalar(f, DT_bool, k % 2);
            Val args[] = {a, b, b}, select[] = {mask, a, b};
            uint32_t arity = (uint32_t)op_info[op].arity;
            add(f, try_op(f, op, op_info[op].signature == S_sel ? select : args, arity));
        }
}

static void constants_fold(void **state) {
    (void)state;
    each_op(build_constants);
}

/* x with each constant on either side, with itself, and the operation of the operation. */
static void build_with_inputs(Fn *f, Op op, Dtype d) {
    Val x = specials(f, d), same[] = {x, x, x};
    const Type t = *ir_type(f, x);
    Val mask = try_op(f, OP_eq, (Val[]){x, special(f, t, 1)}, 2);
    for (int k = 0; k < num_special(d); k++) {
        Val c = special(f, t, k), args[][3] = {{x, c, c}, {c, x, x}, {mask, x, c}, {mask, c, x}};
        for (int i = 0; i < 4; i++) add(f, try_op(f, op, args[i], (uint32_t)op_info[op].arity));
    }
    Val once = try_op(f, op, same, (uint32_t)op_info[op].arity);
    add(f, once);
    add(f, try_op(f, op, (Val[]){once, once, once}, (uint32_t)op_info[op].arity));
    add(f, try_op(f, op, (Val[]){mask, x, x}, (uint32_t)op_info[op].arity));
    Val never = mask ? ir_not(f, mask) : 0, c = special(f, t, 0);
    add(f, try_op(f, op, (Val[]){never, x, c}, (uint32_t)op_info[op].arity));
}

static void identities_hold(void **state) {
    (void)state;
    each_op(build_with_inputs);
}

/* Neutral operands leave longer sums and products one by one. */
static void neutral_operands(void **state) {
    (void)state;
    for (int d = DT_i32; d < NUM_COMPUTED; d++) {
        Fn *f = ir_new(arena_new(), "f");
        Val x = specials(f, (Dtype)d);
        const Type t = *ir_type(f, x);
        for (int i = 0; i < num_special((Dtype)d); i++)
            for (int k = 0; k < num_special((Dtype)d); k++) {
                Val args[] = {x, special(f, t, i), special(f, t, k), x};
                add(f, ir_emit(f, OP_add, args, 4, NULL));
                add(f, ir_emit(f, OP_mul, args, 4, NULL));
                add(f, ir_emit(f, OP_add, args + 1, 2, NULL));
            }
        check("sums and products", f);
    }
}

/* ---- casts ---- */

static void casts(void **state) {
    (void)state;
    for (int from = 0; from < NUM_COMPUTED; from++) {
        Fn *f = ir_new(arena_new(), "f");
        Val x = specials(f, (Dtype)from);
        for (int to = 0; to < NUM_DTYPES; to++) {
            for (int k = 0; k < num_special((Dtype)from); k++)
                add(f, ir_cast(f, scalar(f, (Dtype)from, k), (Dtype)to));
            for (int next = 0; next < NUM_DTYPES; next++)
                add(f, ir_cast(f, ir_cast(f, x, (Dtype)to), (Dtype)next));
        }
        check("casts", f);
    }
}

/* ---- features ---- */

static Val cube(Fn *f) {
    Val x = specials(f, DT_f64); /* 18 elements */
    return ir_reshape(f, x, (int64_t[]){3, 3, 2}, 3);
}

static void transposes(void **state) {
    (void)state;
    static const int64_t axes[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                      {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    Fn *f = ir_new(arena_new(), "f");
    Val x = cube(f);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) add(f, ir_transpose(f, ir_transpose(f, x, axes[i]), axes[k]));
    check("transposes", f);
}

/* Operations on constants that are one value throughout stay or become such a constant; pad does not. */
static void splats(void **state) {
    (void)state;
    static const int64_t shape[] = {3, 2}, wide[] = {4, 3, 2}, flat[] = {6}, swap[] = {1, 0};
    static const int64_t window[] = {1, 2, 1, 0, 1, 1}, frame[] = {1, 0, 1, 0, 2, 0};
    for (int d = 0; d < NUM_COMPUTED; d++) {
        Fn *f = ir_new(arena_new(), "f");
        for (int k = 0; k < num_special((Dtype)d); k++) {
            Val c = special(f, type_of((Dtype)d, SET_ALL, 2, shape), k);
            add(f, ir_bcast(f, c, wide, 3));
            add(f, ir_reshape(f, c, flat, 1));
            add(f, ir_transpose(f, c, swap));
            add(f, ir_slice(f, c, window));
            add(f, ir_pad(f, c, frame));
            add(f, ir_concat(f, &c, 1, 0));
            if (d == DT_bool) continue;
            add(f, ir_fsum(f, c, 1));
            add(f, ir_fsum(f, c, 3));
            add(f, ir_fmax(f, c, 2));
            add(f, ir_cumsum(f, c, 0, true));
        }
        check("constants of one value", f);
    }
}

/* enter and leave cancel for one set, and only for one. */
static void views_of_sets(void **state) {
    (void)state;
    Fn *f = ir_new(arena_new(), "f");
    Set v = ir_set(f, "V"), w = ir_set(f, "W");
    Val x = ir_input(f, "x", type_scalar(DT_f32, v));
    Val dense = ir_input(f, "y", type_of(DT_f32, SET_ALL, 1, (int64_t[]){dim_of(w)}));
    add(f, ir_enter(f, ir_leave(f, x), v));
    add(f, ir_leave(f, ir_enter(f, dense, w)));
    Fn *g = opt_clean(arena_new(), f);
    assert_int_equal(ir_op(g, g->results.data[0].val), OP_input);
    assert_int_equal(ir_op(g, g->results.data[1].val), OP_input);
    ir_free(f);
    ir_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_fold),   cmocka_unit_test(identities_hold),
        cmocka_unit_test(neutral_operands), cmocka_unit_test(casts),
        cmocka_unit_test(transposes),       cmocka_unit_test(splats),
        cmocka_unit_test(views_of_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
