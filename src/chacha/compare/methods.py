"""Methods: what can be compared, each a few lines over the library's own parts.

Those with more than one live model serve the one with the lowest upper bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from chacha.compare.fixed_configs import RATES, all_pairs, bins_grid, rate_grid
from chacha.compare.river_methods import PREFIX, RiverLearner, about_river, find_river
from chacha.config.config import Config
from chacha.config.space import Space
from chacha.errors import ConfigError
from chacha.losses import Loss
from chacha.model import ChaCha
from chacha.pools.base import Learner
from chacha.rules.contest.betting import PairedBetting
from chacha.rules.paper.comparators import (
    AggressiveScheduling,
    Exhaustive,
    RandomChallengers,
    WithoutChampion,
)

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


def _wide(budget: int, groups: int) -> int:
    return 1 + groups // 2  # one model with about so many times the features


def _grid(budget: int, groups: int) -> int:
    return len(RATES) * (8 + _one(budget, groups) + _wide(budget, groups))  # 4 for each reading


def _foreign(budget: int, groups: int) -> int:
    return 100  # a learner in Python


def _naive(**settings: Any) -> ChaCha:
    return ChaCha.paper(**{**settings, "budget": 1})


def _recommended(**settings: Any) -> ChaCha:
    """The recommended rules; where the authors' range of rates is asked for, with their own."""
    if not isinstance(settings.get("evidence"), PairedBetting):
        settings.pop("evidence", None)
    return ChaCha(**{**settings, "space": settings["space"].with_recommended_rates()})


@dataclass(frozen=True)
class Method:
    """One way to pass over a stream.

    A method of your own is one too, if workers can import its functions. Its results are kept
    under its name, so give it another when it changes.

    `make` gives the model for the settings of :class:`~chacha.ChaCha`. `draws` tells whether the
    seed matters; `live` about how many models run at once, of a budget and a number of groups.
    `learns` is the share of the stream after which nothing is learned any more.
    `fixed` gives configurations, of the initial one and the names of all groups of the stream.
    Each passes over the whole stream with nothing to tune; the one that lost least in the end
    counts, with the CPU seconds of all. `derived` gives more of them, where features are tuned.
    `derives` tells whether the method can tune features; others are not asked to.
    `learner` gives a learner of your own, of the loss and a seed; it predicts on the scale of the
    loss. It takes the place of the model, and `make` only tells whether the settings are fine.
    `version` is of what the results depend on beside chacha; they are kept under it too.

    >>> METHODS["random"].make(budget=3, seed=1).settings["algorithm"]
    'RandomChallengers'
    >>> [str(config) for config in METHODS["all-pairs"].fixed(Config(), "abc")]
    ['interactions ab, ac, bc']
    """

    name: str
    about: str
    make: Callable[..., ChaCha]
    draws: Callable[[Space], bool] = _always
    live: Callable[[int, int], int] = _budget
    learns: float = 1.0
    fixed: Callable[[Config, Sequence[str]], Sequence[Config]] | None = None
    derived: Callable[[Config, Sequence[str]], Sequence[Config]] | None = None
    derives: bool = False
    learner: Callable[[Loss, int], Learner] | None = None
    version: str = ""


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
        Method("chacha", "the recommended rules", _recommended, _several_numbers, derives=True),
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
        Method(
            "all-pairs",
            "the initial configuration and the products of all pairs of groups, in one model",
            _naive,
            _never,
            _wide,
            fixed=all_pairs,
        ),
        Method(
            "best-fixed",
            "the best in hindsight of fixed configurations: the initial interactions or all "
            f"pairs, with the learning rates {', '.join(f'{rate:g}' for rate in RATES)}; where "
            "features are tuned also with bins of all groups, and all pairs of them",
            _naive,
            _never,
            _grid,
            fixed=rate_grid,
            derived=bins_grid,
        ),
    )
}


def method_named(name: str) -> Method:
    """The method of a name: one of :data:`METHODS`, or `river:NAME`.

    >>> method_named("river:LinearRegression").about
    "River's LinearRegression, its inputs scaled by River's StandardScaler"
    >>> method_named("clever")
    Traceback (most recent call last):
    chacha.errors.ConfigError: there is no method 'clever'; choose from naive, random, \
exhaustive, chacha, paper, flaml, aggressive, no-champion, offline, all-pairs, best-fixed, \
river:NAME
    """
    if name.startswith(PREFIX):
        return _of_river(name)
    if name not in METHODS:
        choices = ", ".join([*METHODS, "river:NAME"])
        raise ConfigError(f"there is no method {name!r}; choose from {choices}")
    return METHODS[name]


def _of_river(name: str) -> Method:
    found = find_river(name)
    return Method(
        name,
        about_river(name),
        _naive,
        _always if found.seeded else _never,
        _foreign,
        learner=partial(RiverLearner, name),
        version=f"river {found.version}",
    )
