"""Jobs: one method passes over one stream with one seed. Values, so that a worker can do them."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from chacha.compare.methods import Method
from chacha.compare.result_cache import Kept, Outcome, Point, key_of
from chacha.compare.runs import Alone, Learned, Span, Tuned
from chacha.compare.workers import Tell
from chacha.config.config import Config
from chacha.config.describe import describe
from chacha.config.space import Interactions, Space
from chacha.errors import ConfigError, SourceError
from chacha.losses import Loss, Squared
from chacha.model import ChaCha
from chacha.pools import open_pool
from chacha.resources import cpu_seconds
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

__all__ = ["CommonSettings", "Job", "Look", "LookAt", "Stream"]

MARKS = 200  # points of a curve


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
        once = os.path.exists(self.name) and not os.path.isfile(self.name)  # a pipe
        if self.name == "-" or (once and not os.path.isdir(self.name)):
            told = "a comparison reads its sources many times; save it to a file first"
            raise ConfigError(f"{self.name}: {told}")

    def open(self, reader: DictReader, shift: float | None) -> Source:
        """The examples; with `shift`, the logarithm of their labels."""
        source = open_files([self.name], self.table, reader, form=self.form)
        return source if shift is None else LogLabels(source, shift)

    def fingerprint(self) -> str:
        """A digest of what the source holds."""
        if self.name.startswith("synth:"):
            return self.name
        names = expand(self.name)
        if self.name.startswith("openml:"):
            names = [find_dataset(self.name.removeprefix("openml:"), self.table)[0]]
        return ",".join(map(_digest, names))

    def to_json(self) -> dict[str, Any]:
        """What a result depends on, beside the content."""
        form = self.form or format_of_name(self.name)
        return {
            "table": describe(self.table),
            "format": form and form.value,
            "on_bad": self.on_bad and self.on_bad.value,
            "log_target": self.log_target.value,
            "limit": self.limit,
        }


def _digest(name: str) -> str:
    """A digest of what a file holds."""
    digest = hashlib.blake2b(digest_size=16)
    with open_raw(name) as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


@dataclass(frozen=True)
class CommonSettings:
    """What all methods of a comparison have in common.

    `evidence` takes the place of every method's own.

    >>> CommonSettings(budget=3).to_json()["budget"]
    3
    """

    budget: int = 5
    space: Space = field(default_factory=lambda: Space.of({"interactions": Interactions()}))
    init: Mapping[str, Any] = field(default_factory=dict)
    loss: Loss = field(default_factory=Squared)
    pool: str = "native"
    evidence: Evidence | None = None

    def alone(self, config: Config) -> CommonSettings:
        """The same with one configuration and nothing to tune.

        >>> CommonSettings().alone(Config(["ab"], {"l2": 0.1})).init
        {'interactions': (('a', 'b'),), 'l2': 0.1}
        """
        parts = {"interactions": config.interactions, "features": config.derived}
        init = {**{name: part for name, part in parts.items() if part}, **config.values}
        return replace(self, space=Space.of({}), init=init)

    def model(self, method: Method, seed: int) -> ChaCha:
        """The model of a method."""
        return method.make(
            budget=self.budget,
            space=self.space if method.derives else replace(self.space, features=None),
            init=self.init,
            loss=self.loss,
            pool=open_pool(self.pool),
            seed=seed,
            keep_decisions=0,
            **({} if self.evidence is None else {"evidence": self.evidence}),
        )

    def check(self, method: Method, seed: int) -> None:
        """Refuse settings that a method cannot have, before anything runs."""
        self.model(method, seed)
        if method.learner is not None:
            method.learner(self.loss, seed).close()

    def to_json(self) -> dict[str, Any]:
        """What a result depends on."""
        return {
            "budget": self.budget,
            "space": self.space.to_json(),
            "init": {key: str(value) for key, value in sorted(self.init.items())},
            "loss": {"name": self.loss.name, **describe(self.loss)},
            "pool": self.pool,
            "evidence": None if self.evidence is None else describe(self.evidence),
        }


@dataclass(frozen=True)
class Look:
    """What a look at a whole stream has shown."""

    fingerprint: str
    profile: SourceProfile

    def key(self, stream: Stream, settings: CommonSettings, method: Method, seed: int) -> str:
        """The key of a method's result on the stream."""
        drawn = seed if method.draws(settings.space) else None
        return key_of(
            source=self.fingerprint,
            stream=stream.to_json(),
            settings=settings.to_json(),
            method=method.name,
            version=method.version,
            seed=drawn,
        )


