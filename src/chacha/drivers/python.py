"""The algorithm around any pool, one example at a time: everything in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from chacha.config.derived_groups import DerivedFeatures
from chacha.data.example import Example
from chacha.drivers.base import Core, Driver, Forecast
from chacha.drivers.records import Step
from chacha.features.derivation import Derivation, Recipe
from chacha.losses import Loss
from chacha.pools.base import LivePool
from chacha.rules.contest.contest import Contest
from chacha.rules.contest.screen import Screen
from chacha.rules.standing import Standing
from chacha.rules.stream_facts import ObservedStream, ScoredExample

__all__ = ["PythonDriver"]


class PythonDriver(Driver):
    """Lines 4-9 of Algorithm 1 around the core, for one labelled example at a time.

    >>> from chacha import Config, ReferencePool, SampleComplexity
    >>> from chacha.data import parse_line
    >>> from chacha.rules.paper import ChampionChallengers
    >>> from chacha.losses import Squared
    >>> core = ChampionChallengers(
    ...     Config(), budget=2, oracle=lambda c, groups: [], evidence=SampleComplexity()
    ... )
    >>> driver = PythonDriver(core, ReferencePool(), Squared(), bits=18, baseline=False)
    >>> driver.learn(parse_line("2 |a x")).loss
    4.0
    """

    def __init__(
        self,
        core: Core,
        pool: LivePool,
        loss: Loss,
        *,
        bits: int,
        baseline: bool,
        keep_decisions: int = 1000,
        features: DerivedFeatures | None = None,
    ) -> None:
        self._derivation = Derivation(on=False)
        super().__init__(core, pool, loss, keep_decisions, features)
        if isinstance(core, Contest) and isinstance(core.screen, Screen):
            core.screen.derive = self._derive
        self._observed = ObservedStream(bits, loss)
        self._served, self._alone = Standing(), Standing()
        self._metrics: dict[str, float] = {}
        self._baseline: LivePool | None = None
        if baseline:
            self._baseline = pool.fresh()
            self._baseline.start(self.initial)

    @property
    def examples(self) -> int:
        """How many examples were learned."""
        return self._core.t

    @property
    def observed(self) -> ObservedStream:
        """What the stream has shown so far."""
        return self._observed

    @property
    def served(self) -> Standing:
        """What the served predictions lost."""
        return self._served

    @property
    def alone(self) -> Standing:
        """What the initial configuration by itself lost."""
        return self._alone

    @property
    def metrics(self) -> Mapping[str, float]:
        """The sums of what else is reported."""
        return self._metrics

    def _turn_on(self, first: int) -> None:
        self._derivation.turn_on(first)

    def _derive(self, names: Iterable[str]) -> None:
        self._derivation.add(names)

    def derived(
        self, example: Example, names: Sequence[str]
    ) -> Mapping[str, Sequence[tuple[str, float]]]:
        """The features of derived groups of an example, by name, as they are now."""
        made = self._derivation.derive(example).derived
        return {name: [(f.name, f.value) for f in made.get(name, ())] for name in names}

    def recipes(self) -> Mapping[str, Recipe]:
        """All derived groups that were tried, with what was learned about their columns."""
        return self._derivation.recipes

    def begin(self, example: Example) -> None:
        """Lines 2 and 5 before anything was learned; the decisions are part of the next step."""
        self._begin(example)
        self._raise_failures()

    def _begin(self, example: Example) -> None:
        """Lines 2 and 5, once an example shows groups that the oracle can work with."""
        if not self._begun:
            self._observed.observe(self._derivation.derive(example))
            self._start_challenging()

    def predict(self, example: Example) -> Forecast:
        """Line 6: every live model predicts, the incumbent serves. A pure read."""
        example = self._derivation.derive(example)
        raw = self.pool.predict(example)
        alone = self._baseline.predict(example)[self.initial] if self._baseline else None
        core = self._core
        return Forecast(raw, dict(self._births), core.incumbent, core.serve(raw), alone)

    def learn(self, example: Example, forecast: Forecast | None = None) -> Step:
        """Lines 7-17, then 5."""
        assert example.label is not None, "only labelled examples are learned"
        y, weight = example.label, example.weight
        self._begin(example)
        whole = self._derivation.derive(example)
        self._observed.observe(whole)
        now = self.pool.learn(whole)
        decisions = self._take_early()
        if forecast is None:
            core = self._core
            forecast = Forecast(now, self._births, core.incumbent, core.serve(now))
        loss = self._charge(forecast.served, y, weight)
        if self._baseline is not None:
            alone = self._baseline.learn(whole)[self.initial]
            alone = alone if forecast.alone is None else forecast.alone
            self._alone.add(self.loss.loss(alone, y), weight)
        births = forecast.births
        raw = {c: p for c, p in forecast.raw.items() if births[c] == self._births.get(c)}
        scored = ScoredExample(whole, raw, forecast.served, y, weight, self.loss)
        self._core.charge(scored, self._observed)
        self._derivation.observe(whole)
        self._observed.columns = self._derivation.columns
        decisions += self._do(self._core.decide(self._observed))
        self._raise_failures()
        served = self.loss.served(forecast.served)
        return Step(example, served, forecast.served_by, loss, decisions)

    def _charge(self, served: float, y: float, weight: float) -> float:
        """The loss of the served prediction, unclipped; kept in the means."""
        loss = self.loss.loss(served, y)
        self._served.add(loss, weight)
        for key, value in self.loss.metrics(served, y).items():
            self._metrics[key] = self._metrics.get(key, 0.0) + weight * value
        return loss
