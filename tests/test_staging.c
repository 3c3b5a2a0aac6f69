/* Gradients of folds into source fields: added by blocks of edges, with the same bits on any number of threads,
 * and equal to the interpreter; of graphs with rows longer than a block, sources of many edges and neither. */
#include "tiga/tiga.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NUM_SRC = 300, MOST_ARGS = 10 };

/* Strict folds, a product and a declared one; b: a sum over every edge, in slots. */
#define TURN                                                                                       \
    "t.identity = 1, 0; t.lift(m) = cos(m), sin(m);"                                               \
    "t.combine(p, q) = p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1] * q[0];"                      \
    "t.finalize(s) = s[0]; "
/* A count, the same for all features, and one that starts elsewhere in each part of a row. */
#define COUNT                                                                                      \
    "v.identity = 0, 0, 0; v.lift(m) = 1, m, 0 * m;"                                               \
    "v.combine(p, q) = (n = p[0] + q[0], d = q[1] - p[1], h = q[0] / maximum(n, 1),"               \
    " n, p[1] + d * h, p[2] + q[2] + d * d * p[0] * h); v.finalize(s) = s[1] + s[2] / "            \
    "maximum(s[0], 1); "
#define PARTS                                                                                      \
    "u.identity = 0, 0; u.lift(m) = m, m; u.combine(p, q) = p[0] + 1, p[1] + q[1] * p[0];"         \
    "u.finalize(s) = s[1]; u.associative = true; "
static const char *const formulas[] = {
    TURN "out = t(edge.w * src.x * b)",
    TURN "t.associative = true; out = t(edge.w * src.x * b)",
    TURN "out = t(edge.w * src.x * b + src.y)",
    "out = prod(edge.w * src.x * b)",
    COUNT "out = v(edge.w * src.x * b)",
    COUNT "v.associative = true; out = v(src.x * b)",
    PARTS "out = u(edge.w * src.x * b)",
};

/* ---- graphs ---- */

static uint64_t random_state;

static int64_t random_below(int64_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)n);
}

/* Rows of `degrees`; a third of the edges come from one source. */
static tg_graph *graph_of(const int64_t *degrees, int64_t rows, bool shuffled) {
    int64_t edges = 0, at = 0;
    for (int64_t r = 0; r < rows; r++) edges += degrees[r];
    int64_t *src = calloc((size_t)edges + 1, sizeof *src),
            *dst = calloc((size_t)edges + 1, sizeof *dst);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < degrees[r]; k++, at++) {
            src[at] = random_below(3) ? random_below(NUM_SRC) : 7;
            dst[at] = r;
        }
    for (int64_t k = edges - 1; shuffled && k > 0; k--) {
        int64_t j = random_below(k + 1), d = dst[k];
        dst[k] = dst[j];
        dst[j] = d;
    }
    tg_graph *g = tg_graph_coo(rows, NUM_SRC, edges, src, dst);
    if (!g) fail_msg("%s", tg_errmsg());
    free(src);
    free(dst);
    return g;
}

static tg_graph *random_graph(uint64_t seed) {
    enum { ROWS = 400 };
    static const int64_t hubs[] = {8192, 8193, 16384, 17000, 32768, 32769, 40000, 66000};
    int64_t degrees[ROWS];
    random_state = seed;
    for (int64_t r = 0; r < ROWS; r++) degrees[r] = random_below(2) ? random_below(60) : 0;
    for (int k = 0; k < 2; k++) degrees[random_below(ROWS)] = hubs[(2 * seed + (uint64_t)k) % 8];
    return graph_of(degrees, ROWS, seed % 2);
}

/* ---- a run ---- */

typedef struct {
    tg_arg args[MOST_ARGS];
    size_t count, first; /* results from first on */
    double spread;
    tg_dtype dtype;
} Call;

static size_t size_of(const tg_array *x) {
    size_t n = x->dtype == TG_FLOAT64 ? 8 : 4;
    for (int k = 0; k < x->rank; k++) n *= (size_t)x->shape[k];
    return n;
}

static double element(const tg_array *x, size_t i) {
    return x->dtype == TG_FLOAT64 ? ((const double *)x->data)[i]
                                  : (double)((const float *)x->data)[i];
}

/* Messages are small turns and factors near one. */
static void add(Call *c, const char *name, int64_t rows, int64_t width, double middle) {
    int64_t shape[] = {rows, width};
    tg_array x = tg_dense(NULL, c->dtype, 2 - (rows < 0), shape + (rows < 0));
    x.data = calloc(1, size_of(&x) + 8);
    for (size_t i = 0; i < size_of(&x) / (c->dtype == TG_FLOAT64 ? 8 : 4); i++) {
        double value = middle + (double)(random_below(2001) - 1000) * c->spread;
        if (c->dtype == TG_FLOAT64) ((double *)x.data)[i] = value;
        else ((float *)x.data)[i] = (float)value;
    }
    c->args[c->count++] = (tg_arg){name, x};
}

