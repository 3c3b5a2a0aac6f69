/* Short rows in edge lanes, EDGE_LANES of them at once.
 *
 * Where each of that many rows has no more edges than a group, their edges make one tile, and their sums
 * one vector: a row's group is folded to EDGE_LANES lanes as ever, and the halving trees of all rows run
 * side by side, halves of two rows in a vector, then quarters of four, and so on. A row's additions are
 * those of tile.c, in its order. Accumulators that take edge after edge do so with a row in each lane of
 * their cells. What the rows give is computed in lanes of rows. */
#include "codegen/prim_llvm.h"

#include <stddef.h>

typedef LLVMValueRef V;

enum { FEW_FEATURES = 8, FEW_VECTORS = 64, SECTION = 4 };

/* ---- where it can be ---- */

/* Whether lanes can compute v, a value of rows: from sums, inputs, and others like it. */
static bool is_of_lanes(const Emit *e, Val v) {
    Op op = ir_op(e->f, v);
    switch (op_info[op].class) {
    case CLASS_elem: return true;
    case CLASS_shape: return op != OP_take && op != OP_put;
    case CLASS_along: return op == OP_degree || op == OP_iota || op == OP_gather || op == OP_reduce;
    case CLASS_frame: return op == OP_input || op == OP_constant || op == OP_result;
    }
    return false;
}

static bool has_few(const Emit *e, const Acc *a) {
    for (int k = 0; k < 3; k++)
        if (a->cell[k] != NO_CELL && e->cells.data[a->cell[k]].n > FEW_FEATURES) return false;
    return true;
}

static bool are_of_rows(const Emit *e) {
    for (uint32_t k = 0; k < e->accs.len; k++) {
        const Acc *a = &e->accs.data[k];
        bool no = a->slot || a->puts || a->kind == ACC_scan || a->level != LEVEL_edge;
        if (no || !has_few(e, a)) return false;
    }
    return e->accs.len > 0;
}

bool rowlanes_can(const Emit *e) {
    const Kernel *k = e->kernel;
    if (k->schedule != SCHEDULE_edge_lanes || k->map == MAP_NONE || k->num_phases != 1)
        return false;
    int64_t sum = 0;
    for (Val v = 1; v < ir_count(e->f); v++) {
        if (!e->info[v].live || level_of(e, v) != LEVEL_row) continue;
        if (!is_of_lanes(e, v) || e->info[v].n > FEW_FEATURES) return false;
        sum += e->info[v].n;
    }
    return sum <= FEW_VECTORS && are_of_rows(e);
}

/* ---- trees side by side ---- */

/* The next step of the trees in a and b, each of which holds rows of 2 h lanes: one vector of rows of h
 * lanes, a's first. From SECTION lanes on, a's and b's take turns by section: that is one instruction. */
static V halve(Emit *e, V a, V b, unsigned h) {
    unsigned unit = 2 * h > SECTION ? EDGE_LANES : SECTION, n = 0;
    V low[EDGE_LANES], high[EDGE_LANES];
    for (unsigned from = 0; from < EDGE_LANES; from += unit)
        for (unsigned side = 0; side < 2; side++)
            for (unsigned row = 0; row < unit; row += 2 * h)
                for (unsigned l = 0; l < h; l++, n++) {
                    unsigned at = side * EDGE_LANES + from + row + l;
                    low[n] = LLVMConstInt(e->i32, at, false);
                    high[n] = LLVMConstInt(e->i32, at + h, false);
                }
    V x = LLVMBuildShuffleVector(e->builder, a, b, LLVMConstVector(low, EDGE_LANES), "");
    V y = LLVMBuildShuffleVector(e->builder, a, b, LLVMConstVector(high, EDGE_LANES), "");
    return ADD(x, y);
}

typedef struct {
    const Acc *a;
    int64_t element;
    V number[EDGE_LANES], count[EDGE_LANES]; /* of the rows: first edge in the tile, edges */
} Rows;

/* Leaves [first, first + num) in a vector. Taking turns leaves rows transposed by sections of 4 by 4. */
static V tree(Emit *e, const Rows *r, unsigned first, unsigned num) {
    unsigned row = first % SECTION * SECTION + first / SECTION;
    if (num == 1) return tile_group_lanes(e, r->a, r->element, r->number[row], r->count[row]);
    V a = tree(e, r, first, num / 2), b = tree(e, r, first + num / 2, num / 2);
    return halve(e, a, b, EDGE_LANES / num);
}

