"""What a table's columns hold is decided by its first good rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import chacha
from chacha import ChaCha, Example, NativePool, OnBad, TableSpec, open_source
from chacha.sources import Categories, CsvDialect, DictReader, Kind, Missing
from chacha.sources.tables import column_kinds
from chacha.sources.tables.batch import Batch
from chacha.sources.tables.checked_batch import CheckedBatch, check_batch
from tests.support.sources import bad, good, shown, write


def test_a_row_that_is_bad_elsewhere_does_not_decide(tmp_path: Path) -> None:
    text = "c,x,z,y\n" + ",1,1,1\n" * 150 + "abc,{},1\n3,5,1,1\n"
    for cells, spec in (("hello,1", TableSpec()), ("1,-1", TableSpec(weight="z"))):
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


def test_a_table_without_a_good_row_changes_nothing() -> None:
    model = ChaCha.paper(pool=NativePool())
    table = pa.table({**{f"c{i}": [1.5] for i in range(12)}, "y": ["bad"]})
    with pytest.raises(chacha.errors.BadExample):
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


def test_rows_that_are_bad_by_a_decision_do_not_decide(tmp_path: Path) -> None:
    late = "a,b,y\n" + "0,,1\n" * 120 + "1,9007199254740993,1\n2,x,1\n"
    assert shown(write(tmp_path / "a.csv", late))[-1] == "1.0 |a a:2.0 |b b=x"
    across = "a,b,c,y\n" + "0,,,1\n" * 120 + "1,1e400,5,1\n2,,x,1\n"
    assert shown(write(tmp_path / "b.csv", across))[-1] == "1.0 |a a:2.0 |b |c c=x"
    early = "km,c,y\n1,true,1\n2,true,1\nx,red,1\n"
    assert shown(write(tmp_path / "c.csv", early))[0] == "1.0 |c c |km km"
    model = ChaCha.paper(pool=NativePool())
    never = write(tmp_path / "d.csv", "a,b,y\n1,1e400,1\n2,,1\n3,,2\n")
    model.run(never, on_bad=OnBad.SKIP)
    assert "b" not in model.reader.kinds


@pytest.mark.parametrize("in_blocks", [False, True])
@pytest.mark.parametrize(
    ("text", "checks"),
    [
        ("a,b,y\n" + "1.5,red,2\n" * 300, (1, 2)),
        ("a;b;y\n" + "1.5;red;2\n" * 300, (1, 2)),  # the decimal point is not known
        ("a;b;y\n" + "1,5;red;2\n" * 300, (2, 3)),  # and is a comma: checked with both
        ("a;b;y\n" + "1;red;2,5\n" * 300, (2, 3)),
        ("a,b,y\n" + "1.5,,2\n" * 200 + "1.5,red,2\n" * 100, (1, 2)),  # a late column
    ],
)
def test_a_batch_is_checked_once_for_every_decimal_point_that_is_possible(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    checks: tuple[int, int],
    in_blocks: bool,
) -> None:
    """300 rows: one batch row by row; in blocks, the first 256 rows and the rest."""
    checked: list[Batch] = []

    def counting(batch: Batch, *more: Any) -> CheckedBatch:
        checked.append(batch)
        return check_batch(batch, *more)

    monkeypatch.setattr(column_kinds, "check_batch", counting)
    path = write(tmp_path / "t.csv", text)
    model = ChaCha.paper(pool=NativePool())
    passing = model.chunks if in_blocks else model.steps
    for _ in passing(model.open(path)):
        pass
    assert model.examples == 300
    assert len(checked) == checks[in_blocks]


def test_a_label_is_checked_once_for_every_distinct_value(tmp_path: Path) -> None:
    labels: list[float] = []

    def check(label: float) -> float:
        labels.append(label)
        return label

    path = write(tmp_path / "t.csv", "a,y\n" + "1.5,2\n0.5,3\n" * 150)
    assert len(good(open_source(path, reader=DictReader(check)))) == 300
    assert sorted(labels) == [2.0, 2.0, 2.0, 3.0, 3.0, 3.0], "good rows, the vote, the rows"
