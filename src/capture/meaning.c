/* Formula trees as programs: names, places and reducers. Everything else is build.h's.
 *
 * A place decides what src.x and dst.x are: inside a reducer's parentheses the edge's ends, elsewhere
 * the nodes' own. Inside src(..) and dst(..) it is the nodes' own again. */
#include "capture/meaning_internal.h"

#include "capture/names.h"
#include "ir/type.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- names ---- */

static bool is_none(const Expr *e) { return e->kind == EXPR_name && !strcmp(e->text, "None"); }

static Val word(Meaning *m, const Expr *e) {
    if (!strcmp(e->text, "inf")) return build_number(m->b, INFINITY);
    if (!strcmp(e->text, "nan")) return build_number(m->b, NAN);
    if (is_none(e)) return fault(m, e, ST_INVAL, "None is a new axis: write it in brackets");
    return build_truth(m->b, is_truth(e->text));
}

static const FormulaInput *find_bound(const Meaning *m, const char *name) {
    for (uint32_t k = 0; k < m->num_inputs; k++)
        if (!strcmp(m->inputs[k].name, name)) return &m->inputs[k];
    return NULL;
}

static Val not_bound(Meaning *m, const char *name) {
    Near near = near_to(name);
    Text passed = {.arena = m->arena};
    text_put(&passed, m->num_inputs ? "" : "nothing");
    for (uint32_t k = m->locals.len; k-- > 0;) near_try(&near, m->locals.data[k].name);
    for (uint32_t k = 0; k < m->num_inputs; k++) {
        near_try(&near, m->inputs[k].name);
        text_putf(&passed, k ? ", %s" : "%s", m->inputs[k].name);
    }
    return build_fail(m->b, ST_NAME, "'%s' is not defined above and not bound%s (passed: %s)", name,
                      near_hint(&near), passed.text);
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
    return not_bound(m, e->text);
}

/* A parameter that is one float64 or int64 is a number at run time: it never widens what it meets. */
static bool is_number(const FormulaInput *in) {
    return in->rank == 0 && !name_is_field(in->name) &&
           (in->dtype == DT_f64 || in->dtype == DT_i64);
}

static Val input(Meaning *m, const Expr *e, bool on_edges) {
    const FormulaInput *in = find_bound(m, e->text);
    if (!in) return unknown_name(m, e);
    m->at = e->at;
    Val v = is_number(in) ? build_scalar_input(m->b, in->name, in->dtype == DT_i64)
                          : build_input(m->b, in->name, in->dtype, in->rank, in->dim);
    build_name(m->b, v, in->name);
    if (on_edges && !strncmp(e->text, "src.", 4)) return build_at(m->b, v, m->b->to_src);
    if (on_edges && !strncmp(e->text, "dst.", 4)) return build_at(m->b, v, m->b->to_dst);
    return v;
}

/* Of the state of the reducer being read: what lift gives, or one where lift is left out. */
static uint32_t num_components(const Meaning *m) {
    const Line *lift = formula_part(m->formula, m->part->name, "lift");
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
    m->at = e->at;
    Near near = near_to(e->text);
    for (uint32_t k = 0; k < p->num_params; k++) near_try(&near, p->params[k]);
    return build_fail(m->b, ST_NAME,
                      "'%s': a reducer's part may use its own parameters and numbers only%s",
                      e->text, near_hint(&near));
}

static Local *find_local(Meaning *m, const char *name) {
    for (uint32_t k = m->locals.len; k-- > 0;)
        if (!strcmp(m->locals.data[k].name, name)) return &m->locals.data[k];
    return NULL;
}

/* A parameter, or a number that a line above the call defined. */
static Val part_name(Meaning *m, const Expr *e) {
    Local *l = find_local(m->outer, e->text);
    const Builder *b = m->outer->b;
    double number;
    bool is_param = false;
    for (uint32_t k = 0; k < m->part->num_params; k++)
        is_param |= !strcmp(m->part->params[k], e->text);
    if (is_param || !l || !build_constant(b, l->val, &number)) return part_param(m, e, 0);
    l->used = true;
    return ir_type(b->f, l->val)->dtype == DT_i64 ? build_integer(m->b, (int64_t)number)
                                                  : build_number(m->b, number);
}

