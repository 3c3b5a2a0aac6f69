/* The entries of KernelCode: one template of levels (once, row, edge, end) behind all of them.
 *
 * In `rows` the row's cells are the function's own; begin, merge and finish work in the state given;
 * part keeps the small cells of its phase in registers from entry to exit. Slots are kept likewise. */
#include "codegen/prefetch.h"

#include <stddef.h>
#include <string.h>

const char *const entry_names[NUM_ENTRIES] = {"rows",   "begin",      "part",       "merge",
                                              "finish", "slot_begin", "slot_merge", "end"};
const char *const entry_nothing = "nothing";
enum {
    ENTRY_rows,
    ENTRY_begin,
    ENTRY_part,
    ENTRY_merge,
    ENTRY_finish,
    ENTRY_slot_begin,
    ENTRY_slot_merge,
    ENTRY_end
};

/* ---- functions ---- */

static void add_attribute(Emit *e, const char *key, const char *value) {
    LLVMAttributeRef a = LLVMCreateStringAttribute(e->context, key, (unsigned)strlen(key), value,
                                                   (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(e->function, LLVMAttributeFunctionIndex, a);
}

static void add_attributes(Emit *e) {
    unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
    LLVMAttributeRef a = LLVMCreateEnumAttribute(e->context, nounwind, 0);
    LLVMAddAttributeAtIndex(e->function, LLVMAttributeFunctionIndex, a);
    add_attribute(e, "no-builtins", "");
    if (e->target->vector_bytes == 64) {
        add_attribute(e, "prefer-vector-width", "512");
        add_attribute(e, "min-legal-vector-width", "512");
    }
}

/* shape: 'p' a pointer, 'i' an i64, one letter a parameter. */
static void function_begin(Emit *e, const char *name, const char *shape) {
    LLVMTypeRef params[8];
    unsigned n = (unsigned)strlen(shape);
    for (unsigned k = 0; k < n; k++) params[k] = shape[k] == 'p' ? e->ptr : e->i64;
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), params, n, false);
    e->function = LLVMAddFunction(e->module, name, type);
    LLVMSetVisibility(e->function, LLVMHiddenVisibility);
    add_attributes(e);
    LLVMPositionBuilderAtEnd(e->entry,
                             LLVMAppendBasicBlockInContext(e->context, e->function, "entry"));
    LLVMPositionBuilderAtEnd(e->builder,
                             LLVMAppendBasicBlockInContext(e->context, e->function, "start"));
    e->args = LLVMGetParam(e->function, 0);
    e->row = e->row_begin = e->row_end = e->pos = e->edge = e->col = e->state = e->slot = NULL;
    e->seed = e->block_first = NULL;
    e->share.open = false;
    uint32_t num_buffers = e->f->inputs.len + e->f->results.len;
    memset(e->data, 0, num_buffers * sizeof *e->data);
    memset(e->stride, 0, num_buffers * (MAX_RANK + 1) * sizeof *e->stride);
    memset(e->memo, 0, ir_count(e->f) * sizeof *e->memo);
    e->log.len = 0;
    for (uint32_t k = 0; k < e->cells.len; k++) e->cells.data[k].ptr = e->cells.data[k].from = NULL;
    for (uint32_t k = 0; k < e->accs.len; k++)
        e->accs.data[k].lanes = e->accs.data[k].factor[0] = NULL;
}

static void function_end(Emit *e) {
    LLVMBuildRetVoid(e->builder);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(e->function);
    LLVMBuildBr(e->entry, LLVMGetNextBasicBlock(entry));
}

static LLVMValueRef param(Emit *e, unsigned k) { return LLVMGetParam(e->function, k); }

/* ---- cells in states ---- */

static LLVMValueRef cell_in(Emit *e, const Cell *c, LLVMValueRef state) {
    return emit_at(e, state, emit_i64(e, (int64_t)c->offset));
}

static void use_state(Emit *e, CellHome home, LLVMValueRef state, LLVMValueRef from) {
    for (uint32_t k = 0; k < e->cells.len; k++) {
        Cell *c = &e->cells.data[k];
        if (c->home != home) continue;
        c->ptr = cell_in(e, c, state);
        if (from) c->from = cell_in(e, c, from);
    }
}

