/* Edge lanes: a vector is one element of a value on EDGE_LANES edges, or rows where there are none.
 *
 * Elements are numbers of the generator, not of the code, so a view, a concat or a slice is the choice of
 * a vector and costs nothing. Values of rows are computed again on their edges, where a tile spans rows;
 * where it does not (Emit.lane.row is NULL) they are the row's and are spread, as what lives on `all` is.
 * Lanes that are not there repeat what some other lane loads, so nothing they do can trap. */
#include "codegen/prim_llvm.h"

#include <stddef.h>

typedef LLVMValueRef V;

static LLVMTypeRef index_type(Emit *e) { return e->request->wide ? e->i64 : e->i32; }

LLVMTypeRef lanes_type(Emit *e, Dtype d) {
    return LLVMVectorType(d == DT_bool ? e->i8 : emit_type(e, d), EDGE_LANES);
}

static void align_pointer(Emit *e, V call, unsigned param, unsigned align) {
    unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
    LLVMAddCallSiteAttribute(call, param, LLVMCreateEnumAttribute(e->context, kind, align));
}

/* ---- positions ---- */

V lanes_numbers(Emit *e, V first) {
    V lane[EDGE_LANES];
    for (unsigned l = 0; l < EDGE_LANES; l++) lane[l] = LLVMConstInt(index_type(e), l, false);
    if (!e->request->wide) first = LLVMBuildTrunc(e->builder, first, e->i32, "");
    return emit_add(e, emit_splat(e, first, EDGE_LANES), LLVMConstVector(lane, EDGE_LANES));
}

static V load_masked(Emit *e, V ptr, LLVMTypeRef type, unsigned align) {
    V args[] = {ptr, e->lane.mask, LLVMConstNull(type)};
    V value = emit_call(e, "llvm.masked.load", (LLVMTypeRef[]){type, e->ptr}, 2, args, 3);
    align_pointer(e, value, 1, align);
    return value;
}

V lanes_load_index(Emit *e, V array) {
    LLVMTypeRef type = index_type(e);
    V at = LLVMBuildGEP2(e->builder, type, array, &e->lane.pos, 1, "");
    return load_masked(e, at, LLVMVectorType(type, EDGE_LANES), e->request->wide ? 8 : 4);
}

void lanes_at(Emit *e, V pos, V end) {
    V left = LLVMBuildSub(e->builder, end, pos, "");
    left = LLVMBuildTrunc(e->builder, left, e->i32, "");
    V lane[EDGE_LANES];
    for (unsigned l = 0; l < EDGE_LANES; l++) lane[l] = LLVMConstInt(e->i32, l, false);
    V number = LLVMConstVector(lane, EDGE_LANES);
    e->lane.mask =
        LLVMBuildICmp(e->builder, LLVMIntSLT, number, emit_splat(e, left, EDGE_LANES), "");
    e->lane.pos = pos;
    e->lane.edge = e->lane.col = e->lane.row = NULL;
}

void lanes_at_rows(Emit *e, V row) {
    e->lane.mask = emit_mask(e, EDGE_LANES, EDGE_LANES);
    e->lane.pos = row;
    e->lane.edge = e->lane.col = NULL;
    e->lane.row = lanes_numbers(e, row);
}

/* ---- loads ---- */

/* Element i of row 0. */
static V element_pointer(Emit *e, int buffer, const Type *t, int64_t i) {
    V ptr = buffer_data(e, buffer);
    int64_t left = i;
    if (e->request->layout[buffer] != LAYOUT_strided || type_numel(t) == 1)
        return emit_at(e, ptr, emit_i64(e, i * dtype_size((Dtype)t->dtype)));
    for (int k = t->rank - 1; k >= 0; k--) {
        V steps = emit_i64(e, left % t->dim[k]);
        left /= t->dim[k];
        ptr = emit_at(e, ptr, emit_mul(e, steps, buffer_stride(e, buffer, k + 1)));
    }
    return ptr;
}

/* Rows of a dense array, and any others. */
static V row_pointers(Emit *e, int buffer, const Type *t, V first, V index) {
    if (e->request->layout[buffer] == LAYOUT_dense) {
        uint64_t bytes = (uint64_t)(type_numel(t) * dtype_size((Dtype)t->dtype));
        return LLVMBuildGEP2(e->builder, LLVMArrayType2(e->i8, bytes), first, &index, 1, "");
    }
    LLVMTypeRef wide = LLVMVectorType(e->i64, EDGE_LANES);
    V bytes = LLVMBuildSExt(e->builder, index, wide, "");
    bytes = emit_mul(e, bytes, emit_splat(e, buffer_stride(e, buffer, 0), EDGE_LANES));
    return LLVMBuildGEP2(e->builder, e->i8, first, &bytes, 1, "");
}

