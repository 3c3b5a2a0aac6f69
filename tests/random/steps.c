/* The decoder's steps: every operation of op.def can come of them. */
#include "decode.h"

#include "ir/type.h"

static Type type(const Decoder *d, Val v) { return *ir_type(d->f, v); }

static int64_t extent(Decoder *d) {
    static const int64_t usual[] = {1, 2, 3, 5, 7, 8, 16, 17, 33, 2, 4, 3, 1, 8, 2};
    enum { NUM_USUAL = sizeof usual / sizeof *usual };
    uint32_t k = decode_byte(d, 4 * NUM_USUAL + 1);
    return k == 4 * NUM_USUAL ? 0 : usual[k % NUM_USUAL];
}

/* A feature shape of at most max_numel elements. */
static int shape(Decoder *d, int64_t *dim) {
    static const uint8_t ranks[] = {0, 1, 1, 2, 1, 2, 3, 0, 1, 2, 4, 1};
    int rank = ranks[decode_byte(d, sizeof ranks)];
    int64_t numel = 1;
    for (int k = 0; k < rank; k++) {
        dim[k] = extent(d);
        if (numel * dim[k] > d->max_numel) dim[k] = 1;
        numel *= dim[k];
    }
    return rank;
}

static Dtype dtype(Decoder *d) {
    static const uint8_t usual[] = {DT_f32, DT_f32,  DT_f32, DT_f64, DT_i32,
                                    DT_i64, DT_bool, DT_f32, DT_f16, DT_bf16};
    Dtype t = usual[decode_byte(d, sizeof usual)];
    return dtype_is_float(t) && d->c->data == DATA_smooth ? DT_f64 : t;
}

static Set any_set(Decoder *d) {
    switch (decode_byte(d, 8)) {
    case 0: return SET_ALL;
    case 1:
    case 2:
    case 3: return fit_edges(d);
    case 4: return d->src;
    default: return decode_byte(d, 2) ? d->src : d->dst;
    }
}

static bool fits(const Decoder *d, const Type *t) { return type_numel(t) <= d->max_numel; }

/* ---- leaves ---- */

Val step_input(Decoder *d) {
    int64_t dim[MAX_RANK] = {0};
    Set s = any_set(d);
    Dtype t = dtype(d);
    int rank = shape(d, dim), dense = s != SET_ALL && decode_one_in(d, 8);
    for (int k = rank; dense && k > 0; k--) dim[k] = dim[k - 1];
    if (dense) dim[0] = dim_of(s);
    const char *name = arena_printf(d->f->arena, "x%u", d->num_inputs++);
    return ir_input(d->f, name, type_of(t, dense ? SET_ALL : s, rank + dense, dim));
}

static void new_input(Decoder *d) { decode_put(d, step_input(d), 2); }

static Val number(Decoder *d, Type t) {
    static const double values[] = {0, 1, -1, -0.0, 2, 3, 0.5, 1 / 3.0};
    return ir_const(d->f, t, values[decode_byte(d, d->c->data == DATA_whole ? 6 : 8)]);
}

static void constant(Decoder *d) {
    int64_t dim[MAX_RANK] = {0};
    Set s = any_set(d);
    Dtype t = dtype(d);
    int rank = shape(d, dim);
    decode_put(d, number(d, type_of(t, s, rank, dim)), 3);
}

static void degree(Decoder *d) {
    Set s = any_set(d);
    Val v = ir_degree(d->f, s == SET_ALL ? map_all(s) : fit_map_from(d, s));
    decode_put(d, v, 64);
    if (decode_byte(d, 2)) decode_put(d, fit_float(d, v), 64);
}

static void iota(Decoder *d) {
    Set s = any_set(d);
    if (s == SET_ALL) return;
    Val v = ir_iota(d->f, s);
    decode_put(d, v, 1000);
    if (decode_byte(d, 2)) decode_put(d, fit_float(d, v), 1000);
}

/* ---- elementwise ---- */

static const Op elem_ops[] = {
#define ELEM(op, ...) OP_##op,
#include "ir/op.def"
};
enum { NUM_ELEM = sizeof elem_ops / sizeof *elem_ops };

