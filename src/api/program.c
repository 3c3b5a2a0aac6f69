/* Making programs, from text and from other programs, and planning them. */
#include "api/program.h"

#include "api/ladder.h"
#include "base/debug.h"
#include "text/text.h"
#include "ir/type.h"
#include "ir/verify.h"
#include "opt/opt.h"
#include "opt/vjp.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the lock of what changes in programs: held for a few instructions, and while a process forks ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t planned = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void) { pthread_mutex_lock(&lock); }

static void after_fork(void) { pthread_mutex_unlock(&lock); }

static void after_fork_in_child(void) {
    planned = (pthread_cond_t)PTHREAD_COND_INITIALIZER; /* its waiters stayed with the parent */
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void) { pthread_atfork(before_fork, after_fork, after_fork_in_child); }

void program_lock(void) {
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
}

void program_unlock(void) { pthread_mutex_unlock(&lock); }

/* ---- handles ---- */

static tg_program *program_new(Arena *takes, ProgramKind kind) {
    tg_program *p = ARENA_NEW(takes, tg_program);
    p->arena = takes;
    p->kind = kind;
    p->refs = 1;
    return p;
}

tg_program *program_ref(const tg_program *p) {
    tg_program *own = (tg_program *)(uintptr_t)p; /* the count is not part of what is immutable */
    atomic_fetch_add(&own->refs, 1);
    return own;
}

tg_program *program_of(const Fn *takes) {
    tg_program *p = program_new(takes->arena, PROGRAM_typed);
    p->fn = takes;
    return p;
}

void tg_program_free(tg_program *p) {
    if (!p || atomic_fetch_sub(&p->refs, 1) != 1) return;
    for (Variant *v = p->variants, *next; v; v = next) {
        next = v->next;
        tg_program_free(v->program);
        mem_free(v);
    }
    tg_program_free(p->base);
    exec_free(p->exec);
    arena_free(p->plan_arena);
    arena_free(p->prepared_arena);
    arena_free(p->arena);
}

/* ---- from text ---- */

typedef struct {
    const char *text;
    tg_program *out;
} FromText;

static Status new_body(void *ctx) {
    FromText *q = ctx;
    Arena *a = arena_new();
    tg_program *p = program_new(a, PROGRAM_formula);
    Status st = formula_parse(a, q->text, &p->formula);
    if (st) return arena_free(a), st;
    q->out = p;
    return ST_OK;
}

tg_program *tg_program_new(const char *formula) {
    FromText q = {.text = formula};
    if (!formula) return door_missing("formula"), NULL;
    return door_run(new_body, &q) ? NULL : q.out;
}

static Status parse_body(void *ctx) {
    FromText *q = ctx;
    Arena *a = arena_new();
    Module module = {0};
    Status st = text_parse(a, q->text, strlen(q->text), &module);
    if (!st && !module.functions.len) st = err_set(ST_SYNTAX, "1:1: the text holds no function");
    if (st) return arena_free(a), st;
    const Fn *f = module.functions.data[0];
    Text report = {.arena = a};
    if (ir_verify(f, &report)) {
        st = err_set(ST_INVAL, "%s", report.text);
        return arena_free(a), st;
    }
    q->out = program_new(a, PROGRAM_typed);
    q->out->fn = f;
    return ST_OK;
}

tg_program *tg_program_parse(const char *text) {
    FromText q = {.text = text};
    if (!text) return door_null("text"), NULL;
    return door_run(parse_body, &q) ? NULL : q.out;
}

/* ---- gradients ---- */

Names program_names(Arena *a, const char *text) {
    Names names = {0};
    char *rest = arena_str(a, text), *save = NULL;
    for (char *s = strtok_r(rest, " \t\n,", &save); s; s = strtok_r(NULL, " \t\n,", &save))
        *vec_push(a, &names) = s;
    return names;
}

