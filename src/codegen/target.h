/* The target machine that code is made for. */
#ifndef TIGA_CODEGEN_TARGET_H
#define TIGA_CODEGEN_TARGET_H

#include "base/status.h"

#include <llvm-c/TargetMachine.h>

typedef struct {
    LLVMTargetMachineRef machine;
    char *triple;     /* LLVM's message memory */
    int vector_bytes; /* of the widest register: 64, 32 or 16 */
    int num_vectors;  /* registers of that width */
    bool is_aarch64;
    bool asks_l1; /* gathered rows are asked for into L1, not far ahead: see prefetch.c */
    bool has_f16; /* converts binary16 in vectors */
} Target;

/* cpu "": the host's own, features included. A cpu may be led by a triple: "aarch64-linux-gnu:neoverse-n1".
 * Refuses targets without fused multiply-add (ST_UNSUPPORTED). On success target_close ends it. */
Status target_open(const char *cpu, const char *features, Target *out);
void target_close(Target *t);

#endif
