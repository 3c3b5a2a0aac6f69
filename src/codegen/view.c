/* Views: broadcasts, transposes, slices and reshapes compose into one affine map onto the elements of a
 * base, as far as they do; what does not compose (a reshape of a broadcast, say) ends at a value that
 * the analysis puts into a cell. */
#include "codegen/emit.h"

static void row_strides(const Type *t, int64_t *stride) {
    int64_t s = 1;
    for (int k = t->rank - 1; k >= 0; k--) {
        stride[k] = s;
        s *= t->dim[k];
    }
}

/* What one element along each axis of a view operation's result, and its element 0, are in its operand. */
typedef struct {
    int64_t step[MAX_RANK], first;
} AxisMap;

static AxisMap axis_map(const Fn *f, Val v) {
    const Node *n = ir_node(f, v);
    const Type *to = ir_type(f, v), *from = ir_type(f, n->args[0]);
    int64_t stride[MAX_RANK];
    row_strides(from, stride);
    AxisMap m = {0};
    for (int k = 0; k < to->rank; k++) {
        int j = k - (to->rank - from->rank);
        if (n->op == OP_transpose) {
            m.step[k] = stride[n->attr.ints[k]];
        } else if (n->op == OP_slice) {
            m.step[k] = n->attr.ints[3 * k + 2] * stride[k];
            m.first += n->attr.ints[3 * k] * stride[k];
        } else if (j >= 0 && from->dim[j] != 1) {
            m.step[k] = stride[j];
        }
    }
    return m;
}

/* The axis of t along which a stride of `stride` elements, taken dim - 1 times, stays; -1: none. */
static int axis_of(const Type *t, const int64_t *row, int64_t stride, int64_t dim) {
    for (int k = 0; k < t->rank; k++)
        if (t->dim[k] > 1 && stride % row[k] == 0 && stride / row[k] * (dim - 1) < t->dim[k])
            return k;
    return -1;
}

/* w, given in elements of cur, in elements of cur's operand; false where that is no affine map. */
static bool view_through(const Fn *f, Val cur, View *w) {
    const Type *t = ir_type(f, cur);
    AxisMap m = axis_map(f, cur);
    int64_t row[MAX_RANK], reach[MAX_RANK], stride[MAX_RANK], left = w->offset, offset = m.first;
    row_strides(t, row);
    for (int k = 0; k < t->rank; k++) {
        reach[k] = left / row[k];
        left %= row[k];
        offset += reach[k] * m.step[k];
    }
    for (int i = 0; i < w->rank; i++) {
        stride[i] = 0;
        if (w->dim[i] == 1 || w->stride[i] == 0) continue;
        int k = axis_of(t, row, w->stride[i], w->dim[i]);
        if (k < 0) return false;
        int64_t steps = w->stride[i] / row[k];
        reach[k] += steps * (w->dim[i] - 1);
        if (reach[k] >= t->dim[k]) return false;
        stride[i] = steps * m.step[k];
    }
    for (int i = 0; i < w->rank; i++) w->stride[i] = stride[i];
    w->offset = offset;
    w->base = ir_arg(f, cur, 0);
    return true;
}

bool view_is_outer_gather(const Emit *e, Val v) {
    if (ir_op(e->f, v) != OP_gather) return false;
    Map m = ir_node(e->f, v)->attr.map;
    return map_is_all(m) || m == e->kernel->map;
}

View view_of(const Emit *e, Val v) {
    const Type *t = ir_type(e->f, v);
    View w = {.base = v, .rank = t->rank};
    for (int k = 0; k < t->rank; k++) w.dim[k] = t->dim[k];
    row_strides(t, w.stride);
    if (e->info[v].n <= 0) return w;
    for (;;) {
        Op op = ir_op(e->f, w.base);
        bool plain = op == OP_reshape || view_is_outer_gather(e, w.base);
        bool view = op == OP_bcast || op == OP_transpose || op == OP_slice;
        if (plain) w.base = ir_arg(e->f, w.base, 0);
        else if (!view || !view_through(e->f, w.base, &w)) return w;
    }
}

