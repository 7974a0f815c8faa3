"""CSV and TSV files: bytes are cut into blocks of whole rows, which Arrow parses."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.csv as pacsv

from chacha.data.example import Example
from chacha.errors import SourceError
from chacha.sources.base import Bad
from chacha.sources.csv_dialect import CsvDialect
from chacha.sources.formats.file_source import FileSource
from chacha.sources.reading.byte_stream import LONGEST_LINE, TABLE_BYTES, ByteReader
from chacha.sources.spec import TableSpec
from chacha.sources.tables.batch import DAMAGE, Batch, ExpectedColumns
from chacha.sources.tables.columns import null_words
from chacha.sources.tables.numbers import are_exact_numbers
from chacha.sources.tables.reader import TableItem, TableReader
from chacha.sources.tables.schema import Schema
from chacha.sources.values.cells import is_number
from chacha.sources.values.dict_reader import DictReader

__all__ = ["CsvFile", "looks_like_csv", "open_tsv"]

codecs.register_error("chacha damage", lambda error: (DAMAGE, getattr(error, "end", 0)))

DELIMITERS = ",;\t|"


def looks_like_csv(line: str) -> bool:
    """Return whether a line may be the first of a CSV file.

    >>> looks_like_csv("x,y"), looks_like_csv("x")
    (True, False)
    """
    return any(mark in line for mark in ",\t;")


def open_tsv(
    path: str,
    spec: TableSpec,
    file: ByteReader | None,
    reader: DictReader | None,
    expected: ExpectedColumns | None,
) -> CsvFile:
    """Return a CSV file whose delimiter is a tab, unless `spec` names another.

    >>> open_tsv("rides.tsv", TableSpec(), None, None, None).spec.csv.delimiter
    '\\t'
    """
    if spec.csv.delimiter is None:
        spec = replace(spec, csv=replace(spec.csv, delimiter="\t"))
    return CsvFile(path, spec, file, reader, expected)


class CsvFile(FileSource):
    """A table in a text file, plain or compressed, or from standard input.

    >>> CsvFile("rides.csv").name
    'rides.csv'
    """

    table: TableReader | None = None  # set by the first pass
    dialect = CsvDialect()  # completed by the first pass
    _parse_numbers = True  # all numbers so far could be parsed by Arrow

    @property
    def description(self) -> str:  # type: ignore[override]
        """How the file is written, in words."""
        dialect = self.dialect
        header = "line 1 names the columns" if dialect.header else "no header"
        point = self.table.decimal if self.table else dialect.decimal
        decimal = f", decimal {point!r}" if point == "," else ""
        encoding = f", {dialect.encoding}" if dialect.encoding else ""
        return f"CSV, delimiter {dialect.delimiter!r}, {header}{decimal}{encoding}"

    def __iter__(self) -> Iterator[Example | Bad]:
        return cast("Iterator[Example | Bad]", self._items(in_blocks=False))

    def blocks(self) -> Iterator[TableItem]:
        """Yield the rows as blocks of columns where that is possible."""
        return self._items(in_blocks=True)

    def _items(self, in_blocks: bool) -> Iterator[TableItem]:
        self.dialect, self._parse_numbers = self.spec.csv, True
        with self.open() as file:
            data = Utf8Reader(file, self.spec.csv.encoding)
            columns = self._header(data)
            schema = Schema(self.spec, self.name, columns, self.reader, expected=self.expected)
            decimal = self.dialect.decimal or ("." if self.dialect.delimiter == "," else None)
            table = self.table = TableReader(schema, self.reader, decimal, in_blocks)
            try:
                for block in blocks(data, self.dialect.delimiter or ",", self.dialect.quote):
                    numbers = table.numbers if in_blocks else frozenset()
                    yield from table.read(self._batch(block, columns, numbers))
                yield from table.finish()
            except pa.ArrowInvalid as error:
                raise SourceError(f"{self.name}: after row {table.row}: {error}") from error
            except UnclosedQuote as error:
                yield from table.flush()
                place = f"{self.name}: row {table.row + 1}"
                raise SourceError(
                    f"{place}: a quote is opened and never closed ({error})"
                ) from error
            yield from file.end(f"after row {table.row}")

    def _batch(self, block: bytes, columns: list[str], numbers: frozenset[str]) -> Batch:
        """Return a block of whole rows as columns of text, those in `numbers` as floats.

        If a cell is not a number that a float holds exactly, the whole block is read as text,
        so that the table reader can say which cell it is.
        """
        if numbers and self._parse_numbers:
            try:
                batch = self._read(block, columns, numbers)
                if not batch.damaged and all(
                    map(are_exact_numbers, batch.columns.select(sorted(numbers)))
                ):
                    return batch
            except pa.ArrowInvalid:
                pass
            self._parse_numbers = False  # where there is one such cell, there may be more
        return self._read(block, columns, frozenset())

    def _read(self, block: bytes, columns: list[str], numbers: frozenset[str]) -> Batch:
        batch = Batch(columns=None, text=set(columns))

        def note(bad: pacsv.InvalidRow) -> str:
            got = f"{bad.actual_columns} cells, expected {bad.expected_columns}"
            batch.ragged.append((bad.number, got))
            return "skip"

        try:
            block.decode()
        except UnicodeDecodeError:
            batch.damaged = True
            block = block.decode(errors="chacha damage").encode()
        batch.columns = pacsv.read_csv(
            pa.BufferReader(block),
            read_options=pacsv.ReadOptions(
                use_threads=False, block_size=len(block) + 1, column_names=columns
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=self.dialect.delimiter or ",",
                quote_char=self.dialect.quote or False,
                newlines_in_values=True,
                invalid_row_handler=note,
            ),
            convert_options=pacsv.ConvertOptions(
                column_types={c: pa.float64() if c in numbers else pa.string() for c in columns},
                null_values=null_words(self.spec.nulls),
                strings_can_be_null=False,
            ),
        )
        return batch

    def _header(self, file: Utf8Reader) -> list[str]:
        """Return the column names; complete the dialect."""
        raw = file.take_line()
        try:
            line = raw.decode("utf-8-sig").strip("\r\n")
        except UnicodeDecodeError as error:
            remedy = "(name its encoding with --encoding: latin-1, utf-16, ...)"
            raise SourceError(f"{self.name}: line 1 is not UTF-8 text {remedy}") from error
        if not line.strip():
            if file.failed is not None:
                raise file.failed
            rule = "line 1 is empty; it must name the columns" if file.peek_line() else "is empty"
            raise SourceError(f"{self.name}: {rule}; there is nothing to learn from")
        quote = self.dialect.quote
        if quote and line.count(quote) % 2:
            raise SourceError(f"{self.name}: line 1 has a name with a line break in it; rename it")
        if "\r" in line:
            raise SourceError(f"{self.name}: lines end with CR alone; convert them to LF")
        delimiter = self.dialect.delimiter or self._delimiter(line)
        try:
            words = csv.reader(
                [line],
                delimiter=delimiter,
                quotechar=quote or None,
                quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
            )
            columns = [name.strip() for name in next(words)]
        except csv.Error as error:
            raise SourceError(f"{self.name}: line 1 cannot be read: {error}") from error
        header = self.dialect.header
        if header is None:
            decimal = self.dialect.decimal or ("." if delimiter == "," else ",")
            header = not all(is_number(cell) or is_number(cell, decimal) for cell in columns)
        self.dialect = replace(self.dialect, delimiter=delimiter, header=header)
        if not header:
            file.put_back(raw + b"\n" if file.peek_line() else raw)
            columns = [f"c{i}" for i in range(1, len(columns) + 1)]
        self._check(columns)
        return columns

    def _delimiter(self, line: str) -> str:
        quote = re.escape(self.dialect.quote)
        bare = re.sub(f"{quote}[^{quote}]*{quote}", "", line) if quote else line
        tabs = ".tsv" in Path(self.name.lower()).suffixes
        return "\t" if tabs else max(DELIMITERS, key=bare.count)

    def _check(self, columns: list[str]) -> None:
        if len(columns) < 2:
            raise SourceError(
                f"{self.name}: one column only; a table needs features and a target "
                "(name the delimiter with --delimiter)"
            )
        times = Counter(columns)
        for name in columns:
            if not name:
                raise SourceError(
                    f"{self.name}: a column has no name; line 1 must name them all "
                    "(pandas: to_csv(index=False) leaves the index out)"
                )
            if times[name] > 1:
                raise SourceError(f"{self.name}: column {name!r} occurs twice in line 1")


class Utf8Reader:
    """The bytes of a file as UTF-8, decoded from `encoding` if it is another.

    >>> import io
    >>> from chacha.sources.reading.byte_stream import RawFile
    >>> file = ByteReader(RawFile(io.BytesIO("größe".encode("latin-1")), "x"), "x")
    >>> Utf8Reader(file, "latin-1").take_line().decode()
    'größe'
    """

    def __init__(self, file: ByteReader, encoding: str | None) -> None:
        self._file = file
        self._head = b""
        self._decode = codecs.getincrementaldecoder(encoding)("strict") if encoding else None
        self._encoding = encoding

    def read(self, least: int = 0) -> bytes:
        """Return the next bytes; empty at the end."""
        if self._head:
            block, self._head = self._head, b""
            return block
        while (block := self._file.read(least)) or self._decode is not None:
            if self._decode is None:
                return block
            try:
                text = self._decode.decode(block, final=not block)
            except UnicodeError as error:
                message = f"{self._file.name}: is not {self._encoding} text: {error}"
                self._file.failed = self._file.failed or SourceError(message)
                self._decode = None
                text = _text_before(error)
            if text:
                return text.encode()
            if not block:
                self._decode = None
        return b""

    @property
    def failed(self) -> SourceError | None:
        """The reason why nothing more could be read."""
        return self._file.failed

    def peek_line(self) -> bytes:
        """Return the first line without taking it."""
        while b"\n" not in self._head:
            head, self._head = self._head, b""
            if len(head) > LONGEST_LINE or not (block := self.read()):
                self._head = head
                break
            self._head = head + block
        return self._head.partition(b"\n")[0]

    def take_line(self) -> bytes:
        """Return the first line and take it."""
        line = self.peek_line()
        self._head = self._head[len(line) + 1 :]
        return line

    def put_back(self, data: bytes) -> None:
        """Make `data` the next bytes."""
        self._head = data + self._head

    def is_whole(self, rest: bytes) -> bool:
        """Return what :meth:`ByteReader.is_whole` says."""
        return self._file.is_whole(rest)


def _text_before(error: UnicodeError) -> str:
    """Return what could be decoded before the error."""
    if not isinstance(error, UnicodeDecodeError):
        return ""
    return error.object[: error.start].decode(error.encoding)


class UnclosedQuote(Exception):
    """A quote that is never closed, or not within LONGEST_LINE bytes."""


def blocks(file: Utf8Reader, delimiter: str = ",", quote: str = '"') -> Iterator[bytes]:
    """Yield the file in blocks that end with a row: at a line break outside quoted cells.

    A block holds what has arrived, so a slow pipe is not waited for. A quote counts only where
    a cell begins; inside a cell it is a character like others (5" disc).

    >>> import io
    >>> from chacha.sources.reading.byte_stream import RawFile
    >>> data = RawFile(io.BytesIO(b'1,"a\\nb"\\n2,c'), "x")
    >>> list(blocks(Utf8Reader(ByteReader(data, "x"), None)))
    [b'1,"a\\nb"\\n', b'2,c']
    """
    mark, q = re.escape(delimiter.encode()), re.escape(quote.encode())
    cell = re.compile(
        rb"(?:\A|(?<=[\n%b]))%b[^%b]*(?:%b%b[^%b]*)*(%b|\Z)" % (mark, q, q, q, q, q, q)
        if quote
        else rb"(?!)()"
    )
    pending, least = b"", 0
    while data := file.read(max(least, TABLE_BYTES)):
        if len(data) < least:  # a pipe: wait, so that `pending` is not scanned for every piece
            parts = [data]
            while sum(map(len, parts)) < least and (data := file.read(least)):
                parts.append(data)
            data = b"".join(parts)
        pending += data
        if end := row_end(pending, cell, quote.encode())[0]:
            yield pending[:end]
            pending, least = pending[end:], 0
        elif len(pending) > LONGEST_LINE:
            raise UnclosedQuote(f"a row of more than {LONGEST_LINE} bytes")
        else:
            least = len(pending)  # so that a very long row is not scanned over and over
    if not pending or not file.is_whole(pending):
        return
    end, is_open = row_end(pending, cell, quote.encode())
    if is_open:
        if end:
            yield pending[:end]
        raise UnclosedQuote("--quote names another, or none: --quote ''")
    yield pending


def row_end(data: bytes, cell: re.Pattern[bytes], quote: bytes = b'"') -> tuple[int, bool]:
    """Return where the last whole row ends (0: nowhere), and whether a quote is left open."""
    if not quote or quote not in data:
        return data.rfind(b"\n") + 1, False
    end = start = 0
    for quoted in cell.finditer(data):
        end = max(end, data.rfind(b"\n", start, quoted.start()) + 1)
        if not quoted[1]:
            return end, True
        start = quoted.end()
    return max(end, data.rfind(b"\n", start) + 1), False
