/* Random programs over two relations, r : U -> V and q : V -> V, and their gradients: every plan gives
 * the program's bits. A failure names its seed. */
#include "plan_check.h"

#include "opt/opt.h"
#include "opt/vjp.h"

enum { U = 1, V = 2, R = 3, Q = 4, NUM_SETS = 5, WIDTH = 2, NUM_SEEDS = 600 };

typedef struct {
    Fn *f;
    uint64_t seed, count;
    VEC(Val) pool; /* f32 [WIDTH] each, on any set */
} Maker;

static uint32_t pick(Maker *m, uint32_t n) {
    return (uint32_t)(hash_u64(m->count++, m->seed) >> 32) % n;
}

static Val any(Maker *m) { return m->pool.data[pick(m, m->pool.len)]; }

/* Another value on v's set; v itself where none is met. */
static Val partner(Maker *m, Val v) {
    for (int k = 0; k < 20; k++) {
        Val w = any(m);
        if (ir_type(m->f, w)->set == ir_type(m->f, v)->set) return w;
    }
    return v;
}

static Map any_map(Maker *m) {
    Map maps[] = {0, 1, 2, 3, map_all(U), map_all(V), map_all(R), map_all(Q)};
    return maps[pick(m, 8)];
}

static Val along(Maker *m, Val v) {
    Set s = ir_type(m->f, v)->set;
    for (int k = 0; k < 20; k++) {
        Map map = any_map(m);
        if (map_to(m->f, map) == s) return ir_gather(m->f, v, map);
        if (map_from(m->f, map) != s) continue;
        switch (pick(m, 4)) {
        case 0: return ir_part(m->f, ir_rmax(m->f, v, map), 0);
        case 1: return ir_part(m->f, ir_softmax(m->f, v, partner(m, v), map), pick(m, 2));
        default: return ir_reduce(m->f, v, map);
        }
    }
    return v;
}

static Val times_weight(Maker *m, Val v) {
    Fn *f = m->f;
    int64_t row[] = {1, WIDTH}, square[] = {WIDTH, WIDTH};
    Val w = ir_input(f, "W", type_of(DT_f32, SET_ALL, 2, square));
    if (pick(m, 2)) w = ir_matmul(f, w, w);
    w = ir_gather(f, w, map_all(ir_type(f, v)->set));
    return ir_reshape(f, ir_matmul(f, ir_reshape(f, v, row, 2), w), square, 1);
}

static Val degree_of(Maker *m, Val v) {
    for (int k = 0; k < 20; k++) {
        Map map = any_map(m);
        if (map_to(m->f, map) != ir_type(m->f, v)->set) continue;
        Val d = ir_cast(m->f, ir_degree(m->f, map), DT_f32);
        return ir_mul(m->f, v, ir_bcast(m->f, d, (int64_t[]){WIDTH}, 1));
    }
    return v;
}

static Val grow(Maker *m) {
    Val v = any(m), w = partner(m, v);
    switch (pick(m, 12)) {
    case 0: return ir_add(m->f, v, w);
    case 1: return ir_mul(m->f, v, w);
    case 2: return ir_max(m->f, v, w);
    case 3: return ir_tanh(m->f, v);
    case 4: return ir_where(m->f, ir_lt(m->f, v, w), v, ir_neg(m->f, w));
    case 5: return times_weight(m, v);
    case 6: return degree_of(m, v);
    default: return along(m, v);
    }
}

static Fn *make(uint64_t seed) {
    Maker m = {.f = ir_new(arena_new(), "random"), .seed = seed};
    Fn *f = m.f;
    ir_set(f, "U");
    ir_set(f, "V");
    ir_relation(f, "r", U, V);
    ir_relation(f, "q", V, V);
    for (Set s = 0; s < NUM_SETS; s++) {
        Type t = type_of(DT_f32, s, 1, (int64_t[]){WIDTH});
        *vec_push(f->arena, &m.pool) = ir_input(f, arena_printf(f->arena, "x%d", s), t);
    }
    for (uint32_t k = 4 + pick(&m, 14); k > 0; k--) {
        Val v = grow(&m);
        *vec_push(f->arena, &m.pool) = v;
    }
    ir_add_result(f, "y", m.pool.data[m.pool.len - 1]);
    for (uint32_t k = pick(&m, 3); k > 0; k--)
        ir_add_result(f, arena_printf(f->arena, "z%u", k), any(&m));
    if (f->status) fail_msg("seed %d: %s", (int)seed, err_message());
    return f;
}

static Fn *gradients_of(const Fn *f) {
    const char *out = "y", *wrt[] = {"x0", "x1", "x2", "x3", "x4"};
    Fn *g;
    assert_int_equal(vjp_run(arena_new(), f, &out, 1, wrt, NUM_SETS, NULL, &g), ST_OK);
    return g;
}

static void check(uint64_t seed, const Fn *f, Graph *const *graphs) {
    static const int64_t size[] = {1, 3, 4, 9, 7};
    Arena *a = arena_new();
    Fn *g = opt_prepare(arena_new(), f);
    Store start = {
        .arena = a, .domain = {size, graphs}, .fill = seed % 3 ? FILL_plain : FILL_nasty};
    fill_inputs(&start, g);
    check_planned(arena_printf(a, "seed %d", (int)seed), g, &start);
    ir_free(g);
    arena_free(a);
}

static Graph *graph_of(const int32_t *src, const int32_t *dst, int64_t n, int64_t num_src) {
    IndexArray s = {src, n, 4, false}, d = {dst, n, 4, false};
    Graph *g;
    assert_int_equal(graph_from_coo(&s, &d, num_src, 4, false, &g), ST_OK);
    return g;
}

static void random_programs_keep_their_bits(void **state) {
    (void)state;
    static const int32_t r_src[] = {2, 0, 1, 1, 0, 2, 2, 0, 0},
                         r_dst[] = {3, 0, 0, 3, 3, 1, 1, 0, 3};
    static const int32_t q_src[] = {3, 3, 0, 1, 2, 2, 0}, q_dst[] = {3, 1, 1, 0, 2, 2, 1};
    Graph *graphs[] = {graph_of(r_src, r_dst, 9, 3), graph_of(q_src, q_dst, 7, 4)};
    for (uint64_t seed = 1; seed <= NUM_SEEDS; seed++) {
        Fn *f = make(seed), *g = gradients_of(f);
        check(seed, f, graphs);
        check(seed, g, graphs);
        ir_free(g);
        ir_free(f);
    }
    graph_unref(graphs[0]);
    graph_unref(graphs[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_keep_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
