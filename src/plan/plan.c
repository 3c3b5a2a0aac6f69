/* The planner: anchors -> sequences of orders -> kernels -> bodies. Of the sequences that tie in
 * traversals and phases the one that moves the fewest bytes on a nominal domain is taken. */
#include "plan/internal.h"

#include "ir/type.h"

enum { MAX_CANDIDATES = 4, NOMINAL_NODES = 1 << 10, NOMINAL_EDGES = 1 << 14 };

/* A result that is a dense input or constant of a set's rows, as what a kernel stores: on the set. */
static Val on_set(Fn *f, Val v) {
    const Node *n = ir_node(f, v);
    Type t = n->types[0];
    if ((n->op != OP_input && n->op != OP_constant) || t.set != SET_ALL || !t.rank ||
        !dim_is_set(t.dim[0]))
        return v;
    Set s = dim_set(t.dim[0]);
    if (n->op == OP_input) return ir_enter(f, v, s);
    Attr attr = n->attr;
    attr.type = type_of((Dtype)t.dtype, s, t.rank - 1, t.dim + 1);
    return ir_emit(f, OP_constant, NULL, 0, &attr);
}

static const Fn *with_results_on_sets(Arena *scratch, const Fn *f) {
    Fn *g = ir_new_like(scratch, f, f->name);
    Val *memo = ARENA_ARRAY(scratch, Val, ir_count(f));
    for (uint32_t k = 0; k < f->inputs.len; k++) ir_copy(g, f, f->inputs.data[k].val, memo);
    for (uint32_t k = 0; k < f->results.len; k++) {
        Val v = ir_copy(g, f, f->results.data[k].val, memo);
        ir_add_result(g, f->results.data[k].name, on_set(g, v));
    }
    return g;
}

static Plan *build(Arena *takes, const Fn *f, Planner *p, const Sequence *q) {
    Plan *plan = ARENA_NEW(takes, Plan);
    plan->arena = takes;
    plan->program = f;
    cores_run(p, q);
    bodies_run(plan, p, drafts_run(p));
    return plan;
}

static int64_t nominal_bytes(Planner *p, const Sequence *q) {
    int64_t *size = ARENA_ARRAY(p->arena, int64_t, p->f->sets.len);
    for (uint32_t s = 0; s < p->f->sets.len; s++)
        size[s] = s == SET_ALL ? 1 : set_is_edges(p->f, (Set)s) ? NOMINAL_EDGES : NOMINAL_NODES;
    Cost c = plan_cost(build(p->arena, p->f, p, q), size);
    return c.bytes_read + c.bytes_written;
}

Plan *plan_run(Arena *takes, const Fn *f) {
    Arena *scratch = arena_new();
    Planner *p = planner_new(scratch, with_results_on_sets(scratch, f));
    Sequence seq[MAX_CANDIDATES];
    uint32_t n = search_run(p, seq, MAX_CANDIDATES), best = 0;
    int64_t least = INT64_MAX;
    for (uint32_t k = 0; k < n && n > 1; k++) {
        int64_t bytes = nominal_bytes(p, &seq[k]);
        if (bytes >= least) continue;
        least = bytes;
        best = k;
    }
    Plan *plan = build(takes, f, p, &seq[best]);
    arena_free(scratch);
    return plan;
}
