/* Accumulators of the anchors.
 *
 *   reduce   s = s + m, from +0; bool and i32 count in i64. A float sum of more than a few features takes
 *            a product a b unrounded, s = fma(a, b, s): more exact, and an operation less
 *   rmax     the largest so far and how often it was met; a NaN beats every number and ties with NaN
 *   softmax  online (Milakov and Gimelshein): maximum m, weights l, weighted sum a, from (-inf, 0, 0).
 *            With m' the larger of m and s:  l = l t(m) + t(s),  a = a t(m) + v t(s),  t(x) = 1 where
 *            x = m', else exp(x - m'); one of the two is always 1. A score of -inf leaves the state
 *            alone, whatever its value; a NaN score makes all NaN. At the end a / l, m and log(l).
 *
 * merge puts a later part of a row behind an earlier one. */
#include "codegen/prim_llvm.h"

typedef LLVMValueRef V;

static const Node *node_of(const Emit *e, const Acc *a) { return ir_node(e->f, a->anchor); }

static bool sums_products(const Emit *e, const Acc *a) {
    const Node *n = node_of(e, a), *x = ir_node(e->f, n->args[0]);
    bool wide = a->kind == ACC_reduce && a->sums && !a->narrow && !a->puts;
    return wide && x->op == OP_mul && x->num_args == 2;
}

uint32_t acc_operands(const Emit *e, const Acc *a, const Val **out) {
    const Node *n = node_of(e, a);
    if (sums_products(e, a)) n = ir_node(e->f, n->args[0]);
    *out = n->args + a->scan.num_states;
    return n->num_args - a->scan.num_states;
}

/* ---- init ---- */

typedef struct {
    int cell;
    uint64_t bits;
} Start;

static void start_block(Emit *e, Block b, void *ctx) {
    const Start *s = ctx;
    cell_store(e, s->cell, b, emit_const(e, e->cells.data[s->cell].dtype, s->bits, b.lanes));
}

static void start(Emit *e, int cell, uint64_t bits) {
    if (cell == NO_CELL) return;
    Start s = {cell, bits};
    emit_blocks(e, e->cells.data[cell].n, start_block, &s);
}

static uint64_t least_bits(Dtype d) {
    return (const uint64_t[]){0, 0x80000000u, UINT64_C(1) << 63, 0xff800000u,
                              UINT64_C(0xfff) << 52}[d];
}

void acc_init(Emit *e, const Acc *a) {
    Dtype d = (Dtype)node_of(e, a)->types[0].dtype;
    if (a->kind == ACC_scan) {
        scan_init(e, a);
        return;
    }
    start(e, a->cell[0], a->kind == ACC_rmax ? least_bits(d) : 0);
    start(e, a->cell[1], a->kind == ACC_softmax ? least_bits(d) : 0);
    start(e, a->cell[2], 0);
}

/* ---- reduce ---- */

static void reduce_block(Emit *e, Block b, void *ctx) {
    const Acc *a = ctx;
    Val x = node_of(e, a)->args[0];
    Dtype from = (Dtype)ir_type(e->f, x)->dtype, to = (Dtype)node_of(e, a)->types[0].dtype;
    V value = elem_cast(e, emit_eval(e, x, b), from, to, b.lanes);
    cell_store(e, a->cell[0], b, ADD(cell_load(e, a->cell[0], b), value));
}

static void product_block(Emit *e, Block b, void *ctx) {
    const Acc *a = ctx;
    const Val *x;
    acc_operands(e, a, &x);
    V left = emit_eval(e, x[0], b), right = emit_eval(e, x[1], b);
    cell_store(e, a->cell[0], b, FMA(left, right, cell_load(e, a->cell[0], b)));
}

static void reduce_merge(Emit *e, Block b, void *ctx) {
    const Acc *a = ctx;
    V sum = ADD(cell_load(e, a->cell[0], b), cell_load_from(e, a->cell[0], b));
    cell_store(e, a->cell[0], b, sum);
}

