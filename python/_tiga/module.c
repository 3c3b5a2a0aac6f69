/* The module itself: its state, the errors, the GIL, and the functions about the process. */
#include "module.h"

#include <time.h>

State *state_of_module(PyObject *module) { return PyModule_GetState(module); }

/* The handle types are not subclassed, so an object's own type knows the module. */
State *state_of_self(PyObject *self) { return PyType_GetModuleState(Py_TYPE(self)); }

void handle_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- errors ---- */

static PyObject *exception_of(State *state, tg_status status, PyObject *range) {
    switch (status) {
    case TG_ETYPE: return PyExc_TypeError;
    case TG_EINVAL:
    case TG_ESHAPE: return PyExc_ValueError;
    case TG_ERANGE: return range;
    case TG_ENAME: return PyExc_AttributeError;
    case TG_ESYNTAX: return PyExc_SyntaxError;
    case TG_EUNSUPPORTED: return PyExc_NotImplementedError;
    case TG_ENOMEM: return PyExc_MemoryError;
    case TG_EINTR: return PyExc_KeyboardInterrupt;
    case TG_OK:
    case TG_EBUG: break;
    }
    return state->bug;
}

PyObject *raise_status(State *state, tg_status status, PyObject *range) {
    if (!PyErr_Occurred()) PyErr_SetString(exception_of(state, status, range), tg_errmsg());
    return NULL;
}

PyObject *none_or_raise(State *state, tg_status status) {
    if (status || PyErr_Occurred()) return raise_status(state, status, PyExc_IndexError);
    Py_RETURN_NONE;
}

PyObject *take_text(State *state, char *text) {
    if (!text || PyErr_Occurred()) {
        tg_free(text);
        return raise_status(state, tg_errcode(), PyExc_IndexError);
    }
    PyObject *str = PyUnicode_FromString(text);
    tg_free(text);
    return str;
}

/* ---- the GIL and Ctrl-C ---- */

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

enum { POLL_NS = 20000000 };

/* Short calls never take the GIL: another thread may hold it for milliseconds. */
static bool poll_signals(void *ctx) {
    Unlocked *u = ctx;
    if (now_ns() < u->next_ns) return false;
    PyEval_RestoreThread(u->thread);
    bool stop = PyErr_CheckSignals() != 0;
    u->thread = PyEval_SaveThread();
    u->next_ns = now_ns() + POLL_NS;
    return stop;
}

void unlock(Unlocked *u) {
    u->next_ns = now_ns() + POLL_NS;
    tg_set_poll(poll_signals, u);
    u->thread = PyEval_SaveThread();
}

void relock(Unlocked *u) {
    PyEval_RestoreThread(u->thread);
    tg_set_poll(NULL, NULL);
}

/* ---- the process ---- */

static PyObject *version(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyUnicode_FromString(tg_version());
}

static PyObject *about(PyObject *module, PyObject *unused) {
    (void)unused;
    Unlocked u;
    unlock(&u);
    char *text = tg_about();
    relock(&u);
    return take_text(state_of_module(module), text);
}

static PyObject *debug_help(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyUnicode_FromString(tg_debug_help());
}

static PyObject *operations(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t k = 0; list && tg_apply_name(k); k++) {
        PyObject *name = PyUnicode_FromString(tg_apply_name(k));
        if (!name || PyList_Append(list, name)) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyObject *near(PyObject *module, PyObject *args) {
    const char *name, **names;
    PyObject *list;
    (void)module;
    if (!PyArg_ParseTuple(args, "sO!", &name, &PyTuple_Type, &list)) return NULL;
    Py_ssize_t n = PyTuple_Size(list), k = 0;
    if (!(names = PyMem_Malloc((size_t)(n + 1) * sizeof *names))) return PyErr_NoMemory();
    while (k < n && (names[k] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(list, k), NULL))) k++;
    int found = k < n ? -1 : tg_near(name, names, (int)n);
    PyMem_Free(names);
    if (k < n) return NULL;
    return found < 0 ? Py_NewRef(Py_None) : Py_NewRef(PyTuple_GetItem(list, found));
}

static PyObject *set_num_threads(PyObject *module, PyObject *n) {
    (void)module;
    long count = PyLong_AsLong(n);
    if (count == -1 && PyErr_Occurred()) return NULL;
    tg_set_num_threads((int)count);
    Py_RETURN_NONE;
}

