"""Bytes of files, pipes and addresses: opened, decompressed, and read in blocks."""

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
from chacha.sources.reading.prefetch import Prefetch
from chacha.sources.reading.urls import is_url, open_url

__all__ = [
    "COMPRESSION",
    "LONGEST_LINE",
    "TABLE_BYTES",
    "ByteReader",
    "RawFile",
    "open_bytes",
    "open_random",
    "open_uncompressed",
    "unfinished",
]

READ_BYTES = 1 << 16  # read at once; at most this many are lost when a compressed file is cut off
TABLE_BYTES = 1 << 19  # least size of a block that becomes columns
LONGEST_LINE = 1 << 26  # bytes of one line or row
MOST_EXPANSION = 500  # most decompressed bytes per compressed byte
LEAST_BOMB = 1 << 26  # decompressed bytes that are never refused

COMPRESSION = (".gz", ".bz2", ".zst", ".xz", ".lz4")
"""Endings of compressed files. The first bytes of a file decide how it is compressed."""

MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}
LONGEST_MAGIC = max(map(len, MAGIC))


class RawFile(io.RawIOBase):
    """The bytes of a file, not decompressed, up to the size it had when it was opened.

    A file that grows meanwhile is read to its old end; one that shrinks is an error.

    >>> RawFile(io.BytesIO(b"abc"), "x").read(2)
    b'ab'
    """

    def __init__(self, file: IO[bytes] | pa.NativeFile, name: str, size: int | None = None) -> None:
        self._file, self._name, self._size = file, name, size
        self._head = b""
        self._take = getattr(file, "read1", file.read)  # a pipe gives what it has
        self.consumed = 0

    @property
    def has_size(self) -> bool:
        """Whether all bytes exist already, as in a file and not in a pipe."""
        return self._size is not None

    def peek(self, size: int) -> bytes:
        """Return the first bytes without taking them."""
        while len(self._head) < size and (data := self._take(READ_BYTES)):
            self._head += data
        return self._head[:size]

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into the buffer; return the number of bytes."""
        size = len(buffer)
        if self._size is not None:
            size = min(size, self._size - self.consumed)
        data, self._head = self._head[:size], self._head[size:]
        count = len(data)
        if size and not data and self._size is not None and hasattr(self._file, "readinto"):
            count = self._file.readinto(memoryview(buffer)[:size]) or 0
        elif size:
            data = data or self._take(size) or b""
            count = len(data)
            buffer[:count] = data
        if size and not count and self._size is not None:
            raise SourceError(
                f"the file shrank while it was read, from {self._size} to "
                f"{self.consumed} bytes; read a copy of it"
            )
        self.consumed += count
        return count

    @property
    def grew(self) -> bool:
        """Whether the file is longer now than it was when it was opened."""
        try:
            return self._size is not None and Path(self._name).stat().st_size > self._size
        except OSError:  # it was removed
            return False

    def close(self) -> None:
        """Close the file, but not standard input."""
        if not self.closed and self._file is not standard_input():
            self._file.close()
        super().close()


def standard_input() -> IO[bytes]:
    """Return standard input without a buffer, so that a thread that waits for it holds no lock."""
    stdin: Any = sys.stdin
    if stdin is None:
        raise SourceError("-: standard input is closed")
    raw: IO[bytes] = getattr(stdin.buffer, "raw", stdin.buffer)
    return raw


def open_raw(path: str) -> RawFile:
    """Open a file or an address, not decompressed; `-` is standard input."""
    if path == "-":
        return RawFile(standard_input(), path)
    if is_url(path):
        return RawFile(open_url(path), path)
    opened = _open_file(path)
    status = os.fstat(opened.fileno())
    # A named pipe, /dev/fd/63 of a shell and the files in /proc have no size.
    has_size = stat.S_ISREG(status.st_mode) and status.st_size > 0
    return RawFile(opened, path, status.st_size if has_size else None)


def open_random(path: str) -> Any:
    """Open a file or an address to be read at random, not from its start.

    >>> open_random("-")
    Traceback (most recent call last):
    chacha.errors.SourceError: -: this format is read from its end, so it needs a file
    """
    if is_url(path):
        return open_url(path, streamed=False)
    if path != "-":
        with _open_file(path) as file:  # raises errors with our messages
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return pa.OSFile(path)
    raise SourceError(f"{path}: this format is read from its end, so it needs a file")


def _open_file(path: str) -> IO[bytes]:
    try:
        return Path(path).open("rb", buffering=0)
    except IsADirectoryError as error:
        message = f"{path}: is a directory; name its files, as in '{path}/*.csv'"
        raise SourceError(message) from error
    except FileNotFoundError as error:
        raise SourceError(f"{path}: no such file") from error
    except PermissionError as error:
        raise SourceError(f"{path}: permission denied") from error
    except OSError as error:
        raise SourceError(f"{path}: cannot be opened: {error.strerror or error}") from error


def _decompress(raw: RawFile) -> tuple[Any, bool]:
    """Return a file of the decompressed bytes, and whether they were compressed."""
    first = raw.peek(LONGEST_MAGIC)
    for magic, codec in MAGIC.items():
        if first.startswith(magic):
            if codec == "zip":
                raise SourceError("is a zip archive; unzip -p FILE | chacha run -")
            if codec == "xz":
                return lzma.LZMAFile(io.BufferedReader(raw)), True
            return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), codec), True
    return raw, False


def _blocks(raw: RawFile) -> Iterator[bytes]:
    """Yield the decompressed bytes, in blocks as they arrive."""
    total = 0
    with raw:
        file, compressed = _decompress(raw)
        while block := bytes(file.read(READ_BYTES)):
            total += len(block)
            if compressed and total > max(LEAST_BOMB, MOST_EXPANSION * raw.consumed):
                raise SourceError(
                    f"the compressed file becomes more than {MOST_EXPANSION} times longer "
                    f"({raw.consumed} bytes gave {total}); if that is intended, decompress it first"
                )
            yield block


class ByteReader:
    """Reads decompressed blocks in the background.

    A failure ends the bytes and is kept in `failed`, so that the caller can add the place.

    >>> import io
    >>> reader = ByteReader(RawFile(io.BytesIO(b"a,b"), "x.csv"), "x.csv")
    >>> reader.peek_line(), reader.read()
    (b'a,b', b'a,b')
    """

    def __init__(self, raw: RawFile, name: str, reopens: bool = False) -> None:
        self.reopens = reopens  # whether it can be opened again by its name
        self._blocks = Prefetch(_blocks(raw), most=16)
        self._head = b""
        self._raw = raw
        self.name = name
        self.failed: SourceError | None = None  # the reason why nothing more could be read
        self.unfinished = False  # whether it ended within a line that was being written

    def peek_line(self) -> bytes:
        """Return the first line without taking it."""
        parts, length = [self._head], len(self._head)
        while b"\n" not in parts[-1] and length <= LONGEST_LINE and (block := self._next()):
            parts.append(block)
            length += len(block)
        self._head = b"".join(parts)
        return self._head.partition(b"\n")[0]

    def peek(self, size: int) -> bytes:
        """Return the first bytes without taking them."""
        while len(self._head) < size and (block := self._next()):
            self._head += block
        return self._head[:size]

    def as_file(self) -> io.BufferedReader:
        """Return the bytes as a file."""
        return io.BufferedReader(_AsFile(self))

    def read(self, least: int = 0) -> bytes:
        """Return the next bytes, empty at the end: of a file `least`, of a pipe what it has."""
        block, self._head = self._head or self._next(), b""
        parts, length = [block], len(block)
        while 0 < length < least and (self._raw.has_size or self._blocks.waiting):
            if not (block := self._next()):
                break
            parts.append(block)
            length += len(block)
        return b"".join(parts)

    def _next(self) -> bytes:
        """Return the next block of the file; empty at its end, or after a failure."""
        if self.failed is not None:
            return b""
        try:
            block = next(self._blocks, None)
        except SourceError as error:
            message = str(error).removeprefix(f"{self.name}: ")
            self.failed = SourceError(f"{self.name}: {message}")
            return b""
        except Exception as error:  # every codec and every store has its own errors
            text = str(error) or repr(error)
            if any(word in text for word in ("runcated", "EOF", "end-of-stream", "incomplete")):
                text = "the compressed file ends in the middle; it was cut off (truncated)"
            self.failed = SourceError(f"{self.name}: cannot be read: {text}")
            return b""
        return block or b""

    def is_whole(self, rest: bytes) -> bool:
        """Return, at the end of the bytes, whether `rest` is a whole line.

        It is not if a failure cut it off, or if the file is still growing.
        """
        self.unfinished = bool(rest) and self._raw.grew
        return self.failed is None and not self.unfinished

    def end(self, after: str) -> Iterator[Bad]:
        """Raise the failure, or yield an incomplete last line; to be called at the end."""
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
    """Return the bad row for a last line that was still being written.

    >>> unfinished("a.vw", "after line 7").reason
    'unfinished line'
    """
    message = (
        f"the file grew while it was read, and its last line was incomplete ({after}); "
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
        part, self._rest = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._reader.close()
        super().close()


def open_bytes(path: str) -> ByteReader:
    """Open a file or an address and decompress it; `-` is standard input.

    A pipe is read as bytes arrive, a compressed one 64 KB at a time.

    >>> open_bytes(".")
    Traceback (most recent call last):
    chacha.errors.SourceError: .: is a directory; name its files, as in './*.csv'
    """
    return ByteReader(open_raw(path), path, reopens=path != "-")


def open_uncompressed(path: str) -> RawFile | None:
    """Open an uncompressed file; return None for anything else.

    >>> open_uncompressed("-") is None
    True
    """
    if path == "-" or is_url(path) or not os.path.isfile(path):  # a pipe must not be opened twice
        return None
    raw = open_raw(path)
    if raw.has_size and not raw.peek(LONGEST_MAGIC).startswith(tuple(MAGIC)):
        return raw
    raw.close()
    return None
