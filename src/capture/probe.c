/* Declarations put to the test on states that a row can reach: lifts of random messages and what they
 * combine to. One program holds every sample as an element: results are compared after finalize, since
 * two states may differ and mean the same. Messages are float64 (integers stay such), half of the samples
 * positive, so that logarithms and roots have their say. */
#include "capture/probe.h"

#include "interp/interp.h"
#include "ir/type.h"

#include <math.h>
#include <stdio.h>

enum { NUM_SAMPLES = 64, NUM_STATES = 5, NUM_RESULTS = 6 };

typedef struct {
    Arena *arena;
    const Reducer *r;
    Builder *b;
    uint64_t seed;
    double *data[NUM_STATES][REDUCER_MAX_MESSAGES]; /* NUM_SAMPLES entries */
    double result[NUM_RESULTS][NUM_SAMPLES];
} Probe;

typedef struct {
    Val v[REDUCER_MAX_STATE];
} State;

/* ---- the program ---- */

static Dtype message_dtype(const Reducer *r, uint32_t k) {
    char name[16];
    snprintf(name, sizeof name, "m%u", k);
    Val v = ir_find_input(r->lift, name);
    Dtype d = v ? (Dtype)ir_type(r->lift, v)->dtype : DT_f64;
    return dtype_is_float(d) ? DT_f64 : d;
}

static State lifted(Probe *p, uint32_t i) {
    State s = {{0}};
    Val m[REDUCER_MAX_MESSAGES];
    for (uint32_t k = 0; k < p->r->num_messages; k++) {
        const char *name = arena_printf(p->arena, "m%u.%u", i, k);
        Val x = build_input(p->b, name, DT_f64, 1, (int64_t[]){NUM_SAMPLES});
        m[k] = build_cast(p->b, x, message_dtype(p->r, k));
    }
    region_inline(p->b, p->r->lift, m, 0, s.v);
    return s;
}

static State combined(Probe *p, State x, State y) {
    State both = {{0}};
    Val args[2 * REDUCER_MAX_STATE];
    for (uint32_t k = 0; k < p->r->num_state; k++) {
        args[k] = x.v[k];
        args[p->r->num_state + k] = y.v[k];
    }
    region_inline(p->b, p->r->combine, args, p->r->num_state, both.v);
    return both;
}

/* A result that no message reaches is one number: repeated for every sample. */
static void put_result(Probe *p, int k, State s) {
    Val v = 0;
    Type each = type_of(DT_f64, SET_ALL, 1, (int64_t[]){NUM_SAMPLES});
    region_inline(p->b, p->r->finalize, s.v, 0, &v);
    v = build_cast(p->b, build_strong(p->b, v), DT_f64);
    ir_add_result(p->b->f, arena_printf(p->arena, "%d", k), ir_bcast(p->b->f, v, each.dim, 1));
}

/* Results 2 k and 2 k + 1 should be the same: associative of three messages, of five; commutative. */
static const Fn *build(Probe *p) {
    State s[NUM_STATES];
    p->b = build_new(p->arena, "probe", true);
    for (uint32_t i = 0; i < NUM_STATES; i++) s[i] = lifted(p, i);
    State front = combined(p, s[0], s[1]), back = combined(p, s[3], s[4]);
    put_result(p, 0, combined(p, front, s[2]));
    put_result(p, 1, combined(p, s[0], combined(p, s[1], s[2])));
    put_result(p, 2, combined(p, combined(p, front, s[2]), back));
    put_result(p, 3, combined(p, front, combined(p, s[2], back)));
    put_result(p, 4, front);
    put_result(p, 5, combined(p, s[1], s[0]));
    return p->b->f->status ? NULL : build_program(p->b, p->arena);
}

/* ---- its data ---- */

