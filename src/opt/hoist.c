/* Work leaves the edges: f(gather a, gather b) becomes gather(f(a, b)) where both go along one map.
 *
 * Each element of the map's end is worked on once, not once an edge, with the same bits. A value whose
 * leaves are gathers along one map, spreads from `all` and constants has a *twin* on that map's end;
 * values come in order of definition, each with its twin. Which of two forms a value takes is one
 * decision of a whole tree, by the gain for an element of the end where the mean degree is DEGREE:
 *
 *   (DEGREE - 1) cost of the operations saved + DEGREE (bytes no longer gathered - bytes gathered instead)
 *   - bytes of a table in between; none along a map whose rows some reduction visits anyway
 *
 * against the best of the trees below it; what several users share counts for each in part. Spread
 * values move to `all` wherever that saves an operation. Tables that take reads stay where they are,
 * and so does take, whose indices are checked. Needs nothing; exact. */
#include "opt/opt.h"

#include "ir/type.h"
#include "opt/rewrite.h"

#include <math.h>

enum { DEGREE = 8, MAP_ANY = MAP_NONE + 1 }; /* MAP_ANY: a constant's, the same on every set */

/* A value on its way into the new program. */
typedef struct {
    Val val, twin; /* of a constant: itself, a twin is made where a set is known */
    Map map;       /* MAP_NONE: it depends on more than one */
    /* of its tree, for one user: operations, what they cost, bytes gathered; what moving gains */
    double ops, cost, gathered, best;
    bool moves;
} Place;

typedef struct {
    Fn *f;
    const Fn *from;
    Arena *scratch;
    Place *place;      /* by value of the old program */
    uint32_t *users;   /* likewise */
    uint8_t *is_swept; /* by map of a relation: a reduction goes along it */
} Hoist;

/* Bytes that an operation costs, an element. */
static double weight(Op op) {
    static const uint8_t ulp_of[NUM_OPS] = {
#define ELEM(op, arity, signature, traits, value, cot0, cot1, cot2, domain, ulp) [OP_##op] = ulp,
#include "ir/op.def"
    };
    return ulp_of[op] ? 20 : op == OP_div || op == OP_sqrt ? 5 : 0.5;
}

/* As plan.h counts them. */
static double own_ops(const Fn *f, const Node *n) {
    double first = n->num_args ? (double)type_numel(ir_type(f, n->args[0])) : 0;
    if (op_info[n->op].class == CLASS_elem)
        return first * (n->op == OP_fma ? 2 : op_info[n->op].traits & NARY ? n->num_args - 1 : 1);
    if (n->op == OP_fsum || n->op == OP_fmax || n->op == OP_cumsum) return first;
    if (n->op != OP_matmul) return 0;
    const Type *a = ir_type(f, n->args[0]);
    return 2 * (double)type_numel(n->types) * (double)a->dim[a->rank - 1];
}

static double bytes(const Type *t) { return (double)type_numel(t) * dtype_size((Dtype)t->dtype); }

static bool can_move(Op op) {
    bool reads_table = op == OP_take || op == OP_put;
    return !reads_table && (op_info[op].class == CLASS_elem || op_info[op].class == CLASS_shape);
}

static bool is_spread(Map m) { return m != MAP_NONE && m != MAP_ANY && map_is_all(m); }

/* The map of what depends on both. */
static Map join(Map a, Map b) {
    if (a == b || b == MAP_ANY) return a;
    if (a == MAP_ANY) return b;
    if (is_spread(a) && b >= 0) return b;
    return is_spread(b) && a >= 0 ? a : MAP_NONE;
}

static Map joined_map(const Hoist *h, const Node *n) {
    Map m = can_move((Op)n->op) ? MAP_ANY : MAP_NONE;
    for (uint32_t k = 0; k < n->num_args; k++) m = join(m, h->place[n->args[k]].map);
    return m == MAP_ANY ? MAP_NONE : m;
}

/* The value's twin on the end of m. */
static Val twin_on(const Hoist *h, const Place *p, Map m) {
    Attr attr = ir_node(h->f, p->val)->attr;
    Set end = map_to(h->from, m);
    if (p->map == m) return p->twin;
    if (p->map != MAP_ANY) return ir_gather(h->f, p->twin, map_all(end));
    attr.type.set = end;
    return ir_emit(h->f, OP_constant, NULL, 0, &attr);
}

static Val emit(const Hoist *h, const Node *n, Map twin) {
    Val *args = ARENA_ARRAY(h->scratch, Val, n->num_args);
    for (uint32_t k = 0; k < n->num_args; k++) {
        const Place *p = &h->place[n->args[k]];
        args[k] = twin == MAP_NONE ? p->val : twin_on(h, p, twin);
    }
    return rewrite_same(&(Rewrite){h->f, h->from, n, args});
}

