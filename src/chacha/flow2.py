"""FLOW²: a randomised local search over numbers and words (Wu, Wang, Huang, AAAI 2021).

One state serves a whole run: it moves with the champion, shrinks its step when nothing
gets better and grows it back when something does. Only the order of losses matters to
it, so a win in the champion's test is all it has to hear.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random

from chacha.config import Value
from chacha.space import Choice, Domain

__all__ = ["Flow2"]


class Flow2:
    """The search around one incumbent point in the unit cube.

    `propose` gives the point one step along a random direction, the next call the point
    opposite to it, then comes a new direction. `incumbent` tells it where the champion is.

    >>> from chacha.space import LogUniform
    >>> search = Flow2({"learning_rate": LogUniform(2e-10, 1)}, {"learning_rate": 0.5}, seed=1)
    >>> search.propose(), search.propose()
    ({'learning_rate': 0.0535886731268}, {'learning_rate': 1.0})
    """

    def __init__(
        self, domains: Mapping[str, Domain], start: Mapping[str, Value], seed: int
    ) -> None:
        self.domains = dict(domains)
        self.rng = Random(f"flow2:{seed}")
        d = len(self.domains)
        self.s_max = math.sqrt(d)
        self.start = {key: start[key] for key in self.domains}
        self.restarts = 0
        self._begin(self.start)

    def _begin(self, x: Mapping[str, Value]) -> None:
        self.x = dict(x)
        floor = self._floor()
        self.s = 0.1 * self.s_max
        if self.s < floor:
            self.s = 2 * floor
        self.s = min(self.s, self.s_max)
        self.proposals = 0  # K - 1: proposals in total
        self.since = 0  # proposals since the last improvement
        self.best_at = 1  # the proposal that produced the incumbent
        self.last_k = 0  # K at the last reduction of the step; 0: never reduced
        self.direction: list[float] | None = None
        self.pending: dict[tuple[Value, ...], tuple[float, int]] = {}

    def _floor(self) -> float:
        """The step below which nothing can change: s_min."""
        floors = [domain.step_floor(self.x[key]) for key, domain in self.domains.items()]
        discrete = [floor for floor in floors if floor > 0]
        return math.sqrt(len(self.domains)) * min(discrete) if discrete else 1e-4

    def incumbent(self, values: Mapping[str, Value]) -> None:
        """The champion holds `values`: an improvement if they are not where we stood."""
        values = {key: values[key] for key in self.domains}
        if values == self.x:
            return
        step, index = self.pending.get(tuple(values.values()), (self.s, self.proposals))
        self.x, self.s, self.since, self.best_at = values, step, 0, max(index, 1)
        if self.last_k:  # undo one reduction
            self.s *= math.sqrt((self.proposals + 1) / self.last_k)
        self.s = min(self.s, self.s_max)
        self.direction, self.pending = None, {}

    def propose(self) -> dict[str, Value]:
        """The next point to try; never the incumbent itself if a larger step can leave it."""
        for _ in range(100):
            self._shrink()
            values = self._move()
            if values != self.x:
                break
            if self.direction is None:  # both ways round to the incumbent: a plateau
                self.s = min(self.s + 0.1, self.s_max)
        return values

    def _move(self) -> dict[str, Value]:
        if self.direction is None:
            z = [self.rng.gauss(0.0, 1.0) for _ in self.domains]
            length = math.sqrt(sum(value * value for value in z)) or 1.0
            u = [value / length for value in z]
            self.direction = [-value for value in u]
        else:
            u, self.direction = self.direction, None
        self.proposals += 1
        self.since += 1
        values = {
            key: self._at(key, self.domains[key].to_unit(self.x[key]) + self.s * step)
            for key, step in zip(self.domains, u, strict=True)
        }
        self.pending[tuple(values.values())] = (self.s, self.proposals)
        return values

    def _at(self, key: str, u: float) -> Value:
        domain, at = self.domains[key], self.x[key]
        u = min(max(u, 0.0), 1.0)
        if isinstance(domain, Choice) and not domain.ordered:
            if domain.cell(u) == domain.options.index(at):
                return at
            others = [option for option in domain.options if option != at]
            return others[int(self.rng.random() * len(others))]
        return domain.from_unit(u, at)

    def _shrink(self) -> None:
        """After 2^d proposals in vain the step shrinks; below s_min the search restarts."""
        if self.since < 2 ** min(len(self.domains), 9):
            return
        k = self.proposals + 1
        self.s *= math.sqrt((self.last_k or self.best_at) / k)
        self.last_k = k
        self.since -= 2
        if self.s < self._floor():
            x, self.restarts = self.x, self.restarts + 1
            self._begin(x)
            self.s = min(self.s * (1 + self.restarts), self.s_max)