/* Neighbouring axes that one stride walks become one; axes of extent 1 go. */
View view_coalesce(const View *w) {
    View c = {.base = w->base, .offset = w->offset};
    for (int k = 0; k < w->rank; k++) {
        if (w->dim[k] == 1) continue;
        int top = c.rank - 1;
        if (top >= 0 && c.stride[top] == w->stride[k] * w->dim[k]) {
            c.dim[top] *= w->dim[k];
            c.stride[top] = w->stride[k];
        } else {
            c.dim[c.rank] = w->dim[k];
            c.stride[c.rank++] = w->stride[k];
        }
    }
    return c;
}

bool view_is_identity(const View *w, int64_t base_n) {
    View c = view_coalesce(w);
    if (c.offset) return false;
    return c.rank == 0 ? base_n == 1 : c.rank == 1 && c.stride[0] == 1 && c.dim[0] == base_n;
}

View view_axes(const View *w, int first, int rank) {
    View part = {.base = w->base, .rank = rank};
    for (int k = 0; k < rank; k++) {
        part.dim[k] = w->dim[first + k];
        part.stride[k] = w->stride[first + k];
    }
    return part;
}

int64_t view_numel(const View *w) {
    int64_t n = 1;
    for (int k = 0; k < w->rank; k++) n *= w->dim[k];
    return n;
}

/* ---- loads ---- */

int64_t view_index(const View *c, int64_t i) {
    int64_t at = c->offset;
    for (int k = c->rank - 1; k >= 0; k--) {
        at += i % c->dim[k] * c->stride[k];
        i /= c->dim[k];
    }
    return at;
}

static LLVMValueRef load_at(Emit *e, const Source *s, LLVMValueRef index, unsigned lanes,
                            unsigned count) {
    LLVMValueRef bytes = emit_mul(e, index, emit_i64(e, dtype_size(s->dtype)));
    return emit_load(e, emit_at(e, s->ptr, bytes), s->dtype, lanes, count, s->align);
}

/* Lanes within one window of at most as many elements: a load and a shuffle. */
static LLVMValueRef load_window(Emit *e, const Source *s, const int64_t *at, int64_t low,
                                unsigned lanes) {
    LLVMValueRef pick[64];
    uint64_t room = s->padded - (uint64_t)low;
    unsigned count = room < lanes ? (unsigned)room : lanes;
    LLVMValueRef window = load_at(e, s, emit_i64(e, low), lanes, count);
    for (unsigned l = 0; l < lanes; l++)
        pick[l] = LLVMConstInt(e->i32, (uint64_t)(at[l] - low), false);
    LLVMValueRef poison = LLVMGetPoison(LLVMTypeOf(window));
    return LLVMBuildShuffleVector(e->builder, window, poison, LLVMConstVector(pick, lanes), "");
}

static LLVMValueRef load_lanes(Emit *e, const Source *s, const int64_t *at, unsigned lanes) {
    LLVMValueRef value = LLVMGetPoison(emit_vec(e, s->dtype, lanes)), seen[64];
    for (unsigned l = 0; l < lanes; l++) {
        unsigned same = 0;
        while (at[same] != at[l]) same++;
        seen[l] = same < l ? seen[same] : load_at(e, s, emit_i64(e, at[l]), 1, 1);
        value =
            LLVMBuildInsertElement(e->builder, value, seen[l], LLVMConstInt(e->i32, l, false), "");
    }
    return value;
}

static LLVMValueRef load_fixed(Emit *e, const View *c, const Source *s, Block b) {
    int64_t at[64] = {0}, low = INT64_MAX, high = 0;
    bool run = true;
    for (unsigned l = 0; l < b.lanes; l++) {
        at[l] = view_index(c, b.number * b.lanes + (l < b.count ? l : 0));
        if (at[l] < low) low = at[l];
        if (at[l] > high) high = at[l];
        run &= l >= b.count || at[l] == at[0] + (int64_t)l;
    }
    if (low == high) return emit_splat(e, load_at(e, s, emit_i64(e, low), 1, 1), b.lanes);
    bool whole = (uint64_t)at[0] + b.lanes <= s->padded;
    if (run) return load_at(e, s, emit_i64(e, at[0]), b.lanes, whole ? b.lanes : b.count);
    if (high - low < b.lanes) return load_window(e, s, at, low, b.lanes);
    return load_lanes(e, s, at, b.lanes);
}

