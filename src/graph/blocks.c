/* Rows in blocks of about BLOCK_EDGES edges, each block's edges in the order of their other ends: for sums
 * to those ends of what is known row by row.
 *
 * A block is cut into pieces small enough to occupy several threads; the parts of a split row stay together.
 * The edges are grouped by their other end once, stably, and dealt out to the blocks.
 * O(nodes + edges log blocks). */
#include "graph/graph_internal.h"

#include "base/mem.h"

enum { PIECE_EDGES = 1024 };

/* Whole rows from r on, up to PIECE_EDGES edges or a row that is longer. */
static int64_t piece_end(const Csr *c, int64_t r, int64_t row_end) {
    int64_t most = c->row_ptr[r] + PIECE_EDGES;
    for (r++; r < row_end && c->row_ptr[r + 1] <= most;) r++;
    return r;
}

/* The number of pieces; they go to out where that is not NULL. */
static int64_t cut_pieces(const Csr *c, Chunk *out) {
    int64_t n = 0;
    for (int64_t k = 0; k < c->num_chunks; k++) {
        Chunk whole = c->chunks[k];
        for (int64_t r = whole.row, end; r < whole.row_end; r = end, n++) {
            end = whole.part ? whole.row_end : piece_end(c, r, whole.row_end);
            if (!out) continue;
            out[n] = (Chunk){r, end, c->row_ptr[r], c->row_ptr[end], false};
            if (whole.part) out[n] = whole;
        }
    }
    return n;
}

/* The number of blocks; their first pieces, and the number of those, go to first. */
static int64_t cut_blocks(const Csr *c, const Chunk *pieces, int64_t num, int64_t *first) {
    int64_t blocks = 0, start = 0;
    for (int64_t k = 0; k < num; k++) {
        bool goes_on =
            k && pieces[k].part && pieces[k - 1].part && pieces[k - 1].row == pieces[k].row;
        bool fits = c->row_ptr[pieces[k].row_end] - start <= BLOCK_EDGES;
        if (k && (goes_on || fits)) continue;
        start = pieces[k].edge;
        if (first) first[blocks] = k;
        blocks++;
    }
    if (first) first[blocks] = num;
    return blocks;
}

int64_t blocks_edge(const Blocks *b, int64_t block) {
    return block == b->num_blocks ? b->num_edges : b->pieces[b->first[block]].edge;
}

static int64_t block_of(const Blocks *b, int64_t position) {
    int64_t low = 0, high = b->num_blocks - 1; /* the last that starts at or before it */
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (blocks_edge(b, middle) <= position) low = middle;
        else high = middle - 1;
    }
    return low;
}

/* by_col: positions grouped by their other end. next: where each block's next edge goes. */
static void deal_out(const Blocks *b, const Csr *by_col, int64_t *next, void *order) {
    for (int64_t k = 0; k < b->num_blocks; k++) next[k] = blocks_edge(b, k);
    for (int64_t k = 0; k < by_col->num_edges; k++) {
        int64_t p = edge_at(by_col, k);
        index_put(order, by_col->wide, next[block_of(b, p)]++, p);
    }
}

static Status order_edges(Blocks *b, const Csr *by_col) {
    void *next, *order;
    Status st = buffer_new("edges of blocks", b->num_edges, 0, index_size(b->wide), &order);
    if (st) return st;
    b->order = order;
    st = buffer_new("counters of blocks", b->num_blocks, 0, sizeof(int64_t), &next);
    if (st) return st;
    deal_out(b, by_col, next, order);
    mem_free(next);
    return ST_OK;
}

static Status number_long(Blocks *b, const Csr *by_col) {
    for (int64_t r = 0; r < by_col->num_rows; r++)
        b->num_long += by_col->row_ptr[r + 1] - by_col->row_ptr[r] > LONG_EDGES;
    if (!b->num_long) return ST_OK;
    void *number;
    Status st = buffer_new("long rows", by_col->num_rows, 0, index_size(b->wide), &number);
    if (st) return st;
    b->long_number = number;
    for (int64_t r = 0, n = 0; r < by_col->num_rows; r++) {
        bool is_long = by_col->row_ptr[r + 1] - by_col->row_ptr[r] > LONG_EDGES;
        index_put(number, b->wide, r, is_long ? n++ : -1);
    }
    return ST_OK;
}

static Status cut(Blocks *b, const Csr *c) {
    void *memory;
    b->num_pieces = cut_pieces(c, NULL);
    Status st = buffer_new("pieces of blocks", b->num_pieces, 0, sizeof(Chunk), &memory);
    if (st) return st;
    b->pieces = memory;
    cut_pieces(c, memory);
    b->num_blocks = cut_blocks(c, b->pieces, b->num_pieces, NULL);
    st = buffer_new("blocks", b->num_blocks, 1, sizeof(int64_t), &memory);
    if (st) return st;
    b->first = memory;
    cut_blocks(c, b->pieces, b->num_pieces, memory);
    for (int64_t k = 0; k < b->num_blocks; k++) {
        int64_t edges = blocks_edge(b, k + 1) - blocks_edge(b, k);
        if (edges > b->most_edges) b->most_edges = edges;
    }
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
    if (!st) st = order_edges(b, &by_col);
    if (!st) st = number_long(b, &by_col);
    csr_free(&by_col);
    if (st) blocks_free(b);
    else *out = b;
    return st;
}

void blocks_free(Blocks *b) {
    if (!b) return;
    mem_free((void *)b->pieces);
    mem_free((void *)b->first);
    mem_free((void *)b->order);
    mem_free((void *)b->long_number);
    mem_free(b);
}

uint64_t blocks_bytes(const Blocks *b, int64_t num_cols) {
    uint64_t indices = (uint64_t)b->num_edges + (b->long_number ? (uint64_t)num_cols : 0);
    return sizeof *b + (uint64_t)b->num_pieces * sizeof(Chunk) +
           (uint64_t)(b->num_blocks + 1) * sizeof(int64_t) + indices * index_size(b->wide);
}
