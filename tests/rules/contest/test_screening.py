"""Screening: what it costs, what it finds, and whose turn it is."""

from __future__ import annotations

import math
import random
import time
from itertools import combinations, combinations_with_replacement, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chacha import Config
from chacha.config.config import Product
from chacha.config.space import Interactions, Space
from chacha.data.example import Example
from chacha.data.text_parser import parse_line
from chacha.rules.contest.betting import PairedBetting
from chacha.rules.contest.moves import Moves
from chacha.rules.contest.screen import Screen
from chacha.rules.contest.screening import CandidateWindow, Screening
from chacha.rules.feature_counts import Widths, cells_for
from tests.support.contest import Counted, contest, feed
from tests.support.scripted import World

PRODUCTS = Space.of({"interactions": Interactions()})
NEVER = PairedBetting(alpha=1e-300, renews=1e6)  # no promotions, no renewed leases


class Counting(Screen):
    """A screen that counts the features that each step works on, and the memory."""

    def __init__(self, policy: Screening) -> None:
        super().__init__(policy)
        self.worked: list[float] = []
        self.most: list[float] = []  # the raw features, once for each live model

    def learn(self, example: Example, residual: float, live: int) -> None:
        before = [candidate.looks for candidate in self.candidates]
        super().learn(example, residual, live)
        counts = {group: sum(f.value != 0 for f in fs) for group, fs in example.groups.items()}
        work = 0.0
        for candidate, looks in zip(self.candidates, before, strict=True):
            width = math.prod(counts.get(group, 0) for group in candidate.product)
            work += width * (candidate.looks - looks)
        self.worked.append(work)
        self.most.append(float(sum(counts.values()) * live))


@given(
    st.sampled_from([0.05, 0.25, 1.0]),
    st.integers(1, 6),
    st.lists(st.integers(0, 4), min_size=3, max_size=3),
    st.integers(0, 99),
)
@settings(max_examples=30)
def test_screening_costs_its_share_and_no_step_more_than_the_models(
    share: float, live: int, sizes: list[int], seed: int
) -> None:
    rng, screen = random.Random(seed), Counting(Screening(share=share))
    products: list[Product] = list(combinations("abc", 2))
    screen.set(products, dict(zip("abc", sizes, strict=True)))
    for _ in range(60):
        words = [
            f"|{g} " + " ".join(f"{g}{i}:{rng.choice([0, 1, 2.5])}" for i in range(size))
            for g, size in zip("abc", sizes, strict=True)
        ]
        screen.learn(parse_line("0 " + " ".join(words)), rng.gauss(0, 1), live)
    assert all(work <= most for work, most in zip(screen.worked, screen.most, strict=True))
    assert sum(screen.worked) <= share * sum(screen.most) * 1.000001


def test_candidates_are_looked_at_in_turns() -> None:
    screen = Screen(Screening(share=0.25, looks=5))
    products: list[Product] = list(combinations_with_replacement("abcde", 2))
    screen.set(products, dict.fromkeys("abcde", 1))
    example, examples = World("abcde").example, 0
    while not screen.ready:
        screen.learn(example, 1.0, live=4)
        examples += 1
    looks = [candidate.looks for candidate in screen.candidates]
    assert max(looks) - min(looks) <= 1
    assert min(looks) >= 5
    assert examples == pytest.approx(5 * 15 / (0.25 * 5 * 4), abs=2)


def test_candidates_that_are_too_wide_are_left_out() -> None:
    """They do not delay the others, and their gain stays unknown."""
    screen = Screen(Screening(share=1.0, looks=3))
    screen.set([("a", "a", "b"), ("a", "c"), ("b", "none")], {"a": 9, "b": 9, "c": 1})
    words = [f"|{g} " + " ".join(f"{g}{i}" for i in range(9)) for g in "ab"]
    for _ in range(20):
        screen.learn(parse_line(f"0 {' '.join(words)} |c x"), 1.0, live=1)
    assert set(screen.gains()) == {("a", "c")}
    assert screen.ready


