"""ChaCha, the model that users work with: presets, predict and learn, ask and tell, streams."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from os import PathLike
from typing import Any, Unpack

from chacha.config.arguments import check_part, whole_number
from chacha.config.config import Config
from chacha.config.describe import describe
from chacha.config.space import Space
from chacha.drivers import make_driver
from chacha.drivers.native_dicts import FastPath
from chacha.drivers.native_tickets import NativePendingExample
from chacha.drivers.records import Chunk, LiveModel, Step, Summary
from chacha.export.champion_file import load_champion, save_champion, settings_of
from chacha.intake import ExampleLike, Intake
from chacha.interrupts import Uninterrupted
from chacha.losses import Loss
from chacha.pools import default_pool
from chacha.pools.base import LivePool, check_pool
from chacha.progress import ProgressTable
from chacha.rules.algorithm import RulesState
from chacha.rules.decisions import Decision
from chacha.rules.paper.champion import PaperRules
from chacha.rules.progressive_loss import RunningLoss
from chacha.rules.stream_facts import StreamFacts
from chacha.sources import OnBad, Skipped, Source, TableSpec, open_source
from chacha.specification import (
    PaperSettings,
    Rules,
    Settings,
    SpaceLike,
    Specification,
    claim_moves,
    split_settings,
)
from chacha.streaming import NO_LIMIT, StreamPass
from chacha.tickets import PendingExample, Ticket, Tickets, answered_error

__all__ = ["ChaCha"]

Pending = PendingExample | NativePendingExample


class ChaCha:
    """An online learner that tunes its hyperparameters while it serves predictions.

    One configuration, the champion, is in charge. A few challengers learn from the same stream
    next to it. A challenger that proves better by progressive validation becomes the champion.

    `ChaCha()` follows the recommended rules. :meth:`ChaCha.paper` is the algorithm of the
    ICML 2021 paper to the letter. :meth:`ChaCha.flaml` is the same algorithm with the constants
    of the authors' code.

    Parameters
    ----------
    budget
        b, the number of live models, including the champion. 1 is plain online learning.
    space
        The search space: a mapping of option names to domains. By default, the recommended rules
        tune interactions, the learning rate and, for tables and dicts, derived features; the
        paper's rules tune interactions.
    init
        Initial values of the tuned options, and values of any other options, which stay fixed.
    pool
        Where the models live. The default is the native pool.
    rules
        The rules of the search: :class:`ContestRules`, the recommended ones, by default, or
        :class:`PaperRules`. Their parts (the test, the oracle, the blending) are their settings.
    loss
        The loss in which predictions are served, reported and compared. The default is squared
        error.
    seed
        The seed of the rules. The same seed gives the same decisions.
    baseline
        Also run the initial configuration on its own, in addition to the `budget` models, to show
        what tuning gained.
    keep_decisions
        The number of recent decisions that :attr:`decisions` keeps.
    max_pending, ticket_life
        Limits for :meth:`ask`: the number of tickets that may wait for their label, and the
        number of later tickets after which a waiting one expires.

    Notes
    -----
    All methods and properties may be called from any thread. :meth:`learn_one`, :meth:`ask`,
    :meth:`tell` and :meth:`predict_one` run one after the other; while :meth:`run` passes over a
    stream, they run between its pieces. Reading changes nothing.

    Examples
    --------
    >>> import chacha
    >>> model = chacha.ChaCha(budget=3)
    >>> for x, y in [({"a": 1.0, "b": 2.0}, 1.0), ({"a": 2.0, "b": 0.5}, 2.0)]:
    ...     y_hat = model.predict_one(x)
    ...     decisions = model.learn_one(x, y)
    >>> [live.config.since(model.champion) for live in model.live]
    ['=', 'learning_rate 2', '+ab']
    """

    def __init__(
        self,
        *,
        budget: int = 5,
        space: SpaceLike | None = None,
        init: Mapping[str, Any] | None = None,
        pool: LivePool | None = None,
        rules: Rules | None = None,
        loss: Loss | None = None,
        seed: int = 0,
        baseline: bool = False,
        keep_decisions: int = 1000,
        max_pending: int = 10_000,
        ticket_life: int = 1_000_000,
    ) -> None:
        keep_decisions = min(whole_number("keep_decisions", keep_decisions, 0), sys.maxsize)
        check_part("baseline", baseline, bool, "True")
        pool = default_pool() if pool is None else pool
        check_pool(pool)
        self.specification = spec = Specification.of(
            pool, budget=budget, space=space, init=init, rules=rules, loss=loss, seed=seed
        )
        claim_moves(spec.rules)
        self.pool = pool
        centred = spec.scaling is not None and spec.scaling.columns
        self._intake = Intake(spec.task, spec.space.features, spec.initial, with_numbers=centred)
        self._driver = make_driver(
            spec.algorithm,
            pool,
            spec.task,
            bits=spec.observed_bits,
            baseline=baseline,
            keep_decisions=keep_decisions,
            features=spec.space.features,
            scaling=spec.scaling,
        )
        self._lock = self._driver.lock
        # Around single examples, these take a fifth of the time of a `with` statement, and are as
        # safe: `acquire` is the first call after `try`, and `release` the first after `finally`. It
        # fails only if a signal handler raised an exception while the lock was waited for.
        self._acquire, self._release = self._lock.acquire, self._lock.release
        self.skipped = Skipped()
        self.reader, self._labelled = self._intake.reader, self._intake.labelled
        self._fast_path = FastPath(
            self._driver, self.reader, spec.plans, keeps_past=bool(self._intake.past_groups)
        )
        self._tickets: Tickets[Pending] = Tickets(max_pending, ticket_life)

    @classmethod
    def paper(cls, **settings: Unpack[PaperSettings]) -> ChaCha:
        """Return a model that follows the algorithm of the paper to the letter.

        The settings of :class:`PaperRules` are accepted beside those of the model.
        """
        rules, others = split_settings(settings)
        return cls(rules=PaperRules(**rules), **others)

    @classmethod
    def flaml(cls, **settings: Unpack[PaperSettings]) -> ChaCha:
        """Return a model with the paper's algorithm and the constants of the authors' code."""
        rules, others = split_settings(settings)
        return cls(rules=PaperRules.authors(**rules), **others)

    @classmethod
    def from_vw(cls, path: str | PathLike[str], **settings: Unpack[Settings]) -> ChaCha:
        """Return a model whose first champion is loaded from a Vowpal Wabbit model file.

        The options in the file become the initial configuration. Learning continues exactly where
        Vowpal Wabbit stopped.
        """
        vw_model, settings = settings_of(path, settings)
        model = cls(**settings)
        load_champion(model, vw_model, path)
        return model

    def to_vw(self, path: str | PathLike[str]) -> None:
        """Write the champion as a model file for `vw -i`, which takes labels as they are.

        If the champion uses centred columns or derived groups, a second file next to it describes
        them for :class:`Transform`.
        """
        with self._lock:
            save_champion(self, path)

    @property
    def rules(self) -> Rules:
        """The rules of the search."""
        return self.specification.rules

    @property
    def space(self) -> Space:
        """The search space."""
        return self.specification.space

    @property
    def initial(self) -> Config:
        """The initial configuration."""
        return self.specification.initial

    @property
    def loss_function(self) -> Loss:
        """The loss in which predictions are served, reported and compared."""
        return self.specification.task.loss_function

    @property
    def budget(self) -> int:
        """b, the number of live models, including the champion."""
        return self.specification.budget

    @property
    def seed(self) -> int:
        """The seed of the rules."""
        return self.specification.seed

    @property
    def state(self) -> RulesState:
        """The state of the rules, as a value that further examples do not change."""
        with self._lock:
            return self._driver.state()

    @property
    def observed(self) -> StreamFacts:
        """What the stream has shown so far: label range, groups, distinct features."""
        return self._driver.observed

    @property
    def champion(self) -> Config:
        """C, the champion: the best proven configuration."""
        return self._driver.published.champion

    @property
    def challengers(self) -> Sequence[Config]:
        """S: the configurations to try against the champion, live or waiting."""
        return self._driver.published.challengers

    @property
    def live_challengers(self) -> Sequence[Config]:
        """B: the challengers that have a model, in the order of their slots."""
        return self._driver.published.live_challengers

    @property
    def examples(self) -> int:
        """The number of examples learned."""
        with self._lock:
            return self._driver.examples

    @property
    def loss(self) -> float | None:
        """The mean progressive loss of the served predictions; None before the first example."""
        served = self.served
        return served.mean if served.weight > 0 else None

    @property
    def served(self) -> RunningLoss:
        """The losses of the served predictions: their number, sum and weight."""
        with self._lock:
            return copy(self._driver.served)

    @property
    def decisions(self) -> Sequence[Decision]:
        """The last `keep_decisions` decisions, oldest first."""
        with self._lock:
            return tuple(self._driver.decisions)

    @property
    def promotions(self) -> int:
        """The number of times the champion changed."""
        return self._driver.published.promotions

    @property
    def pending(self) -> int:
        """The number of tickets that wait for their label."""
        return len(self._tickets)

    @property
    def live(self) -> list[LiveModel]:
        """The live models, the champion first."""
        with self._lock:
            return self._driver.live()

    def summary(self) -> Summary:
        """Return the results so far; `print` shows them as a few lines of text."""
        with self._lock:
            return self._driver.summary(self.skipped, self.skipped.first, self._tickets.expired)

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting and constant of the rules, for reports."""
        return {
            **{name: getattr(self, name) for name in ("budget", "seed")},
            "algorithm": type(self.specification.algorithm).__name__,
            **self.specification.algorithm.constants(),
            "space": self.space.to_json(),
            "loss": {"name": self.loss_function.name, **describe(self.loss_function)},
            "pool": type(self.pool).__name__,
            "initial": self.initial.to_json(),
            "max_pending": self._tickets.max_pending,
            "ticket_life": self._tickets.life,
        }

    def predict_one(self, x: ExampleLike) -> float:
        """Return the served prediction for `x`. Nothing changes in the model.

        `x` is a dict of features, a dict of groups of features, or a line of VW text.

        >>> import chacha
        >>> model = chacha.ChaCha()
        >>> model.predict_one({"age": 31, "city": "Rome"})
        0.0
        """
        if (served := self._fast_path.predict(x)) is not None:  # the engine has a lock of its own
            return served
        with self._lock:
            forecast = self._driver.predict(self._intake.example(x))
            self._fast_path.add_plan(x)
            return self.specification.task.prediction(forecast.served)

    def learn_one(
        self, x: ExampleLike, y: float | None = None, weight: float | None = None
    ) -> list[Decision]:
        """Learn `x` with the label `y`, and return the decisions that followed.

        `y` may be omitted if `x` is a line of VW text that contains the label.

        >>> import chacha
        >>> model = chacha.ChaCha(budget=3)
        >>> decisions = model.learn_one("1 |a x |b y")
        >>> [type(decision).__name__ for decision in decisions]
        ['WentLive', 'WentLive']
        """
        try:
            self._acquire()
            if (decisions := self._fast_path.learn(x, y, weight)) is not None:
                return decisions
            example = self._labelled(self._intake.example(x), y, weight)
            self._fix_groups(x)
            decisions = self._driver.learn(example).decisions
            self._fast_path.add_plan(x)
            return decisions
        finally:
            try:
                self._release()
            except RuntimeError as error:
                _pass_if_not_acquired(error)

    def ask(self, x: ExampleLike) -> Ticket:
        """Predict now and learn later: return a ticket that :meth:`tell` takes with the label.

        Labels may arrive in any order. Each model is charged for the prediction it made when it
        was asked.

        >>> import chacha
        >>> model = chacha.ChaCha.paper(pool=chacha.ReferencePool())
        >>> early, late = model.ask({"a": 1.0}), model.ask({"a": 2.0})
        >>> _ = model.tell(late, 2.0)
        >>> _ = model.tell(early, 1.0)
        >>> model.tell(early, 1.0)
        Traceback (most recent call last):
        chacha.errors.TicketError: ticket 0 already has its label; a label counts once
        """
        try:
            self._acquire()
            if (pending := self._fast_path.ask(x)) is not None:
                return self._tickets.issue(pending.asked.prediction, pending)
            example = replace(self._intake.example(x), label=None)  # the label comes with tell()
            self._fix_groups(x)
            self._driver.begin(example)
            example = self._driver.with_derived(example, self._intake.past_groups)
            forecast = self._driver.predict(example)
            self._fast_path.add_plan(x)
            served = self.specification.task.prediction(forecast.served)
            return self._tickets.issue(served, PendingExample(example, forecast))
        finally:
            try:
                self._release()
            except RuntimeError as error:
                _pass_if_not_acquired(error)

    def tell(self, ticket: Ticket | int, y: float, weight: float | None = None) -> list[Decision]:
        """Learn the label of an asked example, and return the decisions that followed.

        `ticket` is a ticket of :meth:`ask` or its number. A second label for the same ticket is
        an error.
        """
        try:
            self._acquire()
            number, pending = self._tickets.find(ticket)
            if not isinstance(pending, NativePendingExample):
                return self._tell_slowly(number, pending, y, weight)
            try:
                decisions = self._fast_path.tell(pending, y, weight)
                if decisions is not None:
                    return decisions
                if pending.asked.learned:  # by a signal handler, meanwhile
                    raise answered_error(number)
                example = self._labelled(pending.example, y, weight)
                return self._fast_path.tell_checked(pending, example, weight is None)
            finally:  # even after an exception, such as that of a signal handler
                if pending.asked.learned:
                    self._tickets.answer(number)
        finally:
            try:
                self._release()
            except RuntimeError as error:
                _pass_if_not_acquired(error)

    def _tell_slowly(
        self, number: int, pending: PendingExample, y: float, weight: float | None
    ) -> list[Decision]:
        """Learn the label of an example that the engine has not read."""
        example = self._labelled(pending.example, y, weight)
        with Uninterrupted():
            self._tickets.find(number)  # it still waits, whatever a signal handler did meanwhile
            before = self._driver.examples
            try:
                return self._driver.learn(example, pending.forecast).decisions
            finally:
                if self._driver.examples > before:
                    self._tickets.answer(number)

    def run(
        self,
        source: Any,
        y: Any = None,
        *,
        limit: int | None = None,
        target: str | None = None,
        table: TableSpec | None = None,
        on_bad: OnBad | None = None,
        progress: bool = False,
    ) -> Summary:
        """Learn a whole source, and return a summary.

        The decisions are the same as with :meth:`learn_one` for each example.

        Parameters
        ----------
        source
            Anything that :func:`~chacha.open_source` accepts: a file, a pattern of file names, an
            address, a table in memory, rows.
        y
            The labels, if the source is a table in memory without them.
        limit
            The maximum number of examples to learn.
        target
            The name of the label's column in a table.
        table
            Further settings for reading a table.
        on_bad
            Whether a bad row is an error or is skipped and counted. By default it is skipped in
            an endless source and an error in any other.
        progress
            Print the progress table of the command line to stderr.

        Examples
        --------

        >>> import chacha
        >>> model = chacha.ChaCha.paper(pool=chacha.ReferencePool())
        >>> model.run("synth:interactions", limit=20).examples
        20
        """
        if target is not None:
            table = replace(table or TableSpec(), target=target)
        progress_table = ProgressTable(self)
        until = progress_table.next_row if progress else lambda: NO_LIMIT
        opened = self.open(source, table, y)
        for _ in self.chunks(opened, limit=limit, on_bad=on_bad, until=until):
            if progress:
                for line in progress_table.due_lines():
                    print(line, file=sys.stderr)
        return self.summary()

    def open(self, source: Any, table: TableSpec | None = None, y: Any = None) -> Source:
        """Open a source as :meth:`run` does.

        What earlier sources and dicts decided about groups and columns applies to it.
        """
        return open_source(source, table, self.reader, y=y)

    def steps(
        self, source: Source, *, limit: int | None = None, on_bad: OnBad | None = None
    ) -> Iterator[Step]:
        """Learn a source one example at a time, and yield a step for each.

        `limit` counts the examples of this pass. A bad row is handled as in :meth:`run`.

        >>> import chacha
        >>> model = chacha.ChaCha.paper(pool=chacha.ReferencePool())
        >>> [step.loss for step in model.steps(chacha.sources.Rows(["1 |a x", "1 |a x"]))][0]
        1.0
        """
        return StreamPass(self._driver, source, self.skipped, self._intake, on_bad, limit).steps()

    def chunks(
        self,
        source: Source,
        *,
        limit: int | None = None,
        on_bad: OnBad | None = None,
        until: Callable[[], int] = lambda: NO_LIMIT,
        record: bool = False,
    ) -> Iterator[Chunk]:
        """Learn a source many examples at a time, as :meth:`run` does, and yield the chunks.

        A chunk ends at a decision at the latest, and never extends beyond the total count of
        examples that `until` returns. With `record`, it holds the served prediction of each
        example. `limit` and `on_bad` are those of :meth:`steps`.

        >>> import chacha
        >>> model = chacha.ChaCha.paper()
        >>> rows = chacha.sources.Rows(["1 |a x", "1 |a x"])
        >>> sum(chunk.examples for chunk in model.chunks(rows))
        2
        """
        return StreamPass(
            self._driver, source, self.skipped, self._intake, on_bad, limit, until
        ).chunks(record)

    def _fix_groups(self, x: ExampleLike) -> None:
        """Let the first flat dict that is learned or asked fix the groups.

        A dict has columns, so groups can be derived from here on.
        """
        if isinstance(x, Mapping):
            self._intake.reader.fix_groups(x)
            self._driver.start_columns()


def _pass_if_not_acquired(error: RuntimeError) -> None:
    """Raise the error of a signal handler, but not that a lock was not acquired.

    A handler may raise an exception while a thread waits for the lock, and then the lock is not
    its own.
    """
    if str(error) != "cannot release un-acquired lock":
        raise error