static V gather(Emit *e, V pointers, Dtype d) {
    LLVMTypeRef type = lanes_type(e, d), ptrs = LLVMVectorType(e->ptr, EDGE_LANES);
    V args[] = {pointers, emit_mask(e, EDGE_LANES, EDGE_LANES), LLVMConstNull(type)};
    V value = emit_call(e, "llvm.masked.gather", (LLVMTypeRef[]){type, ptrs}, 2, args, 3);
    align_pointer(e, value, 1, 1);
    return value;
}

/* Element i of the rows at `index`; NULL: of those at lane.pos and on. */
static V load(Emit *e, Val input, int64_t i, V index) {
    const Type *t = ir_type(e->f, input);
    Dtype d = (Dtype)t->dtype;
    int buffer = e->info[input].buffer;
    V ptr = element_pointer(e, buffer, t, i), value;
    bool run = !index && type_numel(t) == 1 && e->request->layout[buffer] == LAYOUT_dense;
    if (run && d != DT_bool) {
        V bytes = emit_mul(e, e->lane.pos, emit_i64(e, dtype_size(d)));
        value = load_masked(e, emit_at(e, ptr, bytes), lanes_type(e, d), 1);
    } else {
        if (!index)
            index = SEL(e->lane.mask, lanes_numbers(e, e->lane.pos),
                        emit_splat(e, emit_lane(e, lanes_numbers(e, e->lane.pos), 0), EDGE_LANES));
        value = gather(e, row_pointers(e, buffer, t, ptr, index), d);
    }
    return d == DT_bool ? NE(value, LLVMConstNull(LLVMTypeOf(value))) : value;
}

/* ---- one value in every lane ---- */

static V spread(Emit *e, Val v, int64_t i) {
    int64_t n = e->info[v].n, lanes = emit_lanes(e, n);
    V block = emit_eval(e, v, emit_fixed_block(e, n, i / lanes));
    return emit_splat(e, emit_lane(e, block, (unsigned)(i % lanes)), EDGE_LANES);
}

/* ---- shapes ---- */

static V eval_concat(Emit *e, Val v, int64_t i) {
    const Node *n = ir_node(e->f, v);
    const Type *t = ir_type(e->f, v);
    int axis = (int)n->attr.ints[0];
    int64_t inner = 1, first = 0;
    for (int k = axis + 1; k < t->rank; k++) inner *= t->dim[k];
    int64_t r = i % inner, d = i / inner % t->dim[axis], o = i / inner / t->dim[axis];
    for (uint32_t k = 0; k < n->num_args; k++) {
        int64_t dim = ir_type(e->f, n->args[k])->dim[axis];
        if (d < first + dim) return lanes_eval(e, n->args[k], (o * dim + d - first) * inner + r);
        first += dim;
    }
    TIGA_UNREACHABLE("an element past a concat's end");
}

static V eval_pad(Emit *e, Val v, int64_t i) {
    const Node *n = ir_node(e->f, v);
    const Type *t = ir_type(e->f, v), *from = ir_type(e->f, n->args[0]);
    int64_t at = 0, stride = 1;
    for (int k = t->rank - 1; k >= 0; k--) {
        const int64_t *low_high_interior = n->attr.ints + 3 * k;
        int64_t step = 1 + low_high_interior[2], x = i % t->dim[k] - low_high_interior[0];
        if (x < 0 || x % step || x / step >= from->dim[k])
            return LLVMConstNull(emit_vec(e, (Dtype)t->dtype, EDGE_LANES));
        at += x / step * stride;
        stride *= from->dim[k];
        i /= t->dim[k];
    }
    return lanes_eval(e, n->args[0], at);
}

/* ---- folds: fold.c's order ---- */

typedef struct {
    View kept, reduced;
} Axes;

static Axes fold_axes(Emit *e, Val v) {
    const Node *n = ir_node(e->f, v);
    const Type *t = ir_type(e->f, n->args[0]);
    int64_t stride[MAX_RANK], s = 1;
    uint32_t next = 0;
    Axes a = {0};
    for (int k = t->rank - 1; k >= 0; k--) {
        stride[k] = s;
        s *= t->dim[k];
    }
    for (int k = 0; k < t->rank; k++) {
        bool away = next < n->attr.num_ints && n->attr.ints[next] == k;
        View *side = away ? &a.reduced : &a.kept;
        next += away;
        side->dim[side->rank] = t->dim[k];
        side->stride[side->rank++] = stride[k];
    }
    return a;
}

