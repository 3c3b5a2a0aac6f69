/* The weighted sum and its gradients written by hand for this machine, one width at a time: the limit that
 * limit.py holds Tiga against. Rows are gathered with vector intrinsics and asked for ahead, into L1 or L2;
 * edges go to several accumulators, in any order; results that outgrow the cache are stored past it.
 *
 * A shared library for limit.py: arrays are dense, columns int32, widths 1, 16, 32, 64 and 128. */
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __AVX512F__
enum { LANES = 16 };
typedef __m512 Vec;
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define STREAM _mm512_stream_ps
#define SPLAT _mm512_set1_ps
#define FMA _mm512_fmadd_ps
#define ADD _mm512_add_ps
#define ZERO _mm512_setzero_ps
#define TOTAL _mm512_reduce_add_ps
#else
enum { LANES = 8 };
typedef __m256 Vec;
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define STREAM _mm256_stream_ps
#define SPLAT _mm256_set1_ps
#define FMA _mm256_fmadd_ps
#define ADD _mm256_add_ps
#define ZERO _mm256_setzero_ps
static inline float TOTAL(Vec v) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps(x, x, 1)));
}
#endif

typedef struct {
    int64_t rows, edges;
    const int64_t *row_ptr;
    const int32_t *col, *edge; /* edge: the number of each position's weight, NULL: its own */
    const float *weight, *x;   /* x: a row a column */
    const float *of_row;       /* what the rows' edges are multiplied with: limit_products alone */
    float *out;
    int64_t width, ahead; /* ahead: positions; 0: no hints, below 0: into L2 */
    int64_t stream;       /* store past the cache */
} Job;

enum { LINE = 16, STREAM_AHEAD = 256, CHUNK_ROWS = 1024 };

typedef enum { HINT_none, HINT_l1, HINT_l2 } Hint;
#define INLINE static inline __attribute__((always_inline))

INLINE void touch(const void *at, Hint hint) {
    if (hint == HINT_l1) _mm_prefetch(at, _MM_HINT_T0);
    if (hint == HINT_l2) _mm_prefetch(at, _MM_HINT_T1);
}

INLINE void ask(const Job *j, int64_t p, int64_t width, Hint hint) {
    if (hint == HINT_none) return;
    int64_t next = p + (hint == HINT_l1 ? j->ahead : -j->ahead);
    const float *row = j->x + (int64_t)j->col[next < j->edges ? next : j->edges - 1] * width;
    for (int64_t f = 0; f < width; f += LINE) touch(row + f, hint);
    if (p % LINE) return;
    touch(j->col + p + STREAM_AHEAD, hint);
    if (!j->edge) touch(j->weight + p + STREAM_AHEAD, hint);
}

INLINE Vec scale(const Job *j, int64_t p) { return SPLAT(j->weight[j->edge ? j->edge[p] : p]); }

/* Rows of `width` floats; several edges at once where a row is narrow. */
INLINE void sum_rows(const Job *j, int64_t row, int64_t end, int64_t width, Hint hint) {
    enum { MOST = 128 / LANES };
    int64_t n = width / LANES, ways = n >= 4 ? 1 : 4 / n;
    for (; row < end; row++) {
        Vec sum[MOST > 4 ? MOST : 4];
        for (int64_t k = 0; k < n * ways; k++) sum[k] = ZERO();
        int64_t p = j->row_ptr[row], last = j->row_ptr[row + 1];
        for (; p + ways <= last; p += ways)
            for (int64_t u = 0; u < ways; u++) {
                ask(j, p + u, width, hint);
                const float *from = j->x + (int64_t)j->col[p + u] * width;
                Vec w = scale(j, p + u);
                for (int64_t k = 0; k < n; k++)
                    sum[u * n + k] = FMA(w, LOAD(from + k * LANES), sum[u * n + k]);
            }
        for (; p < last; p++) {
            ask(j, p, width, hint);
            const float *from = j->x + (int64_t)j->col[p] * width;
            Vec w = scale(j, p);
            for (int64_t k = 0; k < n; k++) sum[k] = FMA(w, LOAD(from + k * LANES), sum[k]);
        }
        float *to = j->out + row * width;
        for (int64_t k = 0; k < n; k++) {
            for (int64_t u = 1; u < ways; u++) sum[k] = ADD(sum[k], sum[u * n + k]);
            if (j->stream) STREAM(to + k * LANES, sum[k]);
            else STORE(to + k * LANES, sum[k]);
        }
    }
}

