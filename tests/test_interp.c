/* The interpreter on small inputs whose results were worked out by hand. */
#include "interp/interp.h"
#include "ir/prim.h"
#include "ir/type.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) ((int64_t)(sizeof(a) / sizeof *(a)))
#define ROWS(...)                                                                                  \
    (const int64_t[]) { __VA_ARGS__ }
#define INF ((float)HUGE_VAL)
#define NONE (INF - INF)

/* ---- a program, its relation and its arrays ---- */

enum { MAX_ENDS = 8 };
typedef struct {
    Fn *f;
    Set src, dst, edges;
    Map to_src, to_dst, all_src, all_edges;
    int64_t size[8];
    Graph *graph;
    Array in[MAX_ENDS], out[MAX_ENDS];
} Case;

/* Edges src[e] -> dst[e]; a bipartite relation "r" of sets U and V. */
static Case setup(int64_t num_src, int64_t num_dst, int64_t num_edges, const int64_t *src,
                  const int64_t *dst) {
    Case c = {.f = ir_new(arena_new(), "case")};
    c.src = ir_set(c.f, "U"), c.dst = ir_set(c.f, "V");
    int r = ir_relation(c.f, "r", c.src, c.dst);
    c.edges = c.f->relations.data[r].edges;
    c.to_src = map_src(r), c.to_dst = map_dst(r);
    c.all_src = map_all(c.src), c.all_edges = map_all(c.edges);
    IndexArray s = {src, num_edges, 8, true}, d = {dst, num_edges, 8, true};
    assert_int_equal(graph_from_coo(&s, &d, num_src, num_dst, false, &c.graph), ST_OK);
    c.size[SET_ALL] = 1;
    c.size[c.src] = num_src, c.size[c.dst] = num_dst, c.size[c.edges] = num_edges;
    return c;
}

static Case dense(void) { return setup(0, 0, 0, ROWS(0), ROWS(0)); }

static Array array_of(const Case *c, const Type *t, void *data) {
    Array a = {.data = data, .dtype = t->dtype};
    if (t->set != SET_ALL) a.dim[a.rank++] = c->size[t->set];
    for (int k = 0; k < t->rank; k++)
        a.dim[a.rank++] = dim_is_set(t->dim[k]) ? c->size[dim_set(t->dim[k])] : t->dim[k];
    int64_t step = dtype_size((Dtype)t->dtype);
    for (int k = a.rank - 1; k >= 0; k--) {
        a.stride[k] = step;
        step *= a.dim[k];
    }
    return a;
}

static Val input(Case *c, const char *name, Type t, const void *data) {
    Val v = ir_input(c->f, name, t);
    c->in[c->f->inputs.len - 1] = array_of(c, &t, (void *)data);
    return v;
}

static Val input_f32(Case *c, const char *name, Set s, const float *data) {
    return input(c, name, type_scalar(DT_f32, s), data);
}

static void output(Case *c, const char *name, Val v, void *data) {
    assert_true(v);
    c->out[c->f->results.len] = array_of(c, ir_type(c->f, v), data);
    ir_add_result(c->f, name, v);
}

static Status run(const Case *c) {
    Graph *const graphs[] = {c->graph};
    return interp_run(c->f, &(Domain){.set_size = c->size, .graphs = graphs}, c->in, c->out);
}

static void end(Case *c) {
    int64_t live = mem_live();
    assert_int_equal(run(c), ST_OK);
    assert_int_equal(mem_live(), live);
    graph_unref(c->graph);
    ir_free(c->f);
}

static void expect(const float *got, const float *want, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (want[i] != want[i] ? got[i] != got[i] : got[i] == want[i]) continue;
        if (!(fabsf(got[i] - want[i]) <= 1e-6f * fabsf(want[i])))
            fail_msg("entry %d: %.9g, not %.9g", (int)i, (double)got[i], (double)want[i]);
    }
}
#define EXPECT(got, ...)                                                                           \
    expect(got, (const float[]){__VA_ARGS__}, COUNT(((const float[]){__VA_ARGS__})))
