/* Execution with hand-written kernels in the generator's place: chunks, split rows, slots, threads,
 * bindings of every kind, dead kernels, interrupts. */
#include "fake_codegen.h"

#include "base/pool.h"
#include "ir/type.h"
#include "run/buffers.h"
#include "run/codegen_open.h"
#include "run/disk.h"
#include "run/exec.h"
#include "run/variant.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { F = 3 };

/* ---- code ----
 *
 * out[i] = sum over edges of w * x[col], out2[i] = sum of (w - mean of w)^2, total = sum of w:
 * two phases, so that rows that are split show whether phases wait for each other. */

typedef struct {
    float sum[F];
    double weight, mean, spread;
    int64_t count;
} State;

static atomic_int runs, ends;

static float weight_at(const KernelArgs *a, int64_t p) {
    int64_t e = a->edge ? ((const int32_t *)a->edge)[p] : p;
    float w;
    memcpy(&w, a->buffers[1].data + e * a->buffers[1].stride[0], sizeof w);
    return w;
}

static void w_begin(const KernelArgs *a, int64_t phase, int64_t row, char *state) {
    State *s = (State *)state;
    (void)a, (void)row;
    if (phase == 0) *s = (State){0};
    else s->spread = 0;
}

static void w_part(const KernelArgs *a, int64_t phase, int64_t row, int64_t edge, int64_t end,
                   char *state, char *slot) {
    State *s = (State *)state;
    const Buffer *x = &a->buffers[0];
    (void)row;
    for (int64_t p = edge; p < end; p++) {
        float w = weight_at(a, p);
        if (phase == 1) {
            s->spread += (w - s->mean) * (w - s->mean);
            continue;
        }
        const char *from = x->data + ((const int32_t *)a->col)[p] * x->stride[0];
        for (int k = 0; k < F; k++) {
            float value;
            memcpy(&value, from + k * x->stride[1], sizeof value);
            s->sum[k] += w * value;
        }
        s->weight += w;
        s->count++;
        *(double *)slot += w;
    }
}

static void w_merge(const KernelArgs *a, int64_t phase, char *into, const char *from) {
    State *s = (State *)into;
    const State *t = (const State *)from;
    (void)a;
    if (phase == 1) {
        s->spread += t->spread;
        return;
    }
    for (int k = 0; k < F; k++) s->sum[k] += t->sum[k];
    s->weight += t->weight;
    s->count += t->count;
}

static void w_finish(const KernelArgs *a, int64_t phase, int64_t row, char *state, char *slot) {
    State *s = (State *)state;
    const Buffer *out = &a->buffers[2], *out2 = &a->buffers[3];
    (void)slot;
    if (phase == 0) {
        s->mean = s->weight / (double)s->count;
        memcpy(out->data + row * out->stride[0], s->sum, sizeof s->sum);
    } else {
        memcpy(out2->data + row * out2->stride[0], &s->spread, sizeof s->spread);
    }
}

static void w_rows(const KernelArgs *a, int64_t row, int64_t row_end, char *slot) {
    atomic_fetch_add(&runs, 1);
    for (; row < row_end; row++) {
        State s;
        for (int phase = 0; phase < 2; phase++) {
            w_begin(a, phase, row, (char *)&s);
            w_part(a, phase, row, a->row_ptr[row], a->row_ptr[row + 1], (char *)&s, slot);
            w_finish(a, phase, row, (char *)&s, slot);
        }
    }
}

static void w_slot_begin(const KernelArgs *a, char *slot) {
    (void)a;
    *(double *)slot = 0;
}
static void w_slot_merge(const KernelArgs *a, char *into, const char *from) {
    (void)a;
    *(double *)into += *(const double *)from;
}
static void w_end(const KernelArgs *a, char *slot) {
    atomic_fetch_add(&ends, 1);
    *(double *)a->buffers[4].data = *(double *)slot;
}
static const KernelCode weighted = {w_rows,   w_begin,      w_part,       w_merge,
                                    w_finish, w_slot_begin, w_slot_merge, w_end};

