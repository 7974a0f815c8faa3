"""Losses: the prediction that is served, the loss that is reported, and its bounded proxy.

A learner predicts on its own scale, such as VW's margin or VW's log rate. `served` turns this into
the user's prediction. `loss` is the reported loss, unclipped. `proxy` is the loss that Algorithm 1
compares; `proxy_range` bounds it, given the label range [low, high] so far.

The class of a built-in loss declares all there is to know about it, and :data:`LOSSES` is the one
table of these classes: the command line, VW's options and model files, the pools and the drivers
ask it.

Twin: native/src/vw/losses.hpp
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from chacha.config.config import Value
from chacha.errors import BadExample, ConfigError

__all__ = [
    "LOSSES",
    "VALUE",
    "BinaryLoss",
    "EngineLoss",
    "Hinge",
    "Logistic",
    "Loss",
    "Poisson",
    "Quantile",
    "RegressionLoss",
    "Squared",
    "check_loss",
    "check_scale",
    "engine_loss",
    "first_label_bound",
    "gradient_power",
    "loss_forms",
    "loss_named",
    "loss_of",
    "loss_options",
]

VW_DEFAULT = "squared"
"""VW's loss function where none is given."""
VALUE = "a value"
"""What a learner predicts that is in the units of the label."""
LEAST_RATE = 1e-4
"""The smallest rate of which Poisson loss takes the logarithm."""


class Loss(Protocol):
    """The interface of a loss.

    >>> loss: Loss = Squared()
    """

    @property
    def name(self) -> str:
        """The name on the command line and in reports."""

    @property
    def options(self) -> Mapping[str, Value]:
        """VW's options for the loss; empty for VW's default."""

    def label(self, y: float) -> float:
        """Return the label in the learner's form; raise an error if the loss has no such label."""

    def served(self, raw: float) -> float:
        """Return the user's prediction for the learner's prediction `raw`."""

    def loss(self, raw: float, y: float) -> float:
        """Return the reported loss, unclipped."""

    def residual(self, raw: float, y: float) -> float:
        """Return the residual: the direction of descent of the loss, on the loss's own scale."""

    def proxy(self, raw: float, y: float, low: float, high: float) -> float:
        """Return the bounded loss that serves as evidence."""

    def proxy_range(self, low: float, high: float) -> float:
        """Return the largest value of `proxy`."""

    def metrics(self, raw: float, y: float) -> dict[str, float]:
        """Return the other reported metrics, one term of each mean."""


class _BuiltIn(ABC):
    """The declarations of a built-in loss. Its parameters are the fields of its dataclass.

    A parameter that VW has as well names VW's option in its metadata; on the command line it is
    written after a colon, as in `quantile:0.9`.
    """

    kind: ClassVar[str]
    """The name in VW, in the engine and on the command line."""
    scale: ClassVar[str] = VALUE
    """What the learner predicts."""
    first_label_bound: ClassVar[float] = 0.0
    """VW starts the range of the labels, to which it clips predictions, at ± this number."""
    gradient_power: ClassVar[int] = 1
    """The power of the unit of the labels in the gradient, where the learner predicts a value."""
    metric_names: ClassVar[tuple[str, str]]

    @classmethod
    def parameters(cls) -> Sequence[Field[Any]]:
        """Return the parameters."""
        return fields(cls) if is_dataclass(cls) else ()

    @classmethod
    def vw_parameters(cls) -> Mapping[str, Field[Any]]:
        """Return the parameters that VW has as well, by VW's option."""
        return {f.metadata["option"]: f for f in cls.parameters() if "option" in f.metadata}

    @property
    def name(self) -> str:
        """The name on the command line and in reports, with its parameter."""
        values = [f"{getattr(self, f.name):g}" for f in self.vw_parameters().values()]
        return ":".join([self.kind, *values])

    @property
    def options(self) -> Mapping[str, Value]:
        """VW's options for the loss; empty for VW's default."""
        if self.kind == VW_DEFAULT:
            return {}
        values = {option: getattr(self, f.name) for option, f in self.vw_parameters().items()}
        return {"loss_function": self.kind, **values}

    @abstractmethod
    def loss(self, raw: float, y: float) -> float:
        """Return the reported loss, unclipped."""


