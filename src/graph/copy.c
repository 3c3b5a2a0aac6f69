/* The caller's index arrays become ours. Each entry is read once, and what was read is checked and
 * stored: a caller who writes meanwhile cannot get an unchecked index past us. The first bad entry
 * is the one with the lowest position, at any number of threads. */
#include "graph/graph_internal.h"

#include "base/pool.h"

#include <inttypes.h>

typedef int64_t __attribute__((aligned(1), may_alias)) Loose64;
typedef int32_t __attribute__((aligned(1), may_alias)) Loose32;

/* volatile: read once, whatever the optimiser thinks. */
INLINE int64_t entry_read(const IndexArray *a, bool wide, int64_t i) {
    const char *p = (const char *)a->data + i * a->stride;
    return wide ? *(const volatile Loose64 *)p : *(const volatile Loose32 *)p;
}

typedef struct {
    int64_t position, value; /* position -1: none */
} Bad;

typedef struct {
    const IndexArray *from;
    void *to;
    bool wide;
    int64_t low, high; /* legal values, both ends included */
    int64_t blocks;
    Bad bad[MAX_BLOCKS];
} Copy;

INLINE Bad copy_range(const Copy *c, int64_t begin, int64_t end, bool from_wide, bool to_wide) {
    for (int64_t i = begin; i < end; i++) {
        int64_t v = entry_read(c->from, from_wide, i);
        if (v < c->low || v > c->high) return (Bad){i, v};
        index_put(c->to, to_wide, i, v);
    }
    return (Bad){.position = -1};
}

static void copy_block(void *ctx, int64_t k) {
    Copy *c = ctx;
    int64_t begin = block_start(c->from->len, c->blocks, k);
    int64_t end = block_start(c->from->len, c->blocks, k + 1);
    if (c->from->wide)
        c->bad[k] = c->wide ? copy_range(c, begin, end, true, true)
                            : copy_range(c, begin, end, true, false);
    else
        c->bad[k] = c->wide ? copy_range(c, begin, end, false, true)
                            : copy_range(c, begin, end, false, false);
}

static Bad first_bad(const Bad *bad, int64_t blocks) {
    for (int64_t k = 0; k < blocks; k++)
        if (bad[k].position >= 0) return bad[k];
    return (Bad){.position = -1};
}

Status array_check(const IndexArray *a, const char *name) {
    if (a->len < 0) return err_set(ST_INVAL, "%s: its length is %" PRId64, name, a->len);
    if (a->len && !a->data)
        return err_set(ST_INVAL, "%s: no data, but %" PRId64 " entries", name, a->len);
    return ST_OK;
}

Status array_copy(const IndexArray *a, const char *name, int64_t limit, const char *limit_name,
                  void *to, bool wide) {
    Copy c = {.from = a, .to = to, .wide = wide, .high = limit - 1, .blocks = num_blocks(a->len)};
    Status st = pool_run(c.blocks, copy_block, &c);
    if (st) return st;
    Bad bad = first_bad(c.bad, c.blocks);
    if (bad.position < 0) return ST_OK;
    return err_set(ST_RANGE,
                   "%s: index %" PRId64 " at position %" PRId64 " is out of range (%s is %" PRId64
                   ")",
                   name, bad.value, bad.position, limit_name, limit);
}

/* ---- the largest entry ---- */

typedef struct {
    const IndexArray *a;
    int64_t blocks, largest[MAX_BLOCKS];
} Largest;

static void largest_of_block(void *ctx, int64_t k) {
    Largest *l = ctx;
    int64_t end = block_start(l->a->len, l->blocks, k + 1), most = -1;
    for (int64_t i = block_start(l->a->len, l->blocks, k); i < end; i++) {
        int64_t v = entry_read(l->a, l->a->wide, i);
        if (v > most) most = v;
    }
    l->largest[k] = most;
}

Status array_count(const IndexArray *a, const char *name, int64_t *count) {
    IndexArray seen = *a;
    if (!a->stride && a->len) seen.len = 1; /* may claim to be of any length */
    Largest l = {.a = &seen, .blocks = num_blocks(seen.len)};
    Status st = pool_run(l.blocks, largest_of_block, &l);
    if (st) return st;
    int64_t most = -1;
    for (int64_t k = 0; k < l.blocks; k++)
        if (l.largest[k] > most) most = l.largest[k];
    if (most == INT64_MAX)
        return err_set(ST_RANGE, "%s: index %" PRId64 " is too large", name, most);
    *count = most + 1;
    return ST_OK;
}

/* ---- row pointers ---- */

typedef struct {
    const int64_t *row_ptr;
    int64_t num_rows, blocks;
    Bad fall[MAX_BLOCKS];
} Falls;

static void find_fall(void *ctx, int64_t k) {
    Falls *f = ctx;
    int64_t end = block_start(f->num_rows, f->blocks, k + 1);
    f->fall[k].position = -1;
    for (int64_t i = block_start(f->num_rows, f->blocks, k); i < end; i++)
        if (f->row_ptr[i + 1] < f->row_ptr[i]) {
            f->fall[k] = (Bad){i + 1, f->row_ptr[i + 1]};
            return;
        }
}

static Status check_row_ptr(const int64_t *p, int64_t num_rows, int64_t num_edges) {
    if (p[0]) return err_set(ST_INVAL, "row_ptr: must start at 0, position 0 holds %" PRId64, p[0]);
    Falls f = {.row_ptr = p, .num_rows = num_rows, .blocks = num_blocks(num_rows)};
    Status st = pool_run(f.blocks, find_fall, &f);
    if (st) return st;
    Bad fall = first_bad(f.fall, f.blocks);
    if (fall.position >= 0)
        return err_set(ST_INVAL,
                       "row_ptr: falls at position %" PRId64 ": %" PRId64 " after %" PRId64,
                       fall.position, fall.value, p[fall.position - 1]);
    if (p[num_rows] != num_edges)
        return err_set(ST_INVAL,
                       "row_ptr: ends at %" PRId64 " (position %" PRId64 "), but there are %" PRId64
                       " edges",
                       p[num_rows], num_rows, num_edges);
    return ST_OK;
}

Status array_copy_row_ptr(const IndexArray *a, int64_t num_edges, int64_t *to) {
    Copy c = {.from = a,
              .to = to,
              .wide = true,
              .low = INT64_MIN,
              .high = INT64_MAX,
              .blocks = num_blocks(a->len)};
    Status st = pool_run(c.blocks, copy_block, &c);
    return st ? st : check_row_ptr(to, a->len - 1, num_edges);
}
