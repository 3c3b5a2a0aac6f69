/* Compiled kernels give what the interpreter gives: bit for bit where nothing accumulates along a map,
 * within a tolerance elsewhere. */
#include "codegen_run.h"
#include "plan_programs.h"

static const double close32 = 2e-5, close64 = 1e-13;

/* ---- the planner's programs, with gradients ---- */

static void programs_of_the_table(void **state) {
    (void)state;
    for (size_t k = 0; k < NUM_PROGRAMS; k++) {
        if (programs[k].build == two_relations) continue; /* one relation a world */
        Fn *f = program_build(&programs[k]), *joint = with_gradients(f, "y");
        Check c = {.homogeneous = true, .tolerance = close32};
        check_everywhere(programs[k].name, f, c);
        check_everywhere(programs[k].name, joint, c);
        ir_free(joint);
        ir_free(f);
    }
}

/* ---- widths ---- */

static Val input(Fn *f, const char *name, Dtype d, Set s, int rank, const int64_t *dim) {
    return ir_input(f, name, type_of(d, s, rank, dim));
}

/* w [1] @ E and x [n] @ U, spread: message w x. */
static Val message(Fn *f, Dtype d, int64_t n) {
    Val w = input(f, "w", d, E, 1, (int64_t[]){1}), x = input(f, "x", d, U, 1, &n);
    return ir_mul(f, ir_bcast(f, w, &n, 1), at_src(f, x));
}

static const int64_t widths[] = {0, 1, 2, 3, 4, 7, 8, 16, 17, 31, 64, 100, 300};
enum { NUM_WIDTHS = sizeof widths / sizeof *widths };

static void for_widths(const char *what, void (*build)(Fn *f, Dtype d, int64_t n)) {
    for (size_t k = 0; k < NUM_WIDTHS; k++)
        for (int d = DT_f32; d <= DT_f64; d++) {
            Fn *f = bipartite();
            build(f, (Dtype)d, widths[k]);
            if (f->status) fail_msg("%s: %s", what, err_message());
            check_everywhere(what, f, (Check){.tolerance = d == DT_f32 ? close32 : close64});
            ir_free(f);
        }
}

static void build_sum(Fn *f, Dtype d, int64_t n) {
    Val y = sum_dst(f, message(f, d, n)), b = input(f, "b", d, V, 1, &n);
    ir_add_result(f, "y", ir_add(f, y, b));
    ir_add_result(f, "m", message(f, d, n));
}

static void sums_of_every_width(void **state) {
    (void)state;
    for_widths("weighted sum", build_sum);
}

static void build_max(Fn *f, Dtype d, int64_t n) {
    Val r = ir_rmax(f, message(f, d, n), map_dst(0));
    ir_add_result(f, "y", ir_part(f, r, 0));
    ir_add_result(f, "ties", ir_part(f, r, 1));
}

static void largest_and_ties(void **state) {
    (void)state;
    for_widths("max", build_max);
}

static void build_softmax(Fn *f, Dtype d, int64_t n) {
    Val s = input(f, "s", d, E, 1, &n), one = input(f, "t", d, E, 1, (int64_t[]){1});
    Val same = ir_softmax(f, s, message(f, d, n), map_dst(0));
    Val spread = ir_softmax(f, one, message(f, d, n), map_dst(0));
    ir_add_result(f, "same", ir_part(f, same, 0));
    ir_add_result(f, "same.lse", ir_logsumexp(f, same));
    ir_add_result(f, "spread", ir_part(f, spread, 0));
    ir_add_result(f, "spread.lse", ir_logsumexp(f, spread));
}

static void softmax_of_every_width(void **state) {
    (void)state;
    for_widths("softmax", build_softmax);
}

static void build_all(Fn *f, Dtype d, int64_t n) {
    Val m = message(f, d, n), sum = ir_reduce(f, m, map_all(E));
    Val nodes = ir_rmax(f, input(f, "b", d, V, 1, &n), map_all(V));
    ir_add_result(f, "sum", sum);
    ir_add_result(f, "largest", ir_part(f, nodes, 0));
    ir_add_result(f, "ties", ir_part(f, nodes, 1));
    Val centred = ir_sub(f, sum_dst(f, m), ir_gather(f, sum, map_all(V)));
    ir_add_result(f, "rest", centred);
}

static void reductions_to_all(void **state) {
    (void)state;
    for_widths("to all", build_all);
}

/* ---- rows that are split ---- */

static void hubs_are_split(void **state) {
    (void)state;
    const World hub = {"a long row", 50, 4, 50000, 0, false},
                mixed = {"long rows", 50, 3, 60000, 5, false};
    void (*const builds[])(Fn *f, Dtype d, int64_t n) = {build_sum, build_max, build_softmax,
                                                         build_all};
    for (size_t k = 0; k < 4; k++)
        for (int64_t n = 3; n <= 300; n += 297) {
            Fn *f = bipartite();
            builds[k](f, DT_f32, n);
            Check c = {.fill = FILL_integers, .tolerance = close32};
            check_program("split rows", f, &hub, c);
            check_program("split rows", f, &mixed, c);
            c.fill = FILL_nasty;
            check_program("split rows", f, &mixed, c);
            ir_free(f);
        }
    for (size_t k = 0; k < NUM_PROGRAMS; k++) {
        if (programs[k].build == two_relations) continue;
        const World w = {"a long row among others", 3, 3, 40000, 9, false};
        Fn *f = program_build(&programs[k]), *joint = with_gradients(f, "y");
        check_program(programs[k].name, joint, &w, (Check){.homogeneous = true, .tolerance = 1e-3});
        ir_free(joint);
        ir_free(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_the_table), cmocka_unit_test(sums_of_every_width),
        cmocka_unit_test(largest_and_ties),      cmocka_unit_test(softmax_of_every_width),
        cmocka_unit_test(reductions_to_all),     cmocka_unit_test(hubs_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
