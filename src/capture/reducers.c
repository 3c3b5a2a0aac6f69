/* Making reducers: the built-ins, written as anybody's four functions, and captured ones. */
#include "capture/reducers.h"
#include "capture/probe.h"

#include "base/locale.h"
#include "base/log.h"
#include "ir/type.h"
#include "vocab/near.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- capture ---- */

typedef struct {
    const char *what;
    const Fn *f;
    const char *letters; /* of its inputs */
    uint32_t most;       /* inputs of a letter */
} Region;

static Status check_input(const char *reducer, const Region *g, const char *name) {
    char *end;
    unsigned long k = name[0] ? strtoul(name + 1, &end, 10) : 0;
    if (name[0] && strchr(g->letters, name[0]) && name[1] && !*end && k < g->most) return ST_OK;
    return err_set(ST_NAME, "reducer '%s': %s has no input '%s'", reducer, g->what, name);
}

static Status check_region(const char *reducer, const Region *g) {
    for (Val v = 1; v < ir_count(g->f); v++) {
        const Node *n = ir_node(g->f, v);
        Status st = n->op == OP_input ? check_input(reducer, g, n->attr.name) : ST_OK;
        bool fine = n->op == OP_input || n->op == OP_constant || n->op == OP_cast ||
                    op_info[n->op].class == CLASS_elem;
        if (!fine || n->types[0].rank)
            st = err_set(ST_UNSUPPORTED,
                         "reducer '%s': %s may use elementwise operations on scalars only, not %s",
                         reducer, g->what, op_info[n->op].name);
        if (st) return st;
    }
    return ST_OK;
}

static uint32_t count_messages(const Fn *lift) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < lift->inputs.len; k++) {
        uint32_t number = (uint32_t)strtoul(lift->inputs.data[k].name + 1, NULL, 10) + 1;
        if (number > n) n = number;
    }
    return n;
}

static Status check_regions(const Reducer *r) {
    uint32_t state = r->num_state;
    const Region regions[] = {{"identity", r->identity, "", 0},
                              {"lift", r->lift, "m", REDUCER_MAX_MESSAGES},
                              {"combine", r->combine, "lr", state},
                              {"finalize", r->finalize, "s", state}};
    if (state == 0 || state > REDUCER_MAX_STATE)
        return err_set(ST_UNSUPPORTED,
                       "reducer '%s': lift gives %u state components, 1 to %d are possible",
                       r->name, state, REDUCER_MAX_STATE);
    for (int k = 0; k < 4; k++) {
        uint32_t expected = k == 3 ? 1 : state, have = regions[k].f->results.len;
        if (have != expected)
            return err_set(ST_INVAL,
                           "reducer '%s': %s gives %u of the state's components, expected %u",
                           r->name, regions[k].what, have, expected);
        Status st = check_region(r->name, &regions[k]);
        if (st) return st;
    }
    return ST_OK;
}

/* ---- what is found out ---- */

/* What a form decides, its edge cases too. */
static const char *rule(Form form) {
    switch (form) {
    case FORM_additive: return "a sum of each component";
    case FORM_product: return "a product, whose derivatives are right at zeros";
    case FORM_max:
    case FORM_min:
        return "NaN wins, ties share the gradient evenly, what came with it is the first's or "
               "last's";
    case FORM_logsumexp: return "a message of -inf adds nothing and gets no gradient";
    case FORM_weighted:
        return "a score of -inf weighs nothing, whatever its value, and gets no gradient";
    case FORM_affine: return "maps x -> a x + b, composed";
    case FORM_mixed: return "each component by the rule of its own form";
    case FORM_first:
    case FORM_last:
    case FORM_program:
    case FORM_general: break;
    }
    return "";
}

static bool uses(const Fn *f, Op op) {
    for (Val v = 1; v < ir_count(f); v++)
        if (ir_op(f, v) == op) return true;
    return false;
}

