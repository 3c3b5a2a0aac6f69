/* The three ways to a relation: CSR, COO, regular. Each makes the grouping by destination aside and
 * hands it over last. */
#include "graph/graph_internal.h"

#include "base/mem.h"
#include "base/pool.h"

#include <inttypes.h>

/* ---- CSR ---- */

static Status fill_csr(Csr *c, const IndexArray *row_ptr, const IndexArray *col_idx) {
    void *copy;
    Status st = buffer_new("row_ptr", row_ptr->len, 0, sizeof(int64_t), &copy);
    if (st) return st;
    c->row_ptr = copy;
    st = array_copy_row_ptr(row_ptr, c->num_edges, copy);
    if (st) return st;
    st = buffer_new("col_idx", c->num_edges, 0, index_size(c->wide), &copy);
    if (st) return st;
    c->col = copy;
    return array_copy(col_idx, "col_idx", c->num_cols, "num_src", copy, c->wide);
}

Status graph_from_csr(const IndexArray *row_ptr, const IndexArray *col_idx, int64_t num_src,
                      bool full, Graph **out) {
    Core *core;
    Status st = array_check(row_ptr, "row_ptr");
    if (!st) st = array_check(col_idx, "col_idx");
    if (st) return st;
    if (!row_ptr->len)
        return err_set(ST_INVAL, "row_ptr: is empty, position 0 must hold 0 (num_dst + 1 entries)");
    if (num_src < 0) st = array_count(col_idx, "col_idx", &num_src);
    if (!st) st = core_new(num_src, row_ptr->len - 1, col_idx->len, &core);
    if (st) return st;
    return core_end(core, fill_csr(&core->by_dst, row_ptr, col_idx), full, out);
}

/* ---- COO ---- */

static Status copy_end(const IndexArray *a, const char *name, int64_t limit, const char *limit_name,
                       bool wide, void **out) {
    Status st = buffer_new(name, a->len, 0, index_size(wide), out);
    return st ? st : array_copy(a, name, limit, limit_name, *out, wide);
}

static Status fill_coo(Csr *c, const IndexArray *src, const IndexArray *dst) {
    void *other = NULL, *key = NULL;
    Status st = copy_end(src, "src", c->num_cols, "num_src", c->wide, &other);
    if (!st) st = copy_end(dst, "dst", c->num_rows, "num_dst", c->wide, &key);
    if (!st) st = group_edges(c, key, other);
    mem_free(other);
    mem_free(key);
    return st;
}

Status graph_from_coo(const IndexArray *src, const IndexArray *dst, int64_t num_src,
                      int64_t num_dst, bool full, Graph **out) {
    Core *core;
    Status st = array_check(src, "src");
    if (!st) st = array_check(dst, "dst");
    if (st) return st;
    if (src->len != dst->len)
        return err_set(ST_SHAPE, "src has %" PRId64 " entries, dst has %" PRId64, src->len,
                       dst->len);
    if (num_src < 0) st = array_count(src, "src", &num_src);
    if (!st && num_dst < 0) st = array_count(dst, "dst", &num_dst);
    if (!st) st = core_new(num_src, num_dst, src->len, &core);
    if (st) return st;
    return core_end(core, fill_coo(&core->by_dst, src, dst), full, out);
}

/* ---- regular ---- */

typedef struct {
    const Csr *c;
    int64_t *row_ptr;
    void *col;
    int64_t degree, blocks;
} Regular;

/* i * degree + k is the position p itself. */
INLINE void regular_rows(const Regular *g, int64_t begin, int64_t end, bool wide) {
    int64_t n = g->c->num_cols, p = begin * g->degree, at = p % n;
    for (int64_t r = begin; r < end; r++) {
        g->row_ptr[r] = p;
        for (int64_t row_end = p + g->degree; p < row_end; p++) {
            index_put(g->col, wide, p, at);
            if (++at == n) at = 0;
        }
    }
}

static void regular_block(void *ctx, int64_t k) {
    const Regular *g = ctx;
    int64_t begin = block_start(g->c->num_rows, g->blocks, k);
    int64_t end = block_start(g->c->num_rows, g->blocks, k + 1);
    if (g->c->wide) regular_rows(g, begin, end, true);
    else regular_rows(g, begin, end, false);
}

static Status fill_regular(Csr *c, int64_t degree) {
    Regular g = {.c = c, .degree = degree, .blocks = num_blocks(c->num_rows)};
    void *row_ptr;
    Status st = buffer_new("row_ptr", c->num_rows, 1, sizeof(int64_t), &row_ptr);
    if (st) return st;
    c->row_ptr = g.row_ptr = row_ptr;
    st = buffer_new("col_idx", c->num_edges, 0, index_size(c->wide), &g.col);
    if (st) return st;
    c->col = g.col;
    g.row_ptr[c->num_rows] = c->num_edges;
    return pool_run(g.blocks, regular_block, &g);
}

Status graph_regular(int64_t num_nodes, int64_t degree, Graph **out) {
    int64_t num_edges;
    Core *core;
    if (num_nodes < 0) return err_set(ST_INVAL, "num_nodes: %" PRId64 " is negative", num_nodes);
    if (degree < 0) return err_set(ST_INVAL, "degree: %" PRId64 " is negative", degree);
    if (__builtin_mul_overflow(num_nodes, degree, &num_edges))
        return err_set(ST_NOMEM,
                       "out of memory: %" PRId64 " nodes of degree %" PRId64
                       " have more edges than can be counted",
                       num_nodes, degree);
    Status st = core_new(num_nodes, num_nodes, num_edges, &core);
    return st ? st : core_end(core, fill_regular(&core->by_dst, degree), false, out);
}
