/* Programs: ends, derivatives, runs, inspection. */
#include "module.h"

#include <stdlib.h>

PyObject *program_wrap(State *state, tg_program *takes) {
    if (!takes || PyErr_Occurred()) {
        tg_program_free(takes);
        return raise_status(state, tg_errcode(), PyExc_ValueError);
    }
    ProgramObject *self = PyObject_New(ProgramObject, state->program_type);
    if (self) self->handle = takes;
    else tg_program_free(takes);
    return (PyObject *)self;
}

static tg_program *handle_of(PyObject *self) { return ((ProgramObject *)self)->handle; }

static void program_dealloc(PyObject *self) {
    tg_program_free(handle_of(self));
    handle_free(self);
}

/* ---- from text ---- */

static PyObject *from_formula(PyObject *module, PyObject *text) {
    const char *formula = PyUnicode_AsUTF8AndSize(text, NULL);
    return formula ? program_wrap(state_of_module(module), tg_program_new(formula)) : NULL;
}

static PyObject *from_ir(PyObject *module, PyObject *text) {
    const char *ir = PyUnicode_AsUTF8AndSize(text, NULL);
    return ir ? program_wrap(state_of_module(module), tg_program_parse(ir)) : NULL;
}

PyMethodDef program_functions[] = {
    {"formula", from_formula, METH_O, "A formula's text -> Program"},
    {"parse", from_ir, METH_O, "IR text -> Program"},
    {NULL, NULL, 0, NULL},
};

/* ---- arguments: a tuple of names beside a tuple of arrays; None is not bound ---- */

typedef struct {
    size_t count;
    tg_arg *args;
    Operand *operands;
    bool has_tensors; /* torch's */
} Arguments;

static void arguments_release(Arguments *a) {
    for (size_t k = 0; k < a->count; k++) operand_release(&a->operands[k]);
    PyMem_Free(a->args);
    PyMem_Free(a->operands);
}

static bool arguments_fill(State *state, PyObject *names, PyObject *arrays, Py_ssize_t n,
                           Arguments *out) {
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *array = PyTuple_GetItem(arrays, k);
        const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, k), NULL);
        if (!name) return false;
        if (array == Py_None) continue;
        if (!operand_get(state, array, name, &out->operands[out->count])) return false;
        out->args[out->count] = (tg_arg){name, out->operands[out->count].array};
        out->has_tensors |= out->operands[out->count].is_tensor;
        out->count++;
    }
    return true;
}

static bool arguments_get(State *state, PyObject *names, PyObject *arrays, Arguments *out) {
    Py_ssize_t n = PyTuple_Size(names);
    if (n != PyTuple_Size(arrays)) {
        PyErr_Format(PyExc_TypeError, "%zd names, but %zd arrays", n, PyTuple_Size(arrays));
        return false;
    }
    *out = (Arguments){.args = PyMem_Calloc((size_t)n + 1, sizeof(tg_arg)),
                       .operands = PyMem_Calloc((size_t)n + 1, sizeof(Operand))};
    if (!out->args || !out->operands) PyErr_NoMemory();
    else if (arguments_fill(state, names, arrays, n, out)) return true;
    arguments_release(out);
    return false;
}

typedef tg_status (*Run)(const tg_program *, const tg_graph *, const tg_arg *, size_t);

static PyObject *run_with(PyObject *self, PyObject *args, Run run) {
    State *state = state_of_self(self);
    PyObject *graph, *names, *arrays;
    int threads;
    Arguments a;
    if (!PyArg_ParseTuple(args, "O!O!O!i", state->graph_type, &graph, &PyTuple_Type, &names,
                          &PyTuple_Type, &arrays, &threads))
        return NULL;
    if (!arguments_get(state, names, arrays, &a)) return NULL;
    Unlocked u;
    tg_set_num_threads(threads);
    tg_use_openmp(a.has_tensors);
    unlock(&u);
    tg_status status = run(handle_of(self), ((GraphObject *)graph)->handle, a.args, a.count);
    relock(&u);
    arguments_release(&a);
    return none_or_raise(state, status);
}

static PyObject *program_run(PyObject *self, PyObject *args) {
    return run_with(self, args, tg_run);
}

static PyObject *program_reference(PyObject *self, PyObject *args) {
    return run_with(self, args, tg_reference);
}

static PyObject *program_typed(PyObject *self, PyObject *args) {
    State *state = state_of_self(self);
    PyObject *names, *arrays;
    Arguments a;
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &names, &PyTuple_Type, &arrays)) return NULL;
    if (!arguments_get(state, names, arrays, &a)) return NULL;
    tg_program *typed = tg_program_typed(handle_of(self), a.args, a.count);
    arguments_release(&a);
    return program_wrap(state, typed);
}

/* ---- derivatives ---- */

static PyObject *program_grad(PyObject *self, PyObject *args) {
    const char *outs, *wrt;
    if (!PyArg_ParseTuple(args, "ss", &outs, &wrt)) return NULL;
    return program_wrap(state_of_self(self), tg_program_grad(handle_of(self), outs, wrt));
}

