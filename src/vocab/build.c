/* The builder's core: inputs by role, dtype promotion, spreading and broadcasting. */
#include "vocab/build.h"

#include "ir/type.h"
#include "vocab/lib.h"
#include "vocab/near.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

Builder *build_new(Arena *takes, const char *name, bool homogeneous) {
    Builder *b = ARENA_NEW(takes, Builder);
    b->f = ir_new(takes, name);
    b->f->halves = true;
    b->homogeneous = homogeneous;
    b->dst = ir_set(b->f, "V");
    b->src = homogeneous ? b->dst : ir_set(b->f, "U");
    int r = ir_relation(b->f, "r", b->src, b->dst);
    b->edges = b->f->relations.data[r].edges;
    b->to_src = map_src(r);
    b->to_dst = map_dst(r);
    return b;
}

/* Of halves every value is f32: read as that, rounded by casts to a half that are not held. */
static Val finished(Fn *f, const Fn *from, Val v, Val *memo) {
    const Node *n = ir_node(from, v);
    Dtype d = (Dtype)n->types->dtype;
    if (n->op == OP_constant)
        return ir_emit(f, OP_constant, NULL, 0,
                       &(Attr){.bits = n->attr.bits, .type = n->attr.type});
    if (n->op == OP_cast) {
        Val x = memo[n->args[0]];
        return ir_cast(f, n->attr.name ? x : ir_cast(f, x, d), dtype_computed(d));
    }
    return ir_cast(f, ir_copy(f, from, v, memo), dtype_computed(d));
}

Fn *build_program(const Builder *b, Arena *takes) {
    const Fn *from = b->f;
    Fn *f = ir_new_like(takes, from, from->name);
    Val *memo = ARENA_ARRAY(takes, Val, ir_count(from));
    const uint8_t *live = ir_live(takes, from);
    for (Val v = 1; v < ir_count(from); v++)
        if (live[v] && ir_op(from, v) == OP_constant) memo[v] = finished(f, from, v, memo);
    for (uint32_t k = 0; k < from->inputs.len; k++) {
        Val v = from->inputs.data[k].val;
        memo[v] = finished(f, from, v, memo);
    }
    for (Val v = 1; v < ir_count(from); v++)
        if (live[v] && !memo[v]) memo[v] = finished(f, from, v, memo);
    for (uint32_t k = 0; k < from->results.len; k++) {
        Val v = from->results.data[k].val;
        ir_add_result(f, from->results.data[k].name,
                      ir_cast(f, memo[v], (Dtype)ir_type(from, v)->dtype));
    }
    return f;
}

Val build_fail(Builder *b, Status status, const char *format, ...) {
    if (b->f->status) return 0; /* the first message stays */
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    b->f->status = err_set(status, "%s", text);
    return 0;
}

/* ---- inputs ---- */

static bool has_role(const char *name, const char *role) {
    size_t n = strlen(role);
    return !strncmp(name, role, n) && name[n] == '.';
}

/* The set of an input's name; false where the role does not exist here. */
static bool role_set(Builder *b, const char *name, Set *set) {
    bool node = has_role(name, "node");
    if (node && !b->homogeneous) {
        build_fail(b, ST_NAME, "'%s': node fields need one node set (use src and dst here)", name);
        return false;
    }
    *set = node || has_role(name, "dst") ? b->dst
           : has_role(name, "src")       ? b->src
           : has_role(name, "edge")      ? b->edges
                                         : SET_ALL;
    return true;
}

Val build_input(Builder *b, const char *name, Dtype dtype, int rank, const int64_t *dim) {
    Set set;
    if (b->f->status || !role_set(b, name, &set)) return 0;
    if (rank < 0 || rank > MAX_RANK)
        return build_fail(b, ST_SHAPE, "input '%s': rank %d, at most %d feature axes are possible",
                          name, rank, MAX_RANK);
    for (int k = 0; k < rank; k++)
        if (dim[k] < 0)
            return build_fail(b, ST_SHAPE, "input '%s': extent %lld of axis %d is negative", name,
                              (long long)dim[k], k);
    Val v = ir_input(b->f, name, type_of(dtype, set, rank, dim));
    if (strchr(name, '.')) build_name(b, v, arena_str(b->f->arena, name));
    return v;
}

static Val mark_weak(Builder *b, Val v) {
    while (v && b->weak.len <= v) *vec_push(b->f->arena, &b->weak) = 0;
    if (v) b->weak.data[v] = 1;
    return v;
}

