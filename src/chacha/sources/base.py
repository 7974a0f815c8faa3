"""What a source is, and how files become bytes and lines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, Any, Protocol, runtime_checkable

import pyarrow as pa

from chacha.errors import BadExample, SourceError
from chacha.example import Example

__all__ = ["Bad", "OnBad", "Source", "byte_lines", "good_examples", "open_bytes"]

BLOCK = 1 << 18
READ = 1 << 16  # what a cut-off file may cost at most
COMPRESSION = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}


@dataclass(frozen=True)
class Bad:
    """A row that cannot be used: where it stands, why, and what to do.

    `reason` is the short form that counts are kept by. Nobody is stopped by a `harmless`
    one (an empty line): it is skipped and counted whatever the policy.

    >>> print(Bad("clicks.vw:7", "no label", "the line has no label"))
    clicks.vw:7: the line has no label
    """

    place: str
    reason: str
    message: str
    harmless: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class OnBad(Enum):
    """What to do with a row that cannot be used.

    >>> OnBad("skip")
    <OnBad.SKIP: 'skip'>
    """

    ERROR = "error"
    """Stop, with the place and the remedy."""
    SKIP = "skip"
    """Leave it out and count it."""


@runtime_checkable
class Source(Protocol):
    """A stream of labelled examples, and of the rows that could not become one.

    >>> from chacha import open_source
    >>> source: Source = open_source("synth:fried,n=2,seed=1")
    >>> [len(example.groups) for example in source]
    [10, 10]
    """

    @property
    def name(self) -> str:
        """What the user called it."""

    @property
    def endless(self) -> bool:
        """Whether it never ends by itself."""

    def __iter__(self) -> Iterator[Example | Bad]:
        """From the first row on."""


def good_examples(
    source: Source,
    on_bad: OnBad,
    skipped: dict[str, int],
    prepare: Callable[[Example], Example] = lambda example: example,
) -> Iterator[Example]:
    """The usable examples. A bad one is an error, or counted in `skipped`.

    `prepare` may refuse an example too, with :class:`~chacha.errors.BadExample`.

    >>> from chacha.sources.rows import Rows
    >>> skipped = {}
    >>> source = Rows(["1 |a x", "", "nan |a x", "2 |a x"])
    >>> [example.label for example in good_examples(source, OnBad.SKIP, skipped)], skipped
    ([1.0, 2.0], {'empty line': 1, 'label not finite': 1})
    """
    for row in source:
        if isinstance(row, Example):
            try:
                good = prepare(row)
            except BadExample as error:
                row = Bad(row.place or source.name, error.reason, str(error))
            else:
                yield good
                continue
        if on_bad is OnBad.SKIP or row.harmless:
            skipped[row.reason] = skipped.get(row.reason, 0) + 1
        else:
            raise BadExample(f"{row} (--on-bad skip leaves such rows out and counts them)")


def open_bytes(path: str) -> IO[bytes] | pa.NativeFile:
    """The bytes of a file, decompressed by its ending; `-` is standard input.

    >>> open_bytes(".")
    Traceback (most recent call last):
    chacha.errors.SourceError: .: is a directory; give one file
    """
    if path == "-":
        return sys.stdin.buffer
    file = Path(path)
    if file.is_dir():
        raise SourceError(f"{path}: is a directory; give one file")
    try:
        return pa.input_stream(path, compression=COMPRESSION.get(file.suffix))
    except FileNotFoundError as error:
        raise SourceError(f"{path}: no such file") from error
    except PermissionError as error:
        raise SourceError(f"{path}: permission denied") from error
    except OSError as error:
        raise SourceError(f"{path}: cannot be opened: {error}") from error


class ByteReader:
    """Reads blocks from a file; what goes wrong names the file. Used as a file by Arrow.

    >>> import io
    >>> reader = ByteReader(io.BytesIO(b"a,b"), "x.csv")
    >>> reader.peek_line(), reader.read(99)
    (b'a,b', b'a,b')
    """

    def __init__(self, file: IO[bytes] | pa.NativeFile, name: str) -> None:
        self._file = file
        self._head = b""
        self.name = name
        self.closed = False

    def peek_line(self) -> bytes:
        """The first line, without taking it."""
        while b"\n" not in self._head:
            block = self._read(BLOCK)
            if not block:
                break
            self._head += block
        return self._head.partition(b"\n")[0]

    def take_line(self) -> bytes:
        """The first line, taken."""
        line = self.peek_line()
        self._head = self._head[len(line) + 1 :]
        return line

    def at_end(self) -> bool:
        """Whether no byte is left."""
        self.peek_line()
        return not self._head

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes, at most `size` of them; empty at the end."""
        size = BLOCK if size is None or size < 0 else size
        if self._head:
            block, self._head = self._head[:size], self._head[size:]
            return block
        return self._read(size)

    def _read(self, size: int) -> bytes:
        try:
            if hasattr(self._file, "read1"):  # a pipe gives what it has
                return bytes(self._file.read1(size))
            return bytes(self._file.read(size))
        except (OSError, EOFError) as error:
            text = str(error)
            if "runcated" in text or "EOF" in text or "incomplete" in text:
                text = "the compressed file ends in the middle; it was cut off (truncated)"
            elif "header" in text or "Unknown frame" in text:
                text = f"its ending says it is compressed, but it is not ({text})"
            raise SourceError(f"{self.name}: cannot be read: {text}") from error

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        if self._file is not sys.stdin.buffer:
            self._file.close()

    def readable(self) -> bool:
        """Part of Python's file protocol."""
        return True

    def writable(self) -> bool:
        """Part of Python's file protocol."""
        return False

    def seekable(self) -> bool:
        """Part of Python's file protocol."""
        return False

    def __enter__(self) -> ByteReader:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def byte_lines(reader: ByteReader) -> Iterator[bytes]:
    """The lines of a file, without their ends.

    >>> import io
    >>> list(byte_lines(ByteReader(io.BytesIO(b"a\\r\\nb"), "x")))
    [b'a\\r', b'b']
    """
    rest = b""
    while block := reader.read(READ):
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
    if rest:
        yield rest
