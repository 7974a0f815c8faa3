"""The paper's two tuning tasks, with the printed constants and with those of the authors' code.

Every task is a :class:`chacha.compare.Study`; finished runs are cached and not repeated.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chacha import Interactions, LogUniform, SampleComplexity, Space
from chacha.compare import (
    CommonSettings,
    Failure,
    Method,
    MethodScores,
    Outcome,
    Stream,
    Study,
    method_scores,
)
from datasets import DataSet, stream_of

__all__ = ["AUTHORS", "PRINTED", "TaskResults", "TaskRunner", "TuningTask"]

SEEDS = 5
BUDGET = 5
SPACES = {
    "NI": Space.of({"interactions": Interactions()}),
    "NI+LR": Space.of({"interactions": Interactions(), "learning_rate": LogUniform(2e-10, 1.0)}),
}
PRINTED = "printed"
"""The bound of the appendix, and no burn-in."""
AUTHORS = "authors'"
"""The constants of the authors' code, for every method alike."""
CONSTANTS = {PRINTED: None, AUTHORS: SampleComplexity.authors()}


@dataclass(frozen=True)
class TuningTask:
    """What is tuned, over how many examples, with which constants."""

    space: str = "NI"
    limit: int = 100_000
    constants: str = PRINTED


@dataclass
class TaskResults:
    """The outcomes of every method by data set. ChaCha is the method `paper` in every task."""

    outcomes: dict[str, dict[str, list[Outcome]]] = field(default_factory=dict)

    def scores(self, name: str) -> Mapping[str, MethodScores]:
        """Return the scores of the methods on a data set."""
        return method_scores(self.outcomes[name])

    def is_meaningful(self, name: str) -> bool:
        """Return the paper's filter: whether Exhaustive is strictly better than Naive."""
        methods = self.outcomes.get(name, {})
        if "naive" not in methods or "exhaustive" not in methods:
            return False
        return methods["exhaustive"][0].loss < methods["naive"][0].loss


class TaskRunner:
    """Runs tasks over data sets, and caches the results in a folder."""

    def __init__(self, sets: Sequence[DataSet], cache_dir: Path, jobs: int | None) -> None:
        self.sets, self.cache_dir, self.jobs = list(sets), cache_dir, jobs
        self.failures: dict[Failure, None] = {}
        self.began = time.monotonic()

    def run(
        self,
        task: TuningTask,
        methods: Sequence[str | Method],
        sets: Sequence[DataSet],
        seeds: int = SEEDS,
    ) -> TaskResults:
        """Run the methods on the data sets; a line on stderr reports the time."""
        if not sets:
            return TaskResults()
        settings = CommonSettings(
            budget=BUDGET, space=SPACES[task.space], evidence=CONSTANTS[task.constants]
        )
        title = f"{task.space}, up to {task.limit} examples, {task.constants} constants"
        streams = [stream_of(data, task.limit) for data in sets]
        by_source = self.study(title, streams, methods, settings, seeds)
        results = TaskResults()
        for data in sets:  # a set that lacks a method is among the failures
            outcomes = by_source.get(data.source, {})
            if len(outcomes) == len(methods):
                results.outcomes[data.name] = outcomes
        return results

    def study(
        self,
        title: str,
        streams: Sequence[Stream],
        methods: Sequence[str | Method],
        settings: CommonSettings,
        seeds: int,
    ) -> Mapping[str, dict[str, list[Outcome]]]:
        """Return the outcomes of the methods on streams, by the names of the streams."""
        study = Study(
            streams, methods, seeds, settings=settings, cache_dir=self.cache_dir, workers=self.jobs
        )
        for at in study.run():
            if sys.stderr.isatty():
                print(f"\r{title}: {at.phase} {at.done / at.total:4.0%}", end="", file=sys.stderr)
        seconds = time.monotonic() - self.began
        print(f"\r{title}: done after {seconds:.0f} s", file=sys.stderr, flush=True)
        self.failures |= dict.fromkeys(study.result.failures)
        return study.result.outcomes
