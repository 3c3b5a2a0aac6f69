/* The pull: a block of a value from blocks of its operands, memoised; cells are filled before. */
#include "codegen/emit.h"

#include <stddef.h>

/* ---- buffers ---- */

static LLVMValueRef buffers(Emit *e) {
    return emit_argument(e, e->args, offsetof(KernelArgs, buffers), e->ptr);
}

LLVMValueRef buffer_data(Emit *e, int buffer) {
    LLVMValueRef *slot = &e->data[buffer];
    uint64_t at = (uint64_t)buffer * sizeof(Buffer) + offsetof(Buffer, data);
    if (!*slot) *slot = emit_argument(e, buffers(e), at, e->ptr);
    return *slot;
}

LLVMValueRef buffer_stride(Emit *e, int buffer, int axis) {
    if (axis == 0 && e->request->layout[buffer] == LAYOUT_dense) {
        const Type *t = ir_type(e->f, e->f->inputs.data[buffer].val);
        return emit_i64(e, type_numel(t) * dtype_size((Dtype)t->dtype));
    }
    LLVMValueRef *slot = &e->stride[buffer * (MAX_RANK + 1) + axis];
    uint64_t at = (uint64_t)buffer * sizeof(Buffer) + offsetof(Buffer, stride) + 8 * (uint64_t)axis;
    if (!*slot) *slot = emit_argument(e, buffers(e), at, e->i64);
    return *slot;
}

/* The number of the element that an input's row is taken from at this level; NULL on `all`. */
static LLVMValueRef element_of(Emit *e, Val v) {
    Level level = level_of(e, v);
    if (ir_type(e->f, v)->set == SET_ALL) return NULL;
    return level == LEVEL_edge ? e->edge : e->row;
}

LLVMValueRef eval_row_pointer(Emit *e, Val v) {
    LLVMValueRef known = memo_get(e, v, KEY_pointer);
    if (known) return known;
    if (ir_op(e->f, v) == OP_take) return memo_put(e, v, KEY_pointer, table_row_pointer(e, v));
    bool other = ir_op(e->f, v) == OP_gather;
    int buffer = e->info[other ? ir_arg(e->f, v, 0) : v].buffer;
    LLVMValueRef at = other ? e->col : element_of(e, v), ptr = buffer_data(e, buffer);
    if (at) ptr = emit_at(e, ptr, emit_mul(e, at, buffer_stride(e, buffer, 0)));
    return memo_put(e, v, KEY_pointer, ptr);
}

LLVMValueRef eval_strided_offsets(Emit *e, int buffer, const Type *t, int first, Block b) {
    LLVMValueRef i = emit_add(e, emit_splat(e, b.offset, b.lanes), emit_iota(e, b.lanes, 0, 1));
    LLVMValueRef at = emit_splat(e, emit_i64(e, 0), b.lanes);
    /* Lanes past the end stay inside. */
    LLVMValueRef last = emit_splat(e, emit_i64(e, b.n - 1), b.lanes);
    if (b.count < b.lanes)
        i = LLVMBuildSelect(e->builder, emit_mask(e, b.lanes, b.count), i, last, "");
    for (int k = t->rank - 1; k >= first; k--) {
        if (t->dim[k] == 1) continue;
        LLVMValueRef dim = emit_splat(e, emit_i64(e, t->dim[k]), b.lanes);
        LLVMValueRef here = LLVMBuildURem(e->builder, i, dim, "");
        i = LLVMBuildUDiv(e->builder, i, dim, "");
        at = emit_add(e, at,
                      emit_mul(e, here, emit_splat(e, buffer_stride(e, buffer, k + 1), b.lanes)));
    }
    return at;
}

static LLVMValueRef load_input(Emit *e, Val v, Val input, Block b) {
    const Type *t = ir_type(e->f, input);
    int buffer = e->info[input].buffer;
    Dtype d = (Dtype)t->dtype;
    LLVMValueRef ptr = eval_row_pointer(e, v);
    if (e->request->layout[buffer] == LAYOUT_strided && b.n > 1)
        return emit_gather(e, ptr, eval_strided_offsets(e, buffer, t, 0, b), d, b.lanes);
    ptr = emit_at(e, ptr, emit_mul(e, b.offset, emit_i64(e, dtype_size(d))));
    return emit_load(e, ptr, d, b.lanes, b.count, 1);
}

/* ---- the pull ---- */

static LLVMValueRef eval_elem(Emit *e, Val v, Block b) {
    const Node *n = ir_node(e->f, v);
    LLVMValueRef few[8],
        *args = n->num_args <= 8 ? few : ARENA_ARRAY(e->arena, LLVMValueRef, n->num_args);
    for (uint32_t k = 0; k < n->num_args; k++) args[k] = emit_eval(e, n->args[k], b);
    return elem_apply(e, n, args);
}

