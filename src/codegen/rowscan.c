/* row_scan: the body inlined at every edge, its states in cells of the row.
 *
 * What a scan gives on its way is a cell of the edge at hand. Where a later phase reads it, it is kept: the
 * row is swept in blocks of block_edges edges, whose places lie in the slot. A row of one block, the usual
 * one, finds there in its next phase what the last one left. Of a longer row only the states before each
 * block stay (block_bytes a block), and each later phase runs the earlier ones' scans over a block again
 * before it sweeps it: memory for a block and a state a block, however long the row.
 *
 * What staged sums take goes to scratch for a block of edges (KernelArgs.block_edges), in rising order. In a longer row, which a scan that
 * runs backward sweeps from its end, all scans run over each block once more, from the first to the last.
 *
 * A part of a split row (SCAN_tree; never kept) starts from its first edge's operands, and the body merges
 * two parts. */
#include "codegen/prim_llvm.h"

#include <stddef.h>

enum { BLOCK_SIZE = 1 << 15, MIN_BLOCK = 16, MAX_BLOCK = 256, ALIGN = 64 };

typedef LLVMValueRef V;

static const Node *node_of(const Emit *e, const Acc *a) { return ir_node(e->f, a->anchor); }

/* ---- analysis ---- */

static void need(uint32_t *last, Val v, uint32_t phase) {
    if (last[v] < phase) last[v] = phase;
}

/* last: by value, 1 + the last phase that asks for it. A scan that runs again asks for its operands after
 * its own phase, since other scans of that phase may not. */
void scan_find_kept(Emit *e) {
    uint32_t *last = ARENA_ARRAY(e->arena, uint32_t, ir_count(e->f));
    for (uint32_t k = 0; k < e->f->results.len; k++) {
        Val v = e->f->results.data[k].val;
        need(last, v, e->kernel->place[v].phase + 1u);
    }
    for (Val v = ir_count(e->f) - 1; v > 0; v--) {
        const Node *n = ir_node(e->f, v);
        Place p = e->kernel->place[v];
        for (uint32_t k = 0; k < n->num_args; k++)
            e->info[n->args[k]].staged |= e->info[v].staged || plan_is_staged(e->kernel, v);
        if (!e->info[v].live || p.level != LEVEL_edge || n->op == OP_gather) continue;
        if (n->op == OP_result) {
            e->info[v].kept = last[v] > p.phase + 1u;
            if (e->info[v].kept) need(last, n->args[0], p.phase + 2u);
            continue;
        }
        if (op_is_reduction((Op)n->op)) need(last, v, p.phase + 1u);
        for (uint32_t k = 0; k < n->num_args; k++) need(last, n->args[k], last[v]);
    }
}

static Val result_of(const Emit *e, Val anchor, uint32_t k) {
    if (ir_node(e->f, anchor)->num_results == 1) return anchor;
    for (Val v = anchor + 1; v < ir_count(e->f); v++) {
        const Node *n = ir_node(e->f, v);
        if (e->info[v].live && n->op == OP_result && n->args[0] == anchor && n->attr.index == k)
            return v;
    }
    return 0;
}

/* Of the body's values. */
static bool is_same(const Emit *e, const Acc *a, Val v) {
    const uint8_t *same = e->info[a->anchor].same;
    return same && same[v];
}

void scan_new_cells(Emit *e, Acc *a) {
    const Node *n = node_of(e, a);
    int64_t num = type_numel(&n->types[0]);
    bool kept = false;
    a->kind = ACC_scan;
    a->scan = ir_scan_of(n);
    a->states = ARENA_ARRAY(e->arena, int, a->scan.num_states);
    a->single = ARENA_ARRAY(e->arena, int, a->scan.num_states);
    a->ys = ARENA_ARRAY(e->arena, int, n->num_results);
    for (uint32_t k = 0; k < n->num_results; k++) {
        Val v = result_of(e, a->anchor, k);
        bool state = k < a->scan.num_states, keeps = v && !state && e->info[v].kept;
        CellHome home = state ? CELL_row : keeps ? CELL_edge : CELL_local;
        int64_t elements = !state && v && e->info[v].uniform ? 1 : num;
        Dtype d = (Dtype)n->types[k].dtype;
        int cell = state || v ? cell_new(e, d, elements, home) : NO_CELL;
        bool same = state && is_same(e, a, a->scan.body->inputs.data[k].val);
        if (state) a->single[k] = same ? cell_new(e, d, 1, CELL_local) : NO_CELL;
        if (v) e->info[v].cell = cell;
        if (state) a->states[k] = cell;
        else a->ys[k - a->scan.num_states] = cell;
        kept |= keeps;
    }
    if (!kept && !e->info[a->anchor].staged) return;
    a->again = ARENA_ARRAY(e->arena, int, a->scan.num_states);
    for (uint32_t k = 0; k < a->scan.num_states; k++)
        a->again[k] = cell_new(e, (Dtype)n->types[k].dtype, num, CELL_local);
}

