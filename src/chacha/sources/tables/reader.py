"""Tables: batches of columns become examples row by row, or blocks of many rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from chacha.data.example import Example
from chacha.errors import BadExample, SourceError
from chacha.sources.base import Bad
from chacha.sources.spec import Categories, Kind
from chacha.sources.tables.assembler import Assembler
from chacha.sources.tables.batch import Batch
from chacha.sources.tables.block_builder import table_block
from chacha.sources.tables.blocks import TableBlock
from chacha.sources.tables.category_codes import BlockCodes
from chacha.sources.tables.cell_maker import CellMaker
from chacha.sources.tables.checked_batch import CheckedBatch
from chacha.sources.tables.column_kinds import ColumnKinds
from chacha.sources.tables.columns import Cell, pairs_cell
from chacha.sources.tables.missing_cells import RowExtras
from chacha.sources.tables.numbers import show_labels
from chacha.sources.tables.schema import Schema
from chacha.sources.values.dict_reader import DictReader

__all__ = ["TableItem", "TableReader"]

FIRST_ROWS = 256  # rows that usually suffice for a decision about columns
TableItem = Example | Bad | TableBlock
"""What a table reader yields: one row, good or bad, or a block of rows."""


class CodedColumn(NamedTuple):
    """A column whose words become codes as its rows are yielded."""

    column: str
    feature: str
    seed: int


class TableReader:
    """Turns batches of columns into examples, or into blocks of columns.

    :class:`~chacha.sources.tables.column_kinds.ColumnKinds` decides what the columns hold, by the
    first rows, which are held back until then. Decisions, and the codes of words, stay with
    `reader` for the tables that follow. Rows that are bad, and rows that are not consumed, do
    not change it.

    `decimal` is the decimal point of texts; None: the first good rows decide it. With
    `in_blocks`, rows come as blocks where that is possible.

    >>> from chacha.sources.spec import TableSpec
    >>> import pyarrow as pa
    >>> reader = DictReader()
    >>> table = TableReader(Schema(TableSpec(), "t.csv", ["x", "y"], reader), reader)
    >>> list(table.read(Batch(pa.table({"x": ["1.5"], "y": ["2"]}), text={"x", "y"})))
    []
    >>> [example.line for example in table.flush()]
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
        self.row = 0
        self._in_blocks = in_blocks
        self._maker = CellMaker(schema)
        self._columns = ColumnKinds(schema, reader, self._maker, decimal)
        sizes = {group: len(names) for group, names in schema.layout.items()}
        self._assembler = Assembler(sizes, reader.with_numbers)
        self._codes: dict[int, CodedColumn] = {}
        self._adopted = False  # the decisions are the reader's, from the first good row on

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """What the columns hold, as far as it is decided."""
        return self._columns.kinds

    @property
    def decimal(self) -> str | None:
        """The decimal point of texts, once it is decided."""
        return self._columns.decimal

    @property
    def samples(self) -> Mapping[str, Sequence[Any]]:
        """The first values of every column."""
        return self._columns.samples

    @property
    def numbers(self) -> frozenset[str]:
        """Columns of text that are known to hold numbers, if these have a decimal point."""
        if self.decimal != "." or self._columns.holding:
            return frozenset()
        target = [self.schema.target] if self.spec.positive is None else []
        numeric = [name for name, kind in self.kinds.items() if kind is Kind.NUMBER]
        return frozenset(name for name in (*target, *numeric) if name in self.schema.wanted)

    def read(self, batch: Batch) -> Iterator[TableItem]:
        """Yield the rows of a batch; the first ones are held back until columns are decided."""
        columns, rows = self._columns, len(batch.columns)
        if self._in_blocks and columns.complete:
            columns.stop_holding()
        if not columns.holding:
            yield from self._items(self._check(batch))
        elif self._in_blocks and rows > FIRST_ROWS and not batch.ragged:
            yield from self.read(batch.slice(0, FIRST_ROWS))
            yield from self.read(batch.slice(FIRST_ROWS, rows))
        elif columns.hold(batch):
            yield from self.flush()

    def flush(self) -> Iterator[TableItem]:
        """Yield the rows that are held back; none are from now on."""
        for batch in self._columns.release():
            yield from self._items(batch)

    def finish(self) -> Iterator[TableItem]:
        """Yield the last rows; to be called at the end of the table."""
        yield from self.flush()
        if not self._columns.has_positive and self.row:
            problem = f"no row's {self.schema.target!r} is {self.spec.positive!r}"
            raise SourceError(f"{self.name}: {problem}; --positive must name one of its values")

    def _check(self, batch: Batch) -> CheckedBatch:
        """Check a batch; words that come as dictionaries stay so if they go into a block."""
        as_block = self._in_blocks and not batch.ragged and not self._columns.undecided
        return self._columns.check(batch, keep_dictionaries=as_block and not self._coded_columns())

    def _items(self, batch: CheckedBatch) -> Iterator[TableItem]:
        """Yield the rows of a batch, in blocks as far as it is known what the columns hold."""
        if not self._in_blocks or batch.raw.ragged:
            yield from self._rows(batch)
            return
        while (first := self._first_cell(batch, self._columns.undecided)) < len(batch):
            if first:
                yield from self._blocks(batch.slice(0, first))
            stop = min(first + FIRST_ROWS, len(batch))  # these rows decide what the columns hold
            yield from self._rows(batch.slice(first, stop))
            batch = batch.slice(stop, len(batch))
        if len(batch):
            yield from self._blocks(batch)

    def _first_cell(self, batch: CheckedBatch, names: Sequence[str]) -> int:
        """Return the first row with a cell in one of some columns, or the number of rows."""
        rows = (pc.index(pc.is_valid(batch.columns[name]), True).as_py() for name in names)
        return min((row for row in rows if row >= 0), default=len(batch))

    def _coded_columns(self) -> set[str]:
        """Return the columns whose words become codes."""
        if self.spec.categories is not Categories.CODE:
            return set()
        return {name for name in self.schema.features if self.kinds.get(name) is Kind.CATEGORY}

    def _blocks(self, batch: CheckedBatch) -> Iterator[TableItem]:
        """Yield the rows of a batch as a block; what is undecided has no cell in it."""
        coded = self._coded_columns()
        while coded and not self._adopted:  # declared categories get the first codes
            yield from self._rows(batch.slice(0, FIRST_ROWS))
            batch = batch.slice(min(FIRST_ROWS, len(batch)), len(batch))
            if not len(batch):
                return
        before = self.row
        checked = self._columns.with_label_check(batch) if coded else batch.copy()
        missing = {
            name: self._maker.missing(feature, self.schema.seeds[group])
            for name, (group, feature) in self.schema.slots.items()
        }
        codes = BlockCodes(self.reader, coded)
        kinds = {**dict.fromkeys(self._columns.undecided, Kind.NUMBER), **self.kinds}
        offer_missing = self.reader.offers_missing(self.spec)
        try:
            block = table_block(
                checked,
                self.schema,
                kinds,
                missing,
                before,
                codes,
                offer_missing,
                self.reader.with_numbers,
            )
        except BadExample:  # too many categories; row by row, each is reported in its place
            yield from self._rows(batch)
            return

        def on_taken(rows: int, good: bool) -> None:
            self.row = before + rows
            codes.commit(rows)
            if good and not self._adopted:
                self._adopt(batch.raw)

        block.on_taken = on_taken
        yield block

    def _rows(self, batch: CheckedBatch) -> Iterator[Example | Bad]:
        """Yield the rows of a batch one by one."""
        batch = self._columns.with_label_check(batch)
        ragged, before = list(batch.raw.ragged), self.row
        decided = [name for name in self.schema.features if name in self.kinds]
        cells = self._maker.make(batch, decided, self.kinds)
        late: Mapping[int, dict[str, Kind]] = {}
        if len(decided) < len(self.schema.features):
            late = self._columns.decide_late(batch, cells)
        targets = np.asarray(batch.labels, np.float64)
        texts, labels = show_labels(targets)
        lines, weights, tags = batch.raw.lines, batch.weights, batch.tags
        kinds = dict(self.kinds)
        for more in late.values():
            kinds |= more
        extras = RowExtras(batch, self.schema, kinds, self.reader)
        for i, row in enumerate(self._in_order(cells, kinds)):
            self.row += 1
            while ragged and before + ragged[0][0] <= self.row:
                yield self._ragged(before, *ragged.pop(0))
                self.row += 1
            self._columns.kinds.update(late.get(i, {}))
            place = f"{self.name}: row {self.row}" if lines is None else f"{self.name}:{lines[i]}"
            if i in batch.errors:
                column, reason, message, harmless = batch.errors[i]
                where = f", column {column!r}" if column else ""
                yield Bad(f"{place}{where}", reason, message, harmless)
                continue
            if i in late or not self._adopted:
                self._adopt(batch.raw)
            try:
                example = self._assembler.example(
                    self._coded(row) if self._codes else row,
                    texts[i],
                    labels[i],
                    float(targets[i]),
                    place,
                    None if weights is None else weights[i],
                    "" if tags is None else tags[i],
                )
                yield extras.add(example, i)
            except BadExample as error:  # too many categories
                yield Bad(place, error.reason, str(error))
        for number, cell_count in ragged:
            self.row += 1
            yield self._ragged(before, number, cell_count)

    def _adopt(self, batch: Batch) -> None:
        """Hand the decisions to the reader: there is a good row."""
        if not self._adopted:
            self.schema.adopt()
            self.reader.texts |= batch.text & self.schema.slots.keys()
            if batch.text:
                self.reader.decimal = self.decimal
        self._adopted = True
        self.reader.kinds.update(self.kinds)

    def _in_order(
        self, cells: Mapping[str, list[Any]], kinds: Mapping[str, Kind]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield rows of cells in the order of the groups; note which columns are coded."""
        self._codes.clear()
        columns: list[list[Any]] = []
        for group, names in self.schema.layout.items():
            for name in names:
                code = kinds.get(name, Kind.CATEGORY) is Kind.CATEGORY
                if code and self.spec.categories is Categories.CODE:
                    feature, seed = self.schema.slots[name][1], self.schema.seeds[group]
                    self._codes[len(columns)] = CodedColumn(name, feature, seed)
                columns.append(cells[name])
        return zip(*columns, strict=True)

    def _coded(self, row: Sequence[Any]) -> list[Cell]:
        """Return the row with codes for its words; a bad row does not get here, so adds none."""
        cells = list(row)
        for at, (column, feature, seed) in self._codes.items():
            if cells[at] is None:
                cells[at] = self._maker.missing(feature, seed)
            else:
                cells[at] = pairs_cell([(feature, self.reader.code(column, cells[at]))], seed)
        return cells

    def _ragged(self, before: int, number: int, cell_count: str) -> Bad:
        place = f"{self.name}: row {before + number}"
        return Bad(place, "ragged row", f"the row has {cell_count}")
