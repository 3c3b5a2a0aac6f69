/* Blocks of edge rows, added up by their other ends. */
#include "run/stage.h"

#include "base/pool.h"
#include "run/buffers.h"

#include <string.h>

enum { GROUP = 32, MAX_RANGES = 64, RANGE_ELEMENTS = 1 << 13, ZERO_BYTES = 1 << 20, AHEAD = 16 };
_Static_assert((int)BLOCK_EDGES == (int)STAGED_EDGES, "costs count the blocks that run");
_Static_assert((int)LONG_EDGES == (int)GROUP, "a row of one group needs no carry");

#define INLINE static inline __attribute__((always_inline))
typedef float F32s __attribute__((vector_size(16), aligned(4), may_alias));
typedef double F64s __attribute__((vector_size(16), aligned(8), may_alias));

static size_t row_bytes(const StagedSum *t) { return (size_t)t->n * (t->f64 ? 8 : 4); }

INLINE int64_t index_at(const void *list, bool wide, int64_t k) {
    return wide ? ((const int64_t *)list)[k] : ((const int32_t *)list)[k];
}

/* ---- rows ---- */

INLINE void add_row(char *to, const char *from, int64_t n, bool f64) {
    int64_t i = 0, lanes = f64 ? 2 : 4, size = f64 ? 8 : 4;
    for (; i + lanes <= n; i += lanes) {
        if (f64) *(F64s *)(to + i * size) += *(const F64s *)(from + i * size);
        else *(F32s *)(to + i * size) += *(const F32s *)(from + i * size);
    }
    for (; i < n; i++) {
        if (f64) ((double *)to)[i] += ((const double *)from)[i];
        else ((float *)to)[i] += ((const float *)from)[i];
    }
}

static void move_row(const StagedSum *t, char *to, char *from) {
    add_row(to, from, t->n, t->f64);
    memset(from, 0, row_bytes(t));
}

/* Of a long end: what was added to acc up to edge `end` is a group. */
static void close_group(const StagedSum *t, int64_t number, int64_t end, char *acc) {
    char *first = t->carry + 2 * (size_t)number * row_bytes(t), *second = first + row_bytes(t);
    int64_t start = (end - 1) / GROUP * GROUP;
    move_row(t, first, acc);
    if (start % (GROUP * GROUP) == GROUP * (GROUP - 1)) move_row(t, second, first);
}

static void close_end(const StagedSum *t, int64_t number, char *acc) {
    char *first = t->carry + 2 * (size_t)number * row_bytes(t), *second = first + row_bytes(t);
    if (t->count[number] % GROUP) close_group(t, number, t->count[number], acc);
    move_row(t, first, acc);
    move_row(t, second, first);
    move_row(t, acc, second);
}

/* ---- a block's ranges of ends ---- */

typedef struct {
    const Stage *s;
    int64_t first, last, ranges; /* of order, of the block */
} Add;

/* Entries [first, last) of order, `first` being the block's. */
INLINE void add_edges(const Add *a, const StagedSum *t, int64_t k, int64_t end, bool f64,
                      bool wide) {
    const void *order = a->s->blocks->order, *col = a->s->csr->col,
               *number = a->s->blocks->long_number;
    int64_t size = t->n * (f64 ? 8 : 4);
    for (; k < end; k++) {
        int64_t p = index_at(order, wide, k), c = index_at(col, wide, p);
        int64_t ahead = index_at(col, wide, index_at(order, wide, k + AHEAD < end ? k + AHEAD : k));
        char *acc = t->out + c * size;
        __builtin_prefetch(t->out + ahead * size, 1);
        add_row(acc, t->scratch + (p - a->first) * size, t->n, f64);
        int64_t row = number ? index_at(number, wide, c) : -1;
        if (row >= 0 && ++t->count[row] % GROUP == 0) close_group(t, row, t->count[row], acc);
    }
}

/* Where range r starts: an end is in one range. */
static int64_t range_start(const Add *a, int64_t r) {
    const Stage *s = a->s;
    const void *col = s->csr->col, *order = s->blocks->order;
    bool wide = s->csr->wide;
    int64_t k = a->first + (a->last - a->first) * r / a->ranges;
    while (k > a->first && k < a->last &&
           index_at(col, wide, index_at(order, wide, k)) ==
               index_at(col, wide, index_at(order, wide, k - 1)))
        k++;
    return k;
}

