"""The labels that were learned last, from which the scale of a model that starts is estimated.

Twin: native/src/rules/recent_labels.hpp
"""

from __future__ import annotations

from collections import deque

from chacha.data.spread import Spread, spread_of

__all__ = ["RecentLabels"]

MOST = 64


class RecentLabels:
    """The last 64 labels.

    >>> labels = RecentLabels()
    >>> for label in range(100):
    ...     labels.add(float(label))
    >>> labels.spread().centre
    67.5
    """

    def __init__(self) -> None:
        self._labels: deque[float] = deque(maxlen=MOST)

    def add(self, label: float) -> None:
        """Add a label, and forget the oldest one if there are enough."""
        self._labels.append(label)

    def spread(self, last: int = MOST) -> Spread:
        """Return where the last labels lie and how far they spread."""
        labels = list(self._labels)[-last:]
        return spread_of(labels) if labels else Spread(0.0, 0.0)
