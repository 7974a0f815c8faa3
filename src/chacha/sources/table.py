"""Tables: batches of columns become examples, row by row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chacha.errors import BadExample, SourceError
from chacha.example import DEFAULT_GROUP, Example, check_weight, finite
from chacha.sources.assembly import Assembler
from chacha.sources.base import Bad
from chacha.sources.batch import Batch, Expected
from chacha.sources.cells import BOOLEANS, kind_of_texts, word
from chacha.sources.columns import (
    Cell,
    flat_columns,
    is_text,
    kind_of_type,
    make_cells,
    numbers,
    pairs_cell,
    plain,
    some,
    texts_or_nulls,
)
from chacha.sources.dicts import DictReader, Grouping
from chacha.sources.spec import Categories, Kind, Missing, TableSpec, listed
from chacha.vwtext import escape, hash_name, show_all_exactly

__all__ = ["TableReader"]

DECIDING = 100  # labelled rows that decide what a column holds
MOST_HELD = 100_000  # rows that are waited for at most


class Trouble(NamedTuple):
    """What is wrong with a row, and in which column."""

    column: str
    reason: str
    message: str
    harmless: bool = False


class Held(NamedTuple):
    """A batch that may wait until it is decided what the columns hold."""

    batch: Batch
    columns: dict[str, pa.Array]
    labels: list[float]
    troubles: dict[int, Trouble]

    @property
    def good(self) -> pa.Array:
        """The rows that have a label and no trouble yet."""
        rows = range(len(self.labels))
        return pa.array([i for i in rows if i not in self.troubles], pa.int64())


class TableReader:
    """Turns batches of columns into examples; the first rows decide what the columns hold.

    What a column of text holds is told by its cells in the first 100 rows that have a label;
    if all of those are empty, its first cell that is not decides. What was decided, and the
    codes of words, stay with `reader` for the tables that follow.

    >>> reader = TableReader(TableSpec(), "t.csv", ["x", "y"], text=["x", "y"])
    >>> list(reader.read(Batch(pa.table({"x": ["1.5"], "y": ["2"]}))))
    []
    >>> [example.line for example in reader.rest()]
    ['2.0 |x x:1.5']
    """

    def __init__(
        self,
        spec: TableSpec,
        name: str,
        columns: list[str],
        reader: DictReader | None = None,
        *,
        text: Collection[str] = (),
        structs: Collection[str] = (),
        kinds: Mapping[str, Kind] | None = None,
        expected: Expected | None = None,
    ) -> None:
        self.spec, self.name = spec, name
        self.reader = reader or DictReader()
        self.text = frozenset(text)  # columns in which numbers are written as text
        expected = expected or Expected()
        expected.check(name, columns)
        self.target = self._target(columns, expected)
        roles = {self.target, spec.weight, spec.tag}
        for role in (spec.weight, spec.tag):
            if role is not None and role not in columns:
                raise SourceError(f"{name}: there is no column {role!r}; {_has(columns)}")
        spec.check_patterns(name, columns)
        self.features = [c for c in columns if c not in roles and not spec.is_ignored(c)]
        if not self.features:
            raise SourceError(f"{name}: no column is left to be a feature; {_has(columns)}")
        self.slots = self._slots(structs, expected)
        for column in self.features:
            kind = spec.kind_of(column) or (kinds or {}).get(column)
            if kind is not None:
                self.reader.kinds[column] = kind
        self.layout: dict[str, list[str]] = {}
        for column, (group, _) in self.slots.items():
            self.layout.setdefault(group, []).append(column)
        self.row = 0
        self.samples: dict[str, list[Any]] = {}  # the first values of every column
        self._assembler = Assembler({g: len(names) for g, names in self.layout.items()})
        self._codes: dict[int, tuple[str, str, int]] = {}  # columns that are coded row by row
        self._held: list[Held] | None = []  # None: enough rows have been seen

    def _target(self, columns: list[str], expected: Expected) -> str:
        target = self.spec.target or expected.target or columns[-1]
        if target not in columns:
            raise SourceError(f"{self.name}: there is no column {target!r}; {_has(columns)}")
        expected.target = target
        return target

    def _slots(self, structs: Collection[str], expected: Expected) -> dict[str, tuple[str, str]]:
        """Column -> its group and its name in there. The columns of a struct are a group."""
        if structs and not self.spec.groups:
            self.reader.adopt(self.spec)
            paths = {column: column.partition(".") for column in self.features}
            return {
                column: (escape(top), escape(rest))
                if top in structs
                else (DEFAULT_GROUP, escape(column))
                for column, (top, _, rest) in paths.items()
            }
        if expected.groups is None:
            groups = self.spec.group_columns(self.features)
            expected.groups = Grouping(self.features, self.spec, groups)
            self.reader.adopt(self.spec, groups)
        group_of = expected.groups.group_of
        return {column: (group_of(column), escape(column)) for column in self.features}

    def read(self, batch: Batch) -> Iterator[Example | Bad]:
        """The rows of a batch; the first ones are held back until the columns are decided."""
        held = self._hold(batch)
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

    def _hold(self, batch: Batch) -> Held:
        """The columns, null where a cell is empty, and the labels."""
        troubles: dict[int, Trouble] = {}
        columns: dict[str, pa.Array] = {}
        wanted = {*self.features, self.target, self.spec.weight, self.spec.tag}
        for name, found in flat_columns(batch.columns).items():
            if name not in wanted:
                continue
            if name in self.slots and name not in self.reader.kinds:
                self._kind_by_type(name, found)
            column = plain(found)
            if name in self.text and is_text(column.type):
                column = texts_or_nulls(column, self.spec.nulls)
                if batch.damaged:
                    for i in pc.indices_nonzero(pc.match_substring(column, "\ufffd")).to_pylist():
                        message = "the cell is not UTF-8 text (--encoding names another)"
                        troubles.setdefault(i, Trouble(name, "not UTF-8", message))
            elif "nan" in self.spec.nulls and pa.types.is_floating(column.type):
                column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
            columns[name] = column
        for i, (name, error) in batch.bad.items():
            troubles.setdefault(i, Trouble(name, error.reason, str(error)))
        labels = self._labels(columns[self.target], troubles, batch.decimal)
        return Held(batch, columns, labels, troubles)

    def _kind_by_type(self, name: str, column: pa.Array) -> None:
        try:
            kind = kind_of_type(name, column.type)
        except SourceError as error:
            raise SourceError(f"{self.name}: {error}") from error
        if kind is not None:
            self.reader.kinds[name] = kind
        if pa.types.is_dictionary(column.type) and name not in self.reader.codes:
            for value in column.dictionary.to_pylist():
                self.reader.code(name, word(value))

    def _labels(self, column: pa.Array, troubles: dict[int, Trouble], decimal: str) -> list[float]:
        """The labels; 0 where there is none, with the trouble."""
        name, positive = self.target, self.spec.positive
        labels: list[float] = [0.0] * len(column)
        present = pc.indices_nonzero(pc.is_valid(column)).to_pylist()
        values = column.drop_null()
        read: list[float | BadExample]
        if positive is None:
            read = numbers(values, decimal)
            if any(isinstance(value, BadExample) for value in read):
                texts = [str(value).lower() for value in values.to_pylist()]
                read = [BOOLEANS.get(t, r) for t, r in zip(texts, read, strict=True)]
        else:
            read = [1.0 if word(value) == positive else -1.0 for value in values.to_pylist()]
        for i, value in zip(present, read, strict=True):
            if isinstance(value, BadExample):
                hint = "; the target must be numbers (or name one of two classes: --positive)"
                message = str(value).replace(", but the column holds numbers", hint)
                troubles.setdefault(i, Trouble(name, value.reason, message))
                continue
            try:
                self.reader.check(finite(value, "label"))
                labels[i] = value
            except BadExample as error:
                troubles.setdefault(i, Trouble(name, error.reason, str(error)))
        if len(present) < len(column):
            message = "the target is missing; learning needs it"
            for i in set(range(len(column))).difference(present):
                troubles.setdefault(i, Trouble(name, "no label", message))
        return labels

    def _decide(self, parts: list[Held], rows: int) -> None:
        """What the columns hold of which that is not known yet.

        The first `rows` with a label decide; where they are empty, the first cell that is not.
        """
        unknown = [n for n in self.features if not (n in self.reader.kinds and n in self.samples)]
        good = [(part, part.good) for part in parts] if unknown else []
        for name in unknown:
            cells = (v for part, at in good for v in part.columns[name].take(at).to_pylist())
            seen = [value for value in islice(cells, rows) if value is not None]
            seen = seen or some(cells, 1)
            if seen:
                self.samples.setdefault(name, seen[:5])
                decimal = parts[0].batch.decimal if name in self.text else None
                kind = kind_of_texts(seen, decimal) if name not in self.reader.kinds else None
                if kind is not None:
                    self.reader.kinds[name] = kind

    def _cells(self, held: Held, troubles: dict[int, Trouble]) -> list[list[Any]]:
        """Every column of features as a list of cells, in the order of the layout."""
        found: list[list[Any]] = []
        self._codes.clear()
        for group, names in self.layout.items():
            seed = 0 if group == DEFAULT_GROUP else hash_name(group, 0)
            for name in names:
                column, kind = held.columns[name], self.reader.kinds.get(name)
                if kind is None:  # nothing but empty cells so far
                    column, kind = pa.nulls(len(column), pa.string()), Kind.CATEGORY
                if kind is Kind.CATEGORY and self.spec.categories is Categories.CODE:
                    self._codes[len(found)] = (name, self.slots[name][1], seed)
                    found.append([v if v is None else word(v) for v in column.to_pylist()])
                    self._empty(name, [i for i, v in enumerate(found[-1]) if v is None], troubles)
                    continue
                form, decimal = self.spec.format_of(name), held.batch.decimal
                made = make_cells(column, kind, self.slots[name][1], seed, form, decimal)
                cells = made.by_row(self._missing(name, seed))
                if made.bad:
                    for i, cell in enumerate(cells):
                        if isinstance(cell, BadExample):
                            troubles.setdefault(i, Trouble(name, cell.reason, str(cell)))
                if made.empty:
                    self._empty(name, [i for i, at in enumerate(made.rows) if at < 0], troubles)
                found.append(cells)
        return found

    def _missing(self, name: str, seed: int) -> Cell:
        indicator = self.spec.missing is Missing.INDICATOR
        return pairs_cell([(f"{self.slots[name][1]}=missing", 1.0)] if indicator else [], seed)

    def _empty(self, name: str, rows: list[int], troubles: dict[int, Trouble]) -> None:
        if self.spec.missing in (Missing.SKIP, Missing.ERROR):
            skip = self.spec.missing is Missing.SKIP
            for i in rows:
                message = "the cell is empty (--missing zero takes it as 0)"
                troubles.setdefault(i, Trouble(name, "empty cell", message, skip))

    def _rows(self, held: Held) -> Iterator[Example | Bad]:
        self._decide([held], rows=0)
        troubles, ragged, before = dict(held.troubles), list(held.batch.ragged), self.row
        weights = self._weights(held, troubles)
        tags = held.columns[self.spec.tag].to_pylist() if self.spec.tag else None
        cells = self._cells(held, troubles)
        texts, labels = show_all_exactly(np.array(held.labels, np.float64))
        lines = held.batch.lines
        for i, row in enumerate(zip(*cells, strict=True)):
            self.row += 1
            while ragged and before + ragged[0][0] <= self.row:
                yield self._ragged(before, *ragged.pop(0))
                self.row += 1
            place = f"{self.name}: row {self.row}" if lines is None else f"{self.name}:{lines[i]}"
            if i in troubles:
                column, reason, message, harmless = troubles[i]
                where = f", column {column!r}" if column else ""
                yield Bad(f"{place}{where}", reason, message, harmless)
                continue
            yield self._assembler.example(
                self._coded(row) if self._codes else row,
                texts[i],
                labels[i],
                place,
                None if weights is None else weights[i],
                "" if tags is None or tags[i] is None else escape(word(tags[i])),
            )
        for number, got in ragged:
            self.row += 1
            yield self._ragged(before, number, got)

    def _coded(self, row: Sequence[Any]) -> list[Cell]:
        """The row with codes in the place of words; only now, so that a bad row leaves no trace."""
        cells = list(row)
        for at, (name, feature, seed) in self._codes.items():
            if cells[at] is None:
                cells[at] = self._missing(name, seed)
            else:
                cells[at] = pairs_cell([(feature, self.reader.code(name, cells[at]))], seed)
        return cells

    def _weights(self, held: Held, troubles: dict[int, Trouble]) -> list[float] | None:
        name = self.spec.weight
        if name is None:
            return None
        column = held.columns[name]
        weights = [1.0] * len(column)  # an empty cell is weight 1
        present = pc.indices_nonzero(pc.is_valid(column)).to_pylist()
        read = numbers(column.drop_null(), held.batch.decimal)
        for i, value in zip(present, read, strict=True):
            try:
                weights[i] = check_weight(_good(value))
            except BadExample as error:
                troubles.setdefault(i, Trouble(name, error.reason, str(error)))
        return weights

    def _ragged(self, before: int, number: int, got: str) -> Bad:
        return Bad(f"{self.name}: row {before + number}", "ragged row", f"the row has {got}")


def _good(value: float | BadExample) -> float:
    if isinstance(value, BadExample):
        raise value
    return value


def _has(columns: Sequence[str]) -> str:
    return f"the columns are: {listed(columns)}"
