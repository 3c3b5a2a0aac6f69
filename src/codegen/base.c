/* Types, constants, memory and loops: what every part of the generator says in LLVM. */
#include "codegen/emit.h"

#include <string.h>

LLVMTypeRef emit_type(Emit *e, Dtype d) {
    return (LLVMTypeRef[]){e->i1, e->i32, e->i64, e->f32, e->f64, e->i16, e->i16}[d];
}

LLVMTypeRef emit_vector(LLVMTypeRef element, unsigned lanes) {
    return lanes == 1 ? element : LLVMVectorType(element, lanes);
}

LLVMTypeRef emit_vec(Emit *e, Dtype d, unsigned lanes) {
    return emit_vector(emit_type(e, d), lanes);
}

static LLVMTypeRef memory_type(Emit *e, Dtype d) { return d == DT_bool ? e->i8 : emit_type(e, d); }

/* ---- constants ---- */

enum { LANES_LIMIT = 64 };

static LLVMValueRef const_splat(LLVMValueRef scalar, unsigned lanes) {
    LLVMValueRef all[LANES_LIMIT];
    if (lanes == 1) return scalar;
    for (unsigned l = 0; l < lanes; l++) all[l] = scalar;
    return LLVMConstVector(all, lanes);
}

LLVMValueRef emit_i64(Emit *e, int64_t value) {
    return LLVMConstInt(e->i64, (uint64_t)value, true);
}

LLVMValueRef emit_splat(Emit *e, LLVMValueRef scalar, unsigned lanes) {
    if (lanes == 1) return scalar;
    if (LLVMIsConstant(scalar)) return const_splat(scalar, lanes);
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), lanes);
    LLVMValueRef poison = LLVMGetPoison(type), zero = LLVMConstInt(e->i32, 0, false);
    LLVMValueRef first = LLVMBuildInsertElement(e->builder, poison, scalar, zero, "");
    LLVMValueRef all_zero = LLVMConstNull(LLVMVectorType(e->i32, lanes));
    return LLVMBuildShuffleVector(e->builder, first, poison, all_zero, "");
}

LLVMValueRef emit_const(Emit *e, Dtype d, uint64_t bits, unsigned lanes) {
    LLVMValueRef scalar = NULL;
    switch (d) {
    case DT_bool: scalar = LLVMConstInt(e->i1, bits & 1, false); break;
    case DT_i32: scalar = LLVMConstInt(e->i32, bits & UINT32_MAX, false); break;
    case DT_i64: scalar = LLVMConstInt(e->i64, bits, false); break;
    case DT_f32:
        scalar = LLVMConstBitCast(LLVMConstInt(e->i32, bits & UINT32_MAX, false), e->f32);
        break;
    case DT_f64: scalar = LLVMConstBitCast(LLVMConstInt(e->i64, bits, false), e->f64); break;
    case DT_f16:
    case DT_bf16:
    case NUM_DTYPES: TIGA_UNREACHABLE("no dtype of constants");
    }
    return const_splat(scalar, lanes);
}

LLVMValueRef emit_real(Emit *e, Dtype d, double value, unsigned lanes) {
    return const_splat(LLVMConstReal(emit_type(e, d), value), lanes);
}

LLVMValueRef emit_iota(Emit *e, unsigned lanes, int64_t first, int64_t step) {
    LLVMValueRef all[LANES_LIMIT];
    if (lanes == 1) return emit_i64(e, first);
    for (unsigned l = 0; l < lanes; l++) all[l] = emit_i64(e, first + step * (int64_t)l);
    return LLVMConstVector(all, lanes);
}

LLVMValueRef emit_mask(Emit *e, unsigned lanes, unsigned count) {
    LLVMValueRef all[LANES_LIMIT];
    for (unsigned l = 0; l < lanes; l++) all[l] = LLVMConstInt(e->i1, l < count, false);
    return lanes == 1 ? all[0] : LLVMConstVector(all, lanes);
}

LLVMValueRef emit_lane(Emit *e, LLVMValueRef vector, unsigned lane) {
    if (LLVMGetTypeKind(LLVMTypeOf(vector)) != LLVMVectorTypeKind) return vector;
    return LLVMBuildExtractElement(e->builder, vector, LLVMConstInt(e->i32, lane, false), "");
}

/* ---- calls and addresses ---- */

LLVMValueRef emit_call(Emit *e, const char *intrinsic, LLVMTypeRef *types, unsigned num_types,
                       LLVMValueRef *args, unsigned num_args) {
    unsigned id = LLVMLookupIntrinsicID(intrinsic, strlen(intrinsic));
    TIGA_ASSERT(id != 0);
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(e->module, id, types, num_types);
    return LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(fn), fn, args, num_args, "");
}

