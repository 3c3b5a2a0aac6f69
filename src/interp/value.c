/* Strided copies: what the rules of the interpreter share. */
#include "interp/value.h"

#include <string.h>

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
