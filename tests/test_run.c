/* Execution with hand-written kernels in the generator's place: chunks, split rows, slots, threads,
 * bindings of every kind, dead kernels, interrupts. */
#include "fake_kernels.h"

/* ---- bits ---- */

static void same_bits_on_any_number_of_threads(void **state) {
    static const int threads[] = {1, 2, 3, 8};
    World w = world_new(30000, 17, 100000);
    Prog p = weighted_prog();
    Results first = results_new(&w), r = results_new(&w);
    (void)state;
    for (int k = 0; k < 4; k++) {
        Results *to = k ? &r : &first;
        pool_set_num_threads(threads[k]);
        assert_int_equal(run(&p, &w, to), ST_OK);
        if (!k) continue;
        assert_memory_equal(r.out, first.out, (size_t)(w.nodes * F) * sizeof(float));
        assert_memory_equal(r.out2, first.out2, (size_t)w.nodes * sizeof(double));
        assert_memory_equal(&r.total, &first.total, sizeof r.total);
    }
    check_results(&w, &first);
    assert_int_equal(atomic_load(&compiles), 1);
    assert_int_equal(atomic_load(&ends), 4);
    assert_true(seen_has_edge);
    assert_false(seen_wide);
    ExecStats stats = exec_stats(p.exec);
    assert_int_equal(stats.misses, 1);
    assert_int_equal(stats.hits, 3);
    results_free(&first), results_free(&r);
    prog_free(&p);
    world_free(&w);
}

static void hubs_first_last_and_alone(void **state) {
    static const struct {
        int64_t nodes, hub, edges;
    } cases[] = {{100, 0, 40000},     {100, 99, 40000},        {1, 0, 40000},
                 {9, 4, CHUNK_EDGES}, {9, 4, CHUNK_EDGES + 1}, {9, 4, 0}};
    Prog p = weighted_prog();
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        World w = world_new(cases[k].nodes, cases[k].hub, cases[k].edges);
        Results r = results_new(&w);
        pool_set_num_threads(2);
        assert_int_equal(run(&p, &w, &r), ST_OK);
        check_results(&w, &r);
        results_free(&r);
        world_free(&w);
    }
    prog_free(&p);
}

static void nothing_to_do_still_ends(void **state) {
    static const int64_t nodes[] = {0, 1, 5};
    Prog p = weighted_prog();
    (void)state;
    for (int k = 0; k < 3; k++) {
        IndexArray none = {NULL, 0, 4, false};
        World w = {.nodes = nodes[k], .size = {1, nodes[k], 0}};
        assert_int_equal(graph_from_coo(&none, &none, nodes[k], nodes[k], false, &w.graph), ST_OK);
        w.x = calloc((size_t)(nodes[k] * F) + 1, sizeof *w.x);
        w.w = calloc(1, sizeof *w.w);
        Results r = results_new(&w);
        atomic_store(&ends, 0);
        assert_int_equal(run(&p, &w, &r), ST_OK);
        assert_int_equal(atomic_load(&ends), 1);
        assert_true(r.total == 0);
        for (int64_t i = 0; i < nodes[k] * F; i++) assert_true(r.out[i] == 0);
        results_free(&r);
        world_free(&w);
    }
    prog_free(&p);
}

/* ---- bindings ---- */

static void strides_choose_the_layout(void **state) {
    World w = world_new(50, 3, 100);
    Prog p = weighted_prog();
    Results r = results_new(&w);
    Domain d = domain_of(&w);
    (void)state;
    /* features reversed: strided, and another variant */
    Array x = rows_of(w.x, DT_f32, w.nodes, F);
    x.data = w.x + F - 1;
    x.stride[1] = -4;
    Array in[] = {x, rows_of(w.w, DT_f32, w.edges, 0)};
    Array out[] = {rows_of(r.out, DT_f32, w.nodes, F), rows_of(r.out2, DT_f64, w.nodes, 0),
                   scalar_of(&r.total)};
    assert_int_equal(exec_run(p.exec, &d, in, out), ST_OK);
    assert_int_equal(seen_layout[0], LAYOUT_strided);
    for (int64_t i = 0; i < w.nodes; i++) {
        float swap = w.x[i * F];
        w.x[i * F] = w.x[i * F + 2], w.x[i * F + 2] = swap;
    }
    check_results(&w, &r);
    /* one row for all nodes: dense rows */
    in[0] = rows_of(w.x, DT_f32, w.nodes, F);
    in[0].stride[0] = 0;
    assert_int_equal(exec_run(p.exec, &d, in, out), ST_OK);
    assert_int_equal(seen_layout[0], LAYOUT_rows);
    for (int64_t i = 1; i < w.nodes; i++) memcpy(w.x + i * F, w.x, F * sizeof *w.x);
    check_results(&w, &r);
    assert_int_equal(atomic_load(&compiles), 2);
    assert_int_equal(exec_request(p.exec, 0).layout[0], LAYOUT_rows);
    results_free(&r);
    prog_free(&p);
    world_free(&w);
}

