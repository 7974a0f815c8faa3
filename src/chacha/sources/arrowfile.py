"""Arrow: Parquet, Feather and IPC files, and tables in memory, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from chacha.errors import SourceError
from chacha.example import Example
from chacha.sources.ahead import Ahead
from chacha.sources.base import Bad, Source
from chacha.sources.batch import Batch, Expected
from chacha.sources.bytestream import open_random, open_stream
from chacha.sources.dicts import DictReader
from chacha.sources.spec import TableSpec
from chacha.sources.table import TableReader
from chacha.sources.written import WrittenExamples, is_written

__all__ = ["ROWS", "ArrowTable", "open_arrow", "open_parquet"]

ROWS = 4096  # of a batch
Batches = Callable[[], Iterable[pa.RecordBatch]]


class ArrowTable:
    """A table of typed columns: a schema, and what gives its batches from the first on.

    >>> table = pa.table({"x": [1.5, None], "y": [1, 2]})
    >>> [e.line for e in ArrowTable("table", table.schema, table.to_batches)]
    ['1.0 |x x:1.5', '2.0 |x']
    """

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        batches: Batches,
        spec: TableSpec | None = None,
        reader: DictReader | None = None,
        *,
        text: Collection[str] = (),
        expected: Expected | None = None,
        understood: str = "Arrow table",
        endless: bool = False,
    ) -> None:
        self.name, self.endless, self.understood = name, endless, understood
        self.spec = spec or TableSpec()
        self.table: TableReader | None = None
        self._schema, self._batches = schema, batches
        self._reader = reader or DictReader()
        self._text, self._expected = text, expected

    def __iter__(self) -> Iterator[Example | Bad]:
        columns, structs = _names(self.name, self._schema)
        table = self.table = TableReader(
            self.spec,
            self.name,
            columns,
            self._reader,
            text=self._text,
            structs=structs,
            expected=self._expected,
        )
        try:
            with Ahead(small_batches(self._batches()), most=4) as batches:
                for batch in batches:
                    yield from table.read(Batch(batch))
            yield from table.rest()
        except (pa.ArrowException, OSError) as error:
            yield from table.rest()
            told = str(error).splitlines()[0]
            raise SourceError(
                f"{self.name}: cannot be read after row {table.row}: {told}"
            ) from error


def small_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches, none of them larger than :data:`ROWS`, none empty.

    >>> batch = pa.record_batch({"x": list(range(5000))})
    >>> [len(part) for part in small_batches([batch])]
    [4096, 904]
    """
    for batch in batches:
        for start in range(0, len(batch), ROWS):
            yield batch.slice(start, ROWS)


def _names(name: str, schema: pa.Schema) -> tuple[list[str], set[str]]:
    """The columns, those of a struct by their path, and the names of the structs."""
    columns: list[str] = []
    structs: set[str] = set()

    def add(path: str, kind: pa.DataType) -> None:
        if pa.types.is_struct(kind):
            structs.add(path.partition(".")[0])
            for field in kind:
                add(f"{path}.{field.name}", field.type)
        else:
            columns.append(path)

    for field in schema:
        add(field.name, field.type)
    if len(columns) < 2:
        raise SourceError(f"{name}: one column only; a table needs features and a target")
    for column, times in Counter(columns).items():
        if not column:
            raise SourceError(f"{name}: a column has no name; name them all")
        if times > 1:
            raise SourceError(f"{name}: column {column!r} stands twice")
    return columns, structs


def open_parquet(
    path: str, spec: TableSpec, reader: DictReader | None, expected: Expected | None
) -> Source:
    """A Parquet file; its row groups are read one after the other.

    >>> open_parquet("nowhere.parquet", TableSpec(), None, None)
    Traceback (most recent call last):
    chacha.errors.SourceError: nowhere.parquet: no such file
    """

    try:
        with open_random(path) as file, pq.ParquetFile(file) as first:
            schema, groups = first.schema_arrow, first.num_row_groups
    except (pa.ArrowException, OSError) as error:
        told = str(error).splitlines()[0]
        raise SourceError(f"{path}: is not a whole Parquet file: {told}") from error

    def batches() -> Iterator[pa.RecordBatch]:
        with open_random(path) as file, pq.ParquetFile(file, pre_buffer=False) as opened:
            wanted = _wanted(schema, spec)
            yield from opened.iter_batches(batch_size=ROWS, columns=wanted, use_threads=False)

    if is_written(schema):
        return WrittenExamples(path, batches)
    told = f"Parquet, {groups} row group{'s' if groups != 1 else ''}"
    return ArrowTable(path, schema, batches, spec, reader, expected=expected, understood=told)


def _wanted(schema: pa.Schema, spec: TableSpec) -> list[str]:
    """The columns that are looked at; whole structs."""
    return [name for name in schema.names if not spec.is_ignored(name)]


def open_arrow(
    path: str, spec: TableSpec, reader: DictReader | None, expected: Expected | None
) -> ArrowTable:
    """An Arrow IPC file or stream, or a Feather file.

    >>> open_arrow("nowhere.arrow", TableSpec(), None, None)
    Traceback (most recent call last):
    chacha.errors.SourceError: nowhere.arrow: no such file
    """
    file = open_stream(path)
    magic = bytes(file.peek(6)) if hasattr(file, "peek") else b""
    if magic[:4] == b"FEA1":
        file.close()
        raise SourceError(f"{path}: is Feather version 1; write it again with a newer library")
    try:
        if magic == b"ARROW1":
            file.close()
            with open_random(path) as whole, pa.ipc.open_file(whole) as first:
                schema, count = first.schema, first.num_record_batches
            told = f"Arrow IPC file, {count} batch{'es' if count != 1 else ''}"

            def batches() -> Iterator[pa.RecordBatch]:
                with open_random(path) as whole, pa.ipc.open_file(whole) as opened:
                    for i in range(opened.num_record_batches):
                        yield opened.get_batch(i)

            return ArrowTable(
                path, schema, batches, spec, reader, expected=expected, understood=told
            )
        stream = pa.ipc.open_stream(file)
    except (pa.ArrowException, OSError) as error:
        told = str(error).splitlines()[0]
        raise SourceError(f"{path}: is not a whole Arrow IPC or Feather file: {told}") from error
    once = [stream]

    def rest() -> Any:
        return once.pop() if once else pa.ipc.open_stream(open_stream(path))

    return ArrowTable(
        path,
        stream.schema,
        rest,
        spec,
        reader,
        expected=expected,
        understood="Arrow IPC stream",
        endless=path == "-",
    )
