/* A plan as a function again: one traverse or launch a kernel, views and facts spelled out. */
#include "plan/internal.h"

#include <string.h>

typedef struct {
    Fn *out;
    const Plan *plan;
    const char *stage;
    VEC(Binding) stored; /* what kernels gave so far */
} Stage;

/* What a body's input is, in the order of plan.h. */
static Val operand(Stage *s, const Fn *body, const Binding *in) {
    const Fn *f = s->plan->program;
    Val v = ir_find_input(f, in->name);
    Set set = ir_type(body, in->val)->set;
    if (v) {
        Val x = ir_input(s->out, in->name, *ir_type(f, v));
        return ir_type(f, v)->set == set ? x : ir_enter(s->out, x, set);
    }
    Map m = fact_map(s->out->arena, f, in->name);
    if (m != MAP_NONE) return ir_degree(s->out, m);
    for (uint32_t k = 0; k < s->stored.len; k++)
        if (!strcmp(s->stored.data[k].name, in->name)) return s->stored.data[k].val;
    TIGA_UNREACHABLE("a kernel reads what none stored");
}

static void add_kernel(Stage *s, const Kernel *k) {
    Arena *a = s->out->arena;
    const Fn *body = k->body;
    Val *args = ARENA_ARRAY(a, Val, body->inputs.len);
    for (uint32_t i = 0; i < body->inputs.len; i++)
        args[i] = operand(s, body, &body->inputs.data[i]);
    VEC(int64_t) phases = {0};
    for (Val v = 1; v < ir_count(body); v++)
        if (op_is_reduction(ir_op(body, v))) *vec_push(a, &phases) = k->place[v].phase;
    Attr attr = {.map = k->map, .body = body};
    bool launch = !strcmp(s->stage, "task");
    if (launch) attr.name = k->name;
    else attr.ints = phases.data, attr.num_ints = phases.len;
    if (!strcmp(s->stage, "kernel")) attr.name = plan_schedule(k);
    Val v = ir_emit(s->out, launch ? OP_launch : OP_traverse, args, body->inputs.len, &attr);
    for (uint32_t i = 0; i < body->results.len; i++)
        *vec_push(a, &s->stored) = (Binding){body->results.data[i].name, ir_part(s->out, v, i)};
}

static void add_results(Stage *s) {
    const Fn *f = s->plan->program;
    for (uint32_t k = 0; k < f->results.len; k++) {
        const Binding *b = &f->results.data[k];
        for (uint32_t i = 0; i < s->stored.len; i++) {
            Val v = s->stored.data[i].val;
            if (strcmp(s->stored.data[i].name, b->name)) continue;
            bool leaves = ir_type(s->out, v)->set != ir_type(f, b->val)->set;
            ir_add_result(s->out, b->name, leaves ? ir_leave(s->out, v) : v);
            break;
        }
    }
}

Fn *plan_stage(Arena *takes, const Plan *p, const char *stage) {
    Stage s = {.out = ir_new_like(takes, p->program, p->program->name), .plan = p, .stage = stage};
    for (uint32_t k = 0; k < p->program->inputs.len; k++) {
        const Binding *b = &p->program->inputs.data[k];
        ir_input(s.out, b->name, *ir_type(p->program, b->val));
    }
    for (uint32_t k = 0; k < p->kernels.len; k++) add_kernel(&s, &p->kernels.data[k]);
    add_results(&s);
    TIGA_ASSERT(s.out->status == ST_OK);
    return s.out;
}
