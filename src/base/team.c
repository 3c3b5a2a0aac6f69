/* The entry points are those that GCC's compilers call, and LLVM's and Intel's runtimes have them as well
 * ("The libgomp ABI", GCC's manual of libgomp). Which runtime the process uses is found when it is first asked for,
 * and again while there is none: it may be loaded later. */
#include "base/team.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef void Region(void (*share)(void *ctx), void *ctx, unsigned threads, unsigned flags);
typedef int Number(void);

static struct {
    _Atomic(Region *) region;
    _Atomic(Number *) threads;
} runtime;

static enum { UNKNOWN, FORKED, WHOLE } _Atomic process;

/* In the flags of /proc/self/stat: forked, and nothing executed since (PF_FORKNOEXEC, linux/sched.h). */
static bool is_forked(void) {
    char line[1024];
    unsigned flags = 0x40;
    FILE *f = fopen("/proc/self/stat", "re");
    if (!f) return true;
    const char *name_end = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    if (name_end) (void)sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags);
    fclose(f);
    return flags & 0x40;
}

static void forget_process(void) { process = UNKNOWN; }

static void watch_forks(void) { pthread_atfork(NULL, NULL, forget_process); }

static bool is_whole(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    if (process == UNKNOWN) process = is_forked() ? FORKED : WHOLE;
    return process == WHOLE;
}

static bool find_runtime(void) {
    if (runtime.region) return true;
    Number *threads;
    Region *region;
    *(void **)&threads = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    *(void **)&region = dlsym(RTLD_DEFAULT, "GOMP_parallel");
    if (!threads || !region) return false;
    runtime.threads = threads;
    runtime.region = region;
    return true;
}

/* ---- does the team wait on the cores? A region is over when its last thread is, and one that sleeps may take
 *      milliseconds to come; so the CPU time of one of its threads is looked at twice. A calling thread has a team of
 *      its own. ---- */

static _Thread_local struct {
    clockid_t clock;
    bool known;
} member;

static bool is_awake(void) {
    struct timespec now, then;
    if (!member.known || clock_gettime(member.clock, &then) || clock_gettime(member.clock, &now))
        return true;
    return now.tv_nsec != then.tv_nsec;
}

typedef struct {
    void (*share)(void *ctx);
    void *ctx;
    pthread_t caller;
    _Atomic clockid_t clock; /* another member's, or the process's */
} Job;

static void run_share(void *arg) {
    Job *job = arg;
    clockid_t own;
    if (!pthread_equal(pthread_self(), job->caller) && !pthread_getcpuclockid(pthread_self(), &own))
        job->clock = own;
    job->share(job->ctx);
}

bool team_run(int threads, void (*share)(void *ctx), void *ctx) {
    if (!find_runtime() || !is_whole() || runtime.threads() != threads || !is_awake()) return false;
    Job job = {share, ctx, pthread_self(), CLOCK_PROCESS_CPUTIME_ID};
    runtime.region(run_share, &job, (unsigned)threads, 0);
    member.clock = job.clock;
    member.known = job.clock != CLOCK_PROCESS_CPUTIME_ID;
    return true;
}
