"""The first rows: they see no later label or cell, and every way to learn them gives the same bits.

After 1, 2, 4, ... and 64 rows, all models begin again with the scale known by then.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chacha import ChaCha, NativePool, OnBad, ReferencePool, TableSpec
from chacha.drivers.first_rows import MOST_FEATURES, FirstRows
from chacha.drivers.python import PythonDriver
from chacha.losses import Quantile
from chacha.pools.base import LivePool
from chacha.rules.contest import Scaling
from chacha.rules.contest.state import ContestState
from chacha.sources import Categories, Missing
from tests.support.command_line import cli
from tests.support.derived_runs import fast_model
from tests.support.fast_rules import PlainPool
from tests.support.models import contest_model
from tests.support.native_runs import state
from tests.support.scaled_runs import (
    TARGET,
    WAYS,
    as_arrow,
    chunks,
    keen_model,
    learned,
    mixed,
    ordinary,
)

AROUND = (1, 2, 3, 4, 31, 32, 33, 63, 64, 65, 100)


# Causality


@pytest.mark.parametrize("k", AROUND)
@pytest.mark.parametrize("way", WAYS)
def test_no_prediction_depends_on_a_later_label_or_cell(way: str, k: int) -> None:
    """Row k is predicted before its label is known; so neither it nor later rows matter."""
    table = ordinary(130)
    track, _ = learned(keen_model(), table, way)
    labels = [(x, y if i < k else 1e4 - 77.0 * y) for i, (x, y) in enumerate(table)]
    assert learned(keen_model(), labels, way)[0][: k + 1] == track[: k + 1]
    other = ordinary(130, seed=9)
    cells = [*table[:k], *(({**x, "a": 1e6 * x["a"]}, 3.0) for x, _ in other[k:])]
    assert learned(keen_model(), cells, way)[0][:k] == track[:k]


@pytest.mark.parametrize("way", ["dicts", "a table"])
@pytest.mark.parametrize("k", [1, 33, 64, 90])
def test_nor_with_derived_groups_and_every_kind_of_column(way: str, k: int) -> None:
    table = mixed(110)
    track, _ = learned(fast_model(NativePool()), table, way)
    future = [(x, -y) for x, y in mixed(110, seed=5)[k:]]
    assert learned(fast_model(NativePool()), [*table[:k], *future], way)[0][:k] == track[:k]


def test_a_row_that_has_no_weight_shows_nothing() -> None:
    """Its label and its cells change no later prediction, whatever they are."""
    table = ordinary(100)
    tracks = []
    for wild in (0.0, 1e9):
        model, track = keen_model(), []
        for i, (x, y) in enumerate(table):
            if i in (0, 1, 2, 30, 63, 64):
                model.learn_one({**x, "a": wild}, wild, weight=0.0)
            track.append(model.predict_one(x))
            model.learn_one(x, y)
        tracks.append(track)
    assert tracks[0] == tracks[1]


# The same bits in every way


@pytest.mark.parametrize("pool", [NativePool, PlainPool])
@pytest.mark.parametrize("way", ["a table", "dicts", "tickets"])
def test_a_0_in_the_first_row_is_like_any_other_number(
    way: str, pool: Callable[[], LivePool]
) -> None:
    """The 66 pairs of 11 columns are more than a bundle may have, the 55 of 10 are not."""
    names = [f"c{i}" for i in range(11)]
    decided = []
    for zero in (0.0, 1.0):
        rng, table = random.Random(3), []
        for i in range(70):
            x = {name: float(rng.randrange(-50, 50)) for name in names}
            x["c0"] = zero + (x["c0"] if i > 0 else 0.0)
            table.append((x, x["c1"] + 0.1 * x["c2"] * x["c3"] + rng.gauss(0, 1)))
        decided.append(learned(keen_model(pool()), table, way)[1])
    assert len(decided[0]) > 2
    assert decided[0] == decided[1]


def by_steps(model: ChaCha, source: Any, spec: TableSpec | None = TARGET) -> list[float]:
    steps = model.steps(model.open(source, spec), on_bad=OnBad.SKIP)
    return [step.prediction for step in steps]


def outcome(model: ChaCha, track: list[float]) -> Any:
    end = state(model)
    del end["summary"]  # it names the source
    return track, end


def assert_the_same(make: Callable[[LivePool], ChaCha], what: Any, spec: TableSpec) -> Any:
    """A source gives the same in blocks, row by row, cut anywhere, and in the Python driver."""
    whole = make(NativePool())
    expected = outcome(whole, chunks(whole, what(), spec))
    stepped, python, cut = make(NativePool()), make(PlainPool()), make(NativePool())
    assert outcome(stepped, by_steps(stepped, what(), spec)) == expected
    assert outcome(python, by_steps(python, what(), spec)) == expected
    rng = random.Random(1)
    until = lambda: cut.examples + rng.choice([1, 2, 5, 17])  # noqa: E731
    assert outcome(cut, chunks(cut, what(), spec, until=until)) == expected
    return expected


SETTINGS: dict[str, dict[str, Any]] = {
    "as recommended": {},
    "derived groups": {"space": fast_model(NativePool()).specification.space},
    "a budget of 1": {"budget": 1},
    "a baseline": {"baseline": True},
    "a quantile": {"loss": Quantile(0.3), "baseline": True},
    "3 rows": {"scaling": Scaling(rows=3)},
    "1 row": {"scaling": Scaling(rows=1), "baseline": True},
    "labels alone": {"scaling": Scaling(columns=False)},
}


@pytest.mark.parametrize("settings", SETTINGS)
def test_dicts_and_tables_give_the_same_bits(settings: str) -> None:
    def make(pool: LivePool) -> ChaCha:
        return keen_model(pool, **SETTINGS[settings])

    table = mixed(130)
    expected = assert_the_same(make, lambda: as_arrow(table), TARGET)
    assert len(expected[1]["S"]) or settings == "a budget of 1"
    for pool in (NativePool(), PlainPool()):
        for way in ("dicts", "tickets"):
            model = make(pool.fresh())
            assert outcome(model, WAYS[way](model, table)) == expected, way


@pytest.mark.parametrize("settings", ["as recommended", "a baseline"])
def test_the_reference_learner_gives_the_same_bits(settings: str) -> None:
    table = mixed(90)
    native, reference = (
        keen_model(pool, **SETTINGS[settings]) for pool in (NativePool(), ReferencePool())
    )
    track = WAYS["dicts"](native, table)
    assert WAYS["dicts"](reference, table) == pytest.approx(track, rel=1e-9)
    kinds = [[(d.kind, d.t) for d in model.decisions] for model in (native, reference)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("missing", [Missing.ZERO, Missing.OFFER, Missing.INDICATOR, Missing.SKIP])
@pytest.mark.parametrize("size", [1, 7, 33])
def test_batches_of_any_size_and_empty_cells_of_any_kind(size: int, missing: Missing) -> None:
    """Also batches in which a column of booleans has no cell at all."""
    table = as_arrow(mixed(120)).drop_columns(["never"])
    spec = TableSpec(target="y", missing=missing)

    def parts() -> pa.Table:
        slices = [table.slice(start, size) for start in range(0, len(table), size)]
        return pa.concat_tables(slices)

    def make(pool: LivePool) -> ChaCha:
        return fast_model(pool, baseline=True)

    whole = make(NativePool())
    expected = outcome(whole, chunks(whole, table, spec))
    assert assert_the_same(make, parts, spec) == expected


@pytest.mark.parametrize("categories", [Categories.INDICATOR, Categories.CODE])
def test_files_and_frames_give_the_same_bits(tmp_path: Path, categories: Categories) -> None:
    """JSON lines, Parquet, pandas, polars, records: numbers, words, texts, dates as text."""
    words, rng = ["the", "quick", "brown", "fox", "jumps"], random.Random(4)
    rows: list[dict[str, Any]] = []
    for x, y in mixed(120):
        row = {name: x[name] for name in ("time", "mostly", "zeros", "flag", "holes", "color")}
        row["when"] = x["when"].isoformat()
        row["note"] = " ".join(rng.choice(words) for _ in range(6))
        rows.append({**row, "y": y})
    table = pa.Table.from_pylist(rows)
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=41)
    spec = TableSpec(target="y", categories=categories)
    sources: dict[str, Callable[[], Any]] = {
        "table": lambda: table,
        "records": lambda: rows,
        "an iterator": lambda: iter(rows),
        "jsonl": lambda: str(tmp_path / "t.jsonl"),
        "parquet": lambda: str(tmp_path / "t.parquet"),
        "pandas": table.to_pandas,
        "polars": lambda: pl.from_arrow(table),
    }
    results = {name: assert_the_same(keen_model, what, spec) for name, what in sources.items()}
    for name, result in results.items():
        assert result == results["table"], name


@pytest.mark.parametrize("cut", [1, 2, 31, 63, 64, 65])
def test_the_first_rows_may_come_from_two_sources(cut: int) -> None:
    table = mixed(120)
    whole = keen_model()
    expected = outcome(whole, chunks(whole, as_arrow(table), TARGET))
    for pool in (NativePool(), PlainPool()):
        parts = keen_model(pool)
        track = chunks(parts, as_arrow(table[:cut]), TARGET)
        track += chunks(parts, as_arrow(table[cut:]), TARGET)
        assert outcome(parts, track) == expected
        changing = keen_model(pool.fresh())
        track = WAYS["tickets"](changing, table[:cut])
        track += chunks(changing, as_arrow(table[cut:]), TARGET)
        assert outcome(changing, track) == expected


def test_rows_without_weight_and_bad_rows_among_the_first() -> None:
    rng = random.Random(8)
    rows = [{**x, "w": rng.choice([1.0, 1.0, 0.0, 2.5]), "y": y} for x, y in mixed(120)]
    for i in (0, 5, 20, 70):
        rows[i]["y"] = None
    for i in (0, 1, 2, 62, 63, 64):
        rows[i]["w"] = 0.0
    table = pa.Table.from_pylist(rows)
    spec = TableSpec(target="y", weight="w")

    def make(pool: LivePool) -> ChaCha:
        return keen_model(pool, baseline=True)

    track, _ = assert_the_same(make, lambda: table, spec)
    good = [row for row in rows if row["y"] is not None]
    assert len(track) == len(good)
    for pool in (NativePool(), PlainPool()):
        model, same = make(pool), []
        for row in good:
            x = {name: value for name, value in row.items() if name not in ("w", "y")}
            same.append(model.predict_one(x))
            model.learn_one(x, row["y"], weight=row["w"])
        assert same == track


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 10**6), st.booleans())
def test_labels_may_come_late_and_rows_may_be_text(
    rng: random.Random, seed: int, derived: bool
) -> None:
    """Asked, told, predicted and learned in any order: both drivers give the same bits."""
    table = ordinary(110, seed)
    plan = [(rng.random(), rng.random(), rng.choice([1.0, 1.0, 0.0, 2.0])) for _ in table]
    takes = [rng.random() for _ in table]

    def run(pool: LivePool) -> Any:
        model = fast_model(pool, baseline=True) if derived else keen_model(pool, baseline=True)
        track, pending = [], []
        for (x, y), (act, form, weight), take in zip(table, plan, takes, strict=True):
            row: Any = {**x, "late": y} if form < 0.1 else x
            row = f"|a a:{x['a']!r} |c {x['c']}" if form > 0.9 else row
            if act < 0.5:
                ticket = model.ask(row)
                track.append(ticket.prediction)
                pending.append((ticket, y, weight))
            elif act < 0.6:
                track.append(model.predict_one(row))
            else:
                model.learn_one(row, y, weight=weight)
            while pending and take < 0.6:
                ticket, label, given = pending.pop(int(take * len(pending)))
                model.tell(ticket, label, weight=given)
                take += 0.2
        return outcome(model, track)

    assert run(NativePool()) == run(PlainPool())


# Late labels


def through_text(**settings: Any) -> ChaCha:
    """A model of the engine whose tickets keep the example and the forecast in Python."""
    model = contest_model(**settings)
    model._fast_path._asked = None
    return model


LATE: dict[str, Callable[..., ChaCha]] = {
    "engine": contest_model,
    "through text": through_text,
    "python": lambda **settings: contest_model(pool=PlainPool(), **settings),
}


def charged(model: ChaCha) -> int:
    """How often the champion was charged."""
    end = model.state
    assert isinstance(end, ContestState)
    return end.charged


@pytest.mark.parametrize("way", LATE)
@pytest.mark.parametrize("delay", [1, 20, 80, 200])
def test_late_labels_may_be_far_from_zero(way: str, delay: int) -> None:
    """Nothing was known when most were asked for, and no model is charged for that."""
    runs = []
    for far in (0.0, 2.0**20):
        model = LATE[way](first_lease=100)
        waiting, track = [], []
        for x, y in ordinary(delay + 250):
            ticket = model.ask(x)
            waiting.append((ticket, y + far))
            track.append(ticket.prediction - far)
            if len(waiting) > delay:
                model.tell(*waiting.pop(0))
        end = model.state
        assert isinstance(end, ContestState)
        scales = [each.pairing.scale for each in end.challengers.values()]
        decided = [(d.kind, d.t, d.config) for d in model.decisions]
        serving = [end.serving.served_loss, end.serving.champion_loss]
        losses = [end.level, end.surprise.usual, end.surprise.recent, *serving, *scales]
        runs.append((decided, end.charged, track[delay + 1 :], losses))
    near, far_away = runs
    assert near[:2] == far_away[:2]
    assert near[2] == pytest.approx(far_away[2], abs=1e-4)
    assert near[3] == pytest.approx(far_away[3], rel=1e-4)


@pytest.mark.parametrize("way", LATE)
@pytest.mark.parametrize(
    ("asked", "told", "times"), [(20, 40, 0), (33, 40, 1), (63, 64, 0), (64, 64, 1), (10, 90, 0)]
)
def test_models_that_began_again_are_not_charged(
    way: str, asked: int, told: int, times: int
) -> None:
    """They are others than those that were asked; the loss that was served is reported."""
    model, table = LATE[way](), ordinary(told + 1)
    (x, y), *rest = table
    for row in rest[:asked]:
        model.learn_one(*row)
    ticket = model.ask(x)
    for row in rest[asked:told]:
        model.learn_one(*row)
    before, lost = charged(model), model._driver.served.total
    model.tell(ticket, y)
    assert charged(model) - before == times
    assert model._driver.served.total - lost == pytest.approx((ticket.prediction - y) ** 2)


def test_the_command_line_scales_as_the_library_does(tmp_path: Path) -> None:
    table = ordinary(150)
    pq.write_table(as_arrow(table), tmp_path / "t.parquet")
    words = ("run", str(tmp_path / "t.parquet"), "--target", "y", "-q", "--json", "-", "--baseline")
    for flag, scaling in (((), Scaling()), (("--as-read",), None)):
        found = json.loads(cli(*words, *flag).stdout)
        model = contest_model(scaling=scaling, baseline=True)
        summary = model.run(as_arrow(table), target="y")
        assert found["loss"] == summary.loss
        assert found["baseline_loss"] == summary.baseline_loss
        assert (found["settings"]["scaling"] is None) == (scaling is None)


# Which rows are first


def test_rows_are_kept_until_there_are_enough() -> None:
    rows = FirstRows(64)
    due = []
    while rows.is_open:
        rows.add(None)  # type: ignore[arg-type]
        due.append(rows.is_due)
        if rows.is_full:
            rows.close()
    assert [i + 1 for i, is_due in enumerate(due) if is_due] == [1, 2, 4, 8, 16, 32, 64]
    assert not FirstRows(0).is_open


def test_a_wide_row_ends_the_first_rows() -> None:
    rows, full = FirstRows(64), []
    for features in (MOST_FEATURES - 2, 1, 1):
        rows.add(None, features)  # type: ignore[arg-type]
        full.append((rows.is_full, rows.is_due))
    assert full == [(False, True), (False, True), (True, True)]


@pytest.mark.parametrize(("scaling", "count"), [(Scaling(), 4), (Scaling(columns=False), 2)])
def test_cells_that_are_kept_count_as_features(scaling: Scaling, count: int) -> None:
    """Where numbers are centred, those that are 0 or missing are kept too."""
    model = keen_model(PlainPool(), scaling=scaling)
    driver = model._driver
    assert isinstance(driver, PythonDriver)
    for i in range(5):
        model.learn_one({"a": 2.5, "b": 0.0, "c": None, "d": "red"}, float(i))
        assert driver._first_rows._features == count * (i + 1)
    model.learn_one("1 |a x:2 y:0 z |b w", None)
    assert driver._first_rows._features == count * 5 + 3, "text has no such cells"


@pytest.mark.parametrize("scaling", [Scaling(), Scaling(columns=False)])
def test_wide_tables_have_fewer_first_rows_in_every_way(scaling: Scaling) -> None:
    """The cells of 13 rows are as many as are kept; without centring those that are 0 do not
    count, and 26 rows are kept.
    """
    rng = np.random.default_rng(1)
    x = rng.normal(5.0, 1.0, size=(36, 21_000))
    x[rng.random(x.shape) < 0.5] = 0.0
    names, labels = [f"c{j}" for j in range(x.shape[1])], rng.normal(size=36).tolist()
    table = pa.table({**{name: x[:, j] for j, name in enumerate(names)}, "y": labels})
    dicts = [
        (dict(zip(names, row, strict=True)), y) for row, y in zip(x.tolist(), labels, strict=True)
    ]
    block, one_by_one = (keen_model(scaling=scaling, budget=1) for _ in range(2))
    assert chunks(block, table, TARGET) == WAYS["dicts"](one_by_one, dicts)