#define EXPECT_INT(got, ...)                                                                       \
    assert_memory_equal(got, ((const int64_t[]){__VA_ARGS__}),                                     \
                        sizeof((const int64_t[]){__VA_ARGS__}))

/* ---- along maps ---- */

/* sum and gather over edges src -> dst with values x on the sources. */
static void check_sum(int64_t num_src, int64_t num_dst, int64_t num_edges, const int64_t *src,
                      const int64_t *dst, const float *x, const float *want) {
    Case c = setup(num_src, num_dst, num_edges, src, dst);
    float y[8];
    Val m = ir_gather(c.f, input_f32(&c, "x", c.src, x), c.to_src);
    output(&c, "y", ir_reduce(c.f, m, c.to_dst), y);
    end(&c);
    expect(y, want, num_dst);
}
#define FLOATS(...)                                                                                \
    (const float[]) { __VA_ARGS__ }

static void test_sum(void **state) {
    (void)state;
    check_sum(2, 2, 2, ROWS(0, 0), ROWS(1, 1), FLOATS(5, 7), FLOATS(0, 10));
    check_sum(2, 4, 4, ROWS(0, 1, 1, 1), ROWS(0, 1, 2, 3), FLOATS(3, 4), FLOATS(3, 4, 4, 4));
    check_sum(3, 3, 3, ROWS(0, 1, 2), ROWS(2, 1, 0), FLOATS(1, 1, 1), FLOATS(1, 1, 1));
    check_sum(3, 2, 3, ROWS(0, 1, 2), ROWS(1, 0, 1), FLOATS(1, 2, 3), FLOATS(2, 4));
    check_sum(1, 1, 2, ROWS(0, 0), ROWS(0, 0), FLOATS(INF), FLOATS(INF));
    check_sum(3, 2, 3, ROWS(0, 1, 2), ROWS(0, 0, 1), FLOATS(INF, -INF, NONE), FLOATS(NONE, NONE));
    check_sum(3, 1, 3, ROWS(0, 1, 2), ROWS(0, 0, 0), FLOATS(1e30f, 1, -1e30f), FLOATS(1));
}

static void test_edge_order(void **state) {
    (void)state;
    Case c = setup(2, 3, 3, ROWS(1, 0, 1), ROWS(2, 0, 1));
    const float x[] = {1, 2}, z[] = {10, 20, 30};
    float y[3], back[2];
    Val m = ir_add(c.f, ir_gather(c.f, input_f32(&c, "x", c.src, x), c.to_src),
                   ir_gather(c.f, input_f32(&c, "z", c.dst, z), c.to_dst));
    output(&c, "y", m, y);
    output(&c, "back", ir_reduce(c.f, m, c.to_src), back);
    end(&c);
    EXPECT(y, 32, 11, 22);
    EXPECT(back, 11, 54);
}

static void test_integer_sums(void **state) {
    (void)state;
    Case c = setup(1, 2, 3, ROWS(0, 0, 0), ROWS(1, 1, 1));
    const int32_t i[] = {INT32_MAX, INT32_MAX, 2};
    const int64_t l[] = {INT64_MAX, 1, 0};
    const uint8_t b[] = {1, 255, 0}; /* any byte is true */
    int64_t yi[2], yl[2], yb[2], degree[2], total[1], edge[3], node[2];
    output(&c, "yi", ir_reduce(c.f, input(&c, "i", type_scalar(DT_i32, c.edges), i), c.to_dst), yi);
    output(&c, "yl", ir_reduce(c.f, input(&c, "l", type_scalar(DT_i64, c.edges), l), c.to_dst), yl);
    output(&c, "yb", ir_reduce(c.f, input(&c, "b", type_scalar(DT_bool, c.edges), b), c.to_dst),
           yb);
    output(&c, "degree", ir_degree(c.f, c.to_dst), degree);
    output(&c, "total", ir_degree(c.f, c.all_edges), total);
    output(&c, "edge", ir_iota(c.f, c.edges), edge);
    output(&c, "node", ir_iota(c.f, map_to(c.f, c.to_dst)), node);
    end(&c);
    EXPECT_INT(yi, 0, 2 * (int64_t)INT32_MAX + 2);
    EXPECT_INT(yl, 0, INT64_MIN);
    EXPECT_INT(yb, 0, 2);
    EXPECT_INT(degree, 0, 3);
    EXPECT_INT(total, 3);
    EXPECT_INT(edge, 0, 1, 2);
    EXPECT_INT(node, 0, 1);
}

