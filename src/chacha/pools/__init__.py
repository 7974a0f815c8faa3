"""Pools, which hold the live models: one module for each library of learners."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from chacha.errors import ConfigError
from chacha.pools.base import Copies, Derives, Learner, LivePool, SequentialPool
from chacha.pools.native import NativePool
from chacha.pools.reference import ReferenceLearner, ReferencePool

__all__ = [
    "POOLS",
    "Copies",
    "Derives",
    "Learner",
    "LivePool",
    "NativePool",
    "ReferenceLearner",
    "ReferencePool",
    "SequentialPool",
    "default_pool",
    "open_pool",
]

POOLS = {
    "native": ("chacha.pools.native", "NativePool"),
    "vw": ("chacha.pools.vw", "VWPool"),
    "reference": ("chacha.pools.reference", "ReferencePool"),
}
"""The names of the pools on the command line, each with its module and class."""


def default_pool() -> LivePool:
    """Return the default pool: the native one.

    >>> type(default_pool()).__name__
    'NativePool'
    """
    return open_pool("native")


def open_pool(name: str) -> LivePool:
    """Return a new pool by its name on the command line; its library is imported only now.

    >>> open_pool("reference").default("learning_rate")
    0.5
    >>> open_pool("abacus")
    Traceback (most recent call last):
    chacha.errors.ConfigError: there is no pool 'abacus'; choose from native, vw, reference
    """
    if name not in POOLS:
        raise ConfigError(f"there is no pool {name!r}; choose from {', '.join(POOLS)}")
    module, attribute = POOLS[name]
    return cast("LivePool", getattr(import_module(module), attribute)())
