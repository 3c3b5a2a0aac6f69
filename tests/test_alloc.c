/* The n-th allocation fails, for n = 1, 2, 3, ... until everything succeeds: each function of tiga.h
 * then fails with TG_ENOMEM, nothing leaks and no argument was touched. The generator has a copy of
 * the heap of its own, which fails likewise; LLVM's own allocations cannot. */
#include "base/mem.h"
#include "codegen/codegen.h"
#include "run/variant.h"
#include "tiga/tiga.h"
#include "tiga/tiga_ops.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const int64_t row_ptr[] = {0, 2, 3, 5}, col_idx[] = {0, 2, 1, 0, 1},
                     dst_of[] = {0, 0, 1, 2, 2};
static const float ones[] = {1, 1, 1, 1, 1};
static float x[] = {1, 2, 3}, w[] = {.5f, .5f, .5f, .5f, .5f};

static tg_graph *graph; /* of all scenarios but the constructors' own */
static tg_program *program, *typed, *second;
static char *text;

typedef struct {
    const char *name;
    void (*run)(void); /* leaves what failed in tg_errcode() */
    bool compiles;     /* no code is there beforehand */
} Scenario;

/* Of the program below and its two gradients; made by set_up. */
enum { NUM_ARGS = 7, NUM_INPUTS = 4 };
static float out[6], dx[3], ddx[3];
static tg_arg args[NUM_ARGS];

static void set_args(void) {
    const tg_arg all[NUM_ARGS] = {
        {"src.x", tg_f32(x, 3)},        {"edge.w", tg_f32(w, 5)},
        {"cot.out", tg_f32(ones, 3)},   {"cot.grad.src.x", tg_f32(ones, 3)},
        {"out", tg_f32(out, 3)},        {"grad.src.x", tg_f32(dx, 3)},
        {"grad2.src.x", tg_f32(ddx, 3)}};
    memcpy(args, all, sizeof all);
}

static const char formula[] = "nine = 9; m.identity = (-inf)\n"
                              "m.combine(a, b) = (t = max(a, b), t)\n"
                              "p.identity = 1; p.combine(a, b) = a[0] * b[0]\n"
                              "h = clamp(float32(edge.w) * src(src.x), max=nine)\n"
                              "out = sum(tanh(cat([h[None], h[None]], 1)[0])) + m(src.x, empty=0)"
                              " + p(src.x)";

/* ---- scenarios ---- */

static void make_programs(void) {
    tg_program *p = tg_program_new(formula);
    tg_program *dp = tg_program_grad(p, "out", "src.x");
    tg_program *ddp = tg_program_grad(dp, "grad.src.x", "src.x");
    tg_program *t = tg_program_typed(ddp, args, NUM_INPUTS),
               *again = tg_program_grad(t, "out", "edge.w");
    tg_end end;
    if (again) assert_int_equal(tg_program_input(again, 0, &end), TG_OK);
    tg_program *all[] = {p, dp, ddp, t, again};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) tg_program_free(all[k]);
}

static void run_second_order(void) { tg_run(second, graph, args, NUM_ARGS); }

/* Types, plan and code anew. */
static void run_from_scratch(void) {
    tg_program *dp = tg_program_grad(program, "out", "src.x");
    tg_program *ddp = tg_program_grad(dp, "grad.src.x", "src.x");
    tg_run(ddp, graph, args, NUM_ARGS);
    tg_program_free(ddp);
    tg_program_free(dp);
}

static void run_reference(void) { tg_reference(second, graph, args, NUM_ARGS); }

/* Views that kernels cannot write, so results go through buffers. */
static void bind_and_call(void) {
    tg_arg own[NUM_ARGS];
    memcpy(own, args, sizeof own);
    own[4].array.stride[0] = 8;
    tg_call *call = tg_bind(second, graph, own, NUM_ARGS);
    tg_call_run(call);
    tg_call_free(call);
}

static void split(void) {
    tg_program *forward = NULL, *backward = NULL;
    tg_program_split(typed, "out", &forward, &backward);
    tg_program_free(forward);
    tg_program_free(backward);
}

