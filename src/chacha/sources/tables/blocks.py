"""Blocks: many rows at once, as lines of VW text or as columns of features.

A pool that can learns them without an example per row. A source gives its rows either as
examples or in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chacha.data.example import Example, Feature
from chacha.sources.base import Bad, Source
from chacha.sources.spec import Kind
from chacha.sources.tables.columns import pairs_cell
from chacha.sources.values.cells import pairs

__all__ = [
    "Block",
    "BlockColumn",
    "BlockSource",
    "CellColumn",
    "NumberColumn",
    "TableBlock",
    "TextBlock",
    "WordsColumn",
    "blocks_of",
]


@dataclass
class TextBlock:
    """Whole lines of VW text: the bytes from `begin` to `end` of `data`.

    The bytes are valid until the next block. The consumer counts the lines it takes in `lines`.
    """

    data: bytes | bytearray
    name: str
    lines_before: int
    begin: int
    end: int
    lines: int = 0

    @property
    def place(self) -> str:
        """The place of the next line."""
        return f"{self.name}:{self.lines_before + self.lines + 1}"

    def line(self, at: int) -> tuple[bytes, int]:
        """Return the line that begins at a byte, and where the next one begins."""
        end = self.data.find(b"\n", at, self.end)
        end = self.end if end < 0 else end
        return bytes(self.data[at:end]), end + 1


@dataclass(frozen=True)
class NumberColumn:
    """A number for every row, NaN where the cell is empty; learned as the nearest float32."""

    name: str
    values: NDArray[Any]  # float64, float32, int64 or int32
    missing: Sequence[Feature] = ()  # the features of an empty cell


@dataclass(frozen=True)
class CellColumn:
    """Distinct cells with their features, and which one each row has; -1 where it is empty."""

    cells: Sequence[Sequence[Feature]]
    cell_of: NDArray[np.int32]
    missing: Sequence[Feature] = ()
    numeric: bool = False  # the features are numbers, also those of value 0
    name: str = ""  # of the only number of a cell, if cells have one

    def features(self, row: int) -> Sequence[Feature]:
        """Return the features of a row.

        >>> column = CellColumn([()], np.array([0, -1]), [Feature("x=missing", 1.0, 7)])
        >>> column.features(1)
        [Feature(name='x=missing', value=1.0, hashed=7)]
        """
        cell = int(self.cell_of[row])
        return self.missing if cell < 0 else self.cells[cell]


@dataclass(frozen=True)
class WordsColumn:
    """A text for every row, null where the cell is empty; every word of it is a feature."""

    name: str
    texts: pa.Array  # of strings
    seed: int  # of the group's hashes
    missing: Sequence[Feature] = ()

    def features(self, row: int) -> Sequence[Feature]:
        """Return the features of a row: its words.

        >>> column = WordsColumn("t", pa.array(["Été, été"]), 0)
        >>> [(word.name, word.value) for word in column.features(0)]
        [('t=été', 2.0)]
        """
        text = self.texts[row].as_py()
        if text is None:
            return self.missing
        return pairs_cell(pairs(Kind.TEXT, self.name, text), self.seed).features


BlockColumn = NumberColumn | CellColumn | WordsColumn
"""A column of a :class:`TableBlock`."""


@dataclass
class TableBlock:
    """Rows of a table as columns by group.

    The consumer calls `on_taken` with the number of rows of the block taken so far, and whether
    there is a good one among them or about to come.
    """

    groups: Mapping[str, Sequence[BlockColumn]]
    labels: NDArray[np.float64]
    place: Callable[[int], str]  # the place of a row
    weights: NDArray[np.float32] | None = None
    tags: Sequence[str] | None = None
    bad: Mapping[int, Bad] = field(default_factory=dict)  # by row
    target: str = ""
    on_taken: Callable[[int, bool], None] = lambda rows, good: None

    def label_place(self, row: int) -> str:
        """Return the place of the label of a row."""
        return f"{self.place(row)}, column {self.target!r}"


Block = TextBlock | TableBlock


@runtime_checkable
class BlockSource(Source, Protocol):
    """A source that can also give its rows in blocks."""

    def blocks(self) -> Iterator[Block | Example | Bad]:
        """Yield the rows from the first on; rows that fit in no block come by themselves."""


def blocks_of(source: Source) -> Iterator[Block | Example | Bad]:
    """Yield the rows of a source, in blocks where it has them.

    >>> from chacha.sources.rows import Rows
    >>> [item.label for item in blocks_of(Rows(["1 |a x"]))]
    [1.0]
    """
    yield from source.blocks() if isinstance(source, BlockSource) else source
