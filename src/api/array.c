/* Binding: arguments found by name and held against the program's types and the graph's counts. */
#include "api/array.h"

#include "api/graph.h"
#include "ir/type.h"
#include "run/operand.h"
#include "vocab/near.h"

#include <string.h>

tg_array tg_dense(const void *data, tg_dtype dtype, int rank, const int64_t *shape) {
    tg_array x = {.data = (void *)(uintptr_t)data, .dtype = dtype, .rank = rank};
    if (rank > 0 && !shape) x.rank = rank = -1;
    int64_t step = (int)dtype >= 0 && (int)dtype < NUM_DTYPES ? dtype_size((Dtype)dtype) : 0;
    for (int k = rank - 1; k >= 0 && rank <= TG_MAX_RANK; k--) {
        x.shape[k] = shape[k];
        x.stride[k] = step;
        if (shape[k] > 0 && __builtin_mul_overflow(step, shape[k], &step))
            step = 0; /* no memory has it */
    }
    return x;
}

typedef struct {
    Arena *arena;
    const tg_program *asked; /* typed or not */
    const Fn *f;             /* prepared */
    const tg_graph *graph;
    int64_t *set_size; /* -1: not known yet */
} Bind;

static const char *shape_text(Arena *a, int rank, const int64_t *shape) {
    Text t = {.arena = a};
    text_put(&t, "(");
    for (int k = 0; k < rank; k++) text_putf(&t, k ? ", %lld" : "%lld", (long long)shape[k]);
    text_put(&t, rank == 1 ? ",)" : ")");
    return t.text;
}

/* "edge field 'weight'", "param 'W'", "argument 'cot.out'". */
static const char *argument_text(Arena *a, const char *name) {
    const char *dot = strchr(name, '.');
    static const char *const roles[] = {"src", "dst", "edge", "node"};
    for (size_t k = 0; dot && k < sizeof roles / sizeof *roles; k++)
        if ((size_t)(dot - name) == strlen(roles[k]) && !strncmp(name, roles[k], strlen(roles[k])))
            return arena_printf(a, "%s field '%s'", roles[k], dot + 1);
    return arena_printf(a, "argument '%s'", name);
}

static const char *set_noun(const Bind *b, Set s) {
    switch (program_role(b->f, s)) {
    case TG_ON_EDGES: return "edges";
    case TG_ON_SRC: return "sources";
    case TG_ON_DST: return "destinations";
    case TG_ON_NODES: return "nodes";
    case TG_ON_ALL: break;
    }
    return "rows";
}

/* The set that rows of a value count, SET_ALL where it has none; its extent is the first axis. */
static Set rows_of(const Type *t) {
    return t->set != SET_ALL                  ? t->set
           : t->rank && dim_is_set(t->dim[0]) ? dim_set(t->dim[0])
                                              : SET_ALL;
}

static Status check_rows(Bind *b, const char *name, const tg_array *x, Set set) {
    int64_t *size = &b->set_size[set];
    if (x->shape[0] < 0)
        return err_set(ST_SHAPE, "%s: %lld rows", argument_text(b->arena, name),
                       (long long)x->shape[0]);
    if (*size < 0) *size = x->shape[0];
    if (x->shape[0] == *size) return ST_OK;
    return err_set(ST_SHAPE, "%s: %lld rows, but the relation has %lld %s",
                   argument_text(b->arena, name), (long long)x->shape[0], (long long)*size,
                   set_noun(b, set));
}

/* "shape (3, 1), expected (5, 2), a row for each of the relation's edges" */
static Status wrong_shape(Bind *b, const char *who, const tg_array *x, const Type *t, Set rows) {
    int lead = rows != SET_ALL, dense = t->set == SET_ALL && lead;
    int64_t want[MAX_RANK + 1] = {lead ? b->set_size[rows] : 0};
    for (int k = dense; k < t->rank; k++) want[k - dense + lead] = t->dim[k];
    if (lead && want[0] < 0) want[0] = x->rank ? x->shape[0] : 1;
    if (x->rank < 0 || x->rank > TG_MAX_RANK)
        return err_set(ST_SHAPE, "%s: rank %d, expected %d", who, x->rank, t->rank + lead - dense);
    const char *got = shape_text(b->arena, x->rank, x->shape),
               *expected = shape_text(b->arena, t->rank + lead - dense, want);
    if (!lead) return err_set(ST_SHAPE, "%s: shape %s, expected %s", who, got, expected);
    return err_set(ST_SHAPE, "%s: shape %s, expected %s, a row for each of the relation's %s", who,
                   got, expected, set_noun(b, rows));
}

