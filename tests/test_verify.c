/* What the verifier must reject: one broken program a rule, each with its message. */
#include "ir/type.h"
#include "ir/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { SET_v = 1, SET_w, SET_edges }; /* V, W, r.edges; relation 0 leads from V to W */

static Fn *new_fn(Arena *a, const char *name) {
    Fn *f = ir_new(a, name);
    ir_set(f, "V");
    ir_set(f, "W");
    ir_relation(f, "r", SET_v, SET_w);
    return f;
}

static void assert_verifies(const Fn *f) {
    Text report = {.arena = f->arena};
    if (ir_verify(f, &report)) fail_msg("%s", report.text);
}

/* f32 @ V: %1, %2 inputs x, y, %3 their sum, %4 rmax, %5 a part of it, %6 a constant. */
static Fn *good(Arena *a) {
    Fn *f = new_fn(a, "f");
    Val x = ir_input(f, "x", type_scalar(DT_f32, SET_v)),
        y = ir_input(f, "y", type_scalar(DT_f32, SET_v));
    ir_add_result(f, "out", ir_add(f, x, y));
    Val m = ir_rmax(f, x, map_all(SET_v));
    ir_add_result(f, "max", ir_part(f, m, 0));
    ir_const(f, type_scalar(DT_i32, SET_ALL), 3);
    return f;
}

static Node *node(Fn *f, Val v) { return &f->nodes.data[v]; }
static void set_arg(Fn *f, Val v, uint32_t k, Val to) { ((Val *)node(f, v)->args)[k] = to; }

static void break_op(Fn *f) { node(f, 3)->op = 250; }
static void break_operand(Fn *f) { set_arg(f, 3, 1, 77); }
static void break_dominance(Fn *f) { set_arg(f, 3, 1, 5); }
static void break_arity(Fn *f) { node(f, 3)->num_args = 1; }
static void break_several(Fn *f) { set_arg(f, 5, 0, 1); }
static void break_whole(Fn *f) { f->results.data[1].val = 4; }
static void break_type(Fn *f) { ((Type *)node(f, 3)->types)->dtype = DT_f64; }
static void break_set(Fn *f) { ((Type *)node(f, 3)->types)->set = 99; }
static void break_results(Fn *f) { node(f, 3)->num_results = 0; }
static void break_map(Fn *f) { node(f, 4)->attr.map = map_src(7); }
static void break_bits(Fn *f) { node(f, 6)->attr.bits = (uint64_t)1 << 40; }
static void break_unused(Fn *f) { node(f, 3)->attr.index = 1; }
static void break_order(Fn *f) {
    Val first = ir_arg(f, 3, 0);
    set_arg(f, 3, 0, ir_arg(f, 3, 1));
    set_arg(f, 3, 1, first);
}
static void break_input(Fn *f) { f->inputs.data[0].name = "z"; }
static void break_inputs(Fn *f) { f->inputs.len = 1; }
static void break_input_names(Fn *f) { f->inputs.data[1].name = "x"; }
static void break_result_names(Fn *f) { f->results.data[1].name = "out"; }
static void break_result(Fn *f) { f->results.data[1].val = 0; }
static void break_all(Fn *f) { f->sets.data[0].name = "every"; }
static void break_set_names(Fn *f) { f->sets.data[2].name = "V"; }
static void break_relation(Fn *f) { f->relations.data[0].src = 50; }

static void break_edges(Fn *f) { f->relations.data[0].edges = SET_ALL; }
static void break_relation_names(Fn *f) {
    ir_relation(f, "s", SET_v, SET_w);
    f->relations.data[1].name = "r";
}
static void break_attr_type(Fn *f) { node(f, ir_cast(f, 1, DT_i32))->attr.type.set = SET_v; }
static void break_bool(Fn *f) {
    node(f, ir_const(f, type_scalar(DT_bool, SET_ALL), 1))->attr.bits = 2;
}
static void break_no_result(Fn *f) {
    ir_neg(f, 3);
    node(f, 3)->num_results = 0;
}
static void break_more_results(Fn *f) { node(f, 4)->num_results = 3; }

