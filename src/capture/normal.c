/* Normal forms. A term c m is mul(c, m); m is a product of factors, or one factor; a number is a
 * constant, a sum of several terms an add. Hash-consing and its order of operands do the rest. */
#include "capture/normal.h"

#include "ir/element.h"
#include "ir/type.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TERMS = 32 };

typedef struct {
    uint32_t n;
    double c[MAX_TERMS];
    Val m[MAX_TERMS];
} Sum;

Normal normal_new(Arena *takes, const char *x, const char *y, Order order, bool finite) {
    return (Normal){ir_new(takes, "normal"), x, y, order, finite, false};
}

Val normal_number(Normal *w, double c) {
    return ir_const(w->f, type_scalar(DT_f64, SET_ALL), c == 0 ? 0 : c);
}

static double constant(const Node *n) {
    Dtype d = (Dtype)n->types[0].dtype;
    const char *bits = (const char *)&n->attr.bits;
    return dtype_is_float(d) ? element_get_float(d, bits) : (double)element_get_int(d, bits);
}

bool normal_is_number(const Normal *w, Val v, double *c) {
    if (ir_op(w->f, v) != OP_constant) return false;
    *c = constant(ir_node(w->f, v));
    return true;
}

/* ---- sums ---- */

static void put(Normal *w, Sum *s, double c, Val m) {
    uint32_t k = 0;
    while (k < s->n && s->m[k] != m) k++;
    if (k == MAX_TERMS) {
        w->too_big = true;
        return;
    }
    s->c[k] = k < s->n ? s->c[k] + c : c;
    s->m[k] = m;
    if (k == s->n) s->n++;
}

static void put_all(Normal *w, Sum *s, double c, Val v) {
    const Node *n = ir_node(w->f, v);
    double own;
    if (n->op == OP_add) {
        for (uint32_t k = 0; k < n->num_args; k++) put_all(w, s, c, ir_arg(w->f, v, k));
    } else if (normal_is_number(w, v, &own)) {
        if (own != 0) put(w, s, c * own, normal_number(w, 1));
    } else {
        bool first = ir_op(w->f, n->args[0]) == OP_constant;
        put(w, s, c * constant(ir_node(w->f, n->args[!first])), n->args[first]);
    }
}

static Sum sum_of(Normal *w, Val v) {
    Sum s = {0};
    put_all(w, &s, 1, v);
    return s;
}

static Val term(Normal *w, double c, Val m) {
    Val number = normal_number(w, c);
    return m == normal_number(w, 1) ? number : ir_mul(w->f, number, m);
}

static Val build(Normal *w, const Sum *s) {
    Val terms[MAX_TERMS];
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->n; k++)
        if (s->c[k] != 0) terms[n++] = term(w, s->c[k], s->m[k]);
    return n == 0 ? normal_number(w, 0) : n == 1 ? terms[0] : ir_emit(w->f, OP_add, terms, n, NULL);
}

Val normal_add(Normal *w, Val a, double c, Val b) {
    Sum s = sum_of(w, a);
    put_all(w, &s, c, b);
    return build(w, &s);
}

/* ---- products ---- */

typedef struct {
    uint32_t n;
    Val f[MAX_TERMS];
    Val power; /* of e */
} Product;

static Val inverse_factor(Normal *w, Val f) {
    Val one = normal_number(w, 1);
    const Node *n = ir_node(w->f, f);
    if (n->op == OP_exp) return ir_exp(w->f, normal_add(w, normal_number(w, 0), -1, n->args[0]));
    return n->op == OP_div ? n->args[1] : ir_div(w->f, one, f);
}

static void take_factor(Normal *w, Product *p, Val f) {
    uint32_t k = 0;
    if (ir_op(w->f, f) == OP_exp) {
        p->power = normal_add(w, p->power, 1, ir_arg(w->f, f, 0));
        return;
    }
    while (k < p->n && p->f[k] != inverse_factor(w, f)) k++;
    if (k < p->n) p->f[k] = p->f[--p->n];
    else if (k < MAX_TERMS) p->f[p->n++] = f;
    else w->too_big = true;
}

static void take_factors(Normal *w, Product *p, Val m, bool inverse) {
    bool several = ir_op(w->f, m) == OP_mul;
    uint32_t n = several ? ir_node(w->f, m)->num_args : 1;
    if (m == normal_number(w, 1)) return;
    for (uint32_t k = 0; k < n; k++) {
        Val f = several ? ir_arg(w->f, m, k) : m;
        take_factor(w, p, inverse ? inverse_factor(w, f) : f);
    }
}

static Val product(Normal *w, Product *p) {
    if (p->power != normal_number(w, 0) && p->n < MAX_TERMS) p->f[p->n++] = ir_exp(w->f, p->power);
    return p->n == 0   ? normal_number(w, 1)
           : p->n == 1 ? p->f[0]
                       : ir_emit(w->f, OP_mul, p->f, p->n, NULL);
}

