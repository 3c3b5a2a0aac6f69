/* Named arrays, and the interpreter on them. */
#include "random.h"

#include "base/hash.h"
#include "interp/interp.h"

#include <string.h>

Env env_copy(const Env *e) {
    Env copy = *e;
    copy.all.cap = copy.all.len; /* the next push moves it away from the original */
    return copy;
}

const Array *env_find(const Env *e, const char *name) {
    for (uint32_t k = 0; k < e->all.len; k++)
        if (!strcmp(e->all.data[k].name, name)) return &e->all.data[k].array;
    return NULL;
}

void env_put(Env *e, const char *name, Array a) {
    *vec_push(e->arena, &e->all) = (Named){arena_str(e->arena, name), a};
}

Array env_new(Env *e, const char *name, const Type *t) {
    Array a = array_of(t, &e->domain);
    int64_t bytes = array_numel(&a) * dtype_size((Dtype)a.dtype);
    a.data = arena_alloc(e->arena, (size_t)bytes + 1);
    env_put(e, name, a);
    return a;
}

void env_fill_inputs(Env *e, const Fn *f, const Case *c, Guarded **all, bool at_end) {
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        const Binding *b = &f->inputs.data[k];
        if (env_find(e, b->name)) continue;
        Array a = array_of(ir_type(f, b->val), &e->domain);
        array_place(&a, all, hash_str(b->name, c->seed), at_end, c->strided, true);
        array_fill(&a, b->name, c);
        env_put(e, b->name, a);
    }
}

Status env_run(Env *e, const Fn *f) {
    Array *in = ARENA_ARRAY(e->arena, Array, f->inputs.len + 1);
    Array *out = ARENA_ARRAY(e->arena, Array, f->results.len + 1);
    for (uint32_t k = 0; k < f->inputs.len; k++) {
        const Array *a = env_find(e, f->inputs.data[k].name);
        if (!a) return err_set(ST_BUG, "nothing is called '%s'", f->inputs.data[k].name);
        in[k] = *a;
    }
    for (uint32_t k = 0; k < f->results.len; k++)
        out[k] = env_new(e, f->results.data[k].name, ir_type(f, f->results.data[k].val));
    return interp_run(f, &e->domain, in, out);
}
