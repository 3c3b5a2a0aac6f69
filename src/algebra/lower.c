/* Proven forms as operations of the program; what has none is scanned. */
#include "algebra/reducer.h"

#include "ir/type.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *form_name(Form form) {
    static const char *const names[] = {
        "general",         "componentwise-additive", "product",
        "selection-max",   "selection-min",          "logsumexp",
        "stable-weighted", "affine-composition",     "selection-first",
        "selection-last",  "independent-components", "program"};
    return names[form];
}

typedef struct {
    Builder *b;
    const Reducer *r;
    Map map;        /* messages -> rows */
    Dtype number;   /* of numbers beside the messages: the messages' where that is a float */
    bool has_float; /* among the messages */
    Val lifted[REDUCER_MAX_STATE];
    Val state[REDUCER_MAX_STATE]; /* at the rows */
    Val empty;                    /* bool at the rows: no message counted */
} Lower;

static const Type *type(Lower *w, Val v) { return ir_type(w->b->f, v); }

static Val call1(Lower *w, const char *name, Val x) {
    return build_call(w->b, name, &x, 1, NULL, 0);
}

static Val call2(Lower *w, const char *name, Val x, Val y) {
    return build_call(w->b, name, (Val[]){x, y}, 2, NULL, 0);
}

static Val select(Lower *w, Val c, Val x, Val y) {
    return build_call(w->b, "where", (Val[]){c, x, y}, 3, NULL, 0);
}

/* A number that lift gives is a float of the messages' dtype. */
static Val strong(Lower *w, Val v) {
    bool is_real = v && build_is_weak(w->b, v) && dtype_is_float((Dtype)type(w, v)->dtype);
    return is_real ? build_cast(w->b, v, w->number) : build_strong(w->b, v);
}

/* A component at the messages: parameters and numbers are the same for every message. */
static Val at_messages(Lower *w, Val v) {
    return build_spread(w->b, strong(w, v), map_from(w->b->f, w->map));
}

static Val row_is_empty(Lower *w) {
    Val degree = ir_degree(w->b->f, w->map);
    return ir_eq(w->b->f, degree, ir_const_like(w->b->f, degree, 0));
}

static bool passes_through(const Reducer *r) {
    return ir_op(r->finalize, r->finalize->results.data[0].val) == OP_input;
}

/* The sum of what is the same number for every message is that number times their count. */
static Val total(Lower *w, uint32_t k) {
    double value;
    if (!build_constant(w->b, w->lifted[k], &value))
        return ir_reduce(w->b->f, at_messages(w, w->lifted[k]), w->map);
    Val number = strong(w, w->lifted[k]), degree = ir_degree(w->b->f, w->map);
    degree = number ? build_cast(w->b, degree, (Dtype)type(w, number)->dtype) : 0;
    return value == 1 ? degree : call2(w, "mul", degree, number);
}

/* min is max through the order-reversing map that loses nothing. Truths are compared as 0 and 1. -0 ties with 0,
 * and which of them is met depends on the schedule: the result is 0. */
static Val extremum(Lower *w, uint32_t k) {
    Val m = at_messages(w, w->lifted[k]);
    if (!m) return 0;
    Dtype d = (Dtype)type(w, m)->dtype;
    if (d == DT_bool) m = build_cast(w->b, m, DT_i32);
    bool real = dtype_is_float(d), min = w->r->part[k].form == FORM_min;
    Val zero = build_number(w->b, 0);
    if (min) m = call1(w, real ? "neg" : "not", m);
    Val v = ir_part(w->b->f, ir_rmax(w->b->f, m, w->map), 0);
    if (real) v = min ? call2(w, "sub", zero, v) : call2(w, "add", v, zero);
    else if (min) v = call1(w, "not", v);
    return d == DT_bool ? call2(w, "lt", build_integer(w->b, 0), v) : v;
}

static Val logsumexp(Lower *w, uint32_t k) {
    Val m = build_float(w->b, at_messages(w, w->lifted[k]));
    return m ? ir_logsumexp(w->b->f, ir_softmax(w->b->f, m, ir_const_like(w->b->f, m, 0), w->map))
             : 0;
}

