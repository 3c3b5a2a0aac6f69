/* What kernels cannot hold, refused by name before planning. */
#include "plan/internal.h"

#include "ir/type.h"

static bool has_extent(const Type *t) {
    for (int k = 0; k < t->rank; k++)
        if (dim_is_set(t->dim[k])) return true;
    return false;
}

static Status refuse(Arena *scratch, const Fn *f, Val v) {
    const Node *n = ir_node(f, v);
    Text text = {.arena = scratch};
    text_putf(&text, "%s", op_info[n->op].name);
    for (uint32_t k = 0; k < n->num_args && k < 4; k++)
        text_putf(&text, "%s%s", k ? ", " : " of ", type_text(scratch, f, ir_type(f, n->args[k])));
    return err_set(ST_UNSUPPORTED,
                   "%s: along or across the rows of nodes or edges this is not supported",
                   text.text);
}

/* Dense values with a set's extent come in by enter and go out by leave. */
static bool is_held(const Fn *f, Val v) {
    const Node *n = ir_node(f, v);
    for (uint32_t k = 0; k < n->num_args; k++)
        if (has_extent(ir_type(f, n->args[k])))
            return n->op == OP_enter && ir_op(f, n->args[0]) == OP_input;
    for (uint32_t k = 0; k < n->num_results; k++)
        if (has_extent(&n->types[k]))
            return n->op == OP_input || n->op == OP_constant || n->op == OP_leave;
    return !(op_info[n->op].class == CLASS_along && n->op != OP_enter && n->op != OP_leave &&
             n->attr.map == map_all(SET_ALL));
}

/* A dense result is a set's rows, or has no extent. */
static bool is_stored(const Fn *f, Val v) {
    const Type *t = ir_type(f, v);
    if (t->set == SET_ALL && t->rank && dim_is_set(t->dim[0])) {
        Type features = type_of((Dtype)t->dtype, SET_ALL, t->rank - 1, t->dim + 1);
        return !has_extent(&features);
    }
    return !has_extent(t);
}

/* Kernels read facts, inputs and what others stored by name. */
static Status check_names(Arena *scratch, const Fn *f, const char *role, const Binding *ends,
                          uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        if (fact_map(scratch, f, ends[k].name) != MAP_NONE)
            return err_set(ST_UNSUPPORTED, "%s '%s': the name is taken by a fact of the graph",
                           role, ends[k].name);
    return ST_OK;
}

static Status check_ends(Arena *scratch, const Fn *f) {
    for (uint32_t r = 0; r < f->relations.len; r++) {
        const Relation *rel = &f->relations.data[r];
        if (set_is_edges(f, rel->src) || set_is_edges(f, rel->dst))
            return err_set(ST_UNSUPPORTED,
                           "relation '%s': a relation between edges is not supported", rel->name);
    }
    Status st = check_names(scratch, f, "input", f->inputs.data, f->inputs.len);
    return st ? st : check_names(scratch, f, "result", f->results.data, f->results.len);
}

Status plan_check(const Fn *f) {
    Arena *scratch = arena_new();
    Status st = check_ends(scratch, f);
    const uint8_t *live = ir_live(scratch, f);
    for (Val v = 1; v < ir_count(f) && !st; v++)
        if (live[v] && (!is_held(f, v) || ir_op(f, v) == OP_traverse || ir_op(f, v) == OP_launch))
            st = refuse(scratch, f, v);
    for (uint32_t k = 0; k < f->results.len && !st; k++)
        if (!is_stored(f, f->results.data[k].val)) st = refuse(scratch, f, f->results.data[k].val);
    arena_free(scratch);
    return st;
}
