/* Operations on the features of one element at a time: moves are strided copies between dense values
 * whose first axis is the set's; folds and products go element by element in the orders of prim.h. */
#include "interp/value.h"

#include "ir/prim.h"

#include <string.h>

/* A value's shape and strides with the set's axis in front; strides are 0 where there is no element
 * (other extents may then be of any size). */
typedef struct {
    int rank;
    int64_t dim[MAX_RANK + 1], stride[MAX_RANK + 1];
} Layout;

static Layout layout_of(const Value *v) {
    Layout l = {.rank = v->type->rank + 1, .dim = {v->rows}};
    memcpy(l.dim + 1, v->dim, sizeof v->dim);
    if (value_count(v) > 0) dense_strides(l.rank, l.dim, value_size(v), l.stride);
    return l;
}

/* ---- cast ---- */

static int64_t int_of_float(double x, int64_t least, int64_t most) {
    if (x != x) return 0;
    if (x <= (double)least) return least;
    return x >= (double)most ? most : (int64_t)x; /* (double)INT64_MAX is 2^63, itself too large */
}

static void cast_float(Dtype to, char *out, double x) {
    if (dtype_is_float(to)) element_set_float(to, out, x);
    else if (to == DT_bool) element_set_int(to, out, x != 0);
    else if (to == DT_i32) element_set_int(to, out, int_of_float(x, INT32_MIN, INT32_MAX));
    else element_set_int(to, out, int_of_float(x, INT64_MIN, INT64_MAX));
}

/* Integers round once to floats and wrap to shorter integers. */
static void cast_int(Dtype to, char *out, int64_t x) {
    if (dtype_computed(to) == DT_f32) element_set_float(to, out, (double)(float)x);
    else if (to == DT_f64) element_set_float(to, out, (double)x);
    else element_set_int(to, out, x);
}

void cast_elements(Dtype from, Dtype to, int64_t n, const char *a, char *out) {
    for (int64_t i = 0; i < n; i++, a += dtype_size(from), out += dtype_size(to)) {
        if (dtype_is_float(from)) cast_float(to, out, element_get_float(from, a));
        else cast_int(to, out, element_get_int(from, a));
    }
}

Status eval_cast(const Eval *q) {
    const Value *x = q->args[0], *y = q->out;
    Status st = eval_alloc(q, 0);
    if (!st) cast_elements(value_dtype(x), value_dtype(y), value_count(x), x->data, y->data);
    return st;
}

/* ---- moves ---- */

/* Fills result 0 from its operand: axis k of the result (the set's is 0) steps stride[k] bytes there. */
static Status copy_from(const Eval *q, const int64_t *stride, int64_t offset) {
    Status st = eval_alloc(q, 0);
    if (st || value_count(q->out) == 0) return st;
    Layout to = layout_of(q->out);
    strided_copy(to.rank, to.dim, value_size(q->out), q->out->data, to.stride,
                 q->args[0]->data + offset, stride);
    return ST_OK;
}

Status eval_bcast(const Eval *q) {
    Layout from = layout_of(q->args[0]);
    int64_t stride[MAX_RANK + 1] = {from.stride[0]};
    int shift = q->out->type->rank + 1 - from.rank;
    for (int k = 1; k < from.rank; k++) stride[k + shift] = from.dim[k] == 1 ? 0 : from.stride[k];
    return copy_from(q, stride, 0);
}

Status eval_reshape(const Eval *q) {
    q->out->data = q->args[0]->data;
    return ST_OK;
}

Status eval_transpose(const Eval *q) {
    Layout from = layout_of(q->args[0]);
    int64_t stride[MAX_RANK + 1] = {from.stride[0]};
    for (uint32_t k = 0; k < q->node->attr.num_ints; k++)
        stride[k + 1] = from.stride[q->node->attr.ints[k] + 1];
    return copy_from(q, stride, 0);
}

Status eval_slice(const Eval *q) {
    Layout from = layout_of(q->args[0]);
    int64_t stride[MAX_RANK + 1] = {from.stride[0]}, offset = 0;
    for (int k = 1; k < from.rank; k++) {
        const int64_t *p = q->node->attr.ints + 3 * (k - 1); /* start, count, step */
        offset += p[0] * from.stride[k];
        stride[k] = p[2] * from.stride[k];
    }
    return copy_from(q, stride, offset);
}

/* Puts operand k into the zeroed result at offset, with the strides given. */
static void copy_into(const Eval *q, uint32_t k, const int64_t *stride, int64_t offset) {
    const Value *x = q->args[k];
    if (value_count(x) == 0) return;
    Layout from = layout_of(x);
    strided_copy(from.rank, from.dim, value_size(x), q->out->data + offset, stride, x->data,
                 from.stride);
}

Status eval_pad(const Eval *q) {
    Status st = eval_alloc(q, 0);
    if (st) return st;
    Layout to = layout_of(q->out);
    int64_t offset = 0;
    for (int k = 1; k < to.rank; k++) {
        const int64_t *p = q->node->attr.ints + 3 * (k - 1); /* low, high, interior */
        offset += p[0] * to.stride[k];
        to.stride[k] *= p[2] + 1;
    }
    copy_into(q, 0, to.stride, offset);
    return ST_OK;
}

Status eval_concat(const Eval *q) {
    Status st = eval_alloc(q, 0);
    if (st) return st;
    Layout to = layout_of(q->out);
    int64_t axis = q->node->attr.ints[0], start = 0;
    for (uint32_t k = 0; k < q->node->num_args; k++) {
        copy_into(q, k, to.stride, start * to.stride[axis + 1]);
        start += q->args[k]->dim[axis];
    }
    return ST_OK;
}

