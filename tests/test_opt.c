/* Passes: equal programs stay equal, to the bit where the table says so; the halves of a split make
 * the whole; and each identity, one by one. */
#include "programs.h"

#include "opt/opt.h"

/* ---- over the table of programs ---- */

static Fn *differentiate(const Fn *f, bool gradients_only) {
    const char *outs[MAX_VALUES], *wrt[MAX_VALUES];
    uint32_t num_outs = 0, num_wrt = 0;
    for (uint32_t k = 0; k < f->results.len; k++)
        if (!gradients_only || !strncmp(f->results.data[k].name, "grad", 4))
            outs[num_outs++] = f->results.data[k].name;
    for (uint32_t k = 0; k < f->inputs.len; k++) wrt[num_wrt++] = f->inputs.data[k].name;
    Fn *joint;
    if (vjp_run(arena_new(), f, outs, num_outs, wrt, num_wrt, NULL, &joint))
        fail_msg("%s", err_message());
    return joint;
}

/* The same bits, but that any NaN is as good as another. */
static bool same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

static void compare(const char *what, const Fn *f, const Outcome *a, const Fn *g, const Outcome *b,
                    double slack) {
    for (uint32_t k = 0; k < b->num; k++) {
        uint32_t j = 0;
        while (j < a->num && strcmp(f->results.data[j].name, g->results.data[k].name)) j++;
        if (j == a->num) continue; /* a residual */
        assert_int_equal(a->n[j], b->n[k]);
        for (int64_t i = 0; i < a->n[j]; i++) {
            double x = a->data[j][i], y = b->data[k][i];
            if (!same_bits(x, y) && !(fabs(x - y) <= slack * (fabs(x) + 1)))
                fail_msg("%s: %s[%d] was %.17g, is %.17g", what, g->results.data[k].name, (int)i, x,
                         y);
        }
    }
}

static void check_pass(World *w, const char *what, const Pass *pass, const Fn *f) {
    Fn *g = pass->run(arena_new(), f);
    assert_int_equal(f->inputs.len, g->inputs.len);
    assert_int_equal(f->results.len, g->results.len);
    Outcome a = world_run(w, f), b = world_run(w, g);
    compare(what, f, &a, g, &b, pass->exact ? 0 : 1e-12);
    outcome_free(&a);
    outcome_free(&b);
    ir_free(g);
}

/* What is prepared once stays as it is. */
static void check_prepared(const Fn *f) {
    Fn *once = opt_prepare(arena_new(), f), *twice = opt_prepare(arena_new(), once);
    assert_int_equal(ir_count(once), ir_count(twice));
    for (Val v = 1; v < ir_count(once); v++)
        assert_true(ir_node(once, v)->hash == ir_node(twice, v)->hash);
    ir_free(once);
    ir_free(twice);
}

static void every_program(void (*check)(World *w, const char *what, const Fn *f)) {
    for (int k = 0; k < NUM_WORLDS; k++) {
        World w;
        world_number(&w, k);
        for (int i = 0; i < NUM_PROGRAMS; i++) {
            Fn *f = program_build(&w, &programs[i]);
            check(&w, programs[i].name, f);
            world_forget(&w);
            ir_free(f);
        }
        world_close(&w);
    }
}

static void check_passes(World *w, const char *what, const Fn *f) {
    Fn *joint = differentiate(f, false), *second = differentiate(joint, true);
    for (const Pass *p = opt_passes; p->name; p++) {
        check_pass(w, what, p, f);
        check_pass(w, what, p, joint);
        check_pass(w, what, p, second);
    }
    check_prepared(f);
    check_prepared(joint);
    check_prepared(second);
    ir_free(joint);
    ir_free(second);
}

static void passes_keep_programs(void **state) {
    (void)state;
    every_program(check_passes);
}

/* ---- splitting ---- */

