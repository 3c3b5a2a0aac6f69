/* One program and one graph in eight threads at once, untyped and typed: every public function that
 * reads a shared handle, against every other. The thread sanitizer says what races. */
#include "tiga/tiga.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child of a process with threads: the thread sanitizer would refuse it, the search for leaks miss threads. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }
static bool in_child;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return in_child; }

enum { THREADS = 8, ROUNDS = 12, NODES = 3, EDGES = 5 };

static const int64_t row_ptr[] = {0, 2, 3, 5}, col_idx[] = {0, 2, 1, 0, 1};
static const float xf[] = {1, 2, 3, 4, 5, 6}, wf[] = {1, 1, 1, 1, 1};
static const double xd[] = {1, 2, 3, 4, 5, 6}, wd[] = {1, 1, 1, 1, 1};
static const double want[2][6] = {{4, 2, 3}, {6, 8, 3, 4, 4, 6}}; /* scalars; rows of two */

typedef struct {
    const tg_program *p;
    const tg_graph *g;
    int number;
    char fault[256];
} Worker;

/* Four signatures: float32 or float64, scalars or rows of two. */
typedef struct {
    float f[6];
    double d[6];
    tg_arg args[3];
} Binding;

static void bind(Binding *b, int kind) {
    const bool wide = kind & 1, rows = kind & 2;
    const int64_t shape[] = {NODES, 2};
    const tg_dtype dtype = wide ? TG_FLOAT64 : TG_FLOAT32;
    const int rank = rows ? 2 : 1;
    const int64_t edges = EDGES;
    b->args[0] = (tg_arg){"src.x", tg_dense(wide ? (const void *)xd : xf, dtype, rank, shape)};
    b->args[1] = (tg_arg){"edge.w", tg_dense(wide ? (const void *)wd : wf, dtype, 1, &edges)};
    b->args[2] = (tg_arg){"out", tg_dense(wide ? (const void *)b->d : b->f, dtype, rank, shape)};
    if (rows)
        b->args[1].array = tg_dense(wide ? (const void *)wd : wf, dtype, 2, (int64_t[]){EDGES, 1});
}

static bool is_right(const Binding *b, int kind) {
    for (int k = 0; k < (kind & 2 ? 6 : 3); k++)
        if ((kind & 1 ? b->d[k] : (double)b->f[k]) != want[kind >> 1 & 1][k]) return false;
    return true;
}

static bool run_one(Worker *w, int kind, bool in_two_steps) {
    Binding b = {.f = {0}};
    bind(&b, kind);
    tg_call *call = in_two_steps ? tg_bind(w->p, w->g, b.args, 3) : NULL;
    tg_status st = in_two_steps ? tg_call_run(call) : tg_run(w->p, w->g, b.args, 3);
    tg_call_free(call);
    return !st && is_right(&b, kind);
}

static bool gradient(Worker *w, int kind) {
    Binding b = {.f = {0}};
    bind(&b, kind);
    tg_program *dp = tg_program_grad(w->p, "out", "src.x"),
               *typed = tg_program_typed(dp, b.args, 2);
    size_t results = tg_program_num_results(typed);
    tg_program_free(dp);
    tg_program_free(typed);
    return results == 2;
}

static bool text(char *t) {
    bool there = t != NULL;
    tg_free(t);
    return there;
}

static bool figures(Worker *w) {
    tg_stats stats;
    tg_cost cost;
    if (tg_program_stats(w->p, &stats) || stats.hits < 0) return false;
    return !tg_program_cost(w->p, w->g, &cost) && cost.traversals == 1;
}

static bool facts(Worker *w) {
    int64_t src[EDGES], dst[EDGES];
    tg_graph *t = tg_graph_transpose(w->g);
    bool same = !tg_graph_edges(t, src, dst) && dst[1] == 2 && tg_graph_equal(w->g, w->g);
    tg_graph_free(t);
    return same;
}

static bool step(Worker *w, int k) {
    int kind = (k + w->number) % 4;
    switch ((k / 4 + w->number) % 8) {
    case 0: return run_one(w, kind, false);
    case 1: return run_one(w, kind, true);
    case 2: return gradient(w, kind);
    case 3: return text(tg_ir(w->p, (const char *[]){"domain", "iter", "kernel", "task"}[kind]));
    case 4: return text(tg_explain(w->p));
    case 5: return figures(w);
    case 6: return facts(w);
    default: return kind || text(tg_code(w->p, "llvm"));
    }
}