static void test_many_ones(void **state) {
    (void)state;
    Case c = dense();
    c.size[c.src] = 17000001; /* above 2^24 */
    float y;
    output(&c, "y", ir_reduce(c.f, ir_const(c.f, type_scalar(DT_f32, c.src), 1), c.all_src), &y);
    end(&c);
    assert_true(y == 17000001.0f);
}

static void check_largest(int64_t n, const float *x, float want, int64_t ties) {
    Case c = setup(1, 2, n, (int64_t[8]){0}, (int64_t[8]){0});
    float y[2];
    int64_t count[2];
    Val m = ir_rmax(c.f, input_f32(&c, "x", c.edges, x), c.to_dst);
    output(&c, "y", ir_part(c.f, m, 0), y);
    output(&c, "count", ir_part(c.f, m, 1), count);
    end(&c);
    EXPECT(y, want, -INF);
    EXPECT_INT(count, ties, 0);
}

static void test_largest(void **state) {
    (void)state;
    check_largest(3, FLOATS(1, 3, 3), 3, 2);
    check_largest(3, FLOATS(-0.0f, 0.0f, -1), 0, 2);
    check_largest(4, FLOATS(1, NONE, INF, NONE), NONE, 2);
    check_largest(2, FLOATS(-INF, -INF), -INF, 2);
    check_largest(0, FLOATS(0), -INF, 0);
}

static void test_largest_integer(void **state) {
    (void)state;
    Case c = setup(1, 2, 2, ROWS(0, 0), ROWS(1, 1));
    const int32_t x[] = {-5, INT32_MIN};
    int32_t y[2];
    output(&c, "y",
           ir_part(c.f, ir_rmax(c.f, input(&c, "x", type_scalar(DT_i32, c.edges), x), c.to_dst), 0),
           y);
    end(&c);
    assert_true(y[0] == INT32_MIN && y[1] == -5);
}

/* ---- softmax ---- */

/* Scores and values of one row (of two; the other is empty), in both float types. */
static void check_softmax(Dtype t, int64_t n, const float *s, const float *v, float want,
                          float want_lse) {
    Case c = setup(1, 2, n, (int64_t[8]){0}, (int64_t[8]){0});
    float o[2], lse[2];
    Val score = ir_cast(c.f, input_f32(&c, "s", c.edges, s), t);
    Val value = ir_cast(c.f, input_f32(&c, "v", c.edges, v), t);
    Val m = ir_softmax(c.f, score, value, c.to_dst);
    output(&c, "o", ir_cast(c.f, ir_part(c.f, m, 0), DT_f32), o);
    output(&c, "lse", ir_cast(c.f, ir_logsumexp(c.f, m), DT_f32), lse);
    end(&c);
    EXPECT(o, want, NONE);
    EXPECT(lse, want_lse, -INF);
}

static void test_softmax_rows(void **state) {
    (void)state;
    for (Dtype t = DT_f32; t <= DT_f64; t++) {
        check_softmax(t, 2, FLOATS(1000, 1001), FLOATS(1, 0), 0.268941421f, 1001.31326f);
        check_softmax(t, 2, FLOATS(0, -INF), FLOATS(1, NONE), 1, 0);
        check_softmax(t, 2, FLOATS(0, -INF), FLOATS(1, INF), 1, 0);
        check_softmax(t, 2, FLOATS(-INF, -INF), FLOATS(1, 2), NONE, -INF);
        check_softmax(t, 4, FLOATS(-1e5f, -1e5f, -1e5f, -1e5f), FLOATS(1, 2, 3, 4), 2.5f,
                      -99998.6137f);
        check_softmax(t, 3, FLOATS(INF, 7, INF), FLOATS(1, 50, 3), 2, INF);
        check_softmax(t, 2, FLOATS(1, NONE), FLOATS(1, 2), NONE, NONE);
        check_softmax(t, 1, FLOATS(-80), FLOATS(3e38f), 3e38f, -80);
        check_softmax(t, 2, FLOATS(0, 0), FLOATS(1, NONE), NONE, logf(2));
        check_softmax(t, 0, FLOATS(0), FLOATS(0), NONE, -INF);
    }
}

