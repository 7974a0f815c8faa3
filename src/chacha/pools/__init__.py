"""Pools: one file per library that can hold the live models."""

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
"""The names of the command line, and where each pool lives."""


def default_pool() -> LivePool:
    """Return the pool of a model that names none: the native one.

    >>> type(default_pool()).__name__
    'NativePool'
    """
    return open_pool("native")


def open_pool(name: str) -> LivePool:
    """The pool that a word on the command line means; loads its library only now.

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
