"""Tables: how the columns become features, and a row an example."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from chacha.errors import BadExample, ConfigError, SourceError
from chacha.example import Example, make_example
from chacha.sources.base import Bad
from chacha.sources.dicts import MOST_GROUPS, sequential_groups
from chacha.vwtext import escape

__all__ = ["Categories", "Missing", "TableReader", "TableSpec"]

DECIDING = 100  # rows that decide whether a column holds numbers or words
_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)"
_IS_NUMBER = re.compile(_NUMBER, re.IGNORECASE)


class Categories(Enum):
    """How a column of words becomes features.

    >>> Categories("indicator")
    <Categories.INDICATOR: 'indicator'>
    """

    INDICATOR = "indicator"
    """`column=word`, value 1."""
    CODE = "code"
    """`column:code`, codes from 0 in order of appearance (the paper's protocol)."""


class Missing(Enum):
    """What an empty cell means.

    >>> Missing("zero")
    <Missing.ZERO: 'zero'>
    """

    ZERO = "zero"
    """The feature is absent."""
    INDICATOR = "indicator"
    """The feature `column=missing` is present."""
    SKIP = "skip"
    """The row is left out and counted."""
    ERROR = "error"
    """An error that names the cell."""


@dataclass(frozen=True)
class TableSpec:
    """How the columns of a table become examples.

    Parameters
    ----------
    target
        The column to predict; the last one if not given.
    most_groups
        The columns, in order, are parted into at most so many groups.
    groups
        Instead: group -> its columns. Columns named by none form the group `rest`.
    categories
        How words are taken.
    missing
        How empty cells are taken.

    Examples
    --------
    >>> TableSpec(target="y", most_groups=2).group_columns(["u", "v", "w"])
    {'u': 'a', 'v': 'a', 'w': 'b'}
    """

    target: str | None = None
    most_groups: int = MOST_GROUPS
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    categories: Categories = Categories.INDICATOR
    missing: Missing = Missing.ZERO

    def __post_init__(self) -> None:
        if self.most_groups < 1:
            raise ConfigError(f"most_groups must be at least 1, got {self.most_groups}")

    def group_columns(self, columns: list[str]) -> dict[str, str]:
        """Column -> group."""
        if not self.groups:
            return sequential_groups(columns, self.most_groups)
        found: dict[str, str] = {}
        for group, members in self.groups.items():
            for column in members:
                if column not in columns:
                    raise ConfigError(
                        f"group {group!r} names column {column!r}, which is not there or is the "
                        f"target; the columns are: {', '.join(columns)}"
                    )
                if column in found:
                    raise ConfigError(f"column {column!r} stands in two groups")
                found[column] = escape(group)
        return {column: found.get(column, "rest") for column in columns}


class Trouble(NamedTuple):
    """What is wrong with a row, and in which column."""

    column: str
    reason: str
    message: str
    harmless: bool = False


class TableReader:
    """Turns tables of strings into examples; the first rows decide the columns' types.

    A column holds numbers if at least half of its cells in the first 100 rows that have a
    label are numbers; if all of those are empty, its first cell that is not decides.

    >>> reader = TableReader(TableSpec(), "t.csv", ["x", "y"])
    >>> [example.line for example in reader.read(pa.table({"x": ["1.5"], "y": ["2"]}))]
    ['2.0 |x x:1.5']
    """

    def __init__(self, spec: TableSpec, name: str, columns: list[str]) -> None:
        self.spec, self.name = spec, name
        self.target = columns[-1] if spec.target is None else spec.target
        if self.target not in columns:
            raise SourceError(
                f"{name}: there is no column {self.target!r}; the columns are: {', '.join(columns)}"
            )
        self.features = [column for column in columns if column != self.target]
        self.group_of = spec.group_columns(self.features)
        self.layout: dict[str, list[str]] = {}
        for column in self.features:
            self.layout.setdefault(self.group_of[column], []).append(column)
        self.row = 0
        self._undecided = set(self.features)
        self._words: set[str] = set()  # the columns of words
        self._codes: dict[str, dict[str, int]] = {}

    def read(
        self, table: pa.Table, ragged: list[tuple[int, str]] | None = None, damaged: bool = False
    ) -> Iterator[Example | Bad]:
        """The rows of a table of strings, and the ragged ones (by number) that it lacks.

        In a `damaged` table what was not UTF-8 stands as U+FFFD.
        """
        ragged = ragged or []
        troubles: dict[int, Trouble] = {}
        cells = self._cells(table, troubles, damaged)
        for i in range(table.num_rows):
            self.row += 1
            while ragged and ragged[0][0] <= self.row:
                yield self._ragged(*ragged.pop(0))
                self.row += 1
            made = troubles.get(i) or self._example({name: cells[name][i] for name in cells})
            if isinstance(made, Example):
                yield made
                continue
            where = f", column {made.column!r}" if made.column else ""
            yield Bad(f"{self.place()}{where}", made.reason, made.message, made.harmless)
        for number, got in ragged:
            self.row += 1
            yield self._ragged(number, got)

    def place(self) -> str:
        """Where the present row stands: rows are counted without line 1 and empty lines."""
        return f"{self.name}: row {self.row}"

    def _ragged(self, number: int, got: str) -> Bad:
        return Bad(f"{self.name}: row {number}", "ragged row", f"the row has {got}")

    def _cells(
        self, table: pa.Table, troubles: dict[int, Trouble], damaged: bool
    ) -> dict[str, list[Any]]:
        """Every column as a list: numbers, words, None where a cell is empty."""
        texts = {
            name: _blank_to_null(pc.utf8_trim_whitespace(table.column(name).combine_chunks()))
            for name in table.column_names
        }
        if damaged:
            for name, text in texts.items():
                for i in pc.indices_nonzero(pc.match_substring(text, "\ufffd")).to_pylist():
                    message = "the cell is not UTF-8 text"
                    troubles.setdefault(i, Trouble(name, "not UTF-8", message))
        labels = _numbers(self.target, texts[self.target], troubles, "the target must be numbers")
        for i, label in enumerate(labels):
            if label is None:
                message = "the target is missing; learning needs it"
                troubles.setdefault(i, Trouble(self.target, "no label", message))
        if self._undecided:
            self._decide(texts, [i for i in range(table.num_rows) if i not in troubles])
        cells: dict[str, list[Any]] = {self.target: labels}
        for name in self.features:
            if name in self._words:
                cells[name] = texts[name].to_pylist()
            else:
                cells[name] = _numbers(name, texts[name], troubles, "the column holds numbers")
        return cells

    def _decide(self, texts: Mapping[str, pa.Array], good: list[int]) -> None:
        for name in sorted(self._undecided):
            usable = texts[name].take(pa.array(good, pa.int64()))
            seen = usable.slice(0, DECIDING).drop_null()
            seen = seen if len(seen) else usable.drop_null().slice(0, 1)
            if len(seen):
                self._undecided.discard(name)
                numbers = pc.match_substring_regex(seen, f"^({_NUMBER})$", ignore_case=True)
                if 2 * (pc.sum(numbers).as_py() or 0) < len(seen):
                    self._words.add(name)

    def _example(self, row: Mapping[str, Any]) -> Example | Trouble:
        try:
            groups = {
                group: [pair for name in names for pair in self._cell(name, row[name])]
                for group, names in self.layout.items()
            }
            example = make_example(groups, row[self.target], place=self.place())
        except _EmptyCell as error:
            message = "the cell is empty (--missing zero takes it as 0)"
            return Trouble(str(error), "empty cell", message, self.spec.missing is Missing.SKIP)
        except BadExample as error:
            return Trouble("", error.reason, str(error))
        if self.spec.categories is Categories.CODE:
            for name in self._words:  # only now: a row that is refused leaves no trace
                if row[name] is not None:
                    codes = self._codes.setdefault(name, {})
                    codes.setdefault(row[name], len(codes))
        return example

    def _cell(self, name: str, value: Any) -> list[tuple[str, float]]:
        if value is None:
            if self.spec.missing is Missing.INDICATOR:
                return [(f"{escape(name)}=missing", 1.0)]
            if self.spec.missing is Missing.ZERO:
                return []
            raise _EmptyCell(name)
        if isinstance(value, float):
            return [(escape(name), value)]
        if self.spec.categories is Categories.INDICATOR:
            return [(f"{escape(name)}={escape(value)}", 1.0)]
        codes = self._codes.get(name, {})
        return [(escape(name), float(codes.get(value, len(codes))))]


class _EmptyCell(BadExample):
    """An empty cell where none is allowed."""


def _blank_to_null(column: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def _numbers(
    name: str, column: pa.Array, troubles: dict[int, Trouble], rule: str
) -> list[float | None]:
    """The cells as numbers; what is not a finite number is noted under its row."""
    try:
        values: list[float | None] = pc.cast(column, pa.float64()).to_pylist()
    except pa.ArrowInvalid:
        values = []
        for i, text in enumerate(column.to_pylist()):
            if text is not None and not _IS_NUMBER.fullmatch(text):
                message = f"the cell is {text!r:.40}, but {rule}"
                troubles.setdefault(i, Trouble(name, "not a number", message))
                text = None
            values.append(None if text is None else float(text))
    for i, value in enumerate(values):
        if value is not None and not math.isfinite(value):
            message = f"the cell is {value}; values must be finite (leave it empty if missing)"
            troubles.setdefault(i, Trouble(name, "value not finite", message))
    return values
