/* The IR: one flat SSA function over sets and maps.
 *
 * A value has an element type, a set that it lives on and a feature shape: f32 @ edges [16].
 * Sets are node sets, edge sets (in the caller's order) and `all`, the set of one element. A
 * relation r gives the maps src(r) : edges -> U and dst(r) : edges -> V; every set has the map to
 * all. Operations are rows of op.def. Values are numbered from 1 in order of definition, so a pass
 * is a loop; equal nodes are one value (hash-consing). A function is never changed but by adding.
 *
 * One letter for one thing: f a function, v a value, g a cotangent, m a map, r a relation, s a set,
 * t a type, n a count. */
#ifndef TIGA_IR_IR_H
#define TIGA_IR_IR_H

#include "base/mem.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* ORDER DTYPE: integers before floats, by width, then the floats that are only stored: halves, which
 * programs move and cast but compute with as float32. tg_dtype in tiga.h has the same values. */
typedef enum { DT_bool, DT_i32, DT_i64, DT_f32, DT_f64, DT_f16, DT_bf16, NUM_DTYPES } Dtype;

static inline bool dtype_is_float(Dtype t) { return t >= DT_f32; }
static inline bool dtype_is_half(Dtype t) { return t >= DT_f16; }
static inline Dtype dtype_computed(Dtype t) { return dtype_is_half(t) ? DT_f32 : t; }
static inline int dtype_size(Dtype t) { return (const int[]){1, 4, 8, 4, 8, 2, 2}[t]; } /* bytes */
const char *dtype_name(Dtype t);      /* MLIR's: "i1" "i32" "i64" "f32" "f64" "f16" "bf16" */
const char *dtype_user_name(Dtype t); /* "bool" "int32" .. "float64" "float16" "bfloat16" */

typedef enum {
    OP_none,
#define ELEM(op, ...) OP_##op,
#define SHAPE(op, ...) OP_##op,
#define ALONG(op, ...) OP_##op,
#define FRAME(op, ...) OP_##op,
#include "ir/op.def"
    NUM_OPS
} Op;

typedef enum { CLASS_frame, CLASS_elem, CLASS_shape, CLASS_along } OpClass;
typedef enum { S_num, S_flt, S_cmp, S_bit, S_test, S_sel, S_key } Signature; /* of ELEM rows */
enum { COMM = 1, NARY = 2 };                                                 /* traits */

typedef struct {
    const char *name; /* mnemonic of op.def */
    OpClass class;
    int8_t arity, results; /* arity -1: any */
    uint8_t signature, traits;
} OpInfo;
extern const OpInfo op_info[NUM_OPS];

typedef uint32_t Val; /* 0 is no value: what a failed emit gives, and what passes through emits */
typedef uint16_t Set;
typedef int32_t Map;
enum { SET_ALL = 0, MAX_RANK = 8, MAP_NONE = INT32_MIN };

/* Maps by number: relation r's two, and the map from a set to `all`. */
static inline Map map_src(int r) { return 2 * r; }
static inline Map map_dst(int r) { return 2 * r + 1; }
static inline Map map_all(Set s) { return -1 - (Map)s; }
static inline bool map_is_all(Map m) { return m < 0; }
static inline int map_relation(Map m) { return m / 2; } /* of a relation's map */
static inline bool map_is_dst(Map m) { return m >= 0 && (m & 1); }
/* The relation's other end; MAP_NONE where there is none. */
static inline Map map_other(Map m) { return m < 0 ? MAP_NONE : m ^ 1; }

/* The extent of a set as a dimension of a dense value: dim_of(s) in Type.dim. */
static inline int64_t dim_of(Set s) { return -1 - (int64_t)s; }
static inline bool dim_is_set(int64_t d) { return d < 0; }
static inline Set dim_set(int64_t d) { return (Set)(-1 - d); }

typedef struct {
    uint8_t dtype; /* Dtype */
    uint8_t rank;
    Set set;
    int64_t dim[MAX_RANK]; /* the feature shape; entries past rank are 0 */
} Type;

typedef struct Fn Fn;

/* What an operation needs beyond its operands; unused members are 0. */
typedef struct {
    Map map;             /* ALONG ops, traverse */
    uint32_t index;      /* result */
    uint64_t bits;       /* constant: the element's bits, low bytes first */
    const char *name;    /* input, launch */
    const int64_t *ints; /* A_ints; traverse: phase of each anchor in body order */
    uint32_t num_ints;
    Type type;      /* A_type, input, constant, enter */
    const Fn *body; /* traverse, row_scan: a region; its inputs are the block's arguments */
} Attr;

