"""What is offered beside raw groups: empty cells, functions of one's own, the past of a ticket."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

import chacha
from chacha import (
    ChaCha,
    Example,
    Interactions,
    OnBad,
    PairedBetting,
    TableSpec,
    Transform,
    open_source,
)
from chacha.cli import app
from chacha.config.derived_groups import DerivedFeatures
from chacha.config.space import RATES
from chacha.drivers.native_columns import native_block
from chacha.errors import BadExample, ConfigError
from chacha.sources import Bad, Categories, DictReader, Kind, Missing
from chacha.sources.tables.blocks import CellColumn, ColumnBlock, blocks_of

TARGET = TableSpec(target="y")


def made_rows(n: int, seed: int = 1) -> list[dict[str, Any]]:
    """Rows with holes, which tell something of the label."""
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


def tuned(features: DerivedFeatures | None = None, **settings: Any) -> ChaCha:
    """A model that tries derived groups early."""
    space: Any = {
        "features": features or DerivedFeatures(kinds=["missing"]),
        "interactions": Interactions(),
        "learning_rate": RATES,
    }
    settings = {"budget": 3, "first_lease": 100, "seed": 2, **settings}
    return ChaCha(space=space, **settings)


def seen(model: ChaCha) -> tuple[Any, ...]:
    """What there is to compare of a run."""
    return [json.dumps(d.to_json()) for d in model.decisions], model.served, model.champion


def ran(what: Any, table: TableSpec = TARGET) -> tuple[Any, ...]:
    model = tuned()
    model.run(what, table=table)
    return seen(model)


def lines(what: Any, table: TableSpec, reader: DictReader | None = None) -> list[str]:
    return [row.line for row in open_source(what, table, reader) if isinstance(row, Example)]


EXPECTED = ran(TABLE)


# Empty cells.


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
def test_however_a_table_comes_its_empty_cells_are_told_alike(way: str, tmp_path: Path) -> None:
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
    assert ran(str(out), TableSpec()) == EXPECTED
    model = tuned()
    for line in out.read_text().splitlines():
        model.predict_one(line.partition(" ")[2])
        model.learn_one(line)
    assert seen(model) == EXPECTED


def test_a_champion_that_leaves_takes_empty_cells_with_it(tmp_path: Path) -> None:
    model = ChaCha(budget=1, init={"features": ["missing(km)"]})
    model.run(TABLE, table=TARGET)
    transform = Transform.of(model)
    found = [
        transform.example(row).line
        for row in open_source(TABLE, TARGET, transform.reader)
        if isinstance(row, Example)
    ]
    offered = lines(TABLE, TableSpec(target="y", missing=Missing.OFFER))
    assert sum("|missing(km) km" in line for line in found) > 100
    assert "|missing(c)" not in "".join(found)
    for line, offer in zip(found, offered, strict=True):
        assert line == re.sub(r" \|missing\([ct]\) \w+", "", offer)
    model.to_vw(tmp_path / "m.vw")
    out = tmp_path / "t.vw"
    asked = ["transform", as_csv(tmp_path), "-m", str(tmp_path / "m.vw"), "-o", str(out)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert out.read_text().splitlines() == found


def _hole(column: str) -> dict[str, Any]:
    return next(r for r in ROWS if r[column] is None and None not in (r["c"], r["t"]))


def test_dicts_with_nothing_in_them_give_the_same() -> None:
    model, longer, asked = tuned(), tuned(), tuned()
    longer._fast_path._driver = None
    for x, y in pairs(ROWS):
        assert model.predict_one(x) == longer.predict_one(x)
        assert model.learn_one(x, y) == longer.learn_one(x, y)
        asked.tell(asked.ask(x), y)
    assert seen(model) == seen(longer) == seen(asked) == ran(pairs(ROWS), TableSpec()) == EXPECTED
    assert model._fast_path._plans, "natively"


def test_dicts_of_groups_tell_of_the_group_without_a_name_too() -> None:
    rows = [({"u": {"a": r["km"], "b": r["t"]}, "z": r["c"]}, r["y"]) for r in ROWS]
    model, longer = tuned(), tuned()
    longer._fast_path._driver = None
    for x, y in rows:
        assert model.predict_one(x) == longer.predict_one(x)
        model.learn_one(x, y)
        longer.learn_one(x, y)
    assert seen(model) == seen(longer)
    line = longer.reader.example({"u": {"a": None, "b": 2.0}, "z": None}).line
    assert line == "| |u b:2.0 |missing(%20) z |missing(u) a"
    assert any("missing(%20)" in told for told in seen(model)[0])


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
        whole, single = tuned(), tuned()
        whole.run(table, table=spec)
        for _ in single.steps(single.open(table, spec)):
            pass
        assert seen(whole) == seen(single)
        read = next(iter(open_source(table, spec, DictReader(offers=True))))
        assert isinstance(read, Example)
        absent = {name for name, column in holed.items() if column[0].as_py() is None} | {"empty"}
        told = {f.name for g, own in read.groups.items() if g.startswith("missing(") for f in own}
        assert told == absent


def test_blocks_without_empty_cells_stay_as_they_are() -> None:
    full = pa.table({"a": [1.0, 2.0] * 300, "b": [0.0, 3.0] * 300, "y": [1.0, 2.0] * 300})
    plain, offering = (
        list(blocks_of(open_source(full, TARGET, DictReader(offers=on)))) for on in (False, True)
    )
    for before, after in zip(plain, offering, strict=True):
        assert isinstance(before, ColumnBlock)
        assert isinstance(after, ColumnBlock)
        assert list(before.groups) == list(after.groups) == ["a", "b"]
    b = pa.array([None if i == 450 else 1.0 for i in range(600)])
    holed = full.set_column(1, "b", b).to_reader(max_chunksize=300)
    blocks = list(blocks_of(open_source(holed, TARGET, DictReader(offers=True))))
    groups = [list(block.groups) for block in blocks if isinstance(block, ColumnBlock)]
    assert groups == [["a", "b"], ["a", "b", "missing(b)"]], "only where there is one"
    last = blocks[-1]
    assert isinstance(last, ColumnBlock)
    (column,) = last.groups["missing(b)"]
    assert isinstance(column, CellColumn)
    assert np.flatnonzero(column.cell_of == 0).tolist() == [150]
    assert native_block(last).rows == 300


def test_what_is_asked_for_goes_over_offers() -> None:
    for missing in (Missing.INDICATOR, Missing.SKIP, Missing.ERROR):
        spec = TableSpec(target="y", missing=missing)
        for what in (TABLE, ROWS):
            assert lines(what, spec, DictReader(offers=True)) == lines(what, spec)
            assert list(open_source(what, spec, DictReader(offers=True))) == list(
                open_source(what, spec)
            )
    assert lines(TABLE, TARGET) == [
        line.partition(" |missing(")[0] for line in lines(TABLE, TARGET, DictReader(offers=True))
    ]
    offer = TableSpec(target="y", missing=Missing.OFFER)
    assert lines(TABLE, offer) == lines(TABLE, TARGET, DictReader(offers=True))
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
def test_offers_are_made_where_somebody_can_take_them(
    features: DerivedFeatures, init: Sequence[str], offers: bool
) -> None:
    model = tuned(features, init={"features": init})
    assert model.reader.offers is offers
    assert ChaCha.paper().reader.offers is False
    assert ChaCha.paper(init={"features": ["missing(a)"]}).reader.offers


def test_to_predict_changes_nothing() -> None:
    asked, plain = tuned(), tuned()
    for i, (x, y) in enumerate(pairs(ROWS)):
        if i < 100:
            x = {name: value or 1.0 for name, value in x.items()}
        asked.predict_one({"c": None, "km": None, "t": None})
        asked.predict_one("|c |km |t |missing(c) c |missing(other) z")
        asked.learn_one(x, y)
        plain.learn_one(x, y)
    assert seen(asked) == seen(plain)


def test_the_first_dict_that_is_learned_turns_derivation_on() -> None:
    rows = [({"u": {"a": r["km"], "b": r["t"]}}, r["y"]) for r in ROWS[:100]]
    asked, plain = ChaCha(), ChaCha()
    for x, y in rows:
        asked.predict_one(x)  # from now on dicts of this form are read natively
        asked.learn_one(x, y)
        plain.learn_one(x, y)
    assert seen(asked) == seen(plain)
    assert list(asked.observed.groups) == ["u"]


def test_a_column_that_is_called_like_an_offer_is_part_of_it() -> None:
    table = pa.table({"x": [1.0, None] * 50, "missing(x)": [None, 2.0] * 50, "y": [1.0, 2.0] * 50})
    whole, single = tuned(), tuned()
    whole.run(table)
    for _ in single.steps(single.open(table)):
        pass
    assert seen(whole) == seen(single)


def test_words_for_empty_cells_hold_for_records_that_follow_a_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("c,y\n" + "red,1\nNA,2\n" * 60)
    model = tuned()
    model.run(tmp_path / "t.csv")
    rows = [{"c": "NA", "y": 1.0}] * 20
    assert {str(e.line) for e in model.open(rows, TARGET) if isinstance(e, Example)} == {
        "1.0 |c |missing(c) c"
    }


# Functions of one's own.


def remembering(found: list[dict[str, Any]]) -> DerivedFeatures:
    def ratio(x: Mapping[str, Any]) -> dict[str, float]:
        found.append(dict(x))
        km, h = x["km"], x["h"]
        return {"km h": km / h if km is not None and h else 0.0, f"is:{x['c']}": 1.0}

    return DerivedFeatures(kinds=[], functions={"ratio": ratio})


TRIPS = [
    {"c": c, "day": day, "h": h, "km": km, "y": y}
    for c, day, h, km, y in (
        ("red", "2026-11-15T10:00", 2.0, 3.0, 1.5),
        (None, "2026-11-16T11:30", 0.0, 1.0, 0.0),
        ("dark red", "2026-11-17T12:00", 4.0, None, 0.0),
    )
]
MADE = [
    "|own(ratio) km%20h:1.5 is%3Ared",
    "|own(ratio) is%3ANone",
    "|own(ratio) is%3Adark%20red",
]


def _trips_csv(folder: Path) -> str:
    text = "\n".join(",".join("" if v is None else str(v) for v in t.values()) for t in TRIPS)
    (folder / "t.csv").write_text(f"c,day,h,km,y\n{text}\n")
    return str(folder / "t.csv")


def _trips_parquet(folder: Path) -> str:
    table = pa.Table.from_pylist(TRIPS)
    days = pa.array([datetime.fromisoformat(str(trip["day"])) for trip in TRIPS])
    pq.write_table(table.set_column(1, "day", days), folder / "t.parquet")
    return str(folder / "t.parquet")


def _trips_jsonl(folder: Path) -> str:
    (folder / "t.jsonl").write_text("".join(json.dumps(trip) + "\n" for trip in TRIPS))
    return str(folder / "t.jsonl")


@pytest.mark.parametrize("write", [_trips_csv, _trips_parquet, _trips_jsonl])
def test_a_function_is_given_the_row_as_it_is(write: Callable[[Path], str], tmp_path: Path) -> None:
    found: list[dict[str, Any]] = []
    model = tuned(remembering(found))
    steps = list(model.steps(model.open(write(tmp_path), TARGET)))
    assert found == [
        {"c": t["c"], "day": datetime.fromisoformat(str(t["day"])), "h": t["h"], "km": t["km"]}
        for t in TRIPS
    ]
    assert [step.example.body[-len(made) :] for step, made in zip(steps, MADE, strict=True)] == MADE
    assert all(step.example.row is None for step in steps), "nothing more is kept of it"
    whole = tuned(remembering([]))
    whole.run(write(tmp_path), table=TARGET)
    assert seen(whole) == seen(model)


def test_predict_learn_ask_and_run_call_functions_alike() -> None:
    rng = random.Random(3)
    rows = [{"h": rng.uniform(1, 3), "km": rng.uniform(0, 9), "c": "x"} for _ in range(300)]
    labels = [row["km"] / row["h"] + 0.01 * rng.gauss(0, 1) for row in rows]  # type: ignore[operator]
    init = {"features": ["own(ratio)"]}
    one, asked, whole, plain = (tuned(remembering([]), init=init) for _ in range(4))
    for x, y in zip(rows, labels, strict=True):
        served = one.predict_one(x)
        one.learn_one(x, y)
        ticket = asked.ask(x)
        asked.tell(ticket, y)
        assert served == ticket.prediction
        text = one.reader.example(x).line + f" |own(ratio) km%20h:{x['km'] / x['h']!r} is%3Ax"  # type: ignore[operator]
        plain.learn_one(text, y)
    whole.run(list(zip(rows, labels, strict=True)))
    assert seen(one) == seen(asked) == seen(whole)
    close = pytest.approx(one.served.mean, rel=1e-4)
    assert plain.served.mean == close, "what stands there is not made again"
    without = tuned(DerivedFeatures(kinds=[]))
    without.run(list(zip(rows, labels, strict=True)))
    assert one.served.mean < without.served.mean


def test_functions_read_vw_text_by_name() -> None:
    found: list[dict[str, Any]] = []
    model = tuned(remembering(found))
    model.learn_one("1 |a km:3 h:2 c=dark%20red |missing(b) z |b km:5", None)
    model.learn_one("2 |a km:3 h:2 c:blue", None)
    model.learn_one(chacha.data.parse_line("2 |a km:3 h:2 c=a c=b c"))
    assert found[0] == {"km": 3.0, "h": 2.0, "c": "dark red"}
    assert found[1] == {"km": 3.0, "h": 2.0, "c": "blue"}
    assert found[2] == {"km": 3.0, "h": 2.0, "c": 1.0, "c=a": 1.0, "c=b": 1.0}


def failing(x: Mapping[str, Any]) -> Any:
    """Fails in as many ways as there are."""
    match x["how"]:
        case "raises":
            raise KeyError("z")
        case "zero":
            return {"a": 1.0 / (x["v"] - 1.0)}
        case "inf":
            return {"a": float("inf")}
        case "far":
            return {"a": 1e39}
        case "word":
            return {"a": "1.5"}
        case "none":
            return {"a": None}
        case "surrogate":
            return {"\ud800": 1.0}
        case "nothing":
            return None
        case "number":
            return 3.0
        case "key":
            return {7: 1.0}
        case "no name":
            return {"": 1.0}
        case _:
            return {"a": x["v"], "b": True, "c": np.float32(2), "d": 0}


BAD = {
    "raises": "own(f) failed: KeyError: 'z'",
    "zero": "own(f) failed: ZeroDivisionError: float division by zero",
    "inf": "own(f) returned 'a' = inf; values must be finite numbers",
    "far": "own(f) returned 'a' = 1e+39; values must be finite numbers",
    "word": "own(f) returned 'a' = '1.5'; values must be finite numbers",
    "none": "own(f) returned 'a' = None; values must be finite numbers",
    "surrogate": "own(f) returned a name that is not UTF-8 text",
}
WRONG = {
    "nothing": "own(f) must return names with numbers, got None",
    "number": "own(f) must return names with numbers, got 3.0",
    "key": "own(f) must return names with numbers, got {7: Ellipsis}",
    "no name": "own(f) must return names with numbers, got {'': Ellipsis}",
}


@pytest.mark.parametrize("how", [*BAD, *WRONG])
def test_what_a_function_gets_wrong_is_told_and_leaves_no_trace(how: str) -> None:
    policy = DerivedFeatures(kinds=[], functions={"f": failing})
    model, clean = tuned(policy), tuned(policy)
    good = [({"how": "well", "v": float(i)}, float(i % 3)) for i in range(30)]
    for x, y in good[:10]:
        model.learn_one(x, y)
        clean.learn_one(x, y)
    error, told = (BadExample, BAD[how]) if how in BAD else (ConfigError, WRONG[how])
    bad = {"how": how, "v": 1.0}
    for call in (model.predict_one, model.ask, lambda x: model.learn_one(x, 1.0)):
        with pytest.raises(error) as raised:
            call(bad)
        assert str(raised.value).startswith(told)
    rows = [*good[10:20], (bad, 1.0), *good[20:]]
    if how in BAD:
        assert model.run(rows, on_bad=OnBad.SKIP).examples == 30
        (place,) = model.summary().first_skipped.values()
        assert place.startswith(f"rows: row 11: {told}")
    else:
        with pytest.raises(ConfigError, match=r"^rows: row 11: "):
            model.run(rows, on_bad=OnBad.SKIP)
        model.run(good[20:])
    clean.run(good[10:])
    assert seen(model) == seen(clean)
    assert model.pending == 0


def test_functions_are_looked_at_before_they_are_called() -> None:
    with pytest.raises(ConfigError, match="must be a function, got 3"):
        DerivedFeatures(functions={"f": 3})  # type: ignore[dict-item]
    with pytest.raises(ConfigError, match="is no derived group"):
        DerivedFeatures(functions={"a b": failing})
    row = {"a": 2.0}
    with pytest.raises(BadExample, match="no attribute 'pop'"):
        tuned(DerivedFeatures(functions={"f": lambda x: x.pop("a")})).learn_one(row, 1.0)
    assert row == {"a": 2.0}


# Labels that come late.


POOLS: dict[str, Callable[[], Any]] = {
    "native": chacha.NativePool,
    "reference": chacha.ReferencePool,
    "native, evidence of one's own": chacha.NativePool,
}


@dataclass(frozen=True)
class PlainEvidence(PairedBetting):
    """The same bets; the engine does not know this class, so the plain driver runs."""


@pytest.mark.parametrize("pool", POOLS)
def test_a_ticket_keeps_the_past_as_it_was(pool: str) -> None:
    names = ["ewma(label,0.5)", "lag(a,1)", "lag(label,2)"]
    policy = DerivedFeatures(kinds=[], more=names)
    evidence = PlainEvidence() if "evidence" in pool else None
    model, replay = (
        tuned(policy, init={"features": names[:2]}, pool=POOLS[pool](), evidence=evidence)
        for _ in range(2)
    )
    tickets = [model.ask({"a": 1.0, "b": 5.0}), model.ask({"a": 2.0, "b": 6.0})]
    past = [[f.value for f in t.example.groups["lag(label,2)"]] for t in tickets]
    assert past == [[], []], "no label has come"
    model.tell(tickets[1], 7.0)
    tickets.append(model.ask({"a": 3.0, "b": 7.0}))
    model.tell(tickets[0], 8.0)
    tickets.append(model.ask({"a": 4.0, "b": 8.0}))
    assert [t.example.body.partition(" |ewma")[2] for t in tickets] == [
        "(label,0.5) |lag(a,1) |lag(label,2)",
        "(label,0.5) |lag(a,1) |lag(label,2)",
        "(label,0.5) label:7.0 |lag(a,1) a.1:2.0 |lag(label,2) label.1:7.0",
        "(label,0.5) label:7.5 |lag(a,1) a.1 |lag(label,2) label.1:8.0 label.2:7.0",
    ]
    expected = model.predict_one({"a": 4.0, "b": 8.0})
    assert tickets[3].prediction == expected, "and it is what is predicted then"
    model.tell(tickets[3], 9.0)
    model.tell(tickets[2], 10.0)
    # What is learned are the features of the ticket: a model that is given them learns the same.
    own = [replay.ask(t.example.body) for t in tickets]
    assert [t.example.body for t in own] == [t.example.body for t in tickets]
    for i, y in ((1, 7.0), (0, 8.0), (3, 9.0), (2, 10.0)):
        replay.tell(own[i], y)
    assert [d.to_json() for d in model.decisions] == [d.to_json() for d in replay.decisions]
    for ticket in tickets:
        raw, other = (m._driver.predict(ticket.example).raw for m in (model, replay))
        assert raw == other
    assert any(value != 0.0 for value in raw.values())


def test_told_at_once_a_ticket_is_as_good_as_a_row() -> None:
    policy = DerivedFeatures(kinds=["bins"], more=["lag(label,2)", "ewma(label,0.1)"])
    init = {"features": ["lag(label,2)"]}
    asked, plain, without = tuned(policy, init=init), tuned(policy, init=init), tuned()
    rng = random.Random(2)
    y = 0.0
    for _ in range(400):
        x = {"a": rng.uniform(-1, 1), "b": rng.uniform(-1, 1)}
        y = 0.9 * y + x["a"] + 0.1 * rng.gauss(0, 1)
        asked.tell(asked.ask(x), y)
        plain.learn_one(x, y)
        without.learn_one(x, y)
    assert seen(asked) == seen(plain)
    assert plain.served.mean < 0.5 * without.served.mean


def test_rows_without_a_past_after_rows_with_one() -> None:
    """Labels of 0 leave nothing in a lag: then a row has fewer features than the one before."""
    rng = random.Random(1)
    rows = [
        {"a": rng.uniform(1, 2), "b": rng.uniform(1, 2), "y": float(rng.choice([0, 0, 1, 2]))}
        for _ in range(300)
    ]
    policy, init = DerivedFeatures(kinds=[]), {"features": ["lag(label,1)"]}
    whole, single = tuned(policy, init=init), tuned(policy, init=init)
    table = pa.Table.from_pylist(rows)
    whole.run(table, target="y")
    for _ in single.steps(single.open(table, TARGET)):
        pass
    assert seen(whole) == seen(single)


# Bad input.


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
def test_cells_that_are_no_numbers_are_refused_as_ever(value: Any, tmp_path: Path) -> None:
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
        model = tuned(DerivedFeatures())
        if not odd:
            with pytest.raises(BadExample, match="row 221"):
                model.run(source, table=table)
        model = tuned(DerivedFeatures())
        found = model.run(source, table=table, on_bad=OnBad.SKIP)
        assert (found.examples, sum(found.skipped.values())) == ((300, 0) if odd else (299, 1))
        assert "empty" not in model.observed.groups or model.observed.sizes["empty"] == 0


def test_columns_that_tell_nothing_do_no_harm() -> None:
    table = pa.table(odd_table())
    model, single = tuned(DerivedFeatures()), tuned(DerivedFeatures())
    model.run(table, target="y")
    for _ in single.steps(single.open(table, TARGET)):
        pass
    assert seen(model) == seen(single)
    assert model.examples == 300
    frame = table.to_pandas()
    pandas = tuned(DerivedFeatures())
    pandas.run(frame, target="y")
    assert pandas.examples == 300
    nothing = pd.DataFrame({"a": [np.nan] * 40, "y": range(40)})
    alone = tuned(DerivedFeatures())
    assert alone.run(nothing).examples == 40
    assert list(alone.observed.groups) == ["a"]


def test_bad_rows_tell_of_no_empty_cells() -> None:
    rows = [{"a": 1.0, "b": 2.0, "y": 1.0}] * 20
    bad = [{"a": None, "b": "x", "y": 1.0}, {"a": None, "b": 1.0, "y": None}]
    model, clean = tuned(), tuned()
    model.run([*rows, *bad, *rows], table=TARGET, on_bad=OnBad.SKIP)
    clean.run([*rows, *rows], table=TARGET)
    assert seen(model) == seen(clean)
    assert not model.observed.columns or "missing(a)" not in {
        c.group for c in model.observed.columns
    }
    read = list(open_source([*rows, *bad], TARGET, DictReader(offers=True)))
    assert sum(isinstance(row, Bad) for row in read) == 2


def test_a_declared_kind_tells_of_empty_cells_too() -> None:
    spec = TableSpec(target="y", kinds={"id": Kind.CATEGORY}, missing=Missing.OFFER)
    table = pa.table({"id": [7, None, 8], "y": [1.0, 2.0, 3.0]})
    assert lines(table, spec) == ["1.0 |id id=7", "2.0 |id |missing(id) id", "3.0 |id id=8"]
