/* What a formula means: tree -> program. The grammar and the rules of places are docs/formula.md. */
#ifndef TIGA_CAPTURE_MEANING_H
#define TIGA_CAPTURE_MEANING_H

#include "capture/reducers.h"
#include "capture/formula.h"

/* An input's type, as it is bound: the feature shape (rows apart) of "src.x", the whole of "W". */
typedef struct {
    const char *name;
    Dtype dtype;
    int rank;
    int64_t dim[MAX_RANK];
} FormulaInput;

/* The program for these input types. Every name on the left that no later line uses is a result, "out"
 * always, and so are the lines named in results; other names there are passed over. Messages start with
 * "line:column: ". The function's arena is the one given. */
Status formula_build(Arena *takes, const Formula *formula, const FormulaInput *inputs,
                     uint32_t num_inputs, const char *const *results, uint32_t num_results,
                     Fn **out);

#endif
