"""Sources of examples: files, addresses, built-in streams, tables in memory, and rows.

:func:`open_source` and :func:`open_files` open them all. The packages, low to high:
`reading` (bytes and lines), `values` (one value to features), `tables` (columns of many rows),
`records` (dicts with a label), `formats` (file formats); the modules beside them are the
other kinds of sources and the writers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from typing import Any

from chacha.errors import ConfigError
from chacha.sources.base import (
    Bad,
    OnBad,
    Skipped,
    Source,
    Unlabelled,
    check_ends,
    good_examples,
    is_table,
)
from chacha.sources.csv_dialect import CsvDialect
from chacha.sources.formats.csv_file import CsvFile
from chacha.sources.formats.detect import Format, open_file
from chacha.sources.formats.vw_file import VWFile
from chacha.sources.log_target import LogLabels, LogTarget
from chacha.sources.many_files import Files, expand, renamed
from chacha.sources.memory import open_memory
from chacha.sources.openml import find_dataset
from chacha.sources.rows import Row, Rows, with_labels
from chacha.sources.spec import (
    Categories,
    GroupBy,
    Kind,
    Missing,
    TableSpec,
    refuse_unused,
)
from chacha.sources.synthetic import SynthSource, open_synth
from chacha.sources.values.dict_reader import DictReader

__all__ = [
    "Bad",
    "Categories",
    "CsvDialect",
    "CsvFile",
    "DictReader",
    "Files",
    "Format",
    "GroupBy",
    "Kind",
    "LogLabels",
    "LogTarget",
    "Missing",
    "OnBad",
    "Row",
    "Rows",
    "Skipped",
    "Source",
    "SynthSource",
    "TableSpec",
    "Unlabelled",
    "VWFile",
    "check_ends",
    "good_examples",
    "is_table",
    "open_files",
    "open_source",
]


def open_source(
    what: Any,
    table: TableSpec | None = None,
    reader: DictReader | None = None,
    *,
    y: Any = None,
    form: Format | None = None,
) -> Source:
    """Return the source that `what` means: a file, `-`, an address, a table in memory, rows.

    `synth:NAME` is a built-in stream, `openml:ID` a data set of openml.org, and a name with
    `*` means several files. A row is a pair (dict, label), a dict if the target is named, a
    line of VW text, or an example. `y` holds the labels of a table in memory that lacks them.

    The ending of a file name decides its format; without a known one, the first line does.

    >>> open_source("synth:fried,n=3").name
    'synth:fried,n=3,seed=0'
    >>> open_source([({"x": 1.0}, 2.0)]).name
    'rows'
    >>> import numpy as np
    >>> [example.line for example in open_source(np.eye(2), y=[0.5, 1.5])]
    ['0.5 |x0 x0 |x1', '1.5 |x0 |x1 x1']
    """
    if isinstance(what, (str, PathLike)):
        if y is not None:
            raise ConfigError("labels can be given for a table in memory only, not for a file")
        return open_files([fspath(what)], table, reader, form=form)
    if table is not None and not isinstance(table, TableSpec):
        raise ConfigError(f"table must be a TableSpec, got {table!r:.60}")
    if isinstance(what, Source):
        return what
    source = open_memory(what, y, table, reader)
    if source is not None:
        return source
    if not isinstance(what, Iterable):
        raise ConfigError(f"a source is a path, a table or an iterable of rows, got {what!r:.60}")
    if y is not None:
        what = with_labels(what, y)
    return Rows(what, reader=reader, table=table)


def open_files(
    names: Sequence[str | PathLike[str]],
    table: TableSpec | None = None,
    reader: DictReader | None = None,
    *,
    form: Format | None = None,
) -> Source:
    """Return several files, patterns or addresses as one stream, in the order given.

    >>> open_files(["synth:fried,n=3"]).name
    'synth:fried,n=3,seed=0'
    """
    table, reader = table or TableSpec(), reader or DictReader()
    words = [fspath(name) for name in names]
    if not words or "" in words:
        raise ConfigError("name at least one file, and no empty name")
    for word in words:
        if word.startswith(("synth:", "openml:")) or word == "-":
            if len(words) > 1:
                raise ConfigError(f"{word} cannot be one of several sources")
            return _named(word, table, reader, form)
    paths = [path for word in words for path in expand(word)]
    if len(paths) == 1:
        return open_file(paths[0], table, reader, form=form)
    return Files(paths, lambda path, expected: open_file(path, table, reader, expected, form))


def _named(word: str, table: TableSpec, reader: DictReader | None, form: Format | None) -> Source:
    if word.startswith("synth:"):
        refuse_unused(table, word, "a built-in stream", ())
        return open_synth(word.removeprefix("synth:"))
    if word.startswith("openml:"):
        path, spec = find_dataset(word.removeprefix("openml:"), table)
        return renamed(open_file(path, spec, reader), word)
    return open_file(word, table, reader, form=form)
