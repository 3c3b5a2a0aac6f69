/* Sums of outer products over edges, a group at a time: the gradient of a weight.
 *
 * Per edge only the two factors are put aside; at the group's end a tile of the sum is held in registers
 * while the group's edges go by, in order: each element is rounded as if edges came one at a time. */
#include "codegen/prim_llvm.h"

typedef LLVMValueRef V;

enum { TILE = 8, MOST_COLUMNS = 4, FEWEST = 8, MOST_FACTORS = 512 };

/* sum[i, j] over edges of x[i] y[j]. */
typedef struct {
    const Acc *a;
    Val x, y;
    int64_t rows, width;
    Dtype dtype;
} Outer;

static Outer outer_of(const Emit *e, const Acc *a) {
    Val v = ir_arg(e->f, a->anchor, 0);
    const Type *t = ir_type(e->f, v);
    return (Outer){.a = a,
                   .x = ir_arg(e->f, v, 0),
                   .y = ir_arg(e->f, v, 1),
                   .rows = t->dim[t->rank - 2],
                   .width = t->dim[t->rank - 1],
                   .dtype = (Dtype)t->dtype};
}

bool outer_is_tiled(const Emit *e, const Acc *a) {
    bool sum = a->kind == ACC_reduce && a->level == LEVEL_edge && a->sums && !a->narrow;
    if (e->kernel->schedule != SCHEDULE_edge_tiles || !sum) return false;
    Val v = ir_arg(e->f, a->anchor, 0);
    if (ir_op(e->f, v) != OP_matmul || e->info[v].cell != NO_CELL) return false;
    Outer o = outer_of(e, a);
    bool one = o.rows * o.width == e->info[v].n && analyze_is_outer(e, v);
    bool fits = e->info[v].n >= FEWEST && o.rows + o.width <= MOST_FACTORS;
    return one && fits && !scan_is_reversed(e, a->phase);
}

/* ---- factors ---- */

static int64_t padded(const Emit *e, int64_t n) { return emit_num_blocks(e, n) * emit_lanes(e, n); }

uint64_t outer_bytes(const Emit *e, const Acc *a) {
    Outer o = outer_of(e, a);
    int64_t each = padded(e, o.rows) + padded(e, o.width);
    return (uint64_t)(each * CARRY_GROUP * dtype_size(o.dtype));
}

void outer_open(Emit *e, Acc *a) {
    Outer o = outer_of(e, a);
    if (a->factor[0]) return;
    LLVMTypeRef type = emit_type(e, o.dtype);
    a->factor[0] = emit_room(e, type, padded(e, o.rows) * CARRY_GROUP);
    a->factor[1] = emit_room(e, type, padded(e, o.width) * CARRY_GROUP);
}

/* Element i of edge `number`'s factor of n elements. */
static V factor_at(Emit *e, const Outer *o, int which, V number, V i) {
    int64_t n = which ? o->width : o->rows;
    V at = emit_add(e, emit_mul(e, number, emit_i64(e, padded(e, n))), i);
    return emit_at(e, o->a->factor[which], emit_mul(e, at, emit_i64(e, dtype_size(o->dtype))));
}

typedef struct {
    const Outer *o;
    int which;
    V number;
} Put;

static void put_block(Emit *e, Block b, void *ctx) {
    const Put *p = ctx;
    V ptr = factor_at(e, p->o, p->which, p->number, b.offset);
    V value = emit_eval(e, p->which ? p->o->y : p->o->x, b);
    emit_store(e, ptr, p->o->dtype, value, b.lanes, b.lanes, (unsigned)dtype_size(p->o->dtype));
}

void outer_step(Emit *e, const Acc *a, V number) {
    Outer o = outer_of(e, a);
    emit_ensure(e, o.x);
    emit_ensure(e, o.y);
    emit_blocks(e, o.rows, put_block, &(Put){&o, 0, number});
    emit_blocks(e, o.width, put_block, &(Put){&o, 1, number});
}

/* ---- tiles of the sum ---- */

typedef struct {
    const Outer *o;
    V row;         /* the first of num_rows */
    int64_t block; /* the first of num_blocks of columns */
    int num_rows, num_blocks;
    V count;     /* edges */
    V sum[TILE]; /* slots, by row and block */
} Tile;

