"""Moves, steps and screening: what is proposed, how far, in which order, at what cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, combinations_with_replacement
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chacha import Config
from chacha.config.config import Product
from chacha.config.space import Choice, Domain, Integer, Interactions, LogUniform, Space, Uniform
from chacha.rules.contest.betting import PairedBetting
from chacha.rules.contest.moves import Moves
from chacha.rules.contest.rotation import Move, MoveRequest
from chacha.rules.contest.value_steps import SMALLEST, ValueSteps
from tests.support.contest import contest, feed
from tests.support.scripted import World

PRODUCTS = Space.of({"interactions": Interactions()})
RATE: dict[str, Domain] = {"learning_rate": LogUniform(2**-11, 2**9)}


class ScriptedScreen:
    """A screen with the gains and widths that the test gives."""

    def __init__(
        self, gains: Mapping[Product, float] | None = None, sizes: Mapping[str, float] | None = None
    ) -> None:
        self.ready, self._gains, self.sizes = gains is not None, gains or {}, sizes or {}
        self.products: Sequence[Product] = list(self._gains)

    def gains(self) -> Mapping[Product, float]:
        return self._gains

    def width_of(self, product: Product) -> float:
        return math.prod(self.sizes.get(group, 1.0) for group in product)

    def width(self, config: Config) -> float:
        return 1.0 + sum(self.sizes.values()) + sum(map(self.width_of, config.interactions))

    def set(self, products: Sequence[Product], sizes: Mapping[str, int], keep: int = 0) -> None:
        self.products = products


def offered(
    moves: Moves, champion: Config, groups: Sequence[str], screen: ScriptedScreen | None = None
) -> dict[str, list[Move]]:
    """Everything that is proposed if nothing ever leaves, by kind."""
    live: dict[Move, int] = {}
    while (
        move := moves.next(MoveRequest(champion, groups, screen or ScriptedScreen(), live, 0))
    ) is not None:
        live[move] = 0
    kinds: dict[str, list[Move]] = {}
    for move in live:
        kinds.setdefault(move.kind, []).append(move)
    return kinds


def names(moves: Sequence[Move]) -> list[Any]:
    return [move.name for move in moves]


def test_the_kinds_of_moves() -> None:
    champion = Config(["ab", "cc"], {"learning_rate": 0.5})
    moves = Moves(Space.of({"interactions": Interactions(), **RATE}))
    moves.crowned(None, Config(values={"learning_rate": 8.0}))
    proposals = offered(moves, champion, "abc")
    assert set(proposals) == {"values", "several", "one", "fewer", "back"}
    assert names(proposals["values"]) == [1.0, 2.0, -1.0, -2.0]
    assert {c.config.since(champion) for c in proposals["fewer"]} == {"-ab", "-cc"}
    assert [c.config for c in proposals["back"]] == [Config(values={"learning_rate": 8.0})]
    assert {str(c.config.since(champion)) for c in proposals["one"]} >= {
        "+aa",
        "+ac",
        "+bb",
        "+abc",
    }
    every = [move.config for kind in proposals.values() for move in kind]
    assert len(set(every)) == len(every), "nothing is live twice"
    assert champion not in every


@given(st.integers(1, 5), st.booleans(), st.sampled_from([None, 2, 3, 4]), st.data())
@settings(max_examples=40)
def test_one_more_product_of_groups_and_of_products_the_champion_has(
    count: int, squares: bool, order: int | None, data: st.DataObject
) -> None:
    groups = "abcde"[:count]
    pairs = list((combinations_with_replacement if squares else combinations)(groups, 2))
    present = data.draw(st.lists(st.sampled_from(pairs), max_size=3)) if pairs else []
    champion = Config(present)
    moves = Moves(Space.of({"interactions": Interactions(max_order=order)}), squares=squares)
    candidates = list(moves.candidates(champion, groups))
    expected: set[Product] = set(pairs)
    if (order or 3) > 2:
        expected |= {
            tuple(sorted((*p, g))) for p in present for g in groups if squares or g not in p
        }
    if (order or 3) > 3:
        apart = [(p, q) for p in present for q in present if squares or not {*p} & {*q}]
        expected |= {tuple(sorted((*p, *q))) for p, q in apart}
    assert set(candidates) == expected - set(champion.interactions)
    assert len(set(candidates)) == len(candidates)
    assert all(len(p) <= (order or 3) for p in candidates)
    new_pairs = len(pairs) - len(set(present))
    assert [p for p in pairs if p in candidates] == candidates[:new_pairs], "pairs first"


def test_without_interactions_nothing_is_multiplied() -> None:
    moves = Moves(Space.of(RATE))
    assert list(moves.candidates(Config(), "abc")) == []
    assert set(offered(moves, Config(values={"learning_rate": 0.5}), "abc")) == {"values"}


def test_the_order_of_interactions_limits_products() -> None:
    for limit, longest in ((None, 3), (2, 2), (4, 4)):
        moves = Moves(Space.of({"interactions": Interactions(max_order=limit)}))
        champion = Config([tuple("abc"), "ab"])
        assert max(map(len, moves.candidates(champion, "abcd"))) == longest


def test_squares_may_be_off() -> None:
    proposals = offered(Moves(PRODUCTS, squares=False), Config(), "abc")
    products = {p for kind in proposals.values() for move in kind for p in move.config.interactions}
    assert products == {("a", "b"), ("a", "c"), ("b", "c")}


@pytest.mark.parametrize(
    ("size", "free", "grow", "all_pairs", "with_one"),
    [
        (1.0, 64, 2.0, True, True),
        (3.0, 64, 2.0, False, True),  # 1 + 12 + 6·9 = 67 features
        (3.0, 67, 2.0, True, True),
        (20.0, 64, 2.0, False, False),
        (20.0, 64, 100.0, True, True),
    ],
)
def test_bundles_may_not_be_too_wide(
    size: float, free: int, grow: float, all_pairs: bool, with_one: bool
) -> None:
    """As wide as `free`, or `grow` times the champion."""
    moves = Moves(PRODUCTS, free=free, grow=grow)
    proposals = offered(moves, Config(), "abcd", ScriptedScreen(sizes=dict.fromkeys("abcd", size)))
    several = names(proposals.get("several", []))
    assert ("all pairs" in several) == all_pairs
    assert any(name.startswith("all with") for name in several) == with_one
    assert len(proposals["one"]) == 10, "one product is never too wide"


def test_what_the_screen_found_comes_first() -> None:
    gains: dict[Product, float] = {
        ("a", "a"): 0.1,
        ("a", "b"): -1.0,
        ("b", "c"): 3.0,
        ("c", "c"): 2.0,
        ("a", "c"): 1.0,
    }
    moves = Moves(PRODUCTS, best=4, few=2)
    proposals = offered(moves, Config(), "abc", ScriptedScreen(gains))
    # "several" and "one" take turns, and nothing is live twice
    assert names(proposals["one"])[:3] == [("b", "c"), ("c", "c"), ("a", "c")]
    assert names(proposals["one"])[-1] == ("a", "b"), "what did not help comes last"
    several = {str(move.name): move.config.interactions for move in proposals["several"]}
    assert set(several["best 4"]) == {("b", "c"), ("c", "c"), ("a", "c"), ("a", "a")}
    assert set(several["best 2"]) == {("b", "c"), ("c", "c")}
    assert [name for name in several if name.startswith("all with")] == ["all with c"]


def test_one_product_less_and_back_again() -> None:
    champion = Config(["ab", "ac"])
    moves = Moves(PRODUCTS)
    earlier = [Config([p]) for p in ("bb", "cc", "bc", "aa")]
    for config in earlier:
        moves.crowned(None, config)
    proposals = offered(moves, champion, "abc")
    assert [m.config for m in proposals["back"]] == [earlier[3], earlier[2], earlier[1]], (
        "the last 3"
    )
    assert [m.config for m in proposals["fewer"]] == [Config(["ac"]), Config(["ab"])]
    moves.crowned(None, earlier[2])
    assert list(moves.earlier.values())[:2] == [earlier[2], earlier[3]], "no one twice"


def test_who_was_tried_least_is_next() -> None:
    """A move that was eliminated waits longer than one whose lease ended."""
    moves, went = Moves(Space.of({"interactions": Interactions()}), squares=False, free=1), []
    for _ in range(12):
        move = moves.next(MoveRequest(Config(), "abc", ScriptedScreen(), {}, 0))
        assert move is not None
        went.append((move.config.since(Config()), move.tried))
        moves.ended(move, 10, eliminated=move.name == ("a", "b"), until=0)
    first = [("+ab", 0), ("+ac", 0), ("+bc", 0)]
    later = [(word, tried) for tried in (1, 2) for word in ("+ac", "+bc")]
    assert went[:7] == first + later
    assert {word for word, _ in went[7:10]} == {"+ab", "+ac", "+bc"}


def test_a_resting_move_is_next_only_if_no_other_is_left() -> None:
    moves = Moves(PRODUCTS, squares=False, free=1)
    went = []
    for t in (0, 10, 20, 30, 40, 200):
        move = moves.next(MoveRequest(Config(), "abc", ScriptedScreen(), {}, t))
        assert move is not None
        went.append(move.config.since(Config()))
        moves.ended(move, 10, eliminated=False, until=100 if "c" in str(move.name) else t + 15)
    assert went == ["+ab", "+ac", "+bc", "+ab", "+ac", "+bc"]


# Steps


def rates_around(steps: ValueSteps, rate: float) -> list[Any]:
    return [point.values["learning_rate"] for point in steps.around({"learning_rate": rate})]


def test_a_step_of_the_rate_is_a_factor_of_four() -> None:
    steps = ValueSteps(RATE, seed=0)
    assert rates_around(steps, 0.5) == [2.0, 8.0, 0.125, 0.03125]
    assert rates_around(steps, 512.0) == [128.0, 32.0], "the end of the range"
    assert rates_around(steps, 256.0) == [512.0, 64.0, 16.0]
    assert rates_around(steps, 2**-11) == pytest.approx([2**-9, 2**-7])


def test_steps_double_and_halve() -> None:
    steps = ValueSteps(RATE, seed=0)
    steps.won(1.0)
    assert rates_around(steps, 0.5)[0] == 2.0
    steps.won(-2.0)
    assert rates_around(steps, 0.5)[::2] == [8.0, 0.03125]
    steps.in_vain()
    assert rates_around(steps, 0.5)[0] == 2.0
    for _ in range(10):
        steps.in_vain()
    assert steps.step == steps.first * SMALLEST
    assert rates_around(steps, 0.5)[0] == pytest.approx(0.5 * math.sqrt(2))
    steps.elsewhere()
    assert steps.step == steps.first
    for _ in range(10):
        steps.won(2.0)
    assert steps.step == 1.0, "no further than the range"


def test_a_step_is_halved_when_every_point_was_tried_twice() -> None:
    moves, champion = Moves(Space.of(RATE)), Config(values={"learning_rate": 0.5})
    went = []
    for _ in range(9):
        move = moves.next(MoveRequest(champion, "ab", ScriptedScreen(), {}, 0))
        assert move is not None
        went.append(move.config.values["learning_rate"])
        moves.ended(move, 10, eliminated=False, until=0)
    assert went == [2.0, 8.0, 0.125, 0.03125] * 2 + [1.0]
    moves.crowned(Move("values", 2.0, Config(values={"learning_rate": 2.0})), champion)
    assert moves.steps.step == moves.steps.first


MIXED: dict[str, Domain] = {
    "depth": Integer(1, 9),
    "wide": Integer(1, 1000, log=True),
    "l2": Uniform(-1.0, 1.0),
    "rate": LogUniform(1e-3, 1e3),
    "word": Choice("red", "green", "blue"),
    "switch": Choice(False, True),
    "few": Choice(1, 2, 4, 8),
}
VALUES = st.fixed_dictionaries(
    {
        "depth": st.integers(1, 9),
        "wide": st.integers(1, 1000),
        "l2": st.floats(-1, 1),
        "rate": st.floats(1e-3, 1e3),
        "word": st.sampled_from(["red", "green", "blue"]),
        "switch": st.booleans(),
        "few": st.sampled_from([1, 2, 4, 8]),
    }
)


@given(VALUES, st.integers(0, 5), st.sets(st.sampled_from(sorted(MIXED)), min_size=1), st.data())
def test_points_lie_in_their_domains(
    values: dict[str, Any], seed: int, keys: set[str], data: st.DataObject
) -> None:
    """Whatever was won or lost before; the same seed always gives the same points."""
    domains = {key: domain for key, domain in MIXED.items() if key in keys}
    champion = {key: MIXED[key].cast(values[key]) for key in keys}
    twins = ValueSteps(domains, seed), ValueSteps(domains, seed)
    for event in data.draw(st.lists(st.sampled_from([1.0, -2.0, None, 0.0]), max_size=8)):
        for steps in twins:
            steps.in_vain() if event is None else steps.won(event) if event else steps.elsewhere()
    points = twins[0].around(champion)
    assert points == twins[0].around(champion) == twins[1].around(champion)
    world = [champion]
    for point in points:
        assert point.values not in world
        world.append(dict(point.values))
        for key, value in point.values.items():
            assert MIXED[key].cast(value) == value
            assert 0.0 <= MIXED[key].to_unit(value) <= 1.0
            assert type(value) is type(champion[key])
    assert twins[0].first * SMALLEST <= twins[0].step <= math.sqrt(len(keys)) + 1e-9
    if keys & {"depth", "few", "word", "switch"} and len(keys) == 1 and keys != {"few"}:
        assert points, "the smallest step changes a whole number, a word, a switch"


def test_several_dimensions_draw_by_the_seed() -> None:
    domains: dict[str, Domain] = {"rate": LogUniform(1e-3, 1e3), "l2": Uniform(0, 1)}
    drawn = [ValueSteps(domains, seed).around({"rate": 1.0, "l2": 0.5}) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    steps = ValueSteps(domains, 0)
    before = steps.direction
    assert sum(x * x for x in before.values()) == pytest.approx(1.0)
    steps.in_vain()
    assert steps.direction != before


@pytest.mark.parametrize("domain", [Choice("r", "g", "b", "y"), Choice(False, True)], ids=str)
def test_words_and_switches_are_all_tried_in_the_end(domain: Choice) -> None:
    steps, at, proposals = ValueSteps({"word": domain}, 0), domain.options[0], set()
    for _ in range(20):
        proposals |= {point.values["word"] for point in steps.around({"word": at})}
        steps.in_vain()
    assert proposals == set(domain.options) - {at}


@pytest.mark.parametrize("rate", [2.0**9, 2.0**-11])
def test_a_champion_at_the_end_of_its_range_gets_smaller_steps(rate: float) -> None:
    moves = Moves(Space.of({"learning_rate": LogUniform(2**-11, 2**9)}))
    world, evidence = World(), PairedBetting(alpha=1e-300, renews=1e6)
    champion = Config(values={"learning_rate": rate})
    core = contest(moves, champion, budget=2, first_lease=2, evidence=evidence)
    core.begin(world)
    for _ in range(1000):
        feed(core, world, lambda c: 1.0)
    assert moves.steps.step < moves.steps.first
