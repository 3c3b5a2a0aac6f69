/* row_scan: the body edge by edge, each of its values over all features at once, by the rows of the map's
 * grouping (whose positions ascend with the edges' numbers). A part of a split row (SCAN_tree) is a chunk
 * of the grouping. */
#include "interp/value.h"

#include <string.h>

_Static_assert((int)SCAN_PART == CHUNK_EDGES, "parts of rows are chunks");

typedef struct {
    const Eval *q;
    Scan s;
    const Csr *csr;
    int64_t numel;
    char **value; /* by value of the body: numel elements */
    char **end; /* by result of the body: a copy, since states are read and written at one place */
    char **merged;             /* tree: by (part, state) of the row at hand */
    char **states, **xs, **ys; /* room for the places of one row's, one edge's */
} Fold;

static int64_t bytes_of(const Fold *w, Val v) {
    return w->numel * dtype_size((Dtype)ir_type(w->s.body, v)->dtype);
}

static int64_t edge_at(const Csr *csr, int64_t p) {
    if (!csr->edge) return p;
    return csr->wide ? ((const int64_t *)csr->edge)[p] : ((const int32_t *)csr->edge)[p];
}

static void body_value(const Fold *w, Val v) {
    const Node *n = ir_node(w->s.body, v);
    char *out = w->value[v];
    const char *a[3] = {0};
    if (n->num_args == 0) return; /* an input or a constant */
    for (uint32_t k = 0; k < n->num_args && k < 3; k++) a[k] = w->value[n->args[k]];
    Dtype dtype = (Dtype)ir_type(w->s.body, n->args[n->num_args - 1])->dtype;
    if (n->op == OP_cast) cast_elements(dtype, (Dtype)n->types[0].dtype, w->numel, a[0], out);
    else elem_apply((Op)n->op, dtype, w->numel, a[0], a[1], a[2], out);
    for (uint32_t k = 2; op_info[n->op].traits & NARY && k < n->num_args; k++)
        elem_apply((Op)n->op, dtype, w->numel, out, w->value[n->args[k]], NULL, out);
}

/* Runs the body with its inputs where they lie; results go to the states' and ys' places. */
static void run_body(const Fold *w, char *const *states, char *const *xs, char *const *ys) {
    const Fn *body = w->s.body;
    uint32_t n = w->s.num_states;
    for (uint32_t k = 0; k < body->inputs.len; k++)
        w->value[body->inputs.data[k].val] = k < n ? states[k] : xs[k - n];
    for (Val v = 1; v < ir_count(body); v++) body_value(w, v);
    for (uint32_t k = 0; k < body->results.len; k++) {
        Val v = body->results.data[k].val;
        memcpy(w->end[k], w->value[v], (size_t)bytes_of(w, v));
    }
    for (uint32_t k = 0; k < body->results.len; k++)
        memcpy(k < n ? states[k] : ys[k - n], w->end[k],
               (size_t)bytes_of(w, body->results.data[k].val));
}

/* Where operand or result k of an element lies. */
static char *place(const Value *v, int64_t i) { return v->data + i * v->numel * value_size(v); }

static void find_places(const Fold *w, int64_t e) {
    uint32_t n = w->s.num_states;
    for (uint32_t k = 0; k < w->s.num_xs; k++) w->xs[k] = place(w->q->args[n + k], e);
    for (uint32_t k = n; k < w->q->node->num_results; k++) w->ys[k - n] = place(&w->q->out[k], e);
}

/* seed: the first edge is the state. */
static void fold_edges(const Fold *w, int64_t first, int64_t last, bool seed, char *const *states) {
    for (int64_t i = first; i < last; i++) {
        int64_t p = w->s.flags & SCAN_reverse ? first + last - 1 - i : i;
        find_places(w, edge_at(w->csr, p));
        for (uint32_t k = 0; seed && i == first && k < w->s.num_states; k++)
            memcpy(states[k], w->xs[k], (size_t)(w->numel * value_size(w->q->args[k])));
        if (!seed || i > first) run_body(w, states, w->xs, w->ys);
    }
}

