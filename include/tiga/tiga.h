/* Tiga's public C interface: differentiable message passing, compiled.
 *
 * A formula in, a program out: like regcomp or sqlite3_prepare, a text becomes a handle that is bound
 * to memory, run and freed. Four nouns: a graph (a relation), an array (your memory, described), a
 * program, an argument (a name and an array).
 *
 *     tg_graph   *g  = tg_graph_csr(3, 3, row_ptr, col_idx);
 *     tg_program *p  = tg_program_new("out = sum(edge.weight * src.x) + dst.bias");
 *     tg_program *dp = tg_program_grad(p, "out", "src.x edge.weight");
 *     tg_arg args[]  = {{"src.x", tg_f32(x, 3)}, {"edge.weight", tg_f32(w, 5)},
 *                       {"dst.bias", tg_f32(b, 3)}, {"out", tg_f32(out, 3)},
 *                       {"cot.out", tg_f32(ones, 3)}, {"grad.src.x", tg_f32(dx, 3)},
 *                       {"grad.edge.weight", tg_f32(dw, 5)}};
 *     if (tg_run(dp, g, TG_ARGS(args))) fprintf(stderr, "%s\n", tg_errmsg());
 *
 * Ownership: you free what a *_new, graph, grad or copy function gave, with the free function of its
 * noun. Graphs copy their indices. Arrays are borrowed for one call. Handles are immutable and may be
 * shared between threads. A NULL handle passes through every function and keeps the first message,
 * so straight-line code checks once.
 *
 * Errors: functions give a tg_status (TG_OK is 0), or NULL for a handle; tg_errmsg() then says which
 * argument, what was expected and what came. Arguments are left as they were. Nothing here aborts.
 *
 * Names of arguments: "src.x", "dst.x", "edge.x", "node.x" (homogeneous: both ends) are fields, with
 * one row for each source, destination, edge, node; any other name is a parameter, the same for every
 * edge; results have the name that the program gives them. For an edge field row e is the e-th edge
 * in the order in which the graph was given.
 *
 * Compiles as C11, C17 and C++17. The builder for programs that write programs is tiga_ops.h. */
#ifndef TIGA_H
#define TIGA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_VERSION_MAJOR 0
#define TG_VERSION_MINOR 1
#define TG_VERSION_PATCH 0
#define TG_VERSION "0.1.0"

#if defined __GNUC__
#define TG_API __attribute__((visibility("default")))
#else
#define TG_API
#endif
#if defined __GNUC__ && __GNUC__ >= 11
#define TG_NOT_READ_ __attribute__((access(none, 1))) /* else GCC warns of results to be */
#else
#define TG_NOT_READ_
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ---- */

typedef enum {
    TG_OK,
    TG_ETYPE,        /* wrong dtype or kind of thing */
    TG_EINVAL,       /* wrong value */
    TG_ERANGE,       /* index out of range */
    TG_ESHAPE,       /* shapes do not fit */
    TG_ENAME,        /* unknown or missing name */
    TG_ESYNTAX,      /* a formula or IR text does not parse: line and column are in the message */
    TG_EUNSUPPORTED, /* refused by name */
    TG_ENOMEM,
    TG_EINTR, /* the poll function asked to stop; results are incomplete */
    TG_EBUG   /* an error of Tiga's own; the message names a dump worth reporting */
} tg_status;

/* Of this thread: status and message of its latest failure. A NULL handle that passes through a call
 * is no new failure: the message of what failed to make it stays. Calls that succeed leave the record as
 * it is, tg_errclear empties it. The text is valid until the thread's next failure. */
TG_API tg_status tg_errcode(void);
TG_API const char *tg_errmsg(void);
TG_API void tg_errclear(void);

/* The version of the library that is running; TG_VERSION is that of the header compiled against. */
TG_API const char *tg_version(void);
/* Frees text that a function of this header gave. */
TG_API void tg_free(void *text);

/* ---- arrays: your memory, described ---- */

typedef enum {
    TG_BOOL,
    TG_INT32,
    TG_INT64,
    TG_FLOAT32,
    TG_FLOAT64,
    TG_FLOAT16, /* IEEE binary16 */
    TG_BFLOAT16 /* the upper half of a float32 */
} tg_dtype;
enum { TG_MAX_RANK = 9 };

