"""Drivers: how rules and models run together, in Python or in the native engine."""

from __future__ import annotations

from typing import Any

from chacha.drivers.base import Core, Driver
from chacha.drivers.native import NativeDriver
from chacha.drivers.native_state import engine_sync
from chacha.drivers.python import PythonDriver
from chacha.drivers.records import Chunk, LiveModel, ServedPredictions, Step, Summary
from chacha.losses import Loss
from chacha.pools.base import LivePool
from chacha.pools.native import runs_in_engine

__all__ = ["Chunk", "LiveModel", "ServedPredictions", "Step", "Summary", "make_driver"]


def make_driver(core: Core, pool: LivePool, loss: Loss, **settings: Any) -> Driver:
    """Return the native driver if the engine implements every part, else the Python driver.

    >>> from chacha import Config, NativePool, ReferencePool
    >>> from chacha.rules.paper import ChampionChallengers
    >>> from chacha import SampleComplexity, Squared
    >>> def core():
    ...     return ChampionChallengers(
    ...         Config(), budget=2, oracle=lambda c, groups: [], evidence=SampleComplexity()
    ...     )
    >>> for pool in (NativePool(), ReferencePool()):
    ...     type(make_driver(core(), pool, Squared(), bits=18, baseline=False)).__name__
    'NativeDriver'
    'PythonDriver'
    """
    if runs_in_engine(pool) and (sync := engine_sync(core, pool, loss)) is not None:
        return NativeDriver(core, pool, loss, sync, **settings)
    return PythonDriver(core, pool, loss, **settings)
