/* Message-passing programs in float64, for the tests of passes and gradients, and what it takes to
 * run them on the interpreter: small nasty graphs, data by name, directions. */
#ifndef TIGA_TESTS_PROGRAMS_H
#define TIGA_TESTS_PROGRAMS_H

#include "base/hash.h"
#include "interp/interp.h"
#include "ir/type.h"
#include "opt/vjp.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>

#include <cmocka.h>

/* ---- a world: sets, one relation, its graph, and values by name ---- */

enum { MAX_VALUES = 64 };

typedef struct {
    char name[48];
    double *base, *direction; /* base + t * direction is what a program sees */
    int64_t n;
} Value;

typedef struct {
    const char *about;
    Graph *graph;
    int64_t set_size[4]; /* all, U, V, r.edges; homogeneous: all, V, r.edges */
    bool homogeneous;
    uint64_t seed;
    double t;
    Value values[MAX_VALUES];
    int num_values;
} World;

static inline void world_open(World *w, const char *about, bool homogeneous, int num_src,
                              int num_dst, int num_edges, const int32_t *src, const int32_t *dst) {
    *w = (World){.about = about, .homogeneous = homogeneous, .seed = 1};
    IndexArray a = {src, num_edges, 4, false}, b = {dst, num_edges, 4, false};
    assert_int_equal(graph_from_coo(&a, &b, num_src, num_dst, false, &w->graph), ST_OK);
    int64_t sizes[2][4] = {{1, num_src, num_dst, num_edges}, {1, num_src, num_edges, 0}};
    memcpy(w->set_size, sizes[homogeneous], sizeof w->set_size);
}

static inline void world_forget(World *w) {
    for (int k = 0; k < w->num_values; k++) {
        free(w->values[k].base);
        free(w->values[k].direction);
    }
    w->num_values = 0;
    w->t = 0;
}

static inline void world_close(World *w) {
    world_forget(w);
    graph_unref(w->graph);
}

/* In (-1, 1), by name and place. */
static inline double noise(const World *w, const char *name, const char *what, int64_t k) {
    uint64_t h = hash_u64((uint64_t)k, hash_str(name, hash_str(what, w->seed)));
    return (double)(h >> 11) * 0x1p-52 - 1;
}

static inline int64_t world_numel(const World *w, const Type *t) {
    int64_t n = w->set_size[t->set];
    for (int k = 0; k < t->rank; k++)
        n *= dim_is_set(t->dim[k]) ? w->set_size[dim_set(t->dim[k])] : t->dim[k];
    return n;
}

/* The value of that name, noise where it is new. */
static inline Value *world_value(World *w, const char *name, const Type *t) {
    for (int k = 0; k < w->num_values; k++)
        if (!strcmp(w->values[k].name, name)) return &w->values[k];
    assert_true(w->num_values < MAX_VALUES);
    Value *v = &w->values[w->num_values++];
    snprintf(v->name, sizeof v->name, "%s", name);
    v->n = world_numel(w, t);
    v->base = calloc((size_t)v->n + 1, sizeof(double));
    v->direction = calloc((size_t)v->n + 1, sizeof(double));
    for (int64_t k = 0; k < v->n; k++) v->base[k] = noise(w, name, "base", k);
    return v;
}

static inline void world_set(World *w, const char *name, const double *data, int64_t n) {
    Value *v = world_value(w, name, &(Type){.dtype = DT_f64, .rank = 1, .dim = {n}});
    assert_true(v->n == n);
    memcpy(v->base, data, (size_t)n * sizeof *data);
}

/* ---- running ---- */

static inline Array world_array(const World *w, const Type *t, void *data) {
    Array a = {.data = data, .dtype = t->dtype};
    if (t->set != SET_ALL) a.dim[a.rank++] = w->set_size[t->set];
    for (int k = 0; k < t->rank; k++)
        a.dim[a.rank++] = dim_is_set(t->dim[k]) ? w->set_size[dim_set(t->dim[k])] : t->dim[k];
    int64_t stride = dtype_size((Dtype)t->dtype);
    for (int k = a.rank; k-- > 0; stride *= a.dim[k]) a.stride[k] = stride;
    return a;
}

typedef struct {
    double *data[MAX_VALUES]; /* by result; integers as bytes of int64 */
    int64_t n[MAX_VALUES];
    uint32_t num;
} Outcome;

