"""Dicts: how a Python mapping becomes an example."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from chacha.errors import BadExample
from chacha.example import DEFAULT_GROUP, Example, make_example
from chacha.vwtext import escape, murmur

__all__ = ["DictReader", "Grouping", "Kind", "feature", "is_grouped", "sequential_groups"]

MOST_GROUPS = 10
Groups = dict[str, list[tuple[str, float]]]


def sequential_groups(names: list[str], most: int = MOST_GROUPS) -> dict[str, str]:
    """Name -> group: at most `most` groups of equal size, in order.

    A group of one goes by its own name, larger ones by letters.

    >>> sequential_groups(["hour", "age"])
    {'hour': 'hour', 'age': 'age'}
    >>> sequential_groups(["u", "v", "w"], most=2)
    {'u': 'a', 'v': 'a', 'w': 'b'}
    """
    if len(names) <= most:
        return {name: escape(name) for name in names}
    size = math.ceil(len(names) / most)
    letters = string.ascii_letters
    count = math.ceil(len(names) / size)
    labels = [letters[i] if count <= len(letters) else f"g{i}" for i in range(count)]
    return {name: labels[i // size] for i, name in enumerate(names)}


def feature(name: str, value: Any) -> tuple[str, float] | None:
    """One entry of a dict as (name, value); None where the value is missing.

    >>> feature("age", 3), feature("color", "red"), feature("vip", True), feature("x", None)
    (('age', 3.0), ('color=red', 1.0), ('vip', 1.0), None)
    """
    if not name:
        raise BadExample("a feature has no name; every feature needs one")
    if value is None:
        return None
    if isinstance(value, str):
        return f"{escape(name)}={escape(value)}", 1.0
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadExample(
            f"feature {name!r} is {value!r:.60}; a value is a number, a word, a bool or None",
            "not a value",
        ) from error
    if not math.isfinite(number):
        message = f"feature {name!r} is {value!r}; values must be finite (None: missing)"
        raise BadExample(message, "value not finite")
    return escape(name), number


def is_grouped(x: Mapping[Any, Any]) -> bool:
    """Whether a dict holds groups (dicts) rather than features.

    >>> is_grouped({"user": {"age": 3}}), is_grouped({"age": 3})
    (True, False)
    """
    return any(isinstance(value, Mapping) for value in x.values())


class Grouping:
    """Which group each feature of a flat dict belongs to; the first dict decides.

    Up to ten features are groups of their own, more are parted by sorted name; names that
    come later go to these groups by a stable hash. The order of a dict does not matter.

    >>> grouping = Grouping(["b", "a"])
    >>> grouping.features({"b": 2, "a": 1})
    {'a': [('a', 1.0)], 'b': [('b', 2.0)]}
    >>> grouping.features({"zebra": 1, "a": 1})
    {'a': [('a', 1.0), ('zebra', 1.0)]}
    """

    def __init__(self, names: Iterable[Any], groups: Mapping[str, str] | None = None) -> None:
        self.groups = dict(groups or sequential_groups(sorted(map(str, names))))
        self._labels = sorted(set(self.groups.values()))

    def group_of(self, name: str) -> str:
        """The group of a feature."""
        group = self.groups.get(name)
        return group or self._labels[murmur(name.encode(), 0) % len(self._labels)]

    def features(self, x: Mapping[Any, Any]) -> Groups:
        """The features of a flat dict, by group."""
        groups: Groups = {}
        for name, value in sorted(
            ((str(name), value) for name, value in x.items()), key=lambda e: e[0]
        ):
            features = groups.setdefault(self.group_of(name), [])
            if (pair := feature(name, value)) is not None:
                features.append(pair)
        return dict(sorted(groups.items()))


def grouped_features(x: Mapping[Any, Any]) -> Groups:
    """The features of a dict of dicts: groups by name, loose features in the nameless one.

    >>> grouped_features({"user": {"id": "7", "age": 31}, "hour": 5})
    {' ': [('hour', 5.0)], 'user': [('age', 31.0), ('id=7', 1.0)]}
    """
    loose = {name: value for name, value in x.items() if not isinstance(value, Mapping)}
    named = {str(name): value for name, value in x.items() if isinstance(value, Mapping)}
    groups: Groups = {}
    for group, values in [(DEFAULT_GROUP, loose), *sorted(named.items())]:
        label = group if group == DEFAULT_GROUP else escape(group)
        entries = {str(name): value for name, value in values.items()}
        pairs = [feature(name, entries[name]) for name in sorted(entries)]
        if entries:
            groups[label] = [pair for pair in pairs if pair is not None]
    return groups


class Kind(Enum):
    """What a column of a table holds.

    >>> Kind.NUMBERS.value
    'numbers'
    """

    NUMBERS = "numbers"
    WORDS = "words"


class DictReader:
    """Turns dicts into examples, and remembers what was decided about features and columns.

    The first flat dict that was good decides the groups, or a table that came before.

    `check` is what else a label must pass to be good.

    >>> reader = DictReader()
    >>> reader.example({"age": 3, "hour": 5}).line
    '|age age:3.0 |hour hour:5.0'
    >>> reader.settle({"age": 3, "hour": 5})
    >>> reader.example({"age": 4, "late": 1}).line
    '|age age:4.0 late'
    """

    def __init__(self, check: Callable[[float], float] = lambda label: label) -> None:
        self.check = check
        self.grouping: Grouping | None = None
        self.kinds: dict[str, Kind] = {}  # of the columns of tables
        self.codes: dict[str, dict[str, int]] = {}  # of their words

    def example(self, x: Mapping[Any, Any], place: str = "") -> Example:
        """The example of a dict, flat or of groups. A pure read."""
        if is_grouped(x):
            return make_example(grouped_features(x), place=place)
        grouping = self.grouping or Grouping(x)
        return make_example(grouping.features(x), place=place)

    def settle(self, x: Mapping[Any, Any]) -> None:
        """`x` was good: if it is the first flat one, its names decide the groups."""
        if self.grouping is None and x and not is_grouped(x):
            self.grouping = Grouping(x)

    def adopt(self, groups: Mapping[str, str]) -> None:
        """A table decides the groups (column -> group) of the dicts that come after it."""
        if self.grouping is None:
            self.grouping = Grouping(groups, groups)