static void outputs_of_any_stride_and_place(void **state) {
    World w = world_new(3000, 3, 40000);
    Prog p = weighted_prog();
    Results r = results_new(&w), plain = results_new(&w);
    Domain d = domain_of(&w);
    (void)state;
    assert_int_equal(run(&p, &w, &plain), ST_OK);
    /* column major and backwards */
    Array in[] = {rows_of(w.x, DT_f32, w.nodes, F), rows_of(w.w, DT_f32, w.edges, 0)};
    Array out[] = {rows_of(r.out, DT_f32, w.nodes, F), rows_of(r.out2, DT_f64, w.nodes, 0),
                   scalar_of(&r.total)};
    out[0].stride[0] = -4;
    out[0].stride[1] = 4 * w.nodes;
    out[0].data = r.out + w.nodes - 1;
    assert_int_equal(exec_run(p.exec, &d, in, out), ST_OK);
    for (int64_t i = 0; i < w.nodes; i++)
        for (int k = 0; k < F; k++)
            assert_true(r.out[(k + 1) * w.nodes - 1 - i] == plain.out[i * F + k]);
    /* misaligned */
    char *bytes = malloc((size_t)(w.nodes * F) * 4 + 1);
    out[0] = rows_of(bytes + 1, DT_f32, w.nodes, F);
    assert_int_equal(exec_run(p.exec, &d, in, out), ST_OK);
    assert_memory_equal(bytes + 1, plain.out, (size_t)(w.nodes * F) * 4);
    free(bytes);
    /* onto its own input */
    out[0] = in[0];
    assert_int_equal(exec_run(p.exec, &d, in, out), ST_OK);
    assert_memory_equal(w.x, plain.out, (size_t)(w.nodes * F) * 4);
    assert_int_equal(atomic_load(&compiles), 1);
    results_free(&r), results_free(&plain);
    prog_free(&p);
    world_free(&w);
}

static void wrong_arrays_are_refused_untouched(void **state) {
    World w = world_new(50, 3, 100);
    Prog p = weighted_prog();
    Results r = results_new(&w);
    Domain d = domain_of(&w);
    (void)state;
    for (int k = 0; k < 5; k++) {
        Array in[] = {rows_of(w.x, DT_f32, w.nodes, F), rows_of(w.w, DT_f32, w.edges, 0)};
        Array out[] = {rows_of(r.out, DT_f32, w.nodes, F), rows_of(r.out2, DT_f64, w.nodes, 0),
                       scalar_of(&r.total)};
        Status want = ST_SHAPE;
        w.size[1] = w.nodes;
        if (k == 0) in[1].dim[0]--;
        if (k == 1) in[0].dtype = DT_i32, want = ST_TYPE;
        if (k == 2) out[1].dim[0]++;
        if (k == 3) in[0].data = NULL, want = ST_NAME;
        if (k == 4) {
            w.size[1] = in[0].dim[0] = out[0].dim[0] = out[1].dim[0] = w.nodes - 1;
            want = ST_INVAL;
        }
        assert_int_equal(exec_run(p.exec, &d, in, out), want);
        const char *names[] = {"edge.w", "src.x", "out2", "src.x", "'r'"};
        assert_non_null(strstr(err_message(), names[k]));
        assert_true(r.total == -1);
    }
    results_free(&r);
    prog_free(&p);
    world_free(&w);
}

/* ---- several kernels ---- */

