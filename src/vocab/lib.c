/* Library functions: each is a few operations, so derivatives, fusion and code come for free.
 *
 * Formulas are the usual definitions; what deserves care is said at each: ties and gradients at
 * corners follow torch. */
#include "vocab/lib_words.h"

#include <math.h>
#include <string.h>

static Val lib_cast(Builder *b, const LibCall *c) {
    if (c->num_ints != 1 || c->ints[0] < 0 || c->ints[0] >= NUM_DTYPES)
        return build_fail(b, ST_TYPE, "cast: no such dtype");
    return build_rounded(b, c->args[0], (Dtype)c->ints[0]);
}

/* ---- folds over features: ints = keepdims, axes ---- */

typedef struct {
    Val x; /* strong */
    uint32_t axes;
    bool keep;
    int64_t count; /* elements folded into one */
} Fold;

static bool fold_args(Builder *b, const LibCall *c, Fold *out) {
    *out = (Fold){.x = build_strong(b, c->args[0]), .keep = c->num_ints && c->ints[0], .count = 1};
    if (!out->x) return false;
    const Type *t = type(b, out->x);
    if (c->num_ints <= 1) out->axes = (1u << t->rank) - 1;
    if (c->num_ints <= 1 && t->set != SET_ALL) {
        build_fail(
            b, ST_SHAPE,
            "%s of %s: name the axes (axis=-1, or all of them): the row axis cannot be reduced",
            c->name, build_describe(b, out->x));
        return false;
    }
    for (uint32_t k = 1; k < c->num_ints; k++) {
        int axis = build_axis(b, c->name, out->x, c->ints[k]);
        if (axis < 0) return false;
        if (out->axes >> axis & 1) {
            build_fail(b, ST_SHAPE, "%s: axis %lld of %s is named twice", c->name,
                       (long long)c->ints[k], build_describe(b, out->x));
            return false;
        }
        out->axes |= 1u << axis;
    }
    for (int k = 0; k < t->rank; k++)
        if (out->axes >> k & 1) out->count *= t->dim[k];
    return true;
}

/* v, folded over d->axes, with the folded axes put back as 1s. */
static Val restore(Builder *b, const Fold *d, Val v) {
    if (!v) return 0;
    Type t = *type(b, d->x);
    for (int k = 0; k < t.rank; k++)
        if (d->axes >> k & 1) t.dim[k] = 1;
    return ir_reshape(b->f, v, t.dim, t.rank);
}

static Val finish(Builder *b, const Fold *d, Val v) { return d->keep ? restore(b, d, v) : v; }

static Val total(Builder *b, const Fold *d, Val x) {
    if (x && type(b, x)->dtype <= DT_i32) x = ir_cast(b->f, x, DT_i64);
    return x ? ir_fsum(b->f, x, d->axes) : 0;
}

static Val largest(Builder *b, const Fold *d, Val x) { return x ? ir_fmax(b->f, x, d->axes) : 0; }

/* max and min have no value of nothing. */
static bool extremum_args(Builder *b, const LibCall *c, Fold *d) {
    if (!fold_args(b, c, d)) return false;
    if (d->count == 0)
        build_fail(b, ST_SHAPE, "%s of no elements: %s", c->name, build_describe(b, d->x));
    return d->count != 0;
}

static Val lib_sum(Builder *b, const LibCall *c) {
    Fold d;
    return fold_args(b, c, &d) ? finish(b, &d, total(b, &d, d.x)) : 0;
}

static Val average(Builder *b, const Fold *d, Val x) {
    return call(b, "div", build_float(b, total(b, d, x)), number(b, (double)d->count));
}

static Val lib_mean(Builder *b, const LibCall *c) {
    Fold d;
    return fold_args(b, c, &d) ? finish(b, &d, average(b, &d, d.x)) : 0;
}

static Val lib_var(Builder *b, const LibCall *c) {
    Fold d;
    if (!fold_args(b, c, &d)) return 0;
    Val away = call(b, "sub", d.x, restore(b, &d, average(b, &d, d.x)));
    return away ? finish(b, &d, average(b, &d, call(b, "mul", away, away))) : 0;
}

static Val lib_std(Builder *b, const LibCall *c) { return call(b, "sqrt", lib_var(b, c), 0); }

