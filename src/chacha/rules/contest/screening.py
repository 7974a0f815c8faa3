"""Screening: which candidate products are worth a challenger, and what finding out may cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Protocol

from chacha.config.config import Config, Product
from chacha.errors import ConfigError
from chacha.rules.stream_facts import StreamFacts

__all__ = ["CandidateScreen", "CandidateWindow", "Screening"]


@dataclass(frozen=True)
class Screening:
    """How much screening may cost.

    Parameters
    ----------
    share
        Of the features that the live models work on at least (the raw ones, once for each
        model), this share is worked on for screening. No step costs more than all of them.
        0: the order is the oracle's.
    most
        Candidates that are screened at once; if there are more, they take turns.
    looks
        A candidate counts as known after so many looks.
    rate
        The learning rate of the tiny learners.

    Examples
    --------
    >>> Screening().share
    0.1
    """

    share: float = 0.1
    most: int = 512
    looks: int = 20
    rate: float = 0.5

    def __post_init__(self) -> None:
        if not (0 <= self.share <= 1 and self.most >= 2 and self.looks >= 1 and self.rate > 0):
            raise ConfigError(
                "share must lie in [0, 1], most be at least 2, looks at least 1, rate above 0; "
                f"got {self}"
            )


class CandidateScreen(Protocol):
    """What a screen has found, wherever it is kept."""

    @property
    def products(self) -> Sequence[Product]:
        """The candidates at hand."""

    @property
    def known(self) -> bool:
        """Whether every candidate had its looks."""

    def gains(self) -> Mapping[Product, float]:
        """What each candidate saved, per look; only of those that were looked at."""

    def width(self, config: Config) -> float:
        """Features that the configuration gives an example, about."""

    def width_of(self, product: Product) -> float:
        """Features that the product gives an example, about."""

    def set(self, products: Sequence[Product], sizes: Mapping[str, int]) -> None:
        """Begin anew with these candidates; `sizes` has the distinct features of the groups."""


class CandidateWindow:
    """Sets the candidates of a screen, anew for every champion and whenever groups appear.

    If there are more than `most`, the best quarter stays and the next ones get their turn, as
    soon as all at hand are known; after the last come the first again.

    >>> from types import SimpleNamespace
    >>> from chacha.rules.contest.screen import Screen
    >>> screen = Screen(Screening(share=0.0, most=4))
    >>> window = CandidateWindow(Screening(share=0.0, most=4))
    >>> facts = SimpleNamespace(groups="abcdefg", sizes={}, columns=())
    >>> def pairs():
    ...     return (("a", letter) for letter in "bcdefg")
    >>> for _ in range(3):
    ...     window.set(screen, Config(), facts, pairs)
    ...     print(*("".join(p) for p in screen.products))
    ab ac ad ae
    af ag ab ac
    ad ae af ag
    """

    def __init__(self, policy: Screening) -> None:
        self.policy = policy
        self._for: tuple[Config, tuple[str, ...], tuple[Product, ...]] | None = None
        self._next = 0  # of the candidates whose turn comes
        self._more = False

    def set(
        self,
        screen: CandidateScreen,
        champion: Config,
        facts: StreamFacts,
        candidates: Callable[[], Iterable[Product]],
    ) -> None:
        """Look whether the candidates should be others, and set them."""
        derived = tuple(takewhile(lambda p: len(p) == 1, candidates()))
        now = champion, tuple(facts.groups), derived
        if now != self._for:
            self._for, self._next, kept = now, 0, {}
            self._more = (
                sum(1 for _ in islice(candidates(), self.policy.most + 1)) > self.policy.most
            )
        elif self._more and (screen.known or self.policy.share == 0.0):
            gains = screen.gains()
            best = sorted(gains, key=lambda p: -gains[p])[: self.policy.most // 4]
            kept = dict.fromkeys(best)
        else:
            return
        products = [*kept, *self._turn(candidates, self.policy.most - len(kept), kept)]
        screen.set(products, facts.sizes)

    def _turn(
        self, candidates: Callable[[], Iterable[Product]], room: int, kept: Mapping[Product, None]
    ) -> list[Product]:
        """The next candidates; after the last come the first again."""
        taken = list(islice(candidates(), self._next, self._next + room))
        self._next += room
        if self._more and len(taken) < room:
            self._next = room - len(taken)
            taken += islice(candidates(), self._next)
        return [p for p in dict.fromkeys(taken) if p not in kept]
