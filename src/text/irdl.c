/* The operation table as an IRDL description: what stock mlir-opt can check of our text besides its
 * syntax. Written in a namespace that IRDL does not know: gf_ctl.yield (a registered operation could
 * not end a block), concat, row_scan, traverse and launch (see text.h). */
#include "text/text.h"

#include <string.h>

static bool is_described(Op op) { return text_op_name(op) && op_info[op].arity >= 0; }

static void put_list(Text *t, const char *what, uint32_t n, const char *stem) {
    if (n == 0) return;
    text_putf(t, "      irdl.%s(", what);
    for (uint32_t k = 0; k < n; k++)
        text_putf(t, "%s%s%u: %%%s%u", k ? ", " : "", stem, k, stem, k);
    text_put(t, ")\n");
}

static void put_any(Text *t, uint32_t n, const char *stem) {
    for (uint32_t k = 0; k < n; k++) text_putf(t, "      %%%s%u = irdl.any\n", stem, k);
}

/* Any number of operands of one type, and that result. */
static void put_nary(Text *t) {
    text_put(t, "      %x = irdl.any\n      irdl.operands(x0: %x, x: variadic %x)\n"
                "      irdl.results(y: %x)\n");
}

static void put_operation(Text *t, Op op) {
    const OpInfo *info = &op_info[op];
    uint32_t operands = op == OP_input ? 1 : (uint32_t)info->arity;
    text_putf(t, "    irdl.operation @%s {\n", strchr(text_op_name(op), '.') + 1);
    if (info->traits & NARY) {
        put_nary(t);
    } else {
        put_any(t, operands, "x");
        put_any(t, (uint32_t)info->results, "y");
        put_list(t, "operands", operands, "x");
        put_list(t, "results", (uint32_t)info->results, "y");
    }
    text_put(t, "    }\n");
}

static void put_dialect(Text *t, const char *dialect) {
    size_t n = strlen(dialect);
    text_putf(t, "  irdl.dialect @%s {\n", dialect);
    for (int op = OP_none + 1; op < NUM_OPS; op++) {
        const char *name = is_described((Op)op) ? text_op_name((Op)op) : "";
        if (!strncmp(name, dialect, n) && name[n] == '.') put_operation(t, (Op)op);
    }
    text_put(t, "  }\n");
}

/* Declarations, and the encodings of types. */
static const char declarations[] =
    "  irdl.dialect @gf {\n"
    "    irdl.attribute @on {\n      %s = irdl.any\n      irdl.parameters(set: %s)\n    }\n"
    "    irdl.attribute @rows {\n      %s = irdl.any\n      irdl.parameters(sets: %s)\n    }\n"
    "    irdl.operation @set {\n    }\n"
    "    irdl.operation @relation {\n    }\n"
    "    irdl.operation @reducer {\n"
    "      %identity = irdl.region()\n"
    "      %lift = irdl.region\n      %combine = irdl.region\n      %finalize = irdl.region\n"
    "      irdl.regions(identity: %identity, lift: %lift, combine: %combine, finalize: %finalize)\n"
    "    }\n"
    "  }\n";

const char *text_irdl(Arena *a) {
    Text t = {.arena = a};
    text_put(&t, "module {\n");
    text_put(&t, declarations);
    put_dialect(&t, "gf_tensor");
    put_dialect(&t, "gf_mp");
    text_put(&t, "}\n");
    return t.text;
}
