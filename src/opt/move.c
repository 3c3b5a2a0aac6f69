/* Linear work leaves the edges: out of sums along a map, and out of products with concatenations.
 *
 *   sum(m W + n)    = sum(m) W + degree n      W, n the same for every edge of a row (a spread parameter, a
 *   sum(n m)        = n sum(m)                 constant, a gather along the sum's own map), n not itself the
 *   sum(m / n)      = sum(m) / n               outcome of a reduction: the mean that var subtracts stays
 *   [a | b] W       = a Wa + b Wb              where a part is gathered, for hoist to move
 *
 * through moves of features and negation. A mean is a sum over a degree, so it needs no rule. A product
 * that makes a gathered value narrower stays for hoist, which gathers the narrow one.
 *
 * Contract: rows of degree 0 are 0 whatever n and W are (a where() in the program, so derivatives have it
 * too). A result is finite afterwards exactly where it was before, overflow on the way aside; finite values
 * agree to reassociation. What reaches a comparison stays as it is: a maximum, an index, two values compared;
 * but not a threshold, a comparison with a constant, where rounding decides as it did before. */
#include "opt/opt.h"

#include "ir/type.h"
#include "opt/rewrite.h"

enum { DEGREE = 8 };

/* ---- what may change its bits ---- */

static bool is_const(const Fn *f, Val v) {
    while (ir_op(f, v) == OP_bcast || ir_op(f, v) == OP_gather) v = ir_arg(f, v, 0);
    return ir_op(f, v) == OP_constant;
}

/* The operation tells close values apart. */
static bool is_step(const Fn *f, const Node *n) {
    static const uint8_t steps[NUM_OPS] = {
        [OP_rmax] = 1,  [OP_fmax] = 1, [OP_row_scan] = 1, [OP_floor] = 1, [OP_ceil] = 1,
        [OP_round] = 1, [OP_sign] = 1, [OP_floordiv] = 1, [OP_mod] = 1,   [OP_order] = 1,
        [OP_isnan] = 1, [OP_take] = 1, [OP_put] = 1,
    };
    Signature s = (Signature)op_info[n->op].signature;
    bool compares = op_info[n->op].class == CLASS_elem && s == S_cmp;
    if (compares) return !is_const(f, n->args[0]) && !is_const(f, n->args[1]);
    return steps[n->op] || (n->op == OP_cast && !dtype_is_float((Dtype)n->types->dtype));
}

/* ---- the work ---- */

enum { MAX_DEPTH = 64 };

typedef struct {
    Fn *f;
    const Fn *from;
    Arena *scratch;
    Val *val;         /* by value of the old program: in the new one */
    uint32_t *users;  /* likewise: in the old one */
    uint8_t *told;    /* its bits reach a step */
    uint8_t *reduced; /* it depends on a reduction */
} Move;

static void find_facts(Move *w) {
    const Fn *f = w->from;
    const uint8_t *live = ir_live(w->scratch, f);
    for (uint32_t k = 0; k < f->results.len; k++) w->users[f->results.data[k].val]++;
    for (Val v = 1; v < ir_count(f); v++) {
        const Node *n = ir_node(f, v);
        w->reduced[v] = op_is_reduction((Op)n->op);
        for (uint32_t k = 0; k < n->num_args; k++) {
            w->reduced[v] |= w->reduced[n->args[k]];
            w->users[n->args[k]] += live[v];
        }
    }
    for (Val v = ir_count(f) - 1; v > 0; v--) {
        const Node *n = ir_node(f, v);
        for (uint32_t k = 0; live[v] && k < n->num_args; k++)
            w->told[n->args[k]] |= w->told[v] || is_step(f, n);
    }
}

static Val emit(const Move *w, const Node *n, const Val *args) {
    return rewrite_same(&(Rewrite){w->f, w->from, n, args});
}

static bool is_view(Op op) { return op == OP_reshape || op == OP_transpose; }

