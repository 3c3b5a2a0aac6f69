/* Program -> text. In: verified functions; out: one module in MLIR's generic syntax, in the form
 * that mlir-opt itself prints: attributes sorted by name, values numbered in order, a region's
 * numbers following those of the block that it stands in. */
#include "ir/text.h"

#include "ir/type.h"

#include <string.h>

/* ---- names of operations ---- */

/* The founding documents' names where they name something. */
static const struct {
    Op op;
    const char *name;
} given_name[] = {
    {OP_bcast, "gf_tensor.broadcast"},
    {OP_transpose, "gf_tensor.permute"},
    {OP_fsum, "gf_tensor.reduce_sum"},
    {OP_fmax, "gf_tensor.reduce_max"},
    {OP_traverse, "gf_iter.traverse"},
    {OP_launch, "gf_kernel.launch"},
    {OP_none, NULL},
    {OP_result, NULL},
};

const char *text_op_name(Op op) {
    static const char *const plain[NUM_OPS] = {
#define ELEM(op, ...) [OP_##op] = "gf_tensor." #op,
#define SHAPE(op, ...) [OP_##op] = "gf_tensor." #op,
#define ALONG(op, ...) [OP_##op] = "gf_mp." #op,
#define FRAME(op, ...) [OP_##op] = "gf_tensor." #op,
#include "ir/op.def"
    };
    for (size_t k = 0; k < sizeof given_name / sizeof *given_name; k++)
        if (given_name[k].op == op) return given_name[k].name;
    return plain[op];
}

/* ---- the printer's state ---- */

typedef struct {
    const char *name;
    const void *of; /* the Fn; NULL: a set, relation or reducer */
} Symbol;

typedef struct {
    Arena *arena;
    Text out;
    int depth;                      /* of the line being printed */
    const Fn *env;                  /* whose sets and relations are the module's */
    const char **sets, **relations; /* symbols by number */
    VEC(Symbol) symbols;            /* all in use */
    VEC(const Fn *) functions;      /* in order of printing */
} Printer;

/* What values of one block are called. */
typedef struct {
    const Fn *f;
    uint32_t *id; /* by value */
    bool is_region;
    uint32_t next_value, next_arg; /* free after this block */
} Names;

static void put(Printer *p, const char *s) { text_put(&p->out, s); }

static void put_line(Printer *p) {
    put(p, "\n");
    for (int k = 0; k < p->depth; k++) put(p, "  ");
}

/* Escapes as LLVM does: what is not printable ASCII in two hex digits. */
static void put_string(Text *t, const char *s) {
    text_put(t, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '\\') text_put(t, "\\\\");
        else if (c < 32 || c > 126 || c == '"') text_putf(t, "\\%02X", c);
        else text_putf(t, "%c", c);
    }
    text_put(t, "\"");
}

static const char *quoted(Printer *p, const char *s) {
    Text t = {.arena = p->arena};
    put_string(&t, s);
    return t.text;
}

/* ---- symbols ---- */

static bool is_bare(const char *s) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    if (!*s || !strchr(letters, *s)) return false;
    for (; *s; s++)
        if (!strchr(letters, *s) && !strchr("0123456789$.", *s)) return false;
    return true;
}

static void put_symbol(Text *t, const char *symbol) {
    text_put(t, "@");
    if (is_bare(symbol)) text_put(t, symbol);
    else put_string(t, symbol);
}

static bool is_taken(const Printer *p, const char *symbol) {
    if (!strcmp(symbol, "all")) return true;
    for (uint32_t k = 0; k < p->symbols.len; k++)
        if (!strcmp(p->symbols.data[k].name, symbol)) return true;
    return false;
}

/* The name itself where it is free: sets, relations, reducers and functions share one table. */
static const char *symbol_new(Printer *p, const char *name, const void *of) {
    const char *symbol = *name ? name : "_";
    for (int k = 1; is_taken(p, symbol); k++) symbol = arena_printf(p->arena, "%s$%d", name, k);
    *vec_push(p->arena, &p->symbols) = (Symbol){symbol, of};
    return symbol;
}

static const char *symbol_of(const Printer *p, const Fn *f) {
    for (uint32_t k = 0; k < p->symbols.len; k++)
        if (p->symbols.data[k].of == f) return p->symbols.data[k].name;
    TIGA_UNREACHABLE("a function without a symbol");
}

/* ---- types ---- */

