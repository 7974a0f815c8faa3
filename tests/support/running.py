"""An algorithm with its state, so that tests step through the rules without a learner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from chacha import Config, Decision
from chacha.drivers.base import Driver
from chacha.losses import Squared
from chacha.rules.algorithm import Algorithm, Outcome
from chacha.rules.contest.betting import Pairing
from chacha.rules.contest.blending import Blend
from chacha.rules.contest.contest import Contest
from chacha.rules.contest.rotation import Move
from chacha.rules.contest.screen import Screen
from chacha.rules.contest.state import ContestState
from chacha.rules.paper import ChampionChallengers, PaperState
from chacha.rules.stream_facts import ScoredExample

A = TypeVar("A", bound=Algorithm[Any])
S = TypeVar("S", ContestState, PaperState)


class Running(Generic[A, S]):
    """An algorithm and the state of one run; other attributes are those of the state."""

    def __init__(self, algorithm: A) -> None:
        self.algorithm = algorithm
        self.state: S = algorithm.start()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.state, name)

    @property
    def live(self) -> tuple[Config, ...]:
        return tuple(self.algorithm.live(self.state))

    def begin(self, facts: Any) -> list[Decision]:
        return decisions_of(self.algorithm.begin(self.state, facts))

    def charge(self, scored: ScoredExample) -> None:
        failures = self.algorithm.charge(self.state, scored)
        assert not failures

    def decide(self, facts: Any) -> list[Decision]:
        return decisions_of(self.algorithm.decide(self.state, facts))

    def serve(self, raw: Mapping[Config, float]) -> float:
        return self.algorithm.serve(self.state, raw)

    def withdraw(self, c: Config) -> None:
        self.algorithm.withdraw(self.state, c)


def decisions_of(outcome: Outcome) -> list[Decision]:
    """The decisions; the first failure is raised."""
    for failure in outcome.failures:
        raise failure
    return outcome.decisions


class RunningPaper(Running[ChampionChallengers, PaperState]):
    """The paper's rules."""

    def learn(
        self, losses: Mapping[Config, float], facts: Any, weight: float = 1.0
    ) -> list[Decision]:
        self.charge(ScoredExample(losses, 0.0, weight, losses))
        return self.decide(facts)


class RunningContest(Running[Contest, ContestState]):
    """The recommended rules, with a screen."""

    def __init__(self, algorithm: Contest) -> None:
        super().__init__(algorithm)
        self.screen = Screen(algorithm.rules.screening)

    @property
    def incumbent(self) -> Config | Blend:
        return self.algorithm.served_by(self.state)

    @property
    def pairings(self) -> dict[Config, Pairing]:
        return {c: each.pairing for c, each in self.state.challengers.items()}

    @property
    def lease(self) -> dict[Config, int]:
        return {c: each.lease for c, each in self.state.challengers.items()}

    @property
    def move_of(self) -> dict[Config, Move]:
        return {c: each.move for c, each in self.state.challengers.items()}

    def begin(self, facts: Any) -> list[Decision]:
        facts.screen = self.screen
        return super().begin(facts)

    def feed(
        self, facts: Any, raw: Mapping[Config, float], y: float = 0.0, weight: float = 1.0
    ) -> list[Decision]:
        """Charge the predictions of an example, then decide."""
        facts.screen, champion = self.screen, self.state.champion
        live, served = len(self.live), self.serve(raw)
        self.charge(scored(raw, champion, served, y, weight))
        if weight > 0:
            residual = Squared().residual(raw[champion], y)
            self.screen.learn(facts.example, residual, live)
        return self.decide(facts)


def scored(
    raw: Mapping[Config, float], champion: Config, served: float, y: float, weight: float
) -> ScoredExample:
    """The squared losses of predictions."""
    loss = Squared().loss
    distances = {c: p - raw[champion] for c, p in raw.items()}
    halves = {c: loss(raw[champion] + 0.5 * d, y) for c, d in distances.items()}
    losses = {c: loss(p, y) for c, p in raw.items()}
    return ScoredExample(losses, loss(served, y), weight, {}, halves, distances)


def live_of(driver: Driver) -> tuple[Config, ...]:
    """The live configurations of a driver, the champion first."""
    return tuple(driver.algorithm.live(driver.state()))
