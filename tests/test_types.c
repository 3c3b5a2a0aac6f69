/* What type inference accepts and what it refuses: each rule just inside and just outside. */
#include "ir/type.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { V = 1, W, EDGES, DENSE = SET_ALL }; /* relation 0 leads from V to W */
#define SRC 0
#define DST 1
#define ALL(set) (-1 - (set)) /* the map from it to `all` */

typedef struct {
    char name;
    Dtype dtype;
    Set set;
    int rank;
    int64_t dim[MAX_RANK];
} Operand;

static const Operand operands[] = {
    {'a', DT_f32, V, 2, {2, 3}},
    {'b', DT_f32, V, 2, {3, 2}},
    {'c', DT_f32, V, 2, {1, 3}},
    {'d', DT_f64, V, 2, {2, 3}},
    {'i', DT_i32, V, 2, {2, 3}},
    {'o', DT_bool, V, 2, {2, 3}},
    {'w', DT_f32, W, 2, {2, 3}},
    {'e', DT_f32, EDGES, 2, {2, 3}},
    {'s', DT_f32, EDGES, 2, {2, 1}},
    {'t', DT_f32, EDGES, 2, {2, 2}},
    {'u', DT_f64, EDGES, 2, {2, 1}},
    {'v', DT_f32, EDGES, 1, {3}},
    {'j', DT_i64, EDGES, 2, {2, 3}},
    {'q', DT_bool, EDGES, 0, {0}},
    {'x', DT_f32, V, 3, {2, 2, 3}},
    {'y', DT_f32, V, 3, {2, 3, 2}},
    {'z', DT_f32, V, 3, {1, 3, 2}},
    {'8', DT_f32, V, 8, {1, 1, 1, 1, 1, 1, 1, 1}},
    {'h', DT_f32, V, 1, {(int64_t)1 << 40}},
    {'W', DT_f32, DENSE, 2, {-1 - W, 3}}, /* a row for each element of W */
    {'k', DT_f32, DENSE, 1, {3}},
    {'l', DT_f32, DENSE, 0, {0}},
};
enum { NUM_OPERANDS = sizeof operands / sizeof *operands };

typedef struct {
    Op op;
    const char *args;
    Attr attr;
    const char *refused; /* NULL: accepted */
} Case;

#define INTS(...)                                                                                  \
    {.ints = (const int64_t[]){__VA_ARGS__},                                                       \
     .num_ints = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)}
#define SHAPE(r, ...)                                                                              \
    {                                                                                              \
        .type = {.rank = r, .dim = {__VA_ARGS__} }                                                 \
    }
#define ON(s)                                                                                      \
    {                                                                                              \
        .type = {.set = s }                                                                        \
    }
#define NO_FIT "not broadcast to the shape asked for"
#define OUTSIDE "reaches outside the operand"
#define FOLD_AXES "axes out of range or not rising"