static void transfer(Emit *e, int cell, LLVMValueRef state, bool in) {
    cell_transfer(e, cell, cell_in(e, &e->cells.data[cell], state), in);
}

/* Small cells into this function's own, large ones where they are. */
static void keep(Emit *e, int cell, LLVMValueRef state) {
    Cell *c = &e->cells.data[cell];
    if (c->large) c->ptr = cell_in(e, c, state);
    else transfer(e, cell, state, true);
}

static void put_back(Emit *e, int cell, LLVMValueRef state) {
    if (!e->cells.data[cell].large) transfer(e, cell, state, false);
}

/* ---- accumulators by where they run ---- */

static bool runs_at(const Acc *a, Level level, int phase) {
    return a->level == level && (level != LEVEL_edge || a->phase == phase);
}

static bool is_of_row(const Acc *a, int phase) { return !a->slot && a->phase == phase; }

typedef void AccFn(Emit *e, const Acc *a);

static void for_row_accs(Emit *e, int phase, AccFn *fn) {
    for (uint32_t k = 0; k < e->accs.len; k++)
        if (is_of_row(&e->accs.data[k], phase)) fn(e, &e->accs.data[k]);
}

static void for_slot_accs(Emit *e, AccFn *fn) {
    for (uint32_t k = 0; k < e->accs.len; k++)
        if (e->accs.data[k].slot) fn(e, &e->accs.data[k]);
}

static void for_cells_of(Emit *e, const Acc *a, void (*fn)(Emit *e, int cell, LLVMValueRef state),
                         LLVMValueRef state) {
    for (int k = 0; k < 3; k++)
        if (a->cell[k] != NO_CELL) fn(e, a->cell[k], state);
    for (uint32_t k = 0; k < a->scan.num_states; k++) fn(e, a->states[k], state);
}

/* ---- levels ---- */

/* Cells of values on `all` that depend on no row. */
static void once(Emit *e) {
    for (Val v = 1; v < ir_count(e->f); v++) {
        if (!e->info[v].live) continue;
        if (level_of(e, v) == LEVEL_once && e->info[v].crosses) emit_ensure(e, v);
        if (e->info[v].copy != NO_CELL && level_of(e, view_of(e, v).base) == LEVEL_once)
            matmul_copy(e, v);
    }
}

/* Row cells that are known before phase `phase` and no earlier. */
static void row_values(Emit *e, int phase) {
    for (Val v = 1; v < ir_count(e->f); v++) {
        const Info *i = &e->info[v];
        if (i->live && i->crosses && level_of(e, v) == LEVEL_row &&
            e->kernel->place[v].phase == phase)
            emit_ensure(e, v);
    }
}

/* They lie in the state already, up to those known before `phase`. */
static void row_values_are_there(Emit *e, int phase) {
    for (Val v = 1; v < ir_count(e->f); v++) {
        const Info *i = &e->info[v];
        if (i->live && i->crosses && level_of(e, v) == LEVEL_row &&
            e->kernel->place[v].phase <= phase)
            memo_put(e, v, KEY_filled, e->args);
    }
}

typedef struct {
    Val v;
    LLVMValueRef ptr;
    bool streamed;
} Store;

static void store_past_cache(Emit *e, LLVMValueRef at, LLVMValueRef value, unsigned bytes) {
    LLVMValueRef store = LLVMBuildStore(e->builder, value, at);
    LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(e->i32, 1, false));
    LLVMMetadataRef node = LLVMMDNodeInContext2(e->context, &one, 1);
    LLVMSetAlignment(store, bytes);
    LLVMSetMetadata(store, LLVMGetMDKindIDInContext(e->context, "nontemporal", 11),
                    LLVMMetadataAsValue(e->context, node));
}

static void store_block(Emit *e, Block b, void *ctx) {
    const Store *s = ctx;
    Dtype d = (Dtype)ir_type(e->f, s->v)->dtype;
    LLVMValueRef at = emit_at(e, s->ptr, emit_mul(e, b.offset, emit_i64(e, dtype_size(d))));
    LLVMValueRef value = emit_eval(e, s->v, b);
    unsigned size = (unsigned)dtype_size(d);
    if (s->streamed && d != DT_bool) store_past_cache(e, at, value, b.lanes * size);
    else emit_store(e, at, d, value, b.lanes, b.count, size);
}

