/* The run: values in order of definition, each by its operation's rule, then the outputs. */
#include "interp/interp.h"

#include "base/pool.h"
#include "interp/value.h"

#include <string.h>

struct Block {
    Block *next;
    _Alignas(16) char data[];
};

Status run_alloc(Run *run, const char *what, int64_t count, int64_t size, void *out) {
    int64_t bytes;
    bool fits = !__builtin_mul_overflow(count, size, &bytes) &&
                bytes <= PTRDIFF_MAX - (int64_t)sizeof(Block);
    Block *b = fits ? mem_alloc(sizeof *b + (size_t)bytes) : NULL;
    if (!b)
        return err_set(ST_NOMEM, "out of memory: %s: %.0f bytes", what,
                       (double)count * (double)size);
    memset(b->data, 0, (size_t)bytes);
    b->next = run->blocks;
    run->blocks = b;
    *(void **)out = b->data;
    return ST_OK;
}

static void run_free(Run *run) {
    for (Block *b = run->blocks, *next; b; b = next) {
        next = b->next;
        mem_free(b);
    }
}

Status value_alloc(Run *run, const char *what, const char *set, Value *v) {
    if (!run_alloc(run, what, value_count(v), value_size(v), &v->data)) return ST_OK;
    return err_set(ST_NOMEM, "out of memory: %s on %s, %.0f elements of %d bytes", what, set,
                   (double)v->rows * (double)v->numel, value_size(v));
}

Status eval_alloc(const Eval *q, uint32_t k) {
    Value *v = &q->out[k];
    return value_alloc(q->run, op_info[q->node->op].name, q->f->sets.data[v->type->set].name, v);
}

/* Sizes of a type in this domain. numel saturates: a set may have any size. */
static Value value_of(const Run *run, const Type *type) {
    Value v = {.type = type,
               .rows = type->set == SET_ALL ? 1 : run->domain->set_size[type->set],
               .numel = 1};
    bool is_empty = false;
    for (int k = 0; k < type->rank; k++) {
        v.dim[k] =
            dim_is_set(type->dim[k]) ? run->domain->set_size[dim_set(type->dim[k])] : type->dim[k];
        is_empty |= v.dim[k] == 0;
        if (__builtin_mul_overflow(v.numel, v.dim[k], &v.numel)) v.numel = INT64_MAX;
    }
    if (is_empty) v.numel = 0;
    return v;
}

/* ---- ends ---- */

/* A value's shape with its set's axis in front, as Array has it. */
static int whole_shape(const Value *v, int64_t *dim) {
    int lead = v->type->set != SET_ALL;
    if (lead) dim[0] = v->rows;
    memcpy(dim + lead, v->dim, sizeof v->dim[0] * v->type->rank);
    return lead + v->type->rank;
}

static Status load(Run *run, const Fn *f, uint32_t k, const Array *from, Value *v) {
    Status st = value_alloc(run, f->inputs.data[k].name, f->sets.data[v->type->set].name, v);
    if (st || value_count(v) == 0) return st;
    int64_t dim[MAX_RANK + 1], stride[MAX_RANK + 1];
    int rank = whole_shape(v, dim);
    dense_strides(rank, dim, value_size(v), stride);
    strided_copy(rank, dim, value_size(v), v->data, stride, from->data, from->stride);
    for (int64_t i = 0; v->type->dtype == DT_bool && i < value_count(v); i++)
        v->data[i] = v->data[i] != 0; /* whatever byte the caller has for true */
    return ST_OK;
}

static void store(const Value *v, const Array *to) {
    if (value_count(v) == 0) return;
    int64_t dim[MAX_RANK + 1], stride[MAX_RANK + 1];
    int rank = whole_shape(v, dim);
    dense_strides(rank, dim, value_size(v), stride);
    strided_copy(rank, dim, value_size(v), to->data, to->stride, v->data, stride);
}

/* ---- frame operations ---- */

static Status eval_constant(const Eval *q) {
    Value *v = q->out;
    Status st = eval_alloc(q, 0);
    if (st) return st;
    uint64_t bits = v->type->dtype == DT_bool ? q->node->attr.bits != 0 : q->node->attr.bits;
    for (int64_t i = 0; i < value_count(v); i++)
        memcpy(v->data + i * value_size(v), &bits, (size_t)value_size(v)); /* low bytes first */
    return ST_OK;
}

