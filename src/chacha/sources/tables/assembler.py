"""The assembly of an example from the cells of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chacha.data.example import Example, Feature
from chacha.sources.tables.columns import Cell

__all__ = ["Assembler"]


class Assembler:
    """Builds examples from rows of cells; `sizes` has the number of cells of each group.

    >>> from chacha.sources.tables.columns import pairs_cell
    >>> row = [pairs_cell([("x", 0.5)], 0), pairs_cell([("y", 1.0)], 0)]
    >>> Assembler({"a": 1, "b": 1}).example(row, "2.0", 2.0, "t.csv: row 1").line
    '2.0 |a x:0.5 |b y'
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
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
        place: str,
        weight: float | None = None,
        tag: str = "",
    ) -> Example:
        """Return the example of a row; `text` is the label as VW text."""
        words: list[str] = []
        groups: dict[str, list[Feature]] = {}
        for bar, group, start, stop in self._plan:
            words.append(bar)
            features: list[Feature] = []
            for word, cell_features in row[start:stop]:
                if word:
                    words.append(word)
                    features += cell_features
            groups[group] = features
        body = " ".join(words)
        if weight is None and not tag:
            return Example(groups, body, label, head=f"{text} ", place=place)
        return Example(groups, body, tag=tag, place=place).with_label(label, weight)
