/* Constant folding of what IEEE and wrapping integers decide: + - * / neg, comparisons, logic, casts.
 * Floats are computed in double: of two floats that is exact enough for one rounding to float to be
 * right (53 >= 2 * 24 + 2 bits). NaNs are left to run time, whose sign bit is the machine's. */
#include "opt/fold.h"

#include "ir/element.h"
#include "ir/type.h"

#include <math.h>

static double float_of(const Fn *f, Val v) {
    return element_get_float((Dtype)ir_type(f, v)->dtype, (const char *)&ir_node(f, v)->attr.bits);
}

static int64_t int_of(const Fn *f, Val v) {
    return element_get_int((Dtype)ir_type(f, v)->dtype, (const char *)&ir_node(f, v)->attr.bits);
}

static Val fold_float(Fn *f, Op op, double a, double b, const Type *t) {
    double y = op == OP_add   ? a + b
               : op == OP_sub ? a - b
               : op == OP_mul ? a * b
               : op == OP_div ? a / b
               : op == OP_neg ? -a
                              : NAN;
    return isnan(y) ? 0 : ir_const(f, *t, y);
}

static Val fold_int(Fn *f, Op op, int64_t a, int64_t b, const Type *t) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch ((int)op) {
    case OP_add: return ir_const_int(f, *t, (int64_t)(x + y));
    case OP_sub: return ir_const_int(f, *t, (int64_t)(x - y));
    case OP_mul: return ir_const_int(f, *t, (int64_t)(x * y));
    case OP_neg: return ir_const_int(f, *t, (int64_t)(0 - x));
    case OP_and: return ir_const_int(f, *t, (int64_t)(x & y));
    case OP_or: return ir_const_int(f, *t, (int64_t)(x | y));
    case OP_xor: return ir_const_int(f, *t, (int64_t)(x ^ y));
    case OP_not: return ir_const_int(f, *t, t->dtype == DT_bool ? !a : ~a);
    }
    return 0;
}

/* less and equal of the operands decide all comparisons; both false where a NaN takes part. */
static Val fold_compare(Fn *f, Op op, bool less, bool equal, const Type *t) {
    switch ((int)op) {
    case OP_lt: return ir_const_int(f, *t, less);
    case OP_le: return ir_const_int(f, *t, less || equal);
    case OP_eq: return ir_const_int(f, *t, equal);
    case OP_ne: return ir_const_int(f, *t, !equal);
    }
    return 0;
}

Val fold_elem(Fn *f, Op op, const Val *args, const Type *t) {
    uint32_t n = (uint32_t)op_info[op].arity;
    for (uint32_t k = 0; k < n; k++)
        if (ir_op(f, args[k]) != OP_constant) return 0;
    if (n > 2) return 0;
    Val a = args[0], b = args[n - 1];
    bool is_float = dtype_is_float((Dtype)ir_type(f, a)->dtype);
    if (is_float) {
        double x = float_of(f, a), y = float_of(f, b);
        if (op_info[op].signature == S_cmp) return fold_compare(f, op, x < y, x == y, t);
        return dtype_is_float((Dtype)t->dtype) ? fold_float(f, op, x, y, t) : 0;
    }
    int64_t x = int_of(f, a), y = int_of(f, b);
    if (op_info[op].signature == S_cmp) return fold_compare(f, op, x < y, x == y, t);
    return fold_int(f, op, x, y, t);
}

static Val cast_from_float(Fn *f, double x, const Type *t) {
    if (isnan(x)) return 0;
    if (dtype_is_float((Dtype)t->dtype)) return ir_const(f, *t, x);
    if (t->dtype == DT_bool) return ir_const_int(f, *t, x != 0);
    return fabs(x) < 0x1p31 ? ir_const_int(f, *t, (int64_t)x) : 0;
}

Val fold_cast(Fn *f, Val v, const Type *t) {
    if (dtype_is_half((Dtype)t->dtype)) return 0;
    if (dtype_is_float((Dtype)ir_type(f, v)->dtype)) return cast_from_float(f, float_of(f, v), t);
    int64_t x = int_of(f, v);
    if (t->dtype == DT_f32) return ir_const(f, *t, (double)(float)x);
    if (t->dtype == DT_bool) return ir_const_int(f, *t, x != 0);
    return ir_const_int(f, *t, x);
}

Val fold_splat(Fn *f, Val v, const Type *t) {
    return ir_emit(f, OP_constant, NULL, 0, &(Attr){.bits = ir_node(f, v)->attr.bits, .type = *t});
}
