/* Looking inside: stages and code as text, costs, what ran and why. */
#include "api/array.h"
#include "api/graph.h"
#include "ir/type.h"
#include "opt/opt.h"
#include "text/text.h"
#include "run/codegen_open.h"
#include "run/disk.h"
#include "run/target.h"
#include "run/variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const tg_program *p;
    const char *kind;
    const tg_graph *graph;
    char *text;
    char *code; /* of one kernel: here, so that it outlives an unwinding */
    Cost cost;
} Ask;

static Status shown_planned(const tg_program *p, tg_program **out) {
    Status st = program_shown(p, out);
    return st ? st : program_plan(*out);
}

/* ---- stages ---- */

static const Fn *stage(Arena *a, const tg_program *t, const char *name) {
    if (!strcmp(name, "domain")) return t->fn;
    static const char *const planned[] = {"iter", "kernel", "task"};
    for (size_t k = 0; k < sizeof planned / sizeof *planned; k++)
        if (!strcmp(name, planned[k])) return plan_stage(a, t->plan, name);
    return NULL;
}

static Status ir_body(void *ctx) {
    Ask *q = ctx;
    tg_program *t;
    Status st = shown_planned(q->p, &t);
    if (st) return st;
    Arena *a = arena_new();
    const Fn *f = stage(a, t, q->kind);
    if (!f) st = err_set(ST_NAME, "no stage '%s' (domain, iter, kernel, task exist)", q->kind);
    else q->text = door_text(text_print(a, f));
    arena_free(a);
    return st ? st : q->text ? ST_OK : ST_NOMEM;
}

static char *ask(Status (*body)(void *), const tg_program *p, const char *kind) {
    Ask q = {.p = p, .kind = kind};
    if (!p) return door_null("program"), NULL;
    if (!kind) return door_missing(body == ir_body ? "stage" : "kind"), NULL;
    tg_status st = door_run(body, &q);
    free(q.code);
    return st ? NULL : q.text;
}

char *tg_ir(const tg_program *p, const char *stage_name) { return ask(ir_body, p, stage_name); }

/* ---- generated code ---- */

static bool is_code_kind(const char *kind) {
    return !strcmp(kind, "llvm") || !strcmp(kind, "llvm-opt") || !strcmp(kind, "asm");
}

static Status code_body(void *ctx) {
    Ask *q = ctx;
    tg_program *t;
    if (!is_code_kind(q->kind))
        return err_set(ST_NAME, "no code kind '%s' (llvm, llvm-opt, asm exist)", q->kind);
    Status st = shown_planned(q->p, &t);
    if (st) return st;
    Text out = {.arena = arena_new()};
    text_put(&out, "");
    for (uint32_t k = 0; k < t->plan->kernels.len && !st; k++) {
        CompileRequest request = exec_request(t->exec, k);
        size_t len;
        st = codegen_text(&request, q->kind, &q->code, &len);
        if (!st) text_put(&out, q->code);
        free(q->code);
        q->code = NULL;
    }
    if (!st) q->text = door_text(out.text);
    arena_free(out.arena);
    return st ? st : q->text ? ST_OK : ST_NOMEM;
}

char *tg_code(const tg_program *p, const char *kind) { return ask(code_body, p, kind); }

/* ---- explanation ---- */

static const char *lowerings(Arena *a, const Plan *plan) {
    Text t = {.arena = a};
    text_put(&t, "");
    for (uint32_t k = 0; k < plan->kernels.len; k++)
        text_putf(&t, k ? ", %s" : "%s", plan_schedule(&plan->kernels.data[k]));
    return t.text;
}

static void explain_traversal(Text *t, const Plan *plan, uint32_t k,
                              const CompileRequest *request) {
    const Kernel *kernel = &plan->kernels.data[k];
    const Fn *f = plan->program;
    if (kernel->map == MAP_NONE) {
        text_putf(t, "accepted: [plan] %s: rows of %s, no edges\n", kernel->name,
                  f->sets.data[kernel->rows].name);
        return;
    }
    if (map_is_all(kernel->map)) {
        text_putf(t, "accepted: [plan] %s: %s folded to one value, %u phase%s\n", kernel->name,
                  f->sets.data[map_from(f, kernel->map)].name, kernel->num_phases,
                  kernel->num_phases == 1 ? "" : "s");
        return;
    }
    const Relation *r = &f->relations.data[map_relation(kernel->map)];
    text_putf(t, "accepted: [plan] %s: one traversal of %s by %s, %u phase%s\n", kernel->name,
              r->name, map_is_dst(kernel->map) ? "destination" : "source", kernel->num_phases,
              kernel->num_phases == 1 ? "" : "s");
    text_putf(t, "%s: [schedule] %s: gathered rows %s into L2\n",
              request->prefetch ? "accepted" : "remark", kernel->name,
              request->prefetch ? "are prefetched" : "fit the cache and are not prefetched");
}

static void explain_kernel(Text *t, const Plan *plan, uint32_t k, const CompileRequest *request) {
    const Kernel *kernel = &plan->kernels.data[k];
    explain_traversal(t, plan, k, request);
    text_putf(t, "accepted: [schedule] %s: %s: %s\n", kernel->name, plan_schedule(kernel),
              plan_schedule_why(kernel));
}