static PyObject *program_split(PyObject *self, PyObject *keep) {
    State *state = state_of_self(self);
    const char *names = PyUnicode_AsUTF8AndSize(keep, NULL);
    tg_program *forward, *backward;
    if (!names) return NULL;
    tg_status status = tg_program_split(handle_of(self), names, &forward, &backward);
    if (status) return raise_status(state, status, PyExc_ValueError);
    PyObject *first = program_wrap(state, forward), *second = program_wrap(state, backward);
    if (first && second) return Py_BuildValue("NN", first, second);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return NULL;
}

/* ---- ends ---- */

typedef tg_status (*EndAt)(const tg_program *, size_t, tg_end *);

static PyObject *ends(PyObject *self, size_t count, EndAt at) {
    PyObject *list = PyTuple_New((Py_ssize_t)count);
    for (size_t k = 0; list && k < count; k++) {
        tg_end end;
        tg_status status = at(handle_of(self), k, &end);
        PyObject *item =
            status ? raise_status(state_of_self(self), status, PyExc_ValueError) : end_tuple(&end);
        if (!item || PyTuple_SetItem(list, (Py_ssize_t)k, item)) Py_CLEAR(list);
    }
    return list;
}

static PyObject *program_inputs(PyObject *self, PyObject *unused) {
    (void)unused;
    return ends(self, tg_program_num_inputs(handle_of(self)), tg_program_input);
}

static PyObject *program_results(PyObject *self, PyObject *unused) {
    (void)unused;
    return ends(self, tg_program_num_results(handle_of(self)), tg_program_result);
}

/* ---- inspection ---- */

static PyObject *text_of(PyObject *self, PyObject *what,
                         char *(*get)(const tg_program *, const char *)) {
    const char *kind = PyUnicode_AsUTF8AndSize(what, NULL);
    if (!kind) return NULL;
    Unlocked u;
    unlock(&u);
    char *text = get(handle_of(self), kind);
    relock(&u);
    return take_text(state_of_self(self), text);
}

static PyObject *program_ir(PyObject *self, PyObject *stage) { return text_of(self, stage, tg_ir); }

static PyObject *program_code(PyObject *self, PyObject *kind) {
    return text_of(self, kind, tg_code);
}

static PyObject *program_explain(PyObject *self, PyObject *unused) {
    (void)unused;
    return take_text(state_of_self(self), tg_explain(handle_of(self)));
}

static PyObject *program_cost(PyObject *self, PyObject *graph) {
    State *state = state_of_self(self);
    tg_cost c;
    if (!PyObject_TypeCheck(graph, state->graph_type)) {
        PyErr_SetString(PyExc_TypeError, "cost: expected a graph");
        return NULL;
    }
    tg_status status = tg_program_cost(handle_of(self), ((GraphObject *)graph)->handle, &c);
    if (status) return raise_status(state, status, PyExc_ValueError);
    return Py_BuildValue("LLLLLLLL", (long long)c.traversals, (long long)c.edge_visits,
                         (long long)c.flops, (long long)c.bytes_read, (long long)c.bytes_written,
                         (long long)c.staging_bytes, (long long)c.edge_buffer_bytes,
                         (long long)c.node_buffer_bytes);
}

static PyObject *program_stats(PyObject *self, PyObject *unused) {
    (void)unused;
    tg_stats s;
    tg_status status = tg_program_stats(handle_of(self), &s);
    if (status) return raise_status(state_of_self(self), status, PyExc_ValueError);
    return Py_BuildValue("LLLLd", (long long)s.hits, (long long)s.misses, (long long)s.disk_hits,
                         (long long)s.compiles, s.compile_ms);
}

static PyMethodDef methods[] = {
    {"run", program_run, METH_VARARGS, "(graph, names, arrays, threads): runs once."},
    {"reference", program_reference, METH_VARARGS,
     "(graph, names, arrays, threads): on the interpreter."},
    {"typed", program_typed, METH_VARARGS,
     "(names, arrays) -> the Program for these dtypes and shapes"},
    {"grad", program_grad, METH_VARARGS, "(outs, wrt) -> Program; names separated by spaces"},
    {"split", program_split, METH_O, "(keep) -> (forward, backward) of a gradient program"},
    {"inputs", program_inputs, METH_NOARGS, "((name, role, dtype, shape), ...)"},
    {"results", program_results, METH_NOARGS, "((name, role, dtype, shape), ...)"},
    {"ir", program_ir, METH_O, "The IR at a stage."},
    {"code", program_code, METH_O, "The code of a kind."},
    {"explain", program_explain, METH_NOARGS, "What ran and why, a line each."},
    {"cost", program_cost, METH_O, "(graph) -> the counts of tg_cost, in its order"},
    {"stats", program_stats, METH_NOARGS, "(hits, misses, disk_hits, compiles, compile_ms)"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {{Py_tp_dealloc, program_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, (char *)"A tg_program."},
                              {0, NULL}};

PyType_Spec program_spec = {
    .name = "tiga._tiga.Program",
    .basicsize = sizeof(ProgramObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
