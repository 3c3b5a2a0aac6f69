/* Heat on a mesh that a sparse matrix describes: node i meets node j where entry (i, j) is there. A step of
 * size dt solves
 *
 *     next + dt * L next = u,   (L v)[i] = sum over neighbours j of v[i] - v[j]
 *
 * by conjugate gradients (Hestenes and Stiefel, 1952). Its product with the matrix is a formula: the matrix is
 * never formed. Without a file the mesh is a square of 6 x 6 nodes.
 *
 *     heat [FILE.mtx]
 *
 * heat.py is the same in Python. */
#include "common.h"

#include <stdio.h>

enum { SIDE = 6, STEPS = 5 };

/* out is the matrix times p, curve is p times that. */
static const char product[] = "out   = node.p + dt * sum(dst(node.p) - src(node.p))\n"
                              "curve = sum(node.p * out)\n";

static double square(const double *v, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i] * v[i];
    return sum;
}

/* Puts the next step's heat into u; multiply reads p and writes ap and curve. r is scratch. */
static void advance(tg_call *multiply, int64_t n, double *u, double *p, double *r, const double *ap,
                    const double *curve) {
    for (int64_t i = 0; i < n; i++) r[i] = p[i] = u[i], u[i] = 0;
    double rr = square(r, n), goal = 1e-20 * rr;
    while (rr > goal) {
        check(tg_call_run(multiply));
        double along = rr / *curve, before = rr;
        for (int64_t i = 0; i < n; i++) u[i] += along * p[i], r[i] -= along * ap[i];
        rr = square(r, n);
        for (int64_t i = 0; i < n; i++) p[i] = r[i] + rr / before * p[i];
    }
}

static void print_heat(int step, const double *u, int64_t n) {
    double total = 0, hottest = 0;
    for (int64_t i = 0; i < n; i++) {
        total += u[i];
        if (u[i] > hottest) hottest = u[i];
    }
    printf("step %d: hottest %.6f, total %.6f\n", step, hottest, total);
}

static Entries square_mesh(void) {
    enum { N = SIDE * SIDE };
    Entries m = {N, N, 0, zeros(4 * N, sizeof *m.row), zeros(4 * N, sizeof *m.col)};
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int across = i / SIDE - j / SIDE, along = i % SIDE - j % SIDE;
            if (across * across + along * along == 1)
                m.row[m.num_entries] = i, m.col[m.num_entries++] = j;
        }
    return m;
}

int main(int argc, char **argv) {
    Entries mesh = argc > 1 ? read_mtx(argv[1]) : square_mesh();
    int64_t n = mesh.num_rows;
    double *u = zeros(n, sizeof *u), *p = zeros(n, sizeof *p), *r = zeros(n, sizeof *r),
           *ap = zeros(n, sizeof *ap);
    double curve = 0, dt = .5;
    u[0] = 1;
    tg_graph *g = tg_graph_coo(n, n, mesh.num_entries, mesh.col, mesh.row);
    tg_program *program = tg_program_new(product);
    const tg_arg args[] = {{"node.p", tg_f64(p, n)},
                           {"dt", tg_f64(&dt)},
                           {"out", tg_f64(ap, n)},
                           {"curve", tg_f64(&curve)}};
    tg_call *multiply = tg_bind(program, g, TG_ARGS(args));
    printf("%lld nodes, %lld entries\n", (long long)n, (long long)mesh.num_entries);
    for (int step = 1; step <= STEPS; step++) {
        advance(multiply, n, u, p, r, ap, &curve);
        print_heat(step, u, n);
    }
    tg_call_free(multiply);
    tg_program_free(program);
    tg_graph_free(g);
    return 0;
}
