/* One call: mark what is needed, bind arrays, find code, run kernel after kernel, copy out what could
 * not be written in place. All of a call's memory is one frame, so a warm call allocates once. */
#include "run/exec.h"

#include "base/debug.h"
#include "base/pool.h"
#include "interp/interp.h"
#include "ir/type.h"
#include "run/buffers.h"
#include "run/operand.h"
#include "run/sched.h"
#include "run/target.h"
#include "run/variant.h"
#include "run/wire.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef struct Known Known;
struct Known { /* a variant that this Exec has */
    Known *next;
    Loaded *loaded;
    uint8_t flags;
    uint8_t layout[]; /* num_buffers entries */
};
enum { FLAG_wide = 1, FLAG_has_edge = 2, FLAG_prefetch = 4, FLAG_split = 8 };

struct Exec {
    Arena *arena; /* owns this and everything but the variants */
    const Plan *plan;
    Wiring wiring;
    bool fast_math, interp;
    size_t l2_bytes;
    uint32_t most_buffers, most_staged; /* of a kernel */
    const uint8_t *plain;               /* most_buffers of LAYOUT_rows */
    _Atomic(Known *) *known;            /* by kernel, the newest first */
    _Atomic int64_t calls, hits, misses;
};

typedef struct {
    Array array;
    int32_t last_use; /* kernel that reads it last, or that stores it where none reads it */
    bool needed, staged;
    uint8_t layout;
    void *owned; /* of the buffer pool */
} Slot;          /* a wire's memory in this call */

typedef struct {
    bool runs;
    uint8_t flags;
    const Csr *csr; /* a relation's, or this: */
    Csr row;        /* nodes that are folded to `all` */
    const Loaded *loaded;
} Step; /* a kernel in this call */

typedef struct {
    Exec *exec;
    const Domain *domain;
    const Array *inputs, *outputs;
    Slot *slots;      /* by wire */
    Step *steps;      /* by kernel */
    uint8_t *layouts; /* by KernelWires.first_flag and buffer */
    Buffer *buffers;  /* of the kernel that runs */
    StagedSum *sums;  /* alike */
    int32_t fault;    /* set by code that met an index out of range */
} Call;

/* ---- the Exec ---- */

Exec *exec_new(const Plan *plan, bool fast_math) {
    Arena *a = arena_new();
    Exec *e = ARENA_NEW(a, Exec);
    *e = (Exec){.arena = a,
                .plan = plan,
                .wiring = wire_plan(a, plan),
                .fast_math = fast_math,
                .interp = debug_has("EXEC", "interp"),
                .l2_bytes = target_l2_bytes()};
    for (uint32_t k = 0; k < e->wiring.num_kernels; k++) {
        const KernelWires *kw = &e->wiring.kernels[k];
        if (kw->num_buffers > e->most_buffers) e->most_buffers = kw->num_buffers;
        if (kw->num_staged > e->most_staged) e->most_staged = kw->num_staged;
    }
    e->plain = ARENA_ARRAY(a, uint8_t, e->most_buffers + 1);
    e->known = ARENA_ARRAY(a, _Atomic(Known *), e->wiring.num_kernels + 1);
    return e;
}

void exec_free(Exec *e) {
    if (!e) return;
    for (uint32_t k = 0; k < e->wiring.num_kernels; k++) {
        for (Known *v = e->known[k], *next; v; v = next) {
            next = v->next;
            image_unref(v->loaded);
            mem_free(v);
        }
    }
    arena_free(e->arena);
}

ExecStats exec_stats(const Exec *e) {
    return (ExecStats){.calls = e->calls, .hits = e->hits, .misses = e->misses};
}

static CompileRequest request_of(const Exec *e, uint32_t kernel, uint8_t flags,
                                 const uint8_t *layout) {
    return (CompileRequest){.kernel = e->wiring.kernels[kernel].kernel,
                            .cpu = target_cpu(),
                            .features = target_features(),
                            .layout = layout,
                            .wide = flags & FLAG_wide,
                            .has_edge = flags & FLAG_has_edge,
                            .split = flags & FLAG_split,
                            .prefetch = flags & FLAG_prefetch,
                            .fast_math = e->fast_math};
}

CompileRequest exec_request(const Exec *e, uint32_t kernel) {
    const Known *v = atomic_load(&e->known[kernel]);
    return v ? request_of(e, kernel, v->flags, v->layout) : request_of(e, kernel, 0, e->plain);
}

/* ---- what is needed ---- */

