"""Reducers as users write them, and the fold that they mean.

Their functions call torch's: on staged values when a kernel captures them, on tensors when `literal` folds a
row as the documentation says it is folded, which is the reference in values and derivatives."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tiga as tg
import torch

inf = float("inf")


def literal(own: tg.Reducer, *messages: torch.Tensor) -> torch.Tensor:
    """A row's result; axis 0 counts its messages."""
    start = own.identity()
    lifted = own.lift(*messages)
    several = isinstance(start, tuple)
    columns = lifted if several else (lifted,)
    columns = [c if isinstance(c, torch.Tensor) else torch.full_like(messages[0], c) for c in columns]
    values = [torch.full_like(c[:1].sum(0), v) for c, v in zip(columns, start if several else (start,))]
    state = tuple(values) if several else values[0]
    for one in zip(*[c.unbind() for c in columns]):
        state = own.combine(state, one if several else one[0])
    return own.finalize(state)


class LogSumExpOfTwo(tg.Reducer):
    """Of two fields in one sweep, and their sum."""

    associative = commutative = True

    def identity(self):
        return -inf, -inf

    def lift(self, a, b):
        return a, b

    def combine(self, left, right):
        return tuple(torch.maximum(x, y) + torch.log1p(torch.exp(-abs(x - y))) for x, y in zip(left, right))

    def finalize(self, state):
        return state[0] + 2 * state[1]


class ComplexProduct(tg.Reducer):
    associative = commutative = True

    def identity(self):
        return 1.0, 0.0

    def lift(self, re, im):
        return re, im

    def combine(self, a, b):
        return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]

    def finalize(self, z):
        return z[0] + 2 * z[1]


class QuaternionProduct(tg.Reducer):
    associative = True

    def identity(self):
        return 1.0, 0.0, 0.0, 0.0

    def lift(self, w, x, y, z):
        return w, x, y, z

    def combine(self, a, b):
        return (
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        )

    def finalize(self, q):
        return q[0] + 2 * q[1] + 3 * q[2] + 4 * q[3]


class MatrixProduct(tg.Reducer):
    associative = True

    def identity(self):
        return 1.0, 0.0, 0.0, 1.0

    def lift(self, a, b, c, d):
        return a, b, c, d

    def combine(self, left, right):
        (a, b, c, d), (e, f, g, h) = left, right
        return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h

    def finalize(self, m):
        return m[0] + 2 * m[1] + 3 * m[2] + 4 * m[3]


class Largest(tg.Reducer):
    """The largest key and what came with it, of ties the first: the sum of both."""

    associative = True

    def identity(self):
        return -inf, -1.0

    def lift(self, key, value):
        return key, value

    def combine(self, left, right):
        keep = left[0] >= right[0]
        return torch.where(keep, left[0], right[0]), torch.where(keep, left[1], right[1])

    def finalize(self, state):
        return state[0] + state[1]


class Welford(tg.Reducer):
    """The variance from (count, mean, squared deviations), merged: Chan, Golub and LeVeque 1979."""

    associative = commutative = True

    def identity(self):
        return 0.0, 0.0, 0.0

    def lift(self, m):
        return 1.0, m, 0.0

    def combine(self, a, b):
        n, apart = a[0] + b[0], b[1] - a[1]
        return n, a[1] + apart * b[0] / n, a[2] + b[2] + apart * apart * a[0] * b[0] / n

    def finalize(self, state):
        return state[2] / state[0]


class Automaton(tg.Reducer):
    """Three states; a message says where each goes. Where a row leads from 0, 1 and 2, as a number."""

    associative = True

    def identity(self):
        return 0, 1, 2

    def lift(self, f0, f1, f2):
        return f0, f1, f2

    def combine(self, first, then):
        return tuple(torch.where(s == 0, then[0], torch.where(s == 1, then[1], then[2])) for s in first)

    def finalize(self, f):
        return f[0] + 3 * f[1] + 9 * f[2]


