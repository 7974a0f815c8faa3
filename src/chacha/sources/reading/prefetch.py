"""Reading ahead of learning: a bounded background thread."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event, Thread, current_thread
from time import monotonic
from typing import Any, Generic, TypeVar

__all__ = ["Prefetch"]

T = TypeVar("T")
MOST_WAITING = 8
JOIN_SECONDS = 0.25  # how long the end of a run waits for the thread to stop

_running: dict[Thread, tuple[Queue[Any], Event]] = {}  # what stops each thread that reads


class _End:
    """The end of the items, with the error that ended them."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def _fill(items: Iterator[T], queue: Queue[T | _End], stopped: Event) -> None:
    end = _End()
    try:
        for item in items:
            queue.put(item)
            if stopped.is_set():
                break
    except BaseException as error:  # raised again where the items are taken
        end = _End(error)
    finally:
        if (close := getattr(items, "close", None)) is not None:
            close()
        if stopped.is_set():  # there is no consumer, and perhaps no room
            with suppress(Full):
                queue.put_nowait(end)
        else:
            queue.put(end)
        _running.pop(current_thread(), None)


def _stop(queue: Queue[Any], stopped: Event) -> None:
    stopped.set()
    with suppress(Empty):
        while True:  # the thread may wait for room
            queue.get_nowait()


def _stop_all() -> None:
    """Stop reading before the interpreter ends: no thread may be in Arrow's code then."""
    running = _running.copy()
    for queue, stopped in running.values():
        _stop(queue, stopped)
    deadline = monotonic() + JOIN_SECONDS
    for thread in running:
        thread.join(max(0.0, deadline - monotonic()))


atexit.register(_stop_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_running.clear)  # threads are not copied by a fork


class Prefetch(Generic[T]):
    """The items, read by a thread that is at most `most` of them ahead.

    Only what does not depend on the model may be read ahead: bytes and record batches, never
    decisions about columns. So a run decides the same with and without the thread.

    >>> list(Prefetch(range(3)))
    [0, 1, 2]
    """

    def __init__(self, items: Iterable[T], most: int = MOST_WAITING) -> None:
        self._queue: Queue[T | _End] = Queue(most)
        self._stopped = Event()
        # The thread has no reference to this object, so that dropping the last one closes it.
        fill = (iter(items), self._queue, self._stopped)
        self._thread = Thread(target=_fill, args=fill, daemon=True)
        _running[self._thread] = self._queue, self._stopped
        self._thread.start()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self._stopped.is_set():
            raise StopIteration
        item = self._queue.get()
        if not isinstance(item, _End):
            return item
        self._stopped.set()
        if item.error is not None:
            raise item.error
        raise StopIteration

    @property
    def waiting(self) -> bool:
        """Whether the next item has been read."""
        return not self._queue.empty()

    def close(self) -> None:
        """Stop reading."""
        _stop(self._queue, self._stopped)
        self._thread.join(JOIN_SECONDS)

    def __enter__(self) -> Prefetch[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        _stop(self._queue, self._stopped)
