/* Any value brought to any set, shape and dtype, so that whatever the bytes choose fits. */
#include "decode.h"

#include "ir/type.h"

bool fit_has_extent(const Type *t) {
    for (int k = 0; k < t->rank; k++)
        if (dim_is_set(t->dim[k])) return true;
    return false;
}

Val fit_computed(Decoder *d, Val v) {
    return ir_cast(d->f, v, dtype_computed((Dtype)ir_type(d->f, v)->dtype));
}

Val fit_number(Decoder *d, Val v) {
    return ir_type(d->f, v)->dtype == DT_bool ? ir_cast(d->f, v, DT_i32) : fit_computed(d, v);
}

static Val sum_axes(Decoder *d, Val v, uint32_t axes) {
    return ir_fsum(d->f, fit_number(d, v), axes);
}

Val fit_plain(Decoder *d, Val v) {
    const Type t = *ir_type(d->f, v);
    uint32_t extents = 0;
    for (int k = 0; k < t.rank; k++)
        if (dim_is_set(t.dim[k])) extents |= 1u << k;
    if (extents == 0) return v;
    return extents == 1 ? ir_enter(d->f, v, dim_set(t.dim[0])) : sum_axes(d, v, extents);
}

Val fit_dtype(Decoder *d, Val v, Dtype t) { return ir_cast(d->f, v, t); }

static bool broadcasts(const Type *from, int rank, const int64_t *dim) {
    int shift = rank - from->rank;
    for (int k = 0; k < from->rank; k++)
        if (shift < 0 || (from->dim[k] != 1 && from->dim[k] != dim[k + shift])) return false;
    return true;
}

Val fit_shape(Decoder *d, Val v, int rank, const int64_t *dim) {
    const Type t = *ir_type(d->f, v), to = type_of(DT_bool, SET_ALL, rank, dim);
    if (type_same_shape(&t, &to)) return v;
    if (broadcasts(&t, rank, dim)) return ir_bcast(d->f, v, dim, rank);
    if (type_numel(&t) == type_numel(&to)) return ir_reshape(d->f, v, dim, rank);
    Val s = ir_cast(d->f, sum_axes(d, v, (1u << t.rank) - 1), (Dtype)t.dtype);
    return ir_bcast(d->f, s, dim, rank);
}

bool fit_is_edges(const Decoder *d, Set s) {
    for (uint32_t r = 0; r < d->f->relations.len; r++)
        if (d->f->relations.data[r].edges == s) return true;
    return false;
}

Set fit_edges(Decoder *d) {
    return d->f->relations.data[decode_byte(d, d->f->relations.len)].edges;
}

static int relation_of(const Decoder *d, Set edges) {
    for (uint32_t r = 0; r < d->f->relations.len; r++)
        if (d->f->relations.data[r].edges == edges) return (int)r;
    TIGA_UNREACHABLE("no edges");
}

Map fit_map_from(Decoder *d, Set s) {
    if (!fit_is_edges(d, s)) return map_all(s);
    int r = relation_of(d, s);
    switch (decode_byte(d, 8)) {
    case 0: return map_all(s);
    case 1:
    case 2:
    case 3: return map_src(r);
    default: return map_dst(r);
    }
}

/* A map from edges to a set of nodes; to either end where both are that set. */
static Map map_to_nodes(Decoder *d, Set edges, Set nodes) {
    int r = relation_of(d, edges);
    if (d->f->relations.data[r].src != nodes) return map_dst(r);
    if (d->f->relations.data[r].dst != nodes) return map_src(r);
    return decode_byte(d, 2) ? map_dst(r) : map_src(r);
}

static Val reduce_by(Decoder *d, Val v, Map m) {
    v = fit_computed(d, v);
    if (ir_type(d->f, v)->dtype != DT_bool && decode_one_in(d, 6))
        return ir_part(d->f, ir_rmax(d->f, v, m), 0);
    return ir_reduce(d->f, v, m);
}

Val fit_set(Decoder *d, Val v, Set s) {
    Set from = ir_type(d->f, v)->set;
    if (from == s) return v;
    if (from == SET_ALL) return ir_gather(d->f, v, map_all(s));
    if (s == SET_ALL) return reduce_by(d, v, map_all(from));
    if (fit_is_edges(d, s) && !fit_is_edges(d, from))
        return ir_gather(d->f, v, map_to_nodes(d, s, from));
    if (fit_is_edges(d, from) && !fit_is_edges(d, s))
        return reduce_by(d, v, map_to_nodes(d, from, s));
    if (fit_is_edges(d, from)) return fit_set(d, fit_set(d, v, d->dst), s);
    return fit_set(d, fit_set(d, v, fit_edges(d)), s);
}

Val fit_like(Decoder *d, Val v, const Type *given) {
    Type t = *given; /* values move as the program grows */
    v = fit_shape(d, v, t.rank, t.dim);
    return fit_dtype(d, fit_set(d, v, t.set), (Dtype)t.dtype);
}

Val fit_float(Decoder *d, Val v) {
    if (dtype_is_float((Dtype)ir_type(d->f, v)->dtype)) return fit_computed(d, v);
    bool single = d->c->data != DATA_smooth && decode_byte(d, 4) < 3;
    return ir_cast(d->f, v, single ? DT_f32 : DT_f64);
}