static Status check_array(Bind *b, const tg_arg *arg, const Type *t) {
    const tg_array *x = &arg->array;
    const char *who = argument_text(b->arena, arg->name);
    Set rows = rows_of(t);
    int lead = rows != SET_ALL,
        dense = t->set == SET_ALL && lead; /* dense: the type has the row axis */
    int rank = t->rank + lead - dense;
    if ((int)x->dtype < 0 || (int)x->dtype >= NUM_DTYPES)
        return err_set(ST_TYPE, "%s: no such dtype (%d)", who, (int)x->dtype);
    if (x->dtype != (tg_dtype)t->dtype)
        return err_set(ST_TYPE, "%s: dtype %s, expected %s", who, dtype_user_name((Dtype)x->dtype),
                       dtype_user_name((Dtype)t->dtype));
    bool same = x->rank == rank;
    for (int k = lead; same && k < rank; k++) same = x->shape[k] == t->dim[k - lead + dense];
    if (!same) return wrong_shape(b, who, x, t, rows);
    return lead ? check_rows(b, arg->name, x, rows) : ST_OK;
}

static bool is_empty(const tg_array *x) {
    for (int k = 0; k < x->rank; k++)
        if (x->shape[k] == 0) return true;
    return false;
}

static Status bind_array(Bind *b, const tg_arg *arg, const Type *t, bool output, Array *out) {
    static char nothing[16]; /* where an empty array points: bound, never read */
    Status st = check_array(b, arg, t);
    if (st) return st;
    const tg_array *x = &arg->array;
    if (out->data)
        return err_set(ST_NAME, "%s is passed twice", argument_text(b->arena, arg->name));
    if (!x->data && !is_empty(x) && !output)
        return err_set(ST_INVAL, "%s: data is NULL", argument_text(b->arena, arg->name));
    /* An output without data is not bound, until tg_call_set gives it some. */
    *out = (Array){.data = x->data || !is_empty(x) ? x->data : nothing,
                   .dtype = (uint8_t)x->dtype,
                   .rank = (uint8_t)x->rank};
    memcpy(out->dim, x->shape, sizeof out->dim);
    memcpy(out->stride, x->stride, sizeof out->stride);
    return ST_OK;
}

static int find(const Binding *list, uint32_t n, const char *name) {
    for (uint32_t k = 0; k < n; k++)
        if (!strcmp(list[k].name, name)) return (int)k;
    return -1;
}

static const char *known_names(Arena *a, const Fn *f) {
    Text t = {.arena = a};
    if (!f->inputs.len) text_put(&t, "no inputs");
    for (uint32_t k = 0; k < f->inputs.len; k++)
        text_putf(&t, k ? ", %s" : "inputs %s", f->inputs.data[k].name);
    for (uint32_t k = 0; k < f->results.len; k++)
        text_putf(&t, k ? ", %s" : "; results %s", f->results.data[k].name);
    return t.text;
}

static Status bind_one(Bind *b, const tg_program *p, const tg_arg *arg, Bound *out, int32_t *slot) {
    if (!arg->name) return err_set(ST_NAME, "an argument without a name");
    int k = find(b->f->inputs.data, b->f->inputs.len, arg->name);
    *slot = k;
    if (k >= 0)
        return bind_array(b, arg, ir_type(b->f, b->f->inputs.data[k].val), false, &out->inputs[k]);
    k = find(b->f->results.data, b->f->results.len, arg->name);
    *slot = -1 - k;
    if (k >= 0)
        return bind_array(b, arg, ir_type(b->f, b->f->results.data[k].val), true, &out->outputs[k]);
    *slot = INT32_MAX; /* passed and unused is fine, if the program ever named it */
    if (ir_find_input(p->fn, arg->name) || program_names_input(b->arena, b->asked, arg->name))
        return ST_OK;
    Near near = near_to(arg->name);
    for (uint32_t i = 0; i < p->fn->inputs.len; i++) near_try(&near, p->fn->inputs.data[i].name);
    for (uint32_t i = 0; i < p->fn->results.len; i++) near_try(&near, p->fn->results.data[i].name);
    return err_set(ST_NAME, "argument '%s': the program has no such name%s (%s)", arg->name,
                   near_hint(&near), known_names(b->arena, p->fn));
}

