"""What the Python twins of the C examples share: random numbers and Matrix Market files."""

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Stream:
    """The numbers of splitmix64 (Steele, Lea and Flood, OOPSLA 2014) for a seed; common.c draws the same."""

    def __init__(self, seed):
        self.state = np.uint64(seed)
        self.state = self._next(1)[0]

    def _next(self, count):
        with np.errstate(over="ignore"):
            z = self.state + GOLDEN * np.arange(1, count + 1, dtype=np.uint64)
            self.state = z[-1] if count else self.state
            z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
            return z ^ z >> np.uint64(31)

    def uniform(self, *shape):
        """float32 numbers, at least 0 and below 1."""
        drawn = self._next(int(np.prod(shape))) >> np.uint64(40)
        return (drawn.astype(np.float32) / np.float32(1 << 24)).reshape(shape)


def read_mtx(path):
    """(number of rows, rows, columns) of the entries, those of a symmetric matrix on both sides."""
    with open(path) as file:
        symmetric = "general" not in file.readline()
        lines = [line.split() for line in file if not line.startswith("%")]
    row, col = np.array([(int(line[0]), int(line[1])) for line in lines[1:]]).T - 1
    if symmetric:  # an entry, then its mirror image
        both = np.stack([row, col, col, row], axis=1).reshape(-1, 2, 2)
        keep = np.stack([np.full(len(row), True), row != col], axis=1)
        row, col = both[keep].T
    return int(lines[0][0]), row, col
