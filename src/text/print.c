/* Program -> text. In: verified functions; out: one module in MLIR's generic syntax, in the form
 * that mlir-opt itself prints: attributes sorted by name, values numbered in order, a region's
 * numbers following those of the block that it stands in. */
#include "text/print.h"

#include "ir/type.h"

#include <string.h>

/* What values of one block are called. */
typedef struct {
    const Fn *f;
    uint32_t *id; /* by value */
    bool is_region;
    uint32_t next_value, next_arg; /* free after this block */
} Names;

/* ---- blocks ---- */

static bool is_argument(const Names *s, Val v) {
    return s->is_region && ir_op(s->f, v) == OP_input;
}

static Names name_values(Printer *p, const Fn *f, bool is_region, uint32_t value, uint32_t arg) {
    Names s = {f, ARENA_ARRAY(p->arena, uint32_t, ir_count(f)), is_region, value, arg};
    for (uint32_t k = 0; is_region && k < f->inputs.len; k++) s.id[f->inputs.data[k].val] = arg + k;
    s.next_arg += f->inputs.len;
    for (Val v = 1; v < ir_count(f); v++)
        if (ir_op(f, v) != OP_result && !is_argument(&s, v) && ir_node(f, v)->num_results)
            s.id[v] = s.next_value++;
    return s;
}

static void put_value(Printer *p, const Names *s, Val v) {
    const Node *n = ir_node(s->f, v);
    if (n->op == OP_result) text_putf(&p->out, "%%%u#%u", s->id[n->args[0]], n->attr.index);
    else text_putf(&p->out, is_argument(s, v) ? "%%arg%u" : "%%%u", s->id[v]);
}

static void put_values(Printer *p, const Names *s, const Val *list, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        if (k) print_put(p, ", ");
        put_value(p, s, list[k]);
    }
}

static void put_types_of(Printer *p, const Names *s, const Val *list, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        if (k) print_put(p, ", ");
        print_type(p, ir_type(s->f, list[k]));
    }
}

static Val *bound_values(Printer *p, const Binding *list, uint32_t n) {
    Val *out = ARENA_ARRAY(p->arena, Val, n);
    for (uint32_t k = 0; k < n; k++) out[k] = list[k].val;
    return out;
}

static void put_block(Printer *p, const Names *s);

/* "({ ^bb0(..): .. })"; what surrounds it says where numbering goes on. */
static void put_region(Printer *p, const Fn *body, const Names *around) {
    Names s = name_values(p, body, true, around->next_value, around->next_arg);
    print_put(p, "{");
    for (uint32_t k = 0; k < body->inputs.len; k++) {
        if (k == 0) print_line(p);
        print_put(p, k ? ", " : "^bb0(");
        put_value(p, &s, body->inputs.data[k].val);
        print_put(p, ": ");
        print_type(p, ir_type(body, body->inputs.data[k].val));
    }
    if (body->inputs.len) print_put(p, "):");
    p->depth++;
    put_block(p, &s);
    p->depth--;
    print_line(p);
    print_put(p, "}");
}

static void put_result_types(Printer *p, const Node *n) {
    if (n->num_results != 1) print_put(p, "(");
    for (uint32_t k = 0; k < n->num_results; k++) {
        if (k) print_put(p, ", ");
        print_type(p, &n->types[k]);
    }
    if (n->num_results != 1) print_put(p, ")");
}

static void put_op(Printer *p, const Names *s, Val v) {
    const Node *n = ir_node(s->f, v);
    print_line(p);
    if (n->num_results) text_putf(&p->out, "%%%u", s->id[v]);
    if (n->num_results > 1) text_putf(&p->out, ":%u", n->num_results);
    text_putf(&p->out, "%s\"%s\"(", n->num_results ? " = " : "", text_op_name((Op)n->op));
    if (n->op == OP_input) {
        uint32_t k = 0;
        while (s->f->inputs.data[k].val != v) k++;
        text_putf(&p->out, "%%arg%u) : (", k);
        print_type(p, n->types);
    } else {
        put_values(p, s, n->args, n->num_args);
        print_put(p, ")");
        print_node_props(p, n);
        if (n->op == OP_traverse || n->op == OP_row_scan) {
            print_put(p, " (");
            put_region(p, n->attr.body, s);
            print_put(p, ")");
        }
        print_put(p, " : (");
        put_types_of(p, s, n->args, n->num_args);
    }
    print_put(p, ") -> ");
    put_result_types(p, n);
}