static bool is_bound_output(const Call *c, const Wire *w) {
    return w->kind == WIRE_output && c->outputs[w->index].data;
}

static void mark_kernel(Call *c, uint32_t k) {
    const KernelWires *kw = &c->exec->wiring.kernels[k];
    Step *step = &c->steps[k];
    for (uint32_t i = kw->num_inputs; i < kw->num_buffers; i++)
        step->runs |= c->slots[kw->wire[i]].needed;
    for (uint32_t i = 0; step->runs && i < kw->num_buffers; i++) {
        Slot *slot = &c->slots[kw->wire[i]];
        slot->needed = true;
        if (slot->last_use < 0) slot->last_use = (int32_t)k;
    }
}

static void mark_needed(Call *c) {
    const Wiring *w = &c->exec->wiring;
    for (uint32_t i = 0; i < w->num_wires; i++) {
        c->slots[i].last_use = -1;
        c->slots[i].needed = is_bound_output(c, &w->wires[i]);
    }
    for (uint32_t k = w->num_kernels; k-- > 0;) mark_kernel(c, k);
}

/* ---- binding ---- */

static Status bind_given(const Call *c, const Wire *w, const char *role, const Array *given,
                         Slot *slot) {
    Array want;
    int64_t bytes;
    Status status = operand_dense(&w->type, c->domain, w->name, &want, &bytes);
    if (!status) status = operand_check(role, w->name, given, &want);
    slot->array = *given;
    return status;
}

static Status bind_input(const Call *c, const Wire *w, Slot *slot) {
    const Array *given = &c->inputs[w->index];
    Status status = bind_given(c, w, "input", given, slot);
    if (!status && !given->data && operand_count(given))
        status = err_set(ST_NAME, "input '%s' is not bound", w->name);
    slot->layout = operand_layout(given, w->type.set != SET_ALL);
    return status;
}

/* Kernels store to dense rows and may read any input until the last of them ends. */
static Status bind_output(const Call *c, const Wire *w, Slot *slot) {
    const Array *given = &c->outputs[w->index];
    Status status = bind_given(c, w, "output", given, slot);
    slot->staged = !operand_is_dense(given);
    for (uint32_t k = 0; !slot->staged && k < c->exec->plan->program->inputs.len; k++)
        slot->staged = c->inputs[k].data && operand_overlaps(given, &c->inputs[k]);
    return status;
}

static Status slot_alloc(const Call *c, const Wire *w, Slot *slot) {
    int64_t bytes;
    Status status = operand_dense(&w->type, c->domain, w->name, &slot->array, &bytes);
    if (status) return status;
    slot->owned = buf_alloc((size_t)bytes, w->name);
    slot->array.data = slot->owned;
    return slot->owned ? ST_OK : ST_NOMEM;
}

static void slot_release(Slot *slot) {
    buf_free(slot->owned);
    slot->owned = NULL;
}

/* The map's rows, checked against the domain: code trusts every index. */
static Status csr_of(const Call *c, Map m, const Csr **out) {
    const Fn *f = c->exec->plan->program;
    const int64_t *size = c->domain->set_size;
    Status status = graph_csr(c->domain->graphs[map_relation(m)], map_is_dst(m), out);
    if (status) return status;
    if ((*out)->num_rows == size[map_to(f, m)] && (*out)->num_edges == size[map_from(f, m)] &&
        (*out)->num_cols == size[map_to(f, map_other(m))])
        return ST_OK;
    return err_set(ST_INVAL, "relation '%s' is not of the sizes that were bound",
                   f->relations.data[map_relation(m)].name);
}

typedef struct {
    const Csr *csr;
    int64_t *out;
} Degrees;
enum { DEGREE_ROWS = 1 << 16 };

static void degree_task(void *ctx, int64_t task) {
    const Degrees *d = ctx;
    int64_t row = task * DEGREE_ROWS, end = row + DEGREE_ROWS;
    if (end > d->csr->num_rows) end = d->csr->num_rows;
    for (; row < end; row++) d->out[row] = d->csr->row_ptr[row + 1] - d->csr->row_ptr[row];
}

static Status bind_degree(const Call *c, const Wire *w, Slot *slot) {
    Degrees d;
    Status status = csr_of(c, w->map, &d.csr);
    if (!status) status = slot_alloc(c, w, slot);
    if (status) return status;
    d.out = slot->array.data;
    return pool_run((d.csr->num_rows + DEGREE_ROWS - 1) / DEGREE_ROWS, degree_task, &d);
}