/* One float a row: gathers of LANES edges. */
static void sum_ones(const Job *j, int64_t row, int64_t end) {
    for (; row < end; row++) {
        int64_t p = j->row_ptr[row], last = j->row_ptr[row + 1];
        float total = 0;
#ifdef __AVX512F__
        __m512 sum = _mm512_setzero_ps();
        for (; p < last; p += LANES) {
            __mmask16 m = last - p >= LANES ? 0xffff : (__mmask16)((1u << (last - p)) - 1);
            __m512i at = _mm512_maskz_loadu_epi32(m, j->col + p);
            __m512 x = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, at, j->x, 4);
            __m512 w;
            if (j->edge)
                w = _mm512_mask_i32gather_ps(
                    _mm512_setzero_ps(), m, _mm512_maskz_loadu_epi32(m, j->edge + p), j->weight, 4);
            else w = _mm512_maskz_loadu_ps(m, j->weight + p);
            sum = _mm512_fmadd_ps(w, x, sum);
        }
        total = _mm512_reduce_add_ps(sum);
#endif
        for (; p < last; p++) total += j->weight[j->edge ? j->edge[p] : p] * j->x[j->col[p]];
        j->out[row] = total;
    }
}

/* out[e] = of_row[i] . x[j] for each edge e of row i. */
INLINE void dot_rows(const Job *j, int64_t row, int64_t end, int64_t width, Hint hint) {
    int64_t n = width / LANES;
    for (; row < end; row++) {
        Vec own[128 / LANES];
        for (int64_t k = 0; k < n; k++) own[k] = LOAD(j->of_row + row * width + k * LANES);
        for (int64_t p = j->row_ptr[row]; p < j->row_ptr[row + 1]; p++) {
            ask(j, p, width, hint);
            const float *from = j->x + (int64_t)j->col[p] * width;
            Vec sum = ZERO();
            for (int64_t k = 0; k < n; k++) sum = FMA(own[k], LOAD(from + k * LANES), sum);
            j->out[p] = TOTAL(sum);
        }
    }
}

static void dot_ones(const Job *j, int64_t row, int64_t end) {
    for (; row < end; row++)
        for (int64_t p = j->row_ptr[row]; p < j->row_ptr[row + 1]; p++)
            j->out[p] = j->of_row[row] * j->x[j->col[p]];
}

#define WIDTHS(rows, ones, hint)                                                                   \
    switch (j->width) {                                                                            \
    case 1: ones(j, row, end); return;                                                             \
    case 16: rows(j, row, end, 16, hint); return;                                                  \
    case 32: rows(j, row, end, 32, hint); return;                                                  \
    case 64: rows(j, row, end, 64, hint); return;                                                  \
    case 128: rows(j, row, end, 128, hint); return;                                                \
    }

static void sums(const Job *j, int64_t row, int64_t end) {
    if (!j->ahead) WIDTHS(sum_rows, sum_ones, HINT_none)
    else if (j->ahead > 0) WIDTHS(sum_rows, sum_ones, HINT_l1)
    else WIDTHS(sum_rows, sum_ones, HINT_l2)
}

static void products(const Job *j, int64_t row, int64_t end) {
    if (!j->ahead) WIDTHS(dot_rows, dot_ones, HINT_none)
    else if (j->ahead > 0) WIDTHS(dot_rows, dot_ones, HINT_l1)
    else WIDTHS(dot_rows, dot_ones, HINT_l2)
}

/* ---- threads: the caller and a helper or more, which spin a while and then sleep ---- */

typedef void Work(const Job *j, int64_t row, int64_t end);

enum { SPINS = 500 }; /* tens of microseconds: longer would take the other side's time */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static _Atomic int64_t round_number, next_row, running;
static const Job *job;
static Work *work;
static int num_helpers;

static void take_chunks(void) {
    for (;;) {
        int64_t row = atomic_fetch_add(&next_row, CHUNK_ROWS), end = row + CHUNK_ROWS;
        if (row >= job->rows) break;
        work(job, row, end < job->rows ? end : job->rows);
    }
    _mm_sfence();
}

static void *helper(void *first_round) {
    for (int64_t seen = (intptr_t)first_round;; seen++) {
        for (int spin = 0; atomic_load(&round_number) == seen; spin++) {
            _mm_pause();
            if (spin < SPINS) continue;
            pthread_mutex_lock(&lock);
            while (atomic_load(&round_number) == seen) pthread_cond_wait(&wake, &lock);
            pthread_mutex_unlock(&lock);
        }
        take_chunks();
        atomic_fetch_sub(&running, 1);
    }
    return NULL;
}

static void run(const Job *j, Work *w, int threads) {
    job = j, work = w;
    atomic_store(&next_row, 0);
    if (threads < 2) {
        take_chunks();
        return;
    }
    for (; num_helpers < threads - 1; num_helpers++) {
        pthread_t thread;
        pthread_create(&thread, NULL, helper, (void *)(intptr_t)atomic_load(&round_number));
    }
    atomic_store(&running, num_helpers);
    pthread_mutex_lock(&lock);
    atomic_fetch_add(&round_number, 1);
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&lock);
    take_chunks();
    while (atomic_load(&running)) _mm_pause();
}

#define EXPORT __attribute__((visibility("default")))
EXPORT void limit_sums(const Job *j, int threads);
EXPORT void limit_products(const Job *j, int threads);

void limit_sums(const Job *j, int threads) { run(j, sums, threads); }
void limit_products(const Job *j, int threads) { run(j, products, threads); }
