"""Records with the same fields, turned into examples column by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from chacha.data.example import Example, finite
from chacha.data.vw_text import DEFAULT_GROUP, escape, hash_name
from chacha.errors import BadExample
from chacha.sources.spec import Kind
from chacha.sources.tables.assembler import Assembler
from chacha.sources.tables.columns import Cell, make_cells, missing_number, pairs_cell
from chacha.sources.tables.missing_cells import missing_by_row
from chacha.sources.tables.numbers import show_labels
from chacha.sources.values.cells import LARGEST_INTEGER, Pairs, number
from chacha.sources.values.dict_reader import DictReader, Leaf

__all__ = ["RecordColumns", "record_columns"]

NONE = type(None)
COLUMN_TYPES: dict[Kind, set[type]] = {
    Kind.NUMBER: {int, float, NONE},
    Kind.CATEGORY: {str, NONE},
    Kind.BOOLEAN: {bool, NONE},
    Kind.DATETIME: {str, NONE},
    Kind.TEXT: {str, NONE},
}
"""The Python types of the values of a column that is converted as a whole."""


class RecordColumns(NamedTuple):
    """Cells by column, and the assembler of their examples."""

    assembler: Assembler
    cells: list[list[Cell]]
    texts: list[str]
    labels: list[float]
    targets: list[float]
    missing: Mapping[int, Mapping[str, Pairs]]  # groups of the empty cells, by row

    def examples(self, places: Sequence[str]) -> Iterator[Example]:
        """Yield the examples, row by row."""
        rows = zip(*self.cells, strict=True)
        lines = zip(rows, self.texts, self.labels, self.targets, places, strict=True)
        for i, (row, text, label, target, place) in enumerate(lines):
            example = self.assembler.example(row, text, label, target, place)
            yield example.with_groups(self.missing[i]) if i in self.missing else example


def record_columns(
    labels: Sequence[Any],
    shape: Sequence[Leaf],
    columns: Sequence[Sequence[Any]],
    reader: DictReader,
) -> RecordColumns | None:
    """Return the columns as cells; None if a value needs its record to be read by itself.

    >>> reader = DictReader()
    >>> reader.kinds["x"] = Kind.NUMBER
    >>> converted = record_columns([1, 2], [Leaf("x", "x", "x", 0)], [[0.5, 3]], reader)
    >>> [example.line for example in converted.examples(["t:1", "t:2"])]
    ['1.0 |x x:0.5', '2.0 |x x:3.0']
    """
    if not _are_good(labels, reader) or not columns or reader.keep_rows:
        return None
    cells: list[list[Cell]] = []
    sizes: dict[str, int] = {}
    for leaf, values in zip(shape, columns, strict=True):
        column = _column(leaf, values, reader)
        if column is None:
            return None
        cells.append(column)
        sizes[leaf.group] = sizes.get(leaf.group, 0) + 1
    targets = np.array(labels, np.float64)
    texts, shown = show_labels(targets)
    empty = (
        (leaf.group, escape(leaf.name), [i for i, value in enumerate(values) if value is None])
        for leaf, values in zip(shape, columns, strict=True)
    )
    missing = missing_by_row(empty) if reader.offers_missing(reader.spec) else {}
    assembler = Assembler(sizes, reader.with_numbers)
    return RecordColumns(assembler, cells, texts, shown, targets.tolist(), missing)


def _column(leaf: Leaf, values: Sequence[Any], reader: DictReader) -> list[Cell] | None:
    """Return the cells of a column; None if a value needs its record to be read by itself."""
    group, path, name, _ = leaf
    kind, types = reader.kinds.get(path), set(map(type, values))
    if kind is None or not name or not types <= COLUMN_TYPES.get(kind, set()):
        return None
    if path in reader.texts and str in types:  # a word may mean an empty cell
        return None
    seed = 0 if group == DEFAULT_GROUP else hash_name(group, 0)
    label = escape(name)
    try:
        empty = pairs_cell(reader.missing(path, label) if None in values else [], seed)
        array = pa.array(values, pa.float64() if kind is Kind.NUMBER else None)
    except (BadExample, OverflowError, UnicodeEncodeError, pa.ArrowException):
        return None
    if kind is Kind.NUMBER and not _are_small(array):
        return None
    cells = make_cells(array, kind, label, seed, reader.spec.format_of(path), ".")
    if cells.bad:
        return None
    return cast("list[Cell]", cells.by_row(missing_number(empty, label, kind)))


def _are_small(array: pa.Array) -> bool:
    """Return whether floats hold all numbers exactly; false for NaN too."""
    return bool(np.all(np.abs(array.drop_null().to_numpy()) < LARGEST_INTEGER))


def _are_good(labels: Sequence[Any], reader: DictReader) -> bool:
    if not set(map(type, labels)) <= {int, float}:
        return False
    try:
        for label in labels:
            reader.check(finite(number(label), "label"))
    except BadExample:
        return False
    return True
