"""Records that look alike, turned into examples column by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from chacha.errors import BadExample
from chacha.example import DEFAULT_GROUP, Example, finite
from chacha.sources.assembly import Assembler
from chacha.sources.cells import LARGEST_INTEGER
from chacha.sources.columns import Cell, make_cells
from chacha.sources.dicts import DictReader
from chacha.sources.spec import Kind
from chacha.vwtext import escape, hash_name, show_all_exactly

__all__ = ["Columns", "make_columns"]

PLAIN: dict[Kind, set[type]] = {
    Kind.NUMBER: {int, float},
    Kind.CATEGORY: {str},
    Kind.BOOLEAN: {bool},
}
"""What a column may hold to be taken as a whole."""


class Columns(NamedTuple):
    """Cells by column, and what puts them together."""

    assembler: Assembler
    cells: list[list[Cell]]
    texts: list[str]
    labels: list[float]

    def examples(self, places: Sequence[str]) -> Iterator[Example]:
        """The examples, row by row."""
        rows = zip(*self.cells, strict=True)
        for row, text, label, place in zip(rows, self.texts, self.labels, places, strict=True):
            yield self.assembler.example(row, text, label, place)


def make_columns(
    labels: Sequence[Any],
    columns: Mapping[str, Sequence[Any]],
    layout: Mapping[str, Sequence[tuple[str, str]]],
    reader: DictReader,
) -> Columns | None:
    """The columns as cells; None if a value is odd, so that its record is looked at by itself.

    >>> reader = DictReader()
    >>> reader.kinds["x"] = Kind.NUMBER
    >>> made = make_columns([1, 2], {"x": [0.5, 3]}, {"x": [("x", "x")]}, reader)
    >>> [example.line for example in made.examples(["t:1", "t:2"])]
    ['1.0 |x x:0.5', '2.0 |x x:3.0']
    """
    if not _are_good(labels, reader):
        return None
    cells: list[list[Cell]] = []
    for group, entries in layout.items():
        seed = 0 if group == DEFAULT_GROUP else hash_name(group, 0)
        for path, name in entries:
            kind = reader.kinds.get(path)
            values = columns[path]
            if kind is None or not name or not set(map(type, values)) <= PLAIN.get(kind, set()):
                return None
            array: Any = values
            if kind is Kind.NUMBER:
                array = np.array(values, np.float64)
                if not np.all(np.abs(array) < LARGEST_INTEGER):  # also false for NaN
                    return None
            made = make_cells(pa.array(array), kind, escape(name), seed, None, ".")
            good = [cell for cell in made.cells if isinstance(cell, Cell)]
            if len(good) < len(made.cells):
                return None
            cells.append([good[i] for i in made.rows])
    texts, shown = show_all_exactly(np.array(labels, np.float64))
    sizes = {group: len(entries) for group, entries in layout.items()}
    return Columns(Assembler(sizes), cells, texts, shown) if cells else None


def _are_good(labels: Sequence[Any], reader: DictReader) -> bool:
    if not set(map(type, labels)) <= {int, float}:
        return False
    try:
        for label in labels:
            reader.check(finite(label, "label"))
    except BadExample:
        return False
    return True
