/* What lives where: which values get cells, which accumulators there are, how large the states are.
 *
 * A value gets a cell where it is made in memory (concat, pad, fsum, fmax, cumsum, put, matmul), read through a view
 * while it lies nowhere, needed one level further in, or wanted by several rolled loops. */
#include "codegen/emit.h"

enum {
    NARROW_MOST = 4,          /* features that sums over edges keep lanes for */
    FEW_BLOCKS = 4,           /* of an input worth keeping in registers through an inner loop */
    MOST_COPIED = 1 << 16,    /* elements of a factor */
    MOST_TILE_BYTES = 1 << 15 /* of a tile of whole rows: L1's */
};

bool analyze_is_outer(const Emit *e, Val v) {
    const Type *a = ir_type(e->f, ir_arg(e->f, v, 0));
    return a->dim[a->rank - 1] == 1;
}

bool analyze_is_flat(const Emit *e, Val v) {
    const Type *t = ir_type(e->f, v);
    for (int k = 0; k < ir_node(e->f, v)->attr.ints[0]; k++)
        if (t->dim[k] != 1) return false;
    return true;
}

static bool is_view(Op op) {
    return op == OP_bcast || op == OP_transpose || op == OP_slice || op == OP_reshape;
}

static bool is_made_in_memory(const Emit *e, Val v) {
    Op op = ir_op(e->f, v);
    if (op == OP_matmul) return !analyze_is_outer(e, v);
    if (op == OP_take) return table_is_made(e, v);
    return op == OP_put || op == OP_fsum || op == OP_fmax || op == OP_concat || op == OP_pad ||
           op == OP_cumsum;
}

/* ---- facts ---- */

static Status measure(Emit *e, const uint8_t *live) {
    e->info = ARENA_ARRAY(e->arena, Info, ir_count(e->f));
    for (Val v = 1; v < ir_count(e->f); v++) {
        Info *i = &e->info[v];
        i->cell = i->copy = NO_CELL;
        i->buffer = -1;
        i->live = live[v];
        i->n = type_numel(ir_type(e->f, v));
        if (i->live && i->n < 0)
            return err_set(ST_UNSUPPORTED, "%s of %s: an extent that is a set's has no code yet",
                           op_info[ir_op(e->f, v)].name,
                           type_text(e->arena, e->f, ir_type(e->f, v)));
    }
    for (uint32_t k = 0; k < e->f->inputs.len; k++)
        e->info[e->f->inputs.data[k].val].buffer = (int)k;
    return ST_OK;
}

static void note_view(Emit *e, Val v) { e->info[view_of(e, v).base].viewed = true; }

/* Several indices are read one by one, rows of several values too; a table is read where it lies. */
static void note_table(Emit *e, Val v) {
    bool take = ir_op(e->f, v) == OP_take;
    Val index = ir_arg(e->f, v, take), other = ir_arg(e->f, v, !take);
    if (take && table_is_strided(e, v)) e->info[other].table_uses++;
    else if (take || e->info[index].n > 1) note_view(e, other);
    if (e->info[index].n > 1 && (!take || table_is_made(e, v))) note_view(e, index);
}

static void note_user(Emit *e, Val v) {
    const Node *n = ir_node(e->f, v);
    Op op = (Op)n->op;
    for (uint32_t k = 0; k < n->num_args; k++) e->info[n->args[k]].uses++;
    if (is_view(op)) {
        View w = view_of(e, v);
        bool direct = e->info[w.base].n == 1 || view_is_identity(&w, e->info[w.base].n);
        if (!direct) e->info[w.base].viewed = true;
    }
    if (op == OP_matmul || op == OP_pad || op == OP_cumsum ||
        (op == OP_concat && !analyze_is_flat(e, v)))
        for (uint32_t k = 0; k < n->num_args; k++) note_view(e, n->args[k]);
    if ((op == OP_fsum || op == OP_fmax) && e->info[v].n != 1) note_view(e, n->args[0]);
    if (op == OP_take || op == OP_put) note_table(e, v);
}

/* ---- sums of puts ---- */

static bool sums_puts(const Emit *e, Val v) {
    return ir_op(e->f, v) == OP_reduce && dtype_is_float((Dtype)ir_type(e->f, v)->dtype) &&
           !plan_is_staged(e->kernel, v) && e->info[ir_arg(e->f, v, 0)].has_put;
}

static void note_puts(Emit *e, Val v) {
    const Node *n = ir_node(e->f, v);
    e->info[v].has_put = n->op == OP_put;
    for (uint32_t k = 0; n->op == OP_add && e->info[v].uses == 1 && k < n->num_args; k++)
        e->info[v].has_put |= e->info[n->args[k]].has_put;
}

