/* Proofs by structure: what a form calls for is built in normal form beside what combine computes, under
 * every order of the two keys, and hash-consing says whether they are the same. A component is alone (a
 * sum, a maximum) or led by another one, its key: sums scaled to a maximum, what came with the maximum, b
 * of x -> a x + b. So components that have nothing to do with each other are proven, and lowered, each by
 * itself. A form holds only with its neutral identity. */
#include "capture/normal.h"
#include "capture/reducers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = REDUCER_MAX_STATE, NUM_ORDERS = 3 };

/* What a component's combine is computed of. */
typedef struct {
    const uint8_t *needed; /* by value of combine */
    bool reads[N];         /* components, of either side */
} Cone;

/* A component's combine under one order of its key. l, u: the component's two sides; a, b: the key's. */
typedef struct {
    Normal w;
    Val l, u, a, b, result;
} World;

/* What a form needs: its identity (NaN: any), and forms of the key as bits; alone where none. finite: scores
 * of -inf may be guarded against, for the form has a rule of its own for them. */
static const struct {
    Form form;
    double identity;
    uint32_t keys;
    bool finite, right;
} rules[] = {
    {FORM_additive, 0, 0, false, false},
    {FORM_product, 1, 0, false, false},
    {FORM_max, -INFINITY, 0, false, false},
    {FORM_min, INFINITY, 0, false, false},
    {FORM_logsumexp, -INFINITY, 0, true, false},
    {FORM_weighted, 0, 1 << FORM_max, true, false},
    {FORM_affine, 0, 1 << FORM_product, false, false},
    {FORM_affine, 0, 1 << FORM_product, false, true},
    {FORM_first, NAN, 1 << FORM_max | 1 << FORM_min, false, false},
    {FORM_last, NAN, 1 << FORM_max | 1 << FORM_min, false, false},
};
enum { NUM_RULES = sizeof rules / sizeof *rules };

static Cone cone_of(Arena *a, const Fn *combine, uint32_t k) {
    Cone c = {0};
    uint8_t *needed = ARENA_ARRAY(a, uint8_t, ir_count(combine));
    needed[combine->results.data[k].val] = 1;
    for (Val v = ir_count(combine) - 1; v > 0; v--) {
        const Node *n = ir_node(combine, v);
        if (!needed[v]) continue;
        if (n->op == OP_input) c.reads[strtoul(n->attr.name + 1, NULL, 10)] = true;
        for (uint32_t i = 0; i < n->num_args; i++) needed[n->args[i]] = 1;
    }
    c.needed = needed;
    return c;
}

static Val side(World *e, char side, uint32_t k) {
    return normal_input(&e->w, arena_printf(e->w.f->arena, "%c%u", side, k));
}

static World world_open(Arena *a, const Reducer *r, const Cone *c, uint32_t k, uint32_t key,
                        Order order, bool finite) {
    World e = {.w = normal_new(a, arena_printf(a, "l%u", key), arena_printf(a, "r%u", key), order,
                               finite)};
    Val results[N];
    normal_results(&e.w, r->combine, c->needed, results); /* holds() asks for too_big at the end */
    e.result = results[k];
    e.l = side(&e, 'l', k), e.u = side(&e, 'r', k);
    e.a = side(&e, 'l', key), e.b = side(&e, 'r', key);
    return e;
}

/* x y + z */
static Val fma_of(World *e, Val x, Val y, Val z) {
    return normal_add(&e->w, z, 1, normal_mul(&e->w, x, y));
}

static bool is_wanted(World *e, const Reducer *r, Part part) {
    Val l = e->l, u = e->u, a = e->a, b = e->b, v = e->result;
    bool more = e->w.order == ORDER_more, same = e->w.order == ORDER_same;
    bool left = more == (r->part[part.key].form != FORM_min); /* wins, unless at a tie */
    Val m = more ? a : b, one = normal_number(&e->w, 1);
    switch ((int)part.form) {
    case FORM_additive: return v == normal_add(&e->w, l, 1, u);
    case FORM_product: return v == normal_mul(&e->w, l, u);
    case FORM_max: return v == (more ? l : u);
    case FORM_min: return v == (more ? u : l);
    case FORM_logsumexp:
        v = normal_exp(&e->w, v), a = l, b = u, l = u = one, m = normal_number(&e->w, 0);
        __attribute__((fallthrough));
    case FORM_weighted:
        a = normal_exp(&e->w, normal_add(&e->w, a, -1, m));
        b = normal_exp(&e->w, normal_add(&e->w, b, -1, m));
        return v == fma_of(e, l, a, normal_mul(&e->w, u, b));
    case FORM_affine: return v == (part.right ? fma_of(e, b, l, u) : fma_of(e, a, u, l));
    case FORM_first: return v == (left || same ? l : u);
    case FORM_last: return v == (left && !same ? l : u);
    }
    return false;
}

