/* Anchors and who needs whom, by order.
 *
 * An anchor that runs in an order needs other anchors in two ways. Met through gathers along the
 * order's own map they are row-local: they may run in the same traversal, an earlier phase. Met any
 * other way (the edge's other end, `all`, another order) they must be done before. Time and memory
 * O(values x orders x anchors / 64). */
#include "plan/internal.h"

#include <string.h>

static void add_anchor(Planner *p, Val v, Map map, Set from, bool staged) {
    *vec_push(p->arena, &p->anchors) = (Anchor){v, map, from, staged};
}

static void add_store(Planner *p, Val v) {
    for (uint32_t k = 0; k < p->anchors.len; k++)
        if (p->anchors.data[k].val == v) return;
    add_anchor(p, v, MAP_NONE, ir_type(p->f, v)->set, false);
}

/* A value that depends on what scans give on their way can be computed in their order alone. */
static Map order_of(const Planner *p, Val v) {
    const Node *n = ir_node(p->f, v);
    Set set = n->types[0].set;
    Map m = ir_way_of(p->f, v);
    if (m != MAP_NONE || op_is_reduction((Op)n->op)) return m;
    for (uint32_t k = 0; k < n->num_args; k++) {
        Map other = p->order_of[n->args[k]];
        if (other == MAP_NONE || ir_type(p->f, n->args[k])->set != set) continue;
        m = m == MAP_NONE || m == other ? other : NO_ORDER;
    }
    return m;
}

/* A float sum to one end of what scans along the other give: it runs in their order, by blocks. */
static bool is_staged(const Planner *p, Val v) {
    const Node *n = ir_node(p->f, v);
    return n->op == OP_reduce && dtype_is_float((Dtype)n->types[0].dtype) &&
           !map_is_all(n->attr.map) && p->order_of[n->args[0]] == map_other(n->attr.map);
}

/* What any other reduction in another order takes of them is stored by edge: one value of its width,
 * where the scan's own would be several. */
static void add_kept(Planner *p, Val v) {
    const Node *n = ir_node(p->f, v);
    for (uint32_t k = 0; k < n->num_args; k++) {
        Map m = p->order_of[n->args[k]];
        if (m == MAP_NONE || m == NO_ORDER || m == n->attr.map || map_is_all(n->attr.map) ||
            p->anchor_of[n->args[k]] >= 0)
            continue;
        p->anchor_of[n->args[k]] = (int32_t)p->anchors.len;
        add_store(p, n->args[k]);
    }
}

static void find_anchors(Planner *p) {
    const Fn *f = p->f;
    p->anchor_of = ARENA_ARRAY(p->arena, int32_t, ir_count(f));
    p->order_of = ARENA_ARRAY(p->arena, Map, ir_count(f));
    memset(p->anchor_of, 0xff, sizeof *p->anchor_of * ir_count(f));
    for (Val v = 1; v < ir_count(f); v++) p->order_of[v] = order_of(p, v);
    for (Val v = 1; v < ir_count(f); v++) {
        if (!p->live[v]) continue;
        if (op_is_reduction(ir_op(f, v))) {
            bool staged = is_staged(p, v);
            Map map = ir_node(f, v)->attr.map;
            if (!staged) add_kept(p, v);
            p->has_trees |=
                ir_op(f, v) == OP_row_scan && ir_scan_of(ir_node(f, v)).flags & SCAN_tree;
            p->anchor_of[v] = (int32_t)p->anchors.len;
            add_anchor(p, v, staged ? map_other(map) : map, map_from(f, map), staged);
        } else if (ir_op(f, v) == OP_result) {
            p->anchor_of[v] = p->anchor_of[ir_arg(f, v, 0)];
        }
    }
    for (uint32_t k = 0; k < f->results.len; k++) {
        Val v = result_target(f, f->results.data[k].val);
        if (set_is_edges(f, ir_type(f, v)->set)) add_store(p, v);
    }
    p->words = (p->anchors.len + 63) / 64;
}

static Word *single(Planner *p, uint32_t anchor) {
    Word *b = bits_new(p);
    bit_set(b, anchor);
    return b;
}

/* The union of what the operands have; shared where that is one operand's. */
static Word *merged(Planner *p, Val v, Word **of) {
    const Node *n = ir_node(p->f, v);
    if (n->num_args == 1 && of[n->args[0]]) return of[n->args[0]];
    Word *b = bits_new(p);
    for (uint32_t k = 0; k < n->num_args; k++)
        if (of[n->args[k]]) bits_or(b, of[n->args[k]], p->words);
    return b;
}

static void find_direct(Planner *p) {
    p->direct = ARENA_ARRAY(p->arena, Word *, ir_count(p->f));
    for (Val v = 1; v < ir_count(p->f); v++) {
        if (!p->live[v]) continue;
        int32_t a = p->anchor_of[v];
        p->direct[v] = a >= 0 ? single(p, (uint32_t)a) : merged(p, v, p->direct);
    }
}

/* ---- one order ---- */

typedef struct {
    Planner *p;
    const Order *o;
    Word **local, **global; /* by value on the order's edges or rows */
    uint8_t *fetches;       /* by value on the edges: needs an end of the edge */
} Sweep;

static void sweep_gather(Sweep *s, Val v) {
    Val x = ir_arg(s->p->f, v, 0);
    Map m = ir_node(s->p->f, v)->attr.map;
    if (m == s->o->map) {
        s->local[v] = s->local[x];
        s->global[v] = s->global[x];
    } else {
        s->global[v] = s->p->direct[x];
    }
    s->fetches[v] = !map_is_all(m);
}

