/* Text -> program. In: any bytes; out: a module of verified functions, or a fault with its place.
 * Recursive descent, one token ahead. Names are resolved while reading: values stand before their
 * users, sets before the functions, kernels before their launches. */
#include "text/parse.h"

#include "ir/type.h"

#include <string.h>

enum { MAX_SYMBOLS = 4096 };

static void define_symbol(Parser *p, const char *at, Symbol symbol) {
    if (!strcmp(symbol.name, "all") || parse_find_symbol(p, symbol.name))
        lex_fail(&p->lex, ST_NAME, at, "symbol '%s' is defined twice", symbol.name);
    if (p->symbols.len == MAX_SYMBOLS)
        lex_fail(&p->lex, ST_UNSUPPORTED, at, "more than %d symbols", MAX_SYMBOLS);
    if (!p->lex.status) *vec_push(p->arena, &p->symbols) = symbol;
}

/* ---- declarations: "gf.set"() <{..}> : () -> () ---- */

static const char *prop_string(Parser *p, Props *props, const char *key, const char *otherwise) {
    const Prop *text = prop_get(p, props, key, PROP_string, otherwise == NULL);
    return text ? text->text : otherwise ? otherwise : "";
}

/* Behind the operation's name: "() <{..}>". */
static void open_declaration(Parser *p, Props *props) {
    lex_need(&p->lex, '(', "'('");
    lex_need(&p->lex, ')', "')'");
    lex_need(&p->lex, T_open, "'<{'");
    parse_props(p, props, T_close);
}

static void close_declaration(Parser *p, const Props *props) {
    Types none = {0};
    props_end(p, props);
    lex_need(&p->lex, ':', "':'");
    parse_types(p, &none);
    lex_need(&p->lex, T_arrow, "'->'");
    parse_types(p, &none);
    if (none.len)
        lex_fail(&p->lex, ST_SYNTAX, props->at, "a declaration has no operands or results");
}

static bool has_set(const Fn *f, const char *name) {
    for (uint32_t s = 0; s < f->sets.len; s++)
        if (!strcmp(f->sets.data[s].name, name)) return true;
    return false;
}

static Set declare_set(Parser *p, const char *at, const char *symbol, const char *name) {
    if (has_set(p->env, name)) lex_fail(&p->lex, ST_NAME, at, "set '%s' is declared twice", name);
    define_symbol(p, at, (Symbol){symbol, SYMBOL_set, p->env->sets.len, NULL});
    return p->lex.status ? SET_ALL : ir_set(p->env, name);
}

static void parse_set(Parser *p, Props *props) {
    open_declaration(p, props);
    const char *symbol = prop_string(p, props, "sym_name", NULL);
    declare_set(p, props->at, symbol, prop_string(p, props, "name", symbol));
    close_declaration(p, props);
}

static Set prop_set(Parser *p, Props *props, const char *key) {
    const Prop *set = prop_get(p, props, key, PROP_symbol, true);
    return set ? parse_set_symbol(p, set->at, set->text) : SET_ALL;
}

/* The set named under "edges", or "<symbol>.edges", made where it is not declared. */
static Set edge_set(Parser *p, Props *props, const char *symbol, const char *name) {
    const Prop *edges = prop_get(p, props, "edges", PROP_symbol, false);
    if (edges) return parse_set_symbol(p, edges->at, edges->text);
    const char *own = arena_printf(p->arena, "%s.edges", symbol);
    if (parse_find_symbol(p, own)) return parse_set_symbol(p, props->at, own);
    return declare_set(p, props->at, own, arena_printf(p->arena, "%s.edges", name));
}

static void parse_relation(Parser *p, Props *props) {
    Fn *f = p->env;
    open_declaration(p, props);
    const char *symbol = prop_string(p, props, "sym_name", NULL);
    Relation r = {.name = prop_string(p, props, "name", symbol)};
    r.src = prop_set(p, props, "src");
    r.dst = prop_set(p, props, "dst");
    r.edges = edge_set(p, props, symbol, r.name);
    for (uint32_t k = 0; k < f->relations.len; k++)
        if (!strcmp(f->relations.data[k].name, r.name))
            lex_fail(&p->lex, ST_NAME, props->at, "relation '%s' is declared twice", r.name);
    define_symbol(p, props->at, (Symbol){symbol, SYMBOL_relation, f->relations.len, NULL});
    if (!p->lex.status) *vec_push(p->arena, &f->relations) = r;
    close_declaration(p, props);
}

/* ---- reducers ---- */

/* Every string that is left. */
static void take_attrs(Parser *p, Props *props, TextReducer *out) {
    VEC(TextAttr) attrs = {0};
    for (uint32_t k = 0; k < props->list.len; k++) {
        Prop *a = &props->list.data[k];
        if (a->used || a->kind != PROP_string) continue;
        *vec_push(p->arena, &attrs) = (TextAttr){a->key, a->text};
        a->used = true;
    }
    out->attrs = attrs.data;
    out->num_attrs = attrs.len;
}

