/* One pool of threads a process and one parallel-for; bounded spin, then sleep; the caller takes
 * part. The first owner has the pool; another caller, or a call from inside a task, runs alone on
 * its own thread, with the same bits, since what a task does never depends on who runs it. A forked
 * child starts its own pool. Workers take the caller's floating-point mode (flush to zero,
 * rounding) and receive no signals. */
#ifndef TIGA_BASE_POOL_H
#define TIGA_BASE_POOL_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Runs body(ctx, k) for k in [0, num_tasks), dynamically; returns when all ended. body must not
 * unwind, and what it puts into the error record is lost on workers: report through ctx. `poll`,
 * where set by pool_set_poll, is asked between tasks on the calling thread; once it answers true no
 * further task starts and the result is ST_INTR. */
Status pool_run(int64_t num_tasks, void (*body)(void *ctx, int64_t task), void *ctx);

/* In a task: returns when *word is `least` or more. Tasks start in rising order, so one may wait for what a
 * task before it stores. */
void pool_await(_Atomic int64_t *word, int64_t least);

/* Threads used for the calling thread's next calls, the caller among them; 0 for the default:
 * TIGA_THREADS, else OMP_NUM_THREADS, else the affinity mask, never above the cgroup's quota. A
 * number set here is taken as it is, up to POOL_MAX_THREADS. */
enum { POOL_MAX_THREADS = 256 };
void pool_set_num_threads(int n);
int pool_num_threads(void);

/* Whether this thread's next calls run on the process's OpenMP team where they can (team.h): its threads take the
 * place of the pool's own, with the same bits. */
void pool_use_team(bool on);

/* For this thread; NULL turns it off. Asked at the first task after it was set and then at most
 * every POOL_POLL_MS, since a poll may be dear (Python's takes a lock). */
enum { POOL_POLL_MS = 10 };
void pool_set_poll(bool (*poll)(void *ctx), void *ctx);
/* Asks it on behalf of work that is no task: ST_INTR where it answers true. */
Status pool_ask(void);

#endif