/* min by way of the map that reverses the order and loses nothing: negation, or complement for integers. */
static Val extremum(Builder *b, const LibCall *c, bool min) {
    Fold d;
    if (!extremum_args(b, c, &d)) return 0;
    Dtype dtype = (Dtype)type(b, d.x)->dtype;
    const char *mirror = dtype_is_float(dtype) ? "neg" : "not";
    if (dtype == DT_bool) d.x = ir_cast(b->f, d.x, DT_i32);
    Val v = largest(b, &d, min ? call(b, mirror, d.x, 0) : d.x);
    if (min) v = call(b, mirror, v, 0);
    return finish(b, &d, v && dtype == DT_bool ? ir_cast(b->f, v, DT_bool) : v);
}

static Val lib_max(Builder *b, const LibCall *c) { return extremum(b, c, false); }

static Val lib_min(Builder *b, const LibCall *c) { return extremum(b, c, true); }

/* any: 0 < how many are not 0; all: 0 of them are 0. */
static Val lib_truth(Builder *b, const LibCall *c) {
    Fold d;
    bool any = !strcmp(c->name, "any");
    if (!fold_args(b, c, &d)) return 0;
    Val is = call(b, any ? "ne" : "eq", d.x, build_integer(b, 0));
    Val count = is ? total(b, &d, ir_cast(b->f, is, DT_i64)) : 0;
    return finish(b, &d, call(b, any ? "lt" : "eq", build_integer(b, 0), count));
}

enum { MAX_FACTORS = 4096 }; /* each is an operation */

/* A balanced tree over slices: derivatives are zero-safe to every order. */
static Val product_of(Builder *b, Val x, int axis, int64_t from, int64_t count) {
    if (count > 1) {
        Val left = product_of(b, x, axis, from, count / 2);
        return call(b, "mul", left, product_of(b, x, axis, from + count / 2, count - count / 2));
    }
    int64_t ints[3 * MAX_RANK];
    const Type *t = type(b, x);
    for (int k = 0; k < t->rank; k++) {
        ints[3 * k] = k == axis ? from : 0;
        ints[3 * k + 1] = k == axis ? 1 : t->dim[k];
        ints[3 * k + 2] = 1;
    }
    return ir_slice(b->f, x, ints);
}

static Val lib_prod(Builder *b, const LibCall *c) {
    Fold d;
    if (!fold_args(b, c, &d)) return 0;
    if (d.count == 0) return finish(b, &d, call(b, "add", total(b, &d, d.x), build_integer(b, 1)));
    Val v = type(b, d.x)->dtype <= DT_i32 ? ir_cast(b->f, d.x, DT_i64) : d.x;
    Type shape = {0};
    for (int k = 0; v && k < type(b, d.x)->rank; k++) {
        int64_t n = type(b, d.x)->dim[k];
        if (!(d.axes >> k & 1)) shape.dim[shape.rank++] = n;
        else if (n > MAX_FACTORS)
            return build_fail(b, ST_UNSUPPORTED,
                              "prod over %lld elements of %s: up to %d are possible", (long long)n,
                              build_describe(b, d.x), MAX_FACTORS);
        else v = product_of(b, v, k, 0, n);
    }
    return v ? finish(b, &d, ir_reshape(b->f, v, shape.dim, shape.rank)) : 0;
}

/* The largest, 0 where it is not finite, so that x - it is never inf - inf. */
static Val shift(Builder *b, const Fold *d, Val x) {
    Val m = restore(b, d, largest(b, d, x));
    return select(b, call(b, "lt", call(b, "abs", m, 0), number(b, INFINITY)), m, number(b, 0));
}

/* Where every element is -inf: -inf, and no gradient, so log must not see the 0. */
static Val lib_logsumexp(Builder *b, const LibCall *c) {
    Fold d;
    if (!fold_args(b, c, &d) || !(d.x = build_float(b, d.x))) return 0;
    Val m = shift(b, &d, d.x), e = call(b, "exp", call(b, "sub", d.x, m), 0);
    Val s = restore(b, &d, total(b, &d, e)), none = call(b, "eq", s, number(b, 0));
    Val v = call(b, "add", call(b, "log", select(b, none, number(b, 1), s), 0), m);
    v = select(b, none, number(b, -INFINITY), v);
    if (!v || d.keep) return v;
    Type t = *type(b, total(b, &d, e));
    return ir_reshape(b->f, v, t.dim, t.rank);
}