/* Rows alone: out[i] = x[i] + y[i], f64 and i64. */
static void r_rows(const KernelArgs *a, int64_t row, int64_t row_end, char *slot) {
    const Buffer *x = &a->buffers[0], *y = &a->buffers[1], *out = &a->buffers[2];
    (void)slot;
    atomic_fetch_add(&runs, 1);
    for (; row < row_end; row++) {
        double v;
        int64_t n;
        memcpy(&v, x->data + row * x->stride[0], sizeof v);
        memcpy(&n, y->data + row * y->stride[0], sizeof n);
        v += (double)n;
        memcpy(out->data + row * out->stride[0], &v, sizeof v);
    }
}
static void r_end(const KernelArgs *a, char *slot) {
    (void)a, (void)slot;
    atomic_fetch_add(&ends, 1);
}
static const KernelCode rowwise = {r_rows,   w_begin,      w_part,       w_merge,
                                   w_finish, w_slot_begin, w_slot_merge, r_end};

static atomic_int compiles;
static uint8_t seen_layout[8];
static bool seen_wide, seen_has_edge, seen_prefetch;

static Status compile(const CompileRequest *r, Image *out, char *message, size_t size) {
    (void)message, (void)size;
    bool rows_alone = r->kernel->map == MAP_NONE;
    atomic_fetch_add(&compiles, 1);
    uint32_t n = r->kernel->body->inputs.len + r->kernel->body->results.len;
    memcpy(seen_layout, r->layout, n < 8 ? n : 8);
    seen_wide = r->wide;
    seen_has_edge = r->has_edge;
    seen_prefetch = r->prefetch;
    *out = rows_alone ? fake_image(&rowwise, 0, 0)
                      : fake_image(&weighted, sizeof(State), sizeof(double));
    return ST_OK;
}

static int begin(void **state) {
    (void)state;
    disk_use_folder("");
    codegen_replace(compile);
    variant_clear();
    atomic_store(&compiles, 0);
    atomic_store(&runs, 0);
    atomic_store(&ends, 0);
    return 0;
}

static int end(void **state) {
    (void)state;
    variant_clear();
    codegen_replace(NULL);
    disk_use_folder(NULL);
    pool_set_num_threads(0);
    pool_set_poll(NULL, NULL);
    return 0;
}

/* ---- plans made by hand ---- */

typedef struct {
    Fn *f;
    Plan *plan;
    Exec *exec;
} Prog;

static Plan *plan_new(const Fn *f) {
    Arena *a = arena_new();
    Plan *p = ARENA_NEW(a, Plan);
    *p = (Plan){.arena = a, .program = f};
    return p;
}

static void add_kernel(Prog *p, Fn *body, Set rows, Map map, uint32_t phases, bool slots) {
    Arena *a = p->plan->arena;
    *vec_push(a, &p->plan->kernels) = (Kernel){.body = body,
                                               .name = arena_printf(a, "k%u", p->plan->kernels.len),
                                               .rows = rows,
                                               .map = map,
                                               .num_phases = phases,
                                               .place = ARENA_ARRAY(a, Place, ir_count(body)),
                                               .has_slots = slots};
}

static void prog_free(Prog *p) {
    exec_free(p->exec);
    for (uint32_t k = 0; k < p->plan->kernels.len; k++)
        if (p->plan->kernels.data[k].body != p->f) ir_free(p->plan->kernels.data[k].body);
    arena_free(p->plan->arena);
    ir_free(p->f);
}

/* What `weighted` computes, as the types that matter here. */
static Prog weighted_prog(void) {
    Fn *f = ir_new(arena_new(), "weighted");
    Set v = ir_set(f, "V");
    int r = ir_relation(f, "r", v, v);
    Set e = f->relations.data[r].edges;
    int64_t dim[] = {F};
    Val x = ir_input(f, "src.x", type_of(DT_f32, v, 1, dim));
    Val w = ir_input(f, "edge.w", type_scalar(DT_f32, e));
    Val wide = ir_bcast(f, w, dim, 1), w64 = ir_cast(f, w, DT_f64);
    ir_add_result(f, "out", ir_reduce(f, ir_mul(f, wide, ir_gather(f, x, map_src(r))), map_dst(r)));
    ir_add_result(f, "out2", ir_reduce(f, ir_mul(f, w64, w64), map_dst(r)));
    ir_add_result(f, "total", ir_reduce(f, w64, map_all(e)));
    Prog p = {.f = f, .plan = plan_new(f)};
    add_kernel(&p, f, v, map_dst(r), 2, true);
    p.exec = exec_new(p.plan, false);
    return p;
}

/* ---- graphs and data ---- */

