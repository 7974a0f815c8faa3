"""Reading ahead of learning: a bounded background thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Generic, TypeVar

__all__ = ["Prefetch"]

T = TypeVar("T")
MOST_WAITING = 8
JOIN_SECONDS = 0.25  # how long the end of a run waits for the thread to stop


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
        self._stop()
        self._thread.join(JOIN_SECONDS)

    def __enter__(self) -> Prefetch[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._stop()

    def _stop(self) -> None:
        self._stopped.set()
        with suppress(Empty):
            while True:  # the thread may wait for room
                self._queue.get_nowait()
