"""Cells of columns of which it is known what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from chacha.errors import BadExample
from chacha.sources.spec import Categories, Kind, Missing
from chacha.sources.tables.checked_batch import Prepared
from chacha.sources.tables.columns import Cell, make_cells, pairs_cell
from chacha.sources.tables.numbers import number_array
from chacha.sources.tables.schema import Schema
from chacha.sources.values.cells import word

__all__ = ["CellMaker"]


class CellMaker:
    """Makes the cells of a table's columns, row by row, and notes what is wrong with them.

    >>> from chacha.sources.tables.batch import Batch
    >>> from chacha.sources.values.dict_reader import DictReader
    >>> from chacha.sources.tables.checked_batch import prepare
    >>> from chacha.sources.spec import TableSpec
    >>> schema = Schema(TableSpec(), "t", ["x", "y"], DictReader())
    >>> made = prepare(Batch(pa.table({"x": ["0.5", "red"], "y": [1, 2]})), schema, ".", None)
    >>> cells = CellMaker(schema).make(made, ["x"], {"x": Kind.NUMBER})
    >>> cells["x"][0].text, made.troubles[1].reason
    ('x:0.5', 'not a number')
    """

    def __init__(self, schema: Schema) -> None:
        self._schema, self._spec = schema, schema.spec

    def missing(self, feature: str, seed: int) -> Cell:
        """What stands for an empty cell."""
        indicator = self._spec.missing is Missing.INDICATOR
        return pairs_cell([(f"{feature}=missing", 1.0)] if indicator else [], seed)

    def make(
        self, made: Prepared, names: Iterable[str], kinds: Mapping[str, Kind]
    ) -> dict[str, list[Any]]:
        """The cells of some columns, by what these hold; troubles are noted."""
        found: dict[str, list[Any]] = {}
        for name in names:
            column, kind = made.columns[name], kinds.get(name)
            group, feature = self._schema.slots[name]
            if kind is None:  # nothing but empty cells so far
                column, kind = pa.nulls(len(column), pa.string()), Kind.CATEGORY
            if kind is Kind.CATEGORY and self._spec.categories is Categories.CODE:
                found[name] = [v if v is None else word(v) for v in column.to_pylist()]
                continue
            form, seed = self._spec.format_of(name), self._schema.seeds[group]
            cells = make_cells(column, kind, feature, seed, form, made.decimal)
            found[name] = cells.by_row(self.missing(feature, seed))
            if cells.bad:
                for row, cell in enumerate(found[name]):
                    if isinstance(cell, BadExample):
                        made.note(row, name, cell)
        return found

    def note_bad(self, made: Prepared, kinds: Mapping[str, Kind]) -> None:
        """The troubles that :meth:`make` would note in columns that are known, without cells."""
        for name in self._schema.features:
            kind = kinds.get(name)
            if kind is None:
                continue
            if kind is not Kind.NUMBER or number_array(made.columns[name], made.decimal) is None:
                self.make(made, [name], kinds)
