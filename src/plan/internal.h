/* What the planner's files share.
 *
 * An anchor is a reduction (reduce, rmax, softmax, row_scan), or a value on an edge set that is stored: a
 * result, or what a reduction takes of another order's scan.
 * Orders are the ways to sweep an edge set. Sets of anchors are bit sets of `words` words. */
#ifndef TIGA_PLAN_INTERNAL_H
#define TIGA_PLAN_INTERNAL_H

#include "ir/type.h"
#include "plan/plan.h"

typedef uint64_t Word;
enum { NO_ORDER = INT32_MAX };

typedef struct {
    Val val;     /* the operation, or the value stored */
    Map map;     /* whose order it runs in; MAP_NONE: a store */
    Set from;    /* where its operands live */
    bool staged; /* a sum to the other end of map (plan.h) */
} Anchor;

typedef enum {
    FIT_no,
    FIT_member, /* its edges are swept in this order */
    FIT_guest   /* a reduce of the order's rows to `all`: costs nothing there, nor elsewhere */
} Fit;

typedef struct {
    Map map; /* MAP_NONE: the edges alone, without their ends */
    Set edges, rows;
    uint8_t *fit;           /* Fit, by anchor */
    Word **local, **global; /* by anchor: what must run in the same traversal or earlier; earlier */
} Order;

/* A kernel that holds anchors; kernels of node work alone come later, between these. */
typedef struct {
    Map map;
    Set rows;
    Word *members;
} Core;

typedef struct {
    uint32_t order;
    const Word *members; /* without guests */
} Step;

typedef struct {
    const Fn *f;
    Arena *arena; /* scratch, for everything here */
    const uint8_t *live;
    VEC(Anchor) anchors;
    uint32_t words;
    int32_t *anchor_of; /* by value: the anchor that gives it, or -1 */
    Map *order_of;      /* by value: on whose scans' way it is; MAP_NONE, NO_ORDER: several */
    Word **direct;      /* by value: the anchors met first on the way up */
    VEC(Order) orders;
    VEC(Core) cores;
    int32_t *core_of; /* by anchor */
    bool has_trees;   /* among the scans */
} Planner;

static inline bool bit_get(const Word *b, uint32_t k) { return b[k / 64] >> (k % 64) & 1; }
static inline void bit_set(Word *b, uint32_t k) { b[k / 64] |= (Word)1 << (k % 64); }
static inline void bits_or(Word *into, const Word *b, uint32_t words) {
    for (uint32_t i = 0; i < words; i++) into[i] |= b[i];
}
static inline bool bits_within(const Word *a, const Word *b,
                               uint32_t words) { /* a is a subset of b */
    for (uint32_t i = 0; i < words; i++)
        if (a[i] & ~b[i]) return false;
    return true;
}
static inline bool bits_empty(const Word *b, uint32_t words) {
    for (uint32_t i = 0; i < words; i++)
        if (b[i]) return false;
    return true;
}
static inline Word *bits_new(Planner *p) { return ARENA_ARRAY(p->arena, Word, p->words); }

/* A reduce to `all` from a node set: it needs no traversal. */
static inline bool anchor_is_free(const Fn *f, const Anchor *a) {
    return a->map != MAP_NONE && map_is_all(a->map) && !set_is_edges(f, a->from) &&
           ir_op(f, a->val) != OP_row_scan;
}

static inline bool is_leaf(Op op) {
    return op == OP_input || op == OP_constant || op == OP_degree || op == OP_enter;
}

/* Work on `all` that is done once, in a kernel of its own. */
enum { SMALL_NUMEL = 4096 };
static inline bool is_large(const Fn *f, Val v) {
    if (is_leaf(ir_op(f, v)) || ir_type(f, v)->set != SET_ALL) return false;
    return ir_op(f, v) == OP_matmul || type_numel(ir_type(f, v)) > SMALL_NUMEL;
}

/* What a result is in memory: leave is a view. */
static inline Val result_target(const Fn *f, Val v) {
    return ir_op(f, v) == OP_leave ? ir_arg(f, v, 0) : v;
}

/* deps.c: anchors, orders and who needs whom. */
Planner *planner_new(Arena *scratch, const Fn *f);

/* search.c: sequences of orders with the fewest traversals, then phases; at most max of them. */
typedef struct {
    const Step *steps;
    uint32_t num_steps;
} Sequence;
uint32_t search_run(Planner *p, Sequence *out, uint32_t max);
/* cores.c: the kernels of a sequence, with free reduces joined or in kernels of their own. */
void cores_run(Planner *p, const Sequence *q);

/* buffers.c: which kernel computes what, and which node values are stored between kernels. */
typedef struct {
    Val val;
    const char *name; /* of the program's result; NULL: a buffer */
} Store;

typedef struct {
    int time; /* 2k: core k; 2k + 1: after it; -1: in front */
    Map map;
    Set rows;
    const Word *members; /* NULL: node work alone */
    VEC(Store) stores;
    uint8_t *need; /* Need, by value */
} Draft;

typedef enum {
    NEED_no,
    NEED_compute,
    NEED_buffer /* taken from an earlier kernel */
} Need;

typedef struct {
    VEC(Draft *) list; /* in order of execution */
} Drafts;
Drafts *drafts_run(Planner *p);
/* A gather whose operand is read from memory, at the edge's other end. */
bool draft_fetches(const Planner *p, const Draft *d, Val v);

/* facts.c: "degree.r.src", "size.V", and back (MAP_NONE: not such a name). */
const char *fact_name(Arena *a, const Fn *f, Map m);
Map fact_map(Arena *scratch, const Fn *f, const char *name);

/* body.c: the drafts' functions and places. */
void bodies_run(Plan *plan, const Planner *p, const Drafts *d);
/* levels.c: places of a body's values; sets place, num_phases, has_slots. */
void levels_run(Arena *a, Kernel *k);
/* schedule.c: Kernel.schedule, once the levels are known. a is scratch. */
void schedule_run(Arena *a, Kernel *k);

#endif
