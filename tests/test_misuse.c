/* tiga.h and tiga_ops.h used wrongly: each function is given NULL, counts and ranks that are none, and arrays that it
 * cannot use. In: nothing. Held against: the status, and what the message says. Under the sanitizers this also
 * shows that nothing was read. */
#include "tiga/tiga.h"
#include "tiga/tiga_ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const int64_t row_ptr[] = {0, 2, 3, 5}, col_idx[] = {0, 2, 1, 0, 1};
static float x[3], w[5], out[3];

typedef struct {
    tg_graph *g;
    tg_program *p, *typed;
} Things;

static void open_things(Things *t) {
    const tg_arg args[] = {{"src.x", tg_f32(x, 3)}, {"edge.w", tg_f32(w, 5)}};
    x[0] = 1, x[1] = 2, x[2] = 3;
    for (int e = 0; e < 5; e++) w[e] = 1;
    t->g = tg_graph_csr(3, 3, row_ptr, col_idx);
    t->p = tg_program_new("out = sum(edge.w * src.x)");
    t->typed = tg_program_typed(t->p, args, 2);
    assert_non_null(t->typed);
}

static void close_things(Things *t) {
    tg_program_free(t->typed);
    tg_program_free(t->p);
    tg_graph_free(t->g);
}

/* The record says so, and is emptied for the next one. */
static void refused(bool is_refused, const char *call, tg_status status, const char *message) {
    if (!is_refused || tg_errcode() != status || !strstr(tg_errmsg(), message))
        fail_msg("%s: %s, status %d, '%s'; expected %d, '%s'", call,
                 is_refused ? "refused" : "accepted", tg_errcode(), tg_errmsg(), status, message);
    tg_errclear();
}
#define NO_HANDLE(call, status, message) refused(!(call), #call, status, message)
#define REFUSED(call, status, message) refused((call) == (status), #call, status, message)

/* ---- graphs ---- */

static tg_array with_rank(tg_array a, int rank) {
    a.rank = rank;
    return a;
}

static tg_array with_length(tg_array a, int64_t length) {
    a.shape[0] = length;
    return a;
}

static void test_graphs_of_arrays(void **state) {
    (void)state;
    const int64_t negative[] = {0, -1}, huge[] = {0, INT64_MAX};
    NO_HANDLE(tg_graph_csr(3, 3, NULL, col_idx), TG_EINVAL, "row_ptr is NULL");
    NO_HANDLE(tg_graph_csr(3, 3, row_ptr, NULL), TG_EINVAL, "col_idx is NULL");
    NO_HANDLE(tg_graph_csr(-1, 3, row_ptr, col_idx), TG_EINVAL, "num_dst is -1");
    NO_HANDLE(tg_graph_csr(INT64_MAX, 3, row_ptr, col_idx), TG_EINVAL, "num_dst");
    NO_HANDLE(tg_graph_csr(3, -3, row_ptr, col_idx), TG_EINVAL, "num_src is -3");
    NO_HANDLE(tg_graph_csr(1, 3, negative, col_idx), TG_EINVAL, "a count cannot be negative");
    NO_HANDLE(tg_graph_csr(1, 3, huge, col_idx), TG_ENOMEM, "9223372036854775807 entries");
    NO_HANDLE(tg_graph_coo(3, 3, 5, NULL, col_idx), TG_EINVAL, "src is NULL");
    NO_HANDLE(tg_graph_coo(3, 3, 5, col_idx, NULL), TG_EINVAL, "dst is NULL");
    NO_HANDLE(tg_graph_coo(3, 3, -5, col_idx, col_idx), TG_EINVAL, "num_edges -5");
    NO_HANDLE(tg_graph_coo(INT64_MAX, 3, 5, col_idx, col_idx), TG_ENOMEM, "row_ptr");
    NO_HANDLE(tg_graph_regular(3, -2), TG_EINVAL, "degree: -2");
    NO_HANDLE(tg_graph_regular(INT64_MAX, 2), TG_ENOMEM, "more edges than can be counted");
}

