"""How far labels may be from their centre, in any unit, and if they grow for good."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from chacha.rules.label_reach import FARTHER, GROWTH, LabelReach

labels = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


def cut(ys: list[float], centre: float, scale: float) -> list[float]:
    """The labels as they are learned."""
    reach, near = LabelReach(), []
    reach.begin(centre, scale)
    for y in ys:
        near.append(reach.cut(y))
        reach.observe(near[-1])
    return near


@given(labels, st.floats(-10, 10), st.floats(1e-3, 1e3), st.integers(-200, 200))
def test_the_unit_does_not_matter(ys: list[float], centre: float, scale: float, power: int) -> None:
    scaled = cut(
        [math.ldexp(y, power) for y in ys], math.ldexp(centre, power), math.ldexp(scale, power)
    )
    if all(abs(y) > 1e-90 for y in [centre, *ys] if y != 0.0):  # no subnormals
        assert scaled == [math.ldexp(y, power) for y in cut(ys, centre, scale)]


@given(labels, st.floats(-10, 10), st.floats(1e-3, 1e3))
def test_a_label_is_learned_as_it_is_or_16_times_as_far_as_those_before(
    ys: list[float], centre: float, scale: float
) -> None:
    farthest = scale
    for y, near in zip(ys, cut(ys, centre, scale), strict=True):
        if abs(y - centre) <= FARTHER * farthest:
            assert near == y
        else:
            assert abs(near - centre) <= FARTHER * farthest * (1 + 1e-9)
            assert (near > centre) == (y > centre)
        farthest = max(farthest, min(abs(near - centre), GROWTH * farthest))


def test_labels_that_grow_for_good_are_soon_learned_as_they_are() -> None:
    assert cut([1e3] * 8, 0.0, 1.0) == [16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1e3, 1e3]


def test_without_a_scale_nothing_is_cut() -> None:
    assert cut([1e9, -1e300], 5.0, 0.0) == [1e9, -1e300]
