"""Dicts: how one Python mapping becomes an example, and what a model knows of its columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

from chacha.data.example import Example, make_example
from chacha.data.vw_text import DEFAULT_GROUP, escape, murmur
from chacha.errors import BadExample
from chacha.sources.spec import (
    DEFAULT_TABLE,
    Categories,
    Kind,
    Missing,
    TableSpec,
    missing_group,
    natural_order,
)
from chacha.sources.values.cells import (
    NumberCells,
    Pairs,
    category_name,
    is_missing,
    is_nan,
    is_numeric,
    number,
    pairs,
    pairs_by_type,
    python_value,
)

__all__ = ["DictReader", "EmptyCell", "Grouping", "Leaf", "flatten", "is_grouped", "place_in_dicts"]

MOST_CATEGORIES = 1_000_000  # categories of one column that can have codes
SIMPLE = frozenset({float, int, str, bool, type(None)})  # types whose values are not mappings


class EmptyCell(BadExample):
    """An empty cell where none is allowed."""

    def __init__(self, column: str) -> None:
        message = f"column {column!r}: the cell is empty (--missing zero takes it as 0)"
        super().__init__(message, "empty cell")


def is_grouped(x: Mapping[Any, Any]) -> bool:
    """Return whether a dict holds groups (dicts) rather than features.

    >>> is_grouped({"user": {"age": 3}}), is_grouped({"age": 3})
    (True, False)
    """
    return any(type(v) not in SIMPLE and isinstance(v, Mapping) for v in x.values())


def flatten(x: Mapping[Any, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the entries of a dict of dicts, with their paths.

    >>> list(flatten({"user": {"id": 7, "geo": {"lat": 1.5}}, "hour": 5}))
    [('user.id', 7), ('user.geo.lat', 1.5), ('hour', 5)]
    """
    for name, value in x.items():
        path = f"{above}{name}" if above else str(name)
        if isinstance(value, Mapping):
            yield from flatten(value, f"{path}.")
        else:
            yield path, value


class Grouping:
    """The group of each column of a table, or feature of a flat dict; the first one decides.

    By default up to 64 features are one group each, and more are divided by name. Names that
    come later go to these groups by a stable hash. In an example, groups are in the order of
    their first names, and features in that of their names, so the order of a dict or a table
    does not matter. The order of a table matters only if its columns are grouped in order; then
    `names` are `in_order`.

    >>> grouping = Grouping(["b", "a"])
    >>> grouping.group_of("a"), grouping.group_of("zebra")
    ('a', 'a')
    >>> grouping.sorted_names(["b", "zebra", "a"])
    ['a', 'zebra', 'b']
    """

    def __init__(
        self, names: Iterable[Any], spec: TableSpec | None = None, in_order: bool = False
    ) -> None:
        self._spec = spec or DEFAULT_TABLE
        given = [str(name) for name in names]
        self.groups = self._spec.group_columns(given if in_order else sorted(given))
        self._labels = sorted(set(self.groups.values()))
        self._order = {group: i for i, group in enumerate(dict.fromkeys(self.groups.values()))}
        self._rank: dict[str, tuple[int, int]] = {}  # of the columns of a table, in its order
        if in_order and not self._spec.sorts_columns:
            columns = enumerate(self.groups.items())
            self._rank = {name: (self._order[group], i) for i, (name, group) in columns}

    def sorted_names(self, names: Iterable[str]) -> list[str]:
        """Return names in the order of an example, if the columns are sorted."""
        return sorted(names, key=lambda name: self._place(name, self.group_of(name)))

    def sorted_leaves(self, leaves: list[Leaf]) -> list[Leaf]:
        """Return the entries of a dict in the order of the example."""
        if self._spec.sorts_columns:
            return sorted(leaves, key=lambda leaf: self._place(leaf.path, leaf.group))
        if not self._rank:
            return sorted(leaves, key=_by_group)
        rank, last = self._rank, len(self._rank)
        leaves = sorted(leaves, key=lambda leaf: (*rank.get(leaf.path, (last, last)), leaf[:2]))
        by_group: dict[str, list[Leaf]] = {}
        for leaf in leaves:
            by_group.setdefault(leaf.group, []).append(leaf)
        return [leaf for group in by_group.values() for leaf in group]

    def group_of(self, name: str) -> str:
        """Return the group of a feature."""
        group = self.groups.get(name) or self._spec.late_group(name)
        return group or self._labels[murmur(name.encode(), 0) % len(self._labels)]

    def _place(self, name: str, group: str) -> tuple[Any, ...]:
        """Return the key that sorts a feature; groups that come later are behind the first ones."""
        order = self._order.get(group, len(self._order))
        return order, natural_order(group), natural_order(name)