static Val name_value(Meaning *m, const Expr *e, bool on_edges) {
    if (name_is_word(e->text)) return word(m, e);
    Local *l = find_local(m, e->text);
    if (!l) return m->part ? part_name(m, e) : input(m, e, on_edges);
    l->used = true;
    return l->val;
}

/* ---- indices ---- */

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

static bool takes_none(const Item *item) { return item->start && is_none(item->start); }

/* table[index]: the first feature axis gives way to the index's own; *axis is behind those then. */
static Val index_rows(Meaning *m, Val v, const Expr *e, bool on_edges, int64_t *axis) {
    if (*axis != (ir_type(m->b->f, v)->set != SET_ALL))
        return fault(m, e, ST_INVAL,
                     "a position is a whole number (an index that is a value "
                     "stands first)");
    Val index = meaning_value(m, e, on_edges), args[] = {v, index};
    m->at = e->at;
    v = index ? build_call(m->b, "take", args, 2, NULL, 0) : 0;
    if (v) *axis = (ir_type(m->b->f, v)->set != SET_ALL) + ir_type(m->b->f, index)->rank;
    return v;
}

static Val index_axis(Meaning *m, Val v, const Item *item, bool on_edges, int64_t *at) {
    int64_t axis = *at, ints[4] = {axis};
    *at += item->slice || takes_none(item);
    if (!item->slice && takes_none(item)) return build_call(m->b, "unsqueeze", &v, 1, ints, 1);
    if (item->slice)
        return slice_bounds(m, item, &ints[1], &ints[2], &ints[3])
                   ? build_call(m->b, "slice", &v, 1, ints, 4)
                   : 0;
    if (!whole_number(item->start, &ints[1])) return index_rows(m, v, item->start, on_edges, at);
    return build_call(m->b, "index", &v, 1, ints, 2);
}

/* Places are feature axes from the first on, whole numbers, slices or a value first; "..." stands for all that are not named. */
static Val index_value(Meaning *m, const Expr *e, bool on_edges) {
    int64_t component;
    const Expr *of = e->args[0];
    if (m->part && of->kind == EXPR_name && !name_is_word(of->text) && !find_local(m, of->text)) {
        if (e->num_items != 1 || e->items[0].slice || e->items[0].rest ||
            !whole_number(e->items[0].start, &component) || component < 0 ||
            component >= REDUCER_MAX_STATE)
            return fault(m, e, ST_INVAL, "a state component is a whole number from 0");
        return part_param(m, of, (uint32_t)component);
    }
    Val v = meaning_value(m, of, on_edges);
    if (!v) return 0;
    m->at = e->at;
    int64_t axis = ir_type(m->b->f, v)->set != SET_ALL;
    for (uint32_t k = 0; k < e->num_items && v; k++) {
        if (e->items[k].rest) {
            int64_t left = 0;
            for (uint32_t i = k + 1; i < e->num_items; i++) left += !takes_none(&e->items[i]);
            axis = ir_type(m->b->f, v)->rank + (ir_type(m->b->f, v)->set != SET_ALL) - left;
            continue;
        }
        v = index_axis(m, v, &e->items[k], on_edges, &axis);
    }
    return v;
}

/* ---- calls ---- */

static int find_dtype(const char *name) {
    int d = 0;
    while (d < NUM_DTYPES && strcmp(dtype_user_name((Dtype)d), name) != 0) d++;
    return d;
}

/* float64(x). A part is read for float32 and used for any messages: no float is named there. */
static Val cast_call(Meaning *m, const Expr *e, const Call *c, Dtype dtype) {
    if (c->num_args != 1 || e->num_keywords)
        return fault(m, e, ST_INVAL, "a cast takes one operand");
    if (m->part && dtype_is_float(dtype))
        return fault(m, e, ST_UNSUPPORTED,
                     "a reducer's part has the dtype of its messages: cast the message");
    return build_rounded(m->b, c->args[0], dtype);
}

static Val unknown_function(Meaning *m, const char *name) {
    Near near = near_to(name);
    for (uint32_t k = 0; k < m->formula->num_lines; k++)
        if (m->formula->lines[k].part) near_try(&near, m->formula->lines[k].name);
    for (size_t k = 0; reducer_builtin_name(k); k++) near_try(&near, reducer_builtin_name(k));
    for (int d = 0; d < NUM_DTYPES; d++) near_try(&near, dtype_user_name((Dtype)d));
    return build_unknown(m->b, near);
}

