/* Cuts a joint program (forward results and gradients) in two, at the by-products worth keeping.
 *
 * A value is early where it depends on no late input: a cotangent that the kept results do without.
 * From the other results downward, the first early result of a reduction on the way (reduce, rmax,
 * softmax, a scan's final states), or the slice of one that is needed, is a residual: as large as a set of nodes, and it
 * costs a traversal to have again. All
 * else, edge values above all, is computed again. A degree is a fact of the relation and no residual.
 * The program is prepared first, since that fixes the order of every sum: what backward computes
 * again has the bits that it had in forward. */
#include "opt/opt.h"

#include <string.h>

typedef struct {
    const Fn *f; /* the prepared joint program */
    const char *const *keep;
    uint32_t num_keep;
    uint8_t *early, *need; /* by value; need: computed in backward */
    uint8_t *cut;          /* residuals */
} Cut;

static bool is_kept(const Cut *c, const char *name) {
    for (uint32_t k = 0; k < c->num_keep; k++)
        if (!strcmp(c->keep[k], name)) return true;
    return false;
}

/* "cot.x", "cot2.x" */
static bool is_cotangent(const char *name) {
    if (strncmp(name, "cot", 3)) return false;
    name += 3;
    return name[strspn(name, "0123456789")] == '.';
}

static bool is_reduction(const Fn *f, Val v) {
    if (ir_way_of(f, v) != MAP_NONE) return false; /* as many as it has messages */
    Op op = ir_op(f, v);
    if (op == OP_result) op = ir_op(f, ir_arg(f, v, 0));
    return op_is_reduction(op);
}

static bool is_residual(const Fn *f, Val v) {
    return is_reduction(f, ir_op(f, v) == OP_slice ? ir_arg(f, v, 0) : v);
}

/* 1 for what the roots marked already need. */
static void mark_needs(const Fn *f, uint8_t *marks, const uint8_t *stop) {
    for (Val v = ir_count(f) - 1; v > 0; v--)
        for (uint32_t k = 0; marks[v] && !(stop && stop[v]) && k < ir_node(f, v)->num_args; k++)
            marks[ir_arg(f, v, k)] = 1;
}

static void find_early(Cut *c, Arena *a) {
    const Fn *f = c->f;
    uint8_t *forward = ARENA_ARRAY(a, uint8_t, ir_count(f));
    for (uint32_t k = 0; k < c->num_keep; k++) {
        Val v = ir_find_result(f, c->keep[k]);
        TIGA_ASSERT(v);
        forward[v] = 1;
    }
    mark_needs(f, forward, NULL);
    for (Val v = 1; v < ir_count(f); v++) {
        const Node *n = ir_node(f, v);
        c->early[v] = n->op != OP_input || forward[v] || !is_cotangent(n->attr.name);
        for (uint32_t k = 0; k < n->num_args; k++) c->early[v] &= c->early[n->args[k]];
    }
}

static void find_cut(Cut *c) {
    const Fn *f = c->f;
    for (uint32_t k = 0; k < f->results.len; k++)
        if (!is_kept(c, f->results.data[k].name)) c->need[f->results.data[k].val] = 1;
    for (Val v = ir_count(f) - 1; v > 0; v--) {
        if (!c->need[v]) continue;
        c->cut[v] = c->early[v] && ir_node(f, v)->num_results == 1 && is_residual(f, v);
        for (uint32_t k = 0; !c->cut[v] && k < ir_node(f, v)->num_args; k++)
            c->need[ir_arg(f, v, k)] = 1;
    }
}

/* Inputs that are marked, in their order. */
static void copy_inputs(Fn *to, const Fn *f, const uint8_t *marks, Val *memo) {
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        Val v = f->inputs.data[k].val;
        if (marks[v]) memo[v] = ir_input(to, f->inputs.data[k].name, *ir_type(f, v));
    }
}

static Fn *make_forward(const Cut *c, const char **names) {
    const Fn *f = c->f;
    Fn *to = ir_new_like(arena_new(), f, f->name);
    uint8_t *marks = ARENA_ARRAY(to->arena, uint8_t, ir_count(f));
    Val *memo = ARENA_ARRAY(to->arena, Val, ir_count(f));
    for (uint32_t k = 0; k < c->num_keep; k++) marks[ir_find_result(f, c->keep[k])] = 1;
    for (Val v = 1; v < ir_count(f); v++) marks[v] |= c->cut[v];
    mark_needs(f, marks, NULL);
    copy_inputs(to, f, marks, memo);
    for (uint32_t k = 0; k < c->num_keep; k++)
        ir_add_result(to, c->keep[k], ir_copy(to, f, ir_find_result(f, c->keep[k]), memo));
    for (Val v = 1; v < ir_count(f); v++)
        if (c->cut[v]) ir_add_result(to, *names++, ir_copy(to, f, v, memo));
    TIGA_ASSERT(!to->status);
    to->prepared = true;
    return to;
}

static Fn *make_backward(const Cut *c, const char **names) {
    const Fn *f = c->f;
    Fn *to = ir_new_like(arena_new(), f, arena_printf(f->arena, "%s_backward", f->name));
    Val *memo = ARENA_ARRAY(to->arena, Val, ir_count(f));
    copy_inputs(to, f, c->need, memo);
    for (Val v = 1; v < ir_count(f); v++)
        if (c->cut[v]) memo[v] = ir_input(to, *names++, *ir_type(f, v));
    for (uint32_t k = 0; k < f->results.len; k++) {
        Binding b = f->results.data[k];
        if (!is_kept(c, b.name)) ir_add_result(to, b.name, ir_copy(to, f, b.val, memo));
    }
    TIGA_ASSERT(!to->status);
    to->prepared = true;
    return to;
}

/* "res.0", "res.1", ...; numbers that an input or a result of that name has taken are left out. */
static const char **name_residuals(const Cut *c, Arena *a, uint32_t *num) {
    VEC(const char *) names = {0};
    uint32_t number = 0;
    for (Val v = 1; v < ir_count(c->f); v++) {
        if (!c->cut[v]) continue;
        const char *name = arena_printf(a, "res.%u", number++);
        while (ir_find_input(c->f, name) || ir_find_result(c->f, name))
            name = arena_printf(a, "res.%u", number++);
        *vec_push(a, &names) = name;
    }
    *num = names.len;
    return names.data;
}

Split opt_split(const Fn *joint, const char *const *keep, uint32_t num_keep) {
    Fn *f = opt_prepare(arena_new(), joint);
    Arena *a = f->arena;
    Cut c = {.f = f, .keep = keep, .num_keep = num_keep};
    c.early = ARENA_ARRAY(a, uint8_t, ir_count(f));
    c.need = ARENA_ARRAY(a, uint8_t, ir_count(f));
    c.cut = ARENA_ARRAY(a, uint8_t, ir_count(f));
    find_early(&c, a);
    find_cut(&c);
    Split s = {0};
    const char **names = name_residuals(&c, a, &s.num_residuals);
    s.forward = make_forward(&c, names);
    s.backward = make_backward(&c, names);
    s.residuals = ARENA_ARRAY(s.backward->arena, const char *, s.num_residuals);
    for (uint32_t k = 0; k < s.num_residuals; k++)
        s.residuals[k] = arena_str(s.backward->arena, names[k]);
    ir_free(f);
    return s;
}
