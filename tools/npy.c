/* A header is magic, version, length and a Python dict of three keys:
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } */
#include "npy.h"

#include "ir/ir.h"

#include <stdio.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";
/* NumPy has no bfloat16: it saves that of others as two plain bytes. */
static const char *const descr[NUM_DTYPES] = {"|b1", "<i4", "<i8", "<f4", "<f8", "<f2", "<V2"};

/* ---- the header ---- */

typedef struct {
    const char *name; /* of the file */
    const char *p, *end;
    Status status;
    bool has_descr, has_order, has_shape;
    bool fortran;
    tg_array array;
} Header;

static void fail(Header *h, const char *why) {
    if (!h->status)
        h->status = err_set(ST_INVAL, "%s: no .npy file of this kind: %s", h->name, why);
}

static void skip_space(Header *h) {
    while (h->p < h->end && (*h->p == ' ' || *h->p == '\n' || *h->p == '\t')) h->p++;
}

static bool take(Header *h, const char *text) {
    skip_space(h);
    size_t n = strlen(text);
    if ((size_t)(h->end - h->p) < n || memcmp(h->p, text, n) != 0) return false;
    h->p += n;
    return true;
}

static void need(Header *h, const char *text) {
    if (!h->status && !take(h, text))
        fail(h, "the header is no dict of descr, fortran_order and shape");
}

/* 'text', without escapes; "" after a fault. */
static void take_string(Header *h, char *out, size_t size) {
    size_t n = 0;
    need(h, "'");
    while (!h->status && h->p < h->end && *h->p != '\'' && n + 1 < size) out[n++] = *h->p++;
    out[n] = 0;
    need(h, "'");
}

static void take_descr(Header *h) {
    char text[32];
    if (take(h, "[")) {
        h->status = err_set(
            ST_TYPE,
            "%s: a structured dtype; float16, float32, float64, int32, int64 and bool are read",
            h->name);
        return;
    }
    take_string(h, text, sizeof text);
    for (int d = 0; d < NUM_DTYPES; d++) {
        if (strcmp(descr[d], text) != 0) continue;
        h->array.dtype = (tg_dtype)d;
        return;
    }
    if (!h->status)
        h->status =
            err_set(ST_TYPE, "%s: dtype '%s'; '<f2', '<f4', '<f8', '<i4', '<i8' and '|b1' are read",
                    h->name, text);
}

static void take_order(Header *h) {
    h->fortran = take(h, "True");
    if (!h->fortran) need(h, "False");
}

static int64_t take_extent(Header *h) {
    int64_t n = 0;
    skip_space(h);
    if (h->p == h->end || *h->p < '0' || *h->p > '9')
        fail(h, "a shape is a tuple of whole numbers");
    for (; !h->status && h->p < h->end && *h->p >= '0' && *h->p <= '9'; h->p++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *h->p - '0', &n))
            fail(h, "an extent beyond 2^63");
    return n;
}

static void take_shape(Header *h) {
    tg_array *x = &h->array;
    need(h, "(");
    while (!h->status && !take(h, ")")) {
        int64_t n = take_extent(h);
        if (x->rank == TG_MAX_RANK) {
            h->status = err_set(ST_SHAPE, "%s: more than %d axes", h->name, TG_MAX_RANK);
            return;
        }
        x->shape[x->rank++] = n;
        if (!take(h, ",")) {
            if (x->rank == 1) fail(h, "a shape of one axis is written (n,)");
            need(h, ")");
            return;
        }
    }
}

/* Each key once. */
static void take_entry(Header *h) {
    char key[32];
    take_string(h, key, sizeof key);
    need(h, ":");
    bool *has = !strcmp(key, "descr")           ? &h->has_descr
                : !strcmp(key, "fortran_order") ? &h->has_order
                : !strcmp(key, "shape")         ? &h->has_shape
                                                : NULL;
    if (!has || *has) fail(h, "the header has another key, or one twice");
    if (h->status) return;
    *has = true;
    if (has == &h->has_descr) take_descr(h);
    else if (has == &h->has_order) take_order(h);
    else take_shape(h);
}

static void parse_header(Header *h) {
    need(h, "{");
    while (!h->status && !take(h, "}")) {
        take_entry(h);
        if (take(h, ",")) continue;
        need(h, "}");
        break;
    }
    skip_space(h);
    if (!h->status && (h->p != h->end || !h->has_descr || !h->has_order || !h->has_shape))
        fail(h, "the header is no dict of descr, fortran_order and shape");
}

/* ---- data ---- */

