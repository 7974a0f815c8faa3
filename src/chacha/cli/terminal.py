"""How a run shows itself on stderr: the table, and a status line on a terminal."""

from __future__ import annotations

import os
import sys
import time

from rich.console import Console

from chacha.model import ChaCha
from chacha.progress import ProgressTable, Spacing

__all__ = ["RunDisplay"]


class Messages(Console):
    """Standard error; if nobody reads it any more, the run goes on and is silent."""

    def on_broken_pipe(self) -> None:
        """The reader has left."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


class RunDisplay:
    """Prints the table of a run; `quiet` prints nothing."""

    def __init__(self, model: ChaCha, spacing: Spacing, quiet: bool) -> None:
        self.console = Messages(stderr=True, quiet=quiet)
        self.model = model
        self.table = ProgressTable(model, spacing)
        self._began = self._told = time.monotonic()
        self._status = self.console.status("reading ...")

    def __enter__(self) -> RunDisplay:
        if self.console.is_terminal:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def tell(self, line: str) -> None:
        """Print one line; a terminal cuts what is too long, a log keeps it."""
        cut = self.console.is_terminal
        self.console.print(
            line,
            highlight=False,
            markup=False,
            no_wrap=True,
            overflow="ellipsis" if cut else "ignore",
            crop=cut,
        )

    def see(self) -> None:
        """Look at the run, and print what is due."""
        for line in self.table.due_lines():
            self.tell(line)
        if self.console.is_terminal and time.monotonic() - self._told > 0.25:
            n = self.model.examples
            self._told = time.monotonic()
            champion = self.table.champion()
            self._status.update(f"{n} examples, {self._rate()}, champion {champion}")

    def _rate(self) -> str:
        seconds = time.monotonic() - self._began
        return f"{self.model.examples / seconds:,.0f}/s" if seconds > 0 else ""

    def finish(self) -> None:
        """The last row, and the summary."""
        if not self.model.examples:
            return
        for line in self.table.row():
            self.tell(line)
        summary = f"{self.model.summary()}\n{self._rate()}"
        self.console.print(summary, highlight=False, markup=False, soft_wrap=True)