static void test_softmax_one_hot(void **state) {
    (void)state;
    Case c = setup(4, 3, 4, ROWS(0, 1, 2, 3), ROWS(1, 1, 2, 2));
    const float s[] = {1, -1, -INF, 50};
    const float v[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    float o[12], lse[3];
    Val score = ir_reshape(c.f, input_f32(&c, "s", c.edges, s), ROWS(1), 1);
    Val m =
        ir_softmax(c.f, score, input(&c, "v", type_of(DT_f32, c.edges, 1, ROWS(4)), v), c.to_dst);
    output(&c, "o", ir_part(c.f, m, 0), o);
    output(&c, "lse", ir_logsumexp(c.f, m), lse);
    end(&c);
    EXPECT(o, NONE, NONE, NONE, NONE, 0.880797078f, 0.119202922f, 0, 0, 0, 0, 0, 1);
    EXPECT(lse, -INF, 1.12692801f, 50);
}

static void test_softmax_heads(void **state) {
    (void)state;
    Case c = setup(2, 1, 2, ROWS(0, 1), ROWS(0, 0));
    const float s[] = {0, -INF, 0, 5}; /* [2 heads, 1] an edge */
    const float v[] = {1, 2, 3, 4, 5, 6, 7, 8};
    float o[4];
    Val score = input(&c, "s", type_of(DT_f32, c.edges, 2, ROWS(2, 1)), s);
    Val value = input(&c, "v", type_of(DT_f32, c.edges, 2, ROWS(2, 2)), v);
    output(&c, "o", ir_part(c.f, ir_softmax(c.f, score, value, c.to_dst), 0), o);
    end(&c);
    EXPECT(o, 3, 4, 7, 8);
}

/* ---- nothing at all ---- */

static void test_empty(void **state) {
    (void)state;
    const int64_t sizes[][3] = {
        {3, 0, 0}, {0, 0, 0}, {1, 0, 0}, {2, 1, 0}, {2, 1, 3}}; /* N, E, F */
    for (int k = 0; k < COUNT(sizes); k++) {
        int64_t n = sizes[k][0], num_edges = sizes[k][1], width = sizes[k][2];
        Case c = setup(n, n, num_edges, ROWS(0, 0), ROWS(0, 0));
        float x[9] = {0}, y[9], z[9], w[9], total[3];
        Val v = input(&c, "x", type_of(DT_f32, c.src, 1, &width), x);
        Val m = ir_exp(c.f, ir_gather(c.f, v, c.to_src));
        output(&c, "y", ir_reduce(c.f, m, c.to_dst), y);
        output(&c, "z", ir_part(c.f, ir_rmax(c.f, m, c.to_dst), 0), z);
        output(&c, "w", ir_part(c.f, ir_softmax(c.f, m, m, c.to_dst), 0), w);
        output(&c, "total", ir_reduce(c.f, v, c.all_src), total);
        end(&c);
        for (int64_t i = 0; i < n * width; i++) {
            assert_true(y[i] == (i < width ? (float)num_edges : 0));
            assert_true(i < width ? z[i] == 1 && w[i] == 1 : z[i] == -INF && w[i] != w[i]);
        }
    }
}

/* ---- features ---- */

/* prim.h's feature order, said once more. */
static float in_feature_order(const float *x, int64_t n) {
    float lane[FEATURE_LANES];
    for (int64_t i = 0; i < n; i++) lane[i % 16] = i < 16 ? x[i] : lane[i % 16] + x[i];
    for (int64_t half = 8; half; half /= 2)
        for (int64_t l = 0; l < half; l++)
            if (l + half < n) lane[l] += lane[l + half];
    return n ? lane[0] : 0;
}

static void test_feature_order(void **state) {
    (void)state;
    for (int64_t n = 0; n <= 70; n++) {
        Case c = dense();
        float x[140], y[2], most[2];
        for (int64_t i = 0; i < 2 * n; i++) x[i] = 1.0f / (float)(3 + i * i % 101);
        Val v = input(&c, "x", type_of(DT_f32, SET_ALL, 2, ROWS(2, n)), x);
        output(&c, "y", ir_fsum(c.f, v, 2), y);
        output(&c, "most", ir_fmax(c.f, v, 2), most);
        end(&c);
        for (int r = 0; r < 2; r++) {
            float largest = -INF;
            for (int64_t i = 0; i < n; i++) largest = fmaxf(largest, x[r * n + i]);
            assert_true(y[r] == in_feature_order(x + r * n, n) && most[r] == largest);
        }
    }
}

/* Extents beside a 0 may be as large as they may be alone. */
static void test_huge_nothing(void **state) {
    (void)state;
    Case c = dense();
    const int64_t huge = INT64_C(1) << 20;
    float y[1] = {7}, z[1] = {7};
    Val v = ir_const(c.f, type_of(DT_f32, SET_ALL, 3, ROWS(0, huge, huge)), 1);
    output(&c, "y", ir_fsum(c.f, v, 7), y);
    Val turned = ir_transpose(c.f, v, ROWS(2, 0, 1));
    output(&c, "z", ir_exp(c.f, ir_fsum(c.f, turned, 1 | 4)), z);
    end(&c);
    assert_true(y[0] == 0 && z[0] == 7);
}

static void test_feature_folds(void **state) {
    (void)state;
    Case c = dense();
    const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, NONE}, zeros[] = {-0.0f, -0.0f, -0.0f};
    float outer[3], inner[2], zero;
    Val v = input(&c, "x", type_of(DT_f32, SET_ALL, 3, ROWS(2, 3, 2)), x);
    output(&c, "outer", ir_fsum(c.f, v, 1 | 4), outer);
    output(&c, "inner", ir_fmax(c.f, v, 2 | 4), inner);
    output(&c, "zero",
           ir_fsum(c.f, input(&c, "zeros", type_of(DT_f32, SET_ALL, 1, ROWS(3)), zeros), 1), &zero);
    end(&c);
    EXPECT(outer, 18, 26, NONE);
    EXPECT(inner, 6, NONE);
    assert_true(zero == 0 && signbit(zero));
}

