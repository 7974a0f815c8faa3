"""The window: which candidates are screened. All of them, or as many as fit, in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice, takewhile

from chacha.config.config import Config, Product
from chacha.rules.contest.screening import Gains, Screening
from chacha.rules.stream_facts import Groups

__all__ = ["Window"]


class Window:
    """Sets the candidates of a screen, anew for every champion and whenever groups appear.

    If there are more than `most`, the best quarter stays and the next ones get their turn, as
    soon as all at hand are known; after the last come the first again.

    >>> from types import SimpleNamespace
    >>> from chacha.rules.contest.screen import Screen
    >>> screen, window = Screen(Screening(share=0.0, most=4)), Window(Screening(share=0.0, most=4))
    >>> seen = SimpleNamespace(groups="abcdefg", sizes={}, columns=())
    >>> def pairs():
    ...     return (("a", letter) for letter in "bcdefg")
    >>> for _ in range(3):
    ...     window.set(screen, Config(), seen, pairs)
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
        screen: Gains,
        champion: Config,
        seen: Groups,
        candidates: Callable[[], Iterable[Product]],
    ) -> None:
        """Look whether the candidates should be others, and set them."""
        derived = tuple(takewhile(lambda p: len(p) == 1, candidates()))
        now = champion, tuple(seen.groups), derived
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
        screen.set(products, seen.sizes)

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
