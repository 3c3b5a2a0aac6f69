/* The variant cache: from a request to loaded code, in memory, on disk, or compiled now.
 *
 * One a process. Of several threads that ask for one key, one compiles and the others wait. A
 * compilation that failed is not remembered. */
#ifndef TIGA_RUN_VARIANT_H
#define TIGA_RUN_VARIANT_H

#include "run/image.h"

/* gives a reference. Unwinds on a failed small allocation. */
Status variant_get(const CompileRequest *request, Loaded **out);

typedef struct {
    int64_t hits, misses;       /* in memory */
    int64_t disk_hits;          /* misses that the disk served */
    int64_t compiles, failures; /* the other misses */
    int64_t stores;             /* files written */
    double last_compile_ms, total_compile_ms;
    int64_t variants, code_bytes; /* held now */
} VariantStats;
VariantStats variant_stats(void);

/* Forgets everything in memory; code in use stays until its users let go. */
void variant_clear(void);

#endif
