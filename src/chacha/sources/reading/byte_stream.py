"""Bytes: how files, pipes and addresses are opened, decompressed and read in blocks."""

from __future__ import annotations

import io
import lzma
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from chacha.errors import SourceError
from chacha.sources.base import Bad
from chacha.sources.reading.prefetch import Ahead
from chacha.sources.reading.urls import is_url, open_url

__all__ = [
    "BLOCK",
    "COMPRESSION",
    "LONGEST",
    "ByteReader",
    "Raw",
    "open_bytes",
    "open_plain",
    "open_random",
    "unfinished",
]

READ = 1 << 16  # what a cut-off file may cost at most
BLOCK = 1 << 19  # what is turned into columns at once
LONGEST = 1 << 26  # bytes of one line or row
MOST_EXPANSION = 500  # a compressed file may become so many times longer
LEAST_BOMB = 1 << 26  # bytes that are never too many

COMPRESSION = (".gz", ".bz2", ".zst", ".xz", ".lz4")
"""Endings that say nothing about the format inside. The first bytes tell the compression."""

MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}
LONGEST_MAGIC = max(map(len, MAGIC))


class Raw(io.RawIOBase):
    """The bytes of a file as they lie there, up to the size it had when it was opened.

    A file that grows meanwhile is read to its old end; one that shrinks is an error.

    >>> Raw(io.BytesIO(b"abc"), "x").read(2)
    b'ab'
    """

    def __init__(self, file: IO[bytes] | pa.NativeFile, name: str, size: int | None = None) -> None:
        self._file, self._name, self._size = file, name, size
        self._head = b""
        self._take = getattr(file, "read1", file.read)  # a pipe gives what it has
        self.consumed = 0

    @property
    def patient(self) -> bool:
        """Whether the bytes are all there, and need not be waited for."""
        return self._size is not None

    def peek(self, size: int) -> bytes:
        """The first bytes, without taking them."""
        while len(self._head) < size and (data := self._take(READ)):
            self._head += data
        return self._head[:size]

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as there is something."""
        want = len(buffer)
        if self._size is not None:
            want = min(want, self._size - self.consumed)
        data, self._head = self._head[:want], self._head[want:]
        got = len(data)
        if want and not data and self._size is not None and hasattr(self._file, "readinto"):
            got = self._file.readinto(memoryview(buffer)[:want]) or 0
        elif want:
            data = data or self._take(want) or b""
            got = len(data)
            buffer[:got] = data
        if want and not got and self._size is not None:
            raise SourceError(
                f"the file shrank while it was read, from {self._size} to "
                f"{self.consumed} bytes; read a copy of it"
            )
        self.consumed += got
        return got

    @property
    def grew(self) -> bool:
        """Whether the file is longer now than it was when it was opened."""
        try:
            return self._size is not None and Path(self._name).stat().st_size > self._size
        except OSError:  # it is gone
            return False

    def close(self) -> None:
        """Close the file, but not standard input."""
        if not self.closed and self._file is not standard_input():
            self._file.close()
        super().close()


def standard_input() -> IO[bytes]:
    """Standard input without a buffer: a thread that waits for it holds no lock."""
    given: Any = sys.stdin
    if given is None:
        raise SourceError("-: standard input is closed")
    raw: IO[bytes] = getattr(given.buffer, "raw", given.buffer)
    return raw


def open_raw(path: str) -> Raw:
    """The bytes of a file or an address as they lie there; `-` is standard input."""
    if path == "-":
        return Raw(standard_input(), path)
    if is_url(path):
        return Raw(open_url(path), path)
    opened = _open_file(path)
    about = os.fstat(opened.fileno())
    # A named pipe, /dev/fd/63 of a shell and the files in /proc have no size.
    known = stat.S_ISREG(about.st_mode) and about.st_size > 0
    return Raw(opened, path, about.st_size if known else None)


def open_random(path: str) -> Any:
    """A file or an address that is read here and there, not from its beginning.

    >>> open_random("-")
    Traceback (most recent call last):
    chacha.errors.SourceError: -: this format is read from its end, so it needs a file
    """
    if is_url(path):
        return open_url(path, streamed=False)
    if path != "-":
        with _open_file(path) as file:  # tells what is wrong in our words
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return pa.OSFile(path)
    raise SourceError(f"{path}: this format is read from its end, so it needs a file")


def _open_file(path: str) -> IO[bytes]:
    try:
        return Path(path).open("rb", buffering=0)
    except IsADirectoryError as error:
        told = f"{path}: is a directory; name its files, as in '{path}/*.csv'"
        raise SourceError(told) from error
    except FileNotFoundError as error:
        raise SourceError(f"{path}: no such file") from error
    except PermissionError as error:
        raise SourceError(f"{path}: permission denied") from error
    except OSError as error:
        raise SourceError(f"{path}: cannot be opened: {error.strerror or error}") from error


def _decompress(raw: Raw) -> tuple[Any, bool]:
    """What reads the decompressed bytes, and whether there was anything to decompress."""
    first = raw.peek(LONGEST_MAGIC)
    for magic, codec in MAGIC.items():
        if first.startswith(magic):
            if codec == "zip":
                raise SourceError("is a zip archive; unzip -p FILE | chacha run -")
            if codec == "xz":
                return lzma.LZMAFile(io.BufferedReader(raw)), True
            return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), codec), True
    return raw, False


def _blocks(raw: Raw) -> Iterator[bytes]:
    """The decompressed bytes, in blocks as they arrive."""
    total = 0
    with raw:
        file, compressed = _decompress(raw)
        while block := bytes(file.read(READ)):
            total += len(block)
            if compressed and total > max(LEAST_BOMB, MOST_EXPANSION * raw.consumed):
                raise SourceError(
                    f"the compressed file becomes more than {MOST_EXPANSION} times longer "
                    f"({raw.consumed} bytes gave {total}); if that is meant, decompress it first"
                )
            yield block


class ByteReader:
    """Reads blocks in the background; remembers what went wrong, for the place to be told.

    >>> import io
    >>> reader = ByteReader(Raw(io.BytesIO(b"a,b"), "x.csv"), "x.csv")
    >>> reader.peek_line(), reader.read()
    (b'a,b', b'a,b')
    """

    def __init__(self, raw: Raw, name: str, reopens: bool = False) -> None:
        self.reopens = reopens  # by its name, from the first byte on
        self._blocks = Ahead(_blocks(raw), most=16)
        self._head = b""
        self._raw = raw
        self.name = name
        self.failed: SourceError | None = None  # why nothing more could be read
        self.unfinished = False  # it ended in the middle of a line that was being written

    def peek_line(self) -> bytes:
        """The first line, without taking it."""
        parts, length = [self._head], len(self._head)
        while b"\n" not in parts[-1] and length <= LONGEST and (block := self._next()):
            parts.append(block)
            length += len(block)
        self._head = b"".join(parts)
        return self._head.partition(b"\n")[0]

    def peek(self, size: int) -> bytes:
        """The first bytes, without taking them."""
        while len(self._head) < size and (block := self._next()):
            self._head += block
        return self._head[:size]

    def as_file(self) -> io.BufferedReader:
        """The bytes as a file that gives as many of them as it is asked for."""
        return io.BufferedReader(_AsFile(self))

    def read(self, least: int = 0) -> bytes:
        """The next bytes; empty at the end. A file gives `least` of them, a pipe what it has."""
        block, self._head = self._head or self._next(), b""
        parts, length = [block], len(block)
        while 0 < length < least and (self._raw.patient or self._blocks.waiting):
            if not (block := self._next()):
                break
            parts.append(block)
            length += len(block)
        return b"".join(parts)

    def _next(self) -> bytes:
        """The next block of the file; a failure ends it and is kept in `failed`."""
        if self.failed is not None:
            return b""
        try:
            block = next(self._blocks, None)
        except SourceError as error:
            told = str(error).removeprefix(f"{self.name}: ")
            self.failed = SourceError(f"{self.name}: {told}")
            return b""
        except Exception as error:  # every codec and every store has errors of its own
            text = str(error) or repr(error)
            if any(word in text for word in ("runcated", "EOF", "end-of-stream", "incomplete")):
                text = "the compressed file ends in the middle; it was cut off (truncated)"
            self.failed = SourceError(f"{self.name}: cannot be read: {text}")
            return b""
        return block or b""

    def is_whole(self, rest: bytes) -> bool:
        """At the end: whether the last line, if it has no end, is a line.

        It is none if a failure cut it off, or if the file went on growing.
        """
        self.unfinished = bool(rest) and self._raw.grew
        return self.failed is None and not self.unfinished

    def end(self, after: str) -> Iterator[Bad]:
        """What is to be told at the end: a failure, or a last line that was not whole."""
        if self.failed is not None:
            raise SourceError(f"{self.failed} ({after})") from self.failed
        if self.unfinished:
            yield unfinished(self.name, after)

    def close(self) -> None:
        """Stop reading."""
        self._blocks.close()

    def __enter__(self) -> ByteReader:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def unfinished(name: str, after: str) -> Bad:
    """A last line that was still being written; it is left out.

    >>> unfinished("a.vw", "after line 7").reason
    'unfinished line'
    """
    message = (
        f"the file grew while it was read, and its last line was not whole yet ({after}); "
        "to follow a file: tail -n +1 -f FILE | chacha run -"
    )
    return Bad(name, "unfinished line", message, harmless=True)


class _AsFile(io.RawIOBase):
    """A byte reader as a raw file."""

    def __init__(self, reader: ByteReader) -> None:
        self._reader, self._rest = reader, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._rest or self._reader.read()
        if not data and self._reader.failed is not None:
            raise self._reader.failed
        taken, self._rest = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def close(self) -> None:
        self._reader.close()
        super().close()


def open_bytes(path: str) -> ByteReader:
    """The bytes of a file or an address, decompressed; `-` is standard input.

    A pipe is read as it brings bytes, a compressed one 64 KB at a time.

    >>> open_bytes(".")
    Traceback (most recent call last):
    chacha.errors.SourceError: .: is a directory; name its files, as in './*.csv'
    """
    return ByteReader(open_raw(path), path, reopens=path != "-")


def open_plain(path: str) -> Raw | None:
    """The bytes of a file that lies there uncompressed; None if it is anything else.

    >>> open_plain("-") is None
    True
    """
    if path == "-" or is_url(path) or not os.path.isfile(path):  # a pipe must not be touched
        return None
    raw = open_raw(path)
    if raw.patient and not raw.peek(LONGEST_MAGIC).startswith(tuple(MAGIC)):
        return raw
    raw.close()
    return None
