/* Library functions, one element at a time: activations, comparisons, bounds, powers.
 *
 * Formulas are the usual definitions; what deserves care is said at each: ties and gradients at
 * corners follow torch. */
#include "vocab/lib_words.h"

#include <math.h>

static Val lib_gt(Builder *b, const LibCall *c) { return call(b, "lt", c->args[1], c->args[0]); }

static Val lib_ge(Builder *b, const LibCall *c) { return call(b, "le", c->args[1], c->args[0]); }

static Val lib_relu(Builder *b, const LibCall *c) {
    Val x = c->args[0]; /* NaN stays; the gradient at 0 is 0 */
    return select(b, call(b, "le", x, build_integer(b, 0)), build_integer(b, 0), x);
}

static Val lib_leaky_relu(Builder *b, const LibCall *c) {
    Val x = c->args[0], slope = c->num_args > 1 ? c->args[1] : number(b, 0.01);
    return select(b, call(b, "lt", build_integer(b, 0), x), x, call(b, "mul", x, slope));
}

/* 1 / (1 + exp(-x)); 0 to rounding where exp would overflow, which it does not see: no inf / inf in the
 * derivative, no rest for a large factor to blow up. */
static Val lib_sigmoid(Builder *b, const LibCall *c) {
    Val x = build_float(b, c->args[0]);
    if (!x) return 0;
    Val gone = call(b, "lt", x, number(b, type(b, x)->dtype == DT_f64 ? -709 : -88));
    Val e = call(b, "exp", select(b, gone, number(b, 0), call(b, "neg", x, 0)), 0);
    return select(b, gone, number(b, 0),
                  call(b, "div", number(b, 1), call(b, "add", e, number(b, 1))));
}

static Val lib_silu(Builder *b, const LibCall *c) {
    return call(b, "mul", c->args[0], lib_sigmoid(b, c));
}

/* max(x, 0) + log(1 + exp(-|x|)) */
static Val lib_softplus(Builder *b, const LibCall *c) {
    Val x = build_float(b, c->args[0]);
    Val tail = call(b, "exp", call(b, "neg", call(b, "abs", x, 0), 0), 0);
    return call(b, "add", call(b, "maximum", x, number(b, 0)), call(b, "log1p", tail, 0));
}

/* x where x > 0, else alpha (exp(x) - 1), which sees the dead branch's argument as 0. */
static Val lib_elu(Builder *b, const LibCall *c) {
    Val x = build_float(b, c->args[0]), alpha = c->num_args > 1 ? c->args[1] : number(b, 1);
    Val alive = call(b, "lt", number(b, 0), x);
    Val low = call(b, "expm1", select(b, alive, number(b, 0), x), 0);
    return select(b, alive, x, call(b, "mul", low, alpha));
}

/* x (1 + sign) / 2 for a function from -1 to 1. */
static Val gated(Builder *b, Val x, Val sign) {
    Val gate = call(b, "mul", call(b, "add", sign, number(b, 1)), number(b, 0.5));
    return call(b, "mul", x, gate);
}

/* x times the normal distribution's share below x: (1 + erf(x / sqrt(2))) / 2. */
static Val lib_gelu(Builder *b, const LibCall *c) {
    Val x = build_float(b, c->args[0]);
    return gated(b, x, call(b, "erf", call(b, "mul", x, number(b, M_SQRT1_2)), 0));
}

/* The share as (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2. */
static Val lib_gelu_tanh(Builder *b, const LibCall *c) {
    Val x = build_float(b, c->args[0]), slope = number(b, M_SQRT1_2 * M_2_SQRTPI);
    Val bent =
        call(b, "add", call(b, "mul", call(b, "mul", x, x), number(b, 0.044715)), number(b, 1));
    return gated(b, x, call(b, "tanh", call(b, "mul", call(b, "mul", x, bent), slope), 0));
}

static Val lib_rsqrt(Builder *b, const LibCall *c) {
    return call(b, "div", number(b, 1), call(b, "sqrt", c->args[0], 0));
}

static Val lib_square(Builder *b, const LibCall *c) {
    return call(b, "mul", c->args[0], c->args[0]);
}