/* Steele, Lea and Flood 2014: in [0, 1). */
static double draw(Probe *p) {
    uint64_t z = p->seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double *draw_all(Probe *p, Dtype d) {
    double *x = ARENA_ARRAY(p->arena, double, NUM_SAMPLES);
    for (int i = 0; i < NUM_SAMPLES; i++) {
        double low = i % 2 ? -3 : 0.25, high = i % 2 ? 3 : 2.25;
        x[i] = low + (high - low) * draw(p);
        if (!dtype_is_float(d)) x[i] = d == DT_bool ? x[i] > 1 : floor(4 * x[i]);
    }
    return x;
}

static Array array_of(double *data) {
    return (Array){data, DT_f64, 1, {NUM_SAMPLES}, {sizeof *data}};
}

static bool run(Probe *p, const Fn *f) {
    Array *in = ARENA_ARRAY(p->arena, Array, f->inputs.len), out[NUM_RESULTS];
    for (uint32_t i = 0; i < NUM_STATES; i++)
        for (uint32_t k = 0; k < p->r->num_messages; k++)
            p->data[i][k] = draw_all(p, message_dtype(p->r, k));
    for (uint32_t n = 0; n < f->inputs.len; n++) {
        uint32_t i = 0, k = 0;
        sscanf(f->inputs.data[n].name, "m%u.%u", &i, &k);
        in[n] = array_of(p->data[i][k]);
    }
    for (int k = 0; k < NUM_RESULTS; k++) out[k] = array_of(p->result[k]);
    Domain domain = {.set_size = ARENA_ARRAY(p->arena, int64_t, f->sets.len)};
    return !interp_run(f, &domain, in, out);
}

/* ---- what it shows ---- */

/* Infinities and NaN are no evidence: they may be of the rounding. */
static bool differ(double x, double y) {
    return isfinite(x) && isfinite(y) && fabs(x - y) > 1e-6 * (1 + fabs(x) + fabs(y));
}

static int find_difference(const Probe *p, int pair) {
    for (int i = 0; i < NUM_SAMPLES; i++)
        if (differ(p->result[2 * pair][i], p->result[2 * pair + 1][i])) return i;
    return -1;
}

static void put_messages(const Probe *p, Text *t, uint32_t num_states, int sample) {
    bool several = p->r->num_messages > 1;
    for (uint32_t i = 0; i < num_states; i++) {
        text_putf(t, "%s%c = %s", i ? ", " : "", 'a' + (int)i, several ? "(" : "");
        for (uint32_t k = 0; k < p->r->num_messages; k++)
            text_putf(t, k ? ", %.6g" : "%.6g", p->data[i][k][sample]);
        if (several) text_put(t, ")");
    }
}

static void put_failure(const Probe *p, Text *t, int pair, int sample) {
    static const struct {
        const char *law, *left, *right;
        uint32_t num_states;
    } laws[] = {{"associative", "(a b) c", "a (b c)", 3},
                {"associative", "((a b) c) (d e)", "(a b) (c (d e))", 5},
                {"commutative", "a b", "b a", 2}};
    if (t->text[0]) text_put(t, "; ");
    text_putf(t, "declared %s, but combining %s gives %.6g and %s gives %.6g for the messages ",
              laws[pair].law, laws[pair].left, p->result[2 * pair][sample], laws[pair].right,
              p->result[2 * pair + 1][sample]);
    put_messages(p, t, laws[pair].num_states, sample);
}

const char *probe_declarations(Arena *a, const Reducer *r) {
    bool grouped = r->form == FORM_general;
    bool swapped = grouped || r->form == FORM_affine;
    for (uint32_t k = 0; k < r->num_state; k++)
        swapped |= r->part[k].form == FORM_first || r->part[k].form == FORM_last;
    grouped &= (r->flags & REDUCER_associative) != 0;
    swapped &= (r->flags & REDUCER_commutative) != 0;
    if (!grouped && !swapped) return NULL;
    Probe *p = ARENA_NEW(a, Probe);
    *p = (Probe){.arena = a, .r = r, .seed = 1};
    const Fn *f = build(p);
    Text t = {.arena = a};
    text_put(&t, "");
    if (!f || !run(p, f)) return NULL;
    int at = find_difference(p, 0), pair = at < 0;
    if (pair) at = find_difference(p, 1);
    if (grouped && at >= 0) put_failure(p, &t, pair, at);
    at = find_difference(p, 2);
    if (swapped && at >= 0) put_failure(p, &t, 2, at);
    return t.text[0] ? t.text : NULL;
}
