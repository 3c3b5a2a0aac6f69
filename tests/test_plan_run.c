/* Running a plan kernel by kernel, and its stages, gives the bits of the program that was planned: for
 * every program of the table, its gradients, its halves and second derivatives, on nasty graphs and
 * nasty values. No buffer between kernels is as large as an edge set. */
#include "plan_check.h"
#include "plan_programs.h"

typedef struct {
    const char *name;
    int64_t num_nodes, num_edges;
    uint32_t seed; /* 0: every edge 0 -> 0 */
} Case;

static const Case cases[] = {
    {"nothing", 0, 0, 0},  {"no edges", 3, 0, 0},     {"self loops on one node", 1, 5, 0},
    {"a hub", 5, 9, 0},    {"duplicates", 3, 40, 11}, {"isolated nodes", 30, 20, 12},
    {"plain", 12, 60, 13},
};

static Graph *graph_of(const Case *c, uint32_t salt) {
    int64_t src[64], dst[64];
    for (int64_t e = 0; e < c->num_edges; e++) {
        uint64_t h = hash_u64((uint64_t)e, c->seed + salt);
        src[e] = c->seed ? (int64_t)(h % (uint64_t)c->num_nodes) : 0;
        dst[e] = c->seed ? (int64_t)(h / 64 % (uint64_t)c->num_nodes) : 0;
    }
    IndexArray s = {src, c->num_edges, 8, true}, d = {dst, c->num_edges, 8, true};
    Graph *g;
    assert_int_equal(graph_from_coo(&s, &d, c->num_nodes, c->num_nodes, false, &g), ST_OK);
    return g;
}

/* opt_prepare keeps what whole numbers give. */
static void check_prepared(const char *what, const Fn *f, const Fn *g, const Store *start) {
    Store before = *start, after = *start;
    before.all.cap = after.all.cap = start->all.len;
    assert_int_equal(run_named(&before, f), ST_OK);
    assert_int_equal(run_named(&after, g), ST_OK);
    same_results(what, f, &before, &after, true);
}

static void check_plan(const char *what, const Fn *f, const Case *c, int fill) {
    Arena *a = arena_new();
    Fn *g = opt_prepare(arena_new(), f);
    Graph *graphs[] = {graph_of(c, 0), graph_of(c, 100)};
    int64_t *size = ARENA_ARRAY(a, int64_t, g->sets.len);
    size[0] = 1;
    for (uint32_t s = 1; s < g->sets.len; s++) size[s] = c->num_nodes;
    for (uint32_t r = 0; r < g->relations.len; r++) size[g->relations.data[r].edges] = c->num_edges;
    Store start = {.arena = a, .domain = {size, graphs}, .fill = fill};
    fill_inputs(&start, g);
    if (fill == FILL_whole) check_prepared(what, f, g, &start);
    check_planned(what, g, &start);
    graph_unref(graphs[0]);
    graph_unref(graphs[1]);
    ir_free(g);
    arena_free(a);
}

static void check_everywhere(const char *what, const Fn *f) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        check_plan(what, f, &cases[k], FILL_plain);
        check_plan(what, f, &cases[k], FILL_nasty);
    }
}

static void plans_give_the_programs_bits(void **state) {
    (void)state;
    for (size_t k = 0; k < NUM_PROGRAMS; k++) {
        const char *keep = "y", *name = programs[k].name;
        Fn *f = program_build(&programs[k]), *joint = with_gradients(f, "y");
        Split halves = opt_split(joint, &keep, 1);
        Fn *second = with_gradients(joint, "grad.x");
        check_everywhere(name, f);
        check_everywhere(name, joint);
        check_everywhere(name, halves.forward);
        check_everywhere(name, halves.backward);
        check_everywhere(name, second);
        ir_free(halves.forward);
        ir_free(halves.backward);
        ir_free(second);
        ir_free(joint);
        ir_free(f);
    }
}

/* ---- dense programs, and results of every kind ---- */

enum { N = H };

static Val rows_in(Fn *f, const char *name, int64_t width) {
    int64_t dim[] = {dim_of(N), width};
    return ir_input(f, name, type_of(DT_f32, SET_ALL, width ? 2 : 1, dim));
}

