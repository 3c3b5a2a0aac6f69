/* Graphs: construction from index arrays, counts, and the edges back. */
#include "module.h"

PyObject *graph_wrap(State *state, tg_graph *takes) {
    if (!takes || PyErr_Occurred()) {
        tg_graph_free(takes);
        return raise_status(state, tg_errcode(), PyExc_ValueError);
    }
    GraphObject *self = PyObject_New(GraphObject, state->graph_type);
    if (self) self->handle = takes;
    else tg_graph_free(takes);
    return (PyObject *)self;
}

static tg_graph *handle_of(PyObject *self) { return ((GraphObject *)self)->handle; }

static void graph_dealloc(PyObject *self) {
    tg_graph_free(handle_of(self));
    handle_free(self);
}

/* ---- construction ---- */

typedef tg_graph *(*Make)(tg_array, tg_array, int64_t, int64_t, bool);

static PyObject *make(State *state, PyObject *const *arrays, const char *const *names,
                      int64_t num_src, int64_t num_dst, bool full, Make build) {
    Operand a, b = {0};
    if (!operand_get(state, arrays[0], names[0], &a)) return NULL;
    if (arrays[1] && !operand_get(state, arrays[1], names[1], &b)) {
        operand_release(&a);
        return NULL;
    }
    Unlocked u;
    unlock(&u);
    tg_graph *g = build(a.array, b.array, num_src, num_dst, full);
    relock(&u);
    operand_release(&a);
    operand_release(&b);
    return graph_wrap(state, g);
}

static tg_graph *build_csr(tg_array row_ptr, tg_array col_idx, int64_t num_src, int64_t unused,
                           bool full) {
    (void)unused;
    return tg_graph_from_csr(row_ptr, col_idx, num_src, full);
}

static tg_graph *build_pair(tg_array pair, tg_array unused, int64_t num_src, int64_t num_dst,
                            bool full) {
    (void)unused;
    return tg_graph_from_edge_index(pair, num_src, num_dst, full);
}

static PyObject *from_csr(PyObject *module, PyObject *args) {
    PyObject *arrays[2];
    long long num_src;
    int full;
    if (!PyArg_ParseTuple(args, "OOLp", &arrays[0], &arrays[1], &num_src, &full)) return NULL;
    return make(state_of_module(module), arrays, (const char *[]){"row_ptr", "col_idx"}, num_src,
                -1, full, build_csr);
}

static PyObject *from_coo(PyObject *module, PyObject *args) {
    PyObject *arrays[2];
    long long num_src, num_dst;
    int full;
    if (!PyArg_ParseTuple(args, "OOLLp", &arrays[0], &arrays[1], &num_src, &num_dst, &full))
        return NULL;
    return make(state_of_module(module), arrays, (const char *[]){"src", "dst"}, num_src, num_dst,
                full, tg_graph_from_coo);
}

static PyObject *from_edge_index(PyObject *module, PyObject *args) {
    PyObject *arrays[2] = {0};
    long long num_src, num_dst;
    int full;
    if (!PyArg_ParseTuple(args, "OLLp", &arrays[0], &num_src, &num_dst, &full)) return NULL;
    return make(state_of_module(module), arrays, (const char *[]){"edge_index", ""}, num_src,
                num_dst, full, build_pair);
}

static PyObject *regular(PyObject *module, PyObject *args) {
    long long num_nodes, degree;
    if (!PyArg_ParseTuple(args, "LL", &num_nodes, &degree)) return NULL;
    Unlocked u;
    unlock(&u);
    tg_graph *g = tg_graph_regular(num_nodes, degree);
    relock(&u);
    return graph_wrap(state_of_module(module), g);
}

