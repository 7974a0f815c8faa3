"""Labels as a model learns them: less a shift, in units of a scale, or logarithms of them.

Twin: native/src/learner/label_map.hpp
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from chacha.data.spread import spread_of

__all__ = ["LabelMap", "MeanCorrection", "label_map_of"]

MOST = 2.0**30  # scales; labels farther away count as that
DECAY = 0.999  # of the sums of a correction, per example
PRIOR = 8.0  # examples that a correction begins with
LARGEST = 4.0  # correction


class LabelMap(NamedTuple):
    """The shift and the scale of the labels of one model.

    As long as the scale is 0, it is not known, and nothing is learned. With `logarithm`, the model
    learns log(1 + v) with v = (label - low)/unit, and for v < 0 the mirror image of it; shift and
    scale are then of the logarithm.

    >>> celsius = LabelMap(shift=32.0, scale=1.8)
    >>> celsius.to_learner(50.0), celsius.to_user(10.0)
    (10.0, 50.0)
    >>> prices = LabelMap(scale=1.0, logarithm=True, low=100.0, unit=50.0)
    >>> round(prices.to_user(prices.to_learner(4000.0)), 6)
    4000.0
    """

    shift: float = 0.0
    scale: float = 0.0
    logarithm: bool = False
    low: float = 0.0
    unit: float = 1.0

    def mapped(self, y: float) -> float:
        """Return the label, or its logarithm."""
        if not self.logarithm:
            return y
        v = (y - self.low) / self.unit
        return math.log1p(v) if v >= 0.0 else -math.log1p(-v)

    def to_learner(self, y: float, base: float = 0.0) -> float:
        """Return a label for the learner; `base` is the initial prediction of the example."""
        if not self.scale > 0.0:
            return 0.0
        return min(max((self.mapped(y - base) - self.shift) / self.scale, -MOST), MOST)

    def found(self, y: float) -> LabelMap:
        """Return the map with the scale that a label shows, if it has none.

        >>> LabelMap(shift=5.0).found(5.0).found(7.5)
        LabelMap(shift=5.0, scale=2.5, logarithm=False, low=0.0, unit=1.0)
        """
        if self.scale > 0.0:
            return self
        unit = abs(y - self.low) if self.logarithm and y != self.low else self.unit
        found = self._replace(unit=unit)
        return found._replace(scale=abs(found.mapped(y) - self.shift))

    def to_user(self, raw: float, base: float = 0.0, correction: float = 1.0) -> float:
        """Return the learner's prediction in the units of the labels.

        `correction` is that of :class:`MeanCorrection`.
        """
        t = self.shift + self.scale * raw
        if not self.logarithm:
            return base + self.shift + self.scale * raw
        factor = correction if t >= 0.0 else 1.0
        return base + self.low + self.unit * (factor * one_more(t) - 1.0)


def one_more(t: float) -> float:
    """Return 1 + v for a logarithm.

    >>> one_more(0.0)
    1.0
    """
    return math.exp(t) if t >= 0.0 else 2.0 - math.exp(-t)


@dataclass
class MeanCorrection:
    """The factor from the exponential of a predicted logarithm to the mean of the label.

    The mean is what squared loss asks for, and it is larger. The factor is that of least squares,
    over the last 1000 examples or so.

    >>> correction, label_map = MeanCorrection(), LabelMap(scale=1.0, logarithm=True)
    >>> for y in (0.0, 3.0) * 100:
    ...     correction.observe(label_map, raw=0.5, y=y)
    >>> round(label_map.to_user(0.5, correction=correction.factor), 1)
    1.5
    """

    products: float = 0.0
    squares: float = 0.0
    count: float = 0.0

    @property
    def factor(self) -> float:
        """The factor; 1 before the first example."""
        if not self.count > 0.0:
            return 1.0
        prior = PRIOR * self.squares / self.count
        factor = (self.products + prior) / (self.squares + prior)
        return min(max(factor, 1.0 / LARGEST), LARGEST)

    def observe(self, label_map: LabelMap, raw: float, y: float, base: float = 0.0) -> None:
        """Add an example that was learned, and what was predicted for it.

        Without a scale the unit is not known either, and nothing is corrected.
        """
        t = label_map.shift + label_map.scale * raw
        if t < 0.0 or not label_map.scale > 0.0:
            return
        v, e = (y - base - label_map.low) / label_map.unit + 1.0, one_more(t)
        self.products = self.products * DECAY + v * e
        self.squares = self.squares * DECAY + e * e
        self.count = self.count * DECAY + 1.0


def label_map_of(labels: Sequence[float], logarithm: bool = False) -> LabelMap:
    """Return how a model that starts learns labels, given the last ones.

    >>> label_map_of([1.0, 3.0])
    LabelMap(shift=2.0, scale=1.0, logarithm=False, low=0.0, unit=1.0)
    """
    if not labels:
        return LabelMap()
    spread = spread_of(labels)
    if not logarithm:
        return LabelMap(spread.centre, spread.scale)
    low, unit = min(labels), 1.0
    if spread.centre > low:
        unit = spread.centre - low
    elif spread.scale > 0.0:
        unit = spread.scale
    label_map = LabelMap(logarithm=True, low=low, unit=unit)
    spread = spread_of([label_map.mapped(y) for y in labels])
    return label_map._replace(shift=spread.centre, scale=spread.scale)
