/* The builder: values are ints; a failed call raises at once. */
#include "module.h"

static tg_builder *handle_of(PyObject *self) { return ((BuilderObject *)self)->handle; }

static PyObject *builder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    int homogeneous;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "p", &homogeneous)) return NULL;
    tg_builder *b = tg_builder_new(homogeneous);
    if (!b) return raise_status(PyType_GetModuleState(type), tg_errcode(), PyExc_ValueError);
    allocfunc alloc = PyType_GetSlot(type, Py_tp_alloc);
    BuilderObject *self = (BuilderObject *)alloc(type, 0);
    if (self) self->handle = b;
    else tg_builder_free(b);
    return (PyObject *)self;
}

static void builder_dealloc(PyObject *self) {
    tg_builder_free(handle_of(self));
    handle_free(self);
}

static PyObject *value_or_raise(PyObject *self, tg_val v) {
    if (v) return PyLong_FromUnsignedLong(v);
    if (tg_errcode()) return raise_status(state_of_self(self), tg_errcode(), PyExc_IndexError);
    PyErr_SetString(PyExc_ValueError,
                    "an operation on a staged value failed earlier in this function");
    return NULL;
}

/* ---- leaves ---- */

/* A tuple of ints into out; -1 with an exception. */
static Py_ssize_t ints_get(PyObject *tuple, int64_t *out, Py_ssize_t most) {
    Py_ssize_t n = PyTuple_Size(tuple);
    if (n > most) PyErr_Format(PyExc_ValueError, "%zd numbers, at most %zd are possible", n, most);
    for (Py_ssize_t k = 0; k < n && !PyErr_Occurred(); k++)
        out[k] = PyLong_AsLongLong(PyTuple_GetItem(tuple, k));
    return PyErr_Occurred() ? -1 : n;
}

static PyObject *builder_input(PyObject *self, PyObject *args) {
    const char *name;
    int dtype;
    PyObject *shape;
    int64_t extents[TG_MAX_RANK];
    if (!PyArg_ParseTuple(args, "siO!", &name, &dtype, &PyTuple_Type, &shape)) return NULL;
    Py_ssize_t rank = ints_get(shape, extents, TG_MAX_RANK);
    if (rank < 0) return NULL;
    return value_or_raise(self, tg_in(handle_of(self), name, (tg_dtype)dtype, (int)rank, extents));
}

static PyObject *builder_scalar(PyObject *self, PyObject *args) {
    const char *name;
    int integer;
    if (!PyArg_ParseTuple(args, "sp", &name, &integer)) return NULL;
    return value_or_raise(self, tg_scalar_in(handle_of(self), name, integer));
}

/* True, 3, 2.5: by the number's own kind. */
static PyObject *builder_number(PyObject *self, PyObject *number) {
    tg_builder *b = handle_of(self);
    if (PyBool_Check(number)) return value_or_raise(self, tg_truth(b, number == Py_True));
    if (PyLong_Check(number)) {
        long long i = PyLong_AsLongLong(number);
        return i == -1 && PyErr_Occurred() ? NULL : value_or_raise(self, tg_integer(b, i));
    }
    double x = PyFloat_AsDouble(number);
    return x == -1 && PyErr_Occurred() ? NULL : value_or_raise(self, tg_number(b, x));
}

/* ---- operations ---- */

static PyObject *at_end(PyObject *self, PyObject *value, tg_val (*at)(tg_builder *, tg_val)) {
    unsigned long v = PyLong_AsUnsignedLong(value);
    return PyErr_Occurred() ? NULL : value_or_raise(self, at(handle_of(self), (tg_val)v));
}

static PyObject *builder_at_src(PyObject *self, PyObject *value) {
    return at_end(self, value, tg_at_src);
}

static PyObject *builder_at_dst(PyObject *self, PyObject *value) {
    return at_end(self, value, tg_at_dst);
}

enum { MAX_OPERANDS = 64, MAX_INTS = 64 };

static Py_ssize_t vals_get(PyObject *tuple, tg_val *out) {
    int64_t wide[MAX_OPERANDS];
    Py_ssize_t n = ints_get(tuple, wide, MAX_OPERANDS);
    for (Py_ssize_t k = 0; k < n; k++) out[k] = (tg_val)wide[k];
    return n;
}

