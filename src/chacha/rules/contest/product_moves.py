"""Moves that add products of groups to a champion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations, combinations_with_replacement, islice

from chacha.config.config import Config, Product, product
from chacha.rules.contest.feature_moves import derived_pairs, source_group
from chacha.rules.contest.screening import CandidateScreen

__all__ = ["ProductMoves"]

MOST_LISTED = 100_000  # candidates beside one champion
FEW_GROUPS = 100  # for as many, all pairs are kept
MOST_SHARED = 16  # sets of groups


class ProductMoves:
    """Products to add, one at a time and several at once.

    >>> moves = ProductMoves(order=3, squares=True, best=8, few=3)
    >>> moves.candidates(Config(derived=["bins(b,16)"]), "ab")
    [('a', 'a'), ('a', 'b'), ('b', 'b'), ('a', 'bins(b,16)')]
    """

    def __init__(self, order: int, squares: bool, best: int, few: int) -> None:
        self.order, self.squares, self.best, self.few = order, squares, best, few
        self._ranked: tuple[Mapping[Product, float], Config, list[Product]] | None = None
        self._derived: tuple[object, list[Product]] | None = None

    def ranked(self, champion: Config, screen: CandidateScreen) -> list[Product]:
        """Return the products with a gain that the champion does not have, best first."""
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
        names = tuple(sorted(groups))
        few = len(names) <= FEW_GROUPS
        for p in _sorted_pairs(names) if few else combinations_with_replacement(names, 2):
            if p not in listed and (self.squares or p[0] != p[1]):
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
                longer = _longer(base, factor)
                if longer not in listed:
                    listed.add(longer)
                    yield longer

    def bundles(
        self, champion: Config, groups: Sequence[str], screen: CandidateScreen, most: float
    ) -> Iterator[tuple[str, Sequence[Product]]]:
        """Yield names and lists of products to add at once; `most` limits the features."""
        if len(groups) * (len(groups) - 1) / 2 <= most:
            pairs, and_squares = _every_pair(tuple(groups))
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
            yield f"all with {group}", _every_with(group, tuple(groups), self.squares)

    def _derived_pairs(self, champion: Config, groups: Sequence[str]) -> list[Product]:
        key = champion.derived, tuple(groups)
        if self._derived is None or self._derived[0] != key:
            self._derived = key, derived_pairs(champion, groups)
        return self._derived[1]

    def _leaders(self, groups: Sequence[str], screen: CandidateScreen) -> Iterable[str]:
        """Return the group whose products help most; all groups until the screen knows."""
        gains = screen.gains()
        if not gains:
            return groups
        sums: dict[str, float] = {}
        for p, gain in gains.items():
            if gain > 0.0 and len(p) == 2:
                for group in dict.fromkeys(p):
                    sums[group] = sums.get(group, 0.0) + gain
        return sorted(sums, key=lambda group: -sums[group])[:1]


# Models with the same groups share these lists, so that thousands of models hold each product once.


@lru_cache(maxsize=MOST_SHARED)
def _sorted_pairs(groups: tuple[str, ...]) -> tuple[Product, ...]:
    """Return all pairs of groups in order, those of a group and itself included."""
    return tuple(combinations_with_replacement(groups, 2))


@lru_cache(maxsize=4096)
def _longer(base: Product, factor: Product) -> Product:
    """Return the product of two products."""
    return tuple(sorted((*base, *factor)))


@lru_cache(maxsize=MOST_SHARED)
def _every_pair(groups: tuple[str, ...]) -> tuple[Sequence[Product], Sequence[Product]]:
    """Return all pairs of different groups, and the same with squares.

    >>> _every_pair(("a", "b"))
    ((('a', 'b'),), (('a', 'b'), ('a', 'a'), ('b', 'b')))
    """
    same = {p: p for p in _sorted_pairs(groups)} if len(groups) <= FEW_GROUPS else {}
    pairs = tuple(same.get(p := product(pair), p) for pair in combinations(groups, 2))
    squares = ((group, group) for group in groups)
    return pairs, (*pairs, *(same.get(p, p) for p in squares))


@lru_cache(maxsize=MOST_SHARED * 4)
def _every_with(group: str, groups: tuple[str, ...], squares: bool) -> Sequence[Product]:
    """Return a group's products with every other, and with itself if there are squares.

    >>> _every_with("b", ("a", "b"), squares=True)
    (('a', 'b'), ('b', 'b'))
    """
    others = groups if squares else [other for other in groups if other != group]
    return tuple(product((group, other)) for other in others)
