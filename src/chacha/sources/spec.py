"""TableSpec: how the columns of a table, or the fields of a record, become examples."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import Enum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, TypeVar

from chacha.data.vw_text import DEFAULT_GROUP, escape
from chacha.errors import ConfigError
from chacha.sources.csv_dialect import CsvDialect

__all__ = [
    "DEFAULT_TABLE",
    "MOST_GROUPS",
    "MOST_NAMED_GROUPS",
    "NULLS",
    "Categories",
    "GroupBy",
    "Kind",
    "Missing",
    "TableSpec",
    "group_labels",
    "listed",
    "missing_group",
    "named_groups",
    "names",
    "natural_order",
    "parts",
    "refuse_unused",
    "sequential_groups",
]

MOST_NAMED_GROUPS = 64
"""The most groups of columns that are divided by name."""
MOST_GROUPS = 10
"""The most groups of columns that are divided in order, as in the paper."""
NULLS = ("", "NA", "N/A", "n/a", "null", "NULL", "None", "?")
DETECTED_DIALECT = CsvDialect()
T = TypeVar("T")
_PREFIX = re.compile(r"[_.:/\- ]")
_DIGITS = re.compile("([0-9]+)")
MOST_KEYS = 1 << 14  # names whose place in the natural order is kept


class Categories(Enum):
    """How categories become features.

    >>> Categories("indicator")
    <Categories.INDICATOR: 'indicator'>
    """

    INDICATOR = "indicator"
    """`column=word`, value 1."""
    CODE = "code"
    """`column:code`; codes from 0 in declared order, else by appearance (as in the paper)."""


class Missing(Enum):
    """What an empty cell means.

    >>> Missing("zero")
    <Missing.ZERO: 'zero'>
    """

    ZERO = "zero"
    """The feature is absent."""
    OFFER = "offer"
    """As zero, and the group `missing(GROUP)` has a feature of the column's name."""
    INDICATOR = "indicator"
    """The feature `column=missing` is present."""
    SKIP = "skip"
    """The row is skipped and counted."""
    ERROR = "error"
    """The run stops with an error that names the cell."""


class Kind(Enum):
    """What a column holds.

    >>> Kind("number")
    <Kind.NUMBER: 'number'>
    """

    NUMBER = "number"
    """`column:value`."""
    CATEGORY = "category"
    """`column=word`, or a code."""
    BOOLEAN = "boolean"
    """`column` if true, nothing if false."""
    DATETIME = "datetime"
    """`column.year:2026 column.month:11 ...`: year, month, day, weekday, hour, minute, second."""
    TEXT = "text"
    """`column=word:count` for every word, in lower case."""
    VECTOR = "vector"
    """`column.0:value column.1:value ...`: a list of numbers."""


class GroupBy(Enum):
    """How columns are put into groups (namespaces).

    >>> GroupBy("prefix")
    <GroupBy.PREFIX: 'prefix'>
    """

    NAME = "name"
    """One group each; where these are more than `most_groups`, neighbours by name together."""
    ORDER = "order"
    """In the order of the table, into at most `most_groups` groups of equal size."""
    COLUMN = "column"
    """Each column is a group."""
    PREFIX = "prefix"
    """`user_age` and `user.id` belong to `user`."""


