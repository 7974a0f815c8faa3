"""Algorithm 1, line by line: scripted losses in, exact decisions out."""

from __future__ import annotations

from typing import Any

import pytest

from chacha import Eliminated, Promoted, SampleComplexity
from chacha.errors import ConfigError
from chacha.rules import ProgressiveLoss
from chacha.rules.paper import Bound
from tests.support.scripted import (
    FixedEpsilon,
    ScriptedOracle,
    World,
    conf,
    core,
    feed,
    kinds_and_names,
    name_of,
)


def test_lines_1_and_2_begin_with_the_initial_configuration_and_its_challengers() -> None:
    oracle = ScriptedOracle({"init": ["x", "y"]})
    cc = core(oracle, budget=3)
    assert cc.champion == cc.incumbent == conf("init")
    assert cc.B == []
    decisions = cc.begin(World())
    assert oracle.calls == ["init"]
    assert set(map(name_of, cc.S)) == {"x", "y"}
    assert sorted(kinds_and_names(decisions)) == [("WentLive", "x"), ("WentLive", "y")]
    assert cc.champion not in cc.S


def test_line_3_counts_examples() -> None:
    cc = core(ScriptedOracle({}))
    cc.begin(World())
    for t in (1, 2, 3):
        feed(cc, World(), {"init": 1.0})
        assert cc.t == t


def test_line_5_schedules_for_the_next_example_and_predicting_is_a_read() -> None:
    """n_min = 5 x raw features; a challenger leaves at the end of the step its lease ends in."""
    cc = core(ScriptedOracle({"init": ["p", "q", "r", "s"]}), budget=3)
    world = World(raw_features=1)
    cc.begin(world)
    first = list(cc.B)
    losses = {"init": 0.5, "p": 0.4, "q": 0.45, "r": 0.5, "s": 0.55}
    for _ in range(4):
        assert feed(cc, world, losses) == []
    kinds = [d.kind for d in feed(cc, world, losses)]
    assert kinds == ["LeaseDoubled", "LeaseDoubled", "Retired", "WentLive"]
    assert len(set(first) & set(cc.B)) == 1


def test_line_6_serves_the_lowest_upper_bound_of_all_live_models() -> None:
    cc = core(ScriptedOracle({"init": ["x", "y"]}), budget=3)
    cc.begin(World())
    assert cc.incumbent == conf("init"), "no model has a bound yet: the champion serves"
    feed(cc, World(), {"init": 0.5, "x": 0.45, "y": 0.55})
    assert cc.incumbent == conf("x"), "the best bound serves before it is proved better"
    for _ in range(9):
        feed(cc, World(), {"init": 0.2, "x": 0.45, "y": 0.55})
    assert cc.incumbent == conf("init")


def test_line_6_a_tie_goes_to_the_champion() -> None:
    cc = core(ScriptedOracle({"init": ["x", "y"]}))
    cc.begin(World())
    feed(cc, World(), {"init": 0.5, "x": 0.5, "y": 0.5})
    assert cc.incumbent == conf("init")


def test_line_6_an_eliminated_model_serves_while_it_is_live() -> None:
    """B + C is what may serve, whether in S or not: a known case (docs/algorithm.md)."""
    cc = core(ScriptedOracle({"init": ["x", "y"]}))
    cc.begin(World())
    feed(cc, World(), {"init": 0.5, "x": 0.8, "y": 0.5})
    assert conf("x") not in cc.S
    for _ in range(30):
        feed(cc, World(), {"init": 0.5, "x": 0.0, "y": 0.5})
    assert cc.incumbent == conf("x")


def test_line_6_looks_at_the_bounds_after_line_17() -> None:
    """|S| grew with the promotion, so ε did, and another model serves."""

    class Crowded(FixedEpsilon):
        def bound(
            self, standing: ProgressiveLoss, d: float, challengers: int, loss_range: float
        ) -> Bound:
            return Bound(standing.mean, 0.01 * challengers * d if standing.n else float("inf"))

    oracle = ScriptedOracle({"init": ["x"], "x": [f"x{i}" for i in range(50)]})
    cc = core(oracle, budget=3, evidence=Crowded())
    world = World(d=lambda c: float(c == conf("x")))
    cc.begin(world)
    decisions = feed(cc, world, {"init": 0.5, "x": 0.1})
    assert kinds_and_names(decisions)[0] == ("Promoted", "x")
    assert len(cc.S) == 51
    assert cc.incumbent == conf("init"), "0.1 + 0.51 > 0.5"


