"""VW text: one example per line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chacha.data.example import Example
from chacha.data.text_parser import parse_line
from chacha.data.vw_text import read_number
from chacha.errors import SourceError
from chacha.sources.base import Bad
from chacha.sources.formats.file_source import BYTE_ORDER_MARK, LineFile, read_line
from chacha.sources.reading.byte_stream import (
    RawFile,
    open_uncompressed,
    unfinished,
)
from chacha.sources.reading.lines import text_blocks, uncompressed_blocks
from chacha.sources.tables.blocks import TextBlock

__all__ = ["VWFile", "looks_like_vw", "vw_row", "vw_rows"]

TEXT_BYTES = 1 << 18  # least size of a block of lines


def looks_like_vw(line: str) -> bool:
    """Return whether a line may be VW text; an empty one may.

    >>> looks_like_vw("1 |a x"), looks_like_vw("x,y")
    (True, False)
    """
    return not line or "|" in line


def vw_row(line: bytes, place: str) -> Example | Bad:
    """Return the example on one line of VW text, or the reason why it is bad.

    >>> vw_row(b"1 |a x", "clicks.vw:7").place
    'clicks.vw:7'
    """
    example = read_line(line, place, parse_line)
    if isinstance(example, Bad) or example.label is not None:
        return example
    message = "the line has no label; learning needs one before the '|'"
    if example.tag and read_number(example.tag) is not None:
        message = f"{example.tag!r} touches the '|', so VW reads it as a tag; put a space there"
        return Bad(place, "no label", message)
    return Bad(place, "no label", message, unlabelled=example)


def vw_rows(block: TextBlock) -> Iterator[Example | Bad]:
    """Yield the rows of a block, which counts them.

    >>> [row.place for row in vw_rows(TextBlock(b"1 |a x\\n2 |a y\\n", "clicks.vw", 6, 0, 14))]
    ['clicks.vw:7', 'clicks.vw:8']
    """
    at = block.begin
    while at < block.end:
        line, at = block.line(at)
        row = vw_row(line, block.place)
        block.lines += 1
        yield row


class VWFile(LineFile):
    """A file of VW text.

    >>> VWFile("nowhere.vw.gz").name
    'nowhere.vw.gz'
    """

    description = "VW text"
    tabular = False

    def rows(self, lines: Sequence[tuple[bytes, str]]) -> Iterator[Example | Bad]:
        """Yield the rows of some lines."""
        for line, place in lines:
            yield vw_row(line, place)

    def blocks(self) -> Iterator[TextBlock | Bad]:
        """Yield the lines as they arrive, unparsed."""
        can_reopen = self._file is None or self._file.reopens
        raw = open_uncompressed(self._path) if can_reopen else None
        if raw is not None:
            yield from self._uncompressed_blocks(raw)
            return
        number = 0
        with self.open() as file:
            for data in text_blocks(file, TEXT_BYTES):
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

    def _uncompressed_blocks(self, raw: RawFile) -> Iterator[TextBlock | Bad]:
        """Yield the lines of an uncompressed file, read into one buffer without a thread."""
        if self._file is not None:  # opened to look at its first line
            self._file.close()
            self._file = None
        number, at = 0, 0
        try:
            with raw:
                for data, end in uncompressed_blocks(raw):
                    block = self._block(data, number, end)
                    yield block
                    number, at = number + block.lines, at + end
        except SourceError as error:
            raise SourceError(f"{self.name}: {error} (after line {number})") from error
        if at < raw.consumed:
            yield unfinished(self.name, f"after line {number}")
        if not number:
            raise self._empty()
