/* What the C interface itself costs, beside what it calls. On a weighted sum of 10 nodes:
 *
 * - a call: tg_call_run against the same loop in C, medians of batches;
 * - a process: one that loads libtiga, makes graph and program from text and runs code that is cached on
 *   disk, against an empty one: medians of whole processes taken by turns, and the fastest, which say
 *   more on a machine that does other work.
 *
 *     c_face EMPTY        EMPTY is the empty program */
#include "timing.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tiga/tiga.h>

enum { N = 10, DEGREE = 3, E = N * DEGREE, BATCH = 1000, BATCHES = 101, PROCESSES = 101 };

extern char **environ;

/* ---- the work, by Tiga and by hand ---- */

typedef struct {
    tg_graph *graph;
    tg_program *program;
    tg_call *call;
    int64_t row_ptr[N + 1], col_idx[E];
    float x[N], weight[E], out[N];
} Sum;

static tg_call *make_sum(Sum *s) {
    for (int e = 0; e < E; e++) s->col_idx[e] = e % N, s->weight[e] = (float)e;
    for (int i = 0; i <= N; i++) s->row_ptr[i] = i * DEGREE;
    for (int i = 0; i < N; i++) s->x[i] = (float)i;
    s->graph = tg_graph_csr(N, N, s->row_ptr, s->col_idx);
    s->program = tg_program_new("out = sum(edge.weight * src.x)");
    const tg_arg args[] = {{"src.x", tg_f32(s->x, N)},
                           {"edge.weight", tg_f32(s->weight, E)},
                           {"out", tg_f32(s->out, N)}};
    return s->call = tg_bind(s->program, s->graph, args, sizeof args / sizeof *args);
}

static void free_sum(Sum *s) {
    tg_call_free(s->call);
    tg_program_free(s->program);
    tg_graph_free(s->graph);
}

/* Not inlined, so that no loop around it is. */
__attribute__((noinline)) static void by_hand(void *ctx) {
    Sum *s = ctx;
    for (int i = 0; i < N; i++) {
        float sum = 0;
        for (int64_t p = s->row_ptr[i]; p < s->row_ptr[i + 1]; p++)
            sum += s->weight[p] * s->x[s->col_idx[p]];
        s->out[i] = sum;
    }
    __asm__ volatile("" : : "r"(s->out) : "memory");
}

static void by_tiga(void *ctx) { tg_call_run(((Sum *)ctx)->call); }

/* ---- whole processes ---- */

static double process_us(const char *program, const char *argument) {
    char *const argv[] = {(char *)program, (char *)argument, NULL};
    pid_t pid;
    int status;
    double start = now_us();
    if (posix_spawn(&pid, program, NULL, NULL, argv, environ) || waitpid(pid, &status, 0) < 0 ||
        status) {
        fprintf(stderr, "c_face: %s did not run\n", program);
        exit(1);
    }
    return now_us() - start;
}

static void compare_processes(const char *self, const char *empty) {
    static double tiga[PROCESSES], nothing[PROCESSES];
    process_us(self, "--once"); /* fills the cache */
    for (int k = 0; k < PROCESSES; k++) {
        tiga[k] = process_us(self, "--once");
        nothing[k] = process_us(empty, NULL);
    }
    double beyond = median(tiga, PROCESSES) - median(nothing, PROCESSES);
    double fastest = tiga[0] - nothing[0]; /* median() has sorted them */
    printf("process with cached code: %.2f ms beyond an empty one of %.2f (fastest runs: %.2f)\n",
           beyond / 1e3, median(nothing, PROCESSES) / 1e3, fastest / 1e3);
}

static int run_once(void) {
    Sum s = {0};
    tg_status st = tg_call_run(make_sum(&s));
    if (st) fprintf(stderr, "c_face: %s\n", tg_errmsg());
    free_sum(&s);
    return st != TG_OK;
}

static void compare_calls(void) {
    Sum s = {0};
    if (!make_sum(&s)) {
        fprintf(stderr, "c_face: %s\n", tg_errmsg());
        exit(1);
    }
    double call = time_us(by_tiga, &s, BATCH, BATCHES), hand = time_us(by_hand, &s, BATCH, BATCHES);
    printf("tg_call_run: %.3f us, %.3f beyond the same loop in C\n", call, call - hand);
    free_sum(&s);
}

int main(int argc, char **argv) {
    char folder[] = "/tmp/tiga-c-face-XXXXXX", command[64];
    if (argc != 2) return fprintf(stderr, "usage: c_face EMPTY\n"), 1;
    if (!strcmp(argv[1], "--once")) return run_once();
    if (!mkdtemp(folder) || setenv("TIGA_CACHE_DIR", folder, 1)) return perror(folder), 1;
    compare_calls();
    compare_processes("/proc/self/exe", argv[1]);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) != 0;
}
