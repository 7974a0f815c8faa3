"""Feature moves: derived groups that the recommended rules try next to a champion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations

from chacha.config.config import Config, Product, product
from chacha.config.derived_groups import (
    ColumnProfile,
    DerivedFeatures,
    DerivedGroup,
    OfferedGroup,
    derived,
)
from chacha.rules.contest.rotation import MoveOption, constant
from chacha.rules.contest.screening import CandidateScreen

__all__ = ["FeatureMoves"]

FINER = 4  # times as many knots, next to the coarse ones


class FeatureMoves:
    """DerivedGroup groups to add: all that are offered first, then one by one as the screen ranks them.

    Where the champion has bins, finer ones are offered too: both together fit quickly and well.

    >>> hour = ColumnProfile("hour", "hour", 24, True, 0.0, 23.0, 12.0)
    >>> temp = ColumnProfile("temp", "temp", 200, False, -3.5, 31.5, 12.5)
    >>> moves = FeatureMoves(DerivedFeatures(kinds=["bins", "onehot"]))
    >>> moves.names(Config(), [hour, temp])
    ['onehot(hour)', 'bins(hour,16)', 'bins(temp,16)']
    >>> moves.names(Config().with_derived(["bins(temp,16)"]), [temp])
    ['bins(temp,64)']
    """

    def __init__(self, policy: DerivedFeatures) -> None:
        self.policy = policy
        self._columns: Sequence[ColumnProfile] | None = None
        self._offered: list[OfferedGroup] = []
        self._names: tuple[Sequence[ColumnProfile], Config, list[str]] | None = None
        self._all: tuple[list[str], Config] | None = None

    def offered(self, columns: Sequence[ColumnProfile]) -> list[OfferedGroup]:
        """All that is offered by what the columns look like, and why."""
        if self._columns is not columns:
            self._columns, self._offered = columns, self.policy.offers(columns)
        return self._offered

    def names(self, champion: Config, columns: Sequence[ColumnProfile]) -> list[str]:
        """What the champion does not have, and finer bins of those that it has."""
        if self._names is None or self._names[0] is not columns or self._names[1] != champion:
            every = [name for name, _ in self.offered(columns)]
            every += self._finer(champion, columns)
            have = set(champion.derived)
            self._names = columns, champion, [name for name in every if name not in have]
        return self._names[2]

    def why(self, names: Sequence[str], columns: Sequence[ColumnProfile]) -> str:
        """Why derived groups were offered, in words.

        >>> temp = ColumnProfile("temp", "temp", 200, False, -3.5, 31.5, 12.5)
        >>> FeatureMoves(DerivedFeatures()).why(["bins(temp,16)", "bins(temp,64)"], [temp])
        'bins(temp,16): 200 values; bins(temp,64): finer'
        """
        known = dict(self.offered(columns))
        return "; ".join(f"{name}: {known.get(name, 'finer')}" for name in names)

    def _finer(self, champion: Config, columns: Sequence[ColumnProfile]) -> Iterator[str]:
        values = _distinct(columns)
        for made in map(derived, champion.derived):
            if made is None or made.kind != "bins" or made.parameter > self.policy.knots:
                continue
            if values.get(made.source, 0) > made.parameter:
                yield str(DerivedGroup("bins", made.source, made.parameter * FINER))

    def offers(
        self,
        champion: Config,
        columns: Sequence[ColumnProfile],
        gains: CandidateScreen,
        most: float,
    ) -> Iterator[MoveOption]:
        """One for every group at once, if that gives at most so many features; then single ones."""
        names = self.names(champion, columns)
        if self._all is None or self._all[0] is not names:
            self._all = names, champion.with_derived(self._together(champion, names))
        every = self._all[1]
        if len(every.derived) > len(champion.derived) + 1 and gains.width(every) <= most:
            yield "all", partial(constant, every)
        ranked = gains.gains() if gains.known else {}
        for name in sorted(names, key=lambda name: -ranked.get((name,), 0.0)):
            yield name, partial(champion.with_derived, [name])

    def _together(self, champion: Config, names: Sequence[str]) -> list[str]:
        """The first bins or one-hot group of every raw group that has none."""
        covered = {source(name) for name in champion.derived}
        first: dict[str, str] = {}
        for name in names:
            if name.startswith(("bins(", "onehot(")) and source(name) not in covered:
                first.setdefault(source(name), name)
        return list(first.values())


def _distinct(columns: Sequence[ColumnProfile]) -> Mapping[str, int]:
    """The most values that a column of a group has."""
    found: dict[str, int] = {}
    for column in columns:
        found[column.group] = max(found.get(column.group, 0), column.distinct)
    return found


def source(name: str) -> str:
    """The raw group behind a name.

    >>> source("bins(temp,16)"), source("temp")
    ('temp', 'temp')
    """
    made = derived(name)
    return name if made is None else made.source


def face_pairs(champion: Config, groups: Sequence[str]) -> list[Product]:
    """The products of all pairs of groups, each as the champion sees it: derived, or raw.

    >>> face_pairs(Config(derived=["bins(a,16)"]), ["a", "b", "c"])
    [('b', 'bins(a,16)'), ('bins(a,16)', 'c'), ('b', 'c')]
    """
    faces = {source(name): name for name in champion.derived}
    return [product(pair) for pair in combinations([faces.get(g, g) for g in groups], 2)]
