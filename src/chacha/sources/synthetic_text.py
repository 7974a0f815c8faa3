"""The stream `synth:sparse`: examples like hashed text, many string features in few groups."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["GroupedPairs", "sparse_rows"]

GroupedPairs = dict[str, list[tuple[str, float]]]
"""Group -> names and values."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FEWEST_DRAWN, MOST_DRAWN = 125, 1350  # features drawn per row; the same name twice is one
LARGE = {"t": 0.6, "s": 0.4}  # shares of the features that the small groups leave
SMALL = {"u": 0, "d": 0, "i": 1, "q": 1}  # which of the two signs a small group indicates
WORDS = 8000  # names of a large group
HEAD = 400.0  # names of about equal frequency; beyond, the frequency is 1/rank²
FEW_WORDS = 20  # names of a small group for each sign
FEWEST_SMALL, MOST_SMALL = 3, 10  # features drawn per row for a small group
WRONG = 0.02  # share of names of a small group that indicate the wrong sign


class Bag(NamedTuple):
    """The features of one group over some rows: row, name and value of each, rows ascending."""

    row: Ints
    word: Ints
    value: Floats


@cache
def _names(group: str) -> list[str]:
    return [f"{group}{i}" for i in range(WORDS if group in LARGE else 2 * FEW_WORDS)]


@cache
def _weights(group: str) -> Floats:
    """Return the true weights of a large group, the same for all seeds; one in twenty is not 0."""
    rng = np.random.default_rng(ord(group))
    return np.where(rng.random(WORDS) < 0.05, rng.normal(0, 0.005, WORDS), 0.0)


def _bag(row: Ints, word: Ints, value: Floats) -> Bag:
    """Return the features sorted by row and name; those of one name are summed."""
    keys, of = np.unique(row * WORDS + word, return_inverse=True)
    return Bag(keys // WORDS, keys % WORDS, np.bincount(of, value).astype(np.float64))


def _large(rng: np.random.Generator, sizes: Ints) -> Bag:
    """Draw frequent and rare names for every row; a tenth have values other than 1."""
    row = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    share = (place + rng.random(len(row))) / sizes[row] * (WORDS / (WORDS + HEAD))
    word = np.minimum((HEAD * share / (1 - share)).astype(np.int64), WORDS - 1)
    numeric = rng.random(len(row)) < 0.1
    value = np.where(numeric, np.round(rng.uniform(0.1, 2.0, len(row)), 3), 1.0)
    return _bag(row, word, value)


def _small(rng: np.random.Generator, sizes: Ints, sign: Ints) -> Bag:
    """Draw names that indicate a sign (0 or 1), but for a few."""
    row = np.repeat(np.arange(len(sizes)), sizes)
    indicated = sign[row] ^ (rng.random(len(row)) < WRONG)
    word = 2 * rng.integers(0, FEW_WORDS, len(row)) + indicated
    bag = _bag(row, word, np.ones(len(row)))
    return bag._replace(value=np.ones(len(bag.row)))


def _pairs(group: str, bag: Bag, size: int) -> list[list[tuple[str, float]]]:
    """Return names and values, row by row."""
    names = _names(group)
    pairs = list(zip([names[i] for i in bag.word.tolist()], bag.value.tolist(), strict=True))
    ends = np.searchsorted(bag.row, np.arange(size + 1)).tolist()
    return [pairs[first:last] for first, last in pairwise(ends)]


def sparse_rows(rng: np.random.Generator, size: int) -> Iterator[tuple[GroupedPairs, float]]:
    """Draw rows of two large groups of text and four small groups, with their labels.

    The label is the product of two hidden signs, plus a sparse linear model of the large
    groups, plus noise. `u` and `d` indicate one sign, `i` and `q` the other.

    >>> groups, label = next(sparse_rows(np.random.default_rng(1), 1))
    >>> list(groups), 100 <= sum(map(len, groups.values())) <= 1500
    (['u', 'd', 'i', 'q', 't', 's'], True)
    """
    length = np.exp(rng.uniform(np.log(FEWEST_DRAWN), np.log(MOST_DRAWN), size)).astype(np.int64)
    signs = rng.integers(0, 2, (2, size))
    bags: dict[str, Bag] = {}
    for group, which in SMALL.items():
        sizes = rng.integers(FEWEST_SMALL, MOST_SMALL + 1, size)
        bags[group] = _small(rng, sizes, signs[which])
        length -= sizes
    y = np.prod(2.0 * signs - 1, axis=0) + rng.normal(0, 0.03, size)
    for group, share in LARGE.items():
        bag = bags[group] = _large(rng, (share * length).astype(np.int64))
        y += np.bincount(bag.row, _weights(group)[bag.word] * bag.value, size)
    columns = [_pairs(group, bag, size) for group, bag in bags.items()]
    for pairs, label in zip(zip(*columns, strict=True), np.round(y, 6).tolist(), strict=True):
        yield dict(zip(bags, pairs, strict=True)), label
