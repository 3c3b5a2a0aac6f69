/* Cotangents of a row_scan, (sN, y) = scan{b}(s0, x) with b : (s, x) -> (s', y):
 *
 *   S         = the same scan with the state before each edge among its ys
 *   b*        : (a, S, x, gy) -> (a', dx), the vjp of b: a is the cotangent of the state behind the edge
 *   (ds0, dx) = scan{b*, the other direction}(gsN, S, x, gy)
 *
 * S is no buffer but one more value of the edges; both are scans again, so there is a next order. The tree
 * of a SCAN_tree is left out of it: a fold that may be grouped as one likes has one derivative. For
 * products this is the product before times the product behind, so no zero is divided by. */
#include "opt/vjp_rules.h"

#include "ir/type.h"
#include "opt/vjp.h"

typedef struct {
    const Cot *q;
    Scan s;
    const Fn *body;
    Fn *vjp;                 /* of the body */
    const char **names;      /* its results' cotangents, then its inputs' */
    uint32_t outs, wrt, num; /* operands of b* so far */
    Val *operand;
    Fn *star;
    Val *memo; /* from vjp to star */
} Reverse;

static bool is_float(const Fn *f, const Binding *b) {
    return dtype_is_float((Dtype)ir_type(f, b->val)->dtype);
}

/* The states before each edge. */
static Val states_before(const Cot *q, Scan s) {
    Fn *body = ir_copy_region(arena_new(), s.body);
    for (uint32_t k = 0; k < s.num_states; k++)
        ir_add_result(body, arena_printf(body->arena, "before%u", k), body->inputs.data[k].val);
    s.body = body;
    s.flags &= ~SCAN_tree;
    Val v = ir_row_scan(q->f, &s, ir_node(q->f, q->v)->args);
    ir_free(body);
    return v;
}

/* A result of the body takes part: a state always, a y where it has a cotangent. */
static bool takes_part(const Reverse *r, uint32_t k) {
    return is_float(r->body, &r->body->results.data[k]) && (k < r->s.num_states || r->q->g[k]);
}

static void differentiate_body(Reverse *r, Arena *a) {
    const Fn *b = r->body;
    const char **outs = ARENA_ARRAY(a, const char *, b->results.len);
    const char **wrt = ARENA_ARRAY(a, const char *, b->inputs.len);
    for (uint32_t k = 0; k < b->results.len; k++)
        if (takes_part(r, k)) outs[r->outs++] = b->results.data[k].name;
    for (uint32_t k = 0; k < b->inputs.len; k++)
        if (is_float(b, &b->inputs.data[k])) wrt[r->wrt++] = b->inputs.data[k].name;
    r->names = ARENA_ARRAY(a, const char *, r->outs + r->wrt);
    Status st = vjp_run(arena_new(), b, outs, r->outs, wrt, r->wrt, r->names, &r->vjp);
    TIGA_ASSERT(!st);
    r->memo = ARENA_ARRAY(a, Val, ir_count(r->vjp));
}

/* b*'s next input: stands for the vjp's of that name. */
static void add_operand(Reverse *r, const char *name, Val operand) {
    Val in = ir_find_input(r->vjp, name);
    r->memo[in] = ir_input(r->star, name, *ir_type(r->vjp, in));
    r->operand[r->num++] = operand;
}

/* The results' cotangents: states' are the new states, and zero where none came. */
static void add_cotangents(Reverse *r, bool states) {
    for (uint32_t k = 0, n = 0; k < r->body->results.len; k++) {
        if (!takes_part(r, k)) continue;
        Val g = r->q->g[k];
        Type t = ir_node(r->q->f, r->q->v)->types[k];
        if (states == (k < r->s.num_states))
            add_operand(r, r->names[n], g ? g : ir_const(r->q->f, t, 0));
        n++;
    }
}

/* Where operand k's cotangent stands among those of wrt. */
static uint32_t place_of(const Reverse *r, uint32_t k) {
    uint32_t place = 0;
    for (uint32_t i = 0; i < k; i++) place += is_float(r->body, &r->body->inputs.data[i]);
    return place;
}

/* A scan has a state; where all of the body's are integers it is one that stays. */
static uint32_t add_states(Reverse *r) {
    add_cotangents(r, true);
    if (r->num) return r->num;
    Type t = *ir_type(r->q->f, ir_arg(r->q->f, r->q->v, 0));
    Val stays = ir_input(r->star, "stays", type_scalar(DT_bool, SET_ALL));
    r->operand[r->num++] = ir_const(r->q->f, type_with_dtype(t, DT_bool), 0);
    ir_add_result(r->star, "stays", stays);
    return 1;
}

static void add_results(Reverse *r) {
    for (uint32_t k = 0; k < r->wrt; k++) {
        const char *name = r->names[r->outs + k];
        Val v = ir_find_result(r->vjp, name);
        ir_add_result(r->star, name, ir_copy(r->star, r->vjp, v, r->memo));
    }
}

/* The reversed scan; result `shift` + place of wrt is its cotangent. */
static Val reversed(Reverse *r, uint32_t *shift) {
    const Fn *b = r->body;
    Val before = states_before(r->q, r->s);
    uint32_t num_states = add_states(r);
    *shift = r->star->results.len;
    for (uint32_t k = 0; k < b->inputs.len; k++)
        add_operand(r, b->inputs.data[k].name,
                    k < r->s.num_states ? ir_part(r->q->f, before, b->results.len + k)
                                        : ir_arg(r->q->f, r->q->v, k));
    add_cotangents(r, false);
    add_results(r);
    Scan s = {r->s.map, r->s.flags & SCAN_reverse ? 0 : SCAN_reverse, num_states,
              r->num - num_states, r->star};
    return ir_row_scan(r->q->f, &s, r->operand);
}

Val vjp_row_scan(const Cot *q) {
    Arena *a = arena_new();
    Reverse r = {.q = q, .s = ir_scan_of(ir_node(q->f, q->v)), .star = ir_new(a, "body")};
    uint32_t shift;
    r.body = ir_copy_region(a, r.s.body);
    r.operand = ARENA_ARRAY(a, Val, 2 * r.body->results.len + r.body->inputs.len + 1);
    differentiate_body(&r, a);
    Val v = reversed(&r, &shift);
    v = ir_part(q->f, v, shift + place_of(&r, q->k));
    ir_free(r.vjp);
    arena_free(a);
    return v;
}