static void test_graphs_of_described_arrays(void **state) {
    (void)state;
    const tg_array rows = tg_i64(row_ptr, 4), cols = tg_i64(col_idx, 5);
    NO_HANDLE(tg_graph_from_csr(with_rank(rows, -1), cols, 3, false), TG_ETYPE, "row_ptr: rank -1");
    NO_HANDLE(tg_graph_from_csr(rows, with_rank(cols, 100), 3, false), TG_ETYPE, "col_idx: rank");
    NO_HANDLE(tg_graph_from_csr(tg_f64(NULL, 4), cols, 3, false), TG_ETYPE, "row_ptr: its dtype");
    NO_HANDLE(tg_graph_from_csr(tg_i64(NULL, 4), cols, 3, false), TG_EINVAL, "row_ptr: data is");
    NO_HANDLE(tg_graph_from_csr(rows, with_length(cols, -5), 3, false), TG_EINVAL, "length -5");
    NO_HANDLE(tg_graph_from_csr(rows, cols, -2, false), TG_EINVAL,
              "num_src is -2, expected a count");
    NO_HANDLE(tg_graph_from_coo(cols, cols, 3, -2, false), TG_EINVAL, "num_dst is -2, expected a");
    NO_HANDLE(tg_graph_from_coo(cols, rows, -1, -1, false), TG_ESHAPE, "5 entries, dst has 4");
    NO_HANDLE(tg_graph_from_edge_index(cols, 3, 3, false), TG_ETYPE, "edge_index: rank 1");
    NO_HANDLE(tg_graph_from_edge_index(tg_i64(col_idx, 2, 2), 3, -9, false), TG_EINVAL, "is -9");
    NO_HANDLE(tg_graph_from_edge_index(tg_i64(col_idx, 5, 2), 3, 3, false), TG_ESHAPE,
              "transposed?");
}

static void test_reading_graphs(void **state) {
    (void)state;
    int64_t a[8], b[8];
    Things t;
    open_things(&t);
    const tg_graph *const some[] = {t.g, NULL};
    NO_HANDLE(tg_graph_cat(NULL, 2), TG_EINVAL, "graphs is NULL");
    NO_HANDLE(tg_graph_cat(some, 2), TG_EINVAL, "graph is NULL");
    NO_HANDLE(tg_graph_transpose(NULL), TG_EINVAL, "graph is NULL");
    NO_HANDLE(tg_graph_sorted(NULL, NULL), TG_EINVAL, "graph is NULL");
    NO_HANDLE(tg_graph_add_self_loops(NULL), TG_EINVAL, "graph is NULL");
    NO_HANDLE(tg_graph_explain(NULL), TG_EINVAL, "graph is NULL");
    REFUSED(tg_graph_edges(NULL, a, b), TG_EINVAL, "graph is NULL");
    REFUSED(tg_graph_edges(t.g, a, NULL), TG_EINVAL, "dst is NULL");
    REFUSED(tg_graph_rows(t.g, NULL, b, NULL), TG_EINVAL, "row_ptr is NULL");
    REFUSED(tg_graph_rows(t.g, a, NULL, NULL), TG_EINVAL, "col_idx is NULL");
    REFUSED(tg_graph_degrees(NULL, a, b), TG_EINVAL, "graph is NULL");
    REFUSED(tg_graph_self_loops(t.g, NULL), TG_EINVAL, "count is NULL");
    assert_int_equal(tg_graph_num_src(NULL) + tg_graph_num_dst(NULL) + tg_graph_num_edges(NULL), 0);
    assert_string_equal(tg_graph_findings(NULL), "");
    assert_false(tg_graph_equal(NULL, t.g));
    tg_graph *empty = tg_graph_coo(3, 3, 0, NULL, NULL);
    assert_int_equal(tg_graph_edges(empty, NULL, NULL), TG_OK);
    assert_int_equal(tg_graph_rows(empty, a, NULL, NULL), TG_OK);
    tg_graph_free(empty);
    close_things(&t);
}

/* ---- programs ---- */