Status program_gradient(const Fn *f, const char *outs, const char *wrt, tg_program **out) {
    Arena *a = arena_new();
    Names o = program_names(a, outs), w = program_names(a, wrt);
    Fn *joint, *moved = opt_before_vjp(arena_new(), f);
    Status st = vjp_run(a, moved, o.data, o.len, w.data, w.len, NULL, &joint);
    ir_free(moved);
    if (st) return st; /* vjp_run has freed the arena */
    *out = program_of(joint);
    return ST_OK;
}

typedef struct {
    const tg_program *p;
    const char *outs, *wrt;
    tg_program *out;
} Gradient;

static Status gradient_body(void *ctx) {
    Gradient *q = ctx;
    if (q->p->kind == PROGRAM_typed) return program_gradient(q->p->fn, q->outs, q->wrt, &q->out);
    Arena *a = arena_new();
    q->out = program_new(a, PROGRAM_gradient);
    q->out->outs = arena_str(a, q->outs);
    q->out->wrt = arena_str(a, q->wrt);
    q->out->base = program_ref(q->p);
    return ST_OK;
}

tg_program *tg_program_grad(const tg_program *p, const char *outs, const char *wrt) {
    Gradient q = {p, outs, wrt, NULL};
    if (!p) return door_null("program"), NULL;
    if (!outs || !wrt) return door_missing(outs ? "wrt" : "outs"), NULL;
    return door_run(gradient_body, &q) ? NULL : q.out;
}

/* ---- plan and code ---- */

typedef struct {
    const tg_program *p;
    Arena *prepared_arena, *plan_arena;
    const Fn *prepared;
    Plan *plan;
    Exec *exec;
} Planning;

static Status plan_body(void *ctx) {
    Planning *q = ctx;
    const Fn *fn = q->p->fn;
    if (fn->relations.len > 1)
        return err_set(ST_UNSUPPORTED, "a program over %u relations cannot run on one graph",
                       fn->relations.len);
    q->prepared_arena = arena_new();
    q->plan_arena = arena_new();
    q->prepared = opt_prepare(q->prepared_arena, fn);
    Status st = plan_check(q->prepared);
    if (st) return arena_free(q->prepared_arena), arena_free(q->plan_arena), st;
    q->plan = plan_run(q->plan_arena, q->prepared);
    q->exec = exec_new(q->plan, debug_get("FAST_MATH") != NULL);
    st = ladder_show(fn, q->plan, q->exec);
    if (!st) return ST_OK;
    exec_free(q->exec);
    return arena_free(q->plan_arena), arena_free(q->prepared_arena), st;
}

static void publish(tg_program *p, const Planning *q) {
    p->prepared_arena = q->prepared_arena;
    p->plan_arena = q->plan_arena;
    p->prepared = q->prepared;
    p->exec = q->exec;
    p->plan = q->plan;
}

/* True where the caller is to plan p: nobody of this process does, and a parent's threads are not here. */
static bool claim(tg_program *p) {
    program_lock();
    while (!p->plan && p->planner == getpid()) pthread_cond_wait(&planned, &lock);
    bool mine = !p->plan;
    if (mine) p->planner = getpid();
    program_unlock();
    return mine;
}

/* Behind a guard of its own: a failure must not keep the claim, and what ended well stays. */
Status program_plan(tg_program *p) {
    if (!claim(p)) return ST_OK;
    Planning q = {.p = p};
    Status st = guard_run(plan_body, &q);
    program_lock();
    if (!st) publish(p, &q);
    p->planner = 0;
    pthread_cond_broadcast(&planned);
    program_unlock();
    return st;
}

Status program_shown(const tg_program *p, tg_program **out) {
    tg_program *own = (tg_program *)(uintptr_t)p;
    program_lock();
    *out = p->kind == PROGRAM_typed ? own : p->last;
    program_unlock();
    return *out ? ST_OK
                : err_set(ST_INVAL, "nothing was called yet: types are known after the first run");
}

