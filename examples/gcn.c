/* A two-layer graph convolution network (Kipf and Welling, ICLR 2017) trained from C: the network with its loss
 * is one formula, its gradient a program made from it, the optimizer another formula. C draws the coins of
 * dropout and counts the epochs.
 *
 *     gcn                   Zachary's karate club: who follows whom, from two labelled members
 *     gcn FOLDER [SEEDS]    a citation graph in .npy files (export_npz.py makes them)
 *
 * gcn_formula.py is the same in Python; gcn.py is the network written as message passing kernels. */
#include "gcn_task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char network[] =
    "h     = relu(sum(edge.w * src(node.x @ W1)) + b1) * node.keep\n"
    "out   = sum(edge.w * src(h @ W2)) + b2\n"
    "nll   = -sum(log_softmax(out, axis=-1) * node.label, axis=-1)\n"
    "loss  = sum(node.train * nll)\n"
    "decay = 2.5e-4 * sum(W1 * W1, axis=(0, 1))\n"
    "right = sum(node.test * (sum(out * node.label, axis=-1) == max(out, axis=-1)))\n";

/* A step of Adam (Kingma and Ba, ICLR 2015); steps count from 1. */
static const char adam[] =
    "m_new = 0.9 * m + 0.1 * grad\n"
    "v_new = 0.999 * v + 0.001 * grad * grad\n"
    "w_new = w - 0.01 * (m_new / (1 - 0.9 ** step)) / (sqrt(v_new / (1 - 0.999 ** step)) + 1e-8)\n";

enum { HIDDEN = 16, EPOCHS = 200, NUM_PARAMS = 4 };

/* Glorot and Bengio's uniform start. */
static tg_array glorot(int64_t rows, int64_t cols, uint64_t *coins) {
    float bound = sqrtf(6.f / (float)(rows + cols)), *w = zeros(rows * cols, sizeof *w);
    for (int64_t i = 0; i < rows * cols; i++) w[i] = bound * (2 * uniform(coins) - 1);
    return tg_f32(w, rows, cols);
}

/* Dropout: features and hidden values are kept with probability 1 - rate, scaled up. */
static void drop(const Task *t, float *keep, float rate, uint64_t *coins) {
    const float scale = 1 / (1 - rate);
    for (int64_t k = 0; k < t->num_entries; k++)
        t->x[t->place[k]] = uniform(coins) < rate ? 0 : scale * t->entry[k];
    for (int64_t k = 0; k < t->nodes * HIDDEN; k++) keep[k] = uniform(coins) < rate ? 0 : scale;
}

/* Gives the share of test nodes that the trained network classifies right, in percent. */
static double train(const Task *t, uint64_t seed) {
    static const char *const name[] = {"W1", "b1", "W2", "b2"}, *const grad_name[] = {
                                                                    "grad.W1", "grad.b1", "grad.W2",
                                                                    "grad.b2"};
    uint64_t coins = stream(seed);
    float *keep = zeros(t->nodes * HIDDEN, sizeof *keep), loss, right;
    tg_array W1 = glorot(t->features, HIDDEN, &coins), W2 = glorot(HIDDEN, t->classes, &coins),
             b1 = tg_f32(zeros(HIDDEN, sizeof(float)), HIDDEN),
             b2 = tg_f32(zeros(t->classes, sizeof(float)), t->classes);
    const tg_array param[] = {W1, b1, W2, b2};
    int64_t epoch;
    tg_program *forward = tg_program_new(network), *optimizer = tg_program_new(adam),
               *backward = tg_program_grad(forward, "loss decay", "W1 b1 W2 b2");

    tg_arg args[TASK_ARGS + 3 + 2 * NUM_PARAMS] = {{"node.keep", tg_f32(keep, t->nodes, HIDDEN)},
                                                   {"loss", tg_f32(&loss)},
                                                   {"right", tg_f32(&right)}};
    size_t n = 3;
    tg_call *update[NUM_PARAMS];
    for (int k = 0; k < TASK_ARGS; k++) args[n++] = t->args[k];
    for (int k = 0; k < NUM_PARAMS; k++) {
        tg_array w = param[k], grad = zeros_like(w), m = zeros_like(w), v = zeros_like(w);
        const tg_arg own[] = {{"w", w},     {"m", m},     {"v", v},       {"w_new", w},
                              {"m_new", m}, {"v_new", v}, {"grad", grad}, {"step", tg_i64(&epoch)}};
        update[k] = tg_bind(optimizer, t->graph, own, sizeof own / sizeof *own);
        args[n++] = (tg_arg){name[k], w};
        args[n++] = (tg_arg){grad_name[k], grad};
    }
    tg_call *learn = tg_bind(backward, t->graph, args, n);
    for (epoch = 1; epoch <= EPOCHS; epoch++) {
        drop(t, keep, .5f, &coins);
        check(tg_call_run(learn));
        for (int k = 0; k < NUM_PARAMS; k++) check(tg_call_run(update[k]));
        if (epoch % 50 == 0) printf("epoch %3d  loss %.3f\n", (int)epoch, loss);
    }
    drop(t, keep, 0, &coins);
    check(tg_call_run(learn)); /* for `right` alone */

    for (int k = 0; k < NUM_PARAMS; k++) tg_call_free(update[k]);
    tg_call_free(learn);
    tg_program_free(optimizer);
    tg_program_free(backward);
    tg_program_free(forward);
    return 100. * (double)right;
}

int main(int argc, char **argv) {
    Task task = argc > 1 ? read_task(argv[1]) : karate_task();
    uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    double sum = 0;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        double percent = train(&task, seed);
        printf("seed %d  accuracy %.1f %%\n", (int)seed, percent);
        sum += percent;
    }
    printf("mean    accuracy %.2f %%\n", sum / (double)seeds);
    tg_graph_free(task.graph);
    return 0;
}
