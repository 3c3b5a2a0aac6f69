/* Regions: checked when captured, replayed where used. */
#include "algebra/reducer.h"

#include "ir/element.h"

#include <stdio.h>
#include <stdlib.h>

static Val replay_constant(Builder *b, const Node *n) {
    Dtype d = (Dtype)n->types[0].dtype;
    const char *bits = (const char *)&n->attr.bits;
    if (d == DT_bool) return build_truth(b, n->attr.bits != 0);
    return dtype_is_float(d) ? build_number(b, element_get_float(d, bits))
                             : build_integer(b, element_get_int(d, bits));
}

static Val replay_input(const char *name, const Val *args, uint32_t num_left) {
    uint32_t k = (uint32_t)strtoul(name + 1, NULL, 10);
    return args[name[0] == 'r' ? num_left + k : k];
}

static Val replay(Builder *b, const Node *n, const Val *memo) {
    Val args[4];
    TIGA_ASSERT(n->num_args <= 4);
    for (uint32_t k = 0; k < n->num_args; k++) args[k] = memo[n->args[k]];
    if (n->op == OP_cast)
        return (n->attr.name ? build_cast : build_rounded)(b, args[0], (Dtype)n->types[0].dtype);
    return build_call(b, op_info[n->op].name, args, n->num_args, NULL, 0);
}

bool region_inline(Builder *b, const Fn *region, const Val *args, uint32_t num_left, Val *out) {
    Val *memo = ARENA_ARRAY(b->f->arena, Val, ir_count(region));
    uint8_t *live = ir_live(b->f->arena, region);
    for (Val v = 1; v < ir_count(region); v++) {
        const Node *n = ir_node(region, v);
        if (!live[v]) continue;
        if (n->op == OP_input) memo[v] = replay_input(n->attr.name, args, num_left);
        else if (n->op == OP_constant) memo[v] = replay_constant(b, n);
        else memo[v] = replay(b, n, memo);
        if (!memo[v]) return false;
    }
    for (uint32_t k = 0; k < region->results.len; k++) out[k] = memo[region->results.data[k].val];
    return true;
}

void region_inputs(Builder *b, char letter, const Type *types, uint32_t n, Val *out) {
    char name[16];
    for (uint32_t k = 0; k < n; k++) {
        snprintf(name, sizeof name, "%c%u", letter, k);
        out[k] = build_input(b, name, (Dtype)types[k].dtype, 0, NULL);
    }
}

Fn *region_typed(Builder *b, const Fn *region, const Val *args, uint32_t num_left, Numbers number,
                 const Type *state) {
    Val out[REDUCER_MAX_STATE];
    if (!region_inline(b, region, args, num_left, out)) return b->f;
    for (uint32_t k = 0; k < region->results.len; k++) {
        Val v = out[k];
        bool real = dtype_is_float((Dtype)ir_type(b->f, v)->dtype);
        Dtype d = state ? (Dtype)state[k].dtype : real ? number.real : number.whole;
        if (build_is_weak(b, v)) v = build_cast(b, v, real && !dtype_is_float(d) ? number.real : d);
        if (!state) d = (Dtype)ir_type(b->f, v)->dtype;
        ir_add_result(b->f, region->results.data[k].name, build_cast(b, v, dtype_computed(d)));
    }
    return b->f;
}
