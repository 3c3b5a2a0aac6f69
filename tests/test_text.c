/* Print, parse, print: every operation over dtypes, sets and ranks; modules; what the parser must
 * reject. With a file name it writes the cases there instead, one module each, for
 * tests/check_mlir.py. */
#include "text/text.h"
#include "ir/type.h"
#include "ir/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* ---- cases from the table ---- */

enum { SET_v = 1, SET_w, SET_edges }; /* V, W, r.edges; relation 0 leads from V to W */

typedef struct {
    Fn *f;
    Dtype dtype;
    Set set;
    int rank;
} Case;

static const int64_t extent[] = {4, 1, 3};

static Fn *new_fn(Arena *a, const char *name) {
    Fn *f = ir_new(a, name);
    ir_set(f, "V");
    ir_set(f, "W");
    ir_relation(f, "r", SET_v, SET_w);
    return f;
}

static Type case_type(const Case *c) { return type_of(c->dtype, c->set, c->rank, extent); }

static Val input(const Case *c, const char *name, Type t) { return ir_input(c->f, name, t); }

static Val x_input(const Case *c) { return input(c, "x \"odd\" \\ \xc3\xbc", case_type(c)); }

/* The value to be tested, 0 where the operation is not defined for the case. */
static Val build_elem(const Case *c, Op op) {
    static const char *const name[] = {"src.a", "edge.b", "c", "d"};
    const OpInfo *info = &op_info[op];
    Val args[4];
    uint32_t n = (uint32_t)info->arity + (info->traits & NARY ? 2 : 0);
    for (uint32_t k = 0; k < n; k++) {
        bool mask = info->signature == S_sel && k == 0;
        args[k] = input(c, name[k], mask ? type_with_dtype(case_type(c), DT_bool) : case_type(c));
    }
    return ir_emit(c->f, op, args, n, NULL);
}

static Val build_cast(const Case *c, Op op) {
    (void)op;
    return ir_cast(c->f, x_input(c), c->dtype == DT_f64 ? DT_i32 : DT_f64);
}

static Val build_bcast(const Case *c, Op op) {
    int64_t dim[] = {5, 4, c->rank == 2 ? 7 : 1, 3};
    int64_t extents[] = {c->set == SET_ALL ? dim_of(SET_w) : 2, 4, 1, 3};
    (void)op;
    if (c->rank == 2) return ir_bcast(c->f, x_input(c), dim, 3);
    return ir_bcast(c->f, x_input(c), extents, c->rank + 1);
}

static Val build_reshape(const Case *c, Op op) {
    (void)op;
    int64_t dim[] = {2, 2, 3, 1, 1};
    if (c->rank != 3) return ir_reshape(c->f, x_input(c), (int64_t[]){c->rank ? 4 : 1}, 1);
    return ir_reshape(c->f, x_input(c), dim, 5);
}

static Val build_transpose(const Case *c, Op op) {
    (void)op;
    return c->rank == 3 ? ir_transpose(c->f, x_input(c), (int64_t[]){2, 0, 1}) : 0;
}

static Val build_slice(const Case *c, Op op) {
    (void)op;
    if (c->rank == 0) return ir_emit(c->f, OP_slice, (Val[]){x_input(c)}, 1, NULL);
    Type t = case_type(c);
    if (c->set == SET_ALL && c->rank > 1) t.dim[1] = dim_of(SET_edges);
    int64_t ints[] = {1, 2, 2, 0, t.dim[1], 1, 2, 0, 1};
    return ir_slice(c->f, input(c, "x", t), ints);
}

static Val build_pad(const Case *c, Op op) {
    (void)op;
    if (c->rank == 0) return ir_emit(c->f, OP_pad, (Val[]){x_input(c)}, 1, NULL);
    return ir_pad(c->f, x_input(c), (int64_t[]){1, 0, 2, 0, 0, 0, 3, 1, 0});
}

static Val build_concat(const Case *c, Op op) {
    Type t = case_type(c);
    (void)op;
    if (c->rank == 0) return 0;
    t.dim[c->rank - 1] = 0;
    Val parts[] = {x_input(c), input(c, "y", t), x_input(c)};
    return ir_concat(c->f, parts, 3, c->rank - 1);
}