static void test_running_sums(void **state) {
    (void)state;
    Case c = dense();
    const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, NONE}, zeros[] = {-0.0f, -0.0f, 1e8f, 1};
    float outer[12], middle[12], inner[12], order[4], back[4];
    Val v = input(&c, "x", type_of(DT_f32, SET_ALL, 3, ROWS(2, 3, 2)), x);
    Val z = input(&c, "zeros", type_of(DT_f32, SET_ALL, 1, ROWS(4)), zeros);
    output(&c, "outer", ir_cumsum(c.f, v, 0, false), outer);
    output(&c, "middle", ir_cumsum(c.f, v, 1, true), middle);
    output(&c, "inner", ir_cumsum(c.f, v, 2, false), inner);
    output(&c, "order", ir_cumsum(c.f, z, 0, false), order);
    output(&c, "back", ir_cumsum(c.f, z, 0, true), back);
    end(&c);
    EXPECT(outer, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, NONE);
    EXPECT(middle, 9, 12, 8, 10, 5, 6, 27, NONE, 20, NONE, 11, NONE);
    EXPECT(inner, 1, 3, 3, 7, 5, 11, 7, 15, 9, 19, 11, NONE);
    EXPECT(order, -0.0f, -0.0f, 1e8f, 1e8f);
    assert_true(signbit(order[0]) && signbit(order[1]));
    EXPECT(back, 1e8f, 1e8f, 1e8f, 1);
}

