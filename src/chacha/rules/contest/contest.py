"""The recommended rules: a champion, and challengers that are one move away from it.

As in Algorithm 1, losses go in and decisions come out; there is no learner, no file and no clock.
docs/algorithm.md describes the differences from the paper: paired evidence, leases that end unless
the odds have grown, an oracle that is called whenever a slot is free, and a screen that orders its
proposals.

Twin: native/src/rules/contest.hpp
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from chacha.config.arguments import LONGEST, check_part, whole_number
from chacha.config.config import Config
from chacha.config.derived_groups import DerivedFeatures
from chacha.config.describe import describe
from chacha.config.space import RATES, Interactions, Space
from chacha.rules.algorithm import Outcome
from chacha.rules.contest.betting import PairedBetting, nan_to_inf
from chacha.rules.contest.blending import Blend, Blending
from chacha.rules.contest.moves import Moves
from chacha.rules.contest.records import (
    doubled_record,
    eliminated_record,
    promoted_record,
)
from chacha.rules.contest.rotation import Move, MoveRequest, MoveSource, OracleMoves
from chacha.rules.contest.scaling import Scaling
from chacha.rules.contest.screening import CandidateWindow, Screening
from chacha.rules.contest.slots import ANEW, DETHRONED, LONGER, Slots, leave
from chacha.rules.contest.state import ContestState
from chacha.rules.contest.surprise import EXPIRES, LARGE, NEVER
from chacha.rules.decisions import Decision, Retired, WentLive
from chacha.rules.head_start import FromScratch, HeadStart, Starting
from chacha.rules.oracle import ConfigOracle
from chacha.rules.stream_facts import ScoredExample, StreamFacts

__all__ = ["Contest", "ContestRules"]

FUNCTION = "a function of the champion and the groups"


@dataclass(frozen=True)
class ContestRules:
    """The recommended rules.

    Parameters
    ----------
    evidence
        The statistical test for promotions.
    oracle
        Proposes challengers for a champion: by default :class:`Moves`, otherwise any function of
        the champion and the groups, or a :class:`MoveSource`.
    blending
        Which models serve.
    screening
        How much work goes into ordering the proposals.
    starting
        How the model of a challenger starts.
    first_lease
        The number of examples in a first lease.
    scaling
        How the scale of labels and columns is found; None learns both as they are.

    Examples
    --------
    >>> import chacha
    >>> model = chacha.ChaCha(rules=ContestRules(first_lease=500))
    >>> model.settings["first_lease"]
    500
    """

    evidence: PairedBetting = field(default_factory=PairedBetting)
    oracle: ConfigOracle | MoveSource | None = None
    blending: Blending = field(default_factory=Blending)
    screening: Screening = field(default_factory=Screening)
    starting: Starting = field(default_factory=HeadStart)
    first_lease: int = 1000
    scaling: Scaling | None = field(default_factory=Scaling)

    def __post_init__(self) -> None:
        check_part("evidence", self.evidence, PairedBetting, "PairedBetting()")
        check_part("blending", self.blending, Blending, "Blending() or ChampionServes()")
        check_part("screening", self.screening, Screening, "Screening()")
        check_part("starting", self.starting, (FromScratch, HeadStart), "HeadStart()")
        if not (self.oracle is None or callable(self.oracle)):
            check_part("oracle", self.oracle, MoveSource, FUNCTION)
        whole_number("first_lease", self.first_lease, 1, most=LONGEST)
        if self.scaling is not None:
            check_part("scaling", self.scaling, Scaling, "Scaling() or None")

    def default_space(self, rate: bool, derives: bool) -> Space:
        """Return what is tuned by default, if the pool has a learning rate and derives groups."""
        features = DerivedFeatures(text=False) if derives else None
        return Space(Interactions(), {"learning_rate": RATES} if rate else {}, features)

    def make_algorithm(self, initial: Config, space: Space, budget: int, seed: int) -> Contest:
        """Return the algorithm that follows these rules."""
        return Contest(self, initial, budget, space, seed)


@dataclass(frozen=True)
class Contest:
    """A champion C and at most b - 1 live challengers, each with a pairing against C.

    A challenger that proves better is promoted. The others then leave, and the dethroned champion
    stays as a challenger, so that a wrong promotion can be undone. A challenger that proves worse
    is eliminated. A lease ends after `first_lease` examples, doubled for each time the move was
    tried before. It is doubled if the odds have grown by the factor `evidence.renews` since it
    began; the evidence then restarts with half of the reserve. As odds cannot grow forever without
    a promotion, every challenger's time is limited and every move gets its turn.

    >>> from types import SimpleNamespace
    >>> from chacha.rules.contest.screen import Screen
    >>> from chacha.rules.contest.screening import Screening
    >>> screen = Screen(Screening())
    >>> facts = SimpleNamespace(groups="ab", sizes={}, columns=(), screen=screen, skewed=False)
    >>> facts.beyond_scale = lambda champion: False
    >>> rules = ContestRules(oracle=lambda champion, groups: [champion.with_product(groups)])
    >>> contest = Contest(rules, Config(), budget=2)
    >>> state = contest.start()
    >>> [d.kind for d in contest.begin(state, facts).decisions]
    ['WentLive']
    >>> while state.champion == Config():
    ...     losses = {Config(): 1.0, Config(["ab"]): 0.09}
    ...     _ = contest.charge(state, ScoredExample(losses, served_loss=1.0))
    ...     decisions, _ = contest.decide(state, facts)
    >>> state.t, [d.kind for d in decisions]
    (91, ['Promoted'])
    """

    rules: ContestRules
    initial: Config
    budget: int
    space: Space = field(default_factory=lambda: Space(Interactions(), {}))
    seed: int = 0
    loss_power: int = 2
    """The power of the error that the loss grows with."""

    @property
    def starting(self) -> Starting:
        """How the model of a challenger starts."""
        return self.rules.starting

    @property
    def _slots(self) -> Slots:
        return Slots(self.budget, self.rules.first_lease, self.rules.evidence, self.initial)

    def start(self) -> ContestState:
        """Return the state before the first example."""
        state = ContestState(self.initial, self._moves(), CandidateWindow(self.rules.screening))
        state.surprise.large = LARGE[self.loss_power]
        if self.budget < 2:
            state.surprise.calm = state.surprise.checks = NEVER
        return state

    def _moves(self) -> MoveSource:
        oracle = self.rules.oracle
        if oracle is None:
            return Moves(self.space, self.seed)
        return oracle if isinstance(oracle, MoveSource) else OracleMoves(oracle)

    def live(self, state: ContestState) -> tuple[Config, ...]:
        """Return the configurations that have a model, the champion first."""
        return (state.champion, *state.challengers)

    def served_by(self, state: ContestState) -> Config | Blend:
        """Return the model or blend that serves the next example."""
        return state.serving.by(state.champion)

    def serve(self, state: ContestState, raw: Mapping[Config, float]) -> float:
        """Return the prediction to serve."""
        return state.serving.served(state.champion, raw)

    def constants(self) -> dict[str, Any]:
        """Return the settings of the rules, for reports."""
        oracle = Moves(self.space, self.seed) if self.rules.oracle is None else self.rules.oracle
        return {
            "evidence": describe(self.rules.evidence),
            "oracle": describe(oracle),
            "starting": describe(self.rules.starting),
            "screening": describe(self.rules.screening),
            "blending": describe(self.rules.blending),
            "first_lease": self.rules.first_lease,
            "scaling": None if self.rules.scaling is None else describe(self.rules.scaling),
        }

    def begin(self, state: ContestState, facts: StreamFacts) -> Outcome:
        """Start the first challengers."""
        state.decide_anyway = True
        outcome = self.decide(state, facts)
        if outcome.failures and not state.challengers:
            state.decide_anyway = False  # the next example begins again
        return outcome

    def begun(self, state: ContestState) -> bool:
        """Return whether there are challengers, or there never will be any."""
        return bool(state.challengers) or self.budget < 2

    def charge(self, state: ContestState, scored: ScoredExample) -> Sequence[BaseException]:
        """Charge all live models for one example, and return the failures of a custom test.

        A model that went live after the prediction was made has no loss, and is not charged. If
        the test fails, it makes no bet.
        """
        state.t += 1
        losses, weight = scored.losses, scored.weight
        if not weight > 0 or state.champion not in losses:
            return ()
        failures: list[BaseException] = []
        decay, champion_loss = self.rules.blending.decay, losses[state.champion]
        none = weight * champion_loss
        state.serving.add(weight * scored.served_loss, none, decay)
        champion_loss = nan_to_inf(champion_loss)
        for c, challenger in state.challengers.items():
            if c not in losses:
                continue
            half, distance = scored.halves.get(c, math.nan), scored.distances.get(c, math.nan)
            whole = weight * losses[c]
            challenger.blend_gain.add(none, weight * half, whole, distance, decay)
            loss, evidence = nan_to_inf(losses[c]), self.rules.evidence
            try:
                challenger.pairing.add(champion_loss, loss, weight, state.level, evidence)
            except BaseException as error:
                failures.append(error)
        if math.isfinite(weight * champion_loss):
            state.charge_champion(weight * champion_loss)
            step = weight * scored.step_loss
            state.surprise.add(weight * champion_loss, step, state.charged, state.t)
        return failures

    def decide(self, state: ContestState, facts: StreamFacts) -> Outcome:
        """Promote, eliminate and end leases by the current evidence; then fill the free slots."""
        failures: list[Exception] = []
        reached = {c: each.pairing.reached for c, each in state.challengers.items()}
        best = max(reached, key=reached.__getitem__, default=None)
        if best is not None and reached[best] >= 1.0:
            decisions = self._promote(state, best, failures)
        else:
            decisions = [d for c in state.B for d in self._decide_on(state, c)]
        changes = self._slots.heed_changes(state, facts, failures)
        if decisions or changes or state.decide_anyway:
            state.decide_anyway = False
            decisions += changes or self._slots.start_standing(state, failures)
            decisions += self._fill(state, facts, failures)
        gains = {c: challenger.blend_gain for c, challenger in state.challengers.items()}
        state.serving.choose(self.rules.blending, gains, state.charged)
        return Outcome(decisions, failures)

    def _decide_on(self, state: ContestState, c: Config) -> list[Decision]:
        """Eliminate a challenger that is worse; retire or renew one at the end of its lease."""
        challenger, evidence = state.challengers[c], self.rules.evidence
        pairing = challenger.pairing
        if pairing.odds_against >= evidence.eliminates and pairing.n >= evidence.patience:
            eliminated = eliminated_record(state.t, c, state.champion, pairing, evidence)
            return [eliminated, self._slots.retire(state, c, eliminated=True)]
        if pairing.n < challenger.lease:
            return []
        odds, before = pairing.odds, pairing.odds_before
        if odds < evidence.renews * before:
            return [self._slots.retire(state, c, eliminated=False)]
        pairing.odds_before = odds
        pairing.restart()
        challenger.lease *= 2
        return [doubled_record(state.t, c, challenger.lease, pairing, odds)]

    def withdraw(self, state: ContestState, c: Config) -> None:
        """Forget a challenger that the learner refused to start, and free its slot."""
        move = state.challengers[c].move
        until = self._slots.rests(state, move, eliminated=True)
        state.moves.ended(move, self.rules.first_lease, eliminated=True, until=until)
        del state.challengers[c]
        state.decide_anyway = True

    def _promote(self, state: ContestState, c: Config, failures: list[Exception]) -> list[Decision]:
        """C ← c; the others leave, and the dethroned champion stays with a new pairing.

        So does a model that was started anew: it is no move away from the old champion. But if such
        a model is promoted, those that were started for the same change leave as well: one of them
        has won. If a custom test fails to say what one that stays needs, it leaves too.
        """
        old, winner = state.champion, state.challengers[c]
        change = winner.move.kind == ANEW
        decisions: list[Decision] = [
            promoted_record(state.t, c, old, winner.pairing, self.rules.evidence)
        ]
        stay = {Move(DETHRONED, "", old, LONGER): state.charged}
        for other in state.B:
            challenger = state.challengers[other]
            stays = challenger.move.kind == ANEW and len(stay) < self.budget - 1
            if change:  # a later one has other labels
                stays = stays and other.started > c.started + EXPIRES
            if other != c and stays:
                stay[challenger.move] = challenger.pairing.n
            elif other != c:
                decisions.append(leave(state, other, eliminated=False))
        state.champion, state.challengers = c, {}
        loss = winner.pairing.loss / winner.pairing.n if winner.pairing.n > 0 else math.inf
        state.level = loss if math.isfinite(loss) else state.level
        state.surprise.crown(state.t, loss, change)
        if change:
            state.challenged = 0  # α is for the stream as it is now
        state.moves.crowned(None if change or winner.move.kind == DETHRONED else winner.move, old)
        for move, n in stay.items():
            try:
                self._slots.give(state, self._slots.make_challenger(state, move))
            except Exception as error:
                failures.append(error)
                decisions.append(Retired(state.t, move.config, n, eliminated=False))
        return decisions

    def _fill(
        self, state: ContestState, facts: StreamFacts, failures: list[Exception]
    ) -> list[Decision]:
        """Start challengers in the free slots.

        They start empty, on the scale of the last labels, if these are beyond the champion's scale:
        a copy would have no better chance than the champion. If the oracle fails, nothing is
        proposed; it is called again after the next example.
        """
        decisions: list[Decision] = []
        if self.budget < 2:
            return decisions
        C, groups, columns, screen = state.champion, facts.groups, facts.columns, facts.screen
        try:
            candidates = partial(state.moves.candidates, C, groups, columns)
            state.window.set(screen, C, facts, candidates)
            mixed = state.surprise.labels_are_mixed(state.t)
            skewed = facts.skewed and not mixed
            beyond = facts.beyond_scale(C) and not mixed
            while len(state.challengers) < self.budget - 1:
                live = {each.move: each.pairing.n for each in state.challengers.values()}
                request = MoveRequest(C, groups, screen, live, state.t, columns)
                request = request._replace(skewed=skewed, initial=self.initial)
                move = state.moves.next(request)
                if move is None or move.config == C or move.config in state.challengers:
                    break
                challenger = self._slots.make_challenger(state, move)
                self._slots.give(state, challenger)
                labels = EXPIRES if beyond or move.config.starts_empty(C) else None
                lease, why = challenger.lease, move.why
                decisions.append(WentLive(state.t, move.config, lease, why, labels))
        except Exception as error:
            failures.append(error)
            state.decide_anyway = True
        return decisions