static bool is_streamed(const Emit *e, uint32_t k) {
    return e->request->layout[e->f->inputs.len + k] == LAYOUT_streamed;
}

/* Result k at element `at` of its set; NULL on `all`. Of a staged sum its operand, by its place in a block. */
static void store_result(Emit *e, uint32_t k, LLVMValueRef at) {
    Val v = e->f->results.data[k].val;
    if (plan_is_staged(e->kernel, v)) {
        v = ir_arg(e->f, v, 0);
        at = scan_place(e);
    }
    if (e->info[v].n == 0) return;
    int64_t bytes = e->info[v].n * dtype_size((Dtype)ir_type(e->f, v)->dtype);
    Store s = {v, buffer_data(e, (int)(e->f->inputs.len + k)), is_streamed(e, k)};
    if (at) s.ptr = emit_at(e, s.ptr, emit_mul(e, at, emit_i64(e, bytes)));
    emit_ensure(e, v);
    emit_blocks(e, e->info[v].n, store_block, &s);
}

void kernel_store_all(Emit *e, Val v) {
    for (uint32_t k = 0; k < e->f->results.len; k++)
        if (e->f->results.data[k].val == v) store_result(e, k, NULL);
}

static bool is_level(const Emit *e, Val v, Level level) { return level_of(e, v) == level; }

/* What a row gives when its last phase ended. */
static void row_results(Emit *e) {
    table_check(e, LEVEL_row, 0);
    for (uint32_t k = 0; k < e->accs.len; k++)
        if (runs_at(&e->accs.data[k], LEVEL_row, 0)) acc_step(e, &e->accs.data[k]);
    for (uint32_t k = 0; k < e->f->results.len; k++)
        if (is_level(e, e->f->results.data[k].val, LEVEL_row)) store_result(e, k, e->row);
}

static bool is_edge_result(const Emit *e, uint32_t k, int phase) {
    Val v = e->f->results.data[k].val;
    return level_of(e, v) == LEVEL_edge && e->kernel->place[v].phase == phase;
}

void kernel_store_staged(Emit *e, int phase) {
    for (uint32_t k = 0; k < e->f->results.len; k++)
        if (is_edge_result(e, k, phase) && plan_is_staged(e->kernel, e->f->results.data[k].val))
            store_result(e, k, NULL);
}

/* [first, last) of the whole, seen from its other end where the phase runs backward. */
static LLVMValueRef mirror(Emit *e, LLVMValueRef first, LLVMValueRef last, LLVMValueRef at) {
    return LLVMBuildSub(e->builder, emit_add(e, first, last), at, "");
}

Loop edges_begin(Emit *e, int phase, LLVMValueRef first, LLVMValueRef last) {
    bool has_cols = !map_is_all(e->kernel->map);
    LLVMValueRef edges =
        e->request->has_edge ? emit_argument(e, e->args, offsetof(KernelArgs, edge), e->ptr) : NULL;
    Loop l = emit_loop(e, first, last, emit_i64(e, 1));
    e->pos = l.index;
    if (scan_is_reversed(e, phase))
        e->pos = mirror(e, first, last, emit_add(e, l.index, emit_i64(e, 1)));
    e->edge = edges ? emit_index(e, edges, e->pos) : e->pos;
    if (has_cols)
        e->col =
            emit_index(e, emit_argument(e, e->args, offsetof(KernelArgs, col), e->ptr), e->pos);
    scan_at_edge(e);
    return l;
}

static bool in_edge_lanes(const Emit *e) { return e->kernel->schedule == SCHEDULE_edge_lanes; }