static Val add_group(Fn *f, Val arg, Fn *body) {
    return ir_emit(f, OP_traverse, &arg, 1, &(Attr){.map = MAP_NONE, .body = body});
}
static Fn *body_of(Fn *f, const char *name, Dtype d) {
    Fn *body = ir_new_like(f->arena, f, name);
    ir_add_result(body, "out", ir_neg(body, ir_input(body, "x", type_scalar(d, SET_v))));
    return body;
}
static void break_no_body(Fn *f) {
    node(f, add_group(f, 1, body_of(f, "b", DT_f32)))->attr.body = NULL;
}
static void break_body(Fn *f) {
    Fn *body = body_of(f, "b", DT_f32);
    node(body, 2)->attr.index = 1;
    add_group(f, 1, body);
}
static void break_body_input(Fn *f) { add_group(f, 1, body_of(f, "b", DT_i32)); }
static void break_body_count(Fn *f) {
    Fn *body = body_of(f, "b", DT_f32);
    ir_input(body, "y", type_scalar(DT_f32, SET_v));
    add_group(f, 1, body);
}
static void break_body_sets(Fn *f) {
    Fn *body = body_of(f, "b", DT_f32);
    ir_set(body, "more");
    add_group(f, 1, body);
}
static void break_body_ends(Fn *f) {
    Fn *body = body_of(f, "b", DT_f32);
    body->relations.data[0].src = SET_w;
    add_group(f, 1, body);
}
static void break_phase(Fn *f) { node(f, add_group(f, 1, body_of(f, "b", DT_f32)))->attr.map = 8; }

/* %7 a state, %8 the edges' operand, %9 a scan of s = s + x with s before each edge. */
static Node *add_scan(Fn *f) {
    Type scalar = type_scalar(DT_f32, SET_ALL);
    Fn *body = ir_new(f->arena, "body");
    Val s = ir_input(body, "s", scalar), x = ir_input(body, "x", scalar);
    ir_add_result(body, "s", ir_add(body, s, x));
    ir_add_result(body, "before", s);
    Val operands[] = {ir_input(f, "s", type_scalar(DT_f32, SET_w)),
                      ir_input(f, "m", type_scalar(DT_f32, SET_edges))};
    Val v = ir_row_scan(f, &(Scan){map_dst(0), 0, 1, 1, body}, operands);
    assert_int_equal(v, 9);
    assert_verifies(f);
    return node(f, v);
}
static int64_t *scan_ints(Node *n) { return (int64_t *)n->attr.ints; }
static void break_scan_map(Fn *f) { add_scan(f)->attr.map = map_all(SET_edges); }
static void break_scan_body(Fn *f) { add_scan(f)->attr.body = NULL; }
static void break_scan_states(Fn *f) { scan_ints(add_scan(f))[0] = 3; }
static void break_scan_tree(Fn *f) { scan_ints(add_scan(f))[1] = SCAN_tree; }
static void break_scan_place(Fn *f) { ((Val *)add_scan(f)->args)[1] = 7; }
static void break_scan_dtype(Fn *f) {
    Fn *body = (Fn *)add_scan(f)->attr.body;
    body->results.data[0].val = ir_cast(body, body->results.data[0].val, DT_f64);
}
static void break_scan_region(Fn *f) {
    Fn *body = (Fn *)add_scan(f)->attr.body;
    ir_reshape(body, 1, (int64_t[]){1}, 1);
}
static void break_scan_inside(Fn *f) { node((Fn *)add_scan(f)->attr.body, 3)->attr.index = 1; }
static void break_scan_type(Fn *f) { ((Type *)add_scan(f)->types)[1].dtype = DT_f64; }