typedef struct {
    int64_t nodes, edges;
    int32_t *src, *dst;
    Graph *graph;
    int64_t size[4]; /* all, V, r.edges, and room */
    Domain domain;
    float *x, *w;
} World;

static uint32_t random_state = 1;
static uint32_t random_next(void) { return random_state = random_state * 1664525u + 1013904223u; }
static float random_float(void) { return (float)(random_next() >> 8) * 0x1p-24f - 0.5f; }

/* Every node has (i mod 8) edges into it, node `hub` many more, in mixed-up order. */
static World world_new(int64_t nodes, int64_t hub, int64_t hub_edges) {
    World w = {.nodes = nodes};
    for (int64_t i = 0; i < nodes; i++) w.edges += i % 8;
    w.edges += hub_edges;
    w.src = malloc((size_t)w.edges * sizeof *w.src + 1);
    w.dst = malloc((size_t)w.edges * sizeof *w.dst + 1);
    int64_t at = 0;
    for (int64_t i = 0; i < nodes; i++)
        for (int64_t k = 0; k < i % 8; k++) w.dst[at++] = (int32_t)i;
    for (int64_t k = 0; k < hub_edges; k++) w.dst[at++] = (int32_t)hub;
    for (int64_t k = 0; k < w.edges; k++) {
        int64_t other = random_next() % w.edges;
        int32_t swap = w.dst[k];
        w.dst[k] = w.dst[other], w.dst[other] = swap;
        w.src[k] = (int32_t)(random_next() % nodes);
    }
    IndexArray src = {w.src, w.edges, 4, false}, dst = {w.dst, w.edges, 4, false};
    assert_int_equal(graph_from_coo(&src, &dst, nodes, nodes, false, &w.graph), ST_OK);
    w.x = malloc((size_t)(nodes * F) * sizeof *w.x + 1);
    w.w = malloc((size_t)w.edges * sizeof *w.w + 1);
    for (int64_t k = 0; k < nodes * F; k++) w.x[k] = random_float();
    for (int64_t k = 0; k < w.edges; k++) w.w[k] = random_float();
    w.size[0] = 1, w.size[1] = nodes, w.size[2] = w.edges;
    return w;
}

static Domain domain_of(World *w) { return (Domain){.set_size = w->size, .graphs = &w->graph}; }

static void world_free(World *w) {
    graph_unref(w->graph);
    free(w->src), free(w->dst), free(w->x), free(w->w);
}

static Array rows_of(void *data, Dtype t, int64_t n, int64_t f) {
    int64_t size = dtype_size(t);
    Array a = {.data = data, .dtype = (uint8_t)t, .rank = f ? 2 : 1, .dim = {n, f}};
    a.stride[0] = f ? size * f : size;
    a.stride[1] = size;
    return a;
}

static Array scalar_of(double *data) { return (Array){.data = data, .dtype = DT_f64}; }

typedef struct {
    float *out;
    double *out2, total;
} Results;

static Results results_new(const World *w) {
    return (Results){malloc((size_t)(w->nodes * F) * sizeof(float) + 1),
                     malloc((size_t)w->nodes * sizeof(double) + 1), -1};
}

static void results_free(Results *r) { free(r->out), free(r->out2); }

static Status run(const Prog *p, World *w, Results *r) {
    Domain d = domain_of(w);
    Array in[] = {rows_of(w->x, DT_f32, w->nodes, F), rows_of(w->w, DT_f32, w->edges, 0)};
    Array out[] = {rows_of(r->out, DT_f32, w->nodes, F), rows_of(r->out2, DT_f64, w->nodes, 0),
                   scalar_of(&r->total)};
    return exec_run(p->exec, &d, in, out);
}

static void check_results(const World *w, const Results *r) {
    size_t n = (size_t)w->nodes;
    double *sum = calloc(n * F + 1, sizeof *sum), *mean = calloc(n + 1, sizeof *mean);
    double *spread = calloc(n + 1, sizeof *spread), *count = calloc(n + 1, sizeof *count),
           total = 0;
    for (int64_t e = 0; e < w->edges; e++) {
        for (int k = 0; k < F; k++)
            sum[w->dst[e] * F + k] += (double)w->w[e] * (double)w->x[w->src[e] * F + k];
        mean[w->dst[e]] += w->w[e];
        count[w->dst[e]]++;
        total += w->w[e];
    }
    for (int64_t e = 0; e < w->edges; e++) {
        double d = w->w[e] - mean[w->dst[e]] / count[w->dst[e]];
        spread[w->dst[e]] += d * d;
    }
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < F; k++) assert_float_equal(r->out[i * F + k], sum[i * F + k], 1e-3);
        assert_float_equal(r->out2[i], spread[i], 1e-6 * (1 + spread[i]));
    }
    assert_float_equal(r->total, total, 1e-6);
    free(sum), free(mean), free(spread), free(count);
}

