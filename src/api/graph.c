/* The graph functions of tiga.h: each describes the caller's arrays and calls graph/. */
#include "api/graph.h"

#include <string.h>

typedef struct {
    IndexArray first, second; /* row_ptr, col_idx; or src, dst */
    int64_t num_src, num_dst, degree;
    bool full;
    enum { FROM_csr, FROM_coo, FROM_rule } how;
    Graph *out;
} Making;

static Status make_body(void *ctx) {
    Making *q = ctx;
    switch (q->how) {
    case FROM_csr: return graph_from_csr(&q->first, &q->second, q->num_src, q->full, &q->out);
    case FROM_coo:
        return graph_from_coo(&q->first, &q->second, q->num_src, q->num_dst, q->full, &q->out);
    case FROM_rule: return graph_regular(q->num_dst, q->degree, &q->out);
    }
    TIGA_UNREACHABLE("way to make a graph");
}

static tg_graph *make(Making q) { return door_run(make_body, &q) ? NULL : (tg_graph *)q.out; }

static tg_graph *refuse(Status st) {
    (void)st; /* the message is set */
    return NULL;
}

static IndexArray dense64(const int64_t *data, int64_t len) {
    return (IndexArray){.data = data, .len = len, .stride = sizeof *data, .wide = true};
}

tg_graph *tg_graph_csr(int64_t num_dst, int64_t num_src, const int64_t *row_ptr,
                       const int64_t *col_idx) {
    if (num_dst < 0 || num_dst == INT64_MAX)
        return refuse(err_set(ST_INVAL, "num_dst is %lld", (long long)num_dst));
    if (num_src < 0) return refuse(err_set(ST_INVAL, "num_src is %lld", (long long)num_src));
    if (!row_ptr) return door_missing("row_ptr"), NULL;
    int64_t edges = row_ptr[num_dst];
    if (edges < 0)
        return refuse(err_set(ST_INVAL,
                              "row_ptr: ends at %lld (position %lld), a count cannot be negative",
                              (long long)edges, (long long)num_dst));
    if (!col_idx && edges) return door_missing("col_idx"), NULL;
    return make(
        (Making){dense64(row_ptr, num_dst + 1), dense64(col_idx, edges), num_src, .how = FROM_csr});
}

tg_graph *tg_graph_coo(int64_t num_dst, int64_t num_src, int64_t num_edges, const int64_t *src,
                       const int64_t *dst) {
    if (num_edges < 0 || num_src < 0 || num_dst < 0)
        return refuse(err_set(ST_INVAL,
                              "a count is negative: num_dst %lld, num_src %lld, num_edges %lld",
                              (long long)num_dst, (long long)num_src, (long long)num_edges));
    if ((!src || !dst) && num_edges) return door_missing(!src ? "src" : "dst"), NULL;
    return make((Making){dense64(src, num_edges), dense64(dst, num_edges), num_src, num_dst,
                         .how = FROM_coo});
}

tg_graph *tg_graph_regular(int64_t num_nodes, int64_t degree) {
    return make((Making){.num_dst = num_nodes, .degree = degree, .how = FROM_rule});
}

static Status index_array(const char *name, const tg_array *x, IndexArray *out) {
    if (x->rank != 1)
        return err_set(ST_TYPE, "%s: rank %d, expected a list of indices (rank 1)", name, x->rank);
    bool empty = x->shape[0] == 0;
    if (x->dtype != TG_INT32 && x->dtype != TG_INT64 && !empty)
        return err_set(ST_TYPE, "%s: its dtype is not int32 or int64", name);
    if (x->shape[0] < 0) return err_set(ST_INVAL, "%s: length %lld", name, (long long)x->shape[0]);
    if (!x->data && !empty) return err_set(ST_INVAL, "%s: data is NULL", name);
    *out = (IndexArray){x->data, x->shape[0], x->stride[0], x->dtype == TG_INT64};
    return ST_OK;
}

