"""A contest without a stream: tests script the raw predictions, and the label is 0."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chacha import Config, Decision, Example
from chacha.config.space import Interactions, LogUniform, Space
from chacha.errors import PoolError
from chacha.pools.base import Capabilities
from chacha.rules.contest.contest import Contest, ContestRules
from chacha.rules.contest.rotation import Move, MoveRequest, MoveSource, OracleMoves
from tests.support.running import RunningContest
from tests.support.scripted import ScriptedOracle, World, conf, name_of

__all__ = [
    *("Counted", "FakePool", "contest", "feed", "kinds", "rates", "scripted", "until"),
]

Raw = Callable[[Config], float]


def contest(
    moves: MoveSource, initial: Config | None = None, budget: int = 3, **settings: Any
) -> RunningContest:
    """A contest with short leases, unless the test sets something else."""
    rules = ContestRules(oracle=moves, **{"first_lease": 200, **settings})
    return RunningContest(Contest(rules, Config() if initial is None else initial, budget))


def scripted(script: Mapping[str, Sequence[str]], **settings: Any) -> RunningContest:
    """A contest whose challengers are names that a scripted oracle proposes."""
    return contest(OracleMoves(ScriptedOracle(script)), conf("init"), **settings)


def feed(
    core: RunningContest, world: World, raw: Raw | Mapping[str, float], weight: float = 1.0
) -> list[Decision]:
    """One example with label 0: every live model predicts what the test says."""
    predict = raw if callable(raw) else lambda c: raw[name_of(c)]
    predictions = {c: predict(c) for c in core.live}
    return core.feed(world, predictions, weight=weight)


def until(
    core: RunningContest, world: World, raw: Raw | Mapping[str, float], kind: str, most: int = 5000
) -> list[Decision]:
    """Feed examples until a decision of that kind; return the decisions of that example."""
    for _ in range(most):
        decisions = feed(core, world, raw)
        if kind in kinds(decisions):
            return decisions
    raise AssertionError(f"no {kind} in {most} examples")


def kinds(decisions: Sequence[Decision]) -> list[str]:
    return [d.kind for d in decisions]


def rates() -> Space:
    """A space of products and a learning rate."""
    return Space.of({"interactions": Interactions(), "learning_rate": LogUniform(2**-11, 2**9)})


@dataclass
class Counted:
    """Moves that count how often each of them went live beside which champion."""

    moves: Any
    gone: dict[tuple[Config, str, Any], int] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.moves, name)

    def next(self, request: MoveRequest) -> Move | None:
        move: Move | None = self.moves.next(request)
        if move is not None:
            key = request.champion, move.kind, move.name
            self.gone[key] = self.gone.get(key, 0) + 1
        return move


class FakePool:
    """Every model predicts what the test says; some configurations are refused."""

    capabilities = Capabilities()

    def __init__(self, raw: Raw, refuses: Callable[[Config], bool] = lambda c: False) -> None:
        self.raw, self.refuses = raw, refuses
        self.live: list[Config] = []

    def fresh(self) -> FakePool:
        return FakePool(self.raw, self.refuses)

    def default(self, key: str) -> float | None:
        return None

    def start(self, config: Config) -> None:
        if self.refuses(config):
            raise PoolError(f"no model for {config}")
        assert config not in self.live
        self.live.append(config)

    def stop(self, config: Config) -> None:
        self.live.remove(config)

    def predict(self, example: Example) -> Mapping[Config, float]:
        return {c: self.raw(c) for c in self.live}

    def learn(self, example: Example) -> Mapping[Config, float]:
        return self.predict(example)

    def learn_many(self, examples: Sequence[Example]) -> list[Mapping[Config, float]]:
        return [self.learn(example) for example in examples]
