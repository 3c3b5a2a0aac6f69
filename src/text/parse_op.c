/* Operations, blocks and regions. Every operation goes through ir_emit, so types are inferred, and
 * compared with what the text says. */
#include "text/parse.h"

#include "base/hash.h"
#include "ir/type.h"

#include <string.h>

enum { MAX_DEPTH = 16 };

/* ---- the values of one block ---- */

typedef struct {
    const char *name;
    Val first;       /* 0: a function's argument that no operation has read yet */
    uint32_t number; /* of results; of the argument */
} Name;

typedef struct {
    Fn *f;
    const Ends *inputs; /* a function's arguments; unused in a region */
    VEC(Name) names;
    uint32_t *table; /* open addressing, number of the name + 1 */
    uint32_t table_size;
} Scope;

static uint32_t *name_slot(const Scope *s, const char *name) {
    uint32_t mask = s->table_size - 1;
    for (uint32_t i = (uint32_t)hash_str(name, 0) & mask;; i = (i + 1) & mask) {
        uint32_t k = s->table[i];
        if (k == 0 || !strcmp(s->names.data[k - 1].name, name)) return &s->table[i];
    }
}

static void grow_names(Parser *p, Scope *s) {
    if (s->names.len * 2 < s->table_size) return;
    s->table_size = s->table_size ? s->table_size * 2 : 64;
    s->table = ARENA_ARRAY(p->arena, uint32_t, s->table_size);
    for (uint32_t k = 0; k < s->names.len; k++) *name_slot(s, s->names.data[k].name) = k + 1;
}

static void define(Parser *p, Scope *s, const char *at, const char *name, Val first,
                   uint32_t number) {
    if (p->lex.status) return;
    grow_names(p, s);
    uint32_t *slot = name_slot(s, name);
    if (*slot) {
        lex_fail(&p->lex, ST_SYNTAX, at, "%s is defined twice", name);
        return;
    }
    *vec_push(p->arena, &s->names) = (Name){name, first, number};
    *slot = s->names.len;
}

/* The token's name, and a step over it; NULL after a fault. */
static const Name *use_name(Parser *p, const Scope *s) {
    const char *at = p->lex.tok.start;
    const char *name = lex_text(&p->lex, T_value, "a value");
    if (p->lex.status) return NULL;
    uint32_t k = s->table_size ? *name_slot(s, name) : 0;
    if (k) return &s->names.data[k - 1];
    lex_fail(&p->lex, ST_NAME, at, "%s is not defined before this", name);
    return NULL;
}

static Val make_input(Parser *p, Fn *f, const End *input) {
    Val v = ir_input(f, input->name, input->type);
    if (!v) lex_fail(&p->lex, f->status, input->at, "%s", err_message());
    else if (input->order) f->nodes.data[v].hash = (uint64_t)*input->order;
    return v;
}

static Val read_argument(Parser *p, Scope *s, uint32_t k) {
    const End *input = &s->inputs->data[k];
    Val v = ir_find_input(s->f, input->name);
    return v ? v : make_input(p, s->f, input);
}

/* "%3", "%3#1" */
static Val use_value(Parser *p, Scope *s) {
    const Name *name = use_name(p, s);
    if (!name) return 0;
    if (name->first == 0) return read_argument(p, s, name->number);
    if (!lex_take(&p->lex, '#')) return ir_part(s->f, name->first, 0);
    const char *at = p->lex.tok.start;
    uint64_t k = lex_count(&p->lex, UINT32_MAX, "a result's number");
    if (k >= name->number)
        lex_fail(&p->lex, ST_NAME, at, "%s has %u results", name->name, name->number);
    return p->lex.status ? 0 : ir_part(s->f, name->first, (uint32_t)k);
}

/* ---- operations ---- */

typedef VEC(Val) Vals;

typedef struct {
    const char *at, *name;
    Op op;
    Vals args;
    Types arg_types, result_types;
    Props props;
    const Fn *body[NUM_REGIONS];
    uint32_t num_bodies;
} OpText;

