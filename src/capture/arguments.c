/* The arguments of a call: operands by place or by name, axes and shapes, what a reducer takes. */
#include "capture/meaning_internal.h"

#include <math.h>

/* Whole numbers, which may stand in brackets. */
static bool read_places(Meaning *m, const Expr *const *items, uint32_t n, Call *c) {
    const Expr *first = items[0];
    if (n == 1 && first->kind == EXPR_tuple) items = first->args, n = first->num_args;
    if (c->has_axis) return fault(m, first, ST_INVAL, "the axes are given twice"), false;
    c->has_axis = true;
    c->num_axes = n;
    for (uint32_t k = 0; k < n; k++)
        if (k >= MAX_INTS - 1 || !whole_number(items[k], &c->axes[k]))
            return fault(m, first, ST_INVAL,
                         "an axis or shape is a whole number, or several in parentheses"),
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

static bool read_truth(Meaning *m, const Keyword *k, bool *out) {
    *out = k->value->kind == EXPR_name && is_truth(k->value->text);
    if (*out || (k->value->kind == EXPR_name && is_one_of(k->value->text, "false False")))
        return true;
    m->at = k->value->at;
    build_fail(m->b, ST_INVAL, "%s= is true or false", k->name);
    return false;
}

/* quantile(x, 0.25) or quantile(x, q=0.25). */
static bool read_share(Meaning *m, const Expr *e, Call *c) {
    c->has_share = true;
    return read_number(e, &c->share) ||
           (fault(m, e, ST_INVAL, "q= takes a number from 0 to 1"), false);
}

/* Operands that have a name: clamp(x, max=1). */
static bool read_named(Meaning *m, const char *function, const Keyword *k, bool on_edges, Call *c) {
    static const struct {
        const char *function, *keyword;
        uint32_t place;
    } named[] = {{"clamp", "min", 1},
                 {"clamp", "max", 2},
                 {"leaky_relu", "negative_slope", 1},
                 {"elu", "alpha", 1}};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        uint32_t place = named[i].place;
        if (strcmp(named[i].function, function) || strcmp(named[i].keyword, k->name)) continue;
        if (c->args[place])
            return fault(m, k->value, ST_INVAL, "the operand is given already"), false;
        if (c->num_args <= place) c->num_args = place + 1;
        return (c->args[place] = meaning_value(m, k->value, on_edges)) != 0;
    }
    static const char *const usual[] = {"axis", "keepdims", "empty", "shape", "unbiased"};
    Near near = near_to(k->name);
    Text own = {.arena = m->arena};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (strcmp(named[i].function, function) != 0) continue;
        near_try(&near, named[i].keyword);
        text_putf(&own, own.len ? ", %s" : "%s", named[i].keyword);
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual && !own.len; i++) near_try(&near, usual[i]);
    m->at = k->at;
    build_fail(m->b, ST_NAME, "no keyword '%s'%s (there are: %s)", k->name, near_hint(&near),
               own.len ? own.text : "axis, keepdims, empty, shape, unbiased");
    return false;
}

static bool read_keyword(Meaning *m, const Expr *e, const Keyword *k, bool on_edges, Call *c) {
    if (is_one_of(k->name, "axis dim shape")) return read_places(m, &k->value, 1, c);
    if (is_one_of(k->name, "keepdims keepdim"))
        return c->has_keep = true, read_truth(m, k, &c->keep);
    if (!strcmp(k->name, "unbiased") && is_one_of(e->text, "var std"))
        return read_truth(m, k, &c->unbiased);
    if (!strcmp(k->name, "q") && !strcmp(e->text, "quantile")) return read_share(m, k->value, c);
    if (strcmp(k->name, "empty") != 0) return read_named(m, e->text, k, on_edges, c);
    c->has_empty = true;
    return read_number(k->value, &c->empty) ||
           (fault(m, k->value, ST_INVAL, "empty= takes a number"), false);
}

/* Messages call an operand that has no name as it is written. */
static void name_operand(Meaning *m, const Expr *e, Val v) {
    enum { LONGEST = 48 };
    if (e->kind != EXPR_call && e->kind != EXPR_index) return;
    bool cut = e->len > LONGEST;
    char *text = arena_printf(m->b->f->arena, cut ? "%.*s .." : "%.*s", cut ? LONGEST : (int)e->len,
                              e->from);
    for (char *p = text; *p; p++)
        if (*p == '\n' || *p == '\r' || *p == '\t') *p = ' ';
    build_name(m->b, v, text);
}

static bool read_values(Meaning *m, const Expr *const *args, uint32_t n, bool on_edges, Call *c) {
    if (n > MAX_ARGS) return fault(m, args[0], ST_UNSUPPORTED, "more than 64 arguments"), false;
    c->num_args = n;
    for (uint32_t k = 0; k < n; k++)
        if (!(c->args[k] = meaning_value(m, args[k], on_edges))) return false;
        else name_operand(m, args[k], c->args[k]);
    return true;
}

/* cat((a, b), -1) is cat(a, b, axis=-1); reshape(x, -1, 2) is reshape(x, shape=(-1, 2)). */
static bool read_operands(Meaning *m, const Expr *e, bool on_edges, Call *c) {
    static const char shapes[] =
        "reshape broadcast_to expand permute transpose squeeze unsqueeze flatten";
    const Expr *first = e->num_args ? e->args[0] : NULL;
    if (e->num_args == 2 && !strcmp(e->text, "quantile"))
        return read_values(m, &first, 1, on_edges, c) && read_share(m, e->args[1], c);
    bool joins = first && first->kind == EXPR_tuple && is_one_of(e->text, "cat stack");
    if (!joins && !(e->num_args > 1 && is_one_of(e->text, shapes)))
        return read_values(m, e->args, e->num_args, on_edges, c);
    bool fine = joins ? read_values(m, first->args, first->num_args, on_edges, c)
                      : read_values(m, &first, 1, on_edges, c);
    return fine && (e->num_args == 1 || read_places(m, e->args + 1, e->num_args - 1, c));
}

bool arguments_read(Meaning *m, const Expr *e, bool on_edges, Call *c) {
    *c = (Call){0};
    if (!read_operands(m, e, on_edges, c)) return false;
    for (uint32_t k = 0; k < e->num_keywords; k++)
        if (!read_keyword(m, e, &e->keywords[k], on_edges, c)) return false;
    m->at = e->at;
    if (c->num_args && !c->args[0]) return fault(m, e, ST_INVAL, "no operand"), false;
    return true;
}
