/* Cotangent of each operand of each operation.
 *
 * With g the cotangent of the result and up(q) = gather{f}(q):
 *
 *   elementwise        op.def's cotN columns
 *   bcast <-> fsum, slice <-> pad, enter <-> leave, gather <-> reduce
 *   reshape, transpose, cast between floats: the inverse;  concat: slices
 *   matmul(a, b)       matmul(g, tr b), matmul(tr a, g)
 *   take <-> put       of the rows; the indices get none
 *   cumsum             the running sum from the other end
 *   fmax, rmax         shared evenly among ties:  where(m == up(M) or both NaN, up(g / ties), 0)
 *   softmax(s, v) = (o, M, l), p = exp((s - up(M)) - up(l)), 0 where s is infinitely far below M (a dead edge):
 *       dv = p up(go)        ds = p (fsum(up(go) v) - up(fsum(go o)) + up(gl)), 0 where s or M is infinite
 *   row_scan           vjp_scan.c
 *
 * Each rule is differentiated in its turn, so where a where() hides a value that is not finite, the
 * operands behind it are made harmless as well: 0 * NaN is NaN (a dead edge's score and value, the
 * mean of a row that is all dead, the tie count of an empty row). */
#include "opt/vjp_rules.h"

#include "ir/type.h"

#include <math.h>

static Val arg(const Cot *q, uint32_t k) { return ir_arg(q->f, q->v, k); }
static const Type *arg_type(const Cot *q, uint32_t k) { return ir_type(q->f, arg(q, k)); }
static const int64_t *ints(const Cot *q) { return ir_node(q->f, q->v)->attr.ints; }
static Map map(const Cot *q) { return ir_node(q->f, q->v)->attr.map; }

static Val zero_like(Fn *f, Val v) { return ir_const_like(f, v, 0); }

/* where(cond, v, 0) and where(cond, 0, v) */
static Val keep_where(Fn *f, Val cond, Val v) { return ir_where(f, cond, v, zero_like(f, v)); }
static Val drop_where(Fn *f, Val cond, Val v) { return ir_where(f, cond, zero_like(f, v), v); }

/* m == top, or both are NaN */
static Val is_top(Fn *f, Val m, Val top) {
    return ir_or(f, ir_eq(f, m, top), ir_and(f, ir_isnan(f, m), ir_isnan(f, top)));
}

/* ---- elementwise: op.def's columns ---- */

static Val product_of_others(const Cot *q) {
    Val v = 0;
    for (uint32_t k = 0; k < ir_node(q->f, q->v)->num_args; k++)
        if (k != q->k) v = v ? ir_mul(q->f, v, arg(q, k)) : arg(q, k);
    return v;
}

/* Of max and min: all of g where own wins (strictly, or NaN against a number), half at a tie. */
static Val share_top(Fn *f, Val g, Val wins, Val own, Val other) {
    Val tie = is_top(f, own, other);
    Val half = ir_mul(f, g, ir_const_like(f, g, 0.5));
    return keep_where(f, ir_or(f, ir_or(f, wins, tie), ir_isnan(f, own)),
                      ir_where(f, tie, half, g));
}

/* 2 / sqrt(pi) exp(-x^2) */
static Val erf_slope(Fn *f, Val x) {
    Val bell = ir_exp(f, ir_neg(f, ir_mul(f, x, x)));
    return ir_mul(f, bell, ir_const_like(f, x, 1.12837916709551257390));
}

/* ---- features ---- */

static Val like_arg(const Cot *q, Val v) {
    return ir_reshape(q->f, v, arg_type(q, 0)->dim, arg_type(q, 0)->rank);
}

static Val cot_cast(const Cot *q) {
    return ir_cast(q->f, q->g[0], dtype_computed((Dtype)arg_type(q, 0)->dtype));
}

/* Sums v over the axes along which a value of type t was repeated to v's shape (aligned right). */
static Val sum_to(Fn *f, Val v, const Type *t) {
    const Type *from = ir_type(f, v);
    int shift = from->rank - t->rank;
    uint32_t axes = (1u << shift) - 1;
    for (int k = 0; k < t->rank; k++)
        if (t->dim[k] != from->dim[k + shift]) axes |= 1u << (k + shift);
    return ir_reshape(f, ir_fsum(f, v, axes), t->dim, t->rank);
}

static Val cot_bcast(const Cot *q) { return sum_to(q->f, q->g[0], arg_type(q, 0)); }

static Val cot_reshape(const Cot *q) { return like_arg(q, q->g[0]); }

static Val cot_transpose(const Cot *q) {
    int64_t axes[MAX_RANK];
    for (int k = 0; k < arg_type(q, 0)->rank; k++) axes[ints(q)[k]] = k;
    return ir_transpose(q->f, q->g[0], axes);
}

