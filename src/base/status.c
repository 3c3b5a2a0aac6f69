/* The error record and the guard: both belong to a thread. */
#include "base/status.h"

#include "base/mem.h"
#include "base/mem_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Guard {
    jmp_buf jump;
    struct Guard *outer;
    ArenaList arenas; /* made since the guard was set */
} Guard;

static _Thread_local struct {
    Status status;
    char message[ERR_MESSAGE_SIZE];
} record;
static _Thread_local Guard *innermost;

static void record_put(Status status, const char *format, va_list args) {
    record.status = status;
    vsnprintf(record.message, sizeof record.message, format, args);
}

Status err_set(Status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    record_put(status, format, args);
    va_end(args);
    return status;
}

Status err_status(void) { return record.status; }

const char *err_message(void) { return record.message; }

void err_clear(void) {
    record.status = ST_OK;
    record.message[0] = 0;
}

ArenaList *guard_arenas(void) { return innermost ? &innermost->arenas : NULL; }

Status guard_run(Status (*body)(void *ctx), void *ctx) {
    Guard guard = {.outer = innermost};
    innermost = &guard;
    Status status = ST_OK;
    if (setjmp(guard.jump) == 0) {
        status = body(ctx);
        innermost = guard.outer;
        arena_list_release(&guard.arenas);
    } else {
        status = record.status;
        innermost = guard.outer;
        arena_list_free(&guard.arenas);
    }
    return status;
}

void guard_fail(Status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    record_put(status, format, args);
    va_end(args);
    if (!innermost) {
        fprintf(stderr, "tiga: %s\n", record.message);
        abort();
    }
    longjmp(innermost->jump, 1);
}
