/* Reverse mode, program to program. In: a verified program. Out: a copy of it, extended by cotangent
 * inputs and gradient results. Values are visited from the last to the first; what the users of a
 * value send to it is gathered and summed by one n-ary add, then passed on to its operands by the
 * rules of vjp_rules.c. The outcome holds no trace of the procedure, so it may be differentiated
 * again.
 *
 * Masks. A where() in the program gives its dead branch a cotangent of 0, and a derivative there that
 * is not finite (of sqrt at 0, say) would make 0 * inf = NaN of it. Every rule is linear, so the mask
 * is moved outward instead: rule(where(c, g, 0)) becomes where(c, rule(g), 0). Masks travel through
 * elementwise operations, moves of features and sums of masked cotangents, back through the operation
 * that spread them; not along a map of their own, where they would cost a second gather.
 *
 * Cotangents of halves are f32 throughout, rounded where they leave as a gradient. */
#include "opt/vjp.h"

#include "ir/type.h"
#include "opt/rewrite.h"
#include "opt/vjp_rules.h"
#include "vocab/near.h"

#include <string.h>

typedef VEC(Val) Vals;

typedef struct {
    Fn *f;
    Arena *scratch;
    uint32_t count;  /* the program's own values are 1 .. count - 1 */
    uint8_t *active; /* by value: a float that depends on an input of wrt */
    Vals **sent;     /* by value and result: the cotangents sent to it */
} Vjp;

/* ---- masks ---- */

/* g is `inner` where cond is `live`, and 0 elsewhere. */
typedef struct {
    Val cond, inner;
    bool live;
} Mask;

static bool mask_split(const Fn *f, Val g, Mask *m) {
    if (ir_op(f, g) != OP_where) return false;
    m->live = ir_is_const(f, ir_arg(f, g, 2), 0);
    if (!m->live && !ir_is_const(f, ir_arg(f, g, 1), 0)) return false;
    m->cond = ir_arg(f, g, 0);
    m->inner = ir_arg(f, g, m->live ? 1 : 2);
    return true;
}

static Val mask_apply(Fn *f, const Mask *m, Val g) {
    Val zero = ir_const_like(f, g, 0);
    return m->live ? ir_where(f, m->cond, g, zero) : ir_where(f, m->cond, zero, g);
}

static Val mask_live(Fn *f, const Mask *m) { return m->live ? m->cond : ir_not(f, m->cond); }

/* u = op(x') by the very operation of v = op(x). */
static bool same_operation(const Fn *f, Val u, Val v) {
    const Node *a = ir_node(f, u), *b = ir_node(f, v);
    if (a->op != b->op || a->num_args != 1 || a->attr.map != b->attr.map || a->attr.body)
        return false;
    if (a->attr.num_ints != b->attr.num_ints) return false;
    const Type *x = ir_type(f, a->args[0]), *y = ir_type(f, b->args[0]);
    return x->set == y->set && type_same_shape(x, y) &&
           !memcmp(a->attr.ints, b->attr.ints, a->attr.num_ints * sizeof *a->attr.ints);
}

/* The mask of the cotangent of v's operand, given that of v's. False: v's rule mixes elements. A mask
 * that v's operation itself spread over the result (bcast, gather) is one of the operand. */
static bool mask_move(const Cot *q, Mask *m) {
    Op op = ir_op(q->f, q->v);
    if (op_info[op].class == CLASS_elem || op == OP_cast) return true;
    if (same_operation(q->f, m->cond, q->v)) {
        m->cond = ir_arg(q->f, m->cond, 0);
        return true;
    }
    if (!vjp_moves(op)) return false;
    Val cond = m->cond;
    Cot of_cond = *q;
    of_cond.g = &cond;
    m->cond = vjp_operand(&of_cond);
    return true;
}

enum { MAX_NESTED = 4 };

static bool is_nested_deep(const Fn *f, Val g) {
    Mask m;
    int depth = 0;
    for (; depth < MAX_NESTED && mask_split(f, g, &m); depth++) g = m.inner;
    return depth == MAX_NESTED;
}

/* m around g. Masks that can move apart stay apart, but only a few: every operation moves each. */
static Val mask_nest(Fn *f, const Mask *m, Val g) {
    Mask next;
    if (!is_nested_deep(f, g)) return mask_apply(f, m, g);
    mask_split(f, g, &next);
    Mask both = {.cond = ir_and(f, mask_live(f, m), mask_live(f, &next)), .live = true};
    return mask_apply(f, &both, next.inner);
}

