/* What every plan must hold: places in order, no edge-sized buffer, the program's bits. */
#ifndef TESTS_PLAN_CHECK_H
#define TESTS_PLAN_CHECK_H

#include "text/text.h"
#include "ir/verify.h"
#include "plan_exec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* When v is known, in half phases: 2 p before phase p, 2 p + 1 within it. */
static inline int known_at(const Kernel *k, Val v) {
    Place p = k->place[v];
    Op op = ir_op(k->body, v);
    bool anchor = op_is_reduction(op) && op != OP_row_scan;
    if (anchor && ir_type(k->body, v)->set == SET_ALL) return INT16_MAX;
    switch ((Level)p.level) {
    case LEVEL_once: return -1;
    case LEVEL_last: return INT16_MAX;
    case LEVEL_edge: return anchor ? 2 * p.phase + 2 : 2 * p.phase + 1;
    case LEVEL_row: return 2 * p.phase;
    }
    return 0;
}

/* Nothing is used before it is known; levels follow from sets; other ends are read from buffers. */
static inline void check_value(const Kernel *k, Val v) {
    const Fn *f = k->body;
    const Node *n = ir_node(f, v);
    Place p = k->place[v];
    Set set = op_is_reduction((Op)n->op) ? map_from(f, n->attr.map) : n->types[0].set;
    Set edges = k->map == MAP_NONE ? SET_ALL : map_from(f, k->map);
    if (n->op == OP_gather && !map_is_all(n->attr.map) && n->attr.map != k->map) {
        assert_int_equal(ir_op(f, n->args[0]), OP_input);
        return;
    }
    if (n->op == OP_degree) assert_int_equal(n->attr.map, k->map);
    if (n->op == OP_input) return;
    if (set == SET_ALL)
        assert_true(p.level == LEVEL_once || p.level == LEVEL_last ||
                    (p.level == LEVEL_row && k->map != MAP_NONE && map_is_all(k->map)));
    else assert_int_equal(p.level, set == edges ? LEVEL_edge : LEVEL_row);
    if (set != SET_ALL && set != edges) assert_int_equal(set, k->rows);
    int use = p.level == LEVEL_last   ? INT16_MAX
              : p.level == LEVEL_once ? -1
                                      : 2 * p.phase + (p.level == LEVEL_edge);
    for (uint32_t i = 0; i < n->num_args; i++) assert_true(known_at(k, n->args[i]) <= use);
    if (p.level == LEVEL_edge || p.level == LEVEL_row) assert_true(p.phase <= k->num_phases);
}

static inline void check_places(const Plan *p) {
    for (uint32_t k = 0; k < p->kernels.len; k++)
        for (Val v = 1; v < ir_count(p->kernels.data[k].body); v++)
            check_value(&p->kernels.data[k], v);
}

static inline void no_edge_buffers(const Plan *p) {
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

static inline void same_results(const char *what, const Fn *f, Store *want, Store *got,
                                bool loosely) {
    for (uint32_t k = 0; k < f->results.len; k++) {
        const char *name = f->results.data[k].name;
        const Named *a = store_find(want, name), *b = store_find(got, name);
        if (!b) fail_msg("%s: no result '%s'", what, name);
        if (!same_values(a, b, loosely)) fail_msg("%s: '%s' differs", what, name);
    }
}

static inline void check_verified(const char *what, Arena *a, const Fn *f) {
    Text report = {.arena = a};
    if (ir_verify(f, &report)) fail_msg("%s, %s: %s", what, f->name, report.text);
}

/* Every stage verifies, prints, parses and prints the same. */
static inline void check_stages(const char *what, const Plan *p) {
    static const char *const stages[] = {"iter", "kernel", "task"};
    Arena *a = arena_new();
    for (int k = 0; k < 3; k++) {
        Module m = {0};
        const Fn *f = plan_stage(a, p, stages[k]);
        check_verified(what, a, f);
        const char *text = text_print(a, f);
        if (text_parse(a, text, strlen(text), &m))
            fail_msg("%s, %s: %s\n%s", what, stages[k], err_message(), text);
        const char *again = text_print_module(a, &m);
        if (strcmp(text, again))
            fail_msg("%s, %s: prints differently\n%s%s", what, stages[k], text, again);
    }
    for (uint32_t k = 0; k < p->kernels.len; k++) check_verified(what, a, p->kernels.data[k].body);
    arena_free(a);
}

/* Runs a prepared program whole, kernel by kernel, and as its "kernel" stage. */
static inline void check_planned(const char *what, const Fn *g, const Store *start) {
    if (plan_check(g)) fail_msg("%s: %s", what, err_message());
    Plan *p = plan_run(arena_new(), g);
    Store whole = *start, kernels = *start, staged = *start;
    whole.all.cap = kernels.all.cap = staged.all.cap = start->all.len; /* the next push copies */
    assert_int_equal(run_named(&whole, g), ST_OK);
    assert_int_equal(run_plan(&kernels, p), ST_OK);
    assert_int_equal(run_named(&staged, plan_stage(start->arena, p, "kernel")), ST_OK);
    same_results(what, g, &whole, &kernels, false);
    same_results(what, g, &whole, &staged, false);
    check_places(p);
    check_stages(what, p);
    no_edge_buffers(p);
    assert_int_equal(plan_cost(p, start->domain.set_size).edge_buffer_bytes, 0);
    arena_free(p->arena);
}

#endif