bool build_is_weak(const Builder *b, Val v) { return v < b->weak.len && b->weak.data[v]; }

Val build_scalar_input(Builder *b, const char *name, bool integer) {
    return mark_weak(b, build_input(b, name, integer ? DT_i64 : DT_f64, 0, NULL));
}

/* The name "weak" keeps literals apart from constants of the program under hash-consing. */
static Val weak_constant(Builder *b, Dtype dtype, uint64_t bits) {
    Attr attr = {.name = "weak", .bits = bits, .type = type_scalar(dtype, SET_ALL)};
    return mark_weak(b, ir_emit(b->f, OP_constant, NULL, 0, &attr));
}

Val build_number(Builder *b, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return weak_constant(b, DT_f64, bits);
}

Val build_integer(Builder *b, int64_t value) { return weak_constant(b, DT_i64, (uint64_t)value); }

Val build_truth(Builder *b, bool value) {
    return ir_const(b->f, type_scalar(DT_bool, SET_ALL), value);
}

bool build_constant(const Builder *b, Val v, double *value) {
    if (!v || !build_is_weak(b, v) || ir_op(b->f, v) != OP_constant) return false;
    uint64_t bits = ir_node(b->f, v)->attr.bits;
    if (ir_type(b->f, v)->dtype == DT_f64) memcpy(value, &bits, sizeof bits);
    else *value = (double)(int64_t)bits;
    return true;
}

/* ---- dtypes ---- */

static bool is_number(const Builder *b, Val v) {
    if (ir_op(b->f, v) == OP_bcast) v = ir_arg(b->f, v, 0);
    return ir_op(b->f, v) == OP_constant;
}

/* As another dtype; as a half with the value it has, which the name tells build_program. */
static Val cast_strong(Builder *b, Val v, Dtype dtype) {
    Attr attr = {.name = "held", .type = type_scalar(dtype, SET_ALL)};
    if (!v || !dtype_is_half(dtype) || ir_type(b->f, v)->dtype == dtype)
        return ir_cast(b->f, v, dtype);
    v = ir_cast(b->f, v, DT_f32);
    return ir_emit(b->f, OP_cast, &v, 1, &attr);
}

/* A number, spread or not, in another dtype; 0 and a message where it does not fit. */
static Val cast_number(Builder *b, Val v, Dtype dtype) {
    if (dtype_is_half(dtype)) return cast_strong(b, cast_number(b, v, DT_f32), dtype);
    const Node *n = ir_node(b->f, v);
    Type t = type_with_dtype(n->types[0], dtype);
    uint64_t bits = ir_node(b->f, n->op == OP_bcast ? n->args[0] : v)->attr.bits;
    double number;
    if (n->types[0].dtype == DT_i64) return ir_const_int(b->f, t, (int64_t)bits);
    memcpy(&number, &bits, sizeof number);
    if (!dtype_is_float(dtype) && !(fabs(number) < 0x1p63))
        return build_fail(b, ST_TYPE, "the number %g does not fit %s", number,
                          dtype_user_name(dtype));
    return dtype == DT_bool ? ir_const_int(b->f, t, number != 0) : ir_const(b->f, t, number);
}

/* Of where(c, 1.0, 0.0) the branches are cast: nothing is computed in a number's wide dtype. */
static Val cast_weak(Builder *b, Val v, Dtype dtype) {
    if (is_number(b, v)) return cast_number(b, v, dtype);
    if (ir_op(b->f, v) != OP_where) return cast_strong(b, v, dtype);
    Val c = ir_arg(b->f, v, 0), x = ir_arg(b->f, v, 1), y = ir_arg(b->f, v, 2);
    if (!is_number(b, x) || !is_number(b, y)) return cast_strong(b, v, dtype);
    x = cast_number(b, x, dtype);
    return x ? ir_where(b->f, c, x, cast_number(b, y, dtype)) : 0;
}

Val build_cast(Builder *b, Val v, Dtype dtype) {
    if (!v) return 0;
    return build_is_weak(b, v) ? cast_weak(b, v, dtype) : cast_strong(b, v, dtype);
}

Val build_rounded(Builder *b, Val v, Dtype dtype) {
    if (dtype_is_half(dtype)) v = build_strong(b, v);
    return dtype_is_half(dtype) ? ir_cast(b->f, v, dtype) : build_cast(b, v, dtype);
}

Val build_strong(Builder *b, Val v) {
    if (!v || !build_is_weak(b, v)) return v;
    return build_cast(b, v, ir_type(b->f, v)->dtype == DT_i64 ? DT_i64 : DT_f32);
}