/* Moves of features, back to a gather along a relation's map. */
static bool is_gathered(const Fn *f, Val v, Map but) {
    while (is_view(ir_op(f, v))) v = ir_arg(f, v, 0);
    const Node *n = ir_node(f, v);
    return n->op == OP_gather && n->attr.map >= 0 && n->attr.map != but;
}

/* ---- out of a sum ---- */

typedef struct {
    const Move *w;
    Map map;
    bool moved;
} Sum;

/* The value at the row, of one that is the same at each of its edges; else 0. */
static Val at_row(const Sum *s, Val v) {
    const Move *w = s->w;
    const Node *n = ir_node(w->from, v);
    Attr attr = n->attr;
    Set rows = map_to(w->from, s->map);
    if (n->op == OP_gather && n->attr.map == s->map) return w->val[n->args[0]];
    if (n->op == OP_gather && map_is_all(n->attr.map))
        return ir_gather(w->f, w->val[n->args[0]], map_all(rows));
    attr.type.set = rows;
    if (n->op == OP_constant) return ir_emit(w->f, OP_constant, NULL, 0, &attr);
    if (!is_view((Op)n->op) && n->op != OP_bcast && n->op != OP_slice) return 0;
    Val row = at_row(s, n->args[0]);
    return row ? emit(w, n, &row) : 0;
}

static Val plain_sum(const Sum *s, Val edge) { return ir_reduce(s->w->f, edge, s->map); }

static Val times_degree(Sum *s, Val row) {
    Fn *f = s->w->f;
    const Type t = *ir_type(f, row);
    Val n = ir_cast(f, ir_degree(f, s->map), (Dtype)t.dtype);
    s->moved = true;
    return ir_mul(f, ir_bcast(f, n, t.dim, t.rank), row);
}

static Val sum_of(Sum *s, Val v, int depth);

/* The operands that are the rows' own, in the new program, and the edges', in the old one. */
typedef struct {
    VEC(Val) rows, edges;
} Parts;

/* A sum of sums is one, a product of products too. A term that a reduction gave stays: what var takes
 * away must not cancel. */
static void part(const Sum *s, const Node *n, int depth, Parts *p) {
    const Move *w = s->w;
    for (uint32_t k = 0; k < n->num_args; k++) {
        Val v = n->args[k];
        Val row = n->op == OP_add && w->reduced[v] ? 0 : at_row(s, v);
        bool nests = ir_op(w->from, v) == n->op && w->users[v] == 1 && depth < MAX_DEPTH;
        if (row) *vec_push(w->scratch, &p->rows) = row;
        else if (nests) part(s, ir_node(w->from, v), depth + 1, p);
        else *vec_push(w->scratch, &p->edges) = v;
    }
}

static Val sum_of_edges(Sum *s, Op op, const Parts *p, int depth) {
    const Move *w = s->w;
    if (p->edges.len == 1) return sum_of(s, p->edges.data[0], depth);
    Val *args = ARENA_ARRAY(w->scratch, Val, p->edges.len);
    for (uint32_t k = 0; k < p->edges.len; k++) args[k] = w->val[p->edges.data[k]];
    return plain_sum(s, rewrite_nary(w->f, op, args, p->edges.len));
}

static Val sum_of_terms(Sum *s, const Node *n, int depth) {
    Parts p = {0};
    part(s, n, depth, &p);
    if (!p.rows.len) return 0;
    Val row = times_degree(s, rewrite_nary(s->w->f, OP_add, p.rows.data, p.rows.len));
    return p.edges.len ? ir_add(s->w->f, sum_of_edges(s, OP_add, &p, depth), row) : row;
}

static Val sum_of_product(Sum *s, const Node *n, int depth) {
    Parts p = {0};
    part(s, n, depth, &p);
    if (!p.rows.len || !p.edges.len) return 0;
    s->moved = true;
    Val edges = sum_of_edges(s, OP_mul, &p, depth);
    return ir_mul(s->w->f, rewrite_nary(s->w->f, OP_mul, p.rows.data, p.rows.len), edges);
}

