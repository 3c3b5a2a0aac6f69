/* Built-ins that are no fold of a fixed state: short programs over the operations, from which fusion and
 * derivatives follow as for any other. Sums are along the rows' map; up(v) is a row's value at its messages.
 *
 *   logsumexp  maximum and log-sum of softmax, added
 *   var        mean(d^2) - mean(d)^2 with d = m - up(mean m): the second term takes back what rounding left in
 *              the mean (Chan, Golub and LeVeque 1983). Below 0, by rounding, it is 0, and so are derivatives there
 *   std        sqrt(var); gradient 0 where it is 0
 *   any, all   by counting what is not, or is, 0
 *   argmax     the least number among the messages that equal the largest
 *   quantile   the key below which `position` messages lie, two bits at a time from the top (radix selection by
 *              counting, which needs no memory); then the first message of that key
 *
 * A row without messages counts as one message while it is computed and gets its value at the end, so its
 * derivatives are 0 and not 0 / 0. */
#include "algebra/reducer.h"

#include "ir/type.h"

#include <math.h>
#include <string.h>

typedef struct {
    Builder *b;
    const Reducer *r;
    Map map;
    Val degree; /* of each row */
} Rows;

static Val call1(Rows *w, const char *name, Val x) {
    return build_call(w->b, name, &x, 1, NULL, 0);
}

static Val call2(Rows *w, const char *name, Val x, Val y) {
    return build_call(w->b, name, (Val[]){x, y}, 2, NULL, 0);
}

static Val select(Rows *w, Val c, Val x, Val y) {
    return build_call(w->b, "where", (Val[]){c, x, y}, 3, NULL, 0);
}

static Val integer(Rows *w, int64_t value) { return build_integer(w->b, value); }

static bool is_float(Rows *w, Val v) { return dtype_is_float((Dtype)ir_type(w->b->f, v)->dtype); }

static Rows rows_of(Builder *b, const Reducer *r, Map map) {
    return (Rows){b, r, map, ir_degree(b->f, map)};
}

static Val up(Rows *w, Val v) { return v ? ir_gather(w->b->f, v, w->map) : 0; }

static Val largest(Rows *w, Val m) {
    return m ? ir_part(w->b->f, ir_rmax(w->b->f, m, w->map), 0) : 0;
}

/* value in rows of fewer than `least` messages. */
static Val fill(Rows *w, int64_t least, double value, Val v) {
    return v ? reducer_fill(w->b, w->r, call2(w, "lt", w->degree, integer(w, least)), value, v) : 0;
}

static Val finish(Rows *w, Val v) { return w->r->has_empty ? fill(w, 1, w->r->empty, v) : v; }

static Val lower_logsumexp(Builder *b, const Reducer *r, Map map, Val m) {
    Rows w = rows_of(b, r, map);
    m = build_float(b, m);
    Val zero = ir_const_like(b->f, m, 0);
    return m ? finish(&w, ir_logsumexp(b->f, ir_softmax(b->f, m, zero, map))) : 0;
}

/* ---- moments ---- */

/* n, or `least` where that is less. */
static Val at_least(Rows *w, Val n, int64_t least) {
    return select(w, call2(w, "lt", n, integer(w, least)), integer(w, least), n);
}

static Val mean(Rows *w, Val m) {
    return m ? call2(w, "div", ir_reduce(w->b->f, m, w->map), at_least(w, w->degree, 1)) : 0;
}

static Val spread(Rows *w, Val m) {
    Val d = call2(w, "sub", m, up(w, mean(w, m)));
    Val rest = mean(w, d);
    Val v = call2(w, "sub", mean(w, call2(w, "mul", d, d)), call2(w, "mul", rest, rest));
    return select(w, call2(w, "lt", v, integer(w, 0)), integer(w, 0), v);
}

/* n / (n - 1) times v. */
static Val unbias(Rows *w, Val v) {
    Val free = at_least(w, call2(w, "sub", w->degree, integer(w, 1)), 1);
    return call2(w, "div", call2(w, "mul", v, w->degree), free);
}