static void dense_layer(Fn *f) {
    Val x = rows_in(f, "x", F), w = param(f, "W", F, 3);
    Val b = ir_input(f, "b", type_of(DT_f32, SET_ALL, 1, (int64_t[]){3}));
    Val h = ir_matmul(f, x, w);
    h = relu(f, ir_add(f, h, ir_bcast(f, b, ir_type(f, h)->dim, 2)));
    ir_add_result(f, "h", h);
    Val m = sum_dst(f, at_src(f, ir_enter(f, h, N)));
    ir_add_result(f, "y", ir_leave(f, m));
    ir_add_result(f, "total", ir_fsum(f, ir_leave(f, m), 3));
}

static void dense_shapes(Fn *f) {
    Val x = rows_in(f, "x", F), y = rows_in(f, "v", 0);
    int64_t heads[] = {dim_of(N), 2, 2};
    Val h = ir_reshape(f, x, heads, 3), t = ir_transpose(f, h, (int64_t[]){0, 2, 1});
    Val both = ir_concat(f, (Val[]){h, ir_neg(f, t)}, 2, 1);
    ir_add_result(f, "both", both);
    ir_add_result(f, "part", ir_slice(f, both, (int64_t[]){0, dim_of(N), 1, 1, 2, 2, 0, 1, 1}));
    ir_add_result(f, "padded", ir_pad(f, h, (int64_t[]){0, 0, 0, 1, 0, 1, 0, 2, 0}));
    Val column = ir_reshape(f, y, (int64_t[]){dim_of(N), 1}, 2);
    Val wide_y = ir_bcast(f, column, ir_type(f, x)->dim, 2);
    ir_add_result(f, "chosen", ir_where(f, ir_lt(f, x, wide_y), x, wide_y));
    ir_add_result(f, "columns", ir_fsum(f, x, 1));
    ir_add_result(f, "rows", ir_fsum(f, x, 2));
    ir_add_result(f, "most", ir_fmax(f, h, 3));
    ir_add_result(f, "counts", ir_fsum(f, ir_cast(f, ir_lt(f, x, wide_y), DT_i32), 1));
    ir_add_result(f, "swapped",
                  ir_transpose(f, ir_transpose(f, x, (int64_t[]){1, 0}), (int64_t[]){1, 0}));
}

static void dense_products(Fn *f) {
    Val x = rows_in(f, "x", F), z = rows_in(f, "z", 3), w = param(f, "W", F, F);
    Val xt = ir_transpose(f, x, (int64_t[]){1, 0});
    ir_add_result(f, "gram", ir_matmul(f, xt, z));
    Val back = ir_matmul(f, w, xt);
    ir_add_result(f, "back", ir_transpose(f, back, (int64_t[]){1, 0}));
    ir_add_result(f, "scaled", ir_matmul(f, x, ir_matmul(f, w, ir_matmul(f, xt, x))));
}

static void results_of_every_kind(Fn *f) {
    Val x = in_vec(f, "x", H, F), w = in_vec(f, "w", HE, 0), p = param(f, "P", 2, 3);
    Val y = sum_dst(f, at_src(f, x));
    ir_add_result(f, "y", y);
    ir_add_result(f, "again", y);
    ir_add_result(f, "x", x);
    ir_add_result(f, "w_out", w);
    ir_add_result(f, "twice", ir_add(f, w, w));
    ir_add_result(f, "ends", ir_sub(f, at_src(f, x), at_dst(f, x)));
    ir_add_result(f, "P_out", p);
    ir_add_result(f, "ones_v", ir_const(f, type_scalar(DT_f32, H), 1));
    ir_add_result(f, "ones_e", ir_const(f, type_scalar(DT_i32, HE), 1));
    ir_add_result(f, "ones", ir_const(f, type_scalar(DT_f64, SET_ALL), 1));
    ir_add_result(f, "in", ir_degree(f, map_dst(0)));
    ir_add_result(f, "out", ir_degree(f, map_src(0)));
    ir_add_result(f, "n", ir_degree(f, map_all(H)));
    ir_add_result(f, "e", ir_gather(f, ir_degree(f, map_src(0)), map_src(0)));
    ir_add_result(f, "d", rows_in(f, "dense", 2));
    ir_add_result(f, "twos", ir_const_like(f, rows_in(f, "dense", 2), 2));
    ir_add_result(f, "none", in_vec(f, "nothing", H, F));
}

