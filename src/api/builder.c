/* The builder of tiga_ops.h: ir/build.h and reducers behind handles. */
#include "capture/reducers.h"
#include "api/program.h"
#include "vocab/build.h"
#include "run/key.h"
#include "text/text.h"
#include "tiga/tiga_ops.h"

#include <stdlib.h>
#include <string.h>

struct tg_builder {
    Builder *b;
};

struct tg_reducer {
    Reducer *r;
};

/* ---- a builder ---- */

typedef struct {
    bool homogeneous;
    tg_builder *out;
} Opening;

static Status open_body(void *ctx) {
    Opening *q = ctx;
    Arena *a = arena_new();
    q->out = ARENA_NEW(a, tg_builder);
    q->out->b = build_new(a, "main", q->homogeneous);
    return ST_OK;
}

tg_builder *tg_builder_new(bool homogeneous) {
    Opening q = {homogeneous, NULL};
    return door_run(open_body, &q) ? NULL : q.out;
}

void tg_builder_free(tg_builder *b) {
    if (b) ir_free(b->b->f);
}

typedef struct {
    const Builder *b;
    tg_program *out;
} Closing;

static Status program_body(void *ctx) {
    Closing *q = ctx;
    q->out = program_of(build_program(q->b, arena_new()));
    return ST_OK;
}

tg_program *tg_builder_program(tg_builder *b) {
    if (!b) return door_null("builder"), NULL;
    Closing q = {b->b, NULL};
    if (b->b->f->status && !err_status())
        err_set(b->b->f->status, "an earlier call failed for this builder");
    if (b->b->f->status) return NULL;
    if (!b->b->f->results.len)
        return err_set(ST_INVAL, "the program has no result (tg_out marks one)"), NULL;
    return door_run(program_body, &q) ? NULL : q.out;
}

typedef struct {
    const Builder *b;
    void *out;
    size_t size;
} Keying;

static Status key_body(void *ctx) {
    Keying *q = ctx;
    Arena *a = arena_new();
    Key key = key_of_program(a, q->b->f);
    q->size = key.size;
    q->out = malloc(key.size);
    if (q->out) memcpy(q->out, key.bytes, key.size);
    arena_free(a);
    return q->out ? ST_OK : err_set(ST_NOMEM, "out of memory: a program's key");
}

void *tg_builder_key(tg_builder *b, size_t *size) {
    if (!b) return door_null("builder"), NULL;
    if (!size) return door_missing("size"), NULL;
    Keying q = {b->b, NULL, 0};
    if (b->b->f->status || door_run(key_body, &q)) return NULL;
    *size = q.size;
    return q.out;
}

/* ---- values: one body for every way to make one ---- */

typedef struct {
    Builder *b;
    Val (*make)(void *ctx);
    const char *missing; /* the argument that is NULL and must not be */
    const char *name;
    Dtype dtype;
    int rank;
    const int64_t *ints;
    size_t num_ints;
    const Val *args;
    size_t num_args;
    double number;
    int64_t integer;
    bool flag;
    Map map;
    const Reducer *reducer;
    Val out;
} Make;

static Status make_body(void *ctx) {
    Make *q = ctx;
    q->out = q->make(q);
    return q->b->f->status;
}

/* What is missing failed elsewhere: the builder fails with it, and its message stays. */
static tg_val fail_with(tg_builder *b, const char *what) {
    if (b && !b->b->f->status) b->b->f->status = (Status)door_null(what);
    return 0;
}

/* A failed allocation makes the builder fail for good, like any fault. */
static tg_val make(tg_builder *b, Make q) {
    if (!b) return door_null("builder"), 0;
    q.b = b->b;
    if (q.b->f->status) return 0;
    if (!q.missing && q.num_args && !q.args) q.missing = "args";
    if (q.missing) return build_fail(q.b, ST_INVAL, "%s is NULL", q.missing);
    for (size_t k = 0; k < q.num_args; k++) {
        if (!q.args[k]) return fail_with(b, "a value");
        if (q.args[k] >= ir_count(q.b->f))
            return build_fail(q.b, ST_INVAL, "operand %zu: %u is no value of this builder", k,
                              q.args[k]);
    }
    tg_status st = door_run(make_body, &q);
    if (st) q.b->f->status = (Status)st;
    return st ? 0 : q.out;
}

static Val make_input(void *ctx) {
    Make *q = ctx;
    if ((int)q->dtype < 0 || q->dtype >= NUM_DTYPES)
        return build_fail(q->b, ST_TYPE, "input '%s': no such dtype", q->name);
    return build_input(q->b, q->name, q->dtype, q->rank, q->ints);
}