/* The operand where the root is 0 is 1, so that the derivative there is 0 and not 0 / 0. */
static Val root(Rows *w, Val v) {
    Val none = call2(w, "le", v, integer(w, 0));
    return select(w, none, integer(w, 0), call1(w, "sqrt", select(w, none, integer(w, 1), v)));
}

static Val moments(Builder *b, const Reducer *r, Map map, Val m, bool unbiased, bool rooted) {
    Rows w = rows_of(b, r, map);
    Val v = spread(&w, build_float(b, m));
    if (unbiased) v = unbias(&w, v);
    if (rooted) v = root(&w, v);
    return finish(&w, fill(&w, unbiased ? 2 : 1, NAN, v));
}

static Val lower_var(Builder *b, const Reducer *r, Map map, Val m) {
    return moments(b, r, map, m, false, false);
}

static Val lower_var_unbiased(Builder *b, const Reducer *r, Map map, Val m) {
    return moments(b, r, map, m, true, false);
}

static Val lower_std(Builder *b, const Reducer *r, Map map, Val m) {
    return moments(b, r, map, m, false, true);
}

static Val lower_std_unbiased(Builder *b, const Reducer *r, Map map, Val m) {
    return moments(b, r, map, m, true, true);
}

/* ---- truth ---- */

/* How many messages are not 0, or are. */
static Val count_truth(Rows *w, Val m, bool of) {
    Val is = call2(w, of ? "ne" : "eq", m, integer(w, 0));
    return is ? ir_reduce(w->b->f, is, w->map) : 0;
}

static Val lower_any(Builder *b, const Reducer *r, Map map, Val m) {
    Rows w = rows_of(b, r, map);
    return finish(&w, call2(&w, "lt", integer(&w, 0), count_truth(&w, m, true)));
}

static Val lower_all(Builder *b, const Reducer *r, Map map, Val m) {
    Rows w = rows_of(b, r, map);
    return finish(&w, call2(&w, "eq", count_truth(&w, m, false), integer(&w, 0)));
}

/* ---- which one ---- */

static Val equals(Rows *w, Val m, Val best) {
    Val same = call2(w, "eq", m, best);
    if (!same || !is_float(w, m)) return same;
    return call2(w, "or", same, call2(w, "and", call1(w, "isnan", m), call1(w, "isnan", best)));
}

/* Messages numbered so that the first is the largest, or the last. Complements reverse the order of
 * integers. */
static Val numbers(Rows *w, bool last) {
    Val number = ir_iota(w->b->f, map_from(w->b->f, w->map));
    return last ? number : call1(w, "not", number);
}

/* The first (last) of the largest messages, by numbers(). */
static Val which(Rows *w, Val m, bool last) {
    Val wins = equals(w, m, up(w, largest(w, m)));
    return largest(w, select(w, wins, numbers(w, last), integer(w, INT64_MIN)));
}

static Val first_largest(Rows *w, Val m) {
    return fill(w, 1, w->r->has_empty ? w->r->empty : -1, call1(w, "not", which(w, m, false)));
}

/* v at the message of that number: where(number == up(which), v, 0), summed; 0 where there is none. */
static Val value_at(Rows *w, Val which, bool last, Val v) {
    if (!v || !which) return 0;
    Dtype d = (Dtype)ir_type(w->b->f, v)->dtype;
    Val own = call2(w, "eq", numbers(w, last), up(w, which));
    own = select(w, own, v, build_cast(w->b, integer(w, 0), d));
    return own ? build_cast(w->b, ir_reduce(w->b->f, own, w->map), d) : 0;
}

/* bool has no largest: 0 and 1 have. */
static Val ordered(Builder *b, Val m) {
    return ir_type(b->f, m)->dtype == DT_bool ? build_cast(b, m, DT_i32) : m;
}

