/* Which kernel computes what, and which values go through memory.
 *
 * Time runs through the cores (core k at 2k) and the gaps between them (2k + 1; -1 in front). A
 * value is known first at its position: that of its last anchor, at the end of whose rows it can be
 * computed, or the gap after it where it needs what that core gives only at its end (`all`).
 *
 * Kernels are walked from last to first, up from what they must compute. The walk stops at what has
 * to be read: other kernels' anchors, operands of gathers at the edge's other end, large work on
 * `all`. Those become stores of the kernel at their position, which comes earlier, so one pass is
 * enough; a kernel over nodes alone (or over `all`) is made in a gap when something is stored there.
 * A second pass stores matrix products that several kernels would repeat for each row. */
#include "plan/internal.h"

#include "ir/type.h"

#include <string.h>

typedef struct {
    Planner *p;
    const Fn *f;
    int *home;       /* by value on nodes or `all`: time at which it is stored, if it is */
    uint8_t *stored; /* by value: some kernel reads it */
    uint8_t *forced; /* by value: read rather than repeated */
    Draft **at;      /* by (time + 1) * sets + rows */
    int end;         /* times are -1 .. end - 1 */
} Pass;

/* ---- positions ---- */

static int after(int time) { return time % 2 == 0 ? time + 1 : time; }

/* A sum by blocks is there when all rows are done; one beside a fold of nodes, when its row is gone. */
static bool is_late(const Pass *q, int32_t anchor) {
    const Anchor *a = &q->p->anchors.data[anchor];
    Map m = q->p->cores.data[q->p->core_of[anchor]].map;
    return a->staged || (m != MAP_NONE && map_is_all(m) && anchor_is_free(q->f, a));
}

static int position(const Pass *q, const int *pos, Val v) {
    const Node *n = ir_node(q->f, v);
    int32_t a = q->p->anchor_of[v];
    if (a >= 0) return 2 * q->p->core_of[a];
    if (is_leaf((Op)n->op)) return -1;
    int t = -1;
    for (uint32_t k = 0; k < n->num_args; k++) {
        int32_t of = q->p->anchor_of[n->args[k]];
        int known = of >= 0 && is_late(q, of) ? after(pos[n->args[k]]) : pos[n->args[k]];
        if (t < known) t = known;
    }
    return n->op == OP_gather || is_large(q->f, v) ? after(t) : t;
}

static void find_positions(Pass *q) {
    q->home = ARENA_ARRAY(q->p->arena, int, ir_count(q->f));
    for (Val v = 1; v < ir_count(q->f); v++)
        if (q->p->live[v]) q->home[v] = position(q, q->home, v);
}

/* ---- drafts ---- */

static Draft **slot_of(const Pass *q, int time, Set rows) {
    return &q->at[(size_t)(time + 1) * q->f->sets.len + rows];
}

static Draft *draft_new(Pass *q, int time, Map map, Set rows, const Word *members) {
    Draft *d = ARENA_NEW(q->p->arena, Draft);
    *d = (Draft){.time = time, .map = map, .rows = rows, .members = members};
    d->need = ARENA_ARRAY(q->p->arena, uint8_t, ir_count(q->f));
    return *slot_of(q, time, rows) = d;
}

static Draft *core_draft(const Pass *q, int core) {
    return *slot_of(q, 2 * core, q->p->cores.data[core].rows);
}

/* The kernel that computes and stores at a time what lives on a set. */
static Draft *draft_at(Pass *q, int time, Set set) {
    if (time >= 0 && time % 2 == 0) return core_draft(q, time / 2);
    Draft *d = *slot_of(q, time, set);
    return d ? d : draft_new(q, time, MAP_NONE, set, NULL);
}

static void store_add(Pass *q, Draft *d, Val v, const char *name) {
    for (uint32_t k = 0; k < d->stores.len && !name; k++)
        if (d->stores.data[k].val == v && !d->stores.data[k].name) return;
    *vec_push(q->p->arena, &d->stores) = (Store){v, name};
}

/* ---- the walk ---- */

bool draft_fetches(const Planner *p, const Draft *d, Val v) {
    const Node *n = ir_node(p->f, v);
    return n->op == OP_gather && !map_is_all(n->attr.map) && n->attr.map != d->map;
}

static bool holds(const Draft *d, int32_t anchor) {
    return d->members && bit_get(d->members, (uint32_t)anchor);
}

/* Edge values are computed again, but for what scans of another order give, or was stored of that. */
static bool is_kept(const Pass *q, const Draft *d, Val v, int32_t a) {
    bool own = q->p->order_of[v] == d->map;
    if (q->p->anchors.data[a].map != MAP_NONE) return !own;
    return !holds(d, a) && (!own || q->home[v] < d->time);
}

/* What scans of the draft's own order give on their way is never kept. */
static bool runs_again(const Pass *q, const Draft *d, Val v) {
    Map m = ir_way_of(q->f, v);
    return m != MAP_NONE && m == d->map;
}

static bool is_dense(const Draft *d) { return d->rows == SET_ALL && d->map == MAP_NONE; }

