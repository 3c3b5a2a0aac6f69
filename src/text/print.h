/* Between the printer's two files: blocks, functions and the module (print.c), names, types and
 * attributes (print_attr.c). */
#ifndef TIGA_TEXT_PRINT_H
#define TIGA_TEXT_PRINT_H

#include "text/text.h"

typedef struct {
    const char *name;
    const void *of; /* the Fn; NULL: a set, relation or reducer */
} PrintSymbol;

typedef struct {
    Arena *arena;
    Text out;
    int depth;                      /* of the line being printed */
    const Fn *env;                  /* whose sets and relations are the module's */
    const char **sets, **relations; /* symbols by number */
    VEC(PrintSymbol) symbols;       /* all in use */
    VEC(const Fn *) functions;      /* in order of printing */
} Printer;

void print_put(Printer *p, const char *s);
void print_line(Printer *p); /* ends a line, indents the next */
void print_string(Text *t, const char *s);
void print_symbol(Text *t, const char *symbol); /* "@V" */
void print_type(Printer *p, const Type *t);

/* A symbol that is free: the name itself, else the name and a number. */
const char *print_new_symbol(Printer *p, const char *name, const void *of);
const char *print_symbol_of(const Printer *p, const Fn *f);

/* Attributes with their values as text, sorted by key. */
typedef VEC(TextAttr) Props;
void print_prop(Printer *p, Props *props, const char *key, const char *value);
void print_prop_name(Printer *p, Props *props, const char *key, const char *name);
void print_prop_symbol(Printer *p, Props *props, const char *key, const char *symbol);
/* What a region's ends are called: properties, since block arguments carry none. */
void print_region_props(Printer *p, Props *props, const char *prefix, const Fn *f);
void print_dictionary(Printer *p, const Props *props, const char *open, const char *close);
void print_props(Printer *p, const Props *props); /* " <{..}>" */
void print_node_props(Printer *p, const Node *n);

/* An input's hash is its name's unless it stands in for another value (ir_stand_in). */
bool print_stands_in(Printer *p, const Fn *f, const Binding *input);

#endif
