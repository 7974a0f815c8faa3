"""Ctrl-C waits until the state is consistent, and is never lost."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from chacha import interrupts
from chacha.interrupts import Uninterrupted


def test_it_is_raised_at_the_end() -> None:
    reached = []

    def work() -> None:
        with Uninterrupted():
            signal.raise_signal(signal.SIGINT)
            reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_inside_another_one_the_outer_one_notes_it() -> None:
    with Uninterrupted(quiet=True) as outer:
        with Uninterrupted():
            signal.raise_signal(signal.SIGINT)
        assert outer.interrupted
    with pytest.raises(KeyboardInterrupt), Uninterrupted():
        signal.raise_signal(signal.SIGINT)  # the next one is the outer one again
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_inside_gives_the_handler_back() -> None:
    with pytest.raises(ValueError, match="inside"), Uninterrupted(), Uninterrupted():
        raise ValueError("inside")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_ignores_it_still_does() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Uninterrupted() as guard:
            signal.raise_signal(signal.SIGINT)
        assert not guard.interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_changes_nothing() -> None:
    def work() -> None:
        with Uninterrupted():
            pass

    with Uninterrupted(quiet=True) as guard:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        signal.raise_signal(signal.SIGINT)
    assert guard.interrupted


class Raised(Exception):
    """Raised by a handler."""


@pytest.fixture
def handlers() -> Iterator[list[int]]:
    """Handlers of three signals; all raise an exception."""
    called: list[int] = []

    def handler(number: int, frame: object) -> None:
        called.append(number)
        raise Raised(number)

    numbers = (signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2)
    before = {number: signal.signal(number, handler) for number in numbers}
    yield called
    assert all(signal.getsignal(number) is handler for number in numbers), "all are back"
    for number, old in before.items():
        signal.signal(number, old)


def test_no_signal_is_lost_if_a_handler_raises(handlers: list[int]) -> None:
    def work() -> None:
        with Uninterrupted():
            for number in (signal.SIGUSR1, signal.SIGALRM, signal.SIGUSR2):
                signal.raise_signal(number)
            assert handlers == []

    with pytest.raises(Raised):
        work()
    assert handlers == [signal.SIGUSR1, signal.SIGALRM, signal.SIGUSR2]
    with Uninterrupted(quiet=True) as guard:
        signal.raise_signal(signal.SIGUSR2)
        signal.raise_signal(signal.SIGUSR1)
    with pytest.raises(Raised):
        guard.deliver()
    assert handlers[3:] == [signal.SIGUSR2, signal.SIGUSR1]


def test_a_quiet_context_that_ends_with_an_error_delivers_its_signals(handlers: list[int]) -> None:
    """Nobody gets the context then."""

    def work() -> None:
        with Uninterrupted(quiet=True):
            signal.raise_signal(signal.SIGUSR1)
            raise ValueError("inside")

    with pytest.raises(Raised):
        work()
    assert handlers == [signal.SIGUSR1]


def test_handlers_come_back_even_if_signals_come_while_they_do(
    handlers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_handler = interrupts.set_handler
    coming = {signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2}

    def slow(number: int, handler: Any) -> None:
        set_handler(number, handler)
        back = not isinstance(getattr(handler, "__self__", None), Uninterrupted)
        if back and number in coming:  # it comes now, through another thread
            coming.remove(signal.Signals(number))
            handler(number, None)

    monkeypatch.setattr(interrupts, "set_handler", slow)
    with pytest.raises(Raised), Uninterrupted():
        pass
    assert sorted(handlers) == [signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM]


# In a callback of the garbage collector, such as Hypothesis's, an exception is only reported.
REPORTED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def enter_under_alarms(seed: int) -> None:
    """Enter and leave the context thousands of times while alarms come at random."""
    rng, inside = random.Random(seed), 0
    for _ in range(200):
        with suppress(Raised):
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 3e-4))
            for _ in range(100):
                with Uninterrupted():
                    inside += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
    with suppress(Raised):
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert inside
    assert Uninterrupted._outer is None
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set(), "no signal stays blocked"


@REPORTED
@pytest.mark.parametrize("seed", range(3))
def test_real_signals_at_any_time(handlers: list[int], seed: int) -> None:
    enter_under_alarms(seed)
    assert len(handlers) > 20
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@REPORTED
@pytest.mark.parametrize("seed", range(3))
def test_real_signals_with_a_single_handler(handlers: list[int], seed: int) -> None:
    """A single handler is exchanged without blocking signals."""
    others = signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2
    before = {number: signal.signal(number, signal.SIG_IGN) for number in others}
    try:
        assert list(interrupts._python_handlers()) == [signal.SIGALRM]
        enter_under_alarms(seed)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert len(handlers) > 20


def test_a_handler_that_installs_another_one_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may run at the last moment before the handlers are exchanged."""
    set_handler, later = interrupts.set_handler, lambda number, frame: None

    def late(number: int, handler: Any) -> Any:
        monkeypatch.setattr(interrupts, "set_handler", set_handler)
        signal.signal(signal.SIGINT, later)  # as the handler before would do
        return set_handler(number, handler)

    monkeypatch.setattr(interrupts, "set_handler", late)
    before = signal.getsignal(signal.SIGINT)
    try:
        with Uninterrupted():
            pass
        assert signal.getsignal(signal.SIGINT) is later
    finally:
        signal.signal(signal.SIGINT, before)
