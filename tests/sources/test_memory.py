"""Tables in memory: NumPy, SciPy, pandas, polars, Arrow, and their labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from chacha import ChaCha, NativePool, TableSpec, open_source
from chacha.errors import ConfigError, SourceError
from chacha.sources import Categories, Kind
from tests.support.sources import CODE, shown


def test_numpy_in_all_its_types() -> None:
    for dtype in (">f8", "<f4", ">i4", "f2", "longdouble", "?", "u8", "O"):
        array = np.array([[1, 2]], dtype=dtype)
        assert shown(array, y=[1.0])[0].startswith("1.0 |x0 x0 |x1 x1")
    assert shown(np.array([[b"red", b"2"]]), y=[1.0]) == ["1.0 |x0 x0=red |x1 x1:2.0"]
    days = np.array([["2026-11-15", "2026"]], "M8[D]")
    assert "x0.day:15.0" in shown(days, y=[1.0])[0]
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1.5, 2]])
    assert shown(matrix, y=[1.0]) == ["1.0 |x0 x0:1.5 |x1 x1:2.0"]
    masked = np.ma.array([1.0, 999.0], mask=[False, True])
    assert "the target is missing" in shown(np.eye(2), y=masked)[1]
    named = np.array([(1.5, b"u", 1.0)], [("a", ">f4"), ("c", "S1"), ("y", "f8")])
    assert shown(named) == ["1.0 |a a:1.5 |c c=u"]
    for wrong in (np.array([[1j]]), np.zeros((1, 1, 1)), np.zeros((3, 0)), np.zeros((1, 1), "V4")):
        with pytest.raises(ConfigError):
            shown(wrong, y=[1.0])


def test_labels_of_all_kinds_and_none() -> None:
    frame = pd.DataFrame({"a": [1.5]})
    for y in ([1], (1.0,), np.array([[1.0]]), pd.DataFrame({"q": [1]}), pl.Series([1]), iter([1])):
        assert shown(frame, y=y) == ["1.0 |a a:1.5"]
    for wrong in (5, math.nan, "1", [1, 2], pd.DataFrame({"a": [1], "b": [2]}), np.zeros((1, 2))):
        with pytest.raises(ConfigError):
            shown(frame, y=wrong)
    with pytest.raises(ConfigError, match="1 rows, but 2 labels"):
        shown([{"a": 1}], y=[1, 2])
    with pytest.raises(SourceError, match="there is no label 2"):
        shown(iter([{"a": 1}, {"a": 2}]), y=[1])


def test_an_object_that_is_not_a_table_is_refused() -> None:
    for wrong in (
        pd.Series([1]),
        pl.Series([1]),
        pa.chunked_array([[1]]),
        pl.LazyFrame({"a": [1]}),
    ):
        with pytest.raises(ConfigError):
            open_source(wrong)
    for matrix in (sparse.coo_array(np.array([1.0])), sparse.csr_array(np.array([[1j]]))):
        with pytest.raises(ConfigError):
            open_source(matrix, y=[1.0])
    with pytest.raises(ConfigError, match="table must be a TableSpec"):
        open_source([], "y")  # type: ignore[arg-type]


def test_a_matrix_is_not_changed() -> None:
    matrix = sparse.csr_array(
        (np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2)
    )
    assert shown(matrix, y=["yes"], spec=TableSpec(positive="yes")) == ["1.0 |x0 x0:3.0 |x1"]
    assert matrix.nnz == 2


def test_categories_are_coded_as_declared() -> None:
    frame = pd.DataFrame({"c": pd.Categorical(["hi", "lo"], ["lo", "hi"]), "y": [1, 2]})
    kinds = TableSpec(categories=Categories.CODE, kinds={"c": Kind.CATEGORY})
    for spec in (CODE, kinds):
        assert shown(frame, spec) == ["1.0 |c c", "2.0 |c"]
    enum = pl.DataFrame({"c": pl.Series(["hi", "lo"], dtype=pl.Enum(["lo", "hi"])), "y": [1, 2]})
    assert shown(enum, CODE) == ["1.0 |c c", "2.0 |c"]
    words = pl.DataFrame({"c": pl.Series(["hi", "lo"], dtype=pl.Categorical), "y": [1, 2]})
    assert shown(words) == ["1.0 |c c=hi", "2.0 |c c=lo"]


def test_a_reader_of_batches_is_not_read_by_another_thread() -> None:
    taken: list[int] = []

    def batches() -> Any:
        for i in range(20):
            taken.append(i)
            yield pa.record_batch({"x": [1.5] * 200, "y": [1.0] * 200})

    schema = pa.schema([("x", pa.float64()), ("y", pa.float64())])
    model = ChaCha.paper(pool=NativePool())
    model.run(pa.RecordBatchReader.from_batches(schema, batches()), limit=2)
    assert len(taken) <= 2
