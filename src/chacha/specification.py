"""The specification of a model: all that models with equal constructor arguments share.

A specification never changes. A model is a specification and what changes: a driver with the state
of the rules, and a pool with the models. Thousands of models in one process share a specification.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypedDict, cast
from weakref import WeakSet, WeakValueDictionary, ref

from chacha.config.arguments import check_part, whole_number
from chacha.config.config import Config
from chacha.config.derived_groups import DerivedFeatures
from chacha.config.space import Choice, Domain, Interactions, Space
from chacha.drivers.native_dicts import DictPlans
from chacha.errors import ConfigError
from chacha.losses import Loss, Squared, check_loss, check_scale
from chacha.pools.base import LivePool, capabilities_of
from chacha.pools.native import NativePool
from chacha.rules.algorithm import Algorithm
from chacha.rules.contest.contest import Contest, ContestRules
from chacha.rules.contest.rotation import MoveSource
from chacha.rules.contest.scaling import Scaling
from chacha.rules.oracle import ConfigOracle
from chacha.rules.paper.bounds import Evidence
from chacha.rules.paper.champion import ChampionChallengers, PaperRules
from chacha.tasks import Task, task_of

__all__ = [
    "PaperSettings",
    "Rules",
    "Settings",
    "SpaceLike",
    "Specification",
    "claim_moves",
    "split_settings",
]

Rules = ContestRules | PaperRules
SpaceLike = Mapping[str, Interactions | DerivedFeatures | Domain] | Space


class CommonSettings(TypedDict, total=False):
    """The settings of :class:`ChaCha` apart from its rules, as keyword arguments."""

    budget: int
    space: SpaceLike | None
    init: Mapping[str, Any] | None
    pool: LivePool | None
    loss: Loss | None
    seed: int
    baseline: bool
    keep_decisions: int
    max_pending: int
    ticket_life: int


class Settings(CommonSettings, total=False):
    """The settings of :class:`ChaCha`, as keyword arguments."""

    rules: Rules | None


class PaperSettings(CommonSettings, total=False):
    """The settings of :class:`ChaCha` and of the paper's rules, as keyword arguments."""

    evidence: Evidence
    algorithm: type[ChampionChallengers] | None
    oracle: ConfigOracle | None
    lease_factor: int


def split_settings(settings: PaperSettings) -> tuple[dict[str, Any], CommonSettings]:
    """Return the settings of the paper's rules, and the other settings.

    >>> split_settings({"budget": 3, "lease_factor": 10})
    ({'lease_factor': 10}, {'budget': 3})
    """
    names = {field.name for field in fields(PaperRules)}
    rules = {name: value for name, value in settings.items() if name in names}
    return rules, cast("CommonSettings", {k: v for k, v in settings.items() if k not in names})


@dataclass(frozen=True, eq=False)
class Specification:
    """The rules, the space, the task and the initial configuration of a model.

    >>> from chacha.pools import NativePool
    >>> one = Specification.of(NativePool(), budget=3, init={"learning_rate": 0.1})
    >>> Specification.of(NativePool(), budget=3, init={"learning_rate": 0.1}) is one
    True
    """

    rules: Rules
    space: Space
    task: Task
    initial: Config
    budget: int
    seed: int
    algorithm: Algorithm[Any]
    plans: DictPlans
    """How dicts are read; shared, because most models of a kind see dicts with the same keys."""

    @classmethod
    def of(
        cls,
        pool: LivePool,
        *,
        budget: int = 5,
        space: SpaceLike | None = None,
        init: Mapping[str, Any] | None = None,
        rules: Rules | None = None,
        loss: Loss | None = None,
        seed: int = 0,
    ) -> Specification:
        """Return the specification for these arguments: the same one for equal arguments."""
        budget = whole_number("budget", budget, 1, " (live models, the champion included)")
        seed = whole_number("seed", seed, 0)
        if not isinstance(init, Mapping | None) or not all(isinstance(k, str) for k in init or ()):
            raise ConfigError(f"init must map options to values, got {init!r}")
        rules = ContestRules() if rules is None else rules
        check_part("rules", rules, (ContestRules, PaperRules), "ContestRules() or PaperRules()")
        loss = Squared() if loss is None else loss
        check_loss(loss)
        try:
            key = _key((_kind(pool), budget, space, init, rules, loss, seed))
            if (shared := _SHARED.get(key)) is not None:
                return shared
        except TypeError:  # a part cannot be a key; then the specification is not shared
            key = None
        new = cls._make(pool, budget, space, init, rules, loss, seed)
        if key is not None:
            _SHARED[key] = new
        return new

    @classmethod
    def _make(
        cls,
        pool: LivePool,
        budget: int,
        space: SpaceLike | None,
        init: Mapping[str, Any] | None,
        rules: Rules,
        loss: Loss,
        seed: int,
    ) -> Specification:
        if space is None:
            rate = pool.default("learning_rate") is not None
            space = rules.default_space(rate, capabilities_of(pool).derives)
        space = Space.of(space)
        if space.features is not None and not capabilities_of(pool).derives:
            raise ConfigError(
                f"{type(pool).__name__} cannot use derived groups; leave features out, or "
                "use the native pool"
            )
        init = {**loss.options, **(init or {})}
        tuned = space.domains.get("loss_function")
        trained = tuned.options if isinstance(tuned, Choice) else [init.get("loss_function")]
        check_scale(loss, trained)
        initial = space.initial(init, pool.default)
        if initial.derived and not capabilities_of(pool).derives:
            raise ConfigError(
                f"{type(pool).__name__} cannot use derived groups; leave features out of init, or "
                "use the native pool"
            )
        algorithm = cast("Algorithm[Any]", rules.make_algorithm(initial, space, budget, seed))
        task = task_of(loss)
        if isinstance(algorithm, Contest):
            algorithm = replace(algorithm, loss_power=task.loss_power)
        return cls(rules, space, task, initial, budget, seed, algorithm, DictPlans())

    @property
    def scaling(self) -> Scaling | None:
        """How the scale of labels and columns is found; None if both are learned as they are."""
        rules = self.rules
        return rules.scaling if isinstance(rules, ContestRules) and self.task.has_scale else None

    @property
    def observed_bits(self) -> int:
        """The number of bits of the hashes by which distinct features are counted."""
        bits = self.initial.values.get("bit_precision", 18)
        return min(bits, 20) if isinstance(bits, int) else 18