/* What orders messages the other way round. */
static Val mirrored(Rows *w, Val m) { return m ? call1(w, is_float(w, m) ? "neg" : "not", m) : 0; }

Val library_chosen(Builder *b, const Reducer *r, Map map, Val key, bool min, bool last, Val v) {
    Rows w = rows_of(b, r, map);
    key = key ? ordered(b, key) : 0;
    return value_at(&w, which(&w, min ? mirrored(&w, key) : key, last), last, v);
}

static Val lower_argmax(Builder *b, const Reducer *r, Map map, Val m) {
    Rows w = rows_of(b, r, map);
    return first_largest(&w, ordered(b, m));
}

static Val lower_argmin(Builder *b, const Reducer *r, Map map, Val m) {
    Rows w = rows_of(b, r, map);
    return first_largest(&w, mirrored(&w, ordered(b, m)));
}

/* ---- order ---- */

/* The position in a row's order, from 0: q of the way to its end, rounded down; where there is a NaN, its. */
static Val position(Rows *w, Val m) {
    Val last = call2(w, "sub", w->degree, integer(w, 1));
    Val way = call2(w, "mul", build_cast(w->b, last, DT_f64), build_number(w->b, w->r->share));
    Val place = build_cast(w->b, call1(w, "floor", way), DT_i64);
    if (!place || !is_float(w, m)) return place;
    Val nans = ir_reduce(w->b->f, call1(w, "isnan", m), w->map);
    return select(w, call2(w, "lt", integer(w, 0), nans), last, place);
}

/* The key at a row's position: `base` grows to the largest number that at most `place` keys are below. */
static Val key_at(Rows *w, Val key, Val place) {
    Dtype d = (Dtype)ir_type(w->b->f, key)->dtype;
    int width = 8 * dtype_size(d);
    Val base = build_cast(w->b, integer(w, d == DT_i32 ? INT32_MIN : INT64_MIN), d);
    base = build_spread(w->b, base, map_to(w->b->f, w->map));
    for (int shift = width - 2; shift >= 0; shift -= 2) {
        Val steps = 0, step = build_cast(w->b, integer(w, (int64_t)(UINT64_C(1) << shift)), d);
        for (Val k = 0, bound = base; k < 3; k++) {
            bound = call2(w, "add", bound, step);
            Val below = ir_reduce(w->b->f, call2(w, "lt", key, up(w, bound)), w->map);
            Val fits = build_cast(w->b, call2(w, "le", below, place), d);
            steps = steps ? call2(w, "add", steps, fits) : fits;
        }
        base = call2(w, "add", base, call2(w, "mul", steps, step));
    }
    return base;
}

static Val lower_quantile(Builder *b, const Reducer *r, Map map, Val m) {
    Rows w = rows_of(b, r, map);
    m = ordered(b, m);
    Val key = is_float(&w, m) ? call1(&w, "order", m) : m;
    Val found = key_at(&w, key, position(&w, m));
    Val own =
        select(&w, call2(&w, "eq", key, up(&w, found)), numbers(&w, false), integer(&w, INT64_MIN));
    Val v = build_float(b, value_at(&w, largest(&w, own), false, m));
    return finish(&w, fill(&w, 1, NAN, v));
}

/* ---- the table ---- */

static const struct {
    const char *name;
    Lowering *lower;
} table[] = {
    {"logsumexp", lower_logsumexp},
    {"var", lower_var},
    {"var_unbiased", lower_var_unbiased},
    {"std", lower_std},
    {"std_unbiased", lower_std_unbiased},
    {"any", lower_any},
    {"all", lower_all},
    {"argmax", lower_argmax},
    {"argmin", lower_argmin},
    {"median", lower_quantile},
    {"quantile", lower_quantile},
};

const char *library_name(size_t k) {
    return k < sizeof table / sizeof *table ? table[k].name : NULL;
}

Lowering *library_find(const char *name) {
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (!strcmp(table[k].name, name)) return table[k].lower;
    return NULL;
}
