/* How a kernel's inner loops run, by shape alone.
 *
 *   edge-lanes     a vector holds one feature of 16 edges (or rows, where there are no edges)
 *   feature-lanes  a vector holds features of one edge
 *   edge-tiles     the same, and sums of outer products take a group of edges at a time
 *   narrow         the same where no value is wide enough: one element at a time */
#include "plan/internal.h"

#include "base/debug.h"
#include "ir/type.h"

#include <string.h>

enum {
    MIN_LANES = 4,     /* features that fill a vector well enough */
    FEW_FEATURES = 8,  /* of a value that edge lanes hold: each is code of its own */
    FEW_VECTORS = 256, /* of a phase's values together */
    MOST_VECTORS = 768 /* of all phases' */
};

static const char *const names[NUM_SCHEDULES] = {"narrow", "feature-lanes", "edge-lanes",
                                                 "edge-tiles"};

const char *plan_schedule(const Kernel *k) { return names[k->schedule]; }

const char *plan_schedule_why(const Kernel *k) {
    static const char *const why[NUM_SCHEDULES] = {
        "no value has features enough for a vector",
        "a value has features enough for vectors of one element's",
        "values have few features, so a vector holds one of 16 elements",
        "outer products are summed over edges, in tiles of the sum"};
    return debug_has("SCHEDULE", names[k->schedule]) ? "asked for" : why[k->schedule];
}

/* ---- what edge lanes can hold ---- */

static Level lane_level(const Kernel *k) { return k->map == MAP_NONE ? LEVEL_row : LEVEL_edge; }

static bool is_from_other_end(const Kernel *k, const Node *n) {
    return n->op == OP_gather && !map_is_all(n->attr.map) && n->attr.map != k->map;
}

/* Values that lanes compute: those of edges, and what they take from a row that no sweep makes. */
static void mark_lanes(const Kernel *k, uint8_t *in_lanes) {
    const Fn *f = k->body;
    for (Val v = ir_count(f) - 1; v > 0; v--) {
        const Node *n = ir_node(f, v);
        bool anchor = op_is_reduction((Op)n->op);
        in_lanes[v] |= !anchor && k->place[v].level == lane_level(k);
        bool open = in_lanes[v] && !anchor && !is_from_other_end(k, n);
        for (uint32_t i = 0; open && i < n->num_args; i++)
            in_lanes[n->args[i]] |= k->place[n->args[i]].level == LEVEL_row;
    }
}

static bool has_no_lanes(Op op) { return op == OP_row_scan || op == OP_take || op == OP_put; }

/* The most elements of a value in lanes; INT64_MAX where lanes cannot hold them. */
static int64_t lanes_width(Arena *a, const Kernel *k) {
    const Fn *f = k->body;
    uint8_t *in_lanes = ARENA_ARRAY(a, uint8_t, ir_count(f));
    int64_t most = 0, sum = 0, *of_phase = ARENA_ARRAY(a, int64_t, k->num_phases + 1);
    mark_lanes(k, in_lanes);
    for (Val v = 1; v < ir_count(f); v++) {
        bool of_rows = k->map == MAP_NONE && op_is_reduction(ir_op(f, v));
        if (of_rows || has_no_lanes(ir_op(f, v))) return INT64_MAX;
        if (!in_lanes[v] || op_is_reduction(ir_op(f, v))) continue;
        int64_t n = type_numel(ir_type(f, v));
        if (n < 0 || n > FEW_FEATURES) return INT64_MAX;
        if (n > most) most = n;
        sum += n;
        if ((of_phase[k->place[v].phase] += n) > FEW_VECTORS) return INT64_MAX;
    }
    return sum > MOST_VECTORS ? INT64_MAX : most;
}

static bool is_wide(const Kernel *k) {
    for (Val v = 1; v < ir_count(k->body); v++) {
        const Type *t = ir_type(k->body, v);
        if (type_numel(t) >= MIN_LANES && (t->set != SET_ALL || plan_is_dense(k))) return true;
    }
    return false;
}

static bool is_outer(const Fn *f, Val v) {
    if (ir_op(f, v) != OP_matmul) return false;
    const Type *a = ir_type(f, ir_arg(f, v, 0));
    return a->dim[a->rank - 1] == 1;
}

static bool sums_outer(const Kernel *k) {
    for (Val v = 1; v < ir_count(k->body); v++)
        if (ir_op(k->body, v) == OP_reduce && k->place[v].level == LEVEL_edge &&
            !plan_is_staged(k, v) && is_outer(k->body, ir_arg(k->body, v, 0)))
            return true;
    return false;
}

bool plan_can(const Kernel *k, Schedule s) {
    if (s == SCHEDULE_edge_tiles) return is_wide(k) && sums_outer(k);
    if (s != SCHEDULE_edge_lanes)
        return s == (is_wide(k) ? SCHEDULE_feature_lanes : SCHEDULE_narrow);
    Arena *scratch = arena_new();
    bool can = k->rows != SET_ALL && lanes_width(scratch, k) <= FEW_FEATURES;
    arena_free(scratch);
    return can;
}

/* ---- the choice ---- */

static Schedule best(Arena *a, const Kernel *k) {
    if (k->rows != SET_ALL && lanes_width(a, k) <= MIN_LANES) return SCHEDULE_edge_lanes;
    if (plan_can(k, SCHEDULE_edge_tiles)) return SCHEDULE_edge_tiles;
    return is_wide(k) ? SCHEDULE_feature_lanes : SCHEDULE_narrow;
}

void schedule_run(Arena *a, Kernel *k) {
    k->schedule = best(a, k);
    for (int s = 0; s < NUM_SCHEDULES; s++)
        if (debug_has("SCHEDULE", names[s]) && plan_can(k, (Schedule)s)) k->schedule = (Schedule)s;
}
