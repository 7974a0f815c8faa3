"""Groups made from earlier examples, for labels that come late: a ticket keeps the past."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

import chacha
from chacha import PairedBetting
from chacha.config.derived_groups import DerivedFeatures
from chacha.rules.contest import Scaling
from chacha.tickets import PendingExample
from tests.support.derived_runs import TARGET, early_model, results

POOLS: dict[str, Callable[[], Any]] = {
    "native": chacha.NativePool,
    "reference": chacha.ReferencePool,
    "native, custom evidence": chacha.NativePool,
}


@dataclass(frozen=True)
class PlainEvidence(PairedBetting):
    """The same bets; the engine does not know this class, so the Python driver runs."""


def asked_example(ticket: chacha.Ticket) -> chacha.Example:
    """The example that a ticket keeps, with its past."""
    assert isinstance(ticket._pending, PendingExample)
    return ticket._pending.example


@pytest.mark.parametrize("pool", POOLS)
def test_a_ticket_keeps_the_past_as_it_was(pool: str) -> None:
    names = ["ewma(label,0.5)", "lag(a,1)", "lag(label,2)"]
    policy = DerivedFeatures(kinds=[], more=names)
    rules = {
        "evidence": PlainEvidence() if "evidence" in pool else PairedBetting(),
        "scaling": Scaling(columns=False),  # the replay is text, whose columns are not centred
    }
    model, replay = (
        early_model(policy, init={"features": names[:2]}, pool=POOLS[pool](), **rules)
        for _ in range(2)
    )
    tickets = [model.ask({"a": 1.0, "b": 5.0}), model.ask({"a": 2.0, "b": 6.0})]
    past = [[f.value for f in asked_example(t).groups["lag(label,2)"]] for t in tickets]
    assert past == [[], []], "no label has come"
    model.tell(tickets[1], 7.0)
    tickets.append(model.ask({"a": 3.0, "b": 7.0}))
    model.tell(tickets[0], 8.0)
    tickets.append(model.ask({"a": 4.0, "b": 8.0}))
    assert [asked_example(t).body.partition(" |ewma")[2] for t in tickets] == [
        "(label,0.5) |lag(a,1) |lag(label,2)",
        "(label,0.5) |lag(a,1) |lag(label,2)",
        "(label,0.5) |lag(a,1) a.1:2.0 |lag(label,2)",  # beyond 7, the only label
        "(label,0.5) |lag(a,1) a.1 |lag(label,2) label.1:0.5 label.2:-0.5",  # beyond 7.5
    ]
    expected = model.predict_one({"a": 4.0, "b": 8.0})
    assert tickets[3].prediction == expected, "and it is what is predicted then"
    model.tell(tickets[3], 9.0)
    model.tell(tickets[2], 10.0)
    # What is learned are the features of the ticket: a model that is given them learns the same.
    replayed = [replay.ask(asked_example(t).body) for t in tickets]
    assert [asked_example(t).body for t in replayed] == [asked_example(t).body for t in tickets]
    for i, y in ((1, 7.0), (0, 8.0), (3, 9.0), (2, 10.0)):
        replay.tell(replayed[i], y)
    assert [d.to_json() for d in model.decisions] == [d.to_json() for d in replay.decisions]
    for ticket in tickets:
        raw, other = (m._driver.predict(asked_example(ticket)).raw for m in (model, replay))
        assert raw == other
    assert any(value != 0.0 for value in raw.values())


def test_a_ticket_that_gets_its_label_at_once_equals_a_row() -> None:
    policy = DerivedFeatures(kinds=["bins"], more=["lag(label,2)", "ewma(label,0.1)"])
    init = {"features": ["lag(label,2)"]}
    asked, plain, without = (
        early_model(policy, init=init),
        early_model(policy, init=init),
        early_model(),
    )
    rng = random.Random(2)
    y = 0.0
    for _ in range(400):
        x = {"a": rng.uniform(-1, 1), "b": rng.uniform(-1, 1)}
        y = 0.9 * y + x["a"] + 0.1 * rng.gauss(0, 1)
        asked.tell(asked.ask(x), y)
        plain.learn_one(x, y)
        without.learn_one(x, y)
    assert results(asked) == results(plain)
    assert plain.served.mean < 0.5 * without.served.mean


def test_rows_without_a_past_after_rows_with_one() -> None:
    """Labels of 0 leave nothing in a lag: then a row has fewer features than the one before."""
    rng = random.Random(1)
    rows = [
        {"a": rng.uniform(1, 2), "b": rng.uniform(1, 2), "y": float(rng.choice([0, 0, 1, 2]))}
        for _ in range(300)
    ]
    policy, init = DerivedFeatures(kinds=[]), {"features": ["lag(label,1)"]}
    whole, single = early_model(policy, init=init), early_model(policy, init=init)
    table = pa.Table.from_pylist(rows)
    whole.run(table, target="y")
    for _ in single.steps(single.open(table, TARGET)):
        pass
    assert results(whole) == results(single)
