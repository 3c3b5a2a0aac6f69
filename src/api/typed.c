/* From a program and a call's arguments to the typed program that runs: of a formula the variant for their
 * dtypes and feature shapes, of that the part that computes what is bound. */
#include "api/program.h"

#include "capture/names.h"

#include <string.h>

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
        Names outs = program_names(s->arena, q->outs);
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
    st = program_gradient(base->fn, p->outs, p->wrt, out);
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
    program_lock();
    tg_program *there = find_variant(p, signature);
    Variant *v = there ? NULL : mem_alloc(sizeof *v + strlen(signature) + 1);
    if (v) {
        arena_keep(made->arena);
        *v = (Variant){p->variants, strcpy((char *)(v + 1), signature), made};
        p->variants = v;
    }
    program_unlock();
    if (!there && !v)
        return tg_program_free(made), err_set(ST_NOMEM, "out of memory: a program's variant");
    if (there) tg_program_free(made);
    *out = program_ref(there ? there : made);
    return ST_OK;
}

static Status typed_for(const tg_program *p, const tg_arg *args, size_t num_args, tg_program **out,
                        bool *fresh) {
    if (p->kind == PROGRAM_typed) return *out = program_ref(p), ST_OK;
    tg_program *own = (tg_program *)(uintptr_t)p;
    Arena *a = arena_new();
    Asked s = {.arena = a, .formula = *formula_of(p), .text = {.arena = a}};
    text_put(&s.text, "");
    Status st = read_inputs(&s, args, num_args);
    if (!st) read_results(&s, p, args, num_args);
    program_lock();
    tg_program *there = st ? NULL : find_variant(p, s.text.text);
    program_unlock();
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

/* What of a program's ends is among a call's arguments: a digit an end, results first. */
typedef struct {
    const Fn *f;
    char *passed;
    uint32_t num_results; /* that are */
    bool all_known;       /* every argument is an end */
} Ends;

static Ends ends_passed(Arena *a, const Fn *f, const tg_arg *args, size_t num_args) {
    uint32_t r = f->results.len;
    Ends s = {.f = f, .passed = ARENA_ARRAY(a, char, r + f->inputs.len + 1), .all_known = true};
    for (uint32_t k = 0; k < r; k++) {
        bool passed = find_arg(args, num_args, f->results.data[k].name);
        s.passed[k] = passed ? '1' : '0';
        s.num_results += passed;
    }
    for (uint32_t k = 0; k < f->inputs.len; k++)
        s.passed[r + k] = find_arg(args, num_args, f->inputs.data[k].name) ? '1' : '0';
    for (size_t k = 0; k < num_args; k++)
        s.all_known &=
            args[k].name && (ir_find_input(f, args[k].name) || ir_find_result(f, args[k].name));
    return s;
}

/* The results that are passed, and the inputs that are or that those need. */
static tg_program *with_ends(const Ends *s) {
    const Fn *f = s->f;
    Fn *to = ir_new_like(arena_new(), f, f->name);
    uint8_t *need = ARENA_ARRAY(to->arena, uint8_t, ir_count(f));
    Val *memo = ARENA_ARRAY(to->arena, Val, ir_count(f));
    for (uint32_t k = 0; k < f->results.len; k++)
        need[f->results.data[k].val] |= s->passed[k] == '1';
    for (Val v = ir_count(f) - 1; v > 0; v--)
        for (uint32_t k = 0; need[v] && k < ir_node(f, v)->num_args; k++) need[ir_arg(f, v, k)] = 1;
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        Binding b = f->inputs.data[k];
        if (need[b.val] || s->passed[f->results.len + k] == '1')
            memo[b.val] = ir_input(to, b.name, *ir_type(f, b.val));
    }
    for (uint32_t k = 0; k < f->results.len; k++) {
        Binding b = f->results.data[k];
        if (s->passed[k] == '1') ir_add_result(to, b.name, ir_copy(to, f, b.val, memo));
    }
    TIGA_ASSERT(!to->status);
    to->prepared = f->prepared;
    return program_of(to);
}

/* Where some results are bound and others are not: a variant of those alone, since one kernel would
 * compute both. A name that is unknown leaves all of them, for the message that it will get. */
static Status leave_unbound(Arena *a, const tg_arg *args, size_t num_args, tg_program **typed,
                            bool *fresh) {
    tg_program *all = *typed;
    Ends s = ends_passed(a, all->fn, args, num_args);
    if (!s.num_results || s.num_results == s.f->results.len || !s.all_known) return ST_OK;
    program_lock();
    tg_program *there = find_variant(all, s.passed);
    program_unlock();
    Status st = ST_OK;
    *fresh |= !there;
    if (there) *typed = program_ref(there);
    else st = add_variant(all, s.passed, with_ends(&s), typed);
    tg_program_free(all);
    return st;
}

Status program_typed(const tg_program *p, const tg_arg *args, size_t num_args, tg_program **out,
                     bool *fresh) {
    *fresh = false;
    return typed_for(p, args, num_args, out, fresh);
}

Status program_asked(const tg_program *p, const tg_arg *args, size_t num_args, tg_program **out,
                     bool *fresh) {
    *fresh = false;
    Status st = typed_for(p, args, num_args, out, fresh);
    if (st) return st;
    Arena *a = arena_new();
    st = leave_unbound(a, args, num_args, out, fresh);
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
