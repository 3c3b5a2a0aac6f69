/* Every array of a call lies against a page that cannot be touched, at its end, at its start, and with all
 * strides negative: a run reads and writes inside its arguments alone, whatever the widths, and equals
 * the interpreter. */
#include "tiga/tiga.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

typedef enum { AT_END, AT_START, BACKWARDS } Where;

/* ---- memory between two guard pages ---- */

typedef struct {
    char *map, *data;
    size_t mapped;
} Guarded;

static Guarded guarded_new(size_t size, Where where) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (size / page + 1) * page;
    Guarded g = {.mapped = inside + 2 * page};
    g.map = mmap(NULL, g.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g.map != MAP_FAILED);
    assert_int_equal(mprotect(g.map + page, inside, PROT_READ | PROT_WRITE), 0);
    g.data = g.map + page + (where == AT_START ? 0 : inside - size);
    return g;
}

/* ---- programs ---- */

enum { MAX_ARGS = 16 };

/* Inputs: rows are counted by the name's role; the feature shape in letters, F and G from the width. */
typedef struct {
    const char *formula, *wrt;
    struct {
        const char *name, *shape;
    } inputs[5];
    bool folds;
} Program;

static const Program programs[] = {
    {"out = sum(edge.w * src.x) + dst.b",
     "src.x edge.w",
     {{"src.x", "F"}, {"edge.w", ""}, {"dst.b", "F"}}},
    {"out = relu(mean(src.x) @ W + b)", "src.x W b", {{"src.x", "F"}, {"W", "FG"}, {"b", "G"}}},
    {"out = sum(tanh(src.x @ W))", "src.x W", {{"src.x", "F"}, {"W", "FG"}}},
    {"out = sum(src.x @ transpose(W, axis=(0, 1)))", "src.x W", {{"src.x", "F"}, {"W", "GF"}}},
    {"out = max(cat(src.x, dst.x, axis=1) @ W)",
     "src.x dst.x W",
     {{"src.x", "F"}, {"dst.x", "1"}, {"W", "HG"}}},
    {"out = softmax(sum(src.k * dst.q, axis=1, keepdims=true), src.v)",
     "src.k dst.q src.v",
     {{"src.k", "F"}, {"dst.q", "F"}, {"src.v", "G"}}},
    {"out = sum(sum(src.m, axis=1) * max(src.m, axis=2))", "src.m", {{"src.m", "HH"}}},
    {"out = sum(src.x[1:] - src.x[:-1])", "src.x", {{"src.x", "H"}}},
    {"out = prod(edge.w * src.x)", "src.x edge.w", {{"src.x", "F"}, {"edge.w", ""}}, true},
    {"t.identity = 1, 0; t.lift(m, v) = m, v;"
     "t.combine(p, q) = p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1];"
     "t.finalize(s) = s[0] + s[1]; out = t(src.x, edge.w)",
     "src.x edge.w",
     {{"src.x", "F"}, {"edge.w", ""}},
     true},
};

/* Around the vectors' sizes, the unrolled matrix tiles' and the rolled ones'. */
static const struct {
    int64_t f, g;
} widths[] = {{0, 3}, {1, 1}, {3, 5}, {7, 17}, {16, 16}, {33, 2}, {70, 131}, {5, 259}, {100, 33}};

static int64_t extent(char letter, size_t width) {
    int64_t f = widths[width].f, g = widths[width].g;
    return letter == 'F' ? f : letter == 'G' ? g : letter == 'H' ? f + 1 : 1;
}

static int64_t num_rows(const tg_graph *g, const char *name) {
    if (!strncmp(name, "src.", 4)) return tg_graph_num_src(g);
    if (!strncmp(name, "dst.", 4)) return tg_graph_num_dst(g);
    return strncmp(name, "edge.", 5) ? -1 : tg_graph_num_edges(g);
}

/* ---- one call ---- */

typedef struct {
    tg_arg args[MAX_ARGS];
    Guarded memory[MAX_ARGS];
    size_t count;
} Call;

static void add(Call *c, const char *name, int rank, const int64_t *shape, Where where) {
    int64_t n = 1;
    for (int k = 0; k < rank; k++) n *= shape[k];
    Guarded m = guarded_new((size_t)n * sizeof(float), where);
    float *x = (float *)m.data;
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((i * 37 + (int64_t)c->count * 11) % 23 - 11) / 16;
    tg_array array = tg_dense(x, TG_FLOAT32, rank, shape);
    if (where == BACKWARDS && n) array.data = x + n - 1;
    for (int k = 0; k < rank && where == BACKWARDS; k++) array.stride[k] *= -1;
    c->memory[c->count] = m;
    c->args[c->count++] = (tg_arg){name, array};
}

static void add_input(Call *c, const tg_graph *g, const char *name, const char *letters,
                      size_t width, Where where) {
    int64_t shape[TG_MAX_RANK], rows = num_rows(g, name);
    int rank = 0;
    if (rows >= 0) shape[rank++] = rows;
    for (; *letters; letters++) shape[rank++] = extent(*letters, width);
    add(c, name, rank, shape, where);
}

