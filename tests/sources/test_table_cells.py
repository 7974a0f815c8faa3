"""Cells of tables: numbers, dates, text, classes, structs, empty cells."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from chacha import TableSpec, open_source
from chacha.errors import ConfigError, SourceError
from chacha.sources import Bad, Kind
from tests.support.sources import good, shown, write


def test_numbers_that_would_lose_digits(tmp_path: Path) -> None:
    ids = pa.array([Decimal(2**60), Decimal(2**60 + 1), Decimal("1.50")], pa.decimal128(25, 2))
    table = pa.table({"id": ids, "y": [1, 2, 3]})
    assert [row.endswith("(--type COLUMN=category)") for row in shown(table)] == [True, True, False]
    named = shown(table, TableSpec(kinds={"id": Kind.CATEGORY}))
    assert named[0] == f"1.0 |id id={2**60}"
    assert named[1] == f"2.0 |id id={2**60 + 1}"
    matrix = sparse.csr_array(np.array([[2**60, 1]]))
    assert "column 'x0'" in shown(matrix, y=[1.0])[0]
    assert "beyond 2^53" in shown([({"a": np.int64(2**60)}, 1.0)])[0]


def test_decimals_are_what_python_has_in_batches_of_any_size() -> None:
    prices = pa.array([Decimal("0.35")] * 16, pa.decimal128(10, 2))
    table = pa.table({"x": prices, "y": [1.0] * 16})
    assert set(shown(table)) == set(shown(table.slice(0, 15))) == {"1.0 |x x:0.35"}


def test_times_that_python_does_not_have() -> None:
    table = pa.table(
        {
            "d": pa.array([10**7, 1], pa.int32()).cast(pa.date32()),
            "t": pa.array([0, 1_700_000_000_000_000_000], pa.timestamp("ms")),
            "s": pa.array([2**62, 1], pa.duration("s")),
            "y": [1, 2],
        }
    )
    for column in ("d", "t", "s"):
        for spec in (TableSpec(), TableSpec(tag=column)):
            rows = list(
                open_source(
                    table.select([column, "y"] if not spec.tag else ["d", "t", "s", "y"]), spec
                )
            )
            assert any(isinstance(row, Bad) and row.reason == "not a date" for row in rows)
    long = pa.table({"t": pa.array([dt.datetime(2026, 1, 1)] * 40 + [None]), "y": range(41)})
    assert len(good(open_source(long))) == 41


def test_bytes_that_are_not_text_are_bad_rows_and_u_fffd_is_text(tmp_path: Path) -> None:
    table = pa.table({"b": [b"a", b"\xff", None], "y": [1, 2, 3]})
    rows = shown(table)
    assert rows[0] == "1.0 |b b=a"
    assert "row 2, column 'b': the cell is not UTF-8 text" in rows[1]
    path = write(tmp_path / "t.csv", "a,y\n\ufffd,1\n".encode() + b"\xe9,2\n")
    assert shown(path)[0] == "1.0 |a a=\ufffd"


def test_two_classes_by_any_spelling(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "x,y\n1,1.0\n2,0.0\n")
    expected = ["1.0 |x x", "-1.0 |x x:2.0"]
    assert shown(path, TableSpec(positive="1")) == expected
    for labels in ([1, 0], [1.0, 0.0], [True, False], ["1", "0"]):
        for positive in ("1", 1) if labels[0] is not True else ("True", True):
            table = pa.table({"x": [1, 2], "y": labels})
            assert shown(table, TableSpec(positive=positive)) == expected
    with pytest.raises(SourceError, match=r"no row's 'y' is 'Yes'; --positive must name one"):
        shown(pa.table({"x": [1, 2], "y": ["yes", "no"]}), TableSpec(positive="Yes"))


def test_the_target_is_the_last_column_that_is_not_left_out(tmp_path: Path) -> None:
    table = pa.table({"a": [1.5], "b": [2.5], "id": [7]})
    pq.write_table(table, tmp_path / "t.parquet")
    for what in (table, tmp_path / "t.parquet", table.to_pandas()):
        assert shown(what, TableSpec(ignore=("id",))) == ["2.5 |a a:1.5"]
    with pytest.raises(ConfigError, match="cannot be left out"):
        TableSpec(target="b", ignore=("b",))


def test_structs_and_objects_alike() -> None:
    rows = [{"u": {"i": 1.5, "j": 2.5}, "a": 3.5, "m": {"y": 1.0}}]
    spec = TableSpec(target="m.y", ignore=("u",))
    assert shown(rows, spec) == shown(pa.Table.from_pylist(rows), spec)
    awkward = [({"a": {"x": 1}, "a.b": {"c": 2}, "a.x": 5}, 1.0)]
    assert shown(awkward) == ["1.0 | a.x:5.0 |a x |a.b c:2.0"]
    assert shown([({1: 5, "1": 7}, 1.0)]) == ["1.0 |1 1:5.0 1:7.0"], "nothing is lost"


def test_null_words_cover_nan_in_every_spelling(tmp_path: Path) -> None:
    spec = TableSpec(nulls=("nan",), target="y")
    path = write(tmp_path / "t.csv", "a,y\n1,1\nNaN,2\nNAN,3\n")
    assert shown(path, spec)[1:] == ["2.0 |a", "3.0 |a"]
    records = [{"city": math.nan, "y": 1}, {"city": "Rome", "y": 1}]
    assert shown(records, spec) == ["1.0 |city", "1.0 |city city=Rome"]