static void put_dims(Printer *p, const Type *t) {
    if (t->set != SET_ALL) put(p, "?x");
    for (int k = 0; k < t->rank; k++) {
        if (dim_is_set(t->dim[k])) put(p, "?x");
        else text_putf(&p->out, "%lldx", (long long)t->dim[k]);
    }
    put(p, dtype_name((Dtype)t->dtype));
}

static void put_extents(Printer *p, const Type *t) {
    uint32_t n = 0;
    for (int k = 0; k < t->rank; k++) n += dim_is_set(t->dim[k]);
    if (n == 0) return;
    put(p, n > 1 ? ", #gf.rows<[" : ", #gf.rows<");
    uint32_t seen = 0;
    for (int k = 0; k < t->rank; k++) {
        if (!dim_is_set(t->dim[k])) continue;
        if (seen++) put(p, ", ");
        put_symbol(&p->out, p->sets[dim_set(t->dim[k])]);
    }
    put(p, n > 1 ? "]>" : ">");
}

static void put_type(Printer *p, const Type *t) {
    put(p, "tensor<");
    put_dims(p, t);
    if (t->set == SET_ALL) {
        put_extents(p, t);
    } else {
        put(p, ", #gf.on<");
        put_symbol(&p->out, p->sets[t->set]);
        put(p, ">");
    }
    put(p, ">");
}

/* ---- attributes ---- */

typedef VEC(TextAttr) Props;

static void prop(Printer *p, Props *props, const char *key, const char *value) {
    vec_push(p->arena, props);
    uint32_t k = props->len - 1;
    for (; k > 0 && strcmp(props->data[k - 1].key, key) > 0; k--)
        props->data[k] = props->data[k - 1];
    props->data[k] = (TextAttr){key, value};
}

static void prop_name(Printer *p, Props *props, const char *key, const char *name) {
    prop(p, props, key, quoted(p, name));
}

static void prop_symbol(Printer *p, Props *props, const char *key, const char *symbol) {
    Text t = {.arena = p->arena};
    put_symbol(&t, symbol);
    prop(p, props, key, t.text);
}

/* count integers, stride apart */
static void prop_ints(Printer *p, Props *props, const char *key, const int64_t *ints,
                      uint32_t count, uint32_t stride) {
    Text t = {.arena = p->arena};
    text_put(&t, "array<i64");
    for (uint32_t k = 0; k < count; k++) {
        int64_t n = ints[k * stride];
        text_putf(&t, "%s%lld", k ? ", " : ": ", (long long)n);
    }
    text_put(&t, ">");
    prop(p, props, key, t.text);
}

static void prop_map(Printer *p, Props *props, Map m) {
    Text t = {.arena = p->arena};
    bool all = map_is_all(m);
    put_symbol(&t, all ? p->sets[map_from(p->env, m)] : p->relations[map_relation(m)]);
    text_put(&t, all ? "::@all" : map_is_dst(m) ? "::@dst" : "::@src");
    prop(p, props, "map", t.text);
}

/* Names that are not the default ones. */
static void prop_bindings(Printer *p, Props *props, const char *key, const char *stem,
                          const Binding *list, uint32_t n) {
    Text t = {.arena = p->arena};
    bool given = false;
    text_put(&t, "[");
    for (uint32_t k = 0; k < n; k++) {
        given |= strcmp(list[k].name, arena_printf(p->arena, "%s%u", stem, k)) != 0;
        if (k) text_put(&t, ", ");
        put_string(&t, list[k].name);
    }
    text_put(&t, "]");
    if (given) prop(p, props, key, t.text);
}

/* An input's hash is its name's unless it stands in for another value (ir_stand_in). */
static bool stands_in(Printer *p, const Fn *f, const Binding *input) {
    Fn *scratch = ir_new_like(p->arena, f, "");
    Val v = ir_input(scratch, input->name, *ir_type(f, input->val));
    return ir_node(scratch, v)->hash != ir_node(f, input->val)->hash;
}

/* By what inputs are sorted among operands, where that is not their name. */
static void prop_orders(Printer *p, Props *props, const char *key, const Fn *f) {
    uint32_t n = f->inputs.len;
    int64_t *order = ARENA_ARRAY(p->arena, int64_t, n);
    bool given = false;
    for (uint32_t k = 0; k < n; k++) {
        given |= stands_in(p, f, &f->inputs.data[k]);
        order[k] = (int64_t)ir_node(f, f->inputs.data[k].val)->hash;
    }
    if (given) prop_ints(p, props, key, order, n, 1);
}

