/* Drops what no result needs, folds constants and identities that hold bit for bit.
 *
 * A requirement on every rule here: for all values, NaN, infinities and both zeros among them, each
 * bit stays (of NaN, that it is one). So x + 0 stays (-0 + 0 is +0) while x + -0 and x - 0 go; x * 0
 * and x - x stay. Needs nothing, breaks nothing; inputs stay, in their order, needed or not. */
#include "opt/opt.h"

#include "ir/type.h"
#include "opt/fold.h"
#include "opt/rewrite.h"

#include <string.h>

typedef const Rewrite *Ctx;

static const Type *out_type(Ctx r) { return r->node->types; }
static Op arg_op(Ctx r, uint32_t k) { return ir_op(r->f, r->args[k]); }
/* Operand k of operand 0. */
static Val inner(Ctx r, uint32_t k) { return ir_arg(r->f, r->args[0], k); }
static const int64_t *inner_ints(Ctx r) { return ir_node(r->f, r->args[0])->attr.ints; }
static bool is_const(Ctx r, uint32_t k, double value) {
    return ir_is_const(r->f, r->args[k], value);
}

/* ---- elementwise: the new value, or 0 to leave the operation as it is ---- */

/* Leaves out every operand that is the constant `neutral`. */
static Val drop_neutral(Ctx r, double neutral) {
    Val kept_small[16], *kept = kept_small;
    uint32_t n = r->node->num_args, num_kept = 0;
    if (n > 16) kept = ARENA_ARRAY(r->f->arena, Val, n);
    for (uint32_t k = 0; k < n; k++)
        if (!is_const(r, k, neutral)) kept[num_kept++] = r->args[k];
    if (num_kept == n) return 0;
    if (num_kept == 0) return r->args[0];
    return rewrite_nary(r->f, (Op)r->node->op, kept, num_kept);
}

static Val fold(Ctx r) {
    if (r->node->num_args != (uint32_t)op_info[r->node->op].arity) return 0;
    return fold_elem(r->f, (Op)r->node->op, r->args, out_type(r));
}

static Val clean_add(Ctx r) {
    Val v = fold(r);
    return v ? v : drop_neutral(r, dtype_is_float((Dtype)out_type(r)->dtype) ? -0.0 : 0);
}

static Val clean_mul(Ctx r) {
    Val v = fold(r);
    return v ? v : drop_neutral(r, 1);
}

static Val clean_sub(Ctx r) { return is_const(r, 1, 0) ? r->args[0] : fold(r); }
static Val clean_div(Ctx r) { return is_const(r, 1, 1) ? r->args[0] : fold(r); }

/* neg neg x, not not x */
static Val clean_involution(Ctx r) { return arg_op(r, 0) == r->node->op ? inner(r, 0) : fold(r); }

static Val clean_same(Ctx r) { return r->args[0] == r->args[1] ? r->args[0] : fold(r); }

static Val clean_logic(Ctx r) {
    bool is_and = r->node->op == OP_and, is_mask = out_type(r)->dtype == DT_bool;
    for (uint32_t k = 0; is_mask && k < 2; k++) {
        if (is_const(r, k, is_and)) return r->args[1 - k];
        if (is_const(r, k, !is_and)) return r->args[k];
    }
    return clean_same(r);
}

static Val clean_where(Ctx r) {
    if (r->args[1] == r->args[2]) return r->args[1];
    if (arg_op(r, 0) == OP_constant) return r->args[is_const(r, 0, 1) ? 1 : 2];
    return arg_op(r, 0) == OP_not ? ir_where(r->f, inner(r, 0), r->args[2], r->args[1]) : 0;
}

/* ---- features ---- */

static bool is_lossless(Dtype from, Dtype to) {
    if (from == to || from == DT_bool) return true;
    return (to == DT_f64 && from != DT_i64) || (to == DT_i64 && from == DT_i32) ||
           (to == DT_f32 && dtype_is_half(from));
}

/* A cast of a cast that lost nothing is one cast. */
static Val clean_cast(Ctx r) {
    Val v = r->args[0];
    if (arg_op(r, 0) == OP_constant) return fold_cast(r->f, v, out_type(r));
    if (arg_op(r, 0) == OP_cast) {
        Dtype first = (Dtype)ir_type(r->f, inner(r, 0))->dtype;
        if (is_lossless(first, (Dtype)ir_type(r->f, v)->dtype)) v = inner(r, 0);
    }
    return ir_cast(r->f, v, (Dtype)out_type(r)->dtype);
}

