"""What rows have besides their features: their empty cells as features, and their raw values.

An empty cell may be a feature of the column's name in a group `missing(GROUP)`.
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
from chacha.sources.spec import Kind, missing_group
from chacha.sources.tables.blocks import BlockColumn, CellColumn, NumberColumn
from chacha.sources.tables.checked_batch import CheckedBatch
from chacha.sources.tables.columns import pairs_cell
from chacha.sources.tables.numbers import python_values
from chacha.sources.tables.schema import Schema
from chacha.sources.values.cells import Pairs, python_value
from chacha.sources.values.dict_reader import DictReader

__all__ = ["RowExtras", "missing_by_row", "missing_columns"]


def missing_by_row(empty: Iterable[tuple[str, str, Iterable[int]]]) -> dict[int, dict[str, Pairs]]:
    """Return by row the groups of its empty cells.

    `empty` has for each column its group, its name, and the rows in which it is empty.

    >>> missing_by_row([("a", "x", [0, 2]), ("a", "y", [2])])
    {0: {'missing(a)': [('x', 1.0)]}, 2: {'missing(a)': [('x', 1.0), ('y', 1.0)]}}
    """
    by_row: dict[int, dict[str, Pairs]] = {}
    for group, name, rows in empty:
        for row in rows:
            by_row.setdefault(row, {}).setdefault(missing_group(group), []).append((name, 1.0))
    return by_row


class RowExtras:
    """What the rows of a batch have besides their features, as far as `reader` asks for it.

    These are the groups of their empty cells, and the values they were made of.
    """

    def __init__(
        self, batch: CheckedBatch, schema: Schema, kinds: Mapping[str, Kind], reader: DictReader
    ) -> None:
        self._missing: dict[int, dict[str, Pairs]] = {}
        self._values: dict[str, list[Any]] | None = None
        if reader.offers_missing(schema.spec):
            self._missing = missing_by_row(_empty_cells(batch.columns, schema))
        if reader.keep_rows:
            self._values = {name: _values(batch, schema, name, kinds) for name in schema.slots}

    def add(self, example: Example, row: int) -> Example:
        """Return the example of a row with what it has besides its features."""
        if self._values is not None:
            values = {name: column[row] for name, column in self._values.items()}
            example = replace(example, row=values)
        return example.with_groups(self._missing[row]) if row in self._missing else example


def _empty_cells(
    columns: Mapping[str, pa.Array], schema: Schema
) -> Iterable[tuple[str, str, list[int]]]:
    """Yield the columns of a batch that have empty cells: group, name, rows."""
    for name, (group, feature) in schema.slots.items():
        if columns[name].null_count:
            yield group, feature, pc.indices_nonzero(pc.is_null(columns[name])).to_pylist()


def _values(batch: CheckedBatch, schema: Schema, name: str, kinds: Mapping[str, Kind]) -> list[Any]:
    """Return the values of a column; None where a cell is empty, or bad with its row."""
    form, kind = schema.spec.format_of(name), kinds.get(name, Kind.CATEGORY)

    def one(value: Any) -> Any:
        try:
            return None if value is None else python_value(kind, value, form, batch.decimal)
        except BadExample:
            return None

    return [one(value) for value in python_values(batch.columns[name])]


def missing_columns(
    batch: CheckedBatch, schema: Schema, columns: Mapping[str, BlockColumn]
) -> dict[str, list[CellColumn]]:
    """Return the groups of the empty cells of a block, for the columns that have any."""
    groups: dict[str, list[CellColumn]] = {}
    for group, names in schema.layout.items():
        label = missing_group(group)
        for name in names:
            if batch.columns[name].null_count == 0 and name not in batch.encoded:
                continue
            empty = _is_empty(columns[name])
            if empty.any():
                cell = pairs_cell([(schema.slots[name][1], 1.0)], hash_name(label, 0)).features
                rows = np.where(empty, 0, -1).astype(np.int32)
                groups.setdefault(label, []).append(CellColumn([cell], rows))
    return groups


def _is_empty(column: BlockColumn) -> NDArray[np.bool_]:
    empty: NDArray[np.bool_]
    if isinstance(column, NumberColumn):
        empty = np.isnan(column.values)
    elif isinstance(column, CellColumn):
        empty = column.cell_of < 0
    else:
        empty = column.texts.is_null().to_numpy(zero_copy_only=False)
    return empty