Val normal_mul(Normal *w, Val a, Val b) {
    Sum s = sum_of(w, a), t = sum_of(w, b), all = {0};
    for (uint32_t i = 0; i < s.n; i++)
        for (uint32_t k = 0; k < t.n; k++) {
            Product p = {.power = normal_number(w, 0)};
            take_factors(w, &p, s.m[i], false);
            take_factors(w, &p, t.m[k], false);
            put(w, &all, s.c[i] * t.c[k], product(w, &p));
        }
    return build(w, &all);
}

/* Of one term factor by factor; of a sum as a factor. */
Val normal_inverse(Normal *w, Val a) {
    Sum s = sum_of(w, a);
    if (s.n != 1) return term(w, 1, ir_div(w->f, normal_number(w, 1), a));
    Product p = {.power = normal_number(w, 0)};
    take_factors(w, &p, s.m[0], true);
    return term(w, 1 / s.c[0], product(w, &p));
}

/* exp(x + log(y)) = y exp(x) */
Val normal_exp(Normal *w, Val a) {
    Sum s = sum_of(w, a), rest = {0};
    Val v = normal_number(w, 1), power;
    for (uint32_t k = 0; k < s.n; k++)
        if (s.c[k] == 1 && ir_op(w->f, s.m[k]) == OP_log)
            v = normal_mul(w, v, ir_arg(w->f, s.m[k], 0));
        else put(w, &rest, s.c[k], s.m[k]);
    power = build(w, &rest);
    if (normal_is_number(w, power, &s.c[0])) return normal_mul(w, v, normal_number(w, exp(s.c[0])));
    return normal_mul(w, v, term(w, 1, ir_exp(w->f, power)));
}

static Val normal_log(Normal *w, Val a) {
    Sum s = sum_of(w, a);
    bool is_power = s.n == 1 && s.c[0] == 1 && ir_op(w->f, s.m[0]) == OP_exp;
    return is_power ? ir_arg(w->f, s.m[0], 0) : term(w, 1, ir_log(w->f, a));
}

/* ---- order ---- */

static Val factor(Normal *w, const char *name) {
    return ir_input(w->f, name, type_scalar(DT_f64, SET_ALL));
}

Val normal_input(Normal *w, const char *name) {
    bool is_y = w->order == ORDER_same && !strcmp(name, w->y);
    return term(w, 1, factor(w, is_y ? w->x : name));
}

static int sign_of(double c) { return (c > 0) - (c < 0); }

/* One of the ordered inputs, or the absolute value of one. */
static bool is_key(Normal *w, Val m) {
    Val of[2];
    if (m == factor(w, w->x) || m == factor(w, w->y)) return true;
    const char *name = ir_op(w->f, m) == OP_input ? ir_node(w->f, m)->attr.name : "";
    if (sscanf(name, "max %u %u", &of[0], &of[1]) != 2) return false;
    Sum s = sum_of(w, of[0]), t = sum_of(w, of[1]);
    return s.n == 1 && t.n == 1 && s.m[0] == t.m[0] && is_key(w, s.m[0]);
}

/* A sum of keys and an infinity has the infinity's sign. */
static bool is_bounded(Normal *w, const Sum *s, uint32_t inf) {
    for (uint32_t k = 0; k < s->n; k++)
        if (k != inf && !is_key(w, s->m[k])) return false;
    return s->n == 1 || (w->finite && isinf(s->c[inf]));
}

/* The sign of a - b, where it is known. */
static bool compare(Normal *w, Val a, Val b, int *sign) {
    Sum s = sum_of(w, normal_add(w, a, -1, b));
    for (uint32_t k = 0; k < s.n; k++)
        if (s.m[k] == normal_number(w, 1) && s.c[k] == s.c[k] && is_bounded(w, &s, k))
            return *sign = sign_of(s.c[k]), true;
    *sign = 0;
    if (s.n == 0) return true;
    if (s.n != 2 || s.c[0] != -s.c[1] || (w->order != ORDER_less && w->order != ORDER_more))
        return false;
    Val x = factor(w, w->x), y = factor(w, w->y);
    *sign = (int)w->order * sign_of(s.c[s.m[1] == x]);
    return (s.m[0] == x && s.m[1] == y) || (s.m[0] == y && s.m[1] == x);
}

/* An operation of which nothing is known, by its name and its operands'. */
static Val opaque(Normal *w, Op op, const Val *args, uint32_t n) {
    Text name = {.arena = w->f->arena};
    text_put(&name, op_info[op].name);
    for (uint32_t k = 0; k < n; k++) text_putf(&name, " %u", args[k]);
    return term(w, 1, factor(w, name.text));
}