@dataclass(frozen=True)
class TableSpec:
    """How the columns of a table, or the fields of a record, become examples.

    Columns are sorted by name, so that their order does not matter, unless they are grouped in
    order. Wherever a column is named, a pattern may be given instead: `pixel*`.

    Parameters
    ----------
    target
        The column to predict; the last one by default.
    weight
        The column of importance weights.
    tag
        The column of tags, which are written with the predictions.
    positive
        For two classes: this value of the target is 1, every other is -1.
    most_groups
        At most this many groups of columns: by default 64 by name, 10 in order. If it is given
        without `group_by`, the columns are divided in their order.
    group_by
        How columns are put into groups: by name (the default), in order, by column, or by
        prefix.
    groups
        Group -> its columns, instead of `group_by`. Other columns form the group `rest`.
    kinds
        Column -> its kind, where it should not be detected.
    formats
        Column -> how its dates are written (as for `strptime`; `s` or `ms`: numbers since 1970).
        By default they are ISO 8601.
    ignore
        Columns to leave out.
    drop
        As `ignore`, but the columns need not exist.
    categories
        How categories become features.
    missing
        What empty cells mean.
    nulls
        Words that mean an empty cell in text formats; `nan` among them makes NaN one.
    csv
        How a CSV file is written.

    Examples
    --------
    >>> TableSpec(target="y", most_groups=2).group_columns(["u", "v", "w"])
    {'u': 'a', 'v': 'a', 'w': 'b'}
    >>> TableSpec(target="y").group_columns(["w", "u"])
    {'u': 'u', 'w': 'w'}
    """

    target: str | None = None
    weight: str | None = None
    tag: str | None = None
    positive: Any = None
    most_groups: int | None = None
    group_by: GroupBy | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categories: Categories = Categories.INDICATOR
    missing: Missing = Missing.ZERO
    nulls: tuple[str, ...] = NULLS
    csv: CsvDialect = DETECTED_DIALECT

    def __post_init__(self) -> None:
        given: Any = self
        most = given.most_groups
        if most is not None and (not isinstance(most, int) or most < 1):
            raise ConfigError(f"most_groups must be at least 1, got {most!r}")
        for name in ("ignore", "drop", "nulls"):
            if isinstance(getattr(self, name), str):
                raise ConfigError(f"{name} must be a tuple of names, got {getattr(self, name)!r}")
        for what, kind in (
            (self.grouped_by, GroupBy),
            (given.categories, Categories),
            (given.missing, Missing),
            (given.csv, CsvDialect),
            *((kind, Kind) for kind in self.kinds.values()),
        ):
            if not isinstance(what, kind):
                raise ConfigError(f"a {kind.__name__} is needed, got {what!r}")
        for group, members in given.groups.items():
            if isinstance(members, str):
                raise ConfigError(f"groups[{group!r}] must be a tuple of columns, got {members!r}")
        for column, form in self.formats.items():
            _check_format(column, form)
        roles = [name for name in (self.target, self.weight, self.tag) if name is not None]
        for name in roles:
            if roles.count(name) > 1:
                raise ConfigError(f"column {name!r} cannot be target, weight and tag at once")
            if self.is_ignored(name):
                raise ConfigError(
                    f"column {name!r} cannot be left out: it is target, weight or tag"
                )

    def is_ignored(self, column: str) -> bool:
        """Return whether a column is left out, by its name or with the struct it is in."""
        return any(names(pattern, column) for pattern in (*self.ignore, *self.drop))

    @property
    def grouped_by(self) -> GroupBy:
        """How columns are put into groups, if `groups` does not say it."""
        if self.group_by is not None:
            return self.group_by
        return GroupBy.NAME if self.most_groups is None else GroupBy.ORDER

    @property
    def group_limit(self) -> int:
        """The most groups of columns that are divided by name or in order."""
        if self.most_groups is not None:
            return self.most_groups
        return MOST_GROUPS if self.grouped_by is GroupBy.ORDER else MOST_NAMED_GROUPS

    @property
    def sorts_columns(self) -> bool:
        """Whether columns are sorted by name, so that their order does not matter."""
        return bool(self.groups) or self.grouped_by is not GroupBy.ORDER

    def explicit(self) -> TableSpec:
        """Return the same spec with the defaults of its groups filled in, for reports.

        >>> spec = TableSpec().explicit()
        >>> spec.group_by, spec.most_groups
        (<GroupBy.NAME: 'name'>, 64)
        """
        return replace(self, group_by=self.grouped_by, most_groups=self.group_limit)

    def groups_as(self, other: TableSpec) -> bool:
        """Return whether another spec puts columns into the same groups."""
        settings = (self.groups, self.grouped_by, self.group_limit)
        return settings == (other.groups, other.grouped_by, other.group_limit)

    def changed(self) -> set[str]:
        """Return the names of the fields that differ from their defaults."""
        return {
            f.name for f in fields(self) if getattr(self, f.name) != getattr(DEFAULT_TABLE, f.name)
        }

    def kind_of(self, column: str) -> Kind | None:
        """Return the kind of a column, if the spec has one."""
        if not self.kinds and not self.formats:
            return None
        if self.format_of(column) is not None:
            return Kind.DATETIME
        return _first(column, self.kinds)

    def format_of(self, column: str) -> str | None:
        """Return how a column's dates are written, if the spec says so."""
        return _first(column, self.formats)

    def in_order(self, columns: Iterable[str]) -> list[str]:
        """Return columns sorted by name, or as they are if their order matters."""
        return sorted(columns, key=natural_order) if self.sorts_columns else list(columns)

    def group_columns(self, columns: Iterable[str]) -> dict[str, str]:
        """Return column -> group, in the order of the columns in an example."""
        columns = self.in_order(columns)
        if not self.groups:
            if self.grouped_by is GroupBy.NAME:
                return named_groups(columns, self.group_limit)
            if self.grouped_by is GroupBy.ORDER:
                return sequential_groups(columns, self.group_limit)
            return {column: self.late_group(column) or "" for column in columns}
        groups: dict[str, str] = {}
        for group, members in self.groups.items():
            for pattern in members:
                matches = [column for column in columns if _matches(column, pattern)]
                if not matches:
                    raise ConfigError(
                        f"group {group!r} names column {pattern!r}, which is not there or is the "
                        f"target; the columns are: {listed(columns)}"
                    )
                for column in matches:
                    if groups.setdefault(column, escape(group)) != escape(group):
                        raise ConfigError(f"column {column!r} is in two groups")
        return {column: groups.get(column, "rest") for column in columns}

    def late_group(self, column: str) -> str | None:
        """Return the group of a column that comes later; None if a hash decides it."""
        if self.groups:
            for group, members in self.groups.items():
                if any(_matches(column, pattern) for pattern in members):
                    return escape(group)
            return "rest"
        if self.group_by is GroupBy.COLUMN:
            return escape(column)
        if self.group_by is GroupBy.PREFIX:
            return escape(_PREFIX.split(column, maxsplit=1)[0] or column)
        return None

    def check_patterns(self, name: str, columns: Sequence[str]) -> None:
        """Refuse a setting for a column that does not exist: most likely it is misspelt."""
        for what, patterns in (("type", (*self.kinds, *self.formats)), ("ignore", self.ignore)):
            for pattern in patterns:
                if not any(names(pattern, column) for column in columns):
                    raise ConfigError(
                        f"{name}: --{what} names column {pattern!r}, which is not there; "
                        f"the columns are: {listed(columns)}"
                    )