/* What computing the terms of a sum of puts needs. */
static void mark_terms(const Emit *e, Val v, uint8_t *computed) {
    const Node *n = ir_node(e->f, v);
    bool sum = n->op == OP_add && e->info[v].has_put;
    if (!sum && n->op != OP_put) computed[v] = 1;
    else
        for (uint32_t k = 0; k < n->num_args; k++) {
            if (sum) mark_terms(e, n->args[k], computed);
            else computed[n->args[k]] = 1;
        }
}

static void find_absorbed(Emit *e) {
    uint8_t *computed = ARENA_ARRAY(e->arena, uint8_t, ir_count(e->f));
    for (uint32_t k = 0; k < e->f->results.len; k++) computed[e->f->results.data[k].val] = 1;
    for (Val v = ir_count(e->f) - 1; v > 0; v--) {
        const Node *n = ir_node(e->f, v);
        if (!e->info[v].live) continue;
        e->info[v].absorbed = e->info[v].has_put && !computed[v];
        if (e->info[v].absorbed) continue;
        if (sums_puts(e, v)) mark_terms(e, n->args[0], computed);
        for (uint32_t k = 0; !sums_puts(e, v) && k < n->num_args; k++) computed[n->args[k]] = 1;
    }
}

/* ---- cells of values ---- */

static bool is_small(const Emit *e, Val v) {
    return emit_num_blocks(e, e->info[v].n) <= FEW_BLOCKS;
}

static bool is_computed(const Emit *e, Val v) { return !view_is_memory(e, v); }

static bool wants_cell(const Emit *e, Val v) {
    const Info *i = &e->info[v];
    OpClass class = op_info[ir_op(e->f, v)].class;
    if (is_made_in_memory(e, v)) return true;
    if (i->viewed && is_computed(e, v)) return true;
    bool work = class == CLASS_elem || ir_op(e->f, v) == OP_cast;
    return work && i->uses > 1 && emit_rolled(e, i->n);
}

/* The value one level out that a gather along the own map, or to all, brings in. */
static void note_crossing(Emit *e, Val gather) {
    Val x = ir_arg(e->f, gather, 0), base = view_of(e, x).base;
    if (is_computed(e, base) || ir_op(e->f, base) == OP_take) e->info[base].crosses = true;
    if (base == x && !e->info[x].viewed && is_small(e, x)) e->info[x].crosses = true;
}

static bool has_no_cell(const Emit *e, Val v) {
    Op op = ir_op(e->f, v);
    bool inline_constant = op == OP_constant && !e->info[v].viewed;
    return op_is_reduction(op) || op == OP_result || inline_constant || view_is_outer_gather(e, v);
}

/* Large values that `end` alone computes do not go on a stack but behind the slots. */
static CellHome home_of(const Emit *e, Val v) {
    const Info *i = &e->info[v];
    bool at_end = level_of(e, v) == LEVEL_last || plan_is_dense(e->kernel);
    if (e->num_shares || (at_end && emit_rolled(e, i->n))) return CELL_slot;
    return i->crosses && level_of(e, v) == LEVEL_row ? CELL_row : CELL_local;
}

/* A spread input of which takes alone read rows, by its strides: it stays where it lies. */
static bool is_table_alone(const Emit *e, Val gather) {
    return e->info[gather].table_uses > 0 && e->info[gather].uses == e->info[gather].table_uses;
}

static void place_cells(Emit *e) {
    for (Val v = 1; v < ir_count(e->f); v++)
        if (e->info[v].live && view_is_outer_gather(e, v) && !is_table_alone(e, v))
            note_crossing(e, v);
    for (Val v = 1; v < ir_count(e->f); v++) {
        Info *i = &e->info[v];
        if (!i->live || i->absorbed || has_no_cell(e, v)) i->crosses = false;
        else if (i->crosses || wants_cell(e, v)) {
            i->cell = cell_new(e, (Dtype)ir_type(e->f, v)->dtype, i->n, home_of(e, v));
        }
    }
}

/* ---- copies of factors ---- */

/* A factor whose rows are not dense is copied where that is done once, or serves several rows. */
static void place_copy(Emit *e, Val v) {
    bool turned;
    Val x = matmul_vector_side(e, v, &turned);
    const Type *t = ir_type(e->f, v);
    View w = view_of(e, x);
    if (e->info[x].n <= 1 || e->info[x].copy != NO_CELL) return;
    int64_t stride = w.stride[w.rank - (turned ? 2 : 1)], rows = turned ? 1 : t->dim[t->rank - 2];
    bool once = level_of(e, w.base) == LEVEL_once && level_of(e, v) != LEVEL_once;
    bool fits = e->info[x].n <= MOST_COPIED || plan_is_dense(e->kernel);
    if (stride <= 1 || !fits || (!once && rows < FEW_BLOCKS)) return;
    CellHome home = plan_is_dense(e->kernel) ? CELL_slot : CELL_local;
    e->info[x].copy = cell_new(e, (Dtype)t->dtype, e->info[x].n, home);
    e->info[x].turned = turned;
}

