/* 64-bit hashes of bytes (xxHash), for hash-consing, variant keys and checksums. */
#ifndef TIGA_BASE_HASH_H
#define TIGA_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *data, size_t size, uint64_t seed);
uint64_t hash_str(const char *s, uint64_t seed); /* NULL hashes as the empty text */
uint64_t hash_u64(uint64_t value, uint64_t seed);

#endif
