/* Plans: how many traversals and phases programs take, what kernels look like, what is refused. */
#include "plan_check.h"
#include "plan_programs.h"

#include <stdio.h>

enum { U = 1, V = 2, E = 3 }; /* sets of bipartite programs */

static Fn *bipartite(void) {
    Fn *f = ir_new(arena_new(), "p");
    assert_int_equal(ir_set(f, "U"), U);
    assert_int_equal(ir_set(f, "V"), V);
    assert_int_equal(ir_relation(f, "r", U, V), 0);
    return f;
}

static Val scale_rows(Fn *f, Val w, Val x) { /* w scalar, x [n] */
    const Type *t = ir_type(f, x);
    return ir_mul(f, ir_bcast(f, w, t->dim, t->rank), x);
}

static void weighted_sum_is_one_kernel(void **state) {
    (void)state;
    Fn *f = bipartite();
    Val x = ir_gather(f, in_vec(f, "x", U, 8), map_src(0));
    ir_add_result(f, "y", ir_reduce(f, scale_rows(f, in_vec(f, "w", E, 0), x), map_dst(0)));
    assert_int_equal(f->status, ST_OK);
    assert_int_equal(plan_check(f), ST_OK);
    Plan *p = plan_run(arena_new(), f);
    assert_string_equal(shape_of(p), "d1");
    const Kernel *k = &p->kernels.data[0];
    assert_int_equal(k->rows, V);
    assert_int_equal(k->body->inputs.len, 2);
    assert_string_equal(k->body->results.data[0].name, "y");
    assert_false(k->has_slots);
    Cost c = plan_cost(p, (int64_t[]){1, 10, 20, 100});
    assert_int_equal(c.traversals, 1);
    assert_int_equal(c.edge_visits, 100);
    assert_int_equal(c.flops, 100 * (8 + 8));
    assert_int_equal(c.bytes_read, 21 * 8 + 100 * (4 + 4 + 8 * 4));
    assert_int_equal(c.bytes_written, 20 * 8 * 4);
    assert_int_equal(c.node_buffer_bytes + c.edge_buffer_bytes, 0);
    arena_free(p->arena);
    ir_free(f);
}

/* ---- costs ---- */

static Plan *plan_of(Fn *f) {
    assert_int_equal(f->status, ST_OK);
    Fn *g = opt_prepare(arena_new(), f);
    ir_free(f);
    return plan_run(arena_new(), g);
}

static void plan_free(Plan *p) {
    Fn *g = (Fn *)p->program;
    arena_free(p->arena);
    ir_free(g);
}

/* sum over sources of w / (row's sum of w) times x: two phases, w read in both. */
static void phases_are_counted(void **state) {
    (void)state;
    Fn *f = homogeneous();
    Val w = in_vec(f, "w", HE, 0), x = in_vec(f, "x", H, F);
    Val share = ir_div(f, w, at_dst(f, sum_dst(f, w)));
    ir_add_result(f, "y", sum_dst(f, scale_rows(f, share, at_src(f, x))));
    ir_add_result(f, "share", share);
    Plan *p = plan_of(f);
    assert_string_equal(shape_of(p), "d2");
    Cost c = plan_cost(p, (int64_t[]){1, 10, 100});
    assert_int_equal(c.traversals, 1);
    assert_int_equal(c.edge_visits, 200);
    assert_int_equal(c.flops, 100 * (1 + 1 + F + F));
    assert_int_equal(c.bytes_read, 11 * 8 + 100 * (4 + 4 + 4 + F * 4));
    assert_int_equal(c.bytes_written, 100 * 4 + 10 * F * 4);
    plan_free(p);
}

/* A product hoisted to the nodes: a buffer of node size, read once an edge. */
static void buffers_are_counted(void **state) {
    (void)state;
    Fn *f = homogeneous();
    Val h = linear(f, in_vec(f, "x", H, F), param(f, "W", F, 2));
    ir_add_result(f, "y", sum_dst(f, at_src(f, h)));
    Plan *p = plan_of(f);
    assert_string_equal(shape_of(p), "-0 d1");
    Cost c = plan_cost(p, (int64_t[]){1, 10, 100});
    assert_int_equal(c.flops, 10 * 2 * F * 2 + 100 * 2);
    assert_int_equal(c.bytes_read, 10 * F * 4 + F * 2 * 4 + 11 * 8 + 100 * (4 + 2 * 4));
    assert_int_equal(c.node_buffer_bytes, 10 * 2 * 4);
    assert_int_equal(c.bytes_written, 2 * 10 * 2 * 4);
    plan_free(p);
}

