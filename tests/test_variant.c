/* The loader, keys, and the variant cache in memory and on disk, whatever happens to its files. */
#include "fake_codegen.h"

#include "ir/type.h"
#include "run/codegen_open.h"
#include "run/disk.h"
#include "run/key.h"
#include "run/variant.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a kernel and its fake code ---- */

static atomic_int compiles;
static atomic_bool hold; /* the compiler waits while set */
static atomic_bool holding;

static void code_end(const KernelArgs *a, char *slot) {
    (void)slot;
    *(int64_t *)a->buffers[0].data = 42;
}
static void code_rows(const KernelArgs *a, int64_t row, int64_t row_end, char *slot) {
    (void)slot;
    *(int64_t *)a->buffers[0].data = row_end - row;
}
static void code_begin(const KernelArgs *a, int64_t p, int64_t row, char *state) {
    (void)a, (void)p, (void)row, (void)state;
}
static void code_part(const KernelArgs *a, int64_t p, int64_t row, int64_t e, int64_t end, char *s,
                      char *slot) {
    (void)a, (void)p, (void)row, (void)e, (void)end, (void)s, (void)slot;
}
static void code_merge(const KernelArgs *a, int64_t p, char *into, const char *from) {
    (void)a, (void)p, (void)into, (void)from;
}
static void code_finish(const KernelArgs *a, int64_t p, int64_t row, char *s, char *slot) {
    (void)a, (void)p, (void)row, (void)s, (void)slot;
}
static void code_slot(const KernelArgs *a, char *slot) { (void)a, (void)slot; }
static void code_slot_merge(const KernelArgs *a, char *into, const char *from) {
    (void)a, (void)into, (void)from;
}
static const KernelCode code = {code_rows,   code_begin, code_part,       code_merge,
                                code_finish, code_slot,  code_slot_merge, code_end};

static Status compile(const CompileRequest *r, Image *out, char *message, size_t size) {
    (void)r, (void)message, (void)size;
    atomic_fetch_add(&compiles, 1);
    while (atomic_load(&hold)) {
        atomic_store(&holding, true);
        usleep(1000);
    }
    *out = fake_image(&code, 24, 8);
    return ST_OK;
}

static Status compile_fails(const CompileRequest *r, Image *out, char *message, size_t size) {
    (void)r, (void)out;
    atomic_fetch_add(&compiles, 1);
    snprintf(message, size, "no code today");
    return ST_UNSUPPORTED;
}

typedef struct {
    const char *relation, *x, *out;
    int spare_sets; /* made first, so that the others get other numbers */
    bool dead;      /* a value that nothing needs */
    double scale;
} Spec;

/* out = scale * sum x over a relation V -> V. */
static Kernel *kernel_new(Arena *a, Spec spec) {
    Fn *f = ir_new(arena_new(), "body");
    for (int k = 0; k < spec.spare_sets; k++) ir_set(f, arena_printf(a, "S%d", k));
    Set v = ir_set(f, "V");
    int r = ir_relation(f, spec.relation, v, v);
    int64_t dim[] = {4};
    Val x = ir_input(f, spec.x, type_of(DT_f32, v, 1, dim));
    if (spec.dead) ir_neg(f, x);
    Val s = ir_reduce(f, ir_gather(f, x, map_src(r)), map_dst(r));
    ir_add_result(f, spec.out, ir_mul(f, s, ir_const_like(f, s, spec.scale)));
    Kernel *k = ARENA_NEW(a, Kernel);
    *k = (Kernel){.body = f,
                  .name = "k0",
                  .rows = v,
                  .map = map_dst(r),
                  .num_phases = 1,
                  .place = ARENA_ARRAY(a, Place, ir_count(f))};
    return k;
}

static const uint8_t layout_rows[2] = {LAYOUT_rows, LAYOUT_rows};

static CompileRequest request_of(const Kernel *k) {
    return (CompileRequest){.kernel = k, .cpu = "", .features = "", .layout = layout_rows};
}

typedef struct {
    Arena *arena;
    Kernel *kernel;
    CompileRequest request;
} One;

static One one_new(void) {
    Arena *a = arena_new();
    Kernel *k = kernel_new(a, (Spec){"r", "x", "out", .scale = 2});
    return (One){a, k, request_of(k)};
}

static void one_free(One one) {
    ir_free(one.kernel->body);
    arena_free(one.arena);
}

/* ---- a folder ---- */

static char folder[64];

static int folder_begin(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tiga-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    disk_use_folder(folder);
    variant_clear();
    codegen_replace(compile);
    atomic_store(&compiles, 0);
    return 0;
}

