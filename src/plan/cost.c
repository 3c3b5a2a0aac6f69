/* Exact counts of a plan on a domain; the conventions are in plan.h. */
#include "plan/internal.h"

#include "ir/type.h"

typedef struct {
    const Kernel *k;
    const int64_t *size;
    int64_t rows, edges, index_bytes;
    uint8_t *need; /* by value: computed in the phase looked at */
    uint8_t *is_result;
    Cost *out;
} Count;

/* Counts stay at the largest number rather than wrap. */
static int64_t times(int64_t a, int64_t b) {
    int64_t n;
    return __builtin_mul_overflow(a, b, &n) ? INT64_MAX : n;
}

static void count(int64_t *sum, int64_t n) {
    if (__builtin_add_overflow(*sum, n, sum)) *sum = INT64_MAX;
}

static int64_t numel_of(const Type *t, const int64_t *size) {
    int64_t n = 1;
    for (int k = 0; k < t->rank; k++)
        n = times(n, dim_is_set(t->dim[k]) ? size[dim_set(t->dim[k])] : t->dim[k]);
    return n;
}

static int64_t bytes_of(const Count *c, Val v) {
    const Type *t = ir_type(c->k->body, v);
    return times(numel_of(t, c->size), dtype_size((Dtype)t->dtype));
}

/* Of an elementwise operation, an element. */
static int64_t flops_each(const Node *n) {
    if (op_info[n->op].class != CLASS_elem) return 0;
    return n->op == OP_fma ? 2 : op_info[n->op].traits & NARY ? n->num_args - 1 : 1;
}

/* Of computing v once; moves of data count nothing. */
static int64_t flops_of(const Count *c, Val v) {
    const Fn *f = c->k->body;
    const Node *n = ir_node(f, v);
    int64_t first = n->num_args ? numel_of(ir_type(f, n->args[0]), c->size) : 0;
    if (op_info[n->op].class == CLASS_elem)
        return times(flops_each(n), numel_of(&n->types[0], c->size));
    switch ((int)n->op) {
    case OP_matmul: {
        const Type *a = ir_type(f, n->args[0]);
        return times(times(2, numel_of(&n->types[0], c->size)), a->dim[a->rank - 1]);
    }
    case OP_put: return numel_of(ir_type(f, n->args[1]), c->size);
    case OP_reduce: return ir_op(f, n->args[0]) == OP_put ? 0 : first;
    case OP_cumsum:
    case OP_fsum:
    case OP_fmax: return first;
    case OP_rmax: return times(2, first);
    case OP_row_scan: {
        int64_t sum = 0;
        for (Val u = 1; u < ir_count(n->attr.body); u++)
            count(&sum, times(flops_each(ir_node(n->attr.body, u)), first));
        return sum;
    }
    case OP_softmax: {
        int64_t sum = times(4, first);
        count(&sum, times(2, numel_of(ir_type(f, n->args[1]), c->size)));
        return sum;
    }
    }
    return 0;
}

/* What one phase sweeps: its anchors and stores, and the edge values above them; anchors met on the
 * way are of earlier phases and known. */
static void mark_phase(Count *c, uint32_t phase) {
    const Fn *f = c->k->body;
    for (Val v = ir_count(f) - 1; v > 0; v--) {
        Place p = c->k->place[v];
        bool anchor = op_is_reduction(ir_op(f, v));
        if (p.level != LEVEL_edge) c->need[v] = 0;
        else if (anchor || c->is_result[v])
            c->need[v] = (c->need[v] && !anchor) || p.phase == phase;
        for (uint32_t k = 0; c->need[v] && k < ir_node(f, v)->num_args; k++)
            c->need[ir_arg(f, v, k)] = 1;
    }
}

static void count_phase(Count *c, uint32_t phase) {
    const Fn *f = c->k->body;
    bool fetches = false, numbered = false;
    for (Val v = 1; v < ir_count(f); v++) c->need[v] = 0;
    mark_phase(c, phase);
    for (Val v = 1; v < ir_count(f); v++) {
        if (!c->need[v]) continue;
        const Node *n = ir_node(f, v);
        bool other = n->op == OP_gather && !map_is_all(n->attr.map) && n->attr.map != c->k->map;
        count(&c->out->flops, times(c->edges, flops_of(c, v)));
        if (other || n->op == OP_input) count(&c->out->bytes_read, times(c->edges, bytes_of(c, v)));
        fetches |= other;
        numbered |= n->op == OP_input || n->op == OP_iota ||
                    (c->is_result[v] && c->k->place[v].phase == phase && !plan_is_staged(c->k, v));
    }
    numbered &= !map_is_dst(c->k->map) && !map_is_all(c->k->map);
    if (!map_is_all(c->k->map)) c->out->edge_visits += c->edges;
    count(&c->out->bytes_read, times(c->edges, c->index_bytes * (fetches + numbered)));
}