static void op_fail(Parser *p, const OpText *o, Status status, const char *why) {
    lex_fail(&p->lex, status, o->at, "%s", why);
}

static const Type *only_result(Parser *p, const OpText *o) {
    static const Type none;
    if (o->result_types.len == 1) return o->result_types.data;
    op_fail(p, o, ST_SYNTAX, "one result is expected");
    return &none;
}

static const Type *operand_type(const OpText *o) {
    static const Type none;
    return o->arg_types.len ? o->arg_types.data : &none;
}

static void attr_none(Parser *p, OpText *o, Attr *a) { (void)p, (void)o, (void)a; }

static void attr_cast(Parser *p, OpText *o, Attr *a) {
    a->type = type_scalar((Dtype)only_result(p, o)->dtype, SET_ALL);
}

/* The type decides; "shape" may say it again, a set's extent as -1. */
static void attr_shape(Parser *p, OpText *o, Attr *a) {
    const Type *t = only_result(p, o);
    const Prop *shape = prop_get(p, &o->props, "shape", PROP_ints, false);
    bool differs = shape && shape->num != t->rank;
    for (int k = 0; shape && !differs && k < t->rank; k++)
        differs = shape->ints[k] != (dim_is_set(t->dim[k]) ? -1 : t->dim[k]);
    if (differs) lex_fail(&p->lex, ST_SHAPE, shape->at, "shape: not that of the result");
    a->type = type_of(DT_bool, SET_ALL, t->rank, t->dim);
}

static void attr_axes(Parser *p, OpText *o, Attr *a) {
    const Prop *axes = prop_get(p, &o->props, "axes", PROP_ints, true);
    if (!axes) return;
    a->ints = axes->ints;
    a->num_ints = axes->num;
}

static void attr_fold(Parser *p, OpText *o, Attr *a) {
    attr_axes(p, o, a);
    if (prop_bool(p, &o->props, "keep_dims", false))
        op_fail(p, o, ST_UNSUPPORTED, "keep_dims = true (reshape the result instead)");
}

/* Three lists of one length, interleaved. */
static void attr_triples(Parser *p, OpText *o, Attr *a, const char *const key[3]) {
    const Prop *list[3];
    for (int i = 0; i < 3; i++) list[i] = prop_get(p, &o->props, key[i], PROP_ints, true);
    if (p->lex.status) return;
    uint32_t n = list[0]->num;
    if (list[1]->num != n || list[2]->num != n) {
        op_fail(p, o, ST_SHAPE, "lists of one length are expected");
        return;
    }
    int64_t *ints = ARENA_ARRAY(p->arena, int64_t, 3 * (size_t)n);
    for (uint32_t k = 0; k < 3 * n; k++) ints[k] = list[k % 3]->ints[k / 3];
    a->ints = ints;
    a->num_ints = 3 * n;
}

/* A count of -1 is the whole of an axis that is a set's extent. */
static void attr_slice(Parser *p, OpText *o, Attr *a) {
    attr_triples(p, o, a, (const char *const[]){"start", "count", "step"});
    const Type *t = operand_type(o);
    int64_t *ints = arena_copy(p->arena, a->ints, a->num_ints * sizeof *a->ints);
    for (uint32_t k = 0; k < a->num_ints / 3; k++)
        if (ints[3 * k + 1] == -1 && k < t->rank && dim_is_set(t->dim[k]))
            ints[3 * k + 1] = t->dim[k];
    a->ints = ints;
}

static void attr_pad(Parser *p, OpText *o, Attr *a) {
    attr_triples(p, o, a, (const char *const[]){"low", "high", "interior"});
}

static void attr_concat(Parser *p, OpText *o, Attr *a) {
    a->ints = prop_int(p, &o->props, "axis", true);
    a->num_ints = 1;
}

