/* Programs and plans run by the interpreter on named buffers. */
#ifndef TESTS_PLAN_EXEC_H
#define TESTS_PLAN_EXEC_H

#include "base/hash.h"
#include "interp/interp.h"
#include "ir/type.h"
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name;
    Array array;
    int64_t bytes;
} Named;

typedef struct {
    Arena *arena;
    Domain domain;
    enum {
        FILL_plain,
        FILL_nasty,
        FILL_whole
    } fill; /* nasty: NaN, infinities, ties; whole numbers */
    VEC(Named) all;
} Store;

static inline Named *store_find(Store *s, const char *name) {
    for (uint32_t k = 0; k < s->all.len; k++)
        if (!strcmp(s->all.data[k].name, name)) return &s->all.data[k];
    return NULL;
}

static inline Named *store_new(Store *s, const char *name, const Type *t) {
    Named n = {.name = name, .array = {.dtype = t->dtype}};
    int lead = t->set != SET_ALL;
    if (lead) n.array.dim[0] = s->domain.set_size[t->set];
    for (int k = 0; k < t->rank; k++)
        n.array.dim[k + lead] =
            dim_is_set(t->dim[k]) ? s->domain.set_size[dim_set(t->dim[k])] : t->dim[k];
    n.array.rank = (uint8_t)(t->rank + lead);
    n.bytes = dtype_size((Dtype)t->dtype);
    for (int k = n.array.rank; k-- > 0;) {
        n.array.stride[k] = n.bytes;
        n.bytes *= n.array.dim[k];
    }
    n.array.data = arena_alloc(s->arena, (size_t)n.bytes + 1);
    *vec_push(s->arena, &s->all) = n;
    return &s->all.data[s->all.len - 1];
}

static inline double nasty_value(uint64_t h) {
    static const double values[] = {0,    -0.0,  1,         1,          -1,       2,
                                    1e30, -1e30, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0};
    return values[h % (sizeof values / sizeof *values)];
}

/* Values by name and place alone, so every run sees the same. */
static inline void fill(const Store *s, const Named *n) {
    int size = dtype_size((Dtype)n->array.dtype);
    for (int64_t i = 0; i * size < n->bytes; i++) {
        uint64_t h = hash_u64((uint64_t)i, hash_str(n->name, 1));
        double x = s->fill == FILL_nasty   ? nasty_value(h)
                   : s->fill == FILL_whole ? (double)(h % 5) - 2
                                           : (double)(h % 2001) / 1000 - 1;
        char *p = (char *)n->array.data + i * size;
        if (n->array.dtype == DT_f32) *(float *)p = (float)x;
        else if (n->array.dtype == DT_f64) *(double *)p = x;
        else *p = (char)(h % 2);
    }
}

static inline Status run_named(Store *s, const Fn *f) {
    Array in[64], out[64];
    uint32_t first = s->all.len;
    for (uint32_t k = 0; k < f->inputs.len; k++)
        in[k] = store_find(s, f->inputs.data[k].name)->array;
    for (uint32_t k = 0; k < f->results.len; k++)
        store_new(s, f->results.data[k].name, ir_type(f, f->results.data[k].val));
    for (uint32_t k = 0; k < f->results.len; k++) out[k] = s->all.data[first + k].array;
    return interp_run(f, &s->domain, in, out);
}

static inline void fill_inputs(Store *s, const Fn *f) {
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        const Binding *b = &f->inputs.data[k];
        if (!store_find(s, b->name)) fill(s, store_new(s, b->name, ir_type(f, b->val)));
    }
}

/* degree.* and size.* of every map, under their names. */
static inline Status add_facts(Store *s, const Fn *f) {
    Fn *g = ir_new_like(arena_new(), f, "facts");
    for (uint32_t r = 0; r < f->relations.len; r++) {
        const char *name = f->relations.data[r].name;
        ir_add_result(g, arena_printf(s->arena, "degree.%s.src", name),
                      ir_degree(g, map_src((int)r)));
        ir_add_result(g, arena_printf(s->arena, "degree.%s.dst", name),
                      ir_degree(g, map_dst((int)r)));
    }
    for (uint32_t k = 0; k < f->sets.len; k++)
        ir_add_result(g, arena_printf(s->arena, "size.%s", f->sets.data[k].name),
                      ir_degree(g, map_all((Set)k)));
    Status st = run_named(s, g);
    for (uint32_t k = 0; k < s->all.len; k++)
        s->all.data[k].name = arena_str(s->arena, s->all.data[k].name);
    ir_free(g);
    return st;
}

static inline Status run_plan(Store *s, const Plan *p) {
    Status st = add_facts(s, p->program);
    for (uint32_t k = 0; k < p->kernels.len && !st; k++) st = run_named(s, p->kernels.data[k].body);
    return st;
}

/* Bits; of NaN that it is one. Loosely: both zeros are the same. */
static inline bool same_values(const Named *a, const Named *b, bool loosely) {
    if (a->bytes != b->bytes) return false;
    for (int64_t i = 0; i < a->bytes; i += dtype_size((Dtype)a->array.dtype)) {
        const char *p = (const char *)a->array.data + i, *q = (const char *)b->array.data + i;
        float x = 0, y = 0;
        double u = 0, v = 0;
        if (a->array.dtype == DT_f32) memcpy(&x, p, 4), memcpy(&y, q, 4);
        if (a->array.dtype == DT_f64) memcpy(&u, p, 8), memcpy(&v, q, 8);
        if (loosely && dtype_is_float((Dtype)a->array.dtype) && x == y && u == v) continue;
        bool both_nan = (x != x && y != y) || (u != u && v != v);
        if (!both_nan && memcmp(p, q, (size_t)dtype_size((Dtype)a->array.dtype))) return false;
    }
    return true;
}

static inline bool same_bits(const Named *a, const Named *b) { return same_values(a, b, false); }

#endif
