/* Gradients: against central differences, first and second order, over the table of programs and a
 * few graphs; and worked cases, exactly. */
#include "programs.h"

static const char *const *float_names(const Binding *list, uint32_t n, const char **names,
                                      uint32_t *num) {
    for (*num = 0; *num < n; ++*num) names[*num] = list[*num].name;
    return names;
}

/* phi(t) = sum over outs of <cotangent, out> along the world's direction. */
static double phi(World *w, const Fn *f, const char *const *outs, const char *const *cots,
                  uint32_t n) {
    Outcome o = world_run(w, f);
    double sum = 0;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t r = 0; r < o.num; r++) {
            if (strcmp(f->results.data[r].name, outs[k])) continue;
            const Value *c = world_value(w, cots[k], ir_type(f, f->results.data[r].val));
            for (int64_t i = 0; i < c->n; i++) sum += c->base[i] * o.data[r][i];
        }
    outcome_free(&o);
    return sum;
}

static double central_difference(World *w, const Fn *f, const char *const *outs,
                                 const char *const *cots, uint32_t n, double h) {
    double d[4];
    for (int k = 0; k < 4; k++) {
        w->t = h * (const double[]){1, -1, 2, -2}[k];
        d[k] = phi(w, f, outs, cots, n);
    }
    w->t = 0;
    return (8 * (d[0] - d[1]) - (d[2] - d[3])) / (12 * h);
}

/* <gradients, direction>, and the sum of the absolute values of its terms. */
static double directional(World *w, const Fn *joint, const char *const *grads,
                          const char *const *wrt, uint32_t n, double *scale) {
    Outcome o = world_run(w, joint);
    double sum = 0;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t r = 0; r < o.num; r++) {
            if (strcmp(joint->results.data[r].name, grads[k])) continue;
            const Value *v = world_value(w, wrt[k], ir_type(joint, joint->results.data[r].val));
            for (int64_t i = 0; i < v->n; i++) {
                sum += o.data[r][i] * v->direction[i];
                *scale += fabs(o.data[r][i] * v->direction[i]);
            }
        }
    outcome_free(&o);
    return sum;
}

static void set_directions(World *w, const Fn *f, const char *const *wrt, uint32_t n) {
    for (int k = 0; k < w->num_values; k++)
        memset(w->values[k].direction, 0, (size_t)w->values[k].n * sizeof(double));
    for (uint32_t k = 0; k < n; k++) {
        Value *v = world_value(w, wrt[k], ir_type(f, ir_find_input(f, wrt[k])));
        for (int64_t i = 0; i < v->n; i++) v->direction[i] = noise(w, wrt[k], "direction", i);
    }
}

static int checks;
static double worst[3];

/* One order: differentiates f, compares, gives the gradient program. */
static Fn *check_order(World *w, const Fn *f, const char *what, int order, const char *const *outs,
                       uint32_t num_outs, const char *const *wrt, uint32_t num_wrt,
                       const char **names) {
    Fn *joint;
    if (vjp_run(arena_new(), f, outs, num_outs, wrt, num_wrt, names, &joint))
        fail_msg("%s: %s", what, err_message());
    set_directions(w, f, wrt, num_wrt);
    double scale = 1e-3, got = directional(w, joint, names + num_outs, wrt, num_wrt, &scale);
    double want = central_difference(w, f, outs, names, num_outs, 2e-4);
    double error = fabs(got - want) / (scale + fabs(want));
    if (!(error < 2e-8))
        fail_msg("%s on %s, order %d: %.17g, differences say %.17g", what, w->about, order, got,
                 want);
    worst[order] = fmax(worst[order], error);
    checks++;
    return joint;
}

static void check_program(World *w, const Program *which) {
    const char *outs[8], *wrt[16], *first[24], *second[48];
    uint32_t num_outs, num_wrt;
    Fn *f = program_build(w, which);
    float_names(f->results.data, f->results.len, outs, &num_outs);
    float_names(f->inputs.data, f->inputs.len, wrt, &num_wrt);
    Fn *joint = check_order(w, f, which->name, 1, outs, num_outs, wrt, num_wrt, first);
    for (uint32_t k = 0; k < num_outs; k++) wrt[num_wrt + k] = first[k];
    Fn *again = check_order(w, joint, which->name, 2, first + num_outs, num_wrt, wrt,
                            num_wrt + num_outs, second);
    ir_free(again);
    ir_free(joint);
    ir_free(f);
    world_forget(w);
}

