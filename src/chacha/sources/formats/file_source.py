"""What the readers of all file formats have in common, and the contract they fulfil."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Protocol, TypeVar

from chacha.data.example import Example
from chacha.errors import BadExample, SourceError
from chacha.sources.base import Bad, Source
from chacha.sources.reading.byte_stream import ByteReader, open_bytes
from chacha.sources.reading.lines import line_blocks
from chacha.sources.spec import TableSpec
from chacha.sources.tables.batch import ExpectedColumns
from chacha.sources.values.dict_reader import DictReader

__all__ = ["BYTE_ORDER_MARK", "FileSource", "FormatReader", "LineFile", "read_line"]

T = TypeVar("T")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class FormatReader(Protocol):
    """What opens a file of one format: a subclass of :class:`FileSource`, or a function.

    The table of formats in :mod:`chacha.sources.formats.detect` holds one for every format.
    """

    def __call__(
        self,
        path: str,
        spec: TableSpec,
        file: ByteReader | None,
        reader: DictReader | None,
        expected: ExpectedColumns | None,
        /,
    ) -> Source:
        """Return the source that a file is.

        Parameters
        ----------
        path
            The file, address, or `-` for standard input; the source's name in messages.
        spec
            How columns become examples; the settings that the format does not use are refused
            before.
        file
            The file, opened already to look at its first line. None for a format that is not
            read from the start: its reader opens the path itself.
        reader
            What earlier tables and dicts of the same model decided about columns. The source
            adds what it decides once it has a good row.
        expected
            What the files of the same stream share.
        """


class FileSource:
    """A file, plain or compressed, an address, or standard input.

    The parameters are those of :class:`FormatReader`; `file` is used by the first pass.

    >>> source = FileSource("-")
    >>> source.name, source.endless
    ('-', True)
    """

    description = "a file"

    def __init__(
        self,
        path: str,
        spec: TableSpec | None = None,
        file: ByteReader | None = None,
        reader: DictReader | None = None,
        expected: ExpectedColumns | None = None,
    ) -> None:
        self.name = self._path = path
        self.endless = path == "-"
        self.spec = spec or TableSpec()
        self.reader = reader or DictReader()
        self.expected = expected
        self._file = file

    def open(self) -> ByteReader:
        """Return the bytes, from the first on."""
        file, self._file = self._file or open_bytes(self._path), None
        return file


class LineFile(FileSource, ABC):
    """A file with one row per line."""

    bytes_at_once = 0  # a file is read in pieces of at least this size; a pipe gives what it has

    @abstractmethod
    def rows(self, lines: Sequence[tuple[bytes, str]]) -> Iterator[Example | Bad]:
        """Yield the rows of some lines, which come with their places."""

    def __iter__(self) -> Iterator[Example | Bad]:
        number = 0
        with self.open() as file:
            for lines in line_blocks(file, self.bytes_at_once):
                if number == 0:
                    lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
                places = (f"{self.name}:{i}" for i in count(number + 1))
                yield from self.rows(list(zip(lines, places, strict=False)))
                number += len(lines)
            yield from file.end(f"after line {number}")
        if not number:
            raise self._empty()

    def _empty(self) -> SourceError:
        return SourceError(f"{self.name}: is empty; there is nothing to learn from")


def read_line(line: bytes, place: str, read: Callable[[str, str], T]) -> T | Bad:
    """Return what `read` makes of a line's text and place, or the reason why it is bad.

    An empty line is bad but harmless.

    >>> print(read_line(b" ", "clicks.vw:7", lambda text, place: text))
    clicks.vw:7: the line is empty
    """
    try:
        text = line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        return Bad(place, "not UTF-8", f"the line is not UTF-8 text ({error.reason})")
    if not text.strip():
        return Bad(place, "empty line", "the line is empty", harmless=True)
    try:
        return read(text, place)
    except BadExample as error:
        return Bad(place, error.reason, str(error))
