"""What functions read besides their arguments, and when a kernel is traced again."""

import copy
import functools
import pickle
import types

import numpy as np
import pytest
import tiga as tg
from tiga import inspection

torch = pytest.importorskip("torch")

RING = tg.Graph.from_coo([0, 1, 2], [1, 2, 0])
X = torch.tensor([1.0, 2.0, 3.0])
GLOBAL_SCALE = 2.0
GLOBAL_W = torch.tensor(3.0)


class Counting(tg.MessagePassing):
    """Counts how often edge() runs."""

    runs = 0


def run(kernel, **params):
    return kernel(graph=RING, src={"x": X}, **params).tolist()


def test_one_trace_for_many_instances():
    class Kernel(Counting):
        def __init__(self):
            self.reducer = tg.mean()

        def edge(self, src, dst, edge):
            Kernel.runs += 1
            return src.x

    for _ in range(5):
        assert run(Kernel()) == [3, 1, 2]
    assert Kernel.runs == 1


def test_a_redefined_class_is_traced_again():
    results = []
    for scale in (1, 2):

        class Kernel(tg.MessagePassing):
            def edge(self, src, dst, edge):
                return src.x * scale

        results.append(run(Kernel()))
    assert results == [[3, 1, 2], [6, 2, 4]]


def test_float_params_compile_nothing():
    class Kernel(Counting):
        def edge(self, src, dst, edge, dt):
            Kernel.runs += 1
            return src.x * dt

    kernel = Kernel()
    assert run(kernel, dt=0.5) == [1.5, 0.5, 1.0]
    assert run(kernel, dt=2.0) == [6, 2, 4]
    assert Kernel.runs == 1 and kernel.cache_info == tg.CacheInfo(1, 1)


def test_an_int_param_is_fixed_where_its_value_is_needed():
    class Kernel(Counting):
        def edge(self, src, dst, edge, k, n):
            Kernel.runs += 1
            return src.x**k * n

    kernel = Kernel()
    assert run(kernel, k=2, n=1) == [9, 1, 4]
    assert run(kernel, k=2, n=5) == [45, 5, 20]
    assert Kernel.runs == 1
    assert run(kernel, k=3, n=5) == [135, 5, 40]
    assert Kernel.runs == 2


