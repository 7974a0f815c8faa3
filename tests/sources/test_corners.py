"""Corners of sources that were once wrong: each stays right."""

from __future__ import annotations

import datetime as dt
import math
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import chacha
from chacha import (
    Bad,
    Categories,
    ChaCha,
    ConfigError,
    CsvDialect,
    Example,
    Kind,
    Missing,
    NativePool,
    OnBad,
    SourceError,
    TableSpec,
    open_files,
    open_source,
)
from chacha.sources.reading.byte_stream import open_bytes
from chacha.sources.formats.example_parquet_file import EXAMPLE_SCHEMA
from tests.cli.test_cli import cli
from tests.sources.test_sources import bad, good

CODE = TableSpec(categories=Categories.CODE)


def write(path: Path, text: str | bytes) -> str:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def shown(what: Any, spec: TableSpec | None = None, **more: Any) -> list[str]:
    """Lines of examples, and what is wrong with the other rows."""
    rows = open_source(what, spec, **more)
    return [row.line if isinstance(row, Example) else str(row) for row in rows]


# Tables: what decides


def test_a_row_that_is_bad_elsewhere_does_not_decide(tmp_path: Path) -> None:
    text = "c,x,w,y\n" + ",1,1,1\n" * 150 + "abc,{},1\n3,5,1,1\n"
    for cells, spec in (("hello,1", TableSpec()), ("1,-1", TableSpec(weight="w"))):
        path = write(tmp_path / "t.csv", text.format(cells))
        assert shown(path, spec)[-1].startswith("1.0 |c c:3.0 |x x:5.0")
    text = "c,x,y\n" + ",hello,1\n" * 60 + "1,5,1\n" * 50
    path = write(tmp_path / "t.csv", text)
    rows = good_rows(path, TableSpec(missing=Missing.SKIP))
    assert rows[0] == "1.0 |c c |x x:5.0"


def good_rows(what: Any, spec: TableSpec | None = None) -> list[str]:
    return [row.line for row in open_source(what, spec) if isinstance(row, Example)]


def test_a_column_that_comes_late_is_decided_when_it_is_reached() -> None:
    table = pa.table({"c": [None] * 250 + ["red"] * 50, "x": range(300), "y": range(300)})
    for size in (300, 10):
        parts = pa.Table.from_batches(table.to_batches(max_chunksize=size))
        model = ChaCha.paper(pool=NativePool())
        model.run(parts, limit=150)
        assert "c" not in model.reader.kinds
        model.run(parts, limit=251)
        assert model.reader.kinds["c"] is Kind.CATEGORY


def test_a_table_without_a_good_row_leaves_no_trace() -> None:
    model = ChaCha.paper(pool=NativePool())
    table = pa.table({**{f"c{i}": [1.5] for i in range(12)}, "y": ["bad"]})
    with pytest.raises(chacha.BadExample):
        model.run(table)
    assert (model.reader.grouping, model.reader.kinds) == (None, {})
    model.open([{"c": "red", "y": 1}], TableSpec(target="y", categories=Categories.CODE))
    assert model.reader.spec == TableSpec(), "to open is not to read"