/* Handles of a sequence of graphs, which keeps them alive; PyMem_Free them. */
static const tg_graph **handles_of(State *state, PyObject *sequence, Py_ssize_t *n) {
    *n = PyTuple_Size(sequence);
    const tg_graph **all = *n < 0 ? NULL : PyMem_Calloc((size_t)*n + 1, sizeof *all);
    if (!all) return *n < 0 ? NULL : (const tg_graph **)PyErr_NoMemory();
    for (Py_ssize_t k = 0; k < *n; k++) {
        PyObject *graph = PyTuple_GetItem(sequence, k);
        if (PyObject_TypeCheck(graph, state->graph_type)) {
            all[k] = handle_of(graph);
            continue;
        }
        PyErr_Format(PyExc_TypeError, "graphs[%zd] is not a graph", k);
        PyMem_Free(all);
        return NULL;
    }
    return all;
}

static PyObject *cat(PyObject *module, PyObject *graphs) {
    State *state = state_of_module(module);
    Py_ssize_t n;
    const tg_graph **all = handles_of(state, graphs, &n);
    if (!all) return NULL;
    Unlocked u;
    unlock(&u);
    tg_graph *g = tg_graph_cat(all, (size_t)n);
    relock(&u);
    PyMem_Free(all);
    return graph_wrap(state, g);
}

PyMethodDef graph_functions[] = {
    {"graph_from_csr", from_csr, METH_VARARGS, "(row_ptr, col_idx, num_src, full) -> Graph"},
    {"graph_from_coo", from_coo, METH_VARARGS, "(src, dst, num_src, num_dst, full) -> Graph"},
    {"graph_from_edge_index", from_edge_index, METH_VARARGS,
     "(edge_index, num_src, num_dst, full) -> Graph"},
    {"graph_regular", regular, METH_VARARGS, "(num_nodes, degree) -> Graph"},
    {"graph_cat", cat, METH_O, "(tuple of graphs) -> Graph, block-diagonal"},
    {NULL, NULL, 0, NULL},
};

/* ---- methods ---- */

static PyObject *derived(PyObject *self, tg_graph *(*derive)(const tg_graph *)) {
    Unlocked u;
    unlock(&u);
    tg_graph *g = derive(handle_of(self));
    relock(&u);
    return graph_wrap(state_of_self(self), g);
}

static tg_graph *sorted_alone(const tg_graph *g) { return tg_graph_sorted(g, NULL); }

static PyObject *transpose(PyObject *self, PyObject *unused) {
    (void)unused;
    return derived(self, tg_graph_transpose);
}

static PyObject *sorted(PyObject *self, PyObject *unused) {
    (void)unused;
    return derived(self, sorted_alone);
}

static PyObject *add_self_loops(PyObject *self, PyObject *unused) {
    (void)unused;
    return derived(self, tg_graph_add_self_loops);
}

static PyObject *counts(PyObject *self, PyObject *unused) {
    (void)unused;
    const tg_graph *g = handle_of(self);
    return Py_BuildValue("LLL", (long long)tg_graph_num_src(g), (long long)tg_graph_num_dst(g),
                         (long long)tg_graph_num_edges(g));
}

static PyObject *findings(PyObject *self, PyObject *unused) {
    (void)unused;
    const char *text = tg_graph_findings(handle_of(self));
    return PyUnicode_FromString(text ? text : "");
}

static PyObject *self_loops(PyObject *self, PyObject *unused) {
    (void)unused;
    int64_t count = 0;
    Unlocked u;
    unlock(&u);
    tg_status status = tg_graph_self_loops(handle_of(self), &count);
    relock(&u);
    if (status || PyErr_Occurred()) return none_or_raise(state_of_self(self), status);
    return PyLong_FromLongLong(count);
}

static PyObject *explain(PyObject *self, PyObject *unused) {
    (void)unused;
    Unlocked u;
    unlock(&u);
    char *text = tg_graph_explain(handle_of(self));
    relock(&u);
    return take_text(state_of_self(self), text);
}

