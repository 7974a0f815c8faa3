"""Tables: batches of columns become examples, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from chacha.data.example import Example
from chacha.data.vw_text import show_all_exactly
from chacha.errors import BadExample, SourceError
from chacha.sources.base import Bad
from chacha.sources.spec import Categories, Kind
from chacha.sources.tables.assembler import Assembler
from chacha.sources.tables.batch import Batch
from chacha.sources.tables.blocks import ColumnBlock
from chacha.sources.tables.category_codes import BlockCodes
from chacha.sources.tables.cell_maker import CellMaker
from chacha.sources.tables.checked_batch import Prepared, prepare
from chacha.sources.tables.column_block import column_block
from chacha.sources.tables.columns import Cell, pairs_cell
from chacha.sources.tables.missing_cells import Beside
from chacha.sources.tables.schema import Schema
from chacha.sources.values.cells import class_name, is_number, kind_of_texts
from chacha.sources.values.dict_reader import DictReader

__all__ = ["TableReader"]

DECIDING = 100  # good rows that decide what a column holds
MOST_HELD = 100_000  # rows that are waited for at most
SAMPLES = 5
FIRST = 256  # rows that are enough to decide by, mostly
Row = Example | Bad | ColumnBlock


class Coded(NamedTuple):
    """A column whose words become codes as its rows are taken."""

    column: str
    feature: str
    seed: int


class TableReader:
    """Turns batches of columns into examples; the first rows decide what the columns hold.

    What a column of text holds is told by its cells in the first 100 good rows; if all of
    those are empty, its first cell that is not decides. What was decided, and the codes of
    words, stay with `reader` for the tables that follow. Rows that are bad, and rows that
    are not taken, leave no trace there.

    `decimal` is the decimal point of texts; None: these rows tell it. With `in_blocks` rows
    come as blocks of columns where that is possible.

    >>> from chacha.sources.spec import TableSpec
    >>> import pyarrow as pa
    >>> reader = DictReader()
    >>> table = TableReader(Schema(TableSpec(), "t.csv", ["x", "y"], reader), reader)
    >>> list(table.read(Batch(pa.table({"x": ["1.5"], "y": ["2"]}), text={"x", "y"})))
    []
    >>> [example.line for example in table.rest()]
    ['2.0 |x x:1.5']
    """

    def __init__(
        self,
        schema: Schema,
        reader: DictReader,
        decimal: str | None = ".",
        in_blocks: bool = False,
    ) -> None:
        self.schema, self.spec, self.name = schema, schema.spec, schema.name
        self.reader = reader
        self._in_blocks = in_blocks
        self.decimal = decimal or reader.decimal
        self.row = 0
        self.samples: dict[str, list[Any]] = {}  # the first values of every column
        self._assembler = Assembler({g: len(names) for g, names in schema.layout.items()})
        self._maker = CellMaker(schema)
        self._codes: dict[int, Coded] = {}
        self._held: list[tuple[Batch, list[int]]] | None = []  # None: enough rows have been seen
        self._seen = self._good = 0  # rows that are held, and how many of them are good
        self._positive = self.spec.positive is None
        self._kinds = dict(schema.kinds)  # the reader's, once there is a good row
        self._adopted = False
        if self.decimal and any(name in reader.kinds for name in schema.features):
            self._held = None  # the stream goes on: columns that are new are decided as late ones

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """What the columns hold, as far as it is known."""
        return self._kinds

    @property
    def numbers(self) -> frozenset[str]:
        """Columns of text that are known to hold numbers, if these have a decimal point."""
        if self.decimal != "." or self._held is not None:
            return frozenset()
        target = [self.schema.target] if self.spec.positive is None else []
        known = [name for name, kind in self._kinds.items() if kind is Kind.NUMBER]
        return frozenset(name for name in (*target, *known) if name in self.schema.wanted)

    def read(self, batch: Batch) -> Iterator[Row]:
        """The rows of a batch; the first ones are held back until the columns are decided."""
        nothing_open = self.decimal and all(name in self._kinds for name in self.schema.features)
        if nothing_open and self._in_blocks and not self._held:
            self._held = None
        if self._held is None:
            yield from self._items(batch)
            return
        if self._in_blocks and len(batch.columns) > FIRST and not batch.ragged:
            for part in batch.split(FIRST):
                yield from self.read(part)
            return
        good = self._good_rows(batch)
        self._held.append((batch, good))
        self._seen += len(batch.columns) + len(batch.ragged)
        self._good += len(good)
        if nothing_open or self._good >= DECIDING or self._seen >= MOST_HELD:
            yield from self.rest()

    def rest(self) -> Iterator[Row]:
        """The rows that were held back; nothing is from now on."""
        held, self._held = self._held or [], None
        if held:
            self._decide(held)
        for batch, _ in held:
            yield from self._items(batch)

    def _items(self, batch: Batch) -> Iterator[Row]:
        """The rows of a batch, as a block if all is known of its columns."""
        if not self._in_blocks or batch.ragged:
            yield from self._rows(self._prepare(batch))
            return
        unknown = [name for name in self.schema.features if name not in self._kinds]
        if unknown and (cell := self._first_cell(batch, unknown)) < len(batch.columns):
            yield from self._learn_kinds(batch, cell)
            return
        coded = self._coded_columns()
        while coded and not self._adopted:  # what is declared gets the first codes
            first, batch = batch.split(min(FIRST, len(batch.columns)))
            yield from self._rows(self._prepare(first))
            if not len(batch.columns):
                return
        made, before = self._prepare(batch, checked=bool(coded)), self.row
        missing = {
            name: self._maker.missing(feature, self.schema.seeds[group])
            for name, (group, feature) in self.schema.slots.items()
        }
        codes = BlockCodes(self.reader, coded)
        try:
            kinds = {**self._kinds, **dict.fromkeys(unknown, Kind.NUMBER)}  # any: it has no cell
            offers = self.reader.offers_in(self.spec)
            block = column_block(made, self.schema, kinds, missing, before, codes, offers)
        except BadExample:  # too many categories; row by row it is told which
            yield from self._rows(self._prepare(batch))
            return

        def took(rows: int, good: bool) -> None:
            self.row = before + rows
            codes.keep(rows)
            if good and not self._adopted:
                self._adopt(batch)

        block.took = took
        yield block

    def _coded_columns(self) -> set[str]:
        """The columns whose words become codes."""
        if self.spec.categories is not Categories.CODE:
            return set()
        return {name for name in self.schema.features if self._kinds.get(name) is Kind.CATEGORY}

    def _first_cell(self, batch: Batch, names: Sequence[str]) -> int:
        """The first row with a cell in one of some columns; else how many rows there are."""
        made, rows = self._prepare(batch), len(batch.columns)
        found = (pc.index(pc.is_valid(made.columns[name]), True).as_py() for name in names)
        return min((row for row in found if row >= 0), default=rows)

    def _learn_kinds(self, batch: Batch, first: int) -> Iterator[Row]:
        """A batch in which columns get their first cell: some rows tell what they hold."""
        before, batch = batch.split(first)
        if first:
            yield from self._items(before)
        some, rest = batch.split(min(FIRST, len(batch.columns)))
        yield from self._rows(self._prepare(some))
        if len(rest.columns):
            yield from self._items(rest)

    def finish(self) -> Iterator[Row]:
        """The last rows; to be called when the table has come to its end."""
        yield from self.rest()
        if not self._positive and self.row:
            told = f"no row's {self.schema.target!r} is {self.spec.positive!r}"
            raise SourceError(f"{self.name}: {told}; --positive must name one of its values")

    def _prepare(self, batch: Batch, decimal: str | None = None, checked: bool = True) -> Prepared:
        """With the labels `checked`; else whoever takes the rows has to."""
        check = self.reader.check if checked else None
        made = prepare(batch, self.schema, decimal or self.decimal or ".", check)
        if not self._positive:
            target = made.columns[self.schema.target].drop_null().to_pylist()
            self._positive = class_name(self.spec.positive) in map(class_name, target)
        return made

    def _good_rows(self, batch: Batch) -> list[int]:
        """Rows in which nothing is wrong, as far as that is known; for deciding the rest."""
        found: set[int] = set()
        for decimal in [self.decimal] if self.decimal else [".", ","]:
            made = self._prepare(batch, decimal)
            self._maker.note_bad(made, self._kinds)
            found.update(row for row in range(len(made.labels)) if row not in made.troubles)
        return sorted(found)

    def _decide(self, held: Sequence[tuple[Batch, list[int]]]) -> None:
        """The decimal point, and what the columns hold, by the first good rows."""
        voters: list[tuple[Batch, list[int]]] = []
        left, before = DECIDING, 0
        for batch, good in held:
            some = [row for row in good if before + row < MOST_HELD][:left]
            voters.append((batch, some))
            left, before = left - len(some), before + len(batch.columns)
        if self.decimal is None:
            texts: list[str] = []
            for batch, rows in voters:
                made = self._prepare(batch, ".")
                for name in batch.text & made.columns.keys():
                    texts += made.values(name, rows)
            self.decimal = _decimal_of(texts)
        self._vote(voters)

    def _vote(self, voters: Sequence[tuple[Batch, list[int]]]) -> None:
        """What the columns hold; rows that are bad by what is decided do not vote."""
        unknown = [name for name in self.schema.features if name not in self._kinds]
        asked = [(self._prepare(batch), rows) for batch, rows in voters]
        seen: dict[str, list[Any]] | None = None
        kinds: dict[str, Kind] = {}
        while True:
            lost = False
            for made, rows in asked:
                self._maker.note_bad(made, self._kinds | kinds)
                good = [row for row in rows if row not in made.troubles]
                lost |= len(good) < len(rows)
                rows[:] = good  # for good
            if seen is not None and not lost:
                break
            seen = {
                name: [v for made, rows in asked for v in made.values(name, rows)]
                for name in self.schema.features
            }
            kinds = {
                name: self._kind(name, seen[name], voters[0][0]) for name in unknown if seen[name]
            }
        self._kinds |= kinds
        for name, values in seen.items():
            self._sample(name, values)

    def _kind(self, name: str, seen: Sequence[str], batch: Batch) -> Kind:
        decimal = self.decimal if name in batch.text else None
        return kind_of_texts(seen, decimal) or Kind.CATEGORY

    def _sample(self, name: str, seen: Sequence[Any]) -> None:
        if seen and len(self.samples.get(name, ())) < SAMPLES:
            self.samples[name] = [*self.samples.get(name, ()), *seen][:SAMPLES]

    def _late(self, made: Prepared, cells: dict[str, list[Any]]) -> dict[int, dict[str, Kind]]:
        """Columns that were empty until now: the row from which on it is known what they hold."""
        unknown = [name for name in self.schema.features if name not in cells]
        found: dict[int, dict[str, Kind]] = {}
        while unknown:
            first: dict[str, int] = {}
            for name in unknown:
                present = pc.indices_nonzero(pc.is_valid(made.columns[name])).to_pylist()
                rows = islice((row for row in present if row not in made.troubles), 1)
                first.update((name, row) for row in rows)
            if not first:
                break
            row = min(first.values())
            new: dict[str, Kind] = {}
            for name in [name for name in unknown if first.get(name) == row]:
                new[name] = self._kind(name, [made.columns[name][row].as_py()], made.batch)
            trial = replace(made, troubles=dict(made.troubles))
            decided = self._maker.make(trial, new, new)
            if row in trial.troubles:  # it is bad by what it would decide, so it decides nothing
                made.troubles[row] = trial.troubles[row]
                continue
            made.troubles.update(trial.troubles)
            cells |= decided
            found[row] = new
            unknown = [name for name in unknown if name not in new]
            for name in new:
                self._sample(name, [made.columns[name][row].as_py()])
        cells |= self._maker.make(made, unknown, {})
        return found

    def _rows(self, made: Prepared) -> Iterator[Example | Bad]:
        ragged, before = list(made.batch.ragged), self.row
        known = [name for name in self.schema.features if name in self._kinds]
        cells = self._maker.make(made, known, self._kinds)
        late = self._late(made, cells) if len(known) < len(self.schema.features) else {}
        texts, labels = show_all_exactly(np.asarray(made.labels, np.float64))
        lines, weights, tags = made.batch.lines, made.weights, made.tags
        kinds = {
            name: kind for some in (self._kinds, *late.values()) for name, kind in some.items()
        }
        beside = Beside(made, self.schema, kinds, self.reader)
        for i, row in enumerate(self._in_order(cells, late)):
            self.row += 1
            while ragged and before + ragged[0][0] <= self.row:
                yield self._ragged(before, *ragged.pop(0))
                self.row += 1
            self._kinds.update(late.get(i, {}))
            place = f"{self.name}: row {self.row}" if lines is None else f"{self.name}:{lines[i]}"
            if i in made.troubles:
                column, reason, message, harmless = made.troubles[i]
                where = f", column {column!r}" if column else ""
                yield Bad(f"{place}{where}", reason, message, harmless)
                continue
            if i in late or not self._adopted:
                self._adopt(made.batch)
            try:
                example = self._assembler.example(
                    self._coded(row) if self._codes else row,
                    texts[i],
                    labels[i],
                    place,
                    None if weights is None else weights[i],
                    "" if tags is None else tags[i],
                )
                yield beside.add(example, i)
            except BadExample as error:  # too many categories
                yield Bad(place, error.reason, str(error))
        for number, got in ragged:
            self.row += 1
            yield self._ragged(before, number, got)

    def _adopt(self, batch: Batch) -> None:
        """There is a good row: what was decided holds from now on."""
        if not self._adopted:
            self.schema.adopt()
            self.reader.texts |= batch.text & self.schema.slots.keys()
            if batch.text:
                self.reader.decimal = self.decimal
        self._adopted = True
        self.reader.kinds.update(self._kinds)

    def _in_order(
        self, cells: dict[str, list[Any]], late: dict[int, dict[str, Kind]]
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of cells in the order of the groups; which columns are to be coded."""
        kinds = {**self._kinds}
        for some in late.values():
            kinds |= some
        self._codes.clear()
        columns: list[list[Any]] = []
        for group, names in self.schema.layout.items():
            for name in names:
                code = kinds.get(name, Kind.CATEGORY) is Kind.CATEGORY
                if code and self.spec.categories is Categories.CODE:
                    feature, seed = self.schema.slots[name][1], self.schema.seeds[group]
                    self._codes[len(columns)] = Coded(name, feature, seed)
                columns.append(cells[name])
        return zip(*columns, strict=True)

    def _coded(self, row: Sequence[Any]) -> list[Cell]:
        """The row with codes in the place of words; only now, so that a bad row leaves no trace."""
        cells = list(row)
        for at, (column, feature, seed) in self._codes.items():
            if cells[at] is None:
                cells[at] = self._maker.missing(feature, seed)
            else:
                cells[at] = pairs_cell([(feature, self.reader.code(column, cells[at]))], seed)
        return cells

    def _ragged(self, before: int, number: int, got: str) -> Bad:
        return Bad(f"{self.name}: row {before + number}", "ragged row", f"the row has {got}")


def _decimal_of(texts: Sequence[str]) -> str:
    """The decimal point of a table: a comma if numbers are written so, and none with a point."""
    with_point = any("." in text and is_number(text) for text in texts)
    with_comma = any("," in text and is_number(text, ",") for text in texts)
    return "," if with_comma and not with_point else "."
