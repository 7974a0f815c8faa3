"""Derived groups: their names, and which of them may help on a stream.

A derived group such as `bins(temp,16)` is computed from a raw group, once for all models. A
configuration has all raw groups and some derived groups, and may multiply them like any group.
The kinds of derived groups are in :mod:`chacha.config.derived_kinds`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from chacha.config.arguments import check_numbers, check_part
from chacha.config.derived_kinds import KINDS, ColumnProfile, GroupProfile
from chacha.data.vw_text import BREAKS_NAMES
from chacha.errors import ConfigError

__all__ = [
    "DEFAULT_KINDS",
    "LABEL",
    "ColumnProfile",
    "DerivedFeatures",
    "DerivedGroup",
    "OfferedGroup",
    "derived",
    "sorted_derived_names",
]

LABEL = "label"
"""The source of lags and means of the label, as in `lag(label,3)`."""
DEFAULT_KINDS = tuple(kind.name for kind in KINDS.values() if kind.by_profile)
"""The kinds that are offered where the profile of a column suggests them."""
_RANKED = sorted(KINDS.values(), key=lambda kind: kind.rank)
_FORM = re.compile(r"(\w+)\((.+)\)")


class DerivedGroup(NamedTuple):
    """A derived group: its kind, the group it is computed from, and a parameter.

    >>> derived("bins(temp,16)")
    DerivedGroup(kind='bins', source='temp', parameter=16.0)
    >>> str(derived("bins(temp,16)")), derived("temp"), derived("f(x)")
    ('bins(temp,16)', None, None)
    """

    kind: str
    source: str
    parameter: float = 0.0

    @property
    def keeps_past(self) -> bool:
        """Whether it is computed from earlier examples."""
        return KINDS[self.kind].keeps_past

    @property
    def of_label(self) -> bool:
        """Whether it is computed from earlier labels."""
        return self.keeps_past and self.source == LABEL

    def __str__(self) -> str:
        number = f",{_shortest(self.parameter)}" if KINDS[self.kind].limits else ""
        return f"{self.kind}({self.source}{number})"


def _shortest(number: float) -> str:
    """Return the shortest text of at least six digits that reads back as the same number."""
    texts = (f"{number:.{digits}g}" for digits in range(6, 17))
    return next((text for text in texts if float(text) == number), f"{number:.17g}")


@lru_cache(maxsize=100_000)
def derived(name: str) -> DerivedGroup | None:
    """Return the derived group of this name, or None if the name is not one of a derived group."""
    match = _FORM.fullmatch(name)
    if match is None or match[1] not in KINDS:
        return None
    kind, source = match[1], match[2]
    limits = KINDS[kind].limits
    if limits is None:
        return DerivedGroup(kind, source)
    source, comma, number = source.rpartition(",")
    try:
        parameter = float(number)
    except ValueError:
        return None
    if not comma or not source or not limits.allow(parameter):
        return None
    group = DerivedGroup(kind, source, parameter)
    return group if str(group) == name else None


def check_derived_name(name: Any) -> str:
    """Return `name`, or raise an error if it is not the name of a derived group.

    >>> check_derived_name("bin(temp)")
    Traceback (most recent call last):
    chacha.errors.ConfigError: 'bin(temp)' is not a derived group; they are written \
bins(GROUP,16), onehot(GROUP), cyclic(GROUP,24), log(GROUP), missing(GROUP), lag(GROUP,3), \
ewma(GROUP,0.1), own(NAME), with label as a GROUP of lag and ewma
    """
    if isinstance(name, str) and derived(name) is not None and not BREAKS_NAMES.search(name):
        return name
    forms = ", ".join(kind.form for kind in KINDS.values())
    past = " and ".join(kind.name for kind in KINDS.values() if kind.keeps_past)
    raise ConfigError(
        f"{name!r} is not a derived group; they are written {forms}, "
        f"with label as a GROUP of {past}"
    )


def sorted_derived_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of derived groups in canonical form: sorted, each once.

    >>> sorted_derived_names(["log(b)", "bins(a,16)", "log(b)"])
    ('bins(a,16)', 'log(b)')
    """
    if isinstance(names, str):
        raise ConfigError(f"features must be a list of derived groups, got {names!r}")
    return tuple(sorted({check_derived_name(name) for name in names}))


class OfferedGroup(NamedTuple):
    """A derived group that may help, and why."""

    name: str
    why: str


