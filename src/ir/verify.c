/* Every violation, one line each. In: any function whose arrays are as long as they say; each value
 * is checked on its own, what depends on a broken part is left out. */
#include "ir/verify.h"

#include "ir/type.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const Fn *f;
    Arena *arena; /* scratch */
    Text *report;
    const char *where; /* "in the body of value 5: " */
    uint32_t count;
} Verify;

static void violation(Verify *q, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void violation(Verify *q, const char *format, ...) {
    char line[ERR_MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    q->count++;
    if (q->report) text_putf(q->report, "%s%s\n", q->where, line);
}

static const char *op_text(const Node *n) {
    return n->op > OP_none && n->op < NUM_OPS ? op_info[n->op].name : "no operation";
}

static bool is_value(const Verify *q, Val v) { return v > 0 && v < ir_count(q->f); }

/* ---- sets and relations ---- */

static void check_sets(Verify *q) {
    const Fn *f = q->f;
    if (f->sets.len == 0 || strcmp(f->sets.data[0].name, "all") != 0)
        violation(q, "set 0 is not `all`");
    for (uint32_t s = 0; s < f->sets.len; s++)
        for (uint32_t k = 0; k < s; k++)
            if (!strcmp(f->sets.data[s].name, f->sets.data[k].name))
                violation(q, "sets %u and %u are both named '%s'", k, s, f->sets.data[s].name);
}

static void check_relations(Verify *q) {
    const Fn *f = q->f;
    for (uint32_t r = 0; r < f->relations.len; r++) {
        const Relation *rel = &f->relations.data[r];
        if (rel->src >= f->sets.len || rel->dst >= f->sets.len || rel->edges >= f->sets.len)
            violation(q, "relation '%s': no such set", rel->name);
        else if (rel->edges == SET_ALL)
            violation(q, "relation '%s': its edges are `all`", rel->name);
        for (uint32_t k = 0; k < r; k++)
            if (!strcmp(rel->name, f->relations.data[k].name))
                violation(q, "relations %u and %u are both named '%s'", k, r, rel->name);
    }
}

static bool sets_exist(const Fn *f) {
    for (uint32_t r = 0; r < f->relations.len; r++) {
        const Relation *rel = &f->relations.data[r];
        if (rel->src >= f->sets.len || rel->dst >= f->sets.len || rel->edges >= f->sets.len)
            return false;
    }
    return f->sets.len > 0;
}

/* ---- what an operation holds besides its operands: unused members are 0 ---- */

enum {
    USES_map = 1,
    USES_index = 2,
    USES_bits = 4,
    USES_name = 8,
    USES_ints = 16,
    USES_type = 32,
    USES_body = 64
};

enum { A_none = 0, A_type = USES_type, A_ints = USES_ints };
#define uses_input (USES_name | USES_type)
#define uses_constant (USES_bits | USES_type)
#define uses_result USES_index
#define uses_traverse (USES_map | USES_name | USES_ints | USES_type | USES_body)
#define uses_launch (USES_map | USES_name | USES_ints | USES_body)
#define uses_gather USES_map
#define uses_reduce USES_map
#define uses_rmax USES_map
#define uses_softmax USES_map
#define uses_row_scan (USES_map | USES_ints | USES_body)
#define uses_degree USES_map
#define uses_iota USES_type
#define uses_enter USES_type
#define uses_leave 0
static const uint8_t uses[NUM_OPS] = {
#define SHAPE(op, arity, attribute) [OP_##op] = attribute,
#define ALONG(op, ...) [OP_##op] = uses_##op,
#define FRAME(op, ...) [OP_##op] = uses_##op,
#include "ir/op.def"
};

static void check_unused(Verify *q, Val v, const Node *n) {
    static const Type none;
    const Attr *a = &n->attr;
    int held = (a->map ? USES_map : 0) | (a->index ? USES_index : 0) | (a->bits ? USES_bits : 0) |
               (a->name ? USES_name : 0) | (a->num_ints ? USES_ints : 0) |
               (memcmp(&a->type, &none, sizeof none) ? USES_type : 0) | (a->body ? USES_body : 0);
    static const char *const name[] = {"map", "index", "bits", "name", "ints", "type", "body"};
    for (int k = 0; k < 7; k++)
        if ((held & ~uses[n->op]) >> k & 1)
            violation(q, "value %u (%s): attribute '%s' is set but not used", v, op_text(n),
                      name[k]);
}

/* The part of attr.type that the operation reads, the rest 0: equal nodes must look equal. */
static Type read_part(const Node *n) {
    const Type *t = &n->attr.type;
    if (n->op == OP_cast) return type_scalar((Dtype)t->dtype, SET_ALL);
    if (n->op == OP_enter || n->op == OP_iota) return type_scalar(DT_bool, t->set);
    if (n->op == OP_bcast || n->op == OP_reshape)
        return type_of(DT_bool, SET_ALL, t->rank <= MAX_RANK ? t->rank : 0, t->dim);
    return *t;
}

static void check_attr(Verify *q, Val v, const Node *n) {
    Type part = read_part(n);
    check_unused(q, v, n);
    if (!type_equal(&part, &n->attr.type))
        violation(q, "value %u (%s): attr.type says more than is read", v, op_text(n));
    if (n->op != OP_constant || n->attr.type.dtype >= NUM_DTYPES) return;
    int bytes = dtype_size((Dtype)n->attr.type.dtype);
    bool wide = n->attr.type.dtype == DT_bool ? n->attr.bits > 1
                                              : bytes < 8 && n->attr.bits >> (8 * bytes) != 0;
    if (wide)
        violation(q, "value %u (constant): bits outside %s", v,
                  dtype_name((Dtype)n->attr.type.dtype));
}

/* ---- operands and types ---- */

static bool has_sound_types(const Fn *f, Val v) {
    for (uint32_t k = 0; k < ir_node(f, v)->num_results; k++)
        if (type_fault(f, &ir_node(f, v)->types[k])) return false;
    return true;
}

/* Whether every operand may be looked at. Unsound types are reported where they are made. */
static bool check_args(Verify *q, Val v, const Node *n) {
    bool ok = true;
    for (uint32_t k = 0; k < n->num_args; k++) {
        Val a = n->args[k];
        if (!is_value(q, a))
            violation(q, "value %u (%s): operand %u is no value", v, op_text(n), k);
        else if (a >= v)
            violation(q, "value %u (%s): operand %u is value %u, which comes later", v, op_text(n),
                      k, a);
        else if (ir_node(q->f, a)->num_results == 0)
            violation(q, "value %u (%s): operand %u has no result", v, op_text(n), k);
        else if (has_sound_types(q->f, a)) continue;
        ok = false;
    }
    return ok;
}

static void compare_types(Verify *q, Val v, const Node *n, const Type *types, uint32_t num) {
    if (n->num_results != num)
        violation(q, "value %u (%s): %u results, but %u are inferred", v, op_text(n),
                  n->num_results, num);
    for (uint32_t k = 0; k < num && k < n->num_results; k++) {
        if (type_equal(&n->types[k], &types[k])) continue;
        const char *why = type_fault(q->f, &n->types[k]);
        violation(q, "value %u (%s): result %u is %s, but %s is inferred", v, op_text(n), k,
                  why ? why : type_text(q->arena, q->f, &n->types[k]),
                  type_text(q->arena, q->f, &types[k]));
    }
}

static void check_types(Verify *q, Val v, const Node *n) {
    Type few[MAX_RESULTS], *types = few;
    uint32_t num;
    if (n->attr.body) types = ARENA_ARRAY(q->arena, Type, n->attr.body->results.len);
    Status st = type_infer(q->f, (Op)n->op, n->args, n->num_args, &n->attr, types, &num);
    if (st) violation(q, "value %u: %s", v, err_message());
    else compare_types(q, v, n, types, num);
}

/* The builder sorts operands of commuting operations by structure. */
static void check_order(Verify *q, Val v, const Node *n) {
    if (!(op_info[n->op].traits & COMM)) return;
    for (uint32_t k = 1; k < n->num_args; k++)
        if (ir_node(q->f, n->args[k - 1])->hash > ir_node(q->f, n->args[k])->hash) {
            violation(q, "value %u (%s): operands are not sorted by structure", v, op_text(n));
            return;
        }
}

/* ---- regions ---- */

static bool same_environment(const Fn *f, const Fn *body) {
    if (body->sets.len != f->sets.len || body->relations.len != f->relations.len) return false;
    for (uint32_t s = 0; s < f->sets.len; s++)
        if (strcmp(f->sets.data[s].name, body->sets.data[s].name) != 0) return false;
    for (uint32_t r = 0; r < f->relations.len; r++) {
        const Relation *a = &f->relations.data[r], *b = &body->relations.data[r];
        if (a->src != b->src || a->dst != b->dst || a->edges != b->edges) return false;
    }
    return true;
}

static bool is_bound(const Fn *body, const Binding *b) {
    return b->val > 0 && b->val < ir_count(body) && ir_node(body, b->val)->num_results > 0 &&
           has_sound_types(body, b->val);
}

static void check_group_types(Verify *q, Val v, const Node *n) {
    const Fn *body = n->attr.body;
    if (body->inputs.len != n->num_args)
        violation(q, "value %u (%s): %u operands, but its body has %u inputs", v, op_text(n),
                  n->num_args, body->inputs.len);
    for (uint32_t k = 0; k < n->num_args && k < body->inputs.len; k++)
        if (is_bound(body, &body->inputs.data[k]) &&
            !type_equal(ir_type(q->f, n->args[k]), ir_type(body, body->inputs.data[k].val)))
            violation(q, "value %u (%s): operand %u has not the type of input '%s' of its body", v,
                      op_text(n), k, body->inputs.data[k].name);
    Type *types = ARENA_ARRAY(q->arena, Type, body->results.len);
    for (uint32_t k = 0; k < body->results.len; k++) {
        if (!is_bound(body, &body->results.data[k])) return;
        types[k] = *ir_type(body, body->results.data[k].val);
    }
    compare_types(q, v, n, types, body->results.len);
}

static uint32_t verify(const Fn *f, Arena *arena, Text *report, const char *where);

static bool check_body(Verify *q, Val v, const Fn *body) {
    const char *where = arena_printf(q->arena, "%sin the body of value %u: ", q->where, v);
    uint32_t count = verify(body, q->arena, q->report, where);
    q->count += count;
    return count == 0;
}

/* Its type rule reads the body. */
static void check_scan(Verify *q, Val v, const Node *n) {
    if (!n->attr.body || check_body(q, v, n->attr.body)) check_types(q, v, n);
}

static void check_group(Verify *q, Val v, const Node *n) {
    const Attr *a = &n->attr;
    if (n->op == OP_traverse && a->map != MAP_NONE && !map_exists(q->f, a->map))
        violation(q, "value %u (traverse): no such map", v);
    if (!a->body) {
        violation(q, "value %u (%s): no body", v, op_text(n));
    } else if (!same_environment(q->f, a->body)) {
        violation(q, "value %u (%s): its body has other sets or relations", v, op_text(n));
    } else {
        check_group_types(q, v, n);
        check_body(q, v, a->body);
    }
}

/* ---- values and named ends ---- */

static bool names_input(const Verify *q, Val v) {
    for (uint32_t k = 0; k < q->f->inputs.len; k++)
        if (q->f->inputs.data[k].val == v) return true;
    return false;
}

static void check_value(Verify *q, Val v) {
    const Node *n = ir_node(q->f, v);
    if (n->op <= OP_none || n->op >= NUM_OPS) {
        violation(q, "value %u: no such operation", v);
        return;
    }
    check_attr(q, v, n);
    if (!check_args(q, v, n)) return;
    if (n->op == OP_traverse || n->op == OP_launch) check_group(q, v, n);
    else if (n->op == OP_row_scan) check_scan(q, v, n);
    else check_types(q, v, n);
    check_order(q, v, n);
    if (n->op == OP_input && !names_input(q, v))
        violation(q, "value %u (input): not among the inputs", v);
}

static void check_names(Verify *q, const char *what, const Binding *list, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < k; i++)
            if (!strcmp(list[i].name, list[k].name))
                violation(q, "%ss %u and %u are both named '%s'", what, i, k, list[k].name);
}

static void check_ends(Verify *q) {
    const Fn *f = q->f;
    check_names(q, "input", f->inputs.data, f->inputs.len);
    check_names(q, "result", f->results.data, f->results.len);
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        const Binding *b = &f->inputs.data[k];
        bool ok = is_value(q, b->val) && ir_op(f, b->val) == OP_input &&
                  ir_node(f, b->val)->attr.name && !strcmp(ir_node(f, b->val)->attr.name, b->name);
        if (!ok) violation(q, "input '%s': its value is no input of that name", b->name);
    }
    for (uint32_t k = 0; k < f->results.len; k++) {
        const Binding *b = &f->results.data[k];
        if (!is_value(q, b->val)) violation(q, "result '%s': no value", b->name);
        else if (ir_node(f, b->val)->num_results != 1)
            violation(q, "result '%s': value %u has %u results (take one)", b->name, b->val,
                      ir_node(f, b->val)->num_results);
    }
}

static uint32_t verify(const Fn *f, Arena *arena, Text *report, const char *where) {
    Verify q = {.f = f, .arena = arena, .report = report, .where = where};
    check_sets(&q);
    check_relations(&q);
    for (Val v = 1; sets_exist(f) && v < ir_count(f); v++) check_value(&q, v);
    check_ends(&q);
    return q.count;
}

uint32_t ir_verify(const Fn *f, Text *report) {
    Arena *scratch = arena_new();
    uint32_t count = verify(f, scratch, report, "");
    arena_free(scratch);
    return count;
}
