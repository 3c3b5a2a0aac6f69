/* How well two runs of a program must agree.
 *
 * Sites are the operations at which the two may round differently. What no site reaches must agree bit
 * for bit. A site is exact where the data prove it: every operand is a multiple of 1/8 and the sum of
 * absolute values stays below 2^17, so each partial sum is exact in either float type; what only exact
 * sites reach must be equal, up to the sign of zero. For the rest the program runs again with every
 * site's result disturbed by a part of its error bound, 4 eps log2(n) of the same sum over absolute
 * values, random or as near to zero as it gets, and the spread of the results says what an honest difference is. What a comparison
 * or another step has decided on such a value can differ by anything and is not compared. */
#include "random.h"

#include "base/hash.h"
#include "ir/type.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { NUM_DRAWS = 7, WIDTH = 8 }; /* allowed: WIDTH times what was drawn */

struct Trust {
    Arena *arena;
    const Fn *f;
    const Env *env;
    Sites sites;
    uint8_t *exact;                        /* by value: a site that the data prove exact */
    uint8_t *rough, *jumpy, *loose, *live; /* by value; loose: the sign of zero may differ */
    bool is_huge;                          /* finite values may overflow */
    bool any_rough, drawn_ok;
    Env draw[NUM_DRAWS];
};

/* ---- sites ---- */

static bool is_part_of(const Fn *f, Val v, Op op) {
    return ir_op(f, v) == OP_result && ir_op(f, ir_arg(f, v, 0)) == op;
}

/* The largest of a row, whose sign of 0 is either: of rmax, of softmax. */
static bool is_largest(const Fn *f, Val v) {
    return is_part_of(f, v, OP_rmax) ||
           (is_part_of(f, v, OP_softmax) && ir_node(f, v)->attr.index == 1);
}

static bool is_site(const Trust *t, Val v) {
    Op op = ir_op(t->f, v);
    if (!dtype_is_float((Dtype)ir_type(t->f, v)->dtype)) return false;
    if (op == OP_reduce || op == OP_put ||
        (is_part_of(t->f, v, OP_softmax) && !is_largest(t->f, v)))
        return true;
    bool arithmetic = op == OP_add || op == OP_sub || op == OP_mul || op == OP_fma ||
                      op == OP_fsum || op == OP_matmul;
    return t->sites == SITES_all && arithmetic;
}

static Val abs_of(Fn *f, Val v) { return ir_abs(f, ir_cast(f, v, DT_f64)); }

static Val fold_abs(Fn *f, Op op, const Val *args, uint32_t n) {
    Val v = abs_of(f, args[0]);
    for (uint32_t k = 1; k < n; k++) v = ir_emit(f, op, (Val[]){v, abs_of(f, args[k])}, 2, NULL);
    return v;
}

/* Of the parts of a softmax: the mean of |v|; |log-sum| and what the logarithm's argument adds. */
static Val abs_softmax(Fn *f, const Attr *part, Val both, Val y) {
    const Node n = *ir_node(f, both);
    if (part->index == 2) return ir_add(f, abs_of(f, y), ir_const_like(f, abs_of(f, y), 1));
    Val s = ir_cast(f, n.args[0], DT_f64);
    return ir_part(f, ir_softmax(f, s, abs_of(f, n.args[1]), n.attr.map), 0);
}

/* The site's operation over absolute values, in float64 in f (args are the site's operands there, y its
 * value). */
static Val abs_form(Fn *f, const Node *n, const Val *args, Val y) {
    Op op = (Op)n->op;
    if (op == OP_result) return abs_softmax(f, &n->attr, args[0], y);
    if (op == OP_mul) return fold_abs(f, OP_mul, args, n->num_args);
    if (op == OP_add || op == OP_sub) return fold_abs(f, OP_add, args, n->num_args);
    if (op == OP_fma) return ir_add(f, fold_abs(f, OP_mul, args, 2), abs_of(f, args[2]));
    if (op == OP_matmul) return ir_matmul(f, abs_of(f, args[0]), abs_of(f, args[1]));
    if (op == OP_put) return ir_put(f, args[0], abs_of(f, args[1]), n->attr.ints[0]);
    TIGA_ASSERT(op == OP_reduce || op == OP_fsum);
    return ir_emit(f, op, (Val[]){abs_of(f, args[0])}, 1, &n->attr);
}

/* The largest that a partial sum may get to. */
static Val reach(Fn *f, const Node *n, const Val *args, Val size) {
    if (n->op != OP_result || n->attr.index == 2) return size;
    const Node softmax = *ir_node(f, args[0]);
    return ir_reduce(f, abs_of(f, softmax.args[1]), softmax.attr.map);
}

