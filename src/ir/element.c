/* Bits to numbers and back; halves by the conversions of vmath.inc. */
#include "ir/element.h"

#include "ir/words.h"

#include <string.h>

/* x in float32, its last bit set where that is not all of it: so rounded again it is rounded once. */
static float sticky(double x) {
    float f = (float)x;
    bool above = abs_f64((double)f) > abs_f64(x), below = abs_f64((double)f) < abs_f64(x);
    return as_flt_f32((as_int_f32(f) - above) | (above | below));
}

double element_get_float(Dtype t, const char *p) {
    float f;
    double d;
    uint16_t half;
    if (t == DT_f16) return memcpy(&half, p, sizeof half), (double)from_f16_f32(half);
    if (t == DT_bf16) return memcpy(&half, p, sizeof half), (double)from_bf16_f32(half);
    if (t == DT_f32) return memcpy(&f, p, sizeof f), f;
    return memcpy(&d, p, sizeof d), d;
}

int64_t element_get_int(Dtype t, const char *p) {
    int32_t i;
    int64_t l;
    if (t == DT_bool) return *p != 0;
    if (t == DT_i32) return memcpy(&i, p, sizeof i), i;
    return memcpy(&l, p, sizeof l), l;
}

void element_set_float(Dtype t, char *p, double x) {
    float f = (float)x;
    uint16_t half = (uint16_t)(t == DT_f16 ? to_f16_f32(sticky(x)) : to_bf16_f32(sticky(x)));
    memcpy(p, t == DT_f64 ? (void *)&x : t == DT_f32 ? (void *)&f : &half, (size_t)dtype_size(t));
}

void element_set_int(Dtype t, char *p, int64_t x) {
    uint32_t low = (uint32_t)x;
    if (t == DT_bool) *p = x != 0;
    else if (t == DT_i32) memcpy(p, &low, sizeof low);
    else memcpy(p, &x, sizeof x);
}

void element_set_least(Dtype t, char *p) {
    if (dtype_is_float(t)) element_set_float(t, p, -__builtin_inf());
    else element_set_int(t, p, t == DT_i32 ? INT32_MIN : INT64_MIN);
}
