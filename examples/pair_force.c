/* Molecular dynamics from an energy alone: the force between pairs of atoms (Lennard-Jones) is the gradient of
 * the energy, and how it changes along a direction is the gradient of the force. Prints the energy, the force on
 * each atom, that change and the same from a difference of forces. pair_force.py is the same in Python. */
#include "common.h"

#include <stdio.h>
#include <string.h>

enum { ATOMS = 4, EDGES = ATOMS * (ATOMS - 1) };

/* Each pair is two edges, hence the half. */
static const char energy_of_pairs[] = "apart  = src(node.r) - dst(node.r)\n"
                                      "q      = 1 / sum(apart * apart, axis=-1)\n"
                                      "atom   = sum(2 * (q ** 6 - q ** 3))\n"
                                      "energy = sum(atom)\n";

typedef double Vectors[ATOMS][3];

static void print_vectors(const char *name, Vectors v) {
    for (int i = 0; i < ATOMS; i++)
        printf("%s[%d] %.4f %.4f %.4f\n", name, i, v[i][0], v[i][1], v[i][2]);
}

/* along[i] = (slope at r + h * way) - (slope at r - h * way), over 2 h. */
static void difference(tg_call *call, Vectors r, Vectors way, Vectors slope, Vectors along) {
    const double h = 1e-5;
    double *at = r[0], *to = way[0], *out = along[0], *s = slope[0];
    for (int k = 0; k < 3 * ATOMS; k++) at[k] += h * to[k];
    check(tg_call_run(call));
    memcpy(out, s, sizeof(Vectors));
    for (int k = 0; k < 3 * ATOMS; k++) at[k] -= 2 * h * to[k];
    check(tg_call_run(call));
    for (int k = 0; k < 3 * ATOMS; k++) out[k] = (out[k] - s[k]) / (2 * h);
}

int main(void) {
    Vectors r = {{0, 0, 0}, {1.1, .1, 0}, {.4, 1.2, .1}, {.5, .3, 1}},
            way = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}};
    Vectors slope, curve, expected;
    double energy = 0;
    int64_t src[EDGES], dst[EDGES];
    for (int i = 0, e = 0; i < ATOMS; i++)
        for (int j = 0; j < ATOMS; j++)
            if (i != j) src[e] = j, dst[e++] = i;

    tg_graph *g = tg_graph_coo(ATOMS, ATOMS, EDGES, src, dst);
    tg_program *potential = tg_program_new(energy_of_pairs);
    tg_program *force = tg_program_grad(potential, "energy", "node.r");
    tg_program *change = tg_program_grad(force, "grad.node.r", "node.r");
    const tg_arg args[] = {
        {"node.r", tg_f64(r, ATOMS, 3)},
        {"cot.grad.node.r", tg_f64(way, ATOMS, 3)},
        {"energy", tg_f64(&energy)},
        {"grad.node.r", tg_f64(slope, ATOMS, 3)},
        {"grad2.node.r", tg_f64(curve, ATOMS, 3)},
    };
    tg_call *call = tg_bind(change, g, TG_ARGS(args));
    check(tg_call_run(call));
    printf("energy %.4f\n", energy);
    print_vectors("slope", slope);
    print_vectors("change", curve);
    difference(call, r, way, slope, expected);
    print_vectors("expect", expected);
    tg_call_free(call);
    tg_program_free(change);
    tg_program_free(force);
    tg_program_free(potential);
    tg_graph_free(g);
    return 0;
}
