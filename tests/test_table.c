/* Rows of a table by number: take, put, their sums, and indices that are out of range. Compiled code
 * against the interpreter, and the interpreter against values worked out by hand. */
#include "codegen_run.h"

#include "base/pool.h"
#include "opt/vjp.h"

#include <stdio.h>

enum { ROWS = 5 };

static Val scalar(Fn *f, const char *name, Dtype d, Set s) {
    return ir_input(f, name, type_scalar(d, s));
}

static Val below(Fn *f, Val v, int64_t rows) {
    return ir_mod(f, v, ir_const_like(f, v, (double)rows));
}

static Val spread(Fn *f, Val v, Set s) { return ir_gather(f, v, map_all(s)); }

/* ---- every shape, dtype and place ---- */

typedef enum { AT_all, AT_spread, AT_own, AT_source, AT_row, AT_computed, NUM_PLACES } Where;

/* A table of rank - 1 axes a row, as elements of `at` see it. */
static Val table_at(Fn *f, Where place, Dtype d, int rank) {
    static const int64_t dim[] = {ROWS, 2, 9};
    static const Set home[NUM_PLACES] = {SET_ALL, SET_ALL, E, U, V, SET_ALL};
    char name[8];
    snprintf(name, sizeof name, "T%d", rank);
    Val t = ir_input(f, name, type_of(d, home[place], rank, dim));
    if (place == AT_computed) t = ir_cast(f, t, dtype_computed(d));
    if (place == AT_computed) t = d == DT_bool ? ir_not(f, t) : ir_neg(f, t);
    if (place == AT_spread || place == AT_computed) return spread(f, t, E);
    return place == AT_source ? ir_gather(f, t, map_src(0)) : t;
}

static Set set_at(Where place) { return place == AT_all ? SET_ALL : place == AT_row ? V : E; }

static Val index_at(Fn *f, Where place, Dtype d, int rank) {
    static const int64_t dim[] = {3, 2};
    char name[8];
    snprintf(name, sizeof name, "%s%d", dtype_name(d), rank);
    return below(f, ir_input(f, name, type_of(d, set_at(place), rank, dim)), ROWS);
}

/* Also in the middle of other work: as a factor's row, sliced, summed up. */
static void add_uses(Fn *f, Val row, const char *name, int number) {
    char text[16];
    Type t = *ir_type(f, row);
    snprintf(text, sizeof text, "%s%d", name, number);
    ir_add_result(f, text, row);
    if (t.rank < 2 || !dtype_is_float((Dtype)t.dtype)) return;
    row = ir_cast(f, row, dtype_computed((Dtype)t.dtype));
    int64_t axes[MAX_RANK] = {0, 1, 2, 3}, n = t.rank;
    axes[n - 1] = n - 2, axes[n - 2] = n - 1;
    Val turned = ir_transpose(f, row, axes);
    snprintf(text, sizeof text, "%sm%d", name, number);
    ir_add_result(f, text, ir_matmul(f, row, turned));
    snprintf(text, sizeof text, "%ss%d", name, number);
    ir_add_result(f, text, ir_fsum(f, turned, 1));
}

static Fn *takes_and_puts(Where place, Dtype d) {
    Fn *f = bipartite();
    int number = 0;
    for (int rank = 1; rank <= 3; rank++)
        for (int of = 0; of < 3; of++, number++) {
            Val index = index_at(f, place, number % 2 ? DT_i32 : DT_i64, of);
            Val row = ir_take(f, table_at(f, place, d, rank), index);
            add_uses(f, row, "t", number);
            row = ir_cast(f, row, dtype_computed(d));
            if (d != DT_bool && rank < 3)
                add_uses(f, ir_put(f, index, row, ROWS + of), "p", number);
        }
    assert_int_equal(f->status, ST_OK);
    return f;
}

static void every_shape_dtype_and_place(void **state) {
    (void)state;
    static const World world = {"plain", 7, 6, 25, 13, false};
    for (int place = 0; place < NUM_PLACES; place++)
        for (int d = 0; d < NUM_DTYPES; d++) {
            Fn *f = takes_and_puts((Where)place, (Dtype)d);
            char what[32];
            snprintf(what, sizeof what, "place %d, %s", place, dtype_name((Dtype)d));
            check_program(what, f, &world, (Check){.fill = FILL_nasty});
            check_program(what, f, &world, (Check){.fill = FILL_noise, .odd = true});
            ir_free(f);
        }
}

