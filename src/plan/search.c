/* The fewest traversals: breadth first over sets of done anchors.
 *
 * Taking all that an order can hold never costs a traversal, so a plan is a sequence of orders and a
 * state is the set of anchors done. States that another one contains are dropped, which keeps
 * independent relations from multiplying; a layer is cut to LAYER_MAX states, fullest first, so
 * beyond that width the search is a beam. */
#include "plan/internal.h"

#include <string.h>

enum { LAYER_MAX = 256 };

typedef struct State State;
struct State {
    Word *done;
    const State *before;
    Step step; /* that led here */
    uint32_t phases;
};

typedef VEC(State *) Layer;

static bool is_ready(const Planner *p, uint32_t anchor, const Word *done) {
    const Node *n = ir_node(p->f, p->anchors.data[anchor].val);
    for (uint32_t i = 0; i < n->num_args; i++)
        if (!bits_within(p->direct[n->args[i]], done, p->words)) return false;
    return true;
}

/* Reduces of node sets to `all` cost no traversal. */
static void finish_free(const Planner *p, Word *done) {
    for (bool more = true; more;) {
        more = false;
        for (uint32_t k = 0; k < p->anchors.len; k++) {
            if (bit_get(done, k) || !anchor_is_free(p->f, &p->anchors.data[k])) continue;
            if (!is_ready(p, k, done)) continue;
            bit_set(done, k);
            more = true;
        }
    }
}

/* A row's parts are merged in a tree, or it is one: scans of both kinds never share a kernel. */
static bool is_scan(const Planner *p, uint32_t k, bool tree) {
    const Node *n = ir_node(p->f, p->anchors.data[k].val);
    return p->anchors.data[k].map != MAP_NONE && n->op == OP_row_scan &&
           !(ir_scan_of(n).flags & SCAN_tree) == !tree;
}

static bool has_scan(const Planner *p, const Word *in, bool tree) {
    for (uint32_t k = 0; k < p->anchors.len; k++)
        if (bit_get(in, k) && is_scan(p, k, tree)) return true;
    return false;
}

/* The largest set of this order's anchors whose needs are done, or row-local inside the set; without
 * scans of the other kind. */
static Word *closure(Planner *p, const Order *o, const Word *done, bool tree) {
    Word *in = bits_new(p), *have = bits_new(p);
    for (uint32_t k = 0; k < p->anchors.len; k++)
        if (o->fit[k] == FIT_member && !bit_get(done, k) && !is_scan(p, k, !tree) &&
            bits_within(o->global[k], done, p->words))
            bit_set(in, k);
    for (bool more = true; more;) {
        more = false;
        memcpy(have, done, p->words * sizeof *have);
        bits_or(have, in, p->words);
        for (uint32_t k = 0; k < p->anchors.len; k++) {
            if (!bit_get(in, k) || bits_within(o->local[k], have, p->words)) continue;
            in[k / 64] &= ~((Word)1 << (k % 64));
            more = true;
        }
    }
    return in;
}

static uint32_t count_phases(Planner *p, const Order *o, const Word *in) {
    uint32_t *phase = ARENA_ARRAY(p->arena, uint32_t, p->anchors.len), most = 0;
    for (uint32_t k = 0; k < p->anchors.len; k++) { /* operands come first */
        if (!bit_get(in, k)) continue;
        for (uint32_t j = 0; j < p->anchors.len; j++)
            if (bit_get(in, j) && bit_get(o->local[k], j) && phase[k] < phase[j] + 1)
                phase[k] = phase[j] + 1;
        if (most < phase[k] + 1) most = phase[k] + 1;
    }
    return most;
}

static bool is_full(const Planner *p, const Word *done) {
    for (uint32_t k = 0; k < p->anchors.len; k++)
        if (!bit_get(done, k)) return false;
    return true;
}

/* Full states stay side by side: bytes decide between them. */
static void layer_add(Planner *p, Layer *layer, State *s) {
    uint32_t kept = 0;
    bool full = is_full(p, s->done);
    for (uint32_t i = 0; i < layer->len && !full; i++) {
        const State *t = layer->data[i];
        bool same = bits_within(t->done, s->done, p->words);
        if (bits_within(s->done, t->done, p->words) && (!same || t->phases <= s->phases)) return;
    }
    for (uint32_t i = 0; i < layer->len; i++)
        if (full || !bits_within(layer->data[i]->done, s->done, p->words))
            layer->data[kept++] = layer->data[i];
    layer->len = kept;
    *vec_push(p->arena, layer) = s;
}

static void expand(Planner *p, const State *s, Layer *next) {
    for (uint32_t i = 0; i < p->orders.len * (p->has_trees ? 2 : 1); i++) {
        uint32_t o = i % p->orders.len;
        bool tree = i >= p->orders.len;
        Word *in = closure(p, &p->orders.data[o], s->done, tree);
        if (bits_empty(in, p->words) || (tree && !has_scan(p, in, true))) continue;
        State *t = ARENA_NEW(p->arena, State);
        *t = (State){bits_new(p), s, {o, in}, s->phases + count_phases(p, &p->orders.data[o], in)};
        memcpy(t->done, s->done, p->words * sizeof *t->done);
        bits_or(t->done, in, p->words);
        finish_free(p, t->done);
        layer_add(p, next, t);
    }
}

static uint32_t count_done(const Planner *p, const State *s) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->words; i++) n += (uint32_t)__builtin_popcountll(s->done[i]);
    return n;
}

/* Keeps the fullest; stable, so the outcome is the same every time. */
static void layer_cut(const Planner *p, Layer *layer) {
    if (layer->len <= LAYER_MAX) return;
    for (uint32_t i = 1; i < layer->len; i++) {
        State *s = layer->data[i];
        uint32_t j = i;
        for (; j > 0 && count_done(p, layer->data[j - 1]) < count_done(p, s); j--)
            layer->data[j] = layer->data[j - 1];
        layer->data[j] = s;
    }
    layer->len = LAYER_MAX;
}

static Sequence unwind(Planner *p, const State *s) {
    uint32_t n = 0;
    for (const State *t = s; t->before; t = t->before) n++;
    Step *steps = ARENA_ARRAY(p->arena, Step, n);
    uint32_t k = n;
    for (const State *t = s; t->before; t = t->before) steps[--k] = t->step;
    return (Sequence){steps, n};
}

static uint32_t collect(Planner *p, const Layer *layer, Sequence *out, uint32_t max) {
    uint32_t phases = UINT32_MAX, n = 0;
    for (uint32_t i = 0; i < layer->len; i++)
        if (is_full(p, layer->data[i]->done) && layer->data[i]->phases < phases)
            phases = layer->data[i]->phases;
    for (uint32_t i = 0; i < layer->len && n < max; i++)
        if (is_full(p, layer->data[i]->done) && layer->data[i]->phases == phases)
            out[n++] = unwind(p, layer->data[i]);
    return n;
}

uint32_t search_run(Planner *p, Sequence *out, uint32_t max) {
    State start = {.done = bits_new(p)};
    Layer layer = {0};
    finish_free(p, start.done);
    *vec_push(p->arena, &layer) = &start;
    for (;;) {
        uint32_t n = collect(p, &layer, out, max);
        if (n) return n;
        Layer next = {0};
        for (uint32_t i = 0; i < layer.len; i++) expand(p, layer.data[i], &next);
        TIGA_ASSERT(next.len > 0); /* the first anchor not done has everything it needs */
        layer_cut(p, &next);
        layer = next;
    }
}
