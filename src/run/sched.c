/* Work is cut into *items*, items are gathered in *groups*, a group is one task.
 *
 * Without slots a group is one item. With slots there is a fixed number of groups, each of
 * neighbouring chunks, and each has its slot, so whatever reduces to `all` is accumulated in row
 * order in a slot and the slots are merged in order.
 *
 *   sweep 0         items are chunks: whole rows run through all phases; parts of split rows
 *                   do phase 0
 *   join p          items are split rows: their parts' states merge by pairs of neighbours, finish(p)
 *   sweep p >= 1    items are parts of split rows
 *   last            slots merge by pairs of neighbours; end
 *
 * A kernel with staged sums never splits a row. Its tasks are those of graph_blocks, each of which adds its edges
 * before it ends; slots take tasks by turns.
 *
 * Kernels in stages are none of that: each stage is a loop over shares. */
#include "run/sched.h"

#include "base/pool.h"
#include "run/buffers.h"

#include <stdlib.h>
#include <string.h>

/* The parts of the rows that are longer than a chunk. */
typedef struct {
    int64_t num_parts, num_rows;
    int64_t *part_of_chunk; /* where that chunk is a part */
    int64_t *chunk;         /* of each part */
    int64_t *first;         /* part of each split row, and num_parts: num_rows + 1 entries */
    char *states;           /* one a part */
    size_t state_stride;
} Split;

typedef struct {
    const Job *job;
    const Chunk *chunks; /* NULL: rows alone */
    int64_t rows_per_chunk, num_chunks, num_slots;
    char *slots; /* num_slots, NULL where there are none */
    size_t slot_stride;
    Split split;
    int64_t phase;
    bool small;
} Sched;

/* ---- chunks and groups ---- */

static Chunk chunk_at(const Sched *s, int64_t c) {
    if (s->chunks) return s->chunks[c];
    int64_t row = c * s->rows_per_chunk, end = row + s->rows_per_chunk,
            last = s->job->args->num_rows;
    return (Chunk){.row = row, .row_end = end < last ? end : last};
}

/* Wide rows make small chunks: about as much work as a chunk of edges of one float. */
static int64_t rows_per_chunk(int64_t width) {
    enum { ELEMENTS = 1 << 16, LEAST = 16, MOST = CHUNK_ROWS };
    int64_t rows = ELEMENTS / width / LEAST * LEAST;
    return rows < LEAST ? LEAST : rows > MOST ? MOST : rows;
}

static int64_t first_chunk_of_slot(const Sched *s, int64_t slot) {
    return slot * s->num_chunks / s->num_slots;
}

/* Of a rising list, the first entry whose value is at least `least`. */
static int64_t lower_bound(const int64_t *list, int64_t len, int64_t least) {
    int64_t low = 0;
    while (low < len) {
        int64_t mid = low + (len - low) / 2;
        if (list[mid] < least) low = mid + 1;
        else len = mid;
    }
    return low;
}

typedef struct {
    int64_t begin, end;
} Range;

static Range chunks_of_group(const Sched *s, int64_t g) {
    if (!s->slots) return (Range){g, g + 1};
    return (Range){first_chunk_of_slot(s, g), first_chunk_of_slot(s, g + 1)};
}

static Range parts_of_group(const Sched *s, int64_t g) {
    if (!s->slots) return (Range){g, g + 1};
    Range c = chunks_of_group(s, g);
    return (Range){lower_bound(s->split.chunk, s->split.num_parts, c.begin),
                   lower_bound(s->split.chunk, s->split.num_parts, c.end)};
}

/* A split row belongs to the group of its first part. */
static Range split_rows_of_group(const Sched *s, int64_t g) {
    if (!s->slots) return (Range){g, g + 1};
    Range p = parts_of_group(s, g);
    return (Range){lower_bound(s->split.first, s->split.num_rows, p.begin),
                   lower_bound(s->split.first, s->split.num_rows, p.end)};
}

static char *slot_of_group(const Sched *s, int64_t g) {
    return s->slots ? s->slots + (size_t)g * s->slot_stride : NULL;
}

static char *state_of_part(const Sched *s, int64_t part) {
    return s->split.states + (size_t)part * s->split.state_stride;
}

static Status run_groups(const Sched *s, int64_t num_items, void (*task)(void *ctx, int64_t g)) {
    int64_t num_groups = s->slots ? s->num_slots : num_items;
    if (!s->small && num_groups > 1) return pool_run(num_groups, task, (void *)s);
    for (int64_t g = 0; g < num_groups; g++) task((void *)s, g);
    return ST_OK;
}

/* ---- tasks ---- */

