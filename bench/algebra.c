/* A reducer of three components by hand, for algebras.py: the merge of counts, means and sums of squares
 * (Chan, Golub and LeVeque 1983) along the rows of a graph, of messages x[col] or weight * x[col]; the
 * result is the variance. Features lie in lanes and a row's state in registers; gathered rows are
 * prefetched; the count, which all features share, is one number. A single feature puts LANES rows in
 * the lanes instead. Vectors are as wide as the machine that this is built for has them. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#if defined __AVX512F__ || defined __AVX2__
#include <immintrin.h>
#endif

#ifdef __AVX512F__
enum { LANES = 16 };
#else
enum { LANES = 8 };
#endif
enum { MOST_VECTORS = 4, AHEAD = 32, LINE = 16, MAX_THREADS = 64 };

typedef float Lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t Ints __attribute__((vector_size(LANES * sizeof(int32_t))));

typedef struct {
    const int64_t *row_ptr;
    const int32_t *col;
    const float *weight, *x; /* weight: NULL where there is none */
    float *out;
    int64_t features, from, to, edges;
} Job;

#define INLINE static inline __attribute__((always_inline))

INLINE void prefetch(const Job *j, int64_t pos) {
    const float *row =
        j->x + (int64_t)j->col[pos + AHEAD < j->edges ? pos + AHEAD : pos] * j->features;
    for (int64_t at = 0; at < j->features; at += LINE) __builtin_prefetch(row + at);
}

/* Features [first, first + vectors * LANES) of a row; vectors is a constant. */
INLINE void fold_row(const Job *j, int64_t row, int64_t first, int vectors) {
    Lanes mean[MOST_VECTORS] = {{0}}, square[MOST_VECTORS] = {{0}};
    float count = 0;
    for (int64_t p = j->row_ptr[row]; p < j->row_ptr[row + 1]; p++, count += 1) {
        if (first == 0) prefetch(j, p);
        const float *x = j->x + (int64_t)j->col[p] * j->features + first;
        float share = 1 / (count + 1), both = count * share, weight = j->weight ? j->weight[p] : 1;
        for (int k = 0; k < vectors; k++) {
            Lanes message;
            memcpy(&message, x + k * LANES, sizeof message);
            Lanes d = message * weight - mean[k];
            mean[k] += d * share;
            square[k] += d * d * both;
        }
    }
    for (int k = 0; k < vectors; k++) {
        square[k] /= count;
        memcpy(j->out + row * j->features + first + k * LANES, &square[k], sizeof square[k]);
    }
}

static void fold_rows(const Job *j) {
    for (int64_t row = j->from; row < j->to; row++) {
        int64_t first = 0, left = j->features / LANES;
        for (; left >= MOST_VECTORS; left -= MOST_VECTORS, first += MOST_VECTORS * LANES)
            fold_row(j, row, first, MOST_VECTORS);
        if (left >= 2) fold_row(j, row, first, 2), left -= 2, first += 2 * LANES;
        if (left) fold_row(j, row, first, 1);
    }
}

INLINE Lanes gather(const float *from, Ints at) {
#ifdef __AVX512F__
    return (Lanes)_mm512_i32gather_ps((__m512i)at, from, 4);
#elif defined __AVX2__
    return (Lanes)_mm256_i32gather_ps(from, (__m256i)at, 4);
#else
    Lanes x;
    for (int l = 0; l < LANES; l++) x[l] = from[at[l]];
    return x;
#endif
}

INLINE Ints gather_ints(const int32_t *from, Ints at) {
    return (Ints)gather((const float *)from, at);
}

/* LANES rows at once, as many steps as the longest has edges; fewer than 2^31 edges. */
static void fold_lanes(const Job *j, int64_t row) {
    Ints begin, degree;
    int32_t most = 0;
    for (int l = 0; l < LANES; l++) {
        begin[l] = (int32_t)j->row_ptr[row + l];
        degree[l] = (int32_t)(j->row_ptr[row + l + 1] - j->row_ptr[row + l]);
        if (degree[l] > most) most = degree[l];
    }
    Lanes mean = {0}, square = {0};
    for (int32_t k = 0; k < most; k++) {
        Ints there = degree > k, at = begin + (k & there);
        at &= at < (int32_t)j->edges;
        Lanes message = gather(j->x, gather_ints(j->col, at));
        if (j->weight) message *= gather(j->weight, at);
        float share = 1 / ((float)k + 1), both = (float)k * share;
        Lanes d = (Lanes)(there & (Ints)(message - mean));
        mean += d * share;
        square += d * d * both;
    }
    square /= __builtin_convertvector(degree, Lanes);
    memcpy(j->out + row, &square, sizeof square);
}

/* The last rows, that fill no vector. */
static void fold_one(const Job *j, int64_t row) {
    float count = 0, mean = 0, square = 0;
    for (int64_t p = j->row_ptr[row]; p < j->row_ptr[row + 1]; p++, count += 1) {
        float d = j->x[j->col[p]] * (j->weight ? j->weight[p] : 1) - mean, share = 1 / (count + 1);
        mean += d * share;
        square += d * d * (count * share);
    }
    j->out[row] = square / count;
}

static void *work(void *arg) {
    const Job *j = arg;
    int64_t row = j->from;
    if (j->features > 1) {
        fold_rows(j);
        return NULL;
    }
    for (; row + LANES <= j->to; row += LANES) fold_lanes(j, row);
    for (; row < j->to; row++) fold_one(j, row);
    return NULL;
}

/* features: 1 or a multiple of LANES. Rows are shared evenly among the threads; the caller is one. */
__attribute__((visibility("default"))) void
algebra_variance(const int64_t *row_ptr, const int32_t *col, const float *weight, const float *x,
                 float *out, int64_t rows, int64_t features, int64_t threads);

void algebra_variance(const int64_t *row_ptr, const int32_t *col, const float *weight,
                      const float *x, float *out, int64_t rows, int64_t features, int64_t threads) {
    Job job[MAX_THREADS];
    pthread_t thread[MAX_THREADS];
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    for (int64_t t = 0; t < threads; t++) {
        job[t] = (Job){row_ptr,
                       col,
                       weight,
                       x,
                       out,
                       features,
                       rows * t / threads,
                       rows * (t + 1) / threads,
                       row_ptr[rows]};
        if (t) pthread_create(&thread[t], NULL, work, &job[t]);
    }
    work(&job[0]);
    for (int64_t t = 1; t < threads; t++) pthread_join(thread[t], NULL);
}
