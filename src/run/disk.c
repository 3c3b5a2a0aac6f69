/* Files of the form: header, key, code. */
#include "run/disk.h"

#include "base/debug.h"
#include "base/hash.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC_SIZE = 8, FORMAT = 3, MAX_KEY = 1 << 24, MAX_CODE = 1 << 28, NAME_SIZE = 64 };
static const char magic[] = "tigacode";

typedef struct {
    char magic[MAGIC_SIZE];
    uint32_t format, codegen_version;
    uint64_t hash; /* of the whole file with this member 0 */
    uint64_t stamp, key_size, code_size;
    uint64_t entry[NUM_ENTRIES];
    uint64_t row_state_size, slot_size, block_edges, block_bytes, num_stages, num_shares;
} Header;

static char default_folder[PATH_MAX];
static const char *replaced;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_folder(void) {
    const char *given = debug_get("CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int n = 0;
    if (debug_has("OFF", "cache")) return;
    if (given) n = snprintf(default_folder, PATH_MAX, "%s", given);
    else if (xdg && xdg[0] == '/') n = snprintf(default_folder, PATH_MAX, "%s/tiga", xdg);
    else if (home && home[0] == '/') n = snprintf(default_folder, PATH_MAX, "%s/.cache/tiga", home);
    if (n >= PATH_MAX) default_folder[0] = 0;
}

const char *disk_folder(void) {
    if (replaced) return replaced;
    pthread_once(&once, find_folder);
    return default_folder;
}

void disk_use_folder(const char *path) { replaced = path; }

/* mkdir -p. */
static void make_folders(const char *path) {
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    for (char *p = part + 1; *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        mkdir(part, 0700);
        *p = '/';
    }
    mkdir(part, 0700);
}

static bool is_ours(int fd, mode_t kind) {
    struct stat s;
    return fstat(fd, &s) == 0 && (s.st_mode & S_IFMT) == kind && s.st_uid == geteuid() &&
           !(s.st_mode & (S_IWGRP | S_IWOTH));
}

/* -1 where there is no folder that can be trusted. */
static int open_folder(bool make) {
    const char *path = disk_folder();
    enum { FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC };
    if (!path[0]) return -1;
    int fd = open(path, FLAGS);
    if (fd < 0 && make && errno == ENOENT) {
        make_folders(path);
        fd = open(path, FLAGS);
    }
    if (fd >= 0 && !is_ours(fd, S_IFDIR)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void file_name(const Key *key, char name[NAME_SIZE]) {
    snprintf(name, NAME_SIZE, "%016" PRIx64 "%016" PRIx64 ".code", key->hash, key->second);
}

/* The whole file, malloc'ed, or NULL. */
static char *read_whole(int fd, size_t *size) {
    struct stat s;
    if (fstat(fd, &s) != 0 || s.st_size < (off_t)sizeof(Header) ||
        s.st_size > (off_t)MAX_KEY + MAX_CODE)
        return NULL;
    char *bytes = malloc((size_t)s.st_size);
    size_t done = 0;
    while (bytes && done < (size_t)s.st_size) {
        ssize_t n = read(fd, bytes + done, (size_t)s.st_size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += (size_t)n;
    }
    if (bytes && done == (size_t)s.st_size) {
        *size = done;
        return bytes;
    }
    free(bytes);
    return NULL;
}

/* The hash of a file whose header, with hash 0, and rest are given. */
static uint64_t file_hash(const Header *header, const void *key, const void *code) {
    uint64_t h = hash_bytes(header, sizeof *header, 0);
    h = hash_bytes(key, header->key_size, h);
    return hash_bytes(code, header->code_size, h);
}

static bool header_is_good(const Header *h, size_t file_size) {
    return !memcmp(h->magic, magic, MAGIC_SIZE) && h->format == FORMAT &&
           h->codegen_version == CODEGEN_VERSION && h->key_size <= MAX_KEY &&
           h->code_size <= MAX_CODE && sizeof *h + h->key_size + h->code_size == file_size;
}

/* Reads the image out of a file's bytes; the code alone is copied. */
static bool decode(const char *bytes, size_t size, const Key *key, uint64_t stamp, Image *out) {
    Header h;
    memcpy(&h, bytes, sizeof h);
    if (!header_is_good(&h, size) || (stamp && stamp != h.stamp)) return false;
    const char *key_bytes = bytes + sizeof h, *code = key_bytes + h.key_size;
    uint64_t hash = h.hash;
    h.hash = 0;
    if (hash != file_hash(&h, key_bytes, code)) return false;
    if (h.key_size != key->size || memcmp(key_bytes, key->bytes, key->size) != 0) return false;
    Image image = {.size = h.code_size,
                   .row_state_size = h.row_state_size,
                   .slot_size = h.slot_size,
                   .block_edges = h.block_edges,
                   .block_bytes = h.block_bytes,
                   .num_stages = h.num_stages,
                   .num_shares = h.num_shares,
                   .bytes = malloc(h.code_size ? h.code_size : 1)};
    if (!image.bytes) return false;
    memcpy(image.entry, h.entry, sizeof image.entry);
    memcpy(image.bytes, code, h.code_size);
    *out = image;
    return true;
}

bool disk_load(const Key *key, uint64_t stamp, Image *out) {
    char name[NAME_SIZE];
    int folder = open_folder(false);
    if (folder < 0) return false;
    file_name(key, name);
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    close(folder);
    if (fd < 0) return false;
    size_t size;
    char *bytes = is_ours(fd, S_IFREG) ? read_whole(fd, &size) : NULL;
    close(fd);
    bool good = bytes && decode(bytes, size, key, stamp, out);
    if (!good)
        log_put(LOG_REMARK, "cached code %s/%s is stale or damaged, and compiled again",
                disk_folder(), name);
    free(bytes);
    return good;
}

static bool write_all(int fd, const void *data, size_t size) {
    const char *p = data;
    while (size) {
        ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

static bool write_file(int fd, const Key *key, uint64_t stamp, const Image *image) {
    Header h = {.format = FORMAT,
                .codegen_version = CODEGEN_VERSION,
                .stamp = stamp,
                .key_size = key->size,
                .code_size = image->size,
                .row_state_size = image->row_state_size,
                .slot_size = image->slot_size,
                .block_edges = image->block_edges,
                .block_bytes = image->block_bytes,
                .num_stages = image->num_stages,
                .num_shares = image->num_shares};
    memcpy(h.magic, magic, MAGIC_SIZE);
    memcpy(h.entry, image->entry, sizeof h.entry);
    h.hash = file_hash(&h, key->bytes, image->bytes);
    return write_all(fd, &h, sizeof h) && write_all(fd, key->bytes, key->size) &&
           write_all(fd, image->bytes, image->size);
}

bool disk_store(const Key *key, uint64_t stamp, const Image *image) {
    static _Atomic unsigned count;
    char name[NAME_SIZE], temporary[NAME_SIZE];
    if (key->size > MAX_KEY || image->size > MAX_CODE) return false;
    int folder = open_folder(true);
    if (folder < 0) return false;
    file_name(key, name);
    snprintf(temporary, sizeof temporary, "%016" PRIx64 ".%ld.%u", key->hash, (long)getpid(),
             atomic_fetch_add(&count, 1));
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write_file(fd, key, stamp, image);
    if (fd >= 0) good &= close(fd) == 0;
    good = good && renameat(folder, temporary, folder, name) == 0;
    if (fd >= 0 && !good) unlinkat(folder, temporary, 0);
    close(folder);
    return good;
}
