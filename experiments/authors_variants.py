"""Two variants of the authors' code that differ from the paper's text.

Numbers first: the paper says "random among the pending". The code takes challengers from the end
of the list, where the oracle has put the proposals of numbers.

Restarted: in the text a challenger leaves only if others wait (|S| > b), and in our code it keeps
its model if it is chosen again at once. In the authors' code it always leaves, and starts again
from nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from random import Random

from chacha import ChaCha, Config, Decision, LeaseDoubled, Retired, WentLive
from chacha.compare import Method
from chacha.rules.paper import ChampionChallengers, RandomChallengers, Scheduler, WithoutChampion
from chacha.rules.paper.comparators import LeasesOnly, NoLeases, NoSlotForTheChampion

__all__ = ["NUMBERS_FIRST", "RESTARTED"]


class NumbersFirst(Scheduler):
    """Algorithm 3, with challengers whose numbers differ from the usual ones first."""

    def choose(
        self, S: Sequence[Config], lease: dict[Config, int], rng: Random, n_min: int
    ) -> Config:
        """Return a challenger that has not been live and has another number, if there is one."""
        pending = [c for c in S if c not in lease]
        usual = Counter(str(dict(c.values)) for c in pending).most_common(1)
        others = [c for c in pending if str(dict(c.values)) != usual[0][0]]
        return super().choose(others or S, lease, rng, n_min)


class NumbersFirstForGood(NumbersFirst, NoLeases):
    """The same order, without leases."""


class ChaChaNumbersFirst(ChampionChallengers):
    """ChaCha with numbers first."""

    scheduling = NumbersFirst


class RandomNumbersFirst(RandomChallengers):
    """Random with numbers first."""

    scheduling = NumbersFirstForGood


class Restarted(LeasesOnly):
    """A challenger that has used up its lease leaves, and starts from nothing if chosen again."""

    at_lease_ends = True

    def schedule(
        self,
        B: Sequence[Config],
        S: Collection[Config],
        n: Mapping[Config, int],
        upper: Mapping[Config, float],
        lease: dict[Config, int],
        rng: Random,
        n_min: int,
        t: int = 0,
    ) -> tuple[list[Config], list[Decision]]:
        """Return the live challengers and decisions of Algorithm 2 without its guards."""
        ended = [c for c in B if n[c] >= lease[c]]
        live = [c for c in B if c not in ended and c in S]
        decisions: list[Decision] = []
        for c in ended:
            lease[c] *= 2
            decisions.append(LeaseDoubled(t, c, lease=lease[c], n=n[c]))
        for c in (c for c in B if c not in live):
            decisions.append(Retired(t, c, n=n[c], eliminated=c not in S))
            if c not in S:
                del lease[c]
        while len(live) < self.slots and (waiting := [c for c in S if c not in live]):
            live.append(self.choose(waiting, lease, rng, n_min))
            decisions.append(WentLive(t, live[-1], lease=lease[live[-1]]))
        return live, decisions


class AggressiveRestarted(ChampionChallengers):
    """The ablation `aggressive` as in the authors' code."""

    scheduling = Restarted


class RestartedShared(Restarted, NoSlotForTheChampion):
    """The same restarts, with b slots for all."""


class WithoutChampionRestarted(WithoutChampion):
    """The ablation `no-champion` as in the authors' code."""

    scheduling = RestartedShared


RESTARTED = (
    Method("aggressive, restarted", "", partial(ChaCha.paper, algorithm=AggressiveRestarted)),
    Method("no-champion, restarted", "", partial(ChaCha.paper, algorithm=WithoutChampionRestarted)),
)
NUMBERS_FIRST = (
    Method("random, numbers first", "", partial(ChaCha.flaml, algorithm=RandomNumbersFirst)),
    Method("chacha, numbers first", "", partial(ChaCha.flaml, algorithm=ChaChaNumbersFirst)),
)
