/* Cuts a grouping into chunks: greedily, as many whole rows as fit; a row that fits into none is
 * cut into parts of equal size. O(chunks log rows). */
#include "graph/graph_internal.h"

#include "base/mem.h"
#include "base/pool.h"

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The end of the chunk that starts at row r: the last row boundary within both limits. */
static int64_t fitting_end(const Csr *c, int64_t r) {
    int64_t most = c->row_ptr[r] + CHUNK_EDGES;
    int64_t low = r + 1, high = least(c->num_rows, r + CHUNK_ROWS);
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (c->row_ptr[middle] <= most) low = middle;
        else high = middle - 1;
    }
    return low;
}

static int64_t num_parts(int64_t edges) {
    return edges <= CHUNK_EDGES ? 1 : (edges - 1) / CHUNK_EDGES + 1;
}

/* Rows [r, end) as n chunks; n > 1 for the parts of one row. */
static void put_chunks(const Csr *c, int64_t r, int64_t end, int64_t n, Chunk *out) {
    int64_t first = c->row_ptr[r], edges = c->row_ptr[end] - first;
    for (int64_t k = 0; k < n; k++)
        out[k] = (Chunk){.row = r,
                         .row_end = end,
                         .edge = first + block_start(edges, n, k),
                         .edge_end = first + block_start(edges, n, k + 1),
                         .part = n > 1};
}

/* The number of chunks; they go to out where that is not NULL. */
static int64_t walk(const Csr *c, Chunk *out) {
    int64_t n = 0;
    for (int64_t r = 0, end; r < c->num_rows; r = end) {
        end = fitting_end(c, r);
        int64_t parts = num_parts(c->row_ptr[end] - c->row_ptr[r]);
        if (out) put_chunks(c, r, end, parts, out + n);
        n += parts;
    }
    return n;
}

typedef struct {
    const Csr *c;
    int64_t blocks, most[MAX_BLOCKS];
} Degrees;

static void largest_degree(void *ctx, int64_t k) {
    Degrees *d = ctx;
    const int64_t *p = d->c->row_ptr;
    int64_t end = block_start(d->c->num_rows, d->blocks, k + 1), most = 0;
    for (int64_t r = block_start(d->c->num_rows, d->blocks, k); r < end; r++)
        if (p[r + 1] - p[r] > most) most = p[r + 1] - p[r];
    d->most[k] = most;
}

Status csr_finish(Csr *c) {
    Degrees d = {.c = c, .blocks = num_blocks(c->num_rows)};
    Status st = pool_run(d.blocks, largest_degree, &d);
    if (st) return st;
    for (int64_t k = 0; k < d.blocks; k++)
        if (d.most[k] > c->max_degree) c->max_degree = d.most[k];
    void *chunks;
    c->num_chunks = walk(c, NULL);
    st = buffer_new("chunks", c->num_chunks, 0, sizeof(Chunk), &chunks);
    if (st) return st;
    walk(c, chunks);
    c->chunks = chunks;
    c->has_split = c->max_degree > CHUNK_EDGES;
    return ST_OK;
}

Status csr_of_one_row(int64_t n, Csr *out) {
    void *row_ptr;
    Status st = buffer_new("row_ptr", 1, 1, sizeof *out->row_ptr, &row_ptr);
    *out = (Csr){0};
    if (st) return st;
    ((int64_t *)row_ptr)[0] = 0;
    ((int64_t *)row_ptr)[1] = n;
    *out = (Csr){.num_rows = 1, .num_edges = n, .row_ptr = row_ptr};
    st = csr_finish(out);
    if (st) csr_free(out), *out = (Csr){0};
    return st;
}

void csr_free(Csr *c) {
    mem_free((void *)c->row_ptr);
    mem_free((void *)c->col);
    mem_free((void *)c->edge);
    mem_free((void *)c->chunks);
}
