/* Blocks of edge rows, added up by their other ends. */
#include "run/stage.h"

#include "base/pool.h"
#include "run/buffers.h"

#include <stdatomic.h>
#include <string.h>

enum { GROUP = 32, NUM_RANGES = 32, ZERO_BYTES = 1 << 20, AHEAD = 48, LINE = 64 };
_Static_assert((int)BLOCK_EDGES == (int)STAGED_LEAST, "a block takes whole ones of the relation");
_Static_assert((int)MOST_PLACES == (int)STAGED_MOST, "a place is known modulo any block");
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

/* ---- a block's edges ---- */

enum { MOST_BLOCKS = STAGED_MOST / STAGED_LEAST };

struct Lane { /* one task's at a time */
    KernelArgs args;
    Buffer *buffers;
    Stage *stage;
    char **scratch;           /* by sum: a row of features for each edge of a block, by its place */
    int64_t task, block, end; /* block: the relation's, that is added next; end: of the task */
    atomic_bool taken;
};

/* To be written: a line that another core has must leave it. Compilers hint so for newer processors alone. */
INLINE void ask_for(const char *row, int64_t size) {
    for (int64_t at = 0; at < size; at += LINE) {
#if defined __x86_64__
        __asm__ volatile("prefetchw %0" : : "m"(row[at]));
#else
        __builtin_prefetch(row + at, 1);
#endif
    }
}

/* Edges from k on that go to ends below `limit`, up to `last`; where they stop. n: the sum's. */
INLINE int64_t add_edges(const Lane *l, int64_t sum, int64_t n, int64_t k, int64_t last,
                         int64_t limit, bool f64, bool wide) {
    const Blocks *b = l->stage->blocks;
    const StagedSum *t = &l->stage->sums[sum];
    const char *scratch = l->scratch[sum];
    int64_t size = n * (f64 ? 8 : 4), mask = l->args.block_edges - 1;
    char *out = t->out;
    for (; k < last; k++) {
        int64_t c = index_at(b->end, wide, k), place = b->place[k];
        if (c >= limit) break;
        char *acc = out + c * size;
        ask_for(out + index_at(b->end, wide, k + AHEAD < last ? k + AHEAD : k) * size, size);
        add_row(acc, scratch + (place & mask) * size, n, f64);
        int64_t row = place & LONG_END ? index_at(b->number, wide, c) : -1;
        if (row >= 0 && ++t->count[row] % GROUP == 0) close_group(t, row, t->count[row], acc);
    }
    return k;
}

static int64_t add_range(const Lane *l, int64_t sum, int64_t k, int64_t last, int64_t limit) {
    bool wide = l->stage->blocks->wide, f64 = l->stage->sums[sum].f64;
    int64_t n = l->stage->sums[sum].n;
    if (f64 && wide) return add_edges(l, sum, n, k, last, limit, true, true);
    if (f64) return add_edges(l, sum, n, k, last, limit, true, false);
    if (wide) return add_edges(l, sum, n, k, last, limit, false, true);
    if (n == 1) return add_edges(l, sum, 1, k, last, limit, false, false);
    return add_edges(l, sum, n, k, last, limit, false, false);
}

/* Adds the relation's blocks up to `end`, range by range in turn; the task's last ones let the next task follow. */
static void add_blocks(Lane *l, int64_t end) {
    Stage *s = l->stage;
    const int64_t *edge = &s->blocks->edge[l->block];
    int64_t num = end - l->block, k[MOST_BLOCKS];
    bool leaves = end == l->end;
    memcpy(k, edge, (size_t)num * sizeof *k);
    for (int64_t r = 0; r < NUM_RANGES; r++) {
        int64_t width = s->num_ends / NUM_RANGES;
        int64_t limit = r + 1 == NUM_RANGES ? s->num_ends : width * (r + 1);
        pool_await(&s->turn[r], l->task);
        for (int64_t b = 0; b < num; b++) {
            int64_t from = k[b];
            for (int64_t i = 0; i < s->num_sums; i++)
                k[b] = add_range(l, i, from, edge[b + 1], limit);
        }
        if (leaves) atomic_store_explicit(&s->turn[r], l->task + 1, memory_order_release);
    }
    l->block = end;
}

/* ---- tasks ---- */

static void block_is_full(const KernelArgs *args) {
    Lane *l = (Lane *)args;
    add_blocks(l, l->block + args->block_edges / BLOCK_EDGES);
}

const KernelArgs *stage_begin(Stage *s, int64_t task, int64_t lag) {
    Lane *l = s->lanes;
    while (atomic_exchange(&l->taken, true)) l = l + 1 < s->lanes + s->num_lanes ? l + 1 : s->lanes;
    pool_await(&s->turn[NUM_RANGES - 1], task - lag + 1);
    l->task = task;
    l->block = s->blocks->block[s->first[task]];
    l->end = s->blocks->block[s->first[task + 1]];
    return &l->args;
}