/* Counts of what no machine runs stay at the largest number. */
static void counts_do_not_wrap(void **state) {
    (void)state;
    Fn *f = homogeneous();
    ir_add_result(f, "y", sum_dst(f, at_src(f, in_vec(f, "x", H, 1 << 20))));
    Plan *p = plan_of(f);
    Cost c = plan_cost(p, (int64_t[]){1, 1 << 20, (int64_t)1 << 60});
    assert_true(c.flops == INT64_MAX && c.bytes_read == INT64_MAX);
    plan_free(p);
}

/* ---- what kernels are ---- */

/* A product used at the row in two kernels is stored by the first. */
static void products_are_not_repeated(void **state) {
    (void)state;
    Fn *f = homogeneous();
    Val x = in_vec(f, "x", H, F), q = linear(f, x, param(f, "W", F, F));
    Val y = sum_dst(f, ir_mul(f, at_src(f, x), at_dst(f, q)));
    ir_add_result(f, "y", sum_dst(f, ir_mul(f, at_src(f, y), at_dst(f, q))));
    Plan *p = plan_of(f);
    assert_string_equal(shape_of(p), "d1 d1");
    assert_int_equal(p->kernels.data[0].body->results.len, 2);
    assert_int_not_equal(ir_find_input(p->kernels.data[1].body, "t.1"), 0);
    assert_int_equal(ir_find_input(p->kernels.data[1].body, "W"), 0);
    plan_free(p);
}

/* A result that a later kernel reads has one store, its own; under an input's name it has two. */
static void results_are_read_back(void **state) {
    (void)state;
    Fn *f = homogeneous();
    Val x = in_vec(f, "x", H, F), h = sum_dst(f, at_src(f, x));
    ir_add_result(f, "h", h);
    ir_add_result(f, "y", sum_dst(f, at_src(f, h)));
    Plan *p = plan_of(f);
    assert_int_equal(p->kernels.data[0].body->results.len, 1);
    assert_int_not_equal(ir_find_input(p->kernels.data[1].body, "h"), 0);
    plan_free(p);
    f = homogeneous();
    x = in_vec(f, "x", H, F);
    h = sum_dst(f, at_src(f, x));
    ir_add_result(f, "x", h);
    ir_add_result(f, "y", sum_dst(f, at_src(f, h)));
    p = plan_of(f);
    assert_int_equal(p->kernels.data[0].body->results.len, 2);
    assert_int_not_equal(ir_find_input(p->kernels.data[1].body, "t.0"), 0);
    plan_free(p);
    /* names of buffers that are taken, by an input and by a result */
    f = homogeneous();
    x = in_vec(f, "t.0", H, F);
    h = sum_dst(f, at_src(f, x));
    ir_add_result(f, "t.1", sum_dst(f, at_src(f, h)));
    p = plan_of(f);
    assert_string_equal(p->kernels.data[0].body->results.data[0].name, "t.2");
    plan_free(p);
}

static void schedules_follow_from_shapes(void **state) {
    (void)state;
    for (int width = 4; width <= 5; width++) {
        Fn *f = homogeneous();
        ir_add_result(f, "y", sum_dst(f, at_src(f, in_vec(f, "x", H, width))));
        Plan *p = plan_of(f);
        const char *expected = width == 4 ? "edge-lanes" : "feature-lanes";
        assert_string_equal(plan_schedule(&p->kernels.data[0]), expected);
        Fn *kernel = plan_stage(p->arena, p, "kernel"), *task = plan_stage(p->arena, p, "task");
        const Node *n = ir_node(kernel, ir_find_result(kernel, "y"));
        assert_int_equal(n->op, OP_traverse);
        assert_string_equal(n->attr.name, expected);
        assert_int_equal(n->attr.map, map_dst(0));
        n = ir_node(task, ir_find_result(task, "y"));
        assert_int_equal(n->op, OP_launch);
        assert_string_equal(n->attr.name, "k0");
        plan_free(p);
    }
}