static Status bind_wire(const Call *c, const Wire *w, Slot *slot) {
    switch ((WireKind)w->kind) {
    case WIRE_input: return bind_input(c, w, slot);
    case WIRE_output: return is_bound_output(c, w) ? bind_output(c, w, slot) : ST_OK;
    case WIRE_temp: return ST_OK;
    case WIRE_degree: return bind_degree(c, w, slot);
    case WIRE_size:
        slot->array = (Array){.data = (void *)&c->domain->set_size[w->set], .dtype = DT_i64};
        return ST_OK;
    }
    return ST_BUG;
}

static Status bind(Call *c) {
    const Wiring *w = &c->exec->wiring;
    Status status = ST_OK;
    for (uint32_t i = 0; !status && i < w->num_wires; i++)
        if (c->slots[i].needed) status = bind_wire(c, &w->wires[i], &c->slots[i]);
    return status;
}

/* ---- code ---- */

/* An eighth of the cache is the streams'. */
static bool outgrows_cache(const Call *c, const KernelWires *kw) {
    double bytes = 0;
    for (uint32_t k = 0; k < kw->num_gathered; k++)
        bytes +=
            (double)c->domain->set_size[kw->gathered[k].set] * (double)kw->gathered[k].row_bytes;
    return bytes > 0.875 * (double)c->exec->l2_bytes;
}

/* What kernels store is dense. */
static Layout layout_for(const Call *c, uint32_t wire) {
    bool given = c->exec->wiring.wires[wire].kind == WIRE_input;
    return given ? c->slots[wire].layout : LAYOUT_dense;
}

/* Whether a result of the call is stored past the cache. */
static bool is_streamed(const Call *c, uint32_t wire) {
    enum { LINE = 64, CACHES = 8 };
    const Slot *slot = &c->slots[wire];
    const Array *a = &slot->array;
    bool last = is_bound_output(c, &c->exec->wiring.wires[wire]) && !slot->staged && a->rank > 0;
    if (!last || (uintptr_t)a->data % LINE || a->stride[0] % LINE) return false;
    return (double)a->dim[0] * (double)a->stride[0] >= CACHES * (double)c->exec->l2_bytes;
}

static Layout layout_of_result(const Call *c, const Kernel *k, uint32_t result, uint32_t wire) {
    bool rows = k->rows != SET_ALL && c->exec->wiring.wires[wire].type.set == k->rows;
    bool wide = k->schedule == SCHEDULE_feature_lanes || k->schedule == SCHEDULE_edge_tiles;
    bool staged = plan_is_staged(k, k->body->results.data[result].val);
    return rows && wide && !staged && is_streamed(c, wire) ? LAYOUT_streamed : LAYOUT_rows;
}

static Status prepare_step(Call *c, uint32_t k) {
    const KernelWires *kw = &c->exec->wiring.kernels[k];
    Step *step = &c->steps[k];
    uint8_t *layout = c->layouts + kw->first_flag;
    for (uint32_t i = 0; i < kw->num_buffers; i++)
        layout[i] = i < kw->num_inputs
                        ? layout_for(c, kw->wire[i])
                        : layout_of_result(c, kw->kernel, i - kw->num_inputs, kw->wire[i]);
    if (kw->kernel->map == MAP_NONE) return ST_OK;
    Map m = kw->kernel->map;
    step->csr = &step->row;
    Status status =
        map_is_all(m)
            ? csr_of_one_row(c->domain->set_size[map_from(kw->kernel->body, m)], &step->row)
            : csr_of(c, m, &step->csr);
    if (status) return status;
    step->flags =
        (step->csr->wide ? FLAG_wide : 0) |
        (step->csr->edge && kw->uses_edges ? FLAG_has_edge : 0) |
        (step->csr->has_split && kw->kernel->num_phases && !kw->kernel->whole_rows ? FLAG_split
                                                                                   : 0) |
        (outgrows_cache(c, kw) ? FLAG_prefetch : 0);
    return ST_OK;
}

static const Loaded *known_find(const Call *c, uint32_t k) {
    const KernelWires *kw = &c->exec->wiring.kernels[k];
    const Known *v = atomic_load_explicit(&c->exec->known[k], memory_order_acquire);
    while (v && (v->flags != c->steps[k].flags ||
                 memcmp(v->layout, c->layouts + kw->first_flag, kw->num_buffers) != 0))
        v = v->next;
    return v ? v->loaded : NULL;
}

