/* Every elementwise operation and cast, and random compositions of operations on features: the same
 * bits as the interpreter's, on nodes, on edges and on `all`. */
#include "codegen_run.h"

#include "base/pool.h"

#include <stdio.h>

static const World plain = {"plain", 12, 9, 60, 13, false};

/* ---- the table ---- */

static bool takes(uint8_t signature, Dtype d) {
    switch ((Signature)signature) {
    case S_num: return d != DT_bool;
    case S_flt:
    case S_test:
    case S_key: return dtype_is_float(d);
    case S_bit: return !dtype_is_float(d);
    case S_cmp:
    case S_sel: return true;
    }
    return false;
}

static Val operand(Fn *f, uint32_t k, Dtype d, Set s, int64_t n) {
    return ir_cast(f, ir_input(f, (const char *[]){"a", "b", "c"}[k], type_of(d, s, 1, &n)),
                   dtype_computed(d));
}

static void add_op(Fn *f, Op op, Dtype d, Set s, int64_t n) {
    Val args[3] = {0};
    bool select = op_info[op].signature == S_sel;
    for (uint32_t k = 0; k < (uint32_t)op_info[op].arity; k++)
        args[k] = operand(f, k, select && k == 0 ? DT_bool : d, s, n);
    Val y = ir_emit(f, op, args, (uint32_t)op_info[op].arity, NULL);
    ir_add_result(f, "y", dtype_is_float((Dtype)ir_type(f, y)->dtype) ? ir_cast(f, y, d) : y);
}

static void every_operation(void **state) {
    (void)state;
    static const Op ops[] = {
#define ELEM(op, ...) OP_##op,
#include "ir/op.def"
    };
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        for (int d = DT_bool; d < NUM_DTYPES; d++) {
            if (!takes(op_info[ops[k]].signature, (Dtype)d)) continue;
            for (int64_t n = 1; n <= 37; n += 36) {
                Fn *f = bipartite();
                add_op(f, ops[k], (Dtype)d, n == 1 ? E : V, n);
                check_program(op_info[ops[k]].name, f, &plain, (Check){.fill = FILL_nasty});
                check_program(op_info[ops[k]].name, f, &plain,
                              (Check){.fill = FILL_noise, .odd = true});
                ir_free(f);
            }
        }
}

static void every_cast(void **state) {
    (void)state;
    for (int from = 0; from < NUM_DTYPES; from++)
        for (int to = 0; to < NUM_DTYPES; to++) {
            Fn *f = bipartite();
            ir_add_result(f, "y", ir_cast(f, operand(f, 0, (Dtype)from, V, 19), (Dtype)to));
            Val large =
                ir_const_like(f, operand(f, 0, (Dtype)from, V, 19), from >= DT_f32 ? 3e18 : 1);
            if (from)
                ir_add_result(
                    f, "z",
                    ir_cast(f, ir_mul(f, operand(f, 0, (Dtype)from, V, 19), large), (Dtype)to));
            check_program("cast", f, &plain, (Check){.fill = FILL_nasty});
            ir_free(f);
        }
}

/* The last block of 33 holds one lane, and what it is cut from is wider. */
static void a_lone_lane_of_a_cast(void **state) {
    (void)state;
    Fn *f = bipartite();
    ir_add_result(f, "y", ir_cast(f, operand(f, 0, DT_i64, SET_ALL, 33), DT_i32));
    ir_add_result(f, "z", ir_cast(f, operand(f, 0, DT_i64, SET_ALL, 33), DT_bool));
    Val wide = operand(f, 2, DT_f64, E, 33); /* as many lanes as it has */
    Val count = ir_reduce(f, ir_isnan(f, wide), map_all(E));
    ir_add_result(f, "w", ir_cast(f, count, DT_i32));
    check_program("lone lane", f, &plain, (Check){.fill = FILL_nasty});
    ir_free(f);
}

/* ---- random compositions ---- */

typedef struct {
    Fn *f;
    uint64_t state;
    Set set;
    Val pool[24];
    int num;
} Random;