def test_int_params_as_shapes_and_ranges():
    class Heads(tg.MessagePassing):
        def edge(self, src, dst, edge, heads):
            parts = src.x.reshape(-1, heads, 6 // int(heads))
            return sum(parts[:, k] for k in range(heads))

    x = np.arange(18, dtype=np.float32).reshape(3, 6)
    for heads in (2, 3):
        out = Heads()(graph=RING, src={"x": x}, heads=heads)
        np.testing.assert_array_equal(out, x.reshape(3, heads, -1).sum(1)[[2, 0, 1]])


def test_static_params_are_part_of_the_key():
    class Kernel(tg.MessagePassing):
        def edge(self, src, dst, edge, mode, flag):
            return src.x if mode == "plain" and not flag else -src.x

    assert run(Kernel(), mode="plain", flag=False) == [3, 1, 2]
    assert run(Kernel(), mode="minus", flag=False) == [-3, -1, -2]
    assert run(Kernel(), mode="plain", flag=True) == [-3, -1, -2]


def test_numbers_in_a_static_param_keep_their_kind():
    class Scaled(tg.MessagePassing):
        reducer = tg.max()

        def edge(self, src, dst, edge, p):
            return src.x * p[0]

    x = np.array([3, 4, 5])
    dtypes = [Scaled()(graph=RING, src={"x": x}, p=(number,)).dtype for number in (1, 1.0, 2)]
    assert dtypes == [np.int64, np.float32, np.int64]

    class Divided(Scaled):
        def edge(self, src, dst, edge, p):
            return src.x / p[0]

    signs = [Divided()(graph=RING, src={"x": np.ones(3)}, p=(zero,))[0] for zero in (0.0, -0.0)]
    assert signs == [np.inf, -np.inf]


def test_a_default_that_is_gone_traces_again():
    class Scaled(tg.MessagePassing):
        def edge(self, src, dst, edge, p=2.0):
            return src.x * p

    assert run(Scaled()) == [6, 2, 4]
    Scaled.edge.__defaults__ = None
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'p'"):
        run(Scaled())


def test_a_changed_number_traces_again():
    class Kernel(tg.MessagePassing):
        def __init__(self):
            self.scale = 1.0
            self.shifts = [1.0, 2.0]

        def edge(self, src, dst, edge):
            return src.x * self.scale * GLOBAL_SCALE + self.shifts[0]

    kernel = Kernel()
    assert run(kernel) == [7, 3, 5]
    kernel.scale = 2.0
    assert run(kernel) == [13, 5, 9]
    kernel.shifts[0] = 0.0
    assert run(kernel) == [12, 4, 8]
    global GLOBAL_SCALE
    GLOBAL_SCALE = 1.0
    assert run(kernel) == [6, 2, 4]
    GLOBAL_SCALE = 2.0
    assert run(kernel) == [12, 4, 8]
    assert kernel.cache_info == tg.CacheInfo(1, 4)


def test_a_changed_number_compiles_nothing():
    class Kernel(tg.MessagePassing):
        def __init__(self):
            self.scale, self.shift, self.power = 1.0, 1, 2

        def edge(self, src, dst, edge):
            assert isinstance(self.scale, float) and self.shift in range(10)
            offset = self.shift if self.scale > 0 else 0
            return src.x**self.power * self.scale + offset

    kernel = Kernel()
    assert run(kernel) == [10, 2, 5]
    programs = {id(kernel.last_variant.inputs)}
    for kernel.scale, kernel.shift, expected in ((2.0, 3, [21, 5, 11]), (0.5, 0, [4.5, 0.5, 2])):
        assert run(kernel) == expected
        programs.add(id(kernel.last_variant.inputs))
    assert len(programs) == 1 and kernel.cache_info.misses == 3
    kernel.power = 1
    assert run(kernel) == [1.5, 0.5, 1]
    kernel.scale = -1.0
    assert run(kernel) == [-3, -1, -2]


def test_signed_zero_and_nan_are_values():
    class Kernel(Counting):
        def edge(self, src, dst, edge):
            Kernel.runs += 1
            return src.x / self.by

    kernel = Kernel()
    for by, expected in ((0.0, np.inf), (-0.0, -np.inf), (float("nan"), np.nan), (float("nan"), np.nan)):
        kernel.by = by
        np.testing.assert_equal(run(kernel), [expected] * 3)
    assert Kernel.runs == 3


class Holder:
    pass


def tensors_in(place):
    """A kernel that multiplies by a tensor found at a place; a setter; the name of the input."""
    w = torch.tensor(3.0, requires_grad=True)
    if place == "self":

        class Kernel(tg.MessagePassing):
            def __init__(self):
                self.weight = w

            def edge(self, src, dst, edge):
                return src.x * self.weight.reshape(1)[0]

        kernel = Kernel()
        return kernel, lambda v: setattr(kernel, "weight", v), "self.weight"
    if place == "closure":

        def edge(self, src, dst, edge):
            return w * src.x

        def change(v):
            nonlocal w
            w = v

        return type("Kernel", (tg.MessagePassing,), {"edge": edge})(), change, "closure.w"
    if place == "global":

        def change(v):
            globals()["GLOBAL_W"] = v

        change(w)
        return (
            type("Kernel", (tg.MessagePassing,), {"edge": lambda self, src, dst, edge: src.x * GLOBAL_W})(),
            change,
            "global.GLOBAL_W",
        )
    if place == "default":

        def edge(self, src, dst, edge, w=w):
            return w * src.x

        return (
            type("Kernel", (tg.MessagePassing,), {"edge": edge})(),
            lambda v: setattr(edge, "__defaults__", (v,)),
            "default.w",
        )
    holder = Holder()
    holder.deep = {"list": [w]}

    def edge(self, src, dst, edge):
        return src.x * holder.deep["list"][0]

    return (
        type("Kernel", (tg.MessagePassing,), {"edge": edge})(),
        lambda v: holder.deep["list"].__setitem__(0, v),
        "closure.holder.deep.list.0",
    )


@pytest.mark.parametrize("place", ["self", "closure", "global", "default", "object"])
def test_captured_tensors_are_read_anew_and_differentiable(place):
    kernel, change, name = tensors_in(place)
    for value in (3.0, 5.0):
        w = torch.tensor(value, requires_grad=True)
        change(w)
        y = kernel(graph=RING, src={"x": X})
        assert y.tolist() == (X * value)[[2, 0, 1]].tolist()
        y.sum().backward()
        assert w.grad == 6
    assert kernel.cache_info == tg.CacheInfo(1, 1)
    assert name in [e.name for e in kernel.last_variant.inputs]


def test_a_captured_tensor_of_another_shape_traces_again():
    kernel, change, _ = tensors_in("closure")
    change(torch.tensor(2.0))
    assert run(kernel) == [6, 2, 4]
    change(torch.tensor([1.0, 2.0]))
    assert kernel(graph=RING, src={"x": X[:, None]}).tolist() == [[3, 6], [1, 2], [2, 4]]


def test_numpy_captured_in_a_torch_call_and_torch_in_a_numpy_call():
    w = np.float32([2.0])

    class Kernel(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return src.x[:, None] * w

    assert Kernel()(graph=RING, src={"x": X}).tolist() == [[6], [2], [4]]
    w = torch.tensor([2.0], requires_grad=True)
    out = Kernel()(graph=RING, src={"x": X.numpy()})
    out.sum().backward()
    assert w.grad.tolist() == [6]


def test_modules_inside_edge():
    class Kernel(tg.MessagePassing):
        def __init__(self):
            self.linear = torch.nn.Linear(2, 3)

        def edge(self, src, dst, edge):
            return torch.relu(self.linear(src.x))

    x, kernel = torch.randn(3, 2), Kernel()
    out = kernel(graph=RING, src={"x": x})
    torch.testing.assert_close(out, torch.relu(kernel.linear(x))[[2, 0, 1]])
    out.sum().backward()
    assert kernel.linear.weight.grad.shape == (3, 2) and kernel.linear.bias.grad.shape == (3,)
    kernel.linear.load_state_dict({"weight": torch.zeros(3, 2), "bias": torch.ones(3)})
    assert kernel(graph=RING, src={"x": x}).tolist() == [[1] * 3] * 3
    assert kernel.cache_info.misses == 1


def test_a_kernel_that_is_a_module():
    class Kernel(tg.MessagePassing, torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor(2.0))

        def edge(self, src, dst, edge):
            return src.x * self.weight

    kernel = Kernel()
    kernel(graph=RING, src={"x": X}).sum().backward()
    assert kernel.weight.grad == 6
    assert [n for n, _ in kernel.named_parameters()] == ["weight"]


def helper(x):
    return x * GLOBAL_W


def test_helpers_methods_properties_and_super():
    class Base(tg.MessagePassing):
        @property
        def double(self):
            return self.scale * 2

        def scaled(self, x):
            return helper(x) * self.double

        def edge(self, src, dst, edge):
            return self.scaled(src.x)

    class Kernel(Base):
        scale = 1.0

        def edge(self, src, dst, edge):
            return super().edge(src, dst, edge) + 1

    globals()["GLOBAL_W"] = torch.tensor(1.0)
    kernel = Kernel()
    assert run(kernel) == [7, 3, 5]
    kernel.scale = 2.0
    assert run(kernel) == [13, 5, 9]
    globals()["GLOBAL_W"] = torch.tensor(2.0)
    assert run(kernel) == [25, 9, 17]


def test_decorated_functions():
    def noisy(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)

        return wrapper

    class Kernel(tg.MessagePassing):
        @noisy
        def edge(self, src, dst, edge, k):
            return src.x * k

        @noisy
        def node(self, dst, aggregate):
            return aggregate + 1

    assert run(Kernel(), k=2.0) == [7, 3, 5]


def test_functions_on_the_instance():
    class Kernel(tg.MessagePassing):
        def __init__(self, edge):
            self.edge = edge

    assert run(Kernel(lambda src, dst, edge: src.x + 1)) == [4, 2, 3]
    assert run(Kernel(lambda src, dst, edge: src.x - 1)) == [2, 0, 1]


def test_params_go_where_they_are_named():
    class Kernel(tg.MessagePassing):
        def edge(self, src, dst, edge, **params):
            return src.x * params["a"]

        def node(self, dst, aggregate, b):
            return aggregate + b

    assert run(Kernel(), a=2.0, b=1.0) == [7, 3, 5]


def test_a_param_may_be_called_out():
    class Kernel(tg.MessagePassing):
        def edge(self, src, dst, edge, out):
            return src.x * out

    assert run(Kernel(), out=2.0) == [6, 2, 4]


def test_a_param_or_a_number_as_message_and_as_result():
    class Param(tg.MessagePassing):
        def edge(self, src, dst, edge, v):
            return v

    class Number(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return 1.0

        def node(self, dst, aggregate, v):
            return v

    graph = tg.Graph.from_coo([0, 1, 0], [1, 1, 2], num_src=2)
    v = np.float32([1, 2])
    assert Param()(graph=graph, v=v).tolist() == [[0, 0], [2, 4], [1, 2]]
    assert Number()(graph=graph, v=v).tolist() == [[1, 2]] * 3


def test_traces_of_one_signature_are_bounded():
    class Kernel(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return src.x * self.step

    kernel = Kernel()
    for step in range(40):
        kernel.step = step
        assert run(kernel)[0] == 3 * step
    assert all(len(t) <= 16 for t in Kernel._traces.values())


class Pickled(tg.MessagePassing):
    def __init__(self, scale):
        self.scale = scale
        self.reducer = tg.mean(empty=0)

    def edge(self, src, dst, edge):
        return src.x * self.scale


def test_variants_of_one_object_are_bounded():
    record = inspection.Record()
    for _ in range(1000):
        record.count(object())
    assert record.misses == 1000 and len(record.traces) < 1000 and record.last in record.traces.values()


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda k: pickle.loads(pickle.dumps(k))])
def test_kernels_copy_without_their_caches(clone):
    kernel = Pickled(torch.tensor(2.0))
    assert run(kernel) == [6, 2, 4]
    other = clone(kernel)
    assert run(other) == [6, 2, 4]
    assert other.cache_info == tg.CacheInfo(0, 1)


def test_a_notebook_lambda():
    kernel = types.new_class(
        "Kernel", (tg.MessagePassing,), exec_body=lambda ns: ns.update(edge=lambda self, src, dst, edge: src.x * 2)
    )()
    assert run(kernel) == [6, 2, 4]
