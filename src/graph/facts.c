/* What an edge list is like: sortedness, self loops, duplicates. */
#include "graph/graph_internal.h"

#include "base/mem.h"
#include "base/pool.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const Csr *c;
    _Atomic int64_t self_loops, first_loop, first_unsorted;
} Facts;

static void keep_least(_Atomic int64_t *least, int64_t value) {
    int64_t seen = atomic_load(least);
    while (value < seen && !atomic_compare_exchange_weak(least, &seen, value)) {}
}

/* Row r, as far as positions [begin, end) of it go. */
static void look_at_row(Facts *f, int64_t r, int64_t begin, int64_t end) {
    const Csr *c = f->c;
    int64_t loops = 0, before = begin > c->row_ptr[r] ? index_get(c->col, c->wide, begin - 1) : -1;
    for (int64_t p = begin; p < end; p++) {
        int64_t col = index_get(c->col, c->wide, p);
        if (col < before) keep_least(&f->first_unsorted, r);
        if (col == r) {
            keep_least(&f->first_loop, edge_at(c, p));
            loops++;
        }
        before = col;
    }
    if (loops) atomic_fetch_add(&f->self_loops, loops);
}

static void look_at_chunk(void *ctx, int64_t k) {
    Facts *f = ctx;
    const Chunk *chunk = &f->c->chunks[k];
    if (chunk->part) {
        look_at_row(f, chunk->row, chunk->edge, chunk->edge_end);
        return;
    }
    for (int64_t r = chunk->row; r < chunk->row_end; r++)
        look_at_row(f, r, f->c->row_ptr[r], f->c->row_ptr[r + 1]);
}

static int64_t or_none(int64_t least) { return least == INT64_MAX ? -1 : least; }

Status facts_find(const Csr *c, GraphFacts *out) {
    Facts f = {.c = c, .first_loop = INT64_MAX, .first_unsorted = INT64_MAX};
    Status st = pool_run(c->num_chunks, look_at_chunk, &f);
    if (st) return st;
    *out = (GraphFacts){.sorted = f.first_unsorted == INT64_MAX,
                        .self_loops = f.self_loops,
                        .first_unsorted_row = or_none(f.first_unsorted),
                        .first_self_loop = or_none(f.first_loop)};
    return ST_OK;
}

/* Edges whose both ends an earlier edge has; first: the least edge number, or -1. On one thread: a
 * mark for each source says which row saw it last. */
static Status duplicates_find(const Csr *c, int64_t *number, int64_t *first) {
    void *memory = NULL;
    Status st = buffer_new("marks of sources", c->num_cols, 0, sizeof(int64_t), &memory);
    if (st) return st;
    int64_t *seen = memory, least = INT64_MAX;
    memset(seen, 0xff, (size_t)c->num_cols * sizeof *seen);
    *number = 0;
    for (int64_t r = 0; r < c->num_rows; r++)
        for (int64_t p = c->row_ptr[r]; p < c->row_ptr[r + 1]; p++) {
            int64_t col = index_get(c->col, c->wide, p);
            if (seen[col] == r) {
                ++*number;
                if (edge_at(c, p) < least) least = edge_at(c, p);
            }
            seen[col] = r;
        }
    *first = or_none(least);
    mem_free(memory);
    return ST_OK;
}

static size_t put(char *text, size_t size, size_t used, const char *what, int64_t number,
                  const char *unit, int64_t first) {
    const char *between = used ? "\n" : "";
    return used + (size_t)snprintf(text + used, size - used,
                                   "%s%" PRId64 " %s (first: %s %" PRId64 ")", between, number,
                                   what, unit, first);
}

Status findings_write(const Csr *c, char *text, size_t size) {
    GraphFacts f;
    int64_t duplicates, first;
    Status st = facts_find(c, &f);
    if (!st) st = duplicates_find(c, &duplicates, &first);
    if (st) return st;
    size_t n = 0;
    if (duplicates) n = put(text, size, n, "duplicate edges", duplicates, "edge", first);
    if (f.self_loops && c->num_rows == c->num_cols)
        n = put(text, size, n, "self loops", f.self_loops, "edge", f.first_self_loop);
    if (!f.sorted)
        snprintf(text + n, size - n, "%srows are not sorted (first: row %" PRId64 ")",
                 n ? "\n" : "", f.first_unsorted_row);
    return ST_OK;
}

/* ---- in words ---- */

typedef struct {
    char *text;
    size_t size, used;
} Lines;

static void __attribute__((format(printf, 2, 3))) line(Lines *l, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(l->text + l->used, l->size - l->used, format, args);
    va_end(args);
    l->used += (size_t)n < l->size - l->used ? (size_t)n : l->size - l->used - 1;
}

static void explain_degrees(Lines *l, const Csr *c) {
    int64_t least = INT64_MAX, empty = 0;
    for (int64_t r = 0; r < c->num_rows; r++) {
        int64_t n = c->row_ptr[r + 1] - c->row_ptr[r];
        if (n < least) least = n;
        empty += !n;
    }
    if (c->num_rows)
        line(l,
             "in-degree: %" PRId64 " to %" PRId64 ", mean %.4g; %" PRId64
             " destinations have none\n",
             least, c->max_degree, (double)c->num_edges / (double)c->num_rows, empty);
}

Status graph_explain(Graph *g, char *text, size_t size) {
    const Csr *c;
    const GraphFacts *f;
    Lines l = {text, size, 0};
    Status st = graph_csr(g, true, &c);
    if (!st) st = graph_facts(g, &f);
    if (st) return st;
    line(&l, "relation: %" PRId64 " sources, %" PRId64 " destinations, %" PRId64 " edges\n",
         c->num_cols, c->num_rows, c->num_edges);
    explain_degrees(&l, c);
    line(&l, "edge order: %s\n",
         c->edge ? "the caller's; rows are read through a permutation" : "by destination");
    if (f->sorted) line(&l, "rows: sources ascend\n");
    else line(&l, "rows: sources do not ascend in row %" PRId64 "\n", f->first_unsorted_row);
    if (graph_is_homogeneous(g)) line(&l, "self loops: %" PRId64 "\n", f->self_loops);
    line(&l, "indices: %d bits\n", c->wide ? 64 : 32);
    line(&l, "chunks: %" PRId64 "%s\n", c->num_chunks,
         c->has_split ? ", some a part of one row" : "");
    line(&l, "memory: %" PRIu64 " bytes", graph_bytes(g));
    for (const char *p = graph_findings(g); *p;) {
        size_t n = strcspn(p, "\n");
        line(&l, "\nfinding: %.*s", (int)n, p);
        p += n + (p[n] != 0);
    }
    return ST_OK;
}
