/* Programs compiled and run against the interpreter: arrays that end at a page that must not be
 * touched, strides of any kind, nasty values. */
#ifndef TIGA_TESTS_CODEGEN_RUN_H
#define TIGA_TESTS_CODEGEN_RUN_H

#include "base/hash.h"
#include "ir/element.h"
#include "interp/interp.h"
#include "ir/type.h"
#include "opt/opt.h"
#include "plan/plan.h"
#include "run/exec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

/* ---- a program over one relation r, of U to V, with edges E ---- */

enum { U = 1, V = 2, E = 3 };

static inline Fn *bipartite(void) {
    Fn *f = ir_new(arena_new(), "p");
    assert_int_equal(ir_set(f, "U"), U);
    assert_int_equal(ir_set(f, "V"), V);
    assert_int_equal(ir_relation(f, "r", U, V), 0);
    return f;
}

/* ---- memory with a guard page behind it ---- */

enum { PAGE = 4096 };

typedef struct {
    char *data, *map;
    size_t mapped;
} Guarded;

static inline Guarded guarded_new(int64_t bytes) {
    size_t size = ((size_t)bytes + PAGE - 1) / PAGE * PAGE;
    Guarded g = {.mapped = size + PAGE};
    g.map = mmap(NULL, g.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g.map != MAP_FAILED);
    assert_int_equal(mprotect(g.map + size, PAGE, PROT_NONE), 0);
    g.data = g.map + size - bytes;
    return g;
}

static inline void guarded_free(Guarded *g) { munmap(g->map, g->mapped); }

/* ---- worlds ---- */

typedef struct {
    const char *name;
    int64_t num_src, num_dst, num_edges;
    uint32_t seed; /* 0: every edge 0 -> 0 */
    bool by_csr;   /* edges sorted by destination: edge numbers are positions */
} World;

static const World small_worlds[] = {
    {"nothing", 0, 0, 0, 0, false},     {"no edges", 2, 3, 0, 0, false},
    {"one node", 1, 1, 5, 0, false},    {"a hub", 5, 4, 9, 0, true},
    {"duplicates", 3, 2, 40, 11, true}, {"isolated nodes", 30, 25, 20, 12, false},
    {"plain", 12, 9, 60, 13, false},    {"many short rows", 40, 35, 500, 14, false},
};
enum { NUM_WORLDS = sizeof small_worlds / sizeof *small_worlds };

static inline int64_t end_of(const World *w, int64_t e, uint32_t salt, int64_t n) {
    return w->seed ? (int64_t)(hash_u64((uint64_t)e, w->seed + salt) % (uint64_t)n) : 0;
}

static inline Graph *world_graph(const World *w, bool homogeneous) {
    size_t n = (size_t)w->num_edges + 1;
    int64_t num_dst = homogeneous ? w->num_src : w->num_dst;
    int64_t *src = calloc(n, 8), *dst = calloc(n, 8), *row_ptr = calloc((size_t)num_dst + 1, 8);
    for (int64_t e = 0; e < w->num_edges; e++) {
        src[e] = end_of(w, e, 1, w->num_src);
        dst[e] = end_of(w, e, 2, num_dst);
        row_ptr[dst[e] + 1]++;
    }
    for (int64_t i = 0; i < num_dst; i++) row_ptr[i + 1] += row_ptr[i];
    IndexArray s = {src, w->num_edges, 8, true}, d = {dst, w->num_edges, 8, true};
    IndexArray rows = {row_ptr, num_dst + 1, 8, true};
    Graph *g;
    Status st = w->by_csr ? graph_from_csr(&rows, &s, w->num_src, false, &g)
                          : graph_from_coo(&s, &d, w->num_src, num_dst, false, &g);
    assert_int_equal(st, ST_OK);
    free(src), free(dst), free(row_ptr);
    return g;
}

/* ---- arrays ---- */

typedef enum { FILL_noise, FILL_integers, FILL_nasty } Fill;

static inline double fill_value(Fill fill, uint64_t h) {
    static const double nasty[] = {0, -0.0, 1, 1, -1, 2, INFINITY, -INFINITY, NAN, 3, -2, 0.5};
    if (fill == FILL_nasty) return nasty[h % (sizeof nasty / sizeof *nasty)];
    return fill == FILL_integers ? (double)(h % 7) - 3 : (double)(h % 2001) / 1000 - 1;
}

