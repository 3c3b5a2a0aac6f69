/* take and put: rows of a table by number.
 *
 * A row is read where it lies, whatever the table: an input on `all` or on a set (dense, or by its
 * strides), or a computed value in its cell. One index: its row is pulled block by block, or read in
 * place by views and products. Rows of one element: a vector of indices gathers a vector. Else the rows
 * are copied side by side into a cell.
 *
 * Indices are held inside the table where they lead, so code never reads outside; whether one had to be
 * is asked apart (table_check), once for each element of its set, so that the answer depends on nothing
 * but the data.
 *
 * A sum of puts along a map never makes a table a term: each row is added where it belongs, with what
 * rounding lost kept beside it (Neumaier), since groups as in carry.c would cost a table each. */
#include "codegen/prim_llvm.h"

#include <stddef.h>

enum { FEW_ROWS = 4 };

static Val index_of(const Emit *e, Val v) { return ir_arg(e->f, v, ir_op(e->f, v) == OP_take); }

static int64_t num_rows(const Emit *e, Val v) {
    const Node *n = ir_node(e->f, v);
    return n->op == OP_put ? n->attr.ints[0] : ir_type(e->f, n->args[0])->dim[0];
}

/* Elements of one row. */
static int64_t row_size(const Emit *e, Val v) {
    const Type *t = ir_op(e->f, v) == OP_put ? ir_type(e->f, v) : ir_type(e->f, ir_arg(e->f, v, 0));
    int64_t n = 1;
    for (int k = 1; k < t->rank; k++) n *= t->dim[k];
    return n;
}

/* ---- indices ---- */

static LLVMValueRef widen(Emit *e, Val index, LLVMValueRef i, unsigned lanes) {
    return elem_cast(e, i, (Dtype)ir_type(e->f, index)->dtype, DT_i64, lanes);
}

static LLVMValueRef is_inside(Emit *e, Val v, LLVMValueRef i, unsigned lanes) {
    LLVMValueRef rows = emit_splat(e, emit_i64(e, num_rows(e, v)), lanes);
    return LLVMBuildICmp(e->builder, LLVMIntULT, i, rows, "");
}

/* i, or row 0. Lanes behind the last index are frozen, so that they too are one number wherever used. */
static LLVMValueRef hold_inside(Emit *e, Val v, LLVMValueRef i, unsigned lanes) {
    i = LLVMBuildFreeze(e->builder, widen(e, index_of(e, v), i, lanes), "");
    return SEL(is_inside(e, v, i, lanes), i, emit_splat(e, emit_i64(e, 0), lanes));
}

static LLVMValueRef only_index(Emit *e, Val v) {
    return hold_inside(e, v, emit_eval(e, index_of(e, v), emit_scalar_block(e)), 1);
}

/* Index j of several, j at run time: they lie in memory. */
static LLVMValueRef index_at(Emit *e, Val v, LLVMValueRef j) {
    View w = view_of(e, index_of(e, v));
    if (e->info[index_of(e, v)].n == 1) return only_index(e, v);
    Source s = view_advance(e, view_source(e, w.base), view_element(e, &w, j), 1);
    return hold_inside(e, v, emit_load(e, s.ptr, s.dtype, 1, 1, s.align), 1);
}

static void check_block(Emit *e, Block b, void *ctx) {
    Val v = *(const Val *)ctx, index = index_of(e, v);
    LLVMValueRef i = widen(e, index, emit_eval(e, index, b), b.lanes);
    LLVMValueRef bad = NOT(is_inside(e, v, i, b.lanes));
    if (b.lanes > 1) {
        LLVMTypeRef type = LLVMTypeOf(bad);
        bad = AND(bad, emit_mask(e, b.lanes, b.count));
        bad = emit_call(e, "llvm.vector.reduce.or", &type, 1, &bad, 1);
    }
    LLVMValueRef fault = emit_argument(e, e->args, offsetof(KernelArgs, fault), e->ptr);
    If any = emit_if(e, bad);
    LLVMValueRef store = LLVMBuildStore(e->builder, LLVMConstInt(e->i32, 1, false), fault);
    LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic); /* other threads may say so too */
    LLVMSetAlignment(store, 4);
    emit_if_end(e, &any);
}

