"""Threads, interruption, pickling into other processes, interplay with torch."""

import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import tiga as tg

torch = pytest.importorskip("torch")


class Attention(tg.MessagePassing):
    reducer = tg.online_softmax(empty=0)

    def edge(self, src, dst, edge):
        score = (src.k * dst.q).sum(-1, keepdim=True) + edge.w.unsqueeze(-1)
        return self.reducer(score, src.v)


class Network(tg.MessagePassing):
    reducer = tg.mean(empty=0)

    def edge(self, src, dst, edge, W):
        return tg.relu(tg.cat([src.k, dst.q, edge.w.unsqueeze(-1)], -1) @ W)


@pytest.fixture(scope="module")
def power_law():
    """A power law of degrees, and one node that 100,000 edges enter."""
    rng = np.random.default_rng(1)
    nodes, edges = 5000, 60_000
    dst = np.minimum((rng.pareto(1.2, edges) * 5).astype(np.int64), nodes - 1)
    dst = np.concatenate([dst, np.full(100_000, 17)])
    src = rng.integers(0, nodes, len(dst))
    order = rng.permutation(len(dst))
    return tg.Graph.from_coo(src[order], dst[order], num_src=nodes, num_dst=nodes)


def bits(kernel, graph, **params):
    """Results and gradients as bytes."""
    generator = torch.Generator().manual_seed(0)
    fields = {n: torch.randn(graph.num_src, 4, generator=generator, requires_grad=True) for n in "kqv"}
    w = torch.randn(graph.num_edges, generator=generator, requires_grad=True)
    params = {n: p.clone().requires_grad_(True) for n, p in params.items()}
    used = {n: fields[n] for n in ("kq" if params else "kqv")}
    y = kernel(graph=graph, ndata=used, edge={"w": w}, **params)
    grads = torch.autograd.grad(y.square().sum(), [*used.values(), w, *params.values()])
    return [t.detach().numpy().tobytes() for t in (y, *grads)]


@pytest.mark.parametrize("name", ["attention", "network"])
def test_bits_do_not_depend_on_threads(power_law, name):
    W = torch.randn(9, 3, generator=torch.Generator().manual_seed(2))
    try:
        results = []
        for count in (1, 2, 3, 8):
            tg.set_num_threads(count)
            assert tg.get_num_threads() == count
            results.append(bits(Attention(), power_law) if name == "attention" else bits(Network(), power_law, W=W))
    finally:
        tg.set_num_threads(0)
    assert all(r == results[0] for r in results)


def test_torch_threads_are_respected():
    before = torch.get_num_threads()
    graph = tg.Graph.regular(4, 1)
    x = torch.ones(4, 4)
    try:
        torch.set_num_threads(1)
        Attention()(graph=graph, ndata={"k": x, "q": x, "v": x}, edge={"w": torch.ones(4)})
        from tiga import _tiga

        assert _tiga.num_threads() == 1 or "TIGA_THREADS" in os.environ
    finally:
        torch.set_num_threads(before)