static void add_rowwise(Prog *p, const char *x, const char *y, const char *out) {
    Fn *f = ir_new_like(arena_new(), p->f, "rowwise");
    Set v = ir_set(f, "V");
    Val a = ir_input(f, x, type_scalar(DT_f64, v)), b = ir_input(f, y, type_scalar(DT_i64, v));
    ir_add_result(f, out, ir_sub(f, a, ir_cast(f, b, DT_f64)));
    add_kernel(p, f, v, MAP_NONE, 0, false);
}

/* t.0 = x + degree in; a = t.0 + degree out; b = t.0 + n; unused = b + n. */
static Prog chain_prog(void) {
    Fn *f = ir_new(arena_new(), "chain");
    Set v = ir_set(f, "V");
    ir_relation(f, "r", v, v);
    Val x = ir_input(f, "x", type_scalar(DT_f64, v));
    ir_input(f, "n", type_scalar(DT_i64, v));
    ir_add_result(f, "a", x);
    ir_add_result(f, "b", ir_neg(f, x));
    ir_add_result(f, "c", ir_abs(f, x));
    Prog p = {.f = f, .plan = plan_new(f)};
    add_rowwise(&p, "x", "degree.r.dst", "t.0");
    add_rowwise(&p, "t.0", "degree.r.src", "a");
    add_rowwise(&p, "t.0", "n", "b");
    add_rowwise(&p, "b", "n", "c");
    p.exec = exec_new(p.plan, false);
    return p;
}

static void kernels_hand_on_and_dead_ones_rest(void **state) {
    enum { N = 5000 };
    World w = world_new(N, 3, 100);
    Prog p = chain_prog();
    Domain d = domain_of(&w);
    double *x = malloc(N * sizeof *x), *got[3];
    int64_t *n = malloc(N * sizeof *n), *in = calloc(N, sizeof *in), *out = calloc(N, sizeof *out);
    (void)state;
    for (int i = 0; i < N; i++) x[i] = i, n[i] = 3 * i;
    for (int64_t e = 0; e < w.edges; e++) in[w.dst[e]]++, out[w.src[e]]++;
    for (int k = 0; k < 3; k++) got[k] = calloc(N, sizeof(double));
    for (int bound = 0; bound < 8; bound++) {
        Array inputs[] = {rows_of(x, DT_f64, N, 0), rows_of(n, DT_i64, N, 0)}, outputs[3];
        for (int k = 0; k < 3; k++) {
            memset(got[k], 0, N * sizeof(double));
            outputs[k] = rows_of(bound >> k & 1 ? got[k] : NULL, DT_f64, N, 0);
        }
        atomic_store(&ends, 0);
        assert_int_equal(exec_run(p.exec, &d, inputs, outputs), ST_OK);
        bool a = bound & 1, b = bound & 2, c = bound & 4;
        assert_int_equal(atomic_load(&ends), (a || b || c) + a + (b || c) + c);
        for (int64_t i = 0; i < N; i++) {
            double t = x[i] + (double)in[i], y = t + (double)n[i];
            assert_true(got[0][i] == (a ? t + (double)out[i] : 0));
            assert_true(got[1][i] == (b ? y : 0));
            assert_true(got[2][i] == (c ? y + (double)n[i] : 0));
        }
    }
    assert_int_equal(atomic_load(&compiles), 1); /* four kernels of one structure */
    for (int k = 0; k < 3; k++) free(got[k]);
    free(x), free(n), free(in), free(out);
    prog_free(&p);
    world_free(&w);
}

static void size_of_a_set_is_an_input(void **state) {
    Fn *f = ir_new(arena_new(), "size");
    ir_set(f, "V");
    Val x = ir_input(f, "x", type_scalar(DT_f64, SET_ALL));
    ir_add_result(f, "out", x);
    Prog p = {.f = f, .plan = plan_new(f)};
    Fn *body = ir_new_like(arena_new(), f, "body");
    Val a = ir_input(body, "x", type_scalar(DT_f64, SET_ALL));
    Val n = ir_input(body, "size.V", type_scalar(DT_i64, SET_ALL));
    ir_add_result(body, "out", ir_add(body, a, ir_cast(body, n, DT_f64)));
    add_kernel(&p, body, SET_ALL, MAP_NONE, 0, false);
    p.exec = exec_new(p.plan, false);
    int64_t size[] = {1, 77};
    Domain d = {.set_size = size};
    double x_data = 0.5, out_data = 0;
    Array in = scalar_of(&x_data), out = scalar_of(&out_data);
    (void)state;
    assert_int_equal(exec_run(p.exec, &d, &in, &out), ST_OK);
    assert_true(out_data == 77.5);
    prog_free(&p);
}

