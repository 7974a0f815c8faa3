"""The method `mean`: for every example, the best constant for the labels so far.

It uses no features. The constant with the least loss on some labels is their mean or a quantile of
them; for two classes it follows from their weights. The loss says which.
"""

from __future__ import annotations

import math
from bisect import bisect_left

from chacha.data.example import Example
from chacha.losses import BinaryLoss, Loss
from chacha.pools.base import Learner
from chacha.rules.best_constant import BestConstant
from chacha.tasks import Regression, task_of

__all__ = ["RunningMean", "RunningQuantile", "running_mean"]

MOST_LABELS = 8192  # different ones; no more than 4200 doubles have one significant bit
DOUBLE_BITS = 53  # significant bits of a label


def running_mean(loss: Loss, seed: int = 0) -> Learner:
    """Return the learner of the method `mean`; worker processes can import this function.

    >>> from chacha import Hinge, Poisson
    >>> str(running_mean(Poisson())), str(running_mean(Hinge()))
    ('mean of the labels', 'share of label 1')
    """
    task = task_of(loss)
    if isinstance(task, Regression) and task.level is not None:
        return RunningQuantile(task)
    return RunningMean(loss)


class RunningMean:
    """Predicts the mean of the labels so far, or from the share of label 1.

    :class:`~chacha.rules.best_constant.BestConstant` says how.

    >>> from chacha import Squared
    >>> from chacha.data import parse_line
    >>> learner = RunningMean(Squared())
    >>> for line in ("1 |a x", "4 2 |a x"):
    ...     learner.learn(parse_line(line))
    >>> learner.predict(parse_line("|b y"))
    3.0
    """

    def __init__(self, loss: Loss) -> None:
        self._constant = BestConstant(loss)

    def predict(self, example: Example) -> float:
        """Return the constant on the scale of the loss."""
        return self._constant.raw

    def learn(self, example: Example) -> None:
        """Count the label."""
        assert example.label is not None
        self._constant.add(example.label, example.weight)

    def close(self) -> None:
        """Do nothing: the learner holds only memory."""

    def __str__(self) -> str:
        binary = isinstance(self._constant.loss, BinaryLoss)
        return "share of label 1" if binary else "mean of the labels"


class RunningQuantile:
    """Predicts the loss's quantile of the labels so far, and 0 for the first example.

    The quantile of level tau is the smallest label such that it and the smaller ones have at least
    tau of the weight. It is exact for up to 8192 different labels. With more, it is the quantile
    of the labels rounded towards 0, to as many significant bits as leave 8192 different ones.

    >>> from chacha import Quantile
    >>> from chacha.data import parse_line
    >>> learner = RunningQuantile(task_of(Quantile(0.9)))
    >>> for label in range(100):
    ...     learner.learn(parse_line(f"{label} |a x"))
    >>> learner.predict(parse_line("|b y")), learner.bits, str(learner)
    (89.0, 53, 'quantile:0.9 of the labels')
    """

    def __init__(self, task: Regression) -> None:
        assert task.level is not None
        self._task, self._level = task, task.level
        self.bits = DOUBLE_BITS
        """The significant bits of labels that are kept."""
        self._labels: list[float] = []  # sorted, different
        self._weights: dict[float, float] = {}
        self._weight = 0.0  # of all labels
        self._at = 0  # the index of the quantile
        self._below = 0.0  # the weight of the labels before it

    def predict(self, example: Example) -> float:
        """Return the quantile on the scale of the loss."""
        return self._task.raw(self._labels[self._at] if self._labels else 0.0)

    def learn(self, example: Example) -> None:
        """Count the label; one of weight 0 does not count."""
        assert example.label is not None
        if example.weight > 0.0:
            self._add(self._rounded(example.label), example.weight)

    def _add(self, label: float, weight: float) -> None:
        smaller = bool(self._labels) and label < self._labels[self._at]
        if label not in self._weights:
            self._labels.insert(bisect_left(self._labels, label), label)
            self._weights[label] = 0.0
            self._at += smaller
        self._weights[label] += weight
        self._weight += weight
        self._below += weight if smaller else 0.0
        if len(self._labels) > MOST_LABELS:
            self._merge()
        self._move()

    def _rounded(self, label: float) -> float:
        if self.bits == DOUBLE_BITS:
            return label
        mantissa, exponent = math.frexp(label)
        return math.ldexp(math.trunc(math.ldexp(mantissa, self.bits)), exponent - self.bits)

    def _merge(self) -> None:
        """Round the labels, which keeps their order, until there are few enough."""
        while len(self._weights) > MOST_LABELS:
            self.bits -= 1
            merged: dict[float, float] = {}
            for label in self._labels:
                rounded = self._rounded(label)
                merged[rounded] = merged.get(rounded, 0.0) + self._weights[label]
            self._labels, self._weights = list(merged), merged
        self._at, self._below = 0, 0.0

    def _move(self) -> None:
        """Move the index to the first label up to which there is enough weight."""
        labels, weights, enough = self._labels, self._weights, self._level * self._weight
        while self._at > 0 and self._below >= enough:
            self._at -= 1
            self._below -= weights[labels[self._at]]
        while self._at + 1 < len(labels) and self._below + weights[labels[self._at]] < enough:
            self._below += weights[labels[self._at]]
            self._at += 1

    def close(self) -> None:
        """Do nothing: the learner holds only memory."""

    def __str__(self) -> str:
        return f"{self._task.loss_function.name} of the labels"
