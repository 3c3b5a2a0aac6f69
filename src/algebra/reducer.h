/* Reducers as algebra: four small functions, the form that is proven of them (capture/reducers.h), and
 * what the form becomes in a program.
 *
 * The meaning of a reducer is a fold over a row: state = identity; state = combine(state, lift(m)) for
 * each message m; finalize(state). The four are functions on scalars (rank 0, on `all`) with inputs
 * m0.. (lift), l0.. r0.. (combine), s0.. (finalize) and a result a state component. They are templates:
 * inlined, they take the dtypes and shapes of what they meet. Built-ins take the same road. */
#ifndef TIGA_ALGEBRA_REDUCER_H
#define TIGA_ALGEBRA_REDUCER_H

#include "vocab/build.h"

/* What is proven of combine and identity, of a component of the state or of all. The form, once proven,
 * defines the meaning. */
typedef enum {
    FORM_general,   /* nothing: a strict left fold */
    FORM_additive,  /* a sum from 0 */
    FORM_product,   /* a product from 1 */
    FORM_max,       /* the larger of two from -inf */
    FORM_min,       /* the smaller of two from +inf */
    FORM_logsumexp, /* log(exp + exp) from -inf */
    FORM_weighted,  /* sums from 0, scaled to the key, which is a maximum: online softmax */
    FORM_affine,    /* b of x -> a x + b, composed; the key is a, a product */
    FORM_first, /* of a component: what came with the key, a maximum or minimum; of ties the first */
    FORM_last,  /* likewise, of ties the last */
    FORM_mixed,  /* of all: components of several forms, each by itself */
    FORM_program /* no fold: a built-in of library.c, which has none of the four functions */
} Form;

typedef struct {
    Form form;
    uint32_t key; /* the component that leads this one; itself where none does */
    bool right;   /* affine: a right * b left + b right; else a left * b right + b left */
} Part;
const char *form_name(Form form);

enum { REDUCER_MAX_STATE = 256, REDUCER_MAX_MESSAGES = 16 };
enum { REDUCER_associative = 1, REDUCER_commutative = 2, REDUCER_deterministic = 4 };

typedef struct Reducer Reducer;
/* Writes the reduction of a message along a map into the program. */
typedef Val Lowering(Builder *b, const Reducer *r, Map map, Val message);

struct Reducer {
    Arena *arena;
    const char *name;
    int flags;
    uint32_t num_messages, num_state;
    const Fn *identity, *lift, *combine, *finalize;
    Form form;
    Part part[REDUCER_MAX_STATE]; /* unless the form is general or a program */
    bool has_mean;                /* finalize is the weighted mean itself, */
    uint32_t mean;                /* of this component */
    const char *note;             /* what is proven, for those who ask how a program is built */
    const char *doubt;            /* a counterexample to the flags; NULL where none is known */
    Lowering *lower;              /* of FORM_program */
    double share;                 /* of a quantile: how far along the order */
    bool has_empty;               /* the value of rows without messages is given */
    double empty;
};

/* lower.c: the reduction of messages on edges to destinations, or of node values to `all`, written into
 * the program: lift on the edges, one operation a proven form, finalize on the nodes. */
Val reducer_lower(Builder *b, const Reducer *r, const Val *messages, uint32_t num_messages);
/* v, and `value` in the rows marked: of v's dtype where that holds it. Of bool it must be 0 or 1. */
Val reducer_fill(Builder *b, const Reducer *r, Val rows, double value, Val v);
/* library.c: v at the message with the largest (smallest) key, the first (last) of ties; 0 without messages. */
Val library_chosen(Builder *b, const Reducer *r, Map map, Val key, bool min, bool last, Val v);
/* By name; NULL where there is none. */
Lowering *library_find(const char *name);
const char *library_name(size_t k); /* NULL past the end */
/* region.c: replays a region's operations in b. args by input number: m0 or l0 or s0 is args[0], r0 is
 * args[num_left]. out takes the results. False on a fault, recorded in b. */
bool region_inline(Builder *b, const Fn *region, const Val *args, uint32_t num_left, Val *out);
/* Scalar inputs "l0", "l1", .. of these dtypes. */
void region_inputs(Builder *b, char letter, const Type *types, uint32_t n, Val *out);
/* The region as b's results, of the state's dtypes where that is given; else numbers are of `number`'s. */
typedef struct {
    Dtype real, whole;
} Numbers;
Fn *region_typed(Builder *b, const Fn *region, const Val *args, uint32_t num_left, Numbers number,
                 const Type *state);

#endif
