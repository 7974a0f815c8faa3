"""Rows in memory: pairs of a dict and a label, lines of VW text, examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from chacha.errors import BadExample
from chacha.example import Example
from chacha.sources.base import Bad
from chacha.sources.dicts import DictReader
from chacha.sources.vw import vw_row

__all__ = ["Row", "Rows"]

Row = tuple[Mapping[Any, Any], Any] | str | Example


class Rows:
    """Any iterable of rows: (dict, label), a line of VW text, or an example.

    >>> rows = Rows([({"age": 3, "hour": 5}, 1.0), ({"age": None}, 2.0), "3 |age age:7"])
    >>> [example.line for example in rows]
    ['1.0 |age age:3.0 |hour hour:5.0', '2.0 |age', '3 |age age:7']
    """

    def __init__(
        self, rows: Iterable[Row], name: str = "rows", reader: DictReader | None = None
    ) -> None:
        self.name = name
        self.endless = iter(rows) is rows  # an iterator may be; a list is not
        self._rows = rows
        self._reader = DictReader() if reader is None else reader

    def __iter__(self) -> Iterator[Example | Bad]:
        for number, row in enumerate(self._rows, start=1):
            place = f"{self.name}: row {number}"
            if isinstance(row, Example):
                no_label = Bad(place, "no label", "the example has no label; learning needs one")
                yield no_label if row.label is None else row
            elif isinstance(row, str):
                yield vw_row(row.encode(errors="surrogatepass"), place)
            else:
                yield self._pair(row, place)

    def _pair(self, row: Any, place: str) -> Example | Bad:
        try:
            x, y = row
        except (TypeError, ValueError):
            x, y = None, None
        if not isinstance(x, Mapping):
            message = f"a row is a pair (dict, label) or a line of VW text, got {row!r:.60}"
            return Bad(place, "not a row", message)
        if y is None:
            return Bad(place, "no label", "the row has no label; learning needs one")
        try:
            example = self._reader.example(x, place).with_label(y)
            self._reader.check(example.label or 0.0)
        except BadExample as error:
            return Bad(place, error.reason, str(error))
        self._reader.settle(x)
        return example
