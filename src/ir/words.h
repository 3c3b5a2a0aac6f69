/* The words of prim.h in C, on one scalar: function <word>_<dtype>, chosen by the macro D that stands
 * for a dtype's name at the place of use. With them vmath.inc's functions, exp_f32, exp_f64, ... */
#ifndef TIGA_IR_WORDS_H
#define TIGA_IR_WORDS_H

#include "ir/prim.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PASTE_NOW(a, b) a##_##b
#define PASTE(a, b) PASTE_NOW(a, b)
#define FN(name) PASTE(name, D)

#define FLOAT_WORDS(D, T, I, U, SUFFIX)                                                            \
    typedef T VT_##D;                                                                              \
    typedef I VI_##D;                                                                              \
    static inline T add_##D(T a, T b) { return a + b; }                                            \
    static inline T sub_##D(T a, T b) { return a - b; }                                            \
    static inline T mul_##D(T a, T b) { return a * b; }                                            \
    static inline T neg_##D(T a) { return -a; }                                                    \
    static inline T div_##D(T a, T b) { return a / b; }                                            \
    static inline T fma_##D(T a, T b, T c) { return __builtin_fma##SUFFIX(a, b, c); }              \
    static inline T sqrt_##D(T a) { return __builtin_sqrt##SUFFIX(a); }                            \
    static inline T abs_##D(T a) { return __builtin_fabs##SUFFIX(a); }                             \
    static inline T floor_##D(T a) { return __builtin_floor##SUFFIX(a); }                          \
    static inline T ceil_##D(T a) { return __builtin_ceil##SUFFIX(a); }                            \
    static inline T round_##D(T a) { return __builtin_rint##SUFFIX(a); }                           \
    static inline bool nan_##D(T a) { return a != a; }                                             \
    static inline I as_int_##D(T a) {                                                              \
        I i;                                                                                       \
        memcpy(&i, &a, sizeof i);                                                                  \
        return i;                                                                                  \
    }                                                                                              \
    static inline T as_flt_##D(I i) {                                                              \
        T a;                                                                                       \
        memcpy(&a, &i, sizeof a);                                                                  \
        return a;                                                                                  \
    }                                                                                              \
    static inline I iadd_##D(I i, I j) { return (I)((U)i + (U)j); }                                \
    static inline I isub_##D(I i, I j) { return (I)((U)i - (U)j); }                                \
    static inline I ishl_##D(I i, int n) { return (I)((U)i << n); }

#define INT_WORDS(D, T, U)                                                                         \
    typedef T VT_##D;                                                                              \
    static inline T add_##D(T a, T b) { return (T)((U)a + (U)b); }                                 \
    static inline T sub_##D(T a, T b) { return (T)((U)a - (U)b); }                                 \
    static inline T mul_##D(T a, T b) { return (T)((U)a * (U)b); }                                 \
    static inline T neg_##D(T a) { return (T)(0 - (U)a); }                                         \
    static inline T abs_##D(T a) { return a < 0 ? neg_##D(a) : a; }                                \
    static inline T not_##D(T a) { return ~a; }                                                    \
    static inline bool nan_##D(T a) {                                                              \
        (void)a;                                                                                   \
        return false;                                                                              \
    }                                                                                              \
    static inline T mod_##D(T a, T b) {                                                            \
        T r = b == 0 || b == -1 ? 0 : a % b;                                                       \
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;                                           \
    }                                                                                              \
    static inline T floordiv_##D(T a, T b) {                                                       \
        if (b == 0) return 0;                                                                      \
        if (b == -1) return neg_##D(a);                                                            \
        return a / b - (a % b != 0 && (a < 0) != (b < 0));                                         \
    }

FLOAT_WORDS(f32, float, int32_t, uint32_t, f)
FLOAT_WORDS(f64, double, int64_t, uint64_t, )
INT_WORDS(i32, int32_t, uint32_t)
INT_WORDS(i64, int64_t, uint64_t)
typedef bool VT_i1;
static inline bool not_i1(bool a) { return !a; }

#undef NAN
#define VT FN(VT)
#define VI FN(VI)
#define VM bool
#define ADD(a, b) FN(add)(a, b)
#define SUB(a, b) FN(sub)(a, b)
#define MUL(a, b) FN(mul)(a, b)
#define NEG(a) FN(neg)(a)
#define DIV(a, b) FN(div)(a, b)
#define FMA(a, b, c) FN(fma)(a, b, c)
#define SQRT(a) FN(sqrt)(a)
#define ABS(a) FN(abs)(a)
#define FLOOR(a) FN(floor)(a)
#define CEIL(a) FN(ceil)(a)
#define ROUND(a) FN(round)(a)
#define FLOORDIV(a, b) FN(floordiv)(a, b)
#define MOD(a, b) FN(mod)(a, b)
#define LT(a, b) ((a) < (b))
#define LE(a, b) ((a) <= (b))
#define EQ(a, b) ((a) == (b))
#define NE(a, b) ((a) != (b))
#define NAN(a) FN(nan)(a)
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
#define NOT(a) FN(not)(a)
#define SEL(mask, a, b) ((mask) ? (a) : (b))
#define ZERO ((VT)0)
#define ONE ((VT)1)
#define K(x) ((VT)(x))
#define KI(n) ((VI)(n))
#define AS_INT(a) FN(as_int)(a)
#define AS_FLT(i) FN(as_flt)(i)
#define IADD(i, j) FN(iadd)(i, j)
#define ISUB(i, j) FN(isub)(i, j)
#define ISHL(i, n) FN(ishl)(i, n)
#define ISHR(i, n) ((i) >> (n))
#define IAND(i, j) ((i) & (j))
#define IOR(i, j) ((i) | (j))
#define EXP(a) FN(exp)(a)
#define EXPM1(a) FN(expm1)(a)
#define LOG(a) FN(log)(a)
#define LOG1P(a) FN(log1p)(a)
#define SIN(a) FN(sin)(a)
#define COS(a) FN(cos)(a)
#define TANH(a) FN(tanh)(a)
#define ERF(a) FN(erf)(a)
#define POW(a, b) FN(pow)(a, b)
#define ORDER(a) FN(order)(a)
#define MDEF static inline
#define CTX_PARAM
#define CTX_ARG

#define D f32
#define VMATH_BITS 32
#include "ir/vmath.inc"
#undef D
#undef VMATH_BITS
#define D f64
#define VMATH_BITS 64
#include "ir/vmath.inc"
#undef D
#undef VMATH_BITS

#endif
