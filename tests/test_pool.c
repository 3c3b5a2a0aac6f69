/* The pool runs every task once, from anywhere: nested, from many threads, after fork, interrupted,
 * with the caller's floating-point mode. */
#include "base/cpus.h"
#include "base/pool.h"

#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* The tests fork with threads alive; the sanitizer would refuse new threads in the child. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }
/* And the search for leaks would miss the parent's threads there. */
static bool in_child;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return in_child; }

enum { MOST = 1000 };
typedef struct {
    atomic_int ran[MOST];
    int64_t inner; /* tasks of a nested call */
    atomic_int inner_ran;
} Tally;

static void nap_us(long us) { nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL); }

static void count(void *ctx, int64_t k) { atomic_fetch_add(&((Tally *)ctx)->ran[k], 1); }

static void count_inner(void *ctx, int64_t k) {
    (void)k;
    atomic_fetch_add(&((Tally *)ctx)->inner_ran, 1);
}

static void count_nested(void *ctx, int64_t k) {
    Tally *t = ctx;
    count(t, k);
    if (pool_run(t->inner, count_inner, t)) abort();
}

static bool each_once(const Tally *t, int64_t num_tasks) {
    for (int64_t k = 0; k < MOST; k++)
        if (t->ran[k] != (k < num_tasks)) return false;
    return true;
}

static bool counts_right(int64_t num_tasks) {
    Tally t = {0};
    return !pool_run(num_tasks, count, &t) && each_once(&t, num_tasks);
}

static void every_task_runs_once(void **state) {
    (void)state;
    static const int threads[] = {0, 1, 2, 3, 8, 20, 2};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        pool_set_num_threads(threads[i]);
        for (int64_t n = 0; n < 20; n++) assert_true(counts_right(n));
        for (int again = 0; again < 50; again++) assert_true(counts_right(MOST));
    }
    pool_set_num_threads(0);
}

static void idle_workers_come_back(void **state) {
    (void)state;
    pool_set_num_threads(4);
    for (long us = 1; us < 2000; us = us * 3 / 2 + 1) {
        assert_true(counts_right(7));
        nap_us(us);
    }
    pool_set_num_threads(0);
}

static void thread_counts(void **state) {
    (void)state;
    int usual = pool_num_threads();
    assert_true(usual >= 1 && usual == cpus_usable());
    pool_set_num_threads(5);
    assert_int_equal(pool_num_threads(), 5);
    pool_set_num_threads(1 << 30);
    assert_int_equal(pool_num_threads(), POOL_MAX_THREADS);
    pool_set_num_threads(-1);
    assert_int_equal(pool_num_threads(), usual);
}

static void nested_calls_run(void **state) {
    (void)state;
    pool_set_num_threads(3);
    Tally t = {.inner = 11};
    assert_int_equal(pool_run(100, count_nested, &t), ST_OK);
    assert_true(each_once(&t, 100));
    assert_int_equal(t.inner_ran, 1100);
    pool_set_num_threads(0);
}

typedef struct {
    pthread_t caller, seen[MOST];
} Who;

static void note_thread(void *ctx, int64_t k) {
    ((Who *)ctx)->seen[k] = pthread_self();
    nap_us(50);
}

static void no_more_threads_than_asked(void **state) {
    (void)state;
    pool_set_num_threads(8);
    assert_true(counts_right(MOST)); /* seven workers exist now */
    for (int threads = 1; threads <= 3; threads++) {
        Who w = {0};
        pool_set_num_threads(threads);
        assert_int_equal(pool_run(60, note_thread, &w), ST_OK);
        int distinct = 0;
        for (int i = 0; i < 60; i++) {
            int j = 0;
            while (j < i && !pthread_equal(w.seen[j], w.seen[i])) j++;
            distinct += j == i;
        }
        assert_in_range(distinct, 1, threads);
    }
    pool_set_num_threads(0);
}

static void *call_often(void *arg) {
    pool_set_num_threads(2);
    for (int i = 0; i < 300; i++)
        if (!counts_right(40)) return arg;
    return NULL;
}

static void eight_callers(void **state) {
    (void)state;
    pthread_t t[8];
    for (int i = 0; i < 8; i++) assert_int_equal(pthread_create(&t[i], NULL, call_often, t), 0);
    for (int i = 0; i < 8; i++) {
        void *failed;
        pthread_join(t[i], &failed);
        assert_null(failed);
    }
}

/* qemu's user mode fails an assertion of its own where a program of several threads forks. */
static void skip_where_forks_fail(void) {
    if (getenv("TIGA_TEST_EMULATED")) skip();
}

/* Exits from the child through exit(), so that the destructor runs there too. */
static void child_works(void) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        in_child = true;
        alarm(30); /* a hang becomes a failure */
        bool ok = counts_right(MOST) && counts_right(3);
        exit(ok ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void fork_after_use(void **state) {
    (void)state;
    skip_where_forks_fail();
    pool_set_num_threads(4);
    assert_true(counts_right(MOST));
    child_works();
    assert_true(counts_right(MOST));
    pool_set_num_threads(0);
}

static void *call_until(void *arg) {
    pool_set_num_threads(3);
    while (!atomic_load((atomic_bool *)arg))
        if (!counts_right(100)) abort();
    return NULL;
}

static void fork_while_others_run(void **state) {
    (void)state;
    skip_where_forks_fail();
    atomic_bool stop = false;
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, call_until, &stop), 0);
    pool_set_num_threads(3);
    for (int i = 0; i < 20; i++) child_works();
    atomic_store(&stop, true);
    pthread_join(other, NULL);
    pool_set_num_threads(0);
}

