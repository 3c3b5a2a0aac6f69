/* Normal forms: spellings of one function of real numbers as one value.
 *
 * A value is a sum of terms, a term a number times a product of factors. Products are expanded, powers of
 * e in one term are one, a factor and its reciprocal cancel, log undoes exp and exp log. What is left of
 * other operations (tanh, max) is a factor of its own. An order of two inputs may be assumed: then the
 * comparisons, max, min and abs that it decides are gone, and a branch with them. */
#ifndef TIGA_CAPTURE_NORMAL_H
#define TIGA_CAPTURE_NORMAL_H

#include "ir/ir.h"

/* What is assumed of inputs x and y: x < y, x == y, x > y, or nothing. */
typedef enum { ORDER_less = -1, ORDER_same, ORDER_more, ORDER_none } Order;

typedef struct {
    Fn *f; /* where normal forms live, all of them float64 scalars */
    const char *x, *y;
    Order order;
    bool finite;  /* x and y are not infinite */
    bool too_big; /* a sum outgrew its limit: nothing is known */
} Normal;

Normal normal_new(Arena *takes, const char *x, const char *y, Order order, bool finite);
/* Results of a region of elementwise operations on scalars; out takes one entry each. needed: by value, NULL for
 * all; of other values there are none. False where a sum outgrew its limit: they mean nothing then. */
bool normal_results(Normal *w, const Fn *region, const uint8_t *needed, Val *out);

/* Of normal forms. */
Val normal_input(Normal *w, const char *name);
Val normal_number(Normal *w, double c);
Val normal_add(Normal *w, Val a, double c, Val b); /* a + c b */
Val normal_mul(Normal *w, Val a, Val b);
Val normal_inverse(Normal *w, Val a);
Val normal_exp(Normal *w, Val a);
/* False where v is no number. */
bool normal_is_number(const Normal *w, Val v, double *c);

#endif
