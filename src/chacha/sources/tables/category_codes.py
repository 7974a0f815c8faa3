"""Codes for the words of a block: assigned by its good rows, committed as rows are taken."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chacha.data.example import Feature
from chacha.errors import BadExample
from chacha.sources.tables.blocks import CellColumn
from chacha.sources.tables.columns import pairs_cell
from chacha.sources.values.cells import category_name
from chacha.sources.values.dict_reader import MOST_CATEGORIES, DictReader

__all__ = ["BlockCodes"]


class BlockCodes:
    """The codes of some columns of a block, as if its rows had come one by one.

    A new word gets the next code in the first good row that has it. The reader gets the code
    when that row is taken; rows that are bad, or are not taken, do not change the reader.

    >>> reader = DictReader()
    >>> codes = BlockCodes(reader, {"c"})
    >>> column = codes.column("c", pa.array(["red", "blue", None, "red"]), "c", 0, (), bad=[0])
    >>> [feature.value for cell in column.cells for feature in cell], column.cell_of.tolist()
    ([1.0], [0, 1, -1, 0])
    >>> codes.commit(2)
    >>> reader.codes
    {'c': {'blue': 0}}
    """

    def __init__(self, reader: DictReader, columns: Collection[str]) -> None:
        self.columns = set(columns)
        self._reader = reader
        self._new: dict[str, deque[tuple[int, str]]] = {}  # by column: first row, word

    def column(
        self,
        name: str,
        values: pa.Array,
        feature: str,
        seed: int,
        missing: Sequence[Feature],
        bad: Collection[int],
    ) -> CellColumn:
        """Return the column with codes for its words; `bad` rows are ignored."""
        encoded = values.dictionary_encode()
        words = [category_name(value) for value in encoded.dictionary.to_pylist()]
        cell_of: NDArray[np.int32] = pc.fill_null(encoded.indices, -1).to_numpy(
            zero_copy_only=False
        )
        good = np.ones(len(cell_of), bool)
        good[list(bad)] = False
        usable = np.flatnonzero(good & (cell_of >= 0))
        at, first = np.unique(cell_of[usable], return_index=True)
        codes = self._reader.codes.get(name, {})
        new: dict[str, int] = {}
        cells: list[Sequence[Feature]] = [()] * len(words)
        rows = self._new[name] = deque()
        for k in np.argsort(first):
            cell = int(at[k])
            code = codes.get(words[cell], new.get(words[cell]))
            if code is None:
                code = new[words[cell]] = len(codes) + len(new)
                rows.append((int(usable[first[k]]), words[cell]))
            cells[cell] = pairs_cell([(feature, float(code))], seed).features
        if len(codes) + len(new) > MOST_CATEGORIES:
            raise BadExample(f"column {name!r} has too many categories", "too many categories")
        return CellColumn(cells, cell_of, missing)

    def commit(self, rows: int) -> None:
        """Give the reader the codes of the first `rows` rows, which have been taken."""
        for name, new in self._new.items():
            while new and new[0][0] < rows:
                self._reader.code(name, new.popleft()[1])
