"""The assembly of an example from the cells of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from chacha.data.example import Example, Feature, NumberCell
from chacha.sources.tables.columns import Cell
from chacha.sources.values.cells import NumberCells

__all__ = ["Assembler"]


class Assembler:
    """Builds examples from rows of cells; `sizes` has the number of cells of each group.

    With `with_numbers`, examples keep the numbers of their cells.

    >>> from chacha.sources.tables.columns import pairs_cell
    >>> row = [pairs_cell([("x", 0.5)], 0), pairs_cell([("y", 1.0)], 0)]
    >>> Assembler({"a": 1, "b": 1}).example(row, "2.0", 2.0, 2.0, "t.csv: row 1").line
    '2.0 |a x:0.5 |b y'
    """

    def __init__(self, sizes: Mapping[str, int], with_numbers: bool = False) -> None:
        self._with_numbers = with_numbers
        self._plan: list[tuple[str, str, int, int]] = []
        start = 0
        for group, size in sizes.items():
            self._plan.append((f"|{group.strip()}", group, start, start + size))
            start += size

    def example(
        self,
        row: Sequence[Cell],
        text: str,
        label: float,
        target: float,
        place: str,
        weight: float | None = None,
        tag: str = "",
    ) -> Example:
        """Return the example of a row; `text` is the label as VW text, which reads as `label`."""
        words: list[str] = []
        groups: dict[str, list[Feature]] = {}
        for bar, group, start, stop in self._plan:
            words.append(bar)
            features: list[Feature] = []
            for word, cell_features, _ in row[start:stop]:
                if word:
                    words.append(word)
                    features += cell_features
            groups[group] = features
        body = " ".join(words)
        numbers = self._numbers(row) if self._with_numbers else ()
        if weight is None and not tag:
            head = f"{text} "
            return Example(
                groups, body, label, head=head, place=place, target=target, numbers=numbers
            )
        example = Example(groups, body, tag=tag, place=place, numbers=numbers)
        return example.with_label(target, weight)

    def _numbers(self, row: Sequence[Cell]) -> list[NumberCell]:
        numbers = NumberCells()
        for _, group, start, stop in self._plan:
            for cell in row[start:stop]:
                numbers.add(group, len(cell.features) + _zeros(cell), cell.numbers)
        return numbers.cells


def _zeros(cell: Cell) -> int:
    """Return how many numbers of a cell are 0 in single precision, and so no features."""
    return sum(value == value and bool(np.float32(value) == 0.0) for _, value in cell.numbers)