static void test_making_programs(void **state) {
    (void)state;
    Things t;
    tg_end end;
    tg_program *f = NULL, *b = NULL;
    open_things(&t);
    NO_HANDLE(tg_program_new(NULL), TG_EINVAL, "formula is NULL");
    NO_HANDLE(tg_program_parse(NULL), TG_EINVAL, "text is NULL");
    NO_HANDLE(tg_program_parse(""), TG_ESYNTAX, "1:1: ");
    NO_HANDLE(tg_program_grad(NULL, "out", "src.x"), TG_EINVAL, "program is NULL");
    NO_HANDLE(tg_program_grad(t.p, NULL, "src.x"), TG_EINVAL, "outs is NULL");
    NO_HANDLE(tg_program_grad(t.p, "out", NULL), TG_EINVAL, "wrt is NULL");
    NO_HANDLE(tg_program_typed(NULL, NULL, 0), TG_EINVAL, "program is NULL");
    NO_HANDLE(tg_program_typed(t.p, NULL, 3), TG_EINVAL, "args is NULL");
    REFUSED(tg_program_input(t.typed, 2, &end), TG_ERANGE, "input 2: the program has 2");
    REFUSED(tg_program_input(t.typed, 0, NULL), TG_EINVAL, "end is NULL");
    REFUSED(tg_program_result(t.p, 0, &end), TG_EINVAL, "no types yet");
    REFUSED(tg_program_split(t.p, "", &f, &b), TG_EINVAL, "no types yet");
    REFUSED(tg_program_split(t.typed, NULL, &f, &b), TG_EINVAL, "keep is NULL");
    REFUSED(tg_program_split(t.typed, "", &f, NULL), TG_EINVAL, "backward is NULL");
    REFUSED(tg_program_split(t.typed, "loss", &f, &b), TG_ENAME, "no result 'loss'");
    assert_true(!f && !b);
    close_things(&t);
}

static void test_running(void **state) {
    (void)state;
    Things t;
    open_things(&t);
    const tg_arg args[] = {{"src.x", tg_f32(x, 3)}, {"edge.w", tg_f32(w, 5)}};
    const tg_arg shapeless[] = {{"src.x", tg_dense(x, TG_FLOAT32, 1, NULL)}, args[1]};
    const tg_arg nameless[] = {args[0], args[1], {NULL, tg_f32(out, 3)}};
    REFUSED(tg_run(NULL, t.g, args, 2), TG_EINVAL, "program is NULL");
    REFUSED(tg_run(t.p, NULL, args, 2), TG_EINVAL, "graph is NULL");
    REFUSED(tg_run(t.p, t.g, NULL, 2), TG_EINVAL, "args is NULL");
    REFUSED(tg_reference(t.p, t.g, NULL, 2), TG_EINVAL, "args is NULL");
    REFUSED(tg_run(t.p, t.g, NULL, 0), TG_ENAME, "passed: nothing");
    REFUSED(tg_run(t.p, t.g, shapeless, 2), TG_ESHAPE, "argument 'src.x': rank -1");
    REFUSED(tg_run(t.p, t.g, nameless, 3), TG_ENAME, "an argument without a name");
    NO_HANDLE(tg_bind(t.p, t.g, NULL, 2), TG_EINVAL, "args is NULL");
    NO_HANDLE(tg_bind(NULL, t.g, args, 2), TG_EINVAL, "program is NULL");
    REFUSED(tg_call_run(NULL), TG_EINVAL, "call is NULL");
    REFUSED(tg_call_set(NULL, 0, x), TG_EINVAL, "call is NULL");
    tg_call_free(NULL);
    close_things(&t);
}