/* The chunks from c on are the row's parts; gives their number. */
static int64_t fold_parts(const Fold *w, int64_t c, char *const *states) {
    const Chunk *chunk = w->csr->chunks + c;
    int64_t num = 0;
    uint32_t n = w->s.num_states;
    for (; c + num < w->csr->num_chunks && chunk[num].row == chunk->row; num++)
        fold_edges(w, chunk[num].edge, chunk[num].edge_end, num > 0,
                   num ? w->merged + num * n : states);
    memcpy(w->merged, states, n * sizeof *states);
    for (int64_t h = 1; h < num; h *= 2)
        for (int64_t k = 0; k + h < num; k += 2 * h)
            run_body(w, w->merged + k * n, w->merged + (k + h) * n, NULL);
    return num;
}

static void fold_all(const Fold *w) {
    const Csr *csr = w->csr;
    int64_t split = w->s.flags & SCAN_tree ? SCAN_PART : INT64_MAX;
    for (int64_t row = 0, c = 0; row < csr->num_rows; row++) {
        int64_t first = csr->row_ptr[row], last = csr->row_ptr[row + 1];
        for (uint32_t k = 0; k < w->s.num_states; k++) w->states[k] = place(&w->q->out[k], row);
        if (last - first <= split) {
            fold_edges(w, first, last, false, w->states);
            continue;
        }
        while (csr->chunks[c].row != row) c++;
        c += fold_parts(w, c, w->states);
    }
}

/* Room for the body's values and results, 8 bytes an element, and for places. */
static Status new_values(Fold *w) {
    const Fn *body = w->s.body;
    Run *run = w->q->run;
    uint32_t ends = body->results.len, num = ir_count(body) + ends;
    char *room;
    Status st = run_alloc(run, "a scan", num, w->numel * 8, &room);
    if (!st)
        st = run_alloc(run, "a scan", num + 3 * (w->q->node->num_args + ends), sizeof *w->value,
                       &w->value);
    if (st) return st;
    for (uint32_t k = 0; k < num; k++) w->value[k] = room + k * w->numel * 8;
    w->end = w->value + ir_count(body);
    w->states = w->end + ends;
    w->xs = w->states + w->q->node->num_args;
    w->ys = w->xs + w->q->node->num_args;
    for (Val v = 1; v < ir_count(body); v++) {
        const Node *n = ir_node(body, v);
        size_t size = (size_t)dtype_size((Dtype)n->types[0].dtype);
        for (int64_t i = 0; n->op == OP_constant && i < w->numel; i++)
            memcpy(w->value[v] + (size_t)i * size, &n->attr.bits, size); /* low bytes first */
    }
    return ST_OK;
}

static Status new_parts(Fold *w) {
    int64_t num = (w->csr->max_degree / SCAN_PART + 1) * w->s.num_states;
    char *room;
    Status st = run_alloc(w->q->run, "parts of a row", num, sizeof *w->merged, &w->merged);
    if (!st) st = run_alloc(w->q->run, "parts of a row", num, w->numel * 8, &room);
    for (int64_t k = 0; !st && k < num; k++) w->merged[k] = room + k * w->numel * 8;
    return st;
}

static Status fold_by(Fold *w, const Csr *csr) {
    w->csr = csr;
    Status st = new_values(w);
    if (!st && w->s.flags & SCAN_tree) st = new_parts(w);
    if (!st && w->numel) fold_all(w);
    return st;
}

Status eval_row_scan(const Eval *q) {
    Fold w = {.q = q, .s = ir_scan_of(q->node), .numel = q->out->numel};
    const Csr *csr;
    Status st = ST_OK;
    for (uint32_t k = 0; !st && k < q->node->num_results; k++) st = eval_alloc(q, k);
    for (uint32_t k = 0; !st && k < w.s.num_states; k++)
        memcpy(q->out[k].data, q->args[k]->data,
               (size_t)(value_count(q->args[k]) * value_size(q->args[k])));
    if (st) return st;
    if (map_is_all(w.s.map)) {
        Csr row;
        st = csr_of_one_row(q->run->domain->set_size[map_from(q->f, w.s.map)], &row);
        if (!st) st = fold_by(&w, &row);
        csr_free(&row);
        return st;
    }
    st = graph_csr(q->run->domain->graphs[map_relation(w.s.map)], map_is_dst(w.s.map), &csr);
    return st ? st : fold_by(&w, csr);
}
