/* Elementwise operations: op.def's value column read as LLVM, and casts. */
#include "codegen/prim_llvm.h"

typedef LLVMValueRef V;

static V apply(Emit *e, Op op, V a, V b, V c) {
    (void)b;
    (void)c;
    switch ((int)op) {
#define ELEM(name, arity, signature, traits, value, ...)                                           \
    case OP_##name: return value;
#include "ir/op.def"
    }
    TIGA_UNREACHABLE("not an elementwise operation");
}

LLVMValueRef elem_apply(Emit *e, const Node *n, const LLVMValueRef *args) {
    uint32_t first = op_info[n->op].signature == S_sel ? 1 : 0;
    prim_set_type(e, LLVMTypeOf(args[first]));
    V b = n->num_args > 1 ? args[1] : NULL, c = n->num_args > 2 ? args[2] : NULL;
    V value = apply(e, (Op)n->op, args[0], b, c);
    for (uint32_t k = 2; op_info[n->op].traits & NARY && k < n->num_args; k++)
        value = apply(e, (Op)n->op, value, args[k], NULL);
    return value;
}

/* Of integers: bool counts as 0 and 1, narrowing wraps. */
static V int_cast(Emit *e, V value, Dtype from, LLVMTypeRef type, Dtype to) {
    if (to < from) return LLVMBuildTrunc(e->builder, value, type, "");
    return from == DT_bool ? LLVMBuildZExt(e->builder, value, type, "")
                           : LLVMBuildSExt(e->builder, value, type, "");
}

V elem_cast(Emit *e, V value, Dtype from, Dtype to, unsigned lanes) {
    LLVMTypeRef types[] = {emit_vec(e, to, lanes), LLVMTypeOf(value)};
    if (from == to) return value;
    if (dtype_is_half(from)) return elem_cast(e, prim_from_half(e, value, from), DT_f32, to, lanes);
    if (dtype_is_half(to)) {
        value = from == DT_f64 ? prim_sticky(e, value) : elem_cast(e, value, from, DT_f32, lanes);
        return prim_to_half(e, value, to);
    }
    if (to == DT_bool) return NE(value, LLVMConstNull(types[1]));
    if (!dtype_is_float(from) && !dtype_is_float(to)) return int_cast(e, value, from, types[0], to);
    if (!dtype_is_float(to)) return emit_call(e, "llvm.fptosi.sat", types, 2, &value, 1);
    if (from == DT_bool) return LLVMBuildUIToFP(e->builder, value, types[0], "");
    if (!dtype_is_float(from)) return LLVMBuildSIToFP(e->builder, value, types[0], "");
    return LLVMBuildFPCast(e->builder, value, types[0], "");
}
