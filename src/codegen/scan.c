/* cumsum: each element plus those before it along one axis, in order; a vector of neighbours at a time.
 *
 * A few sums are worked out before any is stored, since stores to a cell that may become registers come
 * in rising order (shape.c); more of them are loops, whose cell stays in memory. */
#include "codegen/prim_llvm.h"

enum { FEW = 16, FEW_VECTORS = 64, FEW_ROWS = 4 };

typedef struct {
    View outer, inner; /* the operand's axes before and behind the one that is summed along */
    Source source;
    int64_t offset, stride, count, width; /* along the axis: stride, count; elements of inner */
    bool reverse;
    Dtype dtype;
    int cell;
    LLVMValueRef row; /* of outer, at hand */
} Running;

/* Step k is element k from the end that the sum starts at. */
static LLVMValueRef place_of(Emit *e, const Running *s, LLVMValueRef k) {
    return s->reverse ? LLVMBuildSub(e->builder, emit_i64(e, s->count - 1), k, "") : k;
}

static LLVMValueRef fetch(Emit *e, const Running *s, LLVMValueRef k, Block b) {
    LLVMValueRef along = emit_mul(e, place_of(e, s, k), emit_i64(e, s->stride));
    LLVMValueRef at = emit_add(e, view_element(e, &s->outer, s->row), emit_i64(e, s->offset));
    at = emit_add(e, at, along);
    return view_load(e, &s->inner, view_advance(e, s->source, at, view_reach(&s->inner)), b);
}

static void put(Emit *e, const Running *s, LLVMValueRef k, Block b, LLVMValueRef value) {
    LLVMValueRef row = emit_add(e, emit_mul(e, s->row, emit_i64(e, s->count)), place_of(e, s, k));
    LLVMValueRef at = emit_add(e, emit_mul(e, row, emit_i64(e, s->width)), b.offset);
    LLVMValueRef ptr = cell_pointer(e, s->cell);
    ptr = emit_at(e, ptr, emit_mul(e, at, emit_i64(e, dtype_size(s->dtype))));
    emit_store_lanes(e, ptr, s->dtype, value, b.lanes, b.count);
}

/* ---- few: all sums, then all stores ---- */

typedef struct {
    const Running *scan;
    LLVMValueRef sum[FEW][FEW_VECTORS];
    int64_t step;
} Sums;

static void sum_block(Emit *e, Block b, void *ctx) {
    Sums *q = ctx;
    int64_t k = q->step;
    LLVMValueRef x = fetch(e, q->scan, emit_i64(e, k), b);
    q->sum[k][b.number] = k ? ADD(q->sum[k - 1][b.number], x) : x;
}

static void store_block(Emit *e, Block b, void *ctx) {
    const Sums *q = ctx;
    put(e, q->scan, emit_i64(e, q->step), b, q->sum[q->step][b.number]);
}

static void scan_few(Emit *e, const Running *s) {
    Sums q = {.scan = s};
    for (q.step = 0; q.step < s->count; q.step++) emit_blocks(e, s->width, sum_block, &q);
    for (int64_t i = 0; i < s->count; i++) {
        q.step = s->reverse ? s->count - 1 - i : i;
        emit_blocks(e, s->width, store_block, &q);
    }
}

/* ---- many ---- */

static void scan_block(Emit *e, Block b, void *ctx) {
    const Running *s = ctx;
    LLVMTypeRef type = emit_vec(e, s->dtype, b.lanes);
    LLVMValueRef zero = emit_i64(e, 0), temp = emit_temp(e, type), x = fetch(e, s, zero, b);
    put(e, s, zero, b, x);
    LLVMBuildStore(e->builder, x, temp);
    Loop l = emit_loop(e, emit_i64(e, 1), emit_i64(e, s->count), emit_i64(e, 1));
    x = ADD(LLVMBuildLoad2(e->builder, type, temp, ""), fetch(e, s, l.index, b));
    put(e, s, l.index, b, x);
    LLVMBuildStore(e->builder, x, temp);
    emit_loop_end(e, &l);
}

static void scan_row(Emit *e, LLVMValueRef row, void *ctx) {
    Running *s = ctx;
    s->row = row;
    bool few = s->count <= FEW && s->count * emit_num_blocks(e, s->width) <= FEW_VECTORS;
    if (few && !emit_rolled(e, s->width)) scan_few(e, s);
    else emit_block_loop(e, s->width, scan_block, s);
}

void scan_fill(Emit *e, Val v) {
    const int64_t *axis_reverse = ir_node(e->f, v)->attr.ints;
    View w = view_of(e, ir_arg(e->f, v, 0));
    int axis = (int)axis_reverse[0];
    if (e->info[v].n == 0) return;
    Running s = {.outer = view_axes(&w, 0, axis),
                 .inner = view_axes(&w, axis + 1, w.rank - axis - 1),
                 .source = view_source(e, w.base),
                 .offset = w.offset,
                 .stride = w.stride[axis],
                 .count = w.dim[axis],
                 .reverse = axis_reverse[1],
                 .dtype = (Dtype)ir_type(e->f, v)->dtype,
                 .cell = e->info[v].cell};
    s.width = view_numel(&s.inner);
    int64_t rows = view_numel(&s.outer);
    emit_each(e, rows, rows <= FEW_ROWS, scan_row, &s);
}
