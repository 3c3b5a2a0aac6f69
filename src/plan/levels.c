/* Where and when each value of a body is computed: one pass in order of definition. */
#include "plan/internal.h"

typedef struct {
    Kernel *k;
    Place *place;
    Set edges; /* SET_ALL where the kernel has none */
    uint8_t *
        turn; /* by phase: swept from the last edge to the first (2), the other way (1), or either */
} Levels;

/* A row's anchor is accumulated in a phase and known at the row from the next one on. */
static uint16_t known_from(const Levels *l, Val v) {
    Op op = ir_op(l->k->body, v);
    bool swept = op_is_reduction(op) && l->place[v].level == LEVEL_edge;
    return (uint16_t)(l->place[v].phase + swept);
}

/* Of a kernel along a map to `all` the row is there once its scans are, and the rest of it at the end. */
static Place place_on_all(const Levels *l, Val v) {
    const Node *n = ir_node(l->k->body, v);
    Place p = {LEVEL_once, 0};
    for (uint32_t k = 0; k < n->num_args; k++) {
        Val x = n->args[k];
        Op op = ir_op(l->k->body, x);
        bool slot = op_is_reduction(op) && op != OP_row_scan;
        if (l->place[x].level == LEVEL_once) continue;
        if (slot || l->place[x].level == LEVEL_last) return (Place){LEVEL_last, 0};
        p.level = LEVEL_row;
        if (p.phase < known_from(l, x)) p.phase = known_from(l, x);
    }
    return p;
}

static Place place_gathered(const Levels *l, Val v) {
    const Node *n = ir_node(l->k->body, v);
    Level level = ir_type(l->k->body, v)->set == l->edges ? LEVEL_edge : LEVEL_row;
    bool own = n->attr.map == l->k->map;
    return (Place){(uint8_t)level, own ? known_from(l, n->args[0]) : 0};
}

/* Scans of one direction share a phase; the other one is in the next. */
static uint16_t find_turn(const Levels *l, const Node *n, uint16_t phase) {
    uint8_t turn = ir_scan_of(n).flags & SCAN_reverse ? 2 : 1;
    while (l->turn[phase] && l->turn[phase] != turn) phase++;
    l->turn[phase] = turn;
    return phase;
}

static Place place_value(const Levels *l, Val v) {
    const Fn *f = l->k->body;
    const Node *n = ir_node(f, v);
    bool anchor = op_is_reduction((Op)n->op); /* it is where its operands are */
    Set set = anchor ? map_from(f, n->attr.map) : n->types[0].set;
    if (set == SET_ALL) return place_on_all(l, v);
    if (n->op == OP_gather) return place_gathered(l, v);
    Level level = set == l->edges ? LEVEL_edge : LEVEL_row;
    uint16_t phase = 0;
    for (uint32_t k = 0; k < n->num_args; k++) {
        bool at_row = level == LEVEL_row || anchor;
        uint16_t known = at_row ? known_from(l, n->args[k]) : l->place[n->args[k]].phase;
        if (phase < known) phase = known;
    }
    if (n->op == OP_row_scan) phase = find_turn(l, n, phase);
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
    Levels l = {k, ARENA_ARRAY(a, Place, n), edges, ARENA_ARRAY(a, uint8_t, n + 1u)};
    for (Val v = 1; v < n; v++) {
        l.place[v] = place_value(&l, v);
        if (is_swept(&l, v) && k->num_phases <= l.place[v].phase)
            k->num_phases = l.place[v].phase + 1u;
        Op op = ir_op(k->body, v);
        k->has_slots |=
            op_is_reduction(op) && op != OP_row_scan && ir_type(k->body, v)->set == SET_ALL;
        k->whole_rows |= op == OP_row_scan && !(ir_scan_of(ir_node(k->body, v)).flags & SCAN_tree);
    }
    k->place = l.place;
}
