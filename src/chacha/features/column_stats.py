"""Statistics of one column of a stream, from which derived groups are made.

Twin: native/src/features/column_stats.hpp
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from chacha.config.derived_kinds import MOST_CODES, MOST_STEPS

__all__ = ["ColumnStats", "short_text"]

OUTSIDE = 64  # values beyond the knots that are examined together
OUTSIDE_SHARE = 20  # N: knots are added if at least 1 in N values lies beyond them
EXTENSIONS = 16  # times that knots are added, at most
END_KNOTS = 4  # that an extension adds at an end,
FEW_OUTSIDE = 16  # if at least this many values lie beyond that end
ONCE_SHARE = 4  # N: at most 1 in N of few values occurs once, unless they are evenly spaced,
OFF = 2.0**-10  # by no more than this share of a step off their places


@lru_cache(maxsize=1 << 14)
def short_text(value: float) -> str:
    """Return the shortest text of a number, for names of features.

    It reads back as the same float32, or as the same double if no float32 is equal.

    >>> short_text(float(np.float32(0.1))), short_text(0.1), short_text(24.0)
    ('0.1', '0.1', '24')
    >>> short_text(1700000000.25)
    '1700000000.25'
    """
    text, single = "", float(np.float32(value)) == value
    for digits in range(6, 10 if single else 18):
        text = f"{value:.{digits}g}"
        read = float(text)
        if read == value or (single and float(np.float32(read)) == value):
            break
    return text


def knot_position(j: int, k: int, n: int) -> int:
    """Return the position of the j-th of k knots among n sorted numbers.

    That of the same numbers with the other sign mirrors it.

    >>> [knot_position(j, 4, 9) for j in range(4)]
    [0, 2, 6, 8]
    """
    if 2 * j >= k:
        return n - 1 - knot_position(k - 1 - j, k, n)
    return j * (n - 1) // (k - 1)


def steps_of(distinct: Sequence[float]) -> int:
    """Return how many steps lie between the first and the last of sorted numbers.

    All are a whole number of steps apart, of which there are as few as possible; 0 if they are not
    evenly spaced. An added constant, a factor and the sign do not matter, but for rounding.

    >>> steps_of([0.0, 1.0, 3.0]), steps_of([0.1, 0.2, 0.30000000000000004, 0.5])
    (3, 4)
    >>> steps_of([5.0, 10.0, 15.0]), steps_of([1.0, 1.41421, 1.73205, 2.0])
    (2, 0)
    """
    if len(distinct) < 2:
        return 0
    span = distinct[-1] - distinct[0]
    shares = [(after - before) / span for before, after in pairwise(distinct)]
    for steps in range(len(shares), MOST_STEPS + 1):
        if all(_is_whole(share * steps) for share in shares):
            return steps
    return 0


def _is_whole(steps: float) -> bool:
    nearest = math.floor(steps + 0.5)
    return nearest > 0 and abs(steps - nearest) <= OFF


class ColumnStats:
    """Knots and distinct values of a column, from its first values and extended by later ones.

    Knots are placed once there are `first` values, and then stay. If one value in twenty lies
    beyond them, knots are added at that end. Each extension doubles the number of values that
    the next one needs.

    >>> stats = ColumnStats(first=100)
    >>> changed = [stats.observe(float(value % 50)) for value in range(1, 101)]
    >>> stats.ready, stats.distinct, stats.knots(5)
    (True, 50, [0.0, 12.0, 24.0, 37.0, 49.0])
    >>> changed = [stats.observe(100.0 + value) for value in range(64)]
    >>> stats.knots(5)
    [0.0, 12.0, 24.0, 37.0, 49.0, 100.0, 121.0, 142.0, 163.0]
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self.sample: list[float] = []
        self.ready = False
        self.distinct = 0
        self.once = 0  # distinct values that occur once
        self.steps = 0  # between the least and the largest of few values that are evenly spaced
        self.low = self.high = 0.0  # the outermost knots
        self.further: list[float] = []  # knots added later
        self.values: list[float] = []  # that one-hot coding distinguishes
        self.extensions = 0
        self._outside: list[float] = []  # every `stride`-th value beyond the knots
        self._outsiders = 0  # values beyond the knots since the last examination,
        self._since = 0  # among this many values in all
        self._stride = 1

    @property
    def numeric(self) -> bool:
        """Whether the column has more than two distinct values."""
        return self.ready and self.distinct > 2

    @property
    def codes(self) -> bool:
        """Whether the column holds few distinct values: repeated ones, or evenly spaced ones."""
        few = self.ready and 1 < self.distinct <= MOST_CODES
        return few and (self.steps > 0 or ONCE_SHARE * self.once <= self.distinct)

    @property
    def range(self) -> tuple[float, float, float]:
        """The minimum, maximum and median of the first values, once there are enough."""
        return self.sample[0], self.sample[-1], self.sample[len(self.sample) // 2]

    def observe(self, value: float) -> bool:
        """Count a value, and return whether the knots or the distinct values have changed."""
        if not self.ready:
            self.sample.append(value)
            if len(self.sample) < self.first:
                return False
            self._begin()
            return True
        changed = self._look_outside(value)
        if self.codes and len(self.values) < MOST_CODES and value not in self.values:
            self.values.append(value)
            changed = True
        return changed

    def knots(self, k: int) -> list[float]:
        """Return all first values if at most k are distinct, else k quantiles; plus added knots."""
        knots = self.sample
        if self.distinct > k:
            knots = [knots[knot_position(j, k, len(knots))] for j in range(k)]
        return sorted({*knots, *self.further})

    def _begin(self) -> None:
        times = Counter(self.sample)
        self.values = list(times)[:MOST_CODES]
        self.distinct = len(times)
        self.once = sum(count == 1 for count in times.values())
        self.steps = steps_of(sorted(self.values)) if self.distinct <= MOST_CODES else 0
        self.sample.sort()
        self.low, self.high = self.sample[0], self.sample[-1]
        self.ready = True

    def _look_outside(self, value: float) -> bool:
        self._since += 1
        if self.low <= value <= self.high or self.extensions == EXTENSIONS:
            return False
        if self._outsiders % self._stride == 0:
            self._outside.append(value)
        self._outsiders += 1
        return len(self._outside) == OUTSIDE and self._extend()

    def _extend(self) -> bool:
        """Examine the values beyond the knots, and add knots if such values are common."""
        common = self._outsiders * OUTSIDE_SHARE >= self._since
        if common:
            outside = sorted(self._outside)
            low, high = self.low, self.high
            self._add(outside[: bisect_left(outside, low)])
            self._add(outside[bisect_right(outside, high) :])
            self.extensions += 1
            self._stride *= 2
        self._outside, self._outsiders, self._since = [], 0, 0
        return common

    def _add(self, beyond: list[float]) -> None:
        if len(beyond) < FEW_OUTSIDE:
            return
        knots = [beyond[knot_position(j, END_KNOTS, len(beyond))] for j in range(END_KNOTS)]
        self.further += knots
        self.low, self.high = min(self.low, *knots), max(self.high, *knots)
