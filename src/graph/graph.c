/* The relation itself: its core, its two views, and what is found out on first use. */
#include "graph/graph_internal.h"

#include "base/mem.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

Status buffer_new(const char *name, int64_t count, int64_t extra, size_t size, void **out) {
    int64_t entries, bytes;
    if (__builtin_add_overflow(count, extra, &entries) ||
        __builtin_mul_overflow(entries, size, &bytes))
        return err_set(ST_NOMEM, "out of memory: %s of %" PRId64 " entries, %zu bytes each", name,
                       count, size);
    void *p = mem_alloc((size_t)bytes);
    if (!p) return err_set(ST_NOMEM, "out of memory: %s of %" PRId64 " bytes", name, bytes);
    *out = p;
    return ST_OK;
}

Status core_new(int64_t num_src, int64_t num_dst, int64_t num_edges, Core **out) {
    void *memory = NULL;
    Status st = buffer_new("graph", 1, 0, sizeof(Core), &memory);
    if (st) return st;
    Core *core = memory;
    memset(core, 0, sizeof *core);
    core->view[0].core = core->view[1].core = core;
    core->view[1].swapped = true;
    core->num_src = num_src;
    core->num_dst = num_dst;
    core->num_edges = num_edges;
    core->wide = num_src > INT32_MAX || num_dst > INT32_MAX || num_edges > INT32_MAX;
    core->by_dst = (Csr){num_dst, num_src, num_edges, .wide = core->wide};
    core->by_src = (Csr){num_src, num_dst, num_edges, .wide = core->wide};
    atomic_store(&core->refs, 1);
    *out = core;
    return ST_OK;
}

static void core_free(Core *core) {
    csr_free(&core->by_dst);
    csr_free(&core->by_src);
    blocks_free(core->blocks[0]);
    blocks_free(core->blocks[1]);
    mem_free(core);
}

Status core_end(Core *core, Status st, bool full, Graph **out) {
    if (!st) st = csr_finish(&core->by_dst);
    if (!st && full) st = findings_write(&core->by_dst, core->findings, sizeof core->findings);
    if (st) core_free(core);
    else *out = &core->view[0];
    return st;
}

Graph *graph_ref(Graph *g) {
    atomic_fetch_add_explicit(&g->core->refs, 1, memory_order_relaxed);
    return g;
}

void graph_unref(Graph *g) {
    if (g && atomic_fetch_sub(&g->core->refs, 1) == 1) core_free(g->core);
}

int64_t graph_num_src(const Graph *g) { return g->swapped ? g->core->num_dst : g->core->num_src; }
int64_t graph_num_dst(const Graph *g) { return g->swapped ? g->core->num_src : g->core->num_dst; }
int64_t graph_num_edges(const Graph *g) { return g->core->num_edges; }
bool graph_is_homogeneous(const Graph *g) { return g->core->num_src == g->core->num_dst; }
const char *graph_findings(const Graph *g) { return g->swapped ? "" : g->core->findings; }

Status graph_transpose(Graph *g, Graph **out) {
    *out = graph_ref(&g->core->view[!g->swapped]);
    return ST_OK;
}

/* ---- found on first use ---- */

/* Not a mutex: a child that was forked while another thread was building would wait for ever. The
 * lock names the process, and a child takes over what its parent held: results are made aside and
 * published last. */
