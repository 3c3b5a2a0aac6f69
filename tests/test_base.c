/* Switches, the error record and guards, arenas, failing allocations, hashes. */
#include "base/debug.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void switches(void **state) {
    (void)state;
    assert_string_equal(debug_get("OFF"), "move,fuse");
    assert_true(debug_has("OFF", "move") && debug_has("OFF", "fuse"));
    assert_false(debug_has("OFF", "mov") || debug_has("OFF", "") || debug_has("OFF", "move,fuse"));
    assert_null(debug_get("DUMP"));
    assert_null(debug_get("DUMP")); /* set to nothing is unset */
    assert_false(debug_has("DUMP", "x"));
    setenv("TIGA_OFF", "late", 1);
    assert_string_equal(debug_get("OFF"), "move,fuse");
}

static void switches_print_help(void **state) {
    (void)state;
    static const char *const names[] = {"DEBUG",   "DUMP",  "VERIFY", "EXEC",      "OFF",
                                        "THREADS", "STATS", "PERF",   "CACHE_DIR", "FAST_MATH"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *line = strstr(debug_help(), names[i]);
        assert_non_null(line);
        assert_memory_equal(line - 5, "TIGA_", 5);
    }
    assert_int_equal(debug_help()[strlen(debug_help()) - 1], '\n');
}

static Status ask_unknown(void *ctx) {
    (void)ctx;
    debug_get("NONSENSE");
    return ST_OK;
}

static void unknown_switch_is_a_bug(void **state) {
    (void)state;
    assert_int_equal(guard_run(ask_unknown, NULL), ST_BUG);
}

static void error_record(void **state) {
    (void)state;
    assert_int_equal(err_set(ST_SHAPE, "src has %d entries, dst has %d", 3, 4), ST_SHAPE);
    assert_int_equal(err_status(), ST_SHAPE);
    assert_string_equal(err_message(), "src has 3 entries, dst has 4");
    err_clear();
    assert_int_equal(err_status(), ST_OK);
    assert_string_equal(err_message(), "");
}

static Status use_arenas(void *ctx) {
    Arena *a = arena_new();
    struct {
        VEC(int) ints;
        Text text;
    } x = {.text = {.arena = a}};
    for (int i = 0; i < 1000; i++) *vec_push(a, &x.ints) = i;
    for (int i = 0; i < 300; i++) text_putf(&x.text, "%d,", i);
    char *s = arena_printf(a, "%s|%s", arena_str(a, "left"), "right");
    bool ok = x.ints.data[999] == 999 && !strcmp(s, "left|right") && arena_size(a) > 4000;
    if (ctx) guard_fail(ST_INVAL, "as asked");
    arena_free(a);
    return ok ? ST_OK : ST_BUG;
}

static Status nest(void *ctx) {
    Arena *outer = arena_new();
    Status st = guard_run(use_arenas, ctx);
    arena_str(outer, "still alive");
    arena_free(outer);
    return st;
}

static void guards_free_arenas(void **state) {
    (void)state;
    int64_t live = mem_live();
    assert_int_equal(guard_run(nest, NULL), ST_OK);
    assert_int_equal(mem_live(), live);
    assert_int_equal(guard_run(nest, &live), ST_INVAL);
    assert_string_equal(err_message(), "as asked");
    assert_int_equal(mem_live(), live);
}

static void failing_allocations(void **state) {
    (void)state;
    int64_t live = mem_live(), n = 1;
    for (Status st = ST_NOMEM; st; n++) {
        mem_fail_at(n);
        st = guard_run(nest, NULL);
        mem_fail_at(0);
        assert_true(st == ST_OK || st == ST_NOMEM);
        assert_int_equal(mem_live(), live);
    }
    assert_true(n > 3);
}

static void arenas_align_and_zero(void **state) {
    (void)state;
    Arena *a = arena_new();
    for (size_t size = 0; size < 5000; size += 37) {
        char *p = arena_alloc(a, size);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++) assert_int_equal(p[i], 0);
        memset(p, 0xff, size);
    }
    arena_free(a);
    arena_free(NULL);
}

static void hashes(void **state) {
    (void)state;
    assert_true(hash_str("a", 0) == hash_bytes("a", 1, 0));
    assert_true(hash_str("a", 0) != hash_str("a", 1));
    assert_true(hash_str(NULL, 7) == hash_str("", 7));
    assert_true(hash_u64(1, 0) != hash_u64(2, 0));
}

int main(void) {
    setenv("TIGA_OFF", "move,fuse", 1);
    setenv("TIGA_DUMP", "", 1);
    unsetenv("TIGA_DUMP");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(switches),
        cmocka_unit_test(switches_print_help),
        cmocka_unit_test(unknown_switch_is_a_bug),
        cmocka_unit_test(error_record),
        cmocka_unit_test(guards_free_arenas),
        cmocka_unit_test(failing_allocations),
        cmocka_unit_test(arenas_align_and_zero),
        cmocka_unit_test(hashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
