"""Calibration: how often the rules promote a challenger that is not better, on a given stream.

Challengers run as usual, but the sign of their advantage is drawn at random for every block of
examples before it enters the test. So no challenger is better, whatever it learned, and the noise
is that of the stream. Every promotion is a mistake.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from chacha.compare.jobs import CommonSettings, Stream
from chacha.compare.workers import OnShare, Workers
from chacha.config.arguments import whole_number
from chacha.errors import DataError
from chacha.model import ChaCha
from chacha.pools import open_pool
from chacha.rules.contest.betting import Coin, PairedBetting
from chacha.rules.contest.contest import ContestRules
from chacha.source_profile import profile_source
from chacha.sources import DictReader, LogTarget

__all__ = ["Calibration", "CalibrationStudy", "clopper_pearson"]


@dataclass(frozen=True)
class Calibration:
    """The number of runs that promoted a challenger although none was better.

    >>> print(Calibration(runs=400, false=8, alpha=0.05, block=10, examples=60000))
    8 of 400 runs promoted a challenger that was no better: 2.0% (95% interval 0.9% to 3.9%)
    alpha is 0.05: the rate is within it
    """

    runs: int
    false: int
    alpha: float
    block: int
    examples: int

    @property
    def rate(self) -> float:
        """The share of runs with a false promotion."""
        return self.false / self.runs

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% confidence interval of the rate (Clopper and Pearson)."""
        return clopper_pearson(self.false, self.runs)

    def to_json(self) -> dict[str, Any]:
        """Return the object that --json writes.

        >>> Calibration(10, 1, 0.05, 10, 99).to_json()["rate"]
        0.1
        """
        low, high = self.interval
        return {**asdict(self), "rate": self.rate, "low": low, "high": high}

    def __str__(self) -> str:
        low, high = self.interval
        rate = f"{self.rate:.1%} (95% interval {low:.1%} to {high:.1%})"
        verdict = "within it" if self.rate <= self.alpha else "above it"
        if self.rate > self.alpha and low <= self.alpha:
            verdict = "above it, by no more than chance allows"
        return (
            f"{self.false} of {self.runs} runs promoted a challenger that was no better: {rate}\n"
            f"alpha is {self.alpha:g}: the rate is {verdict}"
        )


def clopper_pearson(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact confidence interval of a share that was observed k times in n.

    >>> [round(p, 4) for p in clopper_pearson(0, 400)]
    [0.0, 0.0092]
    """
    tail = (1.0 - level) / 2.0
    low = 0.0 if k == 0 else _smallest_share(lambda p: _at_most(k - 1, n, p) <= 1.0 - tail)
    high = 1.0 if k == n else _smallest_share(lambda p: _at_most(k, n, p) <= tail)
    return low, high


def _smallest_share(holds: Callable[[float], bool]) -> float:
    """Return the smallest share for which a condition holds, to 1e-9."""
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _at_most(k: int, n: int, p: float) -> float:
    """Return P(X <= k) for a binomial X."""
    if p <= 0.0 or p >= 1.0:
        return 1.0 if p <= 0.0 or k >= n else 0.0
    ways = math.lgamma(n + 1)
    log, log1 = math.log(p), math.log1p(-p)
    terms = (
        ways - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * log + (n - i) * log1
        for i in range(k + 1)
    )
    return min(1.0, math.fsum(map(math.exp, terms)))


@dataclass(frozen=True)
class _CalibrationRuns:
    """A task: some of the runs; returns which of them promoted a challenger."""

    stream: Stream
    settings: CommonSettings
    shift: float | None
    evidence: PairedBetting
    block: int
    seeds: range

    def __call__(self, on_share: OnShare) -> list[bool]:
        """Pass over the stream with each seed, up to the first promotion."""
        promoted: list[bool] = []
        for i, seed in enumerate(self.seeds):
            promoted.append(self._promotes(seed))
            on_share((i + 1) / len(self.seeds))
        return promoted

    def _promotes(self, seed: int) -> bool:
        settings = self.settings
        model = ChaCha(
            budget=settings.budget,
            space=settings.space,
            init=settings.init,
            loss=settings.loss,
            pool=open_pool(settings.pool),
            seed=seed,
            rules=ContestRules(
                evidence=self.evidence.with_coin(Coin(seed, self.block)),
                scaling=self.settings.scaling,
            ),
            keep_decisions=0,
        )
        source = self.stream.open(model.reader, self.shift)
        chunks = model.chunks(source, limit=self.stream.limit, on_bad=self.stream.on_bad)
        return any(model.promotions for _ in chunks)


class CalibrationStudy:
    """Many runs over one stream, each with its own coin; `run` yields the share that is done.

    >>> study = CalibrationStudy(Stream("synth:fried,n=300"), runs=4, workers=0)
    >>> for _ in study.run():
    ...     pass
    >>> study.result.runs, study.result.false
    (4, 0)
    """

    def __init__(
        self,
        stream: Stream,
        *,
        settings: CommonSettings | None = None,
        evidence: PairedBetting | None = None,
        runs: int = 400,
        block: int = 10,
        seed: int = 0,
        workers: int = 1,
    ) -> None:
        self.stream = stream
        settings = CommonSettings() if settings is None else settings
        self.settings = replace(settings, space=settings.space.with_recommended_rates())
        self.evidence = PairedBetting() if evidence is None else evidence
        self.runs, self.block = whole_number("runs", runs, 1), whole_number("block", block, 1)
        self.seed, self.workers = whole_number("seed", seed, 0), workers
        self.result: Calibration | None = None
        # Wrong settings fail before anything runs.
        ChaCha(budget=settings.budget, space=self.settings.space, init=settings.init)

    def run(self) -> Iterator[float]:
        """Do the runs, and yield the share that is done; at the end :attr:`result` is set."""
        stream, loss = self.stream, self.settings.loss
        source = stream.open(DictReader(loss.label), None)
        limit = stream.limit if stream.log_target is LogTarget.OFF else None
        profile = profile_source(source, loss=loss, limit=limit, on_bad=stream.on_bad)
        shift = profile.shift(self.stream.log_target)
        runs_per_task = max(1, self.runs // (8 * max(self.workers, 1)))
        end = self.seed + self.runs
        tasks = [
            _CalibrationRuns(
                self.stream,
                self.settings,
                shift,
                self.evidence,
                self.block,
                range(start, min(start + runs_per_task, end)),
            )
            for start in range(self.seed, end, runs_per_task)
        ]
        shares, false = dict.fromkeys(range(len(tasks)), 0.0), 0
        with Workers(self.workers) as workers:
            for report in workers.do(tasks):
                if report.error:
                    raise DataError(report.error)
                shares[report.task] = report.share
                false += sum(report.result or ())
                yield sum(shares.values()) / len(tasks)
        examples = profile.examples if self.stream.limit is None else self.stream.limit
        self.result = Calibration(
            self.runs, false, self.evidence.alpha, self.block, min(examples, profile.examples)
        )
