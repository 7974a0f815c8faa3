"""Tables in memory: NumPy, SciPy, pandas, polars, Arrow, and what has Arrow's C stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from chacha.errors import ConfigError
from chacha.sources.base import Source
from chacha.sources.formats.arrow_file import BATCH_ROWS, ArrowTable
from chacha.sources.formats.sparse_matrix import SparseMatrix
from chacha.sources.spec import TableSpec, refuse_unused
from chacha.sources.values.dict_reader import DictReader

__all__ = ["open_memory"]

GROUP_SETTINGS = ("groups", "group_by", "most_groups")
CONVERSION_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError, UnicodeError)


class MemoryTable(NamedTuple):
    """A table in memory, its columns of text, and its declared categories."""

    data: Any
    text: list[str]
    categories: dict[str, list[str]]


def open_memory(
    what: Any, y: Any, spec: TableSpec | None, reader: DictReader | None
) -> Source | None:
    """Return a table in memory as a source; None if `what` is not a table.

    `y` holds the labels, if they are not a column of the table.

    >>> source = open_memory(np.array([[0.5, 2.0]]), [1.0], None, None)
    >>> [example.line for example in source]
    ['1.0 |x0 x0:0.5 |x1 x1:2.0']
    """
    spec = spec or TableSpec()
    kind = type(what).__module__.partition(".")[0]
    if hasattr(what, "tocsr"):
        refuse_unused(spec, "the source", "a sparse matrix", (*GROUP_SETTINGS, "positive"))
        if getattr(what, "ndim", 2) != 2 or np.iscomplexobj(what):
            raise ConfigError("a sparse matrix must have rows and columns of real numbers")
        labels = _labels(y, what.shape[0])
        return SparseMatrix(what, labels.to_pylist(), spec, reader)
    if isinstance(what, np.ndarray) and not what.dtype.names:
        return _numpy(np.asanyarray(what), y, spec, reader)
    refuse_unused(spec, "the source", "a table in memory", set(spec.changed()) - {"csv"})
    table = _as_table(what, kind)
    if table is None:
        return None
    if kind == "pandas":  # NaN means a missing value there
        spec = replace(spec, nulls=(*spec.nulls, "nan"))
    data = table.data
    if y is not None:
        data = data if isinstance(data, pa.Table) else pa.table(data)
        name = _free_name(y, data.column_names)
        data, spec = data.append_column(name, _labels(y, len(data))), _target(spec, name)
    first = [_reader(data)]

    def batches() -> Any:
        return first.pop() if first else _reader(data)

    return ArrowTable(
        kind if kind in ("pandas", "polars") else "table",
        first[0].schema,
        batches,
        spec,
        reader,
        text=table.text,
        categories=table.categories,
        description=f"{kind if kind in ('pandas', 'polars') else 'Arrow'} table",
        endless=isinstance(data, pa.RecordBatchReader),
    )


def _as_table(what: Any, kind: str) -> MemoryTable | None:
    if kind == "pandas" and hasattr(what, "columns"):
        return _pandas(what)
    if isinstance(what, Mapping):
        return _columns(what)
    if isinstance(what, np.ndarray):
        return _columns({name: what[name] for name in what.dtype.names})
    if isinstance(what, pa.RecordBatch):
        return MemoryTable(pa.Table.from_batches([what]), [], {})
    if isinstance(what, (pa.Array, pa.ChunkedArray)) or (
        kind in ("pandas", "polars") and type(what).__name__ == "Series"
    ):
        raise ConfigError("one column is not a table; a table needs features and a target")
    if kind == "polars" and type(what).__name__ == "LazyFrame":
        raise ConfigError("a LazyFrame has no rows yet; collect() it first")
    if not hasattr(what, "__arrow_c_stream__"):
        return None
    categories: dict[str, list[str]] = {}
    if kind == "polars":
        for name, dtype in what.schema.items():
            if type(dtype).__name__ == "Enum":
                categories[name] = dtype.categories.to_list()
    return MemoryTable(what, [], categories)


def _reader(what: Any) -> Any:
    if isinstance(what, pa.RecordBatchReader):
        return what
    try:
        return pa.RecordBatchReader.from_stream(what)
    except CONVERSION_ERRORS as error:
        raise ConfigError(f"the table cannot be read: {error}") from error


def _columns(columns: Mapping[Any, Any]) -> MemoryTable:
    """Return columns by name as a table; mixed values become text."""
    arrays: dict[str, pa.Array] = {}
    text: list[str] = []
    try:
        for name, column in columns.items():
            try:
                arrays[str(name)] = _array(column)
            except CONVERSION_ERRORS:
                arrays[str(name)] = pa.array([_text(value) for value in column], pa.string())
                text.append(str(name))
        return MemoryTable(pa.table(arrays), text, {})
    except CONVERSION_ERRORS as error:
        raise ConfigError(f"the columns could not be read as a table: {error}") from error


def _array(values: Any) -> pa.Array:
    """Return anything like a column as an Arrow array."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if hasattr(values, "to_arrow"):  # polars
        return values.to_arrow()
    if isinstance(values, np.ndarray):
        return _column(values)
    return pa.array(values, from_pandas=type(values).__module__.startswith("pandas"))


