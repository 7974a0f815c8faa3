"""What the paper compares ChaCha with, and its two ablations: variants of Algorithm 1.

Each is Algorithm 1 with something left out, so that all share the rest: the oracle, the bounds,
and the rule that the model with the lowest upper bound serves (section 5 and appendix A.2).
Naive needs no class of its own: it is ChaCha with a budget of 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from chacha.config.config import Config
from chacha.rules.decisions import Decision
from chacha.rules.paper.champion import ChampionChallengers
from chacha.rules.paper.scheduler import FOREVER, Scheduler
from chacha.rules.stream_facts import StreamFacts

__all__ = ["AggressiveScheduling", "Exhaustive", "RandomChallengers", "WithoutChampion"]


class NoLeases(Scheduler):
    """b - 1 random challengers, live for good."""

    def choose(self, S: Sequence[Config], n_min: int) -> Config:
        """Algorithm 3 with a lease that never ends."""
        return super().choose(S, FOREVER)


class Everyone(NoLeases):
    """All challengers, live for good, in the order in which they were proposed."""

    def __init__(self, budget: int, rng: Random) -> None:
        super().__init__(FOREVER, rng)  # the limit on live models is ignored

    def choose(self, S: Sequence[Config], n_min: int) -> Config:
        """The next one."""
        self.lease[S[0]] = FOREVER
        return S[0]


class LeasesOnly(Scheduler):
    """Leases that double, without regard for performance."""

    def stays(self, upper: float, middle: float) -> bool:
        """Line 8 left out: whoever has used up its lease makes room."""
        return False


class NoSlotForTheChampion(LeasesOnly):
    """Further: all b slots are shared."""

    @property
    def slots(self) -> int:
        """b."""
        return self.budget


class RandomChallengers(ChampionChallengers):
    """Random: the initial configuration and b - 1 random ones of the first batch; no tests.

    >>> import chacha
    >>> def begun(variant, seed):
    ...     model = chacha.ChaCha(algorithm=variant, budget=3, seed=seed)
    ...     _ = model.learn_one({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}, 1.0)
    ...     return [str(live.config) for live in model.live]
    >>> begun(RandomChallengers, seed=1)
    ['no interactions', 'interactions bd', 'interactions ac']
    >>> begun(Exhaustive, seed=1)
    ['no interactions', 'interactions ab', 'interactions ac', 'interactions ad', \
'interactions bc', 'interactions bd', 'interactions cd']
    """

    scheduling = NoLeases

    @property
    def tested(self) -> tuple[Config, ...]:
        """Nobody is promoted or eliminated."""
        return ()


class Exhaustive(RandomChallengers):
    """The initial configuration and the whole first batch live, whatever the budget; no tests.

    >>> Exhaustive.scheduling.__name__
    'Everyone'
    """

    scheduling = Everyone


class AggressiveScheduling(ChampionChallengers):
    """ChaCha-AggressiveScheduling: leases only, no regard for performance.

    >>> AggressiveScheduling.scheduling(5, Random(0)).stays(upper=1.0, middle=2.0)
    False
    """

    scheduling = LeasesOnly


class WithoutChampion(AggressiveScheduling):
    """ChaCha-w/o-Champion: aggressive, and the champion is one of S that b slots are shared by.

    Its lease ends as any other's; then its model is gone. While it has none it has no bound
    either, so nobody is tested against it.

    >>> WithoutChampion.scheduling(5, Random(0)).slots
    5
    """

    scheduling = NoSlotForTheChampion

    @property
    def live(self) -> tuple[Config, ...]:
        """Those that have a model; the champion first, if it has one."""
        others = tuple(c for c in self.B if c != self.champion)
        return (self.champion, *others) if self.champion in self.standing else others

    @property
    def tested(self) -> tuple[Config, ...]:
        """As long as the champion is live, the others in S that are."""
        if self.champion not in self.standing:
            return ()
        return tuple(c for c in self.B if c in self.S and c != self.champion)

    def begin(self, facts: StreamFacts) -> list[Decision]:
        """As Algorithm 1; then the initial configuration is one of S, with the first lease."""
        self._expand(facts)
        if self.S and self.champion not in self.S:
            self.S = {self.champion: None, **self.S}
            self.B = [self.champion]
            self.scheduler.lease[self.champion] = self._n_min(facts)
        return self._schedule(facts, self._bounds(facts))

    def _crown(self, c: Config) -> None:
        """C ← c; everyone keeps its slot and its lease."""
        self.champion = c