typedef struct {
    atomic_int ran, asked;
    int answer_at; /* asked so often, the poll says yes */
} Interrupt;

static bool poll_count(void *ctx) {
    Interrupt *i = ctx;
    return atomic_fetch_add(&i->asked, 1) + 1 >= i->answer_at;
}

static void slow_task(void *ctx, int64_t k) {
    (void)k;
    atomic_fetch_add(&((Interrupt *)ctx)->ran, 1);
    nap_us(1000);
}

static void interrupt_stops(void **state) {
    (void)state;
    for (int threads = 1; threads <= 4; threads += 3) {
        pool_set_num_threads(threads);
        Interrupt i = {.answer_at = 3};
        pool_set_poll(poll_count, &i);
        assert_int_equal(pool_run(10000, slow_task, &i), ST_INTR);
        assert_int_equal(err_status(), ST_INTR);
        assert_string_equal(err_message(), "interrupted");
        assert_int_equal(i.asked, 3);
        assert_in_range(i.ran, 1, 2000);
        pool_set_poll(NULL, NULL);
        assert_true(counts_right(MOST));
    }
    pool_set_num_threads(0);
}

static void divide(void *ctx, int64_t k) {
    volatile float one = 1, three = 3;
    ((float *)ctx)[k] = one / three;
    nap_us(200);
}

static void workers_have_the_callers_bits(void **state) {
    (void)state;
    pool_set_num_threads(4);
    float down[32], near[32];
    fesetround(FE_DOWNWARD);
    Status st = pool_run(32, divide, down);
    fesetround(FE_TONEAREST);
    assert_int_equal(st, ST_OK);
    assert_int_equal(pool_run(32, divide, near), ST_OK);
    for (int k = 0; k < 32; k++) {
        assert_memory_equal(&down[k], &down[0], sizeof(float));
        assert_memory_equal(&near[k], &near[0], sizeof(float));
    }
    assert_true(down[0] < near[0]);
    pool_set_num_threads(0);
}

static pthread_t main_thread;
static atomic_int signals, elsewhere;
static void on_signal(int number) {
    (void)number;
    atomic_fetch_add(&signals, 1);
    if (!pthread_equal(pthread_self(), main_thread)) atomic_fetch_add(&elsewhere, 1);
}

static void workers_take_no_signals(void **state) {
    (void)state;
    main_thread = pthread_self();
    signal(SIGUSR1, on_signal);
    pool_set_num_threads(4);
    for (int i = 0; i < 50; i++) {
        Interrupt slow = {0};
        kill(getpid(), SIGUSR1);
        assert_int_equal(pool_run(8, slow_task, &slow), ST_OK);
    }
    signal(SIGUSR1, SIG_DFL);
    assert_int_equal(signals, 50);
    assert_int_equal(elsewhere, 0);
    pool_set_num_threads(0);
}

static void put(const char *root, const char *path, const char *text) {
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *s = full + strlen(root) + 1; (s = strchr(s, '/')); *s++ = '/') {
        *s = 0;
        mkdir(full, 0700);
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void cgroup_quotas(void **state) {
    (void)state;
    char root[] = "/tmp/tiga_cgroup_XXXXXX";
    assert_non_null(mkdtemp(root));
    put(root, "a/cpu.max", "350000 100000\n");
    put(root, "a/b/cpu.max", "max 100000\n");
    put(root, "a/c/cpu.max", "50000 100000\n");
    put(root, "cpu/d/cpu.cfs_quota_us", "200000\n");
    put(root, "cpu/d/cpu.cfs_period_us", "100000\n");
    put(root, "cpu/e/cpu.cfs_quota_us", "-1\n");
    put(root, "cpu/e/cpu.cfs_period_us", "100000\n");
    static const struct {
        const char *groups;
        int quota;
    } cases[] = {
        {"", 0},
        {"0::/", 0},
        {"0::/a\n", 4},
        {"0::/a/b\n", 4},
        {"0::/a/c\n", 1},
        {"0::/not/mounted\n", 0},
        {"9:memory:/d\n4:cpu,cpuacct:/d\n", 2},
        {"4:cpuset:/d\n", 0},
        {"4:cpuacct,cpu:/e\n", 0},
        {"4:cpu:/d\n0::/a/c\n", 1},
        {"nonsense\n::\n:\n", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(cpus_quota(cases[i].groups, root), cases[i].quota);
    char remove_all[64];
    snprintf(remove_all, sizeof remove_all, "rm -r %s", root);
    assert_int_equal(system(remove_all), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(idle_workers_come_back),
        cmocka_unit_test(thread_counts),
        cmocka_unit_test(nested_calls_run),
        cmocka_unit_test(no_more_threads_than_asked),
        cmocka_unit_test(eight_callers),
        cmocka_unit_test(fork_after_use),
        cmocka_unit_test(fork_while_others_run),
        cmocka_unit_test(interrupt_stops),
        cmocka_unit_test(workers_have_the_callers_bits),
        cmocka_unit_test(workers_take_no_signals),
        cmocka_unit_test(cgroup_quotas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
