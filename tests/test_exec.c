/* Programs, gradients and second derivatives, compiled and run, against the interpreter: on small
 * nasty graphs and on hubs that are split, with the same bits on any number of threads. Without a code
 * generator only the joining of kernels is tested. */
#include "plan_exec.h"
#include "plan_programs.h"

#include "base/debug.h"
#include "base/pool.h"
#include "run/codegen_open.h"
#include "run/disk.h"
#include "run/exec.h"
#include "run/variant.h"

#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    const char *name;
    int64_t num_nodes, num_edges, hub_edges; /* of node num_nodes / 2 */
} Case;

static const Case small_cases[] = {
    {"nothing", 0, 0, 0},  {"no edges", 3, 0, 0},    {"self loops on one node", 1, 5, 0},
    {"a hub", 5, 9, 30},   {"duplicates", 3, 40, 0}, {"isolated nodes", 30, 20, 0},
    {"plain", 40, 300, 0},
};
static const Case hub_cases[] = {{"a large hub", 3000, 5000, 40000}, {"a lone hub", 1, 0, 20000}};

static Graph *graph_of(const Case *c, uint64_t salt) {
    int64_t edges = c->num_edges + c->hub_edges;
    int64_t *src = malloc((size_t)edges * 8 + 8), *dst = malloc((size_t)edges * 8 + 8);
    for (int64_t e = 0; e < edges; e++) {
        uint64_t h = hash_u64((uint64_t)e, salt), n = (uint64_t)c->num_nodes;
        bool hub = (int64_t)(hash_u64((uint64_t)e, salt + 1) % (uint64_t)edges) < c->hub_edges;
        src[e] = (int64_t)(h % n);
        dst[e] = hub ? c->num_nodes / 2 : (int64_t)((h >> 32) % n);
    }
    IndexArray s = {src, edges, 8, true}, d = {dst, edges, 8, true};
    Graph *g;
    assert_int_equal(graph_from_coo(&s, &d, c->num_nodes, c->num_nodes, false, &g), ST_OK);
    free(src);
    free(dst);
    return g;
}

/* ---- one program on one graph ---- */

typedef struct {
    Arena *arena;
    Plan *plan;
    Exec *exec;
    Store inputs;
    Graph *graphs[2];
} World;

static World world_new(const Fn *f, const Case *c, bool nasty) {
    World w = {.arena = arena_new()};
    Fn *g = opt_prepare(arena_new(), f);
    w.plan = plan_run(arena_new(), g);
    w.exec = exec_new(w.plan, false);
    w.graphs[0] = graph_of(c, 7);
    w.graphs[1] = graph_of(c, 100);
    int64_t *size = ARENA_ARRAY(w.arena, int64_t, g->sets.len);
    size[0] = 1;
    for (uint32_t s = 1; s < g->sets.len; s++) size[s] = c->num_nodes;
    for (uint32_t r = 0; r < g->relations.len; r++)
        size[g->relations.data[r].edges] = c->num_edges + c->hub_edges;
    Graph **graphs = arena_copy(w.arena, w.graphs, sizeof w.graphs);
    w.inputs = (Store){
        .arena = w.arena, .domain = {size, graphs}, .fill = nasty ? FILL_nasty : FILL_plain};
    fill_inputs(&w.inputs, g);
    w.inputs.all.cap = w.inputs.all.len; /* the next push copies */
    return w;
}

static void world_free(World *w) {
    const Fn *f = w->plan->program;
    exec_free(w->exec);
    arena_free(w->plan->arena);
    ir_free((Fn *)f);
    graph_unref(w->graphs[0]);
    graph_unref(w->graphs[1]);
    arena_free(w->arena);
}

static Store run_exec(World *w) {
    const Fn *f = w->plan->program;
    Store s = w->inputs;
    Array in[64], out[64];
    uint32_t first = s.all.len;
    for (uint32_t k = 0; k < f->inputs.len; k++)
        in[k] = store_find(&s, f->inputs.data[k].name)->array;
    for (uint32_t k = 0; k < f->results.len; k++)
        store_new(&s, f->results.data[k].name, ir_type(f, f->results.data[k].val));
    for (uint32_t k = 0; k < f->results.len; k++) out[k] = s.all.data[first + k].array;
    if (exec_run(w->exec, &s.domain, in, out)) fail_msg("%s", err_message());
    return s;
}

/* ---- comparison ---- */

static double value_at(const Named *n, int64_t i) {
    const char *p = (const char *)n->array.data + i * dtype_size((Dtype)n->array.dtype);
    float x;
    double y;
    int64_t z;
    if (n->array.dtype == DT_f32) return memcpy(&x, p, 4), (double)x;
    if (n->array.dtype == DT_f64) return memcpy(&y, p, 8), y;
    if (n->array.dtype == DT_i64) return memcpy(&z, p, 8), (double)z;
    return *p;
}

/* Sums are grouped differently: an error of the largest value's size is rounding. */
static void compare(const char *what, const Named *want, const Named *got, double tolerance) {
    int64_t n = want->bytes / dtype_size((Dtype)want->array.dtype);
    double largest = 1;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(value_at(want, i))) largest = fmax(largest, fabs(value_at(want, i)));
    for (int64_t i = 0; i < n; i++) {
        double x = value_at(want, i), y = value_at(got, i);
        bool same = isfinite(x) ? fabs(x - y) <= tolerance * largest : isnan(x) ? isnan(y) : x == y;
        if (!same) fail_msg("%s: '%s'[%d]: %.9g, interpreted %.9g", what, want->name, (int)i, y, x);
    }
}

