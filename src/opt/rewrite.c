/* The loop of the passes. Values come out in the order in which the results reach them, so their
 * numbers say nothing about how the old program was made (C compilers order calls as they like). */
#include "opt/rewrite.h"

#include "ir/type.h"

/* The builder sorts operands by structure. Where rewriting changed the order, the sum is spelled out
 * as a chain; integers wrap and two operands commute, so order is nothing to them. */
static bool keeps_order(const Fn *f, const Val *args, uint32_t n) {
    if (n == 2 || !dtype_is_float((Dtype)ir_type(f, args[0])->dtype)) return true;
    for (uint32_t k = 1; k < n; k++)
        if (ir_node(f, args[k - 1])->hash > ir_node(f, args[k])->hash) return false;
    return true;
}

Val rewrite_nary(Fn *f, Op op, const Val *args, uint32_t n) {
    if (n == 1) return args[0];
    if (keeps_order(f, args, n)) return ir_emit(f, op, args, n, NULL);
    Val v = args[0];
    for (uint32_t k = 1; k < n; k++) v = ir_emit(f, op, (Val[]){v, args[k]}, 2, NULL);
    return v;
}

Val rewrite_same(const Rewrite *r) {
    const Node *n = r->node;
    if (op_info[n->op].traits & NARY) return rewrite_nary(r->f, (Op)n->op, r->args, n->num_args);
    return ir_emit(r->f, (Op)n->op, r->args, n->num_args, &n->attr);
}

Val rewrite_body(const Rewrite *r, Fn *(*pass)(Arena *takes, const Fn *f)) {
    Scan s = ir_scan_of(r->node);
    s.body = pass(arena_new(), s.body);
    Val v = ir_row_scan(r->f, &s, r->args);
    ir_free((Fn *)s.body);
    return v;
}

static void rewrite_value(Rewrite *r, Arena *scratch, Val v, Val *memo,
                          Val (*rule)(const Rewrite *)) {
    const Node *n = r->node = ir_node(r->from, v);
    Val *args = ARENA_ARRAY(scratch, Val, n->num_args);
    for (uint32_t k = 0; k < n->num_args; k++) args[k] = memo[n->args[k]];
    r->args = args;
    memo[v] = rule(r);
    TIGA_ASSERT(memo[v] && type_equal(ir_type(r->f, memo[v]), n->types));
}

/* Operands first, from the left. The stack holds the path to v and what waits beside it. */
static void rewrite_tree(Rewrite *r, Arena *scratch, Val v, Val *memo,
                         Val (*rule)(const Rewrite *)) {
    VEC(Val) stack = {0};
    *vec_push(scratch, &stack) = v;
    while (stack.len > 0) {
        Val top = stack.data[stack.len - 1];
        uint32_t before = stack.len;
        const Node *n = ir_node(r->from, top);
        for (uint32_t k = memo[top] ? 0 : n->num_args; k-- > 0;)
            if (!memo[n->args[k]]) *vec_push(scratch, &stack) = n->args[k];
        if (stack.len > before) continue;
        stack.len--;
        if (!memo[top]) rewrite_value(r, scratch, top, memo, rule);
    }
}

Val rewrite_into(Fn *to, const Fn *from, Val v, Val *memo) {
    Arena *scratch = arena_new();
    rewrite_tree(&(Rewrite){.f = to, .from = from}, scratch, v, memo, rewrite_same);
    arena_free(scratch);
    return memo[v];
}

static Fn *rebuild(Arena *takes, const Fn *f, Val (*rule)(const Rewrite *r)) {
    Arena *scratch = arena_new();
    Rewrite r = {.f = ir_new_like(takes, f, f->name), .from = f};
    Val *memo = ARENA_ARRAY(scratch, Val, ir_count(f));
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        Val v = f->inputs.data[k].val;
        memo[v] = ir_input(r.f, f->inputs.data[k].name, *ir_type(f, v));
    }
    for (uint32_t k = 0; k < f->results.len; k++) {
        Val v = f->results.data[k].val;
        rewrite_tree(&r, scratch, v, memo, rule);
        ir_add_result(r.f, f->results.data[k].name, memo[v]);
    }
    arena_free(scratch);
    return r.f;
}

Fn *rewrite_run(Arena *takes, const Fn *f, Val (*rule)(const Rewrite *r)) {
    Fn *rough = rebuild(arena_new(), f, rule);
    Fn *g = rebuild(takes, rough, rewrite_same);
    ir_free(rough);
    return g;
}

Fn *rewrite_copy(Arena *takes, const Fn *f) { return rebuild(takes, f, rewrite_same); }
