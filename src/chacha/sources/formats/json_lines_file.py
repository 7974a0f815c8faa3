"""JSON lines: one record per line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chacha.data.example import Example
from chacha.sources.base import Bad
from chacha.sources.formats.file_source import LineFile, read_line
from chacha.sources.reading.byte_stream import TABLE_BYTES
from chacha.sources.records.reader import RecordReader
from chacha.sources.values.json_text import read_object

__all__ = ["JsonLines", "looks_like_json"]


def looks_like_json(line: str) -> bool:
    """Return whether a line may be JSON.

    >>> looks_like_json('{"a": 1}'), looks_like_json("1 |a x")
    (True, False)
    """
    return line.startswith(("{", "["))


class JsonLines(LineFile):
    """A file of JSON lines, plain or compressed, or from standard input.

    >>> JsonLines("clicks.jsonl").name
    'clicks.jsonl'
    """

    description = "JSON lines"
    bytes_at_once = TABLE_BYTES

    def __iter__(self) -> Iterator[Example | Bad]:
        self._records = RecordReader(self.spec, self.name, self.reader, self.expected)
        yield from super().__iter__()
        self._records.finish()

    def rows(self, lines: Sequence[tuple[bytes, str]]) -> Iterator[Example | Bad]:
        """Yield the rows of some lines; records between bad lines are read together."""
        records: list[tuple[Mapping[str, Any], str]] = []
        for line, place in lines:
            record = read_line(line, place, lambda text, _: read_object(text))
            if isinstance(record, Bad):
                yield from self._records.rows(records)
                records = []
                yield record
            else:
                records.append((record, place))
        yield from self._records.rows(records)
