"""The display of a run on stderr: the table, and on a terminal also a status line."""

from __future__ import annotations

import os
import sys
import time

from rich.console import Console

from chacha.model import ChaCha
from chacha.progress import ProgressTable, Spacing

__all__ = ["MessageConsole", "RunDisplay"]

STATUS_SECONDS = 0.25


class MessageConsole(Console):
    """Standard error; if its reader goes away, the run continues silently."""

    def on_broken_pipe(self) -> None:
        """Discard everything from now on."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


class RunDisplay:
    """The table of a run; with `quiet`, nothing is printed."""

    def __init__(self, model: ChaCha, spacing: Spacing, quiet: bool) -> None:
        self.console = MessageConsole(stderr=True, quiet=quiet)
        self.model = model
        self.table = ProgressTable(model, spacing)
        self._began = self._status_at = time.monotonic()
        self._status = self.console.status("reading ...")

    def __enter__(self) -> RunDisplay:
        if self.console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def print_line(self, line: str) -> None:
        """Print one line; a terminal truncates a long line, a log gets all of it."""
        truncate = self.console.is_terminal
        self.console.print(
            line,
            highlight=False,
            markup=False,
            no_wrap=True,
            overflow="ellipsis" if truncate else "ignore",
            crop=truncate,
        )

    def update(self) -> None:
        """Print the rows that are due, and refresh the status line."""
        for line in self.table.due_lines():
            self.print_line(line)
        if self.console.is_terminal and time.monotonic() - self._status_at > STATUS_SECONDS:
            self._status_at = time.monotonic()
            n, champion = self.model.examples, self.table.champion()
            self._status.update(f"{n} examples, {self._rate()}, champion {champion}")

    def _rate(self) -> str:
        seconds = time.monotonic() - self._began
        return f"{self.model.examples / seconds:,.0f}/s" if seconds > 0 else ""

    def finish(self) -> None:
        """Print the last row and the summary."""
        if not self.model.examples:
            return
        for line in self.table.row():
            self.print_line(line)
        summary = f"{self.model.summary()}\n{self._rate()}"
        self.console.print(summary, highlight=False, markup=False, soft_wrap=True)