/* What a region's ends are called: properties, since block arguments carry none. */
static void props_region(Printer *p, Props *props, const char *prefix, const Fn *f) {
    const char *inputs = arena_printf(p->arena, "%sinputs", prefix);
    prop_bindings(p, props, inputs, "arg", f->inputs.data, f->inputs.len);
    prop_orders(p, props, arena_printf(p->arena, "%sorders", prefix), f);
    const char *results = arena_printf(p->arena, "%sresults", prefix);
    prop_bindings(p, props, results, "result", f->results.data, f->results.len);
}

static void put_dictionary(Printer *p, const Props *props, const char *open, const char *close) {
    for (uint32_t k = 0; k < props->len; k++) {
        put(p, k ? ", " : open);
        put(p, props->data[k].key);
        put(p, " = ");
        put(p, props->data[k].value);
    }
    if (props->len) put(p, close);
}

static void put_props(Printer *p, const Props *props) { put_dictionary(p, props, " <{", "}>"); }

static void props_none(Printer *p, Props *out, const Node *n) { (void)p, (void)out, (void)n; }

/* A set's extent stands as -1: the type says which. */
static void props_shape(Printer *p, Props *out, const Node *n) {
    const Type *t = &n->types[0];
    int64_t dim[MAX_RANK];
    for (int k = 0; k < t->rank; k++) dim[k] = dim_is_set(t->dim[k]) ? -1 : t->dim[k];
    prop_ints(p, out, "shape", dim, t->rank, 1);
}

static void props_axes(Printer *p, Props *out, const Node *n) {
    prop_ints(p, out, "axes", n->attr.ints, n->attr.num_ints, 1);
}

static void props_fold(Printer *p, Props *out, const Node *n) {
    props_axes(p, out, n);
    prop(p, out, "keep_dims", "false");
}

static void props_slice(Printer *p, Props *out, const Node *n) {
    uint32_t rank = n->attr.num_ints / 3;
    int64_t count[MAX_RANK];
    for (uint32_t k = 0; k < rank; k++) {
        int64_t d = n->attr.ints[3 * k + 1];
        count[k] = dim_is_set(d) ? -1 : d;
    }
    prop_ints(p, out, "start", n->attr.ints, rank, 3);
    prop_ints(p, out, "count", count, rank, 1);
    prop_ints(p, out, "step", n->attr.ints + 2, rank, 3);
}

static void props_pad(Printer *p, Props *out, const Node *n) {
    uint32_t rank = n->attr.num_ints / 3;
    prop_ints(p, out, "low", n->attr.ints, rank, 3);
    prop_ints(p, out, "high", n->attr.ints + 1, rank, 3);
    prop_ints(p, out, "interior", n->attr.ints + 2, rank, 3);
}

static void props_concat(Printer *p, Props *out, const Node *n) {
    prop(p, out, "axis", arena_printf(p->arena, "%lld : i64", (long long)n->attr.ints[0]));
}

static void props_map(Printer *p, Props *out, const Node *n) { prop_map(p, out, n->attr.map); }

static void props_constant(Printer *p, Props *out, const Node *n) {
    Text t = {.arena = p->arena};
    Dtype d = (Dtype)n->attr.type.dtype;
    text_put_number(&t, d, n->attr.bits);
    if (d != DT_bool) text_putf(&t, " : %s", dtype_name(d));
    prop(p, out, "value", t.text);
}

static void props_traverse(Printer *p, Props *out, const Node *n) {
    const Attr *a = &n->attr;
    if (map_exists(p->env, a->map)) prop_map(p, out, a->map);
    if (a->name) prop_name(p, out, "name", a->name);
    if (a->num_ints) prop_ints(p, out, "phases", a->ints, a->num_ints, 1);
    if (a->type.set != SET_ALL) prop_symbol(p, out, "rows", p->sets[a->type.set]);
    props_region(p, out, "", a->body);
}

static void props_launch(Printer *p, Props *out, const Node *n) {
    const Attr *a = &n->attr;
    if (map_exists(p->env, a->map)) prop_map(p, out, a->map);
    prop_symbol(p, out, "kernel", symbol_of(p, a->body));
    if (a->name && strcmp(a->name, a->body->name)) prop_name(p, out, "name", a->name);
    if (a->num_ints) prop_ints(p, out, "ints", a->ints, a->num_ints, 1);
}

