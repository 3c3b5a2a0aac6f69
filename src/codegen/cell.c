/* Cells: memory of whole blocks, so that no access to one needs a mask. */
#include "codegen/emit.h"

enum { CELL_ALIGN = 64 };

int cell_new(Emit *e, Dtype d, int64_t n, CellHome home) {
    Cell *c = vec_push(e->arena, &e->cells);
    *c = (Cell){.dtype = d, .n = n, .home = home, .large = emit_rolled(e, n)};
    uint64_t bytes = cell_bytes(e, c);
    uint64_t *total = home == CELL_row    ? &e->row_state_size
                      : home == CELL_edge ? &e->edge_size
                                          : &e->slot_size;
    bool elsewhere = home == CELL_slot || home == CELL_edge;
    if (!elsewhere && (home == CELL_local || c->large)) e->stack_size += bytes;
    if (home != CELL_local) {
        c->offset = *total;
        *total += bytes;
    }
    return (int)e->cells.len - 1;
}

uint64_t cell_padded(const Emit *e, const Cell *c) {
    return (uint64_t)emit_num_blocks(e, c->n) * emit_lanes(e, c->n);
}

uint64_t cell_bytes(const Emit *e, const Cell *c) {
    uint64_t bytes = cell_padded(e, c) * (uint64_t)dtype_size(c->dtype);
    return (bytes + CELL_ALIGN - 1) / CELL_ALIGN * CELL_ALIGN;
}

LLVMValueRef cell_pointer(Emit *e, int cell) {
    Cell *c = &e->cells.data[cell];
    if (c->ptr) return c->ptr;
    uint64_t bytes = cell_padded(e, c) * (uint64_t)dtype_size(c->dtype);
    LLVMTypeRef type = LLVMArrayType2(e->i8, bytes ? bytes : 1);
    c->ptr = LLVMBuildAlloca(e->entry, type, "");
    LLVMSetAlignment(c->ptr, CELL_ALIGN);
    return c->ptr;
}

static LLVMValueRef block_pointer(Emit *e, LLVMValueRef ptr, const Cell *c, Block b) {
    return emit_at(e, ptr, emit_mul(e, b.offset, emit_i64(e, dtype_size(c->dtype))));
}

static unsigned block_align(const Cell *c, Block b) {
    unsigned align = b.lanes * (unsigned)dtype_size(c->dtype);
    return align < CELL_ALIGN ? align : CELL_ALIGN;
}

LLVMValueRef cell_load(Emit *e, int cell, Block b) {
    LLVMValueRef ptr = cell_pointer(e, cell);
    const Cell *c = &e->cells.data[cell];
    return emit_load(e, block_pointer(e, ptr, c, b), c->dtype, b.lanes, b.lanes, block_align(c, b));
}

LLVMValueRef cell_load_from(Emit *e, int cell, Block b) {
    const Cell *c = &e->cells.data[cell];
    return emit_load(e, block_pointer(e, c->from, c, b), c->dtype, b.lanes, b.lanes,
                     block_align(c, b));
}

void cell_store(Emit *e, int cell, Block b, LLVMValueRef value) {
    LLVMValueRef ptr = cell_pointer(e, cell);
    const Cell *c = &e->cells.data[cell];
    emit_store(e, block_pointer(e, ptr, c, b), c->dtype, value, b.lanes, b.lanes,
               block_align(c, b));
}

static void zero_block(Emit *e, Block b, void *ctx) {
    int cell = *(const int *)ctx;
    cell_store(e, cell, b, LLVMConstNull(emit_vec(e, e->cells.data[cell].dtype, b.lanes)));
}

void cell_zero(Emit *e, int cell) { emit_blocks(e, e->cells.data[cell].n, zero_block, &cell); }

Source cell_source(Emit *e, int cell) {
    LLVMValueRef ptr = cell_pointer(e, cell);
    const Cell *c = &e->cells.data[cell];
    return (Source){ptr, c->dtype, cell_padded(e, c), (unsigned)dtype_size(c->dtype)};
}

typedef struct {
    int cell;
    LLVMValueRef other;
    bool in;
} Transfer;

static void transfer_block(Emit *e, Block b, void *ctx) {
    const Transfer *t = ctx;
    Cell *c = &e->cells.data[t->cell];
    LLVMValueRef own = c->ptr;
    c->ptr = t->in ? t->other : own;
    LLVMValueRef value = cell_load(e, t->cell, b);
    c->ptr = t->in ? own : t->other;
    cell_store(e, t->cell, b, value);
    c->ptr = own;
}

void cell_transfer(Emit *e, int cell, LLVMValueRef other, bool in) {
    cell_pointer(e, cell);
    Transfer t = {cell, other, in};
    emit_blocks(e, e->cells.data[cell].n, transfer_block, &t);
}
