"""Property tests of Algorithm 1: what always holds, whatever the losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chacha import (
    Config,
    Decision,
    Eliminated,
    LeaseDoubled,
    Promoted,
    Retired,
    SampleComplexity,
    WentLive,
)
from chacha.rules.paper import ChampionChallengers, PaperRules, second_order_products
from tests.support.running import RunningPaper
from tests.support.scripted import FixedEpsilon, World

GROUPS = "abcde"


def watch_nothing(cc: RunningPaper, decisions: list[Decision]) -> None:
    """Watches nothing."""


def replay(
    budget: int,
    seed: int,
    epsilon: float,
    noise: float,
    T: int,
    effects: dict[str, float],
    watch: Callable[[RunningPaper, list[Decision]], None] = watch_nothing,
) -> tuple[RunningPaper, list[Decision]]:
    """A run of the paper's oracle on losses made of effects of products, plus noise."""
    rng = Random(seed)
    rules = PaperRules(FixedEpsilon(epsilon), oracle=second_order_products)
    cc = RunningPaper(ChampionChallengers(rules, Config(), budget, seed=seed))
    world = World(groups=GROUPS, raw_features=1)
    decisions = list(cc.begin(world))
    watch(cc, decisions)
    check_invariants(cc, budget)
    for _ in range(T):
        shock = rng.uniform(-noise, noise)
        losses = {
            c: 1.0 + shock - sum(effects.get("".join(p), 0.0) for p in c.interactions)
            for c in (cc.champion, *cc.B)
        }
        latest = cc.learn(losses, world)
        decisions += latest
        watch(cc, latest)
        check_invariants(cc, budget)
    return cc, decisions


def check_invariants(cc: RunningPaper, budget: int) -> None:
    assert len(cc.B) <= budget - 1, "more than b live models"
    assert len(set(cc.B)) == len(cc.B)
    assert cc.champion not in cc.B, "the champion is its own challenger"
    assert cc.champion not in cc.S
    assert set(cc.standing) == {cc.champion, *cc.B}, "a live model without a record, or a ghost"
    assert cc.incumbent in cc.standing, "the served model is not live"
    assert cc.proposed >= {*cc.S, cc.champion}
    assert all(lease >= 1 for lease in cc.lease.values())


effects = st.dictionaries(
    st.sampled_from(["ab", "ac", "bd", "ce", "abc", "abd"]), st.floats(-0.5, 0.9), max_size=4
)
runs = {
    "budget": st.integers(1, 7),
    "seed": st.integers(0, 2**32),
    "epsilon": st.floats(0.001, 0.3),
    "noise": st.floats(0.0, 0.5),
    "T": st.integers(1, 150),
    "effects": effects,
}


@settings(max_examples=60)
@given(**runs)
def test_whatever_the_losses(
    budget: int, seed: int, epsilon: float, noise: float, T: int, effects: dict[str, float]
) -> None:
    cc, decisions = replay(budget, seed, epsilon, noise, T, effects)
    live: set[Config] = set()
    lease: dict[Config, int] = {}
    champion = Config()
    for d in decisions:  # the records alone are enough
        match d:
            case WentLive():
                assert d.config not in live
                live.add(d.config)
                assert d.lease >= lease.get(d.config, 1)
                lease[d.config] = d.lease
            case Retired():
                live.remove(d.config)
            case LeaseDoubled():
                assert d.config in live
                assert d.lease == 2 * lease[d.config], "a lease did something else than double"
                assert d.n >= lease[d.config]
                lease[d.config] = d.lease
            case Promoted():
                assert d.dethroned == champion
                assert d.config in live
                live.remove(d.config)
                live.add(d.dethroned)
                lease[d.dethroned] = lease.pop(d.config)
                champion = d.config
            case Eliminated():
                assert d.config in live
                assert d.champion == champion
    assert live == set(cc.B)
    assert champion == cc.champion
    assert {c: lease[c] for c in cc.B} == {c: cc.lease[c] for c in cc.B}


@settings(max_examples=30)
@given(**runs)
def test_same_seed_same_decisions(
    budget: int, seed: int, epsilon: float, noise: float, T: int, effects: dict[str, float]
) -> None:
    first = replay(budget, seed, epsilon, noise, T, effects)[1]
    assert replay(budget, seed, epsilon, noise, T, effects)[1] == first


@settings(max_examples=30)
@given(**runs)
def test_no_configuration_is_proposed_twice(
    budget: int, seed: int, epsilon: float, noise: float, T: int, effects: dict[str, float]
) -> None:
    """Nothing enters S twice; only a dethroned champion joins it from elsewhere."""
    entered: list[Config] = []
    before: set[Config] = set()

    def watch(cc: RunningPaper, decisions: list[Decision]) -> None:
        dethroned = {d.dethroned for d in decisions if isinstance(d, Promoted)}
        entered.extend(c for c in cc.S if c not in before and c not in dethroned)
        before.clear()
        before.update(cc.S)

    replay(budget, seed, epsilon, noise, T, effects, watch)
    assert len(entered) == len(set(entered))
    assert Config() not in entered


@pytest.mark.parametrize("b", [5, 6, 8])
@pytest.mark.parametrize("challengers", [10, 24, 45])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_challenger_starves(b: int, challengers: int, seed: int) -> None:
    """For b >= 5 and |S| > b, under fixed losses, once every first lease is used up:
    every challenger's cumulative examples are at least (b-1)/(8·max|S|)·T."""
    rng = Random(seed)
    configs = [Config(values={"k": k}) for k in range(challengers)]
    loss = {c: 0.5 + 0.1 * rng.random() for c in (Config(), *configs)}
    evidence = SampleComplexity(scale=10.0)  # wide bounds: none is promoted or eliminated
    rules = PaperRules(evidence, oracle=lambda champion, groups: configs)
    cc = RunningPaper(ChampionChallengers(rules, Config(), b, seed=seed))
    world = World(raw_features=4, d=lambda c: 3.0 + hash_free(c))
    cc.begin(world)
    total: Counter[Config] = Counter()
    checked = 0
    for T in range(1, 12_000):
        total.update(cc.B)
        assert not [d for d in cc.learn(loss, world) if isinstance(d, (Promoted, Eliminated))]
        if T % 250 == 0 and min(total[c] for c in configs) >= 20:
            floor = (b - 1) / (8 * challengers) * T
            assert min(total[c] for c in configs) >= floor, f"at T={T}"
            checked += 1
    assert checked > 20


def hash_free(config: Config) -> float:
    """A complexity that differs from configuration to configuration."""
    return float(config.values.get("k", 0)) / 7
