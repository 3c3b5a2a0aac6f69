/* Python objects to tg_array and back: numbers, buffers, and tensors that describe themselves. */
#include "module.h"

#include <string.h>

static bool number_get(PyObject *object, Operand *out) {
    bool real = PyFloat_Check(object);
    out->array = (tg_array){.data = &out->number, .dtype = real ? TG_FLOAT64 : TG_INT64};
    if (real) out->number.f = PyFloat_AsDouble(object);
    else out->number.i = PyLong_AsLongLong(object);
    return !PyErr_Occurred();
}

/* ---- buffers ---- */

#define DTYPES "bool, int32, int64, float16, bfloat16, float32, float64"
static const char native[] = "native byte order (" DTYPES ")";

/* The dtype of a struct-module format; -1 for others. */
static int format_dtype(const char *format, Py_ssize_t itemsize) {
    if (!format) return -1;
    const uint16_t one = 1;
    bool little = *(const uint8_t *)&one == 1;
    if (*format == '=' || *format == '@' || *format == (little ? '<' : '>')) format++;
    if (!format[0] || format[1]) return -1;
    switch (*format) {
    case '?': return TG_BOOL;
    case 'e': return TG_FLOAT16;
    case 'f': return TG_FLOAT32;
    case 'd': return TG_FLOAT64;
    case 'i':
    case 'l':
    case 'q': return itemsize == 4 ? TG_INT32 : TG_INT64;
    default: return -1;
    }
}

/* The registered dtype of an array whose elements the buffer protocol has no letter for; -1: none. Such an
 * array shows its bits. */
static int buffer_of_bits(State *state, PyObject *object, Py_buffer *view) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *dtype = PyObject_GetAttr(object, state->names[NAME_dtype]);
    PyObject *code = dtype ? PyDict_GetItemWithError(state->dtypes, dtype) : NULL;
    PyObject *bits = code ? PyObject_CallMethod(object, "view", "s", "uint16") : NULL;
    bool ok = bits && !PyObject_GetBuffer(bits, view, PyBUF_STRIDED_RO | PyBUF_FORMAT);
    Py_XDECREF(bits);
    Py_XDECREF(dtype);
    PyErr_Restore(type, value, trace);
    if (ok) PyErr_Clear();
    return ok ? (int)PyLong_AsLong(code) : -1;
}

static bool buffer_get(State *state, PyObject *object, const char *name, Operand *out) {
    int dtype = -1;
    if (PyObject_GetBuffer(object, &out->view, PyBUF_STRIDED_RO | PyBUF_FORMAT)) {
        dtype = buffer_of_bits(state, object, &out->view);
        if (dtype < 0) return false;
    }
    out->has_view = true;
    const Py_buffer *v = &out->view;
    if (dtype < 0) dtype = format_dtype(v->format, v->itemsize);
    if (dtype < 0 || v->ndim > TG_MAX_RANK) {
        if (dtype < 0)
            PyErr_Format(PyExc_TypeError, "'%s': dtype '%s' is not one of %s", name, v->format,
                         native);
        else
            PyErr_Format(PyExc_ValueError, "'%s': rank %d, at most %d are possible", name, v->ndim,
                         TG_MAX_RANK);
        operand_release(out);
        return false;
    }
    out->array = (tg_array){.data = v->buf, .dtype = (tg_dtype)dtype, .rank = v->ndim};
    for (int k = 0; k < v->ndim; k++) {
        out->array.shape[k] = v->shape[k];
        out->array.stride[k] = v->strides[k];
    }
    return true;
}

/* ---- tensors ---- */

