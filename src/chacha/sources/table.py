"""CSV and TSV, read in batches through Arrow; how a row becomes an example."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from chacha.errors import BadExample, ConfigError, SourceError
from chacha.example import Example, make_example
from chacha.sources.base import BLOCK, Bad, ByteReader, open_bytes
from chacha.sources.dicts import MOST_GROUPS, sequential_groups
from chacha.vwtext import escape

__all__ = ["Categories", "CsvFile", "Missing", "TableSpec"]

NULLS = ["", "NA", "N/A", "n/a", "null", "NULL", "None", "?"]
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.I)


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
    categories, missing
        How words and empty cells are taken.

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
                        f"group {group!r} names column {column!r}, which is not there; "
                        f"the columns are: {', '.join(columns)}"
                    )
                if column in found:
                    raise ConfigError(f"column {column!r} stands in two groups")
                found[column] = escape(group)
        return {column: found.get(column, "rest") for column in columns}


class CsvFile:
    """A table in a text file, plain or compressed, or from standard input.

    >>> CsvFile("rides.csv").name
    'rides.csv'
    """

    def __init__(
        self, path: str, spec: TableSpec | None = None, reader: ByteReader | None = None
    ) -> None:
        self.name = path
        self.endless = path == "-"
        self.spec = spec or TableSpec()
        self._reader = reader

    def __iter__(self) -> Iterator[Example | Bad]:
        reader, self._reader = self._reader or ByteReader(open_bytes(self.name), self.name), None
        with reader:
            yield from self._rows(reader)

    def _rows(self, reader: ByteReader) -> Iterator[Example | Bad]:
        delimiter, columns = self._header(reader)
        target = columns[-1] if self.spec.target is None else self.spec.target
        if target not in columns:
            raise SourceError(
                f"{self.name}: there is no column {target!r}; the columns are: {', '.join(columns)}"
            )
        ragged: list[tuple[int, str]] = []

        def note(row: pacsv.InvalidRow) -> str:
            got = f"{row.actual_columns} cells, expected {row.expected_columns}"
            ragged.append((row.number, got))
            return "skip"

        table = _Table(self.spec, self.name, columns, target)
        row = 0
        batches = self._batches(reader, delimiter, columns, note)
        while True:
            try:
                batch = next(batches)
            except StopIteration:
                break
            except pa.ArrowInvalid as error:
                raise SourceError(f"{self.name}: after row {row}: {error}") from error
            except SourceError as error:
                raise SourceError(f"{error} (after row {row})") from error
            for made in table.examples(batch):
                row += 1
                while ragged and ragged[0][0] <= row:
                    yield self._ragged(*ragged.pop(0))
                    row += 1
                if isinstance(made, Example):
                    yield made
                else:
                    place = f"{self.name}: row {row}"
                    if made.column:
                        place += f", column {made.column!r}"
                    yield Bad(place, made.reason, made.message, made.harmless)
        for number, got in ragged:
            yield self._ragged(number, got)

    def _batches(
        self,
        reader: ByteReader,
        delimiter: str,
        columns: list[str],
        note: Callable[[pacsv.InvalidRow], str],
    ) -> Iterator[pa.RecordBatch]:
        """The rows as Arrow reads them: every cell a string, or null where it is empty."""
        if reader.at_end():
            return
        yield from pacsv.open_csv(
            pa.PythonFile(reader, mode="r"),
            read_options=pacsv.ReadOptions(
                use_threads=False, block_size=BLOCK, column_names=columns
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()),
                strings_can_be_null=True,
                null_values=NULLS,
            ),
        )

    def _ragged(self, number: int, got: str) -> Bad:
        return Bad(f"{self.name}: row {number}", "ragged row", f"the row has {got}")

    def _header(self, reader: ByteReader) -> tuple[str, list[str]]:
        """The delimiter and the column names."""
        try:
            line = reader.take_line().decode("utf-8-sig").strip("\r\n")
        except UnicodeDecodeError as error:
            raise SourceError(f"{self.name}: line 1 is not UTF-8 text") from error
        if not line.strip():
            raise SourceError(f"{self.name}: is empty; there is nothing to learn from")
        tabs = Path(self.name).name.split(".")[-1] == "tsv" or ".tsv." in self.name
        counts = {mark: line.count(mark) for mark in ",;\t"}
        delimiter = "\t" if tabs else max(counts, key=lambda mark: counts[mark])
        columns = [name.strip() for name in next(csv.reader([line], delimiter=delimiter))]
        if len(columns) < 2:
            raise SourceError(f"{self.name}: one column only; a table needs features and a target")
        for name in columns:
            if not name:
                raise SourceError(f"{self.name}: a column has no name; line 1 must name them all")
            if columns.count(name) > 1:
                raise SourceError(f"{self.name}: column {name!r} stands twice in line 1")
        return delimiter, columns


class Trouble(NamedTuple):
    """What is wrong with a row, and in which column."""

    column: str
    reason: str
    message: str
    harmless: bool = False


class _Table:
    """Turns batches of strings into examples; the first batch decides the columns' types.

    A column holds numbers if at least half of its cells there are numbers or it is empty.
    """

    def __init__(self, spec: TableSpec, name: str, columns: list[str], target: str) -> None:
        self.spec = spec
        self.target = target
        self.features = [column for column in columns if column != target]
        self.group_of = spec.group_columns(self.features)
        self.words: set[str] | None = None  # the columns of words
        self.codes: dict[str, dict[str, int]] = {}

    def examples(self, batch: pa.RecordBatch) -> Iterator[Example | Trouble]:
        troubles: dict[int, Trouble] = {}
        cells: dict[str, list[Any]] = {}
        texts = {name: batch.column(name) for name in batch.schema.names}
        if self.words is None:
            self.words = {name for name in self.features if not _numeric(texts[name])}
        for name in (self.target, *self.features):
            if name in self.words:
                cells[name] = texts[name].to_pylist()
            else:
                cells[name] = _numbers(name, texts[name], troubles)
        labels = cells[self.target]
        layout: dict[str, list[str]] = {}
        for name in self.features:
            layout.setdefault(self.group_of[name], []).append(name)
        for i in range(batch.num_rows):
            if labels[i] is None and i not in troubles:
                message = "the target is missing; learning needs it"
                troubles[i] = Trouble(self.target, "no label", message)
            if i in troubles:
                yield troubles[i]
                continue
            try:
                yield make_example(
                    {
                        group: [pair for name in names for pair in self._cell(name, cells[name][i])]
                        for group, names in layout.items()
                    },
                    labels[i],
                )
            except _EmptyCell as error:
                message = "the cell is empty (--missing zero takes it as 0)"
                harmless = self.spec.missing is Missing.SKIP
                yield Trouble(str(error), "empty cell", message, harmless)
            except BadExample as error:
                yield Trouble("", "value not finite", str(error))

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
        codes = self.codes.setdefault(name, {})
        return [(escape(name), float(codes.setdefault(value, len(codes))))]


class _EmptyCell(BadExample):
    """An empty cell where none is allowed."""


def _numeric(column: pa.Array) -> bool:
    """Whether a column holds numbers: at least half of the cells that are not empty."""
    cells = pc.utf8_trim_whitespace(column.drop_null())
    numbers = pc.match_substring_regex(cells, f"^({_NUMBER.pattern})$", ignore_case=True)
    return 2 * (pc.sum(numbers).as_py() or 0) >= len(cells)


def _numbers(name: str, column: pa.Array, troubles: dict[int, Trouble]) -> list[float | None]:
    """The cells as numbers; what is not a finite number is noted under its row."""
    try:
        values: list[float | None] = pc.cast(
            pc.utf8_trim_whitespace(column), pa.float64()
        ).to_pylist()
    except pa.ArrowInvalid:
        values = []
        for i, text in enumerate(column.to_pylist()):
            if text is not None and not _NUMBER.fullmatch(text.strip()):
                message = f"the cell is {text!r:.40}, but the column holds numbers"
                troubles.setdefault(i, Trouble(name, "not a number", message))
                text = None
            values.append(None if text is None else float(text))
    for i, value in enumerate(values):
        if value is not None and not math.isfinite(value):
            message = f"the cell is {value}; values must be finite (leave it empty if missing)"
            troubles.setdefault(i, Trouble(name, "value not finite", message))
    return values
