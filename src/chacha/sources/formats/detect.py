"""Formats: which reader a file needs, by its name or by how it begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from pathlib import Path

from chacha.errors import BadExample, SourceError
from chacha.sources.base import Source
from chacha.sources.formats.arff_file import ArffFile
from chacha.sources.formats.arrow_file import open_arrow, open_parquet
from chacha.sources.formats.csv_file import CsvFile
from chacha.sources.formats.libsvm_file import LibsvmFile, looks_like_libsvm
from chacha.sources.formats.vw_file import VWFile, VWJsonFile
from chacha.sources.formats.vw_json_file import looks_like_vw_json
from chacha.sources.reading.byte_stream import COMPRESSION, ByteReader, open_bytes
from chacha.sources.records.reader import JsonLines
from chacha.sources.spec import TableSpec, refuse_unused
from chacha.sources.tables.batch import Expected
from chacha.sources.values.dict_reader import DictReader
from chacha.sources.values.json_text import read_object

__all__ = ["Format", "format_of_name", "open_file"]


class Format(Enum):
    """How a file is written.

    >>> Format("vw")
    <Format.VW: 'vw'>
    """

    VW = "vw"
    VW_JSON = "vwjson"
    JSON_LINES = "jsonl"
    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    ARROW = "arrow"
    ARFF = "arff"
    LIBSVM = "libsvm"

    @property
    def told(self) -> str:
        """The format in words."""
        names = {"vw": "VW text", "vwjson": "VW's JSON", "jsonl": "JSON lines"}
        return names.get(self.value, self.value.capitalize())


ENDINGS = {
    ".vw": Format.VW,
    ".json": Format.JSON_LINES,  # or VW's, by its first line
    ".jsonl": Format.JSON_LINES,
    ".ndjson": Format.JSON_LINES,
    ".vwjson": Format.VW_JSON,
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".tab": Format.TSV,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".arrow": Format.ARROW,
    ".arrows": Format.ARROW,
    ".ipc": Format.ARROW,
    ".feather": Format.ARROW,
    ".arff": Format.ARFF,
    ".libsvm": Format.LIBSVM,
    ".svmlight": Format.LIBSVM,
    ".svm": Format.LIBSVM,
}
BINARY = {
    b"PAR1": Format.PARQUET,
    b"ARROW1": Format.ARROW,
    b"FEA1": Format.ARROW,
    b"\xff\xff\xff\xff": Format.ARROW,
}


def format_of_name(path: str) -> Format | None:
    """The format that a file's ending tells; None if it tells none.

    >>> format_of_name("rides.csv.gz"), format_of_name("-")
    (<Format.CSV: 'csv'>, None)
    """
    name = path.partition("?")[0] if "://" in path else path
    suffixes = [s for s in map(str.lower, Path(name).suffixes) if s not in COMPRESSION]
    return ENDINGS.get(suffixes[-1]) if suffixes else None


def open_file(
    path: str,
    table: TableSpec,
    reader: DictReader | None = None,
    expected: Expected | None = None,
    form: Format | None = None,
) -> Source:
    """The source that a file is; its ending tells the format, else its first line.

    >>> open_file("nowhere.csv", TableSpec())
    Traceback (most recent call last):
    chacha.errors.SourceError: nowhere.csv: no such file
    """
    told = form or format_of_name(path)
    if told is Format.PARQUET:
        _refuse_unused(path, table, told)
        return open_parquet(path, table, reader, expected)
    file = open_bytes(path)
    found = told or _sniff(file)
    if found is Format.JSON_LINES and form is None and not table.target and _is_vw_json(file):
        found = Format.VW_JSON
    _refuse_unused(path, table, found)
    if found is Format.TSV and table.csv.delimiter is None:
        table = replace(table, csv=replace(table.csv, delimiter="\t"))
    if found is Format.PARQUET:
        file.close()
        return open_parquet(path, table, reader, expected)
    return _FROM_THE_START[found](path, table, file, reader, expected)


_FROM_THE_START: dict[
    Format,
    Callable[[str, TableSpec, ByteReader, DictReader | None, Expected | None], Source],
] = {
    Format.ARROW: open_arrow,
    Format.VW: VWFile,
    Format.VW_JSON: VWJsonFile,
    Format.JSON_LINES: JsonLines,
    Format.LIBSVM: LibsvmFile,
    Format.ARFF: ArffFile,
    Format.CSV: CsvFile,
    Format.TSV: CsvFile,
}


def _refuse_unused(path: str, table: TableSpec, found: Format) -> None:
    """Settings that mean nothing for a format are mistakes."""
    honoured = table.changed() - {"csv"}
    match found:
        case Format.VW | Format.VW_JSON:
            honoured = set()
        case Format.LIBSVM:
            honoured = {"groups", "group_by", "most_groups"}
        case Format.CSV | Format.TSV:
            return
    refuse_unused(table, path, found.told, honoured)


def _sniff(file: ByteReader) -> Format:
    """The format of a file by its first line."""
    first = file.peek_line()
    for magic, binary in BINARY.items():
        if first.startswith(magic):
            return binary
    if file.failed is not None:
        raise file.failed
    if b"\0" in first:
        raise SourceError(
            f"{file.name}: is not text, and none of the binary formats that are known "
            "(Parquet, Arrow); for UTF-16: --format csv --encoding utf-16"
        )
    line = first.decode(errors="replace").strip("\ufeff \t\r")
    if line.startswith(("{", "[")):
        return Format.JSON_LINES
    if line.startswith("%") or line.lower().startswith(("@relation", "@attribute")):
        return Format.ARFF
    if looks_like_libsvm(line):
        return Format.LIBSVM
    if not line or "|" in line:
        return Format.VW
    if any(mark in line for mark in ",\t;"):
        return Format.CSV
    raise SourceError(
        f"{file.name}: neither VW text (no '|' in line 1) nor a table (no ',' or tab); "
        f"--format tells what it is: {', '.join(known.value for known in Format)}"
    )


def _is_vw_json(file: ByteReader) -> bool:
    try:
        return looks_like_vw_json(read_object(file.peek_line().decode("utf-8-sig")))
    except (BadExample, UnicodeDecodeError):
        return False  # the reader tells what is wrong, with the place
