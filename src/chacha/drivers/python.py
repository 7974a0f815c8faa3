"""The driver for any pool: one example at a time, everything in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chacha.config.config import Config
from chacha.config.derived_groups import DerivedFeatures
from chacha.data.example import Example
from chacha.drivers.base import Driver, Forecast
from chacha.drivers.records import Step
from chacha.features.derivation import Derivation, Recipe
from chacha.interrupts import Uninterrupted
from chacha.pools.base import LivePool, example_for
from chacha.rules.algorithm import Algorithm, RulesState
from chacha.rules.contest.contest import Contest
from chacha.rules.contest.screen import Screen
from chacha.rules.progressive_loss import ProgressiveLoss
from chacha.rules.stream_facts import ObservedStream, ScoredExample
from chacha.tasks import Task

__all__ = ["PythonDriver"]


class PythonDriver(Driver):
    """Lines 4-9 of Algorithm 1 around the rules, for one labelled example at a time.

    >>> from chacha import Config, ReferencePool, Squared
    >>> from chacha.data import parse_line
    >>> from chacha.rules.paper import ChampionChallengers, PaperRules
    >>> from chacha.tasks import task_of
    >>> algorithm = ChampionChallengers(PaperRules(), Config(), budget=2)
    >>> task = task_of(Squared())
    >>> driver = PythonDriver(algorithm, ReferencePool(), task, bits=18, baseline=False)
    >>> driver.learn(parse_line("2 |a x")).loss
    4.0
    """

    def __init__(
        self,
        algorithm: Algorithm[Any],
        pool: LivePool,
        task: Task,
        *,
        bits: int,
        baseline: bool,
        keep_decisions: int = 1000,
        features: DerivedFeatures | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self._derivation = Derivation(on=False)
        super().__init__(algorithm, pool, task, keep_decisions, features, notes)
        self._screen: Screen | None = None
        if isinstance(algorithm, Contest):
            self._screen = Screen(algorithm.rules.screening, self._derive)
        self._observed = ObservedStream(bits, task.proxy_range, self._screen)
        self._served, self._baseline = ProgressiveLoss(), ProgressiveLoss()
        self._metrics: dict[str, float] = {}
        self._baseline_pool: LivePool | None = None
        if baseline:
            self._baseline_pool = pool.fresh()
            self._baseline_pool.start(self.initial)

    def state(self) -> RulesState:
        """Return the state of the rules, as a value that further steps do not change."""
        return self._state.copy()

    @property
    def examples(self) -> int:
        """The number of examples learned."""
        return self._state.t

    @property
    def observed(self) -> ObservedStream:
        """What the stream has shown so far."""
        return self._observed

    @property
    def served(self) -> ProgressiveLoss:
        """The losses of the served predictions."""
        return self._served

    @property
    def baseline(self) -> ProgressiveLoss:
        """The losses of the initial configuration, run separately."""
        return self._baseline

    @property
    def metrics(self) -> Mapping[str, float]:
        """The weighted sums of the other reported metrics."""
        return self._metrics

    def _turn_on_derivation(self, first: int) -> None:
        self._derivation.turn_on(first)

    def _derive(self, names: Iterable[str]) -> None:
        self._derivation.add(names)

    def derived(
        self, example: Example, names: Sequence[str]
    ) -> Mapping[str, Sequence[tuple[str, float]]]:
        """Return the features of an example's derived groups as they are now, by group."""
        groups = self._derivation.derive(example).derived
        return {name: [(f.name, f.value) for f in groups.get(name, ())] for name in names}

    def recipes(self) -> Mapping[str, Recipe]:
        """Return all derived groups tried so far, with what was learned about their columns."""
        return self._derivation.recipes

    def begin(self, example: Example) -> None:
        """Run lines 2 and 5 before anything is learned; the next step returns the decisions."""
        with Uninterrupted():
            self._begin(example)
        self.raise_failures()

    def _begin(self, example: Example) -> None:
        """Run lines 2 and 5 once an example shows groups that the oracle can work with."""
        if not self.begun:
            self._observed.observe(self._derivation.derive(example))
            self._start_challenging(self._state)

    def predict(self, example: Example) -> Forecast:
        """Line 6: return the predictions of all live models. Nothing changes."""
        example = self._derivation.derive(example)
        raw = self.pool.predict(example_for(self.pool, example))
        baseline, pool = None, self._baseline_pool
        if pool is not None:
            baseline = pool.predict(example_for(pool, example))[self.initial]
        return self._forecast(raw, dict(self._incarnations), baseline)

    def _forecast(
        self,
        raw: Mapping[Config, float],
        incarnations: Mapping[Config, int],
        baseline: float | None = None,
    ) -> Forecast:
        algorithm, state = self.algorithm, self._state
        served_by, served = algorithm.served_by(state), algorithm.serve(state, raw)
        return Forecast(raw, incarnations, served_by, served, baseline)

    def learn(self, example: Example, forecast: Forecast | None = None) -> Step:
        """Lines 7-17, then 5: charge the predictions, learn, decide."""
        with Uninterrupted():
            step = self._learn(example, forecast)
        self.raise_failures()
        return step

    def _learn(self, example: Example, forecast: Forecast | None) -> Step:
        assert example.label is not None, "only labelled examples are learned"
        y, weight = example.label, example.weight
        self._begin(example)
        complete = self._derivation.derive(example)
        self._observed.observe(complete)
        now = self.pool.learn(example_for(self.pool, complete))
        decisions = self._take_unreported()
        if forecast is None:
            forecast = self._forecast(now, self._incarnations)
        loss = self._charge(forecast.served, y, weight)
        if (pool := self._baseline_pool) is not None:
            baseline = pool.learn(example_for(pool, complete))[self.initial]
            baseline = baseline if forecast.baseline is None else forecast.baseline
            self._baseline.add(self.task.loss(baseline, y), weight)
        then, now_live = forecast.incarnations, self._incarnations
        raw = {c: p for c, p in forecast.raw.items() if then[c] == now_live.get(c)}
        self._charge_models(complete, raw, forecast.served, y, weight)
        self._derivation.observe(complete)
        self._observed.columns = self._derivation.columns
        decisions += self._decide(self._state)
        served = self.task.prediction(forecast.served)
        return Step(example, served, forecast.served_by, loss, decisions)

    def _charge_models(
        self,
        example: Example,
        raw: Mapping[Config, float],
        served: float,
        y: float,
        weight: float,
    ) -> None:
        """Charge the live models for what they predicted; the screen learns the residual."""
        state, champion = self._state, self._state.champion
        if self._screen is None:
            low, high = self._observed.low, self._observed.high
            self._charge_rules(self.task.score_bounded(raw, y, weight, low, high))
            return
        live = len(self.algorithm.live(state))
        self._charge_rules(self.task.score(raw, champion, served, y, weight))
        if weight > 0 and champion in raw:
            self._screen.learn(example, self.task.residual(raw[champion], y), live)

    def _charge_rules(self, scored: ScoredExample) -> None:
        self._failures += self.algorithm.charge(self._state, scored)

    def _charge(self, served: float, y: float, weight: float) -> float:
        """Add the unclipped loss of the served prediction to the sums, and return it."""
        loss = self.task.loss(served, y)
        self._served.add(loss, weight)
        for key, value in self.task.metrics(served, y).items():
            self._metrics[key] = self._metrics.get(key, 0.0) + weight * value
        return loss