/* The cotangent of a single number that nobody binds is 1: the gradient of a loss. */
static bool bind_unit(const char *name, const Type *t, Array *out) {
    static float one_f32 = 1;
    static double one_f64 = 1;
    bool is_unit = !strncmp(name, "cot", 3) && strchr(name, '.') && t->set == SET_ALL && !t->rank;
    if (is_unit && t->dtype == DT_f32) *out = (Array){.data = &one_f32, .dtype = DT_f32};
    if (is_unit && t->dtype == DT_f64) *out = (Array){.data = &one_f64, .dtype = DT_f64};
    return out->data != NULL;
}

static Status check_complete(const Bind *b, const Bound *out, size_t num_args, const tg_arg *args) {
    for (uint32_t k = 0; k < b->f->inputs.len; k++) {
        const Binding *in = &b->f->inputs.data[k];
        if (out->inputs[k].data || bind_unit(in->name, ir_type(b->f, in->val), &out->inputs[k]))
            continue;
        Text passed = {.arena = b->arena};
        text_put(&passed, "");
        for (size_t i = 0; i < num_args; i++) text_putf(&passed, i ? ", %s" : "%s", args[i].name);
        return err_set(ST_NAME, "%s is needed and was not passed (passed: %s)",
                       argument_text(b->arena, in->name), passed.text);
    }
    return ST_OK;
}

static Status know_sizes(Bind *b) {
    const Graph *g = graph_of(b->graph);
    for (uint32_t s = 0; s < b->f->sets.len; s++) b->set_size[s] = s == SET_ALL ? 1 : -1;
    if (!b->f->relations.len) return ST_OK;
    const Relation *r = &b->f->relations.data[0];
    b->set_size[r->dst] = graph_num_dst(g);
    b->set_size[r->src] = graph_num_src(g);
    b->set_size[r->edges] = graph_num_edges(g);
    if (r->src == r->dst && graph_num_src(g) != graph_num_dst(g))
        return err_set(ST_SHAPE,
                       "node fields need one node set, but the relation has %lld sources and %lld "
                       "destinations "
                       "(pass src and dst)",
                       (long long)graph_num_src(g), (long long)graph_num_dst(g));
    return ST_OK;
}

typedef struct {
    Bounds bounds;
    const void *data;
    const char *name;
    bool is_dense;
} Stretch;

static bool share_memory(const Stretch *x, const Stretch *y) {
    if (x->bounds.begin >= y->bounds.end || y->bounds.begin >= x->bounds.end) return false;
    return x->data == y->data || (x->is_dense && y->is_dense);
}

/* Outputs lie apart; strided ones may interleave, as columns of one matrix do. */
static Status check_apart(const Bind *b, const Bound *out) {
    Stretch *list = ARENA_ARRAY(b->arena, Stretch, b->f->results.len);
    uint32_t n = 0;
    for (uint32_t k = 0; k < b->f->results.len; k++) {
        const Array *x = &out->outputs[k];
        if (!x->data || !operand_count(x)) continue;
        list[n] =
            (Stretch){operand_bounds(x), x->data, b->f->results.data[k].name, operand_is_dense(x)};
        for (uint32_t i = 0; i < n; i++)
            if (share_memory(&list[i], &list[n]))
                return err_set(ST_INVAL, "arguments '%s' and '%s' are results in the same memory",
                               list[i].name, list[n].name);
        n++;
    }
    return ST_OK;
}

/* A set that is neither the relation's nor met by an argument has no size to compute with. */
static Status check_sizes(const Bind *b) {
    for (Val v = 1; v < ir_count(b->f); v++) {
        Set set = ir_type(b->f, v)->set;
        if (b->set_size[set] < 0)
            return err_set(ST_NAME, "set '%s' has no size: no argument lies on it",
                           b->f->sets.data[set].name);
    }
    return ST_OK;
}

Status array_bind(Arena *a, const tg_program *p, tg_program *typed, const tg_graph *g,
                  const tg_arg *args, size_t num_args, Bound *out) {
    const Fn *f = typed->prepared;
    Bind b = {a, p, f, g, ARENA_ARRAY(a, int64_t, f->sets.len)};
    *out = (Bound){.graph = g, .program = typed, .set_size = b.set_size};
    out->inputs = ARENA_ARRAY(a, Array, f->inputs.len);
    out->outputs = ARENA_ARRAY(a, Array, f->results.len);
    out->slot = ARENA_ARRAY(a, int32_t, num_args);
    Status st = know_sizes(&b);
    for (size_t k = 0; k < num_args && !st; k++)
        st = bind_one(&b, typed, &args[k], out, &out->slot[k]);
    if (!st) st = check_complete(&b, out, num_args, args);
    if (!st) st = check_apart(&b, out);
    return st ? st : check_sizes(&b);
}
