/* Dense operations over the rows of a set become operations on the set, which is what kernels run.
 *
 * A dense value with one axis that is a set's extent is held as leave(z), or that with the axis moved
 * (a transpose), so each rule asks for its operands on the set, works there and goes back; enter and
 * leave cancel on the way. Sums and maxima over that axis are reductions along the map to `all`, a
 * product contracted over it a sum of outer products. What has two such axes stays as it is and is
 * refused before planning. Breaks bits of float sums over the axis (another order).
 *
 * Also: what is spread over features, or wider than it was, is gathered before, not after: gather(bcast x) =
 * bcast(gather x), the same bits from fewer bytes. */
#include "opt/opt.h"

#include "ir/type.h"
#include "opt/rewrite.h"

#include <string.h>

typedef const Rewrite *Ctx;

enum { NO_AXIS = -1, TWO_AXES = -2 };

static int extent_axis(const Type *t) {
    int axis = NO_AXIS;
    for (int k = 0; k < t->rank; k++)
        if (dim_is_set(t->dim[k])) axis = axis == NO_AXIS ? k : TWO_AXES;
    return axis;
}

static int arg_axis(Ctx r, uint32_t k) { return extent_axis(ir_type(r->f, r->args[k])); }
static int out_axis(Ctx r) { return extent_axis(r->node->types); }
static int out_rank(Ctx r) { return r->node->types->rank; }

/* dim without one axis; the number left. */
static int drop_axis(const Type *t, int axis, int64_t *dim) {
    int n = 0;
    for (int k = 0; k < t->rank; k++)
        if (k != axis) dim[n++] = t->dim[k];
    return n;
}

/* A dense value as one on the set whose extent is its given axis. */
static Val to_set(Fn *f, Val v, int axis) {
    const Type t = *ir_type(f, v);
    const Node *n = ir_node(f, v);
    Set s = dim_set(t.dim[axis]);
    if (n->op == OP_constant) {
        Attr attr = n->attr;
        attr.type.set = s;
        memset(attr.type.dim, 0, sizeof attr.type.dim);
        attr.type.rank = (uint8_t)drop_axis(&t, axis, attr.type.dim);
        return ir_emit(f, OP_constant, NULL, 0, &attr);
    }
    if (n->op == OP_transpose && ir_op(f, n->args[0]) == OP_leave) n = ir_node(f, n->args[0]);
    if (n->op == OP_leave) return n->args[0];
    int64_t axes[MAX_RANK] = {axis};
    for (int k = 0; k < t.rank; k++)
        if (k != axis) axes[k < axis ? k + 1 : k] = k;
    return ir_enter(f, ir_transpose(f, v, axes), s);
}

/* And back, the extent at the given axis. */
static Val from_set(Fn *f, Val z, int axis) {
    Val v = ir_leave(f, z);
    int64_t axes[MAX_RANK];
    if (!v) return 0;
    for (int k = 0; k < ir_type(f, v)->rank; k++) axes[k] = k < axis ? k + 1 : k == axis ? 0 : k;
    return ir_transpose(f, v, axes);
}

static Val operand(Ctx r, uint32_t k) { return to_set(r->f, r->args[k], arg_axis(r, k)); }

static Val finish(Ctx r, Val z) { return from_set(r->f, z, out_axis(r)); }

/* ---- rules: the new value, or 0 where the operation does not go row by row ---- */

static Val rows_elem(Ctx r) {
    uint32_t n = r->node->num_args;
    Val *args = ARENA_ARRAY(r->f->arena, Val, n);
    for (uint32_t k = 0; k < n; k++) args[k] = operand(r, k);
    if (op_info[r->node->op].traits & NARY)
        return finish(r, rewrite_nary(r->f, (Op)r->node->op, args, n));
    return finish(r, ir_emit(r->f, (Op)r->node->op, args, n, &r->node->attr));
}

