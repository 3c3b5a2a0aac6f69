/* The generator's own doors: targets that are not the host's, texts, refusals. */
#include "plan_programs.h"

#include "codegen/codegen.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static CodegenCompile *compile;
static CodegenText *text;
static char message[1000];
static const uint8_t dense[64];

static CompileRequest request_of(const Kernel *k, const char *cpu) {
    return (CompileRequest){.kernel = k,
                            .cpu = cpu,
                            .features = "",
                            .layout = dense,
                            .split = !k->whole_rows,
                            .prefetch = true};
}

static void check_image(const char *what, const Kernel *k, const char *cpu) {
    CompileRequest r = request_of(k, cpu);
    Image image;
    if (compile(&r, &image, message, sizeof message)) fail_msg("%s for %s: %s", what, cpu, message);
    assert_true(image.size > 0);
    for (int i = 0; i < NUM_ENTRIES; i++) assert_true(image.entry[i] < image.size);
    free(image.bytes);
}

static void every_program_for_every_target(void **state) {
    (void)state;
    static const char *const cpus[] = {"", "x86_64-pc-linux-gnu:haswell",
                                       "x86_64-pc-linux-gnu:sapphirerapids",
                                       "aarch64-linux-gnu:neoverse-n1"};
    for (size_t p = 0; p < NUM_PROGRAMS; p++) {
        Fn *f = program_build(&programs[p]), *joint = with_gradients(f, "y");
        Fn *g = opt_prepare(arena_new(), joint);
        Plan *plan = plan_run(arena_new(), g);
        for (uint32_t k = 0; k < plan->kernels.len; k++)
            for (size_t c = 0; c < sizeof cpus / sizeof *cpus; c++)
                check_image(programs[p].name, &plan->kernels.data[k], cpus[c]);
        arena_free(plan->arena);
        ir_free(g), ir_free(joint), ir_free(f);
    }
}

/* Every conversion of halves, in vectors and one by one, without a function of the C library. */
static void halves_for_every_target(void **state) {
    (void)state;
    static const char *const cpus[] = {"", "x86_64-pc-linux-gnu:haswell",
                                       "x86_64-pc-linux-gnu:sapphirerapids",
                                       "aarch64-linux-gnu:neoverse-n1"};
    static const char *const features[] = {"", "-f16c", "", "-fullfp16"};
    for (int from = 0; from < NUM_DTYPES; from++) {
        Fn *f = homogeneous();
        for (int64_t n = 1; n <= 19; n += 18) {
            Val x = ir_input(f, n == 1 ? "x" : "y", type_of((Dtype)from, H, 1, &n));
            for (Dtype to = 0; to < NUM_DTYPES; to++)
                ir_add_result(f, arena_printf(f->arena, "%s%d", dtype_name(to), (int)n),
                              ir_cast(f, x, to));
        }
        Plan *plan = plan_run(arena_new(), f);
        for (size_t c = 0; c < sizeof cpus / sizeof *cpus; c++) {
            CompileRequest r = request_of(&plan->kernels.data[0], cpus[c]);
            Image image;
            r.features = features[c];
            if (compile(&r, &image, message, sizeof message)) fail_msg("%s: %s", cpus[c], message);
            free(image.bytes);
        }
        arena_free(plan->arena);
        ir_free(f);
    }
}

/* The first kernel of a program; *plan ends it. */
static const Kernel *first_kernel(Fn *f, Plan **plan) {
    assert_int_equal(f->status, ST_OK);
    *plan = plan_run(arena_new(), f);
    return &(*plan)->kernels.data[0];
}

static void texts_of_every_kind(void **state) {
    (void)state;
    static const char *const kinds[] = {"llvm", "llvm-opt", "asm", "object"};
    Fn *f = program_build(&programs[0]);
    Plan *plan;
    CompileRequest r = request_of(first_kernel(f, &plan), "");
    for (size_t k = 0; k < 4; k++) {
        char *out = NULL;
        size_t len = 0;
        assert_int_equal(text(&r, kinds[k], &out, &len, message, sizeof message), ST_OK);
        assert_true(len > 100);
        free(out);
    }
    char *none = NULL;
    size_t len = 0;
    assert_int_equal(text(&r, "ptx", &none, &len, message, sizeof message), ST_NAME);
    assert_non_null(strstr(message, "ptx"));
    assert_null(none);
    arena_free(plan->arena);
    ir_free(f);
}

