/* Tokens of MLIR's syntax, one ahead, and the parser's one way to fail: the first fault is kept with
 * its place, and from then on every token is the end, so that loops end by themselves. */
#ifndef TIGA_TEXT_LEX_H
#define TIGA_TEXT_LEX_H

#include "base/mem.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* A punctuation character is its own kind. */
enum {
    T_end = 256,
    T_word,      /* func.func  tensor */
    T_value,     /* %3 */
    T_symbol,    /* @V  @"odd name" */
    T_block,     /* ^bb0 */
    T_string,    /* "gf_tensor.add" */
    T_integer,   /* 12  0x7FC00000 */
    T_float,     /* 1.0e+00 */
    T_attribute, /* #gf.on */
    T_arrow,     /* -> */
    T_scope,     /* :: */
    T_open,      /* <{ */
    T_close      /* }> */
};

typedef struct {
    int kind;
    const char *start; /* in the text */
    size_t len;
} Token;

typedef struct {
    Arena *arena;
    const char *text, *at, *end; /* at: behind the token */
    Token tok;
    Status status;       /* of the first fault */
    const char *message; /* "line:column: ..." */
} Lex;

void lex_start(Lex *x, Arena *a, const char *text, size_t len);
void lex_next(Lex *x);

/* The fault stands at a place in the text; only the first one counts. */
void lex_fail(Lex *x, Status status, const char *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* "expected <what>, found <token>" at the token. */
void lex_expected(Lex *x, const char *what);

static inline bool lex_is(const Lex *x, int kind) { return x->tok.kind == kind; }
bool lex_is_word(const Lex *x, const char *word);
bool lex_take(Lex *x, int kind); /* steps over it if it is there */
bool lex_take_word(Lex *x, const char *word);
bool lex_need(Lex *x, int kind, const char *what);
bool lex_need_word(Lex *x, const char *word);

/* The token's text, in the arena, and a step over it. Strings come unquoted: valid UTF-8 without
 * NUL. "" after a fault. */
const char *lex_text(Lex *x, int kind, const char *what);
/* A decimal integer of at most `most`, and a step over it. */
uint64_t lex_count(Lex *x, uint64_t most, const char *what);
/* "4x?x16x" character by character, since 0x16 is a number elsewhere: at the token '<', stepping
 * over it; the next token is the element type. dim -1 for '?'. Gives the number of dimensions. */
int lex_dims(Lex *x, int64_t *dim, int most);

#endif
