/* Golden messages: tests/formula/bad.txt holds formulas that are refused, bad_bindings.txt arguments that
 * are. A block starts with "---" and what it shows; "bind NAME=DTYPE[SHAPE] ..." binds (else each input of
 * the table below that the formula names), "graph N" has a relation of N sources and 3 destinations,
 * "grad OUTS : WRT" asks for a gradient; what is left is the formula. "=> " is followed by status and message.
 *
 *     test_bad            compares          test_bad --bless    rewrites, for review in the diff */
#include "tiga/tiga.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGS = 24, MAX_TEXT = 1 << 16 };

static bool bless;
static double memory[MAX_ARGS][64];
static const char usual[] =
    "src.x=f32[3] dst.x=f32[3] dst.b=f32[3] node.x=f32[3] edge.w=f32[5] node.h=f32[3,2] "
    "src.h=f32[3,2] "
    "edge.h=f32[5,2] W=f32[2,3] alpha=f32[] src.d=f64[3] edge.k=i64[5] edge.m=bool[5]";

typedef struct {
    char formula[2048];
    const char *bindings, *outs, *wrt;
    int64_t num_src;
} Case;

/* ---- reading a block ---- */

static tg_dtype dtype_of(const char *word, size_t n) {
    static const char *const names[] = {"bool", "i32", "i64", "f32", "f64", "f16", "bf16"};
    for (int k = 0; k < 7; k++)
        if (strlen(names[k]) == n && !memcmp(names[k], word, n)) return (tg_dtype)k;
    return (tg_dtype)77;
}

/* "edge.w=f32[5,2]"; a "?" after it leaves data NULL, a "!" puts it where the first argument is. */
static tg_arg argument_of(char *word, double *data) {
    tg_arg arg = {.name = word};
    char *equals = strchr(word, '='), *bracket = strchr(equals, '[');
    *equals = 0;
    arg.array.dtype = dtype_of(equals + 1, (size_t)(bracket - equals - 1));
    char *p = bracket + 1;
    while (*p != ']') {
        int64_t n = strtoll(p, &p, 10);
        if (arg.array.rank < TG_MAX_RANK) arg.array.shape[arg.array.rank] = n;
        arg.array.rank++;
        p += *p == ',';
    }
    int64_t step = 8;
    for (int k = arg.array.rank < TG_MAX_RANK ? arg.array.rank : TG_MAX_RANK; k-- > 0;) {
        arg.array.stride[k] = step;
        step *= arg.array.shape[k];
    }
    arg.array.data = p[1] == '?' ? NULL : p[1] == '!' ? memory[0] : data;
    return arg;
}

static bool is_named(const char *formula, const char *word) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    return strstr(formula, name) != NULL;
}

static size_t bind(const Case *c, char *text, tg_arg *args) {
    size_t n = 0;
    char *rest = NULL;
    strcpy(text, c->bindings ? c->bindings : usual);
    for (char *word = strtok_r(text, " ", &rest); word && n < MAX_ARGS;
         word = strtok_r(NULL, " ", &rest))
        if (c->bindings || is_named(c->formula, word)) {
            args[n] = argument_of(word, memory[n]);
            n++;
        }
    return n;
}

/* Destroys the block. */
static Case read_case(char *block) {
    Case c = {.num_src = 3};
    char *rest = NULL;
    for (char *line = strtok_r(block, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (!strncmp(line, "---", 3) || !strncmp(line, "//", 2)) continue;
        if (!strncmp(line, "bind ", 5)) c.bindings = line + 5;
        else if (!strncmp(line, "graph ", 6)) c.num_src = atoll(line + 6);
        else if (!strncmp(line, "grad ", 5)) {
            char *colon = strstr(line, " : ");
            *colon = 0;
            c.outs = line + 5;
            c.wrt = colon + 3;
        } else
            snprintf(c.formula + strlen(c.formula), sizeof c.formula - strlen(c.formula), "%s\n",
                     line);
    }
    return c;
}

/* ---- what is said ---- */

static void say(const Case *c, char *out, size_t size) {
    static const char *const words[] = {"OK",     "ETYPE", "EINVAL",  "ERANGE",
                                        "ESHAPE", "ENAME", "ESYNTAX", "EUNSUPPORTED",
                                        "ENOMEM", "EINTR", "EBUG"};
    static const int64_t src[] = {0, 2, 1, 0, 1}, dst[] = {0, 0, 1, 2, 2};
    char text[2048];
    tg_arg args[MAX_ARGS];
    tg_graph *g = tg_graph_coo(3, c->num_src, 5, src, dst);
    tg_program *p = tg_program_new(c->formula);
    if (p && c->outs) {
        tg_program *dp = tg_program_grad(p, c->outs, c->wrt);
        tg_program_free(p);
        p = dp;
    }
    tg_status st = p ? tg_run(p, g, args, bind(c, text, args)) : tg_errcode();
    snprintf(out, size, "=> %s %s\n", words[st], st ? tg_errmsg() : "");
    tg_program_free(p);
    tg_graph_free(g);
}

/* ---- files ---- */

static char *read_file(const char *path) {
    static char text[MAX_TEXT];
    FILE *in = fopen(path, "rb");
    if (!in) fail_msg("%s cannot be read", path);
    text[fread(text, 1, sizeof text - 1, in)] = 0;
    fclose(in);
    return text;
}

/* The file as it should be. */
static void rewrite(const char *old, char *now, size_t size) {
    char block[4096], said[4096];
    size_t used = 0;
    while (*old) {
        const char *end = strstr(old + 1, "\n---");
        size_t n = end ? (size_t)(end + 1 - old) : strlen(old);
        snprintf(block, sizeof block, "%.*s", (int)n, old);
        old += n;
        char *golden = strstr(block, "\n=> ");
        if (golden) golden[1] = 0;
        used += (size_t)snprintf(now + used, size - used, "%s", block);
        if (strncmp(block, "---", 3) != 0) continue; /* the file's head */
        Case c = read_case(block);
        say(&c, said, sizeof said);
        used += (size_t)snprintf(now + used, size - used, "%s", said);
    }
}

static void check_file(const char *name) {
    static char now[MAX_TEXT];
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/formula/%s", getenv("TIGA_SOURCE_ROOT"), name);
    const char *old = read_file(path);
    now[0] = 0;
    rewrite(old, now, sizeof now);
    if (!strcmp(old, now)) return;
    if (!bless) fail_msg("%s differs (--bless rewrites it); it would be\n%s", path, now);
    FILE *out = fopen(path, "wb");
    fputs(now, out);
    fclose(out);
    printf("blessed %s\n", path);
}

static void test_formulas(void **state) {
    (void)state;
    check_file("bad.txt");
}

static void test_bindings(void **state) {
    (void)state;
    check_file("bad_bindings.txt");
}

int main(int argc, char **argv) {
    bless = argc > 1 && !strcmp(argv[1], "--bless");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_bindings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