static inline Outcome world_run(World *w, const Fn *f) {
    Outcome o = {.num = f->results.len};
    Array in[MAX_VALUES], out[MAX_VALUES];
    assert_true(f->inputs.len <= MAX_VALUES && f->results.len <= MAX_VALUES);
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        const Type *t = ir_type(f, f->inputs.data[k].val);
        Value *v = world_value(w, f->inputs.data[k].name, t);
        assert_true(v->n == world_numel(w, t) && dtype_size((Dtype)t->dtype) == 8);
        double *data = malloc(((size_t)v->n + 1) * sizeof *data);
        if (t->dtype == DT_i64) memcpy(data, v->base, (size_t)v->n * 8);
        for (int64_t i = 0; t->dtype == DT_f64 && i < v->n; i++)
            data[i] = v->base[i] + (w->t == 0 || v->direction[i] == 0 ? 0 : w->t * v->direction[i]);
        in[k] = world_array(w, t, data);
    }
    for (uint32_t k = 0; k < o.num; k++) {
        const Type *t = ir_type(f, f->results.data[k].val);
        o.n[k] = world_numel(w, t);
        o.data[k] = calloc((size_t)o.n[k] + 1, 8);
        out[k] = world_array(w, t, o.data[k]);
    }
    Domain d = {.set_size = w->set_size, .graphs = &w->graph};
    if (interp_run(f, &d, in, out)) fail_msg("interp: %s", err_message());
    for (uint32_t k = 0; k < f->inputs.len; k++) free(in[k].data);
    return o;
}

static inline void outcome_free(Outcome *o) {
    for (uint32_t k = 0; k < o->num; k++) free(o->data[k]);
}

/* ---- building ---- */

typedef struct {
    Fn *f;
    Set U, V, E;
    Map src, dst;
    bool homogeneous;
} P;

static inline P program_new(const World *w, const char *name) {
    P p = {.f = ir_new(arena_new(), name), .homogeneous = w->homogeneous};
    p.U = w->homogeneous ? ir_set(p.f, "V") : ir_set(p.f, "U");
    p.V = ir_set(p.f, "V");
    int r = ir_relation(p.f, "r", p.U, p.V);
    p.E = p.f->relations.data[r].edges;
    p.src = map_src(r);
    p.dst = map_dst(r);
    return p;
}

static inline Val in(const P *p, const char *name, Set set, int rank, ...) {
    Type t = type_scalar(DT_f64, set);
    va_list args;
    va_start(args, rank);
    for (int k = 0; k < rank; k++) t.dim[t.rank++] = va_arg(args, int);
    va_end(args);
    return ir_input(p->f, name, t);
}

static inline Val to_shape(const P *p, Val v, int rank, ...) {
    int64_t dim[MAX_RANK];
    va_list args;
    va_start(args, rank);
    for (int k = 0; k < rank; k++) dim[k] = va_arg(args, int);
    va_end(args);
    return ir_reshape(p->f, v, dim, rank);
}

/* An elementwise operation whose operands are spread from `all` and broadcast. */
static inline Val meet(const P *p, Val v, Val like) {
    const Type *a = ir_type(p->f, v), *b = ir_type(p->f, like);
    if (a->set == SET_ALL && b->set != SET_ALL) v = ir_gather(p->f, v, map_all(b->set));
    if (b->rank < a->rank) return v;
    int64_t dim[MAX_RANK];
    for (int k = 0; k < b->rank; k++) {
        int at = k - (b->rank - a->rank);
        dim[k] = at >= 0 && b->dim[k] == 1 ? a->dim[at] : b->dim[k];
    }
    return ir_bcast(p->f, v, dim, b->rank);
}

static inline Val op2(const P *p, Op op, Val a, Val b) {
    Val x = meet(p, a, b), y = meet(p, b, x);
    return ir_elem(p->f, op, meet(p, x, y), y, 0);
}
#define ADD(a, b) op2(p, OP_add, a, b)
#define SUB(a, b) op2(p, OP_sub, a, b)
#define MUL(a, b) op2(p, OP_mul, a, b)
#define DIV(a, b) op2(p, OP_div, a, b)
#define MAX(a, b) op2(p, OP_max, a, b)
#define LT(a, b) op2(p, OP_lt, a, b)
#define K(x) ir_const(p->f, type_scalar(DT_f64, SET_ALL), x)
#define SRC(v) ir_gather(p->f, v, p->src)
#define DST(v) ir_gather(p->f, v, p->dst)
#define SUM(v) ir_reduce(p->f, v, p->dst)
#define OUT(name, v) ir_add_result(p->f, name, v)

static inline Val where0(const P *p, Val cond, Val v) { /* where(cond, 0, v) */
    return ir_where(p->f, meet(p, cond, v), ir_const_like(p->f, v, 0), v);
}

static inline Val relu(const P *p, Val v) {
    return ir_where(p->f, LT(ir_const_like(p->f, v, 0), v), v, ir_const_like(p->f, v, 0));
}

static inline Val degree(const P *p) { return ir_cast(p->f, ir_degree(p->f, p->dst), DT_f64); }

