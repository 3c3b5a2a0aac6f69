/* What the examples share: one way to fail, files of arrays and matrices, numbers drawn at random.
 * Memory that these functions give lives as long as the program. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <tiga/tiga.h>

/* Prints a message and ends the program. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends the program with Tiga's message where st is not TG_OK, or where a handle is NULL. */
void check(tg_status st);
#define check_handle(handle) check((handle) ? TG_OK : tg_errcode())

/* count zeros of that many bytes each. */
void *zeros(int64_t count, size_t size);

float *floats(int64_t count);

/* The array in folder/name.npy, row-major, little-endian (numpy.lib.format). */
tg_array read_npy(const char *folder, const char *name);
/* The whole numbers of a rank 1 array of int32 or int64. */
int64_t *whole_numbers(tg_array x);

/* The entries of a sparse matrix; those of a symmetric one on both sides of the diagonal. */
typedef struct {
    int64_t num_rows, num_cols, num_entries;
    int64_t *row, *col;
} Entries;

/* The positions in a Matrix Market file of format "matrix coordinate"; values are passed over. */
Entries read_mtx(const char *path);

/* The next number of a stream, at least 0 and below 1, and the stream's start for a seed (splitmix64: Steele,
 * Lea and Flood, OOPSLA 2014). common.py draws the same numbers. */
uint64_t stream(uint64_t seed);
float uniform(uint64_t *stream);
/* Glorot and Bengio's uniform start (AISTATS 2010) of a rows x cols matrix. */
void glorot(float *w, int64_t rows, int64_t cols, uint64_t *stream);

#endif
