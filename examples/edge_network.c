/* An edge network: what an edge sends is a small perceptron of both of its ends and of the edge's own gain. By
 * plain gradient descent it learns to give each node the sum of its distances to its neighbours, each times
 * the edge's gain; no edge's hidden layer is stored. edge_network.py is the same in Python. */
#include "common.h"

#include <math.h>
#include <stdio.h>

enum { N = 64, DEGREE = 6, E = N * DEGREE, HIDDEN = 16, STEPS = 300 };

static const char network[] =
    "out  = sum(relu(cat(src.r - dst.r, edge.gain, axis=-1) @ W1 + b1) @ W2)\n"
    "miss = sum((out - dst.goal) ** 2, axis=-1)\n"
    "loss = mean(miss)\n";

static void draw(float *x, int n, uint64_t *numbers) {
    for (int i = 0; i < n; i++) x[i] = 2 * uniform(numbers) - 1;
}

/* Edge e of the regular relation goes from (i * DEGREE + k) mod N to i, where e = i * DEGREE + k. */
static void set_goal(const float r[N][2], const float *gain, float *goal) {
    for (int e = 0; e < E; e++)
        goal[e / DEGREE] +=
            gain[e] * hypotf(r[e % N][0] - r[e / DEGREE][0], r[e % N][1] - r[e / DEGREE][1]);
}

static void descend(float *x, const float *grad, int n) {
    for (int i = 0; i < n; i++) x[i] -= .002f * grad[i];
}

int main(void) {
    static float r[N][2], gain[E], goal[N];
    float w1[3 * HIDDEN], b1[HIDDEN] = {0}, w2[HIDDEN], dw1[3 * HIDDEN], db1[HIDDEN], dw2[HIDDEN],
                          loss = 0;
    uint64_t numbers = stream(3);
    draw(r[0], 2 * N, &numbers);
    draw(gain, E, &numbers);
    draw(w1, 3 * HIDDEN, &numbers);
    draw(w2, HIDDEN, &numbers);
    set_goal(r, gain, goal);

    tg_graph *g = tg_graph_regular(N, DEGREE);
    tg_program *forward = tg_program_new(network),
               *grad = tg_program_grad(forward, "loss", "W1 b1 W2");
    const tg_arg args[] = {
        {"src.r", tg_f32(r, N, 2)},          {"dst.r", tg_f32(r, N, 2)},
        {"edge.gain", tg_f32(gain, E, 1)},   {"dst.goal", tg_f32(goal, N, 1)},
        {"W1", tg_f32(w1, 3, HIDDEN)},       {"b1", tg_f32(b1, HIDDEN)},
        {"W2", tg_f32(w2, HIDDEN, 1)},       {"loss", tg_f32(&loss)},
        {"grad.W1", tg_f32(dw1, 3, HIDDEN)}, {"grad.b1", tg_f32(db1, HIDDEN)},
        {"grad.W2", tg_f32(dw2, HIDDEN, 1)},
    };
    tg_call *call = tg_bind(grad, g, TG_ARGS(args));
    for (int step = 0; step <= STEPS; step++) {
        check(tg_call_run(call));
        if (step % 100 == 0) printf("step %3d: loss %.3f\n", step, loss);
        descend(w1, dw1, 3 * HIDDEN);
        descend(b1, db1, HIDDEN);
        descend(w2, dw2, HIDDEN);
    }
    tg_call_free(call);
    tg_program_free(grad);
    tg_program_free(forward);
    tg_graph_free(g);
    return 0;
}