static void test_matmul(void **state) {
    (void)state;
    Case c = dense();
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 9, 8, 10};
    const float p[] = {1 + 0x1p-12f, 1}, q[] = {1 + 0x1p-12f, -1 - 0x1p-11f};
    float y[6], exact, none[6];
    output(&c, "y",
           ir_matmul(c.f, input(&c, "a", type_of(DT_f32, SET_ALL, 2, ROWS(3, 2)), a),
                     input(&c, "b", type_of(DT_f32, SET_ALL, 2, ROWS(2, 2)), b)),
           y);
    output(&c, "exact",
           ir_matmul(c.f, input(&c, "p", type_of(DT_f32, SET_ALL, 2, ROWS(1, 2)), p),
                     input(&c, "q", type_of(DT_f32, SET_ALL, 2, ROWS(2, 1)), q)),
           &exact);
    Val empty = ir_const(c.f, type_of(DT_f32, SET_ALL, 2, ROWS(2, 0)), 1);
    output(&c, "none", ir_matmul(c.f, empty, ir_reshape(c.f, empty, ROWS(0, 3), 2)), none);
    end(&c);
    EXPECT(y, 23, 29, 53, 67, 83, 105);
    assert_true(exact == 0); /* the first product is rounded, 1 + 2^-11 + 2^-24 to 1 + 2^-11 */
    EXPECT(none, 0, 0, 0, 0, 0, 0);
}

static void test_moves(void **state) {
    (void)state;
    Case c = dense();
    const float x[] = {1, 2, 3, 4, 5, 6};
    float transposed[6], sliced[2], padded[10], joined[9], spread[12];
    Val v = input(&c, "x", type_of(DT_f32, SET_ALL, 2, ROWS(2, 3)), x);
    Val part = ir_slice(c.f, v, ROWS(1, 1, 1, 0, 2, 2));
    Val column = ir_slice(c.f, v, ROWS(0, 2, 1, 1, 1, 1));
    output(&c, "transposed", ir_transpose(c.f, v, ROWS(1, 0)), transposed);
    output(&c, "sliced", part, sliced);
    output(&c, "padded", ir_pad(c.f, part, ROWS(1, 0, 5, 1, 1, 1)), padded);
    output(&c, "joined", ir_concat(c.f, (Val[]){v, ir_slice(c.f, v, ROWS(1, 1, 1, 0, 3, 1))}, 2, 0),
           joined);
    output(&c, "spread", ir_bcast(c.f, column, ROWS(2, 2, 3), 3), spread);
    end(&c);
    EXPECT(transposed, 1, 4, 2, 5, 3, 6);
    EXPECT(sliced, 4, 6);
    EXPECT(padded, 0, 0, 0, 0, 0, 0, 4, 0, 6, 0);
    EXPECT(joined, 1, 2, 3, 4, 5, 6, 4, 5, 6);
    EXPECT(spread, 2, 2, 2, 5, 5, 5, 2, 2, 2, 5, 5, 5);
}

static void test_highest_rank(void **state) {
    (void)state;
    Case c = setup(2, 1, 0, ROWS(0), ROWS(0));
    float x[16], y[16];
    for (int i = 0; i < 16; i++) x[i] = (float)i;
    const int64_t dim[MAX_RANK] = {1, 2, 1, 1, 2, 1, 1, 2},
                  axes[MAX_RANK] = {7, 6, 5, 4, 3, 2, 1, 0};
    Val v = input(&c, "x", type_of(DT_f32, c.src, MAX_RANK, dim), x);
    output(&c, "y", ir_transpose(c.f, v, axes), y);
    end(&c);
    EXPECT(y, 0, 4, 2, 6, 1, 5, 3, 7, 8, 12, 10, 14, 9, 13, 11, 15);
}

static void test_views(void **state) {
    (void)state;
    Case c = setup(2, 1, 1, ROWS(1), ROWS(0));
    const float x[] = {1, 2, 3, 4};
    float y[2], back[4];
    Val rows = ir_enter(c.f, input(&c, "x", type_of(DT_f32, SET_ALL, 2, ROWS(dim_of(c.src), 2)), x),
                        c.src);
    output(&c, "y", ir_gather(c.f, rows, c.to_src), y);
    output(&c, "back", ir_leave(c.f, rows), back);
    end(&c);
    EXPECT(y, 3, 4);
    EXPECT(back, 1, 2, 3, 4);
}

/* ---- casts ---- */

