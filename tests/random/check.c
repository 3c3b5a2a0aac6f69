/* Everything that one case is asked: text, passes, halves, gradients, plans, compiled code, threads. */
#include "random.h"

#include "base/debug.h"
#include "base/hash.h"
#include "base/pool.h"
#include "text/text.h"
#include "ir/verify.h"
#include "opt/opt.h"
#include "plan/plan.h"
#include "run/codegen_open.h"
#include "run/exec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const Case *c;
    Report *report;
    Arena *arena;
    Guarded *memory;
    Graph *graphs[NUM_RELATIONS];
    Env inputs;
    bool failed;
} World;

static bool fail(World *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (!w->failed) vsnprintf(w->report->message, sizeof w->report->message, format, args);
    va_end(args);
    w->failed = true;
    return false;
}

/* ---- the domain ---- */

static Domain domain_of(World *w, const Fn *f) {
    const GraphSpec *g = w->c->graph;
    int64_t *size = ARENA_ARRAY(w->arena, int64_t, f->sets.len);
    size[0] = 1;
    for (uint32_t r = 0; r < f->relations.len; r++) {
        const Relation *rel = &f->relations.data[r];
        size[rel->src] = g[r].num_src;
        size[rel->dst] = g[r].num_dst;
        size[rel->edges] = g[r].num_edges;
        w->graphs[r] = graph_of_spec(&g[r]);
    }
    return (Domain){size, w->graphs};
}

/* ---- comparisons ---- */

static bool differ(World *w, const char *stage, const char *name, const Array *want,
                   const Array *got, int64_t i, double allowed) {
    return fail(w, "%s: '%s' element %lld of %lld: %.17g, expected %.17g, allowed difference %g",
                stage, name, (long long)i, (long long)array_numel(want), array_get(got, i),
                array_get(want, i), allowed);
}

static bool all_same(World *w, const char *stage, const Fn *f, const Env *want, const Env *got) {
    for (uint32_t k = 0; k < f->results.len; k++) {
        const char *name = f->results.data[k].name;
        const Array *a = env_find(want, name), *b = env_find(got, name);
        int64_t i;
        if (!b) return fail(w, "%s: there is no '%s'", stage, name);
        if (!array_same(a, b, true, &i)) return differ(w, stage, name, a, b, i, 0);
    }
    return true;
}

static bool all_agree(World *w, const char *stage, const Fn *f, const Trust *t, const Env *want,
                      const Env *got) {
    for (uint32_t k = 0; k < f->results.len; k++) {
        const char *name = f->results.data[k].name;
        const Array *a = env_find(want, name), *b = env_find(got, name);
        double allowed;
        int64_t i;
        if (!b) return fail(w, "%s: there is no '%s'", stage, name);
        if (!trust_agree(t, name, a, b, &i, &allowed))
            return differ(w, stage, name, a, b, i, allowed);
    }
    return true;
}

static bool interpret(World *w, const char *stage, Env *e, const Fn *f) {
    w->report->programs_run++;
    return env_run(e, f) ? fail(w, "%s: %s", stage, err_message()) : true;
}

/* ---- form ---- */

static bool check_form(World *w, const char *what, const Fn *f) {
    Arena *a = arena_new();
    Text report = {.arena = a};
    Module m = {0};
    if (ir_verify(f, &report)) return arena_free(a), fail(w, "verify: %s: %s", what, "invalid");
    const char *text = text_print(a, f);
    bool ok = true;
    if (text_parse(a, text, strlen(text), &m)) ok = fail(w, "text: %s: %s", what, err_message());
    else if (strcmp(text_print_module(a, &m), text))
        ok = fail(w, "text: %s prints differently", what);
    arena_free(a);
    return ok;
}

/* ---- passes ---- */

static bool check_pass(World *w, const Pass *p, const Fn *f, const Trust *t, const Env *want) {
    char stage[64];
    snprintf(stage, sizeof stage, "pass %s", p->name);
    Fn *g = p->run(arena_new(), f);
    Env got = env_copy(&w->inputs);
    bool ok =
        check_form(w, stage, g) && interpret(w, stage, &got, g) &&
        (p->exact ? all_same(w, stage, f, want, &got) : all_agree(w, stage, f, t, want, &got));
    ir_free(g);
    return ok;
}

static bool check_passes(World *w, const Fn *f) {
    Env want = env_copy(&w->inputs);
    if (!interpret(w, "interpreter", &want, f)) return false;
    Trust *t = trust_new(w->arena, f, SITES_all, &w->inputs, w->c);
    for (const Pass *p = opt_passes; p->name; p++)
        if (!check_pass(w, p, f, t, &want)) return false;
    return true;
}

