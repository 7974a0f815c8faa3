"""VW text and VW's JSON: one example a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import TypeVar

from chacha.errors import BadExample, SourceError
from chacha.example import Example, parse_line
from chacha.sources.base import Bad
from chacha.sources.bytestream import line_blocks
from chacha.sources.filesource import FileSource
from chacha.sources.vwjson import vw_json_example
from chacha.vwtext import read_number

__all__ = ["LineFile", "VWFile", "VWJsonFile", "read_line", "vw_row"]

T = TypeVar("T")


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


def _labelled(example: Example, where: str = "before the '|'") -> Example | Bad:
    if example.label is not None:
        return example
    message = f"the line has no label; learning needs one {where}"
    if example.tag and read_number(example.tag) is not None:
        message = f"{example.tag!r} touches the '|', so VW reads it as a tag; put a space there"
    return Bad(example.place, "no label", message)


def vw_row(line: bytes, place: str) -> Example | Bad:
    """The example on one line, or what is wrong with it.

    >>> vw_row(b"1 |a x", "clicks.vw:7").place
    'clicks.vw:7'
    """
    return read_line(line, place, lambda text, at: _labelled(parse_line(text, at)))


class LineFile(FileSource):
    """A file that holds one row a line, plain or compressed, or from standard input.

    `row` makes an example of a line, or tells what is wrong with it.
    """

    understood = "lines"
    block = 0  # bytes that are wanted at once; a pipe gives what it has

    def row(self, text: str, place: str) -> Example | Bad:
        """The example of one line."""
        raise NotImplementedError

    def rows(self, lines: Sequence[tuple[bytes, str]]) -> Iterator[Example | Bad]:
        """The examples of some lines, with their places."""
        for line, place in lines:
            yield read_line(line, place, self.row)

    def __iter__(self) -> Iterator[Example | Bad]:
        number = 0
        with self.open() as file:
            for lines in line_blocks(file, self.block):
                if number == 0:
                    lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
                places = (f"{self.name}:{i}" for i in count(number + 1))
                yield from self.rows(list(zip(lines, places, strict=False)))
                number += len(lines)
            yield from file.end(f"after line {number}")
        if not number:
            raise SourceError(f"{self.name}: is empty; there is nothing to learn from")


class VWFile(LineFile):
    """A file of VW text.

    >>> VWFile("nowhere.vw.gz").name
    'nowhere.vw.gz'
    """

    understood = "VW text"

    def row(self, text: str, place: str) -> Example | Bad:
        """The example of one line."""
        return _labelled(parse_line(text, place))


class VWJsonFile(LineFile):
    """A file of VW's own JSON (`vw --json`).

    >>> VWJsonFile("clicks.json").understood
    'VW JSON'
    """

    understood = "VW JSON"

    def row(self, text: str, place: str) -> Example | Bad:
        """The example of one line."""
        return _labelled(vw_json_example(text, place), "('_label')")
