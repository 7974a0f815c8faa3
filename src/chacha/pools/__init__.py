"""Pools, which hold the live models: one module for each library of learners."""

from __future__ import annotations

from chacha.pools.base import Capabilities, CopyingPool, Learner, LivePool, SequentialPool
from chacha.pools.native import NativePool
from chacha.pools.reference import ReferenceLearner, ReferencePool
from chacha.pools.registry import POOLS, default_pool, open_pool, pool_names

__all__ = [
    "POOLS",
    "Capabilities",
    "CopyingPool",
    "Learner",
    "LivePool",
    "NativePool",
    "ReferenceLearner",
    "ReferencePool",
    "SequentialPool",
    "default_pool",
    "open_pool",
    "pool_names",
]