static Val build_fold(const Case *c, Op op) {
    int64_t axes[] = {0, 2};
    Attr attr = {.ints = axes, .num_ints = c->rank == 3 ? 2 : c->rank ? 1 : 0};
    return ir_emit(c->f, op, (Val[]){x_input(c)}, 1, &attr);
}

static Val build_cumsum(const Case *c, Op op) {
    int64_t ints[] = {c->rank - 1, c->set != SET_ALL};
    return ir_emit(c->f, op, (Val[]){x_input(c)}, 1, &(Attr){.ints = ints, .num_ints = 2});
}

/* Indices by twos, or one; of the tables that rank leaves room for. */
static Type index_type(const Case *c) {
    return type_of(c->rank == 2 ? DT_i64 : DT_i32, c->set, c->rank == 3, (int64_t[]){2});
}

static Val build_take(const Case *c, Op op) {
    (void)op;
    return ir_take(c->f, x_input(c), input(c, "edge.kind", index_type(c)));
}

static Val build_put(const Case *c, Op op) {
    Type t = case_type(c);
    (void)op;
    if (c->rank == 3) t.dim[0] = 2;
    return ir_put(c->f, input(c, "edge.kind", index_type(c)), input(c, "x", t), 5);
}

static Val build_matmul(const Case *c, Op op) {
    Type a = case_type(c), b = a;
    (void)op;
    if (c->rank < 2) return 0;
    b.dim[c->rank - 2] = a.dim[c->rank - 1];
    b.dim[c->rank - 1] = 6;
    return ir_matmul(c->f, input(c, "a", a), input(c, "b", b));
}

/* Along r's maps from or to the case's set, else along the map to `all`. */
static Map map_leaving(const Case *c) { return c->set == SET_edges ? map_dst(0) : map_all(c->set); }

static Val build_gather(const Case *c, Op op) {
    (void)op;
    Map m = c->set == SET_v ? map_src(0) : c->set == SET_edges ? MAP_NONE : map_all(SET_w);
    return m == MAP_NONE ? 0 : ir_gather(c->f, x_input(c), m);
}

static Val build_reduce(const Case *c, Op op) {
    (void)op;
    return ir_reduce(c->f, x_input(c), map_leaving(c));
}

static Val build_rmax(const Case *c, Op op) {
    (void)op;
    return ir_rmax(c->f, x_input(c), map_leaving(c));
}

static Val build_softmax(const Case *c, Op op) {
    Type s = case_type(c);
    (void)op;
    if (c->rank) s.dim[0] = 1;
    return ir_softmax(c->f, input(c, "s", s), x_input(c), map_leaving(c));
}

static Val build_row_scan(const Case *c, Op op) {
    static const int flags[] = {0, SCAN_reverse, SCAN_tree, 0};
    (void)op;
    if (c->set != SET_edges) return 0;
    Type scalar = type_scalar(c->dtype, SET_ALL);
    Fn *b = ir_new(c->f->arena, "body");
    Val s = ir_input(b, "s", scalar), x = ir_input(b, "x", scalar);
    ir_add_result(b, "s", c->dtype == DT_bool ? ir_or(b, s, x) : ir_add(b, s, x));
    if (c->rank == 3) ir_add_result(b, "before", s);
    Val operands[] = {input(c, "s", type_with_set(case_type(c), SET_w)), x_input(c)};
    return ir_row_scan(c->f, &(Scan){map_dst(0), flags[c->rank], 1, 1, b}, operands);
}

static Val build_degree(const Case *c, Op op) {
    (void)op;
    return ir_degree(c->f, map_leaving(c));
}

static Val build_iota(const Case *c, Op op) {
    (void)op;
    return c->set == SET_ALL ? 0 : ir_iota(c->f, c->set);
}

static Val build_enter(const Case *c, Op op) {
    (void)op;
    if (c->set == SET_ALL) return 0;
    int64_t dim[MAX_RANK] = {dim_of(c->set)};
    memcpy(dim + 1, extent, (size_t)c->rank * sizeof *dim);
    return ir_enter(c->f, input(c, "x", type_of(c->dtype, SET_ALL, c->rank + 1, dim)), c->set);
}

static Val build_leave(const Case *c, Op op) {
    (void)op;
    return ir_leave(c->f, x_input(c));
}