def test_the_decimal_comma_is_a_matter_of_the_table(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a;v;y\n1;u;1\n2,5;x;2\n2,5;z;2,5\n")
    assert shown(path) == ["1.0 |a a |v v=u", "2.0 |a a:2.5 |v v=x", "2.5 |a a:2.5 |v v=z"]
    path = write(tmp_path / "t.csv", "a;y\n" + "1;2\n" * 120 + "1,5;2\n")
    (text,) = bad(open_source(path))
    assert "row 121, column 'a': the cell is '1,5'" in text, "the first 100 rows decide"
    spec = TableSpec(csv=CsvDialect(decimal=","))
    assert good(open_source(path, spec))[-1].line == "2.0 |a a:1.5"


def test_several_files_share_what_the_first_decides(tmp_path: Path) -> None:
    first = write(tmp_path / "1.csv", "a,y\nu,1\nv,2\n")
    second = write(tmp_path / "2.csv", "a,y\n5,1\nv,2\n")
    lines = [row.line for row in good(open_files([first, second]))]
    assert lines[2:] == ["1.0 |a a=5", "2.0 |a a=v"]
    coded = [row.line for row in good(open_files([first, second], CODE))]
    assert coded == ["1.0 |a", "2.0 |a a", "1.0 |a a:2.0", "2.0 |a a"]
    done = cli("convert", first, second, "-o", "-")
    assert done.stdout.splitlines() == lines
    svm = [write(tmp_path / "1.svm", "1 1:1 20:1\n" * 9), write(tmp_path / "2.svm", "1 5:1\n")]
    groups = [row.groups for row in good(open_files(svm))]
    assert [f.name for f in groups[-1]["c"]] == ["5"], "20 indices in ten groups, as in the first"
    with pytest.raises(SourceError, match=r"gone\.csv: no such file"):
        open_files([first, str(tmp_path / "gone.csv")])


def test_groups_stay_under_a_live_model() -> None:
    names = [f"z{i}" for i in range(6)] + [f"a{i}" for i in range(6)]
    frame = pd.DataFrame({**{name: [1.5, 2.5] for name in names}, "y": [1.0, 2.0]})
    model = ChaCha.paper(pool=NativePool())
    model.run(frame, target="y")
    other = frame[["y", *sorted(names)]]
    (a, b) = (good(model.open(f, TableSpec(target="y")))[0].groups for f in (frame, other))
    assert {g: sorted(fs) for g, fs in a.items()} == {g: sorted(fs) for g, fs in b.items()}
    row = dict.fromkeys(names, 1.5)
    example = model.reader.example(row)
    assert {g: sorted(fs) for g, fs in example.groups.items()} == {
        g: sorted(fs) for g, fs in a.items()
    }
    first = ChaCha.paper(pool=NativePool())
    first.learn_one(row, 1.0)
    made = good(first.open(frame, TableSpec(target="y")))[0].groups
    told = first.reader.example(row).groups
    assert {g: sorted(fs) for g, fs in made.items()} == {g: sorted(fs) for g, fs in told.items()}


def test_dicts_are_read_as_the_columns_of_the_table_before(tmp_path: Path) -> None:
    model = ChaCha.paper(pool=NativePool())
    model.run(write(tmp_path / "t.csv", "c,d,y\n Rome ,2026-11-15,1\nBonn,,2\n"))
    assert model.reader.example({"c": " Rome ", "d": ""}).line == "|c c=Rome |d"
    frame = pd.DataFrame({"x": [1.5, math.nan], "y": [1.0, 2.0]})
    other = ChaCha.paper(pool=NativePool())
    other.run(frame)
    assert other.reader.example(frame.iloc[1].drop("y").to_dict()).line == "|x"


# Tables: what cells are


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


def test_bytes_that_are_no_text_are_bad_rows_and_u_fffd_is_text(tmp_path: Path) -> None:
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


# Records


def test_a_field_of_another_kind_is_refused() -> None:
    rows = [{"a": "u", "y": 1}, {"a": 2, "y": 1}, {"a": True, "y": 1}, {"a": [1], "y": 1}]
    found = shown(rows, TableSpec(target="y"))
    assert found[0] == "1.0 |a a=u"
    assert all("but the column holds words" in text for text in found[1:])
    free = TableSpec(target="y", kinds={"a": Kind.CATEGORY})
    assert shown(rows[:3], free) == ["1.0 |a a=u", "1.0 |a a=2", "1.0 |a a=true"]


@pytest.mark.parametrize(
    "odd",
    [
        {1: 0.5, "x": 2, "y": 1},
        {"x": 10**400, "y": 1},
        {"x": 1, "y": 2**53 + 1},
        {"x": 1, "y": {"z": 1}},
        {"x": 1, "y": {}},
        {"c\ud800": 1, "y": 1},
        {"x": None, "y": 1},
    ],
)
def test_odd_records_together_are_odd_records_alone(odd: dict[Any, Any]) -> None:
    start = [{"x": 2, "y": 1}, {"x": 3, "y": 2}]
    spec = TableSpec(target="y")
    assert shown([*start, *[odd] * 12], spec) == shown(iter([*start, *[odd] * 12]), spec)


def test_misspelt_fields_of_records_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", '{"a": 1, "w": 5, "y": 2}\n' * 3)
    for spec in (
        TableSpec(weight="W"),
        TableSpec(ignore=("z",)),
        TableSpec(kinds={"z": Kind.TEXT}),
    ):
        with pytest.raises(ConfigError, match="no record has a field"):
            shown(path, spec)
    assert shown(path, TableSpec(weight="w"))[0] == "2.0 5.0 |a a"


def test_dict_values_of_other_libraries() -> None:
    rows = [({"a": np.array([1.5, 2.0])}, 1.0), ({"a": pd.NA}, 1.0), ({"a": pd.NaT}, 1.0)]
    assert shown(rows) == ["1.0 |a a.0:1.5 a.1:2.0", "1.0 |a", "1.0 |a"]
    loop: dict[str, Any] = {}
    loop["a"] = loop
    assert "nested too deep" in shown([(loop, 1.0)])[0]
    assert "not UTF-8" in next(
        r.reason for r in open_source([({"a": "\ud800"}, 1.0)]) if isinstance(r, Bad)
    )


# Memory


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


def test_what_is_no_table_is_said_to_be_none() -> None:
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


# LIBSVM, ARFF, Arrow


def test_libsvm_numbers_and_indices(tmp_path: Path) -> None:
    text = f"1 1:1\n1 1:0.{'1' * 60}\n1 1:{'9' * 60}\n1 1:\u0663\n1_0 1:1\n1 1:1_0\n1 1:1e-5\n"
    found = shown(write(tmp_path / "a.svm", text))
    assert found[1] == "1.0 |a 1:0.11111111e+0"
    assert [":3: " in found[2], ":4: " in found[3], ":5: " in found[4], ":6: " in found[5]] == [
        True
    ] * 4
    last = list(open_source(tmp_path / "a.svm"))[-1]
    assert isinstance(last, Example)
    assert last.line == "1.0 |a 1:0.00001e+0"
    assert last.groups == chacha.parse_line(last.line).groups
    late = write(tmp_path / "b.svm", "1 1:1 20:3\n" * 110 + "1 0:7 20:3\n")
    example = good(open_source(late))[-1]
    assert example.groups == chacha.parse_line(example.line).groups
    many = write(tmp_path / "c.svm", "1 1:nan\n" * 5000 + "1 1:1\n")
    assert len(bad(open_source(many))) == 5000


def test_sparse_arff_and_quotes(tmp_path: Path) -> None:
    head = "@relation r\n@attribute a numeric\n@attribute c {'a}b',' q ',z}\n@attribute s string\n"
    rows = "{1 'a}b', 3 2}\n{1 ' q ',3 1}\n{0 1,0 2}\n{3 3} junk\n1,' q ',17,3\n{0 2}, {5}\n"
    path = write(tmp_path / "a.arff", f"{head}@attribute y numeric\n@data\n{rows}")
    found = shown(path)
    assert found[0] == "2.0 |a |c c=a}b |s"
    assert found[1] == "1.0 |a |c c=%20q%20 |s"
    assert "index 0 occurs twice" in found[2]
    assert "'{' without '}'" in found[3]
    assert found[4] == "3.0 |a a |c c=%20q%20 |s s=17", "a string is no number"
    assert found[5] == "0.0 |a a:2.0 |c c=a}b |s"


def test_long_cells_and_rows_do_not_take_long(tmp_path: Path) -> None:
    head = "@relation r\n@attribute a string\n@attribute b string\n@attribute y numeric\n@data\n"
    path = write(tmp_path / "a.arff", f"{head}'x',a{' ' * 60_000}b,2\n")
    assert len(shown(path)) == 1
    wide = "@relation r\n" + "".join(f"@attribute a{i} numeric\n" for i in range(4000))
    row = ", ".join(f"{i} 2" for i in range(4000))
    path = write(tmp_path / "b.arff", f"{wide}@data\n{{{row}}}\n")
    assert len(good(open_source(path))) == 1


def test_an_arrow_stream_through_a_pipe(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(200_000) / 7, "y": np.arange(200_000) % 5})
    path = tmp_path / "t.arrows"
    with pa.ipc.new_stream(path, table.schema) as file:
        file.write_table(table)
    for flags in ("", "--format arrow"):
        command = f"cat {path} | {sys.executable} -m chacha convert - -o - --limit 3 {flags}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
        assert done.stdout.splitlines()[0] == "0.0 |x", done.stderr


