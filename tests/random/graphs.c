/* Nasty graphs: nothing, isolated nodes, self loops, duplicates, hubs that are split, chains, unsorted
 * columns, sides of very different sizes. */
#include "random.h"

#include <stdlib.h>
#include <string.h>

uint64_t rng_next(Rng *r) { /* splitmix64 */
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t rng_below(Rng *r, int64_t n) { return n ? (int64_t)(rng_next(r) % (uint64_t)n) : 0; }

static void edge_of_kind(const GraphSpec *s, Rng *r, int64_t e, int64_t *src, int64_t *dst) {
    *src = rng_below(r, s->num_src);
    *dst = rng_below(r, s->num_dst);
    switch (s->kind) {
    case GRAPH_hub: /* most edges enter, some leave, one node */
        if (rng_below(r, 8) < 6) *dst = s->num_dst / 2;
        else if (rng_below(r, 2)) *src = s->num_src / 2;
        break;
    case GRAPH_chain: *src = e % s->num_src, *dst = (e + 1) % s->num_dst; break;
    case GRAPH_loops: *src = *dst = e % (s->num_src < s->num_dst ? s->num_src : s->num_dst); break;
    case GRAPH_random: /* half of the nodes isolated, many duplicates */
        if (s->seed & 1) *src /= 2, *dst /= 2;
        break;
    case NUM_GRAPHS: break;
    }
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Row pointers of the destinations, which are sorted for it; columns stay unsorted. */
static Status from_rows(const GraphSpec *s, const int64_t *src, int64_t *dst, Graph **out) {
    qsort(dst, (size_t)s->num_edges, sizeof *dst, by_value);
    int64_t *row = calloc((size_t)s->num_dst + 1, sizeof *row);
    for (int64_t e = 0; e < s->num_edges; e++) row[dst[e] + 1]++;
    for (int64_t i = 0; i < s->num_dst; i++) row[i + 1] += row[i];
    IndexArray rows = {row, s->num_dst + 1, 8, true}, cols = {src, s->num_edges, 8, true};
    Status st = graph_from_csr(&rows, &cols, s->num_src, false, out);
    free(row);
    return st;
}

Graph *graph_of_spec(const GraphSpec *s) {
    size_t bytes = (size_t)s->num_edges * sizeof(int64_t) + 1;
    int64_t *src = malloc(bytes), *dst = malloc(bytes);
    Rng r = {s->seed};
    for (int64_t e = 0; e < s->num_edges; e++) edge_of_kind(s, &r, e, &src[e], &dst[e]);
    Graph *g = NULL;
    IndexArray a = {src, s->num_edges, 8, true}, b = {dst, s->num_edges, 8, true};
    Status st = s->csr ? from_rows(s, src, dst, &g)
                       : graph_from_coo(&a, &b, s->num_src, s->num_dst, false, &g);
    free(src);
    free(dst);
    if (st) guard_fail(st, "%s", err_message());
    return g;
}
