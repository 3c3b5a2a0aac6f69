/* Options -> types, a graph, arguments; then tiga.h's own functions, so that what is wrong is said as there. */
#include "execute.h"

#include "api/program.h"
#include "capture/names.h"
#include "ir/element.h"
#include "npy.h"
#include "opt/rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool execute_is_wanted(const Execution *x) {
    return x->csr || x->coo || x->num_bind || x->num_save || x->interp;
}

static bool has_role(const char *name, const char *role) {
    size_t n = strlen(role);
    return !strncmp(name, role, n) && name[n] == '.';
}

static int rows_of(const char *name) {
    return has_role(name, "src") || has_role(name, "dst") || has_role(name, "edge") ||
           has_role(name, "node");
}

/* "a=b" in two; NULL where there is no "=". */
static const char *split_at(Arena *a, const char *text, char separator, const char **name) {
    const char *at = strchr(text, separator);
    if (!at) return NULL;
    char *copy = arena_str(a, text);
    copy[at - text] = 0;
    *name = copy;
    return copy + (at - text) + 1;
}

/* ---- arrays ---- */

Status execute_load(Arena *a, Execution *x) {
    for (int k = 0; k < x->num_bind; k++) {
        tg_arg *arg = &x->bound[k];
        const char *path = split_at(a, x->bind[k], '=', &arg->name);
        if (!path) return err_set(ST_INVAL, "--bind=%s: expected NAME=FILE", x->bind[k]);
        Status st = npy_read(a, path, &arg->array);
        if (st) return st;
    }
    return ST_OK;
}

static const tg_arg *find_bound(const Execution *x, const char *name) {
    for (int k = 0; k < x->num_bind; k++)
        if (!strcmp(x->bound[k].name, name)) return &x->bound[k];
    return NULL;
}

/* ---- input types ---- */

static bool read_dtype(const char **p, Dtype *out) {
    static const char *const names[NUM_DTYPES] = {"bool", "i32", "i64", "f32",
                                                  "f64",  "f16", "bf16"};
    for (int d = 0; d < NUM_DTYPES; d++) {
        if (strncmp(*p, names[d], strlen(names[d])) != 0) continue;
        *p += strlen(names[d]);
        *out = (Dtype)d;
        return true;
    }
    return false;
}

/* "[2,3]", or nothing. */
static bool read_shape(const char **p, FormulaInput *in) {
    if (**p != '[') return true;
    do {
        char *end;
        ++*p;
        if (in->rank == MAX_RANK || **p < '0' || **p > '9') return false;
        in->dim[in->rank++] = strtoll(*p, &end, 10); /* saturates, and is refused as a type */
        *p = end;
    } while (**p == ',');
    return *(*p)++ == ']';
}

/* "src.x=f32[2,3]" */
static Status read_type(Arena *a, const char *text, FormulaInput *in) {
    *in = (FormulaInput){0};
    const char *p = split_at(a, text, '=', &in->name);
    if (p && read_dtype(&p, &in->dtype) && read_shape(&p, in) && !*p) return ST_OK;
    return err_set(ST_INVAL,
                   "--in=%s: expected NAME=DTYPE[EXTENTS]: f16, bf16, f32, f64, i32, i64 or bool, "
                   "without the row axis",
                   text);
}

static Status type_of_bound(const tg_arg *arg, FormulaInput *in) {
    const tg_array *x = &arg->array;
    int rows = rows_of(arg->name);
    if (x->rank < rows || x->rank - rows > MAX_RANK)
        return err_set(ST_SHAPE, "--bind=%s: rank %d, expected %d to %d", arg->name, x->rank, rows,
                       MAX_RANK + rows);
    *in = (FormulaInput){.name = arg->name, .dtype = (Dtype)x->dtype, .rank = x->rank - rows};
    for (int k = rows; k < x->rank; k++) in->dim[k - rows] = x->shape[k];
    return ST_OK;
}

/* --in names what the formula has and nothing that is bound. */
static Status check_in(const Execution *x, const FormulaInput *in, const char *const *names,
                       uint32_t n) {
    if (find_bound(x, in->name))
        return err_set(ST_NAME, "--in=%s: it is bound, which gives its type", in->name);
    for (uint32_t k = 0; k < n; k++)
        if (!strcmp(names[k], in->name)) return ST_OK;
    return err_set(ST_NAME, "--in=%s: the formula has no such input", in->name);
}