static const Case cases[] = {
    {OP_add, "aa", {0}, NULL},
    {OP_add, "aw", {0}, "different sets"},
    {OP_add, "ab", {0}, "feature shapes differ"},
    {OP_add, "ad", {0}, "dtypes differ"},
    {OP_add, "oo", {0}, "not defined for this dtype"},
    {OP_add, "a", {0}, "1 operands, expected 2"},
    {OP_exp, "i", {0}, "not defined for this dtype"},
    {OP_isnan, "d", {0}, NULL},
    {OP_isnan, "i", {0}, "not defined for this dtype"},
    {OP_and, "ii", {0}, NULL},
    {OP_and, "oo", {0}, NULL},
    {OP_and, "aa", {0}, "not defined for this dtype"},
    {OP_and, "dd", {0}, "not defined for this dtype"},
    {OP_where, "oaa", {0}, NULL},
    {OP_where, "oad", {0}, "dtypes differ"},
    {OP_where, "iaa", {0}, "not defined for this dtype"},
    {OP_where, "oab", {0}, "feature shapes differ"},
    {OP_fsum, "a", INTS(0, 1), NULL},
    {OP_fsum, "a", INTS(1, 0), FOLD_AXES},
    {OP_fsum, "a", INTS(1, 1), FOLD_AXES},
    {OP_fsum, "a", INTS(2), FOLD_AXES},
    {OP_fsum, "a", INTS(-1), FOLD_AXES},
    {OP_fsum, "o", INTS(0), "not defined for bool"},
    {OP_cumsum, "a", INTS(1, 1), NULL},
    {OP_cumsum, "a", INTS(2, 0), "an axis of the operand, and 0 or 1"},
    {OP_cumsum, "a", INTS(0, 2), "an axis of the operand, and 0 or 1"},
    {OP_cumsum, "o", INTS(0, 0), "not defined for bool"},
    {OP_cumsum, "W", INTS(0, 0), "not along a set's extent"},
    {OP_bcast, "c", SHAPE(3, 5, 2, 3), NULL},
    {OP_bcast, "c", SHAPE(2, 0, 3), NULL},
    {OP_bcast, "a", SHAPE(2, 3, 3), NO_FIT},
    {OP_bcast, "a", SHAPE(2, 4, 6), NO_FIT},
    {OP_bcast, "a", SHAPE(2, 1, 3), NO_FIT},
    {OP_bcast, "a", SHAPE(1, 3), "lower rank"},
    {OP_bcast, "a", SHAPE(9, 1), "more than 8 axes"},
    {OP_reshape, "a", SHAPE(1, 6), NULL},
    {OP_reshape, "a", SHAPE(1, 7), "another number of elements"},
    {OP_reshape, "a", SHAPE(1, 5), "another number of elements"},
    {OP_reshape, "W", SHAPE(2, 3, -1 - W), NULL},
    {OP_reshape, "k", SHAPE(2, 3, -1 - W), "another number of elements"},
    {OP_reshape, "W", SHAPE(1, 3), "another number of elements"},
    {OP_transpose, "a", INTS(1, 0), NULL},
    {OP_transpose, "a", INTS(0, 0), "not a permutation"},
    {OP_transpose, "a", INTS(0, 2), "not a permutation"},
    {OP_transpose, "a", INTS(-1, 0), "not a permutation"},
    {OP_transpose, "a", INTS(0), "one axis for each"},
    {OP_slice, "a", INTS(0, 2, 1, 0, 2, 2), NULL},
    {OP_slice, "a", INTS(0, 2, 1, 2, 1, 1), NULL},
    {OP_slice, "a", INTS(0, 2, 1, 3, 0, 1), NULL},
    {OP_slice, "a", INTS(0, 2, 1, 1, 2, 2), OUTSIDE},
    {OP_slice, "a", INTS(0, 2, 1, 1, 3, 1), OUTSIDE},
    {OP_slice, "a", INTS(0, 2, 1, 0, 2, 3), OUTSIDE},
    {OP_slice, "a", INTS(0, 2, 1, 3, 1, 1), OUTSIDE},
    {OP_slice, "a", INTS(-1, 2, 1, 0, 3, 1), OUTSIDE},
    {OP_slice, "a", INTS(0, -1, 1, 0, 3, 1), OUTSIDE},
    {OP_slice, "a", INTS(0, 2, 0, 0, 3, 1), OUTSIDE},
    {OP_slice, "a", INTS(0, 2, 1), "start, count, step"},
    {OP_slice, "W", INTS(0, -1 - W, 1, 0, 2, 1), NULL},
    {OP_slice, "W", INTS(1, -1 - W, 1, 0, 2, 1), "cannot be sliced"},
    {OP_slice, "W", INTS(0, 1, 1, 0, 2, 1), "cannot be sliced"},
    {OP_slice, "W", INTS(0, -1 - W, 2, 0, 2, 1), "cannot be sliced"},
    {OP_pad, "a", INTS(1, 0, 2, 0, 0, 0), NULL},
    {OP_pad, "a", INTS(-1, 0, 0, 0, 0, 0), "negative padding"},
    {OP_pad, "a", INTS(0, -1, 0, 0, 0, 0), "negative padding"},
    {OP_pad, "a", INTS(0, 0, 0, 0, 0, -1), "negative padding"},
    {OP_pad, "a", INTS(0, 0, 0), "low, high, interior"},
    {OP_pad, "a", INTS(INT64_MAX, 0, 0, 0, 0, 0), "too many elements"},
    {OP_pad, "a", INTS(0, 0, INT64_MAX, 0, 0, 0), "too many elements"},
    {OP_pad, "W", INTS(0, 1, 0, 0, 0, 0), "cannot be padded"},
    {OP_concat, "ac", INTS(0), NULL},
    {OP_concat, "ab", INTS(0), "differ outside the axis"},
    {OP_concat, "ax", INTS(0), "differ outside the axis"},
    {OP_concat, "ac", INTS(1), "differ outside the axis"},
    {OP_concat, "aw", INTS(0), "different sets"},
    {OP_concat, "ad", INTS(0), "dtypes differ"},
    {OP_concat, "aa", INTS(2), "axis out of range"},
    {OP_concat, "WW", INTS(0), "differ outside the axis"},
    {OP_concat, "", INTS(0), "parts and one axis"},
    {OP_matmul, "ab", {0}, NULL},
    {OP_matmul, "ba", {0}, NULL},
    {OP_matmul, "aa", {0}, "inner axes differ"},
    {OP_matmul, "bb", {0}, "inner axes differ"},
    {OP_matmul, "xy", {0}, NULL},
    {OP_matmul, "xz", {0}, "leading axes differ"},
    {OP_matmul, "xb", {0}, "two equal ranks"},
    {OP_matmul, "hh", {0}, "two equal ranks"},
    {OP_matmul, "wb", {0}, "different sets"},
    {OP_matmul, "db", {0}, "two floats of one dtype"},
    {OP_matmul, "ii", {0}, "two floats of one dtype"},
    {OP_gather, "a", {.map = SRC}, NULL},
    {OP_gather, "w", {.map = DST}, NULL},
    {OP_gather, "w", {.map = SRC}, "does not live where the map leads"},
    {OP_gather, "a", {.map = 2}, "no such map"},
    {OP_gather, "a", {.map = MAP_NONE}, "no such map"},
    {OP_gather, "k", {.map = ALL(V)}, NULL},
    {OP_gather, "k", {.map = ALL(99)}, "no such map"},
    {OP_gather, "W", {.map = ALL(V)}, "extent of a set cannot be spread"},
    {OP_reduce, "e", {.map = DST}, NULL},
    {OP_reduce, "a", {.map = DST}, "does not live where the map starts"},
    {OP_reduce, "e", {.map = 3}, "no such map"},
    {OP_reduce, "a", {.map = ALL(V)}, NULL},
    {OP_reduce, "a", {.map = ALL(W)}, "does not live where the map starts"},
    {OP_rmax, "j", {.map = DST}, NULL},
    {OP_rmax, "q", {.map = DST}, "not defined for bool"},
    {OP_rmax, "w", {.map = DST}, "does not live where the map starts"},
    {OP_softmax, "se", {.map = DST}, NULL},
    {OP_softmax, "ee", {.map = DST}, NULL},
    {OP_softmax, "te", {.map = DST}, "does not broadcast to the value"},
    {OP_softmax, "es", {.map = DST}, "does not broadcast to the value"},
    {OP_softmax, "ve", {.map = DST}, "must have one rank"},
    {OP_softmax, "ue", {.map = DST}, "floats of one dtype"},
    {OP_softmax, "jj", {.map = DST}, "floats of one dtype"},
    {OP_softmax, "sa", {.map = DST}, "does not live where the map starts"},
    {OP_degree, "", {.map = SRC}, NULL},
    {OP_degree, "", {.map = 2}, "no such map"},
    {OP_iota, "", ON(EDGES), NULL},
    {OP_iota, "", ON(SET_ALL), "a set of nodes or edges"},
    {OP_iota, "", ON(EDGES + 1), "a set of nodes or edges"},
    {OP_enter, "W", ON(W), NULL},
    {OP_enter, "W", ON(V), "first extent is the set's"},
    {OP_enter, "k", ON(W), "first extent is the set's"},
    {OP_enter, "l", ON(W), "first extent is the set's"},
    {OP_enter, "w", ON(W), "first extent is the set's"},
    {OP_leave, "a", {0}, NULL},
    {OP_leave, "8", {0}, "needs a value on a set"},
    {OP_leave, "k", {0}, "needs a value on a set"},
    {OP_result, "m", {.index = 1}, NULL},
    {OP_result, "m", {.index = 2}, "no such result"},
    {OP_result, "a", {.index = 0}, "no such result"},
    {OP_neg, "m", {0}, "several results (take one)"},
};

