"""Ctrl-C that waits until the state is consistent."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, ClassVar

__all__ = ["Uninterrupted"]


class Uninterrupted:
    """A context that Ctrl-C does not interrupt: the interrupt is raised at its end instead.

    With `quiet`, nothing is raised, and :attr:`interrupted` says whether there was an interrupt.
    Only the main thread is ever interrupted, so the context does nothing in other threads. Nor
    does it do anything inside another such context: the outer one notes the interrupt.

    >>> with Uninterrupted(quiet=True) as guard:
    ...     signal.raise_signal(signal.SIGINT)
    >>> guard.interrupted
    True
    """

    _outer: ClassVar[Uninterrupted | None] = None  # the context that notes interrupts

    def __init__(self, quiet: bool = False) -> None:
        self.interrupted = False
        self._quiet = quiet
        self._before: Any = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True

    def __enter__(self) -> Uninterrupted:
        if threading.current_thread() is threading.main_thread() and Uninterrupted._outer is None:
            before = signal.getsignal(signal.SIGINT)
            if callable(before):  # otherwise SIGINT is ignored, or its handler is not Python's
                signal.signal(signal.SIGINT, self._note)  # from here on, nothing is raised
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
