"""The table of file formats, and the choice among them by name or by the first line.

A new format is a module with a :class:`~chacha.sources.formats.file_source.FormatReader` and an
entry in :class:`Format`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path

from chacha.errors import BadExample, SourceError
from chacha.sources.base import Source
from chacha.sources.formats.arff_file import ArffFile, looks_like_arff
from chacha.sources.formats.arrow_file import open_arrow, open_parquet
from chacha.sources.formats.csv_file import CsvFile, looks_like_csv, open_tsv
from chacha.sources.formats.file_source import FormatReader
from chacha.sources.formats.json_lines_file import JsonLines, looks_like_json
from chacha.sources.formats.libsvm_file import LibsvmFile, looks_like_libsvm
from chacha.sources.formats.vw_file import VWFile, looks_like_vw
from chacha.sources.formats.vw_json_file import VWJsonFile, looks_like_vw_json
from chacha.sources.reading.byte_stream import COMPRESSION, ByteReader, open_bytes
from chacha.sources.spec import TableSpec, refuse_unused
from chacha.sources.tables.batch import ExpectedColumns
from chacha.sources.values.dict_reader import DictReader
from chacha.sources.values.json_text import read_object

__all__ = ["FileFormat", "Format", "format_of_name", "open_file"]

ALL_SETTINGS = frozenset(field.name for field in fields(TableSpec))
TABLE_SETTINGS = ALL_SETTINGS - {"csv"}
GROUP_SETTINGS = frozenset({"groups", "group_by", "most_groups"})
NO_SETTINGS: frozenset[str] = frozenset()


def _never(line: str) -> bool:
    return False


@dataclass(frozen=True)
class FileFormat:
    """What is known of a file format.

    Parameters
    ----------
    title
        The format in words, for messages.
    endings
        The endings of file names that mean it.
    open
        What opens a file of the format.
    settings
        The fields of a :class:`TableSpec` that mean something for it; others are refused.
    sniff
        Whether the first line of a text file may be of this format.
    magic
        First bytes that mean it, for a binary format.
    from_start
        Whether the file is read from its start; if not, `open` gets the path only.
    """

    title: str
    endings: tuple[str, ...]
    open: FormatReader
    settings: frozenset[str] = TABLE_SETTINGS
    sniff: Callable[[str], bool] = _never
    magic: tuple[bytes, ...] = ()
    from_start: bool = True


class Format(Enum):
    """How a file is written. A first line belongs to the first format here that accepts it.

    >>> Format("vw"), Format.VW.entry.title
    (<Format.VW: 'vw'>, 'VW text')
    """

    entry: FileFormat
    _value_: str

    def __new__(cls, value: str, entry: FileFormat) -> Format:
        """Return a member whose value is its name on the command line."""
        member = object.__new__(cls)
        member._value_, member.entry = value, entry
        return member

    JSON_LINES = (
        "jsonl",
        FileFormat(
            "JSON lines",
            (".jsonl", ".ndjson", ".json"),  # .json may be VW's, by its first line
            JsonLines,
            sniff=looks_like_json,
        ),
    )
    VW_JSON = "vwjson", FileFormat("VW's JSON", (".vwjson",), VWJsonFile, NO_SETTINGS)
    ARFF = "arff", FileFormat("ARFF", (".arff",), ArffFile, sniff=looks_like_arff)
    LIBSVM = (
        "libsvm",
        FileFormat(
            "LIBSVM",
            (".libsvm", ".svmlight", ".svm"),
            LibsvmFile,
            GROUP_SETTINGS,
            looks_like_libsvm,
        ),
    )
    VW = "vw", FileFormat("VW text", (".vw",), VWFile, NO_SETTINGS, looks_like_vw)
    CSV = "csv", FileFormat("CSV", (".csv",), CsvFile, ALL_SETTINGS, looks_like_csv)
    TSV = "tsv", FileFormat("TSV", (".tsv", ".tab"), open_tsv, ALL_SETTINGS)
    PARQUET = (
        "parquet",
        FileFormat(
            "Parquet", (".parquet", ".pq"), open_parquet, magic=(b"PAR1",), from_start=False
        ),
    )
    ARROW = (
        "arrow",
        FileFormat(
            "Arrow",
            (".arrow", ".arrows", ".ipc", ".feather"),
            open_arrow,
            magic=(b"ARROW1", b"FEA1", b"\xff\xff\xff\xff"),
        ),
    )


ENDINGS = {ending: form for form in Format for ending in form.entry.endings}


def format_of_name(path: str) -> Format | None:
    """Return the format that the ending of a file name means, or None.

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
    expected: ExpectedColumns | None = None,
    form: Format | None = None,
) -> Source:
    """Return the source that a file is; its ending says the format, else its first line.

    >>> open_file("nowhere.csv", TableSpec())
    Traceback (most recent call last):
    chacha.errors.SourceError: nowhere.csv: no such file
    """
    named = form or format_of_name(path)
    if named is not None and not named.entry.from_start:
        return _open(named, path, table, None, reader, expected)
    file = open_bytes(path)
    detected = named or _sniff(file)
    if detected is Format.JSON_LINES and form is None and not table.target and _is_vw_json(file):
        detected = Format.VW_JSON
    if detected.entry.from_start:
        return _open(detected, path, table, file, reader, expected)
    file.close()
    return _open(detected, path, table, None, reader, expected)


def _open(
    form: Format,
    path: str,
    table: TableSpec,
    file: ByteReader | None,
    reader: DictReader | None,
    expected: ExpectedColumns | None,
) -> Source:
    refuse_unused(table, path, form.entry.title, form.entry.settings)
    return form.entry.open(path, table, file, reader, expected)


def _sniff(file: ByteReader) -> Format:
    """Return the format of a file by its first line."""
    first = file.peek_line()
    for form in Format:
        if form.entry.magic and first.startswith(form.entry.magic):
            return form
    if file.failed is not None:
        raise file.failed
    if b"\0" in first:
        raise SourceError(
            f"{file.name}: is neither text nor a known binary format (Parquet, Arrow); "
            "for UTF-16: --format csv --encoding utf-16"
        )
    line = first.decode(errors="replace").strip("\ufeff \t\r")
    for form in Format:
        if form.entry.sniff(line):
            return form
    raise SourceError(
        f"{file.name}: neither VW text (no '|' in line 1) nor a table (no ',' or tab); "
        f"name its format with --format: {', '.join(known.value for known in Format)}"
    )


def _is_vw_json(file: ByteReader) -> bool:
    try:
        return looks_like_vw_json(read_object(file.peek_line().decode("utf-8-sig")))
    except (BadExample, UnicodeDecodeError):
        return False  # the reader says what is wrong, with the place
