"""Feature moves: derived groups that the recommended rules try next to a champion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations

from chacha.config import Config, Product, product
from chacha.features import Column, Derived, Features, derived
from chacha.screening import Gains
from chacha.turns import Offer

__all__ = ["FeatureMoves"]

FINER = 4  # times as many knots, next to the coarse ones


class FeatureMoves:
    """Derived groups to add: all that are offered first, then one by one as the screen ranks them.

    >>> hour = Column("hour", "hour", 24, True, 0.0, 23.0, 12.0)
    >>> temp = Column("temp", "temp", 200, False, -3.5, 31.5, 12.5)
    >>> moves = FeatureMoves(Features(kinds=["bins", "onehot"]))
    >>> moves.names(Config(), [hour, temp])
    ['onehot(hour)', 'bins(hour,16)', 'bins(temp,16)']
    >>> moves.names(Config().with_features(["bins(temp,16)"]), [temp])
    ['bins(temp,64)']
    """

    def __init__(self, policy: Features) -> None:
        self.policy = policy
        self._known: tuple[Sequence[Column], list[str]] | None = None

    def offered(self, columns: Sequence[Column]) -> list[str]:
        """All that is offered by what the columns look like."""
        if self._known is None or self._known[0] is not columns:
            self._known = columns, [name for name, _ in self.policy.offers(columns)]
        return self._known[1]

    def names(self, champion: Config, columns: Sequence[Column]) -> list[str]:
        """What the champion does not have, and finer bins of those that it has."""
        have = set(champion.features)
        offered = self.offered(columns)
        finer = [str(self._finer(made)) for made in map(derived, champion.features) if made]
        most = {group: distinct for group, distinct in _distinct(columns).items()}
        found = [name for name in offered if name not in have]
        for name in finer:
            made = derived(name)
            if made is None or made.kind != "bins" or name in have:
                continue
            if made.parameter <= FINER * self.policy.knots and most.get(made.source, 0) > (
                made.parameter / FINER
            ):
                found.append(name)
        return found

    def _finer(self, made: Derived) -> Derived:
        return made._replace(parameter=made.parameter * FINER)

    def offers(
        self, champion: Config, columns: Sequence[Column], gains: Gains, most: float
    ) -> Iterator[Offer]:
        """All at once, then one by one."""
        names = self.names(champion, columns)
        if not names:
            return
        first: dict[str, str] = {}
        covered = {made.source for made in map(derived, champion.features) if made}
        for name in names:
            made = derived(name)
            assert made is not None
            if made.kind in ("bins", "onehot") and made.source not in covered:
                first.setdefault(made.source, name)
        if len(first) > 1:
            config = champion.with_features(first.values())
            if gains.width(config) <= most:
                yield "all", partial(champion.with_features, list(first.values()))
        ranked = gains.gains() if gains.known else {}
        for name in sorted(names, key=lambda name: -ranked.get((name,), 0.0)):
            yield name, partial(champion.with_features, [name])


def _distinct(columns: Sequence[Column]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for column in columns:
        found[column.group] = max(found.get(column.group, 0), column.distinct)
    return found


def faces(champion: Config, groups: Sequence[str]) -> list[str]:
    """Each group as the champion sees it best: its finest derived group, or the raw one.

    >>> faces(Config(features=["bins(a,16)"]), ["a", "b"])
    ['bins(a,16)', 'b']
    """
    seen = {made.source: str(made) for made in map(derived, champion.features) if made}
    return [seen.get(group, group) for group in groups]


def source(name: str) -> str:
    """The raw group behind a name."""
    made = derived(name)
    return name if made is None else made.source


def face_pairs(champion: Config, groups: Sequence[str]) -> list[Product]:
    """The products of all pairs of groups, as the champion sees them."""
    return [product(pair) for pair in combinations(faces(champion, groups), 2)]
