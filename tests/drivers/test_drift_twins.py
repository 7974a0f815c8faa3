"""The engine beside the reference in Python, under drift and where logarithms are learned."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from chacha import ChaCha, NativePool, ReferencePool
from chacha.losses import Quantile
from chacha.pools.base import LivePool
from chacha.rules.contest.state import ContestState
from tests.support.derived_runs import Row, Table
from tests.support.fast_rules import EAGER, KEEN, PlainPool
from tests.support.models import contest_model
from tests.support.native_runs import state
from tests.support.scaled_runs import TARGET, WAYS, as_arrow, chunks, keen_model, ordinary

BEFORE, AFTER = 400, 250
SURPRISE = "the champion's losses have changed"


def heavy(n: int, seed: int = 8) -> Table:
    """Labels with heavy tails, whose logarithm is linear in the columns."""
    rng, table = random.Random(f"h{seed}"), Table()
    for _ in range(n):
        x: Row = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 1), "c": rng.choice("xyz")}
        log = 3.0 * (x["a"] + x["b"] + (x["c"] == "x") + rng.gauss(0, 0.1))
        table.append((x, math.exp(log)))
    return table


def drifting(change: Callable[[Row, float], float]) -> Table:
    """Labels around 40, with a deviation of 4, and then others."""
    table = [(x, y + 40) for x, y in ordinary(BEFORE + AFTER)]
    return table[:BEFORE] + [(x, change(x, y)) for x, y in table[BEFORE:]]


def wild(n: int, at: tuple[int, ...]) -> Table:
    """Ordinary labels, and some of 1e9."""
    return [(x, 1e9 if i in at else y) for i, (x, y) in enumerate(ordinary(n))]


DRIFTS: dict[str, Callable[[Row, float], float]] = {
    "times 1000": lambda x, y: 1000 * y,
    "by 1000": lambda x, y: y / 1000,
    "ten deviations up": lambda x, y: y + 40,
    "a new function": lambda x, y: 100 * x["b"] + 80 - y,
}

CUTS = (1, 7, 1000)


def drift_model(pool: LivePool, **settings: Any) -> ChaCha:
    """A model that has few promotions, so that losses are compared for long enough."""
    rules: dict[str, Any] = {"blending": EAGER, "first_lease": 60, "budget": 4, "space": None}
    return contest_model(pool=pool, **{**rules, "keep_decisions": 10**6, **settings})


def surprises(model: ChaCha) -> list[int]:
    """After which examples a model was started anew because losses have changed."""
    return [d.t for d in model.decisions if getattr(d, "why", None) == SURPRISE]


def seen(model: ChaCha, track: list[float]) -> tuple[Any, ...]:
    """What is compared: predictions, decisions and the state of the rules, to the bit."""
    end, rules = state(model), model.state
    assert isinstance(rules, ContestState)
    del end["summary"]  # it names the source
    decisions = [json.dumps(d.to_json()) for d in model.decisions]
    return track, decisions, rules.surprise, rules.level, end


def assert_twins(
    make: Callable[[LivePool], ChaCha], table: Table, twin: type[Any] = ReferencePool
) -> ChaCha:
    """The engine gives the same by dicts and in chunks of any size as its twin; return that."""
    python = make(twin())
    expected = seen(python, WAYS["dicts"](python, table))
    native = make(NativePool())
    assert seen(native, WAYS["dicts"](native, table)) == expected
    for size in CUTS:
        cut = make(NativePool())
        ends = iter(range(size, len(table) + size + 1, size))
        track = chunks(cut, as_arrow(table), TARGET, until=lambda ends=ends: next(ends, 10**6))
        assert seen(cut, track) == expected, size
    return python


@pytest.mark.parametrize("drift", DRIFTS)
def test_the_reference_learner_is_surprised_as_the_engine_is(drift: str) -> None:
    model = assert_twins(drift_model, drifting(DRIFTS[drift]))
    assert any(t > BEFORE for t in surprises(model)), "else it proves nothing"


@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("tau", [0.5, 0.9])
def test_the_python_driver_is_surprised_as_the_engine_is(tau: float, drift: str) -> None:
    """The reference learner has no quantile, so the native one runs in both drivers."""
    model = assert_twins(
        lambda pool: drift_model(pool, loss=Quantile(tau)), drifting(DRIFTS[drift]), PlainPool
    )
    assert any(t > BEFORE for t in surprises(model)), "else it proves nothing"


def test_a_change_while_no_change_is_looked_for_is_noticed_later() -> None:
    """A spike, and soon after it larger labels for good."""
    table = drifting(lambda x, y: y)[:BEFORE] + drifting(lambda x, y: 400 - y)[BEFORE : BEFORE + 20]
    table += drifting(lambda x, y: y)[BEFORE + 20 : BEFORE + 60] + [
        (x, 1000 * y) for x, y in drifting(lambda x, y: y)[BEFORE + 60 :]
    ]
    model = assert_twins(lambda pool: drift_model(pool, first_lease=100), table)
    assert len(surprises(model)) == 2


def test_equal_labels_for_as_long_as_the_first_rows_and_then_others_show_the_scale() -> None:
    """The one from before is 65 rows ago when the last of the first rows comes."""
    rows = ordinary(200)
    table = [(x, 5.0 if i < 64 else 7.0 if i < 128 else y) for i, (x, y) in enumerate(rows)]
    model = assert_twins(drift_model, table)
    assert model.summary().label_scale == pytest.approx(2 / math.sqrt(65))


@pytest.mark.parametrize("at", [(3,), (70, 71, 72), (5, 300, 301)])
def test_wild_labels_are_cut_in_both(at: tuple[int, ...]) -> None:
    assert_twins(drift_model, wild(400, at))


@pytest.mark.parametrize("drift", ["times 1000", "by 1000", "a new function"])
def test_a_model_started_anew_becomes_champion_in_both(drift: str) -> None:
    model = assert_twins(
        lambda pool: drift_model(pool, evidence=KEEN), drifting(DRIFTS[drift]), PlainPool
    )
    assert [d for d in model.decisions if d.kind == "Promoted" and "started after" in str(d.config)]


@pytest.mark.parametrize("twin", [ReferencePool, PlainPool])
def test_logarithms_are_learned_and_promoted_in_both(twin: type[Any]) -> None:
    model = assert_twins(keen_model, heavy(420), twin)
    assert "target log" in {
        word for d in model.decisions if d.kind == "Promoted" for word in str(d.config).split("; ")
    }


def test_logarithms_under_drift_are_the_same_in_both() -> None:
    """The champion learns logarithms; then labels are 1000 times as large."""
    table = heavy(420) + [(x, 1000 * y) for x, y in heavy(200, seed=1)]
    model = assert_twins(keen_model, table)
    assert any("target log" in str(d.config) for d in model.decisions if d.kind == "Promoted")
    assert any("target log" in str(d.config) and d.t > 420 for d in model.decisions)


def test_a_surprise_without_any_challenger_is_heeded_in_both() -> None:
    """An oracle that proposes nothing leaves all slots free."""
    model = assert_twins(
        lambda pool: drift_model(pool, oracle=lambda champion, groups: []),
        drifting(DRIFTS["times 1000"]),
        PlainPool,
    )
    assert surprises(model)