static unsigned columns_of(Emit *e, const Outer *o, int64_t block) {
    int64_t lanes = emit_lanes(e, o->width), left = o->width - block * lanes;
    return (unsigned)(left < lanes ? left : lanes);
}

static void transfer(Emit *e, const Tile *t, bool in) {
    const Outer *o = t->o;
    unsigned lanes = emit_lanes(e, o->width), size = (unsigned)dtype_size(o->dtype);
    LLVMTypeRef type = emit_vec(e, o->dtype, lanes);
    for (int r = 0; r < t->num_rows; r++)
        for (int k = 0; k < t->num_blocks; k++) {
            V at = emit_mul(e, emit_add(e, t->row, emit_i64(e, r)), emit_i64(e, o->width));
            at = emit_add(e, at, emit_i64(e, (t->block + k) * lanes));
            V ptr = emit_at(e, cell_pointer(e, o->a->cell[0]), emit_mul(e, at, emit_i64(e, size)));
            V slot = t->sum[r * t->num_blocks + k];
            unsigned count = columns_of(e, o, t->block + k);
            if (in)
                LLVMBuildStore(e->builder, emit_load(e, ptr, o->dtype, lanes, count, size), slot);
            else
                emit_store_lanes(e, ptr, o->dtype, LLVMBuildLoad2(e->builder, type, slot, ""),
                                 lanes, count);
        }
}

static void add_edge(Emit *e, const Tile *t, V number) {
    const Outer *o = t->o;
    unsigned lanes = emit_lanes(e, o->width), size = (unsigned)dtype_size(o->dtype);
    LLVMTypeRef type = emit_vec(e, o->dtype, lanes);
    V y[MOST_COLUMNS];
    for (int k = 0; k < t->num_blocks; k++) {
        V ptr = factor_at(e, o, 1, number, emit_i64(e, (t->block + k) * lanes));
        y[k] = emit_load(e, ptr, o->dtype, lanes, lanes, size);
    }
    for (int r = 0; r < t->num_rows; r++) {
        V ptr = factor_at(e, o, 0, number, emit_add(e, t->row, emit_i64(e, r)));
        V x = emit_splat(e, emit_load(e, ptr, o->dtype, 1, 1, size), lanes);
        for (int k = 0; k < t->num_blocks; k++) {
            V slot = t->sum[r * t->num_blocks + k],
              old = LLVMBuildLoad2(e->builder, type, slot, "");
            LLVMBuildStore(e->builder, ADD(old, LLVMBuildFMul(e->builder, x, y[k], "")), slot);
        }
    }
}

static void add_tile(Emit *e, Tile *t) {
    LLVMTypeRef type = emit_vec(e, t->o->dtype, emit_lanes(e, t->o->width));
    for (int k = 0; k < t->num_rows * t->num_blocks; k++) t->sum[k] = emit_temp(e, type);
    transfer(e, t, true);
    Loop l = emit_loop(e, emit_i64(e, 0), t->count, emit_i64(e, 1));
    add_edge(e, t, l.index);
    emit_loop_end(e, &l);
    transfer(e, t, false);
}

void outer_close(Emit *e, const Acc *a, V count) {
    Outer o = outer_of(e, a);
    int64_t num = emit_num_blocks(e, o.width);
    for (int64_t block = 0; block < num; block += MOST_COLUMNS) {
        Tile t = {.o = &o, .block = block, .count = count};
        t.num_blocks = (int)(num - block < MOST_COLUMNS ? num - block : MOST_COLUMNS);
        t.num_rows = TILE / t.num_blocks;
        int64_t whole = o.rows / t.num_rows * t.num_rows;
        Loop l = emit_loop(e, emit_i64(e, 0), emit_i64(e, whole), emit_i64(e, t.num_rows));
        t.row = l.index;
        add_tile(e, &t);
        emit_loop_end(e, &l);
        t.row = emit_i64(e, whole);
        t.num_rows = (int)(o.rows - whole);
        if (t.num_rows) add_tile(e, &t);
    }
}