/* The halves of a joint program compute what it does. */
static bool check_split(World *w, const Fn *f, const Fn *joint) {
    const char **keep = ARENA_ARRAY(w->arena, const char *, f->results.len);
    for (uint32_t k = 0; k < f->results.len; k++) keep[k] = f->results.data[k].name;
    Split s = opt_split(joint, keep, f->results.len);
    Fn *whole = opt_prepare(arena_new(), joint);
    Env want = env_copy(&w->inputs), got = env_copy(&w->inputs);
    bool ok = check_form(w, "forward", s.forward) && check_form(w, "backward", s.backward) &&
              interpret(w, "split", &want, whole) && interpret(w, "split", &got, s.forward) &&
              interpret(w, "split", &got, s.backward) && all_same(w, "split", joint, &want, &got);
    ir_free(s.forward);
    ir_free(s.backward);
    ir_free(whole);
    return ok;
}

/* ---- plans ---- */

/* degree.* and size.* under their names. */
static bool add_facts(World *w, Env *e, const Fn *f) {
    Fn *g = ir_new_like(arena_new(), f, "facts");
    Arena *a = g->arena;
    for (uint32_t r = 0; r < f->relations.len; r++) {
        const char *name = f->relations.data[r].name;
        ir_add_result(g, arena_printf(a, "degree.%s.src", name), ir_degree(g, map_src((int)r)));
        ir_add_result(g, arena_printf(a, "degree.%s.dst", name), ir_degree(g, map_dst((int)r)));
    }
    for (uint32_t s = 0; s < f->sets.len; s++)
        ir_add_result(g, arena_printf(a, "size.%s", f->sets.data[s].name),
                      ir_degree(g, map_all((Set)s)));
    bool ok = interpret(w, "facts", e, g);
    for (uint32_t k = 0; k < e->all.len; k++)
        e->all.data[k].name = arena_str(w->arena, e->all.data[k].name);
    ir_free(g);
    return ok;
}

static bool check_plan(World *w, const Plan *p, const Env *want) {
    Env got = env_copy(&w->inputs);
    bool ok = add_facts(w, &got, p->program);
    for (uint32_t k = 0; ok && k < p->kernels.len; k++)
        ok = check_form(w, "kernel", p->kernels.data[k].body) &&
             interpret(w, "plan", &got, p->kernels.data[k].body);
    ok = ok && all_same(w, "plan", p->program, want, &got);
    if (!ok || w->c->seed % 4) return ok;
    Fn *stage = plan_stage(arena_new(), p, "kernel");
    Env staged = env_copy(&w->inputs);
    ok = check_form(w, "stage", stage) && interpret(w, "stage", &staged, stage) &&
         all_same(w, "stage", p->program, want, &staged);
    ir_free(stage);
    return ok;
}

/* ---- compiled ---- */

typedef struct {
    World *w;
    Exec *exec;
    const Fn *f;
    bool at_end, some; /* some: not every output is bound */
} Call;

static bool run_compiled(const Call *q, int threads, Env *e, Guarded **memory) {
    World *w = q->w;
    const Fn *f = q->f;
    Array *in = ARENA_ARRAY(w->arena, Array, f->inputs.len + 1);
    Array *out = ARENA_ARRAY(w->arena, Array, f->results.len + 1);
    *e = (Env){.arena = w->arena, .domain = w->inputs.domain};
    env_fill_inputs(e, f, w->c, memory, q->at_end);
    for (uint32_t k = 0; k < f->inputs.len; k++) in[k] = *env_find(e, f->inputs.data[k].name);
    for (uint32_t k = 0; k < f->results.len; k++) {
        const Binding *b = &f->results.data[k];
        out[k] = array_of(ir_type(f, b->val), &w->inputs.domain);
        uint64_t salt = hash_str(b->name, w->c->seed + 1);
        if (q->some && k && salt % 3 == 0) continue;
        array_place(&out[k], memory, salt, q->at_end, w->c->strided, false);
        env_put(e, b->name, out[k]);
    }
    pool_set_num_threads(threads);
    Status st = exec_run(q->exec, &w->inputs.domain, in, out);
    pool_set_num_threads(0);
    return st ? fail(w, "run: %s", err_message()) : true;
}

/* Bits of what both have. */
static bool same_bits(const Call *q, const char *stage, const Env *want, const Env *got) {
    for (uint32_t k = 0; k < q->f->results.len; k++) {
        const char *name = q->f->results.data[k].name;
        const Array *a = env_find(want, name), *b = env_find(got, name);
        int64_t i;
        if (b && !array_same(a, b, true, &i)) return differ(q->w, stage, name, a, b, i, 0);
    }
    return true;
}

static bool check_threads(Call *q, const Env *first) {
    static const int threads[] = {2, 3, 8};
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
        Guarded *memory = NULL;
        Env e;
        bool ok = run_compiled(q, threads[k], &e, &memory) && same_bits(q, "threads", first, &e);
        guarded_free(&memory);
        if (!ok) return false;
    }
    return true;
}

/* Whether some kernel's schedule changes. */
static bool force_schedule(const Plan *p, Schedule s) {
    bool changed = false;
    for (uint32_t k = 0; k < p->kernels.len; k++) {
        Kernel *kernel = &p->kernels.data[k];
        if (kernel->schedule == s || !plan_can(kernel, s)) continue;
        kernel->schedule = s;
        changed = true;
    }
    return changed;
}

