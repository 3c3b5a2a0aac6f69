/* matmul: x = a_0 b_0, then x = fma(a_k, b_k, x) with k rising, for a vector of columns at a time.
 *
 * Each step spreads one element of a and multiplies it with a run of b's row. Where that is much code
 * the steps are a loop, so that no load of a weight is invariant in the loops outside: hoisted, there are
 * more of them than registers. */
#include "codegen/prim_llvm.h"

enum { TILE = 8, UNROLLED = 64, FEW_ROWS = 4 };

typedef struct {
    View a, b;           /* [rows.., K] and [rows.., K, N]: see sides() */
    View a_rows, b_rows; /* the row's number -> its elements */
    Source a_source, b_source;
    int64_t num_rows, inner, width;
    int64_t a_step, b_step, b_stride; /* along k, along k, along the columns */
    Dtype dtype;
    int cell;
    LLVMValueRef row, column; /* at hand: the row, the tile's first column */
} Matmul;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* One step of the tile: num vectors of columns; first: x = a b. */
static void tile_step(Emit *e, const Matmul *m, LLVMValueRef k, LLVMValueRef *x, int num,
                      int64_t first_block, bool first) {
    unsigned lanes = emit_lanes(e, m->width);
    LLVMValueRef a_at = emit_add(e, view_element(e, &m->a_rows, m->row), emit_i64(e, m->a.offset));
    LLVMValueRef b_at = emit_add(e, view_element(e, &m->b_rows, m->row), emit_i64(e, m->b.offset));
    a_at = emit_add(e, a_at, emit_mul(e, k, emit_i64(e, m->a_step)));
    b_at = emit_add(e, b_at, emit_mul(e, k, emit_i64(e, m->b_step)));
    b_at = emit_add(e, b_at, emit_mul(e, m->column, emit_i64(e, m->b_stride)));
    Source a = view_advance(e, m->a_source, a_at, 1);
    LLVMValueRef scale = emit_splat(e, emit_load(e, a.ptr, m->dtype, 1, 1, a.align), lanes);
    View run = {.rank = 1, .dim = {m->width}, .stride = {m->b_stride}};
    int64_t columns = least(m->width - first_block * lanes, num * (int64_t)lanes);
    uint64_t reach = (uint64_t)((columns - 1) * m->b_stride + 1);
    Source b = view_advance(e, m->b_source, b_at, reach);
    for (int t = 0; t < num; t++) {
        int64_t left = m->width - (first_block + t) * lanes;
        Block block = {.n = m->width,
                       .number = t,
                       .lanes = lanes,
                       .count = left < lanes ? (unsigned)left : lanes,
                       .offset = emit_i64(e, t * (int64_t)lanes)};
        LLVMValueRef y = view_load(e, &run, b, block);
        x[t] = first ? MUL(scale, y) : FMA(scale, y, x[t]);
    }
}

static void steps_rolled(Emit *e, const Matmul *m, LLVMValueRef *x, int num, int64_t first_block) {
    LLVMTypeRef type = emit_vec(e, m->dtype, emit_lanes(e, m->width));
    LLVMValueRef temp[TILE];
    for (int t = 0; t < num; t++) {
        temp[t] = emit_temp(e, type);
        LLVMBuildStore(e->builder, x[t], temp[t]);
    }
    Loop l = emit_loop(e, emit_i64(e, 1), emit_i64(e, m->inner), emit_i64(e, 1));
    for (int t = 0; t < num; t++) x[t] = LLVMBuildLoad2(e->builder, type, temp[t], "");
    tile_step(e, m, l.index, x, num, first_block, false);
    for (int t = 0; t < num; t++) LLVMBuildStore(e->builder, x[t], temp[t]);
    emit_loop_end(e, &l);
    for (int t = 0; t < num; t++) x[t] = LLVMBuildLoad2(e->builder, type, temp[t], "");
}

/* Columns [m->column, ..): first_block is their block's number, 0 where only whole blocks follow. */
static void tile(Emit *e, const Matmul *m, int num, int64_t first_block) {
    LLVMValueRef x[TILE];
    unsigned lanes = emit_lanes(e, m->width);
    tile_step(e, m, emit_i64(e, 0), x, num, first_block, true);
    if (m->inner * num > UNROLLED) {
        steps_rolled(e, m, x, num, first_block);
    } else {
        for (int64_t k = 1; k < m->inner; k++)
            tile_step(e, m, emit_i64(e, k), x, num, first_block, false);
    }
    LLVMValueRef at = emit_add(e, emit_mul(e, m->row, emit_i64(e, m->width)), m->column);
    LLVMValueRef ptr = cell_pointer(e, m->cell);
    ptr = emit_at(e, ptr, emit_mul(e, at, emit_i64(e, dtype_size(m->dtype))));
    for (int t = 0; t < num; t++) {
        int64_t left = m->width - (first_block + t) * lanes;
        unsigned count = left < lanes ? (unsigned)left : lanes;
        LLVMValueRef to = emit_at(e, ptr, emit_i64(e, t * (int64_t)lanes * dtype_size(m->dtype)));
        emit_store_lanes(e, to, m->dtype, x[t], lanes, count);
    }
}

