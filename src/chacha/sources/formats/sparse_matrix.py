"""SciPy sparse matrices in memory; no file format, but built like LIBSVM files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np

from chacha.data.example import Example, finite
from chacha.data.vw_text import FLOAT32_MAX, hash_name
from chacha.errors import BadExample
from chacha.sources.base import Bad
from chacha.sources.formats.index_groups import Entry, IndexGroups, entry
from chacha.sources.spec import TableSpec
from chacha.sources.tables.numbers import show_all_exactly, show_labels
from chacha.sources.values.cells import (
    LARGEST_INTEGER,
    class_name,
    integer_too_large,
    label_error,
    number,
)
from chacha.sources.values.dict_reader import DictReader

__all__ = ["SparseMatrix"]

ROWS_AT_ONCE = 1024  # rows that become examples together


class SparseMatrix:
    """A SciPy sparse matrix, with the labels of its rows.

    The columns are named x0, x1, ... as those of a NumPy array.

    >>> from scipy.sparse import csr_array
    >>> [e.line for e in SparseMatrix(csr_array([[0.0, 2.5]]), [1.0])]
    ['1.0 |x0 |x1 x1:2.5']
    """

    endless = False
    description = "SciPy sparse matrix"

    def __init__(
        self,
        matrix: Any,
        labels: Sequence[float] | Any,
        spec: TableSpec | None = None,
        reader: DictReader | None = None,
        name: str = "matrix",
    ) -> None:
        self.name = name
        self.spec = spec or TableSpec()
        self._matrix, self._labels = matrix.tocsr(copy=True), labels
        self._check = (reader or DictReader()).check
        self._matrix.sum_duplicates()

    def __iter__(self) -> Iterator[Example | Bad]:
        groups = IndexGroups(self.spec, 0, self._matrix.shape[1], prefix="x")
        for start in range(0, self._matrix.shape[0], ROWS_AT_ONCE):
            part = self._matrix[start : start + ROWS_AT_ONCE]
            entries = _entries(part, groups)
            places = [f"{self.name}: row {start + i + 1}" for i in range(part.shape[0])]
            labels = [self._label(start + i) for i in range(part.shape[0])]
            numbers = [0.0 if isinstance(label, BadExample) else label for label in labels]
            texts, reads = show_labels(np.array(numbers, np.float64))
            for i, (first, last) in enumerate(pairwise(part.indptr.tolist())):
                row = entries[first:last]
                error = next((e for e in (labels[i], *row) if isinstance(e, BadExample)), None)
                if error is None:
                    good = cast("list[Entry]", row)
                    yield groups.example(good, texts[i], reads[i], numbers[i], places[i])
                else:
                    yield Bad(places[i], error.reason, str(error))

    def _label(self, row: int) -> float | BadExample:
        value, positive = self._labels[row], self.spec.positive
        if value is None:
            return BadExample("the row has no label; learning needs one", "no label")
        try:
            if positive is not None:
                label = 1.0 if class_name(value) == class_name(positive) else -1.0
            else:
                label = finite(number(value), "label")
            self._check(label)
        except BadExample as error:
            return label_error(error)
        return label


def _entries(part: Any, groups: IndexGroups) -> list[Entry | BadExample]:
    """Return the entries of some rows of a matrix, one after the other."""
    columns, which = np.unique(part.indices, return_inverse=True)
    ids = groups.ids(columns)
    seeds: list[int] = groups.seeds()[ids].tolist()
    names = [f"x{index}" for index in columns.tolist()]
    hashes = [hash_name(name, seed) for name, seed in zip(names, seeds, strict=True)]
    numbers: list[int] = ids.tolist()
    values, value_of = np.unique(part.data.astype(np.float64), return_inverse=True)
    texts, reads = show_all_exactly(values)
    pairs, pair_of = np.unique(which * len(values) + value_of, return_inverse=True)
    distinct: list[Entry | BadExample] = []  # one for each distinct pair of column and value
    for pair in pairs.tolist():
        j, v = divmod(pair, len(values))
        if part.dtype.kind in "iu" and abs(values[v]) > LARGEST_INTEGER:
            error = integer_too_large(int(values[v]))
            distinct.append(BadExample(f"column {names[j]!r}: {error}", error.reason))
        elif -FLOAT32_MAX <= reads[v] <= FLOAT32_MAX:
            distinct.append(entry(j, numbers[j], names[j], texts[v], reads[v], hashes[j]))
        else:
            message = f"column {names[j]!r}: the cell is {reads[v]}; values must be finite"
            distinct.append(BadExample(message, "value not finite"))
    return [distinct[i] for i in pair_of.tolist()]