static Val clean_splat(Ctx r) {
    return arg_op(r, 0) == OP_constant ? fold_splat(r->f, r->args[0], out_type(r)) : 0;
}

static Val clean_bcast(Ctx r) {
    Val v = arg_op(r, 0) == OP_bcast ? inner(r, 0) : r->args[0], splat = clean_splat(r);
    return splat ? splat : ir_bcast(r->f, v, out_type(r)->dim, out_type(r)->rank);
}

static Val clean_reshape(Ctx r) {
    Val v = arg_op(r, 0) == OP_reshape ? inner(r, 0) : r->args[0], splat = clean_splat(r);
    return splat ? splat : ir_reshape(r->f, v, out_type(r)->dim, out_type(r)->rank);
}

static Val clean_transpose(Ctx r) {
    Val splat = clean_splat(r);
    if (splat || arg_op(r, 0) != OP_transpose)
        return splat ? splat : ir_transpose(r->f, r->args[0], r->node->attr.ints);
    int64_t axes[MAX_RANK];
    for (int k = 0; k < out_type(r)->rank; k++) axes[k] = inner_ints(r)[r->node->attr.ints[k]];
    return ir_transpose(r->f, inner(r, 0), axes);
}

static Val clean_slice(Ctx r) {
    Val splat = clean_splat(r);
    return splat ? splat : ir_slice(r->f, r->args[0], r->node->attr.ints);
}

static Val clean_zeros(Ctx r) { return is_const(r, 0, 0) ? clean_splat(r) : 0; }

static Val clean_pad(Ctx r) {
    Val zeros = clean_zeros(r);
    return zeros ? zeros : ir_pad(r->f, r->args[0], r->node->attr.ints);
}

static Val clean_concat(Ctx r) { return r->node->num_args == 1 ? r->args[0] : 0; }

/* ---- along maps ---- */

static Val clean_gather(Ctx r) { return ir_gather(r->f, r->args[0], r->node->attr.map); }

/* Of zeros too the sum is +0, wherever it starts. An integer's sum is wider than its terms. */
static Val clean_sum(Ctx r) { return is_const(r, 0, 0) ? ir_const(r->f, *out_type(r), 0) : 0; }

static Val clean_row_scan(Ctx r) { return rewrite_body(r, opt_clean); }

/* The results of the old program's scan that something asks for. */
static uint8_t *asked_of(Ctx r, Val scan) {
    Arena *a = r->f->arena;
    uint8_t *live = ir_live(a, r->from);
    uint8_t *asked = ARENA_ARRAY(a, uint8_t, ir_node(r->from, scan)->num_results);
    for (Val v = scan + 1; v < ir_count(r->from); v++) {
        const Node *n = ir_node(r->from, v);
        if (live[v] && n->op == OP_result && n->args[0] == scan) asked[n->attr.index] = 1;
    }
    return asked;
}

/* By value of the body: what those of its results depend on. */
static uint8_t *needed_for(Arena *a, const Fn *body, const uint8_t *asked) {
    uint8_t *need = ARENA_ARRAY(a, uint8_t, ir_count(body));
    for (uint32_t k = 0; k < body->results.len; k++) need[body->results.data[k].val] |= asked[k];
    for (Val v = ir_count(body) - 1; v > 0; v--)
        for (uint32_t k = 0; need[v] && k < ir_node(body, v)->num_args; k++)
            need[ir_arg(body, v, k)] = 1;
    return need;
}

/* Adds the states that what is asked for depends on, of any edge; of a tree, of the part that is merged. */
static void ask_states(Arena *a, const Scan *s, uint8_t *asked) {
    for (bool more = true; more;) {
        const uint8_t *live = needed_for(a, s->body, asked);
        more = false;
        uint32_t num = s->num_states * (s->flags & SCAN_tree ? 2 : 1);
        for (uint32_t k = 0; k < num; k++) {
            uint8_t *state = &asked[k % s->num_states];
            more |= live[s->body->inputs.data[k].val] && !*state;
            *state |= live[s->body->inputs.data[k].val];
        }
    }
}