static uint64_t draw(Random *r, uint64_t n) {
    r->state = hash_u64(r->state, 17);
    return r->state % n;
}

enum { MOST_ELEMENTS = 3000 };

static Val pick(Random *r) { return r->pool[draw(r, (uint64_t)r->num)]; }

static Val random_transpose(Random *r, Val v) {
    const Type *t = ir_type(r->f, v);
    int64_t axes[MAX_RANK];
    for (int k = 0; k < t->rank; k++) axes[k] = k;
    for (int k = t->rank - 1; k > 0; k--) {
        int j = (int)draw(r, (uint64_t)k + 1);
        int64_t swap = axes[k];
        axes[k] = axes[j];
        axes[j] = swap;
    }
    return ir_transpose(r->f, v, axes);
}

static Val random_slice(Random *r, Val v) {
    Type t = *ir_type(r->f, v);
    int64_t p[3 * MAX_RANK];
    for (int k = 0; k < t.rank; k++) {
        int64_t n = t.dim[k], start = n ? (int64_t)draw(r, (uint64_t)n) : 0,
                step = 1 + (int64_t)draw(r, 3);
        int64_t most = n > start ? (n - start + step - 1) / step : 0;
        p[3 * k] = start;
        p[3 * k + 1] = most ? most - (int64_t)draw(r, 2) * (most > 1) : 0;
        p[3 * k + 2] = step;
    }
    return ir_slice(r->f, v, p);
}

static Val random_pad(Random *r, Val v) {
    Type t = *ir_type(r->f, v);
    int64_t p[3 * MAX_RANK];
    for (int k = 0; k < 3 * t.rank; k++) p[k] = (int64_t)draw(r, k % 3 == 2 ? 2 : 3);
    return ir_pad(r->f, v, p);
}

static Val random_bcast(Random *r, Val v) {
    Type t = *ir_type(r->f, v);
    int64_t dim[MAX_RANK];
    int grown = t.rank < 4 ? (int)draw(r, 2) : 0;
    dim[0] = 1 + (int64_t)draw(r, 5);
    for (int k = 0; k < t.rank; k++)
        dim[k + grown] = t.dim[k] == 1 ? 1 + (int64_t)draw(r, 20) : t.dim[k];
    return ir_bcast(r->f, v, dim, t.rank + grown);
}

/* Any factorisation of the number of elements into up to three axes. */
static Val random_reshape(Random *r, Val v) {
    int64_t n = type_numel(ir_type(r->f, v)), dim[3] = {1, 1, 1};
    for (int k = 0; k < 2 && n > 0; k++) {
        int64_t d = 1 + (int64_t)draw(r, (uint64_t)(n < 40 ? n : 40));
        while (n % d) d--;
        dim[k] = d;
        n /= d;
    }
    dim[2] = n;
    return ir_reshape(r->f, v, dim, 3);
}

static Val random_concat(Random *r, Val v) {
    Type t = *ir_type(r->f, v);
    if (t.rank == 0) return v;
    int axis = (int)draw(r, (uint64_t)t.rank);
    Val other = ir_neg(r->f, draw(r, 2) ? v : random_slice(r, v));
    Type o = *ir_type(r->f, other);
    for (int k = 0; k < t.rank; k++)
        if (k != axis && o.dim[k] != t.dim[k]) other = v;
    return ir_concat(r->f, (Val[]){v, other, v}, 3, axis);
}

static Val random_fold(Random *r, Val v) {
    Type t = *ir_type(r->f, v);
    uint32_t axes = (uint32_t)draw(r, UINT64_C(1) << t.rank);
    return draw(r, 2) ? ir_fsum(r->f, v, axes) : ir_fmax(r->f, v, axes);
}

