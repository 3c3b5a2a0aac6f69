/* Primitives: the words in which op.def and vmath.inc say what an operation is.
 *
 * They are macros over values a, b, c, instantiated more than once: the interpreter reads them as C
 * on one scalar, the code generator as LLVM on a vector. So an operation has one definition and one
 * set of bits. Whoever includes op.def's value column or vmath.inc defines all of these first:
 *
 *   types       VT a value of the operation's dtype   VI an integer of the same width   VM a mask (bool)
 *   arithmetic  ADD SUB MUL NEG (floats: one IEEE rounding, never contracted; integers wrap)
 *               DIV (floats) FMA(a, b, c) = a * b + c rounded once   SQRT ABS FLOOR CEIL ROUND (floats;
 *               ROUND: to whole, half to even; ABS of integers wraps)
 *               FLOORDIV MOD: toward minus infinity, the result of MOD has b's sign; integers by 0
 *               give 0, the least integer by -1 wraps; floats: FN(floordiv), FN(mod) of vmath.inc
 *   comparison  LT LE EQ (ordered: false for NaN) NE (true for NaN) NAN(a) -> VM; of VI as of VT
 *               (NAN collides with <math.h>'s: undefine that one; false for integers)
 *   logic       AND OR XOR NOT on masks and on integers      SEL(mask, a, b)
 *   constants   ZERO ONE of VT    K(x) a float constant of VT    KI(n) an integer constant of VI
 *   bits        AS_INT(a) VT -> VI, AS_FLT(i) VI -> VT: same bits
 *               IADD ISUB (wrap) ISHL(i, n) ISHR(i, n: arithmetic) IAND IOR on VI, n a plain constant
 *   functions   EXP EXPM1 LOG LOG1P SIN COS TANH ERF POW (floats): FN(exp) ... of vmath.inc, called with
 *               CTX_ARG before the operands;  ORDER(a), a float, -> VI: FN(order)
 *
 * vmath.inc further takes VMATH_BITS (32 or 64), FN(name) (this instance's function names), MDEF (the
 * storage words) and CTX_PARAM / CTX_ARG (empty in C; "Emit *e," and "e," in the generator). Words
 * that need the generator's context find it in a variable of that name. Constants reach K as
 * expressions of type double, __builtin_inf() and __builtin_nan("") among them.
 *
 * NaN has no sign and no payload: any NaN equals any other. All else is equal bit for bit, and so the
 * operations that accumulate within one element have one order, on every target and in every dtype:
 *
 *   fsum, fmax  Feature order. The reduced axes, row major, give n elements for each element of the
 *               result. Lane l of FEATURE_LANES starts as element l and takes elements l + 16, l + 32,
 *               ... in turn; a lane without an element does not exist (it is not a zero: a sum of -0
 *               stays -0). Then for h = 8, 4, 2, 1 lane l takes lane l + h where that exists, l < h;
 *               lane 0 is the result. n = 0 gives 0, of fmax -inf or the least integer.
 *               "x takes y" is  x = ADD(x, y)  or  x = max(x, y) of op.def (a = x, b = y).
 *   cumsum      x = the first element, then x = ADD(x, the next one), along the axis from its start, or
 *               from its end where reverse is set.
 *   put         x = 0, then x = ADD(x, g) for every row of g that is added there, in their order.
 *   matmul      x = MUL(a_0, b_0), then x = FMA(a_k, b_k, x) for k = 1, 2, ...; K = 0 gives 0.
 *
 * Integers wrap, whatever their order. What accumulates along a map (reduce, rmax, softmax) is
 * compared with a tolerance instead: rows split and vectors differ. row_scan says its order (ir.h). */
#ifndef TIGA_IR_PRIM_H
#define TIGA_IR_PRIM_H

enum { FEATURE_LANES = 16 };

#endif
