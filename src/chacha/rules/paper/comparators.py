"""The methods the paper compares ChaCha with, and its two ablations: variants of Algorithm 1.

Each variant leaves out a part of Algorithm 1. All share the rest: the oracle, the bounds, and the
rule that the model with the lowest upper bound serves (section 5 and appendix A.2). Naive needs no
class: it is ChaCha with a budget of 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from chacha.config.config import Config
from chacha.rules.algorithm import Outcome
from chacha.rules.paper.champion import ChampionChallengers
from chacha.rules.paper.scheduler import FOREVER, Scheduler
from chacha.rules.paper.state import PaperState
from chacha.rules.stream_facts import StreamFacts

__all__ = ["AggressiveScheduling", "Exhaustive", "RandomChallengers", "WithoutChampion"]


class NoLeases(Scheduler):
    """b - 1 random challengers, live forever."""

    def choose(
        self, S: Sequence[Config], lease: dict[Config, int], rng: Random, n_min: int
    ) -> Config:
        """Algorithm 3 with a lease that never ends."""
        return super().choose(S, lease, rng, FOREVER)


class Everyone(NoLeases):
    """All challengers, live forever, in the order of their proposal."""

    def __init__(self, budget: int) -> None:
        super().__init__(FOREVER)  # the limit on live models is ignored

    def choose(
        self, S: Sequence[Config], lease: dict[Config, int], rng: Random, n_min: int
    ) -> Config:
        """Return the first in order, with a lease that never ends."""
        lease[S[0]] = FOREVER
        return S[0]


class LeasesOnly(Scheduler):
    """Leases that double, without regard for performance."""

    def stays(self, upper: float, middle: float) -> bool:
        """Line 8 left out: a challenger whose lease has ended makes room."""
        return False


class NoSlotForTheChampion(LeasesOnly):
    """Leases only, and all b slots are shared."""

    @property
    def slots(self) -> int:
        """The number of live models: b."""
        return self.budget


class RandomChallengers(ChampionChallengers):
    """Random: the initial configuration and b - 1 random ones of the first batch; no tests.

    >>> import chacha
    >>> def begun(variant, seed):
    ...     model = chacha.ChaCha.paper(algorithm=variant, budget=3, seed=seed)
    ...     _ = model.learn_one({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}, 1.0)
    ...     return [str(live.config) for live in model.live]
    >>> begun(RandomChallengers, seed=1)
    ['no interactions', 'interactions bd', 'interactions ac']
    >>> begun(Exhaustive, seed=1)
    ['no interactions', 'interactions ab', 'interactions ac', 'interactions ad', \
'interactions bc', 'interactions bd', 'interactions cd']
    """

    scheduling = NoLeases

    def tested(self, state: PaperState) -> tuple[Config, ...]:
        """Return nothing: no challenger is promoted or eliminated."""
        return ()


class Exhaustive(RandomChallengers):
    """The initial configuration and the whole first batch live, whatever the budget; no tests.

    >>> Exhaustive.scheduling.__name__
    'Everyone'
    """

    scheduling = Everyone


class AggressiveScheduling(ChampionChallengers):
    """ChaCha-AggressiveScheduling: leases only, without regard for performance.

    >>> AggressiveScheduling.scheduling(5).stays(upper=1.0, middle=2.0)
    False
    """

    scheduling = LeasesOnly


class WithoutChampion(AggressiveScheduling):
    """ChaCha-w/o-Champion: aggressive scheduling, and the champion is one of S that share b slots.

    The champion's lease ends like any other, and its model is dropped then. Without a model it has
    no bound, so no challenger is tested against it.

    >>> WithoutChampion.scheduling(5).slots
    5
    """

    scheduling = NoSlotForTheChampion

    def live(self, state: PaperState) -> tuple[Config, ...]:
        """Return the configurations that have a model; the champion first, if it has one."""
        others = tuple(c for c in state.B if c != state.champion)
        return (state.champion, *others) if state.champion in state.standing else others

    def tested(self, state: PaperState) -> tuple[Config, ...]:
        """Return the other live configurations in S, while the champion is live."""
        if state.champion not in state.standing:
            return ()
        return tuple(c for c in state.B if c in state.S and c != state.champion)

    def begin(self, state: PaperState, facts: StreamFacts) -> Outcome:
        """As in Algorithm 1, but the initial configuration joins S, with the first lease."""
        failures = self._expand(state, facts)
        if state.S and state.champion not in state.S:
            state.S = {state.champion: None, **state.S}
            state.B = [state.champion]
            state.lease[state.champion] = self._n_min(facts)
        return Outcome(self._schedule(state, facts, self._bounds(state, facts)), failures)

    def _crown(self, state: PaperState, c: Config) -> None:
        """C ← c; all keep their slots and leases."""
        state.champion = c
