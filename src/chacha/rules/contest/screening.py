"""The policy of screening, the interface of a screen, and the window of candidates it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Protocol

from chacha.config.arguments import check_numbers
from chacha.config.config import Config, Product
from chacha.errors import ConfigError
from chacha.rules.stream_facts import StreamFacts

__all__ = ["CandidateScreen", "CandidateWindow", "Screening"]


@dataclass(frozen=True)
class Screening:
    """The cost limits of screening.

    Parameters
    ----------
    share
        The work of screening as a share of the least work of the live models, which is the number
        of raw features times the number of models. No step costs more than that work. With 0,
        nothing is screened and the order is the oracle's.
    most
        The number of candidates screened at once; if there are more, they take turns.
    looks
        The number of rounds after which the screen's ranking is used.
    rate
        The learning rate of the candidates' learners.

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
        check_numbers(self, Screening)
        if not (0 <= self.share <= 1 and self.most >= 2 and self.looks >= 1 and self.rate > 0):
            raise ConfigError(
                "share must lie in [0, 1], most be at least 2, looks at least 1, rate above 0; "
                f"got {self}"
            )


class CandidateScreen(Protocol):
    """A screen, in Python or in the native engine."""

    @property
    def products(self) -> Sequence[Product]:
        """The current candidates."""

    @property
    def ready(self) -> bool:
        """Whether every candidate has had its looks, or its chances to be looked at."""

    def gains(self) -> Mapping[Product, float]:
        """Return the loss each candidate saved per look; only candidates that had a look.

        Until the screen is ready, only those are known that kept their learners.
        """

    def width(self, config: Config) -> float:
        """Return the approximate number of features of a configuration in an example."""

    def width_of(self, product: Product) -> float:
        """Return the approximate number of features of a product in an example."""

    def set(self, products: Sequence[Product], sizes: Mapping[str, int], keep: int = 0) -> None:
        """Replace the candidates; `sizes` has the numbers of distinct features by group.

        The first `keep` products are among the current candidates and keep their learners; the
        others begin with new ones.
        """


class CandidateWindow:
    """Sets the candidates of a screen, again for every champion and whenever groups appear.

    If there are more candidates than `most`, the window moves on once the screen is ready: the best
    quarter stays, with what it has learned, and the next candidates follow; after the last come the
    first again.

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
        self._next = 0  # the position of the next candidate
        self._more = False

    def set(
        self,
        screen: CandidateScreen,
        champion: Config,
        facts: StreamFacts,
        candidates: Callable[[], Iterable[Product]],
    ) -> None:
        """Set the candidates, if the champion or the groups changed or the window moves on."""
        derived = tuple(takewhile(lambda p: len(p) == 1, candidates()))
        now = champion, tuple(facts.groups), derived
        best: list[Product] = []
        if now != self._for:
            self._for, self._next = now, 0
            self._more = (
                sum(1 for _ in islice(candidates(), self.policy.most + 1)) > self.policy.most
            )
        elif self._more and (screen.ready or self.policy.share == 0.0):
            gains = screen.gains()
            best = sorted(gains, key=lambda p: -gains[p])[: self.policy.most // 4]
        else:
            return
        following = self._following(candidates, self.policy.most - len(best))
        screen.set(list(dict.fromkeys([*best, *following])), facts.sizes, keep=len(best))

    def _following(self, candidates: Callable[[], Iterable[Product]], room: int) -> list[Product]:
        """Return the next candidates; after the last come the first again."""
        following = list(islice(candidates(), self._next, self._next + room))
        self._next += room
        if self._more and len(following) < room:
            self._next = room - len(following)
            following += islice(candidates(), self._next)
        return following
