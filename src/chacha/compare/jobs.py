"""Jobs: tasks of a comparison as plain values, so that a worker process can do them."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from chacha.compare.methods import Method
from chacha.compare.outcome import EARLY, CurvePoint, Outcome
from chacha.compare.result_cache import ResultCache, cache_key
from chacha.compare.runs import FixedRun, LabelsOnly, RunPlan, TunedRun
from chacha.compare.workers import OnShare
from chacha.config.config import Config
from chacha.config.describe import describe
from chacha.config.space import Interactions, Space
from chacha.errors import ConfigError, SourceError
from chacha.losses import Loss, Squared
from chacha.model import ChaCha
from chacha.pools import open_pool
from chacha.resources import cpu_seconds
from chacha.rules.contest.scaling import Scaling
from chacha.rules.paper.bounds import Evidence
from chacha.source_profile import SourceProfile, profile_source
from chacha.sources import (
    DictReader,
    Format,
    LogLabels,
    LogTarget,
    OnBad,
    Source,
    TableSpec,
    open_files,
)
from chacha.sources.formats.detect import format_of_name
from chacha.sources.many_files import expand
from chacha.sources.openml import find_dataset
from chacha.sources.reading.byte_stream import open_raw

__all__ = ["CommonSettings", "Job", "ProfileJob", "Stream", "StreamContent"]

CURVE_POINTS = 200


@dataclass(frozen=True)
class Stream:
    """A source as every job of a comparison opens it.

    >>> Stream("synth:fried,n=5").open(DictReader(), None).name
    'synth:fried,n=5,seed=0'
    """

    name: str
    table: TableSpec = field(default_factory=TableSpec)
    form: Format | None = None
    log_target: LogTarget = LogTarget.OFF
    on_bad: OnBad | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        special = os.path.exists(self.name) and not os.path.isfile(self.name)
        is_pipe = special and not os.path.isdir(self.name)
        if self.name == "-" or is_pipe:
            rule = "a comparison reads its sources many times; save it to a file first"
            raise ConfigError(f"{self.name}: {rule}")

    def open(self, reader: DictReader, shift: float | None) -> Source:
        """Return the source; with `shift`, its labels are log(label + shift)."""
        source = open_files([self.name], self.table, reader, form=self.form)
        return source if shift is None else LogLabels(source, shift)

    def fingerprint(self) -> str:
        """Return a digest of the content of the source."""
        if self.name.startswith("synth:"):
            return self.name
        names = expand(self.name)
        if self.name.startswith("openml:"):
            names = [find_dataset(self.name.removeprefix("openml:"), self.table)[0]]
        return ",".join(map(_file_digest, names))

    def to_json(self) -> dict[str, Any]:
        """Return the settings that a result depends on, besides the content."""
        form = self.form or format_of_name(self.name)
        return {
            "table": describe(self.table.explicit()),
            "format": form and form.value,
            "on_bad": self.on_bad and self.on_bad.value,
            "log_target": self.log_target.value,
            "limit": self.limit,
        }


def _file_digest(name: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with open_raw(name) as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


@dataclass(frozen=True)
class CommonSettings:
    """The settings that all methods of a comparison share.

    `evidence`, if given, replaces the evidence of every method. `scaling` is that of the
    recommended rules; other methods learn labels and columns as they are.

    >>> CommonSettings(budget=3).to_json()["budget"]
    3
    """

    budget: int = 5
    space: Space = field(default_factory=lambda: Space.of({"interactions": Interactions()}))
    init: Mapping[str, Any] = field(default_factory=dict)
    loss: Loss = field(default_factory=Squared)
    pool: str = "native"
    evidence: Evidence | None = None
    scaling: Scaling | None = field(default_factory=Scaling)

    def with_fixed(self, config: Config) -> CommonSettings:
        """Return the same settings with one configuration and nothing to tune.

        >>> CommonSettings().with_fixed(Config(["ab"], {"l2": 0.1})).init
        {'interactions': (('a', 'b'),), 'l2': 0.1}
        """
        parts = {"interactions": config.interactions, "features": config.derived}
        init = {**{name: part for name, part in parts.items() if part}, **config.values}
        return replace(self, space=Space.of({}), init=init)

    def make_model(self, method: Method, seed: int) -> ChaCha:
        """Return the model of a method."""
        own: dict[str, Any] = {} if self.evidence is None else {"evidence": self.evidence}
        own |= {"scaling": self.scaling} if method.scales else {}
        return method.make(
            budget=self.budget,
            space=self.space if method.tunes_features else replace(self.space, features=None),
            init=self.init,
            loss=self.loss,
            pool=open_pool(self.pool),
            seed=seed,
            keep_decisions=0,
            **own,
        )

    def check(self, method: Method, seed: int) -> None:
        """Raise an error if a method cannot have these settings."""
        self.make_model(method, seed)
        if method.learner is not None:
            method.learner(self.loss, seed).close()

    def to_json(self) -> dict[str, Any]:
        """Return the settings that a result depends on."""
        return {
            "budget": self.budget,
            "space": self.space.to_json(),
            "init": {key: str(value) for key, value in sorted(self.init.items())},
            "loss": {"name": self.loss.name, **describe(self.loss)},
            "pool": self.pool,
            "evidence": None if self.evidence is None else describe(self.evidence),
            "scaling": None if self.scaling is None else describe(self.scaling),
        }


@dataclass(frozen=True)
class StreamContent:
    """What a stream holds: a digest of its content, and the profile of its examples."""

    fingerprint: str
    profile: SourceProfile

    def result_key(
        self, stream: Stream, settings: CommonSettings, method: Method, seed: int
    ) -> str:
        """Return the cache key of a method's result on the stream."""
        return cache_key(
            source=self.fingerprint,
            stream=stream.to_json(),
            settings=settings.to_json(),
            method=method.name,
            version=method.version,
            seed=seed if method.is_seeded(settings.space) else None,
        )