class RegressionLoss(_BuiltIn):
    """A built-in loss for labels that are numbers.

    The proxy is the clipped absolute error (the paper's appendix).

    >>> isinstance(Poisson(), RegressionLoss)
    True
    """

    metric_names = ("mae", "mse")

    def label(self, y: float) -> float:
        """Return the label as it is."""
        return y

    def served(self, raw: float) -> float:
        """Return the learner's prediction as it is."""
        return raw

    def raw(self, value: float) -> float:
        """Return the prediction on the learner's scale that stands for `value`.

        For learners that know nothing of the loss.
        """
        return value

    @property
    def level(self) -> float | None:
        """The level of the quantile that is the best constant prediction; None if the mean is."""
        return None

    def residual(self, raw: float, y: float) -> float:
        """Return the label less the prediction."""
        return y - self.served(raw)

    def proxy(self, raw: float, y: float, low: float, high: float) -> float:
        """Return the absolute error of the prediction, clipped to the range of the labels."""
        p = self.served(raw)
        if math.isnan(p):
            return high - low
        return abs(min(max(low, p), high) - y)

    def proxy_range(self, low: float, high: float) -> float:
        """Return the range of the labels."""
        return high - low

    def metrics(self, raw: float, y: float) -> dict[str, float]:
        """Return the absolute and the squared error."""
        error = self.served(raw) - y
        first, second = self.metric_names
        return {first: abs(error), second: error * error}


@dataclass(frozen=True)
class Squared(RegressionLoss):
    """Squared error, VW's default.

    >>> Squared().loss(1.0, 3.0), Squared().proxy(9.0, 3.0, low=0.0, high=4.0)
    (4.0, 1.0)
    """

    kind = "squared"

    def loss(self, raw: float, y: float) -> float:
        """(ŷ - y)²."""
        error = raw - y
        return error * error


@dataclass(frozen=True)
class Quantile(RegressionLoss):
    """The pinball loss; the prediction is the `tau`-quantile.

    >>> Quantile(0.9).loss(1.0, 3.0), Quantile(0.9).name
    (1.8, 'quantile:0.9')
    """

    kind = "quantile"
    gradient_power = 0
    tau: float = field(
        default=0.5, metadata={"option": "quantile_tau", "rule": "a number between 0 and 1"}
    )

    def __post_init__(self) -> None:
        if not 0 < self.tau < 1:
            raise ConfigError(f"tau must lie between 0 and 1, got {self.tau}")

    @property
    def level(self) -> float:
        """tau."""
        return self.tau

    def loss(self, raw: float, y: float) -> float:
        """tau·(y - ŷ) if y is above ŷ, else (1 - tau)·(ŷ - y)."""
        return self.tau * (y - raw) if y >= raw else (1 - self.tau) * (raw - y)


@dataclass(frozen=True)
class Poisson(RegressionLoss):
    """Poisson loss for counts; the learner predicts the log of the rate, the user gets the rate.

    >>> Poisson().served(0.0), Poisson().loss(0.0, 0.0)
    (1.0, 2.0)
    """

    kind = "poisson"
    scale = "a log rate"
    first_label_bound = 50.0

    def label(self, y: float) -> float:
        """Return the label; counts are not negative."""
        if y < 0:
            message = f"the label is {y}; poisson loss needs labels of at least 0"
            raise BadExample(message, "label refused")
        return y

    def served(self, raw: float) -> float:
        """The rate."""
        return math.exp(min(raw, 700.0))

    def raw(self, value: float) -> float:
        """Return the logarithm of a rate, which counts as at least :data:`LEAST_RATE`."""
        return math.log(max(value, LEAST_RATE))

    def loss(self, raw: float, y: float) -> float:
        """The deviance 2·(y·log(y/rate) - y + rate)."""
        return 2.0 * ((y * (math.log(y) - raw) if y > 0 else 0.0) - y + self.served(raw))


class BinaryLoss(_BuiltIn):
    """A built-in loss for two classes, whose labels are -1 and 1.

    >>> isinstance(Logistic(), BinaryLoss), Logistic().label(0.0)
    (True, -1.0)
    """

    scale = "a margin"

    def label(self, y: float) -> float:
        """Return the label, -1 or 1; 0 is read as -1."""
        if y not in (-1.0, 0.0, 1.0):
            message = f"the label is {y}; this loss needs labels -1 and 1 (or 0 and 1)"
            raise BadExample(message, "label refused")
        return 1.0 if y > 0 else -1.0

    @abstractmethod
    def served(self, raw: float) -> float:
        """Return the user's prediction for the margin."""

    @abstractmethod
    def raw(self, p: float) -> float:
        """Return the margin that stands for a probability `p` of label 1.

        For learners that know nothing of the loss.
        """

    def constant(self, positive: float, negative: float) -> float:
        """Return the best constant margin if labels 1 and -1 have these weights, both above 0."""
        return self.raw(positive / (positive + negative))

    @abstractmethod
    def residual(self, raw: float, y: float) -> float:
        """Return the residual, on the scale of the margin."""

    @abstractmethod
    def proxy_range(self, low: float, high: float) -> float:
        """Return the largest value of `proxy`."""

    def proxy(self, raw: float, y: float, low: float, high: float) -> float:
        """Return the loss, clipped at its range."""
        limit = self.proxy_range(low, high)
        return limit if math.isnan(raw) else min(self.loss(raw, y), limit)

    def metrics(self, raw: float, y: float) -> dict[str, float]:
        """Return the loss and the accuracy."""
        first, second = self.metric_names
        return {first: self.loss(raw, y), second: float((raw > 0) == (y > 0))}