/* Strides are in bytes and may be 0, negative or unaligned; an output that is not dense is copied there at the
 * end of a run. bool is one byte, 0 or 1. The two 16-bit floats are float32 inside a kernel, reducers' states
 * included, and rounded once when stored. */
typedef struct {
    void *data;
    tg_dtype dtype;
    int rank;
    int64_t shape[TG_MAX_RANK];
    int64_t stride[TG_MAX_RANK];
} tg_array;

/* A dense row-major array over data. rank in [0, TG_MAX_RANK], shape has as many entries (NULL for none); else the
 * array is refused where used. */
TG_API TG_NOT_READ_ tg_array tg_dense(const void *data, tg_dtype dtype, int rank,
                                      const int64_t *shape);

/* tg_f32(x, 3) is 3 floats, tg_f32(x, 3, 16) is 3 rows of 16, tg_f32(&loss) is one float of rank 0; likewise the
 * other dtypes; tg_f16 and tg_bf16 take the elements' bits, as uint16_t. Compilers object to a pointer to numbers
 * of another dtype. */
#ifndef __cplusplus
#define tg_f32(...) TG_DENSE_(TG_FLOAT32, TG_F32_, __VA_ARGS__)
#define tg_f64(...) TG_DENSE_(TG_FLOAT64, TG_F64_, __VA_ARGS__)
#define tg_f16(...) TG_DENSE_(TG_FLOAT16, TG_ANY_, __VA_ARGS__)
#define tg_bf16(...) TG_DENSE_(TG_BFLOAT16, TG_ANY_, __VA_ARGS__)
#define tg_i32(...) TG_DENSE_(TG_INT32, TG_I32_, __VA_ARGS__)
#define tg_i64(...) TG_DENSE_(TG_INT64, TG_I64_, __VA_ARGS__)
#define tg_bool(...) TG_DENSE_(TG_BOOL, TG_ANY_, __VA_ARGS__)
#define TG_DENSE_(dtype, is, ...)                                                                  \
    TG_ELEVENTH_(__VA_ARGS__, TG_ROWS_, TG_ROWS_, TG_ROWS_, TG_ROWS_, TG_ROWS_, TG_ROWS_,          \
                 TG_ROWS_, TG_ROWS_, TG_ROWS_, TG_ONE_, 0)                                         \
    (dtype, is, __VA_ARGS__)
#define TG_ELEVENTH_(a, b, c, d, e, f, g, h, i, j, pick, ...) pick
#define TG_ONE_(dtype, is, p) tg_dense(is(p), (dtype), 0, NULL)
#define TG_ROWS_(dtype, is, p, ...)                                                                \
    tg_dense(is(p), (dtype), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),            \
             (const int64_t[]){__VA_ARGS__})
#define TG_ANY_(p) (1 ? (const void *)(p) : NULL) /* else Clang warns of results to be */
#define TG_F32_(p) TG_BUT_(p, double, int32_t, int64_t)
#define TG_F64_(p) TG_BUT_(p, float, int32_t, int64_t)
#define TG_I32_(p) TG_BUT_(p, float, double, int64_t)
#define TG_I64_(p) TG_BUT_(p, float, double, int32_t)
#define TG_BUT_(p, t, u, v) /* 1 is no pointer */                                                  \
    _Generic((p),                                                                                  \
        t *: 1,                                                                                    \
        const t *: 1,                                                                              \
        u *: 1,                                                                                    \
        const u *: 1,                                                                              \
        v *: 1,                                                                                    \
        const v *: 1,                                                                              \
        default: TG_ANY_(p))
#endif

/* Arrays of other libraries, by DLPack (dmlc/dlpack, dlpack.h, version 1): no memory is copied.
 * from: dl_tensor is a DLTensor *, of a managed tensor its first member; *x describes its memory, which the
 * tensor's owner keeps. Memory that is not the host's and dtypes that Tiga has not are refused with TG_ETYPE, by
 * name; a shape that is none with TG_ESHAPE.
 * to: gives a DLManagedTensor * whose deleter calls release(owner) once (NULL: nothing is called), or NULL.
 * Strides that are no multiple of the element's size are refused with TG_EUNSUPPORTED. */
TG_API tg_status tg_from_dlpack(const void *dl_tensor, tg_array *x);
TG_API void *tg_to_dlpack(tg_array x, void (*release)(void *owner), void *owner);