/* -1 asks for the largest index + 1. */
static tg_graph *make_counted(Making q) {
    if (q.num_src < -1 || q.num_dst < -1)
        return refuse(err_set(ST_INVAL,
                              "%s is %lld, expected a count, or -1 to take it from the indices",
                              q.num_src < -1 ? "num_src" : "num_dst",
                              (long long)(q.num_src < -1 ? q.num_src : q.num_dst)));
    return make(q);
}

tg_graph *tg_graph_from_csr(tg_array row_ptr, tg_array col_idx, int64_t num_src, bool full) {
    Making q = {.num_src = num_src, .full = full, .how = FROM_csr};
    if (index_array("row_ptr", &row_ptr, &q.first) || index_array("col_idx", &col_idx, &q.second))
        return NULL;
    return make_counted(q);
}

tg_graph *tg_graph_from_coo(tg_array src, tg_array dst, int64_t num_src, int64_t num_dst,
                            bool full) {
    Making q = {.num_src = num_src, .num_dst = num_dst, .full = full, .how = FROM_coo};
    if (index_array("src", &src, &q.first) || index_array("dst", &dst, &q.second)) return NULL;
    return make_counted(q);
}

tg_graph *tg_graph_from_edge_index(tg_array edge_index, int64_t num_src, int64_t num_dst,
                                   bool full) {
    const tg_array *x = &edge_index;
    if (x->rank != 2)
        return refuse(err_set(ST_TYPE, "edge_index: rank %d, expected shape [2, E]", x->rank));
    if (x->shape[0] != 2)
        return refuse(err_set(ST_SHAPE, "edge_index: shape [%lld, %lld], expected [2, E]%s",
                              (long long)x->shape[0], (long long)x->shape[1],
                              x->shape[1] == 2 ? " (transposed?)" : ""));
    tg_array row = {x->data, x->dtype, 1, {x->shape[1]}, {x->stride[1]}}, second = row;
    if (x->data) second.data = (char *)x->data + x->stride[0];
    Making q = {.num_src = num_src, .num_dst = num_dst, .full = full, .how = FROM_coo};
    if (index_array("edge_index", &row, &q.first) || index_array("edge_index", &second, &q.second))
        return NULL;
    return make_counted(q);
}

/* ---- relations from relations ---- */

typedef struct {
    Graph *const *graphs;
    int64_t num_graphs, *order;
    enum { BY_transpose, BY_cat, BY_sort, BY_loops } how;
    Graph *out;
} Deriving;

static Status derive_body(void *ctx) {
    Deriving *q = ctx;
    switch (q->how) {
    case BY_transpose: return graph_transpose(q->graphs[0], &q->out);
    case BY_cat: return graph_cat(q->graphs, q->num_graphs, &q->out);
    case BY_sort: return graph_sorted(q->graphs[0], q->order, &q->out);
    case BY_loops: return graph_add_self_loops(q->graphs[0], &q->out);
    }
    TIGA_UNREACHABLE("way to derive a graph");
}

static tg_graph *derive(Deriving q) {
    for (int64_t k = 0; k < q.num_graphs; k++)
        if (!q.graphs[k]) return door_null("graph"), NULL;
    return door_run(derive_body, &q) ? NULL : (tg_graph *)q.out;
}

tg_graph *tg_graph_transpose(const tg_graph *g) {
    return derive((Deriving){(Graph *[]){graph_of(g)}, 1, .how = BY_transpose});
}

tg_graph *tg_graph_cat(const tg_graph *const *graphs, size_t num_graphs) {
    if (!graphs && num_graphs) return door_missing("graphs"), NULL;
    return derive(
        (Deriving){(Graph *const *)(uintptr_t)graphs, (int64_t)num_graphs, .how = BY_cat});
}

tg_graph *tg_graph_sorted(const tg_graph *g, int64_t *order) {
    return derive((Deriving){(Graph *[]){graph_of(g)}, 1, order, BY_sort});
}

