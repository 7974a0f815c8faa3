"""How a run shows itself: a VW-like loss table, and a status line on a terminal."""

from __future__ import annotations

import math
import time

from rich.console import Console

from chacha.errors import ConfigError
from chacha.model import ChaCha
from chacha.summary import Step

__all__ = ["Progress", "Spacing"]


class Spacing:
    """When to print a row: VW's -P. Whole numbers add, numbers with a point multiply.

    >>> spacing = Spacing("2.0")
    >>> [n for n in range(1, 20) if spacing.due(n)]
    [1, 2, 4, 8, 16]
    >>> spacing = Spacing("5")
    >>> [n for n in range(1, 12) if spacing.due(n)]
    [5, 10]
    """

    def __init__(self, text: str) -> None:
        try:
            self._step = float(text)
        except ValueError:
            self._step = math.nan
        self._multiply = "." in text
        if not self._step > (1.0 if self._multiply else 0.0):
            raise ConfigError(f"-P takes a whole number, or a factor above 1.0; got {text!r}")
        self._next = 1.0 if self._multiply else self._step

    def due(self, n: int) -> bool:
        """Whether example `n` gets a row."""
        if n < self._next:
            return False
        while n >= self._next:
            self._next = self._next * self._step if self._multiply else self._next + self._step
        return True


class Progress:
    """Prints the table of a run, one row at a time, to stderr."""

    HEAD = f"{'examples':>9}  {'loss':>10}  {'since':>10}  {'champion':<20}  live"

    def __init__(self, model: ChaCha, console: Console, spacing: Spacing, quiet: bool) -> None:
        self.model, self.console, self.spacing, self.quiet = model, console, spacing, quiet
        self._headed = False
        self._last_row = 0
        self._loss = self._weight = 0.0
        self._began = self._last_status = time.monotonic()
        self._status = console.status("reading ...") if console.is_terminal and not quiet else None

    def __enter__(self) -> Progress:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def _print(self, line: str) -> None:
        cut = self.console.is_terminal  # a log keeps whole lines
        self.console.print(
            line,
            highlight=False,
            markup=False,
            no_wrap=True,
            overflow="ellipsis" if cut else "ignore",
            crop=cut,
        )

    def see(self, step: Step) -> None:
        """Take in one step; print a row when it is time for one."""
        n, weight = self.model.examples, step.example.weight
        self._loss += weight * step.loss
        self._weight += weight
        if self.quiet:
            return
        if not self._headed:
            self._headed = True
            self._print(self.HEAD)
        if self.spacing.due(n):
            self.row()
        if self._status and n % 64 == 0 and time.monotonic() - self._last_status > 0.25:
            self._last_status = time.monotonic()
            self._status.update(f"{n} examples, {self.rate(n)}, champion {self._champion()}")

    def rate(self, n: int) -> str:
        """Examples per second so far."""
        seconds = time.monotonic() - self._began
        return f"{n / seconds:,.0f}/s" if seconds > 0 else ""

    def _champion(self) -> str:
        words = self.model.champion.since(self.model.initial)
        return "(initial)" if words == "=" else words.replace(" ", "")

    def row(self) -> None:
        """Print where the run stands now, once for each example."""
        if self.model.examples == self._last_row:
            return
        self._last_row = self.model.examples
        champion = self.model.champion
        live = [c.since(champion).replace(" ", "") for c in self.model.core.B]
        since = self._loss / self._weight if self._weight else 0.0
        self._loss = self._weight = 0.0
        loss = self.model.loss or 0.0
        self._print(
            f"{self.model.examples:>9}  {loss:>10.6g}  {since:>10.6g}  "
            f"{self._champion():<20}  {'  '.join(live)}"
        )
