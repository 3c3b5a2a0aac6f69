/* A plan made executable.
 *
 * Kernels whose results nobody wants are left out; temporaries come from the buffer pool and go back
 * after their last reader. Code is found in the Exec by a few bytes (layouts and flags of the call),
 * else in the variant cache, else compiled; kernels that miss together compile in parallel. */
#ifndef TIGA_RUN_EXEC_H
#define TIGA_RUN_EXEC_H

#include "codegen/codegen.h"
#include "graph/graph.h"
#include "ir/array.h"

typedef struct Exec Exec;

/* gives; borrows the plan for its lifetime. Unwinds on a failed small allocation. */
Exec *exec_new(const Plan *plan, bool fast_math);
void exec_free(Exec *e); /* NULL is fine */

/* Inputs by the program's inputs, outputs by its results; an output with data NULL is not bound, and
 * what it alone needs is not computed. Strides are any. Outputs may overlap inputs (they are written
 * after everything was read); what two outputs that overlap hold is not specified. With ST_INTR and
 * with ST_RANGE (an index of take or put, see interp.h) outputs may be partly written, with every other
 * failure they are untouched, unless memory ran out half way. Callable from many threads at once; never
 * unwinds. TIGA_EXEC=interp: the interpreter runs instead. */
Status exec_run(Exec *e, const Domain *domain, const Array *inputs, const Array *outputs);

typedef struct {
    int64_t calls;
    int64_t hits, misses; /* kernels whose code this Exec had, or had to look for */
} ExecStats;
ExecStats exec_stats(const Exec *e);

/* What was last compiled or looked up for a kernel of the plan; dense rows and no flags before the
 * first call. For codegen_text. The members' memory is the Exec's. */
CompileRequest exec_request(const Exec *e, uint32_t kernel);

#endif
