"""Links: a rulebook's state, in the native engine and back. The engine keeps it while it runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Protocol

from chacha._native import Engine
from chacha.config.config import Config, Product
from chacha.losses import LOSSES, Loss
from chacha.pools.native import NativePool
from chacha.rules.contest.betting import MASK, PairedBernstein, PairedBetting
from chacha.rules.contest.blending import Blend, BlendGain, Blending, ChampionServes
from chacha.rules.contest.contest import Contest
from chacha.rules.feature_counts import Widths, cells_for, mean_features
from chacha.rules.paper.bounds import SampleComplexity
from chacha.rules.paper.champion import ChampionChallengers
from chacha.rules.paper.scheduler import FOREVER

__all__ = ["ContestSync", "EngineSync", "PaperSync", "engine_sync"]

ServedBy = tuple[int, int, float]  # the champion, who is blended in, and its share


class EngineSync(Protocol):
    """What a driver needs to keep the engine and the algorithm together."""

    def sync(self) -> None:
        """The engine's sums as the algorithm's."""

    def push(self, models: Mapping[Config, int], decide_anyway: bool) -> None:
        """What was decided, to the engine."""

    @property
    def serving(self) -> ServedBy:
        """Who serves the next example, by the numbers of the models."""


def engine_sync(
    core: ChampionChallengers | Contest, pool: NativePool, loss: Loss
) -> EngineSync | None:
    """The link for an algorithm whose parts the engine knows; None if it does not."""
    if type(loss) not in LOSSES.values():
        return None
    if isinstance(core, ChampionChallengers):
        return (
            PaperSync(core, pool.engine, loss) if type(core.evidence) is SampleComplexity else None
        )
    evidence = type(core.evidence) in (PairedBetting, PairedBernstein)
    blending = type(core.serving.policy) in (Blending, ChampionServes)
    return ContestSync(core, pool, loss) if evidence and blending else None


def _loss_rules(loss: Loss) -> dict[str, Any]:
    return {
        "loss": type(loss).__name__.lower(),
        "tau": getattr(loss, "tau", 0.5),
        "floor": getattr(loss, "floor", 1e-4),
    }


class PaperSync:
    """Algorithm 1: standings and bounds."""

    def __init__(self, core: ChampionChallengers, engine: Engine, loss: Loss) -> None:
        self.core, self.engine = core, engine
        self.config: dict[int, Config] = {}
        evidence = core.evidence
        assert isinstance(evidence, SampleComplexity)
        engine.set_rules(
            **_loss_rules(loss),
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
    def serving(self) -> ServedBy:
        """The incumbent."""
        incumbent = self.engine.incumbent
        return incumbent, incumbent, 0.0

    def sync(self) -> None:
        """The engine's sums as the algorithm's."""
        core, engine = self.core, self.engine
        core.t = engine.t
        core.incumbent = self.config[engine.incumbent]
        models = {c: number for number, c in self.config.items()}
        for c in core.live:
            standing = core.standing[c]
            standing.n, standing.total, standing.weight = engine.standing(models[c])

    def push(self, models: Mapping[Config, int], decide_anyway: bool) -> None:
        """What was decided, to the engine."""
        core = self.core
        tested, lease = core.tested, core.scheduler.lease
        contenders = [(models[c], c in tested, lease.get(c, FOREVER)) for c in core.live]
        self.engine.set_contenders(contenders, models[core.incumbent], len(core.S), decide_anyway)
        self.config = {number: c for c, number in models.items()}


class ContestSync:
    """The recommended rules: pairings, blends, the screen."""

    def __init__(self, core: Contest, pool: NativePool, loss: Loss) -> None:
        self.core, self.engine = core, pool.engine
        engine = pool.engine
        self.screen = core.screen = NativeScreen(pool, core.screening.looks)
        evidence, blending = core.evidence, core.serving.policy
        coin = evidence.coin
        engine.set_contest_rules(
            **_loss_rules(loss),
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
            noise=blending.standard_errors,
            wild=blending.clip,
            harm=blending.tolerance,
            champion_only=isinstance(blending, ChampionServes),
            share=core.screening.share,
            rate=core.screening.rate,
        )

    @property
    def serving(self) -> ServedBy:
        """The champion, and who is blended in."""
        return self.engine.serving

    def sync(self) -> None:
        """The engine's sums as the algorithm's."""
        core, serving = self.core, self.core.serving
        core.t = self.engine.t
        self.screen.look_again()
        challengers, told, core.level, core.charged = self.engine.contest
        other, serving.share, serving.max_distance, serving.served_loss, serving.champion_loss = (
            told
        )
        live = core.B
        serving.other = None if other < 0 else live[other]
        for c, (_, _, pairing, helping) in zip(live, challengers, strict=True):
            for name, value in zip(PAIRING, pairing, strict=True):
                setattr(core.pairings[c], name, value)
            serving.gains[c] = BlendGain(*helping)

    def push(self, models: Mapping[Config, int], decide_anyway: bool) -> None:
        """What was decided, to the engine."""
        core, serving = self.core, self.core.serving
        live = core.B
        challengers: list[Any] = []
        for c in live:
            pairing, helping = core.pairings[c], serving.gains.get(c) or BlendGain()
            challengers.append((models[c], core.lease[c], _FACTS(pairing), _SUMS(helping)))
        decide_anyway = decide_anyway or core.decide_anyway
        other = -1 if serving.other is None else live.index(serving.other)
        losses = serving.served_loss, serving.champion_loss
        told = (other, serving.share, serving.max_distance, *losses)
        self.engine.set_contest(
            models[core.champion], challengers, told, core.level, core.charged, decide_anyway
        )


PAIRING = (
    *("number", "needed", "n", "reserve", "wealth", "against", "scale", "blocks", "block_n"),
    *("block_gain", "block_harm", "blocks_since_restart", "total", "squares", "clips"),
    *("champion_loss", "loss"),
)
HELPING = ("n", "none", "half", "whole", "squares", "square_distance")
_FACTS, _SUMS = attrgetter(*PAIRING), attrgetter(*HELPING)


class NativeScreen:
    """The engine's screen. What it has found stays the same while one decision is made."""

    def __init__(self, pool: NativePool, looks: int) -> None:
        self.pool, self.engine, self.looks = pool, pool.engine, looks
        self._products: Sequence[Product] = ()
        self._sizes: Mapping[str, int] = {}
        self._cells: dict[Product, int] = {}  # as long as the sizes are the same
        self._gains: Mapping[Product, float] | None = None
        self._widths, self._stale = Widths({}), True

    @property
    def products(self) -> Sequence[Product]:
        """The candidates at hand."""
        return self._products

    @property
    def ready(self) -> bool:
        """Whether every candidate had its looks, or its chances to be looked at."""
        return self.engine.screen_rounds >= self.looks

    def gains(self) -> Mapping[Product, float]:
        """What each candidate saved, per look; only of those that were looked at."""
        if self._gains is None:
            every, found = self.engine.screened
            pairs = zip(self._products, found, strict=True)
            self._gains = dict(pairs if every else filter(_is_known, pairs))
        return self._gains

    def width(self, config: Config) -> float:
        """Features that the configuration gives an example, about."""
        return self._now().of_config(config)

    def width_of(self, product: Product) -> float:
        """Features that the product gives an example, about."""
        return self._now().of_product(product)

    def look_again(self) -> None:
        """Examples were learned since."""
        self._gains, self._stale = None, True

    def _now(self) -> Widths:
        if self._stale:
            examples, active = self.engine.active
            means = mean_features(dict(active), examples, self._sizes)
            if means != self._widths.means or self._widths.full:
                self._widths = Widths(means)
            self._stale = False
        return self._widths

    def set(self, products: Sequence[Product], sizes: Mapping[str, int]) -> None:
        """Begin anew with these candidates; `sizes` has the distinct features of the groups."""
        self.pool.derive(p[0] for p in products if len(p) == 1)
        if sizes != self._sizes:
            self._cells.clear()
        known = self._cells
        for p in products:
            if p not in known:
                known[p] = cells_for(p, sizes)
        self.engine.set_screen([(p, known[p]) for p in products])
        self._products, self._sizes = products, sizes
        self.look_again()


def _is_known(pair: tuple[Product, float]) -> bool:
    return math.isfinite(pair[1])


def served_by(serving: ServedBy, config: Mapping[int, Config]) -> Config | Blend:
    """Who served, of the numbers of models.

    >>> print(served_by((0, 1, 0.25), {0: Config(), 1: Config(["ab"])}))
    0.75 of no interactions, 0.25 of interactions ab
    """
    champion, other, share = serving
    if share in (0.0, 1.0):
        return config[other if share else champion]
    return Blend(config[champion], config[other], share)
