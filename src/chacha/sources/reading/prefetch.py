"""Reading keeps ahead of learning: a bounded background reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Generic, TypeVar

__all__ = ["Ahead"]

T = TypeVar("T")
MOST_WAITING = 8
PATIENCE = 0.25  # seconds that the end of a run waits for the reader to stop


class _End:
    """Nothing more comes, or nothing more can be read."""

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
        if stopped.is_set():  # nobody takes it, and there may be no room
            with suppress(Full):
                queue.put_nowait(end)
        else:
            queue.put(end)


class Ahead(Generic[T]):
    """The items, read by a thread of its own that is at most `most` of them ahead.

    Only what does not look at the model may run ahead: bytes and record batches, never the
    decisions about columns. So a run decides the same with and without it.

    >>> list(Ahead(range(3)))
    [0, 1, 2]
    """

    def __init__(self, items: Iterable[T], most: int = MOST_WAITING) -> None:
        self._queue: Queue[T | _End] = Queue(most)
        self._stopped = Event()
        # The thread knows nothing of this object: when nobody else does, it is closed.
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
        """Whether the next item is there already."""
        return not self._queue.empty()

    def close(self) -> None:
        """Nothing more is wanted."""
        self._stop()
        self._thread.join(PATIENCE)

    def __enter__(self) -> Ahead[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self._stop()

    def _stop(self) -> None:
        self._stopped.set()
        with suppress(Empty):
            while True:  # the reader may wait for room
                self._queue.get_nowait()
