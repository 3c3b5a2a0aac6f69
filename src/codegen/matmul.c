/* matmul: x = a_0 b_0, then x = fma(a_k, b_k, x) with k rising, for a tile of rows and vectors of columns.
 *
 * Each step spreads one element of a row of a and multiplies it with a run of b's row. A tile's sums are
 * in registers, and a panel of columns serves all rows before the next one is met, so what is read of b
 * stays in cache. Where steps are much code they are a loop, so that no load of a weight is invariant in
 * the loops outside: hoisted, there are more of them than registers. */
#include "codegen/prim_llvm.h"

enum {
    MOST_COLUMNS = 8,
    FEW_COLUMNS = 4,
    MOST_ROWS = 8,
    MOST_SUMS = 16,
    UNROLLED = 64,
    FEW_ROWS = 4
};

typedef struct {
    View a, b;                 /* [batch.., M, K] and [batch.., K, N] */
    View a_batches, b_batches; /* a batch's number -> its first element */
    Source a_source, b_source;
    int64_t num_batches, rows, inner, width;
    int64_t a_row, a_step, b_step, b_stride; /* along rows; along k, along k, along the columns */
    Dtype dtype;
    int cell, result;                /* stored there, or to the result of that number */
    LLVMValueRef batch, row, column; /* at hand: the batch, the tile's first row and column */
} Matmul;

/* Of rows and vectors of columns; first_block: its number, 0 where only whole blocks follow. */
typedef struct {
    int rows, num;
    int64_t first_block;
} Tile;

enum { SHARED_ROWS = 32 }; /* no fewer rows of a panel go to a share */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The columns' elements of b in row k. */
static void load_columns(Emit *e, const Matmul *m, Tile t, LLVMValueRef k, LLVMValueRef *y) {
    unsigned lanes = emit_lanes(e, m->width);
    LLVMValueRef at =
        emit_add(e, view_element(e, &m->b_batches, m->batch), emit_i64(e, m->b.offset));
    at = emit_add(e, at, emit_mul(e, k, emit_i64(e, m->b_step)));
    at = emit_add(e, at, emit_mul(e, m->column, emit_i64(e, m->b_stride)));
    View run = {.rank = 1, .dim = {m->width}, .stride = {m->b_stride}};
    int64_t columns = least(m->width - t.first_block * lanes, t.num * (int64_t)lanes);
    uint64_t reach = (uint64_t)((columns - 1) * m->b_stride + 1);
    Source b = view_advance(e, m->b_source, at, reach);
    for (int c = 0; c < t.num; c++) {
        int64_t left = m->width - (t.first_block + c) * lanes;
        Block block = {.n = m->width,
                       .number = c,
                       .lanes = lanes,
                       .count = left < lanes ? (unsigned)left : lanes,
                       .offset = emit_i64(e, c * (int64_t)lanes)};
        y[c] = view_load(e, &run, b, block);
    }
}

static LLVMValueRef load_scale(Emit *e, const Matmul *m, int row, LLVMValueRef k) {
    LLVMValueRef at =
        emit_add(e, view_element(e, &m->a_batches, m->batch), emit_i64(e, m->a.offset));
    LLVMValueRef number = emit_add(e, m->row, emit_i64(e, row));
    at = emit_add(e, at, emit_mul(e, number, emit_i64(e, m->a_row)));
    at = emit_add(e, at, emit_mul(e, k, emit_i64(e, m->a_step)));
    Source a = view_advance(e, m->a_source, at, 1);
    return emit_splat(e, emit_load(e, a.ptr, m->dtype, 1, 1, a.align), emit_lanes(e, m->width));
}