/* Every kernel on every schedule that it can have. Leaves the plan with the last of them. */
static bool check_schedules(const Call *first_call, const Plan *p, const Env *first) {
    for (int s = 0; s < NUM_SCHEDULES; s++) {
        if (!force_schedule(p, (Schedule)s)) continue;
        Call q = *first_call;
        Guarded *memory = NULL;
        Env e;
        q.exec = exec_new(p, false);
        bool ok = run_compiled(&q, 2, &e, &memory) && same_bits(&q, "schedules", first, &e);
        guarded_free(&memory);
        exec_free(q.exec);
        if (!ok) return false;
    }
    return true;
}

static bool check_compiled(World *w, const Plan *p, const Env *want) {
    bool interp = debug_has("EXEC", "interp");
    if (!interp && !codegen_stamp())
        return fail(w, "no code generator: name it in TIGA_CODEGEN, or set TIGA_EXEC=interp");
    const Fn *f = p->program;
    Trust *t = trust_new(w->arena, f, SITES_along, &w->inputs, w->c);
    for (uint32_t k = 0; k < f->results.len; k++)
        w->report->compared[trust_kind(t, f->results.data[k].name)]++;
    Call q = {.w = w, .exec = exec_new(p, false), .f = f, .at_end = true};
    Guarded *memory = NULL;
    Env first, second;
    bool ok = run_compiled(&q, 1, &first, &memory) &&
              all_agree(w, interp ? "exec" : "compiled", f, t, want, &first) &&
              check_threads(&q, &first) && (interp || check_schedules(&q, p, &first));
    q.at_end = false;
    q.some = true;
    ok = ok && run_compiled(&q, 2, &second, &memory) && same_bits(&q, "place", &first, &second);
    guarded_free(&memory);
    exec_free(q.exec);
    return ok;
}

/* ---- a case ---- */

static bool check_prepared(World *w, const Fn *f) {
    Fn *g = opt_prepare(arena_new(), f);
    if (plan_check(g)) {
        w->report->refused++;
        ir_free(g);
        return true;
    }
    Plan *p = plan_run(arena_new(), g);
    Env want = env_copy(&w->inputs);
    bool ok = interpret(w, "interpreter", &want, g) && check_plan(w, p, &want) &&
              check_compiled(w, p, &want);
    arena_free(p->arena);
    ir_free(g);
    return ok;
}

static bool check_program(World *w, Fn *f, int order) {
    env_fill_inputs(&w->inputs, f, w->c, &w->memory, true);
    if (!check_form(w, "program", f)) return false;
    Gradient g;
    Fn *joint = order < w->c->order ? decode_gradient(w->c, f, order + 1, &g) : NULL;
    if (!joint) return check_passes(w, f) && check_prepared(w, f);
    env_fill_inputs(&w->inputs, joint, w->c, &w->memory, true);
    bool ok = check_form(w, "gradient", joint) && check_split(w, f, joint) &&
              (w->c->data != DATA_smooth || gradient_agrees(&w->inputs, f, joint, &g, w->report));
    ok = ok && check_program(w, joint, order + 1);
    ir_free(joint);
    return ok;
}

static Status check_all(void *ctx) {
    World *w = ctx;
    w->arena = arena_new();
    Fn *f = decode_program(arena_new(), w->c);
    w->inputs = (Env){.arena = w->arena, .domain = domain_of(w, f)};
    bool ok = check_program(w, f, 0);
    ir_free(f);
    arena_free(w->arena);
    return ok ? ST_OK : ST_INVAL;
}

bool check_case(const Case *c, Report *r) {
    World w = {.c = c, .report = r};
    r->message[0] = 0;
    Status st = guard_run(check_all, &w);
    if (st && !r->message[0]) fail(&w, "broken: %s", err_message());
    for (int k = 0; k < NUM_RELATIONS; k++) graph_unref(w.graphs[k]);
    guarded_free(&w.memory);
    r->cases++;
    return st == ST_OK;
}

const char *case_text(Arena *a, const Case *c) {
    Text t = {.arena = a};
    text_putf(&t, "// data %d, strided %d, %u bytes\n", c->data, c->strided, c->num_bytes);
    for (int r = 0; r < c->num_relations; r++)
        text_putf(&t, "// relation %d: kind %d, %lld sources, %lld destinations, %lld edges, %s\n",
                  r, c->graph[r].kind, (long long)c->graph[r].num_src,
                  (long long)c->graph[r].num_dst, (long long)c->graph[r].num_edges,
                  c->graph[r].csr ? "csr" : "coo");
    Fn *f = decode_program(arena_new(), c);
    Gradient g;
    for (int order = 1; order <= c->order; order++) {
        Fn *joint = decode_gradient(c, f, order, &g);
        if (!joint) break;
        ir_free(f);
        f = joint;
    }
    text_put(&t, text_print(a, f));
    ir_free(f);
    return t.text;
}