static Call call_of(const char *formula, const tg_graph *g, int64_t width, tg_dtype dtype,
                    int order) {
    bool product = strstr(formula, "prod") != NULL;
    Call c = {.spread = product ? 1e-8 : 3e-6, .dtype = dtype};
    int64_t edges = tg_graph_num_edges(g), rows = tg_graph_num_dst(g);
    add(&c, "src.x", NUM_SRC, width, product ? 1 : 0);
    if (strstr(formula, "src.y")) add(&c, "src.y", NUM_SRC, width, 0);
    if (strstr(formula, "edge.w")) add(&c, "edge.w", edges, 1, 1);
    add(&c, "b", -1, width, 1);
    add(&c, "cot.out", rows, width, 0.5);
    if (order > 1) add(&c, "cot.grad.src.x", NUM_SRC, width, 0.5);
    c.first = c.count;
    add(&c, "out", rows, width, 0);
    add(&c, "grad.src.x", NUM_SRC, width, 0);
    if (strstr(formula, "src.y")) add(&c, "grad.src.y", NUM_SRC, width, 0);
    add(&c, "grad.b", -1, width, 0);
    if (order > 1) add(&c, "grad2.src.x", NUM_SRC, width, 0);
    return c;
}

static void call_free(Call *c) {
    for (size_t k = 0; k < c->count; k++) free(c->args[k].array.data);
}

static void *copy_of(const tg_array *x) {
    void *p = malloc(size_of(x) + 1);
    memcpy(p, x->data, size_of(x));
    return p;
}

/* The same bits on 1, 2, 3 and 8 threads; within rounding of the interpreter's sums. */
static void check(const char *formula, const tg_graph *g, int64_t width, tg_dtype dtype,
                  int order) {
    static const int threads[] = {1, 2, 3, 8};
    Call c = call_of(formula, g, width, dtype, order);
    tg_program *p = tg_program_new(formula);
    tg_program *grad =
        tg_program_grad(p, "out", strstr(formula, "src.y") ? "src.x src.y b" : "src.x b");
    tg_program *second = order > 1 ? tg_program_grad(grad, "grad.src.x", "src.x") : NULL,
               *all = second ? second : grad;
    void *bits[MOST_ARGS];
    for (int t = 0; t < 4; t++) {
        tg_set_num_threads(threads[t]);
        if (tg_run(all, g, c.args, c.count)) fail_msg("%s: %s", formula, tg_errmsg());
        for (size_t k = c.first; k < c.count; k++) {
            tg_array *x = &c.args[k].array;
            if (!t) bits[k] = copy_of(x);
            else assert_memory_equal(bits[k], x->data, size_of(x));
            memset(x->data, 0xff, size_of(x));
        }
    }
    tg_set_num_threads(0);
    if (tg_reference(all, g, c.args, c.count)) fail_msg("%s: %s", formula, tg_errmsg());
    for (size_t k = c.first; k < c.count; k++) {
        tg_array got = c.args[k].array, *want = &c.args[k].array;
        got.data = bits[k];
        double eps = dtype == TG_FLOAT64 ? 1e-12 : 1e-3, most = 0;
        size_t n = size_of(want) / (dtype == TG_FLOAT64 ? 8 : 4);
        for (size_t i = 0; i < n; i++) most = fmax(most, fabs(element(want, i)));
        assert_true(most > 0);
        for (size_t i = 0; i < n; i++)
            if (!(fabs(element(&got, i) - element(want, i)) <= eps * most))
                fail_msg("%s, F %d: %s[%zu] is %g, expected %g", formula, (int)width,
                         c.args[k].name, i, element(&got, i), element(want, i));
        free(bits[k]);
    }
    tg_program_free(second);
    tg_program_free(grad);
    tg_program_free(p);
    call_free(&c);
}

static void random_graphs(void **state) {
    (void)state;
    static const int64_t widths[] = {1, 3, 6, 17, 8, 70};
    for (uint64_t seed = 0; seed < 4; seed++) {
        tg_graph *g = random_graph(seed);
        for (size_t f = 0; f < sizeof formulas / sizeof *formulas; f++)
            check(formulas[f], g, widths[(seed + f) % 6], (seed + f) % 3 ? TG_FLOAT32 : TG_FLOAT64,
                  1);
        tg_graph_free(g);
    }
}

static void many_empty_rows(void **state) {
    (void)state;
    enum { ROWS = 70000 };
    int64_t *degrees = calloc(ROWS, sizeof *degrees);
    degrees[0] = degrees[ROWS - 1] = 3;
    degrees[40000] = 9000;
    tg_graph *g = graph_of(degrees, ROWS, false);
    check(formulas[0], g, 5, TG_FLOAT32, 1);
    check(formulas[0], g, 5, TG_FLOAT64, 2);
    tg_graph_free(g);
    free(degrees);
}

/* A row of all edges: memory for a block a thread and some states, not for a value an edge. */
static void star(void **state) {
    (void)state;
    enum { EDGES = 400000, WIDTH = 32 };
    tg_graph *g = graph_of((int64_t[]){EDGES}, 1, false);
    Call c = call_of(formulas[0], g, WIDTH, TG_FLOAT32, 1);
    tg_program *p = tg_program_new(formulas[0]), *grad = tg_program_grad(p, "out", "src.x");
    tg_trim();
    int64_t before = tg_memory();
    if (tg_run(grad, g, c.args, c.count - 1)) fail_msg("%s", tg_errmsg());
    assert_true(tg_memory() - before < (int64_t)EDGES * WIDTH * 4 / 8);
    tg_program_free(grad);
    tg_program_free(p);
    call_free(&c);
    tg_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(many_empty_rows),
        cmocka_unit_test(star),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