/* ---- rmax ---- */

/* (best, ties) and then (x, n) are met: which remain. */
static void take_largest(Emit *e, const Acc *a, Block b, V x, V n) {
    V best = cell_load(e, a->cell[0], b);
    V more = OR(LT(best, x), AND(NAN(x), NOT(NAN(best))));
    if (a->used[1]) {
        V ties = cell_load(e, a->cell[1], b), equal = OR(EQ(best, x), AND(NAN(x), NAN(best)));
        V same = SEL(equal, LLVMBuildAdd(e->builder, ties, n, ""), ties);
        cell_store(e, a->cell[1], b, SEL(more, n, same));
    }
    cell_store(e, a->cell[0], b, SEL(more, x, best));
}

static void rmax_block(Emit *e, Block b, void *ctx) {
    const Acc *a = ctx;
    take_largest(e, a, b, emit_eval(e, node_of(e, a)->args[0], b),
                 emit_const(e, DT_i64, 1, b.lanes));
}

static void rmax_merge(Emit *e, Block b, void *ctx) {
    const Acc *a = ctx;
    V n = a->used[1] ? cell_load_from(e, a->cell[1], b) : NULL;
    take_largest(e, a, b, cell_load_from(e, a->cell[0], b), n);
}

/* ---- softmax ---- */

enum { DEAD = -1 }; /* the weight of a score of -inf: no real weight is negative */

static void score_block(Emit *e, Block b, void *ctx) {
    const Acc *a = ctx;
    Dtype d = (Dtype)node_of(e, a)->types[1].dtype;
    V s = emit_eval(e, node_of(e, a)->args[0], b);
    V m = cell_load(e, a->cell[1], b), l = cell_load(e, a->cell[2], b);
    V one = emit_real(e, d, 1, b.lanes);
    V dead = EQ(s, emit_real(e, d, -__builtin_inf(), b.lanes)), more = LT(m, s);
    V far = SEL(more, SUB(m, s), SUB(s, m));
    V small = SEL(EQ(s, m), one, EXP(far));
    V weight = SEL(more, one, small), scale = SEL(more, small, one);
    cell_store(e, a->cell[1], b, SEL(OR(more, NAN(s)), s, m));
    cell_store(e, a->cell[2], b, SEL(dead, l, FMA(l, scale, weight)));
    if (!a->used[0]) return;
    cell_store(e, a->weight, b, SEL(dead, emit_real(e, d, DEAD, b.lanes), weight));
    cell_store(e, a->scale, b, scale);
}

/* The score's cell as a view of the value's shape. */
static View score_view(Emit *e, const Acc *a) {
    const Type *value = &node_of(e, a)->types[0], *score = &node_of(e, a)->types[1];
    View w = {.rank = value->rank};
    int64_t stride = 1;
    for (int k = value->rank - 1; k >= 0; k--) {
        w.dim[k] = value->dim[k];
        w.stride[k] = score->dim[k] == 1 ? 0 : stride;
        stride *= score->dim[k];
    }
    return w;
}

static V score_load(Emit *e, const Acc *a, int cell, Block b) {
    View w = score_view(e, a);
    if (e->lane.of_rows)
        return cell_load(e, cell, emit_row_block(e, view_index(&w, b.number - KEY_LANES)));
    return view_load(e, &w, cell_source(e, cell), b);
}

static void value_block(Emit *e, Block b, void *ctx) {
    const Acc *a = ctx;
    V weight = score_load(e, a, a->weight, b), scale = score_load(e, a, a->scale, b);
    V old = cell_load(e, a->cell[0], b), value = emit_eval(e, node_of(e, a)->args[1], b);
    V dead = LT(weight, LLVMConstNull(LLVMTypeOf(weight)));
    cell_store(e, a->cell[0], b, SEL(dead, old, FMA(value, weight, MUL(old, scale))));
}