static void check_case(Fn *f, const Val *value, const Case *c) {
    Val args[8];
    Type types[MAX_RESULTS];
    uint32_t n = (uint32_t)strlen(c->args), num = 0;
    for (uint32_t k = 0; k < n; k++) args[k] = value[(unsigned char)c->args[k]];
    Status st = type_infer(f, c->op, args, n, &c->attr, types, &num);
    const char *name = op_info[c->op].name;
    if (!c->refused && st) fail_msg("%s of %s: %s", name, c->args, err_message());
    if (c->refused && !st) fail_msg("%s of %s: accepted, not '%s'", name, c->args, c->refused);
    if (c->refused && !strstr(err_message(), c->refused))
        fail_msg("%s of %s: '%s', not '%s'", name, c->args, err_message(), c->refused);
}

static Fn *environment(Arena *a, Val *value) {
    Fn *f = ir_new(a, "f");
    ir_set(f, "V");
    ir_set(f, "W");
    ir_relation(f, "r", V, W);
    for (int k = 0; k < NUM_OPERANDS; k++) {
        const Operand *o = &operands[k];
        const char *name = arena_printf(a, "%c", o->name);
        value[(unsigned char)o->name] =
            ir_input(f, name, type_of(o->dtype, o->set, o->rank, o->dim));
    }
    value['m'] = ir_rmax(f, value['e'], DST);
    assert_int_equal(f->status, ST_OK);
    return f;
}

