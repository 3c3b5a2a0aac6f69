/* Arrays between unmapped pages, of many layouts, with values of every kind. */
#include "random.h"

#include "base/hash.h"
#include "ir/element.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- guarded memory ---- */

char *guarded_alloc(Guarded **all, size_t size, bool at_end) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (size + page - 1) / page * page;
    char *map = mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TIGA_ASSERT(map != MAP_FAILED);
    if (inner) TIGA_ASSERT(mprotect(map + page, inner, PROT_READ | PROT_WRITE) == 0);
    memset(map + page, 0xA5, inner);
    Guarded *g = malloc(sizeof *g);
    *g = (Guarded){*all, map, inner + 2 * page};
    *all = g;
    return map + page + (at_end ? inner - size : 0);
}

void guarded_free(Guarded **all) {
    for (Guarded *g = *all, *next; g; g = next) {
        next = g->next;
        munmap(g->map, g->size);
        free(g);
    }
    *all = NULL;
}

/* ---- arrays ---- */

Array array_of(const Type *t, const Domain *d) {
    Array a = {.dtype = t->dtype};
    int lead = t->set != SET_ALL;
    if (lead) a.dim[0] = d->set_size[t->set];
    for (int k = 0; k < t->rank; k++)
        a.dim[k + lead] = dim_is_set(t->dim[k]) ? d->set_size[dim_set(t->dim[k])] : t->dim[k];
    a.rank = (uint8_t)(t->rank + lead);
    int64_t step = dtype_size((Dtype)t->dtype);
    for (int k = a.rank; k-- > 0; step *= a.dim[k]) a.stride[k] = step;
    return a;
}

int64_t array_numel(const Array *a) {
    int64_t n = 1;
    for (int k = 0; k < a->rank; k++) n *= a->dim[k];
    return n;
}

char *array_at(const Array *a, int64_t i) {
    char *p = a->data;
    for (int k = a->rank; k-- > 0;) {
        p += i % a->dim[k] * a->stride[k];
        i /= a->dim[k];
    }
    return p;
}

/* Axes in another order in memory, gaps between them, some backward, some (of inputs) without a step. */
static void give_strides(Array *a, uint64_t salt, bool input) {
    int order[MAX_RANK + 1];
    for (int k = 0; k < a->rank; k++) order[k] = k;
    for (int k = a->rank - 1; k > 0; k--) {
        int j = (int)(hash_u64((uint64_t)k, salt) % (uint64_t)(k + 1)), other = order[k];
        if (salt & 1) order[k] = order[j], order[j] = other;
    }
    int64_t size = dtype_size((Dtype)a->dtype), step = size;
    for (int k = a->rank; k-- > 0;) {
        uint64_t h = hash_u64((uint64_t)k, salt + 1);
        int axis = order[k];
        bool none = input && h % 8 == 0, backward = h % 8 == 1 || h % 8 == 2;
        a->stride[axis] = none ? 0 : backward ? -step : step;
        if (!none) step *= a->dim[axis];
        if (h % 8 == 3) step += size * (int64_t)(1 + h / 8 % 3);
        if (h % 8 == 4) step += 1; /* unaligned from here on */
    }
}

void array_place(Array *a, Guarded **all, uint64_t salt, bool at_end, bool strided, bool input) {
    if (strided && salt % 2) give_strides(a, salt / 2, input);
    int64_t low = 0, high = 0;
    if (array_numel(a) == 0) {
        a->data = guarded_alloc(all, 0, at_end);
        return;
    }
    for (int k = 0; k < a->rank; k++) {
        int64_t reach = (a->dim[k] - 1) * a->stride[k];
        if (reach < 0) low += reach;
        else high += reach;
    }
    high += dtype_size((Dtype)a->dtype);
    a->data = guarded_alloc(all, (size_t)(high - low), at_end) - low;
}

/* ---- values ---- */

static double nasty_float(uint64_t h, const Case *c) {
    static const double values[] = {NAN,   INFINITY, -INFINITY, 0,  -0.0,
                                    1e-40, -1e-310,  1,         -1, 3e-39};
    static const double huge[] = {3e38, -3e38, 1e308, -1e200, 0x1p31, -0x1p63, 0x1p24 + 1, 1e-300};
    if (c->data == DATA_huge && h % 3 == 0) return huge[h / 3 % (sizeof huge / sizeof *huge)];
    return values[h / 3 % (sizeof values / sizeof *values)];
}

static double float_value(uint64_t h, const Case *c) {
    bool nasty = c->data == DATA_nasty || c->data == DATA_huge;
    if (nasty && h % 5 == 0) return nasty_float(h / 5, c);
    h = hash_u64(h, 1);
    if (c->data == DATA_whole) return h % 7 == 3 && h & 64 ? -0.0 : (double)(h % 7) - 3;
    return (double)(h >> 11) * 0x1p-51 -
           2; /* no ties and no zeros: gradients are not decided there */
}

static int64_t int_value(uint64_t h, const Case *c) {
    static const int64_t values[] = {INT32_MIN, INT64_MIN, INT32_MAX, INT64_MAX, -1, 0, 1};
    bool nasty = c->data == DATA_nasty || c->data == DATA_huge;
    if (nasty && h % 5 == 0) return values[h / 5 % (sizeof values / sizeof *values)];
    return (int64_t)(hash_u64(h, 2) % 9) - 4;
}

void array_set(const Array *a, int64_t i, double x) {
    element_set_float((Dtype)a->dtype, array_at(a, i), x);
}

double array_get(const Array *a, int64_t i) {
    const char *p = array_at(a, i);
    int32_t n;
    int64_t w;
    switch ((Dtype)a->dtype) {
    case DT_bool: return *p;
    case DT_i32: return memcpy(&n, p, sizeof n), n;
    case DT_i64: return memcpy(&w, p, sizeof w), (double)w;
    case DT_f32:
    case DT_f64:
    case DT_f16:
    case DT_bf16: return element_get_float((Dtype)a->dtype, p);
    case NUM_DTYPES: break;
    }
    TIGA_UNREACHABLE("an array of no dtype");
}

void array_fill(const Array *a, const char *name, const Case *c) {
    uint64_t salt = hash_str(name, c->seed);
    for (int64_t i = 0, n = array_numel(a); i < n; i++) {
        uint64_t h = hash_u64((uint64_t)i, salt);
        int64_t wide = int_value(h, c);
        int32_t narrow = (int32_t)wide;
        char truth = (char)(h >> 9 & 1);
        if (dtype_is_float((Dtype)a->dtype)) array_set(a, i, float_value(h, c));
        else if (a->dtype == DT_i64) memcpy(array_at(a, i), &wide, sizeof wide);
        else if (a->dtype == DT_i32) memcpy(array_at(a, i), &narrow, sizeof narrow);
        else *array_at(a, i) = truth;
    }
}