@dataclass(frozen=True)
class Logistic(BinaryLoss):
    """Log loss; the learner predicts a margin, the user gets a probability.

    The proxy is clipped at -log(floor).

    >>> Logistic().served(0.0), round(Logistic().loss(0.0, 1.0), 4)
    (0.5, 0.6931)
    """

    kind = "logistic"
    first_label_bound = 50.0
    metric_names = ("log_loss", "accuracy")
    floor: float = 1e-4

    def served(self, raw: float) -> float:
        """The probability of label 1."""
        if raw >= 0:
            return 1.0 / (1.0 + math.exp(-min(raw, 700.0)))
        e = math.exp(max(raw, -700.0))
        return e / (1.0 + e)

    def raw(self, p: float) -> float:
        """Return the log odds of a probability, first moved `floor` away from 0 and 1.

        Trees often predict exactly 0 or 1.
        """
        p = min(max(p, self.floor), 1.0 - self.floor)
        return math.log(p / (1.0 - p))

    def constant(self, positive: float, negative: float) -> float:
        """Return the log odds; no `floor` is needed."""
        return math.log(positive / negative)

    def loss(self, raw: float, y: float) -> float:
        """log(1 + exp(-y·margin))."""
        z = -y * raw
        return z + math.log1p(math.exp(-z)) if z > 0 else math.log1p(math.exp(z))

    def residual(self, raw: float, y: float) -> float:
        """y times the probability of the other label."""
        return y * self.served(-y * raw)

    def proxy_range(self, low: float, high: float) -> float:
        """Return -log(floor)."""
        return -math.log(self.floor)


@dataclass(frozen=True)
class Hinge(BinaryLoss):
    """The hinge loss; the user gets the margin. The proxy is clipped at 2.

    >>> Hinge().loss(0.25, 1.0)
    0.75
    """

    kind = "hinge"
    metric_names = ("hinge", "accuracy")

    def served(self, raw: float) -> float:
        """The margin."""
        return raw

    def raw(self, p: float) -> float:
        """Return 2p - 1."""
        return 2.0 * p - 1.0

    def constant(self, positive: float, negative: float) -> float:
        """Return the label of more weight; 0 if both have the same."""
        return float(positive > negative) - float(positive < negative)

    def loss(self, raw: float, y: float) -> float:
        """max(0, 1 - y·margin)."""
        return max(0.0, 1.0 - y * raw)

    def residual(self, raw: float, y: float) -> float:
        """y if the margin is below 1, else 0."""
        return y if y * raw < 1.0 else 0.0

    def proxy_range(self, low: float, high: float) -> float:
        """Return 2."""
        return 2.0


BuiltIn = RegressionLoss | BinaryLoss
LOSSES: Mapping[str, type[BuiltIn]] = {
    loss.kind: loss for loss in (Squared, Logistic, Quantile, Poisson, Hinge)
}
"""The built-in losses by the name of VW's `loss_function`."""


def loss_forms() -> list[str]:
    """Return how the losses are written on the command line.

    >>> loss_forms()
    ['squared', 'logistic', 'quantile:TAU', 'poisson', 'hinge']
    """
    return [_form(loss) for loss in LOSSES.values()]


def _form(loss: type[BuiltIn]) -> str:
    return ":".join([loss.kind, *(f.name.upper() for f in loss.vw_parameters().values())])