/* Terms of a site's sum. */
static double num_terms(const Trust *t, Val v) {
    const Node *n = ir_node(t->f, v);
    if (n->op == OP_result) n = ir_node(t->f, n->args[0]);
    const Type *x = ir_type(t->f, n->args[0]);
    if (n->op == OP_matmul) return (double)x->dim[x->rank - 1];
    if (n->op == OP_fsum || n->op == OP_put) {
        Array a = array_of(x, &t->env->domain);
        return (double)array_numel(&a);
    }
    if (n->op == OP_reduce || n->op == OP_softmax)
        return (double)t->env->domain.set_size[map_from(t->f, n->attr.map)];
    return n->num_args;
}

static double error_bound(const Trust *t, Val v) {
    double eps = ir_type(t->f, v)->dtype == DT_f32 ? FLT_EPSILON : DBL_EPSILON;
    double own =
        ir_op(t->f, v) == OP_result ? 16 : 2; /* the weights of a softmax are rounded too */
    return eps * (4 * log2(num_terms(t, v) + 2) + own);
}

/* ---- which sites the data prove exact ---- */

static Val largest(Fn *f, Val v) {
    Type t = *ir_type(f, v);
    v = ir_fmax(f, v, (1u << t.rank) - 1);
    return t.set == SET_ALL ? v : ir_part(f, ir_rmax(f, v, map_all(t.set)), 0);
}

/* How far v is from multiples of 1/8; an index is none. */
static Val fraction(Fn *f, Val v) {
    if (!dtype_is_float((Dtype)ir_type(f, v)->dtype)) v = ir_cast(f, v, DT_f64);
    Val eight = ir_mul(f, v, ir_const_like(f, v, 8));
    return largest(f, ir_abs(f, ir_sub(f, eight, ir_floor(f, eight))));
}

static const char *site_name(Trust *t, const char *what, Val v, uint32_t k) {
    return arena_printf(t->arena, "%s.%u.%u", what, v, k);
}

static void add_proofs(Trust *t, Fn *f, Val v, const Val *args, Val mapped) {
    const Node *n = ir_node(t->f, v);
    ir_add_result(f, site_name(t, "sum", v, 0), largest(f, abs_form(f, n, args, mapped)));
    for (uint32_t k = 0; k < n->num_args; k++)
        ir_add_result(f, site_name(t, "part", v, k), fraction(f, args[k]));
}

static bool is_below(const Env *e, const char *name, double most) {
    const Array *a = env_find(e, name);
    return array_get(a, 0) <= most; /* false for NaN; what has no elements gives -inf */
}

static bool is_proven(Trust *t, const Env *e, Val v) {
    bool exact = is_below(e, site_name(t, "sum", v, 0), 0x1p17);
    for (uint32_t k = 0; k < ir_node(t->f, v)->num_args; k++)
        exact &= is_below(e, site_name(t, "part", v, k), 0);
    return exact;
}

/* ---- the program again, with something done at every site ---- */

static Fn *rebuild(Trust *t, Val (*at_site)(Trust *t, Fn *to, Val v, const Val *args, Val mapped)) {
    const Fn *f = t->f;
    Fn *to = ir_new_like(arena_new(), f, f->name);
    Val *memo = ARENA_ARRAY(t->arena, Val, ir_count(f));
    for (Val v = 1; v < ir_count(f); v++) {
        const Node *n = ir_node(f, v);
        if (!t->live[v]) continue;
        Val *args = ARENA_ARRAY(t->arena, Val, n->num_args + 1);
        for (uint32_t k = 0; k < n->num_args; k++) args[k] = memo[n->args[k]];
        memo[v] = n->op == OP_input ? ir_input(to, n->attr.name, n->attr.type)
                                    : ir_emit(to, (Op)n->op, args, n->num_args, &n->attr);
        if (is_site(t, v)) memo[v] = at_site(t, to, v, args, memo[v]);
    }
    for (uint32_t k = 0; k < f->results.len; k++)
        ir_add_result(to, f->results.data[k].name, memo[f->results.data[k].val]);
    TIGA_ASSERT(!to->status);
    return to;
}

static Val prove(Trust *t, Fn *to, Val v, const Val *args, Val mapped) {
    if (ir_op(t->f, v) != OP_result) add_proofs(t, to, v, args, mapped);
    return mapped;
}

static Val between(Fn *f, double low, Val v, double high) {
    return ir_and(f, ir_lt(f, ir_const_like(f, v, low), v), ir_lt(f, v, ir_const_like(f, v, high)));
}

/* The point of y +- bound nearest to zero, as its distance from y: sums that cancel may leave 0 and large
 * terms alike. */
static Val toward_zero(Fn *f, Val y, Val bound) {
    Val low = ir_sub(f, ir_const_like(f, bound, 0), bound);
    return ir_max(f, low, ir_min(f, ir_sub(f, ir_const_like(f, y, 0), y), bound));
}