static void sweep_edges(Emit *e, int phase, LLVMValueRef first, LLVMValueRef last) {
    if (in_edge_lanes(e)) {
        tile_group(e, phase, first, last);
        return;
    }
    group_open(e, phase);
    Prefetch ahead = prefetch_new(e, phase);
    Loop l = edges_begin(e, phase, first, last);
    prefetch_emit(e, &ahead);
    group_step(e, phase, first);
    table_check(e, LEVEL_edge, phase); /* after the steps: an index may come of a scan */
    for (uint32_t k = 0; k < e->f->results.len; k++)
        if (is_edge_result(e, k, phase)) store_result(e, k, e->edge);
    emit_loop_end(e, &l);
    group_close(e, phase, first, last);
}

/* ---- sums in groups (carry.c) ---- */

static bool is_sum_of_row(const Acc *a, int phase) { return a->sums && is_of_row(a, phase); }

static bool is_sum_of_slot(const Acc *a) { return a->sums && a->slot; }

static bool has_sums(const Emit *e, int phase) {
    for (uint32_t k = 0; k < e->accs.len; k++) {
        const Acc *a = &e->accs.data[k];
        if (a->sums && a->level == LEVEL_edge && a->phase == phase) return true;
    }
    return false;
}

/* Level `level` of every sum that the phase's edges feed goes up. */
static void carry_edges(Emit *e, int phase, int level) {
    for (uint32_t k = 0; k < e->accs.len; k++) {
        const Acc *a = &e->accs.data[k];
        if (a->sums && a->level == LEVEL_edge && a->phase == phase) carry_up(e, a, level);
    }
}

static LLVMValueRef compare(Emit *e, LLVMIntPredicate how, LLVMValueRef a, int64_t b) {
    return LLVMBuildICmp(e->builder, how, a, emit_i64(e, b), "");
}

/* Every 32nd group of a row empties the second level too. */
static void carry_group(Emit *e, int phase, LLVMValueRef first, LLVMValueRef at) {
    enum { MASK = CARRY_GROUP * CARRY_GROUP - 1, LAST = CARRY_GROUP * (CARRY_GROUP - 1) };
    carry_edges(e, phase, 0);
    LLVMValueRef done = LLVMBuildSub(e->builder, at, first, "");
    LLVMValueRef place = LLVMBuildAnd(e->builder, done, emit_i64(e, MASK), "");
    If full = emit_if(e, compare(e, LLVMIntEQ, place, LAST));
    carry_edges(e, phase, 1);
    emit_if_end(e, &full);
}

/* One sweep over edges [first, last) of the row. */
static void sweep(Emit *e, int phase, LLVMValueRef first, LLVMValueRef last) {
    if (in_edge_lanes(e)) tile_sweep(e, last);
    else if (!has_sums(e, phase)) {
        sweep_edges(e, phase, first, last);
        return;
    }
    LLVMValueRef count = LLVMBuildSub(e->builder, last, first, "");
    LLVMValueRef many = compare(e, LLVMIntSGT, count, CARRY_GROUP);
    If start = emit_if(e, many);
    for (uint32_t k = 0; k < e->accs.len; k++) {
        Acc *a = &e->accs.data[k];
        if (!is_sum_of_row(a, phase)) continue;
        carry_open_row(e, a);
        carry_start(e, a, 1);
        carry_start(e, a, 2);
    }
    emit_if_end(e, &start);
    Loop groups = emit_loop(e, first, last, emit_i64(e, CARRY_GROUP));
    LLVMValueRef end = emit_add(e, groups.index, emit_i64(e, CARRY_GROUP));
    LLVMValueRef inside = LLVMBuildICmp(e->builder, LLVMIntSLT, end, last, "");
    end = LLVMBuildSelect(e->builder, inside, end, last, "");
    if (scan_is_reversed(e, phase))
        sweep_edges(e, phase, mirror(e, first, last, end), mirror(e, first, last, groups.index));
    else sweep_edges(e, phase, groups.index, end);
    If up = emit_if(e, many);
    carry_group(e, phase, first, groups.index);
    emit_if_end(e, &up);
    emit_loop_end(e, &groups);
    If gather = emit_if(e, many);
    for (uint32_t k = 0; k < e->accs.len; k++)
        if (is_sum_of_row(&e->accs.data[k], phase)) carry_gather(e, &e->accs.data[k]);
    emit_if_end(e, &gather);
}

