"""The native pool: Vowpal Wabbit's default learner in C++, for all live models in one pass.

Every prediction equals VW's to the last bit. The engine also keeps the statistics of the
algorithm, so that whole streams are learned natively (:mod:`chacha.drivers.native`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from os import PathLike, fspath
from typing import TypeGuard

from chacha._native import Engine, kernels
from chacha.config.config import Config, Value, show
from chacha.config.derived_groups import derived
from chacha.data.example import Example
from chacha.data.label_map import LabelMap
from chacha.errors import PoolError
from chacha.features.derivation import Recipe
from chacha.features.formulas import Basis
from chacha.losses import LOSSES, VW_DEFAULT, loss_options
from chacha.pools.base import (
    Capabilities,
    LivePool,
    capabilities_of,
    learn_in_order,
    refuse_damping,
    refuse_idle,
    refuse_live,
    refuse_unlabelled,
)
from chacha.vw.model_file import VWModel, VWState, write_vw_model
from chacha.vw.relabel import with_raw_labels

__all__ = ["NativePool", "native_line", "runs_in_engine"]

DEFAULTS: dict[str, Value] = {
    "bit_precision": 18,
    "initial_t": 0.0,
    "l1": 0.0,
    "l2": 0.0,
    "learning_rate": 0.5,
    "loss_function": VW_DEFAULT,
    "noconstant": False,
    "power_t": 0.5,
    **loss_options(),
}
MOST_BITS = 31
NEGATIVE_IS_WRONG = ("initial_t", "l1", "l2", "learning_rate", "power_t")


def native_line(example: Example) -> str:
    """Return the example as text for the native parser: without a tab before the first bar."""
    if "\t" not in example.head:
        return example.line
    if example.label is None:
        return example.body
    return example.with_label(example.label).line


@lru_cache(maxsize=256)
def _settings(*options: tuple[str, type, Value]) -> tuple[int, list[tuple[str, str]]]:
    """Return the number of bits and the other options as text, for the engine.

    The types are part of the arguments because 1, 1.0 and True are equal in a cache.
    """
    values = {key: value for key, _, value in options}
    _check(values)
    values = {**DEFAULTS, **values}
    bits = int(values.pop("bit_precision"))
    return bits, [(key, show(value)) for key, value in values.items()]


def _check(values: Mapping[str, Value]) -> None:
    """Raise an error for an option or a value that the engine does not support."""
    for key, value in values.items():
        if key not in DEFAULTS:
            raise PoolError(
                f"the native learner has no option {key!r}; it knows: {', '.join(DEFAULTS)} "
                "(the VW pool has all of VW's: --pool vw, open_pool('vw'))"
            )
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if key == "bit_precision":
            if type(value) is not int or not 1 <= value <= MOST_BITS:
                raise PoolError(
                    f"bit_precision must be a whole number from 1 to {MOST_BITS}, got {value!r}"
                )
        elif key == "loss_function":
            if value not in LOSSES:
                raise PoolError(f"loss_function must be one of {', '.join(LOSSES)}, got {value!r}")
        elif key == "noconstant":
            if not isinstance(value, bool):
                raise PoolError(f"noconstant must be true or false, got {value!r}")
        elif not number or (key in NEGATIVE_IS_WRONG and float(value) < 0):
            raise PoolError(f"{key} must be a number of at least 0, got {value!r}")


class NativePool:
    """Live models in the native engine: the default pool.

    `kernel` names one of the code paths that this machine can run (`plain`, `avx2`, `avx512`).
    The default is the fastest. All give the same bits.

    >>> from chacha.data.text_parser import parse_line
    >>> pool = NativePool()
    >>> pool.start(Config(["ab"], {"learning_rate": 0.25}))
    >>> for _ in range(3):
    ...     predictions = pool.learn(parse_line("1 |a x |b y"))
    >>> {str(c): round(p, 3) for c, p in predictions.items()}
    {'interactions ab; learning_rate 0.25': 0.604}
    """

    def __init__(self, kernel: str = "") -> None:
        if kernel and kernel not in kernels():
            raise PoolError(
                f"kernel must be one that this machine can run ({', '.join(kernels())}), got "
                f"{kernel!r}; leave it out for the fastest"
            )
        self.engine = Engine(18, kernel)
        self._kernel = kernel
        self._models: dict[Config, int] = {}
        self._derived: set[str] = set()
        self._derivation_on = False

    @property
    def capabilities(self) -> Capabilities:
        """All. A subclass may change a method, so the engine runs it only if it says so here."""
        engine = type(self) is NativePool
        return Capabilities(copies=True, derives=True, exports=True, imports=True, engine=engine)

    @property
    def kernel(self) -> str:
        """The code path in use."""
        return self.engine.kernel

    @property
    def bytes(self) -> int:
        """The memory in bytes that the models and their statistics use."""
        return self.engine.bytes

    @property
    def live(self) -> Collection[Config]:
        """The configurations that have a model now."""
        return self._models.keys()

    @property
    def models(self) -> Mapping[Config, int]:
        """The engine's number of every live model."""
        return self._models

    def fresh(self) -> NativePool:
        """Return an empty pool with the same settings."""
        return NativePool(self._kernel)

    def default(self, key: str) -> Value | None:
        """Return VW's default for an option; None if the native learner has no such option."""
        return DEFAULTS.get(key)

    def start(self, config: Config) -> None:
        """Give `config` an empty model."""
        refuse_live(config, self._models)
        self._models[config] = self.start_shadow(config)

    def copy(self, source: Config, config: Config, damping: float = 0.0) -> None:
        """Give `config` a model with the weights and the state of the model of `source`.

        Weights that first occur in a product or derived group which `source` does not have take
        small first steps: they start as if they had seen `damping` times the squared gradients of
        the source so far.

        >>> from chacha.data.text_parser import parse_line
        >>> pool = NativePool()
        >>> pool.start(Config())
        >>> _ = pool.learn(parse_line("1 |a x |b y"))
        >>> pool.copy(Config(), Config(["ab"]))
        >>> len(set(pool.predict(parse_line("|a x |b y")).values()))
        1
        """
        refuse_idle(source, self._models)
        refuse_live(config, self._models)
        refuse_damping(damping)
        self._models[config] = self.start_shadow(config, self._models[source], damping)

    def undamp(self, config: Config) -> None:
        """Let `config` learn from now on as if it had never been a copy."""
        refuse_idle(config, self._models)
        self.engine.undamp(self._models[config])

    def start_shadow(self, config: Config, source: int = -1, damping: float = 0.0) -> int:
        """Start a model in addition to the live ones, and return its number in the engine."""
        bits, settings = _settings(*((key, type(v), v) for key, v in config.values.items()))
        products = [*config.interactions, *((name,) for name in config.derived)]
        try:
            self.derive(config.derived)
            return self.engine.start(bits, settings, products, source, damping)
        except ValueError as error:
            raise PoolError(f"{config}: {error}") from error

    def turn_on_derivation(self, first: int = 256) -> None:
        """Keep statistics of columns from now on; knots are placed from the `first` values.

        >>> NativePool().turn_on_derivation()
        """
        if not self._derivation_on:
            self.engine.turn_on_derivation(first)
            self._derivation_on = True

    def derive(self, names: Iterable[str]) -> None:
        """Register derived groups with the engine, which derives them for models that use them.

        >>> NativePool().derive(["bins(temp,16)"])
        """
        for name in names:
            if name not in self._derived and (group := derived(name)) is not None:
                self.turn_on_derivation()
                source = "" if group.of_label else group.source
                self.engine.add_derived(name, group.kind, source, group.parameter)
                self._derived.add(name)

    def recipes(self) -> dict[str, Recipe]:
        """Return the registered derived groups, with what the engine learned of their columns.

        >>> pool = NativePool()
        >>> pool.derive(["lag(label,2)"])
        >>> pool.recipes()["lag(label,2)"].clock
        0
        """
        recipes: dict[str, Recipe] = {}
        for name in sorted(self._derived):
            group = derived(name)
            assert group is not None
            (columns, clock), hashes = self.engine.bases(name), self.engine.base_hashes(name)
            bases = {h: Basis(*column) for h, column in zip(hashes, columns, strict=True)}
            recipes[name] = Recipe(group, bases, clock)
        return recipes

    def stop(self, config: Config) -> None:
        """Drop the model of `config`, and free its resources."""
        refuse_idle(config, self._models)
        self.engine.stop(self._models[config])  # if this fails, the model stays live
        del self._models[config]

    def map_of(self, config: Config) -> LabelMap | None:
        """Return how a live model learns labels; None if as they are.

        >>> pool = NativePool()
        >>> pool.start(Config())
        >>> pool.map_of(Config()) is None
        True
        """
        refuse_idle(config, self._models)
        number = self._models[config]
        scaled, shift, scale = self.engine.label_map(number)
        logarithm, low, unit, _ = self.engine.logarithm_map(number)
        return LabelMap(shift, scale, logarithm, low, unit) if scaled else None

    def to_vw(self, config: Config, path: str | PathLike[str]) -> None:
        """Write the model of `config` as a VW model file, with which `vw -i` continues.

        It continues exactly, or up to rounding if the model learns labels in units of their scale.
        """
        refuse_idle(config, self._models)
        number = self._models[config]
        norms, total, low, high, gravity, contraction = self.engine.state(number)
        initial_t = float(config.values.get("initial_t", 0.0))
        state = VWState(
            initial_t,
            norms,
            total,
            t=total,
            low=low,
            high=high,
            gravity=gravity,
            contraction=contraction,
        )
        model = VWModel(config, state, *self.engine.dump(number))
        if (label_map := self.map_of(config)) is not None:
            labels = (self.engine.low, self.engine.high) if self.engine.has_bases else None
            model = with_raw_labels(fspath(path), model, label_map, labels)
        write_vw_model(path, model, self_contained=True)

    def load_vw(self, config: Config, model: VWModel) -> None:
        """Give the live model of `config` the weights and the state of a model that VW saved."""
        refuse_idle(config, self._models)
        number, state = self._models[config], model.state
        self.engine.load(number, model.index, model.weight, model.adaptive, model.normalized)
        sums = (state.sum_norm_x, state.total_weight, state.low, state.high)
        self.engine.set_state(number, (*sums, state.gravity, state.contraction))

    def predict(self, example: Example) -> Mapping[Config, float]:
        """Return the prediction of every live model. Nothing changes."""
        return self._visit(example, learn=False)

    def learn(self, example: Example) -> Mapping[Config, float]:
        """Let every live model predict, then learn; return the predictions."""
        refuse_unlabelled(example)
        return self._visit(example, learn=True)

    def learn_many(self, examples: Sequence[Example]) -> list[Mapping[Config, float]]:
        """Learn a batch, one example after the other; return the predictions for each."""
        return learn_in_order(self.learn, examples)

    def _visit(self, example: Example, learn: bool) -> Mapping[Config, float]:
        line = native_line(example)
        if example.derived:  # otherwise the engine derives them
            line += example.derived_text(sorted({name for c in self._models for name in c.derived}))
        try:
            predictions = self.engine.raw(line, list(self._models.values()), learn)
        except ValueError as error:
            raise PoolError(f"{example.place or 'an example'}: {error}") from error
        if predictions is None:
            raise PoolError(f"{example.place or 'an example'}: {example.line!r:.80} cannot be read")
        return dict(zip(self._models, predictions, strict=True))


def runs_in_engine(pool: LivePool) -> TypeGuard[NativePool]:
    """Return whether the native engine may run whole streams with the models of a pool.

    >>> class Loud(NativePool):
    ...     def learn(self, example):
    ...         print(example.line)
    ...         return super().learn(example)
    >>> runs_in_engine(NativePool()), runs_in_engine(Loud())
    (True, False)
    """
    return capabilities_of(pool).engine