static void gradients_match_differences(void **state) {
    (void)state;
    for (int k = 0; k < NUM_WORLDS; k++) {
        World w;
        world_number(&w, k);
        for (int i = 0; i < NUM_PROGRAMS; i++) check_program(&w, &programs[i]);
        world_close(&w);
    }
    print_message("%d checks, worst errors %.2g first, %.2g second order\n", checks, worst[1],
                  worst[2]);
}

/* ---- worked cases ---- */

static void expect(World *w, const Fn *f, const char *name, const double *want, int64_t n) {
    Outcome o = world_run(w, f);
    for (uint32_t k = 0; k < o.num; k++) {
        if (strcmp(f->results.data[k].name, name)) continue;
        assert_int_equal(o.n[k], n);
        for (int64_t i = 0; i < n; i++)
            if (!(fabs(o.data[k][i] - want[i]) <= 1e-12))
                fail_msg("%s[%d]: %.17g, not %.17g", name, (int)i, o.data[k][i], want[i]);
        outcome_free(&o);
        return;
    }
    fail_msg("no result '%s'", name);
}
#define EXPECT(w, f, name, ...)                                                                    \
    expect(w, f, name, (const double[]){__VA_ARGS__},                                              \
           sizeof(double[]){__VA_ARGS__} / sizeof(double))
#define SET(w, name, ...)                                                                          \
    world_set(w, name, (const double[]){__VA_ARGS__},                                              \
              sizeof(double[]){__VA_ARGS__} / sizeof(double))

static Fn *gradient(const Fn *f, const char *out, uint32_t num_wrt, const char *const *wrt) {
    Fn *joint;
    if (vjp_run(arena_new(), f, &out, 1, wrt, num_wrt, NULL, &joint)) fail_msg("%s", err_message());
    return joint;
}
#define GRADIENT(f, out, ...)                                                                      \
    gradient(f, out, sizeof(const char *[]){__VA_ARGS__} / sizeof(char *),                         \
             (const char *[]){__VA_ARGS__})

/* A program of its own over a world. */
#define CASE(homogeneous, nu, nv, ...)                                                             \
    World w;                                                                                       \
    const int32_t ends[] = {__VA_ARGS__};                                                          \
    enum { num_edges = sizeof ends / sizeof *ends / 2 };                                           \
    world_open(&w, __func__, homogeneous, nu, nv, num_edges, ends, ends + num_edges);              \
    P program = program_new(&w, __func__), *p = &program

static void close_case(World *w, Fn *a, Fn *b, Fn *c) {
    ir_free(a);
    ir_free(b);
    ir_free(c);
    world_close(w);
}

static void weighted_sum_by_hand(void **state) {
    (void)state;
    CASE(true, 3, 3, 0, 1, 0, 2, 2, 1);
    OUT("y", SUM(MUL(in(p, "w", p->E, 0), SRC(in(p, "x", p->V, 0)))));
    Fn *g = GRADIENT(p->f, "y", "x", "w");
    SET(&w, "x", 2, 4, 8);
    SET(&w, "w", 2, -1, 3);
    SET(&w, "cot.y", 0, 5, 7);
    EXPECT(&w, g, "y", 0, 6, 0);
    EXPECT(&w, g, "grad.x", 29, -7, 0);
    EXPECT(&w, g, "grad.w", 14, 28, 10);
    close_case(&w, p->f, g, NULL);
}

static void hessian_of_the_complete_graph(void **state) {
    (void)state;
    CASE(true, 3, 3, 0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2);
    Val x = in(p, "x", p->V, 0);
    OUT("y", ir_reduce(p->f, SUM(MUL(SRC(x), DST(x))), map_all(p->V)));
    Fn *g = GRADIENT(p->f, "y", "x"), *h = GRADIENT(g, "grad.x", "x");
    SET(&w, "cot.y", 1);
    SET(&w, "cot.grad.x", 1, 1, 1);
    EXPECT(&w, h, "grad2.x", 6, 6, 6);
    close_case(&w, p->f, g, h);
}

