"""Product moves: products of groups that the recommended rules try next to a champion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, combinations_with_replacement, islice

from chacha.config.config import Config, Product, product
from chacha.rules.contest.feature_moves import face_pairs, source
from chacha.rules.contest.screening import CandidateScreen

__all__ = ["ProductMoves"]

MOST_LISTED = 100_000  # candidates of one champion


class ProductMoves:
    """Which products there are to try, one by one and many at once.

    >>> moves = ProductMoves(order=3, squares=True, best=8, few=3)
    >>> moves.candidates(Config(derived=["bins(b,16)"]), "ab")
    [('a', 'a'), ('a', 'b'), ('b', 'b'), ('a', 'bins(b,16)')]
    """

    def __init__(self, order: int, squares: bool, best: int, few: int) -> None:
        self.order, self.squares, self.best, self.few = order, squares, best, few
        self._groups: tuple[str, ...] = ()
        self._pairs: tuple[list[Product], list[Product]] = ([], [])  # of these groups; with squares
        self._with: dict[str, list[Product]] = {}  # every one of them
        self._ranked: tuple[Mapping[Product, float], Config, list[Product]] | None = None
        self._faces: tuple[object, list[Product]] | None = None

    def ranked(self, champion: Config, gains: CandidateScreen) -> list[Product]:
        """The products that helped and that the champion does not have, best first."""
        if not gains.known:
            return []
        found = gains.gains()
        if self._ranked is None or self._ranked[0] is not found or self._ranked[1] != champion:
            have = set(champion.interactions)
            helped = [p for p, gain in found.items() if gain > 0.0 and len(p) > 1 and p not in have]
            helped.sort(key=found.__getitem__, reverse=True)  # equal ones stay in order
            self._ranked = found, champion, helped
        return self._ranked[2]

    def candidates(self, champion: Config, groups: Sequence[str]) -> list[Product]:
        """Products the champion does not have: pairs, then its products with groups and products.

        Pairs are of groups, a group with itself included, and of the champion's derived groups
        with others: not with what they are made of.
        """
        return list(islice(self._products(champion, groups), MOST_LISTED))

    def _products(self, champion: Config, groups: Sequence[str]) -> Iterator[Product]:
        known = set(champion.interactions)
        pairs = combinations_with_replacement if self.squares else combinations
        for p in pairs(sorted(groups), 2):
            if p not in known:
                yield p
        for name in champion.derived:
            for other in (*groups, *champion.derived):
                p = (name, other) if name < other else (other, name)
                if source(name) != source(other) and p not in known:
                    known.add(p)
                    yield p
        singles = [(group,) for group in groups]
        for have in champion.interactions:
            room = self.order - len(have)
            for more in chain(singles, champion.interactions if room > 1 else ()):
                if len(more) > room or not (self.squares or set(have).isdisjoint(more)):
                    continue
                longer = tuple(sorted((*have, *more)))
                if longer not in known:
                    known.add(longer)
                    yield longer

    def bundles(
        self, champion: Config, groups: Sequence[str], gains: CandidateScreen, most: float
    ) -> Iterator[tuple[str, Sequence[Product]]]:
        """Many at once, where there may be `most` features."""
        if len(groups) * (len(groups) - 1) / 2 <= most:
            pairs, and_squares = self._every_pair(groups)
            yield "all pairs", pairs
            if self.squares:
                yield "all pairs and squares", and_squares
            if champion.derived:
                yield "all derived pairs", self._derived_pairs(champion, groups)
        best = self.ranked(champion, gains)
        for count in (self.best, self.few):
            if len(best) > 1:
                yield f"best {count}", best[:count]
        for group in self._leaders(groups, gains) if len(groups) <= most else ():
            yield f"all with {group}", self._every_with(group, groups)

    def _every_pair(self, groups: Sequence[str]) -> tuple[list[Product], list[Product]]:
        """Pairs of two groups, and the same with squares."""
        self._notice(groups)
        if not self._pairs[1]:
            every = [product(pair) for pair in combinations(groups, 2)]
            self._pairs = every, [*every, *((group, group) for group in groups)]
        return self._pairs

    def _every_with(self, group: str, groups: Sequence[str]) -> list[Product]:
        """A group with every other, and with itself if there are squares."""
        self._notice(groups)
        if group not in self._with:
            others = groups if self.squares else [other for other in groups if other != group]
            self._with[group] = [product((group, other)) for other in others]
        return self._with[group]

    def _notice(self, groups: Sequence[str]) -> None:
        """What is known of other groups is of no use."""
        if self._groups != tuple(groups):
            self._groups, self._pairs = tuple(groups), ([], [])
            self._with.clear()

    def _derived_pairs(self, champion: Config, groups: Sequence[str]) -> list[Product]:
        asked = champion.derived, tuple(groups)
        if self._faces is None or self._faces[0] != asked:
            self._faces = asked, face_pairs(champion, groups)
        return self._faces[1]

    def _leaders(self, groups: Sequence[str], gains: CandidateScreen) -> Iterable[str]:
        """The group whose products help most; any, as long as that is not known."""
        if not gains.known:
            return groups
        sums: dict[str, float] = {}
        for p, gain in gains.gains().items():
            if gain > 0.0 and len(p) == 2:
                for group in dict.fromkeys(p):
                    sums[group] = sums.get(group, 0.0) + gain
        return sorted(sums, key=lambda group: -sums[group])[:1]
