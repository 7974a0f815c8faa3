"""Configurations, the space they are drawn from, and the names of derived groups."""

from __future__ import annotations

from chacha.config.config import Config
from chacha.config.derived_groups import DerivedFeatures
from chacha.config.space import Choice, Integer, Interactions, LogUniform, Space, Uniform

__all__ = [
    "Choice",
    "Config",
    "DerivedFeatures",
    "Integer",
    "Interactions",
    "LogUniform",
    "Space",
    "Uniform",
]
