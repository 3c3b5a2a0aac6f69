/* Making programs: from text, from other programs, for given types. */
#include "api/program.h"

#include "api/ladder.h"
#include "base/debug.h"
#include "capture/names.h"
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

static void enter(void) {
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
}

static void leave(void) { pthread_mutex_unlock(&lock); }

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

typedef VEC(const char *) Names;

static Names split_names(Arena *a, const char *text) {
    Names names = {0};
    char *rest = arena_str(a, text), *save = NULL;
    for (char *s = strtok_r(rest, " \t\n,", &save); s; s = strtok_r(NULL, " \t\n,", &save))
        *vec_push(a, &names) = s;
    return names;
}

static Status typed_gradient(const Fn *f, const char *outs, const char *wrt, tg_program **out) {
    Arena *a = arena_new();
    Names o = split_names(a, outs), w = split_names(a, wrt);
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
    if (q->p->kind == PROGRAM_typed) return typed_gradient(q->p->fn, q->outs, q->wrt, &q->out);
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

/* ---- types ---- */

static const tg_arg *find_arg(const tg_arg *args, size_t n, const char *name) {
    for (size_t k = 0; k < n; k++)
        if (args[k].name && !strcmp(args[k].name, name)) return &args[k];
    return NULL;
}

static Status formula_input(const tg_arg *arg, FormulaInput *in) {
    const tg_array *x = &arg->array;
    int rows = name_is_field(arg->name);
    if ((int)x->dtype < 0 || (int)x->dtype >= NUM_DTYPES)
        return err_set(ST_TYPE, "argument '%s': no such dtype (%d)", arg->name, (int)x->dtype);
    if (x->rank < rows || x->rank > TG_MAX_RANK || x->rank - rows > MAX_RANK)
        return err_set(ST_SHAPE, "argument '%s': rank %d, expected %d to %d", arg->name, x->rank,
                       rows, MAX_RANK + rows);
    *in = (FormulaInput){.name = arg->name, .dtype = (Dtype)x->dtype, .rank = x->rank - rows};
    for (int k = rows; k < x->rank; k++) in->dim[k - rows] = x->shape[k];
    return ST_OK;
}

static const Formula *formula_of(const tg_program *p) {
    while (p->kind == PROGRAM_gradient) p = p->base;
    return &p->formula;
}

/* What decides a variant of a formula: its inputs' types and its results. */
typedef struct {
    Arena *arena;
    Formula
        formula; /* where an input is missing: the lines that are asked for, and what they need */
    bool is_complete;
    FormulaInput *inputs;
    uint32_t num_inputs;
    Names results; /* lines that later ones use and that are bound or differentiated all the same */
    Text text;
} Asked;

static bool is_among(const char *const *names, uint32_t n, const char *name) {
    for (uint32_t k = 0; k < n; k++)
        if (!strcmp(names[k], name)) return true;
    return false;
}

static Status read_inputs(Asked *s, const tg_arg *args, size_t num_args) {
    const char *const *names;
    uint32_t num_names;
    formula_inputs(s->arena, &s->formula, &names, &num_names);
    s->inputs = ARENA_ARRAY(s->arena, FormulaInput, num_names + num_args);
    for (uint32_t k = 0; k < num_names; k++) {
        const tg_arg *arg = find_arg(args, num_args, names[k]);
        FormulaInput *in = &s->inputs[s->num_inputs];
        if (!arg) continue; /* formula_build says where it is missed */
        Status st = formula_input(arg, in);
        if (st) return st;
        text_putf(&s->text, "%s:%d:", in->name, in->dtype);
        for (int i = 0; i < in->rank; i++) text_putf(&s->text, "%lld,", (long long)in->dim[i]);
        s->num_inputs++;
    }
    s->is_complete = s->num_inputs == num_names;
    for (size_t k = 0; k < num_args; k++) /* whose names a message may tell */
        if (args[k].name && !is_among(names, num_names, args[k].name))
            s->inputs[s->num_inputs++] = (FormulaInput){.name = args[k].name};
    return ST_OK;
}

/* The lines among asked. Where inputs are missing they stand alone: only what they need is missed. */
static void choose_lines(Asked *s, const Names *asked) {
    Names lines = {0};
    for (const Line *l = s->formula.lines; l < s->formula.lines + s->formula.num_lines; l++)
        if (!l->part && is_among(asked->data, asked->len, l->name))
            *vec_push(s->arena, &lines) = l->name;
    bool alone = !s->is_complete && lines.len;
    if (alone) s->formula = formula_only(s->arena, &s->formula, lines.data, lines.len);
    for (uint32_t k = 0; k < lines.len; k++) {
        if (!alone && !formula_uses(&s->formula, lines.data[k])) continue;
        *vec_push(s->arena, &s->results) = lines.data[k];
        text_putf(&s->text, alone ? "!%s" : "=%s", lines.data[k]);
    }
}

static void read_results(Asked *s, const tg_program *p, const tg_arg *args, size_t num_args) {
    Names asked = {0};
    for (const tg_program *q = p; q->kind == PROGRAM_gradient; q = q->base) {
        Names outs = split_names(s->arena, q->outs);
        for (uint32_t k = 0; k < outs.len; k++) *vec_push(s->arena, &asked) = outs.data[k];
    }
    for (size_t k = 0; k < num_args; k++)
        if (args[k].name) *vec_push(s->arena, &asked) = args[k].name;
    choose_lines(s, &asked);
}

static Status make_typed(const tg_program *p, const Asked *s, tg_program **out) {
    if (p->kind == PROGRAM_formula) {
        Arena *a = arena_new();
        Fn *f;
        Status st = formula_build(a, &s->formula, s->inputs, s->num_inputs, s->results.data,
                                  s->results.len, &f);
        if (st) return arena_free(a), st;
        *out = program_of(f);
        return ST_OK;
    }
    tg_program *base;
    Status st = make_typed(p->base, s, &base);
    if (st) return st;
    st = typed_gradient(base->fn, p->outs, p->wrt, out);
    tg_program_free(base);
    return st;
}

static tg_program *find_variant(const tg_program *p, const char *signature) {
    for (const Variant *v = p->variants; v; v = v->next)
        if (!strcmp(v->signature, signature)) return v->program;
    return NULL;
}

/* Two threads may build the same variant; the first to come back keeps it. */
static Status add_variant(tg_program *p, const char *signature, tg_program *made,
                          tg_program **out) {
    enter();
    tg_program *there = find_variant(p, signature);
    Variant *v = there ? NULL : mem_alloc(sizeof *v + strlen(signature) + 1);
    if (v) {
        arena_keep(made->arena);
        *v = (Variant){p->variants, strcpy((char *)(v + 1), signature), made};
        p->variants = v;
    }
    leave();
    if (!there && !v)
        return tg_program_free(made), err_set(ST_NOMEM, "out of memory: a program's variant");
    if (there) tg_program_free(made);
    *out = program_ref(there ? there : made);
    return ST_OK;
}

Status program_typed(const tg_program *p, const tg_arg *args, size_t num_args, tg_program **out,
                     bool *fresh) {
    *fresh = false;
    if (p->kind == PROGRAM_typed) return *out = program_ref(p), ST_OK;
    tg_program *own = (tg_program *)(uintptr_t)p;
    Arena *a = arena_new();
    Asked s = {.arena = a, .formula = *formula_of(p), .text = {.arena = a}};
    text_put(&s.text, "");
    Status st = read_inputs(&s, args, num_args);
    if (!st) read_results(&s, p, args, num_args);
    enter();
    tg_program *there = st ? NULL : find_variant(p, s.text.text);
    leave();
    if (there) *out = program_ref(there);
    else if (!st) {
        tg_program *made;
        *fresh = true;
        st = make_typed(p, &s, &made);
        if (!st) st = add_variant(own, s.text.text, made, out);
    }
    arena_free(a);
    return st;
}

bool program_names_input(Arena *a, const tg_program *p, const char *name) {
    const char *const *names;
    uint32_t num_names;
    if (p->kind == PROGRAM_typed) return ir_find_input(p->fn, name);
    formula_inputs(a, formula_of(p), &names, &num_names);
    return is_among(names, num_names, name);
}

typedef struct {
    const tg_program *p;
    const tg_arg *args;
    size_t num_args;
    tg_program *out;
} Typed;

static Status typed_body(void *ctx) {
    Typed *q = ctx;
    bool fresh;
    return program_typed(q->p, q->args, q->num_args, &q->out, &fresh);
}

tg_program *tg_program_typed(const tg_program *p, const tg_arg *args, size_t num_args) {
    Typed q = {p, args, num_args, NULL};
    if (!p) return door_null("program"), NULL;
    if (!args && num_args) return door_missing("args"), NULL;
    return door_run(typed_body, &q) ? NULL : q.out;
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
    enter();
    while (!p->plan && p->planner == getpid()) pthread_cond_wait(&planned, &lock);
    bool mine = !p->plan;
    if (mine) p->planner = getpid();
    leave();
    return mine;
}

/* Behind a guard of its own: a failure must not keep the claim, and what ended well stays. */
Status program_plan(tg_program *p) {
    if (!claim(p)) return ST_OK;
    Planning q = {.p = p};
    Status st = guard_run(plan_body, &q);
    enter();
    if (!st) publish(p, &q);
    p->planner = 0;
    pthread_cond_broadcast(&planned);
    leave();
    return st;
}

Status program_shown(const tg_program *p, tg_program **out) {
    tg_program *own = (tg_program *)(uintptr_t)p;
    enter();
    *out = p->kind == PROGRAM_typed ? own : p->last;
    leave();
    return *out ? ST_OK
                : err_set(ST_INVAL, "nothing was called yet: types are known after the first run");
}

void program_ran(const tg_program *p, tg_program *typed, bool fresh) {
    tg_program *own = (tg_program *)(uintptr_t)p;
    enter();
    own->last = typed;
    fresh ? own->misses++ : own->hits++;
    leave();
}

void program_counts(const tg_program *p, int64_t *hits, int64_t *misses) {
    enter();
    *hits = p->hits;
    *misses = p->misses;
    leave();
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
    Names keep = split_names(a, q->keep);
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