def test_the_product_that_explains_what_is_left_over_gains_most() -> None:
    rng, screen = random.Random(1), Screen(Screening(share=1.0))
    products: list[Product] = list(combinations_with_replacement("abcd", 2))
    screen.set(products, dict.fromkeys("abcd", 1))
    for _ in range(400):
        x = {g: rng.uniform(-1, 1) for g in "abcd"}
        line = "0 " + " ".join(f"|{g} x:{v}" for g, v in x.items())
        screen.learn(parse_line(line), 2 * x["a"] * x["c"] + rng.gauss(0, 0.1), live=5)
    gains = screen.gains()
    assert max(gains, key=lambda p: gains[p]) == ("a", "c")


@pytest.mark.parametrize("residual", [math.nan, math.inf, -math.inf])
def test_nothing_is_learned_from_a_residual_that_is_not_a_number(residual: float) -> None:
    screen = Screen(Screening(share=1.0))
    screen.set([("a", "b")], {"a": 1, "b": 1})
    screen.learn(World("ab").example, residual, live=2)
    assert not screen.gains()
    screen.learn(World("ab").example, 1e300, live=2)
    screen.learn(World("ab").example, -1e300, live=2)
    assert all(map(math.isfinite, screen.gains().values()))


def test_memory_is_bounded_whatever_the_stream_brings() -> None:
    assert cells_for(("a", "b"), {"a": 10**6, "b": 10**6}) == 4096
    screen = Screen(Screening(share=1.0))
    screen.set([("a", "b")], {"a": 10**6, "b": 10**6})
    for i in range(6000):
        screen.learn(parse_line(f"0 |a x{i} |b y{i}"), 1.0, live=3)
    assert len(screen.candidates[0].cells) <= 4096


def test_widths_are_kept_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chacha.rules.feature_counts.MOST_WIDTHS", 10)
    widths = Widths({"a": 2.0, "b": 3.0})
    for i in range(100):
        name = f"bins(a,{i + 2})"
        assert widths.of_product((name, "b")) == 12.0  # two features for each of group a
        assert widths.of_config(Config(derived=[name])) == 10.0
    kept = len(widths._groups), len(widths._products), len(widths._configs)
    assert max(kept) <= 10


def test_many_groups_stay_cheap_and_take_turns() -> None:
    """300 groups have 45,150 pairs: 256 at a time are screened, the best quarter stays."""
    groups = [f"g{i:03}" for i in range(300)]
    moves, world = Counted(Moves(PRODUCTS)), World(groups)
    evidence = PairedBetting(alpha=1e-300, renews=1e6)
    screening = Screening(share=1.0, looks=2, most=256)
    core = contest(moves, budget=3, first_lease=3, evidence=evidence, screening=screening)
    core.screen = Counting(screening)
    begun = time.process_time()
    core.begin(world)
    screened = [list(core.screen.products)]
    for _ in range(60):
        feed(core, world, lambda c: 1.0)
        if core.screen.products != screened[-1]:
            screened.append(list(core.screen.products))
    assert time.process_time() - begun < 5.0
    assert len(screened) > 3
    assert all(len(products) == 256 == len(set(products)) for products in screened)
    for before, after in pairwise(screened):
        assert 0 < len(set(before) & set(after)) <= 64
    assert len({p for products in screened for p in products}) > 800
    assert max(core.screen.worked) <= 900
    assert {key[1] for key in moves.gone} == {"one", "several"}


def test_candidates_that_stay_keep_what_they_learned() -> None:
    rng = random.Random(3)
    screen, always = Screen(Screening(share=1.0)), Screen(Screening(share=1.0))
    screen.set([("a", "b"), ("b", "b"), ("a", "a")], dict.fromkeys("ab", 1))
    always.set([("a", "a"), ("a", "b")], dict.fromkeys("ab", 1))

    def learn() -> None:
        example = parse_line(f"0 |a x:{rng.random()} |b y:{rng.random()}")
        residual = rng.random() - 0.3
        screen.learn(example, residual, live=5)
        always.learn(example, residual, live=5)

    for _ in range(25):
        assert bool(screen.gains()) == (screen.rounds >= 20)
        learn()
    kept = {p: screen.gains()[p] for p in [("a", "a"), ("a", "b")]}
    screen.set([*kept, ("a", "a", "b")], dict.fromkeys("ab", 999), keep=2)
    assert screen.rounds == 0
    assert screen.gains() == kept  # known at once, and nothing else is
    for _ in range(25):
        learn()
    gains = screen.gains()
    assert len(gains) == 3
    assert {p: gains[p] for p in kept} == always.gains()
    screen.begin_again()
    learn()
    assert not screen.gains()


