"""Algorithm 1: losses in, decisions out, without a learner, a file or a clock.

The caller starts a model for every :class:`~chacha.rules.decisions.WentLive` and drops it for every
:class:`~chacha.rules.decisions.Retired`.

Twin: native/src/rules/champion.hpp
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from random import Random
from typing import Any, ClassVar

from chacha.config.config import Config
from chacha.rules.decisions import Decision, Eliminated, Promoted, Retired, WentLive
from chacha.rules.head_start import FromScratch, Starting
from chacha.rules.oracle import ConfigOracle, proposals_of
from chacha.rules.paper.bounds import Bound, Evidence, better_than, worse_than
from chacha.rules.paper.scheduler import Scheduler
from chacha.rules.progressive_loss import ProgressiveLoss
from chacha.rules.stream_facts import ScoredExample, StreamFacts

__all__ = ["ChampionChallengers"]


class ChampionChallengers:
    """ChaCha: a champion C and challengers S, of which at most b - 1 are live (B).

    Line 5 runs at the end of a step, for the next example: the scheduler does not depend on that
    example, so predicting is a pure read. Comments give the paper's line numbers.

    >>> from types import SimpleNamespace
    >>> from chacha.rules.paper.bounds import SampleComplexity
    >>> facts = SimpleNamespace(groups="ab", raw_features=2, loss_range=1.0, complexity=lambda c: 2)
    >>> def oracle(champion, groups):
    ...     return [champion.with_product(groups)]
    >>> cc = ChampionChallengers(Config(), budget=2, oracle=oracle, evidence=SampleComplexity())
    >>> [d.kind for d in cc.begin(facts)]
    ['WentLive']
    >>> while cc.champion == Config():
    ...     decisions = cc.learn({Config(): 0.9, Config(["ab"]): 0.1}, facts)
    >>> cc.t, [d.kind for d in decisions]
    (1, ['Promoted'])
    """

    scheduling: ClassVar[type[Scheduler]] = Scheduler
    starting: ClassVar[Starting] = FromScratch()  # Algorithm 2, line 13

    def __init__(
        self,
        initial: Config,
        *,
        budget: int,
        oracle: ConfigOracle,
        evidence: Evidence,
        seed: int = 0,
        lease_factor: int = 5,
    ) -> None:
        self.champion = self.incumbent = initial  # 1-2
        self.oracle, self.evidence, self.lease_factor = oracle, evidence, lease_factor
        self.scheduler = self.scheduling(budget, Random(f"scheduler:{seed}"))
        self.t = 0
        self.S: dict[Config, None] = {}  # an ordered set
        self.B: list[Config] = []
        self.proposed: set[Config] = {initial}
        self.standing: dict[Config, ProgressiveLoss] = {initial: ProgressiveLoss()}

    @property
    def live(self) -> tuple[Config, ...]:
        """The configurations that have a model, the champion first."""
        return (self.champion, *self.B)

    @property
    def tested(self) -> tuple[Config, ...]:
        """The c of line 11; only live ones, because without a model there is no bound."""
        return tuple(c for c in self.B if c in self.S)

    def serve(self, raw: Mapping[Config, float]) -> float:
        """Line 6: return the prediction to serve."""
        return raw[self.incumbent]

    def constants(self) -> dict[str, Any]:
        """Return the other settings, for reports."""
        return {"lease_factor": self.lease_factor}

    def begin(self, facts: StreamFacts) -> list[Decision]:
        """Line 2, and line 5 for the first example."""
        self._expand(facts)  # 2
        return self._schedule(facts, self._bounds(facts))

    def charge(self, scored: ScoredExample, facts: StreamFacts) -> None:
        """Lines 3, 8 and 9 for one example; the bounded proxy of the losses is charged."""
        raw = scored.raw.items() if scored.weight > 0 else ()
        self._add({c: facts.proxy(p, scored.y) for c, p in raw}, scored.weight)

    def learn(
        self, losses: Mapping[Config, float], facts: StreamFacts, weight: float = 1.0
    ) -> list[Decision]:
        """Lines 3 and 8-17 for one example, then line 5 for the next.

        `losses` has every model that predicted the example. A model that went live after the
        prediction is not in it and is not charged.
        """
        self._add(losses, weight)
        return self.decide(facts)

    def _add(self, losses: Mapping[Config, float], weight: float) -> None:
        self.t += 1  # 3
        for c in [c for c in self.live if c in losses]:  # 8
            self.standing[c].add(losses[c], weight)  # 9

    def decide(self, facts: StreamFacts) -> list[Decision]:
        """Lines 10-17 by the current standings, then line 5 for the next example.

        If no test fires and no lease ends, only the incumbent can change.
        """
        decisions: list[Decision] = []
        bounds = self._bounds(facts)
        old = self.champion  # 10
        for c in self.tested:  # 11
            if self.standing[c].n < self.evidence.burn_in:
                continue
            if better_than(bounds[c], bounds[self.champion]):  # 12
                decisions.append(self._promote(c, bounds))  # 13
            elif worse_than(bounds[c], bounds[self.champion]):  # 14
                decisions.append(self._eliminate(c, bounds))  # 15
        if self.champion != old:  # 16
            self._expand(facts)  # 17
        return decisions + self._schedule(facts, self._bounds(facts) if decisions else bounds)

    def bound(self, c: Config, facts: StreamFacts) -> Bound:
        """Return L^PV and ε of a live configuration."""
        standing, d = self.standing[c], facts.complexity(c)
        return self.evidence.bound(standing, d, len(self.S), facts.loss_range)

    def _bounds(self, facts: StreamFacts) -> dict[Config, Bound]:
        return {c: self.bound(c, facts) for c in self.live}

    def _expand(self, facts: StreamFacts) -> None:
        """S ← S + ConfigOracle(C), without those proposed before."""
        for c in proposals_of(self.oracle, self.champion, facts.groups):
            if c not in self.proposed:
                self.proposed.add(c)
                self.S[c] = None

    def _promote(self, c: Config, bounds: Mapping[Config, Bound]) -> Decision:
        old, won, lost = self.champion, bounds[c], bounds[self.champion]
        self._crown(c)
        return Promoted(self.t, c, old, self.standing[c].n, won.upper, lost.lower, lost.epsilon)

    def _crown(self, c: Config) -> None:
        """C ← c. The dethroned champion gets c's slot and lease, and keeps its model."""
        old, self.champion = self.champion, c
        self.B[self.B.index(c)] = old
        del self.S[c]
        self.S[old] = None
        self.scheduler.lease[old] = self.scheduler.lease.pop(c)

    def withdraw(self, c: Config) -> None:
        """Forget a challenger that the learner refused to start."""
        self.B.remove(c)
        self.S.pop(c, None)
        self.scheduler.lease.pop(c, None)
        self.standing.pop(c, None)

    def _eliminate(self, c: Config, bounds: Mapping[Config, Bound]) -> Decision:
        del self.S[c]
        n, lower, upper = self.standing[c].n, bounds[c].lower, bounds[self.champion].upper
        return Eliminated(self.t, c, self.champion, n, lower, upper)

    def _schedule(self, facts: StreamFacts, bounds: Mapping[Config, Bound]) -> list[Decision]:
        """Line 5, and the incumbent of line 6."""
        self.B, decisions = self.scheduler.schedule(
            self.B,
            self.S,
            n={c: self.standing[c].n for c in self.B},
            upper={c: bounds[c].upper for c in self.B},
            n_min=self._n_min(facts),
            t=self.t,
        )
        for decision in decisions:
            if isinstance(decision, Retired):
                del self.standing[decision.config]
            elif isinstance(decision, WentLive):
                self.standing[decision.config] = ProgressiveLoss()  # Algorithm 2, line 13
        first, *others = self.live
        servable = [c for c in others if c in bounds]
        servable = [c for c in servable if self.standing[c].n >= self.evidence.burn_in]
        upper = {c: bounds[c].upper if c in bounds else inf for c in (first, *servable)}
        self.incumbent = min(upper, key=upper.__getitem__)  # 6
        return decisions

    def _n_min(self, facts: StreamFacts) -> int:
        """Return the first lease; in the paper 5 times the number of raw features."""
        return max(1, self.lease_factor * facts.raw_features)
