/* Gathered rows are asked for a fixed number of positions ahead. Where the hint for L1 is held back by its
 * few fill buffers (Zen 4), that for L2 is worth a factor of two to four on tables that outgrow the cache,
 * far ahead; on Intel's cores the one for L1 is the better by a fifth to a third, closer, so that rows are
 * not gone before they are read. The index and field streams get hints too, since their own hardware
 * streams are lost among the random misses. */
#include "codegen/prefetch.h"

#include <stddef.h>

enum {
    LINE = 64,
    AHEAD_L1 = 8192, /* bytes of gathered rows in flight */
    AHEAD_L2 = 32768,
    TO_L1 = 3, /* llvm.prefetch's locality */
    TO_L2 = 2,
    MIN_AHEAD = 4,
    MAX_AHEAD = 512,
    STREAM_AHEAD = 256, /* positions */
    ROWS_AHEAD = 8,
    LEAST_ROW = 16, /* bytes of a row that is worth a hint */
    MAX_LINES = 64  /* of one row */
};

static bool is_gathered(const Emit *e, Val v) {
    const Node *n = ir_node(e->f, v);
    return n->op == OP_gather && !map_is_all(n->attr.map) && n->attr.map != e->kernel->map;
}

static int64_t row_bytes(const Emit *e, Val v) {
    return e->info[v].n * dtype_size((Dtype)ir_type(e->f, v)->dtype);
}

static bool is_dense(const Emit *e, int buffer) {
    return e->request->layout[buffer] != LAYOUT_strided;
}

Prefetch prefetch_new(Emit *e, int phase) {
    Prefetch p = {0};
    if (!e->request->prefetch || scan_is_reversed(e, phase)) return p;
    p.need = ARENA_ARRAY(e->arena, uint8_t, ir_count(e->f));
    for (uint32_t k = 0; k < e->accs.len; k++)
        if (e->accs.data[k].level == LEVEL_edge && e->accs.data[k].phase == phase)
            p.need[e->accs.data[k].anchor] = 1;
    for (uint32_t k = 0; k < e->f->results.len; k++) {
        Val v = e->f->results.data[k].val;
        if (level_of(e, v) == LEVEL_edge && e->kernel->place[v].phase == phase) p.need[v] = 1;
    }
    int64_t bytes = 0;
    for (Val v = ir_count(e->f) - 1; v > 0; v--) {
        const Node *n = ir_node(e->f, v);
        if (!p.need[v]) continue;
        if (is_gathered(e, v)) bytes += row_bytes(e, v);
        else if (n->op != OP_gather && n->op != OP_result)
            for (uint32_t k = 0; k < n->num_args; k++) p.need[n->args[k]] = 1;
    }
    p.distance = bytes ? (e->target->asks_l1 ? AHEAD_L1 : AHEAD_L2) / bytes : MAX_AHEAD;
    if (p.distance < MIN_AHEAD) p.distance = MIN_AHEAD;
    if (p.distance > MAX_AHEAD) p.distance = MAX_AHEAD;
    return p;
}

static void hint(Emit *e, LLVMValueRef ptr, int locality) {
    LLVMValueRef args[] = {ptr, LLVMConstInt(e->i32, 0, false),
                           LLVMConstInt(e->i32, (unsigned)locality, false),
                           LLVMConstInt(e->i32, 1, false)};
    emit_call(e, "llvm.prefetch", &e->ptr, 1, args, 4);
}

static void hint_row(Emit *e, LLVMValueRef ptr, int64_t bytes) {
    for (int64_t at = 0; at < bytes && at < LINE * MAX_LINES; at += LINE)
        hint(e, emit_at(e, ptr, emit_i64(e, at)), e->target->asks_l1 ? TO_L1 : TO_L2);
}

/* Position `ahead` further, or the last one. */
static LLVMValueRef position_ahead(Emit *e, int64_t ahead) {
    LLVMValueRef num = emit_argument(e, e->args, offsetof(KernelArgs, num_edges), e->i64);
    LLVMValueRef last = LLVMBuildSub(e->builder, num, emit_i64(e, 1), "");
    LLVMValueRef pos = emit_add(e, e->pos, emit_i64(e, ahead));
    LLVMValueRef inside = LLVMBuildICmp(e->builder, LLVMIntSLT, pos, last, "");
    return LLVMBuildSelect(e->builder, inside, pos, last, "");
}

