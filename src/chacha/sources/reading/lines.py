"""Lines: bytes cut where lines end, one by one or in blocks."""

from __future__ import annotations

from collections.abc import Iterator

from chacha.errors import SourceError
from chacha.sources.reading.byte_stream import LONGEST_LINE, ByteReader, RawFile

__all__ = ["line_blocks", "text_blocks", "uncompressed_blocks"]

BUFFER_BYTES = 1 << 19  # of an uncompressed file


def _too_long(prefix: str = "") -> SourceError:
    return SourceError(f"{prefix}a line is longer than {LONGEST_LINE} bytes")


def line_blocks(reader: ByteReader, least: int = 0) -> Iterator[list[bytes]]:
    """Yield the lines of a file, without their ends, as they arrive.

    >>> import io
    >>> list(line_blocks(ByteReader(RawFile(io.BytesIO(b"a\\r\\nb"), "x"), "x")))
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
        elif length > LONGEST_LINE:
            reader.failed = SourceError(
                f"{reader.name}: a line is longer than {LONGEST_LINE} bytes"
            )
            return
    rest = b"".join(parts)
    if rest and reader.is_whole(rest):
        yield [rest]


def text_blocks(reader: ByteReader, least: int = 0) -> Iterator[bytes]:
    """Yield blocks of whole lines with their ends, as they arrive.

    >>> import io
    >>> list(text_blocks(ByteReader(RawFile(io.BytesIO(b"a\\r\\nb\\nc"), "x"), "x")))
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
        if length > LONGEST_LINE:
            reader.failed = SourceError(
                f"{reader.name}: a line is longer than {LONGEST_LINE} bytes"
            )
            return
    rest = b"".join(parts)
    if rest and reader.is_whole(rest):
        yield rest


def uncompressed_blocks(raw: RawFile) -> Iterator[tuple[bytearray, int]]:
    """Yield blocks of whole lines in one buffer, which is reused, and where the last line ends.

    >>> import io
    >>> raw = RawFile(io.BytesIO(b"a\\nb"), "x", 3)
    >>> [bytes(data[:end]) for data, end in uncompressed_blocks(raw)]
    [b'a\\n', b'b']
    """
    buffer, start = bytearray(BUFFER_BYTES), 0  # the buffer begins with a part of a line
    while True:
        if start == len(buffer):
            if start > LONGEST_LINE:
                raise _too_long()
            buffer = buffer + bytearray(start)
        with memoryview(buffer) as view:
            end = start + raw.readinto(view[start:])
        if end == start:
            break
        cut = buffer.rfind(b"\n", start, end) + 1
        if cut:
            yield buffer, cut
            buffer[: end - cut] = buffer[cut:end]
        start = end - cut
    if start and not raw.grew:
        yield buffer, start