static Status input_types(Arena *a, const Execution *x, const char *const *names, uint32_t n,
                          FormulaInput *types) {
    for (uint32_t k = 0; k < n; k++) {
        const tg_arg *bound = find_bound(x, names[k]);
        types[k] = (FormulaInput){.name = names[k], .dtype = DT_f32};
        Status st = bound ? type_of_bound(bound, &types[k]) : ST_OK;
        if (st) return st;
    }
    for (int i = 0; i < x->num_in; i++) {
        FormulaInput in;
        Status st = read_type(a, x->in[i], &in);
        if (!st) st = check_in(x, &in, names, n);
        for (uint32_t k = 0; k < n && !st; k++)
            if (!strcmp(names[k], in.name)) types[k] = in;
        if (st) return st;
    }
    return ST_OK;
}

Status execute_formula(Arena *a, const Execution *x, const char *text, const char *const *results,
                       uint32_t num_results, Fn **out) {
    Formula formula;
    const char *const *names;
    uint32_t n;
    Status st = formula_parse(a, text, &formula);
    if (st) return st;
    formula_inputs(a, &formula, &names, &n);
    FormulaInput *types = ARENA_ARRAY(a, FormulaInput, n);
    st = input_types(a, x, names, n, types);
    return st ? st : formula_build(a, &formula, types, n, results, num_results, out);
}

/* ---- the graph ---- */

/* Rows of the first bound field of a role; -1 where there is none. */
static int64_t bound_rows(const Execution *x, const char *role) {
    for (int k = 0; k < x->num_bind; k++)
        if ((has_role(x->bound[k].name, role) || has_role(x->bound[k].name, "node")) &&
            x->bound[k].array.rank)
            return x->bound[k].array.shape[0];
    return -1;
}

static Status read_pair(Arena *a, const char *option, const char *text, tg_array *first,
                        tg_array *second) {
    const char *path, *other = split_at(a, text, ',', &path);
    if (!other) return err_set(ST_INVAL, "--%s=%s: expected two files", option, text);
    Status st = npy_read(a, path, first);
    return st ? st : npy_read(a, other, second);
}

/* Counts that no array gives are those of the largest index. */
static Status make_graph(Arena *a, const Execution *x, const Fn *f, tg_graph **out) {
    static const int64_t none[1];
    bool homogeneous = f->relations.len && f->relations.data[0].src == f->relations.data[0].dst;
    tg_array p, q;
    int64_t num_src = bound_rows(x, "src"), num_dst = bound_rows(x, "dst");
    if (!x->csr && !x->coo) {
        *out = tg_graph_csr(0, 0, none, NULL);
        return *out ? ST_OK : err_status();
    }
    Status st = read_pair(a, x->csr ? "graph" : "coo", x->csr ? x->csr : x->coo, &p, &q);
    if (st) return st;
    if (x->csr && homogeneous && p.rank == 1 && p.shape[0] > 0) num_src = p.shape[0] - 1;
    *out = x->csr ? tg_graph_from_csr(p, q, num_src, false)
                  : tg_graph_from_coo(p, q, num_src, num_dst, false);
    return *out ? ST_OK : err_status();
}

static Status need_graph(const Execution *x, const tg_program *p) {
    tg_end end;
    for (size_t k = 0; !x->csr && !x->coo && k < tg_program_num_inputs(p); k++)
        if (!tg_program_input(p, k, &end) && end.role != TG_ON_ALL)
            return err_set(ST_INVAL,
                           "'%s' has rows: --graph=ROW_PTR,COL_IDX or --coo=SRC,DST says of what",
                           end.name);
    return ST_OK;
}

/* ---- results ---- */

typedef struct {
    Arena *arena;
    const Execution *x;
    tg_program *program;
    tg_graph *graph;
    VEC(tg_arg) args; /* bound inputs, then results */
} Run;

static const char *save_path(const Run *r, const char *name) {
    for (int k = 0; k < r->x->num_save; k++) {
        const char *saved, *path = split_at(r->arena, r->x->save[k], '=', &saved);
        if (path && !strcmp(saved, name)) return path;
    }
    return NULL;
}

static Status check_saves(const Run *r) {
    for (int k = 0; k < r->x->num_save; k++) {
        const char *name, *path = split_at(r->arena, r->x->save[k], '=', &name);
        if (!path) return err_set(ST_INVAL, "--save=%s: expected NAME=FILE", r->x->save[k]);
        if (!ir_find_result(r->program->fn, name))
            return err_set(ST_NAME, "--save=%s: the program has no such result", name);
    }
    return ST_OK;
}

