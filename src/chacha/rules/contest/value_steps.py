"""Steps in the space of numbers and words: FLOW² (Wu et al. 2021) for repeated challengers.

As in :mod:`chacha.rules.paper.flow2`, points lie one step along a direction and its opposite. Here
a round also has the points two steps away, and every point is tried again with a longer lease
before the step is halved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from chacha.config.config import Value
from chacha.config.space import Choice, Domain

__all__ = ["Point", "ValueSteps"]

STEP = 0.1  # of the unit cube's diagonal
SMALLEST = 0.25  # of the first step
MULTIPLES = (1.0, 2.0, -1.0, -2.0)  # of the step; along the direction first
IN_VAIN = 2  # tries of every point before the step is halved


class Point(NamedTuple):
    """A point to try: its distance in steps, and the values there."""

    multiple: float
    values: Mapping[str, Value]


class ValueSteps:
    """The points around the champion's, one round at a time.

    A win two steps away doubles the step. When every point of a round was tried twice in vain,
    the step is halved, and with several dimensions a new direction is drawn. When the champion
    changed in something else, the step is at least the first step again.

    >>> from chacha.config.space import LogUniform
    >>> steps = ValueSteps({"learning_rate": LogUniform(2**-11, 2**9)}, seed=0)
    >>> [p.values["learning_rate"] for p in steps.around({"learning_rate": 0.5})]
    [2.0, 8.0, 0.125, 0.03125]
    """

    def __init__(self, domains: Mapping[str, Domain], seed: int) -> None:
        self.domains = domains
        self._seed = seed
        self._rng: Random | None = None  # made when it is needed: it is large
        self.first = self.step = STEP * math.sqrt(max(len(self.domains), 1))
        self.direction = self._direction()
        self.drawn: dict[tuple[str, float], float] = {}  # draws for words, which have no direction
        self._round: tuple[Mapping[str, Value], list[Point]] | None = None

    @property
    def rng(self) -> Random:
        """The random numbers of directions and draws."""
        if self._rng is None:
            self._rng = Random(f"steps:{self._seed}")
        return self._rng

    def around(self, values: Mapping[str, Value]) -> list[Point]:
        """Return the points of this round around `values`, without duplicates."""
        if self._round is not None and self._round[0] == values:
            return self._round[1]
        points: list[Point] = []
        distinct = [{key: values[key] for key in self.domains}]
        for multiple in MULTIPLES:
            at = {key: self._at(key, values[key], multiple) for key in self.domains}
            if at not in distinct:
                distinct.append(at)
                points.append(Point(multiple, at))
        self._round = values, points
        return points

    def won(self, multiple: float) -> None:
        """Note that the point at `multiple` steps is the new champion's."""
        self.step = min(self.step * abs(multiple), math.sqrt(len(self.domains)))
        self._begin()

    def elsewhere(self) -> None:
        """Note that the champion changed in something else: use at least the first step again."""
        self.step = max(self.step, self.first)
        self._begin()

    def in_vain(self) -> None:
        """Note that every point of this round was tried enough: halve the step."""
        self.step = max(self.step / 2.0, self.first * SMALLEST)
        self.direction = self._direction()
        self._begin()

    def _begin(self) -> None:
        """Begin a new round."""
        self.drawn.clear()
        self._round = None

    def _direction(self) -> dict[str, float]:
        if len(self.domains) < 2:
            return dict.fromkeys(self.domains, 1.0)
        z = {key: self.rng.gauss(0.0, 1.0) for key in self.domains}
        length = math.sqrt(sum(value * value for value in z.values())) or 1.0
        return {key: value / length for key, value in z.items()}

    def _at(self, key: str, at: Value, multiple: float) -> Value:
        domain = self.domains[key]
        if isinstance(domain, Choice) and not domain.ordered:
            return self._other(key, domain, at, multiple)
        u = domain.to_unit(at) + multiple * self.step * self.direction[key]
        value = domain.from_unit(min(max(u, 0.0), 1.0), at)
        if value != at or not domain.step_floor(at) or multiple * self.direction[key] == 0:
            return value
        near = math.copysign(domain.step_floor(at), multiple * self.direction[key])
        return domain.from_unit(min(max(domain.to_unit(at) + near, 0.0), 1.0), at)

    def _other(self, key: str, domain: Choice, at: Value, multiple: float) -> Value:
        """Return another word or switch, if the step leaves the cell of this one."""
        reach = abs(multiple * self.step * self.direction[key]) * len(domain.options)
        if len(self.domains) > 1 and reach < 0.5 and self._draw(key, multiple) > reach:
            return at
        others = [option for option in domain.options if option != at]
        return others[int(self._draw(f"{key}:", multiple) * len(others))]

    def _draw(self, key: str, multiple: float) -> float:
        """Return a random number in [0, 1) that stays the same for a round."""
        if (key, multiple) not in self.drawn:
            self.drawn[key, multiple] = self.rng.random()
        return self.drawn[key, multiple]