static const struct {
    void (*break_it)(Fn *f);
    const char *message;
} bad_program[] = {
    {break_op, "value 3: no such operation\n"},
    {break_operand, "value 3 (add): operand 1 is no value\n"},
    {break_dominance, "value 3 (add): operand 1 is value 5, which comes later\n"},
    {break_arity, "value 3: add: 1 operands, expected 2\n"},
    {break_several, "value 5: result of f32 @ V: no such result\n"},
    {break_whole, "result 'max': value 4 has 2 results (take one)\n"},
    {break_type, "value 3 (add): result 0 is f64 @ V, but f32 @ V is inferred\n"},
    {break_set, "value 3 (add): result 0 is no such set, but f32 @ V is inferred\n"},
    {break_results, "value 3 (add): 0 results, but 1 are inferred\n"},
    {break_map, "value 4: rmax of f32 @ V: no such map\n"},
    {break_bits, "value 6 (constant): bits outside i32\n"},
    {break_unused, "value 3 (add): attribute 'index' is set but not used\n"},
    {break_order, "value 3 (add): operands are not sorted by structure\n"},
    {break_input, "input 'z': its value is no input of that name\n"},
    {break_inputs, "value 2 (input): not among the inputs\n"},
    {break_input_names, "inputs 0 and 1 are both named 'x'\n"},
    {break_result_names, "results 0 and 1 are both named 'out'\n"},
    {break_result, "result 'max': no value\n"},
    {break_all, "set 0 is not `all`\n"},
    {break_set_names, "sets 1 and 2 are both named 'V'\n"},
    {break_relation, "relation 'r': no such set\n"},
    {break_edges, "relation 'r': its edges are `all`\n"},
    {break_relation_names, "relations 0 and 1 are both named 'r'\n"},
    {break_attr_type, "(cast): attr.type says more than is read\n"},
    {break_bool, "(constant): bits outside i1\n"},
    {break_no_result, "(neg): operand 0 has no result\n"},
    {break_more_results, "value 4 (rmax): 3 results, but 2 are inferred\n"},
    {break_body_ends, "(traverse): its body has other sets or relations\n"},
    {break_no_body, "(traverse): no body\n"},
    {break_body, "in the body of value 7: value 2 (neg): attribute 'index' is set but not used\n"},
    {break_body_input, "(traverse): operand 0 has not the type of input 'x' of its body\n"},
    {break_body_count, "(traverse): 1 operands, but its body has 2 inputs\n"},
    {break_body_sets, "(traverse): its body has other sets or relations\n"},
    {break_phase, "value 7 (traverse): no such map\n"},
    {break_scan_map, "value 9: row_scan of f32 @ W, f32 @ r.edges: a relation's map is needed, or "
                     "that of nodes to `all`\n"},
    {break_scan_body, "a body of elementwise operations on scalars is needed\n"},
    {break_scan_states, "states, operands and the body's ends do not fit each other\n"},
    {break_scan_tree, "states, operands and the body's ends do not fit each other\n"},
    {break_scan_place, "states live where the map leads, the rest where it starts\n"},
    {break_scan_dtype, "a state changes its dtype\n"},
    {break_scan_region, "a body of elementwise operations on scalars is needed\n"},
    {break_scan_inside, "in the body of value 9: value 3 (add): attribute 'index' is set"},
    {break_scan_type,
     "value 9 (row_scan): result 1 is f64 @ r.edges, but f32 @ r.edges is inferred\n"},
};

static void test_bad_programs(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof bad_program / sizeof *bad_program; k++) {
        Arena *a = arena_new();
        Text report = {.arena = a};
        Fn *f = good(a);
        assert_verifies(f);
        bad_program[k].break_it(f);
        assert_true(ir_verify(f, &report) > 0);
        assert_true(ir_verify(f, NULL) > 0);
        if (!strstr(report.text, bad_program[k].message))
            fail_msg("said '%s', expected '%s'", report.text, bad_program[k].message);
        arena_free(a);
    }
}

/* All of them, not the first alone. */
static void test_every_violation(void **state) {
    (void)state;
    Arena *a = arena_new();
    Fn *f = good(a);
    break_type(f);
    break_bits(f);
    break_result_names(f);
    assert_int_equal(ir_verify(f, NULL), 3);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_programs),
        cmocka_unit_test(test_every_violation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
