"""Tickets: predictions that wait for their label, limited in number and in age."""

from __future__ import annotations

import os
from collections import deque
from operator import index
from typing import Generic, NamedTuple, Protocol, TypeVar

from chacha.config.arguments import whole_number
from chacha.config.config import Config
from chacha.data.example import Example
from chacha.drivers.base import Forecast
from chacha.errors import TicketError
from chacha.rules.contest.blending import Blend

__all__ = ["PendingExample", "Server", "Ticket", "Tickets", "answered_error"]

MOST_ANSWERED = 2**62  # a deque cannot be longer


class Server(Protocol):
    """Anything that names the model of a prediction."""

    @property
    def served_by(self) -> Config | Blend:
        """The configuration whose model made the prediction, or a blend of two."""


P = TypeVar("P", bound=Server)


class PendingExample(NamedTuple):
    """An example that waits for its label, and the forecast to be charged then."""

    example: Example
    forecast: Forecast

    @property
    def served_by(self) -> Config | Blend:
        """The configuration whose model made the prediction, or a blend of two."""
        return self.forecast.served_by


class _PickledServer(NamedTuple):
    served_by: Config | Blend


class Ticket:
    """The result of :meth:`ChaCha.ask`: a prediction that waits for its label.

    >>> import chacha
    >>> ticket = chacha.ChaCha.paper(pool=chacha.ReferencePool()).ask({"a": 1.0})
    >>> ticket
    Ticket(number=0, prediction=0.0)
    >>> print(ticket.served_by)
    no interactions
    """

    __slots__ = ("_issuer", "_number", "_pending", "_prediction")

    def __init__(self, number: int, prediction: float, pending: Server, issuer: bytes) -> None:
        self._number, self._prediction = number, prediction
        self._pending, self._issuer = pending, issuer

    @property
    def number(self) -> int:
        """The number of the ticket, which :meth:`ChaCha.tell` accepts as well."""
        return self._number

    @property
    def prediction(self) -> float:
        """The served prediction."""
        return self._prediction

    @property
    def served_by(self) -> Config | Blend:
        """The configuration whose model made the prediction, or a blend of two."""
        return self._pending.served_by

    def __repr__(self) -> str:
        return f"Ticket(number={self._number}, prediction={self._prediction})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ticket):
            return NotImplemented
        return self._number == other._number and self._issuer == other._issuer

    def __hash__(self) -> int:
        return hash((self._number, self._issuer))

    def __reduce__(self) -> tuple[type[Ticket], tuple[int, float, Server, bytes]]:
        """Pickle the public values only: the model that issued the ticket keeps the example."""
        server = _PickledServer(self.served_by)
        return Ticket, (self._number, self._prediction, server, self._issuer)


class Tickets(Generic[P]):
    """The waiting tickets: at most `max_pending`, each until `life` later ones were issued.

    >>> tickets = Tickets(max_pending=2, life=100)
    >>> [tickets.issue(0.5, pending).number for pending in "abc"]
    [0, 1, 2]
    >>> len(tickets), tickets.expired
    (2, 1)
    >>> tickets.find(1)
    (1, 'b')
    >>> tickets.answer(1)
    >>> tickets.find(0)
    Traceback (most recent call last):
    chacha.errors.TicketError: ticket 0 has expired, or got its label long ago: at most 2 tickets \
may wait (max_pending), each until 100 later ones were issued (ticket_life)
    """

    def __init__(self, max_pending: int, life: int) -> None:
        self.max_pending = whole_number("max_pending", max_pending, 1)
        self.life = whole_number("ticket_life", life, 1)
        self.next = 0
        self.expired = 0
        self._issuer = os.urandom(8)  # unlike that of any other model, also in other processes
        self._waiting: dict[int, P] = {}  # by number
        self._oldest = 0  # the least number that may wait
        self._answered: deque[int] | None = None  # the last that got their label

    def __len__(self) -> int:
        return len(self._waiting)

    def issue(self, prediction: float, pending: P) -> Ticket:
        """Return a new ticket for an example that waits; the oldest expire to make room."""
        number, waiting = self.next, self._waiting
        self.next = number + 1
        waiting[number] = pending
        if len(waiting) > self.max_pending or number - self._oldest >= self.life:
            self._expire()
        return Ticket(number, prediction, pending, self._issuer)

    def find(self, ticket: Ticket | int) -> tuple[int, P]:
        """Return the number of a waiting ticket and its example.

        A ticket that does not wait is an error, which says why.
        """
        if isinstance(ticket, Ticket):
            number = ticket._number
            ours = ticket._issuer == self._issuer
            pending = self._waiting.get(number) if ours else None
        else:
            number = _number(ticket)
            pending = self._waiting.get(number)
        if pending is None:
            raise TicketError(self._why_not(ticket, number))
        return number, pending

    def answer(self, number: int) -> None:
        """Remove a ticket, if it waits: its label was learned."""
        waiting = self._waiting
        if waiting.pop(number, None) is None:
            return
        if self._answered is None:
            self._answered = deque(maxlen=min(self.max_pending, MOST_ANSWERED))
        self._answered.append(number)
        if number == self._oldest:
            self._oldest = number + 1
            if waiting and number + 1 not in waiting:
                self._skip_answered()

    def _expire(self) -> None:
        """Remove the oldest tickets until the limits hold."""
        self._skip_answered()
        while len(self._waiting) > self.max_pending or self.next - self._oldest > self.life:
            del self._waiting[self._oldest]
            self.expired += 1
            self._skip_answered()

    def _skip_answered(self) -> None:
        """Advance to the oldest ticket that waits. Each number is passed once."""
        while self._oldest < self.next and self._oldest not in self._waiting:
            self._oldest += 1

    def _why_not(self, ticket: Ticket | int, number: int) -> str:
        """Return why a ticket does not wait."""
        if not 0 <= number < self.next:
            text = number if isinstance(ticket, Ticket) else repr(ticket)
            return f"ticket {text} was never issued by this model"
        if isinstance(ticket, Ticket) and ticket._issuer != self._issuer:
            return f"ticket {number} belongs to another model"
        if self._answered is not None and number in self._answered:
            return str(answered_error(number))
        return (
            f"ticket {number} has expired, or got its label long ago: at most "
            f"{self.max_pending} tickets may wait (max_pending), each until {self.life} later "
            "ones were issued (ticket_life)"
        )


def answered_error(number: int) -> TicketError:
    """Return the error for a second label."""
    return TicketError(f"ticket {number} already has its label; a label counts once")


def _number(ticket: int) -> int:
    """Return the number as an int; -1, which no ticket has, if it is none."""
    try:
        return -1 if isinstance(ticket, bool) else index(ticket)
    except TypeError:
        return -1