static Val build_input(const Case *c, Op op) {
    Type t = case_type(c);
    (void)op;
    if (c->set == SET_ALL && c->rank == 3) t.dim[0] = dim_of(SET_v), t.dim[2] = dim_of(SET_w);
    input(c, "unused", t);
    return input(c, "", t);
}

static Val build_constant(const Case *c, Op op) {
    static const uint64_t bits[][NUM_DTYPES] = {
        {0, 0x80000000, 0x8000000000000000, 0x7FC00001, 0x7FF0000000000000},
        {1, 0x7FFFFFFF, 0x7FFFFFFFFFFFFFFF, 0x80000000, 0xFFF8000000000123},
        {1, 17, (uint64_t)-17, 0x00000001, 0x3FB999999999999A},
        {0, 0xFFFFFFFF, 0, 0x3EAAAAAB, 0x8000000000000001},
    };
    (void)op;
    Attr attr = {.type = case_type(c)};
    for (size_t k = 0; k < sizeof bits / sizeof *bits; k++) {
        attr.bits = bits[k][c->dtype];
        Val v = ir_emit(c->f, OP_constant, NULL, 0, &attr);
        if (k == 3) return v;
        ir_add_result(c->f, (const char *[]){"nan", "most", "least"}[k], v);
    }
    return 0;
}

static Val build_result(const Case *c, Op op) {
    (void)op;
    return ir_part(c->f, build_rmax(c, OP_rmax), 1);
}

/* A group of two results; its body commutes over an input that stands in for something else. */
static Fn *group_body(const Case *c, const char *name) {
    Fn *body = ir_new_like(c->f->arena, c->f, name);
    Val x = ir_input(body, "x", case_type(c)), y = ir_input(body, "arg1", case_type(c));
    body->nodes.data[y].hash = ir_node(body, x)->hash - 1;
    if (c->dtype != DT_bool) x = ir_elem(body, OP_add, x, y, 0);
    ir_add_result(body, "sum", x);
    ir_add_result(body, "result1", y);
    return body;
}

static Val build_group(const Case *c, Op op) {
    static const int64_t phases[] = {0, 1};
    Val args[] = {x_input(c), input(c, "y", case_type(c))};
    Attr attr = {.map = map_leaving(c), .body = group_body(c, "k0")};
    if (op == OP_launch) attr.name = "k0";
    else if (c->rank) attr.ints = phases, attr.num_ints = 2, attr.name = "narrow";
    return ir_part(c->f, ir_emit(c->f, op, args, 2, &attr), 0);
}

#define build_fsum build_fold
#define build_fmax build_fold
#define build_traverse build_group
#define build_launch build_group
static Val (*const build_rule[NUM_OPS])(const Case *c, Op op) = {
#define ELEM(op, ...) [OP_##op] = build_elem,
#define SHAPE(op, ...) [OP_##op] = build_##op,
#define ALONG(op, ...) [OP_##op] = build_##op,
#define FRAME(op, ...) [OP_##op] = build_##op,
#include "ir/op.def"
};

/* NULL where the operation is not defined for the case. */
static const Fn *build_case(Arena *a, Op op, Dtype d, Set s, int rank) {
    const char *name = arena_printf(a, "%s.%s.%d.%d", op_info[op].name, dtype_name(d), s, rank);
    Case c = {new_fn(a, name), d, s, rank};
    Val v = build_rule[op](&c, op);
    uint32_t n = v ? ir_node(c.f, v)->num_results : 0;
    for (uint32_t k = 0; k < n; k++)
        ir_add_result(c.f, (const char *[]){"out", "more", "most"}[k], ir_part(c.f, v, k));
    return v && !c.f->status ? c.f : NULL;
}

/* ---- print, parse, print ---- */

static void assert_verifies(const Fn *f) {
    Arena *a = arena_new();
    Text report = {.arena = a};
    if (ir_verify(f, &report)) fail_msg("%s: %s", f->name, report.text);
    arena_free(a);
}

static Module parse(Arena *a, const char *text) {
    Module m;
    if (text_parse(a, text, strlen(text), &m)) fail_msg("%s\n%s", err_message(), text);
    return m;
}

