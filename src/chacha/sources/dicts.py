"""Dicts: how a Python mapping becomes an example, and iterators of them."""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from chacha.errors import BadExample
from chacha.example import DEFAULT_GROUP, Example, make_example
from chacha.sources.base import Bad
from chacha.vwtext import escape, murmur

__all__ = ["DictSource", "Grouping", "feature", "is_grouped", "sequential_groups"]

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
    if value is None:
        return None
    if isinstance(value, str):
        return f"{escape(name)}={escape(value)}", 1.0
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise BadExample(
            f"feature {name!r} is {value!r}; a value is a number, a word, a bool or None"
        ) from error
    if not math.isfinite(number):
        raise BadExample(f"feature {name!r} is {value!r}; values must be finite (None: missing)")
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

    def __init__(self, names: Iterable[Any]) -> None:
        self.groups = sequential_groups(sorted(map(str, names)))
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
            if (pair := feature(name, value)) is not None:
                groups.setdefault(self.group_of(name), []).append(pair)
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
        if features := [pair for pair in pairs if pair is not None]:
            groups[label] = features
    return groups


class DictSource:
    """An iterator of (x, y) pairs, x a dict: flat, or groups of features by name.

    >>> source = DictSource([({"age": 3, "hour": 5}, 1.0), ({"age": None}, 2.0)])
    >>> [example.line for example in source]
    ['1.0 |age age:3.0 |hour hour:5.0', '2.0 |']
    """

    def __init__(self, pairs: Iterable[tuple[Mapping[Any, Any], Any]], name: str = "dicts") -> None:
        self.name = name
        self.endless = iter(pairs) is pairs  # an iterator may be; a list is not
        self._pairs = pairs
        self._grouping: Grouping | None = None

    def __iter__(self) -> Iterator[Example | Bad]:
        for number, pair in enumerate(self._pairs, start=1):
            place = f"{self.name}: row {number}"
            try:
                x, y = pair
                if not isinstance(x, Mapping):
                    raise TypeError
            except (TypeError, ValueError):
                yield Bad(place, "not a pair", f"a row is a pair (dict, label), got {pair!r:.60}")
                continue
            if y is None:
                yield Bad(place, "no label", "the row has no label; learning needs one")
                continue
            try:
                grouping = self._grouping or first_grouping(x)
                example = to_example(x, grouping, place).with_label(y)
            except BadExample as error:
                reason = "label not finite" if "the label" in str(error) else "value not finite"
                yield Bad(place, reason, str(error))
            else:
                self._grouping = grouping  # the first good row decides
                yield example


def first_grouping(x: Mapping[Any, Any]) -> Grouping | None:
    """The grouping that a first dict decides; None if it has nothing to decide.

    >>> first_grouping({"a": {"x": 1}}) is None, first_grouping({"age": 3}).group_of("age")
    (True, 'age')
    """
    return None if not x or is_grouped(x) else Grouping(x)


def to_example(x: Mapping[Any, Any], grouping: Grouping | None, place: str = "") -> Example:
    """The example of a dict, flat or grouped.

    >>> to_example({"a": {"x": 1}}, None).line
    '|a x'
    """
    if is_grouped(x):
        groups = grouped_features(x)
    else:
        groups = grouping.features(x) if grouping is not None else {}
    return make_example(groups, place=place)
