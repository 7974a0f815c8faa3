"""Cells of the columns of a checked batch whose kinds are decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from chacha.errors import BadExample
from chacha.sources.spec import Categories, Kind, Missing
from chacha.sources.tables.checked_batch import CheckedBatch
from chacha.sources.tables.columns import Cell, make_cells, missing_number, pairs_cell
from chacha.sources.tables.numbers import number_array
from chacha.sources.tables.schema import Schema
from chacha.sources.values.cells import category_name

__all__ = ["CellMaker"]


class CellMaker:
    """Makes the cells of a table's columns, row by row, and notes the errors in them.

    >>> from chacha.sources.tables.batch import Batch
    >>> from chacha.sources.values.dict_reader import DictReader
    >>> from chacha.sources.tables.checked_batch import check_batch
    >>> from chacha.sources.spec import TableSpec
    >>> schema = Schema(TableSpec(), "t", ["x", "y"], DictReader())
    >>> batch = check_batch(Batch(pa.table({"x": ["0.5", "red"], "y": [1, 2]})), schema, ".")
    >>> cells = CellMaker(schema).make(batch, ["x"], {"x": Kind.NUMBER})
    >>> cells["x"][0].text, batch.errors[1].reason
    ('x:0.5', 'not a number')
    """

    def __init__(self, schema: Schema) -> None:
        self._schema, self._spec = schema, schema.spec

    def missing(self, feature: str, seed: int, kind: Kind | None = None) -> Cell:
        """Return what an empty cell of a column of a kind becomes."""
        indicator = self._spec.missing is Missing.INDICATOR
        cell = pairs_cell([(f"{feature}=missing", 1.0)] if indicator else [], seed)
        return missing_number(cell, feature, kind)

    def make(
        self, batch: CheckedBatch, names: Iterable[str], kinds: Mapping[str, Kind]
    ) -> dict[str, list[Any]]:
        """Return the cells of some columns by their kinds; errors are noted in the batch."""
        by_column: dict[str, list[Any]] = {}
        for name in names:
            column, kind = batch.columns[name], kinds.get(name)
            group, feature = self._schema.slots[name]
            if kind is None:  # nothing but empty cells so far
                column, kind = pa.nulls(len(column), pa.string()), Kind.CATEGORY
            if kind is Kind.CATEGORY and self._spec.categories is Categories.CODE:
                values = column.to_pylist()
                by_column[name] = [v if v is None else category_name(v) for v in values]
                continue
            form, seed = self._spec.format_of(name), self._schema.seeds[group]
            cells = make_cells(column, kind, feature, seed, form, batch.decimal)
            by_column[name] = cells.by_row(self.missing(feature, seed, kind))
            if cells.bad:
                for row, cell in enumerate(by_column[name]):
                    if isinstance(cell, BadExample):
                        batch.add_error(row, name, cell)
        return by_column

    def add_errors(self, batch: CheckedBatch, kinds: Mapping[str, Kind]) -> None:
        """Note the errors that :meth:`make` would note for the columns with a kind."""
        for name in self._schema.features:
            kind = kinds.get(name)
            if kind is None:
                continue
            if kind is not Kind.NUMBER or number_array(batch.columns[name], batch.decimal) is None:
                self.make(batch, [name], kinds)
