"""VW text: one example a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chacha.errors import BadExample, SourceError
from chacha.example import Example, parse_line
from chacha.sources.base import Bad, ByteReader, byte_lines, open_bytes

__all__ = ["VWFile", "VWLines"]


def _row(line: bytes, place: str) -> Example | Bad:
    """The example on one line, or what is wrong with it."""
    try:
        text = line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        return Bad(place, "not UTF-8", f"the line is not UTF-8 text ({error.reason})")
    if not text.strip():
        return Bad(place, "empty line", "the line is empty", harmless=True)
    try:
        example = parse_line(text, place)
    except BadExample as error:
        reason = "malformed line"
        if "finite" in str(error):
            reason = "label not finite" if "the label" in str(error) else "value not finite"
        return Bad(place, reason, str(error))
    if example.label is None:
        return Bad(place, "no label", "the line has no label; learning needs one before the '|'")
    return example


class VWLines:
    """Lines of VW text from memory.

    >>> [example.label for example in VWLines([b"1 |a x", "2 |a x"], "lines")]
    [1.0, 2.0]
    """

    endless = False

    def __init__(self, lines: Iterable[bytes | str], name: str = "lines") -> None:
        self.name = name
        self._lines = lines

    def __iter__(self) -> Iterator[Example | Bad]:
        for number, line in enumerate(self._lines, start=1):
            data = line.encode() if isinstance(line, str) else line
            yield _row(data, f"{self.name}:{number}")


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
                yield _row(line, f"{self.name}:{number}")
        if not number:
            raise SourceError(f"{self.name}: is empty; there is nothing to learn from")