# Files that are written


def test_features_without_a_name_keep_their_places(tmp_path: Path) -> None:
    text = ["1 |a :1 :0 :3", "1 |a :1 |a :5 :6", "1 |a x :4 | :2"]
    source = write(tmp_path / "s.vw", "\n".join(text) + "\n")
    cli("convert", source, "-o", str(tmp_path / "e.parquet"))
    expected = [row.groups for row in good(open_source(source))]
    assert [row.groups for row in good(open_source(tmp_path / "e.parquet"))] == expected


def test_damaged_parquet_of_examples(tmp_path: Path) -> None:
    source = write(tmp_path / "s.vw", "1 |a x:0.5\n" * 9000)
    path = tmp_path / "e.parquet"
    cli("convert", source, "-o", str(path))
    data = bytearray(path.read_bytes())
    data[200:260] = bytes(60)
    path.write_bytes(data)
    with pytest.raises(SourceError, match=r"e\.parquet: cannot be read after row \d+|not a whole"):
        list(open_source(path))


def test_the_source_is_never_written_over(tmp_path: Path) -> None:
    data = "1 |a x\n" * 3000
    source = write(tmp_path / "s.vw", data)
    os.link(source, tmp_path / "hard.vw")
    (tmp_path / "d" / "e").mkdir(parents=True)
    deep = write(tmp_path / "d" / "e" / "t.vw", data)
    for words, output in (
        ([source], str(tmp_path / "hard.vw")),
        ([Path(source).as_uri()], source),
        ([str(tmp_path / "d" / "**" / "*.vw")], deep),
    ):
        assert "it is read from" in cli("convert", *words, "-o", output, rc=2).stderr
    command = f"{sys.executable} -m chacha convert - -o {source} < {source}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert Path(source).read_text() == Path(deep).read_text() == data


