"""Rows of a table as columns of numbers and cells, without examples and without text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chacha.errors import BadExample
from chacha.sources.base import Bad
from chacha.sources.spec import Kind
from chacha.sources.tables.blocks import CellColumn, ColumnBlock, NumberColumn, WordsColumn
from chacha.sources.tables.category_codes import BlockCodes
from chacha.sources.tables.checked_batch import Prepared
from chacha.sources.tables.columns import EMPTY, Cell, Made, make_cells, plain
from chacha.sources.tables.missing_cells import Column, offered_columns
from chacha.sources.tables.numbers import number_array, quick_numbers
from chacha.sources.tables.schema import Schema

__all__ = ["column_block"]


def column_block(
    made: Prepared,
    schema: Schema,
    kinds: Mapping[str, Kind],
    missing: Mapping[str, Cell],
    rows_before: int,
    codes: BlockCodes | None = None,
    offers: bool = False,
) -> ColumnBlock:
    """The rows of a batch as a block; troubles become its bad rows.

    The words of some columns become `codes`, when all troubles are known. With `offers` the
    empty cells are features of groups behind the others.

    >>> from chacha.sources.tables.batch import Batch
    >>> from chacha.sources.values.dict_reader import DictReader
    >>> from chacha.sources.tables.checked_batch import prepare
    >>> from chacha.sources.spec import TableSpec
    >>> schema = Schema(TableSpec(), "t", ["x", "y"], DictReader())
    >>> made = prepare(Batch(pa.table({"x": [0.5, 2.0], "y": [1, 2]})), schema, ".", None)
    >>> block = column_block(made, schema, {"x": Kind.NUMBER}, {}, 0)
    >>> block.groups["x"][0].values.tolist(), block.labels.tolist()
    ([0.5, 2.0], [1.0, 2.0])
    """
    coded = codes.columns if codes is not None else set()
    columns: dict[str, Column] = {
        name: _column(made, schema, name, kinds[name], missing)
        for name in schema.slots
        if name not in coded
    }
    for name in sorted(coded):
        assert codes is not None
        group, feature = schema.slots[name]
        words, seed, empty = made.columns[name], schema.seeds[group], missing[name].features
        columns[name] = codes.column(name, words, feature, seed, empty, made.troubles)
    groups: dict[str, Sequence[Column]] = {
        group: [columns[name] for name in names] for group, names in schema.layout.items()
    }
    if offers:
        for group, more in offered_columns(made, schema, columns).items():
            groups[group] = [*groups.get(group, ()), *more]
    lines, name = made.batch.lines, schema.name

    def place(row: int) -> str:
        return f"{name}: row {rows_before + row + 1}" if lines is None else f"{name}:{lines[row]}"

    bad: dict[int, Bad] = {}
    for row, (column, reason, message, harmless) in made.troubles.items():
        where = f"{place(row)}, column {column!r}" if column else place(row)
        bad[row] = Bad(where, reason, message, harmless)
    return ColumnBlock(
        groups,
        np.asarray(made.labels, np.float32),
        place,
        None if made.weights is None else np.asarray(made.weights, np.float32),
        made.tags,
        bad,
        schema.target,
    )


def _cells(made: Prepared, name: str, make: Callable[[pa.Array], Made]) -> Made:
    """The cells of a column; of one with a dictionary, each word of that is looked at once."""
    encoded = made.encoded.get(name)
    if encoded is None:
        return make(made.columns[name])
    words = make(plain(encoded.dictionary))
    at: NDArray[np.int32] = pc.fill_null(encoded.indices.cast(pa.int32()), -1).to_numpy()
    return Made(words.cells, np.where(at >= 0, np.append(words.rows, np.int32(-1))[at], -1))


def _column(
    made: Prepared, schema: Schema, name: str, kind: Kind, missing: Mapping[str, Cell]
) -> Column:
    column = made.columns[name]
    group, feature = schema.slots[name]
    empty = missing[name].features if name in missing else ()
    if kind is Kind.NUMBER:
        numbers = quick_numbers(column)
        if numbers is None:
            numbers = number_array(column, made.decimal)
        if numbers is not None:
            return NumberColumn(feature, numbers, empty)
    if kind is Kind.TEXT and pa.types.is_string(column.type):
        return WordsColumn(feature, column, schema.seeds[group], empty)
    form, seed = schema.spec.format_of(name), schema.seeds[group]
    cells = _cells(made, name, lambda c: make_cells(c, kind, feature, seed, form, made.decimal))
    if cells.bad:
        for row, cell in enumerate(cells.by_row(EMPTY)):
            if isinstance(cell, BadExample):
                made.note(row, name, cell)
    found = [() if isinstance(c, BadExample) else c.features for c in cells.cells]
    return CellColumn(found, cells.rows, empty)
