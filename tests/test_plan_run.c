/* Running a plan kernel by kernel, and its stages, gives the bits of the program that was planned: for
 * every program of the table, its gradients, its halves and second derivatives, on nasty graphs and
 * nasty values. No buffer between kernels is as large as an edge set. */
#include "plan_exec.h"
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

static void no_edge_buffers(const Plan *p) {
    for (uint32_t k = 0; k < p->kernels.len; k++) {
        const Fn *body = p->kernels.data[k].body;
        for (uint32_t r = 0; r < body->results.len; r++) {
            const Binding *b = &body->results.data[r];
            if (ir_find_result(p->program, b->name)) continue;
            for (uint32_t q = 0; q < body->relations.len; q++)
                assert_int_not_equal(ir_type(body, b->val)->set, body->relations.data[q].edges);
        }
    }
}

static void same_results(const char *what, const Fn *f, Store *want, Store *got) {
    for (uint32_t k = 0; k < f->results.len; k++) {
        const char *name = f->results.data[k].name;
        const Named *a = store_find(want, name), *b = store_find(got, name);
        if (!b) fail_msg("%s: no result '%s'", what, name);
        if (!same_bits(a, b)) fail_msg("%s: '%s' differs", what, name);
    }
}

static void check_plan(const char *what, const Fn *f, const Case *c, bool nasty) {
    Arena *a = arena_new();
    Fn *g = opt_prepare(arena_new(), f);
    assert_int_equal(plan_check(g), ST_OK);
    Plan *p = plan_run(arena_new(), g);
    Graph *graphs[] = {graph_of(c, 0), graph_of(c, 100)};
    int64_t *size = ARENA_ARRAY(a, int64_t, g->sets.len);
    size[0] = 1;
    for (uint32_t s = 1; s < g->sets.len; s++) size[s] = c->num_nodes;
    for (uint32_t r = 0; r < g->relations.len; r++) size[g->relations.data[r].edges] = c->num_edges;
    Store start = {.arena = a, .domain = {size, graphs}, .nasty = nasty};
    fill_inputs(&start, g);
    Store whole = start, kernels = start, staged = start;
    whole.all.cap = kernels.all.cap = staged.all.cap = start.all.len; /* the next push copies */
    assert_int_equal(run_named(&whole, g), ST_OK);
    assert_int_equal(run_plan(&kernels, p), ST_OK);
    assert_int_equal(run_named(&staged, plan_stage(a, p, "kernel")), ST_OK);
    same_results(what, g, &whole, &kernels);
    same_results(what, g, &whole, &staged);
    no_edge_buffers(p);
    assert_int_equal(plan_cost(p, size).edge_buffer_bytes, 0);
    graph_unref(graphs[0]);
    graph_unref(graphs[1]);
    arena_free(p->arena);
    ir_free(g);
    arena_free(a);
}

static void check_everywhere(const char *what, const Fn *f) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        check_plan(what, f, &cases[k], false);
        check_plan(what, f, &cases[k], true);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_give_the_programs_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
