"""Tickets: predictions that wait for their label. Bounded, with an expiry."""

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
    """What :meth:`ChaCha.ask` gives: the prediction, and what is needed to charge it later.

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
        """The configuration whose model made the prediction, or the blend of two."""
        return self.forecast.served_by


def _name(ticket: Ticket | int) -> str:
    return str(ticket.number) if isinstance(ticket, Ticket) else repr(ticket)


class Tickets:
    """The tickets that wait: at most `most`, each for at most `life` later ones.

    >>> tickets = Tickets(most=2, life=100)
    >>> for number in range(3):
    ...     tickets.add(Ticket(tickets.next, 0.0, example=None, forecast=None))
    >>> len(tickets), tickets.expired
    (2, 1)
    >>> tickets.take(0)
    Traceback (most recent call last):
    chacha.errors.TicketError: ticket 0 has expired, or was told long ago: at most 2 may wait, \
for 100 later ones
    """

    def __init__(self, most: int, life: int) -> None:
        if most < 1 or life < 1:
            raise ConfigError(f"max_pending and ticket_life must be at least 1, got {most}, {life}")
        self.most, self.life = most, life
        self.next = 0
        self.expired = 0
        self._waiting: OrderedDict[int, Ticket] = OrderedDict()
        self._told: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, ticket: Ticket) -> None:
        """Let a ticket wait; the oldest expire to make room."""
        self.next = ticket.number + 1
        self._waiting[ticket.number] = ticket
        while self._waiting:
            oldest = next(iter(self._waiting))
            if len(self._waiting) <= self.most and self.next - oldest <= self.life:
                break
            del self._waiting[oldest]
            self.expired += 1

    def find(self, ticket: Ticket | int) -> Ticket:
        """The waiting ticket, or a clear error."""
        try:
            number = ticket.number if isinstance(ticket, Ticket) else index(ticket)
        except TypeError:
            number = -1
        if not 0 <= number < self.next:
            raise TicketError(f"ticket {_name(ticket)} was never given out by this model")
        if number in self._told:
            raise TicketError(f"ticket {number} was told already; a label counts once")
        waiting = self._waiting.get(number)
        if waiting is None:
            raise TicketError(
                f"ticket {number} has expired, or was told long ago: at most {self.most} may "
                f"wait, for {self.life} later ones"
            )
        if isinstance(ticket, Ticket) and ticket is not waiting and ticket != waiting:
            raise TicketError(f"ticket {number} belongs to another model")
        return waiting

    def take(self, ticket: Ticket | int) -> Ticket:
        """The waiting ticket, which waits no more."""
        found = self.find(ticket)
        del self._waiting[found.number]
        self._told[found.number] = None
        while len(self._told) > self.most:
            self._told.popitem(last=False)
        return found
