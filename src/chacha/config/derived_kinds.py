"""The kinds of derived groups: their names, limits and sizes, and when they are offered.

A new kind is a class and an entry of :data:`KINDS` here, and a class of that name in
:mod:`chacha.features.formulas`, which computes its features. C++ has both in one file.

Twin: native/src/features/derived_kinds.hpp
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, NamedTuple

__all__ = [
    "KINDS",
    "MOST_CODES",
    "MOST_STEPS",
    "ColumnProfile",
    "DerivedKind",
    "GroupProfile",
    "Limits",
    "Offer",
    "is_missing_group",
]

MOST_CODES = 64
"""The number of distinct values of a column that one-hot coding distinguishes."""
MOST_STEPS = 365
"""The number of steps of evenly spaced values, at most: those of a period as long as a year."""
SHORT = 12  # digits of a period, at most, unless it has more


class ColumnProfile(NamedTuple):
    """A profile of the first values of a column, which is a feature of a raw group.

    `distinct` is the number of distinct values, `codes` whether they are few, and `middle` the
    median. If they are few and evenly spaced, but for gaps, there are `steps` from `low` to `high`;
    otherwise `steps` is 0.
    """

    group: str
    name: str
    distinct: int
    codes: bool
    steps: int
    low: float
    high: float
    middle: float


class GroupProfile:
    """The columns of a raw group: those with more than two values, and those that hold codes.

    >>> hour = ColumnProfile("time", "hour", 24, True, 23, 0.0, 23.0, 12.0)
    >>> late = ColumnProfile("time", "late", 2, True, 1, 0.0, 1.0, 0.0)
    >>> profile = GroupProfile([hour, late])
    >>> len(profile.columns), profile.most_values, profile.most_codes
    (1, 24, 24)
    """

    def __init__(self, columns: Sequence[ColumnProfile]) -> None:
        self.columns = [c for c in columns if c.distinct > 2]
        self.codes = [c for c in self.columns if c.codes]
        self.most_values = max((c.distinct for c in self.columns), default=0)
        self.most_codes = max((c.distinct for c in self.codes), default=0)


class Limits(NamedTuple):
    """The limits of a parameter, which is always above 0.

    >>> Limits(2, 1024, whole=True).allow(16.0), Limits(0, 1).allow(0.0)
    (True, False)
    """

    least: float
    most: float
    whole: bool = False

    def allow(self, parameter: float) -> bool:
        """Return whether a parameter is within the limits."""
        within = self.least <= parameter <= self.most and parameter > 0
        return within and (not self.whole or float(parameter).is_integer())


class Offer(NamedTuple):
    """The parameter of a derived group that may help (0 if it has none), and the reason."""

    parameter: float
    why: str


class DerivedKind:
    """What the library needs to know about a kind of derived groups.

    The defaults are those of a kind without a parameter that gives one feature for each feature
    of its source.

    >>> KINDS["bins"].limits, KINDS["lag"].keeps_past, KINDS["own"].given
    (Limits(least=2, most=1024, whole=True), True, True)
    """

    name: ClassVar[str]
    form: ClassVar[str]
    """How a group of the kind is written, for messages."""
    limits: ClassVar[Limits | None] = None
    """The limits of the parameter, if the kind has one."""
    keeps_past: ClassVar[bool] = False
    """Whether groups are computed from earlier examples, or from earlier labels."""
    given: ClassVar[bool] = False
    """Whether groups come with the example instead of being computed from it."""
    by_profile: ClassVar[bool] = True
    """Whether groups are offered by default, where the profile of a column suggests them."""
    covers_columns: ClassVar[bool] = False
    """Whether a group represents the whole range of its columns. The first group of such a kind
    for every raw group is tried in one configuration."""
    rank: ClassVar[int] = 1
    """Groups of a lower rank are offered before others of the same source."""
    why: ClassVar[str] = ""
    """The reason for offering a given group."""

    def distinct_features(self, parameter: float) -> float:
        """Return the number of distinct features for each distinct feature of the source."""
        return 1.0

    def features(self, parameter: float) -> float:
        """Return the number of features in an example for each feature of the source."""
        return 1.0

    def offers(self, profile: GroupProfile, knots: int) -> Iterator[Offer]:
        """Yield what to offer for a raw group; `knots` is the policy's number of knots."""
        return iter(())

    def finer(self, parameter: float, distinct: int, knots: int) -> float | None:
        """Return the parameter of a finer group to add beside one that a champion has.

        `distinct` is the largest number of distinct values of a column of the source.
        """
        return None


