/* Plans: how many traversals and phases programs take, what kernels look like, what is refused. */
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

/* ---- the table of programs ---- */

static void check_shape(const Program *p, const char *what, const Fn *f, const char *expected) {
    Arena *a = arena_new();
    const char *shape = shape_of_program(a, f);
    if (strcmp(shape, expected))
        fail_msg("%s, %s: '%s', expected '%s'", p->name, what, shape, expected);
    arena_free(a);
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
        cmocka_unit_test(programs_take_few_traversals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
