/* Names, types and attributes as text. */
#include "text/print.h"

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

void print_put(Printer *p, const char *s) { text_put(&p->out, s); }

void print_line(Printer *p) {
    print_put(p, "\n");
    for (int k = 0; k < p->depth; k++) print_put(p, "  ");
}

/* Escapes as LLVM does: what is not printable ASCII in two hex digits. */
void print_string(Text *t, const char *s) {
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
    print_string(&t, s);
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

void print_symbol(Text *t, const char *symbol) {
    text_put(t, "@");
    if (is_bare(symbol)) text_put(t, symbol);
    else print_string(t, symbol);
}

static bool is_taken(const Printer *p, const char *symbol) {
    if (!strcmp(symbol, "all")) return true;
    for (uint32_t k = 0; k < p->symbols.len; k++)
        if (!strcmp(p->symbols.data[k].name, symbol)) return true;
    return false;
}

/* Sets, relations, reducers and functions share one table. */
const char *print_new_symbol(Printer *p, const char *name, const void *of) {
    const char *symbol = *name ? name : "_";
    for (int k = 1; is_taken(p, symbol); k++) symbol = arena_printf(p->arena, "%s$%d", name, k);
    *vec_push(p->arena, &p->symbols) = (PrintSymbol){symbol, of};
    return symbol;
}

const char *print_symbol_of(const Printer *p, const Fn *f) {
    for (uint32_t k = 0; k < p->symbols.len; k++)
        if (p->symbols.data[k].of == f) return p->symbols.data[k].name;
    TIGA_UNREACHABLE("a function without a symbol");
}

/* ---- types ---- */

static void put_dims(Printer *p, const Type *t) {
    if (t->set != SET_ALL) print_put(p, "?x");
    for (int k = 0; k < t->rank; k++) {
        if (dim_is_set(t->dim[k])) print_put(p, "?x");
        else text_putf(&p->out, "%lldx", (long long)t->dim[k]);
    }
    print_put(p, dtype_name((Dtype)t->dtype));
}

static void put_extents(Printer *p, const Type *t) {
    uint32_t n = 0;
    for (int k = 0; k < t->rank; k++) n += dim_is_set(t->dim[k]);
    if (n == 0) return;
    print_put(p, n > 1 ? ", #gf.rows<[" : ", #gf.rows<");
    uint32_t seen = 0;
    for (int k = 0; k < t->rank; k++) {
        if (!dim_is_set(t->dim[k])) continue;
        if (seen++) print_put(p, ", ");
        print_symbol(&p->out, p->sets[dim_set(t->dim[k])]);
    }
    print_put(p, n > 1 ? "]>" : ">");
}

void print_type(Printer *p, const Type *t) {
    print_put(p, "tensor<");
    put_dims(p, t);
    if (t->set == SET_ALL) {
        put_extents(p, t);
    } else {
        print_put(p, ", #gf.on<");
        print_symbol(&p->out, p->sets[t->set]);
        print_put(p, ">");
    }
    print_put(p, ">");
}

/* ---- attributes ---- */

void print_prop(Printer *p, Props *props, const char *key, const char *value) {
    vec_push(p->arena, props);
    uint32_t k = props->len - 1;
    for (; k > 0 && strcmp(props->data[k - 1].key, key) > 0; k--)
        props->data[k] = props->data[k - 1];
    props->data[k] = (TextAttr){key, value};
}

void print_prop_name(Printer *p, Props *props, const char *key, const char *name) {
    print_prop(p, props, key, quoted(p, name));
}

void print_prop_symbol(Printer *p, Props *props, const char *key, const char *symbol) {
    Text t = {.arena = p->arena};
    print_symbol(&t, symbol);
    print_prop(p, props, key, t.text);
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
    print_prop(p, props, key, t.text);
}

static void prop_map(Printer *p, Props *props, Map m) {
    Text t = {.arena = p->arena};
    bool all = map_is_all(m);
    print_symbol(&t, all ? p->sets[map_from(p->env, m)] : p->relations[map_relation(m)]);
    text_put(&t, all ? "::@all" : map_is_dst(m) ? "::@dst" : "::@src");
    print_prop(p, props, "map", t.text);
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
        print_string(&t, list[k].name);
    }
    text_put(&t, "]");
    if (given) print_prop(p, props, key, t.text);
}