static void assert_same(const Fn *f, const Fn *g) {
    assert_string_equal(f->name, g->name);
    assert_int_equal(f->inputs.len, g->inputs.len);
    assert_int_equal(f->results.len, g->results.len);
    for (uint32_t k = 0; k < f->inputs.len; k++)
        assert_string_equal(f->inputs.data[k].name, g->inputs.data[k].name);
    for (uint32_t k = 0; k < f->results.len; k++) {
        assert_string_equal(f->results.data[k].name, g->results.data[k].name);
        assert_true(ir_node(f, f->results.data[k].val)->hash ==
                    ir_node(g, g->results.data[k].val)->hash);
    }
}

static Module assert_round(Arena *a, const Module *m) {
    const char *text = text_print_module(a, m);
    Module again = parse(a, text);
    assert_string_equal(text_print_module(a, &again), text);
    for (uint32_t k = 0; k < again.functions.len; k++) assert_verifies(again.functions.data[k]);
    return again;
}

static void assert_round_fn(Arena *a, const Fn *f) {
    Module m = {0};
    *vec_push(a, &m.functions) = f;
    assert_verifies(f);
    Module again = assert_round(a, &m);
    assert_same(f, again.functions.data[again.functions.len - 1]);
}

/* Gives the number of cases for which the operation is defined. */
static int each_case(Arena *a, Op op, void (*check)(Arena *a, const Fn *f, void *ctx), void *ctx) {
    int count = 0;
    for (int d = 0; d < NUM_DTYPES; d++)
        for (Set s = SET_ALL; s <= SET_edges; s++)
            for (int rank = 0; rank <= 3; rank++) {
                const Fn *f = build_case(a, op, (Dtype)d, s, rank);
                if (f) check(a, f, ctx), count++;
            }
    return count;
}

static void check_round(Arena *a, const Fn *f, void *ctx) {
    (void)ctx;
    assert_round_fn(a, f);
}

static void test_every_operation(void **state) {
    (void)state;
    for (int op = OP_none + 1; op < NUM_OPS; op++) {
        Arena *a = arena_new();
        if (each_case(a, (Op)op, check_round, NULL) == 0) fail_msg("%s: no case", op_info[op].name);
        arena_free(a);
    }
}

/* ---- modules ---- */

static void collect_case(Arena *a, const Fn *f, void *ctx) {
    *vec_push(a, &((Module *)ctx)->functions) = f;
}

static Fn *region(Arena *a, uint32_t num_inputs, uint32_t num_results) {
    Fn *f = ir_new(a, "region");
    Val v = ir_const(f, type_scalar(DT_f32, SET_ALL), 0.5);
    for (uint32_t k = 0; k < num_inputs; k++)
        v = ir_add(f, v, ir_input(f, arena_printf(a, "m%u", k), type_scalar(DT_f32, SET_ALL)));
    for (uint32_t k = 0; k < num_results; k++) ir_add_result(f, arena_printf(a, "result%u", k), v);
    return f;
}

static const TextAttr attrs[] = {{"proof", "additive"}, {"form", "a \"b\""}};

static TextReducer reducer(Arena *a) {
    return (TextReducer){"user mean",
                         true,
                         false,
                         true,
                         {region(a, 0, 2), region(a, 1, 2), region(a, 4, 2), region(a, 2, 1)},
                         attrs,
                         2};
}

static Module op_module(Arena *a, Op op) {
    Module m = {0};
    each_case(a, op, collect_case, &m);
    if (op == OP_add) *vec_push(a, &m.reducers) = reducer(a);
    return m;
}

static void test_module(void **state) {
    (void)state;
    Arena *a = arena_new();
    Module m = op_module(a, OP_add);
    Module again = assert_round(a, &m);
    assert_int_equal(again.functions.len, m.functions.len);
    for (uint32_t k = 0; k < m.functions.len; k++)
        assert_same(m.functions.data[k], again.functions.data[k]);
    assert_int_equal(again.reducers.len, 1);
    const TextReducer *r = again.reducers.data;
    assert_string_equal(r->name, "user mean");
    assert_true(r->associative && !r->commutative && r->deterministic);
    assert_int_equal(r->num_attrs, 2);
    assert_string_equal(r->attrs[0].value, "a \"b\"");
    assert_int_equal(r->region[REGION_combine]->inputs.len, 4);
    for (int k = 0; k < NUM_REGIONS; k++) assert_verifies(r->region[k]);
    arena_free(a);
}