def claim_moves(rules: Rules) -> None:
    """Raise an error if the oracle of the rules has state, and another model has used it.

    >>> from chacha.rules.contest import Moves
    >>> rules = ContestRules(oracle=Moves(Space(Interactions(), {})))
    >>> claim_moves(rules)
    >>> claim_moves(rules)
    Traceback (most recent call last):
    chacha.errors.ConfigError: oracle: this Moves remembers what another model has tried; make \
a new one for each model
    """
    if not isinstance(rules, ContestRules) or not isinstance(rules.oracle, MoveSource):
        return
    if rules.oracle in _CLAIMED:
        raise ConfigError(
            f"oracle: this {type(rules.oracle).__name__} remembers what another model has tried; "
            "make a new one for each model"
        )
    _CLAIMED.add(rules.oracle)


_CLAIMED: WeakSet[MoveSource] = WeakSet()
_SHARED: WeakValueDictionary[Hashable, Specification] = WeakValueDictionary()


def _kind(pool: LivePool) -> Hashable:
    """Return what a specification needs to know of a pool: its class, if that says everything."""
    return NativePool if type(pool) is NativePool else _Same(pool)


def _key(value: Any) -> Hashable:
    """Return a value as a dictionary key; values of different types have different keys.

    >>> _key({"rate": 1}) == _key({"rate": 1}), _key(1) == _key(1.0)
    (True, False)
    """
    if isinstance(value, Mapping):
        return type(value), tuple((key, _key(value[key])) for key in sorted(value))
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(_key, value))
    if isinstance(value, float):
        return float, repr(value)
    if value is None or isinstance(value, (str, bytes, int)):
        return type(value), value
    if _is_value(value):
        return type(value), tuple(_key(getattr(value, field.name)) for field in fields(value))
    return _Same(value)


def _is_value(part: Any) -> bool:
    """Return whether a part is the same as any other with equal fields, now and later.

    A custom part is not, if it can change or has fields that can.
    """
    kind = type(part)
    if not is_dataclass(part) or "__dataclass_fields__" not in vars(kind):
        return False
    values = {field.name: getattr(part, field.name) for field in fields(part)}
    if not set(getattr(part, "__dict__", ())) <= values.keys():
        return False
    if kind.__module__.partition(".")[0] == "chacha":
        return True
    return bool(kind.__dataclass_params__.frozen) and all(map(_is_constant, values.values()))


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return value is None or isinstance(value, (str, bytes, int, float)) or _is_value(value)


class _Same:
    """A key for an object that only itself is equal to; it does not keep the object alive.

    An object that cannot be referred to weakly is a TypeError.
    """

    __slots__ = ("_hash", "_object")

    def __init__(self, value: object) -> None:
        self._object, self._hash = ref(value), id(value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same):
            return NotImplemented
        return self is other or (self._object() is not None and self._object() is other._object())

    def __hash__(self) -> int:
        return self._hash
