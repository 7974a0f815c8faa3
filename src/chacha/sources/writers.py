"""Writers of examples: VW text, plain or compressed, and Parquet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from chacha.data.example import Example
from chacha.errors import ConfigError
from chacha.sources.formats.example_parquet_file import EXAMPLE_SCHEMA

__all__ = ["ExampleWriter", "ParquetWriter", "TextWriter", "open_writer"]

ROW_GROUP = 4096  # examples of a Parquet row group
CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}


class ExampleWriter(Protocol):
    """What writes examples, one at a time."""

    def write(self, example: Example) -> None:
        """Write one example."""

    def close(self) -> None:
        """Write what is buffered and close the file."""


class TextWriter:
    """Examples as VW text; the ending of the file says how it is compressed, `-` is stdout."""

    def __init__(self, path: str) -> None:
        self._file = None
        if path != "-":
            codec = CODECS.get(Path(path).suffix.lower())
            self._file = pa.output_stream(path, compression=codec)

    def write(self, example: Example) -> None:
        """Write one line."""
        if self._file is not None:
            self._file.write(f"{example.line}\n".encode())
            return
        with _named_stdout():
            sys.stdout.write(f"{example.line}\n")

    def close(self) -> None:
        """Write what is buffered; standard output stays open."""
        if self._file is not None:
            self._file.close()
            return
        with _named_stdout():
            sys.stdout.flush()


@contextmanager
def _named_stdout() -> Iterator[None]:
    """Add the name `-` to an error of standard output, such as a full disk."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, "-") from error


class ParquetWriter:
    """Examples as Parquet, one row group at a time."""

    def __init__(self, path: str) -> None:
        self._writer = pq.ParquetWriter(path, EXAMPLE_SCHEMA)
        self._rows: list[dict[str, Any]] = []

    def write(self, example: Example) -> None:
        """Write one row."""
        self._rows.append(
            {
                "label": example.label,
                "weight": example.weight,
                "initial": example.initial,
                "tag": example.tag or None,
                "features": [
                    (group, [(feature.name, feature.value) for feature in features])
                    for group, features in example.groups.items()
                ],
            }
        )
        if len(self._rows) >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._rows, EXAMPLE_SCHEMA))
        self._rows.clear()

    def close(self) -> None:
        """Write what is buffered and close the file."""
        if self._rows:
            self._flush()
        self._writer.close()


def open_writer(path: str) -> ExampleWriter:
    """Return the writer for the ending of `path`; `-` writes VW text to standard output.

    >>> open_writer("out.xls")
    Traceback (most recent call last):
    chacha.errors.ConfigError: out.xls: choose .vw (also .gz, .zst, .bz2, .lz4), .parquet or -
    """
    suffixes = [s.lower() for s in Path(path).suffixes[-2:]]
    if suffixes[-1:] == [".parquet"]:
        return ParquetWriter(path)
    is_text = suffixes[-1:] == [".vw"] or (suffixes[:1] == [".vw"] and suffixes[-1] in CODECS)
    if path == "-" or is_text:
        return TextWriter(path)
    raise ConfigError(f"{path}: choose .vw (also .gz, .zst, .bz2, .lz4), .parquet or -")
