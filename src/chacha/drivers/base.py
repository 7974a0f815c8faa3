"""What both drivers share: decisions are applied to the pool, and failures are collected.

A driver runs an algorithm around a pool, and owns the state of its rules. The algorithm makes the
decisions. The driver starts, copies and stops the models accordingly, and charges the models for
their predictions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from threading import RLock
from typing import Any, NamedTuple

from chacha.config.config import Config
from chacha.config.derived_groups import DerivedFeatures
from chacha.data.example import Example
from chacha.data.label_map import LabelMap
from chacha.drivers.records import LiveModel, Step, Summary, live_models, r2_of
from chacha.errors import PoolError
from chacha.features.centring import Centre, ColumnKey
from chacha.features.derivation import Recipe
from chacha.interrupts import Uninterrupted
from chacha.pools.base import LivePool, capabilities_of, copies
from chacha.pools.scaled import ScaledPool
from chacha.rules.algorithm import Algorithm, RulesState
from chacha.rules.contest.blending import Blend
from chacha.rules.contest.scaling import Scaling
from chacha.rules.decisions import Decision, Promoted, Retired, WentLive
from chacha.rules.head_start import HeadStart, Starting
from chacha.rules.progressive_loss import ProgressiveLoss, RunningLoss
from chacha.rules.stream_facts import StreamFacts
from chacha.tasks import Task

__all__ = ["Driver", "Forecast", "Published"]


class Forecast(NamedTuple):
    """The predictions of all live models for one example, and which of them is served.

    `incarnations` numbers the models: one that begins again, or is retired and goes live again, is
    a different model, which is not charged for the forecast of its predecessor.
    """

    raw: Mapping[Config, float]
    incarnations: Mapping[Config, int]
    served_by: Config | Blend
    served: float  # on the learner's scale
    baseline: float | None = None  # of the initial configuration, where it also runs separately
    constant: float | None = None  # the best for the labels so far, where the loss has it


class Published(NamedTuple):
    """The result of the last decision: an immutable value that any thread may read at any time."""

    champion: Config
    challengers: tuple[Config, ...]
    live_challengers: tuple[Config, ...]
    promotions: int = 0
    decisions: int = 0


class Driver(ABC):
    """Runs an algorithm around a pool, and records decisions and losses.

    All methods are called by one thread at a time: callers hold :attr:`lock`. Only
    :attr:`published` may be read without it.
    """

    def __init__(
        self,
        algorithm: Algorithm[Any],
        pool: LivePool,
        task: Task,
        keep_decisions: int,
        features: DerivedFeatures | None,
        notes: Sequence[str] = (),
        scaling: Scaling | None = None,
    ) -> None:
        self.lock = RLock()
        self.scaling, self._centring = scaling, False
        self.algorithm, self.pool, self.task = algorithm, pool, task
        self.initial = algorithm.initial
        self.decisions: list[Decision] = []  # the last `keep_decisions`; smaller than a deque
        self._keep_decisions = keep_decisions
        self.published = Published(self.initial, (), ())
        self._state: RulesState = algorithm.start()
        self._failures: list[BaseException] = []  # of custom parts, raised after the step
        self.begun = False  # whether line 5 has begun
        self._oracle_groups: tuple[str, ...] | None = None  # that the oracle was last called with
        self._unreported: list[Decision] = []  # to be returned with the next step
        self._notes = (*notes, *_notes(algorithm.starting, pool))
        self._pending_policy = features  # until derivation starts
        if self.initial.derived or (features is not None and features.text):
            self._pending_policy = features or DerivedFeatures()
            self._start_derivation()
        self.pool.start(self.initial)

    @abstractmethod
    def state(self) -> RulesState:
        """Return the state of the rules, as a value that further steps do not change."""

    @property
    @abstractmethod
    def examples(self) -> int:
        """The number of examples learned."""

    @property
    @abstractmethod
    def observed(self) -> StreamFacts:
        """What the stream has shown so far."""

    @property
    @abstractmethod
    def served(self) -> RunningLoss:
        """The losses of the served predictions."""

    @property
    @abstractmethod
    def baseline(self) -> ProgressiveLoss:
        """The losses of the initial configuration, run separately."""

    @property
    @abstractmethod
    def constant(self) -> ProgressiveLoss:
        """The losses of the best constant for the labels before each example.

        None is charged with a loss for which that would take memory.
        """

    @property
    @abstractmethod
    def beside_constant(self) -> tuple[ProgressiveLoss, ProgressiveLoss, ProgressiveLoss]:
        """Losses from the second label on: of what was served, of the constant, of the baseline."""

    @property
    @abstractmethod
    def metrics(self) -> Mapping[str, float]:
        """The weighted sums of the other reported metrics."""

    @abstractmethod
    def begin(self, example: Example) -> None:
        """Run lines 2 and 5 before anything is learned; the next step returns the decisions."""

    @abstractmethod
    def predict(self, example: Example) -> Forecast:
        """Line 6: return the predictions of all live models. Nothing changes."""

    @abstractmethod
    def learn(self, example: Example, forecast: Forecast | None = None) -> Step:
        """Lines 7-17, then 5: charge the predictions, learn, decide.

        Without a forecast, the models are charged for what they predict now, before they learn.
        With one, they are charged for what they predicted then, if they are still the same
        models. A failure of a custom oracle or test, or a challenger that the learner refuses, is
        raised at the end: by then the example has been learned, and the failed proposal or bet has
        no effect.
        """

    @property
    def columns_pending(self) -> bool:
        """Whether numbers are centred or groups derived once rows of tables or dicts arrive."""
        return self._pending_policy is not None or self._centring_pending

    @property
    def _centring_pending(self) -> bool:
        centred = self.scaling is not None and self.scaling.columns
        return centred and not self._centring and self.examples == 0

    def start_columns(self) -> None:
        """Centre numbers and derive groups from the next example on, as the policies say.

        Called when the first row of a table or the first dict arrives. Later calls do nothing.
        """
        if self._centring_pending:
            self._turn_on_centring()
            self._centring = True
        self._start_derivation()

    def _start_derivation(self) -> None:
        if (policy := self._pending_policy) is not None:
            with Uninterrupted():
                self._turn_on_derivation(policy.first)
                self._derive([*self.initial.derived, *policy.from_start])
                self._pending_policy = None

    def _start(self, decision: WentLive, champion: Config) -> None:
        """Start the model of a challenger, as the rules say."""
        if decision.labels is None:
            start_model(self.pool, self.algorithm.starting, champion, decision.config)
        else:
            self._start_anew(decision.config, decision.labels)

    def _stop(self, config: Config) -> None:
        """Drop the model of a challenger."""
        self.pool.stop(config)

    @abstractmethod
    def _start_anew(self, config: Config, labels: int) -> None:
        """Start an empty model, which learns labels on the scale of the last `labels` ones."""

    @abstractmethod
    def _turn_on_centring(self) -> None:
        """Centre the numbers of tables and dicts from the next example on."""

    @abstractmethod
    def _turn_on_derivation(self, first: int) -> None:
        """Keep statistics of columns from now on; knots are placed from `first` values."""

    @abstractmethod
    def _derive(self, names: Iterable[str]) -> None:
        """Register derived groups, before a model or the screen uses them."""

    def with_derived(self, example: Example, names: Sequence[str]) -> Example:
        """Return the example with derived groups as they are now, fixed until it is learned."""
        names = [name for name in names if name not in example.groups]
        return example.with_groups(self.derived(example, names)) if names else example

    @abstractmethod
    def derived(
        self, example: Example, names: Sequence[str]
    ) -> Mapping[str, Sequence[tuple[str, float]]]:
        """Return the features of an example's derived groups as they are now, by group."""

    @abstractmethod
    def recipes(self) -> Mapping[str, Recipe]:
        """Return all derived groups tried so far, with what was learned about their columns."""

    @abstractmethod
    def label_map(self) -> LabelMap | None:
        """Return how the champion learns labels; None if as they are."""

    @abstractmethod
    def has_bases(self) -> bool:
        """Return whether labels are scaled, and an example brought an initial prediction."""

    @property
    def label_range(self) -> tuple[float, float] | None:
        """The range of the labels; None without a label, or if it is not that of predictions.

        It is not with initial predictions, to which models add theirs.
        """
        low, high = self.observed.low, self.observed.high
        return (low, high) if low <= high and not self.has_bases() else None

    @abstractmethod
    def label_origin(self) -> float | None:
        """Return the origin of labels in groups of the label; None if they are as they are."""

    @abstractmethod
    def centres(self) -> Mapping[ColumnKey, Centre]:
        """Return the numeric columns that are learned less a centre, by group and hash."""

    def live(self) -> list[LiveModel]:
        """Return the live models, the champion first."""
        return live_models(self.algorithm, self.state(), self.observed)

    def summary(
        self, skipped: Mapping[str, int], first: Mapping[str, str], expired: int
    ) -> Summary:
        """Summarize the run; the caller provides skipped rows and the count of expired tickets."""
        overall, published = self.served, self.published
        weight = overall.weight or 1.0
        label_map, mean = self.label_map(), self.constant
        served, constant, baseline = self.beside_constant
        return Summary(
            examples=self.examples,
            skipped=dict(skipped),
            loss=overall.mean if overall.weight > 0 else None,
            loss_name=self.task.loss_function.name,
            metrics={key: total / weight for key, total in self.metrics.items()},
            baseline_loss=self.baseline.mean if self.baseline.n else None,
            champion=published.champion,
            promotions=published.promotions,
            decisions=published.decisions,
            challengers=len(published.challengers),
            expired=expired,
            first_skipped=dict(first),
            notes=self._notes,
            mean_loss=mean.mean if mean.weight > 0 else None,
            r2=r2_of(served, constant),
            baseline_r2=r2_of(baseline, constant) if baseline.n else None,
            label_map=label_map,
            label_range=self.label_range,
            centred=bool(self.centres()),
            is_vw=capabilities_of(self.pool).exports,
        )

    def _start_challenging(self, state: RulesState) -> None:
        """Run lines 2 and 5 if there are groups that the oracle has not been called with."""
        groups = tuple(self.observed.groups)
        if groups == self._oracle_groups:
            return
        outcome = self.algorithm.begin(state, self.observed)
        self._failures += outcome.failures
        self._unreported += self._apply(state, outcome.decisions)
        self._oracle_groups = None if outcome.failures else groups
        self.begun = self.algorithm.begun(state)

    def _take_unreported(self) -> list[Decision]:
        decisions, self._unreported = self._unreported, []
        return decisions

    def raise_failures(self) -> None:
        """Raise the first failure of a custom part or of a start since the last call, if any.

        A note on the exception says how many more there were.
        """
        if self._failures:
            failures = list(self._failures)
            self._failures.clear()
            if len(failures) > 1:
                failures[0].add_note(f"and {len(failures) - 1} more in the same step")
            raise failures[0]

    def _decide(self, state: RulesState) -> list[Decision]:
        """Run lines 10-17 and 5, and return the decisions that took effect."""
        outcome = self.algorithm.decide(state, self.observed)
        self._failures += outcome.failures
        return self._apply(state, outcome.decisions)

    def _apply(self, state: RulesState, decisions: Sequence[Decision]) -> list[Decision]:
        """Apply decisions to the pool, publish them, and return those that took effect.

        A challenger that the learner refuses is withdrawn, so that pool and state agree.
        """
        applied: list[Decision] = []
        if not decisions and len(state.S) == len(self.published.challengers):
            return applied  # the oracle has proposed nothing more either
        for decision in decisions:
            if isinstance(decision, Retired):
                self._stop(decision.config)
            elif isinstance(decision, WentLive):
                self._derive(decision.config.derived)
                try:
                    self._start(decision, state.champion)
                except Exception as error:
                    self.algorithm.withdraw(state, decision.config)
                    self._failures.append(error)
                    continue
            elif isinstance(decision, Promoted) and copies(self.pool):
                self.pool.undamp(decision.config)
            applied.append(decision)
        self.decisions += applied
        del self.decisions[: -self._keep_decisions or None]
        promotions = sum(isinstance(decision, Promoted) for decision in applied)
        self.published = Published(
            state.champion,
            tuple(state.S),
            tuple(state.B),
            self.published.promotions + promotions,
            self.published.decisions + len(applied),
        )
        return applied


def _notes(starting: Starting, pool: LivePool) -> tuple[str, ...]:
    """Return notes on rules that cannot be applied with this pool."""
    if not isinstance(starting, HeadStart) or copies(pool):
        return ()
    given = pool.given if isinstance(pool, ScaledPool) else pool
    return (
        f"{type(given).__name__} cannot copy a model: challengers start empty, without the head "
        "start of the rules",
    )


def start_model(pool: LivePool, starting: Starting, champion: Config, config: Config) -> None:
    """Give `config` a model: a copy of the champion's where rules and pool allow it, else empty.

    >>> from chacha.data.text_parser import parse_line
    >>> from chacha.pools.reference import ReferencePool
    >>> pool = ReferencePool()
    >>> pool.start(Config())
    >>> _ = pool.learn(parse_line("1 |a x |b y"))
    >>> start_model(pool, HeadStart(), Config(), Config(["ab"]))
    >>> len(set(pool.predict(parse_line("|a x |b y")).values()))
    1
    """
    if isinstance(starting, HeadStart) and copies(pool):
        try:
            pool.copy(champion, config, starting.damping)
        except PoolError:  # a copy cannot differ from its source in every option
            pool.start(config)
    else:
        pool.start(config)
