"""Observed: what the stream has shown so far: label range, groups, distinct features."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

from chacha.config.config import Config
from chacha.config.derived_groups import Column
from chacha.data.example import Example
from chacha.losses import Loss

__all__ = ["Groups", "Observed", "Round", "Seen", "StreamFacts", "count_features"]


class StreamFacts(Protocol):
    """What the stream has shown so far, wherever it is kept."""

    @property
    def low(self) -> float:
        """The smallest label; infinite before the first."""

    @property
    def high(self) -> float:
        """The largest label."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Distinct features by group."""

    @property
    def groups(self) -> Sequence[str]:
        """The names of the groups, sorted; also of those that had no feature yet."""

    @property
    def columns(self) -> Sequence[Column]:
        """What is known of the columns, if something is derived."""

    @property
    def raw_features(self) -> int:
        """Distinct features over all groups."""

    def complexity(self, config: Config) -> float:
        """d_c."""


def count_features(config: Config, sizes: Mapping[str, int], raw_features: int) -> float:
    """d_c: Σ|g| over the groups plus, for each product, the features it induces.

    A group that stands k times in a product gives its combinations with repetition. A float,
    because products of large groups have more features than there are whole numbers.

    >>> count_features(Config([("a", "a"), ("a", "b")]), {"a": 3, "b": 2}, 5)  # 5 + 3·4/2 + 3·2
    17.0
    """
    d = float(raw_features)
    for names in config.interactions:
        features = 1.0
        for group, same in groupby(names):
            size = float(sizes.get(group, 0))
            for times, _ in enumerate(same):
                features = features * (size + times if size > 0 else 0.0) / (times + 1.0)
        d += features
    return d


class Observed:
    """One label range and one count of distinct raw features, for all models alike.

    Features are counted by VW's hash at `bits` bits, so memory is bounded whatever the
    stream brings: a group never counts more than 2^bits features.

    >>> from chacha.data.example import parse_line
    >>> observed = Observed()
    >>> for line in ("1 |a x y |b u", "3 |a x z |b u v"):
    ...     observed.observe(parse_line(line))
    >>> observed.low, observed.high, observed.groups, observed.raw_features
    (1.0, 3.0, ['a', 'b'], 5)
    >>> observed.complexity(Config(["ab"]))  # 3 + 2 + 3·2
    11.0
    """

    def __init__(self, bits: int = 18) -> None:
        self.low = math.inf
        self.high = -math.inf
        self.sizes: dict[str, int] = {}
        self.raw_features = 0  # distinct ones over all groups, the constant excluded
        self._mask = (1 << bits) - 1
        self._seen: dict[str, set[int]] = {}
        self._complexity: dict[Config, float] = {}
        self.columns: Sequence[Column] = ()  # whoever derives groups tells

    def observe(self, example: Example) -> None:
        """Take in one labelled example."""
        if example.label is not None:
            self.low = min(self.low, example.label)
            self.high = max(self.high, example.label)
        for group, features in example.groups.items():
            seen = self._seen.setdefault(group, set())
            seen.update([feature.hashed & self._mask for feature in features])
            if len(seen) != self.sizes.get(group):
                self.sizes[group] = len(seen)
                self.raw_features = sum(self.sizes.values())
                self._complexity.clear()

    @property
    def groups(self) -> Sequence[str]:
        """The names of the groups, sorted; also of those that had no feature yet."""
        return sorted(self.sizes)

    def complexity(self, config: Config) -> float:
        """d_c.

        >>> from chacha.data.example import parse_line
        >>> observed = Observed()
        >>> observed.observe(parse_line("1 |a x y z"))
        >>> observed.complexity(Config([("a", "a")]))  # 3 + 3·4/2
        9.0
        """
        if config not in self._complexity:
            self._complexity[config] = count_features(config, self.sizes, self.raw_features)
        return self._complexity[config]


class Seen(Protocol):
    """What the stream has shown so far, as far as the algorithm needs to know."""

    @property
    def groups(self) -> Sequence[str]:
        """The names of the groups, sorted."""

    @property
    def raw_features(self) -> int:
        """Distinct raw features over all groups."""

    @property
    def loss_range(self) -> float:
        """The range of the loss that serves as evidence."""

    def complexity(self, config: Config) -> float:
        """d_c: the number of features that `config` induces."""

    def proxy(self, raw: float, y: float) -> float:
        """The bounded loss of a prediction."""


class Groups(Protocol):
    """What the stream has shown so far, as far as the contest needs to know."""

    @property
    def groups(self) -> Sequence[str]:
        """The names of the groups, sorted."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Distinct features by group."""

    @property
    def columns(self) -> Sequence[Column]:
        """What is known of the columns that something may be derived from."""


class Round(NamedTuple):
    """One example: what the live models predicted, what was served, and the label.

    >>> from chacha.data.example import parse_line
    >>> from chacha.losses import Squared
    >>> Round(parse_line("1 |a x"), {Config(): 0.5}, 0.5, 1.0, 1.0, Squared()).y
    1.0
    """

    example: Example
    raw: Mapping[Config, float]
    served: float
    y: float
    weight: float
    loss: Loss