static void add_task(void *ctx, int64_t task) {
    const Add *a = ctx;
    const StagedSum *t = &a->s->sums[task / a->ranges];
    int64_t r = task % a->ranges, k = range_start(a, r), end = range_start(a, r + 1);
    bool wide = a->s->csr->wide;
    if (t->f64 && wide) add_edges(a, t, k, end, true, true);
    else if (t->f64) add_edges(a, t, k, end, true, false);
    else if (wide) add_edges(a, t, k, end, false, true);
    else add_edges(a, t, k, end, false, false);
}

static Status run_tasks(const Stage *s, int64_t num, void (*task)(void *ctx, int64_t k),
                        void *ctx) {
    if (!s->alone && num > 1) return pool_run(num, task, ctx);
    for (int64_t k = 0; k < num; k++) task(ctx, k);
    return ST_OK;
}

Status stage_add(Stage *s, int64_t block) {
    Add a = {s, blocks_edge(s->blocks, block), blocks_edge(s->blocks, block + 1), 1};
    int64_t most = 1;
    for (int64_t k = 0; k < s->num_sums; k++)
        if (s->sums[k].n > most) most = s->sums[k].n;
    int64_t rows = RANGE_ELEMENTS / most + 1;
    a.ranges = (a.last - a.first) / rows + 1;
    if (a.ranges > MAX_RANGES) a.ranges = MAX_RANGES;
    return run_tasks(s, s->num_sums * a.ranges, add_task, &a);
}

/* ---- before and after ---- */

typedef struct {
    char *data;
    size_t size;
} Zero;

static void zero_task(void *ctx, int64_t k) {
    const Zero *z = ctx;
    size_t at = (size_t)k * ZERO_BYTES, left = z->size - at;
    memset(z->data + at, 0, left < ZERO_BYTES ? left : ZERO_BYTES);
}

static Status zero(const Stage *s, char *data, size_t size) {
    Zero z = {data, size};
    return run_tasks(s, (int64_t)((size + ZERO_BYTES - 1) / ZERO_BYTES), zero_task, &z);
}

static Status open_sum(const Stage *s, StagedSum *t) {
    size_t num = (size_t)s->blocks->num_long, carry = 2 * num * row_bytes(t);
    Status st = zero(s, t->out, (size_t)s->csr->num_cols * row_bytes(t));
    if (st) return st;
    t->scratch = buf_alloc((size_t)s->blocks->most_edges * row_bytes(t), "edges of a block");
    if (!t->scratch) return ST_NOMEM;
    if (!num) return ST_OK;
    t->carry = buf_alloc(carry, "groups of long sums");
    t->count = t->carry ? buf_alloc(num * sizeof *t->count, "counts of long sums") : NULL;
    if (!t->count) return ST_NOMEM;
    memset(t->count, 0, num * sizeof *t->count);
    return zero(s, t->carry, carry);
}

Status stage_open(Stage *s) {
    Status st = ST_OK;
    for (int64_t k = 0; k < s->num_sums; k++) {
        StagedSum *t = &s->sums[k];
        t->out = t->buffer->data;
        t->scratch = t->carry = NULL;
        t->count = NULL;
    }
    for (int64_t k = 0; k < s->num_sums && !st; k++) st = open_sum(s, &s->sums[k]);
    return st;
}

void stage_block(Stage *s, int64_t block) {
    size_t first = (size_t)blocks_edge(s->blocks, block);
    for (int64_t k = 0; k < s->num_sums; k++) {
        StagedSum *t = &s->sums[k];
        t->buffer->data = (char *)((uintptr_t)t->scratch - first * row_bytes(t));
    }
}

static void close_long(const Stage *s, const StagedSum *t) {
    const void *number = s->blocks->long_number;
    for (int64_t c = 0; t->count && c < s->csr->num_cols; c++) {
        int64_t row = index_at(number, s->csr->wide, c);
        if (row >= 0) close_end(t, row, t->out + (size_t)c * row_bytes(t));
    }
}

void stage_close(Stage *s) {
    for (int64_t k = 0; k < s->num_sums; k++) {
        StagedSum *t = &s->sums[k];
        if (t->carry) close_long(s, t);
        t->buffer->data = t->out;
        buf_free(t->scratch);
        buf_free(t->carry);
        buf_free(t->count);
    }
}
