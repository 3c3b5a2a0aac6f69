/* Formula trees as programs: names, places and reducers. Everything else is build.h's.
 *
 * A place decides what src.x and dst.x are: inside a reducer's parentheses the edge's ends, elsewhere
 * the nodes' own. Inside src(..) and dst(..) it is the nodes' own again. */
#include "capture/meaning.h"

#include "ir/type.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name;
    Val val;
    bool used;
    Where at;
} Local;

typedef struct {
    Arena *arena;
    const Formula *formula;
    Builder *b;
    const FormulaInput *inputs;
    uint32_t num_inputs;
    VEC(Local) locals;
    const Line *part; /* the reducer part being read: its parameters are names */
    Where at;         /* where the fault is, should one come */
} Meaning;

static Val value(Meaning *m, const Expr *e, bool on_edges);

static Val fault(Meaning *m, const Expr *e, Status status, const char *why) {
    m->at = e->at;
    return build_fail(m->b, status, "%s", why);
}

/* ---- names ---- */

static bool is_field(const char *name) {
    return !strncmp(name, "src.", 4) || !strncmp(name, "dst.", 4) || !strncmp(name, "edge.", 5) ||
           !strncmp(name, "node.", 5);
}

static bool is_word(const char *name) {
    return !strcmp(name, "inf") || !strcmp(name, "nan") || !strcmp(name, "true") ||
           !strcmp(name, "false");
}

static Val word(Meaning *m, const char *name) {
    if (!strcmp(name, "inf")) return build_number(m->b, INFINITY);
    if (!strcmp(name, "nan")) return build_number(m->b, NAN);
    return build_truth(m->b, !strcmp(name, "true"));
}

static const FormulaInput *find_bound(const Meaning *m, const char *name) {
    for (uint32_t k = 0; k < m->num_inputs; k++)
        if (!strcmp(m->inputs[k].name, name)) return &m->inputs[k];
    return NULL;
}

static Val unknown_name(Meaning *m, const Expr *e) {
    m->at = e->at;
    for (uint32_t k = 0; k < m->formula->num_lines; k++) {
        const Line *l = &m->formula->lines[k];
        if (strcmp(l->name, e->text)) continue;
        if (l->part)
            return build_fail(m->b, ST_NAME, "'%s' is a reducer, not a value: call it", e->text);
        return build_fail(m->b, ST_NAME, "'%s' is defined on line %d: a line uses what is above it",
                          e->text, l->at.line);
    }
    return build_fail(m->b, ST_NAME, "'%s' is not defined above and not bound", e->text);
}

/* A parameter that is one float64 or int64 is a number at run time: it never widens what it meets. */
static bool is_number(const FormulaInput *in) {
    return in->rank == 0 && !is_field(in->name) && (in->dtype == DT_f64 || in->dtype == DT_i64);
}

static Val input(Meaning *m, const Expr *e, bool on_edges) {
    const FormulaInput *in = find_bound(m, e->text);
    if (!in) return unknown_name(m, e);
    m->at = e->at;
    Val v = is_number(in) ? build_scalar_input(m->b, in->name, in->dtype == DT_i64)
                          : build_input(m->b, in->name, in->dtype, in->rank, in->dim);
    if (on_edges && !strncmp(e->text, "src.", 4)) return build_at(m->b, v, m->b->to_src);
    if (on_edges && !strncmp(e->text, "dst.", 4)) return build_at(m->b, v, m->b->to_dst);
    return v;
}

static const Line *find_part(const Meaning *m, const char *name, const char *part);

/* Of the state of the reducer being read: what lift gives, or one where lift is left out. */
static uint32_t num_components(const Meaning *m) {
    const Line *lift = find_part(m, m->part->name, "lift");
    return lift ? lift->num_values : 1;
}

