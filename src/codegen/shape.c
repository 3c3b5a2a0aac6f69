/* concat and pad: copies of the operands' elements into the value's cell.
 *
 * Stores to a cell come in rising order: LLVM 22's SROA joins the pieces of a vector where the piece
 * with the largest offset is stored, whether or not the others are known by then (fixed by its change
 * 189680). */
#include "codegen/emit.h"

enum { FEW_ROWS = 8 }; /* unrolled up to here */

static LLVMValueRef cell_address(Emit *e, int cell, LLVMValueRef element) {
    LLVMValueRef ptr = cell_pointer(e, cell);
    int64_t size = dtype_size(e->cells.data[cell].dtype);
    return emit_at(e, ptr, emit_mul(e, element, emit_i64(e, size)));
}

/* ---- a strided copy ---- */

typedef struct {
    View from, to; /* same extents; to: in elements of the cell */
    Source source;
    int cell;
    LLVMValueRef row; /* of the axes but the last */
} Copy;

/* The last axis grows by those before it that both sides walk on in one stride. */
static void merge_last(Copy *c) {
    while (c->from.rank > 1) {
        View *f = &c->from, *t = &c->to;
        int last = f->rank - 1, before = last - 1;
        if (f->stride[before] != f->stride[last] * f->dim[last]) return;
        if (t->stride[before] != t->stride[last] * t->dim[last]) return;
        f->dim[before] = t->dim[before] = f->dim[last] * f->dim[before];
        f->stride[before] = f->stride[last];
        t->stride[before] = t->stride[last];
        f->rank = t->rank = last;
    }
}

static void store_scattered(Emit *e, LLVMValueRef ptr, Dtype d, LLVMValueRef value, Block b,
                            int64_t stride) {
    for (unsigned l = 0; l < b.count; l++) {
        LLVMValueRef at = emit_i64(e, (int64_t)l * stride * dtype_size(d));
        emit_store(e, emit_at(e, ptr, at), d, emit_lane(e, value, l), 1, 1,
                   (unsigned)dtype_size(d));
    }
}

static void copy_block(Emit *e, Block b, void *ctx) {
    const Copy *c = ctx;
    int last = c->from.rank - 1;
    View from_outer = view_axes(&c->from, 0, last), to_outer = view_axes(&c->to, 0, last);
    View run = view_axes(&c->from, last, 1);
    LLVMValueRef from =
        emit_add(e, view_element(e, &from_outer, c->row), emit_i64(e, c->from.offset));
    LLVMValueRef to = emit_add(e, view_element(e, &to_outer, c->row), emit_i64(e, c->to.offset));
    Source source = view_advance(e, c->source, from, view_reach(&run));
    LLVMValueRef value = view_load(e, &run, source, b);
    int64_t stride = c->to.stride[last];
    to = emit_add(e, to, emit_mul(e, b.offset, emit_i64(e, stride)));
    LLVMValueRef ptr = cell_address(e, c->cell, to);
    if (stride == 1) emit_store_lanes(e, ptr, c->source.dtype, value, b.lanes, b.count);
    else store_scattered(e, ptr, c->source.dtype, value, b, stride);
}

static void copy_row(Emit *e, LLVMValueRef row, void *ctx) {
    Copy *c = ctx;
    c->row = row;
    emit_blocks(e, c->from.dim[c->from.rank - 1], copy_block, c);
}

static void copy_rows(Emit *e, Copy *c) {
    merge_last(c);
    View outer = view_axes(&c->from, 0, c->from.rank - 1);
    int64_t rows = view_numel(&outer);
    emit_each(e, rows, rows <= FEW_ROWS, copy_row, c);
}

/* The elements of `from` to where `to` says. */
static void copy_view(Emit *e, View from, View to, int cell) {
    if (view_numel(&from) == 0) return;
    if (from.rank == 0) {
        from.dim[0] = to.dim[0] = 1;
        from.stride[0] = to.stride[0] = 1;
        from.rank = to.rank = 1;
    }
    Copy c = {.from = from, .to = to, .source = view_source(e, from.base), .cell = cell};
    copy_rows(e, &c);
}

