/* tiga-opt: IR text in, any stage out.
 *
 *   tiga-opt --grad=out:src.x --pass=clean,fma --stage=iter layer.mlir
 *
 * Reads a module from a file or standard input, does what the options say in their order, prints what
 * became of it. Faults go to standard error as "file:line:column: message"; the exit status is 1 then. */
#include "base/mem.h"
#include "base/status.h"
#include "codegen/codegen.h"
#include "text/text.h"
#include "ir/verify.h"
#include "opt/opt.h"
#include "opt/vjp.h"
#include "plan/plan.h"

#include <argp.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Tool Tool;
typedef Status Action(Tool *t, const char *argument);

enum { MAX_ACTIONS = 64 };

struct Tool {
    const char *file;
    struct {
        Action *run;
        const char *argument;
    } actions[MAX_ACTIONS];
    int num_actions;
    bool verify, irdl;
    bool is_printed;     /* by a stage below the IR */
    Arena *arena;        /* of the module parsed, and of text */
    VEC(Arena *) arenas; /* of functions made since */
    Module module;
};

/* ---- what options do ---- */

static Arena *new_arena(Tool *t) {
    Arena *a = arena_new();
    *vec_push(t->arena, &t->arenas) = a;
    return a;
}

static Status verify_all(Tool *t, const char *after) {
    for (uint32_t k = 0; t->verify && k < t->module.functions.len; k++) {
        Text report = {.arena = t->arena};
        const Fn *f = t->module.functions.data[k];
        if (ir_verify(f, &report))
            return err_set(ST_BUG, "@%s after %s:\n%s", f->name, after, report.text);
    }
    return ST_OK;
}

/* The next word of a list, in the arena; NULL at its end. */
static const char *next_word(Tool *t, const char **list, char separator) {
    if (!*list) return NULL;
    const char *start = *list, *end = strchr(start, separator);
    size_t n = end ? (size_t)(end - start) : strlen(start);
    *list = end ? end + 1 : NULL;
    char *word = arena_alloc(t->arena, n + 1);
    memcpy(word, start, n);
    return word;
}

static Status run_passes(Tool *t, const char *list) {
    for (const char *name; (name = next_word(t, &list, ','));) {
        const Pass *pass = opt_find(name);
        if (!pass) return err_set(ST_NAME, "no pass '%s'", name);
        for (uint32_t k = 0; k < t->module.functions.len; k++)
            t->module.functions.data[k] = pass->run(new_arena(t), t->module.functions.data[k]);
        Status st = verify_all(t, name);
        if (st) return st;
    }
    return ST_OK;
}

typedef VEC(const char *) Words;

static Words split(Tool *t, const char *list) {
    Words words = {0};
    for (const char *word; (word = next_word(t, &list, ','));) *vec_push(t->arena, &words) = word;
    return words;
}

/* "out,h:src.x,edge.w" */
static Status run_grad(Tool *t, const char *argument) {
    const char *rest = argument;
    Words outs = split(t, next_word(t, &rest, ':'));
    if (!rest) return err_set(ST_INVAL, "--grad=%s: expected RESULTS:INPUTS", argument);
    Words wrt = split(t, rest);
    for (uint32_t k = 0; k < t->module.functions.len; k++) {
        const Fn *f = t->module.functions.data[k];
        Fn *g;
        Arena *takes = arena_new();
        Status st = vjp_run(takes, f, outs.data, outs.len, wrt.data, wrt.len, NULL, &g);
        if (st) return st;
        *vec_push(t->arena, &t->arenas) = takes;
        t->module.functions.data[k] = g;
    }
    return verify_all(t, "grad");
}

/* ---- stages ---- */

/* The code generator lies beside this program, or where TIGA_CODEGEN says. */
static void *open_codegen(Tool *t) {
    const char *given = getenv("TIGA_CODEGEN");
    if (given && *given) return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n < 0 ? 0 : n] = 0;
    char *slash = strrchr(self, '/');
    if (slash) *slash = 0;
    void *so = dlopen(arena_printf(t->arena, "%s/libtiga_codegen.so", self), RTLD_NOW | RTLD_LOCAL);
    return so ? so : dlopen("libtiga_codegen.so", RTLD_NOW | RTLD_LOCAL);
}

static Status print_code(Tool *t, CodegenText *text, const Kernel *k, const char *kind) {
    uint32_t num_buffers = k->body->inputs.len + k->body->results.len;
    uint8_t *layout = ARENA_ARRAY(t->arena, uint8_t, num_buffers); /* LAYOUT_rows all */
    CompileRequest request = {.kernel = k, .cpu = "", .features = "", .layout = layout};
    char message[ERR_MESSAGE_SIZE] = "", *code;
    size_t len;
    Status st = text(&request, kind, &code, &len, message, sizeof message);
    if (st) return err_set(st, "%s: %s", k->name, message);
    fwrite(code, 1, len, stdout);
    free(code);
    return ST_OK;
}

static Status stage_code(Tool *t, const Plan *p, const char *kind) {
    void *so = open_codegen(t);
    if (!so) return err_set(ST_UNSUPPORTED, "--stage=%s: no code generator: %s", kind, dlerror());
    void *symbol = dlsym(so, CODEGEN_TEXT_SYMBOL);
    if (!symbol) return err_set(ST_UNSUPPORTED, "--stage=%s: %s", kind, dlerror());
    CodegenText *text;
    memcpy(&text, &symbol, sizeof text);
    t->is_printed = true;
    Status st = ST_OK;
    for (uint32_t k = 0; !st && k < p->kernels.len; k++)
        st = print_code(t, text, &p->kernels.data[k], kind);
    return st;
}