/* "m0" for the first parameter of lift; l0, r0 for combine's two; s0 for finalize's one. */
static Val part_param(Meaning *m, const Expr *e, uint32_t component) {
    const Line *p = m->part;
    char name[16];
    for (uint32_t k = 0; k < p->num_params; k++) {
        if (strcmp(p->params[k], e->text)) continue;
        if (!strcmp(p->part, "lift") && component)
            return fault(m, e, ST_INVAL, "a message has no components");
        if (component >= num_components(m))
            return m->at = e->at,
                   build_fail(m->b, ST_RANGE, "'%s[%u]': the state has %u component%s", e->text,
                              component, num_components(m), num_components(m) == 1 ? "" : "s");
        if (!strcmp(p->part, "lift")) snprintf(name, sizeof name, "m%u", k);
        else
            snprintf(name, sizeof name, "%c%u",
                     !strcmp(p->part, "finalize") ? 's'
                     : k                          ? 'r'
                                                  : 'l',
                     component);
        return build_input(m->b, name, DT_f32, 0, NULL);
    }
    return fault(m, e, ST_NAME, "a reducer's part may use its own parameters and numbers only");
}

static Val name_value(Meaning *m, const Expr *e, bool on_edges) {
    if (is_word(e->text)) return word(m, e->text);
    if (m->part) return part_param(m, e, 0);
    for (uint32_t k = m->locals.len; k-- > 0;) {
        Local *l = &m->locals.data[k];
        if (strcmp(l->name, e->text)) continue;
        l->used = true;
        return l->val;
    }
    return input(m, e, on_edges);
}

/* ---- indices ---- */

static bool whole_number(const Expr *e, int64_t *out) {
    double sign = 1;
    if (e->kind == EXPR_call && !strcmp(e->text, "neg") && e->num_args == 1)
        sign = -1, e = e->args[0];
    if (e->kind != EXPR_number || !e->integer) return false;
    *out = (int64_t)(sign * e->number);
    return true;
}

static bool bound(Meaning *m, const Expr *e, int64_t otherwise, int64_t *out) {
    *out = otherwise;
    return !e || whole_number(e, out) ||
           (fault(m, e, ST_INVAL, "a slice takes whole numbers"), false);
}

/* Python's defaults: a falling slice starts at the end. */
static bool slice_bounds(Meaning *m, const Item *item, int64_t *start, int64_t *stop,
                         int64_t *step) {
    if (!bound(m, item->step, 1, step)) return false;
    bool down = *step < 0;
    return bound(m, item->start, down ? INT64_MAX : 0, start) &&
           bound(m, item->stop, down ? INT64_MIN : INT64_MAX, stop);
}

static Val index_axis(Meaning *m, Val v, const Item *item, int64_t axis) {
    int64_t ints[4] = {axis};
    if (item->slice)
        return slice_bounds(m, item, &ints[1], &ints[2], &ints[3])
                   ? build_call(m->b, "slice", &v, 1, ints, 4)
                   : 0;
    if (!whole_number(item->start, &ints[1]))
        return fault(m, item->start, ST_INVAL, "a position is a whole number");
    return build_call(m->b, "index", &v, 1, ints, 2);
}

/* Places are feature axes from the first on; "..." stands for all that are not named. */
static Val index_value(Meaning *m, const Expr *e, bool on_edges) {
    int64_t component;
    const Expr *of = e->args[0];
    if (m->part && of->kind == EXPR_name && !is_word(of->text)) {
        if (e->num_items != 1 || e->items[0].slice || e->items[0].rest ||
            !whole_number(e->items[0].start, &component) || component < 0 ||
            component >= REDUCER_MAX_STATE)
            return fault(m, e, ST_INVAL, "a state component is a whole number from 0");
        return part_param(m, of, (uint32_t)component);
    }
    Val v = value(m, of, on_edges);
    if (!v) return 0;
    m->at = e->at;
    int64_t axis = ir_type(m->b->f, v)->set != SET_ALL;
    for (uint32_t k = 0; k < e->num_items && v; k++) {
        if (e->items[k].rest) {
            int64_t left = (int64_t)(e->num_items - k - 1);
            axis = ir_type(m->b->f, v)->rank + (ir_type(m->b->f, v)->set != SET_ALL) - left;
            continue;
        }
        v = index_axis(m, v, &e->items[k], axis);
        axis += e->items[k].slice;
    }
    return v;
}

