"""The founding documents' programs, unchanged, taken from the documents when the test runs."""

import contextlib
import io

import numpy as np
import pytest
import tiga as tg
from conftest import programs, seed_text

torch = pytest.importorskip("torch")


def program(number: str, *needles: str) -> str:
    """The one program of a document that contains the needles."""
    found = [p for p in programs(seed_text(number)) if all(n in p for n in needles)]
    assert found, f"document {number} has no program with {needles}"
    return found[0]


def run(code: str, **names: object) -> tuple[dict, str]:
    scope: dict = {"tg": tg, "torch": torch, **names}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<document>", "exec"), scope)
    return scope, out.getvalue()


def test_first_program():
    code = program("001", "class WeightedSum", "torch.autograd.grad")
    scope, shown = run(code)
    np.testing.assert_allclose(scope["out"].tolist(), [2.1, 1.2, 1.8], rtol=1e-6)
    assert scope["dx"].tolist() == [1.0, 1.0, 0.5]
    assert scope["dw"].tolist() == [1.0, 3.0, 2.0, 1.0, 2.0]
    assert len(shown.splitlines()) == 2


def test_ndata_call():
    line = next(s for s in seed_text("001").splitlines() if s.startswith("kernel(graph=ring, ndata="))

    class Diffusion(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return edge.conductivity * (src.u - dst.u)

        def node(self, dst, aggregate, dt):
            return dst.u + dt * aggregate

    ring = tg.Graph.from_coo([0, 1, 2, 3], [1, 2, 3, 0])
    u, c = torch.tensor([1.0, 2.0, 4.0, 8.0]), torch.tensor([1.0, 2.0, 3.0, 4.0])
    scope, _ = run(f"result = {line}", kernel=Diffusion(), ring=ring, u=u, c=c)
    np.testing.assert_allclose(scope["result"].tolist(), [3.8, 1.9, 3.6, 6.8], rtol=1e-6)


def attention_reference(key, query, value, scale):
    score = (key[None] * query[:, None]).sum(-1) * scale
    return torch.softmax(score, 1) @ value


def test_attention_class():
    scope, _ = run(program("001", "class Attention"))
    n = 5
    dst, src = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    graph = tg.Graph.from_coo(src, dst)
    key, query, value = (torch.randn(n, 3, dtype=torch.float64) for _ in range(3))
    out = scope["Attention"]()(graph=graph, src={"key": key, "value": value}, dst={"query": query}, scale=0.5)
    torch.testing.assert_close(out, attention_reference(key, query, value, 0.5))


def test_explain_lines():
    scope, _ = run(program("001", "class WeightedSum", "torch.autograd.grad"))
    kernel = scope["WeightedSum"]()
    kernel(graph=scope["graph"], src={"x": scope["x"]}, dst={"bias": scope["bias"]}, edge={"weight": scope["weight"]})
    lines = kernel.explain().splitlines()
    assert [line.partition(":")[0] for line in lines[:4]] == ["backend", "provider", "lowering", "passes"]
    assert lines[-1] == "variant cache: hits=0, misses=1"


def test_neighbor_mean():
    scope, _ = run(program("000", "class NeighborMean"))
    graph = tg.Graph.from_coo([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2], num_src=4, num_dst=4)
    out = scope["NeighborMean"]()(graph=graph, src={"x": torch.tensor([1.0, 2.0, 3.0, 4.0])}, dst={})
    np.testing.assert_allclose(out.tolist(), [1.0, 1.5, 2.0, float("nan")])


def test_one_pass_variance():
    graph = tg.Graph.from_coo([0, 1, 2, 1], [0, 0, 0, 1], num_src=3, num_dst=3)
    scope, _ = run(program("000", "class Variance", "combine"), graph=graph, x=torch.tensor([1.0, 2.0, 6.0]))
    np.testing.assert_allclose(scope["out"].tolist(), [14 / 3, 0.0, float("nan")], rtol=1e-6)
    assert "componentwise-additive" in scope["Variance"]().mlir()


class Edges:
    """What the document's loop calls: edges_into(i), and edge(src, dst, edge) of the edge at hand."""

    def __init__(self, dst, *messages):
        self.dst, self.messages, self.at = dst, messages, None

    def edges_into(self, i):
        for self.at in (self.dst == i).nonzero().flatten():
            yield self.at

    def __call__(self, src, dst, edge):
        return [m[self.at] for m in self.messages]


def by_the_loop(own, num_dst, dst, *messages):
    """The document's loop, run as it is written, over one of its reducers."""
    loop, edge, out = (
        excerpt("000", "for i in range(num_dst):", "This shows the logical order"),
        Edges(dst, *messages),
        {},
    )

    def identity():
        start = own.identity()
        numbers = [torch.tensor(v, dtype=torch.float64) for v in (start if isinstance(start, tuple) else [start])]
        return tuple(numbers) if isinstance(start, tuple) else numbers[0]

    names = {"lift": lambda m: own.lift(*m), "combine": own.combine, "finalize": own.finalize, "identity": identity}
    names |= {"edge": edge, "edges_into": edge.edges_into, "src": None, "dst": None, "num_dst": num_dst, "out": out}
    run(loop, **names)
    return torch.stack([out[i] for i in range(num_dst)])


def test_every_program_of_the_reducers_document():
    """Each runs as it stands, and each of its reducers is what its loop says, in values and gradients."""
    found = programs(seed_text("000"))
    assert len(found) == 4
    rng = np.random.default_rng(3)
    dst = torch.from_numpy(rng.integers(0, 4, 30))
    graph = tg.Graph.from_coo(rng.integers(0, 9, 30), dst.numpy(), num_src=9, num_dst=5)
    scope: dict = {"graph": graph, "x": torch.from_numpy(rng.standard_normal(9))}
    for code in found:
        scope |= run(code, **scope)[0]
    owns = [scope[name]() for name in ("Variance", "Product", "Softmax")]
    for own, proof in zip(owns, ("componentwise-additive", "product", "stable-weighted")):

        class Kernel(tg.MessagePassing):
            reducer = own

            def edge(self, src, dst, edge):
                return self.reducer(edge.a, edge.b) if proof == "stable-weighted" else self.reducer(edge.a)

        names = "ab" if proof == "stable-weighted" else "a"
        fields = {k: torch.from_numpy(rng.standard_normal(30)).requires_grad_() for k in names}
        kernel = Kernel()
        y = kernel(graph=graph, edge=fields)
        want = by_the_loop(own, 5, dst, *fields.values())
        torch.testing.assert_close(y, want, equal_nan=True)
        grads = [torch.autograd.grad(v[:4].sum(), list(fields.values())) for v in (y, want)]
        torch.testing.assert_close(*grads)
        assert f"proven {proof}" in kernel.explain() and kernel.cost(graph).traversals == 1


def test_the_reducers_document_by_the_way():
    """Its single lines: one message packed, and a reducer's text."""
    code = excerpt(
        "000", "def edge(self, src, dst, edge):\n    return self.reducer(src.value)", "\u2022 At least one message"
    )
    scope, _ = run(code)
    variance = run(program("000", "class Variance").partition("out = ")[0])[0]["Variance"]
    kernel = type("Kernel", (tg.MessagePassing,), {"edge": scope["edge"], "reducer": variance()})()
    graph = tg.Graph.from_coo([0, 1], [0, 0], num_src=2)
    assert kernel(graph=graph, src={"value": torch.tensor([1.0, 3.0])}).tolist() == [1]
    line = next(s for s in seed_text("000").splitlines() if s.startswith("reducer.mlir(message_dtypes"))
    text = eval(line.partition(" captures")[0], {"tg": tg, "reducer": variance()})
    assert 'sym_name = "user_mean"' in text and "gf.reducer" in text


def test_online_softmax_by_hand():
    scope, _ = run(program("000", "class Softmax", "combine"))

    class Weighted(tg.MessagePassing):
        reducer = scope["Softmax"]()

        def edge(self, src, dst, edge):
            return self.reducer(src.s, src.v)

    graph = tg.Graph.from_coo([0, 1, 2], [0, 0, 0], num_src=3)
    out = Weighted()(
        graph=graph, src={"s": torch.tensor([0.0, 1.0, -float("inf")]), "v": torch.tensor([1.0, 2.0, 3.0])}
    )
    np.testing.assert_allclose(out.tolist(), [(1 + 2 * np.e) / (1 + np.e)], rtol=1e-6)


def test_product_of_gates():
    scope, _ = run(program("000", "class Product", "combine"))
    p = torch.tensor([0.0, 0.5, 4.0], requires_grad=True)
    y = scope["GateReliability"]()(graph=tg.Graph.from_coo([0, 0, 0], [0, 0, 0]), edge={"open_probability": p})
    y.sum().backward()
    assert (y.tolist(), p.grad.tolist()) == ([0], [2, 0, 0])


def test_torch_interop():
    scope, _ = run(interop_source())
    x = scope["x"]
    expected = x.roll(1) + x.roll(-1)
    torch.testing.assert_close(scope["output"], expected)
    assert scope["round_trip"].data_ptr() == x.data_ptr()
    assert scope["kernel"].schedules[0].resources


def excerpt(number: str, start: str, end: str) -> str:
    """A document's text from one line on, up to another."""
    text = seed_text(number)
    first = text.index(start)
    return text[first : text.index(end, first)]


def test_tensor_matmul():
    scope, _ = run(excerpt("002", '"""Native Tiga Tensor matmul', "# Inspect the semantic Tensor IR"))
    lhs, rhs, cotangent = (scope[n].numpy() for n in ("lhs", "rhs", "cotangent"))
    np.testing.assert_allclose(scope["output"].numpy(), lhs @ rhs)
    np.testing.assert_allclose(scope["dlhs"].numpy(), cotangent @ rhs.T)
    np.testing.assert_allclose(scope["drhs"].numpy(), lhs.T @ cotangent)
    assert '"gf_tensor.matmul"' in scope["output"].mlir()


def test_joint_autograd():
    scope, _ = run(excerpt("002", '"""One inspectable execution DAG', "# Inspect: plan.explain()"))
    assert scope["value"].item() == 13 and scope["dx"].to_torch(copy=True).tolist() == [4, 6]
    assert "forward" in scope["plan"].explain()


def test_linear_recurrence():
    code = excerpt("002", '"""A causal linear recurrence', "# Inspect: output.execution")
    scope, _ = run(code.replace('device="cuda"', 'device="cpu"'))
    q, k, v = (scope[n] for n in ("q_torch", "k_torch", "v_torch"))
    state = torch.einsum("lsk,lsv->lskv", k, v).cumsum(1)
    torch.testing.assert_close(scope["actual"], torch.einsum("lsk,lskv->lsv", q, state), rtol=1e-4, atol=1e-4)


def interop_source() -> str:
    """torch_interop.py: it stands after its own docstring."""
    return excerpt("002", '"""Default Torch interface, plus', "# Inspect: kernel.explain(), kernel.schedules")
