"""The rulebook: which parts make up the rules of a model, and the checks of its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import index
from typing import Any, TypedDict

from chacha.config.config import Config
from chacha.config.derived_groups import DerivedFeatures
from chacha.config.space import RATES, Domain, Interactions, Space
from chacha.errors import ConfigError
from chacha.losses import Loss
from chacha.pools.base import LivePool, capabilities_of
from chacha.rules.contest.betting import PairedBetting
from chacha.rules.contest.blending import Blending
from chacha.rules.contest.contest import Contest
from chacha.rules.contest.moves import Moves
from chacha.rules.contest.rotation import MoveSource, OracleMoves
from chacha.rules.contest.screening import Screening
from chacha.rules.head_start import Starting
from chacha.rules.oracle import ConfigOracle
from chacha.rules.paper.bounds import Evidence, SampleComplexity
from chacha.rules.paper.champion import ChampionChallengers
from chacha.rules.paper.default_oracle import DefaultOracle

__all__ = ["Rulebook", "Settings", "check_parts", "whole_number"]


def whole_number(name: str, value: Any, least: int, about: str = "") -> int:
    """Return `value` as an int of at least `least`, or raise an error that names the setting.

    >>> whole_number("budget", 0, 1)
    Traceback (most recent call last):
    chacha.errors.ConfigError: budget must be a whole number of at least 1, got 0
    """
    try:
        number = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = least - 1
    if number < least:
        rule = f"a whole number of at least {least}{about}"
        raise ConfigError(f"{name} must be {rule}, got {value!r}")
    return number


Space_ = Mapping[str, Interactions | Domain] | Space

PARTS = {
    "pool": ("learn", "open_pool('vw') or ReferencePool()"),
    "loss": ("proxy", "Squared() or Logistic()"),
    "oracle": ("__call__ next", "a function of the champion and the groups"),
    "evidence": ("burn_in needed", "PairedBetting() or SampleComplexity()"),
    "algorithm": ("scheduling", "the class Exhaustive"),
    "blending": ("choose", "Blending() or ChampionServes()"),
    "screening": ("looks", "Screening()"),
}


def check_parts(**parts: object) -> None:
    """Raise an error for a part of the wrong type, such as a name instead of an object.

    >>> check_parts(loss="logistic")
    Traceback (most recent call last):
    chacha.errors.ConfigError: loss must be an object such as Squared() or Logistic(), \
got 'logistic'
    """
    for name, part in parts.items():
        methods, advice = PARTS[name]
        if part is not None and not any(hasattr(part, method) for method in methods.split()):
            raise ConfigError(f"{name} must be an object such as {advice}, got {part!r}")


class Settings(TypedDict, total=False):
    """The settings of :class:`ChaCha`, as keyword arguments of its presets."""

    budget: int
    space: Mapping[str, Interactions | Domain] | Space | None
    init: Mapping[str, Any] | None
    pool: LivePool | None
    oracle: ConfigOracle | MoveSource | None
    evidence: Evidence | PairedBetting | None
    loss: Loss | None
    algorithm: type[ChampionChallengers] | None
    lease_factor: int
    starting: Starting | None
    screening: Screening | None
    blending: Blending | None
    first_lease: int
    seed: int
    baseline: bool
    keep_decisions: int
    max_pending: int
    ticket_life: int


@dataclass(frozen=True)
class Rulebook:
    """The parts that make up the rules; None means the default part.

    With the paper's evidence or one of its algorithms, all defaults are the paper's. Otherwise
    they are the recommended ones.

    >>> Rulebook().paper, Rulebook(evidence=SampleComplexity()).paper
    (False, True)
    """

    evidence: Evidence | PairedBetting | None = None
    algorithm: type[ChampionChallengers] | None = None
    oracle: ConfigOracle | MoveSource | None = None
    lease_factor: int = 5
    starting: Starting | None = None
    blending: Blending | None = None
    screening: Screening | None = None
    first_lease: int = 1000

    def __post_init__(self) -> None:
        whole_number("lease_factor", self.lease_factor, 1)
        whole_number("first_lease", self.first_lease, 1)
        parts = {f.name: getattr(self, f.name) for f in fields(self) if f.name in PARTS}
        check_parts(**parts)
        if self.starting is not None and not isinstance(self.starting, Starting):
            raise ConfigError(
                f"starting must be HeadStart() or FromScratch(), got {self.starting!r}"
            )
        if self.paper and isinstance(self.evidence, PairedBetting):
            raise ConfigError(
                "evidence: paired evidence is for the recommended rules, not for the paper's "
                "algorithms; leave algorithm out"
            )
        wrong = [n for n in ("starting", "blending", "screening") if getattr(self, n) is not None]
        if self.paper and wrong:
            raise ConfigError(f"{wrong[0]} is for the recommended rules, not for the paper's")

    @property
    def paper(self) -> bool:
        """Whether these are the paper's rules."""
        unpaired = self.evidence is not None and not isinstance(self.evidence, PairedBetting)
        return unpaired or self.algorithm is not None

    def space(self, space: Space_ | None, pool: LivePool) -> Space:
        """Return the search space; by default the recommended rules tune the learning rate too."""
        if space is not None:
            space = Space.of(space)
            if space.features is not None and not capabilities_of(pool).derives:
                raise ConfigError(
                    f"{type(pool).__name__} cannot use derived groups; leave features out, or "
                    "use the native pool"
                )
            return space
        rate = not self.paper and pool.default("learning_rate") is not None
        derives = not self.paper and capabilities_of(pool).derives
        return Space(
            Interactions(),
            {"learning_rate": RATES} if rate else {},
            DerivedFeatures(text=False) if derives else None,
        )

    def core(
        self, initial: Config, space: Space, budget: int, seed: int
    ) -> ChampionChallengers | Contest:
        """Return the algorithm with its parts."""
        oracle = self.oracle
        if self.paper and space.features is not None:
            raise ConfigError("features are for the recommended rules, not for the paper's")
        if self.paper:
            assert not isinstance(self.evidence, PairedBetting | MoveSource)
            assert not isinstance(oracle, MoveSource)
            return (self.algorithm or ChampionChallengers)(
                initial,
                budget=budget,
                oracle=DefaultOracle(space, seed) if oracle is None else oracle,
                evidence=SampleComplexity() if self.evidence is None else self.evidence,
                seed=seed,
                lease_factor=self.lease_factor,
            )
        assert self.evidence is None or isinstance(self.evidence, PairedBetting)
        return Contest(
            initial,
            budget=budget,
            moves=_moves(oracle, space, seed),
            evidence=self.evidence or PairedBetting(),
            blending=self.blending,
            screening=self.screening,
            starting=self.starting,
            first_lease=self.first_lease,
        )


def _moves(oracle: ConfigOracle | MoveSource | None, space: Space, seed: int) -> MoveSource:
    if oracle is None:
        return Moves(space, seed)
    return oracle if isinstance(oracle, MoveSource) else OracleMoves(oracle)
