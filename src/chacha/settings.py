"""The settings of a model, as a type: what the presets of ChaCha accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from chacha.evidence import Evidence
from chacha.losses import Loss
from chacha.oracle import ConfigOracle
from chacha.pool import LivePool
from chacha.space import Domain, Interactions, Space

__all__ = ["Settings"]


class Settings(TypedDict, total=False):
    """The settings of :class:`ChaCha`, for its presets."""

    budget: int
    space: Mapping[str, Interactions | Domain] | Space | None
    init: Mapping[str, Any] | None
    pool: LivePool | None
    oracle: ConfigOracle | None
    evidence: Evidence | None
    loss: Loss | None
    lease_factor: int
    seed: int
    baseline: bool
    keep_decisions: int
    max_pending: int
    ticket_life: int
