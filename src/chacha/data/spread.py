"""Where some numbers lie and how far they spread; a few wild ones move neither far.

Twin: native/src/base/spread.hpp
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Spread", "spread_of"]

WILD = 6.0  # median deviations, beyond which a deviation is cut


class Spread(NamedTuple):
    """The median, and the standard deviation around it with wild deviations cut.

    The scale is 0 if all numbers are equal.
    """

    centre: float
    scale: float


def spread_of(numbers: Iterable[float]) -> Spread:
    """Return the spread of some numbers, of which there must be one.

    >>> spread_of([1.0, 2.0, 4.0, 9.0])
    Spread(centre=3.0, scale=3.24037...)
    >>> spread_of([1.0, 2.0, 4.0, 1e9]).scale < 10
    True
    >>> spread_of([5.0, 5.0])
    Spread(centre=5.0, scale=0.0)
    """
    values = sorted(numbers)
    count, half = len(values), len(values) // 2
    centre = values[half]
    if count % 2 == 0:
        centre = values[half - 1] + (values[half] - values[half - 1]) * 0.5
    deviations = sorted(abs(value - centre) for value in values)
    others = [deviation for deviation in deviations if deviation > 0.0]
    if not others:
        return Spread(centre, 0.0)
    most = WILD * others[len(others) // 2]
    total = 0.0
    for value in values:
        share = min(abs(value - centre), most) / most
        total += share * share
    return Spread(centre, most * math.sqrt(total / count))
