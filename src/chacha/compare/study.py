"""Study: methods side by side over streams and seeds, on all cores; goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import NamedTuple

from chacha.compare.jobs import CommonSettings, Job, Look, LookAt, Stream
from chacha.compare.methods import Method, method_named
from chacha.compare.result_cache import Kept, Outcome, default_home
from chacha.compare.workers import Report, Workers
from chacha.errors import ConfigError, DataError
from chacha.resources import cores
from chacha.rulebook import whole_number

__all__ = ["Comparison", "Failure", "Progress", "Study"]


class Failure(NamedTuple):
    """What could not be done; without a method nothing could be done with the stream."""

    stream: str
    method: str
    message: str

    def __str__(self) -> str:
        told = self.message.removeprefix(f"{self.stream}: ")
        return f"{self.stream}: {self.method + ': ' if self.method else ''}{told}"


class Progress(NamedTuple):
    """How far a study is. `stream` names one of which all runs have ended just now."""

    doing: str
    done: float
    total: float
    stream: str = ""


@dataclass
class Comparison:
    """What a study came to: stream -> method -> an outcome for every seed; and what failed."""

    outcomes: dict[str, dict[str, list[Outcome]]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


class _Run(NamedTuple):
    stream: Stream
    method: Method
    seed: int
    key: str


class Study:
    """Every method (by name, or your own) on every stream with every seed.

    Results are kept in the folder `home` as they come. A study that is started again, or that
    shares runs with another, takes them from there; `fresh` runs all anew. A stream or a method
    that fails is told in :attr:`Comparison.failures`, and the others go on. `workers` are
    processes, one for each core by default (a script needs `if __name__ == "__main__":` then);
    with 0 all is done in this one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     study = Study([Stream("synth:fried,n=99")], ["naive", "paper"], 2, home=home, workers=0)
    ...     found = study.finish()
    >>> [outcome.examples for outcome in found.outcomes["synth:fried,n=99"]["paper"]]
    [99, 99]
    """

    def __init__(
        self,
        streams: Sequence[Stream],
        methods: Sequence[str | Method],
        seeds: int = 5,
        *,
        first_seed: int = 0,
        settings: CommonSettings | None = None,
        home: str | PathLike[str] | None = None,
        workers: int | None = None,
        fresh: bool = False,
    ) -> None:
        self.streams = list(streams)
        self.methods = [m if isinstance(m, Method) else method_named(m) for m in methods]
        self.seeds = range(first_seed, first_seed + whole_number("seeds", seeds, 1))
        named = [method.name for method in self.methods]
        for what, names in (("source", [s.name for s in streams]), ("method", named)):
            if not names:
                raise ConfigError(f"name at least one {what}")
            for name in names:
                if names.count(name) > 1:
                    raise ConfigError(f"the {what} {name} is given twice")
        self.settings = settings or CommonSettings()
        for method in self.methods:
            self.settings.check(method, first_seed)  # wrong settings are told before all begins
        self.kept = Kept(home or default_home())
        self.workers = cores() if workers is None else workers
        self.fresh = fresh
        self.result = Comparison()

    def finish(self) -> Comparison:
        """Run to the end."""
        for _ in self.run():
            pass
        return self.result

    def run(self) -> Iterator[Progress]:
        """Run, and tell how far it is; at the end :attr:`result` is whole."""
        self.result = Comparison()
        with Workers(self.workers) as workers:
            looks: dict[str, Look] = {}
            yield from self._look(workers, looks)
            yield from self._compare(workers, looks)

    def _look(self, workers: Workers, looks: dict[str, Look]) -> Iterator[Progress]:
        loss, total = self.settings.loss, len(self.streams)
        tasks = [LookAt(stream, loss, self.kept, self.fresh) for stream in self.streams]
        yield Progress("reading", 0, total)
        for done, report in enumerate((r for r in workers.do(tasks) if r.ended), start=1):
            name = self.streams[report.task].name
            if report.error:
                self.result.failures.append(Failure(name, "", report.error))
            else:
                looks[name] = report.result
            yield Progress("reading", done, total)

    def _compare(self, workers: Workers, looks: Mapping[str, Look]) -> Iterator[Progress]:
        runs = list(self._runs(looks))
        jobs: list[Job] = []
        missing: list[_Run] = []
        found: dict[str, Outcome] = {}
        total = done = 0.0
        for run in runs:
            look = looks[run.stream.name]
            job = Job(run.stream, self.settings, run.method, run.seed, look.profile)
            total += job.cost
            kept = self._kept(run.key)
            if kept is None:
                jobs.append(job)
                missing.append(run)
            else:
                found[run.key] = kept
                done += job.cost
        shares = [0.0] * len(jobs)
        open_runs = {name: sum(run.stream.name == name for run in missing) for name in looks}
        yield Progress("running", done, total)
        for report in workers.do(jobs):
            run, job = missing[report.task], jobs[report.task]
            done += (report.share - shares[report.task]) * job.cost
            shares[report.task] = report.share
            if report.ended:
                self._take(run, report, found)
                open_runs[run.stream.name] -= 1
            last = report.ended and not open_runs[run.stream.name]
            yield Progress("running", done, total, run.stream.name if last else "")
        self._assemble(runs, found)

    def _kept(self, key: str) -> Outcome | None:
        """What was run before; a file that holds something else counts as none."""
        data = None if self.fresh else self.kept.get(key)
        try:
            return None if data is None else Outcome.from_json(data)
        except DataError:
            return None

    def _runs(self, looks: Mapping[str, Look]) -> Iterator[_Run]:
        """All that is to be run, each once."""
        for stream in self.streams:
            look = looks.get(stream.name)
            for method in self.methods if look else ():
                assert look is not None
                for seed in self.seeds if method.draws(self.settings.space) else self.seeds[:1]:
                    yield _Run(stream, method, seed, look.key(stream, self.settings, method, seed))

    def _take(self, run: _Run, report: Report, found: dict[str, Outcome]) -> None:
        if report.error:
            self.result.failures.append(Failure(run.stream.name, run.method.name, report.error))
            return
        found[run.key] = report.result
        self.kept.put(run.key, report.result.to_json())

    def _assemble(self, runs: Sequence[_Run], found: Mapping[str, Outcome]) -> None:
        """The outcomes in the order of the streams and methods; of what failed nothing is told."""
        for stream in self.streams:
            here = self.result.outcomes[stream.name] = {}
            for method in self.methods:
                keys = [r.key for r in runs if (r.stream, r.method) == (stream, method)]
                if keys and all(key in found for key in keys):
                    outcomes = [found[key] for key in keys]
                    here[method.name] = outcomes if len(keys) > 1 else outcomes * len(self.seeds)
        self.result.failures = list(dict.fromkeys(self.result.failures))