static Status eval_launch(const Eval *q) {
    return err_set(ST_UNSUPPORTED, "launch of '%s': a compiled kernel cannot be interpreted",
                   q->node->attr.name);
}

static Status run_values(Run *run, const Fn *f, const Value *const *inputs, const bool *is_wanted,
                         const Value **results);

/* A fused group means the program that it holds. */
static Status eval_traverse(const Eval *q) {
    const Fn *body = q->node->attr.body;
    const Value **results;
    bool *all;
    Status st =
        run_alloc(q->run, "results of a group", body->results.len, sizeof *results, &results);
    if (!st) st = run_alloc(q->run, "results of a group", body->results.len, sizeof *all, &all);
    if (st) return st;
    memset(all, true, body->results.len);
    st = run_values(q->run, body, q->args, all, results);
    for (uint32_t k = 0; !st && k < body->results.len; k++) q->out[k].data = results[k]->data;
    return st;
}

/* input and result are aliases, never computed. */
static Status eval_alias(const Eval *q) {
    (void)q;
    TIGA_UNREACHABLE("an input or a part of a result is no operation");
}

/* One rule an operation; a row of op.def without one does not compile. */
#define eval_input eval_alias
#define eval_result eval_alias
static Status (*const eval_rule[NUM_OPS])(const Eval *q) = {
#define ELEM(op, ...) [OP_##op] = eval_elem,
#define SHAPE(op, ...) [OP_##op] = eval_##op,
#define ALONG(op, ...) [OP_##op] = eval_##op,
#define FRAME(op, ...) [OP_##op] = eval_##op,
#include "ir/op.def"
};

/* ---- programs ---- */

/* The values of one function: value v's results begin at of[v]. */
typedef struct {
    const Fn *f;
    const Value **of;
    uint8_t *live, *need; /* need: what is computed; live, but for runs that check alone */
} Frame;

/* A table that is spread from `all` is read where it is, never spread. */
static Val operand(const Fn *f, const Node *n, uint32_t k) {
    Val v = n->args[k];
    bool spread = n->op == OP_take && k == 0 && ir_op(f, v) == OP_gather;
    return spread && map_is_all(ir_node(f, v)->attr.map) ? ir_arg(f, v, 0) : v;
}

static void mark_live(const Frame *w, const bool *is_wanted) {
    const Fn *f = w->f;
    for (uint32_t k = 0; k < f->results.len; k++)
        if (is_wanted[k]) w->live[f->results.data[k].val] = 1;
    for (Val v = ir_count(f) - 1; v > 0; v--)
        for (uint32_t k = 0; w->live[v] && k < ir_node(f, v)->num_args; k++)
            w->live[operand(f, ir_node(f, v), k)] = 1;
}

/* The indices of what is live, and what they need. */
static void mark_indices(const Frame *w) {
    uint32_t index;
    for (Val v = ir_count(w->f) - 1; v > 0; v--) {
        const Node *n = ir_node(w->f, v);
        if (w->live[v] && table_op((Op)n->op, &index)) w->need[n->args[index]] = 1;
        for (uint32_t k = 0; w->need[v] && k < n->num_args; k++) w->need[operand(w->f, n, k)] = 1;
    }
}

static Status frame_new(Run *run, const Fn *f, const bool *is_wanted, Frame *w) {
    *w = (Frame){.f = f};
    Status st = run_alloc(run, "table of values", ir_count(f), sizeof *w->of, &w->of);
    if (!st) st = run_alloc(run, "table of values", ir_count(f), sizeof *w->live, &w->live);
    if (st) return st;
    mark_live(w, is_wanted);
    w->need = w->live;
    if (!run->checks_only) return ST_OK;
    st = run_alloc(run, "table of values", ir_count(f), sizeof *w->need, &w->need);
    if (!st) mark_indices(w);
    return st;
}

