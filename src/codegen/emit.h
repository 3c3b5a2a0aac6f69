/* The code generator's shared state and the parts' interfaces.
 *
 * A kernel becomes functions of explicit loops: rows, phases, edges, blocks of features. A value of n
 * features is processed in blocks of L lanes, L a power of two that depends on n and the target alone;
 * one of n = 1 is scalar code. Values are pulled: emit_eval(v, block) gives the vector, memoised per
 * value and block within the straight line that dominates the builder's position. Whatever crosses a
 * loop or a level lives in a cell: a stack slot of whole blocks, which SROA turns into registers where
 * it is only met at constant offsets, or a place in the row's or the slots' state. */
#ifndef TIGA_CODEGEN_EMIT_H
#define TIGA_CODEGEN_EMIT_H

#include "codegen/codegen.h"
#include "codegen/target.h"
#include "ir/type.h"

#include <llvm-c/Core.h>

/* A run of lanes of a value of n features. count < lanes in a tail: the other lanes hold anything but
 * never trap. A block of a rolled loop has an offset known at run time alone, and is whole. */
typedef struct {
    int64_t n, number; /* number: of the block, or a negative one unique to its loop */
    unsigned lanes, count;
    LLVMValueRef offset; /* i64 element */
    bool rolled;
} Block;

typedef enum { CELL_local, CELL_row, CELL_slot, CELL_edge } CellHome; /* edge: rowscan.c */

/* Memory of n elements, row major, in whole blocks; bool as bytes. */
typedef struct {
    Dtype dtype;
    int64_t n;
    CellHome home;
    uint64_t offset;        /* in its state, or an edge's place */
    bool large;             /* not for registers: stays in the state given */
    LLVMValueRef ptr, from; /* in the function at hand; from: merge's second state */
} Cell;
enum { NO_CELL = -1 };

/* How a value's elements lie in another value's row: axes of the value's own shape, strides in
 * elements of the base. */
typedef struct {
    Val base;
    int rank;
    int64_t dim[MAX_RANK], stride[MAX_RANK], offset;
} View;

/* Memory that a view reads: `padded` elements from ptr on may be touched. */
typedef struct {
    LLVMValueRef ptr;
    Dtype dtype;
    uint64_t padded;
    unsigned align;
} Source;

typedef struct {
    bool live, viewed; /* viewed: somebody reads it by a view or in the middle */
    bool crosses;      /* has a cell, for it is needed one level further in */
    bool kept;         /* given by a scan at each edge and read in a later phase */
    bool uniform;      /* every element is the same: uniform.c */
    uint8_t *same;     /* of a scan: so much of its body's values; NULL where n is 1 */
    bool staged;       /* an edge's, and a staged sum takes something of it */
    bool has_put;      /* a put, or a sum of puts and others that one operation alone uses */
    bool absorbed; /* such, and never computed: reduces add its rows where they belong (table.c) */
    int64_t n;
    uint32_t uses, table_uses; /* table_uses: as the table of a take that reads it by strides */
    int cell;                  /* index or NO_CELL */
    int copy;                  /* index or NO_CELL: a factor of a matmul, laid out for it */
    bool turned;               /* copy: with its last two axes swapped */
    int buffer;                /* of an input, else -1 */
    LLVMValueRef tile; /* lanes.c: its elements on a tile's edges, in the function at hand */
} Info;

typedef enum { ACC_reduce, ACC_rmax, ACC_softmax, ACC_scan } AccKind;

/* An anchor's accumulator. Cells: reduce sum; rmax largest, ties; softmax value, maximum, weights. */
typedef struct {
    Val anchor;
    AccKind kind;
    Level level; /* where its operand lives */
    int phase;
    bool slot;       /* reduces to `all` */
    bool used[3];    /* results that somebody reads */
    int cell[3];     /* reduce: sum, rest. rmax: M, count. softmax: a then o, m, sum then its log */
    bool sums;       /* floats are added: in groups, see carry.c */
    bool puts;       /* a sum of puts: cell[1] holds what rounding lost, see table.c */
    int carry[2][3]; /* cells of carry.c */
    bool narrow;     /* sums of few features over edges: in the lanes of a group */
    LLVMValueRef lanes; /* narrow, one edge at a time: the group's lanes, in the function at hand */
    LLVMValueRef factor[2]; /* outer.c: of the group's edges, in the function at hand */
    LLVMValueRef at[3][3];  /* where groups are summed, in the function at hand */
    int weight, scale;      /* softmax: of one edge, in the score's shape */
    Scan scan;
    int *states, *ys, *again; /* scan: cells; again: of states, where edges are run again */
    int *single; /* likewise: one element of a uniform state, while edges are swept, or NO_CELL */
    uint64_t start; /* scan: where a block's states lie among a block's bytes */
} Acc;

