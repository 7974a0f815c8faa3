"""MoveRotation: which move is next, when several kinds of them share the slots."""

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

ELIMINATED = 3  # a challenger that was worse waits as if it had used up three leases

MoveOption = tuple[Hashable, Callable[[], Config | None]]  # a name, and what makes a configuration


class Move(NamedTuple):
    """A challenger to be: what kind of move led to it, and how often that was tried."""

    kind: str
    name: Hashable
    config: Config
    tried: int = 0
    why: str | None = None


class MoveRequest(NamedTuple):
    """What is asked when a slot is free: next to whom, and what is known.

    `live` has the moves that are live, with their examples; `t` is the example.
    """

    champion: Config
    groups: Sequence[str]
    gains: CandidateScreen
    live: Mapping[Move, int]
    t: int
    columns: Sequence[ColumnProfile] = ()


@runtime_checkable
class MoveSource(Protocol):
    """Proposes the next challenger, and learns what became of it."""

    def next(self, asked: MoveRequest) -> Move | None:
        """A move that is not live."""

    def crowned(self, move: Move | None, dethroned: Config) -> None:
        """The champion changed: by that move, or back to the one before (None)."""

    def ended(self, move: Move, n: int, eliminated: bool, until: int) -> None:
        """The challenger left after n examples, and is to rest until example `until`."""

    def candidates(
        self, champion: Config, groups: Sequence[str], columns: Sequence[ColumnProfile] = ()
    ) -> Iterable[Product]:
        """The products that are worth screening, most likely ones first; of one: derived groups."""


class MoveRotation:
    """Kinds of moves take turns; within one, whoever was tried least, in the order given."""

    def __init__(self) -> None:
        self.tried: dict[tuple[str, Hashable], int] = {}
        self.spent: dict[str, int] = {}
        self.rests: dict[tuple[str, Hashable], int] = {}

    def ended(self, move: Move, n: int, eliminated: bool, until: int) -> None:
        """It left after n examples: the next time it gets a longer lease, after a rest."""
        key = move.kind, move.name
        self.tried[key] = move.tried + (ELIMINATED if eliminated else 1)
        self.rests[key] = until
        self.spent[move.kind] = self.spent.get(move.kind, 0) + n

    def crowned(self, move: Move | None, dethroned: Config) -> None:
        """Everything is new next to another champion."""
        for known in (self.tried, self.rests, self.spent):
            known.clear()

    def pick(
        self,
        kinds: Mapping[str, Callable[[], Iterable[MoveOption]]],
        asked: MoveRequest,
    ) -> Move | None:
        """The kind with the fewest live, then the least examples; of it the least tried.

        Whoever rests is taken only if nobody else is left.
        """
        taken = {asked.champion, *(move.config for move in asked.live)}

        def rank(kind: str) -> tuple[int, int]:
            running = [n for move, n in asked.live.items() if move.kind == kind]
            return len(running), self.spent.get(kind, 0) + sum(running)

        order = sorted(kinds, key=rank)
        for rested in (True, False):
            for kind in order:
                offers = kinds[kind]()
                if rested:
                    offers = (o for o in offers if self.rests.get((kind, o[0]), 0) <= asked.t)
                if (found := self._least_tried(kind, offers, taken)) is not None:
                    return found
        return None

    def _least_tried(
        self, kind: str, offers: Iterable[MoveOption], taken: set[Config]
    ) -> Move | None:
        least: Move | None = None
        for name, make in offers:
            tried = self.tried.get((kind, name), 0)
            if least is not None and tried >= least.tried:
                continue
            if (config := make()) is not None and config not in taken:
                least = Move(kind, name, config, tried)
                if tried == 0:
                    break
        return least


def constant(config: Config) -> Config:
    """What makes a configuration that is there already."""
    return config


class OracleMoves(MoveRotation):
    """The challengers of a ConfigOracle of one's own, in its order.

    It is asked once a reign, and again when groups have appeared.

    >>> from chacha.rules.contest import Screening
    >>> from chacha.rules.contest.screen import Screen
    >>> given = OracleMoves(lambda champion, groups: [champion.with_product(groups)])
    >>> given.next(MoveRequest(Config(), "ab", Screen(Screening()), {}, t=0)).config.since(Config())
    '+ab'
    """

    def __init__(self, oracle: ConfigOracle) -> None:
        super().__init__()
        self.oracle = oracle
        self.proposed: list[Config] | None = None
        self._groups: tuple[str, ...] = ()

    def next(self, asked: MoveRequest) -> Move | None:
        """Of what the oracle proposed, whoever was tried least."""
        groups = tuple(asked.groups)
        if self.proposed is None or groups != self._groups:
            found = proposals_of(self.oracle, asked.champion, asked.groups)
            self.proposed = list(dict.fromkeys([*(self.proposed or ()), *found]))
            self._groups = groups
        offers = [(str(config), partial(constant, config)) for config in self.proposed]
        return self.pick({"given": lambda: offers}, asked)

    def crowned(self, move: Move | None, dethroned: Config) -> None:
        """The next question goes to the oracle."""
        super().crowned(move, dethroned)
        self.proposed = None

    def candidates(
        self, champion: Config, groups: Sequence[str], columns: Sequence[ColumnProfile] = ()
    ) -> Iterable[Product]:
        """Nothing is screened."""
        return ()