static bool softmax_args(Builder *b, const LibCall *c, Fold *d) {
    int64_t ints[] = {1, c->num_ints ? c->ints[0] : -1};
    LibCall one = {c->name, c->args, c->num_args, ints, 2};
    if (!fold_args(b, &one, d)) return false;
    d->x = build_float(b, d->x);
    return d->x != 0;
}

static Val lib_softmax(Builder *b, const LibCall *c) {
    Fold d;
    if (!softmax_args(b, c, &d)) return 0;
    Val e = call(b, "exp", call(b, "sub", d.x, shift(b, &d, d.x)), 0);
    return call(b, "div", e, restore(b, &d, total(b, &d, e)));
}

static Val lib_log_softmax(Builder *b, const LibCall *c) {
    Fold d;
    if (!softmax_args(b, c, &d)) return 0;
    Val z = call(b, "sub", d.x, shift(b, &d, d.x));
    Val sum = restore(b, &d, total(b, &d, call(b, "exp", z, 0)));
    return call(b, "sub", z, call(b, "log", sum, 0));
}

/* Euclidean; its gradient at the origin is 0. */
static Val lib_norm(Builder *b, const LibCall *c) {
    Fold d;
    if (!fold_args(b, c, &d) || !(d.x = build_float(b, d.x))) return 0;
    Val square = total(b, &d, call(b, "mul", d.x, d.x));
    Val origin = call(b, "eq", square, number(b, 0));
    Val root = call(b, "sqrt", select(b, origin, number(b, 1), square), 0);
    return finish(b, &d, select(b, origin, number(b, 0), root));
}

/* ---- shapes ---- */

/* As it was asked for, the row axis included. */
static const char *shape_text(Builder *b, const LibCall *c) {
    Text t = {.arena = b->f->arena};
    text_put(&t, "(");
    for (uint32_t k = 0; k < c->num_ints; k++)
        text_putf(&t, k ? ", %lld" : "%lld", (long long)c->ints[k]);
    text_put(&t, c->num_ints == 1 ? ",)" : ")");
    return t.text;
}

/* ints as a feature shape: without the row axis, with at most one -1 filled in. */
static bool shape_args(Builder *b, const LibCall *c, Val x, bool broadcast, Type *out) {
    const Type *t = type(b, x);
    uint32_t rows = t->set != SET_ALL;
    if (rows && (c->num_ints == 0 || c->ints[0] >= 0)) {
        build_fail(b, ST_SHAPE, "%s of %s: the first extent is the row axis, write -1 there",
                   c->name, build_describe(b, x));
        return false;
    }
    if (c->num_ints - rows > MAX_RANK) {
        build_fail(b, ST_SHAPE, "%s: at most %d feature axes are possible", c->name, MAX_RANK);
        return false;
    }
    *out = type_of(DT_bool, SET_ALL, (int)(c->num_ints - rows), c->ints + rows);
    int64_t known = 1, hole = broadcast && out->rank < t->rank ? -2 : -1;
    for (int k = 0; k < out->rank; k++) {
        int own = broadcast ? k + t->rank - out->rank : -1; /* the axis of x that comes here */
        if (own >= 0 && out->dim[k] < 0) out->dim[k] = t->dim[own];
        bool fits = own < 0 || t->dim[own] == 1 || t->dim[own] == out->dim[k];
        if (out->dim[k] < 0 && hole == -1 && !broadcast) hole = k;
        else if (out->dim[k] < 0 || !fits || __builtin_mul_overflow(known, out->dim[k], &known))
            hole = -2;
    }
    int64_t n = type_numel(t);
    if (hole >= 0 && known > 0 && n % known == 0) out->dim[hole] = n / known;
    else if (hole != -1 || (!broadcast && known != n)) {
        build_fail(b, ST_SHAPE, "%s of %s to %s: %s", c->name, build_describe(b, x),
                   shape_text(b, c),
                   broadcast ? "no such shape" : "the numbers of elements differ");
        return false;
    }
    return true;
}

static Val lib_reshape(Builder *b, const LibCall *c) {
    Type t;
    Val x = build_strong(b, c->args[0]);
    return x && shape_args(b, c, x, false, &t) ? ir_reshape(b->f, x, t.dim, t.rank) : 0;
}

static Val lib_broadcast_to(Builder *b, const LibCall *c) {
    Type t;
    Val x = build_strong(b, c->args[0]);
    return x && shape_args(b, c, x, true, &t) ? ir_bcast(b->f, x, t.dim, t.rank) : 0;
}