static void run_part(const Sched *s, int64_t part, int64_t chunk, char *slot) {
    Chunk c = s->chunks[chunk];
    char *state = state_of_part(s, part);
    s->job->code->begin(s->job->args, s->phase, c.row, state);
    s->job->code->part(s->job->args, s->phase, c.row, c.edge, c.edge_end, state, slot);
}

/* A row of several parts is its first part's. */
static void run_whole(const Sched *s, int64_t chunk, char *slot) {
    const Chunk *c = s->chunks + chunk;
    bool again = chunk > 0 && c[-1].part && c[-1].row == c->row;
    if (!again) s->job->code->rows(s->job->args, c->row, c->row_end, slot);
}

static void first_sweep(void *ctx, int64_t g) {
    const Sched *s = ctx;
    char *slot = slot_of_group(s, g);
    Range chunks = chunks_of_group(s, g);
    if (slot) s->job->code->slot_begin(s->job->args, slot);
    for (int64_t k = chunks.begin; k < chunks.end; k++) {
        Chunk c = chunk_at(s, k);
        if (c.part && s->job->whole_rows) run_whole(s, k, slot);
        else if (c.part) run_part(s, s->split.part_of_chunk[k], k, slot);
        else s->job->code->rows(s->job->args, c.row, c.row_end, slot);
    }
}

static void next_sweep(void *ctx, int64_t g) {
    const Sched *s = ctx;
    Range parts = parts_of_group(s, g);
    for (int64_t p = parts.begin; p < parts.end; p++)
        run_part(s, p, s->split.chunk[p], slot_of_group(s, g));
}

/* Neighbours first, then pairs of pairs: rounding grows with the logarithm of their number. */
static void merge_parts(const Sched *s, int64_t first, int64_t n) {
    for (int64_t step = 1; step < n; step *= 2)
        for (int64_t p = first; p + step < first + n; p += 2 * step)
            s->job->code->merge(s->job->args, s->phase, state_of_part(s, p),
                                state_of_part(s, p + step));
}

static void join_row(const Sched *s, int64_t row, char *slot) {
    const Split *split = &s->split;
    const Job *job = s->job;
    int64_t first = split->first[row], end = split->first[row + 1];
    char *state = state_of_part(s, first);
    merge_parts(s, first, end - first);
    job->code->finish(job->args, s->phase, s->chunks[split->chunk[first]].row, state, slot);
    if (s->phase + 1 == job->num_phases) return;
    for (int64_t p = first + 1; p < end; p++)
        memcpy(state_of_part(s, p), state, split->state_stride);
}

static void join(void *ctx, int64_t g) {
    const Sched *s = ctx;
    Range rows = split_rows_of_group(s, g);
    for (int64_t r = rows.begin; r < rows.end; r++) join_row(s, r, slot_of_group(s, g));
}

/* ---- set-up ---- */

static size_t round_up(uint64_t size) { return ((size_t)size + 63) / 64 * 64; }

static void list_parts(Sched *s) {
    Split *split = &s->split;
    const Chunk *chunks = s->chunks;
    int64_t parts = 0, rows = 0;
    for (int64_t c = 0; c < s->num_chunks; c++) {
        if (!chunks[c].part) continue;
        bool same = parts && chunks[split->chunk[parts - 1]].row == chunks[c].row;
        if (!same) split->first[rows++] = parts;
        split->part_of_chunk[c] = parts;
        split->chunk[parts++] = c;
    }
    split->first[rows] = parts;
    split->num_parts = parts;
    split->num_rows = rows;
}

static Status split_begin(Sched *s) {
    Split *split = &s->split;
    size_t n = (size_t)s->num_chunks;
    split->part_of_chunk = buf_alloc((3 * n + 1) * sizeof(int64_t), "parts of split rows");
    if (!split->part_of_chunk) return ST_NOMEM;
    split->chunk = split->part_of_chunk + n;
    split->first = split->chunk + n;
    list_parts(s);
    split->state_stride = round_up(s->job->row_state_size);
    split->states =
        buf_alloc((size_t)split->num_parts * split->state_stride, "states of split rows");
    return split->states ? ST_OK : ST_NOMEM;
}

/* The blocks of the longest row; all slots' together are no more than those of every edge. */
static uint64_t blocks_begin(Sched *s) {
    const Job *job = s->job;
    int64_t most = job->csr->max_degree, edges = job->args->num_edges,
            n = (int64_t)job->block_edges;
    if (most > n && s->num_slots > edges / most) s->num_slots = edges / most;
    return (uint64_t)((most + n - 1) / n) * job->block_bytes;
}

