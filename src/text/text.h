/* The text of programs: MLIR's generic syntax, printed and parsed.
 *
 * A module holds sets and relations (symbols), captured reducers ("gf.reducer", four regions) and
 * functions. What is printed parses back to equal functions and prints the same again, and stock
 * mlir-opt --allow-unregistered-dialect prints it likewise (attributes sorted, values numbered as
 * MLIR does). The spelling:
 *
 *   f32 @ V [16]            tensor<?x16xf32, #gf.on<@V>>        the leading ? is the set's extent
 *   f32 @ all [4, 16]       tensor<4x16xf32>
 *   f32 @ all [V, 16]       tensor<?x16xf32, #gf.rows<@V>>      several: #gf.rows<[@V, @W]>, a ? each
 *   map of relation r       @r::@src, @r::@dst; to all from V: @V::@all
 *   edge set of r           @r.edges, declared by "gf.relation"
 *   names of inputs and results: {gf.name = "edge.w"} where not arg<k>, result<k>
 *   result k of several     %3#k; OP_result is no operation of the text
 *   regions                 see the block's arguments alone; end in "gf_ctl.yield"
 *   launch                  kernel = @k0, a function that stands before its user */
#ifndef TIGA_TEXT_TEXT_H
#define TIGA_TEXT_TEXT_H

#include "ir/ir.h"

enum { REGION_identity, REGION_lift, REGION_combine, REGION_finalize, NUM_REGIONS };

typedef struct {
    const char *key, *value;
} TextAttr;

/* A reducer as text sees it: what its regions mean is algebra's. */
typedef struct {
    const char *name;
    bool associative, commutative, deterministic;
    const Fn *region[NUM_REGIONS]; /* inputs are the block's arguments, results what it yields */
    const TextAttr *attrs;         /* more, as strings: "proof" = "additive"; printed sorted */
    uint32_t num_attrs;
} TextReducer;

typedef struct {
    VEC(TextReducer) reducers;
    VEC(const Fn *) functions; /* a launch's kernel is one of them, or is printed before its user */
} Module;

/* Functions of one module share their sets and relations: of two, one's list starts the other's. */
const char *text_print(Arena *a, const Fn *f);
const char *text_print_module(Arena *a, const Module *m);

/* Everything parsed lives in the arena given, which stays the caller's, also on failure. Faults:
 * ST_SYNTAX or what type inference says, the message starting with "line:column: ". Survives any
 * bytes. Operands of commuting operations are sorted and equal operations become one. */
Status text_parse(Arena *a, const char *text, size_t len, Module *out);

/* "gf_tensor.add", "gf_mp.reduce", ...; NULL for what is no operation of the text. */
const char *text_op_name(Op op);
/* An IRDL description of the dialects, for mlir-opt --irdl-file: counts of operands, results and
 * regions. IRDL cannot say "operands of several types, any number": concat, row_scan, traverse and
 * launch are left out. */
const char *text_irdl(Arena *a);

/* A number as MLIR writes it: 1.000000e+00, 0x7FC00000 for NaN and infinities, -3, true. Every bit
 * survives, whatever the locale. */
void text_put_number(Text *t, Dtype d, uint64_t bits);
/* Decimal text of a finite float; false where it is none or out of d's range. */
bool text_get_float(const char *s, Dtype d, uint64_t *bits);

#endif
