"""Methods: what can be compared, each a few lines over the library's own parts.

All but naive and offline share the serving rule: the live model with the lowest upper bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from chacha.comparators import (
    AggressiveScheduling,
    Exhaustive,
    RandomChallengers,
    WithoutChampion,
)
from chacha.errors import ConfigError
from chacha.model import ChaCha
from chacha.space import Space

__all__ = ["METHODS", "Method", "method_named"]


def _always(space: Space) -> bool:
    return True


def _never(space: Space) -> bool:
    return False


def _several_numbers(space: Space) -> bool:
    return len(space.domains) > 1  # of one number both neighbours are proposed, whatever the seed


def _budget(budget: int, groups: int) -> int:
    return budget


def _one(budget: int, groups: int) -> int:
    return 1


def _pairs(budget: int, groups: int) -> int:
    return 1 + groups * (groups - 1) // 2


def _naive(**settings: Any) -> ChaCha:
    return ChaCha.paper(**{**settings, "budget": 1})


@dataclass(frozen=True)
class Method:
    """One way to pass over a stream.

    A method of your own is one too, if workers can import its functions. Its results are kept
    under its name, so give it another when it changes.

    `make` gives the model for the settings of :class:`~chacha.ChaCha`. `draws` tells whether the
    seed matters; `live` about how many models run at once, of a budget and a number of groups.
    `learns` is the share of the stream after which nothing is learned any more.

    >>> METHODS["random"].make(budget=3, seed=1).settings["algorithm"]
    'RandomChallengers'
    """

    name: str
    about: str
    make: Callable[..., ChaCha]
    draws: Callable[[Space], bool] = _always
    live: Callable[[int, int], int] = _budget
    learns: float = 1.0


METHODS = {
    method.name: method
    for method in (
        Method("naive", "the initial configuration alone", _naive, _never, _one),
        Method(
            "random",
            "the initial configuration and b - 1 random ones of the first batch, for good",
            partial(ChaCha.paper, algorithm=RandomChallengers),
        ),
        Method(
            "exhaustive",
            "the initial configuration and the whole first batch, for good; b is ignored",
            partial(ChaCha.paper, algorithm=Exhaustive),
            _several_numbers,
            _pairs,
        ),
        Method("paper", "ChaCha as printed", ChaCha.paper),
        Method("flaml", "ChaCha with the constants of the authors' code", ChaCha.flaml),
        Method(
            "aggressive",
            "ablation: leases only, no regard for performance",
            partial(ChaCha.paper, algorithm=AggressiveScheduling),
        ),
        Method(
            "no-champion",
            "ablation: aggressive, and the champion is not kept live",
            partial(ChaCha.paper, algorithm=WithoutChampion),
        ),
        Method(
            "offline",
            "the initial configuration learns the first 20%, then predicts the rest, frozen",
            _naive,
            _never,
            _one,
            learns=0.2,
        ),
    )
}


def method_named(name: str) -> Method:
    """The method of a name.

    >>> method_named("clever")
    Traceback (most recent call last):
    chacha.errors.ConfigError: there is no method 'clever'; choose from naive, random, \
exhaustive, paper, flaml, aggressive, no-champion, offline
    """
    if name not in METHODS:
        raise ConfigError(f"there is no method {name!r}; choose from {', '.join(METHODS)}")
    return METHODS[name]
