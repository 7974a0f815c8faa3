"""The formulas of derived groups: one class for each kind, found by the kind's name.

In C++ the formulas are in `native/src/features/derived_kinds.cpp`, and give the same bits.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from chacha.config.derived_kinds import MOST_CODES
from chacha.features.column_stats import ColumnStats, short_text

__all__ = ["FORMULAS", "Basis", "Formula", "NamedValue", "PastFormula", "ValueFormula"]

TWO_PI = 6.283185307179586
TINY = float(np.float32(1e-7))  # counts as 0: the computed sine of π is not exactly 0

NamedValue = tuple[str, float]
"""The name and the value of a feature; zeros are dropped later."""


@dataclass
class Basis:
    """One column's basis in a derived group: the numbers from which its features are computed."""

    name: str
    at: Sequence[float] = ()  # knots, the distinct values of one-hot, a middle
    past: list[float] = field(default_factory=list)  # of lags a ring, of ewma the mean


class Formula:
    """The formula of a given group, which needs no numbers: it comes with the example."""

    def is_valid(self, parameter: float, basis: Basis) -> bool:
        """Return whether a basis that was read from a file can be one of the kind."""
        return False

    def names(self, basis: Basis) -> list[str]:
        """Return the names of the features that a column can have, in a fixed order."""
        return [basis.name]


class ValueFormula(Formula, ABC):
    """A formula of the values of the current example."""

    @abstractmethod
    def basis(self, parameter: float, name: str, stats: ColumnStats) -> Basis | None:
        """Return the basis of a column; None if the column is not ready or does not suit."""

    @abstractmethod
    def features(self, parameter: float, basis: Basis, x: float) -> list[NamedValue]:
        """Return the features of a value."""

    def is_valid(self, parameter: float, basis: Basis) -> bool:
        """Return whether there are no numbers, as for formulas that need none."""
        return not basis.past and not basis.at


class PastFormula(Formula, ABC):
    """A formula of the values of earlier examples."""

    def length(self, parameter: float) -> int:
        """Return how many numbers of a column are remembered."""
        return 1

    def basis(self, parameter: float, name: str) -> Basis:
        """Return the basis of a column, or of the label, before the first example."""
        return Basis(name, past=[0.0] * self.length(parameter))

    @abstractmethod
    def features(self, basis: Basis, clock: int) -> Iterator[NamedValue]:
        """Yield the features after `clock` examples, the most recent first."""

    @abstractmethod
    def store(self, parameter: float, basis: Basis, clock: int, value: float) -> None:
        """Add the value of an example; `clock` is the number of examples before it."""

    def is_valid(self, parameter: float, basis: Basis) -> bool:
        """Return whether the past has the right length."""
        return not basis.at and len(basis.past) == self.length(parameter)


class Bins(ValueFormula):
    """A value is divided between its two neighbouring knots; beyond the ends, the last counts."""

    def basis(self, parameter: float, name: str, stats: ColumnStats) -> Basis | None:
        """Return the knots of a column with more than two values."""
        return Basis(name, stats.knots(int(parameter))) if stats.numeric else None

    def features(self, parameter: float, basis: Basis, x: float) -> list[NamedValue]:
        """Return the shares of the two knots, such as `temp@21.5`."""
        name, knots = basis.name, basis.at
        if x <= knots[0]:
            return [(f"{name}@{short_text(knots[0])}", 1.0)]
        if x >= knots[-1]:
            return [(f"{name}@{short_text(knots[-1])}", 1.0)]
        above = bisect_right(knots, x)
        left, right = knots[above - 1], knots[above]
        share = _f32((x - left) / (right - left))
        low = _f32(1.0 - share)
        return [(f"{name}@{short_text(left)}", low), (f"{name}@{short_text(right)}", share)]

    def names(self, basis: Basis) -> list[str]:
        """Return the names of the knots, in their order."""
        return [f"{basis.name}@{short_text(knot)}" for knot in basis.at]

    def is_valid(self, parameter: float, basis: Basis) -> bool:
        """Return whether the knots increase."""
        return not basis.past and bool(basis.at) and all(a < b for a, b in pairwise(basis.at))