static Val random_matmul(Random *r, Val v) {
    Type t = *ir_type(r->f, v);
    if (t.rank < 2 || !dtype_is_float((Dtype)t.dtype)) return v;
    int64_t axes[MAX_RANK];
    for (int k = 0; k < t.rank; k++) axes[k] = k;
    axes[t.rank - 1] = t.rank - 2;
    axes[t.rank - 2] = t.rank - 1;
    Val turned = ir_transpose(r->f, draw(r, 2) ? ir_abs(r->f, v) : v, axes);
    return draw(r, 2) ? ir_matmul(r->f, v, turned) : ir_matmul(r->f, turned, v);
}

static Val random_cumsum(Random *r, Val v) {
    int rank = ir_type(r->f, v)->rank;
    return rank ? ir_cumsum(r->f, v, (int)draw(r, (uint64_t)rank), draw(r, 2)) : v;
}

/* v as indices of that shape, below `rows`. */
static Val indices(Random *r, Val v, int rank, const int64_t *dim, int64_t rows) {
    Type t = *ir_type(r->f, v);
    v = ir_cast(r->f, v, draw(r, 2) ? DT_i32 : DT_i64);
    if (t.rank) v = ir_fmax(r->f, v, (1u << t.rank) - 1);
    v = ir_bcast(r->f, v, dim, rank);
    return ir_mod(r->f, v, ir_const_like(r->f, v, (double)rows));
}

/* Rows of v by a value's elements, or by its largest where those are many. */
static Val random_take(Random *r, Val v) {
    Type t = *ir_type(r->f, v);
    Val by = pick(r);
    Type w = *ir_type(r->f, by);
    if (t.rank == 0 || type_numel(&t) == 0) return v;
    bool many = type_numel(&w) * type_numel(&t) / t.dim[0] > MOST_ELEMENTS || w.rank + t.rank > 6;
    if (many || draw(r, 2)) return ir_take(r->f, v, indices(r, by, 0, NULL, t.dim[0]));
    Val index = ir_cast(r->f, by, DT_i64);
    return ir_take(r->f, v, ir_mod(r->f, index, ir_const_like(r->f, index, (double)t.dim[0])));
}

static Val random_put(Random *r, Val v) {
    Type t = *ir_type(r->f, v);
    int rank = t.rank ? (int)draw(r, (uint64_t)t.rank) : 0;
    int64_t rows = 1 + (int64_t)draw(r, 3);
    if (t.rank > 4 || type_numel(&t) == 0) return v;
    return ir_put(r->f, indices(r, pick(r), rank, t.dim, rows), v, rows);
}

static Val random_elem(Random *r, Val v) {
    Type t = *ir_type(r->f, v);
    Val w = pick(r);
    if (!type_same_shape(ir_type(r->f, w), &t)) w = ir_const_like(r->f, v, 2);
    if (ir_type(r->f, w)->dtype != t.dtype) return ir_neg(r->f, v);
    switch (draw(r, 5)) {
    case 0: return ir_add(r->f, v, w);
    case 1: return ir_sub(r->f, v, w);
    case 2: return ir_mul(r->f, v, w);
    case 3: return ir_max(r->f, v, w);
    default: return ir_where(r->f, ir_lt(r->f, v, w), ir_abs(r->f, v), w);
    }
}

static Val random_step(Random *r) {
    static Val (*const steps[])(Random *, Val) = {
        random_transpose, random_slice, random_pad,    random_bcast, random_reshape,
        random_concat,    random_fold,  random_matmul, random_elem,  random_elem,
        random_cumsum,    random_take,  random_put};
    return steps[draw(r, sizeof steps / sizeof *steps)](r, pick(r));
}

static Val random_input(Random *r, Set s) {
    static const int64_t shapes[][4] = {{3, 2, 3, 4}, {2, 16, 16}, {2, 5, 40},   {1, 300},
                                        {1, 1},       {0},         {2, 17, 1},   {3, 4, 1, 8},
                                        {2, 1, 33},   {2, 0, 3},   {1, 7},       {1, 1000},
                                        {2, 70, 9},   {2, 9, 70},  {3, 2, 33, 5}};
    const int64_t *shape = shapes[draw(r, sizeof shapes / sizeof *shapes)];
    static const Dtype dtypes[] = {DT_f32, DT_f32, DT_f64, DT_i32, DT_i64};
    char name[16];
    snprintf(name, sizeof name, "x%u", r->f->inputs.len);
    return ir_input(r->f, name, type_of(dtypes[draw(r, 5)], s, (int)shape[0], shape + 1));
}