static void attr_put(Parser *p, OpText *o, Attr *a) {
    a->ints = prop_int(p, &o->props, "rows", true);
    a->num_ints = 1;
}

static void attr_cumsum(Parser *p, OpText *o, Attr *a) {
    int64_t *ints = ARENA_ARRAY(p->arena, int64_t, 2);
    const int64_t *axis = prop_int(p, &o->props, "axis", true);
    if (axis) ints[0] = *axis;
    ints[1] = prop_bool(p, &o->props, "reverse", false);
    a->ints = ints;
    a->num_ints = 2;
}

static void attr_map(Parser *p, OpText *o, Attr *a) { a->map = prop_map(p, &o->props, true); }

static void attr_enter(Parser *p, OpText *o, Attr *a) { a->type.set = only_result(p, o)->set; }

static void attr_constant(Parser *p, OpText *o, Attr *a) {
    a->type = *only_result(p, o);
    a->bits = prop_bits(p, &o->props, "value", (Dtype)a->type.dtype);
}

static const char *prop_text(Parser *p, OpText *o, const char *key, const char *otherwise) {
    const Prop *text = prop_get(p, &o->props, key, PROP_string, false);
    return text ? text->text : otherwise;
}

static void attr_ints(Parser *p, OpText *o, Attr *a, const char *key) {
    const Prop *ints = prop_get(p, &o->props, key, PROP_ints, false);
    if (!ints) return;
    a->ints = ints->ints;
    a->num_ints = ints->num;
}

static void attr_traverse(Parser *p, OpText *o, Attr *a) {
    const Prop *rows = prop_get(p, &o->props, "rows", PROP_symbol, false);
    a->map = prop_map(p, &o->props, false);
    a->name = prop_text(p, o, "name", NULL);
    if (rows) a->type.set = parse_set_symbol(p, rows->at, rows->text);
    attr_ints(p, o, a, "phases");
    if (o->num_bodies == 1) a->body = o->body[0];
    else op_fail(p, o, ST_SYNTAX, "one region is expected");
}

static void attr_launch(Parser *p, OpText *o, Attr *a) {
    const Prop *kernel = prop_get(p, &o->props, "kernel", PROP_symbol, true);
    if (!kernel) return;
    const Symbol *s = parse_find_symbol(p, kernel->text);
    if (!s || s->kind != SYMBOL_function) {
        lex_fail(&p->lex, ST_NAME, kernel->at, "no function '%s' stands before this", kernel->text);
        return;
    }
    a->map = prop_map(p, &o->props, false);
    a->body = s->fn;
    a->name = prop_text(p, o, "name", s->fn->name);
    attr_ints(p, o, a, "ints");
}

static void attr_row_scan(Parser *p, OpText *o, Attr *a) {
    const int64_t *states = prop_int(p, &o->props, "states", true);
    const char *order = prop_text(p, o, "order", "forward");
    int64_t *ints = ARENA_ARRAY(p->arena, int64_t, 2);
    a->map = prop_map(p, &o->props, true);
    if (!strcmp(order, "reverse")) ints[1] = SCAN_reverse;
    else if (!strcmp(order, "tree")) ints[1] = SCAN_tree;
    else if (strcmp(order, "forward"))
        op_fail(p, o, ST_INVAL, "order: forward, reverse or tree is expected");
    if (states) ints[0] = *states;
    a->ints = ints;
    a->num_ints = 2;
    if (o->num_bodies == 1) a->body = o->body[0];
    else op_fail(p, o, ST_SYNTAX, "one region is expected");
}

/* One rule an operation; a row of op.def without one does not compile. input is read apart, and
 * result is no operation of the text. */
