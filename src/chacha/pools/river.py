"""River's regressors and classifiers as learners, StandardScaler | CLASS(), and a pool of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.metadata import version
from inspect import Parameter, isabstract, isclass, signature
from pkgutil import iter_modules
from typing import Any, NamedTuple

from chacha.config.config import Config, Value
from chacha.data.example import Example
from chacha.data.products import expand_product
from chacha.errors import ConfigError, MissingExtra, PoolError
from chacha.losses import LOSSES, BinaryLoss, Loss, loss_of, loss_options
from chacha.pools.base import SequentialPool
from chacha.tasks import Binary, task_of

try:
    import river
    from river import base, preprocessing
except ImportError as error:
    raise MissingExtra.of("river", "river") from error

__all__ = ["RiverClass", "RiverLearner", "RiverPool", "find_class"]

VERSION = version("river")
VW_OPTIONS = ("loss_function", *loss_options())  # of a configuration; they are not River's


class RiverClass(NamedTuple):
    """A regressor or classifier of River that needs no arguments.

    `path` names module and class; `version` is River's. `takes_seed` and `takes_weights` say
    whether the class accepts a seed and importance weights. A classifier without
    `gives_probabilities` predicts classes only.
    """

    path: str
    make: Callable[..., Any]
    regresses: bool
    classifies: bool
    takes_seed: bool
    takes_weights: bool
    gives_probabilities: bool
    version: str

    @property
    def defaults(self) -> Mapping[str, Value | None]:
        """The class's options with their defaults; None where the default is not a plain value.

        >>> find_class("LinearRegression").defaults["l2"]
        0.0
        """
        defaults = {key: p.default for key, p in signature(self.make).parameters.items()}
        plain = (bool, int, float, str)
        return {key: v if isinstance(v, plain) else None for key, v in defaults.items()}


def find_class(name: str) -> RiverClass:
    """Return the class of a name, searched in River's public modules.

    >>> tree = find_class("HoeffdingTreeRegressor")
    >>> tree.path, tree.regresses, tree.takes_seed, tree.takes_weights
    ('tree.HoeffdingTreeRegressor', True, False, True)
    >>> find_class("tree.HoeffdingTreeRegressor") == tree
    True
    """
    module, _, class_name = name.rpartition(".")
    for path, cls in _classes(module):
        if cls.__name__ == class_name:
            return _checked(name, path, cls)
    raise _unknown(name, class_name)


def _classes(only: str = "") -> Iterator[tuple[str, type]]:
    """Yield path and class for the classes of River's public modules, or of one module."""
    for info in iter_modules(river.__path__):
        if info.name.startswith("_") or only not in ("", info.name):
            continue
        try:
            module = import_module(f"river.{info.name}")
        except ImportError:  # the module needs another optional library
            continue
        for name in getattr(module, "__all__", ()):
            cls = getattr(module, name, None)
            if isclass(cls):
                yield f"{info.name}.{name}", cls


def _kinds(cls: type) -> tuple[bool, bool]:
    """Return whether a class is a regressor and whether it is a classifier, of one target."""
    if issubclass(cls, base.MultiTargetRegressor):
        return False, False
    return issubclass(cls, base.Regressor), issubclass(cls, base.Classifier)


def _required_arguments(cls: type) -> list[str]:
    optional = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    parameters = signature(cls).parameters.values()
    return [p.name for p in parameters if p.default is Parameter.empty and p.kind not in optional]


def _checked(name: str, path: str, cls: Any) -> RiverClass:
    regresses, classifies = _kinds(cls)
    if not (regresses or classifies) or isabstract(cls):
        rule = "is neither a regressor nor a classifier of one target"
        raise ConfigError(f"river:{name}: river.{path} {rule}")
    if required := _required_arguments(cls):
        raise ConfigError(
            f"river:{name}: river.{path} cannot be made without arguments "
            f"({', '.join(required)}); in Python a custom Method can pass them"
        )
    takes_seed = "seed" in signature(cls).parameters
    takes_weights = "w" in signature(cls.learn_one).parameters
    # The base class's method raises an error; classifiers with probabilities override it.
    gives = classifies and cls.predict_proba_one is not base.Classifier.predict_proba_one
    return RiverClass(path, cls, regresses, classifies, takes_seed, takes_weights, gives, VERSION)


def _unknown(name: str, class_name: str) -> ConfigError:
    """Return the error for an unknown name, with similar names and the modules searched."""
    usable = [
        path
        for path, cls in _classes()
        if any(_kinds(cls)) and not isabstract(cls) and not _required_arguments(cls)
    ]
    names = {path.partition(".")[2].lower(): path.partition(".")[2] for path in usable}
    similar = get_close_matches(class_name.lower(), names, n=4, cutoff=0.5)
    hint = f"; similar: {', '.join(names[match] for match in similar)}" if similar else ""
    modules = ", ".join(sorted({path.partition(".")[0] for path in usable}))
    return ConfigError(
        f"river:{name}: River {VERSION} has no such class{hint}; all its public modules "
        f"are searched, regressors and classifiers are in {modules}"
    )


