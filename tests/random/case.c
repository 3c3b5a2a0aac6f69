/* A seed -> a case. */
#include "random.h"

static DataKind data_kind(Rng *r) {
    static const uint8_t kinds[] = {DATA_plain, DATA_plain, DATA_whole, DATA_whole,
                                    DATA_whole, DATA_nasty, DATA_huge,  DATA_smooth};
    return kinds[rng_below(r, sizeof kinds)];
}

static void sizes(GraphSpec *g, Rng *r, bool homogeneous) {
    g->num_src = 1 + rng_below(r, 60);
    g->num_dst = 1 + rng_below(r, 60);
    g->num_edges = rng_below(r, 300);
    switch (rng_below(r, 16)) {
    case 0: g->num_src = g->num_dst = 0; break;
    case 1: g->num_edges = 0; break;
    case 2: g->num_src = g->num_dst = 1; break;
    case 3: g->num_dst = 1 + rng_below(r, 4), g->num_src = 700; break;
    case 4: g->num_src = 1 + rng_below(r, 4), g->num_dst = 700; break;
    case 5: g->num_src = rng_below(r, 2); break;
    case 6: g->num_edges = rng_below(r, 6); break;
    default: break;
    }
    if (rng_below(r, 24) == 0) { /* rows that are split */
        g->kind = GRAPH_hub;
        g->num_edges = 17000 + rng_below(r, 25000);
    }
    if (homogeneous) g->num_dst = g->num_src;
}

static GraphSpec graph_spec(Rng *r, bool homogeneous, const GraphSpec *first) {
    GraphSpec g = {.kind = (GraphKind)rng_below(r, NUM_GRAPHS)};
    sizes(&g, r, homogeneous);
    if (first) g.num_src = first->num_src, g.num_dst = first->num_dst;
    if (g.num_src == 0 || g.num_dst == 0) g.num_edges = 0;
    g.seed = rng_next(r);
    g.csr = rng_below(r, 2);
    return g;
}

Case case_of_seed(uint64_t seed) {
    Rng r = {seed * 0x2545F4914F6CDD1Du + 1};
    Case c = {.seed = seed};
    c.data = data_kind(&r);
    c.homogeneous = rng_below(&r, 4) > 0;
    c.num_relations = rng_below(&r, 8) ? 1 : 2;
    c.strided = rng_below(&r, 3) == 0;
    int64_t order = rng_below(&r, 8);
    c.order = order < 4 ? 0 : order < 7 ? 1 : 2;
    if (c.data == DATA_smooth && c.order == 0) c.order = 1;
    c.graph[0] = graph_spec(&r, c.homogeneous, NULL);
    if (c.num_relations > 1) c.graph[1] = graph_spec(&r, c.homogeneous, &c.graph[0]);
    c.num_bytes = (uint32_t)(4 + rng_below(&r, c.order == 2 ? 40 : MAX_BYTES - 4));
    for (uint32_t k = 0; k < c.num_bytes; k++) c.bytes[k] = (uint8_t)rng_next(&r);
    return c;
}
