/* Heap with a failing-allocation hook; bump arenas of growing blocks; vectors and text in them. */
#include "base/mem.h"

#include "base/mem_internal.h"
#include "base/status.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int64_t live, countdown;

static void *system_alloc(void *ctx, size_t size) { return (void)ctx, malloc(size); }
static void system_free(void *ctx, void *p) { (void)ctx, free(p); }
static const Allocator system_heap = {system_alloc, system_free, NULL};
static Allocator heap = {system_alloc, system_free, NULL};

bool mem_use(const Allocator *allocator) {
    if (mem_live()) return false;
    heap = allocator ? *allocator : system_heap;
    return true;
}

void *mem_alloc(size_t size) {
    if (atomic_load_explicit(&countdown, memory_order_relaxed) > 0 &&
        atomic_fetch_sub(&countdown, 1) == 1) {
        atomic_store(&countdown, 1); /* stays failing until mem_fail_at(0) */
        return NULL;
    }
    void *p = heap.alloc(heap.ctx, size ? size : 1);
    if (p) atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return p;
}

void *mem_need(size_t size) {
    void *p = mem_alloc(size);
    if (!p) guard_fail(ST_NOMEM, "out of memory: %zu bytes", size);
    return p;
}

void mem_free(void *p) {
    if (!p) return;
    atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    heap.free(heap.ctx, p);
}

void mem_fail_at(int64_t n) { atomic_store(&countdown, n); }

int64_t mem_live(void) { return atomic_load(&live); }

typedef struct Block {
    struct Block *next;
    size_t size, used; /* bytes after the header */
    _Alignas(16) char data[];
} Block;

struct Arena {
    Block *blocks;
    size_t size;
    Arena *next, **link; /* in a guard's list; link is NULL outside */
};

enum { FIRST_BLOCK = 1024, LARGEST_BLOCK = 1 << 20 };

static void list_add(ArenaList *list, Arena *a) {
    a->next = list->first;
    a->link = &list->first;
    if (a->next) a->next->link = &a->next;
    list->first = a;
}

static void list_remove(Arena *a) {
    if (!a->link) return;
    *a->link = a->next;
    if (a->next) a->next->link = a->link;
    a->link = NULL;
}

Arena *arena_new(void) {
    Arena *a = mem_need(sizeof *a);
    *a = (Arena){0};
    if (guard_arenas()) list_add(guard_arenas(), a);
    return a;
}

void arena_free(Arena *a) {
    if (!a) return;
    list_remove(a);
    for (Block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        mem_free(b);
    }
    mem_free(a);
}

void arena_keep(Arena *a) { list_remove(a); }

void arena_list_free(ArenaList *list) {
    while (list->first) arena_free(list->first);
}

void arena_list_release(ArenaList *list) {
    while (list->first) list_remove(list->first);
}

static Block *block_new(Arena *a, size_t need) {
    size_t size = a->size < FIRST_BLOCK ? FIRST_BLOCK : a->size;
    if (size > LARGEST_BLOCK) size = LARGEST_BLOCK;
    if (size < need) size = need;
    Block *b = mem_need(sizeof *b + size);
    *b = (Block){.next = a->blocks, .size = size};
    a->blocks = b;
    a->size += size;
    return b;
}

void *arena_alloc(Arena *a, size_t size) {
    if (size > SIZE_MAX / 2) guard_fail(ST_NOMEM, "out of memory: %zu bytes", size);
    size = (size + 15) & ~(size_t)15;
    Block *b = a->blocks;
    if (!b || b->size - b->used < size) b = block_new(a, size);
    void *p = b->data + b->used;
    b->used += size;
    return memset(p, 0, size);
}

void *arena_copy(Arena *a, const void *data, size_t size) {
    void *p = arena_alloc(a, size);
    if (size) memcpy(p, data, size);
    return p;
}

char *arena_str(Arena *a, const char *s) { return arena_copy(a, s, strlen(s) + 1); }

static char *print_into(Arena *a, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *s = arena_alloc(a, (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, format, args);
    return s;
}

char *arena_printf(Arena *a, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *s = print_into(a, format, args);
    va_end(args);
    return s;
}

size_t arena_size(const Arena *a) { return a->size; }

void vec_grow(Arena *a, void **data, const uint32_t *len, uint32_t *cap, size_t size) {
    if (*len < *cap) return;
    uint32_t grown = *cap ? *cap * 2 : 8;
    void *fresh = arena_alloc(a, grown * size);
    if (*len) memcpy(fresh, *data, *len * size);
    *data = fresh;
    *cap = grown;
}

void text_put(Text *t, const char *s) {
    size_t n = strlen(s);
    while (t->cap < t->len + n + 1) {
        uint32_t grown = t->cap ? t->cap * 2 : 256;
        char *fresh = arena_alloc(t->arena, grown);
        if (t->len) memcpy(fresh, t->text, t->len);
        t->text = fresh;
        t->cap = grown;
    }
    memcpy(t->text + t->len, s, n + 1);
    t->len += (uint32_t)n;
}

void text_putf(Text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *s = print_into(t->arena, format, args);
    va_end(args);
    text_put(t, s);
}
