/* Kernels on `all` in stages: dense work on large arrays, cut into shares that tasks take.
 *
 * A set of one element has one row, so rows say nothing about who does what. Here every cell is behind the
 * slot, seen by all tasks, and filled in a stage of its own, of which each share fills a part: the
 * outermost loop of the stage is cut. Results come last. Into how many shares depends on shapes alone, and
 * no sum is cut, so bits are those of one share. */
#include "codegen/emit.h"

enum { MOST_SHARES = 64, SHARE_WORK = 1 << 16 };

static bool is_stageable(Op op) {
    return !op_is_reduction(op) && op != OP_result && op != OP_take && op != OP_put;
}

/* Elements, each as often as it is worked on. */
static double work_of(const Emit *e, Val v) {
    double n = (double)e->info[v].n;
    if (ir_op(e->f, v) != OP_matmul) return n;
    const Type *a = ir_type(e->f, ir_arg(e->f, v, 0));
    return n * (double)(1 + a->dim[a->rank - 1] / 4);
}

void stage_choose(Emit *e) {
    double work = 0;
    if (!plan_is_dense(e->kernel)) return;
    for (Val v = 1; v < ir_count(e->f); v++) {
        if (!e->info[v].live) continue;
        if (!is_stageable(ir_op(e->f, v))) return;
        work += work_of(e, v);
    }
    double shares = work / SHARE_WORK;
    if (shares >= 2) e->num_shares = shares < MOST_SHARES ? (int64_t)shares : MOST_SHARES;
}

/* ---- the list of stages: a factor's copy is made when what it copies is there ---- */

static bool has_fill(const Emit *e, Val v) { return e->info[v].live && e->info[v].cell != NO_CELL; }

static bool has_copy(const Emit *e, Val v) { return e->info[v].live && e->info[v].copy != NO_CELL; }

int64_t stage_count(const Emit *e) {
    int64_t num = 1;
    for (Val v = 1; v < ir_count(e->f); v++) num += has_fill(e, v) + has_copy(e, v);
    return num;
}

/* ---- code ---- */

static void in_shares(Emit *e, Val v, void (*fill)(Emit *e, Val v), bool cut) {
    if (cut) {
        e->share.open = true;
        fill(e, v);
        e->share.open = false;
    } else {
        If only = emit_if(e, emit_is_first_share(e));
        fill(e, v);
        emit_if_end(e, &only);
    }
}

static bool splits(const Emit *e, Val v) {
    Op op = ir_op(e->f, v);
    if (op == OP_matmul && !analyze_is_outer(e, v)) return matmul_splits(e, v);
    if (op == OP_fsum || op == OP_fmax) return fold_splits(e, v);
    if (op == OP_concat || op == OP_pad || op == OP_cumsum) return false;
    return emit_rolled(e, e->info[v].n);
}

static void store_results(Emit *e) {
    for (uint32_t k = 0; k < e->f->results.len; k++) {
        Val v = e->f->results.data[k].val;
        if (matmul_result(e, v) >= 0) continue;
        emit_ensure(e, v);
        in_shares(e, v, kernel_store_all, emit_rolled(e, e->info[v].n));
    }
}

void stage_emit(Emit *e, int stage) {
    for (Val v = 1; v < ir_count(e->f); v++) {
        if (has_fill(e, v)) {
            if (stage == 0) {
                emit_ensure_operands(e, v);
                in_shares(e, v, eval_fill, splits(e, v));
                return;
            }
            memo_put(e, v, KEY_filled, e->args);
            stage--;
        }
        if (has_copy(e, v)) {
            if (stage == 0) {
                in_shares(e, v, matmul_copy, true);
                return;
            }
            memo_put(e, v, KEY_copied, e->args);
            stage--;
        }
    }
    store_results(e);
}