/* Why there is no proof, where that can be said. */
static const char *reason(Arena *scratch, const Reducer *r) {
    Form form = proof_of_combine(scratch, r);
    if (form != FORM_general)
        return arena_printf(scratch, "; its combine is %s, whose identity is another one",
                            form_name(form));
    bool scaled =
        uses(r->combine, OP_exp) && (uses(r->combine, OP_max) || uses(r->combine, OP_where));
    return scaled ? "; it uses maximum and exp, and is no online softmax, which is "
                    "(m, l, ..) from (-inf, 0, ..) with m = max(m1, m2) and "
                    "l = l1 exp(m1 - m) + l2 exp(m2 - m)"
                  : "";
}

static const char *describe(Arena *scratch, const Reducer *r) {
    Arena *a = r->arena;
    if (r->form != FORM_general)
        return arena_printf(a, "accepted: [algebra] reducer '%s' is proven %s: %s", r->name,
                            form_name(r->form), rule(r->form));
    return arena_printf(
        a, "remark: [algebra] reducer '%s' is folded as it is written: no form is proven of it%s",
        r->name, reason(scratch, r));
}

/* The proof, and the flags put to the test. */
static void find_out(Reducer *r) {
    Arena *scratch = arena_new();
    r->form = proof_find(scratch, r);
    r->note = describe(scratch, r);
    const char *doubt = probe_declarations(scratch, r);
    if (doubt) r->doubt = arena_str(r->arena, doubt);
    if (doubt) log_put(LOG_WARNING, "reducer '%s': %s", r->name, doubt);
    arena_free(scratch);
}

Status reducer_new(Arena *takes, const char *name, int flags, const Fn *identity, const Fn *lift,
                   const Fn *combine, const Fn *finalize, Reducer **out) {
    const Fn *const regions[] = {identity, lift, combine, finalize};
    for (int k = 0; k < 4; k++)
        if (regions[k]->status) return regions[k]->status;
    Reducer *r = ARENA_NEW(takes, Reducer);
    *r = (Reducer){.arena = takes, .name = arena_str(takes, name), .flags = flags};
    r->identity = ir_copy_region(takes, identity);
    r->lift = ir_copy_region(takes, lift);
    r->combine = ir_copy_region(takes, combine);
    r->finalize = ir_copy_region(takes, finalize);
    r->num_state = r->lift->results.len;
    Status st = check_regions(r);
    if (st) return st;
    r->num_messages = count_messages(r->lift);
    if (r->num_messages == 0) r->num_messages = 1; /* a count looks at no message */
    find_out(r);
    *out = r;
    return ST_OK;
}

/* ---- built-ins ---- */

static Val component(Builder *b, char letter, int k) {
    char name[8];
    snprintf(name, sizeof name, "%c%d", letter, k);
    return build_input(b, name, DT_f32, 0, NULL);
}

static Val call2(Builder *b, const char *name, Val x, Val y) {
    return build_call(b, name, (Val[]){x, y}, 2, NULL, 0);
}

static void result(Builder *b, int k, Val v) {
    char name[8];
    snprintf(name, sizeof name, "%d", k);
    ir_add_result(b->f, name, build_strong(b, v));
}

typedef struct {
    Builder *identity, *lift, *combine, *finalize;
} Draft;

static Draft draft_new(Arena *a) {
    return (Draft){build_new(a, "identity", true), build_new(a, "lift", true),
                   build_new(a, "combine", true), build_new(a, "finalize", true)};
}

/* One component, folded by an operation that is itself the combine. */
static void draft_fold(Draft *d, const char *operation, double identity) {
    result(d->identity, 0, build_number(d->identity, identity));
    result(d->lift, 0, component(d->lift, 'm', 0));
    Val l = component(d->combine, 'l', 0), r = component(d->combine, 'r', 0);
    result(d->combine, 0, call2(d->combine, operation, l, r));
    result(d->finalize, 0, component(d->finalize, 's', 0));
}

static void draft_mean(Draft *d) {
    for (int k = 0; k < 2; k++) {
        result(d->identity, k, build_number(d->identity, 0));
        Val l = component(d->combine, 'l', k), r = component(d->combine, 'r', k);
        result(d->combine, k, call2(d->combine, "add", l, r));
    }
    result(d->lift, 0, component(d->lift, 'm', 0));
    result(d->lift, 1, build_number(d->lift, 1));
    result(
        d->finalize, 0,
        call2(d->finalize, "div", component(d->finalize, 's', 0), component(d->finalize, 's', 1)));
}

