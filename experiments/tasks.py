"""The paper's two tuning tasks, run with the printed constants and with those of the authors' code.

Every task is a :class:`chacha.compare.Study`; what has been run is kept and not run again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chacha import Interactions, LogUniform, SampleComplexity, Space
from chacha.compare import CommonSettings, Failure, Method, Outcome, Row, Stream, Study, rows_of
from datasets import DataSet, stream_of

__all__ = ["AUTHORS", "PRINTED", "Found", "Lab", "Task"]

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
class Task:
    """What is tuned, over how many examples, with which constants."""

    space: str = "NI"
    limit: int = 100_000
    constants: str = PRINTED


@dataclass
class Found:
    """By data set: what every method came to. ChaCha is the method `paper` in every task."""

    outcomes: dict[str, dict[str, list[Outcome]]] = field(default_factory=dict)

    def rows(self, name: str) -> Mapping[str, Row]:
        """The scores of a data set's methods."""
        return rows_of(self.outcomes[name])

    def meaningful(self, name: str) -> bool:
        """The paper's filter: Exhaustive is strictly better than Naive."""
        here = self.outcomes.get(name, {})
        if "naive" not in here or "exhaustive" not in here:
            return False
        return here["exhaustive"][0].loss < here["naive"][0].loss


class Lab:
    """Runs tasks over data sets, and keeps what came of them in a folder."""

    def __init__(self, sets: Sequence[DataSet], home: Path, jobs: int | None) -> None:
        self.sets, self.home, self.jobs = list(sets), home, jobs
        self.failures: dict[Failure, None] = {}
        self.began = time.monotonic()

    def run(
        self,
        task: Task,
        methods: Sequence[str | Method],
        sets: Sequence[DataSet],
        seeds: int = SEEDS,
    ) -> Found:
        """The methods on the data sets; one line on stderr tells how long it took."""
        if not sets:
            return Found()
        settings = CommonSettings(
            budget=BUDGET, space=SPACES[task.space], evidence=CONSTANTS[task.constants]
        )
        told = f"{task.space}, up to {task.limit} examples, {task.constants} constants"
        streams = [stream_of(data, task.limit) for data in sets]
        every = self.study(told, streams, methods, settings, seeds)
        found = Found()
        for data in sets:  # one without all of its methods is among the failures
            outcomes = every.get(data.source, {})
            if len(outcomes) == len(methods):
                found.outcomes[data.name] = outcomes
        return found

    def study(
        self,
        told: str,
        streams: Sequence[Stream],
        methods: Sequence[str | Method],
        settings: CommonSettings,
        seeds: int,
    ) -> Mapping[str, dict[str, list[Outcome]]]:
        """What the methods came to on streams, by their names."""
        study = Study(streams, methods, seeds, settings=settings, home=self.home, workers=self.jobs)
        for at in study.run():
            if sys.stderr.isatty():
                print(f"\r{told}: {at.doing} {at.done / at.total:4.0%}", end="", file=sys.stderr)
        seconds = time.monotonic() - self.began
        print(f"\r{told}: done after {seconds:.0f} s", file=sys.stderr, flush=True)
        self.failures |= dict.fromkeys(study.result.failures)
        return study.result.outcomes
