/* A bug of Tiga's own gives TG_EBUG, says where the program is, and leaves the process as it was. */
#include "tiga/tiga.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const int64_t row_ptr[] = {0, 1}, col_idx[] = {0};

/* The file that the message names, read and removed; yours. */
static char *kept_program(const char *message) {
    char path[512];
    const char *at = strstr(message, "the program is in ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "the program is in %511s", path), 1);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *text = calloc(1, 1 << 16);
    assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    assert_int_equal(remove(path), 0);
    return text;
}

static void a_bug_keeps_the_program(void **state) {
    (void)state;
    float x[] = {2}, out[] = {-1};
    tg_graph *g = tg_graph_csr(1, 1, row_ptr, col_idx);
    tg_program *p = tg_program_new("out = sum(src.x) * 3");
    const tg_arg args[] = {{"src.x", tg_f32(x, 1)}, {"out", tg_f32(out, 1)}};
    assert_int_equal(tg_run(p, g, TG_ARGS(args)), TG_EBUG);
    assert_non_null(strstr(tg_errmsg(), "a seeded bug"));
    char *text = kept_program(tg_errmsg());
    assert_float_equal(out[0], -1, 0);

    tg_program *again = tg_program_parse(text);
    assert_non_null(again);
    assert_int_equal(tg_reference(again, g, TG_ARGS(args)), TG_OK);
    assert_float_equal(out[0], 6, 0);
    free(text);

    tg_call *call = tg_bind(p, g, TG_ARGS(args));
    assert_non_null(call);
    assert_int_equal(tg_call_run(call), TG_EBUG);
    free(kept_program(tg_errmsg()));
    tg_call_free(call);
    tg_program_free(again);
    tg_program_free(p);
    tg_graph_free(g);
}

static void a_folder_that_cannot_be_written(void **state) {
    (void)state;
    float x[] = {2}, out[] = {-1};
    setenv("TMPDIR", "/nowhere", 1);
    tg_graph *g = tg_graph_csr(1, 1, row_ptr, col_idx);
    tg_program *p = tg_program_new("out = sum(src.x) * 3");
    const tg_arg args[] = {{"src.x", tg_f32(x, 1)}, {"out", tg_f32(out, 1)}};
    assert_int_equal(tg_run(p, g, TG_ARGS(args)), TG_EBUG);
    assert_non_null(strstr(tg_errmsg(), "a seeded bug"));
    assert_null(strstr(tg_errmsg(), "/nowhere"));
    tg_program_free(p);
    tg_graph_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_bug_keeps_the_program),
                                       cmocka_unit_test(a_folder_that_cannot_be_written)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