void table_check(Emit *e, Level level, int phase) {
    for (Val v = 1; v < ir_count(e->f); v++) {
        bool asked = (ir_op(e->f, v) == OP_take || ir_op(e->f, v) == OP_put) && e->info[v].live &&
                     level_of(e, v) == level;
        if (!asked || (level == LEVEL_edge && e->kernel->place[v].phase != phase)) continue;
        emit_ensure(e, index_of(e, v));
        emit_blocks(e, e->info[index_of(e, v)].n, check_block, &v);
    }
}

/* ---- rows ---- */

static int buffer_of(const Emit *e, Val x) {
    return e->info[ir_op(e->f, x) == OP_gather ? ir_arg(e->f, x, 0) : x].buffer;
}

/* Of a table that is an input read by its strides: that, or the gather that fetches it; else 0. */
static Val strided_table(const Emit *e, Val v) {
    Val x = ir_arg(e->f, v, 0);
    while (view_is_outer_gather(e, x)) x = ir_arg(e->f, x, 0);
    int buffer = buffer_of(e, x);
    return buffer >= 0 && e->request->layout[buffer] == LAYOUT_strided ? x : 0;
}

static View inner_view(const View *w) { return view_axes(w, 1, w->rank - 1); }

/* The elements from the start of row `row` on. */
static Source row_source(Emit *e, const View *w, LLVMValueRef row) {
    View inner = inner_view(w);
    LLVMValueRef at =
        emit_add(e, emit_mul(e, row, emit_i64(e, w->stride[0])), emit_i64(e, w->offset));
    return view_advance(e, view_source(e, w->base), at, view_reach(&inner));
}

static LLVMValueRef load_strided(Emit *e, Val v, Val x, LLVMValueRef row, Block b) {
    int buffer = buffer_of(e, x);
    const Type *t = ir_type(e->f, ir_arg(e->f, v, 0));
    LLVMValueRef step = emit_splat(e, buffer_stride(e, buffer, 1), b.lanes);
    LLVMValueRef bytes = emit_mul(e, row, step);
    if (row_size(e, v) > 1) bytes = emit_add(e, bytes, eval_strided_offsets(e, buffer, t, 1, b));
    return emit_gather(e, eval_row_pointer(e, x), bytes, (Dtype)t->dtype, b.lanes);
}

/* Block b of a row. */
static LLVMValueRef load_row(Emit *e, Val v, LLVMValueRef row, Block b) {
    Val x = strided_table(e, v);
    if (x) return load_strided(e, v, x, emit_splat(e, row, b.lanes), b);
    View w = view_of(e, ir_arg(e->f, v, 0)), inner = inner_view(&w);
    return view_load(e, &inner, row_source(e, &w, row), b);
}

/* Block b of as many rows of one element. */
static LLVMValueRef load_elements(Emit *e, Val v, LLVMValueRef rows, Block b) {
    Val x = strided_table(e, v);
    if (x) return load_strided(e, v, x, rows, b);
    View w = view_of(e, ir_arg(e->f, v, 0));
    Source s = view_source(e, w.base);
    LLVMValueRef at = emit_mul(e, rows, emit_splat(e, emit_i64(e, w.stride[0]), b.lanes));
    at = emit_add(e, at, emit_splat(e, emit_i64(e, w.offset), b.lanes));
    LLVMValueRef size = emit_splat(e, emit_i64(e, dtype_size(s.dtype)), b.lanes);
    return emit_gather(e, s.ptr, emit_mul(e, at, size), s.dtype, b.lanes);
}

/* ---- take ---- */

bool table_is_made(const Emit *e, Val v) {
    return e->info[index_of(e, v)].n > 1 && row_size(e, v) > 1;
}

bool table_is_memory(const Emit *e, Val v) {
    View w = view_of(e, ir_arg(e->f, v, 0)), inner = inner_view(&w), c = view_coalesce(&inner);
    bool dense = c.rank == 0 || (c.rank == 1 && c.stride[0] == 1);
    return dense && e->info[index_of(e, v)].n == 1 && e->info[v].n > 0 && num_rows(e, v) > 0 &&
           !strided_table(e, v);
}