/* One rule an operation; a row of op.def without one does not compile. */
#define props_cast props_none
#define props_bcast props_shape
#define props_reshape props_shape
#define props_transpose props_axes
#define props_fsum props_fold
#define props_fmax props_fold
#define props_matmul props_none
#define props_gather props_map
#define props_reduce props_map
#define props_rmax props_map
#define props_softmax props_map
#define props_degree props_map
#define props_enter props_none
#define props_leave props_none
#define props_input props_none
#define props_result props_none
static void (*const props_rule[NUM_OPS])(Printer *p, Props *out, const Node *n) = {
#define ELEM(op, ...) [OP_##op] = props_none,
#define SHAPE(op, ...) [OP_##op] = props_##op,
#define ALONG(op, ...) [OP_##op] = props_##op,
#define FRAME(op, ...) [OP_##op] = props_##op,
#include "ir/op.def"
};

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
        if (k) put(p, ", ");
        put_value(p, s, list[k]);
    }
}

static void put_types_of(Printer *p, const Names *s, const Val *list, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        if (k) put(p, ", ");
        put_type(p, ir_type(s->f, list[k]));
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
    put(p, "{");
    for (uint32_t k = 0; k < body->inputs.len; k++) {
        if (k == 0) put_line(p);
        put(p, k ? ", " : "^bb0(");
        put_value(p, &s, body->inputs.data[k].val);
        put(p, ": ");
        put_type(p, ir_type(body, body->inputs.data[k].val));
    }
    if (body->inputs.len) put(p, "):");
    p->depth++;
    put_block(p, &s);
    p->depth--;
    put_line(p);
    put(p, "}");
}

static void put_result_types(Printer *p, const Node *n) {
    if (n->num_results != 1) put(p, "(");
    for (uint32_t k = 0; k < n->num_results; k++) {
        if (k) put(p, ", ");
        put_type(p, &n->types[k]);
    }
    if (n->num_results != 1) put(p, ")");
}

static void put_op(Printer *p, const Names *s, Val v) {
    const Node *n = ir_node(s->f, v);
    put_line(p);
    if (n->num_results) text_putf(&p->out, "%%%u", s->id[v]);
    if (n->num_results > 1) text_putf(&p->out, ":%u", n->num_results);
    text_putf(&p->out, "%s\"%s\"(", n->num_results ? " = " : "", text_op_name((Op)n->op));
    if (n->op == OP_input) {
        uint32_t k = 0;
        while (s->f->inputs.data[k].val != v) k++;
        text_putf(&p->out, "%%arg%u) : (", k);
        put_type(p, n->types);
    } else {
        Props props = {0};
        put_values(p, s, n->args, n->num_args);
        put(p, ")");
        props_rule[n->op](p, &props, n);
        put_props(p, &props);
        if (n->op == OP_traverse) {
            put(p, " (");
            put_region(p, n->attr.body, s);
            put(p, ")");
        }
        put(p, " : (");
        put_types_of(p, s, n->args, n->num_args);
    }
    put(p, ") -> ");
    put_result_types(p, n);
}

static void put_block(Printer *p, const Names *s) {
    const Fn *f = s->f;
    for (Val v = 1; v < ir_count(f); v++)
        if (ir_op(f, v) != OP_result && !is_argument(s, v)) put_op(p, s, v);
    uint32_t n = f->results.len;
    Val *results = bound_values(p, f->results.data, n);
    put_line(p);
    put(p, s->is_region ? "\"gf_ctl.yield\"(" : n ? "return " : "return");
    put_values(p, s, results, n);
    put(p, s->is_region ? ") : (" : n ? " : " : "");
    put_types_of(p, s, results, n);
    if (s->is_region) put(p, ") -> ()");
}

/* ---- functions ---- */

static void put_input_attrs(Printer *p, const Fn *f, uint32_t k) {
    const Binding *input = &f->inputs.data[k];
    Props props = {0};
    if (strcmp(input->name, arena_printf(p->arena, "arg%u", k)))
        prop_name(p, &props, "gf.name", input->name);
    if (stands_in(p, f, input)) {
        long long order = (long long)ir_node(f, input->val)->hash;
        prop(p, &props, "gf.order", arena_printf(p->arena, "%lld : i64", order));
    }
    put_dictionary(p, &props, " {", "}");
}

static void put_result_attrs(Printer *p, const Fn *f, uint32_t k) {
    Props props = {0};
    if (strcmp(f->results.data[k].name, arena_printf(p->arena, "result%u", k)))
        prop_name(p, &props, "gf.name", f->results.data[k].name);
    put_dictionary(p, &props, " {", "}");
}

