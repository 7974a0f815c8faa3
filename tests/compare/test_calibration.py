"""How often nothing is taken for something: the tests of the evidence, and `chacha calibrate`."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from chacha import PairedBetting
from chacha.cli import app
from chacha.compare import Calibrating, Calibration, CommonSettings, Stream
from chacha.compare.calibration import clopper_pearson
from chacha.config.space import AUTHORS_RATES, Interactions, Space
from chacha.errors import ConfigError
from chacha.rules.contest import Coin, PairedBernstein, Pairing

RUNS, CHALLENGERS, EXAMPLES = 400, 5, 400

Draw = Callable[[random.Random, int], float]


def exact(rng: random.Random, t: int) -> float:
    return rng.gauss(0.0, 0.7)


def heavy(rng: random.Random, t: int) -> float:
    """Student's t with two degrees of freedom: no variance."""
    return rng.gauss(0.0, 1.0) / math.sqrt(rng.gammavariate(1.0, 1.0))


def drifting(rng: random.Random, t: int) -> float:
    """Quiet times and wild ones; never better on average."""
    return rng.gauss(-0.05 * (t % 100 < 50), 0.1 + 2.0 * (t // 60 % 2))


def false_promotions(rules: PairedBetting, draw: Draw, coin_block: int | None = None) -> int:
    """Runs of some challengers, one after the other, that promote one of them."""
    found = 0
    for run in range(RUNS):
        rng = random.Random(run)
        used = rules if coin_block is None else rules.with_coin(Coin(run, coin_block))
        for k in range(1, CHALLENGERS + 1):
            pairing = Pairing(k, used.needed(k))
            pairing.restart()
            for t in range(EXAMPLES):
                if t == EXAMPLES // 2:
                    pairing.restart()
                ahead = draw(rng, t)
                pairing.add(1.0 + max(ahead, 0.0), 1.0 + max(-ahead, 0.0), 1.0, 1.0, used)
                if pairing.odds >= pairing.needed:
                    break
            else:
                continue
            found += 1
            break
    return found


@pytest.mark.parametrize("rules", [PairedBetting(margin=0.0), PairedBernstein(margin=0.0)])
@pytest.mark.parametrize("draw", [exact, heavy, drifting])
def test_false_promotions_stay_below_alpha(rules: PairedBetting, draw: Draw) -> None:
    """α = 0.05 over all challengers of a run; the upper 95% limit is what is asked for."""
    assert clopper_pearson(false_promotions(rules, draw), RUNS)[1] <= 0.075


def test_neighbours_that_are_alike_count_as_one() -> None:
    """The reason for blocks: with a bet for every example this null is taken for something."""

    def long_runs(rng: random.Random, t: int) -> float:
        return 1.0  # the coin gives the sign, ten at a time

    single = PairedBetting(margin=0.0, block=1, block_clip=3.0, warm_up=10)
    assert clopper_pearson(false_promotions(PairedBetting(), long_runs, 10), RUNS)[1] <= 0.075
    assert false_promotions(single, long_runs, 10) > 0.2 * RUNS


def test_a_challenger_that_is_better_is_found() -> None:
    """The same measurement, where there is something: it can fail."""

    def better(rng: random.Random, t: int) -> float:
        return rng.gauss(0.3, 0.7)

    assert false_promotions(PairedBetting(), better) > 0.9 * RUNS


def test_alpha_is_spent_once() -> None:
    """Over any number of challengers, the levels sum up to at most α."""
    rules = PairedBetting(alpha=0.05)
    levels = math.fsum(1.0 / rules.needed(k) for k in range(1, 200_000))
    rest = 0.05 / (2.11 * math.log(200_000))  # the integral of what is beyond
    assert 0.045 < levels + rest <= 0.05


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.floats(-1, 1), st.floats(0, 0.99))
def test_no_bet_can_lose_more_than_its_stake(gs: list[float], mean: float, bet: float) -> None:
    for rules in (PairedBetting(), PairedBernstein()):
        for g in gs:
            assert rules.payoff(bet, g, mean) > 0


@given(st.floats(-1, 1), st.floats(0, 0.9), st.floats(0.01, 1.0), st.floats(-1.0, 0.0))
def test_payoffs_are_fair_under_the_null(mean: float, bet: float, up: float, mu: float) -> None:
    """Two points with expectation mu <= 0: one unit at stake becomes at most one."""
    low = -1.0
    p = (mu - low) / (up - low)
    for rules in (PairedBetting(), PairedBernstein()):
        value = p * rules.payoff(bet, up, mean) + (1 - p) * rules.payoff(bet, low, mean)
        assert value <= 1.0 + 1e-9


def test_clopper_pearson() -> None:
    """Against the published 3/n rule, symmetry, and its definition."""
    assert clopper_pearson(0, 400)[0] == 0.0
    assert clopper_pearson(400, 400)[1] == 1.0
    assert clopper_pearson(0, 400)[1] == pytest.approx(1 - 0.025 ** (1 / 400), abs=1e-8)
    low, high = clopper_pearson(20, 400)
    mirrored = clopper_pearson(380, 400)
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high), abs=1e-8)
    assert (low, high) == pytest.approx((0.0308, 0.0762), abs=1e-4)


def test_calibrating_a_stream_counts_runs_that_promote() -> None:
    """α near 1 promotes often; the default hardly ever. Seeds make it repeatable."""
    space = Space.of({"interactions": Interactions(), "learning_rate": AUTHORS_RATES})
    stream = Stream("synth:interactions,n=800")

    def rate(alpha: float, runs: int = 30) -> Calibration:
        calibrating = Calibrating(
            stream,
            settings=CommonSettings(space=space),
            evidence=PairedBetting(alpha=alpha),
            runs=runs,
            workers=0,
        )
        shares = list(calibrating.run())
        assert shares[-1] == 1.0
        assert calibrating.result is not None
        return calibrating.result

    assert rate(0.05).false <= 2
    assert rate(0.999).false > rate(0.05).false
    assert rate(0.999) == rate(0.999)
    assert rate(0.05).examples == 800


def test_calibrate_on_the_command_line(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    words = ["calibrate", "synth:fried,n=300", "--runs", "6", "--jobs", "1", "--json", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "of 6 runs promoted a challenger that was no better" in done.output
    found = json.loads(out.read_text())
    assert found["runs"] == 6
    assert found["alpha"] == 0.05
    assert found["low"] <= found["rate"] <= found["high"]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Coin(seed=0, block=0), "block"),
        (lambda: PairedBetting(alpha=0.0), "alpha"),
        (lambda: PairedBetting(margin=1.0), "margin"),
        (lambda: PairedBetting(most=1.0), "most"),
        (lambda: PairedBetting(block=0), "block"),
        (lambda: PairedBetting(clip=0.0), "clip"),
        (lambda: PairedBetting(renews=1.0), "renews"),
        (lambda: PairedBetting(patience=0), "patience"),
        (lambda: Calibrating(Stream("synth:fried,n=5"), runs=0), "runs"),
    ],
)
def test_wrong_constants_are_named(make: Callable[[], object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        make()
