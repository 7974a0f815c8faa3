"""Examples in files: VW text, or Parquet with the features as they are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from chacha.errors import BadExample, ConfigError
from chacha.example import DEFAULT_GROUP, Example, parse_line
from chacha.sources.base import Bad
from chacha.vwtext import show_exactly

__all__ = ["SCHEMA", "ExampleWriter", "WrittenExamples", "is_written", "open_writer"]

SCHEMA = pa.schema(
    [
        ("label", pa.float32()),
        ("weight", pa.float32()),
        ("initial", pa.float32()),
        ("tag", pa.string()),
        ("features", pa.map_(pa.string(), pa.map_(pa.string(), pa.float32()))),
    ],
    metadata={"chacha": "examples 1"},
)
"""One row an example: group -> name -> value. The metadata tells such a file from a table."""

ROWS = 4096


class ExampleWriter(Protocol):
    """Takes examples and writes them."""

    def write(self, example: Example) -> None:
        """One example."""

    def close(self) -> None:
        """Nothing more comes."""


class TextWriter:
    """Examples as VW text; the ending of the file tells how it is compressed."""

    def __init__(self, path: str) -> None:
        codec = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
        self._file = pa.output_stream(path, compression=codec.get(Path(path).suffix.lower()))

    def write(self, example: Example) -> None:
        """One line."""
        self._file.write(f"{example.line}\n".encode())

    def close(self) -> None:
        """Write what is left."""
        self._file.close()


class ParquetWriter:
    """Examples as Parquet, a row group at a time."""

    def __init__(self, path: str) -> None:
        self._writer = pq.ParquetWriter(path, SCHEMA)
        self._rows: list[dict[str, Any]] = []

    def write(self, example: Example) -> None:
        """One row."""
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
        if len(self._rows) >= ROWS:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._rows, SCHEMA))
        self._rows.clear()

    def close(self) -> None:
        """Write what is left."""
        if self._rows:
            self._flush()
        self._writer.close()


def open_writer(path: str) -> ExampleWriter:
    """The writer that the ending of `path` asks for.

    >>> open_writer("out.xls")
    Traceback (most recent call last):
    chacha.errors.ConfigError: out.xls: choose .vw (also .gz, .zst, .bz2, .lz4), .parquet or -
    """
    suffixes = [s.lower() for s in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".parquet":
        return ParquetWriter(path)
    if any(s in (".vw", ".txt") for s in suffixes[-2:]):
        return TextWriter(path)
    raise ConfigError(f"{path}: choose .vw (also .gz, .zst, .bz2, .lz4), .parquet or -")


def is_written(schema: pa.Schema) -> bool:
    """Whether a Parquet file holds examples as `chacha convert` writes them.

    >>> is_written(SCHEMA), is_written(pa.schema([("x", pa.int8())]))
    (True, False)
    """
    return (schema.metadata or {}).get(b"chacha") == b"examples 1"


class WrittenExamples:
    """Examples that `chacha convert` wrote as Parquet.

    >>> WrittenExamples("clicks.parquet", iter([])).understood
    'Parquet of examples'
    """

    endless = False
    understood = "Parquet of examples"

    def __init__(self, name: str, batches: Any) -> None:
        self.name = name
        self._batches = batches

    def __iter__(self) -> Iterator[Example | Bad]:
        number = 0
        for batch in self._batches():
            for row in batch.to_pylist():
                number += 1
                place = f"{self.name}: row {number}"
                try:
                    yield _example(row, place)
                except BadExample as error:
                    yield Bad(place, error.reason, str(error))


def _example(row: dict[str, Any], place: str) -> Example:
    """The example of a row: written as VW text, then read as such."""
    words: list[str] = []
    for group, features in row["features"] or []:
        words.append(f"|{'' if group == DEFAULT_GROUP else group}")
        words += [_feature(name, value) for name, value in features]
    if row["label"] is None:
        raise BadExample("the example has no label; learning needs one", "no label")
    example = parse_line(" ".join(words) or "|", place)
    head = Example(
        example.groups, example.body, initial=row["initial"], tag=row["tag"] or "", place=place
    )
    return head.with_label(row["label"], row["weight"])


def _feature(name: str, value: float) -> str:
    text, read = show_exactly(value)
    if not math.isfinite(read):
        raise BadExample(f"feature {name!r} is {value}; values must be finite", "value not finite")
    if name.startswith(":"):  # one without a name
        return f":{text}"
    return name if value == 1.0 else f"{name}:{text}"