static void show(void) {
    static const char *const stages[] = {"domain", "iter", "kernel", "task"};
    tg_cost cost;
    tg_stats stats;
    for (int k = 0; k < 4; k++) tg_free(tg_ir(typed, stages[k]));
    tg_free(tg_explain(typed));
    tg_program_cost(typed, graph, &cost);
    tg_program_stats(typed, &stats);
}

static void show_code(void) { tg_free(tg_code(typed, "llvm")); }

static void parse_text(void) {
    tg_program *p = tg_program_parse(text);
    tg_free(tg_ir(p, "task"));
    tg_program_free(p);
}

/* A sum: its combine adds, its other parts pass one value on. */
static tg_builder *region(int part) {
    static const char *const first[] = {NULL, "m0", "l0", "s0"};
    tg_builder *b = tg_builder_new(true);
    tg_val v = first[part] ? tg_in(b, first[part], TG_FLOAT32, 0, NULL) : tg_number(b, 0);
    if (part == 2) v = tg_add(b, v, tg_in(b, "r0", TG_FLOAT32, 0, NULL));
    tg_out(b, "0", v);
    return b;
}

static tg_reducer *own_reducer(void) {
    tg_builder *b[4];
    for (int k = 0; k < 4; k++) b[k] = region(k);
    tg_reducer *r = tg_reducer_new("own", 0, b[0], b[1], b[2], b[3]);
    for (int k = 0; k < 4; k++) tg_builder_free(b[k]);
    return r;
}

static void build(void) {
    const tg_dtype dtype = TG_FLOAT32;
    tg_builder *b = tg_builder_new(false);
    tg_val m = tg_mul(b, tg_in(b, "edge.w", TG_FLOAT32, 0, NULL),
                      tg_at_src(b, tg_in(b, "src.x", TG_FLOAT32, 0, NULL)));
    tg_reducer *sum = tg_reducer_builtin("mean", 0, true, 0), *own = own_reducer();
    tg_out(b, "out", tg_reduce(b, sum, &m, 1));
    tg_out(b, "own", tg_reduce(b, own, &m, 1));
    tg_free(tg_reducer_ir(own, "own", &dtype, 1));
    size_t size;
    tg_free(tg_builder_key(b, &size));
    tg_program *p = tg_builder_program(b);
    tg_builder_free(b);
    tg_reducer_free(sum);
    tg_reducer_free(own);
    tg_free(tg_ir(p, "kernel"));
    tg_program_free(p);
}

static void look_at(tg_graph *g) {
    int64_t src[5], dst[5], rows[4], cols[5], edge[5];
    tg_graph *t = tg_graph_transpose(g);
    tg_graph_edges(t, src, dst);
    tg_graph_rows(t, rows, cols, edge);
    tg_graph_findings(g);
    tg_graph_equal(g, t);
    tg_graph *both = tg_graph_cat((const tg_graph *[]){g, t}, 2);
    tg_graph *loops = tg_graph_add_self_loops(g), *in_order = tg_graph_sorted(g, edge);
    tg_free(tg_graph_explain(both));
    tg_graph_free(both);
    tg_graph_free(loops);
    tg_graph_free(in_order);
    tg_graph_free(t);
    tg_graph_free(g);
}

static void make_graphs(void) {
    int64_t pairs[10];
    memcpy(pairs, col_idx, sizeof col_idx);
    memcpy(pairs + 5, dst_of, sizeof dst_of);
    look_at(tg_graph_csr(3, 3, row_ptr, col_idx));
    look_at(tg_graph_coo(3, 3, 5, col_idx, dst_of));
    look_at(tg_graph_from_csr(tg_i64(row_ptr, 4), tg_i64(col_idx, 5), -1, true));
    look_at(tg_graph_from_coo(tg_i64(col_idx, 5), tg_i64(dst_of, 5), -1, -1, true));
    look_at(tg_graph_from_edge_index(tg_i64(pairs, 2, 5), 3, 3, true));
    tg_graph *g = tg_graph_regular(3, 2);
    tg_graph_free(g);
}

/* ---- the loop ---- */