/* An operand without the axis, or with 1 there, is the same for every row. */
static Val rows_bcast(Ctx r) {
    const Type out = *r->node->types, t = *ir_type(r->f, r->args[0]);
    int axis = out_axis(r), mine = axis - (out.rank - t.rank);
    int64_t dim[MAX_RANK];
    Val z = r->args[0];
    if (arg_axis(r, 0) >= 0) {
        z = operand(r, 0);
    } else {
        int rank = drop_axis(&t, mine, dim);
        z = ir_gather(r->f, ir_reshape(r->f, z, dim, rank), map_all(dim_set(out.dim[axis])));
    }
    int rank = drop_axis(&out, axis, dim);
    return finish(r, ir_bcast(r->f, z, dim, rank));
}

static int64_t numel_before(const Type *t, int axis) {
    int64_t n = 1;
    for (int k = 0; k < axis; k++) n *= t->dim[k];
    return n;
}

static Val rows_reshape(Ctx r) {
    const Type *out = r->node->types, *t = ir_type(r->f, r->args[0]);
    if (numel_before(out, out_axis(r)) != numel_before(t, arg_axis(r, 0))) return 0;
    int64_t dim[MAX_RANK];
    int rank = drop_axis(out, out_axis(r), dim);
    return finish(r, ir_reshape(r->f, operand(r, 0), dim, rank));
}

static Val rows_transpose(Ctx r) {
    int64_t axes[MAX_RANK];
    int from = arg_axis(r, 0), n = 0;
    for (int k = 0; k < out_rank(r); k++) {
        int64_t a = r->node->attr.ints[k];
        if (a != from) axes[n++] = a - (a > from);
    }
    return finish(r, ir_transpose(r->f, operand(r, 0), axes));
}

/* slice and pad leave the axis as it is. */
static Val rows_window(Ctx r) {
    int64_t ints[3 * MAX_RANK];
    int axis = arg_axis(r, 0), n = 0;
    for (int k = 0; k < out_rank(r); k++)
        for (int i = 0; i < 3 && k != axis; i++) ints[n++] = r->node->attr.ints[3 * k + i];
    return finish(r, r->node->op == OP_slice ? ir_slice(r->f, operand(r, 0), ints)
                                             : ir_pad(r->f, operand(r, 0), ints));
}

static Val rows_concat(Ctx r) {
    uint32_t n = r->node->num_args;
    int64_t axis = r->node->attr.ints[0];
    Val *args = ARENA_ARRAY(r->f->arena, Val, n);
    for (uint32_t k = 0; k < n; k++) args[k] = operand(r, k);
    return finish(r, ir_concat(r->f, args, n, (int)(axis - (axis > out_axis(r)))));
}

static Val rows_fold(Ctx r) {
    int axis = arg_axis(r, 0);
    uint32_t others = 0;
    bool over_rows = false;
    for (uint32_t k = 0; k < r->node->attr.num_ints; k++) {
        int64_t a = r->node->attr.ints[k];
        if (a == axis) over_rows = true;
        else others |= 1u << (a - (a > axis));
    }
    bool sum = r->node->op == OP_fsum;
    Val z = operand(r, 0);
    Map all = map_all(ir_type(r->f, z)->set);
    z = sum ? ir_fsum(r->f, z, others) : ir_fmax(r->f, z, others);
    if (!over_rows) return finish(r, z);
    if (!sum) return ir_part(r->f, ir_rmax(r->f, z, all), 0);
    return ir_cast(r->f, ir_reduce(r->f, z, all), (Dtype)r->node->types->dtype);
}

static Val rows_take(Ctx r) {
    Val index = operand(r, 1), table = r->args[0];
    return finish(r,
                  ir_take(r->f, ir_gather(r->f, table, map_all(ir_type(r->f, index)->set)), index));
}

/* The rows' own tables, summed. */
static Val rows_put(Ctx r) {
    Val index = operand(r, 0), g = operand(r, 1);
    Val tables = ir_put(r->f, index, g, r->node->attr.ints[0]);
    return ir_cast(r->f, ir_reduce(r->f, tables, map_all(ir_type(r->f, index)->set)),
                   (Dtype)r->node->types->dtype);
}

