/* A two-layer graph convolution network (Kipf and Welling, ICLR 2017) trained from C: the network with its loss
 * is one formula, its gradient a program made from it, the optimizer another formula. C draws the coins of
 * dropout and counts the epochs.
 *
 *     gcn                   Zachary's karate club: who follows whom, from two labelled members
 *     gcn FOLDER [SEEDS]    a citation graph in .npy files (export_npz.py makes them)
 *
 * gcn_formula.py is the same in Python; gcn.py is the network written as message passing kernels. */
#include "gcn_task.h"

#include <stdio.h>

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

enum { HIDDEN = 16, EPOCHS = 200 };

/* Gives the share of test nodes that the trained network classifies right, in percent. All parameters lie in one
 * block w, their gradients in another: the network sees four arrays there, the optimizer one. */
static double train(const Task *t, uint64_t seed) {
    const int64_t N = t->nodes, F = t->features, H = HIDDEN, C = t->classes;
    const int64_t b1 = F * H, W2 = b1 + H, b2 = W2 + H * C, size = b2 + C;
    float *w = floats(size), *grad = floats(size), *m = floats(size), *v = floats(size);
    float *keep = floats(N * H), loss, right;
    int64_t epoch;
    uint64_t coins = stream(seed);
    glorot(w, F, H, &coins);
    glorot(w + W2, H, C, &coins);

    tg_program *forward = tg_program_new(network), *optimizer = tg_program_new(adam);
    tg_program *backward = tg_program_grad(forward, "loss decay", "W1 b1 W2 b2");
    const tg_arg net[] = {{"W1", tg_f32(w, F, H)},           {"grad.W1", tg_f32(grad, F, H)},
                          {"b1", tg_f32(w + b1, H)},         {"grad.b1", tg_f32(grad + b1, H)},
                          {"W2", tg_f32(w + W2, H, C)},      {"grad.W2", tg_f32(grad + W2, H, C)},
                          {"b2", tg_f32(w + b2, C)},         {"grad.b2", tg_f32(grad + b2, C)},
                          {"node.keep", tg_f32(keep, N, H)}, {"loss", tg_f32(&loss)},
                          {"right", tg_f32(&right)}};
    const tg_arg step[] = {{"w", tg_f32(w, size)},     {"m", tg_f32(m, size)},
                           {"v", tg_f32(v, size)},     {"grad", tg_f32(grad, size)},
                           {"w_new", tg_f32(w, size)}, {"m_new", tg_f32(m, size)},
                           {"v_new", tg_f32(v, size)}, {"step", tg_i64(&epoch)}};
    tg_call *learn = bind_task(t, backward, TG_ARGS(net));
    tg_call *update = tg_bind(optimizer, t->graph, TG_ARGS(step));

    for (epoch = 1; epoch <= EPOCHS; epoch++) {
        drop(t, keep, H, .5f, &coins);
        check(tg_call_run(learn));
        check(tg_call_run(update));
        if (epoch % 50 == 0) printf("epoch %3d  loss %.3f\n", (int)epoch, loss);
    }
    drop(t, keep, H, 0, &coins);
    check(tg_call_run(learn)); /* for `right` alone */

    tg_call_free(learn);
    tg_call_free(update);
    tg_program_free(backward);
    tg_program_free(forward);
    tg_program_free(optimizer);
    return 100. * (double)right;
}

int main(int argc, char **argv) { return mean_accuracy(argc, argv, train); }
