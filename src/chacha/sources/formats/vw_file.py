"""VW text and VW's JSON: one example a line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import TypeVar

from chacha.data.example import Example
from chacha.data.text_parser import parse_line
from chacha.data.vw_text import read_number
from chacha.errors import BadExample, SourceError
from chacha.sources.base import Bad
from chacha.sources.formats.file_source import FileSource
from chacha.sources.formats.vw_json_file import vw_json_example
from chacha.sources.reading.byte_stream import (
    Raw,
    open_plain,
    unfinished,
)
from chacha.sources.reading.lines import line_blocks, plain_blocks, text_blocks
from chacha.sources.tables.blocks import TextBlock

__all__ = ["LineFile", "VWFile", "VWJsonFile", "read_line", "vw_row"]

T = TypeVar("T")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLOCK = 1 << 18  # bytes that a file is read by


def read_line(line: bytes, place: str, read: Callable[[str, str], T]) -> T | Bad:
    """What `read` makes of a line and its place; an empty line is harmless, a bad one is told.

    >>> print(read_line(b" ", "clicks.vw:7", parse_line))
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


def vw_row(line: bytes, place: str) -> Example | Bad:
    """The example on one line of VW text, or what is wrong with it.

    >>> vw_row(b"1 |a x", "clicks.vw:7").place
    'clicks.vw:7'
    """
    found = read_line(line, place, parse_line)
    if isinstance(found, Bad) or found.label is not None:
        return found
    message = "the line has no label; learning needs one before the '|'"
    if found.tag and read_number(found.tag) is not None:
        message = f"{found.tag!r} touches the '|', so VW reads it as a tag; put a space there"
        return Bad(place, "no label", message)
    return Bad(place, "no label", message, unlabelled=found)


class LineFile(FileSource, ABC):
    """A file that holds one row a line, plain or compressed, or from standard input."""

    block = 0  # bytes that are wanted at once; a pipe gives what it has

    @abstractmethod
    def rows(self, lines: Sequence[tuple[bytes, str]]) -> Iterator[Example | Bad]:
        """The examples of some lines, which come with their places."""

    def __iter__(self) -> Iterator[Example | Bad]:
        number = 0
        with self.open() as file:
            for lines in line_blocks(file, self.block):
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


class VWFile(LineFile):
    """A file of VW text.

    >>> VWFile("nowhere.vw.gz").name
    'nowhere.vw.gz'
    """

    understood = "VW text"
    tabular = False

    def rows(self, lines: Sequence[tuple[bytes, str]]) -> Iterator[Example | Bad]:
        """The examples of some lines."""
        for line, place in lines:
            yield vw_row(line, place)

    def blocks(self) -> Iterator[TextBlock | Bad]:
        """The lines as they arrive, unread."""
        plain = open_plain(self._path) if self._file is None or self._file.reopens else None
        if plain is not None:
            yield from self._plain_blocks(plain)
            return
        number = 0
        with self.open() as file:
            for data in text_blocks(file, BLOCK):
                block = self._block(data, number, len(data))
                yield block
                number += block.lines
            yield from file.end(f"after line {number}")
        if not number:
            raise self._empty()

    def _block(self, data: bytes | bytearray, number: int, end: int) -> TextBlock:
        marked = number == 0 and data.startswith(BYTE_ORDER_MARK)
        begin = len(BYTE_ORDER_MARK) if marked else 0
        return TextBlock(data, self.name, number, begin, end)

    def _plain_blocks(self, raw: Raw) -> Iterator[TextBlock | Bad]:
        """A file that lies there uncompressed is read without a detour."""
        if self._file is not None:  # it was opened to look at its first line
            self._file.close()
            self._file = None
        number, at = 0, 0
        try:
            with raw:
                for data, end in plain_blocks(raw):
                    block = self._block(data, number, end)
                    yield block
                    number, at = number + block.lines, at + end
        except SourceError as error:
            raise SourceError(f"{self.name}: {error} (after line {number})") from error
        if at < raw.consumed:
            yield unfinished(self.name, f"after line {number}")
        if not number:
            raise self._empty()


class VWJsonFile(LineFile):
    """A file of VW's own JSON (`vw --json`).

    >>> VWJsonFile("clicks.json").understood
    'VW JSON'
    """

    understood = "VW JSON"
    tabular = False

    def rows(self, lines: Sequence[tuple[bytes, str]]) -> Iterator[Example | Bad]:
        """The examples of some lines."""
        for line, place in lines:
            found = read_line(line, place, vw_json_example)
            if isinstance(found, Example) and found.label is None:
                message = "the line has no label; learning needs one ('_label')"
                found = Bad(place, "no label", message, unlabelled=found)
            yield found