/* ---- graphs: edges src -> dst ---- */

typedef struct tg_graph tg_graph;

/* Every constructor copies its arrays, validates the copy in full and gives a new graph, which is yours; NULL and
 * TG_EINVAL (a row pointer that does not start at 0, falls, or does not end at the number of edges; a negative
 * count), TG_ERANGE (an index negative or past its count), TG_ESHAPE, TG_ETYPE (arrays that are no index arrays),
 * TG_ENOMEM. No nodes, no edges and nodes without edges are fine. */
/* Row i of a CSR holds the sources of destination i: col_idx[row_ptr[i] .. row_ptr[i + 1]).
 * row_ptr has num_dst + 1 entries. Copies and validates in full; O(nodes + edges), parallel. */
TG_API tg_graph *tg_graph_csr(int64_t num_dst, int64_t num_src, const int64_t *row_ptr,
                              const int64_t *col_idx);
/* Edge e goes from src[e] to dst[e]; any order, duplicates kept. Both have num_edges entries. Copies,
 * validates and sorts stably by destination; O(nodes + edges). */
TG_API tg_graph *tg_graph_coo(int64_t num_dst, int64_t num_src, int64_t num_edges,
                              const int64_t *src, const int64_t *dst);
/* Destination i gathers from (i * degree + k) mod num_nodes, k in [0, degree); that edge is number
 * i * degree + k. */
TG_API tg_graph *tg_graph_regular(int64_t num_nodes, int64_t degree);
/* The same from int32 or int64 arrays of rank 1, strided as they are. Counts of -1 are taken from the
 * arrays (largest index + 1). full: tg_graph_findings then reports duplicates, self loops and unsorted
 * rows. from_edge_index takes one array of shape [2, E] (sources, then destinations). */
TG_API tg_graph *tg_graph_from_csr(tg_array row_ptr, tg_array col_idx, int64_t num_src, bool full);
TG_API tg_graph *tg_graph_from_coo(tg_array src, tg_array dst, int64_t num_src, int64_t num_dst,
                                   bool full);
TG_API tg_graph *tg_graph_from_edge_index(tg_array edge_index, int64_t num_src, int64_t num_dst,
                                          bool full);
/* Sources and destinations exchanged; edges keep their numbers. O(nodes + edges), once a graph. */
TG_API tg_graph *tg_graph_transpose(const tg_graph *g);
/* Relations from relations, O(nodes + edges). What an edge field of the result is, in terms of those given:
 * cat: block-diagonal, the nodes and edges of each graph after those of the ones before: the fields one after the
 * other. add_self_loops: edge num_edges + i is i -> i, for each node and whether it has a loop or not: num_nodes rows
 * are appended; num_src and num_dst must be the same. sorted: edges numbered by destination, then source, ties as they
 * were: row e is row order[e] (num_edges entries; may be NULL). */
TG_API tg_graph *tg_graph_cat(const tg_graph *const *graphs, size_t num_graphs);
TG_API tg_graph *tg_graph_add_self_loops(const tg_graph *g);
TG_API tg_graph *tg_graph_sorted(const tg_graph *g, int64_t *order);
/* NULL is fine, here and in every *_free. */
TG_API void tg_graph_free(tg_graph *g);

/* Counts of a graph; of NULL 0. findings: text that lives as long as the graph, a line each; a derived graph has
 * none. equal: the same edges with the same numbers, O(nodes + edges). */
TG_API int64_t tg_graph_num_src(const tg_graph *g);
TG_API int64_t tg_graph_num_dst(const tg_graph *g);
TG_API int64_t tg_graph_num_edges(const tg_graph *g);
TG_API const char *tg_graph_findings(const tg_graph *g);
TG_API bool tg_graph_equal(const tg_graph *a, const tg_graph *b);
/* Writes the ends of every edge in the caller's order; each array has num_edges entries. O(edges), like the next. */
TG_API tg_status tg_graph_edges(const tg_graph *g, int64_t *src, int64_t *dst);
/* Writes the rows grouped by destination: num_dst + 1 and num_edges entries; edge (may be NULL) takes
 * the number of the edge at each position. */
TG_API tg_status tg_graph_rows(const tg_graph *g, int64_t *row_ptr, int64_t *col_idx,
                               int64_t *edge);
