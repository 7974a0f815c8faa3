"""The algorithm around a pool: what it decides is done, what the models predict is charged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from chacha.config.config import Config
from chacha.config.derived_groups import DerivedFeatures
from chacha.data.example import Example
from chacha.drivers.records import LiveModel, Step, Summary
from chacha.errors import PoolError
from chacha.features.derivation import Recipe
from chacha.losses import Loss
from chacha.pools.base import Copies, LivePool
from chacha.rules.contest.blending import Blend
from chacha.rules.contest.contest import Contest
from chacha.rules.contest.rotation import Move, MoveRequest
from chacha.rules.decisions import Decision, Promoted, Retired, WentLive
from chacha.rules.oracle import proposals_of
from chacha.rules.paper.champion import ChampionChallengers
from chacha.rules.standing import Standing
from chacha.rules.starting import HeadStart, Starting
from chacha.rules.stream_facts import StreamFacts

__all__ = ["Core", "Driver", "Forecast"]

Core = ChampionChallengers | Contest


class Forecast(NamedTuple):
    """What every live model predicts, and which one serves.

    `births` numbers the incarnations: a configuration that is retired and goes live again
    is another model, and is not charged for the forecast of the one before.
    """

    raw: Mapping[Config, float]
    births: Mapping[Config, int]
    served_by: Config | Blend
    served: float  # on the learner's own scale
    alone: float | None = None  # the initial configuration's, where it runs by itself


class GuardedMoves:
    """The moves of a contest; if they fail, nothing is proposed and the step comes to its end.

    They are asked again after the next example.
    """

    def __init__(self, core: Contest, failures: list[Exception]) -> None:
        moves = core.moves
        self._core, self._moves, self._failures = core, moves, failures
        self.crowned, self.ended = moves.crowned, moves.ended
        self.candidates = moves.candidates

    def next(self, request: MoveRequest) -> Move | None:
        """What they propose."""
        try:
            return self._moves.next(request)
        except Exception as error:
            self._failures.append(error)
            self._core.decide_anyway = True
            return None


class Driver(ABC):
    """What is decided is done: the algorithm's core, a pool, and what is told of them."""

    def __init__(
        self,
        core: Core,
        pool: LivePool,
        loss: Loss,
        keep_decisions: int,
        features: DerivedFeatures | None,
    ) -> None:
        self._core, self.pool, self.loss = core, pool, loss
        self._failures: list[Exception] = []  # of the oracle and of starts, to be raised
        if isinstance(core, Contest):
            core.moves = GuardedMoves(core, self._failures)
        else:
            self._oracle, core.oracle = core.oracle, self._ask  # so that its failures are caught
        self.initial = core.champion
        self.decisions: deque[Decision] = deque(maxlen=keep_decisions)
        self.decision_count = self.promotions = 0
        self._births: dict[Config, int] = {self.initial: 0}
        self._born = 1
        self._begun = False
        self._groups: tuple[str, ...] | None = None  # those the oracle has been shown
        self._early: list[Decision] = []  # made before the first example was learned
        self._withdrawn = False
        self._features = features  # until something is derived
        if self.initial.derived or (features is not None and features.text):
            self._features = features or DerivedFeatures()
            self.derive_from_here()
        self.pool.start(self.initial)

    @property
    def core(self) -> Core:
        """The algorithm and its state."""
        return self._core

    @property
    @abstractmethod
    def examples(self) -> int:
        """How many examples were learned."""

    @property
    @abstractmethod
    def observed(self) -> StreamFacts:
        """What the stream has shown so far."""

    @property
    @abstractmethod
    def served(self) -> Standing:
        """What the served predictions lost."""

    @property
    @abstractmethod
    def alone(self) -> Standing:
        """What the initial configuration by itself lost."""

    @property
    @abstractmethod
    def metrics(self) -> Mapping[str, float]:
        """The sums of what else is reported."""

    @abstractmethod
    def begin(self, example: Example) -> None:
        """Lines 2 and 5 before anything was learned; the decisions are part of the next step."""

    @abstractmethod
    def predict(self, example: Example) -> Forecast:
        """Line 6: every live model predicts, the incumbent serves. A pure read."""

    @abstractmethod
    def learn(self, example: Example, forecast: Forecast | None = None) -> Step:
        """Lines 7-17, then 5: charge what was predicted, learn, decide.

        Without a forecast the models are charged what they predict now, before learning;
        with one, what they predicted then, if they still are the same models. If the oracle
        failed or the learner refused a challenger, that is raised at the end: the example has
        been learned, and all is as if nothing had been proposed.
        """

    @property
    def derives_later(self) -> bool:
        """Whether groups will be derived once rows of tables or dicts come."""
        return self._features is not None

    def derive_from_here(self) -> None:
        """Rows of tables or dicts come: from now on groups are derived, if they may be."""
        policy, self._features = self._features, None
        if policy is not None:
            self._turn_on(policy.first)
            self._derive([*self.initial.derived, *policy.from_start])

    @abstractmethod
    def _turn_on(self, first: int) -> None:
        """From now on columns are looked at; `first`: the values that knots are made of."""

    @abstractmethod
    def _derive(self, names: Iterable[str]) -> None:
        """Make derived groups known, before a model or the screen has them."""

    def fixed(self, example: Example, names: Sequence[str]) -> Example:
        """The example with derived groups as they are now: they stay so until it is learned."""
        names = [name for name in names if name not in example.groups]
        return example.with_groups(self.derived(example, names)) if names else example

    @abstractmethod
    def derived(
        self, example: Example, names: Sequence[str]
    ) -> Mapping[str, Sequence[tuple[str, float]]]:
        """The features of derived groups of an example, by name, as they are now."""

    @abstractmethod
    def recipes(self) -> Mapping[str, Recipe]:
        """All derived groups that were tried, with what was learned about their columns."""

    def live(self) -> list[LiveModel]:
        """The live models, the champion first."""
        core, facts = self.core, self.observed
        if isinstance(core, Contest):
            return _contestants(core)
        return [
            LiveModel(
                config=c,
                champion=c == core.champion,
                serving=c == core.incumbent,
                n=core.standing[c].n,
                lease=core.scheduler.lease.get(c),
                bound=core.bound(c, facts),
            )
            for c in core.live
        ]

    def summary(
        self, skipped: Mapping[str, int], first: Mapping[str, str], expired: int
    ) -> Summary:
        """Where the run stands; rows and tickets that came to nothing are the caller's."""
        core, served = self.core, self.served
        weight = served.weight or 1.0
        return Summary(
            examples=core.t,
            skipped=dict(skipped),
            loss=served.mean if served.weight > 0 else None,
            loss_name=self.loss.name,
            metrics={key: total / weight for key, total in self.metrics.items()},
            baseline_loss=self.alone.mean if self.alone.n else None,
            champion=core.champion,
            promotions=self.promotions,
            decisions=self.decision_count,
            challengers=len(core.S),
            expired=expired,
            first_skipped=dict(first),
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        """What the rules could not do here."""
        starting = self._core.starting
        if isinstance(starting, HeadStart) and not isinstance(self.pool, Copies):
            told = f"{type(self.pool).__name__} cannot copy a model: challengers start empty"
            return (f"{told}, without the head start of the rules",)
        return ()

    def _start_challenging(self) -> None:
        """Lines 2 and 5, if there are groups that the oracle has not been shown."""
        groups = tuple(self.observed.groups)
        if groups == self._groups:
            return
        failures = len(self._failures)
        self._early += self._do(self._core.begin(self.observed))
        self._groups = groups if len(self._failures) == failures else None
        if self._groups is None and isinstance(self._core, Contest) and not self._core.S:
            self._core.decide_anyway = False  # it is begun again with the next example
        alone = isinstance(self._core, Contest) and self._core.budget < 2
        self._begun = bool(self._core.S) or alone

    def _take_early(self) -> list[Decision]:
        decisions, self._early = self._early, []
        return decisions

    def _raise_failures(self) -> None:
        """Raise what failed in this call, once; the first of them, with a note on the others."""
        if self._failures:
            failures = list(self._failures)
            self._failures.clear()
            if len(failures) > 1:
                failures[0].add_note(f"and {len(failures) - 1} more in the same step")
            raise failures[0]

    def _ask(self, champion: Config, groups: Sequence[str]) -> list[Config]:
        """Ask the oracle; if it fails, nothing is proposed and the step comes to its end."""
        try:
            return proposals_of(self._oracle, champion, groups)
        except Exception as error:
            self._failures.append(error)
            return []

    def _do(self, decisions: Sequence[Decision]) -> list[Decision]:
        """Do to the pool what was decided; returns what was done.

        A challenger that the learner refuses is withdrawn, so that pool and core agree.
        """
        done: list[Decision] = []
        for decision in decisions:
            if isinstance(decision, Retired):
                self.pool.stop(decision.config)
                del self._births[decision.config]
            elif isinstance(decision, WentLive):
                self._derive(decision.config.derived)
                try:
                    start(self.pool, self._core.starting, self._core.champion, decision.config)
                except Exception as error:
                    self._core.withdraw(decision.config)
                    self._withdrawn = True  # a slot is free again
                    self._failures.append(error)
                    continue
                self._births[decision.config] = self._born
                self._born += 1
            elif isinstance(decision, Promoted):
                self.promotions += 1
                if isinstance(self.pool, Copies):
                    self.pool.undamp(decision.config)
            done.append(decision)
        self.decisions.extend(done)
        self.decision_count += len(done)
        return done


def start(pool: LivePool, starting: Starting, champion: Config, config: Config) -> None:
    """Give `config` a model: a copy of the champion's where rules and pool allow it, else empty.

    >>> from chacha.data.text_parser import parse_line
    >>> from chacha.pools.reference import ReferencePool
    >>> pool = ReferencePool()
    >>> pool.start(Config())
    >>> _ = pool.learn(parse_line("1 |a x |b y"))
    >>> start(pool, HeadStart(), Config(), Config(["ab"]))
    >>> len(set(pool.predict(parse_line("|a x |b y")).values()))
    1
    """
    if isinstance(starting, HeadStart) and isinstance(pool, Copies):
        try:
            pool.copy(champion, config, starting.damping)
        except PoolError:  # not every option can differ from the source's
            pool.start(config)
    else:
        pool.start(config)


def _contestants(core: Contest) -> list[LiveModel]:
    by = core.incumbent
    serving = {by.champion, by.other} if isinstance(by, Blend) else {by}
    rows = [LiveModel(core.champion, True, core.champion in serving, core.charged, None, None)]
    return rows + [
        LiveModel(c, False, c in serving, pairing.n, core.lease[c], None, pairing)
        for c, pairing in core.pairings.items()
    ]