/* ---- bits ---- */

static void same_bits_on_any_number_of_threads(void **state) {
    static const int threads[] = {1, 2, 3, 8};
    World w = world_new(30000, 17, 100000);
    Prog p = weighted_prog();
    Results first = results_new(&w), r = results_new(&w);
    (void)state;
    for (int k = 0; k < 4; k++) {
        Results *to = k ? &r : &first;
        pool_set_num_threads(threads[k]);
        assert_int_equal(run(&p, &w, to), ST_OK);
        if (!k) continue;
        assert_memory_equal(r.out, first.out, (size_t)(w.nodes * F) * sizeof(float));
        assert_memory_equal(r.out2, first.out2, (size_t)w.nodes * sizeof(double));
        assert_memory_equal(&r.total, &first.total, sizeof r.total);
    }
    check_results(&w, &first);
    assert_int_equal(atomic_load(&compiles), 1);
    assert_int_equal(atomic_load(&ends), 4);
    assert_true(seen_has_edge);
    assert_false(seen_wide);
    ExecStats stats = exec_stats(p.exec);
    assert_int_equal(stats.misses, 1);
    assert_int_equal(stats.hits, 3);
    results_free(&first), results_free(&r);
    prog_free(&p);
    world_free(&w);
}

static void hubs_first_last_and_alone(void **state) {
    static const struct {
        int64_t nodes, hub, edges;
    } cases[] = {{100, 0, 40000},     {100, 99, 40000},        {1, 0, 40000},
                 {9, 4, CHUNK_EDGES}, {9, 4, CHUNK_EDGES + 1}, {9, 4, 0}};
    Prog p = weighted_prog();
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        World w = world_new(cases[k].nodes, cases[k].hub, cases[k].edges);
        Results r = results_new(&w);
        pool_set_num_threads(2);
        assert_int_equal(run(&p, &w, &r), ST_OK);
        check_results(&w, &r);
        results_free(&r);
        world_free(&w);
    }
    prog_free(&p);
}

static void nothing_to_do_still_ends(void **state) {
    static const int64_t nodes[] = {0, 1, 5};
    Prog p = weighted_prog();
    (void)state;
    for (int k = 0; k < 3; k++) {
        IndexArray none = {NULL, 0, 4, false};
        World w = {.nodes = nodes[k], .size = {1, nodes[k], 0}};
        assert_int_equal(graph_from_coo(&none, &none, nodes[k], nodes[k], false, &w.graph), ST_OK);
        w.x = calloc((size_t)(nodes[k] * F) + 1, sizeof *w.x);
        w.w = calloc(1, sizeof *w.w);
        Results r = results_new(&w);
        atomic_store(&ends, 0);
        assert_int_equal(run(&p, &w, &r), ST_OK);
        assert_int_equal(atomic_load(&ends), 1);
        assert_true(r.total == 0);
        for (int64_t i = 0; i < nodes[k] * F; i++) assert_true(r.out[i] == 0);
        results_free(&r);
        world_free(&w);
    }
    prog_free(&p);
}

/* ---- bindings ---- */