static int folder_end(void **state) {
    char command[128];
    (void)state;
    chmod(folder, 0700);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    disk_use_folder(NULL);
    codegen_replace(NULL);
    variant_clear();
    return 0;
}

/* The one file of the folder, and how many there are. */
static int only_file(char path[512]) {
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, 512, "%s/%s", folder, e->d_name);
        n++;
    }
    closedir(d);
    return n;
}

static int64_t run_once(const CompileRequest *r) {
    Loaded *l;
    int64_t got = 0;
    assert_int_equal(variant_get(r, &l), ST_OK);
    Buffer b = {.data = (char *)&got};
    l->code.rows(&(KernelArgs){.buffers = &b}, 3, 10, NULL);
    assert_int_equal(l->row_state_size, 24);
    assert_int_equal(l->slot_size, 8);
    image_unref(l);
    return got;
}

/* ---- the loader ---- */

static void image_runs_and_is_never_writable(void **state) {
    Loaded *l;
    Image m = fake_image(&code, 24, 8);
    int64_t got = 0;
    Buffer b = {.data = (char *)&got};
    (void)state;
    assert_int_equal(image_load(&m, "k0", &l), ST_OK);
    l->code.end(&(KernelArgs){.buffers = &b}, NULL);
    assert_int_equal(got, 42);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], rights[8];
    while (fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) != 3) continue;
        if ((unsigned long)l->pages >= from && (unsigned long)l->pages < to)
            assert_memory_equal(rights, "r-x", 3);
    }
    fclose(maps);
    image_unref(image_ref(l));
    image_unref(l);
    free(m.bytes);
}

static void image_with_a_bad_entry_is_refused(void **state) {
    Loaded *l = NULL;
    Image m = fake_image(&code, 0, 0);
    (void)state;
    m.entry[3] = m.size;
    assert_int_equal(image_load(&m, "k0", &l), ST_BUG);
    assert_non_null(strstr(err_message(), "merge"));
    m.size = 0;
    assert_int_equal(image_load(&m, "k0", &l), ST_BUG);
    assert_null(l);
    free(m.bytes);
}

/* ---- keys ---- */

static bool same_key(Arena *a, const CompileRequest *x, const CompileRequest *y) {
    Key k = key_of(a, x), l = key_of(a, y);
    bool same = k.size == l.size && !memcmp(k.bytes, l.bytes, k.size);
    assert_int_equal(same, k.hash == l.hash && k.second == l.second);
    return same;
}

static void key_knows_structure_not_names(void **state) {
    Arena *a = arena_new();
    Kernel *base = kernel_new(a, (Spec){"r", "x", "out", .scale = 2});
    Kernel *renamed = kernel_new(a, (Spec){"rel", "feat", "res", 3, true, 2});
    Kernel *scaled = kernel_new(a, (Spec){"r", "x", "out", .scale = 3});
    CompileRequest r = request_of(base), s = request_of(renamed), t = request_of(scaled);
    (void)state;
    assert_true(same_key(a, &r, &s));
    assert_false(same_key(a, &r, &t));
    for (int k = 0; k < 7; k++) {
        static const uint8_t strided[2] = {LAYOUT_strided, LAYOUT_rows};
        CompileRequest u = r;
        if (k == 0) u.wide = true;
        if (k == 1) u.has_edge = true;
        if (k == 2) u.prefetch = true;
        if (k == 3) u.fast_math = true;
        if (k == 4) u.layout = strided;
        if (k == 5) u.cpu = "generic";
        if (k == 6) u.split = true;
        assert_false(same_key(a, &r, &u));
    }
    ir_free(base->body), ir_free(renamed->body), ir_free(scaled->body);
    arena_free(a);
}

static void key_tells_maps_places_and_rows(void **state) {
    (void)state;
    One one = one_new();
    Arena *a = one.arena;
    const Kernel *k = one.kernel;
    Kernel phased = *k, slotted = *k, turned = *k, placed = *k;
    Place *place = arena_copy(a, k->place, ir_count(k->body) * sizeof *place);
    CompileRequest r = one.request, s;
    phased.num_phases = 2;
    slotted.has_slots = true;
    turned.map = map_other(k->map);
    place[2].phase = 1;
    placed.place = place;
    s = request_of(&phased), assert_false(same_key(a, &r, &s));
    s = request_of(&slotted), assert_false(same_key(a, &r, &s));
    s = request_of(&turned), assert_false(same_key(a, &r, &s));
    s = request_of(&placed), assert_false(same_key(a, &r, &s));
    one_free(one);
}

/* ---- memory ---- */