static void put_block(Printer *p, const Names *s) {
    const Fn *f = s->f;
    for (Val v = 1; v < ir_count(f); v++)
        if (ir_op(f, v) != OP_result && !is_argument(s, v)) put_op(p, s, v);
    uint32_t n = f->results.len;
    Val *results = bound_values(p, f->results.data, n);
    print_line(p);
    print_put(p, s->is_region ? "\"gf_ctl.yield\"(" : n ? "return " : "return");
    put_values(p, s, results, n);
    print_put(p, s->is_region ? ") : (" : n ? " : " : "");
    put_types_of(p, s, results, n);
    if (s->is_region) print_put(p, ") -> ()");
}

/* ---- functions ---- */

static void put_input_attrs(Printer *p, const Fn *f, uint32_t k) {
    const Binding *input = &f->inputs.data[k];
    Props props = {0};
    if (strcmp(input->name, arena_printf(p->arena, "arg%u", k)))
        print_prop_name(p, &props, "gf.name", input->name);
    if (print_stands_in(p, f, input)) {
        long long order = (long long)ir_node(f, input->val)->hash;
        print_prop(p, &props, "gf.order", arena_printf(p->arena, "%lld : i64", order));
    }
    print_dictionary(p, &props, " {", "}");
}

static void put_result_attrs(Printer *p, const Fn *f, uint32_t k) {
    Props props = {0};
    if (strcmp(f->results.data[k].name, arena_printf(p->arena, "result%u", k)))
        print_prop_name(p, &props, "gf.name", f->results.data[k].name);
    print_dictionary(p, &props, " {", "}");
}

static void put_header(Printer *p, const Fn *f) {
    print_put(p, "func.func ");
    print_symbol(&p->out, print_symbol_of(p, f));
    print_put(p, "(");
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        text_putf(&p->out, "%s%%arg%u: ", k ? ", " : "", k);
        print_type(p, ir_type(f, f->inputs.data[k].val));
        put_input_attrs(p, f, k);
    }
    print_put(p, ")");
    uint32_t n = f->results.len;
    bool bare = n == 1 && !strcmp(f->results.data[0].name, "result0");
    if (n) print_put(p, bare ? " -> " : " -> (");
    for (uint32_t k = 0; k < n; k++) {
        if (k) print_put(p, ", ");
        print_type(p, ir_type(f, f->results.data[k].val));
        put_result_attrs(p, f, k);
    }
    if (n && !bare) print_put(p, ")");
    Props props = {0};
    if (strcmp(f->name, print_symbol_of(p, f))) print_prop_name(p, &props, "gf.name", f->name);
    print_dictionary(p, &props, " attributes {", "}");
}

static void put_function(Printer *p, const Fn *f) {
    Names s = name_values(p, f, false, 0, 0);
    print_line(p);
    put_header(p, f);
    print_put(p, " {");
    p->depth++;
    put_block(p, &s);
    p->depth--;
    print_line(p);
    print_put(p, "}");
}

/* ---- the module ---- */

static void put_declaration(Printer *p, const char *op, const Props *props) {
    print_line(p);
    text_putf(&p->out, "\"%s\"()", op);
    print_props(p, props);
    print_put(p, " : () -> ()");
}

static Props props_symbol(Printer *p, const char *symbol, const char *name) {
    Props props = {0};
    print_prop_name(p, &props, "sym_name", symbol);
    if (strcmp(symbol, name)) print_prop_name(p, &props, "name", name);
    return props;
}

/* Whether "gf.relation" names the edge set by itself. */
static bool has_own_edges(Printer *p, uint32_t r) {
    const Relation *rel = &p->env->relations.data[r];
    const char *name = p->env->sets.data[rel->edges].name;
    return !strcmp(name, arena_printf(p->arena, "%s.edges", rel->name)) &&
           !strcmp(p->sets[rel->edges], arena_printf(p->arena, "%s.edges", p->relations[r]));
}

static void put_relation(Printer *p, uint32_t r) {
    const Relation *rel = &p->env->relations.data[r];
    Props props = props_symbol(p, p->relations[r], rel->name);
    print_prop_symbol(p, &props, "src", p->sets[rel->src]);
    print_prop_symbol(p, &props, "dst", p->sets[rel->dst]);
    if (!has_own_edges(p, r)) print_prop_symbol(p, &props, "edges", p->sets[rel->edges]);
    put_declaration(p, "gf.relation", &props);
}

