/* Joins by name (plan.h): a body's input is an input of the program, a fact of the domain, or what an
 * earlier kernel stored under that name. */
#include "run/wire.h"

#include "ir/type.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    Arena *arena;
    const Plan *plan;
    VEC(Wire) wires;
} Wirer;

static bool find_binding(const Fn *f, bool inputs, const char *name, uint32_t *index) {
    const Binding *list = inputs ? f->inputs.data : f->results.data;
    uint32_t len = inputs ? f->inputs.len : f->results.len;
    for (uint32_t k = 0; k < len; k++) {
        if (strcmp(list[k].name, name) != 0) continue;
        *index = k;
        return true;
    }
    return false;
}

static bool is_degree(const Fn *f, const char *name, Map *map) {
    for (uint32_t r = 0; r < f->relations.len; r++) {
        for (int end = 0; end < 2; end++) {
            char text[512];
            snprintf(text, sizeof text, "degree.%s.%s", f->relations.data[r].name,
                     end ? "dst" : "src");
            if (strcmp(text, name) != 0) continue;
            *map = end ? map_dst((int)r) : map_src((int)r);
            return true;
        }
    }
    return false;
}

static bool is_size(const Fn *f, const char *name, Set *set) {
    if (strncmp(name, "size.", 5) != 0) return false;
    for (uint32_t s = 0; s < f->sets.len; s++) {
        if (strcmp(f->sets.data[s].name, name + 5) != 0) continue;
        *set = (Set)s;
        return true;
    }
    return false;
}

/* What was stored under a name; what was given under a name and type: one input may be met as a dense
 * value and as its rows on a set: two wires of one memory. */
static bool find_stored(const Wirer *w, const char *name, uint32_t *at) {
    for (uint32_t k = 0; k < w->wires.len; k++) {
        const Wire *wire = &w->wires.data[k];
        bool stored = wire->kind == WIRE_output || wire->kind == WIRE_temp;
        if (!stored || strcmp(wire->name, name) != 0) continue;
        *at = k;
        return true;
    }
    return false;
}

static bool find_given(const Wirer *w, const char *name, const Type *type, uint32_t *at) {
    for (uint32_t k = 0; k < w->wires.len; k++) {
        const Wire *wire = &w->wires.data[k];
        bool stored = wire->kind == WIRE_output || wire->kind == WIRE_temp;
        if (stored || strcmp(wire->name, name) != 0 || !type_equal(&wire->type, type)) continue;
        *at = k;
        return true;
    }
    return false;
}

static uint32_t add_wire(Wirer *w, Wire wire) {
    *vec_push(w->arena, &w->wires) = wire;
    return w->wires.len - 1;
}

static uint32_t input_wire(Wirer *w, const char *name, const Type *type) {
    const Fn *program = w->plan->program;
    Wire wire = {.name = name, .type = *type};
    uint32_t at;
    if (find_given(w, name, type, &at)) return at;
    if (find_binding(program, true, name, &wire.index)) wire.kind = WIRE_input;
    else if (is_degree(program, name, &wire.map)) wire.kind = WIRE_degree;
    else if (is_size(program, name, &wire.set)) wire.kind = WIRE_size;
    else if (find_stored(w, name, &at)) return at;
    else guard_fail(ST_BUG, "no kernel stores '%s' before it is read", name);
    return add_wire(w, wire);
}

static uint32_t stored_wire(Wirer *w, const char *name, const Type *type) {
    Wire wire = {.name = name, .type = *type, .kind = WIRE_temp};
    uint32_t at;
    TIGA_ASSERT(!find_stored(w, name, &at)); /* stored once */
    if (find_binding(w->plan->program, false, name, &wire.index)) wire.kind = WIRE_output;
    return add_wire(w, wire);
}

/* A spread table that rows are taken from, and one that a row is put into, are no work. */
static bool is_table(const Fn *f, Val v) {
    if (ir_op(f, v) == OP_put) return true;
    for (Val u = v + 1; ir_op(f, v) == OP_gather && u < ir_count(f); u++)
        if (ir_op(f, u) == OP_take && ir_arg(f, u, 0) == v) return true;
    return false;
}

