/* Operations along maps. Along a relation's map the edges are taken by number, so every fibre meets its
 * edges in position order; along the map to `all` the elements of the set.
 *
 * What is summed is summed in double with Neumaier's compensation and rounded once to the value's
 * dtype: this is the yardstick that compiled code is held to. Integers and bool sum to i64, wrapping. */
#include "interp/value.h"

#include "ir/words.h"

/* Both ends of every edge by number. O(N + E). */
static Status find_ends(Run *run, int relation) {
    Graph *g = run->domain->graphs[relation];
    int64_t n = graph_num_edges(g), **src = &run->end[map_src(relation)],
            **dst = &run->end[map_dst(relation)];
    Status st = run_alloc(run, "ends of edges", n, sizeof **src, src);
    if (!st) st = run_alloc(run, "ends of edges", n, sizeof **dst, dst);
    return st ? st : graph_edges(g, *src, *dst);
}

/* A map by element: at(i) is where element i of its start leads. */
typedef struct {
    int64_t count;      /* size of the start */
    const int64_t *end; /* NULL: everything leads to `all` */
} Lead;

static int64_t at(const Lead *l, int64_t i) { return l->end ? l->end[i] : 0; }

static Status lead_of(const Eval *q, Lead *l) {
    Map m = q->node->attr.map;
    Set from = map_from(q->f, m);
    *l = (Lead){.count = from == SET_ALL ? 1 : q->run->domain->set_size[from]};
    if (map_is_all(m)) return ST_OK;
    TIGA_ASSERT((uint32_t)m < q->run->num_maps);
    Status st = q->run->end[m] ? ST_OK : find_ends(q->run, map_relation(m));
    l->end = q->run->end[m];
    return st;
}

/* Lead and memory for result 0. */
static Status start(const Eval *q, Lead *l) {
    Status st = lead_of(q, l);
    return st ? st : eval_alloc(q, 0);
}

Status eval_gather(const Eval *q) {
    Lead l;
    Status st = start(q, &l);
    if (st) return st;
    int64_t bytes = q->out->numel * value_size(q->out);
    for (int64_t i = 0; bytes && i < l.count; i++)
        memcpy(q->out->data + i * bytes, q->args[0]->data + at(&l, i) * bytes, (size_t)bytes);
    return ST_OK;
}

Status eval_degree(const Eval *q) {
    Lead l;
    Status st = start(q, &l);
    if (st) return st;
    int64_t *degree = (int64_t *)q->out->data;
    if (!l.end) degree[0] = l.count;
    else
        for (int64_t i = 0; i < l.count; i++) degree[l.end[i]]++;
    return ST_OK;
}

Status eval_iota(const Eval *q) {
    Status st = eval_alloc(q, 0);
    int64_t *number = (int64_t *)q->out->data;
    for (int64_t i = 0; !st && i < q->out->rows; i++) number[i] = i;
    return st;
}

/* A view of a dense value's rows, and back. */
Status eval_enter(const Eval *q) {
    q->out->data = q->args[0]->data;
    return ST_OK;
}

Status eval_leave(const Eval *q) { return eval_enter(q); }

/* ---- sums ---- */

typedef struct {
    double sum, rest;
} Acc;

/* Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", 1974. */
static void acc_add(Acc *a, double x) {
    double sum = a->sum + x;
    bool sum_is_larger = abs_f64(a->sum) >= abs_f64(x);
    a->rest += sum_is_larger ? (a->sum - sum) + x : (x - sum) + a->sum;
    a->sum = sum;
}

/* rest is NaN once the sum is infinite. */
static double acc_get(const Acc *a) { return a->sum - a->sum == 0 ? a->sum + a->rest : a->sum; }

static Status reduce_float(const Eval *q, const Lead *l) {
    const Value *x = q->args[0], *y = q->out;
    Dtype t = value_dtype(x);
    Acc *acc;
    Status st = run_alloc(q->run, "sums", value_count(y), sizeof *acc, &acc);
    if (st) return st;
    for (int64_t i = 0; i < l->count; i++)
        for (int64_t k = 0; k < x->numel; k++)
            acc_add(&acc[at(l, i) * x->numel + k],
                    element_get_float(t, x->data + (i * x->numel + k) * value_size(x)));
    for (int64_t i = 0; i < value_count(y); i++)
        element_set_float(t, y->data + i * value_size(y), acc_get(&acc[i]));
    return ST_OK;
}

static void reduce_int(const Eval *q, const Lead *l) {
    const Value *x = q->args[0];
    uint64_t *sum = (uint64_t *)q->out->data;
    for (int64_t i = 0; i < l->count; i++)
        for (int64_t k = 0; k < x->numel; k++)
            sum[at(l, i) * x->numel + k] += (uint64_t)element_get_int(
                value_dtype(x), x->data + (i * x->numel + k) * value_size(x));
}