static uint32_t count_reductions(const Fn *f) {
    uint32_t n = 0;
    for (Val v = 1; v < ir_count(f); v++)
        n += ir_op(f, v) == OP_reduce || ir_op(f, v) == OP_rmax || ir_op(f, v) == OP_softmax;
    return n;
}

static Split split_keeping(const Fn *joint, const Fn *first) {
    const char *keep[MAX_VALUES];
    for (uint32_t k = 0; k < first->results.len; k++) keep[k] = first->results.data[k].name;
    return opt_split(joint, keep, first->results.len);
}

static void hand_over(World *w, const Split *s, const Outcome *forward) {
    for (uint32_t k = 0; k < s->num_residuals; k++) {
        uint32_t at = s->forward->results.len - s->num_residuals + k;
        const Type *t = ir_type(s->forward, s->forward->results.data[at].val);
        assert_string_equal(s->forward->results.data[at].name, s->residuals[k]);
        memcpy(world_value(w, s->residuals[k], t)->base, forward->data[at],
               (size_t)forward->n[at] * 8);
    }
}

static void check_halves(World *w, const char *what, const Fn *joint, const Fn *first) {
    Split s = split_keeping(joint, first);
    Fn *whole = opt_prepare(arena_new(), joint);
    assert_int_equal(s.forward->results.len, first->results.len + s.num_residuals);
    assert_int_equal(s.backward->results.len, joint->results.len - first->results.len);
    Outcome all = world_run(w, whole), forward = world_run(w, s.forward);
    hand_over(w, &s, &forward);
    Outcome backward = world_run(w, s.backward);
    compare(what, whole, &all, s.forward, &forward, 0);
    compare(what, whole, &all, s.backward, &backward, 0);
    check_prepared(s.forward);
    check_prepared(s.backward);
    outcome_free(&all);
    outcome_free(&forward);
    outcome_free(&backward);
    ir_free(whole);
    ir_free(s.forward);
    ir_free(s.backward);
    world_forget(w);
}

static void check_splits(World *w, const char *what, const Fn *f) {
    Fn *joint = differentiate(f, false), *second = differentiate(joint, true);
    check_halves(w, what, joint, f);
    check_halves(w, what, second, joint);
    ir_free(joint);
    ir_free(second);
}

static void halves_make_the_whole(void **state) {
    (void)state;
    every_program(check_splits);
}

/* Residuals and the reductions left in backward: to x, to parameters, to the other end. */
static void residuals_are_what_a_traversal_would_cost(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t residuals, reductions;
    } want[] = {
        {"weighted_sum", 0, 1},
        {"attention", 3, 3},
        {"largest", 2, 1},
        {"edge_mlp", 0, 6},
        {"gcn1", 1, 2},
        {"gcn2", 2, 4},
        {"edge_softmax_result", 3, 4},
    };
    World w;
    world_number(&w, 1);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const Program *p = programs;
        while (strcmp(p->name, want[i].name)) p++;
        Fn *f = program_build(&w, p), *joint = differentiate(f, false);
        Split s = split_keeping(joint, f);
        if (s.num_residuals != want[i].residuals ||
            count_reductions(s.backward) != want[i].reductions)
            fail_msg("%s: %u residuals, %u reductions", p->name, s.num_residuals,
                     count_reductions(s.backward));
        ir_free(f);
        ir_free(joint);
        ir_free(s.forward);
        ir_free(s.backward);
    }
    world_close(&w);
}

static void residual_names_step_aside(void **state) {
    (void)state;
    World w;
    world_number(&w, 0);
    P program = program_new(&w, "f"), *p = &program;
    Val h = ir_tanh(p->f, SUM(MUL(in(p, "res.0", p->E, 0), SRC(in(p, "x", p->V, 0)))));
    OUT("y", h);
    Fn *joint = differentiate(p->f, false);
    Split s = split_keeping(joint, p->f);
    assert_int_equal(s.num_residuals, 1);
    assert_string_equal(s.residuals[0], "res.1");
    check_halves(&w, "res.0", joint, p->f);
    ir_free(p->f);
    ir_free(joint);
    ir_free(s.forward);
    ir_free(s.backward);
    world_close(&w);
}

