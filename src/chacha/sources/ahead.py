"""Reading keeps ahead of learning: a bounded background reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from queue import Empty, Queue
from threading import Event, Thread
from typing import TypeVar

__all__ = ["ahead"]

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
        queue.put(end)


def ahead(items: Iterable[T], most: int = MOST_WAITING) -> Iterator[T]:
    """The items, read by a thread of its own that is at most `most` of them ahead.

    Only what does not look at the model may run ahead: bytes and record batches, never the
    decisions about columns. So a run decides the same with and without it.

    >>> list(ahead(range(3)))
    [0, 1, 2]
    """
    queue: Queue[T | _End] = Queue(most)
    stopped = Event()
    thread = Thread(target=_fill, args=(iter(items), queue, stopped), daemon=True)
    thread.start()
    try:
        while True:
            item = queue.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        stopped.set()
        try:
            while True:  # the reader may wait for room
                queue.get_nowait()
        except Empty:
            thread.join(PATIENCE)
