/* Signatures: what of a call's arguments decides the code that runs. Equal ones, equal code; so they are the key of a
 * call, and made for each. What they hold of which kind of value: arrays.py. */
#include "module.h"

/* dtype, the shape without its first axes, and whether there are fewer. */
static bool put_type(State *state, PyObject *value, Py_ssize_t first, PyObject **item) {
    item[0] = PyObject_GetAttr(value, state->names[NAME_dtype]);
    PyObject *shape = item[0] ? PyObject_GetAttr(value, state->names[NAME_shape]) : NULL;
    Py_ssize_t rank = shape ? PyTuple_Size(shape) : -1;
    if (rank >= 0) {
        item[1] = PyTuple_GetSlice(shape, first, rank);
        item[2] = PyBool_FromLong(rank < first);
    }
    Py_XDECREF(shape);
    return item[1] && item[2];
}

static PyObject *of_array(State *state, PyObject *kind, PyObject *value, Py_ssize_t first,
                          bool is_torch) {
    enum { MOST = 5 };
    PyObject *item[MOST] = {0}, *tuple = NULL;
    Py_ssize_t n = is_torch ? MOST : 3;
    bool ok = put_type(state, value, first, item);
    if (ok && is_torch) {
        item[3] = PyObject_GetAttr(value, state->names[NAME_layout]);
        item[4] = PyObject_GetAttr(value, state->names[NAME_is_cpu]);
        ok = item[3] && item[4];
    }
    if (ok && (tuple = PyTuple_New(n + 1))) {
        PyTuple_SetItem(tuple, 0, Py_NewRef(kind));
        for (Py_ssize_t k = 0; k < n; k++) PyTuple_SetItem(tuple, k + 1, Py_NewRef(item[k]));
    }
    for (int k = 0; k < MOST; k++) Py_XDECREF(item[k]);
    return tuple;
}

/* kinds: a kind by type; other(value, first) where it is neither "torch" nor "numpy". */
static PyObject *signature_of(State *state, PyObject *value, Py_ssize_t first, PyObject *kinds,
                              PyObject *other) {
    PyObject *kind = PyDict_GetItemWithError(kinds, (PyObject *)Py_TYPE(value));
    if (!kind && PyErr_Occurred()) return NULL;
    bool is_torch = kind && !PyUnicode_CompareWithASCIIString(kind, "torch");
    if (is_torch || (kind && !PyUnicode_CompareWithASCIIString(kind, "numpy")))
        return of_array(state, kind, value, first, is_torch);
    PyObject *number = PyLong_FromSsize_t(first);
    PyObject *signature = number ? PyObject_CallFunctionObjArgs(other, value, number, NULL) : NULL;
    Py_XDECREF(number);
    return signature;
}

static PyObject *signatures(PyObject *module, PyObject *args) {
    PyObject *values, *kinds, *other;
    Py_ssize_t num_fields;
    if (!PyArg_ParseTuple(args, "O!nO!O", &PyList_Type, &values, &num_fields, &PyDict_Type, &kinds,
                          &other))
        return NULL;
    PyObject *given = PyList_AsTuple(values); /* `other` is Python's, and may change the list */
    Py_ssize_t n = given ? PyTuple_Size(given) : 0;
    PyObject *all = given ? PyTuple_New(n) : NULL;
    for (Py_ssize_t k = 0; all && k < n; k++) {
        PyObject *one = signature_of(state_of_module(module), PyTuple_GetItem(given, k),
                                     k < num_fields, kinds, other);
        if (!one || PyTuple_SetItem(all, k, one)) Py_CLEAR(all);
    }
    Py_XDECREF(given);
    return all;
}

PyMethodDef signature_functions[] = {
    {"signatures", signatures, METH_VARARGS,
     "(values, num_fields, kinds, other) -> a signature each; the first are fields, whose rows do "
     "not count."},
    {NULL, NULL, 0, NULL},
};
