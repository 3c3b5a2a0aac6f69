/* What a formula's tree says by itself, before anything is built. */
#ifndef TIGA_CAPTURE_NAMES_H
#define TIGA_CAPTURE_NAMES_H

#include "capture/formula.h"

/* "src.x" and the like: a value with a row for each element of a set. */
bool name_is_field(const char *name);
/* inf, nan, true, false, None: neither defined nor bound. */
bool name_is_word(const char *name);

/* The line "name.part", NULL where there is none. */
const Line *formula_part(const Formula *formula, const char *name, const char *part);
bool call_is_own_reducer(const Formula *formula, const Expr *e);
/* sum(x) reduces along the relation; sum(x, axis=..) reduces features; max(x, y) is elementwise. */
bool call_is_reducer(const Formula *formula, const Expr *e);

/* Names that the formula takes as inputs, in order of first use; in the arena. */
void formula_inputs(Arena *a, const Formula *formula, const char *const **names,
                    uint32_t *num_names);
/* Whether a line mentions the name: what none does is a result. */
bool formula_uses(const Formula *formula, const char *name);
/* The formula of the lines named in wanted and of those that they need. */
Formula formula_only(Arena *a, const Formula *formula, const char *const *wanted,
                     uint32_t num_wanted);
/* Sources and destinations are one node set: node fields are used, or src(v) of destination values. */
bool formula_is_homogeneous(const Formula *formula);

#endif
