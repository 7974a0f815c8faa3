"""Checked batches: a batch with its labels, weights and tags, and the errors of its rows.

This is a batch after everything that does not depend on what its columns hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chacha.data.example import check_weight, finite
from chacha.data.vw_text import FLOAT32_MAX, escape
from chacha.errors import BadExample
from chacha.sources.spec import Missing
from chacha.sources.tables.batch import DAMAGE, Batch
from chacha.sources.tables.columns import decode_column, flat_columns, is_text, texts_or_nulls
from chacha.sources.tables.numbers import nan_as_null, number_array, numbers, python_values
from chacha.sources.tables.schema import Schema
from chacha.sources.values.cells import BOOLEANS, category_name, class_name, label_error

__all__ = ["CheckedBatch", "RowError", "check_batch"]


class RowError(NamedTuple):
    """Why a row cannot be used, and in which column."""

    column: str
    reason: str
    message: str
    harmless: bool = False

    @classmethod
    def of(cls, column: str, error: BadExample) -> RowError:
        """Return the row error of an exception."""
        return cls(column, error.reason, str(error))


@dataclass
class CheckedBatch:
    """Columns, null where a cell is empty; labels, weights and tags; the first error of rows."""

    raw: Batch
    columns: dict[str, pa.Array]
    errors: dict[int, RowError]
    labels: Sequence[float] | NDArray[np.float64]  # 0 where there is none
    decimal: str = "."
    weights: list[float] | None = None
    tags: list[str] | None = None
    encoded: dict[str, pa.DictionaryArray] = field(default_factory=dict)  # words with codes
    without_label: frozenset[int] = frozenset()  # rows with an error found before the weights

    def __len__(self) -> int:
        return len(self.labels)

    def values(self, column: str, rows: list[int]) -> list[Any]:
        """Return the values of a column in some rows, without the empty ones."""
        return python_values(self.columns[column].take(pa.array(rows, pa.int64())).drop_null())

    def add_error(self, row: int, column: str, error: BadExample) -> None:
        """Note an error; the first one of a row is reported."""
        self.errors.setdefault(row, RowError.of(column, error))

    def add_empty_cells(self, column: str, missing: Missing) -> None:
        """Note the empty cells of a column as errors."""
        message = "the cell is empty (--missing zero takes it as 0)"
        error = RowError(column, "empty cell", message, missing is Missing.SKIP)
        for row in pc.indices_nonzero(pc.is_null(self.columns[column])).to_pylist():
            self.errors.setdefault(row, error)

    def copy(self) -> CheckedBatch:
        """Return the batch with errors that can be added to independently."""
        return replace(self, errors=dict(self.errors))

    def with_label_check(self, check: Callable[[float], float], target: str) -> CheckedBatch:
        """Return a copy in which the rows whose labels `check` refuses have errors.

        `check` is called once for every distinct label.
        """
        batch = self.copy()
        labels = self.labels.tolist() if isinstance(self.labels, np.ndarray) else self.labels
        refused: dict[float, RowError] = {}
        for label in dict.fromkeys(labels):
            try:
                check(label)
            except BadExample as error:
                refused[label] = RowError.of(target, error)
        if refused:
            for row, label in enumerate(labels):
                if label in refused and row not in self.without_label:
                    batch.errors[row] = refused[label]
        return batch

    def slice(self, start: int, stop: int) -> CheckedBatch:
        """Return the rows from `start` to `stop`; not for a batch with ragged rows."""
        size = min(stop, len(self)) - start
        return CheckedBatch(
            self.raw.slice(start, start + size),
            {name: column.slice(start, size) for name, column in self.columns.items()},
            {row - start: e for row, e in self.errors.items() if start <= row < start + size},
            self.labels[start : start + size],
            self.decimal,
            None if self.weights is None else self.weights[start : start + size],
            None if self.tags is None else self.tags[start : start + size],
            {name: column.slice(start, size) for name, column in self.encoded.items()},
            frozenset(row - start for row in self.without_label if start <= row < start + size),
        )


def check_batch(
    batch: Batch, schema: Schema, decimal: str, keep_dictionaries: bool = False
) -> CheckedBatch:
    """Read the labels of a batch, and find the rows that are bad whatever the columns hold.

    With `keep_dictionaries`, features that come as Arrow dictionaries of words stay so.

    >>> from chacha.sources.values.dict_reader import DictReader
    >>> from chacha.sources.spec import TableSpec
    >>> schema = Schema(TableSpec(), "t.csv", ["x", "y"], DictReader())
    >>> table = pa.table({"x": ["1", "2"], "y": ["5", "no"]})
    >>> batch = check_batch(Batch(table, text={"x", "y"}), schema, ".")
    >>> batch.labels, batch.errors[1].reason
    ([5.0, 0.0], 'not a number')
    """
    spec = schema.spec
    checked = CheckedBatch(batch, {}, {}, [], decimal)
    for row, (name, error) in batch.bad.items():
        checked.add_error(row, name, error)
    columns = flat_columns(batch.columns)
    for name in schema.wanted:
        column = columns[name]
        as_words = keep_dictionaries and name in schema.slots and name not in batch.text
        if as_words and _has_words(column):
            checked.encoded[name] = checked.columns[name] = column  # its words are read later
        else:
            checked.columns[name] = _checked_column(checked, name, column, spec.nulls)
        if name in schema.slots and spec.missing in (Missing.SKIP, Missing.ERROR):
            checked.add_empty_cells(name, spec.missing)
    checked.labels = _labels(checked, schema, decimal)
    checked.without_label = frozenset(checked.errors)
    if spec.weight is not None:
        checked.weights = _weights(checked, spec.weight, decimal)
    if spec.tag is not None:
        tags = python_values(checked.columns[spec.tag])
        for row, tag in enumerate(tags):
            if isinstance(tag, BadExample):
                checked.add_error(row, spec.tag, tag)
        checked.tags = ["" if tag is None else escape(category_name(tag)) for tag in tags]
    return checked


def _has_words(column: pa.Array) -> bool:
    """Return whether a column has a dictionary of words that are all text."""
    if not pa.types.is_dictionary(column.type) or not is_text(column.type.value_type):
        return False
    return not decode_column(column.dictionary)[1]


def _checked_column(
    checked: CheckedBatch, name: str, column: pa.Array, nulls: Sequence[str]
) -> pa.Array:
    """Return a column in a simple type, null where a cell is empty; note what is not text."""
    batch = checked.raw
    column, damaged = decode_column(column)
    if name in batch.text and is_text(column.type):
        if nulls:  # without words for them, the parser made empty cells null (ARFF)
            column = texts_or_nulls(column, nulls)
        if batch.damaged:
            damaged = pc.indices_nonzero(pc.match_substring(column, DAMAGE)).to_pylist()
    elif "nan" in nulls and pa.types.is_floating(column.type):
        column = nan_as_null(column)
    for row in damaged:
        message = "the cell is not UTF-8 text (name another encoding with --encoding)"
        checked.add_error(row, name, BadExample(message, "not UTF-8"))
    return column


def _labels(
    checked: CheckedBatch, schema: Schema, decimal: str
) -> Sequence[float] | NDArray[np.float64]:
    """Return the labels, 0 where there is none; note the rows without a finite one."""
    name, column, positive = schema.target, checked.columns[schema.target], schema.spec.positive
    if positive is None and column.null_count == 0:
        array = number_array(column, decimal)
        if array is not None and np.all(np.abs(array) <= FLOAT32_MAX):
            return array
    labels = [0.0] * len(column)
    present = pc.indices_nonzero(pc.is_valid(column)).to_pylist()
    values = column.drop_null()
    parsed: list[float | BadExample]
    if positive is None:
        parsed = numbers(values, decimal)
        if any(isinstance(value, BadExample) for value in parsed):
            texts = [str(value).lower() for value in values.to_pylist()]
            parsed = [BOOLEANS.get(t, value) for t, value in zip(texts, parsed, strict=True)]
    else:
        one = class_name(positive)
        parsed = [1.0 if class_name(value) == one else -1.0 for value in values.to_pylist()]
    for row, value in zip(present, parsed, strict=True):
        if isinstance(value, BadExample):
            checked.add_error(row, name, label_error(value))
            continue
        try:
            finite(value, "label")
            labels[row] = value
        except BadExample as error:
            checked.add_error(row, name, error)
    if len(present) < len(column):
        missing = BadExample("the target is missing; learning needs it", "no label")
        for row in set(range(len(column))).difference(present):
            checked.add_error(row, name, missing)
    return labels


def _weights(checked: CheckedBatch, name: str, decimal: str) -> list[float]:
    """Return the weights, 1 where a cell is empty; note the rows with a bad one."""
    column = checked.columns[name]
    weights = [1.0] * len(column)
    present = pc.indices_nonzero(pc.is_valid(column)).to_pylist()
    for row, value in zip(present, numbers(column.drop_null(), decimal), strict=True):
        if isinstance(value, BadExample):
            checked.add_error(row, name, value)
            continue
        try:
            weights[row] = check_weight(value)
        except BadExample as error:
            checked.add_error(row, name, error)
    return weights
