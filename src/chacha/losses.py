"""Losses: the prediction that is served, the loss that is reported, and its bounded proxy.

A learner predicts on its own scale, such as VW's margin or VW's log rate. `served` turns this into
the user's prediction. `loss` is the reported loss, unclipped. `proxy` is the loss that Algorithm 1
compares; `proxy_range` bounds it, given the label range [low, high] so far.

Twin: native/src/rules/served_loss.hpp
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from chacha.config.config import Value
from chacha.errors import BadExample, ConfigError

__all__ = [
    "LOSSES",
    "Hinge",
    "Logistic",
    "Loss",
    "Poisson",
    "Quantile",
    "Squared",
    "check_scale",
    "loss_of",
]


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


class _Regression:
    """Regression: the proxy is the clipped absolute error (the paper's appendix)."""

    options: ClassVar[Mapping[str, Value]] = {}

    def label(self, y: float) -> float:
        return y

    def served(self, raw: float) -> float:
        return raw

    def residual(self, raw: float, y: float) -> float:
        return y - self.served(raw)

    def proxy(self, raw: float, y: float, low: float, high: float) -> float:
        p = self.served(raw)
        if math.isnan(p):
            return high - low
        return abs(min(max(low, p), high) - y)

    def proxy_range(self, low: float, high: float) -> float:
        return high - low

    def metrics(self, raw: float, y: float) -> dict[str, float]:
        error = self.served(raw) - y
        return {"mae": abs(error), "mse": error * error}


@dataclass(frozen=True)
class Squared(_Regression):
    """Squared error, VW's default.

    >>> Squared().loss(1.0, 3.0), Squared().proxy(9.0, 3.0, low=0.0, high=4.0)
    (4.0, 1.0)
    """

    name: ClassVar[str] = "squared"

    def loss(self, raw: float, y: float) -> float:
        """(ŷ - y)²."""
        error = raw - y
        return error * error


@dataclass(frozen=True)
class Quantile(_Regression):
    """The pinball loss; the prediction is the `tau`-quantile.

    >>> Quantile(0.9).loss(1.0, 3.0)
    1.8
    """

    tau: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.tau < 1:
            raise ConfigError(f"tau must lie between 0 and 1, got {self.tau}")

    @property
    def name(self) -> str:
        """`quantile:TAU`."""
        return f"quantile:{self.tau:g}"

    @property
    def options(self) -> Mapping[str, Value]:  # type: ignore[override]
        """VW's options."""
        return {"loss_function": "quantile", "quantile_tau": self.tau}

    def loss(self, raw: float, y: float) -> float:
        """tau·(y - ŷ) if y is above ŷ, else (1 - tau)·(ŷ - y)."""
        return self.tau * (y - raw) if y >= raw else (1 - self.tau) * (raw - y)


@dataclass(frozen=True)
class Poisson(_Regression):
    """Poisson loss for counts; the learner predicts the log of the rate, the user gets the rate.

    >>> Poisson().served(0.0), Poisson().loss(0.0, 0.0)
    (1.0, 2.0)
    """

    name: ClassVar[str] = "poisson"
    options: ClassVar[Mapping[str, Value]] = {"loss_function": "poisson"}

    def label(self, y: float) -> float:
        """Return the label; counts are not negative."""
        if y < 0:
            message = f"the label is {y}; poisson loss needs labels of at least 0"
            raise BadExample(message, "label refused")
        return y

    def served(self, raw: float) -> float:
        """The rate."""
        return math.exp(min(raw, 700.0))

    def loss(self, raw: float, y: float) -> float:
        """The deviance 2·(y·log(y/rate) - y + rate)."""
        return 2.0 * ((y * (math.log(y) - raw) if y > 0 else 0.0) - y + self.served(raw))


class _Classification:
    def label(self, y: float) -> float:
        """Return the label, -1 or 1; 0 is read as -1."""
        if y not in (-1.0, 0.0, 1.0):
            message = f"the label is {y}; this loss needs labels -1 and 1 (or 0 and 1)"
            raise BadExample(message, "label refused")
        return 1.0 if y > 0 else -1.0


@dataclass(frozen=True)
class Logistic(_Classification):
    """Log loss; the learner predicts a margin, the user gets a probability.

    >>> Logistic().served(0.0), round(Logistic().loss(0.0, 1.0), 4)
    (0.5, 0.6931)
    """

    name: ClassVar[str] = "logistic"
    options: ClassVar[Mapping[str, Value]] = {"loss_function": "logistic"}
    floor: float = 1e-4

    def served(self, raw: float) -> float:
        """The probability of label 1."""
        if raw >= 0:
            return 1.0 / (1.0 + math.exp(-min(raw, 700.0)))
        e = math.exp(max(raw, -700.0))
        return e / (1.0 + e)

    def loss(self, raw: float, y: float) -> float:
        """log(1 + exp(-y·margin))."""
        z = -y * raw
        return z + math.log1p(math.exp(-z)) if z > 0 else math.log1p(math.exp(z))

    def residual(self, raw: float, y: float) -> float:
        """y times the probability of the other label."""
        return y * self.served(-y * raw)

    def proxy(self, raw: float, y: float, low: float, high: float) -> float:
        """The log loss, clipped at -log(floor)."""
        limit = self.proxy_range(low, high)
        return limit if math.isnan(raw) else min(self.loss(raw, y), limit)

    def proxy_range(self, low: float, high: float) -> float:
        """Return -log(floor)."""
        return -math.log(self.floor)

    def metrics(self, raw: float, y: float) -> dict[str, float]:
        """Log loss and accuracy."""
        return {"log_loss": self.loss(raw, y), "accuracy": float((raw > 0) == (y > 0))}


@dataclass(frozen=True)
class Hinge(_Classification):
    """The hinge loss; the user gets the margin. The proxy is clipped at 2.

    >>> Hinge().loss(0.25, 1.0)
    0.75
    """

    name: ClassVar[str] = "hinge"
    options: ClassVar[Mapping[str, Value]] = {"loss_function": "hinge"}

    def served(self, raw: float) -> float:
        """The margin."""
        return raw

    def loss(self, raw: float, y: float) -> float:
        """max(0, 1 - y·margin)."""
        return max(0.0, 1.0 - y * raw)

    def residual(self, raw: float, y: float) -> float:
        """y if the margin is below 1, else 0."""
        return y if y * raw < 1.0 else 0.0

    def proxy(self, raw: float, y: float, low: float, high: float) -> float:
        """The hinge loss, clipped at 2."""
        return 2.0 if math.isnan(raw) else min(self.loss(raw, y), 2.0)

    def proxy_range(self, low: float, high: float) -> float:
        """Return 2."""
        return 2.0

    def metrics(self, raw: float, y: float) -> dict[str, float]:
        """Hinge loss and accuracy."""
        return {"hinge": self.loss(raw, y), "accuracy": float((raw > 0) == (y > 0))}


LOSSES: Mapping[str, type[Loss]] = {
    "squared": Squared,
    "logistic": Logistic,
    "quantile": Quantile,
    "poisson": Poisson,
    "hinge": Hinge,
}
"""The losses by the name of VW's `loss_function`."""


def loss_of(values: Mapping[str, Value]) -> Loss:
    """Return the loss that a model with these options of VW was trained for.

    >>> loss_of({"loss_function": "quantile", "quantile_tau": 0.9}), loss_of({})
    (Quantile(tau=0.9), Squared())
    """
    name = str(values.get("loss_function", "squared"))
    if name == "quantile":
        return Quantile(float(values.get("quantile_tau", 0.5)))
    return LOSSES.get(name, Squared)()


SCALES = {"logistic": "a margin", "hinge": "a margin", "poisson": "a log rate"}


def check_scale(loss: Loss, trained: Iterable[Any]) -> None:
    """Raise an error if a VW loss in `trained` predicts on another scale than `loss`.

    Training with VW's quantile loss while squared error is reported is allowed.

    >>> check_scale(Squared(), ["quantile"])
    >>> check_scale(Squared(), ["logistic"])
    Traceback (most recent call last):
    chacha.errors.ConfigError: with loss_function=logistic VW predicts a margin, but squared loss \
needs a value; leave loss_function out, or choose that loss: --loss logistic
    """
    needed = SCALES.get(str(loss.options.get("loss_function")), "a value")
    for name in trained:
        scale = SCALES.get(str(name), "a value")
        if scale != needed:
            raise ConfigError(
                f"with loss_function={name} VW predicts {scale}, but {loss.name} loss needs "
                f"{needed}; leave loss_function out, or choose that loss: --loss {name}"
            )