/* A set, a relation, an edge set and a function may have one name; a transpose shares its edges. */
static void test_odd_environment(void **state) {
    (void)state;
    Arena *a = arena_new();
    Fn *f = ir_new(a, "r");
    Set edges = ir_set(f, "r.edges"), v = ir_set(f, "r"), all2 = ir_set(f, "a b");
    ir_relation(f, "r", v, v);
    ir_relation(f, "all", all2, SET_ALL);
    *vec_push(a, &f->relations) = (Relation){"back", v, v, edges};
    Val x = ir_input(f, "x", type_scalar(DT_i64, v));
    Val y = ir_reduce(f, ir_gather(f, x, map_src(0)), map_dst(2));
    ir_add_result(f, "y", ir_add(f, y, ir_degree(f, map_src(2))));
    ir_add_result(f, "n", ir_degree(f, map_all(all2)));
    assert_round_fn(a, f);
    arena_free(a);
}

static void test_founding_text(void **state) {
    static const char text[] =
        "module {\n  func.func @tensor_main(%arg0: tensor<2x3xf32>) -> tensor<6xf32> {\n"
        "    %0 = \"gf_tensor.input\"(%arg0) <{offset = 0 : i64, strides = array<i64: 3, 1>}> : "
        "(tensor<2x3xf32>) -> tensor<2x3xf32>\n"
        "    %1 = \"gf_tensor.permute\"(%0) <{axes = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> "
        "tensor<3x2xf32>\n"
        "    %2 = \"gf_tensor.reshape\"(%1) <{shape = array<i64: 6>}> : (tensor<3x2xf32>) -> "
        "tensor<6xf32>\n    return %2 : tensor<6xf32>\n  }\n}\n";
    (void)state;
    Arena *a = arena_new();
    Module m = parse(a, text);
    assert_string_equal(m.functions.data[0]->inputs.data[0].name, "arg0");
    assert_round_fn(a, m.functions.data[0]);
    arena_free(a);
}

/* ---- what the parser must reject ---- */

#define HEAD "\"gf.set\"() <{sym_name = \"V\"}> : () -> ()\n"
#define FN(body) HEAD "func.func @f(%a: tensor<4xf32>, %b: tensor<?xf32, #gf.on<@V>>) {\n" body "}"