/* Slots' sums over the rows of a call: counted in edges and rows since the last group. */
static void slots_open(Emit *e) {
    for (uint32_t k = 0; k < e->accs.len; k++) {
        Acc *a = &e->accs.data[k];
        if (!a->slot) continue;
        if (a->sums) carry_open_slot(e, a);
        else for_cells_of(e, a, keep, e->slot);
    }
}

static void slots_up(Emit *e, int level) {
    for (uint32_t k = 0; k < e->accs.len; k++)
        if (is_sum_of_slot(&e->accs.data[k])) carry_up(e, &e->accs.data[k], level);
}

static void slots_close(Emit *e) {
    for (uint32_t k = 0; k < e->accs.len; k++) {
        const Acc *a = &e->accs.data[k];
        if (a->slot && !a->sums) for_cells_of(e, a, put_back, e->slot);
    }
    slots_up(e, 0);
    slots_up(e, 1);
}

static bool has_slot_sums(const Emit *e) {
    for (uint32_t k = 0; k < e->accs.len; k++)
        if (is_sum_of_slot(&e->accs.data[k])) return true;
    return false;
}

/* Adds `more` to a count; where it reaches a group's size, resets it and says so. */
static LLVMValueRef count_up(Emit *e, LLVMValueRef counter, LLVMValueRef more) {
    LLVMValueRef now = emit_add(e, LLVMBuildLoad2(e->builder, e->i64, counter, ""), more);
    LLVMValueRef full = compare(e, LLVMIntSGE, now, CARRY_GROUP);
    LLVMBuildStore(e->builder, LLVMBuildSelect(e->builder, full, emit_i64(e, 0), now, ""), counter);
    return full;
}

/* After a row: a group of slots' sums may be full. counters: of terms, of groups. */
static void slots_row_done(Emit *e, const LLVMValueRef *counters) {
    LLVMValueRef terms = emit_i64(e, 1);
    if (e->row_begin)
        terms = emit_add(e, terms, LLVMBuildSub(e->builder, e->row_end, e->row_begin, ""));
    If group = emit_if(e, count_up(e, counters[0], terms));
    slots_up(e, 0);
    If second = emit_if(e, count_up(e, counters[1], emit_i64(e, 1)));
    slots_up(e, 1);
    emit_if_end(e, &second);
    emit_if_end(e, &group);
}

/* ---- whole rows ---- */

static void find_row(Emit *e, LLVMValueRef row) {
    e->row = row;
    if (e->kernel->map == MAP_NONE) return;
    LLVMValueRef row_ptr = emit_argument(e, e->args, offsetof(KernelArgs, row_ptr), e->ptr);
    LLVMValueRef at = LLVMBuildGEP2(e->builder, e->i64, row_ptr, &row, 1, "");
    e->row_begin = emit_field(e, at, 0, e->i64);
    e->row_end = emit_field(e, at, 8, e->i64);
}

/* Rows without edges in lanes: what they give. */
static void rows_in_lanes(Emit *e, LLVMValueRef first, LLVMValueRef last) {
    Loop l = emit_loop(e, first, last, emit_i64(e, EDGE_LANES));
    lanes_at(e, l.index, last);
    for (uint32_t k = 0; k < e->f->results.len; k++)
        if (is_level(e, e->f->results.data[k].val, LEVEL_row)) lanes_store_result(e, k);
    emit_loop_end(e, &l);
}

static LLVMValueRef first_edge(Emit *e, LLVMValueRef row) {
    LLVMValueRef row_ptr = emit_argument(e, e->args, offsetof(KernelArgs, row_ptr), e->ptr);
    return emit_field(e, LLVMBuildGEP2(e->builder, e->i64, row_ptr, &row, 1, ""), 0, e->i64);
}

static bool has_row_work(const Emit *e) {
    if (e->kernel->num_phases) return true;
    for (uint32_t k = 0; k < e->accs.len; k++)
        if (e->accs.data[k].level == LEVEL_row) return true;
    for (uint32_t k = 0; k < e->f->results.len; k++)
        if (is_level(e, e->f->results.data[k].val, LEVEL_row)) return true;
    return false;
}

