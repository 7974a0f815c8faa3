"""The interface to learners: a pool of live models, and a pool made from single learners."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Protocol, TypeGuard

from chacha.config.config import Config, Value
from chacha.data.example import Example
from chacha.data.vw_text import FLOAT32_MAX
from chacha.errors import BadExample, ConfigError, PoolError

__all__ = [
    "Capabilities",
    "CopyingPool",
    "ExportingPool",
    "Learner",
    "LivePool",
    "SequentialPool",
    "capabilities_of",
    "copies",
    "example_for",
    "learn_many",
]


@dataclass(frozen=True)
class Capabilities:
    """What a pool can do besides :class:`LivePool`; everything else asks this value.

    - `copies`: a model can start as a copy of another (:class:`CopyingPool`).
    - `derives`: models use the derived groups that their configurations name.
    - `exports`: `to_vw(config, path)` writes a model as a VW model file (:class:`ExportingPool`).
    - `imports`: `load_vw(config, model)` gives a live model the weights of a VW model file.
    - `engine`: the native engine may run whole streams with the pool's models. The pool is then
      a :class:`~chacha.NativePool` whose methods do the same as those of that class.

    >>> from chacha import NativePool, SequentialPool
    >>> NativePool().capabilities.copies, SequentialPool(lambda config: None).capabilities.copies
    (True, False)
    """

    copies: bool = False
    derives: bool = False
    exports: bool = False
    imports: bool = False
    engine: bool = False


class LivePool(Protocol):
    """The live models, by configuration. The checks in :mod:`chacha.checks` test the contract.

    Predictions are on the learner's scale. All input to a pool is finite. A model uses all groups
    of an example, and those of its `derived` groups that the configuration names. An example
    holds plain values, so it can be pickled and sent to another process.

    A pool may leave `capabilities` and `learn_many` out: then it has no capabilities, and batches
    are learned one example at a time.

    >>> from chacha import ReferencePool
    >>> pool: LivePool = ReferencePool()
    """

    @property
    def capabilities(self) -> Capabilities:
        """What the pool can do besides the methods of this class."""
        return Capabilities()

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

    def learn_many(self, examples: Sequence[Example]) -> list[Mapping[Config, float]]:
        """Learn a batch; return for each example what :meth:`learn` would have returned.

        If an example cannot be learned, those before it are learned, those after it are not, and
        the error or a note on it gives the position in the batch.
        """
        return learn_in_order(self.learn, examples)


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
    def capabilities(self) -> Capabilities:
        """None: the pool can predict and learn."""
        return Capabilities()

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

    def learn_many(self, examples: Sequence[Example]) -> list[Mapping[Config, float]]:
        """Learn a batch, one example after the other; return the predictions for each."""
        return learn_in_order(self.learn, examples)


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


class CopyingPool(LivePool, Protocol):
    """A pool that can also start a model as a copy of another, which gives it a head start.

    >>> from chacha import NativePool
    >>> pool: CopyingPool = NativePool()
    """

    def copy(self, source: Config, config: Config, damping: float = 0.0) -> None:
        """Give `config` a model with the weights and the state of the model of `source`.

        Weights that first occur in a product or derived group which `source` does not have are
        damped: they start as if they had seen `damping` times the squared gradients of the source
        so far.
        """

    def undamp(self, config: Config) -> None:
        """Let `config` learn from now on as if it had never been a copy."""


class ExportingPool(LivePool, Protocol):
    """A pool that can also write a model as a file for VW.

    >>> from chacha import NativePool
    >>> pool: ExportingPool = NativePool()
    """

    def to_vw(self, config: Config, path: str | PathLike[str]) -> None:
        """Write the model of `config`, completely or not at all."""


def capabilities_of(pool: object) -> Capabilities:
    """Return the capabilities of a pool; a pool that declares none has none.

    >>> from chacha import ReferencePool
    >>> capabilities_of(ReferencePool()).derives, capabilities_of(object()).derives
    (True, False)
    """
    capabilities = getattr(pool, "capabilities", Capabilities())
    if not isinstance(capabilities, Capabilities):
        raise PoolError(
            f"{type(pool).__name__}.capabilities must be a value such as "
            f"Capabilities(copies=True), got {capabilities!r:.60}"
        )
    return capabilities


def copies(pool: LivePool) -> TypeGuard[CopyingPool]:
    """Return whether a pool can copy models.

    >>> from chacha import ReferencePool
    >>> copies(ReferencePool())
    True
    """
    return capabilities_of(pool).copies


def example_for(pool: LivePool, example: Example) -> Example:
    """Return an example as a pool gets it: with the derived groups that live models name.

    >>> from chacha import ReferencePool
    >>> from chacha.data.text_parser import parse_line
    >>> pool = ReferencePool()
    >>> pool.start(Config(derived=["log(a)"]))
    >>> example_for(pool, parse_line("1 |a x")).derived
    {'log(a)': ()}
    """
    names = [name for config in pool.live for name in config.derived]
    return example.plain(dict.fromkeys(names))


def learn_many(pool: LivePool, examples: Sequence[Example]) -> list[Mapping[Config, float]]:
    """Let a pool learn a batch; a pool without :meth:`LivePool.learn_many` learns in a loop.

    >>> from chacha import ReferencePool
    >>> from chacha.data.text_parser import parse_line
    >>> pool = ReferencePool()
    >>> pool.start(Config())
    >>> [list(each.values()) for each in learn_many(pool, [parse_line("1 |a x")] * 2)]
    [[0.0], [0.5069...]]
    """
    batch: Callable[[Sequence[Example]], list[Mapping[Config, float]]] | None
    batch = getattr(pool, "learn_many", None)
    return learn_in_order(pool.learn, examples) if batch is None else batch(examples)


def learn_in_order(
    learn: Callable[[Example], Mapping[Config, float]], examples: Sequence[Example]
) -> list[Mapping[Config, float]]:
    """Learn examples one after the other; a note on an error gives the position in the batch."""
    predictions: list[Mapping[Config, float]] = []
    for position, example in enumerate(examples, start=1):
        try:
            predictions.append(learn(example))
        except Exception as error:
            batch = f"a batch of {len(examples)}"
            error.add_note(f"example {position} of {batch}; the ones before it are learned")
            raise
    return predictions