/* Is v, met at its own level in d, read from memory? */
static bool is_read(const Pass *q, const Draft *d, Val v) {
    int32_t a = q->p->anchor_of[v];
    if (is_leaf(ir_op(q->f, v)) || ir_node(q->f, v)->num_results > 1) return false;
    if (set_is_edges(q->f, ir_type(q->f, v)->set)) return a >= 0 && is_kept(q, d, v, a);
    if (a >= 0) return !holds(d, a) && !runs_again(q, d, v);
    if (is_large(q->f, v)) return !is_dense(d) || q->home[v] < d->time;
    return (q->stored[v] || q->forced[v]) && q->home[v] < d->time;
}

static void need_buffer(Pass *q, Draft *d, Val v) {
    if (is_leaf(ir_op(q->f, v))) return;
    Draft *home = draft_at(q, q->home[v], ir_type(q->f, v)->set);
    TIGA_ASSERT(home->time < d->time || (home->time == d->time && home->rows == SET_ALL));
    q->stored[v] = 1;
    store_add(q, home, v, NULL);
}

static void walk_start(const Pass *q, Draft *d) {
    for (uint32_t k = 0; k < d->stores.len; k++) d->need[d->stores.data[k].val] = NEED_compute;
    for (uint32_t k = 0; k < q->p->anchors.len; k++) { /* scans where somebody asks for them */
        Val v = q->p->anchors.data[k].val;
        if (holds(d, (int32_t)k) && ir_op(q->f, v) != OP_row_scan) d->need[v] = NEED_compute;
    }
}

static void walk(Pass *q, Draft *d) {
    walk_start(q, d);
    for (Val v = ir_count(q->f) - 1; v > 0; v--) {
        const Node *n = ir_node(q->f, v);
        if (d->need[v] == NEED_no) continue;
        if (is_read(q, d, v)) {
            d->need[v] = NEED_buffer;
            need_buffer(q, d, v);
        } else if (draft_fetches(q->p, d, v)) {
            need_buffer(q, d, n->args[0]);
        } else if (n->op != OP_enter) {
            for (uint32_t k = 0; k < n->num_args; k++) d->need[n->args[k]] = NEED_compute;
        }
    }
}

/* ---- results ---- */

/* A result that no kernel reads goes into the first core that visits its set anyway. */
static int time_of_result(const Pass *q, Val v) {
    int t = q->home[v];
    Set set = ir_type(q->f, v)->set;
    if (t % 2 == 0 || q->stored[v] || is_large(q->f, v)) return t;
    for (int k = (t + 1) / 2; k < (int)q->p->cores.len; k++)
        if (set == SET_ALL || q->p->cores.data[k].rows == set) return 2 * k;
    return t;
}

static Draft *home_of_result(Pass *q, Val v) {
    for (uint32_t k = 0; k < q->p->anchors.len; k++)
        if (q->p->anchors.data[k].map == MAP_NONE && q->p->anchors.data[k].val == v)
            return core_draft(q, q->p->core_of[k]);
    return draft_at(q, time_of_result(q, v), ir_type(q->f, v)->set);
}

static void place_results(Pass *q) {
    for (uint32_t k = 0; k < q->f->results.len; k++) {
        const Binding *b = &q->f->results.data[k];
        Val v = result_target(q->f, b->val);
        store_add(q, home_of_result(q, v), v, b->name);
    }
}

/* ---- passes ---- */

static void pass_run(Pass *q) {
    uint32_t sets = q->f->sets.len;
    q->at = ARENA_ARRAY(q->p->arena, Draft *, (size_t)(q->end + 1) * sets);
    for (uint32_t k = 0; k < q->p->cores.len; k++) {
        const Core *c = &q->p->cores.data[k];
        draft_new(q, 2 * (int)k, c->map, c->rows, c->members);
    }
    place_results(q);
    for (int t = q->end - 1; t >= -1; t--)
        for (uint32_t s = sets; s-- > 0;) { /* `all` last: the others of a gap may need it */
            Draft *d = *slot_of(q, t, (Set)s);
            if (d) walk(q, d);
        }
}

/* Matrix products a row that two kernels or more would compute: stored by the first of them. */
static void force_repeated(Pass *q) {
    for (Val v = 1; v < ir_count(q->f); v++) {
        Set set = ir_type(q->f, v)->set;
        int first = q->end, count = 0;
        if (ir_op(q->f, v) != OP_matmul || set == SET_ALL || set_is_edges(q->f, set)) continue;
        for (int t = q->end - 1; t >= -1; t--) {
            const Draft *d = *slot_of(q, t, set);
            if (!d || d->need[v] != NEED_compute) continue;
            first = t;
            count++;
        }
        if (count < 2) continue;
        q->forced[v] = 1;
        q->home[v] = first;
    }
}

Drafts *drafts_run(Planner *p) {
    Drafts *all = ARENA_NEW(p->arena, Drafts);
    Pass q = {.p = p, .f = p->f, .end = 2 * (int)p->cores.len};
    if (!p->f->results.len) return all;
    find_positions(&q);
    q.stored = ARENA_ARRAY(p->arena, uint8_t, ir_count(p->f));
    q.forced = ARENA_ARRAY(p->arena, uint8_t, ir_count(p->f));
    pass_run(&q);
    force_repeated(&q);
    pass_run(&q);
    for (int t = -1; t < q.end; t++)
        for (uint32_t s = 0; s < p->f->sets.len; s++) {
            Draft *d = *slot_of(&q, t, (Set)s);
            if (d) *vec_push(p->arena, &all->list) = d;
        }
    return all;
}