static Val sum_of_difference(Sum *s, const Node *n, int depth) {
    Fn *f = s->w->f;
    Val a = n->args[0], b = n->args[1];
    Val row_a = s->w->reduced[a] ? 0 : at_row(s, a), row_b = s->w->reduced[b] ? 0 : at_row(s, b);
    if (!row_a == !row_b) return 0;
    if (row_b) return ir_sub(f, sum_of(s, a, depth), times_degree(s, row_b));
    return ir_sub(f, times_degree(s, row_a), sum_of(s, b, depth));
}

static Val sum_of_quotient(Sum *s, const Node *n, int depth) {
    Val row = at_row(s, n->args[1]);
    if (!row) return 0;
    s->moved = true;
    return ir_div(s->w->f, sum_of(s, n->args[0], depth), row);
}

static Val sum_of_matmul(Sum *s, const Node *n, int depth) {
    const Fn *from = s->w->from;
    for (uint32_t k = 0; k < 2; k++) {
        Val m = n->args[1 - k], row = at_row(s, n->args[k]);
        if (!row) continue;
        bool narrows = type_numel(ir_type(from, m)) > type_numel(n->types);
        if (narrows && is_gathered(from, m, s->map)) return 0;
        s->moved = true;
        m = sum_of(s, m, depth);
        return ir_matmul(s->w->f, k ? m : row, k ? row : m);
    }
    return 0;
}

static Val sum_of_moved(Sum *s, const Node *n, int depth) {
    Val v = sum_of(s, n->args[0], depth);
    return emit(s->w, n, &v);
}

static Val (*const sums[NUM_OPS])(Sum *s, const Node *n, int depth) = {
    [OP_add] = sum_of_terms,     [OP_sub] = sum_of_difference,  [OP_mul] = sum_of_product,
    [OP_div] = sum_of_quotient,  [OP_matmul] = sum_of_matmul,   [OP_neg] = sum_of_moved,
    [OP_reshape] = sum_of_moved, [OP_transpose] = sum_of_moved, [OP_bcast] = sum_of_moved,
};

/* The sum of v, which only this sum uses, with what can be done after it. */
static Val sum_of(Sum *s, Val v, int depth) {
    const Move *w = s->w;
    const Node *n = ir_node(w->from, v);
    Val sum = 0, row = w->reduced[v] ? 0 : at_row(s, v);
    if (row) return times_degree(s, row);
    if (depth < MAX_DEPTH && w->users[v] == 1 && sums[n->op]) sum = sums[n->op](s, n, depth + 1);
    return sum ? sum : plain_sum(s, w->val[v]);
}

static Val move_reduce(const Move *w, const Node *n, Val v) {
    Fn *f = w->f;
    Sum s = {w, n->attr.map, false};
    const Type *t = n->types;
    if (map_is_all(s.map) || !dtype_is_float((Dtype)t->dtype) || w->told[v]) return 0;
    Val sum = sum_of(&s, n->args[0], 0);
    if (!s.moved) return 0;
    Val degree = ir_degree(f, s.map), is_empty = ir_eq(f, degree, ir_const_like(f, degree, 0));
    ir_note(f, arena_printf(
                   w->scratch,
                   "accepted: [move] linear work leaves a sum of %s along %s.%s: once a row",
                   type_text(w->scratch, w->from, ir_type(w->from, n->args[0])),
                   f->relations.data[map_relation(s.map)].name, map_is_dst(s.map) ? "dst" : "src"));
    return ir_where(f, ir_bcast(f, is_empty, t->dim, t->rank), ir_const_like(f, sum, 0), sum);
}

/* ---- products with concatenations ---- */

/* x [.., K] W [K, N], with x gathered: a product at each node is cheaper than one at each edge. */
static bool pays_at_nodes(const Fn *f, Val x, const Type *out) {
    const Type *t = ir_type(f, x);
    double k = (double)t->dim[t->rank - 1], n = (double)out->dim[out->rank - 1];
    return is_gathered(f, x, MAP_NONE) && (DEGREE - 1) * k * n > 4 * (DEGREE * (n - k) + k + 2 * n);
}

