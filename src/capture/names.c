/* What a formula's tree says by itself: which names are inputs, whether sources and destinations are one
 * set, which calls are reductions along the relation. */
#include "capture/names.h"

#include "capture/reducers.h"
#include "vocab/lib.h"

#include <string.h>

bool name_is_field(const char *name) {
    return !strncmp(name, "src.", 4) || !strncmp(name, "dst.", 4) || !strncmp(name, "edge.", 5) ||
           !strncmp(name, "node.", 5);
}

bool name_is_word(const char *name) {
    static const char *const words[] = {"inf", "nan", "true", "True", "false", "False", "None"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (!strcmp(name, words[k])) return true;
    return false;
}

const Line *formula_part(const Formula *formula, const char *name, const char *part) {
    for (uint32_t k = 0; k < formula->num_lines; k++) {
        const Line *l = &formula->lines[k];
        if (l->part && !strcmp(l->name, name) && !strcmp(l->part, part)) return l;
    }
    return NULL;
}

bool call_is_own_reducer(const Formula *formula, const Expr *e) {
    return formula_part(formula, e->text, "combine") || formula_part(formula, e->text, "identity");
}

static bool has_axis(const Expr *e) {
    for (uint32_t k = 0; k < e->num_keywords; k++)
        if (!strcmp(e->keywords[k].name, "axis") || !strcmp(e->keywords[k].name, "dim"))
            return true;
    return false;
}

bool call_is_reducer(const Formula *formula, const Expr *e) {
    bool weighted = !strcmp(e->text, "softmax") || !strcmp(e->text, "online_softmax");
    if (call_is_own_reducer(formula, e)) return true;
    if (!weighted && !reducer_is_builtin(e->text)) return false;
    if (!lib_find(e->text)) return true; /* argmax, median: features have none */
    bool share = e->num_args == 2 && !strcmp(e->text, "quantile");
    return !has_axis(e) && e->num_args == (weighted || share ? 2u : 1u);
}

/* ---- all of the tree ---- */

static uint32_t num_below(const Expr *e) { return e->num_args + e->num_keywords + e->num_items; }

/* NULL where a slice has no start. */
static const Expr *below(const Expr *e, uint32_t k) {
    if (k < e->num_args) return e->args[k];
    k -= e->num_args;
    return k < e->num_keywords ? e->keywords[k].value : e->items[k - e->num_keywords].start;
}

static bool mentions(const Expr *e, const char *name) {
    if (e->kind == EXPR_name && !strcmp(e->text, name)) return true;
    for (uint32_t k = 0; k < num_below(e); k++)
        if (below(e, k) && mentions(below(e, k), name)) return true;
    return false;
}

static bool line_mentions(const Line *l, const char *name) {
    for (uint32_t k = 0; k < l->num_values; k++)
        if (mentions(l->values[k], name)) return true;
    for (uint32_t k = 0; k < l->num_names; k++)
        if (mentions(l->names[k].value, name)) return true;
    return false;
}

bool formula_uses(const Formula *formula, const char *name) {
    for (const Line *l = formula->lines; l < formula->lines + formula->num_lines; l++)
        if (line_mentions(l, name)) return true;
    return false;
}

/* Wanted, part of a reducer, or mentioned by a line that is needed, be it above, which then says so. */
static bool is_needed(const Formula *formula, uint32_t line, const bool *needed,
                      const char *const *wanted, uint32_t num_wanted) {
    const Line *l = &formula->lines[line];
    if (l->part) return true;
    for (uint32_t k = 0; k < num_wanted; k++)
        if (!strcmp(wanted[k], l->name)) return true;
    for (uint32_t k = 0; k < formula->num_lines; k++)
        if (needed[k] && line_mentions(&formula->lines[k], l->name)) return true;
    return false;
}

Formula formula_only(Arena *a, const Formula *formula, const char *const *wanted,
                     uint32_t num_wanted) {
    bool *needed = ARENA_ARRAY(a, bool, formula->num_lines);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t k = formula->num_lines; k-- > 0;)
            if (!needed[k] && is_needed(formula, k, needed, wanted, num_wanted))
                needed[k] = more = true;
    }
    VEC(Line) lines = {0};
    for (uint32_t k = 0; k < formula->num_lines; k++)
        if (needed[k]) *vec_push(a, &lines) = formula->lines[k];
    return (Formula){lines.data, lines.len};
}

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
    if (e->kind == EXPR_call && call_is_reducer(k->formula, e)) return true;
    for (uint32_t i = 0; i < num_below(e); i++)
        if (below(e, i) && of_destinations(k, below(e, i))) return true;
    return false;
}

static void look(Look *k, const Expr *e) {
    if (e->kind == EXPR_name && !name_is_word(e->text)) {
        k->node |= !strncmp(e->text, "node.", 5);
        if (name_is_field(e->text) || !is_defined(k, e->text)) add_name(k, e->text);
    }
    if (e->kind == EXPR_call && !strcmp(e->text, "src") && e->num_args == 1)
        k->src_of_dst |= of_destinations(k, e->args[0]);
    for (uint32_t i = 0; i < num_below(e); i++)
        if (below(e, i)) look(k, below(e, i));
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
