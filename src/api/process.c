/* What belongs to the process: threads, interrupts, memory, switches. */
#include "api/door.h"
#include "base/debug.h"
#include "base/pool.h"
#include "run/buffers.h"

void tg_set_num_threads(int n) { pool_set_num_threads(n); }

int tg_num_threads(void) { return pool_num_threads(); }

void tg_set_poll(bool (*poll)(void *ctx), void *ctx) { pool_set_poll(poll, ctx); }

int64_t tg_memory(void) {
    BufStats s = buf_stats();
    return s.used + s.kept;
}

void tg_trim(void) { buf_trim(); }

const char *tg_debug_help(void) { return debug_help(); }
