"""Ctrl-C waits until a state is whole."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, ClassVar

__all__ = ["Uninterrupted"]


class Uninterrupted:
    """What runs inside is not cut in two by Ctrl-C, which is raised at the end instead.

    With `quiet` nothing is raised, and :attr:`interrupted` tells. Other threads than the main
    one are never interrupted, so nothing is done there. Inside another one nothing is done
    either: that one notes the interrupt.

    >>> with Uninterrupted(quiet=True) as guard:
    ...     signal.raise_signal(signal.SIGINT)
    >>> guard.interrupted
    True
    """

    _outer: ClassVar[Uninterrupted | None] = None  # the one that notes interrupts

    def __init__(self, quiet: bool = False) -> None:
        self.interrupted = False
        self._quiet = quiet
        self._before: Any = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True

    def __enter__(self) -> Uninterrupted:
        if threading.current_thread() is threading.main_thread() and Uninterrupted._outer is None:
            before = signal.getsignal(signal.SIGINT)
            if callable(before):  # else it is ignored, or not Python's
                signal.signal(signal.SIGINT, self._note)  # from here on nothing is raised
                self._before, Uninterrupted._outer = before, self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is None:
            return
        Uninterrupted._outer = None
        signal.signal(signal.SIGINT, self._before)
        if self.interrupted and not self._quiet:
            self._before(signal.SIGINT, None)