/* Edges at each destination and at each source: num_dst and num_src entries; either may be NULL. */
TG_API tg_status tg_graph_degrees(const tg_graph *g, int64_t *in, int64_t *out);
/* The number of edges i -> i; 0 where num_src and num_dst differ. */
TG_API tg_status tg_graph_self_loops(const tg_graph *g, int64_t *count);
/* What is known of a graph and how it lies in memory: a line each, "name: value". Yours: tg_free. */
TG_API char *tg_graph_explain(const tg_graph *g);

/* ---- programs ---- */

typedef struct tg_program tg_program;

/* A formula: one assignment a line, "#" to the end of the line is a comment.
 *     h   = relu(sum(edge.w * src(node.x @ W1)))
 *     out = mean(src(h)) @ W2 + b
 * Inside a reducer's parentheses src.x and dst.x are the edge's ends; outside, dst.x (or node.x) is the
 * node's own; src(v) and dst(v) gather a computed node value; a reducer goes one step: edges to
 * destinations, nodes to one value; axis= reduces features; a bare name is a parameter, or what a line
 * above defined. A reducer of your own is four lines: NAME.identity, .lift, .combine, .finalize. Every
 * name on the left that no other line uses is a result; "out" always is; any other becomes one where it is
 * bound, or named to tg_program_grad.
 * dtypes and feature shapes come with the arguments. Grammar: docs/formula.md. O(text); TG_ESYNTAX with line
 * and column. */
TG_API tg_program *tg_program_new(const char *formula);
/* IR text as tg_ir prints it: its first function, a typed program. O(text); TG_ESYNTAX, TG_EINVAL (what the verifier
 * finds), and what typing a program may give. */
TG_API tg_program *tg_program_parse(const char *text);
/* The program that computes p's results and, from a cotangent "cot.<out>" for each name in outs, the
 * gradient "grad.<name>" of each name in wrt, of the array's shape and dtype. Names are separated by spaces or commas.
 * The cotangent has the shape and dtype of <out>; that of a single number is 1 where it is not bound. A
 * gradient is a program: apply it again ("grad2.<name>" where a name is taken). O(1) for a formula, whose
 * names are checked with its types, when it runs; else O(operations). TG_ENAME, TG_ETYPE (no float),
 * TG_EUNSUPPORTED. */
TG_API tg_program *tg_program_grad(const tg_program *p, const char *outs, const char *wrt);
TG_API void tg_program_free(tg_program *p);

typedef struct {
    const char *name;
    tg_array array;
} tg_arg;

/* An array of arguments and their number, where a function takes both: tg_run(p, g, TG_ARGS(args)). */
#define TG_ARGS(args) (args), sizeof(args) / sizeof *(args)

/* Binds and runs once. Outputs that are not there are not computed; inputs must be there, of a formula those that
 * the outputs there need; names that the program does not know are refused. Compiles on first use of a combination of
 * dtypes, feature shapes and layouts (milliseconds), else finds the code in memory or on disk. An array is rows x feature shape: num_src rows for "src.x", num_dst for "dst.x" and results on
 * destinations, num_edges for "edge.w", as many as nodes for "node.x"; of a parameter and of a single number
 * the shape alone. Outputs may overlap inputs, which are read first; not each other (TG_EINVAL;
 * interleaved strided ones are fine). Data of NULL: an output that
 * is not bound, or an array of no numbers.
 * TG_ENAME (a name missing, unknown or twice), TG_ETYPE, TG_ESHAPE, TG_EINVAL (input data NULL), what the formula's
 * meaning refuses, with line and column, and TG_EUNSUPPORTED: before anything ran, outputs as they were.
 * TG_ERANGE (an index of table[index] that is out of range; the message names array, position, value and rows),
 * TG_EINTR and TG_ENOMEM: outputs hold anything. Cost: tg_program_cost. */
TG_API tg_status tg_run(const tg_program *p, const tg_graph *g, const tg_arg *args,
                        size_t num_args);

/* The same in two steps for hot loops: what can be checked and looked up once is, and a run costs less
 * than a microsecond beside its kernels. A call borrows the program, the graph and the arrays' memory
 * until it is freed; run it as often as you like, from one thread at a time. Each run reads the memory anew.
 * Errors: tg_bind's are tg_run's from before the run, tg_call_run's those of the run. */
