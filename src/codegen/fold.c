/* fsum and fmax in feature order (ir/prim.h): 16 lanes that start as the first 16 elements, then a
 * halving tree. A lane without an element holds what changes nothing: -0 in a sum (x + -0 is x for every
 * x), the least value in a maximum.
 *
 * Across: the vector's lanes are the order's own lanes, one result at a time; for one result or where
 * the reduced elements are neighbours. Along: a vector of results at a time, 16 accumulators. */
#include "codegen/prim_llvm.h"

enum { UNROLLED = 64, ENOUGH_ACROSS = 8 };

typedef struct {
    Val x;
    bool max, direct; /* direct: x is pulled, not read from memory */
    Dtype dtype;
    int64_t n; /* elements a result */
    int cell;
    View kept, reduced;
    Source source;
} Fold;

static LLVMValueRef take(Emit *e, const Fold *f, LLVMValueRef x, LLVMValueRef y) {
    return f->max ? prim_max(e, x, y) : ADD(x, y);
}

LLVMValueRef fold_neutral(Emit *e, Dtype d, bool max, unsigned lanes) {
    switch (d) {
    case DT_i32: return emit_const(e, DT_i32, max ? (uint32_t)INT32_MIN : 0, lanes);
    case DT_i64: return emit_const(e, DT_i64, max ? (uint64_t)INT64_MIN : 0, lanes);
    case DT_f32:
    case DT_f64: return emit_real(e, d, max ? -__builtin_inf() : -0.0, lanes);
    case DT_bool:
    case DT_f16:
    case DT_bf16:
    case NUM_DTYPES: break;
    }
    TIGA_UNREACHABLE("a fold of bool");
}

/* ---- across ---- */

static Block block_at(int64_t n, unsigned lanes, LLVMValueRef offset, int64_t number,
                      int64_t left) {
    return (Block){.n = n,
                   .number = number,
                   .lanes = lanes,
                   .count = left < lanes ? (unsigned)left : lanes,
                   .offset = offset,
                   .rolled = number < 0};
}

/* Elements of the result whose elements `source` starts at; absent ones neutral. */
static LLVMValueRef fetch(Emit *e, const Fold *f, Source source, Block b) {
    LLVMValueRef x = f->direct ? emit_eval(e, f->x, b) : view_load(e, &f->reduced, source, b);
    if (b.count == b.lanes) return x;
    return SEL(emit_mask(e, b.lanes, b.count), x, fold_neutral(e, f->dtype, f->max, b.lanes));
}

/* The vectors num[0 .. num_groups) of `lanes` lanes, 16 at most together, to lane 0. */
static LLVMValueRef tree(Emit *e, const Fold *f, LLVMValueRef *group, unsigned num_groups,
                         unsigned lanes) {
    for (unsigned h = FEATURE_LANES / 2 / lanes; h > 0; h /= 2)
        for (unsigned g = 0; g < h && g + h < num_groups; g++)
            group[g] = take(e, f, group[g], group[g + h]);
    LLVMValueRef x = group[0];
    for (unsigned h = lanes / 2; h > 0; h /= 2)
        x = take(e, f, emit_pick(e, x, 0, h), emit_pick(e, x, h, h));
    return x;
}

/* Groups take the rounds of 16 elements from the second to the last whole one. */
static void take_rounds(Emit *e, const Fold *f, Source source, LLVMValueRef *group,
                        unsigned lanes) {
    unsigned num_groups = FEATURE_LANES / lanes;
    LLVMTypeRef type = emit_vec(e, f->dtype, lanes);
    LLVMValueRef temp[FEATURE_LANES];
    for (unsigned g = 0; g < num_groups; g++) {
        temp[g] = emit_temp(e, type);
        LLVMBuildStore(e->builder, group[g], temp[g]);
    }
    int64_t whole = f->n / FEATURE_LANES * FEATURE_LANES;
    Loop l =
        emit_loop(e, emit_i64(e, FEATURE_LANES), emit_i64(e, whole), emit_i64(e, FEATURE_LANES));
    for (unsigned g = 0; g < num_groups; g++) {
        LLVMValueRef at = emit_add(e, l.index, emit_i64(e, g * lanes));
        Block b = block_at(f->n, lanes, at, e->next_loop--, lanes);
        LLVMValueRef old = LLVMBuildLoad2(e->builder, type, temp[g], "");
        LLVMBuildStore(e->builder, take(e, f, old, fetch(e, f, source, b)), temp[g]);
    }
    emit_loop_end(e, &l);
    for (unsigned g = 0; g < num_groups; g++)
        group[g] = LLVMBuildLoad2(e->builder, type, temp[g], "");
}

