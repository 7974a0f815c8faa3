"""TableSpec: how the columns of a table, or the fields of a record, become examples."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from chacha.data.vw_text import DEFAULT_GROUP, escape
from chacha.errors import ConfigError
from chacha.sources.csv_dialect import CsvDialect

__all__ = [
    "DEFAULT_TABLE",
    "MOST_GROUPS",
    "NULLS",
    "Categories",
    "GroupBy",
    "Kind",
    "Missing",
    "TableSpec",
    "listed",
    "missing_group",
    "names",
    "parts",
    "refuse_unused",
    "sequential_groups",
]

MOST_GROUPS = 10
NULLS = ("", "NA", "N/A", "n/a", "null", "NULL", "None", "?")
DETECTED_DIALECT = CsvDialect()
T = TypeVar("T")
_PREFIX = re.compile(r"[_.:/\- ]")


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

    ORDER = "order"
    """In order, into at most `most_groups` groups of equal size."""
    COLUMN = "column"
    """Each column is a group."""
    PREFIX = "prefix"
    """`user_age` and `user.id` belong to `user`."""


@dataclass(frozen=True)
class TableSpec:
    """How the columns of a table, or the fields of a record, become examples.

    Wherever a column is named, a pattern may be given instead: `pixel*`.

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
        The columns, in order, are divided into at most this many groups.
    group_by
        How columns are put into groups: in order, by column, or by prefix.
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
    """

    target: str | None = None
    weight: str | None = None
    tag: str | None = None
    positive: Any = None
    most_groups: int = MOST_GROUPS
    group_by: GroupBy = GroupBy.ORDER
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
        if not isinstance(given.most_groups, int) or self.most_groups < 1:
            raise ConfigError(f"most_groups must be at least 1, got {given.most_groups!r}")
        for name in ("ignore", "drop", "nulls"):
            if isinstance(getattr(self, name), str):
                raise ConfigError(f"{name} must be a tuple of names, got {getattr(self, name)!r}")
        for what, kind in (
            (given.group_by, GroupBy),
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

    def groups_as(self, other: TableSpec) -> bool:
        """Return whether another spec puts columns into the same groups."""
        settings = (self.groups, self.group_by, self.most_groups)
        return settings == (other.groups, other.group_by, other.most_groups)

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

    def group_columns(self, columns: list[str]) -> dict[str, str]:
        """Return column -> group."""
        if not self.groups:
            if self.group_by is GroupBy.ORDER:
                return sequential_groups(columns, self.most_groups)
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
    size, labels = parts(len(names), most)
    return {name: labels[i // size] for i, name in enumerate(names)}


def parts(count: int, most: int) -> tuple[int, list[str]]:
    """Return the size and the names of at most `most` equal groups of `count` things.

    >>> parts(25, 10)
    (3, ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
    """
    size = max(1, math.ceil(count / most))
    groups = math.ceil(count / size)
    letters = string.ascii_letters
    return size, [letters[i] if groups <= len(letters) else f"g{i}" for i in range(groups)]


def missing_group(group: str) -> str:
    """Return the name of the group of a group's empty cells.

    >>> missing_group("a"), missing_group(" ")
    ('missing(a)', 'missing(%20)')
    """
    return f"missing({escape(group) if group == DEFAULT_GROUP else group})"