static Status plan_and_forget(void *ctx) {
    Plan *p = plan_run(arena_new(), ctx);
    arena_free(p->arena);
    return ST_OK;
}

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    Fn *f = program_build(&programs[3]), *joint = with_gradients(f, "y");
    Fn *g = opt_prepare(arena_new(), joint);
    int64_t before = mem_live();
    Status st = ST_NOMEM;
    for (int n = 1; st; n++) {
        mem_fail_at(n);
        st = guard_run(plan_and_forget, g);
        mem_fail_at(0);
        assert_true(st == ST_OK || st == ST_NOMEM);
        assert_int_equal(mem_live(), before);
    }
    ir_free(g);
    ir_free(joint);
    ir_free(f);
}

static void refused(Fn *f, const char *words) {
    assert_int_equal(f->status, ST_OK);
    Fn *g = opt_prepare(arena_new(), f);
    assert_int_equal(plan_check(g), ST_UNSUPPORTED);
    if (!strstr(err_message(), words)) fail_msg("'%s' lacks '%s'", err_message(), words);
    ir_free(g);
    ir_free(f);
}

static void what_kernels_cannot_hold_is_refused(void **state) {
    (void)state;
    int64_t square[] = {dim_of(H), dim_of(H)}, tall[] = {F, dim_of(H)};
    Fn *f = homogeneous();
    Val a = ir_input(f, "A", type_of(DT_f32, SET_ALL, 2, square));
    ir_add_result(f, "y", ir_matmul(f, a, a));
    refused(f, "matmul of f32 @ all [V, V]");
    f = homogeneous();
    Val t = ir_input(f, "T", type_of(DT_f32, SET_ALL, 2, tall));
    ir_add_result(f, "y", ir_neg(f, t));
    refused(f, "f32 @ all [4, V]");
    f = homogeneous();
    ir_add_result(f, "y", ir_reduce(f, param(f, "P", 2, 2), map_all(SET_ALL)));
    refused(f, "reduce of f32 @ all [2, 2]");
    f = homogeneous();
    int edges_of_edges = ir_relation(f, "t", HE, H);
    ir_add_result(f, "y", ir_degree(f, map_dst(edges_of_edges)));
    refused(f, "relation 't'");
    f = homogeneous();
    edges_of_edges = ir_relation(f, "u", H, HE);
    ir_add_result(f, "y", ir_degree(f, map_src(edges_of_edges)));
    refused(f, "relation 'u'");
    f = homogeneous();
    ir_add_result(f, "y", in_vec(f, "degree.r.src", H, 0));
    refused(f, "input 'degree.r.src'");
    f = homogeneous();
    ir_add_result(f, arena_printf(f->arena, "size.%s", f->sets.data[H].name), in_vec(f, "x", H, 0));
    refused(f, "result 'size.");
}

/* ---- the table of programs ---- */

static void check_kernels(const Fn *f) {
    Fn *g = opt_prepare(arena_new(), f);
    Plan *p = plan_run(arena_new(), g);
    check_places(p);
    arena_free(p->arena);
    ir_free(g);
}

static void check_shape(const Program *p, const char *what, const Fn *f, const char *expected) {
    Arena *a = arena_new();
    const char *shape = shape_of_program(a, f);
    if (strcmp(shape, expected))
        fail_msg("%s, %s: '%s', expected '%s'", p->name, what, shape, expected);
    arena_free(a);
    check_kernels(f);
}

static void programs_take_few_traversals(void **state) {
    (void)state;
    for (size_t k = 0; k < NUM_PROGRAMS; k++) {
        const Program *p = &programs[k];
        const char *keep = "y";
        Fn *f = program_build(p), *joint = with_gradients(f, "y");
        Split halves = opt_split(joint, &keep, 1);
        Fn *second = with_gradients(joint, "grad.x");
        check_shape(p, "forward", f, p->forward);
        check_shape(p, "joint", joint, p->joint);
        check_shape(p, "backward", halves.backward, p->backward);
        check_shape(p, "second", second, p->second);
        ir_free(halves.forward);
        ir_free(halves.backward);
        ir_free(second);
        ir_free(joint);
        ir_free(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weighted_sum_is_one_kernel),
        cmocka_unit_test(phases_are_counted),
        cmocka_unit_test(buffers_are_counted),
        cmocka_unit_test(counts_do_not_wrap),
        cmocka_unit_test(products_are_not_repeated),
        cmocka_unit_test(results_are_read_back),
        cmocka_unit_test(schedules_follow_from_shapes),
        cmocka_unit_test(failed_allocations_leak_nothing),
        cmocka_unit_test(what_kernels_cannot_hold_is_refused),
        cmocka_unit_test(programs_take_few_traversals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