#define attr_bcast attr_shape
#define attr_reshape attr_shape
#define attr_transpose attr_axes
#define attr_fsum attr_fold
#define attr_fmax attr_fold
#define attr_take attr_none
#define attr_matmul attr_none
#define attr_gather attr_map
#define attr_reduce attr_map
#define attr_rmax attr_map
#define attr_softmax attr_map
#define attr_degree attr_map
#define attr_iota attr_enter
#define attr_leave attr_none
#define attr_input attr_none
#define attr_result attr_none
static void (*const attr_rule[NUM_OPS])(Parser *p, OpText *o, Attr *a) = {
#define ELEM(op, ...) [OP_##op] = attr_none,
#define SHAPE(op, ...) [OP_##op] = attr_##op,
#define ALONG(op, ...) [OP_##op] = attr_##op,
#define FRAME(op, ...) [OP_##op] = attr_##op,
#include "ir/op.def"
};

static const char *type_said(Parser *p, const Fn *f, const Type *t) {
    return type_text(p->arena, f, t);
}

static void check_operands(Parser *p, const Scope *s, const OpText *o) {
    if (o->args.len != o->arg_types.len)
        lex_fail(&p->lex, ST_SYNTAX, o->at, "%u operands, but %u types of operands", o->args.len,
                 o->arg_types.len);
    for (uint32_t k = 0; k < o->args.len && !p->lex.status; k++) {
        const Type *is = ir_type(s->f, o->args.data[k]), *said = &o->arg_types.data[k];
        if (!type_equal(is, said))
            lex_fail(&p->lex, ST_TYPE, o->at, "operand %u is %s, but the text says %s", k,
                     type_said(p, s->f, is), type_said(p, s->f, said));
    }
}

/* A group's operands are its body's inputs, in order. */
static void check_body(Parser *p, const Scope *s, const OpText *o, const Fn *body) {
    if (body->inputs.len != o->args.len)
        lex_fail(&p->lex, ST_TYPE, o->at, "%u operands, but %u arguments inside", o->args.len,
                 body->inputs.len);
    for (uint32_t k = 0; k < o->args.len && !p->lex.status; k++) {
        const Type *is = ir_type(s->f, o->args.data[k]);
        const Type *inside = ir_type(body, body->inputs.data[k].val);
        if (!type_equal(is, inside))
            lex_fail(&p->lex, ST_TYPE, o->at, "operand %u is %s, but inside it is %s", k,
                     type_said(p, s->f, is), type_said(p, body, inside));
    }
}

static void check_results(Parser *p, const Scope *s, const OpText *o, Val v) {
    const Node *n = ir_node(s->f, v);
    if (n->num_results != o->result_types.len)
        lex_fail(&p->lex, ST_TYPE, o->at, "%s gives %u results, but the text says %u", o->name,
                 n->num_results, o->result_types.len);
    for (uint32_t k = 0; k < n->num_results && !p->lex.status; k++)
        if (!type_equal(&n->types[k], &o->result_types.data[k]))
            lex_fail(&p->lex, ST_TYPE, o->at, "%s gives %s, but the text says %s", o->name,
                     type_said(p, s->f, &n->types[k]),
                     type_said(p, s->f, &o->result_types.data[k]));
}

static Val emit(Parser *p, Scope *s, OpText *o) {
    Attr attr = {0};
    check_operands(p, s, o);
    if (!p->lex.status) attr_rule[o->op](p, o, &attr);
    if (attr.body && o->op != OP_row_scan) check_body(p, s, o, attr.body);
    else if (!attr.body && o->num_bodies) op_fail(p, o, ST_SYNTAX, "no region is expected");
    props_end(p, &o->props);
    if (p->lex.status) return 0;
    Val v = ir_emit(s->f, o->op, o->args.data, o->args.len, &attr);
    if (!v) op_fail(p, o, s->f->status, err_message());
    else check_results(p, s, o, v);
    return v;
}

/* ---- input: the founding documents say where the buffer lies, which is no part of a program ---- */