static void a_slice_alone_is_kept(void **state) {
    (void)state;
    World w;
    world_number(&w, 0);
    P program = program_new(&w, "f"), *p = &program;
    Val sum = SUM(SRC(in(p, "x", p->V, 1, 3)));
    OUT("y", ir_exp(p->f, ir_slice(p->f, sum, (int64_t[]){1, 1, 1})));
    Fn *joint = differentiate(p->f, false);
    Split s = split_keeping(joint, p->f);
    assert_int_equal(s.num_residuals, 1);
    const Binding *b = &s.forward->results.data[s.forward->results.len - 1];
    assert_int_equal(type_numel(ir_type(s.forward, b->val)), 1);
    check_halves(&w, "a slice", joint, p->f);
    ir_free(p->f);
    ir_free(joint);
    ir_free(s.forward);
    ir_free(s.backward);
    world_close(&w);
}

/* ---- rules one by one ---- */

/* A function with x, y, z : f64 @ V, c : i1 @ V, n : i64 @ V, b : f32 @ V. */
typedef struct {
    Fn *f;
    Set V;
    Map dst;
    Val x, y, z, c, n, b;
} Q;

static Q rules_new(void) {
    Q q = {.f = ir_new(arena_new(), "f")};
    q.V = ir_set(q.f, "V");
    q.dst = map_dst(ir_relation(q.f, "r", q.V, q.V));
    q.x = ir_input(q.f, "x", type_scalar(DT_f64, q.V));
    q.y = ir_input(q.f, "y", type_scalar(DT_f64, q.V));
    q.z = ir_input(q.f, "z", type_scalar(DT_f64, q.V));
    q.c = ir_input(q.f, "c", type_scalar(DT_bool, q.V));
    q.n = ir_input(q.f, "n", type_scalar(DT_i64, q.V));
    q.b = ir_input(q.f, "b", type_scalar(DT_f32, q.V));
    return q;
}

/* The pass gives what `want` is: structures have one hash in every function. */
static void becomes(const Q *q, Fn *(*pass)(Arena *, const Fn *), int line, Val v, Val want) {
    if (q->f->status) fail_msg("line %d: %s", line, err_message());
    Fn *f = ir_new_like(arena_new(), q->f, "f");
    Val *memo = ARENA_ARRAY(f->arena, Val, ir_count(q->f));
    ir_add_result(f, "v", ir_copy(f, q->f, v, memo));
    Fn *g = pass(arena_new(), f);
    const Node *got = ir_node(g, g->results.data[0].val);
    if (got->hash != ir_node(q->f, want)->hash)
        fail_msg("line %d: gives %s", line, op_info[got->op].name);
    ir_free(f);
    ir_free(g);
}
#define CLEANS(v, want) becomes(&q, opt_clean, __LINE__, v, want)
#define FUSES(v, want) becomes(&q, opt_fma, __LINE__, v, want)
#define HOISTS(v, want) becomes(&q, opt_hoist, __LINE__, v, want)
#define LIKE(v, value) ir_const_like(q.f, v, value)
static Val nary(const Q *q, Op op, Val a, Val b, Val c) {
    return ir_emit(q->f, op, (Val[]){a, b, c}, 3, NULL);
}

