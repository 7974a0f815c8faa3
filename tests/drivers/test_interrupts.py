"""Ctrl-C waits until the state is consistent, and is never lost."""

from __future__ import annotations

import signal
import threading

import pytest

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
