"""CSV and TSV files: bytes into blocks of whole rows, blocks into columns by Arrow."""

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
from chacha.sources.formats.file_source import FileSource
from chacha.sources.reading.byte_stream import BLOCK, LONGEST, ByteReader
from chacha.sources.spec import CsvDialect
from chacha.sources.tables.batch import DAMAGE, Batch
from chacha.sources.tables.columns import null_words
from chacha.sources.tables.numbers import plain_numbers
from chacha.sources.tables.reader import Row, TableReader
from chacha.sources.tables.schema import Schema
from chacha.sources.values.cells import is_number

__all__ = ["CsvFile"]

codecs.register_error("chacha damage", lambda error: (DAMAGE, getattr(error, "end", 0)))

DELIMITERS = ",;\t|"


class CsvFile(FileSource):
    """A table in a text file, plain or compressed, or from standard input.

    >>> CsvFile("rides.csv").name
    'rides.csv'
    """

    table: TableReader | None = None  # once it is being read
    format = CsvDialect()  # what was found out about it
    _plain = True  # numbers were plain numbers so far

    @property
    def understood(self) -> str:  # type: ignore[override]
        """How the file is written."""
        found = self.format
        header = "line 1 names the columns" if found.header else "no header"
        point = self.table.decimal if self.table else found.decimal
        decimal = f", decimal {point!r}" if point == "," else ""
        encoding = f", {found.encoding}" if found.encoding else ""
        return f"CSV, delimiter {found.delimiter!r}, {header}{decimal}{encoding}"

    def __iter__(self) -> Iterator[Example | Bad]:
        return cast("Iterator[Example | Bad]", self._items(in_blocks=False))

    def blocks(self) -> Iterator[Row]:
        """The rows as columns, where that is possible."""
        return self._items(in_blocks=True)

    def _items(self, in_blocks: bool) -> Iterator[Row]:
        self.format, self._plain = self.spec.csv, True
        with self.open() as file:
            data = Recoded(file, self.spec.csv.encoding)
            columns = self._header(data)
            schema = Schema(self.spec, self.name, columns, self.reader, expected=self.expected)
            decimal = self.format.decimal or ("." if self.format.delimiter == "," else None)
            table = self.table = TableReader(schema, self.reader, decimal, in_blocks)
            try:
                for block in blocks(data, self.format.delimiter or ",", self.format.quote):
                    numbers = table.numbers if in_blocks else frozenset()
                    yield from table.read(self._batch(block, columns, numbers))
                yield from table.finish()
            except pa.ArrowInvalid as error:
                raise SourceError(f"{self.name}: after row {table.row}: {error}") from error
            except OpenQuote as error:
                yield from table.rest()
                place = f"{self.name}: row {table.row + 1}"
                raise SourceError(f"{place}: a quote opens that never closes ({error})") from error
            yield from file.end(f"after row {table.row}")

    def _batch(self, block: bytes, columns: list[str], numbers: frozenset[str]) -> Batch:
        """One block of whole rows, as columns of text; those that hold `numbers` as such.

        If a cell is no plain number after all, the block is text: then it is told which.
        """
        if numbers and self._plain:
            try:
                batch = self._read(block, columns, numbers)
                if not batch.damaged and all(
                    map(plain_numbers, batch.columns.select(sorted(numbers)))
                ):
                    return batch
            except pa.ArrowInvalid:
                pass
            self._plain = False  # where there is one such cell, there may be more
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
                delimiter=self.format.delimiter or ",",
                quote_char=self.format.quote or False,
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

    def _header(self, file: Recoded) -> list[str]:
        """The column names; the delimiter is found out on the way."""
        raw = file.take_line()
        try:
            line = raw.decode("utf-8-sig").strip("\r\n")
        except UnicodeDecodeError as error:
            remedy = "(--encoding names another: latin-1, utf-16, ...)"
            raise SourceError(f"{self.name}: line 1 is not UTF-8 text {remedy}") from error
        if not line.strip():
            if file.failed is not None:
                raise file.failed
            rule = "line 1 is empty; it must name the columns" if file.peek_line() else "is empty"
            raise SourceError(f"{self.name}: {rule}; there is nothing to learn from")
        quote = self.format.quote
        if quote and line.count(quote) % 2:
            raise SourceError(f"{self.name}: line 1 has a name with a line break in it; rename it")
        if "\r" in line:
            raise SourceError(f"{self.name}: lines end with CR alone; convert them to LF")
        delimiter = self.format.delimiter or self._delimiter(line)
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
        header = self.format.header
        if header is None:
            decimal = self.format.decimal or ("." if delimiter == "," else ",")
            header = not all(is_number(cell) or is_number(cell, decimal) for cell in columns)
        self.format = replace(self.format, delimiter=delimiter, header=header)
        if not header:
            file.put_back(raw + b"\n" if file.peek_line() else raw)
            columns = [f"c{i}" for i in range(1, len(columns) + 1)]
        self._check(columns)
        return columns

    def _delimiter(self, line: str) -> str:
        quote = re.escape(self.format.quote)
        bare = re.sub(f"{quote}[^{quote}]*{quote}", "", line) if quote else line
        tabs = ".tsv" in Path(self.name.lower()).suffixes
        return "\t" if tabs else max(DELIMITERS, key=bare.count)

    def _check(self, columns: list[str]) -> None:
        if len(columns) < 2:
            raise SourceError(
                f"{self.name}: one column only; a table needs features and a target "
                "(--delimiter names what stands between columns)"
            )
        times = Counter(columns)
        for name in columns:
            if not name:
                raise SourceError(
                    f"{self.name}: a column has no name; line 1 must name them all "
                    "(pandas: to_csv(index=False) leaves the index out)"
                )
            if times[name] > 1:
                raise SourceError(f"{self.name}: column {name!r} stands twice in line 1")


