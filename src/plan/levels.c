/* Where and when each value of a body is computed: one pass in order of definition. */
#include "plan/internal.h"

typedef struct {
    Kernel *k;
    Place *place;
    Set edges; /* SET_ALL where the kernel has none */
} Levels;

/* A row's anchor is accumulated in a phase and known at the row from the next one on. */
static uint16_t known_from(const Levels *l, Val v) {
    Op op = ir_op(l->k->body, v);
    bool swept = op_is_reduction(op) && l->place[v].level == LEVEL_edge;
    return (uint16_t)(l->place[v].phase + swept);
}

static Place place_on_all(const Levels *l, Val v) {
    const Node *n = ir_node(l->k->body, v);
    for (uint32_t k = 0; k < n->num_args; k++)
        if (l->place[n->args[k]].level != LEVEL_once) return (Place){LEVEL_last, 0};
    return (Place){LEVEL_once, 0};
}

static Place place_gathered(const Levels *l, Val v) {
    const Node *n = ir_node(l->k->body, v);
    Level level = ir_type(l->k->body, v)->set == l->edges ? LEVEL_edge : LEVEL_row;
    bool own = !map_is_all(n->attr.map) && n->attr.map == l->k->map;
    return (Place){(uint8_t)level, own ? known_from(l, n->args[0]) : 0};
}

static Place place_value(const Levels *l, Val v) {
    const Fn *f = l->k->body;
    const Node *n = ir_node(f, v);
    bool anchor = op_is_reduction((Op)n->op); /* it is where its operands are */
    Set set = anchor ? ir_type(f, n->args[0])->set : n->types[0].set;
    if (set == SET_ALL) return place_on_all(l, v);
    if (n->op == OP_gather) return place_gathered(l, v);
    Level level = set == l->edges ? LEVEL_edge : LEVEL_row;
    uint16_t phase = 0;
    for (uint32_t k = 0; k < n->num_args; k++) {
        uint16_t known =
            level == LEVEL_row ? known_from(l, n->args[k]) : l->place[n->args[k]].phase;
        if (phase < known) phase = known;
    }
    return (Place){(uint8_t)level, phase};
}

static bool is_swept(const Levels *l, Val v) {
    if (l->place[v].level != LEVEL_edge) return false;
    if (op_is_reduction(ir_op(l->k->body, v))) return true;
    for (uint32_t k = 0; k < l->k->body->results.len; k++)
        if (l->k->body->results.data[k].val == v) return true;
    return false;
}

void levels_run(Arena *a, Kernel *k) {
    uint32_t n = ir_count(k->body);
    Set edges = k->map == MAP_NONE ? SET_ALL : map_from(k->body, k->map);
    Levels l = {k, ARENA_ARRAY(a, Place, n), edges};
    for (Val v = 1; v < n; v++) {
        l.place[v] = place_value(&l, v);
        if (is_swept(&l, v) && k->num_phases <= l.place[v].phase)
            k->num_phases = l.place[v].phase + 1u;
        Op op = ir_op(k->body, v);
        k->has_slots |= op_is_reduction(op) && ir_type(k->body, v)->set == SET_ALL;
    }
    k->place = l.place;
}
