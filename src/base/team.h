/* The process's OpenMP team, whose threads wait spinning on the cores between its loops: where other work is
 * OpenMP's (torch's is), Tiga's shares run on those threads, not beside them. */
#ifndef TIGA_BASE_TEAM_H
#define TIGA_BASE_TEAM_H

#include <stdbool.h>

/* Runs share(ctx) on every thread of a region, the caller's first of all; on fewer, down to the caller's alone,
 * where the runtime gives no more. False, with nothing done, where no OpenMP runtime is loaded, its number of
 * threads is another, its threads fell asleep since the last region, or this is a forked child: there the runtime still
 * counts on its parent's threads. */
bool team_run(int threads, void (*share)(void *ctx), void *ctx);

#endif