/* One step of the tile; first: x = a b. */
static void tile_step(Emit *e, const Matmul *m, Tile t, LLVMValueRef k, LLVMValueRef *x,
                      bool first) {
    LLVMValueRef y[MOST_COLUMNS];
    load_columns(e, m, t, k, y);
    for (int r = 0; r < t.rows; r++) {
        LLVMValueRef scale = load_scale(e, m, r, k), *sum = x + r * t.num;
        for (int c = 0; c < t.num; c++)
            sum[c] = first ? MUL(scale, y[c]) : FMA(scale, y[c], sum[c]);
    }
}

static void steps_rolled(Emit *e, const Matmul *m, Tile t, LLVMValueRef *x) {
    LLVMTypeRef type = emit_vec(e, m->dtype, emit_lanes(e, m->width));
    LLVMValueRef temp[MOST_SUMS];
    int num = t.rows * t.num;
    for (int i = 0; i < num; i++) {
        temp[i] = emit_temp(e, type);
        LLVMBuildStore(e->builder, x[i], temp[i]);
    }
    Loop l = emit_loop(e, emit_i64(e, 1), emit_i64(e, m->inner), emit_i64(e, 1));
    for (int i = 0; i < num; i++) x[i] = LLVMBuildLoad2(e->builder, type, temp[i], "");
    tile_step(e, m, t, l.index, x, false);
    for (int i = 0; i < num; i++) LLVMBuildStore(e->builder, x[i], temp[i]);
    emit_loop_end(e, &l);
    for (int i = 0; i < num; i++) x[i] = LLVMBuildLoad2(e->builder, type, temp[i], "");
}

static void store_row(Emit *e, const Matmul *m, Tile t, int row, LLVMValueRef *sum) {
    int64_t lanes = emit_lanes(e, m->width), size = dtype_size(m->dtype);
    LLVMValueRef at = emit_add(e, emit_mul(e, m->batch, emit_i64(e, m->rows)), m->row);
    at = emit_mul(e, emit_add(e, at, emit_i64(e, row)), emit_i64(e, m->width));
    at = emit_mul(e, emit_add(e, at, m->column), emit_i64(e, size));
    bool out = m->result >= 0;
    LLVMValueRef ptr =
        out ? buffer_data(e, (int)e->f->inputs.len + m->result) : cell_pointer(e, m->cell);
    ptr = emit_at(e, ptr, at);
    for (int c = 0; c < t.num; c++) {
        int64_t left = m->width - (t.first_block + c) * lanes;
        LLVMValueRef to = emit_at(e, ptr, emit_i64(e, c * lanes * size));
        emit_store_lanes(e, to, m->dtype, sum[c], (unsigned)lanes, (unsigned)least(left, lanes));
    }
}

static void tile(Emit *e, const Matmul *m, Tile t) {
    LLVMValueRef x[MOST_SUMS];
    tile_step(e, m, t, emit_i64(e, 0), x, true);
    if (m->inner * t.rows * t.num > UNROLLED) {
        steps_rolled(e, m, t, x);
    } else {
        for (int64_t k = 1; k < m->inner; k++) tile_step(e, m, t, emit_i64(e, k), x, false);
    }
    for (int r = 0; r < t.rows; r++) store_row(e, m, t, r, x + r * t.num);
}

/* Of the first `whole` rows. */
static void tiles(Emit *e, Matmul *m, Tile t, int64_t whole) {
    int64_t size = SHARED_ROWS / t.rows * t.rows, num = (whole + size - 1) / size;
    Share share = emit_share(e, num);
    LLVMValueRef last = emit_mul(e, share.last, emit_i64(e, size)), end = emit_i64(e, whole);
    LLVMValueRef past = LLVMBuildICmp(e->builder, LLVMIntSGT, last, end, "");
    last = LLVMBuildSelect(e->builder, past, end, last, "");
    Loop l = emit_loop(e, emit_mul(e, share.first, emit_i64(e, size)), last, emit_i64(e, t.rows));
    m->row = l.index;
    tile(e, m, t);
    emit_loop_end(e, &l);
    emit_share_end(e, share);
}

