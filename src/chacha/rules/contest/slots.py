"""The slots of live challengers: who gets one, for how long, and who leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

from chacha.config.config import Config
from chacha.errors import ConfigError
from chacha.rules.contest.betting import PairedBetting, Pairing, number
from chacha.rules.contest.blending import BlendGain
from chacha.rules.contest.moves import Moves
from chacha.rules.contest.records import retired_record
from chacha.rules.contest.rotation import ELIMINATED, TARGET, Move
from chacha.rules.contest.state import Challenger, ContestState
from chacha.rules.contest.surprise import EXPIRES, LASTS, NEVER
from chacha.rules.decisions import Decision, WentLive
from chacha.rules.stream_facts import StreamFacts

__all__ = ["ANEW", "DETHRONED", "LONGER", "Slots", "leave"]

DOUBLINGS = 4  # of the first lease, at most: late changes of the stream need free slots too
LONGER = 2  # doublings of the first lease for a dethroned champion
PAUSES = 2  # of the pause after a surprise: the next change may be a real one
STANDING = 16  # first leases after which a model is started anew even without a surprise
FEWER, MORE = 0.25, 4.0  # units of evidence that it may be counted in
DETHRONED, ANEW = "dethroned", "anew"
"""Kinds of challengers that no move proposed: an earlier champion, and a model started anew."""
CHANGED = "the champion's losses have changed"
SETTLED = "labels since the change show their scale"


@dataclass(frozen=True)
class Slots:
    """The slots of `budget` - 1 challengers beside a champion.

    >>> Slots(5, 1000, PairedBetting()).lease(tried=2)
    4000
    """

    budget: int
    first_lease: int
    evidence: PairedBetting
    initial: Config = field(default_factory=Config)

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

    def heed_changes(
        self, state: ContestState, facts: StreamFacts, failures: list[Exception]
    ) -> list[Decision]:
        """Start a model anew after a surprise, and others when more labels show their scale.

        Evidence is counted in other units from then on. The others start without a surprise, too,
        if labels turn out to be beyond the scale that the first ones have shown.
        """
        surprise, t = state.surprise, state.t
        if t >= surprise.checks:
            surprise.checks = 2 * t
            if facts.beyond_scale(state.champion):
                surprise.again = t
        if t >= surprise.settles:
            self._find_units(state, surprise.settle(t))
        if surprise.is_surprised(state.charged, t) and surprise.is_confirmed(t):
            surprise.heed(t, t + self.lease(min(surprise.changes, PAUSES)))
            self._find_units(state, surprise.usual)
            decisions = self._retire_mixed(state)
            if anew := self._spare(state, anew=True):
                decisions.append(self._retire_least(state, anew))
            elif self._is_full(state):
                decisions.append(self._retire_least(state, self._spare(state, anew=False)))
            config = self._anew(state, state.champion)
            return decisions + self._start_anew(state, config, CHANGED, LASTS, failures)
        decisions = []
        if t >= surprise.again:
            surprise.again = NEVER
            for config in self._contest_anew(state, facts):
                if self._is_full(state):
                    others = self._spare(state, anew=False) or self._spare(state, anew=True)
                    if not (others := [c for c in others if c.started != t]):
                        break
                    decisions.append(self._retire_least(state, others))
                decisions += self._start_anew(state, config, SETTLED, EXPIRES, failures)
        return decisions

    def _contest_anew(self, state: ContestState, facts: StreamFacts) -> list[Config]:
        """Return what a contest would begin with that starts now, most likely ones first.

        That is the champion's configuration with its own values, which may suit the stream whatever
        its scale is, the initial one, which may learn sooner, and that with several products.
        """
        initial = self._anew(state, self.initial)
        configs = [state.champion.with_target(state.champion.target, state.t), initial]
        if isinstance(state.moves, Moves):
            configs += state.moves.first_products(initial, facts.groups, facts.screen)
        return list(dict.fromkeys(configs))

    def start_standing(self, state: ContestState, failures: list[Exception]) -> list[Decision]:
        """Start a model anew if a slot is free and none was started for long."""
        long_ago = state.t >= state.surprise.anew + STANDING * self.first_lease
        if long_ago and state.challengers and not self._is_full(state):
            config = self._anew(state, state.champion)
            return self._start_anew(state, config, None, EXPIRES, failures)
        return []

    def _is_full(self, state: ContestState) -> bool:
        return len(state.challengers) >= self.budget - 1

    def _retire_mixed(self, state: ContestState) -> list[Decision]:
        """Retire those that learn the scale of labels from before and after a change."""
        return [
            self.retire(state, c, eliminated=False)
            for c, each in list(state.challengers.items())
            if each.move.kind == TARGET and each.pairing.n <= EXPIRES
        ]

    def _spare(self, state: ContestState, anew: bool) -> list[Config]:
        """Return the challengers that may make room: not the one that serves, if possible.

        `anew`: those that were started anew, otherwise the others.
        """
        spare = [c for c in state.B if c != state.serving.other] or state.B
        return [c for c in spare if (state.challengers[c].move.kind == ANEW) == anew]

    def _retire_least(self, state: ContestState, some: list[Config]) -> Decision:
        """Retire the challenger with the least odds among some."""
        least = min(some, key=lambda c: state.challengers[c].pairing.odds)
        return self.retire(state, least, eliminated=False)

    def _anew(self, state: ContestState, config: Config) -> Config:
        """Return a configuration for a model that starts without what was learned before."""
        config = config.with_values(**self.initial.values)  # tuned rates suit old models
        return config.with_target(state.champion.target, state.t)

    def _start_anew(
        self,
        state: ContestState,
        config: Config,
        why: str | None,
        labels: int,
        failures: list[Exception],
    ) -> list[Decision]:
        """Give a model that starts without what was learned before a slot."""
        try:
            challenger = self.make_challenger(state, Move(ANEW, "", config))
        except Exception as error:
            failures.append(error)
            return []
        state.surprise.anew = state.t
        self.give(state, challenger)
        return [WentLive(state.t, config, challenger.lease, why, labels)]

    def _find_units(self, state: ContestState, level: float) -> None:
        """Count evidence in units of the champion's loss now; it restarts where they change."""
        state.level = level
        for each in state.challengers.values():
            pairing, units = each.pairing, self.evidence.clip * state.level
            if not FEWER * units <= pairing.scale <= MORE * units:
                pairing.restart()


def leave(state: ContestState, c: Config, eliminated: bool) -> Decision:
    """Drop a challenger, and return the record of it."""
    return retired_record(state.t, c, state.challengers.pop(c).pairing, eliminated)
