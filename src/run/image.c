/* The loader. In: an Image. Out: executable pages and the entries as function pointers. */
#include "run/image.h"

#include "base/debug.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(sizeof(KernelCode) == NUM_ENTRIES * sizeof(void (*)(void)), "one entry a member");

static const char *const entry_name[NUM_ENTRIES] = {"rows",   "begin",      "part",       "merge",
                                                    "finish", "slot_begin", "slot_merge", "end"};

static size_t round_to_pages(uint64_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return ((size_t)size + page - 1) / page * page;
}

static Status check(const Image *m) {
    if (m->size == 0 || m->size > INT32_MAX)
        return err_set(ST_BUG, "an image of %" PRIu64 " bytes", m->size);
    for (int k = 0; k < NUM_ENTRIES; k++)
        if (m->entry[k] >= m->size)
            return err_set(ST_BUG, "entry '%s' of an image lies outside it", entry_name[k]);
    return ST_OK;
}

static Status map_code(const Image *m, void **pages, size_t *mapped) {
    size_t size = round_to_pages(m->size);
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return err_set(ST_NOMEM, "no memory for %zu bytes of code", size);
    memcpy(p, m->bytes, m->size);
    if (mprotect(p, size, PROT_READ | PROT_EXEC) != 0) {
        int why = errno;
        munmap(p, size);
        return err_set(ST_UNSUPPORTED,
                       "this system does not let a process make code executable: %s",
                       strerror(why));
    }
    __builtin___clear_cache(p, p + size);
    *pages = p;
    *mapped = size;
    return ST_OK;
}

/* Where this entry's code ends: at the next entry, or at the image's end. */
static uint64_t entry_end(const Image *m, int k) {
    uint64_t end = m->size;
    for (int j = 0; j < NUM_ENTRIES; j++)
        if (m->entry[j] > m->entry[k] && m->entry[j] < end) end = m->entry[j];
    return end;
}

/* Lines of the form that perf reads: start, size, name. One write, so that threads do not mix. */
static void tell_perf(const Image *m, const char *name, const char *pages) {
    char path[64], text[2048];
    size_t len = 0;
    for (int k = 0; k < NUM_ENTRIES; k++) {
        uint64_t start = m->entry[k];
        int n = snprintf(text + len, sizeof text - len, "%" PRIxPTR " %" PRIx64 " tiga:%.100s:%s\n",
                         (uintptr_t)pages + (uintptr_t)start, entry_end(m, k) - start, name,
                         entry_name[k]);
        len += (size_t)n;
    }
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return;
    if (write(fd, text, len) < 0) { /* perf then shows addresses */
    }
    close(fd);
}

Status image_load(const Image *image, const char *name, Loaded **out) {
    Status status = check(image);
    if (status) return status;
    Loaded *l = mem_alloc(sizeof *l);
    if (!l) return err_set(ST_NOMEM, "out of memory: %zu bytes", sizeof *l);
    *l = (Loaded){.row_state_size = image->row_state_size,
                  .slot_size = image->slot_size,
                  .block_edges = image->block_edges,
                  .block_bytes = image->block_bytes,
                  .num_stages = image->num_stages,
                  .num_shares = image->num_shares,
                  .code_size = image->size};
    status = map_code(image, &l->pages, &l->mapped);
    if (status) {
        mem_free(l);
        return status;
    }
    char *entries[NUM_ENTRIES];
    for (int k = 0; k < NUM_ENTRIES; k++) entries[k] = (char *)l->pages + image->entry[k];
    memcpy(&l->code, entries, sizeof l->code);
    atomic_store(&l->refs, 1);
    if (debug_get("PERF")) tell_perf(image, name, l->pages);
    *out = l;
    return ST_OK;
}

Loaded *image_ref(Loaded *l) {
    atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    return l;
}

void image_unref(Loaded *l) {
    if (!l || atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1) return;
    munmap(l->pages, l->mapped);
    mem_free(l);
}
