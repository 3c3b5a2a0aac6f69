/* The primitives: one LLVM instruction or a few each, chosen by the operands' type. No flag that would
 * let LLVM change a bit is set. */
#include "codegen/prim_llvm.h"

static LLVMTypeRef element_type(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

static unsigned lanes_of(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
}

static bool is_float_type(LLVMTypeRef type) {
    LLVMTypeKind kind = LLVMGetTypeKind(element_type(type));
    return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
}

bool prim_is_float(LLVMValueRef a) { return is_float_type(LLVMTypeOf(a)); }

static bool is_mask(Emit *e, LLVMValueRef a) { return element_type(LLVMTypeOf(a)) == e->i1; }

void prim_set_type(Emit *e, LLVMTypeRef type) {
    e->vt = type;
    e->vi = emit_vector(element_type(type) == e->f32 ? e->i32 : e->i64, lanes_of(type));
}

/* What fast_math allows: products and sums may become fma. */
static LLVMValueRef relaxed(Emit *e, LLVMValueRef value) {
    if (e->request->fast_math && LLVMIsAInstruction(value) && LLVMCanValueUseFastMathFlags(value))
        LLVMSetFastMathFlags(value, LLVMFastMathAllowContract);
    return value;
}

LLVMValueRef prim_add(Emit *e, LLVMValueRef a, LLVMValueRef b) {
    if (!prim_is_float(a)) return LLVMBuildAdd(e->builder, a, b, "");
    return relaxed(e, LLVMBuildFAdd(e->builder, a, b, ""));
}

LLVMValueRef prim_sub(Emit *e, LLVMValueRef a, LLVMValueRef b) {
    if (!prim_is_float(a)) return LLVMBuildSub(e->builder, a, b, "");
    return relaxed(e, LLVMBuildFSub(e->builder, a, b, ""));
}

LLVMValueRef prim_mul(Emit *e, LLVMValueRef a, LLVMValueRef b) {
    if (!prim_is_float(a)) return LLVMBuildMul(e->builder, a, b, "");
    return relaxed(e, LLVMBuildFMul(e->builder, a, b, ""));
}

LLVMValueRef prim_neg(Emit *e, LLVMValueRef a) {
    return prim_is_float(a) ? LLVMBuildFNeg(e->builder, a, "") : LLVMBuildNeg(e->builder, a, "");
}

LLVMValueRef prim_fma(Emit *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    LLVMTypeRef type = LLVMTypeOf(a);
    return emit_call(e, "llvm.fma", &type, 1, (LLVMValueRef[]){a, b, c}, 3);
}

LLVMValueRef prim_unary(Emit *e, const char *intrinsic, LLVMValueRef a) {
    LLVMTypeRef type = LLVMTypeOf(a);
    return emit_call(e, intrinsic, &type, 1, &a, 1);
}

LLVMValueRef prim_abs(Emit *e, LLVMValueRef a) {
    if (prim_is_float(a)) return prim_unary(e, "llvm.fabs", a);
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a));
    return SEL(LT(a, zero), NEG(a), a);
}

/* ---- integer division that never traps ---- */

static LLVMValueRef int_const(LLVMValueRef like, uint64_t value) {
    LLVMTypeRef type = LLVMTypeOf(like);
    LLVMValueRef all[64], scalar = LLVMConstInt(element_type(type), value, true);
    unsigned lanes = lanes_of(type);
    if (lanes == 1) return scalar;
    for (unsigned l = 0; l < lanes; l++) all[l] = scalar;
    return LLVMConstVector(all, lanes);
}

typedef struct {
    LLVMValueRef quotient, rest; /* toward minus infinity; of a divisor 0 both 0 */
} Divided;

/* Divisors 0 and -1 are replaced by 1, which leaves no remainder: a / -1 is -a, wrapping. */
static Divided divide(Emit *e, LLVMValueRef a, LLVMValueRef b) {
    LLVMValueRef zero = int_const(a, 0), one = int_const(a, 1), minus = int_const(a, UINT64_MAX);
    LLVMValueRef is_zero = EQ(b, zero), is_minus = EQ(b, minus);
    LLVMValueRef safe = SEL(OR(is_zero, is_minus), one, b);
    LLVMValueRef q = LLVMBuildSDiv(e->builder, a, safe, "");
    LLVMValueRef r = SUB(a, MUL(q, safe));
    LLVMValueRef below = AND(NE(r, zero), LT(XOR(r, b), zero));
    q = SEL(below, SUB(q, one), q);
    r = SEL(below, ADD(r, b), r);
    q = SEL(is_zero, zero, SEL(is_minus, NEG(a), q));
    return (Divided){q, r};
}

/* ---- comparison ---- */

static LLVMValueRef compare(Emit *e, LLVMRealPredicate real, LLVMIntPredicate sign,
                            LLVMIntPredicate plain, LLVMValueRef a, LLVMValueRef b) {
    if (prim_is_float(a)) return LLVMBuildFCmp(e->builder, real, a, b, "");
    return LLVMBuildICmp(e->builder, is_mask(e, a) ? plain : sign, a, b, "");
}

LLVMValueRef prim_lt(Emit *e, LLVMValueRef a, LLVMValueRef b) {
    return compare(e, LLVMRealOLT, LLVMIntSLT, LLVMIntULT, a, b);
}

LLVMValueRef prim_le(Emit *e, LLVMValueRef a, LLVMValueRef b) {
    return compare(e, LLVMRealOLE, LLVMIntSLE, LLVMIntULE, a, b);
}

