"""The protocol of a source: examples, bad rows, and what to do with bad rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from threading import Lock
from typing import Protocol, runtime_checkable

from chacha.data.example import Example
from chacha.errors import BadExample, ConfigError

__all__ = [
    "Bad",
    "OnBad",
    "Skipped",
    "Source",
    "Unlabelled",
    "check_ends",
    "good_example",
    "good_examples",
    "is_table",
]


@dataclass(frozen=True)
class Bad:
    """A row that cannot be used: its place, why, and the remedy.

    Rows are counted by `reason`, which is short. A `harmless` one (an empty line) is skipped and
    counted whatever the policy. `unlabelled` is the example of a row that only lacks its label,
    where there is one (:class:`Unlabelled`).

    >>> print(Bad("clicks.vw:7", "no label", "the line has no label"))
    clicks.vw:7: the line has no label
    """

    place: str
    reason: str
    message: str
    harmless: bool = False
    unlabelled: Example | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class OnBad(Enum):
    """What to do with a bad row.

    >>> OnBad("skip")
    <OnBad.SKIP: 'skip'>
    """

    ERROR = "error"
    """Stop with an error that names the place and the remedy."""
    SKIP = "skip"
    """Skip it and count it."""


@runtime_checkable
class Source(Protocol):
    """A stream of labelled examples and bad rows.

    >>> from chacha import open_source
    >>> source: Source = open_source("synth:fried,n=2,seed=1")
    >>> [len(example.groups) for example in source]
    [10, 10]
    """

    @property
    def name(self) -> str:
        """The name the user gave it."""

    @property
    def endless(self) -> bool:
        """Whether it may never end by itself."""

    def __iter__(self) -> Iterator[Example | Bad]:
        """Yield the rows from the first on."""


def is_table(source: Source) -> bool:
    """Return whether its examples are rows of a table, so far; lines of VW text are not.

    >>> from chacha import open_source
    >>> import numpy as np
    >>> is_table(open_source("synth:fried,n=2")), is_table(open_source(np.eye(2)))
    (False, True)
    """
    return bool(getattr(source, "tabular", True))


def check_ends(source: Source, limit: int | None) -> None:
    """Raise ConfigError for a pass without a limit over a source that is known to be infinite.

    Such a source has a true attribute `infinite`. `endless` alone is not a reason to refuse: it
    also holds for standard input and iterators, which may end.

    >>> from chacha import open_source
    >>> check_ends(open_source("synth:fried"), None)
    Traceback (most recent call last):
    chacha.errors.ConfigError: synth:fried,seed=0 never ends; give n= or a limit
    """
    if getattr(source, "infinite", False) and limit is None:
        raise ConfigError(f"{source.name} never ends; give n= or a limit")


class Unlabelled:
    """A source that also gives the examples of rows without a label.

    >>> from chacha.sources.rows import Rows
    >>> [row.line for row in Unlabelled(Rows(["1 |a x", "|a y"]))]
    ['1 |a x', '|a y']
    """

    def __init__(self, source: Source) -> None:
        self.source, self.name, self.endless = source, source.name, source.endless

    def __iter__(self) -> Iterator[Example | Bad]:
        for row in self.source:
            example = row.unlabelled if isinstance(row, Bad) else None
            yield row if example is None else example


_COUNTING = Lock()  # bad rows are rare, so that one lock does for all models


class Skipped(dict[str, int]):
    """The number of skipped rows by reason, and the first of each reason.

    >>> skipped = Skipped()
    >>> skipped.add(Bad("a.vw:7", "no label", "the line has no label"))
    >>> skipped, skipped.first["no label"]
    ({'no label': 1}, 'a.vw:7: the line has no label')
    """

    __slots__ = ("first",)

    def __init__(self) -> None:
        super().__init__()
        self.first: dict[str, str] = {}

    def add(self, bad: Bad) -> None:
        """Count one more row."""
        with _COUNTING:
            self[bad.reason] = self.get(bad.reason, 0) + 1
            self.first.setdefault(bad.reason, str(bad))


def good_examples(
    source: Source,
    on_bad: OnBad,
    skipped: Skipped,
    prepare: Callable[[Example], Example] = lambda example: example,
) -> Iterator[Example]:
    """Yield the good examples. A bad row is an error, or is counted in `skipped`.

    `prepare` may refuse an example too, by :class:`~chacha.errors.BadExample`.

    >>> from chacha.sources.rows import Rows
    >>> skipped = Skipped()
    >>> source = Rows(["1 |a x", "", "nan |a x", "2 |a x"])
    >>> [example.label for example in good_examples(source, OnBad.SKIP, skipped)], skipped
    ([1.0, 2.0], {'empty line': 1, 'label not finite': 1})
    """
    for row in source:
        example = good_example(row, source.name, on_bad, skipped, prepare)
        if example is not None:
            yield example


def good_example(
    row: Example | Bad,
    source: str,
    on_bad: OnBad,
    skipped: Skipped,
    prepare: Callable[[Example], Example],
) -> Example | None:
    """Return the example of one row; None if it is bad and was counted.

    >>> bad = Bad("a.vw:7", "no label", "the line has no label")
    >>> good_example(bad, "a.vw", OnBad.ERROR, Skipped(), lambda example: example)
    Traceback (most recent call last):
    chacha.errors.BadExample: a.vw:7: the line has no label (to skip and count such rows: \
--on-bad skip, OnBad.SKIP)
    """
    if isinstance(row, Example):
        try:
            return prepare(row)
        except BadExample as error:
            row = Bad(row.place or source, error.reason, str(error))
    if on_bad is not OnBad.SKIP and not row.harmless:
        message = f"{row} (to skip and count such rows: --on-bad skip, OnBad.SKIP)"
        raise BadExample(message, row.reason)
    skipped.add(row)
    return None