static bool extents(PyObject *sequence, int64_t scale, int *rank, int64_t *out) {
    Py_ssize_t n = sequence ? PyTuple_Size(sequence) : -1;
    if (n > TG_MAX_RANK)
        PyErr_Format(PyExc_ValueError, "rank %zd, at most %d are possible", n, TG_MAX_RANK);
    for (Py_ssize_t k = 0; k < n && !PyErr_Occurred(); k++)
        out[k] = PyLong_AsLongLong(PyTuple_GetItem(sequence, k)) * scale;
    *rank = (int)n;
    Py_XDECREF(sequence);
    return !PyErr_Occurred();
}

static int tensor_dtype(State *state, PyObject *object, const char *name) {
    PyObject *dtype = PyObject_GetAttr(object, state->names[NAME_dtype]);
    PyObject *code = dtype ? PyDict_GetItemWithError(state->dtypes, dtype) : NULL;
    int value = code ? (int)PyLong_AsLong(code) : -1;
    if (!code && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "'%s': dtype %S is not one of " DTYPES, name, dtype);
    Py_XDECREF(dtype);
    return value;
}

/* A tensor may be a view that negates: its memory is not its values. A reference. */
static PyObject *tensor_of_values(State *state, PyObject *object) {
    PyObject *negates = PyObject_CallMethodObjArgs(object, state->names[NAME_is_neg], NULL);
    if (!negates) return NULL;
    Py_DECREF(negates);
    if (negates != Py_True) return Py_NewRef(object);
    return PyObject_CallMethodObjArgs(object, state->names[NAME_resolve_neg], NULL);
}

static bool tensor_describe(State *state, PyObject *object, const char *name, Operand *out) {
    static const int64_t size[] = {1, 4, 8, 4, 8, 2, 2};
    int dtype = tensor_dtype(state, object, name), rank;
    if (dtype < 0) return false;
    out->array = (tg_array){.dtype = (tg_dtype)dtype};
    if (!extents(PyObject_GetAttr(object, state->names[NAME_shape]), 1, &out->array.rank,
                 out->array.shape))
        return false;
    PyObject *stride = PyObject_CallMethodObjArgs(object, state->names[NAME_stride], NULL);
    if (!extents(stride, size[dtype], &rank, out->array.stride)) return false;
    PyObject *data = PyObject_CallMethodObjArgs(object, state->names[NAME_data_ptr], NULL);
    if (!data) return false;
    out->array.data = PyLong_AsVoidPtr(data);
    Py_DECREF(data);
    return !PyErr_Occurred();
}

static bool tensor_get(State *state, PyObject *object, const char *name, Operand *out) {
    out->is_tensor = true;
    PyObject *tensor = tensor_of_values(state, object);
    bool ok = tensor && tensor_describe(state, tensor, name, out);
    if (ok && tensor != object) out->resolved = tensor;
    else Py_XDECREF(tensor);
    return ok;
}

/* An array without elements may have no memory; NULL would read as "not bound". */
static void give_address(tg_array *a) {
    static char nothing[8];
    if (!a->data) a->data = nothing;
}

bool operand_get(State *state, PyObject *object, const char *name, Operand *out) {
    memset(out, 0, sizeof *out);
    bool ok;
    if (PyFloat_Check(object) || PyLong_Check(object)) ok = number_get(object, out);
    else if (PyObject_CheckBuffer(object)) ok = buffer_get(state, object, name, out);
    else ok = tensor_get(state, object, name, out);
    if (ok) give_address(&out->array);
    return ok;
}

void operand_release(Operand *operand) {
    if (operand->has_view) PyBuffer_Release(&operand->view);
    operand->has_view = false;
    Py_CLEAR(operand->resolved);
}

PyObject *end_tuple(const tg_end *end) {
    PyObject *shape = PyTuple_New(end->rank);
    for (int k = 0; shape && k < end->rank; k++) {
        PyObject *extent = PyLong_FromLongLong(end->shape[k]);
        if (!extent || PyTuple_SetItem(shape, k, extent)) Py_CLEAR(shape);
    }
    return shape ? Py_BuildValue("ziiN", end->name, (int)end->role, (int)end->dtype, shape) : NULL;
}