/* Strides and the number of bytes; false where that overflows. */
static bool lay_out(tg_array *x, bool fortran, int64_t *bytes) {
    bool fits = true, empty = false;
    for (int k = 0; k < x->rank; k++) empty |= x->shape[k] == 0;
    *bytes = dtype_size((Dtype)x->dtype);
    for (int i = 0; i < x->rank; i++) {
        int k = fortran ? i : x->rank - 1 - i;
        x->stride[k] = *bytes;
        if (!empty) fits &= !__builtin_mul_overflow(*bytes, x->shape[k], bytes);
    }
    if (empty) *bytes = 0;
    return fits;
}

static Status take_data(Header *h, const char *data, size_t left) {
    int64_t bytes;
    if (!lay_out(&h->array, h->fortran, &bytes) || (uint64_t)bytes != left) {
        fail(h, "it has not as many bytes of data as its shape says");
        return h->status;
    }
    for (int64_t k = 0; h->array.dtype == TG_BOOL && k < bytes; k++)
        if ((unsigned char)data[k] > 1) fail(h, "a bool is neither 0 nor 1");
    h->array.data = (void *)(uintptr_t)data;
    return h->status;
}

Status npy_parse(const char *name, const void *bytes, size_t size, tg_array *out) {
    const unsigned char *p = bytes;
    Header h = {.name = name};
    size_t start = size >= 8 && p[6] == 1 ? 10 : 12, len = 0;
    if (size < start || memcmp(p, magic, 6) != 0)
        return fail(&h, "it does not start as one"), h.status;
    if (p[6] < 1 || p[6] > 3 || p[7] != 0)
        return err_set(ST_UNSUPPORTED, "%s: .npy version %d.%d; 1.0, 2.0 and 3.0 are read", name,
                       p[6], p[7]);
    for (size_t k = start; k-- > 8;) len = len << 8 | p[k];
    if (len > size - start) return fail(&h, "the header ends behind the file"), h.status;
    h.p = (const char *)p + start;
    h.end = h.p + len;
    parse_header(&h);
    Status st =
        h.status ? h.status : take_data(&h, (const char *)p + start + len, size - start - len);
    if (!st) *out = h.array;
    return st;
}

/* ---- files ---- */

static Status read_bytes(Arena *a, FILE *in, const char *path, char **bytes, size_t *size) {
    size_t cap = 1 << 16, n;
    *size = 0;
    *bytes = arena_alloc(a, cap);
    while ((n = fread(*bytes + *size, 1, cap - *size, in)) > 0) {
        *size += n;
        if (*size < cap) continue;
        char *grown = arena_alloc(a, 2 * cap);
        memcpy(grown, *bytes, cap);
        *bytes = grown;
        cap *= 2;
    }
    return ferror(in) ? err_set(ST_INVAL, "%s: cannot be read", path) : ST_OK;
}

Status npy_read(Arena *a, const char *path, tg_array *out) {
    char *bytes;
    size_t size;
    FILE *in = fopen(path, "rb");
    if (!in) return err_set(ST_NAME, "%s: cannot be opened", path);
    Status st = read_bytes(a, in, path, &bytes, &size);
    fclose(in);
    return st ? st : npy_parse(path, bytes, size, out);
}

static size_t write_header(char *out, size_t size, const tg_array *x) {
    size_t n = (size_t)snprintf(out, size, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                                descr[x->dtype]);
    for (int k = 0; k < x->rank; k++)
        n += (size_t)snprintf(out + n, size - n, "%lld%s", (long long)x->shape[k],
                              x->rank == 1      ? ","
                              : k + 1 < x->rank ? ", "
                                                : "");
    n += (size_t)snprintf(out + n, size - n, "), }");
    while ((10 + n + 1) % 64) out[n++] = ' '; /* data starts at a multiple of 64 */
    out[n++] = '\n';
    return n;
}

Status npy_write(const char *path, const tg_array *x) {
    char header[512];
    tg_array dense = *x;
    int64_t bytes;
    size_t n = write_header(header, sizeof header, x);
    unsigned char start[] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(n & 255), (unsigned char)(n >> 8)};
    lay_out(&dense, false, &bytes);
    FILE *out = fopen(path, "wb");
    if (!out) return err_set(ST_NAME, "%s: cannot be written", path);
    bool fine = fwrite(start, 1, sizeof start, out) == sizeof start &&
                fwrite(header, 1, n, out) == n &&
                fwrite(x->data, 1, (size_t)bytes, out) == (size_t)bytes;
    fine &= fclose(out) == 0;
    return fine ? ST_OK : err_set(ST_INVAL, "%s: cannot be written", path);
}
