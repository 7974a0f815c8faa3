"""The space of configurations: products of groups, and the domains of numbers and words.

Every domain maps its values to [0, 1] and back. The numeric searches
(:mod:`chacha.rules.paper.flow2`, :mod:`chacha.rules.contest.value_steps`) work on that interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from chacha.config.config import Config, Value, canonical
from chacha.config.derived_groups import DerivedFeatures, derived
from chacha.errors import ConfigError

__all__ = ["Choice", "Domain", "Integer", "Interactions", "LogUniform", "Space", "Uniform"]


@runtime_checkable
class Domain(Protocol):
    """The values that one option may take, mapped to the unit interval.

    >>> isinstance(Uniform(0, 1), Domain)
    True
    """

    def cast(self, value: Any) -> Value:
        """Return `value` in the domain's type, or raise an error if it is of another kind."""

    def to_unit(self, value: Value) -> float:
        """Return the point of `value` in [0, 1]; values outside the domain go to the nearer end."""

    def from_unit(self, u: float, at: Value) -> Value:
        """Return the value at the point `u`; `at` is the current value."""

    def step_floor(self, at: Value) -> float:
        """Return the smallest step in [0, 1] that can change the value; 0 if there is none."""

    @property
    def ordered(self) -> bool:
        """Whether nearby points in [0, 1] are nearby values."""


class _Number:
    ordered = True

    def cast(self, value: Any) -> Value:
        if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
            raise ConfigError(f"{self} needs a number, got {value!r}")
        return canonical(str(self), float(value))

    def step_floor(self, at: Value) -> float:
        return 0.0


def _interval(kind: str, low: float, high: float) -> tuple[float, float]:
    low, high = float(low), float(high)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ConfigError(f"{kind} needs finite low < high, got low={low}, high={high}")
    return low, high


@dataclass(frozen=True)
class Uniform(_Number):
    """A number between `low` and `high`.

    >>> Uniform(0, 4).from_unit(0.25, at=0.0)
    1.0
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        _interval("Uniform", self.low, self.high)

    def to_unit(self, value: Value) -> float:
        return min(max((float(value) - self.low) / (self.high - self.low), 0.0), 1.0)

    def from_unit(self, u: float, at: Value) -> Value:
        return canonical("value", self.low + u * (self.high - self.low))


@dataclass(frozen=True)
class LogUniform(_Number):
    """A positive number between `low` and `high`, uniform in its logarithm.

    >>> LogUniform(1e-4, 1).from_unit(0.5, at=1.0)
    0.01
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if _interval("LogUniform", self.low, self.high)[0] <= 0:
            raise ConfigError(f"LogUniform needs low > 0, got low={self.low}")

    def to_unit(self, value: Value) -> float:
        value = min(max(float(value), self.low), self.high)
        return math.log(value / self.low) / math.log(self.high / self.low)

    def from_unit(self, u: float, at: Value) -> Value:
        value = self.low * math.exp(u * math.log(self.high / self.low))
        return canonical("value", min(max(value, self.low), self.high))


@dataclass(frozen=True)
class Integer(_Number):
    """A whole number from `low` to `high`, both included; with `log`, uniform in its logarithm.

    >>> Integer(1, 5).from_unit(0.5, at=1)
    3
    >>> Integer(1, 1000, log=True).from_unit(2 / 3, at=1)
    100
    """

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _interval("Integer", self.low, self.high)
        if int(self.low) != self.low or int(self.high) != self.high:
            raise ConfigError(f"Integer needs whole numbers, got {self.low}, {self.high}")
        if self.log and self.low < 1:
            raise ConfigError(f"Integer(log=True) needs low >= 1, got low={self.low}")

    def _inner(self) -> Uniform | LogUniform:
        return LogUniform(self.low, self.high) if self.log else Uniform(self.low, self.high)

    def cast(self, value: Any) -> Value:
        if isinstance(value, (bool, str)) or not hasattr(value, "__int__") or int(value) != value:
            raise ConfigError(f"{self} needs a whole number, got {value!r}")
        return int(value)

    def to_unit(self, value: Value) -> float:
        return self._inner().to_unit(value)

    def from_unit(self, u: float, at: Value) -> Value:
        value = round(float(self._inner().from_unit(u, at)))
        return min(max(value, int(self.low)), int(self.high))

    def step_floor(self, at: Value) -> float:
        if not self.log:
            return 1.0 / (self.high - self.low)
        value = min(max(float(at), self.low), self.high)
        return math.log1p(1.0 / value) / math.log(self.high / self.low)