static bool is_one_of(const char *word, const char *const *list) {
    while (*list && strcmp(*list, word)) list++;
    return *list;
}

static Status run_stage(Tool *t, const char *stage) {
    static const char *const planned[] = {"iter", "kernel", "task", NULL};
    static const char *const code[] = {"llvm", "llvm-opt", "asm", NULL};
    if (!strcmp(stage, "domain")) return ST_OK;
    bool is_code = is_one_of(stage, code);
    if (!is_code && !is_one_of(stage, planned)) return err_set(ST_NAME, "no stage '%s'", stage);
    for (uint32_t k = 0; k < t->module.functions.len; k++) {
        const Fn *f = opt_prepare(new_arena(t), t->module.functions.data[k]);
        Status st = plan_check(f);
        if (st) return st;
        Plan *p = plan_run(new_arena(t), f);
        if (is_code) st = stage_code(t, p, stage);
        else t->module.functions.data[k] = plan_stage(new_arena(t), p, stage);
        if (st) return st;
    }
    return verify_all(t, stage);
}

/* ---- the module ---- */

static Status read_all(Tool *t, Text *out) {
    bool is_stdin = !strcmp(t->file, "-");
    FILE *in = is_stdin ? stdin : fopen(t->file, "rb");
    if (!in) return err_set(ST_NAME, "cannot be read");
    char block[65536];
    size_t n;
    VEC(char) bytes = {0};
    while ((n = fread(block, 1, sizeof block, in)) > 0)
        for (size_t k = 0; k < n; k++) *vec_push(t->arena, &bytes) = block[k];
    bool failed = ferror(in);
    if (!is_stdin) fclose(in);
    out->text = bytes.data;
    out->len = bytes.len;
    return failed ? err_set(ST_INVAL, "cannot be read") : ST_OK;
}

static Status take_steps(Tool *t) {
    if (t->irdl) return fputs(text_irdl(t->arena), stdout), ST_OK;
    Text text = {.arena = t->arena};
    Status st = read_all(t, &text);
    if (!st) st = text_parse(t->arena, text.text ? text.text : "", text.len, &t->module);
    if (!st) st = verify_all(t, "parsing");
    for (int k = 0; !st && k < t->num_actions; k++)
        st = t->actions[k].run(t, t->actions[k].argument);
    if (!st && !t->is_printed) fputs(text_print_module(t->arena, &t->module), stdout);
    return st;
}

/* Under the guard: what unwinds frees its arenas itself. */
static Status run(void *ctx) {
    Tool *t = ctx;
    t->arena = arena_new();
    Status st = take_steps(t);
    for (uint32_t k = 0; k < t->arenas.len; k++) arena_free(t->arenas.data[k]);
    arena_free(t->arena);
    return st;
}

/* Faults of text start with "line:column: ". */
static void print_fault(const Tool *t) {
    const char *message = err_message();
    bool placed = *message >= '0' && *message <= '9';
    fprintf(stderr, "%s:%s%s\n", strcmp(t->file, "-") ? t->file : "<stdin>", placed ? "" : " ",
            message);
}

/* ---- options ---- */

enum { KEY_pass = 256, KEY_grad, KEY_stage, KEY_verify, KEY_irdl };

static const struct argp_option options[] = {
    {"pass", KEY_pass, "NAMES", 0, "Run these passes, separated by commas", 0},
    {"grad", KEY_grad, "RESULTS:INPUTS", 0, "Add gradients: --grad=out:src.x,edge.w", 0},
    {"stage", KEY_stage, "STAGE", 0, "domain, iter, kernel, task, llvm, llvm-opt or asm", 0},
    {"verify", KEY_verify, NULL, 0, "Verify after every step", 0},
    {"irdl", KEY_irdl, NULL, 0, "Print the IRDL description of the dialects and stop", 0},
    {0},
};

static error_t add_action(struct argp_state *state, Action *action, const char *argument) {
    Tool *t = state->input;
    if (t->num_actions == MAX_ACTIONS) argp_error(state, "more than %d steps", MAX_ACTIONS);
    t->actions[t->num_actions].run = action;
    t->actions[t->num_actions++].argument = argument;
    return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    Tool *t = state->input;
    switch (key) {
    case KEY_pass: return add_action(state, run_passes, argument);
    case KEY_grad: return add_action(state, run_grad, argument);
    case KEY_stage: return add_action(state, run_stage, argument);
    case KEY_verify: t->verify = true; return 0;
    case KEY_irdl: t->irdl = true; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) argp_error(state, "one file only");
        t->file = argument;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* The passes as opt/ lists them, under the options. */
static char *help_filter(int key, const char *text, void *input) {
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *)text;
    Arena *a = arena_new();
    Text t = {.arena = a};
    text_put(&t, "Passes:\n");
    for (const Pass *p = opt_passes; p->name; p++) text_putf(&t, "  %-10s %s\n", p->name, p->about);
    char *copy = strdup(t.text);
    arena_free(a);
    return copy;
}

int main(int argc, char **argv) {
    static const struct argp argp = {
        .options = options,
        .parser = parse_option,
        .args_doc = "[FILE]",
        .doc = "Reads a Tiga program (\"-\" or nothing: from standard input), takes these steps in "
               "their "
               "order and prints what became of it.\v",
        .help_filter = help_filter,
    };
    Tool t = {.file = "-"};
    argp_parse(&argp, argc, argv, 0, NULL, &t);
    Status st = guard_run(run, &t);
    if (st) print_fault(&t);
    return st ? 1 : 0;
}