static const struct {
    const char *text, *message;
} bad_text[] = {
    {"module {", "1:9: expected '}', found the end"},
    {"\x80", "1:1: unexpected byte 0x80"},
    {"func.func @f() { return } }", "1:27: expected the end, found '}'"},
    {"func.func @f() { return ", "expected '}'"},
    {"\"gf.set\"() <{sym_name = \"V}> : () -> ()", "1:25: the string does not end on its line"},
    {"\"gf.set\"() <{sym_name = \"\\00\"}>", "a NUL byte in a string"},
    {"\"gf.set\"() <{sym_name = \"\\FF\"}>", "not valid UTF-8"},
    {"\"gf.set\"() <{sym_name = \"\\q\"}>", "no such escape"},
    {"\"gf.set\"() <{sym_name = \"all\"}>", "set 'all' is declared twice"},
    {"\"gf.set\"() <{name = \"a\"}>", "attribute 'sym_name' is missing"},
    {"\"gf.set\"() <{sym_name = 3}>", "sym_name: expected a string"},
    {"\"gf.set\"() <{sym_name = \"a\", x = 1}>", "no attribute 'x' is known here"},
    {"\"gf.set\"() <{a = 1, a = 1}>", "attribute 'a' is given twice"},
    {"\"gf.what\"()", "no declaration 'gf.what'"},
    {HEAD HEAD, "set 'V' is declared twice"},
    {HEAD "\"gf.relation\"() <{sym_name = \"r\", src = @V, dst = @W}>", "no set 'W' is declared"},
    {FN("%0 = \"gf_tensor.nothing\"(%a)"), "3:6: no operation 'gf_tensor.nothing'"},
    {FN("%0 = \"gf_tensor.result\"(%a)"), "no operation 'gf_tensor.result'"},
    {FN("%0 = \"gf_tensor.neg\"(%c) : (tensor<4xf32>) -> tensor<4xf32>"),
     "3:22: %c is not defined before this"},
    {FN("%0 = \"gf_tensor.neg\"(%a) : (tensor<3xf32>) -> tensor<3xf32>"),
     "operand 0 is f32 @ all [4], but the text says f32 @ all [3]"},
    {FN("%0 = \"gf_tensor.neg\"(%a) : (tensor<4xf32>) -> tensor<4xi1>"),
     "gf_tensor.neg gives f32 @ all [4], but the text says i1 @ all [4]"},
    {FN("%0 = \"gf_tensor.neg\"(%a, %a) : (tensor<4xf32>) -> tensor<4xf32>"),
     "2 operands, but 1 types of operands"},
    {FN("%0 = \"gf_tensor.neg\"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"),
     "neg: 2 operands, expected 1"},
    {FN("%0:2 = \"gf_tensor.neg\"(%a) : (tensor<4xf32>) -> tensor<4xf32>"),
     "%0 stands for 1 results"},
    {FN("%0 = \"gf_tensor.neg\"(%a) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)"),
     "gives 1 results, but the text says 2"},
    {FN("%a = \"gf_tensor.neg\"(%a) : (tensor<4xf32>) -> tensor<4xf32>"), "%a is defined twice"},
    {FN("%0 = \"gf_tensor.neg\"(%a) <{x = true}> : (tensor<4xf32>) -> tensor<4xf32>"),
     "no attribute 'x' is known here"},
    {FN("%0 = \"gf_tensor.neg\"(%a) ({ \"gf_ctl.yield\"() : () -> () }) : (tensor<4xf32>) -> "
        "tensor<4xf32>"),
     "no region is expected"},
    {FN("%0 = \"gf_tensor.add\"(%a, %b) : (tensor<4xf32>, tensor<?xf32, #gf.on<@V>>) -> "
        "tensor<4xf32>"),
     "add of f32 @ all [4], f32 @ V: operands live on different sets (gather one first)"},
    {FN("%0 = \"gf_tensor.permute\"(%a) : (tensor<4xf32>) -> tensor<4xf32>"),
     "attribute 'axes' is missing"},
    {FN("%0 = \"gf_tensor.permute\"(%a) <{axes = array<i64: 99999999999999999999>}>"),
     "an integer: expected at most 9223372036854775807"},
    {FN("%0 = \"gf_tensor.pad\"(%a) <{low = array<i64: 9223372036854775807>, high = array<i64: 1>, "
        "interior = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4xf32>"),
     "too many elements"},
    {FN("%0 = \"gf_tensor.reduce_sum\"(%a) <{axes = array<i64: 0>, keep_dims = true}> : "
        "(tensor<4xf32>) -> tensor<1xf32>"),
     "keep_dims = true"},
    {FN("%0 = \"gf_tensor.constant\"() <{value = 1.0 : f64}> : () -> tensor<f32>"),
     "value: expected a number of f32"},
    {FN("%0 = \"gf_tensor.constant\"() <{value = 1.0e99 : f32}> : () -> tensor<f32>"),
     "value: expected a number of f32"},
    {FN("%0 = \"gf_tensor.constant\"() <{value = 0x7FC0 : f32}> : () -> tensor<f32>"),
     "value: expected a number of f32"},
    {FN("%0 = \"gf_tensor.constant\"() <{value = 2147483648 : i32}> : () -> tensor<i32>"),
     "value: expected a number of i32"},
    {FN("%0 = \"gf_mp.degree\"() <{map = @V::@dst}> : () -> tensor<i64>"),
     "no relation 'V' is declared"},
    {FN("%0 = \"gf_mp.degree\"() <{map = @W::@all}> : () -> tensor<i64>"),
     "no set 'W' is declared"},
    {FN("%0 = \"gf_tensor.input\"(%a) <{strides = array<i64: 2>}> : (tensor<4xf32>) -> "
        "tensor<4xf32>"),
     "strides other than row-major"},
    {FN("%0 = \"gf_kernel.launch\"(%a) <{kernel = @f}> : (tensor<4xf32>) -> ()"),
     "no function 'f' stands before this"},
    {FN("return %a : tensor<4xf32>"), "1 values and 1 types, but 0 results are declared"},
    {"func.func @f(%a: tensor<f32>) -> tensor<i1> { return %a : tensor<f32> }",
     "result 'result0' is f32 @ all, but the text says otherwise"},
    {"func.func @f(%a: tensor<f32> {gf.name = \"x\"}, %b: tensor<f32> {gf.name = \"x\"})",
     "'x' is named twice"},
    {"func.func @f(%a: tensor<?xf32>)", "a '?' whose set is not named"},
    {"func.func @f(%a: tensor<4xf32, #gf.on<@V>>)", "no set 'V' is declared"},
    {HEAD "func.func @f(%a: tensor<4xf32, #gf.on<@V>>)",
     "the first dimension of a value on a set is '?'"},
    {HEAD "func.func @f(%a: tensor<?xf32, #gf.rows<[@V, @V]>>)", "more sets than '?'"},
    {"func.func @f(%a: tensor<1x1x1x1x1x1x1x1x1xf32>)", "more than 8 dimensions"},
    {"func.func @f(%a: tensor<1x1x1x1x1x1x1x1x1x1xf32>)", "more than 9 dimensions"},
    {"func.func @f(%a: tensor<9223372036854775808xf32>)", "1:25: no such dimension"},
    {"func.func @f(%a: tensor<4611686018427387904x4611686018427387904xf32>) { %0 = "
     "\"gf_tensor.reshape\"(%a) : (tensor<4611686018427387904x4611686018427387904xf32>) -> "
     "tensor<0xf32>",
     "more than 2^40 elements"},
    {"func.func @f(%a: tensor<1048576x1048576xf32>) { %0 = "
     "\"gf_tensor.reshape\"(%a) : (tensor<1048576x1048576xf32>) -> tensor<0xf32>",
     "cannot reshape to another number of elements"},
    {"func.func @f() { return } func.func @f() { return }", "symbol 'f' is defined twice"},
    {"\"gf.reducer\"() <{sym_name = \"r\"}> ({ \"gf_ctl.yield\"() : () -> () })",
     "a reducer has four regions"},
};

