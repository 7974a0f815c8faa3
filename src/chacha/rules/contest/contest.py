"""The recommended rules: a champion, and challengers that are one move away from it.

As in Algorithm 1, losses go in and decisions come out; there is no learner, no file and no clock.
docs/algorithm.md describes the differences from the paper: paired evidence, leases that end unless
the odds have grown, an oracle that is called whenever a slot is free, and a screen that orders its
proposals.

Twin: native/src/rules/contest.hpp
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from chacha.config.config import Config
from chacha.config.describe import describe
from chacha.rules.contest.betting import PairedBetting, Pairing, nan_to_inf
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
from chacha.rules.head_start import HeadStart, Starting
from chacha.rules.stream_facts import ScoredExample, StreamFacts

__all__ = ["Contest"]

MEMORY = 2000.0  # examples that the champion's usual loss is averaged over
DOUBLINGS = 12  # of the first lease, at most
DETHRONED = "dethroned"
LONGER = 2  # doublings of the first lease for a dethroned champion


class Contest:
    """A champion C and at most b - 1 live challengers, each with a pairing against C.

    A challenger that proves better is promoted. The others then leave, and the dethroned champion
    stays as a challenger, so that a wrong promotion can be undone. A challenger that proves worse
    is eliminated. A lease ends after `first_lease` examples, doubled for each time the move was
    tried before. It is doubled if the odds have grown by the factor `evidence.renews` since it
    began; the evidence then restarts with half of the reserve. As odds cannot grow forever without
    a promotion, every challenger's time is limited and every move gets its turn.

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
        self.t = self.charged = 0  # examples, and those that the champion was charged for
        self.level = 0.0  # the champion's usual loss
        self.challenged = 0  # challengers so far, for α
        self.pairings: dict[Config, Pairing] = {}
        self.lease: dict[Config, int] = {}
        self.move_of: dict[Config, Move] = {}
        self.decide_anyway = False  # fill free slots even if nothing else is decided
        self.window = CandidateWindow(self.screening)

    @property
    def B(self) -> list[Config]:
        """The live challengers, in the order in which they went live."""
        return list(self.pairings)

    @property
    def S(self) -> Mapping[Config, object]:
        """The challengers: only the live ones, as others are proposed when a slot is free."""
        return self.pairings

    @property
    def live(self) -> tuple[Config, ...]:
        """The configurations that have a model, the champion first."""
        return (self.champion, *self.pairings)

    @property
    def incumbent(self) -> Config | Blend:
        """The model or blend that serves the next example."""
        return self.serving.by

    def constants(self) -> dict[str, Any]:
        """Return the other settings, for reports."""
        return {
            "starting": describe(self.starting),
            "screening": describe(self.screening),
            "blending": describe(self.serving.policy),
            "first_lease": self.first_lease,
        }

    def serve(self, raw: Mapping[Config, float]) -> float:
        """Return the prediction to serve."""
        return self.serving.served(raw)

    def begin(self, facts: StreamFacts) -> list[Decision]:
        """Start the first challengers."""
        self.decide_anyway = True
        return self.decide(facts)

    def learn(self, scored: ScoredExample, facts: StreamFacts) -> list[Decision]:
        """Charge all live models for one example, then decide."""
        self.charge(scored, facts)
        return self.decide(facts)

    def charge(self, scored: ScoredExample, facts: StreamFacts) -> None:
        """Charge all live models for one example; the screen learns the champion's residual."""
        self.t += 1
        if scored.weight > 0 and self.champion in scored.raw:
            self.serving.add(scored.raw, scored.served, scored.y, scored.weight, scored.loss)
            self._charge(scored)
            residual = scored.loss.residual(scored.raw[self.champion], scored.y)
            if isinstance(self.screen, Screen):
                self.screen.learn(scored.example, residual, len(self.live))

    def _charge(self, scored: ScoredExample) -> None:
        losses = {c: nan_to_inf(scored.loss.loss(raw, scored.y)) for c, raw in scored.raw.items()}
        champion_loss = losses[self.champion]
        for c, pairing in self.pairings.items():
            if c in losses:
                pairing.add(champion_loss, losses[c], scored.weight, self.level, self.evidence)
        if math.isfinite(scored.weight * champion_loss):
            self.charged += 1
            share = max(1.0 / self.charged, 1.0 / MEMORY)
            self.level += share * (scored.weight * champion_loss - self.level)

    def decide(self, facts: StreamFacts) -> list[Decision]:
        """Promote, eliminate and end leases by the current evidence; then fill the free slots."""
        best = max(self.pairings, key=lambda c: self.pairings[c].reached, default=None)
        if best is not None and self.pairings[best].reached >= 1.0:
            decisions = self._promote(best)
        else:
            decisions = [d for c in self.B for d in self._decide_on(c)]
        if decisions or self.decide_anyway:
            self.decide_anyway = False
            decisions += self._fill(facts)
        self.serving.choose(self.champion, self.pairings, self.charged)
        return decisions

    def _decide_on(self, c: Config) -> list[Decision]:
        """Eliminate a challenger that is worse; retire or renew one at the end of its lease."""
        pairing, rules = self.pairings[c], self.evidence
        if pairing.odds_against >= rules.eliminates and pairing.n >= rules.patience:
            eliminated = _eliminated(self.t, c, self.champion, pairing, rules)
            return [eliminated, self._retire(c, eliminated=True)]
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
        n, move = self.pairings[c].n, self.move_of[c]
        if move.kind != DETHRONED:
            self.moves.ended(move, n, eliminated, self._rests(move, eliminated))
        return self._leave(c, eliminated)

    def _leave(self, c: Config, eliminated: bool) -> Decision:
        pairing = self.pairings[c]
        self.forget(c)
        return _retired(self.t, c, pairing, eliminated)

    def forget(self, c: Config) -> None:
        """Drop the state of a challenger that leaves."""
        for states in (self.pairings, self.lease, self.move_of):
            states.pop(c)
        self.serving.gains.pop(c, None)

    def withdraw(self, c: Config) -> None:
        """Forget a challenger that the learner refused to start, and free its slot."""
        move = self.move_of[c]
        until = self._rests(move, eliminated=True)
        self.moves.ended(move, self.first_lease, eliminated=True, until=until)
        self.forget(c)
        self.decide_anyway = True

    def _promote(self, c: Config) -> list[Decision]:
        """C ← c; the others leave, and the dethroned champion stays with a new pairing."""
        old, pairing, move = self.champion, self.pairings[c], self.move_of[c]
        decisions: list[Decision] = [_promoted(self.t, c, old, pairing, self.evidence)]
        decisions += [self._leave(other, eliminated=False) for other in self.B if other != c]
        self.forget(c)
        self.champion = c
        self.moves.crowned(None if move.kind == DETHRONED else move, old)
        self._pair(Move(DETHRONED, "", old, LONGER))
        return decisions

    def _pair(self, move: Move) -> None:
        """Start the pairing of a new challenger."""
        self.challenged += 1
        c = move.config
        pairing = Pairing(self.challenged, self.evidence.needed(self.challenged))
        pairing.restart()
        self.pairings[c], self.move_of[c] = pairing, move
        self.lease[c] = self._lease(move.tried)

    def _rests(self, move: Move, eliminated: bool) -> int:
        """Return when an ended move may return: it rests for the length of its next lease."""
        return self.t + self._lease(move.tried + (ELIMINATED if eliminated else 1))

    def _lease(self, tried: int) -> int:
        return self.first_lease << min(tried, DOUBLINGS)

    def _fill(self, facts: StreamFacts) -> list[Decision]:
        """Start challengers in the free slots."""
        if self.budget < 2:
            return []
        C, groups, columns = self.champion, facts.groups, facts.columns
        self.window.set(self.screen, C, facts, partial(self.moves.candidates, C, groups, columns))
        decisions: list[Decision] = []
        while len(self.pairings) < self.budget - 1:
            live = {self.move_of[c]: pairing.n for c, pairing in self.pairings.items()}
            move = self.moves.next(MoveRequest(C, groups, self.screen, live, self.t, columns))
            if move is None or move.config in self.live:
                break
            self._pair(move)
            decisions.append(WentLive(self.t, move.config, self.lease[move.config], move.why))
        return decisions


