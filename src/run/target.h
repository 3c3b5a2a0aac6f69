/* What code is generated for, known without LLVM: enters every cache key. */
#ifndef TIGA_RUN_TARGET_H
#define TIGA_RUN_TARGET_H

#include <stddef.h>

/* The host: architecture, maker, family, model and the feature bits that the system lets programs
 * use. Two machines of one key run each other's code. */
const char *target_host_key(void);

/* LLVM's names for CompileRequest, empty for the host's own. TIGA_TARGET="cpu,+feature,-feature"
 * sets them: cpu up to the first comma, features after it. */
const char *target_cpu(void);
const char *target_features(void);

/* The second-level cache of a core in bytes: tables beyond it are worth a prefetch. */
size_t target_l2_bytes(void);

#endif