static void put_header(Printer *p, const Fn *f) {
    put(p, "func.func ");
    put_symbol(&p->out, symbol_of(p, f));
    put(p, "(");
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        text_putf(&p->out, "%s%%arg%u: ", k ? ", " : "", k);
        put_type(p, ir_type(f, f->inputs.data[k].val));
        put_input_attrs(p, f, k);
    }
    put(p, ")");
    uint32_t n = f->results.len;
    bool bare = n == 1 && !strcmp(f->results.data[0].name, "result0");
    if (n) put(p, bare ? " -> " : " -> (");
    for (uint32_t k = 0; k < n; k++) {
        if (k) put(p, ", ");
        put_type(p, ir_type(f, f->results.data[k].val));
        put_result_attrs(p, f, k);
    }
    if (n && !bare) put(p, ")");
    Props props = {0};
    if (strcmp(f->name, symbol_of(p, f))) prop_name(p, &props, "gf.name", f->name);
    put_dictionary(p, &props, " attributes {", "}");
}

static void put_function(Printer *p, const Fn *f) {
    Names s = name_values(p, f, false, 0, 0);
    put_line(p);
    put_header(p, f);
    put(p, " {");
    p->depth++;
    put_block(p, &s);
    p->depth--;
    put_line(p);
    put(p, "}");
}

/* ---- the module ---- */

static void put_declaration(Printer *p, const char *op, const Props *props) {
    put_line(p);
    text_putf(&p->out, "\"%s\"()", op);
    put_props(p, props);
    put(p, " : () -> ()");
}

static Props props_symbol(Printer *p, const char *symbol, const char *name) {
    Props props = {0};
    prop_name(p, &props, "sym_name", symbol);
    if (strcmp(symbol, name)) prop_name(p, &props, "name", name);
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
    prop_symbol(p, &props, "src", p->sets[rel->src]);
    prop_symbol(p, &props, "dst", p->sets[rel->dst]);
    if (!has_own_edges(p, r)) prop_symbol(p, &props, "edges", p->sets[rel->edges]);
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
    Props props = props_symbol(p, symbol_new(p, r->name, NULL), r->name);
    prop(p, &props, "associative", r->associative ? "true" : "false");
    prop(p, &props, "commutative", r->commutative ? "true" : "false");
    prop(p, &props, "deterministic", r->deterministic ? "true" : "false");
    for (uint32_t k = 0; k < r->num_attrs; k++)
        prop_name(p, &props, r->attrs[k].key, r->attrs[k].value);
    for (int k = 0; k < NUM_REGIONS; k++)
        props_region(p, &props, arena_printf(p->arena, "%s_", region_name[k]), r->region[k]);
    put_line(p);
    put(p, "\"gf.reducer\"()");
    put_props(p, &props);
    Names around = {0};
    for (int k = 0; k < NUM_REGIONS; k++) {
        put(p, k ? ", " : " (");
        put_region(p, r->region[k], &around);
    }
    put(p, ") : () -> ()");
}

/* Kernels stand before the functions that launch them. */
static void collect(Printer *p, const Fn *f, bool is_region) {
    for (uint32_t k = 0; k < p->functions.len; k++)
        if (p->functions.data[k] == f) return;
    for (Val v = 1; v < ir_count(f); v++) {
        const Fn *body = ir_node(f, v)->attr.body;
        if (body) collect(p, body, ir_op(f, v) == OP_traverse);
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
        p->sets[s] = symbol_new(p, f->sets.data[s].name, NULL);
    for (uint32_t r = 0; r < f->relations.len; r++)
        p->relations[r] = symbol_new(p, f->relations.data[r].name, NULL);
    for (uint32_t k = 0; k < p->functions.len; k++)
        symbol_new(p, p->functions.data[k]->name, p->functions.data[k]);
}

const char *text_print_module(Arena *a, const Module *m) {
    Printer p = {.arena = a, .out = {.arena = a}};
    for (uint32_t k = 0; k < m->functions.len; k++) collect(&p, m->functions.data[k], false);
    for (uint32_t k = 0; k < p.functions.len; k++) join_environment(&p, p.functions.data[k]);
    for (uint32_t k = 0; k < m->reducers.len; k++)
        for (int i = 0; i < NUM_REGIONS; i++) join_environment(&p, m->reducers.data[k].region[i]);
    put(&p, "module {");
    p.depth = 1;
    if (p.env) {
        name_symbols(&p);
        put_environment(&p);
    }
    for (uint32_t k = 0; k < m->reducers.len; k++) put_reducer(&p, &m->reducers.data[k]);
    for (uint32_t k = 0; k < p.functions.len; k++) put_function(&p, p.functions.data[k]);
    put(&p, "\n}\n");
    return p.out.text;
}

const char *text_print(Arena *a, const Fn *f) {
    Module m = {0};
    *vec_push(a, &m.functions) = f;
    return text_print_module(a, &m);
}