static void in_every_world(void **state) {
    (void)state;
    for (int place = 0; place < NUM_PLACES; place++) {
        Fn *f = takes_and_puts((Where)place, DT_f32);
        for (size_t k = 0; k < NUM_WORLDS; k++)
            check_program("small", f, &small_worlds[k], (Check){.fill = FILL_noise});
        ir_free(f);
    }
}

/* ---- sums of puts ---- */

static Val some_rows(Fn *f, const char *name, Dtype d, int64_t n) {
    return ir_gather(f, ir_input(f, name, type_of(d, U, 1, &n)), map_src(0));
}

/* One put, two and something beside them, several rows an edge, and a put that is wanted itself. */
static Fn *sums(Dtype d, int64_t n) {
    Fn *f = bipartite();
    const Map maps[] = {map_all(E), map_dst(0), map_src(0)};
    const int64_t wide[] = {2, n}, table[] = {ROWS, n};
    Val i = below(f, scalar(f, "i", DT_i32, E), ROWS),
        j = below(f, scalar(f, "j", DT_i64, E), ROWS);
    Val both = ir_concat(f,
                         (Val[]){ir_reshape(f, ir_cast(f, i, DT_i64), (int64_t[]){1}, 1),
                                 ir_reshape(f, j, (int64_t[]){1}, 1)},
                         2, 0);
    Val x = some_rows(f, "x", d, n), one = ir_put(f, i, x, ROWS);
    Val more = ir_add(f, one, ir_put(f, j, ir_mul(f, x, x), ROWS));
    more = ir_add(f, more, ir_input(f, "e", type_of(d, E, 2, table)));
    Val pair = ir_put(f, both, ir_bcast(f, x, wide, 2), ROWS);
    for (int k = 0; k < 3; k++) {
        const char *names[] = {"one", "more", "pair", "own"};
        const Val of[] = {one, more, pair, ir_put(f, j, x, ROWS)};
        for (int r = 0; r < 4; r++) {
            char name[16];
            snprintf(name, sizeof name, "%s%d", names[r], k);
            ir_add_result(f, name, ir_reduce(f, of[r], maps[k]));
        }
    }
    ir_add_result(f, "each", ir_put(f, j, x, ROWS));
    Val kind = below(f, scalar(f, "v", DT_i32, V), ROWS);
    ir_add_result(
        f, "nodes",
        ir_reduce(f, ir_put(f, kind, ir_input(f, "z", type_of(d, V, 1, &n)), ROWS), map_all(V)));
    assert_int_equal(f->status, ST_OK);
    return f;
}

static void sums_of_puts(void **state) {
    (void)state;
    static const World hubs[] = {{"a hub of many chunks", 5, 4, 60000, 0, true},
                                 {"many edges", 50, 40, 60000, 7, false}};
    for (int d = DT_i32; d <= DT_f64; d++)
        for (int64_t n = 1; n <= 37; n += 18) {
            Fn *f = sums((Dtype)d, n);
            double tolerance = d == DT_f32 ? 1e-6 : d == DT_f64 ? 1e-14 : 0;
            for (size_t k = 0; k < NUM_WORLDS; k++)
                for (int fill = FILL_noise; fill <= FILL_nasty; fill++)
                    check_program(
                        "sums", f, &small_worlds[k],
                        (Check){.fill = (Fill)fill, .odd = k % 2, .tolerance = tolerance});
            for (int k = 0; k < 2 && n == 1; k++) {
                check_program("sums", f, &hubs[k], (Check){.fill = FILL_integers});
                check_program("sums", f, &hubs[k], (Check){.tolerance = tolerance});
            }
            ir_free(f);
        }
}

/* Half a million float32 ones in one row, and -0 alone: what a plain sum would lose and turn. */
static void many_ones(void **state) {
    (void)state;
    static const World world = {"ones", 3, 2, 500000, 11, false};
    Fn *f = bipartite();
    Val i = below(f, scalar(f, "i", DT_i32, E), 3), one = ir_const(f, type_scalar(DT_f32, E), 0.1);
    ir_add_result(f, "y", ir_reduce(f, ir_put(f, i, one, 3), map_all(E)));
    check_program("ones", f, &world, (Check){.tolerance = 1e-7});
    ir_free(f);
}