/* i * step for the element numbers from `offset` on that the view's axes give: scalar or vector. */
static LLVMValueRef decode(Emit *e, const View *c, LLVMValueRef i, unsigned lanes) {
    LLVMValueRef at = emit_splat(e, emit_i64(e, c->offset), lanes);
    for (int k = c->rank - 1; k >= 0; k--) {
        LLVMValueRef dim = emit_splat(e, emit_i64(e, c->dim[k]), lanes), here = i;
        if (k > 0) {
            here = LLVMBuildURem(e->builder, i, dim, "");
            i = LLVMBuildUDiv(e->builder, i, dim, "");
        }
        at = emit_add(e, at, emit_mul(e, here, emit_splat(e, emit_i64(e, c->stride[k]), lanes)));
    }
    return at;
}

static LLVMValueRef load_rolled(Emit *e, const View *c, const Source *s, Block b) {
    int last = c->rank - 1;
    if (c->rank == 0) return emit_splat(e, load_at(e, s, emit_i64(e, c->offset), 1, 1), b.lanes);
    bool aligned = c->rank == 1 || c->dim[last] % b.lanes == 0;
    LLVMValueRef size = emit_splat(e, emit_i64(e, dtype_size(s->dtype)), b.lanes);
    if (aligned && c->stride[last] <= 1) {
        LLVMValueRef at = decode(e, c, b.offset, 1);
        if (c->stride[last] == 1) return load_at(e, s, at, b.lanes, b.lanes);
        return emit_splat(e, load_at(e, s, at, 1, 1), b.lanes);
    }
    LLVMValueRef i = emit_add(e, emit_splat(e, b.offset, b.lanes), emit_iota(e, b.lanes, 0, 1));
    return emit_gather(e, s->ptr, emit_mul(e, decode(e, c, i, b.lanes), size), s->dtype, b.lanes);
}

LLVMValueRef view_load(Emit *e, const View *w, Source s, Block b) {
    View c = view_coalesce(w);
    return b.rolled ? load_rolled(e, &c, &s, b) : load_fixed(e, &c, &s, b);
}

LLVMValueRef view_element(Emit *e, const View *w, LLVMValueRef i) {
    View c = view_coalesce(w);
    return decode(e, &c, i, 1);
}

uint64_t view_reach(const View *w) {
    uint64_t reach = 1;
    for (int k = 0; k < w->rank; k++) reach += (uint64_t)((w->dim[k] - 1) * w->stride[k]);
    return reach;
}

Source view_advance(Emit *e, Source s, LLVMValueRef at, uint64_t reach) {
    bool known = LLVMIsAConstantInt(at) != NULL;
    s.padded = known ? s.padded - (uint64_t)LLVMConstIntGetSExtValue(at) : reach;
    s.ptr = emit_at(e, s.ptr, emit_mul(e, at, emit_i64(e, dtype_size(s.dtype))));
    return s;
}

/* ---- bases ---- */

static bool is_dense_input(const Emit *e, Val v) {
    return e->info[v].buffer >= 0 && e->request->layout[e->info[v].buffer] != LAYOUT_strided;
}

bool view_is_memory(const Emit *e, Val base) {
    if (e->info[base].cell != NO_CELL) return true;
    if (ir_op(e->f, base) == OP_gather) return is_dense_input(e, ir_arg(e->f, base, 0));
    if (ir_op(e->f, base) == OP_take) return table_is_memory(e, base);
    return is_dense_input(e, base);
}

Source view_source(Emit *e, Val base) {
    const Info *i = &e->info[base];
    if (i->cell != NO_CELL) return cell_source(e, i->cell);
    return (Source){eval_row_pointer(e, base), (Dtype)ir_type(e->f, base)->dtype, (uint64_t)i->n,
                    1};
}

LLVMValueRef view_eval(Emit *e, Val v, Block b) {
    View w = view_of(e, v);
    const Info *base = &e->info[w.base];
    if (base->n == 1) return emit_splat(e, emit_eval(e, w.base, emit_scalar_block(e)), b.lanes);
    if (view_is_identity(&w, base->n)) return emit_eval(e, w.base, b);
    return view_load(e, &w, view_source(e, w.base), b);
}