static bool is_in(Op op, const Op *list, size_t n) {
    while (n > 0 && list[n - 1] != op) n--;
    return n > 0;
}
#define IS_IN(op, ...) is_in(op, (const Op[]){__VA_ARGS__}, sizeof(Op[]){__VA_ARGS__} / sizeof(Op))

static bool is_rough(Op op) {
    return IS_IN(op, OP_exp, OP_expm1, OP_log, OP_log1p, OP_pow, OP_sin, OP_cos, OP_tanh, OP_erf,
                 OP_sqrt, OP_div);
}
static bool is_step(Op op) {
    return IS_IN(op, OP_floor, OP_ceil, OP_round, OP_sign, OP_floordiv, OP_mod, OP_order);
}

/* Whole numbers want few functions, smooth programs few steps. */
static Op elem_op(Decoder *d) {
    Op op = elem_ops[decode_byte(d, NUM_ELEM)];
    bool odd =
        (d->c->data == DATA_whole && is_rough(op)) || (d->c->data == DATA_smooth && is_step(op));
    return odd && decode_byte(d, 8) ? OP_mul : op;
}

static Dtype operand_dtype(Decoder *d, Op op, Val a) {
    Dtype t = (Dtype)ir_type(d->f, a)->dtype;
    switch ((Signature)op_info[op].signature) {
    case S_num:
        if (!dtype_is_float(t) && decode_byte(d, 2))
            return (Dtype)ir_type(d->f, fit_float(d, a))->dtype;
        return t == DT_bool ? DT_i64 : t;
    case S_flt:
    case S_test:
    case S_key: return (Dtype)ir_type(d->f, fit_float(d, a))->dtype;
    case S_bit: return dtype_is_float(t) ? (decode_byte(d, 2) ? DT_bool : DT_i32) : t;
    case S_cmp:
    case S_sel: return t;
    }
    TIGA_UNREACHABLE("no such signature");
}

/* Keeps log, sqrt, division and bases of powers away from their poles: always in smooth programs, else
 * at times. */
static Val in_domain(Decoder *d, Op op, Val v) {
    bool guarded = IS_IN(op, OP_log, OP_log1p, OP_sqrt, OP_div, OP_pow);
    if (!guarded || (d->c->data != DATA_smooth && decode_byte(d, 4) == 0)) return v;
    return ir_add(d->f, ir_mul(d->f, v, v), ir_const_like(d->f, v, 1));
}

static double elem_size(Op op, const double *size, uint32_t n) {
    double sum = 0, product = 1;
    for (uint32_t k = 0; k < n; k++) sum += size[k], product *= size[k];
    if (op == OP_mul) return product;
    if (op == OP_fma) return size[0] * size[1] + size[2];
    return IS_IN(op, OP_tanh, OP_sign, OP_erf) ? 1 : op == OP_pow ? size[0] : sum;
}

/* Small arguments where results grow fast (exp, exponents) or vary fast (sines of large angles). */
static void hold(Decoder *d, Op op, Val *args, double *size) {
    bool grows = op == OP_exp || op == OP_expm1, turns = op == OP_sin || op == OP_cos;
    if ((grows && size[0] > 8) || (turns && size[0] > 1000)) {
        args[0] = ir_tanh(d->f, args[0]);
        size[0] = 1;
    }
    if (op == OP_pow) {
        args[1] = ir_tanh(d->f, args[1]);
        size[0] = size[0] * size[0] + 1;
    }
    if (grows) size[0] = 3000;
}

static void elementwise(Decoder *d) {
    Op op = elem_op(d);
    Val a = decode_pick(d), args[4];
    double size[4] = {0};
    uint32_t n = (uint32_t)op_info[op].arity, sel = op == OP_where;
    if (op_info[op].traits & NARY) n += decode_byte(d, 8) / 3;
    Type t = type(d, a);
    if (decode_one_in(d, 3) && (t.set == SET_ALL || !fit_is_edges(d, t.set))) t.set = fit_edges(d);
    t.dtype = (uint8_t)dtype_computed(operand_dtype(d, op, a));
    for (uint32_t k = 0; k < n; k++) {
        Type mine = sel && k == 0 ? type_with_dtype(t, DT_bool) : t;
        Val v = k == sel ? a : decode_one_in(d, 5) ? number(d, mine) : decode_pick(d);
        size[k] = decode_size(d, v);
        args[k] = fit_like(d, v, &mine);
    }
    hold(d, op, args, size);
    Val *last = &args[op == OP_pow ? 0 : n - 1];
    *last = in_domain(d, op, *last);
    decode_put(d, ir_emit(d->f, op, args, n, NULL), elem_size(op, size, n));
}