static Val comparison(Normal *w, Op op, const Val *a) {
    int sign;
    if (!compare(w, a[0], a[1], &sign)) return opaque(w, op, a, 2);
    bool holds = op == OP_lt ? sign < 0 : op == OP_le ? sign <= 0 : (sign == 0) == (op == OP_eq);
    return normal_number(w, holds);
}

static Val largest(Normal *w, Val a, Val b) {
    int sign;
    if (compare(w, a, b, &sign)) return sign < 0 ? b : a;
    return opaque(w, OP_max, a < b ? (Val[]){a, b} : (Val[]){b, a}, 2);
}

static Val negative(Normal *w, Val a) { return normal_add(w, normal_number(w, 0), -1, a); }

/* c a + (1 - c) b */
static Val choice(Normal *w, Val c, Val a, Val b) {
    double which;
    if (normal_is_number(w, c, &which)) return which != 0 ? a : b;
    return normal_add(w, b, 1, normal_mul(w, c, normal_add(w, a, -1, b)));
}

/* ---- regions ---- */

static Val node(Normal *w, const Node *n, const Val *a) {
    Val zero = normal_number(w, 0), one = normal_number(w, 1), v = a[0];
    int sign;
    switch ((int)n->op) {
    case OP_input: return normal_input(w, n->attr.name);
    case OP_constant: return normal_number(w, constant(n));
    case OP_add:
        for (uint32_t k = 1; k < n->num_args; k++) v = normal_add(w, v, 1, a[k]);
        return v;
    case OP_mul:
        for (uint32_t k = 1; k < n->num_args; k++) v = normal_mul(w, v, a[k]);
        return v;
    case OP_fma: return normal_add(w, a[2], 1, normal_mul(w, v, a[1]));
    case OP_sub: return normal_add(w, v, -1, a[1]);
    case OP_div: return normal_mul(w, v, normal_inverse(w, a[1]));
    case OP_neg: return negative(w, v);
    case OP_exp: return normal_exp(w, v);
    case OP_expm1: return normal_add(w, normal_exp(w, v), -1, one);
    case OP_log: return normal_log(w, v);
    case OP_log1p: return normal_log(w, normal_add(w, v, 1, one));
    case OP_max: return largest(w, v, a[1]);
    case OP_min: return negative(w, largest(w, negative(w, v), negative(w, a[1])));
    case OP_abs: return largest(w, v, negative(w, v));
    case OP_sign:
        return compare(w, v, zero, &sign) ? normal_number(w, sign) : opaque(w, OP_sign, a, 1);
    case OP_lt:
    case OP_le:
    case OP_eq:
    case OP_ne: return comparison(w, (Op)n->op, a);
    case OP_where: return choice(w, v, a[1], a[2]);
    case OP_cast: return n->types[0].dtype == DT_bool ? opaque(w, OP_cast, a, 1) : v;
    }
    return opaque(w, (Op)n->op, a, n->num_args);
}

/* Of truths; of integers bit by bit. */
static Val logic(Normal *w, const Node *n, const Val *a) {
    Val both = normal_mul(w, a[0], n->num_args > 1 ? a[1] : a[0]);
    if (n->op == OP_and) return both;
    if (n->op == OP_not) return normal_add(w, normal_number(w, 1), -1, a[0]);
    return normal_add(w, normal_add(w, a[0], 1, a[1]), n->op == OP_or ? -1 : -2, both);
}

static bool is_logic(const Node *n) {
    bool is_bit = op_info[n->op].signature == S_bit && op_info[n->op].class == CLASS_elem;
    return is_bit && n->types[0].dtype == DT_bool;
}

/* Rounding to integers or to a half is no cast to be looked through. */
static bool rounds(const Fn *f, const Node *n) {
    if (n->op != OP_cast) return false;
    Dtype to = (Dtype)n->types[0].dtype;
    if (dtype_is_half(to)) return !n->attr.name; /* else it is held, not rounded */
    return !dtype_is_float(to) && dtype_is_float((Dtype)ir_type(f, n->args[0])->dtype);
}

bool normal_results(Normal *w, const Fn *region, const uint8_t *needed, Val *out) {
    Arena *a = w->f->arena;
    Val *memo = ARENA_ARRAY(a, Val, ir_count(region));
    for (Val v = 1; v < ir_count(region); v++) {
        const Node *n = ir_node(region, v);
        if (needed && !needed[v]) continue;
        Val *args = ARENA_ARRAY(a, Val, n->num_args + 1);
        for (uint32_t k = 0; k < n->num_args; k++) args[k] = memo[n->args[k]];
        memo[v] = w->too_big          ? normal_number(w, 0)
                  : is_logic(n)       ? logic(w, n, args)
                  : rounds(region, n) ? opaque(w, OP_cast, args, 1)
                                      : node(w, n, args);
    }
    for (uint32_t k = 0; k < region->results.len; k++) out[k] = memo[region->results.data[k].val];
    return !w->too_big;
}
