"""A study: methods side by side over streams and seeds, on all cores, resumed after a stop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import NamedTuple

from chacha.compare.jobs import CommonSettings, Job, ProfileJob, Stream, StreamContent
from chacha.compare.methods import Method, method_named
from chacha.compare.outcome import Outcome
from chacha.compare.result_cache import ResultCache, default_cache_dir
from chacha.compare.workers import TaskReport, Workers
from chacha.config.arguments import whole_number
from chacha.errors import ConfigError, DataError
from chacha.resources import cores

__all__ = ["Comparison", "Failure", "Study", "StudyProgress"]


class Failure(NamedTuple):
    """A method that failed on a stream; without a method, the stream could not be read."""

    stream: str
    method: str
    message: str

    def __str__(self) -> str:
        message = self.message.removeprefix(f"{self.stream}: ")
        return f"{self.stream}: {self.method + ': ' if self.method else ''}{message}"


class StudyProgress(NamedTuple):
    """How much of a phase ("reading", "running") is done.

    `finished_stream` names a stream whose last run has just ended.
    """

    phase: str
    done: float
    total: float
    finished_stream: str = ""


@dataclass
class Comparison:
    """The result of a study: stream -> method -> an outcome for every seed; and the failures."""

    outcomes: dict[str, dict[str, list[Outcome]]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


class _Run(NamedTuple):
    stream: Stream
    method: Method
    seed: int
    key: str


class Study:
    """Every method (by name, or a custom :class:`Method`) on every stream with every seed.

    Results are cached in the folder `cache_dir` as they arrive. A study that is started again, or
    that shares runs with another, takes them from there; `fresh` repeats every run. A stream or
    a method that fails is listed in :attr:`Comparison.failures`, and the others continue.
    `workers` is the number of processes, by default one for each core; a script then needs
    `if __name__ == "__main__":`. With 0, this process does everything.

    >>> import tempfile
    >>> stream = Stream("synth:fried,n=99")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = Study([stream], ["naive", "paper"], 2, cache_dir=folder, workers=0)
    ...     comparison = study.finish()
    >>> [outcome.examples for outcome in comparison.outcomes["synth:fried,n=99"]["paper"]]
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
        cache_dir: str | PathLike[str] | None = None,
        workers: int | None = None,
        fresh: bool = False,
    ) -> None:
        self.streams = list(streams)
        self.methods = [m if isinstance(m, Method) else method_named(m) for m in methods]
        self.seeds = range(first_seed, first_seed + whole_number("seeds", seeds, 1))
        _check_names("source", [stream.name for stream in streams])
        _check_names("method", [method.name for method in self.methods])
        self.settings = settings or CommonSettings()
        for method in self.methods:
            self.settings.check(method, first_seed)  # wrong settings fail before anything runs
        self.cache = ResultCache(cache_dir or default_cache_dir())
        self.workers = cores() if workers is None else workers
        self.fresh = fresh
        self.result = Comparison()

    def finish(self) -> Comparison:
        """Run to the end and return the result."""
        for _ in self.run():
            pass
        return self.result

    def run(self) -> Iterator[StudyProgress]:
        """Run, and yield the progress; at the end :attr:`result` is complete."""
        self.result = Comparison()
        with Workers(self.workers) as workers:
            contents: dict[str, StreamContent] = {}
            yield from self._read_streams(workers, contents)
            yield from self._run_methods(workers, contents)

    def _read_streams(
        self, workers: Workers, contents: dict[str, StreamContent]
    ) -> Iterator[StudyProgress]:
        loss, total = self.settings.loss, len(self.streams)
        tasks = [ProfileJob(stream, loss, self.cache, self.fresh) for stream in self.streams]
        yield StudyProgress("reading", 0, total)
        for done, report in enumerate((r for r in workers.do(tasks) if r.ended), start=1):
            name = self.streams[report.task].name
            if report.error:
                self.result.failures.append(Failure(name, "", report.error))
            else:
                contents[name] = report.result
            yield StudyProgress("reading", done, total)

    def _run_methods(
        self, workers: Workers, contents: Mapping[str, StreamContent]
    ) -> Iterator[StudyProgress]:
        runs = list(self._runs(contents))
        jobs: list[Job] = []
        missing: list[_Run] = []
        outcomes: dict[str, Outcome] = {}  # by cache key
        total = done = 0.0
        for run in runs:
            profile = contents[run.stream.name].profile
            job = Job(run.stream, self.settings, run.method, run.seed, profile)
            total += job.cost
            cached = self._cached(run.key)
            if cached is None:
                jobs.append(job)
                missing.append(run)
            else:
                outcomes[run.key] = cached
                done += job.cost
        shares = [0.0] * len(jobs)
        open_runs = {name: sum(run.stream.name == name for run in missing) for name in contents}
        yield StudyProgress("running", done, total)
        for report in workers.do(jobs):
            run, job = missing[report.task], jobs[report.task]
            done += (report.share - shares[report.task]) * job.cost
            shares[report.task] = report.share
            if report.ended:
                self._record(run, report, outcomes)
                open_runs[run.stream.name] -= 1
            last = report.ended and not open_runs[run.stream.name]
            yield StudyProgress("running", done, total, run.stream.name if last else "")
        self._assemble(runs, outcomes)

    def _cached(self, key: str) -> Outcome | None:
        """Return a cached outcome; a file that holds something else counts as none."""
        data = None if self.fresh else self.cache.get(key)
        try:
            return None if data is None else Outcome.from_json(data)
        except DataError:
            return None

    def _runs(self, contents: Mapping[str, StreamContent]) -> Iterator[_Run]:
        """Yield every run of the study once."""
        for stream in self.streams:
            content = contents.get(stream.name)
            if content is None:
                continue
            for method in self.methods:
                seeds = self.seeds if method.is_seeded(self.settings.space) else self.seeds[:1]
                for seed in seeds:
                    key = content.result_key(stream, self.settings, method, seed)
                    yield _Run(stream, method, seed, key)

    def _record(self, run: _Run, report: TaskReport, outcomes: dict[str, Outcome]) -> None:
        if report.error:
            self.result.failures.append(Failure(run.stream.name, run.method.name, report.error))
            return
        outcomes[run.key] = report.result
        self.cache.put(run.key, report.result.to_json())

    def _assemble(self, runs: Sequence[_Run], outcomes: Mapping[str, Outcome]) -> None:
        """Order the outcomes by stream and method; a method with a failed run is left out."""
        for stream in self.streams:
            by_method = self.result.outcomes[stream.name] = {}
            for method in self.methods:
                keys = [r.key for r in runs if (r.stream, r.method) == (stream, method)]
                if keys and all(key in outcomes for key in keys):
                    each = [outcomes[key] for key in keys]
                    by_method[method.name] = each if len(keys) > 1 else each * len(self.seeds)
        self.result.failures = list(dict.fromkeys(self.result.failures))


def _check_names(what: str, names: Sequence[str]) -> None:
    if not names:
        raise ConfigError(f"name at least one {what}")
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"the {what} {name} is given twice")
