/* Reducers from four functions, the built-ins' or a user's: checked, and their form proven. */
#ifndef TIGA_CAPTURE_REDUCERS_H
#define TIGA_CAPTURE_REDUCERS_H

#include "algebra/reducer.h"

/* Folds, written as anybody's four functions: "sum" "mean" "max" "min" "count" "online_softmax"; and those of
 * library.c, "quantile(0.25)" with its share. Unknown names give ST_NAME. */
bool reducer_is_builtin(const char *name);
const char *reducer_builtin_name(size_t k); /* NULL past the end */
Status reducer_builtin(Arena *takes, const char *name, int flags, bool has_empty, double empty,
                       Reducer **out);
/* Of a quantile: which. ST_INVAL outside 0 to 1. */
Status reducer_set_share(Reducer *r, double share);
/* Copies the functions, checks that they fit each other and are elementwise, proves the form. */
Status reducer_new(Arena *takes, const char *name, int flags, const Fn *identity, const Fn *lift,
                   const Fn *combine, const Fn *finalize, Reducer **out);

/* The functions for messages of these dtypes, each in an arena of its own. FORM_program: ST_UNSUPPORTED. */
typedef struct {
    Fn *identity, *lift, *combine, *finalize;
} Regions;
Status reducer_typed(const Reducer *r, const Dtype *dtypes, uint32_t num_dtypes, Regions *out);

/* proof.c: by structure, never by name; identity must be neutral. Gives the form, sets part and mean. */
Form proof_find(Arena *scratch, Reducer *r);
/* That of its combine, were its identity the neutral one. */
Form proof_of_combine(Arena *scratch, const Reducer *r);

#endif
