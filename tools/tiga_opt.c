/* tiga-opt: IR text or a formula in, any stage or results out.
 *
 *   tiga-opt --grad=out:src.x --pass=clean,fma --stage=iter layer.mlir
 *   tiga-opt -e 'out = sum(edge.w * src.x)' --in=src.x=f32[16] --stage=llvm
 *   tiga-opt -e 'out = sum(src.x)' --graph=row_ptr.npy,col_idx.npy --bind=src.x=x.npy --save=out=out.npy
 *
 * Reads a module or a formula from a file or standard input, or takes a formula; does what the options say in
 * their order; prints what became of it, or runs it where data is given. Faults go to standard error as
 * "file:line:column: message"; the exit status is 1 then. */
#include "base/mem.h"
#include "base/status.h"
#include "execute.h"
#include "text/text.h"
#include "ir/verify.h"
#include "opt/opt.h"
#include "opt/vjp.h"
#include "plan/plan.h"
#include "run/codegen_open.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Tool Tool;
typedef Status Action(Tool *t, const char *argument);

enum { MAX_ACTIONS = 64 };

struct Tool {
    const char *file, *formula;
    Execution execution;
    struct {
        Action *run;
        const char *argument;
    } actions[MAX_ACTIONS];
    int num_actions;
    bool verify, irdl;
    const char *planned; /* the stage that the module is of, once a plan was made of it */
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

static Status no_pass(Tool *t, const char *name) {
    Text known = {.arena = t->arena};
    for (const Pass *p = opt_passes; p->name; p++) text_putf(&known, "%s, ", p->name);
    return err_set(ST_NAME, "no pass '%s' (there are: %.*s)", name, (int)known.len - 2, known.text);
}

static Status run_passes(Tool *t, const char *list) {
    for (const char *name; (name = next_word(t, &list, ','));) {
        const Pass *pass = opt_find(name);
        if (!pass) return no_pass(t, name);
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

static Status print_code(Tool *t, const Kernel *k, const char *kind) {
    uint32_t num_buffers = k->body->inputs.len + k->body->results.len;
    uint8_t *layout = ARENA_ARRAY(t->arena, uint8_t, num_buffers); /* LAYOUT_rows all */
    CompileRequest request = {.kernel = k, .cpu = "", .features = "", .layout = layout};
    char *code;
    size_t len;
    Status st = codegen_text(&request, kind, &code, &len);
    if (st) return st;
    t->is_printed = true;
    fwrite(code, 1, len, stdout);
    free(code);
    return ST_OK;
}

static Status stage_code(Tool *t, const Plan *p, const char *kind) {
    Status st = ST_OK;
    for (uint32_t k = 0; !st && k < p->kernels.len; k++)
        st = print_code(t, &p->kernels.data[k], kind);
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
    if (!is_code && !is_one_of(stage, planned))
        return err_set(ST_NAME,
                       "no stage '%s' (there are: domain, iter, kernel, task, llvm, llvm-opt, asm)",
                       stage);
    t->planned = stage;
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
    out->len = bytes.len;
    *vec_push(t->arena, &bytes) = 0;
    out->text = bytes.data;
    return failed ? err_set(ST_INVAL, "cannot be read") : ST_OK;
}

/* What --save and --grad name. */
static Words wanted_results(Tool *t) {
    Words words = {0};
    for (int k = 0; k < t->execution.num_save; k++) {
        const char *rest = t->execution.save[k];
        *vec_push(t->arena, &words) = next_word(t, &rest, '=');
    }
    for (int k = 0; k < t->num_actions; k++) {
        const char *rest = t->actions[k].argument, *outs, *word;
        if (t->actions[k].run != run_grad) continue;
        for (outs = next_word(t, &rest, ':'); (word = next_word(t, &outs, ','));)
            *vec_push(t->arena, &words) = word;
    }
    return words;
}

static Status read_formula(Tool *t, const char *text) {
    Fn *f;
    Words results = wanted_results(t);
    Status st = execute_formula(t->arena, &t->execution, text, results.data, results.len, &f);
    if (!st) *vec_push(t->arena, &t->module.functions) = f;
    return st;
}

/* A formula starts with "NAME =" or "NAME.part", behind comments; IR with "module", "func.func" or a string. */
static bool is_formula(const char *p) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    if (!strncmp(p, "\xef\xbb\xbf", 3)) p += 3;
    p += strspn(p, " \t\r\n;");
    while (*p == '#') {
        p += strcspn(p, "\n");
        p += strspn(p, " \t\r\n;");
    }
    size_t n = strspn(p, letters);
    const char *next = p + n + strspn(p + n, " \t");
    bool is_func = n == 4 && !memcmp(p, "func", 4);
    return n && (*next == '=' || (*next == '.' && !is_func));
}

static Status read_module(Tool *t) {
    Text text = {.arena = t->arena};
    if (t->formula) return read_formula(t, t->formula);
    Status st = read_all(t, &text);
    if (st) return st;
    if (is_formula(text.text)) return read_formula(t, text.text);
    if (t->execution.num_in) return err_set(ST_INVAL, "--in gives types to a formula");
    return text_parse(t->arena, text.text, text.len, &t->module);
}

/* Results instead of text. */
static Status run_module(Tool *t) {
    if (t->module.functions.len != 1)
        return err_set(ST_INVAL, "to run there must be one function, not %u",
                       t->module.functions.len);
    return execute_run(t->arena, &t->execution, t->module.functions.data[0]);
}

static Status take_steps(Tool *t) {
    if (t->irdl) return fputs(text_irdl(t->arena), stdout), ST_OK;
    Status st = execute_load(t->arena, &t->execution);
    if (!st) st = read_module(t);
    if (!st) st = verify_all(t, "parsing");
    for (int k = 0; !st && k < t->num_actions; k++)
        st = t->planned ? err_set(ST_INVAL, "--stage=%s is the last step", t->planned)
                        : t->actions[k].run(t, t->actions[k].argument);
    if (st || t->is_printed) return st;
    if (execute_is_wanted(&t->execution)) return run_module(t);
    fputs(text_print_module(t->arena, &t->module), stdout);
    return ST_OK;
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
    bool placed = *message >= '0' && *message <= '9', of_option = !strncmp(message, "--", 2);
    const char *name = of_option              ? "tiga-opt"
                       : t->formula           ? "<formula>"
                       : strcmp(t->file, "-") ? t->file
                                              : "<stdin>";
    fprintf(stderr, "%s:%s%s\n", name, placed ? "" : " ", message);
}

/* ---- options ---- */

enum {
    KEY_pass = 256,
    KEY_grad,
    KEY_stage,
    KEY_verify,
    KEY_irdl,
    KEY_in,
    KEY_graph,
    KEY_coo,
    KEY_bind,
    KEY_save,
    KEY_interp
};

static const struct argp_option options[] = {
    {"pass", KEY_pass, "NAMES", 0, "Run these passes, separated by commas", 0},
    {"grad", KEY_grad, "RESULTS:INPUTS", 0, "Add gradients: --grad=out:src.x,edge.w", 0},
    {"stage", KEY_stage, "STAGE", 0, "domain, iter, kernel, task, llvm, llvm-opt or asm", 0},
    {"verify", KEY_verify, NULL, 0, "Verify after every step", 0},
    {"irdl", KEY_irdl, NULL, 0, "Print the IRDL description of the dialects and stop", 0},
    {NULL, 0, NULL, 0, "A formula, data:", 1},
    {"formula", 'e', "TEXT", 0, "The program, a formula, in place of a file", 1},
    {"in", KEY_in, "NAME=TYPE", 0,
     "An input's dtype and feature shape: --in=src.x=f32[16]; else float32 scalars", 1},
    {"graph", KEY_graph, "ROW_PTR,COL_IDX", 0, "Run on this relation, from .npy files", 1},
    {"coo", KEY_coo, "SRC,DST", 0, "Run on this relation, from .npy files", 1},
    {"bind", KEY_bind, "NAME=FILE", 0,
     "An argument, from a .npy file, which also gives a formula its type", 1},
    {"save", KEY_save, "NAME=FILE", 0, "Write a result as .npy; without one, results are printed",
     1},
    {"interp", KEY_interp, NULL, 0, "Run on the interpreter", 1},
    {0},
};

static void add_word(struct argp_state *state, const char **list, int *n, const char *word) {
    if (*n == MAX_FILES) argp_error(state, "more than %d of one option", MAX_FILES);
    list[(*n)++] = word;
}

static error_t parse_data_option(int key, char *argument, struct argp_state *state) {
    Tool *t = state->input;
    Execution *x = &t->execution;
    switch (key) {
    case 'e':
        if (t->formula) argp_error(state, "one formula only (its lines may be parted by ;)");
        t->formula = argument;
        return 0;
    case KEY_in: add_word(state, x->in, &x->num_in, argument); return 0;
    case KEY_bind: add_word(state, x->bind, &x->num_bind, argument); return 0;
    case KEY_save: add_word(state, x->save, &x->num_save, argument); return 0;
    case KEY_graph: x->csr = argument; return 0;
    case KEY_coo: x->coo = argument; return 0;
    case KEY_interp: x->interp = true; return 0;
    case ARGP_KEY_END:
        if (x->csr && x->coo) argp_error(state, "--graph or --coo, not both");
        if (t->formula && state->arg_num) argp_error(state, "a formula or a file, not both");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

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
    default: return parse_data_option(key, argument, state);
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
        .doc =
            "Reads a Tiga program, IR text or a formula (\"-\" or nothing: from standard input), "
            "takes these steps in their order and prints what became of it, or runs it where "
            "data is given.\v",
        .help_filter = help_filter,
    };
    Tool t = {.file = "-"};
    argp_program_version = "tiga-opt " TG_VERSION;
    argp_parse(&argp, argc, argv, 0, NULL, &t);
    Status st = guard_run(run, &t);
    if (st) print_fault(&t);
    return st ? 1 : 0;
}