def _promoted(
    t: int, c: Config, dethroned: Config, pairing: Pairing, rules: PairedBetting
) -> Promoted:
    """Return the record of a promotion.

    >>> won = Pairing(1, needed=40.0, n=10, wealth=50.0, champion_loss=20.0, loss=5.0)
    >>> decision = _promoted(99, Config(["ab"]), Config(), won, PairedBetting())
    >>> decision.odds, decision.upper, decision.champion_lower
    (51.0, 0.5, 2.0)
    """
    n, margin = pairing.n, rules.margin * pairing.champion_loss / pairing.n
    losses = pairing.loss / n, pairing.champion_loss / n
    odds, needed = pairing.odds, pairing.needed
    return Promoted(t, c, dethroned, n, *losses, margin, odds=odds, needed=needed)


def _eliminated(
    t: int, c: Config, champion: Config, pairing: Pairing, rules: PairedBetting
) -> Eliminated:
    """Return the record of an elimination.

    >>> lost = Pairing(1, needed=40.0, n=10, against=30.0, champion_loss=5.0, loss=20.0)
    >>> _eliminated(99, Config(["ab"]), Config(), lost, PairedBetting()).odds
    31.0
    """
    n, odds = pairing.n, pairing.odds_against
    losses = pairing.loss / n, pairing.champion_loss / n
    return Eliminated(t, c, champion, n, *losses, odds=odds, needed=rules.eliminates)


def _doubled(t: int, c: Config, lease: int, pairing: Pairing, odds: float) -> LeaseDoubled:
    """Return the record of a doubled lease.

    >>> _doubled(99, Config(["ab"]), 2000, Pairing(1, needed=40.0, n=1000), odds=14.0).lease
    2000
    """
    return LeaseDoubled(t, c, lease, pairing.n, odds=odds, needed=pairing.needed)


def _retired(t: int, c: Config, pairing: Pairing, eliminated: bool) -> Retired:
    """Return the record of a challenger that left its slot.

    >>> _retired(99, Config(["ab"]), Pairing(1, needed=40.0, n=1000), eliminated=False).odds
    1.0
    """
    return Retired(t, c, pairing.n, eliminated, odds=pairing.odds, needed=pairing.needed)
