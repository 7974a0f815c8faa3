"""Lines: bytes cut where lines end, parted or in blocks."""

from __future__ import annotations

from collections.abc import Iterator

from chacha.errors import SourceError
from chacha.sources.reading.byte_stream import LONGEST, ByteReader, Raw

__all__ = ["line_blocks", "plain_blocks", "text_blocks"]

PLAIN = 1 << 19  # what is read at once of a file that lies there uncompressed


def line_blocks(reader: ByteReader, least: int = 0) -> Iterator[list[bytes]]:
    """The lines of a file, without their ends, as they arrive.

    >>> import io
    >>> list(line_blocks(ByteReader(Raw(io.BytesIO(b"a\\r\\nb"), "x"), "x")))
    [[b'a\\r'], [b'b']]
    """
    parts: list[bytes] = []  # of a line that has not ended yet
    length = 0
    while block := reader.read(least):
        first, *lines = block.split(b"\n")
        parts.append(first)
        length += len(first)
        if lines:
            yield [b"".join(parts), *lines[:-1]]
            parts, length = [lines[-1]], len(lines[-1])
        elif length > LONGEST:
            reader.failed = SourceError(f"{reader.name}: a line is longer than {LONGEST} bytes")
            return
    rest = b"".join(parts)
    if rest and reader.is_whole(rest):
        yield [rest]


def text_blocks(reader: ByteReader, least: int = 0) -> Iterator[bytes]:
    """As :func:`line_blocks`, the lines with their ends and not parted.

    >>> import io
    >>> list(text_blocks(ByteReader(Raw(io.BytesIO(b"a\\r\\nb\\nc"), "x"), "x")))
    [b'a\\r\\nb\\n', b'c']
    """
    parts: list[bytes] = []  # of a line that has not ended yet
    length = 0
    while block := reader.read(least):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*parts, block[:cut]])
            parts, length = [], 0
        parts.append(block[cut:])
        length += len(block) - cut
        if length > LONGEST:
            reader.failed = SourceError(f"{reader.name}: a line is longer than {LONGEST} bytes")
            return
    rest = b"".join(parts)
    if rest and reader.is_whole(rest):
        yield rest


def plain_blocks(raw: Raw) -> Iterator[tuple[bytearray, int]]:
    """As :func:`text_blocks`, in one buffer that is used again: the bytes, and where lines end.

    >>> import io
    >>> [bytes(data[:end]) for data, end in plain_blocks(Raw(io.BytesIO(b"a\\nb"), "x", 3))]
    [b'a\\n', b'b']
    """
    buffer, kept = bytearray(PLAIN), 0
    while True:
        if kept == len(buffer):
            if kept > LONGEST:
                raise SourceError(f"a line is longer than {LONGEST} bytes")
            buffer = buffer + bytearray(kept)
        with memoryview(buffer) as view:
            end = kept + raw.readinto(view[kept:])
        if end == kept:
            break
        cut = buffer.rfind(b"\n", kept, end) + 1
        if cut:
            yield buffer, cut
            buffer[: end - cut] = buffer[cut:end]
        kept = end - cut
    if kept and not raw.grew:
        yield buffer, kept
