"""A checked batch as a block of columns, without examples and without text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chacha.data.example import Feature
from chacha.data.vw_text import hash_name
from chacha.errors import BadExample
from chacha.sources.base import Bad
from chacha.sources.spec import Kind
from chacha.sources.tables.blocks import (
    BlockColumn,
    CellColumn,
    NumberColumn,
    TableBlock,
    WordsColumn,
)
from chacha.sources.tables.category_codes import BlockCodes
from chacha.sources.tables.checked_batch import CheckedBatch
from chacha.sources.tables.columns import EMPTY, Cell, DistinctCells, make_cells, simple_type
from chacha.sources.tables.missing_cells import missing_columns
from chacha.sources.tables.numbers import number_array, zero_copy_numbers
from chacha.sources.tables.schema import Schema
from chacha.sources.values.cells import NUMERIC

__all__ = ["table_block"]


def table_block(
    batch: CheckedBatch,
    schema: Schema,
    kinds: Mapping[str, Kind],
    missing: Mapping[str, Cell],
    rows_before: int,
    codes: BlockCodes | None = None,
    offer_missing: bool = False,
    with_numbers: bool = False,
) -> TableBlock:
    """Return the rows of a batch as a block; errors become its bad rows.

    The words of some columns become `codes`, when all errors are known. With `offer_missing`,
    the empty cells are features of groups behind the others. With `with_numbers`, cells with
    numbers, such as dates, have those that are 0 as well.

    >>> from chacha.sources.tables.batch import Batch
    >>> from chacha.sources.values.dict_reader import DictReader
    >>> from chacha.sources.tables.checked_batch import check_batch
    >>> from chacha.sources.spec import TableSpec
    >>> schema = Schema(TableSpec(), "t", ["x", "y"], DictReader())
    >>> batch = check_batch(Batch(pa.table({"x": [0.5, 2.0], "y": [1, 2]})), schema, ".")
    >>> block = table_block(batch, schema, {"x": Kind.NUMBER}, {}, 0)
    >>> block.groups["x"][0].values.tolist(), block.labels.tolist()
    ([0.5, 2.0], [1.0, 2.0])
    """
    coded = codes.columns if codes is not None else set()
    columns: dict[str, BlockColumn] = {
        name: _column(batch, schema, name, kinds[name], missing, with_numbers)
        for name in schema.slots
        if name not in coded
    }
    for name in sorted(coded):
        assert codes is not None
        group, feature = schema.slots[name]
        words, seed, empty = batch.columns[name], schema.seeds[group], missing[name].features
        columns[name] = codes.column(name, words, feature, seed, empty, batch.errors)
    groups: dict[str, Sequence[BlockColumn]] = {
        group: [columns[name] for name in names] for group, names in schema.layout.items()
    }
    if offer_missing:
        for group, more in missing_columns(batch, schema, columns).items():
            groups[group] = [*groups.get(group, ()), *more]
    lines, name = batch.raw.lines, schema.name

    def place(row: int) -> str:
        return f"{name}: row {rows_before + row + 1}" if lines is None else f"{name}:{lines[row]}"

    bad: dict[int, Bad] = {}
    for row, (column, reason, message, harmless) in batch.errors.items():
        where = f"{place(row)}, column {column!r}" if column else place(row)
        bad[row] = Bad(where, reason, message, harmless)
    return TableBlock(
        groups,
        np.asarray(batch.labels, np.float64),
        place,
        None if batch.weights is None else np.asarray(batch.weights, np.float32),
        batch.tags,
        bad,
        schema.target,
    )


def _cells(
    batch: CheckedBatch, name: str, make: Callable[[pa.Array], DistinctCells]
) -> DistinctCells:
    """Return the cells of a column; of a dictionary, each word is made once."""
    encoded = batch.encoded.get(name)
    if encoded is None:
        return make(batch.columns[name])
    words = make(simple_type(encoded.dictionary))
    at: NDArray[np.int32] = pc.fill_null(encoded.indices.cast(pa.int32()), -1).to_numpy()
    cell_of = np.where(at >= 0, np.append(words.cell_of, np.int32(-1))[at], -1)
    return DistinctCells(words.cells, cell_of)


def _column(
    batch: CheckedBatch,
    schema: Schema,
    name: str,
    kind: Kind,
    missing: Mapping[str, Cell],
    with_numbers: bool,
) -> BlockColumn:
    column = batch.columns[name]
    group, feature = schema.slots[name]
    empty = missing[name].features if name in missing else ()
    if kind is Kind.NUMBER:
        numbers = zero_copy_numbers(column)
        if numbers is None:
            numbers = number_array(column, batch.decimal)
        if numbers is not None:
            return NumberColumn(feature, numbers, empty)
    if kind is Kind.TEXT and pa.types.is_string(column.type):
        return WordsColumn(feature, column, schema.seeds[group], empty)
    form, seed = schema.spec.format_of(name), schema.seeds[group]
    cells = _cells(batch, name, lambda c: make_cells(c, kind, feature, seed, form, batch.decimal))
    if cells.bad:
        for row, cell in enumerate(cells.by_row(EMPTY)):
            if isinstance(cell, BadExample):
                batch.add_error(row, name, cell)
    numeric = with_numbers and kind in NUMERIC
    features = [_features(cell, seed, numeric) for cell in cells.cells]
    single = kind in (Kind.NUMBER, Kind.BOOLEAN)
    return CellColumn(features, cells.cell_of, empty, numeric, feature if single else "")


def _features(cell: Cell | BadExample, seed: int, numeric: bool) -> Sequence[Feature]:
    """Return the features of a cell; with `numeric`, those of value 0 too."""
    if isinstance(cell, BadExample):
        return ()
    if not numeric:
        return cell.features
    return [Feature(name, value, hash_name(name, seed)) for name, value in cell.numbers]
