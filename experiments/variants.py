"""The order in which the authors' code tries challengers: those with another number first.

The paper says "random among the pending". Their code takes the list's end first, where the
oracle has put the proposals of numbers. These methods do so too, to see what it changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from chacha import ChaCha, ChampionChallengers, Config, RandomChallengers, Scheduler
from chacha.comparators import NoLeases
from chacha.compare import Method

__all__ = ["NUMBERS_FIRST"]


class NumbersFirst(Scheduler):
    """Algorithm 3, with the challengers whose numbers are not the usual ones before all others."""

    def choose(self, S: Sequence[Config], n_min: int) -> Config:
        """One of those that have not been live and have another number, if there is one."""
        pending = [c for c in S if c not in self.lease]
        usual = Counter(str(dict(c.values)) for c in pending).most_common(1)
        others = [c for c in pending if str(dict(c.values)) != usual[0][0]]
        return super().choose(others or S, n_min)


class NumbersFirstForGood(NumbersFirst, NoLeases):
    """The same, live for good."""


class ChaChaNumbersFirst(ChampionChallengers):
    """ChaCha in that order."""

    scheduling = NumbersFirst


class RandomNumbersFirst(RandomChallengers):
    """Random in that order."""

    scheduling = NumbersFirstForGood


NUMBERS_FIRST = (
    Method("random, numbers first", "", partial(ChaCha.flaml, algorithm=RandomNumbersFirst)),
    Method("chacha, numbers first", "", partial(ChaCha.flaml, algorithm=ChaChaNumbersFirst)),
)
