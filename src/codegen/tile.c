/* Sweeps in edge lanes.
 *
 * A tile is a run of TILE_EDGES positions at most, whatever rows they belong to: short rows fill lanes as
 * well as long ones do. What the row's accumulators take in is computed for the whole tile, EDGE_LANES
 * edges at a time, into memory that stays in L1: element i of edge p at i * room + p. Then rows take
 * their groups of edges from there. A tile starts at the group that was not in the last one. Kernels of
 * several phases need the row's own values on its edges: there a tile ends with the row. */
#include "codegen/prefetch.h"
#include "codegen/prim_llvm.h"

#include <stddef.h>

typedef LLVMValueRef V;

enum { TILE_EDGES = 256 };

/* Edges that a tile has memory for: what a group reads past its end as well. */
static int64_t room(const Emit *e) {
    int64_t edges = e->rows_in_lanes ? EDGE_LANES * CARRY_GROUP : TILE_EDGES;
    return edges + 2 * EDGE_LANES;
}

static bool spans_rows(const Emit *e) { return e->kernel->num_phases == 1; }

static LLVMTypeRef index_type(Emit *e) { return e->request->wide ? e->i64 : e->i32; }

/* ---- a value's elements on the tile ---- */

static int64_t element_size(const Emit *e, Val v) {
    return dtype_size((Dtype)ir_type(e->f, v)->dtype);
}

/* Element i of the edge at `number` in the tile, and those after it. */
V tile_place(Emit *e, Val v, int64_t i, V number) {
    Info *info = &e->info[v];
    LLVMTypeRef element = LLVMGetElementType(lanes_type(e, (Dtype)ir_type(e->f, v)->dtype));
    if (!info->tile) info->tile = emit_room(e, element, info->n * room(e));
    V at = emit_add(e, number, emit_i64(e, i * room(e)));
    return emit_at(e, info->tile, emit_mul(e, at, emit_i64(e, element_size(e, v))));
}

static void keep_value(Emit *e, Val v, V number) {
    Dtype d = (Dtype)ir_type(e->f, v)->dtype;
    for (int64_t i = 0; i < e->info[v].n; i++)
        emit_store(e, tile_place(e, v, i, number), d, lanes_eval(e, v, i), EDGE_LANES, EDGE_LANES,
                   (unsigned)dtype_size(d));
}

static V take_lanes(Emit *e, Val v, int64_t i, V number) {
    Dtype d = (Dtype)ir_type(e->f, v)->dtype;
    return emit_load(e, tile_place(e, v, i, number), d, EDGE_LANES, EDGE_LANES,
                     (unsigned)dtype_size(d));
}

/* ---- what a phase sweeps ---- */

static bool is_swept(const Acc *a, int phase) {
    return a->level == LEVEL_edge && a->phase == phase;
}

/* fn on each operand of the phase's accumulators, once. */
static void for_operands(Emit *e, int phase, void (*fn)(Emit *e, Val v, V number), V number) {
    uint8_t *seen = ARENA_ARRAY(e->arena, uint8_t, ir_count(e->f));
    for (uint32_t k = 0; k < e->accs.len; k++) {
        const Val *operand;
        uint32_t num = acc_operands(e, &e->accs.data[k], &operand);
        for (uint32_t i = 0; is_swept(&e->accs.data[k], phase) && i < num; i++)
            if (!seen[operand[i]]++) fn(e, operand[i], number);
    }
}

static void store_results(Emit *e, int phase) {
    for (uint32_t k = 0; k < e->f->results.len; k++) {
        Val v = e->f->results.data[k].val;
        if (level_of(e, v) == LEVEL_edge && e->kernel->place[v].phase == phase)
            lanes_store_result(e, k);
    }
}

static bool needs_rows(const Emit *e) {
    for (Val v = 1; v < ir_count(e->f); v++)
        if (e->info[v].live && ir_op(e->f, v) == OP_gather &&
            ir_node(e->f, v)->attr.map == e->kernel->map)
            return spans_rows(e);
    return false;
}

/* ---- making a tile ---- */

