/* PageRank (Page, Brin, Motwani and Winograd, 1999) of the karate club: how often a walk among friends,
 * which starts afresh now and then, is at each member. Two calls are bound, there and back, and a step is one
 * of them. pagerank.py is the same in Python. */
#include "common.h"
#include "karate.h"

#include <stdio.h>

static tg_call *bind_step(const tg_program *step, const tg_graph *g, const float *friends_of,
                          const float *from, float *to, float *change) {
    static const float damping = .85f, n = MEMBERS;
    const tg_arg args[] = {
        {"node.rank", tg_f32(from, MEMBERS)}, {"node.friends", tg_f32(friends_of, MEMBERS)},
        {"damping", tg_f32(&damping)},        {"n", tg_f32(&n)},
        {"out", tg_f32(to, MEMBERS)},         {"change", tg_f32(change)}};
    return tg_bind(step, g, TG_ARGS(args));
}

static void print_first(const float *rank, int count) {
    bool seen[MEMBERS] = {false};
    for (int k = 0; k < count; k++) {
        int best = -1;
        for (int i = 0; i < MEMBERS; i++)
            if (!seen[i] && (best < 0 || rank[i] > rank[best])) best = i;
        seen[best] = true;
        printf("member %2d  %.4f\n", best + 1, rank[best]);
    }
}

int main(void) {
    int64_t src[2 * FRIENDSHIPS], dst[2 * FRIENDSHIPS];
    float friends_of[MEMBERS] = {0}, rank[2][MEMBERS], change = 1;
    for (int e = 0; e < FRIENDSHIPS; e++) {
        src[e] = dst[FRIENDSHIPS + e] = friends[e][0] - 1;
        dst[e] = src[FRIENDSHIPS + e] = friends[e][1] - 1;
    }
    for (int e = 0; e < 2 * FRIENDSHIPS; e++) friends_of[src[e]]++;
    for (int i = 0; i < MEMBERS; i++) rank[0][i] = 1.f / MEMBERS;

    tg_graph *g = tg_graph_coo(MEMBERS, MEMBERS, 2 * FRIENDSHIPS, src, dst);
    tg_program *step =
        tg_program_new("out    = (1 - damping) / n + damping * sum(src(node.rank / node.friends))\n"
                       "change = sum(abs(out - node.rank))\n");
    tg_call *calls[] = {bind_step(step, g, friends_of, rank[0], rank[1], &change),
                        bind_step(step, g, friends_of, rank[1], rank[0], &change)};
    int steps = 0;
    while (change > 1e-4f) check(tg_call_run(calls[steps++ % 2]));
    print_first(rank[steps % 2], 5);
    for (int k = 0; k < 2; k++) tg_call_free(calls[k]);
    tg_program_free(step);
    tg_graph_free(g);
    return 0;
}