/* y + noise * (bound * |y|' + the least number), noise of 0 asking for what is nearest to zero, unless
 * infinities are among the operands; NaN where a partial sum may overflow that in another order, or in a
 * wider type, does not. */
static Val disturb(Trust *t, Fn *to, Val v, const Val *args, Val y) {
    if (t->exact[v]) return y;
    const Node *n = ir_node(t->f, v);
    Type type = *ir_type(to, y);
    bool single = type.dtype == DT_f32;
    double most = single ? FLT_MAX / 16 : DBL_MAX / 16, least = single ? 0x1p-148 : 0x1p-1073;
    Val noise = ir_cast(to, ir_input(to, site_name(t, "noise", v, 0), type), DT_f64);
    Val size = abs_form(to, n, args, y), zero = ir_const_like(to, size, 0);
    Val most_sum = reach(to, n, args, size), far = between(to, most, most_sum, INFINITY);
    if (t->is_huge) far = ir_lt(to, ir_const_like(to, size, most), most_sum);
    Val bound = ir_mul(to, size, ir_const_like(to, size, error_bound(t, v)));
    bound = ir_add(to, bound, ir_const_like(to, size, least));
    Val error = ir_where(to, ir_eq(to, noise, zero), toward_zero(to, ir_cast(to, y, DT_f64), bound),
                         ir_mul(to, noise, bound));
    error = ir_where(to, between(to, -1, size, INFINITY), error, zero);
    error = ir_where(to, far, ir_const_like(to, size, NAN), error);
    Val sum = ir_add(to, ir_cast(to, y, DT_f64), error);
    return ir_where(to, ir_eq(to, error, zero), y, ir_cast(to, sum, (Dtype)type.dtype));
}

static void find_exact(Trust *t, const Case *c) {
    if (c->data != DATA_whole) return;
    Fn *f = rebuild(t, prove);
    Env e = env_copy(t->env);
    if (!env_run(&e, f))
        for (Val v = 1; v < ir_count(t->f); v++)
            if (t->live[v] && is_site(t, v) && ir_op(t->f, v) != OP_result)
                t->exact[v] = is_proven(t, &e, v);
    ir_free(f);
}

/* +-[1/2, 1]; in the last draw 0. */
static void fill_noise(const Array *a, uint64_t salt, bool is_last) {
    for (int64_t i = 0, n = array_numel(a); i < n; i++) {
        uint64_t h = hash_u64((uint64_t)i, salt);
        double x = 0.5 + (double)(h >> 12 & 1023) / 2046;
        array_set(a, i, is_last ? 0 : h & 1 ? x : -x);
    }
}

static void draw(Trust *t, const Fn *f, int number) {
    t->draw[number] = env_copy(t->env);
    Env *e = &t->draw[number];
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        const Binding *b = &f->inputs.data[k];
        if (env_find(e, b->name)) continue;
        Array a = env_new(e, b->name, ir_type(f, b->val));
        fill_noise(&a, hash_str(b->name, (uint64_t)number), number == NUM_DRAWS - 1);
    }
    t->drawn_ok &= !env_run(e, f);
}

/* ---- what sites reach ---- */

/* A rounding to a half may go one way or the other: no matter where it is stored, a step where it is read. */
static bool is_step(const Fn *f, Val v) {
    const Node *n = ir_node(f, v);
    if (n->op == OP_cast && dtype_is_half((Dtype)ir_type(f, n->args[0])->dtype)) return true;
    bool to_int = !dtype_is_float((Dtype)ir_type(f, v)->dtype);
    bool steps = n->op == OP_floor || n->op == OP_ceil || n->op == OP_sign ||
                 n->op == OP_floordiv || n->op == OP_mod;
    return to_int || steps;
}

/* Of its last operand, -0 from +0. */
static bool tells_zeros_apart(Op op) {
    return op == OP_div || op == OP_floordiv || op == OP_mod || op == OP_order;
}

static void spread(Trust *t, Val v) {
    const Fn *f = t->f;
    const Node *n = ir_node(f, v);
    bool is_float = dtype_is_float((Dtype)ir_type(f, v)->dtype);
    for (uint32_t k = 0; k < n->num_args; k++) {
        t->rough[v] |= t->rough[n->args[k]];
        t->jumpy[v] |= t->jumpy[n->args[k]];
        t->loose[v] |= t->loose[n->args[k]];
    }
    bool splits = tells_zeros_apart((Op)n->op) && t->loose[n->args[n->num_args - 1]];
    if (splits) t->rough[v] = t->jumpy[v] = 1;
    if (t->rough[v] && is_step(f, v)) t->jumpy[v] = 1;
    if (n->op == OP_row_scan) { /* its steps round, and may choose */
        t->rough[v] |= t->sites == SITES_all;
        t->jumpy[v] |= t->rough[v];
    }
    if (is_site(t, v)) t->loose[v] = 1;
    if (is_site(t, v) && !t->exact[v]) t->rough[v] = 1;
    if (is_float && (n->op == OP_rmax || n->op == OP_fmax || is_largest(f, v))) t->loose[v] = 1;
    if (!is_float) t->loose[v] = 0;
}