static void strides_choose_the_layout(void **state) {
    World w = world_new(50, 3, 100);
    Prog p = weighted_prog();
    Results r = results_new(&w);
    Domain d = domain_of(&w);
    (void)state;
    /* features reversed: strided, and another variant */
    Array x = rows_of(w.x, DT_f32, w.nodes, F);
    x.data = w.x + F - 1;
    x.stride[1] = -4;
    Array in[] = {x, rows_of(w.w, DT_f32, w.edges, 0)};
    Array out[] = {rows_of(r.out, DT_f32, w.nodes, F), rows_of(r.out2, DT_f64, w.nodes, 0),
                   scalar_of(&r.total)};
    assert_int_equal(exec_run(p.exec, &d, in, out), ST_OK);
    assert_int_equal(seen_layout[0], LAYOUT_strided);
    for (int64_t i = 0; i < w.nodes; i++) {
        float swap = w.x[i * F];
        w.x[i * F] = w.x[i * F + 2], w.x[i * F + 2] = swap;
    }
    check_results(&w, &r);
    /* one row for all nodes: dense rows */
    in[0] = rows_of(w.x, DT_f32, w.nodes, F);
    in[0].stride[0] = 0;
    assert_int_equal(exec_run(p.exec, &d, in, out), ST_OK);
    assert_int_equal(seen_layout[0], LAYOUT_rows);
    for (int64_t i = 1; i < w.nodes; i++) memcpy(w.x + i * F, w.x, F * sizeof *w.x);
    check_results(&w, &r);
    assert_int_equal(atomic_load(&compiles), 2);
    assert_int_equal(exec_request(p.exec, 0).layout[0], LAYOUT_rows);
    results_free(&r);
    prog_free(&p);
    world_free(&w);
}

static void outputs_of_any_stride_and_place(void **state) {
    World w = world_new(3000, 3, 40000);
    Prog p = weighted_prog();
    Results r = results_new(&w), plain = results_new(&w);
    Domain d = domain_of(&w);
    (void)state;
    assert_int_equal(run(&p, &w, &plain), ST_OK);
    /* column major and backwards */
    Array in[] = {rows_of(w.x, DT_f32, w.nodes, F), rows_of(w.w, DT_f32, w.edges, 0)};
    Array out[] = {rows_of(r.out, DT_f32, w.nodes, F), rows_of(r.out2, DT_f64, w.nodes, 0),
                   scalar_of(&r.total)};
    out[0].stride[0] = -4;
    out[0].stride[1] = 4 * w.nodes;
    out[0].data = r.out + w.nodes - 1;
    assert_int_equal(exec_run(p.exec, &d, in, out), ST_OK);
    for (int64_t i = 0; i < w.nodes; i++)
        for (int k = 0; k < F; k++)
            assert_true(r.out[(k + 1) * w.nodes - 1 - i] == plain.out[i * F + k]);
    /* misaligned */
    char *bytes = malloc((size_t)(w.nodes * F) * 4 + 1);
    out[0] = rows_of(bytes + 1, DT_f32, w.nodes, F);
    assert_int_equal(exec_run(p.exec, &d, in, out), ST_OK);
    assert_memory_equal(bytes + 1, plain.out, (size_t)(w.nodes * F) * 4);
    free(bytes);
    /* onto its own input */
    out[0] = in[0];
    assert_int_equal(exec_run(p.exec, &d, in, out), ST_OK);
    assert_memory_equal(w.x, plain.out, (size_t)(w.nodes * F) * 4);
    assert_int_equal(atomic_load(&compiles), 1);
    results_free(&r), results_free(&plain);
    prog_free(&p);
    world_free(&w);
}

static void wrong_arrays_are_refused_untouched(void **state) {
    World w = world_new(50, 3, 100);
    Prog p = weighted_prog();
    Results r = results_new(&w);
    Domain d = domain_of(&w);
    (void)state;
    for (int k = 0; k < 5; k++) {
        Array in[] = {rows_of(w.x, DT_f32, w.nodes, F), rows_of(w.w, DT_f32, w.edges, 0)};
        Array out[] = {rows_of(r.out, DT_f32, w.nodes, F), rows_of(r.out2, DT_f64, w.nodes, 0),
                       scalar_of(&r.total)};
        Status want = ST_SHAPE;
        w.size[1] = w.nodes;
        if (k == 0) in[1].dim[0]--;
        if (k == 1) in[0].dtype = DT_i32, want = ST_TYPE;
        if (k == 2) out[1].dim[0]++;
        if (k == 3) in[0].data = NULL, want = ST_NAME;
        if (k == 4) {
            w.size[1] = in[0].dim[0] = out[0].dim[0] = out[1].dim[0] = w.nodes - 1;
            want = ST_INVAL;
        }
        assert_int_equal(exec_run(p.exec, &d, in, out), want);
        const char *names[] = {"edge.w", "src.x", "out2", "src.x", "'r'"};
        assert_non_null(strstr(err_message(), names[k]));
        assert_true(r.total == -1);
    }
    results_free(&r);
    prog_free(&p);
    world_free(&w);
}

