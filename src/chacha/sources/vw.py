"""VW text: one example a line."""

from __future__ import annotations

from collections.abc import Iterator

from chacha.errors import BadExample, SourceError
from chacha.example import Example, parse_line
from chacha.sources.base import Bad, ByteReader, byte_lines, open_bytes
from chacha.vwtext import read_number

__all__ = ["VWFile", "vw_row"]


def vw_row(line: bytes, place: str) -> Example | Bad:
    """The example on one line, or what is wrong with it.

    >>> vw_row(b"1 |a x", "clicks.vw:7").place
    'clicks.vw:7'
    """
    try:
        text = line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        return Bad(place, "not UTF-8", f"the line is not UTF-8 text ({error.reason})")
    if not text.strip():
        return Bad(place, "empty line", "the line is empty", harmless=True)
    try:
        example = parse_line(text, place)
    except BadExample as error:
        return Bad(place, error.reason, str(error))
    if example.label is None:
        message = "the line has no label; learning needs one before the '|'"
        if example.tag and read_number(example.tag) is not None:
            message = f"{example.tag!r} touches the '|', so VW reads it as a tag; put a space there"
        return Bad(place, "no label", message)
    return example


class VWFile:
    """A file of VW text, plain or compressed, or standard input.

    >>> VWFile("nowhere.vw.gz").name
    'nowhere.vw.gz'
    """

    def __init__(self, path: str, reader: ByteReader | None = None) -> None:
        self.name = path
        self.endless = path == "-"
        self._reader = reader

    def __iter__(self) -> Iterator[Example | Bad]:
        reader, self._reader = self._reader or ByteReader(open_bytes(self.name), self.name), None
        number = 0
        with reader:
            for number, line in enumerate(byte_lines(reader), start=1):
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                yield vw_row(line, f"{self.name}:{number}")
            if reader.failed is not None:
                raise SourceError(f"{reader.failed} (after line {number})") from reader.failed
        if not number:
            raise SourceError(f"{self.name}: is empty; there is nothing to learn from")