/* The rule behind the masks of q's cotangent. */
static Val operand_cotangent(Cot q) {
    Mask m;
    if (!q.g[0] || !mask_split(q.f, q.g[0], &m) || !mask_move(&q, &m)) return vjp_operand(&q);
    q.g = &m.inner; /* an operation that masks move through has one result */
    Val inner = operand_cotangent(q);
    return inner ? mask_nest(q.f, &m, inner) : 0;
}

/* ---- sums ---- */

static Val add_all(Fn *f, const Vals *list) {
    if (list->len == 1) return list->data[0];
    return ir_emit(f, OP_add, list->data, list->len, NULL);
}

static Val sum_same_mask(Vjp *w, const Vals *list, const Mask *masks) {
    Vals inner = {0};
    for (uint32_t k = 0; k < list->len; k++) *vec_push(w->scratch, &inner) = masks[k].inner;
    return mask_apply(w->f, &masks[0], add_all(w->f, &inner));
}

static Val sum_other_masks(Vjp *w, const Vals *list, const Mask *masks) {
    Fn *f = w->f;
    if (list->len == 2 && masks[0].cond == masks[1].cond) {
        const Mask *a = &masks[!masks[0].live], *b = &masks[masks[0].live];
        return ir_where(f, a->cond, a->inner, b->inner);
    }
    Mask any = {.cond = mask_live(f, &masks[0]), .live = true};
    for (uint32_t k = 1; k < list->len; k++) any.cond = ir_or(f, any.cond, mask_live(f, &masks[k]));
    return mask_apply(f, &any, add_all(f, list));
}

/* The sum of a list, under a mask where every term has one. */
static Val sum_masked(Vjp *w, const Vals *list) {
    Mask *masks = ARENA_ARRAY(w->scratch, Mask, list->len);
    bool same = true;
    for (uint32_t k = 0; k < list->len; k++) {
        if (!mask_split(w->f, list->data[k], &masks[k])) return add_all(w->f, list);
        same &= masks[k].cond == masks[0].cond && masks[k].live == masks[0].live;
    }
    return same ? sum_same_mask(w, list, masks) : sum_other_masks(w, list, masks);
}

/* ---- the sweep ---- */

static void send(Vjp *w, Val v, uint32_t part, Val g) {
    if (!g) return;
    Type t = ir_node(w->f, v)->types[part];
    t = type_with_dtype(t, dtype_computed((Dtype)t.dtype));
    TIGA_ASSERT(type_equal(ir_type(w->f, g), &t));
    *vec_push(w->scratch, &w->sent[v][part]) = g;
}

static Val received(Vjp *w, Val v, uint32_t part) {
    const Vals *list = &w->sent[v][part];
    if (list->len == 0) return 0;
    return list->len == 1 || ir_op(w->f, v) == OP_input ? add_all(w->f, list) : sum_masked(w, list);
}

static void visit(Vjp *w, Val v) {
    uint32_t num_results = ir_node(w->f, v)->num_results;
    Val *g = ARENA_ARRAY(w->scratch, Val, num_results);
    Cot q = {.f = w->f, .v = v, .g = g};
    bool any = false;
    for (uint32_t k = 0; k < num_results; k++) any |= (g[k] = received(w, v, k)) != 0;
    if (!any) return;
    if (ir_op(w->f, v) == OP_result) {
        send(w, ir_arg(w->f, v, 0), ir_node(w->f, v)->attr.index, g[0]);
        return;
    }
    uint32_t num_args = ir_node(w->f, v)->num_args;
    for (; q.k < num_args; q.k++) {
        Val operand = ir_arg(w->f, v, q.k);
        if (w->active[operand]) send(w, operand, 0, operand_cotangent(q));
    }
}

/* active on entry: the inputs of wrt. */
static void spread_active(Vjp *w) {
    for (Val v = 1; v < w->count; v++) {
        const Node *n = ir_node(w->f, v);
        bool is_float = false;
        for (uint32_t k = 0; k < n->num_results; k++)
            is_float |= dtype_is_float((Dtype)n->types[k].dtype);
        for (uint32_t k = 0; is_float && k < n->num_args; k++)
            w->active[v] |= w->active[n->args[k]];
    }
}

/* ---- names ---- */

/* "grad.x", or "grad2.x", "grad3.x", ... where that is taken. */
static const char *free_name(Fn *f, const char *what, const char *name,
                             Val (*find)(const Fn *, const char *)) {
    const char *text = arena_printf(f->arena, "%s.%s", what, name);
    for (int order = 2; find(f, text); order++)
        text = arena_printf(f->arena, "%s%d.%s", what, order, name);
    return text;
}

