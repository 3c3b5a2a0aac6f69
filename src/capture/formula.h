/* Formulas: text -> tree. What the tree means is capture/meaning.h; the grammar is docs/formula.md.
 *
 * A line is a definition:  h = relu(sum(edge.w * src(node.x @ W1)))
 * or a part of a reducer:  wmean.combine(a, b) = a[0] + b[0], a[1] + b[1]
 * "#" starts a comment; lines end at a line break or ";", except inside brackets. Positions count from
 * line 1, column 1, in bytes. */
#ifndef TIGA_CAPTURE_FORMULA_H
#define TIGA_CAPTURE_FORMULA_H

#include "base/mem.h"
#include "base/status.h"

#include <stdbool.h>

typedef struct {
    int line, column;
} Where;

typedef enum {
    EXPR_number, /* number; integer where written without point and exponent, below 2^63 */
    EXPR_name,   /* text: "x", "src.x", "true" */
    EXPR_call,   /* text: a function; args, then keyword arguments */
    EXPR_index,  /* args[0], items: one for each place in the brackets */
    EXPR_tuple   /* args: (1, 2) or [1, 2] as a keyword's value or a reducer's part; there also
                    keywords, names for intermediate values */
} ExprKind;

typedef struct Expr Expr;

typedef struct {
    const char *name;
    const Expr *value;
    Where at; /* the name */
} Keyword;

/* A place in brackets: a position, a slice (each part may be NULL), or all the rest "...". */
typedef struct {
    bool slice, rest;
    const Expr *start, *stop, *step; /* a position is start */
} Item;

struct Expr {
    ExprKind kind;
    Where at;
    const char *from; /* what was written, in the formula's text, len bytes */
    uint32_t len;
    const char *text; /* operators are calls: "add" "sub" "mul" "matmul" "neg" "lt" "pow" ... */
    double number;
    int64_t whole; /* the number, where integer */
    bool integer;
    const Expr *const *args;
    const Keyword *keywords;
    const Item *items;
    uint32_t num_args, num_keywords, num_items;
    uint32_t height; /* of the tree */
};

typedef struct {
    Where at;
    const char *name; /* what is defined: "h"; of a reducer's part "wmean" */
    const char *
        part; /* "identity" "lift" "combine" "finalize", a declaration ("associative" ..), or NULL */
    const char *const *params; /* of a part */
    uint32_t num_params;
    const Expr *const *values; /* one; of a part one a state component */
    uint32_t num_values;
    const Keyword *names; /* of a part: intermediate values, each may use those before it */
    uint32_t num_names;
} Line;

typedef struct {
    const Line *lines;
    uint32_t num_lines;
} Formula;

/* The tree lives in the arena. ST_SYNTAX: "line:column: expected ..., got ...". Survives any bytes;
 * nesting deeper than 200 and trees higher than 1000 (a chain of operators is one) are refused, so that
 * walking a tree needs a bounded stack. */
Status formula_parse(Arena *a, const char *text, Formula *out);

#endif