/* Row numbers of positions [first, last), from the row at hand on; `first` is one of its. */
static void number_rows(Emit *e, V first, V last) {
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(e->context, e->function, "");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->context, e->function, "");
    V row_ptr = emit_argument(e, e->args, offsetof(KernelArgs, row_ptr), e->ptr);
    LLVMBuildBr(e->builder, body);
    LLVMPositionBuilderAtEnd(e->builder, body);
    V row = LLVMBuildPhi(e->builder, e->i64, ""), pos = LLVMBuildPhi(e->builder, e->i64, "");
    LLVMAddIncoming(row, &e->row, &before, 1);
    LLVMAddIncoming(pos, &first, &before, 1);
    V end = emit_field(e, LLVMBuildGEP2(e->builder, e->i64, row_ptr, &row, 1, ""), 8, e->i64);
    V inside = LLVMBuildICmp(e->builder, LLVMIntSLT, end, last, "");
    V stop = SEL(inside, end, last);
    V index = e->request->wide ? row : LLVMBuildTrunc(e->builder, row, e->i32, "");
    V all = emit_splat(e, index, EDGE_LANES);
    Loop l = emit_loop(e, pos, stop, emit_i64(e, EDGE_LANES));
    V number = LLVMBuildSub(e->builder, l.index, first, "");
    V at = LLVMBuildGEP2(e->builder, index_type(e), e->lane.ids, &number, 1, "");
    LLVMSetAlignment(LLVMBuildStore(e->builder, all, at), e->request->wide ? 8 : 4);
    emit_loop_end(e, &l);
    V next = emit_add(e, row, emit_i64(e, 1));
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
    LLVMAddIncoming(row, &next, &latch, 1);
    LLVMAddIncoming(pos, &stop, &latch, 1);
    LLVMBuildCondBr(e->builder, inside, body, done);
    LLVMMoveBasicBlockAfter(done, latch);
    LLVMPositionBuilderAtEnd(e->builder, done);
}

/* The index vectors of EDGE_LANES positions from `number` in the tile on. */
static void open_lanes(Emit *e, V first, V last, V number, bool rows) {
    lanes_at(e, emit_add(e, first, number), last);
    V cols = emit_argument(e, e->args, offsetof(KernelArgs, col), e->ptr);
    e->lane.col = lanes_load_index(e, cols);
    if (e->request->has_edge)
        e->lane.edge =
            lanes_load_index(e, emit_argument(e, e->args, offsetof(KernelArgs, edge), e->ptr));
    if (!rows) return;
    LLVMTypeRef type = LLVMVectorType(index_type(e), EDGE_LANES);
    V at = LLVMBuildGEP2(e->builder, index_type(e), e->lane.ids, &number, 1, "");
    V ids = LLVMBuildLoad2(e->builder, type, at, "");
    LLVMSetAlignment(ids, e->request->wide ? 8 : 4);
    e->lane.row = SEL(e->lane.mask, ids, emit_splat(e, emit_lane(e, ids, 0), EDGE_LANES));
}

static void make_tile(Emit *e, int phase, V first, V last) {
    bool rows = needs_rows(e);
    if (rows && !e->lane.ids) e->lane.ids = emit_room(e, index_type(e), room(e));
    if (rows) number_rows(e, first, last);
    V count = LLVMBuildSub(e->builder, last, first, "");
    Prefetch ahead = prefetch_new(e, phase);
    Loop l = emit_loop(e, emit_i64(e, 0), count, emit_i64(e, EDGE_LANES));
    open_lanes(e, first, last, l.index, rows);
    prefetch_lanes(e, &ahead);
    for_operands(e, phase, keep_value, l.index);
    store_results(e, phase);
    emit_loop_end(e, &l);
}

/* ---- a group out of the tile ---- */

static V mask_from(Emit *e, V count, unsigned first) {
    V lane[EDGE_LANES], num = LLVMBuildTrunc(e->builder, count, e->i32, "");
    for (unsigned l = 0; l < EDGE_LANES; l++) lane[l] = LLVMConstInt(e->i32, first + l, false);
    V number = LLVMConstVector(lane, EDGE_LANES);
    return LLVMBuildICmp(e->builder, LLVMIntSLT, number, emit_splat(e, num, EDGE_LANES), "");
}

