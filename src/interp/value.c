/* Elements and strided copies: what the rules of the interpreter share. */
#include "interp/value.h"

#include <string.h>

double value_get_float(Dtype t, const char *p) {
    float f;
    double d;
    if (t == DT_f32) return memcpy(&f, p, sizeof f), f;
    return memcpy(&d, p, sizeof d), d;
}

int64_t value_get_int(Dtype t, const char *p) {
    int32_t i;
    int64_t l;
    if (t == DT_bool) return *p != 0;
    if (t == DT_i32) return memcpy(&i, p, sizeof i), i;
    return memcpy(&l, p, sizeof l), l;
}

void value_set_float(Dtype t, char *p, double x) {
    float f = (float)x;
    if (t == DT_f32) memcpy(p, &f, sizeof f);
    else memcpy(p, &x, sizeof x);
}

void value_set_int(Dtype t, char *p, int64_t x) {
    uint32_t low = (uint32_t)x;
    if (t == DT_bool) *p = x != 0;
    else if (t == DT_i32) memcpy(p, &low, sizeof low);
    else memcpy(p, &x, sizeof x);
}

void dense_strides(int rank, const int64_t *dim, int size, int64_t *stride) {
    int64_t step = size;
    for (int k = rank - 1; k >= 0; k--) {
        stride[k] = step;
        step *= dim[k];
    }
}

void strided_copy(int rank, const int64_t *dim, int size, char *to, const int64_t *to_stride,
                  const char *from, const int64_t *from_stride) {
    if (rank == 0) {
        memcpy(to, from, (size_t)size);
        return;
    }
    for (int64_t i = 0; i < dim[0]; i++)
        strided_copy(rank - 1, dim + 1, size, to + i * to_stride[0], to_stride + 1,
                     from + i * from_stride[0], from_stride + 1);
}