/* ---- features ---- */

static void cast(Decoder *d) {
    Val v = decode_pick(d);
    decode_put(d, fit_dtype(d, v, dtype(d)), decode_size(d, v));
}

static void bcast(Decoder *d) {
    Val v = decode_pick(d);
    Type t = type(d, v);
    int grow = t.rank < 5 ? (int)decode_byte(d, 2) : 0;
    for (int k = t.rank; grow && k > 0; k--) t.dim[k] = t.dim[k - 1];
    t.rank = (uint8_t)(t.rank + grow);
    if (grow) t.dim[0] = extent(d);
    for (int k = 0; k < t.rank; k++)
        if (t.dim[k] == 1) t.dim[k] = extent(d);
    if (fits(d, &t)) decode_put(d, ir_bcast(d->f, v, t.dim, t.rank), decode_size(d, v));
}

static void reshape(Decoder *d) {
    Val v = decode_pick(d);
    const Type t = type(d, v);
    int64_t n = type_numel(&t), dim[MAX_RANK] = {0}, left = n;
    int rank = 0;
    for (int64_t factor = 2; n > 0 && left > 1 && rank < 4; factor++)
        while (left % factor == 0 && rank < 4) {
            if (rank && decode_byte(d, 2)) dim[rank - 1] *= factor;
            else dim[rank++] = factor;
            left /= factor;
        }
    if (n == 0) dim[rank++] = 0;
    else if (left > 1 || decode_one_in(d, 3)) dim[rank++] = left;
    decode_put(d, ir_reshape(d->f, v, dim, rank), decode_size(d, v));
}

static void permutation(Decoder *d, int rank, int64_t *axes) {
    for (int k = 0; k < rank; k++) axes[k] = k;
    for (int k = rank - 1; k > 0; k--) {
        uint32_t j = decode_byte(d, (uint32_t)k + 1);
        int64_t other = axes[k];
        axes[k] = axes[j];
        axes[j] = other;
    }
}

static void transpose(Decoder *d) {
    Val v = decode_pick(d);
    int64_t axes[MAX_RANK];
    permutation(d, ir_type(d->f, v)->rank, axes);
    decode_put(d, ir_transpose(d->f, v, axes), decode_size(d, v));
}

static void slice(Decoder *d) {
    Val v = decode_pick(d);
    const Type t = type(d, v);
    int64_t ints[3 * MAX_RANK];
    for (int k = 0; k < t.rank; k++) {
        int64_t *p = ints + 3 * k, n = t.dim[k];
        p[0] = n ? decode_byte(d, (uint32_t)n) : 0;
        p[2] = 1 + decode_byte(d, 3);
        int64_t most = n ? (n - p[0] + p[2] - 1) / p[2] : 0;
        p[1] = most - decode_byte(d, 16) % (most + 1);
    }
    decode_put(d, ir_slice(d->f, v, ints), decode_size(d, v));
}

static void pad(Decoder *d) {
    Val v = decode_pick(d);
    const Type t = type(d, v);
    int64_t ints[3 * MAX_RANK], numel = 1;
    for (int k = 0; k < t.rank; k++) {
        int64_t *p = ints + 3 * k, n = t.dim[k];
        p[0] = decode_byte(d, 4) / 2;
        p[1] = decode_byte(d, 4) / 2;
        p[2] = decode_byte(d, 5) / 3;
        numel *= p[0] + p[1] + n + (n > 0 ? (n - 1) * p[2] : 0);
    }
    if (numel <= d->max_numel) decode_put(d, ir_pad(d->f, v, ints), decode_size(d, v));
}

