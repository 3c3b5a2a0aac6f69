"""The weighted sum against loops written by hand for the machine (limit.c), on one thread and on all: how far
Tiga is from what the machine allows. Then 2 threads over 1, and sizes that double.

Both sides write into memory that they have written before: a fresh result costs page faults that are neither's
doing. Of each hand-written loop the fastest of its variants is taken (hints for L1, for L2, none; stores past
the cache or not), found before anything is timed. Of "half the size" a ratio of 0.5 is linear."""

import ctypes
from itertools import product

import numpy as np
import peers
import problems
import torch
from measure import clock
from weighted_sum import WeightedSum
from workload import Workload

ARRAYS = ("row_ptr", "col", "edge", "weight", "x", "of_row", "out")


class Job(ctypes.Structure):
    _fields_ = [
        ("rows", ctypes.c_int64),
        ("edges", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ARRAYS),
        ("width", ctypes.c_int64),
        ("ahead", ctypes.c_int64),
        ("stream", ctypes.c_int64),
    ]


def library():
    path = peers.build / "bench" / "liblimit.so"
    return ctypes.CDLL(path) if path.exists() else None


def aligned(given):
    """A copy of a tensor that starts at a cache line."""
    room = torch.zeros(given.numel() + 16, dtype=given.dtype)
    skip = -room.data_ptr() // room.element_size() % 16
    copy = room[skip : skip + given.numel()].view(given.shape)
    copy.copy_(given)
    return copy


def job(ahead, stream, **arrays):
    """limit.c's Job; the arrays live as long as it does."""
    made = Job(rows=len(arrays["row_ptr"]) - 1, edges=len(arrays["col"]), ahead=ahead, stream=stream)
    made.width = arrays["x"].shape[1] if arrays["x"].dim() > 1 else 1
    for name, array in arrays.items():
        setattr(made, name, None if array is None else array.data_ptr())
    made.keep = arrays
    return made


def fastest(function, threads, arrays, streams):
    """The function on the variant that is fastest on these arrays."""
    width = arrays["x"].shape[1] if arrays["x"].dim() > 1 else 1
    aheads = (0, 2048 // width, -8192 // width) if width > 1 else (0,)
    works = []
    for ahead, stream in product(aheads, streams if width > 1 else (0,)):
        made = job(ahead, stream, **arrays)
        works.append(lambda made=made: function(ctypes.byref(made), threads))
    return min(works, key=lambda work: sorted(clock(work) for _ in range(4))[1])


def forward_by_hand(c, problem, x, weight, threads):
    out = aligned(torch.zeros(x.shape))
    row_ptr, col = torch.from_numpy(problem.row_ptr.astype(np.int64)), problem.src.to(torch.int32)
    arrays = {"row_ptr": row_ptr, "col": col, "edge": None, "weight": weight, "x": x, "out": out}
    work = fastest(c.limit_sums, threads, arrays, (0, 1))

    def run():
        work()
        return (out,)

    return run


def backward_by_hand(c, problem, x, weight, cotangent, threads):
    """dx by the transpose, dw by rows."""
    dx, dw = aligned(torch.zeros(x.shape)), aligned(torch.zeros(problem.edges))
    order = torch.argsort(problem.src, stable=True)
    counts = torch.bincount(problem.src, minlength=problem.nodes)
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    turned = {"row_ptr": starts, "col": problem.dst[order].to(torch.int32), "edge": order.to(torch.int32)}
    by_source = fastest(c.limit_sums, threads, turned | {"weight": weight, "x": cotangent, "out": dx}, (0, 1))
    row_ptr, col = torch.from_numpy(problem.row_ptr.astype(np.int64)), problem.src.to(torch.int32)
    own = {"row_ptr": row_ptr, "col": col, "edge": None, "of_row": cotangent, "x": x, "out": dw}
    by_row = fastest(c.limit_products, threads, own, (0,))

    def run():
        by_source(), by_row()
        return dx, dw

    return run


def in_place(program, graph, arrays, threads):
    """A program into results that are written again and again."""
    outs = tuple(map(aligned, program.run(graph, arrays, torch_empty, threads)))
    names, given = program._names, tuple(arrays[k] for k in program.takes) + outs

    def run():
        program.handle.run(graph._handle, names, given, threads)
        return outs

    return run


def torch_empty(shape, code):
    from tiga.interop.torch import empty

    return empty(shape, code)


def traced(problem, x, weight):
    """The kernel's program and its arrays."""
    kernel = WeightedSum()
    trace, arguments = kernel._prepare((), problem.graph, None, {"x": x}, {}, {"weight": weight}, {})
    return trace.program, trace.arrays(kernel, arguments.values)


def both(c, problem, features):
    shape = (features,) if features > 1 else ()
    x, cotangent = (aligned(problem.normal(*shape)) for _ in range(2))
    weight = aligned(problem.normal(rows="edges"))
    program, arrays = traced(problem, x, weight)
    by_name = {program.inputs[k].name: k for k in program.differentiable()}
    wrt = tuple(k for name in ("src.x", "edge.weight") for k in [by_name[name]])
    gradient = program.grad((0,), wrt)
    cores = torch.get_num_threads()
    for threads in sorted({1, cores}):
        name = f"{threads} thread{'s' * (threads > 1)}"
        ours = in_place(program, problem.graph, arrays, threads)
        one = {} if threads == 1 else {"tiga, 1 thread": in_place(program, problem.graph, arrays, 1)}
        hand = {"by hand in C": forward_by_hand(c, problem, x, weight, threads)} if c else {}
        yield Workload(f"weighted sum in place, {name}", features, ours, hand, parts=one)
        if c is None:
            continue
        ours = in_place(gradient, problem.graph, (*arrays, cotangent), threads)
        hand = {"by hand in C": backward_by_hand(c, problem, x, weight, cotangent, threads)}
        yield Workload(f"its gradients in place, {name}", features, ours, hand)


def doubled(nodes, times, features=64):
    """Sizes that double, each against the one before."""
    sides = []
    for k in range(times + 1):
        problem = problems.regular(nodes << k)
        program, arrays = traced(problem, problem.normal(features), problem.normal(rows="edges"))
        sides.append(in_place(program, problem.graph, arrays, torch.get_num_threads()))
    for k, (half, whole) in enumerate(zip(sides, sides[1:]), 1):
        yield Workload(f"weighted sum, N = {nodes << k}", features, whole, {}, parts={"half the size": half})


def workloads(quick):
    c = library()
    if c is None:
        print("missing: bench/liblimit.so; its rows are left out")
    problem = problems.regular(13107 if quick else 131072, index=np.int32)
    for features in (1, 32) if quick else (1, 16, 32, 64, 128):
        yield from both(c, problem, features)
    yield from doubled(4096 if quick else 32768, 2 if quick else 4)