static Fn *random_program(uint64_t seed) {
    Random r = {.f = bipartite(), .state = seed + 1, .set = (Set[]){SET_ALL, V, E, E}[seed % 4]};
    r.pool[r.num++] = random_input(&r, r.set);
    r.pool[r.num++] = random_input(&r, r.set);
    r.pool[r.num++] = ir_const_like(r.f, r.pool[0], 3);
    if (r.set == E) {
        r.pool[r.num++] = ir_gather(r.f, random_input(&r, U), map_src(0));
        r.pool[r.num++] = ir_gather(r.f, random_input(&r, V), map_dst(0));
    }
    if (r.set != SET_ALL) {
        r.pool[r.num] = ir_gather(r.f, random_input(&r, SET_ALL), map_all(r.set));
        r.num++;
    }
    while (r.num < 20) {
        Val v = random_step(&r);
        if (r.f->status) fail_msg("seed %llu: %s", (unsigned long long)seed, err_message());
        if (type_numel(ir_type(r.f, v)) <= MOST_ELEMENTS && ir_type(r.f, v)->rank <= 5)
            r.pool[r.num++] = v;
    }
    for (int k = r.num - 3; k < r.num; k++) {
        char name[16];
        snprintf(name, sizeof name, "y%d", k);
        ir_add_result(r.f, name, r.pool[k]);
    }
    return r.f;
}

static void random_features(void **state) {
    (void)state;
    const char *from = getenv("FIRST_SEED"), *count = getenv("NUM_SEEDS");
    uint64_t first = from ? strtoull(from, NULL, 10) : 0,
             num = count ? strtoull(count, NULL, 10) : 160;
    for (uint64_t seed = first; seed < first + num; seed++) {
        char what[32];
        snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
        Fn *f = random_program(seed);
        check_program(what, f, &plain, (Check){.fill = FILL_nasty, .odd = seed / 4 % 2});
        check_program(what, f, &plain, (Check){.fill = FILL_noise, .odd = seed / 4 % 2});
        ir_free(f);
    }
}

/* A sum of -0 alone is -0, whatever the lanes without an element hold. */
static void sums_of_minus_zero(void **state) {
    (void)state;
    for (int64_t n = 1; n < 40; n += 2)
        for (int d = DT_f32; d <= DT_f64; d++) {
            Fn *f = bipartite();
            Val x = operand(f, 0, (Dtype)d, V, n);
            Val zeros = ir_neg(f, ir_cast(f, ir_lt(f, x, x), (Dtype)d));
            ir_add_result(f, "y", ir_fsum(f, zeros, 1));
            check_program("sum of -0", f, &plain, (Check){.fill = FILL_noise});
            ir_free(f);
        }
}

/* A run of elements that ends one row of a transpose and begins the next is no walk along an axis. */
static void runs_across_rows(void **state) {
    (void)state;
    static const int64_t swap[] = {1, 0}, flat[] = {6};
    for (int64_t first = 0; first < 5; first++)
        for (int64_t count = 1; first + count <= 6; count++) {
            Fn *f = bipartite();
            Val x = ir_input(f, "x", type_of(DT_f32, V, 2, (int64_t[]){2, 3}));
            Val row = ir_reshape(f, ir_transpose(f, x, swap), flat, 1);
            Val run = ir_slice(f, row, (int64_t[]){first, count, 1});
            ir_add_result(f, "y", ir_add(f, run, run));
            check_program("run", f, &plain, (Check){.fill = FILL_noise});
            ir_free(f);
        }
}

