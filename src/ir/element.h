/* One element, in memory or in the bits of a constant, read and written as a number. */
#ifndef TIGA_IR_ELEMENT_H
#define TIGA_IR_ELEMENT_H

#include "ir/ir.h"

double element_get_float(Dtype t, const char *p);
int64_t element_get_int(Dtype t, const char *p);    /* of integers and bool */
void element_set_float(Dtype t, char *p, double x); /* rounds once */
void element_set_least(Dtype t, char *p);           /* -inf, or the least integer */
void element_set_int(Dtype t, char *p, int64_t x);  /* wraps; bool: whether it is not 0 */

#endif