def _profile_of(data: Mapping[str, Any] | None) -> SourceProfile | None:
    """What was seen before; something else counts as nothing."""
    try:
        return None if data is None else SourceProfile(**{**data, "names": tuple(data["names"])})
    except (KeyError, TypeError):
        return None


@dataclass(frozen=True)
class LookAt:
    """A task: look at a whole stream, unless that has been done."""

    stream: Stream
    loss: Loss
    kept: Kept
    fresh: bool = False

    def __call__(self, tell: Tell) -> Look:
        """Read it once."""
        stream = self.stream
        fingerprint = stream.fingerprint()
        limit = stream.limit if stream.log_target is LogTarget.OFF else None
        told = {**stream.to_json(), "limit": limit}
        key = key_of(source=fingerprint, look=told, loss=type(self.loss).__name__)
        seen = None if self.fresh else _profile_of(self.kept.get(key))
        if seen is None:
            source = stream.open(DictReader(self.loss.label), None)
            seen = profile_source(source, loss=self.loss, limit=limit, on_bad=stream.on_bad)
            self.kept.put(key, asdict(seen))
        examples = seen.examples if stream.limit is None else min(stream.limit, seen.examples)
        return Look(fingerprint, replace(seen, examples=examples))


def _tell_part(tell: Tell, part: int, parts: int, share: float) -> None:
    tell((part + share) / parts)


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
        """About how long it takes, in any unit."""
        models = self.method.live(self.settings.budget, self.profile.groups)
        return self.profile.examples * (4.0 + models)  # reading is about four models' work

    def __call__(self, tell: Tell) -> Outcome:
        """Pass over the stream; with several fixed configurations, once with each."""
        ways = self._ways()
        found = [
            self._pass(way, partial(_tell_part, tell, i, len(ways))) for i, way in enumerate(ways)
        ]
        best = min(found, key=lambda o: math.inf if math.isnan(o.loss) else o.loss)
        return replace(best, cpu_seconds=sum(outcome.cpu_seconds for outcome in found))

    def _ways(self) -> list[CommonSettings]:
        """The settings of every pass: those of the comparison, or a fixed configuration's."""
        settings, method = self.settings, self.method
        if method.fixed is None:
            return [settings]
        initial = settings.model(method, self.seed).initial
        try:
            configs = list(method.fixed(initial, self.profile.names))
            if method.derived is not None and self._derives:
                configs += method.derived(initial, self.profile.names)
        except ConfigError as error:
            raise ConfigError(f"{self.stream.name}: {error}") from error
        if not configs:
            raise ConfigError(f"the method {method.name} gives no configuration")
        return [settings.alone(config) for config in configs]

    @property
    def _derives(self) -> bool:
        """Whether features are tuned on this stream: on tables, or if that was asked for."""
        features = self.settings.space.features
        return features is not None and (features.text or self.profile.table)

    def _pass(self, settings: CommonSettings, tell: Tell) -> Outcome:
        way = self._opened(settings)
        source = self.stream.open(way.reader, self.profile.shift(self.stream.log_target))
        span = Span(self.profile.examples, self.marks, self.frozen, self.stream.on_bad)
        began = cpu_seconds()
        curve: list[Point] = []
        for point in way.points(source, span):
            curve.append(point)
            tell(point.n / span.examples)
        took = cpu_seconds() - began
        if not curve or curve[-1].n != span.examples:
            raise SourceError(f"{self.stream.name}: has changed since it was looked at")
        n, promotions, champion = curve[-1].n, way.promotions, way.champion
        return Outcome(n, promotions, champion, took, tuple(curve), self.frozen, way.metrics)

    def _opened(self, settings: CommonSettings) -> Tuned | Learned:
        """How it passes over the stream."""
        if self.method.learner is not None:
            return Learned(self.method.learner(settings.loss, self.seed), settings.loss)
        model = settings.model(self.method, self.seed)
        return Learned(Alone(model), settings.loss, model.reader) if self.frozen else Tuned(model)

    @property
    def frozen(self) -> int:
        """After how many examples nothing is learned any more; 0: it always is."""
        share = self.method.learns
        return math.ceil(share * self.profile.examples) if share < 1.0 else 0

    @property
    def marks(self) -> list[int]:
        """After how many examples the curve has its points."""
        n = self.profile.examples
        return sorted(
            {math.ceil(n * k / MARKS) for k in range(1, MARKS + 1)} | ({self.frozen} - {0})
        )