static void one_row(Emit *e, LLVMValueRef row, void *ctx) {
    Matmul *m = ctx;
    m->row = row;
    unsigned lanes = emit_lanes(e, m->width);
    int64_t num = emit_num_blocks(e, m->width), whole = m->width / lanes / TILE * TILE;
    if (num > TILE) {
        Loop l = emit_loop(e, emit_i64(e, 0), emit_i64(e, whole * lanes),
                           emit_i64(e, TILE * (int64_t)lanes));
        m->column = l.index;
        tile(e, m, TILE, 0);
        emit_loop_end(e, &l);
    } else {
        whole = 0;
    }
    m->column = emit_i64(e, whole * lanes);
    if (num > whole) tile(e, m, (int)(num - whole), whole);
}

/* Row number -> element, over the leading axes and the rows' own; b has no axis of rows. */
static void sides(Emit *e, Val v, Matmul *m) {
    int r = m->a.rank;
    m->a_rows = view_axes(&m->a, 0, r - 1);
    m->b_rows = view_axes(&m->b, 0, r - 1);
    m->b_rows.dim[r - 2] = m->a.dim[r - 2];
    m->b_rows.stride[r - 2] = 0;
    m->num_rows = view_numel(&m->a_rows);
    m->inner = m->a.dim[r - 1];
    m->width = m->b.dim[r - 1];
    m->a_step = m->a.stride[r - 1];
    m->b_step = m->b.stride[r - 2];
    m->b_stride = m->b.stride[r - 1];
    m->dtype = (Dtype)ir_type(e->f, v)->dtype;
}

static void swap_axes(View *w) {
    int i = w->rank - 2, j = w->rank - 1;
    int64_t dim = w->dim[i], stride = w->stride[i];
    w->dim[i] = w->dim[j];
    w->stride[i] = w->stride[j];
    w->dim[j] = dim;
    w->stride[j] = stride;
}

/* One column: (a b) is (b' a')', whose row is the vector. Factors commute bit for bit. */
static bool is_turned(const Emit *e, Val v) {
    const Type *t = ir_type(e->f, v);
    return t->dim[t->rank - 1] == 1 && t->dim[t->rank - 2] > 1;
}

Val matmul_vector_side(const Emit *e, Val v, bool *turned) {
    *turned = is_turned(e, v);
    return ir_arg(e->f, v, *turned ? 0 : 1);
}

/* ---- copies of factors ---- */

static View factor_view(const Emit *e, Val v, bool turned) {
    View w = view_of(e, v);
    if (turned) swap_axes(&w);
    return w;
}

static void copy_block(Emit *e, Block b, void *ctx) {
    Val v = *(const Val *)ctx;
    View w = factor_view(e, v, e->info[v].turned);
    cell_store(e, e->info[v].copy, b, view_load(e, &w, view_source(e, w.base), b));
}

void matmul_copy(Emit *e, Val v) {
    if (memo_get(e, v, KEY_copied)) return;
    memo_put(e, v, KEY_copied, e->args);
    /* A loop, so that SROA leaves the copy in memory: there are more weights than registers. */
    emit_block_loop(e, e->info[v].n, copy_block, &v);
}

/* The vectors' factor: from its copy where it has one, which is dense. */
static void take_vectors(Emit *e, Matmul *m, Val v, bool turned) {
    m->b = factor_view(e, v, turned);
    if (e->info[v].copy == NO_CELL || e->info[v].turned != turned) {
        m->b_source = view_source(e, m->b.base);
        return;
    }
    matmul_copy(e, v);
    m->b_source = cell_source(e, e->info[v].copy);
    m->b.offset = 0;
    int64_t stride = 1;
    for (int k = m->b.rank - 1; k >= 0; k--) {
        m->b.stride[k] = stride;
        stride *= m->b.dim[k];
    }
}

void matmul_fill(Emit *e, Val v) {
    Val a = ir_arg(e->f, v, 0), b = ir_arg(e->f, v, 1);
    Matmul m = {.cell = e->info[v].cell};
    if (e->info[a].n == 0 || e->info[b].n == 0) {
        cell_zero(e, m.cell);
        return;
    }
    bool turned;
    Val vectors = matmul_vector_side(e, v, &turned);
    take_vectors(e, &m, vectors, turned);
    m.a = factor_view(e, turned ? b : a, turned);
    m.a_source = view_source(e, m.a.base);
    sides(e, v, &m);
    emit_each(e, m.num_rows, m.num_rows <= FEW_ROWS, one_row, &m);
}