static void ties_share_evenly(void **state) {
    (void)state;
    CASE(true, 4, 4, 0, 1, 2, 3, 3, 3, 3, 0); /* row 3 holds 1, 3, 3; row 0 holds x3 */
    Val x = in(p, "x", p->V, 0);
    OUT("y", part(p, ir_rmax(p->f, SRC(x), p->dst), 0));
    OUT("z", MAX(x, in(p, "k", SET_ALL, 0)));
    Fn *g = GRADIENT(p->f, "y", "x"), *h = GRADIENT(g, "grad.x", "cot.y"),
       *z = GRADIENT(p->f, "z", "x", "k");
    SET(&w, "x", 1, 3, 3, NAN);
    SET(&w, "k", 3);
    SET(&w, "cot.y", 4, 100, 100, 1);
    SET(&w, "cot.grad.x", 1, 2, 4, 8);
    SET(&w, "cot.z", 1, 1, 1, 1);
    EXPECT(&w, g, "grad.x", 0, .5, .5, 4);
    EXPECT(&w, h, "grad.cot.y", 8, 0, 0, 3);
    EXPECT(&w, z, "grad.x", 0, .5, .5, 1);
    EXPECT(&w, z, "grad.k", 2);
    ir_free(z);
    close_case(&w, p->f, g, h);
}

static void feature_ties_share_evenly(void **state) {
    (void)state;
    CASE(true, 1, 1, 0, 0);
    OUT("y", ir_fmax(p->f, in(p, "x", p->V, 2, 2, 3), 2));
    OUT("none", ir_fmax(p->f, in(p, "o", p->V, 2, 2, 0), 2));
    Fn *g = GRADIENT(p->f, "y", "x"), *n = GRADIENT(p->f, "none", "o"),
       *h = GRADIENT(n, "grad.o", "cot.none");
    SET(&w, "x", 1, 1, 0, NAN, 5, NAN);
    SET(&w, "cot.y", 2, 4);
    EXPECT(&w, g, "grad.x", 1, 1, 0, 2, 0, 2);
    EXPECT(&w, h, "grad.cot.none", 0, 0);
    ir_free(n);
    close_case(&w, p->f, g, h);
}

/* Rows: [0, -inf], [-inf], []; the dead edges carry NaN and infinity. Everything stays finite to
 * second order. */
static void dead_scores_pass_nothing(void **state) {
    (void)state;
    CASE(false, 3, 3, 0, 1, 2, 0, 0, 1);
    Val a = ir_softmax(p->f, in(p, "s", p->E, 0), SRC(in(p, "v", p->U, 0)), p->dst);
    Val o = part(p, a, 0), L = ir_logsumexp(p->f, a);
    Val gone = ir_eq(p->f, L, ir_const_like(p->f, L, -INFINITY));
    OUT("y", ADD(where0(p, gone, o), where0(p, gone, L)));
    Fn *g = GRADIENT(p->f, "y", "s", "v"), *h;
    const char *firsts[] = {"grad.s", "grad.v"}, *all[] = {"s", "v", "cot.y"};
    assert_int_equal(vjp_run(arena_new(), g, firsts, 2, all, 3, NULL, &h), ST_OK);
    SET(&w, "s", 0, -INFINITY, -INFINITY);
    SET(&w, "v", 1, NAN, INFINITY);
    SET(&w, "cot.y", 3, 5, 7);
    SET(&w, "cot.grad.s", 1, 1, 1);
    SET(&w, "cot.grad.v", 1, 1, 1);
    EXPECT(&w, g, "y", 1, 0, 0);
    EXPECT(&w, g, "grad.s", 3, 0, 0);
    EXPECT(&w, g, "grad.v", 3, 0, 0);
    EXPECT(&w, h, "grad2.s", 0, 0, 0);
    EXPECT(&w, h, "grad2.v", 0, 0, 0);
    EXPECT(&w, h, "grad.cot.y", 2, 0, 0);
    close_case(&w, p->f, g, h);
}

/* Scores of +inf share their row and are fixed there: nothing that is added changes them. */
static void infinite_scores_are_fixed(void **state) {
    (void)state;
    CASE(false, 3, 1, 0, 1, 2, 0, 0, 0);
    Val a = ir_softmax(p->f, in(p, "s", p->E, 0), SRC(in(p, "v", p->U, 0)), p->dst);
    OUT("y", part(p, a, 0));
    Fn *g = GRADIENT(p->f, "y", "s", "v"), *h = GRADIENT(g, "grad.s", "v", "cot.y");
    SET(&w, "s", INFINITY, 0, INFINITY);
    SET(&w, "v", 1, 2, 5);
    SET(&w, "cot.y", 2);
    SET(&w, "cot.grad.s", 1, 1, 1);
    EXPECT(&w, g, "y", 3);
    EXPECT(&w, g, "grad.s", 0, 0, 0);
    EXPECT(&w, g, "grad.v", 1, 0, 1);
    EXPECT(&w, h, "grad2.v", 0, 0, 0);
    EXPECT(&w, h, "grad.cot.y", 0);
    close_case(&w, p->f, g, h);
}

