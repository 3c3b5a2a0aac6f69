/* Status codes, the thread's error record, and the one boundary at which failures stop unwinding.
 *
 * Fallible edges (parsing, building, binding, compiling, large allocations) return a Status and
 * leave one message here. Passes over verified programs are total: a failed small allocation or a
 * broken invariant unwinds by longjmp to the innermost guard_run() of the same thread. */
#ifndef TIGA_BASE_STATUS_H
#define TIGA_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>

/* ORDER STATUS: the values are those of tg_status in tiga.h. */
typedef enum {
    ST_OK,
    ST_TYPE,        /* wrong dtype or kind of thing */
    ST_INVAL,       /* wrong value */
    ST_RANGE,       /* index out of range */
    ST_SHAPE,       /* shapes do not fit */
    ST_NAME,        /* unknown or missing name */
    ST_SYNTAX,      /* text does not parse */
    ST_UNSUPPORTED, /* refused by name */
    ST_NOMEM,
    ST_INTR, /* interrupted by the caller's poll */
    ST_BUG   /* a broken invariant of Tiga's own */
} Status;

enum { ERR_MESSAGE_SIZE = 2048 };

/* Records status and message for this thread and returns the status. Never allocates. */
Status err_set(Status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
Status err_status(void);
const char *err_message(void);
void err_clear(void);

/* Runs body(ctx) with this thread's guard set. Returns what body returns, or the status of the
 * failure that unwound to here; arenas made inside are freed in that case. Guards nest. */
Status guard_run(Status (*body)(void *ctx), void *ctx);

/* Unwinds to the innermost guard; aborts with the message on stderr where there is none (tools and
 * tests only: every public entry has a guard). */
_Noreturn void guard_fail(Status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Invariants of Tiga's own. */
#define TIGA_ASSERT(cond)                                                                          \
    ((cond) ? (void)0                                                                              \
            : guard_fail(ST_BUG, "%s:%d: broken invariant: %s", __FILE__, __LINE__, #cond))
#define TIGA_UNREACHABLE(what)                                                                     \
    guard_fail(ST_BUG, "%s:%d: cannot happen: %s", __FILE__, __LINE__, what)

#endif