tg_val tg_in(tg_builder *b, const char *name, tg_dtype dtype, int rank, const int64_t *shape) {
    return make(b, (Make){.make = make_input,
                          .missing = !name                ? "name"
                                     : rank > 0 && !shape ? "shape"
                                                          : NULL,
                          .name = name,
                          .dtype = (Dtype)dtype,
                          .rank = rank,
                          .ints = shape});
}

static Val make_scalar(void *ctx) {
    Make *q = ctx;
    return build_scalar_input(q->b, q->name, q->flag);
}

tg_val tg_scalar_in(tg_builder *b, const char *name, bool integer) {
    return make(b, (Make){.make = make_scalar,
                          .missing = name ? NULL : "name",
                          .name = name,
                          .flag = integer});
}

static Val make_number(void *ctx) { return build_number(((Make *)ctx)->b, ((Make *)ctx)->number); }

tg_val tg_number(tg_builder *b, double value) {
    return make(b, (Make){.make = make_number, .number = value});
}

static Val make_integer(void *ctx) {
    return build_integer(((Make *)ctx)->b, ((Make *)ctx)->integer);
}

tg_val tg_integer(tg_builder *b, int64_t value) {
    return make(b, (Make){.make = make_integer, .integer = value});
}

static Val make_truth(void *ctx) { return build_truth(((Make *)ctx)->b, ((Make *)ctx)->flag); }

tg_val tg_truth(tg_builder *b, bool value) {
    return make(b, (Make){.make = make_truth, .flag = value});
}

static Val make_at(void *ctx) {
    Make *q = ctx;
    return build_at(q->b, q->args[0], q->flag ? q->b->to_dst : q->b->to_src);
}

tg_val tg_at_src(tg_builder *b, tg_val v) {
    return make(b, (Make){.make = make_at, .args = &v, .num_args = 1});
}

tg_val tg_at_dst(tg_builder *b, tg_val v) {
    return make(b, (Make){.make = make_at, .args = &v, .num_args = 1, .flag = true});
}

static Val make_apply(void *ctx) {
    Make *q = ctx;
    return build_call(q->b, q->name, q->args, (uint32_t)q->num_args, q->ints,
                      (uint32_t)q->num_ints);
}

tg_val tg_apply(tg_builder *b, const char *name, const tg_val *args, size_t num_args,
                const int64_t *ints, size_t num_ints) {
    return make(b, (Make){.make = make_apply,
                          .missing = !name               ? "name"
                                     : num_ints && !ints ? "ints"
                                                         : NULL,
                          .name = name,
                          .args = args,
                          .num_args = num_args,
                          .ints = ints,
                          .num_ints = num_ints});
}

const char *tg_apply_name(size_t k) { return build_call_name(k); }

static Val make_out(void *ctx) {
    Make *q = ctx;
    Val v = build_strong(q->b, q->args[0]);
    if (v && ir_find_result(q->b->f, q->name))
        return build_fail(q->b, ST_NAME, "result '%s' is there already", q->name);
    ir_add_result(q->b->f, q->name, v);
    return v;
}

tg_status tg_out(tg_builder *b, const char *name, tg_val v) {
    return make(b, (Make){.make = make_out,
                          .missing = name ? NULL : "name",
                          .name = name,
                          .args = &v,
                          .num_args = 1})
               ? TG_OK
               : tg_errcode();
}

tg_status tg_val_type(tg_builder *b, tg_val v, tg_end *end, bool *weak) {
    if (!b) return door_null("builder");
    if (!end) return door_missing("end");
    if (!v || v >= ir_count(b->b->f))
        return (tg_status)(err_status() ? err_status() : err_set(ST_INVAL, "no value"));
    const Type *t = ir_type(b->b->f, v);
    *end = (tg_end){
        .role = program_role(b->b->f, t->set), .dtype = (tg_dtype)t->dtype, .rank = t->rank};
    memcpy(end->shape, t->dim, sizeof t->dim);
    if (weak) *weak = build_is_weak(b->b, v);
    return TG_OK;
}

/* ---- reducers ---- */

typedef struct {
    const char *name;
    bool has_empty;
    double empty;
    int flags;
    const Fn *regions[4]; /* identity NULL: a built-in */
    tg_reducer *out;
} Capture;

