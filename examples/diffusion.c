/* Heat on a ring of eight nodes: a step of size dt moves it from each node to its two neighbours,
 *
 *     next[i] = u[i] + dt * (u[i - 1] - u[i]) + dt * (u[i + 1] - u[i])
 *
 * The program is bound twice, there (u to next) and back (next to u), so that a step in the loop is
 * one tg_call_run and copies nothing. diffusion.py is the same in Python. */
#include <stdio.h>
#include <tiga/tiga.h>

enum { N = 8, STEPS = 4 };

/* The call that reads the heat in `from` and writes it, a step later, to `to`. */
static tg_call *bind_step(const tg_program *step, const tg_graph *ring, const float *dt,
                          const float *from, float *to) {
    const tg_arg args[] = {
        {"node.u", tg_f32(from, N)}, {"dt", tg_f32(dt)}, {"next", tg_f32(to, N)}};
    return tg_bind(step, ring, TG_ARGS(args));
}

static void print_heat(int step, const float *u) {
    printf("%d:", step);
    for (int i = 0; i < N; i++) printf(" %.4f", u[i]);
    printf("\n");
}

int main(void) {
    int64_t src[2 * N], dst[2 * N];
    for (int i = 0; i < N; i++) {
        src[2 * i] = (i + N - 1) % N;
        src[2 * i + 1] = (i + 1) % N;
        dst[2 * i] = dst[2 * i + 1] = i;
    }
    const float dt = .25f;
    float u[2][N] = {{1}};

    tg_graph *ring = tg_graph_coo(N, N, 2 * N, src, dst);
    tg_program *step = tg_program_new("next = node.u + dt * sum(src(node.u) - dst(node.u))");
    tg_call *calls[] = {bind_step(step, ring, &dt, u[0], u[1]),
                        bind_step(step, ring, &dt, u[1], u[0])};
    tg_status status = TG_OK;
    print_heat(0, u[0]);
    for (int t = 0; t < STEPS && !status; t++) {
        status = tg_call_run(calls[t % 2]);
        if (!status) print_heat(t + 1, u[(t + 1) % 2]);
    }
    if (status) fprintf(stderr, "diffusion: %s\n", tg_errmsg());
    for (int k = 0; k < 2; k++) tg_call_free(calls[k]);
    tg_program_free(step);
    tg_graph_free(ring);
    return status != TG_OK;
}
