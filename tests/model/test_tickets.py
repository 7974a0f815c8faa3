"""Tickets: a small record of what was asked, and the limits of how many wait and how long."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable

import pytest

from chacha import ChaCha, Config, NativePool, ReferencePool, Ticket
from chacha.errors import TicketError
from chacha.pools import LivePool
from chacha.tickets import Server, Tickets
from tests.support.native_runs import served_by_now

POOLS: list[Callable[[], LivePool]] = [NativePool, ReferencePool]


def asked(pool: Callable[[], LivePool], **settings: int) -> ChaCha:
    """A model that has learned, so that its next tickets take the quickest way."""
    model = ChaCha.paper(pool=pool(), **settings)  # type: ignore[arg-type]
    for y in (1.0, 2.0):
        model.learn_one({"a": 1.0, "b": y}, y)
    return model


@pytest.mark.parametrize("pool", POOLS)
def test_a_ticket_is_an_immutable_record(pool: Callable[[], LivePool]) -> None:
    model = asked(pool)
    ticket, next_ticket = (model.ask({"a": 1.0, "b": 1.0}) for _ in range(2))
    assert (ticket.number, next_ticket.number) == (0, 1)
    assert ticket.prediction == model.predict_one({"a": 1.0, "b": 1.0})
    assert ticket.served_by == served_by_now(model)
    assert repr(ticket) == f"Ticket(number=0, prediction={ticket.prediction})"
    for name in ("number", "prediction", "served_by", "more"):
        with pytest.raises(AttributeError):
            setattr(ticket, name, 1)
    assert ticket == copy.copy(ticket)
    assert ticket != next_ticket
    assert ticket != 0
    assert len({ticket, copy.copy(ticket), next_ticket}) == 2


@pytest.mark.parametrize("pool", POOLS)
def test_a_pickled_ticket_gets_its_label_in_the_model_that_issued_it(
    pool: Callable[[], LivePool],
) -> None:
    model, other = asked(pool), asked(pool)
    ticket = model.ask({"a": 1.0, "b": 1.0})
    other.ask({"a": 1.0, "b": 1.0})
    again: Ticket = pickle.loads(pickle.dumps(ticket))
    assert again == ticket
    assert (again.prediction, again.served_by) == (ticket.prediction, ticket.served_by)
    with pytest.raises(TicketError, match="ticket 0 belongs to another model"):
        other.tell(again, 1.0)
    assert other.pending == 1
    model.tell(again, 1.0)
    with pytest.raises(TicketError, match="already has its label"):
        model.tell(ticket, 1.0)
    assert (model.examples, model.pending) == (3, 0)


@pytest.mark.parametrize("pool", POOLS)
def test_a_ticket_of_a_model_with_the_same_past_is_refused_too(
    pool: Callable[[], LivePool],
) -> None:
    here, there = asked(pool), asked(pool)
    mine, other = here.ask({"a": 1.0, "b": 1.0}), there.ask({"a": 1.0, "b": 1.0})
    assert mine.prediction == other.prediction
    with pytest.raises(TicketError, match="ticket 0 belongs to another model"):
        here.tell(other, 1.0)
    here.tell(mine, 1.0)


class Nobody:
    """Serves nothing."""

    served_by = Config()


@pytest.mark.parametrize("seed", range(20))
def test_the_limits_hold_in_any_order(seed: int) -> None:
    """Against a plain list of the numbers that wait."""
    rng = random.Random(seed)
    most, life = rng.randint(1, 12), rng.randint(1, 30)
    tickets: Tickets[Server] = Tickets(most, life)
    waiting: list[int] = []
    answered: list[int] = []
    expired = 0
    for _ in range(400):
        if rng.random() < 0.55:
            number = tickets.issue(0.5, Nobody()).number
            waiting.append(number)
            old = [n for n in waiting if number + 1 - n > life]
            old += waiting[len(old) : max(len(old), len(waiting) - most)]
            waiting = [n for n in waiting if n not in old]
            expired += len(old)
        else:
            number = rng.randint(-1, tickets.next + 1)
            if number in waiting:
                assert tickets.find(number)[0] == number
                if rng.random() < 0.7:
                    tickets.answer(number)
                    waiting.remove(number)
                    answered.append(number)
            else:
                why = "has expired" if number not in answered else "already has|label long ago"
                why = why if number not in answered[-most:] else "already has"
                why = why if 0 <= number < tickets.next else "never issued"
                with pytest.raises(TicketError, match=why):
                    tickets.find(number)
        assert (len(tickets), tickets.expired) == (len(waiting), expired)
    assert expired > 0


def test_limits_without_end() -> None:
    model = ChaCha(max_pending=10**30, ticket_life=10**30)
    tickets = [model.ask({"a": 1.0}) for _ in range(3)]
    model.tell(tickets[1], 1.0)
    assert (model.pending, model.summary().expired) == (2, 0)


def test_one_ticket_at_a_time() -> None:
    model = ChaCha(max_pending=1, ticket_life=1)
    first, second = model.ask({"a": 1.0}), model.ask({"a": 1.0})
    with pytest.raises(TicketError, match="expired"):
        model.tell(first, 1.0)
    model.tell(second, 1.0)