/* ---- several kernels ---- */

static void add_rowwise(Prog *p, const char *x, const char *y, const char *out) {
    Fn *f = ir_new_like(arena_new(), p->f, "rowwise");
    Set v = ir_set(f, "V");
    Val a = ir_input(f, x, type_scalar(DT_f64, v)), b = ir_input(f, y, type_scalar(DT_i64, v));
    ir_add_result(f, out, ir_sub(f, a, ir_cast(f, b, DT_f64)));
    add_kernel(p, f, v, MAP_NONE, 0, false);
}

/* t.0 = x + degree in; a = t.0 + degree out; b = t.0 + n; unused = b + n. */
static Prog chain_prog(void) {
    Fn *f = ir_new(arena_new(), "chain");
    Set v = ir_set(f, "V");
    ir_relation(f, "r", v, v);
    Val x = ir_input(f, "x", type_scalar(DT_f64, v));
    ir_input(f, "n", type_scalar(DT_i64, v));
    ir_add_result(f, "a", x);
    ir_add_result(f, "b", ir_neg(f, x));
    ir_add_result(f, "c", ir_abs(f, x));
    Prog p = {.f = f, .plan = plan_new(f)};
    add_rowwise(&p, "x", "degree.r.dst", "t.0");
    add_rowwise(&p, "t.0", "degree.r.src", "a");
    add_rowwise(&p, "t.0", "n", "b");
    add_rowwise(&p, "b", "n", "c");
    p.exec = exec_new(p.plan, false);
    return p;
}

static void kernels_hand_on_and_dead_ones_rest(void **state) {
    enum { N = 5000 };
    World w = world_new(N, 3, 100);
    Prog p = chain_prog();
    Domain d = domain_of(&w);
    double *x = malloc(N * sizeof *x), *got[3];
    int64_t *n = malloc(N * sizeof *n), *in = calloc(N, sizeof *in), *out = calloc(N, sizeof *out);
    (void)state;
    for (int i = 0; i < N; i++) x[i] = i, n[i] = 3 * i;
    for (int64_t e = 0; e < w.edges; e++) in[w.dst[e]]++, out[w.src[e]]++;
    for (int k = 0; k < 3; k++) got[k] = calloc(N, sizeof(double));
    for (int bound = 0; bound < 8; bound++) {
        Array inputs[] = {rows_of(x, DT_f64, N, 0), rows_of(n, DT_i64, N, 0)}, outputs[3];
        for (int k = 0; k < 3; k++) {
            memset(got[k], 0, N * sizeof(double));
            outputs[k] = rows_of(bound >> k & 1 ? got[k] : NULL, DT_f64, N, 0);
        }
        atomic_store(&ends, 0);
        assert_int_equal(exec_run(p.exec, &d, inputs, outputs), ST_OK);
        bool a = bound & 1, b = bound & 2, c = bound & 4;
        assert_int_equal(atomic_load(&ends), (a || b || c) + a + (b || c) + c);
        for (int64_t i = 0; i < N; i++) {
            double t = x[i] + (double)in[i], y = t + (double)n[i];
            assert_true(got[0][i] == (a ? t + (double)out[i] : 0));
            assert_true(got[1][i] == (b ? y : 0));
            assert_true(got[2][i] == (c ? y + (double)n[i] : 0));
        }
    }
    assert_int_equal(atomic_load(&compiles), 1); /* four kernels of one structure */
    for (int k = 0; k < 3; k++) free(got[k]);
    free(x), free(n), free(in), free(out);
    prog_free(&p);
    world_free(&w);
}

static void size_of_a_set_is_an_input(void **state) {
    Fn *f = ir_new(arena_new(), "size");
    ir_set(f, "V");
    Val x = ir_input(f, "x", type_scalar(DT_f64, SET_ALL));
    ir_add_result(f, "out", x);
    Prog p = {.f = f, .plan = plan_new(f)};
    Fn *body = ir_new_like(arena_new(), f, "body");
    Val a = ir_input(body, "x", type_scalar(DT_f64, SET_ALL));
    Val n = ir_input(body, "size.V", type_scalar(DT_i64, SET_ALL));
    ir_add_result(body, "out", ir_add(body, a, ir_cast(body, n, DT_f64)));
    add_kernel(&p, body, SET_ALL, MAP_NONE, 0, false);
    p.exec = exec_new(p.plan, false);
    int64_t size[] = {1, 77};
    Domain d = {.set_size = size};
    double x_data = 0.5, out_data = 0;
    Array in = scalar_of(&x_data), out = scalar_of(&out_data);
    (void)state;
    assert_int_equal(exec_run(p.exec, &d, &in, &out), ST_OK);
    assert_true(out_data == 77.5);
    prog_free(&p);
}

