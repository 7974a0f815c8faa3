"""Centred columns: where their zero is and what their unit is does not matter."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chacha import ChaCha, NativePool, TableSpec
from chacha.data.vw_text import hash_name
from chacha.drivers.native import NativeDriver
from chacha.drivers.python import PythonDriver
from chacha.features.centring import Centre, Centring, centre_of
from chacha.rules.contest import Scaling
from chacha.sources import Missing
from chacha.sources.values.dict_reader import DictReader
from tests.support.derived_runs import Row, Table, fast_model
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
    mean_loss,
    mixed,
)

FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


# Centres


@given(st.lists(FLOAT32, min_size=1, max_size=70), st.lists(FLOAT32, max_size=5))
def test_numbers_are_finite_once_they_are_centred(sample: list[float], more: list[float]) -> None:
    """Those of the first rows are also within a few scales, unless they are wild."""
    centre = centre_of(sample)
    assert centre.inverse > 0.0
    assert centre.inverse < math.inf or len(set(map(centre.of, sample))) == 1
    assert all(math.isfinite(centre.of(number)) for number in (*sample, *more))


@pytest.mark.parametrize(
    "sample",
    [
        [1e-310, 2e-310, 5e-324],
        [1e-200, 3e-201, 2e-200],
        [0.0, 1e-38],
        [3.4e38, -3.4e38],
        [0.3, 0.1 + 0.2],
        [1e300, 1e299],
    ],
)
def test_columns_that_hardly_vary_or_vary_much(sample: list[float]) -> None:
    centre = centre_of(sample)
    for number in (*sample, 0.0, 1.0, -1e38, 3.4e38):
        assert math.isfinite(centre.of(number))


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=64),
    st.integers(-40, 40),
    st.integers(-1000, 1000),
)
def test_a_column_in_another_unit_with_another_zero_is_the_same_column(
    numbers: list[int], power: int, offset: int
) -> None:
    """To the bit, if the unit differs by a power of two."""
    sample = [float(number) for number in numbers]
    other = [math.ldexp(number + offset, power) for number in sample]
    one, two = centre_of(sample), centre_of(other)
    if len(set(sample)) > 1:
        assert [one.of(x) for x in sample] == [two.of(x) for x in other]


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=64))
def test_a_column_with_the_other_sign_is_the_same_column(numbers: list[int]) -> None:
    """To the bit, also where both tails are equally long."""
    sample = [float(number) for number in numbers]
    for column in (sample, [*sample, *(1.0 - x for x in sample)]):
        one, two = centre_of(column), centre_of([-x for x in column])
        assert [one.of(x) for x in (*column, 5.0)] == [-two.of(-x) for x in (*column, 5.0)]


def test_where_the_centre_is() -> None:
    assert centre_of([5.0]) == centre_of([5.0, 5.0]) == Centre(5.0, math.inf)
    assert centre_of([0.0, 0.0, 8.0]).centre == 0.0, "mostly 0: most rows need no feature"
    assert centre_of([5.0, 5.0, 5.0, 9.0]) == Centre(5.0, 0.5), "mostly 5"
    assert centre_of([5.0, 5.0, 9.0, 9.0]).centre == 7.0 + 2.0 * 2.0**-12, "a little aside"
    assert centre_of([9.0, 5.0, 5.0, 9.0]).centre < 7.0, "not where the first number is"
    assert centre_of([4.0, 5.0, 5.0, 1.0]).centre < 4.5, "towards the longer tail"
    assert centre_of([-4.0, -5.0, -5.0, -1.0]).centre > -4.5, "mirrored"
    near = centre_of([1.7e9, 1.7e9 + 4.0])
    assert [near.of(1.7e9 + seconds) for seconds in (0.0, 1.0, 4.0)] == pytest.approx(
        [-1.0, -0.5, 1.0], abs=1e-3
    )


# Which columns are centred


def centring(rows: list[Row]) -> tuple[Centring, DictReader]:
    """Centres as the given rows show them."""
    found, reader = Centring(), DictReader(with_numbers=True)
    found.turn_on()
    reader.fix_groups(rows[0])
    for row in rows:
        found.observe(reader.example(row))
    found.fit()
    return found, reader


def centres_of(found: Centring) -> dict[str, Centre]:
    return {group: centre for (group, _), centre in found.centres.items()}


def test_a_column_is_centred_if_every_first_row_has_it() -> None:
    """Also with an empty cell; one that is left out of a row counts as 0, and goes on to do so."""
    rows: list[Row] = [
        {"full": 10.0, "holes": 20.0, "never": None, "word": "w", "flag": True},
        {"full": 14.0, "holes": None, "never": None, "word": "v", "flag": False},
    ]
    found, _ = centring(rows)
    centres = centres_of(found)
    assert centres["full"] == Centre(12.0 + 2 * 2.0**-12, 0.5)
    assert centres["holes"] == Centre(20.0, math.inf)
    assert centres["never"] == Centre(0.0, 0.0)
    assert centres["flag"] == Centre(0.5 - 0.5 * 2.0**-12, 2.0)
    assert "word" not in centres
    late, _ = centring([*rows, {"full": 1.0, "late": 5.0}, {"full": 2.0, "late": 6.0}])
    assert centres_of(late)["holes"] == Centre()
    found, _ = centring([{"a": 1.0, "gone": 3.0}, {"a": 2.0}])
    assert centres_of(found)["gone"] == Centre()


def test_applied_centres_leave_words_and_the_order_of_features_alone() -> None:
    rows: list[Row] = [
        {"b": 3.0, "c": 0.0, "d": "x", "e": 9.0},
        {"b": 7.0, "c": 4.0, "d": "y", "e": 9.0},
    ]
    found, reader = centring(rows)
    example = found.apply(reader.example({"b": 3.0, "c": 0.0, "d": "x", "e": 9.0}))
    assert example.body == "|b b:-1.0002441e+0 |c c:-1.0002441e+0 |d d=x |e"
    assert example.as_read("b") == [3.0]
    assert not example.numbers
    missing = found.apply(reader.example({"b": None, "c": -0.0, "d": None, "e": 9.5}))
    assert missing.body == "|b |c c:-1.0002441e+0 |d |e e"
    (zero,) = missing.as_read("c")
    assert math.copysign(1.0, zero) == 1.0, "-0 is 0"
    off = Centring()
    assert off.apply(reader.example(rows[0])).body == "|b b:3.0 |c |d d=x |e e:9.0"


def test_centres_that_are_known_are_used() -> None:
    found, reader = Centring(), DictReader(with_numbers=True)
    reader.fix_groups({"a": 1.0})
    key = "a", hash_name("a", hash_name("a", 0))
    found.set_centres({key: Centre(10.0, 0.5)})
    assert found.apply(reader.example({"a": 14.0})).body == "|a a:2.0"
    assert found.centres == {key: Centre(10.0, 0.5)}


def driver_centres(model: ChaCha) -> list[tuple[str, int, float, float]]:
    driver = model._driver
    if isinstance(driver, NativeDriver):
        return sorted(driver.engine.centres)
    assert isinstance(driver, PythonDriver)
    return sorted((g, h, *centre) for (g, h), centre in driver._numbers.centres.items())


@pytest.mark.parametrize("n", [1, 2, 3, 40, 64, 90])
def test_both_drivers_find_the_same_centres(n: int) -> None:
    """In tables and in dicts, where an empty cell may be one of a number or of a word."""
    table = mixed(n)
    found = []
    for pool in (NativePool(), PlainPool()):
        for way in ("dicts", "tickets", "a table"):
            model = keen_model(pool.fresh())
            WAYS[way](model, table)
            found.append([each for each in driver_centres(model) if each[2:] != (0.0, 1.0)])
    assert all(centres == found[0] for centres in found)
    inverses = {group: inverse for group, *_, inverse in found[0]}
    assert {"time", "mostly", "holes", "same", "when", "pair"} <= inverses.keys()
    assert inverses["never"] == 0.0, "left out until it has a number"
    assert inverses["same"] == math.inf, "until it has another number"
    assert "color" not in inverses


def late(start: float) -> Table:
    """A number, a boolean and a date that the first rows do not have, and half of the others."""
    rng, table = random.Random(4), Table()
    for i in range(400):
        value, other = rng.gauss(0, 1), rng.gauss(0, 1)
        there = i > 80 and rng.random() < 0.5
        x: Row = {"a": rng.gauss(0, 1), "late": start + value if there else None}
        x["flag"] = other > 0 if there else None
        x["when"] = dt.datetime(2026, 1, 1 + i % 28) if i > 80 else None
        y = x["a"] + (2 * value + (other > 0) if there else 0.0)
        table.append((x, y + rng.gauss(0, 0.1)))
    return table


@pytest.mark.parametrize("way", ["dicts", "tickets", "a table"])
def test_a_column_without_a_number_in_the_first_rows_is_centred_at_its_first_one(way: str) -> None:
    """Wherever its zero is; natively as in Python, one by one and in chunks."""
    near, far = (keen_model() for _ in range(2))
    track = WAYS[way](near, late(0.0))
    assert mean_loss(track, late(0.0), 200) < 0.4
    assert WAYS[way](far, late(2.0**20)) == pytest.approx(track, abs=1e-3)
    python = keen_model(PlainPool())
    assert WAYS["dicts"](python, late(0.0)) == track
    known = [[c for c in driver_centres(model) if c[-1] > 0.0] for model in (python, near)]
    assert known[0] == known[1], "a date has no number of its own name"
    for size in (1, 7, 64):
        cut = keen_model()
        ends = iter(range(size, 400 + size, size))
        until = lambda ends=ends: next(ends, 10**6)  # noqa: E731
        assert chunks(cut, as_arrow(late(0.0)), TARGET, until=until) == track


def constant(n: int, unit: float, zero: float = 0.0) -> Table:
    """Columns that vary after 80 rows only; one of them is empty until then."""
    rng, table = random.Random(7), Table()
    for i in range(n):
        a, b, c = (rng.gauss(0, 1) for _ in "abc")
        values = (b, c) if i > 80 else (0.0, None)
        x: Row = {"a": a, "b": zero + unit * values[0]}
        x["c"] = None if values[1] is None else zero + unit * values[1]
        x["when"] = dt.datetime(2026, 1, 1 if i <= 80 else 1 + i % 28)
        table.append((x, a + 2 * values[0] + (values[1] or 0.0) + rng.gauss(0, 0.1)))
    return table


@pytest.mark.parametrize("way", ["dicts", "tickets", "a table"])
def test_a_constant_column_takes_its_scale_from_the_first_number_that_differs(way: str) -> None:
    """Whatever its unit; natively as in Python, one by one and in chunks."""
    table, model = constant(300, 1.0), keen_model()
    track = WAYS[way](model, table)
    for power in (30, -30):
        other = keen_model()
        assert WAYS[way](other, constant(300, 2.0**power)) == track, "to the bit"
    moved = WAYS[way](keen_model(), constant(300, -1024.0, 4096.0))
    assert mean_loss(moved, table, 81) == pytest.approx(mean_loss(track, table, 81), rel=0.05)
    python = keen_model(PlainPool())
    assert WAYS["dicts"](python, table) == track
    known = [{c for c in driver_centres(m) if 0.0 < c[-1] < math.inf} for m in (python, model)]
    assert known[0] == known[1]
    assert {"a", "b", "c"} <= {group for group, *_ in known[0]}
    for size in (1, 7, 64):
        ends = iter(range(size, 300 + size, size))
        until = lambda ends=ends: next(ends, 10**6)  # noqa: E731
        assert chunks(keen_model(), as_arrow(table), TARGET, until=until) == track


@pytest.mark.parametrize("missing", [Missing.ZERO, Missing.OFFER, Missing.INDICATOR])
def test_a_constant_column_may_have_empty_cells(missing: Missing) -> None:
    """They are no other number, and have features of their own."""
    rng, table = random.Random(8), Table()
    for i in range(250):
        b = 5.0 if i < 200 else rng.choice([5.0, 9.0])
        there = rng.random() < 0.7
        x: Row = {"a": rng.gauss(0, 1), "b": b if there else None}
        table.append((x, x["a"] + 3 * there + rng.gauss(0, 0.1)))
    spec = TableSpec(target="y", missing=missing)
    native, python = keen_model(), keen_model(PlainPool())
    track = chunks(native, as_arrow(table), spec)
    assert chunks(python, as_arrow(table), spec) == track
    assert driver_centres(native) == driver_centres(python)
    assert mean_loss(track, table, 100) < 0.5


def test_predictions_do_not_centre_a_late_column() -> None:
    rows = late(100.0)
    model, looked_at = keen_model(), keen_model()
    for x, y in rows[:200]:
        looked_at.predict_one({"a": 0.0, "late": 1e9, "flag": True, "when": None})
        assert looked_at.predict_one(x) == model.predict_one(x)
        model.learn_one(x, y)
        looked_at.learn_one(x, y)
    assert driver_centres(model) == driver_centres(looked_at)


# What is learned


def base(n: int, seed: int = 0) -> Table:
    rng, table = random.Random(f"base {seed}"), Table()
    for _ in range(n):
        x: Row = {"a": rng.gauss(0, 1), "b": rng.random(), "c": rng.choice("xyz")}
        y = 2 * x["a"] + 3 * x["b"] + (x["c"] == "x") + x["a"] * x["b"]
        table.append((x, y + rng.gauss(0, 0.3)))
    return table


CHANGES: dict[str, Callable[[float], float]] = {
    "plus 1000": lambda v: v + 1000.0,
    "plus a million": lambda v: v + 1e6,
    "minus a million": lambda v: v - 1e6,
    "a Unix time": lambda v: v + 1.7e9,
    "in millimetres": lambda v: 1e4 * v,
    "in parsecs": lambda v: 1e-9 * v,
    "times a power of two": lambda v: math.ldexp(v, 20),
    "the other way round": lambda v: -v,
    "all of it": lambda v: -3.3 * v + 77.0,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", ["a table", "dicts"])
def test_a_column_may_have_any_unit_and_any_zero(way: str, change: str) -> None:
    """The loss of the whole run, its beginning too, is the same within 2 %."""
    table = base(1000)
    changed = [({**x, "a": CHANGES[change](x["a"])}, y) for x, y in table]
    loss = mean_loss(WAYS[way](ChaCha(), table), table)
    assert loss < 0.5
    assert mean_loss(WAYS[way](ChaCha(), changed), changed) == pytest.approx(loss, rel=0.02)


def test_as_read_it_may_not() -> None:
    table = [({**x, "a": x["a"] + 1000.0}, y) for x, y in base(1000)]
    as_read = contest_model(scaling=None)
    assert mean_loss(WAYS["dicts"](as_read, table), table) > 2.0


@pytest.mark.parametrize("way", ["a table", "dicts"])
@pytest.mark.parametrize("start", [1_700_000_000, 1_700_000_000_000, 1 << 24, 1 << 40, 1 << 52])
def test_differences_of_a_few_seconds_count_in_large_numbers(way: str, start: int) -> None:
    """Unix times in seconds and milliseconds, ids beyond 2^24 and the largest whole numbers."""
    rng = random.Random(1)
    table: Table = []
    for _ in range(600):
        seconds = rng.randrange(20)
        table.append(
            ({"at": start + seconds, "b": rng.random()}, 0.5 * seconds + rng.gauss(0, 0.1))
        )
    track = WAYS[way](ChaCha(), table)
    assert mean_loss(track, table, 100) < 0.05, "the labels have a variance of 8"


KINDS: dict[str, tuple[Callable[[random.Random, int], Any], float]] = {
    "0 or 1": (lambda rng, i: float(rng.random() < 0.5), 0.0),
    "mostly 1": (lambda rng, i: float(rng.random() < 0.9), 0.0),
    "true or false": (lambda rng, i: rng.random() < 0.3, 0.0),
    "95 % one value": (lambda rng, i: 5.0 if rng.random() < 0.95 else rng.uniform(0, 9), 0.0),
    "95 % zero": (lambda rng, i: 0.0 if rng.random() < 0.95 else rng.uniform(0, 9), 0.0),
    "constant": (lambda rng, i: 7.0, 0.0),
    "constant at first": (lambda rng, i: 7.0 if i < 80 else rng.gauss(7, 1), 0.0),
    "never there": (lambda rng, i: None, 0.0),
    "empty now and then": (lambda rng, i: None if rng.random() < 0.2 else rng.gauss(100, 1), 100.0),
    "empty at first": (lambda rng, i: None if i < 80 else rng.gauss(2, 1), 0.0),
    "far from 0, empty at first": (lambda rng, i: None if i < 80 else rng.gauss(1e6, 1), 1e6),
}
"""The cells of a column, and what an empty one counts as in the label."""


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_every_kind_are_learned(kind: str) -> None:
    """In the end to within twice the noise, and with the same bits in every driver."""
    cell, empty = KINDS[kind]
    rng, table = random.Random(7), Table()
    for i in range(800):
        x: Row = {"v": cell(rng, i), "b": rng.random()}
        value = empty if x["v"] is None else float(x["v"])
        table.append((x, 10.0 + 0.5 * value + 3.0 * x["b"] + rng.gauss(0, 0.3)))
    track = WAYS["a table"](keen_model(), table)
    assert learned(keen_model(), table, "dicts")[0] == track
    assert mean_loss(track, table, 600) < 0.18, "the noise has a variance of 0.09"
    python = keen_model(PlainPool())
    assert WAYS["dicts"](python, table[:130]) == track[:130]


@pytest.mark.parametrize("pool", [NativePool, PlainPool])
def test_keys_that_come_late_and_dicts_of_dicts(pool: type[NativePool]) -> None:
    """A late key is learned as it is; so is one that the first rows do not always have."""
    rng, rows = random.Random(3), []
    for i in range(400):
        x: Row = {
            "user": {"age": rng.gauss(40, 9), "geo": {"lat": rng.gauss(50, 1)}},
            "hour": i % 24,
        }
        y = x["user"]["age"] / 9 + x["user"]["geo"]["lat"] - 50
        if i > 100 and rng.random() < 0.5:
            x["late"] = rng.gauss(3, 1)
            y += x["late"]
        if rng.random() < 0.5:
            x["user"]["now and then"] = 1.0
            y += 1.0
        rows.append((x, y))
    model = keen_model(pool())
    track = WAYS["dicts"](model, rows)
    centres = {(group, centre != [0.0, 1.0]) for group, _, *centre in driver_centres(model)}
    assert ("user", True) in centres
    assert ("user", False) in centres
    assert mean_loss(track, rows, 300) < 0.2
    other = keen_model(PlainPool() if pool is NativePool else NativePool())
    assert WAYS["dicts"](other, rows) == track
    assert driver_centres(other) == driver_centres(model)


@pytest.mark.parametrize("pool", [NativePool, PlainPool])
def test_derived_groups_see_numbers_as_they_were_read(pool: type[NativePool]) -> None:
    """Lags and means also of a column that mostly has one value, which is no feature then."""
    names = ["lag(a,2)", "ewma(a,0.5)", "bins(b,6)", "log(b)", "onehot(c)", "lag(c,2)"]
    init, rng = {"features": names}, random.Random(2)
    model, as_read = (fast_model(pool(), init=init, scaling=s) for s in (Scaling(), None))
    for i in range(150):
        value = 5.0 if rng.random() < 0.6 else float(rng.choice([6, 7, 9]))
        x = {"a": value, "b": float(np.float32(rng.gauss(1e6, 3))), "c": i % 5 + 1}
        if i == 0:  # a first row is no value of a centred column, and a 0 none of one as read
            x = {**x, "b": 0.0, "c": 0}
        found, expected = (m._driver.derived(m.reader.example(x), names) for m in (model, as_read))
        assert found == expected, i
        for m in (model, as_read):
            m.learn_one(x, rng.gauss(value, 1))
    assert all(found.values())


@pytest.mark.parametrize("pool", [NativePool, PlainPool])
def test_a_column_that_is_mostly_one_number_is_as_sparse_as_one_that_is_mostly_0(
    pool: type[NativePool],
) -> None:
    """Neither the number nor groups that are derived from it are features."""
    names, rng = ["bins(a,6)", "onehot(a)", "log(a)"], random.Random(2)
    zero, five = (fast_model(pool(), init={"features": names}, scaling=Scaling()) for _ in "05")
    for i in range(500):
        value = 0.0 if rng.random() < 0.7 else float(rng.choice([1, 2, 4]))
        features = []
        for model, x in ((zero, {"a": value}), (five, {"a": value + 5.0})):
            found = model._driver.derived(model.reader.example(x), names)
            features.append({name: len(found[name]) for name in names})
            model.learn_one(x, rng.gauss(value, 1))
        if i > 400:
            assert features[0] == features[1], i
            assert (value == 0.0) == (features[0]["onehot(a)"] == 0)


@pytest.mark.parametrize("pool", [NativePool, PlainPool])
@pytest.mark.parametrize("way", ["a table", "dicts", "tickets"])
def test_the_values_of_a_column_do_not_depend_on_its_zero(way: str, pool: type[NativePool]) -> None:
    """Neither does what the first row has: it is not known yet whether that is the centre."""
    init = {"features": ["bins(a,16)", "onehot(b)"]}
    knots, values = [], []
    for zero in (0.0, 1024.0):
        rng, table = random.Random(6), Table()
        for i in range(100):
            a = 0.0 if i == 0 or rng.random() < 0.7 else rng.randrange(1, 512) / 64.0
            b = rng.choice([0, 0, 0, 1, 2, 3]) if i > 0 else 0
            table.append(({"a": a + zero, "b": b + zero}, a + rng.gauss(0, 1)))
        model = fast_model(pool(), init=init, scaling=Scaling())
        WAYS[way](model, table)
        recipes = model._driver.recipes()
        knots.append([x - zero for basis in recipes["bins(a,16)"].bases.values() for x in basis.at])
        values.append([x - zero for basis in recipes["onehot(b)"].bases.values() for x in basis.at])
    assert len(knots[0]) == 16
    assert knots[0] == knots[1]
    assert len(values[0]) >= 3
    assert values[0] == values[1]


@pytest.mark.parametrize("pool", [NativePool, PlainPool])
def test_bins_tell_seconds_since_1970_apart(pool: type[NativePool]) -> None:
    """Single precision has one number for 128 seconds; bins of both columns divide them alike."""
    init = {"features": ["bins(since,4)", "bins(at,4)"]}
    model, rng = fast_model(pool(), init=init, scaling=Scaling()), random.Random(3)
    for _ in range(150):
        seconds = rng.uniform(0.0, 60.0)
        x = {"since": seconds, "at": 1.7e9 + seconds}
        bins = model._driver.derived(model.reader.example(x), init["features"])
        since, at = ([value for _, value in features] for features in bins.values())
        assert at == pytest.approx(since, abs=1e-6)
        model.learn_one(x, rng.gauss(seconds, 1))
    assert len(at) == 2


@pytest.mark.parametrize("most_groups", [1, 2])
def test_features_that_a_row_has_twice(most_groups: int) -> None:
    """`v.0` is a column, and the first number of `v`: the twins agree, derived groups included."""
    rng = np.random.default_rng(1)
    v = rng.normal(size=(120, 2))
    again = np.where(rng.random(120) < 0.5, 0.0, rng.normal(5, 1, 120))
    table = pa.table({"v": v.tolist(), "v.0": again, "w": v[:, 1], "y": v[:, 0] + again})
    spec = TableSpec(target="y", most_groups=most_groups)
    results = []
    for pool in (NativePool(), PlainPool()):
        model = fast_model(pool)
        track = chunks(model, table, spec)
        end = state(model)
        del end["summary"]
        results.append((track, end))
    assert results[0] == results[1]


@pytest.mark.parametrize("pool", [NativePool, PlainPool])
@pytest.mark.parametrize("way", ["a table", "dicts"])
def test_wild_columns_refuse_no_row_and_give_finite_predictions(
    way: str, pool: type[NativePool]
) -> None:
    """First rows that differ by next to nothing, then numbers that a float can just hold."""
    rng = random.Random(5)
    cells: list[Callable[[int], float]] = [
        lambda i: 1e-310 * rng.randrange(3),
        lambda i: 10.0 ** -rng.uniform(150, 250) if i < 70 else rng.random(),
        lambda i: 1e-30 * rng.random() if i < 70 else 1e10 * rng.random(),
        lambda i: rng.choice([3.4e38, -3.4e38]),
        lambda i: 7.0 if i < 70 else rng.choice([7.0, 1e38]),
    ]
    for cell in cells:
        table: Table = [({"v": cell(i), "b": rng.random()}, rng.gauss(0, 1)) for i in range(120)]
        model = keen_model(pool())
        track = WAYS[way](model, table)
        assert len(track) == model.examples == 120
        assert all(map(math.isfinite, track))
        same = keen_model()
        assert WAYS["a table"](same, table) == track