static void exact_identities_go(void **state) {
    (void)state;
    Q q = rules_new();
    Fn *f = q.f;
    Val t = ir_const_int(f, *ir_type(f, q.c), 1), xy = ir_mul(f, q.x, q.y);
    CLEANS(ir_mul(f, q.x, LIKE(q.x, 1)), q.x);
    CLEANS(nary(&q, OP_mul, q.x, LIKE(q.x, 1), q.y), xy);
    CLEANS(ir_div(f, q.x, LIKE(q.x, 1)), q.x);
    CLEANS(ir_sub(f, q.x, LIKE(q.x, 0)), q.x);
    CLEANS(ir_add(f, q.x, LIKE(q.x, -0.0)), q.x);
    CLEANS(ir_add(f, q.n, LIKE(q.n, 0)), q.n);
    CLEANS(ir_neg(f, ir_neg(f, xy)), xy);
    CLEANS(ir_max(f, q.x, q.x), q.x);
    CLEANS(ir_where(f, t, q.x, q.y), q.x);
    CLEANS(ir_where(f, q.c, q.x, q.x), q.x);
    CLEANS(ir_where(f, ir_not(f, q.c), q.x, q.y), ir_where(f, q.c, q.y, q.x));
    CLEANS(ir_not(f, ir_not(f, q.c)), q.c);
    CLEANS(ir_and(f, q.c, t), q.c);
    CLEANS(ir_or(f, q.c, t), t);
    CLEANS(ir_cast(f, ir_cast(f, q.b, DT_f64), DT_f32), q.b);
    CLEANS(ir_cast(f, ir_cast(f, q.c, DT_i64), DT_f32), ir_cast(f, q.c, DT_f32));
    CLEANS(ir_enter(f, ir_leave(f, q.x), q.V), q.x);
    ir_free(q.f);
}

static void what_changes_a_bit_stays(void **state) {
    (void)state;
    Q q = rules_new();
    Fn *f = q.f;
    const Val stay[] = {
        ir_add(f, q.x, LIKE(q.x, 0)),
        ir_sub(f, q.x, LIKE(q.x, -0.0)),
        ir_mul(f, q.x, LIKE(q.x, 0)),
        ir_sub(f, q.x, q.x),
        ir_div(f, q.x, q.x),
        ir_cast(f, ir_cast(f, q.x, DT_f32), DT_f64),
        ir_eq(f, q.x, q.x),
        ir_cast(f, ir_cast(f, q.n, DT_f64), DT_i64),
        ir_cast(f, ir_cast(f, q.x, DT_i64), DT_f64),
    };
    for (size_t k = 0; k < sizeof stay / sizeof *stay; k++) CLEANS(stay[k], stay[k]);
    ir_free(q.f);
}

/* Of -0 and +0 the second is the larger and the smaller: other operands' hashes must not swap them. */
static void operands_of_max_and_min_stay_in_order(void **state) {
    (void)state;
    for (int k = 0; k < 32; k++) {
        Q q = rules_new();
        Fn *f = q.f;
        Val a = LIKE(q.x, k), b = ir_neg(f, ir_neg(f, ir_add(f, q.y, LIKE(q.y, k))));
        Val plain = ir_add(f, q.y, LIKE(q.y, k));
        CLEANS(ir_max(f, a, b), ir_max(f, a, plain));
        CLEANS(ir_max(f, b, a), ir_max(f, plain, a));
        CLEANS(ir_min(f, a, b), ir_min(f, a, plain));
        assert_int_equal(ir_arg(f, ir_max(f, a, b), 0), a);
        assert_int_equal(ir_arg(f, ir_max(f, b, a), 0), b);
        ir_free(f);
    }
}

