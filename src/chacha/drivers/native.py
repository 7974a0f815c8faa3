"""The algorithm around the native engine: models, statistics and tests in one native pass.

The engine stops when something happens: a test fires, a lease ends, a group appears for the
first time. Then the core decides, in Python, from the engine's sums. For every chunk of a
stream, down to single examples, decisions and predictions are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from chacha._native import ColumnBlock as NativeBlock
from chacha._native import DictPlan
from chacha.config.config import Config
from chacha.config.derived_groups import DerivedFeatures
from chacha.data.example import Example
from chacha.drivers.base import Core, Driver, Forecast
from chacha.drivers.native_facts import NativeStreamFacts
from chacha.drivers.native_state import EngineSync, ServedBy, engine_sync, served_by
from chacha.drivers.python import PythonDriver
from chacha.drivers.records import ServedPredictions, Step
from chacha.errors import PoolError
from chacha.features.derivation import Recipe
from chacha.interrupts import Uninterrupted
from chacha.losses import Loss
from chacha.pools.base import LivePool
from chacha.pools.native import NativePool, native_line
from chacha.rules.contest.blending import Blend
from chacha.rules.decisions import Decision
from chacha.rules.standing import Standing

__all__ = ["BlockProgress", "NativeDriver", "Status", "make_driver"]


class Status(IntEnum):
    """Why the engine stopped."""

    FINE = 0
    """All was learned."""
    DECIDE = 1
    """A test fired or a lease ended."""
    BEGIN = 2
    """The next example shows a new group, and has not been learned."""
    BAD = 3
    """The next row needs a second look, and has not been learned."""
    ENOUGH = 4
    """Time to look around."""
    OVERDUE = 5
    """Ctrl-C came between an earlier example and its decision; the next has not been learned."""


class BlockProgress(NamedTuple):
    """How far a block was learned, and what came of it."""

    status: Status
    at: int
    examples: int
    decisions: list[Decision]
    served: ServedPredictions | None
    interrupted: bool


def make_driver(core: Core, pool: LivePool, loss: Loss, **settings: Any) -> Driver:
    """The fused driver where the engine knows all parts, else the plain one.

    >>> from chacha import Config, NativePool, ReferencePool
    >>> from chacha.rules.paper import ChampionChallengers
    >>> from chacha import SampleComplexity, Squared
    >>> def core():
    ...     return ChampionChallengers(
    ...         Config(), budget=2, oracle=lambda c, groups: [], evidence=SampleComplexity()
    ...     )
    >>> for pool in (NativePool(), ReferencePool()):
    ...     type(make_driver(core(), pool, Squared(), bits=18, baseline=False)).__name__
    'NativeDriver'
    'PythonDriver'
    """
    if type(pool) is NativePool and (link := engine_sync(core, pool, loss)) is not None:
        return NativeDriver(core, pool, loss, link, **settings)
    return PythonDriver(core, pool, loss, **settings)


class NativeDriver(Driver):
    """Lines 3-17 of Algorithm 1 in the engine, until there is something to decide."""

    def __init__(
        self,
        core: Core,
        pool: NativePool,
        loss: Loss,
        link: EngineSync,
        *,
        bits: int,
        baseline: bool,
        keep_decisions: int = 1000,
        features: DerivedFeatures | None = None,
    ) -> None:
        self.native = pool
        super().__init__(core, pool, loss, keep_decisions, features)
        self.engine = engine = pool.engine
        self._observed = NativeStreamFacts(engine, loss)
        self._link = link
        engine.set_observed_bits(bits)
        self._baseline: int | None = None
        if baseline:
            self._baseline = pool.start_shadow(self.initial)
            engine.set_baseline(self._baseline)
        self._recording = False
        self._refusal: ValueError | None = None  # why the last example was not learned
        self._config: dict[int, Config] = {}  # of the models' numbers
        self._config_before: dict[int, Config] = {}  # as they were before the last decision
        self._push()
        self._wait()

    def _turn_on(self, first: int) -> None:
        self.native.turn_on(first)

    def _derive(self, names: Iterable[str]) -> None:
        self.native.derive(names)

    @property
    def core(self) -> Core:
        """The algorithm and its state, with the engine's sums."""
        if self._core.t != self.engine.t:
            self._sync()
        return self._core

    @property
    def examples(self) -> int:
        """How many examples were learned: the engine counts them."""
        return self.engine.t

    @property
    def observed(self) -> NativeStreamFacts:
        """What the stream has shown so far."""
        return self._observed

    @property
    def served(self) -> Standing:
        """What the served predictions lost."""
        return Standing(*self.engine.served)

    @property
    def alone(self) -> Standing:
        """What the initial configuration by itself lost."""
        return Standing(*self.engine.alone)

    @property
    def metrics(self) -> Mapping[str, float]:
        """The sums of what else is reported."""
        names = self.loss.metrics(0.0, 0.0)
        return dict(zip(names, self.engine.metrics, strict=True)) if self.engine.t else {}

    def begin(self, example: Example) -> None:
        """Lines 2 and 5 before anything was learned; the decisions are part of the next step."""
        if not self._begun:
            if not self.engine.observe(native_line(example)):
                raise _unread(example)
            self._begin()
            self._wait()
        self._raise_failures()

    def predict(self, example: Example) -> Forecast:
        """Line 6: every live model predicts, the incumbent serves. A pure read."""
        models = self.native.models
        numbers = list(models.values())
        if self._baseline is not None:
            numbers.append(self._baseline)
        try:
            raw = self.engine.raw(native_line(example), numbers, False)
        except ValueError as error:
            raise _unread(example, error) from error
        if raw is None:
            raise _unread(example)
        alone = None if self._baseline is None else raw.pop()
        found = dict(zip(models, raw, strict=True))
        core = self.core
        return Forecast(found, dict(self._births), core.incumbent, core.serve(found), alone)

    def learn(self, example: Example, forecast: Forecast | None = None) -> Step:
        """Lines 7-17, then 5."""
        line = native_line(example)
        serving = self._link.serving
        if forecast is None:
            run = lambda: self.engine.learn_line(line, None, None)  # noqa: E731
        else:
            told = self._told(forecast)
            run = lambda: self.engine.tell(line, *told)  # noqa: E731
        decisions = self._step(run)
        if decisions is None:
            raise _unread(example, self._refusal) from self._refusal
        self._raise_failures()
        served_by = self._served_by(serving, decisions) if forecast is None else forecast.served_by
        served = self.loss.served(self.engine.served_raw)
        return Step(example, served, served_by, self.engine.served_loss, decisions)

    def derived(
        self, example: Example, names: Sequence[str]
    ) -> Mapping[str, Sequence[tuple[str, float]]]:
        """The features of derived groups of an example, by name, as they are now."""
        found = self.engine.derived(native_line(example), list(names))
        if found is None:
            raise _unread(example)
        return dict(zip(names, found, strict=True))

    def recipes(self) -> Mapping[str, Recipe]:
        """All derived groups that were tried, with what was learned about their columns."""
        return self.native.recipes()

    def serve_line(self, line: str) -> float | None:
        """The served prediction for a line of VW text; None if it needs a second look."""
        try:
            return self.engine.serve_line(line)
        except ValueError:
            return None  # too large; the long way tells where it stands

    def learn_line(self, line: str, y: float | None, weight: float | None) -> list[Decision] | None:
        """Learn a line of VW text; None if it needs a second look: then nothing has changed."""
        decisions = self._step(lambda: self.engine.learn_line(line, y, weight))
        self._raise_failures()
        return decisions

    def serve_dict(self, plan: DictPlan, x: Any) -> float | None:
        """As :meth:`serve_line`, for a dict of a known form."""
        try:
            return self.engine.serve_dict(plan, x)
        except ValueError:
            return None

    def learn_dict(
        self, plan: DictPlan, x: Any, y: float | None, weight: float | None
    ) -> list[Decision] | None:
        """As :meth:`learn_line`, for a dict of a known form."""
        decisions = self._step(lambda: self.engine.learn_dict(plan, x, y, weight))
        self._raise_failures()
        return decisions

    def advance_text(self, data: bytes | bytearray, at: int, end: int, limit: int) -> BlockProgress:
        """Learn the lines of VW text in the bytes from `at` to `end`, until something happens."""
        return self._advance(lambda a, n: self.engine.advance_text(data, a, end, n), at, limit)

    def advance_columns(self, block: NativeBlock, row: int, end: int, limit: int) -> BlockProgress:
        """Learn the rows from `row` to `end` of a table, until something happens."""
        return self._advance(lambda r, n: self.engine.advance_columns(block, r, end, n), row, limit)

    def raise_failures(self) -> None:
        """Raise what failed in the last stretch: the oracle, or the start of a challenger."""
        self._raise_failures()

    def _told(self, forecast: Forecast) -> tuple[list[tuple[int, float]], float, float]:
        """What a ticket holds, of the models that are still the same."""
        models = self.native.models
        same = [c for c in forecast.raw if forecast.births[c] == self._births.get(c)]
        raw = [(models[c], forecast.raw[c]) for c in same]
        return raw, forecast.served, 0.0 if forecast.alone is None else forecast.alone

    def _served_by(self, serving: ServedBy, decisions: Sequence[Decision]) -> Config | Blend:
        """Who served, by what the numbers of models meant before the decisions."""
        return served_by(serving, self._config_before if decisions else self._config)

    def _step(self, run: Callable[[], int]) -> list[Decision] | None:
        """One example; what was decided, or None if it needs a second look."""
        try:
            status = run()
        except ValueError as error:
            self._refusal = error
            return None
        if status == Status.FINE and not self._early:
            return []
        if status < 0:
            self._refusal = None
            return None
        if status == Status.OVERDUE:
            self._catch_up()
            return self._step(run)
        if status == Status.BEGIN:
            self._begin()
            try:
                self.engine.wait_for(0)
                status = run()
            except ValueError as error:
                self._refusal = error
                return None
            finally:
                self._wait()
        decisions = self._take_early()
        self._config_before = self._config
        return decisions + self._decide() if status == Status.DECIDE else decisions

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
                    self._wait()
                examples += more
            decisions = self._take_early()
            served = self._take_served()
            if status == Status.DECIDE:
                decisions += self._decide()
        return BlockProgress(Status(status), at, examples, decisions, served, guard.interrupted)

    def record(self, wanted: bool) -> None:
        """Whether to keep what is served, for :attr:`BlockProgress.served`."""
        self.engine.record(wanted, wanted)
        self._recording = wanted

    def _take_served(self) -> ServedPredictions | None:
        if not self._recording:
            return None
        predictions, labels, models, tags, others, shares = self.engine.take_record()
        serving = zip(models.tolist(), others.tolist(), shares.tolist(), strict=True)
        by = [served_by(each, self._config) for each in serving]
        return ServedPredictions(predictions.tolist(), labels.tolist(), by, tags)

    def _begin(self) -> None:
        with Uninterrupted():
            self._sync()
            self._start_challenging()
            self._push()

    def _catch_up(self) -> None:
        """Decide what is overdue; it is told with the next example."""
        with Uninterrupted():
            self._early += self._decide()

    def _decide(self) -> list[Decision]:
        """Lines 10-17 and 5, from the engine's sums."""
        with Uninterrupted():
            self._sync()
            decisions = self._do(self._core.decide(self.observed))
            self._push()
        return decisions

    def _wait(self) -> None:
        """What the engine waits for: a new group, if the oracle had nothing to propose yet."""
        self.engine.wait_for(0 if self._begun else 2 if self._groups is None else 1)

    def _sync(self) -> None:
        """The engine's sums as the core's."""
        self._link.sync()

    def _push(self) -> None:
        """What was decided, to the engine."""
        models = self.native.models
        decide_anyway, self._withdrawn = self._withdrawn, False
        self._link.push(models, decide_anyway)
        self._config = {number: c for c, number in models.items()}


def _unread(example: Example, error: Exception | None = None) -> PoolError:
    told = f"{example.line!r:.80} cannot be read" if error is None else str(error)
    return PoolError(f"{example.place or 'an example'}: {told}")
