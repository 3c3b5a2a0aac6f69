/* A program of someone who has Tiga installed: C11, C17 and C++17 alike. Runs a formula with its gradient and a
 * program from the builder, and says what was wrong. */
#include <tiga/tiga.h>
#include <tiga/tiga_ops.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static const int64_t row_ptr[] = {0, 2, 3, 5}, col_idx[] = {0, 2, 1, 0, 1};
static const float x[] = {1, 2, 3}, weight[] = {.5f, .5f, .5f, .5f, .5f}, ones[] = {1, 1, 1};

static int differs(const char *what, const float *got, const float *want, int n) {
    for (int i = 0; i < n; i++) {
        if (fabsf(got[i] - want[i]) < 1e-6f) continue;
        printf("%s[%d] is not what was expected\n", what, i);
        return 1;
    }
    return 0;
}

static int complain(void) {
    puts(tg_errmsg());
    return 1;
}

static int formula(const tg_graph *g) {
    const float want_out[] = {2, 1, 1.5f}, want_total = 4.5f, want_dw[] = {1, 3, 2, 1, 2};
    float out[3], dw[5], total; /* results need no value before */
    tg_program *p = tg_program_new("out = sum(edge.weight * src.x); total = sum(out)");
    tg_program *dp = tg_program_grad(p, "out", "edge.weight");
    const tg_arg args[] = {{"src.x", tg_f32(x, 3)},      {"edge.weight", tg_f32(weight, 5)},
                           {"cot.out", tg_f32(ones, 3)}, {"out", tg_f32(out, 3)},
                           {"total", tg_f32(&total)},    {"grad.edge.weight", tg_f32(dw, 5)}};
    tg_status st = tg_run(dp, g, TG_ARGS(args));
    tg_program_free(dp);
    tg_program_free(p);
    if (st) return complain();
    return differs("out", out, want_out, 3) || differs("total", &total, &want_total, 1) ||
           differs("dw", dw, want_dw, 5);
}

/* C's arrays of arrays, const or not, are memory like any. */
static int arrays_of_arrays(const tg_graph *g) {
    const float rows[3][1][2] = {{{1, 2}}, {{3, 4}}, {{5, 6}}}, want[] = {6, 8, 3, 4, 4, 6};
    float out[3][1][2];
    tg_program *p = tg_program_new("out = sum(src.x)");
    const tg_arg args[] = {{"src.x", tg_f32(rows, 3, 1, 2)}, {"out", tg_f32(out, 3, 1, 2)}};
    tg_status st = tg_run(p, g, TG_ARGS(args));
    tg_program_free(p);
    return st ? complain() : differs("out", &out[0][0][0], want, 6);
}

static int builder(const tg_graph *g) {
    const float want[] = {6, 3, 5};
    float out[3];
    tg_builder *b = tg_builder_new(false);
    tg_reducer *sum = tg_reducer_builtin("sum", 0, false, 0);
    tg_val m = tg_at_src(b, tg_in(b, "src.x", TG_FLOAT32, 0, NULL));
    m = tg_add(b, m, tg_truth(b, true));
    tg_out(b, "out", tg_reduce(b, sum, &m, 1));
    tg_program *p = tg_builder_program(b);
    const tg_arg args[] = {{"src.x", tg_f32(x, 3)}, {"out", tg_f32(out, 3)}};
    tg_status st = tg_run(p, g, args, 2);
    tg_program_free(p);
    tg_reducer_free(sum);
    tg_builder_free(b);
    if (st) return complain();
    return differs("built", out, want, 3);
}

int main(void) {
    if (strcmp(tg_version(), TG_VERSION) != 0) {
        printf("library %s, header " TG_VERSION "\n", tg_version());
        return 1;
    }
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    int wrong = formula(g) || arrays_of_arrays(g) || builder(g);
    tg_graph_free(g);
    if (!wrong) puts("as expected");
    return wrong;
}
