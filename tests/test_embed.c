/* What a program that embeds Tiga hooks: its allocator, its log, tensors of other libraries. */
#include "api/dlpack.h"
#include "run/disk.h"
#include "tiga/tiga.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the allocator: in use from main() on ---- */

static _Atomic int64_t taken, given;

static void *count_alloc(void *ctx, size_t size) {
    ++*(_Atomic int64_t *)ctx;
    return malloc(size);
}

static void count_free(void *ctx, void *p) {
    (void)ctx;
    ++given;
    free(p);
}

static tg_status run_sum(const char *formula) {
    const int64_t row_ptr[] = {0, 2, 3, 5}, col_idx[] = {0, 2, 1, 0, 1};
    const float x[] = {1, 2, 3};
    float out[3];
    tg_graph *g = tg_graph_csr(3, 3, row_ptr, col_idx);
    tg_program *p = tg_program_new(formula);
    const tg_arg args[] = {{"src.x", tg_f32(x, 3)}, {"out", tg_f32(out, 3)}};
    tg_status st = tg_run(p, g, args, 2);
    tg_program_free(p);
    tg_graph_free(g);
    return st;
}

static void allocator(void **state) {
    (void)state;
    int64_t before = taken, released = given;
    assert_int_equal(run_sum("out = sum(src.x)"), TG_OK);
    assert_true(taken > before && given > released);
    tg_program *p = tg_program_new("out = sum(src.x)");
    assert_int_equal(tg_set_allocator(NULL, NULL, NULL), TG_EINVAL);
    assert_non_null(strstr(tg_errmsg(), "are in use"));
    tg_program_free(p);
    assert_int_equal(tg_set_allocator(count_alloc, NULL, NULL), TG_EINVAL);
}

/* ---- the log ---- */

typedef struct {
    int count[2];
    char last[2][1024];
} Heard;

static void hear(void *ctx, int severity, const char *text) {
    Heard *h = ctx;
    h->count[severity]++;
    snprintf(h->last[severity], sizeof h->last[severity], "%s", text);
}

/* A folder that others may write to is not trusted, so code is not kept in it. */
static void log_says_what_was_done(void **state) {
    (void)state;
    char folder[] = "/tmp/tiga-log-XXXXXX";
    static Heard heard;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0777), 0);
    disk_use_folder(folder);
    tg_set_log(hear, &heard);
    tg_errclear();
    if (run_sum("out = sum(src.x * 3) + 1")) fail_msg("%s", tg_errmsg());
    assert_int_equal(heard.count[TG_REMARK], 1);
    assert_non_null(strstr(heard.last[TG_REMARK], "compiled kernel"));
    assert_int_equal(heard.count[TG_WARNING], 1);
    assert_non_null(strstr(heard.last[TG_WARNING], folder));
    tg_set_log(NULL, NULL);
    assert_int_equal(run_sum("out = sum(src.x * 5) + 1"), TG_OK);
    assert_int_equal(heard.count[TG_REMARK], 1);
    disk_use_folder(NULL);
    rmdir(folder);
}

/* ---- DLPack ---- */

static void dlpack_round_trip(void **state) {
    (void)state;
    static int32_t data[6] = {1, 2, 3, 4, 5, 6};
    int64_t shape[] = {3, 2}, strides[] = {-2, 1};
    const DLTensor t = {data, {DL_CPU, 0}, 2, {DL_INT, 32, 1}, shape, strides, 16};
    tg_array x;
    assert_int_equal(tg_from_dlpack(&t, &x), TG_OK);
    assert_ptr_equal(x.data, data + 4);
    assert_int_equal(x.dtype, TG_INT32);
    assert_int_equal(x.rank, 2);
    assert_int_equal(x.shape[0], 3);
    assert_int_equal(x.stride[0], -8);
    int released = 0;
    DLManagedTensor *m = tg_to_dlpack(x, NULL, &released);
    assert_non_null(m);
    assert_ptr_equal(m->tensor.data, data + 4);
    assert_int_equal(m->tensor.strides[0], -2);
    assert_int_equal(m->tensor.strides[1], 1);
    assert_int_equal(m->tensor.dtype.bits, 32);
    m->deleter(m);
}

static void note_release(void *owner) { ++*(int *)owner; }

