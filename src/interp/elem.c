/* Elementwise operations: op.def's value column, read as C once a dtype. */
#include "interp/value.h"
#include "ir/words.h"

typedef void Kernel(int64_t n, const void *pa, const void *pb, const void *pc, void *out);

#define D i1
#define KIND bit
#include "interp/elem.inc"
#define D i32
#define KIND int
#include "interp/elem.inc"
#define D i64
#define KIND int
#include "interp/elem.inc"
#define D f32
#define KIND flt
#include "interp/elem.inc"
#define D f64
#define KIND flt
#include "interp/elem.inc"

void elem_apply(Op op, Dtype dtype, int64_t n, const void *a, const void *b, const void *c,
                void *out) {
    /* ORDER DTYPE */
    static Kernel *const *const kernels[] = {kernels_i1, kernels_i32, kernels_i64, kernels_f32,
                                             kernels_f64};
    TIGA_ASSERT(kernels[dtype][op]);
    kernels[dtype][op](n, a, b, c, out);
}

Status eval_elem(const Eval *q) {
    Status st = eval_alloc(q, 0);
    if (st) return st;
    Op op = (Op)q->node->op;
    uint32_t num_args = q->node->num_args;
    Dtype dtype = value_dtype(q->args[num_args - 1]);
    int64_t n = value_count(q->out);
    const char *operand[3] = {0};
    for (uint32_t k = 0; k < num_args && k < 3; k++) operand[k] = q->args[k]->data;
    elem_apply(op, dtype, n, operand[0], operand[1], operand[2], q->out->data);
    for (uint32_t k = 2; op_info[op].traits & NARY && k < num_args; k++)
        elem_apply(op, dtype, n, q->out->data, q->args[k]->data, NULL, q->out->data);
    return ST_OK;
}
