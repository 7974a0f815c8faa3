"""Which move comes next: kinds of moves alternate, and an adapter for a user's ConfigOracle."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

from chacha.config.config import Config, Product
from chacha.config.derived_groups import ColumnProfile
from chacha.rules.contest.screening import CandidateScreen
from chacha.rules.oracle import ConfigOracle, proposals_of

__all__ = [
    "Move",
    "MoveOption",
    "MoveRequest",
    "MoveRotation",
    "MoveSource",
    "OracleMoves",
    "constant",
]

TARGET = "target"
"""The kind of moves to another form of the label, whose scale the last labels show."""

ELIMINATED = 3  # an elimination counts as this many tries, so the move rests longer

MoveOption = tuple[Hashable, Callable[[], Config | None]]
"""A move's name, and a function that returns its configuration, or None if it is not possible."""


class Move(NamedTuple):
    """A proposed challenger: the kind and name of the move, and how often it was tried.

    `why` gives the reason for the proposal, if there is one to report.
    """

    kind: str
    name: Hashable
    config: Config
    tried: int = 0
    why: str | None = None


class MoveRequest(NamedTuple):
    """The request for a move when a slot is free.

    `live` has the moves of the live challengers with their numbers of examples; `t` is the number
    of the example. `skewed` says whether labels are worth a logarithm, and `initial` is the first
    champion, whose values suit models that start empty.
    """

    champion: Config
    groups: Sequence[str]
    screen: CandidateScreen
    live: Mapping[Move, int]
    t: int
    columns: Sequence[ColumnProfile] = ()
    skewed: bool = False
    initial: Config | None = None


@runtime_checkable
class MoveSource(Protocol):
    """Proposes the next challenger, and is notified when one is promoted or leaves."""

    def next(self, request: MoveRequest) -> Move | None:
        """Return a move that is not live, or None."""

    def crowned(self, move: Move | None, dethroned: Config) -> None:
        """Note a new champion: that of `move`, or the previous champion again (None)."""

    def ended(self, move: Move, n: int, eliminated: bool, until: int) -> None:
        """Note that a challenger left after n examples; its move rests until example `until`."""

    def candidates(
        self, champion: Config, groups: Sequence[str], columns: Sequence[ColumnProfile] = ()
    ) -> Iterable[Product]:
        """Return the products to screen, likely ones first; a derived group is a product of one."""


class MoveRotation:
    """Kinds of moves alternate; within a kind, the least-tried move comes first."""

    def __init__(self) -> None:
        self.tried: dict[tuple[str, Hashable], int] = {}
        self.spent: dict[str, int] = {}
        self.rests: dict[tuple[str, Hashable], int] = {}

    def ended(self, move: Move, n: int, eliminated: bool, until: int) -> None:
        """Note that a challenger left: its move rests, and then gets a longer lease."""
        key = move.kind, move.name
        self.tried[key] = move.tried + (ELIMINATED if eliminated else 1)
        self.rests[key] = until
        self.spent[move.kind] = self.spent.get(move.kind, 0) + n

    def crowned(self, move: Move | None, dethroned: Config) -> None:
        """Forget the tries: every move is new beside a new champion."""
        for counts in (self.tried, self.rests, self.spent):
            counts.clear()

    def pick(
        self,
        kinds: Mapping[str, Callable[[], Iterable[MoveOption]]],
        request: MoveRequest,
    ) -> Move | None:
        """Return the next move, or None if all are live.

        The kind with the fewest live moves comes first, then the one with the fewest examples. Of
        a kind, the least-tried move comes first, in the order of its options. A move that rests is
        chosen only if no other is left.
        """
        taken = {request.champion, *(move.config for move in request.live)}

        def rank(kind: str) -> tuple[int, int]:
            running = [n for move, n in request.live.items() if move.kind == kind]
            return len(running), self.spent.get(kind, 0) + sum(running)

        order = sorted(kinds, key=rank)
        for rested in (True, False):
            for kind in order:
                options = kinds[kind]()
                if rested:
                    options = (o for o in options if self.rests.get((kind, o[0]), 0) <= request.t)
                if (move := self._least_tried(kind, options, taken)) is not None:
                    return move
        return None

    def _least_tried(
        self, kind: str, options: Iterable[MoveOption], taken: set[Config]
    ) -> Move | None:
        least: Move | None = None
        for name, make in options:
            tried = self.tried.get((kind, name), 0)
            if least is not None and tried >= least.tried:
                continue
            if (config := make()) is not None and config not in taken:
                least = Move(kind, name, config, tried)
                if tried == 0:
                    break
        return least


def constant(config: Config) -> Config:
    """Return `config`: the function of a :data:`MoveOption` whose configuration exists already."""
    return config


class OracleMoves(MoveRotation):
    """The proposals of a custom ConfigOracle, in its order.

    The oracle is called once for each champion, and again when groups have appeared.

    >>> from chacha.rules.contest import Screening
    >>> from chacha.rules.contest.screen import Screen
    >>> moves = OracleMoves(lambda champion, groups: [champion.with_product(groups)])
    >>> moves.next(MoveRequest(Config(), "ab", Screen(Screening()), {}, t=0)).config.since(Config())
    '+ab'
    """

    def __init__(self, oracle: ConfigOracle) -> None:
        super().__init__()
        self.oracle = oracle
        self.proposed: list[Config] | None = None
        self._groups: tuple[str, ...] = ()

    def next(self, request: MoveRequest) -> Move | None:
        """Return the least-tried of the oracle's proposals."""
        groups = tuple(request.groups)
        if self.proposed is None or groups != self._groups:
            proposals = proposals_of(self.oracle, request.champion, request.groups)
            self.proposed = list(dict.fromkeys([*(self.proposed or ()), *proposals]))
            self._groups = groups
        options = [(str(config), partial(constant, config)) for config in self.proposed]
        return self.pick({"oracle": lambda: options}, request)

    def crowned(self, move: Move | None, dethroned: Config) -> None:
        """Forget the proposals, so that the oracle is called for the new champion."""
        super().crowned(move, dethroned)
        self.proposed = None

    def candidates(
        self, champion: Config, groups: Sequence[str], columns: Sequence[ColumnProfile] = ()
    ) -> Iterable[Product]:
        """Return nothing: a custom oracle's proposals are not screened."""
        return ()
