"""Parquet, Feather and Arrow IPC files, and Arrow tables in memory, read batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from chacha.data.example import Example
from chacha.errors import SourceError
from chacha.sources.base import Bad, Source
from chacha.sources.formats.example_parquet_file import ExampleParquet, holds_examples
from chacha.sources.reading.byte_stream import ByteReader, open_bytes, open_random
from chacha.sources.reading.prefetch import Prefetch
from chacha.sources.spec import Kind, TableSpec
from chacha.sources.tables.batch import Batch, ExpectedColumns
from chacha.sources.tables.columns import kind_of_type
from chacha.sources.tables.reader import TableItem, TableReader
from chacha.sources.tables.schema import Schema
from chacha.sources.values.dict_reader import DictReader

__all__ = ["BATCH_ROWS", "ArrowTable", "open_arrow", "open_parquet"]

BATCH_ROWS = 4096  # rows that become examples together
MOST_CELLS = 1 << 21  # cells of a batch that becomes a block
Batches = Callable[[], Iterable[pa.RecordBatch]]


class ArrowTable:
    """A table of typed columns: its schema, and a function that returns its batches.

    `text` names the columns in which numbers are written as text, `categories` the declared
    categories. With `background`, a thread reads ahead; not for what users give, which is read
    by the thread that learns.

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
        categories: Mapping[str, Sequence[str]] | None = None,
        expected: ExpectedColumns | None = None,
        description: str = "Arrow table",
        endless: bool = False,
        background: bool = False,
    ) -> None:
        self.name, self.endless, self.description = name, endless, description
        self.spec = spec or TableSpec()
        self.table: TableReader | None = None
        self._schema, self._batches = schema, batches
        self._reader = reader or DictReader()
        self._text, self._categories = frozenset(text), categories
        self._expected, self._background = expected, background

    def __iter__(self) -> Iterator[Example | Bad]:
        return cast("Iterator[Example | Bad]", self._items(in_blocks=False))

    def blocks(self) -> Iterator[TableItem]:
        """Yield the rows as blocks of columns where that is possible."""
        return self._items(in_blocks=True)

    def _items(self, in_blocks: bool) -> Iterator[TableItem]:
        types, structs = self._columns()
        schema = Schema(
            self.spec,
            self.name,
            list(types),
            self._reader,
            structs=structs,
            kinds=self._kinds(types),
            categories=self._categories,
            expected=self._expected,
        )
        table = self.table = TableReader(schema, self._reader, in_blocks=in_blocks)
        rows = max(BATCH_ROWS, MOST_CELLS // len(types)) if in_blocks else BATCH_ROWS
        small = small_batches(self._batches(), rows)
        try:
            with Prefetch(small, most=4) if self._background else nullcontext(small) as batches:
                for batch in batches:
                    yield from table.read(Batch(batch, text=self._text))
            yield from table.finish()
        except (pa.ArrowException, OSError) as error:
            yield from table.flush()
            cause = str(error).splitlines()[0]
            message = f"{self.name}: cannot be read after row {table.row}: {cause}"
            raise SourceError(message) from error

    def _columns(self) -> tuple[dict[str, pa.DataType], list[str]]:
        """Return the columns' types, those inside a struct by their path, and the structs."""
        types: dict[str, pa.DataType] = {}
        structs: list[str] = []

        def add(path: str, kind: pa.DataType) -> None:
            if pa.types.is_struct(kind):
                for field in kind:
                    add(f"{path}.{field.name}", field.type)
            elif not path or path in types:
                problem = f"column {path!r} occurs twice" if path else "a column has no name"
                raise SourceError(f"{self.name}: {problem}; give every column a name of its own")
            else:
                types[path] = kind

        for field in self._schema:
            if pa.types.is_struct(field.type):
                structs.append(field.name)
            add(field.name, field.type)
        if len(types) < 2:
            message = "one column only; a table needs features and a target"
            raise SourceError(f"{self.name}: {message}")
        return types, sorted(structs, key=len, reverse=True)

    def _kinds(self, types: Mapping[str, pa.DataType]) -> dict[str, Kind]:
        """Return the kinds of the columns whose type determines it."""
        kinds: dict[str, Kind] = {}
        roles = (self.spec.target, self.spec.weight, self.spec.tag)
        for name, column_type in types.items():
            if self.spec.is_ignored(name) or name in roles:
                continue
            try:
                kind = kind_of_type(name, column_type)
            except SourceError as error:
                raise SourceError(f"{self.name}: {error}") from error
            if kind is not None:
                kinds[name] = kind
        return kinds


def small_batches(
    batches: Iterable[pa.RecordBatch], rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """Yield the batches in pieces of at most `rows` rows, without empty ones.

    >>> batch = pa.record_batch({"x": list(range(5000))})
    >>> [len(part) for part in small_batches([batch])]
    [4096, 904]
    """
    for batch in batches:
        for start in range(0, len(batch), rows):
            yield batch.slice(start, rows)


def open_parquet(
    path: str,
    spec: TableSpec,
    file: ByteReader | None,
    reader: DictReader | None,
    expected: ExpectedColumns | None,
) -> Source:
    """Return a Parquet file as a source; its row groups are read one after the other.

    The file is read from its end, so it is opened by `path`; `file` is not used.

    >>> open_parquet("nowhere.parquet", TableSpec(), None, None, None)
    Traceback (most recent call last):
    chacha.errors.SourceError: nowhere.parquet: no such file
    """
    try:
        with open_random(path) as whole, pq.ParquetFile(whole) as first:
            schema, groups = first.schema_arrow, first.num_row_groups
    except (pa.ArrowException, OSError) as error:
        cause = str(error).splitlines()[0]
        raise SourceError(f"{path}: is not a whole Parquet file: {cause}") from error

    def batches() -> Iterator[pa.RecordBatch]:
        with open_random(path) as whole, pq.ParquetFile(whole, pre_buffer=False) as opened:
            wanted = _wanted(schema, spec)
            yield from opened.iter_batches(batch_size=BATCH_ROWS, columns=wanted, use_threads=False)

    if holds_examples(schema):
        return ExampleParquet(path, batches)
    return ArrowTable(
        path,
        schema,
        batches,
        spec,
        reader,
        expected=expected,
        description=f"Parquet, {groups} row group{'s' if groups != 1 else ''}",
        background=True,
    )


def _wanted(schema: pa.Schema, spec: TableSpec) -> list[str]:
    """Return the columns to read; a struct is read whole."""
    return [name for name in schema.names if not spec.is_ignored(name)]


def open_arrow(
    path: str,
    spec: TableSpec,
    file: ByteReader | None,
    reader: DictReader | None,
    expected: ExpectedColumns | None,
) -> Source:
    """Return an Arrow IPC file or stream, or a Feather file, as a source.

    >>> open_arrow("a.arrow", TableSpec(), open_bytes("nowhere.arrow"), None, None)
    Traceback (most recent call last):
    chacha.errors.SourceError: nowhere.arrow: no such file
    """
    file = file or open_bytes(path)
    first = file.peek(6)
    if first.startswith(b"FEA1"):
        file.close()
        raise SourceError(f"{path}: is Feather version 1; write it again with a newer library")
    try:
        if first == b"ARROW1":
            file.close()
            return _ipc_file(path, spec, reader, expected)
        stream = pa.ipc.open_stream(file.as_file())
    except (pa.ArrowException, OSError) as error:
        file.close()
        cause = str(error).splitlines()[0]
        raise SourceError(f"{path}: is not a whole Arrow IPC or Feather file: {cause}") from error
    first_pass = [stream]

    def batches() -> Any:
        return first_pass.pop() if first_pass else pa.ipc.open_stream(open_bytes(path).as_file())

    return ArrowTable(
        path,
        stream.schema,
        batches,
        spec,
        reader,
        expected=expected,
        description="Arrow IPC stream",
        endless=path == "-",
    )


def _ipc_file(
    path: str, spec: TableSpec, reader: DictReader | None, expected: ExpectedColumns | None
) -> ArrowTable:
    with open_random(path) as whole, pa.ipc.open_file(whole) as first:
        schema, count = first.schema, first.num_record_batches

    def batches() -> Iterator[pa.RecordBatch]:
        with open_random(path) as whole, pa.ipc.open_file(whole) as opened:
            for i in range(opened.num_record_batches):
                yield opened.get_batch(i)

    return ArrowTable(
        path,
        schema,
        batches,
        spec,
        reader,
        expected=expected,
        description=f"Arrow IPC file, {count} batch{'es' if count != 1 else ''}",
        background=True,
    )
