/* Compiled kernels give what the interpreter gives: bit for bit where nothing is accumulated along a
 * map in another way than the interpreter's, within a tolerance elsewhere. */
#include "plan_exec.h"
#include "plan_programs.h"

#include "run/exec.h"

#include <math.h>
#include <stdlib.h>

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
    int64_t *src = calloc((size_t)c->num_edges + 1, 8), *dst = calloc((size_t)c->num_edges + 1, 8);
    for (int64_t e = 0; e < c->num_edges; e++) {
        uint64_t h = hash_u64((uint64_t)e, c->seed + salt);
        src[e] = c->seed ? (int64_t)(h % (uint64_t)c->num_nodes) : 0;
        dst[e] = c->seed ? (int64_t)(h / 64 % (uint64_t)c->num_nodes) : 0;
    }
    IndexArray s = {src, c->num_edges, 8, true}, d = {dst, c->num_edges, 8, true};
    Graph *g;
    assert_int_equal(graph_from_coo(&s, &d, c->num_nodes, c->num_nodes, false, &g), ST_OK);
    free(src);
    free(dst);
    return g;
}

static double element(const Named *n, int64_t i) {
    const char *p = n->array.data;
    switch (n->array.dtype) {
    case DT_f32: return ((const float *)p)[i];
    case DT_f64: return ((const double *)p)[i];
    case DT_i32: return ((const int32_t *)p)[i];
    case DT_i64: return (double)((const int64_t *)p)[i];
    default: return p[i];
    }
}

static bool is_close(const Named *a, const Named *b, double tolerance, int64_t *at) {
    int64_t n = a->bytes / dtype_size((Dtype)a->array.dtype);
    double scale = 1;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(element(a, i)) && fabs(element(a, i)) > scale) scale = fabs(element(a, i));
    for (*at = 0; *at < n; ++*at) {
        double x = element(a, *at), y = element(b, *at);
        if ((x != x && y != y) || x == y) continue;
        if (!(fabs(x - y) <= tolerance * scale)) return false;
    }
    return true;
}

static Status run_compiled(Store *s, const Fn *g, const Plan *p) {
    Array in[64], out[64];
    uint32_t first = s->all.len;
    for (uint32_t k = 0; k < g->inputs.len; k++) in[k] = store_find(s, g->inputs.data[k].name)->array;
    for (uint32_t k = 0; k < g->results.len; k++)
        store_new(s, g->results.data[k].name, ir_type(g, g->results.data[k].val));
    for (uint32_t k = 0; k < g->results.len; k++) out[k] = s->all.data[first + k].array;
    Exec *e = exec_new(p, false);
    Status st = exec_run(e, &s->domain, in, out);
    exec_free(e);
    return st;
}

/* Small numbers, whose sums are exact in any order, and what is no number; where `plain`, noise. */
static void fill_nasty(const Named *n) {
    static const double values[] = {0, -0.0, 1, 1, -1, 2, INFINITY, -INFINITY, NAN, 3, -2, 0.5};
    int size = dtype_size((Dtype)n->array.dtype);
    for (int64_t i = 0; i * size < n->bytes; i++) {
        double x = values[hash_u64((uint64_t)i, hash_str(n->name, 7)) % (sizeof values / sizeof *values)];
        char *p = (char *)n->array.data + i * size;
        if (n->array.dtype == DT_f32) *(float *)p = (float)x;
        else if (n->array.dtype == DT_f64) *(double *)p = x;
        else *p = x == 1;
    }
}

static void check(const char *what, const Fn *f, const Case *c, bool nasty, double tolerance) {
    Arena *a = arena_new();
    Fn *g = opt_prepare(arena_new(), f);
    assert_int_equal(plan_check(g), ST_OK);
    Plan *p = plan_run(arena_new(), g);
    Graph *graphs[] = {graph_of(c, 0), graph_of(c, 100)};
    int64_t *size = ARENA_ARRAY(a, int64_t, g->sets.len);
    size[0] = 1;
    for (uint32_t s = 1; s < g->sets.len; s++) size[s] = c->num_nodes;
    for (uint32_t r = 0; r < g->relations.len; r++) size[g->relations.data[r].edges] = c->num_edges;
    Store want = {.arena = a, .domain = {size, graphs}};
    fill_inputs(&want, g);
    for (uint32_t k = 0; nasty && k < want.all.len; k++) fill_nasty(&want.all.data[k]);
    Store got = want;
    want.all.cap = got.all.cap = want.all.len; /* the next push copies */
    assert_int_equal(run_named(&want, g), ST_OK);
    if (run_compiled(&got, g, p)) fail_msg("%s, %s: %s", what, c->name, err_message());
    for (uint32_t k = 0; k < g->results.len; k++) {
        const char *name = g->results.data[k].name;
        const Named *x = store_find(&want, name), *y = store_find(&got, name);
        int64_t at = 0;
        bool same = tolerance > 0 ? is_close(x, y, tolerance, &at) : same_bits(x, y);
        if (!same)
            fail_msg("%s, %s%s: '%s' differs at %lld: %.9g, not %.9g", what, c->name, nasty ? ", nasty" : "", name,
                     (long long)at, element(y, at), element(x, at));
    }
    graph_unref(graphs[0]);
    graph_unref(graphs[1]);
    arena_free(p->arena);
    ir_free(g);
    arena_free(a);
}

static void check_everywhere(const char *what, const Fn *f, double tolerance) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        check(what, f, &cases[k], false, tolerance);
        check(what, f, &cases[k], true, tolerance);
    }
}

static void programs_of_the_table(void **state) {
    (void)state;
    for (size_t k = 0; k < NUM_PROGRAMS; k++) {
        const char *name = programs[k].name;
        Fn *f = program_build(&programs[k]), *joint = with_gradients(f, "y");
        check_everywhere(name, f, 1e-5);
        check_everywhere(name, joint, 1e-5);
        ir_free(joint);
        ir_free(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