/* What is computed and read once a row, or once. */
static void count_rest(Count *c) {
    const Fn *f = c->k->body;
    uint8_t *live = c->need;
    for (Val v = 1; v < ir_count(f); v++) live[v] = c->is_result[v];
    for (Val v = ir_count(f) - 1; v > 0; v--) {
        const Node *n = ir_node(f, v);
        bool foreign = n->op == OP_gather && !map_is_all(n->attr.map) && n->attr.map != c->k->map;
        live[v] |= op_is_reduction((Op)n->op);
        for (uint32_t k = 0; live[v] && !foreign && k < n->num_args; k++) live[n->args[k]] = 1;
    }
    for (Val v = 1; v < ir_count(f); v++) {
        int level = c->k->place[v].level;
        if (!live[v] || level == LEVEL_edge) continue;
        int64_t rows = level == LEVEL_row ? c->rows : 1;
        count(&c->out->flops, times(rows, flops_of(c, v)));
        if (ir_op(f, v) == OP_input) count(&c->out->bytes_read, times(rows, bytes_of(c, v)));
    }
}

static bool is_program_result(const Plan *p, const char *name) {
    return ir_find_result(p->program, name) != 0;
}

int64_t plan_staged_edges(const Kernel *k) {
    int64_t bytes = 0, edges = STAGED_MOST;
    for (uint32_t i = 0; i < k->body->results.len; i++) {
        const Type *t = ir_type(k->body, k->body->results.data[i].val);
        if (plan_is_staged(k, k->body->results.data[i].val))
            bytes += type_numel(t) * dtype_size((Dtype)t->dtype);
    }
    while (edges > STAGED_LEAST && edges * bytes > STAGED_BYTES) edges /= 2;
    return edges;
}

/* Blocks are in cache: what is read of memory is where their edges go. */
static void count_staged(Count *c, Val operand) {
    int64_t most = plan_staged_edges(c->k), edges = c->edges < most ? c->edges : most;
    count(&c->out->staging_bytes, times(edges, bytes_of(c, operand)));
    count(&c->out->bytes_read, times(c->edges, c->index_bytes));
}

static void count_stores(Count *c, const Plan *p) {
    const Fn *f = c->k->body;
    for (uint32_t k = 0; k < f->results.len; k++) {
        const Binding *b = &f->results.data[k];
        Set s = ir_type(f, b->val)->set;
        int64_t bytes = times(bytes_of(c, b->val), s == SET_ALL ? 1 : c->size[s]);
        count(&c->out->bytes_written, bytes);
        if (plan_is_staged(c->k, b->val)) count_staged(c, ir_arg(f, b->val, 0));
        if (is_program_result(p, b->name)) continue;
        count(set_is_edges(f, s) ? &c->out->edge_buffer_bytes : &c->out->node_buffer_bytes, bytes);
    }
}

static void count_kernel(Arena *a, const Plan *p, const Kernel *k, const int64_t *size, Cost *out) {
    const Fn *f = k->body;
    Count c = {k,
               size,
               k->rows == SET_ALL ? 1 : size[k->rows],
               0,
               4,
               ARENA_ARRAY(a, uint8_t, ir_count(f)),
               ARENA_ARRAY(a, uint8_t, ir_count(f)),
               out};
    for (uint32_t s = 0; s < f->sets.len; s++)
        if (size[s] > INT32_MAX) c.index_bytes = 8;
    for (uint32_t r = 0; r < f->results.len; r++) c.is_result[f->results.data[r].val] = 1;
    if (k->map != MAP_NONE) {
        c.edges = size[map_from(f, k->map)];
        out->bytes_read += map_is_all(k->map) ? 0 : (c.rows + 1) * 8;
        for (uint32_t phase = 0; phase < k->num_phases; phase++) count_phase(&c, phase);
    } else if (set_is_edges(f, k->rows)) {
        out->edge_visits += c.rows;
    }
    out->traversals += !map_is_all(k->map) || set_is_edges(f, k->rows);
    count_rest(&c);
    count_stores(&c, p);
}

Cost plan_cost(const Plan *p, const int64_t *set_size) {
    Cost out = {0};
    Arena *scratch = arena_new();
    for (uint32_t k = 0; k < p->kernels.len; k++)
        count_kernel(scratch, p, &p->kernels.data[k], set_size, &out);
    arena_free(scratch);
    return out;
}
