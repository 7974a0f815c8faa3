"""Tickets: predictions that wait for their label, limited in number and in age."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from operator import index

from chacha.config.config import Config
from chacha.data.example import Example
from chacha.drivers.base import Forecast
from chacha.errors import ConfigError, TicketError
from chacha.rules.contest.blending import Blend

__all__ = ["Ticket", "Tickets"]


@dataclass(frozen=True, slots=True)
class Ticket:
    """The result of :meth:`ChaCha.ask`: a prediction, and the forecast to be charged later.

    >>> import chacha
    >>> chacha.ChaCha.paper(pool=chacha.ReferencePool()).ask({"a": 1.0}).prediction
    0.0
    """

    number: int
    prediction: float
    example: Example = field(repr=False)
    forecast: Forecast = field(repr=False)

    @property
    def served_by(self) -> Config | Blend:
        """The configuration whose model made the prediction, or a blend of two."""
        return self.forecast.served_by


def _number_text(ticket: Ticket | int) -> str:
    return str(ticket.number) if isinstance(ticket, Ticket) else repr(ticket)


class Tickets:
    """The waiting tickets: at most `max_pending`, each until `life` later ones were issued.

    >>> tickets = Tickets(max_pending=2, life=100)
    >>> for number in range(3):
    ...     tickets.add(Ticket(tickets.next, 0.0, example=None, forecast=None))
    >>> len(tickets), tickets.expired
    (2, 1)
    >>> tickets.take(0)
    Traceback (most recent call last):
    chacha.errors.TicketError: ticket 0 has expired, or got its label long ago: at most 2 tickets \
may wait (max_pending), each until 100 later ones were issued (ticket_life)
    """

    def __init__(self, max_pending: int, life: int) -> None:
        if max_pending < 1 or life < 1:
            raise ConfigError(
                f"max_pending and ticket_life must be at least 1, got {max_pending}, {life}"
            )
        self.max_pending, self.life = max_pending, life
        self.next = 0
        self.expired = 0
        self._waiting: OrderedDict[int, Ticket] = OrderedDict()
        self._answered: OrderedDict[int, None] = OrderedDict()  # the last that got their label

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, ticket: Ticket) -> None:
        """Add a ticket; the oldest expire to make room."""
        self.next = ticket.number + 1
        self._waiting[ticket.number] = ticket
        while self._waiting:
            oldest = next(iter(self._waiting))
            if len(self._waiting) <= self.max_pending and self.next - oldest <= self.life:
                break
            del self._waiting[oldest]
            self.expired += 1

    def find(self, ticket: Ticket | int) -> Ticket:
        """Return a waiting ticket, or raise an error that says why it does not wait."""
        try:
            number = ticket.number if isinstance(ticket, Ticket) else index(ticket)
        except TypeError:
            number = -1
        if not 0 <= number < self.next:
            raise TicketError(f"ticket {_number_text(ticket)} was never issued by this model")
        if number in self._answered:
            raise TicketError(f"ticket {number} already has its label; a label counts once")
        waiting = self._waiting.get(number)
        if waiting is None:
            raise TicketError(
                f"ticket {number} has expired, or got its label long ago: at most "
                f"{self.max_pending} tickets may wait (max_pending), each until {self.life} later "
                "ones were issued (ticket_life)"
            )
        if isinstance(ticket, Ticket) and ticket is not waiting and ticket != waiting:
            raise TicketError(f"ticket {number} belongs to another model")
        return waiting

    def take(self, ticket: Ticket | int) -> Ticket:
        """Remove a waiting ticket, and return it."""
        waiting = self.find(ticket)
        del self._waiting[waiting.number]
        self._answered[waiting.number] = None
        while len(self._answered) > self.max_pending:
            self._answered.popitem(last=False)
        return waiting
