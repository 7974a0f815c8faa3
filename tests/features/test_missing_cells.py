"""Missing cells: the groups `missing(GROUP)`, from every kind of source."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from chacha import (
    ChaCha,
    Example,
    OnBad,
    TableSpec,
    Transform,
    open_source,
)
from chacha.cli import app
from chacha.config.derived_groups import DerivedFeatures
from chacha.drivers.native_columns import native_block
from chacha.errors import BadExample
from chacha.rules.contest import Scaling
from chacha.rules.contest.contest import ContestRules
from chacha.sources import Bad, Categories, DictReader, Kind, Missing
from chacha.sources.tables.blocks import CellColumn, TableBlock, blocks_of
from tests.support.derived_runs import TARGET, early_model, results


def made_rows(n: int, seed: int = 1) -> list[dict[str, Any]]:
    """Rows with empty cells, which are informative about the label."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        c = rng.choice(["red", "blue", None])
        km = None if rng.random() < 0.3 else rng.choice([0.0, round(rng.uniform(-3, 3), 3)])
        t = None if rng.random() < 0.05 else round(rng.uniform(0, 50), 2)
        y = (3.0 if km is None else km) + (c is None) + 0.02 * (t or 0.0) + 0.1 * rng.gauss(0, 1)
        rows.append({"c": c, "km": km, "t": t, "y": round(y, 4)})
    return rows


ROWS = made_rows(600)
TABLE = pa.Table.from_pylist(ROWS)
PLAIN = TABLE.select(["c", "km", "t", "y"])


def ran(what: Any, table: TableSpec = TARGET, **settings: Any) -> tuple[Any, ...]:
    model = early_model(**settings)
    model.run(what, table=table)
    return results(model)


def lines(what: Any, table: TableSpec, reader: DictReader | None = None) -> list[str]:
    return [row.line for row in open_source(what, table, reader) if isinstance(row, Example)]


EXPECTED = ran(TABLE)


def as_csv(folder: Path) -> str:
    with open(folder / "t.csv", "w") as file:
        writer = csv.DictWriter(file, ROWS[0].keys())
        writer.writeheader()
        writer.writerows(ROWS)
    return str(folder / "t.csv")


def as_jsonl(folder: Path) -> str:
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return str(folder / "t.jsonl")


def as_parquet(folder: Path) -> str:
    pq.write_table(TABLE, folder / "t.parquet", row_group_size=77)
    return str(folder / "t.parquet")


def as_feather(folder: Path) -> str:
    pa.feather.write_feather(TABLE, str(folder / "t.feather"))
    return str(folder / "t.feather")


def as_arff(folder: Path) -> str:
    head = "@relation r\n@attribute c {red,blue}\n" + "".join(
        f"@attribute {name} numeric\n" for name in ("km", "t", "y")
    )
    body = [",".join("?" if v is None else str(v) for v in row.values()) for row in ROWS]
    (folder / "t.arff").write_text(head + "@data\n" + "\n".join(body) + "\n")
    return str(folder / "t.arff")


def pairs(rows: Sequence[Mapping[str, Any]]) -> list[tuple[dict[str, Any], float]]:
    return [({k: v for k, v in row.items() if k != "y"}, row["y"]) for row in rows]


WAYS: dict[str, Callable[[Path], Any]] = {
    "csv": as_csv,
    "jsonl": as_jsonl,
    "parquet": as_parquet,
    "feather": as_feather,
    "arff": as_arff,
    "pandas": lambda _: TABLE.to_pandas(),
    "polars": lambda _: pl.from_arrow(TABLE),
    "columns": lambda _: {name: TABLE[name].to_pylist() for name in TABLE.column_names},
    "a row at a time": lambda _: TABLE.to_reader(max_chunksize=1),
    "dictionaries": lambda _: TABLE.set_column(0, "c", TABLE["c"].dictionary_encode()),
    "a list of records": lambda _: ROWS,
    "an iterator of records": lambda _: iter(ROWS),
}


@pytest.mark.parametrize("way", WAYS)
def test_empty_cells_are_the_same_however_a_table_is_given(way: str, tmp_path: Path) -> None:
    assert ran(WAYS[way](tmp_path)) == EXPECTED
    assert any("missing(km)" in decision for decision in EXPECTED[0])
    assert "missing(km)" in EXPECTED[2].derived, "it helps, as it should"