/* exp(score - m) of one side's score. */
static Val scale(Builder *b, char side, Val m) {
    return build_call(b, "exp", (Val[]){call2(b, "sub", component(b, side, 0), m)}, 1, NULL, 0);
}

/* State (m, l, a): running maximum, normalizer, weighted sum (Milakov and Gimelshein 2018). */
static void draft_softmax(Draft *d) {
    Builder *c = d->combine;
    result(d->identity, 0, build_number(d->identity, -INFINITY));
    result(d->identity, 1, build_number(d->identity, 0));
    result(d->identity, 2, build_number(d->identity, 0));
    result(d->lift, 0, component(d->lift, 'm', 0));
    result(d->lift, 1, build_number(d->lift, 1));
    result(d->lift, 2, component(d->lift, 'm', 1));
    Val m = call2(c, "maximum", component(c, 'l', 0), component(c, 'r', 0));
    result(c, 0, m);
    for (int k = 1; k <= 2; k++) {
        Val left = call2(c, "mul", component(c, 'l', k), scale(c, 'l', m));
        Val right = call2(c, "mul", component(c, 'r', k), scale(c, 'r', m));
        result(c, k, call2(c, "add", left, right));
    }
    result(
        d->finalize, 0,
        call2(d->finalize, "div", component(d->finalize, 's', 2), component(d->finalize, 's', 1)));
}

static void draft_sum(Draft *d) { draft_fold(d, "add", 0); }
static void draft_prod(Draft *d) { draft_fold(d, "mul", 1); }
static void draft_max(Draft *d) { draft_fold(d, "maximum", -INFINITY); }
static void draft_min(Draft *d) { draft_fold(d, "minimum", INFINITY); }

/* A sum of ones, which stays an integer. */
static void draft_count(Draft *d) {
    result(d->identity, 0, build_integer(d->identity, 0));
    result(d->lift, 0, build_integer(d->lift, 1));
    Val l = component(d->combine, 'l', 0), r = component(d->combine, 'r', 0);
    result(d->combine, 0, call2(d->combine, "add", l, r));
    result(d->finalize, 0, component(d->finalize, 's', 0));
}

static const struct {
    const char *name;
    void (*draft)(Draft *d);
} folds[] = {{"sum", draft_sum},  {"mean", draft_mean},   {"max", draft_max},
             {"min", draft_min},  {"count", draft_count}, {"online_softmax", draft_softmax},
             {"prod", draft_prod}};
enum { NUM_FOLDS = sizeof folds / sizeof *folds };

static size_t find_fold(const char *name) {
    size_t k = 0;
    while (k < NUM_FOLDS && strcmp(folds[k].name, name)) k++;
    return k;
}

bool reducer_is_builtin(const char *name) {
    return find_fold(name) < NUM_FOLDS || library_find(name);
}

const char *reducer_builtin_name(size_t k) {
    return k < NUM_FOLDS ? folds[k].name : library_name(k - NUM_FOLDS);
}

static Status builtin_fold(Arena *takes, size_t k, Reducer **out) {
    Draft d = draft_new(takes);
    folds[k].draft(&d);
    return reducer_new(takes, folds[k].name, REDUCER_associative | REDUCER_commutative,
                       d.identity->f, d.lift->f, d.combine->f, d.finalize->f, out);
}

Status reducer_set_share(Reducer *r, double share) {
    if (!(share >= 0 && share <= 1))
        return err_set(ST_INVAL, "quantile: q is %g, expected a number from 0 to 1", share);
    r->share = share;
    return ST_OK;
}

/* "quantile(0.25)": the number, and no more behind it. */
static Status read_share(Reducer *r, const char *name) {
    char *end = NULL;
    const char *open = strchr(name, '(');
    if (!open) return reducer_set_share(r, 0.5);
    locale_t old = locale_enter_c();
    double share = strtod(open + 1, &end);
    locale_leave_c(old);
    if (end == open + 1 || strcmp(end, ")") != 0)
        return err_set(ST_NAME, "reducer '%s': expected quantile(q), q a number from 0 to 1", name);
    return reducer_set_share(r, share);
}