class Recoded:
    """The bytes of a file as UTF-8, whatever it is written in.

    >>> import io
    >>> from chacha.sources.reading.byte_stream import Raw
    >>> file = ByteReader(Raw(io.BytesIO("größe".encode("latin-1")), "x"), "x")
    >>> Recoded(file, "latin-1").take_line().decode()
    'größe'
    """

    def __init__(self, file: ByteReader, encoding: str | None) -> None:
        self._file = file
        self._head = b""
        self._decode = codecs.getincrementaldecoder(encoding)("strict") if encoding else None
        self._encoding = encoding

    def read(self, least: int = 0) -> bytes:
        """The next bytes; empty at the end."""
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
                text = _before(error)
            if text:
                return text.encode()
            if not block:
                self._decode = None
        return b""

    @property
    def failed(self) -> SourceError | None:
        """Why nothing more could be read."""
        return self._file.failed

    def peek_line(self) -> bytes:
        """The first line, without taking it."""
        while b"\n" not in self._head:
            head, self._head = self._head, b""
            if len(head) > LONGEST or not (block := self.read()):
                self._head = head
                break
            self._head = head + block
        return self._head.partition(b"\n")[0]

    def take_line(self) -> bytes:
        """The first line, taken."""
        line = self.peek_line()
        self._head = self._head[len(line) + 1 :]
        return line

    def put_back(self, data: bytes) -> None:
        """Let `data` be what comes next."""
        self._head = data + self._head

    def is_whole(self, rest: bytes) -> bool:
        """As :meth:`ByteReader.is_whole`."""
        return self._file.is_whole(rest)


def _before(error: UnicodeError) -> str:
    """What could be decoded before the place where it went wrong."""
    if not isinstance(error, UnicodeDecodeError):
        return ""
    return error.object[: error.start].decode(error.encoding)


class OpenQuote(Exception):
    """A quote opens after the last whole row and never closes, or not within LONGEST bytes."""


def blocks(file: Recoded, delimiter: str = ",", quote: str = '"') -> Iterator[bytes]:
    """The file in blocks that end where a row ends: at a line break outside quoted cells.

    A block holds what has arrived, so that a slow pipe is not waited for. A quote counts
    where a cell begins; inside a cell it is a letter like others (5" disc).

    >>> import io
    >>> from chacha.sources.reading.byte_stream import Raw
    >>> data = Raw(io.BytesIO(b'1,"a\\nb"\\n2,c'), "x")
    >>> list(blocks(Recoded(ByteReader(data, "x"), None)))
    [b'1,"a\\nb"\\n', b'2,c']
    """
    mark, q = re.escape(delimiter.encode()), re.escape(quote.encode())
    cell = re.compile(
        rb"(?:\A|(?<=[\n%b]))%b[^%b]*(?:%b%b[^%b]*)*(%b|\Z)" % (mark, q, q, q, q, q, q)
        if quote
        else rb"(?!)()"
    )
    held, least = b"", 0
    while data := file.read(max(least, BLOCK)):
        if len(data) < least:  # a pipe gives what it has: wait, so as not to look again and again
            parts = [data]
            while sum(map(len, parts)) < least and (data := file.read(least)):
                parts.append(data)
            data = b"".join(parts)
        held += data
        if end := row_end(held, cell, quote.encode())[0]:
            yield held[:end]
            held, least = held[end:], 0
        elif len(held) > LONGEST:
            raise OpenQuote(f"a row of more than {LONGEST} bytes")
        else:
            least = len(held)  # so that a very long row is not looked through over and over
    if not held or not file.is_whole(held):
        return
    end, is_open = row_end(held, cell, quote.encode())
    if is_open:
        if end:
            yield held[:end]
        raise OpenQuote("--quote names another, or none: --quote ''")
    yield held


def row_end(held: bytes, cell: re.Pattern[bytes], quote: bytes = b'"') -> tuple[int, bool]:
    """Where the last whole row ends (0: nowhere), and whether a quote is open at the end."""
    if not quote or quote not in held:
        return held.rfind(b"\n") + 1, False
    end = start = 0
    for quoted in cell.finditer(held):
        end = max(end, held.rfind(b"\n", start, quoted.start()) + 1)
        if not quoted[1]:
            return end, True
        start = quoted.end()
    return max(end, held.rfind(b"\n", start) + 1), False
