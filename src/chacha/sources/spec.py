"""TableSpec: how the columns of a table, or the fields of a record, become examples."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from chacha.data.vw_text import escape
from chacha.errors import ConfigError
from chacha.sources.grouping import MOST_GROUPS, sequential_groups

__all__ = [
    "NULLS",
    "Categories",
    "CsvDialect",
    "GroupBy",
    "Kind",
    "Missing",
    "TableSpec",
    "listed",
    "names",
    "refuse_unused",
]

NULLS = ("", "NA", "N/A", "n/a", "null", "NULL", "None", "?")
T = TypeVar("T")
_PREFIX = re.compile(r"[_.:/\- ]")


class Categories(Enum):
    """How a column of categories becomes features.

    >>> Categories("indicator")
    <Categories.INDICATOR: 'indicator'>
    """

    INDICATOR = "indicator"
    """`column=word`, value 1."""
    CODE = "code"
    """`column:code`; codes from 0 as declared, else in order of appearance (the paper's way)."""


class Missing(Enum):
    """What an empty cell means.

    >>> Missing("zero")
    <Missing.ZERO: 'zero'>
    """

    ZERO = "zero"
    """The feature is absent."""
    OFFER = "offer"
    """As zero, and a feature of the column's name is in the group `missing(GROUP)`."""
    INDICATOR = "indicator"
    """The feature `column=missing` is present."""
    SKIP = "skip"
    """The row is left out and counted."""
    ERROR = "error"
    """An error that names the cell."""


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
class CsvDialect:
    """How a CSV file is written; what is None is guessed from its first lines.

    Parameters
    ----------
    delimiter
        One character between cells: `,`, `;`, tab or `|` are recognised.
    quote
        One character around cells that hold delimiters or line breaks; "" for none.
    header
        Whether line 1 names the columns; it does not if it holds numbers only.
    decimal
        `.` or `,`. A comma is recognised where it is not the delimiter.
    encoding
        UTF-8 if not given; any that Python knows.

    Examples
    --------
    >>> CsvDialect(delimiter=";", decimal=",").quote
    '"'
    """

    delimiter: str | None = None
    quote: str = '"'
    header: bool | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in "\r\n\0"):
            raise ConfigError(f"the delimiter must be one character, got {self.delimiter!r}")
        if len(self.quote) > 1 or not self.quote.isascii() or self.quote in ("\r", "\n"):
            raise ConfigError(f"the quote must be one character or none, got {self.quote!r}")
        if self.decimal not in (None, ".", ","):
            raise ConfigError(f"the decimal point must be '.' or ',', got {self.decimal!r}")
        if self.delimiter is not None and self.delimiter in (self.decimal, self.quote):
            raise ConfigError(f"{self.delimiter!r} cannot be the delimiter and more than that")
        if self.delimiter is not None and not self.delimiter.isascii():
            raise ConfigError(f"the delimiter must be an ASCII character, got {self.delimiter!r}")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, UnicodeError) as error:
                raise ConfigError(f"there is no encoding {self.encoding!r}") from error


@dataclass(frozen=True)
class TableSpec:
    """How the columns of a table, or the fields of a record, become examples.

    Where a column may be named, a pattern may stand too: `pixel*`.

    Parameters
    ----------
    target
        The column to predict; the last one if not given.
    weight
        The column of importance weights.
    tag
        The column of tags; they stand beside the predictions.
    positive
        For two classes: this value of the target is 1, every other is -1.
    most_groups
        The columns, in order, are parted into at most so many groups.
    group_by
        In order, by column, or by prefix.
    groups
        Instead: group -> its columns. Columns named by none form the group `rest`.
    kinds
        Column -> what it holds, where that should not be recognised.
    formats
        Column -> how its dates are written (as for `strptime`; `s` or `ms`: numbers since 1970).
        Without one they are ISO 8601.
    ignore
        Columns to leave out.
    drop
        As `ignore`, but they need not be there.
    categories
        How words are taken.
    missing
        How empty cells are taken.
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
    csv: CsvDialect = CsvDialect()

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
        """Whether a column is to be left out; with a struct all that is in it."""
        return any(names(pattern, column) for pattern in (*self.ignore, *self.drop))

    def groups_as(self, other: TableSpec) -> bool:
        """Whether columns are put into groups in the same way."""
        mine = (self.groups, self.group_by, self.most_groups)
        return mine == (other.groups, other.group_by, other.most_groups)

    def changed(self) -> set[str]:
        """The fields that are not as they are by default."""
        plain = TableSpec()
        return {f.name for f in fields(self) if getattr(self, f.name) != getattr(plain, f.name)}

    def kind_of(self, column: str) -> Kind | None:
        """What a column holds, where that was told."""
        if not self.kinds and not self.formats:
            return None
        if self.format_of(column) is not None:
            return Kind.DATETIME
        return _first(column, self.kinds)

    def format_of(self, column: str) -> str | None:
        """How a column's dates are written, where that was told."""
        return _first(column, self.formats)

    def group_columns(self, columns: list[str]) -> dict[str, str]:
        """Column -> group."""
        if not self.groups:
            if self.group_by is GroupBy.ORDER:
                return sequential_groups(columns, self.most_groups)
            return {column: self.late_group(column) or "" for column in columns}
        found: dict[str, str] = {}
        for group, members in self.groups.items():
            for pattern in members:
                columns_here = [column for column in columns if _matches(column, pattern)]
                if not columns_here:
                    raise ConfigError(
                        f"group {group!r} names column {pattern!r}, which is not there or is the "
                        f"target; the columns are: {listed(columns)}"
                    )
                for column in columns_here:
                    if found.setdefault(column, escape(group)) != escape(group):
                        raise ConfigError(f"column {column!r} stands in two groups")
        return {column: found.get(column, "rest") for column in columns}

    def late_group(self, column: str) -> str | None:
        """The group of a column that comes later; None where a hash is to decide."""
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
        """Refuse a setting for a column that is not there: most likely it is misspelt."""
        for what, patterns in (("type", (*self.kinds, *self.formats)), ("ignore", self.ignore)):
            for pattern in patterns:
                if not any(names(pattern, column) for column in columns):
                    raise ConfigError(
                        f"{name}: --{what} names column {pattern!r}, which is not there; "
                        f"the columns are: {listed(columns)}"
                    )


def _check_format(column: str, form: str) -> None:
    """Refuse a way to write dates that is none."""
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
"""What the fields of a :class:`TableSpec` are called on the command line, where not alike."""


def refuse_unused(spec: TableSpec, name: str, what: str, honoured: Collection[str]) -> None:
    """Refuse settings that mean nothing for a source.

    >>> refuse_unused(TableSpec(target="y"), "a.vw", "VW text", [])
    Traceback (most recent call last):
    chacha.errors.ConfigError: a.vw is VW text, for which --target means nothing; leave it out
    """
    for unused in sorted(spec.changed().difference(honoured)):
        told = f"{FLAGS.get(unused, f'--{unused}')} means nothing; leave it out"
        raise ConfigError(f"{name} is {what}, for which {told}")


def names(pattern: str, column: str) -> bool:
    """Whether a name or pattern means a column, or a struct that it is in.

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
    """Names for a message, not too many of them.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    names = list(names)
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