/* An integer's least value is as good as -inf. */
static bool is_neutral(const Reducer *r, uint32_t k, double found, double identity) {
    Dtype d = (Dtype)ir_type(r->lift, r->lift->results.data[k].val)->dtype;
    if (!r->identity || isnan(identity) || found == identity) return true;
    double least = d == DT_i32 ? -0x1p31 : -0x1p63, most = d == DT_i32 ? 0x1p31 - 1 : 0x1p63;
    return !dtype_is_float(d) && isinf(identity) && found == (identity < 0 ? least : most);
}

static bool holds(const Reducer *r, const Cone *c, Part part, bool finite, uint32_t k) {
    bool all = true;
    for (int order = ORDER_less; all && order <= ORDER_more; order++) {
        Arena *a = arena_new();
        World e = world_open(a, r, c, k, part.key, (Order)order, finite);
        all = is_wanted(&e, r, part) && !e.w.too_big;
        arena_free(a);
    }
    return all;
}

/* What it reads of other components has cancelled out where the component is proven by itself: such is what
 * compensates for rounding (Kahan's sum), and is folded as it is written. A key it does read. */
static bool find_part(Arena *a, Reducer *r, uint32_t k, double identity) {
    Cone c = cone_of(a, r->combine, k);
    bool alone = true;
    for (uint32_t i = 0; i < r->num_state; i++) alone &= i == k || !c.reads[i];
    for (size_t i = 0; i < NUM_RULES; i++)
        for (uint32_t key = 0; key < r->num_state; key++) {
            bool fits = rules[i].keys
                            ? key != k && c.reads[key] && rules[i].keys >> r->part[key].form & 1
                            : key == k && alone;
            if (!fits || !is_neutral(r, k, identity, rules[i].identity)) continue;
            Part part = {rules[i].form, key, rules[i].right};
            if (!holds(r, &c, part, rules[i].finite, k)) continue;
            r->part[k] = part;
            return true;
        }
    return false;
}

/* A key may come after what it leads: twice. */
static bool find_parts(Arena *a, Reducer *r) {
    Normal w = normal_new(a, "", "", ORDER_none, false);
    Val v[N];
    if (r->identity && !normal_results(&w, r->identity, NULL, v)) return false;
    uint32_t missing = 0;
    for (uint32_t turn = 0; turn < 2; turn++) {
        missing = 0;
        for (uint32_t k = 0; k < r->num_state; k++) {
            double identity = NAN;
            if (r->identity) normal_is_number(&w, v[k], &identity);
            if (r->part[k].form == FORM_general) missing += !find_part(a, r, k, identity);
        }
    }
    return missing == 0;
}

/* finalize is s_j / s_i with sums scaled to one maximum and lift_i = 1: the weighted mean itself. */
static void find_mean(Arena *a, Reducer *r) {
    Normal w = normal_new(a, "", "", ORDER_none, false);
    Val result, lifted[N];
    if (!normal_results(&w, r->finalize, NULL, &result) ||
        !normal_results(&w, r->lift, NULL, lifted))
        return;
    for (uint32_t i = 0; i < r->num_state; i++)
        for (uint32_t j = 0; j < r->num_state; j++) {
            Part p = r->part[i], q = r->part[j];
            if (p.form != FORM_weighted || q.form != FORM_weighted || p.key != q.key) continue;
            if (lifted[i] != normal_number(&w, 1)) continue;
            Val sum = normal_input(&w, arena_printf(a, "s%u", j));
            Val weights = normal_inverse(&w, normal_input(&w, arena_printf(a, "s%u", i)));
            if (result == normal_mul(&w, sum, weights)) r->has_mean = true, r->mean = j;
        }
}

/* One name for the whole where its components have one; what came with a maximum is part of that. */
static Form whole(const Reducer *r) {
    uint64_t seen = 0;
    bool keys[N] = {false};
    for (uint32_t k = 0; k < r->num_state; k++)
        if (r->part[k].form == FORM_weighted || r->part[k].form == FORM_affine)
            keys[r->part[k].key] = true;
    for (uint32_t k = 0; k < r->num_state; k++) {
        Form form = r->part[k].form;
        if (form != FORM_first && form != FORM_last && !keys[k]) seen |= 1u << form;
    }
    return seen & (seen - 1) ? FORM_mixed : (Form)__builtin_ctzll(seen);
}

static bool has_truths(const Fn *combine) { /* a state of bools has no arithmetic to prove */
    for (Val v = 1; v < ir_count(combine); v++)
        if (ir_op(combine, v) == OP_input && ir_type(combine, v)->dtype == DT_bool) return true;
    return false;
}

Form proof_find(Arena *scratch, Reducer *r) {
    if (has_truths(r->combine) || !find_parts(scratch, r)) return FORM_general;
    find_mean(scratch, r);
    return whole(r);
}

Form proof_of_combine(Arena *scratch, const Reducer *r) {
    Reducer any = *r;
    any.identity = NULL;
    memset(any.part, 0, sizeof any.part);
    return has_truths(r->combine) || !find_parts(scratch, &any) ? FORM_general : whole(&any);
}