Val build_float(Builder *b, Val v) {
    if (!v || dtype_is_float((Dtype)ir_type(b->f, v)->dtype)) return v;
    return build_is_weak(b, v) ? mark_weak(b, ir_cast(b->f, v, DT_f64)) : build_cast(b, v, DT_f32);
}

/* What operands become: the widest strong dtype; numbers only lift integers to a float. */
static bool common_dtype(Builder *b, const char *what, const Val *args, uint32_t n, Dtype *out) {
    int strong = -1, weak = -1;
    uint32_t widest = 0; /* of the strong ones */
    for (uint32_t k = 0; k < n; k++) {
        int d = ir_type(b->f, args[k])->dtype, *kind = build_is_weak(b, args[k]) ? &weak : &strong;
        bool mixed = kind == &strong && strong >= DT_f32 && d >= DT_f32 && d != strong;
        if (mixed) {
            build_fail(b, ST_TYPE, "%s: %s and %s do not meet (cast one of %s, %s)", what,
                       dtype_user_name((Dtype)strong), dtype_user_name((Dtype)d),
                       build_describe(b, args[widest]), build_describe(b, args[k]));
            return false;
        }
        if (kind == &strong && d > strong) widest = k;
        if (d > *kind) *kind = d;
    }
    if (strong < 0) *out = (Dtype)weak;
    else if (strong < DT_f32 && weak >= DT_f32) *out = DT_f32;
    else if (strong == DT_bool && weak >= 0) *out = DT_i64;
    else *out = (Dtype)strong;
    return true;
}

/* ---- places and shapes ---- */

void build_name(Builder *b, Val v, const char *name) {
    while (v && b->names.len <= v) *vec_push(b->f->arena, &b->names) = NULL;
    if (v && !b->names.data[v]) b->names.data[v] = name;
}

/* Of v, or of what it is a copy of: at an edge's end, of another shape or dtype. */
static const char *name_of(const Builder *b, Val v) {
    if (v < b->names.len && b->names.data[v]) return b->names.data[v];
    Op op = ir_op(b->f, v);
    bool copies = op == OP_gather || op == OP_bcast || op == OP_cast;
    return copies ? name_of(b, ir_node(b->f, v)->args[0]) : NULL;
}

/* A parameter that was spread stays one. */
const char *build_describe(const Builder *b, Val v) {
    while (ir_op(b->f, v) == OP_gather && map_is_all(ir_node(b->f, v)->attr.map))
        v = ir_arg(b->f, v, 0);
    const Type *t = ir_type(b->f, v);
    const char *name = name_of(b, v);
    Text text = {.arena = b->f->arena};
    const char *where = t->set == SET_ALL    ? "a parameter"
                        : t->set == b->edges ? "edge values"
                        : b->homogeneous     ? "node values"
                        : t->set == b->src   ? "source values"
                                             : "destination values";
    text_putf(&text, name ? "%s %s" : "%s", where, name);
    text_putf(&text, " of dtype %s and shape (", dtype_user_name((Dtype)t->dtype));
    for (int k = 0; k < t->rank; k++) text_putf(&text, k ? ", %lld" : "%lld", (long long)t->dim[k]);
    text_put(&text, t->rank == 1 ? ",)" : ")");
    return text.text;
}

Val build_spread(Builder *b, Val v, Set s) {
    if (!v || s == SET_ALL || ir_type(b->f, v)->set == s) return v;
    if (ir_type(b->f, v)->set != SET_ALL)
        return build_fail(b, ST_SHAPE, "%s cannot be taken to where it was asked for",
                          build_describe(b, v));
    return ir_gather(b->f, v, map_all(s));
}

bool build_common_set(Builder *b, const char *what, const Val *args, uint32_t n, Set *out) {
    uint32_t first = n;
    for (uint32_t k = 0; k < n; k++) {
        if (ir_type(b->f, args[k])->set == SET_ALL) continue;
        if (first == n) first = k;
        if (ir_type(b->f, args[k])->set != ir_type(b->f, args[first])->set) {
            build_fail(
                b, ST_SHAPE,
                "%s: %s do not meet %s (gather node values to the edges with src(..) or dst(..))",
                what, build_describe(b, args[first]), build_describe(b, args[k]));
            return false;
        }
    }
    *out = first == n ? SET_ALL : ir_type(b->f, args[first])->set;
    return true;
}

