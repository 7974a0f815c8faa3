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
from chacha.sources.dicts import MOST_GROUPS, DictReader, Kind, sequential_groups
from chacha.vwtext import escape

__all__ = ["Categories", "Missing", "TableReader", "TableSpec"]

DECIDING = 100  # labelled rows that decide whether a column holds numbers or words
MOST_HELD = 100_000  # rows that are waited for at most
NULLS = pa.array(["", "NA", "N/A", "n/a", "null", "NULL", "None", "?"])
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


class Held(NamedTuple):
    """A table of strings that waits until the columns' types are decided."""

    texts: dict[str, pa.Array]
    labels: list[float | None]
    troubles: dict[int, Trouble]
    ragged: list[tuple[int, str]]


class TableReader:
    """Turns tables of strings into examples; the first rows decide the columns' types.

    A column holds numbers if at least half of its cells in the first 100 rows that have a
    label are numbers; if all of those are empty, its first cell that is not decides. What
    was decided, and the codes of words, stay with `reader` for the tables that follow.

    >>> reader = TableReader(TableSpec(), "t.csv", ["x", "y"])
    >>> list(reader.read(pa.table({"x": ["1.5"], "y": ["2"]})))
    []
    >>> [example.line for example in reader.rest()]
    ['2.0 |x x:1.5']
    """

    def __init__(
        self, spec: TableSpec, name: str, columns: list[str], reader: DictReader | None = None
    ) -> None:
        self.spec, self.name = spec, name
        self.reader = reader or DictReader()
        self.target = columns[-1] if spec.target is None else spec.target
        if self.target not in columns:
            raise SourceError(
                f"{name}: there is no column {self.target!r}; the columns are: {', '.join(columns)}"
            )
        self.features = [column for column in columns if column != self.target]
        self.group_of = spec.group_columns(self.features)
        self.reader.adopt(self.group_of)
        self.layout: dict[str, list[str]] = {}
        for column in self.features:
            self.layout.setdefault(self.group_of[column], []).append(column)
        self.row = 0
        self._held: list[Held] | None = []  # None: enough rows have been seen

    def read(
        self, table: pa.Table, ragged: list[tuple[int, str]] | None = None, damaged: bool = False
    ) -> Iterator[Example | Bad]:
        """The rows of a table of strings, and the ragged ones (by number) that it lacks.

        The first rows are held back until they are enough to decide the columns' types. In a
        `damaged` table what was not UTF-8 stands as U+FFFD.
        """
        held = self._hold(table, ragged or [], damaged)
        if self._held is None:
            yield from self._rows(held)
            return
        self._held.append(held)
        seen = sum(len(part.labels) for part in self._held)
        labelled = seen - sum(len(part.troubles) for part in self._held)
        if labelled >= DECIDING or seen >= MOST_HELD:
            yield from self.rest()

    def rest(self) -> Iterator[Example | Bad]:
        """The rows that were held back; nothing is from now on."""
        held, self._held = self._held or [], None
        self._decide(held, rows=DECIDING)
        for part in held:
            yield from self._rows(part)

    def _rows(self, held: Held) -> Iterator[Example | Bad]:
        self._decide([held], rows=0)
        troubles, ragged, before = dict(held.troubles), list(held.ragged), self.row
        cells = self._cells(held, troubles)
        for i in range(len(held.labels)):
            self.row += 1
            while ragged and before + ragged[0][0] <= self.row:
                yield self._ragged(before + ragged[0][0], ragged.pop(0)[1])
                self.row += 1
            made = troubles.get(i) or self._example({name: cells[name][i] for name in cells})
            if isinstance(made, Example):
                yield made
                continue
            where = f", column {made.column!r}" if made.column else ""
            yield Bad(f"{self.place()}{where}", made.reason, made.message, made.harmless)
        for number, got in ragged:
            self.row += 1
            yield self._ragged(before + number, got)

    def place(self) -> str:
        """Where the present row stands: rows are counted without line 1 and empty lines."""
        return f"{self.name}: row {self.row}"

    def _ragged(self, number: int, got: str) -> Bad:
        return Bad(f"{self.name}: row {number}", "ragged row", f"the row has {got}")

    def _hold(self, table: pa.Table, ragged: list[tuple[int, str]], damaged: bool) -> Held:
        """The strings, null where a cell is empty, and the labels."""
        texts: dict[str, pa.Array] = {}
        troubles: dict[int, Trouble] = {}
        for name in table.column_names:
            text = pc.utf8_trim_whitespace(table.column(name).combine_chunks())
            texts[name] = pc.if_else(pc.is_in(text, NULLS), pa.scalar(None, pa.string()), text)
            if damaged:
                for i in pc.indices_nonzero(pc.match_substring(text, "\ufffd")).to_pylist():
                    message = "the cell is not UTF-8 text"
                    troubles.setdefault(i, Trouble(name, "not UTF-8", message))
        labels = _numbers(self.target, texts[self.target], troubles, "the target must be numbers")
        for i, label in enumerate(labels):
            if label is None:
                message = "the target is missing; learning needs it"
                troubles.setdefault(i, Trouble(self.target, "no label", message))
            elif i not in troubles:
                try:
                    self.reader.check(label)
                except BadExample as error:
                    troubles[i] = Trouble(self.target, error.reason, str(error))
        return Held(texts, labels, troubles, ragged)

    def _cells(self, held: Held, troubles: dict[int, Trouble]) -> dict[str, list[Any]]:
        """Every column as a list: numbers, words, None where a cell is empty."""
        cells: dict[str, list[Any]] = {self.target: held.labels}
        for name in self.features:
            text = held.texts[name]
            if self.reader.kinds.get(name) is Kind.WORDS:
                cells[name] = text.to_pylist()
            else:
                cells[name] = _numbers(name, text, troubles, "the column holds numbers")
        return cells

    def _decide(self, parts: list[Held], rows: int) -> None:
        """Numbers or words, for the columns of which that is not known yet.

        The first `rows` with a label decide; where they are empty, the first cell that is not.
        """
        for name in self.features:
            if name in self.reader.kinds or not parts:
                continue
            usable = pa.chunked_array(
                [
                    part.texts[name].filter(
                        pa.array([i not in part.troubles for i in range(len(part.labels))])
                    )
                    for part in parts
                ],
                pa.string(),
            )
            seen = usable.slice(0, rows).drop_null()
            seen = seen if len(seen) else usable.drop_null().slice(0, 1)
            if len(seen):
                numbers = pc.match_substring_regex(seen, f"^({_NUMBER})$", ignore_case=True)
                words = 2 * (pc.sum(numbers).as_py() or 0) < len(seen)
                self.reader.kinds[name] = Kind.WORDS if words else Kind.NUMBERS

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
            for name in self.features:  # only now: a row that is refused leaves no trace
                if isinstance(row[name], str):
                    codes = self.reader.codes.setdefault(name, {})
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
        codes = self.reader.codes.get(name, {})
        return [(escape(name), float(codes.get(value, len(codes))))]


class _EmptyCell(BadExample):
    """An empty cell where none is allowed."""


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
