/* What both fuzzers do with a function, and the memory of one input.
 *
 * A finding is an abort: a sanitizer's, a broken invariant of Tiga's own (ST_BUG), a violation after a
 * pass, text that does not come back the same, a plan with other bits than its program, a leak. */
#ifndef TESTS_FUZZ_COMMON_H
#define TESTS_FUZZ_COMMON_H

#include "text/text.h"
#include "ir/verify.h"
#include "opt/opt.h"
#include "plan_exec.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(cond, ...)                                                                      \
    do {                                                                                           \
        if (cond) break;                                                                           \
        fprintf(stderr, "fuzz: " __VA_ARGS__);                                                     \
        fprintf(stderr, "\n");                                                                     \
        abort();                                                                                   \
    } while (0)

/* The arenas of one input: freed together, or by the guard where something unwound. */
typedef struct {
    Arena *all[64];
    int len;
} Arenas;

static inline Arena *fuzz_arena(Arenas *s) {
    FUZZ_CHECK(s->len < 64, "more arenas than one input needs");
    return s->all[s->len++] = arena_new();
}

/* A body that succeeds frees what it made; nothing may be left either way. */
static inline void fuzz_run(Status (*body)(void *ctx), void *ctx) {
    int64_t before = mem_live();
    Status st = guard_run(body, ctx);
    FUZZ_CHECK(st != ST_BUG, "%s", err_message());
    FUZZ_CHECK(mem_live() == before, "%lld blocks leak", (long long)(mem_live() - before));
}

static inline void fuzz_verify(const char *after, const Fn *f) {
    Text report = {.arena = arena_new()};
    uint32_t faults = ir_verify(f, &report);
    FUZZ_CHECK(!faults, "after %s: %s", after, report.text);
    arena_free(report.arena);
}

/* Printed, parsed and printed again: the same text. */
static inline void fuzz_text(const char *what, const char *text) {
    Arena *a = arena_new();
    Module m = {0};
    Status st = text_parse(a, text, strlen(text), &m);
    FUZZ_CHECK(!st, "%s does not parse back: %s\n%s", what, err_message(), text);
    const char *again = text_print_module(a, &m);
    FUZZ_CHECK(!strcmp(text, again), "%s prints differently\n%s----\n%s", what, text, again);
    arena_free(a);
}

/* ---- running ---- */

enum { NODES = 3, EDGES = 5, MAX_VALUES = 2000, MAX_ELEMENTS = 1 << 16, MAX_ENDS = 64 };

static inline Graph *fuzz_graph(void) {
    static Graph *g; /* made once, kept: 0->0, 2->0, 1->1, 0->2, 1->2 */
    static const int32_t src[] = {0, 1, 2, 0, 1}, dst[] = {2, 1, 0, 0, 2};
    const IndexArray s = {src, EDGES, 4, false}, d = {dst, EDGES, 4, false};
    const Csr *by_src;
    if (g) return g;
    FUZZ_CHECK(!graph_from_coo(&s, &d, NODES, NODES, false, &g) && !graph_csr(g, false, &by_src),
               "%s", err_message());
    return g;
}

/* Every set has NODES elements, every edge set EDGES; false where some relation wants it otherwise. */
static inline bool fuzz_domain(Arena *a, const Fn *f, Domain *out) {
    int64_t *size = ARENA_ARRAY(a, int64_t, f->sets.len);
    Graph **graphs = ARENA_ARRAY(a, Graph *, f->relations.len);
    for (uint32_t s = 0; s < f->sets.len; s++) size[s] = s == SET_ALL ? 1 : NODES;
    for (uint32_t r = 0; r < f->relations.len; r++) {
        size[f->relations.data[r].edges] = EDGES;
        graphs[r] = fuzz_graph();
    }
    for (uint32_t r = 0; r < f->relations.len; r++)
        if (size[f->relations.data[r].src] != NODES || size[f->relations.data[r].dst] != NODES)
            return false;
    *out = (Domain){size, graphs};
    return true;
}

static inline int64_t elements(const Type *t) {
    int64_t n = t->set == SET_ALL ? 1 : EDGES;
    for (int k = 0; k < t->rank; k++)
        if (__builtin_mul_overflow(n, dim_is_set(t->dim[k]) ? EDGES : t->dim[k], &n))
            return INT64_MAX;
    return n;
}

static inline bool is_small(const Fn *f) {
    int64_t sum = 0;
    if (ir_count(f) > MAX_VALUES || f->inputs.len > MAX_ENDS || f->results.len > MAX_ENDS)
        return false;
    for (Val v = 1; v < ir_count(f); v++)
        for (uint32_t k = 0; k < ir_node(f, v)->num_results; k++)
            if (__builtin_add_overflow(sum, elements(&ir_node(f, v)->types[k]), &sum) ||
                sum > MAX_ELEMENTS)
                return false;
    return true;
}

/* The plan gives the program's bits, and finds an index out of range where the program does. */
static inline void compare_runs(const Fn *f, const Plan *p) {
    Store start = {.arena = arena_new(), .fill = FILL_nasty};
    for (uint32_t k = 0; k < p->kernels.len; k++)
        if (!is_small(p->kernels.data[k].body)) return arena_free(start.arena);
    if (!is_small(f) || !fuzz_domain(start.arena, f, &start.domain)) return arena_free(start.arena);
    fill_inputs(&start, f);
    Store whole = start, kernels = start;
    whole.all.cap = kernels.all.cap = start.all.len; /* the next push copies */
    Status st = run_named(&whole, f);
    FUZZ_CHECK(!st || st == ST_RANGE, "the program: %s", err_message());
    FUZZ_CHECK(run_plan(&kernels, p) == st, "the plan: %s", err_message());
    for (uint32_t k = 0; k < f->results.len && !st; k++) {
        const char *name = f->results.data[k].name;
        const Named *b = store_find(&kernels, name);
        FUZZ_CHECK(b && same_bits(store_find(&whole, name), b), "'%s' differs in the plan\n%s",
                   name, text_print(start.arena, f));
    }
    arena_free(start.arena);
}

/* A verified function through text, passes, planner and interpreter. */
static inline void fuzz_function(const Fn *f) {
    static const char *const stages[] = {"iter", "kernel", "task"};
    Arena *a = arena_new();
    fuzz_text("the program", text_print(a, f));
    const Fn *prepared = opt_prepare(a, f);
    fuzz_verify("opt_prepare", prepared);
    if (ir_count(prepared) < MAX_VALUES && !plan_check(prepared)) {
        Plan *p = plan_run(arena_new(), prepared);
        for (int k = 0; k < 3; k++) {
            const Fn *stage = plan_stage(a, p, stages[k]);
            fuzz_verify(stages[k], stage);
            fuzz_text(stages[k], text_print(a, stage));
        }
        for (uint32_t k = 0; k < p->kernels.len; k++)
            fuzz_verify("plan_run", p->kernels.data[k].body);
        compare_runs(prepared, p);
        arena_free(p->arena);
    }
    arena_free(a);
}

#endif