/* ---- interrupts, memory ---- */

static bool say_yes(void *ctx) {
    (void)ctx;
    return true;
}

static void interrupt_ends_a_call(void **state) {
    World w = world_new(30000, 17, 100000);
    Prog p = weighted_prog();
    Results r = results_new(&w);
    (void)state;
    assert_int_equal(run(&p, &w, &r), ST_OK);
    pool_set_poll(say_yes, NULL);
    BufStats before = buf_stats();
    assert_int_equal(run(&p, &w, &r), ST_INTR);
    assert_int_equal(buf_stats().used, before.used);
    pool_set_poll(NULL, NULL);
    assert_int_equal(run(&p, &w, &r), ST_OK);
    check_results(&w, &r);
    results_free(&r);
    prog_free(&p);
    world_free(&w);
}

static Status exec_new_in_guard(void *ctx) {
    Prog *p = ctx;
    p->exec = exec_new(p->plan, false);
    return ST_OK;
}

static void failing_allocations_leave_all_well(void **state) {
    World w = world_new(100, 0, 40000);
    Prog p = weighted_prog();
    Results r = results_new(&w);
    Status status = ST_NOMEM;
    const Csr *csr;
    (void)state;
    exec_free(p.exec);
    assert_int_equal(graph_csr(w.graph, true, &csr), ST_OK);
    buf_trim();
    int64_t live = mem_live();
    for (int64_t n = 1; status; n++) {
        p.exec = NULL;
        mem_fail_at(n);
        status = guard_run(exec_new_in_guard, &p);
        if (!status) status = run(&p, &w, &r);
        mem_fail_at(0);
        if (status) assert_int_equal(status, ST_NOMEM);
        else check_results(&w, &r);
        exec_free(p.exec);
        variant_clear();
        buf_trim();
        assert_int_equal(mem_live(), live);
    }
    p.exec = NULL;
    results_free(&r);
    prog_free(&p);
    world_free(&w);
}

static void buffers_are_aligned_kept_and_trimmed(void **state) {
    static const size_t sizes[] = {0, 1, 63, 64, 65, 1000, 4097, 1 << 20, (4 << 20) + 5};
    (void)state;
    buf_trim();
    buf_set_cap((size_t)64 << 20);
    BufStats before = buf_stats();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        char *p = buf_alloc(sizes[k], "p");
        assert_int_equal((uintptr_t)p % 64, 0);
        memset(p, 1, sizes[k]);
        buf_free(p);
        assert_ptr_equal(buf_alloc(sizes[k], "p"), p);
        buf_free(p);
        BufStats s = buf_stats();
        assert_true(s.kept <= (int64_t)(sizes[k] * 5 / 4 + 64) + (int64_t)(8 << 20));
    }
    assert_int_equal(buf_stats().used, before.used);
    assert_true(buf_stats().kept > 0);
    buf_set_cap(1024);
    assert_true(buf_stats().kept <= 1024);
    char *large = buf_alloc(1 << 20, "large");
    buf_free(large);
    assert_true(buf_stats().kept <= 1024);
    buf_trim();
    assert_int_equal(buf_stats().kept, 0);
    assert_null(buf_alloc((size_t)1 << 50, "the moon"));
    assert_int_equal(err_status(), ST_NOMEM);
    assert_non_null(strstr(err_message(), "the moon"));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(same_bits_on_any_number_of_threads),
        TEST(hubs_first_last_and_alone),
        TEST(nothing_to_do_still_ends),
        TEST(strides_choose_the_layout),
        TEST(outputs_of_any_stride_and_place),
        TEST(wrong_arrays_are_refused_untouched),
        TEST(kernels_hand_on_and_dead_ones_rest),
        TEST(size_of_a_set_is_an_input),
        TEST(interrupt_ends_a_call),
        TEST(failing_allocations_leave_all_well),
        TEST(buffers_are_aligned_kept_and_trimmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
