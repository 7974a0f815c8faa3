"""Signal handlers that wait until the state is consistent."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import compress
from types import FrameType, TracebackType
from typing import Any, ClassVar

__all__ = ["Uninterrupted"]

SIGNALS = [int(s) for s in signal.valid_signals() if s not in (signal.SIGKILL, signal.SIGSTOP)]
_signal: Any = import_module("_signal")  # `signal` without enumerations: twenty times as fast
get_handler: Callable[[int], Any] = _signal.getsignal
set_handler: Callable[[int, Any], Any] = _signal.signal
set_mask: Callable[[int, Any], Any] = getattr(_signal, "pthread_sigmask", lambda how, mask: mask)
SIG_BLOCK, SIG_SETMASK = getattr(signal, "SIG_BLOCK", 0), getattr(signal, "SIG_SETMASK", 0)


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
        self._handlers: Mapping[int, Any] = {}  # that were in place before
        self._replaced: list[int] = []  # if there are several
        self._noted: list[int] = []

    @property
    def interrupted(self) -> bool:
        """Whether a signal waits for its handler to run."""
        return bool(self._noted)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted.append(number)

    def __enter__(self) -> Uninterrupted:
        if Uninterrupted._outer is None and threading.current_thread() is threading.main_thread():
            handlers = _python_handlers()
            if len(handlers) > 1:
                self._replace_all()
            else:  # no other handler can run meanwhile
                for number in handlers:
                    self._handlers = {number: set_handler(number, self._note)}
                Uninterrupted._outer = self
        return self

    def _replace_all(self) -> None:
        """Exchange several handlers while all signals wait."""
        mask = set_mask(SIG_BLOCK, ())
        try:
            set_mask(SIG_BLOCK, SIGNALS)  # may run handlers, which may raise
            self._handlers = _python_handlers()
            for number in self._handlers:
                self._replaced.append(number)
                set_handler(number, self._note)
            Uninterrupted._outer = self
        except BaseException:  # raised by a handler that was not replaced yet
            try:
                self._restore()
            finally:
                self.deliver()
            raise
        finally:
            set_mask(SIG_SETMASK, mask)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if Uninterrupted._outer is self:
            whole = False
            try:
                if len(self._handlers) > 1:
                    self._restore_all()
                else:
                    Uninterrupted._outer = None
                    for number, handler in self._handlers.items():
                        set_handler(number, handler)
                whole = kind is None
            finally:
                if self._noted and not (self._quiet and whole):  # else nobody will call deliver()
                    self.deliver()

    def _restore_all(self) -> None:
        """Put several handlers back while their signals wait."""
        mask = set_mask(SIG_BLOCK, ())
        try:
            set_mask(SIG_BLOCK, self._handlers)
            self._restore()
        finally:
            set_mask(SIG_SETMASK, mask)

    def _restore(self) -> None:
        """Put all handlers back, even if up to three of them raise exceptions meanwhile."""
        Uninterrupted._outer = None
        try:
            self._put_back()
        finally:
            try:
                self._put_back()
            finally:
                try:
                    self._put_back()
                finally:
                    self._put_back()

    def _put_back(self) -> None:
        while self._replaced:
            set_handler(self._replaced[-1], self._handlers[self._replaced[-1]])
            self._replaced.pop()

    def deliver(self) -> None:
        """Run the handlers of the signals that were noted, in their order.

        If one raises an exception, the others run all the same.
        """
        try:
            while self._noted:
                number = self._noted.pop(0)
                self._handlers[number](number, None)
        finally:
            if self._noted:
                self.deliver()


def _python_handlers() -> dict[int, Any]:
    """Return the handlers that Python runs. Other signals are ignored, or have other handlers."""
    every = [*map(get_handler, SIGNALS)]
    handlers = [*filter(callable, every)]
    if len(handlers) == 1:  # the usual case, in half the time
        return {SIGNALS[every.index(handlers[0])]: handlers[0]}
    return dict(compress(zip(SIGNALS, every, strict=True), map(callable, every)))
