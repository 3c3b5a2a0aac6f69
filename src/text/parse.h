/* Between the parser's files: module and functions (parse.c), operations and regions
 * (parse_op.c), types and attributes (parse_attr.c). */
#ifndef TIGA_TEXT_PARSE_H
#define TIGA_TEXT_PARSE_H

#include "text/lex.h"
#include "text/text.h"

typedef enum { SYMBOL_set, SYMBOL_relation, SYMBOL_function, SYMBOL_reducer } SymbolKind;

typedef struct {
    const char *name;
    SymbolKind kind;
    uint32_t number; /* of the set or relation */
    const Fn *fn;
} Symbol;

typedef struct {
    Lex lex;
    Arena *arena;
    Fn *env; /* the sets and relations declared so far */
    VEC(Symbol) symbols;
    Module *out;
    int depth; /* of regions */
} Parser;

typedef enum { PROP_number, PROP_bool, PROP_string, PROP_symbol, PROP_ints, PROP_strings } PropKind;

/* key = value of "<{..}>" */
typedef struct {
    const char *key, *at; /* at: in the text */
    PropKind kind;
    bool used;
    bool flag;  /* bool */
    bool minus; /* number */
    bool is_hex, is_float;
    Dtype dtype;      /* number: as said behind ':', else i64 or f64 */
    const char *text; /* number's digits, string, symbol's root */
    const char *leaf; /* @root::@leaf, NULL where there is none */
    const int64_t *ints;
    const char **strings;
    uint32_t num; /* of ints, strings */
} Prop;

typedef struct {
    VEC(Prop) list;
    const char *at; /* of the operation, for what is missing */
} Props;

const Symbol *parse_find_symbol(const Parser *p, const char *name);
Set parse_set_symbol(Parser *p, const char *at, const char *name);

Type parse_type(Parser *p);

/* The entries of "{..}" up to `close`, which is stepped over; the opening is behind. */
void parse_props(Parser *p, Props *props, int close);
/* NULL where it is not there, or after a fault. need: a fault where it is not there. */
const Prop *prop_get(Parser *p, Props *props, const char *key, PropKind kind, bool need);
bool prop_bool(Parser *p, Props *props, const char *key, bool otherwise);
/* NULL where it is not there. */
const int64_t *prop_int(Parser *p, Props *props, const char *key, bool need);
Map prop_map(Parser *p, Props *props, bool need); /* MAP_NONE where it is not there */
uint64_t prop_bits(Parser *p, Props *props, const char *key, Dtype d);
void props_end(Parser *p, const Props *props); /* a fault where some were not used */

/* ---- parse_op.c ---- */

typedef VEC(Type) Types;

/* An input or a result as declared. */
typedef struct {
    const char *name, *at;
    Type type;
    const int64_t *order; /* an input's hash where its name does not give it */
} End;
typedef VEC(End) Ends;

void parse_types(Parser *p, Types *list); /* "(tensor<..>, ..)" */
/* "{ ^bb0(..): .. }"; props may name its ends under prefix + "inputs", "orders", "results". */
const Fn *parse_region(Parser *p, Props *props, const char *prefix);
/* A function's operations up to its return; values: what the text calls its arguments. */
void parse_body(Parser *p, Fn *f, const Ends *inputs, const char *const *values,
                const Ends *results);

#endif