/* ---- calls ---- */

enum { MAX_ARGS = 64, MAX_INTS = 16 };

typedef struct {
    Val args[MAX_ARGS];
    uint32_t num_args;
    bool has_axis, keep, has_keep, has_empty;
    double empty;
    int64_t axes[MAX_INTS];
    uint32_t num_axes;
} Call;

static bool read_axes(Meaning *m, const Expr *e, Call *c) {
    const Expr *const *items = e->kind == EXPR_tuple ? e->args : &e;
    c->num_axes = e->kind == EXPR_tuple ? e->num_args : 1;
    c->has_axis = true;
    for (uint32_t k = 0; k < c->num_axes; k++)
        if (k >= MAX_INTS - 1 || !whole_number(items[k], &c->axes[k]))
            return fault(m, e, ST_INVAL, "axis= takes a whole number, or several in parentheses"),
                   false;
    return true;
}

static bool read_number(const Expr *e, double *out) {
    double sign = 1;
    if (e->kind == EXPR_call && !strcmp(e->text, "neg") && e->num_args == 1)
        sign = -1, e = e->args[0];
    if (e->kind == EXPR_number) *out = sign * e->number;
    else if (e->kind == EXPR_name && !strcmp(e->text, "inf")) *out = sign * INFINITY;
    else if (e->kind == EXPR_name && !strcmp(e->text, "nan")) *out = NAN;
    else return false;
    return true;
}

static bool read_keyword(Meaning *m, const Keyword *k, Call *c) {
    if (!strcmp(k->name, "axis") || !strcmp(k->name, "dim") || !strcmp(k->name, "shape"))
        return read_axes(m, k->value, c);
    if (!strcmp(k->name, "keepdims") || !strcmp(k->name, "keepdim")) {
        c->has_keep = true;
        c->keep = k->value->kind == EXPR_name && !strcmp(k->value->text, "true");
        bool off = k->value->kind == EXPR_name && !strcmp(k->value->text, "false");
        return c->keep || off ||
               (fault(m, k->value, ST_INVAL, "keepdims= is true or false"), false);
    }
    if (!strcmp(k->name, "empty")) {
        c->has_empty = true;
        return read_number(k->value, &c->empty) ||
               (fault(m, k->value, ST_INVAL, "empty= takes a number"), false);
    }
    m->at = k->value->at;
    build_fail(m->b, ST_NAME, "no keyword '%s' (axis, keepdims, empty and shape exist)", k->name);
    return false;
}

static bool has_keyword(const Expr *e, const char *name) {
    for (uint32_t k = 0; k < e->num_keywords; k++)
        if (!strcmp(e->keywords[k].name, name)) return true;
    return false;
}

static bool read_call(Meaning *m, const Expr *e, bool on_edges, Call *c) {
    *c = (Call){.num_args = e->num_args};
    if (e->num_args > MAX_ARGS) return fault(m, e, ST_UNSUPPORTED, "more than 64 arguments"), false;
    for (uint32_t k = 0; k < e->num_args; k++)
        if (!(c->args[k] = value(m, e->args[k], on_edges))) return false;
    for (uint32_t k = 0; k < e->num_keywords; k++)
        if (!read_keyword(m, &e->keywords[k], c)) return false;
    m->at = e->at;
    return true;
}