static int64_t widest(const Kernel *k) {
    int64_t width = 1;
    for (Val v = 1; v < ir_count(k->body); v++) {
        const Type *t = ir_type(k->body, v);
        bool once = t->set == SET_ALL && !plan_is_dense(k);
        int64_t n = once || is_table(k->body, v) ? 1 : type_numel(t);
        if (n > width) width = n;
    }
    return width;
}

static void find_gathered(Arena *a, KernelWires *kw) {
    const Kernel *k = kw->kernel;
    VEC(Gathered) list = {0};
    if (k->map == MAP_NONE) return;
    for (Val v = 1; v < ir_count(k->body); v++) {
        const Node *n = ir_node(k->body, v);
        if (n->op != OP_gather || n->attr.map != map_other(k->map)) continue;
        *vec_push(a, &list) = (Gathered){.set = map_to(k->body, n->attr.map),
                                         .row_bytes = type_numel(&n->types[0]) *
                                                      dtype_size((Dtype)n->types[0].dtype)};
    }
    kw->gathered = list.data;
    kw->num_gathered = list.len;
}

static void find_staged(Arena *a, KernelWires *kw) {
    const Fn *f = kw->kernel->body;
    VEC(uint32_t) list = {0};
    for (uint32_t k = 0; k < f->results.len; k++) {
        Val v = f->results.data[k].val;
        if (plan_is_staged(kw->kernel, v) && type_numel(ir_type(f, v)))
            *vec_push(a, &list) = f->inputs.len + k;
    }
    kw->staged = list.data;
    kw->num_staged = list.len;
}

static KernelWires wire_kernel(Wirer *w, const Kernel *k, uint32_t first_flag) {
    const Fn *f = k->body;
    uint32_t num_buffers = f->inputs.len + f->results.len;
    uint32_t *wire = ARENA_ARRAY(w->arena, uint32_t, num_buffers + 1);
    KernelWires kw = {.kernel = k,
                      .num_inputs = f->inputs.len,
                      .num_buffers = num_buffers,
                      .wire = wire,
                      .width = widest(k),
                      .first_flag = first_flag};
    for (uint32_t i = 0; i < num_buffers; i++) {
        bool input = i < f->inputs.len;
        Binding b = input ? f->inputs.data[i] : f->results.data[i - f->inputs.len];
        const Type *t = ir_type(f, b.val);
        wire[i] = input ? input_wire(w, b.name, t) : stored_wire(w, b.name, t);
        TIGA_ASSERT(type_equal(t, &w->wires.data[wire[i]].type));
        kw.uses_edges |= k->map != MAP_NONE && t->set == map_from(f, k->map);
    }
    for (Val v = 1; v < ir_count(f); v++)
        kw.uses_edges |= ir_op(f, v) == OP_iota && k->map != MAP_NONE &&
                         ir_type(f, v)->set == map_from(f, k->map);
    find_gathered(w->arena, &kw);
    find_staged(w->arena, &kw);
    return kw;
}

static void check_results(const Wirer *w) {
    const Fn *program = w->plan->program;
    uint32_t at;
    for (uint32_t k = 0; k < program->results.len; k++)
        if (!find_stored(w, program->results.data[k].name, &at))
            guard_fail(ST_BUG, "no kernel stores the result '%s'", program->results.data[k].name);
}

Wiring wire_plan(Arena *a, const Plan *plan) {
    Wirer w = {.arena = a, .plan = plan};
    KernelWires *kernels = ARENA_ARRAY(a, KernelWires, plan->kernels.len + 1);
    uint32_t num_flags = 0;
    for (uint32_t k = 0; k < plan->kernels.len; k++) {
        kernels[k] = wire_kernel(&w, &plan->kernels.data[k], num_flags);
        num_flags += kernels[k].num_buffers;
    }
    check_results(&w);
    return (Wiring){.wires = w.wires.data,
                    .num_wires = w.wires.len,
                    .kernels = kernels,
                    .num_kernels = plan->kernels.len,
                    .num_flags = num_flags};
}
