/* A table of programs over one homogeneous relation, for the planner's tests. */
#ifndef TESTS_PLAN_PROGRAMS_H
#define TESTS_PLAN_PROGRAMS_H

#include "ir/type.h"
#include "opt/opt.h"
#include "opt/vjp.h"
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static inline Val in_vec(Fn *f, const char *name, Set s, int64_t n) {
    return ir_input(f, name, type_of(DT_f32, s, n ? 1 : 0, (int64_t[]){n}));
}

enum { H = 1, HE = 2, F = 4 }; /* sets of homogeneous programs; their feature width */

static inline Fn *homogeneous(void) {
    Fn *f = ir_new(arena_new(), "p");
    assert_int_equal(ir_set(f, "V"), H);
    assert_int_equal(ir_relation(f, "r", H, H), 0);
    return f;
}

static inline Val at_src(Fn *f, Val v) { return ir_gather(f, v, map_src(0)); }
static inline Val at_dst(Fn *f, Val v) { return ir_gather(f, v, map_dst(0)); }
static inline Val sum_dst(Fn *f, Val m) { return ir_reduce(f, m, map_dst(0)); }

static inline Val param(Fn *f, const char *name, int64_t rows, int64_t cols) {
    return ir_input(f, name, type_of(DT_f32, SET_ALL, 2, (int64_t[]){rows, cols}));
}

/* Every row of x times W, for x on a set. */
static inline Val linear(Fn *f, Val x, Val w) {
    const Type *t = ir_type(f, x);
    int64_t k = t->dim[0], n = ir_type(f, w)->dim[1];
    Val row = ir_reshape(f, x, (int64_t[]){1, k}, 2);
    return ir_reshape(f, ir_matmul(f, row, ir_gather(f, w, map_all(t->set))), &n, 1);
}

static inline Val relu(Fn *f, Val v) { return ir_max(f, v, ir_const_like(f, v, 0)); }
static inline Val dot(Fn *f, Val a, Val b) { return ir_fsum(f, ir_mul(f, a, b), 1); }
static inline Val wide(Fn *f, Val v) { return ir_bcast(f, v, (int64_t[]){F}, 1); }

static inline Val dot_scores(Fn *f, Val x) { return dot(f, at_src(f, x), at_dst(f, x)); }

static inline Val weighted_sum(Fn *f, Val x) {
    return sum_dst(f, ir_mul(f, wide(f, in_vec(f, "w", HE, 0)), at_src(f, x)));
}

static inline Val relu_difference(Fn *f, Val x) {
    Val d = ir_sub(f, at_src(f, x), at_dst(f, x));
    return sum_dst(f, relu(f, ir_mul(f, wide(f, in_vec(f, "w", HE, 0)), d)));
}

static inline Val attention(Fn *f, Val x) {
    Val s = ir_bcast(f, dot_scores(f, x), (int64_t[]){1}, 1);
    return ir_part(f, ir_softmax(f, s, at_src(f, x), map_dst(0)), 0);
}

/* p = softmax of the scores, as an edge value, by two anchors. */
static inline Val edge_softmax(Fn *f, Val x) {
    Val s = dot_scores(f, x);
    Val m = at_dst(f, ir_part(f, ir_rmax(f, s, map_dst(0)), 0));
    Val e = ir_exp(f, ir_sub(f, s, m));
    return ir_div(f, e, at_dst(f, sum_dst(f, e)));
}

static inline Val logsumexp_weights(Fn *f, Val x) {
    Val s = dot_scores(f, x);
    Val parts = ir_softmax(f, s, s, map_dst(0));
    Val below = ir_sub(f, s, at_dst(f, ir_part(f, parts, 1)));
    return ir_exp(f, ir_sub(f, below, at_dst(f, ir_part(f, parts, 2))));
}

static inline Val attention_in_two_steps(Fn *f, Val x) {
    return sum_dst(f, ir_mul(f, wide(f, logsumexp_weights(f, x)), at_src(f, x)));
}

static inline Val edge_mlp(Fn *f, Val x) {
    Val in = ir_concat(f, (Val[]){at_dst(f, x), at_src(f, x)}, 2, 0);
    Val h = ir_tanh(f, linear(f, in, param(f, "W1", 2 * F, 6)));
    return sum_dst(f, linear(f, h, param(f, "W2", 6, F)));
}

static inline Val gatv2(Fn *f, Val x) {
    Val z = ir_add(f, at_dst(f, linear(f, x, param(f, "Wl", F, F))),
                   at_src(f, linear(f, x, param(f, "Wr", F, F))));
    Val s = linear(f, relu(f, z), param(f, "a", F, 1));
    return ir_part(f, ir_softmax(f, s, at_src(f, x), map_dst(0)), 0);
}

static inline Val largest(Fn *f, Val x) {
    return ir_part(
        f, ir_rmax(f, ir_mul(f, wide(f, in_vec(f, "w", HE, 0)), at_src(f, x)), map_dst(0)), 0);
}

