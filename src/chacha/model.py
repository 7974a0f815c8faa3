"""ChaCha: what users hold. Presets, predict and learn, ask and tell, whole streams."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Unpack

from chacha.config.config import Config
from chacha.config.describe import describe
from chacha.config.space import Choice, Domain, Interactions, Space
from chacha.drivers.base import Core
from chacha.drivers.native import make_driver
from chacha.drivers.native_dicts import FastPath
from chacha.drivers.records import Chunk, LiveModel, Step, Summary
from chacha.export.champion_file import load_champion, save_champion, settings_of
from chacha.intake import ExampleLike, Intake
from chacha.losses import Loss, Squared, check_scale
from chacha.pools import default_pool
from chacha.pools.base import LivePool
from chacha.progress import ProgressTable
from chacha.rulebook import Rulebook, Settings, check_parts, whole_number
from chacha.rules.contest.betting import PairedBetting
from chacha.rules.contest.blending import Blending
from chacha.rules.contest.contest import Contest
from chacha.rules.contest.rotation import MoveSource
from chacha.rules.contest.screening import Screening
from chacha.rules.decisions import Decision
from chacha.rules.oracle import ConfigOracle
from chacha.rules.paper.bounds import Evidence, SampleComplexity
from chacha.rules.paper.champion import ChampionChallengers
from chacha.rules.standing import Standing
from chacha.rules.starting import Starting
from chacha.rules.stream_facts import StreamFacts
from chacha.sources import OnBad, Skipped, Source, TableSpec, open_source
from chacha.streaming import FAR, StreamPass
from chacha.tickets import Ticket, Tickets

__all__ = ["ChaCha"]


class ChaCha:
    """Online AutoML: a champion and its challengers, tuned while they serve.

    `ChaCha()` are the recommended rules. `ChaCha.paper` is the algorithm of the ICML 2021 paper
    to the letter, `ChaCha.flaml` the same with the constants of the authors' code.

    Parameters
    ----------
    budget
        b: live models, the champion included. 1 is plain online learning.
    space
        What may be tuned: name -> domain; interactions and the learning rate by default.
    init
        Initial values, of what is tuned and of any other option, which stays fixed.
    pool
        Where the models live; the native pool by default.
    oracle
        What to try next to a champion: :class:`Moves` by default, or any function.
    evidence
        What decides: :class:`PairedBetting` by default. With :class:`SampleComplexity` the rules
        are the paper's.
    loss
        What is served, reported and compared: squared error by default.
    algorithm
        Algorithm 1 of the paper, or a variant that it is compared with.
    lease_factor
        In the paper, n_min is this times the distinct raw features seen: 5.
    starting, screening, blending, first_lease
        Parts of the recommended rules: how a model starts, what orders the challengers, who
        serves, and how many examples a first lease has.
    seed
        Seeds the rules. The same seed gives the same decisions.
    baseline
        Also run the initial configuration alone, outside b, to show what tuning gained.
    keep_decisions
        How many of the last decisions :attr:`decisions` holds.
    max_pending, ticket_life
        How many tickets may wait for their label, and for how many later ones; then they expire.

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
        space: Mapping[str, Interactions | Domain] | Space | None = None,
        init: Mapping[str, Any] | None = None,
        pool: LivePool | None = None,
        oracle: ConfigOracle | MoveSource | None = None,
        evidence: Evidence | PairedBetting | None = None,
        loss: Loss | None = None,
        algorithm: type[ChampionChallengers] | None = None,
        lease_factor: int = 5,
        starting: Starting | None = None,
        screening: Screening | None = None,
        blending: Blending | None = None,
        first_lease: int = 1000,
        seed: int = 0,
        baseline: bool = False,
        keep_decisions: int = 1000,
        max_pending: int = 10_000,
        ticket_life: int = 1_000_000,
    ) -> None:
        budget = whole_number("budget", budget, 1, " (live models, the champion included)")
        seed = whole_number("seed", seed, 0)
        keep_decisions = whole_number("keep_decisions", keep_decisions, 0)
        check_parts(pool=pool, loss=loss)
        self.rules = Rulebook(
            evidence, algorithm, oracle, lease_factor, starting, blending, screening, first_lease
        )
        self.loss_function: Loss = Squared() if loss is None else loss
        self.pool = default_pool() if pool is None else pool
        self.space = self.rules.space(space, self.pool)
        init = {**self.loss_function.options, **(init or {})}
        tuned = self.space.domains.get("loss_function")
        trained = tuned.options if isinstance(tuned, Choice) else [init.get("loss_function")]
        check_scale(self.loss_function, trained)
        self.initial = self.space.initial(init, self.pool.default)
        self.budget, self.seed = budget, seed
        core = self.rules.core(self.initial, self.space, budget, seed)
        self._intake = Intake(self.loss_function, self.space.features, self.initial)
        self.evidence = core.evidence
        self.oracle = core.moves if isinstance(core, Contest) else core.oracle
        bits = self.initial.values.get("bit_precision", 18)
        self._driver = make_driver(
            core,
            self.pool,
            self.loss_function,
            bits=min(bits, 20) if isinstance(bits, int) else 18,
            baseline=baseline,
            keep_decisions=keep_decisions,
            features=self.space.features,
        )
        self.skipped = Skipped()
        self.reader, self._labelled = self._intake.reader, self._intake.labelled
        self._fast_path = FastPath(self._driver, self.reader)
        self._tickets = Tickets(max_pending, ticket_life)

    @classmethod
    def paper(cls, **settings: Unpack[Settings]) -> ChaCha:
        """The algorithm of the paper, to the letter."""
        settings.setdefault("evidence", SampleComplexity())
        return cls(**settings)

    @classmethod
    def flaml(cls, **settings: Unpack[Settings]) -> ChaCha:
        """The paper's algorithm with the constants of the authors' code."""
        settings.setdefault("evidence", SampleComplexity.authors())
        return cls(**settings)

    @classmethod
    def from_vw(cls, path: str | PathLike[str], **settings: Unpack[Settings]) -> ChaCha:
        """A model whose first champion is a model file that Vowpal Wabbit saved.

        Its options become the initial configuration, its weights go on exactly.
        """
        found, settings = settings_of(path, settings)
        model = cls(**settings)
        load_champion(model, found, path)
        return model

    def to_vw(self, path: str | PathLike[str]) -> None:
        """Write the champion as a model file for `vw -i`, its derived groups beside it."""
        save_champion(self, path)

    @property
    def core(self) -> Core:
        """The algorithm and its state."""
        return self._driver.core

    @property
    def observed(self) -> StreamFacts:
        """What the stream has shown so far: label range, groups, distinct features."""
        return self._driver.observed

    @property
    def champion(self) -> Config:
        """C: the best proven configuration."""
        return self.core.champion

    @property
    def challengers(self) -> Sequence[Config]:
        """S: the configurations to try next to the champion, live or waiting."""
        return tuple(self.core.S)

    @property
    def live_challengers(self) -> Sequence[Config]:
        """B: those that have a model, in the order of their slots."""
        return tuple(self.core.B)

    @property
    def examples(self) -> int:
        """How many examples were learned."""
        return self._driver.examples

    @property
    def loss(self) -> float | None:
        """The mean progressive loss of the served predictions; None before the first."""
        return self.served.mean if self.served.weight > 0 else None

    @property
    def served(self) -> Standing:
        """What the served predictions lost: their number, sum and weight."""
        return self._driver.served

    @property
    def decisions(self) -> Sequence[Decision]:
        """The last decisions, oldest first; `keep_decisions` of them."""
        return tuple(self._driver.decisions)

    @property
    def promotions(self) -> int:
        """How often the champion changed."""
        return self._driver.promotions

    @property
    def pending(self) -> int:
        """How many tickets wait for their label."""
        return len(self._tickets)

    @property
    def live(self) -> list[LiveModel]:
        """The live models, the champion first."""
        return self._driver.live()

    def summary(self) -> Summary:
        """Where the model stands, as a value that prints."""
        return self._driver.summary(self.skipped, self.skipped.first, self._tickets.expired)

    @property
    def settings(self) -> dict[str, Any]:
        """Every constant of the rules, for reports."""
        return {
            **{name: getattr(self, name) for name in ("budget", "seed")},
            "algorithm": type(self.core).__name__,
            **{name: describe(getattr(self, name)) for name in ("evidence", "oracle")},
            **self.core.constants(),
            "space": self.space.to_json(),
            "loss": {"name": self.loss_function.name, **describe(self.loss_function)},
            "pool": type(self.pool).__name__,
            "initial": self.initial.to_json(),
            "max_pending": self._tickets.most,
            "ticket_life": self._tickets.life,
        }

    def predict_one(self, x: ExampleLike) -> float:
        """The served prediction for `x`. A pure read: nothing changes.

        `x` is a dict, flat or of groups, or a line of VW text.
        """
        if (served := self._fast_path.serve(x)) is not None:
            return served
        served = self.loss_function.served(self._driver.predict(self._intake.example(x)).served)
        self._fast_path.remember(x)
        return served

    def learn_one(
        self, x: ExampleLike, y: float | None = None, weight: float | None = None
    ) -> list[Decision]:
        """Learn `x` with label `y`; returns the decisions it led to.

        `y` may be left out when `x` is a line of VW text that holds it.
        """
        if (decisions := self._fast_path.learn(x, y, weight)) is not None:
            return decisions
        example = self._labelled(self._intake.example(x), y, weight)
        self._settle(x)
        decisions = self._driver.learn(example).decisions
        self._fast_path.remember(x)
        return decisions

    def ask(self, x: ExampleLike) -> Ticket:
        """Predict now, learn when the label comes: :meth:`tell` takes the ticket.

        >>> import chacha
        >>> model = chacha.ChaCha.paper(pool=chacha.ReferencePool())
        >>> early, late = model.ask({"a": 1.0}), model.ask({"a": 2.0})
        >>> _ = model.tell(late, 2.0)
        >>> _ = model.tell(early, 1.0)
        >>> model.tell(early, 1.0)
        Traceback (most recent call last):
        chacha.errors.TicketError: ticket 0 was told already; a label counts once
        """
        example = replace(self._intake.example(x), label=None)  # the label is told later
        self._settle(x)
        self._driver.begin(example)
        example = self._driver.fixed(example, self._intake.past)
        forecast = self._driver.predict(example)
        served = self.loss_function.served(forecast.served)
        ticket = Ticket(self._tickets.next, served, example, forecast)
        self._tickets.add(ticket)
        return ticket

    def tell(self, ticket: Ticket | int, y: float, weight: float | None = None) -> list[Decision]:
        """The label of an asked example, in any order; each ticket counts once."""
        waiting = self._tickets.find(ticket)
        example = self._labelled(waiting.example, y, weight)
        return self._driver.learn(example, self._tickets.take(waiting).forecast).decisions

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
        """Tune while passing over a whole source; the same decisions as one by one.

        `source` is whatever :func:`~chacha.open_source` takes: a file, a pattern, an address, a
        table in memory (then `y` may hold its labels), rows. `target` names a table's column;
        `table` says more about it. `progress` prints the command line's table to stderr.

        >>> import chacha
        >>> model = chacha.ChaCha.paper(pool=chacha.ReferencePool())
        >>> model.run("synth:interactions", limit=20).examples
        20
        """
        if target is not None:
            table = replace(table or TableSpec(), target=target)
        shown = ProgressTable(self)
        until = shown.next_row if progress else lambda: FAR
        opened = self.open(source, table, y)
        for _ in self.chunks(opened, limit=limit, on_bad=on_bad, until=until):
            if progress:
                for line in shown.see():
                    print(line, file=sys.stderr)
        return self.summary()

    def open(self, source: Any, table: TableSpec | None = None, y: Any = None) -> Source:
        """A source as :meth:`run` opens it: what was decided about groups and columns holds."""
        return open_source(source, table, self.reader, y=y)

    def steps(
        self, source: Source, *, limit: int | None = None, on_bad: OnBad | None = None
    ) -> Iterator[Step]:
        """As :meth:`run`, one step at a time; `limit` counts the examples of this pass.

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
        until: Callable[[], int] = lambda: FAR,
        record: bool = False,
    ) -> Iterator[Chunk]:
        """As :meth:`steps`, many examples at a time: the way of :meth:`run`.

        A stretch ends at a decision, and never goes beyond the count of examples that `until`
        gives. With `record` it holds what was served, example by example.

        >>> import chacha
        >>> model = chacha.ChaCha.paper()
        >>> rows = chacha.sources.Rows(["1 |a x", "1 |a x"])
        >>> sum(stretch.examples for stretch in model.chunks(rows))
        2
        """
        return StreamPass(
            self._driver, source, self.skipped, self._intake, on_bad, limit, until
        ).chunks(record)

    def _settle(self, x: ExampleLike) -> None:
        """The first flat dict that is learned or asked decides the groups; dicts have columns."""
        if isinstance(x, Mapping):
            self._intake.reader.fix_groups(x)
            self._driver.derive_from_here()