static void concat(Decoder *d) {
    Val parts[3], v = decode_pick(d);
    const Type t = type(d, v);
    uint32_t n = 2 + decode_one_in(d, 4);
    double size = decode_size(d, v);
    if (t.rank == 0 || type_numel(&t) * n > d->max_numel) return;
    uint32_t axis = decode_byte(d, t.rank);
    for (uint32_t k = 0; k < n; k++) {
        Val part = k ? decode_pick(d) : v;
        if (decode_size(d, part) > size) size = decode_size(d, part);
        parts[k] = fit_like(d, part, &t);
    }
    decode_put(d, ir_concat(d->f, parts, n, (int)axis), size);
}

static void feature_fold(Decoder *d) {
    Val v = fit_number(d, decode_pick(d));
    const Type t = type(d, v);
    uint32_t axes = decode_byte(d, 1u << t.rank);
    if (axes == 0) axes = (1u << t.rank) - 1;
    double size = decode_size(d, v);
    if (decode_one_in(d, 3)) decode_put(d, ir_fmax(d->f, v, axes), size);
    else decode_put(d, ir_fsum(d->f, v, axes), size * (double)(type_numel(&t) + 1));
}

static void cumsum(Decoder *d) {
    Val v = fit_number(d, decode_pick(d));
    const Type t = type(d, v);
    if (t.rank == 0) return;
    uint32_t axis = decode_byte(d, t.rank);
    double size = decode_size(d, v) * (double)(t.dim[axis] + 1);
    decode_put(d, ir_cumsum(d->f, v, (int)axis, decode_byte(d, 2)), size);
}

/* Any value as indices below rows. */
static Val indices(Decoder *d, Val v, int64_t rows, Set s) {
    Type t = type(d, v);
    int64_t one = 1;
    if (type_numel(&t) > 32) v = fit_shape(d, v, 0, &one);
    v = fit_set(d, fit_dtype(d, v, decode_byte(d, 2) ? DT_i32 : DT_i64), s);
    return ir_mod(d->f, v, ir_const_like(d->f, v, (double)rows));
}

/* Rows of a parameter, or of another value on a set: what a table has no room for is left. */
static void take(Decoder *d) {
    Val v = decode_pick(d), table = decode_pick(d);
    Set s = ir_type(d->f, v)->set;
    double size = 2;
    if (decode_byte(d, 3)) {
        int64_t dim[MAX_RANK] = {1 + decode_byte(d, 9)};
        int rank = 1;
        while (rank < 3 && decode_byte(d, 2)) dim[rank++] = extent(d);
        const char *name = arena_printf(d->f->arena, "x%u", d->num_inputs++);
        table = ir_input(d->f, name, type_of(dtype(d), SET_ALL, rank, dim));
    } else {
        size = decode_size(d, table);
    }
    if (s == SET_ALL || (ir_type(d->f, table)->set != SET_ALL && decode_byte(d, 2)))
        s = ir_type(d->f, table)->set;
    table = fit_set(d, table, s);
    Type t = type(d, table);
    if (t.rank == 0 || t.rank > 3 || t.dim[0] == 0) return;
    Val index = indices(d, v, t.dim[0], s);
    if (ir_type(d->f, index)->rank + t.rank > 6) return;
    if (type_numel(ir_type(d->f, index)) * type_numel(&t) / t.dim[0] > d->max_numel) return;
    decode_put(d, ir_take(d->f, table, index), size);
}

static void put(Decoder *d) {
    Val g = fit_number(d, decode_pick(d)), v = decode_pick(d);
    const Type t = type(d, g);
    int64_t rows = 1 + decode_byte(d, 5), n = type_numel(&t);
    int rank = t.rank ? (int)decode_byte(d, t.rank) : 0;
    int64_t count = 1;
    for (int k = 0; k < rank; k++) count *= t.dim[k];
    if (n && n / count * rows > d->max_numel) return;
    double size = decode_size(d, g) * (double)(count + 1);
    Val index = fit_shape(d, fit_dtype(d, v, DT_i32), rank, t.dim);
    decode_put(d, ir_put(d->f, indices(d, index, rows, t.set), g, rows), size);
}