/* Vectors are as wide as the target's, whatever feature names begin alike. */
static void lanes_follow_the_target(void **state) {
    (void)state;
    static const struct {
        const char *cpu, *features, *has, *has_not;
    } targets[] = {{"znver4", "-avx512fp16", "zmm", "none"},
                   {"znver4", "-avx512f", "ymm", "zmm"},
                   {"haswell", "", "ymm", "zmm"},
                   {"haswell", "+avx512f,+avx512vl,+avx512bw,+avx512dq", "zmm", "none"}};
    Fn *f = homogeneous();
    ir_add_result(f, "y", sum_dst(f, at_src(f, in_vec(f, "x", H, 16))));
    Plan *plan;
    CompileRequest r = request_of(first_kernel(f, &plan), NULL);
    for (size_t k = 0; k < sizeof targets / sizeof *targets; k++) {
        char cpu[64], *out = NULL;
        size_t len = 0;
        snprintf(cpu, sizeof cpu, "x86_64-pc-linux-gnu:%s", targets[k].cpu);
        r.cpu = cpu;
        r.features = targets[k].features;
        assert_int_equal(text(&r, "asm", &out, &len, message, sizeof message), ST_OK);
        assert_non_null(strstr(out, targets[k].has));
        assert_null(strstr(out, targets[k].has_not));
        free(out);
    }
    arena_free(plan->arena);
    ir_free(f);
}

/* Contraction shows in the text where it is asked for, and nowhere else. */
static void fast_math_is_asked_for(void **state) {
    (void)state;
    Fn *f = homogeneous();
    Val x = at_src(f, in_vec(f, "x", H, 16));
    ir_add_result(f, "y", sum_dst(f, ir_add(f, ir_mul(f, x, x), x)));
    Plan *plan;
    CompileRequest r = request_of(first_kernel(f, &plan), "x86_64-pc-linux-gnu:haswell");
    for (int fast = 0; fast < 2; fast++) {
        char *out = NULL;
        size_t len = 0;
        r.fast_math = fast;
        assert_int_equal(text(&r, "asm", &out, &len, message, sizeof message), ST_OK);
        assert_int_equal(strstr(out, "vfmadd") != NULL, fast);
        free(out);
    }
    arena_free(plan->arena);
    ir_free(f);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    Fn *f = program_build(&programs[0]);
    Plan *plan;
    const Kernel *k = first_kernel(f, &plan);
    static const struct {
        const char *cpu, *word;
    } refused[] = {{"x86_64-pc-linux-gnu:x86-64", "x86-64"},
                   {"x86_64-pc-linux-gnu:nehalem", "nehalem"},
                   {"nothing-at-all:x", "nothing-at-all"},
                   {"riscv64-linux-gnu:generic", "riscv64"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        CompileRequest r = request_of(k, refused[i].cpu);
        Image image = {.size = 7};
        assert_int_equal(compile(&r, &image, message, sizeof message), ST_UNSUPPORTED);
        if (!strstr(message, refused[i].word))
            fail_msg("'%s' is not in: %s", refused[i].word, message);
        assert_int_equal(image.size, 7);
    }
    arena_free(plan->arena);
    ir_free(f);
}

static int open_generator(void **state) {
    (void)state;
    void *handle = dlopen(getenv("TIGA_CODEGEN"), RTLD_NOW | RTLD_LOCAL);
    if (!handle) return -1;
    *(void **)&compile = dlsym(handle, CODEGEN_COMPILE_SYMBOL);
    *(void **)&text = dlsym(handle, CODEGEN_TEXT_SYMBOL);
    return compile && text ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_program_for_every_target),
        cmocka_unit_test(halves_for_every_target),
        cmocka_unit_test(texts_of_every_kind),
        cmocka_unit_test(lanes_follow_the_target),
        cmocka_unit_test(fast_math_is_asked_for),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, open_generator, NULL);
}
