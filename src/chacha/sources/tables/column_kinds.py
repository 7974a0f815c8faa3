"""Deciding what the columns of a table hold, and its decimal point, by the first good rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from chacha.sources.spec import Kind
from chacha.sources.tables.batch import Batch
from chacha.sources.tables.cell_maker import CellMaker
from chacha.sources.tables.checked_batch import CheckedBatch, check_batch
from chacha.sources.tables.schema import Schema
from chacha.sources.values.cells import class_name, is_number, kind_of_texts
from chacha.sources.values.dict_reader import DictReader

__all__ = ["DECIDING_ROWS", "MOST_HELD_ROWS", "ColumnKinds"]

DECIDING_ROWS = 100  # good rows that decide what a column holds
MOST_HELD_ROWS = 100_000  # rows that are held back at most
SAMPLES = 5  # values of a column that a dry run shows


@dataclass
class HeldBatch:
    """A batch that is held back, its rows that are good so far, and its checks by decimal."""

    batch: Batch
    good: list[int] = field(default_factory=list)
    checked: dict[str, CheckedBatch] = field(default_factory=dict)


class ColumnKinds:
    """Decides the kinds of a table's columns.

    A column of text is of the kind of its cells in the first 100 good rows; if all of those are
    empty, its first cell that is not decides. A row that is bad, also by what is decided, does
    not vote. Until the decision, batches are held back; every batch is checked once for every
    decimal point that is possible.

    `decimal` is the decimal point of texts; None: the first good rows decide it.

    >>> from chacha.sources.spec import TableSpec
    >>> reader = DictReader()
    >>> schema = Schema(TableSpec(), "t.csv", ["x", "y"], reader)
    >>> columns = ColumnKinds(schema, reader, CellMaker(schema))
    >>> columns.hold(Batch(pa.table({"x": ["1.5", ""], "y": ["2", "3"]}), text={"x", "y"}))
    False
    >>> [len(batch) for batch in columns.release()], columns.kinds
    ([2], {'x': <Kind.NUMBER: 'number'>})
    """

    def __init__(
        self, schema: Schema, reader: DictReader, maker: CellMaker, decimal: str | None = "."
    ) -> None:
        self.kinds = dict(schema.kinds)
        self.decimal = decimal or reader.decimal
        self.samples: dict[str, list[Any]] = {}  # the first values of every column
        self.has_positive = schema.spec.positive is None  # whether the class 1 occurred
        self._schema, self._reader, self._maker = schema, reader, maker
        self._held: list[HeldBatch] | None = []  # None: rows are no longer held back
        self._rows = self._good = 0  # rows that are held back, and how many of them are good
        if self.decimal and any(name in reader.kinds for name in schema.features):
            self._held = None  # the stream continues: new columns are decided as late ones

    @property
    def undecided(self) -> list[str]:
        """The columns of which nothing is known yet."""
        return [name for name in self._schema.features if name not in self.kinds]

    @property
    def complete(self) -> bool:
        """Whether nothing is left to decide."""
        return bool(self.decimal) and not self.undecided

    @property
    def holding(self) -> bool:
        """Whether rows are held back until the decision."""
        return self._held is not None

    def stop_holding(self) -> None:
        """Hold back no rows from now on, if none are held back now."""
        self._held = self._held or None

    def check(
        self, batch: Batch, decimal: str | None = None, keep_dictionaries: bool = False
    ) -> CheckedBatch:
        """Return the batch, checked with the decimal point that was decided or is given."""
        decimal = decimal or self.decimal or "."
        checked = check_batch(batch, self._schema, decimal, keep_dictionaries)
        if not self.has_positive:
            target = checked.columns[self._schema.target].drop_null().to_pylist()
            positive = class_name(self._schema.spec.positive)
            self.has_positive = positive in map(class_name, target)
        return checked

    def with_label_check(self, batch: CheckedBatch) -> CheckedBatch:
        """Return a copy in which the rows whose labels the loss refuses have errors."""
        return batch.with_label_check(self._reader.check, self._schema.target)

    def hold(self, batch: Batch) -> bool:
        """Hold a batch back; return whether it is time to decide."""
        assert self._held is not None
        held = HeldBatch(batch)
        held.good = self._good_rows(held)
        self._held.append(held)
        self._rows += len(batch.columns) + len(batch.ragged)
        self._good += len(held.good)
        return self.complete or self._good >= DECIDING_ROWS or self._rows >= MOST_HELD_ROWS

    def release(self) -> list[CheckedBatch]:
        """Decide; return the batches that were held back. None are held back from now on."""
        held, self._held = self._held or [], None
        if held:
            self._decide(held)
        return [self._checked(item) for item in held]

    def _checked(self, held: HeldBatch, decimal: str | None = None) -> CheckedBatch:
        decimal = decimal or self.decimal or "."
        if decimal not in held.checked:
            held.checked[decimal] = self.check(held.batch, decimal)
        return held.checked[decimal]

    def _good_rows(self, held: HeldBatch) -> list[int]:
        """Return the rows without an error, with one of the possible decimal points."""
        good: set[int] = set()
        for decimal in [self.decimal] if self.decimal else [".", ","]:
            if decimal == "," and not self.decimal and not self._has_commas(held.checked["."]):
                continue  # what is a number with a decimal comma is one with a point
            batch = self.with_label_check(self._checked(held, decimal))
            self._maker.add_errors(batch, self.kinds)
            good.update(row for row in range(len(batch)) if row not in batch.errors)
        return sorted(good)

    def _has_commas(self, batch: CheckedBatch) -> bool:
        """Return whether a text that must be a number has a comma in it."""
        names = [name for name, kind in self.kinds.items() if kind is Kind.NUMBER]
        for name in (self._schema.target, self._schema.spec.weight or "", *names):
            column = batch.columns.get(name)
            if column is None or not pa.types.is_string(column.type):
                continue
            if pc.any(pc.match_substring(column, ",")).as_py():
                return True
        return False

    def _decide(self, held: Sequence[HeldBatch]) -> None:
        """Decide the decimal point and the kinds by the first good rows."""
        voters: list[tuple[HeldBatch, list[int]]] = []
        left, before = DECIDING_ROWS, 0
        for item in held:
            rows = [row for row in item.good if before + row < MOST_HELD_ROWS][:left]
            voters.append((item, rows))
            left, before = left - len(rows), before + len(item.batch.columns)
        if self.decimal is None:
            texts: list[str] = []
            for item, rows in voters:
                checked = self._checked(item, ".")
                for name in item.batch.text & checked.columns.keys():
                    texts += checked.values(name, rows)
            self.decimal = _decimal_of(texts)
        self._vote([(self.with_label_check(self._checked(item)), rows) for item, rows in voters])

    def _vote(self, voters: Sequence[tuple[CheckedBatch, list[int]]]) -> None:
        """Decide the kinds; rows that are bad by what is decided do not vote."""
        undecided = self.undecided
        values: dict[str, list[Any]] | None = None
        kinds: dict[str, Kind] = {}
        while True:
            lost = False
            for batch, rows in voters:
                self._maker.add_errors(batch, self.kinds | kinds)
                good = [row for row in rows if row not in batch.errors]
                lost |= len(good) < len(rows)
                rows[:] = good
            if values is not None and not lost:
                break
            values = {
                name: [v for batch, rows in voters for v in batch.values(name, rows)]
                for name in self._schema.features
            }
            text = voters[0][0].raw.text
            kinds = {
                name: self._kind(values[name], name in text) for name in undecided if values[name]
            }
        self.kinds |= kinds
        for name, first in values.items():
            self._add_samples(name, first)

    def _kind(self, values: Sequence[str], has_numbers: bool) -> Kind:
        return kind_of_texts(values, self.decimal if has_numbers else None) or Kind.CATEGORY

    def _add_samples(self, name: str, values: Sequence[Any]) -> None:
        if values and len(self.samples.get(name, ())) < SAMPLES:
            self.samples[name] = [*self.samples.get(name, ()), *values][:SAMPLES]

    def decide_late(
        self, batch: CheckedBatch, cells: dict[str, list[Any]]
    ) -> Mapping[int, dict[str, Kind]]:
        """Decide columns that were empty until now; return by row what is known from it on.

        The cells of all undecided columns are added to `cells`. The kinds are not yet adopted:
        that is for the caller to do when the row is reached.
        """
        undecided = [name for name in self._schema.features if name not in cells]
        late: dict[int, dict[str, Kind]] = {}
        while undecided:
            first: dict[str, int] = {}
            for name in undecided:
                present = pc.indices_nonzero(pc.is_valid(batch.columns[name])).to_pylist()
                rows = islice((row for row in present if row not in batch.errors), 1)
                first.update((name, row) for row in rows)
            if not first:
                break
            row = min(first.values())
            kinds = {
                name: self._kind([batch.columns[name][row].as_py()], name in batch.raw.text)
                for name in undecided
                if first.get(name) == row
            }
            trial = batch.copy()
            decided = self._maker.make(trial, kinds, kinds)
            if row in trial.errors:  # the row is bad by what it would decide, so it does not
                batch.errors[row] = trial.errors[row]
                continue
            batch.errors.update(trial.errors)
            cells |= decided
            late[row] = kinds
            undecided = [name for name in undecided if name not in kinds]
            for name in kinds:
                self._add_samples(name, [batch.columns[name][row].as_py()])
        cells |= self._maker.make(batch, undecided, {})
        return late


def _decimal_of(texts: Sequence[str]) -> str:
    """Return a comma if numbers are written with one and none is written with a point."""
    with_point = any("." in text and is_number(text) for text in texts)
    with_comma = any("," in text and is_number(text, ",") for text in texts)
    return "," if with_comma and not with_point else "."