Trust *trust_new(Arena *a, const Fn *f, Sites sites, const Env *e, const Case *c) {
    Trust *t = ARENA_NEW(a, Trust);
    *t = (Trust){.arena = a,
                 .f = f,
                 .env = e,
                 .sites = sites,
                 .is_huge = c->data == DATA_huge,
                 .drawn_ok = true};
    t->live = ir_live(a, f);
    t->exact = ARENA_ARRAY(a, uint8_t, ir_count(f));
    t->rough = ARENA_ARRAY(a, uint8_t, ir_count(f));
    t->jumpy = ARENA_ARRAY(a, uint8_t, ir_count(f));
    t->loose = ARENA_ARRAY(a, uint8_t, ir_count(f));
    find_exact(t, c);
    for (Val v = 1; v < ir_count(f); v++)
        if (t->live[v]) spread(t, v);
    for (uint32_t k = 0; k < f->results.len; k++) {
        Val v = f->results.data[k].val;
        t->any_rough |= t->rough[v] && !t->jumpy[v];
    }
    if (!t->any_rough) return t;
    Fn *noisy = rebuild(t, disturb);
    for (int k = 0; k < NUM_DRAWS; k++) draw(t, noisy, k);
    ir_free(noisy);
    return t;
}

/* ---- comparison ---- */

static bool same_class(double x, double y) {
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    return isinf(x) || isinf(y) ? x == y : true;
}

bool array_same(const Array *a, const Array *b, bool zeros_differ, int64_t *i) {
    int64_t n = array_numel(a);
    size_t size = (size_t)dtype_size((Dtype)a->dtype);
    for (*i = 0; *i < n; (*i)++) {
        if (!memcmp(array_at(a, *i), array_at(b, *i), size)) continue;
        double x = array_get(a, *i), y = array_get(b, *i);
        bool is_float = dtype_is_float((Dtype)a->dtype);
        if (!is_float || !((isnan(x) && isnan(y)) || (x == y && !zeros_differ))) return false;
    }
    return true;
}

/* What an honest difference is at element i; NaN: anything. Disturbances can cancel in every draw, so a
 * few roundings of the result are allowed anyway. */
static double allowance(const Array *const *draws, const Array *want, int64_t i) {
    static const double eps[NUM_DTYPES] = {
        [DT_f32] = FLT_EPSILON, [DT_f64] = DBL_EPSILON, [DT_f16] = 0x1p-10, [DT_bf16] = 0x1p-7};
    double x = array_get(want, i), most = 0;
    double least = want->dtype == DT_f16 ? 0x1p-22 : want->dtype == DT_f64 ? 0x1p-1060 : 0x1p-130;
    for (int k = 0; k < NUM_DRAWS; k++) {
        double y = array_get(draws[k], i);
        if (!same_class(x, y)) return NAN;
        if (isfinite(x)) most = fmax(most, fabs(x - y));
    }
    double own = isfinite(x) ? 4 * eps[want->dtype] * fabs(x) : 0;
    return WIDTH * most + own + least;
}

Agree trust_kind(const Trust *t, const char *name) {
    Val v = ir_find_result(t->f, name);
    if (!t->rough[v]) return t->loose[v] ? AGREE_zeros : AGREE_bits;
    return t->jumpy[v] || !t->drawn_ok ? AGREE_unknown : AGREE_within;
}

bool trust_agree(const Trust *t, const char *name, const Array *want, const Array *got, int64_t *i,
                 double *allowed) {
    Agree kind = trust_kind(t, name);
    *allowed = 0;
    if (kind == AGREE_unknown) return true;
    if (kind != AGREE_within) return array_same(want, got, kind == AGREE_bits, i);
    const Array *draws[NUM_DRAWS];
    for (int k = 0; k < NUM_DRAWS; k++) draws[k] = env_find(&t->draw[k], name);
    int64_t n = array_numel(want);
    for (*i = 0; *i < n; (*i)++) {
        double x = array_get(want, *i), y = array_get(got, *i);
        *allowed = allowance(draws, want, *i);
        if (isnan(*allowed)) continue;
        if (!same_class(x, y) || (isfinite(x) && fabs(x - y) > *allowed)) return false;
    }
    return true;
}
