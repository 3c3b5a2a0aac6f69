/* Memory: the heap with a hook for failing allocations, and arenas.
 *
 * An arena in a signature is the lifetime of what the function gives back. Arena allocation never
 * returns NULL: it unwinds to the guard (status.h). An arena made inside a guard belongs to that
 * guard until the guard ends well, so a failure leaks nothing; from then on to whoever holds it, also
 * where a guard further out fails later. */
#ifndef TIGA_BASE_MEM_H
#define TIGA_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The heap. mem_alloc gives NULL when there is no memory; mem_need unwinds instead. */
void *mem_alloc(size_t size);
void *mem_need(size_t size);
void mem_free(void *p);

/* Where the heap's memory comes from; the system's malloc and free until then, and for NULL. */
typedef struct {
    void *(*alloc)(void *ctx, size_t size); /* 16-byte aligned, or NULL */
    void (*free)(void *ctx, void *p);
    void *ctx;
} Allocator;
/* False, and nothing changes, while anything is allocated. Not while another thread allocates. */
bool mem_use(const Allocator *allocator);

/* Tests: the n-th allocation from now on fails (n >= 1), and every one after it while sticky;
 * n = 0 turns it off. Counts in all threads. */
void mem_fail_at(int64_t n);
/* Allocations alive; a leak test compares two readings. */
int64_t mem_live(void);

typedef struct Arena Arena;
Arena *arena_new(void);
void arena_free(Arena *a); /* NULL is fine */
/* No guard owns it from now on: it belongs to something that outlives the guard. */
void arena_keep(Arena *a);
void *arena_alloc(Arena *a, size_t size); /* zeroed, 16-byte aligned */
void *arena_copy(Arena *a, const void *data, size_t size);
char *arena_str(Arena *a, const char *s);
char *arena_printf(Arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t arena_size(const Arena *a); /* bytes held */

#define ARENA_NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

/* Growable array in an arena:  VEC(int) v = {0};  *vec_push(a, &v) = 3;  v.data[0], v.len */
#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *data;                                                                                   \
        uint32_t len, cap;                                                                         \
    }
#define vec_push(a, v)                                                                             \
    (vec_grow((a), (void **)&(v)->data, &(v)->len, &(v)->cap, sizeof *(v)->data),                  \
     &(v)->data[(v)->len++])
void vec_grow(Arena *a, void **data, const uint32_t *len, uint32_t *cap, size_t size);

/* Growable text in an arena; text is always terminated once something was put. */
typedef struct {
    Arena *arena;
    char *text;
    uint32_t len, cap;
} Text;
void text_put(Text *t, const char *s);
void text_putf(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
