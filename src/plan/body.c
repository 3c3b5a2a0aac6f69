/* The drafts' functions.
 *
 * A body is a copy of the part of the program that its kernel computes, with inputs for what it
 * reads. Such an input stands in for the value: it sorts among the operands of a sum as the value
 * does, so sums fold in one order in every kernel and in the program, and bits agree. */
#include "plan/internal.h"

#include "ir/type.h"

typedef struct {
    Plan *plan;
    const Planner *p;
    const Draft *d;
    Fn *body;
    Val *memo;
    const char **buffer; /* by value: the name it is stored under */
    uint32_t *num_buffers;
} Copy;

/* ---- names ---- */

static bool is_store_name_free(const Fn *f, const char *name) {
    return name && !ir_find_input(f, name);
}

/* A buffer that is a result has the result's name, unless an input has it too. */
static void name_buffer(Copy *c, Val v) {
    const Draft *d = c->d;
    if (c->buffer[v]) return;
    for (uint32_t k = 0; k < d->stores.len; k++)
        if (d->stores.data[k].val == v && is_store_name_free(c->p->f, d->stores.data[k].name))
            c->buffer[v] = d->stores.data[k].name;
    while (!c->buffer[v]) {
        const char *name = arena_printf(c->plan->arena, "t.%u", (*c->num_buffers)++);
        if (!ir_find_input(c->p->f, name) && !ir_find_result(c->p->f, name)) c->buffer[v] = name;
    }
}

/* What v is called in memory. */
static const char *memory_name(const Copy *c, Val v) {
    const Node *n = ir_node(c->p->f, v);
    switch ((int)n->op) {
    case OP_input: return n->attr.name;
    case OP_enter: return ir_node(c->p->f, n->args[0])->attr.name;
    case OP_degree: return fact_name(c->plan->arena, c->p->f, n->attr.map);
    }
    TIGA_ASSERT(c->buffer[v]);
    return c->buffer[v];
}

/* ---- copying ---- */

static Val read_value(Copy *c, Val v) {
    const Fn *f = c->p->f;
    if (ir_op(f, v) == OP_constant)
        return ir_emit(c->body, OP_constant, NULL, 0, &ir_node(f, v)->attr);
    return ir_stand_in(c->body, memory_name(c, v), f, v);
}

static void preset(Copy *c, Val v) {
    const Node *n = ir_node(c->p->f, v);
    if (c->d->need[v] == NEED_buffer || n->op == OP_enter ||
        (n->op == OP_degree && (n->attr.map != c->d->map || map_is_all(n->attr.map))))
        c->memo[v] = read_value(c, v);
    else if (draft_fetches(c->p, c->d, v))
        c->memo[v] = ir_gather(c->body, read_value(c, n->args[0]), n->attr.map);
}

/* A buffer that has a result's name is that result's store. */
static bool is_doubled(const Copy *c, Val v) {
    for (uint32_t k = 0; k < c->d->stores.len; k++)
        if (c->d->stores.data[k].name == c->buffer[v]) return true;
    return false;
}

static void copy_body(Copy *c) {
    const Fn *f = c->p->f;
    for (Val v = 1; v < ir_count(f); v++)
        if (c->d->need[v]) preset(c, v);
    for (uint32_t k = 0; k < c->d->stores.len; k++) {
        Store s = c->d->stores.data[k];
        if (!s.name) name_buffer(c, s.val);
        if (!s.name && is_doubled(c, s.val)) continue;
        ir_add_result(c->body, s.name ? s.name : c->buffer[s.val],
                      ir_copy(c->body, f, s.val, c->memo));
    }
    TIGA_ASSERT(c->body->status == ST_OK);
}

void bodies_run(Plan *plan, const Planner *p, const Drafts *d) {
    Arena *a = plan->arena;
    const char **buffer = ARENA_ARRAY(p->arena, const char *, ir_count(p->f));
    uint32_t num_buffers = 0;
    for (uint32_t k = 0; k < d->list.len; k++) {
        Kernel *kernel = vec_push(a, &plan->kernels);
        const Draft *draft = d->list.data[k];
        const char *name = arena_printf(a, "k%u", k);
        *kernel = (Kernel){.name = name, .rows = draft->rows, .map = draft->map};
        kernel->body = ir_new_like(a, p->f, name);
        Copy c = {
            plan,   p,           draft, kernel->body, ARENA_ARRAY(p->arena, Val, ir_count(p->f)),
            buffer, &num_buffers};
        copy_body(&c);
        levels_run(a, kernel);
        schedule_run(p->arena, kernel);
    }
}
