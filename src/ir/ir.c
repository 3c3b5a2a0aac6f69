/* The function and its one way to grow: ir_emit infers types, sorts commuting operands by
 * structure and finds an equal node before it makes one. Open addressing; O(1) an emit. */
#include "ir/ir.h"

#include "base/hash.h"
#include "ir/element.h"
#include "ir/type.h"

#include <string.h>

const OpInfo op_info[NUM_OPS] = {
    [OP_none] = {"none", CLASS_frame, 0, 0, 0, 0},
#define ELEM(op, arity, signature, traits, ...)                                                    \
    [OP_##op] = {#op, CLASS_elem, arity, 1, signature, traits},
#define SHAPE(op, arity, attribute) [OP_##op] = {#op, CLASS_shape, arity, 1, 0, 0},
#define ALONG(op, arity, results) [OP_##op] = {#op, CLASS_along, arity, results, 0, 0},
#define FRAME(op, arity) [OP_##op] = {#op, CLASS_frame, arity, 1, 0, 0},
#include "ir/op.def"
};

Fn *ir_new(Arena *takes, const char *name) {
    Fn *f = ARENA_NEW(takes, Fn);
    f->arena = takes;
    f->name = arena_str(takes, name);
    *vec_push(takes, &f->nodes) = (Node){0};
    vec_push(takes, &f->sets)->name = "all";
    f->table_size = 64;
    f->table = ARENA_ARRAY(takes, Val, f->table_size);
    return f;
}

Fn *ir_new_like(Arena *takes, const Fn *f, const char *name) {
    Fn *g = ir_new(takes, name);
    for (uint32_t s = 1; s < f->sets.len; s++)
        vec_push(takes, &g->sets)->name = arena_str(takes, f->sets.data[s].name);
    for (uint32_t r = 0; r < f->relations.len; r++) {
        Relation rel = f->relations.data[r];
        rel.name = arena_str(takes, rel.name);
        *vec_push(takes, &g->relations) = rel;
    }
    for (uint32_t k = 0; k < f->notes.len; k++) ir_note(g, f->notes.data[k]);
    return g;
}

void ir_free(Fn *f) {
    if (f) arena_free(f->arena);
}

Set ir_set(Fn *f, const char *name) {
    for (uint32_t s = 0; s < f->sets.len; s++)
        if (!strcmp(f->sets.data[s].name, name)) return (Set)s;
    vec_push(f->arena, &f->sets)->name = arena_str(f->arena, name);
    return (Set)(f->sets.len - 1);
}

int ir_relation(Fn *f, const char *name, Set src, Set dst) {
    for (uint32_t r = 0; r < f->relations.len; r++)
        if (!strcmp(f->relations.data[r].name, name)) return (int)r;
    Set edges = ir_set(f, arena_printf(f->arena, "%s.edges", name));
    *vec_push(f->arena, &f->relations) =
        (Relation){.name = arena_str(f->arena, name), .src = src, .dst = dst, .edges = edges};
    return (int)f->relations.len - 1;
}

Set map_from(const Fn *f, Map m) {
    return map_is_all(m) ? (Set)(-1 - m) : f->relations.data[map_relation(m)].edges;
}

Set map_to(const Fn *f, Map m) {
    if (map_is_all(m)) return SET_ALL;
    const Relation *r = &f->relations.data[map_relation(m)];
    return map_is_dst(m) ? r->dst : r->src;
}

bool set_is_edges(const Fn *f, Set s) {
    for (uint32_t r = 0; r < f->relations.len; r++)
        if (f->relations.data[r].edges == s) return true;
    return false;
}

/* ---- hash-consing ---- */

static bool is_unique(Op op) { return op == OP_traverse || op == OP_launch; }

/* By the operation's name, not its number: new rows of op.def leave the order of operands as it is. */
static uint64_t hash_node(const Fn *f, Op op, const Val *args, uint32_t num_args,
                          const Attr *attr) {
    uint64_t fields[] = {(uint64_t)attr->map, attr->index, attr->bits, num_args};
    uint64_t h = hash_bytes(fields, sizeof fields, hash_str(op_info[op].name, 0));
    h = hash_str(attr->name, h);
    h = hash_bytes(attr->ints, attr->num_ints * sizeof *attr->ints, h);
    const Type *t = &attr->type;
    uint64_t type[] = {t->dtype, t->rank, t->set};
    h = hash_bytes(type, sizeof type, h);
    h = hash_bytes(t->dim, sizeof t->dim, h);
    for (uint32_t k = 0; k < num_args; k++) h = hash_u64(f->nodes.data[args[k]].hash, h);
    const Fn *body = op == OP_row_scan ? attr->body : NULL;
    for (uint32_t k = 0; body && k < body->results.len; k++)
        h = hash_u64(ir_node(body, body->results.data[k].val)->hash, h);
    return h;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

static bool same_region(const Fn *a, const Fn *b);

static bool same_node(const Node *n, Op op, const Val *args, uint32_t num_args, const Attr *attr) {
    const Attr *b = &n->attr;
    return n->op == op && n->num_args == num_args && b->map == attr->map &&
           b->index == attr->index && b->bits == attr->bits && b->num_ints == attr->num_ints &&
           (num_args == 0 || !memcmp(n->args, args, num_args * sizeof *args)) &&
           (b->num_ints == 0 || !memcmp(b->ints, attr->ints, b->num_ints * sizeof *b->ints)) &&
           type_equal(&b->type, &attr->type) && same_text(b->name, attr->name) &&
           (op != OP_row_scan || same_region(b->body, attr->body));
}

static bool same_bindings(const Binding *a, const Binding *b, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        if (a[k].val != b[k].val) return false;
    return true;
}

/* By structure; regions come in one order (ir_copy_region). */
static bool same_region(const Fn *a, const Fn *b) {
    if (a == b) return true;
    if (ir_count(a) != ir_count(b) || a->inputs.len != b->inputs.len ||
        a->results.len != b->results.len)
        return false;
    for (Val v = 1; v < ir_count(a); v++) {
        const Node *n = ir_node(b, v);
        if (!same_node(ir_node(a, v), (Op)n->op, n->args, n->num_args, &n->attr)) return false;
    }
    return same_bindings(a->inputs.data, b->inputs.data, a->inputs.len) &&
           same_bindings(a->results.data, b->results.data, a->results.len);
}

static Val *table_slot(const Fn *f, uint64_t hash, Op op, const Val *args, uint32_t num_args,
                       const Attr *attr) {
    for (uint32_t i = (uint32_t)hash & (f->table_size - 1);; i = (i + 1) & (f->table_size - 1)) {
        Val v = f->table[i];
        if (!v) return &f->table[i];
        const Node *n = ir_node(f, v);
        if (n->hash == hash && !is_unique(op) && same_node(n, op, args, num_args, attr))
            return &f->table[i];
    }
}

static void table_grow(Fn *f) {
    if (f->nodes.len * 2 < f->table_size) return;
    f->table_size *= 2;
    f->table = ARENA_ARRAY(f->arena, Val, f->table_size);
    for (Val v = 1; v < f->nodes.len; v++) {
        uint32_t i = (uint32_t)f->nodes.data[v].hash & (f->table_size - 1);
        while (f->table[i]) i = (i + 1) & (f->table_size - 1);
        f->table[i] = v;
    }
}

/* Insertion sort by structure: stable, and operand lists are short. */
static void sort_operands(const Fn *f, Val *args, uint32_t n) {
    for (uint32_t i = 1; i < n; i++) {
        Val v = args[i];
        uint32_t j = i;
        for (; j > 0 && ir_node(f, args[j - 1])->hash > ir_node(f, v)->hash; j--)
            args[j] = args[j - 1];
        args[j] = v;
    }
}

static Val append(Fn *f, Op op, const Val *args, uint32_t num_args, const Attr *attr,
                  const Type *types, uint32_t num_results, uint64_t hash) {
    Arena *a = f->arena;
    Node n = {.op = (uint8_t)op,
              .num_args = num_args,
              .num_results = num_results,
              .attr = *attr,
              .hash = hash};
    n.args = arena_copy(a, args, num_args * sizeof *args);
    n.types = arena_copy(a, types, num_results * sizeof *types);
    n.attr.ints = arena_copy(a, attr->ints, attr->num_ints * sizeof *attr->ints);
    if (attr->name) n.attr.name = arena_str(a, attr->name);
    if (op == OP_row_scan) n.attr.body = ir_copy_region(a, attr->body);
    *vec_push(a, &f->nodes) = n;
    return f->nodes.len - 1;
}

static Val fail(Fn *f, Status status) {
    if (!f->status) f->status = status;
    return 0;
}

/* A region's group: its results have the types of the body's results (traverse), or of attr.body. */
static Val emit_group(Fn *f, Op op, const Val *args, uint32_t num_args, const Attr *attr) {
    const Fn *body = attr->body;
    Type *types = ARENA_ARRAY(f->arena, Type, body->results.len);
    for (uint32_t k = 0; k < body->results.len; k++)
        types[k] = *ir_type(body, body->results.data[k].val);
    uint64_t hash = hash_node(f, op, args, num_args, attr);
    return append(f, op, args, num_args, attr, types, body->results.len, hash);
}

Val ir_emit(Fn *f, Op op, const Val *args, uint32_t num_args, const Attr *attr) {
    static const Attr none;
    if (!attr) attr = &none;
    if (f->status) return 0;
    for (uint32_t k = 0; k < num_args; k++)
        if (!args[k])
            return fail(f, err_set(ST_BUG, "%s: operand %u is no value", op_info[op].name, k));
    if (is_unique(op)) return emit_group(f, op, args, num_args, attr);
    Type few[MAX_RESULTS], *types = few;
    uint32_t num_results;
    if (attr->body) types = ARENA_ARRAY(f->arena, Type, attr->body->results.len);
    Status st = type_infer(f, op, args, num_args, attr, types, &num_results);
    if (st) return fail(f, st);
    Val *sorted = NULL;
    if (op_info[op].traits & COMM) {
        sorted = arena_copy(f->arena, args, num_args * sizeof *args);
        sort_operands(f, sorted, num_args);
        args = sorted;
    }
    table_grow(f);
    uint64_t hash = hash_node(f, op, args, num_args, attr);
    Val *slot = table_slot(f, hash, op, args, num_args, attr);
    if (!*slot) *slot = append(f, op, args, num_args, attr, types, num_results, hash);
    return *slot;
}

Val ir_part(Fn *f, Val v, uint32_t k) {
    if (!v) return 0;
    if (ir_node(f, v)->num_results == 1) return v;
    return ir_emit(f, OP_result, &v, 1, &(Attr){.index = k});
}

/* ---- named ends ---- */

static Val find(const Binding *list, uint32_t n, const char *name) {
    for (uint32_t k = 0; k < n; k++)
        if (!strcmp(list[k].name, name)) return list[k].val;
    return 0;
}

Val ir_find_input(const Fn *f, const char *name) {
    return find(f->inputs.data, f->inputs.len, name);
}

Val ir_find_result(const Fn *f, const char *name) {
    return find(f->results.data, f->results.len, name);
}

Val ir_input(Fn *f, const char *name, Type type) {
    Val v = ir_find_input(f, name);
    if (v) {
        if (type_equal(ir_type(f, v), &type)) return v;
        return fail(f,
                    err_set(ST_TYPE, "input '%s': %s, but it was %s before", name,
                            type_text(f->arena, f, &type), type_text(f->arena, f, ir_type(f, v))));
    }
    v = ir_emit(f, OP_input, NULL, 0, &(Attr){.name = name, .type = type});
    if (v) *vec_push(f->arena, &f->inputs) = (Binding){.name = ir_node(f, v)->attr.name, .val = v};
    return v;
}

Val ir_stand_in(Fn *f, const char *name, const Fn *from, Val v) {
    bool is_new = !ir_find_input(f, name);
    Val in = ir_input(f, name, *ir_type(from, v));
    if (in && is_new) f->nodes.data[in].hash = ir_node(from, v)->hash;
    return in;
}

void ir_note(Fn *f, const char *text) {
    for (uint32_t k = 0; k < f->notes.len; k++)
        if (!strcmp(f->notes.data[k], text)) return;
    *vec_push(f->arena, &f->notes) = arena_str(f->arena, text);
}

void ir_add_result(Fn *f, const char *name, Val v) {
    if (v)
        *vec_push(f->arena, &f->results) = (Binding){.name = arena_str(f->arena, name), .val = v};
}

/* ---- walking ---- */

/* Marks in reverse, emits forward: a loop each, since operands come before users. */
Val ir_copy(Fn *f, const Fn *from, Val v, Val *memo) {
    if (memo[v]) return memo[v];
    Arena *scratch = arena_new();
    uint8_t *need = ARENA_ARRAY(scratch, uint8_t, v + 1u);
    need[v] = 1;
    for (Val u = v; u > 0; u--)
        for (uint32_t k = 0; need[u] && !memo[u] && k < ir_node(from, u)->num_args; k++)
            need[ir_arg(from, u, k)] = 1;
    Val args_small[16];
    for (Val u = 1; u <= v; u++) {
        const Node *n = ir_node(from, u);
        if (!need[u] || memo[u]) continue;
        Val *args = n->num_args <= 16 ? args_small : ARENA_ARRAY(f->arena, Val, n->num_args);
        for (uint32_t k = 0; k < n->num_args; k++) args[k] = memo[n->args[k]];
        memo[u] = n->op == OP_input ? ir_input(f, n->attr.name, n->attr.type)
                                    : ir_emit(f, (Op)n->op, args, n->num_args, &n->attr);
    }
    arena_free(scratch);
    return memo[v];
}

Fn *ir_copy_region(Arena *a, const Fn *from) {
    Fn *f = ir_new(a, from->name);
    f->halves = from->halves;
    Val *memo = ARENA_ARRAY(a, Val, ir_count(from));
    const uint8_t *live = ir_live(a, from);
    for (Val v = 1; v < ir_count(from); v++) {
        Attr attr = ir_node(from, v)->attr;
        attr.name = NULL;
        if (live[v] && ir_op(from, v) == OP_constant)
            memo[v] = ir_emit(f, OP_constant, NULL, 0, &attr);
    }
    for (uint32_t k = 0; k < from->inputs.len; k++)
        ir_copy(f, from, from->inputs.data[k].val, memo);
    for (uint32_t k = 0; k < from->results.len; k++)
        ir_add_result(f, from->results.data[k].name,
                      ir_copy(f, from, from->results.data[k].val, memo));
    return f;
}

uint8_t *ir_live(Arena *a, const Fn *f) {
    uint8_t *live = ARENA_ARRAY(a, uint8_t, ir_count(f));
    for (uint32_t k = 0; k < f->results.len; k++) live[f->results.data[k].val] = 1;
    for (Val v = ir_count(f) - 1; v > 0; v--)
        for (uint32_t k = 0; live[v] && k < ir_node(f, v)->num_args; k++) live[ir_arg(f, v, k)] = 1;
    return live;
}

/* ---- strict operations ---- */

Val ir_elem(Fn *f, Op op, Val a, Val b, Val c) {
    Val args[] = {a, b, c};
    return ir_emit(f, op, args, (uint32_t)op_info[op].arity, NULL);
}

static Val emit1(Fn *f, Op op, Val v, const Attr *attr) { return ir_emit(f, op, &v, 1, attr); }

static uint64_t bits_of_int(Dtype d, int64_t value) {
    uint64_t bits = 0;
    element_set_int(d, (char *)&bits, value);
    return bits;
}

static uint64_t bits_of(Dtype d, double value) {
    uint64_t bits = 0;
    if (!dtype_is_float(d)) return bits_of_int(d, (int64_t)value);
    element_set_float(d, (char *)&bits, value);
    return bits;
}

Val ir_const(Fn *f, Type type, double value) {
    Dtype d = (Dtype)type.dtype, held = dtype_computed(d);
    if (held != d) return ir_cast(f, ir_const(f, type_with_dtype(type, held), value), d);
    return ir_emit(f, OP_constant, NULL, 0, &(Attr){.bits = bits_of(d, value), .type = type});
}

Val ir_const_int(Fn *f, Type type, int64_t value) {
    if (dtype_is_float((Dtype)type.dtype)) return ir_const(f, type, (double)value);
    uint64_t bits = bits_of_int((Dtype)type.dtype, value);
    return ir_emit(f, OP_constant, NULL, 0, &(Attr){.bits = bits, .type = type});
}

Val ir_const_like(Fn *f, Val v, double value) { return v ? ir_const(f, *ir_type(f, v), value) : 0; }

bool ir_is_const(const Fn *f, Val v, double value) {
    return v && ir_op(f, v) == OP_constant &&
           ir_node(f, v)->attr.bits == bits_of((Dtype)ir_type(f, v)->dtype, value);
}

Val ir_cast(Fn *f, Val v, Dtype dtype) {
    if (!v || ir_type(f, v)->dtype == dtype) return v;
    return emit1(f, OP_cast, v, &(Attr){.type = type_scalar(dtype, SET_ALL)});
}

static Val emit_to_shape(Fn *f, Op op, Val v, const int64_t *dim, int rank) {
    if (!v) return 0;
    Type to = type_of(DT_bool, SET_ALL, rank, dim);
    return type_same_shape(ir_type(f, v), &to) ? v : emit1(f, op, v, &(Attr){.type = to});
}

Val ir_bcast(Fn *f, Val v, const int64_t *dim, int rank) {
    return emit_to_shape(f, OP_bcast, v, dim, rank);
}

Val ir_reshape(Fn *f, Val v, const int64_t *dim, int rank) {
    return emit_to_shape(f, OP_reshape, v, dim, rank);
}

Val ir_transpose(Fn *f, Val v, const int64_t *axes) {
    if (!v) return 0;
    uint32_t rank = ir_type(f, v)->rank, fixed = 0;
    while (fixed < rank && axes[fixed] == fixed) fixed++;
    return fixed == rank ? v : emit1(f, OP_transpose, v, &(Attr){.ints = axes, .num_ints = rank});
}

Val ir_slice(Fn *f, Val v, const int64_t *start_count_step) {
    if (!v) return 0;
    const Type *t = ir_type(f, v);
    bool whole = true;
    for (int k = 0; k < t->rank; k++) {
        const int64_t *p = start_count_step + 3 * k;
        whole &= p[0] == 0 && p[1] == t->dim[k] && p[2] == 1;
    }
    return whole
               ? v
               : emit1(f, OP_slice, v, &(Attr){.ints = start_count_step, .num_ints = 3u * t->rank});
}

Val ir_pad(Fn *f, Val v, const int64_t *low_high_interior) {
    if (!v) return 0;
    uint32_t n = 3u * ir_type(f, v)->rank;
    bool nothing = true;
    for (uint32_t k = 0; k < n; k++) nothing &= low_high_interior[k] == 0;
    return nothing ? v : emit1(f, OP_pad, v, &(Attr){.ints = low_high_interior, .num_ints = n});
}

Val ir_concat(Fn *f, const Val *parts, uint32_t num_parts, int axis) {
    if (num_parts == 1) return parts[0];
    int64_t ints[] = {axis};
    return ir_emit(f, OP_concat, parts, num_parts, &(Attr){.ints = ints, .num_ints = 1});
}

static Val feature_fold(Fn *f, Op op, Val v, uint32_t axes) {
    int64_t ints[MAX_RANK];
    uint32_t n = 0;
    for (int k = 0; k < MAX_RANK; k++)
        if (axes >> k & 1) ints[n++] = k;
    return n ? emit1(f, op, v, &(Attr){.ints = ints, .num_ints = n}) : v;
}

Val ir_fsum(Fn *f, Val v, uint32_t axes) { return feature_fold(f, OP_fsum, v, axes); }

Val ir_fmax(Fn *f, Val v, uint32_t axes) { return feature_fold(f, OP_fmax, v, axes); }

Val ir_cumsum(Fn *f, Val v, int axis, bool reverse) {
    int64_t ints[] = {axis, reverse};
    return emit1(f, OP_cumsum, v, &(Attr){.ints = ints, .num_ints = 2});
}

Val ir_take(Fn *f, Val table, Val index) {
    return ir_emit(f, OP_take, (Val[]){table, index}, 2, NULL);
}

Val ir_put(Fn *f, Val index, Val g, int64_t rows) {
    return ir_emit(f, OP_put, (Val[]){index, g}, 2, &(Attr){.ints = &rows, .num_ints = 1});
}

Val ir_matmul(Fn *f, Val a, Val b) { return ir_emit(f, OP_matmul, (Val[]){a, b}, 2, NULL); }

Val ir_gather(Fn *f, Val v, Map m) {
    if (m == map_all(SET_ALL)) return v;
    if (v && ir_op(f, v) == OP_constant && map_from(f, m) < f->sets.len) {
        Attr attr = ir_node(f, v)->attr;
        attr.type.set = map_from(f, m);
        return ir_emit(f, OP_constant, NULL, 0, &attr);
    }
    return emit1(f, OP_gather, v, &(Attr){.map = m});
}

Val ir_reduce(Fn *f, Val v, Map m) { return emit1(f, OP_reduce, v, &(Attr){.map = m}); }

Val ir_rmax(Fn *f, Val v, Map m) { return emit1(f, OP_rmax, v, &(Attr){.map = m}); }

Val ir_softmax(Fn *f, Val s, Val v, Map m) {
    return ir_emit(f, OP_softmax, (Val[]){s, v}, 2, &(Attr){.map = m});
}

Val ir_logsumexp(Fn *f, Val softmax) {
    return ir_add(f, ir_part(f, softmax, 1), ir_part(f, softmax, 2));
}

/* The body's ends get the names that the text form gives by itself, so equal bodies are equal. */
Val ir_row_scan(Fn *f, const Scan *s, const Val *operands) {
    Arena *a = f->arena;
    const Fn *from = ir_copy_region(a, s->body);
    Fn *body = ir_new(a, "body");
    const uint8_t *live = ir_live(a, from);
    Val *memo = ARENA_ARRAY(a, Val, ir_count(from)), *kept = ARENA_ARRAY(a, Val, from->inputs.len);
    uint32_t n = 0;
    if (from->status) return fail(f, from->status);
    TIGA_ASSERT(from->inputs.len == s->num_states + s->num_xs);
    for (uint32_t k = 0; k < from->inputs.len; k++) {
        Val v = from->inputs.data[k].val;
        if (!live[v] && k >= s->num_states && !(s->flags & SCAN_tree)) continue;
        memo[v] = ir_input(body, arena_printf(a, "arg%u", n), *ir_type(from, v));
        kept[n++] = operands[k];
    }
    for (uint32_t k = 0; k < from->results.len; k++)
        ir_add_result(body, arena_printf(a, "result%u", k),
                      ir_copy(body, from, from->results.data[k].val, memo));
    int64_t ints[] = {s->num_states, s->flags};
    Attr attr = {.map = s->map, .ints = ints, .num_ints = 2, .body = body};
    return ir_emit(f, OP_row_scan, kept, n, &attr);
}

Scan ir_scan_of(const Node *n) {
    uint32_t states = (uint32_t)n->attr.ints[0];
    return (Scan){n->attr.map, (int)n->attr.ints[1], states, n->num_args - states, n->attr.body};
}

Map ir_way_of(const Fn *f, Val v) {
    const Node *n = ir_node(f, v), *scan = n->op == OP_result ? ir_node(f, n->args[0]) : n;
    bool way = scan->op == OP_row_scan && n->op == OP_result && n->attr.index >= scan->attr.ints[0];
    return way ? scan->attr.map : MAP_NONE;
}

Val ir_degree(Fn *f, Map m) { return ir_emit(f, OP_degree, NULL, 0, &(Attr){.map = m}); }

Val ir_iota(Fn *f, Set s) { return ir_emit(f, OP_iota, NULL, 0, &(Attr){.type = {.set = s}}); }

Val ir_enter(Fn *f, Val v, Set s) { return emit1(f, OP_enter, v, &(Attr){.type = {.set = s}}); }

Val ir_leave(Fn *f, Val v) { return emit1(f, OP_leave, v, NULL); }