static void assert_rejected(const char *text, size_t len, const char *message) {
    Arena *a = arena_new();
    Module m;
    if (text_parse(a, text, len, &m) == ST_OK) fail_msg("accepted:\n%s", text);
    if (!strstr(err_message(), message))
        fail_msg("said '%s', expected '%s'", err_message(), message);
    arena_free(a);
}

static void test_bad_text(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof bad_text / sizeof *bad_text; k++)
        assert_rejected(bad_text[k].text, strlen(bad_text[k].text), bad_text[k].message);
}

static void test_deep_regions(void **state) {
    (void)state;
    Arena *a = arena_new();
    Text t = {.arena = a};
    text_put(&t, "func.func @f() {");
    for (int k = 0; k < 100000; k++) text_put(&t, "\"gf_iter.traverse\"() ({");
    assert_rejected(t.text, t.len, "regions deeper than 16");
    arena_free(a);
}

/* Every prefix and every text with one byte changed: parsed or refused, nothing else. */
static void test_torn_text(void **state) {
    (void)state;
    Arena *a = arena_new();
    Fn *f = new_fn(a, "f");
    Case c = {f, DT_f32, SET_edges, 2};
    ir_add_result(f, "a", ir_part(f, build_softmax(&c, OP_softmax), 1));
    ir_add_result(f, "b", build_group(&c, OP_traverse));
    ir_add_result(f, "c", build_group(&c, OP_launch));
    const char *text = text_print(a, f);
    size_t len = strlen(text);
    for (size_t k = 0; k < len; k += 3) {
        Arena *scratch = arena_new();
        Module m;
        char *torn = arena_copy(scratch, text, len);
        text_parse(scratch, torn, k, &m);
        torn[k] = (char)(torn[k] ^ (1 << k % 8));
        if (!text_parse(scratch, torn, len, &m)) assert_round(scratch, &m);
        arena_free(scratch);
    }
    arena_free(a);
}

/* ---- for check_mlir.py ---- */

static int write_cases(const char *path) {
    FILE *out = fopen(path, "w");
    if (!out) return 1;
    for (int op = OP_none + 1; op < NUM_OPS; op++) {
        Arena *a = arena_new();
        Module m = op_module(a, (Op)op);
        fprintf(out, "%s%s", op == 1 ? "" : "// -----\n", text_print_module(a, &m));
        arena_free(a);
    }
    return fclose(out) != 0;
}

int main(int argc, char **argv) {
    if (argc > 1) return write_cases(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operation), cmocka_unit_test(test_module),
        cmocka_unit_test(test_odd_environment), cmocka_unit_test(test_founding_text),
        cmocka_unit_test(test_bad_text),        cmocka_unit_test(test_deep_regions),
        cmocka_unit_test(test_torn_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
