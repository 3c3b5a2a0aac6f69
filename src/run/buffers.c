/* Free lists by size class under one lock. A block's header lies in the 64 bytes before it. */
#include "run/buffers.h"

#include "base/debug.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Block Block;
struct Block {
    Block *next;
    void *raw;   /* what the heap gave */
    size_t size; /* bytes after the header: the class's */
    int class;
};

#define HUGE_FROM ((size_t)4 << 20)
#define HUGE_PAGE ((size_t)2 << 20)
enum { ALIGN = 64, MIN_SHIFT = 6, NUM_CLASSES = 4 * (48 - MIN_SHIFT) };
_Static_assert(sizeof(Block) <= ALIGN, "a header fits before its block");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static Block *kept[NUM_CLASSES];
static BufStats stats;

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

static int64_t default_cap(void) {
    enum { GIB = 1 << 30 };
    const char *given = debug_get("BUFFERS");
    if (given) return strtoll(given, NULL, 10);
    int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return memory > 0 && memory / 4 < GIB ? memory / 4 : GIB;
}

static void init(void) {
    stats.cap = default_cap();
    pthread_atfork(before_fork, after_fork, after_fork);
}

/* Class 4 k + q holds (4 + q) / 4 * 2^(k + MIN_SHIFT) bytes. */
static size_t class_size(int class) {
    return (size_t)(4 + class % 4) << (class / 4 + MIN_SHIFT - 2);
}

static int class_of(size_t size) {
    if (size <= ((size_t)1 << MIN_SHIFT)) return 0;
    int shift = 63 - __builtin_clzll(size);
    int class = 4 * (shift - MIN_SHIFT) + (int)((size >> (shift - 2)) & 3);
    return class_size(class) < size ? class + 1 : class;
}

static char *data_of(Block *b) { return (char *)b + ALIGN; }
static Block *block_of(void *p) { return (Block *)((char *)p - ALIGN); }

static Block *block_new(int class) {
    size_t size = class_size(class), align = size >= HUGE_FROM ? HUGE_PAGE : ALIGN;
    char *raw = mem_alloc(size + ALIGN + align);
    if (!raw) return NULL;
    char *start = raw + (align - (uintptr_t)raw % align) % align;
    if (align == HUGE_PAGE) madvise(start, (size + ALIGN) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    Block *b = (Block *)start;
    *b = (Block){.raw = raw, .size = size, .class = class};
    return b;
}

static Block *take_kept(int class) {
    Block *b = kept[class];
    if (b) {
        kept[class] = b->next;
        stats.kept -= (int64_t)b->size;
        stats.reuses++;
    }
    return b;
}

static void count_alloc(const Block *b) {
    stats.allocs++;
    stats.used += (int64_t)b->size;
    if (stats.used + stats.kept > stats.peak) stats.peak = stats.used + stats.kept;
}

void *buf_alloc(size_t size, const char *what) {
    pthread_once(&once, init);
    int class = size >> 47 ? NUM_CLASSES : class_of(size);
    pthread_mutex_lock(&lock);
    Block *b = class < NUM_CLASSES ? take_kept(class) : NULL;
    pthread_mutex_unlock(&lock);
    if (!b && class < NUM_CLASSES) {
        b = block_new(class);
        if (!b && buf_stats().kept) {
            buf_trim();
            b = block_new(class);
        }
    }
    if (!b) {
        err_set(ST_NOMEM, "out of memory: %zu bytes for '%s'", size, what);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    count_alloc(b);
    pthread_mutex_unlock(&lock);
    return data_of(b);
}

void buf_free(void *p) {
    if (!p) return;
    Block *b = block_of(p);
    pthread_mutex_lock(&lock);
    stats.used -= (int64_t)b->size;
    bool keep = stats.kept + (int64_t)b->size <= stats.cap;
    if (keep) {
        b->next = kept[b->class];
        kept[b->class] = b;
        stats.kept += (int64_t)b->size;
    }
    pthread_mutex_unlock(&lock);
    if (!keep) mem_free(b->raw);
}

/* Largest first: they are the ones that fill a cap. */
static Block *take_surplus(int64_t cap) {
    Block *list = NULL;
    for (int class = NUM_CLASSES - 1; class >= 0 && stats.kept > cap; class--) {
        while (kept[class] && stats.kept > cap) {
            Block *b = kept[class];
            kept[class] = b->next;
            stats.kept -= (int64_t)b->size;
            b->next = list;
            list = b;
        }
    }
    return list;
}

static void free_list(Block *list) {
    for (Block *b = list, *next; b; b = next) {
        next = b->next;
        mem_free(b->raw);
    }
}

void buf_trim(void) {
    pthread_mutex_lock(&lock);
    Block *list = take_surplus(0);
    pthread_mutex_unlock(&lock);
    free_list(list);
}

void buf_set_cap(size_t bytes) {
    pthread_once(&once, init);
    pthread_mutex_lock(&lock);
    stats.cap = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
    Block *list = take_surplus(stats.cap);
    pthread_mutex_unlock(&lock);
    free_list(list);
}

BufStats buf_stats(void) {
    pthread_once(&once, init);
    pthread_mutex_lock(&lock);
    BufStats s = stats;
    pthread_mutex_unlock(&lock);
    return s;
}