enum { MAX_RESULTS = 3 }; /* of operations without a body */

typedef struct {
    uint8_t op;
    uint32_t num_args, num_results;
    const Val *args;
    const Type *types; /* num_results entries */
    Attr attr;
    uint64_t hash; /* of the structure below this value: equal in every function */
} Node;

typedef struct {
    const char *name; /* "all", "V", "r.edges" */
} SetInfo;

typedef struct {
    const char *name;
    Set src, dst, edges;
} Relation;

typedef struct {
    const char *name;
    Val val;
} Binding; /* a named input or result */

struct Fn {
    Arena *arena; /* owns everything here */
    const char *name;
    Status status;   /* sticky: the first failed emit; its message is in err_message() */
    bool halves;     /* may be computed with: a builder's, which build_program rids of it */
    bool prepared;   /* opt_prepare gave it, or a half of it: its bits are settled */
    VEC(Node) nodes; /* nodes.data[v]; entry 0 is no value */
    VEC(SetInfo) sets;
    VEC(Relation) relations;
    VEC(Binding) inputs, results;
    VEC(const char *) notes; /* findings while it was built: "accepted: [algebra] ..." */
    Val *table;              /* hash-consing, open addressing */
    uint32_t table_size;
};

/* A function's lifetime is its arena's; the arena given is taken. */
Fn *ir_new(Arena *takes, const char *name);
/* Empty, with the same sets, relations and notes, in an arena given. */
Fn *ir_new_like(Arena *takes, const Fn *f, const char *name);
void ir_free(Fn *f);
Set ir_set(Fn *f, const char *name); /* the set of that name, made where missing */
int ir_relation(Fn *f, const char *name, Set src,
                Set dst); /* number; its edge set is "<name>.edges" */
Set map_from(const Fn *f, Map m);
Set map_to(const Fn *f, Map m);

bool set_is_edges(const Fn *f, Set s);      /* a relation's edge set */
static inline bool op_is_reduction(Op op) { /* many values along a map become one */
    return op == OP_reduce || op == OP_rmax || op == OP_softmax || op == OP_row_scan;
}

/* The one way to make a value. Types are inferred (type.h); a fault is recorded in err_message()
 * and f->status, and gives 0; so does an operand 0. */
Val ir_emit(Fn *f, Op op, const Val *args, uint32_t num_args, const Attr *attr);
/* Result k of a value of several results; v itself where it has one. */
Val ir_part(Fn *f, Val v, uint32_t k);

static inline const Node *ir_node(const Fn *f, Val v) { return &f->nodes.data[v]; }
static inline Op ir_op(const Fn *f, Val v) { return (Op)f->nodes.data[v].op; }
static inline const Type *ir_type(const Fn *f, Val v) { return f->nodes.data[v].types; }
static inline Val ir_arg(const Fn *f, Val v, uint32_t k) { return f->nodes.data[v].args[k]; }
static inline uint32_t ir_count(const Fn *f) { return f->nodes.len; } /* values are 1 .. count-1 */

/* Named ends. An input asked for twice is one value; its type must agree. */
Val ir_input(Fn *f, const char *name, Type type);
Val ir_find_input(const Fn *f, const char *name);  /* 0 where there is none */
Val ir_find_result(const Fn *f, const char *name); /* likewise */
void ir_add_result(Fn *f, const char *name, Val v);
/* An input for what `from` computes as v, of its type: where it is made first it also takes v's hash,
 * so that sums over it sort, and fold, as they do over v. */
Val ir_stand_in(Fn *f, const char *name, const Fn *from, Val v);

void ir_note(Fn *f, const char *text); /* once, however often it is said */

/* Copies v of `from` and what it needs into f. memo has ir_count(from) entries, 0 where not copied
 * yet; entries set beforehand are substitutions. */
Val ir_copy(Fn *f, const Fn *from, Val v, Val *memo);
/* A region by itself: its inputs in order, its results and what they need. Literals' names are gone. */
Fn *ir_copy_region(Arena *a, const Fn *from);
/* live[v] is 1 for every value that a result needs (ir_count entries in the arena given). */
uint8_t *ir_live(Arena *a, const Fn *f);

/* Strict operations, for passes: operands on one set, of one shape and dtype. */
Val ir_elem(Fn *f, Op op, Val a, Val b, Val c); /* trailing operands 0 where arity is less */
#define ELEM_FN_1(op)                                                                              \
    static inline Val ir_##op(Fn *f, Val a) { return ir_elem(f, OP_##op, a, 0, 0); }
