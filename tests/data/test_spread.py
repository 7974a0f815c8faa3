"""Where numbers lie and how far they spread, against a plain computation; labels on that scale."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chacha.data.label_map import MOST, LabelMap, MeanCorrection
from chacha.data.spread import Spread, spread_of
from chacha.rules.recent_labels import RecentLabels

NUMBERS = st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=70)


def naive(numbers: list[float]) -> Spread:
    """The median, and the root of the mean square of deviations, cut at six median deviations."""
    centre = statistics.median(numbers)
    deviations = [abs(number - centre) for number in numbers]
    others = sorted(deviation for deviation in deviations if deviation)
    if not others:
        return Spread(centre, 0.0)
    most = 6.0 * statistics.median_high(others)
    squares = [min(deviation, most) ** 2 for deviation in deviations]
    return Spread(centre, math.sqrt(math.fsum(squares) / len(numbers)))


@given(NUMBERS)
def test_a_spread_is_what_it_says(numbers: list[float]) -> None:
    spread, expected = spread_of(numbers), naive(numbers)
    assert spread.centre == pytest.approx(expected.centre, rel=1e-12, abs=1e-300)
    if expected.scale > 1e-150 or expected.scale == 0.0:  # squares do not vanish
        assert spread.scale == pytest.approx(expected.scale, rel=1e-12)


@given(NUMBERS, st.randoms(use_true_random=False))
def test_the_order_of_the_numbers_does_not_matter(numbers: list[float], rng: random.Random) -> None:
    shuffled = numbers[:]
    rng.shuffle(shuffled)
    assert spread_of(shuffled) == spread_of(numbers)


@given(NUMBERS, st.integers(-200, 200))
def test_powers_of_two_scale_a_spread_to_the_bit(numbers: list[float], power: int) -> None:
    spread = spread_of(numbers)
    scaled = spread_of([math.ldexp(number, power) for number in numbers])
    assert scaled == (math.ldexp(spread.centre, power), math.ldexp(spread.scale, power))
    mirrored = spread_of([-number for number in numbers])
    assert mirrored == pytest.approx((-spread.centre, spread.scale), rel=1e-12), "sums differ"


@given(NUMBERS)
def test_a_scale_is_zero_only_if_all_are_equal(numbers: list[float]) -> None:
    scale = spread_of(numbers).scale
    assert math.isfinite(scale)
    assert (scale > 0.0) == (len(set(numbers)) > 1)


@pytest.mark.parametrize("wild", [1e3, 1e9, 1e30, -1e30])
@pytest.mark.parametrize("n", [8, 16, 64])
def test_a_few_wild_numbers_move_neither_centre_nor_scale_far(n: int, wild: float) -> None:
    rng = random.Random(n)
    numbers = [rng.gauss(0, 1) for _ in range(n)]
    plain, spread = spread_of(numbers), spread_of([*numbers[1:], wild])
    assert abs(spread.centre - plain.centre) < 0.5
    assert 0.8 * plain.scale < spread.scale < 3.0 * plain.scale


def test_few_numbers_and_extreme_ones() -> None:
    assert spread_of([3.0]) == (3.0, 0.0)
    assert spread_of([-0.0, 0.0]).scale == 0.0
    assert spread_of([1.0, 3.0]) == (2.0, 1.0)
    assert spread_of([0.0] * 63 + [8.0]) == (0.0, 1.0), "one in 64"
    largest = 3.4028234663852886e38
    assert spread_of([-largest, largest]) == (0.0, largest)
    assert spread_of([5e-324, 0.0]).scale >= 0.0


def test_a_map_that_knows_no_scale_learns_nothing() -> None:
    unknown = LabelMap(shift=7.0)
    assert unknown.to_learner(1e9) == 0.0
    assert unknown.to_user(0.0) == 7.0
    assert LabelMap() == (0.0, 0.0, False, 0.0, 1.0)


def test_nothing_is_corrected_without_a_scale() -> None:
    label_map, correction = LabelMap(logarithm=True, low=7.0), MeanCorrection()
    for _ in range(20):
        correction.observe(label_map, raw=0.0, y=2.0)  # cut
    assert correction == MeanCorrection()
    assert label_map.to_user(0.0, correction=correction.factor) == 7.0
    correction.observe(label_map.found(10.0), raw=0.0, y=10.0)
    assert correction == MeanCorrection(products=2.0, squares=1.0, count=1.0)


@given(st.floats(-1e38, 1e38), st.floats(-1e38, 1e38), st.floats(1e-300, 1e38))
def test_a_label_comes_back_unless_it_is_far_away(y: float, shift: float, scale: float) -> None:
    label_map = LabelMap(shift, scale)
    z = label_map.to_learner(y)
    assert -MOST <= z <= MOST
    if abs(z) < MOST:
        spacing = max(math.ulp(y), math.ulp(shift), scale * math.ulp(z))
        assert abs(label_map.to_user(z) - y) <= 4 * spacing
    assert label_map.to_learner(shift) == 0.0


def test_models_learn_what_the_label_adds_to_an_initial_prediction() -> None:
    label_map = LabelMap(shift=2.0, scale=4.0)
    assert label_map.to_learner(110.0, base=100.0) == 2.0
    assert label_map.to_user(2.0, base=100.0) == 110.0


def test_recent_labels_are_the_last_64() -> None:
    labels, rng = RecentLabels(), random.Random(1)
    assert labels.last() == [], "none yet"
    seen: list[float] = []
    for n in range(1, 200):
        seen.append(rng.gauss(n, 1))
        labels.add(seen[-1])
        assert labels.last() == seen[-64:]