@dataclass(frozen=True)
class Choice:
    """One of a few options: words, switches or numbers. Numbers are ordered.

    >>> Choice("squared", "quantile").options
    ('squared', 'quantile')
    >>> Choice(1, 2, 4).from_unit(0.99, at=1)
    4
    """

    options: tuple[Value, ...]

    def __init__(self, *options: Value) -> None:
        values = tuple(canonical("option", option) for option in options)
        if len(values) < 2 or len(set(values)) < len(values):
            raise ConfigError(f"Choice needs at least two different options, got {options}")
        object.__setattr__(self, "options", values)

    @property
    def ordered(self) -> bool:
        """Whether all options are numbers; words and switches are not ordered."""
        return all(isinstance(o, (int, float)) and not isinstance(o, bool) for o in self.options)

    def cast(self, value: Any) -> Value:
        option = canonical("option", value)
        if option not in self.options:
            raise ConfigError(f"{self} does not offer {value!r}; its options: {self.options}")
        return self.options[self.options.index(option)]

    def to_unit(self, value: Value) -> float:
        return (self.options.index(value) + 0.5) / len(self.options)

    def cell(self, u: float) -> int:
        """Return the index of the option whose cell of [0, 1] contains `u`.

        >>> Choice("a", "b").cell(0.6)
        1
        """
        return min(int(u * len(self.options)), len(self.options) - 1)

    def from_unit(self, u: float, at: Value) -> Value:
        return self.options[self.cell(u)]

    def step_floor(self, at: Value) -> float:
        return 0.0  # the search widens its step by itself where nothing changes


AUTHORS_RATES = LogUniform(2e-10, 1.0)
"""The range of learning rates that the paper's authors search."""
RATES = LogUniform(2**-11, 2**9)
"""The range of learning rates of the recommended rules: ten steps of a factor of 4."""


@dataclass(frozen=True)
class Interactions:
    """Products of groups may be added, with at most `max_order` groups each (None: no limit).

    >>> Interactions(max_order=3).max_order
    3
    """

    max_order: int | None = None

    def __post_init__(self) -> None:
        if self.max_order is not None and self.max_order < 2:
            raise ConfigError(f"Interactions needs max_order >= 2 or None, got {self.max_order}")


@dataclass(frozen=True)
class Space:
    """What is tuned: interactions (or None), domains by option name, derived features (or None).

    >>> space = Space.of({"interactions": Interactions(), "learning_rate": LogUniform(2e-10, 1)})
    >>> print(space.initial({}, defaults={"learning_rate": 0.5}.get))
    no interactions; learning_rate 0.5
    """

    interactions: Interactions | None
    domains: Mapping[str, Domain]
    features: DerivedFeatures | None = None

    @classmethod
    def of(cls, space: Mapping[str, Interactions | DerivedFeatures | Domain] | Space) -> Space:
        """Return the space of a mapping of names to domains."""
        if isinstance(space, Space):
            return space
        if not isinstance(space, Mapping):
            raise ConfigError(f"space must map names to domains, got {space!r}")
        domains: dict[str, Domain] = {}
        for key, domain in sorted(space.items()):
            for name, kind in (("interactions", Interactions), ("features", DerivedFeatures)):
                if (key == name) != isinstance(domain, kind):
                    raise ConfigError(
                        f"{name}, and only it, takes {kind.__name__}(), got {key}: {domain}"
                    )
            if isinstance(domain, Interactions | DerivedFeatures):
                continue
            if not isinstance(domain, Domain):
                raise ConfigError(
                    f"{key} needs a domain such as LogUniform(1e-4, 1), got {domain!r}"
                )
            domains[key] = domain
        interactions, features = space.get("interactions"), space.get("features")
        assert interactions is None or isinstance(interactions, Interactions)
        assert features is None or isinstance(features, DerivedFeatures)
        return cls(interactions, domains, features)

    def with_recommended_rates(self) -> Space:
        """Return the space with the recommended range of rates instead of the authors'.

        >>> space = Space.of({"learning_rate": AUTHORS_RATES})
        >>> space.with_recommended_rates().domains["learning_rate"].high
        512
        """
        domains = {key: RATES if d == AUTHORS_RATES else d for key, d in self.domains.items()}
        return Space(self.interactions, domains, self.features)

    def to_json(self) -> dict[str, str]:
        """Return the space for reports: the printed form of each domain by name.

        >>> Space.of({"l2": Uniform(0, 1)}).to_json()
        {'l2': 'Uniform(low=0, high=1)'}
        """
        parts = {"interactions": self.interactions, "features": self.features, **self.domains}
        return {key: str(domain) for key, domain in parts.items() if domain is not None}

    def initial(self, init: Mapping[str, Any], defaults: Any) -> Config:
        """Return c_init: the values of `init`, and the learner's default for every other key.

        Values of `init` outside the space are fixed. A tuned key without a value and without a
        default is refused, so that nothing is silently left untuned. If features are tuned, the
        derived groups in products are added to the configuration's derived groups.

        >>> Space.of({"depth": Integer(1, 9)}).initial({}, defaults=dict().get)
        Traceback (most recent call last):
        chacha.errors.ConfigError: 'depth' is tuned, but the learner has no default for it; \
if it knows the option, give it an initial value: init={'depth': ...}, --init depth=...
        """
        parts = ("interactions", "features")
        values = {key: value for key, value in init.items() if key not in parts}
        for key, domain in self.domains.items():
            if key not in values:
                values[key] = defaults(key)
            if values[key] is None:
                raise ConfigError(
                    f"{key!r} is tuned, but the learner has no default for it; if it knows the "
                    f"option, give it an initial value: init={{{key!r}: ...}}, --init {key}=..."
                )
            values[key] = domain.cast(values[key])
        config = Config(init.get("interactions", ()), values, init.get("features", ()))
        if self.features is None:  # then a group of such a name is a raw group of the stream
            return config
        names = {name for p in config.interactions for name in p if derived(name) is not None}
        return config.with_derived(names)