/* ---- rows ---- */

static V row_ptr_at(Emit *e, V row) {
    V row_ptr = emit_argument(e, e->args, offsetof(KernelArgs, row_ptr), e->ptr);
    return LLVMBuildGEP2(e->builder, e->i64, row_ptr, &row, 1, "");
}

static V are_short(Emit *e, V row) {
    V at = row_ptr_at(e, row), next = emit_at(e, at, emit_i64(e, 8));
    V begin = emit_load(e, at, DT_i64, EDGE_LANES, EDGE_LANES, 8);
    V count =
        LLVMBuildSub(e->builder, emit_load(e, next, DT_i64, EDGE_LANES, EDGE_LANES, 8), begin, "");
    V most = emit_const(e, DT_i64, CARRY_GROUP, EDGE_LANES);
    V longer = LLVMBuildICmp(e->builder, LLVMIntSGT, count, most, "");
    V any =
        emit_call(e, "llvm.vector.reduce.or", (LLVMTypeRef[]){LLVMTypeOf(longer)}, 1, &longer, 1);
    return LLVMBuildNot(e->builder, any, "");
}

/* The tile of the rows' edges, and where each row's lie in it. */
static Rows rows_open(Emit *e, V row) {
    Rows r = {0};
    V at = row_ptr_at(e, row), begin[EDGE_LANES + 1];
    for (unsigned l = 0; l <= EDGE_LANES; l++) begin[l] = emit_field(e, at, l * 8, e->i64);
    tile_make(e, begin[0], begin[EDGE_LANES]);
    for (unsigned l = 0; l < EDGE_LANES; l++) {
        r.number[l] = LLVMBuildSub(e->builder, begin[l], begin[0], "");
        r.count[l] = LLVMBuildSub(e->builder, begin[l + 1], begin[l], "");
    }
    return r;
}

static void add_up(Emit *e, Rows *r) {
    Val anchor = r->a->anchor;
    V none = LLVMConstNull(emit_vec(e, (Dtype)ir_type(e->f, anchor)->dtype, EDGE_LANES));
    for (r->element = 0; r->element < e->info[anchor].n; r->element++)
        memo_put(e, anchor, KEY_LANES + r->element, ADD(none, tree(e, r, 0, EDGE_LANES)));
}

/* ---- accumulators that take edge after edge ---- */

enum { MOST_CELLS = 5 };

/* An accumulator's cells: what is kept of a row, num_states of them, then what one step hands on. */
typedef struct {
    int cell[MOST_CELLS];
    uint32_t num, num_states;
    V own[MOST_CELLS]; /* where they lie else */
} Cells;

static Cells cells_of(const Acc *a) {
    Cells c = {0};
    for (int k = 0; k < 3; k++)
        if (a->cell[k] != NO_CELL) c.cell[c.num++] = a->cell[k];
    c.num_states = c.num;
    if (a->kind == ACC_softmax) c.cell[c.num++] = a->weight, c.cell[c.num++] = a->scale;
    return c;
}

static Cells cells_open(Emit *e, const Acc *a) {
    Cells c = cells_of(a);
    for (uint32_t k = 0; k < c.num; k++) {
        Cell *cell = &e->cells.data[c.cell[k]];
        c.own[k] = cell->ptr;
        cell->ptr = emit_room(e, e->i8, cell->n * EDGE_LANES * dtype_size(cell->dtype));
    }
    return c;
}

static void cells_close(Emit *e, const Cells *c) {
    for (uint32_t k = 0; k < c->num; k++) e->cells.data[c->cell[k]].ptr = c->own[k];
}

/* Operand v on edge `k` of each row, `number` being the rows' first edges in the tile. */
static void take_operand(Emit *e, Val v, V number, V k) {
    Dtype d = (Dtype)ir_type(e->f, v)->dtype;
    V bytes = emit_add(e, number, emit_splat(e, k, EDGE_LANES));
    bytes = emit_mul(e, bytes, emit_const(e, DT_i64, (uint64_t)dtype_size(d), EDGE_LANES));
    memo_put(e, v, KEY_filled, e->args);
    for (int64_t i = 0; i < e->info[v].n; i++)
        memo_put(e, v, KEY_LANES + i,
                 emit_gather(e, tile_place(e, v, i, emit_i64(e, 0)), bytes, d, EDGE_LANES));
}