static void constants_fold(void **state) {
    (void)state;
    Q q = rules_new();
    Fn *f = q.f;
    Type s = type_scalar(DT_f64, SET_ALL), wide = type_of(DT_f64, q.V, 2, (int64_t[]){2, 3});
    Type i = type_scalar(DT_i32, SET_ALL), flag = type_scalar(DT_bool, SET_ALL);
    Val three = ir_const(f, s, 3), half = ir_const(f, s, 0.5), most = ir_const_int(f, i, INT32_MAX);
    CLEANS(ir_mul(f, three, half), ir_const(f, s, 1.5));
    CLEANS(ir_div(f, three, ir_const(f, s, 0)), ir_const(f, s, INFINITY));
    CLEANS(ir_add(f, most, ir_const_int(f, i, 1)), ir_const_int(f, i, INT32_MIN));
    CLEANS(ir_lt(f, half, three), ir_const_int(f, flag, 1));
    CLEANS(ir_eq(f, ir_const(f, s, NAN), three), ir_const_int(f, flag, 0));
    CLEANS(ir_cast(f, ir_const(f, s, -2.7), DT_i32), ir_const_int(f, i, -2));
    CLEANS(ir_cast(f, ir_const_int(f, i, -2), DT_f64), ir_const(f, s, -2));
    CLEANS(ir_bcast(f, ir_emit(f, OP_gather, &three, 1, &(Attr){.map = map_all(q.V)}), wide.dim, 2),
           ir_const(f, wide, 3));
    CLEANS(ir_reduce(f, ir_const_int(f, type_scalar(DT_i32, f->relations.data[0].edges), 0), q.dst),
           LIKE(q.n, 0));
    Val undecided = ir_div(f, ir_const(f, s, 0), ir_const(f, s, 0)), log = ir_log(f, three);
    CLEANS(undecided, undecided);
    CLEANS(log, log);
    ir_free(q.f);
}

static void moves_compose(void **state) {
    (void)state;
    Q q = rules_new();
    Fn *f = q.f;
    Val m = ir_input(f, "m", type_of(DT_f64, q.V, 3, (int64_t[]){2, 1, 3}));
    int64_t turn[] = {1, 2, 0}, back[] = {2, 0, 1}, flat[] = {6}, four[] = {4, 2, 1, 3},
            deep[] = {5, 4, 2, 7, 3};
    CLEANS(ir_transpose(f, ir_transpose(f, m, turn), back), m);
    CLEANS(ir_transpose(f, ir_transpose(f, m, turn), turn), ir_transpose(f, m, back));
    CLEANS(ir_reshape(f, ir_reshape(f, m, flat, 1), (int64_t[]){2, 1, 3}, 3), m);
    CLEANS(ir_bcast(f, ir_bcast(f, m, four, 4), deep, 5), ir_bcast(f, m, deep, 5));
    ir_free(q.f);
}

static void products_fuse_into_sums(void **state) {
    (void)state;
    Q q = rules_new();
    Fn *f = q.f;
    Val xy = ir_mul(f, q.x, q.y), p = ir_arg(f, xy, 0), s = ir_arg(f, xy, 1),
        xx = ir_mul(f, q.x, q.x);
    FUSES(ir_add(f, xy, q.z), ir_fma(f, p, s, q.z));
    FUSES(ir_sub(f, xy, q.z), ir_fma(f, p, s, ir_neg(f, q.z)));
    FUSES(ir_sub(f, q.z, xy), ir_fma(f, ir_neg(f, p), s, q.z));
    FUSES(ir_sub(f, xy, xx), ir_sub(f, xy, xx));
    FUSES(ir_add(f, ir_mul(f, q.n, q.n), q.n), ir_add(f, ir_mul(f, q.n, q.n), q.n));
    Val sum = nary(&q, OP_add, q.x, q.y, q.z);
    FUSES(sum, ir_add(f, ir_add(f, ir_arg(f, sum, 0), ir_arg(f, sum, 1)), ir_arg(f, sum, 2)));
    Val both = ir_add(f, xy, xx), last = ir_arg(f, both, 1);
    FUSES(both, ir_fma(f, ir_arg(f, last, 0), ir_arg(f, last, 1), ir_arg(f, both, 0)));
    ir_free(q.f);
}

static Val at_end(const Q *q, Val v, Map m) { return ir_gather(q->f, v, m); }

