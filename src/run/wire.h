/* How a plan's kernels are joined: which memory each buffer of each kernel is. Worked out once a
 * plan; a call then fills in addresses. */
#ifndef TIGA_RUN_WIRE_H
#define TIGA_RUN_WIRE_H

#include "plan/plan.h"

typedef enum {
    WIRE_input,  /* the program's input `index` */
    WIRE_output, /* the program's result `index` */
    WIRE_temp,   /* what kernels hand to each other */
    WIRE_degree, /* sizes of the fibres of `map` */
    WIRE_size    /* the size of set `set` */
} WireKind;

typedef struct {
    const char *name;
    Type type;
    uint8_t kind; /* WireKind */
    uint32_t index;
    Map map;
    Set set;
} Wire;

/* A table that a kernel gathers from by the columns of its map. */
typedef struct {
    Set set;
    int64_t row_bytes;
} Gathered;

typedef struct {
    const Kernel *kernel;
    uint32_t num_inputs, num_buffers; /* of the body: inputs then results */
    const uint32_t *wire;             /* of each buffer */
    int64_t width;                    /* the most elements that a row or an edge has */
    bool uses_edges;                  /* edge numbers matter: of a buffer's rows or by themselves */
    const uint32_t *staged;           /* buffers of staged sums with features */
    uint32_t num_staged;
    const Gathered *gathered;
    uint32_t num_gathered;
    uint32_t first_flag; /* of its buffers in a call's array over all kernels */
} KernelWires;

typedef struct {
    const Wire *wires;
    uint32_t num_wires;
    const KernelWires *kernels;
    uint32_t num_kernels, num_flags; /* flags: the sum of num_buffers */
} Wiring;

/* total on plans that plan_run gave. */
Wiring wire_plan(Arena *a, const Plan *plan);

#endif
