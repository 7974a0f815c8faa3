"""Progressive validation: the losses of predictions made before learning (section 3.1).

Twin: native/src/rules/progressive_loss.hpp
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["ProgressiveLoss", "RunningLoss"]


@dataclass(slots=True)
class ProgressiveLoss:
    """The progressive validation loss of one live model so far (L^PV, section 3.1).

    >>> s = ProgressiveLoss()
    >>> s.add(1.0); s.add(4.0, weight=0.5)
    >>> s.n, s.mean
    (2, 2.0)
    """

    n: int = 0
    total: float = 0.0
    weight: float = 0.0

    def add(self, loss: float, weight: float = 1.0) -> None:
        """Charge the loss on one example, predicted before the model learned from it."""
        self.n += 1
        self.total += weight * loss
        self.weight += weight

    @property
    def mean(self) -> float:
        """L^PV: the weighted mean loss; 0 before the first example."""
        return self.total / self.weight if self.weight > 0 else 0.0


@dataclass(slots=True)
class RunningLoss(ProgressiveLoss):
    """A progressive loss of which parts are known, too, after losses that are much larger.

    >>> from dataclasses import replace
    >>> loss = RunningLoss()
    >>> loss.add(1e24)    # the first label is 1e12, and 0 was predicted
    >>> before = replace(loss)
    >>> loss.add(3.0); loss.add(5.0)
    >>> loss.total - before.total, loss.mean_since(before)
    (0.0, 4.0)
    """

    lost: float = 0.0
    """What rounding has taken from `total`."""

    def add(self, loss: float, weight: float = 1.0) -> None:
        """Charge the loss on one example, predicted before the model learned from it."""
        before, added = self.total, weight * loss
        ProgressiveLoss.add(self, loss, weight)
        if math.isfinite(self.total):  # Knuth's TwoSum
            kept = self.total - before
            self.lost += (before - (self.total - kept)) + (added - kept)

    def mean_since(self, before: RunningLoss) -> float:
        """Return the weighted mean of the losses since an earlier state; NaN if there are none."""
        weight = self.weight - before.weight
        total = (self.total - before.total) + (self.lost - before.lost)
        return total / weight if weight > 0 else math.nan
