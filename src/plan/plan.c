/* The planner: anchors -> sequences of orders -> kernels -> bodies. Of the sequences that tie in
 * traversals and phases the one that moves the fewest bytes on a nominal domain is taken. */
#include "plan/internal.h"

enum { MAX_CANDIDATES = 4, NOMINAL_NODES = 1 << 10, NOMINAL_EDGES = 1 << 14 };

static Plan *build(Arena *takes, Planner *p, const Sequence *q) {
    Plan *plan = ARENA_NEW(takes, Plan);
    plan->arena = takes;
    plan->program = p->f;
    cores_run(p, q);
    bodies_run(plan, p, drafts_run(p));
    return plan;
}

static int64_t nominal_bytes(Planner *p, const Sequence *q) {
    int64_t *size = ARENA_ARRAY(p->arena, int64_t, p->f->sets.len);
    for (uint32_t s = 0; s < p->f->sets.len; s++)
        size[s] = s == SET_ALL ? 1 : set_is_edges(p->f, (Set)s) ? NOMINAL_EDGES : NOMINAL_NODES;
    Cost c = plan_cost(build(p->arena, p, q), size);
    return c.bytes_read + c.bytes_written;
}

Plan *plan_run(Arena *takes, const Fn *f) {
    Arena *scratch = arena_new();
    Planner *p = planner_new(scratch, f);
    Sequence seq[MAX_CANDIDATES];
    uint32_t n = search_run(p, seq, MAX_CANDIDATES), best = 0;
    int64_t least = INT64_MAX;
    for (uint32_t k = 0; k < n && n > 1; k++) {
        int64_t bytes = nominal_bytes(p, &seq[k]);
        if (bytes >= least) continue;
        least = bytes;
        best = k;
    }
    Plan *plan = build(takes, p, &seq[best]);
    arena_free(scratch);
    return plan;
}
