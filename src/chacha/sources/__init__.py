"""Sources: where examples come from."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path

from chacha.errors import ConfigError, SourceError
from chacha.sources.base import (
    COMPRESSION,
    Bad,
    ByteReader,
    OnBad,
    Source,
    good_examples,
    open_bytes,
)
from chacha.sources.csvfile import CsvFile
from chacha.sources.dicts import DictReader
from chacha.sources.rows import Row, Rows
from chacha.sources.synth import SynthSource, open_synth
from chacha.sources.table import Categories, Missing, TableSpec
from chacha.sources.vw import VWFile

__all__ = [
    "Bad",
    "Categories",
    "CsvFile",
    "DictReader",
    "Missing",
    "OnBad",
    "Row",
    "Rows",
    "Source",
    "SynthSource",
    "TableSpec",
    "VWFile",
    "good_examples",
    "open_source",
]

TABLES = (".csv", ".tsv")


def open_source(
    what: str | PathLike[str] | Source | Iterable[Row],
    table: TableSpec | None = None,
    reader: DictReader | None = None,
) -> Source:
    """The source that `what` means: a path, `-`, `synth:NAME`, or an iterable of rows.

    A row is a pair (dict, label), a line of VW text, or an example.

    The ending of a file tells its format; without a known one the first line does.

    >>> open_source("synth:fried,n=3").name
    'synth:fried,n=3,seed=0'
    >>> open_source([({"x": 1.0}, 2.0)]).name
    'rows'
    """
    if not isinstance(what, (str, PathLike)):
        if isinstance(what, Source):
            return what
        if not isinstance(what, Iterable):
            raise ConfigError(f"a source is a path or an iterable of rows, got {what!r:.60}")
        return Rows(what, reader=reader)
    path = fspath(what)
    if path.startswith("synth:"):
        return open_synth(path.removeprefix("synth:"))
    suffixes = [s for s in map(str.lower, Path(path).suffixes) if s not in COMPRESSION]
    file = ByteReader(open_bytes(path), path)
    if suffixes and suffixes[-1] in TABLES:
        return CsvFile(path, table, file, reader)
    if suffixes and suffixes[-1] == ".vw":
        return VWFile(path, file)
    first = file.peek_line()
    if first.startswith((b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK")) or b"\0" in first:
        raise SourceError(
            f"{path}: is compressed or not text; known endings are .gz, .zst, .bz2 and .lz4, and "
            "standard input takes plain text (zcat FILE.gz | chacha run -)"
        )
    if not first or b"|" in first:
        return VWFile(path, file)
    if any(mark in first for mark in (b",", b"\t", b";")):
        return CsvFile(path, table, file, reader)
    raise SourceError(
        f"{path}: neither VW text (no '|' in line 1) nor a table (no ',' or tab); "
        "known endings are .vw, .csv and .tsv, each also with .gz, .zst, .bz2 or .lz4"
    )
