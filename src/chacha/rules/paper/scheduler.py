"""The scheduler: which challengers are live, with leases that double (Algorithms 2 and 3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf
from random import Random
from statistics import median
from typing import ClassVar

from chacha.config.config import Config
from chacha.rules.decisions import Decision, LeaseDoubled, Retired, WentLive

__all__ = ["FOREVER", "Scheduler"]

FOREVER = (1 << 63) - 1
"""A lease that does not end."""


class Scheduler:
    """Algorithms 2 and 3 for a budget of b live models, the champion included.

    Comments give the paper's line numbers.

    >>> S = [Config(["ab"]), Config(["ac"])]
    >>> B, decisions = Scheduler(budget=3).schedule([], S, {}, {}, {}, Random(0), n_min=10)
    >>> [str(c) for c in B]
    ['interactions ac', 'interactions ab']
    >>> decisions[0].kind, decisions[0].lease
    ('WentLive', 10)
    """

    at_lease_ends: ClassVar[bool] = False
    """Whether a :meth:`schedule` of a subclass changes something only when a lease ends or the
    challengers change. The native engine calls it at these times only."""

    def __init__(self, budget: int) -> None:
        self.budget = budget

    @property
    def slots(self) -> int:
        """The number of challengers that may be live: b - 1, as the champion has a slot."""
        return self.budget - 1

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
        """Algorithm 2: return the new live challengers and the decisions, stops before starts.

        `n` and `upper` hold the examples and upper bounds of the live challengers `B`. `lease`
        holds the lease of every challenger that was ever live, and is updated.
        """
        crowded = len(S) > self.budget
        live = [c for c in B if c in S or not crowded]  # 2-4
        doubled: list[Decision] = []
        bounded = [upper[c] for c in live if upper[c] < inf]
        middle = median(bounded) if bounded else inf
        for c in tuple(live):  # 5
            if n[c] >= lease[c]:  # 6
                lease[c] *= 2  # 7
                doubled.append(LeaseDoubled(t, c, lease=lease[c], n=n[c]))
                if crowded and not self.stays(upper[c], middle):  # 8
                    live.remove(c)  # 9
        waiting = [c for c in S if c not in live] if len(live) < self.slots else []
        while len(live) < self.slots and waiting:  # 10
            live.append(self.choose(waiting, lease, rng, n_min))  # 11-12
            waiting.remove(live[-1])
        stopped = [c for c in B if c not in live]
        started = [c for c in live if c not in B]  # 13: these get an empty model
        decisions = doubled + [Retired(t, c, n=n[c], eliminated=c not in S) for c in stopped]
        for c in stopped:
            if c not in S:
                del lease[c]
        return live, decisions + [WentLive(t, c, lease=lease[c]) for c in started]  # 14

    def stays(self, upper: float, middle: float) -> bool:
        """Line 8: a challenger not above the median of the live upper bounds keeps its slot."""
        return not upper > middle

    def choose(
        self, S: Sequence[Config], lease: dict[Config, int], rng: Random, n_min: int
    ) -> Config:
        """Algorithm 3: return a random challenger that was never live, else the shortest lease."""
        if pending := [c for c in S if c not in lease]:  # 1-2
            c = pending[int(rng.random() * len(pending))]  # 3
            lease[c] = n_min
            return c  # 4
        return min(S, key=lease.__getitem__)  # 5
