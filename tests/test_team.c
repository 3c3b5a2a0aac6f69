/* The process's OpenMP team runs the pool's tasks: each once, on its own threads and no others, with the caller's
 * floating-point mode and its own again afterwards; from inside a region too; never in a forked child. */
#include "base/pool.h"
#include "base/team.h"

#include <dlfcn.h>
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    THREADS = 2,
    TASKS = 500
}; /* no more than processors: a runtime that has more does not spin */

static struct {
    int (*in_region)(void);
    void (*set_threads)(int n);
    void (*region)(void (*share)(void *), void *ctx, unsigned threads, unsigned flags);
} openmp;

static void find(void *handle, void *function, const char *name) {
    void *found = dlsym(handle, name);
    assert_non_null(found);
    memcpy(function, &found, sizeof found);
}

static int no_team_without_a_runtime(void **state) {
    (void)state;
    bool touched = false;
    return team_run(THREADS, NULL, &touched) ? -1 : 0;
}

#if defined __SANITIZE_THREAD__
#define SEES_BARRIERS 0 /* the sanitizer does not see those of a runtime built without it */
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define SEES_BARRIERS 0
#endif
#endif
#ifndef SEES_BARRIERS
#define SEES_BARRIERS 1
#endif

static int load_runtime(void **state) {
    if (no_team_without_a_runtime(state)) return -1;
    void *handle = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!handle || !SEES_BARRIERS) {
        printf("SKIP: %s\n", handle ? "under the thread sanitizer" : dlerror());
        exit(77);
    }
    find(handle, &openmp.in_region, "omp_in_parallel");
    find(handle, &openmp.set_threads, "omp_set_num_threads");
    find(handle, &openmp.region, "GOMP_parallel");
    openmp.set_threads(THREADS);
    return 0;
}

typedef struct {
    atomic_int ran[TASKS], in_region;
} Tally;

static void count(void *ctx, int64_t k) {
    Tally *t = ctx;
    atomic_fetch_add(&t->ran[k], 1);
    atomic_fetch_add(&t->in_region, openmp.in_region() != 0);
    for (volatile int spin = 0; spin < 2000; spin++) {}
}

static void nothing(void *ctx) { (void)ctx; }

static void wake_team(void) { openmp.region(nothing, NULL, THREADS, 0); }

/* Tasks that ran inside a region; -1 where one did not run once. */
static int tasks_in_region(int threads, bool team) {
    Tally t = {0};
    pool_set_num_threads(threads);
    pool_use_team(team);
    Status st = pool_run(TASKS, count, &t);
    pool_use_team(false);
    pool_set_num_threads(0);
    for (int k = 0; k < TASKS; k++)
        if (st || t.ran[k] != 1) return -1;
    return t.in_region;
}

static void tasks_run_where_they_should(void **state) {
    (void)state;
    assert_int_equal(tasks_in_region(THREADS, true), TASKS);
    assert_int_equal(tasks_in_region(THREADS, false), 0);
    wake_team();
    assert_int_equal(tasks_in_region(THREADS + 1, true), 0); /* another number than the runtime's */
    for (int again = 0; again < 200; again++)
        assert_in_range(tasks_in_region(THREADS, true), 0, TASKS);
}

static void sleepers_are_not_waited_for(void **state) {
    (void)state;
    for (int again = 0; again < 3; again++) {
        assert_in_range(tasks_in_region(THREADS, true), 0, TASKS);
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    }
    assert_int_equal(tasks_in_region(THREADS, true), 0);
}

static void from_a_region(void *ctx) {
    Tally own = {0};
    pool_set_num_threads(THREADS);
    pool_use_team(true);
    Status st = pool_run(TASKS, count, &own);
    for (int k = 0; k < TASKS; k++)
        if (st || own.ran[k] != 1) atomic_fetch_add((atomic_int *)ctx, 1);
    pool_use_team(false);
    pool_set_num_threads(0);
}

static void calls_from_inside_a_region(void **state) {
    (void)state;
    atomic_int failures = 0;
    openmp.region(from_a_region, &failures, THREADS, 0);
    assert_int_equal(failures, 0);
}

static void divide(void *ctx, int64_t k) {
    volatile float one = 1, three = 3;
    ((float *)ctx)[k] = one / three;
    for (volatile int spin = 0; spin < 20000; spin++) {}
}

static void note_mode(void *ctx) {
    float third;
    divide(&third, 0);
    if (third != 1.0f / 3) atomic_fetch_add((atomic_int *)ctx, 1);
}

static void modes_come_and_go(void **state) {
    (void)state;
    float down[64];
    atomic_int changed = 0;
    wake_team();
    pool_set_num_threads(THREADS);
    pool_use_team(true);
    fesetround(FE_DOWNWARD);
    Status st = pool_run(64, divide, down);
    fesetround(FE_TONEAREST);
    openmp.region(note_mode, &changed, THREADS, 0);
    pool_use_team(false);
    pool_set_num_threads(0);
    assert_int_equal(st, ST_OK);
    assert_int_equal(changed, 0);
    volatile float one = 1, three = 3;
    for (int k = 0; k < 64; k++) assert_true(down[k] == down[0] && down[k] < one / three);
}

static bool at_once(void *ctx) { return atomic_fetch_add((atomic_int *)ctx, 1) >= 1; }

static void nap(void *ctx, int64_t k) {
    (void)k;
    atomic_fetch_add((atomic_int *)ctx, 1);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void an_interrupt_stops_the_team(void **state) {
    (void)state;
    atomic_int asked = 0, ran = 0;
    pool_set_num_threads(THREADS);
    pool_use_team(true);
    pool_set_poll(at_once, &asked);
    wake_team();
    assert_int_equal(pool_run(10000, nap, &ran), ST_INTR);
    pool_set_poll(NULL, NULL);
    pool_use_team(false);
    pool_set_num_threads(0);
    assert_in_range(ran, 1, 2000);
}

static void a_forked_child_has_no_team(void **state) {
    (void)state;
    assert_in_range(tasks_in_region(THREADS, true), 0, TASKS);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        alarm(30); /* a hang becomes a failure */
        _exit(tasks_in_region(THREADS, true) == 0 ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_run_where_they_should),
        cmocka_unit_test(calls_from_inside_a_region),
        cmocka_unit_test(modes_come_and_go),
        cmocka_unit_test(an_interrupt_stops_the_team),
        cmocka_unit_test(a_forked_child_has_no_team),
        cmocka_unit_test(sleepers_are_not_waited_for),
    };
    return cmocka_run_group_tests(tests, load_runtime, NULL);
}
