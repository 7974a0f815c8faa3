"""The settings of a model, as a type: what the presets of ChaCha accept."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any, TypedDict

from chacha.champion import ChampionChallengers
from chacha.errors import ConfigError
from chacha.evidence import Evidence
from chacha.losses import Loss
from chacha.oracle import ConfigOracle
from chacha.pool import LivePool
from chacha.space import Domain, Interactions, Space

__all__ = ["Settings", "check_parts", "whole"]


def whole(name: str, value: Any, least: int, about: str = "") -> int:
    """`value` as a whole number of at least `least`, or an error that names the setting.

    >>> whole("budget", 0, 1)
    Traceback (most recent call last):
    chacha.errors.ConfigError: budget must be a whole number of at least 1, got 0
    """
    try:
        number = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = least - 1
    if number < least:
        rule = f"a whole number of at least {least}{about}"
        raise ConfigError(f"{name} must be {rule}, got {value!r}")
    return number


PARTS = {
    "pool": ("learn", "open_pool('vw') or ReferencePool()"),
    "loss": ("proxy", "Squared() or Logistic()"),
    "oracle": ("__call__", "a function of the champion and the groups"),
    "evidence": ("bound", "SampleComplexity()"),
    "algorithm": ("scheduling", "the class Exhaustive"),
}


def check_parts(**parts: object) -> None:
    """Refuse what cannot be the part it is given as: words instead of objects above all.

    >>> check_parts(loss="logistic")
    Traceback (most recent call last):
    chacha.errors.ConfigError: loss must be an object such as Squared() or Logistic(), \
got 'logistic'
    """
    for name, part in parts.items():
        method, advice = PARTS[name]
        if part is not None and not hasattr(part, method):
            raise ConfigError(f"{name} must be an object such as {advice}, got {part!r}")


class Settings(TypedDict, total=False):
    """The settings of :class:`ChaCha`, for its presets."""

    budget: int
    space: Mapping[str, Interactions | Domain] | Space | None
    init: Mapping[str, Any] | None
    pool: LivePool | None
    oracle: ConfigOracle | None
    evidence: Evidence | None
    loss: Loss | None
    algorithm: type[ChampionChallengers]
    lease_factor: int
    seed: int
    baseline: bool
    keep_decisions: int
    max_pending: int
    ticket_life: int
