"""The state of the rules in the native engine, which holds it while it runs.

`read` returns the state with the engine's sums, `write` gives a state to the engine. Both copy
values; neither changes the value it is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, Protocol

from chacha.config.config import Config
from chacha.drivers.native_screen import NativeScreen
from chacha.losses import EngineLoss, engine_loss
from chacha.pools.native import NativePool
from chacha.rules.algorithm import Algorithm, RulesState
from chacha.rules.contest.betting import MASK, Coin, PairedBernstein, PairedBetting, Pairing, number
from chacha.rules.contest.blending import Blend, BlendGain, Blending, ChampionServes, Serving
from chacha.rules.contest.contest import Contest
from chacha.rules.contest.state import Challenger, ContestState
from chacha.rules.contest.surprise import Surprise
from chacha.rules.paper.bounds import SampleComplexity
from chacha.rules.paper.champion import ChampionChallengers
from chacha.rules.paper.scheduler import FOREVER, Scheduler
from chacha.rules.paper.state import PaperState
from chacha.rules.progressive_loss import ProgressiveLoss
from chacha.tasks import Task

__all__ = ["EngineState", "ServingModels", "engine_gap", "engine_state", "served_by"]

ServingModels = tuple[int, int, float]
"""The model numbers of the champion and of the challenger blended in, and the latter's share."""

Models = Mapping[Config, int]

EVERY_EXAMPLE = ("charge", "bound", "_bounds", "serve", "served_by", "decide", "_schedule")
"""Methods of Algorithm 1 that the engine runs for every example, instead of calling them."""


class EngineState(Protocol):
    """Reads the state of the rules from the engine, and writes it there."""

    screen: NativeScreen | None
    calls_python: bool
    """Whether the engine calls a custom test during a step."""

    def read(self, state: Any, models: Models) -> RulesState:
        """Return a state as the examples since the last decision have changed it."""

    def write(self, state: Any, models: Models) -> None:
        """Give the engine the state after a decision."""

    @property
    def serving(self) -> ServingModels:
        """The models that serve the next example, by number."""


def engine_gap(algorithm: Algorithm[Any], task: Task) -> str | None:
    """Return why the engine cannot run an algorithm; None if it can.

    The engine implements the built-in parts. A custom oracle runs beside it in any case, and so
    does a subclass of :class:`PairedBetting`, whose bets it asks for.
    """
    if engine_loss(task.loss_function) is None:
        return f"the loss {type(task.loss_function).__name__} is not built in"
    if isinstance(algorithm, ChampionChallengers):
        if (name := _overridden(algorithm, ChampionChallengers, *EVERY_EXAMPLE)) is not None:
            return f"the algorithm {name} is not the built-in one"
        scheduler = algorithm.scheduling
        if scheduler.schedule is not Scheduler.schedule and not scheduler.at_lease_ends:
            return f"the scheduler {scheduler.__name__}.schedule is not the built-in one"
        evidence = algorithm.rules.evidence
        if not isinstance(evidence, SampleComplexity):
            return f"the evidence {type(evidence).__name__} is not built in"
        if (name := _overridden(evidence, SampleComplexity, "bound")) is not None:
            return f"the evidence {name} is not the built-in one"
        return None
    assert isinstance(algorithm, Contest)
    if type(algorithm) is not Contest:
        return f"the algorithm {type(algorithm).__name__} is not built in"
    coin = algorithm.rules.evidence.coin
    if coin is not None and type(coin) is not Coin:
        return f"the coin {type(coin).__name__} is not built in"
    blending = algorithm.rules.blending
    base = ChampionServes if isinstance(blending, ChampionServes) else Blending
    if (name := _overridden(blending, base, "choose", "decay")) is not None:
        return f"the blending {name} is not the built-in one"
    return None


def _overridden(value: object, base: type, *names: str) -> str | None:
    """Return the first of these attributes that the class of a value does not share with `base`."""
    for name in names:
        if getattr(type(value), name) is not getattr(base, name):
            return f"{type(value).__name__}.{name}"
    return None


def engine_state(
    algorithm: Algorithm[Any], pool: NativePool, task: Task, failures: list[BaseException]
) -> EngineState:
    """Prepare the engine for an algorithm; the failures of a custom test are appended."""
    rules = engine_loss(task.loss_function)
    assert rules is not None, "the engine has no gap"
    if isinstance(algorithm, ChampionChallengers):
        return PaperEngineState(algorithm, pool, rules)
    assert isinstance(algorithm, Contest)
    return ContestEngineState(algorithm, pool, rules, failures)


