/* A code generator for tests of the run time: its images jump to C functions of the test, which play
 * the part of generated code. Position independent in the sense that matters: the jumps are absolute. */
#ifndef TIGA_TESTS_FAKE_CODEGEN_H
#define TIGA_TESTS_FAKE_CODEGEN_H

#include "codegen/codegen.h"

#include <stdlib.h>
#include <string.h>

enum { JUMP_SIZE = 16 };

static inline void fake_jump(unsigned char *at, const void *address) {
#if defined(__x86_64__)
    memcpy(at, "\x48\xb8", 2); /* movabs rax, address; jmp rax */
    memcpy(at + 2, &address, 8);
    memcpy(at + 10, "\xff\xe0", 2);
#elif defined(__aarch64__)
    memcpy(at, "\x50\x00\x00\x58\x00\x02\x1f\xd6", 8); /* ldr x16, .+8; br x16 */
    memcpy(at + 8, &address, 8);
#else
#error "tests/fake_codegen.h: no jump for this architecture"
#endif
}

static inline Image fake_image(const KernelCode *code, uint64_t row_state_size,
                               uint64_t slot_size) {
    Image m = {.size = NUM_ENTRIES * JUMP_SIZE,
               .row_state_size = row_state_size,
               .slot_size = slot_size,
               .bytes = calloc(NUM_ENTRIES, JUMP_SIZE)};
    const void *address[NUM_ENTRIES];
    memcpy(address, code, sizeof address);
    for (int k = 0; k < NUM_ENTRIES; k++) {
        m.entry[k] = (uint64_t)k * JUMP_SIZE;
        fake_jump(m.bytes + m.entry[k], address[k]);
    }
    return m;
}

#endif
