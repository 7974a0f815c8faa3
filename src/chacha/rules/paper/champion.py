"""Algorithm 1: losses in, decisions out, without a learner, a file or a clock.

Twin: native/src/rules/champion.hpp
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import Any, ClassVar

from chacha.config.arguments import LONGEST, whole_number
from chacha.config.config import Config
from chacha.config.describe import describe
from chacha.config.space import Interactions, Space
from chacha.errors import ConfigError
from chacha.rules.algorithm import Outcome
from chacha.rules.decisions import Decision, Eliminated, Promoted, Retired, WentLive
from chacha.rules.head_start import FromScratch, Starting
from chacha.rules.oracle import ConfigOracle, proposals_of
from chacha.rules.paper.bounds import Bound, Evidence, SampleComplexity, better_than, worse_than
from chacha.rules.paper.default_oracle import DefaultOracle
from chacha.rules.paper.scheduler import Scheduler
from chacha.rules.paper.state import PaperState
from chacha.rules.progressive_loss import ProgressiveLoss
from chacha.rules.stream_facts import ScoredExample, StreamFacts

__all__ = ["ChampionChallengers", "PaperRules"]


@dataclass(frozen=True)
class PaperRules:
    """The rules of the paper.

    Parameters
    ----------
    evidence
        The bound on a loss that promotions are tested with.
    algorithm
        Algorithm 1 of the paper, or a variant that it is compared with.
    oracle
        Proposes challengers for a champion: by default the paper's, otherwise any function of the
        champion and the groups.
    lease_factor
        n_min, the first lease, is this factor times the number of distinct raw features seen so
        far.

    Examples
    --------
    >>> import chacha
    >>> chacha.ChaCha(rules=PaperRules(lease_factor=10)).settings["lease_factor"]
    10
    """

    evidence: Evidence = field(default_factory=SampleComplexity)
    algorithm: type[ChampionChallengers] | None = None
    oracle: ConfigOracle | None = None
    lease_factor: int = 5

    def __post_init__(self) -> None:
        parts = ("bound", "burn_in")
        if isinstance(self.evidence, type) or not all(hasattr(self.evidence, p) for p in parts):
            raise ConfigError(
                f"evidence must be an object such as SampleComplexity(), got {self.evidence!r}"
            )
        if not (self.oracle is None or callable(self.oracle)):
            raise ConfigError(
                "oracle must be an object such as a function of the champion and the groups, "
                f"got {self.oracle!r}"
            )
        if self.algorithm is not None and not (
            isinstance(self.algorithm, type) and issubclass(self.algorithm, ChampionChallengers)
        ):
            raise ConfigError(
                f"algorithm must be a class such as Exhaustive, got {self.algorithm!r}"
            )
        whole_number("lease_factor", self.lease_factor, 1, most=LONGEST)

    @classmethod
    def authors(cls, **settings: Any) -> PaperRules:
        """Return the rules with the constants of the authors' code.

        >>> PaperRules.authors().evidence.burn_in
        100
        """
        return cls(**{"evidence": SampleComplexity.authors(), **settings})

    def default_space(self, rate: bool, derives: bool) -> Space:
        """Return what is tuned by default: interactions."""
        return Space(Interactions(), {})

    def make_algorithm(
        self, initial: Config, space: Space, budget: int, seed: int
    ) -> ChampionChallengers:
        """Return the algorithm that follows these rules."""
        if space.features is not None:
            raise ConfigError("features are for the recommended rules, not for the paper's")
        return (self.algorithm or ChampionChallengers)(self, initial, budget, space, seed)


@dataclass(frozen=True)
class ChampionChallengers:
    """ChaCha: a champion C and challengers S, of which at most b - 1 are live (B).

    Line 5 runs at the end of a step, for the next example: the scheduler does not depend on that
    example, so predicting is a pure read. Comments give the paper's line numbers.

    >>> from types import SimpleNamespace
    >>> facts = SimpleNamespace(groups="ab", raw_features=2, loss_range=1.0, complexity=lambda c: 2)
    >>> def oracle(champion, groups):
    ...     return [champion.with_product(groups)]
    >>> cc = ChampionChallengers(PaperRules(oracle=oracle), Config(), budget=2)
    >>> state = cc.start()
    >>> [d.kind for d in cc.begin(state, facts).decisions]
    ['WentLive']
    >>> while state.champion == Config():
    ...     losses = {Config(): 0.9, Config(["ab"]): 0.1}
    ...     _ = cc.charge(state, ScoredExample(losses, served_loss=0.9, bounded=losses))
    ...     decisions, _ = cc.decide(state, facts)
    >>> state.t, [d.kind for d in decisions]
    (1, ['Promoted'])
    """

    scheduling: ClassVar[type[Scheduler]] = Scheduler
    starting: ClassVar[Starting] = FromScratch()  # Algorithm 2, line 13

    rules: PaperRules
    initial: Config
    budget: int
    space: Space = field(default_factory=lambda: Space(Interactions(), {}))
    seed: int = 0

    def start(self) -> PaperState:
        """Lines 1 and 2: return the state before the first example."""
        oracle = self.rules.oracle
        oracle = DefaultOracle(self.space, self.seed) if oracle is None else oracle
        state = PaperState(self.initial, self.initial, oracle, Random(f"scheduler:{self.seed}"))
        state.proposed.add(self.initial)
        state.standing[self.initial] = ProgressiveLoss()
        return state

    def live(self, state: PaperState) -> tuple[Config, ...]:
        """Return the configurations that have a model, the champion first."""
        return (state.champion, *state.B)

    def tested(self, state: PaperState) -> tuple[Config, ...]:
        """Return the c of line 11; only live ones, because without a model there is no bound."""
        return tuple(c for c in state.B if c in state.S)

    def served_by(self, state: PaperState) -> Config:
        """Return the configuration that serves the next example."""
        return state.incumbent

    def serve(self, state: PaperState, raw: Mapping[Config, float]) -> float:
        """Line 6: return the prediction to serve."""
        return raw[state.incumbent]

    def constants(self) -> dict[str, Any]:
        """Return the settings of the rules, for reports."""
        oracle = self.rules.oracle
        return {
            "evidence": describe(self.rules.evidence),
            "oracle": describe(DefaultOracle(self.space) if oracle is None else oracle),
            "lease_factor": self.rules.lease_factor,
        }

    def begin(self, state: PaperState, facts: StreamFacts) -> Outcome:
        """Line 2, and line 5 for the first example."""
        failures = self._expand(state, facts)  # 2
        return Outcome(self._schedule(state, facts, self._bounds(state, facts)), failures)

    def begun(self, state: PaperState) -> bool:
        """Return whether the oracle has proposed something."""
        return bool(state.S)

    def charge(self, state: PaperState, scored: ScoredExample) -> Sequence[BaseException]:
        """Lines 3, 8 and 9 for one example; the bounded losses are charged.

        A model that went live after the prediction was made has no loss, and is not charged.
        """
        state.t += 1  # 3
        losses = scored.bounded if scored.weight > 0 else {}
        for c in [c for c in self.live(state) if c in losses]:  # 8
            state.standing[c].add(losses[c], scored.weight)  # 9
        return ()

    def decide(self, state: PaperState, facts: StreamFacts) -> Outcome:
        """Lines 10-17 by the current standings, then line 5 for the next example.

        If no test fires and no lease ends, only the incumbent can change.
        """
        decisions: list[Decision] = []
        failures: list[Exception] = []
        bounds = self._bounds(state, facts)
        old = state.champion  # 10
        for c in self.tested(state):  # 11
            if state.standing[c].n < self.rules.evidence.burn_in:
                continue
            if better_than(bounds[c], bounds[state.champion]):  # 12
                decisions.append(self._promote(state, c, bounds))  # 13
            elif worse_than(bounds[c], bounds[state.champion]):  # 14
                decisions.append(self._eliminate(state, c, bounds))  # 15
        if state.champion != old:  # 16
            failures = self._expand(state, facts)  # 17
        if decisions:
            bounds = self._bounds(state, facts)
        return Outcome(decisions + self._schedule(state, facts, bounds), failures)

    def bound(self, state: PaperState, c: Config, facts: StreamFacts) -> Bound:
        """Return L^PV and ε of a live configuration."""
        standing, d = state.standing[c], facts.complexity(c)
        return self.rules.evidence.bound(standing, d, len(state.S), facts.loss_range)

    def _bounds(self, state: PaperState, facts: StreamFacts) -> dict[Config, Bound]:
        return {c: self.bound(state, c, facts) for c in self.live(state)}

    def _expand(self, state: PaperState, facts: StreamFacts) -> list[Exception]:
        """S ← S + ConfigOracle(C), without those proposed before; return what failed."""
        try:
            proposals = proposals_of(state.oracle, state.champion, facts.groups)
        except Exception as error:
            return [error]
        for c in proposals:
            if c not in state.proposed:
                state.proposed.add(c)
                state.S[c] = None
        return []

    def _promote(self, state: PaperState, c: Config, bounds: Mapping[Config, Bound]) -> Decision:
        old, won, lost = state.champion, bounds[c], bounds[state.champion]
        self._crown(state, c)
        n = state.standing[c].n
        return Promoted(state.t, c, old, n, won.upper, lost.lower, lost.epsilon)

    def _crown(self, state: PaperState, c: Config) -> None:
        """C ← c. The dethroned champion gets c's slot and lease, and keeps its model."""
        old, state.champion = state.champion, c
        state.B[state.B.index(c)] = old
        del state.S[c]
        state.S[old] = None
        state.lease[old] = state.lease.pop(c)

    def withdraw(self, state: PaperState, c: Config) -> None:
        """Forget a challenger that the learner refused to start, and free its slot."""
        state.B.remove(c)
        state.S.pop(c, None)
        state.lease.pop(c, None)
        state.standing.pop(c, None)
        state.decide_anyway = True

    def _eliminate(self, state: PaperState, c: Config, bounds: Mapping[Config, Bound]) -> Decision:
        del state.S[c]
        n, lower, upper = state.standing[c].n, bounds[c].lower, bounds[state.champion].upper
        return Eliminated(state.t, c, state.champion, n, lower, upper)

    def _schedule(
        self, state: PaperState, facts: StreamFacts, bounds: Mapping[Config, Bound]
    ) -> list[Decision]:
        """Line 5, and the incumbent of line 6."""
        state.decide_anyway = False
        state.B, decisions = self.scheduling(self.budget).schedule(
            state.B,
            state.S,
            n={c: state.standing[c].n for c in state.B},
            upper={c: bounds[c].upper for c in state.B},
            lease=state.lease,
            rng=state.rng,
            n_min=self._n_min(facts),
            t=state.t,
        )
        for decision in decisions:
            if isinstance(decision, Retired):
                del state.standing[decision.config]
            elif isinstance(decision, WentLive):
                state.standing[decision.config] = ProgressiveLoss()  # Algorithm 2, line 13
        first, *others = self.live(state)
        burn_in = self.rules.evidence.burn_in
        servable = [c for c in others if c in bounds and state.standing[c].n >= burn_in]
        upper = {c: bounds[c].upper if c in bounds else inf for c in (first, *servable)}
        state.incumbent = min(upper, key=upper.__getitem__)  # 6
        return decisions

    def _n_min(self, facts: StreamFacts) -> int:
        """Return the first lease; in the paper 5 times the number of raw features."""
        return max(1, self.rules.lease_factor * facts.raw_features)