static Val rows_cumsum(Ctx r) {
    int64_t axis = r->node->attr.ints[0];
    axis -= axis > out_axis(r);
    return finish(r, ir_cumsum(r->f, operand(r, 0), (int)axis, r->node->attr.ints[1]));
}

/* z [.., n] as [.., n, 1] or [.., 1, n]. */
static Val as_matrix(Fn *f, Val z, bool column) {
    Type t = *ir_type(f, z);
    int64_t last = t.dim[t.rank - 1];
    t.dim[t.rank - 1] = column ? last : 1;
    t.dim[t.rank] = column ? 1 : last;
    return ir_reshape(f, z, t.dim, t.rank + 1);
}

static Val as_vector(Fn *f, Val z, int axis) {
    int64_t dim[MAX_RANK];
    int rank = drop_axis(ir_type(f, z), axis, dim);
    return ir_reshape(f, z, dim, rank);
}

/* a [.., M, K] times b [.., K, N] with the extent as M, as N, as K, or among the leading axes. */
static Val rows_matmul(Ctx r) {
    Fn *f = r->f;
    int a = arg_axis(r, 0), b = arg_axis(r, 1), rank = ir_type(f, r->args[0])->rank;
    if (a == rank - 2 && b == NO_AXIS) {
        Val z = operand(r, 0), w = ir_gather(f, r->args[1], map_all(ir_type(f, z)->set));
        return finish(r, as_vector(f, ir_matmul(f, as_matrix(f, z, false), w), rank - 2));
    }
    if (a == NO_AXIS && b == rank - 1) {
        Val z = operand(r, 1), w = ir_gather(f, r->args[0], map_all(ir_type(f, z)->set));
        return finish(r, as_vector(f, ir_matmul(f, w, as_matrix(f, z, true)), rank - 1));
    }
    if (a == rank - 1 && b == rank - 2) {
        Val x = as_matrix(f, operand(r, 0), true), y = as_matrix(f, operand(r, 1), false);
        return ir_reduce(f, ir_matmul(f, x, y), map_all(ir_type(f, x)->set));
    }
    if (a == b && a < rank - 2) return finish(r, ir_matmul(f, operand(r, 0), operand(r, 1)));
    return 0;
}

static Val rows_enter(Ctx r) { return operand(r, 0); }

static Val narrow_gather(Ctx r) {
    Val x = r->args[0];
    Map map = r->node->attr.map;
    Dtype d = (Dtype)r->node->types->dtype;
    if (ir_op(r->f, x) == OP_bcast)
        return ir_bcast(r->f, ir_gather(r->f, ir_arg(r->f, x, 0), map), r->node->types->dim,
                        out_rank(r));
    if (ir_op(r->f, x) != OP_cast || map_is_all(map)) return 0;
    Val given = ir_arg(r->f, x, 0);
    bool wider = dtype_size(d) > dtype_size((Dtype)ir_type(r->f, given)->dtype);
    return wider ? ir_cast(r->f, ir_gather(r->f, given, map), d) : 0;
}

#define rows_cast rows_elem
#define rows_slice rows_window
#define rows_pad rows_window
#define rows_fsum rows_fold
#define rows_fmax rows_fold
static Val (*const rules[NUM_OPS])(Ctx r) = {
#define ELEM(op, ...) [OP_##op] = rows_elem,
#define SHAPE(op, ...) [OP_##op] = rows_##op,
#include "ir/op.def"
    [OP_enter] = rows_enter,
};

static Val rows_rule(Ctx r) {
    int axis = out_axis(r);
    for (uint32_t k = 0; k < r->node->num_args && axis != TWO_AXES; k++)
        if (axis == NO_AXIS || arg_axis(r, k) == TWO_AXES) axis = arg_axis(r, k);
    Val v = 0;
    if (r->node->op == OP_gather) v = narrow_gather(r);
    else if (axis >= 0 && rules[r->node->op]) v = rules[r->node->op](r);
    return v ? v : rewrite_same(r);
}

Fn *opt_rows(Arena *takes, const Fn *f) { return rewrite_run(takes, f, rows_rule); }
