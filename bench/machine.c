/* What this machine can do with the number of threads given, as one JSON object: the bandwidth of a
 * triad (a = b + s c, three arrays far larger than the caches, two read and one written: bytes counted
 * once), of gathering random rows of 256 bytes, and the rate of independent fused multiply-adds. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 1 << 24, ROWS = N / 64, ROUNDS = 7, MAX_THREADS = 64, CHAINS = 12, LANES = 16 };

typedef float Row __attribute__((vector_size(LANES * sizeof(float))));

static float *a, *b, *c;
static uint32_t *order;
static int num_threads;
static volatile float sink;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void share(int thread, int64_t n, int64_t *from, int64_t *to) {
    *from = n * thread / num_threads;
    *to = n * (thread + 1) / num_threads;
}

static void *triad(void *arg) {
    int64_t from, to;
    share((int)(intptr_t)arg, N, &from, &to);
    for (int64_t i = from; i < to; i++) a[i] = b[i] + 0.5f * c[i];
    return NULL;
}

static void *gather(void *arg) {
    int64_t from, to;
    share((int)(intptr_t)arg, ROWS, &from, &to);
    Row sum[4] = {{0}};
    for (int64_t i = from; i < to; i++) {
        const Row *row = (const Row *)(b + (size_t)order[i] * 64);
        __builtin_prefetch(b + (size_t)order[i + 16 < to ? i + 16 : i] * 64);
        for (int k = 0; k < 4; k++) sum[k] += row[k];
    }
    for (int k = 0; k < 4; k++) sink += sum[k][0];
    return NULL;
}

static void *multiply_add(void *arg) {
    Row x[CHAINS], scale = {0};
    scale += 0.999f;
    for (int k = 0; k < CHAINS; k++) x[k] = scale * (float)((intptr_t)arg + k);
    for (int i = 0; i < 2000000; i++)
        for (int k = 0; k < CHAINS; k++) x[k] = x[k] * scale + scale;
    for (int k = 0; k < CHAINS; k++) sink += x[k][0];
    return NULL;
}

static double fastest(void *(*work)(void *arg)) {
    double best = 1e9;
    for (int r = 0; r < ROUNDS; r++) {
        pthread_t thread[MAX_THREADS];
        double start = now();
        for (intptr_t t = 1; t < num_threads; t++)
            pthread_create(&thread[t], NULL, work, (void *)t);
        work(NULL);
        for (int t = 1; t < num_threads; t++) pthread_join(thread[t], NULL);
        double took = now() - start;
        if (took < best) best = took;
    }
    return best;
}

static void *floats(void) {
    float *p = aligned_alloc(64, N * sizeof *p);
    if (!p) exit(1);
    for (int64_t i = 0; i < N; i++) p[i] = (float)(i % 7) * 0.25f;
    return p;
}

int main(int argc, char **argv) {
    num_threads = argc > 1 ? atoi(argv[1]) : 1;
    if (num_threads < 1 || num_threads > MAX_THREADS) return 2;
    a = floats(), b = floats(), c = floats();
    order = malloc(ROWS * sizeof *order);
    if (!order) return 1;
    for (uint32_t i = 0; i < ROWS; i++) order[i] = i * 2654435761u % ROWS;
    double moved = 3.0 * N * sizeof(float), gathered = (double)N * sizeof(float);
    double flops = 2.0 * LANES * CHAINS * 2e6 * num_threads;
    printf("{\"triad_gb_s\": %.2f, \"gather_gb_s\": %.2f, \"fma_gflop_s\": %.1f}\n",
           moved / fastest(triad) / 1e9, gathered / fastest(gather) / 1e9,
           flops / fastest(multiply_add) / 1e9);
    free(a), free(b), free(c), free(order);
    return 0;
}