def test_text_that_was_converted_with_offers_gives_the_same(tmp_path: Path) -> None:
    table, plain, out = as_csv(tmp_path), tmp_path / "plain.vw", tmp_path / "offers.vw"
    runner = CliRunner()
    for path, more in ((plain, []), (out, ["--missing", "offer"])):
        done = runner.invoke(app, ["convert", table, "-o", str(path), *more])
        assert done.exit_code == 0, done.output
    assert "missing(" not in plain.read_text(), "unless it is asked for"
    assert "|km |t" in (first := out.read_text().splitlines()[ROWS.index(_hole("km"))])
    assert first.endswith(" |missing(km) km")
    labels_only: dict[str, Any] = {
        "scaling": Scaling(columns=False)
    }  # the columns of text are not centred
    expected = ran(TABLE, **labels_only)
    assert any("missing(km)" in decision for decision in expected[0])
    assert ran(str(out), TableSpec(), **labels_only) == expected
    model = early_model(**labels_only)
    for line in out.read_text().splitlines():
        model.predict_one(line.partition(" ")[2])
        model.learn_one(line)
    assert results(model) == expected


def test_a_champion_that_leaves_takes_empty_cells_with_it(tmp_path: Path) -> None:
    rules = ContestRules(scaling=Scaling(columns=False))  # the text has values as they are read
    model = ChaCha(budget=1, init={"features": ["missing(km)"]}, rules=rules)
    model.run(TABLE, table=TARGET)
    transform = Transform.of(model)
    transformed = [
        transform.example(row).line
        for row in open_source(TABLE, TARGET, transform.reader)
        if isinstance(row, Example)
    ]
    offered = lines(TABLE, TableSpec(target="y", missing=Missing.OFFER))
    assert sum("|missing(km) km" in line for line in transformed) > 100
    assert "|missing(c)" not in "".join(transformed)
    for line, offer in zip(transformed, offered, strict=True):
        assert line == re.sub(r" \|missing\([ct]\) \w+", "", offer)
    model.to_vw(tmp_path / "m.vw")
    out = tmp_path / "t.vw"
    asked = ["transform", as_csv(tmp_path), "-m", str(tmp_path / "m.vw"), "-o", str(out)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert out.read_text().splitlines() == transformed


def _hole(column: str) -> dict[str, Any]:
    return next(r for r in ROWS if r[column] is None and None not in (r["c"], r["t"]))


def test_dicts_with_nothing_in_them_give_the_same() -> None:
    model, longer, asked = early_model(), early_model(), early_model()
    longer._fast_path._driver = None
    for x, y in pairs(ROWS):
        assert model.predict_one(x) == longer.predict_one(x)
        assert model.learn_one(x, y) == longer.learn_one(x, y)
        asked.tell(asked.ask(x), y)
    assert (
        results(model)
        == results(longer)
        == results(asked)
        == ran(pairs(ROWS), TableSpec())
        == EXPECTED
    )
    assert model._fast_path._plans, "natively"


def test_dicts_of_groups_flag_the_group_without_a_name_too() -> None:
    rows = [({"u": {"a": r["km"], "b": r["t"]}, "z": r["c"]}, r["y"]) for r in ROWS]
    model, longer = early_model(), early_model()
    longer._fast_path._driver = None
    for x, y in rows:
        assert model.predict_one(x) == longer.predict_one(x)
        model.learn_one(x, y)
        longer.learn_one(x, y)
    assert results(model) == results(longer)
    line = longer.reader.example({"u": {"a": None, "b": 2.0}, "z": None}).line
    assert line == "| |u b:2.0 |missing(%20) z |missing(u) a"
    assert any("missing(%20)" in decision for decision in results(model)[0])


def test_row_by_row_and_in_blocks_are_the_same_for_every_kind_of_column() -> None:
    rng = random.Random(5)
    n = 400
    columns: dict[str, pa.Array] = {
        "number": pa.array([rng.uniform(1, 2) for _ in range(n)]),
        "whole": pa.array([rng.randrange(5) for _ in range(n)]),
        "word": pa.array([rng.choice(["a", "b"]) for _ in range(n)]),
        "coded": pa.array([rng.choice(["a", "b"]) for _ in range(n)]).dictionary_encode(),
        "flag": pa.array([rng.random() < 0.5 for _ in range(n)]),
        "day": pa.array([datetime(2026, 1, 1 + i % 28, i % 24) for i in range(n)]),
        "note": pa.array([f"one two three four five n{i % 7}" for i in range(n)]),
        "list": pa.array([[1.0, float(i % 3)] for i in range(n)]),
    }
    holed = {
        name: pa.array([None if rng.random() < 0.2 else v for v in column.to_pylist()], column.type)
        for name, column in columns.items()
    }
    labels = pa.array([rng.gauss(0, 1) + (holed["day"][i].as_py() is None) for i in range(n)])
    table = pa.table({**holed, "empty": pa.nulls(n), "y": labels})
    for categories in Categories:
        spec = TableSpec(target="y", categories=categories)
        whole, single = early_model(), early_model()
        whole.run(table, table=spec)
        for _ in single.steps(single.open(table, spec)):
            pass
        assert results(whole) == results(single)
        read = next(iter(open_source(table, spec, DictReader(offer_missing=True))))
        assert isinstance(read, Example)
        absent = {name for name, column in holed.items() if column[0].as_py() is None} | {"empty"}
        flagged = {
            f.name for g, own in read.groups.items() if g.startswith("missing(") for f in own
        }
        assert flagged == absent


def test_blocks_without_empty_cells_stay_as_they_are() -> None:
    full = pa.table({"a": [1.0, 2.0] * 300, "b": [0.0, 3.0] * 300, "y": [1.0, 2.0] * 300})
    plain, offering = (
        list(blocks_of(open_source(full, TARGET, DictReader(offer_missing=on))))
        for on in (False, True)
    )
    for before, after in zip(plain, offering, strict=True):
        assert isinstance(before, TableBlock)
        assert isinstance(after, TableBlock)
        assert list(before.groups) == list(after.groups) == ["a", "b"]
    b = pa.array([None if i == 450 else 1.0 for i in range(600)])
    holed = full.set_column(1, "b", b).to_reader(max_chunksize=300)
    blocks = list(blocks_of(open_source(holed, TARGET, DictReader(offer_missing=True))))
    groups = [list(block.groups) for block in blocks if isinstance(block, TableBlock)]
    assert groups == [["a", "b"], ["a", "b", "missing(b)"]], "only where there is one"
    last = blocks[-1]
    assert isinstance(last, TableBlock)
    (column,) = last.groups["missing(b)"]
    assert isinstance(column, CellColumn)
    assert np.flatnonzero(column.cell_of == 0).tolist() == [150]
    assert native_block(last).rows == 300


def test_what_is_asked_for_goes_over_offers() -> None:
    for missing in (Missing.INDICATOR, Missing.SKIP, Missing.ERROR):
        spec = TableSpec(target="y", missing=missing)
        for what in (TABLE, ROWS):
            assert lines(what, spec, DictReader(offer_missing=True)) == lines(what, spec)
            assert list(open_source(what, spec, DictReader(offer_missing=True))) == list(
                open_source(what, spec)
            )
    assert lines(TABLE, TARGET) == [
        line.partition(" |missing(")[0]
        for line in lines(TABLE, TARGET, DictReader(offer_missing=True))
    ]
    offer = TableSpec(target="y", missing=Missing.OFFER)
    assert lines(TABLE, offer) == lines(TABLE, TARGET, DictReader(offer_missing=True))
    assert ran(TABLE, offer) == EXPECTED


@pytest.mark.parametrize(
    ("features", "init", "offers"),
    [
        (DerivedFeatures(), (), True),
        (DerivedFeatures(kinds=["bins"]), (), False),
        (DerivedFeatures(without=["missing"]), (), False),
        (DerivedFeatures(kinds=["bins"], more=["missing(a)"]), (), True),
        (DerivedFeatures(kinds=["bins"]), ["missing(a)"], True),
    ],
)
def test_flags_are_offered_only_if_they_can_be_used(
    features: DerivedFeatures, init: Sequence[str], offers: bool
) -> None:
    model = early_model(features, init={"features": init})
    assert model.reader.offer_missing is offers
    assert ChaCha.paper().reader.offer_missing is False
    assert ChaCha.paper(init={"features": ["missing(a)"]}).reader.offer_missing


def test_to_predict_changes_nothing() -> None:
    asked, plain = early_model(), early_model()
    for i, (x, y) in enumerate(pairs(ROWS)):
        if i < 100:
            x = {name: value or 1.0 for name, value in x.items()}
        asked.predict_one({"c": None, "km": None, "t": None})
        asked.predict_one("|c |km |t |missing(c) c |missing(other) z")
        asked.learn_one(x, y)
        plain.learn_one(x, y)
    assert results(asked) == results(plain)


def test_the_first_dict_that_is_learned_turns_derivation_on() -> None:
    rows = [({"u": {"a": r["km"], "b": r["t"]}}, r["y"]) for r in ROWS[:100]]
    asked, plain = ChaCha(), ChaCha()
    for x, y in rows:
        asked.predict_one(x)  # from now on dicts of this form are read natively
        asked.learn_one(x, y)
        plain.learn_one(x, y)
    assert results(asked) == results(plain)
    assert list(asked.observed.groups) == ["u"]


def test_a_column_that_is_called_like_an_offer_is_part_of_it() -> None:
    table = pa.table({"x": [1.0, None] * 50, "missing(x)": [None, 2.0] * 50, "y": [1.0, 2.0] * 50})
    whole, single = early_model(), early_model()
    whole.run(table)
    for _ in single.steps(single.open(table)):
        pass
    assert results(whole) == results(single)


def test_words_for_empty_cells_hold_for_records_that_follow_a_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("c,y\n" + "red,1\nNA,2\n" * 60)
    model = early_model()
    model.run(tmp_path / "t.csv")
    rows = [{"c": "NA", "y": 1.0}] * 20
    assert {str(e.line) for e in model.open(rows, TARGET) if isinstance(e, Example)} == {
        "1.0 |c |missing(c) c"
    }


def odd_table(n: int = 300) -> dict[str, list[Any]]:
    rng = random.Random(4)
    return {
        "constant": [3.0] * n,
        "empty": [None] * n,
        "late": [None] * (n - 50) + [float(i) for i in range(50)],
        "ones": [1.0 if i % 2 else None for i in range(n)],
        "x": [rng.uniform(-1, 1) for _ in range(n)],
        "y": [rng.gauss(0, 1) for _ in range(n)],
    }


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), "red", 1e39])
def test_cells_that_are_not_numbers_are_still_refused(value: Any, tmp_path: Path) -> None:
    columns = odd_table()
    columns["x"][220] = value
    names = list(columns)
    with open(tmp_path / "t.csv", "w") as file:
        csv.writer(file).writerows([names, *zip(*columns.values(), strict=True)])
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    sources: list[Any] = [tmp_path / "t.csv", rows, pairs(rows)]
    if not isinstance(value, str):
        sources.append(pa.table(columns))
    for source in sources:
        table = TableSpec() if source is sources[2] else TARGET
        odd = isinstance(value, str) and source is sources[2]  # pairs may hold anything
        model = early_model(DerivedFeatures())
        if not odd:
            with pytest.raises(BadExample, match="row 221"):
                model.run(source, table=table)
        model = early_model(DerivedFeatures())
        found = model.run(source, table=table, on_bad=OnBad.SKIP)
        assert (found.examples, sum(found.skipped.values())) == ((300, 0) if odd else (299, 1))
        assert "empty" not in model.observed.groups or model.observed.sizes["empty"] == 0