static void parse_reducer(Parser *p, Props *props) {
    static const char *const region[NUM_REGIONS] = {"identity", "lift", "combine", "finalize"};
    TextReducer r = {0};
    open_declaration(p, props);
    const char *symbol = prop_string(p, props, "sym_name", NULL);
    r.name = prop_string(p, props, "name", symbol);
    r.associative = prop_bool(p, props, "associative", false);
    r.commutative = prop_bool(p, props, "commutative", false);
    r.deterministic = prop_bool(p, props, "deterministic", false);
    lex_need(&p->lex, '(', "'('");
    for (int k = 0; k < NUM_REGIONS && !p->lex.status; k++) {
        if (k) lex_need(&p->lex, ',', "',' (a reducer has four regions)");
        r.region[k] = parse_region(p, props, arena_printf(p->arena, "%s_", region[k]));
    }
    lex_need(&p->lex, ')', "')'");
    define_symbol(p, props->at, (Symbol){symbol, SYMBOL_reducer, 0, NULL});
    take_attrs(p, props, &r);
    close_declaration(p, props);
    if (!p->lex.status) *vec_push(p->arena, &p->out->reducers) = r;
}

static void parse_declaration(Parser *p) {
    static const struct {
        const char *name;
        void (*parse)(Parser *p, Props *props);
    } kinds[] = {
        {"gf.set", parse_set}, {"gf.relation", parse_relation}, {"gf.reducer", parse_reducer}};
    Props props = {.at = p->lex.tok.start};
    const char *name = lex_text(&p->lex, T_string, "a declaration");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(kinds[k].name, name)) continue;
        kinds[k].parse(p, &props);
        return;
    }
    lex_fail(&p->lex, ST_NAME, props.at, "no declaration '%s'", name);
}

/* ---- functions ---- */

/* "{gf.name = "x", gf.order = 1 : i64}" where it stands. */
static void parse_end_attrs(Parser *p, End *end, bool is_input) {
    Props props = {.at = p->lex.tok.start};
    if (!lex_take(&p->lex, '{')) return;
    parse_props(p, &props, '}');
    end->name = prop_string(p, &props, "gf.name", end->name);
    if (is_input) end->order = prop_int(p, &props, "gf.order", false);
    props_end(p, &props);
}

static void parse_end(Parser *p, Ends *list, const char *stem) {
    End end = {.at = p->lex.tok.start};
    end.type = parse_type(p);
    end.name = arena_printf(p->arena, "%s%u", stem, list->len);
    parse_end_attrs(p, &end, !strcmp(stem, "arg"));
    for (uint32_t k = 0; k < list->len; k++)
        if (!strcmp(list->data[k].name, end.name))
            lex_fail(&p->lex, ST_NAME, end.at, "'%s' is named twice", end.name);
    *vec_push(p->arena, list) = end;
}

typedef VEC(const char *) Texts;

static void parse_inputs(Parser *p, Ends *inputs, Texts *values) {
    lex_need(&p->lex, '(', "'('");
    if (lex_take(&p->lex, ')')) return;
    do {
        *vec_push(p->arena, values) = lex_text(&p->lex, T_value, "an argument");
        lex_need(&p->lex, ':', "':'");
        parse_end(p, inputs, "arg");
    } while (lex_take(&p->lex, ','));
    lex_need(&p->lex, ')', "')'");
}

static void parse_results(Parser *p, Ends *results) {
    if (!lex_take(&p->lex, T_arrow)) return;
    if (!lex_take(&p->lex, '(')) {
        End end = {.name = "result0", .at = p->lex.tok.start, .type = parse_type(p)};
        *vec_push(p->arena, results) = end;
    } else if (!lex_take(&p->lex, ')')) {
        do parse_end(p, results, "result");
        while (lex_take(&p->lex, ','));
        lex_need(&p->lex, ')', "')'");
    }
}

/* func.func @f(%arg0: tensor<..>, ..) -> (..) attributes {gf.name = ".."} { .. return .. } */
static void parse_function(Parser *p) {
    Lex *x = &p->lex;
    Ends inputs = {0}, results = {0};
    Texts values = {0};
    lex_need_word(x, "func.func");
    const char *at = x->tok.start;
    const char *symbol = lex_text(x, T_symbol, "a function's symbol");
    parse_inputs(p, &inputs, &values);
    parse_results(p, &results);
    End self = {.name = symbol};
    if (lex_take_word(x, "attributes")) parse_end_attrs(p, &self, false);
    Fn *f = ir_new_like(p->arena, p->env, self.name);
    lex_need(x, '{', "'{'");
    parse_body(p, f, &inputs, values.data, &results);
    lex_need(x, '}', "'}'");
    define_symbol(p, at, (Symbol){symbol, SYMBOL_function, 0, f});
    if (!x->status) *vec_push(p->arena, &p->out->functions) = f;
}

/* ---- the module ---- */

static void parse_module(Parser *p) {
    Lex *x = &p->lex;
    bool wrapped = lex_take_word(x, "module");
    if (wrapped) lex_need(x, '{', "'{'");
    while (!x->status && !lex_is(x, '}') && !lex_is(x, T_end)) {
        if (lex_is(x, T_string)) parse_declaration(p);
        else parse_function(p);
    }
    if (wrapped) lex_need(x, '}', "'}'");
    if (!lex_is(x, T_end)) lex_expected(x, "the end");
}

Status text_parse(Arena *a, const char *text, size_t len, Module *out) {
    Module parsed = {0};
    Parser p = {.arena = a, .out = &parsed, .env = ir_new(a, "module")};
    lex_start(&p.lex, a, text, len);
    parse_module(&p);
    if (p.lex.status) return err_set(p.lex.status, "%s", p.lex.message);
    *out = parsed;
    return ST_OK;
}
