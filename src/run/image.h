/* Loaded code: an image of the generator (codegen.h) mapped and made executable, counted.
 *
 * Pages are written first and made executable after; they are never both at once. */
#ifndef TIGA_RUN_IMAGE_H
#define TIGA_RUN_IMAGE_H

#include "codegen/codegen.h"

typedef struct {
    KernelCode code;
    uint64_t row_state_size, slot_size; /* bytes */
    uint64_t block_edges, block_bytes;  /* Image's */
    uint64_t num_stages, num_shares;    /* Image's */
    uint64_t code_size;
    void *pages;
    size_t mapped; /* bytes */
    _Atomic int64_t refs;
} Loaded;

/* Copies the image; its bytes stay the caller's. `name` is what perf shows (TIGA_PERF=1). gives. */
Status image_load(const Image *image, const char *name, Loaded **out);
Loaded *image_ref(Loaded *l);
void image_unref(Loaded *l); /* NULL is fine */

#endif
