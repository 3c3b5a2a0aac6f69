#include "common.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

void check(tg_status st) {
    if (st) die("%s", tg_errmsg());
}

/* All blocks that zeros gave; whoever looks for leaks sees that they are held. */
typedef struct Block {
    struct Block *next;
    _Alignas(16) char data[];
} Block;
static Block *kept;

void *zeros(int64_t count, size_t size) {
    size_t bytes;
    Block *b = NULL;
    if (count >= 0 && !__builtin_mul_overflow((size_t)count, size, &bytes) &&
        bytes < SIZE_MAX - sizeof *b)
        b = calloc(1, sizeof *b + bytes);
    if (!b) die("out of memory: %lld things of %zu bytes", (long long)count, size);
    b->next = kept;
    kept = b;
    return b->data;
}

float *floats(int64_t count) { return zeros(count, sizeof(float)); }

/* ---- .npy ---- */

static const struct {
    const char *descr;
    tg_dtype dtype;
    size_t size;
} npy_types[] = {
    {"|b1", TG_BOOL, 1},    {"<i4", TG_INT32, 4},   {"<i8", TG_INT64, 8},
    {"<f4", TG_FLOAT32, 4}, {"<f8", TG_FLOAT64, 8},
};

/* The text of the header's dictionary, after the magic string, two bytes of version, the length. */
static char *npy_header(FILE *f, const char *path) {
    unsigned char start[12];
    if (fread(start, 1, 10, f) != 10 || memcmp(start, "\x93NUMPY", 6) != 0)
        die("%s is no .npy file", path);
    size_t len = start[8] | (size_t)start[9] << 8;
    if (start[6] > 1) {
        if (fread(start + 10, 1, 2, f) != 2) die("%s ends early", path);
        len |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    char *text = zeros((int64_t)len + 1, 1);
    if (fread(text, 1, len, f) != len) die("%s ends early", path);
    return text;
}

static int npy_shape(const char *header, int64_t shape[TG_MAX_RANK]) {
    const char *p = strstr(header, "'shape':");
    int rank = 0;
    p = p ? strchr(p, '(') : NULL;
    for (char *end; p && rank < TG_MAX_RANK; p = end) {
        shape[rank] = strtoll(p + 1, &end, 10);
        if (end == p + 1) break;
        rank++;
        end += strspn(end, " ");
        if (*end != ',') break;
    }
    return rank;
}

static size_t npy_type(const char *header, const char *path) {
    for (size_t k = 0; k < sizeof npy_types / sizeof *npy_types; k++)
        if (strstr(header, npy_types[k].descr)) return k;
    die("%s: a dtype that is not read here: %s", path, header);
}

tg_array read_npy(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) die("%s cannot be read", path);
    char *header = npy_header(f, path);
    if (strstr(header, "'fortran_order': True")) die("%s is in Fortran's order", path);
    int64_t shape[TG_MAX_RANK], count = 1;
    int rank = npy_shape(header, shape);
    for (int k = 0; k < rank; k++) count *= shape[k];
    size_t type = npy_type(header, path);
    void *data = zeros(count, npy_types[type].size);
    if (fread(data, npy_types[type].size, (size_t)count, f) != (size_t)count)
        die("%s ends early", path);
    fclose(f);
    return tg_dense(data, npy_types[type].dtype, rank, shape);
}

int64_t *whole_numbers(tg_array x) {
    if (x.rank != 1 || (x.dtype != TG_INT32 && x.dtype != TG_INT64))
        die("not a list of whole numbers");
    if (x.dtype == TG_INT64) return x.data;
    int64_t *wide = zeros(x.shape[0], sizeof *wide);
    for (int64_t k = 0; k < x.shape[0]; k++) wide[k] = ((const int32_t *)x.data)[k];
    return wide;
}

/* ---- Matrix Market ---- */

/* The first line that is no comment, after the banner. */
static void mtx_size_line(FILE *f, const char *path, char line[1024]) {
    do {
        if (!fgets(line, 1024, f)) die("%s ends early", path);
    } while (line[0] == '%');
}

static bool mtx_is_symmetric(FILE *f, const char *path) {
    char banner[1024] = "";
    if (!fgets(banner, sizeof banner, f) ||
        strncmp(banner, "%%MatrixMarket matrix coordinate", 32) != 0)
        die("%s is no Matrix Market file of coordinates", path);
    return strstr(banner, "general") == NULL;
}

static void put_entry(Entries *m, int64_t row, int64_t col) {
    m->row[m->num_entries] = row;
    m->col[m->num_entries++] = col;
}

Entries read_mtx(const char *path) {
    char line[1024];
    FILE *f = fopen(path, "r");
    if (!f) die("%s cannot be read", path);
    bool symmetric = mtx_is_symmetric(f, path);
    mtx_size_line(f, path, line);
    long long rows, cols, lines, i, j;
    if (sscanf(line, "%lld %lld %lld", &rows, &cols, &lines) != 3) die("%s: no size line", path);
    Entries m = {rows, cols, 0, zeros(2 * lines, sizeof *m.row), zeros(2 * lines, sizeof *m.col)};
    for (long long k = 0; k < lines; k++) {
        if (!fgets(line, sizeof line, f) || sscanf(line, "%lld %lld", &i, &j) != 2)
            die("%s ends early", path);
        put_entry(&m, i - 1, j - 1);
        if (symmetric && i != j) put_entry(&m, j - 1, i - 1);
    }
    fclose(f);
    return m;
}

/* ---- numbers at random ---- */

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t stream(uint64_t seed) { return next(&seed); }

float uniform(uint64_t *state) { return (float)(next(state) >> 40) / (1 << 24); }

void glorot(float *w, int64_t rows, int64_t cols, uint64_t *coins) {
    float bound = sqrtf(6.f / (float)(rows + cols));
    for (int64_t i = 0; i < rows * cols; i++) w[i] = bound * (2 * uniform(coins) - 1);
}
