/* Positions in blocks of BLOCK_EDGES at most, each block's in the order of their other ends: for sums to
 * those ends of what is known row by row.
 *
 * A task takes whole rows that make one block; a longer row is a task alone, of several blocks. The edges are
 * grouped by their other end once, stably, and dealt out to the blocks. O(nodes + edges log blocks). */
#include "graph/graph_internal.h"

#include "base/mem.h"

static int64_t task_end(const Csr *c, int64_t row) {
    int64_t most = c->row_ptr[row] + BLOCK_EDGES, end = row + 1;
    while (end < c->num_rows && end - row < CHUNK_ROWS && c->row_ptr[end + 1] <= most) end++;
    return end;
}

/* Counts tasks and blocks, and lists them where there is room. */
static void cut_tasks(const Csr *c, Blocks *b, int64_t *row, int64_t *block, int64_t *edge) {
    b->num_tasks = b->num_blocks = 0;
    for (int64_t r = 0, end; r < c->num_rows; r = end) {
        end = task_end(c, r);
        if (row) row[b->num_tasks] = r, block[b->num_tasks] = b->num_blocks;
        b->num_tasks++;
        int64_t e = c->row_ptr[r];
        do {
            if (row) edge[b->num_blocks] = e;
            b->num_blocks++;
            e += BLOCK_EDGES;
        } while (e < c->row_ptr[end]);
    }
    if (!row) return;
    row[b->num_tasks] = c->num_rows;
    block[b->num_tasks] = b->num_blocks;
    edge[b->num_blocks] = c->num_edges;
}

static int64_t block_of(const Blocks *b, int64_t position) {
    int64_t low = 0, high = b->num_blocks - 1; /* the last that starts at or before it */
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (b->edge[middle] <= position) low = middle;
        else high = middle - 1;
    }
    return low;
}

static bool is_long(const Csr *by_col, int64_t col) {
    return by_col->row_ptr[col + 1] - by_col->row_ptr[col] > LONG_EDGES;
}

/* by_col: positions grouped by their other end. next: where each block's next edge goes. */
static void deal_out(const Blocks *b, const Csr *by_col, int64_t *next, uint16_t *place,
                     void *end) {
    for (int64_t k = 0; k < b->num_blocks; k++) next[k] = b->edge[k];
    for (int64_t c = 0; c < by_col->num_rows; c++) {
        int64_t flag = is_long(by_col, c) ? LONG_END : 0;
        for (int64_t k = by_col->row_ptr[c]; k < by_col->row_ptr[c + 1]; k++) {
            int64_t p = edge_at(by_col, k), at = next[block_of(b, p)]++;
            place[at] = (uint16_t)(p % MOST_PLACES + flag);
            index_put(end, b->wide, at, c);
        }
    }
}

static Status sort_edges(Blocks *b, const Csr *by_col) {
    void *next, *place, *end;
    Status st = buffer_new("edges of blocks", b->num_edges, 0, sizeof(uint16_t), &place);
    if (st) return st;
    b->place = place;
    st = buffer_new("ends of blocks", b->num_edges, 0, index_size(b->wide), &end);
    if (st) return st;
    b->end = end;
    st = buffer_new("counters of blocks", b->num_blocks, 0, sizeof(int64_t), &next);
    if (st) return st;
    deal_out(b, by_col, next, place, end);
    mem_free(next);
    return ST_OK;
}

static Status number_long(Blocks *b, const Csr *by_col) {
    for (int64_t c = 0; c < by_col->num_rows; c++) b->num_long += is_long(by_col, c);
    if (!b->num_long) return ST_OK;
    void *number;
    Status st = buffer_new("long rows", by_col->num_rows, 0, index_size(b->wide), &number);
    if (st) return st;
    b->number = number;
    for (int64_t c = 0, n = 0; c < by_col->num_rows; c++)
        index_put(number, b->wide, c, is_long(by_col, c) ? n++ : -1);
    return ST_OK;
}

static Status cut(Blocks *b, const Csr *c) {
    void *row, *block, *edge;
    cut_tasks(c, b, NULL, NULL, NULL);
    Status st = buffer_new("tasks of blocks", b->num_tasks, 1, sizeof(int64_t), &row);
    if (st) return st;
    b->row = row;
    st = buffer_new("blocks of tasks", b->num_tasks, 1, sizeof(int64_t), &block);
    if (st) return st;
    b->block = block;
    st = buffer_new("blocks", b->num_blocks, 1, sizeof(int64_t), &edge);
    if (st) return st;
    b->edge = edge;
    cut_tasks(c, b, row, block, edge);
    return ST_OK;
}

Status blocks_new(const Csr *c, Blocks **out) {
    Csr by_col = {c->num_cols, c->num_cols, c->num_edges, .wide = c->wide};
    void *memory = NULL;
    Status st = buffer_new("blocks of rows", 1, 0, sizeof(Blocks), &memory);
    if (st) return st;
    Blocks *b = memory;
    *b = (Blocks){.num_edges = c->num_edges, .wide = c->wide};
    st = cut(b, c);
    if (!st) st = group_edges(&by_col, c->col, c->col);
    if (!st) st = sort_edges(b, &by_col);
    if (!st) st = number_long(b, &by_col);
    csr_free(&by_col);
    if (st) blocks_free(b);
    else *out = b;
    return st;
}

void blocks_free(Blocks *b) {
    if (!b) return;
    mem_free((void *)b->row);
    mem_free((void *)b->block);
    mem_free((void *)b->edge);
    mem_free((void *)b->place);
    mem_free((void *)b->end);
    mem_free((void *)b->number);
    mem_free(b);
}

uint64_t blocks_bytes(const Blocks *b, int64_t num_cols) {
    uint64_t ends = (uint64_t)b->num_edges + (b->number ? (uint64_t)num_cols : 0);
    uint64_t starts = 2 * (uint64_t)(b->num_tasks + 1) + (uint64_t)(b->num_blocks + 1);
    return sizeof *b + starts * sizeof *b->row + (uint64_t)b->num_edges * sizeof *b->place +
           ends * index_size(b->wide);
}
