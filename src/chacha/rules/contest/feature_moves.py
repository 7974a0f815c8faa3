"""Moves that add derived groups to a champion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations

from chacha.config.config import Config, Product, product
from chacha.config.derived_groups import (
    ColumnProfile,
    DerivedFeatures,
    OfferedGroup,
    derived,
)
from chacha.config.derived_kinds import KINDS
from chacha.rules.contest.rotation import MoveOption, constant
from chacha.rules.contest.screening import CandidateScreen

__all__ = ["FeatureMoves"]


class FeatureMoves:
    """Derived groups to add: first those that cover all columns at once, then single ones.

    Bins and one-hot groups cover a column. The screen ranks the single ones. Where the champion
    has bins, finer ones are offered too, because both together fit quickly and well.

    >>> hour = ColumnProfile("hour", "hour", 24, True, 23, 0.0, 23.0, 12.0)
    >>> temp = ColumnProfile("temp", "temp", 200, False, 0, -3.5, 31.5, 12.5)
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
        """Return the derived groups that the profiles of the columns suggest, and why."""
        if self._columns is not columns:
            self._columns, self._offered = columns, self.policy.offers(columns)
        return self._offered

    def names(self, champion: Config, columns: Sequence[ColumnProfile]) -> list[str]:
        """Return the offered groups that the champion lacks, and finer versions of its own."""
        if self._names is None or self._names[0] is not columns or self._names[1] != champion:
            names = [name for name, _ in self.offered(columns)]
            names += self._finer(champion, columns)
            present = set(champion.derived)
            self._names = columns, champion, [name for name in names if name not in present]
        return self._names[2]

    def why(self, names: Sequence[str], columns: Sequence[ColumnProfile]) -> str:
        """Return the reasons for offering derived groups, as text.

        >>> temp = ColumnProfile("temp", "temp", 200, False, 0, -3.5, 31.5, 12.5)
        >>> FeatureMoves(DerivedFeatures()).why(["bins(temp,16)", "bins(temp,64)"], [temp])
        'bins(temp,16): 200 values; bins(temp,64): finer'
        """
        reasons = dict(self.offered(columns))
        return "; ".join(f"{name}: {reasons.get(name, 'finer')}" for name in names)

    def _finer(self, champion: Config, columns: Sequence[ColumnProfile]) -> Iterator[str]:
        distinct = _distinct(columns)
        for group in map(derived, champion.derived):
            if group is not None:
                values = distinct.get(group.source, 0)
                finer = KINDS[group.kind].finer(group.parameter, values, self.policy.knots)
                if finer is not None:
                    yield str(group._replace(parameter=finer))

    def options(
        self,
        champion: Config,
        columns: Sequence[ColumnProfile],
        screen: CandidateScreen,
        most: float,
    ) -> Iterator[MoveOption]:
        """Yield all groups at once, if that gives at most `most` features; then single ones."""
        names = self.names(champion, columns)
        if self._all is None or self._all[0] is not names:
            self._all = names, champion.with_derived(self._together(champion, names))
        together = self._all[1]
        if len(together.derived) > len(champion.derived) + 1 and screen.width(together) <= most:
            yield "all", partial(constant, together)
        gains = screen.gains()
        for name in sorted(names, key=lambda name: -gains.get((name,), 0.0)):
            yield name, partial(champion.with_derived, [name])

    def _together(self, champion: Config, names: Sequence[str]) -> list[str]:
        """Return the first group that covers its columns, for every raw group that has none."""
        covered = {source_group(name) for name in champion.derived}
        first: dict[str, str] = {}
        for name in names:
            group = derived(name)
            covers = group is not None and KINDS[group.kind].covers_columns
            if covers and source_group(name) not in covered:
                first.setdefault(source_group(name), name)
        return list(first.values())


def _distinct(columns: Sequence[ColumnProfile]) -> Mapping[str, int]:
    """Return the largest number of distinct values of a column, by group."""
    distinct: dict[str, int] = {}
    for column in columns:
        distinct[column.group] = max(distinct.get(column.group, 0), column.distinct)
    return distinct


def source_group(name: str) -> str:
    """Return the raw group that a group is derived from, or the raw group itself.

    >>> source_group("bins(temp,16)"), source_group("temp")
    ('temp', 'temp')
    """
    group = derived(name)
    return name if group is None else group.source


def derived_pairs(champion: Config, groups: Sequence[str]) -> list[Product]:
    """Return all pairs of groups, with the champion's derived group in place of its raw group.

    >>> derived_pairs(Config(derived=["bins(a,16)"]), ["a", "b", "c"])
    [('b', 'bins(a,16)'), ('bins(a,16)', 'c'), ('b', 'c')]
    """
    derived_of = {source_group(name): name for name in champion.derived}
    return [product(pair) for pair in combinations([derived_of.get(g, g) for g in groups], 2)]
