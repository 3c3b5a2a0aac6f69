/* The buffer pool: memory for results and temporaries, kept for the next call.
 *
 * The first touch of a fresh large block costs more than most kernels that fill it, so blocks freed
 * are kept, up to a cap, by size class (four a power of two). Blocks are 64-byte aligned; those of
 * 4 MiB and more ask for huge pages. What a block holds is left over from its last use. */
#ifndef TIGA_RUN_BUFFERS_H
#define TIGA_RUN_BUFFERS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* gives; NULL, and ST_NOMEM in the error record, where there is no memory. `what` names the buffer
 * in that message. Thread-safe. */
void *buf_alloc(size_t size, const char *what);
void buf_free(void *p); /* NULL is fine */

/* Gives every kept block back to the system. */
void buf_trim(void);
/* Bytes kept at most; the default is TIGA_BUFFERS, else 1 GiB or a quarter of the machine's memory,
 * whichever is less. Trims down to it. */
void buf_set_cap(size_t bytes);

typedef struct {
    int64_t used, kept, peak; /* bytes in use, kept for reuse, and the most ever of both */
    int64_t allocs, reuses;   /* calls, and how many of them a kept block served */
    int64_t cap;
} BufStats;
BufStats buf_stats(void);

#endif