LLVMValueRef prim_eq(Emit *e, LLVMValueRef a, LLVMValueRef b) {
    return compare(e, LLVMRealOEQ, LLVMIntEQ, LLVMIntEQ, a, b);
}

LLVMValueRef prim_ne(Emit *e, LLVMValueRef a, LLVMValueRef b) {
    return compare(e, LLVMRealUNE, LLVMIntNE, LLVMIntNE, a, b);
}

LLVMValueRef prim_nan(Emit *e, LLVMValueRef a) {
    if (prim_is_float(a)) return LLVMBuildFCmp(e->builder, LLVMRealUNO, a, a, "");
    return LLVMConstNull(emit_vector(e->i1, lanes_of(LLVMTypeOf(a))));
}

LLVMValueRef prim_max(Emit *e, LLVMValueRef a, LLVMValueRef b) {
    return SEL(OR(LT(b, a), NAN(a)), a, b);
}

/* ---- constants ---- */

LLVMValueRef prim_number(Emit *e, double value) {
    LLVMTypeRef element = element_type(e->vt);
    LLVMValueRef scalar = is_float_type(element)
                              ? LLVMConstReal(element, value)
                              : LLVMConstInt(element, (uint64_t)(int64_t)value, true);
    return emit_splat(e, scalar, lanes_of(e->vt));
}

LLVMValueRef prim_integer(Emit *e, int64_t value) {
    LLVMValueRef scalar = LLVMConstInt(element_type(e->vi), (uint64_t)value, true);
    return emit_splat(e, scalar, lanes_of(e->vi));
}

/* ---- functions ---- */

#define CTX_PARAM Emit *e,
#define CTX_ARG e,
#define MDEF static
#define VMATH_BITS 32
#define FN(name) name##_32
#include "ir/vmath.inc"
#undef VMATH_BITS
#undef FN
#define VMATH_BITS 64
#define FN(name) name##_64
#include "ir/vmath.inc"

static bool is_single(Emit *e, LLVMValueRef a) { return element_type(LLVMTypeOf(a)) == e->f32; }

#define UNARY(name)                                                                                \
    LLVMValueRef prim_##name(Emit *e, LLVMValueRef a) {                                            \
        prim_set_type(e, LLVMTypeOf(a));                                                           \
        return is_single(e, a) ? name##_32(e, a) : name##_64(e, a);                                \
    }
UNARY(exp)
UNARY(expm1)
UNARY(log)
UNARY(log1p)
UNARY(sin)
UNARY(cos)
UNARY(tanh)
UNARY(erf)
UNARY(order)

LLVMValueRef prim_from_half(Emit *e, LLVMValueRef bits, Dtype d) {
    LLVMTypeRef single = emit_vector(e->f32, lanes_of(LLVMTypeOf(bits)));
    prim_set_type(e, single);
    if (d == DT_f16 && e->target->has_f16) {
        LLVMTypeRef half = emit_vector(LLVMHalfTypeInContext(e->context), lanes_of(single));
        return LLVMBuildFPExt(e->builder, LLVMBuildBitCast(e->builder, bits, half, ""), single, "");
    }
    bits = LLVMBuildZExt(e->builder, bits, e->vi, "");
    return d == DT_f16 ? from_f16_32(e, bits) : from_bf16_32(e, bits);
}

LLVMValueRef prim_to_half(Emit *e, LLVMValueRef a, Dtype d) {
    LLVMTypeRef bits = emit_vec(e, d, lanes_of(LLVMTypeOf(a)));
    prim_set_type(e, LLVMTypeOf(a));
    if (d == DT_f16 && e->target->has_f16) {
        LLVMTypeRef half = emit_vector(LLVMHalfTypeInContext(e->context), lanes_of(bits));
        return LLVMBuildBitCast(e->builder, LLVMBuildFPTrunc(e->builder, a, half, ""), bits, "");
    }
    a = d == DT_f16 ? to_f16_32(e, a) : to_bf16_32(e, a);
    return LLVMBuildTrunc(e->builder, a, bits, "");
}

LLVMValueRef prim_sticky(Emit *e, LLVMValueRef a) {
    LLVMTypeRef wide = LLVMTypeOf(a);
    prim_set_type(e, emit_vector(e->f32, lanes_of(wide)));
    LLVMValueRef single = LLVMBuildFPTrunc(e->builder, a, e->vt, "");
    LLVMValueRef back = ABS(LLVMBuildFPExt(e->builder, single, wide, ""));
    LLVMValueRef above = LLVMBuildZExt(e->builder, LT(ABS(a), back), e->vi, "");
    LLVMValueRef below = LLVMBuildZExt(e->builder, LT(back, ABS(a)), e->vi, "");
    return AS_FLT(IOR(ISUB(AS_INT(single), above), IOR(above, below)));
}

LLVMValueRef prim_pow(Emit *e, LLVMValueRef a, LLVMValueRef b) {
    prim_set_type(e, LLVMTypeOf(a));
    return is_single(e, a) ? pow_32(e, a, b) : pow_64(e, a, b);
}

LLVMValueRef prim_floordiv(Emit *e, LLVMValueRef a, LLVMValueRef b) {
    if (!prim_is_float(a)) return divide(e, a, b).quotient;
    prim_set_type(e, LLVMTypeOf(a));
    return is_single(e, a) ? floordiv_32(e, a, b) : floordiv_64(e, a, b);
}

LLVMValueRef prim_mod(Emit *e, LLVMValueRef a, LLVMValueRef b) {
    if (!prim_is_float(a)) return divide(e, a, b).rest;
    prim_set_type(e, LLVMTypeOf(a));
    return is_single(e, a) ? mod_32(e, a, b) : mod_64(e, a, b);
}