static void *work(void *ctx) {
    Worker *w = ctx;
    if (!run_one(w, w->number % 4, false))
        snprintf(w->fault, sizeof w->fault, "first run: %s", tg_errmsg());
    for (int k = 0; k < ROUNDS * 4 && !w->fault[0]; k++)
        if (!step(w, k)) snprintf(w->fault, sizeof w->fault, "step %d: %s", k, tg_errmsg());
    return NULL;
}

static void share(const tg_program *p, const tg_graph *g) {
    pthread_t threads[THREADS];
    static Worker workers[THREADS];
    for (int k = 0; k < THREADS; k++) {
        workers[k] = (Worker){.p = p, .g = g, .number = k};
        assert_int_equal(pthread_create(&threads[k], NULL, work, &workers[k]), 0);
    }
    for (int k = 0; k < THREADS; k++) {
        pthread_join(threads[k], NULL);
        if (workers[k].fault[0]) fail_msg("thread %d, %s", k, workers[k].fault);
    }
}

static void test_an_untyped_program(void **state) {
    (void)state;
    tg_graph *g = tg_graph_csr(NODES, NODES, row_ptr, col_idx);
    tg_program *p = tg_program_new("out = sum(edge.w * src.x)");
    share(p, g);
    tg_stats stats;
    assert_int_equal(tg_program_stats(p, &stats), TG_OK);
    assert_true(stats.misses >= 4);
    tg_program_free(p);
    tg_graph_free(g);
}

typedef struct {
    tg_program *p;
    const tg_graph *g;
} Own;

/* A thread frees its handle while the others run: the program lives as long as the last. */
static void *run_and_free(void *ctx) {
    Own *o = ctx;
    Binding b = {.f = {0}};
    bind(&b, 0);
    bool right = !tg_run(o->p, o->g, b.args, 3) && is_right(&b, 0);
    tg_program_free(o->p);
    return right ? o : NULL;
}

static void test_handles_of_one_typed_program(void **state) {
    (void)state;
    Binding b = {.f = {0}};
    bind(&b, 0);
    tg_graph *g = tg_graph_csr(NODES, NODES, row_ptr, col_idx);
    tg_program *p = tg_program_new("out = sum(edge.w * src.x)"),
               *typed = tg_program_typed(p, b.args, 2);
    pthread_t threads[THREADS];
    Own own[THREADS];
    for (int k = 0; k < THREADS; k++) own[k] = (Own){tg_program_typed(typed, NULL, 0), g};
    tg_program_free(typed);
    tg_program_free(p);
    for (int k = 0; k < THREADS; k++)
        assert_int_equal(pthread_create(&threads[k], NULL, run_and_free, &own[k]), 0);
    for (int k = 0; k < THREADS; k++) {
        void *right;
        pthread_join(threads[k], &right);
        assert_non_null(right);
    }
    tg_graph_free(g);
}

/* ---- a fork while another thread plans: the child plans the same program itself ---- */

enum { FORKS = 40, MOST = 4000 };

typedef struct {
    tg_program *made[MOST];
    atomic_int count;
    atomic_bool stop;
    const tg_graph *g;
} Planner;

static void *plan_on(void *ctx) {
    Planner *q = ctx;
    Worker w = {.g = q->g};
    for (int k = 0; k < MOST && !atomic_load(&q->stop); k++) {
        w.p = q->made[k] = tg_program_new("out = sum(edge.w * src.x)");
        atomic_store(&q->count, k + 1);
        run_one(&w, 0, false);
    }
    return NULL;
}

static void test_a_fork_while_planning(void **state) {
    (void)state;
    static Planner q;
    pthread_t thread;
    q.g = tg_graph_csr(NODES, NODES, row_ptr, col_idx);
    assert_int_equal(pthread_create(&thread, NULL, plan_on, &q), 0);
    while (atomic_load(&q.count) < 2) usleep(100);
    for (int k = 0; k < FORKS; k++) {
        pid_t child = fork();
        if (child == 0) {
            in_child = true;
            alarm(20);
            Worker w = {.p = q.made[atomic_load(&q.count) - 1], .g = q.g};
            _exit(run_one(&w, 0, false) ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    atomic_store(&q.stop, true);
    pthread_join(thread, NULL);
    for (int k = 0; k < q.count; k++) tg_program_free(q.made[k]);
    tg_graph_free((tg_graph *)(uintptr_t)q.g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fork_while_planning),
        cmocka_unit_test(test_an_untyped_program),
        cmocka_unit_test(test_handles_of_one_typed_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