def test_converting_what_never_ends_is_refused(tmp_path: Path) -> None:
    assert "never ends" in cli("convert", "synth:fried", "-o", str(tmp_path / "x.vw"), rc=2).stderr
    for name in ("o.vw.xz", "o.vw.csv", "o.txt"):
        assert (
            "choose .vw"
            in cli("convert", "synth:fried,n=2", "-o", str(tmp_path / name), rc=2).stderr
        )


# Settings


def test_settings_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    vw = write(tmp_path / "a.vw", "1 |a x\n")
    svm = write(tmp_path / "a.svm", "1 1:1\n")
    table = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1], "y": [1]}), table)
    for path, spec, word in (
        (vw, TableSpec(target="y"), "--target"),
        (svm, TableSpec(ignore=("1",)), "--ignore"),
        (str(table), TableSpec(csv=CsvDialect(delimiter=";")), "--delimiter"),
        ("synth:fried,n=2", TableSpec(weight="w"), "--weight"),
    ):
        with pytest.raises(ConfigError, match=f"for which .*{word}.* means nothing"):
            open_source(path, spec)
    wrong: list[dict[str, Any]] = [
        {"kinds": {"x": "number"}},
        {"ignore": "id"},
        {"group_by": "order"},
        {"groups": {"a": "bc"}},
        {"formats": {"a": "%Y%Y"}},
        {"formats": {"a": "%Q"}},
        {"most_groups": "x"},
    ]
    for settings in wrong:
        with pytest.raises(ConfigError):
            TableSpec(**settings)


def test_encodings_to_the_last_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,y\n1,31\n".encode("utf-16-le")[:-1])
    with pytest.raises(SourceError, match="is not utf-16-le text"):
        shown(path, TableSpec(csv=CsvDialect(encoding="utf-16-le")))
    path = write(tmp_path / "u.csv", b"a,y\n1,31\n")
    with pytest.raises(SourceError, match="does not start with BOM"):
        shown(path, TableSpec(csv=CsvDialect(encoding="utf-16")))
    path = write(tmp_path / "w.csv", b"a,y\n" + b"1,2\n" * 9 + b"\x81,2\n")
    rows: list[object] = []
    with pytest.raises(SourceError, match="is not cp1252 text"):
        rows.extend(open_source(path, TableSpec(csv=CsvDialect(encoding="cp1252"))))
    assert len(rows) == 9, "what came before is read"


