/* Hand-written kernels in the generated code's place, plans, graphs and data for them. */
#ifndef TIGA_TESTS_FAKE_KERNELS_H
#define TIGA_TESTS_FAKE_KERNELS_H

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

#endif
