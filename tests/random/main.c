/* Runs cases for a time, one case, or shows one:
 *     test_random [--seconds S] [--from SEED] [--all]     test_random --seed SEED     test_random --show SEED
 *
 * Cases run in workers, a block of seeds each, so that a crash is a failure like any other. What code is
 * generated for depends on the block: some run on AVX2, some on the interpreter alone. The default time
 * is TIGA_RANDOM_SECONDS, else 10 seconds. A failure is reduced and printed as a program; with --all the
 * rest runs on. */
#include "random.h"

#include "run/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 16, REDUCE_SECONDS = 40 };

typedef struct {
    double seconds;
    uint64_t from, only;
    bool has_only, show, all;
} Options;

/* What workers and the parent share. */
typedef struct {
    uint64_t seed; /* being checked */
    Report report;
} Shared;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Read once a process, so set before a worker starts; what the caller has set stays. */
static void set_block(uint64_t seed) {
    static bool given, known;
    if (!known) given = getenv("TIGA_TARGET") || getenv("TIGA_EXEC");
    known = true;
    if (given) return;
    unsetenv("TIGA_TARGET");
    unsetenv("TIGA_EXEC");
#ifdef __x86_64__
    if (seed / BLOCK % 4 == 1) setenv("TIGA_TARGET", "haswell", 1);
#endif
    if (seed / BLOCK % 8 == 2) setenv("TIGA_EXEC", "interp", 1);
}

typedef struct {
    Shared *shared;
    double deadline;
} Work;

static void worker(void *ctx) {
    const Work *w = ctx;
    Shared *s = w->shared;
    uint64_t end = (s->seed / BLOCK + 1) * BLOCK;
    for (; s->seed < end && now() < w->deadline; s->seed++) {
        Case c = case_of_seed(s->seed);
        alarm(120);
        s->report.message[0] = 0;
        if (!check_case(&c, &s->report)) _exit(1);
    }
}

/* One block; false where a case failed: s->seed and the message say which. */
static bool run_block(Shared *s, double deadline) {
    set_block(s->seed);
    return run_in_child(worker, &(Work){s, deadline}, &s->report);
}

static void print_failure(uint64_t seed, const Report *found) {
    Case c = case_of_seed(seed);
    Report r = *found;
    const char *target = getenv("TIGA_TARGET"), *exec = getenv("TIGA_EXEC");
    printf("seed %llu%s%s%s%s: %s\n", (unsigned long long)seed, target ? ", TIGA_TARGET=" : "",
           target ? target : "", exec ? ", TIGA_EXEC=" : "", exec ? exec : "", found->message);
    fflush(stdout);
    reduce_case(&c, &r, REDUCE_SECONDS);
    Arena *a = arena_new();
    printf("// reduced: %s\n%s// again: test_random --seed %llu\n", r.message, case_text(a, &c),
           (unsigned long long)seed);
    fflush(stdout);
    arena_free(a);
}

static int run_one(const Options *o) {
    Case c = case_of_seed(o->only);
    Report r = {0};
    if (o->show) {
        Arena *a = arena_new();
        fputs(case_text(a, &c), stdout);
        arena_free(a);
        return 0;
    }
    set_block(o->only);
    if (check_in_child(&c, &r)) {
        printf("seed %llu: passed\n", (unsigned long long)o->only);
        return 0;
    }
    print_failure(o->only, &r);
    return 1;
}

static void print_report(const Options *o, const Shared *s, double seconds, int64_t failures) {
    const Report *r = &s->report;
    printf(
        "seeds %llu to %llu: %lld cases in %.1f s, %lld programs interpreted, %lld plans refused\n",
        (unsigned long long)o->from, (unsigned long long)s->seed, (long long)r->cases, seconds,
        (long long)r->programs_run, (long long)r->refused);
    printf("compiled results: %lld of equal bits, %lld equal but for zeros' signs, %lld within "
           "bounds, "
           "%lld not comparable\n",
           (long long)r->compared[AGREE_bits], (long long)r->compared[AGREE_zeros],
           (long long)r->compared[AGREE_within], (long long)r->compared[AGREE_unknown]);
    printf("gradients: %lld as differences say, %lld at kinks; %lld failures\n",
           (long long)r->gradients, (long long)r->skipped, (long long)failures);
}

static int run_many(const Options *o) {
    Shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double begin = now(), deadline = begin + o->seconds;
    int64_t failures = 0;
    s->seed = o->from;
    while (now() < deadline && (o->all || !failures)) {
        if (run_block(s, deadline)) continue;
        failures++;
        double start = now();
        print_failure(s->seed, &s->report);
        deadline += now() - start;
        begin += now() - start;
        s->seed++;
    }
    print_report(o, s, now() - begin, failures);
    return failures > 0;
}

static bool parse(int argc, char **argv, Options *o) {
    const char *seconds = getenv("TIGA_RANDOM_SECONDS");
    *o = (Options){.seconds = seconds ? atof(seconds) : 10, .from = 1};
    for (int k = 1; k < argc; k++) {
        bool more = k + 1 < argc;
        if (!strcmp(argv[k], "--all")) o->all = true;
        else if (more && !strcmp(argv[k], "--seconds")) o->seconds = atof(argv[++k]);
        else if (more && !strcmp(argv[k], "--from")) o->from = strtoull(argv[++k], NULL, 0);
        else if (more && (!strcmp(argv[k], "--seed") || !strcmp(argv[k], "--show"))) {
            o->show = !strcmp(argv[k], "--show");
            o->only = strtoull(argv[++k], NULL, 0);
            o->has_only = true;
        } else return false;
    }
    return true;
}

int main(int argc, char **argv) {
    Options o;
    if (!parse(argc, argv, &o)) {
        fprintf(stderr,
                "usage: %s [--seconds S] [--from SEED] [--seed SEED] [--show SEED] [--all]\n",
                argv[0]);
        return 2;
    }
    disk_use_folder("");
    return o.has_only ? run_one(&o) : run_many(&o);
}