void stage_end(const KernelArgs *args) {
    Lane *l = (Lane *)args;
    add_blocks(l, l->end);
    atomic_store(&l->taken, false);
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

static Status zero(char *data, size_t size) {
    Zero z = {data, size};
    return pool_run((int64_t)((size + ZERO_BYTES - 1) / ZERO_BYTES), zero_task, &z);
}

static Status open_sum(const Stage *s, StagedSum *t) {
    size_t num = (size_t)s->blocks->num_long, carry = 2 * num * row_bytes(t);
    t->out = s->args->buffers[t->buffer].data;
    Status st = zero(t->out, (size_t)s->num_ends * row_bytes(t));
    if (st || !num) return st;
    t->carry = buf_alloc(carry, "groups of long sums");
    t->count = t->carry ? buf_alloc(num * sizeof *t->count, "counts of long sums") : NULL;
    if (!t->count) return ST_NOMEM;
    memset(t->count, 0, num * sizeof *t->count);
    return zero(t->carry, carry);
}

static Status open_lane(Stage *s, Lane *l) {
    int64_t most = s->block_edges,
            edges = s->blocks->num_edges < most ? s->blocks->num_edges : most;
    memcpy(l->buffers, s->args->buffers, s->num_buffers * sizeof *l->buffers);
    l->args = *s->args;
    l->args.buffers = l->buffers;
    l->args.block_edges = s->block_edges;
    l->args.block_is_full = block_is_full;
    l->stage = s;
    for (int64_t k = 0; k < s->num_sums; k++) {
        StagedSum *t = &s->sums[k];
        l->scratch[k] = buf_alloc((size_t)edges * row_bytes(t), "edges of a block");
        if (!l->scratch[k]) return ST_NOMEM;
        l->buffers[t->buffer].data = l->scratch[k];
    }
    return ST_OK;
}

/* Neighbouring tasks of the relation's together, as many as fit a block, and MOST_BLOCKS. */
static Status open_tasks(Stage *s) {
    const Blocks *b = s->blocks;
    s->first = buf_alloc(((size_t)b->num_tasks + 1) * sizeof *s->first, "tasks of a stage");
    if (!s->first) return ST_NOMEM;
    for (int64_t k = 0, start = 0; k < b->num_tasks; k++) {
        int64_t end = b->block[k + 1], edges = b->edge[end] - b->edge[start];
        if (k && edges <= s->block_edges && end - start <= MOST_BLOCKS) continue;
        start = b->block[k];
        s->first[s->num_tasks++] = k;
    }
    s->first[s->num_tasks] = b->num_tasks;
    return ST_OK;
}

/* Turns, lanes, their buffers and scratch pointers in one piece. */
static Status open_lanes(Stage *s) {
    int64_t threads = pool_num_threads();
    s->num_lanes = threads < s->num_tasks ? threads : s->num_tasks;
    size_t lanes = (size_t)s->num_lanes, turns = NUM_RANGES * sizeof *s->turn;
    size_t each = s->num_buffers * sizeof(Buffer) + (size_t)s->num_sums * sizeof(char *);
    size_t size = turns + lanes * (sizeof(Lane) + each);
    char *room = buf_alloc(size, "lanes of a stage");
    if (!room) return ST_NOMEM;
    memset(room, 0, size);
    s->turn = (_Atomic int64_t *)room;
    s->lanes = (Lane *)(room + turns);
    room += turns + lanes * sizeof(Lane);
    Status st = ST_OK;
    for (size_t k = 0; k < lanes; k++, room += each) {
        s->lanes[k].buffers = (Buffer *)room;
        s->lanes[k].scratch = (char **)(room + s->num_buffers * sizeof(Buffer));
        if (!st) st = open_lane(s, &s->lanes[k]);
    }
    return st;
}

Status stage_open(Stage *s) {
    Status st = open_tasks(s);
    if (!st) st = open_lanes(s);
    for (int64_t k = 0; k < s->num_sums && !st; k++) st = open_sum(s, &s->sums[k]);
    return st;
}

static void close_long(const Stage *s, const StagedSum *t) {
    const void *number = s->blocks->number;
    for (int64_t c = 0; t->count && c < s->num_ends; c++) {
        int64_t row = index_at(number, s->blocks->wide, c);
        if (row >= 0) close_end(t, row, t->out + (size_t)c * row_bytes(t));
    }
}

void stage_close(Stage *s) {
    for (int64_t k = 0; k < s->num_sums; k++) {
        StagedSum *t = &s->sums[k];
        if (t->carry) close_long(s, t);
        buf_free(t->carry);
        buf_free(t->count);
        for (int64_t i = 0; s->turn && i < s->num_lanes; i++) buf_free(s->lanes[i].scratch[k]);
    }
    buf_free((void *)s->turn);
    buf_free(s->first);
}