/* Folds the shape of v into out, aligned right. */
static bool join_shape(const Type *t, Type *out) {
    int rank = t->rank > out->rank ? t->rank : out->rank;
    int64_t dim[MAX_RANK];
    for (int k = 1; k <= rank; k++) {
        int64_t a = k <= t->rank ? t->dim[t->rank - k] : 1;
        int64_t c = k <= out->rank ? out->dim[out->rank - k] : 1;
        if (a != c && a != 1 && c != 1) return false;
        dim[rank - k] = a == 1 ? c : a;
    }
    *out = type_of(DT_bool, SET_ALL, rank, dim);
    return true;
}

static bool shapes_join(const Builder *b, Val x, Val y) {
    Type shape = *ir_type(b->f, x);
    return join_shape(ir_type(b->f, y), &shape);
}

static bool meet_places(Builder *b, const char *what, Val *args, uint32_t n) {
    Set set;
    Type shape = {0};
    if (!build_common_set(b, what, args, n, &set)) return false;
    for (uint32_t k = 0; k < n; k++) {
        if (join_shape(ir_type(b->f, args[k]), &shape)) continue;
        uint32_t other = 0;
        while (other + 1 < k && shapes_join(b, args[other], args[k])) other++;
        build_fail(b, ST_SHAPE, "%s: feature shapes do not broadcast: %s, and %s", what,
                   build_describe(b, args[other]), build_describe(b, args[k]));
        return false;
    }
    for (uint32_t k = 0; k < n; k++)
        args[k] = ir_bcast(b->f, build_spread(b, args[k], set), shape.dim, shape.rank);
    return !b->f->status;
}

static bool all_weak(const Builder *b, const Val *args, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        if (!build_is_weak(b, args[k])) return false;
    return n > 0;
}

bool build_meet(Builder *b, const char *what, Val *args, uint32_t n) {
    Dtype dtype;
    for (uint32_t k = 0; k < n; k++)
        if (!args[k]) return false;
    bool weak = all_weak(b, args, n);
    if (!common_dtype(b, what, args, n, &dtype)) return false;
    for (uint32_t k = 0; k < n; k++) {
        if (!weak) args[k] = build_cast(b, args[k], dtype);
        else if (ir_type(b->f, args[k])->dtype != dtype)
            args[k] = mark_weak(b, ir_cast(b->f, args[k], dtype));
        if (!args[k]) return false;
    }
    return meet_places(b, what, args, n);
}

Val build_at(Builder *b, Val v, Map m) {
    if (!v) return 0;
    v = build_strong(b, v);
    if (v && ir_type(b->f, v)->set == SET_ALL) return build_spread(b, v, b->edges);
    if (v && ir_type(b->f, v)->set != map_to(b->f, m))
        return build_fail(b, ST_SHAPE, "%s of %s: it does not live on the relation's %s",
                          m == b->to_src ? "src" : "dst", build_describe(b, v),
                          m == b->to_src ? "sources" : "destinations");
    return v ? ir_gather(b->f, v, m) : 0;
}

int build_axis(Builder *b, const char *what, Val v, int64_t axis) {
    const Type *t = ir_type(b->f, v);
    int rows = t->set != SET_ALL;
    int64_t k = axis < 0 ? axis + t->rank + rows : axis;
    if (k < 0 || k >= t->rank + rows) {
        build_fail(b, ST_SHAPE, "%s: axis %lld is out of range for %s", what, (long long)axis,
                   build_describe(b, v));
        return -1;
    }
    if (rows && k == 0) {
        build_fail(
            b, ST_SHAPE,
            "%s: axis 0 is the %s axis of %s and stays (feature axes are 1 and up, or negative)",
            what, t->set == b->edges ? "edge" : "node", build_describe(b, v));
        return -1;
    }
    return (int)k - rows;
}

/* ---- elementwise operations ---- */

static Op find_elem(const char *name) {
    static const struct {
        const char *name;
        Op op;
    } also[] = {{"maximum", OP_max}, {"minimum", OP_min}, {"power", OP_pow}};
    for (size_t k = 0; k < sizeof also / sizeof *also; k++)
        if (!strcmp(name, also[k].name)) return also[k].op;
    for (int op = 1; op < NUM_OPS; op++)
        if (op_info[op].class == CLASS_elem && !strcmp(name, op_info[op].name)) return (Op)op;
    return OP_none;
}