def test_lines_8_and_9_charge_every_live_model_once() -> None:
    cc = core(ScriptedOracle({"init": ["x", "y", "z"]}), budget=3)
    cc.begin(World())
    feed(cc, World(), {"init": 0.5, "x": 0.4, "y": 0.45, "z": 0.6})
    live = {cc.champion, *cc.B}
    assert set(cc.standing) == live
    assert all(cc.standing[c].n == 1 for c in live)


def test_line_9_a_model_without_a_forecast_is_not_charged() -> None:
    cc = core(ScriptedOracle({"init": ["x"]}), budget=2)
    cc.begin(World())
    cc.learn({conf("init"): 0.5}, World())
    assert cc.standing[conf("init")].n == 1
    assert cc.standing[conf("x")].n == 0


def test_lines_10_to_13_promote_the_first_that_is_better() -> None:
    """Eq. 2: 0.1 + 0.1 < 0.9 - 0.1 - 0.1."""
    cc = core(ScriptedOracle({"init": ["x"]}))
    cc.begin(World())
    (decision,) = feed(cc, World(), {"init": 0.9, "x": 0.1})
    assert isinstance(decision, Promoted)
    assert decision.config == cc.champion == conf("x")
    assert decision.dethroned == conf("init")
    assert (decision.t, decision.n) == (1, 1)
    assert decision.upper == pytest.approx(0.2)
    assert decision.champion_lower == pytest.approx(0.8)
    assert decision.margin == pytest.approx(0.1)


@pytest.mark.parametrize(("loss", "promoted"), [(0.59, True), (0.61, False)])
def test_line_12_needs_the_third_epsilon(loss: float, promoted: bool) -> None:
    cc = core(ScriptedOracle({"init": ["x"]}), budget=2)
    cc.begin(World())
    feed(cc, World(), {"init": 0.9, "x": loss})
    assert (cc.champion == conf("x")) is promoted


def test_line_13_the_dethroned_champion_swaps_places_and_keeps_its_model() -> None:
    cc = core(ScriptedOracle({"init": ["x"]}))
    cc.begin(World(raw_features=9))
    lease = cc.lease[conf("x")]
    decisions = feed(cc, World(raw_features=9), {"init": 0.9, "x": 0.1})
    assert [d.kind for d in decisions] == ["Promoted"], "no model is started or dropped"
    assert conf("init") in cc.B
    assert conf("x") not in cc.B
    assert conf("init") in cc.S
    assert conf("x") not in cc.S
    assert cc.lease[conf("init")] == lease
    assert conf("x") not in cc.lease
    assert cc.standing[conf("init")].n == 1


def test_line_13_later_challengers_meet_the_new_champion() -> None:
    """Both are better than the old champion; only one is better than the other."""
    cc = core(ScriptedOracle({"init": ["x", "y"]}))
    cc.begin(World())
    order = [name_of(c) for c in cc.B]
    decisions = feed(cc, World(), {"init": 0.9, order[0]: 0.45, order[1]: 0.05})
    assert kinds_and_names(decisions)[:2] == [("Promoted", order[0]), ("Promoted", order[1])]
    assert name_of(cc.champion) == order[1]
    assert set(map(name_of, cc.S)) == {"init", order[0]}


def test_lines_14_and_15_eliminate_what_is_worse() -> None:
    """Eq. 3: 0.8 - 0.1 > 0.5 + 0.1. It stays live while nothing else needs its slot."""
    cc = core(ScriptedOracle({"init": ["x", "y"]}))
    cc.begin(World())
    (decision,) = feed(cc, World(), {"init": 0.5, "x": 0.8, "y": 0.5})
    assert isinstance(decision, Eliminated)
    assert decision.config == conf("x")
    assert decision.champion == conf("init")
    assert decision.lower == pytest.approx(0.7)
    assert decision.champion_upper == pytest.approx(0.6)
    assert conf("x") not in cc.S
    assert conf("x") in cc.B


