"""The recommended rules when something goes wrong: failures, refusals, proposals that repeat."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

from chacha import ChaCha, Config, ContestRules
from chacha.drivers.python import PythonDriver
from chacha.errors import PoolError
from chacha.losses import Squared
from chacha.rules.contest.betting import Coin, PairedBetting
from chacha.rules.contest.blending import Blending
from chacha.rules.contest.moves import Moves
from chacha.rules.contest.rotation import Move, OracleMoves
from chacha.rules.paper import second_order_products
from chacha.tasks import task_of
from tests.support.contest import Counted, FakePool, contest, feed, rates, scripted
from tests.support.running import live_of
from tests.support.scripted import World, conf

NEVER = PairedBetting(alpha=1e-300, renews=1e6)


def test_an_oracle_that_fails_twice_is_reported_twice_and_asked_again() -> None:
    fails = [True, True, False]

    def oracle(champion: Config, groups: Sequence[str]) -> list[Config]:
        if fails.pop(0):
            raise ArithmeticError("no idea")
        return [conf("x")]

    core, world = contest(OracleMoves(oracle), conf("init")), World()
    running = PythonDriver(
        core.algorithm, FakePool(lambda c: 1.0), task_of(Squared()), bits=18, baseline=False
    )
    for _ in range(2):
        with pytest.raises(ArithmeticError):
            running.learn(world.example)
    running.learn(world.example)
    assert live_of(running) == (conf("init"), conf("x"))


def test_an_oracle_that_failed_once_when_a_lease_ended_is_asked_again() -> None:
    champions = []

    def oracle(champion: Config, groups: Sequence[str]) -> list[Config]:
        champions.append(champion)
        if len(champions) == 2:
            raise ArithmeticError("no idea")
        return [conf("x")] if champion == conf("init") else [conf("y")]

    core, world = contest(OracleMoves(oracle), conf("init"), budget=2, first_lease=100), World()
    running = PythonDriver(
        core.algorithm,
        FakePool(lambda c: {"init": 1.0, "x": 0.3, "y": 0.3}[str(c.values["name"])]),
        task_of(Squared()),
        bits=18,
        baseline=False,
    )
    for _ in range(3000):
        with suppress(ArithmeticError):
            running.learn(world.example)
    assert len(champions) > 2
    assert running.state().B, "the slot is used again"


def test_an_oracle_without_proposals_is_asked_again_when_groups_appear() -> None:
    model = ChaCha(rules=ContestRules(oracle=second_order_products))
    model.learn_one("1 |a x")
    model.learn_one("1 |a x |b y")
    assert [c.since(model.champion) for c in model.live_challengers] == ["+ab"]


@pytest.mark.parametrize("budget", [2, 3])
def test_after_a_late_promotion_every_kind_has_its_turn_soon(budget: int) -> None:
    moves, world = Counted(Moves(rates())), World("abc")
    initial = Config(values={"learning_rate": 0.5})
    core = contest(moves, initial, budget=budget, first_lease=5, evidence=NEVER)
    core.begin(world)
    for _ in range(20_000):
        feed(core, world, lambda c: 1.0)
    for _ in range(5000):  # a challenger with a product wins
        for c, pairing in core.pairings.items():
            if ("a", "b") in c.interactions and core.champion == initial:
                pairing.needed = 0.5
        feed(core, world, lambda c: 1.0 - 0.1 * (("a", "b") in c.interactions))
        if core.champion != initial:
            break
    champion, begun = core.champion, core.t
    assert champion != initial
    while not {"values", "one", "several"} <= {k[1] for k in moves.gone if k[0] == champion}:
        feed(core, world, lambda c: 1.0)
        assert core.t < begun + 2000, {k[1:]: n for k, n in moves.gone.items() if k[0] == champion}


def test_a_prediction_that_is_not_a_number_is_not_served() -> None:
    blending = Blending(burn_in=20, memory=100, standard_errors=0.0)
    core, world = scripted({"init": ["x"]}, blending=blending, evidence=NEVER), World()
    core.begin(world)
    for _ in range(50):
        feed(core, world, {"init": 1.0, "x": 0.5})
    assert core.incumbent == conf("x")
    assert math.isfinite(core.serve({conf("init"): 1.0, conf("x"): math.nan}))


def test_a_coin_may_have_a_huge_seed() -> None:
    model = ChaCha(rules=ContestRules(PairedBetting().with_coin(Coin(seed=2**64))))
    model.learn_one("1 |a x |b y")


class Stubborn(OracleMoves):
    """Custom moves that ignore which challengers are live."""

    calls = 0

    def next(self, *given: Any) -> Move:
        self.calls += 1
        assert self.calls < 1000, "called forever"
        return Move("mine", "x", conf("x"))


def test_custom_moves_that_repeat_themselves_do_not_hang() -> None:
    core = contest(Stubborn(lambda champion, groups: []), conf("init"), budget=3)
    core.begin(World())
    assert core.live == (conf("init"), conf("x"))


def test_the_slot_of_a_refused_first_challenger_is_filled_soon() -> None:
    core, world = scripted({"init": ["x", "y", "z"]}, budget=3, first_lease=1000), World()
    pool = FakePool(lambda c: 1.0, lambda c: c == conf("x"))
    running = PythonDriver(core.algorithm, pool, task_of(Squared()), bits=18, baseline=False)
    for _ in range(3):
        with suppress(PoolError):
            running.learn(world.example)
    assert live_of(running) == (conf("init"), conf("y"), conf("z"))
