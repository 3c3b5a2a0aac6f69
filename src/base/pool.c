/* The thread pool. Each worker has one word, its state, and sleeps on it (futex):
 *
 *     IDLE    spinning           caller: -> CALLED           worker, spun enough: -> ASLEEP
 *     ASLEEP  in the kernel      caller: -> CALLED and wakes it
 *     CALLED  may join the job   worker: -> BUSY             caller, no task left: -> IDLE
 *     BUSY    running tasks      worker, no task left: -> IDLE
 *     AWAITED as BUSY, and the caller sleeps on the word     worker: -> IDLE and wakes it
 *     QUIT    the process ends
 *
 * A worker that wakes too late is called off instead of waited for, so a short job never pays for
 * waking a sleeper. Whoever sets `owned` has the pool and the job's fields; a worker reads those
 * between CALLED and its return to IDLE alone. */
#include "base/pool.h"

#include "base/cpus.h"
#include "base/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined __x86_64__
#include <immintrin.h>
#elif !defined __aarch64__
#include <fenv.h>
#endif

enum { IDLE, CALLED, BUSY, AWAITED, ASLEEP, QUIT };
enum { SPIN_NS = 50000, YIELD_AFTER_NS = 5000, MAX_WORKERS = POOL_MAX_THREADS - 1 };

typedef _Atomic uint32_t Word;

typedef struct {
    _Alignas(64) Word state;
    pthread_t thread;
} Worker;

/* ---- floating-point mode: control bits alone, not the sticky exception flags ---- */