bool print_stands_in(Printer *p, const Fn *f, const Binding *input) {
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
        given |= print_stands_in(p, f, &f->inputs.data[k]);
        order[k] = (int64_t)ir_node(f, f->inputs.data[k].val)->hash;
    }
    if (given) prop_ints(p, props, key, order, n, 1);
}

void print_region_props(Printer *p, Props *props, const char *prefix, const Fn *f) {
    const char *inputs = arena_printf(p->arena, "%sinputs", prefix);
    prop_bindings(p, props, inputs, "arg", f->inputs.data, f->inputs.len);
    prop_orders(p, props, arena_printf(p->arena, "%sorders", prefix), f);
    const char *results = arena_printf(p->arena, "%sresults", prefix);
    prop_bindings(p, props, results, "result", f->results.data, f->results.len);
}

void print_dictionary(Printer *p, const Props *props, const char *open, const char *close) {
    for (uint32_t k = 0; k < props->len; k++) {
        print_put(p, k ? ", " : open);
        print_put(p, props->data[k].key);
        print_put(p, " = ");
        print_put(p, props->data[k].value);
    }
    if (props->len) print_put(p, close);
}

void print_props(Printer *p, const Props *props) { print_dictionary(p, props, " <{", "}>"); }

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
    print_prop(p, out, "keep_dims", "false");
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
    print_prop(p, out, "axis", arena_printf(p->arena, "%lld : i64", (long long)n->attr.ints[0]));
}

static void props_put(Printer *p, Props *out, const Node *n) {
    print_prop(p, out, "rows", arena_printf(p->arena, "%lld : i64", (long long)n->attr.ints[0]));
}

static void props_cumsum(Printer *p, Props *out, const Node *n) {
    props_concat(p, out, n);
    print_prop(p, out, "reverse", n->attr.ints[1] ? "true" : "false");
}

static void props_map(Printer *p, Props *out, const Node *n) { prop_map(p, out, n->attr.map); }

static void props_constant(Printer *p, Props *out, const Node *n) {
    Text t = {.arena = p->arena};
    Dtype d = (Dtype)n->attr.type.dtype;
    text_put_number(&t, d, n->attr.bits);
    if (d != DT_bool) text_putf(&t, " : %s", dtype_name(d));
    print_prop(p, out, "value", t.text);
}

static void props_traverse(Printer *p, Props *out, const Node *n) {
    const Attr *a = &n->attr;
    if (map_exists(p->env, a->map)) prop_map(p, out, a->map);
    if (a->name) print_prop_name(p, out, "name", a->name);
    if (a->num_ints) prop_ints(p, out, "phases", a->ints, a->num_ints, 1);
    if (a->type.set != SET_ALL) print_prop_symbol(p, out, "rows", p->sets[a->type.set]);
    print_region_props(p, out, "", a->body);
}

static void props_launch(Printer *p, Props *out, const Node *n) {
    const Attr *a = &n->attr;
    if (map_exists(p->env, a->map)) prop_map(p, out, a->map);
    print_prop_symbol(p, out, "kernel", print_symbol_of(p, a->body));
    if (a->name && strcmp(a->name, a->body->name)) print_prop_name(p, out, "name", a->name);
    if (a->num_ints) prop_ints(p, out, "ints", a->ints, a->num_ints, 1);
}

static void props_row_scan(Printer *p, Props *out, const Node *n) {
    Scan s = ir_scan_of(n);
    prop_map(p, out, s.map);
    print_prop(p, out, "order",
               s.flags & SCAN_reverse ? "\"reverse\""
               : s.flags & SCAN_tree  ? "\"tree\""
                                      : "\"forward\"");
    print_prop(p, out, "states", arena_printf(p->arena, "%u : i64", s.num_states));
    print_region_props(p, out, "", s.body);
}

/* One rule an operation; a row of op.def without one does not compile. */
#define props_cast props_none
#define props_bcast props_shape
#define props_reshape props_shape
#define props_transpose props_axes
#define props_fsum props_fold
#define props_fmax props_fold
#define props_take props_none
#define props_matmul props_none
#define props_gather props_map
#define props_reduce props_map
#define props_rmax props_map
#define props_softmax props_map
#define props_degree props_map
#define props_iota props_none
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

void print_node_props(Printer *p, const Node *n) {
    Props props = {0};
    props_rule[n->op](p, &props, n);
    print_props(p, &props);
}
