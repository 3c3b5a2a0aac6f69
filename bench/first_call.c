/* What a program pays before its first result, and for each call after that.
 *
 * Prints one JSON object: first_ms (formula text, graph and arrays to results, once), run_us and
 * call_us (medians of later tg_run and tg_call_run on 10 nodes), llvm (whether libLLVM was loaded).
 * The cache folder decides whether the first call compiles: bench/latency.py sets TIGA_CACHE_DIR. */
#include "timing.h"

#include <stdio.h>
#include <string.h>
#include <tiga/tiga.h>

enum { N = 10, DEGREE = 3, E = N * DEGREE, BATCH = 50, BATCHES = 201 };

static bool llvm_loaded(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    bool found = false;
    while (maps && !found && fgets(line, sizeof line, maps))
        found = strstr(line, "libLLVM") != NULL;
    if (maps) fclose(maps);
    return found;
}

typedef struct {
    const tg_program *program;
    const tg_graph *graph;
    const tg_arg *args;
    size_t num_args;
} Run;

static void run(void *ctx) {
    const Run *r = ctx;
    tg_run(r->program, r->graph, r->args, r->num_args);
}

static void call_run(void *ctx) { tg_call_run(ctx); }

int main(void) {
    float x[N], w[E], out[N];
    for (int i = 0; i < N; i++) x[i] = (float)i;
    for (int e = 0; e < E; e++) w[e] = 1;

    double start = now_us();
    tg_graph *graph = tg_graph_regular(N, DEGREE);
    tg_program *sum = tg_program_new("out = sum(edge.weight * src.x)");
    const tg_arg args[] = {
        {"src.x", tg_f32(x, N)}, {"edge.weight", tg_f32(w, E)}, {"out", tg_f32(out, N)}};
    const size_t num_args = sizeof args / sizeof *args;
    tg_status status = tg_run(sum, graph, args, num_args);
    double first = now_us() - start;

    if (!status) {
        bool llvm = llvm_loaded();
        tg_call *call = tg_bind(sum, graph, args, num_args);
        Run again = {sum, graph, args, num_args};
        double each = time_us(run, &again, BATCH, BATCHES),
               bound = time_us(call_run, call, BATCH, BATCHES);
        printf("{\"first_ms\": %.4f, \"run_us\": %.4f, \"call_us\": %.4f, \"llvm\": %s}\n",
               first / 1e3, each, bound, llvm ? "true" : "false");
        tg_call_free(call);
    }
    if (status || tg_errcode()) {
        fprintf(stderr, "first_call: %s\n", tg_errmsg());
        status = TG_EBUG;
    }
    tg_program_free(sum);
    tg_graph_free(graph);
    return status != TG_OK;
}
