/* The key of a variant: a byte text of everything that its code depends on, and of nothing else.
 *
 * Names, dead values and the numbers that sets, relations and values happen to have stay out, so two
 * programs that share a kernel share its code. Keys are compared whole: equal keys, equal code. */
#ifndef TIGA_RUN_KEY_H
#define TIGA_RUN_KEY_H

#include "codegen/codegen.h"

typedef struct {
    const uint8_t *bytes; /* in the arena */
    size_t size;
    uint64_t hash, second; /* two independent hashes */
} Key;

/* O(size of the kernel's body). */
Key key_of(Arena *a, const CompileRequest *request);
/* Of a whole program, the names of its inputs and results included: equal keys, equal programs. */
Key key_of_program(Arena *a, const Fn *f);

#endif
