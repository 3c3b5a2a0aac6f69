/* What leaves the edges: each rule fires where it should and nowhere else, and a result is finite
 * afterwards exactly where it was, whatever is not finite among the inputs and on empty rows. */
#include "programs.h"

#include "opt/opt.h"

typedef struct {
    const char *name;
    Val (*build)(const P *p);
    bool moves;
} Case;

static Val x(const P *p) { return SRC(in(p, "x", p->U, 1, 3)); }
static Val y(const P *p) { return DST(in(p, "y", p->V, 1, 3)); }
static Val e(const P *p) { return in(p, "e", p->E, 1, 3); }
static Val b(const P *p) { return ir_gather(p->f, in(p, "b", SET_ALL, 1, 3), map_all(p->E)); }

static Val weights(const P *p, int rows, int cols) {
    return ir_gather(p->f, in(p, "W", SET_ALL, 2, rows, cols), map_all(p->E));
}

static Val times(const P *p, Val v, int cols) {
    int64_t n = ir_type(p->f, v)->dim[0], one = 1;
    Val row = ir_reshape(p->f, v, (int64_t[]){one, n}, 2);
    return to_shape(p, ir_matmul(p->f, row, weights(p, (int)n, cols)), 1, cols);
}

static Val mean_of(const P *p, Val m) {
    Val n = ir_degree(p->f, p->dst);
    n = ir_max(p->f, n, ir_const_like(p->f, n, 1));
    return DIV(SUM(m), to_shape(p, ir_cast(p->f, n, DT_f64), 1, 1));
}

/* ---- what moves ---- */

static Val product(const P *p) { return SUM(times(p, e(p), 2)); }
static Val product_and_bias(const P *p) { return SUM(ADD(times(p, e(p), 3), b(p))); }
static Val left_product(const P *p) {
    Val column = to_shape(p, e(p), 2, 3, 1);
    return SUM(ir_matmul(p->f, weights(p, 2, 3), column));
}
static Val own_matrix(const P *p) {
    Val m = DST(in(p, "M", p->V, 2, 3, 2));
    return SUM(ir_matmul(p->f, to_shape(p, e(p), 2, 1, 3), m));
}
static Val term_of_the_row(const P *p) { return SUM(ADD(ADD(e(p), y(p)), x(p))); }
static Val term_taken_away(const P *p) { return SUM(SUB(MUL(e(p), x(p)), y(p))); }
static Val taken_from_a_term(const P *p) { return SUM(SUB(y(p), ir_tanh(p->f, x(p)))); }
static Val factor_of_the_row(const P *p) { return SUM(MUL(MUL(e(p), y(p)), x(p))); }
static Val number(const P *p) { return SUM(MUL(e(p), K(3))); }
static Val divisor_of_the_row(const P *p) { return SUM(DIV(e(p), y(p))); }
static Val row_alone(const P *p) { return SUM(y(p)); }
static Val wide_factor(const P *p) {
    Val c = DST(in(p, "c", p->V, 1, 1));
    return SUM(MUL(c, e(p)));
}
static Val behind_a_sign(const P *p) { return SUM(ir_neg(p->f, MUL(e(p), y(p)))); }
static Val in_a_mean(const P *p) { return mean_of(p, ADD(times(p, e(p), 3), b(p))); }
static Val one_in_another(const P *p) {
    return SUM(MUL(y(p), ADD(times(p, ir_tanh(p->f, e(p)), 3), b(p))));
}
static Val to_the_source(const P *p) {
    return ir_reduce(p->f, MUL(SRC(in(p, "x", p->U, 1, 3)), e(p)), p->src);
}
static Val gathered_wide(const P *p) { return SUM(times(p, x(p), 4)); }
static Val concatenation(const P *p) {
    Val c = ir_concat(p->f, (Val[]){x(p), y(p), e(p)}, 3, 0);
    return SUM(ir_tanh(p->f, times(p, c, 4)));
}
static Val threshold(const P *p) {
    Val c = ir_concat(p->f, (Val[]){x(p), e(p)}, 2, 0), z = times(p, c, 4);
    return SUM(ir_where(p->f, LT(z, K(0)), meet(p, K(0), z), z));
}

/* ---- what stays ---- */

