"""The methods the paper compares ChaCha with, in Python and in the native engine."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from random import Random

import pytest

import chacha
from chacha import (
    ChaCha,
    Config,
    ContestRules,
    Promoted,
    ReferencePool,
    Retired,
    SampleComplexity,
    WentLive,
)
from chacha.rules import ProgressiveLoss
from chacha.rules.paper import (
    AggressiveScheduling,
    ChampionChallengers,
    Exhaustive,
    RandomChallengers,
    WithoutChampion,
)

STREAM = "synth:interactions,n=1200,seed=3"
VARIANTS = [RandomChallengers, Exhaustive, AggressiveScheduling, WithoutChampion]
RATE = {"interactions": chacha.Interactions(), "learning_rate": chacha.LogUniform(2e-10, 1.0)}


def model(algorithm: type[ChampionChallengers], **settings: object) -> ChaCha:
    given = {"keep_decisions": 10**6, "lease_factor": 1, **settings}
    return ChaCha.paper(algorithm=algorithm, **given)  # type: ignore[arg-type]


def follow(m: ChaCha, source: str = STREAM) -> tuple[list[float], list[str]]:
    """What was served, and by whom."""
    predictions: list[float] = []
    served_by: list[str] = []
    for chunk in m.chunks(chacha.open_source(source), record=True):
        assert chunk.served is not None
        predictions += chunk.served.predictions
        served_by += map(str, chunk.served.served_by)
    return predictions, served_by


def test_exhaustive_is_every_configuration_alone_chosen_afterwards_by_the_bounds() -> None:
    m = model(Exhaustive, budget=2)
    predictions, served_by = follow(m)
    configs = [Config(), *(Config([pair]) for pair in combinations("abcde", 2))]
    assert [live.config for live in m.live] == configs
    alone = {}
    for c in configs:
        init = {"interactions": c.interactions}
        as_read = ContestRules(scaling=None)
        alone[c] = follow(ChaCha(budget=1, space={}, init=init, rules=as_read))[0]
    examples = [e for e in chacha.open_source(STREAM) if isinstance(e, chacha.Example)]
    observed, evidence, loss = chacha.rules.ObservedStream(), SampleComplexity(), chacha.Squared()
    standing = {c: ProgressiveLoss() for c in configs}
    best = configs[0]
    for t, example in enumerate(examples):
        assert example.label is not None
        assert (predictions[t], served_by[t]) == (alone[best][t], str(best))
        observed.observe(example)
        low, high = observed.low, observed.high
        for c in configs:
            standing[c].add(loss.proxy(alone[c][t], example.label, low, high))
        upper = {
            c: evidence.bound(standing[c], observed.complexity(c), 10, high - low).upper
            for c in configs
        }
        best = min(configs, key=upper.__getitem__)
    assert len(set(served_by)) > 1, "more than one has served"


def test_exhaustive_holds_both_numeric_proposals() -> None:
    m = model(Exhaustive, space=RATE)
    m.run(STREAM, limit=5)
    rates = sorted(float(live.config.values["learning_rate"]) for live in m.live)
    assert len(m.live) == 1 + 10 + 2
    assert rates[0] < 0.5 < rates[-1]


def test_random_holds_the_same_configurations_for_the_same_seed() -> None:
    def held(seed: int) -> list[str]:
        m = model(RandomChallengers, seed=seed)
        m.run(STREAM)
        assert {type(d) for d in m.decisions} == {WentLive}, "no tests, no leases"
        assert len(m.decisions) == 4
        return [str(live.config) for live in m.live]

    assert held(1) == held(1)
    assert len({tuple(held(seed)) for seed in range(6)}) > 3
    assert all(held(seed)[0] == "no interactions" for seed in range(3))


def test_without_a_champion_it_is_retired_and_all_slots_are_shared() -> None:
    m = model(WithoutChampion, budget=4)
    m.run(STREAM, limit=20)
    gone = [d for d in m.decisions if isinstance(d, Retired) and d.config == m.champion]
    assert [d.t for d in gone] == [15], "its lease: one time 15 features"
    assert m.champion == Config()
    assert m.champion not in [live.config for live in m.live]
    assert len(m.live) == 4
    assert all(not live.champion for live in m.live)
    m.run(STREAM)
    back = [d for d in m.decisions if isinstance(d, WentLive) and d.config == Config()]
    assert back, "as its lease is the shortest again, it comes back, with an empty model"


def test_without_a_champion_promotions_happen_while_it_is_live() -> None:
    m = model(WithoutChampion, budget=4, evidence=SampleComplexity(scale=0.001))
    m.run("synth:interactions,n=4000,seed=3")
    promotions = [d for d in m.decisions if isinstance(d, Promoted)]
    assert promotions
    assert m.promotions == len(promotions)
    live = {Config()}
    for decision in m.decisions:
        if isinstance(decision, Promoted):
            assert {decision.dethroned, decision.config} <= live
        elif isinstance(decision, WentLive):
            live.add(decision.config)
        elif isinstance(decision, Retired):
            live.remove(decision.config)


def test_aggressive_scheduling_has_no_regard_for_performance() -> None:
    S = [Config([pair]) for pair in combinations("abcd", 2)]

    def stays(algorithm: type[ChampionChallengers]) -> list[Config]:
        scheduler, lease, rng = algorithm.scheduling(3), dict[Config, int](), Random(0)
        B, _ = scheduler.schedule([], S, {}, {}, lease, rng, n_min=10)
        upper = {c: float(i) for i, c in enumerate(B)}
        after, _ = scheduler.schedule(B, S, dict.fromkeys(B, 10), upper, lease, rng, n_min=10)
        return [c for c in B if c in after]

    assert len(stays(ChampionChallengers)) == 1, "the better half stays"
    assert stays(AggressiveScheduling) == []
    assert stays(WithoutChampion) == []


def test_aggressive_scheduling_keeps_the_champion() -> None:
    m = model(AggressiveScheduling, budget=5)
    m.run(STREAM)
    assert sum(isinstance(d, Retired) for d in m.decisions) > 20
    assert m.live[0].champion


@pytest.mark.parametrize("algorithm", VARIANTS)
@pytest.mark.parametrize("evidence", [SampleComplexity(), SampleComplexity.authors()])
def test_natively_and_by_reference_the_same(
    algorithm: type[ChampionChallengers], evidence: SampleComplexity
) -> None:
    source = "synth:interactions,n=500,seed=2"
    runs = []
    for pool in (chacha.NativePool(), ReferencePool()):
        m = model(algorithm, budget=4, evidence=evidence, pool=pool, seed=5)
        predictions, served_by = follow(m, source)
        runs.append((m.decisions, predictions, served_by))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("algorithm", VARIANTS)
def test_one_by_one_as_in_chunks(algorithm: type[ChampionChallengers]) -> None:
    rows = [(e.line, e.label) for e in chacha.open_source(STREAM) if isinstance(e, chacha.Example)]
    one, many = model(algorithm, seed=1), model(algorithm, seed=1)
    many.run(STREAM)
    for line, _ in rows:
        one.learn_one(line)
    assert one.decisions == many.decisions
    assert one.loss == many.loss


def test_one_group_proposes_nothing_to_anybody() -> None:
    for algorithm in VARIANTS:
        m = model(algorithm)
        for i in range(40):
            m.learn_one({"g": {"x": float(i), "z": 1.0}}, 1.0)
        assert [live.config for live in m.live] == [Config()]


def test_a_champion_without_a_model_cannot_be_written(tmp_path: Path) -> None:
    m = model(WithoutChampion, budget=4)
    m.run(STREAM, limit=20)
    with pytest.raises(
        chacha.errors.PoolError, match="no interactions is not live: it has no model"
    ):
        m.to_vw(tmp_path / "champion.model")


def test_a_word_is_not_an_algorithm() -> None:
    with pytest.raises(chacha.errors.ConfigError, match="such as Exhaustive, got 'exhaustive'"):
        model("exhaustive")  # type: ignore[arg-type]
