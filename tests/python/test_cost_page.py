"""docs/cost.md runs, and what it counts by hand is what is counted."""

import re

import numpy as np
import pytest
import tiga as tg
from conftest import ROOT


def test_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "cost.md").read_text(), re.DOTALL)
    scope = {}
    for block in blocks:
        exec(block, scope)
    assert len(blocks) == 3 and scope["both"].traversals == 2


GRAPH = tg.Graph.from_coo([0, 1, 2, 2, 0], [1, 1, 0, 2, 0])
N, E = 3, 5


@pytest.mark.parametrize(
    "text, flops",
    [
        ("out = sum(src.x)", 4 * E),
        ("out = sum(exp(edge.x))", 8 * E),
        ("out = sum(edge.x > 0)", 8 * E),
        ("out = max(edge.x)", 8 * E + 4 * N),
        ("out = softmax(sum(edge.x, axis=-1), edge.x)", (4 + 4 + 8) * E),
        ("out = sum(sum(edge.x, axis=-1))", (4 + 1) * E),
        ("out = sum(exp(edge.x @ W))", (2 * 4 * 2 + 2 + 2) * E),
        ("out = sum(src.x[1:3])", 2 * E),
        ("out = exp(dst.x)", 4 * N),
        ("out = sum(exp(exp(W)[:, 0] * edge.x))", 8 + 12 * E),
        ("out = sum(exp(src.x))", 4 * N + 4 * E),  # once a node
        ("out = sum(src.x @ W)", 2 * 4 * 2 * N + 2 * E),
    ],
)
def test_operations(text, flops):
    formula = tg.formula(text)
    given = {"x": np.ones((N, 4), np.float32)}
    params = {"W": np.ones((4, 2), np.float32)} if "W" in text else {}
    formula(graph=GRAPH, src=given, dst=given, edge={"x": np.ones((E, 4), np.float32)}, **params)
    assert formula.cost(GRAPH).flops == flops