class OneHot(ValueFormula):
    """An indicator for each value; a new value has a name too, unless there are too many."""

    def basis(self, parameter: float, name: str, stats: ColumnStats) -> Basis | None:
        """Return the distinct values of a column that holds codes."""
        return Basis(name, list(stats.values)) if stats.codes else None

    def features(self, parameter: float, basis: Basis, x: float) -> list[NamedValue]:
        """Return the indicator of a value, such as `hour=13`."""
        distinguished = x in basis.at or len(basis.at) < MOST_CODES
        return [(f"{basis.name}={short_text(x) if distinguished else 'other'}", 1.0)]

    def names(self, basis: Basis) -> list[str]:
        """Return the names of the values, and that of all others."""
        return [f"{basis.name}={word}" for word in (*map(short_text, basis.at), "other")]

    def is_valid(self, parameter: float, basis: Basis) -> bool:
        """Return whether the values are distinct and not too many."""
        at = basis.at
        return not basis.past and 0 < len(at) <= MOST_CODES and len(set(at)) == len(at)


class Cyclic(ValueFormula):
    """The sine and the cosine of 2π(x - m)/p, where m is the middle of the first values."""

    def basis(self, parameter: float, name: str, stats: ColumnStats) -> Basis | None:
        """Return a basis for columns that hold codes within one period, wherever it begins."""
        if not stats.codes:
            return None
        least, largest, _ = stats.range
        return Basis(name, [0.5 * least + 0.5 * largest]) if largest - least <= parameter else None

    def features(self, parameter: float, basis: Basis, x: float) -> list[NamedValue]:
        """Return the sine and the cosine, `hour.sin` and `hour.cos`."""
        middle = basis.at[0] if basis.at else 0.0  # older files have none
        angle = TWO_PI * (x - middle) / parameter
        pairs = ((f"{basis.name}.sin", math.sin(angle)), (f"{basis.name}.cos", math.cos(angle)))
        return [(n, 0.0 if abs(_f32(v)) < TINY else _f32(v)) for n, v in pairs]

    def names(self, basis: Basis) -> list[str]:
        """Return the names of the sine and the cosine."""
        return [f"{basis.name}.sin", f"{basis.name}.cos"]

    def is_valid(self, parameter: float, basis: Basis) -> bool:
        """Return whether there is at most the middle."""
        return not basis.past and len(basis.at) <= 1


class Log(ValueFormula):
    """sign(x)·log(1 + |x|)."""

    def basis(self, parameter: float, name: str, stats: ColumnStats) -> Basis | None:
        """Return a basis for columns with more than two values."""
        return Basis(name) if stats.numeric else None

    def features(self, parameter: float, basis: Basis, x: float) -> list[NamedValue]:
        """Return the logarithm, under the name of the column."""
        return [(basis.name, _f32(math.copysign(math.log1p(abs(x)), x)))]


class Missing(Formula):
    """The indicators of empty cells come with the example."""


class Lag(PastFormula):
    """The values of the last n examples, in a ring."""

    def length(self, parameter: float) -> int:
        """Return n."""
        return int(parameter)

    def features(self, basis: Basis, clock: int) -> Iterator[NamedValue]:
        """Yield the values, such as `temp.1`, the most recent first."""
        n = len(basis.past)
        for k in range(1, min(n, clock) + 1):
            yield f"{basis.name}.{k}", basis.past[(clock - k) % n]

    def names(self, basis: Basis) -> list[str]:
        """Return the names of the values, the most recent first."""
        return [f"{basis.name}.{k}" for k in range(1, len(basis.past) + 1)]

    def store(self, parameter: float, basis: Basis, clock: int, value: float) -> None:
        """Replace the oldest value."""
        basis.past[clock % len(basis.past)] = value


class Ewma(PastFormula):
    """The exponentially weighted mean, which begins with the first value."""

    def features(self, basis: Basis, clock: int) -> Iterator[NamedValue]:
        """Yield the mean, under the name of the column."""
        if clock > 0:
            yield basis.name, basis.past[0]

    def store(self, parameter: float, basis: Basis, clock: int, value: float) -> None:
        """Move the mean towards the value."""
        before = basis.past[0]
        basis.past[0] = value if clock == 0 else _f32(before + parameter * (value - before))


class Own(Formula):
    """The features of a user function come with the example."""


def _f32(value: float) -> float:
    return float(np.float32(value))


FORMULAS: Mapping[str, Formula] = MappingProxyType(
    {
        "bins": Bins(),
        "onehot": OneHot(),
        "cyclic": Cyclic(),
        "log": Log(),
        "missing": Missing(),
        "lag": Lag(),
        "ewma": Ewma(),
        "own": Own(),
    }
)
"""The formulas by the names of their kinds in :data:`chacha.config.derived_kinds.KINDS`."""
