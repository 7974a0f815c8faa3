"""Tasks: what labels are, what is predicted, and which losses the rules see, in one object.

A task reads labels, turns a learner's raw prediction into the user's, and computes losses. Users
choose a loss, and :func:`task_of` returns its task. The loss implements the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from chacha.config.config import Config
from chacha.data.example import finite
from chacha.losses import VALUE, BinaryLoss, Loss, RegressionLoss
from chacha.rules.stream_facts import ScoredExample

__all__ = ["Binary", "Regression", "Task", "task_of"]


@dataclass(frozen=True)
class Task:
    """A task: a label and raw predictions go in, predictions and losses come out.

    `raw` is a prediction on the learner's scale, one number for the tasks so far.

    >>> from chacha.losses import Logistic
    >>> task = task_of(Logistic())
    >>> task.name, task.label("0"), task.prediction(0.0), round(task.loss(0.0, -1.0), 4)
    ('binary', -1.0, 0.5, 0.6931)
    """

    loss_function: Loss
    name: ClassVar[str]

    @property
    def has_scale(self) -> bool:
        """Whether labels have a unit and a zero that do not matter.

        >>> from chacha.losses import Poisson, Squared
        >>> task_of(Squared()).has_scale, task_of(Poisson()).has_scale
        (True, False)
        """
        return getattr(self.loss_function, "scale", "") == VALUE

    @property
    def loss_power(self) -> int:
        """The power of the error that the loss grows with; 2 if that is not known.

        >>> from chacha.losses import Quantile, Squared
        >>> task_of(Squared()).loss_power, task_of(Quantile()).loss_power
        (2, 1)
        """
        return 1 + int(getattr(self.loss_function, "gradient_power", 1))

    def label(self, y: Any) -> float:
        """Return the label in the learner's form.

        Raise :class:`~chacha.errors.BadExample`, with the reason, for what is not a finite number
        or not a label of this task.
        """
        return self.learner_label(finite(y, "label"))

    def learner_label(self, y: float) -> float:
        """Return a finite number as a label in the learner's form, as `label` does."""
        return self.loss_function.label(y)

    def prediction(self, raw: float) -> float:
        """Return the user's prediction."""
        return self.loss_function.served(raw)

    def loss(self, raw: float, y: float) -> float:
        """Return the reported loss, unclipped."""
        return self.loss_function.loss(raw, y)

    def proxy(self, raw: float, y: float, low: float, high: float) -> float:
        """Return the bounded loss that the paper's tests compare, for labels in [low, high]."""
        return self.loss_function.proxy(raw, y, low, high)

    def proxy_range(self, low: float, high: float) -> float:
        """Return the largest value of `proxy`."""
        return self.loss_function.proxy_range(low, high)

    def residual(self, raw: float, y: float) -> float:
        """Return the direction of descent of the loss, which the screen learns."""
        return self.loss_function.residual(raw, y)

    def metrics(self, raw: float, y: float) -> dict[str, float]:
        """Return the other reported metrics, one term of each mean."""
        return self.loss_function.metrics(raw, y)

    def score(
        self,
        raw: Mapping[Config, float],
        champion: Config,
        served: float,
        y: float,
        weight: float,
        step_loss: float = math.nan,
    ) -> ScoredExample:
        """Return the losses that the recommended rules see.

        `raw` has the raw predictions of the models that are charged, and `served` is the raw
        prediction that was served. `step_loss` is passed on.

        >>> from chacha.losses import Squared
        >>> raw = {Config(): 1.0, Config(["ab"]): 3.0}
        >>> scored = task_of(Squared()).score(raw, Config(), served=2.0, y=3.0, weight=1.0)
        >>> list(scored.losses.values()), scored.served_loss
        ([4.0, 0.0], 1.0)
        >>> scored.halves[Config(["ab"])], scored.distances[Config(["ab"])]
        (1.0, 2.0)
        """
        loss, first = self.loss_function.loss, raw.get(champion)
        losses: dict[Config, float] = {}
        halves: dict[Config, float] = {}
        distances: dict[Config, float] = {}
        for c, p in raw.items():
            losses[c] = loss(p, y)
            if first is not None and c is not champion and c != champion:
                distances[c] = distance = p - first
                halves[c] = loss(first + 0.5 * distance, y)
        return ScoredExample(losses, loss(served, y), weight, {}, halves, distances, step_loss)

    def score_bounded(
        self, raw: Mapping[Config, float], y: float, weight: float, low: float, high: float
    ) -> ScoredExample:
        """Return the bounded losses that the paper's rules see, for labels in [low, high].

        >>> from chacha.losses import Squared
        >>> scored = task_of(Squared()).score_bounded({Config(): 9.0}, 3.0, 1.0, 0.0, 4.0)
        >>> scored.bounded[Config()]
        1.0
        """
        proxy = self.loss_function.proxy
        return ScoredExample({}, 0.0, weight, {c: proxy(p, y, low, high) for c, p in raw.items()})


@dataclass(frozen=True)
class Regression(Task):
    """Labels and predictions are numbers.

    >>> from chacha.losses import Poisson
    >>> Regression(Poisson()).raw(1.0)
    0.0
    """

    name = "regression"

    def raw(self, value: float) -> float:
        """Return the raw prediction of an estimate that a learner without this loss made."""
        loss = self.loss_function
        return loss.raw(value) if isinstance(loss, RegressionLoss) else value

    @property
    def level(self) -> float | None:
        """The level of the quantile that is the best constant prediction; None if the mean is."""
        loss = self.loss_function
        return loss.level if isinstance(loss, RegressionLoss) else None


@dataclass(frozen=True)
class Binary(Task):
    """Labels are two classes, -1 and 1; predictions are what the loss serves.

    >>> from chacha.losses import Hinge
    >>> Binary(Hinge()).raw(0.75)
    0.5
    """

    loss_function: BinaryLoss
    name = "binary"

    def raw(self, p: float) -> float:
        """Return the raw prediction for a probability of label 1 that another learner gave."""
        return self.loss_function.raw(p)


def task_of(loss: Loss) -> Regression | Binary:
    """Return the task of a loss: two classes for a :class:`BinaryLoss`, else regression.

    >>> from chacha.losses import Logistic, Squared
    >>> task_of(Squared())
    Regression(loss_function=Squared())
    >>> task_of(Logistic()) == Binary(Logistic())
    True
    """
    return Binary(loss) if isinstance(loss, BinaryLoss) else Regression(loss)
