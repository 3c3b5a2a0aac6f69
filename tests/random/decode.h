/* Inside the decoder: what a step draws on. */
#ifndef TESTS_RANDOM_DECODE_H
#define TESTS_RANDOM_DECODE_H

#include "random.h"

typedef struct {
    Fn *f;
    const Case *c;
    uint32_t pos;      /* of the next byte */
    Set src, dst;      /* the same where homogeneous */
    int64_t max_numel; /* of one element */
    uint32_t num_inputs;
    VEC(Val) pool;
    VEC(double) size; /* of pool values: about how large they are; keeps sums tame */
} Decoder;

/* The next byte below n; 0 past the end. */
uint32_t decode_byte(Decoder *d, uint32_t n);
bool decode_one_in(Decoder *d, uint32_t n);

/* A value of the pool, as a plain one (no extent of a set among its features). */
Val decode_pick(Decoder *d);
double decode_size(const Decoder *d, Val v);
/* Puts v into the pool, tamed where it has grown. */
void decode_put(Decoder *d, Val v, double size);

/* ---- fit.c: any value becomes what is asked for ---- */

bool fit_has_extent(const Type *t);
Val fit_plain(Decoder *d, Val v);
Val fit_dtype(Decoder *d, Val v, Dtype t);
Val fit_shape(Decoder *d, Val v, int rank, const int64_t *dim);
Val fit_set(Decoder *d, Val v, Set s);
Val fit_like(Decoder *d, Val v, const Type *t); /* all three */
Val fit_float(Decoder *d, Val v);               /* never a half */
Val fit_number(Decoder *d, Val v);              /* neither bool nor half */
Val fit_computed(Decoder *d, Val v);            /* no half */
Map fit_map_from(Decoder *d, Set edges);        /* one of the maps that start there */
Set fit_edges(Decoder *d);
bool fit_is_edges(const Decoder *d, Set s);

/* ---- steps.c ---- */

Val step_input(Decoder *d);
/* One operation over values of the pool, joined to it. */
void step_any(Decoder *d);

#endif