static Status capture_body(void *ctx) {
    Capture *q = ctx;
    Arena *a = arena_new();
    tg_reducer *r = q->out = ARENA_NEW(a, tg_reducer);
    Status st = q->regions[0]
                    ? reducer_new(a, q->name, q->flags, q->regions[0], q->regions[1], q->regions[2],
                                  q->regions[3], &r->r)
                    : reducer_builtin(a, q->name, q->flags, q->has_empty, q->empty, &r->r);
    if (st) arena_free(a);
    return st;
}

static tg_reducer *capture(Capture q) { return door_run(capture_body, &q) ? NULL : q.out; }

tg_reducer *tg_reducer_builtin(const char *name, int flags, bool has_empty, double empty) {
    if (!name) return door_missing("name"), NULL;
    return capture((Capture){.name = name, .flags = flags, .has_empty = has_empty, .empty = empty});
}

tg_reducer *tg_reducer_new(const char *name, int flags, tg_builder *identity, tg_builder *lift,
                           tg_builder *combine, tg_builder *finalize) {
    if (!name) return door_missing("name"), NULL;
    if (!identity || !lift || !combine || !finalize)
        return door_null("a builder of the reducer"), NULL;
    return capture(
        (Capture){.name = name,
                  .flags = flags,
                  .regions = {identity->b->f, lift->b->f, combine->b->f, finalize->b->f}});
}

void tg_reducer_free(tg_reducer *r) {
    if (r) arena_free(r->r->arena);
}

size_t tg_reducer_num_messages(const tg_reducer *r) { return r ? r->r->num_messages : 0; }

const char *tg_reducer_proof(const tg_reducer *r) { return r ? form_name(r->r->form) : ""; }

const char *tg_reducer_doubt(const tg_reducer *r) { return r && r->r->doubt ? r->r->doubt : ""; }

static Val make_reduce(void *ctx) {
    Make *q = ctx;
    return reducer_lower(q->b, q->reducer, q->args, (uint32_t)q->num_args);
}

tg_val tg_reduce(tg_builder *b, const tg_reducer *r, const tg_val *messages, size_t num_messages) {
    if (!r) return fail_with(b, "reducer");
    return make(
        b,
        (Make){.make = make_reduce, .reducer = r->r, .args = messages, .num_args = num_messages});
}

typedef struct {
    const Reducer *r;
    const char *symbol;
    const Dtype *dtypes;
    uint32_t n;
    char *out;
} Printing;

static Status print_body(void *ctx) {
    Printing *q = ctx;
    Regions g;
    Status st = reducer_typed(q->r, q->dtypes, q->n, &g);
    if (st) return st;
    Arena *a = arena_new();
    TextAttr proof = {"proof", form_name(q->r->form)};
    TextReducer text = {.name = q->symbol,
                        .attrs = &proof,
                        .num_attrs = 1,
                        .associative = q->r->flags & REDUCER_associative,
                        .commutative = q->r->flags & REDUCER_commutative,
                        .deterministic = q->r->flags & REDUCER_deterministic,
                        .region = {g.identity, g.lift, g.combine, g.finalize}};
    Module module = {0};
    *vec_push(a, &module.reducers) = text;
    q->out = door_text(text_print_module(a, &module));
    Fn *all[] = {g.identity, g.lift, g.combine, g.finalize};
    for (int k = 0; k < 4; k++) ir_free(all[k]);
    arena_free(a);
    return q->out ? ST_OK : ST_NOMEM;
}

char *tg_reducer_ir(const tg_reducer *r, const char *symbol, const tg_dtype *dtypes,
                    size_t num_dtypes) {
    Dtype own[REDUCER_MAX_MESSAGES];
    if (!r) return door_null("reducer"), NULL;
    if (!symbol || (num_dtypes && !dtypes)) return door_missing(symbol ? "dtypes" : "symbol"), NULL;
    if (num_dtypes > REDUCER_MAX_MESSAGES)
        return err_set(ST_TYPE, "%zu message dtypes, at most %d", num_dtypes, REDUCER_MAX_MESSAGES),
               NULL;
    for (size_t k = 0; k < num_dtypes; k++) {
        if ((int)dtypes[k] < 0 || (int)dtypes[k] >= NUM_DTYPES)
            return err_set(ST_TYPE, "message %zu: no such dtype", k), NULL;
        own[k] = (Dtype)dtypes[k];
    }
    Printing q = {r->r, symbol, own, (uint32_t)num_dtypes, NULL};
    return door_run(print_body, &q) ? NULL : q.out;
}
