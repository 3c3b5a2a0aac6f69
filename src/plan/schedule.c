/* How a kernel's inner loops run, by shape alone: lanes along the features where some value is wide
 * enough, else one element at a time. */
#include "plan/plan.h"

#include "ir/type.h"

enum { MIN_LANES = 4 };

const char *plan_schedule(const Kernel *k) {
    for (Val v = 1; v < ir_count(k->body); v++) {
        const Type *t = ir_type(k->body, v);
        if (t->set != SET_ALL && type_numel(t) >= MIN_LANES) return "feature-lanes";
        if (k->rows == SET_ALL && type_numel(t) >= MIN_LANES) return "feature-lanes";
    }
    return "narrow";
}