static void hint_rows(Emit *e, int buffer, LLVMValueRef at, int64_t bytes) {
    LLVMValueRef row = emit_mul(e, at, buffer_stride(e, buffer, 0));
    hint_row(e, emit_at(e, buffer_data(e, buffer), row), bytes);
}

static void hint_stream(Emit *e, LLVMValueRef array) {
    LLVMValueRef pos = emit_add(e, e->pos, emit_i64(e, STREAM_AHEAD));
    LLVMTypeRef type = e->request->wide ? e->i64 : e->i32;
    hint(e, LLVMBuildGEP2(e->builder, type, array, &pos, 1, ""),
         e->target->asks_l1 ? TO_L1 : TO_L2);
}

void prefetch_row(Emit *e) {
    if (!e->request->prefetch) return;
    LLVMValueRef num = emit_argument(e, e->args, offsetof(KernelArgs, num_rows), e->i64);
    LLVMValueRef last = LLVMBuildSub(e->builder, num, emit_i64(e, 1), "");
    LLVMValueRef row = emit_add(e, e->row, emit_i64(e, ROWS_AHEAD));
    LLVMValueRef inside = LLVMBuildICmp(e->builder, LLVMIntSLT, row, last, "");
    row = LLVMBuildSelect(e->builder, inside, row, last, "");
    for (Val v = 1; v < ir_count(e->f); v++)
        if (e->info[v].live && ir_op(e->f, v) == OP_input && level_of(e, v) == LEVEL_row &&
            ir_type(e->f, v)->set == e->kernel->rows && is_dense(e, e->info[v].buffer) &&
            row_bytes(e, v) >= LEAST_ROW)
            hint_rows(e, e->info[v].buffer, row, row_bytes(e, v));
}

static void hint_fields(Emit *e, const Prefetch *p) {
    LLVMValueRef at = emit_add(e, e->pos, emit_i64(e, STREAM_AHEAD));
    if (e->request->has_edge) {
        LLVMValueRef edges = emit_argument(e, e->args, offsetof(KernelArgs, edge), e->ptr);
        hint_stream(e, edges);
        at = emit_index(e, edges, position_ahead(e, p->distance));
    }
    for (Val v = 1; v < ir_count(e->f); v++)
        if (p->need[v] && ir_op(e->f, v) == OP_input && level_of(e, v) == LEVEL_edge &&
            is_dense(e, e->info[v].buffer))
            hint_rows(e, e->info[v].buffer, at, row_bytes(e, v));
}

void prefetch_emit(Emit *e, const Prefetch *p) {
    if (!p->need) return;
    LLVMValueRef cols = emit_argument(e, e->args, offsetof(KernelArgs, col), e->ptr), at = NULL;
    for (Val v = 1; v < ir_count(e->f); v++) {
        int buffer = p->need[v] && is_gathered(e, v) ? e->info[ir_arg(e->f, v, 0)].buffer : -1;
        if (buffer < 0 || !is_dense(e, buffer)) continue;
        if (!at) {
            hint_stream(e, cols);
            at = emit_index(e, cols, position_ahead(e, p->distance));
        }
        hint_rows(e, buffer, at, row_bytes(e, v));
    }
    hint_fields(e, p);
}

/* The rows that EDGE_LANES positions gather, p->distance further. */
void prefetch_lanes(Emit *e, const Prefetch *p) {
    if (!p->need) return;
    LLVMValueRef cols = emit_argument(e, e->args, offsetof(KernelArgs, col), e->ptr);
    LLVMValueRef num = emit_argument(e, e->args, offsetof(KernelArgs, num_edges), e->i64);
    LLVMValueRef pos = emit_add(e, e->lane.pos, emit_i64(e, p->distance));
    LLVMValueRef end = emit_add(e, pos, emit_i64(e, EDGE_LANES));
    If inside = emit_if(e, LLVMBuildICmp(e->builder, LLVMIntSLE, end, num, ""));
    for (unsigned l = 0; l < EDGE_LANES; l++) {
        LLVMValueRef at = emit_index(e, cols, emit_add(e, pos, emit_i64(e, l)));
        for (Val v = 1; v < ir_count(e->f); v++) {
            int buffer = p->need[v] && is_gathered(e, v) ? e->info[ir_arg(e->f, v, 0)].buffer : -1;
            if (buffer >= 0 && is_dense(e, buffer)) hint_rows(e, buffer, at, LINE);
        }
    }
    emit_if_end(e, &inside);
}