void program_ran(const tg_program *p, tg_program *typed, bool fresh) {
    tg_program *own = (tg_program *)(uintptr_t)p;
    program_lock();
    own->last = typed;
    fresh ? own->misses++ : own->hits++;
    program_unlock();
}

void program_counts(const tg_program *p, int64_t *hits, int64_t *misses) {
    program_lock();
    *hits = p->hits;
    *misses = p->misses;
    program_unlock();
}

/* ---- ends ---- */

tg_role program_role(const Fn *f, Set s) {
    if (s == SET_ALL || !f->relations.len) return TG_ON_ALL;
    const Relation *r = &f->relations.data[0];
    if (s == r->edges) return TG_ON_EDGES;
    if (r->src == r->dst) return TG_ON_NODES;
    return s == r->src ? TG_ON_SRC : TG_ON_DST;
}

static tg_status need_typed(const tg_program *p) {
    if (!p) return door_null("program");
    if (p->kind == PROGRAM_typed) return TG_OK;
    return (tg_status)err_set(ST_INVAL,
                              "the program has no types yet (tg_program_typed gives one that has)");
}

size_t tg_program_num_inputs(const tg_program *p) { return need_typed(p) ? 0 : p->fn->inputs.len; }

size_t tg_program_num_results(const tg_program *p) {
    return need_typed(p) ? 0 : p->fn->results.len;
}

/* A dense value whose first extent is a set's has that set's role: the same memory. */
static void describe_end(const Fn *f, const Binding *b, tg_end *end) {
    const Type *t = ir_type(f, b->val);
    int rows = t->set == SET_ALL && t->rank && dim_is_set(t->dim[0]);
    *end = (tg_end){.name = b->name, .dtype = (tg_dtype)t->dtype, .rank = t->rank - rows};
    end->role = program_role(f, rows ? dim_set(t->dim[0]) : t->set);
    for (int k = 0; k < end->rank; k++) end->shape[k] = t->dim[k + rows];
}

static tg_status get_end(const tg_program *p, bool result, size_t k, tg_end *end) {
    tg_status st = need_typed(p);
    if (st) return st;
    if (!end) return door_missing("end");
    size_t n = result ? p->fn->results.len : p->fn->inputs.len;
    if (k >= n)
        return (tg_status)err_set(ST_RANGE, "%s %zu: the program has %zu",
                                  result ? "result" : "input", k, n);
    describe_end(p->fn, result ? &p->fn->results.data[k] : &p->fn->inputs.data[k], end);
    return TG_OK;
}

tg_status tg_program_input(const tg_program *p, size_t k, tg_end *end) {
    return get_end(p, false, k, end);
}

tg_status tg_program_result(const tg_program *p, size_t k, tg_end *end) {
    return get_end(p, true, k, end);
}

/* ---- residuals ---- */

typedef struct {
    const tg_program *p;
    const char *keep;
    tg_program *forward, *backward;
} Splitting;

static Status split_body(void *ctx) {
    Splitting *q = ctx;
    Arena *a = arena_new();
    Names keep = program_names(a, q->keep);
    for (uint32_t k = 0; k < keep.len; k++)
        if (!ir_find_result(q->p->fn, keep.data[k]))
            return err_set(ST_NAME, "keep: the program has no result '%s'", keep.data[k]),
                   arena_free(a), ST_NAME;
    Split s = opt_split(q->p->fn, keep.data, keep.len);
    q->forward = program_of(s.forward);
    q->backward = program_of(s.backward);
    arena_free(a);
    return ST_OK;
}

tg_status tg_program_split(const tg_program *grad, const char *keep, tg_program **forward,
                           tg_program **backward) {
    tg_status st = need_typed(grad);
    if (st) return st;
    if (!keep || !forward || !backward)
        return door_missing(!keep ? "keep" : !forward ? "forward" : "backward");
    Splitting q = {grad, keep, NULL, NULL};
    st = door_run(split_body, &q);
    if (st) return st;
    *forward = q.forward;
    *backward = q.backward;
    return TG_OK;
}