static bool has_blocks(const Emit *e) {
    for (uint32_t k = 0; k < e->accs.len; k++)
        if (e->accs.data[k].again) return true;
    return false;
}

void scan_lay_blocks(Emit *e) {
    if (!has_blocks(e)) return;
    e->block_edges = MAX_BLOCK;
    while (e->block_edges > MIN_BLOCK && e->block_edges * e->edge_size > BLOCK_SIZE)
        e->block_edges /= 2;
    for (uint32_t k = 0; k < e->accs.len; k++) {
        Acc *a = &e->accs.data[k];
        if (!a->again) continue;
        a->start = e->block_bytes;
        for (uint32_t i = 0; i < a->scan.num_states; i++)
            e->block_bytes += cell_bytes(e, &e->cells.data[a->states[i]]);
    }
    e->block_room = e->slot_size;
    e->slot_size += e->block_edges * e->edge_size;
}

bool scan_is_reversed(const Emit *e, int phase) {
    for (uint32_t k = 0; k < e->accs.len; k++) {
        const Acc *a = &e->accs.data[k];
        if (a->kind == ACC_scan && a->phase == phase) return a->scan.flags & SCAN_reverse;
    }
    return false;
}

/* ---- one edge ---- */

typedef struct {
    const Acc *a;
    bool merges;
    V *single; /* by the body's values: one element of those that are uniform; NULL where parts merge */
} Step;

typedef struct {
    int cell;
    Val init;
} Init;

static void init_block(Emit *e, Block b, void *ctx) {
    const Init *s = ctx;
    cell_store(e, s->cell, b, emit_eval(e, s->init, b));
}

void scan_init(Emit *e, const Acc *a) {
    for (uint32_t k = 0; k < a->scan.num_states; k++) {
        Init s = {a->states[k], node_of(e, a)->args[k]};
        emit_ensure(e, s.init);
        emit_blocks(e, e->cells.data[s.cell].n, init_block, &s);
    }
}

/* ---- uniform states: one element of each while edges are swept ---- */

static void spread_block(Emit *e, Block b, void *ctx) {
    const int *state_single = ctx;
    V x = cell_load(e, state_single[1], emit_scalar_block(e));
    cell_store(e, state_single[0], b, emit_splat(e, x, b.lanes));
}

void scan_open(Emit *e, const Acc *a) {
    Block one = emit_scalar_block(e);
    for (uint32_t k = 0; k < a->scan.num_states; k++)
        if (a->single[k] != NO_CELL)
            cell_store(e, a->single[k], one, cell_load(e, a->states[k], one));
}

void scan_close(Emit *e, const Acc *a) {
    for (uint32_t k = 0; k < a->scan.num_states; k++) {
        int state_single[] = {a->states[k], a->single[k]};
        if (a->single[k] != NO_CELL)
            emit_blocks(e, e->cells.data[a->states[k]].n, spread_block, state_single);
    }
}

/* ---- a step ---- */

static V apply(Emit *e, const Fn *body, Val v, const V *value, unsigned lanes) {
    const Node *node = ir_node(body, v);
    Dtype d = (Dtype)node->types[0].dtype;
    V *args = ARENA_ARRAY(e->arena, V, node->num_args);
    for (uint32_t k = 0; k < node->num_args; k++) args[k] = value[node->args[k]];
    if (node->op == OP_constant) return emit_const(e, d, node->attr.bits, lanes);
    if (node->op == OP_cast)
        return elem_cast(e, args[0], (Dtype)ir_type(body, node->args[0])->dtype, d, lanes);
    return elem_apply(e, node, args);
}

/* Before a state's next value is stored, result k of the body: a part's first edge is its state. */
static V next_state(Emit *e, const Step *s, uint32_t k, const V *value) {
    const Fn *body = s->a->scan.body;
    V y = value[body->results.data[k].val];
    if (!e->seed || s->merges) return y;
    V is_seed = LLVMBuildICmp(e->builder, LLVMIntEQ, e->pos, e->seed, "");
    return SEL(is_seed, value[body->inputs.data[s->a->scan.num_states + k].val], y);
}

static V single_input(Emit *e, const Step *s, uint32_t k) {
    if (k < s->a->scan.num_states) return cell_load(e, s->a->single[k], emit_scalar_block(e));
    return uniform_eval(e, node_of(e, s->a)->args[k]);
}