def _profile_from_json(data: Mapping[str, Any] | None) -> SourceProfile | None:
    """Return a cached profile; None if there is none or the data are something else."""
    try:
        return None if data is None else SourceProfile(**{**data, "names": tuple(data["names"])})
    except (KeyError, TypeError):
        return None


@dataclass(frozen=True)
class ProfileJob:
    """A task: profile a whole stream, unless the profile is cached."""

    stream: Stream
    loss: Loss
    cache: ResultCache
    fresh: bool = False

    def __call__(self, on_share: OnShare) -> StreamContent:
        """Read the stream once."""
        stream = self.stream
        fingerprint = stream.fingerprint()
        limit = stream.limit if stream.log_target is LogTarget.OFF else None
        settings = {**stream.to_json(), "limit": limit}
        key = cache_key(source=fingerprint, profile=settings, loss=type(self.loss).__name__)
        profile = None if self.fresh else _profile_from_json(self.cache.get(key))
        if profile is None:
            source = stream.open(DictReader(self.loss.label), None)
            profile = profile_source(source, loss=self.loss, limit=limit, on_bad=stream.on_bad)
            self.cache.put(key, asdict(profile))
        examples = profile.examples if stream.limit is None else min(stream.limit, profile.examples)
        return StreamContent(fingerprint, replace(profile, examples=examples))


def _on_part_share(on_share: OnShare, part: int, parts: int, share: float) -> None:
    on_share((part + share) / parts)


@dataclass(frozen=True)
class Job:
    """A task: one method passes over one stream with one seed.

    >>> from chacha.compare import METHODS
    >>> stream, settings = Stream("synth:interactions,n=100"), CommonSettings()
    >>> job = Job(stream, settings, METHODS["naive"], 0, SourceProfile(100, -4.0, 4.0, 5))
    >>> job(lambda share: None).examples
    100
    """

    stream: Stream
    settings: CommonSettings
    method: Method
    seed: int
    profile: SourceProfile

    @property
    def cost(self) -> float:
        """The approximate time the job takes, in examples of naive."""
        return self.profile.examples * self.method.cost

    def __call__(self, on_share: OnShare) -> Outcome:
        """Pass over the stream; with several fixed configurations, once with each."""
        passes = self._pass_settings()
        outcomes = [
            self._pass(settings, partial(_on_part_share, on_share, i, len(passes)))
            for i, settings in enumerate(passes)
        ]
        best = min(outcomes, key=lambda o: math.inf if math.isnan(o.loss) else o.loss)
        return replace(best, cpu_seconds=sum(outcome.cpu_seconds for outcome in outcomes))

    def _pass_settings(self) -> list[CommonSettings]:
        """Return the settings of every pass: the comparison's, or a fixed configuration's."""
        settings, method = self.settings, self.method
        if method.fixed is None:
            return [settings]
        initial = settings.make_model(method, self.seed).initial
        try:
            configs = list(method.fixed(initial, self.profile.names))
            if method.fixed_derived is not None and self._tunes_features:
                configs += method.fixed_derived(initial, self.profile.names)
        except ConfigError as error:
            raise ConfigError(f"{self.stream.name}: {error}") from error
        if not configs:
            raise ConfigError(f"the method {method.name} gives no configuration")
        return [settings.with_fixed(config) for config in configs]

    @property
    def _tunes_features(self) -> bool:
        """Whether features are tuned on this stream: on tables, or on request."""
        features = self.settings.space.features
        return features is not None and (features.text or self.profile.table)

    def _pass(self, settings: CommonSettings, on_share: OnShare) -> Outcome:
        run = self._open_run(settings)
        source = self.stream.open(run.reader, self.profile.shift(self.stream.log_target))
        if not self.method.uses_features:
            source = LabelsOnly(source)
        plan = RunPlan(self.profile.examples, self.checkpoints, self.frozen, self.stream.on_bad)
        began = cpu_seconds()
        curve: list[CurvePoint] = []
        for point in run.points(source, plan):
            curve.append(point)
            on_share(point.n / plan.examples)
        seconds = cpu_seconds() - began
        if not curve or curve[-1].n != plan.examples:
            raise SourceError(f"{self.stream.name}: has changed since it was profiled")
        n, promotions, champion = curve[-1].n, run.promotions, run.champion
        return Outcome(n, promotions, champion, seconds, tuple(curve), self.frozen, run.metrics)

    def _open_run(self, settings: CommonSettings) -> TunedRun | FixedRun:
        if self.method.learner is not None:
            return FixedRun.of_learner(self.method.learner(settings.loss, self.seed), settings.loss)
        model = settings.make_model(self.method, self.seed)
        if self.frozen:
            return FixedRun(model.pool, model.champion, settings.loss, model.reader)
        return TunedRun(model)

    @property
    def frozen(self) -> int:
        """The number of examples after which nothing is learned; 0 if learning never stops."""
        share = self.method.train_share
        return math.ceil(share * self.profile.examples) if share < 1.0 else 0

    @property
    def checkpoints(self) -> list[int]:
        """The numbers of examples after which the curve has points."""
        n, parts = self.profile.examples, range(1, CURVE_POINTS + 1)
        evenly = {math.ceil(n * k / CURVE_POINTS) for k in parts}
        return sorted(evenly | {at for at in (self.frozen, EARLY) if 0 < at < n})
