"""Prepared: a batch with its labels and weights, and with what is wrong with its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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
from chacha.sources.tables.columns import (
    flat_columns,
    is_text,
    plain_or_damaged,
    texts_or_nulls,
)
from chacha.sources.tables.numbers import nan_as_null, number_array, numbers, python_values
from chacha.sources.tables.schema import Schema
from chacha.sources.values.cells import BOOLEANS, class_name, label_trouble, word

__all__ = ["Prepared", "Trouble", "prepare"]


class Trouble(NamedTuple):
    """What is wrong with a row, and in which column."""

    column: str
    reason: str
    message: str
    harmless: bool = False

    @classmethod
    def of(cls, column: str, error: BadExample) -> Trouble:
        """The trouble that an error tells."""
        return cls(column, error.reason, str(error))


@dataclass
class Prepared:
    """The columns, null where a cell is empty; labels, weights and tags; troubles by row."""

    batch: Batch
    columns: dict[str, pa.Array]
    troubles: dict[int, Trouble]
    labels: Sequence[float] | NDArray[np.float64]
    decimal: str = "."
    weights: list[float] | None = None
    tags: list[str] | None = None
    encoded: dict[str, pa.DictionaryArray] = field(default_factory=dict)  # as they came

    def values(self, column: str, rows: list[int]) -> list[Any]:
        """The values of a column in some rows, without the empty ones."""
        return python_values(self.columns[column].take(pa.array(rows, pa.int64())).drop_null())

    def note(self, row: int, column: str, error: BadExample) -> None:
        """The first trouble of a row is the one that is told."""
        self.troubles.setdefault(row, Trouble.of(column, error))

    def note_empty(self, column: str, missing: Missing) -> None:
        """Empty cells, where none is allowed."""
        message = "the cell is empty (--missing zero takes it as 0)"
        trouble = Trouble(column, "empty cell", message, missing is Missing.SKIP)
        for row in pc.indices_nonzero(pc.is_null(self.columns[column])).to_pylist():
            self.troubles.setdefault(row, trouble)


def prepare(
    batch: Batch, schema: Schema, decimal: str, check: Callable[[float], float] | None
) -> Prepared:
    """Find the labels of a batch, and the rows that cannot be used whatever the columns hold.

    `check` is what a label must pass; without it any finite number will do.

    >>> from chacha.sources.values.dict_reader import DictReader
    >>> from chacha.sources.spec import TableSpec
    >>> schema = Schema(TableSpec(), "t.csv", ["x", "y"], DictReader())
    >>> table = pa.table({"x": ["1", "2"], "y": ["5", "no"]})
    >>> made = prepare(Batch(table, text={"x", "y"}), schema, ".", lambda label: label)
    >>> made.labels, made.troubles[1].reason
    ([5.0, 0.0], 'not a number')
    """
    spec = schema.spec
    made = Prepared(batch, {}, {}, [], decimal)
    for row, (name, error) in batch.bad.items():
        made.note(row, name, error)
    for name, found in flat_columns(batch.columns).items():
        if name not in schema.wanted:
            continue
        feature = name in schema.slots and name not in batch.text
        if check is None and feature and _has_words(found):
            made.encoded[name] = made.columns[name] = found  # its words are looked at later
            if spec.missing in (Missing.SKIP, Missing.ERROR):
                made.note_empty(name, spec.missing)
            continue
        column, damaged = plain_or_damaged(found)
        if name in batch.text and is_text(column.type):
            if spec.nulls:  # without words for them, empty cells are known already (ARFF)
                column = texts_or_nulls(column, spec.nulls)
            if batch.damaged:
                damaged = pc.indices_nonzero(pc.match_substring(column, DAMAGE)).to_pylist()
        elif "nan" in spec.nulls and pa.types.is_floating(column.type):
            column = nan_as_null(column)
        for row in damaged:
            message = "the cell is not UTF-8 text (--encoding names another)"
            made.note(row, name, BadExample(message, "not UTF-8"))
        made.columns[name] = column
        if name in schema.slots and spec.missing in (Missing.SKIP, Missing.ERROR):
            made.note_empty(name, spec.missing)
    made.labels = _labels(made, schema, decimal, check)
    if spec.weight is not None:
        made.weights = _weights(made, spec.weight, decimal)
    if spec.tag is not None:
        tags = python_values(made.columns[spec.tag])
        for row, tag in enumerate(tags):
            if isinstance(tag, BadExample):
                made.note(row, spec.tag, tag)
        made.tags = ["" if tag is None else escape(word(tag)) for tag in tags]
    return made


def _has_words(column: pa.Array) -> bool:
    """Whether a column has a dictionary of words that are all text."""
    if not pa.types.is_dictionary(column.type) or not is_text(column.type.value_type):
        return False
    return not plain_or_damaged(column.dictionary)[1]


def _labels(
    made: Prepared, schema: Schema, decimal: str, check: Callable[[float], float] | None
) -> Sequence[float] | NDArray[np.float64]:
    """The labels; 0 where there is none."""
    name, column, positive = schema.target, made.columns[schema.target], schema.spec.positive
    if check is None and positive is None and column.null_count == 0:
        found = number_array(column, decimal)
        if found is not None and np.all(np.abs(found) <= FLOAT32_MAX):
            return found
    labels = [0.0] * len(column)
    present = pc.indices_nonzero(pc.is_valid(column)).to_pylist()
    values = column.drop_null()
    read: list[float | BadExample]
    if positive is None:
        read = numbers(values, decimal)
        if any(isinstance(value, BadExample) for value in read):
            texts = [str(value).lower() for value in values.to_pylist()]
            read = [BOOLEANS.get(t, r) for t, r in zip(texts, read, strict=True)]
    else:
        one = class_name(positive)
        read = [1.0 if class_name(value) == one else -1.0 for value in values.to_pylist()]
    for row, value in zip(present, read, strict=True):
        if isinstance(value, BadExample):
            made.note(row, name, label_trouble(value))
            continue
        try:
            label = finite(value, "label")
            if check is not None:
                check(label)
            labels[row] = value
        except BadExample as error:
            made.note(row, name, error)
    if len(present) < len(column):
        missing = BadExample("the target is missing; learning needs it", "no label")
        for row in set(range(len(column))).difference(present):
            made.note(row, name, missing)
    return labels


def _weights(made: Prepared, name: str, decimal: str) -> list[float]:
    """The weights; an empty cell is weight 1."""
    column = made.columns[name]
    weights = [1.0] * len(column)
    present = pc.indices_nonzero(pc.is_valid(column)).to_pylist()
    for row, value in zip(present, numbers(column.drop_null(), decimal), strict=True):
        if isinstance(value, BadExample):
            made.note(row, name, value)
            continue
        try:
            weights[row] = check_weight(value)
        except BadExample as error:
            made.note(row, name, error)
    return weights