static void check_strides(Parser *p, OpText *o, const Type *t) {
    const Prop *strides = prop_get(p, &o->props, "strides", PROP_ints, false);
    int64_t step = 1;
    bool dense = !strides || strides->num == t->rank;
    for (int k = t->rank - 1; strides && dense && k >= 0; k--) {
        dense = strides->ints[k] == step && t->dim[k] > 0;
        if (dense) step *= t->dim[k];
    }
    if (!dense) lex_fail(&p->lex, ST_UNSUPPORTED, strides->at, "strides other than row-major");
}

static Val emit_input(Parser *p, Scope *s, OpText *o, const Name *argument) {
    const int64_t *offset = prop_int(p, &o->props, "offset", false);
    if (offset && *offset) op_fail(p, o, ST_UNSUPPORTED, "an offset other than 0");
    if (!argument || argument->first != 0 || p->lex.status) {
        op_fail(p, o, ST_SYNTAX, "gf_tensor.input: expected an argument of the function");
        return 0;
    }
    Val v = read_argument(p, s, argument->number);
    if (!v) return 0;
    *vec_push(p->arena, &o->args) = v;
    check_strides(p, o, ir_type(s->f, v));
    check_operands(p, s, o);
    check_results(p, s, o, v);
    props_end(p, &o->props);
    return v;
}

/* ---- the syntax of an operation ---- */

void parse_types(Parser *p, Types *list) {
    lex_need(&p->lex, '(', "'('");
    if (lex_take(&p->lex, ')')) return;
    do *vec_push(p->arena, list) = parse_type(p);
    while (lex_take(&p->lex, ','));
    lex_need(&p->lex, ')', "')'");
}

static Op find_op(Parser *p, const OpText *o) {
    for (int op = OP_none + 1; op < NUM_OPS; op++) {
        const char *name = text_op_name((Op)op);
        if (name && !strcmp(name, o->name)) return (Op)op;
    }
    lex_fail(&p->lex, ST_NAME, o->at, "no operation '%s'", o->name);
    return OP_none;
}

static void parse_operands(Parser *p, Scope *s, OpText *o) {
    lex_need(&p->lex, '(', "'('");
    if (lex_take(&p->lex, ')')) return;
    do *vec_push(p->arena, &o->args) = use_value(p, s);
    while (lex_take(&p->lex, ','));
    lex_need(&p->lex, ')', "')'");
}

static void parse_signature(Parser *p, OpText *o) {
    lex_need(&p->lex, ':', "':'");
    parse_types(p, &o->arg_types);
    lex_need(&p->lex, T_arrow, "'->'");
    if (lex_is(&p->lex, '(')) parse_types(p, &o->result_types);
    else *vec_push(p->arena, &o->result_types) = parse_type(p);
}

/* Behind the operands. */
static void parse_rest(Parser *p, OpText *o) {
    Lex *x = &p->lex;
    o->props.at = o->at;
    if (lex_take(x, T_open)) parse_props(p, &o->props, T_close);
    if (lex_take(x, '(')) {
        o->body[o->num_bodies++] = parse_region(p, &o->props, "");
        lex_need(x, ')', "')'");
    }
    if (lex_take(x, '{')) parse_props(p, &o->props, '}');
    parse_signature(p, o);
}

static Val parse_input(Parser *p, Scope *s, OpText *o) {
    lex_need(&p->lex, '(', "'('");
    const Name *name = use_name(p, s);
    Name argument = name ? *name : (Name){0};
    lex_need(&p->lex, ')', "')'");
    parse_rest(p, o);
    return emit_input(p, s, o, name ? &argument : NULL);
}

static Val parse_plain(Parser *p, Scope *s, OpText *o) {
    parse_operands(p, s, o);
    parse_rest(p, o);
    return emit(p, s, o);
}

