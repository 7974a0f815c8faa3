"""Sources: where examples come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from chacha.errors import SourceError
from chacha.sources.base import COMPRESSION, Bad, ByteReader, Source, good_examples, open_bytes
from chacha.sources.dicts import DictSource
from chacha.sources.synth import SynthSource, open_synth
from chacha.sources.table import Categories, CsvFile, Missing, TableSpec
from chacha.sources.vw import VWFile, VWLines

__all__ = [
    "Bad",
    "Categories",
    "CsvFile",
    "DictSource",
    "Missing",
    "Source",
    "SynthSource",
    "TableSpec",
    "VWFile",
    "VWLines",
    "good_examples",
    "open_source",
]

TABLES = (".csv", ".tsv")


def open_source(
    what: str | PathLike[str] | Source | Iterable[tuple[Mapping[Any, Any], Any]],
    table: TableSpec | None = None,
) -> Source:
    """The source that `what` means: a path, `-`, `synth:NAME`, or an iterable of (x, y).

    The ending of a file tells its format; without a known one the first line does.

    >>> open_source("synth:fried,n=3").name
    'synth:fried,n=3,seed=0'
    >>> open_source([({"x": 1.0}, 2.0)]).name
    'dicts'
    """
    if not isinstance(what, (str, PathLike)):
        if hasattr(what, "endless") and hasattr(what, "name"):
            return what  # type: ignore[return-value]
        return DictSource(what)
    path = fspath(what)
    if path.startswith("synth:"):
        return open_synth(path.removeprefix("synth:"))
    suffixes = [s for s in Path(path).suffixes if s not in COMPRESSION]
    reader = ByteReader(open_bytes(path), path)
    if suffixes and suffixes[-1] in TABLES:
        return CsvFile(path, table, reader)
    if suffixes and suffixes[-1] == ".vw":
        return VWFile(path, reader)
    first = reader.peek_line()
    if not first or b"|" in first:
        return VWFile(path, reader)
    if any(mark in first for mark in (b",", b"\t", b";")):
        return CsvFile(path, table, reader)
    raise SourceError(
        f"{path}: neither VW text (no '|' in line 1) nor a table (no ',' or tab); "
        "known endings are .vw, .csv and .tsv, each also with .gz, .zst, .bz2 or .lz4"
    )
