/* The table of operations, compiled against interpreted, bit for bit: every row in every dtype that it
 * takes, on every set, at every size, dense and strided. Rows of one dtype, set and size share a program. */
#include "codegen_run.h"

#include "base/debug.h"
#include "run/codegen_open.h"
#include "run/disk.h"

#include <stdio.h>

static const Op rows[] = {
#define ELEM(op, ...) OP_##op,
#include "ir/op.def"
};
enum { NUM_ROWS = sizeof rows / sizeof *rows };
static const int64_t sizes[] = {0, 1, 2, 7, 64, 1000};
enum { NUM_SIZES = sizeof sizes / sizeof *sizes };

static const World world = {"a few", 5, 4, 11, 13, false};

static bool takes(Op op, Dtype d) {
    switch ((Signature)op_info[op].signature) {
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

/* The row on inputs a, b, c of type t; the condition of a selection is bool. */
static void add_row(Fn *f, Op op, const Type *t) {
    static const char *const names[] = {"a", "b", "c"};
    Val args[3];
    for (uint32_t k = 0; k < (uint32_t)op_info[op].arity; k++) {
        bool is_condition = op_info[op].signature == S_sel && k == 0;
        args[k] = is_condition
                      ? ir_input(f, "if", type_with_dtype(*t, DT_bool))
                      : ir_cast(f, ir_input(f, names[k], *t), dtype_computed((Dtype)t->dtype));
    }
    Val y = ir_emit(f, op, args, (uint32_t)op_info[op].arity, NULL);
    ir_add_result(f, op_info[op].name,
                  dtype_is_float((Dtype)ir_type(f, y)->dtype) ? ir_cast(f, y, (Dtype)t->dtype) : y);
}

static Fn *all_rows(Dtype d, Set s, int64_t size) {
    Fn *f = ir_new(arena_new(), "rows");
    ir_relation(f, "r", ir_set(f, "U"), ir_set(f, "V"));
    Type t = type_of(d, s, 1, &size);
    for (int k = 0; k < NUM_ROWS; k++)
        if (takes(rows[k], d)) add_row(f, rows[k], &t);
    for (int to = 0; to < NUM_DTYPES; to++)
        ir_add_result(f, dtype_user_name((Dtype)to), ir_cast(f, ir_input(f, "a", t), (Dtype)to));
    assert_int_equal(f->status, ST_OK);
    return f;
}

static void check_rows(Dtype d, Set s, int64_t size, bool odd) {
    char what[64];
    Fn *f = all_rows(d, s, size);
    snprintf(what, sizeof what, "rows of %s on %s [%d]", dtype_user_name(d), f->sets.data[s].name,
             (int)size);
    check_program(what, f, &world, (Check){.fill = FILL_nasty, .odd = odd});
    ir_free(f);
}

static void the_table_compiled_is_interpreted(void **state) {
    (void)state;
    enum { NUM_SETS = 4 }; /* all, U, V, edges */
    if (!codegen_stamp() && !debug_has("EXEC", "interp")) skip();
    for (int d = 0; d < NUM_DTYPES; d++)
        for (Set s = 0; s < NUM_SETS; s++)
            for (int k = 0; k < NUM_SIZES; k++)
                for (int odd = 0; odd < 2; odd++) check_rows((Dtype)d, s, sizes[k], odd);
}

static int begin(void **state) {
    (void)state;
    disk_use_folder("");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table_compiled_is_interpreted)};
    return cmocka_run_group_tests(tests, begin, NULL);
}
