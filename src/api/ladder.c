/* One place for all of the ladder, so that the stages themselves know nothing of it. */
#include "api/ladder.h"

#include "base/debug.h"
#include "ir/verify.h"
#include "run/codegen_open.h"
#include "run/variant.h"
#include "text/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_printed(const char *stage) {
    return debug_has("DEBUG", stage) || debug_has("DEBUG", "all");
}

/* "<folder>/main-0123456789abcdef-iter.mlir": the hash tells programs apart and is the same in every run. */
static void write_file(Arena *a, const Fn *domain, const char *stage, const char *text) {
    uint64_t hash = 0;
    for (uint32_t k = 0; k < domain->results.len; k++)
        hash = hash * 31 + ir_node(domain, domain->results.data[k].val)->hash;
    const char *path = arena_printf(a, "%s/%s-%016llx-%s.mlir", debug_get("DUMP"), domain->name,
                                    (unsigned long long)hash, stage);
    FILE *out = fopen(path, "w");
    if (out) fputs(text, out);
    if (!out || fclose(out)) fprintf(stderr, "tiga: TIGA_DUMP: cannot write %s\n", path);
}

static void show(Arena *a, const Fn *domain, const char *stage, const Fn *f) {
    if (!is_printed(stage) && !debug_get("DUMP")) return;
    const char *text = text_print(a, f);
    if (is_printed(stage)) fprintf(stderr, "// ---- %s\n%s", stage, text);
    if (debug_get("DUMP")) write_file(a, domain, stage, text);
}

static void show_code(const Plan *plan, const Exec *exec, const char *kind) {
    for (uint32_t k = 0; is_printed(kind) && k < plan->kernels.len; k++) {
        CompileRequest request = exec_request(exec, k);
        char *text = NULL;
        size_t len;
        Status st = codegen_text(&request, kind, &text, &len);
        fprintf(stderr, "// ---- %s of %s\n%s\n", kind, plan->kernels.data[k].name,
                st ? err_message() : text);
        free(text);
    }
}

static Status verify(Arena *a, const char *what, const Fn *f) {
    Text report = {.arena = a};
    if (!ir_verify(f, &report)) return ST_OK;
    return err_set(ST_BUG, "%s does not verify:\n%s", what, report.text);
}

static Status verify_all(Arena *a, const Fn *domain, const Plan *plan) {
    Status st = verify(a, "domain", domain);
    if (!st) st = verify(a, "prepared", plan->program);
    for (uint32_t k = 0; k < plan->kernels.len && !st; k++)
        st = verify(a, plan->kernels.data[k].name, plan->kernels.data[k].body);
    return st;
}

static void print_stats(void) {
    VariantStats s = variant_stats();
    fprintf(stderr,
            "tiga: kernels: %lld found in memory, %lld on disk, %lld compiled in %.1f ms; %lld "
            "held, %lld bytes of code\n",
            (long long)s.hits, (long long)s.disk_hits, (long long)s.compiles, s.total_compile_ms,
            (long long)s.variants, (long long)s.code_bytes);
}

static void stats_at_exit(void) {
    if (debug_get("STATS")) atexit(print_stats);
}

Status ladder_show(const Fn *domain, const Plan *plan, const Exec *exec) {
    static const char *const stages[] = {"iter", "kernel", "task"};
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, stats_at_exit);
    if (!debug_get("DEBUG") && !debug_get("DUMP") && !debug_get("VERIFY")) return ST_OK;
    Arena *a = arena_new();
    Status st = debug_get("VERIFY") ? verify_all(a, domain, plan) : ST_OK;
    show(a, domain, "domain", domain);
    show(a, domain, "prepared", plan->program);
    for (size_t k = 0; k < sizeof stages / sizeof *stages; k++) {
        Fn *f = plan_stage(arena_new(), plan, stages[k]);
        show(a, domain, stages[k], f);
        ir_free(f);
    }
    show_code(plan, exec, "llvm");
    show_code(plan, exec, "asm");
    arena_free(a);
    return st;
}

/* ---- after a bug ---- */

typedef struct {
    const Fn *domain;
    char path[512]; /* "" until the file is whole */
} Keeping;

static Status keep_body(void *ctx) {
    Keeping *q = ctx;
    Arena *a = arena_new();
    const char *folder = debug_get("DUMP"), *text = text_print(a, q->domain);
    char path[sizeof q->path];
    if (!folder) folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/tiga-bug-XXXXXX.mlir", folder ? folder : "/tmp");
    int file = mkstemps(path, (int)strlen(".mlir"));
    FILE *out = file < 0 ? NULL : fdopen(file, "w");
    if (out) fputs(text, out);
    if (out && !fclose(out)) strcpy(q->path, path);
    arena_free(a);
    return ST_OK;
}

void ladder_keep_bug(const Fn *domain) {
    char said[1024];
    snprintf(said, sizeof said, "%s", err_message());
    Keeping q = {.domain = domain};
    (void)guard_run(keep_body, &q); /* what is broken may not print */
    if (q.path[0]) err_set(ST_BUG, "%s; the program is in %s (please report both)", said, q.path);
    else err_set(ST_BUG, "%s (please report it)", said);
}