/* Row-major strides of v's shape, as a view of itself. */
static View own_view(const Emit *e, Val v) {
    const Type *t = ir_type(e->f, v);
    View w = {.base = v, .rank = t->rank};
    int64_t stride = 1;
    for (int k = t->rank - 1; k >= 0; k--) {
        w.dim[k] = t->dim[k];
        w.stride[k] = stride;
        stride *= t->dim[k];
    }
    return w;
}

/* ---- concat ---- */

typedef struct {
    Val part;
    int cell;
    int64_t first;
} Part;

static void part_block(Emit *e, Block b, void *ctx) {
    const Part *p = ctx;
    LLVMValueRef at = emit_add(e, b.offset, emit_i64(e, p->first));
    Dtype d = e->cells.data[p->cell].dtype;
    emit_store_lanes(e, cell_address(e, p->cell, at), d, emit_eval(e, p->part, b), b.lanes,
                     b.count);
}

static void concat_flat(Emit *e, Val v) {
    const Node *n = ir_node(e->f, v);
    Part p = {.cell = e->info[v].cell};
    for (uint32_t k = 0; k < n->num_args; k++) {
        p.part = n->args[k];
        emit_blocks(e, e->info[p.part].n, part_block, &p);
        p.first += e->info[p.part].n;
    }
}

/* Axes `axis` and on of w, in row r of the axes before. */
static View view_row(const View *w, int axis, int64_t r) {
    View row = view_axes(w, axis, w->rank - axis);
    row.offset = w->offset;
    for (int k = axis - 1; k >= 0; k--) {
        row.offset += r % w->dim[k] * w->stride[k];
        r /= w->dim[k];
    }
    return row;
}

/* Row r of the axes before the one that grows; all of them where r < 0. */
static void concat_row(Emit *e, Val v, int64_t r) {
    const Node *n = ir_node(e->f, v);
    int axis = r < 0 ? 0 : (int)n->attr.ints[0];
    View whole = own_view(e, v);
    int64_t first = 0;
    for (uint32_t k = 0; k < n->num_args; k++) {
        Val part = n->args[k];
        View from = view_of(e, part), to = own_view(e, part);
        for (int i = 0; i < to.rank; i++) to.stride[i] = whole.stride[i];
        to.offset = first * whole.stride[n->attr.ints[0]];
        copy_view(e, view_row(&from, axis, r), view_row(&to, axis, r), e->info[v].cell);
        first += to.dim[n->attr.ints[0]];
    }
}

static void fill_concat(Emit *e, Val v) {
    View whole = own_view(e, v);
    View outer = view_axes(&whole, 0, (int)ir_node(e->f, v)->attr.ints[0]);
    int64_t rows = view_numel(&outer);
    if (analyze_is_flat(e, v)) concat_flat(e, v);
    else if (rows > FEW_ROWS) concat_row(e, v, -1);
    else
        for (int64_t r = 0; r < rows; r++) concat_row(e, v, r);
}

/* ---- pad ---- */

static void fill_pad(Emit *e, Val v) {
    const Node *n = ir_node(e->f, v);
    View to = own_view(e, v);
    for (int k = 0; k < to.rank; k++) {
        const int64_t *low_high_interior = n->attr.ints + 3 * k;
        to.dim[k] = ir_type(e->f, n->args[0])->dim[k];
        to.offset += low_high_interior[0] * to.stride[k];
        to.stride[k] *= 1 + low_high_interior[2];
    }
    cell_zero(e, e->info[v].cell);
    copy_view(e, view_of(e, n->args[0]), to, e->info[v].cell);
}

void shape_fill(Emit *e, Val v) {
    if (ir_op(e->f, v) == OP_concat) fill_concat(e, v);
    else fill_pad(e, v);
}
