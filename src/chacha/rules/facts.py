"""The stream's facts as the algorithm takes them: with the loss that is evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from chacha.config.config import Config
from chacha.config.derived_groups import Column
from chacha.losses import Loss
from chacha.rules.stream_facts import StreamFacts

__all__ = ["SeenWithLoss"]


class SeenWithLoss(NamedTuple):
    """The stream's facts with the range of the loss that is evidence: a champion's `Seen`.

    >>> from chacha.losses import Squared
    >>> from chacha.rules.stream_facts import Observed
    >>> SeenWithLoss(Observed(), Squared()).loss_range
    0.0
    """

    observed: StreamFacts
    loss: Loss

    @property
    def groups(self) -> Sequence[str]:
        """The names of the groups, sorted."""
        return self.observed.groups

    @property
    def raw_features(self) -> int:
        """Distinct raw features over all groups."""
        return self.observed.raw_features

    @property
    def loss_range(self) -> float:
        """The range of the proxy loss over the labels so far."""
        low, high = self.observed.low, self.observed.high
        return self.loss.proxy_range(low, high) if low <= high else 0.0

    def complexity(self, config: Config) -> float:
        """d_c."""
        return self.observed.complexity(config)

    @property
    def sizes(self) -> Mapping[str, int]:
        """Distinct features by group."""
        return self.observed.sizes

    @property
    def columns(self) -> Sequence[Column]:
        """What is known of the columns that something may be derived from."""
        return self.observed.columns

    def proxy(self, raw: float, y: float) -> float:
        """The bounded loss of a prediction."""
        return self.loss.proxy(raw, y, self.observed.low, self.observed.high)
