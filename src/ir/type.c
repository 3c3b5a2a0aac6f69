/* Type inference: one function an operation class, one message form for every fault. */
#include "ir/type.h"

#include <string.h>

#define MAX_ELEMENTS ((int64_t)1 << 40)

static const char *const names[NUM_DTYPES][2] = {
    {"i1", "bool"},     {"i32", "int32"},   {"i64", "int64"},    {"f32", "float32"},
    {"f64", "float64"}, {"f16", "float16"}, {"bf16", "bfloat16"}};
const char *dtype_name(Dtype t) { return names[t][0]; }
const char *dtype_user_name(Dtype t) { return names[t][1]; }

Type type_of(Dtype dtype, Set set, int rank, const int64_t *dim) {
    Type t = {.dtype = (uint8_t)dtype, .rank = (uint8_t)rank, .set = set};
    for (int k = 0; k < rank; k++) t.dim[k] = dim[k];
    return t;
}

Type type_scalar(Dtype dtype, Set set) { return type_of(dtype, set, 0, NULL); }

Type type_with_set(Type t, Set s) {
    t.set = s;
    return t;
}

Type type_with_dtype(Type t, Dtype d) {
    t.dtype = (uint8_t)d;
    return t;
}

bool type_same_shape(const Type *a, const Type *b) {
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

bool type_equal(const Type *a, const Type *b) {
    return a->dtype == b->dtype && a->set == b->set && type_same_shape(a, b);
}

int64_t type_numel(const Type *t) {
    int64_t n = 1;
    for (int k = 0; k < t->rank; k++)
        if (dim_is_set(t->dim[k])) return -1;
    for (int k = 0; k < t->rank; k++)
        if (t->dim[k] == 0) return 0;
    for (int k = 0; k < t->rank; k++)
        if (__builtin_mul_overflow(n, t->dim[k], &n)) return INT64_MAX;
    return n;
}

static const char *extent_fault(const Fn *f, const Type *t, int k) {
    if (k >= t->rank) return t->dim[k] ? "an extent past the rank" : NULL;
    if (!dim_is_set(t->dim[k])) return NULL;
    if (t->set != SET_ALL) return "a set's extent stands on `all` only";
    if (t->dim[k] < dim_of((Set)(f->sets.len - 1))) return "no such set";
    return t->dim[k] == dim_of(SET_ALL) ? "the extent of `all` is 1" : NULL;
}

/* Bytes and costs of a row stay far from overflow, as do products of some of its extents; extents of
 * sets and of 0 count as 1. */
static bool is_too_large(const Type *t) {
    int64_t n = 1;
    bool over = false;
    for (int k = 0; k < t->rank; k++)
        if (t->dim[k] > 0) over |= __builtin_mul_overflow(n, t->dim[k], &n);
    return over || n > MAX_ELEMENTS;
}

const char *type_fault(const Fn *f, const Type *t) {
    if (t->dtype >= NUM_DTYPES) return "no such dtype";
    if (t->rank > MAX_RANK) return "more than 8 axes";
    if (t->set >= f->sets.len) return "no such set";
    for (int k = 0; k < MAX_RANK; k++) {
        const char *why = extent_fault(f, t, k);
        if (why) return why;
    }
    return is_too_large(t) ? "more than 2^40 elements" : NULL;
}

const char *type_text(Arena *a, const Fn *f, const Type *t) {
    Text out = {.arena = a};
    text_putf(&out, "%s @ %s", dtype_name((Dtype)t->dtype), f->sets.data[t->set].name);
    for (int k = 0; k < t->rank; k++) {
        text_put(&out, k ? ", " : " [");
        if (dim_is_set(t->dim[k])) text_put(&out, f->sets.data[dim_set(t->dim[k])].name);
        else text_putf(&out, "%lld", (long long)t->dim[k]);
    }
    if (t->rank) text_put(&out, "]");
    return out.text;
}

bool map_exists(const Fn *f, Map m) {
    if (m == MAP_NONE) return false;
    if (map_is_all(m)) return (uint32_t)(-1 - m) < f->sets.len;
    return (uint32_t)map_relation(m) < f->relations.len;
}

/* ---- inference ---- */

typedef struct {
    const Fn *f;
    Op op;
    const Val *args;
    uint32_t num_args;
    const Attr *attr;
    Type *out;
} Infer;

static const Type *arg(const Infer *q, uint32_t k) { return ir_type(q->f, q->args[k]); }

/* "reduce of f32 @ V [3], i1 @ V: <why>" */
static Status fault(const Infer *q, Status status, const char *why) {
    Text text = {.arena = q->f->arena};
    text_putf(&text, "%s", op_info[q->op].name);
    for (uint32_t k = 0; k < q->num_args && k < 8; k++) {
        text_put(&text, k ? ", " : " of ");
        text_put(&text, type_text(q->f->arena, q->f, arg(q, k)));
    }
    return err_set(status, "%s: %s", text.text, why);
}

static Status same_place(const Infer *q) {
    for (uint32_t k = 1; k < q->num_args; k++) {
        if (arg(q, k)->set != arg(q, 0)->set)
            return fault(q, ST_SHAPE, "operands live on different sets (gather one first)");
        if (!type_same_shape(arg(q, k), arg(q, 0)))
            return fault(q, ST_SHAPE, "feature shapes differ");
    }
    return ST_OK;
}

static Status infer_elem(const Infer *q) {
    Status st = same_place(q);
    if (st) return st;
    Signature sig = (Signature)op_info[q->op].signature;
    Dtype d = (Dtype)arg(q, sig == S_sel ? 1 : 0)->dtype;
    for (uint32_t k = sig == S_sel ? 1 : 0; k < q->num_args; k++)
        if (arg(q, k)->dtype != d) return fault(q, ST_TYPE, "dtypes differ");
    bool wrong = (sig == S_num && d == DT_bool) ||
                 ((sig == S_flt || sig == S_test || sig == S_key) && !dtype_is_float(d)) ||
                 (sig == S_bit && dtype_is_float(d)) ||
                 (sig == S_sel && arg(q, 0)->dtype != DT_bool);
    if (wrong) return fault(q, ST_TYPE, "not defined for this dtype");
    if (sig == S_cmp || sig == S_test) d = DT_bool;
    if (sig == S_key) d = d == DT_f64 ? DT_i64 : DT_i32;
    *q->out = type_with_dtype(*arg(q, 0), d);
    return ST_OK;
}

static bool is_axis_list(const Infer *q) {
    for (uint32_t k = 0; k < q->attr->num_ints; k++) {
        int64_t axis = q->attr->ints[k];
        if (axis < 0 || axis >= arg(q, 0)->rank) return false;
        if (k && axis <= q->attr->ints[k - 1]) return false;
    }
    return true;
}

static Status infer_bcast(const Infer *q) {
    const Type *from = arg(q, 0), *to = &q->attr->type;
    const char *why = type_fault(q->f, to);
    if (why) return fault(q, ST_SHAPE, why);
    int shift = to->rank - from->rank;
    if (shift < 0) return fault(q, ST_SHAPE, "cannot broadcast to a lower rank");
    for (int k = 0; k < from->rank; k++)
        if (from->dim[k] != 1 && from->dim[k] != to->dim[k + shift])
            return fault(q, ST_SHAPE, "does not broadcast to the shape asked for");
    *q->out = type_of((Dtype)from->dtype, from->set, to->rank, to->dim);
    return ST_OK;
}

/* Extents of sets must stand in the same order on both sides; the rest must multiply to the same,
 * and to something that can be counted. */
static bool reshape_fits(const Type *from, const Type *to) {
    Type a = {.rank = from->rank}, b = {.rank = to->rank};
    int j = 0;
    for (int k = 0; k < from->rank; k++) {
        a.dim[k] = dim_is_set(from->dim[k]) ? 1 : from->dim[k];
        if (!dim_is_set(from->dim[k])) continue;
        while (j < to->rank && !dim_is_set(to->dim[j])) j++;
        if (j == to->rank || to->dim[j++] != from->dim[k]) return false;
    }
    for (; j < to->rank; j++)
        if (dim_is_set(to->dim[j])) return false;
    for (int k = 0; k < to->rank; k++) b.dim[k] = dim_is_set(to->dim[k]) ? 1 : to->dim[k];
    return type_numel(&a) == type_numel(&b) && type_numel(&a) < INT64_MAX;
}

static Status infer_reshape(const Infer *q) {
    const char *why = type_fault(q->f, &q->attr->type);
    if (why) return fault(q, ST_SHAPE, why);
    if (!reshape_fits(arg(q, 0), &q->attr->type))
        return fault(q, ST_SHAPE, "cannot reshape to another number of elements");
    *q->out =
        type_of((Dtype)arg(q, 0)->dtype, arg(q, 0)->set, q->attr->type.rank, q->attr->type.dim);
    return ST_OK;
}

static Status infer_transpose(const Infer *q) {
    const Type *from = arg(q, 0);
    uint32_t seen = 0;
    *q->out = *from;
    if (q->attr->num_ints != from->rank) return fault(q, ST_SHAPE, "one axis for each is needed");
    for (int k = 0; k < from->rank; k++) {
        int64_t axis = q->attr->ints[k];
        if (axis < 0 || axis >= from->rank || seen >> axis & 1)
            return fault(q, ST_SHAPE, "axes are not a permutation");
        seen |= 1u << axis;
        q->out->dim[k] = from->dim[axis];
    }
    return ST_OK;
}

static Status infer_slice(const Infer *q) {
    const Type *from = arg(q, 0);
    *q->out = *from;
    if (q->attr->num_ints != 3u * from->rank)
        return fault(q, ST_SHAPE, "start, count, step an axis");
    for (int k = 0; k < from->rank; k++) {
        const int64_t *p = q->attr->ints + 3 * k; /* start, count, step */
        if (dim_is_set(from->dim[k])) {
            if (p[0] != 0 || p[1] != from->dim[k] || p[2] != 1)
                return fault(q, ST_SHAPE, "an axis that is a set's extent cannot be sliced");
            continue;
        }
        bool bad =
            p[0] < 0 || p[1] < 0 || p[2] < 1 ||
            (p[1] > 0 && (p[1] - 1 > (from->dim[k] - 1 - p[0]) / p[2] || p[0] >= from->dim[k]));
        if (bad) return fault(q, ST_SHAPE, "slice reaches outside the operand");
        q->out->dim[k] = p[1];
    }
    return ST_OK;
}

static Status infer_pad(const Infer *q) {
    const Type *from = arg(q, 0);
    *q->out = *from;
    if (q->attr->num_ints != 3u * from->rank)
        return fault(q, ST_SHAPE, "low, high, interior an axis");
    for (int k = 0; k < from->rank; k++) {
        const int64_t *p = q->attr->ints + 3 * k;
        if (p[0] < 0 || p[1] < 0 || p[2] < 0) return fault(q, ST_SHAPE, "negative padding");
        if (dim_is_set(from->dim[k])) {
            if (p[0] || p[1] || p[2]) return fault(q, ST_SHAPE, "a set's extent cannot be padded");
            continue;
        }
        int64_t n = from->dim[k], inside = 0;
        bool huge = (n > 0 && __builtin_mul_overflow(n - 1, p[2], &inside)) ||
                    __builtin_add_overflow(inside, n, &inside) ||
                    __builtin_add_overflow(inside, p[0], &inside) ||
                    __builtin_add_overflow(inside, p[1], &inside);
        if (huge) return fault(q, ST_SHAPE, "too many elements");
        q->out->dim[k] = inside;
    }
    return ST_OK;
}

static Status infer_concat(const Infer *q) {
    if (q->num_args == 0 || q->attr->num_ints != 1) return fault(q, ST_SHAPE, "parts and one axis");
    int64_t axis = q->attr->ints[0];
    *q->out = *arg(q, 0);
    if (axis < 0 || axis >= q->out->rank) return fault(q, ST_SHAPE, "axis out of range");
    for (uint32_t i = 1; i < q->num_args; i++) {
        Type t = *arg(q, i);
        int64_t grown = t.dim[axis];
        t.dim[axis] = q->out->dim[axis];
        if (t.set != q->out->set) return fault(q, ST_SHAPE, "parts live on different sets");
        if (t.dtype != q->out->dtype) return fault(q, ST_TYPE, "dtypes differ");
        if (!type_same_shape(&t, q->out) || dim_is_set(grown) || dim_is_set(t.dim[axis]))
            return fault(q, ST_SHAPE, "shapes differ outside the axis");
        if (__builtin_add_overflow(grown, q->out->dim[axis], &q->out->dim[axis]))
            return fault(q, ST_SHAPE, "too many elements");
    }
    return ST_OK;
}

static Status infer_feature_fold(const Infer *q) {
    if (!is_axis_list(q)) return fault(q, ST_SHAPE, "axes out of range or not rising");
    const Type *from = arg(q, 0);
    Type to = type_scalar((Dtype)from->dtype, from->set);
    uint32_t next = 0;
    for (int k = 0; k < from->rank; k++) {
        if (next < q->attr->num_ints && q->attr->ints[next] == k) next++;
        else to.dim[to.rank++] = from->dim[k];
    }
    if (from->dtype == DT_bool) return fault(q, ST_TYPE, "not defined for bool (cast first)");
    *q->out = to;
    return ST_OK;
}

/* Axes `first` and on of from, behind those of out; false past the highest rank or for sets' extents. */
static bool append_axes(Type *out, const Type *from, int first) {
    for (int k = first; k < from->rank; k++) {
        if (out->rank == MAX_RANK || dim_is_set(from->dim[k])) return false;
        out->dim[out->rank++] = from->dim[k];
    }
    return true;
}

static Status check_index(const Infer *q, uint32_t k) {
    if (arg(q, 0)->set != arg(q, 1)->set)
        return fault(q, ST_SHAPE, "operands live on different sets (gather one first)");
    if (arg(q, k)->dtype != DT_i32 && arg(q, k)->dtype != DT_i64)
        return fault(q, ST_TYPE, "an index is int32 or int64");
    return ST_OK;
}

static Status infer_take(const Infer *q) {
    const Type *table = arg(q, 0);
    Status st = check_index(q, 1);
    if (st) return st;
    if (table->rank == 0 || dim_is_set(table->dim[0]))
        return fault(q, ST_SHAPE, "a table has rows: a first axis that is no set's extent");
    *q->out = type_with_dtype(*arg(q, 1), (Dtype)table->dtype);
    return append_axes(q->out, table, 1)
               ? ST_OK
               : fault(q, ST_SHAPE, "more than 8 axes, or a set's extent in the table");
}

static Status infer_put(const Infer *q) {
    const Type *index = arg(q, 0), *g = arg(q, 1);
    Status st = check_index(q, 0);
    if (st) return st;
    if (g->dtype == DT_bool) return fault(q, ST_TYPE, "not defined for bool");
    if (q->attr->num_ints != 1 || q->attr->ints[0] < 0)
        return fault(q, ST_SHAPE, "a number of rows is needed");
    bool fits = g->rank >= index->rank;
    for (int k = 0; fits && k < index->rank; k++) fits = g->dim[k] == index->dim[k];
    if (!fits) return fault(q, ST_SHAPE, "the values' first axes are not those of the indices");
    *q->out = type_of((Dtype)g->dtype, g->set, 1, q->attr->ints);
    return append_axes(q->out, g, index->rank)
               ? ST_OK
               : fault(q, ST_SHAPE, "more than 8 axes, or a set's extent in a row");
}

static Status infer_cumsum(const Infer *q) {
    const Type *from = arg(q, 0);
    const int64_t *p = q->attr->ints; /* axis, reverse */
    if (q->attr->num_ints != 2 || p[0] < 0 || p[0] >= from->rank || p[1] < 0 || p[1] > 1)
        return fault(q, ST_SHAPE, "an axis of the operand, and 0 or 1");
    if (dim_is_set(from->dim[p[0]])) return fault(q, ST_SHAPE, "not along a set's extent");
    if (from->dtype == DT_bool) return fault(q, ST_TYPE, "not defined for bool (cast first)");
    *q->out = *from;
    return ST_OK;
}

static Status infer_matmul(const Infer *q) {
    const Type *a = arg(q, 0), *b = arg(q, 1);
    if (a->set != b->set)
        return fault(q, ST_SHAPE, "operands live on different sets (gather one first)");
    if (a->dtype != b->dtype || !dtype_is_float((Dtype)a->dtype))
        return fault(q, ST_TYPE, "two floats of one dtype are needed");
    if (a->rank < 2 || a->rank != b->rank)
        return fault(q, ST_SHAPE, "two equal ranks of 2 or more are needed");
    for (int k = 0; k < a->rank - 2; k++)
        if (a->dim[k] != b->dim[k]) return fault(q, ST_SHAPE, "leading axes differ");
    if (a->dim[a->rank - 1] != b->dim[b->rank - 2]) return fault(q, ST_SHAPE, "inner axes differ");
    *q->out = *a;
    q->out->dim[a->rank - 1] = b->dim[b->rank - 1];
    return ST_OK;
}

static Status infer_cast(const Infer *q) {
    *q->out = type_with_dtype(*arg(q, 0), (Dtype)q->attr->type.dtype);
    return ST_OK;
}

/* x must live where the map starts. */
static Status check_fibre(const Infer *q, const Type *x) {
    if (!map_exists(q->f, q->attr->map)) return fault(q, ST_NAME, "no such map");
    if (x->set != map_from(q->f, q->attr->map))
        return fault(q, ST_SHAPE, "the operand does not live where the map starts");
    return ST_OK;
}

static Type at_end(const Infer *q, const Type *x) {
    return type_with_set(*x, map_to(q->f, q->attr->map));
}

static Status infer_gather(const Infer *q) {
    const Type *x = arg(q, 0);
    if (!map_exists(q->f, q->attr->map)) return fault(q, ST_NAME, "no such map");
    if (x->set != map_to(q->f, q->attr->map))
        return fault(q, ST_SHAPE, "the operand does not live where the map leads");
    for (int k = 0; k < x->rank; k++)
        if (dim_is_set(x->dim[k])) return fault(q, ST_SHAPE, "an extent of a set cannot be spread");
    *q->out = type_with_set(*x, map_from(q->f, q->attr->map));
    return ST_OK;
}

static Status infer_reduce(const Infer *q) {
    Status st = check_fibre(q, arg(q, 0));
    if (st) return st;
    *q->out = at_end(q, arg(q, 0));
    if (q->out->dtype <= DT_i32) q->out->dtype = DT_i64;
    return ST_OK;
}

static Status infer_rmax(const Infer *q) {
    Status st = check_fibre(q, arg(q, 0));
    if (st) return st;
    if (arg(q, 0)->dtype == DT_bool) return fault(q, ST_TYPE, "not defined for bool");
    q->out[0] = at_end(q, arg(q, 0));
    q->out[1] = type_with_dtype(q->out[0], DT_i64);
    return ST_OK;
}

static Status infer_softmax(const Infer *q) {
    const Type *s = arg(q, 0), *x = arg(q, 1);
    Status st = check_fibre(q, s);
    if (!st) st = check_fibre(q, x);
    if (st) return st;
    if (s->dtype != x->dtype || !dtype_is_float((Dtype)s->dtype))
        return fault(q, ST_TYPE, "score and value must be floats of one dtype");
    if (s->rank != x->rank) return fault(q, ST_SHAPE, "score and value must have one rank");
    for (int k = 0; k < s->rank; k++)
        if (s->dim[k] != 1 && s->dim[k] != x->dim[k])
            return fault(q, ST_SHAPE, "the score does not broadcast to the value");
    q->out[0] = at_end(q, x);
    q->out[1] = q->out[2] = at_end(q, s);
    return ST_OK;
}

/* Elementwise operations on scalars, in order; a result for each state at least. */
static bool is_scan_body(const Fn *body) {
    for (Val v = 1; v < ir_count(body); v++) {
        const Node *n = ir_node(body, v);
        bool leaf = n->op == OP_input || n->op == OP_constant || n->op == OP_cast;
        if (!leaf && op_info[n->op].class != CLASS_elem) return false;
        if (n->types[0].rank || n->types[0].set != SET_ALL) return false;
    }
    return true;
}

static const Type *end_type(const Fn *body, const Binding *list, uint32_t k) {
    return ir_type(body, list[k].val);
}

static Status check_scan(const Infer *q, uint32_t states) {
    const Fn *body = q->attr->body;
    Set rows = map_to(q->f, q->attr->map), edges = map_from(q->f, q->attr->map);
    for (uint32_t k = 0; k < q->num_args; k++) {
        const Type *t = arg(q, k);
        if (t->set != (k < states ? rows : edges))
            return fault(q, ST_SHAPE, "states live where the map leads, the rest where it starts");
        if (!type_same_shape(t, arg(q, 0))) return fault(q, ST_SHAPE, "feature shapes differ");
        if (t->dtype != end_type(body, body->inputs.data, k)->dtype)
            return fault(q, ST_TYPE, "an operand has not the dtype that the body takes");
    }
    for (uint32_t k = 0; k < states; k++)
        if (end_type(body, body->results.data, k)->dtype != arg(q, k)->dtype)
            return fault(q, ST_TYPE, "a state changes its dtype");
    bool tree = q->attr->ints[1] & SCAN_tree;
    for (uint32_t k = states; tree && k < q->num_args; k++)
        if (arg(q, k)->dtype != arg(q, k - states)->dtype)
            return fault(q, ST_TYPE, "the body of a tree combines states");
    return ST_OK;
}

static Status infer_row_scan(const Infer *q) {
    const Attr *a = q->attr;
    bool exists = map_exists(q->f, a->map);
    Set from = exists ? map_from(q->f, a->map) : SET_ALL;
    if (from == SET_ALL || (map_is_all(a->map) && set_is_edges(q->f, from)))
        return fault(q, ST_NAME, "a relation's map is needed, or that of nodes to `all`");
    if (!a->body || a->num_ints != 2 || !is_scan_body(a->body))
        return fault(q, ST_SHAPE, "a body of elementwise operations on scalars is needed");
    int64_t states = a->ints[0], flags = a->ints[1], ys = a->body->results.len - states;
    bool tree = flags == SCAN_tree;
    if (states < 1 || ys < 0 || states > q->num_args || a->body->inputs.len != q->num_args ||
        flags < 0 || flags > SCAN_tree || (tree && (ys || q->num_args != 2 * states)))
        return fault(q, ST_SHAPE, "states, operands and the body's ends do not fit each other");
    Status st = check_scan(q, (uint32_t)states);
    for (uint32_t k = 0; !st && k < a->body->results.len; k++) {
        Set set = k < states ? map_to(q->f, a->map) : map_from(q->f, a->map);
        Dtype d = (Dtype)end_type(a->body, a->body->results.data, k)->dtype;
        q->out[k] = type_with_dtype(type_with_set(*arg(q, 0), set), d);
    }
    return st;
}

static Status infer_degree(const Infer *q) {
    if (!map_exists(q->f, q->attr->map)) return fault(q, ST_NAME, "no such map");
    *q->out = type_scalar(DT_i64, map_to(q->f, q->attr->map));
    return ST_OK;
}

static Status infer_iota(const Infer *q) {
    Set s = q->attr->type.set;
    if (s == SET_ALL || s >= q->f->sets.len)
        return fault(q, ST_SHAPE, "needs a set of nodes or edges");
    *q->out = type_scalar(DT_i64, s);
    return ST_OK;
}

static Status infer_enter(const Infer *q) {
    const Type *x = arg(q, 0);
    Set s = q->attr->type.set;
    if (x->set != SET_ALL || x->rank == 0 || s == SET_ALL || s >= q->f->sets.len ||
        x->dim[0] != dim_of(s))
        return fault(q, ST_SHAPE, "needs a dense value whose first extent is the set's");
    *q->out = type_of((Dtype)x->dtype, s, x->rank - 1, x->dim + 1);
    return ST_OK;
}

static Status infer_leave(const Infer *q) {
    const Type *x = arg(q, 0);
    if (x->set == SET_ALL || x->rank == MAX_RANK)
        return fault(q, ST_SHAPE, "needs a value on a set");
    int64_t dim[MAX_RANK] = {dim_of(x->set)};
    for (int k = 0; k < x->rank; k++) dim[k + 1] = x->dim[k];
    *q->out = type_of((Dtype)x->dtype, SET_ALL, x->rank + 1, dim);
    return ST_OK;
}

static Status infer_result(const Infer *q) {
    const Node *n = ir_node(q->f, q->args[0]);
    if (n->num_results < 2 || q->attr->index >= n->num_results)
        return fault(q, ST_SHAPE, "no such result");
    *q->out = n->types[q->attr->index];
    return ST_OK;
}

static Status infer_leaf(const Infer *q) {
    *q->out = q->attr->type;
    return ST_OK;
}

static Status infer_group(const Infer *q) {
    (void)q;
    TIGA_UNREACHABLE("a group's types are its body's");
}

/* One rule an operation; a row of op.def without one does not compile. */
#define infer_fsum infer_feature_fold
#define infer_fmax infer_feature_fold
#define infer_input infer_leaf
#define infer_constant infer_leaf
#define infer_traverse infer_group
#define infer_launch infer_group
static Status (*const infer_rule[NUM_OPS])(const Infer *q) = {
#define ELEM(op, ...) [OP_##op] = infer_elem,
#define SHAPE(op, ...) [OP_##op] = infer_##op,
#define ALONG(op, ...) [OP_##op] = infer_##op,
#define FRAME(op, ...) [OP_##op] = infer_##op,
#include "ir/op.def"
};

static Status check_operands(const Infer *q) {
    const OpInfo *info = &op_info[q->op];
    bool count_ok = info->arity < 0 || q->num_args == (uint32_t)info->arity ||
                    (info->traits & NARY && q->num_args >= 2);
    if (!count_ok)
        return err_set(ST_INVAL, "%s: %u operands, expected %d", info->name, q->num_args,
                       info->arity);
    for (uint32_t k = 0; k < q->num_args; k++) {
        if (q->args[k] == 0 || q->args[k] >= ir_count(q->f))
            return err_set(ST_INVAL, "%s: operand %u is no value", info->name, k);
        if (q->op != OP_result && ir_node(q->f, q->args[k])->num_results != 1)
            return err_set(ST_INVAL, "%s: operand %u has several results (take one)", info->name,
                           k);
    }
    return ST_OK;
}

/* Operations that are not elementwise and compute. A row_scan's body is no builder's. */
static const bool computes[NUM_OPS] = {
    [OP_constant] = 1, [OP_fsum] = 1, [OP_fmax] = 1,   [OP_cumsum] = 1,  [OP_put] = 1,
    [OP_matmul] = 1,   [OP_rmax] = 1, [OP_reduce] = 1, [OP_softmax] = 1, [OP_row_scan] = 1};

static Status check_halves(const Infer *q) {
    bool any = q->op == OP_constant && dtype_is_half((Dtype)q->attr->type.dtype);
    for (uint32_t k = 0; k < q->num_args; k++) any |= dtype_is_half((Dtype)arg(q, k)->dtype);
    any &= computes[q->op] || op_info[q->op].class == CLASS_elem;
    if (!any || (q->f->halves && q->op != OP_row_scan)) return ST_OK;
    return fault(q, ST_TYPE, "f16 and bf16 are only stored (cast to f32)");
}

Status type_infer(const Fn *f, Op op, const Val *args, uint32_t num_args, const Attr *attr,
                  Type *types, uint32_t *num_results) {
    Infer q = {f, op, args, num_args, attr, types};
    TIGA_ASSERT(op > OP_none && op < NUM_OPS);
    Status st = check_operands(&q);
    if (!st) st = check_halves(&q);
    if (!st) st = infer_rule[op](&q);
    *num_results =
        op == OP_row_scan && !st ? attr->body->results.len : (uint32_t)op_info[op].results;
    for (uint32_t k = 0; !st && k < *num_results; k++) {
        const char *why = type_fault(f, &types[k]);
        if (why) st = fault(&q, ST_SHAPE, why);
    }
    return st;
}
