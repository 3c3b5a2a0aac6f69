/* The extension `_tiga`: Python's view of tiga.h and tiga_ops.h, on the stable ABI. It parses, calls
 * and converts; what anything means is said in those headers and in the package `tiga`.
 *
 * Handles are heap types that own one tg_ handle each. Everything shared lives in the module's state,
 * so several interpreters may each have their own. The GIL is released around whatever may take long
 * (unlock.h); arrays stay alive for a call because the caller's tuple holds them. */
#ifndef TIGA_PY_MODULE_H
#define TIGA_PY_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tiga/tiga.h"
#include "tiga/tiga_ops.h"

/* What Python objects are asked for, interned. */
enum {
    NAME_data_ptr,
    NAME_dtype,
    NAME_is_cpu,
    NAME_is_neg,
    NAME_layout,
    NAME_resolve_neg,
    NAME_shape,
    NAME_stride,
    NUM_NAMES
};

typedef struct {
    PyTypeObject *graph_type, *program_type, *builder_type, *reducer_type;
    PyObject *bug;    /* TigaBug */
    PyObject *dtypes; /* a framework's dtype object -> tg_dtype */
    PyObject *names[NUM_NAMES];
} State;

extern PyModuleDef tiga_module;
State *state_of_module(PyObject *module);
State *state_of_self(PyObject *self); /* of one of the four handle types */

/* ---- handles ---- */

typedef struct {
    PyObject_HEAD tg_graph *handle;
} GraphObject;
typedef struct {
    PyObject_HEAD tg_program *handle;
} ProgramObject;
typedef struct {
    PyObject_HEAD tg_builder *handle;
} BuilderObject;
typedef struct {
    PyObject_HEAD tg_reducer *handle;
} ReducerObject;

extern PyType_Spec graph_spec, program_spec, builder_spec, reducer_spec;
/* The module's functions that make them. */
extern PyMethodDef graph_functions[], program_functions[], reducer_functions[], process_functions[],
    signature_functions[];

/* Each takes its handle; NULL raises what tg_errmsg says. */
PyObject *graph_wrap(State *state, tg_graph *takes);
PyObject *program_wrap(State *state, tg_program *takes);
PyObject *reducer_wrap(State *state, tg_reducer *takes);
void handle_free(PyObject *self); /* the end of every tp_dealloc */

/* ---- errors ---- */

/* Raises the exception that belongs to status, with tg_errmsg's text; gives NULL. An exception that is
 * set already (a signal handler's) stays. range: what TG_ERANGE raises. */
PyObject *raise_status(State *state, tg_status status, PyObject *range);
/* None, or the exception; run-time indices out of range raise IndexError. */
PyObject *none_or_raise(State *state, tg_status status);
/* text becomes a str and is freed; NULL raises. */
PyObject *take_text(State *state, char *text);

/* ---- the GIL and Ctrl-C ---- */

/* Between unlock and relock other threads run Python, and Tiga asks every 20 ms whether a signal
 * arrived; then the call ends with TG_EINTR and the handler's exception is set after relock. */
typedef struct {
    PyThreadState *thread;
    int64_t next_ns;
} Unlocked;
void unlock(Unlocked *u);
void relock(Unlocked *u);

/* ---- arrays ---- */

/* An array of the caller's: a Python number, a buffer (NumPy's), or a tensor that says data_ptr(),
 * dtype, shape, stride() and is_neg() (torch's; dtypes registered with register_dtype). */
typedef struct {
    tg_array array;
    Py_buffer view;
    PyObject *
        resolved; /* of a tensor whose memory holds the negated values: one that holds the values */
    bool has_view, is_tensor;
    union {
        double f;
        int64_t i;
    } number;
} Operand;
/* False with an exception that names the argument. Release what succeeded. */
bool operand_get(State *state, PyObject *object, const char *name, Operand *out);
void operand_release(Operand *operand);

/* (name or None, role, dtype, (feature shape)) of an end. */
PyObject *end_tuple(const tg_end *end);

#endif