static LLVMValueRef fold_across(Emit *e, const Fold *f, Source source) {
    unsigned lanes = emit_lanes(e, f->n), num_groups = FEATURE_LANES / lanes;
    int64_t num = (f->n + lanes - 1) / lanes, done = 0;
    LLVMValueRef group[FEATURE_LANES];
    bool rolled = emit_rolled(e, f->n);
    for (int64_t k = 0; k < num; k++) {
        if (rolled && k == num_groups) {
            take_rounds(e, f, source, group, lanes);
            k = f->n / FEATURE_LANES * num_groups;
            if (k == num) break;
        }
        LLVMValueRef at = emit_i64(e, k * lanes);
        LLVMValueRef x = fetch(e, f, source, block_at(f->n, lanes, at, k, f->n - k * lanes));
        group[k % num_groups] = k < num_groups ? x : take(e, f, group[k % num_groups], x);
        done++;
    }
    return tree(e, f, group, done < num_groups ? (unsigned)done : num_groups, lanes);
}

static void store_result(Emit *e, const Fold *f, LLVMValueRef i, LLVMValueRef value) {
    LLVMValueRef ptr = cell_pointer(e, f->cell);
    LLVMValueRef at = emit_mul(e, i, emit_i64(e, dtype_size(f->dtype)));
    emit_store(e, emit_at(e, ptr, at), f->dtype, value, 1, 1, (unsigned)dtype_size(f->dtype));
}

static void result_across(Emit *e, LLVMValueRef i, void *ctx) {
    const Fold *f = ctx;
    LLVMValueRef at = view_element(e, &f->kept, i);
    Source source = view_advance(e, f->source, at, view_reach(&f->reduced));
    store_result(e, f, i, fold_across(e, f, source));
}

static bool has_few(const Emit *e, const Fold *f) {
    return view_numel(&f->kept) * emit_num_blocks(e, f->n) <= UNROLLED;
}

static void all_across(Emit *e, Fold *f) {
    if (f->direct) store_result(e, f, emit_i64(e, 0), fold_across(e, f, (Source){0}));
    else emit_each(e, view_numel(&f->kept), has_few(e, f), result_across, f);
}

/* ---- along ---- */

static LLVMValueRef column(Emit *e, const Fold *f, LLVMValueRef r, Block b) {
    LLVMValueRef at = emit_add(e, view_element(e, &f->reduced, r), emit_i64(e, f->kept.offset));
    View kept = f->kept;
    kept.offset = 0;
    return view_load(e, &kept, view_advance(e, f->source, at, view_reach(&kept)), b);
}