/* What came with the largest (smallest) key; identity's where nothing came. */
static Val chosen(Lower *w, uint32_t k) {
    Part p = w->r->part[k];
    Val key = at_messages(w, w->lifted[p.key]), v = at_messages(w, w->lifted[k]),
        identity[REDUCER_MAX_STATE];
    if (!region_inline(w->b, w->r->identity, NULL, 0, identity)) return 0;
    bool min = w->r->part[p.key].form == FORM_min;
    v = library_chosen(w->b, w->r, w->map, key, min, p.form == FORM_last, v);
    return v ? select(w, row_is_empty(w), build_cast(w->b, identity[k], (Dtype)type(w, v)->dtype),
                      v)
             : 0;
}

/* Score and value of one rank, the value broadcast to both. */
static bool meet_ranks(Lower *w, Val *score, Val *value) {
    Val met[] = {*score, *value};
    if (!build_meet(w->b, "the reducer's score and value", met, 2)) return false;
    const Type *t = type(w, met[0]);
    int64_t dim[MAX_RANK];
    Dtype dtype = dtype_is_float((Dtype)t->dtype) ? (Dtype)t->dtype : DT_f32;
    Val s = build_cast(w->b, *score, dtype);
    const Type *own = type(w, s);
    for (int k = 0; k < t->rank; k++)
        dim[k] = k < t->rank - own->rank ? 1 : own->dim[k - (t->rank - own->rank)];
    *score = ir_reshape(w->b->f, s, dim, t->rank);
    *value = build_cast(w->b, met[1], dtype);
    return *score && *value;
}

/* sum p v for component k, p = softmax of the score, and the parts of logsumexp. */
typedef struct {
    Val mean, top, rest;
} Weighed;

static Weighed weigh(Lower *w, uint32_t k) {
    Val score = at_messages(w, w->lifted[w->r->part[k].key]);
    Val value = at_messages(w, w->lifted[k]);
    if (!score || !value || !meet_ranks(w, &score, &value)) return (Weighed){0};
    Val v = ir_softmax(w->b->f, score, value, w->map);
    return (Weighed){ir_part(w->b->f, v, 0), ir_part(w->b->f, v, 1), ir_part(w->b->f, v, 2)};
}

static Val is_minus_inf(Lower *w, Val v) {
    return ir_eq(w->b->f, v, ir_const_like(w->b->f, v, -INFINITY));
}

/* exp(l) times the mean: the sum scaled to the maximum. That of softmax is a constant to derivatives, the
 * key's is not. */
static Val scaled_sum(Lower *w, uint32_t k) {
    Val zero = build_number(w->b, 0), inf = build_number(w->b, INFINITY),
        top = extremum(w, w->r->part[k].key);
    Weighed g = weigh(w, k);
    if (!g.rest) return 0;
    Val dead = is_minus_inf(w, g.top), far = call2(w, "eq", call1(w, "abs", g.top), inf);
    Val moved = select(w, far, zero, call2(w, "sub", g.top, top));
    Val away = call2(w, "add", select(w, dead, zero, g.rest), moved);
    Val sum = call2(w, "mul", select(w, dead, zero, g.mean), call1(w, "exp", away));
    return select(w, dead, zero, sum);
}

static Val component(Lower *w, uint32_t k) {
    switch ((int)w->r->part[k].form) {
    case FORM_additive: return total(w, k);
    case FORM_max:
    case FORM_min: return extremum(w, k);
    case FORM_logsumexp: return logsumexp(w, k);
    case FORM_weighted: return scaled_sum(w, k);
    case FORM_first:
    case FORM_last: return chosen(w, k);
    }
    TIGA_UNREACHABLE("a form that is scanned");
}

/* ---- scans ---- */

/* The components that one scan folds: all of a reducer without a form, else the products and what they
 * lead, and the sums of a deterministic one, which are strict. */
typedef struct {
    uint32_t num, of[REDUCER_MAX_STATE];
    Val x[REDUCER_MAX_STATE];       /* by component: lifted, at the messages, halves as f32 */
    Dtype dtype[REDUCER_MAX_STATE]; /* by component: of what is lifted */
    Type shape;                     /* that all of them meet in */
} Scanned;

