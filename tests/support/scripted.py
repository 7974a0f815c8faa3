"""Scripted parts for tests of the paper's rules: facts, bounds, losses and proposals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from chacha import Config, Decision
from chacha.config.derived_groups import ColumnProfile
from chacha.data.example import Example
from chacha.data.text_parser import parse_line
from chacha.rules import ProgressiveLoss
from chacha.rules.oracle import ConfigOracle
from chacha.rules.paper import Bound, ChampionChallengers, Evidence, PaperRules
from tests.support.running import RunningPaper


def conf(name: str) -> Config:
    """A configuration that is only a name."""
    return Config(values={"name": name})


def name_of(config: Config) -> str:
    return str(config.values["name"])


@dataclass
class World:
    """The facts of a stream: fixed, or changed by the test."""

    groups: Sequence[str] = ("a", "b")
    raw_features: int = 2
    loss_range: float = 1.0
    d: Callable[[Config], float] = field(default=lambda config: 1.0)
    columns: Sequence[ColumnProfile] = ()
    skewed: bool = False
    low: float = 0.0
    high: float = 1.0
    screen: Any = None

    @property
    def sizes(self) -> Mapping[str, int]:
        return dict.fromkeys(self.groups, 1)

    @property
    def example(self) -> Example:
        """An example with one feature in each group, and the label 0."""
        return _example(tuple(self.groups))

    def complexity(self, config: Config) -> float:
        return self.d(config)

    def beyond_scale(self, config: Config) -> bool:
        return False


@cache
def _example(groups: Sequence[str]) -> Example:
    return parse_line("0 " + " ".join(f"|{group} x" for group in groups))


@dataclass(frozen=True)
class FixedEpsilon:
    """Evidence with the same ε for all models, so that losses alone decide."""

    epsilon: float = 0.1
    burn_in: int = 0

    def bound(
        self, standing: ProgressiveLoss, d: float, challengers: int, loss_range: float
    ) -> Bound:
        if standing.n == 0:
            return Bound(0.0, float("inf"))
        return Bound(standing.mean, self.epsilon)


class ScriptedOracle:
    """Proposes the script's challengers for each champion; records its calls."""

    def __init__(self, script: Mapping[str, Sequence[str]]) -> None:
        self.script = script
        self.calls: list[str] = []

    def __call__(self, champion: Config, groups: Sequence[str]) -> list[Config]:
        self.calls.append(name_of(champion))
        return [conf(name) for name in self.script.get(name_of(champion), ())]


def core(
    oracle: ConfigOracle,
    budget: int = 3,
    evidence: Evidence | None = None,
    seed: int = 0,
    initial: str = "init",
) -> RunningPaper:
    rules = PaperRules(evidence or FixedEpsilon(), oracle=oracle)
    return RunningPaper(ChampionChallengers(rules, conf(initial), budget, seed=seed))


def feed(cc: RunningPaper, world: World, losses: Mapping[str, float]) -> list[Decision]:
    """One example: every live configuration loses what the script says."""
    return cc.learn({c: losses[name_of(c)] for c in (cc.champion, *cc.B)}, world)


def kinds_and_names(decisions: Sequence[Decision]) -> list[tuple[str, str]]:
    """Decisions as (kind, name)."""
    return [(d.kind, name_of(d.config)) for d in decisions]
