/* Any bytes as a module of IR text. */
#include "fuzz/common.h"

typedef struct {
    const char *text;
    size_t size;
} Input;

static Status body(void *ctx) {
    const Input *q = ctx;
    Arena *a = arena_new();
    Module m = {0};
    Status st = text_parse(a, q->text, q->size, &m);
    if (!st) fuzz_text("the module", text_print_module(a, &m));
    for (uint32_t k = 0; !st && k < m.functions.len; k++) {
        const Fn *f = m.functions.data[k];
        if (!ir_verify(f, NULL) && ir_count(f) < MAX_VALUES) fuzz_function(f);
    }
    arena_free(a);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Input q = {(const char *)data, size};
    fuzz_graph();
    fuzz_run(body, &q);
    return 0;
}
