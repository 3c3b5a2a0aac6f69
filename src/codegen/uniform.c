/* Values whose elements are all the same: constants, spread scalars, what a scan counts, and what follows of
 * those. In a kernel that scans they are worked out once an edge, not once a lane, and kept as one element.
 *
 * A scan's state is such where it starts so, where what it meets is so, and where the body makes it of nothing
 * else; that is assumed of all states and taken back of one after the other. */
#include "codegen/prim_llvm.h"

typedef LLVMValueRef V;

static bool is_same(const Emit *e, Val v) { return e->info[v].n == 1 || e->info[v].uniform; }

/* ---- analysis ---- */

static bool takes_same(const Emit *e, Val v) {
    const Node *n = ir_node(e->f, v);
    for (uint32_t k = 0; k < n->num_args; k++)
        if (!is_same(e, n->args[k])) return false;
    return true;
}

/* same: by value of the body, of what the xs and the states that are so make. */
static void follow_body(const Emit *e, Val scan, const uint8_t *state, uint8_t *same) {
    const Node *n = ir_node(e->f, scan);
    Scan s = ir_scan_of(n);
    for (uint32_t k = 0; k < n->num_args; k++)
        same[s.body->inputs.data[k].val] = k < s.num_states ? state[k] : is_same(e, n->args[k]);
    for (Val v = 1; v < ir_count(s.body); v++) {
        const Node *b = ir_node(s.body, v);
        if (b->op != OP_input) same[v] = 1;
        for (uint32_t k = 0; k < b->num_args; k++) same[v] &= same[b->args[k]];
    }
}

/* A part of a split row starts from its first edge's xs. */
static uint8_t *same_in_body(Emit *e, Val scan) {
    const Node *n = ir_node(e->f, scan);
    Scan s = ir_scan_of(n);
    uint8_t *state = ARENA_ARRAY(e->arena, uint8_t, s.num_states);
    uint8_t *same = ARENA_ARRAY(e->arena, uint8_t, ir_count(s.body));
    for (uint32_t k = 0; k < s.num_states; k++)
        state[k] = is_same(e, n->args[k]) &&
                   (!(s.flags & SCAN_tree) || is_same(e, n->args[s.num_states + k]));
    for (bool more = true; more;) {
        follow_body(e, scan, state, same);
        more = false;
        for (uint32_t k = 0; k < s.num_states; k++) {
            bool stays = state[k] && same[s.body->results.data[k].val];
            more |= state[k] && !stays;
            state[k] = stays;
        }
    }
    return same;
}

static bool is_uniform(const Emit *e, Val v) {
    const Node *n = ir_node(e->f, v);
    if (op_info[n->op].class == CLASS_elem || n->op == OP_cast || n->op == OP_bcast)
        return takes_same(e, v);
    if (n->op == OP_gather) return view_is_outer_gather(e, v) && takes_same(e, v);
    if (n->op != OP_result) return n->op == OP_constant;
    const uint8_t *same = e->info[n->args[0]].same;
    if (!same || e->info[v].viewed) return false;
    Scan s = ir_scan_of(ir_node(e->f, n->args[0]));
    return n->attr.index >= s.num_states && same[s.body->results.data[n->attr.index].val];
}

void uniform_find(Emit *e) {
    bool scans = false;
    for (Val v = 1; v < ir_count(e->f); v++)
        scans |= e->info[v].live && ir_op(e->f, v) == OP_row_scan;
    for (Val v = 1; scans && v < ir_count(e->f); v++) {
        Info *i = &e->info[v];
        if (!i->live || i->n <= 1) continue;
        if (ir_op(e->f, v) == OP_row_scan) i->same = same_in_body(e, v);
        else i->uniform = is_uniform(e, v);
    }
}

/* ---- values ---- */

V uniform_eval(Emit *e, Val v) {
    const Node *n = ir_node(e->f, v);
    Dtype d = (Dtype)n->types->dtype;
    int cell = e->info[v].cell;
    if (e->info[v].n == 1) return emit_eval(e, v, emit_scalar_block(e));
    V known = memo_get(e, v, KEY_uniform), value;
    if (known) return known;
    if (cell != NO_CELL) value = cell_load(e, cell, emit_scalar_block(e));
    else if (n->op == OP_constant) value = emit_const(e, d, n->attr.bits, 1);
    else if (n->op == OP_bcast || n->op == OP_gather) value = uniform_eval(e, n->args[0]);
    else if (n->op == OP_cast)
        value = elem_cast(e, uniform_eval(e, n->args[0]), (Dtype)ir_type(e->f, n->args[0])->dtype,
                          d, 1);
    else {
        V *args = ARENA_ARRAY(e->arena, V, n->num_args);
        for (uint32_t k = 0; k < n->num_args; k++) args[k] = uniform_eval(e, n->args[k]);
        value = elem_apply(e, n, args);
    }
    return memo_put(e, v, KEY_uniform, value);
}
