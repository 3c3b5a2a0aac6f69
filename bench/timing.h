/* Time for the benchmarks in C: microseconds, medians, a function timed in batches. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stdlib.h>
#include <time.h>

enum { MOST_BATCHES = 201 };

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts v. */
static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}

/* Of one work(ctx), median of that many batches. */
static double time_us(void (*work)(void *ctx), void *ctx, int batch, int batches) {
    static double times[MOST_BATCHES];
    for (int b = 0; b < batches; b++) {
        double start = now_us();
        for (int i = 0; i < batch; i++) work(ctx);
        times[b] = (now_us() - start) / batch;
    }
    return median(times, batches);
}

#endif
