"""Synchronization of the rules' state with the native engine, which holds it while it runs.

`push` copies the state of the core into the engine, `pull` copies the engine's sums back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Protocol

from chacha._native import Engine
from chacha.config.config import Config
from chacha.drivers.native_screen import NativeScreen
from chacha.losses import EngineLoss, Loss, engine_loss
from chacha.pools.native import NativePool
from chacha.rules.contest.betting import MASK, PairedBernstein, PairedBetting
from chacha.rules.contest.blending import Blend, BlendGain, Blending, ChampionServes
from chacha.rules.contest.contest import Contest
from chacha.rules.paper.bounds import SampleComplexity
from chacha.rules.paper.champion import ChampionChallengers
from chacha.rules.paper.scheduler import FOREVER

__all__ = [
    "ContestSync",
    "EngineSync",
    "PaperSync",
    "ServingModels",
    "engine_sync",
    "served_by",
]

ServingModels = tuple[int, int, float]
"""The model numbers of the champion and of the challenger blended in, and the latter's share."""


class EngineSync(Protocol):
    """Keeps the state of the engine and of the algorithm's core equal."""

    def pull(self) -> None:
        """Copy the engine's sums into the core."""

    def push(self, models: Mapping[Config, int], decide_anyway: bool) -> None:
        """Copy the core's decisions into the engine."""

    @property
    def serving(self) -> ServingModels:
        """The models that serve the next example, by number."""


def engine_sync(
    core: ChampionChallengers | Contest, pool: NativePool, loss: Loss
) -> EngineSync | None:
    """Return the synchronization for a core, or None if the engine does not implement its parts.

    The engine implements the built-in classes only: a subclass may override any of their rules.
    """
    rules = engine_loss(loss)
    if rules is None:
        return None
    if isinstance(core, ChampionChallengers):
        return (
            PaperSync(core, pool.engine, rules) if type(core.evidence) is SampleComplexity else None
        )
    evidence = type(core.evidence) in (PairedBetting, PairedBernstein)
    blending = type(core.serving.policy) in (Blending, ChampionServes)
    return ContestSync(core, pool, rules) if evidence and blending else None


class PaperSync:
    """Synchronization of Algorithm 1: standings and bounds."""

    def __init__(self, core: ChampionChallengers, engine: Engine, loss: EngineLoss) -> None:
        self.core, self.engine = core, engine
        self.configs: dict[int, Config] = {}
        evidence = core.evidence
        assert isinstance(evidence, SampleComplexity)
        engine.set_rules(
            loss=loss,
            scale=evidence.scale,
            delta=evidence.delta,
            log_in_root=evidence.log_in_root,
            p=evidence.p,
            comp=evidence.comp,
            natural=evidence.log_base == math.e,
            log_of_base=math.log(evidence.log_base),
            count_challengers=evidence.count_challengers,
            burn_in=evidence.burn_in,
        )

    @property
    def serving(self) -> ServingModels:
        """The incumbent, by number."""
        incumbent = self.engine.incumbent
        return incumbent, incumbent, 0.0

    def pull(self) -> None:
        """Copy the engine's sums into the core."""
        core, engine = self.core, self.engine
        core.t = engine.t
        core.incumbent = self.configs[engine.incumbent]
        models = {c: number for number, c in self.configs.items()}
        for c in core.live:
            standing = core.standing[c]
            standing.n, standing.total, standing.weight = engine.standing(models[c])

    def push(self, models: Mapping[Config, int], decide_anyway: bool) -> None:
        """Copy the core's decisions into the engine."""
        core = self.core
        tested, lease = core.tested, core.scheduler.lease
        contenders = [(models[c], c in tested, lease.get(c, FOREVER)) for c in core.live]
        self.engine.set_contenders(contenders, models[core.incumbent], len(core.S), decide_anyway)
        self.configs = {number: c for c, number in models.items()}


class ContestSync:
    """Synchronization of the recommended rules: pairings, blends, the screen."""

    def __init__(self, core: Contest, pool: NativePool, loss: EngineLoss) -> None:
        self.core, self.engine = core, pool.engine
        engine = pool.engine
        self.screen = core.screen = NativeScreen(pool, core.screening.looks)
        evidence, blending = core.evidence, core.serving.policy
        coin = evidence.coin
        engine.set_contest_rules(
            loss=loss,
            margin=evidence.margin,
            block=evidence.block,
            clip=evidence.clip,
            block_clip=evidence.block_clip,
            most=evidence.most,
            eliminates=evidence.eliminates,
            patience=evidence.patience,
            warm_up=evidence.warm_up,
            bernstein=isinstance(evidence, PairedBernstein),
            coin=None if coin is None else (coin.seed & MASK, coin.block),
            burn_in=blending.burn_in,
            early=blending.early,
            decay=blending.decay,
            standard_errors=blending.standard_errors,
            blend_clip=blending.clip,
            tolerance=blending.tolerance,
            champion_only=isinstance(blending, ChampionServes),
            share=core.screening.share,
            rate=core.screening.rate,
        )

    @property
    def serving(self) -> ServingModels:
        """The champion and the challenger blended in, by number."""
        return self.engine.serving

    def pull(self) -> None:
        """Copy the engine's sums into the core."""
        core, serving = self.core, self.core.serving
        core.t = self.engine.t
        self.screen.invalidate()
        challengers, blend, core.level, core.charged = self.engine.contest
        other, serving.share, serving.max_distance, *losses = blend
        serving.served_loss, serving.champion_loss = losses
        live = core.B
        serving.other = None if other < 0 else live[other]
        for c, (_, _, pairing, gain) in zip(live, challengers, strict=True):
            for name, value in zip(PAIRING, pairing, strict=True):
                setattr(core.pairings[c], name, value)
            serving.gains[c] = BlendGain(*gain)

    def push(self, models: Mapping[Config, int], decide_anyway: bool) -> None:
        """Copy the core's decisions into the engine."""
        core, serving = self.core, self.core.serving
        live = core.B
        challengers: list[Any] = []
        for c in live:
            pairing, gain = core.pairings[c], serving.gains.get(c) or BlendGain()
            challengers.append(
                (models[c], core.lease[c], _PAIRING_FIELDS(pairing), _GAIN_FIELDS(gain))
            )
        decide_anyway = decide_anyway or core.decide_anyway
        other = -1 if serving.other is None else live.index(serving.other)
        losses = serving.served_loss, serving.champion_loss
        blend = (other, serving.share, serving.max_distance, *losses)
        self.engine.set_contest(
            models[core.champion], challengers, blend, core.level, core.charged, decide_anyway
        )


PAIRING = (
    *("number", "needed", "n", "reserve", "wealth", "against", "scale", "blocks", "block_n"),
    *("block_gain", "block_harm", "blocks_since_restart", "total", "squares", "clips"),
    *("champion_loss", "loss"),
)
BLEND_GAIN = ("n", "none", "half", "whole", "squares", "square_distance")
_PAIRING_FIELDS, _GAIN_FIELDS = attrgetter(*PAIRING), attrgetter(*BLEND_GAIN)


def served_by(serving: ServingModels, configs: Mapping[int, Config]) -> Config | Blend:
    """Return the configuration or blend that served, given the configurations by model number.

    >>> print(served_by((0, 1, 0.25), {0: Config(), 1: Config(["ab"])}))
    0.75 of no interactions, 0.25 of interactions ab
    """
    champion, other, share = serving
    if share in (0.0, 1.0):
        return configs[other if share else champion]
    return Blend(configs[champion], configs[other], share)
