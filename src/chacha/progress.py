"""The progress table of a run, as lines of text: when a row is due, and what it shows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from chacha.config.config import Config
from chacha.errors import ConfigError
from chacha.rules.progressive_loss import RunningLoss

__all__ = ["ProgressTable", "Spacing"]

MOST_NAMED = 4  # groups and products that a cell adds or removes by name


class Spacing:
    """When to print a row, as VW's -P: a whole number is a step, a decimal number a factor.

    >>> spacing = Spacing("2.0")
    >>> [n for n in range(1, 20) if spacing.due(n)]
    [1, 2, 4, 8, 16]
    >>> spacing = Spacing("5")
    >>> [n for n in range(1, 12) if spacing.due(n)]
    [5, 10]
    """

    def __init__(self, text: str = "2.0") -> None:
        self._multiply = "." in text
        try:
            self._step = float(text) if self._multiply else int(text)
        except ValueError:
            self._step = math.nan
        if not math.inf > self._step > (1.0 if self._multiply else 0.0):
            raise ConfigError(f"-P takes a whole number, or a factor above 1.0, got {text!r}")
        self._next = 1.0 if self._multiply else self._step

    @property
    def next(self) -> int:
        """The number of the example after which the next row is due."""
        return math.ceil(self._next)

    def due(self, n: int) -> bool:
        """Return whether a row is due after example `n`."""
        if n < self._next:
            return False
        while n >= self._next:
            self._next = self._next * self._step if self._multiply else self._next + self._step
        return True


class Running(Protocol):
    """The part of a model that the table shows."""

    @property
    def examples(self) -> int:
        """The number of examples learned."""

    @property
    def served(self) -> RunningLoss:
        """The losses of the served predictions."""

    @property
    def initial(self) -> Config:
        """c_init, the initial configuration."""

    @property
    def champion(self) -> Config:
        """C, the champion."""

    @property
    def live_challengers(self) -> Sequence[Config]:
        """B, the live challengers."""


class ProgressTable:
    """The progress table of a run: a header, and a row whenever one is due.

    >>> import chacha
    >>> model = chacha.ChaCha.paper(pool=chacha.ReferencePool())
    >>> table = ProgressTable(model)
    >>> for step in model.steps(chacha.open_source("synth:interactions"), limit=2):
    ...     for line in table.due_lines():
    ...         print(line)
     examples        loss       since  champion              live
            1    0.175645    0.175645  (initial)             +ac  +ce  +bd  +be
            2     1.61898     3.06233  (initial)             +ac  +ce  +bd  +be
    """

    HEAD = f"{'examples':>9}  {'loss':>10}  {'since':>10}  {'champion':<20}  live"

    def __init__(self, model: Running, spacing: Spacing | None = None) -> None:
        self.model = model
        self.spacing = spacing or Spacing()
        self._printed = -1
        self._before = RunningLoss()

    def next_row(self) -> int:
        """Return the number of the example after which the next row is due."""
        return self.spacing.next

    def due_lines(self) -> Iterator[str]:
        """Yield the lines that are due now."""
        if self._printed < 0:
            self._printed = 0
            yield self.HEAD
        if self.spacing.due(self.model.examples):
            yield from self.row()

    def row(self) -> Iterator[str]:
        """Yield the row of the current example, unless it was printed before."""
        n = self.model.examples
        if n == self._printed:
            return
        self._printed = n
        live = [_short(c, self.model.champion) for c in self.model.live_challengers]
        served, before = self.model.served, self._before
        self._before = replace(served)
        since = served.mean_since(before) if served.weight > before.weight else 0.0
        numbers = f"{n:>9}  {served.mean:>10.6g}  {since:>10.6g}"
        yield f"{numbers}  {self.champion():<20}  {'  '.join(live)}"

    def champion(self) -> str:
        """Return how the champion differs from the initial configuration."""
        same = self.model.champion == self.model.initial
        return "(initial)" if same else _short(self.model.champion, self.model.initial)


def _short(config: Config, other: Config) -> str:
    """Return the differences between two configurations without a blank.

    If many groups and products are added, or many removed, the rest of them are counted.

    >>> _short(Config(["ab", "cd"], {"l1": 0.5, "l2": 0.1}), Config())
    '+ab+cd,l1=0.5,l2=0.1'
    >>> _short(Config(["ab", "ac", "ad", "bc", "bd", "cd"], {"l2": 0.1}), Config(["aa"]))
    '+ab+ac+4more-aa,l2=0.1'
    """
    words = config.changes(other)
    added, removed = ([word for word in words if word.startswith(sign)] for sign in "+-")
    groups = "".join([*_abbreviated(added), *_abbreviated(removed)])
    values = [w.replace(" ", "=", 1) for w in words if not w.startswith(("+", "-"))]
    return ",".join([groups, *values] if groups else values) or "="


def _abbreviated(words: list[str]) -> list[str]:
    """Return the first words, with the count of the others if there are many."""
    if len(words) <= MOST_NAMED:
        return words
    named = words[: MOST_NAMED // 2]
    return [*named, f"{words[0][0]}{len(words) - len(named)}more"]