static V weight_of(Emit *e, Dtype d, V m, V largest, unsigned lanes) {
    return SEL(EQ(m, largest), emit_real(e, d, 1, lanes), EXP(SUB(m, largest)));
}

static void score_merge(Emit *e, Block b, void *ctx) {
    const Acc *a = ctx;
    Dtype d = (Dtype)node_of(e, a)->types[1].dtype;
    V m = cell_load(e, a->cell[1], b), n = cell_load_from(e, a->cell[1], b);
    V largest = SEL(OR(LT(m, n), NAN(n)), n, m);
    V w_m = weight_of(e, d, m, largest, b.lanes), w_n = weight_of(e, d, n, largest, b.lanes);
    V l = MUL(cell_load_from(e, a->cell[2], b), w_n);
    cell_store(e, a->cell[2], b, FMA(cell_load(e, a->cell[2], b), w_m, l));
    cell_store(e, a->cell[1], b, largest);
    if (!a->used[0]) return;
    cell_store(e, a->weight, b, w_n);
    cell_store(e, a->scale, b, w_m);
}

static void value_merge(Emit *e, Block b, void *ctx) {
    const Acc *a = ctx;
    V w_n = score_load(e, a, a->weight, b), w_m = score_load(e, a, a->scale, b);
    V later = MUL(cell_load_from(e, a->cell[0], b), w_n);
    cell_store(e, a->cell[0], b, FMA(cell_load(e, a->cell[0], b), w_m, later));
}

static void value_finish(Emit *e, Block b, void *ctx) {
    const Acc *a = ctx;
    cell_store(e, a->cell[0], b, DIV(cell_load(e, a->cell[0], b), score_load(e, a, a->cell[2], b)));
}

static void score_finish(Emit *e, Block b, void *ctx) {
    const Acc *a = ctx;
    cell_store(e, a->cell[2], b, LOG(cell_load(e, a->cell[2], b)));
}

/* ---- all kinds ---- */

static int64_t numel(Emit *e, const Acc *a, int result) {
    return type_numel(&node_of(e, a)->types[result]);
}

void acc_step(Emit *e, const Acc *a) {
    const Node *n = node_of(e, a);
    if (a->puts) {
        table_sum(e, a, n->args[0]);
        return;
    }
    const Val *operand;
    uint32_t num = acc_operands(e, a, &operand);
    for (uint32_t k = 0; k < num; k++) emit_ensure(e, operand[k]);
    switch (a->kind) {
    case ACC_scan: scan_step(e, a); break;
    case ACC_reduce:
        emit_blocks(e, numel(e, a, 0), sums_products(e, a) ? product_block : reduce_block,
                    (void *)a);
        break;
    case ACC_rmax: emit_blocks(e, numel(e, a, 0), rmax_block, (void *)a); break;
    case ACC_softmax:
        emit_blocks(e, numel(e, a, 1), score_block, (void *)a);
        if (a->used[0]) emit_blocks(e, numel(e, a, 0), value_block, (void *)a);
        break;
    }
}

void acc_merge(Emit *e, const Acc *a) {
    if (a->puts) {
        table_sum_merge(e, a);
        return;
    }
    switch (a->kind) {
    case ACC_scan: scan_merge(e, a); break;
    case ACC_reduce: emit_blocks(e, numel(e, a, 0), reduce_merge, (void *)a); break;
    case ACC_rmax: emit_blocks(e, numel(e, a, 0), rmax_merge, (void *)a); break;
    case ACC_softmax:
        emit_blocks(e, numel(e, a, 1), score_merge, (void *)a);
        if (a->used[0]) emit_blocks(e, numel(e, a, 0), value_merge, (void *)a);
        break;
    }
}

void acc_finish(Emit *e, const Acc *a) {
    if (a->puts) table_sum_finish(e, a);
    if (a->kind != ACC_softmax) return;
    if (a->used[0]) emit_blocks(e, numel(e, a, 0), value_finish, (void *)a);
    if (a->used[2]) emit_blocks(e, numel(e, a, 1), score_finish, (void *)a);
}
