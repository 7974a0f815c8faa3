"""The stream `synth:sparse`: examples like hashed text, many string features in few groups."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Groups", "sparse_rows"]

Groups = dict[str, list[tuple[str, float]]]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SHORTEST, LONGEST = 125, 1350  # features that are drawn; the same name twice is one feature
LARGE = {"t": 0.6, "s": 0.4}  # the share of what the small groups leave
SMALL = {"u": 0, "d": 0, "i": 1, "q": 1}  # which of the two signs a small group tells
WORDS = 8000  # names of a large group
HEAD = 400.0  # names that are about equally frequent; from there on 1/rank²
FEW_WORDS = 20  # names of a small group for each sign
FEWEST, MOST = 3, 10  # features of a small group that are drawn
WRONG = 0.02  # share of names of a small group that tell the other sign


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
    """The truth of a large group: one name in twenty has an effect. The same for all seeds."""
    rng = np.random.default_rng(ord(group))
    return np.where(rng.random(WORDS) < 0.05, rng.normal(0, 0.005, WORDS), 0.0)


def _bag(row: Ints, word: Ints, value: Floats) -> Bag:
    """The features in order of row and name; what stands twice is one, with the sum of values."""
    keys, of = np.unique(row * WORDS + word, return_inverse=True)
    return Bag(keys // WORDS, keys % WORDS, np.bincount(of, value).astype(np.float64))


def _large(rng: np.random.Generator, sizes: Ints) -> Bag:
    """So many names a row, frequent ones and rare ones in every row; a tenth have other values."""
    row = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    share = (place + rng.random(len(row))) / sizes[row] * (WORDS / (WORDS + HEAD))
    word = np.minimum((HEAD * share / (1 - share)).astype(np.int64), WORDS - 1)
    numeric = rng.random(len(row)) < 0.1
    value = np.where(numeric, np.round(rng.uniform(0.1, 2.0, len(row)), 3), 1.0)
    return _bag(row, word, value)


def _small(rng: np.random.Generator, sizes: Ints, sign: Ints) -> Bag:
    """Names that tell a sign (0 or 1), but for a few."""
    row = np.repeat(np.arange(len(sizes)), sizes)
    told = sign[row] ^ (rng.random(len(row)) < WRONG)
    word = 2 * rng.integers(0, FEW_WORDS, len(row)) + told
    bag = _bag(row, word, np.ones(len(row)))
    return bag._replace(value=np.ones(len(bag.row)))


def _pairs(group: str, bag: Bag, size: int) -> list[list[tuple[str, float]]]:
    """Names and values, row by row."""
    names = _names(group)
    found = list(zip([names[i] for i in bag.word.tolist()], bag.value.tolist(), strict=True))
    ends = np.searchsorted(bag.row, np.arange(size + 1)).tolist()
    return [found[first:last] for first, last in pairwise(ends)]


def sparse_rows(rng: np.random.Generator, size: int) -> Iterator[tuple[Groups, float]]:
    """Some rows: two large groups of text, four small ones, and the label.

    The label is the product of two hidden signs, which `u` and `d`, and `i` and `q`, tell;
    plus a sparse linear model of the large groups; plus noise.

    >>> groups, label = next(sparse_rows(np.random.default_rng(1), 1))
    >>> list(groups), 100 <= sum(map(len, groups.values())) <= 1500
    (['u', 'd', 'i', 'q', 't', 's'], True)
    """
    length = np.exp(rng.uniform(np.log(SHORTEST), np.log(LONGEST), size)).astype(np.int64)
    signs = rng.integers(0, 2, (2, size))
    bags: dict[str, Bag] = {}
    for group, which in SMALL.items():
        sizes = rng.integers(FEWEST, MOST + 1, size)
        bags[group] = _small(rng, sizes, signs[which])
        length -= sizes
    y = np.prod(2.0 * signs - 1, axis=0) + rng.normal(0, 0.03, size)
    for group, share in LARGE.items():
        bag = bags[group] = _large(rng, (share * length).astype(np.int64))
        y += np.bincount(bag.row, _weights(group)[bag.word] * bag.value, size)
    columns = [_pairs(group, bag, size) for group, bag in bags.items()]
    for pairs, label in zip(zip(*columns, strict=True), np.round(y, 6).tolist(), strict=True):
        yield dict(zip(bags, pairs, strict=True)), label
