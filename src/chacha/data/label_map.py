"""Labels as a model learns them: less a shift, in units of a scale.

Twin: native/src/learner/label_map.hpp
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LabelMap"]

MOST = 2.0**30  # scales; labels farther away count as that


class LabelMap(NamedTuple):
    """The shift and the scale of the labels of one model.

    As long as the scale is 0, it is not known, and nothing is learned.

    >>> celsius = LabelMap(shift=32.0, scale=1.8)
    >>> celsius.to_learner(50.0), celsius.to_user(10.0)
    (10.0, 50.0)
    """

    shift: float = 0.0
    scale: float = 0.0

    def to_learner(self, y: float, base: float = 0.0) -> float:
        """Return a label for the learner; `base` is the initial prediction of the example."""
        if not self.scale > 0.0:
            return 0.0
        return min(max((y - base - self.shift) / self.scale, -MOST), MOST)

    def found(self, y: float) -> LabelMap:
        """Return the map with the scale that a label shows, if it has none.

        >>> LabelMap(shift=5.0).found(5.0).found(7.5)
        LabelMap(shift=5.0, scale=2.5)
        """
        return self if self.scale > 0.0 else self._replace(scale=abs(y - self.shift))

    def to_user(self, raw: float, base: float = 0.0) -> float:
        """Return the learner's prediction in the units of the labels."""
        return base + self.shift + self.scale * raw
