/* NumPy's .npy files, versions 1.0 to 3.0: read whole and checked, written.
 *
 * Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. Little-endian float32,
 * float64, int32, int64 and bool, C and Fortran order (as strides); whatever else a file holds is
 * refused by name. Sizes in a header are believed only where the file has as many bytes. */
#ifndef TIGA_TOOLS_NPY_H
#define TIGA_TOOLS_NPY_H

#include "base/mem.h"
#include "base/status.h"
#include "tiga/tiga.h"

/* The array's memory is the arena's. Faults start with the path. */
Status npy_read(Arena *a, const char *path, tg_array *out);
/* The same from bytes, which the array borrows; `name` is what messages say. */
Status npy_parse(const char *name, const void *bytes, size_t size, tg_array *out);
/* Dense, row major. */
Status npy_write(const char *path, const tg_array *x);

#endif