static Val lib_reciprocal(Builder *b, const LibCall *c) {
    return call(b, "div", number(b, 1), c->args[0]);
}

static Val lib_isfinite(Builder *b, const LibCall *c) {
    Val x = build_float(b, c->args[0]);
    return call(b, "lt", call(b, "abs", x, 0), number(b, INFINITY));
}

/* Of what is real: x is its own conjugate and real part, the imaginary part is 0. */
static Val lib_real(Builder *b, const LibCall *c) { return (void)b, c->args[0]; }

static Val lib_imag(Builder *b, const LibCall *c) {
    Val x = build_strong(b, c->args[0]);
    return x ? ir_const_like(b->f, x, 0) : 0;
}

/* x, or the bound where x lies beyond it; NaN of either. All of the gradient goes to x at the bound, not
 * half as with maximum. */
static Val held(Builder *b, Val x, Val bound, bool below) {
    double value;
    Val beyond = call(b, "lt", below ? x : bound, below ? bound : x);
    if (!build_constant(b, bound, &value) || isnan(value))
        beyond = call(b, "or", beyond, call(b, "ne", bound, bound));
    return select(b, beyond, bound, x);
}

static Val lib_clamp_min(Builder *b, const LibCall *c) {
    return held(b, c->args[0], c->args[1], true);
}

static Val lib_clamp_max(Builder *b, const LibCall *c) {
    return held(b, c->args[0], c->args[1], false);
}

static Val lib_clamp(Builder *b, const LibCall *c) {
    Val v = held(b, c->args[0], c->args[1], true);
    return c->num_args > 2 ? held(b, v, c->args[2], false) : v;
}

static Val power(Builder *b, Val x, int n) {
    if (n == 1) return x;
    Val half = power(b, x, n / 2), whole = call(b, "mul", half, half);
    return n % 2 ? call(b, "mul", whole, x) : whole;
}

/* Whole exponents up to 64 by products, halves by a root; 1 for 0, of NaN and infinity too. */
static Val lib_pow(Builder *b, const LibCall *c) {
    double n;
    Val x = c->args[0];
    bool known = build_constant(b, c->args[1], &n) && fabs(n) <= 64;
    if (!known || (n != floor(n) && fabs(n) != 0.5)) return call(b, "power", x, c->args[1]);
    if (n == 0) {
        Val pair[] = {x, build_integer(b, 1)};
        return build_meet(b, c->name, pair, 2) ? pair[1] : 0;
    }
    Val y = fabs(n) == 0.5 ? call(b, "sqrt", x, 0) : power(b, x, (int)fabs(n));
    return n > 0 ? y : call(b, "div", number(b, 1), y);
}

const LibEntry lib_elementwise[] = {
    {"gt", lib_gt, 2, 2, false},
    {"ge", lib_ge, 2, 2, false},
    {"relu", lib_relu, 1, 1, false},
    {"leaky_relu", lib_leaky_relu, 1, 2, false},
    {"sigmoid", lib_sigmoid, 1, 1, false},
    {"silu", lib_silu, 1, 1, false},
    {"softplus", lib_softplus, 1, 1, false},
    {"elu", lib_elu, 1, 2, false},
    {"gelu", lib_gelu, 1, 1, false},
    {"gelu_tanh", lib_gelu_tanh, 1, 1, false},
    {"rsqrt", lib_rsqrt, 1, 1, false},
    {"square", lib_square, 1, 1, false},
    {"reciprocal", lib_reciprocal, 1, 1, false},
    {"isfinite", lib_isfinite, 1, 1, false},
    {"conj", lib_real, 1, 1, false},
    {"real", lib_real, 1, 1, false},
    {"imag", lib_imag, 1, 1, false},
    {"clamp", lib_clamp, 2, 3, false},
    {"clamp_min", lib_clamp_min, 2, 2, false},
    {"clamp_max", lib_clamp_max, 2, 2, false},
    {"pow", lib_pow, 2, 2, false},
};
const size_t lib_num_elementwise = sizeof lib_elementwise / sizeof *lib_elementwise;