def test_ragged_rows_without_end_are_told_as_they_come(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,y\n" + "1,2,\n" * 250_000)
    source = iter(open_source(path))
    assert isinstance(next(source), Bad)


def test_files_without_a_size_and_closed_stdin() -> None:
    if Path("/proc/self/status").exists():  # it says that it has no bytes
        assert open_bytes("/proc/self/status").peek_line().startswith(b"Name:")
    command = f"{sys.executable} -m chacha run - <&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert "standard input is closed" in done.stderr
    assert "Traceback" not in done.stderr


# What the rewrite after the first findings got wrong


def test_decimals_are_what_python_has_in_batches_of_any_size() -> None:
    prices = pa.array([Decimal("0.35")] * 16, pa.decimal128(10, 2))
    table = pa.table({"x": prices, "y": [1.0] * 16})
    assert set(shown(table)) == set(shown(table.slice(0, 15))) == {"1.0 |x x:0.35"}


def test_rows_that_are_bad_by_a_decision_do_not_decide(tmp_path: Path) -> None:
    late = "a,b,y\n" + "0,,1\n" * 120 + "1,9007199254740993,1\n2,x,1\n"
    assert shown(write(tmp_path / "a.csv", late))[-1] == "1.0 |a a:2.0 |b b=x"
    across = "a,b,c,y\n" + "0,,,1\n" * 120 + "1,1e400,5,1\n2,,x,1\n"
    assert shown(write(tmp_path / "b.csv", across))[-1] == "1.0 |a a:2.0 |b |c c=x"
    early = "km,c,y\n1,true,1\n2,true,1\nx,red,1\n"
    assert shown(write(tmp_path / "c.csv", early))[0] == "1.0 |km km |c c"
    model = ChaCha.paper(pool=NativePool())
    never = write(tmp_path / "d.csv", "a,b,y\n1,1e400,1\n2,,1\n3,,2\n")
    model.run(never, on_bad=OnBad.SKIP)
    assert "b" not in model.reader.kinds


def test_a_line_without_features_reads_back_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", '{"_label": 0.5}\n{"_label": 1, "a": {"x": 1}}\n')
    for example in good(open_source(path)):
        assert chacha.parse_line(example.line).groups == example.groups


def test_names_in_parquet_of_examples_are_checked(tmp_path: Path) -> None:
    names = [
        ":abc",
        ":",
        ":\u00b2",
        ":30000000",
        ":-1",
        ": 3",
        ":1_0",
        "a b",
        "a|b",
        "a:1",
        "",
        "x",
    ]
    rows = [
        {"label": 1.0, "weight": 1.0, "initial": 0.0, "tag": None, "features": [("g", [(n, 1.0)])]}
        for n in names
    ]
    path = tmp_path / "e.parquet"
    pq.write_table(pa.Table.from_pylist(rows, EXAMPLE_SCHEMA), path)
    found = list(open_source(path))
    assert [isinstance(row, Example) for row in found] == [False] * 11 + [True]
    assert {row.reason for row in found if isinstance(row, Bad)} == {"malformed"}


def _what(row: Example | Bad) -> str:
    """A row without its place."""
    return row.line if isinstance(row, Example) else row.message


def _history(*parts: str, limits: tuple[int | None, ...] = (None, None)) -> tuple[Any, ...]:
    model = ChaCha.paper(pool=NativePool(), keep_decisions=10**6)
    predictions = [
        step.prediction
        for part, limit in zip(parts, limits, strict=False)
        for step in model.steps(model.open(part), limit=limit, on_bad=OnBad.SKIP)
    ]
    return predictions, [d.to_json() for d in model.decisions], model.reader.kinds


def test_a_stream_in_two_parts_is_one_stream(tmp_path: Path) -> None:
    svm = [f"{i % 3} 1:{i % 5} {20 if i < 100 else 20 + i}:1\n" for i in range(200)]
    csv = [f"{i},{'' if i < 150 else ['true', '5', 'x'][i % 3]},{i % 7}\n" for i in range(300)]
    for name, head, rows, cut in (("s.svm", "", svm, 120), ("s.csv", "a,l,y\n", csv, 132)):
        whole = write(tmp_path / name, head + "".join(rows))
        rest = write(tmp_path / f"rest-{name}", head + "".join(rows[cut:]))
        first = write(tmp_path / f"first-{name}", head + "".join(rows[:cut]))
        assert _history(whole) == _history(first, rest)
        assert _history(whole) == _history(whole, rest, limits=(cut, None))
        shared, alone = open_files([first, rest]), open_source(whole)
        assert [_what(row) for row in shared] == [_what(row) for row in alone]


def test_dicts_after_a_table_give_its_predictions_to_the_last_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(200, 5)), columns=list("zmaqb"))
    frame["y"] = frame["z"] * frame["q"] + frame["b"]
    model = ChaCha.paper(pool=NativePool())
    model.run(frame)
    rows = frame.drop(columns="y").to_dict("records")
    expected = [model.predict_one(row) for row in good(model.open(frame))]
    assert [model.predict_one(row) for row in rows] == expected
    other = ChaCha.paper(pool=NativePool())
    other.run(write(tmp_path / "t.csv", "a;b;y\n0,5;u;0,25\n1,5;v;1,5\n"))
    assert other.reader.example({"a": "1,5", "b": "u"}).line == "|a a:1.5 |b b=u"