static void explain_staged(Text *t, const Plan *plan, const Kernel *k, Val v) {
    text_putf(t, "accepted: [memory] %s adds %s to the %ss by blocks of %lld edges\n", k->name,
              type_text(t->arena, plan->program, ir_type(k->body, ir_arg(k->body, v, 0))),
              map_is_dst(k->map) ? "source" : "destination", (long long)plan_staged_edges(k));
}

/* What plan.h stores by edge without being asked for. */
static void explain_memory(Text *t, const Plan *plan) {
    bool none = true;
    for (uint32_t k = 0; k < plan->kernels.len; k++) {
        const Kernel *kernel = &plan->kernels.data[k];
        for (uint32_t i = 0; i < kernel->body->results.len; i++) {
            const Binding *b = &kernel->body->results.data[i];
            const Type *type = ir_type(kernel->body, b->val);
            if (plan_is_staged(kernel, b->val)) explain_staged(t, plan, kernel, b->val);
            if (!set_is_edges(plan->program, type->set) || ir_find_result(plan->program, b->name))
                continue;
            text_putf(t,
                      "remark: [memory] %s stores %s: what it scans is reduced in another order\n",
                      kernel->name, type_text(t->arena, plan->program, type));
            none = false;
        }
    }
    if (none) text_put(t, "remark: [memory] no edge value is stored unless it is a result\n");
}

static Status explain_body(void *ctx) {
    Ask *q = ctx;
    tg_program *t;
    Status st = shown_planned(q->p, &t);
    if (st) return st;
    Text out = {.arena = arena_new()};
    text_put(&out, "backend: cpu\nprovider: llvm\n");
    text_putf(&out, "lowering: %s\npasses: ", lowerings(out.arena, t->plan));
    for (const char *const *name = opt_prepare_passes; *name; name++)
        if (opt_is_on(*name)) text_putf(&out, "%s, ", *name);
    text_put(&out, "plan, codegen\n");
    for (uint32_t k = 0; k < t->plan->kernels.len; k++) {
        CompileRequest request = exec_request(t->exec, k);
        explain_kernel(&out, t->plan, k, &request);
    }
    for (uint32_t k = 0; k < t->prepared->notes.len; k++)
        text_putf(&out, "%s\n", t->prepared->notes.data[k]);
    explain_memory(&out, t->plan);
    int64_t hits, misses;
    program_counts(q->p, &hits, &misses);
    text_putf(&out, "variant cache: hits=%lld, misses=%lld\n", (long long)hits, (long long)misses);
    q->text = door_text(out.text);
    arena_free(out.arena);
    return q->text ? ST_OK : ST_NOMEM;
}

char *tg_explain(const tg_program *p) { return ask(explain_body, p, "explain"); }

/* ---- figures ---- */

static Status cost_body(void *ctx) {
    Ask *q = ctx;
    tg_program *t;
    Status st = shown_planned(q->p, &t);
    if (st) return st;
    const Fn *f = t->prepared;
    const Graph *g = graph_of(q->graph);
    Arena *a = arena_new();
    int64_t *size = ARENA_ARRAY(a, int64_t, f->sets.len);
    for (uint32_t s = 0; s < f->sets.len; s++) size[s] = 1;
    if (f->relations.len) {
        size[f->relations.data[0].dst] = graph_num_dst(g);
        size[f->relations.data[0].src] = graph_num_src(g);
        size[f->relations.data[0].edges] = graph_num_edges(g);
    }
    q->cost = plan_cost(t->plan, size);
    arena_free(a);
    return ST_OK;
}

tg_status tg_program_cost(const tg_program *p, const tg_graph *g, tg_cost *cost) {
    Ask q = {.p = p, .graph = g};
    if (!p || !g) return door_null(p ? "graph" : "program");
    if (!cost) return door_missing("cost");
    tg_status st = door_run(cost_body, &q);
    if (st) return st;
    const Cost *c = &q.cost;
    *cost = (tg_cost){c->traversals,        c->edge_visits,      c->flops,
                      c->bytes_read,        c->bytes_written,    c->staging_bytes,
                      c->edge_buffer_bytes, c->node_buffer_bytes};
    return TG_OK;
}

tg_status tg_program_stats(const tg_program *p, tg_stats *stats) {
    if (!p) return door_null("program");
    if (!stats) return door_missing("stats");
    VariantStats v = variant_stats();
    *stats = (tg_stats){
        .disk_hits = v.disk_hits, .compiles = v.compiles, .compile_ms = v.total_compile_ms};
    program_counts(p, &stats->hits, &stats->misses);
    return TG_OK;
}

char *tg_about(void) {
    char text[ERR_MESSAGE_SIZE], generator[ERR_MESSAGE_SIZE / 2];
    const char *folder = disk_folder();
    codegen_about(generator, sizeof generator);
    snprintf(text, sizeof text,
             "tiga: %s\nhost: %s\ncode generator: %s\nthreads: %d\ncache folder: %.500s\n",
             TG_VERSION, target_host_key(), generator, tg_num_threads(),
             folder[0] ? folder : "none");
    return door_text(text);
}