static void dlpack_compact_and_empty(void **state) {
    (void)state;
    double data[6];
    int64_t shape[] = {2, 3}, none[] = {0, 4};
    int released = 0;
    const DLTensor compact = {data, {DL_CPU, 0}, 2, {DL_FLOAT, 64, 1}, shape, NULL, 0};
    const DLTensor empty = {NULL, {DL_CPU, 0}, 2, {DL_BOOL, 8, 1}, none, NULL, 0};
    tg_array x;
    assert_int_equal(tg_from_dlpack(&compact, &x), TG_OK);
    assert_int_equal(x.stride[0], 24);
    DLManagedTensor *m = tg_to_dlpack(x, note_release, &released);
    m->deleter(m);
    assert_int_equal(released, 1);
    assert_int_equal(tg_from_dlpack(&empty, &x), TG_OK);
    assert_null(x.data);
    static const struct {
        DLDataType dl;
        tg_dtype dtype;
    } halves[] = {{{DL_FLOAT, 16, 1}, TG_FLOAT16}, {{DL_BFLOAT, 16, 1}, TG_BFLOAT16}};
    for (int k = 0; k < 2; k++) {
        const DLTensor half = {data, {DL_CPU, 0}, 2, halves[k].dl, shape, NULL, 0};
        assert_int_equal(tg_from_dlpack(&half, &x), TG_OK);
        assert_int_equal(x.dtype, halves[k].dtype);
        assert_int_equal(x.stride[0], 6);
        m = tg_to_dlpack(x, NULL, NULL);
        assert_memory_equal(&m->tensor.dtype, &halves[k].dl, sizeof halves[k].dl);
        m->deleter(m);
    }
    x = tg_dense(data, TG_FLOAT64, 1, shape);
    x.stride[0] = 12;
    assert_null(tg_to_dlpack(x, NULL, NULL));
    assert_int_equal(tg_errcode(), TG_EUNSUPPORTED);
}

static void dlpack_refusals(void **state) {
    (void)state;
    static float data[4];
    static int64_t four[] = {4}, negative[] = {-1}, huge[] = {INT64_MAX};
    static const struct {
        DLTensor tensor;
        tg_status status;
        const char *message;
    } bad[] = {
        {{data, {2, 0}, 1, {DL_FLOAT, 32, 1}, four, NULL, 0}, TG_ETYPE, "CUDA (2)"},
        {{data, {99, 0}, 1, {DL_FLOAT, 32, 1}, four, NULL, 0}, TG_ETYPE, "(99)"},
        {{data, {1, 0}, 1, {DL_BFLOAT, 32, 1}, four, NULL, 0}, TG_ETYPE, "bfloat32"},
        {{data, {1, 0}, 1, {DL_UINT, 8, 1}, four, NULL, 0}, TG_ETYPE, "uint8"},
        {{data, {1, 0}, 1, {DL_FLOAT, 32, 4}, four, NULL, 0}, TG_ETYPE, "4 lanes"},
        {{data, {1, 0}, 1, {DL_FLOAT, 32, 1}, negative, NULL, 0}, TG_ESHAPE, "extent 0 is -1"},
        {{data, {1, 0}, 1, {DL_FLOAT, 32, 1}, NULL, NULL, 0}, TG_ESHAPE, "no shape"},
        {{data, {1, 0}, 10, {DL_FLOAT, 32, 1}, four, NULL, 0}, TG_ESHAPE, "rank 10"},
        {{data, {1, 0}, -1, {DL_FLOAT, 32, 1}, four, NULL, 0}, TG_ESHAPE, "rank -1"},
        {{data, {1, 0}, 1, {DL_FLOAT, 32, 1}, four, huge, 0}, TG_ESHAPE, "stride 0"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        tg_array x = {.rank = 7};
        tg_status st = tg_from_dlpack(&bad[k].tensor, &x);
        if (st != bad[k].status || !strstr(tg_errmsg(), bad[k].message))
            fail_msg("case %zu: status %d, '%s'", k, st, tg_errmsg());
        assert_int_equal(x.rank, 7);
    }
}

/* ---- what the process is ---- */

static void about(void **state) {
    (void)state;
    char *text = tg_about();
    assert_non_null(strstr(text, "LLVM"));
    assert_non_null(strstr(text, tg_version()));
    tg_free(text);
}

int main(void) {
    if (tg_set_allocator(count_alloc, count_free, (void *)&taken)) return puts(tg_errmsg()), 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocator),         cmocka_unit_test(log_says_what_was_done),
        cmocka_unit_test(dlpack_round_trip), cmocka_unit_test(dlpack_compact_and_empty),
        cmocka_unit_test(dlpack_refusals),   cmocka_unit_test(about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