static void second_request_compiles_nothing(void **state) {
    One one = one_new();
    VariantStats before = variant_stats();
    (void)state;
    assert_int_equal(run_once(&one.request), 7);
    assert_int_equal(run_once(&one.request), 7);
    VariantStats after = variant_stats();
    assert_int_equal(atomic_load(&compiles), 1);
    assert_int_equal(after.hits - before.hits, 1);
    assert_int_equal(after.misses - before.misses, 1);
    assert_int_equal(after.stores - before.stores, 1);
    assert_int_equal(after.variants, 1);
    assert_false(codegen_is_open());
    one_free(one);
}

static void failed_compilation_is_told_and_forgotten(void **state) {
    One one = one_new();
    Loaded *l = NULL;
    (void)state;
    codegen_replace(compile_fails);
    assert_int_equal(variant_get(&one.request, &l), ST_UNSUPPORTED);
    assert_string_equal(err_message(), "no code today");
    assert_int_equal(variant_get(&one.request, &l), ST_UNSUPPORTED);
    assert_int_equal(atomic_load(&compiles), 2);
    codegen_replace(compile);
    assert_int_equal(run_once(&one.request), 7);
    one_free(one);
}

static void *ask(void *request) {
    Loaded *l;
    if (variant_get(request, &l)) return NULL;
    image_unref(l);
    return request;
}

static void many_threads_compile_once(void **state) {
    enum { N = 8 };
    pthread_t thread[N];
    One one = one_new();
    (void)state;
    atomic_store(&hold, true);
    for (int k = 0; k < N; k++) pthread_create(&thread[k], NULL, ask, &one.request);
    while (!atomic_load(&holding)) usleep(1000);
    usleep(20000);
    atomic_store(&hold, false);
    for (int k = 0; k < N; k++) {
        void *got;
        pthread_join(thread[k], &got);
        assert_non_null(got);
    }
    atomic_store(&holding, false);
    assert_int_equal(atomic_load(&compiles), 1);
    one_free(one);
}

static int child_status(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void child_forked_while_compiling_takes_over(void **state) {
    pthread_t thread;
    One one = one_new();
    (void)state;
    atomic_store(&hold, true);
    pthread_create(&thread, NULL, ask, &one.request);
    while (!atomic_load(&holding)) usleep(1000);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        atomic_store(&hold, false);
        _exit(ask(&one.request) ? 0 : 1);
    }
    assert_int_equal(child_status(child), 0);
    atomic_store(&hold, false);
    pthread_join(thread, NULL);
    atomic_store(&holding, false);
    one_free(one);
}

/* ---- disk ---- */

/* Compiled once, then gone from memory: the path of the file. */
static void fill(const One *one, char path[512]) {
    assert_int_equal(run_once(&one->request), 7);
    assert_int_equal(only_file(path), 1);
    atomic_store(&compiles, 0);
    variant_clear();
}

static void code_comes_back_from_disk(void **state) {
    One one = one_new();
    char path[512];
    (void)state;
    fill(&one, path);
    VariantStats before = variant_stats();
    assert_int_equal(run_once(&one.request), 7);
    assert_int_equal(atomic_load(&compiles), 0);
    assert_int_equal(variant_stats().disk_hits - before.disk_hits, 1);
    one_free(one);
}

static long size_of_file(const char *path) {
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    return (long)s.st_size;
}

static void truncated_files_are_replaced(void **state) {
    One one = one_new();
    char path[512];
    (void)state;
    fill(&one, path);
    long size = size_of_file(path);
    for (long cut = 0; cut < size; cut += 1 + size / 9) {
        assert_int_equal(truncate(path, cut), 0);
        variant_clear();
        atomic_store(&compiles, 0);
        assert_int_equal(run_once(&one.request), 7);
        assert_int_equal(atomic_load(&compiles), 1);
        assert_int_equal(size_of_file(path), size);
    }
    one_free(one);
}