typedef struct Memo {
    struct Memo *next;
    int64_t key;
    LLVMValueRef value;
} Memo;

typedef struct {
    const CompileRequest *request;
    const Kernel *kernel;
    const Fn *f;
    const Target *target;
    Arena *arena;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder, entry; /* entry: allocas and argument loads, before everything else */
    LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, ptr;
    Set edges; /* the kernel's edge set; UINT16_MAX where it has none */

    /* analysis */
    int max_lanes, max_unroll;
    Info *info; /* by value */
    VEC(Cell) cells;
    VEC(Acc) accs;
    uint64_t row_state_size, slot_size;
    uint64_t stack_size;                           /* of cells that stay in memory */
    uint64_t edge_size;                            /* of an edge's place; 0: nothing is kept */
    bool rows_in_lanes;                            /* short rows, by rowlanes.c */
    uint64_t block_edges, block_bytes, block_room; /* codegen.h; room: where in a slot edges lie */
    int64_t num_shares;                            /* stage.c; 0: not in stages */

    /* the function at hand */
    LLVMValueRef function, args, row, row_begin, row_end, pos, edge, col, state, slot;
    LLVMValueRef block_first; /* of the block of edges at hand */
    LLVMValueRef seed; /* the edge that a part of a row starts from; NULL: the row's states */
    LLVMValueRef *data, *stride; /* by buffer: loaded on first use */
    Memo **memo;                 /* by value */
    VEC(Val) log;                /* memoised values, in order */
    int64_t next_loop;
    struct {                          /* edge lanes: see lanes.c and tile.c */
        LLVMValueRef pos, mask;       /* the first lane's position; lanes that are there */
        LLVMValueRef edge, col, row;  /* index vectors */
        LLVMValueRef first, end, ids; /* of the tile: slots of positions; rows of its edges */
        LLVMValueRef limit;           /* position that no tile passes */
        bool of_rows; /* a block is one element of EDGE_LANES rows, in cells too: rowlanes.c */
    } lane;
    struct {                /* stage.c: of the task at hand */
        LLVMValueRef index; /* its share */
        bool open;          /* the next loop is cut */
    } share;
    LLVMTypeRef vt, vi; /* prim.h's VT and VI of the operation at hand */
} Emit;

/* ---- base.c: types, constants, loops, memory ---- */

LLVMTypeRef emit_type(Emit *e, Dtype d);                      /* bool: i1; halves: i16 */
LLVMTypeRef emit_vector(LLVMTypeRef element, unsigned lanes); /* the element where lanes is 1 */
LLVMTypeRef emit_vec(Emit *e, Dtype d, unsigned lanes);
LLVMValueRef emit_i64(Emit *e, int64_t value);
LLVMValueRef emit_splat(Emit *e, LLVMValueRef scalar, unsigned lanes);
LLVMValueRef emit_const(Emit *e, Dtype d, uint64_t bits, unsigned lanes);
LLVMValueRef emit_real(Emit *e, Dtype d, double value, unsigned lanes);
LLVMValueRef emit_iota(Emit *e, unsigned lanes, int64_t first, int64_t step); /* i64 */
LLVMValueRef emit_mask(Emit *e, unsigned lanes, unsigned count); /* the first count lanes */
LLVMValueRef emit_lane(Emit *e, LLVMValueRef vector, unsigned lane);
LLVMValueRef emit_call(Emit *e, const char *intrinsic, LLVMTypeRef *types, unsigned num_types,
                       LLVMValueRef *args, unsigned num_args);
