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

PyMethodDef graph_functions[] = {
    {"graph_from_csr", from_csr, METH_VARARGS, "(row_ptr, col_idx, num_src, full) -> Graph"},
    {"graph_from_coo", from_coo, METH_VARARGS, "(src, dst, num_src, num_dst, full) -> Graph"},
    {"graph_from_edge_index", from_edge_index, METH_VARARGS,
     "(edge_index, num_src, num_dst, full) -> Graph"},
    {"graph_regular", regular, METH_VARARGS, "(num_nodes, degree) -> Graph"},
    {NULL, NULL, 0, NULL},
};

/* ---- methods ---- */

static PyObject *transpose(PyObject *self, PyObject *unused) {
    (void)unused;
    Unlocked u;
    unlock(&u);
    tg_graph *g = tg_graph_transpose(handle_of(self));
    relock(&u);
    return graph_wrap(state_of_self(self), g);
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

static PyObject *equal(PyObject *self, PyObject *other) {
    if (!PyObject_TypeCheck(other, Py_TYPE(self))) Py_RETURN_FALSE;
    return PyBool_FromLong(tg_graph_equal(handle_of(self), handle_of(other)));
}

static PyObject *edges(PyObject *self, PyObject *args) {
    PyObject *arrays[2];
    Operand src, dst;
    State *state = state_of_self(self);
    if (!PyArg_ParseTuple(args, "OO", &arrays[0], &arrays[1])) return NULL;
    if (!operand_get(state, arrays[0], "src", &src)) return NULL;
    if (!operand_get(state, arrays[1], "dst", &dst)) {
        operand_release(&src);
        return NULL;
    }
    tg_status status = tg_graph_edges(handle_of(self), src.array.data, dst.array.data);
    operand_release(&src);
    operand_release(&dst);
    return none_or_raise(state, status);
}

static PyMethodDef methods[] = {
    {"transpose", transpose, METH_NOARGS, "The same edges, ends swapped."},
    {"counts", counts, METH_NOARGS, "(num_src, num_dst, num_edges)"},
    {"findings", findings, METH_NOARGS, "What full validation found, a line each."},
    {"equal", equal, METH_O, "Same counts, ends and edge order."},
    {"edges", edges, METH_VARARGS, "Writes the ends of every edge into two int64 arrays."},
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
