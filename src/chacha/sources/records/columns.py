"""Records that look alike, turned into examples column by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from chacha.data.example import Example, finite
from chacha.data.vw_text import DEFAULT_GROUP, escape, hash_name, show_all_exactly
from chacha.errors import BadExample
from chacha.sources.spec import Kind
from chacha.sources.tables.assembler import Assembler
from chacha.sources.tables.columns import Cell, make_cells, pairs_cell
from chacha.sources.tables.missing_cells import offered_rows
from chacha.sources.values.cells import LARGEST_INTEGER, Pairs, number
from chacha.sources.values.dict_reader import DictReader, Leaf

__all__ = ["Columns", "make_columns"]

NONE = type(None)
PLAIN: dict[Kind, set[type]] = {
    Kind.NUMBER: {int, float, NONE},
    Kind.CATEGORY: {str, NONE},
    Kind.BOOLEAN: {bool, NONE},
    Kind.DATETIME: {str, NONE},
    Kind.TEXT: {str, NONE},
}
"""What a column may hold to be taken as a whole."""


class Columns(NamedTuple):
    """Cells by column, and what puts them together."""

    assembler: Assembler
    cells: list[list[Cell]]
    texts: list[str]
    labels: list[float]
    offers: Mapping[int, Mapping[str, Pairs]]  # of the rows that have empty cells

    def examples(self, places: Sequence[str]) -> Iterator[Example]:
        """The examples, row by row."""
        rows = zip(*self.cells, strict=True)
        lines = zip(rows, self.texts, self.labels, places, strict=True)
        for i, (row, text, label, place) in enumerate(lines):
            example = self.assembler.example(row, text, label, place)
            yield example.with_groups(self.offers[i]) if i in self.offers else example


def make_columns(
    labels: Sequence[Any],
    shape: Sequence[Leaf],
    columns: Sequence[Sequence[Any]],
    reader: DictReader,
) -> Columns | None:
    """The columns as cells; None if a value is odd, so that its record is looked at by itself.

    >>> reader = DictReader()
    >>> reader.kinds["x"] = Kind.NUMBER
    >>> made = make_columns([1, 2], [Leaf("x", "x", "x", 0)], [[0.5, 3]], reader)
    >>> [example.line for example in made.examples(["t:1", "t:2"])]
    ['1.0 |x x:0.5', '2.0 |x x:3.0']
    """
    if not _are_good(labels, reader) or not columns or reader.keeps_rows:
        return None
    cells: list[list[Cell]] = []
    sizes: dict[str, int] = {}
    for leaf, values in zip(shape, columns, strict=True):
        made = _column(leaf, values, reader)
        if made is None:
            return None
        cells.append(made)
        sizes[leaf.group] = sizes.get(leaf.group, 0) + 1
    texts, shown = show_all_exactly(np.array(labels, np.float64))
    empty = (
        (leaf.group, escape(leaf.name), [i for i, value in enumerate(values) if value is None])
        for leaf, values in zip(shape, columns, strict=True)
    )
    offers = offered_rows(empty) if reader.offers_in(reader.spec) else {}
    return Columns(Assembler(sizes), cells, texts, shown, offers)


def _column(leaf: Leaf, values: Sequence[Any], reader: DictReader) -> list[Cell] | None:
    """The cells of a column; None if a value is odd."""
    group, path, name, _ = leaf
    kind, types = reader.kinds.get(path), set(map(type, values))
    if kind is None or not name or not types <= PLAIN.get(kind, set()):
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
    made = make_cells(array, kind, label, seed, reader.spec.format_of(path), ".")
    if made.bad:
        return None
    return cast("list[Cell]", made.by_row(empty))


def _are_small(array: pa.Array) -> bool:
    """Whether a float holds all of them exactly; false for NaN too."""
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