static void test_rules(void **state) {
    (void)state;
    Arena *a = arena_new();
    Val value[256] = {0};
    Fn *f = environment(a, value);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) check_case(f, value, &cases[k]);
    arena_free(a);
}

static void test_types_alone(void **state) {
    (void)state;
    Arena *a = arena_new();
    Val value[256] = {0};
    Fn *f = environment(a, value);
    static const struct {
        Type type;
        const char *fault;
    } faults[] = {
        {{.dtype = DT_f32, .rank = 8, .dim = {1, 1, 1, 1, 1, 1, 1, 1}}, NULL},
        {{.dtype = DT_f32, .rank = 9}, "more than 8 axes"},
        {{.dtype = NUM_DTYPES}, "no such dtype"},
        {{.dtype = DT_f32, .set = EDGES + 1}, "no such set"},
        {{.dtype = DT_f32, .rank = 1, .dim = {2, 1}}, "an extent past the rank"},
        {{.dtype = DT_f32, .set = V, .rank = 1, .dim = {-1 - W}}, "stands on `all` only"},
        {{.dtype = DT_f32, .rank = 1, .dim = {-1 - (EDGES + 1)}}, "no such set"},
        {{.dtype = DT_f32, .rank = 1, .dim = {-1}}, "the extent of `all` is 1"},
        {{.dtype = DT_f32, .rank = 1, .dim = {(int64_t)1 << 40}}, NULL},
        {{.dtype = DT_f32, .rank = 1, .dim = {((int64_t)1 << 40) + 1}}, "more than 2^40"},
        {{.dtype = DT_f32, .rank = 2, .dim = {(int64_t)1 << 40, (int64_t)1 << 40}},
         "more than 2^40"},
        {{.dtype = DT_f32, .rank = 2, .dim = {(int64_t)1 << 40, 0}}, NULL},
    };
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
        const char *fault = type_fault(f, &faults[k].type);
        if (!faults[k].fault != !fault || (fault && !strstr(fault, faults[k].fault)))
            fail_msg("type %zu: '%s', not '%s'", k, fault ? fault : "sound",
                     faults[k].fault ? faults[k].fault : "sound");
    }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_types_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
