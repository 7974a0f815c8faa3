"""What is offered for a column depends neither on its unit, nor on its zero, nor on its sign."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chacha import ChaCha, DerivedFeatures, NativePool
from chacha.config.derived_groups import DerivedGroup, check_derived_name, derived
from chacha.config.derived_kinds import ColumnProfile
from chacha.data.text_parser import parse_line
from chacha.data.vw_text import hash_name
from chacha.features.column_stats import ColumnStats, steps_of
from chacha.features.derivation import Derivation
from chacha.features.formulas import FORMULAS, ValueFormula
from tests.support.derived_runs import Table, fast_model, features_in, space
from tests.support.fast_rules import PlainPool
from tests.support.scaled_runs import WAYS, learned, mean_loss

KINDS = ["bins", "onehot", "cyclic"]  # logarithms are about 0
PERIODS = [7, 12, 24, 60, 365, 366]


def profile_of(values: Sequence[float], group: str = "x", first: int = 256) -> ColumnProfile:
    stats = ColumnStats(first)
    for i in range(first):
        stats.observe(values[i % len(values)])
    return ColumnProfile(group, group, stats.distinct, stats.codes, stats.steps, *stats.range)


def offered(*columns: ColumnProfile) -> list[DerivedGroup]:
    groups = [derived(name) for name, _ in DerivedFeatures(kinds=KINDS).offers(columns)]
    return [group for group in groups if group is not None]


def in_units(groups: Sequence[DerivedGroup], unit: float) -> list[DerivedGroup]:
    """The groups for a column in another unit: its periods have other lengths."""
    return [
        group._replace(parameter=group.parameter * unit) if group.kind == "cyclic" else group
        for group in groups
    ]


COLUMNS = st.one_of(
    st.sampled_from(PERIODS).map(lambda n: [*map(float, range(n))]),
    st.lists(st.integers(-1000, 1000).map(float), min_size=3, max_size=80, unique=True),
    st.lists(st.integers(0, 365).map(float), min_size=3, max_size=60, unique=True),
    st.lists(st.integers(0, 10**6).map(lambda k: k / 64), min_size=3, max_size=80, unique=True),
)
SIGNS = st.sampled_from([1.0, -1.0])


@given(COLUMNS, SIGNS, st.integers(-40, 40))
def test_offers_in_units_of_a_power_of_two_are_exactly_the_same(
    values: list[float], sign: float, power: int
) -> None:
    unit = math.ldexp(1.0, power)
    changed = offered(profile_of([sign * unit * value for value in values]))
    assert changed == in_units(offered(profile_of(values)), unit)


@given(COLUMNS, SIGNS, st.floats(1e-6, 1e6), st.floats(-1e4, 1e4))
def test_offers_of_a_column_in_another_unit_with_another_zero(
    values: list[float], sign: float, unit: float, zero: float
) -> None:
    before = in_units(offered(profile_of(values)), unit)
    after = offered(profile_of([sign * unit * (value + zero) for value in values]))
    assert [group[:2] for group in after] == [group[:2] for group in before]
    lengths = [group.parameter for group in before]
    assert [group.parameter for group in after] == pytest.approx(lengths, rel=1e-9)


@pytest.mark.parametrize("change", [0.1, -0.1, 3.3, 1 / 7])
@pytest.mark.parametrize("period", PERIODS[:4])
def test_offers_of_single_precision_are_the_same(period: int, change: float) -> None:
    values = [float(np.float32(change * value)) for value in range(period)]
    assert [group.kind for group in offered(profile_of(values))] == [
        group.kind for group in offered(profile_of([*map(float, range(period))]))
    ]


@pytest.mark.parametrize("period", [7, 12, 24, 60])
@pytest.mark.parametrize("low", [0, 1])
def test_whole_numbers_over_a_period_have_the_names_of_before(period: int, low: int) -> None:
    names = [str(group) for group in offered(profile_of([*map(float, range(low, period + low))]))]
    bins = ["bins(x,16)"] if period > 16 else []
    assert names == ["onehot(x)", *bins, f"cyclic(x,{period})"]


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([0.1 * hour for hour in range(24)], "cyclic(x,2.4)"),
        ([hour + 0.5 for hour in range(24)], "cyclic(x,24)"),
        ([3600.0 * hour for hour in range(24)], "cyclic(x,86400)"),
        ([1e6 - hour / 10 for hour in range(24)], "cyclic(x,2.4)"),
        ([math.ldexp(hour, -20) for hour in range(24)], "cyclic(x,2.288818359375e-05)"),
        ([math.ldexp(month, 30) for month in range(12)], "cyclic(x,12884901888)"),
    ],
)
def test_the_length_of_a_period_is_written_as_people_would(values: list[float], name: str) -> None:
    assert name in [str(group) for group in offered(profile_of(values))]
    assert check_derived_name(name) == name


def test_each_column_of_a_group_has_its_own_period() -> None:
    hours, minutes = (profile_of([*map(float, range(n))]) for n in (24, 60))
    again, tenths = hours._replace(name="again"), profile_of([0.1 * hour for hour in range(24)])
    names = [str(group) for group in offered(hours, minutes, again, tenths)]
    assert names[2:] == ["cyclic(x,24)", "cyclic(x,2.4)", "cyclic(x,60)"]


def test_values_that_are_neither_few_nor_evenly_spaced_are_no_codes() -> None:
    roots = [math.sqrt(k) for k in range(1, 66)]
    assert not profile_of(roots).codes
    assert profile_of(roots[:64]).codes, "each comes several times"
    assert profile_of(roots[:64]).steps == 0
    assert profile_of(roots[:40], first=70).codes, "a quarter comes once"
    assert not profile_of(roots[:40], first=69).codes
    assert steps_of([]) == steps_of([3.0]) == steps_of([-1e308, 0.0, 1e308]) == 0


def test_a_period_may_begin_anywhere() -> None:
    """Sines and cosines do not depend on the zero; those of the other sign are mirrored."""
    formula = FORMULAS["cyclic"]
    assert isinstance(formula, ValueFormula)
    stats = ColumnStats(24)
    for hour in range(24):
        stats.observe(1e9 - 0.1 * hour)
    basis = formula.basis(2.4, "x", stats)
    assert basis is not None
    for hour in range(24):
        angle = -math.tau * (hour - 11.5) / 24
        turn = dict(formula.features(2.4, basis, 1e9 - 0.1 * hour))
        assert turn["x.sin"] == pytest.approx(math.sin(angle), abs=1e-5)
        assert turn["x.cos"] == pytest.approx(math.cos(angle), abs=1e-5)


@pytest.mark.parametrize("way", ["a table", "dicts"])
def test_hours_from_1_to_24_are_those_from_0_to_23(way: str) -> None:
    """Whatever is 0: sines and cosines are measured from the middle."""
    track, decided = learned(ChaCha(), coded(4000), way)
    assert any("cyclic(hour,24)" in config for _, _, config in decided)
    for first in (1, 7, 512):
        table = [({**x, "hour": x["hour"] + first}, y) for x, y in coded(4000)]
        other, decided_there = learned(ChaCha(), table, way)
        assert [each[:2] for each in decided_there] == [each[:2] for each in decided]
        assert other == pytest.approx(track, abs=0.02)


CHANGES: dict[str, Callable[[int], float]] = {
    "tenths": lambda hour: hour * 0.1,
    "and a half": lambda hour: hour + 0.5,
    "backwards": lambda hour: -float(hour),
    "far from 0": lambda hour: 1e9 + hour / 16,
}


def coded(n: int, change: Callable[[int], float] = float) -> Table:
    """A column of 24 codes, each with its own level, and one more column."""
    rng, table = random.Random("coded"), Table()
    levels = [rng.gauss(0, 1) for _ in range(24)]
    for _ in range(n):
        hour, u = rng.randrange(24), rng.gauss(0, 1)
        table.append(({"hour": change(hour), "u": u}, levels[hour] + rng.gauss(0, 0.1)))
    return table


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", ["a table", "dicts"])
def test_a_code_may_have_any_unit_and_any_zero(way: str, change: str) -> None:
    table, changed = coded(3000), coded(3000, CHANGES[change])
    model = ChaCha()
    loss = mean_loss(WAYS[way](ChaCha(), table), table)
    assert mean_loss(WAYS[way](model, changed), changed) == pytest.approx(loss, rel=0.02)
    assert "onehot(hour)" in model.champion.derived


@pytest.mark.parametrize("first", [48, 128])
@pytest.mark.parametrize("change", CHANGES)
def test_both_drivers_derive_the_same_from_codes(change: str, first: int) -> None:
    """Also if they are known, and still change, when models learn the first rows again."""
    table = coded(400, CHANGES[change])
    settings = {"space": space(DerivedFeatures(kinds=["onehot", "cyclic"], first=first))}
    models = [fast_model(pool, **settings) for pool in (NativePool(), PlainPool())]
    fast, slow = (learned(model, table) for model in models)
    assert fast == slow
    kinds = {name.partition("(")[0] for name in features_in(models[0])}
    assert kinds == {"onehot", "cyclic"}


def curved(n: int, change: Callable[[float], float]) -> Table:
    """Four columns; the label has a wave, a square and a product in it."""
    rng, table = random.Random("curved"), Table()
    for _ in range(n):
        x = {name: rng.gauss(0, 1) for name in "abcd"}
        y = math.sin(3 * x["a"]) + x["b"] * x["b"] + math.cos(2 * x["c"]) * x["d"]
        table.append(({name: change(v) for name, v in x.items()}, y + rng.gauss(0, 0.1)))
    return table


@pytest.mark.parametrize(
    "change",
    [lambda v: v + 10.0, lambda v: 1e6 * v, lambda v: 3.3 * v - 1e5],
    ids=["plus 10", "in millionths", "both"],
)
def test_decisions_about_bins_and_their_products_are_the_same(
    change: Callable[[float], float],
) -> None:
    """The screen finds its cells by the places of bins, not by the numbers in their names."""
    track, decided = learned(ChaCha(), curved(6000, float), "a table")
    other, decided_there = learned(ChaCha(), curved(6000, change), "a table")
    assert decided_there == decided
    assert other == pytest.approx(track, abs=0.01)
    assert any("*bins(" in config for _, _, config in decided)


def test_the_codes_of_features_depend_on_their_places() -> None:
    """Each feature of a column has its own, in whatever unit the column is."""
    names = ["bins(x,8)", "onehot(x)", "cyclic(x,24)", "lag(x,3)", "log(x)"]
    codes: list[dict[str, list[int]]] = []
    for unit in (1.0, 0.7):
        derivation, found = Derivation(first=48), dict[str, set[int]]()
        derivation.add(names)
        for i in range(96):
            example = derivation.derive(parse_line(f"1 |x x:{unit * (1 + i % 24)!r}"))
            for name in names:
                places = found.setdefault(name, set())
                places.update(derivation.code_of(name, f.hashed) for f in example.derived[name])
            derivation.observe(example)
        codes.append({name: sorted(places) for name, places in found.items()})
        assert derivation.code_of("bins(x,8)", 5) == 5, "a number that is no feature's"
        assert derivation.code_of("bins(y,8)", 7) == 7, "a group that is not derived"
    assert codes[0] == codes[1]
    column = hash_name("x", hash_name("x", 0))
    spans = {name: [code - column for code in places] for name, places in codes[0].items()}
    assert spans["onehot(x)"] == list(range(24))
    assert spans["cyclic(x,24)"] == [0, 1]
    assert spans["lag(x,3)"] == [0, 1, 2]
    assert spans["log(x)"] == [0]
    assert spans["bins(x,8)"] == list(range(len(spans["bins(x,8)"])))