typedef struct tg_call tg_call;
TG_API tg_call *tg_bind(const tg_program *p, const tg_graph *g, const tg_arg *args,
                        size_t num_args);
TG_API tg_status tg_call_run(tg_call *call);
TG_API void tg_call_free(tg_call *call);
/* Moves argument k (in the order of tg_bind) to other memory of the same shape, dtype and strides; an output that was
 * bound without data is computed from then on. O(1); TG_ERANGE, TG_EINVAL (data NULL). */
TG_API tg_status tg_call_set(tg_call *call, size_t k, void *data);

/* ---- what a program is ---- */

typedef enum { TG_ON_ALL, TG_ON_SRC, TG_ON_DST, TG_ON_EDGES, TG_ON_NODES } tg_role;

/* An input or result of a typed program; shape is the feature shape (rows are counted by the role). */
typedef struct {
    const char *name; /* lives as long as the program */
    tg_role role;
    tg_dtype dtype;
    int rank;
    int64_t shape[TG_MAX_RANK];
} tg_end;

/* The program for these arguments' dtypes and feature shapes (data may be NULL); yours. A typed program, one
 * from a builder or from IR text, gives a new handle to itself. O(operations), O(1) for types met before; errors as
 * tg_run's for the formula. */
TG_API tg_program *tg_program_typed(const tg_program *p, const tg_arg *args, size_t num_args);
/* Ends of a typed program, inputs in order of first use; k out of range gives TG_ERANGE, an untyped program
 * TG_EINVAL (and counts of 0). */
TG_API size_t tg_program_num_inputs(const tg_program *p);
TG_API size_t tg_program_num_results(const tg_program *p);
TG_API tg_status tg_program_input(const tg_program *p, size_t k, tg_end *end);
TG_API tg_status tg_program_result(const tg_program *p, size_t k, tg_end *end);

/* Splits a gradient program for running in two steps: *forward gives the results named in keep
 * (separated by spaces or commas) and node-sized residuals "res.0", "res.1", ...; *backward takes the inputs that it needs, the
 * cotangents and those residuals, and gives the other results. Both are yours, untouched where it fails: TG_EINVAL
 * (no types yet), TG_ENAME. O(operations). */
TG_API tg_status tg_program_split(const tg_program *grad, const char *keep, tg_program **forward,
                                  tg_program **backward);

/* ---- inspection: text is yours, free it with tg_free. Untyped programs show the variant that ran
 * last (TG_EINVAL where nothing ran yet). ---- */

/* stage: "domain" (the program), "iter" (fused traversals), "kernel" (with schedules), "task"; TG_ENAME else, as for
 * kinds. */
TG_API char *tg_ir(const tg_program *p, const char *stage);
/* kind: "llvm", "llvm-opt", "asm", of every kernel. Compiles: milliseconds each. */
TG_API char *tg_code(const tg_program *p, const char *kind);
/* Lines "backend: ", "provider: ", "lowering: ", "passes: ", findings "disposition: [stage] message",
 * last "variant cache: hits=H, misses=M". */
TG_API char *tg_explain(const tg_program *p);

typedef struct {
    int64_t traversals, edge_visits, flops, bytes_read, bytes_written;
    int64_t staging_bytes, edge_buffer_bytes, node_buffer_bytes;
} tg_cost;
/* Exact counts for a typed program on a graph, O(operations); bytes are those of rows read and written. */
TG_API tg_status tg_program_cost(const tg_program *p, const tg_graph *g, tg_cost *cost);

typedef struct {
    int64_t hits, misses;        /* of this program's variants */
    int64_t disk_hits, compiles; /* of its kernels */
    double compile_ms;           /* all of its compiles together */
} tg_stats;
TG_API tg_status tg_program_stats(const tg_program *p, tg_stats *stats);

/* As tg_run, on the interpreter: slow, obvious, the meaning. */
TG_API tg_status tg_reference(const tg_program *p, const tg_graph *g, const tg_arg *args,
                              size_t num_args);

/* ---- process ---- */

/* Threads of this thread's next calls; 0: TIGA_THREADS, else OMP_NUM_THREADS, else the affinity mask,
 * never above the cgroup's quota. Bits do not depend on it. */