static Val largest_sum(const P *p) {
    return ir_part(p->f, ir_rmax(p->f, SUM(MUL(e(p), y(p))), map_all(p->V)), 0);
}
static Val compared_sums(const P *p) {
    Val a = SUM(MUL(e(p), y(p))), c = in(p, "y", p->V, 1, 3);
    return ir_where(p->f, LT(a, c), a, c);
}
static Val compared_products(const P *p) {
    Val c = ir_concat(p->f, (Val[]){x(p), e(p)}, 2, 0), z = times(p, c, 3);
    return SUM(ir_where(p->f, LT(z, x(p)), z, e(p)));
}
static Val around_the_mean(const P *p) {
    Val m = mean_of(p, MUL(e(p), x(p)));
    return SUM(SUB(MUL(e(p), x(p)), DST(m)));
}
static Val and_the_mean(const P *p) {
    return SUM(ADD(MUL(e(p), x(p)), DST(mean_of(p, MUL(e(p), x(p))))));
}
static Val used_elsewhere(const P *p) {
    Val t = times(p, e(p), 3);
    return ADD(SUM(t), SUM(ir_tanh(p->f, t)));
}
static Val hoisted_narrow(const P *p) { return SUM(times(p, x(p), 1)); }
static Val masked(const P *p) {
    Val m = MUL(e(p), y(p));
    return SUM(ir_where(p->f, LT(x(p), e(p)), m, meet(p, K(0), m)));
}
static Val edges_alone(const P *p) { return SUM(MUL(e(p), x(p))); }
static Val whole_numbers(const P *p) {
    Val n = DST(ir_degree(p->f, p->dst));
    return SUM(ir_mul(p->f, n, ir_iota(p->f, p->E)));
}
static Val to_all(const P *p) { return ir_reduce(p->f, MUL(e(p), b(p)), map_all(p->E)); }
static Val wide_parts(const P *p) {
    Val c = ir_concat(p->f, (Val[]){e(p), MUL(x(p), y(p))}, 2, 0);
    return SUM(ir_tanh(p->f, times(p, c, 4)));
}

static const Case cases[] = {
#define MOVES(name) {#name, name, true}
#define STAYS(name) {#name, name, false}
    MOVES(product),
    MOVES(product_and_bias),
    MOVES(left_product),
    MOVES(own_matrix),
    MOVES(term_of_the_row),
    MOVES(term_taken_away),
    MOVES(taken_from_a_term),
    MOVES(factor_of_the_row),
    MOVES(number),
    MOVES(divisor_of_the_row),
    MOVES(row_alone),
    MOVES(wide_factor),
    MOVES(behind_a_sign),
    MOVES(in_a_mean),
    MOVES(one_in_another),
    MOVES(to_the_source),
    MOVES(gathered_wide),
    MOVES(concatenation),
    MOVES(threshold),
    STAYS(largest_sum),
    STAYS(compared_sums),
    STAYS(compared_products),
    STAYS(around_the_mean),
    STAYS(and_the_mean),
    STAYS(used_elsewhere),
    STAYS(hoisted_narrow),
    STAYS(masked),
    STAYS(edges_alone),
    STAYS(whole_numbers),
    STAYS(to_all),
    STAYS(wide_parts),
};
enum { NUM_CASES = sizeof cases / sizeof *cases };

static Fn *build(const World *w, const Case *c) {
    P program = program_new(w, c->name), *p = &program;
    OUT("out", c->build(p));
    if (p->f->status) fail_msg("%s: %s", c->name, err_message());
    return p->f;
}

static void rules_fire_where_they_should(void **state) {
    (void)state;
    World w;
    world_number(&w, 1);
    for (int k = 0; k < NUM_CASES; k++) {
        Fn *f = build(&w, &cases[k]), *g = opt_move(arena_new(), f);
        bool moved =
            ir_node(f, f->results.data[0].val)->hash != ir_node(g, g->results.data[0].val)->hash;
        if (moved != cases[k].moves) fail_msg("%s %s", cases[k].name, moved ? "moved" : "stayed");
        ir_free(f);
        ir_free(g);
    }
    world_close(&w);
}

/* ---- the contract ---- */

static void compare(const char *what, const Outcome *a, const Outcome *b) {
    for (int64_t i = 0; i < a->n[0]; i++) {
        double u = a->data[0][i], v = b->data[0][i];
        if (!isfinite(u) != !isfinite(v) || (isfinite(u) && fabs(u - v) > 1e-13 * (1 + fabs(u))))
            fail_msg("%s: out[%d] was %.17g, is %.17g", what, (int)i, u, v);
    }
}

static void check_inputs(World *w, const char *what, const Fn *f, const Fn *g) {
    Outcome a = world_run(w, f), b = world_run(w, g);
    compare(what, &a, &b);
    outcome_free(&a);
    outcome_free(&b);
}

/* Each element of each input in turn is one of these, and one more is, elsewhere. */
static void inject(World *w, const char *what, const Fn *f, const Fn *g) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0};
    check_inputs(w, what, f, g);
    int n = w->num_values;
    for (int k = 0; k < n; k++)
        for (int64_t i = 0; i < w->values[k].n; i++)
            for (int j = 0; j < 5; j++) {
                Value *u = &w->values[k], *v = &w->values[(k + j) % n];
                double kept = u->base[i], other = v->n ? v->base[i * 7 % v->n] : 0;
                u->base[i] = odd[j];
                check_inputs(w, what, f, g);
                if (v->n) v->base[i * 7 % v->n] = odd[(i + k) % 5];
                check_inputs(w, what, f, g);
                if (v->n) v->base[i * 7 % v->n] = other;
                u->base[i] = kept;
            }
}

static void results_stay_finite_or_not(void **state) {
    (void)state;
    for (int number_of = 0; number_of < 5; number_of++) {
        World w;
        world_number(&w, number_of);
        for (int k = 0; k < NUM_CASES; k++) {
            Fn *f = build(&w, &cases[k]), *g = opt_move(arena_new(), f);
            inject(&w, cases[k].name, f, g);
            world_forget(&w);
            ir_free(f);
            ir_free(g);
        }
        world_close(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_fire_where_they_should),
        cmocka_unit_test(results_stay_finite_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