/* [.., M, 1] x [.., 1, N]: a product of two broadcasts. */
static LLVMValueRef eval_outer(Emit *e, Val v, Block b) {
    LLVMValueRef side[2];
    for (uint32_t k = 0; k < 2; k++) {
        View w = view_of(e, ir_arg(e->f, v, k));
        int grown = w.rank - 1 - (int)k;
        w.dim[grown] = ir_type(e->f, v)->dim[grown];
        w.stride[grown] = 0;
        side[k] = view_load(e, &w, view_source(e, w.base), b);
    }
    return LLVMBuildFMul(e->builder, side[0], side[1], "");
}

static LLVMValueRef eval_gather(Emit *e, Val v, Block b) {
    Map m = ir_node(e->f, v)->attr.map;
    Val x = ir_arg(e->f, v, 0);
    if (map_is_all(m) || m == e->kernel->map) return emit_eval(e, x, b);
    return load_input(e, v, x, b);
}

static LLVMValueRef eval_by_op(Emit *e, Val v, Block b) {
    const Node *n = ir_node(e->f, v);
    switch (op_info[n->op].class) {
    case CLASS_elem: return eval_elem(e, v, b);
    case CLASS_shape:
        if (n->op == OP_cast) {
            Val x = n->args[0];
            Dtype from = (Dtype)ir_type(e->f, x)->dtype;
            return elem_cast(e, emit_eval(e, x, b), from, (Dtype)n->types->dtype, b.lanes);
        }
        if (n->op == OP_take) return table_eval(e, v, b);
        return n->op == OP_matmul ? eval_outer(e, v, b) : view_eval(e, v, b);
    case CLASS_along:
        if (n->op == OP_degree) return LLVMBuildSub(e->builder, e->row_end, e->row_begin, "");
        if (n->op == OP_iota) return element_of(e, v);
        if (n->op == OP_gather) return eval_gather(e, v, b);
        return load_input(e, v, v, b);
    case CLASS_frame:
        if (n->op == OP_constant)
            return emit_const(e, (Dtype)n->types->dtype, n->attr.bits, b.lanes);
        return load_input(e, v, v, b);
    }
    TIGA_UNREACHABLE("a class");
}

LLVMValueRef emit_eval(Emit *e, Val v, Block b) {
    LLVMValueRef known = memo_get(e, v, b.number);
    if (known) return known;
    int cell = e->info[v].cell;
    bool single = e->info[v].uniform && (cell == NO_CELL || e->cells.data[cell].n == 1);
    LLVMValueRef value = single            ? emit_splat(e, uniform_eval(e, v), b.lanes)
                         : cell == NO_CELL ? eval_by_op(e, v, b)
                                           : cell_load(e, cell, b);
    return memo_put(e, v, b.number, value);
}

/* ---- filling ---- */

static void fill_block(Emit *e, Block b, void *ctx) {
    Val v = *(const Val *)ctx;
    LLVMValueRef value = eval_by_op(e, v, b);
    memo_put(e, v, b.number, value);
    cell_store(e, e->info[v].cell, b, value);
}

void eval_fill(Emit *e, Val v) {
    Op op = ir_op(e->f, v);
    if (op == OP_fsum || op == OP_fmax) fold_fill(e, v);
    else if (op == OP_concat || op == OP_pad) shape_fill(e, v);
    else if (op == OP_cumsum) scan_fill(e, v);
    else if (op == OP_put || (op == OP_take && table_is_made(e, v))) table_fill(e, v);
    else if (op == OP_matmul && !analyze_is_outer(e, v)) matmul_fill(e, v);
    else emit_blocks(e, e->info[v].n, fill_block, &v);
}

/* Values of other levels were made ready there. */
static bool is_ready(const Emit *e, Val v) {
    Op op = ir_op(e->f, v);
    return op == OP_result || op_is_reduction(op) || memo_get(e, v, KEY_filled);
}

void emit_ensure_operands(Emit *e, Val v) {
    const Node *n = ir_node(e->f, v);
    for (uint32_t k = 0; n->op != OP_gather && k < n->num_args; k++) emit_ensure(e, n->args[k]);
}

void emit_ensure(Emit *e, Val v) {
    if (is_ready(e, v)) return;
    const Node *n = ir_node(e->f, v);
    emit_ensure_operands(e, v);
    memo_put(e, v, KEY_filled, e->args);
    if (e->info[v].cell != NO_CELL) eval_fill(e, v);
    else if (e->info[v].n == 1 || e->info[v].uniform) uniform_eval(e, v);
    else if (n->op == OP_take && table_is_memory(e, v)) eval_row_pointer(e, v);
}
