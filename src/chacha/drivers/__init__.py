"""Drivers: how rules and models run together, in Python or in the native engine."""

from __future__ import annotations

import warnings
from typing import Any

from chacha.drivers.base import Driver
from chacha.drivers.native import NativeDriver
from chacha.drivers.native_state import engine_gap
from chacha.drivers.python import PythonDriver
from chacha.drivers.records import Chunk, LiveModel, ServedPredictions, Step, Summary
from chacha.pools.base import LivePool
from chacha.pools.native import NativePool, runs_in_engine
from chacha.rules.algorithm import Algorithm
from chacha.tasks import Task

__all__ = ["Chunk", "LiveModel", "ServedPredictions", "Step", "Summary", "make_driver"]

SLOWER = "15 to 100"  # docs/engine.md


class SlowPathWarning(UserWarning):
    """A custom part keeps the native engine from running a model; the run is slower.

    >>> issubclass(SlowPathWarning, UserWarning)
    True
    """


def make_driver(algorithm: Algorithm[Any], pool: LivePool, task: Task, **settings: Any) -> Driver:
    """Return the native driver if the engine implements every part, else the Python driver.

    If a custom part of the rules is the reason, a warning and a note in the summary name it.

    >>> from chacha import Config, NativePool, ReferencePool, Squared
    >>> from chacha.rules.paper import ChampionChallengers, PaperRules
    >>> from chacha.tasks import task_of
    >>> algorithm = ChampionChallengers(PaperRules(), Config(), budget=2)
    >>> for pool in (NativePool(), ReferencePool()):
    ...     type(make_driver(algorithm, pool, task_of(Squared()), bits=18, baseline=False)).__name__
    'NativeDriver'
    'PythonDriver'
    """
    if not isinstance(pool, NativePool):
        return PythonDriver(algorithm, pool, task, **settings)
    gap = engine_gap(algorithm, task)
    if gap is None and runs_in_engine(pool):
        return NativeDriver(algorithm, pool, task, **settings)
    gap = gap or f"the pool {type(pool).__name__} is not built in"
    note = f"{SLOWER} times slower than the engine: {gap}, so every example goes through Python"
    warnings.warn(note, SlowPathWarning, stacklevel=3)
    return PythonDriver(algorithm, pool, task, notes=[note], **settings)
