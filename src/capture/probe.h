/* Declarations put to the test. */
#ifndef TIGA_CAPTURE_PROBE_H
#define TIGA_CAPTURE_PROBE_H

#include "algebra/reducer.h"

/* A counterexample to `associative` or `commutative` as one line in the arena, NULL where none is found:
 * states that messages lead to are combined both ways, by the interpreter. The same each time. */
const char *probe_declarations(Arena *a, const Reducer *r);

#endif