def _pandas(frame: Any) -> MemoryTable:
    """Return a pandas table; a column of mixed Python values becomes text. NaN is missing."""
    names = [".".join(map(str, n)) if isinstance(n, tuple) else str(n) for n in frame.columns]
    arrays: list[pa.Array] = []
    text: list[str] = []
    categories: dict[str, list[str]] = {}
    for i, name in enumerate(names):
        column = frame.iloc[:, i]
        if type(column.dtype).__name__ == "CategoricalDtype":
            categories[name] = [str(category) for category in column.dtype.categories]
        try:
            arrays.append(pa.Array.from_pandas(column))
        except CONVERSION_ERRORS:
            empty = column.isna()
            values = [None if none else str(v) for v, none in zip(column, empty, strict=True)]
            arrays.append(pa.array(values, pa.string()))
            text.append(name)
    return MemoryTable(pa.Table.from_arrays(arrays, names=names), text, categories)


def _numpy(array: Any, y: Any, spec: TableSpec, reader: DictReader | None) -> ArrowTable:
    """Return a two-dimensional array as a source; NaN is not missing, but no number."""
    refuse_unused(spec, "the source", "an array", set(spec.changed()) - {"csv"})
    if array.ndim != 2 or array.shape[1] == 0:
        raise ConfigError(f"an array must have rows and columns, got shape {array.shape}")
    names = [f"x{i}" for i in range(array.shape[1])]
    labels = None if y is None else _labels(y, len(array))
    if labels is not None:
        label_name = _free_name(y, names)
        spec = _target(spec, label_name)

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, max(len(array), 1), BATCH_ROWS):
            part = np.asarray(array[start : start + BATCH_ROWS])
            if isinstance(array, np.ma.MaskedArray):
                part = array[start : start + BATCH_ROWS]
            columns = {name: _column(part[:, i]) for i, name in enumerate(names)}
            if labels is not None:
                columns[label_name] = labels[start : start + BATCH_ROWS]
            yield pa.record_batch(columns)

    text = names if array.dtype.kind in "OUS" else []
    schema = next(batches()).schema
    description = f"NumPy array of {array.dtype}"
    return ArrowTable("array", schema, batches, spec, reader, text=text, description=description)


def _column(values: Any) -> pa.Array:
    """Return a one-dimensional NumPy array as an Arrow array."""
    kind = values.dtype.kind
    if values.ndim != 1 or kind in "cV":
        raise ConfigError(f"a column cannot hold {values.dtype} of shape {values.shape}")
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    values = np.ascontiguousarray(np.ma.getdata(values))
    if kind in "OUS":
        texts = [_text(value) for value in values.tolist()]
        return pa.array(texts, pa.string(), mask=mask)
    if kind == "M":
        values = values.astype("M8[us]")
    elif kind == "m":
        values = values.astype("m8[us]")
    elif kind == "f" and values.dtype.itemsize > 8:
        values = values.astype(np.float64)
    return pa.array(values.astype(values.dtype.newbyteorder("="), copy=False), mask=mask)


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and value != value):
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _labels(y: Any, rows: int) -> pa.Array:
    """Return labels as a column of `rows` rows."""
    if y is None:
        raise ConfigError("a matrix holds features only; give the labels too: run(X, y)")
    if hasattr(y, "columns") and not isinstance(y, pa.Table) and y.shape[1] == 1:
        y = y.iloc[:, 0] if hasattr(y, "iloc") else y.to_series()
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if hasattr(y, "columns") or isinstance(y, (str, bytes)) or not isinstance(y, Iterable):
        raise ConfigError(f"the labels must be one column, got {type(y).__name__}")
    if isinstance(y, np.ndarray) and y.ndim != 1:
        raise ConfigError(f"{rows} rows, but labels of shape {y.shape}")
    values = y if hasattr(y, "__len__") else list(y)
    try:
        labels = _array(values)
    except CONVERSION_ERRORS:  # mixed values
        labels = pa.array([_text(value) for value in values], pa.string())
    if len(labels) != rows:
        raise ConfigError(f"{rows} rows, but {len(labels)} labels")
    return labels


def _free_name(y: Any, taken: Iterable[str]) -> str:
    name = str(getattr(y, "name", None) or "y")
    while name in taken:
        name += "_"
    return name


def _target(spec: TableSpec, name: str) -> TableSpec:
    if spec.target is not None and spec.target != name:
        raise ConfigError(f"the labels are given, so target={spec.target!r} must not be")
    return replace(spec, target=name)