static Status builtin_program(Arena *takes, const char *name, Lowering *lower, Reducer **out) {
    *out = ARENA_NEW(takes, Reducer);
    **out = (Reducer){.arena = takes,
                      .name = arena_str(takes, name),
                      .num_messages = 1,
                      .form = FORM_program,
                      .lower = lower};
    return read_share(*out, name);
}

Status reducer_builtin(Arena *takes, const char *name, int flags, bool has_empty, double empty,
                       Reducer **out) {
    size_t fold = find_fold(name);
    bool is_quantile = !strncmp(name, "quantile(", 9);
    Lowering *lower = library_find(is_quantile ? "quantile" : name);
    if (fold == NUM_FOLDS && !lower) {
        Near near = near_to(name);
        for (size_t k = 0; reducer_builtin_name(k); k++) near_try(&near, reducer_builtin_name(k));
        return err_set(
            ST_NAME,
            "unknown reducer '%s'%s (sum, mean, prod, max, min, count, any, all, argmax, "
            "argmin, logsumexp, var, std, var_unbiased, std_unbiased, median, "
            "quantile(q), online_softmax exist)",
            name, near_hint(&near));
    }
    Status st = lower ? builtin_program(takes, name, lower, out) : builtin_fold(takes, fold, out);
    if (st) return st;
    TIGA_ASSERT((*out)->form != FORM_general);
    (*out)->flags |= flags;
    (*out)->has_empty = has_empty;
    (*out)->empty = empty;
    return ST_OK;
}

/* ---- the functions at given dtypes ---- */

/* What lower.c makes of numbers: reals are of the messages' dtype, and so is all that is folded as it is
 * written; whole numbers are integers otherwise. */
static Numbers numbers_beside(const Reducer *r, const Dtype *dtypes, uint32_t num_dtypes) {
    Numbers number = {DT_f32, DT_i64};
    for (uint32_t k = 0; k < num_dtypes; k++) {
        if (!dtype_is_float(dtypes[k])) continue;
        number.real = dtype_computed(dtypes[k]);
        if (r->form == FORM_general) number.whole = number.real;
    }
    return number;
}

Status reducer_typed(const Reducer *r, const Dtype *dtypes, uint32_t num_dtypes, Regions *out) {
    if (r->lower)
        return err_set(ST_UNSUPPORTED,
                       "reducer '%s' is a program over operations, not a fold: it has no four "
                       "functions to show",
                       r->name);
    Type message[REDUCER_MAX_MESSAGES], state[REDUCER_MAX_STATE];
    Val args[2 * REDUCER_MAX_STATE];
    if (num_dtypes != r->num_messages)
        return err_set(ST_TYPE, "reducer '%s' takes %u message%s, got %u dtypes", r->name,
                       r->num_messages, r->num_messages == 1 ? "" : "s", num_dtypes);
    Builder *b[4];
    static const char *const names[] = {"identity", "lift", "combine", "finalize"};
    for (int k = 0; k < 4; k++) b[k] = build_new(arena_new(), names[k], true);
    for (uint32_t k = 0; k < num_dtypes; k++) message[k] = type_scalar(dtypes[k], SET_ALL);
    Numbers number = numbers_beside(r, dtypes, num_dtypes);
    region_inputs(b[1], 'm', message, num_dtypes, args);
    out->lift = region_typed(b[1], r->lift, args, 0, number, NULL);
    for (uint32_t k = 0; k < r->num_state && k < out->lift->results.len; k++)
        state[k] = *ir_type(out->lift, out->lift->results.data[k].val);
    out->identity = region_typed(b[0], r->identity, args, 0, number, state);
    region_inputs(b[2], 'l', state, r->num_state, args);
    region_inputs(b[2], 'r', state, r->num_state, args + r->num_state);
    out->combine = region_typed(b[2], r->combine, args, r->num_state, number, state);
    region_inputs(b[3], 's', state, r->num_state, args);
    out->finalize = region_typed(b[3], r->finalize, args, 0, number, NULL);
    Fn **const made[] = {&out->identity, &out->lift, &out->combine, &out->finalize};
    Status st = ST_OK;
    for (int k = 0; k < 4 && !st; k++) st = b[k]->f->status;
    for (int k = 0; k < 4; k++) {
        if (!st) *made[k] = build_program(b[k], arena_new());
        ir_free(b[k]->f);
    }
    return st;
}
