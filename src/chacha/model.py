"""ChaCha: what users hold. Presets, predict and learn, ask and tell, whole streams."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from os import PathLike
from typing import Any

from chacha.champion import ChampionChallengers
from chacha.config import Config
from chacha.decisions import Decision, Promoted, Retired, WentLive
from chacha.errors import BadExample, ConfigError, SourceError
from chacha.evidence import Evidence, SampleComplexity, Standing
from chacha.example import Example, finite, parse_line
from chacha.losses import Loss, Squared
from chacha.observed import Observed, SeenWithLoss
from chacha.oracle import ConfigOracle, DefaultOracle
from chacha.pool import LivePool
from chacha.pools import open_pool
from chacha.sources import Source, TableSpec, good_examples, open_source
from chacha.sources.dicts import Grouping, first_grouping, to_example
from chacha.space import Domain, Interactions, Space
from chacha.summary import LiveModel, Step, Summary, describe
from chacha.tickets import Ticket, Tickets

__all__ = ["ChaCha"]

Row = Mapping[Any, Any] | str | Example


class ChaCha:
    """Online AutoML: a champion and its challengers, tuned while they serve.

    `ChaCha.paper` is the algorithm of the ICML 2021 paper to the letter, `ChaCha.flaml`
    the same with the constants of the authors' code. `ChaCha()` are the recommended
    rules; for now they are the paper's.

    Parameters
    ----------
    budget
        b: live models, the champion included. 1 is plain online learning.
    space
        What may be tuned: name -> domain; `Interactions()` by default.
    init
        Initial values, of what is tuned and of any other option, which stays fixed.
    pool
        Where the models live; Vowpal Wabbit by default.
    oracle, evidence, loss
        The paper's parts; see :mod:`chacha.oracle`, `evidence` and `losses`.
    lease_factor
        n_min is this times the distinct raw features seen; 5 in the paper.
    seed
        Seeds the rules. The same seed gives the same decisions.
    baseline
        Also run the initial configuration alone, outside b, to show what tuning gained.
    keep_decisions
        How many of the last decisions :attr:`decisions` holds.
    max_pending, ticket_life
        How many tickets may wait for a label, and for how many later ones.

    Examples
    --------
    >>> import chacha
    >>> model = chacha.ChaCha.paper(budget=3, pool=chacha.ReferencePool())
    >>> for x, y in [({"a": 1.0, "b": 2.0}, 1.0), ({"a": 2.0, "b": 0.5}, 2.0)]:
    ...     y_hat = model.predict_one(x)
    ...     decisions = model.learn_one(x, y)
    >>> print(model.champion)
    no interactions
    >>> [str(live.config) for live in model.live]
    ['no interactions', 'interactions ab']
    """

    def __init__(
        self,
        *,
        budget: int = 5,
        space: Mapping[str, Interactions | Domain] | Space | None = None,
        init: Mapping[str, Any] | None = None,
        pool: LivePool | None = None,
        oracle: ConfigOracle | None = None,
        evidence: Evidence | None = None,
        loss: Loss | None = None,
        lease_factor: int = 5,
        seed: int = 0,
        baseline: bool = False,
        keep_decisions: int = 1000,
        max_pending: int = 10_000,
        ticket_life: int = 1_000_000,
    ) -> None:
        for name, value in (("budget", budget), ("lease_factor", lease_factor)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                about = " (live models, the champion included)" if name == "budget" else ""
                raise ConfigError(
                    f"{name} must be a whole number of at least 1{about}, got {value!r}"
                )
        self.loss_function: Loss = Squared() if loss is None else loss
        self.pool = open_pool("vw") if pool is None else pool
        self.space = Space.of({"interactions": Interactions()} if space is None else space)
        init = {**self.loss_function.options, **(init or {})}
        self.initial = self.space.initial(init, self.pool.default)
        self.evidence: Evidence = SampleComplexity() if evidence is None else evidence
        self.oracle = DefaultOracle(self.space, seed) if oracle is None else oracle
        self.budget, self.seed, self.lease_factor = budget, seed, lease_factor
        self.core = ChampionChallengers(
            self.initial,
            budget=budget,
            oracle=self.oracle,
            evidence=self.evidence,
            seed=seed,
            lease_factor=lease_factor,
        )
        bits = self.initial.values.get("bit_precision", 18)
        self.observed = Observed(min(int(bits), 24) if isinstance(bits, int) else 18)
        self.pool.start(self.initial)
        self.decisions: deque[Decision] = deque(maxlen=keep_decisions)
        self.skipped: dict[str, int] = {}
        self.promotions = self.decision_count = 0
        self._births: dict[Config, int] = {self.initial: 0}
        self._born = 1
        self._begun = False
        self._served = Standing()
        self._metrics: dict[str, float] = {}
        self._grouping: Grouping | None = None
        self._tickets = Tickets(max_pending, ticket_life)
        self._baseline: LivePool | None = None
        self._baseline_loss = Standing()
        if baseline:
            self._baseline = self.pool.fresh()
            self._baseline.start(self.initial)

    @classmethod
    def paper(cls, **settings: Any) -> ChaCha:
        """The algorithm of the paper, to the letter.

        >>> import chacha
        >>> chacha.ChaCha.paper(pool=chacha.ReferencePool()).evidence.scale
        0.05
        """
        return cls(**{"evidence": SampleComplexity(), **settings})

    @classmethod
    def flaml(cls, **settings: Any) -> ChaCha:
        """The paper's algorithm with the constants of the authors' code.

        >>> import chacha
        >>> chacha.ChaCha.flaml(pool=chacha.ReferencePool()).evidence.burn_in
        100
        """
        return cls(**{"evidence": SampleComplexity.authors(), **settings})

    # ------------------------------------------------------------------ where it stands

    @property
    def champion(self) -> Config:
        """C: the best proven configuration."""
        return self.core.champion

    @property
    def examples(self) -> int:
        """How many examples were learned."""
        return self.core.t

    @property
    def loss(self) -> float | None:
        """The mean progressive loss of the served predictions; None before the first."""
        return self._served.mean if self._served.n else None

    @property
    def pending(self) -> int:
        """How many tickets wait for their label."""
        return len(self._tickets)

    @property
    def live(self) -> list[LiveModel]:
        """The live models, the champion first."""
        core = self.core
        return [
            LiveModel(
                c,
                c == core.champion,
                c == core.incumbent,
                core.standing[c].n,
                core.scheduler.lease.get(c),
                core.bound(c, self._seen),
            )
            for c in (core.champion, *core.B)
        ]

    def summary(self) -> Summary:
        """Where the model stands, as a value that prints."""
        n = self._served.weight or 1.0
        return Summary(
            examples=self.examples,
            skipped=dict(self.skipped),
            loss=self.loss,
            loss_name=self.loss_function.name,
            metrics={key: total / n for key, total in self._metrics.items()},
            baseline_loss=self._baseline_loss.mean if self._baseline_loss.n else None,
            champion=self.champion,
            promotions=self.promotions,
            decisions=self.decision_count,
            challengers=len(self.core.S),
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Every constant of the rules, for reports."""
        return {
            "budget": self.budget,
            "seed": self.seed,
            "lease_factor": self.lease_factor,
            "evidence": describe(self.evidence),
            "oracle": describe(self.oracle),
            "space": self.space.to_json(),
            "loss": self.loss_function.name,
            "pool": type(self.pool).__name__,
            "initial": self.initial.to_json(),
        }

    # ------------------------------------------------------------------ one by one

    def predict_one(self, x: Row) -> float:
        """The served prediction for `x`. A pure read: nothing changes.

        `x` is a dict, flat or of groups, or a line of VW text.
        """
        raw = self.pool.predict(self._example(x))
        return self.loss_function.served(raw[self.core.incumbent])

    def learn_one(
        self, x: Row, y: float | None = None, weight: float | None = None
    ) -> list[Decision]:
        """Learn `x` with label `y`; returns the decisions it led to.

        `y` may be left out when `x` is a line of VW text that holds it.
        """
        example = self._labelled(self._example(x), y, weight)
        self._settle_groups(x)
        return self._learn(example).decisions

    def ask(self, x: Row) -> Ticket:
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
        example = self._example(x)
        self._settle_groups(x)
        self._begin(example)
        raw = self.pool.predict(example)
        incumbent = self.core.incumbent
        ticket = Ticket(
            self._tickets.next,
            self.loss_function.served(raw[incumbent]),
            incumbent,
            example,
            {c: (self._births[c], p) for c, p in raw.items()},
        )
        self._tickets.add(ticket)
        return ticket

    def tell(self, ticket: Ticket | int, y: float, weight: float | None = None) -> list[Decision]:
        """The label of an asked example, in any order; each ticket counts once."""
        waiting = self._tickets.find(ticket)
        example = self._labelled(waiting.example, y, weight)
        return self._learn(example, self._tickets.take(waiting)).decisions

    # ------------------------------------------------------------------ whole streams

    def run(
        self,
        source: str | PathLike[str] | Source | Iterable[tuple[Mapping[Any, Any], Any]],
        *,
        limit: int | None = None,
        target: str | None = None,
        table: TableSpec | None = None,
        on_bad: str | None = None,
    ) -> Summary:
        """Tune while passing over a whole source; the same decisions as one by one.

        >>> import chacha
        >>> model = chacha.ChaCha.paper(pool=chacha.ReferencePool())
        >>> model.run("synth:interactions", limit=20).examples
        20
        """
        if target is not None:
            table = TableSpec(target=target)
        for _ in self.steps(open_source(source, table), limit=limit, on_bad=on_bad):
            pass
        return self.summary()

    def steps(
        self, source: Source, *, limit: int | None = None, on_bad: str | None = None
    ) -> Iterator[Step]:
        """As :meth:`run`, one step at a time; `limit` counts the examples of this pass."""
        if on_bad not in (None, "error", "skip"):
            raise ConfigError(f"on_bad must be 'error' or 'skip', got {on_bad!r}")
        if source.endless and limit is None and source.name.startswith("synth:"):
            raise ConfigError(f"{source.name} never ends; give n= or a limit")
        skip = source.endless if on_bad is None else on_bad == "skip"
        before = self.examples, sum(self.skipped.values())
        usable = good_examples(source, skip, self.skipped, self._labelled)
        for example in islice(usable, limit):
            yield self._learn(example)
        if (self.examples, sum(self.skipped.values())) == before and limit != 0:
            raise SourceError(f"{source.name}: no examples in it; there is nothing to learn from")

    # ------------------------------------------------------------------ inside

    @property
    def _seen(self) -> SeenWithLoss:
        return SeenWithLoss(self.observed, self.loss_function)

    def _example(self, x: Row) -> Example:
        if isinstance(x, Example):
            return x
        if isinstance(x, str):
            return parse_line(x)
        if not isinstance(x, Mapping):
            raise ConfigError(f"x must be a dict or a line of VW text, got {type(x).__name__}")
        return to_example(x, self._grouping or first_grouping(x))

    def _settle_groups(self, x: Row) -> None:
        """The first flat dict that is learned or asked decides the groups."""
        if self._grouping is None and isinstance(x, Mapping):
            self._grouping = first_grouping(x)

    def _labelled(
        self, example: Example, y: float | None = None, weight: float | None = None
    ) -> Example:
        """The example with the label as the learner takes it; refuses what it cannot."""
        from_text = y is None
        if y is None:
            if example.label is None:
                raise BadExample("the example has no label; learning needs y, or a line with one")
            y = example.label
        else:
            y = finite(y, "label")
        label = self.loss_function.label(y)
        if from_text and label == y and weight is None:
            return example
        return example.with_label(label, weight)

    def _begin(self, example: Example) -> list[Decision]:
        """Lines 2 and 5, once the first example shows which groups there are."""
        if self._begun:
            return []
        self._begun = True
        self.observed.observe(example)
        return [*self._apply(self.core.begin(self._seen))]

    def _learn(self, example: Example, ticket: Ticket | None = None) -> Step:
        """Lines 5-17 of Algorithm 1 around the pool, for one labelled example."""
        assert example.label is not None
        core, y, weight = self.core, example.label, example.weight
        decisions = self._begin(example)
        self.observed.observe(example)
        raw: Mapping[Config, float] = self.pool.learn(example)
        served_by, prediction = core.incumbent, raw[core.incumbent]
        if ticket is not None:  # charge what was predicted then, by the models that did
            raw = {c: p for c, (birth, p) in ticket.raw.items() if self._births.get(c) == birth}
            served_by, prediction = ticket.served_by, ticket.raw[ticket.served_by][1]
        loss = self.loss_function.loss(prediction, y)
        self._served.add(loss, weight)
        for key, value in self.loss_function.metrics(prediction, y).items():
            self._metrics[key] = self._metrics.get(key, 0.0) + weight * value
        if self._baseline is not None:
            alone = self._baseline.learn(example)[self.initial]
            self._baseline_loss.add(self.loss_function.loss(alone, y), weight)
        low, high = self.observed.low, self.observed.high
        losses = {c: self.loss_function.proxy(p, y, low, high) for c, p in raw.items()}
        if weight == 0:
            losses = {}
        decisions += self._apply(core.learn(losses, self._seen, weight))
        served = self.loss_function.served(prediction)
        return Step(example, served, served_by, loss, decisions)

    def _apply(self, decisions: Sequence[Decision]) -> Sequence[Decision]:
        """Do to the pool what was decided."""
        for decision in decisions:
            if isinstance(decision, Retired):
                self.pool.stop(decision.config)
                del self._births[decision.config]
            elif isinstance(decision, WentLive):
                self.pool.start(decision.config)
                self._births[decision.config] = self._born
                self._born += 1
            self.promotions += isinstance(decision, Promoted)
        self.decisions.extend(decisions)
        self.decision_count += len(decisions)
        return decisions
