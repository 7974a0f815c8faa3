"""Moves that add products of groups to a champion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, combinations_with_replacement, islice

from chacha.config.config import Config, Product, product
from chacha.rules.contest.feature_moves import derived_pairs, source_group
from chacha.rules.contest.screening import CandidateScreen

__all__ = ["ProductMoves"]

MOST_LISTED = 100_000  # candidates beside one champion


class ProductMoves:
    """Products to add, one at a time and several at once.

    >>> moves = ProductMoves(order=3, squares=True, best=8, few=3)
    >>> moves.candidates(Config(derived=["bins(b,16)"]), "ab")
    [('a', 'a'), ('a', 'b'), ('b', 'b'), ('a', 'bins(b,16)')]
    """

    def __init__(self, order: int, squares: bool, best: int, few: int) -> None:
        self.order, self.squares, self.best, self.few = order, squares, best, few
        self._groups: tuple[str, ...] = ()
        self._pairs: tuple[list[Product], list[Product]] = ([], [])  # of these groups; with squares
        self._with: dict[str, list[Product]] = {}  # the products of a group with every other
        self._ranked: tuple[Mapping[Product, float], Config, list[Product]] | None = None
        self._derived: tuple[object, list[Product]] | None = None

    def ranked(self, champion: Config, screen: CandidateScreen) -> list[Product]:
        """Return the products with a gain that the champion does not have, best first."""
        if not screen.ready:
            return []
        gains = screen.gains()
        if self._ranked is None or self._ranked[0] is not gains or self._ranked[1] != champion:
            present = set(champion.interactions)
            better = [
                p for p, gain in gains.items() if gain > 0.0 and len(p) > 1 and p not in present
            ]
            better.sort(key=gains.__getitem__, reverse=True)  # stable: ties stay in order
            self._ranked = gains, champion, better
        return self._ranked[2]

    def candidates(self, champion: Config, groups: Sequence[str]) -> list[Product]:
        """Return products the champion lacks: pairs, then its products times groups and products.

        Pairs are of groups, a group with itself included, and of the champion's derived groups
        with other groups, but not with the group they are derived from.
        """
        return list(islice(self._products(champion, groups), MOST_LISTED))

    def _products(self, champion: Config, groups: Sequence[str]) -> Iterator[Product]:
        listed = set(champion.interactions)
        pairs = combinations_with_replacement if self.squares else combinations
        for p in pairs(sorted(groups), 2):
            if p not in listed:
                yield p
        for name in champion.derived:
            for other in (*groups, *champion.derived):
                p = (name, other) if name < other else (other, name)
                if source_group(name) != source_group(other) and p not in listed:
                    listed.add(p)
                    yield p
        singles = [(group,) for group in groups]
        for base in champion.interactions:
            room = self.order - len(base)
            for factor in chain(singles, champion.interactions if room > 1 else ()):
                if len(factor) > room or not (self.squares or set(base).isdisjoint(factor)):
                    continue
                longer = tuple(sorted((*base, *factor)))
                if longer not in listed:
                    listed.add(longer)
                    yield longer

    def bundles(
        self, champion: Config, groups: Sequence[str], screen: CandidateScreen, most: float
    ) -> Iterator[tuple[str, Sequence[Product]]]:
        """Yield names and lists of products to add at once; `most` limits the features."""
        if len(groups) * (len(groups) - 1) / 2 <= most:
            pairs, and_squares = self._every_pair(groups)
            yield "all pairs", pairs
            if self.squares:
                yield "all pairs and squares", and_squares
            if champion.derived:
                yield "all derived pairs", self._derived_pairs(champion, groups)
        best = self.ranked(champion, screen)
        for count in (self.best, self.few):
            if len(best) > 1:
                yield f"best {count}", best[:count]
        for group in self._leaders(groups, screen) if len(groups) <= most else ():
            yield f"all with {group}", self._every_with(group, groups)

    def _every_pair(self, groups: Sequence[str]) -> tuple[list[Product], list[Product]]:
        """Return all pairs of different groups, and the same with squares."""
        self._drop_other(groups)
        if not self._pairs[1]:
            pairs = [product(pair) for pair in combinations(groups, 2)]
            self._pairs = pairs, [*pairs, *((group, group) for group in groups)]
        return self._pairs

    def _every_with(self, group: str, groups: Sequence[str]) -> list[Product]:
        """Return a group's products with every other, and with itself if there are squares."""
        self._drop_other(groups)
        if group not in self._with:
            others = groups if self.squares else [other for other in groups if other != group]
            self._with[group] = [product((group, other)) for other in others]
        return self._with[group]

    def _drop_other(self, groups: Sequence[str]) -> None:
        """Drop the cached products of other groups."""
        if self._groups != tuple(groups):
            self._groups, self._pairs = tuple(groups), ([], [])
            self._with.clear()

    def _derived_pairs(self, champion: Config, groups: Sequence[str]) -> list[Product]:
        key = champion.derived, tuple(groups)
        if self._derived is None or self._derived[0] != key:
            self._derived = key, derived_pairs(champion, groups)
        return self._derived[1]

    def _leaders(self, groups: Sequence[str], screen: CandidateScreen) -> Iterable[str]:
        """Return the group whose products help most; all groups until the screen is ready."""
        if not screen.ready:
            return groups
        sums: dict[str, float] = {}
        for p, gain in screen.gains().items():
            if gain > 0.0 and len(p) == 2:
                for group in dict.fromkeys(p):
                    sums[group] = sums.get(group, 0.0) + gain
        return sorted(sums, key=lambda group: -sums[group])[:1]