/* Elements 16 .. n - 1 in a loop: n is a multiple of 16 up to what is left for the caller. */
static void columns_rolled(Emit *e, const Fold *f, LLVMValueRef *lane, Block b) {
    LLVMTypeRef type = emit_vec(e, f->dtype, b.lanes);
    LLVMValueRef temp[FEATURE_LANES];
    for (int l = 0; l < FEATURE_LANES; l++) {
        temp[l] = emit_temp(e, type);
        LLVMBuildStore(e->builder, lane[l], temp[l]);
    }
    int64_t whole = f->n / FEATURE_LANES * FEATURE_LANES;
    Loop loop =
        emit_loop(e, emit_i64(e, FEATURE_LANES), emit_i64(e, whole), emit_i64(e, FEATURE_LANES));
    for (int l = 0; l < FEATURE_LANES; l++) {
        LLVMValueRef old = LLVMBuildLoad2(e->builder, type, temp[l], "");
        LLVMValueRef x = column(e, f, emit_add(e, loop.index, emit_i64(e, l)), b);
        LLVMBuildStore(e->builder, take(e, f, old, x), temp[l]);
    }
    emit_loop_end(e, &loop);
    for (int l = 0; l < FEATURE_LANES; l++) lane[l] = LLVMBuildLoad2(e->builder, type, temp[l], "");
}

static void along_block(Emit *e, Block b, void *ctx) {
    const Fold *f = ctx;
    LLVMValueRef lane[FEATURE_LANES];
    int64_t r = 0;
    for (; r < f->n && r < FEATURE_LANES; r++) lane[r] = column(e, f, emit_i64(e, r), b);
    unsigned num = (unsigned)r;
    if (f->n > UNROLLED) {
        columns_rolled(e, f, lane, b);
        r = f->n / FEATURE_LANES * FEATURE_LANES;
    }
    for (; r < f->n; r++) {
        LLVMValueRef *x = &lane[r % FEATURE_LANES];
        *x = take(e, f, *x, column(e, f, emit_i64(e, r), b));
    }
    cell_store(e, f->cell, b, tree(e, f, lane, num, 1));
}

/* ---- both ---- */

static void identity_block(Emit *e, Block b, void *ctx) {
    const Fold *f = ctx;
    LLVMValueRef zero = LLVMConstNull(emit_vec(e, f->dtype, b.lanes));
    cell_store(e, f->cell, b, f->max ? fold_neutral(e, f->dtype, f->max, b.lanes) : zero);
}

/* The operand's axes, sorted into those that stay and those summed away. */
static void split_axes(const Emit *e, Val v, const View *w, Fold *f) {
    const Node *n = ir_node(e->f, v);
    uint32_t next = 0;
    f->kept.offset = w->offset;
    for (int k = 0; k < w->rank; k++) {
        bool away = next < n->attr.num_ints && n->attr.ints[next] == k;
        View *side = away ? &f->reduced : &f->kept;
        next += away;
        side->dim[side->rank] = w->dim[k];
        side->stride[side->rank++] = w->stride[k];
    }
    f->n = view_numel(&f->reduced);
}

static bool goes_across(const Fold *f) {
    View c = view_coalesce(&f->reduced);
    bool neighbours = c.rank == 0 || c.stride[c.rank - 1] == 1;
    return neighbours && (f->n >= ENOUGH_ACROSS || view_numel(&f->kept) <= 4);
}

static Fold fold_of(const Emit *e, Val v) {
    Val x = ir_arg(e->f, v, 0);
    Fold f = {.x = x,
              .max = ir_op(e->f, v) == OP_fmax,
              .direct = e->info[v].n == 1,
              .cell = e->info[v].cell,
              .dtype = (Dtype)ir_type(e->f, v)->dtype};
    View w = view_of(e, x);
    split_axes(e, v, &w, &f);
    return f;
}

bool fold_splits(const Emit *e, Val v) {
    Fold f = fold_of(e, v);
    if (f.n == 0 || e->info[v].n == 0 || f.direct) return false;
    return goes_across(&f) ? !has_few(e, &f) : emit_rolled(e, e->info[v].n);
}

void fold_fill(Emit *e, Val v) {
    Fold f = fold_of(e, v);
    if (f.n == 0 || e->info[v].n == 0) {
        emit_blocks(e, e->info[v].n, identity_block, &f);
        return;
    }
    if (!f.direct) f.source = view_source(e, view_of(e, f.x).base);
    if (f.direct || goes_across(&f)) all_across(e, &f);
    else emit_blocks(e, e->info[v].n, along_block, &f);
}
