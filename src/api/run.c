/* Running: bind, then execute; in one call or in two. */
#include "api/array.h"
#include "api/graph.h"
#include "api/ladder.h"

#include "interp/interp.h"

struct tg_call {
    Arena *arena;
    Bound bound;
    size_t num_args;
};

static Domain domain_of(const Bound *b, Graph **graphs) {
    graphs[0] = graph_of(b->graph);
    return (Domain){b->set_size, graphs};
}

static Status execute(const Bound *b) {
    Graph *graphs[1];
    Domain d = domain_of(b, graphs);
    return exec_run(b->program->exec, &d, b->inputs, b->outputs);
}

static Status interpret(const Bound *b) {
    Graph *graphs[1];
    Domain d = domain_of(b, graphs);
    return interp_run(b->program->prepared, &d, b->inputs, b->outputs);
}

typedef struct {
    const tg_program *p;
    const tg_graph *g;
    const tg_arg *args;
    size_t num_args;
    Status (*run)(const Bound *b); /* NULL: bind only */
    tg_program *typed;             /* a reference; here, so that it outlives an unwinding */
    Arena *arena;
    Bound bound;
} Running;

static Status bind_and_run(Running *q) {
    bool fresh;
    Status st = program_asked(q->p, q->args, q->num_args, &q->typed, &fresh);
    if (!st) st = program_plan(q->typed);
    if (!st) st = array_bind(q->arena, q->p, q->typed, q->g, q->args, q->num_args, &q->bound);
    if (st) return st;
    program_ran(q->p, q->typed, fresh);
    return q->run ? q->run(&q->bound) : ST_OK;
}

static Status run_body(void *ctx) {
    Running *q = ctx;
    q->arena = arena_new();
    Status st = bind_and_run(q);
    if (st || q->run) arena_free(q->arena);
    return st;
}

static tg_status run(const tg_program *p, const tg_graph *g, const tg_arg *args, size_t num_args,
                     Status (*how)(const Bound *b), Running *q) {
    if (!p || !g) return door_null(!p ? "program" : "graph");
    if (!args && num_args) return door_missing("args");
    *q = (Running){.p = p, .g = g, .args = args, .num_args = num_args, .run = how};
    tg_status st = door_run(run_body, q);
    if (st == TG_EBUG && q->typed) ladder_keep_bug(q->typed->fn);
    if (st || q->run) tg_program_free(q->typed);
    return st;
}

tg_status tg_run(const tg_program *p, const tg_graph *g, const tg_arg *args, size_t num_args) {
    Running q;
    return run(p, g, args, num_args, execute, &q);
}

tg_status tg_reference(const tg_program *p, const tg_graph *g, const tg_arg *args,
                       size_t num_args) {
    Running q;
    return run(p, g, args, num_args, interpret, &q);
}

/* ---- in two steps ---- */

tg_call *tg_bind(const tg_program *p, const tg_graph *g, const tg_arg *args, size_t num_args) {
    Running q;
    tg_call *call = mem_alloc(sizeof *call);
    if (!call) return err_set(ST_NOMEM, "out of memory: a call"), NULL;
    if (run(p, g, args, num_args, NULL, &q)) return mem_free(call), NULL;
    *call = (tg_call){q.arena, q.bound, num_args};
    return call;
}

static Status call_body(void *ctx) { return execute(&((tg_call *)ctx)->bound); }

tg_status tg_call_run(tg_call *call) {
    if (!call) return door_null("call");
    tg_status st = door_run(call_body, call);
    if (st == TG_EBUG) ladder_keep_bug(call->bound.program->fn);
    return st;
}

tg_status tg_call_set(tg_call *call, size_t k, void *data) {
    if (!call) return door_null("call");
    if (k >= call->num_args)
        return (tg_status)err_set(ST_RANGE, "argument %zu: the call has %zu", k, call->num_args);
    int32_t slot = call->bound.slot[k];
    if (!data) return (tg_status)err_set(ST_INVAL, "argument %zu: data is NULL", k);
    if (slot != INT32_MAX)
        (slot >= 0 ? &call->bound.inputs[slot] : &call->bound.outputs[-1 - slot])->data = data;
    return TG_OK;
}

void tg_call_free(tg_call *call) {
    if (!call) return;
    tg_program_free(call->bound.program);
    arena_free(call->arena);
    mem_free(call);
}
