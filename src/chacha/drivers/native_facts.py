"""The facts of a stream as the native engine counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import intern
from typing import Any

from chacha._native import Engine
from chacha.config.config import Config
from chacha.config.derived_groups import ColumnProfile
from chacha.drivers.native_screen import NativeScreen
from chacha.rules.feature_counts import complexity
from chacha.tasks import Task

__all__ = ["NativeStreamFacts"]


class NativeStreamFacts:
    """The engine's counts as :class:`~chacha.rules.stream_facts.StreamFacts`.

    >>> from chacha.losses import Squared
    >>> from chacha.pools.native import NativePool
    >>> from chacha.tasks import task_of
    >>> NativeStreamFacts(NativePool().engine, task_of(Squared())).groups
    []
    """

    def __init__(
        self,
        engine: Engine,
        task: Task,
        screen: NativeScreen | None = None,
        models: Mapping[Config, int] | None = None,
    ) -> None:
        self._engine, self._task, self.screen = engine, task, screen
        self._models = models or {}
        self._version = 0
        self._columns: Sequence[ColumnProfile] = ()

    def refresh(self) -> None:
        """Read the gains of the screen anew: examples were learned since the last decision."""
        if self.screen is not None:
            self.screen.invalidate()

    @property
    def low(self) -> float:
        """The smallest label; infinite before the first."""
        return self._engine.low

    @property
    def high(self) -> float:
        """The largest label; minus infinity before the first."""
        return self._engine.high

    @property
    def skewed(self) -> bool:
        """Whether a few of the last labels are much larger than the others, and have a scale."""
        return self._engine.skewed

    def beyond_scale(self, config: Config) -> bool:
        """Return whether the last labels spread much more than in the scale of a live model."""
        return self._engine.beyond_scale(self._models[config])

    @property
    def groups(self) -> Sequence[str]:
        """The names of all groups, sorted, including those without a feature yet."""
        return sorted(map(intern, self._engine.sizes))

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of distinct features of each group."""
        return self._engine.sizes

    @property
    def raw_features(self) -> int:
        """The number of distinct raw features over all groups, without the constant."""
        return self._engine.raw_features

    @property
    def columns(self) -> Sequence[ColumnProfile]:
        """Profiles of the columns that features may be derived from."""
        version = self._engine.profile_version
        if version != self._version:
            self._columns = sorted(_profile(*facts) for facts in self._engine.profile)
            self._version = version
        return self._columns

    @property
    def loss_range(self) -> float:
        """The range of the bounded loss over the labels so far."""
        return self._task.proxy_range(self.low, self.high) if self.low <= self.high else 0.0

    def complexity(self, config: Config) -> float:
        """Return d_c."""
        return complexity(config, self._engine.sizes, self._engine.raw_features)


def _profile(group: str, name: str, *facts: Any) -> ColumnProfile:
    """Return a profile with names that all models of a process share."""
    return ColumnProfile(intern(group), intern(name), *facts)
