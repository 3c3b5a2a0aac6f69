/* A hash table of entries under one lock. An entry without code is being made by some thread of
 * process `maker`; in a forked child that thread is missing, and whoever asks next takes over. */
#include "run/variant.h"

#include "base/log.h"
#include "run/codegen_open.h"
#include "run/disk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct Entry Entry;
struct Entry {
    Entry *next;
    Loaded *loaded; /* NULL while it is made */
    pid_t maker;
    Key key; /* bytes follow the entry */
    uint8_t bytes[];
};

enum { NUM_BUCKETS = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t made = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static Entry *buckets[NUM_BUCKETS];
static VariantStats stats;

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
static void after_fork_in_child(void) {
    made = (pthread_cond_t)PTHREAD_COND_INITIALIZER; /* its waiters stayed with the parent */
    pthread_mutex_unlock(&lock);
}
static void watch_forks(void) { pthread_atfork(before_fork, after_fork, after_fork_in_child); }

static Entry **find(const Key *key) {
    Entry **e = &buckets[key->hash % NUM_BUCKETS];
    while (*e && ((*e)->key.hash != key->hash || (*e)->key.size != key->size ||
                  memcmp((*e)->bytes, key->bytes, key->size) != 0))
        e = &(*e)->next;
    return e;
}

static Entry *entry_new(const Key *key) {
    Entry *e = mem_alloc(sizeof *e + key->size);
    if (!e) return NULL;
    *e = (Entry){.key = *key, .maker = getpid()};
    memcpy(e->bytes, key->bytes, key->size);
    e->key.bytes = e->bytes;
    return e;
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

typedef struct {
    bool from_disk, stored;
    double compile_ms;
} How;

/* A file that does not load is as good as none. */
static bool load_from_disk(const CompileRequest *r, const Key *key, Loaded **out) {
    Image image;
    if (!disk_load(key, codegen_stamp(), &image)) return false;
    Status status = image_load(&image, r->kernel->name, out);
    free(image.bytes);
    return status == ST_OK;
}

/* Without the lock, and total: nothing here unwinds. */
static Status make(const CompileRequest *r, const Key *key, Loaded **out, How *how) {
    how->from_disk = load_from_disk(r, key, out);
    if (how->from_disk) return ST_OK;
    Image image;
    double start = now_ms();
    Status status = codegen_compile(r, &image);
    how->compile_ms = now_ms() - start;
    if (status) return status;
    log_put(LOG_REMARK, "compiled kernel %s in %.1f ms", r->kernel->name, how->compile_ms);
    status = image_load(&image, r->kernel->name, out);
    if (!status) how->stored = disk_store(key, codegen_stamp(), &image);
    if (!status && !how->stored && disk_folder()[0])
        log_put(LOG_WARNING, "compiled code is kept in memory alone: folder %s cannot be written",
                disk_folder());
    free(image.bytes);
    return status;
}

static void count(Status status, const How *how, const Loaded *loaded) {
    stats.disk_hits += how->from_disk;
    stats.compiles += !how->from_disk && !status;
    stats.failures += status != ST_OK;
    stats.stores += how->stored;
    if (!how->from_disk) {
        stats.last_compile_ms = how->compile_ms;
        stats.total_compile_ms += how->compile_ms;
    }
    if (!status) {
        stats.variants++;
        stats.code_bytes += (int64_t)loaded->code_size;
    }
}

/* With the lock held: puts an entry to be filled, or takes over one that nobody fills any more. */
static bool claim(const Key *key, Entry **place) {
    if (*place) (*place)->maker = getpid();
    else *place = entry_new(key);
    return *place;
}

static Status make_entry(const CompileRequest *r, const Key *key, Loaded **out) {
    How how = {0};
    Status status = make(r, key, out, &how);
    pthread_mutex_lock(&lock);
    Entry **place = find(key), *e = *place;
    count(status, &how, status ? NULL : *out);
    if (!status) {
        e->loaded = image_ref(*out);
    } else {
        *place = e->next;
        mem_free(e);
    }
    pthread_cond_broadcast(&made);
    pthread_mutex_unlock(&lock);
    return status;
}

static Status get(const CompileRequest *r, const Key *key, Loaded **out) {
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
    Entry **place;
    for (;;) {
        place = find(key);
        if (!*place || (!(*place)->loaded && (*place)->maker != getpid())) break;
        if ((*place)->loaded) {
            stats.hits++;
            *out = image_ref((*place)->loaded);
            pthread_mutex_unlock(&lock);
            return ST_OK;
        }
        pthread_cond_wait(&made, &lock);
    }
    stats.misses++;
    bool claimed = claim(key, place);
    pthread_mutex_unlock(&lock);
    if (!claimed) return err_set(ST_NOMEM, "out of memory: %zu bytes", key->size);
    return make_entry(r, key, out);
}

Status variant_get(const CompileRequest *request, Loaded **out) {
    Arena *a = arena_new();
    Key key = key_of(a, request);
    Status status = get(request, &key, out);
    arena_free(a);
    return status;
}

VariantStats variant_stats(void) {
    pthread_mutex_lock(&lock);
    VariantStats s = stats;
    pthread_mutex_unlock(&lock);
    return s;
}

void variant_clear(void) {
    pthread_mutex_lock(&lock);
    for (int k = 0; k < NUM_BUCKETS; k++) {
        for (Entry **e = &buckets[k]; *e;) {
            Entry *gone = *e;
            if (gone->loaded) {
                *e = gone->next;
                stats.variants--;
                stats.code_bytes -= (int64_t)gone->loaded->code_size;
                image_unref(gone->loaded);
                mem_free(gone);
            } else {
                e = &gone->next;
            }
        }
    }
    pthread_mutex_unlock(&lock);
}
