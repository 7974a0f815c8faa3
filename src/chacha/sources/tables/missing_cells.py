"""What rows have beside their features: offers, and the values that they were made of.

An offer is a feature of the column's name for an empty cell, in a group of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chacha.data.example import Example
from chacha.data.vw_text import hash_name
from chacha.errors import BadExample
from chacha.sources.grouping import missing_group
from chacha.sources.spec import Kind
from chacha.sources.tables.blocks import CellColumn, NumberColumn, WordsColumn
from chacha.sources.tables.checked_batch import Prepared
from chacha.sources.tables.columns import pairs_cell
from chacha.sources.tables.numbers import python_values
from chacha.sources.tables.schema import Schema
from chacha.sources.values.cells import Pairs, plain_value
from chacha.sources.values.dict_reader import DictReader

__all__ = ["Beside", "offered_columns", "offered_rows"]

Column = NumberColumn | CellColumn | WordsColumn


def offered_rows(empty: Iterable[tuple[str, str, Iterable[int]]]) -> dict[int, dict[str, Pairs]]:
    """By row the groups of its empty cells. `empty` has a column's group, its name, and rows.

    >>> offered_rows([("a", "x", [0, 2]), ("a", "y", [2])])
    {0: {'missing(a)': [('x', 1.0)]}, 2: {'missing(a)': [('x', 1.0), ('y', 1.0)]}}
    """
    found: dict[int, dict[str, Pairs]] = {}
    for group, name, rows in empty:
        for row in rows:
            found.setdefault(row, {}).setdefault(missing_group(group), []).append((name, 1.0))
    return found


class Beside:
    """What the rows of a batch have beside their features, as far as `reader` asks for it."""

    def __init__(
        self, made: Prepared, schema: Schema, kinds: Mapping[str, Kind], reader: DictReader
    ) -> None:
        self._offers: dict[int, dict[str, Pairs]] = {}
        self._values: dict[str, list[Any]] | None = None
        if reader.offers_in(schema.spec):
            self._offers = offered_rows(_empty_cells(made.columns, schema))
        if reader.keeps_rows:
            self._values = {name: _values(made, schema, name, kinds) for name in schema.slots}

    def add(self, example: Example, row: int) -> Example:
        """The example of a row with what it has beside its features."""
        if self._values is not None:
            values = {name: column[row] for name, column in self._values.items()}
            example = replace(example, row=values)
        return example.with_groups(self._offers[row]) if row in self._offers else example


def _empty_cells(
    columns: Mapping[str, pa.Array], schema: Schema
) -> Iterable[tuple[str, str, list[int]]]:
    """The columns of a batch that have empty cells: group, name, rows."""
    for name, (group, feature) in schema.slots.items():
        if columns[name].null_count:
            yield group, feature, pc.indices_nonzero(pc.is_null(columns[name])).to_pylist()


def _values(made: Prepared, schema: Schema, name: str, kinds: Mapping[str, Kind]) -> list[Any]:
    """The values of a column; None where a cell is empty, or bad with its row."""
    form, kind = schema.spec.format_of(name), kinds.get(name, Kind.CATEGORY)

    def one(value: Any) -> Any:
        try:
            return None if value is None else plain_value(kind, value, form, made.decimal)
        except BadExample:
            return None

    return [one(value) for value in python_values(made.columns[name])]


def offered_columns(
    made: Prepared, schema: Schema, columns: Mapping[str, Column]
) -> dict[str, list[CellColumn]]:
    """The groups of the empty cells of a block; nothing for columns that have none in it."""
    found: dict[str, list[CellColumn]] = {}
    for group, names in schema.layout.items():
        label = missing_group(group)
        for name in names:
            if made.columns[name].null_count == 0 and name not in made.encoded:
                continue
            empty = _is_empty(columns[name])
            if empty.any():
                cell = pairs_cell([(schema.slots[name][1], 1.0)], hash_name(label, 0)).features
                rows = np.where(empty, 0, -1).astype(np.int32)
                found.setdefault(label, []).append(CellColumn([cell], rows))
    return found


def _is_empty(column: Column) -> NDArray[np.bool_]:
    found: NDArray[np.bool_]
    if isinstance(column, NumberColumn):
        found = np.isnan(column.values)
    elif isinstance(column, CellColumn):
        found = column.cell_of < 0
    else:
        found = column.texts.is_null().to_numpy(zero_copy_only=False)
    return found
