#include "base/hash.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_bytes(const void *data, size_t size, uint64_t seed) {
    return XXH3_64bits_withSeed(data, size, seed);
}

uint64_t hash_str(const char *s, uint64_t seed) {
    return s ? hash_bytes(s, strlen(s), seed) : hash_bytes("", 0, seed);
}

uint64_t hash_u64(uint64_t value, uint64_t seed) { return hash_bytes(&value, sizeof value, seed); }