LLVMValueRef emit_add(Emit *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildAdd(e->builder, a, b, "");
}

LLVMValueRef emit_mul(Emit *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildMul(e->builder, a, b, "");
}

LLVMValueRef emit_at(Emit *e, LLVMValueRef ptr, LLVMValueRef bytes) {
    return LLVMBuildGEP2(e->builder, e->i8, ptr, &bytes, 1, "");
}

LLVMValueRef emit_field(Emit *e, LLVMValueRef ptr, uint64_t offset, LLVMTypeRef type) {
    LLVMValueRef at = emit_at(e, ptr, emit_i64(e, (int64_t)offset));
    LLVMValueRef value = LLVMBuildLoad2(e->builder, type, at, "");
    LLVMSetAlignment(value, 8);
    return value;
}

LLVMValueRef emit_argument(Emit *e, LLVMValueRef from, uint64_t offset, LLVMTypeRef type) {
    LLVMBuilderRef here = e->builder;
    e->builder = e->entry;
    LLVMValueRef value = emit_field(e, from, offset, type);
    e->builder = here;
    return value;
}

LLVMValueRef emit_index(Emit *e, LLVMValueRef array, LLVMValueRef pos) {
    LLVMTypeRef type = e->request->wide ? e->i64 : e->i32;
    LLVMValueRef at = LLVMBuildGEP2(e->builder, type, array, &pos, 1, "");
    LLVMValueRef value = LLVMBuildLoad2(e->builder, type, at, "");
    return e->request->wide ? value : LLVMBuildSExt(e->builder, value, e->i64, "");
}

static void set_align(Emit *e, LLVMValueRef call, unsigned param, unsigned align) {
    unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
    LLVMAddCallSiteAttribute(call, param, LLVMCreateEnumAttribute(e->context, kind, align));
}

static LLVMValueRef from_memory(Emit *e, LLVMValueRef value, Dtype d) {
    if (d != DT_bool) return value;
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(value));
    return LLVMBuildICmp(e->builder, LLVMIntNE, value, zero, "");
}

LLVMValueRef emit_load(Emit *e, LLVMValueRef ptr, Dtype d, unsigned lanes, unsigned count,
                       unsigned align) {
    LLVMTypeRef type = emit_vector(memory_type(e, d), lanes);
    LLVMValueRef value;
    if (count < lanes) {
        LLVMValueRef args[] = {ptr, emit_mask(e, lanes, count), LLVMConstNull(type)};
        value = emit_call(e, "llvm.masked.load", (LLVMTypeRef[]){type, e->ptr}, 2, args, 3);
        set_align(e, value, 1, align);
    } else {
        value = LLVMBuildLoad2(e->builder, type, ptr, "");
        LLVMSetAlignment(value, align);
    }
    return from_memory(e, value, d);
}

/* One lane goes as a scalar: LLVM 22 makes a masked store of one lane of truncated integers as wide as
 * they were before. */
void emit_store(Emit *e, LLVMValueRef ptr, Dtype d, LLVMValueRef value, unsigned lanes,
                unsigned count, unsigned align) {
    if (count == 1 && lanes > 1) {
        value = emit_lane(e, value, 0);
        lanes = 1;
    }
    LLVMTypeRef type = emit_vector(memory_type(e, d), lanes);
    if (d == DT_bool) value = LLVMBuildZExt(e->builder, value, type, "");
    if (count < lanes) {
        LLVMValueRef args[] = {value, ptr, emit_mask(e, lanes, count)};
        LLVMValueRef call =
            emit_call(e, "llvm.masked.store", (LLVMTypeRef[]){type, e->ptr}, 2, args, 3);
        set_align(e, call, 2, align);
    } else {
        LLVMSetAlignment(LLVMBuildStore(e->builder, value, ptr), align);
    }
}

LLVMValueRef emit_gather(Emit *e, LLVMValueRef ptr, LLVMValueRef bytes, Dtype d, unsigned lanes) {
    if (lanes == 1) return emit_load(e, emit_at(e, ptr, bytes), d, 1, 1, 1);
    LLVMTypeRef type = LLVMVectorType(memory_type(e, d), lanes);
    LLVMTypeRef ptrs_type = LLVMVectorType(e->ptr, lanes);
    LLVMValueRef ptrs = LLVMBuildGEP2(e->builder, e->i8, ptr, &bytes, 1, "");
    LLVMValueRef args[] = {ptrs, emit_mask(e, lanes, lanes), LLVMConstNull(type)};
    LLVMValueRef value =
        emit_call(e, "llvm.masked.gather", (LLVMTypeRef[]){type, ptrs_type}, 2, args, 3);
    set_align(e, value, 1, 1);
    return from_memory(e, value, d);
}