/* The same bits on any number of threads. */
static void threads_change_nothing(void **state) {
    (void)state;
    static const World world = {"many edges", 50, 40, 60000, 7, false};
    Fn *given = sums(DT_f32, 3), *f = opt_prepare(arena_new(), given);
    Plan *p = plan_run(arena_new(), f);
    int64_t size[] = {1, world.num_src, world.num_dst, world.num_edges};
    Graph *graph = world_graph(&world, false);
    Domain domain = {size, &graph};
    Exec *e = exec_new(p, false);
    Held in[16], out[2][32];
    Array arrays[16], results[32];
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        in[k] = held_new(ir_type(f, f->inputs.data[k].val), size, false);
        held_fill(&in[k], f->inputs.data[k].name, FILL_noise);
        arrays[k] = in[k].array;
    }
    for (int run = 0; run < 2; run++) {
        pool_set_num_threads(run ? 7 : 1);
        for (uint32_t k = 0; k < f->results.len; k++) {
            out[run][k] = held_new(ir_type(f, f->results.data[k].val), size, false);
            results[k] = out[run][k].array;
        }
        assert_int_equal(exec_run(e, &domain, arrays, results), ST_OK);
    }
    for (uint32_t k = 0; k < f->results.len; k++) {
        const Array *a = &out[0][k].array, *b = &out[1][k].array;
        assert_memory_equal(a->data, b->data,
                            (size_t)(out[0][k].count * dtype_size((Dtype)a->dtype)));
        guarded_free(&out[0][k].memory), guarded_free(&out[1][k].memory);
    }
    for (uint32_t k = 0; k < f->inputs.len; k++) guarded_free(&in[k].memory);
    exec_free(e);
    graph_unref(graph);
    arena_free(p->arena);
    ir_free(f), ir_free(given);
}

/* ---- by hand: 3 sources, 4 destinations, edges 0 -> 1, 2 -> 1, 1 -> 3 ---- */

static const World by_hand = {"by hand", 3, 4, 3, 1, false};
static int64_t hand_size[] = {1, 3, 4, 3};

static Graph *hand_graph(int64_t num_edges) {
    static const int64_t src[] = {0, 2, 1}, dst[] = {1, 1, 3};
    IndexArray s = {src, num_edges, 8, true}, d = {dst, num_edges, 8, true};
    Graph *g;
    assert_int_equal(graph_from_coo(&s, &d, by_hand.num_src, by_hand.num_dst, false, &g), ST_OK);
    return g;
}

typedef struct {
    const char *name;
    const void *data;
} Given;

/* Runs it compiled and interpreted: equal statuses and messages. Results are float32 or float64. */
static Status run_both(const Fn *given, const Given *in, int num_in, void *const *out,
                       int64_t num_edges, char *message) {
    Fn *f = opt_prepare(arena_new(), given);
    Plan *p = plan_run(arena_new(), f);
    Graph *graph = hand_graph(num_edges);
    hand_size[3] = num_edges;
    Domain domain = {hand_size, &graph};
    Array arrays[8], results[8];
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        Held h = held_new(ir_type(f, f->inputs.data[k].val), hand_size, false);
        arrays[k] = h.array;
        guarded_free(&h.memory);
        arrays[k].data = NULL;
        for (int i = 0; i < num_in; i++)
            if (!strcmp(in[i].name, f->inputs.data[k].name))
                arrays[k].data = (void *)(uintptr_t)in[i].data;
    }
    for (uint32_t k = 0; k < f->results.len; k++) {
        Held h = held_new(ir_type(f, f->results.data[k].val), hand_size, false);
        results[k] = h.array;
        guarded_free(&h.memory);
        results[k].data = out[k];
    }
    Exec *e = exec_new(p, false);
    err_clear();
    Status st = exec_run(e, &domain, arrays, results);
    snprintf(message, ERR_MESSAGE_SIZE, "%s", st ? err_message() : "");
    err_clear();
    assert_int_equal(interp_run(f, &domain, arrays, results), st);
    assert_string_equal(st ? err_message() : "", message);
    exec_free(e);
    graph_unref(graph);
    arena_free(p->arena);
    ir_free(f);
    return st;
}

