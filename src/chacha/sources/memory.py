"""Tables in memory: NumPy, SciPy, pandas, polars, Arrow, and whatever speaks Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from chacha.errors import ConfigError
from chacha.sources.arrowfile import ROWS, ArrowTable
from chacha.sources.base import Source
from chacha.sources.dicts import DictReader
from chacha.sources.sparse import SparseRows
from chacha.sources.spec import TableSpec

__all__ = ["open_memory"]


def open_memory(
    what: Any, y: Any, spec: TableSpec | None, reader: DictReader | None
) -> Source | None:
    """A table that lies in memory, as a source; None if `what` is no table.

    `y` are its labels, if they are no column of it.

    >>> source = open_memory(np.array([[0.5, 2.0]]), [1.0], None, None)
    >>> [example.line for example in source]
    ['1.0 |x0 x0:0.5 |x1 x1:2.0']
    """
    if hasattr(what, "tocsr"):
        labels = _labels(what, y, what.shape[0])
        return SparseRows(what, labels, spec, reader)
    if isinstance(what, np.ndarray):
        return _numpy(what, y, spec, reader)
    text: list[str] = []
    kind = type(what).__module__.partition(".")[0]
    if kind == "pandas" and hasattr(what, "columns"):
        what, text = _pandas(what)
    elif isinstance(what, Mapping):
        what = _arrow_table(what)
    elif isinstance(what, pa.RecordBatch):
        what = pa.Table.from_batches([what])
    if not hasattr(what, "__arrow_c_stream__"):
        return None
    known = {"pandas": "pandas table", "polars": "polars table"}.get(kind, "Arrow table")
    if y is not None:
        what = what if isinstance(what, pa.Table) else pa.table(what)
        label = _array(y)
        if len(label) != len(what):
            raise ConfigError(f"{len(what)} rows, but {len(label)} labels")
        name = _free_name(y, what.column_names)
        what, spec = what.append_column(name, label), _target(spec, name)
    first = [_reader(what)]

    def batches() -> Any:
        return first.pop() if first else _reader(what)

    return ArrowTable(
        known.partition(" ")[2] if known == "Arrow table" else known.partition(" ")[0],
        first[0].schema,
        batches,
        spec,
        reader,
        text=text,
        understood=known,
        endless=isinstance(what, pa.RecordBatchReader),
    )


def _reader(what: Any) -> Any:
    if isinstance(what, pa.RecordBatchReader):
        return what
    return pa.RecordBatchReader.from_stream(what)


def _arrow_table(columns: Mapping[Any, Any]) -> pa.Table:
    """Columns by name as a table."""
    try:
        return pa.table({str(name): _array(column) for name, column in columns.items()})
    except (pa.ArrowException, TypeError) as error:
        raise ConfigError(f"a dict of columns could not be read as a table: {error}") from error


def _array(values: Any) -> pa.Array:
    """Anything like a column as an Arrow array."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if hasattr(values, "to_arrow"):  # polars
        return values.to_arrow()
    try:
        return pa.array(values, from_pandas=type(values).__module__.startswith("pandas"))
    except (pa.ArrowException, TypeError):
        return pa.array([None if value is None else str(value) for value in values])


def _pandas(frame: Any) -> tuple[pa.Table, list[str]]:
    """A pandas table; a column of mixed Python values is taken as text. NaN is missing."""
    names = [".".join(map(str, n)) if isinstance(n, tuple) else str(n) for n in frame.columns]
    arrays: list[pa.Array] = []
    text: list[str] = []
    for i, name in enumerate(names):
        column = frame.iloc[:, i]
        try:
            arrays.append(pa.Array.from_pandas(column))
        except (pa.ArrowException, TypeError, OverflowError):
            empty = column.isna()
            values = [None if none else str(v) for v, none in zip(column, empty, strict=True)]
            arrays.append(pa.array(values, pa.string()))
            text.append(name)
    return pa.Table.from_arrays(arrays, names=names), text


def _numpy(array: Any, y: Any, spec: TableSpec | None, reader: DictReader | None) -> ArrowTable:
    """A two-dimensional array, or one with named fields; NaN is no number."""
    if array.dtype.names:
        return _named(array, y, spec, reader)
    if array.ndim != 2:
        raise ConfigError(f"an array must have rows and columns, got shape {array.shape}")
    names = [f"x{i}" for i in range(array.shape[1])]
    labels = None if y is None else _array(_labels(array, y, len(array)))
    if labels is not None:
        label_name = _free_name(y, names)
        spec = _target(spec, label_name)

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, max(len(array), 1), ROWS):
            part = array[start : start + ROWS]
            columns = {name: _column(part[:, i]) for i, name in enumerate(names)}
            if labels is not None:
                columns[label_name] = labels[start : start + ROWS]
            yield pa.record_batch(columns)

    text = names if array.dtype.kind in "OUS" else []
    schema = next(batches()).schema
    told = f"NumPy array of {array.dtype}"
    return ArrowTable("array", schema, batches, spec, reader, text=text, understood=told)


def _named(array: Any, y: Any, spec: TableSpec | None, reader: DictReader | None) -> ArrowTable:
    table = _arrow_table({name: array[name] for name in array.dtype.names})
    source = open_memory(table, y, spec, reader)
    assert isinstance(source, ArrowTable)
    return source


def _column(values: Any) -> pa.Array:
    if values.dtype.kind in "OUS":
        empty = [value is None or value != value for value in values.tolist()]
        texts = [None if e else str(v) for v, e in zip(values.tolist(), empty, strict=True)]
        return pa.array(texts, pa.string())
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    return pa.array(np.ascontiguousarray(np.ma.getdata(values)), mask=mask)


def _labels(what: Any, y: Any, rows: int) -> Any:
    if y is None:
        raise ConfigError("a matrix holds features only; give the labels too: run(X, y)")
    labels = np.asarray(y)
    if labels.shape not in ((rows,), (rows, 1)):
        raise ConfigError(f"{rows} rows, but labels of shape {labels.shape}")
    return labels.reshape(rows)


def _free_name(y: Any, taken: Iterable[str]) -> str:
    name = str(getattr(y, "name", None) or "y")
    while name in taken:
        name += "_"
    return name


def _target(spec: TableSpec | None, name: str) -> TableSpec:
    spec = spec or TableSpec()
    if spec.target is not None and spec.target != name:
        raise ConfigError(f"the labels are given, so target={spec.target!r} must not be")
    return replace(spec, target=name)