static void work_moves_before_its_gather(void **state) {
    (void)state;
    Q q = rules_new();
    Fn *f = q.f;
    Map src = map_src(0);
    Set e = f->relations.data[0].edges;
    Val xs = at_end(&q, q.x, src), ys = at_end(&q, q.y, src), xd = at_end(&q, q.x, q.dst);
    Val p = ir_input(f, "p", type_scalar(DT_f64, SET_ALL)), three = ir_const_like(f, xs, 3);
    Val w = ir_input(f, "w", type_scalar(DT_f64, e));
    HOISTS(ir_tanh(f, xs), at_end(&q, ir_tanh(f, q.x), src));
    HOISTS(ir_tanh(f, ir_mul(f, xs, ys)), at_end(&q, ir_tanh(f, ir_mul(f, q.x, q.y)), src));
    HOISTS(ir_exp(f, ir_mul(f, xs, three)),
           at_end(&q, ir_exp(f, ir_mul(f, q.x, LIKE(q.x, 3))), src));
    HOISTS(ir_exp(f, ir_mul(f, xs, at_end(&q, p, map_all(e)))),
           at_end(&q, ir_exp(f, ir_mul(f, q.x, at_end(&q, p, map_all(q.V)))), src));
    Val ex = ir_exp(f, q.x), wide = ir_bcast(f, ir_exp(f, xs), (int64_t[]){2}, 1);
    HOISTS(wide, ir_bcast(f, at_end(&q, ex, src), (int64_t[]){2}, 1));
    HOISTS(ir_add(f, w, ir_exp(f, xd)), ir_add(f, w, at_end(&q, ir_exp(f, q.x), q.dst)));
    HOISTS(ir_mul(f, w, ir_exp(f, at_end(&q, p, map_all(e)))),
           ir_mul(f, w, at_end(&q, ir_exp(f, p), map_all(e))));
    HOISTS(ir_reduce(f, ir_neg(f, xd), q.dst),
           ir_reduce(f, at_end(&q, ir_neg(f, q.x), q.dst), q.dst));
    ir_free(f);
}

static void work_stays_on_the_edges(void **state) {
    (void)state;
    Q q = rules_new();
    Fn *f = q.f;
    Map src = map_src(0);
    Val xs = at_end(&q, q.x, src), xd = at_end(&q, q.x, q.dst);
    Val t = ir_input(f, "t", type_of(DT_f64, q.V, 1, (int64_t[]){5}));
    Val wide = ir_bcast(f, xs, (int64_t[]){64}, 1);
    const Val stay[] = {
        ir_exp(f, ir_mul(f, xs, xd)), /* two ends */
        ir_neg(f, xs),                /* a table in between costs more */
        ir_add(f, wide, LIKE(wide, 1)),
        ir_take(f, at_end(&q, t, src), at_end(&q, q.n, src)),
        ir_cast(f, at_end(&q, q.b, src), DT_f64), /* as few bytes as there are */
    };
    for (size_t k = 0; k < sizeof stay / sizeof *stay; k++) HOISTS(stay[k], stay[k]);
    ir_free(f);
}

/* "cot2.y" is one, as "cot.y" is: what depends on it stays out of the forward half. */
static void later_cotangents_are_late(void **state) {
    (void)state;
    Fn *f = ir_new(arena_new(), "f"), *once, *twice;
    Set v = ir_set(f, "V");
    int r = ir_relation(f, "r", v, v);
    Val x = ir_input(f, "x", type_scalar(DT_f64, v));
    Val m = ir_tanh(f, ir_gather(f, x, map_src(r)));
    ir_add_result(f, "y", ir_reduce(f, m, map_dst(r)));
    const char *y = "y", *wrt = "x", *keep[] = {"y", "grad.x"};
    assert_int_equal(vjp_run(arena_new(), f, &y, 1, &wrt, 1, NULL, &once), ST_OK);
    assert_int_equal(vjp_run(arena_new(), once, &y, 1, &wrt, 1, NULL, &twice), ST_OK);
    assert_int_not_equal(ir_find_input(twice, "cot2.y"), 0);
    Split s = opt_split(twice, keep, 2);
    assert_int_not_equal(ir_find_input(s.forward, "cot.y"), 0);
    assert_int_equal(ir_find_input(s.forward, "cot2.y"), 0);
    assert_int_equal(s.num_residuals, 0);
    Fn *all[] = {f, once, twice, s.forward, s.backward};
    for (int k = 0; k < 5; k++) ir_free(all[k]);
}