def test_uninformative_columns_do_no_harm() -> None:
    table = pa.table(odd_table())
    model, single = early_model(DerivedFeatures()), early_model(DerivedFeatures())
    model.run(table, target="y")
    for _ in single.steps(single.open(table, TARGET)):
        pass
    assert results(model) == results(single)
    assert model.examples == 300
    frame = table.to_pandas()
    pandas = early_model(DerivedFeatures())
    pandas.run(frame, target="y")
    assert pandas.examples == 300
    nothing = pd.DataFrame({"a": [np.nan] * 40, "y": range(40)})
    alone = early_model(DerivedFeatures())
    assert alone.run(nothing).examples == 40
    assert list(alone.observed.groups) == ["a"]


def test_bad_rows_flag_no_empty_cells() -> None:
    rows = [{"a": 1.0, "b": 2.0, "y": 1.0}] * 20
    bad = [{"a": None, "b": "x", "y": 1.0}, {"a": None, "b": 1.0, "y": None}]
    model, clean = early_model(), early_model()
    model.run([*rows, *bad, *rows], table=TARGET, on_bad=OnBad.SKIP)
    clean.run([*rows, *rows], table=TARGET)
    assert results(model) == results(clean)
    assert not model.observed.columns or "missing(a)" not in {
        c.group for c in model.observed.columns
    }
    read = list(open_source([*rows, *bad], TARGET, DictReader(offer_missing=True)))
    assert sum(isinstance(row, Bad) for row in read) == 2


def test_a_declared_kind_flags_empty_cells_too() -> None:
    spec = TableSpec(target="y", kinds={"id": Kind.CATEGORY}, missing=Missing.OFFER)
    table = pa.table({"id": [7, None, 8], "y": [1.0, 2.0, 3.0]})
    assert lines(table, spec) == ["1.0 |id id=7", "2.0 |id |missing(id) id", "3.0 |id id=8"]