static inline Val lift(const P *p, Val v, Val like) { /* rank 0 up to like's rank */
    int64_t ones[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    return ir_reshape(p->f, v, ones, ir_type(p->f, like)->rank);
}

static inline Val is_empty(const P *p, Val like) {
    return lift(p, ir_eq(p->f, degree(p), ir_const_like(p->f, degree(p), 0)), like);
}

static inline Val mean(const P *p, Val m) {
    Val s = SUM(m);
    return where0(p, is_empty(p, s), DIV(s, lift(p, degree(p), s)));
}

/* x [F] @ S times W [F, G] @ all */
static inline Val linear(const P *p, Val x, Val w) {
    Set s = ir_type(p->f, x)->set;
    int rows = (int)ir_type(p->f, x)->dim[0], cols = (int)ir_type(p->f, w)->dim[1];
    Val y = ir_matmul(p->f, to_shape(p, x, 2, 1, rows), ir_gather(p->f, w, map_all(s)));
    return to_shape(p, y, 1, cols);
}

static inline Val part(const P *p, Val v, uint32_t k) { return ir_part(p->f, v, k); }

/* ---- the programs ---- */

static inline void weighted_sum(const P *p) {
    OUT("y", SUM(MUL(in(p, "w", p->E, 1, 1), SRC(in(p, "x", p->U, 1, 3)))));
}

static inline void mean_of_products(const P *p) {
    OUT("y", mean(p, MUL(in(p, "w", p->E, 0), SRC(in(p, "x", p->U, 0)))));
}

static inline void relu_of_difference(const P *p) {
    Val d = SUB(SRC(in(p, "x", p->U, 1, 3)), DST(in(p, "z", p->V, 1, 3)));
    OUT("y", SUM(relu(p, MUL(in(p, "w", p->E, 0), d))));
}

static inline void relu_by_max(const P *p) {
    Val d = SUB(SRC(in(p, "x", p->U, 1, 3)), DST(in(p, "z", p->V, 1, 3)));
    OUT("y", SUM(MAX(MUL(in(p, "w", p->E, 0), d), K(0))));
}

static inline Val dot_score(const P *p) {
    Val q = DST(in(p, "q", p->V, 1, 3)), k = SRC(in(p, "k", p->U, 1, 3));
    return MUL(ir_fsum(p->f, MUL(q, k), 1), K(0.57735));
}

static inline void attention(const P *p) {
    Val a = ir_softmax(p->f, to_shape(p, dot_score(p), 1, 1), SRC(in(p, "v", p->U, 1, 2)), p->dst);
    OUT("y", where0(p, is_empty(p, part(p, a, 0)), part(p, a, 0)));
}

static inline void attention_heads(const P *p) {
    Val s = ir_fsum(p->f, MUL(DST(in(p, "q", p->V, 2, 2, 3)), SRC(in(p, "k", p->U, 2, 2, 3))), 2);
    Val a = ir_softmax(p->f, to_shape(p, s, 2, 2, 1), SRC(in(p, "v", p->U, 2, 2, 4)), p->dst);
    OUT("y", where0(p, is_empty(p, part(p, a, 0)), part(p, a, 0)));
    Val lse = ir_logsumexp(p->f, a);
    OUT("lse", where0(p, is_empty(p, lse), lse));
}

static inline void logsumexp(const P *p) {
    Val s = MUL(in(p, "w", p->E, 1, 2), SRC(in(p, "x", p->U, 1, 2)));
    Val a = ir_softmax(p->f, s, s, p->dst);
    OUT("y", where0(p, is_empty(p, s), ir_logsumexp(p->f, a)));
}

static inline Val edge_softmax(const P *p, Val s, Map m) {
    Val top = ir_gather(p->f, part(p, ir_rmax(p->f, s, m), 0), m);
    Val e = ir_exp(p->f, SUB(s, top));
    return DIV(e, ir_gather(p->f, ir_reduce(p->f, e, m), m));
}

static inline void attention_two_steps(const P *p) {
    Val a = edge_softmax(p, dot_score(p), p->dst);
    OUT("y", SUM(MUL(to_shape(p, a, 1, 1), SRC(in(p, "v", p->U, 1, 2)))));
}

static inline void edge_softmax_result(const P *p) {
    OUT("a", edge_softmax(p, dot_score(p), p->dst));
}

static inline void source_normalised(const P *p) {
    Val a = edge_softmax(p, in(p, "s", p->E, 0), p->src);
    OUT("y", SUM(MUL(to_shape(p, a, 1, 1), SRC(in(p, "x", p->U, 1, 3)))));
}

static inline Val edge_features(const P *p) {
    Val parts[] = {DST(in(p, "z", p->V, 1, 2)), SRC(in(p, "x", p->U, 1, 3)),
                   in(p, "e", p->E, 1, 1)};
    return ir_concat(p->f, parts, 3, 0);
}

static inline void edge_mlp(const P *p) {
    Val h =
        ADD(linear(p, edge_features(p), in(p, "W1", SET_ALL, 2, 6, 4)), in(p, "b1", SET_ALL, 1, 4));
    Val m =
        ADD(linear(p, ir_tanh(p->f, h), in(p, "W2", SET_ALL, 2, 4, 2)), in(p, "b2", SET_ALL, 1, 2));
    OUT("y", SUM(m));
}

static inline void edge_mlp_relu_mean(const P *p) {
    Val h =
        ADD(linear(p, edge_features(p), in(p, "W1", SET_ALL, 2, 6, 4)), in(p, "b1", SET_ALL, 1, 4));
    OUT("y", mean(p, linear(p, relu(p, h), in(p, "W2", SET_ALL, 2, 4, 2))));
}

static inline void gatv2(const P *p) {
    Val l = linear(p, in(p, "z", p->V, 1, 3), in(p, "Wl", SET_ALL, 2, 3, 4));
    Val r = linear(p, in(p, "x", p->U, 1, 3), in(p, "Wr", SET_ALL, 2, 3, 4));
    Val h = ADD(DST(l), SRC(r));
    Val leaky = ir_where(p->f, LT(K(0), h), h, MUL(h, K(0.2)));
    Val s = ir_fsum(p->f, MUL(leaky, in(p, "a", SET_ALL, 1, 4)), 1);
    Val o = part(p, ir_softmax(p->f, to_shape(p, s, 1, 1), SRC(r), p->dst), 0);
    OUT("y", where0(p, is_empty(p, o), o));
}

static inline void largest(const P *p) {
    Val m = part(p, ir_rmax(p->f, SRC(in(p, "x", p->U, 1, 2)), p->dst), 0);
    OUT("y", where0(p, is_empty(p, m), m));
}

static inline void largest_of_affine(const P *p) {
    Val m = ADD(MUL(in(p, "w", p->E, 1, 2), SRC(in(p, "x", p->U, 1, 2))), in(p, "b", p->E, 1, 2));
    Val top = part(p, ir_rmax(p->f, m, p->dst), 0);
    OUT("y", where0(p, is_empty(p, top), top));
}

static inline void geometry(const P *p) {
    Val d = SUB(SRC(in(p, "pos", p->U, 1, 3)), DST(in(p, "at", p->V, 1, 3)));
    Val r2 = to_shape(p, ir_fsum(p->f, MUL(d, d), 1), 1, 1);
    Val parts[] = {SRC(in(p, "h", p->U, 1, 2)), DST(in(p, "g", p->V, 1, 2)), r2};
    Val m = ir_tanh(p->f, linear(p, ir_concat(p->f, parts, 3, 0), in(p, "W", SET_ALL, 2, 5, 3)));
    OUT("m", SUM(m));
    OUT("dpos", SUM(MUL(d, linear(p, m, in(p, "phi", SET_ALL, 2, 3, 1)))));
}

static inline Val pair_energy(const P *p) {
    Val d = SUB(SRC(in(p, "pos", p->U, 1, 3)), DST(in(p, "at", p->V, 1, 3)));
    Val r2 = ADD(ir_fsum(p->f, MUL(d, d), 1), K(0.1));
    Val r = ir_sqrt(p->f, r2);
    return MUL(ir_exp(p->f, ir_neg(p->f, r)), DIV(in(p, "c", p->E, 0), r));
}

static inline void energy(const P *p) {
    OUT("y", ir_reduce(p->f, SUM(pair_energy(p)), map_all(p->V)));
}

/* The forces are a gradient already: checked further, they take third derivatives. */
static inline void forces(P *p) {
    const char *outs[] = {"y"}, *wrt[] = {"pos"};
    Fn *joint;
    energy(p);
    assert_int_equal(vjp_run(arena_new(), p->f, outs, 1, wrt, 1, NULL, &joint), ST_OK);
    ir_free(p->f);
    p->f = joint;
}

static inline Val convolution(const P *p, Val h, int layer) {
    char name[8];
    snprintf(name, sizeof name, "W%d", layer);
    bool back = !p->homogeneous && layer % 2;
    Map from = back ? p->dst : p->src, to = back ? p->src : p->dst;
    Val hw = ir_gather(p->f, linear(p, h, in(p, name, SET_ALL, 2, 3, 3)), from);
    Val agg = ir_reduce(p->f, MUL(to_shape(p, in(p, "norm", p->E, 0), 1, 1), hw), to);
    return ir_tanh(p->f, agg);
}

static inline void gcn1(const P *p) { OUT("y", convolution(p, in(p, "x", p->U, 1, 3), 0)); }
static inline void gcn2(const P *p) {
    OUT("y", convolution(p, convolution(p, in(p, "x", p->U, 1, 3), 0), 1));
}
static inline void gcn3(const P *p) {
    OUT("y", convolution(p, convolution(p, convolution(p, in(p, "x", p->U, 1, 3), 0), 1), 2));
}

static inline void symmetric_norm(const P *p) {
    Val in_degree = DST(degree(p)),
        out_degree = SRC(ir_cast(p->f, ir_degree(p->f, p->src), DT_f64));
    Val norm = DIV(K(1), ir_sqrt(p->f, MUL(in_degree, out_degree)));
    OUT("y", relu(p, SUM(MUL(to_shape(p, norm, 1, 1), SRC(in(p, "x", p->U, 1, 3))))));
}

static inline void pooling(const P *p) {
    Val h = ir_tanh(p->f, SUM(MUL(in(p, "w", p->E, 1, 1), SRC(in(p, "x", p->U, 1, 3)))));
    Val pooled = ir_reduce(p->f, MUL(h, h), map_all(p->V));
    OUT("y", linear(p, ir_tanh(p->f, pooled), in(p, "W", SET_ALL, 2, 3, 2)));
    OUT("centred", SUB(h, MUL(pooled, K(0.1))));
}

static inline void softmax_over_all(const P *p) {
    Val s = MUL(in(p, "a", SET_ALL, 1, 1), in(p, "s", p->V, 1, 1));
    Val a = ir_softmax(p->f, s, in(p, "v", p->V, 1, 3), map_all(p->V));
    Val size = ir_degree(p->f, map_all(p->V)), top = part(p, ir_rmax(p->f, s, map_all(p->V)), 0);
    Val empty = to_shape(p, ir_eq(p->f, size, ir_const_like(p->f, size, 0)), 1, 1);
    OUT("y", where0(p, empty, part(p, a, 0)));
    OUT("top", where0(p, empty, top));
}

static inline void feature_moves(const P *p) {
    Val x = SRC(in(p, "x", p->U, 2, 3, 4)), e = in(p, "e", p->E, 2, 2, 3);
    int64_t swap[] = {1, 0}, take[] = {1, 2, 1, 0, 2, 2}, pad[] = {1, 0, 1, 0, 2, 0};
    Val cut = ir_transpose(p->f, ir_slice(p->f, x, take), swap); /* [2, 2] */
    Val parts[] = {cut, e};
    Val both = ir_concat(p->f, parts, 2, 1);       /* [2, 5] */
    Val wide = ir_pad(p->f, MUL(both, both), pad); /* [4, 7] */
    Val lanes = MUL(to_shape(p, wide, 3, 2, 2, 7), in(p, "s", SET_ALL, 3, 2, 1, 7));
    int64_t turn[] = {1, 2, 0}; /* not its own inverse */
    OUT("y", SUM(ir_fsum(p->f, ir_transpose(p->f, lanes, turn), 6)));
}

static inline void feature_max(const P *p) {
    Val x = MUL(SRC(in(p, "x", p->U, 2, 2, 3)), in(p, "w", p->E, 2, 2, 1));
    Val top = ir_fmax(p->f, x, 2);
    Val lse =
        ADD(top, ir_log(p->f, ir_fsum(p->f, ir_exp(p->f, SUB(x, to_shape(p, top, 2, 2, 1))), 2)));
    OUT("y", SUM(MUL(lse, top)));
}

/* Numbers below rows: degrees, so that no world's input has to be whole. */
static inline Val kinds(const P *p, Map m, int rows) {
    Val d = ir_degree(p->f, m);
    return ir_mod(p->f, d, ir_const_like(p->f, d, rows));
}

static inline void embedding(const P *p) {
    Val table = in(p, "T", SET_ALL, 2, 3, 2), kind = SRC(kinds(p, p->src, 3));
    Val row = ir_take(p->f, ir_gather(p->f, table, map_all(p->E)), kind);
    Val other = ir_take(p->f, ir_gather(p->f, table, map_all(p->E)), DST(kinds(p, p->dst, 3)));
    OUT("y", SUM(MUL(row, ADD(other, SRC(in(p, "x", p->U, 1, 2))))));
}

/* A matrix for each kind of edge. */
static inline void typed_matrices(const P *p) {
    Val table = ir_gather(p->f, in(p, "W", SET_ALL, 3, 4, 2, 3), map_all(p->E));
    Val w = ir_take(p->f, table, ir_cast(p->f, SRC(kinds(p, p->src, 4)), DT_i32));
    Val y = ir_matmul(p->f, to_shape(p, SRC(in(p, "x", p->U, 1, 2)), 2, 1, 2), w);
    OUT("y", SUM(ir_tanh(p->f, y)));
}

/* Several indices a node, into its own table, and back. */
static inline void own_tables(const P *p) {
    Fn *f = p->f;
    Val k = to_shape(p, kinds(p, p->dst, 2), 1, 1), parts[] = {k, k, ir_const_like(f, k, 1)};
    Val index = ir_concat(f, parts, 3, 0), own = in(p, "T", p->V, 2, 2, 2);
    Val rows = ir_take(f, MUL(own, own), index); /* [3, 2] */
    OUT("y", ir_put(f, index, MUL(rows, in(p, "s", SET_ALL, 2, 3, 2)), 2));
    OUT("z", SUM(DST(ir_take(f, ir_tanh(f, own), kinds(p, p->dst, 2)))));
}

static inline void running_sums(const P *p) {
    Val x = MUL(SRC(in(p, "x", p->U, 2, 2, 3)), in(p, "w", p->E, 2, 2, 1));
    Val y = ir_tanh(p->f, ir_cumsum(p->f, MUL(x, x), 1, false));
    OUT("y", SUM(MUL(ir_cumsum(p->f, y, 0, true), x)));
}

static inline void variance(const P *p) {
    Val m = MUL(in(p, "w", p->E, 1, 1), SRC(in(p, "x", p->U, 1, 2)));
    Val d = SUB(m, DST(mean(p, m))), off = mean(p, d);
    OUT("y", SUB(mean(p, MUL(d, d)), MUL(off, off)));
}

static inline void per_edge_matrices(const P *p) {
    Val a = SRC(in(p, "A", p->U, 3, 2, 2, 3)), b = DST(in(p, "B", p->V, 3, 2, 3, 2));
    Val c = ir_matmul(p->f, a, b);
    OUT("y",
        SUM(ir_tanh(p->f, ir_matmul(p->f, c, ir_matmul(p->f, in(p, "C", p->E, 3, 2, 2, 2), c)))));
}

static inline void dense_views(const P *p) {
    Type t = type_of(DT_f64, SET_ALL, 2, (int64_t[]){dim_of(p->U), 3});
    Val x = ir_enter(p->f, ir_input(p->f, "X", t), p->U);
    Val y = ir_leave(p->f, SUM(MUL(SRC(x), in(p, "w", p->E, 1, 1)))); /* [V, 3] */
    OUT("column", ir_fsum(p->f, MUL(y, y), 1));
    OUT("row", ir_tanh(p->f, ir_fsum(p->f, y, 2)));
}

/* What goes row by row with the set's extent first or last, and a reshape that does not. */
static inline void dense_rows(const P *p) {
    Fn *f = p->f;
    int64_t dim[] = {dim_of(p->U), 4}, mixed[] = {4, dim_of(p->U)}, swap[] = {1, 0};
    Val x = ir_input(f, "X", type_of(DT_f64, SET_ALL, 2, dim));
    Val up = ir_cumsum(f, x, 1, false), down = ir_cumsum(f, ir_transpose(f, x, swap), 0, true);
    Val y =
        MUL(ADD(up, ir_bcast(f, in(p, "b", SET_ALL, 1, 4), dim, 2)), ir_transpose(f, down, swap));
    OUT("rows", ir_fsum(f, y, 2));
    OUT("top", ir_tanh(f, ir_fmax(f, y, 3)));
    OUT("mixed", ir_tanh(f, ir_reshape(f, y, mixed, 2)));
}

static inline void elementwise(const P *p) {
    Fn *f = p->f;
    Val x = SRC(in(p, "x", p->U, 1, 2)), y = DST(in(p, "z", p->V, 1, 2));
    Val pos = ADD(MUL(x, x), K(0.5)), sum = ir_fma(f, x, y, ir_log(f, pos));
    Val three[] = {x, y, in(p, "w", p->E, 1, 2)};
    sum = ADD(sum, ir_emit(f, OP_mul, three, 3, NULL));
    sum = ADD(sum, ir_abs(f, SUB(x, y)));
    sum = ADD(sum, ir_min(f, MUL(x, x), y));
    sum = ADD(sum, ir_max(f, ir_exp(f, x), y));
    sum = ADD(sum, ir_mod(f, MUL(x, meet(p, K(3), x)), pos));
    sum = ADD(sum, MUL(ir_sign(f, y), MUL(ir_floor(f, MUL(x, K(3))), DIV(y, pos))));
    Val list[] = {sum, ir_ceil(f, x), ir_sqrt(f, pos), ir_tanh(f, y), ir_neg(f, x)};
    OUT("y", SUM(ir_emit(f, OP_add, list, 5, NULL)));
}

/* The derivative of the dead branch is not finite at the zero differences of self loops. */
static inline void guarded_distance(const P *p) {
    Val d = SUB(SRC(in(p, "x", p->U, 1, 3)), DST(in(p, p->homogeneous ? "x" : "z", p->V, 1, 3)));
    Val r2 = ir_fsum(p->f, MUL(d, d), 1), zero = ir_const_like(p->f, r2, 0);
    Val r = ir_where(p->f, LT(zero, r2), ir_sqrt(p->f, r2), zero);
    OUT("y", SUM(MUL(r, r)));
    OUT("z", SUM(ir_where(p->f, LT(zero, r2), DIV(K(1), r), zero)));
}

/* ---- scans ---- */

/* Two scalars a side of a body: states s, t and operands x, y. */
typedef struct {
    Fn *f;
    Val s, t, x, y;
} Body;

static inline Body body_new(const P *p, int states) {
    Type scalar = type_scalar(DT_f64, SET_ALL);
    Body b = {.f = ir_new(p->f->arena, "body")};
    b.s = ir_input(b.f, "s", scalar);
    if (states > 1) b.t = ir_input(b.f, "t", scalar);
    b.x = ir_input(b.f, "x", scalar);
    b.y = ir_input(b.f, "y", scalar);
    return b;
}

static inline Val scan2(const P *p, const Body *b, int states, int flags, Map m, Val first, Val x,
                        Val y) {
    Val operands[] = {first, first, x, y};
    Scan s = {m, flags, (uint32_t)states, 2, b->f};
    return ir_row_scan(p->f, &s, operands + 2 - states);
}

/* s = x s + y, with gradients along the row alone */
static inline void recurrence(const P *p) {
    Body b = body_new(p, 1);
    ir_add_result(b.f, "s", ir_add(b.f, ir_mul(b.f, b.x, b.s), b.y));
    Val x = SRC(in(p, "x", p->U, 1, 2)),
        y = MUL(in(p, "w", p->E, 1, 2), DST(in(p, "z", p->V, 1, 2)));
    OUT("y", part(p, scan2(p, &b, 1, 0, p->dst, in(p, "s0", p->V, 1, 2), x, y), 0));
}

/* A product of complex numbers, with the way there as an edge result; along the sources, backward. */
static inline void spiral(const P *p, int flags, Map m, Set rows) {
    Body b = body_new(p, 2);
    Val re = ir_sub(b.f, ir_mul(b.f, b.s, b.x), ir_mul(b.f, b.t, b.y));
    Val im = ir_add(b.f, ir_mul(b.f, b.s, b.y), ir_mul(b.f, b.t, b.x));
    ir_add_result(b.f, "re", re);
    ir_add_result(b.f, "im", im);
    if (flags != SCAN_tree) ir_add_result(b.f, "norm", ir_tanh(b.f, ir_mul(b.f, re, im)));
    Val x = SRC(in(p, "x", p->U, 0)), y = MUL(in(p, "w", p->E, 0), DST(in(p, "z", p->V, 0)));
    Val v = scan2(p, &b, 2, flags, m, in(p, "one", rows, 0), x, y);
    OUT("re", part(p, v, 0));
    OUT("im", part(p, v, 1));
    if (flags != SCAN_tree) OUT("norm", part(p, v, 2));
}

static inline void spiral_on(const P *p) { spiral(p, 0, p->dst, p->V); }
static inline void spiral_back(const P *p) { spiral(p, SCAN_reverse, p->src, p->U); }
static inline void spiral_tree(const P *p) { spiral(p, SCAN_tree, p->dst, p->V); }

/* What a scan gives on its way, summed where its rows are not and again where they are; a state that
 * counts and one that chooses. */
static inline void running(const P *p) {
    Type scalar = type_scalar(DT_f64, SET_ALL), whole = type_scalar(DT_i64, SET_ALL);
    Fn *b = ir_new(p->f->arena, "body");
    Val n = ir_input(b, "n", whole), s = ir_input(b, "s", scalar), x = ir_input(b, "x", scalar);
    Val odd = ir_eq(b, ir_mod(b, n, ir_const(b, whole, 2)), ir_const(b, whole, 1));
    Val next = ir_where(b, odd, ir_mul(b, s, x), ir_add(b, s, x));
    ir_add_result(b, "n", ir_add(b, n, ir_const(b, whole, 1)));
    ir_add_result(b, "s", next);
    ir_add_result(b, "before", s);
    Val m = MUL(in(p, "w", p->E, 1, 3), SRC(in(p, "x", p->U, 1, 3)));
    Type t = *ir_type(p->f, m);
    t.set = p->V;
    Val operands[] = {ir_const(p->f, type_with_dtype(t, DT_i64), 0), ir_const(p->f, t, 0.5), m};
    Val v = ir_row_scan(p->f, &(Scan){p->dst, 0, 2, 1, b}, operands);
    Val far = SUB(part(p, v, 2), DST(part(p, v, 1)));
    OUT("y", part(p, v, 1));
    OUT("back", ir_reduce(p->f, MUL(far, far), p->src));
    OUT("here", SUM(ir_tanh(p->f, far)));
}

/* Nodes folded to one value: what comes of edges; what it gives on its way goes back to edges and is summed,
 * times the end of it; then a tree. */
static inline void fold_of_nodes(const P *p) {
    Body b = body_new(p, 1), t = body_new(p, 2);
    ir_add_result(b.f, "s", ir_tanh(b.f, ir_add(b.f, ir_mul(b.f, b.x, b.s), b.y)));
    ir_add_result(b.f, "way", ir_mul(b.f, b.s, b.y));
    ir_add_result(t.f, "s", ir_mul(t.f, t.s, t.x));
    ir_add_result(t.f, "t", ir_add(t.f, ir_mul(t.f, t.t, t.x), t.y));
    Map all = map_all(p->U);
    Val x = in(p, "x", p->U, 1, 3), first = in(p, "s0", SET_ALL, 1, 3);
    Val w = ir_gather(p->f, in(p, "w", SET_ALL, 1, 3), all);
    Val h = ir_reduce(p->f, MUL(in(p, "e", p->E, 1, 3), SRC(x)), p->src);
    Val v = scan2(p, &b, 1, 0, all, first, h, MUL(x, w));
    Val far = MUL(part(p, v, 1), ir_gather(p->f, part(p, v, 0), all));
    OUT("y", SUM(SRC(far)));
    OUT("total", ir_reduce(p->f, MUL(far, w), all));
    Val grow = ir_add(p->f, ir_const_like(p->f, x, 1), MUL(ir_const_like(p->f, x, 0.01), x));
    v = scan2(p, &t, 2, SCAN_tree, all, first, grow, MUL(x, w));
    OUT("product", part(p, v, 0));
    OUT("path", part(p, v, 1));
}

/* Against the order of the numbers; its end, through a matrix, is where the next one starts. */
static inline void fold_of_folds(const P *p) {
    Body b = body_new(p, 1);
    ir_add_result(b.f, "s", ir_tanh(b.f, ir_add(b.f, ir_mul(b.f, b.x, b.s), b.y)));
    Map all = map_all(p->V);
    Val x = in(p, "x", p->V, 1, 3), y = in(p, "z", p->V, 1, 3);
    x = DIV(x, ir_bcast(p->f, ir_gather(p->f, ir_cast(p->f, ir_degree(p->f, all), DT_f64), all),
                        (int64_t[]){3}, 1));
    Val v = scan2(p, &b, 1, SCAN_reverse, all, in(p, "s0", SET_ALL, 1, 3), x, y);
    Val end = ir_reshape(p->f, part(p, v, 0), (int64_t[]){1, 3}, 2);
    Val next = ir_matmul(p->f, end, in(p, "W", SET_ALL, 2, 3, 3));
    next = ir_reshape(p->f, next, (int64_t[]){3}, 1);
    OUT("y", part(p, scan2(p, &b, 1, 0, all, next, y, x), 0));
}

typedef struct {
    const char *name;
    void (*build)(const P *p);
    void (*replace)(P *p); /* instead of build */
} Program;

static const Program programs[] = {
#define PROGRAM(name) {#name, name, NULL}
    PROGRAM(weighted_sum),
    PROGRAM(mean_of_products),
    PROGRAM(relu_of_difference),
    PROGRAM(relu_by_max),
    PROGRAM(attention),
    PROGRAM(attention_heads),
    PROGRAM(logsumexp),
    PROGRAM(attention_two_steps),
    PROGRAM(edge_softmax_result),
    PROGRAM(source_normalised),
    PROGRAM(edge_mlp),
    PROGRAM(edge_mlp_relu_mean),
    PROGRAM(gatv2),
    PROGRAM(largest),
    PROGRAM(largest_of_affine),
    PROGRAM(geometry),
    PROGRAM(energy),
    {"forces", NULL, forces},
    PROGRAM(gcn1),
    PROGRAM(gcn2),
    PROGRAM(gcn3),
    PROGRAM(symmetric_norm),
    PROGRAM(pooling),
    PROGRAM(softmax_over_all),
    PROGRAM(feature_moves),
    PROGRAM(feature_max),
    PROGRAM(embedding),
    PROGRAM(typed_matrices),
    PROGRAM(own_tables),
    PROGRAM(running_sums),
    PROGRAM(variance),
    PROGRAM(per_edge_matrices),
    PROGRAM(dense_views),
    PROGRAM(dense_rows),
    PROGRAM(elementwise),
    PROGRAM(guarded_distance),
    PROGRAM(recurrence),
    PROGRAM(spiral_on),
    PROGRAM(spiral_back),
    PROGRAM(spiral_tree),
    PROGRAM(running),
    PROGRAM(fold_of_nodes),
    PROGRAM(fold_of_folds),
#undef PROGRAM
};
enum { NUM_PROGRAMS = sizeof programs / sizeof *programs };

static inline Fn *program_build(const World *w, const Program *which) {
    P p = program_new(w, which->name);
    if (which->replace) which->replace(&p);
    else which->build(&p);
    if (p.f->status) fail_msg("%s: %s", which->name, err_message());
    return p.f;
}

/* Homogeneous and bipartite, with duplicates, self loops, empty rows and columns; no edges; no
 * nodes. */
enum { NUM_WORLDS = 5 };
static inline void world_number(World *w, int k) {
    static const int32_t src[] = {0, 1, 1, 2, 2, 3, 4, 4, 5, 0, 3, 3},
                         dst[] = {1, 1, 2, 0, 0, 3, 1, 2, 2, 2, 1, 1};
    static const int32_t from[] = {0, 0, 2, 2, 1, 0, 2}, to[] = {1, 3, 3, 1, 3, 1, 1};
    if (k == 0) world_open(w, "homogeneous", true, 6, 6, 12, src, dst);
    if (k == 1) world_open(w, "bipartite", false, 3, 5, 7, from, to);
    if (k == 2) world_open(w, "no edges", true, 3, 3, 0, src, dst);
    if (k == 3) world_open(w, "no nodes", true, 0, 0, 0, src, dst);
    if (k == 4) world_open(w, "one self loop", true, 1, 1, 1, from, from);
}

#endif