/* What a kept result takes in, a cotangent too, is early: a reduction of it is handed on. */
static void kept_results_cotangents_are_early(void **state) {
    (void)state;
    Fn *f = ir_new(arena_new(), "f");
    Set v = ir_set(f, "V");
    int r = ir_relation(f, "r", v, v);
    Val g = ir_input(f, "cot.y", type_scalar(DT_f64, v));
    Val sum = ir_reduce(f, ir_gather(f, g, map_src(r)), map_dst(r));
    ir_add_result(f, "kept", ir_tanh(f, sum));
    ir_add_result(f, "other", ir_mul(f, sum, ir_input(f, "cot2.y", type_scalar(DT_f64, v))));
    const char *keep = "kept";
    Split s = opt_split(f, &keep, 1);
    assert_int_equal(s.num_residuals, 1);
    assert_int_equal(ir_find_input(s.backward, "cot.y"), 0);
    Fn *all[] = {f, s.forward, s.backward};
    for (int k = 0; k < 3; k++) ir_free(all[k]);
}

/* A choice of the user's that happens to be 1 stays; a guard goes where nothing moved through its gather. */
static void guards_go_and_choices_stay(void **state) {
    (void)state;
    Fn *f = ir_new(arena_new(), "f");
    Set v = ir_set(f, "V");
    int r = ir_relation(f, "r", v, v);
    Val x = ir_input(f, "x", type_scalar(DT_f64, v));
    Val choice = ir_where(f, ir_lt(f, ir_const_like(f, x, 3), x), ir_const_like(f, x, 1), x);
    ir_add_result(f, "chosen", ir_gather(f, choice, map_src(r)));
    ir_add_result(f, "plain", ir_gather(f, x, map_dst(r)));
    Fn *guarded = opt_guard(arena_new(), f), *again = opt_guard(arena_new(), guarded),
       *back = opt_unguard(arena_new(), again), *same = opt_unguard(arena_new(), f);
    assert_true(ir_count(guarded) > ir_count(f));
    for (uint32_t k = 0; k < 2; k++) {
        Val was = f->results.data[k].val;
        assert_true(ir_node(back, back->results.data[k].val)->hash == ir_node(f, was)->hash);
        assert_true(ir_node(same, same->results.data[k].val)->hash == ir_node(f, was)->hash);
        assert_true(ir_node(again, again->results.data[k].val)->hash ==
                    ir_node(guarded, guarded->results.data[k].val)->hash);
    }
    Fn *all[] = {f, guarded, again, back, same};
    for (int k = 0; k < 5; k++) ir_free(all[k]);
}

static void passes_are_found(void **state) {
    (void)state;
    assert_ptr_equal(opt_find("fma")->run, opt_fma);
    assert_true(opt_find("clean")->exact);
    assert_null(opt_find("nothing"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_identities_go),
        cmocka_unit_test(what_changes_a_bit_stays),
        cmocka_unit_test(operands_of_max_and_min_stay_in_order),
        cmocka_unit_test(constants_fold),
        cmocka_unit_test(moves_compose),
        cmocka_unit_test(products_fuse_into_sums),
        cmocka_unit_test(work_moves_before_its_gather),
        cmocka_unit_test(work_stays_on_the_edges),
        cmocka_unit_test(guards_go_and_choices_stay),
        cmocka_unit_test(passes_are_found),
        cmocka_unit_test(passes_keep_programs),
        cmocka_unit_test(halves_make_the_whole),
        cmocka_unit_test(residuals_are_what_a_traversal_would_cost),
        cmocka_unit_test(residual_names_step_aside),
        cmocka_unit_test(a_slice_alone_is_kept),
        cmocka_unit_test(later_cotangents_are_late),
        cmocka_unit_test(kept_results_cotangents_are_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