static V take(Emit *e, bool max, V x, V y) { return max ? prim_max(e, x, y) : ADD(x, y); }

static V eval_fold(Emit *e, Val v, int64_t i) {
    Val x = ir_arg(e->f, v, 0);
    bool max = ir_op(e->f, v) == OP_fmax;
    Dtype d = (Dtype)ir_type(e->f, v)->dtype;
    Axes a = fold_axes(e, v);
    V lane[FEATURE_LANES];
    int64_t n = view_numel(&a.reduced), base = view_index(&a.kept, i);
    if (n == 0)
        return max ? fold_neutral(e, d, true, EDGE_LANES)
                   : LLVMConstNull(emit_vec(e, d, EDGE_LANES));
    for (int64_t r = 0; r < n; r++) {
        V y = lanes_eval(e, x, base + view_index(&a.reduced, r));
        V *to = &lane[r % FEATURE_LANES];
        *to = r < FEATURE_LANES ? y : take(e, max, *to, y);
    }
    int64_t num = n < FEATURE_LANES ? n : FEATURE_LANES;
    for (int64_t h = FEATURE_LANES / 2; h > 0; h /= 2)
        for (int64_t l = 0; l < h && l + h < num; l++) lane[l] = take(e, max, lane[l], lane[l + h]);
    return lane[0];
}

static V eval_cumsum(Emit *e, Val v, int64_t i) {
    const int64_t *axis_reverse = ir_node(e->f, v)->attr.ints;
    const Type *t = ir_type(e->f, v);
    int axis = (int)axis_reverse[0];
    int64_t inner = 1, count = t->dim[axis];
    for (int k = axis + 1; k < t->rank; k++) inner *= t->dim[k];
    int64_t first = axis_reverse[1] ? count - 1 : 0;
    V x = lanes_eval(e, ir_arg(e->f, v, 0), i);
    if (i / inner % count == first) return x;
    return ADD(lanes_eval(e, v, axis_reverse[1] ? i + inner : i - inner), x);
}

static V eval_matmul(Emit *e, Val v, int64_t i) {
    Val a = ir_arg(e->f, v, 0), b = ir_arg(e->f, v, 1);
    const Type *t = ir_type(e->f, v), *left = ir_type(e->f, a);
    int64_t width = t->dim[t->rank - 1], rows = t->dim[t->rank - 2];
    int64_t inner = left->dim[left->rank - 1], column = i % width, row = i / width;
    V x = LLVMConstNull(emit_vec(e, (Dtype)t->dtype, EDGE_LANES));
    for (int64_t k = 0; k < inner; k++) {
        V p = lanes_eval(e, a, row * inner + k);
        V q = lanes_eval(e, b, (row / rows * inner + k) * width + column);
        x = k ? FMA(p, q, x) : MUL(p, q);
    }
    return x;
}

/* ---- along maps ---- */

static V wide_index(Emit *e, V index) {
    return LLVMBuildSExt(e->builder, index, LLVMVectorType(e->i64, EDGE_LANES), "");
}

static bool is_of_rows(const Emit *e, Val v) { return level_of(e, v) == LEVEL_row; }

/* The numbers of the elements that the lanes stand for, in v's set. */
static V numbers_of(Emit *e, Val v) {
    V index = is_of_rows(e, v) ? e->lane.row : e->lane.edge;
    return index ? index : lanes_numbers(e, e->lane.pos);
}

static V eval_degree(Emit *e) {
    V row_ptr = emit_argument(e, e->args, offsetof(KernelArgs, row_ptr), e->ptr);
    V begin = LLVMBuildGEP2(e->builder, e->i64, row_ptr, &e->lane.row, 1, "");
    V eight = emit_i64(e, 8), end = LLVMBuildGEP2(e->builder, e->i8, begin, &eight, 1, "");
    return LLVMBuildSub(e->builder, gather(e, end, DT_i64), gather(e, begin, DT_i64), "");
}

static V eval_gather(Emit *e, Val v, int64_t i) {
    Map m = ir_node(e->f, v)->attr.map;
    Val x = ir_arg(e->f, v, 0);
    if (map_is_all(m) || m == e->kernel->map) return lanes_eval(e, x, i);
    return load(e, x, i, e->lane.col);
}

/* ---- the pull ---- */

