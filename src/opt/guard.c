/* What a gather takes stands in for itself at elements that no edge meets: gather(v) becomes
 * gather(where(degree == 0, 1, v)), the same bits on every edge.
 *
 * Before a gradient is taken, work that moves off the edges is done at such elements too, on values that reached
 * no result before: a field's padding, an empty row's maximum. Their cotangents are 0, but 0 times a derivative
 * or a value that is not finite is NaN. 1 is a number where derivatives are finite as a rule, and the where()
 * gives what is behind it a cotangent of 0 whatever came. Gathers that nothing moved through lose it again. */
#include "opt/opt.h"

#include "ir/type.h"
#include "opt/rewrite.h"

static Val is_unmet(Fn *f, Map map, const Type *t) {
    Val degree = ir_degree(f, map);
    return ir_bcast(f, ir_eq(f, degree, ir_const_like(f, degree, 0)), t->dim, t->rank);
}

static bool is_along_relation(const Node *n) { return n->op == OP_gather && n->attr.map >= 0; }

/* The v of where(degree == 0, 1, v); else 0. */
static Val guarded(Fn *f, Map map, Val w) {
    const Node *n = ir_node(f, w);
    bool stands_in = n->op == OP_where && ir_is_const(f, n->args[1], 1);
    return stands_in && n->args[0] == is_unmet(f, map, n->types) ? n->args[2] : 0;
}

static Val guard(const Rewrite *r) {
    Dtype d = (Dtype)r->node->types->dtype;
    if (!is_along_relation(r->node) || dtype_is_half(d) || !dtype_is_float(d))
        return rewrite_same(r);
    Map map = r->node->attr.map;
    Val v = r->args[0];
    const Type t = *ir_type(r->f, v);
    if (guarded(r->f, map, v)) return rewrite_same(r);
    Val safe = ir_where(r->f, is_unmet(r->f, map, &t), ir_const_like(r->f, v, 1), v);
    return ir_gather(r->f, safe, map);
}

static Val unguard(const Rewrite *r) {
    Val v = is_along_relation(r->node) ? guarded(r->f, r->node->attr.map, r->args[0]) : 0;
    return v ? ir_gather(r->f, v, r->node->attr.map) : rewrite_same(r);
}

Fn *opt_guard(Arena *takes, const Fn *f) { return rewrite_run(takes, f, guard); }

Fn *opt_unguard(Arena *takes, const Fn *f) { return rewrite_run(takes, f, unguard); }
