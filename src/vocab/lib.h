/* The library: functions over the operations, found by name (lib.c). */
#ifndef TIGA_VOCAB_LIB_H
#define TIGA_VOCAB_LIB_H

#include "vocab/build.h"

typedef struct {
    const char *name;
    const Val *args; /* none is 0 */
    uint32_t num_args;
    const int64_t *ints;
    uint32_t num_ints;
} LibCall;

typedef struct {
    const char *name;
    Val (*build)(Builder *b, const LibCall *c);
    uint8_t min_args, max_args;
    bool takes_ints; /* axes, shapes */
} LibEntry;

const LibEntry *lib_find(const char *name);     /* NULL: none of that name */
bool lib_is_elementwise(const LibEntry *entry); /* its operands meet; three at most */
const char *lib_name(size_t k);                 /* NULL past the end */

#endif
