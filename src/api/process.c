/* What belongs to the process: threads, interrupts, memory, switches. */
#include "api/door.h"
#include "base/debug.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "run/buffers.h"
#include "vocab/near.h"

_Static_assert((int)TG_WARNING == (int)LOG_WARNING, "ORDER LOG");

void tg_set_num_threads(int n) { pool_set_num_threads(n); }

int tg_num_threads(void) { return pool_num_threads(); }

void tg_use_openmp(bool on) { pool_use_team(on && !debug_has("OFF", "openmp")); }

void tg_set_poll(bool (*poll)(void *ctx), void *ctx) { pool_set_poll(poll, ctx); }

void tg_set_log(void (*log)(void *ctx, int severity, const char *text), void *ctx) {
    log_set(log, ctx);
}

tg_status tg_set_allocator(void *(*alloc)(void *ctx, size_t size),
                           void (*release)(void *ctx, void *p), void *ctx) {
    if (!alloc != !release) return door_missing(alloc ? "release" : "alloc");
    const Allocator own = {alloc, release, ctx};
    if (mem_use(alloc ? &own : NULL)) return TG_OK;
    return (tg_status)err_set(
        ST_INVAL, "the allocator cannot be changed: %lld blocks of the present one are in use",
        (long long)mem_live());
}

int64_t tg_memory(void) {
    BufStats s = buf_stats();
    return s.used + s.kept;
}

void tg_trim(void) { buf_trim(); }

int tg_near(const char *name, const char *const *names, int n) {
    Near near = near_to(name);
    for (int k = 0; name && names && k < n; k++)
        if (names[k]) near_try(&near, names[k]);
    for (int k = 0; near.best && k < n; k++)
        if (names[k] == near.best) return k;
    return -1;
}

const char *tg_debug_help(void) { return debug_help(); }
