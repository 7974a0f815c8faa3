"""Tasks: what labels are, what is predicted, and which losses the rules see, in one object.

A task reads labels, turns a learner's raw prediction into the user's, and computes losses. Users
choose a loss, and :func:`task_of` returns its task. The mathematics are the loss's.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from chacha.data.example import finite
from chacha.losses import BinaryLoss, Loss, RegressionLoss

__all__ = ["Binary", "ExampleLosses", "Regression", "Task", "task_of"]

Model = TypeVar("Model", bound=Hashable)


@dataclass(frozen=True, slots=True)
class ExampleLosses(Generic[Model]):
    """The losses on one example that the rules see, unweighted and unclipped.

    `models` has the loss of every model that predicted the example. `halfway` has the loss of the
    mean of the champion's prediction and a challenger's, and `distance` how far the challenger's
    prediction is from the champion's. `served` is the loss of the served prediction, and
    `residual` the champion's residual.

    >>> from chacha.losses import Squared
    >>> losses = task_of(Squared()).losses({"c": 1.0, "d": 3.0}, "c", served=2.0, y=3.0)
    >>> losses.models, losses.halfway, losses.distance
    ({'c': 4.0, 'd': 0.0}, {'d': 1.0}, {'d': 2.0})
    >>> losses.served, losses.residual
    (1.0, 2.0)
    """

    models: Mapping[Model, float]
    halfway: Mapping[Model, float]
    distance: Mapping[Model, float]
    served: float
    residual: float


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

    def losses(
        self, raw: Mapping[Model, float], champion: Model, served: float, y: float
    ) -> ExampleLosses[Model]:
        """Return the losses that the rules see.

        `raw` has the raw predictions by model, the champion's among them; `served` is the raw
        prediction that was served.
        """
        loss, of_champion = self.loss_function.loss, raw[champion]
        distance = {model: p - of_champion for model, p in raw.items() if model != champion}
        return ExampleLosses(
            {model: loss(p, y) for model, p in raw.items()},
            {model: loss(of_champion + 0.5 * far, y) for model, far in distance.items()},
            distance,
            loss(served, y),
            self.loss_function.residual(of_champion, y),
        )


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