static Val cot_slice(const Cot *q) {
    int64_t pad[3 * MAX_RANK];
    const Type *t = arg_type(q, 0);
    for (int k = 0; k < t->rank; k++) {
        int64_t start = ints(q)[3 * k], count = ints(q)[3 * k + 1], step = ints(q)[3 * k + 2];
        int64_t used = count > 1 ? (count - 1) * step + 1 : count;
        bool whole = dim_is_set(t->dim[k]);
        pad[3 * k] = count > 0 ? start : 0;
        pad[3 * k + 1] = whole ? 0 : t->dim[k] - pad[3 * k] - used;
        pad[3 * k + 2] = count > 1 ? step - 1 : 0;
    }
    return ir_pad(q->f, q->g[0], pad);
}

static Val cot_pad(const Cot *q) {
    int64_t slice[3 * MAX_RANK];
    const Type *t = arg_type(q, 0);
    for (int k = 0; k < t->rank; k++) {
        slice[3 * k] = t->dim[k] == 0 ? 0 : ints(q)[3 * k];
        slice[3 * k + 1] = t->dim[k];
        slice[3 * k + 2] = ints(q)[3 * k + 2] + 1;
    }
    return ir_slice(q->f, q->g[0], slice);
}

static Val cot_concat(const Cot *q) {
    int64_t slice[3 * MAX_RANK], axis = ints(q)[0], start = 0;
    const Type *t = arg_type(q, q->k);
    for (uint32_t k = 0; k < q->k; k++) start += arg_type(q, k)->dim[axis];
    for (int k = 0; k < t->rank; k++) {
        slice[3 * k] = k == axis && t->dim[k] > 0 ? start : 0;
        slice[3 * k + 1] = t->dim[k];
        slice[3 * k + 2] = 1;
    }
    return ir_slice(q->f, q->g[0], slice);
}

/* v, whose summed axes are gone, repeated along them. */
static Val repeat_folded(const Cot *q, Val v) {
    Type kept = *arg_type(q, 0);
    for (uint32_t k = 0; k < ir_node(q->f, q->v)->attr.num_ints; k++) kept.dim[ints(q)[k]] = 1;
    v = ir_reshape(q->f, v, kept.dim, kept.rank);
    return ir_bcast(q->f, v, arg_type(q, 0)->dim, kept.rank);
}

static Val cot_fsum(const Cot *q) { return repeat_folded(q, q->g[0]); }

static uint32_t folded_axes(const Cot *q) {
    uint32_t axes = 0;
    for (uint32_t k = 0; k < ir_node(q->f, q->v)->attr.num_ints; k++) axes |= 1u << ints(q)[k];
    return axes;
}

/* g / ties; no element reads it where there are none, but its derivative would be 0 / 0. */
static Val even_share(Fn *f, Val g, Val ties) {
    Val n = ir_max(f, ties, ir_const_like(f, ties, 1));
    return ir_div(f, g, ir_cast(f, n, (Dtype)ir_type(f, g)->dtype));
}

static Val cot_fmax(const Cot *q) {
    Fn *f = q->f;
    Val top = is_top(f, arg(q, 0), repeat_folded(q, q->v));
    Val ties = ir_fsum(f, ir_cast(f, top, DT_i64), folded_axes(q));
    return keep_where(f, top, repeat_folded(q, even_share(f, q->g[0], ties)));
}

static Val cot_take(const Cot *q) {
    return ir_put(q->f, arg(q, 1), q->g[0], arg_type(q, 0)->dim[0]);
}

static Val cot_put(const Cot *q) { return ir_take(q->f, q->g[0], arg(q, 0)); }

static Val cot_cumsum(const Cot *q) {
    return ir_cumsum(q->f, q->g[0], (int)ints(q)[0], !ints(q)[1]);
}

static Val swap_last(Fn *f, Val v) {
    int64_t axes[MAX_RANK];
    int rank = ir_type(f, v)->rank;
    for (int k = 0; k < rank; k++) axes[k] = k;
    axes[rank - 2] = rank - 1;
    axes[rank - 1] = rank - 2;
    return ir_transpose(f, v, axes);
}

static Val cot_matmul(const Cot *q) {
    if (q->k == 0) return ir_matmul(q->f, q->g[0], swap_last(q->f, arg(q, 1)));
    return ir_matmul(q->f, swap_last(q->f, arg(q, 0)), q->g[0]);
}

/* ---- along maps ---- */

static Val cot_gather(const Cot *q) { return ir_reduce(q->f, q->g[0], map(q)); }

static Val cot_reduce(const Cot *q) { return ir_gather(q->f, q->g[0], map(q)); }

static Val cot_rmax(const Cot *q) {
    Fn *f = q->f;
    if (!q->g[0]) return 0;
    Val top = ir_gather(f, ir_part(f, q->v, 0), map(q));
    Val share = even_share(f, q->g[0], ir_part(f, q->v, 1));
    return keep_where(f, is_top(f, arg(q, 0), top), ir_gather(f, share, map(q)));
}

static Val is_minus_inf(Fn *f, Val v) { return ir_eq(f, v, ir_const_like(f, v, -INFINITY)); }

static Val to_value_shape(const Cot *q, Val v) {
    return ir_bcast(q->f, v, arg_type(q, 1)->dim, arg_type(q, 1)->rank);
}

