"""Dicts: how a Python mapping becomes an example."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from chacha.data.example import Example, make_example
from chacha.data.vw_text import DEFAULT_GROUP, escape, murmur
from chacha.errors import BadExample
from chacha.sources.grouping import missing_group
from chacha.sources.spec import Categories, Kind, Missing, TableSpec
from chacha.sources.values.cells import (
    LARGEST_INTEGER,
    Pairs,
    is_missing,
    is_nan,
    kind_of_value,
    number,
    pairs,
    plain_value,
    too_large,
    word,
)

__all__ = ["DictReader", "EmptyCell", "Grouping", "Leaf", "feature", "flatten", "is_grouped"]

MOST_CODES = 1_000_000  # categories of a column that are coded
SIMPLE = frozenset({float, int, str, bool, type(None)})  # types that need no second look


_TYPES = {str: Kind.CATEGORY, float: Kind.NUMBER, int: Kind.NUMBER}  # a date in a str is a word


class EmptyCell(BadExample):
    """An empty cell where none is allowed."""

    def __init__(self, column: str) -> None:
        message = f"column {column!r}: the cell is empty (--missing zero takes it as 0)"
        super().__init__(message, "empty cell")


def feature(name: str, value: Any) -> Pairs:
    """The features of one entry of a dict, told by its Python type; none if it is None.

    >>> feature("age", 3), feature("color", "red"), feature("vip", True), feature("x", None)
    ([('age', 3.0)], [('color=red', 1.0)], [('vip', 1.0)], [])
    """
    if not name:
        raise BadExample("a feature has no name; every feature needs one")
    if type(value) is float and math.isfinite(value):
        return [(escape(name), value)]
    if is_missing(value):
        return []
    kind = _TYPES.get(type(value)) or kind_of_value(value)
    if kind in (Kind.CATEGORY, Kind.DATETIME, Kind.VECTOR):
        return pairs(kind, escape(name), value)
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
    if isinstance(value, (int, np.integer)) and abs(int(value)) > LARGEST_INTEGER:
        raise too_large(int(value))
    return [(escape(name), number)]


def is_grouped(x: Mapping[Any, Any]) -> bool:
    """Whether a dict holds groups (dicts) rather than features.

    >>> is_grouped({"user": {"age": 3}}), is_grouped({"age": 3})
    (True, False)
    """
    return any(type(v) not in SIMPLE and isinstance(v, Mapping) for v in x.values())


def flatten(x: Mapping[Any, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The entries of a dict of dicts, with their paths.

    >>> list(flatten({"user": {"id": 7, "geo": {"lat": 1.5}}, "hour": 5}))
    [('user.id', 7), ('user.geo.lat', 1.5), ('hour', 5)]
    """
    for name, value in x.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from flatten(value, f"{path}.")
        else:
            yield path, value


class Grouping:
    """Which group each feature of a flat dict belongs to; the first dict decides.

    Up to ten features are groups of their own, more are parted by sorted name; names that
    come later go to these groups by a stable hash. The order of a dict does not matter.

    >>> grouping = Grouping(["b", "a"])
    >>> grouping.group_of("a"), grouping.group_of("zebra")
    ('a', 'a')
    """

    def __init__(
        self,
        names: Iterable[Any],
        spec: TableSpec | None = None,
        groups: Mapping[str, str] | None = None,
    ) -> None:
        self._spec = spec or TableSpec()
        self.groups = dict(groups or self._spec.group_columns(sorted(map(str, names))))
        self._labels = sorted(set(self.groups.values()))
        order = {group: i for i, group in enumerate(dict.fromkeys(self.groups.values()))}
        # A table's columns have an order, in which the features of a row are written.
        self.rank = {n: (order[g], i) for i, (n, g) in enumerate(groups.items())} if groups else {}

    def together(self, leaves: list[Leaf]) -> list[Leaf]:
        """The entries, those of a group together, groups in the order of their first."""
        found: dict[str, list[Leaf]] = {}
        for leaf in leaves:
            found.setdefault(leaf.group, []).append(leaf)
        return [leaf for group in found.values() for leaf in group]

    def group_of(self, name: str) -> str:
        """The group of a feature."""
        group = self.groups.get(name) or self._spec.late_group(name)
        return group or self._labels[murmur(name.encode(), 0) % len(self._labels)]


class Leaf(NamedTuple):
    """One entry of a dict: its group, its path, its name in the group, and its value."""

    group: str
    path: str
    name: str
    value: Any


_by_group = itemgetter(0, 1)