/* The call keeps its program; an output without data waits for tg_call_set. */
static void test_a_call_that_is_bound_late(void **state) {
    (void)state;
    Things t;
    open_things(&t);
    const tg_arg args[] = {
        {"src.x", tg_f32(x, 3)}, {"edge.w", tg_f32(w, 5)}, {"out", tg_f32(NULL, 3)}};
    tg_call *call = tg_bind(t.p, t.g, args, 3);
    tg_program_free(t.typed);
    tg_program_free(t.p);
    assert_int_equal(tg_call_run(call), TG_OK);
    REFUSED(tg_call_set(call, 2, NULL), TG_EINVAL, "argument 2: data is NULL");
    REFUSED(tg_call_set(call, 3, out), TG_ERANGE, "argument 3: the call has 3");
    assert_int_equal(tg_call_set(call, 2, out), TG_OK);
    assert_int_equal(tg_call_run(call), TG_OK);
    assert_true(out[0] == 4 && out[1] == 2 && out[2] == 3);
    assert_int_equal(tg_call_set(call, 2, x), TG_OK); /* inputs are read before */
    assert_int_equal(tg_call_run(call), TG_OK);
    assert_true(x[0] == 4 && x[1] == 2 && x[2] == 3);
    tg_call_free(call);
    tg_graph_free(t.g);
}

static void *give_nothing(void *ctx, size_t size) { return (void)ctx, (void)size, NULL; }

static void test_looking_inside(void **state) {
    (void)state;
    Things t;
    tg_cost cost;
    open_things(&t);
    NO_HANDLE(tg_ir(NULL, "iter"), TG_EINVAL, "program is NULL");
    NO_HANDLE(tg_ir(t.typed, NULL), TG_EINVAL, "stage is NULL");
    NO_HANDLE(tg_ir(t.typed, "llvm"), TG_ENAME, "no stage 'llvm' (domain,");
    NO_HANDLE(tg_ir(t.p, "iter"), TG_EINVAL, "nothing was called yet");
    NO_HANDLE(tg_code(t.typed, NULL), TG_EINVAL, "kind is NULL");
    NO_HANDLE(tg_code(t.typed, "iter"), TG_ENAME, "no code kind 'iter'");
    NO_HANDLE(tg_explain(t.p), TG_EINVAL, "nothing was called yet");
    REFUSED(tg_program_cost(t.typed, NULL, &cost), TG_EINVAL, "graph is NULL");
    REFUSED(tg_program_cost(t.typed, t.g, NULL), TG_EINVAL, "cost is NULL");
    REFUSED(tg_program_stats(t.p, NULL), TG_EINVAL, "stats is NULL");
    REFUSED(tg_set_allocator(give_nothing, NULL, NULL), TG_EINVAL, "release is NULL");
    close_things(&t);
}

/* Only a handle that Tiga would have given lets an older message through. */
static void test_old_messages(void **state) {
    (void)state;
    Things t;
    tg_cost cost;
    open_things(&t);
    tg_graph *none = tg_graph_regular(-1, 2);
    assert_int_equal(tg_run(t.p, none, NULL, 0), TG_EINVAL);
    assert_non_null(strstr(tg_errmsg(), "num_nodes: -1"));
    REFUSED(tg_program_cost(t.typed, t.g, NULL), TG_EINVAL, "cost is NULL");
    none = tg_graph_regular(-1, 2);
    REFUSED(tg_run(t.p, t.g, NULL, 2), TG_EINVAL, "args is NULL");
    assert_int_equal(tg_program_cost(t.typed, t.g, &cost), TG_OK);
    close_things(&t);
}

/* ---- the process ---- */

static bool stop(void *ctx) {
    ++*(int *)ctx;
    return true;
}

static void test_poll(void **state) {
    (void)state;
    int asked = 0;
    Things t;
    open_things(&t);
    const tg_arg args[] = {
        {"src.x", tg_f32(x, 3)}, {"edge.w", tg_f32(w, 5)}, {"out", tg_f32(out, 3)}};
    tg_call *call = tg_bind(t.p, t.g, args, 3);
    tg_set_poll(stop, &asked); /* which is asked at once, then after a while */
    REFUSED(tg_run(t.p, t.g, args, 3), TG_EINTR, "interrupted");
    tg_set_poll(stop, &asked);
    REFUSED(tg_reference(t.p, t.g, args, 3), TG_EINTR, "interrupted");
    tg_set_poll(stop, &asked);
    REFUSED(tg_call_run(call), TG_EINTR, "interrupted");
    tg_set_poll(stop, &asked);
    NO_HANDLE(tg_graph_csr(3, 3, row_ptr, col_idx), TG_EINTR, "interrupted");
    assert_int_equal(asked, 4);
    tg_set_poll(NULL, NULL);
    assert_int_equal(tg_call_run(call), TG_OK);
    assert_true(out[0] == 4);
    tg_call_free(call);
    close_things(&t);
}

