"""Betting and Bernstein tests: false promotions, power, and the budget of α."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chacha import PairedBetting
from chacha.compare.calibration import clopper_pearson
from chacha.errors import ConfigError
from chacha.rules.contest import Coin, PairedBernstein, Pairing

RUNS, CHALLENGERS, EXAMPLES = 400, 5, 400

Draw = Callable[[random.Random, int], float]


def exact(rng: random.Random, t: int) -> float:
    return rng.gauss(0.0, 0.7)


def heavy(rng: random.Random, t: int) -> float:
    """Return a draw from Student's t with two degrees of freedom, which has no variance."""
    return rng.gauss(0.0, 1.0) / math.sqrt(rng.gammavariate(1.0, 1.0))


def drifting(rng: random.Random, t: int) -> float:
    """Return noise whose scale changes; its mean is never above 0."""
    return rng.gauss(-0.05 * (t % 100 < 50), 0.1 + 2.0 * (t // 60 % 2))


def false_promotions(rules: PairedBetting, draw: Draw, coin_block: int | None = None) -> int:
    """Return the number of runs that promote one of several successive challengers."""
    promoted = 0
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
            promoted += 1
            break
    return promoted


@pytest.mark.parametrize("rules", [PairedBetting(margin=0.0), PairedBernstein(margin=0.0)])
@pytest.mark.parametrize("draw", [exact, heavy, drifting])
def test_false_promotions_stay_below_alpha(rules: PairedBetting, draw: Draw) -> None:
    """α = 0.05 over all challengers of a run; the upper 95% limit must be below 0.075."""
    assert clopper_pearson(false_promotions(rules, draw), RUNS)[1] <= 0.075


def test_equal_neighbours_count_as_one() -> None:
    """The reason for blocks: a bet for every example promotes on this null."""

    def long_runs(rng: random.Random, t: int) -> float:
        return 1.0  # the coin gives the sign of ten examples at a time

    single = PairedBetting(margin=0.0, block=1, block_clip=3.0, warm_up=10)
    assert clopper_pearson(false_promotions(PairedBetting(), long_runs, 10), RUNS)[1] <= 0.075
    assert false_promotions(single, long_runs, 10) > 0.2 * RUNS


def test_a_better_challenger_is_promoted() -> None:
    """The same measurement on a real advantage, so it can fail."""

    def better(rng: random.Random, t: int) -> float:
        return rng.gauss(0.3, 0.7)

    assert false_promotions(PairedBetting(), better) > 0.9 * RUNS


def test_alpha_is_spent_once() -> None:
    """The levels of any number of challengers sum to at most α."""
    rules = PairedBetting(alpha=0.05)
    levels = math.fsum(1.0 / rules.needed(k) for k in range(1, 200_000))
    rest = 0.05 / (2.11 * math.log(200_000))  # the integral of the tail
    assert 0.045 < levels + rest <= 0.05


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.floats(-1, 1), st.floats(0, 0.99))
def test_no_bet_can_lose_more_than_its_stake(gs: list[float], mean: float, bet: float) -> None:
    for rules in (PairedBetting(), PairedBernstein()):
        for g in gs:
            assert rules.payoff(bet, g, mean) > 0


@given(st.floats(-1, 1), st.floats(0, 0.9), st.floats(0.01, 1.0), st.floats(-1.0, 0.0))
def test_payoffs_are_fair_under_the_null(mean: float, bet: float, up: float, mu: float) -> None:
    """Two points with expectation mu <= 0: the expected payoff of one unit is at most one."""
    low = -1.0
    p = (mu - low) / (up - low)
    for rules in (PairedBetting(), PairedBernstein()):
        value = p * rules.payoff(bet, up, mean) + (1 - p) * rules.payoff(bet, low, mean)
        assert value <= 1.0 + 1e-9


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Coin(seed=0, block=0), "block"),
        (lambda: PairedBetting(alpha=0.0), "alpha"),
        (lambda: PairedBetting(margin=1.0), "margin"),
        (lambda: PairedBetting(most=1.0), "most"),
        (lambda: PairedBetting(block=0), "block"),
        (lambda: PairedBetting(clip=0.0), "clip"),
        (lambda: PairedBetting(renews=1.0), "renews"),
        (lambda: PairedBetting(patience=0), "patience"),
    ],
)
def test_wrong_constants_are_named(make: Callable[[], object], name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        make()