static void test_cast_from_float(void **state) {
    (void)state;
    Case c = dense();
    const double x[] = {-2.9, 2.9, 1e300, -1e300, 2147483647.5, 9.3e18, NONE, INF, -0.0, 1e-300};
    int32_t i[10];
    int64_t l[10];
    uint8_t b[10];
    float f[10];
    Val v = input(&c, "x", type_of(DT_f64, SET_ALL, 1, ROWS(10)), x);
    output(&c, "i", ir_cast(c.f, v, DT_i32), i);
    output(&c, "l", ir_cast(c.f, v, DT_i64), l);
    output(&c, "b", ir_cast(c.f, v, DT_bool), b);
    output(&c, "f", ir_cast(c.f, v, DT_f32), f);
    end(&c);
    const int32_t want_i[] = {-2,        2, INT32_MAX, INT32_MIN, INT32_MAX,
                              INT32_MAX, 0, INT32_MAX, 0,         0};
    assert_memory_equal(i, want_i, sizeof want_i);
    EXPECT_INT(l, -2, 2, INT64_MAX, INT64_MIN, 2147483647, INT64_MAX, 0, INT64_MAX, 0, 0);
    assert_memory_equal(b, ((const uint8_t[]){1, 1, 1, 1, 1, 1, 1, 1, 0, 1}), sizeof b);
    EXPECT(f, -2.9f, 2.9f, INF, -INF, 2147483648.0f, 9.3e18f, NONE, INF, -0.0f, 0);
}

static void test_cast_from_integer(void **state) {
    (void)state;
    Case c = dense();
    const int64_t x[] = {(INT64_C(1) << 54) + (INT64_C(1) << 30) + 1, -1, INT64_C(1) << 32};
    int32_t i[3];
    float f[3];
    uint8_t b[3];
    Val v = input(&c, "x", type_of(DT_i64, SET_ALL, 1, ROWS(3)), x);
    output(&c, "i", ir_cast(c.f, v, DT_i32), i);
    output(&c, "f", ir_cast(c.f, v, DT_f32), f);
    output(&c, "b", ir_cast(c.f, v, DT_bool), b);
    end(&c);
    assert_true(i[0] == (1 << 30) + 1 && i[1] == -1 && i[2] == 0);
    assert_true(f[0] == 0x1.000002p54f); /* by way of double it would be 2^54 */
    assert_true(b[0] == 1 && b[1] == 1 && b[2] == 1);
}

/* ---- arrays of any layout ---- */

static void test_strides(void **state) {
    (void)state;
    Case c = dense();
    const float x[] = {1, 2, 3, 4};
    unsigned char raw[17];
    memcpy(raw + 1, x, sizeof x);
    float wide[8] = {0}, reversed[4];
    Val v = input(&c, "x", type_of(DT_f32, SET_ALL, 2, ROWS(2, 2)), raw + 1); /* unaligned */
    Val w = input(&c, "w", type_of(DT_f32, SET_ALL, 2, ROWS(2, 2)), x);
    c.in[1].stride[0] = 0; /* one row twice */
    c.in[1].data = (void *)&x[3];
    c.in[1].stride[1] = -4; /* backwards */
    output(&c, "wide", ir_add(c.f, v, w), wide);
    c.out[0].stride[0] = 16, c.out[0].stride[1] = 8;
    output(&c, "reversed", v, reversed);
    c.out[1].data = &reversed[3];
    c.out[1].stride[0] = -8, c.out[1].stride[1] = -4;
    end(&c);
    EXPECT(wide, 5, 0, 5, 0, 7, 0, 7, 0);
    EXPECT(reversed, 4, 3, 2, 1);
}

/* ---- programs ---- */

static void test_unbound(void **state) {
    (void)state;
    Case c = dense();
    float y;
    Val x = input_f32(&c, "x", SET_ALL, FLOATS(2)),
        missing = ir_input(c.f, "missing", type_scalar(DT_f32, SET_ALL));
    output(&c, "y", ir_add(c.f, x, x), &y);
    output(&c, "unasked", ir_exp(c.f, missing), NULL);
    assert_int_equal(run(&c), ST_OK);
    EXPECT(&y, 4);
    c.out[1].data = &y;
    assert_int_equal(run(&c), ST_NAME);
    assert_string_equal(err_message(), "input 'missing' is not bound");
    c.out[1].data = NULL;
    end(&c);
}