/* Rows times a parameter, or a product of two values on one set. */
static void matmul(Decoder *d) {
    static const int64_t extents[] = {1, 2, 3, 4, 5, 8, 16, 17};
    Val a = fit_float(d, decode_pick(d));
    Type t = type(d, a);
    int64_t n = extents[decode_byte(d, 8)], most = d->max_numel;
    bool row = t.rank < 2 || decode_byte(d, 4);
    if (row) {
        int64_t k = type_numel(&t);
        if (k > 64 || k * n > 8 * most) return;
        a = ir_reshape(d->f, a, (int64_t[]){1, k}, 2);
    } else if (t.rank > 3 || t.dim[t.rank - 1] * n > 8 * most || type_numel(&t) * n > 16 * most) {
        return;
    }
    t = type(d, a);
    double size = decode_size(d, a) * 4 * (double)(t.dim[t.rank - 1] + 1);
    t.dim[t.rank - 2] = t.dim[t.rank - 1];
    t.dim[t.rank - 1] = n;
    Val w;
    if (decode_one_in(d, 4)) {
        w = fit_like(d, decode_pick(d), &t);
    } else {
        const char *name = arena_printf(d->f->arena, "x%u", d->num_inputs++);
        w = ir_gather(d->f, ir_input(d->f, name, type_with_set(t, SET_ALL)), map_all(t.set));
    }
    Val y = ir_matmul(d->f, a, w);
    if (row) y = ir_reshape(d->f, y, &n, 1);
    decode_put(d, y, size);
}

/* ---- along maps ---- */

static void gather(Decoder *d) {
    Val v = decode_pick(d);
    double size = decode_size(d, v);
    Set s = ir_type(d->f, v)->set == SET_ALL ? any_set(d) : fit_edges(d);
    decode_put(d, fit_set(d, v, s), size);
}

/* A value that a map starts from: on edges most of the time. */
static Val start(Decoder *d, double *size) {
    Val v = decode_pick(d);
    *size = decode_size(d, v);
    v = fit_computed(d, v);
    Set s = ir_type(d->f, v)->set;
    if (s == SET_ALL || (!fit_is_edges(d, s) && decode_byte(d, 4))) v = fit_set(d, v, fit_edges(d));
    return v;
}

static void reduce(Decoder *d) {
    double size;
    Val v = start(d, &size);
    decode_put(d, ir_reduce(d->f, v, fit_map_from(d, ir_type(d->f, v)->set)), size * 40);
}

static void rmax(Decoder *d) {
    double size;
    Val v = fit_number(d, start(d, &size));
    v = ir_rmax(d->f, v, fit_map_from(d, ir_type(d->f, v)->set));
    if (decode_one_in(d, 3)) decode_put(d, ir_part(d->f, v, 1), 8);
    decode_put(d, ir_part(d->f, v, 0), size);
}

/* Its weights are no whole numbers: rare where those are wanted. */
static void softmax(Decoder *d) {
    double size;
    if (d->c->data == DATA_whole && decode_byte(d, 6)) {
        reduce(d);
        return;
    }
    Val v = fit_float(d, start(d, &size));
    Type t = type(d, v);
    for (int k = 0; k < t.rank; k++)
        if (decode_byte(d, 2)) t.dim[k] = 1;
    Val s = fit_like(d, decode_pick(d), &t);
    Val both = ir_softmax(d->f, s, v, fit_map_from(d, t.set));
    if (decode_one_in(d, 3)) decode_put(d, ir_logsumexp(d->f, both), 16);
    decode_put(d, ir_part(d->f, both, 0), size);
}

/* ---- scans ---- */

/* What the body does to a state s with x and y; results stay about as large as its operands. */
static Val body_step(Fn *f, uint32_t kind, Val s, Val x, Val y) {
    Val half = ir_const_like(f, s, 0.5);
    switch (kind) {
    case 0: return ir_add(f, s, x);
    case 1: return ir_max(f, s, ir_sub(f, x, y));
    case 2: return ir_where(f, ir_lt(f, s, y), ir_add(f, x, s), ir_mul(f, s, half));
    case 3: return ir_tanh(f, ir_add(f, ir_mul(f, s, x), y));
    case 4: return ir_fma(f, s, half, ir_mul(f, x, y));
    default: return ir_min(f, ir_neg(f, s), y);
    }
}

