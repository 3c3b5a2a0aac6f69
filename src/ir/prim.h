/* Primitives: the words in which op.def and vmath.inc say what an operation is.
 *
 * They are macros over values a, b, c, instantiated more than once: the interpreter reads them as C
 * on one scalar, the code generator as LLVM on a vector. So an operation has one definition and one
 * set of bits. Whoever includes op.def's value column or vmath.inc defines all of these first:
 *
 *   types       VT a value of the operation's dtype   VI an integer of the same width   VM a mask (bool)
 *   arithmetic  ADD SUB MUL NEG (floats: one IEEE rounding, never contracted; integers wrap)
 *               DIV (floats) FMA(a, b, c) = a * b + c rounded once   SQRT ABS FLOOR CEIL (floats;
 *               ABS of integers wraps)
 *               FLOORDIV MOD: toward minus infinity, the result of MOD has b's sign; integers by 0
 *               give 0, the least integer by -1 wraps; floats: FLOORDIV = FLOOR(DIV(a, b)),
 *               MOD = r = FMA(NEG(FLOORDIV), b, a), moved by b once where rounding left it outside
 *   comparison  LT LE EQ (ordered: false for NaN) NE (true for NaN) NAN(a) -> VM
 *   logic       AND OR XOR NOT on masks and on integers      SEL(mask, a, b)
 *   constants   ZERO ONE of VT    K(x) a float constant of VT    KI(n) an integer constant of VI
 *   bits        AS_INT(a) VT -> VI, AS_FLT(i) VI -> VT: same bits
 *               TO_INT(a) truncates a small float to VI, TO_FLT(i) VI -> VT, exact for small i
 *               IADD ISUB ISHL(i, n) ISHR(i, n: arithmetic) IAND IOR on VI, n a plain constant
 *               ILT(i, j) IEQ(i, j) -> VM   ISEL(mask, i, j)
 *   functions   EXP LOG TANH: FN(exp) ... of vmath.inc, called with CTX_ARG before the operands
 *
 * vmath.inc further takes VMATH_BITS (32 or 64), FN(name) (this instance's function names), MDEF (the
 * storage words) and CTX_PARAM / CTX_ARG (empty in C; "Emit *e," and "e," in the generator). Words
 * that need the generator's context find it in a variable of that name. */
