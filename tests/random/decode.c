/* Bytes -> a valid program. A pool of values grows step by step; each step is an operation chosen by a
 * byte, over values of the pool chosen by bytes and brought to fit. Past the end every byte is 0. */
#include "decode.h"

#include "ir/type.h"
#include "opt/vjp.h"

#include <math.h>

uint32_t decode_byte(Decoder *d, uint32_t n) {
    uint32_t byte = d->pos < d->c->num_bytes ? d->c->bytes[d->pos] : 0;
    d->pos++;
    return n ? byte % n : 0;
}

bool decode_one_in(Decoder *d, uint32_t n) { return decode_byte(d, n) == n - 1; }

/* Most of the time one of the last, so that operations build on each other. */
static uint32_t pick(Decoder *d) {
    uint32_t byte = decode_byte(d, 256), n = d->pool.len, recent = n < 3 ? n : 3;
    return byte < 176 ? n - 1 - byte % recent : byte % n;
}

Val decode_pick(Decoder *d) { return fit_plain(d, d->pool.data[pick(d)]); }

double decode_size(const Decoder *d, Val v) {
    for (uint32_t k = d->pool.len; k-- > 0;)
        if (d->pool.data[k] == v) return d->size.data[k];
    return 8;
}

static bool is_float(const Decoder *d, Val v) {
    return dtype_is_float((Dtype)ir_type(d->f, v)->dtype);
}

/* Whole numbers stay whole: clamped. Others shrink smoothly, or by a power of two. */
static Val tame(Decoder *d, Val v, double size) {
    if (d->c->data == DATA_whole)
        return ir_min(d->f, ir_max(d->f, v, ir_const_like(d->f, v, -4)), ir_const_like(d->f, v, 4));
    if (decode_byte(d, 2)) return ir_tanh(d->f, v);
    return ir_mul(d->f, v, ir_const_like(d->f, v, exp2(-ceil(log2(size)))));
}

void decode_put(Decoder *d, Val v, double size) {
    enum { LARGE = 300 };
    if (!v) return;
    if (!is_float(d, v)) size = 8;
    if (size > LARGE) {
        v = tame(d, fit_computed(d, v), size);
        size = 4;
    }
    *vec_push(d->f->arena, &d->pool) = v;
    *vec_push(d->f->arena, &d->size) = size;
}

/* Wide features only where there are few rows. */
static int64_t most_numel(const Case *c) {
    int64_t rows = 1;
    for (int r = 0; r < c->num_relations; r++) {
        const GraphSpec *g = &c->graph[r];
        rows += g->num_src + g->num_dst + g->num_edges;
    }
    return rows > 10000 ? 8 : rows > 1000 ? 64 : 320;
}

static void add_result(Decoder *d, Val v) {
    Set s = ir_type(d->f, v)->set;
    if (s != SET_ALL && decode_one_in(d, 3))
        v = ir_reduce(d->f, fit_computed(d, v), fit_map_from(d, s));
    ir_add_result(d->f, arena_printf(d->f->arena, "y%u", d->f->results.len), v);
}

static uint8_t *find_used(const Decoder *d) {
    uint8_t *used = ARENA_ARRAY(d->f->arena, uint8_t, ir_count(d->f));
    for (Val v = 1; v < ir_count(d->f); v++)
        for (uint32_t k = 0; k < ir_node(d->f, v)->num_args; k++) used[ir_arg(d->f, v, k)] = 1;
    return used;
}

/* What nothing else uses, the last first, some of it summed; and at times any value, inputs and values
 * that are results already among them. */
static void add_results(Decoder *d) {
    enum { MOST = 6 };
    uint8_t *used = find_used(d);
    for (uint32_t k = d->pool.len; k-- > 0 && d->f->results.len < MOST;) {
        Val v = d->pool.data[k];
        bool is_sink = !used[v] && ir_op(d->f, v) != OP_input;
        used[v] = 1;
        if (is_sink) add_result(d, v);
    }
    uint32_t more = decode_byte(d, 16) / 6;
    if (d->f->results.len == 0) more = 1;
    for (uint32_t k = 0; k < more; k++) add_result(d, d->pool.data[pick(d)]);
}

Fn *decode_program(Arena *takes, const Case *c) {
    Decoder d = {.f = ir_new(takes, "random"), .c = c, .max_numel = most_numel(c)};
    d.dst = ir_set(d.f, "V");
    d.src = c->homogeneous ? d.dst : ir_set(d.f, "U");
    ir_relation(d.f, "r", d.src, d.dst);
    if (c->num_relations > 1) ir_relation(d.f, "q", d.src, d.dst);
    decode_put(&d, step_input(&d), 2);
    decode_put(&d, step_input(&d), 2);
    for (int steps = 0; steps < 40 && d.pos < c->num_bytes; steps++) step_any(&d);
    add_results(&d);
    return d.f;
}

/* ---- what is differentiated ---- */

static bool is_float_binding(const Fn *f, const Binding *b) {
    return dtype_is_float((Dtype)ir_type(f, b->val)->dtype);
}

/* Names of up to `most` floats in the list. */
static uint32_t floats(Fn *f, const Binding *list, uint32_t n, uint32_t most, Rng *r,
                       const char **names) {
    uint32_t num = 0;
    for (uint32_t k = 0; k < n; k++)
        if (is_float_binding(f, &list[k]) && num < most && rng_below(r, 4))
            names[num++] = list[k].name;
    for (uint32_t k = n; k-- > 0 && num == 0;)
        if (is_float_binding(f, &list[k])) names[num++] = list[k].name;
    return num;
}

Fn *decode_gradient(const Case *c, Fn *f, int order, Gradient *g) {
    enum { MOST_OUTS = 4, MOST_WRT = 6 };
    Rng r = {c->seed * 31 + (uint64_t)order};
    const char **names = ARENA_ARRAY(f->arena, const char *, MOST_OUTS + MOST_WRT);
    g->outs = ARENA_ARRAY(f->arena, const char *, MOST_OUTS);
    g->wrt = ARENA_ARRAY(f->arena, const char *, MOST_WRT);
    g->num_outs = floats(f, f->results.data, f->results.len, MOST_OUTS, &r, g->outs);
    g->num_wrt = floats(f, f->inputs.data, f->inputs.len, MOST_WRT, &r, g->wrt);
    if (!g->num_outs || !g->num_wrt) return NULL;
    Fn *joint;
    if (vjp_run(arena_new(), f, g->outs, g->num_outs, g->wrt, g->num_wrt, names, &joint))
        guard_fail(ST_BUG, "%s", err_message());
    g->cots = names;
    g->grads = names + g->num_outs;
    return joint;
}