static Val product_of_part(const Move *w, const Node *n, Val x, int64_t start) {
    Fn *f = w->f;
    const Node *spread = ir_node(w->from, n->args[1]);
    Type t = *ir_type(w->from, n->args[0]), wt = *ir_type(w->from, n->args[1]);
    int64_t rows[3 * MAX_RANK], k = ir_type(w->from, x)->dim[ir_type(w->from, x)->rank - 1];
    for (int d = 0; d < wt.rank; d++) {
        bool cut = d == wt.rank - 2;
        rows[3 * d] = cut ? start : 0;
        rows[3 * d + 1] = cut ? k : wt.dim[d];
        rows[3 * d + 2] = 1;
    }
    t.dim[t.rank - 1] = k;
    Val weights = ir_gather(f, ir_slice(f, w->val[spread->args[0]], rows), spread->attr.map);
    return ir_matmul(f, ir_reshape(f, w->val[x], t.dim, t.rank), weights);
}

static Val move_matmul(const Move *w, const Node *n, Val v) {
    const Fn *from = w->from;
    Val joined = n->args[0];
    while (ir_op(from, joined) == OP_reshape) joined = ir_arg(from, joined, 0);
    const Node *c = ir_node(from, joined), *spread = ir_node(from, n->args[1]);
    const Type *t = ir_type(from, n->args[0]);
    if (c->op != OP_concat || c->attr.ints[0] != c->types->rank - 1 || w->told[v]) return 0;
    if (spread->op != OP_gather || !map_is_all(spread->attr.map)) return 0;
    if (t->dim[t->rank - 1] != c->types->dim[c->types->rank - 1]) return 0;
    bool pays = false;
    for (uint32_t k = 0; k < c->num_args; k++) pays |= pays_at_nodes(from, c->args[k], n->types);
    if (!pays) return 0;
    Val *terms = ARENA_ARRAY(w->scratch, Val, c->num_args);
    int64_t start = 0;
    for (uint32_t k = 0; k < c->num_args; k++) {
        const Type *part_type = ir_type(from, c->args[k]);
        if (type_numel(part_type) == 0) return 0;
        terms[k] = product_of_part(w, n, c->args[k], start);
        start += part_type->dim[part_type->rank - 1];
    }
    ir_note(w->f, "accepted: [move] a product with a concatenation becomes one for each part");
    return rewrite_nary(w->f, OP_add, terms, c->num_args);
}

/* ---- the pass ---- */

static Val move_value(const Move *w, Val v) {
    const Node *n = ir_node(w->from, v);
    if (n->op == OP_input) return ir_input(w->f, n->attr.name, n->types[0]);
    Val moved = n->op == OP_reduce   ? move_reduce(w, n, v)
                : n->op == OP_matmul ? move_matmul(w, n, v)
                                     : 0;
    if (moved) return moved;
    Val *args = ARENA_ARRAY(w->scratch, Val, n->num_args);
    for (uint32_t k = 0; k < n->num_args; k++) args[k] = w->val[n->args[k]];
    return emit(w, n, args);
}

Fn *opt_move(Arena *takes, const Fn *f) {
    Fn *rough = ir_new_like(arena_new(), f, f->name);
    Arena *scratch = arena_new();
    uint32_t n = ir_count(f);
    Move w = {rough,
              f,
              scratch,
              ARENA_ARRAY(scratch, Val, n),
              ARENA_ARRAY(scratch, uint32_t, n),
              ARENA_ARRAY(scratch, uint8_t, n),
              ARENA_ARRAY(scratch, uint8_t, n)};
    find_facts(&w);
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        Val v = f->inputs.data[k].val;
        w.val[v] = move_value(&w, v);
    }
    for (Val v = 1; v < n; v++)
        if (!w.val[v]) w.val[v] = move_value(&w, v);
    for (uint32_t k = 0; k < f->results.len; k++)
        ir_add_result(rough, f->results.data[k].name, w.val[f->results.data[k].val]);
    TIGA_ASSERT(!rough->status);
    Fn *g = rewrite_copy(takes, rough);
    ir_free(rough);
    arena_free(scratch);
    return g;
}