static bool is_scanned(const Lower *w, uint32_t k) {
    Form form = w->r->form == FORM_general ? FORM_general : w->r->part[k].form;
    double value; /* whole numbers add up alike in any order: a count stays one */
    bool whole = build_constant(w->b, w->lifted[k], &value) && value == floor(value);
    bool strict = w->r->flags & REDUCER_deterministic && !whole;
    return form == FORM_general || form == FORM_product || form == FORM_affine ||
           (form == FORM_additive && strict);
}

/* A state's dtype is that of what is lifted: numbers are floats beside floats, and products and sums of
 * bool and int32 are int64. */
static Val scanned_message(Lower *w, uint32_t k) {
    Val v = w->lifted[k];
    if (v && w->has_float && build_is_weak(w->b, v)) v = build_cast(w->b, v, w->number);
    v = at_messages(w, v);
    bool narrow = v && w->r->form <= FORM_product && w->r->form != FORM_general &&
                  type(w, v)->dtype <= DT_i32;
    return narrow ? build_cast(w->b, v, DT_i64) : v;
}

static bool find_scanned(Lower *w, Scanned *s) {
    Val met[REDUCER_MAX_STATE];
    for (uint32_t k = 0; k < w->r->num_state; k++) {
        s->x[k] = scanned_message(w, k);
        if (!s->x[k]) return false;
        s->dtype[k] = (Dtype)type(w, s->x[k])->dtype;
        s->x[k] = build_cast(w->b, s->x[k], dtype_computed(s->dtype[k]));
        if (is_scanned(w, k)) s->of[s->num++] = k;
    }
    if (s->num == 0) return true;
    for (uint32_t i = 0; i < s->num; i++) met[i] = build_cast(w->b, s->x[s->of[i]], DT_f32);
    if (!build_meet(w->b, "the reducer's state", met, s->num)) return false;
    s->shape = *type(w, met[0]);
    return true;
}

/* What is proven of a component is its combine, however that is spelled: a * b * b / b is a * b. */
static Val proven_combine(Builder *c, const Reducer *r, uint32_t k, const Val *args) {
    uint32_t n = r->num_state, key = r->part[k].key;
    const char *of = "mul";
    Val l = args[k], u = args[n + k];
    if (r->part[k].form == FORM_additive) of = "add";
    if (r->part[k].form != FORM_affine) return build_call(c, of, (Val[]){l, u}, 2, NULL, 0);
    bool right = r->part[k].right;
    Val moved =
        build_call(c, of, right ? (Val[]){args[n + key], l} : (Val[]){args[key], u}, 2, NULL, 0);
    return build_call(c, "add", (Val[]){moved, right ? u : l}, 2, NULL, 0);
}

/* combine on scalars of the states' dtypes, of the components scanned alone. */
static Fn *scanned_body(Lower *w, const Scanned *s) {
    Val args[2 * REDUCER_MAX_STATE];
    Type state[REDUCER_MAX_STATE];
    uint32_t n = w->r->num_state;
    Builder *c = build_new(arena_new(), "combine", true);
    for (uint32_t k = 0; k < n; k++)
        state[k] = type_scalar((Dtype)type(w, s->x[k])->dtype, SET_ALL);
    region_inputs(c, 'l', state, n, args);
    region_inputs(c, 'r', state, n, args + n);
    Dtype number = dtype_computed(w->number);
    Fn *all = region_typed(c, w->r->combine, args, n, (Numbers){number, number}, state);
    if (all->status) {
        build_fail(w->b, all->status, "reducer '%s': combine: %s", w->r->name, err_message());
        return all;
    }
    Val results[REDUCER_MAX_STATE];
    for (uint32_t k = 0; k < n; k++) {
        results[k] = all->results.data[k].val;
        if (w->r->form == FORM_general || !is_scanned(w, k)) continue;
        results[k] = build_cast(c, proven_combine(c, w->r, k, args), (Dtype)state[k].dtype);
    }
    Fn *body = ir_new(c->f->arena, "body");
    Val *memo = ARENA_ARRAY(body->arena, Val, ir_count(all));
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t i = 0; i < s->num; i++) ir_copy(body, all, args[side * n + s->of[i]], memo);
    for (uint32_t i = 0; i < s->num; i++)
        ir_add_result(body, "", ir_copy(body, all, results[s->of[i]], memo));
    return body;
}