static inline Val mean(Fn *f, Val m) {
    Val n = ir_cast(f, ir_degree(f, map_dst(0)), DT_f32);
    return ir_div(f, sum_dst(f, m), wide(f, n));
}

static inline Val variance(Fn *f, Val x) {
    Val m = at_src(f, x), d = ir_sub(f, m, at_dst(f, mean(f, m))), e = mean(f, d);
    return ir_sub(f, mean(f, ir_mul(f, d, d)), ir_mul(f, e, e));
}

static inline Val src_normalised(Fn *f, Val x) {
    Val w = in_vec(f, "w", HE, 0), total = ir_reduce(f, w, map_src(0));
    return sum_dst(f, ir_mul(f, wide(f, ir_div(f, w, at_src(f, total))), at_src(f, x)));
}

static inline Val two_relations(Fn *f, Val x) {
    int q = ir_relation(f, "q", H, H);
    Val a = ir_reduce(f, ir_gather(f, x, map_src(q)), map_dst(q));
    return ir_add(f, ir_tanh(f, a), weighted_sum(f, x));
}

static inline Val gcn_layer(Fn *f, Val x) { return relu(f, sum_dst(f, at_src(f, x))); }

static inline Val repeat(Fn *f, Val x, Val (*layer)(Fn *, Val), int n) {
    for (int k = 0; k < n; k++) x = layer(f, x);
    return x;
}

static inline Val gcn2(Fn *f, Val x) { return repeat(f, x, gcn_layer, 2); }
static inline Val gcn4(Fn *f, Val x) { return repeat(f, x, gcn_layer, 4); }
static inline Val attention2(Fn *f, Val x) { return repeat(f, x, attention, 2); }
static inline Val attention3(Fn *f, Val x) { return repeat(f, x, attention, 3); }
static inline Val attention4(Fn *f, Val x) { return repeat(f, x, attention, 4); }

static inline Val pooled(Fn *f, Val x) {
    Val h = gcn_layer(f, x), all = ir_reduce(f, h, map_all(H));
    return ir_sub(f, h, ir_gather(f, ir_tanh(f, all), map_all(H)));
}

/* The second layer has two phases, and its first needs the first layer. */
static inline Val scaled_layer(Fn *f, Val x) {
    Val h = gcn_layer(f, x), scale = gcn_layer(f, h);
    return sum_dst(f, ir_mul(f, at_src(f, x), at_dst(f, scale)));
}

static inline Val edge_energy(Fn *f, Val x) {
    Val d = ir_sub(f, at_src(f, x), at_dst(f, x));
    return ir_reduce(f, ir_exp(f, ir_neg(f, dot(f, d, d))), map_all(HE));
}

/* s = tanh(s + x) over the nodes, from first; part 1 is s x on the way. */
static inline Val fold_nodes(Fn *f, Val first, Val x) {
    Fn *b = ir_new(f->arena, "body");
    Type scalar = type_scalar(DT_f32, SET_ALL);
    Val s = ir_input(b, "s", scalar), m = ir_input(b, "m", scalar);
    ir_add_result(b, "s", ir_tanh(b, ir_add(b, s, m)));
    ir_add_result(b, "way", ir_mul(b, s, m));
    return ir_row_scan(f, &(Scan){map_all(H), 0, 1, 1, b}, (Val[]){first, x});
}

/* A fold's sums of its way, one of them times the other; then, from its end through a matrix, the next fold. */
static inline Val folds(Fn *f, Val x) {
    Map all = map_all(H);
    Val n = ir_cast(f, ir_degree(f, all), DT_f32), zero = in_vec(f, "s0", SET_ALL, F);
    Val v = fold_nodes(f, zero, ir_div(f, x, ir_bcast(f, ir_gather(f, n, all), (int64_t[]){F}, 1)));
    Val end = ir_part(f, v, 0), way = ir_mul(f, ir_part(f, v, 1), ir_gather(f, end, all));
    Val total = ir_reduce(f, way, all);
    Val again = ir_reduce(f, ir_mul(f, way, ir_gather(f, total, all)), all);
    Val row = ir_reshape(f, end, (int64_t[]){1, F}, 2);
    Val next = ir_reshape(f, ir_matmul(f, row, param(f, "W", F, F)), (int64_t[]){F}, 1);
    Val last = ir_part(f, fold_nodes(f, next, x), 0);
    return ir_mul(f, sum_dst(f, at_src(f, way)), ir_gather(f, ir_add(f, last, again), all));
}

typedef struct {
    const char *name;
    Val (*build)(Fn *f, Val x);
    /* Kernels, as shape_of() has them: of the program, with its gradients, of its backward half, with
     * gradients of its gradient by x. */
    const char *forward, *joint, *backward, *second;
} Program;

