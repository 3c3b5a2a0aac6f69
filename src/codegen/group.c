/* What accumulators do with a group of at most CARRY_GROUP edges of a row that come one at a time.
 *
 * Narrow sums: the edges of a group fold as fsum folds features (ir/prim.h): 16 lanes, then a halving
 * tree, and the accumulator takes the group's sum. Every schedule does so, hence gives the same bits.
 * Sums of outer products wait for the group's end (outer.c); all others take each edge as it comes. */
#include "codegen/prim_llvm.h"

typedef LLVMValueRef V;

/* EDGE_LANES lanes of `width` elements each. */
V group_tree(Emit *e, V x, unsigned width) {
    for (unsigned h = EDGE_LANES / 2 * width; h >= width; h /= 2)
        x = ADD(emit_pick(e, x, 0, h), emit_pick(e, x, h, h));
    return x;
}

/* ---- narrow sums, one edge at a time: a block of features in each of the group's lanes ---- */

typedef struct {
    const Acc *a;
    V number;
} Narrow;

static V narrow_at(Emit *e, const Acc *a, Block b, V lane) {
    int64_t size = dtype_size((Dtype)ir_type(e->f, a->anchor)->dtype);
    V at = emit_mul(e, lane, emit_i64(e, b.lanes * size));
    return emit_at(e, a->lanes,
                   emit_add(e, at, emit_i64(e, b.number * EDGE_LANES * b.lanes * size)));
}

static void open_block(Emit *e, Block b, void *ctx) {
    const Acc *a = ((const Narrow *)ctx)->a;
    Dtype d = (Dtype)ir_type(e->f, a->anchor)->dtype;
    unsigned all = EDGE_LANES * b.lanes;
    V none = fold_neutral(e, d, false, all);
    emit_store(e, narrow_at(e, a, b, emit_i64(e, 0)), d, none, all, all, (unsigned)dtype_size(d));
}

static void narrow_open(Emit *e, Acc *a) {
    const Cell *c = &e->cells.data[a->cell[0]];
    if (!a->lanes)
        a->lanes = emit_room(e, emit_type(e, c->dtype), (int64_t)cell_padded(e, c) * EDGE_LANES);
    emit_blocks(e, c->n, open_block, &(Narrow){.a = a});
}

static void step_block(Emit *e, Block b, void *ctx) {
    const Narrow *w = ctx;
    Val x = ir_arg(e->f, w->a->anchor, 0);
    Dtype d = (Dtype)ir_type(e->f, x)->dtype;
    V ptr = narrow_at(e, w->a, b, w->number);
    V old = emit_load(e, ptr, d, b.lanes, b.lanes, (unsigned)dtype_size(d));
    V sum = ADD(old, emit_eval(e, x, b));
    emit_store(e, ptr, d, sum, b.lanes, b.lanes, (unsigned)dtype_size(d));
}

static void narrow_step(Emit *e, const Acc *a, V number) {
    Val x = ir_arg(e->f, a->anchor, 0);
    emit_ensure(e, x);
    Narrow w = {a, LLVMBuildAnd(e->builder, number, emit_i64(e, EDGE_LANES - 1), "")};
    emit_blocks(e, e->info[x].n, step_block, &w);
}

static void close_block(Emit *e, Block b, void *ctx) {
    const Acc *a = ((const Narrow *)ctx)->a;
    Dtype d = (Dtype)ir_type(e->f, a->anchor)->dtype;
    unsigned all = EDGE_LANES * b.lanes;
    V lanes = narrow_at(e, a, b, emit_i64(e, 0));
    V sum = group_tree(e, emit_load(e, lanes, d, all, all, (unsigned)dtype_size(d)), b.lanes);
    cell_store(e, a->cell[0], b, ADD(cell_load(e, a->cell[0], b), sum));
}

static void narrow_close(Emit *e, const Acc *a) {
    emit_blocks(e, e->cells.data[a->cell[0]].n, close_block, &(Narrow){.a = a});
}

/* ---- all kinds ---- */

static bool is_swept(const Acc *a, int phase) {
    return a->level == LEVEL_edge && a->phase == phase;
}

void group_open(Emit *e, int phase) {
    for (uint32_t k = 0; k < e->accs.len; k++) {
        Acc *a = &e->accs.data[k];
        if (!is_swept(a, phase)) continue;
        if (a->kind == ACC_scan) scan_open(e, a);
        else if (a->narrow) narrow_open(e, a);
        else if (outer_is_tiled(e, a)) outer_open(e, a);
    }
}

void group_step(Emit *e, int phase, V first) {
    V number = LLVMBuildSub(e->builder, e->pos, first, "");
    for (uint32_t k = 0; k < e->accs.len; k++) {
        const Acc *a = &e->accs.data[k];
        if (!is_swept(a, phase)) continue;
        if (a->narrow) narrow_step(e, a, number);
        else if (outer_is_tiled(e, a)) outer_step(e, a, number);
        else acc_step(e, a);
    }
}

void group_close(Emit *e, int phase, V first, V last) {
    for (uint32_t k = 0; k < e->accs.len; k++) {
        const Acc *a = &e->accs.data[k];
        if (!is_swept(a, phase)) continue;
        if (a->kind == ACC_scan) scan_close(e, a);
        else if (a->narrow) narrow_close(e, a);
        else if (outer_is_tiled(e, a)) outer_close(e, a, LLVMBuildSub(e->builder, last, first, ""));
    }
}