class DictReader:
    """Turns dicts into examples, and remembers what was decided about features and columns.

    The first flat dict that was good decides the groups, or a table that came before. What a
    table or a file of records decided about its columns holds for the dicts that follow.

    `check` is what else a label must pass to be good. With `offers`, empty cells that count as 0
    are features of the group `missing(GROUP)` too. With `keeps_rows`, examples know what they
    were made of.

    >>> reader = DictReader()
    >>> reader.example({"age": 3, "hour": 5}).line
    '|age age:3.0 |hour hour:5.0'
    >>> reader.settle({"age": 3, "hour": 5})
    >>> reader.example({"age": 4, "late": 1}).line
    '|age age:4.0 late'
    >>> reader.example({"user": {"id": "7", "age": 31}, "hour": 5}).line
    '| hour:5.0 |user age:31.0 id=7'
    """

    def __init__(
        self,
        check: Callable[[float], float] = lambda label: label,
        offers: bool = False,
        keeps_rows: bool = False,
    ) -> None:
        self.check, self.offers, self.keeps_rows = check, offers, keeps_rows
        self.spec = TableSpec()
        self.grouping: Grouping | None = None
        self.kinds: dict[str, Kind] = {}  # of the columns of tables
        self.texts: set[str] = set()  # columns of tables that are written as text
        self.decimal: str | None = None  # their decimal point
        self.ranges: Any = None  # the groups of the indices of LIBSVM files
        self.codes: dict[str, dict[str, int]] = {}  # of their words

    def example(self, x: Mapping[Any, Any], place: str = "") -> Example:
        """The example of a dict, flat or of groups. A pure read."""
        groups: dict[str, Pairs] = {}
        empty: dict[str, Pairs] = {}
        row: dict[str, Any] = {}
        offers = self.offers_in(self.spec)
        try:
            for group, path, name, value in self.leaves(x):
                made = self.features(path, name, value)
                groups.setdefault(group, []).extend(made)
                if offers and not made and name and self.cell(path, value) is None:
                    empty.setdefault(missing_group(group), []).append((escape(name), 1.0))
                if self.keeps_rows:
                    row[path] = self.value(path, value)
        except RecursionError as error:
            raise BadExample("the dict is nested too deep") from error
        example = make_example(groups, place=place).with_groups(empty)
        return replace(example, row=row) if self.keeps_rows else example

    def offers_in(self, spec: TableSpec) -> bool:
        """Whether the empty cells of a table are to be offered as features.

        >>> DictReader(offers=True).offers_in(TableSpec(missing=Missing.INDICATOR))
        False
        """
        return spec.missing is Missing.OFFER or (self.offers and spec.missing is Missing.ZERO)

    def leaves(self, x: Mapping[Any, Any]) -> list[Leaf]:
        """The entries of a dict with their groups, in the order in which they are written.

        The objects in a dict of dicts are groups by name, what stands beside them belongs to
        the group without a name. Groups that were asked for go over that.
        """
        found: list[Leaf] = []
        if is_grouped(x) and not self.spec.groups:
            for key, value in x.items():
                name = str(key)
                if isinstance(value, Mapping):
                    group = escape(name)
                    found += [Leaf(group, f"{name}.{n}", n, v) for n, v in flatten(value)]
                else:
                    found.append(Leaf(DEFAULT_GROUP, name, name, value))
        else:
            flat = list(flatten(x))
            grouping = self.grouping or Grouping([path for path, _ in flat], self.spec)
            found = [Leaf(grouping.group_of(path), path, path, value) for path, value in flat]
            if self.grouping is not None and self.grouping.rank:
                rank, last = self.grouping.rank, len(self.grouping.rank)
                found.sort(key=lambda leaf: (*rank.get(leaf.path, (last, last)), leaf[:2]))
                return self.grouping.together(found)
        found.sort(key=_by_group)
        return found

    def features(self, column: str, name: str, value: Any) -> Pairs:
        """The features of one value, by what is known of its column."""
        kind = self.kinds.get(column)
        if type(value) is float and kind is Kind.NUMBER and name and math.isfinite(value):
            return [(escape(name), value)]  # as below, for what is most common
        value = self.cell(column, value)
        if value is None:
            return self.missing(column, escape(name))
        if kind is None or not name:
            return feature(name, value)
        if kind is Kind.CATEGORY and self.spec.categories is Categories.CODE:
            codes = self.codes.get(column, {})
            return [(escape(name), float(codes.get(word(value), len(codes))))]
        try:
            if kind is Kind.NUMBER and column in self.texts:
                return [(escape(name), number(value, self.decimal or "."))]
            return pairs(kind, escape(name), value, self.spec.format_of(column))
        except BadExample as error:
            raise BadExample(f"column {column!r}: {error}", error.reason) from error

    def cell(self, column: str, value: Any) -> Any:
        """The value; None if it stands for an empty cell."""
        if column in self.texts and isinstance(value, str):
            value = value.strip()
            value = None if value in self.spec.nulls else value
        nothing = is_missing(value) or ("nan" in self.spec.nulls and is_nan(value))
        return None if nothing else value

    def value(self, column: str, value: Any) -> Any:
        """A value as functions of one's own are given it: by what is known of its column."""
        kind, value = self.kinds.get(column), self.cell(column, value)
        form, decimal = self.spec.format_of(column), self.decimal or "."
        return value if value is None or kind is None else plain_value(kind, value, form, decimal)

    def missing(self, column: str, name: str) -> Pairs:
        """The features of an empty cell."""
        match self.spec.missing:
            case Missing.ZERO | Missing.OFFER:
                return []
            case Missing.INDICATOR:
                return [(f"{name}=missing", 1.0)]
            case _:
                raise EmptyCell(column)

    def settle(self, x: Mapping[Any, Any]) -> None:
        """`x` was good: if it is the first flat one, its names decide the groups."""
        if self.grouping is None and x and (not is_grouped(x) or self.spec.groups):
            self.grouping = Grouping(dict(flatten(x)), self.spec)
        if self.spec.categories is Categories.CODE:
            for column, value in flatten(x):
                if self.kinds.get(column) is Kind.CATEGORY and not is_missing(value):
                    self.code(column, word(value))

    def code(self, column: str, name: str) -> int:
        """The code of a category; a new one gets the next."""
        codes = self.codes.setdefault(column, {})
        if len(codes) >= MOST_CODES and name not in codes:
            told = f"column {column!r} has more than {MOST_CODES} categories"
            raise BadExample(f"{told}; take them as indicators", "too many categories")
        return codes.setdefault(name, len(codes))

    def adopt(self, spec: TableSpec, groups: Mapping[str, str] | None = None) -> None:
        """A table decides the groups (column -> group) of the dicts that come after it."""
        self.spec = spec
        if self.grouping is None and groups:
            self.grouping = Grouping(groups, spec, groups)