/* keepdims before the axes for folds; the axes alone elsewhere. */
static Val call_by_name(Meaning *m, const Expr *e, const char *name, bool on_edges) {
    static const char *const folds[] = {"sum", "mean", "var", "prod",      "max",
                                        "min", "any",  "all", "logsumexp", "norm"};
    Call c;
    int64_t ints[MAX_INTS];
    uint32_t n = 0;
    if (!read_call(m, e, on_edges, &c)) return 0;
    if (c.has_empty) return fault(m, e, ST_INVAL, "empty= belongs to reducers: it takes no axis=");
    for (size_t k = 0; k < sizeof folds / sizeof *folds && c.num_args == 1; k++)
        if (!strcmp(folds[k], name)) ints[n++] = c.keep;
    if (c.has_keep && !n)
        return fault(m, e, ST_INVAL,
                     "keepdims= belongs to folds of one operand: sum, mean, max, ...");
    for (uint32_t k = 0; k < c.num_axes; k++) ints[n++] = c.axes[k];
    return build_call(m->b, name, c.args, c.num_args, ints, n);
}

/* ---- reducers ---- */

static const Line *find_part(const Meaning *m, const char *name, const char *part) {
    for (uint32_t k = 0; k < m->formula->num_lines; k++) {
        const Line *l = &m->formula->lines[k];
        if (l->part && !strcmp(l->name, name) && !strcmp(l->part, part)) return l;
    }
    return NULL;
}

static bool is_own_reducer(const Meaning *m, const char *name) {
    return find_part(m, name, "combine") || find_part(m, name, "identity");
}

/* Parameters by count, and once each; a part has one line. */
static bool check_part(Meaning *m, const Line *line) {
    const char *part = line->part;
    uint32_t n = line->num_params;
    m->at = line->at;
    bool fits = !strcmp(part, "identity")   ? n == 0
                : !strcmp(part, "combine")  ? n == 2
                : !strcmp(part, "finalize") ? n == 1
                                            : n > 0;
    if (!fits)
        build_fail(m->b, ST_INVAL, "%s.%s: %u parameters, expected %s", line->name, part, n,
                   !strcmp(part, "identity")   ? "none"
                   : !strcmp(part, "combine")  ? "two states: combine(a, b)"
                   : !strcmp(part, "finalize") ? "the state: finalize(s)"
                                               : "a name for each message");
    for (uint32_t i = 0; fits && i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(line->params[i], line->params[k]))
                build_fail(m->b, ST_NAME, "%s.%s: two parameters are named '%s'", line->name, part,
                           line->params[i]);
    const Line *first = find_part(m, line->name, part);
    if (first != line)
        build_fail(m->b, ST_NAME, "%s.%s is defined already, on line %d", line->name, part,
                   first->at.line);
    return !m->b->f->status;
}

/* The function of one part, in a builder of its own. */
static const Fn *read_part(Meaning *m, const Line *line) {
    Meaning own = {.arena = m->arena, .formula = m->formula, .part = line};
    own.b = build_new(m->arena, line->part, true);
    for (uint32_t k = 0; k < line->num_values; k++) {
        Val v = build_strong(own.b, value(&own, line->values[k], false));
        if (!v) {
            if (own.at.line) m->at = own.at;
            m->b->f->status = own.b->f->status;
            return NULL;
        }
        ir_add_result(own.b->f, arena_printf(m->arena, "%u", k), v);
    }
    return own.b->f;
}

/* lift and finalize may be left out where the state is the message itself. */
static const Fn *default_part(Meaning *m, const char *part) {
    Builder *b = build_new(m->arena, part, true);
    const char *name = !strcmp(part, "lift") ? "m0" : "s0";
    ir_add_result(b->f, "0", build_input(b, name, DT_f32, 0, NULL));
    return b->f;
}

static Reducer *own_reducer(Meaning *m, const Expr *e) {
    static const char *const parts[] = {"identity", "lift", "combine", "finalize"};
    const Fn *regions[4];
    Reducer *r;
    for (int k = 0; k < 4; k++) {
        const Line *line = find_part(m, e->text, parts[k]);
        if (!line && (k == 0 || k == 2)) {
            m->at = e->at;
            build_fail(m->b, ST_NAME, "reducer '%s' has no line %s.%s", e->text, e->text, parts[k]);
            return NULL;
        }
        if (line) m->at = line->at;
        regions[k] = line ? read_part(m, line) : default_part(m, parts[k]);
        if (!regions[k]) return NULL;
    }
    m->at = e->at;
    Status st = reducer_new(m->arena, e->text, REDUCER_associative, regions[0], regions[1],
                            regions[2], regions[3], &r);
    if (st) m->b->f->status = st;
    return st ? NULL : r;
}

