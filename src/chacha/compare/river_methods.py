"""River's regressors and classifiers beside ours: `river:NAME` is StandardScaler | NAME()."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from importlib import import_module
from inspect import Parameter, isabstract, isclass, signature
from pkgutil import iter_modules
from typing import Any, NamedTuple

from chacha.data.example import Example
from chacha.errors import ConfigError, MissingExtra
from chacha.losses import Hinge, Logistic, Loss, Poisson

__all__ = ["PREFIX", "RiverClass", "RiverLearner", "about_river", "find_river"]

PREFIX = "river:"
LEAST_RATE = 1e-4
"""With poisson loss a lower prediction counts as this rate: the loss takes its logarithm."""


class RiverClass(NamedTuple):
    """A regressor or a classifier of River that can be made without arguments.

    `path` names module and class; `version` is River's. With `seeded` it takes a seed, with
    `weighs` it learns importance weights. A classifier that is not `unsure` gives classes only.
    """

    path: str
    made: Callable[..., Any]
    regresses: bool
    classifies: bool
    seeded: bool
    weighs: bool
    unsure: bool
    version: str


def about_river(name: str) -> str:
    """What a method `river:NAME` is, in words.

    >>> about_river("river:LinearRegression")
    "River's LinearRegression, its inputs scaled by River's StandardScaler"
    """
    return f"River's {name.removeprefix(PREFIX)}, its inputs scaled by River's StandardScaler"


def find_river(name: str) -> RiverClass:
    """The class that `river:NAME` means, searched in River's public modules.

    >>> found = find_river("river:HoeffdingTreeRegressor")
    >>> found.path, found.regresses, found.seeded, found.weighs
    ('tree.HoeffdingTreeRegressor', True, False, True)
    >>> find_river("river:tree.HoeffdingTreeRegressor") == found
    True
    """
    river = _river("river")
    module, _, wanted = name.removeprefix(PREFIX).rpartition(".")
    for path, cls in _classes(river, module):
        if cls.__name__ == wanted:
            return _checked(name, path, cls, river.__version__)
    raise _unknown(name, wanted, river)


def _river(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra.of("river", "river") from error


def _classes(river: Any, only: str = "") -> Iterator[tuple[str, type]]:
    """The classes of River's public modules, or of one, each with its path."""
    for found in iter_modules(river.__path__):
        if found.name.startswith("_") or only not in ("", found.name):
            continue
        try:
            module = import_module(f"river.{found.name}")
        except ImportError:  # it needs a library of its own
            continue
        for name in getattr(module, "__all__", ()):
            cls = getattr(module, name, None)
            if isclass(cls):
                yield f"{found.name}.{name}", cls


def _kinds(cls: type) -> tuple[bool, bool]:
    """Whether it is a regressor, and whether a classifier, of one target."""
    base = _river("river.base")
    if issubclass(cls, base.MultiTargetRegressor):
        return False, False
    return issubclass(cls, base.Regressor), issubclass(cls, base.Classifier)


def _needed(cls: type) -> list[str]:
    """The arguments without which it cannot be made."""
    optional = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    found = signature(cls).parameters.values()
    return [p.name for p in found if p.default is Parameter.empty and p.kind not in optional]


def _checked(name: str, path: str, cls: Any, version: str) -> RiverClass:
    regresses, classifies = _kinds(cls)
    if not (regresses or classifies) or isabstract(cls):
        told = "is neither a regressor nor a classifier of one target"
        raise ConfigError(f"{name}: river.{path} {told}")
    if needed := _needed(cls):
        raise ConfigError(
            f"{name}: river.{path} cannot be made without arguments ({', '.join(needed)}); "
            "in Python a Method of your own can give them"
        )
    seeded = "seed" in signature(cls).parameters
    weighs = "w" in signature(cls.learn_one).parameters
    no_odds = _river("river.base").Classifier.predict_proba_one  # it raises; others have their own
    unsure = classifies and cls.predict_proba_one is not no_odds
    return RiverClass(path, cls, regresses, classifies, seeded, weighs, unsure, version)


def _unknown(name: str, wanted: str, river: Any) -> ConfigError:
    """The error for a name that is not there: what is near it, and where was looked."""
    usable = [
        path
        for path, cls in _classes(river)
        if any(_kinds(cls)) and not isabstract(cls) and not _needed(cls)
    ]
    names = {path.partition(".")[2].lower(): path.partition(".")[2] for path in usable}
    near = [names[match] for match in get_close_matches(wanted.lower(), names, n=4, cutoff=0.5)]
    modules = ", ".join(sorted({path.partition(".")[0] for path in usable}))
    return ConfigError(
        f"{name}: River {river.__version__} has no such class"
        f"{'; near it: ' + ', '.join(near) if near else ''}; all its public modules are searched, "
        f"regressors and classifiers are in {modules}"
    )