#define ELEM_FN_2(op)                                                                              \
    static inline Val ir_##op(Fn *f, Val a, Val b) { return ir_elem(f, OP_##op, a, b, 0); }
#define ELEM_FN_3(op)                                                                              \
    static inline Val ir_##op(Fn *f, Val a, Val b, Val c) { return ir_elem(f, OP_##op, a, b, c); }
#define ELEM(op, arity, ...) ELEM_FN_##arity(op)
#include "ir/op.def" /* ir_add(f, a, b), ir_exp(f, a), ir_where(f, c, a, b), ... */
#undef ELEM_FN_1
#undef ELEM_FN_2
#undef ELEM_FN_3
Val ir_const(Fn *f, Type type, double value); /* splat; exact for i64 up to 2^53; halves by cast */
Val ir_const_int(Fn *f, Type type, int64_t value);
Val ir_const_like(Fn *f, Val v, double value); /* of v's type */
bool ir_is_const(const Fn *f, Val v, double value);
Val ir_cast(Fn *f, Val v, Dtype dtype);                      /* v itself where nothing changes */
Val ir_bcast(Fn *f, Val v, const int64_t *dim, int rank);    /* likewise */
Val ir_reshape(Fn *f, Val v, const int64_t *dim, int rank);  /* likewise */
Val ir_transpose(Fn *f, Val v, const int64_t *axes);         /* likewise; rank entries */
Val ir_slice(Fn *f, Val v, const int64_t *start_count_step); /* 3 * rank entries, by axis */
Val ir_pad(Fn *f, Val v, const int64_t *low_high_interior);  /* 3 * rank entries, by axis */
Val ir_concat(Fn *f, const Val *parts, uint32_t num_parts, int axis);
Val ir_fsum(Fn *f, Val v, uint32_t axes); /* a bit an axis; v itself where none */
Val ir_fmax(Fn *f, Val v, uint32_t axes);
Val ir_cumsum(Fn *f, Val v, int axis, bool reverse);
Val ir_take(Fn *f, Val table, Val index);
Val ir_put(Fn *f, Val index, Val g, int64_t rows);
Val ir_matmul(Fn *f, Val a, Val b);
Val ir_gather(Fn *f, Val v, Map m);         /* v itself along the map from all to all */
Val ir_reduce(Fn *f, Val v, Map m);         /* sum */
Val ir_rmax(Fn *f, Val v, Map m);           /* parts 0 and 1: largest, ties */
Val ir_softmax(Fn *f, Val s, Val v, Map m); /* parts 0 to 2 of op.def */
Val ir_logsumexp(Fn *f, Val softmax);       /* the sum of its parts 1 and 2 */
/* A fold along the rows of a map m : A -> B, a relation's or that of nodes to `all` (one row, by node number), by
 * a body on scalars (elementwise operations):
 *
 *   (finals @ B.., ys @ A..) = row_scan(states @ B.., xs @ A..)     body: (states.., xs..) -> (states.., ys..)
 *
 * The body runs at each edge of the row, by edge number (SCAN_reverse: from the last to the first), for each
 * element of the features, which all operands share. Where it runs is part of the meaning, bit for bit:
 * strictly one edge after the other, but with SCAN_tree, whose body combines a state with another one (as
 * many xs as states, no ys). There a row of more than SCAN_PART edges is cut into parts of equal size; the
 * first one starts from the state given, every other from its first edge's xs, and then the body merges
 * part k + h into part k for h = 1, 2, 4, .. and every k that 2 h divides. */
enum { SCAN_reverse = 1, SCAN_tree = 2 };
enum { SCAN_PART = 16384 };
typedef struct {
    Map map;
    int flags;
    uint32_t num_states, num_xs;
    const Fn *body;
} Scan;
/* operands: states, then xs; those that the body does not look at are left out, unless SCAN_tree. */
Val ir_row_scan(Fn *f, const Scan *s, const Val *operands);
Scan ir_scan_of(const Node *n); /* of a row_scan */
/* The map of the row_scan that gives v on its way, or MAP_NONE. */
Map ir_way_of(const Fn *f, Val v);
Val ir_degree(Fn *f, Map m);
Val ir_iota(Fn *f, Set s);
Val ir_enter(Fn *f, Val v, Set s);
Val ir_leave(Fn *f, Val v);

#endif