LLVMValueRef emit_pick(Emit *e, LLVMValueRef vector, unsigned first, unsigned count) {
    LLVMValueRef pick[LANES_LIMIT];
    if (count == 1) return emit_lane(e, vector, first);
    for (unsigned l = 0; l < count; l++) pick[l] = LLVMConstInt(e->i32, first + l, false);
    LLVMValueRef poison = LLVMGetPoison(LLVMTypeOf(vector));
    return LLVMBuildShuffleVector(e->builder, vector, poison, LLVMConstVector(pick, count), "");
}

void emit_store_lanes(Emit *e, LLVMValueRef ptr, Dtype d, LLVMValueRef value, unsigned lanes,
                      unsigned count) {
    unsigned size = (unsigned)dtype_size(d), first = 0;
    for (unsigned piece = lanes; piece > 0; piece /= 2) {
        if (count - first < piece) continue;
        LLVMValueRef part = piece == lanes ? value : emit_pick(e, value, first, piece);
        emit_store(e, emit_at(e, ptr, emit_i64(e, first * size)), d, part, piece, piece, size);
        first += piece;
    }
}

LLVMValueRef emit_temp(Emit *e, LLVMTypeRef type) { return LLVMBuildAlloca(e->entry, type, ""); }

LLVMValueRef emit_room(Emit *e, LLVMTypeRef element, int64_t num) {
    LLVMValueRef ptr = emit_temp(e, LLVMArrayType2(element, (uint64_t)num));
    LLVMSetAlignment(ptr, 64);
    return ptr;
}

/* ---- loops ---- */

Loop emit_loop(Emit *e, LLVMValueRef first, LLVMValueRef last, LLVMValueRef step) {
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
    Loop l = {.last = last, .step = step, .mark = e->log.len};
    l.body = LLVMAppendBasicBlockInContext(e->context, e->function, "");
    l.done = LLVMAppendBasicBlockInContext(e->context, e->function, "");
    LLVMValueRef any = LLVMBuildICmp(e->builder, LLVMIntSLT, first, last, "");
    LLVMBuildCondBr(e->builder, any, l.body, l.done);
    LLVMPositionBuilderAtEnd(e->builder, l.body);
    l.index = LLVMBuildPhi(e->builder, e->i64, "");
    LLVMAddIncoming(l.index, &first, &before, 1);
    return l;
}

void emit_loop_end(Emit *e, Loop *l) {
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
    LLVMValueRef next = LLVMBuildNSWAdd(e->builder, l->index, l->step, "");
    LLVMAddIncoming(l->index, &next, &latch, 1);
    LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntSLT, next, l->last, "");
    LLVMBuildCondBr(e->builder, more, l->body, l->done);
    LLVMMoveBasicBlockAfter(l->done, latch);
    LLVMPositionBuilderAtEnd(e->builder, l->done);
    memo_pop(e, l->mark);
}

/* ---- blocks ---- */

If emit_if(Emit *e, LLVMValueRef condition) {
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(e->context, e->function, "");
    If branch = {LLVMAppendBasicBlockInContext(e->context, e->function, ""), e->log.len};
    LLVMBuildCondBr(e->builder, condition, body, branch.done);
    LLVMPositionBuilderAtEnd(e->builder, body);
    return branch;
}

void emit_if_end(Emit *e, If *branch) {
    memo_pop(e, branch->mark);
    LLVMBuildBr(e->builder, branch->done);
    LLVMMoveBasicBlockAfter(branch->done, LLVMGetLastBasicBlock(e->function));
    LLVMPositionBuilderAtEnd(e->builder, branch->done);
}

unsigned emit_lanes(const Emit *e, int64_t n) {
    unsigned lanes = 1;
    while (lanes < (unsigned)e->max_lanes && lanes < n) lanes *= 2;
    return lanes;
}

int64_t emit_num_blocks(const Emit *e, int64_t n) {
    int64_t lanes = emit_lanes(e, n);
    return (n + lanes - 1) / lanes;
}

bool emit_rolled(const Emit *e, int64_t n) { return emit_num_blocks(e, n) > e->max_unroll; }