class Compensated(tg.Reducer):
    """A sum and what its rounding lost: Kahan 1965, as Neumaier merges."""

    associative = commutative = True

    def identity(self):
        return 0.0, 0.0

    def lift(self, m):
        return m, 0.0

    def combine(self, a, b):
        total = a[0] + b[0]
        part = total - a[0]
        return total, a[1] + b[1] + ((a[0] - (total - part)) + (b[0] - part))

    def finalize(self, state):
        return state[0] + state[1]


class GeometricMean(tg.Reducer):
    associative = commutative = True

    def identity(self):
        return 0.0, 0.0

    def lift(self, m):
        return torch.log(m), 1.0

    def combine(self, a, b):
        return a[0] + b[0], a[1] + b[1]

    def finalize(self, state):
        return torch.exp(state[0] / state[1])


class WeightedHarmonicMean(tg.Reducer):
    associative = commutative = True

    def identity(self):
        return 0.0, 0.0

    def lift(self, weight, m):
        return weight, weight / m

    def combine(self, a, b):
        return a[0] + b[0], a[1] + b[1]

    def finalize(self, state):
        return state[0] / state[1]


# ---- messages whose products neither vanish nor grow ----


def smooth(count: int) -> Callable[[np.random.Generator, tuple[int, ...]], list[np.ndarray]]:
    return lambda rng, shape: [rng.standard_normal(shape) for _ in range(count)]


def positive(count: int) -> Callable[[np.random.Generator, tuple[int, ...]], list[np.ndarray]]:
    return lambda rng, shape: [rng.uniform(0.5, 1.5, shape) for _ in range(count)]


def unit(rng: np.random.Generator, count: int, shape: tuple[int, ...]) -> list[np.ndarray]:
    v = rng.standard_normal((count, *shape))
    return list(v / np.sqrt((v * v).sum(0)) * np.exp(0.02 * rng.standard_normal(shape)))


def turns(rng: np.random.Generator, shape: tuple[int, ...]) -> list[np.ndarray]:
    c, s = unit(rng, 2, shape)
    return [c, -s, s, c + 0.01 * rng.standard_normal(shape)]


def kernel_of(own: tg.Reducer, fields: list[str]) -> tg.MessagePassing:
    """A reducer of edge fields."""

    class Kernel(tg.MessagePassing):
        reducer = own

        def edge(self, src, dst, edge):
            return self.reducer(*[getattr(edge, name) for name in fields])

    return Kernel()


class Algebra(NamedTuple):
    reducer: type[tg.Reducer]
    form: str
    draw: Callable[[np.random.Generator, tuple[int, ...]], list[np.ndarray]]
    phases: int = 1  # sweeps of a row
    integer: bool = False

    @property
    def fields(self) -> list[str]:
        return self.reducer()._message_names()

    def kernel(self, **attributes: Any) -> tg.MessagePassing:
        """The reducer of edge fields, with attributes of its own."""
        own = self.reducer()
        for name, value in attributes.items():
            setattr(own, name, value)
        return kernel_of(own, self.fields)


ALGEBRAS = {
    "log-sum-exp of two": Algebra(LogSumExpOfTwo, "logsumexp", smooth(2)),
    "complex product": Algebra(ComplexProduct, "general", lambda rng, shape: unit(rng, 2, shape)),
    "quaternion product": Algebra(QuaternionProduct, "general", lambda rng, shape: unit(rng, 4, shape)),
    "matrix product": Algebra(MatrixProduct, "general", turns),
    "largest": Algebra(Largest, "selection-max", smooth(2), phases=3),
    "Welford": Algebra(Welford, "general", smooth(1)),
    "automaton": Algebra(Automaton, "general", lambda rng, shape: list(rng.integers(0, 3, (3, *shape))), integer=True),
    "compensated sum": Algebra(Compensated, "general", smooth(1)),
    "geometric mean": Algebra(GeometricMean, "componentwise-additive", positive(1)),
    "weighted harmonic mean": Algebra(WeightedHarmonicMean, "componentwise-additive", positive(2)),
}
REAL = [name for name, a in ALGEBRAS.items() if not a.integer]
