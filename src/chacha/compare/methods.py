"""The methods that can be compared, each a few lines over the library's parts.

Methods with more than one live model serve the model with the lowest upper bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any

from chacha.compare.fixed_configs import RATES, all_pairs, bins_grid, rate_grid
from chacha.compare.river_methods import PREFIX, describe_river, river_class, river_learner
from chacha.compare.running_mean import running_mean
from chacha.config.config import Config
from chacha.config.space import Space
from chacha.errors import ConfigError
from chacha.losses import Loss
from chacha.model import ChaCha
from chacha.pools.base import Learner
from chacha.rules.contest.betting import PairedBetting
from chacha.rules.contest.contest import ContestRules
from chacha.rules.contest.scaling import Scaling
from chacha.rules.paper.comparators import (
    AggressiveScheduling,
    Exhaustive,
    RandomChallengers,
    WithoutChampion,
)

__all__ = ["FLOOR", "METHODS", "Method", "SeedUse", "method_named"]

FLOOR = "mean"
"""The method that every other must beat; `chacha compare` always runs it."""


class SeedUse(Enum):
    """When the seed changes the outcome of a method.

    With one tuned number both of its neighbours are proposed, whatever the seed, so some methods
    depend on the seed only if several numbers are tuned.
    """

    NEVER = "never"
    SEVERAL_NUMBERS = "several numbers"
    ALWAYS = "always"


def _naive(**settings: Any) -> ChaCha:
    return ChaCha.paper(**{**settings, "budget": 1})


def _recommended(**settings: Any) -> ChaCha:
    """The recommended rules; they widen the authors' range of learning rates to their own."""
    evidence, scaling = settings.pop("evidence", None), settings.pop("scaling", Scaling())
    rules = ContestRules(scaling=scaling)
    paired = isinstance(evidence, PairedBetting)
    settings["rules"] = replace(rules, evidence=evidence) if paired else rules
    return ChaCha(**{**settings, "space": settings["space"].with_recommended_rates()})


@dataclass(frozen=True)
class Method:
    """One method of a comparison.

    A custom method works too, if worker processes can import its functions. Results are cached
    under its name, so give it another name when it changes.

    - `make` returns the model for the settings of :class:`~chacha.ChaCha`.
    - `seed_use` says when the seed matters; a run is not repeated for seeds that change nothing.
    - `cost` is the approximate time of an example relative to naive; it scales progress bars.
    - `train_share` is the share of the stream after which nothing is learned any more.
    - `fixed` returns configurations, given the initial one and the names of the stream's groups.
      Each passes over the whole stream with nothing to tune. The one with the lowest loss counts,
      with the CPU seconds of all. `fixed_derived` returns more of them where features are tuned.
    - `scales` says whether `make` takes a setting `scaling`.
    - `tunes_features` says whether the method can tune features; others are not asked to.
    - `learner` returns a learner, given the loss and a seed. It predicts on the scale of the
      loss and takes the place of the model; `make` then only validates the settings. If it
      needs labels and weights only, `uses_features` is False, which saves time on tables.
    - `version` names what the results depend on besides chacha; it is part of the cache key.

    >>> METHODS["random"].make(budget=3, seed=1).settings["algorithm"]
    'RandomChallengers'
    >>> [str(config) for config in METHODS["all-pairs"].fixed(Config(), "abc")]
    ['interactions ab, ac, bc']
    """

    name: str
    about: str
    make: Callable[..., ChaCha]
    seed_use: SeedUse = SeedUse.ALWAYS
    cost: float = 2.0
    train_share: float = 1.0
    fixed: Callable[[Config, Sequence[str]], Sequence[Config]] | None = None
    fixed_derived: Callable[[Config, Sequence[str]], Sequence[Config]] | None = None
    tunes_features: bool = False
    scales: bool = False
    learner: Callable[[Loss, int], Learner] | None = None
    uses_features: bool = True
    version: str = ""

    def is_seeded(self, space: Space) -> bool:
        """Return whether the seed matters when `space` is tuned.

        >>> METHODS["random"].is_seeded(Space.of({})), METHODS["chacha"].is_seeded(Space.of({}))
        (True, False)
        """
        if self.seed_use is SeedUse.SEVERAL_NUMBERS:
            return len(space.domains) > 1
        return self.seed_use is SeedUse.ALWAYS


METHODS = {
    method.name: method
    for method in (
        Method(
            FLOOR,
            "the mean of the labels so far, without features: what every method must beat",
            _naive,
            SeedUse.NEVER,
            cost=10.0,
            learner=running_mean,
            uses_features=False,
        ),
        Method("naive", "the initial configuration alone", _naive, SeedUse.NEVER, cost=1.0),
        Method(
            "random",
            "the initial configuration and b - 1 random ones of the first batch, for good",
            partial(ChaCha.paper, algorithm=RandomChallengers),
        ),
        Method(
            "exhaustive",
            "the initial configuration and the whole first batch, for good; b is ignored",
            partial(ChaCha.paper, algorithm=Exhaustive),
            SeedUse.SEVERAL_NUMBERS,
            cost=10.0,
        ),
        Method(
            "chacha",
            "the recommended rules",
            _recommended,
            SeedUse.SEVERAL_NUMBERS,
            tunes_features=True,
            scales=True,
        ),
        Method("paper", "ChaCha as printed", ChaCha.paper),
        Method("flaml", "ChaCha with the constants of the authors' code", ChaCha.flaml),
        Method(
            "aggressive",
            "ablation: scheduling by leases only, without regard for performance",
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
            SeedUse.NEVER,
            cost=1.0,
            train_share=0.2,
        ),
        Method(
            "all-pairs",
            "the initial configuration and the products of all pairs of groups, in one model",
            _naive,
            SeedUse.NEVER,
            fixed=all_pairs,
        ),
        Method(
            "best-fixed",
            "the best in hindsight of fixed configurations: the initial interactions or all "
            f"pairs, with the learning rates {', '.join(f'{rate:g}' for rate in RATES)}; where "
            "features are tuned also with bins of all groups, and all pairs of them",
            _naive,
            SeedUse.NEVER,
            cost=20.0,
            fixed=rate_grid,
            fixed_derived=bins_grid,
        ),
    )
}


def method_named(name: str) -> Method:
    """Return the method of a name: one of :data:`METHODS`, or `river:NAME`.

    >>> method_named("river:LinearRegression").about
    "River's LinearRegression, its inputs scaled by River's StandardScaler"
    >>> method_named("clever")
    Traceback (most recent call last):
    chacha.errors.ConfigError: there is no method 'clever'; choose from mean, naive, \
random, exhaustive, chacha, paper, flaml, aggressive, no-champion, offline, all-pairs, best-fixed, \
river:NAME
    """
    if name.startswith(PREFIX):
        return _river_method(name)
    if name not in METHODS:
        choices = ", ".join([*METHODS, "river:NAME"])
        raise ConfigError(f"there is no method {name!r}; choose from {choices}")
    return METHODS[name]


def _river_method(name: str) -> Method:
    cls = river_class(name)
    return Method(
        name,
        describe_river(name),
        _naive,
        SeedUse.ALWAYS if cls.takes_seed else SeedUse.NEVER,
        cost=20.0,
        learner=partial(river_learner, name),
        version=f"river {cls.version}",
    )