DEFAULT_TABLE = TableSpec()  # models share it


def _check_format(column: str, form: str) -> None:
    """Refuse a date format that `strptime` does not have."""
    try:
        datetime.strptime("", form)
    except ValueError as error:
        if "bad directive" in str(error) or "stray" in str(error):
            raise ConfigError(
                f"dates of {column!r} cannot be written as {form!r}: {error}"
            ) from error
    except re.error as error:
        raise ConfigError(f"dates of {column!r} cannot be written as {form!r}: {error}") from error


FLAGS = {
    "most_groups": "--namespaces",
    "group_by": "--group-by",
    "groups": "--group",
    "kinds": "--type",
    "formats": "--type",
    "nulls": "--null",
    "csv": "--delimiter, --quote, --header, --decimal or --encoding",
}
"""The flags of those fields of a :class:`TableSpec` whose flag has another name."""


def refuse_unused(spec: TableSpec, name: str, what: str, honoured: Collection[str]) -> None:
    """Refuse settings that mean nothing for a source.

    >>> refuse_unused(TableSpec(target="y"), "a.vw", "VW text", [])
    Traceback (most recent call last):
    chacha.errors.ConfigError: a.vw is VW text, for which --target means nothing; leave it out
    """
    for unused in sorted(spec.changed().difference(honoured)):
        flag = FLAGS.get(unused, f"--{unused}")
        raise ConfigError(f"{name} is {what}, for which {flag} means nothing; leave it out")


