/* Reducers: built-in by name, or of four builders. */
#include "module.h"

PyObject *reducer_wrap(State *state, tg_reducer *takes) {
    if (!takes) return raise_status(state, tg_errcode(), PyExc_ValueError);
    ReducerObject *self = PyObject_New(ReducerObject, state->reducer_type);
    if (self) self->handle = takes;
    else tg_reducer_free(takes);
    return (PyObject *)self;
}

static tg_reducer *handle_of(PyObject *self) { return ((ReducerObject *)self)->handle; }

static void reducer_dealloc(PyObject *self) {
    tg_reducer_free(handle_of(self));
    handle_free(self);
}

static PyObject *builtin(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *empty;
    int flags;
    if (!PyArg_ParseTuple(args, "siO", &name, &flags, &empty)) return NULL;
    double value = empty == Py_None ? 0 : PyFloat_AsDouble(empty);
    if (PyErr_Occurred()) return NULL;
    return reducer_wrap(state_of_module(module),
                        tg_reducer_builtin(name, flags, empty != Py_None, value));
}

static PyObject *custom(PyObject *module, PyObject *args) {
    State *state = state_of_module(module);
    const char *name;
    int flags;
    PyObject *part[4];
    PyTypeObject *t = state->builder_type;
    if (!PyArg_ParseTuple(args, "siO!O!O!O!", &name, &flags, t, &part[0], t, &part[1], t, &part[2],
                          t, &part[3]))
        return NULL;
    tg_builder *b[4];
    for (int k = 0; k < 4; k++) b[k] = ((BuilderObject *)part[k])->handle;
    return reducer_wrap(state, tg_reducer_new(name, flags, b[0], b[1], b[2], b[3]));
}

PyMethodDef reducer_functions[] = {
    {"reducer_builtin", builtin, METH_VARARGS, "(name, flags, empty or None) -> Reducer"},
    {"reducer_custom", custom, METH_VARARGS,
     "(name, flags, identity, lift, combine, finalize) -> Reducer"},
    {NULL, NULL, 0, NULL},
};

static PyObject *num_messages(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromSize_t(tg_reducer_num_messages(handle_of(self)));
}

static PyObject *proof(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyUnicode_FromString(tg_reducer_proof(handle_of(self)));
}

static PyObject *doubt(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyUnicode_FromString(tg_reducer_doubt(handle_of(self)));
}

static PyObject *ir(PyObject *self, PyObject *args) {
    const char *symbol;
    PyObject *codes;
    tg_dtype dtypes[16];
    if (!PyArg_ParseTuple(args, "sO!", &symbol, &PyTuple_Type, &codes)) return NULL;
    Py_ssize_t n = PyTuple_Size(codes);
    for (Py_ssize_t k = 0; k < n && k < 16; k++)
        dtypes[k] = (tg_dtype)PyLong_AsLong(PyTuple_GetItem(codes, k));
    if (PyErr_Occurred()) return NULL;
    return take_text(state_of_self(self),
                     tg_reducer_ir(handle_of(self), symbol, dtypes, n < 16 ? (size_t)n : 16));
}

static PyMethodDef methods[] = {
    {"num_messages", num_messages, METH_NOARGS, "Messages that one call takes."},
    {"proof", proof, METH_NOARGS, "The proven form."},
    {"doubt", doubt, METH_NOARGS, "A counterexample to the flags, or nothing."},
    {"ir", ir, METH_VARARGS, "(symbol, message dtypes) -> the op gf.reducer as text"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {{Py_tp_dealloc, reducer_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, (char *)"A tg_reducer."},
                              {0, NULL}};

PyType_Spec reducer_spec = {
    .name = "tiga._tiga.Reducer",
    .basicsize = sizeof(ReducerObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
