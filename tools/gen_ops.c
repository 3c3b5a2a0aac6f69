/* Prints tiga_ops.h: the template on stdin's place (argv[1]) with the line @OPS@ replaced by one
 * inline function for each elementwise row of op.def. */
#include <stdio.h>
#include <string.h>

static void print_op(const char *op, int arity) {
    static const char *const params[] = {"tg_val x", "tg_val x, tg_val y",
                                         "tg_val x, tg_val y, tg_val z"};
    static const char *const args[] = {"x", "x, y", "x, y, z"};
    printf("static inline tg_val tg_%s(tg_builder *b, %s) {\n", op, params[arity - 1]);
    printf("    tg_val args[] = {%s};\n", args[arity - 1]);
    printf("    return tg_apply(b, \"%s\", args, %d, NULL, 0);\n}\n", op, arity);
}

static void print_ops(void) {
#define ELEM(op, arity, ...) print_op(#op, arity);
#include "ir/op.def"
}

int main(int argc, char **argv) {
    FILE *in = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!in) return fprintf(stderr, "usage: gen_ops TEMPLATE\n"), 1;
    char line[512];
    while (fgets(line, sizeof line, in)) {
        if (strcmp(line, "@OPS@\n") == 0) print_ops();
        else fputs(line, stdout);
    }
    fclose(in);
    return 0;
}