def names(pattern: str, column: str) -> bool:
    """Return whether a name or pattern means a column, or a struct that it is in.

    >>> names("user*", "user_id"), names("user", "user.id"), names("user", "users")
    (True, True, False)
    """
    return _matches(column, pattern) or column.startswith(f"{pattern}.")


def _matches(column: str, pattern: str) -> bool:
    return column == pattern or ("*" in pattern and fnmatchcase(column, pattern))


def _first(column: str, settings: Mapping[str, T]) -> T | None:
    for pattern, setting in settings.items():
        if _matches(column, pattern):
            return setting
    return None


def listed(names: Iterable[str], most: int = 20) -> str:
    """Return names for a message, at most `most` of them.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    names = list(names)
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


@lru_cache(maxsize=MOST_KEYS)
def natural_order(name: str) -> tuple[Any, ...]:
    """Return the key that sorts names by their characters, and numbers in them by value.

    No two names have the same key.

    >>> sorted(["x10", "x2", "x02", "b"], key=natural_order)
    ['b', 'x02', 'x2', 'x10']
    """
    words: list[Any] = _DIGITS.split(name)  # texts and numbers alternate, a text is first
    digits = (word.lstrip("0") for word in words[1::2])
    words[1::2] = [(len(number), number) for number in digits]  # `int` refuses very long ones
    return tuple(words), name


def named_groups(names: Iterable[str], most: int = MOST_NAMED_GROUPS) -> dict[str, str]:
    """Return name -> group, sorted by name: at most `most` groups of neighbours.

    Up to `most` names are one group each, named alike. More are divided into `most` groups,
    whose sizes differ by one at most. The order of the names does not matter.

    >>> named_groups(["hour", "age"])
    {'age': 'age', 'hour': 'hour'}
    >>> named_groups(["x10", "x1", "x2"], most=2)
    {'x1': 'a', 'x2': 'a', 'x10': 'b'}
    """
    ordered = sorted(names, key=natural_order)
    if len(ordered) <= most:
        return {name: escape(name) for name in ordered}
    letters = group_labels(most)
    return {name: letters[i * most // len(ordered)] for i, name in enumerate(ordered)}


def sequential_groups(names: list[str], most: int = MOST_GROUPS) -> dict[str, str]:
    """Return name -> group: at most `most` groups of equal size, in order.

    A group of one has that name; larger ones are named by letters.

    >>> sequential_groups(["hour", "age"])
    {'hour': 'hour', 'age': 'age'}
    >>> sequential_groups(["u", "v", "w"], most=2)
    {'u': 'a', 'v': 'a', 'w': 'b'}
    """
    if len(names) <= most:
        return {name: escape(name) for name in names}
    size, letters = parts(len(names), most)
    return {name: letters[i // size] for i, name in enumerate(names)}


def parts(count: int, most: int) -> tuple[int, list[str]]:
    """Return the size and the names of at most `most` equal groups of `count` things.

    >>> parts(25, 10)
    (3, ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
    """
    size = max(1, math.ceil(count / most))
    return size, group_labels(math.ceil(count / size))


def group_labels(groups: int) -> list[str]:
    """Return the names of groups of several columns.

    >>> group_labels(3), group_labels(64)[-2:]
    (['a', 'b', 'c'], ['g62', 'g63'])
    """
    letters = string.ascii_letters
    return [letters[i] if groups <= len(letters) else f"g{i}" for i in range(groups)]


def missing_group(group: str) -> str:
    """Return the name of the group of a group's empty cells.

    >>> missing_group("a"), missing_group(" ")
    ('missing(a)', 'missing(%20)')
    """
    return f"missing({escape(group) if group == DEFAULT_GROUP else group})"