static Val lib_permute(Builder *b, const LibCall *c) {
    int64_t axes[MAX_RANK];
    Val x = build_strong(b, c->args[0]);
    if (!x) return 0;
    uint32_t rows = type(b, x)->set != SET_ALL;
    if (c->num_ints != type(b, x)->rank + rows || (rows && c->ints[0] != 0))
        return build_fail(b, ST_SHAPE, "permute of %s: name every axis once%s",
                          build_describe(b, x), rows ? ", the row axis 0 first" : "");
    for (uint32_t k = rows; k < c->num_ints; k++) {
        int axis = build_axis(b, c->name, x, c->ints[k]);
        if (axis < 0) return 0;
        axes[k - rows] = axis;
    }
    return ir_transpose(b->f, x, axes);
}

/* Two axes exchanged, the last two where none is named; of every axis named (NumPy's way) permute. */
static Val lib_transpose(Builder *b, const LibCall *c) {
    int64_t axes[MAX_RANK];
    if (c->num_ints && c->num_ints != 2) return lib_permute(b, c);
    Val x = build_strong(b, c->args[0]);
    if (!x) return 0;
    int i = build_axis(b, c->name, x, c->num_ints == 2 ? c->ints[0] : -2);
    int j = i < 0 ? -1 : build_axis(b, c->name, x, c->num_ints == 2 ? c->ints[1] : -1);
    if (j < 0) return 0;
    for (int k = 0; k < type(b, x)->rank; k++) axes[k] = k == i ? j : k == j ? i : k;
    return ir_transpose(b->f, x, axes);
}

/* Without axes of extent 1: those named, else all. */
static Val lib_squeeze(Builder *b, const LibCall *c) {
    Val x = build_strong(b, c->args[0]);
    if (!x) return 0;
    Type t = *type(b, x), out = {0};
    bool gone[MAX_RANK] = {false};
    for (int k = 0; k < t.rank && !c->num_ints; k++) gone[k] = t.dim[k] == 1;
    for (uint32_t k = 0; k < c->num_ints; k++) {
        int axis = build_axis(b, c->name, x, c->ints[k]);
        if (axis < 0) return 0;
        if (t.dim[axis] != 1)
            return build_fail(b, ST_SHAPE, "squeeze of %s: axis %lld is not 1",
                              build_describe(b, x), (long long)c->ints[k]);
        gone[axis] = true;
    }
    for (int k = 0; k < t.rank; k++)
        if (!gone[k]) out.dim[out.rank++] = t.dim[k];
    return ir_reshape(b->f, x, out.dim, out.rank);
}

static Val add_axis(Builder *b, const char *what, Val x, int64_t axis) {
    const Type *t = type(b, x);
    int rows = t->set != SET_ALL;
    int64_t at = (axis < 0 ? axis + t->rank + 1 + rows : axis) - rows;
    if (at < 0 || at > t->rank || t->rank == MAX_RANK)
        return build_fail(b, ST_SHAPE, "%s: axis %lld is out of range for %s", what,
                          (long long)axis, build_describe(b, x));
    int64_t dim[MAX_RANK];
    for (int k = 0; k <= t->rank; k++) dim[k] = k == at ? 1 : t->dim[k < at ? k : k - 1];
    return ir_reshape(b->f, x, dim, t->rank + 1);
}

static Val lib_unsqueeze(Builder *b, const LibCall *c) {
    Val x = build_strong(b, c->args[0]);
    return x ? add_axis(b, c->name, x, c->num_ints ? c->ints[0] : -1) : 0;
}

static Val lib_flatten(Builder *b, const LibCall *c) {
    Val x = build_strong(b, c->args[0]);
    if (!x) return 0;
    int axis = type(b, x)->rank == 0 ? 0 : build_axis(b, c->name, x, c->num_ints ? c->ints[0] : 1);
    if (axis < 0) return 0;
    Type t = *type(b, x);
    int64_t n = 1;
    for (int k = axis; k < t.rank; k++) n *= t.dim[k];
    t.dim[axis] = n;
    return ir_reshape(b->f, x, t.dim, axis + 1);
}