/* The scan without the rest. A scan has a state. The body's inputs get the names that they have in the end: by
 * them sums are sorted, and shall not be again. */
static Val scan_asked(Fn *f, Val scan, const uint8_t *asked) {
    const Fn *body = ir_scan_of(ir_node(f, scan)).body;
    Scan s = ir_scan_of(ir_node(f, scan));
    Fn *b = ir_new(arena_new(), "body");
    Val *memo = ARENA_ARRAY(b->arena, Val, ir_count(body));
    Val *operands = ARENA_ARRAY(b->arena, Val, body->inputs.len);
    const uint8_t *need = needed_for(b->arena, body, asked);
    uint32_t num[2] = {0, 0};
    for (uint32_t k = 0; k < body->inputs.len; k++) {
        const Binding *in = &body->inputs.data[k];
        bool state = k < s.num_states, paired = state || s.flags & SCAN_tree;
        if (paired ? !asked[k % s.num_states] : !need[in->val]) continue;
        const char *name = arena_printf(b->arena, "arg%u", num[0] + num[1]);
        memo[in->val] = ir_input(b, name, *ir_type(body, in->val));
        operands[num[0] + num[1]] = ir_arg(f, scan, k);
        num[!state]++;
    }
    for (uint32_t k = 0; k < body->results.len; k++)
        if (asked[k])
            ir_add_result(b, body->results.data[k].name,
                          rewrite_into(b, body, body->results.data[k].val, memo));
    s = (Scan){s.map, s.flags, num[0], num[1], b};
    Val v = ir_row_scan(f, &s, operands);
    ir_free(b);
    return v;
}

/* Of a scan: each result asks for the same smaller scan, since equal ones are one. */
static Val clean_result(Ctx r) {
    if (arg_op(r, 0) != OP_row_scan) return 0;
    Scan s = ir_scan_of(ir_node(r->f, r->args[0]));
    uint8_t *asked = asked_of(r, r->node->args[0]);
    uint32_t place = 0, index = r->node->attr.index;
    ask_states(r->f->arena, &s, asked);
    if (!memchr(asked, 1, s.num_states)) {
        asked[0] = 1;
        ask_states(r->f->arena, &s, asked);
    }
    for (uint32_t k = 0; k < index; k++) place += asked[k];
    return ir_part(r->f, scan_asked(r->f, r->args[0], asked), place);
}

/* Their types say that it is one set. */
static Val clean_enter(Ctx r) { return arg_op(r, 0) == OP_leave ? inner(r, 0) : clean_splat(r); }

static Val clean_leave(Ctx r) { return arg_op(r, 0) == OP_enter ? inner(r, 0) : clean_splat(r); }

static Val (*const rules[NUM_OPS])(Ctx r) = {
    [OP_add] = clean_add,
    [OP_mul] = clean_mul,
    [OP_sub] = clean_sub,
    [OP_div] = clean_div,
    [OP_neg] = clean_involution,
    [OP_not] = clean_involution,
    [OP_max] = clean_same,
    [OP_min] = clean_same,
    [OP_and] = clean_logic,
    [OP_or] = clean_logic,
    [OP_xor] = fold,
    [OP_lt] = fold,
    [OP_le] = fold,
    [OP_eq] = fold,
    [OP_ne] = fold,
    [OP_where] = clean_where,
    [OP_cast] = clean_cast,
    [OP_bcast] = clean_bcast,
    [OP_reshape] = clean_reshape,
    [OP_transpose] = clean_transpose,
    [OP_slice] = clean_slice,
    [OP_pad] = clean_pad,
    [OP_concat] = clean_concat,
    [OP_fsum] = clean_sum,
    [OP_gather] = clean_gather,
    [OP_reduce] = clean_sum,
    [OP_row_scan] = clean_row_scan,
    [OP_result] = clean_result,
    [OP_enter] = clean_enter,
    [OP_leave] = clean_leave,
};

static Val clean_rule(Ctx r) {
    Val v = rules[r->node->op] ? rules[r->node->op](r) : 0;
    return v ? v : rewrite_same(r);
}

Fn *opt_clean(Arena *takes, const Fn *f) { return rewrite_run(takes, f, clean_rule); }
