/* How lib.c, lib_index.c and lib_elem.c write: calls of operations by name, numbers, selections. */
#ifndef TIGA_VOCAB_LIB_WORDS_H
#define TIGA_VOCAB_LIB_WORDS_H

#include "vocab/lib.h"
#include "ir/type.h"

static inline Val call(Builder *b, const char *name, Val x, Val y) {
    Val args[] = {x, y};
    return build_call(b, name, args, y ? 2 : 1, NULL, 0);
}

static inline Val number(Builder *b, double value) { return build_number(b, value); }

static inline Val select(Builder *b, Val c, Val x, Val y) {
    Val args[] = {c, x, y};
    return build_call(b, "where", args, 3, NULL, 0);
}

static inline const Type *type(Builder *b, Val v) { return ir_type(b->f, v); }

/* The functions of lib_index.c. */
Val lib_slice(Builder *b, const LibCall *c);
Val lib_index(Builder *b, const LibCall *c);
Val lib_take(Builder *b, const LibCall *c);
Val lib_cumsum(Builder *b, const LibCall *c);

/* The functions of lib_elem.c. */
extern const LibEntry lib_elementwise[];
extern const size_t lib_num_elementwise;

#endif