/* keepdims before the axes for folds; the axes alone elsewhere. */
static Val call_by_name(Meaning *m, const Expr *e, const char *name, bool on_edges) {
    Call c;
    int64_t ints[MAX_INTS];
    uint32_t n = 0;
    int dtype = find_dtype(name);
    if (!arguments_read(m, e, on_edges, &c)) return 0;
    if (dtype < NUM_DTYPES) return cast_call(m, e, &c, (Dtype)dtype);
    if (!strcmp(name, "softmax") && c.num_args && !ir_type(m->b->f, c.args[0])->rank)
        return fault(m, e, ST_SHAPE,
                     "softmax of one operand goes along features, of which it has none: "
                     "softmax(score, value) goes along the edges");
    if (c.has_empty || c.unbiased)
        return fault(m, e, ST_INVAL,
                     "empty= and unbiased= belong to reducers, which take no axis=");
    if (c.num_args == 1 && is_one_of(name, "sum mean var std prod max min any all logsumexp norm"))
        ints[n++] = c.keep;
    if (c.has_keep && !n)
        return fault(m, e, ST_INVAL,
                     "keepdims= belongs to folds of one operand: sum, mean, max, ...");
    if (n && c.has_axis && !c.num_axes)
        return fault(m, e, ST_INVAL, "axis=[] names no axis: leave it out, or name one");
    for (uint32_t k = 0; k < c.num_axes; k++) ints[n++] = c.axes[k];
    if (c.num_axes > 1 && is_one_of(name, "softmax log_softmax cumsum cat stack unsqueeze flatten"))
        return build_fail(m->b, ST_INVAL, "%s takes one axis", name);
    if (!strcmp(name, "clamp") && c.num_args == 3 && !c.args[1]) {
        name = "clamp_max";
        c.num_args = 2;
        c.args[1] = c.args[2];
    }
    return build_has(name) ? build_call(m->b, name, c.args, c.num_args, ints, n)
                           : unknown_function(m, name);
}

/* ---- reducers ---- */

static const struct {
    const char *name;
    int flag;
} declarations[] = {{"associative", REDUCER_associative},
                    {"commutative", REDUCER_commutative},
                    {"deterministic", REDUCER_deterministic}};
enum { NUM_DECLARATIONS = sizeof declarations / sizeof *declarations };

static bool is_declaration(const Line *line) {
    for (int k = 0; k < NUM_DECLARATIONS; k++)
        if (!strcmp(line->part, declarations[k].name)) return true;
    return false;
}

/* Of a line that says true or false. */
static bool is_true(const Line *line) {
    const char *text = line->values[0]->text;
    return !strcmp(text, "true") || !strcmp(text, "True");
}

static void check_declaration(Meaning *m, const Line *line) {
    bool plain = !line->num_params && !line->num_names && line->num_values == 1 &&
                 line->values[0]->kind == EXPR_name;
    const char *text = plain ? line->values[0]->text : "";
    if (!plain || !(is_true(line) || !strcmp(text, "false") || !strcmp(text, "False")))
        build_fail(m->b, ST_INVAL, "%s.%s is true or false: %s.%s = true", line->name, line->part,
                   line->name, line->part);
    else if (!formula_part(m->formula, line->name, "combine"))
        build_fail(m->b, ST_NAME, "%s.%s: reducer '%s' has no line %s.combine", line->name,
                   line->part, line->name, line->name);
}

static int declared(const Formula *formula, const char *name) {
    int flags = 0;
    for (int k = 0; k < NUM_DECLARATIONS; k++) {
        const Line *line = formula_part(formula, name, declarations[k].name);
        if (line && is_true(line)) flags |= declarations[k].flag;
    }
    return flags;
}

/* Parameters by count, and once each. */
static void check_params(Meaning *m, const Line *line) {
    const char *part = line->part;
    uint32_t n = line->num_params;
    bool fits = !strcmp(part, "identity")   ? n == 0
                : !strcmp(part, "combine")  ? n == 2
                : !strcmp(part, "finalize") ? n == 1
                                            : n > 0;
    if (!fits)
        build_fail(m->b, ST_INVAL, "%s.%s: %u parameter%s, expected %s", line->name, part, n,
                   n == 1 ? "" : "s",
                   !strcmp(part, "identity")   ? "none"
                   : !strcmp(part, "combine")  ? "two states: combine(a, b)"
                   : !strcmp(part, "finalize") ? "the state: finalize(s)"
                                               : "a name for each message");
    for (uint32_t i = 0; fits && i < n; i++) {
        if (name_is_word(line->params[i]))
            build_fail(m->b, ST_NAME, "%s.%s: no parameter can be named '%s'", line->name, part,
                       line->params[i]);
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(line->params[i], line->params[k]))
                build_fail(m->b, ST_NAME, "%s.%s: two parameters are named '%s'", line->name, part,
                           line->params[i]);
    }
}