tg_graph *tg_graph_add_self_loops(const tg_graph *g) {
    return derive((Deriving){(Graph *[]){graph_of(g)}, 1, .how = BY_loops});
}

void tg_graph_free(tg_graph *g) { graph_unref(graph_of(g)); }

int64_t tg_graph_num_src(const tg_graph *g) { return g ? graph_num_src(graph_of(g)) : 0; }

int64_t tg_graph_num_dst(const tg_graph *g) { return g ? graph_num_dst(graph_of(g)) : 0; }

int64_t tg_graph_num_edges(const tg_graph *g) { return g ? graph_num_edges(graph_of(g)) : 0; }

const char *tg_graph_findings(const tg_graph *g) { return g ? graph_findings(graph_of(g)) : ""; }

bool tg_graph_equal(const tg_graph *a, const tg_graph *b) {
    return a == b || (a && b && graph_equal(graph_of(a), graph_of(b)));
}

/* ---- reading a relation back ---- */

enum { EXPLAIN_SIZE = 2048 };
typedef struct {
    Graph *g;
    const Csr *rows;
    const GraphFacts *facts;
    int64_t *src, *dst;
    char text[EXPLAIN_SIZE];
} Reading;

static Status rows_body(void *ctx) {
    Reading *q = ctx;
    return graph_csr(q->g, true, &q->rows);
}

static Status facts_body(void *ctx) {
    Reading *q = ctx;
    return graph_facts(q->g, &q->facts);
}

static Status edges_body(void *ctx) {
    Reading *q = ctx;
    return graph_edges(q->g, q->src, q->dst);
}

static Status explain_body(void *ctx) {
    Reading *q = ctx;
    return graph_explain(q->g, q->text, sizeof q->text);
}

tg_status tg_graph_edges(const tg_graph *g, int64_t *src, int64_t *dst) {
    Reading q = {graph_of(g), .src = src, .dst = dst};
    if (!g) return door_null("graph");
    if ((!src || !dst) && graph_num_edges(q.g)) return door_missing(!src ? "src" : "dst");
    return door_run(edges_body, &q);
}

static int64_t index_at(const void *data, bool wide, int64_t k) {
    return wide ? ((const int64_t *)data)[k] : ((const int32_t *)data)[k];
}

tg_status tg_graph_rows(const tg_graph *g, int64_t *row_ptr, int64_t *col_idx, int64_t *edge) {
    Reading q = {graph_of(g)};
    if (!g) return door_null("graph");
    if (!row_ptr || (!col_idx && graph_num_edges(q.g)))
        return door_missing(row_ptr ? "col_idx" : "row_ptr");
    tg_status st = door_run(rows_body, &q);
    if (st) return st;
    const Csr *rows = q.rows;
    memcpy(row_ptr, rows->row_ptr, (size_t)(rows->num_rows + 1) * sizeof *row_ptr);
    for (int64_t p = 0; p < rows->num_edges; p++) {
        col_idx[p] = index_at(rows->col, rows->wide, p);
        if (edge) edge[p] = rows->edge ? index_at(rows->edge, rows->wide, p) : p;
    }
    return TG_OK;
}

tg_status tg_graph_degrees(const tg_graph *g, int64_t *in, int64_t *out) {
    if (!g) return door_null("graph");
    if (in) graph_degrees(graph_of(g), true, in);
    if (out) graph_degrees(graph_of(g), false, out);
    return TG_OK;
}

tg_status tg_graph_self_loops(const tg_graph *g, int64_t *count) {
    Reading q = {graph_of(g)};
    if (!g) return door_null("graph");
    if (!count) return door_missing("count");
    if (!graph_is_homogeneous(q.g)) return *count = 0, TG_OK;
    tg_status st = door_run(facts_body, &q);
    if (!st) *count = q.facts->self_loops;
    return st;
}

char *tg_graph_explain(const tg_graph *g) {
    Reading q = {graph_of(g)};
    if (!g) return door_null("graph"), NULL;
    return door_run(explain_body, &q) ? NULL : door_text(q.text);
}