static inline int64_t fill_integer(Fill fill, Dtype d, uint64_t h) {
    int64_t least = d == DT_i32 ? INT32_MIN : INT64_MIN, most = d == DT_i32 ? INT32_MAX : INT64_MAX;
    const int64_t nasty[] = {0, 0, 1, -1, 2, least, most, -7, 5, least + 1};
    if (d == DT_bool) return h % 2;
    return fill == FILL_nasty ? nasty[h % 10] : (int64_t)(h % 7) - 3;
}

static inline void element_set(char *p, Dtype d, Fill fill, uint64_t h) {
    float x = (float)fill_value(fill, h);
    double y = fill_value(fill, h);
    int64_t l = d < DT_f32 ? fill_integer(fill, d, h) : 0;
    int32_t i = (int32_t)l;
    switch (d) {
    case DT_f16:
    case DT_bf16: element_set_float(d, p, y); break;
    case DT_bool: *p = (char)l; break;
    case DT_i32: memcpy(p, &i, 4); break;
    case DT_i64: memcpy(p, &l, 8); break;
    case DT_f32: memcpy(p, &x, 4); break;
    case DT_f64: memcpy(p, &y, 8); break;
    case NUM_DTYPES: break;
    }
}

static inline double element_get(const char *p, Dtype d) {
    float x;
    double y;
    int32_t i;
    int64_t l;
    switch (d) {
    case DT_f16:
    case DT_bf16: return element_get_float(d, p);
    case DT_bool: return *p;
    case DT_i32: memcpy(&i, p, 4); return i;
    case DT_i64: memcpy(&l, p, 8); return (double)l;
    case DT_f32: memcpy(&x, p, 4); return x;
    case DT_f64: memcpy(&y, p, 8); return y;
    case NUM_DTYPES: break;
    }
    return 0;
}

typedef struct {
    Array array;
    Guarded memory;
    int64_t count;
} Held;

/* Strides of another order of axes, with a gap, backwards along the last axis: legal, and odd. The
 * first element's place in the bytes. */
static inline int64_t odd_strides(Array *a, int64_t *bytes) {
    int64_t size = dtype_size((Dtype)a->dtype) + (a->dtype == DT_bool ? 0 : 1), step = size;
    for (int k = 0; k < a->rank; k++) {
        a->stride[k] = step;
        step *= a->dim[k];
    }
    *bytes = step;
    int last = a->rank - 1;
    if (last < 0 || a->dim[last] < 2) return 0;
    a->stride[last] = -a->stride[last];
    return (1 - a->dim[last]) * a->stride[last];
}

static inline Held held_new(const Type *t, const int64_t *set_size, bool odd) {
    Held h = {.array = {.dtype = t->dtype}, .count = 1};
    Array *a = &h.array;
    if (t->set != SET_ALL) a->dim[a->rank++] = set_size[t->set];
    for (int k = 0; k < t->rank; k++)
        a->dim[a->rank++] = dim_is_set(t->dim[k]) ? set_size[dim_set(t->dim[k])] : t->dim[k];
    for (int k = a->rank; k-- > 0;) {
        a->stride[k] = h.count * dtype_size((Dtype)t->dtype);
        h.count *= a->dim[k];
    }
    int64_t bytes = h.count * dtype_size((Dtype)t->dtype);
    int64_t first = odd ? odd_strides(a, &bytes) : 0;
    h.memory = guarded_new(bytes);
    a->data = h.memory.data + first;
    return h;
}

/* Element i, row major. */
static inline char *held_at(const Held *h, int64_t i) {
    char *p = h->array.data;
    for (int k = h->array.rank; k-- > 0;) {
        p += i % h->array.dim[k] * h->array.stride[k];
        i /= h->array.dim[k];
    }
    return p;
}

static inline void held_fill(const Held *h, const char *name, Fill fill) {
    for (int64_t i = 0; i < h->count; i++)
        element_set(held_at(h, i), (Dtype)h->array.dtype, fill,
                    hash_u64((uint64_t)i, hash_str(name, 7)));
}

/* ---- one comparison ---- */

typedef struct {
    Fill fill;
    bool odd;         /* strides */
    bool homogeneous; /* sets: all, V, edges; else all, U, V, edges */
    double tolerance; /* relative to the largest; 0: the same bits, up to NaN's */
} Check;

