"""The recommended rules: a champion, and challengers that are one move away from it.

As Algorithm 1, losses in, decisions out; no learner, no file, no clock. What differs from the
paper stands in docs/algorithm.md: paired evidence, leases that end unless the odds have grown,
an oracle that is asked whenever a slot is free, and a screen that orders what it proposes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from chacha.config.config import Config
from chacha.config.describe import describe
from chacha.rules.contest.betting import PairedBetting, Pairing, worst
from chacha.rules.contest.blending import Blend, Blending, Serving
from chacha.rules.contest.rotation import ELIMINATED, Move, MoveRequest, MoveSource
from chacha.rules.contest.screen import Screen
from chacha.rules.contest.screening import CandidateScreen, CandidateWindow, Screening
from chacha.rules.decisions import (
    Decision,
    Eliminated,
    LeaseDoubled,
    Promoted,
    Retired,
    WentLive,
)
from chacha.rules.starting import HeadStart, Starting
from chacha.rules.stream_facts import ScoredExample, StreamFacts

__all__ = ["Contest"]

MEMORY = 2000.0  # examples: what the champion usually loses
DOUBLINGS = 12  # of the first lease
DETHRONED = "dethroned"
LONGER = 2  # doublings of the first lease that a dethroned champion begins with


class Contest:
    """A champion C and at most b - 1 live challengers, each with a pairing against C.

    A challenger that proves better is promoted: the others leave, and the dethroned champion
    stays as a challenger, so that a wrong promotion is undone. One that proves worse leaves. A
    lease ends after `first_lease` examples, or twice as many for each time that the move was
    tried before; it is doubled if the odds have grown by `evidence.renews` since, and then the
    evidence begins anew on half of the reserve. As odds cannot grow for ever without promoting,
    every challenger's time is limited, and every move gets its turn.

    >>> from types import SimpleNamespace
    >>> from chacha.losses import Squared
    >>> from chacha.data.text_parser import parse_line
    >>> from chacha.rules.contest.rotation import OracleMoves
    >>> from chacha.rules.stream_facts import ScoredExample
    >>> facts = SimpleNamespace(groups="ab", sizes={"a": 1, "b": 1}, columns=())
    >>> oracle = OracleMoves(lambda champion, groups: [champion.with_product(groups)])
    >>> contest = Contest(Config(), budget=2, moves=oracle, evidence=PairedBetting())
    >>> [d.kind for d in contest.begin(facts)]
    ['WentLive']
    >>> while contest.champion == Config():
    ...     raw = {Config(): 1.0, Config(["ab"]): 0.3}
    ...     scored = ScoredExample(parse_line("0 |a x |b y"), raw, 1.0, 0.0, 1.0, Squared())
    ...     decisions = contest.learn(scored, facts)
    >>> contest.t, [d.kind for d in decisions]
    (91, ['Promoted'])
    """

    def __init__(
        self,
        initial: Config,
        *,
        budget: int,
        moves: MoveSource,
        evidence: PairedBetting,
        blending: Blending | None = None,
        screening: Screening | None = None,
        starting: Starting | None = None,
        first_lease: int = 1000,
    ) -> None:
        self.champion = initial
        self.budget, self.moves, self.evidence = budget, moves, evidence
        self.first_lease = first_lease
        self.serving = Serving(Blending() if blending is None else blending, initial)
        self.screening = Screening() if screening is None else screening
        self.starting = HeadStart() if starting is None else starting
        self.screen: CandidateScreen = Screen(self.screening)
        self.t = self.charged = 0  # examples, and those with a weight
        self.level = 0.0  # what the champion usually loses
        self.challenged = 0  # challengers so far, for α
        self.pairings: dict[Config, Pairing] = {}
        self.lease: dict[Config, int] = {}
        self.came_by: dict[Config, Move] = {}
        self.restless = False  # a slot is free though nothing has happened
        self.window = CandidateWindow(self.screening)

    @property
    def B(self) -> list[Config]:
        """The live challengers, in the order in which they went live."""
        return list(self.pairings)

    @property
    def S(self) -> Mapping[Config, object]:
        """The challengers: those that are live, as the others are scored when they are needed."""
        return self.pairings

    @property
    def live(self) -> tuple[Config, ...]:
        """Those that have a model, the champion first."""
        return (self.champion, *self.pairings)

    @property
    def incumbent(self) -> Config | Blend:
        """Who serves the next example."""
        return self.serving.by

    def constants(self) -> dict[str, Any]:
        """What else is set, for reports."""
        parts = {"starting": self.starting, "screening": self.screening}
        found = {**parts, "blending": self.serving.policy}
        return {**{n: describe(p) for n, p in found.items()}, "first_lease": self.first_lease}

    def serve(self, raw: Mapping[Config, float]) -> float:
        """The prediction that is served."""
        return self.serving.served(raw)

    def begin(self, facts: StreamFacts) -> list[Decision]:
        """The first challengers."""
        self.restless = True
        return self.decide(facts)

    def learn(self, scored: ScoredExample, facts: StreamFacts) -> list[Decision]:
        """One example: charge everyone, then decide."""
        self.charge(scored, facts)
        return self.decide(facts)

    def charge(self, scored: ScoredExample, facts: StreamFacts) -> None:
        """One example: everyone is charged, and the screen sees what the champion left over."""
        self.t += 1
        if scored.weight > 0 and self.champion in scored.raw:
            self.serving.add(scored.raw, scored.served, scored.y, scored.weight, scored.loss)
            self._charge(scored)
            residual = scored.loss.residual(scored.raw[self.champion], scored.y)
            if isinstance(self.screen, Screen):
                self.screen.learn(scored.example, residual, len(self.live))

    def _charge(self, scored: ScoredExample) -> None:
        losses = {c: worst(scored.loss.loss(raw, scored.y)) for c, raw in scored.raw.items()}
        lost = losses[self.champion]
        for c, pairing in self.pairings.items():
            if c in losses:
                pairing.add(lost, losses[c], scored.weight, self.level, self.evidence)
        if math.isfinite(scored.weight * lost):
            self.charged += 1
            share = max(1.0 / self.charged, 1.0 / MEMORY)
            self.level += share * (scored.weight * lost - self.level)

    def decide(self, facts: StreamFacts) -> list[Decision]:
        """Promote, eliminate, end leases by the evidence as it is; then fill the free slots."""
        best = max(self.pairings, key=lambda c: self.pairings[c].reached, default=None)
        if best is not None and self.pairings[best].reached >= 1.0:
            decisions = self._promote(best)
        else:
            decisions = [d for c in self.B for d in self._look_at(c)]
        if decisions or self.restless:
            self.restless = False
            decisions += self._fill(facts)
        self.serving.choose(self.champion, self.pairings, self.charged)
        return decisions

    def _look_at(self, c: Config) -> list[Decision]:
        """Whether one challenger is worse, or has used up its lease."""
        pairing, rules = self.pairings[c], self.evidence
        if pairing.odds_against >= rules.eliminates and pairing.n >= rules.patience:
            out = _eliminated(self.t, c, self.champion, pairing, rules)
            return [out, self._retire(c, eliminated=True)]
        if pairing.n < self.lease[c]:
            return []
        odds, before = pairing.odds, pairing.odds_before
        if odds < rules.renews * before:
            return [self._retire(c, eliminated=False)]
        pairing.odds_before = odds
        pairing.restart()
        self.lease[c] *= 2
        return [_doubled(self.t, c, self.lease[c], pairing, odds)]

    def _retire(self, c: Config, eliminated: bool) -> Decision:
        n, move = self.pairings[c].n, self.came_by[c]
        if move.kind != DETHRONED:
            self.moves.ended(move, n, eliminated, self._rests(move, eliminated))
        return self._leave(c, eliminated)

    def _leave(self, c: Config, eliminated: bool) -> Decision:
        pairing = self.pairings[c]
        self.forget(c)
        return _retired(self.t, c, pairing, eliminated)

    def forget(self, c: Config) -> None:
        """The challenger is gone."""
        for kept in (self.pairings, self.lease, self.came_by):
            kept.pop(c)
        self.serving.helping.pop(c, None)

    def withdraw(self, c: Config) -> None:
        """Forget a challenger that the learner refused to start; the slot is free again."""
        move = self.came_by[c]
        until = self._rests(move, eliminated=True)
        self.moves.ended(move, self.first_lease, eliminated=True, until=until)
        self.forget(c)
        self.restless = True

    def _promote(self, c: Config) -> list[Decision]:
        """C ← c; the others leave, and the dethroned champion stays with a new pairing."""
        old, pairing, move = self.champion, self.pairings[c], self.came_by[c]
        told: list[Decision] = [_promoted(self.t, c, old, pairing, self.evidence)]
        told += [self._leave(other, eliminated=False) for other in self.B if other != c]
        self.forget(c)
        self.champion = c
        self.moves.crowned(None if move.kind == DETHRONED else move, old)
        self._pair(Move(DETHRONED, "", old, LONGER))
        return told

    def _pair(self, move: Move) -> None:
        """A challenger begins."""
        self.challenged += 1
        c = move.config
        pairing = Pairing(self.challenged, self.evidence.needed(self.challenged))
        pairing.restart()
        self.pairings[c], self.came_by[c] = pairing, move
        self.lease[c] = self._lease(move.tried)

    def _rests(self, move: Move, eliminated: bool) -> int:
        """A move that has ended rests for as many examples as its next lease has."""
        return self.t + self._lease(move.tried + (ELIMINATED if eliminated else 1))

    def _lease(self, tried: int) -> int:
        return self.first_lease << min(tried, DOUBLINGS)

    def _fill(self, facts: StreamFacts) -> list[Decision]:
        """Challengers for the free slots."""
        if self.budget < 2:
            return []
        C, groups, columns = self.champion, facts.groups, facts.columns
        self.window.set(self.screen, C, facts, partial(self.moves.candidates, C, groups, columns))
        told: list[Decision] = []
        while len(self.pairings) < self.budget - 1:
            live = {self.came_by[c]: pairing.n for c, pairing in self.pairings.items()}
            move = self.moves.next(MoveRequest(C, groups, self.screen, live, self.t, columns))
            if move is None or move.config in self.live:
                break
            self._pair(move)
            told.append(WentLive(self.t, move.config, self.lease[move.config], move.why))
        return told


def _promoted(
    t: int, c: Config, dethroned: Config, pairing: Pairing, rules: PairedBetting
) -> Promoted:
    """It is better.

    >>> won = Pairing(1, needed=40.0, n=10, wealth=50.0, champion_loss=20.0, loss=5.0)
    >>> made = _promoted(99, Config(["ab"]), Config(), won, PairedBetting())
    >>> made.odds, made.upper, made.champion_lower
    (51.0, 0.5, 2.0)
    """
    n, margin = pairing.n, rules.margin * pairing.champion_loss / pairing.n
    losses = pairing.loss / n, pairing.champion_loss / n
    odds, needed = pairing.odds, pairing.needed
    return Promoted(t, c, dethroned, n, *losses, margin, odds=odds, needed=needed)


def _eliminated(
    t: int, c: Config, champion: Config, pairing: Pairing, rules: PairedBetting
) -> Eliminated:
    """It is worse.

    >>> lost = Pairing(1, needed=40.0, n=10, against=30.0, champion_loss=5.0, loss=20.0)
    >>> _eliminated(99, Config(["ab"]), Config(), lost, PairedBetting()).odds
    31.0
    """
    n, odds = pairing.n, pairing.odds_against
    losses = pairing.loss / n, pairing.champion_loss / n
    return Eliminated(t, c, champion, n, *losses, odds=odds, needed=rules.eliminates)


def _doubled(t: int, c: Config, lease: int, pairing: Pairing, odds: float) -> LeaseDoubled:
    """It may go on.

    >>> _doubled(99, Config(["ab"]), 2000, Pairing(1, needed=40.0, n=1000), odds=14.0).lease
    2000
    """
    return LeaseDoubled(t, c, lease, pairing.n, odds=odds, needed=pairing.needed)


def _retired(t: int, c: Config, pairing: Pairing, out: bool) -> Retired:
    """It left its slot.

    >>> _retired(99, Config(["ab"]), Pairing(1, needed=40.0, n=1000), out=False).odds
    1.0
    """
    return Retired(t, c, pairing.n, out, odds=pairing.odds, needed=pairing.needed)
