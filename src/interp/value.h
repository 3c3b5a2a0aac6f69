/* Inside the interpreter: a value held whole, what it is computed with, and the groups of rules. */
#ifndef TIGA_INTERP_VALUE_H
#define TIGA_INTERP_VALUE_H

#include "ir/element.h"
#include "interp/interp.h"

/* Row major and dense: rows times numel elements. Views share data. */
typedef struct {
    const Type *type;
    int64_t rows;          /* size of the set */
    int64_t dim[MAX_RANK]; /* type->dim with sets' sizes filled in */
    int64_t numel;         /* elements of one row */
    char *data;
} Value;

typedef struct Block Block;

/* One run, its nested bodies included. */
typedef struct {
    const Domain *domain;
    Block *blocks;     /* everything allocated, freed at the end of the run */
    int64_t **end;     /* by relation's map: node of each edge, NULL until asked for */
    uint32_t num_maps; /* entries of end */
    bool checks_only;  /* indices alone are computed, and checked */
} Run;

/* One operation being computed. */
typedef struct {
    Run *run;
    const Fn *f;
    const Node *node;
    const Value *const *args;
    Value *out; /* node->num_results entries; types and sizes set, data given by rule */
} Eval;

static inline Dtype value_dtype(const Value *v) { return (Dtype)v->type->dtype; }
static inline int value_size(const Value *v) { return dtype_size(value_dtype(v)); }
static inline int64_t value_count(const Value *v) { /* INT64_MAX at most: no memory holds that */
    int64_t n;
    return __builtin_mul_overflow(v->rows, v->numel, &n) ? INT64_MAX : n;
}

/* Memory of the run, zeroed. what: for the message. */
Status run_alloc(Run *run, const char *what, int64_t count, int64_t size, void *out);
/* Memory for a value, for result k; what and the set are for the message. */
Status value_alloc(Run *run, const char *what, const char *set, Value *v);
Status eval_alloc(const Eval *q, uint32_t k);

/* Copies elements of `size` bytes between two layouts of one shape; strides in bytes, of any kind. */
void strided_copy(int rank, const int64_t *dim, int size, char *to, const int64_t *to_stride,
                  const char *from, const int64_t *from_stride);
/* Row major strides. */
void dense_strides(int rank, const int64_t *dim, int size, int64_t *stride);

/* out[i] = a[i] as another dtype. */
void cast_elements(Dtype from, Dtype to, int64_t n, const char *a, char *out);
/* out[i] = op(a[i], b[i], c[i]); dtype is that of the last operand; out may be a. */
void elem_apply(Op op, Dtype dtype, int64_t n, const void *a, const void *b, const void *c,
                void *out);

/* Whether an operation reads or adds to rows by number; *index: the operand that holds the numbers. */
bool table_op(Op op, uint32_t *index);
/* ST_RANGE, naming the first, where an index of q's operation leads outside its table. */
Status table_check(const Eval *q, const Value *index);

Status eval_elem(const Eval *q);
#define SHAPE(op, ...) Status eval_##op(const Eval *q);
#define ALONG(op, ...) Status eval_##op(const Eval *q);
#include "ir/op.def"

#endif
