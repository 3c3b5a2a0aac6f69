/* Shapes resolved against a domain, layouts read off strides, and the one parallel strided copy. */
#include "run/operand.h"

#include "base/pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

Status operand_dense(const Type *t, const Domain *domain, const char *name, Array *out,
                     int64_t *bytes) {
    *out = (Array){.dtype = t->dtype};
    if (t->set != SET_ALL) out->dim[out->rank++] = domain->set_size[t->set];
    for (int k = 0; k < t->rank; k++)
        out->dim[out->rank++] =
            dim_is_set(t->dim[k]) ? domain->set_size[dim_set(t->dim[k])] : t->dim[k];
    int64_t stride = dtype_size((Dtype)t->dtype);
    bool empty = operand_count(out) == 0;
    for (int k = out->rank; k-- > 0;) {
        out->stride[k] = stride;
        if (!empty && __builtin_mul_overflow(stride, out->dim[k], &stride))
            return err_set(ST_NOMEM, "'%s' is larger than memory can be", name);
    }
    *bytes = empty ? 0 : stride;
    return ST_OK;
}

static void shape_text(const Array *a, char *text, size_t size) {
    size_t len = (size_t)snprintf(text, size, "(");
    for (int k = 0; k < a->rank && len < size; k++)
        len += (size_t)snprintf(text + len, size - len, "%s%" PRId64, k ? ", " : "", a->dim[k]);
    if (len < size) snprintf(text + len, size - len, ")");
}

Status operand_check(const char *role, const char *name, const Array *a, const Array *want) {
    bool same = a->rank == want->rank;
    for (int k = 0; same && k < a->rank; k++) same = a->dim[k] == want->dim[k];
    if (a->dtype != want->dtype)
        return err_set(ST_TYPE, "%s '%s': %s, expected %s", role, name,
                       dtype_user_name((Dtype)a->dtype), dtype_user_name((Dtype)want->dtype));
    if (same) return ST_OK;
    char got[256], expected[256];
    shape_text(a, got, sizeof got);
    shape_text(want, expected, sizeof expected);
    return err_set(ST_SHAPE, "%s '%s': shape %s, expected %s", role, name, got, expected);
}

/* An empty array has 0 elements even where the other extents multiply beyond 64 bits. */
int64_t operand_count(const Array *a) {
    int64_t n = 1;
    for (int k = 0; k < a->rank; k++)
        if (a->dim[k] == 0) return 0;
    for (int k = 0; k < a->rank; k++)
        if (__builtin_mul_overflow(n, a->dim[k], &n)) return INT64_MAX;
    return n;
}

static bool is_dense_from(const Array *a, int axis) {
    int64_t stride = dtype_size((Dtype)a->dtype);
    for (int k = axis; k < a->rank; k++)
        if (a->dim[k] == 0) return true;
    for (int k = a->rank; k-- > axis;) {
        if (a->dim[k] == 1) continue;
        if (a->stride[k] != stride) return false;
        stride *= a->dim[k];
    }
    return true;
}

Layout operand_layout(const Array *a, bool on_set) {
    if (is_dense_from(a, 0)) return LAYOUT_dense;
    return is_dense_from(a, on_set) ? LAYOUT_rows : LAYOUT_strided;
}

bool operand_is_dense(const Array *a) {
    return (uintptr_t)a->data % (size_t)dtype_size((Dtype)a->dtype) == 0 && is_dense_from(a, 0);
}

Bounds operand_bounds(const Array *a) {
    Bounds b = {(uintptr_t)a->data, (uintptr_t)a->data};
    if (operand_count(a) == 0) return b;
    for (int k = 0; k < a->rank; k++) {
        uintptr_t reach = (uintptr_t)a->stride[k] * (uintptr_t)(a->dim[k] - 1);
        if (a->stride[k] < 0) b.begin += reach;
        else b.end += reach;
    }
    b.end += (uintptr_t)dtype_size((Dtype)a->dtype);
    return b;
}

bool operand_overlaps(const Array *a, const Array *b) {
    Bounds x = operand_bounds(a), y = operand_bounds(b);
    return x.begin < y.end && y.begin < x.end && x.begin < x.end && y.begin < y.end;
}

Buffer operand_buffer(const Array *a, bool on_set) {
    Buffer b = {.data = a->data};
    for (int k = 0; k < a->rank; k++) b.stride[k + !on_set] = a->stride[k];
    return b;
}

/* ---- copy ---- */

static void copy_line(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t n,
                      int size) {
    if (to_stride == size && from_stride == size) {
        memcpy(to, from, (size_t)(n * size));
        return;
    }
    for (int64_t i = 0; i < n; i++, to += to_stride, from += from_stride) {
        if (size == 4) memcpy(to, from, 4);
        else if (size == 8) memcpy(to, from, 8);
        else if (size == 2) memcpy(to, from, 2);
        else *to = *from;
    }
}

static void copy_axis(const Array *to, const Array *from, int axis, char *t, const char *f) {
    int size = dtype_size((Dtype)to->dtype);
    if (axis >= to->rank - 1) {
        int64_t n = to->rank ? to->dim[axis] : 1;
        copy_line(t, to->stride[axis], f, from->stride[axis], n, size);
        return;
    }
    for (int64_t i = 0; i < to->dim[axis]; i++)
        copy_axis(to, from, axis + 1, t + i * to->stride[axis], f + i * from->stride[axis]);
}

typedef struct {
    const Array *to, *from;
    int64_t rows; /* of axis 0 a task */
} Copy;

static void copy_task(void *ctx, int64_t task) {
    const Copy *c = ctx;
    Array to = *c->to, from = *c->from;
    int64_t row = task * c->rows, left = to.dim[0] - row;
    to.dim[0] = left < c->rows ? left : c->rows;
    copy_axis(&to, &from, 0, (char *)to.data + row * to.stride[0],
              (const char *)from.data + row * from.stride[0]);
}

Status operand_copy(const Array *to, const Array *from) {
    enum { ELEMENTS = 1 << 16 };
    int64_t count = operand_count(to);
    if (count == 0) return ST_OK;
    if (count <= ELEMENTS || to->dim[0] == 1) {
        copy_axis(to, from, 0, to->data, from->data);
        return ST_OK;
    }
    int64_t rows = ELEMENTS / (count / to->dim[0]) + 1;
    Copy c = {to, from, rows};
    return pool_run((to->dim[0] + rows - 1) / rows, copy_task, &c);
}