static Val shaped(Lower *w, Val v, Set set, const Type *t) {
    return ir_bcast(w->b->f, build_spread(w->b, v, set), t->dim, t->rank);
}

/* The combine's own shapes from those of `own`; false where they stay, or on a fault. */
static bool widen(Lower *w, Val *own) {
    Val next[REDUCER_MAX_STATE];
    uint32_t n = w->r->num_state;
    bool changed = false;
    if (!region_inline(w->b, w->r->combine, own, n, next)) return false;
    for (uint32_t k = 0; k < n; k++) {
        const Type *t = type(w, next[k]), *before = type(w, own[k]);
        changed |= t->rank != before->rank || memcmp(t->dim, before->dim, sizeof t->dim) != 0;
        own[k] = next[k];
    }
    return changed;
}

/* A component may be narrower than what all meet in: of what it was repeated along, the first. Its own
 * shape is what combine makes of the lifted ones. */
static void narrow_states(Lower *w, const Scanned *s) {
    Val own[2 * REDUCER_MAX_STATE];
    uint32_t n = w->r->num_state;
    for (uint32_t k = 0; k < 2 * n; k++) own[k] = s->x[k % n];
    for (uint32_t round = 0; round < n && widen(w, own); round++) {}
    if (w->b->f->status || type_numel(&s->shape) == 0) return; /* there is no first */
    for (uint32_t i = 0; i < s->num; i++) {
        const Type *t = type(w, build_strong(w->b, own[s->of[i]])), *whole = &s->shape;
        int64_t take[3 * MAX_RANK];
        for (int k = 0; k < whole->rank; k++) {
            int j = k - (whole->rank - t->rank);
            take[3 * k] = 0, take[3 * k + 2] = 1;
            take[3 * k + 1] = j < 0 ? 1 : t->dim[j];
        }
        Val v = ir_slice(w->b->f, w->state[s->of[i]], take);
        w->state[s->of[i]] = ir_reshape(w->b->f, v, t->dim, t->rank);
    }
}

static bool scan(Lower *w) {
    Scanned s = {0};
    Val first[REDUCER_MAX_STATE], operands[2 * REDUCER_MAX_STATE];
    if (!find_scanned(w, &s)) return false;
    if (s.num == 0) return true;
    if (!region_inline(w->b, w->r->identity, NULL, 0, first)) return false;
    for (uint32_t i = 0; i < s.num; i++) {
        Val start = build_cast(w->b, first[s.of[i]], (Dtype)type(w, s.x[s.of[i]])->dtype);
        operands[i] = shaped(w, start, map_to(w->b->f, w->map), &s.shape);
        operands[s.num + i] = shaped(w, s.x[s.of[i]], map_from(w->b->f, w->map), &s.shape);
    }
    Fn *body = scanned_body(w, &s);
    bool tree = w->r->form != FORM_general || w->r->flags & REDUCER_associative;
    if (w->r->flags & REDUCER_deterministic) tree = false;
    Scan row = {w->map, tree ? SCAN_tree : 0, s.num, s.num, body};
    Val v = w->b->f->status ? 0 : ir_row_scan(w->b->f, &row, operands);
    ir_free(body);
    for (uint32_t i = 0; v && i < s.num; i++)
        w->state[s.of[i]] = build_cast(w->b, ir_part(w->b->f, v, i), s.dtype[s.of[i]]);
    if (v) narrow_states(w, &s);
    return v && !w->b->f->status;
}

static bool fits(Dtype d, double value) {
    return value == floor(value) && fabs(value) < (d == DT_i32 ? 0x1p31 : 0x1p63);
}

Val reducer_fill(Builder *b, const Reducer *r, Val rows, double value, Val v) {
    if (!v) return 0;
    Dtype d = (Dtype)ir_type(b->f, v)->dtype;
    if (d == DT_bool && value != 0 && value != 1)
        return build_fail(b, ST_INVAL, "reducer '%s': empty=%g, but its results are bool: 0 or 1",
                          r->name, value);
    Val number = d == DT_bool                           ? build_truth(b, value == 1)
                 : !dtype_is_float(d) && fits(d, value) ? build_integer(b, (int64_t)value)
                                                        : build_number(b, value);
    return build_call(b, "where", (Val[]){rows, number, v}, 3, NULL, 0);
}

