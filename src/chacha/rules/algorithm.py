"""The interface of the rules: an algorithm that never changes, and the state value it decides by.

An algorithm holds settings only, so any number of models share one. All that changes during a run
is in its state, and a decision depends on the state and on the facts about the stream alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from chacha.config.config import Config
from chacha.rules.decisions import Decision
from chacha.rules.head_start import Starting
from chacha.rules.stream_facts import ScoredExample, StreamFacts

__all__ = ["Algorithm", "Outcome", "RulesState"]


class Outcome(NamedTuple):
    """The decisions of one step, and the failures of a custom oracle, which then proposes none."""

    decisions: list[Decision]
    failures: list[Exception]


class RulesState(Protocol):
    """The part of a state that drivers and models read. Each algorithm has its own class."""

    @property
    def champion(self) -> Config:
        """C: the champion."""

    @property
    def t(self) -> int:
        """The number of examples learned."""

    @property
    def S(self) -> Collection[Config]:
        """S: the challengers, live or waiting."""

    @property
    def B(self) -> Sequence[Config]:
        """B: the live challengers."""

    @property
    def decide_anyway(self) -> bool:
        """Whether a decision is due after the next example, whether or not a test fires."""

    def copy(self) -> Self:
        """Return a copy that further steps do not change; it shares the oracle."""


StateT = TypeVar("StateT", bound=RulesState)


class Algorithm(Protocol, Generic[StateT]):
    """The algorithm of a rule set. The methods change nothing but the state they are given.

    The caller starts a model for every :class:`~chacha.rules.decisions.WentLive` and drops it for
    every :class:`~chacha.rules.decisions.Retired`.
    """

    @property
    def initial(self) -> Config:
        """The first champion."""

    @property
    def starting(self) -> Starting:
        """How the model of a challenger starts."""

    def start(self) -> StateT:
        """Return the state before the first example."""

    def begin(self, state: StateT, facts: StreamFacts) -> Outcome:
        """Line 2, and line 5 for the first example: the first challengers go live."""

    def begun(self, state: StateT) -> bool:
        """Return whether the oracle has proposed something, or is not needed."""

    def charge(self, state: StateT, scored: ScoredExample) -> Sequence[BaseException]:
        """Lines 3, 8 and 9: charge the live models for one example; return what failed."""

    def decide(self, state: StateT, facts: StreamFacts) -> Outcome:
        """Lines 10-17, then line 5 for the next example."""

    def withdraw(self, state: StateT, c: Config) -> None:
        """Forget a challenger that the learner refused to start, and free its slot."""

    def live(self, state: StateT) -> Sequence[Config]:
        """Return the configurations that have a model, the champion first."""

    def served_by(self, state: StateT) -> Any:
        """Return the configuration or blend that serves the next example."""

    def serve(self, state: StateT, raw: Mapping[Config, float]) -> float:
        """Line 6: return the prediction to serve, given those of all live models."""

    def constants(self) -> dict[str, Any]:
        """Return the settings of the rules, for reports."""