def _odds(p: float, floor: float) -> float:
    """The margin of a probability. Trees are often sure, so p stays `floor` away from 0 and 1."""
    p = min(max(p, floor), 1.0 - floor)
    return math.log(p / (1.0 - p))


class RiverLearner:
    """StandardScaler | NAME() on our examples; its predictions on the scale of the loss.

    A feature's key is `group^name`. All that were seen before and are not in an example are 0.0,
    as examples leave out what is 0. A feature that stands there twice is added up, as in VW.

    Regressors give values, with poisson loss rates. Classifiers learn False and True. Of the
    probability p of True logistic loss takes the log odds, p at least the loss's `floor` from 0
    and 1, and hinge loss 2p - 1; of what gives classes only, p is 0 or 1. What is not finite, or
    None, counts as 0.0, or as p = 1/2.

    >>> from chacha import Squared
    >>> from chacha.data import parse_line
    >>> learner = RiverLearner("river:dummy.PriorClassifier", Logistic(), seed=0)
    >>> for line in ("1 |a x", "1 |a x", "-1 |a x"):
    ...     learner.learn(parse_line(line))
    >>> round(Logistic().served(learner.predict(parse_line("|a x"))), 2)
    0.67
    >>> str(learner)
    'StandardScaler | PriorClassifier'
    >>> RiverLearner("river:PriorClassifier", Squared(), seed=0)
    Traceback (most recent call last):
    chacha.errors.ConfigError: river:PriorClassifier is a classifier, and squared loss needs a \
regressor; choose one, or --loss logistic
    """

    def __init__(self, name: str, loss: Loss, seed: int) -> None:
        self._found = found = find_river(name)
        self._name, self._loss = name, loss
        self._classifies = isinstance(loss, (Logistic, Hinge))
        if not (found.classifies if self._classifies else found.regresses):
            is_one, wanted = ("regressor", "classifier")[:: 1 if self._classifies else -1]
            other = "squared" if self._classifies else "logistic"
            raise ConfigError(
                f"{name} is a {is_one}, and {loss.name} loss needs a {wanted}; "
                f"choose one, or --loss {other}"
            )
        try:
            model = found.made(**({"seed": seed} if found.seeded else {}))
        except Exception as error:  # of another Python, of a library that is missing
            raise ConfigError(f"{name} cannot be made: {error}") from error
        self._model = _river("river.preprocessing").StandardScaler() | model
        self._x: dict[str, float] = {}  # filled anew for every example; the scaler copies it
        self._present: list[str] = []
        self._filled: Example | None = None

    def predict(self, example: Example) -> float:
        """The prediction, on the scale of the loss."""
        x, loss = self._features(example), self._loss
        if not self._classifies:
            value = self._model.predict_one(x)
            value = 0.0 if value is None or not math.isfinite(value) else float(value)
            return math.log(max(value, LEAST_RATE)) if isinstance(loss, Poisson) else value
        p = self._probability(x)
        return _odds(p, loss.floor) if isinstance(loss, Logistic) else 2.0 * p - 1.0

    def learn(self, example: Example) -> None:
        """Learn from a labelled example; one of weight 0 is not learned."""
        weight, y = example.weight, example.label
        assert y is not None
        if example.initial:
            raise self._refused(example, "no initial predictions", str(example.initial))
        if weight != 1.0 and not self._found.weighs:
            raise self._refused(example, "no importance weights", f"weight {weight:g}")
        if weight == 0.0:
            return
        weighed = {} if weight == 1.0 else {"w": weight}
        label = y > 0 if self._classifies else y
        self._model.learn_one(self._features(example), label, **weighed)

    def close(self) -> None:
        """Nothing is held but memory."""

    def __str__(self) -> str:
        return f"StandardScaler | {self._found.path.partition('.')[2]}"

    def _refused(self, example: Example, told: str, got: str) -> ConfigError:
        place = f"{example.place}: " if example.place else ""
        return ConfigError(f"{place}{self._name} takes {told}, got {got}; leave the method out")

    def _features(self, example: Example) -> dict[str, float]:
        x, present = self._x, self._present
        if example is self._filled:
            return x
        for key in present:
            x[key] = 0.0
        present.clear()
        for group, features in example.groups.items():
            for name, value, _ in features:
                key = f"{group}^{name}"
                x[key] = x.get(key, 0.0) + value
                present.append(key)
        self._filled = example
        return x

    def _probability(self, x: dict[str, float]) -> float:
        """Of True; 1/2 as long as nothing is known."""
        if self._found.unsure:
            told = self._model.predict_proba_one(x)
        else:
            told = {self._model.predict_one(x): 1.0}
        p, other = told.get(True, 0.0), told.get(False, 0.0)
        return float(p) if math.isfinite(p) and (p or other) else 0.5
