"""Runs of one model: batches give what a loop over single examples gives."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import pytest

from chacha import Config, Example, Squared, open_pool, open_source
from chacha.compare.outcome import CurvePoint
from chacha.compare.runs import BATCH, FixedRun, RunPlan
from chacha.pools.base import Learner
from chacha.pools.river import RiverLearner
from chacha.rules.progressive_loss import RunningLoss

STREAM = "synth:interactions,n=700"


class OneModel:
    """A pool's only model, as a learner."""

    def __init__(self, name: str) -> None:
        self.pool = open_pool(name)
        self.pool.start(Config())

    def predict(self, example: Example) -> float:
        return self.pool.predict(example)[Config()]

    def learn(self, example: Example) -> None:
        self.pool.learn(example)

    def close(self) -> None:
        pass


def single_examples(learner: Learner, plan: RunPlan) -> list[CurvePoint]:
    """Return the curve of a loop over the stream."""
    served, points = RunningLoss(), list[CurvePoint]()
    for n, example in enumerate(islice(open_source(STREAM), plan.examples), start=1):
        assert isinstance(example, Example)
        assert example.label is not None
        if n > plan.frozen:
            served.add(Squared().loss(learner.predict(example), example.label), example.weight)
        if n <= plan.frozen or not plan.frozen:
            learner.learn(example)
        if n in plan.checkpoints:
            points.append(CurvePoint(n, served.total, served.weight, served.lost))
    return points


@pytest.mark.parametrize(
    ("checkpoints", "examples", "frozen"),
    [
        ([1, 2, 300, 700], 700, 0),
        ([BATCH, BATCH + 1, 2 * BATCH], 2 * BATCH, 0),
        ([100, 300, 600], 600, 300),
        ([50, 400], 400, 77),
        ([10, 500], 400, 0),
        ([700, 900], 900, 0),
    ],
)
@pytest.mark.parametrize("name", ["native", "reference", "river:LinearRegression"])
def test_batches_are_the_loop_over_single_examples(
    name: str, checkpoints: Sequence[int], examples: int, frozen: int
) -> None:
    plan = RunPlan(examples, checkpoints, frozen)
    if name.startswith("river:"):
        learner, other = (RiverLearner("LinearRegression", Squared(), 0) for _ in range(2))
        run, expected = FixedRun.of_learner(learner, Squared()), single_examples(other, plan)
        assert run.champion == "StandardScaler | LinearRegression"
    else:
        pool = open_pool(name)
        pool.start(Config())
        run = FixedRun(pool, Config(), Squared())
        expected = single_examples(OneModel(name), plan)
    assert list(run.points(open_source(STREAM), plan)) == expected
    assert len(expected) == sum(n <= min(examples, 700) for n in checkpoints)
    assert not list(run.pool.live), "the model is closed"
