"""CSV and TSV files: bytes into blocks of whole rows, blocks into columns by Arrow."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from chacha.errors import SourceError
from chacha.example import Example
from chacha.sources.base import BLOCK, Bad, ByteReader, open_bytes
from chacha.sources.dicts import DictReader
from chacha.sources.table import DECIDING, TableReader, TableSpec

__all__ = ["CsvFile"]

NULLS = ["", "NA", "N/A", "n/a", "null", "NULL", "None", "?"]
_QUOTED = re.compile(r'"[^"]*"')


class CsvFile:
    """A table in a text file, plain or compressed, or from standard input.

    >>> CsvFile("rides.csv").name
    'rides.csv'
    """

    def __init__(
        self,
        path: str,
        spec: TableSpec | None = None,
        file: ByteReader | None = None,
        dicts: DictReader | None = None,
    ) -> None:
        self.name = path
        self.endless = path == "-"
        self.spec = spec or TableSpec()
        self._file = file
        self._dicts = dicts

    def __iter__(self) -> Iterator[Example | Bad]:
        file, self._file = self._file or ByteReader(open_bytes(self.name), self.name), None
        with file:
            delimiter, columns = self._header(file)
            table = TableReader(self.spec, self.name, columns)
            if self._dicts is not None:
                self._dicts.adopt(table.group_of)
            row = 0
            for block in _enough(blocks(file)):
                try:
                    yield from self._block(block, delimiter, columns, table, row)
                except pa.ArrowInvalid as error:
                    raise SourceError(f"{self.name}: after row {row}: {error}") from error
                row = table.row
            if file.failed is not None:
                raise SourceError(f"{file.failed} (after row {row})") from file.failed

    def _block(
        self, block: bytes, delimiter: str, columns: list[str], table: TableReader, row: int
    ) -> Iterator[Example | Bad]:
        """The examples of one block of whole rows, which begins after row `row`."""
        ragged: list[tuple[int, str]] = []

        def note(bad: pacsv.InvalidRow) -> str:
            got = f"{bad.actual_columns} cells, expected {bad.expected_columns}"
            ragged.append((row + bad.number, got))
            return "skip"

        damaged = False
        try:
            block.decode()
        except UnicodeDecodeError:
            damaged = True
            block = block.decode(errors="replace").encode()
        read = pacsv.read_csv(
            pa.BufferReader(block),
            read_options=pacsv.ReadOptions(
                use_threads=False, block_size=len(block) + 1, column_names=columns
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()),
                strings_can_be_null=True,
                null_values=NULLS,
            ),
        )
        yield from table.read(read.combine_chunks(), ragged, damaged)

    def _header(self, file: ByteReader) -> tuple[str, list[str]]:
        """The delimiter and the column names."""
        try:
            line = file.take_line().decode("utf-8-sig").strip("\r\n")
        except UnicodeDecodeError as error:
            raise SourceError(f"{self.name}: line 1 is not UTF-8 text") from error
        if not line.strip():
            raise SourceError(f"{self.name}: is empty; there is nothing to learn from")
        if "\r" in line:
            raise SourceError(f"{self.name}: lines end with CR alone; convert them to LF")
        tabs = ".tsv" in Path(self.name.lower()).suffixes
        bare = _QUOTED.sub("", line)
        delimiter = "\t" if tabs else max(",;\t", key=bare.count)
        columns = [name.strip() for name in next(csv.reader([line], delimiter=delimiter))]
        if len(columns) < 2:
            raise SourceError(f"{self.name}: one column only; a table needs features and a target")
        if all(_is_number(name) for name in columns):
            raise SourceError(f"{self.name}: line 1 holds numbers; it must name the columns")
        for name in columns:
            if not name:
                raise SourceError(
                    f"{self.name}: a column has no name; line 1 must name them all "
                    "(pandas: to_csv(index=False) leaves the index out)"
                )
            if columns.count(name) > 1:
                raise SourceError(f"{self.name}: column {name!r} stands twice in line 1")
        return delimiter, columns


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def blocks(file: ByteReader) -> Iterator[bytes]:
    """The file in blocks that end where a row ends: at a line break outside quotes.

    A block holds what has arrived, so that a slow pipe is not waited for.

    >>> import io
    >>> list(blocks(ByteReader(io.BytesIO(b'1,"a\\nb"\\n2,c'), "x")))
    [b'1,"a\\nb"\\n', b'2,c']
    """
    parts: list[bytes] = []
    quotes = 0
    while data := file.read(BLOCK):
        end = len(data)
        while True:  # the last line break with an even number of quotes before it
            end = data.rfind(b"\n", 0, end)
            if end < 0 or (quotes + data.count(b'"', 0, end)) % 2 == 0:
                break
        if end >= 0:
            yield b"".join([*parts, data[: end + 1]])
            parts, quotes = [], 0
        rest = data[end + 1 :]
        parts.append(rest)
        quotes += rest.count(b'"')
    last = b"".join(parts)
    if last and file.failed is None:  # what a failure cut off is no row
        yield last


def _enough(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks, the first one of at least DECIDING lines: they decide the columns' types."""
    first = b""
    for piece in pieces:
        first += piece
        if first.count(b"\n") > DECIDING:
            break
    if first:
        yield first
    yield from pieces