static inline void compare(const char *what, const World *w, const Check *c, const char *name,
                           const Held *want, const Held *got) {
    Dtype d = (Dtype)want->array.dtype;
    double scale = 1;
    for (int64_t i = 0; i < want->count; i++) {
        double x = element_get(held_at(want, i), d);
        if (isfinite(x) && fabs(x) > scale) scale = fabs(x);
    }
    for (int64_t i = 0; i < want->count; i++) {
        const char *p = held_at(want, i), *q = held_at(got, i);
        double x = element_get(p, d), y = element_get(q, d);
        if (!memcmp(p, q, (size_t)dtype_size(d)) || (x != x && y != y)) continue;
        if (c->tolerance > 0 && (x == y || fabs(x - y) <= c->tolerance * scale)) continue;
        fail_msg("%s, world '%s', fill %d%s: '%s' differs at %lld of %lld: %.17g, not %.17g", what,
                 w->name, c->fill, c->odd ? ", odd strides" : "", name, (long long)i,
                 (long long)want->count, y, x);
    }
}

/* Every kernel on every schedule that it can have: the bits of the first run, in `want`. */
static inline void check_schedules(const char *what, const World *w, Check c, const Plan *p,
                                   const Domain *domain, const Array *in, const Array *out,
                                   const Held *want, const Held *got) {
    c.tolerance = 0;
    for (int s = 0; s < NUM_SCHEDULES; s++) {
        bool changed = false;
        for (uint32_t k = 0; k < p->kernels.len; k++) {
            Kernel *kernel = &p->kernels.data[k];
            if (kernel->schedule == (Schedule)s || !plan_can(kernel, (Schedule)s)) continue;
            kernel->schedule = (Schedule)s;
            changed = true;
        }
        if (!changed) continue;
        Exec *e = exec_new(p, false);
        if (exec_run(e, domain, in, out)) fail_msg("%s: %s", what, err_message());
        for (uint32_t k = 0; k < p->program->results.len; k++)
            compare(what, w, &c, p->program->results.data[k].name, &want[k], &got[k]);
        exec_free(e);
    }
}

static inline void check_program(const char *what, const Fn *f, const World *w, Check c) {
    enum { MOST = 64 };
    Fn *g = opt_prepare(arena_new(), f);
    if (plan_check(g)) fail_msg("%s: %s", what, err_message());
    Plan *p = plan_run(arena_new(), g);
    int64_t size[16] = {1, w->num_src, c.homogeneous ? w->num_edges : w->num_dst, w->num_edges};
    Graph *graph = world_graph(w, c.homogeneous), *graphs[] = {graph};
    Domain domain = {size, graphs};
    Held in[MOST], want[MOST], got[MOST];
    Array in_arrays[MOST], want_arrays[MOST], got_arrays[MOST];
    uint32_t num_in = g->inputs.len, num_out = g->results.len;
    for (uint32_t k = 0; k < num_in; k++) {
        in[k] = held_new(ir_type(g, g->inputs.data[k].val), size, c.odd);
        held_fill(&in[k], g->inputs.data[k].name, c.fill);
        in_arrays[k] = in[k].array;
    }
    for (uint32_t k = 0; k < num_out; k++) {
        want[k] = held_new(ir_type(g, g->results.data[k].val), size, false);
        got[k] = held_new(ir_type(g, g->results.data[k].val), size, false);
        memset(got[k].memory.data, 0x55,
               (size_t)(got[k].count * dtype_size((Dtype)got[k].array.dtype)));
        want_arrays[k] = want[k].array;
        got_arrays[k] = got[k].array;
    }
    Exec *e = exec_new(p, false);
    assert_int_equal(interp_run(g, &domain, in_arrays, want_arrays), ST_OK);
    if (exec_run(e, &domain, in_arrays, got_arrays))
        fail_msg("%s, world '%s': %s", what, w->name, err_message());
    for (uint32_t k = 0; k < num_out; k++)
        compare(what, w, &c, g->results.data[k].name, &want[k], &got[k]);
    exec_free(e);
    for (uint32_t k = 0; k < num_out; k++)
        memcpy(want[k].array.data, got[k].array.data,
               (size_t)(got[k].count * dtype_size((Dtype)got[k].array.dtype)));
    check_schedules(what, w, c, p, &domain, in_arrays, got_arrays, want, got);
    graph_unref(graph);
    for (uint32_t k = 0; k < num_in; k++) guarded_free(&in[k].memory);
    for (uint32_t k = 0; k < num_out; k++)
        guarded_free(&want[k].memory), guarded_free(&got[k].memory);
    arena_free(p->arena);
    ir_free(g);
}

/* In every small world, with every fill, dense and with odd strides. */
static inline void check_everywhere(const char *what, const Fn *f, Check c) {
    for (size_t k = 0; k < NUM_WORLDS; k++)
        for (int fill = FILL_noise; fill <= FILL_nasty; fill++)
            for (int odd = 0; odd < 2; odd++) {
                c.fill = (Fill)fill;
                c.odd = odd;
                check_program(what, f, &small_worlds[k], c);
            }
}

#endif