/* Dtypes that the operation is not defined for become the nearest that it is. */
static Val fit_dtype(Builder *b, Op op, Val v) {
    Signature sig = (Signature)op_info[op].signature;
    if (sig == S_flt || sig == S_test || sig == S_key) return build_float(b, v);
    if (sig == S_num && v && ir_type(b->f, v)->dtype == DT_bool) return build_cast(b, v, DT_i64);
    return v;
}

/* A number with its sign is a number. */
static Val negated(Builder *b, Val v) {
    double value;
    if (!build_constant(b, v, &value)) return 0;
    if (ir_type(b->f, v)->dtype == DT_f64) return build_number(b, -value);
    return build_integer(b, (int64_t)(0 - ir_node(b->f, v)->attr.bits));
}

static Val call_elem(Builder *b, Op op, const char *name, const Val *given, uint32_t n) {
    Val args[3];
    bool count_ok = n == (uint32_t)op_info[op].arity || (op_info[op].traits & NARY && n >= 2);
    if (!count_ok || n > 3)
        return build_fail(b, ST_INVAL, "%s: %u operands, expected %d", name, n, op_info[op].arity);
    for (uint32_t k = 0; k < n; k++) args[k] = given[k];
    Val number = op == OP_neg ? negated(b, args[0]) : 0;
    if (number) return number;
    bool select = op_info[op].signature == S_sel;
    Val *first = args + select;
    bool weak = all_weak(b, first, n - select);
    if (select && args[0] && ir_type(b->f, args[0])->dtype != DT_bool)
        return build_fail(b, ST_TYPE, "where: the condition is %s, expected bool",
                          build_describe(b, args[0]));
    if (!build_meet(b, name, first, n - select)) return 0;
    for (uint32_t k = select; k < n; k++) args[k] = fit_dtype(b, op, args[k]);
    if (select && !meet_places(b, name, args, n)) return 0;
    if (op_info[op].signature == S_bit && args[0] &&
        dtype_is_float((Dtype)ir_type(b->f, args[0])->dtype))
        return build_fail(b, ST_TYPE, "%s: not defined for %s (%s)", name,
                          build_describe(b, args[0]),
                          op == OP_xor ? "a power is **" : "compare first");
    Val v = ir_emit(b->f, op, args, n, NULL);
    return weak && v && ir_type(b->f, v)->dtype != DT_bool ? mark_weak(b, v) : v;
}

/* ---- by name ---- */

Val build_unknown(Builder *b, Near near) {
    for (size_t k = 0; build_call_name(k); k++) near_try(&near, build_call_name(k));
    return build_fail(b, ST_NAME, "unknown function '%s'%s", near.word, near_hint(&near));
}

bool build_has(const char *name) { return lib_find(name) || find_elem(name); }

/* Said of the function called, not of an operation within it. */
static bool operands_meet(Builder *b, const char *name, const Val *args, uint32_t n) {
    Val copy[3];
    memcpy(copy, args, n * sizeof *args);
    return build_meet(b, name, copy, n);
}

Val build_call(Builder *b, const char *name, const Val *args, uint32_t num_args,
               const int64_t *ints, uint32_t num_ints) {
    for (uint32_t k = 0; k < num_args; k++)
        if (!args[k]) return 0;
    if (b->f->status) return 0;
    const LibEntry *entry = lib_find(name);
    Op op = find_elem(name);
    bool fits = entry && num_args >= entry->min_args && num_args <= entry->max_args;
    if (!entry && !op) return build_unknown(b, near_to(name));
    if (num_ints && !(fits && entry->takes_ints))
        return build_fail(b, ST_INVAL, "%s of %u operand%s takes no axis and no shape", name,
                          num_args, num_args == 1 ? "" : "s");
    if (fits && num_args > 1 && lib_is_elementwise(entry) &&
        !operands_meet(b, name, args, num_args))
        return 0;
    if (fits) return entry->build(b, &(LibCall){entry->name, args, num_args, ints, num_ints});
    if (op) return call_elem(b, op, name, args, num_args);
    if (entry->min_args == entry->max_args)
        return build_fail(b, ST_INVAL, "%s: %u operands, expected %d%s", name, num_args,
                          entry->min_args,
                          entry->takes_ints && num_args > 1 ? " (an axis is named: axis=-1)" : "");
    return build_fail(b, ST_INVAL, "%s: %u operands, expected %d to %d", name, num_args,
                      entry->min_args, entry->max_args);
}

const char *build_call_name(size_t k) {
    for (int op = 1; op < NUM_OPS; op++)
        if (op_info[op].class == CLASS_elem && k-- == 0) return op_info[op].name;
    return lib_name(k);
}