/* Second order of a mean and a maximum with empty rows. */
static void empty_rows_pass_nothing(void **state) {
    (void)state;
    CASE(true, 3, 3, 0, 0, 1, 1);
    Val x = in(p, "x", p->V, 0), m = SRC(MUL(x, x)), top = part(p, ir_rmax(p->f, m, p->dst), 0);
    OUT("y", ADD(mean(p, m), where0(p, is_empty(p, top), top)));
    Fn *g = GRADIENT(p->f, "y", "x"), *h = GRADIENT(g, "grad.x", "x", "cot.y");
    SET(&w, "x", 3, 2, 1);
    SET(&w, "cot.y", 9, 1, 9);
    SET(&w, "cot.grad.x", 1, 1, 1);
    EXPECT(&w, g, "grad.x", 12, 0, 0); /* twice the edge 0 -> 1: 2 x0^2 */
    EXPECT(&w, h, "grad.cot.y", 0, 12, 0);
    close_case(&w, p->f, g, h);
}

static void where_kills_the_dead_branch(void **state) {
    (void)state;
    CASE(true, 3, 3, 0, 1);
    Val x = in(p, "x", p->V, 0), zero = ir_const_like(p->f, x, 0), r = ir_sqrt(p->f, x);
    Val both = ADD(MUL(r, r), ir_log(p->f, x));
    OUT("y", ir_where(p->f, LT(zero, x), both, zero));
    OUT("z", ir_where(p->f, LT(x, K(1)), zero, ir_where(p->f, LT(zero, x), DIV(K(1), x), r)));
    Fn *g = GRADIENT(p->f, "y", "x"), *h = GRADIENT(g, "grad.x", "x"),
       *z = GRADIENT(p->f, "z", "x");
    SET(&w, "x", 0, -1, 2);
    SET(&w, "cot.y", 1, 1, 1);
    SET(&w, "cot.z", 1, 1, 1);
    SET(&w, "cot.grad.x", 1, 1, 1);
    EXPECT(&w, g, "grad.x", 0, 0, 1.5);
    EXPECT(&w, h, "grad2.x", 0, 0, -.25);
    EXPECT(&w, z, "grad.x", 0, 0, -.25);
    ir_free(z);
    close_case(&w, p->f, g, h);
}

static void piecewise_by_hand(void **state) {
    (void)state;
    CASE(true, 3, 3, 0, 1);
    Val x = in(p, "x", p->V, 0), x2 = MUL(x, x);
    OUT("y", ir_where(p->f, LT(ir_const_like(p->f, x, 0), x), x2, MUL(x2, x)));
    Fn *g = GRADIENT(p->f, "y", "x");
    SET(&w, "x", -1, 2, 3);
    SET(&w, "cot.y", 1, 1, 1);
    EXPECT(&w, g, "grad.x", 3, 4, 6);
    close_case(&w, p->f, g, NULL);
}

static void what_no_result_needs_gets_zeros(void **state) {
    (void)state;
    CASE(true, 2, 2, 0, 1);
    in(p, "w", p->E, 1, 2);
    OUT("y", in(p, "x", p->V, 0));
    OUT("steps", ir_floor(p->f, in(p, "x", p->V, 0)));
    Fn *g = GRADIENT(p->f, "y", "w", "x"), *s = GRADIENT(p->f, "steps", "x");
    SET(&w, "cot.y", 3, 4);
    EXPECT(&w, g, "grad.w", 0, 0);
    EXPECT(&w, g, "grad.x", 3, 4);
    EXPECT(&w, s, "grad.x", 0, 0);
    close_case(&w, p->f, g, s);
}

/* x after a chain of n relu(. + x). */
static uint32_t size_of_chain_gradient(int n) {
    World w;
    Fn *g;
    static const int32_t ends[] = {0, 0};
    world_open(&w, __func__, true, 1, 1, 1, ends, ends + 1);
    P program = program_new(&w, __func__), *p = &program;
    Val x = in(p, "x", p->V, 0), y = x;
    for (int k = 0; k < n; k++) {
        Val sum = ADD(y, x), zero = ir_const_like(p->f, sum, 0);
        y = ir_where(p->f, ir_le(p->f, sum, zero), zero, sum);
    }
    OUT("y", y);
    g = GRADIENT(p->f, "y", "x");
    SET(&w, "x", 1);
    SET(&w, "cot.y", 1);
    if (n < 20) EXPECT(&w, g, "grad.x", n + 1);
    uint32_t size = ir_count(g);
    close_case(&w, p->f, g, NULL);
    return size;
}