static void worked_out(void **state) {
    (void)state;
    Fn *f = bipartite(), *joint;
    Val table = ir_input(f, "T", type_of(DT_f64, SET_ALL, 2, (int64_t[]){3, 2}));
    Val row = ir_take(f, spread(f, table, E), scalar(f, "k", DT_i32, E));
    Val x = ir_gather(f, ir_input(f, "x", type_of(DT_f64, U, 1, (int64_t[]){2})), map_src(0));
    ir_add_result(f, "y", ir_reduce(f, ir_mul(f, row, x), map_dst(0)));
    const char *y = "y", *wrt = "T";
    assert_int_equal(vjp_run(arena_new(), f, &y, 1, &wrt, 1, NULL, &joint), ST_OK);
    const double t[] = {1, 2, 3, 4, 5, 6}, xs[] = {1, 10, 2, 20, 3, 30};
    const double cot[] = {9, 9, 1, 2, 9, 9, 3, 4};
    const int32_t k[] = {2, 0, 2};
    const Given in[] = {{"T", t}, {"k", k}, {"x", xs}, {"cot.y", cot}};
    double out[8], grad[6];
    char message[ERR_MESSAGE_SIZE];
    assert_int_equal(run_both(joint, in, 4, (void *[]){out, grad}, 3, message), ST_OK);
    const double want[] = {0, 0, 8, 120, 0, 0, 10, 120}, slope[] = {3, 60, 0, 0, 7, 100};
    assert_memory_equal(out, want, sizeof want);
    assert_memory_equal(grad, slope, sizeof slope);
    ir_free(joint);
    ir_free(f);
}

/* ---- out of range ---- */

static const float values[64];

static void expect(Fn *f, const int64_t *k, int64_t num_edges, const char *want) {
    float out[2][64];
    char message[ERR_MESSAGE_SIZE];
    int32_t narrow[8];
    for (int i = 0; i < 8; i++) narrow[i] = (int32_t)k[i];
    const Given in[] = {{"T", values}, {"x", values}, {"k", k}, {"n", narrow}};
    assert_int_equal(f->status, ST_OK);
    Status st = run_both(f, in, 4, (void *[]){out[0], out[1]}, num_edges, message);
    assert_string_equal(message, want);
    assert_int_equal(st, *want ? ST_RANGE : ST_OK);
    ir_free(f);
}

static Val table(Fn *f, int64_t rows, Set s) {
    return spread(f, ir_input(f, "T", type_of(DT_f32, SET_ALL, 2, (int64_t[]){rows, 2})), s);
}

static Fn *looked_up(int64_t rows, Set at, Val (*index)(Fn *f)) {
    Fn *f = bipartite();
    ir_add_result(f, "y", ir_take(f, table(f, rows, at), index(f)));
    return f;
}

static Val k_of_edges(Fn *f) { return scalar(f, "k", DT_i64, E); }
static Val n_of_edges(Fn *f) { return scalar(f, "n", DT_i32, E); }
static Val k_of_sources(Fn *f) { return ir_gather(f, scalar(f, "k", DT_i64, U), map_src(0)); }
static Val k_of_all(Fn *f) { return scalar(f, "k", DT_i64, SET_ALL); }
static Val k_pairs(Fn *f) { return ir_input(f, "k", type_of(DT_i64, E, 1, (int64_t[]){2})); }
static Val k_square(Fn *f) {
    return ir_input(f, "k", type_of(DT_i64, SET_ALL, 2, (int64_t[]){2, 2}));
}
static Val k_more(Fn *f) { return ir_add(f, k_of_edges(f), ir_const_like(f, k_of_edges(f), 1)); }

#define K(...) ((const int64_t[8]){__VA_ARGS__})