/* A step of the rows that have an edge `k`; the others keep what they had. */
static void step(Emit *e, const Acc *a, const Cells *c, V there) {
    V old[3][FEW_FEATURES];
    for (uint32_t s = 0; s < c->num_states; s++)
        for (int64_t i = 0; i < e->cells.data[c->cell[s]].n; i++)
            old[s][i] = cell_load(e, c->cell[s], emit_row_block(e, i));
    acc_step(e, a);
    for (uint32_t s = 0; s < c->num_states; s++)
        for (int64_t i = 0; i < e->cells.data[c->cell[s]].n; i++) {
            Block b = emit_row_block(e, i);
            cell_store(e, c->cell[s], b, SEL(there, cell_load(e, c->cell[s], b), old[s][i]));
        }
}

/* The results, as lanes_eval looks for them. */
static void give(Emit *e, const Acc *a) {
    for (Val v = a->anchor; v < ir_count(e->f); v++) {
        const Node *n = ir_node(e->f, v);
        bool part = n->op == OP_result && n->args[0] == a->anchor;
        int cell = v == a->anchor && a->kind == ACC_reduce ? a->cell[0]
                   : part                                  ? a->cell[n->attr.index]
                                                           : NO_CELL;
        if (cell == NO_CELL || !e->info[v].live) continue;
        for (int64_t i = 0; i < e->info[v].n; i++)
            memo_put(e, v, KEY_LANES + i, cell_load(e, cell, emit_row_block(e, i)));
    }
}

static V together(Emit *e, const V *element) {
    V x = LLVMConstNull(LLVMVectorType(e->i64, EDGE_LANES));
    for (unsigned l = 0; l < EDGE_LANES; l++)
        x = LLVMBuildInsertElement(e->builder, x, element[l], LLVMConstInt(e->i32, l, false), "");
    return x;
}

static void edge_after_edge(Emit *e, const Rows *r) {
    const Node *n = ir_node(e->f, r->a->anchor);
    V number = together(e, r->number), count = together(e, r->count);
    V most =
        emit_call(e, "llvm.vector.reduce.smax", (LLVMTypeRef[]){LLVMTypeOf(count)}, 1, &count, 1);
    Cells cells = cells_open(e, r->a);
    e->lane.of_rows = true;
    acc_init(e, r->a);
    Loop l = emit_loop(e, emit_i64(e, 0), most, emit_i64(e, 1));
    for (uint32_t k = 0; k < n->num_args; k++) take_operand(e, n->args[k], number, l.index);
    V there = LLVMBuildICmp(e->builder, LLVMIntSLT, emit_splat(e, l.index, EDGE_LANES), count, "");
    step(e, r->a, &cells, there);
    emit_loop_end(e, &l);
    acc_finish(e, r->a);
    give(e, r->a);
    e->lane.of_rows = false;
    cells_close(e, &cells);
}

static void whole_block(Emit *e, V row) {
    e->row = row;
    Rows r = rows_open(e, row);
    for (uint32_t k = 0; k < e->accs.len; k++) {
        r.a = &e->accs.data[k];
        if (tile_takes_groups(e, r.a)) add_up(e, &r);
        else edge_after_edge(e, &r);
    }
    lanes_at_rows(e, row);
    for (uint32_t k = 0; k < e->f->results.len; k++)
        if (level_of(e, e->f->results.data[k].val) == LEVEL_row) lanes_store_result(e, k);
}

void rowlanes_sweep(Emit *e, V first, V last, void (*one_by_one)(Emit *e, V first, V last)) {
    V is_short = emit_temp(e, e->i1);
    Loop l = emit_loop(e, first, last, emit_i64(e, EDGE_LANES));
    V end = emit_add(e, l.index, emit_i64(e, EDGE_LANES));
    V whole = LLVMBuildICmp(e->builder, LLVMIntSLE, end, last, "");
    LLVMBuildStore(e->builder, LLVMConstNull(e->i1), is_short);
    If there = emit_if(e, whole);
    LLVMBuildStore(e->builder, are_short(e, l.index), is_short);
    emit_if_end(e, &there);
    V at_once = LLVMBuildLoad2(e->builder, e->i1, is_short, "");
    If fast = emit_if(e, at_once);
    whole_block(e, l.index);
    emit_if_end(e, &fast);
    If slow = emit_if(e, LLVMBuildNot(e->builder, at_once, ""));
    one_by_one(e, l.index, SEL(whole, end, last));
    emit_if_end(e, &slow);
    emit_loop_end(e, &l);
}
