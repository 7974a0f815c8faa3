"""One column of a stream: what derived groups must know of it. The engine's columnstats.cpp."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache

import numpy as np

__all__ = ["MOST_VALUES", "ColumnStats", "short_text"]

MOST_VALUES = 64  # of a column, that one-hot tells apart
OUTSIDE = 64  # values beyond the knots that are looked at together
OUTSIDE_SHARE = 20  # one value of so many must be outside, to extend
EXTENSIONS = 16
END_KNOTS = 4  # that an extension adds at an end, if there are
FEW_OUTSIDE = 16  # values there, at least


@lru_cache(maxsize=1 << 14)
def short_text(value: float) -> str:
    """A float32 as names have it: as short as it can be and be read back exactly.

    >>> short_text(float(np.float32(0.1))), short_text(24.0)
    ('0.1', '24')
    """
    text = ""
    for digits in range(6, 10):
        text = f"{value:.{digits}g}"
        if float(np.float32(float(text))) == value:
            break
    return text


class ColumnStats:
    """What the first values of a column tell, and how later ones extend it.

    Knots are set once there are `first` values, and stay. If one value of twenty lies beyond
    them, knots are added at that end; each time twice as many values are needed for it.

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
        self.whole = True
        self.distinct = 0
        self.low = self.high = 0.0  # the outermost knots
        self.further: list[float] = []
        self.values: list[float] = []  # that one-hot tells apart
        self.extensions = 0
        self._outside: list[float] = []  # one of every `stride` values beyond the knots
        self._outsiders = 0  # how many there were since they were looked at last,
        self._since = 0  # of so many values
        self._stride = 1

    @property
    def numeric(self) -> bool:
        """Whether it has more than two values."""
        return self.ready and self.distinct > 2

    @property
    def codes(self) -> bool:
        """Whether it has a few whole numbers."""
        return self.ready and self.whole and 1 < self.distinct <= MOST_VALUES

    @property
    def range(self) -> tuple[float, float, float]:
        """The least, the largest and the median of the first values, once it is ready."""
        return self.sample[0], self.sample[-1], self.sample[len(self.sample) // 2]

    def observe(self, value: float) -> bool:
        """Take in a value; True if the knots or the values that are known have changed."""
        if not self.ready:
            self.sample.append(value)
            if len(self.sample) < self.first:
                return False
            self._begin()
            return True
        changed = self._look_outside(value)
        if self.codes and len(self.values) < MOST_VALUES and value not in self.values:
            self.values.append(value)
            changed = True
        return changed

    def knots(self, k: int) -> list[float]:
        """All of the first values if they are few, else k quantiles; and what was added."""
        found = self.sample
        if self.distinct > k:
            found = [found[j * (len(found) - 1) // (k - 1)] for j in range(k)]
        return sorted({*found, *self.further})

    def _begin(self) -> None:
        self.whole = all(value == int(value) for value in self.sample)
        self.values = list(dict.fromkeys(self.sample))[:MOST_VALUES]
        self.distinct = len(set(self.sample))
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
        """Enough values lie beyond the knots; if they are no exception, knots are added."""
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
        knots = [beyond[j * (len(beyond) - 1) // (END_KNOTS - 1)] for j in range(END_KNOTS)]
        self.further += knots
        self.low, self.high = min(self.low, *knots), max(self.high, *knots)