def loss_named(text: str) -> Loss:
    """Return the loss of a name on the command line, the inverse of `name`.

    >>> loss_named("quantile:0.9"), loss_named("quantile"), loss_named("hinge").name
    (Quantile(tau=0.9), Quantile(tau=0.5), 'hinge')
    """
    kind, *words = text.split(":")
    loss = LOSSES.get(kind)
    if loss is None or (words and not loss.vw_parameters()):
        raise ConfigError(f"there is no loss {text!r}; choose from {', '.join(loss_forms())}")
    parameters = [*loss.vw_parameters().values()]
    try:
        values = [float(word) for word in words]
        return loss(**{f.name: v for f, v in zip(parameters, values, strict=bool(words))})
    except ValueError as error:
        rules = " and ".join(f.metadata["rule"] for f in parameters)
        raise ConfigError(f"{_form(loss)} needs {rules}, got {text}") from error


def loss_of(values: Mapping[str, Value]) -> Loss:
    """Return the loss that a model with these options of VW was trained for.

    >>> loss_of({"loss_function": "quantile", "quantile_tau": 0.9}), loss_of({})
    (Quantile(tau=0.9), Squared())
    """
    loss = LOSSES.get(str(values.get("loss_function", VW_DEFAULT)), Squared)
    parameters = loss.vw_parameters().items()
    return loss(**{f.name: float(values[option]) for option, f in parameters if option in values})


def loss_options() -> dict[str, float]:
    """Return VW's options for the parameters of the losses, with their defaults.

    >>> loss_options()
    {'quantile_tau': 0.5}
    """
    return {
        option: getattr(loss(), f.name)
        for loss in LOSSES.values()
        for option, f in loss.vw_parameters().items()
    }


def first_label_bound(loss_function: Any) -> float:
    """Return the number at ± which VW starts the range of the labels for a loss function.

    >>> first_label_bound("logistic"), first_label_bound(None)
    (50.0, 0.0)
    """
    return LOSSES.get(str(loss_function), _BuiltIn).first_label_bound


def gradient_power(loss_function: Any) -> int | None:
    """Return the power of the unit of the labels in the gradient of one of VW's loss functions.

    None if labels have no unit.

    >>> [gradient_power(name) for name in (None, "expectile", "quantile", "logistic")]
    [1, 1, 0, None]
    """
    loss = LOSSES.get(str(loss_function), _BuiltIn)
    return loss.gradient_power if loss.scale == VALUE else None


class EngineLoss(NamedTuple):
    """A loss as the native engine takes it: its name there, and its parameters."""

    name: str
    parameters: list[tuple[str, float]]


def engine_loss(loss: Loss) -> EngineLoss | None:
    """Return a loss for the native engine; None if the engine does not implement it.

    The engine implements the built-in classes only: a subclass may override any method.

    >>> engine_loss(Quantile(0.9))
    EngineLoss(name='quantile', parameters=[('tau', 0.9)])
    >>> class Huber(Squared): ...
    >>> print(engine_loss(Huber()))
    None
    """
    for kind, built_in in LOSSES.items():
        if type(loss) is built_in:
            return EngineLoss(
                kind, [(f.name, getattr(loss, f.name)) for f in built_in.parameters()]
            )
    return None


def check_loss(loss: object) -> None:
    """Raise an error for what is not a loss, such as a name or a class instead of an object.

    >>> check_loss(Squared)
    Traceback (most recent call last):
    chacha.errors.ConfigError: loss must be an object such as Squared() or Logistic(), \
got <class 'chacha.losses.Squared'>
    """
    if isinstance(loss, type) or not hasattr(loss, "proxy"):
        advice = "an object such as Squared() or Logistic()"
        raise ConfigError(f"loss must be {advice}, got {loss!r}")


def _scale(loss_function: Any) -> str:
    """Return the scale on which VW predicts with a loss function."""
    return LOSSES.get(str(loss_function), _BuiltIn).scale


def check_scale(loss: Loss, trained: Iterable[Any]) -> None:
    """Raise an error if a VW loss in `trained` predicts on another scale than `loss`.

    Training with VW's quantile loss while squared error is reported is allowed.

    >>> check_scale(Squared(), ["quantile"])
    >>> check_scale(Squared(), ["logistic"])
    Traceback (most recent call last):
    chacha.errors.ConfigError: with loss_function=logistic VW predicts a margin, but squared loss \
needs a value; leave loss_function out, or choose that loss: --loss logistic
    """
    needed = _scale(loss.options.get("loss_function"))
    for name in trained:
        scale = _scale(name)
        if scale != needed:
            raise ConfigError(
                f"with loss_function={name} VW predicts {scale}, but {loss.name} loss needs "
                f"{needed}; leave loss_function out, or choose that loss: --loss {name}"
            )