static void only_edges(Fn *f) {
    Val w = in_vec(f, "w", HE, F);
    ir_add_result(f, "y", ir_exp(f, w));
    ir_add_result(f, "all", ir_reduce(f, w, map_all(HE)));
    ir_add_result(f, "max", ir_part(f, ir_rmax(f, w, map_all(HE)), 0));
}

static void only_all(Fn *f) {
    Val a = param(f, "A", 70, 80), b = param(f, "B", 80, 5);
    Val p = ir_matmul(f, a, b);
    ir_add_result(f, "p", ir_tanh(f, p));
    ir_add_result(f, "q", ir_matmul(f, ir_transpose(f, p, (int64_t[]){1, 0}), a));
}

static void folded_weights(Fn *f) {
    Val x = in_vec(f, "x", H, F), w = ir_matmul(f, param(f, "A", F, 3), param(f, "B", 3, F));
    Val h = linear(f, x, w), y = sum_dst(f, ir_mul(f, at_src(f, h), at_dst(f, linear(f, x, w))));
    Val total = ir_reduce(f, y, map_all(H));
    ir_add_result(f, "y",
                  ir_div(f, y,
                         ir_bcast(f, ir_gather(f, ir_fsum(f, ir_exp(f, total), 1), map_all(H)),
                                  (int64_t[]){F}, 1)));
    ir_add_result(f, "w", w);
}

/* Normalise over all nodes, twice: sums of sums to `all`. */
static void batch_norm(Fn *f) {
    Val h = sum_dst(f, at_src(f, in_vec(f, "x", H, F))),
        n = ir_cast(f, ir_degree(f, map_all(H)), DT_f32);
    Val wide_n = ir_bcast(f, n, (int64_t[]){F}, 1),
        m = ir_div(f, ir_reduce(f, h, map_all(H)), wide_n);
    Val d = ir_sub(f, h, ir_gather(f, m, map_all(H)));
    Val v = ir_div(f, ir_reduce(f, ir_mul(f, d, d), map_all(H)), wide_n);
    Val z =
        ir_div(f, d, ir_gather(f, ir_sqrt(f, ir_add(f, v, ir_const_like(f, v, 1))), map_all(H)));
    ir_add_result(f, "z", z);
    ir_add_result(f, "y", relu(f, sum_dst(f, at_src(f, z))));
}

static void nothing_at_all(Fn *f) { (void)in_vec(f, "x", H, F); }

static const struct {
    const char *name;
    void (*build)(Fn *f);
    const char *out; /* differentiated by every input; NULL: not at all */
    const char *shape;
} others[] = {
    {"dense layer", dense_layer, "y", "-0 d1"},
    {"dense shapes", dense_shapes, "both", "-0"},
    {"dense products", dense_products, "scaled", "-0 a0 -0"},
    {"results of every kind", results_of_every_kind, "ends", "d1"},
    {"only edges", only_edges, "y", "-0"},
    {"only all", only_all, "q", "a0"},
    {"folded weights", folded_weights, "y", "a0 -0 d1 -0"},
    {"batch norm", batch_norm, "y", "d1 -0 -0 d1"},
    {"nothing", nothing_at_all, NULL, ""},
};

static void other_programs_give_their_bits(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        Fn *f = homogeneous();
        others[k].build(f);
        if (f->status) fail_msg("%s: %s", others[k].name, err_message());
        check_everywhere(others[k].name, f);
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
            if (k < 3) check_plan(others[k].name, f, &cases[c], FILL_whole);
        Arena *a = arena_new();
        const char *shape = shape_of_program(a, f);
        if (strcmp(shape, others[k].shape))
            fail_msg("%s: '%s', expected '%s'", others[k].name, shape, others[k].shape);
        arena_free(a);
        if (others[k].out) {
            Fn *g = with_gradients(f, others[k].out);
            check_everywhere(others[k].name, g);
            ir_free(g);
        }
        ir_free(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_give_the_programs_bits),
        cmocka_unit_test(other_programs_give_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
