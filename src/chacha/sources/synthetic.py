"""Built-in streams: generated from a seed, endless unless `n` is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chacha.data.example import Example, make_example
from chacha.data.vw_text import hash_name
from chacha.errors import ConfigError
from chacha.sources.synthetic_text import GroupedPairs, sparse_rows
from chacha.sources.tables.blocks import CellColumn, NumberColumn, TableBlock, WordsColumn
from chacha.sources.tables.columns import pairs_cell

__all__ = ["STREAMS", "SynthSource", "open_synth"]

Array = NDArray[np.float64]
Drawn = tuple[list[tuple[str, str]], list[list[float | str]], list[float]]
"""Rows of a dense stream: groups and names of the features, values by row, labels."""
ROWS_PER_DRAW = 1000
LETTERS = "abcdefghij"


def _rounded(values: Array) -> list[Any]:
    return np.round(values, 6).tolist()  # type: ignore[no-any-return]


def _fried(rng: np.random.Generator, size: int, start: int, half: int) -> Drawn:
    """Friedman: 10·sin(πab) + 20·(c-½)² + 10d + 5e + noise; f to j are noise."""
    x = rng.random((size, 10))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    y += 10 * x[:, 3] + 5 * x[:, 4] + rng.normal(size=size)
    return [(g, "x") for g in LETTERS], _rounded(x), _rounded(y)


def _2dplanes(rng: np.random.Generator, size: int, start: int, half: int) -> Drawn:
    """Breiman: two planes; `a` decides which one applies."""
    x = rng.integers(-1, 2, (size, 10)).astype(float)
    x[:, 0] = rng.choice([-1.0, 1.0], size)
    up = 3 + 3 * x[:, 1] + 2 * x[:, 2] + x[:, 3]
    down = -3 + 3 * x[:, 4] + 2 * x[:, 5] + x[:, 6]
    y = np.where(x[:, 0] > 0, up, down) + rng.normal(size=size)
    return [(g, "x") for g in LETTERS], _rounded(x), _rounded(y)


def _mv(rng: np.random.Generator, size: int, start: int, half: int) -> Drawn:
    """Torgo: numbers and words with rules between them, as in the public data set."""
    a, b = rng.uniform(-5, 5, size), rng.uniform(-15, -10, size)
    c = np.where(rng.random(size) < 0.32, "red", "brown")
    c = np.where((a > 0) & (rng.random(size) < 0.24), "green", c)
    d = np.where(rng.random(size) < 0.3, a / 2, b / 2)
    e = rng.uniform(-1, 1, size)
    f = d * rng.uniform(0, 5, size)
    g = np.where(rng.random(size) < 0.3, "yes", "no")
    h = np.where(e < 0.5, "normal", "large")
    i, j = rng.uniform(100, 500, size), rng.integers(1000, 1201, size).astype(float)
    y = np.where((h == "normal") & (d < 0), f + a, a / 2)
    y = np.where((d > 1) & (g == "yes"), 3 - a / np.where(d == 0, 1, d), y)
    columns: list[list[Any]] = [
        column.tolist() if column.dtype.kind == "U" else _rounded(column)
        for column in (a, b, c, d, e, f, g, h, i, j)
    ]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return [(letter, "x") for letter in LETTERS], rows, _rounded(y)


def _truth(x: Array, **products: float) -> Array:
    """Return single features plus products of the first features of two groups of three."""
    y: Array = 0.2 * (x @ np.tile([1.0, 0.5, -0.5], 5))
    for pair, strength in products.items():
        left, right = (x[:, 3 * LETTERS.index(letter)] for letter in pair)
        y = y + strength * left * right
    return y


_FIVE = [(group, str(i)) for group in "abcde" for i in range(3)]


def _interactions(rng: np.random.Generator, size: int, start: int, half: int) -> Drawn:
    """5 groups of 3 uniform features; truth = singles + 4ab + 2ac + cd; noise sd 0.1."""
    x = np.round(rng.uniform(-1, 1, (size, 15)), 6)
    y = _truth(x, ab=4.0, ac=2.0, cd=1.0) + rng.normal(0, 0.1, size)
    return _FIVE, x.tolist(), _rounded(y)


def _drift(rng: np.random.Generator, size: int, start: int, half: int) -> Drawn:
    """As `interactions`, but with the products ab and cd first, and ac and de from half-way on."""
    x = np.round(rng.uniform(-1, 1, (size, 15)), 6)
    late = np.arange(start, start + size) >= half
    y = np.where(late, _truth(x, ac=4.0, de=2.0), _truth(x, ab=4.0, cd=2.0))
    return _FIVE, x.tolist(), _rounded(y + rng.normal(0, 0.1, size))


DrawnRow = tuple[GroupedPairs, float]
Draw = Callable[[np.random.Generator, int, int, int], Drawn]
Stream = Callable[[np.random.Generator, int, int, int], Iterable[DrawnRow]]


def _rows(drawn: Drawn) -> Iterator[DrawnRow]:
    """Yield the rows of a dense stream, one value for each feature."""
    names, values, labels = drawn
    for row, label in zip(values, labels, strict=True):
        groups: GroupedPairs = {}
        for (group, name), value in zip(names, row, strict=True):
            pair = (f"{name}={value}", 1.0) if isinstance(value, str) else (name, value)
            groups.setdefault(group, []).append(pair)
        yield groups, label


def _columns(drawn: Drawn, rows: int, place: str) -> TableBlock:
    """Return the first rows of a dense stream as a block of columns."""
    names, values, labels = drawn
    groups: dict[str, list[NumberColumn | CellColumn | WordsColumn]] = {}
    for (group, name), column in zip(names, zip(*values[:rows], strict=True), strict=True):
        if isinstance(column[0], str):
            words, seed = sorted(set(column)), hash_name(group, 0)
            cells = [pairs_cell([(f"{name}={word}", 1.0)], seed).features for word in words]
            at = np.array([words.index(word) for word in column], np.int32)
            groups.setdefault(group, []).append(CellColumn(cells, at))
        else:
            groups.setdefault(group, []).append(NumberColumn(name, np.array(column, float)))
    return TableBlock(groups, np.array(labels[:rows], np.float64), lambda row: place)


DENSE: dict[str, Draw] = {
    "fried": _fried,
    "2dplanes": _2dplanes,
    "mv": _mv,
    "interactions": _interactions,
    "drift": _drift,
}
STREAMS: dict[str, Stream] = {
    **{name: lambda *drawn, draw=draw: _rows(draw(*drawn)) for name, draw in DENSE.items()},
    "sparse": lambda rng, size, start, half: sparse_rows(rng, size),
}


class SynthSource:
    """A generated stream; the examples depend on the seed only, not on how many are read.

    Without `n` it is infinite.

    >>> source = SynthSource("interactions", n=1, seed=1)
    >>> [len(example.groups) for example in source]
    [5]
    """

    tabular = False

    def __init__(self, stream: str, n: int | None = None, seed: int = 0) -> None:
        if stream not in STREAMS:
            choices = ", ".join(STREAMS)
            raise ConfigError(f"there is no stream synth:{stream}; choose from {choices}")
        if seed < 0:
            raise ConfigError(f"synth:{stream} needs seed >= 0, got seed={seed}")
        if n is not None and n < 1:
            raise ConfigError(f"synth:{stream} needs n >= 1, got n={n}")
        self.stream, self.n, self.seed = stream, n, seed
        self.name = f"synth:{stream}" + (f",n={n}" if n else "") + f",seed={seed}"
        self.endless = self.infinite = n is None

    def __iter__(self) -> Iterator[Example]:
        for drawn, left in self._parts():
            for groups, label in islice(STREAMS[self.stream](*drawn), left):
                yield make_example(groups, label)

    def blocks(self) -> Iterator[TableBlock | Example]:
        """Yield the rows as columns, for streams with a value for every feature."""
        if self.stream not in DENSE:
            yield from self
            return
        for drawn, left in self._parts():
            yield _columns(DENSE[self.stream](*drawn), left, self.name)

    def _parts(self) -> Iterator[tuple[tuple[np.random.Generator, int, int, int], int]]:
        """Yield the arguments to draw some rows with, and how many of the rows to use."""
        rng = np.random.default_rng(self.seed)
        half = self.n // 2 if self.n else 50_000
        start = 0
        while self.n is None or start < self.n:
            left = ROWS_PER_DRAW if self.n is None else min(ROWS_PER_DRAW, self.n - start)
            yield (rng, ROWS_PER_DRAW, start, half), left
            start += ROWS_PER_DRAW


def open_synth(spec: str) -> SynthSource:
    """Return the stream of `NAME[,n=N][,seed=SEED]`.

    >>> open_synth("fried,n=10,seed=1").name
    'synth:fried,n=10,seed=1'
    """
    stream, *options = spec.split(",")
    values: dict[str, int] = {}
    for option in options:
        key, _, text = option.partition("=")
        if key not in ("n", "seed") or not text.lstrip("-").isdigit():
            raise ConfigError(f"synth:{spec}: options are n=NUMBER and seed=NUMBER, got {option!r}")
        values[key] = int(text)
    return SynthSource(stream, values.get("n"), values.get("seed", 0))
