/* From a sequence of orders to kernels that hold anchors.
 *
 * A reduce of a node set to `all` joins the first traversal with those rows in which its operand is
 * known; where a traversal needs it earlier, or none fits, it gets a kernel over its rows alone. */
#include "plan/internal.h"

#include <string.h>

static void add_core(Planner *p, Map map, Set rows, Word *members, Word *placed) {
    for (uint32_t k = 0; k < p->anchors.len; k++)
        if (bit_get(members, k)) p->core_of[k] = (int32_t)p->cores.len;
    bits_or(placed, members, p->words);
    *vec_push(p->arena, &p->cores) = (Core){map, rows, members};
}

static void direct_of(const Planner *p, uint32_t anchor, Word *into) {
    const Node *n = ir_node(p->f, p->anchors.data[anchor].val);
    for (uint32_t i = 0; i < n->num_args; i++) bits_or(into, p->direct[n->args[i]], p->words);
}

/* Kernels over rows alone for the free anchors in `want` and those that they need, in rounds. */
static void place_free(Planner *p, const Word *want, Word *placed) {
    Word *todo = bits_new(p);
    memcpy(todo, want, p->words * sizeof *todo);
    for (uint32_t k = p->anchors.len; k-- > 0;) /* operands come first, so this order reaches all */
        if (bit_get(todo, k) && !bit_get(placed, k)) direct_of(p, k, todo);
    while (!bits_within(todo, placed, p->words)) {
        Word *before = bits_new(p);
        memcpy(before, placed, p->words * sizeof *before);
        for (Set s = 1; s < p->f->sets.len; s++) {
            Word *in = bits_new(p);
            for (uint32_t k = 0; k < p->anchors.len; k++) {
                if (!bit_get(todo, k) || bit_get(before, k) || p->anchors.data[k].from != s)
                    continue;
                Word *needs = bits_new(p);
                direct_of(p, k, needs);
                if (bits_within(needs, before, p->words)) bit_set(in, k);
            }
            if (!bits_empty(in, p->words)) add_core(p, MAP_NONE, s, in, placed);
        }
    }
}

static void place_step(Planner *p, const Step *step, Word *placed) {
    const Order *o = &p->orders.data[step->order];
    Word *want = bits_new(p), *in = bits_new(p), *have = bits_new(p);
    for (uint32_t k = 0; k < p->anchors.len; k++) {
        if (!bit_get(step->members, k)) continue;
        bits_or(want, o->global[k], p->words);
        bits_or(want, o->local[k], p->words);
    }
    for (uint32_t i = 0; i < p->words; i++) want[i] &= ~step->members[i];
    place_free(p, want, placed);
    memcpy(in, step->members, p->words * sizeof *in);
    memcpy(have, placed, p->words * sizeof *have);
    bits_or(have, in, p->words);
    for (uint32_t k = 0; k < p->anchors.len; k++)
        if (o->fit[k] == FIT_guest && !bit_get(placed, k) &&
            bits_within(o->global[k], placed, p->words) && bits_within(o->local[k], have, p->words))
            bit_set(in, k);
    add_core(p, o->map, o->rows, in, placed);
}

void cores_run(Planner *p, const Sequence *q) {
    Word *placed = bits_new(p), *all = bits_new(p);
    p->cores.len = 0;
    for (uint32_t k = 0; k < q->num_steps; k++) place_step(p, &q->steps[k], placed);
    for (uint32_t k = 0; k < p->anchors.len; k++) bit_set(all, k);
    place_free(p, all, placed);
}