static void flip(const char *path, long at) {
    int fd = open(path, O_RDWR);
    unsigned char byte;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void every_flipped_byte_is_noticed(void **state) {
    One one = one_new();
    char path[512];
    Image m;
    (void)state;
    fill(&one, path);
    Key key = key_of(one.arena, &one.request);
    uint64_t stamp = codegen_stamp();
    for (long at = 0, size = size_of_file(path); at < size; at++) {
        flip(path, at);
        assert_false(disk_load(&key, stamp, &m));
        flip(path, at);
    }
    assert_true(disk_load(&key, stamp, &m));
    free(m.bytes);
    one_free(one);
}

static void other_keys_and_generators_are_not_taken(void **state) {
    One one = one_new();
    char path[512];
    Image m;
    (void)state;
    fill(&one, path);
    Key key = key_of(one.arena, &one.request), other = key;
    assert_false(disk_load(&key, codegen_stamp() ^ 2, &m));
    uint8_t *bytes = arena_copy(one.arena, key.bytes, key.size);
    bytes[key.size - 1] ^= 1;
    other.bytes = bytes; /* as if both hashes collided */
    assert_false(disk_load(&other, codegen_stamp(), &m));
    assert_true(disk_load(&key, 0, &m));
    free(m.bytes);
    one_free(one);
}

static void files_that_others_may_write_are_ignored(void **state) {
    One one = one_new();
    char path[512];
    Image m;
    (void)state;
    fill(&one, path);
    Key key = key_of(one.arena, &one.request);
    chmod(path, 0620);
    assert_false(disk_load(&key, 0, &m));
    chmod(path, 0602);
    assert_false(disk_load(&key, 0, &m));
    chmod(path, 0600);
    chmod(folder, 0770);
    assert_false(disk_load(&key, 0, &m));
    chmod(folder, 0700);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 1, 1), 0);
        assert_false(disk_load(&key, 0, &m));
        assert_int_equal(chown(path, 0, 0), 0);
    }
    assert_true(disk_load(&key, 0, &m));
    free(m.bytes);
    char aside[600];
    snprintf(aside, sizeof aside, "%s.aside", path);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(symlink(aside, path), 0);
    assert_false(disk_load(&key, 0, &m));
    one_free(one);
}

static void no_folder_means_memory_alone(void **state) {
    One one = one_new();
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/file", folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    snprintf(path, sizeof path, "%s/file/cache", folder);
    const char *bad[] = {"", path, "/proc/tiga-cache"};
    for (int k = 0; k < 3; k++) {
        disk_use_folder(bad[k]);
        variant_clear();
        VariantStats before = variant_stats();
        assert_int_equal(run_once(&one.request), 7);
        assert_int_equal(run_once(&one.request), 7);
        assert_int_equal(variant_stats().stores, before.stores);
        assert_int_equal(variant_stats().hits - before.hits, 1);
    }
    one_free(one);
}

static void missing_folders_are_made(void **state) {
    One one = one_new();
    char path[128], file[512];
    (void)state;
    snprintf(path, sizeof path, "%s/a/b", folder);
    disk_use_folder(path);
    assert_int_equal(run_once(&one.request), 7);
    snprintf(folder + strlen(folder), sizeof folder - strlen(folder), "/a/b");
    assert_int_equal(only_file(file), 1);
    folder[strlen(folder) - 4] = 0;
    one_free(one);
}

static void eight_processes_share_a_cold_cache(void **state) {
    enum { N = 8 };
    pid_t child[N];
    char path[512];
    One one = one_new();
    (void)state;
    for (int k = 0; k < N; k++) {
        child[k] = fork();
        if (child[k]) continue;
        alarm(60);
        for (int round = 0; round < 50; round++) {
            variant_clear();
            if (!ask(&one.request)) _exit(1);
        }
        _exit(0);
    }
    for (int k = 0; k < N; k++) assert_int_equal(child_status(child[k]), 0);
    assert_int_equal(only_file(path), 1);
    assert_int_equal(run_once(&one.request), 7);
    assert_int_equal(atomic_load(&compiles), 0);
    one_free(one);
}

static void failing_allocations_leak_nothing(void **state) {
    Loaded *l = NULL;
    (void)state;
    variant_clear();
    int64_t live = mem_live();
    Status status = ST_NOMEM;
    for (int64_t n = 1; status; n++) {
        mem_fail_at(n);
        Image m = fake_image(&code, 24, 8);
        status = image_load(&m, "k0", &l);
        mem_fail_at(0);
        free(m.bytes);
        if (status) assert_int_equal(status, ST_NOMEM);
    }
    image_unref(l);
    assert_int_equal(mem_live(), live);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_begin, folder_end)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(image_runs_and_is_never_writable),
        cmocka_unit_test(image_with_a_bad_entry_is_refused),
        cmocka_unit_test(key_knows_structure_not_names),
        cmocka_unit_test(key_tells_maps_places_and_rows),
        IN_FOLDER(second_request_compiles_nothing),
        IN_FOLDER(failed_compilation_is_told_and_forgotten),
        IN_FOLDER(many_threads_compile_once),
        IN_FOLDER(child_forked_while_compiling_takes_over),
        IN_FOLDER(code_comes_back_from_disk),
        IN_FOLDER(truncated_files_are_replaced),
        IN_FOLDER(every_flipped_byte_is_noticed),
        IN_FOLDER(other_keys_and_generators_are_not_taken),
        IN_FOLDER(files_that_others_may_write_are_ignored),
        IN_FOLDER(no_folder_means_memory_alone),
        IN_FOLDER(missing_folders_are_made),
        IN_FOLDER(eight_processes_share_a_cold_cache),
        IN_FOLDER(failing_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