class RiverLearner:
    """A learner `StandardScaler | CLASS()`, which predicts on the scale of the loss.

    The values of the configuration are arguments of the class, except those of the loss.

    A feature's key is `group^name`; the key of a product's feature has its hash in VW instead of
    names. Examples leave out zeros, so a feature that occurred before
    and is absent from an example is 0.0. The values of a feature that occurs twice in an example
    are added, as in VW.

    Regressors predict values; with poisson loss these are rates. Classifiers learn False and
    True. Logistic loss takes the log odds of the probability p of True, with p at least the
    loss's `floor` away from 0 and 1. Hinge loss takes 2p - 1. For a classifier that predicts
    classes only, p is 0 or 1. A prediction that is None or not finite counts as 0.0, or as
    p = 1/2.

    >>> from chacha import Logistic, Squared
    >>> from chacha.data import parse_line
    >>> learner = RiverLearner("dummy.PriorClassifier", Logistic(), seed=0)
    >>> for line in ("1 |a x", "1 |a x", "-1 |a x"):
    ...     learner.learn(parse_line(line))
    >>> round(Logistic().served(learner.predict(parse_line("|a x"))), 2)
    0.67
    >>> str(learner)
    'StandardScaler | PriorClassifier'
    >>> RiverLearner("PriorClassifier", Squared(), seed=0)
    Traceback (most recent call last):
    chacha.errors.ConfigError: river:PriorClassifier is a classifier, and squared loss needs a \
regressor; choose one, or --loss logistic
    """

    def __init__(self, name: str, loss: Loss, seed: int, config: Config | None = None) -> None:
        self._class = cls = find_class(name)
        config = Config() if config is None else config
        options = {key: v for key, v in config.values.items() if key not in VW_OPTIONS}
        for key in options.keys() - cls.defaults.keys():
            choices = ", ".join(cls.defaults) or "none"
            raise PoolError(f"river:{name} has no option {key!r}; its options: {choices}")
        self._products = [("*".join(product), product) for product in config.interactions]
        self._name, self._task = f"river:{name}", task_of(loss)
        self._classifies = isinstance(self._task, Binary)
        if not (cls.classifies if self._classifies else cls.regresses):
            is_one, needed = ("regressor", "classifier")[:: 1 if self._classifies else -1]
            fits = (n for n, c in LOSSES.items() if issubclass(c, BinaryLoss) != self._classifies)
            raise ConfigError(
                f"{self._name} is a {is_one}, and {loss.name} loss needs a {needed}; "
                f"choose one, or --loss {next(fits)}"
            )
        try:
            model = cls.make(**{**({"seed": seed} if cls.takes_seed else {}), **options})
        except Exception as error:  # it may need another Python or another library
            raise ConfigError(f"{self._name} cannot be made: {error}") from error
        self._model: Any = preprocessing.StandardScaler() | model
        self._x: dict[str, float] = {}  # reused for every example; the scaler copies it
        self._present: list[str] = []
        self._filled: Example | None = None

    def predict(self, example: Example) -> float:
        """Return the prediction on the scale of the loss."""
        x = self._features(example)
        return self._task.raw(self._probability(x) if self._classifies else self._value(x))

    def learn(self, example: Example) -> None:
        """Learn from a labelled example; an example of weight 0 is not learned."""
        weight, y = example.weight, example.label
        assert y is not None
        if example.initial:
            raise self._refusal(example, "no initial predictions", str(example.initial))
        if weight != 1.0 and not self._class.takes_weights:
            raise self._refusal(example, "no importance weights", f"weight {weight:g}")
        if weight == 0.0:
            return
        weights = {} if weight == 1.0 else {"w": weight}
        label = y > 0 if self._classifies else y
        self._model.learn_one(self._features(example), label, **weights)

    def close(self) -> None:
        """Do nothing: the learner holds only memory."""

    def __str__(self) -> str:
        return f"StandardScaler | {self._class.path.partition('.')[2]}"

    def _refusal(self, example: Example, rule: str, value: str) -> ConfigError:
        place = f"{example.place}: " if example.place else ""
        return ConfigError(f"{place}{self._name} takes {rule}, got {value}; choose another learner")

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
        for label, product in self._products:
            factors = [[(f.value, f.hashed) for f in example.groups.get(g, ())] for g in product]
            for value, hashed in expand_product(product, factors):
                key = f"{label}^{hashed}"
                x[key] = x.get(key, 0.0) + value
                present.append(key)
        self._filled = example
        return x

    def _value(self, x: dict[str, float]) -> float:
        """Return a regressor's prediction."""
        value = self._model.predict_one(x)
        return 0.0 if value is None or not math.isfinite(value) else float(value)

    def _probability(self, x: dict[str, float]) -> float:
        """Return the probability of True; 1/2 before the model has learned a class."""
        if self._class.gives_probabilities:
            probabilities = self._model.predict_proba_one(x)
        else:
            probabilities = {self._model.predict_one(x): 1.0}
        p, other = probabilities.get(True, 0.0), probabilities.get(False, 0.0)
        return float(p) if math.isfinite(p) and (p or other) else 0.5


class RiverPool(SequentialPool):
    """A pool of :class:`RiverLearner` of one class, which `open_pool("river:NAME")` returns.

    The loss is that of the configuration. Values of a configuration are arguments of the class,
    so these can be tuned. A model that draws random numbers starts with `seed`.

    >>> from chacha.data import parse_line
    >>> pool = RiverPool("HoeffdingTreeRegressor")
    >>> pool.default("grace_period")
    200
    >>> pool.start(Config(["ab"], {"grace_period": 50}))
    >>> for _ in range(3):
    ...     predictions = pool.learn(parse_line("1 |a x |b y"))
    >>> list(predictions.values())
    [1.0]
    """

    def __init__(self, name: str, seed: int = 0) -> None:
        self._name, self._seed = name, seed
        cls = find_class(name)
        defaults = {key: value for key, value in cls.defaults.items() if value is not None}
        super().__init__(partial(_pool_learner, name, seed), defaults)

    def fresh(self) -> RiverPool:
        """Return an empty pool with the same class and seed."""
        return RiverPool(self._name, self._seed)


def _pool_learner(name: str, seed: int, config: Config) -> RiverLearner:
    return RiverLearner(name, loss_of(config.values), seed, config)
