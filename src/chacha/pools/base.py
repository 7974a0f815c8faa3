"""The interface to learners: a pool of live models, and a pool made from single learners."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol, runtime_checkable

from chacha.config.config import Config, Value
from chacha.data.example import Example
from chacha.data.vw_text import FLOAT32_MAX
from chacha.errors import BadExample, ConfigError, PoolError

__all__ = ["Copies", "Derives", "Learner", "LivePool", "SequentialPool"]


class LivePool(Protocol):
    """The live models, by configuration. The checks in :mod:`chacha.checks` test the contract.

    Predictions are on the learner's scale. All input to a pool is finite. A model uses all groups
    of an example, and those of its `derived` groups that the configuration names.

    >>> from chacha import ReferencePool
    >>> pool: LivePool = ReferencePool()
    """

    @property
    def live(self) -> Collection[Config]:
        """The configurations that have a model now."""

    def fresh(self) -> LivePool:
        """Return an empty pool with the same settings."""

    def default(self, key: str) -> Value | None:
        """Return the learner's default for an option; None if it has no such option."""

    def start(self, config: Config) -> None:
        """Give `config` an empty model."""

    def stop(self, config: Config) -> None:
        """Drop the model of `config`, and free its resources."""

    def predict(self, example: Example) -> Mapping[Config, float]:
        """Return the prediction of every live model. Nothing changes."""

    def learn(self, example: Example) -> Mapping[Config, float]:
        """Let every live model learn the example; return what :meth:`predict` would have."""


class Learner(Protocol):
    """One model that predicts and learns: the interface that a library has to implement.

    >>> class Mean:
    ...     total, n = 0.0, 0
    ...     def predict(self, example):
    ...         return self.total / self.n if self.n else 0.0
    ...     def learn(self, example):
    ...         self.total, self.n = self.total + example.label, self.n + 1
    ...     def close(self):
    ...         pass
    >>> learner: Learner = Mean()
    """

    def predict(self, example: Example) -> float:
        """Return the prediction. Nothing changes."""

    def learn(self, example: Example) -> None:
        """Learn from a labelled example."""

    def close(self) -> None:
        """Free the model's resources; it is not used again."""


class SequentialPool:
    """A pool of learners created by `make`, which predict and learn one after the other.

    >>> from chacha.data.text_parser import parse_line
    >>> class Zero:
    ...     def predict(self, example): return 0.0
    ...     def learn(self, example): pass
    ...     def close(self): pass
    >>> pool = SequentialPool(lambda config: Zero(), defaults={"learning_rate": 0.5})
    >>> pool.start(Config())
    >>> pool.predict(parse_line("|a x"))[Config()]
    0.0
    """

    def __init__(
        self, make: Callable[[Config], Learner], defaults: Mapping[str, Value] | None = None
    ) -> None:
        self._make = make
        self._defaults = dict(defaults or {})
        self._models: dict[Config, Learner] = {}

    @property
    def live(self) -> Collection[Config]:
        """The configurations that have a model now."""
        return self._models.keys()

    def fresh(self) -> SequentialPool:
        """Return an empty pool with the same settings."""
        return SequentialPool(self._make, self._defaults)

    def default(self, key: str) -> Value | None:
        """Return the learner's default for an option; None if it has no such option."""
        return self._defaults.get(key)

    def start(self, config: Config) -> None:
        """Give `config` an empty model."""
        refuse_live(config, self._models)
        self._models[config] = self._make(config)

    def stop(self, config: Config) -> None:
        """Drop the model of `config`."""
        refuse_idle(config, self._models)
        self._models.pop(config).close()

    def predict(self, example: Example) -> Mapping[Config, float]:
        """Return the prediction of every live model."""
        return {config: model.predict(example) for config, model in self._models.items()}

    def learn(self, example: Example) -> Mapping[Config, float]:
        """Let every live model predict, then learn; return the predictions."""
        refuse_unlabelled(example)
        predictions = self.predict(example)
        for model in self._models.values():
            model.learn(example)
        return predictions


def check_pool(pool: object) -> None:
    """Raise an error for something else than a pool, such as its name.

    >>> check_pool("vw")
    Traceback (most recent call last):
    chacha.errors.ConfigError: pool must be an object such as open_pool('vw') or \
ReferencePool(), got 'vw'
    """
    if isinstance(pool, type) or not hasattr(pool, "learn"):
        raise ConfigError(
            f"pool must be an object such as open_pool('vw') or ReferencePool(), got {pool!r}"
        )


def refuse_live(config: Config, live: Collection[Config]) -> None:
    """Raise an error if `config` is live: a configuration is live at most once."""
    if config in live:
        raise PoolError(f"{config} is live already; stop it before starting it again")


def refuse_idle(config: Config, live: Collection[Config]) -> None:
    """Raise an error if `config` is not live: it cannot be stopped, copied or written."""
    if config not in live:
        raise PoolError(f"{config} is not live: it has no model to stop, copy or write")


def refuse_unlabelled(example: Example) -> None:
    """Raise an error if the example has no label."""
    if example.label is None:
        raise BadExample("the example has no label; learning needs one", "no label")


def refuse_damping(damping: float) -> None:
    """Raise an error unless `damping` is at least 0 and fits single precision."""
    if not 0.0 <= damping <= FLOAT32_MAX:
        raise PoolError(f"damping must be a number of at least 0, got {damping!r}")


@runtime_checkable
class Copies(Protocol):
    """A pool that can also start a model as a copy of another, which gives it a head start.

    >>> from chacha import NativePool, SequentialPool
    >>> isinstance(NativePool(), Copies), isinstance(SequentialPool(lambda config: None), Copies)
    (True, False)
    """

    def copy(self, source: Config, config: Config, damping: float = 0.0) -> None:
        """Give `config` a model with the weights and the state of the model of `source`.

        Weights that first occur in a product or derived group which `source` does not have are
        damped: they start as if they had seen `damping` times the squared gradients of the source
        so far.
        """

    def undamp(self, config: Config) -> None:
        """Let `config` learn from now on as if it had never been a copy."""


@runtime_checkable
class Derives(Protocol):
    """A pool whose models use derived groups, if their configurations name them.

    >>> from chacha import NativePool, SequentialPool
    >>> isinstance(NativePool(), Derives), isinstance(SequentialPool(lambda config: None), Derives)
    (True, False)
    """

    derives: bool