/* A row from its first phase to its results. */
static void whole_row(Emit *e, LLVMValueRef row) {
    int num_phases = (int)e->kernel->num_phases;
    find_row(e, row);
    prefetch_row(e);
    for (int p = 0; p < num_phases; p++) {
        if (!in_edge_lanes(e) || num_phases > 1) row_values(e, p);
        for_row_accs(e, p, acc_init);
        if (e->block_edges) scan_sweep(e, p, sweep);
        else sweep(e, p, e->row_begin, e->row_end);
        for_row_accs(e, p, acc_finish);
    }
    if (e->block_edges) scan_stage_row(e);
    row_results(e);
}

static void one_by_one(Emit *e, LLVMValueRef first, LLVMValueRef last) {
    Loop l = emit_loop(e, first, last, emit_i64(e, 1));
    whole_row(e, l.index);
    emit_loop_end(e, &l);
}

/* Stores past the cache are in no order with others until a fence. */
static void finish_streams(Emit *e) {
    for (uint32_t k = 0; k < e->f->results.len; k++)
        if (is_streamed(e, k)) {
            LLVMBuildFence(e->builder, LLVMAtomicOrderingSequentiallyConsistent, false, "");
            return;
        }
}

static void emit_rows(Emit *e) {
    function_begin(e, entry_names[ENTRY_rows], "piip");
    e->slot = param(e, 3);
    bool slot_sums = has_slot_sums(e);
    LLVMValueRef counters[2];
    for (int k = 0; k < 2 && slot_sums; k++) {
        counters[k] = emit_temp(e, e->i64);
        LLVMBuildStore(e->builder, emit_i64(e, 0), counters[k]);
    }
    slots_open(e);
    once(e);
    if (in_edge_lanes(e) && e->kernel->map == MAP_NONE) {
        rows_in_lanes(e, param(e, 1), param(e, 2));
        function_end(e);
        return;
    }
    if (in_edge_lanes(e)) tile_open(e, first_edge(e, param(e, 2)));
    if (e->rows_in_lanes) {
        rowlanes_sweep(e, param(e, 1), param(e, 2), one_by_one);
        function_end(e);
        return;
    }
    Loop l = emit_loop(e, param(e, 1), param(e, 2), emit_i64(e, 1));
    whole_row(e, l.index);
    if (slot_sums) slots_row_done(e, counters);
    emit_loop_end(e, &l);
    slots_close(e);
    finish_streams(e);
    function_end(e);
}

/* ---- split rows ---- */

/* body for each phase, chosen by a run-time number. */
static void for_phases(Emit *e, LLVMValueRef phase, int64_t num, void (*body)(Emit *e, int phase)) {
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->context, e->function, "done");
    LLVMValueRef choice = LLVMBuildSwitch(e->builder, phase, done, (unsigned)num);
    for (int p = 0; p < (int)num; p++) {
        LLVMBasicBlockRef here = LLVMAppendBasicBlockInContext(e->context, e->function, "");
        LLVMAddCase(choice, emit_i64(e, p), here);
        LLVMPositionBuilderAtEnd(e->builder, here);
        uint32_t mark = e->log.len;
        body(e, p);
        memo_pop(e, mark);
        LLVMBuildBr(e->builder, done);
    }
    LLVMMoveBasicBlockAfter(done, LLVMGetLastBasicBlock(e->function));
    LLVMPositionBuilderAtEnd(e->builder, done);
}

static void begin_phase(Emit *e, int phase) {
    if (phase == 0) row_values(e, 0);
    else row_values_are_there(e, phase);
    for_row_accs(e, phase, acc_init);
}

static void emit_begin(Emit *e) {
    function_begin(e, entry_names[ENTRY_begin], "piip");
    use_state(e, CELL_row, param(e, 3), NULL);
    once(e);
    find_row(e, param(e, 2));
    for_phases(e, param(e, 1), e->kernel->num_phases, begin_phase);
    function_end(e);
}

