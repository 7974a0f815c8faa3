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
            raise BadExample(
                f"{row} (to leave such rows out and count them: --on-bad skip, OnBad.SKIP)",
                row.reason,
            )


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
        if file.exists() and not file.is_file():  # a named pipe, or /dev/fd/63 of a shell
            return file.open("rb")
        return pa.input_stream(path, compression=COMPRESSION.get(file.suffix.lower()))
    except FileNotFoundError as error:
        raise SourceError(f"{path}: no such file") from error
    except PermissionError as error:
        raise SourceError(f"{path}: permission denied") from error
    except OSError as error:
        raise SourceError(f"{path}: cannot be opened: {error}") from error


class ByteReader:
    """Reads blocks from a file; remembers what went wrong, for the reader to tell the place.

    >>> import io
    >>> reader = ByteReader(io.BytesIO(b"a,b"), "x.csv")
    >>> reader.peek_line(), reader.read(99)
    (b'a,b', b'a,b')
    """

    def __init__(self, file: IO[bytes] | pa.NativeFile, name: str) -> None:
        self._file = file
        self._head = b""
        self.name = name
        self.failed: SourceError | None = None  # why nothing more could be read

    def peek_line(self) -> bytes:
        """The first line, without taking it."""
        parts = [self._head]
        while b"\n" not in parts[-1]:
            block = self._read(READ)
            if not block:
                break
            parts.append(block)
        self._head = b"".join(parts)
        return self._head.partition(b"\n")[0]

    def take_line(self) -> bytes:
        """The first line, taken."""
        line = self.peek_line()
        self._head = self._head[len(line) + 1 :]
        return line

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size` of them; empty at the end."""
        if self._head:
            block, self._head = self._head[:size], self._head[size:]
            return block
        return self._read(size)

    def _read(self, size: int) -> bytes:
        """The next bytes of the file; a failure ends it and is kept in `failed`."""
        if self.failed is not None:
            return b""
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
            self.failed = SourceError(f"{self.name}: cannot be read: {text}")
            return b""

    def close(self) -> None:
        """Close the file."""
        if self._file is not sys.stdin.buffer:
            self._file.close()

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
    parts: list[bytes] = []  # of a line that has not ended yet
    while block := reader.read(READ):
        first, *lines = block.split(b"\n")
        parts.append(first)
        if lines:
            yield b"".join(parts)
            yield from lines[:-1]
            parts = [lines[-1]]
    rest = b"".join(parts)
    if rest and reader.failed is None:  # what a failure cut off is no line
        yield rest