static bool is_builtin(const char *name) {
    return !strcmp(name, "softmax") || reducer_is_builtin(name);
}

/* sum(x) reduces along the relation; sum(x, axis=..) reduces features; max(x, y) is elementwise. */
static bool is_reducer_call(const Meaning *m, const Expr *e) {
    if (m->part) return false;
    if (is_own_reducer(m, e->text)) return true;
    if (!is_builtin(e->text) || has_keyword(e, "axis") || has_keyword(e, "dim")) return false;
    bool two = strstr(e->text, "softmax") != NULL;
    return e->num_args == (two ? 2u : 1u);
}

static Val reducer_call(Meaning *m, const Expr *e, bool on_edges) {
    Call c;
    if (on_edges)
        return fault(m, e, ST_INVAL,
                     "a reducer inside a reducer: name its result on a line of its own and gather "
                     "it with src(..) or dst(..)");
    if (!read_call(m, e, true, &c)) return 0;
    Reducer *r = NULL;
    if (is_own_reducer(m, e->text)) r = own_reducer(m, e);
    else {
        const char *name = !strcmp(e->text, "softmax") ? "online_softmax" : e->text;
        Status st = reducer_builtin(m->arena, name, c.has_empty, c.empty, &r);
        if (st) m->b->f->status = st;
    }
    if (!r) return 0;
    if (c.has_axis || c.has_keep) return fault(m, e, ST_INVAL, "a reducer takes empty= only");
    r->has_empty = c.has_empty;
    r->empty = c.empty;
    return reducer_lower(m->b, r, c.args, c.num_args);
}

static Val gather_call(Meaning *m, const Expr *e, Map map) {
    if (e->num_args != 1 || e->num_keywords)
        return fault(m, e, ST_INVAL, "src(..) and dst(..) take one node value");
    Val v = value(m, e->args[0], false);
    m->at = e->at;
    return build_at(m->b, v, map);
}

static Val call_value(Meaning *m, const Expr *e, bool on_edges) {
    if (m->b->f->status) return 0;
    if (is_reducer_call(m, e)) return reducer_call(m, e, on_edges);
    if (!m->part && !strcmp(e->text, "src")) return gather_call(m, e, m->b->to_src);
    if (!m->part && !strcmp(e->text, "dst")) return gather_call(m, e, m->b->to_dst);
    return call_by_name(m, e, e->text, on_edges);
}

static Val value(Meaning *m, const Expr *e, bool on_edges) {
    switch (e->kind) {
    case EXPR_number:
        return e->integer ? build_integer(m->b, (int64_t)e->number) : build_number(m->b, e->number);
    case EXPR_name: return name_value(m, e, on_edges);
    case EXPR_call: return call_value(m, e, on_edges);
    case EXPR_index: return index_value(m, e, on_edges);
    case EXPR_tuple: return fault(m, e, ST_INVAL, "a tuple has no value here");
    }
    TIGA_UNREACHABLE("expression kind");
}

/* ---- lines ---- */

static Status define(Meaning *m, const Line *line) {
    m->at = line->at;
    if (is_word(line->name) || !strcmp(line->name, "src") || !strcmp(line->name, "dst"))
        return build_fail(m->b, ST_NAME, "'%s' cannot be defined", line->name), m->b->f->status;
    for (uint32_t k = 0; k < m->locals.len; k++)
        if (!strcmp(m->locals.data[k].name, line->name))
            return build_fail(m->b, ST_NAME, "'%s' is defined already", line->name),
                   m->b->f->status;
    Val v = build_strong(m->b, value(m, line->values[0], false));
    if (v) *vec_push(m->arena, &m->locals) = (Local){line->name, v, false, line->at};
    return m->b->f->status;
}