/* [%name[:count] =] "operation"(..) .. */
static void parse_op(Parser *p, Scope *s) {
    Lex *x = &p->lex;
    const char *name = NULL, *at = x->tok.start;
    uint64_t count = 1;
    if (lex_is(x, T_value)) {
        name = lex_text(x, T_value, "a value");
        if (lex_take(x, ':')) count = lex_count(x, UINT32_MAX, "a number of results");
        lex_need(x, '=', "'='");
    }
    OpText o = {.at = x->tok.start};
    o.name = lex_text(x, T_string, "an operation");
    o.op = x->status ? OP_none : find_op(p, &o);
    if (o.op == OP_none) return;
    Val v = o.op == OP_input ? parse_input(p, s, &o) : parse_plain(p, s, &o);
    if (!name || x->status) return;
    if (ir_node(s->f, v)->num_results != count)
        lex_fail(x, ST_SYNTAX, at, "%s stands for %u results", name, ir_node(s->f, v)->num_results);
    define(p, s, at, name, v, (uint32_t)count);
}

/* ---- blocks ---- */

static bool is_yield(const Lex *x) {
    static const char yield[] = "\"gf_ctl.yield\"";
    return lex_is(x, T_string) && x->tok.len == sizeof yield - 1 &&
           !memcmp(x->tok.start, yield, x->tok.len);
}

static void bind_results(Parser *p, Scope *s, const char *at, const Vals *vals, const Types *types,
                         const Ends *ends) {
    if (vals->len != ends->len || types->len != ends->len)
        lex_fail(&p->lex, ST_TYPE, at, "%u values and %u types, but %u results are declared",
                 vals->len, types->len, ends->len);
    for (uint32_t k = 0; k < vals->len && !p->lex.status; k++) {
        const End *end = &ends->data[k];
        const Type *is = ir_type(s->f, vals->data[k]);
        if (!type_equal(is, &types->data[k]) || !type_equal(is, &end->type))
            lex_fail(&p->lex, ST_TYPE, at, "result '%s' is %s, but the text says otherwise",
                     end->name, type_said(p, s->f, is));
        else if (ir_find_result(s->f, end->name))
            lex_fail(&p->lex, ST_NAME, at, "result '%s' is named twice", end->name);
        else ir_add_result(s->f, end->name, vals->data[k]);
    }
}

static void parse_values(Parser *p, Scope *s, Vals *out) {
    do *vec_push(p->arena, out) = use_value(p, s);
    while (lex_take(&p->lex, ','));
}

/* return %1, %2#1 : tensor<..>, tensor<..> */
static void parse_return(Parser *p, Scope *s, const Ends *results) {
    const char *at = p->lex.tok.start;
    Vals vals = {0};
    Types types = {0};
    lex_need_word(&p->lex, "return");
    if (lex_is(&p->lex, T_value)) {
        parse_values(p, s, &vals);
        lex_need(&p->lex, ':', "':'");
        do *vec_push(p->arena, &types) = parse_type(p);
        while (lex_take(&p->lex, ','));
    }
    bind_results(p, s, at, &vals, &types, results);
}

/* What props say of a region's ends. */
typedef struct {
    const Prop *inputs, *orders, *results;
} RegionNames;

static RegionNames region_names(Parser *p, Props *props, const char *prefix) {
    Arena *a = p->arena;
    return (RegionNames){
        prop_get(p, props, arena_printf(a, "%sinputs", prefix), PROP_strings, false),
        prop_get(p, props, arena_printf(a, "%sorders", prefix), PROP_ints, false),
        prop_get(p, props, arena_printf(a, "%sresults", prefix), PROP_strings, false),
    };
}

/* Lists may be longer or shorter than what they name: check_length says so, afterwards. */
static const char *end_name(Parser *p, const Prop *names, const char *stem, uint32_t k) {
    if (names && k < names->num) return names->strings[k];
    return arena_printf(p->arena, "%s%u", stem, k);
}

static void check_length(Parser *p, const Prop *list, uint32_t n) {
    if (list && list->num != n)
        lex_fail(&p->lex, ST_SYNTAX, list->at, "%s: %u entries for %u values", list->key, list->num,
                 n);
}