static PyObject *builder_apply(PyObject *self, PyObject *args) {
    const char *name;
    PyObject *operands, *numbers;
    tg_val vals[MAX_OPERANDS];
    int64_t ints[MAX_INTS];
    if (!PyArg_ParseTuple(args, "sO!O!", &name, &PyTuple_Type, &operands, &PyTuple_Type, &numbers))
        return NULL;
    Py_ssize_t n = vals_get(operands, vals), m = n < 0 ? -1 : ints_get(numbers, ints, MAX_INTS);
    if (m < 0) return NULL;
    return value_or_raise(self, tg_apply(handle_of(self), name, vals, (size_t)n, ints, (size_t)m));
}

static PyObject *builder_reduce(PyObject *self, PyObject *args) {
    PyObject *reducer, *messages;
    tg_val vals[MAX_OPERANDS];
    if (!PyArg_ParseTuple(args, "O!O!", state_of_self(self)->reducer_type, &reducer, &PyTuple_Type,
                          &messages))
        return NULL;
    Py_ssize_t n = vals_get(messages, vals);
    if (n < 0) return NULL;
    tg_reducer *r = ((ReducerObject *)reducer)->handle;
    return value_or_raise(self, tg_reduce(handle_of(self), r, vals, (size_t)n));
}

/* ---- results ---- */

static PyObject *builder_type(PyObject *self, PyObject *value) {
    tg_end end;
    bool weak;
    unsigned long v = PyLong_AsUnsignedLong(value);
    if (PyErr_Occurred()) return NULL;
    tg_status status = tg_val_type(handle_of(self), (tg_val)v, &end, &weak);
    if (status) return raise_status(state_of_self(self), status, PyExc_ValueError);
    end.name = NULL;
    PyObject *tuple = end_tuple(&end);
    return tuple ? Py_BuildValue("NN", tuple, PyBool_FromLong(weak)) : NULL;
}

static PyObject *builder_out(PyObject *self, PyObject *args) {
    const char *name;
    unsigned int v;
    if (!PyArg_ParseTuple(args, "sI", &name, &v)) return NULL;
    return none_or_raise(state_of_self(self), tg_out(handle_of(self), name, v));
}

static PyObject *builder_program(PyObject *self, PyObject *unused) {
    (void)unused;
    return program_wrap(state_of_self(self), tg_builder_program(handle_of(self)));
}

static PyObject *builder_key(PyObject *self, PyObject *unused) {
    (void)unused;
    size_t size;
    void *bytes = tg_builder_key(handle_of(self), &size);
    if (!bytes) return raise_status(state_of_self(self), tg_errcode(), PyExc_ValueError);
    PyObject *key = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size);
    tg_free(bytes);
    return key;
}

static PyMethodDef methods[] = {
    {"input", builder_input, METH_VARARGS, "(name, dtype, feature shape) -> value"},
    {"scalar", builder_scalar, METH_VARARGS, "(name, integer) -> value: a number at run time"},
    {"number", builder_number, METH_O, "(number) -> value"},
    {"at_src", builder_at_src, METH_O, "(value) -> value at each edge's source"},
    {"at_dst", builder_at_dst, METH_O, "(value) -> value at each edge's destination"},
    {"apply", builder_apply, METH_VARARGS, "(name, operands, ints) -> value"},
    {"reduce", builder_reduce, METH_VARARGS, "(reducer, messages) -> value"},
    {"type", builder_type, METH_O, "(value) -> ((None, role, dtype, feature shape), weak)"},
    {"out", builder_out, METH_VARARGS, "(name, value): marks a result"},
    {"program", builder_program, METH_NOARGS, "-> Program"},
    {"key", builder_key, METH_NOARGS, "-> bytes, equal for equal programs"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {{Py_tp_new, builder_new},
                              {Py_tp_dealloc, builder_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, (char *)"A tg_builder."},
                              {0, NULL}};

PyType_Spec builder_spec = {
    .name = "tiga._tiga.Builder",
    .basicsize = sizeof(BuilderObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