static const Program programs[] = {
    {"weighted sum", weighted_sum, "d1", "d1 s1", "s1", "s1 d1"},
    {"relu of differences", relu_difference, "d1", "d1 s1", "d1 s1", "d1 s1"},
    {"attention", attention, "d1", "d2 s1", "-0 d1 s1", "d3 s1"},
    {"attention in two steps", attention_in_two_steps, "d2", "d3 s1", "d2 s1", "d4 s1"},
    {"edge MLP", edge_mlp, "-0 d1", "-0 d1 s1", "-0 d1 s1", "-0 d1 s1"},
    {"GATv2", gatv2, "-0 d1", "-0 d2 s1", "-0 d1 s1", "-0 d3 s1"},
    {"max", largest, "d1", "d2 s1", "-0 s1", "d2 s1"},
    {"variance", variance, "d2", "-0 d3 s1", "-0 d1 s1", "-0 d3 s1"},
    {"edge softmax", edge_softmax, "d3", "d5 s1", "-0 d3 s1", "d6 s1"},
    {"normalised by source", src_normalised, "s1 d1", "s3 d1", "s2", "s3 d1"},
    {"two relations", two_relations, "d1 d1", "d1 s1 d1 s1", "-0 s1 s1", "s1 d1 s1 d1"},
    {"GCN 1", gcn_layer, "d1", "d1 s1", "-0 s1", "d1 s1"},
    {"GCN 2", gcn2, "d1 d1", "d1 d1 s1 s1", "-0 s1 s1", "d1 d1 s1 s1"},
    {"GCN 4", gcn4, "d1 d1 d1 d1", "d1 d1 d1 d1 s1 s1 s1 s1", "-0 s1 s1 s1 s1",
     "d1 d1 d1 d1 s1 s1 s1 s1"},
    {"attention 2", attention2, "d1 d1", "d1 d2 s1 d1 s1", "-0 s1 d2 s1", "d2 d3 s1 d2 s1"},
    {"attention 3", attention3, "d1 d1 d1", "d1 d1 d2 s1 s1 d2 s1", "-0 s1 d2 s1 d1 s1",
     "d2 d2 d3 s1 d2 s1 d2 s1"},
    {"attention 4", attention4, "d1 d1 d1 d1", "d1 d1 d1 d2 s1 s1 d2 s1 d1 s1",
     "-0 s1 d2 s1 s1 d2 s1", "d2 d2 d2 d3 s1 s1 d2 s1 s1 d2 s1"},
    {"pooled", pooled, "d1 -0", "d1 -0 s1", "-0 -0 s1", "d1 -0 s1"},
    {"scaled by two layers", scaled_layer, "d1 d1", "d1 d1 s1 s1", "-0 s1 s1", "d1 d1 s1 s1"},
    {"energy of edges", edge_energy, "d1", "d1 s1", "d1 s1", "-0 d1 s1"},
    {"folds of nodes", folds, "f2 a0 -0 f1 d1", "f2 a0 -0 d1 f2 a0 -0 s1 f2",
     "a0 -0 s1 f2 a0 -0 f2", "f2 a0 -0 d1 f2 a0 -0 s1 f4 a0 -0 d1 f4 a0 -0 s1 f4"},
};

/* f and its gradients by all inputs but `skip`ped ones. */
static inline Fn *with_gradients(const Fn *f, const char *out) {
    const char *wrt[16];
    uint32_t n = 0;
    Fn *g;
    for (uint32_t k = 0; k < f->inputs.len; k++)
        if (strncmp(f->inputs.data[k].name, "cot", 3)) wrt[n++] = f->inputs.data[k].name;
    assert_int_equal(vjp_run(arena_new(), f, &out, 1, wrt, n, NULL, &g), ST_OK);
    return g;
}

enum { NUM_PROGRAMS = sizeof programs / sizeof *programs };

/* The program of a row, before opt_prepare. */
static inline Fn *program_build(const Program *p) {
    Fn *f = homogeneous();
    ir_add_result(f, "y", p->build(f, in_vec(f, "x", H, F)));
    if (f->status) fail_msg("%s: %s", p->name, err_message());
    return f;
}

/* "d1 s2 -0": the kernels' order and phases; 'f' a fold of nodes, '-' rows alone, 'a' dense. */
static inline const char *shape_of(const Plan *p) {
    Text t = {.arena = p->arena};
    for (uint32_t k = 0; k < p->kernels.len; k++) {
        const Kernel *kernel = &p->kernels.data[k];
        char order = plan_is_dense(kernel)     ? 'a'
                     : kernel->map == MAP_NONE ? '-'
                     : map_is_all(kernel->map) ? 'f'
                     : map_is_dst(kernel->map) ? 'd'
                                               : 's';
        text_putf(&t, "%s%c%u", k ? " " : "", order, kernel->num_phases);
    }
    return t.text ? t.text : "";
}

static inline const char *shape_of_program(Arena *a, const Fn *f) {
    Fn *g = opt_prepare(arena_new(), f);
    assert_int_equal(plan_check(g), ST_OK);
    Plan *p = plan_run(arena_new(), g);
    const char *text = arena_str(a, shape_of(p));
    arena_free(p->arena);
    ir_free(g);
    return text;
}

#endif
