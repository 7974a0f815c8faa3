"""One table in every format: the same examples, and the same decisions."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import chacha
from chacha import ChaCha, NativePool, TableSpec, open_source
from chacha.errors import ConfigError, SourceError
from chacha.sources import Categories, CsvDialect, GroupBy, Kind, Missing
from chacha.sources.spec import MOST_NAMED_GROUPS
from tests.support.sources import bad, good, shown
from tests.support.table_files import COLORS, DAYS, RNG, ROWS, TABLE, VIP, WRITERS, X

# JSON's fields go by sorted name, a table's columns by order; ARFF knows no booleans.
SPEC = TableSpec(target="y", group_by=GroupBy.COLUMN, kinds={"vip": Kind.BOOLEAN})


def same(source: chacha.sources.Source) -> list[tuple[Any, ...]]:
    """Examples up to the order of their groups and features."""
    return [_sorted(row) for row in good(source)]


def _sorted(row: chacha.Example) -> tuple[Any, ...]:
    return row.label, {name: sorted(row.groups[name]) for name in sorted(row.groups)}


EXPECTED = same(open_source(TABLE, SPEC))


def test_a_table_of_every_kind() -> None:
    first = good(open_source(TABLE, SPEC))[1]
    assert [feature.name for group in first.groups.values() for feature in group] == [
        f"color={COLORS[1].replace(' ', '%20').replace(':', '%3A')}",
        "n",
        "trip%20distance",
        *(["vip"] if VIP[1] else []),
        *(
            f"when.{part}"
            for part in ("year", "month", "day", "weekday", "hour")
            if (DAYS[1].weekday() if part == "weekday" else getattr(DAYS[1], part))
        ),
    ]


@pytest.mark.parametrize("name", WRITERS)
def test_the_same_examples_in_every_format(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    assert same(open_source(path, SPEC)) == EXPECTED
    unnamed = tmp_path / "unnamed"
    path.rename(unnamed)
    if name != "t.tsv":
        assert same(open_source(unnamed, SPEC)) == EXPECTED, "by its first bytes"


def _readers() -> Iterator[Any]:
    yield TABLE.to_pandas()
    yield pl.from_arrow(TABLE)
    yield TABLE.to_reader(max_chunksize=40)
    yield TABLE.to_batches()[0]
    yield {name: TABLE.column(name) for name in TABLE.column_names}
    yield TABLE.to_pylist()
    yield iter(TABLE.to_pylist())


@pytest.mark.parametrize("what", list(_readers()), ids=lambda what: type(what).__name__)
def test_the_same_examples_from_memory(what: Any) -> None:
    assert same(open_source(what, SPEC)) == EXPECTED


def test_the_same_examples_from_dicts_after_a_table() -> None:
    """A model that learned a table is served with dicts: the same features."""
    model = ChaCha.paper(pool=NativePool())
    model.run(TABLE, table=SPEC)
    row = TABLE.slice(3, 1).to_pylist()[0]
    label = row.pop("y")
    example = model.reader.example(row).with_label(label)
    assert _sorted(example) == EXPECTED[3]
    with pytest.raises(
        chacha.errors.BadExample, match="column 'n': the cell is 'many', but the column"
    ):
        model.predict_one(row | {"n": "many"})


def test_numpy_scipy_and_labels_beside() -> None:
    matrix = np.where(np.abs(X) < 0.5, 0.0, X)
    y = RNG.normal(size=ROWS)
    expected = same(open_source(matrix, y=y))
    assert expected[0][0] == np.float32(y[0])
    for what in (
        sparse.csr_array(matrix),
        sparse.coo_matrix(matrix),
        np.asfortranarray(matrix),
        np.ma.masked_equal(matrix, 0.0),
        pd.DataFrame(matrix, columns=["x0", "x1", "x2"]),
        pl.DataFrame(matrix, schema=["x0", "x1", "x2"]),
        matrix.astype(object),
    ):
        for labels in (y, list(y), pd.Series(y, name="price"), pa.array(y)):
            assert same(open_source(what, y=labels)) == expected
    beside = np.column_stack([matrix, y])
    assert same(open_source(beside)) == expected, "else the last column is the target"
    many: Any = sparse.random_array(
        (40, 5000), density=0.01, rng=np.random.default_rng(1), format="csr"
    )
    dense = open_source(many.toarray(), y=y[:40])
    assert same(open_source(many, y=y[:40])) == same(dense)
    assert list(good(dense)[0].groups) == [f"g{i}" for i in range(MOST_NAMED_GROUPS)]
    ten = TableSpec(most_groups=10)
    dense, by_ten = open_source(many.toarray(), ten, y=y[:40]), open_source(many, ten, y=y[:40])
    assert same(by_ten) == same(dense)
    assert sorted(good(dense)[0].groups) == list("abcdefghij")
    model = ChaCha.paper(pool=NativePool())
    assert model.run(matrix, y).examples == ROWS


def test_arrays_that_are_not_tables() -> None:
    with pytest.raises(ConfigError, match="300 rows, but 1 labels"):
        open_source(X, y=[1.0])
    with pytest.raises(ConfigError, match="rows and columns"):
        open_source(np.arange(3.0), y=[1, 2, 3])
    with pytest.raises(ConfigError, match="give the labels too"):
        open_source(sparse.csr_array(X))
    with pytest.raises(ConfigError, match="300 rows, but 2 labels"):
        open_source(TABLE, y=[1, 2])
    with pytest.raises(ConfigError, match="in memory only"):
        open_source("t.csv", y=[1, 2])
    holes = X.copy()
    holes[4, 1] = np.nan
    for what in (holes, sparse.csr_array(holes)):
        (text,) = bad(open_source(what, y=X[:, 0]))
        assert "row 5" in text
        assert "'x1'" in text
    taken = good(open_source(holes, TableSpec(nulls=("nan",)), y=X[:, 0]))
    assert [f.name for g in taken[4].groups.values() for f in g] == ["x0", "x2"]
    assert good(open_source(pd.DataFrame(holes), y=X[:, 0])), "for pandas NaN is missing"


def test_structs_and_nested_objects_are_groups(tmp_path: Path) -> None:
    rows = [
        {"user": {"age": 31, "geo": {"lat": 1.5}}, "item": {"id": "i 1"}, "hour": 5, "y": 1.0},
        {"user": {"age": 32, "geo": {"lat": 2.5}}, "item": {"id": "i2"}, "hour": 6, "y": 2.0},
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    expected = "1.0 | hour:5.0 |item id=i%201 |user age:31.0 geo.lat:1.5"
    assert good(open_source(path))[0].line == expected
    table = pa.Table.from_pylist(rows)
    assert shown(table) == shown(path)
    explicit = TableSpec(groups={"all": ("user.*",)})
    assert good(open_source(table, explicit))[0].line == (
        "1.0 |rest hour:5.0 item.id=i%201 |all user.age:31.0 user.geo.lat:1.5"
    )
    assert shown(table, explicit) == shown(path, explicit)


def test_lists_are_vectors_and_other_types_are_refused() -> None:
    table = pa.table({"v": [[1.0, 2.5], None, [3.0]], "y": [1, 2, 3]})
    assert [row.line for row in good(open_source(table))] == [
        "1.0 |v v.0 v.1:2.5",
        "2.0 |v",
        "3.0 |v v.0:3.0",
    ]
    with pytest.raises(SourceError, match=r"column 'b' holds list<.*string>.*--ignore"):
        list(open_source(pa.table({"b": [["x"]], "y": [1]})))
    ignored = open_source(pa.table({"b": [["x"]], "a": [2], "y": [1]}), TableSpec(ignore=("b",)))
    assert good(ignored)[0].line == "1.0 |a a:2.0"


def test_arrow_types_of_all_kinds() -> None:
    table = pa.table(
        {
            "f16": pa.array(np.array([0.5], np.float16)),
            "u8": pa.array([7], pa.uint8()),
            "dec": pa.array([Decimal("1.25")], pa.decimal128(5, 2)),
            "date": pa.array([dt.date(2026, 11, 15)]),
            "time": pa.array([dt.time(10, 42)]),
            "ns": pa.array([1], pa.timestamp("ns", "Europe/Rome")),
            "span": pa.array([dt.timedelta(minutes=2)]),
            "cat": pa.array(["b"]).dictionary_encode(),
            "large": pa.array(["w"], pa.large_string()),
            "bytes": pa.array([b"w"]),
            "nothing": pa.nulls(1),
            "y": [1],
        }
    )
    line = good(open_source(table, TableSpec(group_by=GroupBy.PREFIX)))[0].line
    assert line == (
        "1.0 |bytes bytes=w |cat cat=b"
        " |date date.year:2026.0 date.month:11.0 date.day:15.0 date.weekday:6.0"
        " |dec dec:1.25 |f16 f16:0.5 |large large=w |nothing"
        " |ns ns.year:1970.0 ns.month ns.day ns.weekday:3.0 ns.hour"
        " |span span:120.0 |time time.hour:10.0 time.minute:42.0 |u8 u8:7.0"
    )


def test_pandas_columns_of_mixed_values_are_text() -> None:
    frame = pd.DataFrame(
        {"m": [1, 2, "3", None, 5], "c": pd.Categorical(list("abaab")), "y": range(5)}
    )
    assert [row.line for row in good(open_source(frame))] == [
        "0.0 |c c=a |m m",
        "1.0 |c c=b |m m:2.0",
        "2.0 |c c=a |m m:3.0",
        "3.0 |c c=a |m",
        "4.0 |c c=b |m m:5.0",
    ]


def test_groups_by_column_prefix_and_pattern() -> None:
    table = pa.table({"user_age": [1.5], "user.id": ["u"], "item_id": ["i"], "z": [2], "y": [1]})
    by_prefix = open_source(table, TableSpec(group_by=GroupBy.PREFIX))
    assert good(by_prefix)[0].line == "1.0 |item item_id=i |user user.id=u user_age:1.5 |z z:2.0"
    by_pattern = open_source(table, TableSpec(groups={"u": ("user*",), "i": ("item_id",)}))
    assert good(by_pattern)[0].line == "1.0 |i item_id=i |u user.id=u user_age:1.5 |rest z:2.0"
    with pytest.raises(ConfigError, match="is in two groups"):
        list(open_source(table, TableSpec(groups={"u": ("user*",), "i": ("*_id", "user.id")})))
    with pytest.raises(ConfigError, match=r"--type names column 'zz'.*the columns are: user_age"):
        list(open_source(table, TableSpec(kinds={"zz": Kind.TEXT})))


def test_weights_tags_and_two_classes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,x,w,class\na 1,2,0.5,yes\n,3,,no\nc,4,-1,yes\nd,5,x,no\n")
    spec = TableSpec(weight="w", tag="id", positive="yes")
    rows = list(open_source(path, spec))
    assert [row.line for row in rows if isinstance(row, chacha.Example)] == [
        "1.0 0.5 'a%201|x x:2.0",
        "-1.0 |x x:3.0",
    ]
    assert bad(open_source(path, spec)) == [
        f"{path}: row 3, column 'w': the weight is -1.0; weights must not be negative",
        f"{path}: row 4, column 'w': the cell is 'x', but the column holds numbers",
    ]
    records = [{"id": "a 1", "x": 2, "w": 0.5, "class": "yes"}]
    (first,) = good(open_source(records, TableSpec("class", "w", "id", positive="yes")))
    assert first.line == "1.0 0.5 'a%201|x x:2.0"
    with pytest.raises(chacha.errors.BadExample, match=r"the target must be numbers .*--positive"):
        ChaCha.paper(pool=NativePool()).run(path, table=TableSpec(tag="id"))


def test_types_are_recognised_and_overridden(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "zip,ok,day,note,y\n"
        "10115,true,2026-11-15,the quick brown fox jumps,1\n"
        "10117,FALSE,2026-11-16 08:30,the lazy dog is the best dog,2\n"
    )
    first, second = (row.line for row in good(open_source(path)))
    assert first == (
        "1.0 |day day.year:2026.0 day.month:11.0 day.day:15.0 day.weekday:6.0 "
        "|note note=the note=quick note=brown note=fox note=jumps |ok ok |zip zip:10115.0"
    )
    assert "|ok |zip" in second
    assert "day.hour:8.0 day.minute:30.0" in second
    assert "note=the:2.0 note=lazy note=dog:2.0" in second
    spec = TableSpec(
        kinds={"zip": Kind.CATEGORY, "o*": Kind.CATEGORY, "note": Kind.CATEGORY}, ignore=("day",)
    )
    assert good(open_source(path, spec))[0].line == (
        "1.0 |note note=the%20quick%20brown%20fox%20jumps |ok ok=true |zip zip=10115"
    )


def test_dates_in_other_forms(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n15/11/2026,0,1\n16/11/2026,86400000,2\nsoon,1,3\n")
    spec = TableSpec(formats={"a": "%d/%m/%Y", "b": "ms"})
    rows = list(open_source(path, spec))
    assert isinstance(rows[1], chacha.Example)
    assert rows[1].line == (
        "2.0 |a a.year:2026.0 a.month:11.0 a.day:16.0"
        " |b b.year:1970.0 b.month b.day:2.0 b.weekday:4.0"
    )
    (text,) = bad(open_source(path, spec))
    assert text.startswith(f"{path}: row 3, column 'a': the cell is 'soon', but the column holds")


def test_codes_are_those_declared(tmp_path: Path) -> None:
    spec = TableSpec(categories=Categories.CODE)
    path = tmp_path / "t.arff"
    path.write_text("@relation r\n@attribute c {u,v,w}\n@attribute y numeric\n@data\nw,1\nu,2\n")
    expected = ["1.0 |c c:2.0", "2.0 |c"]
    assert [row.line for row in good(open_source(path, spec))] == expected
    frame = pd.DataFrame({"c": pd.Categorical(["w", "u"], ["u", "v", "w"]), "y": [1, 2]})
    assert [row.line for row in good(open_source(frame, spec))] == expected


def test_csv_as_the_continent_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("km;n;ort;y\n1,5;2;Köln;0,25\n2,75;3;Bonn;1,5\n", encoding="latin-1")
    spec = TableSpec(csv=CsvDialect(encoding="latin-1"))
    assert [row.line for row in good(open_source(path, spec))] == [
        "0.25 |km km:1.5 |n n:2.0 |ort ort=Köln",
        "1.5 |km km:2.75 |n n:3.0 |ort ort=Bonn",
    ]
    path.write_text("km;y\n1,5;1\n1.500,5;2\n")
    (text,) = bad(open_source(path))
    assert "row 2, column 'km': the cell is '1.500,5', but the column holds numbers" in text
    path.write_text("km;y\n1.5;1\n1,5;2\n")
    assert "row 2" in bad(open_source(path))[0], "points are decimals here, so a comma is none"
    path.write_text("km;y\n1,5;1\n", encoding="utf-16")
    assert (
        good(open_source(path, TableSpec(csv=CsvDialect(encoding="utf-16"))))[0].line
        == "1.0 |km km:1.5"
    )
    with pytest.raises(SourceError, match="is not UTF-8 text"):
        list(open_source(path))


def test_csv_options(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,2,3\n4,5,6\n")
    assert [row.line for row in good(open_source(path))] == [
        "3.0 |c1 c1 |c2 c2:2.0",
        "6.0 |c1 c1:4.0 |c2 c2:5.0",
    ]
    with_header = TableSpec(csv=CsvDialect(header=True))
    assert [row.line for row in good(open_source(path, with_header))] == ["6.0 |1 1:4.0 |2 2:5.0"]
    path.write_text("a b y\n'it is' x 1\n")
    spec = TableSpec(csv=CsvDialect(delimiter=" ", quote="'"))
    assert good(open_source(path, spec))[0].line == "1.0 |a a=it%20is |b b=x"
    path.write_text('a|y\n"x|1\n')
    assert good(open_source(path, TableSpec(csv=CsvDialect(quote=""))))[0].line == '1.0 |a a="x'
    path.write_text("a,b\nx,1\n")
    no_header = TableSpec(csv=CsvDialect(header=False))
    assert len(list(open_source(path, no_header))) == 2
    for wrong in ({"delimiter": ",,"}, {"decimal": "'"}, {"quote": "ab"}, {"encoding": "klingon"}):
        with pytest.raises(ConfigError):
            CsvDialect(**wrong)  # type: ignore[arg-type]


def test_missing_by_every_policy_in_every_path(tmp_path: Path) -> None:
    table = pa.table({"a": [1.5, None], "b": ["u", None], "y": [1, 2]})
    for what in (table, table.to_pylist(), table.to_pandas()):
        spec = TableSpec(target="y", missing=Missing.INDICATOR)
        assert good(open_source(what, spec))[1].line == "2.0 |a a=missing |b b=missing"
        spec = TableSpec(target="y", missing=Missing.SKIP)
        (row,) = (row for row in open_source(what, spec) if isinstance(row, chacha.sources.Bad))
        assert (row.reason, row.harmless) == ("empty cell", True)


def test_libsvm(tmp_path: Path) -> None:
    path = tmp_path / "a.libsvm"
    path.write_text("+1 1:0.50 3:1 12:2e-1 # first\n\n-1 qid:3 2:-7\n# only a comment\n0 25:4\n")
    rows = [row for row in open_source(path) if isinstance(row, chacha.Example)]
    empty = " |d |e |f |g |h |i"
    assert [row.line for row in rows] == [
        f"1.0 |a 1:0.5 3 |b |c{empty.replace(' |d', ' |d 12:0.2')}",
        f"-1.0 |a 2:-7.0 |b |c{empty}",
        f"0.0 |a |b |c{empty} 25:4.0",
    ]
    parsed = [chacha.data.parse_line(row.line) for row in rows]
    assert [row.groups for row in parsed] == [row.groups for row in rows]
    few = open_source(path, TableSpec(most_groups=2))
    assert sorted(next(r for r in few if isinstance(r, chacha.Example)).groups) == ["a", "b"]
    sized = TableSpec(groups={"u": ("1", "2"), "v": ("3",)})
    first = next(r for r in open_source(path, sized) if isinstance(r, chacha.Example))
    assert first.line == "1.0 |u 1:0.5 |v 3 |rest 12:0.2"


def test_sparse_arff(tmp_path: Path) -> None:
    path = tmp_path / "s.arff"
    path.write_text(
        "@relation s\n@attribute a numeric\n@attribute c {u,'v w'}\n@attribute y numeric\n"
        "@data\n{0 2.5, 2 1}\n{1 'v w'}\n{}\n"
    )
    assert [row.line for row in good(open_source(path))] == [
        "1.0 |a a:2.5 |c c=u",
        "0.0 |a |c c=v%20w",
        "0.0 |a |c c=u",
    ]