def test_line_15_an_eliminated_challenger_is_not_tested_again() -> None:
    cc = core(ScriptedOracle({"init": ["x", "y"]}))
    cc.begin(World())
    feed(cc, World(), {"init": 0.5, "x": 0.9, "y": 0.5})
    for _ in range(50):
        decisions = feed(cc, World(), {"init": 0.9, "x": 0.0, "y": 0.9})
        assert not [d for d in decisions if isinstance(d, (Promoted, Eliminated))]
    assert cc.champion == conf("init")


def test_lines_16_and_17_ask_the_oracle_only_when_the_champion_changed() -> None:
    oracle = ScriptedOracle({"init": ["x", "y"], "x": ["xx", "y", "init"]})
    cc = core(oracle)
    cc.begin(World())
    for _ in range(5):
        feed(cc, World(), {"init": 0.5, "x": 0.5, "y": 0.5})
    assert oracle.calls == ["init"]
    while cc.champion != conf("x"):
        feed(cc, World(), {"init": 0.9, "x": 0.0, "y": 0.9, "xx": 0.5})
    assert oracle.calls == ["init", "x"]
    assert set(map(name_of, cc.S)) <= {"y", "init", "xx"}
    assert "xx" in set(map(name_of, cc.S))


def test_line_17_never_proposes_twice() -> None:
    """Not the champion, not a former one, not an eliminated one."""
    oracle = ScriptedOracle({"init": ["x", "y"], "x": ["init", "x", "y", "x", "z", "z"]})
    cc = core(oracle, budget=4)
    cc.begin(World())
    feed(cc, World(), {"init": 0.5, "x": 0.45, "y": 0.8})
    assert conf("y") not in cc.S
    while cc.champion != conf("x"):
        feed(cc, World(), {"init": 0.9, "x": 0.0, "y": 0.9, "z": 0.5})
    assert conf("y") not in cc.S
    assert len(cc.proposed) == 4


def test_budget_one_is_plain_online_learning() -> None:
    cc = core(ScriptedOracle({"init": ["x", "y"]}), budget=1)
    assert cc.begin(World()) == []
    for _ in range(20):
        assert feed(cc, World(), {"init": 0.9}) == []
    assert cc.B == []


def test_burn_in_holds_back_tests_and_serving() -> None:
    """The authors' rule: fewer than burn_in examples, neither tested nor served."""
    cc = core(ScriptedOracle({"init": ["x"]}), budget=2, evidence=FixedEpsilon(0.1, burn_in=10))
    cc.begin(World(raw_features=99))
    for t in range(1, 10):
        assert feed(cc, World(raw_features=99), {"init": 0.9, "x": 0.1}) == []
        assert cc.incumbent == conf("init"), t
    decisions = feed(cc, World(raw_features=99), {"init": 0.9, "x": 0.1})
    assert kinds_and_names(decisions) == [("Promoted", "x")]


def test_a_constant_target_never_promotes() -> None:
    """A loss range of 0 makes every bound 0 wide and every loss 0: nothing is better."""
    cc = core(ScriptedOracle({"init": ["x", "y"]}), evidence=SampleComplexity())
    world = World(loss_range=0.0)
    cc.begin(world)
    for _ in range(100):
        decisions = feed(cc, world, {"init": 0.0, "x": 0.0, "y": 0.0})
        assert not [d for d in decisions if isinstance(d, (Promoted, Eliminated))]


@pytest.mark.parametrize("garbage", [None, 7, ["ab"], [conf("x"), None]])
def test_an_oracle_that_returns_garbage_is_named_and_nothing_changes(garbage: Any) -> None:
    cc = core(lambda champion, groups: garbage)
    with pytest.raises(ConfigError, match="the oracle must"):
        cc.begin(World())
    assert not cc.S
    assert cc.proposed == {conf("init")}