static void sweep_value(Sweep *s, Val v) {
    int32_t a = s->p->anchor_of[v];
    bool kept = a >= 0 && s->p->anchors.data[a].map == MAP_NONE;
    if (a >= 0 && !(kept && s->p->order_of[v] == s->o->map)) {
        const Anchor *anchor = &s->p->anchors.data[a];
        bool own = s->o->map != MAP_NONE && anchor->map == s->o->map && !anchor->staged;
        (own ? s->local : s->global)[v] = s->p->direct[v];
    } else if (s->o->rows == SET_ALL && is_large(s->p->f, v)) {
        s->global[v] = s->p->direct[v];
    } else if (ir_op(s->p->f, v) == OP_gather) {
        sweep_gather(s, v);
    } else {
        s->local[v] = merged(s->p, v, s->local);
        s->global[v] = merged(s->p, v, s->global);
        const Node *n = ir_node(s->p->f, v);
        for (uint32_t k = 0; k < n->num_args; k++) s->fetches[v] |= s->fetches[n->args[k]];
    }
}

static Fit fit_of(const Planner *p, const Order *o, const Anchor *a, bool fetches) {
    if (anchor_is_free(p->f, a)) {
        bool on_the_way = o->map != MAP_NONE && p->order_of[ir_arg(p->f, a->val, 0)] == o->map;
        return a->from == o->rows || on_the_way ? FIT_guest : FIT_no;
    }
    if (a->from == o->edges) {
        if (o->map == MAP_NONE)
            return !fetches && (a->map == MAP_NONE || map_is_all(a->map)) ? FIT_member : FIT_no;
        return a->map == MAP_NONE || map_is_all(a->map) || a->map == o->map ? FIT_member : FIT_no;
    }
    return FIT_no;
}

static void fit_anchor(Sweep *s, Order *o, uint32_t k) {
    Planner *p = s->p;
    const Anchor *a = &p->anchors.data[k];
    const Node *n = ir_node(p->f, a->val);
    const Val *args = a->map == MAP_NONE ? &a->val : n->args;
    uint32_t num_args = a->map == MAP_NONE ? 1 : n->num_args;
    bool fetches = false;
    for (uint32_t i = 0; i < num_args; i++) fetches |= s->fetches[args[i]];
    o->fit[k] = (uint8_t)fit_of(p, o, a, fetches);
    if (o->fit[k] == FIT_no) return;
    o->local[k] = bits_new(p);
    o->global[k] = bits_new(p);
    for (uint32_t i = 0; i < num_args; i++) {
        if (s->local[args[i]]) bits_or(o->local[k], s->local[args[i]], p->words);
        if (s->global[args[i]]) bits_or(o->global[k], s->global[args[i]], p->words);
    }
}

static void add_order(Planner *p, Map map, Set edges, Set rows) {
    Arena *a = p->arena;
    uint32_t n = p->anchors.len, values = ir_count(p->f);
    Order o = {.map = map, .edges = edges, .rows = rows, .fit = ARENA_ARRAY(a, uint8_t, n)};
    o.local = ARENA_ARRAY(a, Word *, n);
    o.global = ARENA_ARRAY(a, Word *, n);
    Sweep s = {p, &o, ARENA_ARRAY(a, Word *, values), ARENA_ARRAY(a, Word *, values),
               ARENA_ARRAY(a, uint8_t, values)};
    for (Val v = 1; v < values; v++) {
        Set set = ir_type(p->f, v)->set;
        if (p->live[v] && (set == edges || set == rows)) sweep_value(&s, v);
    }
    for (uint32_t k = 0; k < n; k++) fit_anchor(&s, &o, k);
    *vec_push(a, &p->orders) = o;
}

/* Nodes that are folded to `all`: one row. */
static bool is_folded(const Planner *p, Set s) {
    for (uint32_t k = 0; k < p->anchors.len; k++) {
        const Anchor *a = &p->anchors.data[k];
        if (a->from == s && a->map == map_all(s) && ir_op(p->f, a->val) == OP_row_scan) return true;
    }
    return false;
}

/* By destination first: it is the natural order, and wins ties. */
static void find_orders(Planner *p) {
    for (uint32_t r = 0; r < p->f->relations.len; r++) {
        const Relation *rel = &p->f->relations.data[r];
        bool used = false, roams = false;
        for (uint32_t k = 0; k < p->anchors.len; k++) {
            const Anchor *a = &p->anchors.data[k];
            used |= a->from == rel->edges;
            roams |= a->from == rel->edges && (a->map == MAP_NONE || map_is_all(a->map));
        }
        if (!used) continue;
        add_order(p, map_dst((int)r), rel->edges, rel->dst);
        add_order(p, map_src((int)r), rel->edges, rel->src);
        if (roams) add_order(p, MAP_NONE, rel->edges, rel->edges);
    }
    for (Set s = 1; s < p->f->sets.len; s++)
        if (is_folded(p, s)) add_order(p, map_all(s), s, SET_ALL);
}

Planner *planner_new(Arena *scratch, const Fn *f) {
    Planner *p = ARENA_NEW(scratch, Planner);
    p->f = f;
    p->arena = scratch;
    p->live = ir_live(scratch, f);
    find_anchors(p);
    find_direct(p);
    find_orders(p);
    p->core_of = ARENA_ARRAY(scratch, int32_t, p->anchors.len);
    return p;
}