def test_calls_from_eight_threads(power_law):
    expected, results = bits(Attention(), power_law), []
    threads = [threading.Thread(target=lambda: results.append(bits(Attention(), power_law))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 8 and all(r == expected for r in results)


@pytest.fixture
def control_c():
    """Python's own answer to SIGINT, also where the tests were started with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("control_c")
def test_control_c_ends_a_call():
    graph = tg.Graph.regular(200_000, 32)
    x = torch.randn(200_000, 64)

    class Slow(tg.MessagePassing):
        def edge(self, src, dst, edge):
            y = src.x - dst.x  # of both ends, so that the work stays on the edges
            for _ in range(24):
                y = tg.tanh(y * 1.5)
            return y

    kernel, small = Slow(), tg.Graph.regular(200_000, 1)
    kernel(graph=small, ndata={"x": x})  # compiled
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        kernel(graph=graph, ndata={"x": x})
    assert time.monotonic() - start < 0.3 + 1.5
    assert kernel(graph=small, ndata={"x": x}).shape == x.shape


def test_other_python_threads_run_during_a_call():
    graph, ticks, stop = tg.Graph.regular(200_000, 16), [], threading.Event()
    x = np.random.default_rng(0).standard_normal((200_000, 32)).astype(np.float32)

    class Work(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return tg.exp(tg.tanh(src.x - dst.x))

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    kernel = Work()
    kernel(graph=graph, ndata={"x": x})
    thread = threading.Thread(target=tick)
    thread.start()
    try:
        start = time.monotonic()
        kernel(graph=graph, ndata={"x": x})
        end = time.monotonic()
    finally:
        stop.set()
        thread.join()
    inside = [t for t in ticks if start < t < end]
    assert len(inside) > 2 or end - start < 0.02


def run_python(code, **env):
    root = pathlib.Path(tg.__file__).resolve().parents[1]
    full = {**os.environ, "PYTHONPATH": str(root), **env}
    return subprocess.run([sys.executable, "-c", code], env=full, capture_output=True, text=True, timeout=300)


def test_torch_is_not_imported_unasked():
    done = run_python("""
import sys, numpy as np, tiga as tg
class K(tg.MessagePassing):
    def edge(self, src, dst, edge): return np.exp(src.x)
g = tg.Graph.regular(3, 1)
K()(graph=g, src={"x": np.ones(3)})
assert "torch" not in sys.modules
""")
    assert done.returncode == 0, done.stderr


def test_the_oracle_needs_no_code_generator():
    code = """
import numpy as np, tiga as tg
g = tg.Graph.regular(3, 1)
print(tg.formula("out = sum(src.x * 3.25)")(graph=g, src={"x": np.ones(3)}).tolist())
"""
    missing = {"TIGA_CODEGEN": "/nowhere", "TIGA_CACHE_DIR": "/nowhere"}
    assert run_python(code, TIGA_TENSOR_BACKEND="python-oracle", **missing).stdout.strip() == "[3.25, 3.25, 3.25]"
    assert "python-oracle" in run_python(code, TIGA_TENSOR_BACKEND="fortran").stderr


def test_fork_after_a_call():
    done = run_python("""
import os, numpy as np, tiga as tg
class K(tg.MessagePassing):
    def edge(self, src, dst, edge): return src.x
g, x = tg.Graph.regular(50000, 8), np.ones(50000, np.float32)
first = K()(graph=g, src={"x": x}).tobytes()
pid = os.fork()
if pid == 0:
    os._exit(0 if K()(graph=g, src={"x": x}).tobytes() == first else 1)
assert os.waitpid(pid, 0)[1] == 0
""")
    assert done.returncode == 0, done.stderr


TORCH_CALL = """
import os, torch, tiga as tg
class K(tg.MessagePassing):
    def edge(self, src, dst, edge): return src.x * edge.w
def call(torch_threads=None):
    g = tg.Graph.regular(50000, 8)
    x = torch.linspace(-1, 1, 50000).requires_grad_()
    w = torch.linspace(0, 3, 400000).requires_grad_()
    (torch.ones(2_000_000) * 2).sum()  # wakes torch's threads
    out = K()(graph=g, src={"x": x}, edge={"w": w})
    return b"".join(t.detach().numpy().tobytes() for t in (out, *torch.autograd.grad(out.sum(), (x, w))))
"""


def test_a_torch_call_has_the_same_bits_on_torchs_threads_and_on_tigas():
    code = TORCH_CALL + "import hashlib; torch.set_num_threads(2); print(hashlib.sha256(call()).hexdigest())"
    digests = {run_python(code, TIGA_OFF=off).stdout for off in ("", "openmp")}
    assert len(digests) == 1 and len(digests.pop().strip()) == 64


def test_fork_after_a_torch_call():
    code = """
first = call()
pid = os.fork()
if pid == 0:
    torch.set_num_threads(1)  # as torch's own workers do: its runtime lacks its threads here
    tg.set_num_threads(2)
    os._exit(0 if call() == first else 1)
assert os.waitpid(pid, 0)[1] == 0
"""
    done = run_python(TORCH_CALL + code)
    assert done.returncode == 0, done.stderr


def test_a_bug_of_tigas_names_the_program_that_it_keeps(tmp_path):
    broken = pathlib.Path(tg._tiga.__file__).resolve().parents[1] / "tests" / "libbroken_codegen.so"
    if not broken.exists():
        pytest.skip(f"{broken} is not built")
    code = """
import numpy as np, tiga as tg
try:
    tg.formula("out = sum(src.x)")(graph=tg.Graph.regular(3, 1), src={"x": np.ones(3)})
except tg.TigaBug as bug:
    print(bug)
"""
    env = {"TIGA_CODEGEN": str(broken), "TIGA_CACHE_DIR": str(tmp_path), "TMPDIR": str(tmp_path)}
    said = run_python(code, **env).stdout
    assert "a seeded bug" in said, said
    (kept,) = tmp_path.glob("tiga-bug-*.mlir")
    assert str(kept) in said and "gf_mp.reduce" in kept.read_text()


def test_graphs_pickle_into_another_process():
    blob = pickle.dumps(tg.Graph.from_coo([2, 0], [1, 1], num_src=4, num_dst=2)).hex()
    done = run_python(f"import pickle; print(pickle.loads(bytes.fromhex('{blob}')))")
    assert done.stdout.strip() == "Graph(num_src=4, num_dst=2, num_edges=2)", done.stderr


def test_python_m_tiga():
    root = pathlib.Path(tg.__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "tiga"], env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = dict(line.partition(": ")[::2] for line in done.stdout.splitlines() if ": " in line)
    assert lines["JIT compile works here"] == "yes"
    assert int(lines["threads"]) >= 1 and lines["cache folder"]


def test_torch_compile_breaks_cleanly():
    x = torch.ones(4, requires_grad=True)
    graph = tg.Graph.regular(4, 1)

    class Copy(tg.MessagePassing):
        def edge(self, src, dst, edge):
            return src.x * 3

    kernel = Copy()

    @torch.compile(backend="eager")
    def model(x):
        return kernel(graph=graph, src={"x": x * 2}).sum() + 1

    y = model(x)
    y.backward()
    assert y == 25 and x.grad.tolist() == [6] * 4


def test_memory_and_trim():
    assert tg.memory() >= 0
    tg.trim()


def test_set_num_threads_refuses():
    with pytest.raises(ValueError, match="-1"):
        tg.set_num_threads(-1)


def test_out_of_memory_names_the_result():
    """A result that no memory holds, in every framework: nothing ran."""
    program = """
import resource, numpy as np, tiga as tg
resource.setrlimit(resource.RLIMIT_AS, (1 << 36, 1 << 36))
graph, formula = tg.Graph.from_coo([0, 1, 2], [1, 2, 0]), tg.formula(f"out = broadcast_to(node.x, -1, {1 << 38})")
x = np.ones((3, 1), np.float32)
makers = [lambda: x, lambda: tg.from_numpy(x)]
try:
    import torch
    makers.append(lambda: torch.ones(3, 1))
except ImportError:
    pass
for make in makers:
    try:
        out = formula(graph=graph, ndata={"x": make()})
        getattr(out, "numpy", lambda: None)()
        print("ran")
    except MemoryError as error:
        said = str(error)
        assert "'out'" in said and str(3 * 4 << 38) in said and "(3, 274877906944)" in said, said
        print("refused")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() and set(done.stdout.split()) == {"refused"}, done.stdout + done.stderr