static Status eval_node(Run *run, const Frame *w, Val v) {
    const Node *n = ir_node(w->f, v);
    if (n->op == OP_result) {
        w->of[v] = w->of[n->args[0]] + n->attr.index;
        return ST_OK;
    }
    Eval q = {.run = run, .f = w->f, .node = n};
    const Value **args;
    Status st = run_alloc(run, "operands", n->num_args, sizeof *args, &args);
    if (!st) st = run_alloc(run, "results", n->num_results, sizeof *q.out, &q.out);
    if (st) return st;
    for (uint32_t k = 0; k < n->num_args; k++) args[k] = w->of[operand(w->f, n, k)];
    for (uint32_t k = 0; k < n->num_results; k++) q.out[k] = value_of(run, &n->types[k]);
    q.args = args;
    w->of[v] = q.out;
    return eval_rule[n->op](&q);
}

/* A live operation that is not computed: its indices are looked at all the same. */
static Status check_node(Run *run, const Frame *w, Val v) {
    Eval q = {.run = run, .f = w->f, .node = ir_node(w->f, v)};
    uint32_t index;
    if (!w->live[v] || !table_op((Op)q.node->op, &index)) return ST_OK;
    return table_check(&q, w->of[q.node->args[index]]);
}

/* inputs by f->inputs (those that nothing wanted needs may be NULL); results by f->results. */
static Status run_values(Run *run, const Fn *f, const Value *const *inputs, const bool *is_wanted,
                         const Value **results) {
    Frame w;
    Status st = frame_new(run, f, is_wanted, &w);
    if (st) return st;
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        Binding b = f->inputs.data[k];
        if (w.need[b.val] && !inputs[k]) return err_set(ST_NAME, "input '%s' is not bound", b.name);
        w.of[b.val] = inputs[k];
    }
    for (Val v = 1; !st && v < ir_count(f); v++)
        if (ir_op(f, v) != OP_input && !(st = pool_ask()))
            st = w.need[v] ? eval_node(run, &w, v) : check_node(run, &w, v);
    for (uint32_t k = 0; !st && k < f->results.len; k++)
        if (is_wanted[k]) results[k] = w.of[f->results.data[k].val];
    return st;
}

static Status run_bound(Run *run, const Fn *f, const Array *inputs, const Array *outputs) {
    Value *in;
    const Value **args, **results;
    bool *is_wanted;
    run->num_maps = 2 * f->relations.len;
    Status st = run_alloc(run, "table of maps", run->num_maps, sizeof *run->end, &run->end);
    if (!st) st = run_alloc(run, "table of inputs", f->inputs.len, sizeof *in, &in);
    if (!st) st = run_alloc(run, "table of inputs", f->inputs.len, sizeof *args, &args);
    if (!st) st = run_alloc(run, "table of results", f->results.len, sizeof *results, &results);
    if (!st) st = run_alloc(run, "table of results", f->results.len, sizeof *is_wanted, &is_wanted);
    for (uint32_t k = 0; !st && k < f->inputs.len; k++) {
        in[k] = value_of(run, ir_type(f, f->inputs.data[k].val));
        if (!inputs[k].data && value_count(&in[k]) > 0) continue;
        st = load(run, f, k, &inputs[k], &in[k]);
        args[k] = &in[k];
    }
    for (uint32_t k = 0; !st && k < f->results.len; k++) is_wanted[k] = outputs[k].data != NULL;
    if (!st) st = run_values(run, f, args, is_wanted, results);
    for (uint32_t k = 0; !st && !run->checks_only && k < f->results.len; k++)
        if (is_wanted[k]) store(results[k], &outputs[k]);
    return st;
}

static Status run_all(const Fn *f, const Domain *domain, const Array *inputs, const Array *outputs,
                      bool checks_only) {
    Run run = {.domain = domain, .checks_only = checks_only};
    Status st = run_bound(&run, f, inputs, outputs);
    run_free(&run);
    return st;
}

Status interp_run(const Fn *f, const Domain *domain, const Array *inputs, const Array *outputs) {
    return run_all(f, domain, inputs, outputs, false);
}

Status interp_check(const Fn *f, const Domain *domain, const Array *inputs, const Array *outputs) {
    return run_all(f, domain, inputs, outputs, true);
}
