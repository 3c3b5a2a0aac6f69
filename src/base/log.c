/* The one listener. Function and context change together, hence the lock; the call is made without it. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum { LINE_SIZE = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool listened;
static LogSink *listener;
static void *listener_ctx;

void log_set(LogSink *sink, void *ctx) {
    pthread_mutex_lock(&lock);
    listener = sink;
    listener_ctx = ctx;
    atomic_store(&listened, sink != NULL);
    pthread_mutex_unlock(&lock);
}

void log_put(LogLevel level, const char *format, ...) {
    if (!atomic_load_explicit(&listened, memory_order_relaxed)) return;
    pthread_mutex_lock(&lock);
    LogSink *sink = listener;
    void *ctx = listener_ctx;
    pthread_mutex_unlock(&lock);
    if (!sink) return;
    char line[LINE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    sink(ctx, level, line);
}
