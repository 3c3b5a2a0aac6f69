/* Any bytes as a formula over a fixed set of inputs, and its first and second gradients. */
#include "fuzz/common.h"

#include "capture/meaning.h"
#include "opt/vjp.h"

static const FormulaInput inputs[] = {
    {"src.x", DT_f32, 0, {0}},  {"dst.x", DT_f32, 0, {0}},     {"node.x", DT_f32, 0, {0}},
    {"edge.w", DT_f32, 0, {0}}, {"edge.k", DT_i64, 0, {0}},    {"dst.m", DT_bool, 0, {0}},
    {"src.d", DT_f64, 0, {0}},  {"node.h", DT_f32, 1, {2}},    {"src.h", DT_f32, 1, {2}},
    {"edge.h", DT_f32, 1, {2}}, {"src.q", DT_f32, 2, {2, 3}},  {"node.i", DT_i32, 1, {3}},
    {"edge.z", DT_f32, 1, {0}}, {"edge.v", DT_f32, 2, {2, 1}}, {"W", DT_f32, 2, {2, 3}},
    {"b", DT_f32, 1, {3}},      {"a", DT_f32, 0, {0}},         {"n", DT_i64, 0, {0}},
    {"D", DT_f64, 2, {2, 2}},   {"T", DT_f32, 3, {1, 3, 2}}};
enum { NUM_INPUTS = sizeof inputs / sizeof *inputs };
static const char *const results[] = {"h", "out"};

/* The sum of the gradients that the function has; NULL where no float result or input is there. */
static Fn *gradient_of(Arenas *s, const Fn *f) {
    const char *out = NULL, *wrt[MAX_ENDS];
    uint32_t n = 0;
    for (uint32_t k = 0; k < f->results.len; k++)
        if (dtype_is_float((Dtype)ir_type(f, f->results.data[k].val)->dtype))
            out = f->results.data[k].name;
    for (uint32_t k = 0; k < f->inputs.len && n < MAX_ENDS; k++)
        if (dtype_is_float((Dtype)ir_type(f, f->inputs.data[k].val)->dtype))
            wrt[n++] = f->inputs.data[k].name;
    if (!out || !n) return NULL;
    Fn *g;
    Arena *a = fuzz_arena(s);
    Status st = vjp_run(a, f, &out, 1, wrt, n, NULL, &g);
    FUZZ_CHECK(!st, "no gradient: %s", err_message());
    fuzz_verify("vjp_run", g);
    return g;
}

static Status body(void *text) {
    Arenas s = {0};
    Arena *a = fuzz_arena(&s);
    Formula formula;
    Fn *f;
    Status st = formula_parse(a, text, &formula);
    if (!st) st = formula_build(a, &formula, inputs, NUM_INPUTS, results, 2, &f);
    const Fn *g = st ? NULL : f;
    for (int order = 0; g && order <= 2 && ir_count(g) < MAX_VALUES / 4; order++) {
        fuzz_verify("formula_build", g);
        fuzz_function(g);
        g = gradient_of(&s, g);
    }
    for (int k = 0; k < s.len; k++) arena_free(s.all[k]);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    fuzz_graph();
    memcpy(text, data, size);
    text[size] = 0;
    fuzz_run(body, text);
    free(text);
    return 0;
}
