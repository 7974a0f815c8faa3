"""The best constant prediction for the labels so far: what a model without features could serve.

Twin: native/src/rules/best_constant.hpp
"""

from __future__ import annotations

from dataclasses import dataclass

from chacha.losses import BinaryLoss, Loss, RegressionLoss

__all__ = ["BestConstant"]


@dataclass(slots=True)
class BestConstant:
    """The constant with the least loss on the labels so far, from sums of labels and weights.

    It is the weighted mean, 0 before the first label. For two classes it follows from
    p = (n1 + 1/2) / (n + 1), where n1 of the weight n so far has label 1.

    >>> from chacha.losses import Hinge, Logistic, Poisson, Squared
    >>> for loss in (Squared(), Poisson(), Logistic(), Hinge()):
    ...     constant = BestConstant(loss)
    ...     for label, weight in ((1.0, 1.0), (1.0, 2.0), (loss.label(0.0), 1.0)):
    ...         constant.add(label, weight)
    ...     print(round(loss.served(constant.raw), 4))
    0.75
    0.75
    0.7
    1.0
    """

    loss: Loss
    total: float = 0.0  # of the labels, weighted
    weight: float = 0.0
    positive: float = 0.5  # the weight of the labels above 0, and half an example more
    negative: float = 0.5

    @classmethod
    def of(cls, loss: Loss) -> BestConstant | None:
        """Return the constant before the first label; None if it takes more than a few sums.

        That is a quantile, or what a loss that is not built in does not say.

        >>> from chacha.losses import Quantile
        >>> print(BestConstant.of(Quantile()))
        None
        """
        is_mean = isinstance(loss, RegressionLoss) and loss.level is None
        return cls(loss) if is_mean or isinstance(loss, BinaryLoss) else None

    @property
    def raw(self) -> float:
        """The constant on the learner's scale."""
        loss = self.loss
        if isinstance(loss, BinaryLoss):
            return loss.constant(self.positive, self.negative)
        mean = self.total / self.weight if self.weight > 0 else 0.0
        return loss.raw(mean) if isinstance(loss, RegressionLoss) else mean

    def add(self, label: float, weight: float) -> None:
        """Count a label."""
        self.total += weight * label
        self.weight += weight
        if label > 0:
            self.positive += weight
        else:
            self.negative += weight