static Status unknown_name(const char *role, const char *name, const Binding *known, uint32_t n) {
    Text list = {.arena = arena_new()};
    text_put(&list, "");
    Near near = near_to(name);
    for (uint32_t k = 0; k < n; k++) {
        near_try(&near, known[k].name);
        text_putf(&list, k ? ", %s" : "%s", known[k].name);
    }
    Status st = err_set(ST_NAME, "gradient: there is no %s '%s'%s (there are: %s)", role, name,
                        near_hint(&near), list.text);
    arena_free(list.arena);
    return st;
}

static Status check_names(const Fn *f, bool results, const char *const *names, uint32_t n) {
    const char *role = results ? "result" : "input";
    for (uint32_t k = 0; k < n; k++) {
        Val v = results ? ir_find_result(f, names[k]) : ir_find_input(f, names[k]);
        if (!v && results) return unknown_name(role, names[k], f->results.data, f->results.len);
        if (!v) return unknown_name(role, names[k], f->inputs.data, f->inputs.len);
        Dtype d = (Dtype)ir_type(f, v)->dtype;
        if (!dtype_is_float(d))
            return err_set(ST_TYPE, "gradient: %s '%s' is %s; a float is needed", role, names[k],
                           dtype_user_name(d));
    }
    return ST_OK;
}

static Status check_program(const Fn *f) {
    for (Val v = 1; v < ir_count(f); v++)
        if (ir_op(f, v) == OP_traverse || ir_op(f, v) == OP_launch)
            return err_set(ST_UNSUPPORTED, "gradient: the program is fused or launched already; "
                                           "differentiate it before");
    return ST_OK;
}

/* ---- entry ---- */

static void make_cotangents(Vjp *w, const char *const *outs, uint32_t n, const char **names) {
    for (uint32_t k = 0; k < n; k++) {
        Val v = ir_find_result(w->f, outs[k]);
        names[k] = free_name(w->f, "cot", outs[k], ir_find_input);
        Val g = ir_input(w->f, names[k], *ir_type(w->f, v));
        if (w->active[v])
            send(w, v, 0, ir_cast(w->f, g, dtype_computed((Dtype)ir_type(w->f, v)->dtype)));
    }
}

static void add_gradients(Vjp *w, const char *const *wrt, uint32_t n, const char **names) {
    for (uint32_t k = 0; k < n; k++) {
        Val v = ir_find_input(w->f, wrt[k]), g = received(w, v, 0);
        names[k] = free_name(w->f, "grad", wrt[k], ir_find_result);
        g = g ? ir_cast(w->f, g, (Dtype)ir_type(w->f, v)->dtype) : ir_const_like(w->f, v, 0);
        ir_add_result(w->f, names[k], g);
    }
}

Status vjp_run(Arena *takes, const Fn *f, const char *const *outs, uint32_t num_outs,
               const char *const *wrt, uint32_t num_wrt, const char **names_out, Fn **out) {
    Status st = check_program(f);
    if (!st) st = check_names(f, true, outs, num_outs);
    if (!st) st = check_names(f, false, wrt, num_wrt);
    if (st) {
        arena_free(takes);
        return st;
    }
    Arena *scratch = arena_new();
    Vjp w = {.f = rewrite_copy(arena_new(), f), .scratch = scratch};
    w.count = ir_count(w.f);
    w.active = ARENA_ARRAY(scratch, uint8_t, w.count);
    w.sent = ARENA_ARRAY(scratch, Vals *, w.count);
    for (Val v = 1; v < w.count; v++)
        w.sent[v] = ARENA_ARRAY(scratch, Vals, ir_node(w.f, v)->num_results);
    const char **names = ARENA_ARRAY(takes, const char *, num_outs + num_wrt);
    for (uint32_t k = 0; k < num_wrt; k++) w.active[ir_find_input(w.f, wrt[k])] = 1;
    spread_active(&w);
    make_cotangents(&w, outs, num_outs, names);
    for (Val v = w.count - 1; v > 0; v--)
        if (w.active[v]) visit(&w, v);
    add_gradients(&w, wrt, num_wrt, names + num_outs);
    TIGA_ASSERT(!w.f->status);
    *out = rewrite_copy(takes, w.f);
    for (uint32_t k = 0; names_out && k < num_outs + num_wrt; k++)
        names_out[k] = arena_str(takes, names[k]);
    ir_free(w.f);
    arena_free(scratch);
    return ST_OK;
}