class PaperEngineState:
    """The state of the paper's rules in the engine: standings, and who is tested."""

    screen: NativeScreen | None = None
    calls_python = False

    def __init__(self, algorithm: ChampionChallengers, pool: NativePool, loss: EngineLoss) -> None:
        self.algorithm, self.engine = algorithm, pool.engine
        evidence = algorithm.rules.evidence
        assert isinstance(evidence, SampleComplexity)
        self.engine.set_rules(
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

    def read(self, state: PaperState, models: Models) -> PaperState:
        """Return a state as the examples since the last decision have changed it."""
        live = self.algorithm.live(state)
        t, incumbent, standings = self.engine.standings([models[c] for c in live])
        (incumbent_config,) = (c for c in live if models[c] == incumbent)
        standing = {c: ProgressiveLoss(*s) for c, s in zip(live, standings, strict=True)}
        return state.after(t, incumbent_config, standing)

    def write(self, state: PaperState, models: Models) -> None:
        """Give the engine the state after a decision."""
        tested, lease = self.algorithm.tested(state), state.lease
        live = self.algorithm.live(state)
        contenders = [(models[c], c in tested, lease.get(c, FOREVER)) for c in live]
        incumbent = models[state.incumbent]
        self.engine.set_contenders(contenders, incumbent, len(state.S), state.decide_anyway)


class ContestEngineState:
    """The state of the recommended rules in the engine: pairings, blends, the screen."""

    def __init__(
        self, algorithm: Contest, pool: NativePool, loss: EngineLoss, failures: list[BaseException]
    ) -> None:
        self.engine, rules = pool.engine, algorithm.rules
        self.screen: NativeScreen | None = NativeScreen(pool, rules.screening.looks)
        evidence, blending = rules.evidence, rules.blending
        coin = evidence.coin
        self.calls_python = custom = type(evidence) not in (PairedBetting, PairedBernstein)
        self.engine.set_contest_rules(
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
            share=rules.screening.share,
            rate=rules.screening.rate,
            custom=(custom_payoff(evidence), failures) if custom else None,
        )

    @property
    def serving(self) -> ServingModels:
        """The champion and the challenger blended in, by number."""
        return self.engine.serving

    def read(self, state: ContestState, models: Models) -> ContestState:
        """Return a state as the examples since the last decision have changed it."""
        t, charged, level, surprise, serving, challengers = self.engine.contest
        live = state.B
        other, *rest = serving
        return replace(
            state,
            t=t,
            charged=charged,
            level=level,
            serving=Serving(None if other < 0 else live[other], *rest),
            surprise=Surprise(*surprise),
            challengers={
                c: Challenger(Pairing(*pairing), BlendGain(*gain), lease, state.challengers[c].move)
                for c, (_, lease, pairing, gain) in zip(live, challengers, strict=True)
            },
        )

    def write(self, state: ContestState, models: Models) -> None:
        """Give the engine the state after a decision."""
        live, serving = state.B, state.serving
        other = -1 if serving.other is None else live.index(serving.other)
        challengers = [
            (
                models[c],
                each.lease,
                _fields_of_pairing(each.pairing),
                _fields_of_gain(each.blend_gain),
            )
            for c, each in state.challengers.items()
        ]
        self.engine.set_contest(
            champion=models[state.champion],
            charged=state.charged,
            level=state.level,
            surprise=_fields_of_surprise(state.surprise),
            decide_anyway=state.decide_anyway,
            serving=(other, *_fields_of_serving(serving)[1:]),
            challengers=challengers,
        )


def _fields(value: type) -> Callable[[Any], tuple[Any, ...]]:
    return attrgetter(*(field.name for field in fields(value)))


_fields_of_pairing, _fields_of_gain = _fields(Pairing), _fields(BlendGain)
_fields_of_serving, _fields_of_surprise = _fields(Serving), _fields(Surprise)


def custom_payoff(evidence: PairedBetting) -> Callable[[float, float, float, float], float]:
    """Return the payoff of a block of examples by a custom test.

    >>> custom_payoff(PairedBetting())(0.5, 0.25, 0.5, -0.5)
    1.45
    """

    def payoff(mean: float, variance: float, gain: float, harm: float) -> float:
        bet = evidence.bet(mean, variance)
        if mean > 0.0:
            return number(evidence.payoff(bet, gain, mean))
        return number(evidence.payoff(bet, harm, -mean)) if mean < 0.0 else 1.0

    return payoff


def served_by(serving: ServingModels, configs: Mapping[int, Config]) -> Config | Blend:
    """Return the configuration or blend that served, given the configurations by model number.

    >>> print(served_by((0, 1, 0.25), {0: Config(), 1: Config(["ab"])}))
    0.75 of no interactions, 0.25 of interactions ab
    """
    champion, other, share = serving
    if share in (0.0, 1.0):
        return configs[other if share else champion]
    return Blend(configs[champion], configs[other], share)