/* Takes the reference to loaded. */
static Status known_add(const Call *c, uint32_t k, Loaded *loaded) {
    const KernelWires *kw = &c->exec->wiring.kernels[k];
    Known *v = mem_alloc(sizeof *v + kw->num_buffers);
    if (!v) {
        image_unref(loaded);
        return err_set(ST_NOMEM, "out of memory: %zu bytes", sizeof *v + kw->num_buffers);
    }
    *v = (Known){.loaded = loaded, .flags = c->steps[k].flags};
    memcpy(v->layout, c->layouts + kw->first_flag, kw->num_buffers);
    v->next = atomic_load(&c->exec->known[k]);
    while (!atomic_compare_exchange_weak(&c->exec->known[k], &v->next, v)) {}
    c->steps[k].loaded = loaded;
    return ST_OK;
}

typedef struct {
    CompileRequest request;
    Loaded *loaded;
    uint32_t kernel;
    Status status;
    char message[ERR_MESSAGE_SIZE];
} Miss;

static Status guarded_get(void *ctx) {
    Miss *m = ctx;
    return variant_get(&m->request, &m->loaded);
}

/* Any thread: the error record of a worker is no use to the caller. */
static void miss_task(void *ctx, int64_t task) {
    Miss *m = (Miss *)ctx + task;
    m->status = guard_run(guarded_get, m);
    if (m->status) memcpy(m->message, err_message(), sizeof m->message);
}

static Status take_misses(const Call *c, Miss *list, uint32_t num, Status status) {
    for (uint32_t i = 0; i < num; i++) {
        if (list[i].loaded && !status) status = known_add(c, list[i].kernel, list[i].loaded);
        else image_unref(list[i].loaded);
        if (list[i].status && !status) status = err_set(list[i].status, "%s", list[i].message);
    }
    return status;
}

static Status find_misses(const Call *c, uint32_t num) {
    Exec *e = c->exec;
    Miss *list = buf_alloc(num * sizeof *list, "compile requests");
    uint32_t at = 0;
    if (!list) return ST_NOMEM;
    for (uint32_t k = 0; k < e->wiring.num_kernels; k++) {
        if (!c->steps[k].runs || c->steps[k].loaded) continue;
        list[at].request =
            request_of(e, k, c->steps[k].flags, c->layouts + e->wiring.kernels[k].first_flag);
        list[at].loaded = NULL;
        list[at].status = ST_OK;
        list[at++].kernel = k;
    }
    Status status = pool_run(num, miss_task, list);
    status = take_misses(c, list, num, status);
    buf_free(list);
    return status;
}

static Status find_code(Call *c) {
    Exec *e = c->exec;
    uint32_t num = 0, runs = 0;
    for (uint32_t k = 0; k < e->wiring.num_kernels; k++) {
        if (!c->steps[k].runs) continue;
        Status status = prepare_step(c, k);
        if (status) return status;
        c->steps[k].loaded = known_find(c, k);
        runs++;
        num += !c->steps[k].loaded;
    }
    atomic_fetch_add_explicit(&e->hits, runs - num, memory_order_relaxed);
    atomic_fetch_add_explicit(&e->misses, num, memory_order_relaxed);
    return num ? find_misses(c, num) : ST_OK;
}

/* ---- running ---- */

static Status run_staged(const Call *c, const KernelWires *kw, Job *job) {
    Map m = kw->kernel->map;
    Stage stage = {.num_ends = job->csr->num_cols,
                   .args = job->args,
                   .num_buffers = kw->num_buffers,
                   .sums = c->sums,
                   .num_sums = kw->num_staged,
                   .block_edges = plan_staged_edges(kw->kernel)};
    for (uint32_t k = 0; k < kw->num_staged; k++) {
        const Type *t = &c->exec->wiring.wires[kw->wire[kw->staged[k]]].type;
        c->sums[k] =
            (StagedSum){.buffer = kw->staged[k], .n = type_numel(t), .f64 = t->dtype == DT_f64};
    }
    Status status = graph_blocks(c->domain->graphs[map_relation(m)], map_is_dst(m), &stage.blocks);
    if (status) return status;
    job->stage = &stage;
    status = stage_open(&stage);
    if (!status) status = sched_run(job);
    stage_close(&stage);
    return status;
}

