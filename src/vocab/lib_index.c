/* Along one feature axis: slices, positions, rows by number, running sums. */
#include "vocab/lib_words.h"

/* Every axis whole but one. */
static Val slice_axis(Builder *b, Val x, int axis, int64_t start, int64_t count, int64_t step) {
    int64_t ints[3 * MAX_RANK];
    for (int k = 0; k < type(b, x)->rank; k++) {
        ints[3 * k] = k == axis ? start : 0;
        ints[3 * k + 1] = k == axis ? count : type(b, x)->dim[k];
        ints[3 * k + 2] = k == axis ? step : 1;
    }
    return ir_slice(b->f, x, ints);
}

static int64_t clamp_position(int64_t p, int64_t low, int64_t high, int64_t extent) {
    if (p < 0) p += extent;
    return p < low ? low : p > high ? high : p;
}

enum { MAX_REVERSED = 1 << 14 };

/* Python's slice; a falling one is the rising one with its parts put in reverse. */
Val lib_slice(Builder *b, const LibCall *c) {
    Val x = build_strong(b, c->args[0]);
    if (!x || c->num_ints != 4)
        return x ? build_fail(b, ST_INVAL, "slice: axis, start, stop, step") : 0;
    int axis = build_axis(b, c->name, x, c->ints[0]);
    if (axis < 0) return 0;
    int64_t n = type(b, x)->dim[axis], step = c->ints[3];
    if (step == 0) return build_fail(b, ST_INVAL, "slice: the step is 0");
    bool down = step < 0;
    int64_t start = clamp_position(c->ints[1], down ? -1 : 0, down ? n - 1 : n, n);
    int64_t stop = clamp_position(c->ints[2], down ? -1 : 0, down ? n - 1 : n, n);
    int64_t span = down ? start - stop : stop - start;
    int64_t stride = step == INT64_MIN ? INT64_MAX : down ? -step : step;
    int64_t count = span > 0 ? (span - 1) / stride + 1 : 0;
    if (!down) return slice_axis(b, x, axis, count ? start : 0, count, count ? stride : 1);
    if (count == 0) return slice_axis(b, x, axis, 0, 0, 1);
    if (count > MAX_REVERSED)
        return build_fail(b, ST_UNSUPPORTED, "slice: a falling slice of %lld elements: %d at most",
                          (long long)count, MAX_REVERSED);
    Val *parts = ARENA_ARRAY(b->f->arena, Val, count);
    for (int64_t k = 0; k < count; k++) parts[k] = slice_axis(b, x, axis, start - k * stride, 1, 1);
    return ir_concat(b->f, parts, (uint32_t)count, axis);
}

Val lib_index(Builder *b, const LibCall *c) {
    Val x = build_strong(b, c->args[0]);
    if (!x || c->num_ints != 2) return x ? build_fail(b, ST_INVAL, "index: axis, position") : 0;
    int axis = build_axis(b, c->name, x, c->ints[0]);
    if (axis < 0) return 0;
    int64_t n = type(b, x)->dim[axis], at = c->ints[1] < 0 ? c->ints[1] + n : c->ints[1];
    if (at < 0 || at >= n)
        return build_fail(b, ST_RANGE, "index %lld is out of range for axis of extent %lld of %s",
                          (long long)c->ints[1], (long long)n, build_describe(b, x));
    Val v = slice_axis(b, x, axis, at, 1, 1);
    Type t = *type(b, x);
    for (int k = axis; k < t.rank; k++) t.dim[k] = k + 1 < t.rank ? t.dim[k + 1] : 0;
    return v ? ir_reshape(b->f, v, t.dim, t.rank - 1) : 0;
}

/* As torch and NumPy: bool and int32 count in int64. */
Val lib_cumsum(Builder *b, const LibCall *c) {
    Val x = build_strong(b, c->args[0]);
    bool reverse = c->num_ints == 2 && c->ints[1];
    if (!x || c->num_ints > 2) return x ? build_fail(b, ST_INVAL, "cumsum: axis, reverse") : 0;
    int axis = build_axis(b, c->name, x, c->num_ints ? c->ints[0] : -1);
    if (axis < 0) return 0;
    if (type(b, x)->dtype <= DT_i32) x = ir_cast(b->f, x, DT_i64);
    return ir_cumsum(b->f, x, axis, reverse);
}

/* Rows of a table by a value: of a parameter for each element, or each element's own. */
Val lib_take(Builder *b, const LibCall *c) {
    Val table = build_strong(b, c->args[0]), index = build_strong(b, c->args[1]);
    if (!table || !index) return 0;
    if (type(b, index)->dtype != DT_i32 && type(b, index)->dtype != DT_i64)
        return build_fail(b, ST_TYPE, "%s: the index is %s, expected int32 or int64", c->name,
                          build_describe(b, index));
    if (type(b, table)->rank == 0)
        return build_fail(b, ST_SHAPE, "%s of %s: a table needs a feature axis, its rows", c->name,
                          build_describe(b, table));
    Set at;
    if (!build_common_set(b, c->name, (Val[]){table, index}, 2, &at)) return 0;
    table = build_spread(b, table, at);
    index = build_spread(b, index, at);
    return table && index ? ir_take(b->f, table, index) : 0;
}
