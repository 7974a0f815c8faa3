"""The driver for the native pool: models, statistics and tests run in one native pass.

The engine returns to Python when there is something to decide: a test fires, a lease ends, or a
group appears for the first time. The algorithm then decides in Python, from the engine's sums.
However a stream is divided, down to single examples, decisions and predictions are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from chacha._native import ColumnBlock as NativeBlock
from chacha.config.config import Config
from chacha.config.derived_groups import DerivedFeatures
from chacha.data.example import Example, NumberCell
from chacha.data.label_map import LabelMap
from chacha.drivers.base import Driver, Forecast
from chacha.drivers.native_facts import NativeStreamFacts
from chacha.drivers.native_state import ServingModels, engine_state, served_by
from chacha.drivers.records import ServedPredictions, Step
from chacha.errors import PoolError
from chacha.features.centring import Centre, ColumnKey, changed
from chacha.features.derivation import Recipe
from chacha.interrupts import Uninterrupted
from chacha.pools.native import NativePool, native_line
from chacha.rules.algorithm import Algorithm, RulesState
from chacha.rules.contest.blending import Blend
from chacha.rules.contest.scaling import Scaling
from chacha.rules.decisions import Decision
from chacha.rules.progressive_loss import ProgressiveLoss, RunningLoss
from chacha.tasks import Task

__all__ = ["BlockProgress", "NativeDriver", "Status"]


class Status(IntEnum):
    """Why the engine returned."""

    FINE = 0
    """Everything was learned."""
    DECIDE = 1
    """A test fired or a lease ended."""
    BEGIN = 2
    """The next example, not learned yet, has a new group."""
    BAD = 3
    """The next row, not learned yet, must be read in Python: the engine cannot read it."""
    PAUSED = 4
    """A bounded amount of work was done, or memory ran out after some examples."""
    OVERDUE = 5
    """An exception, such as that of a signal handler, came between an earlier example and its
    decision; the next example is not learned yet."""


class BlockProgress(NamedTuple):
    """How far a block was learned, and the decisions that followed."""

    status: Status
    at: int
    examples: int
    decisions: list[Decision]
    served: ServedPredictions | None
    signals: Uninterrupted | None = None  # that came meanwhile, to be delivered


class NativeDriver(Driver):
    """Lines 3-17 of Algorithm 1 in the engine, until there is something to decide."""

    def __init__(
        self,
        algorithm: Algorithm[Any],
        pool: NativePool,
        task: Task,
        *,
        bits: int,
        baseline: bool,
        keep_decisions: int = 1000,
        features: DerivedFeatures | None = None,
        scaling: Scaling | None = None,
    ) -> None:
        self.native = pool
        super().__init__(algorithm, pool, task, keep_decisions, features, scaling=scaling)
        self.engine = engine = pool.engine
        self._engine_state = engine_state(algorithm, pool, task, self._failures)
        self._calls_python = self._engine_state.calls_python
        self._observed = NativeStreamFacts(engine, task, self._engine_state.screen, pool.models)
        engine.set_observed_bits(bits)
        if scaling is not None:
            engine.scale_labels(scaling.rows)
        self._baseline_model: int | None = None
        if baseline:
            self._baseline_model = pool.start_shadow(self.initial)
            engine.set_baseline(self._baseline_model)
        self._recording = False
        self._refusal: ValueError | None = None  # why the last example was not learned
        self.configs: dict[int, Config] = {}  # by the engine's model numbers
        self._configs_before: dict[int, Config] = {}  # before the last decision
        self._write(self._state)
        self._set_waiting()

    def state(self) -> RulesState:
        """Return the state of the rules, as a value that further steps do not change."""
        return self._engine_state.read(self._state, self.native.models)

    def _start_anew(self, config: Config, labels: int) -> None:
        self.engine.renew_scale(labels, bool(config.target))
        self.pool.start(config)

    def _turn_on_centring(self) -> None:
        self.engine.turn_on_centring()

    def _numbers(self, example: Example) -> Sequence[NumberCell]:
        """Return the numbers of a row, if they are centred."""
        return example.numbers if self._centring else ()

    def _turn_on_derivation(self, first: int) -> None:
        self.native.turn_on_derivation(first)

    def _derive(self, names: Iterable[str]) -> None:
        self.native.derive(names)

    @property
    def examples(self) -> int:
        """The number of examples learned, as counted by the engine."""
        return self.engine.t

    @property
    def observed(self) -> NativeStreamFacts:
        """What the stream has shown so far."""
        return self._observed

    @property
    def served(self) -> RunningLoss:
        """The losses of the served predictions."""
        return RunningLoss(*self.engine.served)

    @property
    def baseline(self) -> ProgressiveLoss:
        """The losses of the initial configuration, run separately."""
        return ProgressiveLoss(*self.engine.baseline)

    @property
    def constant(self) -> ProgressiveLoss:
        """The losses of the best constant for the labels before each example."""
        return ProgressiveLoss(*self.engine.constant)

    @property
    def beside_constant(self) -> tuple[ProgressiveLoss, ProgressiveLoss, ProgressiveLoss]:
        """Losses from the second label on: of what was served, of the constant, of the baseline."""
        served, constant, baseline = self.engine.beside_constant
        return ProgressiveLoss(*served), ProgressiveLoss(*constant), ProgressiveLoss(*baseline)

    @property
    def metrics(self) -> Mapping[str, float]:
        """The weighted sums of the other reported metrics."""
        names = self.task.metrics(0.0, 0.0)
        return dict(zip(names, self.engine.metrics, strict=True)) if self.engine.t else {}

    def begin(self, example: Example) -> None:
        """Run lines 2 and 5 before anything is learned; the next step returns the decisions."""
        if not self.begun:
            with Uninterrupted():
                if not self.engine.observe(native_line(example), self._numbers(example)):
                    raise _unreadable(example)
                self._begin()
                self._set_waiting()
        self.raise_failures()

    def predict(self, example: Example) -> Forecast:
        """Line 6: return the predictions of all live models.

        Nothing changes, unless a signal handler has kept a decision from being made.
        """
        if self.engine.decision_due:
            self._catch_up()
        models = self.native.models
        numbers = list(models.values())
        if self._baseline_model is not None:
            numbers.append(self._baseline_model)
        try:
            line = native_line(example)
            predictions = self.engine.raw(line, numbers, False, self._numbers(example))
        except ValueError as error:
            raise _unreadable(example, error) from error
        if predictions is None:
            raise _unreadable(example)
        baseline = None if self._baseline_model is None else predictions.pop()
        raw = dict(zip(models, predictions, strict=True))
        state, algorithm = self.state(), self.algorithm
        served_by, served = algorithm.served_by(state), algorithm.serve(state, raw)
        constant = self.engine.constant_raw
        known = None if math.isnan(constant) else constant
        incarnations = {c: self.engine.incarnation(number) for c, number in models.items()}
        return Forecast(raw, incarnations, served_by, served, baseline, known)

    def learn(self, example: Example, forecast: Forecast | None = None) -> Step:
        """Lines 7-17, then 5: charge the predictions, learn, decide."""
        line = native_line(example)
        serving = self._engine_state.serving
        # The line has the label and the numbers rounded.
        y = None if self.scaling is None else example.target_or_label
        numbers = self._numbers(example)
        if forecast is None:
            decisions = self.step(self.engine.learn_row, line, y, numbers)
        else:
            predictions = self._predictions_of(forecast)
            decisions = self.step(self.engine.tell_line, line, *predictions, y, numbers)
        if decisions is None:
            raise _unreadable(example, self._refusal) from self._refusal
        served_by = self._served_by(serving, decisions) if forecast is None else forecast.served_by
        served = self.task.prediction(self.engine.served_raw)
        return Step(example, served, served_by, self.engine.served_loss, decisions)

    def derived(
        self, example: Example, names: Sequence[str]
    ) -> Mapping[str, Sequence[tuple[str, float]]]:
        """Return the features of an example's derived groups as they are now, by group."""
        numbers = self._numbers(example)
        groups = self.engine.derived(native_line(example), list(names), numbers)
        if groups is None:
            raise _unreadable(example)
        return dict(zip(names, groups, strict=True))

    def recipes(self) -> Mapping[str, Recipe]:
        """Return all derived groups tried so far, with what was learned about their columns."""
        return self.native.recipes()

    def label_map(self) -> LabelMap | None:
        """Return how the champion learns labels; None if as they are."""
        champion = self.published.champion
        return self.native.map_of(champion) if champion in self.native.models else None

    def has_bases(self) -> bool:
        """Return whether labels are scaled, and an example brought an initial prediction."""
        return self.engine.has_bases

    def label_origin(self) -> float | None:
        """Return the origin of labels in groups of the label; None if they are as they are."""
        scaled = self.scaling is not None and self.examples > 0
        return self.engine.label_origin if scaled else None

    def centres(self) -> Mapping[ColumnKey, Centre]:
        """Return the numeric columns that are learned less a centre, by group and hash."""
        columns = self.engine.centres
        return changed({(group, hashed): Centre(*centre) for group, hashed, *centre in columns})

    def refused(self) -> PoolError:
        """Return the error for an example that the engine did not learn."""
        return PoolError(f"an example: {self._refusal or 'it cannot be read'}")

    def advance_text(self, data: bytes | bytearray, at: int, end: int, limit: int) -> BlockProgress:
        """Learn VW text in the bytes from `at` to `end`, until there is something to decide."""
        return self._advance(lambda a, n: self.engine.advance_text(data, a, end, n), at, limit)

    def advance_columns(self, block: NativeBlock, row: int, end: int, limit: int) -> BlockProgress:
        """Learn the rows of a table from `row` to `end`, until there is something to decide."""
        return self._advance(lambda r, n: self.engine.advance_columns(block, r, end, n), row, limit)

    def _predictions_of(
        self, forecast: Forecast
    ) -> tuple[list[tuple[int, int, float]], float, float, float]:
        """Return a forecast's predictions for the engine, which knows the models by incarnation."""
        models, then = self.native.models, forecast.incarnations
        raw = [(models[c], then[c], p) for c, p in forecast.raw.items() if c in models]
        constant = math.nan if forecast.constant is None else forecast.constant
        return raw, forecast.served, forecast.baseline or 0.0, constant

    def _served_by(self, serving: ServingModels, decisions: Sequence[Decision]) -> Config | Blend:
        """Return which configuration served, by the model numbers before the decisions."""
        return served_by(serving, self._configs_before if decisions else self.configs)

    def step(self, learn: Callable[..., int], *arguments: Any) -> list[Decision] | None:
        """Learn one example with a method of the engine, and return the decisions that followed.

        None if Python must read the example, or check its label or weight: nothing has changed.
        """
        try:
            # If a custom test is called, handlers of signals wait for the whole step.
            if self._calls_python and self.engine.block_ends:
                with Uninterrupted():
                    status = learn(*arguments)
            else:
                status = learn(*arguments)
        except ValueError as error:
            self._refusal = error
            return None
        # Status.FINE is 0, which takes less time to test than to compare.
        decisions = self._after(status, learn, arguments) if status or self._unreported else []
        if self._failures:
            self.raise_failures()
        return decisions

    def _after(
        self, status: int, learn: Callable[..., int], arguments: Sequence[Any]
    ) -> list[Decision] | None:
        """Do what the engine returned for, and return the decisions that followed."""
        if status < 0:
            self._refusal = None
            return None
        if status == Status.OVERDUE:
            self._catch_up()
            return self.step(learn, *arguments)
        if status == Status.BEGIN:
            with Uninterrupted():
                self._begin()
                try:
                    self.engine.wait_for(0)
                    status = learn(*arguments)
                except ValueError as error:
                    self._refusal = error
                    return None
                finally:
                    self._set_waiting()
        decisions = self._take_unreported()
        self._configs_before = self.configs
        return decisions + self._decide_now() if status == Status.DECIDE else decisions

    def _advance(
        self, run: Callable[[int, int], tuple[int, int, int]], at: int, limit: int
    ) -> BlockProgress:
        with Uninterrupted(quiet=True) as guard:
            status, at, examples = run(at, limit)
            if status == Status.OVERDUE:
                self._catch_up()
                status, at, examples = run(at, limit)
            if status == Status.BEGIN:
                self._begin()
                self.engine.wait_for(0)
                try:
                    status, at, more = run(at, 1)
                finally:
                    self._set_waiting()
                examples += more
            decisions = self._take_unreported()
            served = self._take_served()
            if status == Status.DECIDE:
                decisions += self._decide_now()
        return BlockProgress(Status(status), at, examples, decisions, served, guard)

    def record(self, wanted: bool) -> None:
        """Switch the recording of served predictions for :attr:`BlockProgress.served`."""
        self.engine.record(wanted, wanted)
        self._recording = wanted

    def _take_served(self) -> ServedPredictions | None:
        if not self._recording:
            return None
        predictions, labels, models, tags, others, shares = self.engine.take_record()
        serving = zip(models.tolist(), others.tolist(), shares.tolist(), strict=True)
        by = [served_by(each, self.configs) for each in serving]
        return ServedPredictions(predictions.tolist(), labels.tolist(), by, tags)

    def _begin(self) -> None:
        with Uninterrupted():
            self.engine.hold()  # nobody predicts with half a decision
            try:
                state = self.state()
                self._observed.refresh()
                self._start_challenging(state)
                self._write(state)
            finally:
                self.engine.let_go()

    def _catch_up(self) -> None:
        """Make an overdue decision; it is returned with the next example."""
        with Uninterrupted():
            self._unreported += self._decide_now()

    def _decide_now(self) -> list[Decision]:
        """Run lines 10-17 and 5, from the engine's sums."""
        with Uninterrupted():
            self.engine.hold()
            try:
                state = self.state()
                self._observed.refresh()
                decisions = self._decide(state)
                self._write(state)
            finally:
                self.engine.let_go()
        return decisions

    def _set_waiting(self) -> None:
        """Set what the engine waits for: a new group, if the oracle has proposed nothing yet."""
        waits_for = 2 if self._oracle_groups is None else 1
        self.engine.wait_for(0 if self.begun else waits_for)

    def _write(self, state: RulesState) -> None:
        """Give the engine the state after a decision."""
        models = self.native.models
        self._engine_state.write(state, models)
        self._state = state
        self.configs = {number: c for c, number in models.items()}


def _unreadable(example: Example, error: Exception | None = None) -> PoolError:
    reason = f"{example.line!r:.80} cannot be read" if error is None else str(error)
    return PoolError(f"{example.place or 'an example'}: {reason}")