/* Parts of one dtype on one set: a number, or a rank-0 stand-in, meets for dtype and place alone. */
static bool join_parts(Builder *b, const LibCall *c, Val *parts) {
    Val stand_in[64];
    if (c->num_args > 64)
        return build_fail(b, ST_UNSUPPORTED, "%s: more than 64 parts", c->name), false;
    Set set = SET_ALL;
    for (uint32_t k = 0; k < c->num_args; k++) {
        Type t = type_scalar((Dtype)type(b, c->args[k])->dtype, type(b, c->args[k])->set);
        stand_in[k] = build_is_weak(b, c->args[k]) ? c->args[k] : ir_const(b->f, t, 0);
        if (t.set != SET_ALL) set = t.set;
    }
    if (!build_meet(b, c->name, stand_in, c->num_args) ||
        !(stand_in[0] = build_strong(b, stand_in[0])))
        return false;
    for (uint32_t k = 0; k < c->num_args; k++)
        parts[k] =
            build_spread(b, build_cast(b, c->args[k], (Dtype)type(b, stand_in[0])->dtype), set);
    return !b->f->status;
}

/* Equal shapes but along the axis. */
static Val join(Builder *b, const LibCall *c, const Val *parts, int axis) {
    const Type *first = type(b, parts[0]);
    for (uint32_t k = 1; k < c->num_args; k++) {
        const Type *t = type(b, parts[k]);
        bool same = t->rank == first->rank;
        for (int i = 0; same && i < t->rank; i++) same = i == axis || t->dim[i] == first->dim[i];
        if (!same)
            return build_fail(b, ST_SHAPE, "%s: shapes differ beside the axis: %s, and %s", c->name,
                              build_describe(b, parts[0]), build_describe(b, parts[k]));
    }
    return ir_concat(b->f, parts, c->num_args, axis);
}

static Val lib_cat(Builder *b, const LibCall *c) {
    Val parts[64];
    if (!join_parts(b, c, parts)) return 0;
    int axis = build_axis(b, c->name, parts[0], c->num_ints ? c->ints[0] : -1);
    return axis < 0 ? 0 : join(b, c, parts, axis);
}

static Val lib_stack(Builder *b, const LibCall *c) {
    Val parts[64];
    int64_t axis = c->num_ints ? c->ints[0] : -1;
    if (!join_parts(b, c, parts)) return 0;
    for (uint32_t k = 0; k < c->num_args; k++)
        if (!(parts[k] = add_axis(b, c->name, parts[k], axis))) return 0;
    int at = build_axis(b, c->name, parts[0], axis);
    return at < 0 ? 0 : join(b, c, parts, at);
}

/* ---- matmul by NumPy's rule over feature shapes ---- */

/* Leading axes of both, joined, then each operand's last two. */
static bool broadcast_leading(Builder *b, Val *x, Val *y) {
    Type tx = *type(b, *x), ty = *type(b, *y);
    Type lx = type_of(DT_f32, SET_ALL, tx.rank - 2, tx.dim),
         ly = type_of(DT_f32, SET_ALL, ty.rank - 2, ty.dim);
    int rank = lx.rank > ly.rank ? lx.rank : ly.rank;
    int64_t dx[MAX_RANK], dy[MAX_RANK];
    for (int k = 1; k <= rank; k++) {
        int64_t a = k <= lx.rank ? lx.dim[lx.rank - k] : 1,
                c = k <= ly.rank ? ly.dim[ly.rank - k] : 1;
        if (a != c && a != 1 && c != 1) return false;
        dx[rank - k] = dy[rank - k] = a == 1 ? c : a;
    }
    for (int k = 0; k < 2; k++) {
        dx[rank + k] = tx.dim[tx.rank - 2 + k];
        dy[rank + k] = ty.dim[ty.rank - 2 + k];
    }
    *x = ir_bcast(b->f, *x, dx, rank + 2);
    *y = ir_bcast(b->f, *y, dy, rank + 2);
    return true;
}

/* [.., M, K] x [K, N] is one product of all the rows. */
static Val matmul_rows(Builder *b, Val x, Val y) {
    Type t = *type(b, x);
    int64_t rows = 1;
    for (int k = 0; k < t.rank - 1; k++) rows *= t.dim[k];
    int64_t flat[] = {rows, t.dim[t.rank - 1]};
    Val v = ir_matmul(b->f, ir_reshape(b->f, x, flat, 2), y);
    t.dim[t.rank - 1] = type(b, y)->dim[1];
    return v ? ir_reshape(b->f, v, t.dim, t.rank) : 0;
}

