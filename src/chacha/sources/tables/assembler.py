"""Assembly: the cells of a row put together to an example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chacha.data.example import Example, Feature
from chacha.sources.tables.columns import Cell

__all__ = ["Assembler"]


class Assembler:
    """Knows which cells of a row belong to which group.

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
        """The example of a row; `text` is the label as it is written."""
        words: list[str] = []
        groups: dict[str, list[Feature]] = {}
        for bar, group, start, stop in self._plan:
            words.append(bar)
            features: list[Feature] = []
            for written, made in row[start:stop]:
                if written:
                    words.append(written)
                    features += made
            groups[group] = features
        body = " ".join(words)
        if weight is None and not tag:
            return Example(groups, body, label, head=f"{text} ", place=place)
        return Example(groups, body, tag=tag, place=place).with_label(label, weight)
