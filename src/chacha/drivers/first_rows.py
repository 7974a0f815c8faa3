"""The first rows of a stream, which are learned again when they have shown its scale.

They show the scale of the labels and the centres of the columns. Both are estimated after 1, 2, 4,
... rows, and each time all models begin again and learn the rows so far. So no model keeps what it
learned on a wrong scale, and no label that has not been learned has an influence. If all labels are
equal, those from the first that differs on show the scale.

Twin: native/src/engine/first_rows.hpp
"""

from __future__ import annotations

from chacha.data.example import Example

__all__ = ["FirstRows"]

MOST_FEATURES = 1 << 18  # that are kept


class FirstRows:
    """The first `rows` rows, or fewer if they have many features; none if `rows` is 0.

    >>> from chacha.data.text_parser import parse_line
    >>> first = FirstRows(rows=3)
    >>> due = []
    >>> while first.is_open:
    ...     first.add(parse_line("1 |a x"))
    ...     due.append(first.is_due)
    ...     if first.is_full:
    ...         first.close()
    >>> due
    [True, True, True]
    """

    def __init__(self, rows: int) -> None:
        self.rows: list[Example] = []
        self._limit, self._features = rows, 0
        self.is_waiting = False
        """Whether all labels were equal, and rows are kept from the first that differs on."""

    @property
    def is_open(self) -> bool:
        """Whether rows are kept."""
        return self._limit > 0

    def add(self, example: Example, features: int = 1) -> None:
        """Keep a row that was learned, and that has so many features."""
        self.is_waiting = False
        self.rows.append(example)
        self._features += features

    @property
    def is_due(self) -> bool:
        """Whether there are enough rows to estimate from anew: 1, 2, 4, ... or all of them."""
        count = len(self.rows)
        return count & (count - 1) == 0 or self.is_full

    @property
    def is_full(self) -> bool:
        """Whether no more rows are kept."""
        return len(self.rows) >= self._limit or self._features >= MOST_FEATURES

    def wait(self) -> None:
        """Forget the rows, and wait for a label that shows the scale."""
        self.rows, self._features, self.is_waiting = [], 0, True

    def close(self) -> None:
        """Forget the rows, and keep no more."""
        self.rows, self._limit, self._features = [], 0, 0
