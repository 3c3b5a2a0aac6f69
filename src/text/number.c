/* Numbers as text. In: an element's bits; out: MLIR's literal, and back. */
#include "text/text.h"

#include "base/locale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef union {
    float f;
    double d;
    uint32_t word;
    uint64_t bits;
} Number;

/* As MLIR: six digits where they suffice; then as many as it takes (9 and 17 always do). */
static void format_finite(char *s, size_t size, Dtype d, Number n) {
    locale_t old = locale_enter_c();
    int most = d == DT_f32 ? 8 : 16;
    for (int digits = 6; digits <= most; digits++) {
        snprintf(s, size, "%.*e", digits, d == DT_f32 ? (double)n.f : n.d);
        if (d == DT_f32 ? strtof(s, NULL) == n.f : strtod(s, NULL) == n.d) break;
    }
    locale_leave_c(old);
}

static void put_float(Text *t, Dtype d, uint64_t bits) {
    Number n = {.bits = bits};
    if (!isfinite(d == DT_f32 ? (double)n.f : n.d)) {
        if (d == DT_f32) text_putf(t, "0x%08X", n.word);
        else text_putf(t, "0x%016llX", (unsigned long long)bits);
        return;
    }
    char s[64];
    format_finite(s, sizeof s, d, n);
    text_put(t, s);
}

void text_put_number(Text *t, Dtype d, uint64_t bits) {
    if (dtype_is_float(d)) put_float(t, d, bits);
    else if (d == DT_bool) text_put(t, bits ? "true" : "false");
    else if (d == DT_i32) text_putf(t, "%d", (int32_t)(uint32_t)bits);
    else text_putf(t, "%lld", (long long)bits);
}

bool text_get_float(const char *s, Dtype d, uint64_t *bits) {
    char *end;
    Number n = {.bits = 0};
    locale_t old = locale_enter_c();
    if (d == DT_f32) n.f = strtof(s, &end);
    else n.d = strtod(s, &end);
    locale_leave_c(old);
    if (end == s || *end || !isfinite(d == DT_f32 ? (double)n.f : n.d)) return false;
    *bits = n.bits;
    return true;
}
