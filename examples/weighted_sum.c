/* A weighted sum with a bias over three nodes and five edges, and its gradients.
 *
 *     out[i] = bias[i] + sum over edges e = (j -> i) of weight[e] * x[j]
 *
 * weighted_sum.py is the same in Python.
 *     cc weighted_sum.c -ltiga && ./a.out */
#include <stdio.h>
#include <tiga/tiga.h>

static void print_row(const char *name, const float *v, int n) {
    printf("%-4s", name);
    for (int i = 0; i < n; i++) printf(" %.4f", v[i]);
    printf("\n");
}

int main(void) {
    /* Row i lists the nodes that send to node i. */
    const int64_t row_ptr[] = {0, 2, 3, 5}, col_idx[] = {0, 2, 1, 0, 1};
    const float x[] = {1, 2, 3}, bias[] = {.1f, .2f, .3f};
    const float weight[] = {.5f, .5f, .5f, .5f, .5f};
    const float cot[] = {1, 1, 1}; /* the gradient of sum(out) by out */
    float out[3], dx[3], dw[5];

    tg_graph *graph = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *sum = tg_program_new("out = sum(edge.weight * src.x) + dst.bias");
    tg_program *grad = tg_program_grad(sum, "out", "src.x edge.weight");
    const tg_arg args[] = {
        {"src.x", tg_f32(x, 3)},
        {"edge.weight", tg_f32(weight, 5)},
        {"dst.bias", tg_f32(bias, 3)},
        {"cot.out", tg_f32(cot, 3)},
        {"out", tg_f32(out, 3)},
        {"grad.src.x", tg_f32(dx, 3)},
        {"grad.edge.weight", tg_f32(dw, 5)},
    };
    tg_status status = tg_run(grad, graph, TG_ARGS(args));
    if (status) {
        fprintf(stderr, "weighted_sum: %s\n", tg_errmsg());
    } else {
        print_row("out", out, 3);
        print_row("dx", dx, 3);
        print_row("dw", dw, 5);
    }
    tg_program_free(grad);
    tg_program_free(sum);
    tg_graph_free(graph);
    return status != TG_OK;
}