static const Scenario scenarios[] = {{"make_programs", make_programs, false},
                                     {"run_second_order", run_second_order, true},
                                     {"run_from_scratch", run_from_scratch, false},
                                     {"run_reference", run_reference, false},
                                     {"bind_and_call", bind_and_call, false},
                                     {"split", split, false},
                                     {"show", show, false},
                                     {"show_code", show_code, false},
                                     {"parse_text", parse_text, false},
                                     {"build", build, false},
                                     {"make_graphs", make_graphs, false}};

static void succeed(const Scenario *s) {
    tg_errclear();
    s->run();
    if (tg_errcode()) fail_msg("%s: %s", s->name, tg_errmsg());
    tg_trim();
}

/* True when nothing failed. The count of allocations alive is what it was, code apart. */
static bool attempt(const Scenario *s, int64_t n, void (*fail_at)(int64_t), int64_t (*live)(void)) {
    if (s->compiles) variant_clear();
    int64_t before = live();
    float x_before[3], w_before[5];
    memcpy(x_before, x, sizeof x);
    memcpy(w_before, w, sizeof w);
    tg_errclear();
    fail_at(n);
    s->run();
    fail_at(0);
    tg_trim();
    if (s->compiles) variant_clear();
    tg_status st = tg_errcode();
    if (st != TG_OK && st != TG_ENOMEM)
        fail_msg("%s, allocation %d: status %d, %s", s->name, (int)n, st, tg_errmsg());
    if (st && !strstr(tg_errmsg(), "out of memory"))
        fail_msg("%s, allocation %d: '%s'", s->name, (int)n, tg_errmsg());
    if (!s->compiles && live() != before)
        fail_msg("%s, allocation %d failing: %d blocks leak", s->name, (int)n,
                 (int)(live() - before));
    assert_memory_equal(x, x_before, sizeof x);
    assert_memory_equal(w, w_before, sizeof w);
    return st == TG_OK;
}

static void test_every_allocation(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof scenarios / sizeof *scenarios; k++) {
        const Scenario *s = &scenarios[k];
        int64_t n = 1;
        succeed(s);
        while (!attempt(s, n, mem_fail_at, mem_live)) n++;
        if (n < 2) fail_msg("%s allocates nothing", s->name);
        succeed(s);
    }
}

/* ---- the generator's heap ---- */

static void (*codegen_fail_at)(int64_t n);
static int64_t (*codegen_live)(void);

static void open_codegen(void) {
    void *so = dlopen(getenv("TIGA_CODEGEN"), RTLD_NOW | RTLD_LOCAL);
    if (!so) fail_msg("%s", dlerror());
    *(void **)&codegen_fail_at = dlsym(so, CODEGEN_FAIL_AT_SYMBOL);
    *(void **)&codegen_live = dlsym(so, CODEGEN_LIVE_SYMBOL);
    assert_true(codegen_fail_at && codegen_live);
}

/* Program and code anew: nothing of the Exec's own is left to find. */
static void compile_anew(void) {
    variant_clear();
    run_from_scratch();
}

static void test_the_generator(void **state) {
    (void)state;
    const Scenario all[] = {{"show_code", show_code, false}, {"compile_anew", compile_anew, false}};
    open_codegen();
    for (size_t k = 0; k < 2; k++) {
        int64_t n = 1;
        succeed(&all[k]);
        while (!attempt(&all[k], n, codegen_fail_at, codegen_live)) n++;
        assert_true(n > 5);
    }
}

static int set_up(void **state) {
    (void)state;
    set_args();
    graph = tg_graph_csr(3, 3, row_ptr, col_idx);
    program = tg_program_new(formula);
    tg_program *dp = tg_program_grad(program, "out", "src.x"),
               *ddp = tg_program_grad(dp, "grad.src.x", "src.x");
    typed = tg_program_typed(dp, args, 3);
    second = tg_program_typed(ddp, args, NUM_INPUTS);
    text = tg_ir(typed, "domain");
    tg_program_free(dp);
    tg_program_free(ddp);
    return text && second ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    tg_free(text);
    tg_program_free(second);
    tg_program_free(typed);
    tg_program_free(program);
    tg_graph_free(graph);
    return 0;
}

int main(void) {
    setenv("TIGA_OFF", "cache", 1); /* code is compiled, not found */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation),
        cmocka_unit_test(test_the_generator),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
