"""The labels that were learned last, from which the scale of a model that starts is estimated.

Twin: native/src/rules/recent_labels.hpp
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from chacha.data.label_map import LabelMap
from chacha.data.spread import spread_of

__all__ = ["RecentLabels"]

MOST = 64
FEWEST = 32  # labels that show whether they are skewed
SKEW = 4.0001  # not 4, which whole numbers may be exactly: rounding would decide
BEYOND = 8.0  # scales


class RecentLabels:
    """The last 64 labels, and one from before them.

    >>> labels = RecentLabels()
    >>> for label in range(100):
    ...     labels.add(float(label))
    >>> labels.last(2), labels.skewed
    ([98.0, 99.0], False)
    """

    def __init__(self) -> None:
        self._labels: deque[float] = deque(maxlen=MOST + 1)
        self.are_scaled = False
        """Whether the scale of the labels is known for good; until then they are not skewed."""

    def add(self, label: float) -> None:
        """Add a label, and forget the oldest one if there are enough."""
        self._labels.append(label)

    def last(self, count: int = MOST) -> Sequence[float]:
        """Return the last labels."""
        return list(self._labels)[-count:]

    def beyond(self, label_map: LabelMap) -> bool:
        """Return whether labels spread much more than in the scale of a model.

        >>> labels = RecentLabels()
        >>> labels.are_scaled = True
        >>> for label in range(100):
        ...     labels.add(float(label))
        >>> labels.beyond(LabelMap(50.0, 10.0)), labels.beyond(LabelMap(50.0, 2.0))
        (False, True)
        """
        if len(self._labels) <= MOST or not self.are_scaled:
            return False
        spread = spread_of([label_map.mapped(y) for y in self.last()])
        return spread.scale > BEYOND * label_map.scale

    @property
    def skewed(self) -> bool:
        """Whether the largest labels are far from the median, and the smallest are not."""
        labels = self.last()
        if len(labels) < FEWEST or not self.are_scaled:
            return False
        centre = spread_of(labels).centre
        return max(labels) - centre > SKEW * (centre - min(labels))
