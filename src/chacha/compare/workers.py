"""Worker processes that do tasks side by side. A process that dies fails only its own task."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, NamedTuple

from chacha.errors import ChaChaError
from chacha.interrupts import SIG_BLOCK, SIG_SETMASK, Uninterrupted, set_mask

__all__ = ["OnShare", "Task", "TaskReport", "Workers"]

OnShare = Callable[[float], None]
"""A function that a task calls with the share of its work that is done."""
Task = Callable[[OnShare], Any]
PATIENCE = 1.0  # seconds that a process has to end before it is killed


class TaskReport(NamedTuple):
    """How much of a task is done; at its end also its result or its error."""

    task: int
    share: float
    result: Any = None
    error: str = ""

    @property
    def ended(self) -> bool:
        """Whether this is the last report of the task."""
        return self.share >= 1.0


def _attempt(i: int, task: Task, on_share: OnShare) -> TaskReport:
    try:
        return TaskReport(i, 1.0, task(on_share))
    except (ChaChaError, OSError) as error:
        return TaskReport(i, 1.0, error=str(error))
    except Exception as error:
        return TaskReport(i, 1.0, error=f"{type(error).__name__}: {error}")


def _serve(pipe: Connection) -> None:
    """Do tasks until the pipe closes. Ctrl-C is left to the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            i, task = pipe.recv()
            pipe.send(_attempt(i, task, partial(_send_share, pipe, i)))
    except (EOFError, OSError):
        return


def _send_share(pipe: Connection, i: int, share: float) -> None:
    pipe.send(TaskReport(i, min(share, 0.999)))  # a share of 1 comes with the result


class Workers:
    """A number of processes, started when there are tasks; with 0, this process does the tasks.

    >>> from functools import partial
    >>> def halve(x, on_share):
    ...     return x / 2
    >>> with Workers(0) as workers:
    ...     for report in workers.do([partial(halve, 4), partial(halve, "4")]):
    ...         print(report)
    TaskReport(task=0, share=1.0, result=2.0, error='')
    TaskReport(task=1, share=1.0, result=None, error="TypeError: unsupported operand type(s) for \
/: 'str' and 'int'")
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._context = get_context("spawn")  # Arrow's threads do not survive a fork
        self._processes: dict[Connection, SpawnProcess] = {}
        self._task: dict[Connection, int] = {}

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe, process in self._processes.items():
            pipe.close()
            process.terminate()
        for process in self._processes.values():
            process.join(PATIENCE)
            if process.is_alive():
                process.kill()

    def do(self, tasks: Sequence[Task]) -> Iterator[TaskReport]:
        """Do the tasks, and yield reports as they progress."""
        if not self.count:
            for i, task in enumerate(tasks):
                yield _attempt(i, task, lambda share: None)
            return
        left = deque(enumerate(tasks))
        while left or self._task:
            while len(self._processes) < min(self.count, len(tasks)):
                self._start()
            for pipe in [pipe for pipe in self._processes if pipe not in self._task]:
                if left:
                    self._task[pipe] = left[0][0]
                    pipe.send(left.popleft())
            for ready in wait(list(self._task)):
                assert isinstance(ready, Connection)
                yield self._receive(ready)

    def _start(self) -> None:
        here, there = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(there,), daemon=True)
        resource_tracker.ensure_running()  # it would unblock Ctrl-C if started with the process
        with Uninterrupted():
            mask = set_mask(SIG_BLOCK, [signal.SIGINT])  # inherited: no Ctrl-C while it imports
            try:
                process.start()
            finally:
                set_mask(SIG_SETMASK, mask)
            there.close()
            self._processes[here] = process

    def _receive(self, pipe: Connection) -> TaskReport:
        try:
            report = pipe.recv()
            assert isinstance(report, TaskReport)
        except (EOFError, OSError):
            process = self._processes.pop(pipe)
            process.join(PATIENCE)
            message = f"its process ended by itself (code {process.exitcode}); out of memory?"
            report = TaskReport(self._task[pipe], 1.0, error=message)
        if report.ended:
            del self._task[pipe]
        return report