static void part_phase(Emit *e, int phase) {
    for (Val v = 1; v < ir_count(e->f); v++)
        if (e->info[v].live && e->info[v].crosses && level_of(e, v) == LEVEL_row)
            keep(e, e->info[v].cell, e->state);
    row_values_are_there(e, phase);
    for (uint32_t k = 0; k < e->accs.len; k++)
        if (!e->accs.data[k].slot) for_cells_of(e, &e->accs.data[k], keep, e->state);
    LLVMValueRef inside = LLVMBuildICmp(e->builder, LLVMIntNE, param(e, 3), e->row_begin, "");
    e->seed = LLVMBuildSelect(e->builder, inside, param(e, 3), emit_i64(e, -1), "");
    sweep(e, phase, param(e, 3), param(e, 4));
    for (uint32_t k = 0; k < e->accs.len; k++)
        if (is_of_row(&e->accs.data[k], phase))
            for_cells_of(e, &e->accs.data[k], put_back, e->state);
}

static void emit_part(Emit *e) {
    function_begin(e, entry_names[ENTRY_part], "piiiipp");
    e->state = param(e, 5);
    e->slot = param(e, 6);
    slots_open(e);
    once(e);
    if (in_edge_lanes(e)) tile_open(e, param(e, 4));
    find_row(e, param(e, 2));
    for_phases(e, param(e, 1), e->kernel->num_phases, part_phase);
    slots_close(e);
    function_end(e);
}

static void merge_phase(Emit *e, int phase) { for_row_accs(e, phase, acc_merge); }

static void emit_merge(Emit *e) {
    function_begin(e, entry_names[ENTRY_merge], "pipp");
    use_state(e, CELL_row, param(e, 2), param(e, 3));
    for_phases(e, param(e, 1), e->kernel->num_phases, merge_phase);
    function_end(e);
}

static void finish_phase(Emit *e, int phase) {
    row_values_are_there(e, phase);
    for_row_accs(e, phase, acc_finish);
    if (phase + 1 < (int)e->kernel->num_phases) row_values(e, phase + 1);
    else row_results(e);
}

static void emit_finish(Emit *e) {
    function_begin(e, entry_names[ENTRY_finish], "piipp");
    use_state(e, CELL_row, param(e, 3), NULL);
    use_state(e, CELL_slot, param(e, 4), NULL);
    once(e);
    find_row(e, param(e, 2));
    for_phases(e, param(e, 1), e->kernel->num_phases, finish_phase);
    finish_streams(e);
    function_end(e);
}

/* ---- slots and the end ---- */

static void emit_slots(Emit *e) {
    function_begin(e, entry_names[ENTRY_slot_begin], "pp");
    use_state(e, CELL_slot, param(e, 1), NULL);
    for_slot_accs(e, acc_init);
    function_end(e);
    function_begin(e, entry_names[ENTRY_slot_merge], "ppp");
    use_state(e, CELL_slot, param(e, 1), param(e, 2));
    for_slot_accs(e, acc_merge);
    function_end(e);
}

static void emit_end(Emit *e) {
    function_begin(e, entry_names[ENTRY_end], "pp");
    use_state(e, CELL_slot, param(e, 1), NULL);
    for_slot_accs(e, acc_finish);
    table_check(e, LEVEL_once, 0);
    table_check(e, LEVEL_last, 0);
    for (uint32_t k = 0; k < e->f->results.len; k++) {
        Val v = e->f->results.data[k].val;
        if (is_level(e, v, LEVEL_once) || is_level(e, v, LEVEL_last)) store_result(e, k, NULL);
    }
    function_end(e);
}

static void emit_stages(Emit *e) {
    function_begin(e, entry_names[ENTRY_part], "piiiipp");
    use_state(e, CELL_slot, param(e, 6), NULL);
    e->share.index = param(e, 3);
    for_phases(e, param(e, 1), stage_count(e), stage_emit);
    finish_streams(e);
    function_end(e);
}

/* What entries that this kernel has no use for share. */
static void emit_nothing(Emit *e) {
    function_begin(e, entry_nothing, "p");
    function_end(e);
}

void kernel_emit(Emit *e) {
    if (has_row_work(e)) emit_rows(e);
    if (e->request->split && !e->kernel->whole_rows) {
        emit_begin(e);
        emit_part(e);
        emit_merge(e);
        emit_finish(e);
    }
    if (e->kernel->has_slots) emit_slots(e);
    if (e->num_shares) emit_stages(e);
    else emit_end(e);
    emit_nothing(e);
}