static V eval_elem(Emit *e, Val v, int64_t i) {
    const Node *n = ir_node(e->f, v);
    V *args = ARENA_ARRAY(e->arena, V, n->num_args);
    for (uint32_t k = 0; k < n->num_args; k++) args[k] = lanes_eval(e, n->args[k], i);
    return elem_apply(e, n, args);
}

static V eval_shape(Emit *e, Val v, int64_t i) {
    switch ((int)ir_op(e->f, v)) {
    case OP_cast: {
        Val x = ir_arg(e->f, v, 0);
        Dtype from = (Dtype)ir_type(e->f, x)->dtype, to = (Dtype)ir_type(e->f, v)->dtype;
        return elem_cast(e, lanes_eval(e, x, i), from, to, EDGE_LANES);
    }
    case OP_concat: return eval_concat(e, v, i);
    case OP_pad: return eval_pad(e, v, i);
    case OP_fsum:
    case OP_fmax: return eval_fold(e, v, i);
    case OP_cumsum: return eval_cumsum(e, v, i);
    case OP_matmul: return eval_matmul(e, v, i);
    }
    View w = view_of(e, v);
    TIGA_ASSERT(w.base != v);
    return lanes_eval(e, w.base, view_index(&w, i));
}

static V eval_by_op(Emit *e, Val v, int64_t i) {
    const Node *n = ir_node(e->f, v);
    switch (op_info[n->op].class) {
    case CLASS_elem: return eval_elem(e, v, i);
    case CLASS_shape: return eval_shape(e, v, i);
    case CLASS_along:
        if (n->op == OP_degree) return eval_degree(e);
        if (n->op == OP_iota) return wide_index(e, numbers_of(e, v));
        if (n->op == OP_gather) return eval_gather(e, v, i);
        break;
    case CLASS_frame:
        if (n->op == OP_constant)
            return emit_const(e, (Dtype)n->types->dtype, n->attr.bits, EDGE_LANES);
        if (n->op == OP_input) return load(e, v, i, is_of_rows(e, v) ? e->lane.row : e->lane.edge);
        break;
    }
    TIGA_UNREACHABLE("a value that lanes do not compute");
}

/* Whether the row at hand has one v for all lanes. */
static bool is_spread(const Emit *e, Val v) {
    Level level = level_of(e, v);
    if (level == LEVEL_row) return e->kernel->map != MAP_NONE && !e->lane.row;
    return level != LEVEL_edge;
}

V lanes_eval(Emit *e, Val v, int64_t i) {
    V known = memo_get(e, v, KEY_LANES + i);
    if (known) return known;
    V value = is_spread(e, v) ? spread(e, v, i) : eval_by_op(e, v, i);
    return memo_put(e, v, KEY_LANES + i, value);
}

/* ---- stores ---- */

static void store(Emit *e, V value, V ptr, unsigned align) {
    V args[] = {value, ptr, e->lane.mask};
    V call =
        emit_call(e, "llvm.masked.store", (LLVMTypeRef[]){LLVMTypeOf(value), e->ptr}, 2, args, 3);
    align_pointer(e, call, 2, align);
}

static void scatter(Emit *e, V value, V pointers, unsigned align) {
    V args[] = {value, pointers, e->lane.mask};
    LLVMTypeRef types[] = {LLVMTypeOf(value), LLVMTypeOf(pointers)};
    V call = emit_call(e, "llvm.masked.scatter", types, 2, args, 3);
    align_pointer(e, call, 2, align);
}

/* Results lie dense. */
void lanes_store_result(Emit *e, uint32_t k) {
    Val v = e->f->results.data[k].val;
    Dtype d = (Dtype)ir_type(e->f, v)->dtype;
    int64_t n = e->info[v].n, size = dtype_size(d);
    V data = buffer_data(e, (int)(e->f->inputs.len + k));
    for (int64_t i = 0; i < n; i++) {
        V value = lanes_eval(e, v, i), first = emit_at(e, data, emit_i64(e, i * size));
        if (d == DT_bool) value = LLVMBuildZExt(e->builder, value, lanes_type(e, d), "");
        if (n == 1 && !e->lane.edge) {
            V bytes = emit_mul(e, e->lane.pos, emit_i64(e, size));
            store(e, value, emit_at(e, first, bytes), (unsigned)size);
        } else {
            LLVMTypeRef row = LLVMArrayType2(e->i8, (uint64_t)(n * size));
            V index = e->lane.edge ? e->lane.edge : lanes_numbers(e, e->lane.pos);
            scatter(e, value, LLVMBuildGEP2(e->builder, row, first, &index, 1, ""), (unsigned)size);
        }
    }
}
