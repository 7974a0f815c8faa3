"""Numeric columns, less their centre and in units of their scale, as the first rows show them.

Twin: native/src/features/centring.hpp
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from chacha.data.example import Example, Feature, NumberCell
from chacha.data.spread import spread_of
from chacha.data.vw_text import DEFAULT_GROUP, FLOAT32_MAX, hash_name

__all__ = ["Centre", "Centring", "ColumnKey", "centre_of", "changed"]

ASIDE = 2.0**-12  # scales: so far from the median is the centre
EVEN = 1e-9  # scales a number: tails whose lengths differ by less are equally long
LEAST = 2.0**-126  # scales; numbers that differ by less are 0 in single precision
ColumnKey = tuple[str, int]
"""The group and the hash of a column."""


class Centre(NamedTuple):
    """How a column is learned: (x - centre)·inverse, where inverse is that of the scale.

    It is infinite if all numbers were equal so far; then any other is 1 or -1. It is 0 if the
    column had no number yet; such a column is left out.

    >>> Centre(2000.0, 0.25).of(2010.0)
    2.5
    """

    centre: float = 0.0
    inverse: float = 1.0

    def of(self, x: float) -> float:
        """Return a number as it is learned, in single precision; it is always finite."""
        apart = x - self.centre
        if self.inverse == math.inf:
            return math.copysign(1.0, apart) if abs(apart) > LEAST else 0.0
        value = apart * self.inverse
        return float(np.float32(min(max(value, -FLOAT32_MAX), FLOAT32_MAX)))

    def found(self, x: float) -> Centre:
        """Return the centre with what a number shows of it, if the first rows did not show it.

        >>> Centre(0.0, 0.0).found(5.0).found(5.0).found(1.0)
        Centre(centre=5.0, inverse=0.25)
        """
        if self.inverse == 0.0:
            return Centre(x, math.inf)
        if self.inverse == math.inf and self.of(x) != 0.0:
            return Centre(self.centre, 1.0 / abs(x - self.centre))
        return self

    @property
    def is_waiting(self) -> bool:
        """Whether the first rows have not shown all of it."""
        return self.inverse in (0.0, math.inf)


def centre_of(sample: list[float]) -> Centre:
    """Return the centre of a column, given the numbers of the first rows.

    If more than half of them are equal, that is the centre: then most rows need no feature.
    Otherwise it is a little aside from the median, so that hardly any number is exactly there: a
    number at the centre is no feature, also of groups that are derived from its column. That is
    the side of the longer tail, which changes with the sign of the column; if both are equally
    long, the side where the first number is not.

    >>> centre_of([5.0, 5.0, 5.0, 9.0]), centre_of([1e9, 1e9 + 8.0])
    (Centre(centre=5.0, inverse=0.5), Centre(centre=1000000004.00..., inverse=0.25))
    """
    spread = spread_of(sample)
    if not spread.scale > LEAST:
        return Centre(spread.centre, math.inf)
    inverse = 1.0 / spread.scale
    if 2 * sample.count(spread.centre) > len(sample):
        return Centre(spread.centre, inverse)
    tails = 0.0
    for x in sorted(sample):
        tails += (x - spread.centre) * inverse
    if abs(tails) <= EVEN * len(sample):
        tails = spread.centre - next(x for x in sample if x != spread.centre)
    aside = spread.scale * ASIDE
    return Centre(spread.centre + (-aside if tails < 0.0 else aside), inverse)


@dataclass
class _Column:
    given: int = 0  # rows that have it; 0 once a row did not
    sample: list[float] = field(default_factory=list)
    centre: Centre = field(default_factory=Centre)


def changed(centres: Mapping[ColumnKey, Centre]) -> dict[ColumnKey, Centre]:
    """Return the columns that are not learned as they are.

    >>> changed({("a", 7): Centre(), ("b", 8): Centre(2000.0, 0.25)})
    {('b', 8): Centre(centre=2000.0, inverse=0.25)}
    """
    return {key: centre for key, centre in centres.items() if centre != Centre()}


class Centring:
    """Centres the numbers of examples, and finds the centres from the first rows.

    A column is centred if each of the first rows has it, with a number or an empty cell. Others
    stay as they are: what is left out of a row counts as 0, and must go on to do so.

    >>> from chacha.sources.values.dict_reader import DictReader
    >>> centring, reader = Centring(), DictReader(with_numbers=True)
    >>> centring.turn_on()
    >>> for year in (2020, 2021, 2022, 2023):
    ...     centring.observe(reader.example({"year": year}))
    >>> centring.fit()
    >>> centring.apply(reader.example({"year": 2024})).line
    '|year year:2.2358239e+0'
    """

    def __init__(self) -> None:
        self.on, self._finished = False, False
        self._waits = False  # for a column's first number, or the first that differs
        self._columns: dict[ColumnKey, _Column] = {}
        self._rows = 0

    def turn_on(self) -> None:
        """Centre numeric columns from now on; to be called before the first example."""
        self.on = True

    @property
    def knows_centres(self) -> bool:
        """Whether a row has shown centres; before that, any number counts as 1."""
        return self._rows > 0 or not self.on

    def at_rest(self, group: str, hashed: int) -> float:
        """Return the number that a column has where it is left out: its centre, otherwise 0."""
        column = self._columns.get((group, hashed))
        return 0.0 if column is None else column.centre.centre

    @property
    def centres(self) -> Mapping[ColumnKey, Centre]:
        """How the columns of the first rows are learned, by group and hash."""
        return {key: column.centre for key, column in self._columns.items()}

    def set_centres(self, centres: Mapping[ColumnKey, Centre]) -> None:
        """Turn centring on, with centres that are known."""
        self.on, self._rows = True, 1
        self._columns = {key: _Column(centre=centre) for key, centre in centres.items()}

    def apply(self, example: Example) -> Example:
        """Return the example with centred numbers; those at the centre are left out."""
        if not self.on or not example.numbers:
            return example
        groups: dict[str, list[Feature]] = {}
        reads: dict[str, list[float | None]] = {}
        cells, known = _cells_by_group(example), self.knows_centres
        for group, features in example.groups.items():
            merged: list[Feature] = []
            read: list[float | None] = []
            for feature, number in _merged(group, features, cells.get(group, [])):
                if number is None:
                    merged.append(feature)
                    read.append(None)
                    continue
                if number != number:  # missing
                    continue
                column = self._columns.get((group, feature.hashed))
                centre = Centre() if column is None else column.centre
                value = centre.of(number) if known else 1.0
                if value != 0.0:
                    merged.append(feature._replace(value=value))
                    read.append(number)
            groups[group], reads[group] = merged, read
        return replace(example.with_features(groups), numbers=(), reads=reads)

    def observe(self, example: Example) -> None:
        """Count one of the first rows."""
        if not self.on or self._finished:
            return
        self._rows += 1
        for group, _, name, number in example.numbers:
            key = group, hash_of_column(group, name)
            column = self._columns.setdefault(key, _Column())
            if column.given == self._rows:  # a row has it twice
                continue
            column.given = self._rows if column.given + 1 == self._rows else 0
            if number == number:
                column.sample.append(number)

    def settle(self, example: Example) -> None:
        """Let a learned example show what the first rows have not shown of a column.

        That is its centre if it had no number yet, and its scale if all its numbers were equal.
        `example` is as it was before :meth:`apply`.
        """
        if not self._waits:
            return
        for group, _, name, number in example.numbers:
            column = self._columns.get((group, hash_of_column(group, name)))
            if column is not None and number == number:
                column.centre = column.centre.found(number)
        self._find_waiting()

    def _find_waiting(self) -> None:
        self._waits = any(column.centre.is_waiting for column in self._columns.values())

    def fit(self) -> None:
        """Find the centres anew from the rows so far."""
        if self._finished:
            return
        for column in self._columns.values():
            column.centre = Centre()
            if column.given == self._rows:
                column.centre = centre_of(column.sample) if column.sample else Centre(0.0, 0.0)
        self._find_waiting()

    def finish(self) -> None:
        """Keep the centres for good; later rows show only what is missing."""
        self._finished = True
        for column in self._columns.values():
            column.sample = []


def hash_of_column(group: str, name: str) -> int:
    """Return the hash of a column of a group.

    >>> hash_of_column("a", "x") == hash_name("x", hash_name("a", 0))
    True
    """
    return hash_name(name, 0 if group == DEFAULT_GROUP else hash_name(group, 0))


def _cells_by_group(example: Example) -> dict[str, list[NumberCell]]:
    cells: dict[str, list[NumberCell]] = {}
    for cell in example.numbers:
        cells.setdefault(cell.group, []).append(cell)
    return cells


def _merged(
    group: str, features: list[Feature], cells: list[NumberCell]
) -> Iterator[tuple[Feature, float | None]]:
    """Yield the features of a row, those that are 0 or missing too, with what they were read as."""
    seed = 0 if group == DEFAULT_GROUP else hash_name(group, 0)
    rest, count = iter(features), 0
    waiting = next(rest, None)
    for _, position, name, number in cells:
        while count < position and waiting is not None:
            yield waiting, None
            waiting, count = next(rest, None), count + 1
        hashed = hash_name(name, seed)
        there = number == number and float(np.float32(number)) != 0.0
        if there and waiting is not None and waiting.hashed == hashed:
            waiting = next(rest, None)
        yield Feature(name, 0.0, hashed), number
        count += 1
    while waiting is not None:
        yield waiting, None
        waiting = next(rest, None)
