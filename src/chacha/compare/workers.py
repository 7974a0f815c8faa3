"""Workers: processes that do tasks side by side. One that dies fails its own task only."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, NamedTuple

from chacha.errors import ChaChaError

__all__ = ["Report", "Task", "Tell", "Workers"]

Tell = Callable[[float], None]
"""Called by a task with the share of it that is done."""
Task = Callable[[Tell], Any]
PATIENCE = 1.0  # seconds in which a process that was told to end does


class Report(NamedTuple):
    """How far a task is; at its end what it returned, or what went wrong."""

    task: int
    share: float
    result: Any = None
    error: str = ""

    @property
    def ended(self) -> bool:
        """Whether nothing more comes of this task."""
        return self.share >= 1.0


def _attempt(i: int, task: Task, tell: Tell) -> Report:
    try:
        return Report(i, 1.0, task(tell))
    except (ChaChaError, OSError) as error:
        return Report(i, 1.0, error=str(error))
    except Exception as error:
        return Report(i, 1.0, error=f"{type(error).__name__}: {error}")


def _work(pipe: Connection) -> None:
    """What a worker does until its pipe closes. Ctrl-C is for the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            i, task = pipe.recv()
            pipe.send(_attempt(i, task, partial(_tell, pipe, i)))
    except (EOFError, OSError):
        return


def _tell(pipe: Connection, i: int, share: float) -> None:
    pipe.send(Report(i, min(share, 0.999)))  # its end is told with what came of it


class Workers:
    """So many processes, started when there is something to do; with 0 this process does it.

    >>> from functools import partial
    >>> def halve(x, tell):
    ...     return x / 2
    >>> with Workers(0) as workers:
    ...     for report in workers.do([partial(halve, 4), partial(halve, "4")]):
    ...         print(report)
    Report(task=0, share=1.0, result=2.0, error='')
    Report(task=1, share=1.0, result=None, error="TypeError: unsupported operand type(s) for /: \
'str' and 'int'")
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._context = get_context("spawn")  # threads of Arrow do not survive a fork
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

    def do(self, tasks: Sequence[Task]) -> Iterator[Report]:
        """Do the tasks, and report as they go on."""
        if not self.count:
            for i, task in enumerate(tasks):
                yield _attempt(i, task, lambda share: None)  # nobody listens before its end
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
                yield self._hear(ready)

    def _start(self) -> None:
        here, there = self._context.Pipe()
        process = self._context.Process(target=_work, args=(there,), daemon=True)
        process.start()
        there.close()
        self._processes[here] = process

    def _hear(self, pipe: Connection) -> Report:
        try:
            report = pipe.recv()
            assert isinstance(report, Report)
        except (EOFError, OSError):
            process = self._processes.pop(pipe)
            process.join(PATIENCE)
            told = f"its process ended by itself (code {process.exitcode}); out of memory?"
            report = Report(self._task[pipe], 1.0, error=told)
        if report.ended:
            del self._task[pipe]
        return report