/* A part has one line. */
static void check_part(Meaning *m, const Line *line) {
    const Line *first = formula_part(m->formula, line->name, line->part);
    m->at = line->at;
    if (is_declaration(line)) check_declaration(m, line);
    else check_params(m, line);
    if (first != line)
        build_fail(m->b, ST_NAME, "%s.%s is defined already, on line %d", line->name, line->part,
                   first->at.line);
}

static Status define(Meaning *m, const char *name, Where at, const Expr *e);

/* The function of one part, in a builder of its own. */
static const Fn *read_part(Meaning *m, const Line *line) {
    Meaning own = {.arena = m->arena, .formula = m->formula, .part = line, .outer = m};
    Builder *b = own.b = build_new(m->arena, line->part, true);
    for (uint32_t k = 0; k < line->num_names && !b->f->status; k++)
        define(&own, line->names[k].name, line->names[k].at, line->names[k].value);
    for (uint32_t k = 0; k < line->num_values && !b->f->status; k++) {
        Val v = build_strong(b, meaning_value(&own, line->values[k], false));
        if (v) ir_add_result(b->f, arena_printf(m->arena, "%u", k), v);
    }
    if (!b->f->status) return b->f;
    if (own.at.line) m->at = own.at;
    m->b->f->status = b->f->status;
    return NULL;
}

/* lift and finalize may be left out where the state is one component, the message itself. */
static const Fn *default_part(Meaning *m, const char *part) {
    Builder *b = build_new(m->arena, part, true);
    const char *name = !strcmp(part, "lift") ? "m0" : "s0";
    ir_add_result(b->f, "0", build_input(b, name, DT_f32, 0, NULL));
    return b->f;
}

static Reducer *own_reducer(Meaning *m, const Expr *e, const Call *c) {
    static const char *const parts[] = {"identity", "lift", "combine", "finalize"};
    const Fn *regions[4];
    Reducer *r;
    for (int k = 0; k < 4; k++) {
        const Line *line = formula_part(m->formula, e->text, parts[k]);
        uint32_t n = k ? regions[0]->results.len : 1; /* components of the state */
        if (!line && (k == 0 || k == 2 || n > 1)) {
            m->at = e->at;
            build_fail(m->b, ST_NAME, "reducer '%s' has no line %s.%s%s", e->text, e->text,
                       parts[k],
                       n > 1 && k != 2 ? ", which a state of several components needs" : "");
            return NULL;
        }
        if (line) m->at = line->at;
        regions[k] = line ? read_part(m, line) : default_part(m, parts[k]);
        if (!regions[k]) return NULL;
    }
    m->at = e->at;
    Status st = reducer_new(m->arena, e->text, declared(m->formula, e->text), regions[0],
                            regions[1], regions[2], regions[3], &r);
    if (st) return m->b->f->status = st, NULL;
    r->has_empty = c->has_empty;
    r->empty = c->empty;
    return r;
}

static Val reducer_call(Meaning *m, const Expr *e, bool on_edges) {
    Call c;
    if (on_edges)
        return fault(m, e, ST_INVAL,
                     "a reducer inside a reducer: name its result on a line of its own (on edges, "
                     "gather it there with src(..) or dst(..))");
    if (!arguments_read(m, e, true, &c)) return 0;
    Reducer *r = NULL;
    if (call_is_own_reducer(m->formula, e)) r = own_reducer(m, e, &c);
    else {
        const char *name = !strcmp(e->text, "softmax") ? "online_softmax"
                           : c.unbiased ? arena_printf(m->arena, "%s_unbiased", e->text)
                                        : e->text;
        Status st = reducer_builtin(m->arena, name, 0, c.has_empty, c.empty, &r);
        if (!strcmp(name, "quantile") && !c.has_share)
            return fault(m, e, ST_INVAL, "a quantile takes q=, a number from 0 to 1");
        if (!st && c.has_share) st = reducer_set_share(r, c.share);
        if (st) return m->b->f->status = st, 0;
    }
    if (!r) return 0;
    if (c.has_axis || c.has_keep)
        return build_fail(m->b, ST_INVAL,
                          "%s reduces edges or nodes here, not features: it takes empty= and no "
                          "axis= or keepdims=",
                          e->text);
    return reducer_lower(m->b, r, c.args, c.num_args);
}

