"""Labels on a logarithmic scale, as the paper uses for large targets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import Enum

import numpy as np

from chacha.data.example import Example
from chacha.sources.base import Bad, Source, is_table
from chacha.sources.formats.vw_file import vw_rows
from chacha.sources.tables.blocks import Block, TableBlock, TextBlock, blocks_of

__all__ = ["LogLabels", "LogTarget"]


class LogTarget(Enum):
    """When to learn the natural logarithm of the target instead of the target.

    >>> LogTarget("auto")
    <LogTarget.AUTO: 'auto'>
    """

    AUTO = "auto"
    """If the largest label, or the range of the labels, is at least 100 (the authors' rule)."""
    ON = "on"
    OFF = "off"


class LogLabels:
    """A source whose labels are log(label + shift), computed from labels rounded to float32.

    >>> from chacha.sources.rows import Rows
    >>> [example.line for example in LogLabels(Rows(["0 |a x", "7 |a x"]), shift=1.0)]
    ['0.0 |a x', '2.079441547393799e+0 |a x']
    """

    def __init__(self, source: Source, shift: float = 0.0) -> None:
        self.source, self.shift = source, shift
        self.name, self.endless = source.name, source.endless

    @property
    def tabular(self) -> bool:
        """Whether the source is a table."""
        return is_table(self.source)

    def __iter__(self) -> Iterator[Example | Bad]:
        for row in self.source:
            yield self._row(row)

    def blocks(self) -> Iterator[Block | Example | Bad]:
        """Yield the rows in blocks; lines of text come by themselves."""
        for item in blocks_of(self.source):
            if isinstance(item, TextBlock):
                yield from map(self._row, vw_rows(item))
            elif isinstance(item, TableBlock):
                yield self._columns(item)
            else:
                yield self._row(item)

    def _log(self, label: float) -> float:
        return math.log(label + self.shift) if label + self.shift > 0 else math.nan

    def _refusal(self, place: str, label: float) -> Bad:
        message = f"the logarithm of {label} + {self.shift} does not exist (--log-target)"
        return Bad(place, "no logarithm", message)

    def _row(self, row: Example | Bad) -> Example | Bad:
        if isinstance(row, Bad) or row.label is None:
            return row
        label = float(np.float32(row.label))
        log = self._log(label)
        if math.isnan(log):
            return self._refusal(row.place or self.name, label)
        return row.with_label(float(np.float32(log)))

    def _columns(self, block: TableBlock) -> TableBlock:
        shifted = block.labels.astype(np.float32).astype(np.float64) + self.shift
        positive, logs = shifted > 0.0, np.full(len(shifted), np.nan)
        logs[positive] = [*map(math.log, shifted[positive].tolist())]  # NumPy's may differ by a bit
        refused = {
            row: self._refusal(block.label_place(row), float(block.labels[row]))
            for row in np.flatnonzero(np.isnan(logs)).tolist()
            if row not in block.bad
        }
        block.labels = np.asarray(logs, np.float32).astype(np.float64)
        block.bad = {**block.bad, **refused}
        return block