/* "gf_ctl.yield"(%1, %2#1) : (tensor<..>, tensor<..>) -> () */
static void parse_yield(Parser *p, Scope *s, const Prop *names) {
    OpText o = {.at = p->lex.tok.start};
    lex_need(&p->lex, T_string, "\"gf_ctl.yield\"");
    parse_operands(p, s, &o);
    parse_signature(p, &o);
    if (o.result_types.len) op_fail(p, &o, ST_SYNTAX, "gf_ctl.yield has no results");
    check_length(p, names, o.args.len);
    Ends ends = {0};
    for (uint32_t k = 0; k < o.arg_types.len; k++)
        *vec_push(p->arena, &ends) =
            (End){.name = end_name(p, names, "result", k), .at = o.at, .type = o.arg_types.data[k]};
    bind_results(p, s, o.at, &o.args, &o.arg_types, &ends);
}

/* %arg0: tensor<..> */
static void parse_argument(Parser *p, Scope *s, const RegionNames *names) {
    Lex *x = &p->lex;
    uint32_t k = s->f->inputs.len;
    End end = {.at = x->tok.start, .name = end_name(p, names->inputs, "arg", k)};
    const char *value = lex_text(x, T_value, "an argument");
    lex_need(x, ':', "':'");
    end.type = parse_type(p);
    if (x->status) return;
    if (names->orders && k < names->orders->num) end.order = &names->orders->ints[k];
    if (ir_find_input(s->f, end.name))
        lex_fail(x, ST_NAME, end.at, "argument '%s' is named twice", end.name);
    else define(p, s, end.at, value, make_input(p, s->f, &end), 1);
}

/* ^bb0(%arg0: tensor<..>, ..): */
static void parse_arguments(Parser *p, Scope *s, const RegionNames *names) {
    Lex *x = &p->lex;
    if (lex_take(x, T_block)) {
        if (lex_take(x, '(')) {
            do parse_argument(p, s, names);
            while (lex_take(x, ','));
            lex_need(x, ')', "')'");
        }
        lex_need(x, ':', "':'");
    }
    check_length(p, names->inputs, s->f->inputs.len);
    check_length(p, names->orders, s->f->inputs.len);
}

const Fn *parse_region(Parser *p, Props *props, const char *prefix) {
    Lex *x = &p->lex;
    if (p->depth == MAX_DEPTH)
        lex_fail(x, ST_UNSUPPORTED, x->tok.start, "regions deeper than %d", MAX_DEPTH);
    p->depth++;
    Scope s = {.f = ir_new_like(p->arena, p->env, "body")};
    RegionNames names = region_names(p, props, prefix);
    lex_need(x, '{', "'{'");
    parse_arguments(p, &s, &names);
    while (!x->status && !is_yield(x)) parse_op(p, &s);
    parse_yield(p, &s, names.results);
    lex_need(x, '}', "'}'");
    p->depth--;
    return s.f;
}

/* Inputs stand in the order of the arguments, also those that nothing reads. */
static void bind_inputs(Parser *p, Scope *s) {
    uint32_t n = s->inputs->len;
    Binding *list = ARENA_ARRAY(p->arena, Binding, n);
    for (uint32_t k = 0; k < n; k++) {
        Val v = read_argument(p, s, k);
        if (v) list[k] = (Binding){ir_node(s->f, v)->attr.name, v};
    }
    if (p->lex.status) return;
    s->f->inputs.data = list;
    s->f->inputs.len = s->f->inputs.cap = n;
}

void parse_body(Parser *p, Fn *f, const Ends *inputs, const char *const *values,
                const Ends *results) {
    Scope s = {.f = f, .inputs = inputs};
    for (uint32_t k = 0; k < inputs->len; k++) define(p, &s, inputs->data[k].at, values[k], 0, k);
    while (!p->lex.status && !lex_is_word(&p->lex, "return")) parse_op(p, &s);
    if (!p->lex.status) bind_inputs(p, &s);
    parse_return(p, &s, results);
}