static void what_is_out_of_range_is_named(void **state) {
    (void)state;
    expect(looked_up(3, E, k_of_edges), K(0, 2, 1), 3, "");
    expect(looked_up(3, E, k_of_edges), K(0, 3, 4), 3,
           "index 'k' on edges at 1: 3 is out of range for 'T' of 3 rows");
    expect(looked_up(3, E, n_of_edges), K(0, 0, -1), 3,
           "index 'n' on edges at 2: -1 is out of range for 'T' of 3 rows (a negative index does "
           "not wrap)");
    expect(looked_up(3, E, k_of_edges), K(0, INT64_C(1) << 32, 4), 3,
           "index 'k' on edges at 1: 4294967296 is out of range for 'T' of 3 rows");
    expect(looked_up(3, E, k_pairs), K(0, 1, 2, 3, 4), 3,
           "index 'k' on edges at (1, 1): 3 is out of range for 'T' of 3 rows");
    expect(looked_up(3, E, k_of_sources), K(0, 3, 1), 3,
           "index 'k' on edges at 2: 3 is out of range for 'T' of 3 rows");
    expect(looked_up(3, E, k_more), K(0, 1, 2), 3,
           "index (computed) on edges at 2: 3 is out of range for 'T' of 3 rows");
    expect(looked_up(3, SET_ALL, k_of_all), K(7), 3,
           "index 'k': 7 is out of range for 'T' of 3 rows");
    expect(looked_up(3, SET_ALL, k_square), K(0, 1, 2, 7), 3,
           "index 'k' at (1, 1): 7 is out of range for 'T' of 3 rows");
    expect(looked_up(0, E, k_of_edges), K(0, 0, 0), 3,
           "index 'k' on edges at 0: 0 is out of range for 'T' of 0 rows");
    expect(looked_up(0, E, k_of_edges), K(0, 0, 0), 0, "");
    expect(looked_up(0, SET_ALL, k_of_all), K(0), 0,
           "index 'k': 0 is out of range for 'T' of 0 rows");
}

/* What only some rows' edges would read is checked for every row; what none would, too. */
static void every_element_is_checked(void **state) {
    (void)state;
    Fn *f = bipartite();
    Val row = ir_take(f, table(f, 3, V), scalar(f, "k", DT_i64, V));
    ir_add_result(f, "y", ir_reduce(f, ir_gather(f, row, map_dst(0)), map_dst(0)));
    expect(f, K(3, 0, 0, 0), 3,
           "index 'k' on destinations at 0: 3 is out of range for 'T' of 3 rows");
    f = bipartite();
    row = ir_take(f, ir_input(f, "T", type_of(DT_f32, SET_ALL, 2, (int64_t[]){3, 2})), k_of_all(f));
    ir_add_result(f, "y", ir_reduce(f, spread(f, row, E), map_dst(0)));
    expect(f, K(3), 0, "index 'k': 3 is out of range for 'T' of 3 rows");
    f = bipartite();
    Val none = ir_input(f, "T", type_of(DT_f32, SET_ALL, 2, (int64_t[]){3, 0}));
    ir_add_result(f, "y", ir_take(f, spread(f, none, E), k_of_edges(f)));
    expect(f, K(0, 1, 5), 3, "index 'k' on edges at 2: 5 is out of range for 'T' of 3 rows");
    f = bipartite();
    Val part = ir_slice(f, ir_take(f, table(f, 3, E), k_of_edges(f)), (int64_t[]){0, 0, 1});
    ir_add_result(f, "y", part);
    expect(f, K(0, 1, 5), 3, "index 'k' on edges at 2: 5 is out of range for 'T' of 3 rows");
}

static void puts_are_checked(void **state) {
    (void)state;
    Fn *f = bipartite();
    Val x = scalar(f, "x", DT_f32, E);
    ir_add_result(f, "y", ir_reduce(f, ir_put(f, k_of_edges(f), x, 3), map_all(E)));
    expect(f, K(0, 3, -1), 3, "index 'k' on edges at 1: 3 is out of range for a table of 3 rows");
    f = bipartite();
    x = scalar(f, "x", DT_f32, V);
    ir_add_result(f, "y", ir_put(f, scalar(f, "n", DT_i32, V), x, 2));
    expect(f, K(0, 1, 1, -5), 3,
           "index 'n' on destinations at 3: -5 is out of range for a table of 2 rows (a negative "
           "index does "
           "not wrap)");
}

/* Of two lookups the first in the program is named, whichever kernel met one first. */
static void the_first_is_named(void **state) {
    (void)state;
    Fn *f = bipartite();
    ir_add_result(f, "y", ir_take(f, table(f, 3, E), k_of_edges(f)));
    ir_add_result(f, "z", ir_take(f, table(f, 3, V), scalar(f, "n", DT_i32, V)));
    expect(f, K(0, 0, 8, 9), 3, "index 'k' on edges at 2: 8 is out of range for 'T' of 3 rows");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_dtype_and_place),
        cmocka_unit_test(in_every_world),
        cmocka_unit_test(sums_of_puts),
        cmocka_unit_test(many_ones),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(worked_out),
        cmocka_unit_test(what_is_out_of_range_is_named),
        cmocka_unit_test(every_element_is_checked),
        cmocka_unit_test(puts_are_checked),
        cmocka_unit_test(the_first_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