static void compare_all(const char *what, World *w, Store *got, double tolerance) {
    const Fn *f = w->plan->program;
    Store want = w->inputs;
    assert_int_equal(run_plan(&want, w->plan), ST_OK);
    for (uint32_t k = 0; k < f->results.len; k++) {
        const char *name = f->results.data[k].name;
        const Named *a = store_find(&want, name), *b = store_find(got, name);
        if (ir_find_input(f, name)) continue;    /* the store finds the input of that name */
        if (!strncmp(name, "res.", 4)) continue; /* may be rounding alone, as sum (x - mean) is */
        compare(what, a, b, tolerance);
    }
}

static void same_bits_all(const char *what, World *w, Store *a, Store *b) {
    const Fn *f = w->plan->program;
    for (uint32_t k = 0; k < f->results.len; k++) {
        const char *name = f->results.data[k].name;
        if (!same_values(store_find(a, name), store_find(b, name), false))
            fail_msg("%s: '%s' has other bits on another number of threads", what, name);
    }
}

/* ---- tests ---- */

static void for_each_program(void (*check)(const char *what, const Fn *f)) {
    for (size_t k = 0; k < NUM_PROGRAMS; k++) {
        Fn *f = program_build(&programs[k]), *joint = with_gradients(f, "y");
        const char *keep = "y";
        Split halves = opt_split(joint, &keep, 1);
        check(programs[k].name, f);
        check(programs[k].name, joint);
        check(programs[k].name, halves.forward);
        check(programs[k].name, halves.backward);
        ir_free(halves.forward);
        ir_free(halves.backward);
        ir_free(joint);
        ir_free(f);
    }
}

static void check_wires(const char *what, const Fn *f) {
    (void)what;
    World w = world_new(f, &small_cases[1], false);
    Fn *second =
        ir_find_result(f, "y") && ir_find_result(f, "grad.x") ? with_gradients(f, "grad.x") : NULL;
    if (second) {
        World u = world_new(second, &small_cases[1], false);
        world_free(&u);
        ir_free(second);
    }
    world_free(&w);
}

static void every_plan_can_be_joined(void **state) {
    (void)state;
    for_each_program(check_wires);
}

static bool is_interpreted(void) { return debug_has("EXEC", "interp"); }
static bool has_generator(void) { return codegen_stamp() != 0; }

static void check_small(const char *what, const Fn *f) {
    for (size_t k = 0; k < sizeof small_cases / sizeof *small_cases; k++) {
        for (int nasty = 0; nasty < 2; nasty++) {
            World w = world_new(f, &small_cases[k], nasty);
            Store got = run_exec(&w);
            char text[128];
            snprintf(text, sizeof text, "%s on %s%s", what, small_cases[k].name,
                     nasty ? ", nasty values" : "");
            compare_all(text, &w, &got, 1e-5);
            world_free(&w);
        }
    }
}

static void compiled_is_interpreted(void **state) {
    (void)state;
    if (!has_generator() && !is_interpreted()) skip();
    for_each_program(check_small);
}

static void check_hubs(const char *what, const Fn *f) {
    for (size_t k = 0; k < sizeof hub_cases / sizeof *hub_cases; k++) {
        World w = world_new(f, &hub_cases[k], false);
        pool_set_num_threads(1);
        Store first = run_exec(&w);
        for (int threads = 2; threads <= 8; threads += 3) {
            pool_set_num_threads(threads);
            Store s = run_exec(&w);
            same_bits_all(what, &w, &first, &s);
        }
        pool_set_num_threads(0);
        compare_all(what, &w, &first, 1e-3);
        world_free(&w);
    }
}

static void hubs_have_the_same_bits_on_any_threads(void **state) {
    (void)state;
    if (!has_generator() || is_interpreted()) skip();
    for_each_program(check_hubs);
}

/* Before this process compiles anything: a child fills the folder. */
static void cached_code_needs_no_generator(void **state) {
    char folder[] = "/tmp/tiga-test-XXXXXX", command[64];
    int status;
    (void)state;
    if (!has_generator() || is_interpreted()) skip();
    assert_non_null(mkdtemp(folder));
    disk_use_folder(folder);
    Fn *f = program_build(&programs[0]);
    World w = world_new(f, &small_cases[6], false);
    pid_t child = fork();
    if (child == 0) {
        run_exec(&w);
        _exit(codegen_is_open() ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    Store got = run_exec(&w);
    compare_all("from disk", &w, &got, 1e-5);
    assert_false(codegen_is_open());
    assert_int_equal(variant_stats().disk_hits, 1);
    world_free(&w);
    ir_free(f);
    disk_use_folder("");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

static int begin(void **state) {
    (void)state;
    disk_use_folder("");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_can_be_joined),
        cmocka_unit_test(cached_code_needs_no_generator),
        cmocka_unit_test(compiled_is_interpreted),
        cmocka_unit_test(hubs_have_the_same_bits_on_any_threads),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
