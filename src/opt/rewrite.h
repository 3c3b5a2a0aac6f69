/* What the passes share: the loop that builds a program anew, value by value. */
#ifndef TIGA_OPT_REWRITE_H
#define TIGA_OPT_REWRITE_H

#include "ir/ir.h"

/* One value of the old program on its way into the new one. */
typedef struct {
    Fn *f;            /* the new program */
    const Fn *from;   /* the old one; never changes */
    const Node *node; /* of the old one */
    const Val *args;  /* node's operands in the new one */
} Rewrite;

/* All inputs in their order, all results, and the values that they need, each made by rule(), which
 * gives a value of the old one's type. What rule() made in vain is dropped. The order of values
 * depends on the structure alone. */
Fn *rewrite_run(Arena *takes, const Fn *f, Val (*rule)(const Rewrite *r));
Fn *rewrite_copy(Arena *takes, const Fn *f); /* likewise, with nothing changed */
/* The same operation again. */
Val rewrite_same(const Rewrite *r);
/* v of another program with what it needs, memo (by value of `from`: in `to`, or 0) aside; sums keep their order. */
Val rewrite_into(Fn *to, const Fn *from, Val v, Val *memo);
/* A row_scan with its body rewritten. */
Val rewrite_body(const Rewrite *r, Fn *(*pass)(Arena *takes, const Fn *f));
/* op (add or mul) over operands in the order given, whatever their hashes in the new program: a sum
 * of floats keeps its order of additions and so its bits. */
Val rewrite_nary(Fn *f, Op op, const Val *args, uint32_t n);

#endif
