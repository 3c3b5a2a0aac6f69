/* The random test: bytes decode into a program, numbers into graphs and data; everything that should
 * agree on them is compared. Whatever the bytes, the program is valid, so a failure can be made small
 * by deleting bytes. */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include "graph/graph.h"
#include "ir/array.h"
#include "ir/ir.h"

/* ---- a case ---- */

typedef enum {
    DATA_plain, /* reals of moderate size */
    DATA_whole, /* small whole numbers: sums are exact whatever their order */
    DATA_nasty, /* NaN, infinities, zeros of both signs, subnormals among plain ones */
    DATA_huge,  /* the same with values near the end of the range */
    DATA_smooth /* float64, operations that can be differentiated */
} DataKind;

typedef enum { GRAPH_random, GRAPH_hub, GRAPH_chain, GRAPH_loops, NUM_GRAPHS } GraphKind;

typedef struct {
    GraphKind kind;
    int64_t num_src, num_dst, num_edges; /* edges are 0 where a side has no nodes */
    uint64_t seed;
    bool csr; /* built from row pointers, else from pairs in any order */
} GraphSpec;

enum { MAX_BYTES = 160, NUM_RELATIONS = 2 };

typedef struct {
    uint64_t seed;
    DataKind data;
    bool homogeneous, strided;
    uint8_t num_relations, order; /* order: times that the program is differentiated */
    GraphSpec graph[NUM_RELATIONS];
    uint32_t num_bytes;
    uint8_t bytes[MAX_BYTES];
} Case;

Case case_of_seed(uint64_t seed);

/* ---- numbers ---- */

typedef struct {
    uint64_t state;
} Rng;
uint64_t rng_next(Rng *r);
int64_t rng_below(Rng *r, int64_t n);

/* ---- decode.c: the program of a case ---- */

Fn *decode_program(Arena *takes, const Case *c);
/* One more order: gives the program of the gradient and, in f's arena, what was differentiated. */
typedef struct {
    const char **outs, **cots, **wrt, **grads;
    uint32_t num_outs, num_wrt;
} Gradient;
Fn *decode_gradient(const Case *c, Fn *f, int order,
                    Gradient *g); /* NULL: nothing to differentiate */

/* ---- graphs.c ---- */

Graph *graph_of_spec(const GraphSpec *s);

/* ---- memory.c: arrays between unmapped pages ---- */

typedef struct Guarded Guarded;
struct Guarded {
    Guarded *next;
    void *map;
    size_t size;
};
/* `size` bytes that end (or begin) flush against an unmapped page, filled with 0xA5. */
char *guarded_alloc(Guarded **all, size_t size, bool at_end);
void guarded_free(Guarded **all);

/* An array of a value's type with dense strides and no memory yet. */
Array array_of(const Type *t, const Domain *d);
int64_t array_numel(const Array *a);
char *array_at(const Array *a, int64_t i); /* element i in row-major order */
/* Gives it strides of its own kind (by salt) and memory. input: strides may be 0. */
void array_place(Array *a, Guarded **all, uint64_t salt, bool at_end, bool strided, bool input);
/* Values by name, place and kind of data alone. */
void array_fill(const Array *a, const char *name, const Case *c);
double array_get(const Array *a, int64_t i);
void array_set(const Array *a, int64_t i, double x); /* floats */

/* ---- env.c: named arrays ---- */

typedef struct {
    const char *name;
    Array array;
} Named;

typedef struct {
    Arena *arena;
    Domain domain;
    VEC(Named) all;
} Env;

Env env_copy(const Env *e); /* shares the arrays, grows apart */
const Array *env_find(const Env *e, const char *name);
void env_put(Env *e, const char *name, Array a);
Array env_new(Env *e, const char *name, const Type *t); /* dense, zeroed */
void env_fill_inputs(Env *e, const Fn *f, const Case *c, Guarded **all, bool at_end);
/* The interpreter on f; its results join the environment under their names. */
Status env_run(Env *e, const Fn *f);

/* ---- trust.c: how well two runs must agree ---- */

/* Where rounding may differ between two runs. */
typedef enum {
    SITES_along, /* sums along maps: a compiled program against an interpreted one */
    SITES_all    /* sums and products of every kind: a program before and after a pass */
} Sites;

typedef struct Trust Trust;
/* Runs f, and f with its sites disturbed, on the inputs of e. f is borrowed for the lifetime. */
Trust *trust_new(Arena *a, const Fn *f, Sites sites, const Env *e, const Case *c);
/* How f's result `name` is compared. */
typedef enum { AGREE_bits, AGREE_zeros, AGREE_within, AGREE_unknown, NUM_AGREE } Agree;
Agree trust_kind(const Trust *t, const char *name);
/* f's result `name`, wanted and got: true where they agree as they must, else *i and *allowed say
 * where and within what. */
bool trust_agree(const Trust *t, const char *name, const Array *want, const Array *got, int64_t *i,
                 double *allowed);
bool array_same(const Array *a, const Array *b, bool zeros_differ, int64_t *i);

/* ---- check.c ---- */

enum { MESSAGE_SIZE = 4096 };

typedef struct {
    int64_t cases, refused, programs_run, gradients, skipped;
    int64_t compared[NUM_AGREE]; /* results of compiled programs */
    char message[MESSAGE_SIZE];  /* why the last case failed; "stage: details" */
} Report;

/* False: failed, and the message says why. */
bool check_case(const Case *c, Report *r);
/* The program that failed, as text. */
const char *case_text(Arena *a, const Case *c);

/* ---- gradient.c ---- */

/* <grads, d> against the central difference of <cots, outs> along d. True where it agrees or where
 * the difference is no yardstick (a kink, a pole). */
bool gradient_agrees(const Env *e, const Fn *f, const Fn *joint, const Gradient *g, Report *r);

/* ---- reduce.c ---- */

/* The smallest case found that still fails in the same stage, each tried in a process of its own. */
void reduce_case(Case *c, Report *r, double seconds);
/* Runs check_case in a child; false where it fails or crashes. */
bool check_in_child(const Case *c, Report *r);
/* body in a child; false where it ends in any way but well. How goes into the message, unless body
 * put one there; the report lies in shared memory. */
bool run_in_child(void (*body)(void *ctx), void *ctx, Report *shared);

#endif