static double gain(const Hoist *h, const Place *p, const Type *t) {
    if (is_spread(p->map)) return p->cost;
    double table = h->is_swept[p->map] ? 0 : p->gathered + 2 * bytes(t);
    return (DEGREE - 1) * p->cost + DEGREE * (p->gathered - bytes(t)) - table;
}

static void place_gather(Hoist *h, const Node *n, Place *p) {
    p->map = n->attr.map;
    p->twin = h->place[n->args[0]].val;
    p->val = ir_gather(h->f, p->twin, p->map);
    p->gathered = bytes(n->types);
}

static void place_value(Hoist *h, Val v) {
    const Node *n = ir_node(h->from, v);
    Place *p = &h->place[v];
    p->map = n->op == OP_constant ? MAP_ANY : joined_map(h, n);
    p->val = emit(h, n, MAP_NONE);
    if (p->map == MAP_NONE || p->map == MAP_ANY) return;
    p->ops = own_ops(h->from, n);
    p->cost = p->ops * weight((Op)n->op);
    for (uint32_t k = 0; k < n->num_args; k++) {
        const Place *arg = &h->place[n->args[k]];
        if (is_spread(arg->map) && !is_spread(p->map)) continue;
        double share = h->users[n->args[k]];
        p->ops += arg->ops / share;
        p->cost += arg->cost / share;
        p->gathered += arg->gathered / share;
        p->best += arg->best / share;
    }
    p->twin = emit(h, n, p->map);
    double mine = gain(h, p, n->types);
    if (mine <= 0 || mine < p->best) return;
    p->best = mine;
    p->moves = true;
    p->val = ir_gather(h->f, p->twin, p->map);
}

static void count_users(Hoist *h) {
    const uint8_t *live = ir_live(h->scratch, h->from);
    for (Val v = 1; v < ir_count(h->from); v++) {
        const Node *n = ir_node(h->from, v);
        for (uint32_t k = 0; live[v] && k < n->num_args; k++) h->users[n->args[k]]++;
        if (live[v] && op_is_reduction((Op)n->op) && n->attr.map >= 0) h->is_swept[n->attr.map] = 1;
    }
    for (uint32_t k = 0; k < h->from->results.len; k++) h->users[h->from->results.data[k].val]++;
    for (Val v = 1; v < ir_count(h->from); v++)
        if (!h->users[v]) h->users[v] = 1;
}

/* What stays of the decisions: not those below another one. */
static void note_moves(const Hoist *h) {
    const Fn *f = h->from;
    const uint8_t *live = ir_live(h->scratch, h->f);
    for (Val v = 1; v < ir_count(f); v++) {
        const Place *p = &h->place[v];
        if (!p->moves || !live[p->val]) continue;
        const Type *t = ir_type(f, v);
        bool spread = is_spread(p->map);
        const char *from = f->sets.data[t->set].name, *to = f->sets.data[map_to(f, p->map)].name,
                   *end = spread               ? ""
                          : map_is_dst(p->map) ? " (destinations)"
                                               : " (sources)";
        ir_note(h->f,
                arena_printf(
                    h->scratch,
                    "accepted: [move] %s, %s, moves to %s%s: %.0f operations fewer for each of %s",
                    op_info[ir_op(f, v)].name, type_text(h->scratch, f, t), to, end, ceil(p->ops),
                    from));
    }
}

Fn *opt_hoist(Arena *takes, const Fn *f) {
    Arena *scratch = arena_new();
    Fn *rough = ir_new_like(arena_new(), f, f->name);
    Hoist h = {.f = rough, .from = f, .scratch = scratch};
    h.place = ARENA_ARRAY(scratch, Place, ir_count(f));
    h.users = ARENA_ARRAY(scratch, uint32_t, ir_count(f));
    h.is_swept = ARENA_ARRAY(scratch, uint8_t, 2 * f->relations.len + 1);
    count_users(&h);
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        Val v = f->inputs.data[k].val;
        h.place[v].val = ir_input(rough, f->inputs.data[k].name, *ir_type(f, v));
        h.place[v].map = MAP_NONE;
    }
    for (Val v = 1; v < ir_count(f); v++) {
        if (ir_op(f, v) == OP_gather) place_gather(&h, ir_node(f, v), &h.place[v]);
        else if (ir_op(f, v) != OP_input) place_value(&h, v);
    }
    for (uint32_t k = 0; k < f->results.len; k++)
        ir_add_result(rough, f->results.data[k].name, h.place[f->results.data[k].val].val);
    TIGA_ASSERT(!rough->status);
    note_moves(&h);
    Fn *g = rewrite_copy(takes, rough);
    ir_free(rough);
    arena_free(scratch);
    return g;
}
