/* The rules of reverse mode, an operand at a time. */
#ifndef TIGA_OPT_VJP_RULES_H
#define TIGA_OPT_VJP_RULES_H

#include "ir/ir.h"

/* A question: what does operand k of v get, where v's results have the cotangents g? */
typedef struct {
    Fn *f;
    Val v;
    uint32_t k;
    const Val *g; /* 0: none; one at least is there */
} Cot;

/* 0 where no cotangent flows. Linear in g. */
Val vjp_operand(const Cot *q);
Val vjp_row_scan(const Cot *q); /* vjp_scan.c */
/* The operand's cotangent is the result's moved about, each of its elements at most once: the rule
 * then moves a mask as well. */
bool vjp_moves(Op op);

#endif