static void lock(Core *core) {
    int32_t me = (int32_t)getpid();
    for (;;) {
        int32_t holder = 0;
        if (atomic_compare_exchange_strong(&core->builder, &holder, me)) return;
        if (holder != me && atomic_compare_exchange_strong(&core->builder, &holder, me)) return;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}

static void unlock(Core *core) { atomic_store(&core->builder, 0); }

static Status build_by_src(Core *core) {
    if (atomic_load(&core->has_src)) return ST_OK;
    void *key = NULL, *other = NULL;
    Csr c = core->by_src;
    Status st = ungroup_edges(&core->by_dst, &key, &other);
    if (!st) st = group_edges(&c, key ? key : core->by_dst.col, other);
    if (!st) st = csr_finish(&c);
    mem_free(key);
    mem_free(other);
    if (st) {
        csr_free(&c);
        return st;
    }
    core->by_src = c;
    atomic_store(&core->has_src, true);
    return ST_OK;
}

Status graph_csr(Graph *g, bool by_dst, const Csr **out) {
    Core *core = g->core;
    if (by_dst != g->swapped) {
        *out = &core->by_dst;
        return ST_OK;
    }
    if (!atomic_load_explicit(&core->has_src, memory_order_acquire)) {
        lock(core);
        Status st = build_by_src(core);
        unlock(core);
        if (st) return st;
    }
    *out = &core->by_src;
    return ST_OK;
}

Status graph_blocks(Graph *g, bool by_dst, const Blocks **out) {
    const Csr *c;
    Status st = graph_csr(g, by_dst, &c);
    if (st) return st;
    _Atomic(Blocks *) *place = &g->core->blocks[by_dst != g->swapped];
    Blocks *b = atomic_load_explicit(place, memory_order_acquire);
    if (!b) {
        lock(g->core);
        b = atomic_load(place);
        if (!b) st = blocks_new(c, &b);
        if (!st) atomic_store(place, b);
        unlock(g->core);
    }
    *out = b;
    return st;
}

static Status find_facts(Graph *g, const Csr *c) {
    GraphFacts facts;
    if (atomic_load(&g->has_facts)) return ST_OK;
    Status st = facts_find(c, &facts);
    if (st) return st;
    g->facts = facts;
    atomic_store(&g->has_facts, true);
    return ST_OK;
}

Status graph_facts(Graph *g, const GraphFacts **out) {
    if (!atomic_load_explicit(&g->has_facts, memory_order_acquire)) {
        const Csr *c;
        Status st = graph_csr(g, true, &c);
        if (st) return st;
        lock(g->core);
        st = find_facts(g, c);
        unlock(g->core);
        if (st) return st;
    }
    *out = &g->facts;
    return ST_OK;
}

static void count_rows(const Csr *c, int64_t *degree) {
    for (int64_t r = 0; r < c->num_rows; r++) degree[r] = c->row_ptr[r + 1] - c->row_ptr[r];
}

static void count_cols(const Csr *c, int64_t *degree) {
    memset(degree, 0, (size_t)c->num_cols * sizeof *degree);
    for (int64_t p = 0; p < c->num_edges; p++) degree[index_get(c->col, c->wide, p)]++;
}

void graph_degrees(const Graph *g, bool by_dst, int64_t *degree) {
    const Core *core = g->core;
    if (by_dst != g->swapped) count_rows(&core->by_dst, degree);
    else if (atomic_load(&core->has_src)) count_rows(&core->by_src, degree);
    else count_cols(&core->by_dst, degree);
}

/* ---- as a value ---- */

static bool same_bytes(const void *a, const void *b, int64_t count, size_t size) {
    if (!a || !b) return a == b;
    return !memcmp(a, b, (size_t)count * size);
}

/* A grouping is unique: rows by number, edges by number in each, edge left out exactly where it is
 * the identity. */
static bool same_grouping(const Csr *a, const Csr *b) {
    return same_bytes(a->row_ptr, b->row_ptr, a->num_rows + 1, sizeof(int64_t)) &&
           same_bytes(a->col, b->col, a->num_edges, index_size(a->wide)) &&
           same_bytes(a->edge, b->edge, a->num_edges, index_size(a->wide));
}

bool graph_equal(const Graph *a, const Graph *b) {
    const Csr *of_a, *of_b;
    if (a == b) return true;
    if (graph_num_src(a) != graph_num_src(b) || graph_num_dst(a) != graph_num_dst(b) ||
        graph_num_edges(a) != graph_num_edges(b))
        return false;
    bool by_dst = !(a->swapped && b->swapped); /* what both have, where they do */
    return !graph_csr((Graph *)a, by_dst, &of_a) && !graph_csr((Graph *)b, by_dst, &of_b) &&
           same_grouping(of_a, of_b);
}

static uint64_t csr_bytes(const Csr *c) {
    uint64_t indices = (uint64_t)(c->col != NULL) + (c->edge != NULL);
    return (uint64_t)(c->num_rows + 1) * sizeof(int64_t) +
           (uint64_t)c->num_edges * indices * index_size(c->wide) +
           (uint64_t)c->num_chunks * sizeof(Chunk);
}

uint64_t graph_bytes(const Graph *g) {
    const Core *core = g->core;
    uint64_t bytes = sizeof *core + csr_bytes(&core->by_dst);
    for (int k = 0; k < 2; k++) {
        const Blocks *b = atomic_load(&core->blocks[k]);
        if (b) bytes += blocks_bytes(b, k ? core->num_src : core->num_dst);
    }
    return atomic_load(&core->has_src) ? bytes + csr_bytes(&core->by_src) : bytes;
}