bool table_is_strided(const Emit *e, Val v) { return strided_table(e, v) != 0; }

LLVMValueRef table_row_pointer(Emit *e, Val v) {
    View w = view_of(e, ir_arg(e->f, v, 0));
    return row_source(e, &w, only_index(e, v)).ptr;
}

LLVMValueRef table_eval(Emit *e, Val v, Block b) {
    Val index = index_of(e, v);
    Dtype d = (Dtype)ir_type(e->f, v)->dtype;
    if (num_rows(e, v) == 0) return LLVMConstNull(emit_vec(e, d, b.lanes));
    if (row_size(e, v) > 1) return load_row(e, v, only_index(e, v), b);
    return load_elements(e, v, hold_inside(e, v, emit_eval(e, index, b), b.lanes), b);
}

/* ---- several rows, each from or to memory ---- */

typedef struct {
    Val v;
    const Acc *acc;                 /* of a put: where its rows are summed; NULL: in its cell */
    LLVMValueRef number, row, base; /* row `number` of several is row `row` of the table */
} Rows;

static void for_rows(Emit *e, Val v, const Acc *a, EachFn *body) {
    int64_t count = e->info[index_of(e, v)].n;
    Rows r = {.v = v, .acc = a};
    emit_each(e, count, count <= FEW_ROWS, body, &r);
}

/* The row of the table that row `number` is. */
static Rows *at_row(Emit *e, LLVMValueRef number, void *ctx) {
    Rows *r = ctx;
    r->number = number;
    r->row = index_at(e, r->v, number);
    return r;
}

/* Element b.offset of row `row` of memory that holds rows of v side by side. */
static LLVMValueRef element_pointer(Emit *e, LLVMValueRef ptr, Val v, LLVMValueRef row, Block b) {
    int64_t size = dtype_size((Dtype)ir_type(e->f, v)->dtype);
    LLVMValueRef at = emit_add(e, emit_mul(e, row, emit_i64(e, row_size(e, v))), b.offset);
    return emit_at(e, ptr, emit_mul(e, at, emit_i64(e, size)));
}

static void take_block(Emit *e, Block b, void *ctx) {
    const Rows *r = ctx;
    LLVMValueRef value = load_row(e, r->v, r->row, b);
    LLVMValueRef ptr = cell_pointer(e, e->info[r->v].cell);
    emit_store_lanes(e, element_pointer(e, ptr, r->v, r->number, b),
                     (Dtype)ir_type(e->f, r->v)->dtype, value, b.lanes, b.count);
}

static void take_row(Emit *e, LLVMValueRef number, void *ctx) {
    Rows *r = at_row(e, number, ctx);
    emit_blocks(e, row_size(e, r->v), take_block, r);
}

/* ---- put ---- */

/* Block b of the row of values at hand: the only one is pulled, one of several is read. */
static LLVMValueRef values_block(Emit *e, const Rows *r, Block b) {
    Val g = ir_arg(e->f, r->v, 1);
    int64_t size = row_size(e, r->v);
    if (e->info[g].n == size) return emit_eval(e, g, b);
    View w = view_of(e, g), rows = w, inner = w;
    int first = ir_type(e->f, index_of(e, r->v))->rank;
    rows = view_axes(&w, 0, first);
    inner = view_axes(&w, first, w.rank - first);
    LLVMValueRef at = emit_add(e, view_element(e, &rows, r->number), emit_i64(e, w.offset));
    Source source = view_advance(e, view_source(e, w.base), at, view_reach(&inner));
    return view_load(e, &inner, source, b);
}

/* sum and rest with x: what the addition loses goes to rest. */
static void add_keeping_rest(Emit *e, LLVMValueRef *sum, LLVMValueRef *rest, LLVMValueRef x) {
    LLVMValueRef s = *sum, t = ADD(s, x), part = SUB(t, s);
    *rest = ADD(*rest, ADD(SUB(s, SUB(t, part)), SUB(x, part)));
    *sum = t;
}

static LLVMValueRef load_block(Emit *e, LLVMValueRef ptr, Dtype d, Block b) {
    return emit_load(e, ptr, d, b.lanes, b.count, (unsigned)dtype_size(d));
}