static PyObject *num_threads(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyLong_FromLong(tg_num_threads());
}

static PyObject *memory(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyLong_FromLongLong(tg_memory());
}

static PyObject *trim(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    tg_trim();
    Py_RETURN_NONE;
}

static PyObject *register_dtype(PyObject *module, PyObject *args) {
    PyObject *dtype;
    int code;
    if (!PyArg_ParseTuple(args, "Oi", &dtype, &code)) return NULL;
    PyObject *value = PyLong_FromLong(code);
    int failed = !value || PyDict_SetItem(state_of_module(module)->dtypes, dtype, value);
    Py_XDECREF(value);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

PyMethodDef process_functions[] = {
    {"version", version, METH_NOARGS, "Version of the library."},
    {"about", about, METH_NOARGS, "LLVM's version and the target."},
    {"debug_help", debug_help, METH_NOARGS, "The TIGA_ switches, a line each."},
    {"operations", operations, METH_NOARGS, "The names that Builder.apply knows."},
    {"near", near, METH_VARARGS, "(name, names) -> the one that is nearest, or None"},
    {"set_num_threads", set_num_threads, METH_O, "Threads of this thread's next calls."},
    {"num_threads", num_threads, METH_NOARGS, "Threads of this thread's next call."},
    {"memory", memory, METH_NOARGS, "Bytes held by the buffer pool."},
    {"trim", trim, METH_NOARGS, "Gives unused buffers back to the system."},
    {"register_dtype", register_dtype, METH_VARARGS, "A framework's dtype object and its code."},
    {NULL, NULL, 0, NULL},
};

/* ---- set-up ---- */

static int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out) {
    *out = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *out ? PyModule_AddType(module, *out) : -1;
}

static int make_names(State *s) {
    static const char *const text[NUM_NAMES] = {"data_ptr", "dtype",       "is_cpu", "is_neg",
                                                "layout",   "resolve_neg", "shape",  "stride"};
    for (int k = 0; k < NUM_NAMES; k++)
        if (!(s->names[k] = PyUnicode_InternFromString(text[k]))) return -1;
    return 0;
}

static int module_exec(PyObject *module) {
    State *s = state_of_module(module);
    PyMethodDef *const functions[] = {process_functions, graph_functions, program_functions,
                                      reducer_functions, signature_functions};
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        if (PyModule_AddFunctions(module, functions[k])) return -1;
    s->bug = PyErr_NewExceptionWithDoc(
        "tiga.TigaBug", "An error of Tiga's own; the message names what is worth reporting.",
        PyExc_RuntimeError, NULL);
    s->dtypes = PyDict_New();
    if (!s->bug || !s->dtypes || make_names(s)) return -1;
    if (PyModule_AddObjectRef(module, "TigaBug", s->bug)) return -1;
    if (add_type(module, &graph_spec, &s->graph_type)) return -1;
    if (add_type(module, &program_spec, &s->program_type)) return -1;
    if (add_type(module, &builder_spec, &s->builder_type)) return -1;
    return add_type(module, &reducer_spec, &s->reducer_type);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    State *s = state_of_module(module);
    Py_VISIT(s->graph_type);
    Py_VISIT(s->program_type);
    Py_VISIT(s->builder_type);
    Py_VISIT(s->reducer_type);
    Py_VISIT(s->bug);
    Py_VISIT(s->dtypes);
    return 0;
}

static int module_clear(PyObject *module) {
    State *s = state_of_module(module);
    Py_CLEAR(s->graph_type);
    Py_CLEAR(s->program_type);
    Py_CLEAR(s->builder_type);
    Py_CLEAR(s->reducer_type);
    Py_CLEAR(s->bug);
    Py_CLEAR(s->dtypes);
    for (int k = 0; k < NUM_NAMES; k++) Py_CLEAR(s->names[k]);
    return 0;
}

static void module_free(void *module) { module_clear(module); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

PyModuleDef tiga_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_tiga",
    .m_doc = "Tiga's C interface for the package `tiga`.",
    .m_size = sizeof(State),
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__tiga(void) { return PyModuleDef_Init(&tiga_module); }
