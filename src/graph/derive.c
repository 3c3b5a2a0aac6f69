/* Relations from relations: lists of edges, put together and grouped again. Edge numbers of the result
 * are said at each. O(nodes + edges). */
#include "graph/graph_internal.h"

#include "base/mem.h"
#include "base/pool.h"

#include <inttypes.h>

/* The ends of the edges of a relation to be: src and dst of num_edges entries. */
typedef struct {
    Core *core;
    void *src, *dst;
} List;

static void list_free(List *l) {
    mem_free(l->src);
    mem_free(l->dst);
}

static Status list_new(int64_t num_src, int64_t num_dst, int64_t num_edges, List *l) {
    *l = (List){0};
    Status st = core_new(num_src, num_dst, num_edges, &l->core);
    if (st) return st;
    size_t size = index_size(l->core->wide);
    st = buffer_new("sources", num_edges, 0, size, &l->src);
    if (!st) st = buffer_new("destinations", num_edges, 0, size, &l->dst);
    return st;
}

/* The edges of g from number `first` on, their nodes shifted. */
static Status list_put(List *l, Graph *g, int64_t first, int64_t add_src, int64_t add_dst) {
    Ends e = {.wide = l->core->wide,
              .first = first,
              .add_row = add_dst,
              .add_col = add_src,
              .row = l->dst,
              .col = l->src};
    Status st = graph_csr(g, true, &e.c);
    return st ? st : ends_write(e);
}

static Status list_end(List *l, Status st, Graph **out) {
    if (!st) st = group_edges(&l->core->by_dst, l->dst, l->src);
    list_free(l);
    return l->core ? core_end(l->core, st, false, out) : st;
}

/* ---- block-diagonal ---- */

static bool add_counts(const Graph *g, int64_t *src, int64_t *dst, int64_t *edges) {
    return !__builtin_add_overflow(*src, graph_num_src(g), src) &&
           !__builtin_add_overflow(*dst, graph_num_dst(g), dst) &&
           !__builtin_add_overflow(*edges, graph_num_edges(g), edges);
}

Status graph_cat(Graph *const *graphs, int64_t num_graphs, Graph **out) {
    int64_t src = 0, dst = 0, edges = 0;
    for (int64_t k = 0; k < num_graphs; k++)
        if (!add_counts(graphs[k], &src, &dst, &edges))
            return err_set(ST_NOMEM,
                           "out of memory: the nodes or edges of %" PRId64
                           " graphs are more than can be counted",
                           num_graphs);
    List l;
    Status st = list_new(src, dst, edges, &l);
    src = dst = edges = 0;
    for (int64_t k = 0; k < num_graphs && !st; k++) {
        st = list_put(&l, graphs[k], edges, src, dst);
        add_counts(graphs[k], &src, &dst, &edges);
    }
    return list_end(&l, st, out);
}

/* ---- self loops ---- */

Status graph_add_self_loops(Graph *g, Graph **out) {
    int64_t n = graph_num_dst(g), edges = graph_num_edges(g), all;
    if (!graph_is_homogeneous(g))
        return err_set(ST_INVAL,
                       "a self loop needs one set of nodes, but there are %" PRId64
                       " sources and %" PRId64 " destinations",
                       graph_num_src(g), n);
    if (__builtin_add_overflow(edges, n, &all))
        return err_set(ST_NOMEM, "out of memory: more edges than can be counted");
    List l;
    Status st = list_new(n, n, all, &l);
    if (!st) st = list_put(&l, g, 0, 0, 0);
    for (int64_t i = 0; i < n && !st; i++) {
        index_put(l.src, l.core->wide, edges + i, i);
        index_put(l.dst, l.core->wide, edges + i, i);
    }
    return list_end(&l, st, out);
}

/* ---- sorted rows ---- */

/* Edges by source, stably grouped by destination, are by destination and then by source. */
static Status sort_edges(const Csr *by_src, Csr *c) {
    void *src;
    Csr plain = *by_src;
    plain.edge = NULL; /* positions in place of numbers */
    Status st = buffer_new("sources", c->num_edges, 0, index_size(c->wide), &src);
    if (st) return st;
    st = ends_write((Ends){.c = &plain, .wide = c->wide, .row = src});
    if (!st) st = group_edges(c, plain.col, src);
    mem_free(src);
    return st;
}

Status graph_sorted(Graph *g, int64_t *order, Graph **out) {
    const Csr *by_src;
    Core *core;
    Status st = graph_csr(g, false, &by_src);
    if (!st) st = core_new(graph_num_src(g), graph_num_dst(g), graph_num_edges(g), &core);
    if (st) return st;
    Csr *c = &core->by_dst;
    st = sort_edges(by_src, c);
    Csr moved = *c; /* edge: positions in by_src */
    c->edge = NULL; /* the edges of the result are numbered as they lie */
    st = core_end(core, st, false, out);
    for (int64_t p = 0; order && !st && p < moved.num_edges; p++)
        order[p] = edge_at(by_src, edge_at(&moved, p));
    mem_free((void *)moved.edge);
    return st;
}

/* ---- back ---- */

Status graph_edges(Graph *g, int64_t *src, int64_t *dst) {
    Ends e = {.wide = true, .row = dst, .col = src};
    Status st = graph_csr(g, true, &e.c);
    return st ? st : ends_write(e);
}
