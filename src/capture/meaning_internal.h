/* What the files that read a formula's meaning share. */
#ifndef TIGA_CAPTURE_MEANING_INTERNAL_H
#define TIGA_CAPTURE_MEANING_INTERNAL_H

#include "capture/meaning.h"

#include <string.h>

typedef struct {
    const char *name;
    Val val;
    bool used;
} Local;

typedef struct Meaning {
    Arena *arena;
    const Formula *formula;
    Builder *b;
    const FormulaInput *inputs;
    uint32_t num_inputs;
    VEC(Local) locals;
    const Line *part;      /* the reducer part being read: its parameters are names */
    struct Meaning *outer; /* of a part: where it is called */
    Where at;              /* where the fault is, should one come */
} Meaning;

/* What an expression means; 0 where it is at fault. on_edges: inside a reducer's parentheses. */
Val meaning_value(Meaning *m, const Expr *e, bool on_edges);

static inline Val fault(Meaning *m, const Expr *e, Status status, const char *why) {
    m->at = e->at;
    return build_fail(m->b, status, "%s", why);
}

/* ---- arguments.c ---- */

enum { MAX_ARGS = 64, MAX_INTS = 16 };

typedef struct {
    Val args[MAX_ARGS];
    uint32_t num_args;
    bool has_axis, keep, has_keep, has_empty, unbiased, has_share;
    double empty, share;
    int64_t axes[MAX_INTS];
    uint32_t num_axes;
} Call;

/* The operands and keywords of a call; false where one is at fault. */
bool arguments_read(Meaning *m, const Expr *e, bool on_edges, Call *c);

/* ---- words ---- */

static inline bool is_truth(const char *word) {
    return !strcmp(word, "true") || !strcmp(word, "True");
}

/* Whether a name is among words separated by spaces. */
static inline bool is_one_of(const char *name, const char *words) {
    size_t n = strlen(name);
    for (const char *w = words; (w = strstr(w, name)); w += n)
        if ((w == words || w[-1] == ' ') && (w[n] == ' ' || !w[n])) return true;
    return false;
}

/* A number without point, with its sign. */
static inline bool whole_number(const Expr *e, int64_t *out) {
    double sign = 1;
    if (e->kind == EXPR_call && !strcmp(e->text, "neg") && e->num_args == 1)
        sign = -1, e = e->args[0];
    if (e->kind != EXPR_number || !e->integer) return false;
    *out = sign < 0 ? -e->whole : e->whole;
    return true;
}

#endif
