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
from chacha.sources.table import TableReader, TableSpec

__all__ = ["CsvFile"]

LONGEST = 1 << 26  # bytes of one row
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
        reader: DictReader | None = None,
    ) -> None:
        self.name = path
        self.endless = path == "-"
        self.spec = spec or TableSpec()
        self._file = file
        self._reader = reader or DictReader()

    def __iter__(self) -> Iterator[Example | Bad]:
        file, self._file = self._file or ByteReader(open_bytes(self.name), self.name), None
        with file:
            delimiter, columns = self._header(file)
            table = TableReader(self.spec, self.name, columns, self._reader)
            try:
                for block in blocks(file, delimiter):
                    yield from self._block(block, delimiter, columns, table)
                yield from table.rest()
            except pa.ArrowInvalid as error:
                raise SourceError(f"{self.name}: after row {table.row}: {error}") from error
            except OpenQuote as error:
                yield from table.rest()
                place = f"{self.name}: row {table.row + 1}"
                raise SourceError(f"{place}: a quote opens that never closes") from error
            if file.failed is not None:
                raise SourceError(f"{file.failed} (after row {table.row})") from file.failed

    def _block(
        self, block: bytes, delimiter: str, columns: list[str], table: TableReader
    ) -> Iterator[Example | Bad]:
        """The examples of one block of whole rows."""
        ragged: list[tuple[int, str]] = []

        def note(bad: pacsv.InvalidRow) -> str:
            got = f"{bad.actual_columns} cells, expected {bad.expected_columns}"
            ragged.append((bad.number, got))
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
            convert_options=pacsv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string())),
        )
        yield from table.read(read.combine_chunks(), ragged, damaged)

    def _header(self, file: ByteReader) -> tuple[str, list[str]]:
        """The delimiter and the column names."""
        try:
            line = file.take_line().decode("utf-8-sig").strip("\r\n")
        except UnicodeDecodeError as error:
            raise SourceError(f"{self.name}: line 1 is not UTF-8 text") from error
        if not line.strip():
            rule = "line 1 is empty; it must name the columns" if file.peek_line() else "is empty"
            raise SourceError(f"{self.name}: {rule}; there is nothing to learn from")
        if line.count('"') % 2:
            raise SourceError(f"{self.name}: line 1 has a name with a line break in it; rename it")
        if "\r" in line:
            raise SourceError(f"{self.name}: lines end with CR alone; convert them to LF")
        tabs = ".tsv" in Path(self.name.lower()).suffixes
        bare = _QUOTED.sub("", line)
        delimiter = "\t" if tabs else max(",;\t", key=bare.count)
        try:
            columns = [name.strip() for name in next(csv.reader([line], delimiter=delimiter))]
        except csv.Error as error:
            raise SourceError(f"{self.name}: line 1 cannot be read: {error}") from error
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


class OpenQuote(Exception):
    """A quote opens after the last whole row and never closes, or not within LONGEST bytes."""


def blocks(file: ByteReader, delimiter: str = ",") -> Iterator[bytes]:
    """The file in blocks that end where a row ends: at a line break outside quoted cells.

    A block holds what has arrived, so that a slow pipe is not waited for. A quote counts
    where a cell begins; inside a cell it is a letter like others (5" disc).

    >>> import io
    >>> list(blocks(ByteReader(io.BytesIO(b'1,"a\\nb"\\n2,c'), "x")))
    [b'1,"a\\nb"\\n', b'2,c']
    """
    mark = re.escape(delimiter.encode())
    cell = re.compile(rb"(?:\A|(?<=[\n" + mark + rb']))"[^"]*(?:""[^"]*)*("|\Z)')
    held, size = b"", BLOCK
    while data := file.read(size):
        held += data
        if end := row_end(held, cell)[0]:
            yield held[:end]
            held, size = held[end:], BLOCK
        elif len(held) > LONGEST:
            raise OpenQuote
        else:
            size *= 2  # so that a very long row is not looked through over and over
    if not held or file.failed is not None:  # what a failure cut off is no row
        return
    if row_end(held, cell)[1]:
        raise OpenQuote
    yield held


def row_end(held: bytes, cell: re.Pattern[bytes]) -> tuple[int, bool]:
    """Where the last whole row ends (0: nowhere), and whether a quote is open at the end."""
    if b'"' not in held:
        return held.rfind(b"\n") + 1, False
    end = start = 0
    for quoted in cell.finditer(held):
        end = max(end, held.rfind(b"\n", start, quoted.start()) + 1)
        if not quoted[1]:
            return end, True
        start = quoted.end()
    return max(end, held.rfind(b"\n", start) + 1), False
