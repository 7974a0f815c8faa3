"""River's learners as methods of a comparison: `river:CLASS`.

River is optional, so `chacha.pools.river` is imported when a method needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from chacha.losses import Loss
from chacha.pools.base import Learner

__all__ = ["PREFIX", "describe_river", "river_class", "river_learner"]

PREFIX = "river:"


def describe_river(name: str) -> str:
    """Return the description of a method `river:CLASS`.

    >>> describe_river("river:LinearRegression")
    "River's LinearRegression, its inputs scaled by River's StandardScaler"
    """
    return f"River's {name.removeprefix(PREFIX)}, its inputs scaled by River's StandardScaler"


def river_class(name: str) -> Any:
    """Return the :class:`~chacha.pools.river.RiverClass` of a method `river:CLASS`.

    >>> river_class("river:LinearRegression").path
    'linear_model.LinearRegression'
    """
    return import_module("chacha.pools.river").find_class(name.removeprefix(PREFIX))


def river_learner(name: str, loss: Loss, seed: int) -> Learner:
    """Return the learner of a method `river:CLASS`; worker processes can import this function.

    >>> from chacha import Squared
    >>> str(river_learner("river:LinearRegression", Squared(), 0))
    'StandardScaler | LinearRegression'
    """
    learner: Learner = import_module("chacha.pools.river").RiverLearner(
        name.removeprefix(PREFIX), loss, seed
    )
    return learner
