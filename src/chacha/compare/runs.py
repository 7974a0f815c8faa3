"""Passes: how a method goes over a stream, and what it is charged on the way."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from chacha.compare.result_cache import Point
from chacha.data.example import Example
from chacha.intake import labelled
from chacha.losses import Loss
from chacha.model import ChaCha
from chacha.pools.base import Learner
from chacha.rules.standing import Standing
from chacha.sources import DictReader, OnBad, Skipped, Source, good_examples
from chacha.streaming import NO_LIMIT

__all__ = ["Alone", "Learned", "Span", "Tuned"]


class Span(NamedTuple):
    """How far a pass goes: so many examples; after `marks` of them the curve has its points.

    The first `frozen` examples are learned and not charged, and nothing is learned after them;
    with 0 all are learned and charged.
    """

    examples: int
    marks: Sequence[int]
    frozen: int = 0
    on_bad: OnBad | None = None


class Tuned:
    """Algorithm 1 or a variant of it, in chunks from mark to mark.

    >>> import chacha
    >>> way = Tuned(chacha.ChaCha(budget=2))
    >>> [p.n for p in way.points(chacha.open_source("synth:fried,n=9"), Span(9, [4, 9]))]
    [4, 9]
    >>> sorted(way.metrics)
    ['mae', 'mse']
    """

    def __init__(self, model: ChaCha) -> None:
        self.model, self.reader = model, model.reader

    def points(self, source: Source, span: Span) -> Iterator[Point]:
        """Pass over the source; where the curve stands at every mark."""
        model, marks = self.model, deque([*span.marks, NO_LIMIT])
        limit, on_bad = span.examples, span.on_bad
        for _ in model.chunks(source, limit=limit, on_bad=on_bad, until=lambda: marks[0]):
            if model.examples == marks[0]:
                yield Point(marks.popleft(), model.served.total, model.served.weight)

    @property
    def champion(self) -> str:
        """The champion at the end."""
        return str(self.model.champion)

    @property
    def promotions(self) -> int:
        """How many there were."""
        return self.model.promotions

    @property
    def metrics(self) -> dict[str, float]:
        """The means of what else the loss reports."""
        return dict(self.model.summary().metrics)


class Learned:
    """One learner: for every example it predicts, is charged, and learns.

    >>> import chacha
    >>> class Zero:
    ...     def predict(self, example): return 0.0
    ...     def learn(self, example): pass
    ...     def close(self): pass
    >>> way = Learned(Zero(), chacha.Squared())
    >>> list(way.points(chacha.sources.Rows(["1 |a x", "3 |a x"]), Span(2, [2])))
    [Point(n=2, total=10.0, weight=2.0)]
    >>> way.metrics
    {'mae': 2.0, 'mse': 5.0}
    """

    promotions = 0

    def __init__(self, learner: Learner, loss: Loss, reader: DictReader | None = None) -> None:
        self.learner, self.loss = learner, loss
        self.reader = DictReader(loss.label) if reader is None else reader
        self.champion = str(learner)
        self._served = Standing()
        self._sums: dict[str, float] = {}

    def points(self, source: Source, span: Span) -> Iterator[Point]:
        """Pass over the source; where the curve stands at every mark."""
        learner, loss, served = self.learner, self.loss, self._served
        marks, frozen = set(span.marks), span.frozen
        on_bad = span.on_bad or (OnBad.SKIP if source.endless else OnBad.ERROR)
        examples = good_examples(source, on_bad, Skipped(), lambda e: labelled(e, loss))
        try:
            for n, example in enumerate(islice(examples, span.examples), start=1):
                if n > frozen:
                    self._charge(learner.predict(example), example)
                if n <= frozen or not frozen:
                    learner.learn(example)
                if n in marks:
                    yield Point(n, served.total, served.weight)
        finally:
            learner.close()

    def _charge(self, raw: float, example: Example) -> None:
        assert example.label is not None
        self._served.add(self.loss.loss(raw, example.label), example.weight)
        for name, value in self.loss.metrics(raw, example.label).items():
            self._sums[name] = self._sums.get(name, 0.0) + example.weight * value

    @property
    def metrics(self) -> dict[str, float]:
        """The means of what else the loss reports."""
        weight = self._served.weight
        return {name: total / weight for name, total in self._sums.items()} if weight > 0 else {}


class Alone:
    """The first configuration of a model, as a learner.

    >>> import chacha
    >>> str(Alone(chacha.ChaCha(budget=1)))
    'no interactions; learning_rate 0.5'
    """

    def __init__(self, model: ChaCha) -> None:
        self._pool, self._config = model.pool, model.champion

    def predict(self, example: Example) -> float:
        """What it predicts."""
        return self._pool.predict(example)[self._config]

    def learn(self, example: Example) -> None:
        """Learn from a labelled example."""
        self._pool.learn(example)

    def close(self) -> None:
        """The pool goes with the model."""

    def __str__(self) -> str:
        return str(self._config)