/* In the order of set numbers, so that parsing gives the same numbers: a relation stands where its
 * edge set does, if its ends and the relations before it are declared by then. */
static void put_environment(Printer *p) {
    const Fn *f = p->env;
    uint32_t next = 0;
    for (uint32_t s = 1; s < f->sets.len; s++) {
        const Relation *r = next < f->relations.len ? &f->relations.data[next] : NULL;
        if (r && r->edges == s && r->src < s && r->dst < s && has_own_edges(p, next)) {
            put_relation(p, next++);
            continue;
        }
        Props props = props_symbol(p, p->sets[s], f->sets.data[s].name);
        put_declaration(p, "gf.set", &props);
    }
    for (; next < f->relations.len; next++) put_relation(p, next);
}

static const char *const region_name[NUM_REGIONS] = {"identity", "lift", "combine", "finalize"};

static void put_reducer(Printer *p, const TextReducer *r) {
    Props props = props_symbol(p, print_new_symbol(p, r->name, NULL), r->name);
    print_prop(p, &props, "associative", r->associative ? "true" : "false");
    print_prop(p, &props, "commutative", r->commutative ? "true" : "false");
    print_prop(p, &props, "deterministic", r->deterministic ? "true" : "false");
    for (uint32_t k = 0; k < r->num_attrs; k++)
        print_prop_name(p, &props, r->attrs[k].key, r->attrs[k].value);
    for (int k = 0; k < NUM_REGIONS; k++)
        print_region_props(p, &props, arena_printf(p->arena, "%s_", region_name[k]), r->region[k]);
    print_line(p);
    print_put(p, "\"gf.reducer\"()");
    print_props(p, &props);
    Names around = {0};
    for (int k = 0; k < NUM_REGIONS; k++) {
        print_put(p, k ? ", " : " (");
        put_region(p, r->region[k], &around);
    }
    print_put(p, ") : () -> ()");
}

/* Kernels stand before the functions that launch them. */
static void collect(Printer *p, const Fn *f, bool is_region) {
    for (uint32_t k = 0; k < p->functions.len; k++)
        if (p->functions.data[k] == f) return;
    for (Val v = 1; v < ir_count(f); v++) {
        const Fn *body = ir_node(f, v)->attr.body;
        if (body && ir_op(f, v) != OP_row_scan) collect(p, body, ir_op(f, v) == OP_traverse);
    }
    if (!is_region) *vec_push(p->arena, &p->functions) = f;
}

static void join_environment(Printer *p, const Fn *f) {
    const Fn *g = p->env;
    if (!g || f->sets.len > g->sets.len || f->relations.len > g->relations.len) p->env = f;
}

static void name_symbols(Printer *p) {
    const Fn *f = p->env;
    p->sets = ARENA_ARRAY(p->arena, const char *, f->sets.len);
    p->relations = ARENA_ARRAY(p->arena, const char *, f->relations.len);
    p->sets[SET_ALL] = "all";
    for (uint32_t s = 1; s < f->sets.len; s++)
        p->sets[s] = print_new_symbol(p, f->sets.data[s].name, NULL);
    for (uint32_t r = 0; r < f->relations.len; r++)
        p->relations[r] = print_new_symbol(p, f->relations.data[r].name, NULL);
    for (uint32_t k = 0; k < p->functions.len; k++)
        print_new_symbol(p, p->functions.data[k]->name, p->functions.data[k]);
}

const char *text_print_module(Arena *a, const Module *m) {
    Printer p = {.arena = a, .out = {.arena = a}};
    for (uint32_t k = 0; k < m->functions.len; k++) collect(&p, m->functions.data[k], false);
    for (uint32_t k = 0; k < p.functions.len; k++) join_environment(&p, p.functions.data[k]);
    for (uint32_t k = 0; k < m->reducers.len; k++)
        for (int i = 0; i < NUM_REGIONS; i++) join_environment(&p, m->reducers.data[k].region[i]);
    print_put(&p, "module {");
    p.depth = 1;
    if (p.env) {
        name_symbols(&p);
        put_environment(&p);
    }
    for (uint32_t k = 0; k < m->reducers.len; k++) put_reducer(&p, &m->reducers.data[k]);
    for (uint32_t k = 0; k < p.functions.len; k++) put_function(&p, p.functions.data[k]);
    print_put(&p, "\n}\n");
    return p.out.text;
}

const char *text_print(Arena *a, const Fn *f) {
    Module m = {0};
    *vec_push(a, &m.functions) = f;
    return text_print_module(a, &m);
}
