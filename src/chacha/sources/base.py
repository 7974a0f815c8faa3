"""What a source is: examples, rows that cannot be used, and what to do with those."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

from chacha.data.example import Example
from chacha.errors import BadExample

__all__ = ["Bad", "OnBad", "Skipped", "Source", "Unlabelled", "good_examples"]


@dataclass(frozen=True)
class Bad:
    """A row that cannot be used: where it stands, why, and what to do.

    `reason` is the short form that counts are kept by. Nobody is stopped by a `harmless`
    one (an empty line): it is skipped and counted whatever the policy. `unlabelled` is the
    example of a row that only lacks its label, where that is known (:class:`Unlabelled`).

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
    """What to do with a row that cannot be used.

    >>> OnBad("skip")
    <OnBad.SKIP: 'skip'>
    """

    ERROR = "error"
    """Stop, with the place and the remedy."""
    SKIP = "skip"
    """Leave it out and count it."""


@runtime_checkable
class Source(Protocol):
    """A stream of labelled examples, and of the rows that could not become one.

    >>> from chacha import open_source
    >>> source: Source = open_source("synth:fried,n=2,seed=1")
    >>> [len(example.groups) for example in source]
    [10, 10]
    """

    @property
    def name(self) -> str:
        """What the user called it."""

    @property
    def endless(self) -> bool:
        """Whether it never ends by itself."""

    def __iter__(self) -> Iterator[Example | Bad]:
        """From the first row on."""


def is_table(source: Source) -> bool:
    """Whether its examples are rows of a table, so far; lines of VW text and the like are not.

    >>> from chacha import open_source
    >>> import numpy as np
    >>> is_table(open_source("synth:fried,n=2")), is_table(open_source(np.eye(2)))
    (False, True)
    """
    return bool(getattr(source, "tabular", True))


class Unlabelled:
    """A source for who needs no labels: VW text may have lines without one.

    >>> from chacha.sources.rows import Rows
    >>> [row.line for row in Unlabelled(Rows(["1 |a x", "|a y"]))]
    ['1 |a x', '|a y']
    """

    def __init__(self, source: Source) -> None:
        self.source, self.name, self.endless = source, source.name, source.endless

    def __iter__(self) -> Iterator[Example | Bad]:
        for row in self.source:
            known = row.unlabelled if isinstance(row, Bad) else None
            yield row if known is None else known


class Skipped(dict[str, int]):
    """Rows that were left out: how many by reason, and the first of each.

    >>> skipped = Skipped()
    >>> skipped.add(Bad("a.vw:7", "no label", "the line has no label"))
    >>> skipped, skipped.first["no label"]
    ({'no label': 1}, 'a.vw:7: the line has no label')
    """

    def __init__(self) -> None:
        super().__init__()
        self.first: dict[str, str] = {}

    def add(self, bad: Bad) -> None:
        """One more."""
        self[bad.reason] = self.get(bad.reason, 0) + 1
        self.first.setdefault(bad.reason, str(bad))


def good_examples(
    source: Source,
    on_bad: OnBad,
    skipped: Skipped,
    prepare: Callable[[Example], Example] = lambda example: example,
) -> Iterator[Example]:
    """The usable examples. A bad one is an error, or counted in `skipped`.

    `prepare` may refuse an example too, with :class:`~chacha.errors.BadExample`.

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
    """The example of one row; None if it is bad and was counted.

    >>> bad = Bad("a.vw:7", "no label", "the line has no label")
    >>> good_example(bad, "a.vw", OnBad.ERROR, Skipped(), lambda example: example)
    Traceback (most recent call last):
    chacha.errors.BadExample: a.vw:7: the line has no label (to leave such rows out and count \
them: --on-bad skip, OnBad.SKIP)
    """
    if isinstance(row, Example):
        try:
            return prepare(row)
        except BadExample as error:
            row = Bad(row.place or source, error.reason, str(error))
    if on_bad is not OnBad.SKIP and not row.harmless:
        told = f"{row} (to leave such rows out and count them: --on-bad skip, OnBad.SKIP)"
        raise BadExample(told, row.reason)
    skipped.add(row)
    return None