static Status slots_begin(Sched *s) {
    s->slot_stride = round_up(s->job->slot_size);
    int64_t fit = s->slot_stride ? (int64_t)(MOST_SLOT_BYTES / s->slot_stride) : MAX_SLOTS;
    s->num_slots = s->num_chunks < MAX_SLOTS ? s->num_chunks : MAX_SLOTS;
    if (s->num_slots > fit) s->num_slots = fit;
    if (s->num_slots < 1) s->num_slots = 1;
    if (s->job->block_edges) s->slot_stride += round_up(blocks_begin(s));
    s->slots = buf_alloc((size_t)s->num_slots * s->slot_stride, "slots of sums over everything");
    return s->slots ? ST_OK : ST_NOMEM;
}

static Status sweep_and_join(Sched *s) {
    bool is_split = s->split.num_parts > 0;
    Status status = run_groups(s, s->num_chunks, first_sweep);
    if (!status && is_split) status = run_groups(s, s->split.num_rows, join);
    while (!status && is_split && ++s->phase < s->job->num_phases) {
        status = run_groups(s, s->split.num_parts, next_sweep);
        if (!status) status = run_groups(s, s->split.num_rows, join);
    }
    return status;
}

/* ---- staged sums ---- */

static void staged_task(void *ctx, int64_t task) {
    const Sched *s = ctx;
    Stage *stage = s->job->stage;
    int64_t slots = s->slots ? s->num_slots : task + 1;
    const KernelArgs *args = stage_begin(stage, task, slots);
    s->job->code->rows(args, stage_row(stage, task), stage_row(stage, task + 1),
                       slot_of_group(s, task % slots));
    stage_end(args);
}

static Status run_staged(const Sched *s) {
    for (int64_t k = 0; s->slots && k < s->num_slots; k++)
        s->job->code->slot_begin(s->job->args, slot_of_group(s, k));
    if (!s->small) return pool_run(s->num_chunks, staged_task, (void *)s);
    for (int64_t task = 0; task < s->num_chunks; task++) staged_task((void *)s, task);
    return ST_OK;
}

static void finish_slots(const Sched *s) {
    const Job *job = s->job;
    for (int64_t step = 1; s->slots && step < s->num_slots; step *= 2)
        for (int64_t k = 0; k + step < s->num_slots; k += 2 * step)
            job->code->slot_merge(job->args, slot_of_group(s, k), slot_of_group(s, k + step));
    job->code->end(job->args, s->slots);
}

static bool is_small(const Job *job) {
    int64_t work = job->args->num_rows + (job->csr ? job->args->num_edges : 0);
    return work < SMALL_WORK && work * job->width < SMALL_WORK;
}

static Sched plan_chunks(const Job *job) {
    Sched s = {.job = job, .rows_per_chunk = rows_per_chunk(job->width)};
    int64_t rows = job->args->num_rows;
    s.num_chunks = rows / s.rows_per_chunk + (rows % s.rows_per_chunk != 0);
    if (job->csr && job->num_phases) {
        s.chunks = job->csr->chunks;
        s.num_chunks = job->stage ? job->stage->num_tasks : job->csr->num_chunks;
    }
    s.small = is_small(job);
    return s;
}

/* ---- stages ---- */

typedef struct {
    const Job *job;
    int64_t stage;
    char *slot;
} Shared;

static void share_task(void *ctx, int64_t share) {
    const Shared *s = ctx;
    s->job->code->part(s->job->args, s->stage, 0, share, 0, NULL, s->slot);
}

static Status run_stages(const Job *job) {
    Shared s = {.job = job};
    Status status = ST_OK;
    if (job->slot_size) {
        s.slot = buf_alloc(job->slot_size, "intermediate values of dense work");
        if (!s.slot) return ST_NOMEM;
    }
    for (; !status && s.stage < (int64_t)job->num_stages; s.stage++)
        status = pool_run((int64_t)job->num_shares, share_task, &s);
    buf_free(s.slot);
    return status;
}

Status sched_run(const Job *job) {
    if (job->num_stages) return run_stages(job);
    Sched s = plan_chunks(job);
    Status status = ST_OK;
    bool splits = job->csr && job->num_phases && job->csr->has_split && !job->whole_rows;
    if (splits) status = split_begin(&s);
    if (!status && job->has_slots) status = slots_begin(&s);
    if (!status) status = job->stage ? run_staged(&s) : sweep_and_join(&s);
    if (!status) finish_slots(&s);
    buf_free(s.split.part_of_chunk);
    buf_free(s.split.states);
    buf_free(s.slots);
    return status;
}