/* The uniform values of the body. */
static void run_singles(Emit *e, Step *s) {
    const Fn *body = s->a->scan.body;
    s->single = ARENA_ARRAY(e->arena, V, ir_count(body));
    for (uint32_t k = 0; k < body->inputs.len; k++)
        if (is_same(e, s->a, body->inputs.data[k].val))
            s->single[body->inputs.data[k].val] = single_input(e, s, k);
    for (Val v = 1; v < ir_count(body); v++)
        if (ir_op(body, v) != OP_input && is_same(e, s->a, v))
            s->single[v] = apply(e, body, v, s->single, 1);
}

static int cell_of(const Step *s, uint32_t k) {
    uint32_t n = s->a->scan.num_states;
    if (k >= n) return s->a->ys[k - n];
    return s->single && s->a->single[k] != NO_CELL ? s->a->single[k] : s->a->states[k];
}

/* A uniform result in a cell of one element. */
static bool is_single(const Emit *e, const Step *s, uint32_t k) {
    int cell = cell_of(s, k);
    return s->single && s->single[s->a->scan.body->results.data[k].val] && cell != NO_CELL &&
           e->cells.data[cell].n == 1;
}

static void store_singles(Emit *e, const Step *s) {
    const Fn *body = s->a->scan.body;
    for (uint32_t k = 0; k < body->results.len; k++) {
        if (!is_single(e, s, k)) continue;
        V y = k < s->a->scan.num_states ? next_state(e, s, k, s->single)
                                        : s->single[body->results.data[k].val];
        cell_store(e, cell_of(s, k), emit_scalar_block(e), y);
    }
}

/* The body's inputs, then what follows from them. */
static void run_body(Emit *e, const Step *s, Block b, V *value) {
    const Fn *body = s->a->scan.body;
    uint32_t n = s->a->scan.num_states;
    for (Val v = 1; s->single && v < ir_count(body); v++)
        if (s->single[v]) value[v] = emit_splat(e, s->single[v], b.lanes);
    for (uint32_t k = 0; k < body->inputs.len; k++) {
        Val v = body->inputs.data[k].val;
        if (value[v]) continue;
        value[v] = k < n       ? cell_load(e, s->a->states[k], b)
                   : s->merges ? cell_load_from(e, s->a->states[k - n], b)
                               : emit_eval(e, node_of(e, s->a)->args[k], b);
    }
    for (Val v = 1; v < ir_count(body); v++)
        if (!value[v]) value[v] = apply(e, body, v, value, b.lanes);
}

static void step_block(Emit *e, Block b, void *ctx) {
    const Step *s = ctx;
    const Fn *body = s->a->scan.body;
    V *value = ARENA_ARRAY(e->arena, V, ir_count(body));
    run_body(e, s, b, value);
    for (uint32_t k = 0; k < body->results.len; k++) {
        int cell = cell_of(s, k);
        if (cell == NO_CELL || is_single(e, s, k)) continue;
        bool state = k < s->a->scan.num_states;
        V y = state ? next_state(e, s, k, value) : value[body->results.data[k].val];
        cell_store(e, cell, b, y);
    }
}

static int64_t numel(const Emit *e, const Acc *a) { return type_numel(&node_of(e, a)->types[0]); }

void scan_step(Emit *e, const Acc *a) {
    Step s = {.a = a};
    if (e->info[a->anchor].same) run_singles(e, &s);
    emit_blocks(e, numel(e, a), step_block, &s);
    store_singles(e, &s);
}

void scan_merge(Emit *e, const Acc *a) {
    Step s = {.a = a, .merges = true};
    emit_blocks(e, numel(e, a), step_block, &s);
}

/* ---- blocks ---- */

static V times(Emit *e, V n, uint64_t bytes) { return emit_mul(e, n, emit_i64(e, (int64_t)bytes)); }

static V in_slot(Emit *e, uint64_t offset) {
    return emit_at(e, e->slot, emit_i64(e, (int64_t)offset));
}

void scan_at_edge(Emit *e) {
    if (!e->block_first) return;
    V number = LLVMBuildSub(e->builder, e->pos, e->block_first, "");
    V place = emit_at(e, in_slot(e, e->block_room), times(e, number, e->edge_size));
    for (uint32_t k = 0; k < e->cells.len; k++) {
        Cell *c = &e->cells.data[k];
        if (c->home == CELL_edge) c->ptr = emit_at(e, place, emit_i64(e, (int64_t)c->offset));
    }
}

/* The states before the block: put where they are read again, or from there. */
static void transfer_states(Emit *e, const Acc *a, V block, bool in) {
    V at = emit_at(e, in_slot(e, e->slot_size + a->start), times(e, block, e->block_bytes));
    for (uint32_t k = 0; k < a->scan.num_states; k++) {
        cell_transfer(e, in ? a->again[k] : a->states[k], at, in);
        at = emit_at(e, at, emit_i64(e, (int64_t)cell_bytes(e, &e->cells.data[a->states[k]])));
    }
}