static Status positioned(const Meaning *m, Status st) {
    char message[ERR_MESSAGE_SIZE];
    snprintf(message, sizeof message, "%s", err_message());
    return err_set(st, "%d:%d: %s", m->at.line, m->at.column, message);
}

Status formula_build(Arena *takes, const Formula *formula, const FormulaInput *inputs,
                     uint32_t num_inputs, Fn **out) {
    Meaning m = {.arena = takes, .formula = formula, .inputs = inputs, .num_inputs = num_inputs};
    m.b = build_new(takes, "main", formula_is_homogeneous(formula));
    for (uint32_t k = 0; k < formula->num_lines; k++) {
        const Line *line = &formula->lines[k];
        Status st = !line->part ? define(&m, line) : check_part(&m, line) ? ST_OK : m.b->f->status;
        if (st) return positioned(&m, st);
    }
    for (uint32_t k = 0; k < m.locals.len; k++)
        if (!m.locals.data[k].used || !strcmp(m.locals.data[k].name, "out"))
            ir_add_result(m.b->f, m.locals.data[k].name, m.locals.data[k].val);
    if (!m.b->f->results.len) return err_set(ST_SYNTAX, "1:1: the formula defines no result");
    *out = build_program(m.b, takes);
    return ST_OK;
}

/* ---- looking at the tree ---- */

typedef struct {
    const Formula *formula;
    Arena *arena;
    VEC(const char *) names;
    const Line *line;      /* lines above it are defined */
    bool node, src_of_dst; /* what formula_is_homogeneous asks */
} Look;

static bool is_defined(const Look *k, const char *name) {
    for (const Line *l = k->formula->lines; l < k->line; l++)
        if (!l->part && !strcmp(l->name, name)) return true;
    return false;
}

static void add_name(Look *k, const char *name) {
    for (uint32_t i = 0; i < k->names.len; i++)
        if (!strcmp(k->names.data[i], name)) return;
    *vec_push(k->arena, &k->names) = name;
}

/* Whether e mentions a destination's value: a field, a reducer's or a line's result. */
static bool of_destinations(const Look *k, const Expr *e) {
    if (e->kind == EXPR_name) return !strncmp(e->text, "dst.", 4) || is_defined(k, e->text);
    if (e->kind == EXPR_call && is_builtin(e->text) && !has_keyword(e, "axis")) return true;
    for (uint32_t i = 0; i < e->num_args; i++)
        if (of_destinations(k, e->args[i])) return true;
    return false;
}

static void look(Look *k, const Expr *e) {
    if (e->kind == EXPR_name && !is_word(e->text)) {
        k->node |= !strncmp(e->text, "node.", 5);
        if (is_field(e->text) || !is_defined(k, e->text)) add_name(k, e->text);
    }
    if (e->kind == EXPR_call && !strcmp(e->text, "src") && e->num_args == 1)
        k->src_of_dst |= of_destinations(k, e->args[0]);
    for (uint32_t i = 0; i < e->num_args; i++) look(k, e->args[i]);
}

static Look look_all(Arena *a, const Formula *formula) {
    Look k = {.formula = formula, .arena = a};
    for (uint32_t i = 0; i < formula->num_lines; i++) {
        k.line = &formula->lines[i];
        for (uint32_t j = 0; j < k.line->num_values && !k.line->part; j++)
            look(&k, k.line->values[j]);
    }
    return k;
}

void formula_inputs(Arena *a, const Formula *formula, const char *const **names,
                    uint32_t *num_names) {
    Look k = look_all(a, formula);
    *names = k.names.data;
    *num_names = k.names.len;
}

bool formula_is_homogeneous(const Formula *formula) {
    Arena *a = arena_new();
    Look k = look_all(a, formula);
    arena_free(a);
    return k.node || k.src_of_dst;
}
