/* The verifier: says everything that is wrong with a function. */
#ifndef TIGA_IR_VERIFY_H
#define TIGA_IR_VERIFY_H

#include "ir/ir.h"

/* The number of violations; one line each into report (NULL: counted only). Reads nothing out of
 * bounds whatever the function holds, as long as its arrays have the lengths that it says. */
uint32_t ir_verify(const Fn *f, Text *report);

#endif