static Status run_code(Call *c, uint32_t k) {
    const KernelWires *kw = &c->exec->wiring.kernels[k];
    const Kernel *kernel = kw->kernel;
    const Step *step = &c->steps[k];
    KernelArgs args = {.buffers = c->buffers,
                       .fault = &c->fault,
                       .num_rows = kernel->rows == SET_ALL ? 1 : c->domain->set_size[kernel->rows]};
    if (step->csr) {
        args.row_ptr = step->csr->row_ptr;
        args.col = step->csr->col;
        args.edge = step->csr->edge;
        args.num_edges = step->csr->num_edges;
    }
    Job job = {.code = &step->loaded->code,
               .row_state_size = step->loaded->row_state_size,
               .slot_size = step->loaded->slot_size,
               .args = &args,
               .csr = step->csr,
               .num_phases = kernel->num_phases,
               .has_slots =
                   kernel->has_slots || step->loaded->slot_size || step->loaded->block_edges,
               .whole_rows = kernel->whole_rows,
               .block_edges = step->loaded->block_edges,
               .block_bytes = step->loaded->block_bytes,
               .num_stages = step->loaded->num_stages,
               .num_shares = step->loaded->num_shares,
               .width = kw->width};
    return kw->num_staged ? run_staged(c, kw, &job) : sched_run(&job);
}

static Status run_kernel(Call *c, uint32_t k) {
    const Wiring *w = &c->exec->wiring;
    const KernelWires *kw = &w->kernels[k];
    for (uint32_t i = 0; i < kw->num_buffers; i++) {
        const Wire *wire = &w->wires[kw->wire[i]];
        Slot *slot = &c->slots[kw->wire[i]];
        bool in_place = i < kw->num_inputs || (is_bound_output(c, wire) && !slot->staged);
        Status status = in_place ? ST_OK : slot_alloc(c, wire, slot);
        if (status) return status;
        c->buffers[i] = operand_buffer(&slot->array, wire->type.set != SET_ALL);
    }
    Status status = run_code(c, k);
    for (uint32_t i = 0; i < kw->num_buffers; i++) {
        Slot *slot = &c->slots[kw->wire[i]];
        if (slot->last_use == (int32_t)k && !slot->staged) slot_release(slot);
    }
    return status;
}

static Status copy_out(const Call *c) {
    const Wiring *w = &c->exec->wiring;
    Status status = ST_OK;
    for (uint32_t i = 0; !status && i < w->num_wires; i++)
        if (c->slots[i].staged)
            status = operand_copy(&c->outputs[w->wires[i].index], &c->slots[i].array);
    return status;
}

/* Code says that an index was out of range, the interpreter which. */
static Status name_fault(const Call *c) {
    Status status = interp_check(c->exec->plan->program, c->domain, c->inputs, c->outputs);
    return status ? status : err_set(ST_RANGE, "an index is out of range for its table");
}

static Status run_all(Call *c) {
    mark_needed(c);
    Status status = bind(c);
    if (!status) status = find_code(c);
    for (uint32_t k = 0; !status && k < c->exec->wiring.num_kernels; k++)
        if (c->steps[k].runs) status = run_kernel(c, k);
    if (!status && c->fault) status = name_fault(c);
    return status ? status : copy_out(c);
}

/* Carves the frame; returns its size where there is none yet. */
static size_t lay_frame(Call *c, char *frame) {
    const Wiring *w = &c->exec->wiring;
    size_t slots = w->num_wires * sizeof(Slot), steps = w->num_kernels * sizeof(Step);
    size_t buffers = c->exec->most_buffers * sizeof(Buffer), size = slots + steps + buffers;
    size_t sums = c->exec->most_staged * sizeof(StagedSum);
    if (frame) {
        memset(frame, 0, slots + steps);
        c->slots = (Slot *)frame;
        c->steps = (Step *)(frame + slots);
        c->buffers = (Buffer *)(frame + slots + steps);
        c->sums = (StagedSum *)(frame + size);
        c->layouts = (uint8_t *)frame + size + sums;
    }
    return size + sums + w->num_flags;
}

Status exec_run(Exec *e, const Domain *domain, const Array *inputs, const Array *outputs) {
    atomic_fetch_add_explicit(&e->calls, 1, memory_order_relaxed);
    if (e->interp) return interp_run(e->plan->program, domain, inputs, outputs);
    Call c = {.exec = e, .domain = domain, .inputs = inputs, .outputs = outputs};
    char *frame = buf_alloc(lay_frame(&c, NULL), "a call's frame");
    if (!frame) return ST_NOMEM;
    lay_frame(&c, frame);
    Status status = run_all(&c);
    for (uint32_t i = 0; i < e->wiring.num_wires; i++) slot_release(&c.slots[i]);
    for (uint32_t k = 0; k < e->wiring.num_kernels; k++) csr_free(&c.steps[k].row);
    buf_free(frame);
    if (status == ST_INTR) err_set(ST_INTR, "interrupted");
    return status;
}