/* Dense values far beyond a stack. */
static void large_dense_values(void **state) {
    (void)state;
    Fn *f = bipartite();
    Val a = ir_input(f, "a", type_of(DT_f32, SET_ALL, 2, (int64_t[]){700, 900}));
    Val b = ir_input(f, "b", type_of(DT_f32, SET_ALL, 2, (int64_t[]){700, 900}));
    Val sum = ir_add(f, a, b), turned = ir_transpose(f, sum, (int64_t[]){1, 0});
    Val top = ir_fmax(f, turned, 1), wide = ir_bcast(f, top, (int64_t[]){900, 700}, 2);
    ir_add_result(f, "shift", ir_sub(f, ir_transpose(f, turned, (int64_t[]){1, 0}), a));
    ir_add_result(f, "rest", ir_sub(f, turned, wide));
    ir_add_result(f, "pair", ir_concat(f, (Val[]){turned, wide}, 2, 1));
    Val cut = ir_slice(f, sum, (int64_t[]){0, 40, 1, 0, 900, 1});
    ir_add_result(f, "square", ir_matmul(f, cut, ir_transpose(f, cut, (int64_t[]){1, 0})));
    check_program("large", f, &plain, (Check){.fill = FILL_noise});
    check_program("large", f, &plain, (Check){.fill = FILL_noise, .odd = true});
    ir_free(f);
}

/* Work that is cut into shares: every kind of loop over pieces, with pieces left over, and what is no loop. */
static Fn *program_of_shares(Dtype d, int64_t rows) {
    Fn *f = bipartite();
    Val x = ir_input(f, "x", type_of(d, SET_ALL, 2, (int64_t[]){rows, 333}));
    Val w = ir_input(f, "w", type_of(d, SET_ALL, 2, (int64_t[]){333, 37}));
    Val stack = ir_input(f, "stack", type_of(d, SET_ALL, 3, (int64_t[]){7, 21, 45}));
    Val wide = ir_bcast(f, ir_fmax(f, x, 2), (int64_t[]){333, rows}, 2);
    Val below = ir_exp(f, ir_sub(f, x, ir_transpose(f, wide, (int64_t[]){1, 0})));
    ir_add_result(f, "product", ir_matmul(f, x, w));
    ir_add_result(f, "turned",
                  ir_matmul(f, ir_transpose(f, w, (int64_t[]){1, 0}),
                            ir_transpose(f, below, (int64_t[]){1, 0})));
    ir_add_result(f, "stacked", ir_matmul(f, stack, ir_transpose(f, stack, (int64_t[]){0, 2, 1})));
    ir_add_result(f, "column", ir_matmul(f, x, ir_slice(f, w, (int64_t[]){0, 333, 1, 5, 1, 1})));
    ir_add_result(f, "over rows", ir_fsum(f, below, 1));
    ir_add_result(f, "over columns", ir_fsum(f, below, 2));
    ir_add_result(f, "few", ir_fsum(f, stack, 6));
    ir_add_result(f, "share",
                  ir_div(f, x, ir_bcast(f, ir_fsum(f, below, 3), (int64_t[]){rows, 333}, 2)));
    ir_add_result(f, "pair", ir_concat(f, (Val[]){below, x}, 2, 1));
    ir_add_result(f, "running", ir_cumsum(f, below, 1, false));
    ir_add_result(f, "positive", ir_lt(f, ir_neg(f, x), below));
    return f;
}

static void in_shares(void **state) {
    (void)state;
    for (int d = DT_f32; d <= DT_f64; d++)
        for (int threads = 1; threads < 4; threads += 2)
            for (int odd = 0; odd < 2; odd++) {
                Fn *f = program_of_shares((Dtype)d, 400 - 13 * odd);
                pool_set_num_threads(threads);
                check_program("shares", f, &plain, (Check){.fill = FILL_noise, .odd = odd});
                pool_set_num_threads(0);
                ir_free(f);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation),       cmocka_unit_test(every_cast),
        cmocka_unit_test(a_lone_lane_of_a_cast), cmocka_unit_test(random_features),
        cmocka_unit_test(sums_of_minus_zero),    cmocka_unit_test(runs_across_rows),
        cmocka_unit_test(large_dense_values),    cmocka_unit_test(in_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
