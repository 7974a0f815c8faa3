"""Examples in files: VW text, or Parquet with the features as they are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from chacha.data.example import Example, finite
from chacha.data.text_parser import parse_line
from chacha.data.vw_text import DEFAULT_GROUP, read_number, show_exactly
from chacha.errors import BadExample, ConfigError, SourceError
from chacha.sources.base import Bad

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
_UNSAFE = re.compile(r"[\s|]")
_POSITION = re.compile(r":[0-9]{1,6}", re.ASCII)
CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}


class ExampleWriter(Protocol):
    """Takes examples and writes them."""

    def write(self, example: Example) -> None:
        """One example."""

    def close(self) -> None:
        """Nothing more comes."""


class TextWriter:
    """Examples as VW text; the ending of the file tells how it is compressed."""

    def __init__(self, path: str) -> None:
        self._file = pa.output_stream(path, compression=CODECS.get(Path(path).suffix.lower()))

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
    suffixes = [s.lower() for s in Path(path).suffixes[-2:]]
    if suffixes[-1:] == [".parquet"]:
        return ParquetWriter(path)
    if suffixes[-1:] == [".vw"] or (suffixes[:1] == [".vw"] and suffixes[-1] in CODECS):
        return TextWriter(path)
    raise ConfigError(f"{path}: choose .vw (also .gz, .zst, .bz2, .lz4), .parquet or -")


def is_written(schema: pa.Schema) -> bool:
    """Whether a Parquet file holds examples as `chacha convert` writes them.

    >>> is_written(SCHEMA), is_written(pa.schema([("x", pa.int8())]))
    (True, False)
    """
    marked = (schema.metadata or {}).get(b"chacha") == b"examples 1"
    return marked and schema.equals(SCHEMA)


class WrittenExamples:
    """Examples that `chacha convert` wrote as Parquet.

    >>> WrittenExamples("clicks.parquet", iter([])).understood
    'Parquet of examples'
    """

    endless = False
    understood = "Parquet of examples"
    tabular = False

    def __init__(self, name: str, batches: Any) -> None:
        self.name = name
        self._batches = batches

    def __iter__(self) -> Iterator[Example | Bad]:
        number = 0
        try:
            for batch in self._batches():
                for row in batch.to_pylist():
                    number += 1
                    place = f"{self.name}: row {number}"
                    try:
                        yield _example(row, place)
                    except BadExample as error:
                        yield Bad(place, error.reason, str(error))
        except (pa.ArrowException, OSError) as error:
            told = str(error).splitlines()[0]
            raise SourceError(f"{self.name}: cannot be read after row {number}: {told}") from error


def _example(row: dict[str, Any], place: str) -> Example:
    """The example of a row: written as VW text, then read as such."""
    words: list[str] = []
    for group, features in row["features"] or []:
        if group != DEFAULT_GROUP and (not group or _UNSAFE.search(group) or ":" in group):
            raise BadExample(f"the group {group!r:.40} cannot be written in VW text", "malformed")
        bar = f"|{'' if group == DEFAULT_GROUP else group}"
        words.append(bar)
        position = 0  # of the next feature without a name
        for name, value in features or []:
            text = _number(name, value)
            if not name.startswith(":"):
                _check_name(name, value)
                words.append(name if value == 1.0 else f"{name}:{text}")
                continue
            if not _POSITION.fullmatch(name):
                raise BadExample(f"{name!r:.40} is no position", "malformed")
            at = int(name[1:])
            if at < position:  # it stood in another part of the group
                words.append(bar)
                position = 0
            words += [":0"] * (at - position)
            words.append(f":{text}")
            position = at + 1
    if row["label"] is None:
        raise BadExample("the example has no label; learning needs one", "no label")
    if _UNSAFE.search(tag := row["tag"] or ""):
        raise BadExample(f"the tag {tag!r:.40} holds white space or a bar", "malformed")
    body = parse_line(" ".join(words) or "|", place)
    head = replace(body, initial=finite(row["initial"] or 0.0, "initial prediction"), tag=tag)
    return head.with_label(row["label"], 1.0 if row["weight"] is None else row["weight"])


def _check_name(name: str, value: float) -> None:
    """Refuse a name that VW text cannot hold; `color:red` is one, with the value 1."""
    _, colon, word = name.partition(":")
    if not name or _UNSAFE.search(name) or (colon and (value != 1.0 or not _is_word(word))):
        raise BadExample(f"the feature {name!r:.40} cannot be written in VW text", "malformed")


def _is_word(text: str) -> bool:
    return bool(text) and read_number(text) is None


def _number(name: str, value: float | None) -> str:
    text, read = show_exactly(math.nan if value is None else value)
    if not math.isfinite(read):
        raise BadExample(f"feature {name!r} is {value}; values must be finite", "value not finite")
    return text