TG_API void tg_set_num_threads(int n);
TG_API int tg_num_threads(void);
/* Whether this thread's next calls run on the threads of the OpenMP runtime that the process has loaded, where its
 * number is tg_num_threads(): for programs whose other loops are OpenMP's, since its threads spin on the cores
 * between those. Never in a forked child, whose runtime lacks its threads. Off at first. Bits do not depend on it. */
TG_API void tg_use_openmp(bool on);
/* Asked about every 10 ms during this thread's calls, in this thread; true ends the call with TG_EINTR. It may not
 * leave by longjmp or an exception. NULL: off. */
TG_API void tg_set_poll(bool (*poll)(void *ctx), void *ctx);
/* Bytes held by the buffer pool; tg_trim gives unused ones back to the system. */
TG_API int64_t tg_memory(void);
TG_API void tg_trim(void);
/* Remarks (a kernel was compiled) and warnings (compiled code cannot be kept on disk), one line of text
 * without its end. log is called in the thread that ran into it, several at once; it may call Tiga but not
 * leave by longjmp or an exception. NULL: off, as at the start. */
typedef enum { TG_REMARK, TG_WARNING } tg_severity;
TG_API void tg_set_log(void (*log)(void *ctx, int severity, const char *text), void *ctx);
/* Where Tiga's memory comes from: alloc gives size bytes aligned to 16, or NULL; release takes what alloc gave,
 * in any thread. Both NULL: malloc and free, as at the start. Call it before anything else: TG_EINVAL while
 * anything is allocated. Texts for tg_free, generated code and LLVM use the system's memory throughout. */
TG_API tg_status tg_set_allocator(void *(*alloc)(void *ctx, size_t size),
                                  void (*release)(void *ctx, void *p), void *ctx);
/* The debug switches (environment variables TIGA_*) with their meaning, a line each. */
TG_API const char *tg_debug_help(void);
/* "did you mean", as Tiga's own messages say it: the position of the one of n names that a misspelt name is nearest
 * to, in edits; -1 where none is near. O(letters of the names x letters of the name). */
TG_API int tg_near(const char *name, const char *const *names, int n);
/* Tiga's version, the host, LLVM's version and target (opening the code generator; why not, where it cannot be
 * opened), threads and the folder of compiled code: a line each, "name: value". Yours: tg_free. */
TG_API char *tg_about(void);

#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
/* The array makers for C++: tg_f32(x, 3, 16), of x[3][16] too. Where x is no pointer to const it stays so, or Clang
 * warns. */
template<class T, class U> struct tg_if_same_ {};
template<class T> struct tg_if_same_<T, T> {
    typedef tg_array array;
};
template<class T, size_t N, class U> struct tg_if_same_<T[N], U> : tg_if_same_<T, U> {};
template<class T, size_t N, class U> struct tg_if_same_<const T[N], U> : tg_if_same_<T, U> {};
template<class... Dims> TG_NOT_READ_ tg_array tg_dense_of_(const void *p, tg_dtype dtype,
                                                           Dims... dims) {
    const int64_t shape[] = {static_cast<int64_t>(dims)..., 0};
    return tg_dense(p, dtype, static_cast<int>(sizeof...(dims)), shape);
}
#define TG_MAKER_(name, input, result, dtype)                                                      \
    template<class... Dims> TG_NOT_READ_ tg_array name(const input *p, Dims... d) {                \
        return tg_dense_of_(p, dtype, d...);                                                       \
    }                                                                                              \
    template<class T, class... Dims> TG_NOT_READ_ typename tg_if_same_<T, result>::array name(     \
        T *p, Dims... d) {                                                                         \
        return tg_dense_of_(p, dtype, d...);                                                       \
    }
TG_MAKER_(tg_f32, float, float, TG_FLOAT32)
TG_MAKER_(tg_f64, double, double, TG_FLOAT64)
TG_MAKER_(tg_f16, uint16_t, uint16_t, TG_FLOAT16)
TG_MAKER_(tg_bf16, uint16_t, uint16_t, TG_BFLOAT16)
TG_MAKER_(tg_i32, int32_t, int32_t, TG_INT32)
TG_MAKER_(tg_i64, int64_t, int64_t, TG_INT64)
TG_MAKER_(tg_bool, void, bool, TG_BOOL)
#undef TG_MAKER_
#endif

#endif
