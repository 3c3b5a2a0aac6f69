/* The primitives of ir/prim.h as LLVM: needs an "Emit *e" in scope. Operands are scalars or vectors;
 * the words look at their types, so that one definition serves every dtype and width. */
#ifndef TIGA_CODEGEN_PRIM_LLVM_H
#define TIGA_CODEGEN_PRIM_LLVM_H

#include "codegen/emit.h"
#include "ir/prim.h"

LLVMValueRef prim_add(Emit *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef prim_sub(Emit *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef prim_mul(Emit *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef prim_neg(Emit *e, LLVMValueRef a);
LLVMValueRef prim_fma(Emit *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
LLVMValueRef prim_unary(Emit *e, const char *intrinsic, LLVMValueRef a);
LLVMValueRef prim_abs(Emit *e, LLVMValueRef a);
LLVMValueRef prim_floordiv(Emit *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef prim_mod(Emit *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef prim_lt(Emit *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef prim_le(Emit *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef prim_eq(Emit *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef prim_ne(Emit *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef prim_nan(Emit *e, LLVMValueRef a);
LLVMValueRef prim_number(Emit *e, double value);                /* of VT */
LLVMValueRef prim_integer(Emit *e, int64_t value);              /* of VI */
LLVMValueRef prim_max(Emit *e, LLVMValueRef a, LLVMValueRef b); /* op.def's */
LLVMValueRef prim_exp(Emit *e, LLVMValueRef a); /* floats of either width; VT is theirs */
LLVMValueRef prim_expm1(Emit *e, LLVMValueRef a);
LLVMValueRef prim_log(Emit *e, LLVMValueRef a);
LLVMValueRef prim_log1p(Emit *e, LLVMValueRef a);
LLVMValueRef prim_sin(Emit *e, LLVMValueRef a);
LLVMValueRef prim_cos(Emit *e, LLVMValueRef a);
LLVMValueRef prim_tanh(Emit *e, LLVMValueRef a);
LLVMValueRef prim_erf(Emit *e, LLVMValueRef a);
LLVMValueRef prim_order(Emit *e, LLVMValueRef a); /* floats to VI */
LLVMValueRef prim_pow(Emit *e, LLVMValueRef a, LLVMValueRef b);
void prim_set_type(Emit *e, LLVMTypeRef type); /* VT, and VI with it */
bool prim_is_float(LLVMValueRef a);
/* Halves as their bits (i16), to f32 and back. */
LLVMValueRef prim_from_half(Emit *e, LLVMValueRef bits, Dtype d);
LLVMValueRef prim_to_half(Emit *e, LLVMValueRef a, Dtype d);
/* f64 as f32, its last bit set where that is not all of it: so rounded again it is rounded once. */
LLVMValueRef prim_sticky(Emit *e, LLVMValueRef a);

#define VT LLVMValueRef
#define VI LLVMValueRef
#define VM LLVMValueRef
#define ADD(a, b) prim_add(e, a, b)
#define SUB(a, b) prim_sub(e, a, b)
#define MUL(a, b) prim_mul(e, a, b)
#define NEG(a) prim_neg(e, a)
#define DIV(a, b) LLVMBuildFDiv(e->builder, a, b, "")
#define FMA(a, b, c) prim_fma(e, a, b, c)
#define SQRT(a) prim_unary(e, "llvm.sqrt", a)
#define FLOOR(a) prim_unary(e, "llvm.floor", a)
#define CEIL(a) prim_unary(e, "llvm.ceil", a)
#define ROUND(a) prim_unary(e, "llvm.roundeven", a)
#define ABS(a) prim_abs(e, a)
#define FLOORDIV(a, b) prim_floordiv(e, a, b)
#define MOD(a, b) prim_mod(e, a, b)
#define LT(a, b) prim_lt(e, a, b)
#define LE(a, b) prim_le(e, a, b)
#define EQ(a, b) prim_eq(e, a, b)
#define NE(a, b) prim_ne(e, a, b)
#define NAN(a) prim_nan(e, a)
#define AND(a, b) LLVMBuildAnd(e->builder, a, b, "")
#define OR(a, b) LLVMBuildOr(e->builder, a, b, "")
#define XOR(a, b) LLVMBuildXor(e->builder, a, b, "")
#define NOT(a) LLVMBuildNot(e->builder, a, "")
#define SEL(mask, a, b) LLVMBuildSelect(e->builder, mask, a, b, "")
#define K(x) prim_number(e, x)
#define KI(n) prim_integer(e, n)
#define ZERO LLVMConstNull(e->vt)
#define ONE prim_number(e, 1.0)
#define AS_INT(a) LLVMBuildBitCast(e->builder, a, e->vi, "")
#define AS_FLT(i) LLVMBuildBitCast(e->builder, i, e->vt, "")
#define IADD(i, j) LLVMBuildAdd(e->builder, i, j, "")
#define ISUB(i, j) LLVMBuildSub(e->builder, i, j, "")
#define ISHL(i, n) LLVMBuildShl(e->builder, i, prim_integer(e, n), "")
#define ISHR(i, n) LLVMBuildAShr(e->builder, i, prim_integer(e, n), "")
#define IAND(i, j) LLVMBuildAnd(e->builder, i, j, "")
#define IOR(i, j) LLVMBuildOr(e->builder, i, j, "")
#define EXP(a) prim_exp(e, a)
#define EXPM1(a) prim_expm1(e, a)
#define LOG(a) prim_log(e, a)
#define LOG1P(a) prim_log1p(e, a)
#define SIN(a) prim_sin(e, a)
#define COS(a) prim_cos(e, a)
#define TANH(a) prim_tanh(e, a)
#define ERF(a) prim_erf(e, a)
#define POW(a, b) prim_pow(e, a, b)
#define ORDER(a) prim_order(e, a)

#endif
