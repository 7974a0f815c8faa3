"""The driver for any pool: one example at a time, everything in Python."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chacha.config.config import Config
from chacha.config.derived_groups import DerivedFeatures
from chacha.data.example import Example
from chacha.data.label_map import LabelMap, label_map_of
from chacha.drivers.base import Driver, Forecast
from chacha.drivers.first_rows import FirstRows
from chacha.drivers.records import Step
from chacha.features.centring import Centre, Centring, ColumnKey, changed
from chacha.features.derivation import Derivation, Recipe
from chacha.interrupts import Uninterrupted
from chacha.losses import Squared
from chacha.pools.base import LivePool, example_for
from chacha.pools.scaled import ScaledPool
from chacha.rules.algorithm import Algorithm, RulesState
from chacha.rules.best_constant import BestConstant
from chacha.rules.contest.contest import Contest
from chacha.rules.contest.scaling import Scaling
from chacha.rules.contest.screen import Screen
from chacha.rules.contest.state import ContestState
from chacha.rules.decisions import WentLive
from chacha.rules.label_reach import LabelReach
from chacha.rules.progressive_loss import ProgressiveLoss, RunningLoss
from chacha.rules.recent_labels import RecentLabels
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
        scaling: Scaling | None = None,
    ) -> None:
        self._numbers = Centring()
        self._derivation = Derivation(on=False, centring=self._numbers)
        corrects = isinstance(task.loss_function, Squared)
        self._scaled = None if scaling is None else ScaledPool(pool, corrects)
        pool = pool if self._scaled is None else self._scaled
        self._observed: ObservedStream
        self._incarnations, self._started = {algorithm.initial: 0}, 0
        super().__init__(algorithm, pool, task, keep_decisions, features, notes, scaling)
        self._labels, self._reach = RecentLabels(), LabelReach()
        self._step_loss = math.nan  # of the label before as the prediction
        self._first_rows = FirstRows(0 if scaling is None else scaling.rows)
        self._screen: Screen | None = None
        if isinstance(algorithm, Contest):
            self._screen = Screen(algorithm.rules.screening, self._derive, self._derivation.code_of)
        self._observed = ObservedStream(bits, task.proxy_range, self._screen, self._labels)
        self._observed.map_of = None if self._scaled is None else self._scaled.map_of
        self._served, self._baseline = RunningLoss(), ProgressiveLoss()
        self._best_constant = BestConstant.of(task.loss_function)
        self._constant = ProgressiveLoss()
        self._beside_constant = ProgressiveLoss(), ProgressiveLoss(), ProgressiveLoss()
        self._metrics: dict[str, float] = {}
        self._baseline_pool: LivePool | None = None
        if baseline:
            self._baseline_pool = self.pool.fresh()
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
    def served(self) -> RunningLoss:
        """The losses of the served predictions."""
        return self._served

    @property
    def baseline(self) -> ProgressiveLoss:
        """The losses of the initial configuration, run separately."""
        return self._baseline

    @property
    def constant(self) -> ProgressiveLoss:
        """The losses of the best constant for the labels before each example."""
        return self._constant

    @property
    def beside_constant(self) -> tuple[ProgressiveLoss, ProgressiveLoss, ProgressiveLoss]:
        """Losses from the second label on: of what was served, of the constant, of the baseline."""
        return self._beside_constant

    @property
    def metrics(self) -> Mapping[str, float]:
        """The weighted sums of the other reported metrics."""
        return self._metrics

    def _start(self, decision: WentLive, champion: Config) -> None:
        super()._start(decision, champion)
        self._renew_incarnation(decision.config)

    def _stop(self, config: Config) -> None:
        super()._stop(config)
        del self._incarnations[config]

    def _renew_incarnation(self, config: Config) -> None:
        """Give a model that begins a number that no other start has."""
        self._started += 1
        self._incarnations[config] = self._started

    def _start_anew(self, config: Config, labels: int) -> None:
        if self._scaled is not None:
            self._scaled.map = label_map_of(self._labels.last(labels), bool(config.target))
        self.pool.start(config)

    def _turn_on_centring(self) -> None:
        self._numbers.turn_on()

    def _turn_on_derivation(self, first: int) -> None:
        self._derivation.turn_on(first)

    def _derive(self, names: Iterable[str]) -> None:
        self._derivation.add(names)

    def derived(
        self, example: Example, names: Sequence[str]
    ) -> Mapping[str, Sequence[tuple[str, float]]]:
        """Return the features of an example's derived groups as they are now, by group."""
        groups = self._derivation.derive(self._numbers.apply(example)).derived
        return {name: [(f.name, f.value) for f in groups.get(name, ())] for name in names}

    def recipes(self) -> Mapping[str, Recipe]:
        """Return all derived groups tried so far, with what was learned about their columns."""
        return self._derivation.recipes

    def label_map(self) -> LabelMap | None:
        """Return how the champion learns labels; None if as they are."""
        return None if self._scaled is None else self._scaled.map_of(self.published.champion)

    def has_bases(self) -> bool:
        """Return whether labels are scaled, and an example brought an initial prediction."""
        return self._scaled is not None and self._scaled.has_bases

    def label_origin(self) -> float | None:
        """Return the origin of labels in groups of the label; None if they are as they are."""
        return self._derivation.label_origin

    def centres(self) -> Mapping[ColumnKey, Centre]:
        """Return the numeric columns that are learned less a centre, by group and hash."""
        return changed(self._numbers.centres)

    def begin(self, example: Example) -> None:
        """Run lines 2 and 5 before anything is learned; the next step returns the decisions."""
        with Uninterrupted():
            self._begin(example)
        self.raise_failures()

    def _begin(self, example: Example) -> None:
        """Run lines 2 and 5 once an example shows groups that the oracle can work with."""
        if not self.begun:
            example = self._numbers.apply(example)
            self._observed.observe(self._derivation.derive(example))
            self._start_challenging(self._state)

    def predict(self, example: Example) -> Forecast:
        """Line 6: return the predictions of all live models. Nothing changes."""
        example = self._derivation.derive(self._numbers.apply(example))
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
        best = self._best_constant
        constant = best.raw if best is not None and best.weight > 0 else None
        return Forecast(raw, incarnations, served_by, served, baseline, constant)

    def learn(self, example: Example, forecast: Forecast | None = None) -> Step:
        """Lines 7-17, then 5: charge the predictions, learn, decide."""
        with Uninterrupted():
            step = self._learn(example, forecast)
        self.raise_failures()
        return step

    def _learn(self, example: Example, forecast: Forecast | None) -> Step:
        assert example.label is not None, "only labelled examples are learned"
        y, weight = self._label_of(example), example.weight
        if self._scaled is not None:  # the label that VW reads may not be the nearest
            example = replace(example, label=float(np.float32(y)))
        self._begin(example)
        complete = self._derivation.derive(self._numbers.apply(example))
        self._observed.observe(complete)
        left = y - example.initial  # what is left to learn
        first_row: Example | None = None
        if weight > 0 and self._is_first_row(left):
            supplied = example.groups.keys() - complete.groups.keys()  # as derived groups
            first_row = example.without(supplied) if supplied else example
            first_row = replace(first_row, derived=example_for(self.pool, complete).derived)
        if self._scaled is not None:
            if weight > 0:
                self._observe_label(self._scaled, left)
            complete = self._cut_label(complete)
            if self._derivation.label_origin is None:
                self._derivation.move_label_origin(complete.target_or_label)
        now = self.pool.learn(example_for(self.pool, complete))
        decisions = self._take_unreported()
        if forecast is None:
            forecast = self._forecast(now, self._incarnations)
        loss = self._charge(forecast.served, y, weight)
        baseline_loss = self._charge_baseline(complete, forecast.baseline, y)
        if (best := self._best_constant) is not None:
            self._charge_constant(best, forecast.constant, (loss, baseline_loss), y, weight)
        then, now_live = forecast.incarnations, self._incarnations
        raw = {c: p for c, p in forecast.raw.items() if then[c] == now_live.get(c)}
        self._charge_models(complete, raw, forecast.served, self._label_of(complete), weight)
        self._derivation.observe(complete)
        if weight > 0:
            self._numbers.settle(example)
        self._observed.columns = self._derivation.columns
        if first_row is not None:
            features = sum(map(len, complete.groups.values()))
            numbers = sum(x is not None for read in complete.reads.values() for x in read)
            self._keep_first_row(first_row, features - numbers + len(example.numbers))
        decisions += self._decide(self._state)
        served = self.task.prediction(forecast.served)
        return Step(example, served, forecast.served_by, loss, decisions)

    def _charge_baseline(self, example: Example, forecast: float | None, y: float) -> float | None:
        """Let the baseline learn, and return what it lost; None if there is none."""
        if (pool := self._baseline_pool) is None:
            return None
        now = pool.learn(example_for(pool, example))[self.initial]
        loss = self.task.loss(now if forecast is None else forecast, y)
        self._baseline.add(loss, example.weight)
        return loss

    def _charge_constant(
        self,
        best: BestConstant,
        forecast: float | None,
        losses: tuple[float, float | None],
        y: float,
        weight: float,
    ) -> None:
        """Charge the best constant; `forecast` is None if no label was known.

        `losses` are that of what was served, and that of the baseline, if there is one.
        """
        raw = BestConstant(best.loss).raw if forecast is None else forecast
        constant_loss = self.task.loss(raw, y)
        self._constant.add(constant_loss, weight)
        if forecast is not None:
            served, constant, baseline = self._beside_constant
            served.add(losses[0], weight)
            constant.add(constant_loss, weight)
            if losses[1] is not None:
                baseline.add(losses[1], weight)
        best.add(y, weight)

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
        step = self._step_loss
        self._charge_rules(self.task.score(raw, champion, served, y, weight, step))
        if weight > 0 and champion in raw:
            self._screen.learn(example, self._residual(raw[champion], y), live)

    def _residual(self, raw: float, y: float) -> float:
        """Return what the screen learns, in units of the champion's scale if labels have one."""
        if self._scaled is None:
            return self.task.residual(raw, y)
        label_map = self._scaled.map_of(self._state.champion)
        if not label_map.scale > 0.0:
            return 0.0
        return (label_map.mapped(y) - label_map.mapped(raw)) / label_map.scale

    def _label_of(self, example: Example) -> float:
        """Return the label in the units in which losses are counted."""
        assert example.label is not None
        return example.label if self._scaled is None else example.target_or_label

    def _is_first_row(self, y: float) -> bool:
        """Return whether a label is one of those that show the scale."""
        rows = self._first_rows
        return rows.is_open and not (rows.is_waiting and [y] == self._labels.last(1))

    def _observe_label(self, scaled: ScaledPool, y: float) -> None:
        """Count a label; the first that differs shows the scale of models that have none."""
        last = self._labels.last(1)
        self._step_loss = self.task.loss(last[0], y) if last else math.nan
        self._labels.add(y)
        if not self._first_rows.is_open:
            for pool in (scaled, self._baseline_pool):
                if isinstance(pool, ScaledPool):
                    pool.find_scale(y)

    def _cut_label(self, example: Example) -> Example:
        """Return the example with a label that is not much farther away than all before."""
        y = self._label_of(example) - example.initial
        near = self._reach.cut(y)
        if example.weight > 0:
            self._reach.observe(near)
        return example if near == y else replace(example, target=example.initial + near)

    def _keep_first_row(self, example: Example, features: int) -> None:
        """Keep one of the first rows; if the scale is to be estimated anew, begin again."""
        rows = self._first_rows
        rows.add(example, features)
        self._numbers.observe(example)
        if rows.is_due:
            self._begin_again()
        if rows.is_full:
            self._numbers.finish()
            if self._scaled is not None and self._scaled.map.scale > 0.0:
                rows.close()
                self._labels.are_scaled = True
            else:
                rows.wait()

    def _begin_again(self) -> None:
        """Estimate scale and centres anew; all models begin again, and learn the first rows."""
        self._numbers.fit()
        seen = len(self._first_rows.rows) + 1  # with one from before, if they waited
        label_map = label_map_of(self._labels.last(seen))
        pools = [pool for pool in (self.pool, self._baseline_pool) if isinstance(pool, ScaledPool)]
        for pool in pools:
            pool.begin_again(label_map)
        for config in self.pool.live:
            self._renew_incarnation(config)
        self._reach.begin(label_map.shift, label_map.scale)
        self._derivation.move_label_origin(label_map.shift)
        algorithm, state, screen = self.algorithm, self._state, self._screen
        assert isinstance(algorithm, Contest)
        assert isinstance(state, ContestState)
        assert screen is not None
        state.begin_again()
        screen.begin_again()
        t, live, champion = state.t, len(algorithm.live(state)), state.champion
        for row in self._first_rows.rows:
            example = self._cut_label(self._numbers.apply(row))
            y, weight = self._label_of(example), example.weight
            raw, *_ = [pool.learn(example_for(pool, example)) for pool in pools]
            state.t = t - 1  # they are all charged with the example that was learned last
            self._charge_rules(self.task.score(raw, champion, raw[champion], y, weight))
            screen.learn(example, self._residual(raw[champion], y), live)

    def _charge_rules(self, scored: ScoredExample) -> None:
        self._failures += self.algorithm.charge(self._state, scored)

    def _charge(self, served: float, y: float, weight: float) -> float:
        """Add the unclipped loss of the served prediction to the sums, and return it."""
        loss = self.task.loss(served, y)
        self._served.add(loss, weight)
        for key, value in self.task.metrics(served, y).items():
            self._metrics[key] = self._metrics.get(key, 0.0) + weight * value
        return loss