/* Element i of the group's edges, added up in lanes: floats from -0, which changes nothing, integers from 0. */
V tile_group_lanes(Emit *e, const Acc *a, int64_t i, V number, V count) {
    Val x = ir_arg(e->f, a->anchor, 0);
    Dtype from = (Dtype)ir_type(e->f, x)->dtype, to = (Dtype)ir_type(e->f, a->anchor)->dtype;
    V none = fold_neutral(e, to, false, EDGE_LANES), half[2];
    for (unsigned k = 0; k < 2; k++) {
        V at = emit_add(e, number, emit_i64(e, k * EDGE_LANES));
        V value = elem_cast(e, take_lanes(e, x, i, at), from, to, EDGE_LANES);
        half[k] = SEL(mask_from(e, count, k * EDGE_LANES), value, none);
    }
    return ADD(half[0], half[1]);
}

/* A block of a few features out of single ones. */
typedef V ElementFn(Emit *e, int64_t i, void *ctx);
static V assemble(Emit *e, Dtype d, Block b, ElementFn *element, void *ctx) {
    V value = LLVMConstNull(emit_vec(e, d, b.lanes));
    for (unsigned l = 0; l < b.count; l++) {
        V x = element(e, b.number * b.lanes + l, ctx);
        if (b.lanes == 1) return x;
        value = LLVMBuildInsertElement(e->builder, value, x, LLVMConstInt(e->i32, l, false), "");
    }
    return value;
}

typedef struct {
    const Acc *a;
    V number, count;
} Group;

/* How many of the group's edges are true: of their bits, not by a tree of integers. */
static V count_truths(Emit *e, Val x, int64_t i, const Group *g) {
    LLVMTypeRef half = LLVMIntTypeInContext(e->context, EDGE_LANES);
    V bits = LLVMConstInt(e->i32, 0, false);
    for (unsigned k = 0; k < 2; k++) {
        V at = emit_add(e, g->number, emit_i64(e, k * EDGE_LANES));
        V inside = mask_from(e, g->count, k * EDGE_LANES);
        V lanes = LLVMBuildAnd(e->builder, take_lanes(e, x, i, at), inside, "");
        lanes = LLVMBuildBitCast(e->builder, lanes, half, "");
        lanes = LLVMBuildZExt(e->builder, lanes, e->i32, "");
        V place = LLVMConstInt(e->i32, k * EDGE_LANES, false);
        bits = LLVMBuildOr(e->builder, bits, LLVMBuildShl(e->builder, lanes, place, ""), "");
    }
    return LLVMBuildZExt(e->builder, emit_call(e, "llvm.ctpop", &e->i32, 1, &bits, 1), e->i64, "");
}

static V group_element(Emit *e, int64_t i, void *ctx) {
    const Group *g = ctx;
    Val x = ir_arg(e->f, g->a->anchor, 0);
    if (ir_type(e->f, x)->dtype == DT_bool) return count_truths(e, x, i, g);
    return group_tree(e, tile_group_lanes(e, g->a, i, g->number, g->count), 1);
}

static void add_block(Emit *e, Block b, void *ctx) {
    const Group *g = ctx;
    Dtype d = (Dtype)ir_type(e->f, g->a->anchor)->dtype;
    int cell = g->a->cell[0];
    V sum = assemble(e, d, b, group_element, ctx);
    cell_store(e, cell, b, ADD(cell_load(e, cell, b), sum));
}

static void add_group(Emit *e, Group g) {
    emit_blocks(e, e->cells.data[g.a->cell[0]].n, add_block, &g);
}

/* ---- accumulators that take edges one by one ---- */

typedef struct {
    Val v;
    V number;
} One;

static V one_element(Emit *e, int64_t i, void *ctx) {
    const One *one = ctx;
    Dtype d = (Dtype)ir_type(e->f, one->v)->dtype;
    return emit_load(e, tile_place(e, one->v, i, one->number), d, 1, 1, (unsigned)dtype_size(d));
}

static void one_block(Emit *e, Block b, void *ctx) {
    const One *one = ctx;
    Dtype d = (Dtype)ir_type(e->f, one->v)->dtype;
    memo_put(e, one->v, b.number, assemble(e, d, b, one_element, ctx));
}