LLVMValueRef emit_add(Emit *e, LLVMValueRef a, LLVMValueRef b); /* i64 */
LLVMValueRef emit_mul(Emit *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef emit_at(Emit *e, LLVMValueRef ptr, LLVMValueRef bytes); /* ptr + bytes */
LLVMValueRef emit_field(Emit *e, LLVMValueRef ptr, uint64_t offset,
                        LLVMTypeRef type); /* aligned load */

/* The same before everything else: what is an argument or reached from one never changes in a call. */
LLVMValueRef emit_argument(Emit *e, LLVMValueRef from, uint64_t offset, LLVMTypeRef type);
LLVMValueRef emit_index(Emit *e, LLVMValueRef array,
                        LLVMValueRef pos); /* entry of an index array: i64 */

/* Elements of memory: lanes from ptr on, aligned to `align` bytes; count < lanes reads only those. */
LLVMValueRef emit_load(Emit *e, LLVMValueRef ptr, Dtype d, unsigned lanes, unsigned count,
                       unsigned align);
void emit_store(Emit *e, LLVMValueRef ptr, Dtype d, LLVMValueRef value, unsigned lanes,
                unsigned count, unsigned align);
/* Stores the first count lanes in whole pieces, so that SROA sees them. */
void emit_store_lanes(Emit *e, LLVMValueRef ptr, Dtype d, LLVMValueRef value, unsigned lanes,
                      unsigned count);
LLVMValueRef emit_pick(Emit *e, LLVMValueRef vector, unsigned first,
                       unsigned count);            /* lanes of it */
LLVMValueRef emit_temp(Emit *e, LLVMTypeRef type); /* a stack slot of this function */
LLVMValueRef emit_room(Emit *e, LLVMTypeRef element, int64_t num); /* many of them, aligned */
/* The elements at byte offsets (<lanes x i64>; i64 where lanes is 1). */
LLVMValueRef emit_gather(Emit *e, LLVMValueRef ptr, LLVMValueRef bytes, Dtype d, unsigned lanes);

/* for (i = first; i < last; i += step), step > 0. Memos of the body end with it. */
typedef struct {
    LLVMBasicBlockRef body, done;
    LLVMValueRef index, last, step;
    uint32_t mark;
} Loop;
Loop emit_loop(Emit *e, LLVMValueRef first, LLVMValueRef last, LLVMValueRef step);
void emit_loop_end(Emit *e, Loop *loop);

/* if (condition) { .. }; memos of the body end with it. */
typedef struct {
    LLVMBasicBlockRef done;
    uint32_t mark;
} If;
If emit_if(Emit *e, LLVMValueRef condition);
void emit_if_end(Emit *e, If *branch);

unsigned emit_lanes(const Emit *e, int64_t n);
int64_t emit_num_blocks(const Emit *e, int64_t n);
bool emit_rolled(const Emit *e, int64_t n);
Block emit_scalar_block(Emit *e);
/* fn for each block of n features: unrolled where few, else a loop and the tail. */
typedef void BlockFn(Emit *e, Block b, void *ctx);
void emit_blocks(Emit *e, int64_t n, BlockFn *fn, void *ctx);
Block emit_row_block(Emit *e, int64_t i); /* element i, where lane.of_rows */
Block emit_fixed_block(Emit *e, int64_t n, int64_t number);
void emit_block_loop(Emit *e, int64_t n, BlockFn *fn, void *ctx); /* a loop in any case */
/* fn for each of num rows, from row 0 up: unrolled, or a loop. */
typedef void EachFn(Emit *e, LLVMValueRef row, void *ctx);
void emit_each(Emit *e, int64_t num, bool unrolled, EachFn *fn, void *ctx);

/* Of num pieces of work those of the share at hand: all of them, but in the outermost loop of a stage
 * that is cut. What is no loop of pieces is the first share's. */
typedef struct {
    LLVMValueRef first, last;
    bool taken;
} Share;
Share emit_share(Emit *e, int64_t num);
void emit_share_end(Emit *e, Share share);
LLVMValueRef emit_is_first_share(Emit *e); /* i1 */

/* ---- memo ---- */
enum { KEY_pointer = INT64_MIN, KEY_filled, KEY_copied, KEY_uniform };
#define KEY_LANES (INT64_C(1) << 40) /* and the element's number: lanes.c */
LLVMValueRef memo_get(const Emit *e, Val v, int64_t key);
LLVMValueRef memo_put(Emit *e, Val v, int64_t key, LLVMValueRef value);
void memo_pop(Emit *e, uint32_t mark);

/* ---- analyze.c: what lives where ---- */
Status analyze_run(Emit *e);
/* Where v is known: an anchor's place says where its operands are. */
static inline Level level_of(const Emit *e, Val v) {
    const Node *n = ir_node(e->f, v);
    bool is_row = n->num_results == 1 && (n->op == OP_reduce || n->op == OP_row_scan);
    if (!is_row || plan_is_staged(e->kernel, v)) return (Level)e->kernel->place[v].level;
    return n->op == OP_reduce && ir_type(e->f, v)->set == SET_ALL ? LEVEL_last : LEVEL_row;
}
bool analyze_is_flat(const Emit *e, Val v);  /* a concat whose parts follow each other */
bool analyze_is_outer(const Emit *e, Val v); /* a matmul of inner extent 1 */

/* ---- cell.c ---- */
int cell_new(Emit *e, Dtype d, int64_t n, CellHome home);
LLVMValueRef cell_load(Emit *e, int cell, Block b);
LLVMValueRef cell_load_from(Emit *e, int cell, Block b); /* merge's second state */
void cell_store(Emit *e, int cell, Block b, LLVMValueRef value);
void cell_zero(Emit *e, int cell);
uint64_t cell_padded(const Emit *e, const Cell *c); /* elements */
uint64_t cell_bytes(const Emit *e, const Cell *c);
LLVMValueRef cell_pointer(Emit *e, int cell); /* makes a local one on first use */
Source cell_source(Emit *e, int cell);
/* From other memory into the cell, or back. */
void cell_transfer(Emit *e, int cell, LLVMValueRef other, bool in);

/* ---- elem.c ---- */
LLVMValueRef elem_apply(Emit *e, const Node *n, const LLVMValueRef *args);
LLVMValueRef elem_cast(Emit *e, LLVMValueRef value, Dtype from, Dtype to, unsigned lanes);

/* ---- eval.c: the pull ---- */
LLVMValueRef emit_eval(Emit *e, Val v, Block b);
/* Fills the cells that evaluating v here needs and evaluates its scalars: before a loop over v. */
void emit_ensure(Emit *e, Val v);
void emit_ensure_operands(Emit *e, Val v);
void eval_fill(Emit *e, Val v);                /* its cell, the operands being ready */
LLVMValueRef eval_row_pointer(Emit *e, Val v); /* of an input, a gathered one, or a take, here */
/* Byte offsets of the block's elements, over axes `first` and on of t, in a row of any strides. */
LLVMValueRef eval_strided_offsets(Emit *e, int buffer, const Type *t, int first, Block b);
LLVMValueRef buffer_data(Emit *e, int buffer);
LLVMValueRef buffer_stride(Emit *e, int buffer, int axis);

/* ---- view.c ---- */
/* A gather along the kernel's own map or to all: the same row, known one level up. */
bool view_is_outer_gather(const Emit *e, Val v);
View view_of(const Emit *e, Val v);
bool view_is_identity(const View *w, int64_t base_n);
bool view_is_memory(const Emit *e, Val base); /* or will be, where it has a cell */
Source view_source(Emit *e, Val base);
LLVMValueRef view_load(Emit *e, const View *w, Source s, Block b);
LLVMValueRef view_eval(Emit *e, Val v, Block b);
/* Axes first .. first + rank - 1 of w, offset 0. */
View view_axes(const View *w, int first, int rank);
int64_t view_numel(const View *w);
int64_t view_index(const View *w, int64_t i); /* where element i lies, in elements */
/* The same of a number known at run time: i64. */
LLVMValueRef view_element(Emit *e, const View *w, LLVMValueRef i);
/* The memory from element `at` on; `reach` elements of it are read where `at` is not a constant. */
Source view_advance(Emit *e, Source s, LLVMValueRef at, uint64_t reach);
/* Elements from the first of w to its last, for view_advance. */
uint64_t view_reach(const View *w);
/* Without axes of extent 1, neighbouring axes merged. */
View view_coalesce(const View *w);

/* ---- shape.c, fold.c, scan.c, matmul.c: values made in memory ---- */
void shape_fill(Emit *e, Val v);        /* concat, pad */
void fold_fill(Emit *e, Val v);         /* fsum, fmax */
void scan_fill(Emit *e, Val v);         /* cumsum */
bool fold_splits(const Emit *e, Val v); /* its outermost loop is one of pieces */
LLVMValueRef fold_neutral(Emit *e, Dtype d, bool max, unsigned lanes);
void matmul_fill(Emit *e, Val v);
bool matmul_splits(const Emit *e, Val v);
/* The number of the result that a matmul is filled into, which then has no use but that; else -1. */
int matmul_result(const Emit *e, Val v);
void matmul_copy(Emit *e, Val factor);                      /* fills its copy */
Val matmul_vector_side(const Emit *e, Val v, bool *turned); /* whose rows make the vectors */

/* ---- table.c: rows by number ---- */
bool table_is_made(const Emit *e, Val v);    /* a take that is filled, not pulled */
bool table_is_memory(const Emit *e, Val v);  /* a take whose row is read where it lies */
bool table_is_strided(const Emit *e, Val v); /* a take from an input by its strides */
LLVMValueRef table_row_pointer(Emit *e, Val v);
LLVMValueRef table_eval(Emit *e, Val v, Block b);
void table_fill(Emit *e, Val v); /* take, put */
/* Tells the run time of indices out of range, of what lives at that level (on edges: in that phase). */
void table_check(Emit *e, Level level, int phase);
/* Adds v, a sum of puts and others, to an accumulator of puts. */
void table_sum(Emit *e, const Acc *a, Val v);
void table_sum_merge(Emit *e, const Acc *a);
void table_sum_finish(Emit *e, const Acc *a);

/* ---- along.c: accumulators ---- */
uint32_t acc_operands(const Emit *e, const Acc *a, const Val **out); /* what a step takes in */
void acc_init(Emit *e, const Acc *a);
void acc_step(Emit *e, const Acc *a);
void acc_merge(Emit *e, const Acc *a);
void acc_finish(Emit *e, const Acc *a);

/* ---- uniform.c ---- */
void uniform_find(Emit *e); /* sets Info.uniform and Info.same, where something scans */
LLVMValueRef uniform_eval(Emit *e, Val v); /* one element, of a uniform value or one of n = 1 */

/* ---- rowscan.c: scans along rows ---- */
void scan_find_kept(Emit *e); /* sets Info.kept and Info.staged */
void scan_new_cells(Emit *e, Acc *a);
void scan_lay_blocks(Emit *e); /* after all cells: block_edges and what follows */
bool scan_is_reversed(const Emit *e, int phase);
void scan_init(Emit *e, const Acc *a);
void scan_open(Emit *e, const Acc *a); /* around a loop over edges */
void scan_close(Emit *e, const Acc *a);
void scan_step(Emit *e, const Acc *a);
void scan_merge(Emit *e, const Acc *a);
void scan_at_edge(Emit *e); /* points the cells of what is kept to the edge at hand */
/* One sweep of the row in blocks of edges; sweep does one of them. */
void scan_sweep(Emit *e, int phase,
                void (*sweep)(Emit *e, int phase, LLVMValueRef first, LLVMValueRef last));
LLVMValueRef scan_place(Emit *e); /* of the edge at hand in a block of staged sums */
/* After all phases of a row: where it is longer than a block of staged sums, their operands once more, block
 * after block. */
void scan_stage_row(Emit *e);
/* A loop over the edges in the phase's direction; sets pos, edge and col. */
Loop edges_begin(Emit *e, int phase, LLVMValueRef first, LLVMValueRef last); /* kernel.c */

/* ---- carry.c: float sums in groups ---- */
enum { CARRY_GROUP = 32 };
void carry_new_cells(Emit *e, Acc *a);
/* Of a row's sums: level 0 is the accumulator itself. Of slots' sums: level 2 is. */
void carry_open_row(Emit *e, Acc *a);
void carry_open_slot(Emit *e, Acc *a);
void carry_start(Emit *e, const Acc *a, int level);
/* Adds `level` to the next and starts it anew. */
void carry_up(Emit *e, const Acc *a, int level);
/* A row's sum out of all levels, back in its accumulator. */
void carry_gather(Emit *e, const Acc *a);

/* ---- lanes.c: one element of EDGE_LANES edges, or rows, in a vector ---- */
enum { EDGE_LANES = 16 };
LLVMValueRef lanes_eval(Emit *e, Val v, int64_t i);
LLVMTypeRef lanes_type(Emit *e, Dtype d); /* in memory */
/* Index arrays (col, edge) at lane.pos; 0 in lanes that are not there. */
LLVMValueRef lanes_load_index(Emit *e, LLVMValueRef array);
LLVMValueRef lanes_numbers(Emit *e, LLVMValueRef first); /* first, first + 1, ..: indices */
void lanes_store_result(Emit *e, uint32_t k);
/* Makes lanes of positions [pos, end); those past the end repeat the last one. */
void lanes_at(Emit *e, LLVMValueRef pos, LLVMValueRef end);
void lanes_at_rows(Emit *e, LLVMValueRef row); /* of the kernel's map: all EDGE_LANES are there */

/* ---- tile.c: sweeps in edge lanes ---- */
uint64_t tile_bytes(const Emit *e);          /* of stack */
void tile_open(Emit *e, LLVMValueRef limit); /* in every function that sweeps */
void tile_sweep(Emit *e, LLVMValueRef last); /* before a sweep up to `last` */
/* The group [first, last) of the row into the accumulators. */
void tile_group(Emit *e, int phase, LLVMValueRef first, LLVMValueRef last);
bool tile_takes_groups(const Emit *e, const Acc *a); /* not edge after edge */
LLVMValueRef tile_place(Emit *e, Val v, int64_t i,
                        LLVMValueRef number); /* where v's element i lies */
/* Element i of the group of `count` edges from `number` in the tile on, added up to EDGE_LANES lanes. */
LLVMValueRef tile_group_lanes(Emit *e, const Acc *a, int64_t i, LLVMValueRef number,
                              LLVMValueRef count);
/* A tile of its own for the edges [first, last) from the row at hand on, as many as it has room for. */
void tile_make(Emit *e, LLVMValueRef first, LLVMValueRef last);

/* ---- rowlanes.c: EDGE_LANES short rows at once ---- */
bool rowlanes_can(const Emit *e);
/* Rows [first, last): those that are short in whole blocks, the others as one_by_one does. */
void rowlanes_sweep(Emit *e, LLVMValueRef first, LLVMValueRef last,
                    void (*one_by_one)(Emit *e, LLVMValueRef first, LLVMValueRef last));

/* ---- group.c: a group of a row's edges, one at a time ---- */
void group_open(Emit *e, int phase);
void group_step(Emit *e, int phase,
                LLVMValueRef first); /* the edge at hand, of a group from first on */
void group_close(Emit *e, int phase, LLVMValueRef first, LLVMValueRef last);
LLVMValueRef group_tree(Emit *e, LLVMValueRef x, unsigned width);

/* ---- outer.c: sums of outer products ---- */
bool outer_is_tiled(const Emit *e, const Acc *a);
uint64_t outer_bytes(const Emit *e, const Acc *a); /* of stack */
void outer_open(Emit *e, Acc *a);
void outer_step(Emit *e, const Acc *a, LLVMValueRef number);
void outer_close(Emit *e, const Acc *a, LLVMValueRef count);

/* ---- stage.c: kernels on `all` in shares ---- */
void stage_choose(Emit *e);
int64_t stage_count(const Emit *e);
void stage_emit(Emit *e, int stage);

/* ---- kernel.c ---- */
void kernel_store_staged(Emit *e, int phase); /* operands of staged sums, of the edge at hand */
void kernel_store_all(Emit *e, Val v);        /* to every result that is v, on `all` */
extern const char *const entry_names[NUM_ENTRIES];
extern const char *const entry_nothing; /* stands in for those that are missing */
void kernel_emit(Emit *e);

/* ---- image.c ---- */
Status image_make(const void *object, size_t size, bool is_aarch64, Image *out);

#endif
