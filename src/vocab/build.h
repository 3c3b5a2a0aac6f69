/* Building as a user thinks: shapes broadcast, parameters spread, dtypes meet, axes count the row
 * axis, and functions have names. On top of the strict emits of ir.h; used by the formula front end
 * and, through tiga_ops.h, by Python. Faults are those of ir.h: sticky, value 0. */
#ifndef TIGA_VOCAB_BUILD_H
#define TIGA_VOCAB_BUILD_H

#include "ir/ir.h"
#include "vocab/near.h"

typedef struct {
    Fn *f;
    bool homogeneous;
    Set src, dst, edges;
    Map to_src, to_dst; /* of the one relation, "r" */
    VEC(uint8_t) weak; /* by value: a number or run-time scalar, which never widens what it meets */
    VEC(const char *) names; /* by value: what the user calls it, or NULL */
} Builder;

Builder *build_new(Arena *takes, const char *name, bool homogeneous);
/* The finished program: every input, the results and what they need; literals are constants like any.
 * Halves become f32 where an input of theirs is read, and halves again where a result of theirs is. */
Fn *build_program(const Builder *b, Arena *takes);

/* The role is in the name: "src.x" "dst.x" "edge.x" "node.x", else a parameter. */
Val build_input(Builder *b, const char *name, Dtype dtype, int rank, const int64_t *dim);
Val build_scalar_input(Builder *b, const char *name, bool integer);
Val build_number(Builder *b, double value);
Val build_integer(Builder *b, int64_t value);
Val build_truth(Builder *b, bool value);
bool build_is_weak(const Builder *b, Val v);
/* The value of a weak constant. */
bool build_constant(const Builder *b, Val v, double *value);

/* A node value (or parameter) at the ends of edges: to_src or to_dst. */
Val build_at(Builder *b, Val v, Map m);
/* Brings operands to one dtype, set and feature shape. False where they do not fit. */
bool build_meet(Builder *b, const char *what, Val *args, uint32_t n);
/* Where operands meet: `all`, or the one set that they live on. False where there are two. */
bool build_common_set(Builder *b, const char *what, const Val *args, uint32_t n, Set *out);
/* v on the set s, if it is a parameter; v itself if it lives there. */
Val build_spread(Builder *b, Val v, Set s);
/* A strong value: a weak one becomes float32 or int64. */
Val build_strong(Builder *b, Val v);
/* v as a float: integers become float32. */
Val build_float(Builder *b, Val v);
/* As another dtype. To a half without rounding, which is for where it is stored: build_rounded does. */
Val build_cast(Builder *b, Val v, Dtype dtype);
Val build_rounded(Builder *b, Val v, Dtype dtype);
/* Messages call v by this name. */
void build_name(Builder *b, Val v, const char *name);
/* "edge values src.x of dtype float32 and shape (4, 16)" for messages; without a name where there is none. */
const char *build_describe(const Builder *b, Val v);
/* Feature axis of an axis counted with the row axis; -1 and a message where it is none. */
int build_axis(Builder *b, const char *what, Val v, int64_t axis);
/* Records a fault and gives 0. */
Val build_fail(Builder *b, Status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An operation by name; what ints mean is said in tiga_ops.h. */
Val build_call(Builder *b, const char *name, const Val *args, uint32_t num_args,
               const int64_t *ints, uint32_t num_ints);
const char *build_call_name(size_t k); /* NULL past the end */
bool build_has(const char *name);
/* Refuses the function that near starts from, its best guess being from what was tried already and all functions. */
Val build_unknown(Builder *b, Near near);

#endif