static void store_block(Emit *e, LLVMValueRef ptr, Dtype d, Block b, LLVMValueRef value) {
    emit_store(e, ptr, d, value, b.lanes, b.count, (unsigned)dtype_size(d));
}

static void add_block(Emit *e, Block b, void *ctx) {
    const Rows *r = ctx;
    Dtype d = (Dtype)ir_type(e->f, r->v)->dtype;
    LLVMValueRef x = values_block(e, r, b);
    int cell = r->acc ? r->acc->cell[0] : e->info[r->v].cell;
    LLVMValueRef at = element_pointer(e, cell_pointer(e, cell), r->v, r->row, b);
    LLVMValueRef sum = load_block(e, at, d, b);
    if (!r->acc) {
        store_block(e, at, d, b, ADD(sum, x));
        return;
    }
    LLVMValueRef beside = element_pointer(e, cell_pointer(e, r->acc->cell[1]), r->v, r->row, b);
    LLVMValueRef rest = load_block(e, beside, d, b);
    add_keeping_rest(e, &sum, &rest, x);
    store_block(e, at, d, b, sum);
    store_block(e, beside, d, b, rest);
}

static void put_row(Emit *e, LLVMValueRef number, void *ctx) {
    Rows *r = at_row(e, number, ctx);
    emit_blocks(e, row_size(e, r->v), add_block, r);
}

void table_fill(Emit *e, Val v) {
    bool put = ir_op(e->f, v) == OP_put;
    if (put || num_rows(e, v) == 0) cell_zero(e, e->info[v].cell);
    if (e->info[v].n > 0 && num_rows(e, v) > 0) for_rows(e, v, NULL, put ? put_row : take_row);
}

/* ---- sums of puts ---- */

typedef struct {
    Val term;
    const Acc *acc;
} Term;

static void term_block(Emit *e, Block b, void *ctx) {
    const Term *t = ctx;
    LLVMValueRef sum = cell_load(e, t->acc->cell[0], b), rest = cell_load(e, t->acc->cell[1], b);
    add_keeping_rest(e, &sum, &rest, emit_eval(e, t->term, b));
    cell_store(e, t->acc->cell[0], b, sum);
    cell_store(e, t->acc->cell[1], b, rest);
}

void table_sum(Emit *e, const Acc *a, Val v) {
    const Node *n = ir_node(e->f, v);
    if (n->op == OP_put && e->info[v].n > 0) {
        for (uint32_t k = 0; k < 2; k++) emit_ensure(e, n->args[k]);
        for_rows(e, v, a, put_row);
    } else if (n->op == OP_add && e->info[v].has_put) {
        for (uint32_t k = 0; k < n->num_args; k++) table_sum(e, a, n->args[k]);
    } else if (n->op != OP_put) {
        Term t = {v, a};
        emit_ensure(e, v);
        emit_blocks(e, e->info[v].n, term_block, &t);
    }
}

static void merge_block(Emit *e, Block b, void *ctx) {
    const Acc *a = ctx;
    LLVMValueRef sum = cell_load(e, a->cell[0], b), rest = cell_load(e, a->cell[1], b);
    rest = ADD(rest, cell_load_from(e, a->cell[1], b));
    add_keeping_rest(e, &sum, &rest, cell_load_from(e, a->cell[0], b));
    cell_store(e, a->cell[0], b, sum);
    cell_store(e, a->cell[1], b, rest);
}

void table_sum_merge(Emit *e, const Acc *a) {
    emit_blocks(e, e->cells.data[a->cell[0]].n, merge_block, (void *)a);
}

/* rest is NaN once the sum is infinite. */
static void finish_block(Emit *e, Block b, void *ctx) {
    const Acc *a = ctx;
    LLVMValueRef sum = cell_load(e, a->cell[0], b), rest = cell_load(e, a->cell[1], b);
    LLVMValueRef finite = NOT(NAN(SUB(sum, sum)));
    cell_store(e, a->cell[0], b, SEL(finite, ADD(sum, rest), sum));
}

void table_sum_finish(Emit *e, const Acc *a) {
    emit_blocks(e, e->cells.data[a->cell[0]].n, finish_block, (void *)a);
}