/* The phase's scans that run again, from the states before the block. */
static void run_again(Emit *e, int phase, V block, V first, V last, bool stages) {
    VEC(Acc) scans = {0};
    for (uint32_t k = 0; k < e->accs.len; k++) {
        Acc a = e->accs.data[k];
        if (!a.again || a.phase != phase) continue;
        transfer_states(e, &a, block, true);
        a.states = a.again;
        *vec_push(e->arena, &scans) = a;
    }
    if (!scans.len && !stages) return;
    for (uint32_t k = 0; k < scans.len; k++) scan_open(e, &scans.data[k]);
    Loop l = edges_begin(e, phase, first, last);
    for (uint32_t k = 0; k < scans.len; k++) acc_step(e, &scans.data[k]);
    if (stages) kernel_store_staged(e, phase);
    emit_loop_end(e, &l);
}

static void keep_states(Emit *e, int phase, V block) {
    for (uint32_t k = 0; k < e->accs.len; k++) {
        const Acc *a = &e->accs.data[k];
        if (a->again && a->phase == phase) transfer_states(e, a, block, false);
    }
}

static V least(Emit *e, V a, V b) {
    return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntSLT, a, b, ""), a, b, "");
}

static V num_edges(Emit *e) { return LLVMBuildSub(e->builder, e->row_end, e->row_begin, ""); }

static V num_blocks(Emit *e) {
    V most = emit_i64(e, (int64_t)e->block_edges - 1);
    return LLVMBuildUDiv(e->builder, emit_add(e, num_edges(e), most),
                         emit_i64(e, (int64_t)e->block_edges), "");
}

/* Sets block_first; gives where the block ends. */
static V block_begin(Emit *e, V block) {
    V size = emit_i64(e, (int64_t)e->block_edges);
    e->block_first = emit_add(e, e->row_begin, emit_mul(e, block, size));
    return least(e, emit_add(e, e->block_first, size), e->row_end);
}

void scan_sweep(Emit *e, int phase, void (*sweep)(Emit *e, int phase, V first, V last)) {
    V size = emit_i64(e, (int64_t)e->block_edges), one = emit_i64(e, 1), num = num_blocks(e);
    V many = LLVMBuildICmp(e->builder, LLVMIntSGT, num_edges(e), size, "");
    Loop l = emit_loop(e, emit_i64(e, 0), num, one);
    V block = l.index;
    if (scan_is_reversed(e, phase))
        block = LLVMBuildSub(e->builder, LLVMBuildSub(e->builder, num, one, ""), block, "");
    V last = block_begin(e, block), first = e->block_first;
    If more = emit_if(e, many);
    for (int p = 0; p < phase; p++) run_again(e, p, block, first, last, false);
    keep_states(e, phase, block);
    emit_if_end(e, &more);
    sweep(e, phase, first, last);
    emit_loop_end(e, &l);
    e->block_first = NULL;
}

/* ---- staged sums of long rows ---- */

static V staged_edges(Emit *e) {
    return emit_argument(e, e->args, offsetof(KernelArgs, block_edges), e->i64);
}

static V modulo_block(Emit *e, V n) {
    V mask = LLVMBuildSub(e->builder, staged_edges(e), emit_i64(e, 1), "");
    return LLVMBuildAnd(e->builder, n, mask, "");
}

V scan_place(Emit *e) { return modulo_block(e, e->pos); }

static void tell_full(Emit *e) {
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), &e->ptr, 1, false);
    V callee = emit_argument(e, e->args, offsetof(KernelArgs, block_is_full), e->ptr);
    LLVMBuildCall2(e->builder, type, callee, &e->args, 1, "");
}

void scan_stage_row(Emit *e) {
    bool any = false;
    for (uint32_t k = 0; k < e->f->results.len; k++)
        any |= plan_is_staged(e->kernel, e->f->results.data[k].val);
    if (!any) return;
    V none = emit_i64(e, 0);
    If longer =
        emit_if(e, LLVMBuildICmp(e->builder, LLVMIntSGT, num_edges(e), staged_edges(e), ""));
    Loop l = emit_loop(e, none, num_blocks(e), emit_i64(e, 1));
    V last = block_begin(e, l.index), first = e->block_first;
    for (int p = 0; p < (int)e->kernel->num_phases; p++)
        run_again(e, p, l.index, first, last, true);
    V over = modulo_block(e, LLVMBuildSub(e->builder, last, e->row_begin, ""));
    V full = LLVMBuildICmp(e->builder, LLVMIntEQ, over, none, "");
    V more = LLVMBuildICmp(e->builder, LLVMIntSLT, last, e->row_end, "");
    If tell = emit_if(e, AND(full, more));
    tell_full(e);
    emit_if_end(e, &tell);
    emit_loop_end(e, &l);
    e->block_first = NULL;
    emit_if_end(e, &longer);
}
