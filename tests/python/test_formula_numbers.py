"""Numbers as parameters of a formula: they never widen the fields that they meet."""

import numpy as np
import pytest

import tiga as tg

EULER = tg.formula("out = node.x + dt * sum(src(node.x))")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dt", [2, 2.0, np.float64(2)])
def test_a_number_takes_the_fields_dtype(dtype, dt):
    out = EULER(graph=tg.Graph.regular(4, 2), ndata={"x": np.ones(4, dtype)}, dt=dt)
    assert out.dtype == dtype
    assert out.tolist() == [5.0] * 4