static void test_traverse(void **state) {
    (void)state;
    Case c = setup(2, 2, 2, ROWS(0, 1), ROWS(1, 1));
    Fn *body = ir_new_like(arena_new(), c.f, "group");
    Val inner = ir_gather(body, ir_input(body, "a", type_scalar(DT_f32, c.src)), c.to_src);
    ir_add_result(body, "edge", inner);
    ir_add_result(body, "sum", ir_reduce(body, inner, c.to_dst));
    float edge[2], sum[2];
    Val x = input_f32(&c, "x", c.src, FLOATS(3, 4));
    Val group = ir_emit(c.f, OP_traverse, &x, 1, &(Attr){.body = body, .map = c.to_dst});
    output(&c, "edge", ir_part(c.f, group, 0), edge);
    output(&c, "sum", ir_part(c.f, group, 1), sum);
    end(&c);
    ir_free(body);
    EXPECT(edge, 3, 4);
    EXPECT(sum, 0, 7);
}

static void test_launch(void **state) {
    (void)state;
    Case c = dense();
    Fn *body = ir_new_like(arena_new(), c.f, "k0");
    ir_add_result(body, "y", ir_const(body, type_scalar(DT_f32, SET_ALL), 1));
    float y;
    output(&c, "y", ir_emit(c.f, OP_launch, NULL, 0, &(Attr){.name = "k0", .body = body}), &y);
    assert_int_equal(run(&c), ST_UNSUPPORTED);
    assert_string_equal(err_message(), "launch of 'k0': a compiled kernel cannot be interpreted");
    graph_unref(c.graph);
    ir_free(c.f);
    ir_free(body);
}

/* ---- memory ---- */

static void test_too_large(void **state) {
    (void)state;
    Case c = dense();
    float y;
    c.size[c.src] = INT64_C(1) << 31;
    Val big = ir_const(c.f, type_of(DT_f32, SET_ALL, 2, ROWS(dim_of(c.src), INT64_C(1) << 40)), 1);
    output(&c, "y", ir_fsum(c.f, big, 3), &y);
    int64_t live = mem_live();
    assert_int_equal(run(&c), ST_NOMEM);
    assert_int_equal(mem_live(), live);
    assert_non_null(strstr(err_message(), "constant on all"));
    assert_non_null(strstr(err_message(), "elements of 4 bytes"));
    graph_unref(c.graph);
    ir_free(c.f);
}

static void test_failing_allocations(void **state) {
    (void)state;
    Case c = setup(2, 2, 3, ROWS(0, 1, 1), ROWS(1, 1, 0));
    float o[2], most[2], back[2];
    Val x = ir_gather(c.f, input_f32(&c, "x", c.src, FLOATS(3, 4)), c.to_src);
    output(&c, "o", ir_part(c.f, ir_softmax(c.f, x, x, c.to_dst), 0), o);
    output(&c, "most", ir_part(c.f, ir_rmax(c.f, ir_exp(c.f, x), c.to_dst), 0), most);
    output(&c, "back", ir_reduce(c.f, x, c.to_src), back);
    int64_t live = mem_live(), n = 0;
    Status st = ST_NOMEM;
    while (st) {
        mem_fail_at(++n);
        st = run(&c);
        mem_fail_at(0);
        assert_true(st == ST_OK || st == ST_NOMEM);
        assert_int_equal(mem_live(), live);
    }
    assert_true(n > 20);
    EXPECT(back, 3, 8);
    end(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_edge_order),
        cmocka_unit_test(test_integer_sums),
        cmocka_unit_test(test_many_ones),
        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_largest_integer),
        cmocka_unit_test(test_softmax_rows),
        cmocka_unit_test(test_softmax_one_hot),
        cmocka_unit_test(test_softmax_heads),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_feature_order),
        cmocka_unit_test(test_huge_nothing),
        cmocka_unit_test(test_feature_folds),
        cmocka_unit_test(test_running_sums),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_highest_rank),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_cast_from_float),
        cmocka_unit_test(test_cast_from_integer),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_unbound),
        cmocka_unit_test(test_traverse),
        cmocka_unit_test(test_launch),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
