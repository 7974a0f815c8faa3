"""VW text: one example a line."""

from __future__ import annotations

from collections.abc import Iterator

from chacha.errors import BadExample, SourceError
from chacha.example import Example, parse_line
from chacha.sources.base import Bad, ByteReader, byte_lines, open_bytes

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
        return Bad(place, "no label", "the line has no label; learning needs one before the '|'")
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
            lines = enumerate(byte_lines(reader), start=1)
            while True:
                try:
                    number, line = next(lines)
                except StopIteration:
                    break
                except SourceError as error:
                    raise SourceError(f"{error} (after line {number})") from error
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                yield vw_row(line, f"{self.name}:{number}")
        if not number:
            raise SourceError(f"{self.name}: is empty; there is nothing to learn from")
