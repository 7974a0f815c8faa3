"""Iterables of rows in Python: dicts with their labels, lines of VW text, examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import count, zip_longest
from typing import Any

from chacha.data.example import Example
from chacha.errors import BadExample, ConfigError, SourceError
from chacha.sources.base import Bad
from chacha.sources.formats.vw_file import vw_row
from chacha.sources.records.reader import RecordReader
from chacha.sources.spec import TableSpec
from chacha.sources.values.dict_reader import DictReader

__all__ = ["Row", "Rows", "with_labels"]

RECORDS_AT_ONCE = 1024  # records that are converted together

Row = tuple[Mapping[Any, Any], Any] | Mapping[Any, Any] | str | Example
"""What users give as one row."""


def with_labels(rows: Iterable[Any], labels: Any) -> Iterable[Any]:
    """Return pairs of rows and labels; their numbers must be equal.

    >>> with_labels([{"a": 1}], [1.0, 2.0])
    Traceback (most recent call last):
    chacha.errors.ConfigError: 1 rows, but 2 labels
    """
    if not isinstance(labels, Iterable):
        raise ConfigError(f"the labels must be as many as the rows, got {labels!r:.60}")
    if isinstance(rows, Sized) and isinstance(labels, Sized):
        if len(rows) != len(labels):
            raise ConfigError(f"{len(rows)} rows, but {len(labels)} labels")
        return list(zip(rows, labels, strict=True))
    return _pairs(rows, labels)


def _pairs(rows: Iterable[Any], labels: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    number = 0
    for number, pair in enumerate(zip_longest(rows, labels, fillvalue=_NOTHING), start=1):
        if _NOTHING in pair:
            lack = "row" if pair[0] is _NOTHING else "label"
            raise SourceError(f"rows: there is no {lack} {number}: rows and labels must be as many")
        yield pair


_NOTHING = object()


class Rows:
    """An iterable of rows: pairs (dict, label), records, lines of VW text, examples.

    For records, dicts that hold their label, `table` must name the target.

    >>> rows = Rows([({"age": 3, "hour": 5}, 1.0), ({"age": None}, 2.0), "3 |age age:7"])
    >>> [example.line for example in rows]
    ['1.0 |age age:3.0 |hour hour:5.0', '2.0 |age', '3 |age age:7']
    >>> [example.line for example in Rows([{"age": 3, "y": 1}], table=TableSpec(target="y"))]
    ['1.0 |age age:3.0']
    """

    def __init__(
        self,
        rows: Iterable[Row],
        name: str = "rows",
        reader: DictReader | None = None,
        table: TableSpec | None = None,
    ) -> None:
        self.name = name
        self.endless = iter(rows) is rows  # an iterator may be endless, a list is not
        self._rows = rows
        self._reader = DictReader() if reader is None else reader
        self.tabular = False  # until a dict occurs
        self._table = table or TableSpec()
        self._target = self._table.target

    def __iter__(self) -> Iterator[Example | Bad]:
        records: RecordReader | None = None
        in_memory = isinstance(self._rows, (list, tuple))
        if in_memory and self._target and all(isinstance(row, dict) for row in self._rows):
            yield from self._all_records(self._rows)
            return
        for number, row in enumerate(self._rows, start=1):
            self.tabular = self.tabular or not isinstance(row, (Example, str))
            place = f"{self.name}: row {number}"
            if isinstance(row, Example):
                no_label = Bad(place, "no label", "the example has no label; learning needs one")
                yield no_label if row.label is None else row
            elif isinstance(row, str):
                yield vw_row(row.encode(errors="surrogatepass"), place)
            elif isinstance(row, Mapping) and self._target:
                records = records or RecordReader(self._table, self.name, self._reader)
                yield records.row(row, place)
            else:
                yield self._pair(row, place)
        if records is not None:
            records.finish()

    def _all_records(self, rows: Any) -> Iterator[Example | Bad]:
        """Yield the rows of a list of records, many of which are converted together."""
        self.tabular = True
        records = RecordReader(self._table, self.name, self._reader)
        for start in range(0, len(rows), RECORDS_AT_ONCE):
            part = rows[start : start + RECORDS_AT_ONCE]
            places = (f"{self.name}: row {i}" for i in count(start + 1))
            yield from records.rows(list(zip(part, places, strict=False)))
        records.finish()

    def _pair(self, row: Any, place: str) -> Example | Bad:
        try:
            x, y = row
        except (TypeError, ValueError):
            x, y = None, None
        if not isinstance(x, Mapping):
            message = (
                "a row is a pair (dict, label), a line of VW text, or a dict if the target is "
                f"named (target=...); got {row!r:.60}"
            )
            return Bad(place, "not a row", message)
        if y is None:
            return Bad(place, "no label", "the row has no label; learning needs one")
        try:
            example = self._reader.example(x, place).with_label(y)
            self._reader.check(example.label or 0.0)
        except BadExample as error:
            return Bad(place, error.reason, str(error))
        except UnicodeEncodeError as error:
            return Bad(place, "not UTF-8", f"the row is not UTF-8 text: {error}")
        self._reader.fix_groups(x)
        return example