static void place_copies(Emit *e) {
    for (Val v = 1; v < ir_count(e->f); v++)
        if (e->info[v].live && ir_op(e->f, v) == OP_matmul && !analyze_is_outer(e, v))
            place_copy(e, v);
}

/* ---- accumulators ---- */

static bool is_used(const Emit *e, Val anchor, uint32_t k) {
    for (Val v = anchor + 1; v < ir_count(e->f); v++) {
        const Node *n = ir_node(e->f, v);
        if (e->info[v].live && n->op == OP_result && n->args[0] == anchor && n->attr.index == k)
            return true;
    }
    return false;
}

static void set_result_cells(Emit *e, const Acc *a) {
    for (Val v = a->anchor; v < ir_count(e->f); v++) {
        const Node *n = ir_node(e->f, v);
        if (v == a->anchor && a->kind == ACC_reduce) e->info[v].cell = a->cell[0];
        if (n->op == OP_result && n->args[0] == a->anchor) e->info[v].cell = a->cell[n->attr.index];
    }
}

/* The states of ir.md's reducers: a sum; the largest and its ties; weighted sum, maximum, weights. */
static void add_acc(Emit *e, Val v) {
    const Node *n = ir_node(e->f, v);
    Acc *a = vec_push(e->arena, &e->accs);
    *a = (Acc){.anchor = v,
               .level = (Level)e->kernel->place[v].level,
               .phase = e->kernel->place[v].phase,
               .slot = map_is_all(n->attr.map) && n->op != OP_row_scan};
    CellHome home = a->slot ? CELL_slot : CELL_row;
    a->kind = n->op == OP_reduce ? ACC_reduce : n->op == OP_rmax ? ACC_rmax : ACC_softmax;
    for (int k = 0; k < 3; k++) a->cell[k] = NO_CELL;
    if (n->op == OP_row_scan) {
        scan_new_cells(e, a);
        return;
    }
    for (int k = 0; k < 3; k++)
        a->used[k] = a->kind == ACC_reduce ? k == 0 : is_used(e, v, (uint32_t)k);
    Dtype d = (Dtype)n->types[0].dtype;
    int64_t num = type_numel(&n->types[0]);
    if (a->used[0] || a->kind == ACC_rmax) a->cell[0] = cell_new(e, d, num, home);
    if (a->kind == ACC_rmax && a->used[1]) a->cell[1] = cell_new(e, DT_i64, num, home);
    if (a->kind == ACC_softmax) {
        int64_t scores = type_numel(&n->types[1]);
        for (int k = 1; k < 3; k++) a->cell[k] = cell_new(e, d, scores, home);
        a->weight = cell_new(e, d, scores, CELL_local);
        a->scale = cell_new(e, d, scores, CELL_local);
    }
    a->puts = sums_puts(e, v);
    if (a->puts) a->cell[1] = cell_new(e, d, num, home);
    a->sums = a->kind == ACC_softmax || (a->kind == ACC_reduce && dtype_is_float(d) && !a->puts);
    bool few = num > 0 && num <= NARROW_MOST;
    a->narrow = a->sums && a->kind == ACC_reduce && a->level == LEVEL_edge && few;
    carry_new_cells(e, a);
    set_result_cells(e, a);
}

/* ---- the target's lanes ---- */

static bool has_wide_float(const Emit *e) {
    for (Val v = 1; v < ir_count(e->f); v++)
        for (uint32_t k = 0; e->info[v].live && k < ir_node(e->f, v)->num_results; k++)
            if (ir_node(e->f, v)->types[k].dtype == DT_f64) return true;
    return false;
}

Status analyze_run(Emit *e) {
    Status st = measure(e, ir_live(e->arena, e->f));
    if (st) return st;
    e->max_lanes = e->target->vector_bytes / (has_wide_float(e) ? 8 : 4);
    e->max_unroll = e->target->num_vectors / 2;
    for (Val v = 1; v < ir_count(e->f); v++)
        if (e->info[v].live) note_user(e, v);
    stage_choose(e);
    scan_find_kept(e);
    uniform_find(e);
    for (Val v = 1; v < ir_count(e->f); v++) note_puts(e, v);
    find_absorbed(e);
    for (Val v = 1; v < ir_count(e->f); v++)
        if (e->info[v].live && op_is_reduction(ir_op(e->f, v)) && !plan_is_staged(e->kernel, v))
            add_acc(e, v);
    place_cells(e);
    place_copies(e);
    scan_lay_blocks(e);
    e->rows_in_lanes = rowlanes_can(e);
    if (tile_bytes(e) > MOST_TILE_BYTES) e->rows_in_lanes = false;
    if (e->kernel->schedule == SCHEDULE_edge_lanes) e->stack_size += tile_bytes(e);
    for (uint32_t k = 0; k < e->accs.len; k++)
        if (outer_is_tiled(e, &e->accs.data[k])) e->stack_size += outer_bytes(e, &e->accs.data[k]);
    return ST_OK;
}
