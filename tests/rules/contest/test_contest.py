"""The recommended rules, without a learner: who is promoted, who leaves, who gets a turn."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chacha import Config, Eliminated
from chacha.drivers.python import PythonDriver
from chacha.errors import PoolError
from chacha.losses import Squared
from chacha.rules.contest.betting import PairedBetting
from chacha.rules.contest.blending import Blend, Blending
from chacha.rules.contest.contest import ContestRules
from chacha.rules.contest.moves import Moves
from chacha.rules.contest.rotation import OracleMoves
from chacha.rules.contest.screening import Screening
from chacha.rules.contest.slots import DETHRONED
from chacha.tasks import task_of
from tests.support.contest import (
    Counted,
    FakePool,
    contest,
    feed,
    kinds,
    rates,
    scripted,
    until,
)
from tests.support.running import RunningContest, live_of
from tests.support.scripted import ScriptedOracle, World, conf, name_of

NEVER = PairedBetting(alpha=1e-300, renews=1e6)  # no promotions, no renewed leases


def test_the_first_challengers_fill_the_slots() -> None:
    core, world = scripted({"init": ["x", "y", "z"]}, budget=3), World()
    assert [name_of(d.config) for d in core.begin(world)] == ["x", "y"]
    assert [name_of(c) for c in core.live] == ["init", "x", "y"]


def test_the_dethroned_champion_stays_and_the_others_leave() -> None:
    core, world = scripted({"init": ["x", "y"], "x": ["z"]}), World()
    core.begin(world)
    before = core.pairings[conf("x")]
    decisions = until(core, world, {"init": 1.0, "x": 0.5, "y": 1.0}, "Promoted")
    assert kinds(decisions) == ["Promoted", "Retired", "WentLive"]
    assert [name_of(d.config) for d in decisions] == ["x", "y", "z"]
    assert before.odds >= before.needed
    assert [name_of(c) for c in core.live] == ["x", "init", "z"]
    again = core.pairings[conf("init")]
    assert (again.n, again.number, again.reserve, again.odds) == (0, 3, 0.5, 1.0)
    assert core.move_of[conf("init")].kind == DETHRONED
    assert core.lease[conf("init")] > core.lease[conf("z")]


def test_a_dethroned_champion_that_is_better_wins_back() -> None:
    core, world = scripted({"init": ["x"], "x": ["z"]}, budget=2), World()
    core.begin(world)
    until(core, world, {"init": 1.0, "x": 0.5}, "Promoted")
    decisions = until(core, world, {"init": 0.5, "x": 1.0}, "Promoted")
    assert (name_of(core.champion), core.B) == ("init", [conf("x")])
    assert name_of(decisions[0].config) == "init"


def test_a_dethroned_champion_that_is_no_better_leaves_in_the_end() -> None:
    core, world = scripted({"init": ["x"], "x": ["z"]}, budget=2), World()
    core.begin(world)
    until(core, world, {"init": 1.0, "x": 0.5}, "Promoted")
    decisions = until(core, world, {"init": 0.5, "x": 0.5}, "Retired")
    assert [name_of(d.config) for d in decisions] == ["init", "z"]


@pytest.mark.parametrize("patience", [1, 150, 700])
def test_no_challenger_is_eliminated_before_the_patience_ends(patience: int) -> None:
    evidence = PairedBetting(patience=patience, eliminates=2.0)
    core, world = scripted({"init": ["x"]}, budget=2, evidence=evidence, first_lease=5000), World()
    core.begin(world)
    decisions = until(core, world, {"init": 1.0, "x": 2.0}, "Eliminated")
    assert isinstance(decisions[0], Eliminated)
    assert decisions[0].n == patience if patience > 100 else decisions[0].n < 100
    assert decisions[0].lower > decisions[0].champion_upper
    assert kinds(decisions)[:2] == ["Eliminated", "Retired"]


def test_a_worse_challenger_leaves_when_its_lease_ends() -> None:
    """Without patience for proof."""
    core, world = scripted({"init": ["x", "y"]}, budget=2, first_lease=50), World()
    core.begin(world)
    decisions = until(core, world, {"init": 1.0, "x": 2.0, "y": 2.0}, "Retired")
    assert (core.t, kinds(decisions)) == (50, ["Retired", "WentLive"])


@given(st.floats(1.1, 50.0), st.floats(0.3, 3.0), st.sampled_from([20, 100]), st.floats(1e-3, 1.0))
@settings(max_examples=60)
def test_a_lease_is_doubled_only_if_the_odds_have_grown(
    renews: float, grown: float, lease: int, reserve: float
) -> None:
    """Then half of the reserve is bet again, on a new scale."""
    evidence = PairedBetting(alpha=1e-9, renews=renews)
    core = scripted({"init": ["x", "y"]}, budget=2, evidence=evidence, first_lease=lease)
    world = World()
    core.begin(world)
    raw = {"init": 1.0, "x": 1.0, "y": 1.0}
    for _ in range(lease - 1):
        assert feed(core, world, raw) == []
    pairing = core.pairings[conf("x")]
    assert pairing.odds == 1.0
    pairing.reserve, pairing.wealth = reserve, max(renews * grown - reserve, 0.0)
    odds, against = pairing.odds, pairing.against
    decisions = feed(core, world, raw)
    if odds < renews:
        assert kinds(decisions) == ["Retired", "WentLive"]
        return
    assert kinds(decisions) == ["LeaseDoubled"]
    assert core.lease[conf("x")] == 2 * lease
    assert pairing.reserve == reserve / 2
    assert pairing.odds == pytest.approx(odds)
    assert pairing.against == against + reserve / 2
    assert (pairing.scale, pairing.blocks_since_restart, pairing.total, pairing.odds_before) == (
        0,
        0,
        0,
        odds,
    )
    feed(core, world, {"init": 3.0, "x": 3.0})
    assert pairing.scale == pytest.approx(evidence.clip * 1.0)
    feed(core, world, {"init": 9.0, "x": 9.0})
    assert pairing.scale == pytest.approx(evidence.clip * 1.0), "frozen"


def test_a_move_that_was_tried_gets_a_longer_lease() -> None:
    core, world = scripted({"init": ["x"]}, budget=2, first_lease=10, evidence=NEVER), World()
    core.begin(world)
    ends = []
    for _ in range(4):
        until(core, world, {"init": 1.0, "x": 1.0}, "Retired")
        ends.append(core.t)
    assert ends == [10, 30, 70, 150]


def alike(c: Config) -> float:
    return 1.0


def worse(c: Config) -> float:
    return 1.0 if c == Config(values={"learning_rate": 0.5}) else 1.5


def nearly_better(c: Config) -> float:
    """By less than the margin."""
    return 1.0 if c == Config(values={"learning_rate": 0.5}) else 0.999


def noisy() -> Any:
    """Better, but for its noise."""
    rng = random.Random(5)
    return lambda c: rng.gauss(0.0, 1.0 if not c.interactions else 0.98)


@pytest.mark.parametrize("budget", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("count", [1, 2, 5, 12])
@pytest.mark.parametrize("raw", ["alike", "worse", "nearly better", "noisy"])
def test_no_challenger_starves(budget: int, count: int, raw: str) -> None:
    """Every product of two groups, every step of the rate, every bundle: again and again."""
    groups = [f"g{i:02}" for i in range(count)]
    moves, world = Counted(Moves(rates())), World(groups)
    evidence = PairedBetting(alpha=1e-300, patience=2, eliminates=2.0)
    initial = Config(values={"learning_rate": 0.5})
    rules = {"evidence": evidence, "screening": Screening(share=0.0), "first_lease": 1}
    core = contest(moves, initial, budget=budget, **rules)
    core.begin(world)
    predicted = {"alike": alike, "worse": worse, "nearly better": nearly_better, "noisy": noisy()}
    products = list(combinations_with_replacement(groups, 2))
    for _ in range(40 * len(products) // (budget - 1) + 400):
        feed(core, world, predicted[raw])
    assert core.champion == initial
    gone = {key[1:]: times for key, times in moves.gone.items()}
    assert all(gone.get(("one", p), 0) >= 2 for p in products), "one product more"
    assert all(gone.get(("values", m), 0) >= 2 for m in (1.0, -1.0, 2.0, -2.0)), "the rate"
    if count > 2:  # else they are the same as one product more
        assert all(gone.get(("several", f"all with {g}"), 0) >= 2 for g in groups)
        assert count > 5 or gone["several", "all pairs"] >= 2


def test_no_challenger_starves_next_to_a_champion_with_products() -> None:
    """Products of three, one product less, and earlier champions get their turns too."""
    moves, world = Counted(Moves(rates())), World("abc")
    initial = Config(values={"learning_rate": 0.5})
    core = contest(moves, initial, budget=3, first_lease=5, evidence=PairedBetting(alpha=0.5))
    core.begin(world)
    for _ in range(5000):
        feed(core, world, lambda c: 1.0 - 0.25 * (("a", "b") in c.interactions))
        if ("a", "b") in core.champion.interactions:
            break
    champion = core.champion
    never = ContestRules(NEVER, oracle=moves, first_lease=5)
    core.algorithm = replace(core.algorithm, rules=never)
    for pairing in core.pairings.values():
        pairing.needed = 1e300
    for _ in range(12_000):
        feed(core, world, alike)
    gone = {key[1:]: times for key, times in moves.gone.items() if key[0] == champion}
    assert core.champion == champion
    expected = [("one", p) for p in moves.candidates(champion, "abc")]
    expected += [("fewer", p) for p in champion.interactions]
    expected += [("back", str(initial))]
    taken = [key for key in expected if gone.get(key, 0) < 2]
    left = {champion.without_product(p) for p in champion.interactions}
    assert taken in ([], [("back", str(initial))]), taken
    assert not taken or initial in left, "the same as one product less"


def test_groups_that_appear_later_join() -> None:
    moves, world = Counted(Moves(rates())), World("ab")
    core = contest(moves, Config(values={"learning_rate": 0.5}), first_lease=5, evidence=NEVER)
    core.begin(world)
    for _ in range(50):
        feed(core, world, alike)
    world.groups = ("a", "b", "c")
    for _ in range(300):
        feed(core, world, alike)
    gone = {key[2] for key in moves.gone if key[1] == "one"}
    assert {("a", "c"), ("b", "c"), ("c", "c")} <= gone


def test_a_budget_of_one_is_plain_learning() -> None:
    core, world = contest(Moves(rates()), Config(values={"learning_rate": 0.5}), budget=1), World()
    assert core.begin(world) == []
    for i in range(50):
        assert feed(core, world, lambda c, i=i: float(i)) == []  # type: ignore[misc]
        assert core.incumbent == core.champion
    assert (core.t, core.charged) == (50, 50)


def test_examples_without_weight_count_for_nothing() -> None:
    core, world = scripted({"init": ["x"]}, budget=2, first_lease=10), World()
    core.begin(world)
    for _ in range(30):
        assert feed(core, world, {"init": 5.0, "x": 0.0}, weight=0.0) == []
    assert (core.t, core.charged, core.level, core.pairings[conf("x")].n) == (30, 0, 0.0, 0)


ODD = st.sampled_from([math.nan, math.inf, -math.inf, 1e200, -1e308])
ANY = st.one_of(ODD, st.floats(-10, 10))


@given(st.lists(st.tuples(st.floats(0.1, 10), ODD, ODD), min_size=1, max_size=20))
@settings(max_examples=40)
def test_who_predicts_nonsense_is_never_promoted(rows: list[tuple[float, float, float]]) -> None:
    evidence = PairedBetting(alpha=0.9, patience=10)
    core, world = scripted({"init": ["x", "y"]}, evidence=evidence, first_lease=40), World()
    core.begin(world)
    for i in range(120):
        champion, x, y = rows[i % len(rows)]
        assert "Promoted" not in kinds(feed(core, world, {"init": champion, "x": x, "y": y}))
        assert math.isfinite(core.level)
    assert core.champion == conf("init")
    assert isinstance(core.incumbent, Config)


@given(st.lists(st.tuples(ANY, ANY, ANY), min_size=1, max_size=20), st.floats(0.0, 3.0))
@settings(max_examples=40)
def test_any_predictions_go_through(rows: list[tuple[float, ...]], weight: float) -> None:
    evidence = PairedBetting(alpha=0.9, patience=5, eliminates=1.5)
    names = ["init", "x", "y"]
    core = scripted(dict.fromkeys(names, names), evidence=evidence, first_lease=7)
    world = World()
    core.begin(world)
    for i in range(60):
        feed(core, world, dict(zip(names, rows[i % len(rows)], strict=True)), weight)
        assert len(core.live) <= 3
        assert math.isfinite(core.level)
        assert all(0 <= pairing.odds < math.inf for pairing in core.pairings.values())
        assert set(core.lease) == set(core.move_of) == set(core.pairings)


def test_only_the_champion_serves_before_the_burn_in() -> None:
    """In the beginning it is shorter; for a challenger of an older champion it is not."""
    blending = Blending(burn_in=60, early=5, memory=100, standard_errors=0.0)
    core, world = scripted({"init": ["x"]}, blending=blending, evidence=NEVER), World()
    core.begin(world)
    for i in range(100):
        assert (core.incumbent == conf("init")) == (i < 5)
        feed(core, world, {"init": 1.0, "x": -0.5})
    del core.challengers[conf("x")]
    core.begin(world)
    for i in range(100):
        assert (core.incumbent == conf("init")) == (i < 60)
        feed(core, world, {"init": 1.0, "x": -0.5})
    assert core.incumbent == Blend(conf("init"), conf("x"), 0.75)
    assert core.serve({conf("init"): 1.0, conf("x"): -0.5}) == pytest.approx(-0.125)


@given(st.floats(-1e6, 1e6), st.floats(0.5, 5.0))
@settings(max_examples=30)
def test_a_wild_prediction_counts_so_far_and_no_further(prediction: float, clip: float) -> None:
    blending = Blending(burn_in=20, memory=100, standard_errors=0.0, clip=clip)
    core, world = scripted({"init": ["x"]}, blending=blending, evidence=NEVER), World()
    core.begin(world)
    for _ in range(50):
        feed(core, world, {"init": 1.0, "x": 0.5})  # half a unit apart, as a rule
    assert core.incumbent == conf("x")
    served = core.serve({conf("init"): 1.0, conf("x"): prediction})
    assert abs(served - 1.0) <= 0.5 * clip * 1.001
    if abs(prediction - 1.0) <= 0.5 * clip * 0.999:
        assert served == pytest.approx(prediction)


def test_when_serving_another_does_harm_the_champion_serves_again() -> None:
    blending = Blending(burn_in=20, memory=200, standard_errors=0.0)
    core, world = scripted({"init": ["x"]}, blending=blending, evidence=NEVER), World()
    core.begin(world)
    for _ in range(100):
        feed(core, world, {"init": 1.0, "x": 0.5})
    assert core.incumbent == conf("x")
    harmed = 0
    while core.incumbent != conf("init"):
        feed(core, world, {"init": 0.5, "x": 2.0})
        harmed += 1
        assert harmed < 60
    serving = core.serving
    gains = {c: each.blend_gain for c, each in core.challengers.items()}
    assert serving.other is None
    assert (
        serving.served_loss > serving.champion_loss
        or blending.choose(gains.items(), 1000)[0] is None
    )


def driver(core: RunningContest, pool: Any) -> PythonDriver:
    return PythonDriver(core.algorithm, pool, task_of(Squared()), bits=18, baseline=False)


def test_an_oracle_may_repeat_itself() -> None:
    """The champion and live challengers are not started again."""
    core, world = scripted({"init": ["init", "x", "x", "init"]}, budget=5, first_lease=10), World()
    assert [name_of(d.config) for d in core.begin(world)] == ["x"]
    decisions = until(core, world, {"init": 1.0, "x": 1.0}, "Retired")
    assert [name_of(d.config) for d in decisions] == ["x", "x"]


def test_next_to_a_perfect_champion_leases_just_end() -> None:
    core, world = scripted({"init": ["x", "y"]}, first_lease=10), World()
    core.begin(world)
    found = {kind for _ in range(200) for kind in kinds(feed(core, world, lambda c: 0.0))}
    assert found == {"Retired", "WentLive"}


def test_an_oracle_that_raises_is_reported_and_asked_again() -> None:
    """The example is learned, and the oracle is called again with the next one."""
    script, fails = ScriptedOracle({"init": ["x"]}), [True, False]

    def oracle(champion: Config, groups: Any) -> list[Config]:
        if fails.pop(0):
            raise ArithmeticError("no idea")
        return script(champion, groups)

    core = contest(OracleMoves(oracle), conf("init"))
    running, world = driver(core, FakePool(alike)), World()
    with pytest.raises(ArithmeticError, match="no idea"):
        running.learn(world.example)
    assert (running.examples, running.state().B) == (1, [])
    assert kinds(running.learn(world.example).decisions) == ["WentLive"]


def test_an_oracle_may_propose_nothing() -> None:
    core = contest(OracleMoves(lambda champion, groups: []), conf("init"))
    running, world = driver(core, FakePool(alike)), World()
    for _ in range(20):
        assert running.learn(world.example).decisions == []
    assert live_of(running) == (conf("init"),)


def test_a_challenger_that_the_learner_refuses_is_withdrawn() -> None:
    """The error is raised once, the slot goes to the next, and the move returns much later."""
    core = scripted({"init": ["x", "y"]}, budget=2, first_lease=10)
    refuses = [True]
    pool = FakePool(alike, lambda c: c == conf("x") and refuses[0])
    running, world = driver(core, pool), World()
    with pytest.raises(PoolError, match="no model"):
        running.learn(world.example)
    running.learn(world.example)
    assert live_of(running) == (conf("init"), conf("y"))
    assert pool.live == [conf("init"), conf("y")]
    refuses[0] = False
    gone = []
    for _ in range(200):
        decisions = running.learn(world.example).decisions
        gone += [name_of(d.config) for d in decisions if d.kind == "WentLive"]
    assert gone[0] == "y"
    assert "x" in gone