static Val lib_matmul(Builder *b, const LibCall *c) {
    Val x = build_strong(b, c->args[0]), y = build_strong(b, c->args[1]), pair[2];
    if (!x || !y) return 0;
    if (!type(b, x)->rank || !type(b, y)->rank)
        return build_fail(b, ST_SHAPE, "matmul needs a feature axis on both sides: %s, and %s",
                          build_describe(b, x), build_describe(b, y));
    if (!join_parts(b, &(LibCall){c->name, (Val[]){x, y}, 2, NULL, 0}, pair)) return 0;
    x = build_float(b, pair[0]), y = build_float(b, pair[1]);
    Type tx = *type(b, x), ty = *type(b, y);
    int64_t inner = ty.rank == 1 ? ty.dim[0] : ty.dim[ty.rank - 2];
    if (tx.dim[tx.rank - 1] != inner)
        return build_fail(b, ST_SHAPE, "matmul: inner extents differ: %s, and %s",
                          build_describe(b, x), build_describe(b, y));
    if (tx.rank == 1) x = ir_reshape(b->f, x, (int64_t[]){1, inner}, 2);
    if (ty.rank == 1) y = ir_reshape(b->f, y, (int64_t[]){inner, 1}, 2);
    Val v;
    if (type(b, y)->rank == 2)
        v = type(b, x)->rank == 2 ? ir_matmul(b->f, x, y) : matmul_rows(b, x, y);
    else if (broadcast_leading(b, &x, &y)) v = ir_matmul(b->f, x, y);
    else
        return build_fail(b, ST_SHAPE, "matmul: leading axes do not broadcast: %s, and %s",
                          build_describe(b, x), build_describe(b, y));
    if (!v) return 0;
    Type t = *type(b, v), out = t;
    out.rank = 0;
    for (int k = 0; k < t.rank; k++) {
        bool dropped = (tx.rank == 1 && k == t.rank - 2) || (ty.rank == 1 && k == t.rank - 1);
        if (!dropped) out.dim[out.rank++] = t.dim[k];
    }
    return ir_reshape(b->f, v, out.dim, out.rank);
}

/* ---- the table ---- */

static const LibEntry table[] = {
    {"cast", lib_cast, 1, 1, true},
    {"sum", lib_sum, 1, 1, true},
    {"mean", lib_mean, 1, 1, true},
    {"var", lib_var, 1, 1, true},
    {"std", lib_std, 1, 1, true},
    {"prod", lib_prod, 1, 1, true},
    {"max", lib_max, 1, 1, true},
    {"min", lib_min, 1, 1, true},
    {"any", lib_truth, 1, 1, true},
    {"all", lib_truth, 1, 1, true},
    {"logsumexp", lib_logsumexp, 1, 1, true},
    {"softmax", lib_softmax, 1, 1, true},
    {"log_softmax", lib_log_softmax, 1, 1, true},
    {"norm", lib_norm, 1, 1, true},
    {"reshape", lib_reshape, 1, 1, true},
    {"broadcast_to", lib_broadcast_to, 1, 1, true},
    {"expand", lib_broadcast_to, 1, 1, true},
    {"permute", lib_permute, 1, 1, true},
    {"transpose", lib_transpose, 1, 1, true},
    {"squeeze", lib_squeeze, 1, 1, true},
    {"unsqueeze", lib_unsqueeze, 1, 1, true},
    {"flatten", lib_flatten, 1, 1, true},
    {"slice", lib_slice, 1, 1, true},
    {"index", lib_index, 1, 1, true},
    {"take", lib_take, 2, 2, false},
    {"gather", lib_take, 2, 2, false},
    {"cumsum", lib_cumsum, 1, 1, true},
    {"cat", lib_cat, 1, 64, true},
    {"stack", lib_stack, 1, 64, true},
    {"matmul", lib_matmul, 2, 2, false},
};
enum { TABLE_SIZE = sizeof table / sizeof *table };

static const LibEntry *entry_at(size_t k) {
    if (k < lib_num_elementwise) return &lib_elementwise[k];
    k -= lib_num_elementwise;
    return k < TABLE_SIZE ? &table[k] : NULL;
}

bool lib_is_elementwise(const LibEntry *entry) {
    return entry >= lib_elementwise && entry < lib_elementwise + lib_num_elementwise;
}

const LibEntry *lib_find(const char *name) {
    for (size_t k = 0; entry_at(k); k++)
        if (!strcmp(entry_at(k)->name, name)) return entry_at(k);
    return NULL;
}

const char *lib_name(size_t k) { return entry_at(k) ? entry_at(k)->name : NULL; }
