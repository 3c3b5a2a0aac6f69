/* The contract between the code generator and the run time: what is asked for, what an image is, and
 * how its code is called. The run time includes this header alone; the generator is the only part
 * linked with LLVM and is opened on the first cache miss.
 *
 * An image is flat, position-independent text and constants with no external symbol: mapped at a
 * page boundary it runs. Layout in memory: bytes[0 .. size), entries are offsets into it. */
#ifndef TIGA_CODEGEN_CODEGEN_H
#define TIGA_CODEGEN_CODEGEN_H

#include "plan/plan.h"

enum { CODEGEN_VERSION = 15 }; /* part of every cache key: raised when generated code changes */

/* How a buffer's feature axes lie. */
typedef enum {
    LAYOUT_rows, /* features dense and row major; only the stride between rows is a run-time value */
    LAYOUT_dense,   /* the same, and rows follow each other */
    LAYOUT_strided, /* every stride is a run-time value, of any sign */
    LAYOUT_streamed /* of results: dense rows of whole cache lines, which outgrow the cache */
} Layout;

/* Everything that code is specialised on, besides the kernel's structure. */
typedef struct {
    const Kernel *kernel;
    const char *cpu, *features; /* LLVM's names; empty cpu: the host's own */
    const uint8_t *layout;      /* Layout of inputs then results of the body */
    bool wide;                  /* indices are int64 */
    bool has_edge;              /* Csr.edge is not the identity */
    bool split;                 /* some row is split; where none is, begin to finish do nothing */
    bool prefetch;              /* gathered tables outgrow the L2 cache */
    bool fast_math;
} CompileRequest;

/* A buffer as a kernel sees it. Of a value on a set stride[0] is between elements of the set, then
 * the feature axes; on `all` stride[0] is unused (0). Outputs are dense rows: LAYOUT_rows or
 * LAYOUT_streamed. That of a staged sum takes its operand, at the edge's position modulo block_edges, and is not
 * streamed. */
typedef struct {
    char *data;
    int64_t stride[MAX_RANK + 1]; /* bytes */
} Buffer;

typedef struct KernelArgs KernelArgs;
struct KernelArgs {
    const int64_t *row_ptr; /* of the kernel's map; NULL where it has none */
    const void *col;        /* other end by position */
    const void *edge;       /* edge number by position; NULL: identity */
    int64_t num_rows, num_edges;
    const Buffer *buffers; /* inputs then results of the body */
    int32_t
        *fault; /* set to 1 by take and put where an index is out of range; row 0 stands in then */
    int64_t block_edges; /* of staged sums: plan_staged_edges */
    /* In a row of more than block_edges edges: staged sums have their operands of so many edges, the row's first
     * ones and then the next; of its last ones when rows() returns. */
    void (*block_is_full)(const KernelArgs *a);
};

/* A row's state and the slots' state are structs laid out by the generator; the run time allocates
 * them (64-byte aligned) by size and never looks inside. */
typedef struct {
    /* Whole rows [row, row_end), all phases, stores included. slot is NULL where slot_size and block_edges are 0. */
    void (*rows)(const KernelArgs *a, int64_t row, int64_t row_end, char *slot);
    /* A split row: for each phase p in order:  begin(p, row, state) in each part's own copy of the
     * row's state;  part over its edges;  merge parts' states, neighbours by pairs, into the first;
     * finish(p) on the merged state (computes the row values that the next phase needs; after the
     * last phase stores the row's results). Parts of phase p + 1 start from copies of the state. */
    void (*begin)(const KernelArgs *a, int64_t phase, int64_t row, char *state);
    void (*part)(const KernelArgs *a, int64_t phase, int64_t row, int64_t edge, int64_t edge_end,
                 char *state, char *slot);
    void (*merge)(const KernelArgs *a, int64_t phase, char *into, const char *from);
    void (*finish)(const KernelArgs *a, int64_t phase, int64_t row, char *state, char *slot);
    /* Slots: init before use; merge neighbours by pairs; then end computes and stores what lives on `all`.
     * end is called once in every kernel, after its last row. A slot is end's scratch as well: slot is
     * NULL where slot_size is 0; that may not be so even where !has_slots. */
    void (*slot_begin)(const KernelArgs *a, char *slot);
    void (*slot_merge)(const KernelArgs *a, char *into, const char *from);
    void (*end)(const KernelArgs *a, char *slot);
} KernelCode;
enum { NUM_ENTRIES = 8 }; /* members of KernelCode, in order */

typedef struct {
    uint64_t size;
    uint64_t entry[NUM_ENTRIES];        /* offsets of KernelCode's members */
    uint64_t row_state_size, slot_size; /* bytes */
    /* Where block_edges is not 0 rows() also needs, behind a slot's slot_size bytes, block_bytes for each
     * block_edges edges of the longest row, the rest of the division included. */
    uint64_t block_edges, block_bytes;
    /* Where num_stages is not 0 the kernel lives on `all` alone and has no entry but part, and a slot that
     * all tasks share: for each stage p in order, part(p, 0, share, 0, NULL, slot) of every share, in any
     * order and at once. */
    uint64_t num_stages, num_shares;
    unsigned char *bytes; /* malloc'ed; the caller frees with free() */
} Image;

/* Exported by the generator's shared object, found by dlsym. Thread-safe. On failure the status is
 * returned and message (size bytes) says why; *out is untouched. */
typedef Status CodegenCompile(const CompileRequest *request, Image *out, char *message,
                              size_t size);
/* kind: "llvm", "llvm-opt", "asm", "object". *text is malloc'ed. */
typedef Status CodegenText(const CompileRequest *request, const char *kind, char **text,
                           size_t *len, char *message, size_t size);
/* Writes "LLVM 22.1.8, sapphirerapids": what generates, and the host as LLVM names it. */
typedef void CodegenAbout(char *text, size_t size);
#define CODEGEN_COMPILE_SYMBOL "codegen_compile"
#define CODEGEN_TEXT_SYMBOL "codegen_text"
#define CODEGEN_ABOUT_SYMBOL "codegen_about"
/* Tests: mem_fail_at and mem_live (base/mem.h) of the generator's own heap. */
#define CODEGEN_FAIL_AT_SYMBOL "codegen_fail_at"
#define CODEGEN_LIVE_SYMBOL "codegen_live"

#endif
