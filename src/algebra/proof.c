/* Proofs by structure: the combine that a form calls for is built beside the captured one, and
 * hash-consing says whether they are the same expression. Operands of commuting operations are sorted,
 * so commuted spellings are one. A form holds only with its neutral identity. */
#include "algebra/reducer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    Fn *f; /* a copy of combine, to build in */
    Val result[REDUCER_MAX_STATE], left[REDUCER_MAX_STATE], right[REDUCER_MAX_STATE];
    uint32_t n;
} Combine;

/* The input of that name; a fresh one where combine never looks at it. */
static Val side(Fn *f, char letter, uint32_t k, const Type *type) {
    char name[16];
    snprintf(name, sizeof name, "%c%u", letter, k);
    Val v = ir_find_input(f, name);
    return v ? v : ir_input(f, name, *type);
}

static Combine combine_open(Arena *a, const Reducer *r) {
    Combine c = {.f = ir_new(a, "combine"), .n = r->num_state};
    Val *memo = ARENA_ARRAY(a, Val, ir_count(r->combine));
    for (uint32_t k = 0; k < c.n; k++)
        c.result[k] = ir_copy(c.f, r->combine, r->combine->results.data[k].val, memo);
    for (uint32_t k = 0; k < c.n; k++) {
        c.left[k] = side(c.f, 'l', k, ir_type(c.f, c.result[k]));
        c.right[k] = side(c.f, 'r', k, ir_type(c.f, c.result[k]));
    }
    return c;
}

static bool all_are(const Reducer *r, uint32_t from, double value) {
    for (uint32_t k = from; k < r->num_state; k++)
        if (reducer_identity(r, k) != value) return false;
    return true;
}

static bool is_additive(Combine *c, const Reducer *r) {
    for (uint32_t k = 0; k < c->n; k++)
        if (c->result[k] != ir_add(c->f, c->left[k], c->right[k])) return false;
    return all_are(r, 0, 0);
}

static bool is_product(Combine *c, const Reducer *r) {
    return c->n == 1 && c->result[0] == ir_mul(c->f, c->left[0], c->right[0]) && all_are(r, 0, 1);
}

/* max(l, r), or a selection by comparison; where(l < r, r, l) and its like. */
static bool is_larger(Fn *f, Val v, Val l, Val r) {
    return v == ir_max(f, l, r) || v == ir_where(f, ir_lt(f, l, r), r, l) ||
           v == ir_where(f, ir_lt(f, r, l), l, r) || v == ir_where(f, ir_le(f, l, r), r, l) ||
           v == ir_where(f, ir_le(f, r, l), l, r);
}

static bool is_smaller(Fn *f, Val v, Val l, Val r) {
    return v == ir_min(f, l, r) || v == ir_where(f, ir_lt(f, l, r), l, r) ||
           v == ir_where(f, ir_lt(f, r, l), r, l) || v == ir_where(f, ir_le(f, l, r), l, r) ||
           v == ir_where(f, ir_le(f, r, l), r, l);
}

static bool is_max(Combine *c, const Reducer *r) {
    return c->n == 1 && is_larger(c->f, c->result[0], c->left[0], c->right[0]) &&
           all_are(r, 0, -INFINITY);
}

static bool is_min(Combine *c, const Reducer *r) {
    return c->n == 1 && is_smaller(c->f, c->result[0], c->left[0], c->right[0]) &&
           all_are(r, 0, INFINITY);
}

/* l_k exp(l_0 - m) + r_k exp(r_0 - m) */
static Val rescaled(Combine *c, uint32_t k, Val m) {
    Fn *f = c->f;
    Val left = ir_exp(f, ir_sub(f, c->left[0], m)), right = ir_exp(f, ir_sub(f, c->right[0], m));
    return ir_add(f, ir_mul(f, c->left[k], left), ir_mul(f, c->right[k], right));
}

static bool is_weighted(Combine *c, const Reducer *r) {
    Val m = c->result[0];
    if (c->n < 2 || !dtype_is_float((Dtype)ir_type(c->f, m)->dtype)) return false;
    if (!is_larger(c->f, m, c->left[0], c->right[0])) return false;
    for (uint32_t k = 1; k < c->n; k++)
        if (c->result[k] != rescaled(c, k, m)) return false;
    return reducer_identity(r, 0) == -INFINITY && all_are(r, 1, 0);
}

Form proof_find(Arena *scratch, const Reducer *r) {
    static const struct {
        bool (*holds)(Combine *c, const Reducer *r);
        Form form;
    } forms[] = {{is_additive, FORM_additive},
                 {is_product, FORM_product},
                 {is_max, FORM_max},
                 {is_min, FORM_min},
                 {is_weighted, FORM_weighted}};
    Combine c = combine_open(scratch, r);
    for (uint32_t k = 0; k < c.n; k++) /* a state of bools has no arithmetic to prove */
        if (ir_type(c.f, c.left[k])->dtype == DT_bool || ir_type(c.f, c.right[k])->dtype == DT_bool)
            return FORM_general;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        if (forms[k].holds(&c, r)) return forms[k].form;
    return FORM_general;
}