@dataclass(frozen=True)
class DerivedFeatures:
    """The policy of derived features: which derived groups may be tried.

    Parameters
    ----------
    kinds
        Kinds that are offered where the profile of a column suggests them.
    knots
        The number of knots of bins; finer bins with four times as many may follow beside them.
    more
        Further groups to offer, such as `lag(label,3)` for streams in order of time.
    without
        Kinds, groups or derived groups that are never offered.
    functions
        Custom functions by name. A function gets a row as a mapping (column -> number, word, date,
        or None where a cell is empty) and returns a mapping of names to numbers, which is the
        group `own(NAME)`. Sources are then read row by row.
    first
        The number of first values of a column that its knots are computed from.
    text
        Whether groups are derived from VW text too, not only from tables and dicts.

    Examples
    --------
    >>> hour = ColumnProfile("hour", "hour", 24, True, 23, 0.0, 23.0, 12.0)
    >>> for name, why in DerivedFeatures().offers([hour]):
    ...     print(f"{name}: {why}")
    onehot(hour): 24 different values
    bins(hour,16): 24 values
    cyclic(hour,24): 24 evenly spaced values
    """

    kinds: Sequence[str] = DEFAULT_KINDS
    knots: int = 16
    more: Sequence[str] = ()
    without: Sequence[str] = ()
    functions: Mapping[str, Callable[[Any], Mapping[str, float]]] = field(default_factory=dict)
    first: int = 256
    text: bool = True

    def __post_init__(self) -> None:
        check_numbers(self, DerivedFeatures)
        for name in ("kinds", "more", "without"):
            check_part(name, getattr(self, name), (list, tuple), "a list of names")
        check_part("functions", self.functions, Mapping, "a dict of functions by name")
        wrong = [kind for kind in self.kinds if kind not in DEFAULT_KINDS]
        if wrong:
            kinds = ", ".join(DEFAULT_KINDS)
            raise ConfigError(f"kinds must be among {kinds}, got {wrong[0]!r}")
        if not 2 <= self.knots <= 256 or not 8 <= self.first <= 10_000:
            raise ConfigError(
                f"knots must lie in 2 to 256 and first in 8 to 10000, "
                f"got knots={self.knots}, first={self.first}"
            )
        for name in self.more:
            check_derived_name(name)
        for name, function in self.functions.items():
            check_derived_name(f"own({name})")
            if not callable(function):
                raise ConfigError(f"own({name}) must be a function, got {function!r:.60}")

    def __str__(self) -> str:
        words = [*self.kinds, *self.more, *(f"own({name})" for name in self.functions)]
        return f"DerivedFeatures({', '.join([*words, *(f'-{word}' for word in self.without)])})"

    @property
    def from_start(self) -> list[str]:
        """Groups that are derived from the first example on, because they may need the past.

        >>> DerivedFeatures(more=["lag(label,2)"], functions={"area": dict}).from_start
        ['lag(label,2)', 'own(area)']
        """
        return [*self.more, *(f"own({name})" for name in self.functions)]

    def offers(self, columns: Sequence[ColumnProfile]) -> list[OfferedGroup]:
        """Return the groups that may help, by the profiles of the columns, and why."""
        reasons: dict[str, str] = {}
        by_group = sorted(columns, key=lambda column: column.group)
        groups = {column.group for column in columns}
        for group, members in groupby(by_group, key=lambda column: column.group):
            if not BREAKS_NAMES.search(group):  # nothing is derived from the group without a name
                reasons.update(self._of_group(group, list(members)))
        reasons = {name: why for name, why in reasons.items() if _is_free(name, groups)}
        for name in self.more:
            reasons[name] = "asked for"
        for name in self.functions:
            reasons[f"own({name})"] = KINDS["own"].why
        return [_offered(name, why) for name, why in reasons.items() if self._allowed(name)]

    def _allowed(self, name: str) -> bool:
        group = derived(name)
        assert group is not None
        return not {name, group.kind, group.source} & set(self.without)

    def _of_group(self, group: str, columns: Sequence[ColumnProfile]) -> Iterator[tuple[str, str]]:
        """Yield the derived groups of a raw group that suit its columns, and why."""
        if _is_missing(group):
            if "missing" in self.kinds:
                yield group, KINDS["missing"].why
            return
        profile = GroupProfile(columns)
        for kind in _RANKED:
            if kind.name in self.kinds:
                for parameter, why in kind.offers(profile, self.knots):
                    yield str(DerivedGroup(kind.name, group, parameter)), why


@lru_cache(maxsize=4096)
def _offered(name: str, why: str) -> OfferedGroup:
    """Return an offered group, which models share."""
    return OfferedGroup(name, why)


def _is_missing(name: str) -> bool:
    group = derived(name)
    return group is not None and group.kind == "missing"


def _is_free(name: str, groups: Collection[str]) -> bool:
    """Return whether the stream has no raw group of that name."""
    return name not in groups or _is_missing(name)