/* Operand v on the edge at `number` in the tile, for acc_step. */
static void take_operand(Emit *e, Val v, V number) {
    One one = {v, number};
    memo_put(e, v, KEY_filled, e->args);
    emit_blocks(e, e->info[v].n, one_block, &one);
}

/* Sums of integers are the same in any order. */
bool tile_takes_groups(const Emit *e, const Acc *a) {
    if (a->kind != ACC_reduce) return false;
    return a->narrow || !dtype_is_float((Dtype)ir_type(e->f, a->anchor)->dtype);
}

static void step_one_by_one(Emit *e, int phase, V number, V count) {
    bool any = false;
    for (uint32_t k = 0; k < e->accs.len; k++)
        any |= is_swept(&e->accs.data[k], phase) && !tile_takes_groups(e, &e->accs.data[k]);
    if (!any) return;
    Loop l = emit_loop(e, number, emit_add(e, number, count), emit_i64(e, 1));
    for_operands(e, phase, take_operand, l.index);
    for (uint32_t k = 0; k < e->accs.len; k++)
        if (is_swept(&e->accs.data[k], phase) && !tile_takes_groups(e, &e->accs.data[k]))
            acc_step(e, &e->accs.data[k]);
    emit_loop_end(e, &l);
}

/* ---- sweeps ---- */

uint64_t tile_bytes(const Emit *e) {
    uint64_t bytes = (uint64_t)room(e) * sizeof(int64_t); /* the rows' numbers */
    for (uint32_t k = 0; k < e->accs.len; k++) {
        const Acc *a = &e->accs.data[k];
        const Val *operand;
        uint32_t num = acc_operands(e, a, &operand);
        for (uint32_t i = 0; a->level == LEVEL_edge && i < num; i++)
            bytes += (uint64_t)(e->info[operand[i]].n * room(e) * element_size(e, operand[i]));
    }
    return bytes;
}

void tile_open(Emit *e, V limit) {
    e->lane.limit = limit;
    e->lane.ids = NULL;
    e->lane.first = emit_temp(e, e->i64);
    e->lane.end = emit_temp(e, e->i64);
    for (Val v = 1; v < ir_count(e->f); v++) e->info[v].tile = NULL;
    LLVMBuildStore(e->builder, emit_i64(e, 0), e->lane.first);
    LLVMBuildStore(e->builder, emit_i64(e, 0), e->lane.end);
}

void tile_sweep(Emit *e, V last) {
    if (spans_rows(e)) return;
    LLVMBuildStore(e->builder, emit_i64(e, 0), e->lane.end);
    e->lane.limit = last;
}

void tile_make(Emit *e, V first, V last) {
    LLVMBuildStore(e->builder, emit_i64(e, 0), e->lane.end);
    make_tile(e, 0, first, last);
}

void tile_group(Emit *e, int phase, V first, V last) {
    V end = LLVMBuildLoad2(e->builder, e->i64, e->lane.end, "");
    If missing = emit_if(e, LLVMBuildICmp(e->builder, LLVMIntSGT, last, end, ""));
    V stop = emit_add(e, first, emit_i64(e, TILE_EDGES));
    V inside = LLVMBuildICmp(e->builder, LLVMIntSLT, stop, e->lane.limit, "");
    stop = SEL(inside, stop, e->lane.limit);
    LLVMBuildStore(e->builder, first, e->lane.first);
    LLVMBuildStore(e->builder, stop, e->lane.end);
    make_tile(e, phase, first, stop);
    emit_if_end(e, &missing);
    V start = LLVMBuildLoad2(e->builder, e->i64, e->lane.first, "");
    Group g = {.number = LLVMBuildSub(e->builder, first, start, ""),
               .count = LLVMBuildSub(e->builder, last, first, "")};
    for (uint32_t k = 0; k < e->accs.len; k++) {
        g.a = &e->accs.data[k];
        if (is_swept(g.a, phase) && tile_takes_groups(e, g.a)) add_group(e, g);
    }
    step_one_by_one(e, phase, g.number, g.count);
}
