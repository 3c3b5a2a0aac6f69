/* Float sums in groups, so that rounding grows with the logarithm of a row and not with the row.
 *
 * A left fold over n terms errs by up to n / 2 eps of the sum of absolute values. Here CARRY_GROUP terms
 * are folded, groups are folded into a second level, as many of those into a third: a chunk of 16384
 * edges errs by 32/2 + 32/2 + 16/2 eps. Groups start where the row (or the part of a split row) starts, so
 * the bits depend on the graph alone. Rows of one group, the common case, never see the other levels.
 *
 *   of a row   level 0 is the accumulator, 1 and 2 its carry cells; gathered when the row ends
 *   of a slot  levels 0 and 1 are carry cells, 2 is the slot's accumulator; emptied when a call ends */
#include "codegen/emit.h"

void carry_new_cells(Emit *e, Acc *a) {
    for (int level = 0; level < 2; level++)
        for (int k = 0; k < 3; k++) {
            a->carry[level][k] = NO_CELL;
            if (!a->sums || a->cell[k] == NO_CELL) continue;
            Cell c = e->cells.data[a->cell[k]];
            CellHome home = a->slot && c.large ? CELL_slot : CELL_local;
            a->carry[level][k] = cell_new(e, c.dtype, c.n, home);
        }
}

static LLVMValueRef pointer(Emit *e, int cell, LLVMValueRef slot) {
    Cell *c = &e->cells.data[cell];
    if (c->home != CELL_slot) return cell_pointer(e, cell);
    return c->ptr = emit_at(e, slot, emit_i64(e, (int64_t)c->offset));
}

static void use_level(Emit *e, const Acc *a, int level) {
    for (int k = 0; k < 3; k++)
        if (a->cell[k] != NO_CELL) e->cells.data[a->cell[k]].ptr = a->at[level][k];
}

void carry_open_row(Emit *e, Acc *a) {
    for (int k = 0; k < 3; k++) {
        if (a->cell[k] == NO_CELL) continue;
        a->at[0][k] = cell_pointer(e, a->cell[k]);
        a->at[1][k] = cell_pointer(e, a->carry[0][k]);
        a->at[2][k] = cell_pointer(e, a->carry[1][k]);
    }
}

void carry_open_slot(Emit *e, Acc *a) {
    for (int k = 0; k < 3; k++) {
        if (a->cell[k] == NO_CELL) continue;
        a->at[0][k] = pointer(e, a->carry[0][k], e->slot);
        a->at[1][k] = pointer(e, a->carry[1][k], e->slot);
        a->at[2][k] = pointer(e, a->cell[k], e->slot);
    }
    carry_start(e, a, 1);
    carry_start(e, a, 0);
    use_level(e, a, 0);
}

void carry_start(Emit *e, const Acc *a, int level) {
    use_level(e, a, level);
    acc_init(e, a);
    use_level(e, a, 0);
}

static void merge(Emit *e, const Acc *a, int into, int from) {
    use_level(e, a, into);
    for (int k = 0; k < 3; k++)
        if (a->cell[k] != NO_CELL) e->cells.data[a->cell[k]].from = a->at[from][k];
    acc_merge(e, a);
    use_level(e, a, 0);
}

void carry_up(Emit *e, const Acc *a, int level) {
    merge(e, a, level + 1, level);
    carry_start(e, a, level);
}

void carry_gather(Emit *e, const Acc *a) {
    carry_up(e, a, 0);
    carry_up(e, a, 1);
    merge(e, a, 0, 2);
}