/* Two states, the second of which may count in another dtype; the states before and a product on the
 * way. */
static Fn *scan_body(Decoder *d, Dtype t, bool counts, bool gives) {
    Fn *f = ir_new(d->f->arena, "body");
    Type scalar = type_scalar(t, SET_ALL), other = counts ? type_scalar(DT_i64, SET_ALL) : scalar;
    Val s = ir_input(f, "s", scalar), n = ir_input(f, "n", other);
    Val x = ir_input(f, "x", scalar), y = ir_input(f, "y", scalar);
    Val next =
        counts ? ir_add(f, n, ir_const(f, other, 1)) : body_step(f, decode_byte(d, 6), n, s, x);
    ir_add_result(f, "s", body_step(f, decode_byte(d, 6), s, x, y));
    ir_add_result(f, "n", next);
    if (gives) ir_add_result(f, "before", s);
    if (gives && decode_byte(d, 2))
        ir_add_result(f, "made", ir_mul(f, ir_tanh(f, s), counts ? ir_cast(f, n, t) : y));
    return f;
}

/* A state and its merge: sums and products of two states. */
static Fn *tree_body(Decoder *d, Dtype t) {
    Fn *f = ir_new(d->f->arena, "body");
    Type scalar = type_scalar(t, SET_ALL);
    Val a = ir_input(f, "a", scalar), b = ir_input(f, "b", scalar);
    Val x = ir_input(f, "x", scalar), y = ir_input(f, "y", scalar);
    ir_add_result(f, "a", ir_add(f, a, x));
    ir_add_result(f, "b", decode_byte(d, 2) ? ir_max(f, ir_add(f, b, a), y) : ir_add(f, b, y));
    return f;
}

static void row_scan(Decoder *d) {
    double size;
    Val x = fit_float(d, start(d, &size));
    Type t = type(d, x);
    if (t.set == SET_ALL) return;
    Map m = fit_map_from(d, t.set);
    for (int r = 0; map_is_all(m) && fit_is_edges(d, t.set); r++)
        if (d->f->relations.data[r].edges == t.set) m = map_dst(r);
    bool tree = decode_one_in(d, 4), counts = !tree && decode_one_in(d, 3);
    bool gives = !tree && decode_byte(d, 2);
    int flags = tree ? SCAN_tree : decode_byte(d, 2) ? SCAN_reverse : 0;
    Type row = type_with_set(t, map_to(d->f, m));
    Type second = counts ? type_with_dtype(row, DT_i64) : row;
    Fn *body = tree ? tree_body(d, (Dtype)t.dtype) : scan_body(d, (Dtype)t.dtype, counts, gives);
    Val operands[] = {fit_like(d, decode_pick(d), &row), fit_like(d, decode_pick(d), &second), x,
                      fit_like(d, decode_pick(d), &t)};
    Val v = ir_row_scan(d->f, &(Scan){m, flags, 2, 2, body}, operands);
    for (uint32_t k = 0; k < body->results.len; k++)
        if (k % 2 == 0 || decode_byte(d, 2))
            decode_put(d, ir_part(d->f, v, k), size * size * 40 + 40);
}

/* ---- dense values whose axis is a set's extent ---- */

static Val dense_value(Decoder *d) {
    Val v = d->pool.data[decode_byte(d, d->pool.len)];
    if (fit_has_extent(ir_type(d->f, v))) return v;
    v = fit_plain(d, v);
    if (ir_type(d->f, v)->set == SET_ALL) v = fit_set(d, v, d->dst);
    return ir_type(d->f, v)->rank < 5 ? ir_leave(d->f, v) : 0;
}

