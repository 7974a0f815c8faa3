"""The numeric search, the oracle and the space."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chacha import (
    ChaCha,
    Choice,
    Config,
    Integer,
    Interactions,
    LogUniform,
    ReferencePool,
    Space,
    Uniform,
)
from chacha.config.space import Domain
from chacha.errors import ConfigError
from chacha.rules.paper import DefaultOracle, Flow2, second_order_products

RATE = {"learning_rate": LogUniform(2e-10, 1.0)}


def test_first_step_is_a_tenth_and_the_second_is_its_mirror() -> None:
    domains = {"x": Uniform(0, 1), "y": Uniform(0, 1)}
    search = Flow2(domains, {"x": 0.5, "y": 0.5}, seed=3)
    ahead, back = search.propose(), search.propose()
    for key in domains:
        assert float(ahead[key]) + float(back[key]) == pytest.approx(1.0)
    length = math.hypot(float(ahead["x"]) - 0.5, float(ahead["y"]) - 0.5)
    assert length == pytest.approx(0.1 * math.sqrt(2))
    assert search.propose() != ahead, "then comes a new direction"


def test_the_step_shrinks_after_2_to_the_d_proposals_in_vain() -> None:
    search = Flow2({"x": Uniform(0, 1)}, {"x": 0.5}, seed=0)
    steps = []
    for _ in range(6):
        steps.append(search.s)
        search.propose()
    first, second = 0.1 * math.sqrt(1 / 3), 0.1 * math.sqrt(1 / 3) * math.sqrt(3 / 5)
    assert steps == pytest.approx([0.1, 0.1, first, first, second, second])
    cube = Flow2({k: Uniform(0, 1) for k in "abc"}, dict.fromkeys("abc", 0.5), seed=0)
    for _ in range(7):
        cube.propose()
        assert cube.s == pytest.approx(0.1 * math.sqrt(3))
    cube.propose()
    assert cube.s == pytest.approx(0.1 * math.sqrt(3) * math.sqrt(1 / 9))


def test_a_success_takes_its_step_and_undoes_one_reduction() -> None:
    search = Flow2({"x": Uniform(0, 1)}, {"x": 0.5}, seed=0)
    search.propose()
    winner = search.propose()
    assert search.s == pytest.approx(0.1 * math.sqrt(1 / 3))
    search.incumbent(winner)
    assert search.x == winner
    assert search.s == pytest.approx(0.1 * math.sqrt(3))
    assert search.in_vain == 0


def test_an_interaction_move_keeps_point_and_step() -> None:
    """The champion changed in something else: the proposals are not in vain, they may still win."""
    search = Flow2({"x": Uniform(0, 1)}, {"x": 0.5}, seed=0)
    for _ in range(5):
        search.propose()
        assert search.s == pytest.approx(0.1)
        search.incumbent({"x": 0.5})
        assert search.x == {"x": 0.5}
        assert search.s == pytest.approx(0.1)


def test_at_the_border_the_step_does_not_grow() -> None:
    """One of the two points is the incumbent itself; only a plateau both ways widens the step."""
    search = Flow2(RATE, {"learning_rate": 1.0}, seed=0)
    for _ in range(12):
        assert search.propose() != {"learning_rate": 1.0}
        assert search.s <= 0.1


def test_below_its_floor_the_search_starts_again_with_a_wider_step() -> None:
    search = Flow2({"n": Integer(1, 11)}, {"n": 6}, seed=0)
    assert search.s == pytest.approx(0.1)
    search.propose()
    search.propose()
    assert search.restarts == 1
    assert search.s == pytest.approx(0.2)
    assert search.x == {"n": 6}


def test_the_floor_of_coarse_integers_sets_the_first_step() -> None:
    assert Flow2({"n": Integer(1, 3)}, {"n": 2}, seed=0).s == 1.0
    assert Flow2({"n": Integer(1, 6)}, {"n": 2}, seed=0).s == pytest.approx(0.4)


def test_words_move_to_other_words_and_switches_switch() -> None:
    domains = {"word": Choice("red", "green", "blue"), "switch": Choice(False, True)}
    search = Flow2(domains, {"word": "green", "switch": False}, seed=1)
    proposals = [search.propose() for _ in range(40)]
    assert {p["word"] for p in proposals} == {"red", "green", "blue"}
    assert {p["switch"] for p in proposals} == {False, True}
    assert {"word": "green", "switch": False} not in proposals, "the incumbent is not a proposal"


def test_coarse_integers_leave_their_plateau() -> None:
    search = Flow2({"n": Integer(1, 3)}, {"n": 2}, seed=0)
    assert {search.propose()["n"] for _ in range(6)} == {1, 3}


@given(st.integers(0, 10**6), st.floats(1e-9, 1.0))
def test_proposals_stay_in_the_domain(seed: int, start: float) -> None:
    domains: dict[str, Domain] = {
        "rate": LogUniform(1e-9, 1.0),
        "size": Integer(1, 100, log=True),
        "part": Uniform(-1, 1),
    }
    search = Flow2(domains, {"rate": start, "size": 7, "part": 0.0}, seed)
    for _ in range(12):
        p = search.propose()
        assert 1e-9 <= float(p["rate"]) <= 1.0
        assert isinstance(p["size"], int)
        assert 1 <= p["size"] <= 100
        assert -1 <= float(p["part"]) <= 1
        search.incumbent(p)


def test_same_seed_same_search() -> None:
    def proposals(seed: int) -> list[dict[str, object]]:
        search = Flow2({"x": Uniform(0, 1), "y": Uniform(0, 1)}, {"x": 0.3, "y": 0.6}, seed)
        return [dict(search.propose()) for _ in range(10)]

    assert proposals(5) == proposals(5)
    assert proposals(5) != proposals(6)


def test_the_default_oracle_gives_two_numbers_and_every_product() -> None:
    space = Space.of({"interactions": Interactions(), **RATE})
    proposals = DefaultOracle(space, seed=0)(Config(values={"learning_rate": 0.5}), "abcd")
    numeric = [c for c in proposals if not c.interactions]
    assert len(numeric) == 2
    assert len({c.values["learning_rate"] for c in numeric} - {0.5}) == 2
    assert len(proposals) == 2 + 4 * 3 // 2
    assert all(c.values["learning_rate"] == 0.5 for c in proposals if c.interactions)


def test_one_numeric_state_goes_from_champion_to_champion() -> None:
    oracle = DefaultOracle(Space.of({"interactions": Interactions(), **RATE}), seed=0)
    first = oracle(Config(values={"learning_rate": 0.5}), "ab")
    state = oracle.flow2
    winner = first[0]
    second = oracle(winner, "ab")
    assert oracle.flow2 is state
    assert state is not None
    assert state.x == {"learning_rate": winner.values["learning_rate"]}
    proposals = [c for c in first + second if not c.interactions]
    assert len(set(proposals)) == len(proposals) == 4, (
        "a point is not proposed twice, another is drawn"
    )
    assert Config(values={"learning_rate": 0.5}) not in proposals, "nor is a former champion"


def test_a_former_champion_is_not_proposed_again() -> None:
    oracle = DefaultOracle(Space.of({"n": Choice(1, 2)}), seed=0)
    assert [c.values["n"] for c in oracle(Config(values={"n": 1}), "ab")] == [2]
    assert oracle(Config(values={"n": 2}), "ab") == []


def test_products_of_products_by_set_union_up_to_the_highest_order() -> None:
    champion = Config(["ab", "cd"])
    found = {c.interactions for c in second_order_products(champion, "abcd")}
    new = {next(p for p in products if p not in champion.interactions) for products in found}
    assert new == {
        *[tuple(p) for p in ("ac", "ad", "bc", "bd")],
        *[tuple(p) for p in ("abc", "abd", "acd", "bcd", "abcd")],
    }
    assert all(
        len(p) <= 3 for c in second_order_products(champion, "abcd", 3) for p in c.interactions
    )


def test_the_count_of_the_paper() -> None:
    """k(k-1)/2 configurations for k groups."""
    for k in (2, 5, 10):
        assert len(second_order_products(Config(), "abcdefghij"[:k])) == k * (k - 1) // 2


def test_a_users_oracle_is_a_function() -> None:
    def halve(champion: Config, groups: Sequence[str]) -> list[Config]:
        return [champion.with_values(learning_rate=float(champion.values["learning_rate"]) / 2)]

    model = ChaCha.paper(
        pool=ReferencePool(), oracle=halve, init={"learning_rate": 0.5}, space={}, budget=3
    )
    model.learn_one("1 |a x", None)
    assert [live.config.values["learning_rate"] for live in model.live] == [0.5, 0.25]


def test_a_users_oracle_is_a_small_class() -> None:
    class Grid:
        def __init__(self, *rates: float) -> None:
            self.rates = rates

        def __call__(self, champion: Config, groups: Sequence[str]) -> list[Config]:
            return [champion.with_values(learning_rate=rate) for rate in self.rates]

    model = ChaCha.paper(pool=ReferencePool(), oracle=Grid(0.1, 1.0, 2.0), budget=4)
    model.learn_one("1 |a x")
    assert sorted(str(m.config) for m in model.live) == [
        "no interactions",
        "no interactions; learning_rate 0.1",
        "no interactions; learning_rate 1",
        "no interactions; learning_rate 2",
    ]


def test_a_key_without_a_value_gets_the_learners_default() -> None:
    model = ChaCha.paper(pool=ReferencePool(), space=RATE)
    assert model.champion.values == {"learning_rate": 0.5}
    model.learn_one("1 |a x")
    assert len(model.live) == 3, "it is tuned"


def test_nothing_is_silently_left_untuned() -> None:
    with pytest.raises(ConfigError, match=r"'depth' is tuned, but the learner has no default"):
        ChaCha.paper(pool=ReferencePool(), space={"depth": Integer(1, 9)})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(1, 1), "finite low < high"),
        (lambda: LogUniform(0, 1), "low > 0"),
        (lambda: LogUniform(1, math.inf), "finite"),
        (lambda: Integer(1.5, 3), "whole numbers"),  # type: ignore[arg-type]
        (lambda: Integer(0, 3, log=True), "low >= 1"),
        (lambda: Choice("a"), "at least two different"),
        (lambda: Choice("a", "a"), "at least two different"),
        (lambda: Interactions(max_order=1), "max_order >= 2"),
        (lambda: Space.of({"interactions": Uniform(0, 1)}), "takes Interactions"),
        (lambda: Space.of({"l2": Interactions()}), "takes Interactions"),
        (lambda: Space.of({"l2": 0.5}), "needs a domain"),  # type: ignore[dict-item]
        (lambda: Space.of({"l2": Uniform(0, 1)}).initial({"l2": "x"}, {}.get), "a number"),
        (lambda: Space.of({"n": Integer(1, 9)}).initial({"n": 1.5}, {}.get), "whole"),
        (lambda: Space.of({"w": Choice("a", "b")}).initial({"w": "c"}, {}.get), "offer"),
    ],
)
def test_wrong_spaces_are_refused_in_words(make: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()  # type: ignore[operator]