static Status add_result(Run *r, const tg_end *end) {
    int64_t shape[TG_MAX_RANK], count = 1;
    int rank = 0;
    if (end->role != TG_ON_ALL)
        shape[rank++] = end->role == TG_ON_EDGES ? tg_graph_num_edges(r->graph)
                        : end->role == TG_ON_SRC ? tg_graph_num_src(r->graph)
                                                 : tg_graph_num_dst(r->graph);
    for (int k = 0; k < end->rank; k++) shape[rank++] = end->shape[k];
    for (int k = 0; k < rank; k++)
        if (shape[k] < 0 || __builtin_mul_overflow(count, shape[k], &count) ||
            count > INT64_MAX / 16)
            return err_set(ST_NOMEM, "result '%s' is too large", end->name);
    void *data = arena_alloc(r->arena, (size_t)(count * dtype_size((Dtype)end->dtype)) + 1);
    *vec_push(r->arena, &r->args) = (tg_arg){end->name, tg_dense(data, end->dtype, rank, shape)};
    return ST_OK;
}

static void print_element(const tg_array *x, int64_t k) {
    switch (x->dtype) {
    case TG_BOOL: printf(" %s", ((const bool *)x->data)[k] ? "true" : "false"); return;
    case TG_INT32: printf(" %d", ((const int32_t *)x->data)[k]); return;
    case TG_INT64: printf(" %lld", (long long)((const int64_t *)x->data)[k]); return;
    case TG_FLOAT32: printf(" %.9g", (double)((const float *)x->data)[k]); return;
    case TG_FLOAT64: printf(" %.17g", ((const double *)x->data)[k]); return;
    case TG_FLOAT16:
    case TG_BFLOAT16: {
        const char *p = (const char *)x->data + 2 * k;
        printf(" %.5g", element_get_float((Dtype)x->dtype, p));
        return;
    }
    }
}

/* "out: float32 (3, 2)" and a line a row; the first thousand elements. */
static void print_result(const tg_arg *arg) {
    enum { MOST = 1000 };
    const tg_array *x = &arg->array;
    int64_t count = 1, row = x->rank ? x->shape[x->rank - 1] : 1;
    printf("%s: %s (", arg->name, dtype_user_name((Dtype)x->dtype));
    for (int k = 0; k < x->rank; k++) count *= x->shape[k];
    for (int k = 0; k < x->rank; k++) printf(k ? ", %lld" : "%lld", (long long)x->shape[k]);
    printf(x->rank == 1 ? ",)\n" : ")\n");
    for (int64_t k = 0; k < count && k < MOST; k++) {
        print_element(x, k);
        if (x->rank < 2 ? k + 1 == count : (k + 1) % row == 0) printf("\n");
    }
    if (count > MOST) printf("...\n");
}

static Status give_results(const Run *r) {
    Status st = ST_OK;
    for (uint32_t k = (uint32_t)r->x->num_bind; k < r->args.len && !st; k++) {
        const tg_arg *arg = &r->args.data[k];
        if (r->x->num_save) st = npy_write(save_path(r, arg->name), &arg->array);
        else print_result(arg);
    }
    return st;
}

/* ---- the run ---- */

static Status run_bound(Run *r) {
    tg_end end;
    Status st = need_graph(r->x, r->program);
    if (!st) st = check_saves(r);
    if (!st) st = make_graph(r->arena, r->x, r->program->fn, &r->graph);
    for (int k = 0; k < r->x->num_bind; k++) *vec_push(r->arena, &r->args) = r->x->bound[k];
    for (size_t k = 0; !st && k < tg_program_num_results(r->program); k++) {
        tg_program_result(r->program, k, &end);
        if (!r->x->num_save || save_path(r, end.name)) st = add_result(r, &end);
    }
    if (st) return st;
    st = (Status)(r->x->interp ? tg_reference : tg_run)(r->program, r->graph, r->args.data,
                                                        r->args.len);
    return st ? st : give_results(r);
}

Status execute_run(Arena *a, const Execution *x, const Fn *f) {
    Run r = {.arena = a, .x = x, .program = program_of(rewrite_copy(arena_new(), f))};
    Status st = run_bound(&r);
    tg_graph_free(r.graph);
    tg_program_free(r.program);
    return st;
}
