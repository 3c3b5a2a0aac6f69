/* Arrays to and from DLPack: the same memory, described in elements there and in bytes here. */
#include "api/dlpack.h"

#include "api/door.h"
#include "base/mem.h"
#include "ir/type.h"

#include <string.h>

/* ---- names for refusals ---- */

/* DLDeviceType in the specification's order, from 1. */
static const char *const devices[] = {
    NULL,  "CPU",  "CUDA",      "CUDA host", "OpenCL",       "?",      "?",      "Vulkan",  "Metal",
    "VPI", "ROCm", "ROCm host", "extension", "CUDA managed", "oneAPI", "WebGPU", "Hexagon", "MAIA",
};

static Status refuse_device(int32_t type) {
    bool named = type > 0 && type < (int32_t)(sizeof devices / sizeof *devices);
    return err_set(ST_TYPE, "the tensor is on device %s (%d), expected the CPU",
                   named ? devices[type] : "?", (int)type);
}

static Status refuse_dtype(DLDataType t) {
    static const char *const codes[] = {"int",    "uint",    "float", "opaque",
                                        "bfloat", "complex", "bool"};
    const char *name = t.code < sizeof codes / sizeof *codes ? codes[t.code] : "code ";
    if (t.lanes != 1)
        return err_set(ST_TYPE, "the tensor's elements are vectors of %d lanes", t.lanes);
    return err_set(ST_TYPE,
                   "the tensor's dtype is %s%d, expected bool, int32, int64, float32, float64, "
                   "float16 or bfloat16",
                   name, t.bits);
}

/* ---- dtypes ---- */

static const struct {
    uint8_t code, bits;
} dl_types[] = {
    [TG_BOOL] = {DL_BOOL, 8},        [TG_INT32] = {DL_INT, 32},     [TG_INT64] = {DL_INT, 64},
    [TG_FLOAT32] = {DL_FLOAT, 32},   [TG_FLOAT64] = {DL_FLOAT, 64}, [TG_FLOAT16] = {DL_FLOAT, 16},
    [TG_BFLOAT16] = {DL_BFLOAT, 16},
};
enum { NUM_DL_TYPES = sizeof dl_types / sizeof *dl_types };

static int find_dtype(DLDataType t) {
    for (int k = 0; k < NUM_DL_TYPES && t.lanes == 1; k++)
        if (dl_types[k].code == t.code && dl_types[k].bits == t.bits) return k;
    return -1;
}

/* ---- in ---- */

static Status refuse_shape(const DLTensor *t) {
    if (t->ndim < 0 || t->ndim > TG_MAX_RANK)
        return err_set(ST_SHAPE, "the tensor has rank %d, expected 0 to %d", (int)t->ndim,
                       TG_MAX_RANK);
    if (t->ndim && !t->shape)
        return err_set(ST_SHAPE, "the tensor has rank %d and no shape", (int)t->ndim);
    for (int k = 0; k < t->ndim; k++)
        if (t->shape[k] < 0)
            return err_set(ST_SHAPE, "the tensor's extent %d is %lld", k, (long long)t->shape[k]);
    return ST_OK;
}

tg_status tg_from_dlpack(const void *dl_tensor, tg_array *x) {
    const DLTensor *t = dl_tensor;
    if (!t || !x) return door_missing(!t ? "dl_tensor" : "x");
    if (t->device.type != DL_CPU && t->device.type != DL_CUDA_HOST)
        return (tg_status)refuse_device(t->device.type);
    int dtype = find_dtype(t->dtype);
    if (dtype < 0) return (tg_status)refuse_dtype(t->dtype);
    Status st = refuse_shape(t);
    if (st) return (tg_status)st;
    tg_array out = tg_dense(t->data ? (const char *)t->data + t->byte_offset : NULL,
                            (tg_dtype)dtype, t->ndim, t->shape);
    int64_t size = dtype_size((Dtype)dtype);
    for (int k = 0; k < t->ndim && t->strides; k++)
        if (__builtin_mul_overflow(t->strides[k], size, &out.stride[k]))
            return (tg_status)err_set(ST_SHAPE, "the tensor's stride %d is %lld elements", k,
                                      (long long)t->strides[k]);
    *x = out;
    return TG_OK;
}

/* ---- out ---- */

typedef struct {
    DLManagedTensor managed; /* first: it is what its user holds */
    void (*release)(void *owner);
    int64_t shape[TG_MAX_RANK], stride[TG_MAX_RANK];
} Exported;

static void delete_exported(DLManagedTensor *self) {
    Exported *e = (Exported *)self;
    if (e->release) e->release(self->manager_ctx);
    mem_free(e);
}

static Status check_exported(const tg_array *x) {
    if ((int)x->dtype < 0 || (int)x->dtype >= NUM_DL_TYPES)
        return err_set(ST_TYPE, "no such dtype (%d)", (int)x->dtype);
    if (x->rank < 0 || x->rank > TG_MAX_RANK)
        return err_set(ST_SHAPE, "rank %d, expected 0 to %d", x->rank, TG_MAX_RANK);
    for (int k = 0; k < x->rank; k++)
        if (x->stride[k] % dtype_size((Dtype)x->dtype))
            return err_set(ST_UNSUPPORTED,
                           "stride %d is %lld bytes: DLPack counts whole elements of %d", k,
                           (long long)x->stride[k], (int)dtype_size((Dtype)x->dtype));
    return ST_OK;
}

void *tg_to_dlpack(tg_array x, void (*release)(void *owner), void *owner) {
    if (check_exported(&x)) return NULL;
    Exported *e = mem_alloc(sizeof *e);
    if (!e) return err_set(ST_NOMEM, "out of memory: a DLPack tensor"), NULL;
    *e = (Exported){.managed = {.manager_ctx = owner, .deleter = delete_exported},
                    .release = release};
    memcpy(e->shape, x.shape, sizeof e->shape);
    for (int k = 0; k < x.rank; k++) e->stride[k] = x.stride[k] / dtype_size((Dtype)x.dtype);
    e->managed.tensor = (DLTensor){.data = x.data,
                                   .device = {DL_CPU, 0},
                                   .ndim = x.rank,
                                   .dtype = {dl_types[x.dtype].code, dl_types[x.dtype].bits, 1},
                                   .shape = e->shape,
                                   .strides = e->stride};
    return &e->managed;
}
