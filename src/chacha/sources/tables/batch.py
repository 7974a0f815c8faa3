"""Batches: some rows of a table as Arrow columns, as a file gives them and before any check.

:class:`~chacha.sources.tables.checked_batch.CheckedBatch` is the next stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from chacha.errors import BadExample
from chacha.sources.values.dict_reader import Grouping

__all__ = ["DAMAGE", "Batch", "ExpectedColumns"]

DAMAGE = "\ufffd\ue000\ufffd"
"""Replaces bytes in a text that are not UTF-8; no one writes it."""


@dataclass
class Batch:
    """Some rows of a table: columns of one length, and what the parser noted about rows."""

    columns: pa.RecordBatch | pa.Table
    ragged: list[tuple[int, str]] = field(default_factory=list)  # row, its cells; not in columns
    lines: Sequence[int] | None = None  # the rows' line numbers, where they are known
    bad: Mapping[int, tuple[str, BadExample]] = field(default_factory=dict)  # row -> column, error
    text: frozenset[str] | set[str] = frozenset()  # columns in which numbers are written as text
    damaged: bool = False  # whether some bytes were not UTF-8 and became DAMAGE

    def slice(self, start: int, stop: int) -> Batch:
        """Return the rows from `start` to `stop`; not for a batch with ragged rows."""
        assert not self.ragged
        return Batch(
            self.columns.slice(start, stop - start),
            lines=None if self.lines is None else self.lines[start:stop],
            bad={row - start: bad for row, bad in self.bad.items() if start <= row < stop},
            text=self.text,
            damaged=self.damaged,
        )


class ExpectedColumns:
    """What the files of one stream share: columns, target and groups; the first file decides.

    >>> expected = ExpectedColumns()
    >>> expected.check("a.csv", ["x", "y"])
    >>> expected.check("b.csv", ["y"])
    Traceback (most recent call last):
    chacha.errors.BadExample: there is no column 'x', which a.csv has
    """

    def __init__(self) -> None:
        self.first = ""  # the name of the first file
        self.columns: list[str] = []
        self.target: str | None = None
        self.groups: Grouping | None = None

    def check(self, name: str, columns: Sequence[str]) -> None:
        """Refuse a file that lacks a column of the first."""
        if not self.first:
            self.first, self.columns = name, list(columns)
        present = set(columns)
        for column in self.columns:
            if column not in present:
                message = f"there is no column {column!r}, which {self.first} has"
                raise BadExample(message, "column missing")