static void add_end(Call *c, const tg_graph *g, const tg_end *end, Where where) {
    const int64_t rows[] = {0, tg_graph_num_src(g), tg_graph_num_dst(g), tg_graph_num_edges(g)};
    int64_t shape[TG_MAX_RANK + 1];
    int lead = end->role != TG_ON_ALL;
    assert_true(end->role <= TG_ON_EDGES);
    shape[0] = rows[end->role];
    memcpy(shape + lead, end->shape, sizeof end->shape);
    add(c, end->name, end->rank + lead, shape, where);
}

static bool is_bound(const Call *c, const char *name) {
    for (size_t k = 0; k < c->count; k++)
        if (!strcmp(c->args[k].name, name)) return true;
    return false;
}

static void call_free(Call *c) {
    for (size_t k = 0; k < c->count; k++) munmap(c->memory[k].map, c->memory[k].mapped);
}

static int64_t numel(const tg_array *x) {
    int64_t n = 1;
    for (int k = 0; k < x->rank; k++) n *= x->shape[k];
    return n;
}

static bool is_close(float x, float y) {
    return x == y || (isnan(x) && isnan(y)) || fabsf(x - y) <= 2e-4f * (1 + fabsf(y));
}

/* Results are the arguments from `first` on: those of the run against the interpreter's. */
static void check(const Call *c, size_t first, const tg_program *typed, const tg_graph *g,
                  Where where, const char *what) {
    float *own[MAX_ARGS];
    tg_arg args[MAX_ARGS];
    memcpy(args, c->args, sizeof args);
    for (size_t k = first; k < c->count; k++) {
        tg_array *x = &args[k].array;
        own[k] = calloc((size_t)numel(x) + 1, sizeof(float));
        *x = tg_dense(own[k], TG_FLOAT32, x->rank, x->shape);
    }
    if (tg_reference(typed, g, args, c->count)) fail_msg("%s: %s", what, tg_errmsg());
    for (size_t k = first; k < c->count; k++) {
        const float *x = c->args[k].array.data;
        for (int64_t i = 0, n = numel(&args[k].array), step = where == BACKWARDS ? -1 : 1; i < n;
             i++)
            if (!is_close(x[i * step], own[k][i]))
                fail_msg("%s: %s[%lld] is %g, expected %g", what, args[k].name, (long long)i,
                         x[i * step], own[k][i]);
        free(own[k]);
    }
}

static void run_one(const Program *p, size_t width, const tg_graph *g, bool grad, Where where) {
    char what[256];
    Call c = {.count = 0};
    snprintf(what, sizeof what, "%s, F %lld, G %lld", p->formula, (long long)widths[width].f,
             (long long)widths[width].g);
    for (size_t k = 0; k < 5 && p->inputs[k].name; k++)
        add_input(&c, g, p->inputs[k].name, p->inputs[k].shape, width, where);
    tg_program *formula = tg_program_new(p->formula);
    tg_program *program = grad ? tg_program_grad(formula, "out", p->wrt) : formula;
    tg_program *typed = tg_program_typed(program, c.args, c.count);
    if (!typed) fail_msg("%s: %s", what, tg_errmsg());
    tg_end end;
    for (size_t k = 0; k < tg_program_num_inputs(typed); k++)
        if (!tg_program_input(typed, k, &end) && !is_bound(&c, end.name))
            add_end(&c, g, &end, where);
    size_t first = c.count;
    for (size_t k = 0; k < tg_program_num_results(typed); k++)
        if (!tg_program_result(typed, k, &end)) add_end(&c, g, &end, where);
    if (tg_run(typed, g, c.args, c.count)) fail_msg("%s: %s", what, tg_errmsg());
    check(&c, first, typed, g, where, what);
    tg_program_free(typed);
    if (grad) tg_program_free(program);
    tg_program_free(formula);
    call_free(&c);
}

/* A row that is longer than a block of staged sums. */
static tg_graph *star(void) {
    enum { EDGES = 40000 };
    static int64_t src[EDGES], dst[EDGES];
    for (int64_t k = 0; k < EDGES; k++) src[k] = k * 7 % 11;
    return tg_graph_coo(1, 11, EDGES, src, dst);
}

static void run_all(bool grad, Where where) {
    const int64_t src[] = {4, 0, 4, 2, 4, 4}, dst[] = {0, 0, 3, 6, 6, 3};
    tg_graph *graphs[] = {tg_graph_coo(7, 5, 6, src, dst), tg_graph_coo(3, 2, 0, NULL, NULL),
                          tg_graph_coo(0, 0, 0, NULL, NULL), star()};
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            for (size_t g = 0; g < 4; g++)
                if (g < 3 || (programs[p].folds && widths[w].f < 8))
                    run_one(&programs[p], w, graphs[g], grad, where);
    for (size_t g = 0; g < 4; g++) tg_graph_free(graphs[g]);
}

static void at_the_end(void **state) { run_all(*(bool *)*state, AT_END); }

static void at_the_start(void **state) { run_all(*(bool *)*state, AT_START); }

static void backwards(void **state) { run_all(*(bool *)*state, BACKWARDS); }

int main(void) {
    static bool forward = false, gradient = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(at_the_end, &forward),
        cmocka_unit_test_prestate(at_the_end, &gradient),
        cmocka_unit_test_prestate(at_the_start, &forward),
        cmocka_unit_test_prestate(at_the_start, &gradient),
        cmocka_unit_test_prestate(backwards, &forward),
        cmocka_unit_test_prestate(backwards, &gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