class Bins(DerivedKind):
    """A piecewise-linear basis on quantiles."""

    name = "bins"
    form = "bins(GROUP,16)"
    limits = Limits(2, 1024, whole=True)
    covers_columns = True

    FINER = 4  # the factor of knots of finer bins, which are used beside the coarse ones

    def distinct_features(self, parameter: float) -> float:
        """Return the number of knots."""
        return parameter

    def features(self, parameter: float) -> float:
        """Return 2: a value is divided between two knots."""
        return 2.0

    def offers(self, profile: GroupProfile, knots: int) -> Iterator[Offer]:
        """Offer bins of more values than one-hot coding covers, or than there are knots."""
        if profile.most_values > min(profile.most_codes, knots):
            yield Offer(knots, f"{profile.most_values} values")

    def finer(self, parameter: float, distinct: int, knots: int) -> float | None:
        """Return four times the knots, unless the bins are fine already."""
        return parameter * self.FINER if parameter <= knots and distinct > parameter else None


class OneHot(DerivedKind):
    """An indicator for each value."""

    name = "onehot"
    form = "onehot(GROUP)"
    covers_columns = True
    rank = 0

    def distinct_features(self, parameter: float) -> float:
        """Return the number of distinguished values, and one for all others."""
        return MOST_CODES + 1.0

    def offers(self, profile: GroupProfile, knots: int) -> Iterator[Offer]:
        """Offer indicators of columns that hold codes."""
        if profile.codes:
            yield Offer(0.0, f"{profile.most_codes} different values")


class Cyclic(DerivedKind):
    """Sine and cosine over a period."""

    name = "cyclic"
    form = "cyclic(GROUP,24)"
    limits = Limits(0.0, 1e300)

    PERIODS = (7, 12, 24, 60, 365, 366)  # weekdays, months, hours, minutes, days

    def distinct_features(self, parameter: float) -> float:
        """Return 2: the sine and the cosine."""
        return 2.0

    def features(self, parameter: float) -> float:
        """Return 2: the sine and the cosine."""
        return 2.0

    def offers(self, profile: GroupProfile, knots: int) -> Iterator[Offer]:
        """Offer a period that evenly spaced values fill, in units of the column."""
        offered = set()
        for period in self.PERIODS:
            for column in profile.codes:
                if column.steps != period - 1:
                    continue
                parameter = _period_of(column, period)
                if parameter not in offered and self.limits.allow(parameter):
                    offered.add(parameter)
                    yield Offer(parameter, f"{period} evenly spaced values")


def _period_of(column: ColumnProfile, period: int) -> float:
    """Return how long a period is, without the digits that only rounding gave it.

    >>> tenths = ColumnProfile("hour", "hour", 24, True, 23, 0.1, 2.4000000000000004, 1.2)
    >>> _period_of(tenths, 24)
    2.4
    """
    length = (column.high - column.low) * period / column.steps
    rounding = 2.0**-49 * max(abs(column.low), abs(column.high)) * period / column.steps
    shorter = (float(f"{length:.{digits}g}") for digits in range(1, SHORT + 1))
    return next((short for short in shorter if abs(short - length) <= rounding), length)


class Log(DerivedKind):
    """The logarithm of 1 + |x|, with the sign of x."""

    name = "log"
    form = "log(GROUP)"

    def offers(self, profile: GroupProfile, knots: int) -> Iterator[Offer]:
        """Offer logarithms of columns with a few large values."""
        if any(c.low >= 0 and c.high > 20 * c.middle > 0 for c in profile.columns):
            yield Offer(0.0, "a few large values")


class Missing(DerivedKind):
    """An indicator for each column with an empty cell. A stream may contain such groups itself."""

    name = "missing"
    form = "missing(GROUP)"
    given = True
    why = "cells are missing"


class Lag(DerivedKind):
    """The values of the last examples."""

    name = "lag"
    form = "lag(GROUP,3)"
    limits = Limits(1, 1000, whole=True)
    keeps_past = True
    by_profile = False

    def distinct_features(self, parameter: float) -> float:
        """Return the number of examples that the group reaches back."""
        return parameter

    def features(self, parameter: float) -> float:
        """Return the number of examples that the group reaches back."""
        return parameter


class Ewma(DerivedKind):
    """The exponentially weighted mean of earlier examples."""

    name = "ewma"
    form = "ewma(GROUP,0.1)"
    limits = Limits(0.0, 1.0)
    keeps_past = True
    by_profile = False


class Own(DerivedKind):
    """The features that a user function returns."""

    name = "own"
    form = "own(NAME)"
    given = True
    by_profile = False
    why = "your function"


_ALL = (Bins(), OneHot(), Cyclic(), Log(), Missing(), Lag(), Ewma(), Own())
KINDS: Mapping[str, DerivedKind] = MappingProxyType({kind.name: kind for kind in _ALL})
"""The kinds of derived groups by name."""
_MISSING_PREFIX = f"{Missing.name}("


def is_missing_group(name: str) -> bool:
    """Return whether a group marks empty cells. A stream may contain such groups itself.

    >>> is_missing_group("missing(age)"), is_missing_group("missing")
    (True, False)
    """
    return name.startswith(_MISSING_PREFIX) and name.endswith(")")
