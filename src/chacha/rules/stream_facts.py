"""Facts about the stream so far: the label range, the groups, their distinct features.

Twin: native/src/rules/stream_facts.hpp
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from chacha.config.config import Config
from chacha.config.derived_groups import ColumnProfile
from chacha.data.example import Example
from chacha.data.label_map import LabelMap
from chacha.rules.feature_counts import complexity
from chacha.rules.recent_labels import RecentLabels

__all__ = ["ObservedStream", "ScoredExample", "StreamFacts"]


class StreamFacts(Protocol):
    """The facts about a stream that rules decide by, wherever they are counted.

    >>> facts: StreamFacts = ObservedStream()
    """

    @property
    def low(self) -> float:
        """The smallest label; infinite before the first."""

    @property
    def high(self) -> float:
        """The largest label; minus infinity before the first."""

    @property
    def groups(self) -> Sequence[str]:
        """The names of all groups, sorted, including those without a feature yet."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of distinct features of each group."""

    @property
    def raw_features(self) -> int:
        """The number of distinct raw features over all groups, without the constant."""

    @property
    def columns(self) -> Sequence[ColumnProfile]:
        """Profiles of the columns that features may be derived from."""

    @property
    def loss_range(self) -> float:
        """The range of the bounded loss over the labels so far."""

    def complexity(self, config: Config) -> float:
        """Return d_c: the number of features that `config` induces."""

    @property
    def skewed(self) -> bool:
        """Whether a few of the last labels are much larger than the others, and have a scale."""

    def beyond_scale(self, config: Config) -> bool:
        """Return whether the last labels spread much more than in the scale of a live model."""

    @property
    def screen(self) -> Any:
        """The screen that ranks candidates; only the recommended rules have one."""


def label_range(low: float, high: float) -> float:
    """Return the range of the labels, which is the range of the clipped absolute error.

    >>> label_range(1.0, 3.0)
    2.0
    """
    return high - low


class ObservedStream:
    """One label range and one count of distinct raw features, shared by all models.

    Features are counted by VW's hash at `bits` bits. This bounds memory: a group never counts
    more than 2^bits features. `loss_range` returns the range of the bounded loss for a label range.

    >>> from chacha.data.text_parser import parse_line
    >>> facts = ObservedStream()
    >>> for line in ("1 |a x y |b u", "3 |a x z |b u v"):
    ...     facts.observe(parse_line(line))
    >>> facts.low, facts.high, facts.groups, facts.raw_features
    (1.0, 3.0, ['a', 'b'], 5)
    >>> facts.complexity(Config(["ab"]))  # 3 + 2 + 3·2
    11.0
    """

    def __init__(
        self,
        bits: int = 18,
        loss_range: Callable[[float, float], float] = label_range,
        screen: Any = None,
        labels: RecentLabels | None = None,
    ) -> None:
        self._labels = labels
        self.low = math.inf
        self.high = -math.inf
        self.sizes: dict[str, int] = {}
        self.raw_features = 0
        self.columns: Sequence[ColumnProfile] = ()  # set by the driver that derives groups
        self.map_of: Callable[[Config], LabelMap] | None = None  # set where labels are scaled
        self.screen = screen
        self._loss_range = loss_range
        self._mask = (1 << bits) - 1
        self._hashes: dict[str, set[int]] = {}
        self._complexity: dict[Config, float] = {}

    def observe(self, example: Example) -> None:
        """Count one example: its label, if it has one, and its features."""
        if example.label is not None:
            self.low = min(self.low, example.label)
            self.high = max(self.high, example.label)
        for group, features in example.groups.items():
            hashes = self._hashes.setdefault(group, set())
            hashes.update([feature.hashed & self._mask for feature in features])
            if len(hashes) != self.sizes.get(group):
                self.sizes[group] = len(hashes)
                self.raw_features = sum(self.sizes.values())
                self._complexity.clear()

    @property
    def skewed(self) -> bool:
        """Whether a few of the last labels are much larger than the others, and have a scale."""
        return self._labels is not None and self._labels.skewed

    def beyond_scale(self, config: Config) -> bool:
        """Return whether the last labels spread much more than in the scale of a live model."""
        if self._labels is None or self.map_of is None:
            return False
        return self._labels.beyond(self.map_of(config))

    @property
    def groups(self) -> Sequence[str]:
        """The names of all groups, sorted, including those without a feature yet."""
        return sorted(self.sizes)

    @property
    def loss_range(self) -> float:
        """The range of the bounded loss over the labels so far."""
        return self._loss_range(self.low, self.high) if self.low <= self.high else 0.0

    def complexity(self, config: Config) -> float:
        """Return d_c.

        >>> from chacha.data.text_parser import parse_line
        >>> facts = ObservedStream()
        >>> facts.observe(parse_line("1 |a x y z"))
        >>> facts.complexity(Config([("a", "a")]))  # 3 + 3·4/2
        9.0
        """
        if config not in self._complexity:
            self._complexity[config] = complexity(config, self.sizes, self.raw_features)
        return self._complexity[config]


class ScoredExample(NamedTuple):
    """The losses on one labelled example. Rules see losses, never labels or predictions.

    All mappings have the live models that predicted the example. `losses` are the reported losses
    and `bounded` the bounded ones. For blending, `halves` are the losses of the mean of a
    challenger's and the champion's predictions, and `distances` the differences of the two.
    `step_loss` is the loss of the label before as the prediction, if labels have a scale.

    >>> ScoredExample({Config(): 0.25}, served_loss=0.25).weight
    1.0
    """

    losses: Mapping[Config, float]
    served_loss: float
    weight: float = 1.0
    bounded: Mapping[Config, float] = {}
    halves: Mapping[Config, float] = {}
    distances: Mapping[Config, float] = {}
    step_loss: float = math.nan