class Leaf(NamedTuple):
    """One entry of a dict: its group, its path, its name in the group, and its value."""

    group: str
    path: str
    name: str
    value: Any


_by_group = itemgetter(0, 1)


def place_in_dicts(group: str, path: str) -> tuple[Any, ...]:
    """Return the key that sorts the entries of a dict of dicts: by group, then by name.

    >>> place_in_dicts("b2", "b2.x") < place_in_dicts("b10", "b10.a")
    True
    """
    return natural_order(group), natural_order(path)


class DictReader:
    """Turns dicts into examples, and keeps what was decided about features and columns.

    The first good flat dict decides the groups, or a table that came before. What a table or a
    file of records decided about its columns holds for the dicts that follow.

    Parameters
    ----------
    check
        What a label must pass besides being finite: it raises BadExample or returns.
    offer_missing
        Whether empty cells that count as 0 are also features of the group `missing(GROUP)`.
    keep_rows
        Whether examples keep the values they were made of.
    with_numbers
        Whether examples keep their numbers as they are before they are rounded.

    Examples
    --------

    >>> reader = DictReader()
    >>> reader.example({"age": 3, "hour": 5}).line
    '|age age:3.0 |hour hour:5.0'
    >>> reader.fix_groups({"age": 3, "hour": 5})
    >>> reader.example({"age": 4, "late": 1}).line
    '|age age:4.0 late'
    >>> reader.example({"user": {"id": "7", "age": 31}, "hour": 5}).line
    '| hour:5.0 |user age:31.0 id=7'
    """

    def __init__(
        self,
        check: Callable[[float], float] = lambda label: label,
        offer_missing: bool = False,
        keep_rows: bool = False,
        with_numbers: bool = False,
    ) -> None:
        self.check, self.offer_missing, self.keep_rows = check, offer_missing, keep_rows
        self.with_numbers = with_numbers
        self.spec = DEFAULT_TABLE
        self.grouping: Grouping | None = None
        self.kinds: dict[str, Kind] = {}  # of the columns of tables
        self.texts: set[str] = set()  # columns of tables that are written as text
        self.decimal: str | None = None  # their decimal point
        self.index_groups: Any = None  # of the last LIBSVM file
        self.codes: dict[str, dict[str, int]] = {}  # column -> word -> code

    def example(self, x: Mapping[Any, Any], place: str = "") -> Example:
        """Return the example of a dict, flat or of groups; the reader does not change."""
        groups: dict[str, Pairs] = {}
        empty: dict[str, Pairs] = {}
        row: dict[str, Any] = {}
        numbers = NumberCells()
        offers_missing = self.offers_missing(self.spec)
        try:
            for group, path, name, value in self.leaves(x):
                features = self.features(path, name, value)
                groups.setdefault(group, []).extend(features)
                if self.with_numbers:
                    cells = self._numbers(path, name, value, features)
                    numbers.add(group, len(features), cells)
                if offers_missing and not features and name and self.cell(path, value) is None:
                    empty.setdefault(missing_group(group), []).append((escape(name), 1.0))
                if self.keep_rows:
                    row[path] = self.value(path, value)
        except RecursionError as error:
            raise BadExample("the dict is nested too deep") from error
        example = make_example(groups, place=place).with_groups(empty)
        if self.with_numbers:
            example = replace(example, numbers=numbers.cells)
        return replace(example, row=row) if self.keep_rows else example

    def _numbers(self, column: str, name: str, value: Any, features: Pairs) -> Pairs:
        """Return the numbers of one value, also if they are 0 or missing (NaN); words have none."""
        kind, cell = self.kinds.get(column), self.cell(column, value)
        if cell is None:
            single = kind in (None, Kind.NUMBER, Kind.BOOLEAN)
            return [(escape(name), math.nan)] if single else []
        return features if is_numeric(kind, cell) else []

    def offers_missing(self, spec: TableSpec) -> bool:
        """Return whether the empty cells of a table are features too.

        >>> DictReader(offer_missing=True).offers_missing(TableSpec(missing=Missing.INDICATOR))
        False
        """
        return spec.missing is Missing.OFFER or (
            self.offer_missing and spec.missing is Missing.ZERO
        )

    def leaves(self, x: Mapping[Any, Any]) -> list[Leaf]:
        """Return the entries of a dict with their groups, in the order of the example.

        The dicts in a dict of dicts are groups by name; the entries beside them belong to the
        group without a name. Groups of the spec take precedence.
        """
        leaves: list[Leaf] = []
        if is_grouped(x) and not self.spec.groups:
            for key, value in x.items():
                name = str(key)
                if isinstance(value, Mapping):
                    group = escape(name)
                    leaves += [Leaf(group, f"{name}.{n}", n, v) for n, v in flatten(value)]
                else:
                    leaves.append(Leaf(DEFAULT_GROUP, name, name, value))
        else:
            flat = list(flatten(x))
            grouping = self.grouping or Grouping([path for path, _ in flat], self.spec)
            leaves = [Leaf(grouping.group_of(path), path, path, value) for path, value in flat]
            return grouping.sorted_leaves(leaves)
        if self.spec.sorts_columns:
            return sorted(leaves, key=lambda leaf: place_in_dicts(leaf.group, leaf.path))
        return sorted(leaves, key=_by_group)

    def features(self, column: str, name: str, value: Any) -> Pairs:
        """Return the features of one value, by what is known of its column."""
        kind = self.kinds.get(column)
        if type(value) is float and kind is Kind.NUMBER and name and math.isfinite(value):
            return [(escape(name), value)]  # a short cut for the most common case
        value = self.cell(column, value)
        if value is None:
            return self.missing(column, escape(name))
        if kind is None or not name:
            return pairs_by_type(name, value)
        if kind is Kind.CATEGORY and self.spec.categories is Categories.CODE:
            codes = self.codes.get(column, {})
            return [(escape(name), float(codes.get(category_name(value), len(codes))))]
        try:
            if kind is Kind.NUMBER and column in self.texts:
                return [(escape(name), number(value, self.decimal or "."))]
            return pairs(kind, escape(name), value, self.spec.format_of(column))
        except BadExample as error:
            raise BadExample(f"column {column!r}: {error}", error.reason) from error

    def cell(self, column: str, value: Any) -> Any:
        """Return the value; None if it means an empty cell."""
        if column in self.texts and isinstance(value, str):
            value = value.strip()
            value = None if value in self.spec.nulls else value
        empty = is_missing(value) or ("nan" in self.spec.nulls and is_nan(value))
        return None if empty else value

    def value(self, column: str, value: Any) -> Any:
        """Return a value as user functions get it: by what is known of its column."""
        kind, value = self.kinds.get(column), self.cell(column, value)
        form, decimal = self.spec.format_of(column), self.decimal or "."
        return value if value is None or kind is None else python_value(kind, value, form, decimal)

    def missing(self, column: str, name: str) -> Pairs:
        """Return the features of an empty cell."""
        match self.spec.missing:
            case Missing.ZERO | Missing.OFFER:
                return []
            case Missing.INDICATOR:
                return [(f"{name}=missing", 1.0)]
            case _:
                raise EmptyCell(column)

    def fix_groups(self, x: Mapping[Any, Any]) -> None:
        """Fix the groups by a good dict, if it is the first flat one; add codes for its words."""
        if self.grouping is None and x and (not is_grouped(x) or self.spec.groups):
            self.grouping = Grouping(dict(flatten(x)), self.spec)
        if self.spec.categories is Categories.CODE:
            for column, value in flatten(x):
                if self.kinds.get(column) is Kind.CATEGORY and not is_missing(value):
                    self.code(column, category_name(value))

    def code(self, column: str, name: str) -> int:
        """Return the code of a category; a new one gets the next code."""
        codes = self.codes.setdefault(column, {})
        if len(codes) >= MOST_CATEGORIES and name not in codes:
            message = f"column {column!r} has more than {MOST_CATEGORIES} categories"
            raise BadExample(f"{message}; take them as indicators", "too many categories")
        return codes.setdefault(name, len(codes))

    def adopt(self, spec: TableSpec, grouping: Grouping | None = None) -> None:
        """Adopt a table's spec and groups for the dicts that follow."""
        self.spec = spec
        self.grouping = self.grouping or grouping