/* ---- the builder ---- */

static void test_builders(void **state) {
    (void)state;
    const tg_val nothing = 0;
    tg_end end;
    size_t size;
    NO_HANDLE(tg_builder_program(NULL), TG_EINVAL, "builder is NULL");
    NO_HANDLE(tg_in(NULL, "src.x", TG_FLOAT32, 0, NULL), TG_EINVAL, "builder is NULL");
    NO_HANDLE(tg_reducer_builtin(NULL, 0, false, 0), TG_EINVAL, "name is NULL");
    NO_HANDLE(tg_reducer_new("r", 0, NULL, NULL, NULL, NULL), TG_EINVAL, "builder of the reducer");
    NO_HANDLE(tg_reducer_ir(NULL, "r", NULL, 0), TG_EINVAL, "reducer is NULL");
#define NO_VALUE(make, status, message)                                                            \
    do {                                                                                           \
        tg_builder *b = tg_builder_new(true);                                                      \
        NO_HANDLE(make, status, message);                                                          \
        NO_HANDLE(tg_builder_program(b), status, "an earlier call failed");                        \
        tg_builder_free(b);                                                                        \
    } while (0)
    NO_VALUE(tg_in(b, NULL, TG_FLOAT32, 0, NULL), TG_EINVAL, "name is NULL");
    NO_VALUE(tg_in(b, "x", TG_FLOAT32, 2, NULL), TG_EINVAL, "shape is NULL");
    NO_VALUE(tg_in(b, "x", (tg_dtype)77, 0, NULL), TG_ETYPE, "no such dtype");
    NO_VALUE(tg_in(b, "x", TG_FLOAT32, -1, NULL), TG_ESHAPE, "rank -1");
    NO_VALUE(tg_scalar_in(b, NULL, true), TG_EINVAL, "name is NULL");
    NO_VALUE(tg_apply(b, NULL, &nothing, 1, NULL, 0), TG_EINVAL, "name is NULL");
    NO_VALUE(tg_apply(b, "exp", NULL, 1, NULL, 0), TG_EINVAL, "args is NULL");
    NO_VALUE(tg_apply(b, "exp", NULL, 0, NULL, 1), TG_EINVAL, "ints is NULL");
    NO_VALUE(tg_apply(b, "exp", &nothing, 1, NULL, 0), TG_EINVAL, "a value is NULL");
    NO_VALUE(tg_reduce(b, NULL, &nothing, 1), TG_EINVAL, "reducer is NULL");
    NO_VALUE(tg_at_src(b, 77), TG_EINVAL, "77 is no value of this builder");
    tg_builder *b = tg_builder_new(true);
    tg_val v = tg_in(b, "src.x", TG_FLOAT32, 0, NULL);
    NO_HANDLE(tg_builder_key(b, NULL), TG_EINVAL, "size is NULL");
    NO_HANDLE(tg_builder_key(NULL, &size), TG_EINVAL, "builder is NULL");
    REFUSED(tg_val_type(b, v, NULL, NULL), TG_EINVAL, "end is NULL");
    REFUSED(tg_val_type(b, 0, &end, NULL), TG_EINVAL, "no value");
    NO_HANDLE(tg_builder_program(b), TG_EINVAL, "no result");
    REFUSED(tg_out(b, NULL, v), TG_EINVAL, "name is NULL");
    tg_builder_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graphs_of_arrays),
        cmocka_unit_test(test_graphs_of_described_arrays),
        cmocka_unit_test(test_reading_graphs),
        cmocka_unit_test(test_making_programs),
        cmocka_unit_test(test_running),
        cmocka_unit_test(test_a_call_that_is_bound_late),
        cmocka_unit_test(test_looking_inside),
        cmocka_unit_test(test_old_messages),
        cmocka_unit_test(test_poll),
        cmocka_unit_test(test_builders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