/* ---- folds over features ---- */

/* n >= 1 elements to one, in feature order (prim.h). */
static void fold(Op op, Dtype t, int64_t n, const char *x, char *out) {
    _Alignas(8) char lane[FEATURE_LANES * sizeof(double)];
    int size = dtype_size(t);
    int64_t width = n < FEATURE_LANES ? n : FEATURE_LANES;
    memcpy(lane, x, (size_t)(width * size));
    for (int64_t i = FEATURE_LANES; i < n; i += FEATURE_LANES)
        elem_apply(op, t, n - i < FEATURE_LANES ? n - i : FEATURE_LANES, lane, x + i * size, NULL,
                   lane);
    for (int64_t half = FEATURE_LANES / 2; half >= 1; half /= 2) {
        if (width <= half) continue;
        elem_apply(op, t, width - half, lane, lane + half * size, NULL, lane);
        width = half;
    }
    memcpy(out, lane, (size_t)size);
}

/* The operand's copy with the axes in `ints` moved behind the others. */
static Status group_axes(const Eval *q, char **out) {
    const Value *x = q->args[0];
    Layout from = layout_of(x), moved = {.rank = from.rank};
    int64_t to_stride[MAX_RANK + 1];
    uint32_t kept = 0, folded = 0, num_folded = q->node->attr.num_ints;
    for (int k = 0; k < from.rank; k++) {
        bool is_folded = folded < num_folded && q->node->attr.ints[folded] + 1 == k;
        uint32_t at = is_folded ? (uint32_t)from.rank - num_folded + folded++ : kept++;
        moved.dim[at] = from.dim[k];
        moved.stride[at] = from.stride[k];
    }
    Status st = run_alloc(q->run, "features in order", value_count(x), value_size(x), out);
    if (st || value_count(x) == 0) return st;
    dense_strides(moved.rank, moved.dim, value_size(x), to_stride);
    strided_copy(moved.rank, moved.dim, value_size(x), *out, to_stride, x->data, moved.stride);
    return ST_OK;
}

static Status eval_fold(const Eval *q, Op op) {
    char *x;
    const Value *y = q->out;
    Status st = eval_alloc(q, 0);
    if (!st) st = group_axes(q, &x);
    if (st || value_count(y) == 0) return st;
    int64_t n = value_count(q->args[0]) / value_count(y);
    Dtype t = value_dtype(y);
    for (int64_t i = 0; i < value_count(y); i++) {
        char *out = y->data + i * value_size(y);
        if (n == 0 && op == OP_max) element_set_least(t, out);
        if (n > 0) fold(op, t, n, x + i * n * value_size(y), out);
    }
    return ST_OK;
}

Status eval_fsum(const Eval *q) { return eval_fold(q, OP_add); }

Status eval_fmax(const Eval *q) { return eval_fold(q, OP_max); }

/* ---- running sums ---- */

/* The axis splits a value into blocks of rows of `inner` elements. A row is the one before plus x's. */
Status eval_cumsum(const Eval *q) {
    const Value *x = q->args[0], *y = q->out;
    int64_t axis = q->node->attr.ints[0], inner = 1;
    bool reverse = q->node->attr.ints[1];
    Status st = eval_alloc(q, 0);
    if (st || value_count(y) == 0) return st;
    for (int k = (int)axis + 1; k < y->type->rank; k++) inner *= y->dim[k];
    int64_t bytes = inner * value_size(y), rows = value_count(y) / inner, step = reverse ? -1 : 1;
    for (int64_t i = reverse ? rows - 1 : 0; i >= 0 && i < rows; i += step) {
        char *to = y->data + i * bytes;
        bool first = i % y->dim[axis] == (reverse ? y->dim[axis] - 1 : 0);
        if (first) memcpy(to, x->data + i * bytes, (size_t)bytes);
        else
            elem_apply(OP_add, value_dtype(y), inner, to - step * bytes, x->data + i * bytes, NULL,
                       to);
    }
    return ST_OK;
}

/* ---- matmul ---- */

/* One product [m, k] x [k, n], a row of the result at a time: the row holds the accumulators, and
 * `splat` (n entries) an element of a spread beside the row of b. */
static void product(Dtype t, int64_t m, int64_t k, int64_t n, const char *a, const char *b,
                    char *splat, char *out) {
    int size = dtype_size(t);
    for (int64_t i = 0; i < m; i++, out += n * size)
        for (int64_t l = 0; l < k; l++) {
            const char *row = b + l * n * size;
            for (int64_t j = 0; j < n; j++)
                memcpy(splat + j * size, a + (i * k + l) * size, (size_t)size);
            if (l == 0) elem_apply(OP_mul, t, n, splat, row, NULL, out);
            else elem_apply(OP_fma, t, n, splat, row, out, out);
        }
}

Status eval_matmul(const Eval *q) {
    const Value *a = q->args[0], *b = q->args[1], *y = q->out;
    int rank = y->type->rank, size = value_size(y);
    int64_t m = a->dim[rank - 2], k = a->dim[rank - 1], n = b->dim[rank - 1];
    char *splat;
    Status st = eval_alloc(q, 0);
    if (!st) st = run_alloc(q->run, "row of a product", n, size, &splat);
    if (st || value_count(y) == 0) return st;
    for (int64_t i = 0; i < value_count(y) / (m * n); i++)
        product(value_dtype(y), m, k, n, a->data + i * m * k * size, b->data + i * k * n * size,
                splat, y->data + i * m * n * size);
    return ST_OK;
}