static PyObject *equal(PyObject *self, PyObject *other) {
    if (!PyObject_TypeCheck(other, Py_TYPE(self))) Py_RETURN_FALSE;
    Unlocked u;
    unlock(&u);
    tg_errclear();
    bool same = tg_graph_equal(handle_of(self), handle_of(other));
    relock(&u);
    if (PyErr_Occurred() || (!same && tg_errcode()))
        return none_or_raise(state_of_self(self), tg_errcode());
    return PyBool_FromLong(same);
}

/* Methods that write int64 arrays: the arguments, in order. */
enum { MOST_ARRAYS = 3 };
typedef tg_status (*Fill)(const tg_graph *, int64_t *const *);

static PyObject *fill(PyObject *self, PyObject *args, int n, Fill write) {
    State *state = state_of_self(self);
    PyObject *arrays[MOST_ARRAYS] = {0};
    Operand to[MOST_ARRAYS];
    int64_t *data[MOST_ARRAYS];
    int got = 0;
    if (!PyArg_UnpackTuple(args, "graph", n, n, &arrays[0], &arrays[1], &arrays[2])) return NULL;
    while (got < n && operand_get(state, arrays[got], "array", &to[got])) got++;
    Unlocked u;
    tg_status status = TG_OK;
    if (got == n) {
        for (int k = 0; k < n; k++) data[k] = to[k].array.data;
        unlock(&u);
        status = write(handle_of(self), data);
        relock(&u);
    }
    for (int k = 0; k < got; k++) operand_release(&to[k]);
    if (PyErr_Occurred()) return NULL;
    return none_or_raise(state, status);
}

static tg_status fill_edges(const tg_graph *g, int64_t *const *to) {
    return tg_graph_edges(g, to[0], to[1]);
}

static tg_status fill_rows(const tg_graph *g, int64_t *const *to) {
    return tg_graph_rows(g, to[0], to[1], to[2]);
}

static tg_status fill_degrees(const tg_graph *g, int64_t *const *to) {
    return tg_graph_degrees(g, to[0], to[1]);
}

static tg_status fill_order(const tg_graph *g, int64_t *const *to) {
    tg_graph *sorted_graph = tg_graph_sorted(g, to[0]);
    tg_graph_free(sorted_graph);
    return sorted_graph ? TG_OK : tg_errcode();
}

static PyObject *edges(PyObject *self, PyObject *args) { return fill(self, args, 2, fill_edges); }

static PyObject *rows(PyObject *self, PyObject *args) { return fill(self, args, 3, fill_rows); }

static PyObject *degrees(PyObject *self, PyObject *args) {
    return fill(self, args, 2, fill_degrees);
}

static PyObject *order(PyObject *self, PyObject *args) { return fill(self, args, 1, fill_order); }

static PyMethodDef methods[] = {
    {"transpose", transpose, METH_NOARGS, "The same edges, ends swapped."},
    {"counts", counts, METH_NOARGS, "(num_src, num_dst, num_edges)"},
    {"findings", findings, METH_NOARGS, "What full validation found, a line each."},
    {"equal", equal, METH_O, "Same counts, ends and edge order."},
    {"sorted", sorted, METH_NOARGS, "Edges by destination, then source."},
    {"add_self_loops", add_self_loops, METH_NOARGS, "One more edge for each node."},
    {"self_loops", self_loops, METH_NOARGS, "How many edges i -> i there are."},
    {"explain", explain, METH_NOARGS, "What is known of it, a line each."},
    {"edges", edges, METH_VARARGS, "Writes the ends of every edge into two int64 arrays."},
    {"rows", rows, METH_VARARGS, "Writes row_ptr, col_idx and the edges' numbers."},
    {"degrees", degrees, METH_VARARGS, "Writes the in- and out-degrees."},
    {"order", order, METH_VARARGS, "Writes the numbers of the edges in the order of sorted."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {{Py_tp_dealloc, graph_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, (char *)"A tg_graph."},
                              {0, NULL}};

PyType_Spec graph_spec = {
    .name = "tiga._tiga.Graph",
    .basicsize = sizeof(GraphObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
