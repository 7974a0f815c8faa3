"""Losses: what is served, what is reported, and the bounded proxy that is evidence.

A learner predicts on its own scale (VW's margin, VW's log rate); `served` turns that
into what the user gets, `loss` is what is reported, unclipped, and `proxy` is what the
algorithm compares: bounded by `proxy_range`, from the label range [low, high] so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from chacha.config.config import Value
from chacha.errors import BadExample, ConfigError

__all__ = ["Hinge", "Logistic", "Loss", "Poisson", "Quantile", "Squared", "check_scale", "loss_of"]


class Loss(Protocol):
    """What a loss is to the algorithm and to the user.

    >>> loss: Loss = Squared()
    """

    @property
    def name(self) -> str:
        """The name on the command line and in reports."""

    @property
    def options(self) -> Mapping[str, Value]:
        """VW's options for it, empty for VW's default."""

    def label(self, y: float) -> float:
        """The label as the learner takes it; refuses what the loss cannot mean."""

    def served(self, raw: float) -> float:
        """The user's prediction from the learner's."""

    def loss(self, raw: float, y: float) -> float:
        """The reported loss, unclipped."""

    def residual(self, raw: float, y: float) -> float:
        """What a prediction left over: the downhill direction of the loss, on its own scale."""

    def proxy(self, raw: float, y: float, low: float, high: float) -> float:
        """The bounded loss that serves as evidence."""

    def proxy_range(self, low: float, high: float) -> float:
        """The most that `proxy` can be."""

    def metrics(self, raw: float, y: float) -> dict[str, float]:
        """What else is reported: one term of each mean."""


class _Regression:
    """Clipped absolute error as the proxy (the paper's appendix)."""

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
    """The pinball loss: the prediction is the `tau`-quantile.

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
        """tau·(y - ŷ) where y is above, (1 - tau)·(ŷ - y) where it is below."""
        return self.tau * (y - raw) if y >= raw else (1 - self.tau) * (raw - y)


@dataclass(frozen=True)
class Poisson(_Regression):
    """Counts: the learner predicts the log of the rate, the user gets the rate.

    >>> Poisson().served(0.0), Poisson().loss(0.0, 0.0)
    (1.0, 2.0)
    """

    name: ClassVar[str] = "poisson"
    options: ClassVar[Mapping[str, Value]] = {"loss_function": "poisson"}

    def label(self, y: float) -> float:
        """Counts are not negative."""
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
        """-1 or 1; 0 is read as -1."""
        if y not in (-1.0, 0.0, 1.0):
            message = f"the label is {y}; this loss needs labels -1 and 1 (or 0 and 1)"
            raise BadExample(message, "label refused")
        return 1.0 if y > 0 else -1.0


@dataclass(frozen=True)
class Logistic(_Classification):
    """Log loss: the learner predicts a margin, the user gets a probability.

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
        """The log loss, at most -log(floor)."""
        most = self.proxy_range(low, high)
        return most if math.isnan(raw) else min(self.loss(raw, y), most)

    def proxy_range(self, low: float, high: float) -> float:
        """-log(floor)."""
        return -math.log(self.floor)

    def metrics(self, raw: float, y: float) -> dict[str, float]:
        """Log loss and accuracy."""
        return {"log_loss": self.loss(raw, y), "accuracy": float((raw > 0) == (y > 0))}


@dataclass(frozen=True)
class Hinge(_Classification):
    """The hinge loss: the user gets the margin. The proxy is clipped at 2.

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
        """y as long as the margin is missed."""
        return y if y * raw < 1.0 else 0.0

    def proxy(self, raw: float, y: float, low: float, high: float) -> float:
        """The hinge loss, at most 2."""
        return 2.0 if math.isnan(raw) else min(self.loss(raw, y), 2.0)

    def proxy_range(self, low: float, high: float) -> float:
        """2."""
        return 2.0

    def metrics(self, raw: float, y: float) -> dict[str, float]:
        """Hinge loss and accuracy."""
        return {"hinge": self.loss(raw, y), "accuracy": float((raw > 0) == (y > 0))}


def loss_of(values: Mapping[str, Value]) -> Loss:
    """The loss that a model with these options of VW was trained for.

    >>> loss_of({"loss_function": "quantile", "quantile_tau": 0.9}), loss_of({})
    (Quantile(tau=0.9), Squared())
    """
    named: dict[str, Loss] = {"logistic": Logistic(), "poisson": Poisson(), "hinge": Hinge()}
    name = str(values.get("loss_function", "squared"))
    if name == "quantile":
        return Quantile(float(values.get("quantile_tau", 0.5)))
    return named.get(name, Squared())


SCALES = {"logistic": "a margin", "hinge": "a margin", "poisson": "a log rate"}


def check_scale(loss: Loss, trained: Iterable[Any]) -> None:
    """Refuse to train with a loss of VW whose predictions are not on the scale of `loss`.

    Training with VW's quantile loss while squared error is what counts is fine.

    >>> check_scale(Squared(), ["quantile"])
    >>> check_scale(Squared(), ["logistic"])
    Traceback (most recent call last):
    chacha.errors.ConfigError: with loss_function=logistic VW predicts a margin, with squared \
loss a value is wanted; leave loss_function out, or choose that loss: --loss logistic
    """
    wanted = SCALES.get(str(loss.options.get("loss_function")), "a value")
    for name in trained:
        scale = SCALES.get(str(name), "a value")
        if scale != wanted:
            raise ConfigError(
                f"with loss_function={name} VW predicts {scale}, with {loss.name} loss {wanted} "
                f"is wanted; leave loss_function out, or choose that loss: --loss {name}"
            )
