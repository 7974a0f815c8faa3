"""Tables in memory: NumPy, SciPy, pandas, polars, Arrow, and whatever speaks Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from chacha.errors import ConfigError
from chacha.sources.base import Source
from chacha.sources.formats.arrow_file import ROWS, ArrowTable
from chacha.sources.formats.libsvm_file import SparseRows
from chacha.sources.spec import TableSpec, refuse_unused
from chacha.sources.values.dict_reader import DictReader

__all__ = ["open_memory"]

GROUPS = ("groups", "group_by", "most_groups")
ODD = (pa.ArrowException, TypeError, ValueError, OverflowError, UnicodeError)


class Table(NamedTuple):
    """A table in memory, the columns that are text, and categories that are declared."""

    what: Any
    text: list[str]
    categories: dict[str, list[str]]


def open_memory(
    what: Any, y: Any, spec: TableSpec | None, reader: DictReader | None
) -> Source | None:
    """A table that lies in memory, as a source; None if `what` is no table.

    `y` are its labels, if they are no column of it.

    >>> source = open_memory(np.array([[0.5, 2.0]]), [1.0], None, None)
    >>> [example.line for example in source]
    ['1.0 |x0 x0:0.5 |x1 x1:2.0']
    """
    spec = spec or TableSpec()
    kind = type(what).__module__.partition(".")[0]
    if hasattr(what, "tocsr"):
        refuse_unused(spec, "the source", "a sparse matrix", (*GROUPS, "positive"))
        if getattr(what, "ndim", 2) != 2 or np.iscomplexobj(what):
            raise ConfigError("a sparse matrix must have rows and columns of real numbers")
        labels = _labels(y, what.shape[0])
        return SparseRows(what, labels.to_pylist(), spec, reader)
    if isinstance(what, np.ndarray) and not what.dtype.names:
        return _numpy(np.asanyarray(what), y, spec, reader)
    refuse_unused(spec, "the source", "a table in memory", set(spec.changed()) - {"csv"})
    table = _as_table(what, kind)
    if table is None:
        return None
    if kind == "pandas":  # where NaN is what is missing
        spec = replace(spec, nulls=(*spec.nulls, "nan"))
    found = table.what
    if y is not None:
        found = found if isinstance(found, pa.Table) else pa.table(found)
        name = _free_name(y, found.column_names)
        found, spec = found.append_column(name, _labels(y, len(found))), _target(spec, name)
    first = [_reader(found)]

    def batches() -> Any:
        return first.pop() if first else _reader(found)

    return ArrowTable(
        kind if kind in ("pandas", "polars") else "table",
        first[0].schema,
        batches,
        spec,
        reader,
        text=table.text,
        categories=table.categories,
        understood=f"{kind if kind in ('pandas', 'polars') else 'Arrow'} table",
        endless=isinstance(found, pa.RecordBatchReader),
    )


def _as_table(what: Any, kind: str) -> Table | None:
    if kind == "pandas" and hasattr(what, "columns"):
        return _pandas(what)
    if isinstance(what, Mapping):
        return _columns(what)
    if isinstance(what, np.ndarray):
        return _columns({name: what[name] for name in what.dtype.names})
    if isinstance(what, pa.RecordBatch):
        return Table(pa.Table.from_batches([what]), [], {})
    if isinstance(what, (pa.Array, pa.ChunkedArray)) or (
        kind in ("pandas", "polars") and type(what).__name__ == "Series"
    ):
        raise ConfigError("one column is no table; a table needs features and a target")
    if kind == "polars" and type(what).__name__ == "LazyFrame":
        raise ConfigError("a LazyFrame has no rows yet; collect() it first")
    if not hasattr(what, "__arrow_c_stream__"):
        return None
    categories: dict[str, list[str]] = {}
    if kind == "polars":
        for name, dtype in what.schema.items():
            if type(dtype).__name__ == "Enum":
                categories[name] = dtype.categories.to_list()
    return Table(what, [], categories)


def _reader(what: Any) -> Any:
    if isinstance(what, pa.RecordBatchReader):
        return what
    try:
        return pa.RecordBatchReader.from_stream(what)
    except ODD as error:
        raise ConfigError(f"the table cannot be read: {error}") from error


def _columns(columns: Mapping[Any, Any]) -> Table:
    """Columns by name as a table; mixed values are taken as text."""
    arrays: dict[str, pa.Array] = {}
    text: list[str] = []
    try:
        for name, column in columns.items():
            try:
                arrays[str(name)] = _array(column)
            except ODD:
                arrays[str(name)] = pa.array([_text(value) for value in column], pa.string())
                text.append(str(name))
        return Table(pa.table(arrays), text, {})
    except ODD as error:
        raise ConfigError(f"the columns could not be read as a table: {error}") from error


def _array(values: Any) -> pa.Array:
    """Anything like a column as an Arrow array."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if hasattr(values, "to_arrow"):  # polars
        return values.to_arrow()
    if isinstance(values, np.ndarray):
        return _column(values)
    return pa.array(values, from_pandas=type(values).__module__.startswith("pandas"))


def _pandas(frame: Any) -> Table:
    """A pandas table; a column of mixed Python values is taken as text. NaN is missing."""
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
        except ODD:
            empty = column.isna()
            values = [None if none else str(v) for v, none in zip(column, empty, strict=True)]
            arrays.append(pa.array(values, pa.string()))
            text.append(name)
    return Table(pa.Table.from_arrays(arrays, names=names), text, categories)


def _numpy(array: Any, y: Any, spec: TableSpec, reader: DictReader | None) -> ArrowTable:
    """A two-dimensional array; NaN is no number."""
    refuse_unused(spec, "the source", "an array", set(spec.changed()) - {"csv"})
    if array.ndim != 2 or array.shape[1] == 0:
        raise ConfigError(f"an array must have rows and columns, got shape {array.shape}")
    names = [f"x{i}" for i in range(array.shape[1])]
    labels = None if y is None else _labels(y, len(array))
    if labels is not None:
        label_name = _free_name(y, names)
        spec = _target(spec, label_name)

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, max(len(array), 1), ROWS):
            part = np.asarray(array[start : start + ROWS])
            if isinstance(array, np.ma.MaskedArray):
                part = array[start : start + ROWS]
            columns = {name: _column(part[:, i]) for i, name in enumerate(names)}
            if labels is not None:
                columns[label_name] = labels[start : start + ROWS]
            yield pa.record_batch(columns)

    text = names if array.dtype.kind in "OUS" else []
    schema = next(batches()).schema
    told = f"NumPy array of {array.dtype}"
    return ArrowTable("array", schema, batches, spec, reader, text=text, understood=told)


def _column(values: Any) -> pa.Array:
    """A one-dimensional NumPy array."""
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
    """Labels as a column of so many rows."""
    if y is None:
        raise ConfigError("a matrix holds features only; give the labels too: run(X, y)")
    if hasattr(y, "columns") and not isinstance(y, pa.Table) and y.shape[1] == 1:
        y = y.iloc[:, 0] if hasattr(y, "iloc") else y.to_series()
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    shown = f"got {type(y).__name__}"
    if hasattr(y, "columns") or isinstance(y, (str, bytes)) or not isinstance(y, Iterable):
        raise ConfigError(f"the labels must be one column, {shown}")
    if isinstance(y, np.ndarray) and y.ndim != 1:
        raise ConfigError(f"{rows} rows, but labels of shape {y.shape}")
    values = y if hasattr(y, "__len__") else list(y)
    try:
        labels = _array(values)
    except ODD:  # mixed values
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
