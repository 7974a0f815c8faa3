"""Signal handlers that wait until the state is consistent."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from inspect import unwrap
from types import FrameType, TracebackType
from typing import Any, ClassVar

__all__ = ["Uninterrupted"]

SIGNALS = [int(s) for s in signal.valid_signals() if s not in (signal.SIGKILL, signal.SIGSTOP)]
# Without the conversion to enumerations, which takes twenty times as long.
get_handler: Callable[[int], Any] = unwrap(signal.getsignal)
set_handler: Callable[[int, Any], Any] = unwrap(signal.signal)


class Uninterrupted:
    """A context in which no signal handler runs: the handlers run at its end instead.

    Ctrl-C, an alarm, or any other handler may raise an exception, which would leave a step half
    done. With `quiet`, the handlers run when :meth:`deliver` is called. Only the main thread runs
    handlers, so the context does nothing in other threads. Nor does it do anything inside another
    such context: the outer one notes the signals.

    >>> with Uninterrupted(quiet=True) as guard:
    ...     signal.raise_signal(signal.SIGINT)
    >>> guard.interrupted
    True
    """

    _outer: ClassVar[Uninterrupted | None] = None  # the context that notes signals

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._handlers: dict[int, Any] = {}  # that were in place before
        self._replaced: list[int] = []
        self._noted: list[int] = []

    @property
    def interrupted(self) -> bool:
        """Whether a signal waits for its handler to run."""
        return bool(self._noted)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted.append(number)

    def __enter__(self) -> Uninterrupted:
        if Uninterrupted._outer is None and threading.current_thread() is threading.main_thread():
            try:
                for number in SIGNALS:
                    handler = get_handler(number)
                    if callable(handler):  # otherwise it is ignored, or not a handler of Python's
                        self._handlers[number] = handler
                        self._replaced.append(number)
                        set_handler(number, self._note)
            except BaseException:  # a handler that was not replaced yet has raised it
                self._restore()
                raise
            Uninterrupted._outer = self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if Uninterrupted._outer is self:
            self._restore()
            if not self._quiet:
                self.deliver()

    def _restore(self) -> None:
        Uninterrupted._outer = None
        try:
            self._restore_each()
        finally:  # a handler that is back may have raised an exception
            self._restore_each()

    def _restore_each(self) -> None:
        while self._replaced:
            set_handler(self._replaced[-1], self._handlers[self._replaced[-1]])
            self._replaced.pop()

    def deliver(self) -> None:
        """Run the handlers of the signals that were noted, in their order."""
        while self._noted:
            number = self._noted.pop(0)
            self._handlers[number](number, None)