static Val gather_call(Meaning *m, const Expr *e, Map map) {
    if (e->num_args != 1 || e->num_keywords)
        return fault(m, e, ST_INVAL, "src(..) and dst(..) take one node value");
    Val v = meaning_value(m, e->args[0], false);
    m->at = e->at;
    return build_at(m->b, v, map);
}

static Val call_value(Meaning *m, const Expr *e, bool on_edges) {
    if (m->b->f->status) return 0;
    bool to_src = !strcmp(e->text, "src"), to_dst = !strcmp(e->text, "dst");
    if (m->part && (to_src || to_dst || call_is_own_reducer(m->formula, e)))
        return fault(m, e, ST_INVAL, "no gather and no reducer stands in a reducer's part");
    if (!m->part && call_is_reducer(m->formula, e)) return reducer_call(m, e, on_edges);
    if (to_src || to_dst) return gather_call(m, e, to_src ? m->b->to_src : m->b->to_dst);
    return call_by_name(m, e, e->text, on_edges);
}

Val meaning_value(Meaning *m, const Expr *e, bool on_edges) {
    switch (e->kind) {
    case EXPR_number:
        return e->integer ? build_integer(m->b, e->whole) : build_number(m->b, e->number);
    case EXPR_name: return name_value(m, e, on_edges);
    case EXPR_call: return call_value(m, e, on_edges);
    case EXPR_index: return index_value(m, e, on_edges);
    case EXPR_tuple: return fault(m, e, ST_INVAL, "a list in brackets has no value here");
    }
    TIGA_UNREACHABLE("expression kind");
}

/* ---- lines ---- */

static Status define(Meaning *m, const char *name, Where at, const Expr *e) {
    m->at = at;
    bool is_param = false;
    for (uint32_t k = 0; m->part && k < m->part->num_params; k++)
        is_param |= !strcmp(m->part->params[k], name);
    if (name_is_word(name) || !strcmp(name, "src") || !strcmp(name, "dst"))
        build_fail(m->b, ST_NAME, "'%s' cannot be defined", name);
    else if (is_param || find_local(m, name))
        build_fail(m->b, ST_NAME, "'%s' is defined already", name);
    Val v = m->b->f->status ? 0 : meaning_value(m, e, false);
    if (v) *vec_push(m->arena, &m->locals) = (Local){name, v, false};
    build_name(m->b, v, name);
    return m->b->f->status;
}

static Status positioned(const Meaning *m, Status st) {
    char message[ERR_MESSAGE_SIZE];
    snprintf(message, sizeof message, "%s", err_message());
    return err_set(st, "%d:%d: %s", m->at.line, m->at.column, message);
}

static bool is_listed(const char *const *names, uint32_t n, const char *name) {
    for (uint32_t k = 0; k < n; k++)
        if (!strcmp(names[k], name)) return true;
    return false;
}

Status formula_build(Arena *takes, const Formula *formula, const FormulaInput *inputs,
                     uint32_t num_inputs, const char *const *results, uint32_t num_results,
                     Fn **out) {
    Meaning m = {.arena = takes, .formula = formula, .inputs = inputs, .num_inputs = num_inputs};
    m.b = build_new(takes, "main", formula_is_homogeneous(formula));
    for (uint32_t k = 0; k < formula->num_lines; k++) {
        const Line *line = &formula->lines[k];
        if (line->part) check_part(&m, line);
        else define(&m, line->name, line->at, line->values[0]);
        if (m.b->f->status) return positioned(&m, m.b->f->status);
    }
    for (uint32_t k = 0; k < m.locals.len; k++) {
        const Local *l = &m.locals.data[k];
        if (!l->used || !strcmp(l->name, "out") || is_listed(results, num_results, l->name))
            ir_add_result(m.b->f, l->name, build_strong(m.b, l->val));
    }
    if (!m.b->f->results.len) return err_set(ST_SYNTAX, "1:1: the formula defines no result");
    *out = build_program(m.b, takes);
    return ST_OK;
}
