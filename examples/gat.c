/* A layer of a graph attention network (Velickovic et al., ICLR 2018) with two heads: a node takes its
 * neighbours' features, weighted by a softmax over its own edges of leaky_relu(a . [W x_src | W x_dst]), and the
 * gradients of a loss by the layer's parameters. gat.py is the same in Python. */
#include "common.h"

#include <stdio.h>

enum { N = 5, E = 9, IN = 3, HEADS = 2, D = 2 };

static const char layer[] = "z    = reshape(node.x @ W, shape=(-1, 2, 2))\n"
                            "from = sum(z * a_src, axis=-1, keepdims=true)\n"
                            "to   = sum(z * a_dst, axis=-1, keepdims=true)\n"
                            "out  = elu(softmax(leaky_relu(src(from) + dst(to), 0.2), src(z)))\n"
                            "loss = sum(sum(out * out, axis=(1, 2)))\n";

static void draw(float *x, int n, uint64_t *numbers) {
    for (int i = 0; i < n; i++) x[i] = 2 * uniform(numbers) - 1;
}

static void print_rows(const char *name, const float *v, int rows, int cols) {
    for (int i = 0; i < rows; i++) {
        printf("%s[%d]", name, i);
        for (int j = 0; j < cols; j++) printf(" %.4f", v[i * cols + j]);
        printf("\n");
    }
}

int main(void) {
    const int64_t src[E] = {0, 1, 2, 0, 3, 4, 1, 2, 4}, dst[E] = {0, 0, 0, 1, 1, 2, 3, 4, 4};
    float x[N * IN], w[IN * HEADS * D], a_src[HEADS * D], a_dst[HEADS * D], out[N * HEADS * D];
    float dw[IN * HEADS * D], da_src[HEADS * D], da_dst[HEADS * D], loss = 0;
    uint64_t numbers = stream(9);
    draw(x, N * IN, &numbers);
    draw(w, IN * HEADS * D, &numbers);
    draw(a_src, HEADS * D, &numbers);
    draw(a_dst, HEADS * D, &numbers);

    tg_graph *g = tg_graph_coo(N, N, E, src, dst);
    tg_program *forward = tg_program_new(layer);
    tg_program *grad = tg_program_grad(forward, "loss", "W a_src a_dst");
    const tg_arg args[] = {
        {"node.x", tg_f32(x, N, IN)},
        {"W", tg_f32(w, IN, HEADS * D)},
        {"a_src", tg_f32(a_src, HEADS, D)},
        {"a_dst", tg_f32(a_dst, HEADS, D)},
        {"out", tg_f32(out, N, HEADS, D)},
        {"loss", tg_f32(&loss)},
        {"grad.W", tg_f32(dw, IN, HEADS * D)},
        {"grad.a_src", tg_f32(da_src, HEADS, D)},
        {"grad.a_dst", tg_f32(da_dst, HEADS, D)},
    };
    check(tg_run(grad, g, TG_ARGS(args)));
    print_rows("out", out, N, HEADS * D);
    printf("loss %.4f\n", loss);
    print_rows("dW", dw, IN, HEADS * D);
    print_rows("da_src", da_src, HEADS, D);
    print_rows("da_dst", da_dst, HEADS, D);
    tg_program_free(grad);
    tg_program_free(forward);
    tg_graph_free(g);
    return 0;
}
