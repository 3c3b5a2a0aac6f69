/* Types: what an operation gives, asked by builder, parser and verifier alike. */
#ifndef TIGA_IR_TYPE_H
#define TIGA_IR_TYPE_H

#include "ir/ir.h"

Type type_of(Dtype dtype, Set set, int rank, const int64_t *dim);
Type type_scalar(Dtype dtype, Set set);
Type type_with_set(Type t, Set s);
Type type_with_dtype(Type t, Dtype d);
bool type_equal(const Type *a, const Type *b);
bool type_same_shape(const Type *a, const Type *b); /* feature shapes; not the set, not the dtype */
int64_t
type_numel(const Type *t); /* of one element; -1 where a set's extent enters, INT64_MAX at most */
/* What is wrong with a type of f, NULL where nothing is. */
const char *type_fault(const Fn *f, const Type *t);
/* "f32 @ r.edges [4, 16]" into the arena. */
const char *type_text(Arena *a, const Fn *f, const Type *t);

bool map_exists(const Fn *f, Map m);

/* The types of what op gives, at most MAX_RESULTS or as many as its body's, counted in num_results. A fault is returned and
 * its message names the operation and both operands' types. */
Status type_infer(const Fn *f, Op op, const Val *args, uint32_t num_args, const Attr *attr,
                  Type *types, uint32_t *num_results);

#endif
