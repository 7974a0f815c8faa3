"""Progressive validation: the losses of predictions made before learning (section 3.1).

Twin: native/src/rules/progressive_loss.hpp
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ProgressiveLoss"]


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
