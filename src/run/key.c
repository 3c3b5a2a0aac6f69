/* Writes a kernel, or a program, as a text of variable-length integers. Sets and relations are numbered
 * as they are met, values by their order among the live ones. */
#include "run/key.h"

#include "base/hash.h"
#include "ir/type.h"
#include "run/target.h"
#include "tiga/tiga.h"

#include <string.h>

typedef struct {
    Arena *arena;
    const Fn *f;
    VEC(uint8_t) out;
    uint32_t *set_no, *relation_no, *val_no; /* 0: not met */
    uint32_t num_sets, num_relations;
} Writer;

static void put(Writer *w, uint64_t value) {
    for (; value >= 0x80; value >>= 7) *vec_push(w->arena, &w->out) = (uint8_t)(value | 0x80);
    *vec_push(w->arena, &w->out) = (uint8_t)value;
}

static void put_signed(Writer *w, int64_t value) {
    put(w, ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

static void put_text(Writer *w, const char *s) {
    put(w, strlen(s));
    for (; *s; s++) *vec_push(w->arena, &w->out) = (uint8_t)*s;
}

static void put_set(Writer *w, Set s) {
    if (s != SET_ALL && !w->set_no[s]) w->set_no[s] = ++w->num_sets;
    put(w, w->set_no[s]);
}

static void put_relation(Writer *w, int r) {
    bool met = w->relation_no[r];
    if (!met) w->relation_no[r] = ++w->num_relations;
    put(w, w->relation_no[r]);
    if (met) return;
    const Relation *relation = &w->f->relations.data[r];
    put_set(w, relation->src);
    put_set(w, relation->dst);
    put_set(w, relation->edges);
}

static void put_map(Writer *w, Map m) {
    enum { NO_MAP, TO_ALL, TO_SRC, TO_DST };
    if (m == MAP_NONE) {
        put(w, NO_MAP);
    } else if (map_is_all(m)) {
        put(w, TO_ALL);
        put_set(w, map_from(w->f, m));
    } else {
        put(w, map_is_dst(m) ? TO_DST : TO_SRC);
        put_relation(w, map_relation(m));
    }
}

static void put_type(Writer *w, const Type *t) {
    put(w, t->dtype);
    put(w, t->rank);
    put_set(w, t->set);
    for (int k = 0; k < t->rank; k++) {
        bool is_set = dim_is_set(t->dim[k]);
        put(w, is_set);
        if (is_set) put_set(w, dim_set(t->dim[k]));
        else put(w, (uint64_t)t->dim[k]);
    }
}

static uint64_t input_index(const Fn *f, Val v) {
    for (uint32_t k = 0; k < f->inputs.len; k++)
        if (f->inputs.data[k].val == v) return k;
    TIGA_UNREACHABLE("an input that its function does not list");
}

static void put_attr(Writer *w, Val v, const Node *n) {
    if (op_info[n->op].class == CLASS_along) put_map(w, n->attr.map);
    if (n->op == OP_input) put(w, input_index(w->f, v));
    put(w, n->attr.index);
    put(w, n->attr.bits);
    put(w, n->attr.num_ints);
    for (uint32_t k = 0; k < n->attr.num_ints; k++) put_signed(w, n->attr.ints[k]);
}

/* A region on scalars: no sets, no maps. */
static void put_region(Writer *w, const Fn *f) {
    put(w, ir_count(f));
    for (Val v = 1; v < ir_count(f); v++) {
        const Node *n = ir_node(f, v);
        put(w, n->op);
        put(w, n->num_args);
        for (uint32_t k = 0; k < n->num_args; k++) put(w, n->args[k]);
        put(w, n->types[0].dtype);
        put(w, n->attr.bits);
    }
    put(w, f->inputs.len);
    for (uint32_t k = 0; k < f->inputs.len; k++) put(w, f->inputs.data[k].val);
    put(w, f->results.len);
    for (uint32_t k = 0; k < f->results.len; k++) put(w, f->results.data[k].val);
}

/* place NULL: not planned. */
static void put_node(Writer *w, Val v, const Place *place) {
    const Node *n = ir_node(w->f, v);
    TIGA_ASSERT(n->op != OP_traverse && n->op != OP_launch);
    put(w, n->op);
    put(w, n->num_args);
    for (uint32_t k = 0; k < n->num_args; k++) put(w, w->val_no[n->args[k]]);
    put(w, n->num_results);
    for (uint32_t k = 0; k < n->num_results; k++) put_type(w, &n->types[k]);
    put_attr(w, v, n);
    if (n->op == OP_row_scan) put_region(w, n->attr.body);
    if (place) put(w, place->level), put(w, place->phase);
}

/* places NULL: not planned. */
static void put_body(Writer *w, const Place *places) {
    const uint8_t *live = ir_live(w->arena, w->f);
    uint32_t met = 0;
    for (uint32_t i = 0; i < w->f->inputs.len; i++)
        put_type(w, ir_type(w->f, w->f->inputs.data[i].val));
    for (Val v = 1; v < ir_count(w->f); v++) {
        if (!live[v]) continue;
        w->val_no[v] = ++met;
        put_node(w, v, places ? &places[v] : NULL);
    }
    for (uint32_t i = 0; i < w->f->results.len; i++) put(w, w->val_no[w->f->results.data[i].val]);
}

static void put_request(Writer *w, const CompileRequest *r) {
    const Kernel *k = r->kernel;
    uint32_t num_buffers = w->f->inputs.len + w->f->results.len;
    put(w, w->f->inputs.len);
    put(w, w->f->results.len);
    put_set(w, k->rows);
    put_map(w, k->map);
    put(w, k->num_phases);
    put(w, k->has_slots);
    put(w, k->schedule);
    for (uint32_t i = 0; i < num_buffers; i++) put(w, r->layout[i]);
    put(w, (uint64_t)r->wide | (uint64_t)r->has_edge << 1 | (uint64_t)r->prefetch << 2 |
               (uint64_t)r->fast_math << 3 | (uint64_t)r->split << 4);
}

static Writer writer_of(Arena *a, const Fn *f) {
    return (Writer){.arena = a,
                    .f = f,
                    .set_no = ARENA_ARRAY(a, uint32_t, f->sets.len + 1),
                    .relation_no = ARENA_ARRAY(a, uint32_t, f->relations.len + 1),
                    .val_no = ARENA_ARRAY(a, uint32_t, ir_count(f) + 1)};
}

static Key finish(const Writer *w) {
    return (Key){.bytes = w->out.data,
                 .size = w->out.len,
                 .hash = hash_bytes(w->out.data, w->out.len, 0),
                 .second = hash_bytes(w->out.data, w->out.len, 0x74696761)};
}

static void put_names(Writer *w, const Binding *list, uint32_t n) {
    put(w, n);
    for (uint32_t k = 0; k < n; k++) put_text(w, list[k].name);
}

Key key_of_program(Arena *a, const Fn *f) {
    Writer w = writer_of(a, f);
    for (uint32_t r = 0; r < f->relations.len; r++) put_relation(&w, (int)r);
    put_names(&w, f->inputs.data, f->inputs.len);
    put_names(&w, f->results.data, f->results.len);
    put_body(&w, NULL);
    return finish(&w);
}

Key key_of(Arena *a, const CompileRequest *request) {
    Writer w = writer_of(a, request->kernel->body);
    put_text(&w, "tiga " TG_VERSION);
    put(&w, CODEGEN_VERSION);
    put_text(&w, target_host_key());
    put_text(&w, request->cpu);
    put_text(&w, request->features);
    put_request(&w, request);
    put_body(&w, request->kernel->place);
    return finish(&w);
}