static Val dense_move(Decoder *d, Val v) {
    const Type t = type(d, v);
    int64_t ints[3 * MAX_RANK];
    switch (decode_byte(d, 4)) {
    case 0: permutation(d, t.rank, ints); return ir_transpose(d->f, v, ints);
    case 1:
        for (int k = 0; k < t.rank; k++) {
            bool keep = dim_is_set(t.dim[k]) || t.dim[k] < 2;
            ints[3 * k] = !keep, ints[3 * k + 1] = t.dim[k] - !keep, ints[3 * k + 2] = 1;
        }
        return ir_slice(d->f, v, ints);
    case 2:
        for (int k = 0; k < t.rank; k++) {
            bool keep = dim_is_set(t.dim[k]);
            ints[3 * k] = !keep, ints[3 * k + 1] = 0, ints[3 * k + 2] = 0;
        }
        return ir_pad(d->f, v, ints);
    default: break;
    }
    uint32_t axis = decode_byte(d, t.rank);
    if (!dim_is_set(t.dim[axis]) && t.dtype != DT_bool && decode_byte(d, 2))
        return ir_cumsum(d->f, fit_computed(d, v), (int)axis, axis & 1);
    return dim_is_set(t.dim[axis]) ? ir_neg(d->f, fit_number(d, v))
                                   : ir_concat(d->f, (Val[]){v, v}, 2, (int)axis);
}

static Val dense_product(Decoder *d, Val v) {
    Type t = type(d, v = fit_float(d, v));
    if (t.rank != 2 || dim_is_set(t.dim[1])) return ir_add(d->f, v, ir_tanh(d->f, v));
    Val turned = ir_transpose(d->f, v, (int64_t[]){1, 0});
    if (decode_one_in(d, 3)) return ir_matmul(d->f, turned, v);
    const char *name = arena_printf(d->f->arena, "x%u", d->num_inputs++);
    int64_t dim[] = {t.dim[1], 3};
    Val w = ir_input(d->f, name, type_of((Dtype)t.dtype, SET_ALL, 2, dim));
    if (decode_byte(d, 2)) return ir_matmul(d->f, v, w);
    return ir_matmul(d->f, ir_transpose(d->f, w, (int64_t[]){1, 0}), turned);
}

static Val dense_fold(Decoder *d, Val v) {
    const Type t = type(d, v = fit_number(d, v));
    uint32_t axes = decode_byte(d, 1u << t.rank);
    return decode_one_in(d, 3) ? ir_fmax(d->f, v, axes) : ir_fsum(d->f, v, axes);
}

static Val dense_spread(Decoder *d, Val v) {
    Type t = type(d, v = fit_computed(d, v));
    t.dim[0] = t.rank && !dim_is_set(t.dim[0]) ? t.dim[0] : 1;
    const char *name = arena_printf(d->f->arena, "x%u", d->num_inputs++);
    for (int k = 0; k < t.rank; k++)
        if (dim_is_set(t.dim[k])) t.dim[k] = 1;
    Val b = ir_input(d->f, name, t);
    b = ir_bcast(d->f, b, ir_type(d->f, v)->dim, t.rank);
    return t.dtype == DT_bool ? ir_xor(d->f, v, b) : ir_max(d->f, v, b);
}

static void dense(Decoder *d) {
    Val v = dense_value(d);
    if (!v) return;
    if (ir_type(d->f, v)->set != SET_ALL || !fit_has_extent(ir_type(d->f, v))) return;
    switch (decode_byte(d, 5)) {
    case 0: v = dense_move(d, v); break;
    case 1: v = dense_product(d, v); break;
    case 2: v = dense_fold(d, v); break;
    case 3: v = dense_spread(d, v); break;
    default: break;
    }
    Type features = type(d, v);
    for (int k = 0; k < features.rank; k++)
        if (dim_is_set(features.dim[k])) features.dim[k] = 1;
    if (fits(d, &features)) decode_put(d, v, 60);
}

/* ---- choice ---- */

void step_any(Decoder *d) {
    static void (*const steps[])(Decoder *) = {
        elementwise, elementwise, elementwise, elementwise,  elementwise, elementwise, gather,
        gather,      reduce,      reduce,      reduce,       rmax,        softmax,     matmul,
        cast,        bcast,       reshape,     transpose,    slice,       pad,         concat,
        degree,      new_input,   constant,    feature_fold, dense,       matmul,      feature_fold,
        new_input,   elementwise, reduce,      softmax,      iota,        cumsum,      row_scan,
        row_scan,    take,        put,         take,
    };
    steps[decode_byte(d, sizeof steps / sizeof *steps)](d);
    TIGA_ASSERT(!d->f->status);
}