Block emit_fixed_block(Emit *e, int64_t n, int64_t number) {
    unsigned lanes = emit_lanes(e, n);
    int64_t left = n - number * lanes;
    return (Block){.n = n,
                   .number = number,
                   .lanes = lanes,
                   .count = left < lanes ? (unsigned)left : lanes,
                   .offset = emit_i64(e, number * lanes)};
}

Block emit_scalar_block(Emit *e) { return emit_fixed_block(e, 1, 0); }

Block emit_row_block(Emit *e, int64_t i) {
    return (Block){.n = EDGE_LANES,
                   .number = KEY_LANES + i,
                   .lanes = EDGE_LANES,
                   .count = EDGE_LANES,
                   .offset = emit_i64(e, i * EDGE_LANES)};
}

void emit_blocks(Emit *e, int64_t n, BlockFn *fn, void *ctx) {
    if (e->lane.of_rows) {
        for (int64_t i = 0; i < n; i++) fn(e, emit_row_block(e, i), ctx);
        return;
    }
    if (emit_rolled(e, n)) {
        emit_block_loop(e, n, fn, ctx);
        return;
    }
    for (int64_t k = 0; k < emit_num_blocks(e, n); k++) fn(e, emit_fixed_block(e, n, k), ctx);
}

static void tail_block(Emit *e, Block b, BlockFn *fn, void *ctx, bool of_one_share) {
    If only = {0};
    if (of_one_share) only = emit_if(e, emit_is_first_share(e));
    fn(e, b, ctx);
    if (of_one_share) emit_if_end(e, &only);
}

void emit_block_loop(Emit *e, int64_t n, BlockFn *fn, void *ctx) {
    unsigned lanes = emit_lanes(e, n);
    int64_t whole = n / lanes;
    LLVMValueRef size = emit_i64(e, lanes);
    Share share = emit_share(e, whole);
    Loop l = emit_loop(e, emit_mul(e, share.first, size), emit_mul(e, share.last, size), size);
    Block b = {.n = n,
               .number = e->next_loop--,
               .lanes = lanes,
               .count = lanes,
               .offset = l.index,
               .rolled = true};
    fn(e, b, ctx);
    emit_loop_end(e, &l);
    if (whole * lanes < n) tail_block(e, emit_fixed_block(e, n, whole), fn, ctx, share.taken);
    emit_share_end(e, share);
}

void emit_each(Emit *e, int64_t num, bool unrolled, EachFn *fn, void *ctx) {
    if (unrolled) {
        for (int64_t r = 0; r < num; r++) fn(e, emit_i64(e, r), ctx);
        return;
    }
    Share share = emit_share(e, num);
    Loop l = emit_loop(e, share.first, share.last, emit_i64(e, 1));
    fn(e, l.index, ctx);
    emit_loop_end(e, &l);
    emit_share_end(e, share);
}

/* ---- shares ---- */

LLVMValueRef emit_is_first_share(Emit *e) {
    return LLVMBuildICmp(e->builder, LLVMIntEQ, e->share.index, emit_i64(e, 0), "");
}

static LLVMValueRef share_start(Emit *e, LLVMValueRef index, int64_t num) {
    LLVMValueRef all = emit_mul(e, index, emit_i64(e, num));
    return LLVMBuildUDiv(e->builder, all, emit_i64(e, e->num_shares), "");
}

Share emit_share(Emit *e, int64_t num) {
    if (!e->share.open) return (Share){emit_i64(e, 0), emit_i64(e, num), false};
    e->share.open = false;
    LLVMValueRef next = emit_add(e, e->share.index, emit_i64(e, 1));
    return (Share){share_start(e, e->share.index, num), share_start(e, next, num), true};
}

void emit_share_end(Emit *e, Share share) { e->share.open |= share.taken; }

/* ---- memo ---- */

LLVMValueRef memo_get(const Emit *e, Val v, int64_t key) {
    for (const Memo *m = e->memo[v]; m; m = m->next)
        if (m->key == key) return m->value;
    return NULL;
}

LLVMValueRef memo_put(Emit *e, Val v, int64_t key, LLVMValueRef value) {
    Memo *m = ARENA_NEW(e->arena, Memo);
    *m = (Memo){e->memo[v], key, value};
    e->memo[v] = m;
    *vec_push(e->arena, &e->log) = v;
    return value;
}

void memo_pop(Emit *e, uint32_t mark) {
    while (e->log.len > mark) {
        Val v = e->log.data[--e->log.len];
        e->memo[v] = e->memo[v]->next;
    }
}