static Val finish(Lower *w, Val v) {
    return w->r->has_empty ? reducer_fill(w->b, w->r, w->empty, w->r->empty, v) : v;
}

/* finalize of identity, in the rows that are empty: of no message, so it has no derivative. */
static Val nothing(Lower *w, Val v) {
    Val identity[REDUCER_MAX_STATE], number;
    Dtype d = v ? (Dtype)type(w, v)->dtype : DT_f32;
    if (!region_inline(w->b, w->r->identity, NULL, 0, identity)) return 0;
    for (uint32_t k = 0; k < w->r->num_state; k++) identity[k] = strong(w, identity[k]);
    if (!region_inline(w->b, w->r->finalize, identity, 0, &number)) return 0;
    return select(w, w->empty, build_cast(w->b, strong(w, number), d), v);
}

/* Where the row is empty finalize sees 1s: its value is not used, and its derivative stays finite. */
static Val finalize(Lower *w) {
    Val v;
    bool guarded = !passes_through(w->r);
    for (uint32_t k = 0; guarded && k < w->r->num_state; k++)
        w->state[k] = select(w, w->empty, build_integer(w->b, 1), w->state[k]);
    if (!region_inline(w->b, w->r->finalize, w->state, 0, &v)) return 0;
    v = build_strong(w->b, v);
    return guarded && !w->r->has_empty ? nothing(w, v) : finish(w, v);
}

static Val lower_mean(Lower *w) {
    Weighed g = weigh(w, w->r->mean);
    if (!g.rest) return 0;
    w->empty = is_minus_inf(w, g.top);
    return finish(w, g.mean);
}

static Val lower_state(Lower *w) {
    if (!scan(w)) return 0;
    for (uint32_t k = 0; k < w->r->num_state; k++)
        if (!is_scanned(w, k) && !(w->state[k] = component(w, k))) return 0;
    w->empty = row_is_empty(w);
    for (uint32_t k = 0; k < w->r->num_state && w->r->form == FORM_weighted; k++)
        if (w->r->part[k].form == FORM_weighted)
            w->empty = is_minus_inf(w, w->state[w->r->part[k].key]);
    return finalize(w);
}

/* Messages on edges reduce to destinations, node values to `all`. */
static bool choose_map(Lower *w, const Val *messages, uint32_t n) {
    Set set = SET_ALL;
    w->number = DT_f32;
    for (uint32_t k = 0; k < n; k++)
        if (dtype_is_float((Dtype)type(w, messages[k])->dtype) && !build_is_weak(w->b, messages[k]))
            w->number = (Dtype)type(w, messages[k])->dtype, w->has_float = true;
    for (uint32_t k = 0; k < n; k++)
        if (type(w, messages[k])->set != SET_ALL) set = type(w, messages[k])->set;
    w->map = set == SET_ALL || set == w->b->edges ? w->b->to_dst : map_all(set);
    for (uint32_t k = 0; k < n; k++) {
        Set own = type(w, messages[k])->set;
        if (own == SET_ALL || own == map_from(w->b->f, w->map)) continue;
        build_fail(w->b, ST_SHAPE, "reducer '%s': messages live on different sets", w->r->name);
        return false;
    }
    return true;
}

Val reducer_lower(Builder *b, const Reducer *r, const Val *messages, uint32_t num_messages) {
    Lower w = {.b = b, .r = r};
    if (b->f->status) return 0;
    if (num_messages != r->num_messages)
        return build_fail(b, ST_TYPE, "reducer '%s' takes %u message%s, got %u", r->name,
                          r->num_messages, r->num_messages == 1 ? "" : "s", num_messages);
    if (r->note) ir_note(b->f, r->note);
    if (r->doubt)
        ir_note(b->f,
                arena_printf(b->f->arena, "remark: [algebra] reducer '%s': %s", r->name, r->doubt));
    if (!choose_map(&w, messages, num_messages)) return 0;
    if (r->lower) {
        Val m = at_messages(&w, messages[0]);
        return m ? r->lower(b, r, w.map, m) : 0;
    }
    if (!region_inline(b, r->lift, messages, 0, w.lifted)) return 0;
    return r->has_mean ? lower_mean(&w) : lower_state(&w);
}
