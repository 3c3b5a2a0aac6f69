/* Rows of a table by number: take reads them, put adds to them. Every index is checked before its row is
 * touched; the first that is out of range, in the order of elements, is named and ends the run. */
#include "interp/value.h"

#include <stdio.h>
#include <string.h>

bool table_op(Op op, uint32_t *index) {
    *index = op == OP_take; /* the operand that holds the indices */
    return op == OP_take || op == OP_put;
}

static int64_t rows_of_table(const Eval *q) {
    return q->node->op == OP_put ? q->node->attr.ints[0] : ir_type(q->f, q->node->args[0])->dim[0];
}

/* The input that v is, but for moves; NULL where it is computed. */
static const char *input_name(const Fn *f, Val v) {
    while (ir_op(f, v) != OP_input && ir_node(f, v)->num_args == 1 &&
           op_info[ir_op(f, v)].class != CLASS_elem)
        v = ir_arg(f, v, 0);
    return ir_op(f, v) == OP_input ? ir_node(f, v)->attr.name : NULL;
}

static const char *noun(const Fn *f, Set s) {
    for (const Relation *r = f->relations.data; r < f->relations.data + f->relations.len; r++) {
        if (s == r->edges) return "edges";
        if (s == r->src || s == r->dst)
            return r->src == r->dst ? "nodes" : s == r->src ? "sources" : "destinations";
    }
    return f->sets.data[s].name;
}

/* " on edges at (3, 1)": element i of a value. */
static void say_place(const Eval *q, const Value *v, int64_t i, char *text, size_t size) {
    int rank = v->type->rank, first = v->type->set == SET_ALL, n = 0;
    int64_t at[MAX_RANK + 1] = {i / v->numel}, left = i % v->numel;
    const char *open = rank - first > 0 ? "(" : "", *close = *open ? ")" : "";
    for (int k = rank; k > 0; k--) {
        at[k] = left % v->dim[k - 1];
        left /= v->dim[k - 1];
    }
    text[0] = 0;
    if (!first) n = snprintf(text, size, " on %.80s", noun(q->f, v->type->set));
    for (int k = first; k <= rank; k++)
        n += snprintf(text + n, size - (size_t)n, k == first ? " at %s%lld%s" : "%s%lld%s",
                      k == first ? open : ", ", (long long)at[k], k == rank ? close : "");
}

/* "index 'edge.kind' on edges at 3: 7 is out of range for 'T' of 5 rows" */
static Status out_of_range(const Eval *q, const Value *index, int64_t i, int64_t value) {
    uint32_t k;
    char place[320];
    table_op((Op)q->node->op, &k);
    const char *name = input_name(q->f, q->node->args[k]);
    const char *table = k ? input_name(q->f, q->node->args[0]) : NULL;
    say_place(q, index, i, place, sizeof place);
    return err_set(
        ST_RANGE, "index %s%.400s%s%s: %lld is out of range for %s%.400s%s of %lld rows%s",
        name ? "'" : "(computed)", name ? name : "", name ? "'" : "", place, (long long)value,
        table ? "'" : "a table", table ? table : "", table ? "'" : "", (long long)rows_of_table(q),
        value < 0 ? " (a negative index does not wrap)" : "");
}

Status table_check(const Eval *q, const Value *index) {
    int64_t rows = rows_of_table(q);
    for (int64_t i = 0; i < value_count(index); i++) {
        int64_t k = element_get_int(value_dtype(index), index->data + i * value_size(index));
        if (k < 0 || k >= rows) return out_of_range(q, index, i, k);
    }
    return ST_OK;
}

/* Element by element: where index i leads in the table, and what lies there in the other value. */
typedef struct {
    const Value *index;
    int64_t row, table; /* bytes of a row, of a table; 0: the same for every element */
} Walk;

static char *row_at(const Walk *w, char *table, int64_t i) {
    const Value *x = w->index;
    int64_t k = element_get_int(value_dtype(x), x->data + i * value_size(x));
    return table + i / x->numel * w->table + k * w->row;
}

static Walk walk_of(const Value *index, const Value *rows, const Value *table) {
    Walk w = {.index = index};
    w.row = index->numel ? rows->numel / index->numel * value_size(rows) : 0;
    w.table = table->type->set == SET_ALL ? 0 : table->numel * value_size(table);
    return w;
}

Status eval_take(const Eval *q) {
    const Value *table = q->args[0], *index = q->args[1];
    Status st = table_check(q, index);
    if (!st) st = eval_alloc(q, 0);
    if (st || value_count(q->out) == 0) return st;
    Walk w = walk_of(index, q->out, table);
    for (int64_t i = 0; i < value_count(index); i++)
        memcpy(q->out->data + i * w.row, row_at(&w, table->data, i), (size_t)w.row);
    return ST_OK;
}

Status eval_put(const Eval *q) {
    const Value *index = q->args[0], *g = q->args[1];
    Status st = table_check(q, index);
    if (!st) st = eval_alloc(q, 0);
    if (st || value_count(g) == 0) return st;
    Walk w = walk_of(index, g, q->out);
    for (int64_t i = 0; i < value_count(index); i++) {
        char *row = row_at(&w, q->out->data, i);
        elem_apply(OP_add, value_dtype(g), w.row / value_size(g), row, g->data + i * w.row, NULL,
                   row);
    }
    return ST_OK;
}