Status eval_reduce(const Eval *q) {
    Lead l;
    Status st = start(q, &l);
    if (st) return st;
    if (dtype_is_float(value_dtype(q->out))) return reduce_float(q, &l);
    reduce_int(q, &l);
    return ST_OK;
}

/* ---- largest ---- */

static bool is_tie(Dtype t, const char *p, const char *q) {
    if (!dtype_is_float(t)) return element_get_int(t, p) == element_get_int(t, q);
    double x = element_get_float(t, p), y = element_get_float(t, q);
    return x == y || (x != x && y != y);
}

/* y = max(y, x) of op.def over every fibre, from the least value on. */
static void largest(const Lead *l, const Value *x, const Value *y) {
    int64_t bytes = x->numel * value_size(x);
    for (int64_t i = 0; i < value_count(y); i++)
        element_set_least(value_dtype(y), y->data + i * value_size(y));
    for (int64_t i = 0; i < l->count; i++) {
        char *row = y->data + at(l, i) * bytes;
        elem_apply(OP_max, value_dtype(x), x->numel, row, x->data + i * bytes, NULL, row);
    }
}

Status eval_rmax(const Eval *q) {
    Lead l;
    const Value *x = q->args[0], *y = q->out;
    Status st = start(q, &l);
    if (!st) st = eval_alloc(q, 1);
    if (st) return st;
    largest(&l, x, y);
    int64_t *ties = (int64_t *)q->out[1].data;
    int size = value_size(x);
    for (int64_t i = 0; i < l.count; i++)
        for (int64_t k = 0; k < x->numel; k++) {
            int64_t to = at(&l, i) * x->numel + k;
            ties[to] +=
                is_tie(value_dtype(x), x->data + (i * x->numel + k) * size, y->data + to * size);
        }
    return ST_OK;
}

/* ---- softmax ---- */

/* Where element k of a row of v finds its score in a row of s. */
static int64_t score_at(const Value *s, const Value *v, int64_t k) {
    int64_t index = 0, step = 1;
    for (int d = v->type->rank - 1; d >= 0; d--) {
        if (s->dim[d] != 1) index += k % v->dim[d] * step;
        k /= v->dim[d];
        step *= s->dim[d];
    }
    return index;
}

/* exp(s - m) with m the fibre's largest score: 1 at the largest, +inf included; 0 of -inf. */
static double weight(double s, double m) { return s == m ? 1 : exp_f64(s - m); }

typedef struct {
    const Value *s, *v, *m;
    Lead lead;
    Acc *den, *num; /* sum p by score, sum p v by value, of each row of the result */
} Softmax;

static void softmax_row(const Softmax *w, int64_t i) {
    Dtype t = value_dtype(w->s);
    int64_t to = at(&w->lead, i), ns = w->s->numel, nv = w->v->numel;
    int size = value_size(w->s);
    const char *score = w->s->data + i * ns * size, *most = w->m->data + to * ns * size;
    for (int64_t k = 0; k < ns; k++) {
        double s = element_get_float(t, score + k * size),
               m = element_get_float(t, most + k * size);
        if (s != -__builtin_inf()) acc_add(&w->den[to * ns + k], weight(s, m));
    }
    for (int64_t k = 0; k < nv; k++) {
        int64_t j = score_at(w->s, w->v, k);
        double s = element_get_float(t, score + j * size),
               m = element_get_float(t, most + j * size);
        double v = element_get_float(t, w->v->data + (i * nv + k) * size);
        if (s != -__builtin_inf()) acc_add(&w->num[to * nv + k], weight(s, m) * v);
    }
}

/* o = num / den and l = log(den); a row without weights gives NaN and -inf by themselves. */
static void softmax_finish(const Eval *q, const Softmax *w) {
    const Value *o = &q->out[0], *rest = &q->out[2];
    Dtype t = value_dtype(o);
    int size = value_size(o);
    for (int64_t i = 0; i < value_count(o); i++) {
        int64_t j = i / o->numel * rest->numel + score_at(rest, o, i % o->numel);
        element_set_float(t, o->data + i * size, acc_get(&w->num[i]) / acc_get(&w->den[j]));
    }
    for (int64_t i = 0; i < value_count(rest); i++)
        element_set_float(t, rest->data + i * size, log_f64(acc_get(&w->den[i])));
}

Status eval_softmax(const Eval *q) {
    Softmax w = {.s = q->args[0], .v = q->args[1], .m = &q->out[1]};
    Status st = start(q, &w.lead);
    if (!st) st = eval_alloc(q, 1);
    if (!st) st = eval_alloc(q, 2);
    if (!st) st = run_alloc(q->run, "sums", value_count(w.m), sizeof *w.den, &w.den);
    if (!st) st = run_alloc(q->run, "sums", value_count(q->out), sizeof *w.num, &w.num);
    if (st) return st;
    largest(&w.lead, w.s, w.m);
    for (int64_t i = 0; i < w.lead.count; i++) softmax_row(&w, i);
    softmax_finish(q, &w);
    return ST_OK;
}
