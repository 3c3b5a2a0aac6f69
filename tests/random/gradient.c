/* Gradients against differences along one random direction: a stencil of fourth order at two widths,
 * whose disagreement tells a kink or a pole, where a difference is no yardstick. */
#include "random.h"

#include "base/hash.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const Env *env;
    const Fn *f;
    const Gradient *g;
    double size; /* sum of the absolute terms of <cots, outs> */
    bool failed;
} Line;

static double noise(const char *name, const char *what, int64_t i) {
    return (double)(hash_u64((uint64_t)i, hash_str(name, hash_str(what, 0))) % 2001) / 1000 - 1;
}

/* The inputs at x + t d; all else of the environment stays. */
static Env moved(const Line *l, double t) {
    Env e = env_copy(l->env);
    for (uint32_t k = 0; k < l->g->num_wrt; k++) {
        const char *name = l->g->wrt[k];
        const Array *x = env_find(l->env, name);
        Array y = env_new(&e, "", ir_type(l->f, ir_find_input(l->f, name)));
        for (int64_t i = 0, n = array_numel(x); i < n; i++)
            array_set(&y, i, array_get(x, i) + t * noise(name, "direction", i));
        for (uint32_t j = 0; j < e.all.len; j++)
            if (!strcmp(e.all.data[j].name, name)) e.all.data[j].array = y;
    }
    return e;
}

static double along(Line *l, double t) {
    Env e = moved(l, t);
    double sum = 0;
    if (env_run(&e, l->f)) l->failed = true;
    for (uint32_t k = 0; k < l->g->num_outs && !l->failed; k++) {
        const Array *out = env_find(&e, l->g->outs[k]), *cot = env_find(&e, l->g->cots[k]);
        for (int64_t i = 0, n = array_numel(out); i < n; i++) {
            double term = array_get(out, i) * array_get(cot, i);
            sum += term;
            l->size += fabs(term);
        }
    }
    return sum;
}

static double difference(Line *l, double h) {
    double near = along(l, h) - along(l, -h), far = along(l, 2 * h) - along(l, -2 * h);
    return (8 * near - far) / (12 * h);
}

static double directional(Line *l, const Fn *joint, double *scale) {
    Env e = env_copy(l->env);
    double sum = 0;
    if (env_run(&e, joint)) l->failed = true;
    for (uint32_t k = 0; k < l->g->num_wrt && !l->failed; k++) {
        const Array *grad = env_find(&e, l->g->grads[k]);
        for (int64_t i = 0, n = array_numel(grad); i < n; i++) {
            double term = array_get(grad, i) * noise(l->g->wrt[k], "direction", i);
            sum += term;
            *scale += fabs(term);
        }
    }
    return sum;
}

/* Every float on the way from an input to a result is a double. */
static bool is_double(const Fn *f) {
    for (Val v = 1; v < ir_count(f); v++)
        for (uint32_t k = 0; k < ir_node(f, v)->num_results; k++) {
            Dtype d = (Dtype)ir_node(f, v)->types[k].dtype;
            if (dtype_is_float(d) && d != DT_f64) return false;
        }
    return true;
}

bool gradient_agrees(const Env *e, const Fn *f, const Fn *joint, const Gradient *g, Report *r) {
    Line l = {.env = e, .f = f, .g = g};
    if (!is_double(f)) return true;
    double wide = difference(&l, 2e-4), narrow = difference(&l, 1e-4), scale = 0;
    double got = directional(&l, joint, &scale);
    double tolerance = 1e-6 * (scale + fabs(narrow)) + 1e-10 * l.size;
    bool is_yardstick = !l.failed && fabs(wide - narrow) <= tolerance / 10;
    if (!is_yardstick) {
        r->skipped++;
        return true;
    }
    r->gradients++;
    if (fabs(got - narrow) <= tolerance) return true;
    snprintf(r->message, sizeof r->message,
             "gradient: %.17g along a line, differences say %.17g (%.17g)", got, narrow, wide);
    return false;
}