/* A score of +inf stays that, and a share of its row, whatever is added to it: as fixed as a dead one. */
typedef struct {
    Val p, dead, fixed; /* of each edge */
} Weight;

static Weight softmax_weight(const Cot *q) {
    Fn *f = q->f;
    Val s = arg(q, 0), below = ir_sub(f, s, ir_gather(f, ir_part(f, q->v, 1), map(q)));
    Val rest = ir_gather(f, ir_part(f, q->v, 2), map(q));
    Weight w = {.dead = ir_or(f, is_minus_inf(f, s), is_minus_inf(f, below))};
    w.fixed = ir_or(f, w.dead, ir_eq(f, s, ir_const_like(f, s, INFINITY)));
    Val log = ir_sub(f, drop_where(f, w.fixed, below), rest);
    w.p = drop_where(f, w.dead, ir_exp(f, drop_where(f, w.dead, log)));
    return w;
}

/* fsum(up(go) v) - up(fsum(go o)): how far the edge's value lies above the row's mean, along go. */
static Val softmax_excess(const Cot *q, Val dead) {
    Fn *f = q->f;
    Val go = q->g[0], mean = ir_part(f, q->v, 0);
    const Type *score = arg_type(q, 0);
    Val no_row = is_minus_inf(f, to_value_shape(q, ir_part(f, q->v, 1)));
    Val value = drop_where(f, to_value_shape(q, dead), arg(q, 1));
    Val own = sum_to(f, ir_mul(f, ir_gather(f, go, map(q)), value), score);
    Val row = sum_to(f, ir_mul(f, go, drop_where(f, no_row, mean)), score);
    return ir_sub(f, own, ir_gather(f, row, map(q)));
}

static Val cot_softmax(const Cot *q) {
    Fn *f = q->f;
    Val go = q->g[0], gl = q->g[2];
    if (!go && !gl) return 0;
    Weight w = softmax_weight(q);
    if (q->k == 1) return go ? ir_mul(f, to_value_shape(q, w.p), ir_gather(f, go, map(q))) : 0;
    Val change = go ? softmax_excess(q, w.dead) : 0;
    if (gl) gl = ir_gather(f, gl, map(q));
    if (gl) change = change ? ir_add(f, change, gl) : gl;
    return drop_where(f, w.fixed, ir_mul(f, w.p, change));
}

#define cot_row_scan vjp_row_scan

static Val cot_enter(const Cot *q) { return ir_leave(q->f, q->g[0]); }

static Val cot_leave(const Cot *q) { return ir_enter(q->f, q->g[0], arg_type(q, 0)->set); }

static Val cot_degree(const Cot *q) {
    (void)q;
    TIGA_UNREACHABLE("an operation without operands");
}

#define cot_iota cot_degree

/* ---- elementwise: op.def's columns; these words are macros from here on ---- */

#define NONE 0
#define G q->g[0]
#define A arg(q, 0)
#define B arg(q, 1)
#define C arg(q, 2)
#define Y q->v
#define REST product_of_others(q)
#define add(x, y) ir_add(q->f, x, y)
#define sub(x, y) ir_sub(q->f, x, y)
#define mul(x, y) ir_mul(q->f, x, y)
#define div(x, y) ir_div(q->f, x, y)
#define neg(x) ir_neg(q->f, x)
#define sign(x) ir_sign(q->f, x)
#define log(x) ir_log(q->f, x)
#define pow(x, y) ir_pow(q->f, x, y)
#define sin(x) ir_sin(q->f, x)
#define cos(x) ir_cos(q->f, x)
#define floordiv(x, y) ir_floordiv(q->f, x, y)
#define lt(x, y) ir_lt(q->f, x, y)
#define le(x, y) ir_le(q->f, x, y)
#define eq(x, y) ir_eq(q->f, x, y)
#define where(c, x, y) ir_where(q->f, c, x, y)
#define zero(x) ir_const_like(q->f, x, 0)
#define one(x) ir_const_like(q->f, x, 1)
#define share(g, wins, own, other) share_top(q->f, g, wins, own, other)
#define bell(x) erf_slope(q->f, x)

#define ELEM(op, arity, signature, traits, value, cot0, cot1, cot2, domain, ulp)                   \
    static Val cot_##op(const Cot *q) {                                                            \
        if (q->k == 0 || (traits) & NARY) return cot0;                                             \
        return q->k == 1 ? cot1 : cot2;                                                            \
    }
#include "ir/op.def"

/* ---- one rule an operation ---- */

static Val (*const rules[NUM_OPS])(const Cot *q) = {
#define ELEM(op, ...) [OP_##op] = cot_##op,
#define SHAPE(op, ...) [OP_##op] = cot_##op,
#define ALONG(op, ...) [OP_##op] = cot_##op,
#include "ir/op.def"
};

Val vjp_operand(const Cot *q) { return rules[ir_op(q->f, q->v)](q); }

bool vjp_moves(Op op) {
    switch ((int)op) {
    case OP_reshape:
    case OP_transpose:
    case OP_slice:
    case OP_pad:
    case OP_concat:
    case OP_fsum:
    case OP_enter:
    case OP_leave: return true;
    }
    return false;
}
