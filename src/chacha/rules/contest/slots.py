"""The slots of live challengers: who gets one, for how long, and who leaves."""

from __future__ import annotations

from dataclasses import dataclass

from chacha.config.config import Config
from chacha.errors import ConfigError
from chacha.rules.contest.betting import PairedBetting, Pairing, number
from chacha.rules.contest.blending import BlendGain
from chacha.rules.contest.records import retired_record
from chacha.rules.contest.rotation import ELIMINATED, Move
from chacha.rules.contest.state import Challenger, ContestState
from chacha.rules.decisions import Decision, WentLive

__all__ = ["ANEW", "DETHRONED", "LONGER", "Slots", "leave"]

DOUBLINGS = 4  # of the first lease, at most: late changes of the stream need free slots too
LONGER = 2  # doublings of the first lease for a dethroned champion
STANDING = 16  # first leases after which a model is started anew even without a surprise
DETHRONED, ANEW = "dethroned", "anew"
"""Kinds of challengers that no move proposed: an earlier champion, and a model started anew."""


@dataclass(frozen=True)
class Slots:
    """The slots of `budget` - 1 challengers beside a champion.

    >>> Slots(5, 1000, PairedBetting()).lease(tried=2)
    4000
    """

    budget: int
    first_lease: int
    evidence: PairedBetting

    def lease(self, tried: int) -> int:
        """Return the first lease of a challenger whose move was tried so often."""
        return self.first_lease << min(tried, DOUBLINGS)

    def rests(self, state: ContestState, move: Move, eliminated: bool) -> int:
        """Return when an ended move may return: it rests for the length of its next lease."""
        return state.t + self.lease(move.tried + (ELIMINATED if eliminated else 1))

    def make_challenger(self, state: ContestState, move: Move) -> Challenger:
        """Return a new challenger, whose evidence begins with the next example."""
        k = state.challenged + 1
        needed = number(self.evidence.needed(k))
        if not needed > 0.0:
            raise ConfigError(f"evidence: needed({k}) must be above 0, got {needed}")
        pairing = Pairing(k, needed)
        pairing.restart()
        return Challenger(pairing, BlendGain(), self.lease(move.tried), move)

    def give(self, state: ContestState, challenger: Challenger) -> None:
        """Give a challenger a slot."""
        state.challenged += 1
        state.challengers[challenger.move.config] = challenger

    def retire(self, state: ContestState, c: Config, eliminated: bool) -> Decision:
        """Take the slot of a challenger; its move rests."""
        n, move = state.challengers[c].pairing.n, state.challengers[c].move
        if move.kind not in (DETHRONED, ANEW):
            state.moves.ended(move, n, eliminated, self.rests(state, move, eliminated))
        return leave(state, c, eliminated)

    def make_room(self, state: ContestState) -> list[Decision]:
        """Retire a challenger if all slots are taken: the one anew, or that with the least odds.

        The one that serves stays, if there is another.
        """
        others = [c for c in state.B if c != state.serving.other] or state.B
        anew = [c for c in others if state.challengers[c].move.kind == ANEW]
        if not anew and len(state.challengers) < self.budget - 1:
            return []
        last = min(anew or others, key=lambda c: state.challengers[c].pairing.odds)
        return [self.retire(state, last, eliminated=False)]

    def start_anew(
        self, state: ContestState, initial: Config, surprised: bool, failures: list[Exception]
    ) -> list[Decision]:
        """Start the champion's configuration without what was learned before.

        After a surprise at once; otherwise if a slot is free and it was not tried for long.
        """
        long_ago = state.t >= state.anew + STANDING * self.first_lease
        free = 0 < len(state.challengers) < self.budget - 1
        if not (surprised or (long_ago and free)):
            return []
        config = state.champion.with_values(**initial.values)  # tuned rates suit old models
        config = config.with_target(config.target, state.t)
        try:
            challenger = self.make_challenger(state, Move(ANEW, "", config))
        except Exception as error:
            failures.append(error)
            return []
        state.anew = state.t
        if surprised:
            state.calm = state.t + self.lease(state.changes)
            state.changes += 1
            state.level = state.usual = state.recent  # evidence is in units of what is lost now
        self.give(state, challenger)
        why = "the champion's losses have changed" if surprised else None
        return [WentLive(state.t, config, challenger.lease, why)]


def leave(state: ContestState, c: Config, eliminated: bool) -> Decision:
    """Drop a challenger, and return the record of it."""
    return retired_record(state.t, c, state.challengers.pop(c).pairing, eliminated)