#if defined __x86_64__
typedef unsigned FpMode;
enum { MXCSR_FLAGS = 0x3f };
static FpMode fp_mode(void) { return _mm_getcsr() & ~(unsigned)MXCSR_FLAGS; }
static void fp_set_mode(FpMode mode) { _mm_setcsr(mode); }
#elif defined __aarch64__
typedef uint64_t FpMode;
static FpMode fp_mode(void) {
    FpMode mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
static void fp_set_mode(FpMode mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
#else
typedef fenv_t FpMode;
static FpMode fp_mode(void) {
    FpMode mode;
    fegetenv(&mode);
    return mode;
}
static void fp_set_mode(FpMode mode) { fesetenv(&mode); }
#endif

static struct {
    _Alignas(64) atomic_bool owned;
    atomic_int num_workers; /* started so far */
    pid_t process;          /* that started them */
    void (*body)(void *ctx, int64_t task);
    void *ctx;
    int64_t num_tasks;
    FpMode mode;
    _Alignas(64) _Atomic int64_t next; /* the first task that nobody claimed */
    Worker workers[MAX_WORKERS];
} pool;

static _Thread_local struct {
    int threads; /* 0: the default */
    bool uses_team;
    bool (*poll)(void *ctx);
    void *ctx;
    int64_t next_poll; /* ns */
} mine;

/* ---- waiting ---- */

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void relax(void) {
#if defined __x86_64__
    _mm_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

static void sleep_while(Word *word, uint32_t value) {
    while (atomic_load(word) == value)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(Word *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }

/* Gives up after SPIN_NS; soon lets others run, since there may be more threads than processors. */
static void spin_while(Word *word, uint32_t value) {
    int64_t start = 0;
    for (unsigned i = 1; atomic_load_explicit(word, memory_order_acquire) == value; i++) {
        relax();
        if (i % 32) continue;
        int64_t now = now_ns();
        if (!start) start = now;
        if (now - start > SPIN_NS) return;
        if (now - start > YIELD_AFTER_NS) sched_yield();
    }
}

void pool_await(_Atomic int64_t *word, int64_t least) {
    enum { SPINS = 1024, YIELDS = 128, NAP_NS = 20000 };
    for (int i = 0; atomic_load_explicit(word, memory_order_acquire) < least; i++) {
        if (i < SPINS) relax();
        else if (i < SPINS + YIELDS) sched_yield();
        else nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

static bool change(Word *word, uint32_t from, uint32_t to) {
    return atomic_compare_exchange_strong(word, &from, to);
}

/* ---- workers ---- */

static void run_claimed(void) {
    for (int64_t k; (k = atomic_fetch_add(&pool.next, 1)) < pool.num_tasks;) pool.body(pool.ctx, k);
}

static void await_call(Word *state) {
    spin_while(state, IDLE);
    if (change(state, IDLE, ASLEEP)) sleep_while(state, ASLEEP);
}

static void *worker_main(void *arg) {
    Word *state = &((Worker *)arg)->state;
    while (atomic_load(state) != QUIT) {
        await_call(state);
        if (!change(state, CALLED, BUSY)) continue;
        fp_set_mode(pool.mode);
        run_claimed();
        if (atomic_exchange(state, IDLE) == AWAITED) wake(state);
    }
    return NULL;
}

/* In a forked child: the threads stayed with the parent. */
static void forget_workers(void) {
    for (int i = 0; i < pool.num_workers; i++) atomic_store(&pool.workers[i].state, IDLE);
    pool.num_workers = 0;
    atomic_store(&pool.owned, false);
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, forget_workers); }

/* Up to n workers; fewer where the system gives no more. */
static int start_workers(int n) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (pool.num_workers >= n) return n;
    pthread_once(&once, watch_forks);
    pool.process = getpid();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a thread starts with its creator's mask */
    while (pool.num_workers < n) {
        Worker *w = &pool.workers[pool.num_workers];
        atomic_store(&w->state, IDLE);
        if (pthread_create(&w->thread, NULL, worker_main, w)) break;
        pool.num_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pool.num_workers;
}

static void call(Worker *w) {
    if (atomic_exchange(&w->state, CALLED) == ASLEEP) wake(&w->state);
}

static void await_end(Worker *w) {
    if (change(&w->state, CALLED, IDLE)) return;
    spin_while(&w->state, BUSY);
    if (change(&w->state, BUSY, AWAITED)) sleep_while(&w->state, AWAITED);
}

/* At exit, and when the library is unloaded. Never waits for a job: where one runs, or this is a
 * child that fork handlers did not see, its threads are left alone. The pool stays owned, so
 * later callers run alone. */
__attribute__((destructor)) static void stop_workers(void) {
    if (atomic_exchange(&pool.owned, true) || pool.process != getpid()) return;
    for (int i = 0; i < pool.num_workers; i++)
        if (atomic_exchange(&pool.workers[i].state, QUIT) == ASLEEP) wake(&pool.workers[i].state);
    for (int i = 0; i < pool.num_workers; i++) pthread_join(pool.workers[i].thread, NULL);
    pool.num_workers = 0;
}

/* ---- callers ---- */

static bool interrupted(void) {
    if (!mine.poll) return false;
    int64_t now = now_ns();
    if (now < mine.next_poll) return false;
    mine.next_poll = now + (int64_t)POOL_POLL_MS * 1000000;
    return mine.poll(mine.ctx);
}

static Status report_interrupt(void) { return err_set(ST_INTR, "interrupted"); }

Status pool_ask(void) { return interrupted() ? report_interrupt() : ST_OK; }

static Status run_alone(int64_t num_tasks, void (*body)(void *ctx, int64_t task), void *ctx) {
    for (int64_t k = 0; k < num_tasks; k++) {
        if (interrupted()) return report_interrupt();
        body(ctx, k);
    }
    return ST_OK;
}

/* The caller's share; on an interrupt nobody claims a further task. */
static bool run_share(void) {
    for (;;) {
        if (interrupted()) {
            atomic_store(&pool.next, pool.num_tasks);
            return false;
        }
        int64_t k = atomic_fetch_add(&pool.next, 1);
        if (k >= pool.num_tasks) return true;
        pool.body(pool.ctx, k);
    }
}

/* A share on one of the OpenMP team's threads; only the caller's can be interrupted. */
static void share_of_team(void *all_done) {
    FpMode own = fp_mode();
    fp_set_mode(pool.mode);
    if (!run_share()) *(bool *)all_done = false;
    fp_set_mode(own);
}

static bool run_on_workers(int helpers) {
    int n = start_workers(helpers);
    for (int i = 0; i < n; i++) call(&pool.workers[i]);
    bool all_done = run_share();
    for (int i = 0; i < n; i++) await_end(&pool.workers[i]);
    return all_done;
}

Status pool_run(int64_t num_tasks, void (*body)(void *ctx, int64_t task), void *ctx) {
    int threads = pool_num_threads();
    int64_t helpers = threads < num_tasks ? threads - 1 : num_tasks - 1;
    if (helpers < 1 || atomic_exchange(&pool.owned, true)) return run_alone(num_tasks, body, ctx);
    pool.body = body;
    pool.ctx = ctx;
    pool.num_tasks = num_tasks;
    pool.mode = fp_mode();
    atomic_store(&pool.next, 0);
    bool all_done = true;
    if (!mine.uses_team || !team_run(threads, share_of_team, &all_done))
        all_done = run_on_workers((int)helpers);
    atomic_store(&pool.owned, false);
    return all_done ? ST_OK : report_interrupt();
}

void pool_use_team(bool on) { mine.uses_team = on; }

void pool_set_num_threads(int n) {
    mine.threads = n < 0 ? 0 : n > POOL_MAX_THREADS ? POOL_MAX_THREADS : n;
}

int pool_num_threads(void) {
    static atomic_int usual;
    if (mine.threads) return mine.threads;
    int n = atomic_load_explicit(&usual, memory_order_relaxed);
    if (!n) {
        n = cpus_usable();
        n = n > POOL_MAX_THREADS ? POOL_MAX_THREADS : n;
        atomic_store_explicit(&usual, n, memory_order_relaxed);
    }
    return n;
}

void pool_set_poll(bool (*poll)(void *ctx), void *ctx) {
    mine.poll = poll;
    mine.ctx = ctx;
    mine.next_poll = 0;
}