/* ---- interrupts, memory ---- */

static bool say_yes(void *ctx) {
    (void)ctx;
    return true;
}

static void interrupt_ends_a_call(void **state) {
    World w = world_new(30000, 17, 100000);
    Prog p = weighted_prog();
    Results r = results_new(&w);
    (void)state;
    assert_int_equal(run(&p, &w, &r), ST_OK);
    pool_set_poll(say_yes, NULL);
    BufStats before = buf_stats();
    assert_int_equal(run(&p, &w, &r), ST_INTR);
    assert_int_equal(buf_stats().used, before.used);
    pool_set_poll(NULL, NULL);
    assert_int_equal(run(&p, &w, &r), ST_OK);
    check_results(&w, &r);
    results_free(&r);
    prog_free(&p);
    world_free(&w);
}

static Status exec_new_in_guard(void *ctx) {
    Prog *p = ctx;
    p->exec = exec_new(p->plan, false);
    return ST_OK;
}

static void failing_allocations_leave_all_well(void **state) {
    World w = world_new(100, 0, 40000);
    Prog p = weighted_prog();
    Results r = results_new(&w);
    Status status = ST_NOMEM;
    const Csr *csr;
    (void)state;
    exec_free(p.exec);
    assert_int_equal(graph_csr(w.graph, true, &csr), ST_OK);
    buf_trim();
    int64_t live = mem_live();
    for (int64_t n = 1; status; n++) {
        p.exec = NULL;
        mem_fail_at(n);
        status = guard_run(exec_new_in_guard, &p);
        if (!status) status = run(&p, &w, &r);
        mem_fail_at(0);
        if (status) assert_int_equal(status, ST_NOMEM);
        else check_results(&w, &r);
        exec_free(p.exec);
        variant_clear();
        buf_trim();
        assert_int_equal(mem_live(), live);
    }
    p.exec = NULL;
    results_free(&r);
    prog_free(&p);
    world_free(&w);
}

static void buffers_are_aligned_kept_and_trimmed(void **state) {
    static const size_t sizes[] = {0, 1, 63, 64, 65, 1000, 4097, 1 << 20, (4 << 20) + 5};
    (void)state;
    buf_trim();
    buf_set_cap((size_t)64 << 20);
    BufStats before = buf_stats();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        char *p = buf_alloc(sizes[k], "p");
        assert_int_equal((uintptr_t)p % 64, 0);
        memset(p, 1, sizes[k]);
        buf_free(p);
        assert_ptr_equal(buf_alloc(sizes[k], "p"), p);
        buf_free(p);
        BufStats s = buf_stats();
        assert_true(s.kept <= (int64_t)(sizes[k] * 5 / 4 + 64) + (int64_t)(8 << 20));
    }
    assert_int_equal(buf_stats().used, before.used);
    assert_true(buf_stats().kept > 0);
    buf_set_cap(1024);
    assert_true(buf_stats().kept <= 1024);
    char *large = buf_alloc(1 << 20, "large");
    buf_free(large);
    assert_true(buf_stats().kept <= 1024);
    buf_trim();
    assert_int_equal(buf_stats().kept, 0);
    assert_null(buf_alloc((size_t)1 << 50, "the moon"));
    assert_int_equal(err_status(), ST_NOMEM);
    assert_non_null(strstr(err_message(), "the moon"));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(same_bits_on_any_number_of_threads),
        TEST(hubs_first_last_and_alone),
        TEST(nothing_to_do_still_ends),
        TEST(strides_choose_the_layout),
        TEST(outputs_of_any_stride_and_place),
        TEST(wrong_arrays_are_refused_untouched),
        TEST(kernels_hand_on_and_dead_ones_rest),
        TEST(size_of_a_set_is_an_input),
        TEST(interrupt_ends_a_call),
        TEST(failing_allocations_leave_all_well),
        TEST(buffers_are_aligned_kept_and_trimmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
