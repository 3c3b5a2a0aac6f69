/* A two-layer graph convolution network (Kipf and Welling, ICLR 2017) trained from C: forward pass, loss
 * and gradients are one formula; dropout's coins and Adam are a few lines of C.
 *
 *     gcn                   Zachary's karate club: who follows whom, from two labelled members
 *     gcn FOLDER [SEEDS]    a citation graph in .npy files (export_npz.py makes them)
 *
 * gcn_formula.py is the same in Python; gcn.py is the network written as message passing kernels. */
#include "gcn_task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* node.label is one-hot, node.train 1 / (number of training nodes) on those and 0 elsewhere. */
static const char network[] = "h    = relu(sum(edge.w * src(node.x @ W1)) + b1) * node.keep\n"
                              "out  = sum(edge.w * src(h @ W2)) + b2\n"
                              "nll  = -sum(log_softmax(out, axis=-1) * node.label, axis=-1)\n"
                              "loss = sum(node.train * nll)\n";

enum { HIDDEN = 16, EPOCHS = 200, NUM_PARAMS = 4 };
static const float dropout = .5f;

typedef struct {
    int64_t rows, cols; /* rows is 0 for a bias */
    float decay;
    float *value, *grad, *m, *v;
} Param;

static int64_t size(const Param *p) { return p->rows ? p->rows * p->cols : p->cols; }

/* Glorot and Bengio's uniform start; biases are 0. */
static void start(Param *p, uint64_t *coins) {
    int64_t n = size(p);
    float bound = sqrtf(6.f / (float)(p->rows + p->cols));
    p->value = zeros(4 * n, sizeof *p->value);
    p->grad = p->value + n, p->m = p->grad + n, p->v = p->m + n;
    for (int64_t i = 0; i < n && p->rows; i++) p->value[i] = bound * (2 * uniform(coins) - 1);
}

/* A step of Adam (Kingma and Ba, ICLR 2015) with L2 decay. */
static void adam(Param *p, int step) {
    const float rate = .01f, beta1 = .9f, beta2 = .999f;
    float scale1 = 1 - powf(beta1, (float)step), scale2 = 1 - powf(beta2, (float)step);
    for (int64_t i = 0, n = size(p); i < n; i++) {
        float g = p->grad[i] + p->decay * p->value[i];
        p->m[i] = beta1 * p->m[i] + (1 - beta1) * g;
        p->v[i] = beta2 * p->v[i] + (1 - beta2) * g * g;
        p->value[i] -= rate * (p->m[i] / scale1) / (sqrtf(p->v[i] / scale2) + 1e-8f);
    }
}

/* Keeps each number with probability 1 - dropout, scaled up. */
static float coin(uint64_t *coins) { return uniform(coins) < dropout ? 0 : 1 / (1 - dropout); }

static double accuracy(const Task *t, const float *logits) {
    int right = 0;
    for (int64_t k = 0; k < t->num_test; k++) {
        const float *row = logits + t->test[k] * t->classes;
        int64_t best = 0;
        for (int64_t c = 1; c < t->classes; c++) best = row[c] > row[best] ? c : best;
        right += best == t->label[t->test[k]];
    }
    return 100. * right / (double)t->num_test;
}

static double train(const Task *t, uint64_t seed) {
    Param w1 = {.rows = t->features, .cols = HIDDEN, .decay = 5e-4f}, b1 = {.cols = HIDDEN};
    Param w2 = {.rows = HIDDEN, .cols = t->classes}, b2 = {.cols = t->classes};
    Param *params[NUM_PARAMS] = {&w1, &b1, &w2, &b2};
    uint64_t coins = stream(seed);
    for (int k = 0; k < NUM_PARAMS; k++) start(params[k], &coins);
    int64_t n = t->nodes, hidden = n * HIDDEN;
    float *keep = zeros(hidden, sizeof *keep), *logits = zeros(n * t->classes, sizeof *logits);
    float loss = 0, one = 1;

    tg_program *forward = tg_program_new(network),
               *grad = tg_program_grad(forward, "loss", "W1 b1 W2 b2");
    const tg_arg args[] = {
        {"node.x", tg_f32(t->x, n, t->features)},
        {"node.keep", tg_f32(keep, n, HIDDEN)},
        {"node.label", tg_f32(t->one_hot, n, t->classes)},
        {"node.train", tg_f32(t->train, n)},
        {"edge.w", tg_f32(t->weight, tg_graph_num_edges(t->graph))},
        {"W1", tg_f32(w1.value, t->features, HIDDEN)},
        {"b1", tg_f32(b1.value, HIDDEN)},
        {"W2", tg_f32(w2.value, HIDDEN, t->classes)},
        {"b2", tg_f32(b2.value, t->classes)},
        {"loss", tg_f32(&loss)},
        {"out", tg_f32(logits, n, t->classes)}, /* what forward knows ends here */
        {"cot.loss", tg_f32(&one)},
        {"grad.W1", tg_f32(w1.grad, t->features, HIDDEN)},
        {"grad.b1", tg_f32(b1.grad, HIDDEN)},
        {"grad.W2", tg_f32(w2.grad, HIDDEN, t->classes)},
        {"grad.b2", tg_f32(b2.grad, t->classes)},
    };
    tg_call *step = tg_bind(grad, t->graph, args, sizeof args / sizeof *args);
    for (int epoch = 1; epoch <= EPOCHS; epoch++) {
        for (int64_t k = 0; k < t->num_entries; k++) t->x[t->place[k]] = t->entry[k] * coin(&coins);
        for (int64_t k = 0; k < hidden; k++) keep[k] = coin(&coins);
        check(tg_call_run(step));
        for (int k = 0; k < NUM_PARAMS; k++) adam(params[k], epoch);
        if (epoch % 50 == 0) printf("epoch %3d  loss %.3f\n", epoch, loss);
    }
    for (int64_t k = 0; k < t->num_entries; k++) t->x[t->place[k]] = t->entry[k];
    for (int64_t k = 0; k < hidden; k++) keep[k] = 1;
    check(tg_run(forward, t->graph, args, 11));

    double percent = accuracy(t, logits);
    tg_call_free(step);
    tg_program_free(grad);
    tg_program_free(forward);
    return percent;
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