def test_what_helps_among_thousands_of_candidates_stays_in_the_window() -> None:
    """The window moves on as soon as the screen is ready; the best is known all the time."""
    rng, policy = random.Random(4), Screening(share=1.0, most=64, looks=20)
    screen, window = Screen(policy), CandidateWindow(policy)
    groups = [f"g{i:02}" for i in range(30)]
    pairs = list(combinations(groups, 2))
    world, right = World(groups), ("g20", "g27")
    found = 0
    for i in range(3000):
        window.set(screen, Config(), world, lambda: iter(pairs))
        gains = screen.gains()
        if right in gains:
            found = found or i
            assert max(gains, key=gains.__getitem__) == right
        assert not found or right in gains
        x = {g: rng.uniform(-1, 1) for g in groups}
        line = "0 " + " ".join(f"|{g} x:{v}" for g, v in x.items())
        screen.learn(parse_line(line), x["g20"] * x["g27"], live=3)
    assert 0 < found < 1000


def test_another_champion_is_screened_for_what_it_lacks() -> None:
    moves, world = Moves(PRODUCTS), World("abc")
    core = contest(moves, Config(["ab"]), budget=2)
    core.begin(world)
    assert ("a", "b") not in core.screen.products
    assert ("a", "b", "c") in core.screen.products
    assert core.screen.width(core.champion) == 5.0


@pytest.mark.parametrize("groups", [24, 30])
def test_more_products_than_are_screened_all_get_their_turn(groups: int) -> None:
    names = [f"g{i:02}" for i in range(groups)]
    moves, world = Counted(Moves(Space.of({"interactions": Interactions()}))), World(names)
    screening = Screening(share=1.0, looks=1, most=256)
    core = contest(moves, budget=2, first_lease=1, evidence=NEVER, screening=screening)
    core.begin(world)
    screened = set(core.screen.products)
    for _ in range(1300):
        feed(core, world, lambda c: 1.0)
        screened |= set(core.screen.products)
    every = set(combinations_with_replacement(names, 2))
    assert len(every) > screening.most
    assert len(every - screened) == 0


def test_without_screening_every_product_gets_its_turn() -> None:
    names = [f"g{i:02}" for i in range(24)]
    moves, world = Counted(Moves(Space.of({"interactions": Interactions()}))), World(names)
    screening = Screening(share=0.0)
    core = contest(moves, budget=4, first_lease=1, evidence=NEVER, screening=screening)
    core.begin(world)
    for _ in range(1300):
        feed(core, world, lambda c: 1.0)
    gone = {key[2] for key in moves.gone if key[1] == "one"}
    assert len(set(combinations_with_replacement(names, 2)) - gone) == 0


@given(st.integers(2, 12), st.integers(1, 60), st.sampled_from([0.0, 0.5]), st.integers(0, 9))
def test_every_candidate_has_its_turn_in_the_window(
    most: int, count: int, share: float, seed: int
) -> None:
    """Whichever candidates stay for their gains; never more than fit, none twice."""
    rng, policy = random.Random(seed), Screening(share=share, most=most, looks=1)
    screen, window = Screen(policy), CandidateWindow(policy)
    every: list[Product] = [("a", f"g{i:02}") for i in range(count)]
    world: set[Product] = set()
    for _ in range(3 * count // most + 4):
        window.set(screen, Config(), World(["a"]), lambda: iter(every))
        assert len(screen.products) == len(set(screen.products)) <= most
        world |= set(screen.products)
        screen.rounds = 1
        for candidate in screen.candidates:
            candidate.looks, candidate.gain = 1, rng.random()
    assert world == set(every)
