"""Columns of a table, converted for the native engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chacha._native import ColumnBlock as NativeBlock
from chacha._native import count_words
from chacha.data.example import Feature
from chacha.features.derivation import column_name
from chacha.sources.tables.blocks import (
    BlockColumn,
    CellColumn,
    NumberColumn,
    TableBlock,
    WordsColumn,
)

__all__ = ["native_block", "native_words"]


def native_block(block: TableBlock) -> NativeBlock:
    """Convert a block of columns for the engine.

    >>> labels = np.zeros(2)
    >>> columns = {"x": [NumberColumn("x", np.ones(2))]}
    >>> native_block(TableBlock(columns, labels, place=str)).rows
    2
    """
    native = NativeBlock(list(block.groups), block.labels, block.weights)
    for part, columns in enumerate(block.groups.values()):
        for column in columns:
            missing = _arrays(column.missing)
            if isinstance(column, NumberColumn):
                native.add_numbers(part, column.name, column.values, *missing)
            elif isinstance(column, CellColumn):
                cells = _cells(column.cells)
                numbers = _numbers(column) if column.numeric else None
                native.add_cells(part, column.cell_of, *cells, *missing, numbers, column.name)
            else:
                native.add_cells(part, *native_words(column), *missing)
    parts = list(block.groups.values())
    native.name_cells(lambda part, row: _names(parts[part], row))
    return native


def _names(columns: Sequence[BlockColumn], row: int) -> list[tuple[int, str]]:
    """Return the hashes of a row's features, and the names of their columns."""
    names: list[tuple[int, str]] = []
    for column in columns:
        features = column.missing if isinstance(column, NumberColumn) else column.features(row)
        names += [(feature.hashed, column_name(feature)) for feature in features]
    return names


def _numbers(column: CellColumn) -> Any:
    """Return the numbers of all cells, before they are rounded."""
    return np.array([feature.value for cell in column.cells for feature in cell], np.float64)


def _arrays(features: Sequence[Feature]) -> tuple[Any, Any]:
    hashes = np.array([feature.hashed for feature in features], np.uint32)
    return hashes, np.array([feature.value for feature in features], np.float32)


def _cells(cells: Sequence[Sequence[Feature]]) -> tuple[Any, Any, Any]:
    """Return the start of each cell, and the hashes and values of all features."""
    starts = np.cumsum([0, *(len(cell) for cell in cells)], dtype=np.uint32)
    return starts, *_arrays([feature for cell in cells for feature in cell])


def native_words(column: WordsColumn) -> tuple[Any, Any, Any, Any]:
    """Return the cells of a text column: their rows (-1 where a text is missing) and features."""
    texts, rows = column.texts, len(column.texts)
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets or bytes(4), np.int32)[texts.offset : texts.offset + rows + 1]
    letters = np.frombuffer(data or b"", np.uint8)
    starts, hashes, values, others = count_words(letters, ends, f"{column.name}=", column.seed)
    if len(others):  # texts that are not ASCII are split into words in Python
        cells = [column.features(row) for row in others.tolist()]
        more_starts, more_hashes, more_values = _cells(cells)
        sizes = np.diff(more_starts)
        at = np.repeat(starts[others].astype(np.int64), sizes)
        hashes, values = np.insert(hashes, at, more_hashes), np.insert(values, at, more_values)
        longer = np.zeros_like(starts)
        longer[others + 1] = sizes
        starts += np.cumsum(longer, dtype=np.uint32)
    present = texts.is_valid().to_numpy(zero_copy_only=False)
    return np.where(present, np.arange(rows), -1).astype(np.int32), starts, hashes, values
