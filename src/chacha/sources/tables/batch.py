"""Batches: some rows of a table, and what the files of one stream have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from chacha.errors import BadExample
from chacha.sources.values.dict_reader import Grouping

__all__ = ["DAMAGE", "Batch", "Expected"]

DAMAGE = "\ufffd\ue000\ufffd"
"""Stands in a text for bytes that are no text; nobody writes it."""


@dataclass
class Batch:
    """Some rows of a table: columns of one length, and what is known of single rows."""

    columns: pa.RecordBatch | pa.Table
    ragged: list[tuple[int, str]] = field(default_factory=list)  # row, what it has; not in columns
    lines: Sequence[int] | None = None  # where the rows stand, if that is known
    bad: Mapping[int, tuple[str, BadExample]] = field(default_factory=dict)  # column, trouble
    text: frozenset[str] | set[str] = frozenset()  # columns in which numbers are written as text
    damaged: bool = False  # what was not UTF-8 stands as DAMAGE

    def split(self, rows: int) -> tuple[Batch, Batch]:
        """The first rows, and the others; not for a batch with ragged rows."""
        assert not self.ragged
        lines = self.lines
        first = Batch(
            self.columns.slice(0, rows),
            lines=None if lines is None else lines[:rows],
            bad={row: told for row, told in self.bad.items() if row < rows},
            text=self.text,
            damaged=self.damaged,
        )
        rest = Batch(
            self.columns.slice(rows),
            lines=None if lines is None else lines[rows:],
            bad={row - rows: told for row, told in self.bad.items() if row >= rows},
            text=self.text,
            damaged=self.damaged,
        )
        return first, rest


class Expected:
    """The columns that several files of one stream must have in common.

    >>> expected = Expected()
    >>> expected.check("a.csv", ["x", "y"])
    >>> expected.check("b.csv", ["y"])
    Traceback (most recent call last):
    chacha.errors.BadExample: there is no column 'x', which a.csv has
    """

    def __init__(self) -> None:
        self.first = ""
        self.columns: list[str] = []
        self.target: str | None = None
        self.groups: Grouping | None = None

    def check(self, name: str, columns: Sequence[str]) -> None:
        """Refuse a file that lacks a column of the first."""
        if not self.first:
            self.first, self.columns = name, list(columns)
        here = set(columns)
        for column in self.columns:
            if column not in here:
                message = f"there is no column {column!r}, which {self.first} has"
                raise BadExample(message, "column missing")