/* All rows' part in the columns from m->column on. */
static void panel(Emit *e, Matmul *m, Tile t) {
    int64_t sums = e->target->num_vectors / 2, most = least(MOST_ROWS, sums / t.num);
    t.rows = (int)(m->rows == 1 || most < 1 ? 1 : least(m->rows, most));
    int64_t whole = m->rows / t.rows * t.rows;
    if (whole > t.rows) {
        tiles(e, m, t, whole);
    } else {
        m->row = emit_i64(e, 0);
        tile(e, m, t);
    }
    m->row = emit_i64(e, whole);
    t.rows = (int)(m->rows - whole);
    if (!t.rows) return;
    If only = {0};
    bool cut = e->share.open;
    if (cut) only = emit_if(e, emit_is_first_share(e));
    tile(e, m, t);
    if (cut) emit_if_end(e, &only);
}

/* Vectors of columns at a time: all of a few, else as many as leave room for rows. */
static int columns_at_once(const Matmul *m, int64_t num) {
    if (m->rows == 1) return (int)least(num, MOST_COLUMNS);
    return num <= FEW_COLUMNS ? (int)num : FEW_COLUMNS / 2;
}

static void one_batch(Emit *e, LLVMValueRef batch, void *ctx) {
    Matmul *m = ctx;
    m->batch = batch;
    int64_t lanes = emit_lanes(e, m->width), num = emit_num_blocks(e, m->width);
    Tile t = {.num = columns_at_once(m, num)};
    int64_t whole = m->width / lanes / t.num * t.num;
    if (num > t.num) {
        Loop l =
            emit_loop(e, emit_i64(e, 0), emit_i64(e, whole * lanes), emit_i64(e, t.num * lanes));
        m->column = l.index;
        panel(e, m, t);
        emit_loop_end(e, &l);
    } else {
        whole = 0;
    }
    m->column = emit_i64(e, whole * lanes);
    if (num > whole) panel(e, m, (Tile){.num = (int)(num - whole), .first_block = whole});
}

static void sides(Emit *e, Val v, Matmul *m) {
    int r = m->a.rank;
    m->a_batches = view_axes(&m->a, 0, r - 2);
    m->b_batches = view_axes(&m->b, 0, r - 2);
    m->num_batches = view_numel(&m->a_batches);
    m->rows = m->a.dim[r - 2];
    m->inner = m->a.dim[r - 1];
    m->width = m->b.dim[r - 1];
    m->a_row = m->a.stride[r - 2];
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

bool matmul_splits(const Emit *e, Val v) {
    const Type *t = ir_type(e->f, v);
    int64_t rows = t->dim[t->rank - 2],
            all = type_numel(t) / (t->dim[t->rank - 1] ? t->dim[t->rank - 1] : 1);
    bool none = e->info[ir_arg(e->f, v, 0)].n == 0 || e->info[ir_arg(e->f, v, 1)].n == 0;
    return !none && !is_turned(e, v) && (all > rows ? all > FEW_ROWS : rows >= 2 * MOST_ROWS);
}

int matmul_result(const Emit *e, Val v) {
    int found = -1;
    bool plain = ir_op(e->f, v) == OP_matmul && !analyze_is_outer(e, v) && !e->info[v].uses;
    if (!e->num_shares || !plain || e->info[ir_arg(e->f, v, 0)].n == 0) return -1;
    for (uint32_t k = 0; k < e->f->results.len; k++) {
        if (e->f->results.data[k].val != v) continue;
        if (found >= 0) return -1;
        found = (int)k;
    }
    return found;
}

void matmul_fill(Emit *e, Val v) {
    Val a = ir_arg(e->f, v, 0), b = ir_arg(e->f, v, 1);
    Matmul m = {.cell = e->info[v].cell, .result = matmul_result(e, v)};
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
    bool few = m.num_batches * m.rows <= FEW_ROWS || m.num_batches == 1;
    emit_each(e, m.num_batches, few, one_batch, &m);
}
