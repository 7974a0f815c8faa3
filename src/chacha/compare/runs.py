"""Runs: how a method passes over a stream, and what it is charged on the way."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from chacha.compare.outcome import CurvePoint
from chacha.config.config import Config
from chacha.data.example import Example
from chacha.intake import labelled
from chacha.losses import Loss
from chacha.model import ChaCha
from chacha.pools.base import Learner, LivePool, SequentialPool, learn_many
from chacha.rules.progressive_loss import RunningLoss
from chacha.sources import Bad, DictReader, OnBad, Skipped, Source, good_examples
from chacha.sources.formats.vw_file import vw_rows
from chacha.sources.tables.blocks import TableBlock, TextBlock, blocks_of
from chacha.streaming import NO_LIMIT
from chacha.tasks import task_of

__all__ = ["FixedRun", "LabelsOnly", "RunPlan", "TunedRun"]

BATCH = 256
"""The number of examples that a pool learns in one call, at most."""


class RunPlan(NamedTuple):
    """The number of examples of a run, and the examples after which its curve has points.

    The first `frozen` examples are learned and not charged, and nothing is learned after them.
    With 0, all examples are learned and charged.
    """

    examples: int
    checkpoints: Sequence[int]
    frozen: int = 0
    on_bad: OnBad | None = None


class TunedRun:
    """A run of Algorithm 1 or a variant of it, in chunks from checkpoint to checkpoint.

    >>> import chacha
    >>> run = TunedRun(chacha.ChaCha(budget=2))
    >>> [p.n for p in run.points(chacha.open_source("synth:fried,n=9"), RunPlan(9, [4, 9]))]
    [4, 9]
    >>> sorted(run.metrics)
    ['mae', 'mse']
    """

    def __init__(self, model: ChaCha) -> None:
        self.model, self.reader = model, model.reader

    def points(self, source: Source, plan: RunPlan) -> Iterator[CurvePoint]:
        """Pass over the source, and yield a point of the curve at every checkpoint."""
        model, marks = self.model, deque([*plan.checkpoints, NO_LIMIT])
        limit, on_bad = plan.examples, plan.on_bad
        for _ in model.chunks(source, limit=limit, on_bad=on_bad, until=lambda: marks[0]):
            if model.examples == marks[0]:
                served = model.served
                yield CurvePoint(marks.popleft(), served.total, served.weight, served.lost)

    @property
    def champion(self) -> str:
        """The champion at the end."""
        return str(self.model.champion)

    @property
    def promotions(self) -> int:
        """The number of promotions."""
        return self.model.promotions

    @property
    def metrics(self) -> dict[str, float]:
        """The means of the loss's other metrics."""
        return dict(self.model.summary().metrics)


class FixedRun:
    """A run of one model with nothing to decide, in batches from checkpoint to checkpoint.

    For every example the live model `config` of the pool predicts, is charged, and learns.

    >>> import chacha
    >>> pool = chacha.ReferencePool()
    >>> pool.start(chacha.Config())
    >>> run = FixedRun(pool, chacha.Config(), chacha.Squared())
    >>> list(run.points(chacha.sources.Rows(["1 |a x", "0 |b y"]), RunPlan(2, [1, 2])))
    [CurvePoint(n=1, total=1.0, weight=1.0, ...), CurvePoint(n=2, total=1.06..., weight=2.0, ...)]
    >>> sorted(run.metrics)
    ['mae', 'mse']
    """

    promotions = 0

    def __init__(
        self, pool: LivePool, config: Config, loss: Loss, reader: DictReader | None = None
    ) -> None:
        self.pool, self.config, self.task = pool, config, task_of(loss)
        self.reader = DictReader(self.task.learner_label) if reader is None else reader
        self.champion = str(config)
        self._served = RunningLoss()
        self._sums: dict[str, float] = {}

    @classmethod
    def of_learner(cls, learner: Learner, loss: Loss) -> FixedRun:
        """Return the run of a learner.

        >>> import chacha
        >>> class Zero:
        ...     def predict(self, example): return 0.0
        ...     def learn(self, example): pass
        ...     def close(self): pass
        >>> run = FixedRun.of_learner(Zero(), chacha.Squared())
        >>> list(run.points(chacha.sources.Rows(["1 |a x", "3 |a x"]), RunPlan(2, [2])))
        [CurvePoint(n=2, total=10.0, weight=2.0, lost=0.0)]
        >>> run.metrics
        {'mae': 2.0, 'mse': 5.0}
        """
        pool = SequentialPool(lambda config: learner)
        pool.start(Config())
        run = cls(pool, Config(), loss)
        run.champion = str(learner)
        return run

    def points(self, source: Source, plan: RunPlan) -> Iterator[CurvePoint]:
        """Pass over the source, and yield a point of the curve at every checkpoint."""
        pool, task, served, n = self.pool, self.task, self._served, 0
        on_bad = plan.on_bad or (OnBad.SKIP if source.endless else OnBad.ERROR)
        good = good_examples(source, on_bad, Skipped(), lambda e: labelled(e, task))
        examples = islice(good, plan.examples)
        try:
            for end in sorted({*plan.checkpoints, plan.frozen, plan.examples}):
                while n < end and (batch := list(islice(examples, min(end - n, BATCH)))):
                    learns = n < plan.frozen or not plan.frozen
                    raw = learn_many(pool, batch) if learns else map(pool.predict, batch)
                    for predictions, example in zip(raw, batch, strict=True):
                        if n >= plan.frozen:
                            self._charge(predictions[self.config], example)
                    n += len(batch)
                if n == end and end in plan.checkpoints:
                    yield CurvePoint(n, served.total, served.weight, served.lost)
        finally:
            pool.stop(self.config)

    def _charge(self, raw: float, example: Example) -> None:
        assert example.label is not None
        self._served.add(self.task.loss(raw, example.label), example.weight)
        for name, value in self.task.metrics(raw, example.label).items():
            self._sums[name] = self._sums.get(name, 0.0) + example.weight * value

    @property
    def metrics(self) -> dict[str, float]:
        """The means of the loss's other metrics."""
        weight = self._served.weight
        return {name: total / weight for name, total in self._sums.items()} if weight > 0 else {}


class LabelsOnly:
    """A source for learners that use no features: rows of tables have a label and a weight only.

    To make the features would take many times as long as to learn. Lines of VW text are parsed all
    the same, since what is wrong with a line may be in its features.

    >>> import chacha
    >>> source = LabelsOnly(chacha.open_source("synth:fried,n=2"))
    >>> [(round(example.label, 2), example.weight, example.groups) for example in source]
    [(14.16, 1.0, {}), (5.43, 1.0, {})]
    """

    def __init__(self, source: Source) -> None:
        self.source, self.name, self.endless = source, source.name, source.endless

    def __iter__(self) -> Iterator[Example | Bad]:
        for item in blocks_of(self.source):
            if isinstance(item, TextBlock):
                yield from vw_rows(item)
            elif isinstance(item, TableBlock):
                yield from _label_rows(item)
            else:
                yield item


def _label_rows(block: TableBlock) -> Iterator[Example | Bad]:
    labels, weights = block.labels.tolist(), block.weights
    block.on_taken(len(labels), len(block.bad) < len(labels))
    each_weight = [1.0] * len(labels) if weights is None else weights.tolist()
    for row, (label, weight) in enumerate(zip(labels, each_weight, strict=True)):
        bad = block.bad.get(row)
        yield Example({}, "|", label, weight, place=block.place(row)) if bad is None else bad