static void gradients_of_long_chains_stay_small(void **state) {
    (void)state;
    size_of_chain_gradient(12);
    assert_true(size_of_chain_gradient(200) < 3 * size_of_chain_gradient(100));
}

static void casts_between_floats_pass(void **state) {
    (void)state;
    CASE(true, 2, 2, 0, 1);
    Val x = in(p, "x", p->V, 0), single = ir_cast(p->f, x, DT_f32);
    OUT("y", ir_cast(p->f, ir_mul(p->f, single, single), DT_f64));
    OUT("n", ir_cast(p->f, ir_cast(p->f, x, DT_i64), DT_f64));
    Fn *g = GRADIENT(p->f, "y", "x"), *n = GRADIENT(p->f, "n", "x");
    SET(&w, "x", 3, -2);
    SET(&w, "cot.y", 1, 10);
    EXPECT(&w, g, "grad.x", 6, -40);
    EXPECT(&w, n, "grad.x", 0, 0);
    close_case(&w, p->f, g, n);
}

static void wrong_names_and_types_are_refused(void **state) {
    (void)state;
    CASE(true, 2, 2, 0, 1);
    Val n = ir_input(p->f, "n", type_scalar(DT_i64, p->V));
    OUT("y", MUL(in(p, "x", p->V, 0), ir_cast(p->f, n, DT_f64)));
    OUT("count", n);
    const char *y[] = {"y"}, *x[] = {"x"}, *count[] = {"count"}, *ints[] = {"n"}, *none[] = {"q"};
    Fn *out = NULL;
    assert_int_equal(vjp_run(arena_new(), p->f, y, 1, ints, 1, NULL, &out), ST_TYPE);
    assert_string_equal(err_message(), "gradient: input 'n' is int64; a float is needed");
    assert_int_equal(vjp_run(arena_new(), p->f, count, 1, x, 1, NULL, &out), ST_TYPE);
    assert_string_equal(err_message(), "gradient: result 'count' is int64; a float is needed");
    assert_int_equal(vjp_run(arena_new(), p->f, y, 1, none, 1, NULL, &out), ST_NAME);
    assert_string_equal(err_message(), "gradient: there is no input 'q' (there are: n, x)");
    assert_int_equal(vjp_run(arena_new(), p->f, none, 1, x, 1, NULL, &out), ST_NAME);
    assert_string_equal(err_message(), "gradient: there is no result 'q' (there are: y, count)");
    assert_null(out);
    close_case(&w, p->f, NULL, NULL);
}

/* Names are counted where taken, and the program is the same however often it is made. */
static void names_and_structure(void **state) {
    (void)state;
    CASE(true, 2, 2, 0, 1);
    geometry(p);
    const char *outs[] = {"m", "dpos"}, *wrt[] = {"pos"}, *names[3], *again[3];
    Fn *a, *b, *c;
    assert_int_equal(vjp_run(arena_new(), p->f, outs, 2, wrt, 1, names, &a), ST_OK);
    assert_int_equal(vjp_run(arena_new(), p->f, outs, 2, wrt, 1, NULL, &b), ST_OK);
    assert_int_equal(vjp_run(arena_new(), a, outs, 2, wrt, 1, again, &c), ST_OK);
    assert_string_equal(names[1], "cot.dpos");
    assert_string_equal(names[2], "grad.pos");
    assert_string_equal(again[1], "cot2.dpos");
    assert_string_equal(again[2], "grad2.pos");
    assert_int_equal(ir_count(a), ir_count(b));
    for (Val v = 1; v < ir_count(a); v++) assert_true(ir_node(a, v)->hash == ir_node(b, v)->hash);
    ir_free(p->f);
    close_case(&w, a, b, c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weighted_sum_by_hand),
        cmocka_unit_test(hessian_of_the_complete_graph),
        cmocka_unit_test(ties_share_evenly),
        cmocka_unit_test(feature_ties_share_evenly),
        cmocka_unit_test(dead_scores_pass_nothing),
        cmocka_unit_test(infinite_scores_are_fixed),
        cmocka_unit_test(empty_rows_pass_nothing),
        cmocka_unit_test(where_kills_the_dead_branch),
        cmocka_unit_test(piecewise_by_hand),
        cmocka_unit_test(what_no_result_needs_gets_zeros),
        cmocka_unit_test(gradients_of_long_chains_stay_small),
        cmocka_unit_test(casts_between_floats_pass),
        cmocka_unit_test(wrong_names_and_types_are_refused),
        cmocka_unit_test(names_and_structure),
        cmocka_unit_test(gradients_match_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
